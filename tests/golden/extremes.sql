-- title: of what only grows, min and max are running extremes
SELECT k, min(v) AS least, max(v) AS most FROM s GROUP BY k
----
-- operator 1: the groups and instants that changed
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_1" AS
WITH changes AS (
  SELECT
    "s.k",
    "_ts",
    CAST(SUM("_weight") AS BIGINT) AS "_cql_n",
    MIN("s.v") AS "_cql_extreme0",
    MAX("s.v") AS "_cql_extreme1"
  FROM (
    SELECT
      "s.k",
      "s.v",
      "_ts",
      "_weight"
    FROM (
      SELECT
        "s.k",
        "s.v",
        "_ts",
        "_weight"
      FROM (
        SELECT
          "k" AS "s.k",
          "v" AS "s.v",
          "_ts",
          CAST(1 AS BIGINT) AS "_weight"
        FROM cql_state."stream_s"
        WHERE
          (
            "_ts" > $since AND "_ts" <= $t1
          ) AND "_ts" > $t0
      ) AS stream
      WHERE
        "_ts" > $t0 AND "_ts" <= $t1
    ) AS input
  ) AS elements
  GROUP BY
    "s.k",
    "_ts"
), before AS (
  SELECT
    "s.k",
    CAST($t0 AS BIGINT) AS "_ts",
    "_cql_n",
    "_cql_extreme0",
    "_cql_extreme1"
  FROM cql_state."q_1_groups" AS kept
  WHERE
    EXISTS(
      SELECT
        1
      FROM changes
      WHERE
        changes."s.k" IS NOT DISTINCT FROM kept."s.k"
    )
), running AS (
  SELECT
    "s.k",
    "_ts",
    CAST(SUM("_cql_n") OVER (PARTITION BY "s.k" ORDER BY "_ts") AS BIGINT) AS "_cql_n",
    "_cql_n" AS "_cql_d_n",
    MIN("_cql_extreme0") OVER (PARTITION BY "s.k" ORDER BY "_ts") AS "_cql_extreme0",
    MIN("_cql_extreme0") OVER (PARTITION BY "s.k" ORDER BY "_ts" ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS "_cql_extreme0_d",
    MAX("_cql_extreme1") OVER (PARTITION BY "s.k" ORDER BY "_ts") AS "_cql_extreme1",
    MAX("_cql_extreme1") OVER (PARTITION BY "s.k" ORDER BY "_ts" ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS "_cql_extreme1_d",
    LAG("_ts") OVER (PARTITION BY "s.k" ORDER BY "_ts") AS "_cql_previous",
    LEAD("_ts") OVER (PARTITION BY "s.k" ORDER BY "_ts") IS NULL AS "_cql_last"
  FROM (
    SELECT
      "s.k",
      "_ts",
      "_cql_n",
      "_cql_extreme0",
      "_cql_extreme1"
    FROM before
    UNION ALL
    SELECT
      "s.k",
      "_ts",
      "_cql_n",
      "_cql_extreme0",
      "_cql_extreme1"
    FROM changes
  ) AS history
)
SELECT
  *,
  (
    "_cql_is" IS DISTINCT FROM "_cql_was"
    OR "_cql_new_min0" IS DISTINCT FROM "_cql_old_min0"
    OR "_cql_new_max1" IS DISTINCT FROM "_cql_old_max1"
  ) AS "_cql_changed"
FROM (
  SELECT
    r."s.k" AS "s.k",
    r."_ts" AS "_ts",
    r."_cql_n" AS "_cql_n",
    r."_cql_extreme0" AS "_cql_extreme0",
    r."_cql_extreme1" AS "_cql_extreme1",
    r."_cql_last" AS "_cql_last",
    r."_cql_n" > 0 AS "_cql_is",
    r."_cql_n" - r."_cql_d_n" > 0 AS "_cql_was",
    r."_cql_extreme0" AS "_cql_new_min0",
    r."_cql_extreme0_d" AS "_cql_old_min0",
    r."_cql_extreme1" AS "_cql_new_max1",
    r."_cql_extreme1_d" AS "_cql_old_max1"
  FROM running AS r
  WHERE
    r."_ts" > $t0
) AS results;

-- operator 0: write the elements of the answer
INSERT INTO cql_state."changes_q"
SELECT
  "k",
  "least",
  "most",
  _ts,
  _weight
FROM (
  SELECT
    "k",
    "least",
    "most",
    "_ts",
    CAST(SUM("_weight") AS BIGINT) AS "_weight"
  FROM (
    SELECT
      "s.k" AS "k",
      "min0" AS "least",
      "max1" AS "most",
      "_ts",
      "_weight"
    FROM (
      SELECT
        "s.k",
        "_cql_old_min0" AS "min0",
        "_cql_old_max1" AS "max1",
        "_ts",
        CAST(-1 AS BIGINT) AS "_weight"
      FROM temp."_cql_delta_q_1"
      WHERE
        "_cql_was" AND "_cql_changed"
      UNION ALL
      SELECT
        "s.k",
        "_cql_new_min0" AS "min0",
        "_cql_new_max1" AS "max1",
        "_ts",
        CAST(1 AS BIGINT) AS "_weight"
      FROM temp."_cql_delta_q_1"
      WHERE
        "_cql_is" AND "_cql_changed"
    ) AS input
  ) AS elements
  GROUP BY
    "k",
    "least",
    "most",
    "_ts"
  HAVING
    SUM("_weight") <> 0
) AS output;

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
  "_cql_extreme0",
  "_cql_extreme1"
FROM temp."_cql_delta_q_1"
WHERE
  "_cql_last" AND "_cql_n" > 0;

-- title: of what shrinks, they are worked out again where something changed
SELECT k, max(v) AS most FROM s [RANGE 10] GROUP BY k
----
-- operator 1: the groups and instants that changed
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_1" AS
WITH changes AS (
  SELECT
    "s.k",
    "_ts",
    CAST(SUM("_weight") AS BIGINT) AS "_cql_n"
  FROM (
    SELECT
      "s.k",
      "s.v",
      "_ts",
      "_weight"
    FROM (
      SELECT
        "s.k",
        "s.v",
        "_ts",
        "_weight"
      FROM (
        SELECT
          "k" AS "s.k",
          "v" AS "s.v",
          "_ts",
          CAST(1 AS BIGINT) AS "_weight"
        FROM cql_state."stream_s"
        WHERE
          (
            "_ts" > $since AND "_ts" <= $t1
          ) AND "_ts" > $t0
      ) AS stream
      WHERE
        "_ts" > $t0 AND "_ts" <= $t1
      UNION ALL
      SELECT
        "s.k",
        "s.v",
        "_ts" + 11 AS "_ts",
        -"_weight" AS "_weight"
      FROM (
        SELECT
          "k" AS "s.k",
          "v" AS "s.v",
          "_ts",
          CAST(1 AS BIGINT) AS "_weight"
        FROM cql_state."stream_s"
        WHERE
          (
            "_ts" > $since AND "_ts" <= $t1 - 10
          ) AND "_ts" > $t0 - 11
      ) AS stream
      WHERE
        "_ts" + 11 > $t0 AND "_ts" + 11 <= $t1
    ) AS input
  ) AS elements
  GROUP BY
    "s.k",
    "_ts"
), before AS (
  SELECT
    "s.k",
    CAST($t0 AS BIGINT) AS "_ts",
    "_cql_n"
  FROM cql_state."q_1_groups" AS kept
  WHERE
    EXISTS(
      SELECT
        1
      FROM changes
      WHERE
        changes."s.k" IS NOT DISTINCT FROM kept."s.k"
    )
), running AS (
  SELECT
    "s.k",
    "_ts",
    CAST(SUM("_cql_n") OVER (PARTITION BY "s.k" ORDER BY "_ts") AS BIGINT) AS "_cql_n",
    "_cql_n" AS "_cql_d_n",
    LAG("_ts") OVER (PARTITION BY "s.k" ORDER BY "_ts") AS "_cql_previous",
    LEAD("_ts") OVER (PARTITION BY "s.k" ORDER BY "_ts") IS NULL AS "_cql_last"
  FROM (
    SELECT
      "s.k",
      "_ts",
      "_cql_n"
    FROM before
    UNION ALL
    SELECT
      "s.k",
      "_ts",
      "_cql_n"
    FROM changes
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
      MAX("s.v") FILTER(WHERE
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
          "s.k",
          "s.v",
          "_cql_enter",
          "_cql_leave",
          "_weight"
        FROM (
          SELECT
            "s.k",
            "s.v",
            "_ts" AS "_cql_enter",
            "_ts" + 11 AS "_cql_leave",
            "_weight"
          FROM (
            SELECT
              "k" AS "s.k",
              "v" AS "s.v",
              "_ts",
              CAST(1 AS BIGINT) AS "_weight"
            FROM cql_state."stream_s"
            WHERE
              (
                "_ts" > $since AND "_ts" <= $t1
              ) AND "_ts" > $t0 - 11
          ) AS stream
          WHERE
            "_ts" <= $t1 AND "_ts" + 11 > $t0
        ) AS input
      ) AS l
      WHERE
        EXISTS(
          SELECT
            1
          FROM running
          WHERE
            running."s.k" IS NOT DISTINCT FROM l."s.k"
        )
      UNION ALL
      SELECT
        "s.k",
        NULL AS "s.v",
        "_ts",
        FALSE AS "_cql_row"
      FROM running
    ) AS log
  ) AS framed
  WHERE
    NOT "_cql_row"
)
SELECT
  *,
  (
    "_cql_is" IS DISTINCT FROM "_cql_was"
    OR "_cql_new_max0" IS DISTINCT FROM "_cql_old_max0"
  ) AS "_cql_changed"
FROM (
  SELECT
    r."s.k" AS "s.k",
    r."_ts" AS "_ts",
    r."_cql_n" AS "_cql_n",
    r."_cql_last" AS "_cql_last",
    r."_cql_n" > 0 AS "_cql_is",
    r."_cql_n" - r."_cql_d_n" > 0 AS "_cql_was",
    again_new."_cql_again0" AS "_cql_new_max0",
    again_old."_cql_again0" AS "_cql_old_max0"
  FROM running AS r
  LEFT JOIN again AS again_new
    ON r."s.k" IS NOT DISTINCT FROM again_new."s.k" AND again_new."_ts" = r."_ts"
  LEFT JOIN again AS again_old
    ON r."s.k" IS NOT DISTINCT FROM again_old."s.k"
    AND again_old."_ts" = r."_cql_previous"
  WHERE
    r."_ts" > $t0
) AS results;

-- operator 0: write the elements of the answer
INSERT INTO cql_state."changes_q"
SELECT
  "k",
  "most",
  _ts,
  _weight
FROM (
  SELECT
    "k",
    "most",
    "_ts",
    CAST(SUM("_weight") AS BIGINT) AS "_weight"
  FROM (
    SELECT
      "s.k" AS "k",
      "max0" AS "most",
      "_ts",
      "_weight"
    FROM (
      SELECT
        "s.k",
        "_cql_old_max0" AS "max0",
        "_ts",
        CAST(-1 AS BIGINT) AS "_weight"
      FROM temp."_cql_delta_q_1"
      WHERE
        "_cql_was" AND "_cql_changed"
      UNION ALL
      SELECT
        "s.k",
        "_cql_new_max0" AS "max0",
        "_ts",
        CAST(1 AS BIGINT) AS "_weight"
      FROM temp."_cql_delta_q_1"
      WHERE
        "_cql_is" AND "_cql_changed"
    ) AS input
  ) AS elements
  GROUP BY
    "k",
    "most",
    "_ts"
  HAVING
    SUM("_weight") <> 0
) AS output;

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
  "_cql_n"
FROM temp."_cql_delta_q_1"
WHERE
  "_cql_last" AND "_cql_n" > 0;
