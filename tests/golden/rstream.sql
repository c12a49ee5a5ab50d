-- title: each lifetime once at every instant that it covers
SELECT Rstream(k, count(*) AS n) FROM s [RANGE 10] GROUP BY k
----
-- operator 2: the elements, summed up
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_sums_c9e0ad1e4150" AS
SELECT
  "s.k",
  "_ts",
  CAST(SUM("_weight") AS BIGINT) AS "_cql_n"
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
) AS elements
GROUP BY
  "s.k",
  "_ts";

-- operator 2: the groups and instants that changed
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_2" AS
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
      "_cql_n"
    FROM cql_state."q_2_groups" AS kept
    WHERE
      EXISTS(
        SELECT
          1
        FROM temp."_cql_sums_c9e0ad1e4150" AS changes
        WHERE
          changes."s.k" IS NOT DISTINCT FROM kept."s.k"
      )
  ), running AS (
    SELECT
      "s.k",
      "_ts",
      CAST(SUM("_cql_n") OVER (PARTITION BY "s.k" ORDER BY "_ts") AS BIGINT) AS "_cql_n",
      "_cql_n" AS "_cql_d_n",
      "_cql_old",
      LEAD("_ts") OVER (PARTITION BY "s.k" ORDER BY "_ts") IS NULL AS "_cql_last"
    FROM (
      SELECT
        "s.k",
        "_ts",
        "_cql_n",
        TRUE AS "_cql_old"
      FROM before
      UNION ALL
      SELECT
        "s.k",
        "_ts",
        "_cql_n",
        FALSE AS "_cql_old"
      FROM temp."_cql_sums_c9e0ad1e4150" AS changes
    ) AS history
  )
  SELECT
    r."s.k" AS "s.k",
    r."_ts" AS "_ts",
    r."_cql_n" AS "_cql_n",
    r."_cql_last" AS "_cql_last",
    r."_cql_n" > 0 AS "_cql_is",
    r."_cql_n" - r."_cql_d_n" > 0 AS "_cql_was",
    r."_cql_n" AS "count0",
    (
      r."_cql_n" - r."_cql_d_n"
    ) AS "_cql_old_count0"
  FROM running AS r
  WHERE
    r."_ts" > $t0
) AS results;

-- operator 0: write the elements of the answer
INSERT INTO cql_state."changes_q"
SELECT
  "k",
  "n",
  "_ts",
  CAST(SUM("_weight") AS BIGINT) AS "_weight"
FROM (
  SELECT
    "k",
    "n",
    UNNEST(RANGE(GREATEST("_cql_enter", $t0 + 1), LEAST("_cql_leave", $t1 + 1))) AS "_ts",
    "_weight"
  FROM (
    SELECT
      "s.k" AS "k",
      "count0" AS "n",
      CAST($t0 AS BIGINT) AS "_cql_enter",
      9223372036854775807 AS "_cql_leave",
      "_weight"
    FROM (
      SELECT
        "s.k",
        "_cql_n" AS "count0",
        CAST(1 AS BIGINT) AS "_weight"
      FROM cql_state."q_2_groups"
    ) AS groups
    WHERE
      NOT EXISTS(
        SELECT
          1
        FROM temp."_cql_delta_q_2" AS delta
        WHERE
          "_cql_changed" AND delta."s.k" IS NOT DISTINCT FROM groups."s.k"
      )
    UNION ALL
    SELECT
      "s.k" AS "k",
      "count0" AS "n",
      "_cql_enter",
      "_cql_leave",
      "_weight"
    FROM (
      WITH changed AS (
        SELECT
          *,
          LEAD("_ts") OVER (PARTITION BY "s.k" ORDER BY "_ts") AS "_cql_end",
          LAG("_ts") OVER (PARTITION BY "s.k" ORDER BY "_ts") AS "_cql_begin"
        FROM temp."_cql_delta_q_2"
        WHERE
          "_cql_changed"
      )
      SELECT
        "s.k",
        "count0",
        "_ts" AS "_cql_enter",
        COALESCE("_cql_end", 9223372036854775807) AS "_cql_leave",
        CAST(1 AS BIGINT) AS "_weight"
      FROM changed
      WHERE
        "_cql_is"
      UNION ALL
      SELECT
        "s.k",
        "_cql_old_count0" AS "count0",
        CAST($t0 AS BIGINT) AS "_cql_enter",
        "_ts" AS "_cql_leave",
        CAST(1 AS BIGINT) AS "_weight"
      FROM changed
      WHERE
        "_cql_was" AND "_cql_begin" IS NULL
    ) AS arm
  ) AS lives
) AS elements
GROUP BY
  "k",
  "n",
  "_ts"
HAVING
  SUM("_weight") <> 0;

-- operator 2: forget the old state of the groups that changed
DELETE FROM cql_state."q_2_groups" AS kept
WHERE
  EXISTS(
    SELECT
      1
    FROM temp."_cql_delta_q_2" AS delta
    WHERE
      "_cql_last" AND delta."s.k" IS NOT DISTINCT FROM kept."s.k"
  );

-- operator 2: keep their new state
INSERT INTO cql_state."q_2_groups"
SELECT
  "s.k",
  "_cql_n"
FROM temp."_cql_delta_q_2"
WHERE
  "_cql_last" AND "_cql_n" > 0;

-- operator 2: the elements, summed up, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_sums_64ceb2faea6b" AS
SELECT
  "s.k",
  CAST($t1 AS BIGINT) AS "_ts",
  CAST(SUM("_weight") AS BIGINT) AS "_cql_n"
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
) AS elements
GROUP BY
  "s.k";

-- operator 2: the groups and instants that changed, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_2" AS
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
    r."_cql_n" > 0 AS "_cql_is",
    r."_cql_n" - r."_cql_d_n" > 0 AS "_cql_was",
    r."_cql_n" AS "count0",
    (
      r."_cql_n" - r."_cql_d_n"
    ) AS "_cql_old_count0"
  FROM (
    SELECT
      changes."s.k" AS "s.k",
      changes."_ts" AS "_ts",
      CAST(COALESCE(kept."_cql_n", 0) + changes."_cql_n" AS BIGINT) AS "_cql_n",
      changes."_cql_n" AS "_cql_d_n"
    FROM temp."_cql_sums_64ceb2faea6b" AS changes
    LEFT JOIN cql_state."q_2_groups" AS kept
      ON changes."s.k" IS NOT DISTINCT FROM kept."s.k"
  ) AS r
) AS results;

-- operator 0: write the elements of the answer, in a tick of one instant, in stages
INSERT INTO cql_state."changes_q"
SELECT
  "k",
  "n",
  "_ts",
  CAST(SUM("_weight") AS BIGINT) AS "_weight"
FROM (
  SELECT
    "k",
    "n",
    UNNEST(RANGE(GREATEST("_cql_enter", $t0 + 1), LEAST("_cql_leave", $t1 + 1))) AS "_ts",
    "_weight"
  FROM (
    SELECT
      "s.k" AS "k",
      "count0" AS "n",
      CAST($t0 AS BIGINT) AS "_cql_enter",
      9223372036854775807 AS "_cql_leave",
      "_weight"
    FROM (
      SELECT
        "s.k",
        "_cql_n" AS "count0",
        CAST(1 AS BIGINT) AS "_weight"
      FROM cql_state."q_2_groups"
    ) AS groups
    WHERE
      NOT EXISTS(
        SELECT
          1
        FROM temp."_cql_delta_q_2" AS delta
        WHERE
          "_cql_changed" AND delta."s.k" IS NOT DISTINCT FROM groups."s.k"
      )
    UNION ALL
    SELECT
      "s.k" AS "k",
      "count0" AS "n",
      "_cql_enter",
      "_cql_leave",
      "_weight"
    FROM (
      WITH changed AS (
        SELECT
          *
        FROM temp."_cql_delta_q_2"
        WHERE
          "_cql_changed"
      )
      SELECT
        "s.k",
        "count0",
        "_ts" AS "_cql_enter",
        9223372036854775807 AS "_cql_leave",
        CAST(1 AS BIGINT) AS "_weight"
      FROM changed
      WHERE
        "_cql_is"
      UNION ALL
      SELECT
        "s.k",
        "_cql_old_count0" AS "count0",
        CAST($t0 AS BIGINT) AS "_cql_enter",
        "_ts" AS "_cql_leave",
        CAST(1 AS BIGINT) AS "_weight"
      FROM changed
      WHERE
        "_cql_was"
    ) AS arm
  ) AS lives
) AS elements
GROUP BY
  "k",
  "n",
  "_ts"
HAVING
  SUM("_weight") <> 0;

-- operator 2: forget the old state of the groups that changed, in a tick of one instant, in stages
DELETE FROM cql_state."q_2_groups" AS kept
WHERE
  EXISTS(
    SELECT
      1
    FROM temp."_cql_delta_q_2" AS delta
    WHERE
      delta."s.k" IS NOT DISTINCT FROM kept."s.k"
  );

-- operator 2: keep their new state, in a tick of one instant, in stages
INSERT INTO cql_state."q_2_groups"
SELECT
  "s.k",
  "_cql_n"
FROM temp."_cql_delta_q_2"
WHERE
  "_cql_n" > 0;

-- title: of a NOW window the tick alone is read
SELECT Rstream(v) FROM s [NOW]
----
-- operator 0: write the elements of the answer
INSERT INTO cql_state."changes_q"
SELECT
  "v",
  "_ts",
  CAST(SUM("_weight") AS BIGINT) AS "_weight"
FROM (
  SELECT
    "v",
    UNNEST(RANGE(GREATEST("_cql_enter", $t0 + 1), LEAST("_cql_leave", $t1 + 1))) AS "_ts",
    "_weight"
  FROM (
    SELECT
      "v",
      "_ts" AS "_cql_enter",
      "_ts" + 1 AS "_cql_leave",
      CAST(1 AS BIGINT) AS "_weight"
    FROM temp."_cql_arrivals_s"($t0, $t1)
    UNION ALL
    SELECT
      "v",
      "_ts" AS "_cql_enter",
      "_ts" + 1 AS "_cql_leave",
      CAST(1 AS BIGINT) AS "_weight"
    FROM temp."_cql_stream_s"()
    WHERE
      "_ts" > $since AND "_ts" <= $t1 - 1 AND "_ts" > $t0 - 1 AND "_ts" <= $t0
  ) AS lives
) AS elements
GROUP BY
  "v",
  "_ts"
HAVING
  SUM("_weight") <> 0;

-- title: a window gives its lifetimes itself, so there is no trace
SELECT Rstream(k) FROM s [RANGE 10]
----
-- operator 0: write the elements of the answer
INSERT INTO cql_state."changes_q"
SELECT
  "k",
  "_ts",
  CAST(SUM("_weight") AS BIGINT) AS "_weight"
FROM (
  SELECT
    "k",
    UNNEST(RANGE(GREATEST("_ts", $t0 + 1), LEAST((
      "_ts" + 11
    ), $t1 + 1))) AS "_ts",
    CAST(1 AS BIGINT) AS "_weight"
  FROM temp."_cql_stream_s"()
  WHERE
    "_ts" > $since AND "_ts" <= $t1 AND "_ts" > $t0 - 11
) AS elements
GROUP BY
  "k",
  "_ts"
HAVING
  SUM("_weight") <> 0;
