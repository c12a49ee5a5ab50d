-- title: without keys there is a row over nothing from the first instant on
SELECT count(*) AS n, sum(v) AS total FROM s [RANGE 10]
----
-- operator 1: the elements, summed up
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_sums_7386135f4ab5" AS
SELECT
  "_ts",
  CAST(SUM("_cql_n") AS BIGINT) AS "_cql_n",
  CAST(SUM("_cql_count1") AS BIGINT) AS "_cql_count1",
  CAST(SUM("_cql_sum1") AS INT128) AS "_cql_sum1"
FROM (
  SELECT
    "_ts",
    CAST(SUM("_weight") AS BIGINT) AS "_cql_n",
    CAST(SUM(CASE WHEN "s.v" IS NULL THEN 0 ELSE "_weight" END) AS BIGINT) AS "_cql_count1",
    CAST(COALESCE(SUM(CAST("s.v" AS INT128) * "_weight"), 0) AS INT128) AS "_cql_sum1"
  FROM (
    SELECT
      "v" AS "s.v",
      "_ts",
      CAST(1 AS BIGINT) AS "_weight"
    FROM temp."_cql_arrivals_s"($t0, $t1)
    UNION ALL
    SELECT
      "v" AS "s.v",
      "_ts" + 11 AS "_ts",
      -CAST(1 AS BIGINT) AS "_weight"
    FROM temp."_cql_stream_s"()
    WHERE
      "_ts" > $since AND "_ts" <= $t1 - 11 AND "_ts" > $t0 - 11
  ) AS elements
  GROUP BY
    "_ts"
  UNION ALL
  SELECT
    CAST($begin AS BIGINT) AS "_ts",
    CAST(0 AS BIGINT) AS "_cql_n",
    CAST(0 AS BIGINT) AS "_cql_count1",
    CAST(0 AS INT128) AS "_cql_sum1"
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
    OR "count0" IS DISTINCT FROM "_cql_old_count0"
    OR "sum1" IS DISTINCT FROM "_cql_old_sum1"
  ) AS "_cql_changed"
FROM (
  WITH before AS (
    SELECT
      CAST($t0 AS BIGINT) AS "_ts",
      "_cql_n",
      "_cql_count1",
      "_cql_sum1"
    FROM cql_state."q_1_groups" AS kept
    WHERE
      EXISTS(
        SELECT
          1
        FROM temp."_cql_sums_7386135f4ab5" AS changes
        WHERE
          TRUE
      )
  ), running AS (
    SELECT
      "_ts",
      CAST(SUM("_cql_n") OVER (ORDER BY "_ts") AS BIGINT) AS "_cql_n",
      "_cql_n" AS "_cql_d_n",
      CAST(SUM("_cql_count1") OVER (ORDER BY "_ts") AS BIGINT) AS "_cql_count1",
      "_cql_count1" AS "_cql_count1_d",
      CAST(SUM("_cql_sum1") OVER (ORDER BY "_ts") AS INT128) AS "_cql_sum1",
      "_cql_sum1" AS "_cql_sum1_d",
      "_cql_old",
      LEAD("_ts") OVER (ORDER BY "_ts") IS NULL AS "_cql_last"
    FROM (
      SELECT
        "_ts",
        "_cql_n",
        "_cql_count1",
        "_cql_sum1",
        TRUE AS "_cql_old"
      FROM before
      UNION ALL
      SELECT
        "_ts",
        "_cql_n",
        "_cql_count1",
        "_cql_sum1",
        FALSE AS "_cql_old"
      FROM temp."_cql_sums_7386135f4ab5" AS changes
    ) AS history
  )
  SELECT
    r."_ts" AS "_ts",
    r."_cql_n" AS "_cql_n",
    r."_cql_count1" AS "_cql_count1",
    r."_cql_sum1" AS "_cql_sum1",
    r."_cql_last" AS "_cql_last",
    TRUE AS "_cql_is",
    r."_ts" > $begin AS "_cql_was",
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
  "_cql_old_count0" AS "n",
  "_cql_old_sum1" AS "total",
  "_ts",
  CAST(-1 AS BIGINT) AS "_weight"
FROM temp."_cql_delta_q_1"
WHERE
  "_cql_was" AND "_cql_changed"
UNION ALL
SELECT
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
      "_cql_last" AND TRUE
  );

-- operator 1: keep their new state
INSERT INTO cql_state."q_1_groups"
SELECT
  "_cql_n",
  "_cql_count1",
  "_cql_sum1"
FROM temp."_cql_delta_q_1"
WHERE
  "_cql_last";

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
    r."_ts" AS "_ts",
    r."_cql_n" AS "_cql_n",
    r."_cql_count1" AS "_cql_count1",
    r."_cql_sum1" AS "_cql_sum1",
    TRUE AS "_cql_is",
    r."_ts" > $begin AS "_cql_was",
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
      changes."_ts" AS "_ts",
      CAST(COALESCE(kept."_cql_n", 0) + changes."_cql_n" AS BIGINT) AS "_cql_n",
      changes."_cql_n" AS "_cql_d_n",
      CAST(COALESCE(kept."_cql_count1", 0) + changes."_cql_count1" AS BIGINT) AS "_cql_count1",
      changes."_cql_count1" AS "_cql_count1_d",
      CAST(COALESCE(kept."_cql_sum1", 0) + changes."_cql_sum1" AS INT128) AS "_cql_sum1",
      changes."_cql_sum1" AS "_cql_sum1_d"
    FROM temp."_cql_sums_7386135f4ab5" AS changes
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
  "_cql_count1",
  "_cql_sum1"
FROM temp."_cql_delta_q_1";
