-- title: a subquery under a window gets an Istream, kept in a trace
SELECT x.n FROM (SELECT count(*) AS n FROM s [RANGE 10]) [RANGE 3] AS x
----
-- operator 6: the elements, summed up
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_sums_059010bc58ce" AS
SELECT
  "_ts",
  CAST(SUM("_cql_n") AS BIGINT) AS "_cql_n"
FROM (
  SELECT
    "_ts",
    CAST(SUM("_weight") AS BIGINT) AS "_cql_n"
  FROM (
    SELECT
      "_ts",
      CAST(1 AS BIGINT) AS "_weight"
    FROM temp."_cql_arrivals_s"($t0, $t1)
    UNION ALL
    SELECT
      "_ts" + 11 AS "_ts",
      -CAST(1 AS BIGINT) AS "_weight"
    FROM temp."_cql_stream_s"()
    WHERE
      "_ts" > $since AND "_ts" <= $t1 - 11 AND "_ts" > $t0 - 11
  ) AS input
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

-- operator 6: the groups and instants that changed
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_6" AS
SELECT
  *,
  (
    "_cql_is" IS DISTINCT FROM "_cql_was"
    OR "count0" IS DISTINCT FROM "_cql_old_count0"
  ) AS "_cql_changed"
FROM (
  WITH before AS (
    SELECT
      CAST($t0 AS BIGINT) AS "_ts",
      "_cql_n"
    FROM cql_state."q_6_groups" AS kept
    WHERE
      EXISTS(
        SELECT
          1
        FROM temp."_cql_sums_059010bc58ce" AS changes
        WHERE
          TRUE
      )
  ), running AS (
    SELECT
      "_ts",
      CAST(SUM("_cql_n") OVER (ORDER BY "_ts") AS BIGINT) AS "_cql_n",
      "_cql_n" AS "_cql_d_n",
      "_cql_old",
      LEAD("_ts") OVER (ORDER BY "_ts") IS NULL AS "_cql_last"
    FROM (
      SELECT
        "_ts",
        "_cql_n",
        TRUE AS "_cql_old"
      FROM before
      UNION ALL
      SELECT
        "_ts",
        "_cql_n",
        FALSE AS "_cql_old"
      FROM temp."_cql_sums_059010bc58ce" AS changes
    ) AS history
  )
  SELECT
    r."_ts" AS "_ts",
    r."_cql_n" AS "_cql_n",
    r."_cql_last" AS "_cql_last",
    TRUE AS "_cql_is",
    r."_ts" > $begin AS "_cql_was",
    r."_cql_n" AS "count0",
    (
      r."_cql_n" - r."_cql_d_n"
    ) AS "_cql_old_count0"
  FROM running AS r
  WHERE
    r."_ts" > $t0
) AS results;

-- operator 2: the elements of the tick
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_2" AS
SELECT
  "x.n",
  "_ts",
  CAST(SUM("_weight") AS BIGINT) AS "_weight"
FROM (
  SELECT
    "_cql_old_count0" AS "x.n",
    "_ts",
    CAST(-1 AS BIGINT) AS "_weight"
  FROM temp."_cql_delta_q_6"
  WHERE
    "_cql_was" AND "_cql_changed"
  UNION ALL
  SELECT
    "count0" AS "x.n",
    "_ts",
    CAST(1 AS BIGINT) AS "_weight"
  FROM temp."_cql_delta_q_6"
  WHERE
    "_cql_is" AND "_cql_changed"
) AS elements
GROUP BY
  "x.n",
  "_ts"
HAVING
  SUM("_weight") > 0;

-- operator 0: write the elements of the answer
INSERT INTO cql_state."changes_q"
SELECT
  "n",
  "_ts",
  CAST(SUM("_weight") AS BIGINT) AS "_weight"
FROM (
  SELECT
    "x.n" AS "n",
    "_ts",
    "_weight"
  FROM (
    SELECT
      "x.n",
      "_ts",
      "_weight"
    FROM cql_state."q_2_trace"
    WHERE
      "_ts" <= $t0
    UNION ALL
    SELECT
      "x.n",
      "_ts",
      "_weight"
    FROM temp."_cql_delta_q_2"
  ) AS trace
  WHERE
    "_ts" <= $t1 AND "_ts" > $t0
  UNION ALL
  SELECT
    "x.n" AS "n",
    "_ts" + 4 AS "_ts",
    -"_weight" AS "_weight"
  FROM (
    SELECT
      "x.n",
      "_ts",
      "_weight"
    FROM cql_state."q_2_trace"
    WHERE
      "_ts" <= $t0
    UNION ALL
    SELECT
      "x.n",
      "_ts",
      "_weight"
    FROM temp."_cql_delta_q_2"
  ) AS trace
  WHERE
    "_ts" <= $t1 - 4 AND "_ts" > $t0 - 4
) AS elements
GROUP BY
  "n",
  "_ts"
HAVING
  SUM("_weight") <> 0;

-- operator 6: forget the old state of the groups that changed
DELETE FROM cql_state."q_6_groups" AS kept
WHERE
  EXISTS(
    SELECT
      1
    FROM temp."_cql_delta_q_6" AS delta
    WHERE
      "_cql_last" AND TRUE
  );

-- operator 6: keep their new state
INSERT INTO cql_state."q_6_groups"
SELECT
  "_cql_n"
FROM temp."_cql_delta_q_6"
WHERE
  "_cql_last";

-- operator 2: append them to the trace
INSERT INTO cql_state."q_2_trace"
SELECT
  "x.n",
  "_ts",
  "_weight"
FROM temp."_cql_delta_q_2";

-- operator 6: the groups and instants that changed, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_6" AS
SELECT
  *,
  (
    "_cql_is" IS DISTINCT FROM "_cql_was"
    OR "count0" IS DISTINCT FROM "_cql_old_count0"
  ) AS "_cql_changed"
FROM (
  SELECT
    r."_ts" AS "_ts",
    r."_cql_n" AS "_cql_n",
    TRUE AS "_cql_is",
    r."_ts" > $begin AS "_cql_was",
    r."_cql_n" AS "count0",
    (
      r."_cql_n" - r."_cql_d_n"
    ) AS "_cql_old_count0"
  FROM (
    SELECT
      changes."_ts" AS "_ts",
      CAST(COALESCE(kept."_cql_n", 0) + changes."_cql_n" AS BIGINT) AS "_cql_n",
      changes."_cql_n" AS "_cql_d_n"
    FROM temp."_cql_sums_059010bc58ce" AS changes
    LEFT JOIN cql_state."q_6_groups" AS kept
      ON TRUE
  ) AS r
) AS results;

-- operator 6: forget the old state of the groups that changed, in a tick of one instant, in stages
DELETE FROM cql_state."q_6_groups" AS kept
WHERE
  EXISTS(
    SELECT
      1
    FROM temp."_cql_delta_q_6" AS delta
    WHERE
      TRUE
  );

-- operator 6: keep their new state, in a tick of one instant, in stages
INSERT INTO cql_state."q_6_groups"
SELECT
  "_cql_n"
FROM temp."_cql_delta_q_6";

-- title: its own operator is left as it is
SELECT x.k FROM (SELECT Dstream(k) FROM s [RANGE 10]) AS x [ROWS 2]
----
-- operator 2: the elements of the tick
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_2" AS
SELECT
  "x.k",
  "_ts",
  -"_weight" AS "_weight"
FROM (
  SELECT
    "x.k",
    "_ts",
    CAST(SUM("_weight") AS BIGINT) AS "_weight"
  FROM (
    SELECT
      "k" AS "x.k",
      "_ts",
      CAST(1 AS BIGINT) AS "_weight"
    FROM temp."_cql_arrivals_s"($t0, $t1)
    UNION ALL
    SELECT
      "k" AS "x.k",
      "_ts" + 11 AS "_ts",
      -CAST(1 AS BIGINT) AS "_weight"
    FROM temp."_cql_stream_s"()
    WHERE
      "_ts" > $since AND "_ts" <= $t1 - 11 AND "_ts" > $t0 - 11
  ) AS elements
  GROUP BY
    "x.k",
    "_ts"
  HAVING
    SUM("_weight") < 0
) AS net;

-- operator 1: the rows that come, and whom they push out
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_1" AS
WITH arrivals AS (
  SELECT
    "x.k",
    "_ts",
    ROW_NUMBER() OVER (ORDER BY "_ts", "x.k") + (
      SELECT
        COALESCE(MAX("_cql_seq"), 0)
      FROM cql_state."q_1_rows"
    ) AS "_cql_seq"
  FROM (
    SELECT
      "x.k",
      "_ts",
      UNNEST(RANGE("_weight")) AS "_cql_copy"
    FROM (
      SELECT
        "x.k",
        "_ts",
        "_weight"
      FROM cql_state."q_2_trace"
      WHERE
        "_ts" <= $t0
      UNION ALL
      SELECT
        "x.k",
        "_ts",
        "_weight"
      FROM temp."_cql_delta_q_2"
    ) AS trace
    WHERE
      "_ts" <= $t1 AND "_ts" > $t0
  ) AS arriving
)
SELECT
  "x.k",
  "_ts",
  "_ts" AS "_cql_enter",
  COALESCE(LEAD("_ts", 2) OVER (ORDER BY "_ts", "_cql_seq"), 9223372036854775807) AS "_cql_leave",
  "_cql_seq"
FROM (
  SELECT
    "x.k",
    "_ts",
    "_cql_seq"
  FROM cql_state."q_1_rows" AS kept
  WHERE
    EXISTS(
      SELECT
        1
      FROM arrivals
      WHERE
        TRUE
    )
  UNION ALL
  SELECT
    "x.k",
    "_ts",
    "_cql_seq"
  FROM arrivals
) AS rows;

-- operator 0: write the elements of the answer
INSERT INTO cql_state."changes_q"
SELECT
  "k",
  "_ts",
  CAST(SUM("_weight") AS BIGINT) AS "_weight"
FROM (
  WITH lives AS (
    SELECT
      "x.k",
      "_cql_enter",
      "_cql_leave",
      CAST(1 AS BIGINT) AS "_weight"
    FROM temp."_cql_delta_q_1"
    WHERE
      "_cql_enter" < "_cql_leave" AND (
        "_cql_enter" > $t0 OR "_cql_leave" <= $t1
      )
  )
  SELECT
    "x.k" AS "k",
    "_cql_enter" AS "_ts",
    "_weight"
  FROM lives
  WHERE
    "_cql_enter" > $t0
  UNION ALL
  SELECT
    "x.k" AS "k",
    "_cql_leave" AS "_ts",
    -"_weight" AS "_weight"
  FROM lives
  WHERE
    "_cql_leave" <= $t1
) AS elements
GROUP BY
  "k",
  "_ts"
HAVING
  SUM("_weight") <> 0;

-- operator 2: append them to the trace
INSERT INTO cql_state."q_2_trace"
SELECT
  "x.k",
  "_ts",
  "_weight"
FROM temp."_cql_delta_q_2";

-- operator 1: forget the rows that left
DELETE FROM cql_state."q_1_rows"
WHERE
  "_cql_seq" IN (
    SELECT
      "_cql_seq"
    FROM temp."_cql_delta_q_1"
    WHERE
      "_cql_leave" <= $t1
  );

-- operator 1: keep the rows that came
INSERT INTO cql_state."q_1_rows"
SELECT
  "x.k",
  "_ts",
  "_cql_seq"
FROM temp."_cql_delta_q_1"
WHERE
  "_ts" > $t0 AND "_cql_leave" > $t1
ORDER BY
  "_cql_seq";

-- operator 1: the rows that come, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_arrivals_q_1" AS
SELECT
  "x.k",
  "_ts",
  ROW_NUMBER() OVER (ORDER BY "_ts", "x.k") + (
    SELECT
      COALESCE(MAX("_cql_seq"), 0)
    FROM cql_state."q_1_rows"
  ) AS "_cql_seq"
FROM (
  SELECT
    "x.k",
    "_ts",
    UNNEST(RANGE("_weight")) AS "_cql_copy"
  FROM (
    SELECT
      "x.k",
      "_ts",
      "_weight"
    FROM cql_state."q_2_trace"
    WHERE
      "_ts" <= $t0
    UNION ALL
    SELECT
      "x.k",
      "_ts",
      "_weight"
    FROM temp."_cql_delta_q_2"
  ) AS trace
  WHERE
    "_ts" <= $t1 AND "_ts" > $t0
) AS arriving;

-- operator 1: the rows that come, and whom they push out, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_1" AS
WITH arrivals AS (
  SELECT
    *
  FROM temp."_cql_arrivals_q_1"
)
SELECT
  "x.k",
  "_ts",
  "_ts" AS "_cql_enter",
  COALESCE(LEAD("_ts", 2) OVER (ORDER BY "_ts", "_cql_seq"), 9223372036854775807) AS "_cql_leave",
  "_cql_seq"
FROM (
  SELECT
    "x.k",
    "_ts",
    "_cql_seq"
  FROM cql_state."q_1_rows" AS kept
  WHERE
    EXISTS(
      SELECT
        1
      FROM arrivals
      WHERE
        TRUE
    )
  UNION ALL
  SELECT
    "x.k",
    "_ts",
    "_cql_seq"
  FROM arrivals
) AS rows;
