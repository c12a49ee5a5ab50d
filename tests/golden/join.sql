-- title: one term for each input: standing left of it, alive right of it
SELECT s.v, t.w FROM s [RANGE 10] JOIN t [RANGE 5] ON s.k = t.k
----
-- operator 0: write the elements of the answer
INSERT INTO cql_state."changes_q"
WITH lives AS (
  SELECT
    i0."s.v",
    i1."w" AS "t.w",
    GREATEST(i0."_cql_enter", i1."_ts") AS "_cql_enter",
    LEAST(i0."_cql_leave", (
      i1."_ts" + 6
    )) AS "_cql_leave",
    i0."_weight" * CAST(1 AS BIGINT) AS "_weight"
  FROM (
    SELECT
      "k" AS "s.k",
      "v" AS "s.v",
      "_ts" AS "_cql_enter",
      "_ts" + 11 AS "_cql_leave",
      CAST(1 AS BIGINT) AS "_weight"
    FROM temp."_cql_arrivals_s"($t0, $t1)
    UNION ALL
    SELECT
      "k" AS "s.k",
      "v" AS "s.v",
      "_ts" AS "_cql_enter",
      "_ts" + 11 AS "_cql_leave",
      CAST(1 AS BIGINT) AS "_weight"
    FROM temp."_cql_stream_s"()
    WHERE
      "_ts" > $since AND "_ts" <= $t1 - 11 AND "_ts" > $t0 - 11 AND "_ts" <= $t0
  ) AS i0
  CROSS JOIN temp."_cql_stream_t"() AS i1
  WHERE
    i1."_ts" > $since
    AND i1."_ts" <= $t1
    AND i1."_ts" > $t0 - 6
    AND i0."s.k" = i1."k"
    AND i0."_cql_enter" < (
      i1."_ts" + 6
    )
    AND i1."_ts" < i0."_cql_leave"
  UNION ALL
  SELECT
    i0."v" AS "s.v",
    i1."t.w",
    GREATEST(i1."_cql_enter", i0."_ts") AS "_cql_enter",
    LEAST(i1."_cql_leave", (
      i0."_ts" + 11
    )) AS "_cql_leave",
    i1."_weight" * CAST(1 AS BIGINT) AS "_weight"
  FROM (
    SELECT
      "k" AS "t.k",
      "w" AS "t.w",
      "_ts" AS "_cql_enter",
      "_ts" + 6 AS "_cql_leave",
      CAST(1 AS BIGINT) AS "_weight"
    FROM temp."_cql_arrivals_t"($t0, $t1)
    UNION ALL
    SELECT
      "k" AS "t.k",
      "w" AS "t.w",
      "_ts" AS "_cql_enter",
      "_ts" + 6 AS "_cql_leave",
      CAST(1 AS BIGINT) AS "_weight"
    FROM temp."_cql_stream_t"()
    WHERE
      "_ts" > $since AND "_ts" <= $t1 - 6 AND "_ts" > $t0 - 6 AND "_ts" <= $t0
  ) AS i1
  CROSS JOIN temp."_cql_stream_s"() AS i0
  WHERE
    i0."_ts" > $since
    AND i0."_ts" <= $t0
    AND i0."_ts" > $t1 - 11
    AND i0."k" = i1."t.k"
    AND i1."_cql_enter" < (
      i0."_ts" + 11
    )
    AND i0."_ts" < i1."_cql_leave"
)
SELECT
  "s.v" AS "v",
  "t.w" AS "w",
  "_cql_enter" AS "_ts",
  "_weight"
FROM lives
WHERE
  "_cql_enter" > $t0
UNION ALL
SELECT
  "s.v" AS "v",
  "t.w" AS "w",
  "_cql_leave" AS "_ts",
  -"_weight" AS "_weight"
FROM lives
WHERE
  "_cql_leave" <= $t1;

-- operator 2: what begins or ends, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_lives_2d950aeaff58" AS
SELECT
  "k" AS "s.k",
  "v" AS "s.v",
  "_ts" AS "_cql_enter",
  "_ts" + 11 AS "_cql_leave",
  CAST(1 AS BIGINT) AS "_weight"
FROM temp."_cql_arrivals_s"($t0, $t1)
UNION ALL
SELECT
  "k" AS "s.k",
  "v" AS "s.v",
  "_ts" AS "_cql_enter",
  "_ts" + 11 AS "_cql_leave",
  CAST(1 AS BIGINT) AS "_weight"
FROM temp."_cql_stream_s"()
WHERE
  "_ts" > $since AND "_ts" <= $t1 - 11 AND "_ts" > $t0 - 11 AND "_ts" <= $t0;

-- operator 4: what begins or ends, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_lives_d5ba8959706c" AS
SELECT
  "k" AS "t.k",
  "w" AS "t.w",
  "_ts" AS "_cql_enter",
  "_ts" + 6 AS "_cql_leave",
  CAST(1 AS BIGINT) AS "_weight"
FROM temp."_cql_arrivals_t"($t0, $t1)
UNION ALL
SELECT
  "k" AS "t.k",
  "w" AS "t.w",
  "_ts" AS "_cql_enter",
  "_ts" + 6 AS "_cql_leave",
  CAST(1 AS BIGINT) AS "_weight"
FROM temp."_cql_stream_t"()
WHERE
  "_ts" > $since AND "_ts" <= $t1 - 6 AND "_ts" > $t0 - 6 AND "_ts" <= $t0;

-- operator 1: an empty table, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_1" AS
SELECT
  CAST(NULL AS BIGINT) AS "s.v",
  CAST(NULL AS BIGINT) AS "t.w",
  CAST(NULL AS BIGINT) AS "_cql_enter",
  CAST(NULL AS BIGINT) AS "_cql_leave",
  CAST(NULL AS BIGINT) AS "_weight"
WHERE
  FALSE;

-- operator 1: combinations that begin or end, in a tick of one instant, in stages
INSERT INTO temp."_cql_delta_q_1"
SELECT
  i0."s.v",
  i1."w" AS "t.w",
  GREATEST(i0."_cql_enter", i1."_ts") AS "_cql_enter",
  LEAST(i0."_cql_leave", (
    i1."_ts" + 6
  )) AS "_cql_leave",
  i0."_weight" * CAST(1 AS BIGINT) AS "_weight"
FROM temp."_cql_lives_2d950aeaff58" AS i0
CROSS JOIN temp."_cql_stream_t"() AS i1
WHERE
  i1."_ts" > $since
  AND i1."_ts" <= $t1
  AND i1."_ts" > $t0 - 6
  AND i0."s.k" = i1."k"
  AND i0."_cql_enter" < (
    i1."_ts" + 6
  )
  AND i1."_ts" < i0."_cql_leave";

-- operator 1: combinations that begin or end, in a tick of one instant, in stages
INSERT INTO temp."_cql_delta_q_1"
SELECT
  i0."v" AS "s.v",
  i1."t.w",
  GREATEST(i1."_cql_enter", i0."_ts") AS "_cql_enter",
  LEAST(i1."_cql_leave", (
    i0."_ts" + 11
  )) AS "_cql_leave",
  i1."_weight" * CAST(1 AS BIGINT) AS "_weight"
FROM temp."_cql_lives_d5ba8959706c" AS i1
CROSS JOIN temp."_cql_stream_s"() AS i0
WHERE
  i0."_ts" > $since
  AND i0."_ts" <= $t0
  AND i0."_ts" > $t1 - 11
  AND i0."k" = i1."t.k"
  AND i1."_cql_enter" < (
    i0."_ts" + 11
  )
  AND i0."_ts" < i1."_cql_leave";

-- operator 0: write the elements of the answer, in a tick of one instant, in stages
INSERT INTO cql_state."changes_q"
WITH lives AS (
  SELECT
    "s.v",
    "t.w",
    "_cql_enter",
    "_cql_leave",
    "_weight"
  FROM temp."_cql_delta_q_1"
)
SELECT
  "s.v" AS "v",
  "t.w" AS "w",
  "_cql_enter" AS "_ts",
  "_weight"
FROM lives
WHERE
  "_cql_enter" > $t0
UNION ALL
SELECT
  "s.v" AS "v",
  "t.w" AS "w",
  "_cql_leave" AS "_ts",
  -"_weight" AS "_weight"
FROM lives
WHERE
  "_cql_leave" <= $t1;

-- title: USING merges the columns
SELECT k, v, w FROM s [ROWS 2] JOIN t [RANGE 5] USING (k)
----
-- operator 2: the rows that come, and whom they push out
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_2" AS
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
  COALESCE(LEAD("_ts", 2) OVER (ORDER BY "_ts", "_cql_seq"), 9223372036854775807) AS "_cql_leave",
  "_cql_seq"
FROM (
  SELECT
    "s.k",
    "s.v",
    "_ts",
    "_cql_seq"
  FROM cql_state."q_2_rows" AS kept
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
    i0."s.k",
    i0."s.v",
    i1."w" AS "t.w",
    GREATEST(i0."_cql_enter", i1."_ts") AS "_cql_enter",
    LEAST(i0."_cql_leave", (
      i1."_ts" + 6
    )) AS "_cql_leave",
    CAST(1 AS BIGINT) * CAST(1 AS BIGINT) AS "_weight"
  FROM temp."_cql_delta_q_2" AS i0
  CROSS JOIN temp."_cql_stream_t"() AS i1
  WHERE
    i1."_ts" > $since
    AND i1."_ts" <= $t1
    AND i1."_ts" > $t0 - 6
    AND i0."_cql_enter" < i0."_cql_leave"
    AND (
      i0."_cql_enter" > $t0 OR i0."_cql_leave" <= $t1
    )
    AND i0."s.k" = i1."k"
    AND i0."_cql_enter" < (
      i1."_ts" + 6
    )
    AND i1."_ts" < i0."_cql_leave"
  UNION ALL
  SELECT
    i0."s.k",
    i0."s.v",
    i1."t.w",
    GREATEST(i1."_cql_enter", i0."_cql_enter") AS "_cql_enter",
    LEAST(i1."_cql_leave", i0."_cql_leave") AS "_cql_leave",
    i1."_weight" * i0."_weight" AS "_weight"
  FROM (
    SELECT
      "k" AS "t.k",
      "w" AS "t.w",
      "_ts" AS "_cql_enter",
      "_ts" + 6 AS "_cql_leave",
      CAST(1 AS BIGINT) AS "_weight"
    FROM temp."_cql_arrivals_t"($t0, $t1)
    UNION ALL
    SELECT
      "k" AS "t.k",
      "w" AS "t.w",
      "_ts" AS "_cql_enter",
      "_ts" + 6 AS "_cql_leave",
      CAST(1 AS BIGINT) AS "_weight"
    FROM temp."_cql_stream_t"()
    WHERE
      "_ts" > $since AND "_ts" <= $t1 - 6 AND "_ts" > $t0 - 6 AND "_ts" <= $t0
  ) AS i1
  CROSS JOIN (
    SELECT
      "s.k",
      "s.v",
      "_ts" AS "_cql_enter",
      9223372036854775807 AS "_cql_leave",
      CAST(1 AS BIGINT) AS "_weight"
    FROM cql_state."q_2_rows"
    WHERE
      NOT "_cql_seq" IN (
        SELECT
          "_cql_seq"
        FROM temp."_cql_delta_q_2"
        WHERE
          "_cql_leave" <= $t1
      )
  ) AS i0
  WHERE
    i0."s.k" = i1."t.k"
    AND i1."_cql_enter" < i0."_cql_leave"
    AND i0."_cql_enter" < i1."_cql_leave"
)
SELECT
  "s.k" AS "k",
  "s.v" AS "v",
  "t.w" AS "w",
  "_cql_enter" AS "_ts",
  "_weight"
FROM lives
WHERE
  "_cql_enter" > $t0
UNION ALL
SELECT
  "s.k" AS "k",
  "s.v" AS "v",
  "t.w" AS "w",
  "_cql_leave" AS "_ts",
  -"_weight" AS "_weight"
FROM lives
WHERE
  "_cql_leave" <= $t1;

-- operator 2: forget the rows that left
DELETE FROM cql_state."q_2_rows"
WHERE
  "_cql_seq" IN (
    SELECT
      "_cql_seq"
    FROM temp."_cql_delta_q_2"
    WHERE
      "_cql_leave" <= $t1
  );

-- operator 2: keep the rows that came
INSERT INTO cql_state."q_2_rows"
SELECT
  "s.k",
  "s.v",
  "_ts",
  "_cql_seq"
FROM temp."_cql_delta_q_2"
WHERE
  "_ts" > $t0 AND "_cql_leave" > $t1
ORDER BY
  "_cql_seq";

-- operator 2: the rows that come, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_arrivals_eeb81522f552" AS
SELECT
  "k" AS "s.k",
  "v" AS "s.v",
  "_ts",
  "_cql_seq"
FROM temp."_cql_arrivals_s"($t0, $t1);

-- operator 2: the rows that come, and whom they push out, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_2" AS
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
  COALESCE(LEAD("_ts", 2) OVER (ORDER BY "_ts", "_cql_seq"), 9223372036854775807) AS "_cql_leave",
  "_cql_seq"
FROM (
  SELECT
    "s.k",
    "s.v",
    "_ts",
    "_cql_seq"
  FROM cql_state."q_2_rows" AS kept
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

-- operator 4: what begins or ends, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_lives_d5ba8959706c" AS
SELECT
  "k" AS "t.k",
  "w" AS "t.w",
  "_ts" AS "_cql_enter",
  "_ts" + 6 AS "_cql_leave",
  CAST(1 AS BIGINT) AS "_weight"
FROM temp."_cql_arrivals_t"($t0, $t1)
UNION ALL
SELECT
  "k" AS "t.k",
  "w" AS "t.w",
  "_ts" AS "_cql_enter",
  "_ts" + 6 AS "_cql_leave",
  CAST(1 AS BIGINT) AS "_weight"
FROM temp."_cql_stream_t"()
WHERE
  "_ts" > $since AND "_ts" <= $t1 - 6 AND "_ts" > $t0 - 6 AND "_ts" <= $t0;

-- operator 1: an empty table, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_1" AS
SELECT
  CAST(NULL AS INT) AS "s.k",
  CAST(NULL AS BIGINT) AS "s.v",
  CAST(NULL AS BIGINT) AS "t.w",
  CAST(NULL AS BIGINT) AS "_cql_enter",
  CAST(NULL AS BIGINT) AS "_cql_leave",
  CAST(NULL AS BIGINT) AS "_weight"
WHERE
  FALSE;

-- operator 1: combinations that begin or end, in a tick of one instant, in stages
INSERT INTO temp."_cql_delta_q_1"
SELECT
  i0."s.k",
  i0."s.v",
  i1."w" AS "t.w",
  GREATEST(i0."_cql_enter", i1."_ts") AS "_cql_enter",
  LEAST(i0."_cql_leave", (
    i1."_ts" + 6
  )) AS "_cql_leave",
  CAST(1 AS BIGINT) * CAST(1 AS BIGINT) AS "_weight"
FROM temp."_cql_delta_q_2" AS i0
CROSS JOIN temp."_cql_stream_t"() AS i1
WHERE
  i1."_ts" > $since
  AND i1."_ts" <= $t1
  AND i1."_ts" > $t0 - 6
  AND i0."_cql_enter" < i0."_cql_leave"
  AND (
    i0."_cql_enter" > $t0 OR i0."_cql_leave" <= $t1
  )
  AND i0."s.k" = i1."k"
  AND i0."_cql_enter" < (
    i1."_ts" + 6
  )
  AND i1."_ts" < i0."_cql_leave";

-- operator 1: combinations that begin or end, in a tick of one instant, in stages
INSERT INTO temp."_cql_delta_q_1"
SELECT
  i0."s.k",
  i0."s.v",
  i1."t.w",
  GREATEST(i1."_cql_enter", i0."_cql_enter") AS "_cql_enter",
  LEAST(i1."_cql_leave", i0."_cql_leave") AS "_cql_leave",
  i1."_weight" * i0."_weight" AS "_weight"
FROM temp."_cql_lives_d5ba8959706c" AS i1
CROSS JOIN (
  SELECT
    "s.k",
    "s.v",
    "_ts" AS "_cql_enter",
    9223372036854775807 AS "_cql_leave",
    CAST(1 AS BIGINT) AS "_weight"
  FROM cql_state."q_2_rows"
  WHERE
    NOT "_cql_seq" IN (
      SELECT
        "_cql_seq"
      FROM temp."_cql_delta_q_2"
      WHERE
        "_cql_leave" <= $t1
    )
) AS i0
WHERE
  i0."s.k" = i1."t.k"
  AND i1."_cql_enter" < i0."_cql_leave"
  AND i0."_cql_enter" < i1."_cql_leave";

-- operator 0: write the elements of the answer, in a tick of one instant, in stages
INSERT INTO cql_state."changes_q"
WITH lives AS (
  SELECT
    "s.k",
    "s.v",
    "t.w",
    "_cql_enter",
    "_cql_leave",
    "_weight"
  FROM temp."_cql_delta_q_1"
)
SELECT
  "s.k" AS "k",
  "s.v" AS "v",
  "t.w" AS "w",
  "_cql_enter" AS "_ts",
  "_weight"
FROM lives
WHERE
  "_cql_enter" > $t0
UNION ALL
SELECT
  "s.k" AS "k",
  "s.v" AS "v",
  "t.w" AS "w",
  "_cql_leave" AS "_ts",
  -"_weight" AS "_weight"
FROM lives
WHERE
  "_cql_leave" <= $t1;

-- title: unbounded on both sides: nothing ends, so the changes are insertions
SELECT s.v, t.w FROM s JOIN t ON s.k = t.k
----
-- operator 0: write the elements of the answer
INSERT INTO cql_state."changes_q"
SELECT
  i0."v",
  i1."w",
  GREATEST(i0."_ts", i1."_ts") AS "_ts",
  CAST(1 AS BIGINT) * CAST(1 AS BIGINT) AS "_weight"
FROM temp."_cql_arrivals_s"($t0, $t1) AS i0
CROSS JOIN temp."_cql_stream_t"() AS i1
WHERE
  i1."_ts" > $since AND i1."_ts" <= $t1 AND i0."k" = i1."k"
UNION ALL
SELECT
  i0."v",
  i1."w",
  GREATEST(i1."_ts", i0."_ts") AS "_ts",
  CAST(1 AS BIGINT) * CAST(1 AS BIGINT) AS "_weight"
FROM temp."_cql_arrivals_t"($t0, $t1) AS i1
CROSS JOIN temp."_cql_stream_s"() AS i0
WHERE
  i0."_ts" > $since AND i0."_ts" <= $t0 AND i0."k" = i1."k";

-- operator 3: what begins or ends, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_lives_a12bce15b51a" AS
SELECT
  "k" AS "s.k",
  "v" AS "s.v",
  "_ts" AS "_cql_enter",
  9223372036854775807 AS "_cql_leave",
  CAST(1 AS BIGINT) AS "_weight"
FROM temp."_cql_arrivals_s"($t0, $t1);

-- operator 5: what begins or ends, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_lives_eebf8112a193" AS
SELECT
  "k" AS "t.k",
  "w" AS "t.w",
  "_ts" AS "_cql_enter",
  9223372036854775807 AS "_cql_leave",
  CAST(1 AS BIGINT) AS "_weight"
FROM temp."_cql_arrivals_t"($t0, $t1);

-- operator 2: an empty table, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_2" AS
SELECT
  CAST(NULL AS BIGINT) AS "s.v",
  CAST(NULL AS BIGINT) AS "t.w",
  CAST(NULL AS BIGINT) AS "_cql_enter",
  CAST(NULL AS BIGINT) AS "_cql_leave",
  CAST(NULL AS BIGINT) AS "_weight"
WHERE
  FALSE;

-- operator 2: combinations that begin or end, in a tick of one instant, in stages
INSERT INTO temp."_cql_delta_q_2"
SELECT
  i0."s.v",
  i1."w" AS "t.w",
  GREATEST(i0."_cql_enter", i1."_ts") AS "_cql_enter",
  9223372036854775807 AS "_cql_leave",
  i0."_weight" * CAST(1 AS BIGINT) AS "_weight"
FROM temp."_cql_lives_a12bce15b51a" AS i0
CROSS JOIN temp."_cql_stream_t"() AS i1
WHERE
  i1."_ts" > $since AND i1."_ts" <= $t1 AND i0."s.k" = i1."k";

-- operator 2: combinations that begin or end, in a tick of one instant, in stages
INSERT INTO temp."_cql_delta_q_2"
SELECT
  i0."v" AS "s.v",
  i1."t.w",
  GREATEST(i1."_cql_enter", i0."_ts") AS "_cql_enter",
  9223372036854775807 AS "_cql_leave",
  i1."_weight" * CAST(1 AS BIGINT) AS "_weight"
FROM temp."_cql_lives_eebf8112a193" AS i1
CROSS JOIN temp."_cql_stream_s"() AS i0
WHERE
  i0."_ts" > $since AND i0."_ts" <= $t0 AND i0."k" = i1."t.k";

-- operator 0: write the elements of the answer, in a tick of one instant, in stages
INSERT INTO cql_state."changes_q"
SELECT
  "s.v" AS "v",
  "t.w" AS "w",
  "_cql_enter" AS "_ts",
  "_weight"
FROM temp."_cql_delta_q_2";

-- title: a comma and WHERE are a join, a condition on one side included
SELECT s.v FROM s [NOW], t [RANGE 5] WHERE s.k = t.k AND t.w > 0
----
-- operator 0: write the elements of the answer
INSERT INTO cql_state."changes_q"
WITH lives AS (
  SELECT
    i0."s.v",
    GREATEST(i0."_cql_enter", i1."_ts") AS "_cql_enter",
    LEAST(i0."_cql_leave", (
      i1."_ts" + 6
    )) AS "_cql_leave",
    i0."_weight" * CAST(1 AS BIGINT) AS "_weight"
  FROM (
    SELECT
      "k" AS "s.k",
      "v" AS "s.v",
      "_ts" AS "_cql_enter",
      "_ts" + 1 AS "_cql_leave",
      CAST(1 AS BIGINT) AS "_weight"
    FROM temp."_cql_arrivals_s"($t0, $t1)
    UNION ALL
    SELECT
      "k" AS "s.k",
      "v" AS "s.v",
      "_ts" AS "_cql_enter",
      "_ts" + 1 AS "_cql_leave",
      CAST(1 AS BIGINT) AS "_weight"
    FROM temp."_cql_stream_s"()
    WHERE
      "_ts" > $since AND "_ts" <= $t1 - 1 AND "_ts" > $t0 - 1 AND "_ts" <= $t0
  ) AS i0
  CROSS JOIN temp."_cql_stream_t"() AS i1
  WHERE
    i1."_ts" > $since
    AND i1."_ts" <= $t1
    AND i1."_ts" > $t0 - 6
    AND i0."s.k" = i1."k"
    AND i1."w" > 0
    AND i0."_cql_enter" < (
      i1."_ts" + 6
    )
    AND i1."_ts" < i0."_cql_leave"
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

-- operator 2: what begins or ends, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_lives_e5533cff4ddf" AS
SELECT
  "k" AS "s.k",
  "v" AS "s.v",
  "_ts" AS "_cql_enter",
  "_ts" + 1 AS "_cql_leave",
  CAST(1 AS BIGINT) AS "_weight"
FROM temp."_cql_arrivals_s"($t0, $t1)
UNION ALL
SELECT
  "k" AS "s.k",
  "v" AS "s.v",
  "_ts" AS "_cql_enter",
  "_ts" + 1 AS "_cql_leave",
  CAST(1 AS BIGINT) AS "_weight"
FROM temp."_cql_stream_s"()
WHERE
  "_ts" > $since AND "_ts" <= $t1 - 1 AND "_ts" > $t0 - 1 AND "_ts" <= $t0;

-- operator 0: write the elements of the answer, in a tick of one instant, in stages
INSERT INTO cql_state."changes_q"
WITH lives AS (
  SELECT
    i0."s.v",
    GREATEST(i0."_cql_enter", i1."_ts") AS "_cql_enter",
    LEAST(i0."_cql_leave", (
      i1."_ts" + 6
    )) AS "_cql_leave",
    i0."_weight" * CAST(1 AS BIGINT) AS "_weight"
  FROM temp."_cql_lives_e5533cff4ddf" AS i0
  CROSS JOIN temp."_cql_stream_t"() AS i1
  WHERE
    i1."_ts" > $since
    AND i1."_ts" <= $t1
    AND i1."_ts" > $t0 - 6
    AND i0."s.k" = i1."k"
    AND i1."w" > 0
    AND i0."_cql_enter" < (
      i1."_ts" + 6
    )
    AND i1."_ts" < i0."_cql_leave"
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
