-- title: only the partitions that get new tuples are read; NULLs are one of them
SELECT k, v FROM s [PARTITION BY k ROWS 2]
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
  COALESCE(
    LEAD("_ts", 2) OVER (PARTITION BY "s.k" ORDER BY "_ts", "_cql_seq"),
    9223372036854775807
  ) AS "_cql_leave",
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
        arrivals."s.k" IS NOT DISTINCT FROM kept."s.k"
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
  COALESCE(
    LEAD("_ts", 2) OVER (PARTITION BY "s.k" ORDER BY "_ts", "_cql_seq"),
    9223372036854775807
  ) AS "_cql_leave",
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
        arrivals."s.k" IS NOT DISTINCT FROM kept."s.k"
    )
  UNION ALL
  SELECT
    "s.k",
    "s.v",
    "_ts",
    "_cql_seq"
  FROM arrivals
) AS rows;

-- title: with a range, tuples leave by time too, so every partition is read
SELECT k, v FROM s [PARTITION BY k ROWS 2 RANGE 10]
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
  LEAST(
    COALESCE(
      LEAD("_ts", 2) OVER (PARTITION BY "s.k" ORDER BY "_ts", "_cql_seq"),
      9223372036854775807
    ),
    "_ts" + 11
  ) AS "_cql_leave",
  "_cql_seq"
FROM (
  SELECT
    "s.k",
    "s.v",
    "_ts",
    "_cql_seq"
  FROM cql_state."q_1_rows" AS kept
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
  LEAST(
    COALESCE(
      LEAD("_ts", 2) OVER (PARTITION BY "s.k" ORDER BY "_ts", "_cql_seq"),
      9223372036854775807
    ),
    "_ts" + 11
  ) AS "_cql_leave",
  "_cql_seq"
FROM (
  SELECT
    "s.k",
    "s.v",
    "_ts",
    "_cql_seq"
  FROM cql_state."q_1_rows" AS kept
  UNION ALL
  SELECT
    "s.k",
    "s.v",
    "_ts",
    "_cql_seq"
  FROM arrivals
) AS rows;

-- title: with SLIDE, positions in the partition say when a row enters and when it leaves
SELECT k, v FROM s [PARTITION BY k ROWS 3 SLIDE 2]
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
  COALESCE(
    LEAD("_ts", (
      2 - "_cql_position" % 2
    ) % 2) OVER (PARTITION BY "s.k" ORDER BY "_ts", "_cql_seq"),
    9223372036854775807
  ) AS "_cql_enter",
  COALESCE(
    LEAD("_ts", 3 + (
      2 - (
        "_cql_position" + 3
      ) % 2
    ) % 2) OVER (PARTITION BY "s.k" ORDER BY "_ts", "_cql_seq"),
    9223372036854775807
  ) AS "_cql_leave",
  "_cql_seq",
  "_cql_position"
FROM (
  SELECT
    "s.k",
    "s.v",
    "_ts",
    "_cql_seq",
    COALESCE(MIN("_cql_position") OVER (PARTITION BY "s.k"), 1) + ROW_NUMBER() OVER (PARTITION BY "s.k" ORDER BY "_ts", "_cql_seq") - 1 AS "_cql_position"
  FROM (
    SELECT
      "s.k",
      "s.v",
      "_ts",
      "_cql_seq",
      "_cql_position"
    FROM cql_state."q_1_rows" AS kept
    UNION ALL
    SELECT
      "s.k",
      "s.v",
      "_ts",
      "_cql_seq",
      CAST(NULL AS BIGINT) AS "_cql_position"
    FROM arrivals
  ) AS numbered
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
  "_cql_seq",
  "_cql_position"
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
  COALESCE(
    LEAD("_ts", (
      2 - "_cql_position" % 2
    ) % 2) OVER (PARTITION BY "s.k" ORDER BY "_ts", "_cql_seq"),
    9223372036854775807
  ) AS "_cql_enter",
  COALESCE(
    LEAD("_ts", 3 + (
      2 - (
        "_cql_position" + 3
      ) % 2
    ) % 2) OVER (PARTITION BY "s.k" ORDER BY "_ts", "_cql_seq"),
    9223372036854775807
  ) AS "_cql_leave",
  "_cql_seq",
  "_cql_position"
FROM (
  SELECT
    "s.k",
    "s.v",
    "_ts",
    "_cql_seq",
    COALESCE(MIN("_cql_position") OVER (PARTITION BY "s.k"), 1) + ROW_NUMBER() OVER (PARTITION BY "s.k" ORDER BY "_ts", "_cql_seq") - 1 AS "_cql_position"
  FROM (
    SELECT
      "s.k",
      "s.v",
      "_ts",
      "_cql_seq",
      "_cql_position"
    FROM cql_state."q_1_rows" AS kept
    UNION ALL
    SELECT
      "s.k",
      "s.v",
      "_ts",
      "_cql_seq",
      CAST(NULL AS BIGINT) AS "_cql_position"
    FROM arrivals
  ) AS numbered
) AS rows;
