-- title: a filter is linear: it reads the changes alone
SELECT k, v FROM s [RANGE 10] WHERE k > 1 AND v IS NOT NULL
----
-- operator 0: write the elements of the answer
INSERT INTO cql_state."changes_q"
SELECT
  "s.k" AS "k",
  "s.v" AS "v",
  "_ts",
  "_weight"
FROM (
  SELECT
    "k" AS "s.k",
    "v" AS "s.v",
    "_ts",
    CAST(1 AS BIGINT) AS "_weight"
  FROM temp."_cql_arrivals_s"($t0, $t1)
  UNION ALL
  SELECT
    "k" AS "s.k",
    "v" AS "s.v",
    "_ts" + 11 AS "_ts",
    -CAST(1 AS BIGINT) AS "_weight"
  FROM temp."_cql_stream_s"()
  WHERE
    "_ts" > $since AND "_ts" <= $t1 - 11 AND "_ts" > $t0 - 11
) AS input
WHERE
  "s.k" > 1 AND NOT "s.v" IS NULL;

-- title: a filter on a relation
SELECT name FROM r WHERE k = 1
----
-- operator 0: write the elements of the answer
INSERT INTO cql_state."changes_q"
SELECT
  "r.name" AS "name",
  "_ts",
  "_weight"
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
    "r.name",
    "_cql_enter" AS "_ts",
    "_weight"
  FROM lives
  WHERE
    "_cql_enter" > $t0
  UNION ALL
  SELECT
    "r.k",
    "r.name",
    "_cql_leave" AS "_ts",
    -"_weight" AS "_weight"
  FROM lives
  WHERE
    "_cql_leave" <= $t1
) AS input
WHERE
  "r.k" = 1;

-- title: HAVING is a filter above the aggregate
SELECT k FROM r GROUP BY k HAVING count(*) > 1
----
-- operator 2: the elements, summed up
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_sums_4838f31c441c" AS
SELECT
  "r.k",
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
) AS elements
GROUP BY
  "r.k",
  "_ts";

-- operator 2: the groups and instants that changed
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_2" AS
SELECT
  *,
  (
    "_cql_is" IS DISTINCT FROM "_cql_was"
    OR "count0" IS DISTINCT FROM "_cql_old_count0"
  ) AS "_cql_changed"
FROM (
  WITH before AS (
    SELECT
      "r.k",
      CAST($t0 AS BIGINT) AS "_ts",
      "_cql_n"
    FROM cql_state."q_2_groups" AS kept
    WHERE
      EXISTS(
        SELECT
          1
        FROM temp."_cql_sums_4838f31c441c" AS changes
        WHERE
          changes."r.k" IS NOT DISTINCT FROM kept."r.k"
      )
  ), running AS (
    SELECT
      "r.k",
      "_ts",
      CAST(SUM("_cql_n") OVER (PARTITION BY "r.k" ORDER BY "_ts") AS BIGINT) AS "_cql_n",
      "_cql_n" AS "_cql_d_n",
      "_cql_old",
      LEAD("_ts") OVER (PARTITION BY "r.k" ORDER BY "_ts") IS NULL AS "_cql_last"
    FROM (
      SELECT
        "r.k",
        "_ts",
        "_cql_n",
        TRUE AS "_cql_old"
      FROM before
      UNION ALL
      SELECT
        "r.k",
        "_ts",
        "_cql_n",
        FALSE AS "_cql_old"
      FROM temp."_cql_sums_4838f31c441c" AS changes
    ) AS history
  )
  SELECT
    r."r.k" AS "r.k",
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
  "r.k" AS "k",
  "_ts",
  CAST(SUM("_weight") AS BIGINT) AS "_weight"
FROM (
  SELECT
    "r.k",
    "_cql_old_count0" AS "count0",
    "_ts",
    CAST(-1 AS BIGINT) AS "_weight"
  FROM temp."_cql_delta_q_2"
  WHERE
    "_cql_was" AND "_cql_changed"
  UNION ALL
  SELECT
    "r.k",
    "count0",
    "_ts",
    CAST(1 AS BIGINT) AS "_weight"
  FROM temp."_cql_delta_q_2"
  WHERE
    "_cql_is" AND "_cql_changed"
) AS input
WHERE
  "count0" > 1
GROUP BY
  "r.k",
  "_ts"
HAVING
  SUM("_weight") <> 0;

-- operator 2: forget the old state of the groups that changed
DELETE FROM cql_state."q_2_groups" AS kept
WHERE
  EXISTS(
    SELECT
      1
    FROM temp."_cql_delta_q_2" AS delta
    WHERE
      "_cql_last" AND delta."r.k" IS NOT DISTINCT FROM kept."r.k"
  );

-- operator 2: keep their new state
INSERT INTO cql_state."q_2_groups"
SELECT
  "r.k",
  "_cql_n"
FROM temp."_cql_delta_q_2"
WHERE
  "_cql_last" AND "_cql_n" > 0;

-- operator 2: the elements, summed up, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_sums_c4adcf580a29" AS
SELECT
  "r.k",
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
) AS elements
GROUP BY
  "r.k";

-- operator 2: the groups and instants that changed, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_2" AS
SELECT
  *,
  (
    "_cql_is" IS DISTINCT FROM "_cql_was"
    OR "count0" IS DISTINCT FROM "_cql_old_count0"
  ) AS "_cql_changed"
FROM (
  SELECT
    r."r.k" AS "r.k",
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
      changes."r.k" AS "r.k",
      changes."_ts" AS "_ts",
      CAST(COALESCE(kept."_cql_n", 0) + changes."_cql_n" AS BIGINT) AS "_cql_n",
      changes."_cql_n" AS "_cql_d_n"
    FROM temp."_cql_sums_c4adcf580a29" AS changes
    LEFT JOIN cql_state."q_2_groups" AS kept
      ON changes."r.k" IS NOT DISTINCT FROM kept."r.k"
  ) AS r
) AS results;

-- operator 2: forget the old state of the groups that changed, in a tick of one instant, in stages
DELETE FROM cql_state."q_2_groups" AS kept
WHERE
  EXISTS(
    SELECT
      1
    FROM temp."_cql_delta_q_2" AS delta
    WHERE
      delta."r.k" IS NOT DISTINCT FROM kept."r.k"
  );

-- operator 2: keep their new state, in a tick of one instant, in stages
INSERT INTO cql_state."q_2_groups"
SELECT
  "r.k",
  "_cql_n"
FROM temp."_cql_delta_q_2"
WHERE
  "_cql_n" > 0;
