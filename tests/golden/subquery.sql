-- title: a subquery that yields a relation is a plan under the plan
SELECT x.n FROM (SELECT k, count(*) AS n FROM s [RANGE 10] GROUP BY k) x WHERE x.k = 1
----
-- operator 4: the elements, summed up
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_sums_c9e0ad1e4150" AS
SELECT
  "s.k",
  "_ts",
  CAST(SUM("_weight") AS BIGINT) AS "_cql_n"
FROM (
  SELECT
    "k" AS "s.k",
    "_ts",
    CAST(1 AS BIGINT) AS "_weight"
  FROM temp."_cql_arrivals_s"($t0, $t1)
  UNION ALL
  SELECT
    "k" AS "s.k",
    "_ts" + 11 AS "_ts",
    -CAST(1 AS BIGINT) AS "_weight"
  FROM temp."_cql_stream_s"()
  WHERE
    "_ts" > $since AND "_ts" <= $t1 - 11 AND "_ts" > $t0 - 11
) AS elements
GROUP BY
  "s.k",
  "_ts";

-- operator 4: the groups and instants that changed
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_4" AS
SELECT
  *,
  (
    "_cql_is" IS DISTINCT FROM "_cql_was"
    OR "count0" IS DISTINCT FROM "_cql_old_count0"
  ) AS "_cql_changed"
FROM (
  WITH before AS (
    SELECT
      "s.k",
      CAST($t0 AS BIGINT) AS "_ts",
      "_cql_n"
    FROM cql_state."q_4_groups" AS kept
    WHERE
      EXISTS(
        SELECT
          1
        FROM temp."_cql_sums_c9e0ad1e4150" AS changes
        WHERE
          changes."s.k" IS NOT DISTINCT FROM kept."s.k"
      )
  ), running AS (
    SELECT
      "s.k",
      "_ts",
      CAST(SUM("_cql_n") OVER (PARTITION BY "s.k" ORDER BY "_ts") AS BIGINT) AS "_cql_n",
      "_cql_n" AS "_cql_d_n",
      "_cql_old",
      LEAD("_ts") OVER (PARTITION BY "s.k" ORDER BY "_ts") IS NULL AS "_cql_last"
    FROM (
      SELECT
        "s.k",
        "_ts",
        "_cql_n",
        TRUE AS "_cql_old"
      FROM before
      UNION ALL
      SELECT
        "s.k",
        "_ts",
        "_cql_n",
        FALSE AS "_cql_old"
      FROM temp."_cql_sums_c9e0ad1e4150" AS changes
    ) AS history
  )
  SELECT
    r."s.k" AS "s.k",
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

-- operator 0: write the elements of the answer
INSERT INTO cql_state."changes_q"
SELECT
  "x.n" AS "n",
  "_ts",
  CAST(SUM("_weight") AS BIGINT) AS "_weight"
FROM (
  SELECT
    "s.k" AS "x.k",
    "_cql_old_count0" AS "x.n",
    "_ts",
    CAST(-1 AS BIGINT) AS "_weight"
  FROM temp."_cql_delta_q_4"
  WHERE
    "_cql_was" AND "_cql_changed"
  UNION ALL
  SELECT
    "s.k" AS "x.k",
    "count0" AS "x.n",
    "_ts",
    CAST(1 AS BIGINT) AS "_weight"
  FROM temp."_cql_delta_q_4"
  WHERE
    "_cql_is" AND "_cql_changed"
) AS input
WHERE
  "x.k" = 1
GROUP BY
  "x.n",
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
      "_cql_last" AND delta."s.k" IS NOT DISTINCT FROM kept."s.k"
  );

-- operator 4: keep their new state
INSERT INTO cql_state."q_4_groups"
SELECT
  "s.k",
  "_cql_n"
FROM temp."_cql_delta_q_4"
WHERE
  "_cql_last" AND "_cql_n" > 0;

-- operator 4: the elements, summed up, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_sums_64ceb2faea6b" AS
SELECT
  "s.k",
  CAST($t1 AS BIGINT) AS "_ts",
  CAST(SUM("_weight") AS BIGINT) AS "_cql_n"
FROM (
  SELECT
    "k" AS "s.k",
    "_ts",
    CAST(1 AS BIGINT) AS "_weight"
  FROM temp."_cql_arrivals_s"($t0, $t1)
  UNION ALL
  SELECT
    "k" AS "s.k",
    "_ts" + 11 AS "_ts",
    -CAST(1 AS BIGINT) AS "_weight"
  FROM temp."_cql_stream_s"()
  WHERE
    "_ts" > $since AND "_ts" <= $t1 - 11 AND "_ts" > $t0 - 11
) AS elements
GROUP BY
  "s.k";

-- operator 4: the groups and instants that changed, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_4" AS
SELECT
  *,
  (
    "_cql_is" IS DISTINCT FROM "_cql_was"
    OR "count0" IS DISTINCT FROM "_cql_old_count0"
  ) AS "_cql_changed"
FROM (
  SELECT
    r."s.k" AS "s.k",
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
      changes."s.k" AS "s.k",
      changes."_ts" AS "_ts",
      CAST(COALESCE(kept."_cql_n", 0) + changes."_cql_n" AS BIGINT) AS "_cql_n",
      changes."_cql_n" AS "_cql_d_n"
    FROM temp."_cql_sums_64ceb2faea6b" AS changes
    LEFT JOIN cql_state."q_4_groups" AS kept
      ON changes."s.k" IS NOT DISTINCT FROM kept."s.k"
  ) AS r
) AS results;

-- operator 4: forget the old state of the groups that changed, in a tick of one instant, in stages
DELETE FROM cql_state."q_4_groups" AS kept
WHERE
  EXISTS(
    SELECT
      1
    FROM temp."_cql_delta_q_4" AS delta
    WHERE
      delta."s.k" IS NOT DISTINCT FROM kept."s.k"
  );

-- operator 4: keep their new state, in a tick of one instant, in stages
INSERT INTO cql_state."q_4_groups"
SELECT
  "s.k",
  "_cql_n"
FROM temp."_cql_delta_q_4"
WHERE
  "_cql_n" > 0;

-- title: a join keeps a trace of an input that keeps nothing itself
SELECT t.w, x.n FROM t [RANGE 5] JOIN
    (SELECT k, count(*) AS n FROM s [RANGE 10] GROUP BY k) x ON t.k = x.k
----
-- operator 6: the elements, summed up
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_sums_c9e0ad1e4150" AS
SELECT
  "s.k",
  "_ts",
  CAST(SUM("_weight") AS BIGINT) AS "_cql_n"
FROM (
  SELECT
    "k" AS "s.k",
    "_ts",
    CAST(1 AS BIGINT) AS "_weight"
  FROM temp."_cql_arrivals_s"($t0, $t1)
  UNION ALL
  SELECT
    "k" AS "s.k",
    "_ts" + 11 AS "_ts",
    -CAST(1 AS BIGINT) AS "_weight"
  FROM temp."_cql_stream_s"()
  WHERE
    "_ts" > $since AND "_ts" <= $t1 - 11 AND "_ts" > $t0 - 11
) AS elements
GROUP BY
  "s.k",
  "_ts";

-- operator 6: the groups and instants that changed
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_6" AS
SELECT
  *,
  (
    "_cql_is" IS DISTINCT FROM "_cql_was"
    OR "count0" IS DISTINCT FROM "_cql_old_count0"
  ) AS "_cql_changed"
FROM (
  WITH before AS (
    SELECT
      "s.k",
      CAST($t0 AS BIGINT) AS "_ts",
      "_cql_n"
    FROM cql_state."q_6_groups" AS kept
    WHERE
      EXISTS(
        SELECT
          1
        FROM temp."_cql_sums_c9e0ad1e4150" AS changes
        WHERE
          changes."s.k" IS NOT DISTINCT FROM kept."s.k"
      )
  ), running AS (
    SELECT
      "s.k",
      "_ts",
      CAST(SUM("_cql_n") OVER (PARTITION BY "s.k" ORDER BY "_ts") AS BIGINT) AS "_cql_n",
      "_cql_n" AS "_cql_d_n",
      "_cql_old",
      LEAD("_ts") OVER (PARTITION BY "s.k" ORDER BY "_ts") IS NULL AS "_cql_last"
    FROM (
      SELECT
        "s.k",
        "_ts",
        "_cql_n",
        TRUE AS "_cql_old"
      FROM before
      UNION ALL
      SELECT
        "s.k",
        "_ts",
        "_cql_n",
        FALSE AS "_cql_old"
      FROM temp."_cql_sums_c9e0ad1e4150" AS changes
    ) AS history
  )
  SELECT
    r."s.k" AS "s.k",
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

-- operator 0: write the elements of the answer
INSERT INTO cql_state."changes_q"
SELECT
  "w",
  "n",
  "_ts",
  CAST(SUM("_weight") AS BIGINT) AS "_weight"
FROM (
  WITH lives AS (
    SELECT
      i0."t.w",
      i1."x.n",
      GREATEST(i0."_cql_enter", i1."_cql_enter") AS "_cql_enter",
      LEAST(i0."_cql_leave", i1."_cql_leave") AS "_cql_leave",
      i0."_weight" * i1."_weight" AS "_weight"
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
    ) AS i0
    CROSS JOIN (
      SELECT
        "s.k" AS "x.k",
        "count0" AS "x.n",
        CAST($t0 AS BIGINT) AS "_cql_enter",
        9223372036854775807 AS "_cql_leave",
        "_weight"
      FROM (
        SELECT
          "s.k",
          "_cql_n" AS "count0",
          CAST(1 AS BIGINT) AS "_weight"
        FROM cql_state."q_6_groups"
      ) AS groups
      WHERE
        NOT EXISTS(
          SELECT
            1
          FROM temp."_cql_delta_q_6" AS delta
          WHERE
            "_cql_changed" AND delta."s.k" IS NOT DISTINCT FROM groups."s.k"
        )
      UNION ALL
      SELECT
        "s.k" AS "x.k",
        "count0" AS "x.n",
        "_cql_enter",
        "_cql_leave",
        "_weight"
      FROM (
        WITH changed AS (
          SELECT
            *,
            LEAD("_ts") OVER (PARTITION BY "s.k" ORDER BY "_ts") AS "_cql_end",
            LAG("_ts") OVER (PARTITION BY "s.k" ORDER BY "_ts") AS "_cql_begin"
          FROM temp."_cql_delta_q_6"
          WHERE
            "_cql_changed"
        )
        SELECT
          "s.k",
          "count0",
          "_ts" AS "_cql_enter",
          COALESCE("_cql_end", 9223372036854775807) AS "_cql_leave",
          CAST(1 AS BIGINT) AS "_weight"
        FROM changed
        WHERE
          "_cql_is"
        UNION ALL
        SELECT
          "s.k",
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
      i0."t.k" = i1."x.k"
      AND i0."_cql_enter" < i1."_cql_leave"
      AND i1."_cql_enter" < i0."_cql_leave"
    UNION ALL
    SELECT
      i0."w" AS "t.w",
      i1."x.n",
      GREATEST(i1."_cql_enter", i0."_ts") AS "_cql_enter",
      LEAST(i1."_cql_leave", (
        i0."_ts" + 6
      )) AS "_cql_leave",
      i1."_weight" * CAST(1 AS BIGINT) AS "_weight"
    FROM (
      WITH changed AS (
        SELECT
          *,
          LEAD("_ts") OVER (PARTITION BY "s.k" ORDER BY "_ts") AS "_cql_end",
          LAG("_ts") OVER (PARTITION BY "s.k" ORDER BY "_ts") AS "_cql_begin"
        FROM temp."_cql_delta_q_6"
        WHERE
          "_cql_changed"
      )
      SELECT
        "s.k" AS "x.k",
        "count0" AS "x.n",
        "_ts" AS "_cql_enter",
        COALESCE("_cql_end", 9223372036854775807) AS "_cql_leave",
        CAST(1 AS BIGINT) AS "_weight"
      FROM changed
      WHERE
        "_cql_is"
      UNION ALL
      SELECT
        "s.k" AS "x.k",
        "_cql_old_count0" AS "x.n",
        CAST($t0 AS BIGINT) AS "_cql_enter",
        "_ts" AS "_cql_leave",
        CAST(1 AS BIGINT) AS "_weight"
      FROM changed
      WHERE
        "_cql_was" AND "_cql_begin" IS NULL
    ) AS i1
    CROSS JOIN temp."_cql_stream_t"() AS i0
    WHERE
      i0."_ts" > $since
      AND i0."_ts" <= $t0
      AND i0."_ts" > $t1 - 6
      AND i0."k" = i1."x.k"
      AND i1."_cql_enter" < (
        i0."_ts" + 6
      )
      AND i0."_ts" < i1."_cql_leave"
  )
  SELECT
    "t.w" AS "w",
    "x.n" AS "n",
    "_cql_enter" AS "_ts",
    "_weight"
  FROM lives
  WHERE
    "_cql_enter" > $t0
  UNION ALL
  SELECT
    "t.w" AS "w",
    "x.n" AS "n",
    "_cql_leave" AS "_ts",
    -"_weight" AS "_weight"
  FROM lives
  WHERE
    "_cql_leave" <= $t1
) AS elements
GROUP BY
  "w",
  "n",
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
      "_cql_last" AND delta."s.k" IS NOT DISTINCT FROM kept."s.k"
  );

-- operator 6: keep their new state
INSERT INTO cql_state."q_6_groups"
SELECT
  "s.k",
  "_cql_n"
FROM temp."_cql_delta_q_6"
WHERE
  "_cql_last" AND "_cql_n" > 0;

-- operator 6: the elements, summed up, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_sums_64ceb2faea6b" AS
SELECT
  "s.k",
  CAST($t1 AS BIGINT) AS "_ts",
  CAST(SUM("_weight") AS BIGINT) AS "_cql_n"
FROM (
  SELECT
    "k" AS "s.k",
    "_ts",
    CAST(1 AS BIGINT) AS "_weight"
  FROM temp."_cql_arrivals_s"($t0, $t1)
  UNION ALL
  SELECT
    "k" AS "s.k",
    "_ts" + 11 AS "_ts",
    -CAST(1 AS BIGINT) AS "_weight"
  FROM temp."_cql_stream_s"()
  WHERE
    "_ts" > $since AND "_ts" <= $t1 - 11 AND "_ts" > $t0 - 11
) AS elements
GROUP BY
  "s.k";

-- operator 6: the groups and instants that changed, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_6" AS
SELECT
  *,
  (
    "_cql_is" IS DISTINCT FROM "_cql_was"
    OR "count0" IS DISTINCT FROM "_cql_old_count0"
  ) AS "_cql_changed"
FROM (
  SELECT
    r."s.k" AS "s.k",
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
      changes."s.k" AS "s.k",
      changes."_ts" AS "_ts",
      CAST(COALESCE(kept."_cql_n", 0) + changes."_cql_n" AS BIGINT) AS "_cql_n",
      changes."_cql_n" AS "_cql_d_n"
    FROM temp."_cql_sums_64ceb2faea6b" AS changes
    LEFT JOIN cql_state."q_6_groups" AS kept
      ON changes."s.k" IS NOT DISTINCT FROM kept."s.k"
  ) AS r
) AS results;

-- operator 2: what begins or ends, in a tick of one instant, in stages
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
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_lives_q_6" AS
WITH changed AS (
  SELECT
    *
  FROM temp."_cql_delta_q_6"
  WHERE
    "_cql_changed"
)
SELECT
  "s.k",
  "count0",
  "_ts" AS "_cql_enter",
  9223372036854775807 AS "_cql_leave",
  CAST(1 AS BIGINT) AS "_weight"
FROM changed
WHERE
  "_cql_is"
UNION ALL
SELECT
  "s.k",
  "_cql_old_count0" AS "count0",
  CAST($t0 AS BIGINT) AS "_cql_enter",
  "_ts" AS "_cql_leave",
  CAST(1 AS BIGINT) AS "_weight"
FROM changed
WHERE
  "_cql_was";

-- operator 1: an empty table, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_1" AS
SELECT
  CAST(NULL AS BIGINT) AS "t.w",
  CAST(NULL AS BIGINT) AS "x.n",
  CAST(NULL AS BIGINT) AS "_cql_enter",
  CAST(NULL AS BIGINT) AS "_cql_leave",
  CAST(NULL AS BIGINT) AS "_weight"
WHERE
  FALSE;

-- operator 1: combinations that begin or end, in a tick of one instant, in stages
INSERT INTO temp."_cql_delta_q_1"
SELECT
  i0."t.w",
  i1."x.n",
  GREATEST(i0."_cql_enter", i1."_cql_enter") AS "_cql_enter",
  LEAST(i0."_cql_leave", i1."_cql_leave") AS "_cql_leave",
  i0."_weight" * i1."_weight" AS "_weight"
FROM temp."_cql_lives_d5ba8959706c" AS i0
CROSS JOIN (
  SELECT
    "s.k" AS "x.k",
    "count0" AS "x.n",
    CAST($t0 AS BIGINT) AS "_cql_enter",
    9223372036854775807 AS "_cql_leave",
    "_weight"
  FROM (
    SELECT
      "s.k",
      "_cql_n" AS "count0",
      CAST(1 AS BIGINT) AS "_weight"
    FROM cql_state."q_6_groups"
  ) AS groups
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM temp."_cql_delta_q_6" AS delta
      WHERE
        "_cql_changed" AND delta."s.k" IS NOT DISTINCT FROM groups."s.k"
    )
  UNION ALL
  SELECT
    "s.k" AS "x.k",
    "count0" AS "x.n",
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
      "s.k",
      "count0",
      "_ts" AS "_cql_enter",
      9223372036854775807 AS "_cql_leave",
      CAST(1 AS BIGINT) AS "_weight"
    FROM changed
    WHERE
      "_cql_is"
    UNION ALL
    SELECT
      "s.k",
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
  i0."t.k" = i1."x.k"
  AND i0."_cql_enter" < i1."_cql_leave"
  AND i1."_cql_enter" < i0."_cql_leave";

-- operator 1: combinations that begin or end, in a tick of one instant, in stages
INSERT INTO temp."_cql_delta_q_1"
SELECT
  i0."w" AS "t.w",
  i1."count0" AS "x.n",
  GREATEST(i1."_cql_enter", i0."_ts") AS "_cql_enter",
  LEAST(i1."_cql_leave", (
    i0."_ts" + 6
  )) AS "_cql_leave",
  i1."_weight" * CAST(1 AS BIGINT) AS "_weight"
FROM temp."_cql_lives_q_6" AS i1
CROSS JOIN temp."_cql_stream_t"() AS i0
WHERE
  i0."_ts" > $since
  AND i0."_ts" <= $t0
  AND i0."_ts" > $t1 - 6
  AND i0."k" = i1."s.k"
  AND i1."_cql_enter" < (
    i0."_ts" + 6
  )
  AND i0."_ts" < i1."_cql_leave";

-- operator 0: write the elements of the answer, in a tick of one instant, in stages
INSERT INTO cql_state."changes_q"
SELECT
  "w",
  "n",
  "_ts",
  CAST(SUM("_weight") AS BIGINT) AS "_weight"
FROM (
  WITH lives AS (
    SELECT
      "t.w",
      "x.n",
      "_cql_enter",
      "_cql_leave",
      "_weight"
    FROM temp."_cql_delta_q_1"
  )
  SELECT
    "t.w" AS "w",
    "x.n" AS "n",
    "_cql_enter" AS "_ts",
    "_weight"
  FROM lives
  WHERE
    "_cql_enter" > $t0
  UNION ALL
  SELECT
    "t.w" AS "w",
    "x.n" AS "n",
    "_cql_leave" AS "_ts",
    -"_weight" AS "_weight"
  FROM lives
  WHERE
    "_cql_leave" <= $t1
) AS elements
GROUP BY
  "w",
  "n",
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
      delta."s.k" IS NOT DISTINCT FROM kept."s.k"
  );

-- operator 6: keep their new state, in a tick of one instant, in stages
INSERT INTO cql_state."q_6_groups"
SELECT
  "s.k",
  "_cql_n"
FROM temp."_cql_delta_q_6"
WHERE
  "_cql_n" > 0;

-- title: a common table expression is a subquery with a name
WITH x AS (SELECT DISTINCT k FROM s [RANGE 10]) SELECT r.name FROM x JOIN r USING (k)
----
-- operator 3: the elements, summed up
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_sums_11cdbdadd68d" AS
SELECT
  "k",
  "_ts",
  CAST(SUM("_weight") AS BIGINT) AS "_cql_n"
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
) AS elements
GROUP BY
  "k",
  "_ts";

-- operator 3: the groups and instants that changed
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_3" AS
SELECT
  *,
  (
    "_cql_is" IS DISTINCT FROM "_cql_was"
  ) AS "_cql_changed"
FROM (
  WITH before AS (
    SELECT
      "k",
      CAST($t0 AS BIGINT) AS "_ts",
      "_cql_n"
    FROM cql_state."q_3_groups" AS kept
    WHERE
      EXISTS(
        SELECT
          1
        FROM temp."_cql_sums_11cdbdadd68d" AS changes
        WHERE
          changes."k" IS NOT DISTINCT FROM kept."k"
      )
  ), running AS (
    SELECT
      "k",
      "_ts",
      CAST(SUM("_cql_n") OVER (PARTITION BY "k" ORDER BY "_ts") AS BIGINT) AS "_cql_n",
      "_cql_n" AS "_cql_d_n",
      "_cql_old",
      LEAD("_ts") OVER (PARTITION BY "k" ORDER BY "_ts") IS NULL AS "_cql_last"
    FROM (
      SELECT
        "k",
        "_ts",
        "_cql_n",
        TRUE AS "_cql_old"
      FROM before
      UNION ALL
      SELECT
        "k",
        "_ts",
        "_cql_n",
        FALSE AS "_cql_old"
      FROM temp."_cql_sums_11cdbdadd68d" AS changes
    ) AS history
  )
  SELECT
    r."k" AS "k",
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
  "name",
  "_ts",
  CAST(SUM("_weight") AS BIGINT) AS "_weight"
FROM (
  WITH lives AS (
    SELECT
      i1."r.name",
      GREATEST(i0."_cql_enter", i1."_cql_enter") AS "_cql_enter",
      LEAST(i0."_cql_leave", i1."_cql_leave") AS "_cql_leave",
      i0."_weight" * i1."_weight" AS "_weight"
    FROM (
      WITH changed AS (
        SELECT
          *,
          LEAD("_ts") OVER (PARTITION BY "k" ORDER BY "_ts") AS "_cql_end",
          LAG("_ts") OVER (PARTITION BY "k" ORDER BY "_ts") AS "_cql_begin"
        FROM temp."_cql_delta_q_3"
        WHERE
          "_cql_changed"
      )
      SELECT
        "k" AS "x.k",
        "_ts" AS "_cql_enter",
        COALESCE("_cql_end", 9223372036854775807) AS "_cql_leave",
        CAST(1 AS BIGINT) AS "_weight"
      FROM changed
      WHERE
        "_cql_is"
      UNION ALL
      SELECT
        "k" AS "x.k",
        CAST($t0 AS BIGINT) AS "_cql_enter",
        "_ts" AS "_cql_leave",
        CAST(1 AS BIGINT) AS "_weight"
      FROM changed
      WHERE
        "_cql_was" AND "_cql_begin" IS NULL
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
      i0."x.k" = i1."r.k"
      AND i0."_cql_enter" < i1."_cql_leave"
      AND i1."_cql_enter" < i0."_cql_leave"
    UNION ALL
    SELECT
      i1."r.name",
      GREATEST(i1."_cql_enter", i0."_cql_enter") AS "_cql_enter",
      LEAST(i1."_cql_leave", i0."_cql_leave") AS "_cql_leave",
      i1."_weight" * i0."_weight" AS "_weight"
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
    CROSS JOIN (
      SELECT
        "k" AS "x.k",
        CAST($t0 AS BIGINT) AS "_cql_enter",
        9223372036854775807 AS "_cql_leave",
        "_weight"
      FROM (
        SELECT
          "k",
          CAST(1 AS BIGINT) AS "_weight"
        FROM cql_state."q_3_groups"
      ) AS groups
      WHERE
        NOT EXISTS(
          SELECT
            1
          FROM temp."_cql_delta_q_3" AS delta
          WHERE
            "_cql_changed" AND delta."k" IS NOT DISTINCT FROM groups."k"
        )
    ) AS i0
    WHERE
      i0."x.k" = i1."r.k"
      AND i1."_cql_enter" < i0."_cql_leave"
      AND i0."_cql_enter" < i1."_cql_leave"
  )
  SELECT
    "r.name" AS "name",
    "_cql_enter" AS "_ts",
    "_weight"
  FROM lives
  WHERE
    "_cql_enter" > $t0
  UNION ALL
  SELECT
    "r.name" AS "name",
    "_cql_leave" AS "_ts",
    -"_weight" AS "_weight"
  FROM lives
  WHERE
    "_cql_leave" <= $t1
) AS elements
GROUP BY
  "name",
  "_ts"
HAVING
  SUM("_weight") <> 0;

-- operator 3: forget the old state of the groups that changed
DELETE FROM cql_state."q_3_groups" AS kept
WHERE
  EXISTS(
    SELECT
      1
    FROM temp."_cql_delta_q_3" AS delta
    WHERE
      "_cql_last" AND delta."k" IS NOT DISTINCT FROM kept."k"
  );

-- operator 3: keep their new state
INSERT INTO cql_state."q_3_groups"
SELECT
  "k",
  "_cql_n"
FROM temp."_cql_delta_q_3"
WHERE
  "_cql_last" AND "_cql_n" > 0;

-- operator 3: the elements, summed up, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_sums_aed1ee19bda1" AS
SELECT
  "k",
  CAST($t1 AS BIGINT) AS "_ts",
  CAST(SUM("_weight") AS BIGINT) AS "_cql_n"
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
) AS elements
GROUP BY
  "k";

-- operator 3: the groups and instants that changed, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_3" AS
SELECT
  *,
  (
    "_cql_is" IS DISTINCT FROM "_cql_was"
  ) AS "_cql_changed"
FROM (
  SELECT
    r."k" AS "k",
    r."_ts" AS "_ts",
    r."_cql_n" AS "_cql_n",
    r."_cql_n" > 0 AS "_cql_is",
    r."_cql_n" - r."_cql_d_n" > 0 AS "_cql_was"
  FROM (
    SELECT
      changes."k" AS "k",
      changes."_ts" AS "_ts",
      CAST(COALESCE(kept."_cql_n", 0) + changes."_cql_n" AS BIGINT) AS "_cql_n",
      changes."_cql_n" AS "_cql_d_n"
    FROM temp."_cql_sums_aed1ee19bda1" AS changes
    LEFT JOIN cql_state."q_3_groups" AS kept
      ON changes."k" IS NOT DISTINCT FROM kept."k"
  ) AS r
) AS results;

-- operator 3: what begins or ends, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_lives_q_3" AS
WITH changed AS (
  SELECT
    *
  FROM temp."_cql_delta_q_3"
  WHERE
    "_cql_changed"
)
SELECT
  "k",
  "_ts" AS "_cql_enter",
  9223372036854775807 AS "_cql_leave",
  CAST(1 AS BIGINT) AS "_weight"
FROM changed
WHERE
  "_cql_is"
UNION ALL
SELECT
  "k",
  CAST($t0 AS BIGINT) AS "_cql_enter",
  "_ts" AS "_cql_leave",
  CAST(1 AS BIGINT) AS "_weight"
FROM changed
WHERE
  "_cql_was";

-- operator 7: what begins or ends, in a tick of one instant, in stages
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
  CAST(NULL AS TEXT) AS "r.name",
  CAST(NULL AS BIGINT) AS "_cql_enter",
  CAST(NULL AS BIGINT) AS "_cql_leave",
  CAST(NULL AS BIGINT) AS "_weight"
WHERE
  FALSE;

-- operator 1: combinations that begin or end, in a tick of one instant, in stages
INSERT INTO temp."_cql_delta_q_1"
SELECT
  i1."r.name",
  GREATEST(i0."_cql_enter", i1."_cql_enter") AS "_cql_enter",
  LEAST(i0."_cql_leave", i1."_cql_leave") AS "_cql_leave",
  i0."_weight" * i1."_weight" AS "_weight"
FROM temp."_cql_lives_q_3" AS i0
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
  i0."k" = i1."r.k"
  AND i0."_cql_enter" < i1."_cql_leave"
  AND i1."_cql_enter" < i0."_cql_leave";

-- operator 1: combinations that begin or end, in a tick of one instant, in stages
INSERT INTO temp."_cql_delta_q_1"
SELECT
  i1."r.name",
  GREATEST(i1."_cql_enter", i0."_cql_enter") AS "_cql_enter",
  LEAST(i1."_cql_leave", i0."_cql_leave") AS "_cql_leave",
  i1."_weight" * i0."_weight" AS "_weight"
FROM temp."_cql_lives_55d0b63e2ad1" AS i1
CROSS JOIN (
  SELECT
    "k" AS "x.k",
    CAST($t0 AS BIGINT) AS "_cql_enter",
    9223372036854775807 AS "_cql_leave",
    "_weight"
  FROM (
    SELECT
      "k",
      CAST(1 AS BIGINT) AS "_weight"
    FROM cql_state."q_3_groups"
  ) AS groups
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM temp."_cql_delta_q_3" AS delta
      WHERE
        "_cql_changed" AND delta."k" IS NOT DISTINCT FROM groups."k"
    )
) AS i0
WHERE
  i0."x.k" = i1."r.k"
  AND i1."_cql_enter" < i0."_cql_leave"
  AND i0."_cql_enter" < i1."_cql_leave";

-- operator 0: write the elements of the answer, in a tick of one instant, in stages
INSERT INTO cql_state."changes_q"
SELECT
  "name",
  "_ts",
  CAST(SUM("_weight") AS BIGINT) AS "_weight"
FROM (
  WITH lives AS (
    SELECT
      "r.name",
      "_cql_enter",
      "_cql_leave",
      "_weight"
    FROM temp."_cql_delta_q_1"
  )
  SELECT
    "r.name" AS "name",
    "_cql_enter" AS "_ts",
    "_weight"
  FROM lives
  WHERE
    "_cql_enter" > $t0
  UNION ALL
  SELECT
    "r.name" AS "name",
    "_cql_leave" AS "_ts",
    -"_weight" AS "_weight"
  FROM lives
  WHERE
    "_cql_leave" <= $t1
) AS elements
GROUP BY
  "name",
  "_ts"
HAVING
  SUM("_weight") <> 0;

-- operator 3: forget the old state of the groups that changed, in a tick of one instant, in stages
DELETE FROM cql_state."q_3_groups" AS kept
WHERE
  EXISTS(
    SELECT
      1
    FROM temp."_cql_delta_q_3" AS delta
    WHERE
      delta."k" IS NOT DISTINCT FROM kept."k"
  );

-- operator 3: keep their new state, in a tick of one instant, in stages
INSERT INTO cql_state."q_3_groups"
SELECT
  "k",
  "_cql_n"
FROM temp."_cql_delta_q_3"
WHERE
  "_cql_n" > 0;
