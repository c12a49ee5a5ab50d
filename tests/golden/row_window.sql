-- title: the n-th successor pushes a tuple out; ties go by arrival
SELECT k, v FROM s [ROWS 3]
----
-- operator 1: the rows that come, and whom they push out
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_1" AS
WITH arrivals AS (
  SELECT
    "k" AS "s.k",
    "v" AS "s.v",
    "_ts",
    "_cql_seq"
  FROM temp."_cql_arrivals_s"($t0, $t1)
)
SELECT
  "s.k",
  "s.v",
  "_ts",
  "_ts" AS "_cql_enter",
  COALESCE(LEAD("_ts", 3) OVER (ORDER BY "_ts", "_cql_seq"), 9223372036854775807) AS "_cql_leave",
  "_cql_seq"
FROM (
  SELECT
    "s.k",
    "s.v",
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
    "s.k",
    "s.v",
    "_ts",
    "_cql_seq"
  FROM arrivals
) AS rows;

-- operator 0: write the elements of the answer
INSERT INTO cql_state."changes_q"
WITH lives AS (
  SELECT
    "s.k",
    "s.v",
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
  "s.k" AS "k",
  "s.v" AS "v",
  "_cql_enter" AS "_ts",
  "_weight"
FROM lives
WHERE
  "_cql_enter" > $t0
UNION ALL
SELECT
  "s.k" AS "k",
  "s.v" AS "v",
  "_cql_leave" AS "_ts",
  -"_weight" AS "_weight"
FROM lives
WHERE
  "_cql_leave" <= $t1;

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
  "s.k",
  "s.v",
  "_ts",
  "_cql_seq"
FROM temp."_cql_delta_q_1"
WHERE
  "_ts" > $t0 AND "_cql_leave" > $t1
ORDER BY
  "_cql_seq";

-- operator 1: the rows that come, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_arrivals_eeb81522f552" AS
SELECT
  "k" AS "s.k",
  "v" AS "s.v",
  "_ts",
  "_cql_seq"
FROM temp."_cql_arrivals_s"($t0, $t1);

-- operator 1: the rows that come, and whom they push out, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_1" AS
WITH arrivals AS (
  SELECT
    *
  FROM temp."_cql_arrivals_eeb81522f552"
)
SELECT
  "s.k",
  "s.v",
  "_ts",
  "_ts" AS "_cql_enter",
  COALESCE(LEAD("_ts", 3) OVER (ORDER BY "_ts", "_cql_seq"), 9223372036854775807) AS "_cql_leave",
  "_cql_seq"
FROM (
  SELECT
    "s.k",
    "s.v",
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
    "s.k",
    "s.v",
    "_ts",
    "_cql_seq"
  FROM arrivals
) AS rows;

-- title: the ties of a derived stream go by all columns
CREATE CONTINUOUS QUERY late AS SELECT Dstream(k) FROM s [RANGE 5];
SELECT k FROM late [ROWS 3]
----
-- operator 1: the rows that come, and whom they push out
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_1" AS
WITH arrivals AS (
  SELECT
    "late.k",
    "_ts",
    ROW_NUMBER() OVER (ORDER BY "_ts", "late.k") + (
      SELECT
        COALESCE(MAX("_cql_seq"), 0)
      FROM cql_state."q_1_rows"
    ) AS "_cql_seq"
  FROM (
    SELECT
      "k" AS "late.k",
      "_ts",
      UNNEST(RANGE("_weight")) AS "_cql_copy"
    FROM temp."_cql_arrivals_late"($t0, $t1)
  ) AS arriving
)
SELECT
  "late.k",
  "_ts",
  "_ts" AS "_cql_enter",
  COALESCE(LEAD("_ts", 3) OVER (ORDER BY "_ts", "_cql_seq"), 9223372036854775807) AS "_cql_leave",
  "_cql_seq"
FROM (
  SELECT
    "late.k",
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
    "late.k",
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
      "late.k",
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
    "late.k" AS "k",
    "_cql_enter" AS "_ts",
    "_weight"
  FROM lives
  WHERE
    "_cql_enter" > $t0
  UNION ALL
  SELECT
    "late.k" AS "k",
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
  "late.k",
  "_ts",
  "_cql_seq"
FROM temp."_cql_delta_q_1"
WHERE
  "_ts" > $t0 AND "_cql_leave" > $t1
ORDER BY
  "_cql_seq";

-- operator 1: the rows that come, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_arrivals_ab0c596d0561" AS
SELECT
  "late.k",
  "_ts",
  ROW_NUMBER() OVER (ORDER BY "_ts", "late.k") + (
    SELECT
      COALESCE(MAX("_cql_seq"), 0)
    FROM cql_state."q_1_rows"
  ) AS "_cql_seq"
FROM (
  SELECT
    "k" AS "late.k",
    "_ts",
    UNNEST(RANGE("_weight")) AS "_cql_copy"
  FROM temp."_cql_arrivals_late"($t0, $t1)
) AS arriving;

-- operator 1: the rows that come, and whom they push out, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_1" AS
WITH arrivals AS (
  SELECT
    *
  FROM temp."_cql_arrivals_ab0c596d0561"
)
SELECT
  "late.k",
  "_ts",
  "_ts" AS "_cql_enter",
  COALESCE(LEAD("_ts", 3) OVER (ORDER BY "_ts", "_cql_seq"), 9223372036854775807) AS "_cql_leave",
  "_cql_seq"
FROM (
  SELECT
    "late.k",
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
    "late.k",
    "_ts",
    "_cql_seq"
  FROM arrivals
) AS rows;

-- title: a condition in the window filters before it counts
SELECT v FROM s [ROWS 3 WHERE k > 1]
----
-- operator 1: the rows that come, and whom they push out
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_1" AS
WITH arrivals AS (
  SELECT
    "k" AS "s.k",
    "v" AS "s.v",
    "_ts",
    "_cql_seq"
  FROM temp."_cql_arrivals_s"($t0, $t1)
  WHERE
    "k" > 1
)
SELECT
  "s.k",
  "s.v",
  "_ts",
  "_ts" AS "_cql_enter",
  COALESCE(LEAD("_ts", 3) OVER (ORDER BY "_ts", "_cql_seq"), 9223372036854775807) AS "_cql_leave",
  "_cql_seq"
FROM (
  SELECT
    "s.k",
    "s.v",
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
    "s.k",
    "s.v",
    "_ts",
    "_cql_seq"
  FROM arrivals
) AS rows;

-- operator 0: write the elements of the answer
INSERT INTO cql_state."changes_q"
WITH lives AS (
  SELECT
    "s.k",
    "s.v",
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
  "s.v" AS "v",
  "_cql_enter" AS "_ts",
  "_weight"
FROM lives
WHERE
  "_cql_enter" > $t0
UNION ALL
SELECT
  "s.v" AS "v",
  "_cql_leave" AS "_ts",
  -"_weight" AS "_weight"
FROM lives
WHERE
  "_cql_leave" <= $t1;

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
  "s.k",
  "s.v",
  "_ts",
  "_cql_seq"
FROM temp."_cql_delta_q_1"
WHERE
  "_ts" > $t0 AND "_cql_leave" > $t1
ORDER BY
  "_cql_seq";

-- operator 1: the rows that come, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_arrivals_de18993fc01c" AS
SELECT
  "k" AS "s.k",
  "v" AS "s.v",
  "_ts",
  "_cql_seq"
FROM temp."_cql_arrivals_s"($t0, $t1)
WHERE
  "k" > 1;

-- operator 1: the rows that come, and whom they push out, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_1" AS
WITH arrivals AS (
  SELECT
    *
  FROM temp."_cql_arrivals_de18993fc01c"
)
SELECT
  "s.k",
  "s.v",
  "_ts",
  "_ts" AS "_cql_enter",
  COALESCE(LEAD("_ts", 3) OVER (ORDER BY "_ts", "_cql_seq"), 9223372036854775807) AS "_cql_leave",
  "_cql_seq"
FROM (
  SELECT
    "s.k",
    "s.v",
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
    "s.k",
    "s.v",
    "_ts",
    "_cql_seq"
  FROM arrivals
) AS rows;
