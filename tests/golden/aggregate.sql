-- title: count and exact sums are sums over the group: state before, state after
SELECT k, count(*) AS n, sum(v) AS total FROM s [RANGE 10] GROUP BY k
----
-- operator 1: the elements, summed up
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_sums_22603af7770f" AS
SELECT
  "s.k",
  "_ts",
  CAST(SUM("_weight") AS BIGINT) AS "_cql_n",
  CAST(SUM(CASE WHEN "s.v" IS NULL THEN 0 ELSE "_weight" END) AS BIGINT) AS "_cql_count1",
  CAST(COALESCE(SUM(CAST("s.v" AS INT128) * "_weight"), 0) AS INT128) AS "_cql_sum1"
FROM (
  SELECT
    "k" AS "s.k",
    "v" AS "s.v",
    "_ts",
    CAST(1 AS BIGINT) AS "_weight"
  FROM temp."_cql_arrivals_s"($t0, $t1)
  UNION ALL
  SELECT
    "k" AS "s.k",
    "v" AS "s.v",
    "_ts" + 11 AS "_ts",
    -CAST(1 AS BIGINT) AS "_weight"
  FROM temp."_cql_stream_s"()
  WHERE
    "_ts" > $since AND "_ts" <= $t1 - 11 AND "_ts" > $t0 - 11
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
    OR "sum1" IS DISTINCT FROM "_cql_old_sum1"
  ) AS "_cql_changed"
FROM (
  WITH before AS (
    SELECT
      "s.k",
      CAST($t0 AS BIGINT) AS "_ts",
      "_cql_n",
      "_cql_count1",
      "_cql_sum1"
    FROM cql_state."q_1_groups" AS kept
    WHERE
      EXISTS(
        SELECT
          1
        FROM temp."_cql_sums_22603af7770f" AS changes
        WHERE
          changes."s.k" IS NOT DISTINCT FROM kept."s.k"
      )
  ), running AS (
    SELECT
      "s.k",
      "_ts",
      CAST(SUM("_cql_n") OVER (PARTITION BY "s.k" ORDER BY "_ts") AS BIGINT) AS "_cql_n",
      "_cql_n" AS "_cql_d_n",
      CAST(SUM("_cql_count1") OVER (PARTITION BY "s.k" ORDER BY "_ts") AS BIGINT) AS "_cql_count1",
      "_cql_count1" AS "_cql_count1_d",
      CAST(SUM("_cql_sum1") OVER (PARTITION BY "s.k" ORDER BY "_ts") AS INT128) AS "_cql_sum1",
      "_cql_sum1" AS "_cql_sum1_d",
      "_cql_old",
      LEAD("_ts") OVER (PARTITION BY "s.k" ORDER BY "_ts") IS NULL AS "_cql_last"
    FROM (
      SELECT
        "s.k",
        "_ts",
        "_cql_n",
        "_cql_count1",
        "_cql_sum1",
        TRUE AS "_cql_old"
      FROM before
      UNION ALL
      SELECT
        "s.k",
        "_ts",
        "_cql_n",
        "_cql_count1",
        "_cql_sum1",
        FALSE AS "_cql_old"
      FROM temp."_cql_sums_22603af7770f" AS changes
    ) AS history
  )
  SELECT
    r."s.k" AS "s.k",
    r."_ts" AS "_ts",
    r."_cql_n" AS "_cql_n",
    r."_cql_count1" AS "_cql_count1",
    r."_cql_sum1" AS "_cql_sum1",
    r."_cql_last" AS "_cql_last",
    r."_cql_n" > 0 AS "_cql_is",
    r."_cql_n" - r."_cql_d_n" > 0 AS "_cql_was",
    r."_cql_n" AS "count0",
    (
      r."_cql_n" - r."_cql_d_n"
    ) AS "_cql_old_count0",
    CASE WHEN r."_cql_count1" > 0 THEN CAST(r."_cql_sum1" AS INT128) END AS "sum1",
    CASE
      WHEN (
        r."_cql_count1" - r."_cql_count1_d"
      ) > 0
      THEN CAST((
        r."_cql_sum1" - r."_cql_sum1_d"
      ) AS INT128)
    END AS "_cql_old_sum1"
  FROM running AS r
  WHERE
    r."_ts" > $t0
) AS results;

-- operator 0: write the elements of the answer
INSERT INTO cql_state."changes_q"
SELECT
  "s.k" AS "k",
  "_cql_old_count0" AS "n",
  "_cql_old_sum1" AS "total",
  "_ts",
  CAST(-1 AS BIGINT) AS "_weight"
FROM temp."_cql_delta_q_1"
WHERE
  "_cql_was" AND "_cql_changed"
UNION ALL
SELECT
  "s.k" AS "k",
  "count0" AS "n",
  "sum1" AS "total",
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
  "_cql_count1",
  "_cql_sum1"
FROM temp."_cql_delta_q_1"
WHERE
  "_cql_last" AND "_cql_n" > 0;

-- operator 1: the elements, summed up, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_sums_323ee47af24d" AS
SELECT
  "s.k",
  CAST($t1 AS BIGINT) AS "_ts",
  CAST(SUM("_weight") AS BIGINT) AS "_cql_n",
  CAST(SUM(CASE WHEN "s.v" IS NULL THEN 0 ELSE "_weight" END) AS BIGINT) AS "_cql_count1",
  CAST(COALESCE(SUM(CAST("s.v" AS INT128) * "_weight"), 0) AS INT128) AS "_cql_sum1"
FROM (
  SELECT
    "k" AS "s.k",
    "v" AS "s.v",
    "_ts",
    CAST(1 AS BIGINT) AS "_weight"
  FROM temp."_cql_arrivals_s"($t0, $t1)
  UNION ALL
  SELECT
    "k" AS "s.k",
    "v" AS "s.v",
    "_ts" + 11 AS "_ts",
    -CAST(1 AS BIGINT) AS "_weight"
  FROM temp."_cql_stream_s"()
  WHERE
    "_ts" > $since AND "_ts" <= $t1 - 11 AND "_ts" > $t0 - 11
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
    OR "sum1" IS DISTINCT FROM "_cql_old_sum1"
  ) AS "_cql_changed"
FROM (
  SELECT
    r."s.k" AS "s.k",
    r."_ts" AS "_ts",
    r."_cql_n" AS "_cql_n",
    r."_cql_count1" AS "_cql_count1",
    r."_cql_sum1" AS "_cql_sum1",
    r."_cql_n" > 0 AS "_cql_is",
    r."_cql_n" - r."_cql_d_n" > 0 AS "_cql_was",
    r."_cql_n" AS "count0",
    (
      r."_cql_n" - r."_cql_d_n"
    ) AS "_cql_old_count0",
    CASE WHEN r."_cql_count1" > 0 THEN CAST(r."_cql_sum1" AS INT128) END AS "sum1",
    CASE
      WHEN (
        r."_cql_count1" - r."_cql_count1_d"
      ) > 0
      THEN CAST((
        r."_cql_sum1" - r."_cql_sum1_d"
      ) AS INT128)
    END AS "_cql_old_sum1"
  FROM (
    SELECT
      changes."s.k" AS "s.k",
      changes."_ts" AS "_ts",
      CAST(COALESCE(kept."_cql_n", 0) + changes."_cql_n" AS BIGINT) AS "_cql_n",
      changes."_cql_n" AS "_cql_d_n",
      CAST(COALESCE(kept."_cql_count1", 0) + changes."_cql_count1" AS BIGINT) AS "_cql_count1",
      changes."_cql_count1" AS "_cql_count1_d",
      CAST(COALESCE(kept."_cql_sum1", 0) + changes."_cql_sum1" AS INT128) AS "_cql_sum1",
      changes."_cql_sum1" AS "_cql_sum1_d"
    FROM temp."_cql_sums_323ee47af24d" AS changes
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
  "_cql_count1",
  "_cql_sum1"
FROM temp."_cql_delta_q_1"
WHERE
  "_cql_n" > 0;

-- title: avg is a sum and a count; NULLs are in neither
SELECT k, avg(v) AS mean, count(v) AS known FROM s [RANGE 10] GROUP BY k
----
-- operator 1: the elements, summed up
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_sums_d9a3b7763ffe" AS
SELECT
  "s.k",
  "_ts",
  CAST(SUM("_weight") AS BIGINT) AS "_cql_n",
  CAST(SUM(CASE WHEN "s.v" IS NULL THEN 0 ELSE "_weight" END) AS BIGINT) AS "_cql_count0",
  CAST(COALESCE(SUM(CAST("s.v" AS INT128) * "_weight"), 0) AS INT128) AS "_cql_sum0",
  CAST(SUM(CASE WHEN "s.v" IS NULL THEN 0 ELSE "_weight" END) AS BIGINT) AS "_cql_count1"
FROM (
  SELECT
    "k" AS "s.k",
    "v" AS "s.v",
    "_ts",
    CAST(1 AS BIGINT) AS "_weight"
  FROM temp."_cql_arrivals_s"($t0, $t1)
  UNION ALL
  SELECT
    "k" AS "s.k",
    "v" AS "s.v",
    "_ts" + 11 AS "_ts",
    -CAST(1 AS BIGINT) AS "_weight"
  FROM temp."_cql_stream_s"()
  WHERE
    "_ts" > $since AND "_ts" <= $t1 - 11 AND "_ts" > $t0 - 11
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
    OR "avg0" IS DISTINCT FROM "_cql_old_avg0"
    OR "count1" IS DISTINCT FROM "_cql_old_count1"
  ) AS "_cql_changed"
FROM (
  WITH before AS (
    SELECT
      "s.k",
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
        FROM temp."_cql_sums_d9a3b7763ffe" AS changes
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
      CAST(SUM("_cql_sum0") OVER (PARTITION BY "s.k" ORDER BY "_ts") AS INT128) AS "_cql_sum0",
      "_cql_sum0" AS "_cql_sum0_d",
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
        "_cql_sum0",
        "_cql_count1",
        TRUE AS "_cql_old"
      FROM before
      UNION ALL
      SELECT
        "s.k",
        "_ts",
        "_cql_n",
        "_cql_count0",
        "_cql_sum0",
        "_cql_count1",
        FALSE AS "_cql_old"
      FROM temp."_cql_sums_d9a3b7763ffe" AS changes
    ) AS history
  )
  SELECT
    r."s.k" AS "s.k",
    r."_ts" AS "_ts",
    r."_cql_n" AS "_cql_n",
    r."_cql_count0" AS "_cql_count0",
    r."_cql_sum0" AS "_cql_sum0",
    r."_cql_count1" AS "_cql_count1",
    r."_cql_last" AS "_cql_last",
    r."_cql_n" > 0 AS "_cql_is",
    r."_cql_n" - r."_cql_d_n" > 0 AS "_cql_was",
    CASE
      WHEN r."_cql_count0" > 0
      THEN CAST(CAST(r."_cql_sum0" AS DOUBLE) / r."_cql_count0" AS DOUBLE)
    END AS "avg0",
    CASE
      WHEN (
        r."_cql_count0" - r."_cql_count0_d"
      ) > 0
      THEN CAST(CAST((
        r."_cql_sum0" - r."_cql_sum0_d"
      ) AS DOUBLE) / (
        r."_cql_count0" - r."_cql_count0_d"
      ) AS DOUBLE)
    END AS "_cql_old_avg0",
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
  "_cql_old_avg0" AS "mean",
  "_cql_old_count1" AS "known",
  "_ts",
  CAST(-1 AS BIGINT) AS "_weight"
FROM temp."_cql_delta_q_1"
WHERE
  "_cql_was" AND "_cql_changed"
UNION ALL
SELECT
  "s.k" AS "k",
  "avg0" AS "mean",
  "count1" AS "known",
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
  "_cql_sum0",
  "_cql_count1"
FROM temp."_cql_delta_q_1"
WHERE
  "_cql_last" AND "_cql_n" > 0;

-- operator 1: the elements, summed up, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_sums_504cfe4704e3" AS
SELECT
  "s.k",
  CAST($t1 AS BIGINT) AS "_ts",
  CAST(SUM("_weight") AS BIGINT) AS "_cql_n",
  CAST(SUM(CASE WHEN "s.v" IS NULL THEN 0 ELSE "_weight" END) AS BIGINT) AS "_cql_count0",
  CAST(COALESCE(SUM(CAST("s.v" AS INT128) * "_weight"), 0) AS INT128) AS "_cql_sum0",
  CAST(SUM(CASE WHEN "s.v" IS NULL THEN 0 ELSE "_weight" END) AS BIGINT) AS "_cql_count1"
FROM (
  SELECT
    "k" AS "s.k",
    "v" AS "s.v",
    "_ts",
    CAST(1 AS BIGINT) AS "_weight"
  FROM temp."_cql_arrivals_s"($t0, $t1)
  UNION ALL
  SELECT
    "k" AS "s.k",
    "v" AS "s.v",
    "_ts" + 11 AS "_ts",
    -CAST(1 AS BIGINT) AS "_weight"
  FROM temp."_cql_stream_s"()
  WHERE
    "_ts" > $since AND "_ts" <= $t1 - 11 AND "_ts" > $t0 - 11
) AS elements
GROUP BY
  "s.k";

-- operator 1: the groups and instants that changed, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_1" AS
SELECT
  *,
  (
    "_cql_is" IS DISTINCT FROM "_cql_was"
    OR "avg0" IS DISTINCT FROM "_cql_old_avg0"
    OR "count1" IS DISTINCT FROM "_cql_old_count1"
  ) AS "_cql_changed"
FROM (
  SELECT
    r."s.k" AS "s.k",
    r."_ts" AS "_ts",
    r."_cql_n" AS "_cql_n",
    r."_cql_count0" AS "_cql_count0",
    r."_cql_sum0" AS "_cql_sum0",
    r."_cql_count1" AS "_cql_count1",
    r."_cql_n" > 0 AS "_cql_is",
    r."_cql_n" - r."_cql_d_n" > 0 AS "_cql_was",
    CASE
      WHEN r."_cql_count0" > 0
      THEN CAST(CAST(r."_cql_sum0" AS DOUBLE) / r."_cql_count0" AS DOUBLE)
    END AS "avg0",
    CASE
      WHEN (
        r."_cql_count0" - r."_cql_count0_d"
      ) > 0
      THEN CAST(CAST((
        r."_cql_sum0" - r."_cql_sum0_d"
      ) AS DOUBLE) / (
        r."_cql_count0" - r."_cql_count0_d"
      ) AS DOUBLE)
    END AS "_cql_old_avg0",
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
      CAST(COALESCE(kept."_cql_sum0", 0) + changes."_cql_sum0" AS INT128) AS "_cql_sum0",
      changes."_cql_sum0" AS "_cql_sum0_d",
      CAST(COALESCE(kept."_cql_count1", 0) + changes."_cql_count1" AS BIGINT) AS "_cql_count1",
      changes."_cql_count1" AS "_cql_count1_d"
    FROM temp."_cql_sums_504cfe4704e3" AS changes
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
  "_cql_sum0",
  "_cql_count1"
FROM temp."_cql_delta_q_1"
WHERE
  "_cql_n" > 0;

-- title: FILTER makes an argument of the condition
SELECT k, count(*) FILTER (WHERE v > 0) AS n FROM s [RANGE 10] GROUP BY k
----
-- operator 1: the elements, summed up
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_sums_1e35caf0046c" AS
SELECT
  "s.k",
  "_ts",
  CAST(SUM("_weight") AS BIGINT) AS "_cql_n",
  CAST(SUM(CASE WHEN "argument1" IS NULL THEN 0 ELSE "_weight" END) AS BIGINT) AS "_cql_count0"
FROM (
  SELECT
    "s.k",
    CASE WHEN "s.v" > 0 THEN 1 END AS "argument1",
    "_ts",
    "_weight"
  FROM (
    SELECT
      "k" AS "s.k",
      "v" AS "s.v",
      "_ts",
      CAST(1 AS BIGINT) AS "_weight"
    FROM temp."_cql_arrivals_s"($t0, $t1)
    UNION ALL
    SELECT
      "k" AS "s.k",
      "v" AS "s.v",
      "_ts" + 11 AS "_ts",
      -CAST(1 AS BIGINT) AS "_weight"
    FROM temp."_cql_stream_s"()
    WHERE
      "_ts" > $since AND "_ts" <= $t1 - 11 AND "_ts" > $t0 - 11
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
  ) AS "_cql_changed"
FROM (
  WITH before AS (
    SELECT
      "s.k",
      CAST($t0 AS BIGINT) AS "_ts",
      "_cql_n",
      "_cql_count0"
    FROM cql_state."q_1_groups" AS kept
    WHERE
      EXISTS(
        SELECT
          1
        FROM temp."_cql_sums_1e35caf0046c" AS changes
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
      "_cql_old",
      LEAD("_ts") OVER (PARTITION BY "s.k" ORDER BY "_ts") IS NULL AS "_cql_last"
    FROM (
      SELECT
        "s.k",
        "_ts",
        "_cql_n",
        "_cql_count0",
        TRUE AS "_cql_old"
      FROM before
      UNION ALL
      SELECT
        "s.k",
        "_ts",
        "_cql_n",
        "_cql_count0",
        FALSE AS "_cql_old"
      FROM temp."_cql_sums_1e35caf0046c" AS changes
    ) AS history
  )
  SELECT
    r."s.k" AS "s.k",
    r."_ts" AS "_ts",
    r."_cql_n" AS "_cql_n",
    r."_cql_count0" AS "_cql_count0",
    r."_cql_last" AS "_cql_last",
    r."_cql_n" > 0 AS "_cql_is",
    r."_cql_n" - r."_cql_d_n" > 0 AS "_cql_was",
    r."_cql_count0" AS "count0",
    (
      r."_cql_count0" - r."_cql_count0_d"
    ) AS "_cql_old_count0"
  FROM running AS r
  WHERE
    r."_ts" > $t0
) AS results;

-- operator 0: write the elements of the answer
INSERT INTO cql_state."changes_q"
SELECT
  "s.k" AS "k",
  "_cql_old_count0" AS "n",
  "_ts",
  CAST(-1 AS BIGINT) AS "_weight"
FROM temp."_cql_delta_q_1"
WHERE
  "_cql_was" AND "_cql_changed"
UNION ALL
SELECT
  "s.k" AS "k",
  "count0" AS "n",
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
  "_cql_count0"
FROM temp."_cql_delta_q_1"
WHERE
  "_cql_last" AND "_cql_n" > 0;

-- operator 1: the elements, summed up, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_sums_88322bf7a0e2" AS
SELECT
  "s.k",
  CAST($t1 AS BIGINT) AS "_ts",
  CAST(SUM("_weight") AS BIGINT) AS "_cql_n",
  CAST(SUM(CASE WHEN "argument1" IS NULL THEN 0 ELSE "_weight" END) AS BIGINT) AS "_cql_count0"
FROM (
  SELECT
    "s.k",
    CASE WHEN "s.v" > 0 THEN 1 END AS "argument1",
    "_ts",
    "_weight"
  FROM (
    SELECT
      "k" AS "s.k",
      "v" AS "s.v",
      "_ts",
      CAST(1 AS BIGINT) AS "_weight"
    FROM temp."_cql_arrivals_s"($t0, $t1)
    UNION ALL
    SELECT
      "k" AS "s.k",
      "v" AS "s.v",
      "_ts" + 11 AS "_ts",
      -CAST(1 AS BIGINT) AS "_weight"
    FROM temp."_cql_stream_s"()
    WHERE
      "_ts" > $since AND "_ts" <= $t1 - 11 AND "_ts" > $t0 - 11
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
  ) AS "_cql_changed"
FROM (
  SELECT
    r."s.k" AS "s.k",
    r."_ts" AS "_ts",
    r."_cql_n" AS "_cql_n",
    r."_cql_count0" AS "_cql_count0",
    r."_cql_n" > 0 AS "_cql_is",
    r."_cql_n" - r."_cql_d_n" > 0 AS "_cql_was",
    r."_cql_count0" AS "count0",
    (
      r."_cql_count0" - r."_cql_count0_d"
    ) AS "_cql_old_count0"
  FROM (
    SELECT
      changes."s.k" AS "s.k",
      changes."_ts" AS "_ts",
      CAST(COALESCE(kept."_cql_n", 0) + changes."_cql_n" AS BIGINT) AS "_cql_n",
      changes."_cql_n" AS "_cql_d_n",
      CAST(COALESCE(kept."_cql_count0", 0) + changes."_cql_count0" AS BIGINT) AS "_cql_count0",
      changes."_cql_count0" AS "_cql_count0_d"
    FROM temp."_cql_sums_88322bf7a0e2" AS changes
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
  "_cql_count0"
FROM temp."_cql_delta_q_1"
WHERE
  "_cql_n" > 0;
