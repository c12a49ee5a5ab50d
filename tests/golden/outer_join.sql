-- title: a LEFT JOIN is a join and an antijoin
SELECT x.k, v, name FROM s [RANGE 10] x LEFT JOIN r y ON x.k = y.k
----
-- operator 10: the elements, summed up
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_sums_507ef119cad2" AS
SELECT
  "match0",
  "_ts",
  CAST(SUM("_weight") AS BIGINT) AS "_cql_n"
FROM (
  WITH lives AS (
    SELECT
      "k" AS "y.k",
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
    "y.k" AS "match0",
    "_cql_enter" AS "_ts",
    "_weight"
  FROM lives
  WHERE
    "_cql_enter" > $t0
  UNION ALL
  SELECT
    "y.k" AS "match0",
    "_cql_leave" AS "_ts",
    -"_weight" AS "_weight"
  FROM lives
  WHERE
    "_cql_leave" <= $t1
) AS elements
GROUP BY
  "match0",
  "_ts";

-- operator 10: the groups and instants that changed
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_10" AS
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
    FROM cql_state."q_10_groups" AS kept
    WHERE
      EXISTS(
        SELECT
          1
        FROM temp."_cql_sums_507ef119cad2" AS changes
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
      FROM temp."_cql_sums_507ef119cad2" AS changes
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
  "name",
  "_ts",
  CAST(SUM("_weight") AS BIGINT) AS "_weight"
FROM (
  SELECT
    "x.k" AS "k",
    "x.v" AS "v",
    "y.name" AS "name",
    "_ts",
    "_weight"
  FROM (
    WITH lives AS (
      SELECT
        i0."x.k",
        i0."x.v",
        i1."y.name",
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
          "k" AS "y.k",
          "name" AS "y.name",
          GREATEST("_cql_enter", $begin) AS "_cql_enter",
          "_cql_leave",
          CAST(1 AS BIGINT) AS "_weight"
        FROM cql_state."relation_r"
        WHERE
          "_cql_enter" <= $t1 AND "_cql_leave" > $t0 AND "_cql_leave" > $begin
      ) AS i1
      WHERE
        i0."x.k" = i1."y.k"
        AND i0."_cql_enter" < i1."_cql_leave"
        AND i1."_cql_enter" < i0."_cql_leave"
      UNION ALL
      SELECT
        i0."k" AS "x.k",
        i0."v" AS "x.v",
        i1."y.name",
        GREATEST(i1."_cql_enter", i0."_ts") AS "_cql_enter",
        LEAST(i1."_cql_leave", (
          i0."_ts" + 11
        )) AS "_cql_leave",
        i1."_weight" * CAST(1 AS BIGINT) AS "_weight"
      FROM (
        SELECT
          "k" AS "y.k",
          "name" AS "y.name",
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
        AND i0."k" = i1."y.k"
        AND i1."_cql_enter" < (
          i0."_ts" + 11
        )
        AND i0."_ts" < i1."_cql_leave"
    )
    SELECT
      "x.k",
      "x.v",
      "y.name",
      "_cql_enter" AS "_ts",
      "_weight"
    FROM lives
    WHERE
      "_cql_enter" > $t0
    UNION ALL
    SELECT
      "x.k",
      "x.v",
      "y.name",
      "_cql_leave" AS "_ts",
      -"_weight" AS "_weight"
    FROM lives
    WHERE
      "_cql_leave" <= $t1
  ) AS arm
  UNION ALL
  SELECT
    "x.k" AS "k",
    "x.v" AS "v",
    CAST(NULL AS TEXT) AS "name",
    "_ts",
    "_weight"
  FROM (
    SELECT
      "k" AS "x.k",
      "v" AS "x.v",
      "_ts",
      CAST(1 AS BIGINT) AS "_weight"
    FROM temp."_cql_arrivals_s"($t0, $t1)
    UNION ALL
    SELECT
      "k" AS "x.k",
      "v" AS "x.v",
      "_ts" + 11 AS "_ts",
      -CAST(1 AS BIGINT) AS "_weight"
    FROM temp."_cql_stream_s"()
    WHERE
      "_ts" > $since AND "_ts" <= $t1 - 11 AND "_ts" > $t0 - 11
    UNION ALL
    SELECT
      "x.k",
      "x.v",
      "_ts",
      -"_weight" AS "_weight"
    FROM (
      WITH lives AS (
        SELECT
          i0."x.k",
          i0."x.v",
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
            CAST($t0 AS BIGINT) AS "_cql_enter",
            9223372036854775807 AS "_cql_leave",
            "_weight"
          FROM (
            SELECT
              "match0",
              CAST(1 AS BIGINT) AS "_weight"
            FROM cql_state."q_10_groups"
          ) AS groups
          WHERE
            NOT EXISTS(
              SELECT
                1
              FROM temp."_cql_delta_q_10" AS delta
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
              FROM temp."_cql_delta_q_10"
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
          i0."x.k" = i1."match0"
          AND i0."_cql_enter" < i1."_cql_leave"
          AND i1."_cql_enter" < i0."_cql_leave"
        UNION ALL
        SELECT
          i0."k" AS "x.k",
          i0."v" AS "x.v",
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
            FROM temp."_cql_delta_q_10"
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
        "x.k",
        "x.v",
        "_cql_enter" AS "_ts",
        "_weight"
      FROM lives
      WHERE
        "_cql_enter" > $t0
      UNION ALL
      SELECT
        "x.k",
        "x.v",
        "_cql_leave" AS "_ts",
        -"_weight" AS "_weight"
      FROM lives
      WHERE
        "_cql_leave" <= $t1
    ) AS less
  ) AS input
) AS elements
GROUP BY
  "k",
  "v",
  "name",
  "_ts"
HAVING
  SUM("_weight") <> 0;

-- operator 10: forget the old state of the groups that changed
DELETE FROM cql_state."q_10_groups" AS kept
WHERE
  EXISTS(
    SELECT
      1
    FROM temp."_cql_delta_q_10" AS delta
    WHERE
      "_cql_last" AND delta."match0" IS NOT DISTINCT FROM kept."match0"
  );

-- operator 10: keep their new state
INSERT INTO cql_state."q_10_groups"
SELECT
  "match0",
  "_cql_n"
FROM temp."_cql_delta_q_10"
WHERE
  "_cql_last" AND "_cql_n" > 0;

-- operator 3: what begins or ends, in a tick of one instant, in stages
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

-- operator 5: what begins or ends, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_lives_23229601e9ef" AS
SELECT
  "k" AS "y.k",
  "name" AS "y.name",
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

-- operator 2: an empty table, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_2" AS
SELECT
  CAST(NULL AS INT) AS "x.k",
  CAST(NULL AS BIGINT) AS "x.v",
  CAST(NULL AS TEXT) AS "y.name",
  CAST(NULL AS BIGINT) AS "_cql_enter",
  CAST(NULL AS BIGINT) AS "_cql_leave",
  CAST(NULL AS BIGINT) AS "_weight"
WHERE
  FALSE;

-- operator 2: combinations that begin or end, in a tick of one instant, in stages
INSERT INTO temp."_cql_delta_q_2"
SELECT
  i0."x.k",
  i0."x.v",
  i1."y.name",
  GREATEST(i0."_cql_enter", i1."_cql_enter") AS "_cql_enter",
  LEAST(i0."_cql_leave", i1."_cql_leave") AS "_cql_leave",
  i0."_weight" * i1."_weight" AS "_weight"
FROM temp."_cql_lives_a6ffa0ecf595" AS i0
CROSS JOIN (
  SELECT
    "k" AS "y.k",
    "name" AS "y.name",
    GREATEST("_cql_enter", $begin) AS "_cql_enter",
    "_cql_leave",
    CAST(1 AS BIGINT) AS "_weight"
  FROM cql_state."relation_r"
  WHERE
    "_cql_enter" <= $t1 AND "_cql_leave" > $t0 AND "_cql_leave" > $begin
) AS i1
WHERE
  i0."x.k" = i1."y.k"
  AND i0."_cql_enter" < i1."_cql_leave"
  AND i1."_cql_enter" < i0."_cql_leave";

-- operator 2: combinations that begin or end, in a tick of one instant, in stages
INSERT INTO temp."_cql_delta_q_2"
SELECT
  i0."k" AS "x.k",
  i0."v" AS "x.v",
  i1."y.name",
  GREATEST(i1."_cql_enter", i0."_ts") AS "_cql_enter",
  LEAST(i1."_cql_leave", (
    i0."_ts" + 11
  )) AS "_cql_leave",
  i1."_weight" * CAST(1 AS BIGINT) AS "_weight"
FROM temp."_cql_lives_23229601e9ef" AS i1
CROSS JOIN temp."_cql_stream_s"() AS i0
WHERE
  i0."_ts" > $since
  AND i0."_ts" <= $t0
  AND i0."_ts" > $t1 - 11
  AND i0."k" = i1."y.k"
  AND i1."_cql_enter" < (
    i0."_ts" + 11
  )
  AND i0."_ts" < i1."_cql_leave";

-- operator 10: the elements, summed up, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_sums_de8572b58556" AS
SELECT
  "match0",
  CAST($t1 AS BIGINT) AS "_ts",
  CAST(SUM("_weight") AS BIGINT) AS "_cql_n"
FROM (
  WITH lives AS (
    SELECT
      "k" AS "y.k",
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
    "y.k" AS "match0",
    "_cql_enter" AS "_ts",
    "_weight"
  FROM lives
  WHERE
    "_cql_enter" > $t0
  UNION ALL
  SELECT
    "y.k" AS "match0",
    "_cql_leave" AS "_ts",
    -"_weight" AS "_weight"
  FROM lives
  WHERE
    "_cql_leave" <= $t1
) AS elements
GROUP BY
  "match0";

-- operator 10: the groups and instants that changed, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_10" AS
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
    FROM temp."_cql_sums_de8572b58556" AS changes
    LEFT JOIN cql_state."q_10_groups" AS kept
      ON changes."match0" IS NOT DISTINCT FROM kept."match0"
  ) AS r
) AS results;

-- operator 10: what begins or ends, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_lives_q_10" AS
WITH changed AS (
  SELECT
    *
  FROM temp."_cql_delta_q_10"
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

-- operator 9: an empty table, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_9" AS
SELECT
  CAST(NULL AS INT) AS "x.k",
  CAST(NULL AS BIGINT) AS "x.v",
  CAST(NULL AS BIGINT) AS "_cql_enter",
  CAST(NULL AS BIGINT) AS "_cql_leave",
  CAST(NULL AS BIGINT) AS "_weight"
WHERE
  FALSE;

-- operator 9: combinations that begin or end, in a tick of one instant, in stages
INSERT INTO temp."_cql_delta_q_9"
SELECT
  i0."x.k",
  i0."x.v",
  GREATEST(i0."_cql_enter", i1."_cql_enter") AS "_cql_enter",
  LEAST(i0."_cql_leave", i1."_cql_leave") AS "_cql_leave",
  i0."_weight" * i1."_weight" AS "_weight"
FROM temp."_cql_lives_a6ffa0ecf595" AS i0
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
    FROM cql_state."q_10_groups"
  ) AS groups
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM temp."_cql_delta_q_10" AS delta
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
      FROM temp."_cql_delta_q_10"
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
  i0."x.k" = i1."match0"
  AND i0."_cql_enter" < i1."_cql_leave"
  AND i1."_cql_enter" < i0."_cql_leave";

-- operator 9: combinations that begin or end, in a tick of one instant, in stages
INSERT INTO temp."_cql_delta_q_9"
SELECT
  i0."k" AS "x.k",
  i0."v" AS "x.v",
  GREATEST(i1."_cql_enter", i0."_ts") AS "_cql_enter",
  LEAST(i1."_cql_leave", (
    i0."_ts" + 11
  )) AS "_cql_leave",
  i1."_weight" * CAST(1 AS BIGINT) AS "_weight"
FROM temp."_cql_lives_q_10" AS i1
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
  "name",
  "_ts",
  CAST(SUM("_weight") AS BIGINT) AS "_weight"
FROM (
  SELECT
    "x.k" AS "k",
    "x.v" AS "v",
    "y.name" AS "name",
    "_ts",
    "_weight"
  FROM (
    WITH lives AS (
      SELECT
        "x.k",
        "x.v",
        "y.name",
        "_cql_enter",
        "_cql_leave",
        "_weight"
      FROM temp."_cql_delta_q_2"
    )
    SELECT
      "x.k",
      "x.v",
      "y.name",
      "_cql_enter" AS "_ts",
      "_weight"
    FROM lives
    WHERE
      "_cql_enter" > $t0
    UNION ALL
    SELECT
      "x.k",
      "x.v",
      "y.name",
      "_cql_leave" AS "_ts",
      -"_weight" AS "_weight"
    FROM lives
    WHERE
      "_cql_leave" <= $t1
  ) AS arm
  UNION ALL
  SELECT
    "x.k" AS "k",
    "x.v" AS "v",
    CAST(NULL AS TEXT) AS "name",
    "_ts",
    "_weight"
  FROM (
    SELECT
      "k" AS "x.k",
      "v" AS "x.v",
      "_ts",
      CAST(1 AS BIGINT) AS "_weight"
    FROM temp."_cql_arrivals_s"($t0, $t1)
    UNION ALL
    SELECT
      "k" AS "x.k",
      "v" AS "x.v",
      "_ts" + 11 AS "_ts",
      -CAST(1 AS BIGINT) AS "_weight"
    FROM temp."_cql_stream_s"()
    WHERE
      "_ts" > $since AND "_ts" <= $t1 - 11 AND "_ts" > $t0 - 11
    UNION ALL
    SELECT
      "x.k",
      "x.v",
      "_ts",
      -"_weight" AS "_weight"
    FROM (
      WITH lives AS (
        SELECT
          "x.k",
          "x.v",
          "_cql_enter",
          "_cql_leave",
          "_weight"
        FROM temp."_cql_delta_q_9"
      )
      SELECT
        "x.k",
        "x.v",
        "_cql_enter" AS "_ts",
        "_weight"
      FROM lives
      WHERE
        "_cql_enter" > $t0
      UNION ALL
      SELECT
        "x.k",
        "x.v",
        "_cql_leave" AS "_ts",
        -"_weight" AS "_weight"
      FROM lives
      WHERE
        "_cql_leave" <= $t1
    ) AS less
  ) AS input
) AS elements
GROUP BY
  "k",
  "v",
  "name",
  "_ts"
HAVING
  SUM("_weight") <> 0;

-- operator 10: forget the old state of the groups that changed, in a tick of one instant, in stages
DELETE FROM cql_state."q_10_groups" AS kept
WHERE
  EXISTS(
    SELECT
      1
    FROM temp."_cql_delta_q_10" AS delta
    WHERE
      delta."match0" IS NOT DISTINCT FROM kept."match0"
  );

-- operator 10: keep their new state, in a tick of one instant, in stages
INSERT INTO cql_state."q_10_groups"
SELECT
  "match0",
  "_cql_n"
FROM temp."_cql_delta_q_10"
WHERE
  "_cql_n" > 0;
