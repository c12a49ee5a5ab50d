-- title: a median is worked out again from the group's tuples
SELECT k, median(v) AS middle FROM s [RANGE 10] GROUP BY k
----
-- operator 1: the elements, summed up
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

-- operator 1: the groups and instants that changed
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_1" AS
SELECT
  *,
  (
    "_cql_is" IS DISTINCT FROM "_cql_was"
    OR "median0" IS DISTINCT FROM "_cql_old_median0"
  ) AS "_cql_changed"
FROM (
  WITH before AS (
    SELECT
      "s.k",
      CAST($t0 AS BIGINT) AS "_ts",
      "_cql_n",
      "median0"
    FROM cql_state."q_1_groups" AS kept
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
      "median0",
      "_cql_old",
      LEAD("_ts") OVER (PARTITION BY "s.k" ORDER BY "_ts") IS NULL AS "_cql_last"
    FROM (
      SELECT
        "s.k",
        "_ts",
        "_cql_n",
        "median0",
        TRUE AS "_cql_old"
      FROM before
      UNION ALL
      SELECT
        "s.k",
        "_ts",
        "_cql_n",
        CAST(NULL AS DOUBLE) AS "median0",
        FALSE AS "_cql_old"
      FROM temp."_cql_sums_c9e0ad1e4150" AS changes
    ) AS history
  ), again AS (
    SELECT
      "s.k",
      "_ts",
      "_cql_again0"
    FROM (
      SELECT
        "s.k",
        "_ts",
        MEDIAN("s.v") FILTER(WHERE
          "_cql_row") OVER (PARTITION BY "s.k" ORDER BY "_ts" RANGE BETWEEN 10 PRECEDING AND CURRENT ROW) AS "_cql_again0",
        "_cql_row"
      FROM (
        SELECT
          "s.k",
          "s.v",
          "_cql_enter" AS "_ts",
          TRUE AS "_cql_row"
        FROM (
          SELECT
            "k" AS "s.k",
            "v" AS "s.v",
            "_ts" AS "_cql_enter"
          FROM temp."_cql_stream_s"()
          WHERE
            "_ts" > $since AND "_ts" <= $t1 AND "_ts" > $t0 - 11
        ) AS l
        WHERE
          EXISTS(
            SELECT
              1
            FROM running
            WHERE
              running."s.k" IS NOT DISTINCT FROM "s.k"
          )
        UNION ALL
        SELECT
          "s.k",
          NULL AS "s.v",
          "_ts",
          FALSE AS "_cql_row"
        FROM running
        WHERE
          "_ts" > $t0
      ) AS log
    ) AS framed
    WHERE
      NOT "_cql_row"
  ), valued AS (
    SELECT
      r."s.k" AS "s.k",
      r."_ts" AS "_ts",
      r."_cql_n" AS "_cql_n",
      r."_cql_d_n" AS "_cql_d_n",
      r."_cql_old" AS "_cql_old",
      r."_cql_last" AS "_cql_last",
      CASE WHEN r."_cql_old" THEN r."median0" ELSE again."_cql_again0" END AS "median0"
    FROM running AS r
    LEFT JOIN again
      ON r."s.k" IS NOT DISTINCT FROM again."s.k" AND again."_ts" = r."_ts"
  )
  SELECT
    r."s.k" AS "s.k",
    r."_ts" AS "_ts",
    r."_cql_n" AS "_cql_n",
    r."_cql_last" AS "_cql_last",
    r."_cql_n" > 0 AS "_cql_is",
    r."_cql_n" - r."_cql_d_n" > 0 AS "_cql_was",
    r."median0" AS "median0",
    r."_cql_old_median0" AS "_cql_old_median0"
  FROM (
    SELECT
      *,
      LAG("median0") OVER (PARTITION BY "s.k" ORDER BY "_ts") AS "_cql_old_median0"
    FROM valued
  ) AS r
  WHERE
    r."_ts" > $t0
) AS results;

-- operator 0: write the elements of the answer
INSERT INTO cql_state."changes_q"
SELECT
  "s.k" AS "k",
  "_cql_old_median0" AS "middle",
  "_ts",
  CAST(-1 AS BIGINT) AS "_weight"
FROM temp."_cql_delta_q_1"
WHERE
  "_cql_was" AND "_cql_changed"
UNION ALL
SELECT
  "s.k" AS "k",
  "median0" AS "middle",
  "_ts",
  CAST(1 AS BIGINT) AS "_weight"
FROM temp."_cql_delta_q_1"
WHERE
  "_cql_is" AND "_cql_changed";

-- operator 1: forget the old state of the groups that changed
DELETE FROM cql_state."q_1_groups" AS kept
WHERE
  EXISTS(
    SELECT
      1
    FROM temp."_cql_delta_q_1" AS delta
    WHERE
      "_cql_last" AND delta."s.k" IS NOT DISTINCT FROM kept."s.k"
  );

-- operator 1: keep their new state
INSERT INTO cql_state."q_1_groups"
SELECT
  "s.k",
  "_cql_n",
  "median0"
FROM temp."_cql_delta_q_1"
WHERE
  "_cql_last" AND "_cql_n" > 0;

-- operator 1: the elements, summed up, in a tick of one instant, in stages
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

-- operator 1: the groups and instants that changed, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_1" AS
SELECT
  *,
  (
    "_cql_is" IS DISTINCT FROM "_cql_was"
    OR "median0" IS DISTINCT FROM "_cql_old_median0"
  ) AS "_cql_changed"
FROM (
  WITH running AS (
    SELECT
      changes."s.k" AS "s.k",
      changes."_ts" AS "_ts",
      CAST(COALESCE(kept."_cql_n", 0) + changes."_cql_n" AS BIGINT) AS "_cql_n",
      changes."_cql_n" AS "_cql_d_n",
      kept."median0" AS "median0"
    FROM temp."_cql_sums_64ceb2faea6b" AS changes
    LEFT JOIN cql_state."q_1_groups" AS kept
      ON changes."s.k" IS NOT DISTINCT FROM kept."s.k"
  ), again AS (
    SELECT
      "_cql_key0" AS "s.k",
      "_cql_at" AS "_ts",
      MEDIAN("s.v") FILTER(WHERE
        NOT "_weight" IS NULL) AS "_cql_again0"
    FROM (
      SELECT
        i."s.k" AS "_cql_key0",
        i."_ts" AS "_cql_at",
        l."s.k" AS "s.k",
        l."s.v" AS "s.v",
        l."_weight" AS "_weight"
      FROM running AS i
      LEFT JOIN (
        SELECT
          "k" AS "s.k",
          "v" AS "s.v",
          "_ts" AS "_cql_enter",
          "_ts" + 11 AS "_cql_leave",
          CAST(1 AS BIGINT) AS "_weight"
        FROM temp."_cql_stream_s"()
        WHERE
          "_ts" > $since AND "_ts" <= $t1 AND "_ts" > $t0 - 11
      ) AS l
        ON i."s.k" IS NOT DISTINCT FROM l."s.k"
        AND l."_cql_enter" <= i."_ts"
        AND l."_cql_leave" > i."_ts"
      WHERE
        i."_ts" > $t0
    ) AS tuples
    GROUP BY
      "_cql_key0",
      "_cql_at"
  ), valued AS (
    SELECT
      r."s.k" AS "s.k",
      r."_ts" AS "_ts",
      r."_cql_n" AS "_cql_n",
      r."_cql_d_n" AS "_cql_d_n",
      again."_cql_again0" AS "median0",
      r."median0" AS "_cql_old_median0"
    FROM running AS r
    LEFT JOIN again
      ON r."s.k" IS NOT DISTINCT FROM again."s.k" AND again."_ts" = r."_ts"
  )
  SELECT
    r."s.k" AS "s.k",
    r."_ts" AS "_ts",
    r."_cql_n" AS "_cql_n",
    r."_cql_n" > 0 AS "_cql_is",
    r."_cql_n" - r."_cql_d_n" > 0 AS "_cql_was",
    r."median0" AS "median0",
    r."_cql_old_median0" AS "_cql_old_median0"
  FROM valued AS r
) AS results;

-- operator 1: forget the old state of the groups that changed, in a tick of one instant, in stages
DELETE FROM cql_state."q_1_groups" AS kept
WHERE
  EXISTS(
    SELECT
      1
    FROM temp."_cql_delta_q_1" AS delta
    WHERE
      delta."s.k" IS NOT DISTINCT FROM kept."s.k"
  );

-- operator 1: keep their new state, in a tick of one instant, in stages
INSERT INTO cql_state."q_1_groups"
SELECT
  "s.k",
  "_cql_n",
  "median0"
FROM temp."_cql_delta_q_1"
WHERE
  "_cql_n" > 0;

-- title: of a relation, copies of a tuple are spread first
SELECT k, stddev(length(name)) AS spread FROM r GROUP BY k
----
-- operator 1: the elements, summed up
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_sums_a08ba540a5a6" AS
SELECT
  "r.k",
  "_ts",
  CAST(SUM("_weight") AS BIGINT) AS "_cql_n"
FROM (
  WITH lives AS (
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
) AS elements
GROUP BY
  "r.k",
  "_ts";

-- operator 1: the groups and instants that changed
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_1" AS
SELECT
  *,
  (
    "_cql_is" IS DISTINCT FROM "_cql_was"
    OR "stddev0" IS DISTINCT FROM "_cql_old_stddev0"
  ) AS "_cql_changed"
FROM (
  WITH before AS (
    SELECT
      "r.k",
      CAST($t0 AS BIGINT) AS "_ts",
      "_cql_n",
      "stddev0"
    FROM cql_state."q_1_groups" AS kept
    WHERE
      EXISTS(
        SELECT
          1
        FROM temp."_cql_sums_a08ba540a5a6" AS changes
        WHERE
          changes."r.k" IS NOT DISTINCT FROM kept."r.k"
      )
  ), running AS (
    SELECT
      "r.k",
      "_ts",
      CAST(SUM("_cql_n") OVER (PARTITION BY "r.k" ORDER BY "_ts") AS BIGINT) AS "_cql_n",
      "_cql_n" AS "_cql_d_n",
      "stddev0",
      "_cql_old",
      LEAD("_ts") OVER (PARTITION BY "r.k" ORDER BY "_ts") IS NULL AS "_cql_last"
    FROM (
      SELECT
        "r.k",
        "_ts",
        "_cql_n",
        "stddev0",
        TRUE AS "_cql_old"
      FROM before
      UNION ALL
      SELECT
        "r.k",
        "_ts",
        "_cql_n",
        CAST(NULL AS DOUBLE) AS "stddev0",
        FALSE AS "_cql_old"
      FROM temp."_cql_sums_a08ba540a5a6" AS changes
    ) AS history
  ), again AS (
    SELECT
      "_cql_key0" AS "r.k",
      "_cql_at" AS "_ts",
      STDDEV(LENGTH("r.name")) FILTER(WHERE
        NOT "_weight" IS NULL) AS "_cql_again0"
    FROM (
      SELECT
        i."r.k" AS "_cql_key0",
        i."_ts" AS "_cql_at",
        l."r.k" AS "r.k",
        l."r.name" AS "r.name",
        l."_weight" AS "_weight"
      FROM running AS i
      LEFT JOIN (
        SELECT
          "k" AS "r.k",
          "name" AS "r.name",
          GREATEST("_cql_enter", $begin) AS "_cql_enter",
          "_cql_leave",
          CAST(1 AS BIGINT) AS "_weight"
        FROM cql_state."relation_r"
        WHERE
          "_cql_enter" <= $t1 AND "_cql_leave" > $t0 AND "_cql_leave" > $begin
      ) AS l
        ON i."r.k" IS NOT DISTINCT FROM l."r.k"
        AND l."_cql_enter" <= i."_ts"
        AND l."_cql_leave" > i."_ts"
      WHERE
        i."_ts" > $t0
    ) AS tuples
    GROUP BY
      "_cql_key0",
      "_cql_at"
  ), valued AS (
    SELECT
      r."r.k" AS "r.k",
      r."_ts" AS "_ts",
      r."_cql_n" AS "_cql_n",
      r."_cql_d_n" AS "_cql_d_n",
      r."_cql_old" AS "_cql_old",
      r."_cql_last" AS "_cql_last",
      CASE WHEN r."_cql_old" THEN r."stddev0" ELSE again."_cql_again0" END AS "stddev0"
    FROM running AS r
    LEFT JOIN again
      ON r."r.k" IS NOT DISTINCT FROM again."r.k" AND again."_ts" = r."_ts"
  )
  SELECT
    r."r.k" AS "r.k",
    r."_ts" AS "_ts",
    r."_cql_n" AS "_cql_n",
    r."_cql_last" AS "_cql_last",
    r."_cql_n" > 0 AS "_cql_is",
    r."_cql_n" - r."_cql_d_n" > 0 AS "_cql_was",
    r."stddev0" AS "stddev0",
    r."_cql_old_stddev0" AS "_cql_old_stddev0"
  FROM (
    SELECT
      *,
      LAG("stddev0") OVER (PARTITION BY "r.k" ORDER BY "_ts") AS "_cql_old_stddev0"
    FROM valued
  ) AS r
  WHERE
    r."_ts" > $t0
) AS results;

-- operator 0: write the elements of the answer
INSERT INTO cql_state."changes_q"
SELECT
  "r.k" AS "k",
  "_cql_old_stddev0" AS "spread",
  "_ts",
  CAST(-1 AS BIGINT) AS "_weight"
FROM temp."_cql_delta_q_1"
WHERE
  "_cql_was" AND "_cql_changed"
UNION ALL
SELECT
  "r.k" AS "k",
  "stddev0" AS "spread",
  "_ts",
  CAST(1 AS BIGINT) AS "_weight"
FROM temp."_cql_delta_q_1"
WHERE
  "_cql_is" AND "_cql_changed";

-- operator 1: forget the old state of the groups that changed
DELETE FROM cql_state."q_1_groups" AS kept
WHERE
  EXISTS(
    SELECT
      1
    FROM temp."_cql_delta_q_1" AS delta
    WHERE
      "_cql_last" AND delta."r.k" IS NOT DISTINCT FROM kept."r.k"
  );

-- operator 1: keep their new state
INSERT INTO cql_state."q_1_groups"
SELECT
  "r.k",
  "_cql_n",
  "stddev0"
FROM temp."_cql_delta_q_1"
WHERE
  "_cql_last" AND "_cql_n" > 0;

-- operator 1: the elements, summed up, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_sums_37010ea3f7f1" AS
SELECT
  "r.k",
  CAST($t1 AS BIGINT) AS "_ts",
  CAST(SUM("_weight") AS BIGINT) AS "_cql_n"
FROM (
  WITH lives AS (
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
) AS elements
GROUP BY
  "r.k";

-- operator 1: the groups and instants that changed, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_1" AS
SELECT
  *,
  (
    "_cql_is" IS DISTINCT FROM "_cql_was"
    OR "stddev0" IS DISTINCT FROM "_cql_old_stddev0"
  ) AS "_cql_changed"
FROM (
  WITH running AS (
    SELECT
      changes."r.k" AS "r.k",
      changes."_ts" AS "_ts",
      CAST(COALESCE(kept."_cql_n", 0) + changes."_cql_n" AS BIGINT) AS "_cql_n",
      changes."_cql_n" AS "_cql_d_n",
      kept."stddev0" AS "stddev0"
    FROM temp."_cql_sums_37010ea3f7f1" AS changes
    LEFT JOIN cql_state."q_1_groups" AS kept
      ON changes."r.k" IS NOT DISTINCT FROM kept."r.k"
  ), again AS (
    SELECT
      "_cql_key0" AS "r.k",
      "_cql_at" AS "_ts",
      STDDEV(LENGTH("r.name")) FILTER(WHERE
        NOT "_weight" IS NULL) AS "_cql_again0"
    FROM (
      SELECT
        i."r.k" AS "_cql_key0",
        i."_ts" AS "_cql_at",
        l."r.k" AS "r.k",
        l."r.name" AS "r.name",
        l."_weight" AS "_weight"
      FROM running AS i
      LEFT JOIN (
        SELECT
          "k" AS "r.k",
          "name" AS "r.name",
          GREATEST("_cql_enter", $begin) AS "_cql_enter",
          "_cql_leave",
          CAST(1 AS BIGINT) AS "_weight"
        FROM cql_state."relation_r"
        WHERE
          "_cql_enter" <= $t1 AND "_cql_leave" > $t0 AND "_cql_leave" > $begin
      ) AS l
        ON i."r.k" IS NOT DISTINCT FROM l."r.k"
        AND l."_cql_enter" <= i."_ts"
        AND l."_cql_leave" > i."_ts"
      WHERE
        i."_ts" > $t0
    ) AS tuples
    GROUP BY
      "_cql_key0",
      "_cql_at"
  ), valued AS (
    SELECT
      r."r.k" AS "r.k",
      r."_ts" AS "_ts",
      r."_cql_n" AS "_cql_n",
      r."_cql_d_n" AS "_cql_d_n",
      again."_cql_again0" AS "stddev0",
      r."stddev0" AS "_cql_old_stddev0"
    FROM running AS r
    LEFT JOIN again
      ON r."r.k" IS NOT DISTINCT FROM again."r.k" AND again."_ts" = r."_ts"
  )
  SELECT
    r."r.k" AS "r.k",
    r."_ts" AS "_ts",
    r."_cql_n" AS "_cql_n",
    r."_cql_n" > 0 AS "_cql_is",
    r."_cql_n" - r."_cql_d_n" > 0 AS "_cql_was",
    r."stddev0" AS "stddev0",
    r."_cql_old_stddev0" AS "_cql_old_stddev0"
  FROM valued AS r
) AS results;

-- operator 1: forget the old state of the groups that changed, in a tick of one instant, in stages
DELETE FROM cql_state."q_1_groups" AS kept
WHERE
  EXISTS(
    SELECT
      1
    FROM temp."_cql_delta_q_1" AS delta
    WHERE
      delta."r.k" IS NOT DISTINCT FROM kept."r.k"
  );

-- operator 1: keep their new state, in a tick of one instant, in stages
INSERT INTO cql_state."q_1_groups"
SELECT
  "r.k",
  "_cql_n",
  "stddev0"
FROM temp."_cql_delta_q_1"
WHERE
  "_cql_n" > 0;

-- title: what has no delta rule is worked out again from its inputs as they are
SELECT r.name, s.v FROM r ASOF JOIN s [RANGE 10] ON r.k >= s.k
----
-- operator 0: worked out again: ASOF JOIN
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_0" AS
WITH _cql_alive0 AS (
  SELECT
    "k" AS "r.k",
    "name" AS "r.name",
    GREATEST("_cql_enter", $begin) AS "_cql_enter",
    "_cql_leave",
    CAST(1 AS BIGINT) AS "_weight"
  FROM cql_state."relation_r"
  WHERE
    "_cql_enter" <= $t1 AND "_cql_leave" > $t0 AND "_cql_leave" > $begin
), _cql_alive1 AS (
  SELECT
    "k" AS "s.k",
    "v" AS "s.v",
    "d" AS "s.d",
    "_ts" AS "_cql_enter",
    "_ts" + 11 AS "_cql_leave",
    CAST(1 AS BIGINT) AS "_weight"
  FROM temp."_cql_stream_s"()
  WHERE
    "_ts" > $since AND "_ts" <= $t1 AND "_ts" > $t0 - 11
), _cql_instants AS (
  SELECT
    "_ts",
    LEAD("_ts") OVER (ORDER BY "_ts") AS "_cql_next"
  FROM (
    SELECT
      "_ts"
    FROM (
      SELECT
        "_cql_enter" AS "_ts"
      FROM _cql_alive0
      WHERE
        "_cql_enter" > $t0 AND "_cql_enter" <= $t1
      UNION ALL
      SELECT
        "_cql_leave" AS "_ts"
      FROM _cql_alive0
      WHERE
        "_cql_leave" > $t0 AND "_cql_leave" <= $t1
      UNION ALL
      SELECT
        "_cql_enter" AS "_ts"
      FROM _cql_alive1
      WHERE
        "_cql_enter" > $t0 AND "_cql_enter" <= $t1
      UNION ALL
      SELECT
        "_cql_leave" AS "_ts"
      FROM _cql_alive1
      WHERE
        "_cql_leave" > $t0 AND "_cql_leave" <= $t1
      UNION ALL
      SELECT
        CAST($t0 AS BIGINT) AS "_ts"
      WHERE
        $begin <= $t0
      UNION ALL
      SELECT
        CAST($begin AS BIGINT) AS "_ts"
      WHERE
        $begin > $t0
    ) AS all_instants
    GROUP BY
      "_ts"
  ) AS distinct_instants
), _cql_at0 AS (
  SELECT
    i."_ts" AS "_cql_at",
    l."r.k" AS "r.k",
    l."r.name" AS "r.name",
    l."_weight" AS "_weight"
  FROM _cql_instants AS i
  INNER JOIN _cql_alive0 AS l
    ON l."_cql_enter" <= i."_ts" AND l."_cql_leave" > i."_ts"
), _cql_at1 AS (
  SELECT
    i."_ts" AS "_cql_at",
    l."s.k" AS "s.k",
    l."s.v" AS "s.v",
    l."s.d" AS "s.d",
    l."_weight" AS "_weight"
  FROM _cql_instants AS i
  INNER JOIN _cql_alive1 AS l
    ON l."_cql_enter" <= i."_ts" AND l."_cql_leave" > i."_ts"
), _cql_results AS (
  SELECT
    _cql_again."name",
    _cql_again."v",
    _cql_instants."_ts" AS "_cql_at",
    _cql_instants."_cql_next"
  FROM _cql_instants
  CROSS JOIN LATERAL (
    SELECT
      r.name,
      s.v
    FROM (
      SELECT
        "r.k" AS "k",
        "r.name" AS "name"
      FROM (
        SELECT
          "r.k",
          "r.name",
          "_cql_at"
        FROM _cql_at0
      ) AS tuples
      WHERE
        "_cql_at" = _cql_instants."_ts"
    ) AS r
    ASOF JOIN (
      SELECT DISTINCT ON (s.k)
        *
      FROM (
        SELECT
          "s.k" AS "k",
          "s.v" AS "v",
          "s.d" AS "d"
        FROM (
          SELECT
            "s.k",
            "s.v",
            "s.d",
            "_cql_at"
          FROM _cql_at1
        ) AS tuples
        WHERE
          "_cql_at" = _cql_instants."_ts"
      ) AS s
      ORDER BY
        s.k,
        "s"."k",
        "s"."v",
        "s"."d",
        (
          NOT SIGNBIT("s"."d")
        )
    ) AS "s"
      ON r.k >= s.k
  ) AS _cql_again("name", "v")
)
SELECT
  "name",
  "v",
  "_ts",
  CAST(SUM("_weight") AS BIGINT) AS "_weight"
FROM (
  SELECT
    "name",
    "v",
    "_cql_at" AS "_ts",
    CAST(1 AS BIGINT) AS "_weight"
  FROM _cql_results
  WHERE
    "_cql_at" > $t0
  UNION ALL
  SELECT
    "name",
    "v",
    "_cql_next" AS "_ts",
    CAST(-1 AS BIGINT) AS "_weight"
  FROM _cql_results
  WHERE
    NOT "_cql_next" IS NULL
) AS elements
GROUP BY
  "name",
  "v",
  "_ts"
HAVING
  SUM("_weight") <> 0;

-- operator 0: write the elements of the answer
INSERT INTO cql_state."changes_q"
SELECT
  "name",
  "v",
  "_ts",
  "_weight"
FROM temp."_cql_delta_q_0";

-- title: a subquery in an expression makes an input of what it reads
SELECT k, v FROM s [RANGE 10] WHERE v > 5 OR k IN (SELECT k FROM r)
----
-- operator 0: worked out again: a subquery in an expression
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_0" AS
WITH _cql_alive0 AS (
  SELECT
    "k" AS "s.k",
    "v" AS "s.v",
    "d" AS "s.d",
    "_ts" AS "_cql_enter",
    "_ts" + 11 AS "_cql_leave",
    CAST(1 AS BIGINT) AS "_weight"
  FROM temp."_cql_stream_s"()
  WHERE
    "_ts" > $since AND "_ts" <= $t1 AND "_ts" > $t0 - 11
), _cql_alive1 AS (
  SELECT
    "k" AS "r.k",
    "name" AS "r.name",
    GREATEST("_cql_enter", $begin) AS "_cql_enter",
    "_cql_leave",
    CAST(1 AS BIGINT) AS "_weight"
  FROM cql_state."relation_r"
  WHERE
    "_cql_enter" <= $t1 AND "_cql_leave" > $t0 AND "_cql_leave" > $begin
), _cql_instants AS (
  SELECT
    "_ts",
    LEAD("_ts") OVER (ORDER BY "_ts") AS "_cql_next"
  FROM (
    SELECT
      "_ts"
    FROM (
      SELECT
        "_cql_enter" AS "_ts"
      FROM _cql_alive0
      WHERE
        "_cql_enter" > $t0 AND "_cql_enter" <= $t1
      UNION ALL
      SELECT
        "_cql_leave" AS "_ts"
      FROM _cql_alive0
      WHERE
        "_cql_leave" > $t0 AND "_cql_leave" <= $t1
      UNION ALL
      SELECT
        "_cql_enter" AS "_ts"
      FROM _cql_alive1
      WHERE
        "_cql_enter" > $t0 AND "_cql_enter" <= $t1
      UNION ALL
      SELECT
        "_cql_leave" AS "_ts"
      FROM _cql_alive1
      WHERE
        "_cql_leave" > $t0 AND "_cql_leave" <= $t1
      UNION ALL
      SELECT
        CAST($t0 AS BIGINT) AS "_ts"
      WHERE
        $begin <= $t0
      UNION ALL
      SELECT
        CAST($begin AS BIGINT) AS "_ts"
      WHERE
        $begin > $t0
    ) AS all_instants
    GROUP BY
      "_ts"
  ) AS distinct_instants
), _cql_at0 AS (
  SELECT
    i."_ts" AS "_cql_at",
    l."s.k" AS "s.k",
    l."s.v" AS "s.v",
    l."s.d" AS "s.d",
    l."_weight" AS "_weight"
  FROM _cql_instants AS i
  INNER JOIN _cql_alive0 AS l
    ON l."_cql_enter" <= i."_ts" AND l."_cql_leave" > i."_ts"
), _cql_at1 AS (
  SELECT
    i."_ts" AS "_cql_at",
    l."r.k" AS "r.k",
    l."r.name" AS "r.name",
    l."_weight" AS "_weight"
  FROM _cql_instants AS i
  INNER JOIN _cql_alive1 AS l
    ON l."_cql_enter" <= i."_ts" AND l."_cql_leave" > i."_ts"
), _cql_results AS (
  SELECT
    _cql_again."k",
    _cql_again."v",
    _cql_instants."_ts" AS "_cql_at",
    _cql_instants."_cql_next"
  FROM _cql_instants
  CROSS JOIN LATERAL (
    SELECT
      k,
      v
    FROM (
      SELECT
        "s.k" AS "k",
        "s.v" AS "v",
        "s.d" AS "d"
      FROM (
        SELECT
          "s.k",
          "s.v",
          "s.d",
          "_cql_at"
        FROM _cql_at0
      ) AS tuples
      WHERE
        "_cql_at" = _cql_instants."_ts"
    ) AS s
    WHERE
      v > 5
      OR k IN (
        SELECT
          k
        FROM (
          SELECT
            "r.k" AS "k",
            "r.name" AS "name"
          FROM (
            SELECT
              "r.k",
              "r.name",
              "_cql_at"
            FROM _cql_at1
          ) AS tuples
          WHERE
            "_cql_at" = _cql_instants."_ts"
        ) AS r
      )
  ) AS _cql_again("k", "v")
)
SELECT
  "k",
  "v",
  "_ts",
  CAST(SUM("_weight") AS BIGINT) AS "_weight"
FROM (
  SELECT
    "k",
    "v",
    "_cql_at" AS "_ts",
    CAST(1 AS BIGINT) AS "_weight"
  FROM _cql_results
  WHERE
    "_cql_at" > $t0
  UNION ALL
  SELECT
    "k",
    "v",
    "_cql_next" AS "_ts",
    CAST(-1 AS BIGINT) AS "_weight"
  FROM _cql_results
  WHERE
    NOT "_cql_next" IS NULL
) AS elements
GROUP BY
  "k",
  "v",
  "_ts"
HAVING
  SUM("_weight") <> 0;

-- operator 0: write the elements of the answer
INSERT INTO cql_state."changes_q"
SELECT
  "k",
  "v",
  "_ts",
  "_weight"
FROM temp."_cql_delta_q_0";

-- title: ties that SQL leaves open are broken by all columns
SELECT k, row_number() OVER (PARTITION BY k ORDER BY v) AS place FROM s [ROWS 5]
----
-- operator 1: the rows that come, and whom they push out
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_1" AS
WITH arrivals AS (
  SELECT
    "k" AS "s.k",
    "v" AS "s.v",
    "d" AS "s.d",
    "_ts",
    "_cql_seq"
  FROM temp."_cql_arrivals_s"($t0, $t1)
)
SELECT
  "s.k",
  "s.v",
  "s.d",
  "_ts",
  "_ts" AS "_cql_enter",
  COALESCE(LEAD("_ts", 5) OVER (ORDER BY "_ts", "_cql_seq"), 9223372036854775807) AS "_cql_leave",
  "_cql_seq"
FROM (
  SELECT
    "s.k",
    "s.v",
    "s.d",
    "_ts",
    "_cql_seq"
  FROM cql_state."q_1_rows" AS kept
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
    "s.d",
    "_ts",
    "_cql_seq"
  FROM arrivals
) AS rows;

-- operator 0: worked out again: a window function (OVER)
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_0" AS
WITH _cql_alive0 AS (
  SELECT
    "s.k",
    "s.v",
    "s.d",
    "_ts" AS "_cql_enter",
    9223372036854775807 AS "_cql_leave",
    CAST(1 AS BIGINT) AS "_weight"
  FROM cql_state."q_1_rows"
  WHERE
    NOT "_cql_seq" IN (
      SELECT
        "_cql_seq"
      FROM temp."_cql_delta_q_1"
      WHERE
        "_cql_leave" <= $t1
    )
  UNION ALL
  SELECT
    "s.k",
    "s.v",
    "s.d",
    "_cql_enter",
    "_cql_leave",
    CAST(1 AS BIGINT) AS "_weight"
  FROM temp."_cql_delta_q_1"
  WHERE
    "_cql_enter" < "_cql_leave" AND (
      "_cql_enter" > $t0 OR "_cql_leave" <= $t1
    )
), _cql_instants AS (
  SELECT
    "_ts",
    LEAD("_ts") OVER (ORDER BY "_ts") AS "_cql_next"
  FROM (
    SELECT
      "_ts"
    FROM (
      SELECT
        "_cql_enter" AS "_ts"
      FROM _cql_alive0
      WHERE
        "_cql_enter" > $t0 AND "_cql_enter" <= $t1
      UNION ALL
      SELECT
        "_cql_leave" AS "_ts"
      FROM _cql_alive0
      WHERE
        "_cql_leave" > $t0 AND "_cql_leave" <= $t1
      UNION ALL
      SELECT
        CAST($t0 AS BIGINT) AS "_ts"
      WHERE
        $begin <= $t0
      UNION ALL
      SELECT
        CAST($begin AS BIGINT) AS "_ts"
      WHERE
        $begin > $t0
    ) AS all_instants
    GROUP BY
      "_ts"
  ) AS distinct_instants
), _cql_at0 AS (
  SELECT
    i."_ts" AS "_cql_at",
    l."s.k" AS "s.k",
    l."s.v" AS "s.v",
    l."s.d" AS "s.d",
    l."_weight" AS "_weight"
  FROM _cql_instants AS i
  INNER JOIN _cql_alive0 AS l
    ON l."_cql_enter" <= i."_ts" AND l."_cql_leave" > i."_ts"
), _cql_results AS (
  SELECT
    _cql_again."k",
    _cql_again."place",
    _cql_instants."_ts" AS "_cql_at",
    _cql_instants."_cql_next"
  FROM _cql_instants
  CROSS JOIN LATERAL (
    SELECT
      k,
      ROW_NUMBER() OVER (PARTITION BY k ORDER BY v, "s"."k", "s"."v", "s"."d", (
        NOT SIGNBIT("s"."d")
      )) AS place
    FROM (
      SELECT
        "s.k" AS "k",
        "s.v" AS "v",
        "s.d" AS "d"
      FROM (
        SELECT
          "s.k",
          "s.v",
          "s.d",
          "_cql_at"
        FROM _cql_at0
      ) AS tuples
      WHERE
        "_cql_at" = _cql_instants."_ts"
    ) AS s
  ) AS _cql_again("k", "place")
)
SELECT
  "k",
  "place",
  "_ts",
  CAST(SUM("_weight") AS BIGINT) AS "_weight"
FROM (
  SELECT
    "k",
    "place",
    "_cql_at" AS "_ts",
    CAST(1 AS BIGINT) AS "_weight"
  FROM _cql_results
  WHERE
    "_cql_at" > $t0
  UNION ALL
  SELECT
    "k",
    "place",
    "_cql_next" AS "_ts",
    CAST(-1 AS BIGINT) AS "_weight"
  FROM _cql_results
  WHERE
    NOT "_cql_next" IS NULL
) AS elements
GROUP BY
  "k",
  "place",
  "_ts"
HAVING
  SUM("_weight") <> 0;

-- operator 0: write the elements of the answer
INSERT INTO cql_state."changes_q"
SELECT
  "k",
  "place",
  "_ts",
  "_weight"
FROM temp."_cql_delta_q_0";

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
  "s.d",
  "_ts",
  "_cql_seq"
FROM temp."_cql_delta_q_1"
WHERE
  "_ts" > $t0 AND "_cql_leave" > $t1
ORDER BY
  "_cql_seq";

-- operator 1: the rows that come, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_arrivals_fe01d1d2baea" AS
SELECT
  "k" AS "s.k",
  "v" AS "s.v",
  "d" AS "s.d",
  "_ts",
  "_cql_seq"
FROM temp."_cql_arrivals_s"($t0, $t1);

-- operator 1: the rows that come, and whom they push out, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_1" AS
WITH arrivals AS (
  SELECT
    *
  FROM temp."_cql_arrivals_fe01d1d2baea"
)
SELECT
  "s.k",
  "s.v",
  "s.d",
  "_ts",
  "_ts" AS "_cql_enter",
  COALESCE(LEAD("_ts", 5) OVER (ORDER BY "_ts", "_cql_seq"), 9223372036854775807) AS "_cql_leave",
  "_cql_seq"
FROM (
  SELECT
    "s.k",
    "s.v",
    "s.d",
    "_ts",
    "_cql_seq"
  FROM cql_state."q_1_rows" AS kept
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
    "s.d",
    "_ts",
    "_cql_seq"
  FROM arrivals
) AS rows;

-- title: LIMIT is part of the answer, and only the query that has it is worked out again
SELECT k, n FROM (SELECT k, count(*) AS n FROM s [RANGE 10] GROUP BY k) x
    ORDER BY n DESC LIMIT 3
----
-- operator 3: the elements, summed up
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

-- operator 3: the groups and instants that changed
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_3" AS
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
    FROM cql_state."q_3_groups" AS kept
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

-- operator 0: worked out again: LIMIT
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_0" AS
WITH _cql_alive0 AS (
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
    FROM cql_state."q_3_groups"
  ) AS groups
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM temp."_cql_delta_q_3" AS delta
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
      FROM temp."_cql_delta_q_3"
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
), _cql_instants AS (
  SELECT
    "_ts",
    LEAD("_ts") OVER (ORDER BY "_ts") AS "_cql_next"
  FROM (
    SELECT
      "_ts"
    FROM (
      SELECT
        "_cql_enter" AS "_ts"
      FROM _cql_alive0
      WHERE
        "_cql_enter" > $t0 AND "_cql_enter" <= $t1
      UNION ALL
      SELECT
        "_cql_leave" AS "_ts"
      FROM _cql_alive0
      WHERE
        "_cql_leave" > $t0 AND "_cql_leave" <= $t1
      UNION ALL
      SELECT
        CAST($t0 AS BIGINT) AS "_ts"
      WHERE
        $begin <= $t0
      UNION ALL
      SELECT
        CAST($begin AS BIGINT) AS "_ts"
      WHERE
        $begin > $t0
    ) AS all_instants
    GROUP BY
      "_ts"
  ) AS distinct_instants
), _cql_at0 AS (
  SELECT
    i."_ts" AS "_cql_at",
    l."x.k" AS "x.k",
    l."x.n" AS "x.n",
    l."_weight" AS "_weight"
  FROM _cql_instants AS i
  INNER JOIN _cql_alive0 AS l
    ON l."_cql_enter" <= i."_ts" AND l."_cql_leave" > i."_ts"
), _cql_results AS (
  SELECT
    _cql_again."k",
    _cql_again."n",
    _cql_instants."_ts" AS "_cql_at",
    _cql_instants."_cql_next"
  FROM _cql_instants
  CROSS JOIN LATERAL (
    SELECT
      k,
      n
    FROM (
      SELECT
        "x.k" AS "k",
        "x.n" AS "n"
      FROM (
        SELECT
          "x.k",
          "x.n",
          "_cql_at"
        FROM _cql_at0
      ) AS tuples
      WHERE
        "_cql_at" = _cql_instants."_ts"
    ) AS x
    ORDER BY
      n DESC,
      "x"."k",
      "x"."n"
    LIMIT 3
  ) AS _cql_again("k", "n")
)
SELECT
  "k",
  "n",
  "_ts",
  CAST(SUM("_weight") AS BIGINT) AS "_weight"
FROM (
  SELECT
    "k",
    "n",
    "_cql_at" AS "_ts",
    CAST(1 AS BIGINT) AS "_weight"
  FROM _cql_results
  WHERE
    "_cql_at" > $t0
  UNION ALL
  SELECT
    "k",
    "n",
    "_cql_next" AS "_ts",
    CAST(-1 AS BIGINT) AS "_weight"
  FROM _cql_results
  WHERE
    NOT "_cql_next" IS NULL
) AS elements
GROUP BY
  "k",
  "n",
  "_ts"
HAVING
  SUM("_weight") <> 0;

-- operator 0: write the elements of the answer
INSERT INTO cql_state."changes_q"
SELECT
  "k",
  "n",
  "_ts",
  "_weight"
FROM temp."_cql_delta_q_0";

-- operator 3: forget the old state of the groups that changed
DELETE FROM cql_state."q_3_groups" AS kept
WHERE
  EXISTS(
    SELECT
      1
    FROM temp."_cql_delta_q_3" AS delta
    WHERE
      "_cql_last" AND delta."s.k" IS NOT DISTINCT FROM kept."s.k"
  );

-- operator 3: keep their new state
INSERT INTO cql_state."q_3_groups"
SELECT
  "s.k",
  "_cql_n"
FROM temp."_cql_delta_q_3"
WHERE
  "_cql_last" AND "_cql_n" > 0;

-- operator 3: the elements, summed up, in a tick of one instant, in stages
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

-- operator 3: the groups and instants that changed, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_3" AS
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
    LEFT JOIN cql_state."q_3_groups" AS kept
      ON changes."s.k" IS NOT DISTINCT FROM kept."s.k"
  ) AS r
) AS results;

-- operator 0: worked out again: LIMIT, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_0" AS
WITH _cql_alive0 AS (
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
    FROM cql_state."q_3_groups"
  ) AS groups
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM temp."_cql_delta_q_3" AS delta
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
      FROM temp."_cql_delta_q_3"
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
), _cql_instants AS (
  SELECT
    "_ts",
    LEAD("_ts") OVER (ORDER BY "_ts") AS "_cql_next"
  FROM (
    SELECT
      "_ts"
    FROM (
      SELECT
        "_cql_enter" AS "_ts"
      FROM _cql_alive0
      WHERE
        "_cql_enter" > $t0 AND "_cql_enter" <= $t1
      UNION ALL
      SELECT
        "_cql_leave" AS "_ts"
      FROM _cql_alive0
      WHERE
        "_cql_leave" > $t0 AND "_cql_leave" <= $t1
      UNION ALL
      SELECT
        CAST($t0 AS BIGINT) AS "_ts"
      WHERE
        $begin <= $t0
      UNION ALL
      SELECT
        CAST($begin AS BIGINT) AS "_ts"
      WHERE
        $begin > $t0
    ) AS all_instants
    GROUP BY
      "_ts"
  ) AS distinct_instants
), _cql_at0 AS (
  SELECT
    i."_ts" AS "_cql_at",
    l."x.k" AS "x.k",
    l."x.n" AS "x.n",
    l."_weight" AS "_weight"
  FROM _cql_instants AS i
  INNER JOIN _cql_alive0 AS l
    ON l."_cql_enter" <= i."_ts" AND l."_cql_leave" > i."_ts"
), _cql_results AS (
  SELECT
    _cql_again."k",
    _cql_again."n",
    _cql_instants."_ts" AS "_cql_at",
    _cql_instants."_cql_next"
  FROM _cql_instants
  CROSS JOIN LATERAL (
    SELECT
      k,
      n
    FROM (
      SELECT
        "x.k" AS "k",
        "x.n" AS "n"
      FROM (
        SELECT
          "x.k",
          "x.n",
          "_cql_at"
        FROM _cql_at0
      ) AS tuples
      WHERE
        "_cql_at" = _cql_instants."_ts"
    ) AS x
    ORDER BY
      n DESC,
      "x"."k",
      "x"."n"
    LIMIT 3
  ) AS _cql_again("k", "n")
)
SELECT
  "k",
  "n",
  "_ts",
  CAST(SUM("_weight") AS BIGINT) AS "_weight"
FROM (
  SELECT
    "k",
    "n",
    "_cql_at" AS "_ts",
    CAST(1 AS BIGINT) AS "_weight"
  FROM _cql_results
  WHERE
    "_cql_at" > $t0
  UNION ALL
  SELECT
    "k",
    "n",
    "_cql_next" AS "_ts",
    CAST(-1 AS BIGINT) AS "_weight"
  FROM _cql_results
  WHERE
    NOT "_cql_next" IS NULL
) AS elements
GROUP BY
  "k",
  "n",
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
      delta."s.k" IS NOT DISTINCT FROM kept."s.k"
  );

-- operator 3: keep their new state, in a tick of one instant, in stages
INSERT INTO cql_state."q_3_groups"
SELECT
  "s.k",
  "_cql_n"
FROM temp."_cql_delta_q_3"
WHERE
  "_cql_n" > 0;

-- title: a set operation has its sides as inputs
SELECT k FROM s [RANGE 10] EXCEPT ALL SELECT k FROM r LIMIT 3
----
-- operator 0: worked out again: LIMIT above an EXCEPT
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_0" AS
WITH _cql_alive0 AS (
  SELECT
    "k",
    "_ts" AS "_cql_enter",
    "_ts" + 11 AS "_cql_leave",
    CAST(1 AS BIGINT) AS "_weight"
  FROM temp."_cql_stream_s"()
  WHERE
    "_ts" > $since AND "_ts" <= $t1 AND "_ts" > $t0 - 11
), _cql_alive1 AS (
  SELECT
    "k",
    GREATEST("_cql_enter", $begin) AS "_cql_enter",
    "_cql_leave",
    CAST(1 AS BIGINT) AS "_weight"
  FROM cql_state."relation_r"
  WHERE
    "_cql_enter" <= $t1 AND "_cql_leave" > $t0 AND "_cql_leave" > $begin
), _cql_instants AS (
  SELECT
    "_ts",
    LEAD("_ts") OVER (ORDER BY "_ts") AS "_cql_next"
  FROM (
    SELECT
      "_ts"
    FROM (
      SELECT
        "_cql_enter" AS "_ts"
      FROM _cql_alive0
      WHERE
        "_cql_enter" > $t0 AND "_cql_enter" <= $t1
      UNION ALL
      SELECT
        "_cql_leave" AS "_ts"
      FROM _cql_alive0
      WHERE
        "_cql_leave" > $t0 AND "_cql_leave" <= $t1
      UNION ALL
      SELECT
        "_cql_enter" AS "_ts"
      FROM _cql_alive1
      WHERE
        "_cql_enter" > $t0 AND "_cql_enter" <= $t1
      UNION ALL
      SELECT
        "_cql_leave" AS "_ts"
      FROM _cql_alive1
      WHERE
        "_cql_leave" > $t0 AND "_cql_leave" <= $t1
      UNION ALL
      SELECT
        CAST($t0 AS BIGINT) AS "_ts"
      WHERE
        $begin <= $t0
      UNION ALL
      SELECT
        CAST($begin AS BIGINT) AS "_ts"
      WHERE
        $begin > $t0
    ) AS all_instants
    GROUP BY
      "_ts"
  ) AS distinct_instants
), _cql_at0 AS (
  SELECT
    i."_ts" AS "_cql_at",
    l."k" AS "k",
    l."_weight" AS "_weight"
  FROM _cql_instants AS i
  INNER JOIN _cql_alive0 AS l
    ON l."_cql_enter" <= i."_ts" AND l."_cql_leave" > i."_ts"
), _cql_at1 AS (
  SELECT
    i."_ts" AS "_cql_at",
    l."k" AS "k",
    l."_weight" AS "_weight"
  FROM _cql_instants AS i
  INNER JOIN _cql_alive1 AS l
    ON l."_cql_enter" <= i."_ts" AND l."_cql_leave" > i."_ts"
), _cql_results AS (
  SELECT
    _cql_again."k",
    _cql_instants."_ts" AS "_cql_at",
    _cql_instants."_cql_next"
  FROM _cql_instants
  CROSS JOIN LATERAL (
    SELECT
      *
    FROM (
      SELECT
        "k" AS "k"
      FROM (
        SELECT
          "k",
          "_cql_at"
        FROM _cql_at0
      ) AS tuples
      WHERE
        "_cql_at" = _cql_instants."_ts"
    ) AS side
    EXCEPT ALL
    SELECT
      *
    FROM (
      SELECT
        "k" AS "k"
      FROM (
        SELECT
          "k",
          "_cql_at"
        FROM _cql_at1
      ) AS tuples
      WHERE
        "_cql_at" = _cql_instants."_ts"
    ) AS side
    ORDER BY
      1
    LIMIT 3
  ) AS _cql_again("k")
)
SELECT
  "k",
  "_ts",
  CAST(SUM("_weight") AS BIGINT) AS "_weight"
FROM (
  SELECT
    "k",
    "_cql_at" AS "_ts",
    CAST(1 AS BIGINT) AS "_weight"
  FROM _cql_results
  WHERE
    "_cql_at" > $t0
  UNION ALL
  SELECT
    "k",
    "_cql_next" AS "_ts",
    CAST(-1 AS BIGINT) AS "_weight"
  FROM _cql_results
  WHERE
    NOT "_cql_next" IS NULL
) AS elements
GROUP BY
  "k",
  "_ts"
HAVING
  SUM("_weight") <> 0;

-- operator 0: write the elements of the answer
INSERT INTO cql_state."changes_q"
SELECT
  "k",
  "_ts",
  "_weight"
FROM temp."_cql_delta_q_0";
