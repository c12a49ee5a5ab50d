-- title: IN meets each key once
SELECT k, v FROM s [RANGE 10] WHERE k IN (SELECT k FROM r)
----
-- operator 4: the elements, summed up
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_sums_7ae6db3699f0" AS
SELECT
  "match0",
  "_ts",
  CAST(SUM("_weight") AS BIGINT) AS "_cql_n"
FROM (
  WITH lives AS (
    SELECT
      "k" AS "r.k",
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
  )
  SELECT
    "r.k" AS "match0",
    "_cql_enter" AS "_ts",
    "_weight"
  FROM lives
  WHERE
    "_cql_enter" > $t0
  UNION ALL
  SELECT
    "r.k" AS "match0",
    "_cql_leave" AS "_ts",
    -"_weight" AS "_weight"
  FROM lives
  WHERE
    "_cql_leave" <= $t1
) AS elements
GROUP BY
  "match0",
  "_ts";

-- operator 4: the groups and instants that changed
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_4" AS
SELECT
  *,
  (
    "_cql_is" IS DISTINCT FROM "_cql_was"
  ) AS "_cql_changed"
FROM (
  WITH before AS (
    SELECT
      "match0",
      CAST($t0 AS BIGINT) AS "_ts",
      "_cql_n"
    FROM cql_state."q_4_groups" AS kept
    WHERE
      EXISTS(
        SELECT
          1
        FROM temp."_cql_sums_7ae6db3699f0" AS changes
        WHERE
          changes."match0" IS NOT DISTINCT FROM kept."match0"
      )
  ), running AS (
    SELECT
      "match0",
      "_ts",
      CAST(SUM("_cql_n") OVER (PARTITION BY "match0" ORDER BY "_ts") AS BIGINT) AS "_cql_n",
      "_cql_n" AS "_cql_d_n",
      "_cql_old",
      LEAD("_ts") OVER (PARTITION BY "match0" ORDER BY "_ts") IS NULL AS "_cql_last"
    FROM (
      SELECT
        "match0",
        "_ts",
        "_cql_n",
        TRUE AS "_cql_old"
      FROM before
      UNION ALL
      SELECT
        "match0",
        "_ts",
        "_cql_n",
        FALSE AS "_cql_old"
      FROM temp."_cql_sums_7ae6db3699f0" AS changes
    ) AS history
  )
  SELECT
    r."match0" AS "match0",
    r."_ts" AS "_ts",
    r."_cql_n" AS "_cql_n",
    r."_cql_last" AS "_cql_last",
    r."_cql_n" > 0 AS "_cql_is",
    r."_cql_n" - r."_cql_d_n" > 0 AS "_cql_was"
  FROM running AS r
  WHERE
    r."_ts" > $t0
) AS results;

-- operator 0: write the elements of the answer
INSERT INTO cql_state."changes_q"
SELECT
  "k",
  "v",
  "_ts",
  CAST(SUM("_weight") AS BIGINT) AS "_weight"
FROM (
  WITH lives AS (
    SELECT
      i0."s.k",
      i0."s.v",
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
        "match0",
        CAST($t0 AS BIGINT) AS "_cql_enter",
        9223372036854775807 AS "_cql_leave",
        "_weight"
      FROM (
        SELECT
          "match0",
          CAST(1 AS BIGINT) AS "_weight"
        FROM cql_state."q_4_groups"
      ) AS groups
      WHERE
        NOT EXISTS(
          SELECT
            1
          FROM temp."_cql_delta_q_4" AS delta
          WHERE
            "_cql_changed" AND delta."match0" IS NOT DISTINCT FROM groups."match0"
        )
      UNION ALL
      SELECT
        "match0",
        "_cql_enter",
        "_cql_leave",
        "_weight"
      FROM (
        WITH changed AS (
          SELECT
            *,
            LEAD("_ts") OVER (PARTITION BY "match0" ORDER BY "_ts") AS "_cql_end",
            LAG("_ts") OVER (PARTITION BY "match0" ORDER BY "_ts") AS "_cql_begin"
          FROM temp."_cql_delta_q_4"
          WHERE
            "_cql_changed"
        )
        SELECT
          "match0",
          "_ts" AS "_cql_enter",
          COALESCE("_cql_end", 9223372036854775807) AS "_cql_leave",
          CAST(1 AS BIGINT) AS "_weight"
        FROM changed
        WHERE
          "_cql_is"
        UNION ALL
        SELECT
          "match0",
          CAST($t0 AS BIGINT) AS "_cql_enter",
          "_ts" AS "_cql_leave",
          CAST(1 AS BIGINT) AS "_weight"
        FROM changed
        WHERE
          "_cql_was" AND "_cql_begin" IS NULL
      ) AS arm
    ) AS i1
    WHERE
      i0."s.k" = i1."match0"
      AND i0."_cql_enter" < i1."_cql_leave"
      AND i1."_cql_enter" < i0."_cql_leave"
    UNION ALL
    SELECT
      i0."k" AS "s.k",
      i0."v" AS "s.v",
      GREATEST(i1."_cql_enter", i0."_ts") AS "_cql_enter",
      LEAST(i1."_cql_leave", (
        i0."_ts" + 11
      )) AS "_cql_leave",
      i1."_weight" * CAST(1 AS BIGINT) AS "_weight"
    FROM (
      WITH changed AS (
        SELECT
          *,
          LEAD("_ts") OVER (PARTITION BY "match0" ORDER BY "_ts") AS "_cql_end",
          LAG("_ts") OVER (PARTITION BY "match0" ORDER BY "_ts") AS "_cql_begin"
        FROM temp."_cql_delta_q_4"
        WHERE
          "_cql_changed"
      )
      SELECT
        "match0",
        "_ts" AS "_cql_enter",
        COALESCE("_cql_end", 9223372036854775807) AS "_cql_leave",
        CAST(1 AS BIGINT) AS "_weight"
      FROM changed
      WHERE
        "_cql_is"
      UNION ALL
      SELECT
        "match0",
        CAST($t0 AS BIGINT) AS "_cql_enter",
        "_ts" AS "_cql_leave",
        CAST(1 AS BIGINT) AS "_weight"
      FROM changed
      WHERE
        "_cql_was" AND "_cql_begin" IS NULL
    ) AS i1
    CROSS JOIN temp."_cql_stream_s"() AS i0
    WHERE
      i0."_ts" > $since
      AND i0."_ts" <= $t0
      AND i0."_ts" > $t1 - 11
      AND i0."k" = i1."match0"
      AND i1."_cql_enter" < (
        i0."_ts" + 11
      )
      AND i0."_ts" < i1."_cql_leave"
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
    "_cql_leave" <= $t1
) AS elements
GROUP BY
  "k",
  "v",
  "_ts"
HAVING
  SUM("_weight") <> 0;

-- operator 4: forget the old state of the groups that changed
DELETE FROM cql_state."q_4_groups" AS kept
WHERE
  EXISTS(
    SELECT
      1
    FROM temp."_cql_delta_q_4" AS delta
    WHERE
      "_cql_last" AND delta."match0" IS NOT DISTINCT FROM kept."match0"
  );

-- operator 4: keep their new state
INSERT INTO cql_state."q_4_groups"
SELECT
  "match0",
  "_cql_n"
FROM temp."_cql_delta_q_4"
WHERE
  "_cql_last" AND "_cql_n" > 0;

-- operator 4: the elements, summed up, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_sums_a5753e577342" AS
SELECT
  "match0",
  CAST($t1 AS BIGINT) AS "_ts",
  CAST(SUM("_weight") AS BIGINT) AS "_cql_n"
FROM (
  WITH lives AS (
    SELECT
      "k" AS "r.k",
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
  )
  SELECT
    "r.k" AS "match0",
    "_cql_enter" AS "_ts",
    "_weight"
  FROM lives
  WHERE
    "_cql_enter" > $t0
  UNION ALL
  SELECT
    "r.k" AS "match0",
    "_cql_leave" AS "_ts",
    -"_weight" AS "_weight"
  FROM lives
  WHERE
    "_cql_leave" <= $t1
) AS elements
GROUP BY
  "match0";

-- operator 4: the groups and instants that changed, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_4" AS
SELECT
  *,
  (
    "_cql_is" IS DISTINCT FROM "_cql_was"
  ) AS "_cql_changed"
FROM (
  SELECT
    r."match0" AS "match0",
    r."_ts" AS "_ts",
    r."_cql_n" AS "_cql_n",
    r."_cql_n" > 0 AS "_cql_is",
    r."_cql_n" - r."_cql_d_n" > 0 AS "_cql_was"
  FROM (
    SELECT
      changes."match0" AS "match0",
      changes."_ts" AS "_ts",
      CAST(COALESCE(kept."_cql_n", 0) + changes."_cql_n" AS BIGINT) AS "_cql_n",
      changes."_cql_n" AS "_cql_d_n"
    FROM temp."_cql_sums_a5753e577342" AS changes
    LEFT JOIN cql_state."q_4_groups" AS kept
      ON changes."match0" IS NOT DISTINCT FROM kept."match0"
  ) AS r
) AS results;

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
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_lives_q_4" AS
WITH changed AS (
  SELECT
    *
  FROM temp."_cql_delta_q_4"
  WHERE
    "_cql_changed"
)
SELECT
  "match0",
  "_ts" AS "_cql_enter",
  9223372036854775807 AS "_cql_leave",
  CAST(1 AS BIGINT) AS "_weight"
FROM changed
WHERE
  "_cql_is"
UNION ALL
SELECT
  "match0",
  CAST($t0 AS BIGINT) AS "_cql_enter",
  "_ts" AS "_cql_leave",
  CAST(1 AS BIGINT) AS "_weight"
FROM changed
WHERE
  "_cql_was";

-- operator 1: an empty table, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_1" AS
SELECT
  CAST(NULL AS INT) AS "s.k",
  CAST(NULL AS BIGINT) AS "s.v",
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
  GREATEST(i0."_cql_enter", i1."_cql_enter") AS "_cql_enter",
  LEAST(i0."_cql_leave", i1."_cql_leave") AS "_cql_leave",
  i0."_weight" * i1."_weight" AS "_weight"
FROM temp."_cql_lives_2d950aeaff58" AS i0
CROSS JOIN (
  SELECT
    "match0",
    CAST($t0 AS BIGINT) AS "_cql_enter",
    9223372036854775807 AS "_cql_leave",
    "_weight"
  FROM (
    SELECT
      "match0",
      CAST(1 AS BIGINT) AS "_weight"
    FROM cql_state."q_4_groups"
  ) AS groups
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM temp."_cql_delta_q_4" AS delta
      WHERE
        "_cql_changed" AND delta."match0" IS NOT DISTINCT FROM groups."match0"
    )
  UNION ALL
  SELECT
    "match0",
    "_cql_enter",
    "_cql_leave",
    "_weight"
  FROM (
    WITH changed AS (
      SELECT
        *
      FROM temp."_cql_delta_q_4"
      WHERE
        "_cql_changed"
    )
    SELECT
      "match0",
      "_ts" AS "_cql_enter",
      9223372036854775807 AS "_cql_leave",
      CAST(1 AS BIGINT) AS "_weight"
    FROM changed
    WHERE
      "_cql_is"
    UNION ALL
    SELECT
      "match0",
      CAST($t0 AS BIGINT) AS "_cql_enter",
      "_ts" AS "_cql_leave",
      CAST(1 AS BIGINT) AS "_weight"
    FROM changed
    WHERE
      "_cql_was"
  ) AS arm
) AS i1
WHERE
  i0."s.k" = i1."match0"
  AND i0."_cql_enter" < i1."_cql_leave"
  AND i1."_cql_enter" < i0."_cql_leave";

-- operator 1: combinations that begin or end, in a tick of one instant, in stages
INSERT INTO temp."_cql_delta_q_1"
SELECT
  i0."k" AS "s.k",
  i0."v" AS "s.v",
  GREATEST(i1."_cql_enter", i0."_ts") AS "_cql_enter",
  LEAST(i1."_cql_leave", (
    i0."_ts" + 11
  )) AS "_cql_leave",
  i1."_weight" * CAST(1 AS BIGINT) AS "_weight"
FROM temp."_cql_lives_q_4" AS i1
CROSS JOIN temp."_cql_stream_s"() AS i0
WHERE
  i0."_ts" > $since
  AND i0."_ts" <= $t0
  AND i0."_ts" > $t1 - 11
  AND i0."k" = i1."match0"
  AND i1."_cql_enter" < (
    i0."_ts" + 11
  )
  AND i0."_ts" < i1."_cql_leave";

-- operator 0: write the elements of the answer, in a tick of one instant, in stages
INSERT INTO cql_state."changes_q"
SELECT
  "k",
  "v",
  "_ts",
  CAST(SUM("_weight") AS BIGINT) AS "_weight"
FROM (
  WITH lives AS (
    SELECT
      "s.k",
      "s.v",
      "_cql_enter",
      "_cql_leave",
      "_weight"
    FROM temp."_cql_delta_q_1"
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
    "_cql_leave" <= $t1
) AS elements
GROUP BY
  "k",
  "v",
  "_ts"
HAVING
  SUM("_weight") <> 0;

-- operator 4: forget the old state of the groups that changed, in a tick of one instant, in stages
DELETE FROM cql_state."q_4_groups" AS kept
WHERE
  EXISTS(
    SELECT
      1
    FROM temp."_cql_delta_q_4" AS delta
    WHERE
      delta."match0" IS NOT DISTINCT FROM kept."match0"
  );

-- operator 4: keep their new state, in a tick of one instant, in stages
INSERT INTO cql_state."q_4_groups"
SELECT
  "match0",
  "_cql_n"
FROM temp."_cql_delta_q_4"
WHERE
  "_cql_n" > 0;

-- title: of any other condition the columns that it names are counted
SELECT x.k FROM s [RANGE 10] x WHERE EXISTS (SELECT 1 FROM t y WHERE y.k = x.k AND y.w > x.v)
----
-- operator 4: the elements, summed up
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_sums_231ef5c7cfeb" AS
SELECT
  "match0",
  "match1",
  "_ts",
  CAST(SUM("_weight") AS BIGINT) AS "_cql_n"
FROM (
  WITH lives AS (
    SELECT
      i0."x.k",
      i0."x.v",
      GREATEST(i0."_cql_enter", i1."_ts") AS "_cql_enter",
      i0."_cql_leave",
      i0."_weight" * CAST(1 AS BIGINT) AS "_weight"
    FROM (
      SELECT
        "k" AS "x.k",
        "v" AS "x.v",
        "_ts" AS "_cql_enter",
        "_ts" + 11 AS "_cql_leave",
        CAST(1 AS BIGINT) AS "_weight"
      FROM temp."_cql_arrivals_s"($t0, $t1)
      UNION ALL
      SELECT
        "k" AS "x.k",
        "v" AS "x.v",
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
      AND i1."k" = i0."x.k"
      AND i1."w" > i0."x.v"
      AND i1."_ts" < i0."_cql_leave"
    UNION ALL
    SELECT
      i0."k" AS "x.k",
      i0."v" AS "x.v",
      GREATEST(i1."_ts", i0."_ts") AS "_cql_enter",
      i0."_ts" + 11 AS "_cql_leave",
      CAST(1 AS BIGINT) * CAST(1 AS BIGINT) AS "_weight"
    FROM temp."_cql_arrivals_t"($t0, $t1) AS i1
    CROSS JOIN temp."_cql_stream_s"() AS i0
    WHERE
      i0."_ts" > $since
      AND i0."_ts" <= $t0
      AND i0."_ts" > $t1 - 11
      AND i1."k" = i0."k"
      AND i1."w" > i0."v"
      AND i1."_ts" < (
        i0."_ts" + 11
      )
  )
  SELECT
    "x.k" AS "match0",
    "x.v" AS "match1",
    "_cql_enter" AS "_ts",
    "_weight"
  FROM lives
  WHERE
    "_cql_enter" > $t0
  UNION ALL
  SELECT
    "x.k" AS "match0",
    "x.v" AS "match1",
    "_cql_leave" AS "_ts",
    -"_weight" AS "_weight"
  FROM lives
  WHERE
    "_cql_leave" <= $t1
) AS elements
GROUP BY
  "match0",
  "match1",
  "_ts";

-- operator 4: the groups and instants that changed
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_4" AS
SELECT
  *,
  (
    "_cql_is" IS DISTINCT FROM "_cql_was"
  ) AS "_cql_changed"
FROM (
  WITH before AS (
    SELECT
      "match0",
      "match1",
      CAST($t0 AS BIGINT) AS "_ts",
      "_cql_n"
    FROM cql_state."q_4_groups" AS kept
    WHERE
      EXISTS(
        SELECT
          1
        FROM temp."_cql_sums_231ef5c7cfeb" AS changes
        WHERE
          changes."match0" IS NOT DISTINCT FROM kept."match0"
          AND changes."match1" IS NOT DISTINCT FROM kept."match1"
      )
  ), running AS (
    SELECT
      "match0",
      "match1",
      "_ts",
      CAST(SUM("_cql_n") OVER (PARTITION BY "match0", "match1" ORDER BY "_ts") AS BIGINT) AS "_cql_n",
      "_cql_n" AS "_cql_d_n",
      "_cql_old",
      LEAD("_ts") OVER (PARTITION BY "match0", "match1" ORDER BY "_ts") IS NULL AS "_cql_last"
    FROM (
      SELECT
        "match0",
        "match1",
        "_ts",
        "_cql_n",
        TRUE AS "_cql_old"
      FROM before
      UNION ALL
      SELECT
        "match0",
        "match1",
        "_ts",
        "_cql_n",
        FALSE AS "_cql_old"
      FROM temp."_cql_sums_231ef5c7cfeb" AS changes
    ) AS history
  )
  SELECT
    r."match0" AS "match0",
    r."match1" AS "match1",
    r."_ts" AS "_ts",
    r."_cql_n" AS "_cql_n",
    r."_cql_last" AS "_cql_last",
    r."_cql_n" > 0 AS "_cql_is",
    r."_cql_n" - r."_cql_d_n" > 0 AS "_cql_was"
  FROM running AS r
  WHERE
    r."_ts" > $t0
) AS results;

-- operator 0: write the elements of the answer
INSERT INTO cql_state."changes_q"
SELECT
  "k",
  "_ts",
  CAST(SUM("_weight") AS BIGINT) AS "_weight"
FROM (
  WITH lives AS (
    SELECT
      i0."x.k",
      GREATEST(i0."_cql_enter", i1."_cql_enter") AS "_cql_enter",
      LEAST(i0."_cql_leave", i1."_cql_leave") AS "_cql_leave",
      i0."_weight" * i1."_weight" AS "_weight"
    FROM (
      SELECT
        "k" AS "x.k",
        "v" AS "x.v",
        "_ts" AS "_cql_enter",
        "_ts" + 11 AS "_cql_leave",
        CAST(1 AS BIGINT) AS "_weight"
      FROM temp."_cql_arrivals_s"($t0, $t1)
      UNION ALL
      SELECT
        "k" AS "x.k",
        "v" AS "x.v",
        "_ts" AS "_cql_enter",
        "_ts" + 11 AS "_cql_leave",
        CAST(1 AS BIGINT) AS "_weight"
      FROM temp."_cql_stream_s"()
      WHERE
        "_ts" > $since AND "_ts" <= $t1 - 11 AND "_ts" > $t0 - 11 AND "_ts" <= $t0
    ) AS i0
    CROSS JOIN (
      SELECT
        "match0",
        "match1",
        CAST($t0 AS BIGINT) AS "_cql_enter",
        9223372036854775807 AS "_cql_leave",
        "_weight"
      FROM (
        SELECT
          "match0",
          "match1",
          CAST(1 AS BIGINT) AS "_weight"
        FROM cql_state."q_4_groups"
      ) AS groups
      WHERE
        NOT EXISTS(
          SELECT
            1
          FROM temp."_cql_delta_q_4" AS delta
          WHERE
            "_cql_changed"
            AND (
              delta."match0" IS NOT DISTINCT FROM groups."match0"
              AND delta."match1" IS NOT DISTINCT FROM groups."match1"
            )
        )
      UNION ALL
      SELECT
        "match0",
        "match1",
        "_cql_enter",
        "_cql_leave",
        "_weight"
      FROM (
        WITH changed AS (
          SELECT
            *,
            LEAD("_ts") OVER (PARTITION BY "match0", "match1" ORDER BY "_ts") AS "_cql_end",
            LAG("_ts") OVER (PARTITION BY "match0", "match1" ORDER BY "_ts") AS "_cql_begin"
          FROM temp."_cql_delta_q_4"
          WHERE
            "_cql_changed"
        )
        SELECT
          "match0",
          "match1",
          "_ts" AS "_cql_enter",
          COALESCE("_cql_end", 9223372036854775807) AS "_cql_leave",
          CAST(1 AS BIGINT) AS "_weight"
        FROM changed
        WHERE
          "_cql_is"
        UNION ALL
        SELECT
          "match0",
          "match1",
          CAST($t0 AS BIGINT) AS "_cql_enter",
          "_ts" AS "_cql_leave",
          CAST(1 AS BIGINT) AS "_weight"
        FROM changed
        WHERE
          "_cql_was" AND "_cql_begin" IS NULL
      ) AS arm
    ) AS i1
    WHERE
      i0."x.k" IS NOT DISTINCT FROM i1."match0"
      AND i0."x.v" IS NOT DISTINCT FROM i1."match1"
      AND i0."_cql_enter" < i1."_cql_leave"
      AND i1."_cql_enter" < i0."_cql_leave"
    UNION ALL
    SELECT
      i0."k" AS "x.k",
      GREATEST(i1."_cql_enter", i0."_ts") AS "_cql_enter",
      LEAST(i1."_cql_leave", (
        i0."_ts" + 11
      )) AS "_cql_leave",
      i1."_weight" * CAST(1 AS BIGINT) AS "_weight"
    FROM (
      WITH changed AS (
        SELECT
          *,
          LEAD("_ts") OVER (PARTITION BY "match0", "match1" ORDER BY "_ts") AS "_cql_end",
          LAG("_ts") OVER (PARTITION BY "match0", "match1" ORDER BY "_ts") AS "_cql_begin"
        FROM temp."_cql_delta_q_4"
        WHERE
          "_cql_changed"
      )
      SELECT
        "match0",
        "match1",
        "_ts" AS "_cql_enter",
        COALESCE("_cql_end", 9223372036854775807) AS "_cql_leave",
        CAST(1 AS BIGINT) AS "_weight"
      FROM changed
      WHERE
        "_cql_is"
      UNION ALL
      SELECT
        "match0",
        "match1",
        CAST($t0 AS BIGINT) AS "_cql_enter",
        "_ts" AS "_cql_leave",
        CAST(1 AS BIGINT) AS "_weight"
      FROM changed
      WHERE
        "_cql_was" AND "_cql_begin" IS NULL
    ) AS i1
    CROSS JOIN temp."_cql_stream_s"() AS i0
    WHERE
      i0."_ts" > $since
      AND i0."_ts" <= $t0
      AND i0."_ts" > $t1 - 11
      AND i0."k" IS NOT DISTINCT FROM i1."match0"
      AND i0."v" IS NOT DISTINCT FROM i1."match1"
      AND i1."_cql_enter" < (
        i0."_ts" + 11
      )
      AND i0."_ts" < i1."_cql_leave"
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

-- operator 4: forget the old state of the groups that changed
DELETE FROM cql_state."q_4_groups" AS kept
WHERE
  EXISTS(
    SELECT
      1
    FROM temp."_cql_delta_q_4" AS delta
    WHERE
      "_cql_last"
      AND (
        delta."match0" IS NOT DISTINCT FROM kept."match0"
        AND delta."match1" IS NOT DISTINCT FROM kept."match1"
      )
  );

-- operator 4: keep their new state
INSERT INTO cql_state."q_4_groups"
SELECT
  "match0",
  "match1",
  "_cql_n"
FROM temp."_cql_delta_q_4"
WHERE
  "_cql_last" AND "_cql_n" > 0;

-- operator 2: what begins or ends, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_lives_a6ffa0ecf595" AS
SELECT
  "k" AS "x.k",
  "v" AS "x.v",
  "_ts" AS "_cql_enter",
  "_ts" + 11 AS "_cql_leave",
  CAST(1 AS BIGINT) AS "_weight"
FROM temp."_cql_arrivals_s"($t0, $t1)
UNION ALL
SELECT
  "k" AS "x.k",
  "v" AS "x.v",
  "_ts" AS "_cql_enter",
  "_ts" + 11 AS "_cql_leave",
  CAST(1 AS BIGINT) AS "_weight"
FROM temp."_cql_stream_s"()
WHERE
  "_ts" > $since AND "_ts" <= $t1 - 11 AND "_ts" > $t0 - 11 AND "_ts" <= $t0;

-- operator 7: what begins or ends, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_lives_d04759819f84" AS
SELECT
  "k" AS "y.k",
  "w" AS "y.w",
  "_ts" AS "_cql_enter",
  9223372036854775807 AS "_cql_leave",
  CAST(1 AS BIGINT) AS "_weight"
FROM temp."_cql_arrivals_t"($t0, $t1);

-- operator 6: an empty table, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_6" AS
SELECT
  CAST(NULL AS INT) AS "x.k",
  CAST(NULL AS BIGINT) AS "x.v",
  CAST(NULL AS BIGINT) AS "_cql_enter",
  CAST(NULL AS BIGINT) AS "_cql_leave",
  CAST(NULL AS BIGINT) AS "_weight"
WHERE
  FALSE;

-- operator 6: combinations that begin or end, in a tick of one instant, in stages
INSERT INTO temp."_cql_delta_q_6"
SELECT
  i0."x.k",
  i0."x.v",
  GREATEST(i0."_cql_enter", i1."_ts") AS "_cql_enter",
  i0."_cql_leave",
  i0."_weight" * CAST(1 AS BIGINT) AS "_weight"
FROM temp."_cql_lives_a6ffa0ecf595" AS i0
CROSS JOIN temp."_cql_stream_t"() AS i1
WHERE
  i1."_ts" > $since
  AND i1."_ts" <= $t1
  AND i1."k" = i0."x.k"
  AND i1."w" > i0."x.v"
  AND i1."_ts" < i0."_cql_leave";

-- operator 6: combinations that begin or end, in a tick of one instant, in stages
INSERT INTO temp."_cql_delta_q_6"
SELECT
  i0."k" AS "x.k",
  i0."v" AS "x.v",
  GREATEST(i1."_cql_enter", i0."_ts") AS "_cql_enter",
  i0."_ts" + 11 AS "_cql_leave",
  i1."_weight" * CAST(1 AS BIGINT) AS "_weight"
FROM temp."_cql_lives_d04759819f84" AS i1
CROSS JOIN temp."_cql_stream_s"() AS i0
WHERE
  i0."_ts" > $since
  AND i0."_ts" <= $t0
  AND i0."_ts" > $t1 - 11
  AND i1."y.k" = i0."k"
  AND i1."y.w" > i0."v"
  AND i1."_cql_enter" < (
    i0."_ts" + 11
  );

-- operator 4: the elements, summed up, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_sums_q_4" AS
SELECT
  "match0",
  "match1",
  CAST($t1 AS BIGINT) AS "_ts",
  CAST(SUM("_weight") AS BIGINT) AS "_cql_n"
FROM (
  WITH lives AS (
    SELECT
      "x.k",
      "x.v",
      "_cql_enter",
      "_cql_leave",
      "_weight"
    FROM temp."_cql_delta_q_6"
  )
  SELECT
    "x.k" AS "match0",
    "x.v" AS "match1",
    "_cql_enter" AS "_ts",
    "_weight"
  FROM lives
  WHERE
    "_cql_enter" > $t0
  UNION ALL
  SELECT
    "x.k" AS "match0",
    "x.v" AS "match1",
    "_cql_leave" AS "_ts",
    -"_weight" AS "_weight"
  FROM lives
  WHERE
    "_cql_leave" <= $t1
) AS elements
GROUP BY
  "match0",
  "match1";

-- operator 4: the groups and instants that changed, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_4" AS
SELECT
  *,
  (
    "_cql_is" IS DISTINCT FROM "_cql_was"
  ) AS "_cql_changed"
FROM (
  SELECT
    r."match0" AS "match0",
    r."match1" AS "match1",
    r."_ts" AS "_ts",
    r."_cql_n" AS "_cql_n",
    r."_cql_n" > 0 AS "_cql_is",
    r."_cql_n" - r."_cql_d_n" > 0 AS "_cql_was"
  FROM (
    SELECT
      changes."match0" AS "match0",
      changes."match1" AS "match1",
      changes."_ts" AS "_ts",
      CAST(COALESCE(kept."_cql_n", 0) + changes."_cql_n" AS BIGINT) AS "_cql_n",
      changes."_cql_n" AS "_cql_d_n"
    FROM temp."_cql_sums_q_4" AS changes
    LEFT JOIN cql_state."q_4_groups" AS kept
      ON changes."match0" = kept."match0" AND changes."match1" = kept."match1"
  ) AS r
) AS results;

-- operator 4: what begins or ends, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_lives_q_4" AS
WITH changed AS (
  SELECT
    *
  FROM temp."_cql_delta_q_4"
  WHERE
    "_cql_changed"
)
SELECT
  "match0",
  "match1",
  "_ts" AS "_cql_enter",
  9223372036854775807 AS "_cql_leave",
  CAST(1 AS BIGINT) AS "_weight"
FROM changed
WHERE
  "_cql_is"
UNION ALL
SELECT
  "match0",
  "match1",
  CAST($t0 AS BIGINT) AS "_cql_enter",
  "_ts" AS "_cql_leave",
  CAST(1 AS BIGINT) AS "_weight"
FROM changed
WHERE
  "_cql_was";

-- operator 1: an empty table, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_1" AS
SELECT
  CAST(NULL AS INT) AS "x.k",
  CAST(NULL AS BIGINT) AS "_cql_enter",
  CAST(NULL AS BIGINT) AS "_cql_leave",
  CAST(NULL AS BIGINT) AS "_weight"
WHERE
  FALSE;

-- operator 1: combinations that begin or end, in a tick of one instant, in stages
INSERT INTO temp."_cql_delta_q_1"
SELECT
  i0."x.k",
  GREATEST(i0."_cql_enter", i1."_cql_enter") AS "_cql_enter",
  LEAST(i0."_cql_leave", i1."_cql_leave") AS "_cql_leave",
  i0."_weight" * i1."_weight" AS "_weight"
FROM temp."_cql_lives_a6ffa0ecf595" AS i0
CROSS JOIN (
  SELECT
    "match0",
    "match1",
    CAST($t0 AS BIGINT) AS "_cql_enter",
    9223372036854775807 AS "_cql_leave",
    "_weight"
  FROM (
    SELECT
      "match0",
      "match1",
      CAST(1 AS BIGINT) AS "_weight"
    FROM cql_state."q_4_groups"
  ) AS groups
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM temp."_cql_delta_q_4" AS delta
      WHERE
        "_cql_changed"
        AND (
          delta."match0" IS NOT DISTINCT FROM groups."match0"
          AND delta."match1" IS NOT DISTINCT FROM groups."match1"
        )
    )
  UNION ALL
  SELECT
    "match0",
    "match1",
    "_cql_enter",
    "_cql_leave",
    "_weight"
  FROM (
    WITH changed AS (
      SELECT
        *
      FROM temp."_cql_delta_q_4"
      WHERE
        "_cql_changed"
    )
    SELECT
      "match0",
      "match1",
      "_ts" AS "_cql_enter",
      9223372036854775807 AS "_cql_leave",
      CAST(1 AS BIGINT) AS "_weight"
    FROM changed
    WHERE
      "_cql_is"
    UNION ALL
    SELECT
      "match0",
      "match1",
      CAST($t0 AS BIGINT) AS "_cql_enter",
      "_ts" AS "_cql_leave",
      CAST(1 AS BIGINT) AS "_weight"
    FROM changed
    WHERE
      "_cql_was"
  ) AS arm
) AS i1
WHERE
  i0."x.k" IS NOT DISTINCT FROM i1."match0"
  AND i0."x.v" IS NOT DISTINCT FROM i1."match1"
  AND i0."_cql_enter" < i1."_cql_leave"
  AND i1."_cql_enter" < i0."_cql_leave";

-- operator 1: combinations that begin or end, in a tick of one instant, in stages
INSERT INTO temp."_cql_delta_q_1"
SELECT
  i0."k" AS "x.k",
  GREATEST(i1."_cql_enter", i0."_ts") AS "_cql_enter",
  LEAST(i1."_cql_leave", (
    i0."_ts" + 11
  )) AS "_cql_leave",
  i1."_weight" * CAST(1 AS BIGINT) AS "_weight"
FROM temp."_cql_lives_q_4" AS i1
CROSS JOIN temp."_cql_stream_s"() AS i0
WHERE
  i0."_ts" > $since
  AND i0."_ts" <= $t0
  AND i0."_ts" > $t1 - 11
  AND i0."k" IS NOT DISTINCT FROM i1."match0"
  AND i0."v" IS NOT DISTINCT FROM i1."match1"
  AND i1."_cql_enter" < (
    i0."_ts" + 11
  )
  AND i0."_ts" < i1."_cql_leave";

-- operator 0: write the elements of the answer, in a tick of one instant, in stages
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
      "_weight"
    FROM temp."_cql_delta_q_1"
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

-- operator 4: forget the old state of the groups that changed, in a tick of one instant, in stages
DELETE FROM cql_state."q_4_groups" AS kept
WHERE
  EXISTS(
    SELECT
      1
    FROM temp."_cql_delta_q_4" AS delta
    WHERE
      delta."match0" IS NOT DISTINCT FROM kept."match0"
      AND delta."match1" IS NOT DISTINCT FROM kept."match1"
  );

-- operator 4: keep their new state, in a tick of one instant, in stages
INSERT INTO cql_state."q_4_groups"
SELECT
  "match0",
  "match1",
  "_cql_n"
FROM temp."_cql_delta_q_4"
WHERE
  "_cql_n" > 0;
