-- title: what has no partner is what is left without the semijoin
SELECT k, v FROM s [RANGE 10] x ANTI JOIN r y ON x.k = y.k
----
-- operator 6: the elements, summed up
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

-- operator 6: the groups and instants that changed
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_6" AS
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
    FROM cql_state."q_6_groups" AS kept
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
  "_ts",
  CAST(SUM("_weight") AS BIGINT) AS "_weight"
FROM (
  SELECT
    "k",
    "v",
    "_ts",
    CAST(1 AS BIGINT) AS "_weight"
  FROM temp."_cql_arrivals_s"($t0, $t1)
  UNION ALL
  SELECT
    "k",
    "v",
    "_ts" + 11 AS "_ts",
    -CAST(1 AS BIGINT) AS "_weight"
  FROM temp."_cql_stream_s"()
  WHERE
    "_ts" > $since AND "_ts" <= $t1 - 11 AND "_ts" > $t0 - 11
  UNION ALL
  SELECT
    "x.k" AS "k",
    "x.v" AS "v",
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
          FROM cql_state."q_6_groups"
        ) AS groups
        WHERE
          NOT EXISTS(
            SELECT
              1
            FROM temp."_cql_delta_q_6" AS delta
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
            FROM temp."_cql_delta_q_6"
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
          FROM temp."_cql_delta_q_6"
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
) AS elements
GROUP BY
  "k",
  "v",
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
      "_cql_last" AND delta."match0" IS NOT DISTINCT FROM kept."match0"
  );

-- operator 6: keep their new state
INSERT INTO cql_state."q_6_groups"
SELECT
  "match0",
  "_cql_n"
FROM temp."_cql_delta_q_6"
WHERE
  "_cql_last" AND "_cql_n" > 0;

-- operator 6: the elements, summed up, in a tick of one instant, in stages
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

-- operator 6: the groups and instants that changed, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_6" AS
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
    LEFT JOIN cql_state."q_6_groups" AS kept
      ON changes."match0" IS NOT DISTINCT FROM kept."match0"
  ) AS r
) AS results;

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

-- operator 6: what begins or ends, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_lives_q_6" AS
WITH changed AS (
  SELECT
    *
  FROM temp."_cql_delta_q_6"
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

-- operator 5: an empty table, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_5" AS
SELECT
  CAST(NULL AS INT) AS "x.k",
  CAST(NULL AS BIGINT) AS "x.v",
  CAST(NULL AS BIGINT) AS "_cql_enter",
  CAST(NULL AS BIGINT) AS "_cql_leave",
  CAST(NULL AS BIGINT) AS "_weight"
WHERE
  FALSE;

-- operator 5: combinations that begin or end, in a tick of one instant, in stages
INSERT INTO temp."_cql_delta_q_5"
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
    FROM cql_state."q_6_groups"
  ) AS groups
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM temp."_cql_delta_q_6" AS delta
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
      FROM temp."_cql_delta_q_6"
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

-- operator 5: combinations that begin or end, in a tick of one instant, in stages
INSERT INTO temp."_cql_delta_q_5"
SELECT
  i0."k" AS "x.k",
  i0."v" AS "x.v",
  GREATEST(i1."_cql_enter", i0."_ts") AS "_cql_enter",
  LEAST(i1."_cql_leave", (
    i0."_ts" + 11
  )) AS "_cql_leave",
  i1."_weight" * CAST(1 AS BIGINT) AS "_weight"
FROM temp."_cql_lives_q_6" AS i1
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
  SELECT
    "k",
    "v",
    "_ts",
    CAST(1 AS BIGINT) AS "_weight"
  FROM temp."_cql_arrivals_s"($t0, $t1)
  UNION ALL
  SELECT
    "k",
    "v",
    "_ts" + 11 AS "_ts",
    -CAST(1 AS BIGINT) AS "_weight"
  FROM temp."_cql_stream_s"()
  WHERE
    "_ts" > $since AND "_ts" <= $t1 - 11 AND "_ts" > $t0 - 11
  UNION ALL
  SELECT
    "x.k" AS "k",
    "x.v" AS "v",
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
      FROM temp."_cql_delta_q_5"
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
) AS elements
GROUP BY
  "k",
  "v",
  "_ts"
HAVING
  SUM("_weight") <> 0;

-- operator 6: forget the old state of the groups that changed, in a tick of one instant, in stages
DELETE FROM cql_state."q_6_groups" AS kept
WHERE
  EXISTS(
    SELECT
      1
    FROM temp."_cql_delta_q_6" AS delta
    WHERE
      delta."match0" IS NOT DISTINCT FROM kept."match0"
  );

-- operator 6: keep their new state, in a tick of one instant, in stages
INSERT INTO cql_state."q_6_groups"
SELECT
  "match0",
  "_cql_n"
FROM temp."_cql_delta_q_6"
WHERE
  "_cql_n" > 0;

-- title: NOT IN asks for NULLs too
SELECT k FROM s [RANGE 10] WHERE k NOT IN (SELECT k FROM r)
----
-- operator 7: the elements, summed up
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

-- operator 7: the groups and instants that changed
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_7" AS
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
    FROM cql_state."q_7_groups" AS kept
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

-- operator 10: the elements, summed up
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_sums_d9148bc7a179" AS
SELECT
  CAST(1 AS INT) AS "match1",
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
    "r.k",
    "_cql_enter" AS "_ts",
    "_weight"
  FROM lives
  WHERE
    "_cql_enter" > $t0
  UNION ALL
  SELECT
    "r.k",
    "_cql_leave" AS "_ts",
    -"_weight" AS "_weight"
  FROM lives
  WHERE
    "_cql_leave" <= $t1
) AS input
WHERE
  "r.k" IS NULL
GROUP BY
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
      "match1",
      CAST($t0 AS BIGINT) AS "_ts",
      "_cql_n"
    FROM cql_state."q_10_groups" AS kept
    WHERE
      EXISTS(
        SELECT
          1
        FROM temp."_cql_sums_d9148bc7a179" AS changes
        WHERE
          changes."match1" IS NOT DISTINCT FROM kept."match1"
      )
  ), running AS (
    SELECT
      "match1",
      "_ts",
      CAST(SUM("_cql_n") OVER (PARTITION BY "match1" ORDER BY "_ts") AS BIGINT) AS "_cql_n",
      "_cql_n" AS "_cql_d_n",
      "_cql_old",
      LEAD("_ts") OVER (PARTITION BY "match1" ORDER BY "_ts") IS NULL AS "_cql_last"
    FROM (
      SELECT
        "match1",
        "_ts",
        "_cql_n",
        TRUE AS "_cql_old"
      FROM before
      UNION ALL
      SELECT
        "match1",
        "_ts",
        "_cql_n",
        FALSE AS "_cql_old"
      FROM temp."_cql_sums_d9148bc7a179" AS changes
    ) AS history
  )
  SELECT
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

-- operator 20: the elements, summed up
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_sums_7cee520fdd61" AS
SELECT
  CAST(1 AS INT) AS "match2",
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
    "_cql_enter" AS "_ts",
    "_weight"
  FROM lives
  WHERE
    "_cql_enter" > $t0
  UNION ALL
  SELECT
    "_cql_leave" AS "_ts",
    -"_weight" AS "_weight"
  FROM lives
  WHERE
    "_cql_leave" <= $t1
) AS input
GROUP BY
  "_ts";

-- operator 20: the groups and instants that changed
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_20" AS
SELECT
  *,
  (
    "_cql_is" IS DISTINCT FROM "_cql_was"
  ) AS "_cql_changed"
FROM (
  WITH before AS (
    SELECT
      "match2",
      CAST($t0 AS BIGINT) AS "_ts",
      "_cql_n"
    FROM cql_state."q_20_groups" AS kept
    WHERE
      EXISTS(
        SELECT
          1
        FROM temp."_cql_sums_7cee520fdd61" AS changes
        WHERE
          changes."match2" IS NOT DISTINCT FROM kept."match2"
      )
  ), running AS (
    SELECT
      "match2",
      "_ts",
      CAST(SUM("_cql_n") OVER (PARTITION BY "match2" ORDER BY "_ts") AS BIGINT) AS "_cql_n",
      "_cql_n" AS "_cql_d_n",
      "_cql_old",
      LEAD("_ts") OVER (PARTITION BY "match2" ORDER BY "_ts") IS NULL AS "_cql_last"
    FROM (
      SELECT
        "match2",
        "_ts",
        "_cql_n",
        TRUE AS "_cql_old"
      FROM before
      UNION ALL
      SELECT
        "match2",
        "_ts",
        "_cql_n",
        FALSE AS "_cql_old"
      FROM temp."_cql_sums_7cee520fdd61" AS changes
    ) AS history
  )
  SELECT
    r."match2" AS "match2",
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
  SELECT
    "k",
    "_ts",
    CAST(1 AS BIGINT) AS "_weight"
  FROM temp."_cql_arrivals_s"($t0, $t1)
  UNION ALL
  SELECT
    "k",
    "_ts" + 11 AS "_ts",
    -CAST(1 AS BIGINT) AS "_weight"
  FROM temp."_cql_stream_s"()
  WHERE
    "_ts" > $since AND "_ts" <= $t1 - 11 AND "_ts" > $t0 - 11
  UNION ALL
  SELECT
    "s.k" AS "k",
    "_ts",
    "_weight"
  FROM (
    WITH lives AS (
      SELECT
        step1."s.k",
        GREATEST(step1."_cql_enter", i2."_cql_enter") AS "_cql_enter",
        LEAST(step1."_cql_leave", i2."_cql_leave") AS "_cql_leave",
        step1."_weight" * i2."_weight" AS "_weight"
      FROM (
        SELECT
          i0."s.k",
          GREATEST(i0."_cql_enter", i1."_cql_enter") AS "_cql_enter",
          LEAST(i0."_cql_leave", i1."_cql_leave") AS "_cql_leave",
          i0."_weight" * i1."_weight" AS "_weight"
        FROM (
          SELECT
            "k" AS "s.k",
            "_ts" AS "_cql_enter",
            "_ts" + 11 AS "_cql_leave",
            CAST(1 AS BIGINT) AS "_weight"
          FROM temp."_cql_arrivals_s"($t0, $t1)
          UNION ALL
          SELECT
            "k" AS "s.k",
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
            FROM cql_state."q_7_groups"
          ) AS groups
          WHERE
            NOT EXISTS(
              SELECT
                1
              FROM temp."_cql_delta_q_7" AS delta
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
              FROM temp."_cql_delta_q_7"
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
          AND NOT i0."s.k" IS NULL
          AND i0."_cql_enter" < i1."_cql_leave"
          AND i1."_cql_enter" < i0."_cql_leave"
      ) AS step1
      CROSS JOIN (
        SELECT
          CAST($t0 AS BIGINT) AS "_cql_enter",
          9223372036854775807 AS "_cql_leave",
          "_weight"
        FROM (
          SELECT
            "match1",
            CAST(1 AS BIGINT) AS "_weight"
          FROM cql_state."q_10_groups"
        ) AS groups
        WHERE
          NOT EXISTS(
            SELECT
              1
            FROM temp."_cql_delta_q_10" AS delta
            WHERE
              "_cql_changed" AND delta."match1" IS NOT DISTINCT FROM groups."match1"
          )
        UNION ALL
        SELECT
          "_cql_enter",
          "_cql_leave",
          "_weight"
        FROM (
          WITH changed AS (
            SELECT
              *,
              LEAD("_ts") OVER (PARTITION BY "match1" ORDER BY "_ts") AS "_cql_end",
              LAG("_ts") OVER (PARTITION BY "match1" ORDER BY "_ts") AS "_cql_begin"
            FROM temp."_cql_delta_q_10"
            WHERE
              "_cql_changed"
          )
          SELECT
            "_ts" AS "_cql_enter",
            COALESCE("_cql_end", 9223372036854775807) AS "_cql_leave",
            CAST(1 AS BIGINT) AS "_weight"
          FROM changed
          WHERE
            "_cql_is"
          UNION ALL
          SELECT
            CAST($t0 AS BIGINT) AS "_cql_enter",
            "_ts" AS "_cql_leave",
            CAST(1 AS BIGINT) AS "_weight"
          FROM changed
          WHERE
            "_cql_was" AND "_cql_begin" IS NULL
        ) AS arm
      ) AS i2
      WHERE
        step1."_cql_enter" < i2."_cql_leave" AND i2."_cql_enter" < step1."_cql_leave"
      UNION ALL
      SELECT
        step1."s.k",
        GREATEST(step1."_cql_enter", i2."_cql_enter") AS "_cql_enter",
        LEAST(step1."_cql_leave", i2."_cql_leave") AS "_cql_leave",
        step1."_weight" * i2."_weight" AS "_weight"
      FROM (
        SELECT
          i0."k" AS "s.k",
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
            FROM temp."_cql_delta_q_7"
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
          AND NOT i0."k" IS NULL
          AND i1."_cql_enter" < (
            i0."_ts" + 11
          )
          AND i0."_ts" < i1."_cql_leave"
      ) AS step1
      CROSS JOIN (
        SELECT
          CAST($t0 AS BIGINT) AS "_cql_enter",
          9223372036854775807 AS "_cql_leave",
          "_weight"
        FROM (
          SELECT
            "match1",
            CAST(1 AS BIGINT) AS "_weight"
          FROM cql_state."q_10_groups"
        ) AS groups
        WHERE
          NOT EXISTS(
            SELECT
              1
            FROM temp."_cql_delta_q_10" AS delta
            WHERE
              "_cql_changed" AND delta."match1" IS NOT DISTINCT FROM groups."match1"
          )
        UNION ALL
        SELECT
          "_cql_enter",
          "_cql_leave",
          "_weight"
        FROM (
          WITH changed AS (
            SELECT
              *,
              LEAD("_ts") OVER (PARTITION BY "match1" ORDER BY "_ts") AS "_cql_end",
              LAG("_ts") OVER (PARTITION BY "match1" ORDER BY "_ts") AS "_cql_begin"
            FROM temp."_cql_delta_q_10"
            WHERE
              "_cql_changed"
          )
          SELECT
            "_ts" AS "_cql_enter",
            COALESCE("_cql_end", 9223372036854775807) AS "_cql_leave",
            CAST(1 AS BIGINT) AS "_weight"
          FROM changed
          WHERE
            "_cql_is"
          UNION ALL
          SELECT
            CAST($t0 AS BIGINT) AS "_cql_enter",
            "_ts" AS "_cql_leave",
            CAST(1 AS BIGINT) AS "_weight"
          FROM changed
          WHERE
            "_cql_was" AND "_cql_begin" IS NULL
        ) AS arm
      ) AS i2
      WHERE
        step1."_cql_enter" < i2."_cql_leave" AND i2."_cql_enter" < step1."_cql_leave"
      UNION ALL
      SELECT
        step1."s.k",
        GREATEST(step1."_cql_enter", i1."_cql_enter") AS "_cql_enter",
        LEAST(step1."_cql_leave", i1."_cql_leave") AS "_cql_leave",
        step1."_weight" * i1."_weight" AS "_weight"
      FROM (
        SELECT
          i0."k" AS "s.k",
          GREATEST(i2."_cql_enter", i0."_ts") AS "_cql_enter",
          LEAST(i2."_cql_leave", (
            i0."_ts" + 11
          )) AS "_cql_leave",
          i2."_weight" * CAST(1 AS BIGINT) AS "_weight"
        FROM (
          WITH changed AS (
            SELECT
              *,
              LEAD("_ts") OVER (PARTITION BY "match1" ORDER BY "_ts") AS "_cql_end",
              LAG("_ts") OVER (PARTITION BY "match1" ORDER BY "_ts") AS "_cql_begin"
            FROM temp."_cql_delta_q_10"
            WHERE
              "_cql_changed"
          )
          SELECT
            "_ts" AS "_cql_enter",
            COALESCE("_cql_end", 9223372036854775807) AS "_cql_leave",
            CAST(1 AS BIGINT) AS "_weight"
          FROM changed
          WHERE
            "_cql_is"
          UNION ALL
          SELECT
            CAST($t0 AS BIGINT) AS "_cql_enter",
            "_ts" AS "_cql_leave",
            CAST(1 AS BIGINT) AS "_weight"
          FROM changed
          WHERE
            "_cql_was" AND "_cql_begin" IS NULL
        ) AS i2
        CROSS JOIN temp."_cql_stream_s"() AS i0
        WHERE
          i0."_ts" > $since
          AND i0."_ts" <= $t0
          AND i0."_ts" > $t1 - 11
          AND NOT i0."k" IS NULL
          AND i2."_cql_enter" < (
            i0."_ts" + 11
          )
          AND i0."_ts" < i2."_cql_leave"
      ) AS step1
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
          FROM cql_state."q_7_groups"
        ) AS groups
        WHERE
          NOT EXISTS(
            SELECT
              1
            FROM temp."_cql_delta_q_7" AS delta
            WHERE
              "_cql_changed" AND delta."match0" IS NOT DISTINCT FROM groups."match0"
          )
      ) AS i1
      WHERE
        step1."s.k" = i1."match0"
        AND step1."_cql_enter" < i1."_cql_leave"
        AND i1."_cql_enter" < step1."_cql_leave"
    )
    SELECT
      "s.k",
      "_cql_enter" AS "_ts",
      "_weight"
    FROM lives
    WHERE
      "_cql_enter" > $t0
    UNION ALL
    SELECT
      "s.k",
      "_cql_leave" AS "_ts",
      -"_weight" AS "_weight"
    FROM lives
    WHERE
      "_cql_leave" <= $t1
  ) AS arm
  UNION ALL
  SELECT
    "s.k" AS "k",
    "_ts",
    -"_weight" AS "_weight"
  FROM (
    SELECT
      "s.k",
      "_ts",
      "_weight"
    FROM (
      WITH lives AS (
        SELECT
          i0."s.k",
          GREATEST(i0."_cql_enter", i1."_cql_enter") AS "_cql_enter",
          LEAST(i0."_cql_leave", i1."_cql_leave") AS "_cql_leave",
          i0."_weight" * i1."_weight" AS "_weight"
        FROM (
          SELECT
            "k" AS "s.k",
            "_ts" AS "_cql_enter",
            "_ts" + 11 AS "_cql_leave",
            CAST(1 AS BIGINT) AS "_weight"
          FROM temp."_cql_arrivals_s"($t0, $t1)
          UNION ALL
          SELECT
            "k" AS "s.k",
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
            FROM cql_state."q_7_groups"
          ) AS groups
          WHERE
            NOT EXISTS(
              SELECT
                1
              FROM temp."_cql_delta_q_7" AS delta
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
              FROM temp."_cql_delta_q_7"
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
            FROM temp."_cql_delta_q_7"
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
        "s.k",
        "_cql_enter" AS "_ts",
        "_weight"
      FROM lives
      WHERE
        "_cql_enter" > $t0
      UNION ALL
      SELECT
        "s.k",
        "_cql_leave" AS "_ts",
        -"_weight" AS "_weight"
      FROM lives
      WHERE
        "_cql_leave" <= $t1
    ) AS arm
    UNION ALL
    SELECT
      "s.k",
      "_ts",
      "_weight"
    FROM (
      WITH lives AS (
        SELECT
          i0."s.k",
          GREATEST(i0."_cql_enter", i1."_cql_enter") AS "_cql_enter",
          LEAST(i0."_cql_leave", i1."_cql_leave") AS "_cql_leave",
          i0."_weight" * i1."_weight" AS "_weight"
        FROM (
          SELECT
            "k" AS "s.k",
            "_ts" AS "_cql_enter",
            "_ts" + 11 AS "_cql_leave",
            CAST(1 AS BIGINT) AS "_weight"
          FROM temp."_cql_arrivals_s"($t0, $t1)
          UNION ALL
          SELECT
            "k" AS "s.k",
            "_ts" AS "_cql_enter",
            "_ts" + 11 AS "_cql_leave",
            CAST(1 AS BIGINT) AS "_weight"
          FROM temp."_cql_stream_s"()
          WHERE
            "_ts" > $since AND "_ts" <= $t1 - 11 AND "_ts" > $t0 - 11 AND "_ts" <= $t0
        ) AS i0
        CROSS JOIN (
          SELECT
            CAST($t0 AS BIGINT) AS "_cql_enter",
            9223372036854775807 AS "_cql_leave",
            "_weight"
          FROM (
            SELECT
              "match1",
              CAST(1 AS BIGINT) AS "_weight"
            FROM cql_state."q_10_groups"
          ) AS groups
          WHERE
            NOT EXISTS(
              SELECT
                1
              FROM temp."_cql_delta_q_10" AS delta
              WHERE
                "_cql_changed" AND delta."match1" IS NOT DISTINCT FROM groups."match1"
            )
          UNION ALL
          SELECT
            "_cql_enter",
            "_cql_leave",
            "_weight"
          FROM (
            WITH changed AS (
              SELECT
                *,
                LEAD("_ts") OVER (PARTITION BY "match1" ORDER BY "_ts") AS "_cql_end",
                LAG("_ts") OVER (PARTITION BY "match1" ORDER BY "_ts") AS "_cql_begin"
              FROM temp."_cql_delta_q_10"
              WHERE
                "_cql_changed"
            )
            SELECT
              "_ts" AS "_cql_enter",
              COALESCE("_cql_end", 9223372036854775807) AS "_cql_leave",
              CAST(1 AS BIGINT) AS "_weight"
            FROM changed
            WHERE
              "_cql_is"
            UNION ALL
            SELECT
              CAST($t0 AS BIGINT) AS "_cql_enter",
              "_ts" AS "_cql_leave",
              CAST(1 AS BIGINT) AS "_weight"
            FROM changed
            WHERE
              "_cql_was" AND "_cql_begin" IS NULL
          ) AS arm
        ) AS i1
        WHERE
          NOT i0."s.k" IS NULL
          AND i0."_cql_enter" < i1."_cql_leave"
          AND i1."_cql_enter" < i0."_cql_leave"
        UNION ALL
        SELECT
          i0."k" AS "s.k",
          GREATEST(i1."_cql_enter", i0."_ts") AS "_cql_enter",
          LEAST(i1."_cql_leave", (
            i0."_ts" + 11
          )) AS "_cql_leave",
          i1."_weight" * CAST(1 AS BIGINT) AS "_weight"
        FROM (
          WITH changed AS (
            SELECT
              *,
              LEAD("_ts") OVER (PARTITION BY "match1" ORDER BY "_ts") AS "_cql_end",
              LAG("_ts") OVER (PARTITION BY "match1" ORDER BY "_ts") AS "_cql_begin"
            FROM temp."_cql_delta_q_10"
            WHERE
              "_cql_changed"
          )
          SELECT
            "_ts" AS "_cql_enter",
            COALESCE("_cql_end", 9223372036854775807) AS "_cql_leave",
            CAST(1 AS BIGINT) AS "_weight"
          FROM changed
          WHERE
            "_cql_is"
          UNION ALL
          SELECT
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
          AND NOT i0."k" IS NULL
          AND i1."_cql_enter" < (
            i0."_ts" + 11
          )
          AND i0."_ts" < i1."_cql_leave"
      )
      SELECT
        "s.k",
        "_cql_enter" AS "_ts",
        "_weight"
      FROM lives
      WHERE
        "_cql_enter" > $t0
      UNION ALL
      SELECT
        "s.k",
        "_cql_leave" AS "_ts",
        -"_weight" AS "_weight"
      FROM lives
      WHERE
        "_cql_leave" <= $t1
    ) AS arm
    UNION ALL
    SELECT
      "s.k",
      "_ts",
      "_weight"
    FROM (
      WITH lives AS (
        SELECT
          i0."s.k",
          GREATEST(i0."_cql_enter", i1."_cql_enter") AS "_cql_enter",
          LEAST(i0."_cql_leave", i1."_cql_leave") AS "_cql_leave",
          i0."_weight" * i1."_weight" AS "_weight"
        FROM (
          SELECT
            "k" AS "s.k",
            "_ts" AS "_cql_enter",
            "_ts" + 11 AS "_cql_leave",
            CAST(1 AS BIGINT) AS "_weight"
          FROM temp."_cql_arrivals_s"($t0, $t1)
          UNION ALL
          SELECT
            "k" AS "s.k",
            "_ts" AS "_cql_enter",
            "_ts" + 11 AS "_cql_leave",
            CAST(1 AS BIGINT) AS "_weight"
          FROM temp."_cql_stream_s"()
          WHERE
            "_ts" > $since AND "_ts" <= $t1 - 11 AND "_ts" > $t0 - 11 AND "_ts" <= $t0
        ) AS i0
        CROSS JOIN (
          SELECT
            CAST($t0 AS BIGINT) AS "_cql_enter",
            9223372036854775807 AS "_cql_leave",
            "_weight"
          FROM (
            SELECT
              "match2",
              CAST(1 AS BIGINT) AS "_weight"
            FROM cql_state."q_20_groups"
          ) AS groups
          WHERE
            NOT EXISTS(
              SELECT
                1
              FROM temp."_cql_delta_q_20" AS delta
              WHERE
                "_cql_changed" AND delta."match2" IS NOT DISTINCT FROM groups."match2"
            )
          UNION ALL
          SELECT
            "_cql_enter",
            "_cql_leave",
            "_weight"
          FROM (
            WITH changed AS (
              SELECT
                *,
                LEAD("_ts") OVER (PARTITION BY "match2" ORDER BY "_ts") AS "_cql_end",
                LAG("_ts") OVER (PARTITION BY "match2" ORDER BY "_ts") AS "_cql_begin"
              FROM temp."_cql_delta_q_20"
              WHERE
                "_cql_changed"
            )
            SELECT
              "_ts" AS "_cql_enter",
              COALESCE("_cql_end", 9223372036854775807) AS "_cql_leave",
              CAST(1 AS BIGINT) AS "_weight"
            FROM changed
            WHERE
              "_cql_is"
            UNION ALL
            SELECT
              CAST($t0 AS BIGINT) AS "_cql_enter",
              "_ts" AS "_cql_leave",
              CAST(1 AS BIGINT) AS "_weight"
            FROM changed
            WHERE
              "_cql_was" AND "_cql_begin" IS NULL
          ) AS arm
        ) AS i1
        WHERE
          i0."s.k" IS NULL
          AND i0."_cql_enter" < i1."_cql_leave"
          AND i1."_cql_enter" < i0."_cql_leave"
        UNION ALL
        SELECT
          i0."k" AS "s.k",
          GREATEST(i1."_cql_enter", i0."_ts") AS "_cql_enter",
          LEAST(i1."_cql_leave", (
            i0."_ts" + 11
          )) AS "_cql_leave",
          i1."_weight" * CAST(1 AS BIGINT) AS "_weight"
        FROM (
          WITH changed AS (
            SELECT
              *,
              LEAD("_ts") OVER (PARTITION BY "match2" ORDER BY "_ts") AS "_cql_end",
              LAG("_ts") OVER (PARTITION BY "match2" ORDER BY "_ts") AS "_cql_begin"
            FROM temp."_cql_delta_q_20"
            WHERE
              "_cql_changed"
          )
          SELECT
            "_ts" AS "_cql_enter",
            COALESCE("_cql_end", 9223372036854775807) AS "_cql_leave",
            CAST(1 AS BIGINT) AS "_weight"
          FROM changed
          WHERE
            "_cql_is"
          UNION ALL
          SELECT
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
          AND i0."k" IS NULL
          AND i1."_cql_enter" < (
            i0."_ts" + 11
          )
          AND i0."_ts" < i1."_cql_leave"
      )
      SELECT
        "s.k",
        "_cql_enter" AS "_ts",
        "_weight"
      FROM lives
      WHERE
        "_cql_enter" > $t0
      UNION ALL
      SELECT
        "s.k",
        "_cql_leave" AS "_ts",
        -"_weight" AS "_weight"
      FROM lives
      WHERE
        "_cql_leave" <= $t1
    ) AS arm
  ) AS less
) AS elements
GROUP BY
  "k",
  "_ts"
HAVING
  SUM("_weight") <> 0;

-- operator 7: forget the old state of the groups that changed
DELETE FROM cql_state."q_7_groups" AS kept
WHERE
  EXISTS(
    SELECT
      1
    FROM temp."_cql_delta_q_7" AS delta
    WHERE
      "_cql_last" AND delta."match0" IS NOT DISTINCT FROM kept."match0"
  );

-- operator 7: keep their new state
INSERT INTO cql_state."q_7_groups"
SELECT
  "match0",
  "_cql_n"
FROM temp."_cql_delta_q_7"
WHERE
  "_cql_last" AND "_cql_n" > 0;

-- operator 10: forget the old state of the groups that changed
DELETE FROM cql_state."q_10_groups" AS kept
WHERE
  EXISTS(
    SELECT
      1
    FROM temp."_cql_delta_q_10" AS delta
    WHERE
      "_cql_last" AND delta."match1" IS NOT DISTINCT FROM kept."match1"
  );

-- operator 10: keep their new state
INSERT INTO cql_state."q_10_groups"
SELECT
  "match1",
  "_cql_n"
FROM temp."_cql_delta_q_10"
WHERE
  "_cql_last" AND "_cql_n" > 0;

-- operator 20: forget the old state of the groups that changed
DELETE FROM cql_state."q_20_groups" AS kept
WHERE
  EXISTS(
    SELECT
      1
    FROM temp."_cql_delta_q_20" AS delta
    WHERE
      "_cql_last" AND delta."match2" IS NOT DISTINCT FROM kept."match2"
  );

-- operator 20: keep their new state
INSERT INTO cql_state."q_20_groups"
SELECT
  "match2",
  "_cql_n"
FROM temp."_cql_delta_q_20"
WHERE
  "_cql_last" AND "_cql_n" > 0;

-- operator 7: the elements, summed up, in a tick of one instant, in stages
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

-- operator 7: the groups and instants that changed, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_7" AS
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
    LEFT JOIN cql_state."q_7_groups" AS kept
      ON changes."match0" IS NOT DISTINCT FROM kept."match0"
  ) AS r
) AS results;

-- operator 10: the elements, summed up, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_sums_ff0a290fd2f1" AS
SELECT
  CAST(1 AS INT) AS "match1",
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
    "r.k",
    "_cql_enter" AS "_ts",
    "_weight"
  FROM lives
  WHERE
    "_cql_enter" > $t0
  UNION ALL
  SELECT
    "r.k",
    "_cql_leave" AS "_ts",
    -"_weight" AS "_weight"
  FROM lives
  WHERE
    "_cql_leave" <= $t1
) AS input
WHERE
  "r.k" IS NULL
GROUP BY
  CAST(1 AS INT);

-- operator 10: the groups and instants that changed, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_10" AS
SELECT
  *,
  (
    "_cql_is" IS DISTINCT FROM "_cql_was"
  ) AS "_cql_changed"
FROM (
  SELECT
    r."match1" AS "match1",
    r."_ts" AS "_ts",
    r."_cql_n" AS "_cql_n",
    r."_cql_n" > 0 AS "_cql_is",
    r."_cql_n" - r."_cql_d_n" > 0 AS "_cql_was"
  FROM (
    SELECT
      changes."match1" AS "match1",
      changes."_ts" AS "_ts",
      CAST(COALESCE(kept."_cql_n", 0) + changes."_cql_n" AS BIGINT) AS "_cql_n",
      changes."_cql_n" AS "_cql_d_n"
    FROM temp."_cql_sums_ff0a290fd2f1" AS changes
    LEFT JOIN cql_state."q_10_groups" AS kept
      ON changes."match1" IS NOT DISTINCT FROM kept."match1"
  ) AS r
) AS results;

-- operator 3: what begins or ends, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_lives_d11a5962c27e" AS
SELECT
  "k" AS "s.k",
  "_ts" AS "_cql_enter",
  "_ts" + 11 AS "_cql_leave",
  CAST(1 AS BIGINT) AS "_weight"
FROM temp."_cql_arrivals_s"($t0, $t1)
UNION ALL
SELECT
  "k" AS "s.k",
  "_ts" AS "_cql_enter",
  "_ts" + 11 AS "_cql_leave",
  CAST(1 AS BIGINT) AS "_weight"
FROM temp."_cql_stream_s"()
WHERE
  "_ts" > $since AND "_ts" <= $t1 - 11 AND "_ts" > $t0 - 11 AND "_ts" <= $t0;

-- operator 7: what begins or ends, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_lives_q_7" AS
WITH changed AS (
  SELECT
    *
  FROM temp."_cql_delta_q_7"
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
  "match1",
  "_ts" AS "_cql_enter",
  9223372036854775807 AS "_cql_leave",
  CAST(1 AS BIGINT) AS "_weight"
FROM changed
WHERE
  "_cql_is"
UNION ALL
SELECT
  "match1",
  CAST($t0 AS BIGINT) AS "_cql_enter",
  "_ts" AS "_cql_leave",
  CAST(1 AS BIGINT) AS "_weight"
FROM changed
WHERE
  "_cql_was";

-- operator 6: an empty table, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_6" AS
SELECT
  CAST(NULL AS INT) AS "s.k",
  CAST(NULL AS BIGINT) AS "_cql_enter",
  CAST(NULL AS BIGINT) AS "_cql_leave",
  CAST(NULL AS BIGINT) AS "_weight"
WHERE
  FALSE;

-- operator 6: combinations that begin or end, in a tick of one instant, in stages
INSERT INTO temp."_cql_delta_q_6"
SELECT
  step1."s.k",
  GREATEST(step1."_cql_enter", i2."_cql_enter") AS "_cql_enter",
  LEAST(step1."_cql_leave", i2."_cql_leave") AS "_cql_leave",
  step1."_weight" * i2."_weight" AS "_weight"
FROM (
  SELECT
    i0."s.k",
    GREATEST(i0."_cql_enter", i1."_cql_enter") AS "_cql_enter",
    LEAST(i0."_cql_leave", i1."_cql_leave") AS "_cql_leave",
    i0."_weight" * i1."_weight" AS "_weight"
  FROM temp."_cql_lives_d11a5962c27e" AS i0
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
      FROM cql_state."q_7_groups"
    ) AS groups
    WHERE
      NOT EXISTS(
        SELECT
          1
        FROM temp."_cql_delta_q_7" AS delta
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
        FROM temp."_cql_delta_q_7"
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
    AND NOT i0."s.k" IS NULL
    AND i0."_cql_enter" < i1."_cql_leave"
    AND i1."_cql_enter" < i0."_cql_leave"
) AS step1
CROSS JOIN (
  SELECT
    CAST($t0 AS BIGINT) AS "_cql_enter",
    9223372036854775807 AS "_cql_leave",
    "_weight"
  FROM (
    SELECT
      "match1",
      CAST(1 AS BIGINT) AS "_weight"
    FROM cql_state."q_10_groups"
  ) AS groups
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM temp."_cql_delta_q_10" AS delta
      WHERE
        "_cql_changed" AND delta."match1" IS NOT DISTINCT FROM groups."match1"
    )
  UNION ALL
  SELECT
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
      "_ts" AS "_cql_enter",
      9223372036854775807 AS "_cql_leave",
      CAST(1 AS BIGINT) AS "_weight"
    FROM changed
    WHERE
      "_cql_is"
    UNION ALL
    SELECT
      CAST($t0 AS BIGINT) AS "_cql_enter",
      "_ts" AS "_cql_leave",
      CAST(1 AS BIGINT) AS "_weight"
    FROM changed
    WHERE
      "_cql_was"
  ) AS arm
) AS i2
WHERE
  step1."_cql_enter" < i2."_cql_leave" AND i2."_cql_enter" < step1."_cql_leave";

-- operator 6: combinations that begin or end, in a tick of one instant, in stages
INSERT INTO temp."_cql_delta_q_6"
SELECT
  step1."s.k",
  GREATEST(step1."_cql_enter", i2."_cql_enter") AS "_cql_enter",
  LEAST(step1."_cql_leave", i2."_cql_leave") AS "_cql_leave",
  step1."_weight" * i2."_weight" AS "_weight"
FROM (
  SELECT
    i0."k" AS "s.k",
    GREATEST(i1."_cql_enter", i0."_ts") AS "_cql_enter",
    LEAST(i1."_cql_leave", (
      i0."_ts" + 11
    )) AS "_cql_leave",
    i1."_weight" * CAST(1 AS BIGINT) AS "_weight"
  FROM temp."_cql_lives_q_7" AS i1
  CROSS JOIN temp."_cql_stream_s"() AS i0
  WHERE
    i0."_ts" > $since
    AND i0."_ts" <= $t0
    AND i0."_ts" > $t1 - 11
    AND i0."k" = i1."match0"
    AND NOT i0."k" IS NULL
    AND i1."_cql_enter" < (
      i0."_ts" + 11
    )
    AND i0."_ts" < i1."_cql_leave"
) AS step1
CROSS JOIN (
  SELECT
    CAST($t0 AS BIGINT) AS "_cql_enter",
    9223372036854775807 AS "_cql_leave",
    "_weight"
  FROM (
    SELECT
      "match1",
      CAST(1 AS BIGINT) AS "_weight"
    FROM cql_state."q_10_groups"
  ) AS groups
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM temp."_cql_delta_q_10" AS delta
      WHERE
        "_cql_changed" AND delta."match1" IS NOT DISTINCT FROM groups."match1"
    )
  UNION ALL
  SELECT
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
      "_ts" AS "_cql_enter",
      9223372036854775807 AS "_cql_leave",
      CAST(1 AS BIGINT) AS "_weight"
    FROM changed
    WHERE
      "_cql_is"
    UNION ALL
    SELECT
      CAST($t0 AS BIGINT) AS "_cql_enter",
      "_ts" AS "_cql_leave",
      CAST(1 AS BIGINT) AS "_weight"
    FROM changed
    WHERE
      "_cql_was"
  ) AS arm
) AS i2
WHERE
  step1."_cql_enter" < i2."_cql_leave" AND i2."_cql_enter" < step1."_cql_leave";

-- operator 6: combinations that begin or end, in a tick of one instant, in stages
INSERT INTO temp."_cql_delta_q_6"
SELECT
  step1."s.k",
  GREATEST(step1."_cql_enter", i1."_cql_enter") AS "_cql_enter",
  LEAST(step1."_cql_leave", i1."_cql_leave") AS "_cql_leave",
  step1."_weight" * i1."_weight" AS "_weight"
FROM (
  SELECT
    i0."k" AS "s.k",
    GREATEST(i2."_cql_enter", i0."_ts") AS "_cql_enter",
    LEAST(i2."_cql_leave", (
      i0."_ts" + 11
    )) AS "_cql_leave",
    i2."_weight" * CAST(1 AS BIGINT) AS "_weight"
  FROM temp."_cql_lives_q_10" AS i2
  CROSS JOIN temp."_cql_stream_s"() AS i0
  WHERE
    i0."_ts" > $since
    AND i0."_ts" <= $t0
    AND i0."_ts" > $t1 - 11
    AND NOT i0."k" IS NULL
    AND i2."_cql_enter" < (
      i0."_ts" + 11
    )
    AND i0."_ts" < i2."_cql_leave"
) AS step1
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
    FROM cql_state."q_7_groups"
  ) AS groups
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM temp."_cql_delta_q_7" AS delta
      WHERE
        "_cql_changed" AND delta."match0" IS NOT DISTINCT FROM groups."match0"
    )
) AS i1
WHERE
  step1."s.k" = i1."match0"
  AND step1."_cql_enter" < i1."_cql_leave"
  AND i1."_cql_enter" < step1."_cql_leave";

-- operator 15: an empty table, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_15" AS
SELECT
  CAST(NULL AS INT) AS "s.k",
  CAST(NULL AS BIGINT) AS "_cql_enter",
  CAST(NULL AS BIGINT) AS "_cql_leave",
  CAST(NULL AS BIGINT) AS "_weight"
WHERE
  FALSE;

-- operator 15: combinations that begin or end, in a tick of one instant, in stages
INSERT INTO temp."_cql_delta_q_15"
SELECT
  i0."s.k",
  GREATEST(i0."_cql_enter", i1."_cql_enter") AS "_cql_enter",
  LEAST(i0."_cql_leave", i1."_cql_leave") AS "_cql_leave",
  i0."_weight" * i1."_weight" AS "_weight"
FROM temp."_cql_lives_d11a5962c27e" AS i0
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
    FROM cql_state."q_7_groups"
  ) AS groups
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM temp."_cql_delta_q_7" AS delta
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
      FROM temp."_cql_delta_q_7"
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

-- operator 15: combinations that begin or end, in a tick of one instant, in stages
INSERT INTO temp."_cql_delta_q_15"
SELECT
  i0."k" AS "s.k",
  GREATEST(i1."_cql_enter", i0."_ts") AS "_cql_enter",
  LEAST(i1."_cql_leave", (
    i0."_ts" + 11
  )) AS "_cql_leave",
  i1."_weight" * CAST(1 AS BIGINT) AS "_weight"
FROM temp."_cql_lives_q_7" AS i1
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

-- operator 17: an empty table, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_17" AS
SELECT
  CAST(NULL AS INT) AS "s.k",
  CAST(NULL AS BIGINT) AS "_cql_enter",
  CAST(NULL AS BIGINT) AS "_cql_leave",
  CAST(NULL AS BIGINT) AS "_weight"
WHERE
  FALSE;

-- operator 17: combinations that begin or end, in a tick of one instant, in stages
INSERT INTO temp."_cql_delta_q_17"
SELECT
  i0."s.k",
  GREATEST(i0."_cql_enter", i1."_cql_enter") AS "_cql_enter",
  LEAST(i0."_cql_leave", i1."_cql_leave") AS "_cql_leave",
  i0."_weight" * i1."_weight" AS "_weight"
FROM temp."_cql_lives_d11a5962c27e" AS i0
CROSS JOIN (
  SELECT
    CAST($t0 AS BIGINT) AS "_cql_enter",
    9223372036854775807 AS "_cql_leave",
    "_weight"
  FROM (
    SELECT
      "match1",
      CAST(1 AS BIGINT) AS "_weight"
    FROM cql_state."q_10_groups"
  ) AS groups
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM temp."_cql_delta_q_10" AS delta
      WHERE
        "_cql_changed" AND delta."match1" IS NOT DISTINCT FROM groups."match1"
    )
  UNION ALL
  SELECT
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
      "_ts" AS "_cql_enter",
      9223372036854775807 AS "_cql_leave",
      CAST(1 AS BIGINT) AS "_weight"
    FROM changed
    WHERE
      "_cql_is"
    UNION ALL
    SELECT
      CAST($t0 AS BIGINT) AS "_cql_enter",
      "_ts" AS "_cql_leave",
      CAST(1 AS BIGINT) AS "_weight"
    FROM changed
    WHERE
      "_cql_was"
  ) AS arm
) AS i1
WHERE
  NOT i0."s.k" IS NULL
  AND i0."_cql_enter" < i1."_cql_leave"
  AND i1."_cql_enter" < i0."_cql_leave";

-- operator 17: combinations that begin or end, in a tick of one instant, in stages
INSERT INTO temp."_cql_delta_q_17"
SELECT
  i0."k" AS "s.k",
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
  AND NOT i0."k" IS NULL
  AND i1."_cql_enter" < (
    i0."_ts" + 11
  )
  AND i0."_ts" < i1."_cql_leave";

-- operator 20: the elements, summed up, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_sums_e558f3e178d7" AS
SELECT
  CAST(1 AS INT) AS "match2",
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
    "_cql_enter" AS "_ts",
    "_weight"
  FROM lives
  WHERE
    "_cql_enter" > $t0
  UNION ALL
  SELECT
    "_cql_leave" AS "_ts",
    -"_weight" AS "_weight"
  FROM lives
  WHERE
    "_cql_leave" <= $t1
) AS input
GROUP BY
  CAST(1 AS INT);

-- operator 20: the groups and instants that changed, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_20" AS
SELECT
  *,
  (
    "_cql_is" IS DISTINCT FROM "_cql_was"
  ) AS "_cql_changed"
FROM (
  SELECT
    r."match2" AS "match2",
    r."_ts" AS "_ts",
    r."_cql_n" AS "_cql_n",
    r."_cql_n" > 0 AS "_cql_is",
    r."_cql_n" - r."_cql_d_n" > 0 AS "_cql_was"
  FROM (
    SELECT
      changes."match2" AS "match2",
      changes."_ts" AS "_ts",
      CAST(COALESCE(kept."_cql_n", 0) + changes."_cql_n" AS BIGINT) AS "_cql_n",
      changes."_cql_n" AS "_cql_d_n"
    FROM temp."_cql_sums_e558f3e178d7" AS changes
    LEFT JOIN cql_state."q_20_groups" AS kept
      ON changes."match2" IS NOT DISTINCT FROM kept."match2"
  ) AS r
) AS results;

-- operator 20: what begins or ends, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_lives_q_20" AS
WITH changed AS (
  SELECT
    *
  FROM temp."_cql_delta_q_20"
  WHERE
    "_cql_changed"
)
SELECT
  "match2",
  "_ts" AS "_cql_enter",
  9223372036854775807 AS "_cql_leave",
  CAST(1 AS BIGINT) AS "_weight"
FROM changed
WHERE
  "_cql_is"
UNION ALL
SELECT
  "match2",
  CAST($t0 AS BIGINT) AS "_cql_enter",
  "_ts" AS "_cql_leave",
  CAST(1 AS BIGINT) AS "_weight"
FROM changed
WHERE
  "_cql_was";

-- operator 19: an empty table, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_19" AS
SELECT
  CAST(NULL AS INT) AS "s.k",
  CAST(NULL AS BIGINT) AS "_cql_enter",
  CAST(NULL AS BIGINT) AS "_cql_leave",
  CAST(NULL AS BIGINT) AS "_weight"
WHERE
  FALSE;

-- operator 19: combinations that begin or end, in a tick of one instant, in stages
INSERT INTO temp."_cql_delta_q_19"
SELECT
  i0."s.k",
  GREATEST(i0."_cql_enter", i1."_cql_enter") AS "_cql_enter",
  LEAST(i0."_cql_leave", i1."_cql_leave") AS "_cql_leave",
  i0."_weight" * i1."_weight" AS "_weight"
FROM temp."_cql_lives_d11a5962c27e" AS i0
CROSS JOIN (
  SELECT
    CAST($t0 AS BIGINT) AS "_cql_enter",
    9223372036854775807 AS "_cql_leave",
    "_weight"
  FROM (
    SELECT
      "match2",
      CAST(1 AS BIGINT) AS "_weight"
    FROM cql_state."q_20_groups"
  ) AS groups
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM temp."_cql_delta_q_20" AS delta
      WHERE
        "_cql_changed" AND delta."match2" IS NOT DISTINCT FROM groups."match2"
    )
  UNION ALL
  SELECT
    "_cql_enter",
    "_cql_leave",
    "_weight"
  FROM (
    WITH changed AS (
      SELECT
        *
      FROM temp."_cql_delta_q_20"
      WHERE
        "_cql_changed"
    )
    SELECT
      "_ts" AS "_cql_enter",
      9223372036854775807 AS "_cql_leave",
      CAST(1 AS BIGINT) AS "_weight"
    FROM changed
    WHERE
      "_cql_is"
    UNION ALL
    SELECT
      CAST($t0 AS BIGINT) AS "_cql_enter",
      "_ts" AS "_cql_leave",
      CAST(1 AS BIGINT) AS "_weight"
    FROM changed
    WHERE
      "_cql_was"
  ) AS arm
) AS i1
WHERE
  i0."s.k" IS NULL
  AND i0."_cql_enter" < i1."_cql_leave"
  AND i1."_cql_enter" < i0."_cql_leave";

-- operator 19: combinations that begin or end, in a tick of one instant, in stages
INSERT INTO temp."_cql_delta_q_19"
SELECT
  i0."k" AS "s.k",
  GREATEST(i1."_cql_enter", i0."_ts") AS "_cql_enter",
  LEAST(i1."_cql_leave", (
    i0."_ts" + 11
  )) AS "_cql_leave",
  i1."_weight" * CAST(1 AS BIGINT) AS "_weight"
FROM temp."_cql_lives_q_20" AS i1
CROSS JOIN temp."_cql_stream_s"() AS i0
WHERE
  i0."_ts" > $since
  AND i0."_ts" <= $t0
  AND i0."_ts" > $t1 - 11
  AND i0."k" IS NULL
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
  SELECT
    "k",
    "_ts",
    CAST(1 AS BIGINT) AS "_weight"
  FROM temp."_cql_arrivals_s"($t0, $t1)
  UNION ALL
  SELECT
    "k",
    "_ts" + 11 AS "_ts",
    -CAST(1 AS BIGINT) AS "_weight"
  FROM temp."_cql_stream_s"()
  WHERE
    "_ts" > $since AND "_ts" <= $t1 - 11 AND "_ts" > $t0 - 11
  UNION ALL
  SELECT
    "s.k" AS "k",
    "_ts",
    "_weight"
  FROM (
    WITH lives AS (
      SELECT
        "s.k",
        "_cql_enter",
        "_cql_leave",
        "_weight"
      FROM temp."_cql_delta_q_6"
    )
    SELECT
      "s.k",
      "_cql_enter" AS "_ts",
      "_weight"
    FROM lives
    WHERE
      "_cql_enter" > $t0
    UNION ALL
    SELECT
      "s.k",
      "_cql_leave" AS "_ts",
      -"_weight" AS "_weight"
    FROM lives
    WHERE
      "_cql_leave" <= $t1
  ) AS arm
  UNION ALL
  SELECT
    "s.k" AS "k",
    "_ts",
    -"_weight" AS "_weight"
  FROM (
    SELECT
      "s.k",
      "_ts",
      "_weight"
    FROM (
      WITH lives AS (
        SELECT
          "s.k",
          "_cql_enter",
          "_cql_leave",
          "_weight"
        FROM temp."_cql_delta_q_15"
      )
      SELECT
        "s.k",
        "_cql_enter" AS "_ts",
        "_weight"
      FROM lives
      WHERE
        "_cql_enter" > $t0
      UNION ALL
      SELECT
        "s.k",
        "_cql_leave" AS "_ts",
        -"_weight" AS "_weight"
      FROM lives
      WHERE
        "_cql_leave" <= $t1
    ) AS arm
    UNION ALL
    SELECT
      "s.k",
      "_ts",
      "_weight"
    FROM (
      WITH lives AS (
        SELECT
          "s.k",
          "_cql_enter",
          "_cql_leave",
          "_weight"
        FROM temp."_cql_delta_q_17"
      )
      SELECT
        "s.k",
        "_cql_enter" AS "_ts",
        "_weight"
      FROM lives
      WHERE
        "_cql_enter" > $t0
      UNION ALL
      SELECT
        "s.k",
        "_cql_leave" AS "_ts",
        -"_weight" AS "_weight"
      FROM lives
      WHERE
        "_cql_leave" <= $t1
    ) AS arm
    UNION ALL
    SELECT
      "s.k",
      "_ts",
      "_weight"
    FROM (
      WITH lives AS (
        SELECT
          "s.k",
          "_cql_enter",
          "_cql_leave",
          "_weight"
        FROM temp."_cql_delta_q_19"
      )
      SELECT
        "s.k",
        "_cql_enter" AS "_ts",
        "_weight"
      FROM lives
      WHERE
        "_cql_enter" > $t0
      UNION ALL
      SELECT
        "s.k",
        "_cql_leave" AS "_ts",
        -"_weight" AS "_weight"
      FROM lives
      WHERE
        "_cql_leave" <= $t1
    ) AS arm
  ) AS less
) AS elements
GROUP BY
  "k",
  "_ts"
HAVING
  SUM("_weight") <> 0;

-- operator 7: forget the old state of the groups that changed, in a tick of one instant, in stages
DELETE FROM cql_state."q_7_groups" AS kept
WHERE
  EXISTS(
    SELECT
      1
    FROM temp."_cql_delta_q_7" AS delta
    WHERE
      delta."match0" IS NOT DISTINCT FROM kept."match0"
  );

-- operator 7: keep their new state, in a tick of one instant, in stages
INSERT INTO cql_state."q_7_groups"
SELECT
  "match0",
  "_cql_n"
FROM temp."_cql_delta_q_7"
WHERE
  "_cql_n" > 0;

-- operator 10: forget the old state of the groups that changed, in a tick of one instant, in stages
DELETE FROM cql_state."q_10_groups" AS kept
WHERE
  EXISTS(
    SELECT
      1
    FROM temp."_cql_delta_q_10" AS delta
    WHERE
      delta."match1" IS NOT DISTINCT FROM kept."match1"
  );

-- operator 10: keep their new state, in a tick of one instant, in stages
INSERT INTO cql_state."q_10_groups"
SELECT
  "match1",
  "_cql_n"
FROM temp."_cql_delta_q_10"
WHERE
  "_cql_n" > 0;

-- operator 20: forget the old state of the groups that changed, in a tick of one instant, in stages
DELETE FROM cql_state."q_20_groups" AS kept
WHERE
  EXISTS(
    SELECT
      1
    FROM temp."_cql_delta_q_20" AS delta
    WHERE
      delta."match2" IS NOT DISTINCT FROM kept."match2"
  );

-- operator 20: keep their new state, in a tick of one instant, in stages
INSERT INTO cql_state."q_20_groups"
SELECT
  "match2",
  "_cql_n"
FROM temp."_cql_delta_q_20"
WHERE
  "_cql_n" > 0;
