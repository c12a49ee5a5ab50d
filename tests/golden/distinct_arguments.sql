-- title: distinct values are a part of their own, beside a count that is kept as a sum
SELECT k, count(*) AS n, count(DISTINCT v) AS kinds FROM s [RANGE 10] GROUP BY k
----
-- operator 8: the elements, summed up
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_sums_9149c15237d4" AS
SELECT
  "s.k",
  "distinct s.v",
  "_ts",
  CAST(SUM("_weight") AS BIGINT) AS "_cql_n"
FROM (
  SELECT
    "k" AS "s.k",
    "v" AS "distinct s.v",
    "_ts",
    CAST(1 AS BIGINT) AS "_weight"
  FROM temp."_cql_arrivals_s"($t0, $t1)
  UNION ALL
  SELECT
    "k" AS "s.k",
    "v" AS "distinct s.v",
    "_ts" + 11 AS "_ts",
    -CAST(1 AS BIGINT) AS "_weight"
  FROM temp."_cql_stream_s"()
  WHERE
    "_ts" > $since AND "_ts" <= $t1 - 11 AND "_ts" > $t0 - 11
) AS input
WHERE
  NOT "distinct s.v" IS NULL
GROUP BY
  "s.k",
  "distinct s.v",
  "_ts";

-- operator 8: the groups and instants that changed
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_8" AS
SELECT
  *,
  (
    "_cql_is" IS DISTINCT FROM "_cql_was"
  ) AS "_cql_changed"
FROM (
  WITH before AS (
    SELECT
      "s.k",
      "distinct s.v",
      CAST($t0 AS BIGINT) AS "_ts",
      "_cql_n"
    FROM cql_state."q_8_groups" AS kept
    WHERE
      EXISTS(
        SELECT
          1
        FROM temp."_cql_sums_9149c15237d4" AS changes
        WHERE
          changes."s.k" IS NOT DISTINCT FROM kept."s.k"
          AND changes."distinct s.v" IS NOT DISTINCT FROM kept."distinct s.v"
      )
  ), running AS (
    SELECT
      "s.k",
      "distinct s.v",
      "_ts",
      CAST(SUM("_cql_n") OVER (PARTITION BY "s.k", "distinct s.v" ORDER BY "_ts") AS BIGINT) AS "_cql_n",
      "_cql_n" AS "_cql_d_n",
      "_cql_old",
      LEAD("_ts") OVER (PARTITION BY "s.k", "distinct s.v" ORDER BY "_ts") IS NULL AS "_cql_last"
    FROM (
      SELECT
        "s.k",
        "distinct s.v",
        "_ts",
        "_cql_n",
        TRUE AS "_cql_old"
      FROM before
      UNION ALL
      SELECT
        "s.k",
        "distinct s.v",
        "_ts",
        "_cql_n",
        FALSE AS "_cql_old"
      FROM temp."_cql_sums_9149c15237d4" AS changes
    ) AS history
  )
  SELECT
    r."s.k" AS "s.k",
    r."distinct s.v" AS "distinct s.v",
    r."_ts" AS "_ts",
    r."_cql_n" AS "_cql_n",
    r."_cql_last" AS "_cql_last",
    r."_cql_n" > 0 AS "_cql_is",
    r."_cql_n" - r."_cql_d_n" > 0 AS "_cql_was"
  FROM running AS r
  WHERE
    r."_ts" > $t0
) AS results;

-- operator 1: the elements, summed up
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_sums_q_1" AS
SELECT
  "s.k",
  "_ts",
  CAST(SUM("_weight") AS BIGINT) AS "_cql_n",
  CAST(SUM(CASE WHEN "row" IS NULL THEN 0 ELSE "_weight" END) AS BIGINT) AS "_cql_count0",
  CAST(SUM(CASE WHEN "distinct s.v" IS NULL THEN 0 ELSE "_weight" END) AS BIGINT) AS "_cql_count1"
FROM (
  SELECT
    "s.k",
    CAST(1 AS INT) AS "row",
    CAST(NULL AS BIGINT) AS "distinct s.v",
    "_ts",
    "_weight"
  FROM (
    SELECT
      "k" AS "s.k",
      "_ts",
      CAST(1 AS BIGINT) AS "_weight"
    FROM temp."_cql_arrivals_s"($t0, $t1)
    UNION ALL
    SELECT
      "k" AS "s.k",
      "_ts" + 11 AS "_ts",
      -CAST(1 AS BIGINT) AS "_weight"
    FROM temp."_cql_stream_s"()
    WHERE
      "_ts" > $since AND "_ts" <= $t1 - 11 AND "_ts" > $t0 - 11
  ) AS input
  UNION ALL
  SELECT
    "s.k",
    CAST(NULL AS INT) AS "row",
    "distinct s.v",
    "_ts",
    "_weight"
  FROM (
    SELECT
      "s.k",
      "distinct s.v",
      "_ts",
      CAST(-1 AS BIGINT) AS "_weight"
    FROM temp."_cql_delta_q_8"
    WHERE
      "_cql_was" AND "_cql_changed"
    UNION ALL
    SELECT
      "s.k",
      "distinct s.v",
      "_ts",
      CAST(1 AS BIGINT) AS "_weight"
    FROM temp."_cql_delta_q_8"
    WHERE
      "_cql_is" AND "_cql_changed"
  ) AS input
) AS elements
GROUP BY
  "s.k",
  "_ts";

-- operator 1: the groups and instants that changed
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_1" AS
SELECT
  *,
  (
    "_cql_is" IS DISTINCT FROM "_cql_was"
    OR "count0" IS DISTINCT FROM "_cql_old_count0"
    OR "count1" IS DISTINCT FROM "_cql_old_count1"
  ) AS "_cql_changed"
FROM (
  WITH before AS (
    SELECT
      "s.k",
      CAST($t0 AS BIGINT) AS "_ts",
      "_cql_n",
      "_cql_count0",
      "_cql_count1"
    FROM cql_state."q_1_groups" AS kept
    WHERE
      EXISTS(
        SELECT
          1
        FROM temp."_cql_sums_q_1" AS changes
        WHERE
          changes."s.k" IS NOT DISTINCT FROM kept."s.k"
      )
  ), running AS (
    SELECT
      "s.k",
      "_ts",
      CAST(SUM("_cql_n") OVER (PARTITION BY "s.k" ORDER BY "_ts") AS BIGINT) AS "_cql_n",
      "_cql_n" AS "_cql_d_n",
      CAST(SUM("_cql_count0") OVER (PARTITION BY "s.k" ORDER BY "_ts") AS BIGINT) AS "_cql_count0",
      "_cql_count0" AS "_cql_count0_d",
      CAST(SUM("_cql_count1") OVER (PARTITION BY "s.k" ORDER BY "_ts") AS BIGINT) AS "_cql_count1",
      "_cql_count1" AS "_cql_count1_d",
      "_cql_old",
      LEAD("_ts") OVER (PARTITION BY "s.k" ORDER BY "_ts") IS NULL AS "_cql_last"
    FROM (
      SELECT
        "s.k",
        "_ts",
        "_cql_n",
        "_cql_count0",
        "_cql_count1",
        TRUE AS "_cql_old"
      FROM before
      UNION ALL
      SELECT
        "s.k",
        "_ts",
        "_cql_n",
        "_cql_count0",
        "_cql_count1",
        FALSE AS "_cql_old"
      FROM temp."_cql_sums_q_1" AS changes
    ) AS history
  )
  SELECT
    r."s.k" AS "s.k",
    r."_ts" AS "_ts",
    r."_cql_n" AS "_cql_n",
    r."_cql_count0" AS "_cql_count0",
    r."_cql_count1" AS "_cql_count1",
    r."_cql_last" AS "_cql_last",
    r."_cql_n" > 0 AS "_cql_is",
    r."_cql_n" - r."_cql_d_n" > 0 AS "_cql_was",
    r."_cql_count0" AS "count0",
    (
      r."_cql_count0" - r."_cql_count0_d"
    ) AS "_cql_old_count0",
    r."_cql_count1" AS "count1",
    (
      r."_cql_count1" - r."_cql_count1_d"
    ) AS "_cql_old_count1"
  FROM running AS r
  WHERE
    r."_ts" > $t0
) AS results;

-- operator 0: write the elements of the answer
INSERT INTO cql_state."changes_q"
SELECT
  "s.k" AS "k",
  "_cql_old_count0" AS "n",
  "_cql_old_count1" AS "kinds",
  "_ts",
  CAST(-1 AS BIGINT) AS "_weight"
FROM temp."_cql_delta_q_1"
WHERE
  "_cql_was" AND "_cql_changed"
UNION ALL
SELECT
  "s.k" AS "k",
  "count0" AS "n",
  "count1" AS "kinds",
  "_ts",
  CAST(1 AS BIGINT) AS "_weight"
FROM temp."_cql_delta_q_1"
WHERE
  "_cql_is" AND "_cql_changed";

-- operator 8: forget the old state of the groups that changed
DELETE FROM cql_state."q_8_groups" AS kept
WHERE
  EXISTS(
    SELECT
      1
    FROM temp."_cql_delta_q_8" AS delta
    WHERE
      "_cql_last"
      AND (
        delta."s.k" IS NOT DISTINCT FROM kept."s.k"
        AND delta."distinct s.v" IS NOT DISTINCT FROM kept."distinct s.v"
      )
  );

-- operator 8: keep their new state
INSERT INTO cql_state."q_8_groups"
SELECT
  "s.k",
  "distinct s.v",
  "_cql_n"
FROM temp."_cql_delta_q_8"
WHERE
  "_cql_last" AND "_cql_n" > 0;

-- operator 1: forget the old state of the groups that changed
DELETE FROM cql_state."q_1_groups" AS kept
WHERE
  EXISTS(
    SELECT
      1
    FROM temp."_cql_delta_q_1" AS delta
    WHERE
      "_cql_last" AND delta."s.k" IS NOT DISTINCT FROM kept."s.k"
  );

-- operator 1: keep their new state
INSERT INTO cql_state."q_1_groups"
SELECT
  "s.k",
  "_cql_n",
  "_cql_count0",
  "_cql_count1"
FROM temp."_cql_delta_q_1"
WHERE
  "_cql_last" AND "_cql_n" > 0;

-- operator 8: the elements, summed up, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_sums_2439e1a96655" AS
SELECT
  "s.k",
  "distinct s.v",
  CAST($t1 AS BIGINT) AS "_ts",
  CAST(SUM("_weight") AS BIGINT) AS "_cql_n"
FROM (
  SELECT
    "k" AS "s.k",
    "v" AS "distinct s.v",
    "_ts",
    CAST(1 AS BIGINT) AS "_weight"
  FROM temp."_cql_arrivals_s"($t0, $t1)
  UNION ALL
  SELECT
    "k" AS "s.k",
    "v" AS "distinct s.v",
    "_ts" + 11 AS "_ts",
    -CAST(1 AS BIGINT) AS "_weight"
  FROM temp."_cql_stream_s"()
  WHERE
    "_ts" > $since AND "_ts" <= $t1 - 11 AND "_ts" > $t0 - 11
) AS input
WHERE
  NOT "distinct s.v" IS NULL
GROUP BY
  "s.k",
  "distinct s.v";

-- operator 8: the groups and instants that changed, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_8" AS
SELECT
  *,
  (
    "_cql_is" IS DISTINCT FROM "_cql_was"
  ) AS "_cql_changed"
FROM (
  SELECT
    r."s.k" AS "s.k",
    r."distinct s.v" AS "distinct s.v",
    r."_ts" AS "_ts",
    r."_cql_n" AS "_cql_n",
    r."_cql_n" > 0 AS "_cql_is",
    r."_cql_n" - r."_cql_d_n" > 0 AS "_cql_was"
  FROM (
    SELECT
      changes."s.k" AS "s.k",
      changes."distinct s.v" AS "distinct s.v",
      changes."_ts" AS "_ts",
      CAST(COALESCE(kept."_cql_n", 0) + changes."_cql_n" AS BIGINT) AS "_cql_n",
      changes."_cql_n" AS "_cql_d_n"
    FROM temp."_cql_sums_2439e1a96655" AS changes
    LEFT JOIN cql_state."q_8_groups" AS kept
      ON changes."s.k" IS NOT DISTINCT FROM kept."s.k"
      AND changes."distinct s.v" = kept."distinct s.v"
  ) AS r
) AS results;

-- operator 1: the elements, summed up, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_sums_q_1" AS
SELECT
  "s.k",
  CAST($t1 AS BIGINT) AS "_ts",
  CAST(SUM("_weight") AS BIGINT) AS "_cql_n",
  CAST(SUM(CASE WHEN "row" IS NULL THEN 0 ELSE "_weight" END) AS BIGINT) AS "_cql_count0",
  CAST(SUM(CASE WHEN "distinct s.v" IS NULL THEN 0 ELSE "_weight" END) AS BIGINT) AS "_cql_count1"
FROM (
  SELECT
    "s.k",
    CAST(1 AS INT) AS "row",
    CAST(NULL AS BIGINT) AS "distinct s.v",
    "_ts",
    "_weight"
  FROM (
    SELECT
      "k" AS "s.k",
      "_ts",
      CAST(1 AS BIGINT) AS "_weight"
    FROM temp."_cql_arrivals_s"($t0, $t1)
    UNION ALL
    SELECT
      "k" AS "s.k",
      "_ts" + 11 AS "_ts",
      -CAST(1 AS BIGINT) AS "_weight"
    FROM temp."_cql_stream_s"()
    WHERE
      "_ts" > $since AND "_ts" <= $t1 - 11 AND "_ts" > $t0 - 11
  ) AS input
  UNION ALL
  SELECT
    "s.k",
    CAST(NULL AS INT) AS "row",
    "distinct s.v",
    "_ts",
    "_weight"
  FROM (
    SELECT
      "s.k",
      "distinct s.v",
      "_ts",
      CAST(-1 AS BIGINT) AS "_weight"
    FROM temp."_cql_delta_q_8"
    WHERE
      "_cql_was" AND "_cql_changed"
    UNION ALL
    SELECT
      "s.k",
      "distinct s.v",
      "_ts",
      CAST(1 AS BIGINT) AS "_weight"
    FROM temp."_cql_delta_q_8"
    WHERE
      "_cql_is" AND "_cql_changed"
  ) AS input
) AS elements
GROUP BY
  "s.k";

-- operator 1: the groups and instants that changed, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_1" AS
SELECT
  *,
  (
    "_cql_is" IS DISTINCT FROM "_cql_was"
    OR "count0" IS DISTINCT FROM "_cql_old_count0"
    OR "count1" IS DISTINCT FROM "_cql_old_count1"
  ) AS "_cql_changed"
FROM (
  SELECT
    r."s.k" AS "s.k",
    r."_ts" AS "_ts",
    r."_cql_n" AS "_cql_n",
    r."_cql_count0" AS "_cql_count0",
    r."_cql_count1" AS "_cql_count1",
    r."_cql_n" > 0 AS "_cql_is",
    r."_cql_n" - r."_cql_d_n" > 0 AS "_cql_was",
    r."_cql_count0" AS "count0",
    (
      r."_cql_count0" - r."_cql_count0_d"
    ) AS "_cql_old_count0",
    r."_cql_count1" AS "count1",
    (
      r."_cql_count1" - r."_cql_count1_d"
    ) AS "_cql_old_count1"
  FROM (
    SELECT
      changes."s.k" AS "s.k",
      changes."_ts" AS "_ts",
      CAST(COALESCE(kept."_cql_n", 0) + changes."_cql_n" AS BIGINT) AS "_cql_n",
      changes."_cql_n" AS "_cql_d_n",
      CAST(COALESCE(kept."_cql_count0", 0) + changes."_cql_count0" AS BIGINT) AS "_cql_count0",
      changes."_cql_count0" AS "_cql_count0_d",
      CAST(COALESCE(kept."_cql_count1", 0) + changes."_cql_count1" AS BIGINT) AS "_cql_count1",
      changes."_cql_count1" AS "_cql_count1_d"
    FROM temp."_cql_sums_q_1" AS changes
    LEFT JOIN cql_state."q_1_groups" AS kept
      ON changes."s.k" IS NOT DISTINCT FROM kept."s.k"
  ) AS r
) AS results;

-- operator 8: forget the old state of the groups that changed, in a tick of one instant, in stages
DELETE FROM cql_state."q_8_groups" AS kept
WHERE
  EXISTS(
    SELECT
      1
    FROM temp."_cql_delta_q_8" AS delta
    WHERE
      delta."s.k" IS NOT DISTINCT FROM kept."s.k"
      AND delta."distinct s.v" IS NOT DISTINCT FROM kept."distinct s.v"
  );

-- operator 8: keep their new state, in a tick of one instant, in stages
INSERT INTO cql_state."q_8_groups"
SELECT
  "s.k",
  "distinct s.v",
  "_cql_n"
FROM temp."_cql_delta_q_8"
WHERE
  "_cql_n" > 0;

-- operator 1: forget the old state of the groups that changed, in a tick of one instant, in stages
DELETE FROM cql_state."q_1_groups" AS kept
WHERE
  EXISTS(
    SELECT
      1
    FROM temp."_cql_delta_q_1" AS delta
    WHERE
      delta."s.k" IS NOT DISTINCT FROM kept."s.k"
  );

-- operator 1: keep their new state, in a tick of one instant, in stages
INSERT INTO cql_state."q_1_groups"
SELECT
  "s.k",
  "_cql_n",
  "_cql_count0",
  "_cql_count1"
FROM temp."_cql_delta_q_1"
WHERE
  "_cql_n" > 0;

-- title: of what only grows the first of each value counts
SELECT sum(DISTINCT v) AS total, count(DISTINCT k) FILTER (WHERE v > 3) AS many FROM s
----
-- operator 4: the tuples that were not there yet
INSERT INTO cql_state."q_4_counts"
SELECT
  "distinct s.v",
  "_ts"
FROM (
  SELECT
    "v" AS "distinct s.v",
    MIN("_ts") AS "_ts"
  FROM temp."_cql_arrivals_s"($t0, $t1)
  WHERE
    NOT "v" IS NULL
  GROUP BY
    "v"
) AS first
WHERE
  NOT EXISTS(
    SELECT
      1
    FROM cql_state."q_4_counts" AS kept
    WHERE
      first."distinct s.v" IS NOT DISTINCT FROM kept."distinct s.v"
  );

-- operator 11: the tuples that were not there yet
INSERT INTO cql_state."q_11_counts"
SELECT
  "distinct argument1",
  "_ts"
FROM (
  SELECT
    "distinct argument1",
    MIN("_ts") AS "_ts"
  FROM (
    SELECT
      CASE WHEN "v" > 3 THEN "k" END AS "distinct argument1",
      "_ts"
    FROM temp."_cql_arrivals_s"($t0, $t1)
  ) AS input
  WHERE
    NOT "distinct argument1" IS NULL
  GROUP BY
    "distinct argument1"
) AS first
WHERE
  NOT EXISTS(
    SELECT
      1
    FROM cql_state."q_11_counts" AS kept
    WHERE
      first."distinct argument1" IS NOT DISTINCT FROM kept."distinct argument1"
  );

-- operator 1: the elements, summed up
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_sums_c60619f05177" AS
SELECT
  "_ts",
  CAST(SUM("_cql_n") AS BIGINT) AS "_cql_n",
  CAST(SUM("_cql_count0") AS BIGINT) AS "_cql_count0",
  CAST(SUM("_cql_sum0") AS INT128) AS "_cql_sum0",
  CAST(SUM("_cql_count1") AS BIGINT) AS "_cql_count1"
FROM (
  SELECT
    "_ts",
    CAST(COUNT(*) AS BIGINT) AS "_cql_n",
    CAST(COUNT("distinct s.v") AS BIGINT) AS "_cql_count0",
    CAST(COALESCE(SUM(CAST("distinct s.v" AS INT128) * "_weight"), 0) AS INT128) AS "_cql_sum0",
    CAST(COUNT("distinct argument1") AS BIGINT) AS "_cql_count1"
  FROM (
    SELECT
      "distinct s.v",
      CAST(NULL AS INT) AS "distinct argument1",
      "_ts",
      CAST(1 AS BIGINT) AS "_weight"
    FROM cql_state."q_4_counts"
    WHERE
      "_ts" > $t0
    UNION ALL
    SELECT
      CAST(NULL AS BIGINT) AS "distinct s.v",
      "distinct argument1",
      "_ts",
      CAST(1 AS BIGINT) AS "_weight"
    FROM cql_state."q_11_counts"
    WHERE
      "_ts" > $t0
  ) AS elements
  GROUP BY
    "_ts"
  UNION ALL
  SELECT
    CAST($begin AS BIGINT) AS "_ts",
    CAST(0 AS BIGINT) AS "_cql_n",
    CAST(0 AS BIGINT) AS "_cql_count0",
    CAST(0 AS INT128) AS "_cql_sum0",
    CAST(0 AS BIGINT) AS "_cql_count1"
  WHERE
    $begin > $t0
) AS "both"
GROUP BY
  "_ts";

-- operator 1: the groups and instants that changed
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_1" AS
SELECT
  *,
  (
    "_cql_is" IS DISTINCT FROM "_cql_was"
    OR "sum0" IS DISTINCT FROM "_cql_old_sum0"
    OR "count1" IS DISTINCT FROM "_cql_old_count1"
  ) AS "_cql_changed"
FROM (
  WITH before AS (
    SELECT
      CAST($t0 AS BIGINT) AS "_ts",
      "_cql_n",
      "_cql_count0",
      "_cql_sum0",
      "_cql_count1"
    FROM cql_state."q_1_groups" AS kept
    WHERE
      EXISTS(
        SELECT
          1
        FROM temp."_cql_sums_c60619f05177" AS changes
        WHERE
          TRUE
      )
  ), running AS (
    SELECT
      "_ts",
      CAST(SUM("_cql_n") OVER (ORDER BY "_ts") AS BIGINT) AS "_cql_n",
      "_cql_n" AS "_cql_d_n",
      CAST(SUM("_cql_count0") OVER (ORDER BY "_ts") AS BIGINT) AS "_cql_count0",
      "_cql_count0" AS "_cql_count0_d",
      CAST(SUM("_cql_sum0") OVER (ORDER BY "_ts") AS INT128) AS "_cql_sum0",
      "_cql_sum0" AS "_cql_sum0_d",
      CAST(SUM("_cql_count1") OVER (ORDER BY "_ts") AS BIGINT) AS "_cql_count1",
      "_cql_count1" AS "_cql_count1_d",
      "_cql_old",
      LEAD("_ts") OVER (ORDER BY "_ts") IS NULL AS "_cql_last"
    FROM (
      SELECT
        "_ts",
        "_cql_n",
        "_cql_count0",
        "_cql_sum0",
        "_cql_count1",
        TRUE AS "_cql_old"
      FROM before
      UNION ALL
      SELECT
        "_ts",
        "_cql_n",
        "_cql_count0",
        "_cql_sum0",
        "_cql_count1",
        FALSE AS "_cql_old"
      FROM temp."_cql_sums_c60619f05177" AS changes
    ) AS history
  )
  SELECT
    r."_ts" AS "_ts",
    r."_cql_n" AS "_cql_n",
    r."_cql_count0" AS "_cql_count0",
    r."_cql_sum0" AS "_cql_sum0",
    r."_cql_count1" AS "_cql_count1",
    r."_cql_last" AS "_cql_last",
    TRUE AS "_cql_is",
    r."_ts" > $begin AS "_cql_was",
    CASE WHEN r."_cql_count0" > 0 THEN CAST(r."_cql_sum0" AS INT128) END AS "sum0",
    CASE
      WHEN (
        r."_cql_count0" - r."_cql_count0_d"
      ) > 0
      THEN CAST((
        r."_cql_sum0" - r."_cql_sum0_d"
      ) AS INT128)
    END AS "_cql_old_sum0",
    r."_cql_count1" AS "count1",
    (
      r."_cql_count1" - r."_cql_count1_d"
    ) AS "_cql_old_count1"
  FROM running AS r
  WHERE
    r."_ts" > $t0
) AS results;

-- operator 0: write the elements of the answer
INSERT INTO cql_state."changes_q"
SELECT
  "_cql_old_sum0" AS "total",
  "_cql_old_count1" AS "many",
  "_ts",
  CAST(-1 AS BIGINT) AS "_weight"
FROM temp."_cql_delta_q_1"
WHERE
  "_cql_was" AND "_cql_changed"
UNION ALL
SELECT
  "sum0" AS "total",
  "count1" AS "many",
  "_ts",
  CAST(1 AS BIGINT) AS "_weight"
FROM temp."_cql_delta_q_1"
WHERE
  "_cql_is" AND "_cql_changed";

-- operator 1: forget the old state of the groups that changed
DELETE FROM cql_state."q_1_groups" AS kept
WHERE
  EXISTS(
    SELECT
      1
    FROM temp."_cql_delta_q_1" AS delta
    WHERE
      "_cql_last" AND TRUE
  );

-- operator 1: keep their new state
INSERT INTO cql_state."q_1_groups"
SELECT
  "_cql_n",
  "_cql_count0",
  "_cql_sum0",
  "_cql_count1"
FROM temp."_cql_delta_q_1"
WHERE
  "_cql_last";

-- operator 4: the tuples of the tick, each once, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_first_8fc4e9370ee5" AS
SELECT
  "v" AS "distinct s.v",
  MIN("_ts") AS "_ts"
FROM temp."_cql_arrivals_s"($t0, $t1)
WHERE
  NOT "v" IS NULL
GROUP BY
  "v";

-- operator 4: the tuples that were not there yet, in a tick of one instant, in stages
INSERT INTO cql_state."q_4_counts"
WITH here AS MATERIALIZED (
  SELECT
    "distinct s.v"
  FROM cql_state."q_4_counts" AS kept
  WHERE
    EXISTS(
      SELECT
        1
      FROM (
        SELECT
          *
        FROM temp."_cql_first_8fc4e9370ee5"
      ) AS first
      WHERE
        first."distinct s.v" IS NOT DISTINCT FROM kept."distinct s.v"
    )
)
SELECT
  "distinct s.v",
  "_ts"
FROM (
  SELECT
    *
  FROM temp."_cql_first_8fc4e9370ee5"
) AS first
WHERE
  NOT EXISTS(
    SELECT
      1
    FROM here AS kept
    WHERE
      first."distinct s.v" IS NOT DISTINCT FROM kept."distinct s.v"
  );

-- operator 11: the tuples of the tick, each once, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_first_a2771d7ef137" AS
SELECT
  "distinct argument1",
  MIN("_ts") AS "_ts"
FROM (
  SELECT
    CASE WHEN "v" > 3 THEN "k" END AS "distinct argument1",
    "_ts"
  FROM temp."_cql_arrivals_s"($t0, $t1)
) AS input
WHERE
  NOT "distinct argument1" IS NULL
GROUP BY
  "distinct argument1";

-- operator 11: the tuples that were not there yet, in a tick of one instant, in stages
INSERT INTO cql_state."q_11_counts"
WITH here AS MATERIALIZED (
  SELECT
    "distinct argument1"
  FROM cql_state."q_11_counts" AS kept
  WHERE
    EXISTS(
      SELECT
        1
      FROM (
        SELECT
          *
        FROM temp."_cql_first_a2771d7ef137"
      ) AS first
      WHERE
        first."distinct argument1" IS NOT DISTINCT FROM kept."distinct argument1"
    )
)
SELECT
  "distinct argument1",
  "_ts"
FROM (
  SELECT
    *
  FROM temp."_cql_first_a2771d7ef137"
) AS first
WHERE
  NOT EXISTS(
    SELECT
      1
    FROM here AS kept
    WHERE
      first."distinct argument1" IS NOT DISTINCT FROM kept."distinct argument1"
  );

-- operator 1: the groups and instants that changed, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_1" AS
SELECT
  *,
  (
    "_cql_is" IS DISTINCT FROM "_cql_was"
    OR "sum0" IS DISTINCT FROM "_cql_old_sum0"
    OR "count1" IS DISTINCT FROM "_cql_old_count1"
  ) AS "_cql_changed"
FROM (
  SELECT
    r."_ts" AS "_ts",
    r."_cql_n" AS "_cql_n",
    r."_cql_count0" AS "_cql_count0",
    r."_cql_sum0" AS "_cql_sum0",
    r."_cql_count1" AS "_cql_count1",
    TRUE AS "_cql_is",
    r."_ts" > $begin AS "_cql_was",
    CASE WHEN r."_cql_count0" > 0 THEN CAST(r."_cql_sum0" AS INT128) END AS "sum0",
    CASE
      WHEN (
        r."_cql_count0" - r."_cql_count0_d"
      ) > 0
      THEN CAST((
        r."_cql_sum0" - r."_cql_sum0_d"
      ) AS INT128)
    END AS "_cql_old_sum0",
    r."_cql_count1" AS "count1",
    (
      r."_cql_count1" - r."_cql_count1_d"
    ) AS "_cql_old_count1"
  FROM (
    SELECT
      changes."_ts" AS "_ts",
      CAST(COALESCE(kept."_cql_n", 0) + changes."_cql_n" AS BIGINT) AS "_cql_n",
      changes."_cql_n" AS "_cql_d_n",
      CAST(COALESCE(kept."_cql_count0", 0) + changes."_cql_count0" AS BIGINT) AS "_cql_count0",
      changes."_cql_count0" AS "_cql_count0_d",
      CAST(COALESCE(kept."_cql_sum0", 0) + changes."_cql_sum0" AS INT128) AS "_cql_sum0",
      changes."_cql_sum0" AS "_cql_sum0_d",
      CAST(COALESCE(kept."_cql_count1", 0) + changes."_cql_count1" AS BIGINT) AS "_cql_count1",
      changes."_cql_count1" AS "_cql_count1_d"
    FROM temp."_cql_sums_c60619f05177" AS changes
    LEFT JOIN cql_state."q_1_groups" AS kept
      ON TRUE
  ) AS r
) AS results;

-- operator 1: forget the old state of the groups that changed, in a tick of one instant, in stages
DELETE FROM cql_state."q_1_groups" AS kept
WHERE
  EXISTS(
    SELECT
      1
    FROM temp."_cql_delta_q_1" AS delta
    WHERE
      TRUE
  );

-- operator 1: keep their new state, in a tick of one instant, in stages
INSERT INTO cql_state."q_1_groups"
SELECT
  "_cql_n",
  "_cql_count0",
  "_cql_sum0",
  "_cql_count1"
FROM temp."_cql_delta_q_1";

-- title: one value under two conditions has a synopsis of its own, each condition a number
SELECT k, count(DISTINCT v) AS n, count(DISTINCT v) FILTER (WHERE d > 0) AS positive FROM s GROUP BY k
----
-- operator 8: the tuples that were not there yet
INSERT INTO cql_state."q_8_counts"
SELECT
  "s.k",
  "argument",
  "value",
  "_ts"
FROM (
  SELECT
    "k" AS "s.k",
    CAST(0 AS INT) AS "argument",
    "v" AS "value",
    MIN("_ts") AS "_ts"
  FROM temp."_cql_arrivals_s"($t0, $t1)
  WHERE
    NOT "v" IS NULL
  GROUP BY
    "k",
    "v"
  UNION ALL
  SELECT
    "s.k",
    CAST(1 AS INT) AS "argument",
    "argument2" AS "value",
    MIN("_ts") AS "_ts"
  FROM (
    SELECT
      "k" AS "s.k",
      CASE WHEN "d" > 0 THEN "v" END AS "argument2",
      "_ts"
    FROM temp."_cql_arrivals_s"($t0, $t1)
  ) AS input
  WHERE
    NOT "argument2" IS NULL
  GROUP BY
    "s.k",
    "argument2"
) AS first
WHERE
  NOT EXISTS(
    SELECT
      1
    FROM cql_state."q_8_counts" AS kept
    WHERE
      first."s.k" IS NOT DISTINCT FROM kept."s.k"
      AND first."argument" IS NOT DISTINCT FROM kept."argument"
      AND first."value" IS NOT DISTINCT FROM kept."value"
  );

-- operator 1: what has just come, summed up
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_part0_q_1" AS
SELECT
  "k" AS "s.k",
  "_ts",
  CAST(COUNT(*) AS BIGINT) AS "_cql_n",
  CAST(0 AS BIGINT) AS "_cql_count0",
  CAST(0 AS BIGINT) AS "_cql_count1"
FROM temp."_cql_arrivals_s"($t0, $t1)
GROUP BY
  "k",
  "_ts";

-- operator 1: the elements, summed up
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_sums_q_1" AS
SELECT
  "s.k",
  "_ts",
  CAST(SUM("_cql_n") AS BIGINT) AS "_cql_n",
  CAST(SUM("_cql_count0") AS BIGINT) AS "_cql_count0",
  CAST(SUM("_cql_count1") AS BIGINT) AS "_cql_count1"
FROM (
  SELECT
    *
  FROM temp."_cql_part0_q_1"
  UNION ALL
  SELECT
    "s.k",
    "_ts",
    CAST(COUNT(*) AS BIGINT) AS "_cql_n",
    CAST(COUNT("distinct s.v") AS BIGINT) AS "_cql_count0",
    CAST(COUNT("distinct argument2") AS BIGINT) AS "_cql_count1"
  FROM (
    SELECT
      "s.k",
      CASE WHEN "argument" = 0 THEN "value" END AS "distinct s.v",
      CASE WHEN "argument" = 1 THEN "value" END AS "distinct argument2",
      "_ts"
    FROM cql_state."q_8_counts"
    WHERE
      "_ts" > $t0
  ) AS elements
  GROUP BY
    "s.k",
    "_ts"
) AS "both"
GROUP BY
  "s.k",
  "_ts";

-- operator 1: the groups and instants that changed
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_1" AS
SELECT
  *,
  (
    "_cql_is" IS DISTINCT FROM "_cql_was"
    OR "count0" IS DISTINCT FROM "_cql_old_count0"
    OR "count1" IS DISTINCT FROM "_cql_old_count1"
  ) AS "_cql_changed"
FROM (
  WITH before AS (
    SELECT
      "s.k",
      CAST($t0 AS BIGINT) AS "_ts",
      "_cql_n",
      "_cql_count0",
      "_cql_count1"
    FROM cql_state."q_1_groups" AS kept
    WHERE
      EXISTS(
        SELECT
          1
        FROM temp."_cql_sums_q_1" AS changes
        WHERE
          changes."s.k" IS NOT DISTINCT FROM kept."s.k"
      )
  ), running AS (
    SELECT
      "s.k",
      "_ts",
      CAST(SUM("_cql_n") OVER (PARTITION BY "s.k" ORDER BY "_ts") AS BIGINT) AS "_cql_n",
      "_cql_n" AS "_cql_d_n",
      CAST(SUM("_cql_count0") OVER (PARTITION BY "s.k" ORDER BY "_ts") AS BIGINT) AS "_cql_count0",
      "_cql_count0" AS "_cql_count0_d",
      CAST(SUM("_cql_count1") OVER (PARTITION BY "s.k" ORDER BY "_ts") AS BIGINT) AS "_cql_count1",
      "_cql_count1" AS "_cql_count1_d",
      "_cql_old",
      LEAD("_ts") OVER (PARTITION BY "s.k" ORDER BY "_ts") IS NULL AS "_cql_last"
    FROM (
      SELECT
        "s.k",
        "_ts",
        "_cql_n",
        "_cql_count0",
        "_cql_count1",
        TRUE AS "_cql_old"
      FROM before
      UNION ALL
      SELECT
        "s.k",
        "_ts",
        "_cql_n",
        "_cql_count0",
        "_cql_count1",
        FALSE AS "_cql_old"
      FROM temp."_cql_sums_q_1" AS changes
    ) AS history
  )
  SELECT
    r."s.k" AS "s.k",
    r."_ts" AS "_ts",
    r."_cql_n" AS "_cql_n",
    r."_cql_count0" AS "_cql_count0",
    r."_cql_count1" AS "_cql_count1",
    r."_cql_last" AS "_cql_last",
    r."_cql_n" > 0 AS "_cql_is",
    r."_cql_n" - r."_cql_d_n" > 0 AS "_cql_was",
    r."_cql_count0" AS "count0",
    (
      r."_cql_count0" - r."_cql_count0_d"
    ) AS "_cql_old_count0",
    r."_cql_count1" AS "count1",
    (
      r."_cql_count1" - r."_cql_count1_d"
    ) AS "_cql_old_count1"
  FROM running AS r
  WHERE
    r."_ts" > $t0
) AS results;

-- operator 0: write the elements of the answer
INSERT INTO cql_state."changes_q"
SELECT
  "s.k" AS "k",
  "_cql_old_count0" AS "n",
  "_cql_old_count1" AS "positive",
  "_ts",
  CAST(-1 AS BIGINT) AS "_weight"
FROM temp."_cql_delta_q_1"
WHERE
  "_cql_was" AND "_cql_changed"
UNION ALL
SELECT
  "s.k" AS "k",
  "count0" AS "n",
  "count1" AS "positive",
  "_ts",
  CAST(1 AS BIGINT) AS "_weight"
FROM temp."_cql_delta_q_1"
WHERE
  "_cql_is" AND "_cql_changed";

-- operator 1: forget the old state of the groups that changed
DELETE FROM cql_state."q_1_groups" AS kept
WHERE
  EXISTS(
    SELECT
      1
    FROM temp."_cql_delta_q_1" AS delta
    WHERE
      "_cql_last" AND delta."s.k" IS NOT DISTINCT FROM kept."s.k"
  );

-- operator 1: keep their new state
INSERT INTO cql_state."q_1_groups"
SELECT
  "s.k",
  "_cql_n",
  "_cql_count0",
  "_cql_count1"
FROM temp."_cql_delta_q_1"
WHERE
  "_cql_last" AND "_cql_n" > 0;

-- operator 8: the tuples of the tick, each once, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_first_4226b07f03ca" AS
SELECT
  "k" AS "s.k",
  CAST(0 AS INT) AS "argument",
  "v" AS "value",
  MIN("_ts") AS "_ts"
FROM temp."_cql_arrivals_s"($t0, $t1)
WHERE
  NOT "v" IS NULL
GROUP BY
  "k",
  "v"
UNION ALL
SELECT
  "s.k",
  CAST(1 AS INT) AS "argument",
  "argument2" AS "value",
  MIN("_ts") AS "_ts"
FROM (
  SELECT
    "k" AS "s.k",
    CASE WHEN "d" > 0 THEN "v" END AS "argument2",
    "_ts"
  FROM temp."_cql_arrivals_s"($t0, $t1)
) AS input
WHERE
  NOT "argument2" IS NULL
GROUP BY
  "s.k",
  "argument2";

-- operator 8: the tuples that were not there yet, in a tick of one instant, in stages
INSERT INTO cql_state."q_8_counts"
WITH here AS MATERIALIZED (
  SELECT
    "s.k",
    "argument",
    "value"
  FROM cql_state."q_8_counts" AS kept
  WHERE
    EXISTS(
      SELECT
        1
      FROM (
        SELECT
          *
        FROM temp."_cql_first_4226b07f03ca"
      ) AS first
      WHERE
        first."s.k" IS NOT DISTINCT FROM kept."s.k"
        AND first."argument" IS NOT DISTINCT FROM kept."argument"
        AND first."value" IS NOT DISTINCT FROM kept."value"
    )
)
SELECT
  "s.k",
  "argument",
  "value",
  "_ts"
FROM (
  SELECT
    *
  FROM temp."_cql_first_4226b07f03ca"
) AS first
WHERE
  NOT EXISTS(
    SELECT
      1
    FROM here AS kept
    WHERE
      first."s.k" IS NOT DISTINCT FROM kept."s.k"
      AND first."argument" IS NOT DISTINCT FROM kept."argument"
      AND first."value" IS NOT DISTINCT FROM kept."value"
  );

-- operator 1: the elements, summed up, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_sums_q_1" AS
SELECT
  "s.k",
  "_ts",
  CAST(SUM("_cql_n") AS BIGINT) AS "_cql_n",
  CAST(SUM("_cql_count0") AS BIGINT) AS "_cql_count0",
  CAST(SUM("_cql_count1") AS BIGINT) AS "_cql_count1"
FROM (
  SELECT
    *
  FROM temp."_cql_part0_q_1"
  UNION ALL
  SELECT
    "s.k",
    CAST($t1 AS BIGINT) AS "_ts",
    CAST(COUNT(*) AS BIGINT) AS "_cql_n",
    CAST(COUNT("distinct s.v") AS BIGINT) AS "_cql_count0",
    CAST(COUNT("distinct argument2") AS BIGINT) AS "_cql_count1"
  FROM (
    SELECT
      "s.k",
      CASE WHEN "argument" = 0 THEN "value" END AS "distinct s.v",
      CASE WHEN "argument" = 1 THEN "value" END AS "distinct argument2",
      "_ts"
    FROM cql_state."q_8_counts"
    WHERE
      "_ts" > $t0
  ) AS elements
  GROUP BY
    "s.k"
) AS "both"
GROUP BY
  "s.k",
  "_ts";

-- operator 1: the groups and instants that changed, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_1" AS
SELECT
  *,
  (
    "_cql_is" IS DISTINCT FROM "_cql_was"
    OR "count0" IS DISTINCT FROM "_cql_old_count0"
    OR "count1" IS DISTINCT FROM "_cql_old_count1"
  ) AS "_cql_changed"
FROM (
  SELECT
    r."s.k" AS "s.k",
    r."_ts" AS "_ts",
    r."_cql_n" AS "_cql_n",
    r."_cql_count0" AS "_cql_count0",
    r."_cql_count1" AS "_cql_count1",
    r."_cql_n" > 0 AS "_cql_is",
    r."_cql_n" - r."_cql_d_n" > 0 AS "_cql_was",
    r."_cql_count0" AS "count0",
    (
      r."_cql_count0" - r."_cql_count0_d"
    ) AS "_cql_old_count0",
    r."_cql_count1" AS "count1",
    (
      r."_cql_count1" - r."_cql_count1_d"
    ) AS "_cql_old_count1"
  FROM (
    SELECT
      changes."s.k" AS "s.k",
      changes."_ts" AS "_ts",
      CAST(COALESCE(kept."_cql_n", 0) + changes."_cql_n" AS BIGINT) AS "_cql_n",
      changes."_cql_n" AS "_cql_d_n",
      CAST(COALESCE(kept."_cql_count0", 0) + changes."_cql_count0" AS BIGINT) AS "_cql_count0",
      changes."_cql_count0" AS "_cql_count0_d",
      CAST(COALESCE(kept."_cql_count1", 0) + changes."_cql_count1" AS BIGINT) AS "_cql_count1",
      changes."_cql_count1" AS "_cql_count1_d"
    FROM temp."_cql_sums_q_1" AS changes
    LEFT JOIN cql_state."q_1_groups" AS kept
      ON changes."s.k" IS NOT DISTINCT FROM kept."s.k"
  ) AS r
) AS results;

-- operator 1: forget the old state of the groups that changed, in a tick of one instant, in stages
DELETE FROM cql_state."q_1_groups" AS kept
WHERE
  EXISTS(
    SELECT
      1
    FROM temp."_cql_delta_q_1" AS delta
    WHERE
      delta."s.k" IS NOT DISTINCT FROM kept."s.k"
  );

-- operator 1: keep their new state, in a tick of one instant, in stages
INSERT INTO cql_state."q_1_groups"
SELECT
  "s.k",
  "_cql_n",
  "_cql_count0",
  "_cql_count1"
FROM temp."_cql_delta_q_1"
WHERE
  "_cql_n" > 0;
