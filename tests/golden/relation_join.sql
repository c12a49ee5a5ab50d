-- title: a stream meets the relation as it is at each instant
SELECT s.v, r.name FROM s [RANGE 10] JOIN r ON s.k = r.k
----
-- operator 0: write the elements of the answer
INSERT INTO cql_state."changes_q"
WITH lives AS (
  SELECT
    i0."s.v",
    i1."r.name",
    GREATEST(i0."_cql_enter", i1."_cql_enter") AS "_cql_enter",
    LEAST(i0."_cql_leave", i1."_cql_leave") AS "_cql_leave",
    i0."_weight" * i1."_weight" AS "_weight"
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
  CROSS JOIN (
    SELECT
      "k" AS "r.k",
      "name" AS "r.name",
      GREATEST("_cql_enter", $begin) AS "_cql_enter",
      "_cql_leave",
      CAST(1 AS BIGINT) AS "_weight"
    FROM cql_state."relation_r"
    WHERE
      "_cql_enter" <= $t1 AND "_cql_leave" > $t0 AND "_cql_leave" > $begin
  ) AS i1
  WHERE
    i0."s.k" = i1."r.k"
    AND i0."_cql_enter" < i1."_cql_leave"
    AND i1."_cql_enter" < i0."_cql_leave"
  UNION ALL
  SELECT
    i0."v" AS "s.v",
    i1."r.name",
    GREATEST(i1."_cql_enter", i0."_ts") AS "_cql_enter",
    LEAST(i1."_cql_leave", (
      i0."_ts" + 11
    )) AS "_cql_leave",
    i1."_weight" * CAST(1 AS BIGINT) AS "_weight"
  FROM (
    SELECT
      "k" AS "r.k",
      "name" AS "r.name",
      GREATEST("_cql_enter", $begin) AS "_cql_enter",
      "_cql_leave",
      CAST(1 AS BIGINT) AS "_weight"
    FROM cql_state."relation_r"
    WHERE
      "_cql_enter" <= $t1
      AND "_cql_leave" > $t0
      AND "_cql_leave" > $begin
      AND (
        "_cql_enter" > $low OR "_cql_leave" <= $t1
      )
  ) AS i1
  CROSS JOIN temp."_cql_stream_s"() AS i0
  WHERE
    i0."_ts" > $since
    AND i0."_ts" <= $t0
    AND i0."_ts" > $t1 - 11
    AND i0."k" = i1."r.k"
    AND i1."_cql_enter" < (
      i0."_ts" + 11
    )
    AND i0."_ts" < i1."_cql_leave"
)
SELECT
  "s.v" AS "v",
  "r.name" AS "name",
  "_cql_enter" AS "_ts",
  "_weight"
FROM lives
WHERE
  "_cql_enter" > $t0
UNION ALL
SELECT
  "s.v" AS "v",
  "r.name" AS "name",
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
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_lives_55d0b63e2ad1" AS
SELECT
  "k" AS "r.k",
  "name" AS "r.name",
  GREATEST("_cql_enter", $begin) AS "_cql_enter",
  "_cql_leave",
  CAST(1 AS BIGINT) AS "_weight"
FROM cql_state."relation_r"
WHERE
  "_cql_enter" <= $t1
  AND "_cql_leave" > $t0
  AND "_cql_leave" > $begin
  AND (
    "_cql_enter" > $low OR "_cql_leave" <= $t1
  );

-- operator 1: an empty table, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_1" AS
SELECT
  CAST(NULL AS BIGINT) AS "s.v",
  CAST(NULL AS TEXT) AS "r.name",
  CAST(NULL AS BIGINT) AS "_cql_enter",
  CAST(NULL AS BIGINT) AS "_cql_leave",
  CAST(NULL AS BIGINT) AS "_weight"
WHERE
  FALSE;

-- operator 1: combinations that begin or end, in a tick of one instant, in stages
INSERT INTO temp."_cql_delta_q_1"
SELECT
  i0."s.v",
  i1."r.name",
  GREATEST(i0."_cql_enter", i1."_cql_enter") AS "_cql_enter",
  LEAST(i0."_cql_leave", i1."_cql_leave") AS "_cql_leave",
  i0."_weight" * i1."_weight" AS "_weight"
FROM temp."_cql_lives_2d950aeaff58" AS i0
CROSS JOIN (
  SELECT
    "k" AS "r.k",
    "name" AS "r.name",
    GREATEST("_cql_enter", $begin) AS "_cql_enter",
    "_cql_leave",
    CAST(1 AS BIGINT) AS "_weight"
  FROM cql_state."relation_r"
  WHERE
    "_cql_enter" <= $t1 AND "_cql_leave" > $t0 AND "_cql_leave" > $begin
) AS i1
WHERE
  i0."s.k" = i1."r.k"
  AND i0."_cql_enter" < i1."_cql_leave"
  AND i1."_cql_enter" < i0."_cql_leave";

-- operator 1: combinations that begin or end, in a tick of one instant, in stages
INSERT INTO temp."_cql_delta_q_1"
SELECT
  i0."v" AS "s.v",
  i1."r.name",
  GREATEST(i1."_cql_enter", i0."_ts") AS "_cql_enter",
  LEAST(i1."_cql_leave", (
    i0."_ts" + 11
  )) AS "_cql_leave",
  i1."_weight" * CAST(1 AS BIGINT) AS "_weight"
FROM temp."_cql_lives_55d0b63e2ad1" AS i1
CROSS JOIN temp."_cql_stream_s"() AS i0
WHERE
  i0."_ts" > $since
  AND i0."_ts" <= $t0
  AND i0."_ts" > $t1 - 11
  AND i0."k" = i1."r.k"
  AND i1."_cql_enter" < (
    i0."_ts" + 11
  )
  AND i0."_ts" < i1."_cql_leave";

-- operator 0: write the elements of the answer, in a tick of one instant, in stages
INSERT INTO cql_state."changes_q"
WITH lives AS (
  SELECT
    "s.v",
    "r.name",
    "_cql_enter",
    "_cql_leave",
    "_weight"
  FROM temp."_cql_delta_q_1"
)
SELECT
  "s.v" AS "v",
  "r.name" AS "name",
  "_cql_enter" AS "_ts",
  "_weight"
FROM lives
WHERE
  "_cql_enter" > $t0
UNION ALL
SELECT
  "s.v" AS "v",
  "r.name" AS "name",
  "_cql_leave" AS "_ts",
  -"_weight" AS "_weight"
FROM lives
WHERE
  "_cql_leave" <= $t1;

-- title: with a NOW window each element meets the relation once
SELECT Rstream(s.v, r.name) FROM s [NOW] JOIN r ON s.k = r.k
----
-- operator 0: write the elements of the answer
INSERT INTO cql_state."changes_q"
SELECT
  "v",
  "name",
  "_ts",
  CAST(SUM("_weight") AS BIGINT) AS "_weight"
FROM (
  SELECT
    "v",
    "name",
    UNNEST(RANGE(GREATEST("_cql_enter", $t0 + 1), LEAST("_cql_leave", $t1 + 1))) AS "_ts",
    "_weight"
  FROM (
    SELECT
      i0."s.v" AS "v",
      i1."r.name" AS "name",
      GREATEST(i0."_cql_enter", i1."_cql_enter") AS "_cql_enter",
      LEAST(i0."_cql_leave", i1."_cql_leave") AS "_cql_leave",
      i0."_weight" * i1."_weight" AS "_weight"
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
    CROSS JOIN (
      SELECT
        "k" AS "r.k",
        "name" AS "r.name",
        GREATEST("_cql_enter", $begin) AS "_cql_enter",
        "_cql_leave",
        CAST(1 AS BIGINT) AS "_weight"
      FROM cql_state."relation_r"
      WHERE
        "_cql_enter" <= $t1 AND "_cql_leave" > $t0 AND "_cql_leave" > $begin
    ) AS i1
    WHERE
      i0."s.k" = i1."r.k"
      AND i0."_cql_enter" < i1."_cql_leave"
      AND i1."_cql_enter" < i0."_cql_leave"
  ) AS lives
) AS elements
GROUP BY
  "v",
  "name",
  "_ts"
HAVING
  SUM("_weight") <> 0;

-- operator 3: what begins or ends, in a tick of one instant, in stages
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
SELECT
  "v",
  "name",
  "_ts",
  CAST(SUM("_weight") AS BIGINT) AS "_weight"
FROM (
  SELECT
    "v",
    "name",
    UNNEST(RANGE(GREATEST("_cql_enter", $t0 + 1), LEAST("_cql_leave", $t1 + 1))) AS "_ts",
    "_weight"
  FROM (
    SELECT
      i0."s.v" AS "v",
      i1."r.name" AS "name",
      GREATEST(i0."_cql_enter", i1."_cql_enter") AS "_cql_enter",
      LEAST(i0."_cql_leave", i1."_cql_leave") AS "_cql_leave",
      i0."_weight" * i1."_weight" AS "_weight"
    FROM temp."_cql_lives_e5533cff4ddf" AS i0
    CROSS JOIN (
      SELECT
        "k" AS "r.k",
        "name" AS "r.name",
        GREATEST("_cql_enter", $begin) AS "_cql_enter",
        "_cql_leave",
        CAST(1 AS BIGINT) AS "_weight"
      FROM cql_state."relation_r"
      WHERE
        "_cql_enter" <= $t1 AND "_cql_leave" > $t0 AND "_cql_leave" > $begin
    ) AS i1
    WHERE
      i0."s.k" = i1."r.k"
      AND i0."_cql_enter" < i1."_cql_leave"
      AND i1."_cql_enter" < i0."_cql_leave"
  ) AS lives
) AS elements
GROUP BY
  "v",
  "name",
  "_ts"
HAVING
  SUM("_weight") <> 0;

-- title: a relation joined with itself
SELECT a.name, b.name AS other FROM r a JOIN r b ON a.k = b.k
----
-- operator 0: write the elements of the answer
INSERT INTO cql_state."changes_q"
WITH lives AS (
  SELECT
    i0."a.name",
    i1."b.name",
    GREATEST(i0."_cql_enter", i1."_cql_enter") AS "_cql_enter",
    LEAST(i0."_cql_leave", i1."_cql_leave") AS "_cql_leave",
    i0."_weight" * i1."_weight" AS "_weight"
  FROM (
    SELECT
      "k" AS "a.k",
      "name" AS "a.name",
      GREATEST("_cql_enter", $begin) AS "_cql_enter",
      "_cql_leave",
      CAST(1 AS BIGINT) AS "_weight"
    FROM cql_state."relation_r"
    WHERE
      "_cql_enter" <= $t1
      AND "_cql_leave" > $t0
      AND "_cql_leave" > $begin
      AND (
        "_cql_enter" > $low OR "_cql_leave" <= $t1
      )
  ) AS i0
  CROSS JOIN (
    SELECT
      "k" AS "b.k",
      "name" AS "b.name",
      GREATEST("_cql_enter", $begin) AS "_cql_enter",
      "_cql_leave",
      CAST(1 AS BIGINT) AS "_weight"
    FROM cql_state."relation_r"
    WHERE
      "_cql_enter" <= $t1 AND "_cql_leave" > $t0 AND "_cql_leave" > $begin
  ) AS i1
  WHERE
    i0."a.k" = i1."b.k"
    AND i0."_cql_enter" < i1."_cql_leave"
    AND i1."_cql_enter" < i0."_cql_leave"
  UNION ALL
  SELECT
    i0."a.name",
    i1."b.name",
    GREATEST(i1."_cql_enter", i0."_cql_enter") AS "_cql_enter",
    LEAST(i1."_cql_leave", i0."_cql_leave") AS "_cql_leave",
    i1."_weight" * i0."_weight" AS "_weight"
  FROM (
    SELECT
      "k" AS "b.k",
      "name" AS "b.name",
      GREATEST("_cql_enter", $begin) AS "_cql_enter",
      "_cql_leave",
      CAST(1 AS BIGINT) AS "_weight"
    FROM cql_state."relation_r"
    WHERE
      "_cql_enter" <= $t1
      AND "_cql_leave" > $t0
      AND "_cql_leave" > $begin
      AND (
        "_cql_enter" > $low OR "_cql_leave" <= $t1
      )
  ) AS i1
  CROSS JOIN (
    SELECT
      "k" AS "a.k",
      "name" AS "a.name",
      GREATEST("_cql_enter", $begin) AS "_cql_enter",
      "_cql_leave",
      CAST(1 AS BIGINT) AS "_weight"
    FROM cql_state."relation_r"
    WHERE
      "_cql_enter" <= $t1
      AND "_cql_leave" > $t0
      AND "_cql_leave" > $begin
      AND "_cql_enter" <= $low
      AND "_cql_leave" > $t1
  ) AS i0
  WHERE
    i0."a.k" = i1."b.k"
    AND i1."_cql_enter" < i0."_cql_leave"
    AND i0."_cql_enter" < i1."_cql_leave"
)
SELECT
  "a.name" AS "name",
  "b.name" AS "other",
  "_cql_enter" AS "_ts",
  "_weight"
FROM lives
WHERE
  "_cql_enter" > $t0
UNION ALL
SELECT
  "a.name" AS "name",
  "b.name" AS "other",
  "_cql_leave" AS "_ts",
  -"_weight" AS "_weight"
FROM lives
WHERE
  "_cql_leave" <= $t1;

-- operator 2: what begins or ends, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_lives_4d6f299dd54d" AS
SELECT
  "k" AS "a.k",
  "name" AS "a.name",
  GREATEST("_cql_enter", $begin) AS "_cql_enter",
  "_cql_leave",
  CAST(1 AS BIGINT) AS "_weight"
FROM cql_state."relation_r"
WHERE
  "_cql_enter" <= $t1
  AND "_cql_leave" > $t0
  AND "_cql_leave" > $begin
  AND (
    "_cql_enter" > $low OR "_cql_leave" <= $t1
  );

-- operator 3: what begins or ends, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_lives_5ee455098293" AS
SELECT
  "k" AS "b.k",
  "name" AS "b.name",
  GREATEST("_cql_enter", $begin) AS "_cql_enter",
  "_cql_leave",
  CAST(1 AS BIGINT) AS "_weight"
FROM cql_state."relation_r"
WHERE
  "_cql_enter" <= $t1
  AND "_cql_leave" > $t0
  AND "_cql_leave" > $begin
  AND (
    "_cql_enter" > $low OR "_cql_leave" <= $t1
  );

-- operator 1: an empty table, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_1" AS
SELECT
  CAST(NULL AS TEXT) AS "a.name",
  CAST(NULL AS TEXT) AS "b.name",
  CAST(NULL AS BIGINT) AS "_cql_enter",
  CAST(NULL AS BIGINT) AS "_cql_leave",
  CAST(NULL AS BIGINT) AS "_weight"
WHERE
  FALSE;

-- operator 1: combinations that begin or end, in a tick of one instant, in stages
INSERT INTO temp."_cql_delta_q_1"
SELECT
  i0."a.name",
  i1."b.name",
  GREATEST(i0."_cql_enter", i1."_cql_enter") AS "_cql_enter",
  LEAST(i0."_cql_leave", i1."_cql_leave") AS "_cql_leave",
  i0."_weight" * i1."_weight" AS "_weight"
FROM temp."_cql_lives_4d6f299dd54d" AS i0
CROSS JOIN (
  SELECT
    "k" AS "b.k",
    "name" AS "b.name",
    GREATEST("_cql_enter", $begin) AS "_cql_enter",
    "_cql_leave",
    CAST(1 AS BIGINT) AS "_weight"
  FROM cql_state."relation_r"
  WHERE
    "_cql_enter" <= $t1 AND "_cql_leave" > $t0 AND "_cql_leave" > $begin
) AS i1
WHERE
  i0."a.k" = i1."b.k"
  AND i0."_cql_enter" < i1."_cql_leave"
  AND i1."_cql_enter" < i0."_cql_leave";

-- operator 1: combinations that begin or end, in a tick of one instant, in stages
INSERT INTO temp."_cql_delta_q_1"
SELECT
  i0."a.name",
  i1."b.name",
  GREATEST(i1."_cql_enter", i0."_cql_enter") AS "_cql_enter",
  LEAST(i1."_cql_leave", i0."_cql_leave") AS "_cql_leave",
  i1."_weight" * i0."_weight" AS "_weight"
FROM temp."_cql_lives_5ee455098293" AS i1
CROSS JOIN (
  SELECT
    "k" AS "a.k",
    "name" AS "a.name",
    GREATEST("_cql_enter", $begin) AS "_cql_enter",
    "_cql_leave",
    CAST(1 AS BIGINT) AS "_weight"
  FROM cql_state."relation_r"
  WHERE
    "_cql_enter" <= $t1
    AND "_cql_leave" > $t0
    AND "_cql_leave" > $begin
    AND "_cql_enter" <= $low
    AND "_cql_leave" > $t1
) AS i0
WHERE
  i0."a.k" = i1."b.k"
  AND i1."_cql_enter" < i0."_cql_leave"
  AND i0."_cql_enter" < i1."_cql_leave";

-- operator 0: write the elements of the answer, in a tick of one instant, in stages
INSERT INTO cql_state."changes_q"
WITH lives AS (
  SELECT
    "a.name",
    "b.name",
    "_cql_enter",
    "_cql_leave",
    "_weight"
  FROM temp."_cql_delta_q_1"
)
SELECT
  "a.name" AS "name",
  "b.name" AS "other",
  "_cql_enter" AS "_ts",
  "_weight"
FROM lives
WHERE
  "_cql_enter" > $t0
UNION ALL
SELECT
  "a.name" AS "name",
  "b.name" AS "other",
  "_cql_leave" AS "_ts",
  -"_weight" AS "_weight"
FROM lives
WHERE
  "_cql_leave" <= $t1;
