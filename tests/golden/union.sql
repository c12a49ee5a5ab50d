-- title: UNION ALL is linear: the changes of both sides
SELECT k, v FROM s [RANGE 10] UNION ALL SELECT k, w FROM t [RANGE 5]
----
-- operator 0: write the elements of the answer
INSERT INTO cql_state."changes_q"
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
  "k",
  "w" AS "v",
  "_ts",
  CAST(1 AS BIGINT) AS "_weight"
FROM temp."_cql_arrivals_t"($t0, $t1)
UNION ALL
SELECT
  "k",
  "w" AS "v",
  "_ts" + 6 AS "_ts",
  -CAST(1 AS BIGINT) AS "_weight"
FROM temp."_cql_stream_t"()
WHERE
  "_ts" > $since AND "_ts" <= $t1 - 6 AND "_ts" > $t0 - 6;

-- title: UNION is a set
SELECT k FROM s [RANGE 10] UNION SELECT k FROM r
----
-- operator 0: the elements, summed up
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_sums_7f994e3b69f8" AS
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
  UNION ALL
  SELECT
    "k",
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
      "r.k" AS "k",
      "_cql_enter" AS "_ts",
      "_weight"
    FROM lives
    WHERE
      "_cql_enter" > $t0
    UNION ALL
    SELECT
      "r.k" AS "k",
      "_cql_leave" AS "_ts",
      -"_weight" AS "_weight"
    FROM lives
    WHERE
      "_cql_leave" <= $t1
  ) AS arm
) AS elements
GROUP BY
  "k",
  "_ts";

-- operator 0: the groups and instants that changed
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_0" AS
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
    FROM cql_state."q_0_groups" AS kept
    WHERE
      EXISTS(
        SELECT
          1
        FROM temp."_cql_sums_7f994e3b69f8" AS changes
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
      FROM temp."_cql_sums_7f994e3b69f8" AS changes
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
  CAST(-1 AS BIGINT) AS "_weight"
FROM temp."_cql_delta_q_0"
WHERE
  "_cql_was" AND "_cql_changed"
UNION ALL
SELECT
  "k",
  "_ts",
  CAST(1 AS BIGINT) AS "_weight"
FROM temp."_cql_delta_q_0"
WHERE
  "_cql_is" AND "_cql_changed";

-- operator 0: forget the old state of the groups that changed
DELETE FROM cql_state."q_0_groups" AS kept
WHERE
  EXISTS(
    SELECT
      1
    FROM temp."_cql_delta_q_0" AS delta
    WHERE
      "_cql_last" AND delta."k" IS NOT DISTINCT FROM kept."k"
  );

-- operator 0: keep their new state
INSERT INTO cql_state."q_0_groups"
SELECT
  "k",
  "_cql_n"
FROM temp."_cql_delta_q_0"
WHERE
  "_cql_last" AND "_cql_n" > 0;

-- operator 0: the elements, summed up, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_sums_0c4451eeded3" AS
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
  UNION ALL
  SELECT
    "k",
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
      "r.k" AS "k",
      "_cql_enter" AS "_ts",
      "_weight"
    FROM lives
    WHERE
      "_cql_enter" > $t0
    UNION ALL
    SELECT
      "r.k" AS "k",
      "_cql_leave" AS "_ts",
      -"_weight" AS "_weight"
    FROM lives
    WHERE
      "_cql_leave" <= $t1
  ) AS arm
) AS elements
GROUP BY
  "k";

-- operator 0: the groups and instants that changed, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_0" AS
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
    FROM temp."_cql_sums_0c4451eeded3" AS changes
    LEFT JOIN cql_state."q_0_groups" AS kept
      ON changes."k" IS NOT DISTINCT FROM kept."k"
  ) AS r
) AS results;

-- operator 0: forget the old state of the groups that changed, in a tick of one instant, in stages
DELETE FROM cql_state."q_0_groups" AS kept
WHERE
  EXISTS(
    SELECT
      1
    FROM temp."_cql_delta_q_0" AS delta
    WHERE
      delta."k" IS NOT DISTINCT FROM kept."k"
  );

-- operator 0: keep their new state, in a tick of one instant, in stages
INSERT INTO cql_state."q_0_groups"
SELECT
  "k",
  "_cql_n"
FROM temp."_cql_delta_q_0"
WHERE
  "_cql_n" > 0;

-- title: a side of another type is cast to the type of both
SELECT v FROM s [RANGE 10] UNION ALL SELECT k FROM r
----
-- operator 0: write the elements of the answer
INSERT INTO cql_state."changes_q"
SELECT
  "v",
  "_ts",
  CAST(1 AS BIGINT) AS "_weight"
FROM temp."_cql_arrivals_s"($t0, $t1)
UNION ALL
SELECT
  "v",
  "_ts" + 11 AS "_ts",
  -CAST(1 AS BIGINT) AS "_weight"
FROM temp."_cql_stream_s"()
WHERE
  "_ts" > $since AND "_ts" <= $t1 - 11 AND "_ts" > $t0 - 11
UNION ALL
SELECT
  CAST("k" AS BIGINT) AS "v",
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
    "r.k" AS "k",
    "_cql_enter" AS "_ts",
    "_weight"
  FROM lives
  WHERE
    "_cql_enter" > $t0
  UNION ALL
  SELECT
    "r.k" AS "k",
    "_cql_leave" AS "_ts",
    -"_weight" AS "_weight"
  FROM lives
  WHERE
    "_cql_leave" <= $t1
) AS input;
