-- title: DISTINCT is grouping by all columns without aggregates
SELECT DISTINCT k FROM s [RANGE 10]
----
-- operator 0: the elements, summed up
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
    FROM temp."_cql_sums_aed1ee19bda1" AS changes
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

-- title: of what only grows it only grows, so its query yields an Istream
SELECT DISTINCT k, v FROM s
----
-- operator 1: the tuples that were not there yet
INSERT INTO cql_state."q_1_counts"
SELECT
  "k",
  "v",
  "_ts"
FROM (
  SELECT
    "k",
    "v",
    MIN("_ts") AS "_ts"
  FROM temp."_cql_arrivals_s"($t0, $t1)
  GROUP BY
    "k",
    "v"
) AS first
WHERE
  NOT EXISTS(
    SELECT
      1
    FROM cql_state."q_1_counts" AS kept
    WHERE
      first."k" IS NOT DISTINCT FROM kept."k"
      AND first."v" IS NOT DISTINCT FROM kept."v"
  );

-- operator 0: write the elements of the answer
INSERT INTO cql_state."changes_q"
SELECT
  "k",
  "v",
  "_ts",
  CAST(1 AS BIGINT) AS "_weight"
FROM cql_state."q_1_counts"
WHERE
  "_ts" > $t0;

-- operator 1: the tuples of the tick, each once, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_first_0f1d1f521771" AS
SELECT
  "k",
  "v",
  MIN("_ts") AS "_ts"
FROM temp."_cql_arrivals_s"($t0, $t1)
GROUP BY
  "k",
  "v";

-- operator 1: the tuples that were not there yet, in a tick of one instant, in stages
INSERT INTO cql_state."q_1_counts"
WITH here AS MATERIALIZED (
  SELECT
    "k",
    "v"
  FROM cql_state."q_1_counts" AS kept
  WHERE
    EXISTS(
      SELECT
        1
      FROM (
        SELECT
          *
        FROM temp."_cql_first_0f1d1f521771"
      ) AS first
      WHERE
        first."k" IS NOT DISTINCT FROM kept."k"
        AND first."v" IS NOT DISTINCT FROM kept."v"
    )
)
SELECT
  "k",
  "v",
  "_ts"
FROM (
  SELECT
    *
  FROM temp."_cql_first_0f1d1f521771"
) AS first
WHERE
  NOT EXISTS(
    SELECT
      1
    FROM here AS kept
    WHERE
      first."k" IS NOT DISTINCT FROM kept."k"
      AND first."v" IS NOT DISTINCT FROM kept."v"
  );
