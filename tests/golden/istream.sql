-- title: the net elements that are positive
SELECT Istream(k, v) FROM s [ROWS 3]
----
-- operator 2: the rows that come, and whom they push out
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_2" AS
WITH arrivals AS (
  SELECT
    "k" AS "s.k",
    "v" AS "s.v",
    "_ts",
    "_cql_seq"
  FROM temp."_cql_arrivals_s"($t0, $t1)
)
SELECT
  "s.k",
  "s.v",
  "_ts",
  "_ts" AS "_cql_enter",
  COALESCE(LEAD("_ts", 3) OVER (ORDER BY "_ts", "_cql_seq"), 9223372036854775807) AS "_cql_leave",
  "_cql_seq"
FROM (
  SELECT
    "s.k",
    "s.v",
    "_ts",
    "_cql_seq"
  FROM cql_state."q_2_rows" AS kept
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
    "_ts",
    "_cql_seq"
  FROM arrivals
) AS rows;

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
      "s.k",
      "s.v",
      "_cql_enter",
      "_cql_leave",
      CAST(1 AS BIGINT) AS "_weight"
    FROM temp."_cql_delta_q_2"
    WHERE
      "_cql_enter" < "_cql_leave" AND (
        "_cql_enter" > $t0 OR "_cql_leave" <= $t1
      )
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
  SUM("_weight") > 0;

-- operator 2: forget the rows that left
DELETE FROM cql_state."q_2_rows"
WHERE
  "_cql_seq" IN (
    SELECT
      "_cql_seq"
    FROM temp."_cql_delta_q_2"
    WHERE
      "_cql_leave" <= $t1
  );

-- operator 2: keep the rows that came
INSERT INTO cql_state."q_2_rows"
SELECT
  "s.k",
  "s.v",
  "_ts",
  "_cql_seq"
FROM temp."_cql_delta_q_2"
WHERE
  "_ts" > $t0 AND "_cql_leave" > $t1
ORDER BY
  "_cql_seq";

-- operator 2: the rows that come, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_arrivals_eeb81522f552" AS
SELECT
  "k" AS "s.k",
  "v" AS "s.v",
  "_ts",
  "_cql_seq"
FROM temp."_cql_arrivals_s"($t0, $t1);

-- operator 2: the rows that come, and whom they push out, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_2" AS
WITH arrivals AS (
  SELECT
    *
  FROM temp."_cql_arrivals_eeb81522f552"
)
SELECT
  "s.k",
  "s.v",
  "_ts",
  "_ts" AS "_cql_enter",
  COALESCE(LEAD("_ts", 3) OVER (ORDER BY "_ts", "_cql_seq"), 9223372036854775807) AS "_cql_leave",
  "_cql_seq"
FROM (
  SELECT
    "s.k",
    "s.v",
    "_ts",
    "_cql_seq"
  FROM cql_state."q_2_rows" AS kept
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
    "_ts",
    "_cql_seq"
  FROM arrivals
) AS rows;

-- title: around the whole SELECT, DISTINCT included
SELECT Istream(DISTINCT k) FROM s [RANGE 10]
----
-- operator 1: the elements, summed up
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

-- operator 1: the groups and instants that changed
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_1" AS
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
    FROM cql_state."q_1_groups" AS kept
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
  "k",
  "_ts",
  CAST(SUM("_weight") AS BIGINT) AS "_weight"
FROM (
  SELECT
    "k",
    "_ts",
    CAST(-1 AS BIGINT) AS "_weight"
  FROM temp."_cql_delta_q_1"
  WHERE
    "_cql_was" AND "_cql_changed"
  UNION ALL
  SELECT
    "k",
    "_ts",
    CAST(1 AS BIGINT) AS "_weight"
  FROM temp."_cql_delta_q_1"
  WHERE
    "_cql_is" AND "_cql_changed"
) AS elements
GROUP BY
  "k",
  "_ts"
HAVING
  SUM("_weight") > 0;

-- operator 1: forget the old state of the groups that changed
DELETE FROM cql_state."q_1_groups" AS kept
WHERE
  EXISTS(
    SELECT
      1
    FROM temp."_cql_delta_q_1" AS delta
    WHERE
      "_cql_last" AND delta."k" IS NOT DISTINCT FROM kept."k"
  );

-- operator 1: keep their new state
INSERT INTO cql_state."q_1_groups"
SELECT
  "k",
  "_cql_n"
FROM temp."_cql_delta_q_1"
WHERE
  "_cql_last" AND "_cql_n" > 0;

-- operator 1: the elements, summed up, in a tick of one instant, in stages
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

-- operator 1: the groups and instants that changed, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_1" AS
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
    LEFT JOIN cql_state."q_1_groups" AS kept
      ON changes."k" IS NOT DISTINCT FROM kept."k"
  ) AS r
) AS results;

-- operator 1: forget the old state of the groups that changed, in a tick of one instant, in stages
DELETE FROM cql_state."q_1_groups" AS kept
WHERE
  EXISTS(
    SELECT
      1
    FROM temp."_cql_delta_q_1" AS delta
    WHERE
      delta."k" IS NOT DISTINCT FROM kept."k"
  );

-- operator 1: keep their new state, in a tick of one instant, in stages
INSERT INTO cql_state."q_1_groups"
SELECT
  "k",
  "_cql_n"
FROM temp."_cql_delta_q_1"
WHERE
  "_cql_n" > 0;

-- title: a relation's insertions, net at each instant
Istream(SELECT name FROM r WHERE k > 1)
----
-- operator 0: write the elements of the answer
INSERT INTO cql_state."changes_q"
SELECT
  "r.name" AS "name",
  "_ts",
  CAST(SUM("_weight") AS BIGINT) AS "_weight"
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
  "r.k" > 1
GROUP BY
  "r.name",
  "_ts"
HAVING
  SUM("_weight") > 0;
