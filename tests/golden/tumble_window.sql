-- title: without keys a tumbling window has a result at all instants: a pane at a time, read from the log no more
SELECT max(v) AS top, count(*) AS n FROM s [TUMBLE 5]
----
-- operator 1: the panes that begin
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_panes_a4e0320d8d9a" AS
SELECT
  "_cql_enter" AS "_ts",
  COUNT(*) AS "_cql_n",
  MAX("s.v") AS "max0",
  COUNT(*) AS "count1"
FROM (
  SELECT
    "v" AS "s.v",
    (
      (
        "_ts"
      ) - (
        "_ts"
      ) % 5 - CASE WHEN (
        "_ts"
      ) % 5 < 0 THEN 5 ELSE 0 END
    ) + 5 AS "_cql_enter"
  FROM temp."_cql_stream_s"()
  WHERE
    "_ts" > $since
    AND "_ts" <= (
      (
        $t1
      ) - (
        $t1
      ) % 5 - CASE WHEN (
        $t1
      ) % 5 < 0 THEN 5 ELSE 0 END
    ) - 1
    AND "_ts" > (
      (
        $t0
      ) - (
        $t0
      ) % 5 - CASE WHEN (
        $t0
      ) % 5 < 0 THEN 5 ELSE 0 END
    ) - 1
) AS tuples
GROUP BY
  "_cql_enter";

-- operator 1: the groups and instants that changed
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_1" AS
SELECT
  *,
  (
    "_cql_is" IS DISTINCT FROM "_cql_was"
    OR "max0" IS DISTINCT FROM "_cql_old_max0"
    OR "count1" IS DISTINCT FROM "_cql_old_count1"
  ) AS "_cql_changed"
FROM (
  WITH nothing AS (
    SELECT
      MAX("s.v") AS "max0",
      COUNT(*) AS "count1"
    FROM (
      SELECT
        CAST(NULL AS BIGINT) AS "s.v"
    ) AS tuples
    WHERE
      FALSE
  ), log AS (
    SELECT
      (
        (
          $t0
        ) - (
          $t0
        ) % 5 - CASE WHEN (
          $t0
        ) % 5 < 0 THEN 5 ELSE 0 END
      ) AS "_ts",
      "_cql_n",
      "max0",
      "count1"
    FROM cql_state."q_1_groups"
    UNION ALL
    SELECT
      "_ts",
      "_cql_n",
      "max0",
      "count1"
    FROM temp."_cql_panes_a4e0320d8d9a"
    UNION ALL
    SELECT
      CAST($begin AS BIGINT) AS "_ts",
      CAST(0 AS BIGINT) AS "_cql_n",
      (
        SELECT
          "max0"
        FROM nothing
      ) AS "max0",
      (
        SELECT
          "count1"
        FROM nothing
      ) AS "count1"
    WHERE
      $begin > $t0
  ), steps AS (
    SELECT
      *,
      LAG("_ts") OVER (ORDER BY "_ts") AS "_cql_before",
      LAG("_cql_n") OVER (ORDER BY "_ts") AS "_cql_found_cql_n",
      LAG("max0") OVER (ORDER BY "_ts") AS "_cql_found_max0",
      LAG("count1") OVER (ORDER BY "_ts") AS "_cql_found_count1",
      LEAD("_ts") OVER (ORDER BY "_ts") AS "_cql_next"
    FROM log
  )
  SELECT
    "_ts",
    "_cql_n",
    "max0",
    "count1",
    CASE
      WHEN COALESCE("_cql_before" = "_ts" - 5, FALSE) OR "_cql_found_cql_n" = 0
      THEN "_cql_found_max0"
      ELSE (
        SELECT
          "max0"
        FROM nothing
      )
    END AS "_cql_old_max0",
    CASE
      WHEN COALESCE("_cql_before" = "_ts" - 5, FALSE) OR "_cql_found_cql_n" = 0
      THEN "_cql_found_count1"
      ELSE (
        SELECT
          "count1"
        FROM nothing
      )
    END AS "_cql_old_count1",
    "_cql_next" IS NULL
    AND NOT (
      "_cql_n" > 0 AND NOT COALESCE("_cql_next" = "_ts" + 5, FALSE) AND "_ts" + 5 <= $t1
    ) AS "_cql_last",
    TRUE AS "_cql_is",
    "_ts" > $begin AS "_cql_was"
  FROM steps
  WHERE
    "_ts" > $t0
  UNION ALL
  SELECT
    "_ts" + 5 AS "_ts",
    CAST(0 AS BIGINT) AS "_cql_n",
    (
      SELECT
        "max0"
      FROM nothing
    ) AS "max0",
    (
      SELECT
        "count1"
      FROM nothing
    ) AS "count1",
    "max0" AS "_cql_old_max0",
    "count1" AS "_cql_old_count1",
    "_cql_next" IS NULL AS "_cql_last",
    TRUE AS "_cql_is",
    TRUE AS "_cql_was"
  FROM steps
  WHERE
    "_cql_n" > 0 AND NOT COALESCE("_cql_next" = "_ts" + 5, FALSE) AND "_ts" + 5 <= $t1
) AS results;

-- operator 0: write the elements of the answer
INSERT INTO cql_state."changes_q"
SELECT
  "_cql_old_max0" AS "top",
  "_cql_old_count1" AS "n",
  "_ts",
  CAST(-1 AS BIGINT) AS "_weight"
FROM temp."_cql_delta_q_1"
WHERE
  "_cql_was" AND "_cql_changed"
UNION ALL
SELECT
  "max0" AS "top",
  "count1" AS "n",
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
      "_cql_last" AND TRUE
  );

-- operator 1: keep their new state
INSERT INTO cql_state."q_1_groups"
SELECT
  "_cql_n",
  "max0",
  "count1"
FROM temp."_cql_delta_q_1"
WHERE
  "_cql_last";
