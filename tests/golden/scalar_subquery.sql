-- title: an aggregate over everything has one tuple, so a join with it keeps the weights
SELECT k, v FROM s [RANGE 10] WHERE v > (SELECT avg(w) FROM t [RANGE 5])
----
-- operator 6: the elements, summed up
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_sums_7fcfa26e36bd" AS
SELECT
  "_ts",
  CAST(SUM("_cql_n") AS BIGINT) AS "_cql_n",
  CAST(SUM("_cql_count0") AS BIGINT) AS "_cql_count0",
  CAST(SUM("_cql_sum0") AS INT128) AS "_cql_sum0"
FROM (
  SELECT
    "_ts",
    CAST(SUM("_weight") AS BIGINT) AS "_cql_n",
    CAST(SUM(CASE WHEN "t.w" IS NULL THEN 0 ELSE "_weight" END) AS BIGINT) AS "_cql_count0",
    CAST(COALESCE(SUM(CAST("t.w" AS INT128) * "_weight"), 0) AS INT128) AS "_cql_sum0"
  FROM (
    SELECT
      "w" AS "t.w",
      "_ts",
      CAST(1 AS BIGINT) AS "_weight"
    FROM temp."_cql_arrivals_t"($t0, $t1)
    UNION ALL
    SELECT
      "w" AS "t.w",
      "_ts" + 6 AS "_ts",
      -CAST(1 AS BIGINT) AS "_weight"
    FROM temp."_cql_stream_t"()
    WHERE
      "_ts" > $since AND "_ts" <= $t1 - 6 AND "_ts" > $t0 - 6
  ) AS elements
  GROUP BY
    "_ts"
  UNION ALL
  SELECT
    CAST($begin AS BIGINT) AS "_ts",
    CAST(0 AS BIGINT) AS "_cql_n",
    CAST(0 AS BIGINT) AS "_cql_count0",
    CAST(0 AS INT128) AS "_cql_sum0"
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
    "_cql_is" IS DISTINCT FROM "_cql_was" OR "avg0" IS DISTINCT FROM "_cql_old_avg0"
  ) AS "_cql_changed"
FROM (
  WITH before AS (
    SELECT
      CAST($t0 AS BIGINT) AS "_ts",
      "_cql_n",
      "_cql_count0",
      "_cql_sum0"
    FROM cql_state."q_6_groups" AS kept
    WHERE
      EXISTS(
        SELECT
          1
        FROM temp."_cql_sums_7fcfa26e36bd" AS changes
        WHERE
          TRUE
      )
  ), running AS (
    SELECT
      "_ts",
      CAST(SUM("_cql_n") OVER (ORDER BY "_ts") AS BIGINT) AS "_cql_n",
      "_cql_n" AS "_cql_d_n",
      CAST(SUM("_cql_count0") OVER (ORDER BY "_ts") AS BIGINT) AS "_cql_count0",
      "_cql_count0" AS "_cql_count0_d",
      CAST(SUM("_cql_sum0") OVER (ORDER BY "_ts") AS INT128) AS "_cql_sum0",
      "_cql_sum0" AS "_cql_sum0_d",
      "_cql_old",
      LEAD("_ts") OVER (ORDER BY "_ts") IS NULL AS "_cql_last"
    FROM (
      SELECT
        "_ts",
        "_cql_n",
        "_cql_count0",
        "_cql_sum0",
        TRUE AS "_cql_old"
      FROM before
      UNION ALL
      SELECT
        "_ts",
        "_cql_n",
        "_cql_count0",
        "_cql_sum0",
        FALSE AS "_cql_old"
      FROM temp."_cql_sums_7fcfa26e36bd" AS changes
    ) AS history
  )
  SELECT
    r."_ts" AS "_ts",
    r."_cql_n" AS "_cql_n",
    r."_cql_count0" AS "_cql_count0",
    r."_cql_sum0" AS "_cql_sum0",
    r."_cql_last" AS "_cql_last",
    TRUE AS "_cql_is",
    r."_ts" > $begin AS "_cql_was",
    CASE
      WHEN r."_cql_count0" > 0
      THEN CAST(CAST(r."_cql_sum0" AS DOUBLE) / r."_cql_count0" AS DOUBLE)
    END AS "avg0",
    CASE
      WHEN (
        r."_cql_count0" - r."_cql_count0_d"
      ) > 0
      THEN CAST(CAST((
        r."_cql_sum0" - r."_cql_sum0_d"
      ) AS DOUBLE) / (
        r."_cql_count0" - r."_cql_count0_d"
      ) AS DOUBLE)
    END AS "_cql_old_avg0"
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
        "avg0" AS "match0",
        CAST($t0 AS BIGINT) AS "_cql_enter",
        9223372036854775807 AS "_cql_leave",
        "_weight"
      FROM (
        SELECT
          CASE
            WHEN "_cql_count0" > 0
            THEN CAST(CAST("_cql_sum0" AS DOUBLE) / "_cql_count0" AS DOUBLE)
          END AS "avg0",
          CAST(1 AS BIGINT) AS "_weight"
        FROM cql_state."q_6_groups"
      ) AS groups
      WHERE
        NOT EXISTS(
          SELECT
            1
          FROM temp."_cql_delta_q_6" AS delta
          WHERE
            "_cql_changed" AND TRUE
        )
      UNION ALL
      SELECT
        "avg0" AS "match0",
        "_cql_enter",
        "_cql_leave",
        "_weight"
      FROM (
        WITH changed AS (
          SELECT
            *,
            LEAD("_ts") OVER (ORDER BY "_ts") AS "_cql_end",
            LAG("_ts") OVER (ORDER BY "_ts") AS "_cql_begin"
          FROM temp."_cql_delta_q_6"
          WHERE
            "_cql_changed"
        )
        SELECT
          "avg0",
          "_ts" AS "_cql_enter",
          COALESCE("_cql_end", 9223372036854775807) AS "_cql_leave",
          CAST(1 AS BIGINT) AS "_weight"
        FROM changed
        WHERE
          "_cql_is"
        UNION ALL
        SELECT
          "_cql_old_avg0" AS "avg0",
          CAST($t0 AS BIGINT) AS "_cql_enter",
          "_ts" AS "_cql_leave",
          CAST(1 AS BIGINT) AS "_weight"
        FROM changed
        WHERE
          "_cql_was" AND "_cql_begin" IS NULL
      ) AS arm
    ) AS i1
    WHERE
      i0."s.v" > (
        i1."match0"
      )
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
          LEAD("_ts") OVER (ORDER BY "_ts") AS "_cql_end",
          LAG("_ts") OVER (ORDER BY "_ts") AS "_cql_begin"
        FROM temp."_cql_delta_q_6"
        WHERE
          "_cql_changed"
      )
      SELECT
        "avg0" AS "match0",
        "_ts" AS "_cql_enter",
        COALESCE("_cql_end", 9223372036854775807) AS "_cql_leave",
        CAST(1 AS BIGINT) AS "_weight"
      FROM changed
      WHERE
        "_cql_is"
      UNION ALL
      SELECT
        "_cql_old_avg0" AS "match0",
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
      AND i0."v" > (
        i1."match0"
      )
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
  "_cql_n",
  "_cql_count0",
  "_cql_sum0"
FROM temp."_cql_delta_q_6"
WHERE
  "_cql_last";

-- operator 6: the groups and instants that changed, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_6" AS
SELECT
  *,
  (
    "_cql_is" IS DISTINCT FROM "_cql_was" OR "avg0" IS DISTINCT FROM "_cql_old_avg0"
  ) AS "_cql_changed"
FROM (
  SELECT
    r."_ts" AS "_ts",
    r."_cql_n" AS "_cql_n",
    r."_cql_count0" AS "_cql_count0",
    r."_cql_sum0" AS "_cql_sum0",
    TRUE AS "_cql_is",
    r."_ts" > $begin AS "_cql_was",
    CASE
      WHEN r."_cql_count0" > 0
      THEN CAST(CAST(r."_cql_sum0" AS DOUBLE) / r."_cql_count0" AS DOUBLE)
    END AS "avg0",
    CASE
      WHEN (
        r."_cql_count0" - r."_cql_count0_d"
      ) > 0
      THEN CAST(CAST((
        r."_cql_sum0" - r."_cql_sum0_d"
      ) AS DOUBLE) / (
        r."_cql_count0" - r."_cql_count0_d"
      ) AS DOUBLE)
    END AS "_cql_old_avg0"
  FROM (
    SELECT
      changes."_ts" AS "_ts",
      CAST(COALESCE(kept."_cql_n", 0) + changes."_cql_n" AS BIGINT) AS "_cql_n",
      changes."_cql_n" AS "_cql_d_n",
      CAST(COALESCE(kept."_cql_count0", 0) + changes."_cql_count0" AS BIGINT) AS "_cql_count0",
      changes."_cql_count0" AS "_cql_count0_d",
      CAST(COALESCE(kept."_cql_sum0", 0) + changes."_cql_sum0" AS INT128) AS "_cql_sum0",
      changes."_cql_sum0" AS "_cql_sum0_d"
    FROM temp."_cql_sums_7fcfa26e36bd" AS changes
    LEFT JOIN cql_state."q_6_groups" AS kept
      ON TRUE
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
  "avg0",
  "_ts" AS "_cql_enter",
  9223372036854775807 AS "_cql_leave",
  CAST(1 AS BIGINT) AS "_weight"
FROM changed
WHERE
  "_cql_is"
UNION ALL
SELECT
  "_cql_old_avg0" AS "avg0",
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
    "avg0" AS "match0",
    CAST($t0 AS BIGINT) AS "_cql_enter",
    9223372036854775807 AS "_cql_leave",
    "_weight"
  FROM (
    SELECT
      CASE
        WHEN "_cql_count0" > 0
        THEN CAST(CAST("_cql_sum0" AS DOUBLE) / "_cql_count0" AS DOUBLE)
      END AS "avg0",
      CAST(1 AS BIGINT) AS "_weight"
    FROM cql_state."q_6_groups"
  ) AS groups
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM temp."_cql_delta_q_6" AS delta
      WHERE
        "_cql_changed" AND TRUE
    )
  UNION ALL
  SELECT
    "avg0" AS "match0",
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
      "avg0",
      "_ts" AS "_cql_enter",
      9223372036854775807 AS "_cql_leave",
      CAST(1 AS BIGINT) AS "_weight"
    FROM changed
    WHERE
      "_cql_is"
    UNION ALL
    SELECT
      "_cql_old_avg0" AS "avg0",
      CAST($t0 AS BIGINT) AS "_cql_enter",
      "_ts" AS "_cql_leave",
      CAST(1 AS BIGINT) AS "_weight"
    FROM changed
    WHERE
      "_cql_was"
  ) AS arm
) AS i1
WHERE
  i0."s.v" > (
    i1."match0"
  )
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
FROM temp."_cql_lives_q_6" AS i1
CROSS JOIN temp."_cql_stream_s"() AS i0
WHERE
  i0."_ts" > $since
  AND i0."_ts" <= $t0
  AND i0."_ts" > $t1 - 11
  AND i0."v" > (
    i1."avg0"
  )
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
  "_cql_n",
  "_cql_count0",
  "_cql_sum0"
FROM temp."_cql_delta_q_6";

-- title: one that is correlated is an outer join with the groups
SELECT k, (SELECT count(*) FROM t [RANGE 5] y WHERE y.k = r.k) AS n FROM r
----
-- operator 5: the elements, summed up
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_sums_92ddcd9bdccc" AS
SELECT
  "y.k",
  "_ts",
  CAST(SUM("_weight") AS BIGINT) AS "_cql_n"
FROM (
  SELECT
    "k" AS "y.k",
    "_ts",
    CAST(1 AS BIGINT) AS "_weight"
  FROM temp."_cql_arrivals_t"($t0, $t1)
  UNION ALL
  SELECT
    "k" AS "y.k",
    "_ts" + 6 AS "_ts",
    -CAST(1 AS BIGINT) AS "_weight"
  FROM temp."_cql_stream_t"()
  WHERE
    "_ts" > $since AND "_ts" <= $t1 - 6 AND "_ts" > $t0 - 6
) AS elements
GROUP BY
  "y.k",
  "_ts";

-- operator 5: the groups and instants that changed
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_5" AS
SELECT
  *,
  (
    "_cql_is" IS DISTINCT FROM "_cql_was"
    OR "count0" IS DISTINCT FROM "_cql_old_count0"
  ) AS "_cql_changed"
FROM (
  WITH before AS (
    SELECT
      "y.k",
      CAST($t0 AS BIGINT) AS "_ts",
      "_cql_n"
    FROM cql_state."q_5_groups" AS kept
    WHERE
      EXISTS(
        SELECT
          1
        FROM temp."_cql_sums_92ddcd9bdccc" AS changes
        WHERE
          changes."y.k" IS NOT DISTINCT FROM kept."y.k"
      )
  ), running AS (
    SELECT
      "y.k",
      "_ts",
      CAST(SUM("_cql_n") OVER (PARTITION BY "y.k" ORDER BY "_ts") AS BIGINT) AS "_cql_n",
      "_cql_n" AS "_cql_d_n",
      "_cql_old",
      LEAD("_ts") OVER (PARTITION BY "y.k" ORDER BY "_ts") IS NULL AS "_cql_last"
    FROM (
      SELECT
        "y.k",
        "_ts",
        "_cql_n",
        TRUE AS "_cql_old"
      FROM before
      UNION ALL
      SELECT
        "y.k",
        "_ts",
        "_cql_n",
        FALSE AS "_cql_old"
      FROM temp."_cql_sums_92ddcd9bdccc" AS changes
    ) AS history
  )
  SELECT
    r."y.k" AS "y.k",
    r."_ts" AS "_ts",
    r."_cql_n" AS "_cql_n",
    r."_cql_last" AS "_cql_last",
    r."_cql_n" > 0 AS "_cql_is",
    r."_cql_n" - r."_cql_d_n" > 0 AS "_cql_was",
    r."_cql_n" AS "count0",
    (
      r."_cql_n" - r."_cql_d_n"
    ) AS "_cql_old_count0"
  FROM running AS r
  WHERE
    r."_ts" > $t0
) AS results;

-- operator 13: the elements, summed up
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_sums_q_13" AS
SELECT
  "match3",
  "_ts",
  CAST(SUM("_weight") AS BIGINT) AS "_cql_n"
FROM (
  SELECT
    "y.k" AS "match3",
    "_ts",
    CAST(-1 AS BIGINT) AS "_weight"
  FROM temp."_cql_delta_q_5"
  WHERE
    "_cql_was" AND "_cql_changed"
  UNION ALL
  SELECT
    "y.k" AS "match3",
    "_ts",
    CAST(1 AS BIGINT) AS "_weight"
  FROM temp."_cql_delta_q_5"
  WHERE
    "_cql_is" AND "_cql_changed"
) AS elements
GROUP BY
  "match3",
  "_ts";

-- operator 13: the groups and instants that changed
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_13" AS
SELECT
  *,
  (
    "_cql_is" IS DISTINCT FROM "_cql_was"
  ) AS "_cql_changed"
FROM (
  WITH before AS (
    SELECT
      "match3",
      CAST($t0 AS BIGINT) AS "_ts",
      "_cql_n"
    FROM cql_state."q_13_groups" AS kept
    WHERE
      EXISTS(
        SELECT
          1
        FROM temp."_cql_sums_q_13" AS changes
        WHERE
          changes."match3" IS NOT DISTINCT FROM kept."match3"
      )
  ), running AS (
    SELECT
      "match3",
      "_ts",
      CAST(SUM("_cql_n") OVER (PARTITION BY "match3" ORDER BY "_ts") AS BIGINT) AS "_cql_n",
      "_cql_n" AS "_cql_d_n",
      "_cql_old",
      LEAD("_ts") OVER (PARTITION BY "match3" ORDER BY "_ts") IS NULL AS "_cql_last"
    FROM (
      SELECT
        "match3",
        "_ts",
        "_cql_n",
        TRUE AS "_cql_old"
      FROM before
      UNION ALL
      SELECT
        "match3",
        "_ts",
        "_cql_n",
        FALSE AS "_cql_old"
      FROM temp."_cql_sums_q_13" AS changes
    ) AS history
  )
  SELECT
    r."match3" AS "match3",
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
  "n",
  "_ts",
  CAST(SUM("_weight") AS BIGINT) AS "_weight"
FROM (
  SELECT
    "r.k" AS "k",
    (
      COALESCE("match1", 0)
    ) AS "n",
    "_ts",
    "_weight"
  FROM (
    SELECT
      "r.k",
      "match1",
      "_ts",
      "_weight"
    FROM (
      WITH lives AS (
        SELECT
          i0."r.k",
          i1."match1",
          GREATEST(i0."_cql_enter", i1."_cql_enter") AS "_cql_enter",
          LEAST(i0."_cql_leave", i1."_cql_leave") AS "_cql_leave",
          i0."_weight" * i1."_weight" AS "_weight"
        FROM (
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
        ) AS i0
        CROSS JOIN (
          SELECT
            "y.k" AS "match0",
            "count0" AS "match1",
            CAST($t0 AS BIGINT) AS "_cql_enter",
            9223372036854775807 AS "_cql_leave",
            "_weight"
          FROM (
            SELECT
              "y.k",
              "_cql_n" AS "count0",
              CAST(1 AS BIGINT) AS "_weight"
            FROM cql_state."q_5_groups"
          ) AS groups
          WHERE
            NOT EXISTS(
              SELECT
                1
              FROM temp."_cql_delta_q_5" AS delta
              WHERE
                "_cql_changed" AND delta."y.k" IS NOT DISTINCT FROM groups."y.k"
            )
          UNION ALL
          SELECT
            "y.k" AS "match0",
            "count0" AS "match1",
            "_cql_enter",
            "_cql_leave",
            "_weight"
          FROM (
            WITH changed AS (
              SELECT
                *,
                LEAD("_ts") OVER (PARTITION BY "y.k" ORDER BY "_ts") AS "_cql_end",
                LAG("_ts") OVER (PARTITION BY "y.k" ORDER BY "_ts") AS "_cql_begin"
              FROM temp."_cql_delta_q_5"
              WHERE
                "_cql_changed"
            )
            SELECT
              "y.k",
              "count0",
              "_ts" AS "_cql_enter",
              COALESCE("_cql_end", 9223372036854775807) AS "_cql_leave",
              CAST(1 AS BIGINT) AS "_weight"
            FROM changed
            WHERE
              "_cql_is"
            UNION ALL
            SELECT
              "y.k",
              "_cql_old_count0" AS "count0",
              CAST($t0 AS BIGINT) AS "_cql_enter",
              "_ts" AS "_cql_leave",
              CAST(1 AS BIGINT) AS "_weight"
            FROM changed
            WHERE
              "_cql_was" AND "_cql_begin" IS NULL
          ) AS arm
        ) AS i1
        WHERE
          i0."r.k" = i1."match0"
          AND i0."_cql_enter" < i1."_cql_leave"
          AND i1."_cql_enter" < i0."_cql_leave"
        UNION ALL
        SELECT
          i0."r.k",
          i1."match1",
          GREATEST(i1."_cql_enter", i0."_cql_enter") AS "_cql_enter",
          LEAST(i1."_cql_leave", i0."_cql_leave") AS "_cql_leave",
          i1."_weight" * i0."_weight" AS "_weight"
        FROM (
          WITH changed AS (
            SELECT
              *,
              LEAD("_ts") OVER (PARTITION BY "y.k" ORDER BY "_ts") AS "_cql_end",
              LAG("_ts") OVER (PARTITION BY "y.k" ORDER BY "_ts") AS "_cql_begin"
            FROM temp."_cql_delta_q_5"
            WHERE
              "_cql_changed"
          )
          SELECT
            "y.k" AS "match0",
            "count0" AS "match1",
            "_ts" AS "_cql_enter",
            COALESCE("_cql_end", 9223372036854775807) AS "_cql_leave",
            CAST(1 AS BIGINT) AS "_weight"
          FROM changed
          WHERE
            "_cql_is"
          UNION ALL
          SELECT
            "y.k" AS "match0",
            "_cql_old_count0" AS "match1",
            CAST($t0 AS BIGINT) AS "_cql_enter",
            "_ts" AS "_cql_leave",
            CAST(1 AS BIGINT) AS "_weight"
          FROM changed
          WHERE
            "_cql_was" AND "_cql_begin" IS NULL
        ) AS i1
        CROSS JOIN (
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
            AND "_cql_enter" <= $low
            AND "_cql_leave" > $t1
        ) AS i0
        WHERE
          i0."r.k" = i1."match0"
          AND i1."_cql_enter" < i0."_cql_leave"
          AND i0."_cql_enter" < i1."_cql_leave"
      )
      SELECT
        "r.k",
        "match1",
        "_cql_enter" AS "_ts",
        "_weight"
      FROM lives
      WHERE
        "_cql_enter" > $t0
      UNION ALL
      SELECT
        "r.k",
        "match1",
        "_cql_leave" AS "_ts",
        -"_weight" AS "_weight"
      FROM lives
      WHERE
        "_cql_leave" <= $t1
    ) AS arm
    UNION ALL
    SELECT
      "r.k",
      CAST(NULL AS BIGINT) AS "match1",
      "_ts",
      "_weight"
    FROM (
      SELECT
        "r.k",
        "_ts",
        "_weight"
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
      ) AS arm
      UNION ALL
      SELECT
        "r.k",
        "_ts",
        -"_weight" AS "_weight"
      FROM (
        WITH lives AS (
          SELECT
            i0."r.k",
            GREATEST(i0."_cql_enter", i1."_cql_enter") AS "_cql_enter",
            LEAST(i0."_cql_leave", i1."_cql_leave") AS "_cql_leave",
            i0."_weight" * i1."_weight" AS "_weight"
          FROM (
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
          ) AS i0
          CROSS JOIN (
            SELECT
              "match3",
              CAST($t0 AS BIGINT) AS "_cql_enter",
              9223372036854775807 AS "_cql_leave",
              "_weight"
            FROM (
              SELECT
                "match3",
                CAST(1 AS BIGINT) AS "_weight"
              FROM cql_state."q_13_groups"
            ) AS groups
            WHERE
              NOT EXISTS(
                SELECT
                  1
                FROM temp."_cql_delta_q_13" AS delta
                WHERE
                  "_cql_changed" AND delta."match3" IS NOT DISTINCT FROM groups."match3"
              )
            UNION ALL
            SELECT
              "match3",
              "_cql_enter",
              "_cql_leave",
              "_weight"
            FROM (
              WITH changed AS (
                SELECT
                  *,
                  LEAD("_ts") OVER (PARTITION BY "match3" ORDER BY "_ts") AS "_cql_end",
                  LAG("_ts") OVER (PARTITION BY "match3" ORDER BY "_ts") AS "_cql_begin"
                FROM temp."_cql_delta_q_13"
                WHERE
                  "_cql_changed"
              )
              SELECT
                "match3",
                "_ts" AS "_cql_enter",
                COALESCE("_cql_end", 9223372036854775807) AS "_cql_leave",
                CAST(1 AS BIGINT) AS "_weight"
              FROM changed
              WHERE
                "_cql_is"
              UNION ALL
              SELECT
                "match3",
                CAST($t0 AS BIGINT) AS "_cql_enter",
                "_ts" AS "_cql_leave",
                CAST(1 AS BIGINT) AS "_weight"
              FROM changed
              WHERE
                "_cql_was" AND "_cql_begin" IS NULL
            ) AS arm
          ) AS i1
          WHERE
            i0."r.k" = i1."match3"
            AND i0."_cql_enter" < i1."_cql_leave"
            AND i1."_cql_enter" < i0."_cql_leave"
          UNION ALL
          SELECT
            i0."r.k",
            GREATEST(i1."_cql_enter", i0."_cql_enter") AS "_cql_enter",
            LEAST(i1."_cql_leave", i0."_cql_leave") AS "_cql_leave",
            i1."_weight" * i0."_weight" AS "_weight"
          FROM (
            WITH changed AS (
              SELECT
                *,
                LEAD("_ts") OVER (PARTITION BY "match3" ORDER BY "_ts") AS "_cql_end",
                LAG("_ts") OVER (PARTITION BY "match3" ORDER BY "_ts") AS "_cql_begin"
              FROM temp."_cql_delta_q_13"
              WHERE
                "_cql_changed"
            )
            SELECT
              "match3",
              "_ts" AS "_cql_enter",
              COALESCE("_cql_end", 9223372036854775807) AS "_cql_leave",
              CAST(1 AS BIGINT) AS "_weight"
            FROM changed
            WHERE
              "_cql_is"
            UNION ALL
            SELECT
              "match3",
              CAST($t0 AS BIGINT) AS "_cql_enter",
              "_ts" AS "_cql_leave",
              CAST(1 AS BIGINT) AS "_weight"
            FROM changed
            WHERE
              "_cql_was" AND "_cql_begin" IS NULL
          ) AS i1
          CROSS JOIN (
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
              AND "_cql_enter" <= $low
              AND "_cql_leave" > $t1
          ) AS i0
          WHERE
            i0."r.k" = i1."match3"
            AND i1."_cql_enter" < i0."_cql_leave"
            AND i0."_cql_enter" < i1."_cql_leave"
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
      ) AS less
    ) AS input
  ) AS input
) AS elements
GROUP BY
  "k",
  "n",
  "_ts"
HAVING
  SUM("_weight") <> 0;

-- operator 5: forget the old state of the groups that changed
DELETE FROM cql_state."q_5_groups" AS kept
WHERE
  EXISTS(
    SELECT
      1
    FROM temp."_cql_delta_q_5" AS delta
    WHERE
      "_cql_last" AND delta."y.k" IS NOT DISTINCT FROM kept."y.k"
  );

-- operator 5: keep their new state
INSERT INTO cql_state."q_5_groups"
SELECT
  "y.k",
  "_cql_n"
FROM temp."_cql_delta_q_5"
WHERE
  "_cql_last" AND "_cql_n" > 0;

-- operator 13: forget the old state of the groups that changed
DELETE FROM cql_state."q_13_groups" AS kept
WHERE
  EXISTS(
    SELECT
      1
    FROM temp."_cql_delta_q_13" AS delta
    WHERE
      "_cql_last" AND delta."match3" IS NOT DISTINCT FROM kept."match3"
  );

-- operator 13: keep their new state
INSERT INTO cql_state."q_13_groups"
SELECT
  "match3",
  "_cql_n"
FROM temp."_cql_delta_q_13"
WHERE
  "_cql_last" AND "_cql_n" > 0;

-- operator 5: the elements, summed up, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_sums_651953536f56" AS
SELECT
  "y.k",
  CAST($t1 AS BIGINT) AS "_ts",
  CAST(SUM("_weight") AS BIGINT) AS "_cql_n"
FROM (
  SELECT
    "k" AS "y.k",
    "_ts",
    CAST(1 AS BIGINT) AS "_weight"
  FROM temp."_cql_arrivals_t"($t0, $t1)
  UNION ALL
  SELECT
    "k" AS "y.k",
    "_ts" + 6 AS "_ts",
    -CAST(1 AS BIGINT) AS "_weight"
  FROM temp."_cql_stream_t"()
  WHERE
    "_ts" > $since AND "_ts" <= $t1 - 6 AND "_ts" > $t0 - 6
) AS elements
GROUP BY
  "y.k";

-- operator 5: the groups and instants that changed, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_5" AS
SELECT
  *,
  (
    "_cql_is" IS DISTINCT FROM "_cql_was"
    OR "count0" IS DISTINCT FROM "_cql_old_count0"
  ) AS "_cql_changed"
FROM (
  SELECT
    r."y.k" AS "y.k",
    r."_ts" AS "_ts",
    r."_cql_n" AS "_cql_n",
    r."_cql_n" > 0 AS "_cql_is",
    r."_cql_n" - r."_cql_d_n" > 0 AS "_cql_was",
    r."_cql_n" AS "count0",
    (
      r."_cql_n" - r."_cql_d_n"
    ) AS "_cql_old_count0"
  FROM (
    SELECT
      changes."y.k" AS "y.k",
      changes."_ts" AS "_ts",
      CAST(COALESCE(kept."_cql_n", 0) + changes."_cql_n" AS BIGINT) AS "_cql_n",
      changes."_cql_n" AS "_cql_d_n"
    FROM temp."_cql_sums_651953536f56" AS changes
    LEFT JOIN cql_state."q_5_groups" AS kept
      ON changes."y.k" IS NOT DISTINCT FROM kept."y.k"
  ) AS r
) AS results;

-- operator 3: what begins or ends, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_lives_ae86878805b0" AS
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
  );

-- operator 5: what begins or ends, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_lives_q_5" AS
WITH changed AS (
  SELECT
    *
  FROM temp."_cql_delta_q_5"
  WHERE
    "_cql_changed"
)
SELECT
  "y.k",
  "count0",
  "_ts" AS "_cql_enter",
  9223372036854775807 AS "_cql_leave",
  CAST(1 AS BIGINT) AS "_weight"
FROM changed
WHERE
  "_cql_is"
UNION ALL
SELECT
  "y.k",
  "_cql_old_count0" AS "count0",
  CAST($t0 AS BIGINT) AS "_cql_enter",
  "_ts" AS "_cql_leave",
  CAST(1 AS BIGINT) AS "_weight"
FROM changed
WHERE
  "_cql_was";

-- operator 2: an empty table, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_2" AS
SELECT
  CAST(NULL AS INT) AS "r.k",
  CAST(NULL AS BIGINT) AS "match1",
  CAST(NULL AS BIGINT) AS "_cql_enter",
  CAST(NULL AS BIGINT) AS "_cql_leave",
  CAST(NULL AS BIGINT) AS "_weight"
WHERE
  FALSE;

-- operator 2: combinations that begin or end, in a tick of one instant, in stages
INSERT INTO temp."_cql_delta_q_2"
SELECT
  i0."r.k",
  i1."match1",
  GREATEST(i0."_cql_enter", i1."_cql_enter") AS "_cql_enter",
  LEAST(i0."_cql_leave", i1."_cql_leave") AS "_cql_leave",
  i0."_weight" * i1."_weight" AS "_weight"
FROM temp."_cql_lives_ae86878805b0" AS i0
CROSS JOIN (
  SELECT
    "y.k" AS "match0",
    "count0" AS "match1",
    CAST($t0 AS BIGINT) AS "_cql_enter",
    9223372036854775807 AS "_cql_leave",
    "_weight"
  FROM (
    SELECT
      "y.k",
      "_cql_n" AS "count0",
      CAST(1 AS BIGINT) AS "_weight"
    FROM cql_state."q_5_groups"
  ) AS groups
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM temp."_cql_delta_q_5" AS delta
      WHERE
        "_cql_changed" AND delta."y.k" IS NOT DISTINCT FROM groups."y.k"
    )
  UNION ALL
  SELECT
    "y.k" AS "match0",
    "count0" AS "match1",
    "_cql_enter",
    "_cql_leave",
    "_weight"
  FROM (
    WITH changed AS (
      SELECT
        *
      FROM temp."_cql_delta_q_5"
      WHERE
        "_cql_changed"
    )
    SELECT
      "y.k",
      "count0",
      "_ts" AS "_cql_enter",
      9223372036854775807 AS "_cql_leave",
      CAST(1 AS BIGINT) AS "_weight"
    FROM changed
    WHERE
      "_cql_is"
    UNION ALL
    SELECT
      "y.k",
      "_cql_old_count0" AS "count0",
      CAST($t0 AS BIGINT) AS "_cql_enter",
      "_ts" AS "_cql_leave",
      CAST(1 AS BIGINT) AS "_weight"
    FROM changed
    WHERE
      "_cql_was"
  ) AS arm
) AS i1
WHERE
  i0."r.k" = i1."match0"
  AND i0."_cql_enter" < i1."_cql_leave"
  AND i1."_cql_enter" < i0."_cql_leave";

-- operator 2: combinations that begin or end, in a tick of one instant, in stages
INSERT INTO temp."_cql_delta_q_2"
SELECT
  i0."r.k",
  i1."count0" AS "match1",
  GREATEST(i1."_cql_enter", i0."_cql_enter") AS "_cql_enter",
  LEAST(i1."_cql_leave", i0."_cql_leave") AS "_cql_leave",
  i1."_weight" * i0."_weight" AS "_weight"
FROM temp."_cql_lives_q_5" AS i1
CROSS JOIN (
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
    AND "_cql_enter" <= $low
    AND "_cql_leave" > $t1
) AS i0
WHERE
  i0."r.k" = i1."y.k"
  AND i1."_cql_enter" < i0."_cql_leave"
  AND i0."_cql_enter" < i1."_cql_leave";

-- operator 13: the elements, summed up, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_sums_q_13" AS
SELECT
  "match3",
  CAST($t1 AS BIGINT) AS "_ts",
  CAST(SUM("_weight") AS BIGINT) AS "_cql_n"
FROM (
  SELECT
    "y.k" AS "match3",
    "_ts",
    CAST(-1 AS BIGINT) AS "_weight"
  FROM temp."_cql_delta_q_5"
  WHERE
    "_cql_was" AND "_cql_changed"
  UNION ALL
  SELECT
    "y.k" AS "match3",
    "_ts",
    CAST(1 AS BIGINT) AS "_weight"
  FROM temp."_cql_delta_q_5"
  WHERE
    "_cql_is" AND "_cql_changed"
) AS elements
GROUP BY
  "match3";

-- operator 13: the groups and instants that changed, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_13" AS
SELECT
  *,
  (
    "_cql_is" IS DISTINCT FROM "_cql_was"
  ) AS "_cql_changed"
FROM (
  SELECT
    r."match3" AS "match3",
    r."_ts" AS "_ts",
    r."_cql_n" AS "_cql_n",
    r."_cql_n" > 0 AS "_cql_is",
    r."_cql_n" - r."_cql_d_n" > 0 AS "_cql_was"
  FROM (
    SELECT
      changes."match3" AS "match3",
      changes."_ts" AS "_ts",
      CAST(COALESCE(kept."_cql_n", 0) + changes."_cql_n" AS BIGINT) AS "_cql_n",
      changes."_cql_n" AS "_cql_d_n"
    FROM temp."_cql_sums_q_13" AS changes
    LEFT JOIN cql_state."q_13_groups" AS kept
      ON changes."match3" IS NOT DISTINCT FROM kept."match3"
  ) AS r
) AS results;

-- operator 13: what begins or ends, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_lives_q_13" AS
WITH changed AS (
  SELECT
    *
  FROM temp."_cql_delta_q_13"
  WHERE
    "_cql_changed"
)
SELECT
  "match3",
  "_ts" AS "_cql_enter",
  9223372036854775807 AS "_cql_leave",
  CAST(1 AS BIGINT) AS "_weight"
FROM changed
WHERE
  "_cql_is"
UNION ALL
SELECT
  "match3",
  CAST($t0 AS BIGINT) AS "_cql_enter",
  "_ts" AS "_cql_leave",
  CAST(1 AS BIGINT) AS "_weight"
FROM changed
WHERE
  "_cql_was";

-- operator 12: an empty table, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_12" AS
SELECT
  CAST(NULL AS INT) AS "r.k",
  CAST(NULL AS BIGINT) AS "_cql_enter",
  CAST(NULL AS BIGINT) AS "_cql_leave",
  CAST(NULL AS BIGINT) AS "_weight"
WHERE
  FALSE;

-- operator 12: combinations that begin or end, in a tick of one instant, in stages
INSERT INTO temp."_cql_delta_q_12"
SELECT
  i0."r.k",
  GREATEST(i0."_cql_enter", i1."_cql_enter") AS "_cql_enter",
  LEAST(i0."_cql_leave", i1."_cql_leave") AS "_cql_leave",
  i0."_weight" * i1."_weight" AS "_weight"
FROM temp."_cql_lives_ae86878805b0" AS i0
CROSS JOIN (
  SELECT
    "match3",
    CAST($t0 AS BIGINT) AS "_cql_enter",
    9223372036854775807 AS "_cql_leave",
    "_weight"
  FROM (
    SELECT
      "match3",
      CAST(1 AS BIGINT) AS "_weight"
    FROM cql_state."q_13_groups"
  ) AS groups
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM temp."_cql_delta_q_13" AS delta
      WHERE
        "_cql_changed" AND delta."match3" IS NOT DISTINCT FROM groups."match3"
    )
  UNION ALL
  SELECT
    "match3",
    "_cql_enter",
    "_cql_leave",
    "_weight"
  FROM (
    WITH changed AS (
      SELECT
        *
      FROM temp."_cql_delta_q_13"
      WHERE
        "_cql_changed"
    )
    SELECT
      "match3",
      "_ts" AS "_cql_enter",
      9223372036854775807 AS "_cql_leave",
      CAST(1 AS BIGINT) AS "_weight"
    FROM changed
    WHERE
      "_cql_is"
    UNION ALL
    SELECT
      "match3",
      CAST($t0 AS BIGINT) AS "_cql_enter",
      "_ts" AS "_cql_leave",
      CAST(1 AS BIGINT) AS "_weight"
    FROM changed
    WHERE
      "_cql_was"
  ) AS arm
) AS i1
WHERE
  i0."r.k" = i1."match3"
  AND i0."_cql_enter" < i1."_cql_leave"
  AND i1."_cql_enter" < i0."_cql_leave";

-- operator 12: combinations that begin or end, in a tick of one instant, in stages
INSERT INTO temp."_cql_delta_q_12"
SELECT
  i0."r.k",
  GREATEST(i1."_cql_enter", i0."_cql_enter") AS "_cql_enter",
  LEAST(i1."_cql_leave", i0."_cql_leave") AS "_cql_leave",
  i1."_weight" * i0."_weight" AS "_weight"
FROM temp."_cql_lives_q_13" AS i1
CROSS JOIN (
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
    AND "_cql_enter" <= $low
    AND "_cql_leave" > $t1
) AS i0
WHERE
  i0."r.k" = i1."match3"
  AND i1."_cql_enter" < i0."_cql_leave"
  AND i0."_cql_enter" < i1."_cql_leave";

-- operator 0: write the elements of the answer, in a tick of one instant, in stages
INSERT INTO cql_state."changes_q"
SELECT
  "k",
  "n",
  "_ts",
  CAST(SUM("_weight") AS BIGINT) AS "_weight"
FROM (
  SELECT
    "r.k" AS "k",
    (
      COALESCE("match1", 0)
    ) AS "n",
    "_ts",
    "_weight"
  FROM (
    SELECT
      "r.k",
      "match1",
      "_ts",
      "_weight"
    FROM (
      WITH lives AS (
        SELECT
          "r.k",
          "match1",
          "_cql_enter",
          "_cql_leave",
          "_weight"
        FROM temp."_cql_delta_q_2"
      )
      SELECT
        "r.k",
        "match1",
        "_cql_enter" AS "_ts",
        "_weight"
      FROM lives
      WHERE
        "_cql_enter" > $t0
      UNION ALL
      SELECT
        "r.k",
        "match1",
        "_cql_leave" AS "_ts",
        -"_weight" AS "_weight"
      FROM lives
      WHERE
        "_cql_leave" <= $t1
    ) AS arm
    UNION ALL
    SELECT
      "r.k",
      CAST(NULL AS BIGINT) AS "match1",
      "_ts",
      "_weight"
    FROM (
      SELECT
        "r.k",
        "_ts",
        "_weight"
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
      ) AS arm
      UNION ALL
      SELECT
        "r.k",
        "_ts",
        -"_weight" AS "_weight"
      FROM (
        WITH lives AS (
          SELECT
            "r.k",
            "_cql_enter",
            "_cql_leave",
            "_weight"
          FROM temp."_cql_delta_q_12"
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
      ) AS less
    ) AS input
  ) AS input
) AS elements
GROUP BY
  "k",
  "n",
  "_ts"
HAVING
  SUM("_weight") <> 0;

-- operator 5: forget the old state of the groups that changed, in a tick of one instant, in stages
DELETE FROM cql_state."q_5_groups" AS kept
WHERE
  EXISTS(
    SELECT
      1
    FROM temp."_cql_delta_q_5" AS delta
    WHERE
      delta."y.k" IS NOT DISTINCT FROM kept."y.k"
  );

-- operator 5: keep their new state, in a tick of one instant, in stages
INSERT INTO cql_state."q_5_groups"
SELECT
  "y.k",
  "_cql_n"
FROM temp."_cql_delta_q_5"
WHERE
  "_cql_n" > 0;

-- operator 13: forget the old state of the groups that changed, in a tick of one instant, in stages
DELETE FROM cql_state."q_13_groups" AS kept
WHERE
  EXISTS(
    SELECT
      1
    FROM temp."_cql_delta_q_13" AS delta
    WHERE
      delta."match3" IS NOT DISTINCT FROM kept."match3"
  );

-- operator 13: keep their new state, in a tick of one instant, in stages
INSERT INTO cql_state."q_13_groups"
SELECT
  "match3",
  "_cql_n"
FROM temp."_cql_delta_q_13"
WHERE
  "_cql_n" > 0;
