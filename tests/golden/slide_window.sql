-- title: both ends move to the multiples of the slide, negative instants too
SELECT k FROM s [RANGE 10 SLIDE 5]
----
-- operator 0: write the elements of the answer
INSERT INTO cql_state."changes_q"
SELECT
  "k",
  (
    (
      "_ts" + 4
    ) - (
      "_ts" + 4
    ) % 5 - CASE WHEN (
      "_ts" + 4
    ) % 5 < 0 THEN 5 ELSE 0 END
  ) AS "_ts",
  CAST(1 AS BIGINT) AS "_weight"
FROM temp."_cql_stream_s"()
WHERE
  "_ts" > $since
  AND "_ts" <= (
    (
      $t1
    ) - (
      $t1
    ) % 5 - CASE WHEN (
      $t1
    ) % 5 < 0 THEN 5 ELSE 0 END
  )
  AND "_ts" > (
    (
      $t0
    ) - (
      $t0
    ) % 5 - CASE WHEN (
      $t0
    ) % 5 < 0 THEN 5 ELSE 0 END
  )
UNION ALL
SELECT
  "k",
  (
    (
      "_ts"
    ) - (
      "_ts"
    ) % 5 - CASE WHEN (
      "_ts"
    ) % 5 < 0 THEN 5 ELSE 0 END
  ) + 15 AS "_ts",
  -CAST(1 AS BIGINT) AS "_weight"
FROM temp."_cql_stream_s"()
WHERE
  "_ts" > $since
  AND "_ts" <= (
    (
      $t1
    ) - (
      $t1
    ) % 5 - CASE WHEN (
      $t1
    ) % 5 < 0 THEN 5 ELSE 0 END
  ) - 11
  AND "_ts" > (
    (
      $t0
    ) - (
      $t0
    ) % 5 - CASE WHEN (
      $t0
    ) % 5 < 0 THEN 5 ELSE 0 END
  ) - 11;

-- title: with a slide longer than the range a tuple may fall between two positions
SELECT k FROM s [RANGE 2 SLIDE 5]
----
-- operator 0: write the elements of the answer
INSERT INTO cql_state."changes_q"
SELECT
  "k",
  (
    (
      "_ts" + 4
    ) - (
      "_ts" + 4
    ) % 5 - CASE WHEN (
      "_ts" + 4
    ) % 5 < 0 THEN 5 ELSE 0 END
  ) AS "_ts",
  CAST(1 AS BIGINT) AS "_weight"
FROM temp."_cql_stream_s"()
WHERE
  "_ts" > $since
  AND "_ts" <= (
    (
      $t1
    ) - (
      $t1
    ) % 5 - CASE WHEN (
      $t1
    ) % 5 < 0 THEN 5 ELSE 0 END
  )
  AND "_ts" > (
    (
      $t0
    ) - (
      $t0
    ) % 5 - CASE WHEN (
      $t0
    ) % 5 < 0 THEN 5 ELSE 0 END
  )
  AND (
    (
      "_ts" + 4
    ) - (
      "_ts" + 4
    ) % 5 - CASE WHEN (
      "_ts" + 4
    ) % 5 < 0 THEN 5 ELSE 0 END
  ) < (
    (
      "_ts" + 2
    ) - (
      "_ts" + 2
    ) % 5 - CASE WHEN (
      "_ts" + 2
    ) % 5 < 0 THEN 5 ELSE 0 END
  ) + 5
UNION ALL
SELECT
  "k",
  (
    (
      "_ts" + 2
    ) - (
      "_ts" + 2
    ) % 5 - CASE WHEN (
      "_ts" + 2
    ) % 5 < 0 THEN 5 ELSE 0 END
  ) + 5 AS "_ts",
  -CAST(1 AS BIGINT) AS "_weight"
FROM temp."_cql_stream_s"()
WHERE
  "_ts" > $since
  AND "_ts" <= (
    (
      $t1
    ) - (
      $t1
    ) % 5 - CASE WHEN (
      $t1
    ) % 5 < 0 THEN 5 ELSE 0 END
  ) - 3
  AND "_ts" > (
    (
      $t0
    ) - (
      $t0
    ) % 5 - CASE WHEN (
      $t0
    ) % 5 < 0 THEN 5 ELSE 0 END
  ) - 3
  AND (
    (
      "_ts" + 4
    ) - (
      "_ts" + 4
    ) % 5 - CASE WHEN (
      "_ts" + 4
    ) % 5 < 0 THEN 5 ELSE 0 END
  ) < (
    (
      "_ts" + 2
    ) - (
      "_ts" + 2
    ) % 5 - CASE WHEN (
      "_ts" + 2
    ) % 5 < 0 THEN 5 ELSE 0 END
  ) + 5;

-- title: unbounded: tuples wait for the next boundary and stay
SELECT k FROM s [RANGE UNBOUNDED SLIDE 5]
----
-- operator 0: write the elements of the answer
INSERT INTO cql_state."changes_q"
SELECT
  "k",
  (
    (
      "_ts" + 4
    ) - (
      "_ts" + 4
    ) % 5 - CASE WHEN (
      "_ts" + 4
    ) % 5 < 0 THEN 5 ELSE 0 END
  ) AS "_ts",
  CAST(1 AS BIGINT) AS "_weight"
FROM temp."_cql_stream_s"()
WHERE
  "_ts" > $since
  AND "_ts" <= (
    (
      $t1
    ) - (
      $t1
    ) % 5 - CASE WHEN (
      $t1
    ) % 5 < 0 THEN 5 ELSE 0 END
  )
  AND "_ts" > (
    (
      $t0
    ) - (
      $t0
    ) % 5 - CASE WHEN (
      $t0
    ) % 5 < 0 THEN 5 ELSE 0 END
  );

-- title: ROWS slides by arrivals: the content changes after every second one
SELECT k FROM s [ROWS 3 SLIDE 2]
----
-- operator 1: the rows that come, and whom they push out
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_1" AS
WITH arrivals AS (
  SELECT
    "k" AS "s.k",
    "_ts",
    "_cql_seq"
  FROM temp."_cql_arrivals_s"($t0, $t1)
)
SELECT
  "s.k",
  "_ts",
  COALESCE(
    LEAD("_ts", (
      2 - "_cql_position" % 2
    ) % 2) OVER (ORDER BY "_ts", "_cql_seq"),
    9223372036854775807
  ) AS "_cql_enter",
  COALESCE(
    LEAD("_ts", 3 + (
      2 - (
        "_cql_position" + 3
      ) % 2
    ) % 2) OVER (ORDER BY "_ts", "_cql_seq"),
    9223372036854775807
  ) AS "_cql_leave",
  "_cql_seq",
  "_cql_position"
FROM (
  SELECT
    "s.k",
    "_ts",
    "_cql_seq",
    COALESCE(MIN("_cql_position") OVER (PARTITION BY TRUE), 1) + ROW_NUMBER() OVER (ORDER BY "_ts", "_cql_seq") - 1 AS "_cql_position"
  FROM (
    SELECT
      "s.k",
      "_ts",
      "_cql_seq",
      "_cql_position"
    FROM cql_state."q_1_rows" AS kept
    UNION ALL
    SELECT
      "s.k",
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
  "_cql_enter" AS "_ts",
  "_weight"
FROM lives
WHERE
  "_cql_enter" > $t0
UNION ALL
SELECT
  "s.k" AS "k",
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
  "_ts",
  "_cql_seq",
  "_cql_position"
FROM temp."_cql_delta_q_1"
WHERE
  "_ts" > $t0 AND "_cql_leave" > $t1
ORDER BY
  "_cql_seq";

-- operator 1: the rows that come, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_arrivals_954a3ed84f82" AS
SELECT
  "k" AS "s.k",
  "_ts",
  "_cql_seq"
FROM temp."_cql_arrivals_s"($t0, $t1);

-- operator 1: the rows that come, and whom they push out, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_1" AS
WITH arrivals AS (
  SELECT
    *
  FROM temp."_cql_arrivals_954a3ed84f82"
)
SELECT
  "s.k",
  "_ts",
  COALESCE(
    LEAD("_ts", (
      2 - "_cql_position" % 2
    ) % 2) OVER (ORDER BY "_ts", "_cql_seq"),
    9223372036854775807
  ) AS "_cql_enter",
  COALESCE(
    LEAD("_ts", 3 + (
      2 - (
        "_cql_position" + 3
      ) % 2
    ) % 2) OVER (ORDER BY "_ts", "_cql_seq"),
    9223372036854775807
  ) AS "_cql_leave",
  "_cql_seq",
  "_cql_position"
FROM (
  SELECT
    "s.k",
    "_ts",
    "_cql_seq",
    COALESCE(MIN("_cql_position") OVER (PARTITION BY TRUE), 1) + ROW_NUMBER() OVER (ORDER BY "_ts", "_cql_seq") - 1 AS "_cql_position"
  FROM (
    SELECT
      "s.k",
      "_ts",
      "_cql_seq",
      "_cql_position"
    FROM cql_state."q_1_rows" AS kept
    UNION ALL
    SELECT
      "s.k",
      "_ts",
      "_cql_seq",
      CAST(NULL AS BIGINT) AS "_cql_position"
    FROM arrivals
  ) AS numbered
) AS rows;
