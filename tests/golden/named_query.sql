-- title: a query that yields a relation is read from its elements
CREATE CONTINUOUS QUERY totals AS
    SELECT k, sum(v) AS total FROM s [RANGE 10] GROUP BY k;
SELECT max(total) AS most FROM totals
----
-- operator 1: the elements, summed up
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_sums_c86f382341f4" AS
SELECT
  "_ts",
  CAST(SUM("_cql_n") AS BIGINT) AS "_cql_n"
FROM (
  SELECT
    "_ts",
    CAST(SUM("_weight") AS BIGINT) AS "_cql_n"
  FROM (
    SELECT
      GREATEST("_ts", $begin) AS "_ts",
      "_weight"
    FROM cql_state."changes_totals"
    WHERE
      "_ts" > $low AND "_ts" <= $t1
  ) AS elements
  GROUP BY
    "_ts"
  UNION ALL
  SELECT
    CAST($begin AS BIGINT) AS "_ts",
    CAST(0 AS BIGINT) AS "_cql_n"
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
    "_cql_is" IS DISTINCT FROM "_cql_was" OR "max0" IS DISTINCT FROM "_cql_old_max0"
  ) AS "_cql_changed"
FROM (
  WITH before AS (
    SELECT
      CAST($t0 AS BIGINT) AS "_ts",
      "_cql_n",
      "max0"
    FROM cql_state."q_1_groups" AS kept
    WHERE
      EXISTS(
        SELECT
          1
        FROM temp."_cql_sums_c86f382341f4" AS changes
        WHERE
          TRUE
      )
  ), running AS (
    SELECT
      "_ts",
      CAST(SUM("_cql_n") OVER (ORDER BY "_ts") AS BIGINT) AS "_cql_n",
      "_cql_n" AS "_cql_d_n",
      "max0",
      "_cql_old",
      LEAD("_ts") OVER (ORDER BY "_ts") IS NULL AS "_cql_last"
    FROM (
      SELECT
        "_ts",
        "_cql_n",
        "max0",
        TRUE AS "_cql_old"
      FROM before
      UNION ALL
      SELECT
        "_ts",
        "_cql_n",
        CAST(NULL AS INT128) AS "max0",
        FALSE AS "_cql_old"
      FROM temp."_cql_sums_c86f382341f4" AS changes
    ) AS history
  ), again AS (
    SELECT
      "_cql_at" AS "_ts",
      MAX("totals.total") FILTER(WHERE
        NOT "_weight" IS NULL) AS "_cql_again0"
    FROM (
      SELECT
        "_cql_at",
        "totals.total",
        CAST(SUM("_weight") AS BIGINT) AS "_weight"
      FROM (
        SELECT
          i."_ts" AS "_cql_at",
          l."totals.total" AS "totals.total",
          l."_weight" AS "_weight"
        FROM running AS i
        LEFT JOIN (
          SELECT
            "total" AS "totals.total",
            GREATEST("_ts", $begin) AS "_cql_enter",
            9223372036854775807 AS "_cql_leave",
            "_weight"
          FROM cql_state."changes_totals"
          WHERE
            "_ts" <= $t1
        ) AS l
          ON l."_cql_enter" <= i."_ts" AND l."_cql_leave" > i."_ts"
        WHERE
          i."_ts" > $t0
      ) AS pairs
      GROUP BY
        "_cql_at",
        "totals.total",
        "_weight" IS NULL
      HAVING
        SUM("_weight") > 0 OR SUM("_weight") IS NULL
    ) AS tuples
    GROUP BY
      "_cql_at"
  ), valued AS (
    SELECT
      r."_ts" AS "_ts",
      r."_cql_n" AS "_cql_n",
      r."_cql_d_n" AS "_cql_d_n",
      r."_cql_old" AS "_cql_old",
      r."_cql_last" AS "_cql_last",
      CASE WHEN r."_cql_old" THEN r."max0" ELSE again."_cql_again0" END AS "max0"
    FROM running AS r
    LEFT JOIN again
      ON TRUE AND again."_ts" = r."_ts"
  )
  SELECT
    r."_ts" AS "_ts",
    r."_cql_n" AS "_cql_n",
    r."_cql_last" AS "_cql_last",
    TRUE AS "_cql_is",
    r."_ts" > $begin AS "_cql_was",
    r."max0" AS "max0",
    r."_cql_old_max0" AS "_cql_old_max0"
  FROM (
    SELECT
      *,
      LAG("max0") OVER (ORDER BY "_ts") AS "_cql_old_max0"
    FROM valued
  ) AS r
  WHERE
    r."_ts" > $t0
) AS results;

-- operator 0: write the elements of the answer
INSERT INTO cql_state."changes_q"
SELECT
  "_cql_old_max0" AS "most",
  "_ts",
  CAST(-1 AS BIGINT) AS "_weight"
FROM temp."_cql_delta_q_1"
WHERE
  "_cql_was" AND "_cql_changed"
UNION ALL
SELECT
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
      "_cql_last" AND TRUE
  );

-- operator 1: keep their new state
INSERT INTO cql_state."q_1_groups"
SELECT
  "_cql_n",
  "max0"
FROM temp."_cql_delta_q_1"
WHERE
  "_cql_last";

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
      changes."_ts" AS "_ts",
      CAST(COALESCE(kept."_cql_n", 0) + changes."_cql_n" AS BIGINT) AS "_cql_n",
      changes."_cql_n" AS "_cql_d_n",
      kept."max0" AS "max0"
    FROM temp."_cql_sums_c86f382341f4" AS changes
    LEFT JOIN cql_state."q_1_groups" AS kept
      ON TRUE
  ), again AS (
    SELECT
      "_cql_at" AS "_ts",
      MAX("totals.total") FILTER(WHERE
        NOT "_weight" IS NULL) AS "_cql_again0"
    FROM (
      SELECT
        "_cql_at",
        "totals.total",
        CAST(SUM("_weight") AS BIGINT) AS "_weight"
      FROM (
        SELECT
          i."_ts" AS "_cql_at",
          l."totals.total" AS "totals.total",
          l."_weight" AS "_weight"
        FROM running AS i
        LEFT JOIN (
          SELECT
            "total" AS "totals.total",
            GREATEST("_ts", $begin) AS "_cql_enter",
            9223372036854775807 AS "_cql_leave",
            "_weight"
          FROM cql_state."changes_totals"
          WHERE
            "_ts" <= $t1
        ) AS l
          ON l."_cql_enter" <= i."_ts" AND l."_cql_leave" > i."_ts"
        WHERE
          i."_ts" > $t0
      ) AS pairs
      GROUP BY
        "_cql_at",
        "totals.total",
        "_weight" IS NULL
      HAVING
        SUM("_weight") > 0 OR SUM("_weight") IS NULL
    ) AS tuples
    GROUP BY
      "_cql_at"
  ), valued AS (
    SELECT
      r."_ts" AS "_ts",
      r."_cql_n" AS "_cql_n",
      r."_cql_d_n" AS "_cql_d_n",
      again."_cql_again0" AS "max0",
      r."max0" AS "_cql_old_max0"
    FROM running AS r
    LEFT JOIN again
      ON TRUE AND again."_ts" = r."_ts"
  )
  SELECT
    r."_ts" AS "_ts",
    r."_cql_n" AS "_cql_n",
    TRUE AS "_cql_is",
    r."_ts" > $begin AS "_cql_was",
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
      TRUE
  );

-- operator 1: keep their new state, in a tick of one instant, in stages
INSERT INTO cql_state."q_1_groups"
SELECT
  "_cql_n",
  "max0"
FROM temp."_cql_delta_q_1";

-- title: a query that yields a stream takes a window
CREATE CONTINUOUS QUERY fresh AS SELECT Istream(k, v) FROM s [RANGE 10];
SELECT k, count(*) AS n FROM fresh [RANGE 3] GROUP BY k
----
-- operator 1: the elements, summed up
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_sums_840376bfc267" AS
SELECT
  "fresh.k",
  "_ts",
  CAST(SUM("_weight") AS BIGINT) AS "_cql_n"
FROM (
  SELECT
    "k" AS "fresh.k",
    "_ts",
    "_weight"
  FROM temp."_cql_arrivals_fresh"($t0, $t1)
  UNION ALL
  SELECT
    "k" AS "fresh.k",
    "_ts" + 4 AS "_ts",
    -"_weight" AS "_weight"
  FROM temp."_cql_stream_fresh"()
  WHERE
    "_ts" > $since AND "_ts" <= $t1 - 4 AND "_ts" > $t0 - 4
) AS elements
GROUP BY
  "fresh.k",
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
      "fresh.k",
      CAST($t0 AS BIGINT) AS "_ts",
      "_cql_n"
    FROM cql_state."q_1_groups" AS kept
    WHERE
      EXISTS(
        SELECT
          1
        FROM temp."_cql_sums_840376bfc267" AS changes
        WHERE
          changes."fresh.k" IS NOT DISTINCT FROM kept."fresh.k"
      )
  ), running AS (
    SELECT
      "fresh.k",
      "_ts",
      CAST(SUM("_cql_n") OVER (PARTITION BY "fresh.k" ORDER BY "_ts") AS BIGINT) AS "_cql_n",
      "_cql_n" AS "_cql_d_n",
      "_cql_old",
      LEAD("_ts") OVER (PARTITION BY "fresh.k" ORDER BY "_ts") IS NULL AS "_cql_last"
    FROM (
      SELECT
        "fresh.k",
        "_ts",
        "_cql_n",
        TRUE AS "_cql_old"
      FROM before
      UNION ALL
      SELECT
        "fresh.k",
        "_ts",
        "_cql_n",
        FALSE AS "_cql_old"
      FROM temp."_cql_sums_840376bfc267" AS changes
    ) AS history
  )
  SELECT
    r."fresh.k" AS "fresh.k",
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
  "fresh.k" AS "k",
  "_cql_old_count0" AS "n",
  "_ts",
  CAST(-1 AS BIGINT) AS "_weight"
FROM temp."_cql_delta_q_1"
WHERE
  "_cql_was" AND "_cql_changed"
UNION ALL
SELECT
  "fresh.k" AS "k",
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
      "_cql_last" AND delta."fresh.k" IS NOT DISTINCT FROM kept."fresh.k"
  );

-- operator 1: keep their new state
INSERT INTO cql_state."q_1_groups"
SELECT
  "fresh.k",
  "_cql_n"
FROM temp."_cql_delta_q_1"
WHERE
  "_cql_last" AND "_cql_n" > 0;

-- operator 1: the elements, summed up, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_sums_b2f4a55035eb" AS
SELECT
  "fresh.k",
  CAST($t1 AS BIGINT) AS "_ts",
  CAST(SUM("_weight") AS BIGINT) AS "_cql_n"
FROM (
  SELECT
    "k" AS "fresh.k",
    "_ts",
    "_weight"
  FROM temp."_cql_arrivals_fresh"($t0, $t1)
  UNION ALL
  SELECT
    "k" AS "fresh.k",
    "_ts" + 4 AS "_ts",
    -"_weight" AS "_weight"
  FROM temp."_cql_stream_fresh"()
  WHERE
    "_ts" > $since AND "_ts" <= $t1 - 4 AND "_ts" > $t0 - 4
) AS elements
GROUP BY
  "fresh.k";

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
    r."fresh.k" AS "fresh.k",
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
      changes."fresh.k" AS "fresh.k",
      changes."_ts" AS "_ts",
      CAST(COALESCE(kept."_cql_n", 0) + changes."_cql_n" AS BIGINT) AS "_cql_n",
      changes."_cql_n" AS "_cql_d_n"
    FROM temp."_cql_sums_b2f4a55035eb" AS changes
    LEFT JOIN cql_state."q_1_groups" AS kept
      ON changes."fresh.k" IS NOT DISTINCT FROM kept."fresh.k"
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
      delta."fresh.k" IS NOT DISTINCT FROM kept."fresh.k"
  );

-- operator 1: keep their new state, in a tick of one instant, in stages
INSERT INTO cql_state."q_1_groups"
SELECT
  "fresh.k",
  "_cql_n"
FROM temp."_cql_delta_q_1"
WHERE
  "_cql_n" > 0;
