-- title: of what only grows, min and max are running extremes
SELECT k, min(v) AS least, max(v) AS most FROM s GROUP BY k
----
-- operator 1: the elements, summed up
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_sums_c52af13eea62" AS
SELECT
  "k" AS "s.k",
  "_ts",
  CAST(COUNT(*) AS BIGINT) AS "_cql_n",
  MIN("v") AS "_cql_extreme0",
  MAX("v") AS "_cql_extreme1"
FROM temp."_cql_arrivals_s"($t0, $t1)
GROUP BY
  "k",
  "_ts";

-- operator 1: the groups and instants that changed
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_1" AS
SELECT
  *,
  (
    "_cql_is" IS DISTINCT FROM "_cql_was"
    OR "min0" IS DISTINCT FROM "_cql_old_min0"
    OR "max1" IS DISTINCT FROM "_cql_old_max1"
  ) AS "_cql_changed"
FROM (
  WITH before AS (
    SELECT
      "s.k",
      CAST($t0 AS BIGINT) AS "_ts",
      "_cql_n",
      "_cql_extreme0",
      "_cql_extreme1"
    FROM cql_state."q_1_groups" AS kept
    WHERE
      EXISTS(
        SELECT
          1
        FROM temp."_cql_sums_c52af13eea62" AS changes
        WHERE
          changes."s.k" IS NOT DISTINCT FROM kept."s.k"
      )
  ), running AS (
    SELECT
      "s.k",
      "_ts",
      CAST(SUM("_cql_n") OVER (PARTITION BY "s.k" ORDER BY "_ts") AS BIGINT) AS "_cql_n",
      "_cql_n" AS "_cql_d_n",
      MIN("_cql_extreme0") OVER (PARTITION BY "s.k" ORDER BY "_ts") AS "_cql_extreme0",
      MIN("_cql_extreme0") OVER (PARTITION BY "s.k" ORDER BY "_ts" ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS "_cql_extreme0_d",
      MAX("_cql_extreme1") OVER (PARTITION BY "s.k" ORDER BY "_ts") AS "_cql_extreme1",
      MAX("_cql_extreme1") OVER (PARTITION BY "s.k" ORDER BY "_ts" ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS "_cql_extreme1_d",
      "_cql_old",
      LEAD("_ts") OVER (PARTITION BY "s.k" ORDER BY "_ts") IS NULL AS "_cql_last"
    FROM (
      SELECT
        "s.k",
        "_ts",
        "_cql_n",
        "_cql_extreme0",
        "_cql_extreme1",
        TRUE AS "_cql_old"
      FROM before
      UNION ALL
      SELECT
        "s.k",
        "_ts",
        "_cql_n",
        "_cql_extreme0",
        "_cql_extreme1",
        FALSE AS "_cql_old"
      FROM temp."_cql_sums_c52af13eea62" AS changes
    ) AS history
  )
  SELECT
    r."s.k" AS "s.k",
    r."_ts" AS "_ts",
    r."_cql_n" AS "_cql_n",
    r."_cql_extreme0" AS "_cql_extreme0",
    r."_cql_extreme1" AS "_cql_extreme1",
    r."_cql_last" AS "_cql_last",
    r."_cql_n" > 0 AS "_cql_is",
    r."_cql_n" - r."_cql_d_n" > 0 AS "_cql_was",
    r."_cql_extreme0" AS "min0",
    r."_cql_extreme0_d" AS "_cql_old_min0",
    r."_cql_extreme1" AS "max1",
    r."_cql_extreme1_d" AS "_cql_old_max1"
  FROM running AS r
  WHERE
    r."_ts" > $t0
) AS results;

-- operator 0: write the elements of the answer
INSERT INTO cql_state."changes_q"
SELECT
  "s.k" AS "k",
  "_cql_old_min0" AS "least",
  "_cql_old_max1" AS "most",
  "_ts",
  CAST(-1 AS BIGINT) AS "_weight"
FROM temp."_cql_delta_q_1"
WHERE
  "_cql_was" AND "_cql_changed"
UNION ALL
SELECT
  "s.k" AS "k",
  "min0" AS "least",
  "max1" AS "most",
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
  "_cql_extreme0",
  "_cql_extreme1"
FROM temp."_cql_delta_q_1"
WHERE
  "_cql_last" AND "_cql_n" > 0;

-- operator 1: the groups and instants that changed, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_1" AS
SELECT
  *,
  (
    "_cql_is" IS DISTINCT FROM "_cql_was"
    OR "min0" IS DISTINCT FROM "_cql_old_min0"
    OR "max1" IS DISTINCT FROM "_cql_old_max1"
  ) AS "_cql_changed"
FROM (
  SELECT
    r."s.k" AS "s.k",
    r."_ts" AS "_ts",
    r."_cql_n" AS "_cql_n",
    r."_cql_extreme0" AS "_cql_extreme0",
    r."_cql_extreme1" AS "_cql_extreme1",
    r."_cql_n" > 0 AS "_cql_is",
    r."_cql_n" - r."_cql_d_n" > 0 AS "_cql_was",
    r."_cql_extreme0" AS "min0",
    r."_cql_extreme0_d" AS "_cql_old_min0",
    r."_cql_extreme1" AS "max1",
    r."_cql_extreme1_d" AS "_cql_old_max1"
  FROM (
    SELECT
      changes."s.k" AS "s.k",
      changes."_ts" AS "_ts",
      CAST(COALESCE(kept."_cql_n", 0) + changes."_cql_n" AS BIGINT) AS "_cql_n",
      changes."_cql_n" AS "_cql_d_n",
      CAST(LEAST(kept."_cql_extreme0", changes."_cql_extreme0") AS BIGINT) AS "_cql_extreme0",
      kept."_cql_extreme0" AS "_cql_extreme0_d",
      CAST(GREATEST(kept."_cql_extreme1", changes."_cql_extreme1") AS BIGINT) AS "_cql_extreme1",
      kept."_cql_extreme1" AS "_cql_extreme1_d"
    FROM temp."_cql_sums_c52af13eea62" AS changes
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
  "_cql_extreme0",
  "_cql_extreme1"
FROM temp."_cql_delta_q_1"
WHERE
  "_cql_n" > 0;

-- title: of what shrinks, they are worked out again where something changed
SELECT k, max(v) AS most FROM s [RANGE 10] GROUP BY k
----
-- operator 1: the elements, summed up
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_sums_0de2e11161d6" AS
SELECT
  "s.k",
  "_ts",
  CAST(SUM("_weight") AS BIGINT) AS "_cql_n",
  MAX("s.v") FILTER(WHERE
    "_weight" > 0) AS "_cql_extreme0"
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
    "_cql_is" IS DISTINCT FROM "_cql_was" OR "max0" IS DISTINCT FROM "_cql_old_max0"
  ) AS "_cql_changed"
FROM (
  WITH before AS (
    SELECT
      "s.k",
      CAST($t0 AS BIGINT) AS "_ts",
      "_cql_n",
      "max0"
    FROM cql_state."q_1_groups" AS kept
    WHERE
      EXISTS(
        SELECT
          1
        FROM temp."_cql_sums_0de2e11161d6" AS changes
        WHERE
          changes."s.k" IS NOT DISTINCT FROM kept."s.k"
      )
  ), running AS (
    SELECT
      "s.k",
      "_ts",
      CAST(SUM("_cql_n") OVER (PARTITION BY "s.k" ORDER BY "_ts") AS BIGINT) AS "_cql_n",
      "_cql_n" AS "_cql_d_n",
      MAX("_cql_extreme0") OVER (PARTITION BY "s.k" ORDER BY "_ts" RANGE BETWEEN 10 PRECEDING AND CURRENT ROW) AS "_cql_extreme0",
      "max0",
      "_cql_old",
      LEAD("_ts") OVER (PARTITION BY "s.k" ORDER BY "_ts") IS NULL AS "_cql_last"
    FROM (
      SELECT
        "s.k",
        "_ts",
        "_cql_n",
        CAST(NULL AS BIGINT) AS "_cql_extreme0",
        "max0",
        TRUE AS "_cql_old"
      FROM before
      UNION ALL
      SELECT
        "s.k",
        "_ts",
        "_cql_n",
        "_cql_extreme0",
        CAST(NULL AS BIGINT) AS "max0",
        FALSE AS "_cql_old"
      FROM temp."_cql_sums_0de2e11161d6" AS changes
      UNION ALL
      SELECT
        "s.k",
        "_cql_enter" AS "_ts",
        CAST(0 AS BIGINT) AS "_cql_n",
        MAX("s.v") AS "_cql_extreme0",
        CAST(NULL AS BIGINT) AS "max0",
        NULL AS "_cql_old"
      FROM (
        SELECT
          "k" AS "s.k",
          "v" AS "s.v",
          "_ts" AS "_cql_enter"
        FROM temp."_cql_stream_s"()
        WHERE
          "_ts" > $since AND "_ts" <= $t1 AND "_ts" > $t0 - 11
      ) AS l
      WHERE
        "_cql_enter" <= $t0
        AND EXISTS(
          SELECT
            1
          FROM temp."_cql_sums_0de2e11161d6" AS changes
          WHERE
            changes."s.k" IS NOT DISTINCT FROM "s.k"
        )
      GROUP BY
        "s.k",
        "_cql_enter"
    ) AS history
  ), valued AS (
    SELECT
      r."s.k" AS "s.k",
      r."_ts" AS "_ts",
      r."_cql_n" AS "_cql_n",
      r."_cql_d_n" AS "_cql_d_n",
      r."_cql_old" AS "_cql_old",
      r."_cql_last" AS "_cql_last",
      CASE WHEN r."_cql_old" THEN r."max0" ELSE r."_cql_extreme0" END AS "max0"
    FROM running AS r
    WHERE
      NOT r."_cql_old" IS NULL
  )
  SELECT
    r."s.k" AS "s.k",
    r."_ts" AS "_ts",
    r."_cql_n" AS "_cql_n",
    r."_cql_last" AS "_cql_last",
    r."_cql_n" > 0 AS "_cql_is",
    r."_cql_n" - r."_cql_d_n" > 0 AS "_cql_was",
    r."max0" AS "max0",
    r."_cql_old_max0" AS "_cql_old_max0"
  FROM (
    SELECT
      *,
      LAG("max0") OVER (PARTITION BY "s.k" ORDER BY "_ts") AS "_cql_old_max0"
    FROM valued
  ) AS r
  WHERE
    r."_ts" > $t0
) AS results;

-- operator 0: write the elements of the answer
INSERT INTO cql_state."changes_q"
SELECT
  "s.k" AS "k",
  "_cql_old_max0" AS "most",
  "_ts",
  CAST(-1 AS BIGINT) AS "_weight"
FROM temp."_cql_delta_q_1"
WHERE
  "_cql_was" AND "_cql_changed"
UNION ALL
SELECT
  "s.k" AS "k",
  "max0" AS "most",
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
  "max0"
FROM temp."_cql_delta_q_1"
WHERE
  "_cql_last" AND "_cql_n" > 0;

-- operator 1: the elements, summed up, in a tick of one instant, in stages
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

-- operator 1: the groups and instants that changed, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_1" AS
SELECT
  *,
  (
    "_cql_is" IS DISTINCT FROM "_cql_was" OR "max0" IS DISTINCT FROM "_cql_old_max0"
  ) AS "_cql_changed"
FROM (
  WITH running AS (
    SELECT
      changes."s.k" AS "s.k",
      changes."_ts" AS "_ts",
      CAST(COALESCE(kept."_cql_n", 0) + changes."_cql_n" AS BIGINT) AS "_cql_n",
      changes."_cql_n" AS "_cql_d_n",
      kept."max0" AS "max0"
    FROM temp."_cql_sums_64ceb2faea6b" AS changes
    LEFT JOIN cql_state."q_1_groups" AS kept
      ON changes."s.k" IS NOT DISTINCT FROM kept."s.k"
  ), again AS (
    SELECT
      "_cql_key0" AS "s.k",
      "_cql_at" AS "_ts",
      MAX("s.v") FILTER(WHERE
        NOT "_weight" IS NULL) AS "_cql_again0"
    FROM (
      SELECT
        i."s.k" AS "_cql_key0",
        i."_ts" AS "_cql_at",
        l."s.k" AS "s.k",
        l."s.v" AS "s.v",
        l."_weight" AS "_weight"
      FROM running AS i
      LEFT JOIN (
        SELECT
          "k" AS "s.k",
          "v" AS "s.v",
          "_ts" AS "_cql_enter",
          "_ts" + 11 AS "_cql_leave",
          CAST(1 AS BIGINT) AS "_weight"
        FROM temp."_cql_stream_s"()
        WHERE
          "_ts" > $since AND "_ts" <= $t1 AND "_ts" > $t0 - 11
      ) AS l
        ON i."s.k" IS NOT DISTINCT FROM l."s.k"
        AND l."_cql_enter" <= i."_ts"
        AND l."_cql_leave" > i."_ts"
      WHERE
        i."_ts" > $t0
    ) AS tuples
    GROUP BY
      "_cql_key0",
      "_cql_at"
  ), valued AS (
    SELECT
      r."s.k" AS "s.k",
      r."_ts" AS "_ts",
      r."_cql_n" AS "_cql_n",
      r."_cql_d_n" AS "_cql_d_n",
      again."_cql_again0" AS "max0",
      r."max0" AS "_cql_old_max0"
    FROM running AS r
    LEFT JOIN again
      ON r."s.k" IS NOT DISTINCT FROM again."s.k" AND again."_ts" = r."_ts"
  )
  SELECT
    r."s.k" AS "s.k",
    r."_ts" AS "_ts",
    r."_cql_n" AS "_cql_n",
    r."_cql_n" > 0 AS "_cql_is",
    r."_cql_n" - r."_cql_d_n" > 0 AS "_cql_was",
    r."max0" AS "max0",
    r."_cql_old_max0" AS "_cql_old_max0"
  FROM valued AS r
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
  "max0"
FROM temp."_cql_delta_q_1"
WHERE
  "_cql_n" > 0;
