-- title: EXCEPT counts each tuple on both sides
SELECT k FROM s [RANGE 10] EXCEPT SELECT k FROM r
----
-- operator 0: the tuples and instants that changed
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_0" AS
WITH changes AS (
  SELECT
    "k",
    "_ts",
    CAST(SUM("_cql_n0") AS BIGINT) AS "_cql_n0",
    CAST(SUM("_cql_n1") AS BIGINT) AS "_cql_n1"
  FROM (
    SELECT
      "k",
      "_ts",
      "_weight" AS "_cql_n0",
      CAST(0 AS BIGINT) AS "_cql_n1"
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
    ) AS elements0
    UNION ALL
    SELECT
      "k",
      "_ts",
      CAST(0 AS BIGINT) AS "_cql_n0",
      "_weight" AS "_cql_n1"
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
    ) AS elements1
  ) AS elements
  GROUP BY
    "k",
    "_ts"
  HAVING
    SUM("_cql_n0") <> 0 OR SUM("_cql_n1") <> 0
), before AS (
  SELECT
    "k",
    CAST($t0 AS BIGINT) AS "_ts",
    "_cql_n0",
    "_cql_n1"
  FROM cql_state."q_0_counts" AS kept
  WHERE
    EXISTS(
      SELECT
        1
      FROM changes
      WHERE
        changes."k" IS NOT DISTINCT FROM kept."k"
    )
), running AS (
  SELECT
    "k",
    "_ts",
    CAST(SUM("_cql_n0") OVER (PARTITION BY "k" ORDER BY "_ts" ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS BIGINT) AS "_cql_n0",
    CAST(SUM("_cql_n1") OVER (PARTITION BY "k" ORDER BY "_ts" ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS BIGINT) AS "_cql_n1",
    "_cql_n0" AS "_cql_n0_d",
    "_cql_n1" AS "_cql_n1_d",
    LEAD("_ts") OVER (PARTITION BY "k" ORDER BY "_ts") IS NULL AS "_cql_last"
  FROM (
    SELECT
      "k",
      "_ts",
      "_cql_n0",
      "_cql_n1"
    FROM before
    UNION ALL
    SELECT
      "k",
      "_ts",
      "_cql_n0",
      "_cql_n1"
    FROM changes
  ) AS history
)
SELECT
  "k",
  "_ts",
  "_cql_n0",
  "_cql_n1",
  CAST("_cql_n0" > 0 AND "_cql_n1" <= 0 AS BIGINT) AS "_weight",
  CAST((
    "_cql_n0" - "_cql_n0_d"
  ) > 0 AND (
    "_cql_n1" - "_cql_n1_d"
  ) <= 0 AS BIGINT) AS "_cql_was",
  "_cql_last"
FROM running
WHERE
  "_ts" > $t0;

-- operator 0: write the elements of the answer
INSERT INTO cql_state."changes_q"
SELECT
  "k",
  "_ts",
  CAST(SUM((
    "_weight" - "_cql_was"
  )) AS BIGINT) AS "_weight"
FROM temp."_cql_delta_q_0"
WHERE
  "_weight" <> "_cql_was"
GROUP BY
  "k",
  "_ts"
HAVING
  SUM((
    "_weight" - "_cql_was"
  )) <> 0;

-- operator 0: forget the old counts of the tuples that changed
DELETE FROM cql_state."q_0_counts" AS kept
WHERE
  EXISTS(
    SELECT
      1
    FROM temp."_cql_delta_q_0" AS delta
    WHERE
      "_cql_last" AND delta."k" IS NOT DISTINCT FROM kept."k"
  );

-- operator 0: keep their new counts
INSERT INTO cql_state."q_0_counts"
SELECT
  "k",
  "_cql_n0",
  "_cql_n1"
FROM temp."_cql_delta_q_0"
WHERE
  "_cql_last" AND (
    "_cql_n0" <> 0 OR "_cql_n1" <> 0
  );

-- operator 0: the elements, summed up, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_sums_2047a8e86b53" AS
SELECT
  "k",
  "_ts",
  CAST(SUM("_cql_n0") AS BIGINT) AS "_cql_n0",
  CAST(SUM("_cql_n1") AS BIGINT) AS "_cql_n1"
FROM (
  SELECT
    "k",
    "_ts",
    "_weight" AS "_cql_n0",
    CAST(0 AS BIGINT) AS "_cql_n1"
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
  ) AS elements0
  UNION ALL
  SELECT
    "k",
    "_ts",
    CAST(0 AS BIGINT) AS "_cql_n0",
    "_weight" AS "_cql_n1"
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
  ) AS elements1
) AS elements
GROUP BY
  "k",
  "_ts"
HAVING
  SUM("_cql_n0") <> 0 OR SUM("_cql_n1") <> 0;

-- operator 0: the tuples and instants that changed, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_0" AS
WITH changes AS (
  SELECT
    *
  FROM temp."_cql_sums_2047a8e86b53"
), before AS (
  SELECT
    "k",
    CAST($t0 AS BIGINT) AS "_ts",
    "_cql_n0",
    "_cql_n1"
  FROM cql_state."q_0_counts" AS kept
  WHERE
    EXISTS(
      SELECT
        1
      FROM changes
      WHERE
        changes."k" IS NOT DISTINCT FROM kept."k"
    )
), running AS (
  SELECT
    "k",
    "_ts",
    CAST(SUM("_cql_n0") OVER (PARTITION BY "k" ORDER BY "_ts" ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS BIGINT) AS "_cql_n0",
    CAST(SUM("_cql_n1") OVER (PARTITION BY "k" ORDER BY "_ts" ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS BIGINT) AS "_cql_n1",
    "_cql_n0" AS "_cql_n0_d",
    "_cql_n1" AS "_cql_n1_d",
    LEAD("_ts") OVER (PARTITION BY "k" ORDER BY "_ts") IS NULL AS "_cql_last"
  FROM (
    SELECT
      "k",
      "_ts",
      "_cql_n0",
      "_cql_n1"
    FROM before
    UNION ALL
    SELECT
      "k",
      "_ts",
      "_cql_n0",
      "_cql_n1"
    FROM changes
  ) AS history
)
SELECT
  "k",
  "_ts",
  "_cql_n0",
  "_cql_n1",
  CAST("_cql_n0" > 0 AND "_cql_n1" <= 0 AS BIGINT) AS "_weight",
  CAST((
    "_cql_n0" - "_cql_n0_d"
  ) > 0 AND (
    "_cql_n1" - "_cql_n1_d"
  ) <= 0 AS BIGINT) AS "_cql_was",
  "_cql_last"
FROM running
WHERE
  "_ts" > $t0;

-- title: INTERSECT ALL has a tuple as often as the side that has it less often
SELECT k FROM s [RANGE 10] INTERSECT ALL SELECT k FROM r
----
-- operator 0: the tuples and instants that changed
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_0" AS
WITH changes AS (
  SELECT
    "k",
    "_ts",
    CAST(SUM("_cql_n0") AS BIGINT) AS "_cql_n0",
    CAST(SUM("_cql_n1") AS BIGINT) AS "_cql_n1"
  FROM (
    SELECT
      "k",
      "_ts",
      "_weight" AS "_cql_n0",
      CAST(0 AS BIGINT) AS "_cql_n1"
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
    ) AS elements0
    UNION ALL
    SELECT
      "k",
      "_ts",
      CAST(0 AS BIGINT) AS "_cql_n0",
      "_weight" AS "_cql_n1"
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
    ) AS elements1
  ) AS elements
  GROUP BY
    "k",
    "_ts"
  HAVING
    SUM("_cql_n0") <> 0 OR SUM("_cql_n1") <> 0
), before AS (
  SELECT
    "k",
    CAST($t0 AS BIGINT) AS "_ts",
    "_cql_n0",
    "_cql_n1"
  FROM cql_state."q_0_counts" AS kept
  WHERE
    EXISTS(
      SELECT
        1
      FROM changes
      WHERE
        changes."k" IS NOT DISTINCT FROM kept."k"
    )
), running AS (
  SELECT
    "k",
    "_ts",
    CAST(SUM("_cql_n0") OVER (PARTITION BY "k" ORDER BY "_ts" ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS BIGINT) AS "_cql_n0",
    CAST(SUM("_cql_n1") OVER (PARTITION BY "k" ORDER BY "_ts" ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS BIGINT) AS "_cql_n1",
    "_cql_n0" AS "_cql_n0_d",
    "_cql_n1" AS "_cql_n1_d",
    LEAD("_ts") OVER (PARTITION BY "k" ORDER BY "_ts") IS NULL AS "_cql_last"
  FROM (
    SELECT
      "k",
      "_ts",
      "_cql_n0",
      "_cql_n1"
    FROM before
    UNION ALL
    SELECT
      "k",
      "_ts",
      "_cql_n0",
      "_cql_n1"
    FROM changes
  ) AS history
)
SELECT
  "k",
  "_ts",
  "_cql_n0",
  "_cql_n1",
  CAST(LEAST("_cql_n0", "_cql_n1") AS BIGINT) AS "_weight",
  CAST(LEAST((
    "_cql_n0" - "_cql_n0_d"
  ), (
    "_cql_n1" - "_cql_n1_d"
  )) AS BIGINT) AS "_cql_was",
  "_cql_last"
FROM running
WHERE
  "_ts" > $t0;

-- operator 0: write the elements of the answer
INSERT INTO cql_state."changes_q"
SELECT
  "k",
  "_ts",
  CAST(SUM((
    "_weight" - "_cql_was"
  )) AS BIGINT) AS "_weight"
FROM temp."_cql_delta_q_0"
WHERE
  "_weight" <> "_cql_was"
GROUP BY
  "k",
  "_ts"
HAVING
  SUM((
    "_weight" - "_cql_was"
  )) <> 0;

-- operator 0: forget the old counts of the tuples that changed
DELETE FROM cql_state."q_0_counts" AS kept
WHERE
  EXISTS(
    SELECT
      1
    FROM temp."_cql_delta_q_0" AS delta
    WHERE
      "_cql_last" AND delta."k" IS NOT DISTINCT FROM kept."k"
  );

-- operator 0: keep their new counts
INSERT INTO cql_state."q_0_counts"
SELECT
  "k",
  "_cql_n0",
  "_cql_n1"
FROM temp."_cql_delta_q_0"
WHERE
  "_cql_last" AND (
    "_cql_n0" <> 0 OR "_cql_n1" <> 0
  );

-- operator 0: the elements, summed up, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_sums_2047a8e86b53" AS
SELECT
  "k",
  "_ts",
  CAST(SUM("_cql_n0") AS BIGINT) AS "_cql_n0",
  CAST(SUM("_cql_n1") AS BIGINT) AS "_cql_n1"
FROM (
  SELECT
    "k",
    "_ts",
    "_weight" AS "_cql_n0",
    CAST(0 AS BIGINT) AS "_cql_n1"
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
  ) AS elements0
  UNION ALL
  SELECT
    "k",
    "_ts",
    CAST(0 AS BIGINT) AS "_cql_n0",
    "_weight" AS "_cql_n1"
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
  ) AS elements1
) AS elements
GROUP BY
  "k",
  "_ts"
HAVING
  SUM("_cql_n0") <> 0 OR SUM("_cql_n1") <> 0;

-- operator 0: the tuples and instants that changed, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_0" AS
WITH changes AS (
  SELECT
    *
  FROM temp."_cql_sums_2047a8e86b53"
), before AS (
  SELECT
    "k",
    CAST($t0 AS BIGINT) AS "_ts",
    "_cql_n0",
    "_cql_n1"
  FROM cql_state."q_0_counts" AS kept
  WHERE
    EXISTS(
      SELECT
        1
      FROM changes
      WHERE
        changes."k" IS NOT DISTINCT FROM kept."k"
    )
), running AS (
  SELECT
    "k",
    "_ts",
    CAST(SUM("_cql_n0") OVER (PARTITION BY "k" ORDER BY "_ts" ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS BIGINT) AS "_cql_n0",
    CAST(SUM("_cql_n1") OVER (PARTITION BY "k" ORDER BY "_ts" ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS BIGINT) AS "_cql_n1",
    "_cql_n0" AS "_cql_n0_d",
    "_cql_n1" AS "_cql_n1_d",
    LEAD("_ts") OVER (PARTITION BY "k" ORDER BY "_ts") IS NULL AS "_cql_last"
  FROM (
    SELECT
      "k",
      "_ts",
      "_cql_n0",
      "_cql_n1"
    FROM before
    UNION ALL
    SELECT
      "k",
      "_ts",
      "_cql_n0",
      "_cql_n1"
    FROM changes
  ) AS history
)
SELECT
  "k",
  "_ts",
  "_cql_n0",
  "_cql_n1",
  CAST(LEAST("_cql_n0", "_cql_n1") AS BIGINT) AS "_weight",
  CAST(LEAST((
    "_cql_n0" - "_cql_n0_d"
  ), (
    "_cql_n1" - "_cql_n1_d"
  )) AS BIGINT) AS "_cql_was",
  "_cql_last"
FROM running
WHERE
  "_ts" > $t0;
