-- title: three inputs are one operator with three terms, not two joins
SELECT s.v, t.w, r.name FROM s [RANGE 10], t [RANGE 5], r WHERE s.k = t.k AND t.k = r.k
----
-- operator 0: write the elements of the answer
INSERT INTO cql_state."changes_q"
WITH lives AS (
  SELECT
    step1."s.v",
    step1."t.w",
    i2."r.name",
    GREATEST(step1."_cql_enter", i2."_cql_enter") AS "_cql_enter",
    LEAST(step1."_cql_leave", i2."_cql_leave") AS "_cql_leave",
    step1."_weight" * i2."_weight" AS "_weight"
  FROM (
    SELECT
      i0."s.v",
      i1."k" AS "t.k",
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
  ) AS step1
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
  ) AS i2
  WHERE
    step1."t.k" = i2."r.k"
    AND step1."_cql_enter" < i2."_cql_leave"
    AND i2."_cql_enter" < step1."_cql_leave"
  UNION ALL
  SELECT
    step1."s.v",
    step1."t.w",
    i2."r.name",
    GREATEST(step1."_cql_enter", i2."_cql_enter") AS "_cql_enter",
    LEAST(step1."_cql_leave", i2."_cql_leave") AS "_cql_leave",
    step1."_weight" * i2."_weight" AS "_weight"
  FROM (
    SELECT
      i0."v" AS "s.v",
      i1."t.k",
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
  ) AS step1
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
  ) AS i2
  WHERE
    step1."t.k" = i2."r.k"
    AND step1."_cql_enter" < i2."_cql_leave"
    AND i2."_cql_enter" < step1."_cql_leave"
  UNION ALL
  SELECT
    i0."v" AS "s.v",
    step1."t.w",
    step1."r.name",
    GREATEST(step1."_cql_enter", i0."_ts") AS "_cql_enter",
    LEAST(step1."_cql_leave", (
      i0."_ts" + 11
    )) AS "_cql_leave",
    step1."_weight" * CAST(1 AS BIGINT) AS "_weight"
  FROM (
    SELECT
      i1."k" AS "t.k",
      i1."w" AS "t.w",
      i2."r.name",
      GREATEST(i2."_cql_enter", i1."_ts") AS "_cql_enter",
      LEAST(i2."_cql_leave", (
        i1."_ts" + 6
      )) AS "_cql_leave",
      i2."_weight" * CAST(1 AS BIGINT) AS "_weight"
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
    ) AS i2
    CROSS JOIN temp."_cql_stream_t"() AS i1
    WHERE
      i1."_ts" > $since
      AND i1."_ts" <= $t0
      AND i1."_ts" > $t1 - 6
      AND i1."k" = i2."r.k"
      AND i2."_cql_enter" < (
        i1."_ts" + 6
      )
      AND i1."_ts" < i2."_cql_leave"
  ) AS step1
  CROSS JOIN temp."_cql_stream_s"() AS i0
  WHERE
    i0."_ts" > $since
    AND i0."_ts" <= $t0
    AND i0."_ts" > $t1 - 11
    AND i0."k" = step1."t.k"
    AND step1."_cql_enter" < (
      i0."_ts" + 11
    )
    AND i0."_ts" < step1."_cql_leave"
)
SELECT
  "s.v" AS "v",
  "t.w" AS "w",
  "r.name" AS "name",
  "_cql_enter" AS "_ts",
  "_weight"
FROM lives
WHERE
  "_cql_enter" > $t0
UNION ALL
SELECT
  "s.v" AS "v",
  "t.w" AS "w",
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

-- operator 6: what begins or ends, in a tick of one instant, in stages
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
  CAST(NULL AS BIGINT) AS "t.w",
  CAST(NULL AS TEXT) AS "r.name",
  CAST(NULL AS BIGINT) AS "_cql_enter",
  CAST(NULL AS BIGINT) AS "_cql_leave",
  CAST(NULL AS BIGINT) AS "_weight"
WHERE
  FALSE;

-- operator 1: combinations that begin or end, in a tick of one instant, in stages
INSERT INTO temp."_cql_delta_q_1"
SELECT
  step1."s.v",
  step1."t.w",
  i2."r.name",
  GREATEST(step1."_cql_enter", i2."_cql_enter") AS "_cql_enter",
  LEAST(step1."_cql_leave", i2."_cql_leave") AS "_cql_leave",
  step1."_weight" * i2."_weight" AS "_weight"
FROM (
  SELECT
    i0."s.v",
    i1."k" AS "t.k",
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
    AND i1."_ts" < i0."_cql_leave"
) AS step1
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
) AS i2
WHERE
  step1."t.k" = i2."r.k"
  AND step1."_cql_enter" < i2."_cql_leave"
  AND i2."_cql_enter" < step1."_cql_leave";

-- operator 1: combinations that begin or end, in a tick of one instant, in stages
INSERT INTO temp."_cql_delta_q_1"
SELECT
  step1."s.v",
  step1."t.w",
  i2."r.name",
  GREATEST(step1."_cql_enter", i2."_cql_enter") AS "_cql_enter",
  LEAST(step1."_cql_leave", i2."_cql_leave") AS "_cql_leave",
  step1."_weight" * i2."_weight" AS "_weight"
FROM (
  SELECT
    i0."v" AS "s.v",
    i1."t.k",
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
    AND i0."_ts" < i1."_cql_leave"
) AS step1
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
) AS i2
WHERE
  step1."t.k" = i2."r.k"
  AND step1."_cql_enter" < i2."_cql_leave"
  AND i2."_cql_enter" < step1."_cql_leave";

-- operator 1: combinations that begin or end, in a tick of one instant, in stages
INSERT INTO temp."_cql_delta_q_1"
SELECT
  i0."v" AS "s.v",
  step1."t.w",
  step1."r.name",
  GREATEST(step1."_cql_enter", i0."_ts") AS "_cql_enter",
  LEAST(step1."_cql_leave", (
    i0."_ts" + 11
  )) AS "_cql_leave",
  step1."_weight" * CAST(1 AS BIGINT) AS "_weight"
FROM (
  SELECT
    i1."k" AS "t.k",
    i1."w" AS "t.w",
    i2."r.name",
    GREATEST(i2."_cql_enter", i1."_ts") AS "_cql_enter",
    LEAST(i2."_cql_leave", (
      i1."_ts" + 6
    )) AS "_cql_leave",
    i2."_weight" * CAST(1 AS BIGINT) AS "_weight"
  FROM temp."_cql_lives_55d0b63e2ad1" AS i2
  CROSS JOIN temp."_cql_stream_t"() AS i1
  WHERE
    i1."_ts" > $since
    AND i1."_ts" <= $t0
    AND i1."_ts" > $t1 - 6
    AND i1."k" = i2."r.k"
    AND i2."_cql_enter" < (
      i1."_ts" + 6
    )
    AND i1."_ts" < i2."_cql_leave"
) AS step1
CROSS JOIN temp."_cql_stream_s"() AS i0
WHERE
  i0."_ts" > $since
  AND i0."_ts" <= $t0
  AND i0."_ts" > $t1 - 11
  AND i0."k" = step1."t.k"
  AND step1."_cql_enter" < (
    i0."_ts" + 11
  )
  AND i0."_ts" < step1."_cql_leave";

-- operator 0: write the elements of the answer, in a tick of one instant, in stages
INSERT INTO cql_state."changes_q"
WITH lives AS (
  SELECT
    "s.v",
    "t.w",
    "r.name",
    "_cql_enter",
    "_cql_leave",
    "_weight"
  FROM temp."_cql_delta_q_1"
)
SELECT
  "s.v" AS "v",
  "t.w" AS "w",
  "r.name" AS "name",
  "_cql_enter" AS "_ts",
  "_weight"
FROM lives
WHERE
  "_cql_enter" > $t0
UNION ALL
SELECT
  "s.v" AS "v",
  "t.w" AS "w",
  "r.name" AS "name",
  "_cql_leave" AS "_ts",
  -"_weight" AS "_weight"
FROM lives
WHERE
  "_cql_leave" <= $t1;
