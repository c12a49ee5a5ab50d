-- title: sums of DOUBLE are fixed-point; what does not fit is kept apart and added up anew
SELECT k, sum(d) AS total FROM s [RANGE 10] GROUP BY k
----
-- operator 1: the values that stay as they are
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_outliers_q_1" AS
SELECT
  "s.k",
  0 AS "_cql_call",
  CAST("s.d" AS DOUBLE) AS "_cql_value",
  "_ts",
  "_weight"
FROM (
  SELECT
    "k" AS "s.k",
    "d" AS "s.d",
    "_ts",
    CAST(1 AS BIGINT) AS "_weight"
  FROM temp."_cql_arrivals_s"($t0, $t1)
  UNION ALL
  SELECT
    "k" AS "s.k",
    "d" AS "s.d",
    "_ts" + 11 AS "_ts",
    -CAST(1 AS BIGINT) AS "_weight"
  FROM temp."_cql_stream_s"()
  WHERE
    "_ts" > $since AND "_ts" <= $t1 - 11 AND "_ts" > $t0 - 11
) AS elements
WHERE
  NOT (
    "s.d" = 0
    OR ABS("s.d") BETWEEN CAST(9.313225746154785e-10 AS DOUBLE) AND CAST(137438953472.0 AS DOUBLE)
  );

-- operator 1: the elements, summed up
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_sums_037c0a962032" AS
SELECT
  "s.k",
  "_ts",
  CAST(SUM("_weight") AS BIGINT) AS "_cql_n",
  CAST(SUM(CASE WHEN "s.d" IS NULL THEN 0 ELSE "_weight" END) AS BIGINT) AS "_cql_count0",
  CAST(COALESCE(
    SUM(
      CASE
        WHEN "s.d" = 0
        OR ABS("s.d") BETWEEN CAST(9.313225746154785e-10 AS DOUBLE) AND CAST(137438953472.0 AS DOUBLE)
        THEN CAST(CAST("s.d" AS DOUBLE) * CAST(1.152921504606847e+18 AS DOUBLE) AS INT128)
      END * "_weight"
    ),
    0
  ) AS INT128) AS "_cql_sum0"
FROM (
  SELECT
    "k" AS "s.k",
    "d" AS "s.d",
    "_ts",
    CAST(1 AS BIGINT) AS "_weight"
  FROM temp."_cql_arrivals_s"($t0, $t1)
  UNION ALL
  SELECT
    "k" AS "s.k",
    "d" AS "s.d",
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
    "_cql_is" IS DISTINCT FROM "_cql_was" OR "sum0" IS DISTINCT FROM "_cql_old_sum0"
  ) AS "_cql_changed"
FROM (
  WITH before AS (
    SELECT
      "s.k",
      CAST($t0 AS BIGINT) AS "_ts",
      "_cql_n",
      "_cql_count0",
      "_cql_sum0",
      "sum0"
    FROM cql_state."q_1_groups" AS kept
    WHERE
      EXISTS(
        SELECT
          1
        FROM temp."_cql_sums_037c0a962032" AS changes
        WHERE
          changes."s.k" IS NOT DISTINCT FROM kept."s.k"
      )
  ), running AS (
    SELECT
      "s.k",
      "_ts",
      CAST(SUM("_cql_n") OVER (PARTITION BY "s.k" ORDER BY "_ts") AS BIGINT) AS "_cql_n",
      "_cql_n" AS "_cql_d_n",
      CAST(SUM("_cql_count0") OVER (PARTITION BY "s.k" ORDER BY "_ts") AS BIGINT) AS "_cql_count0",
      "_cql_count0" AS "_cql_count0_d",
      CAST(SUM("_cql_sum0") OVER (PARTITION BY "s.k" ORDER BY "_ts") AS INT128) AS "_cql_sum0",
      "_cql_sum0" AS "_cql_sum0_d",
      "sum0",
      "_cql_old",
      LEAD("_ts") OVER (PARTITION BY "s.k" ORDER BY "_ts") IS NULL AS "_cql_last"
    FROM (
      SELECT
        "s.k",
        "_ts",
        "_cql_n",
        "_cql_count0",
        "_cql_sum0",
        "sum0",
        TRUE AS "_cql_old"
      FROM before
      UNION ALL
      SELECT
        "s.k",
        "_ts",
        "_cql_n",
        "_cql_count0",
        "_cql_sum0",
        CAST(NULL AS DOUBLE) AS "sum0",
        FALSE AS "_cql_old"
      FROM temp."_cql_sums_037c0a962032" AS changes
    ) AS history
  ), outlying AS (
    SELECT
      "s.k",
      "_ts",
      CASE
        WHEN ISNAN(SUM("_cql_value" * "_weight") FILTER(WHERE
          "_cql_call" = 0))
        THEN CAST('NaN' AS DOUBLE)
        ELSE (
          SUM("_cql_value" * "_weight") FILTER(WHERE
            "_cql_call" = 0)
        ) + CAST(0 AS DOUBLE)
      END AS "_cql_outlying0"
    FROM (
      SELECT
        r."s.k" AS "s.k",
        r."_ts" AS "_ts",
        "_cql_call",
        "_cql_value",
        SUM(o."_weight") AS "_weight"
      FROM running AS r
      INNER JOIN (
        SELECT
          "s.k",
          "_cql_call",
          "_cql_value",
          "_ts",
          "_weight"
        FROM cql_state."q_1_outliers"
        UNION ALL
        SELECT
          *
        FROM temp."_cql_outliers_q_1"
      ) AS o
        ON r."s.k" IS NOT DISTINCT FROM o."s.k" AND o."_ts" <= r."_ts"
      WHERE
        r."_ts" > $t0
      GROUP BY
        r."s.k",
        r."_ts",
        "_cql_call",
        "_cql_value"
      HAVING
        SUM(o."_weight") <> 0
    ) AS net
    GROUP BY
      "s.k",
      "_ts"
  ), valued AS (
    SELECT
      r."s.k" AS "s.k",
      r."_ts" AS "_ts",
      r."_cql_n" AS "_cql_n",
      r."_cql_d_n" AS "_cql_d_n",
      r."_cql_old" AS "_cql_old",
      r."_cql_last" AS "_cql_last",
      r."_cql_count0" AS "_cql_count0",
      r."_cql_count0_d" AS "_cql_count0_d",
      r."_cql_sum0" AS "_cql_sum0",
      r."_cql_sum0_d" AS "_cql_sum0_d",
      CASE
        WHEN r."_cql_old"
        THEN r."sum0"
        ELSE CASE
          WHEN r."_cql_count0" > 0
          THEN CAST((
            CAST(r."_cql_sum0" AS DOUBLE) / CAST(1.152921504606847e+18 AS DOUBLE) + COALESCE(outlying."_cql_outlying0", CAST(0.0 AS DOUBLE))
          ) AS DOUBLE)
        END
      END AS "sum0"
    FROM running AS r
    LEFT JOIN outlying
      ON r."s.k" IS NOT DISTINCT FROM outlying."s.k" AND outlying."_ts" = r."_ts"
  )
  SELECT
    r."s.k" AS "s.k",
    r."_ts" AS "_ts",
    r."_cql_n" AS "_cql_n",
    r."_cql_count0" AS "_cql_count0",
    r."_cql_sum0" AS "_cql_sum0",
    r."_cql_last" AS "_cql_last",
    r."_cql_n" > 0 AS "_cql_is",
    r."_cql_n" - r."_cql_d_n" > 0 AS "_cql_was",
    r."sum0" AS "sum0",
    r."_cql_old_sum0" AS "_cql_old_sum0"
  FROM (
    SELECT
      *,
      LAG("sum0") OVER (PARTITION BY "s.k" ORDER BY "_ts") AS "_cql_old_sum0"
    FROM valued
  ) AS r
  WHERE
    r."_ts" > $t0
) AS results;

-- operator 0: write the elements of the answer
INSERT INTO cql_state."changes_q"
SELECT
  "s.k" AS "k",
  "_cql_old_sum0" AS "total",
  "_ts",
  CAST(-1 AS BIGINT) AS "_weight"
FROM temp."_cql_delta_q_1"
WHERE
  "_cql_was" AND "_cql_changed"
UNION ALL
SELECT
  "s.k" AS "k",
  "sum0" AS "total",
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
  "_cql_count0",
  "_cql_sum0",
  "sum0"
FROM temp."_cql_delta_q_1"
WHERE
  "_cql_last" AND "_cql_n" > 0;

-- operator 1: keep the outliers
INSERT INTO cql_state."q_1_outliers"
SELECT
  *
FROM temp."_cql_outliers_q_1";

-- operator 1: the elements, summed up, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_sums_e1415b84d929" AS
SELECT
  "s.k",
  CAST($t1 AS BIGINT) AS "_ts",
  CAST(SUM("_weight") AS BIGINT) AS "_cql_n",
  CAST(SUM(CASE WHEN "s.d" IS NULL THEN 0 ELSE "_weight" END) AS BIGINT) AS "_cql_count0",
  CAST(COALESCE(
    SUM(
      CASE
        WHEN "s.d" = 0
        OR ABS("s.d") BETWEEN CAST(9.313225746154785e-10 AS DOUBLE) AND CAST(137438953472.0 AS DOUBLE)
        THEN CAST(CAST("s.d" AS DOUBLE) * CAST(1.152921504606847e+18 AS DOUBLE) AS INT128)
      END * "_weight"
    ),
    0
  ) AS INT128) AS "_cql_sum0"
FROM (
  SELECT
    "k" AS "s.k",
    "d" AS "s.d",
    "_ts",
    CAST(1 AS BIGINT) AS "_weight"
  FROM temp."_cql_arrivals_s"($t0, $t1)
  UNION ALL
  SELECT
    "k" AS "s.k",
    "d" AS "s.d",
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
    "_cql_is" IS DISTINCT FROM "_cql_was" OR "sum0" IS DISTINCT FROM "_cql_old_sum0"
  ) AS "_cql_changed"
FROM (
  WITH running AS (
    SELECT
      changes."s.k" AS "s.k",
      changes."_ts" AS "_ts",
      CAST(COALESCE(kept."_cql_n", 0) + changes."_cql_n" AS BIGINT) AS "_cql_n",
      changes."_cql_n" AS "_cql_d_n",
      CAST(COALESCE(kept."_cql_count0", 0) + changes."_cql_count0" AS BIGINT) AS "_cql_count0",
      changes."_cql_count0" AS "_cql_count0_d",
      CAST(COALESCE(kept."_cql_sum0", 0) + changes."_cql_sum0" AS INT128) AS "_cql_sum0",
      changes."_cql_sum0" AS "_cql_sum0_d",
      kept."sum0" AS "sum0"
    FROM temp."_cql_sums_e1415b84d929" AS changes
    LEFT JOIN cql_state."q_1_groups" AS kept
      ON changes."s.k" IS NOT DISTINCT FROM kept."s.k"
  ), outlying AS (
    SELECT
      "s.k",
      "_ts",
      CASE
        WHEN ISNAN(SUM("_cql_value" * "_weight") FILTER(WHERE
          "_cql_call" = 0))
        THEN CAST('NaN' AS DOUBLE)
        ELSE (
          SUM("_cql_value" * "_weight") FILTER(WHERE
            "_cql_call" = 0)
        ) + CAST(0 AS DOUBLE)
      END AS "_cql_outlying0"
    FROM (
      SELECT
        r."s.k" AS "s.k",
        r."_ts" AS "_ts",
        "_cql_call",
        "_cql_value",
        SUM(o."_weight") AS "_weight"
      FROM running AS r
      INNER JOIN (
        SELECT
          "s.k",
          "_cql_call",
          "_cql_value",
          "_ts",
          "_weight"
        FROM cql_state."q_1_outliers"
        UNION ALL
        SELECT
          *
        FROM temp."_cql_outliers_q_1"
      ) AS o
        ON r."s.k" IS NOT DISTINCT FROM o."s.k" AND o."_ts" <= r."_ts"
      WHERE
        r."_ts" > $t0
      GROUP BY
        r."s.k",
        r."_ts",
        "_cql_call",
        "_cql_value"
      HAVING
        SUM(o."_weight") <> 0
    ) AS net
    GROUP BY
      "s.k",
      "_ts"
  ), valued AS (
    SELECT
      r."s.k" AS "s.k",
      r."_ts" AS "_ts",
      r."_cql_n" AS "_cql_n",
      r."_cql_d_n" AS "_cql_d_n",
      r."_cql_count0" AS "_cql_count0",
      r."_cql_count0_d" AS "_cql_count0_d",
      r."_cql_sum0" AS "_cql_sum0",
      r."_cql_sum0_d" AS "_cql_sum0_d",
      CASE
        WHEN r."_cql_count0" > 0
        THEN CAST((
          CAST(r."_cql_sum0" AS DOUBLE) / CAST(1.152921504606847e+18 AS DOUBLE) + COALESCE(outlying."_cql_outlying0", CAST(0.0 AS DOUBLE))
        ) AS DOUBLE)
      END AS "sum0",
      r."sum0" AS "_cql_old_sum0"
    FROM running AS r
    LEFT JOIN outlying
      ON r."s.k" IS NOT DISTINCT FROM outlying."s.k" AND outlying."_ts" = r."_ts"
  )
  SELECT
    r."s.k" AS "s.k",
    r."_ts" AS "_ts",
    r."_cql_n" AS "_cql_n",
    r."_cql_count0" AS "_cql_count0",
    r."_cql_sum0" AS "_cql_sum0",
    r."_cql_n" > 0 AS "_cql_is",
    r."_cql_n" - r."_cql_d_n" > 0 AS "_cql_was",
    r."sum0" AS "sum0",
    r."_cql_old_sum0" AS "_cql_old_sum0"
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
  "_cql_count0",
  "_cql_sum0",
  "sum0"
FROM temp."_cql_delta_q_1"
WHERE
  "_cql_n" > 0;

-- title: two of them share the table of outliers
SELECT sum(d) AS total, avg(d * 2) AS mean FROM s [RANGE 10]
----
-- operator 1: the values that stay as they are
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_outliers_q_1" AS
SELECT
  0 AS "_cql_call",
  CAST("s.d" AS DOUBLE) AS "_cql_value",
  "_ts",
  "_weight"
FROM (
  SELECT
    "d" AS "s.d",
    "_ts",
    CAST(1 AS BIGINT) AS "_weight"
  FROM temp."_cql_arrivals_s"($t0, $t1)
  UNION ALL
  SELECT
    "d" AS "s.d",
    "_ts" + 11 AS "_ts",
    -CAST(1 AS BIGINT) AS "_weight"
  FROM temp."_cql_stream_s"()
  WHERE
    "_ts" > $since AND "_ts" <= $t1 - 11 AND "_ts" > $t0 - 11
) AS input
WHERE
  NOT (
    "s.d" = 0
    OR ABS("s.d") BETWEEN CAST(9.313225746154785e-10 AS DOUBLE) AND CAST(137438953472.0 AS DOUBLE)
  )
UNION ALL
SELECT
  1 AS "_cql_call",
  CAST((
    "s.d" * 2
  ) AS DOUBLE) AS "_cql_value",
  "_ts",
  "_weight"
FROM (
  SELECT
    "d" AS "s.d",
    "_ts",
    CAST(1 AS BIGINT) AS "_weight"
  FROM temp."_cql_arrivals_s"($t0, $t1)
  UNION ALL
  SELECT
    "d" AS "s.d",
    "_ts" + 11 AS "_ts",
    -CAST(1 AS BIGINT) AS "_weight"
  FROM temp."_cql_stream_s"()
  WHERE
    "_ts" > $since AND "_ts" <= $t1 - 11 AND "_ts" > $t0 - 11
) AS input
WHERE
  NOT (
    (
      "s.d" * 2
    ) = 0
    OR ABS((
      "s.d" * 2
    )) BETWEEN CAST(9.313225746154785e-10 AS DOUBLE) AND CAST(137438953472.0 AS DOUBLE)
  );

-- operator 1: the elements, summed up
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_sums_8ed6b4f238e2" AS
SELECT
  "_ts",
  CAST(SUM("_cql_n") AS BIGINT) AS "_cql_n",
  CAST(SUM("_cql_count0") AS BIGINT) AS "_cql_count0",
  CAST(SUM("_cql_sum0") AS INT128) AS "_cql_sum0",
  CAST(SUM("_cql_count1") AS BIGINT) AS "_cql_count1",
  CAST(SUM("_cql_sum1") AS INT128) AS "_cql_sum1"
FROM (
  SELECT
    "_ts",
    CAST(SUM("_weight") AS BIGINT) AS "_cql_n",
    CAST(SUM(CASE WHEN "s.d" IS NULL THEN 0 ELSE "_weight" END) AS BIGINT) AS "_cql_count0",
    CAST(COALESCE(
      SUM(
        CASE
          WHEN "s.d" = 0
          OR ABS("s.d") BETWEEN CAST(9.313225746154785e-10 AS DOUBLE) AND CAST(137438953472.0 AS DOUBLE)
          THEN CAST(CAST("s.d" AS DOUBLE) * CAST(1.152921504606847e+18 AS DOUBLE) AS INT128)
        END * "_weight"
      ),
      0
    ) AS INT128) AS "_cql_sum0",
    CAST(SUM(CASE WHEN (
      "s.d" * 2
    ) IS NULL THEN 0 ELSE "_weight" END) AS BIGINT) AS "_cql_count1",
    CAST(COALESCE(
      SUM(
        CASE
          WHEN (
            "s.d" * 2
          ) = 0
          OR ABS((
            "s.d" * 2
          )) BETWEEN CAST(9.313225746154785e-10 AS DOUBLE) AND CAST(137438953472.0 AS DOUBLE)
          THEN CAST(CAST((
            "s.d" * 2
          ) AS DOUBLE) * CAST(1.152921504606847e+18 AS DOUBLE) AS INT128)
        END * "_weight"
      ),
      0
    ) AS INT128) AS "_cql_sum1"
  FROM (
    SELECT
      "d" AS "s.d",
      "_ts",
      CAST(1 AS BIGINT) AS "_weight"
    FROM temp."_cql_arrivals_s"($t0, $t1)
    UNION ALL
    SELECT
      "d" AS "s.d",
      "_ts" + 11 AS "_ts",
      -CAST(1 AS BIGINT) AS "_weight"
    FROM temp."_cql_stream_s"()
    WHERE
      "_ts" > $since AND "_ts" <= $t1 - 11 AND "_ts" > $t0 - 11
  ) AS input
  GROUP BY
    "_ts"
  UNION ALL
  SELECT
    CAST($begin AS BIGINT) AS "_ts",
    CAST(0 AS BIGINT) AS "_cql_n",
    CAST(0 AS BIGINT) AS "_cql_count0",
    CAST(0 AS INT128) AS "_cql_sum0",
    CAST(0 AS BIGINT) AS "_cql_count1",
    CAST(0 AS INT128) AS "_cql_sum1"
  WHERE
    $begin > $t0
) AS "both"
GROUP BY
  "_ts";

-- operator 1: the groups and instants that changed
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_1" AS
SELECT
  *,
  (
    "_cql_is" IS DISTINCT FROM "_cql_was"
    OR "sum0" IS DISTINCT FROM "_cql_old_sum0"
    OR "avg1" IS DISTINCT FROM "_cql_old_avg1"
  ) AS "_cql_changed"
FROM (
  WITH before AS (
    SELECT
      CAST($t0 AS BIGINT) AS "_ts",
      "_cql_n",
      "_cql_count0",
      "_cql_sum0",
      "_cql_count1",
      "_cql_sum1",
      "sum0",
      "avg1"
    FROM cql_state."q_1_groups" AS kept
    WHERE
      EXISTS(
        SELECT
          1
        FROM temp."_cql_sums_8ed6b4f238e2" AS changes
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
      CAST(SUM("_cql_count1") OVER (ORDER BY "_ts") AS BIGINT) AS "_cql_count1",
      "_cql_count1" AS "_cql_count1_d",
      CAST(SUM("_cql_sum1") OVER (ORDER BY "_ts") AS INT128) AS "_cql_sum1",
      "_cql_sum1" AS "_cql_sum1_d",
      "sum0",
      "avg1",
      "_cql_old",
      LEAD("_ts") OVER (ORDER BY "_ts") IS NULL AS "_cql_last"
    FROM (
      SELECT
        "_ts",
        "_cql_n",
        "_cql_count0",
        "_cql_sum0",
        "_cql_count1",
        "_cql_sum1",
        "sum0",
        "avg1",
        TRUE AS "_cql_old"
      FROM before
      UNION ALL
      SELECT
        "_ts",
        "_cql_n",
        "_cql_count0",
        "_cql_sum0",
        "_cql_count1",
        "_cql_sum1",
        CAST(NULL AS DOUBLE) AS "sum0",
        CAST(NULL AS DOUBLE) AS "avg1",
        FALSE AS "_cql_old"
      FROM temp."_cql_sums_8ed6b4f238e2" AS changes
    ) AS history
  ), outlying AS (
    SELECT
      "_ts",
      CASE
        WHEN ISNAN(SUM("_cql_value" * "_weight") FILTER(WHERE
          "_cql_call" = 0))
        THEN CAST('NaN' AS DOUBLE)
        ELSE (
          SUM("_cql_value" * "_weight") FILTER(WHERE
            "_cql_call" = 0)
        ) + CAST(0 AS DOUBLE)
      END AS "_cql_outlying0",
      CASE
        WHEN ISNAN(SUM("_cql_value" * "_weight") FILTER(WHERE
          "_cql_call" = 1))
        THEN CAST('NaN' AS DOUBLE)
        ELSE (
          SUM("_cql_value" * "_weight") FILTER(WHERE
            "_cql_call" = 1)
        ) + CAST(0 AS DOUBLE)
      END AS "_cql_outlying1"
    FROM (
      SELECT
        r."_ts" AS "_ts",
        "_cql_call",
        "_cql_value",
        SUM(o."_weight") AS "_weight"
      FROM running AS r
      INNER JOIN (
        SELECT
          "_cql_call",
          "_cql_value",
          "_ts",
          "_weight"
        FROM cql_state."q_1_outliers"
        UNION ALL
        SELECT
          *
        FROM temp."_cql_outliers_q_1"
      ) AS o
        ON TRUE AND o."_ts" <= r."_ts"
      WHERE
        r."_ts" > $t0
      GROUP BY
        r."_ts",
        "_cql_call",
        "_cql_value"
      HAVING
        SUM(o."_weight") <> 0
    ) AS net
    GROUP BY
      "_ts"
  ), valued AS (
    SELECT
      r."_ts" AS "_ts",
      r."_cql_n" AS "_cql_n",
      r."_cql_d_n" AS "_cql_d_n",
      r."_cql_old" AS "_cql_old",
      r."_cql_last" AS "_cql_last",
      r."_cql_count0" AS "_cql_count0",
      r."_cql_count0_d" AS "_cql_count0_d",
      r."_cql_sum0" AS "_cql_sum0",
      r."_cql_sum0_d" AS "_cql_sum0_d",
      r."_cql_count1" AS "_cql_count1",
      r."_cql_count1_d" AS "_cql_count1_d",
      r."_cql_sum1" AS "_cql_sum1",
      r."_cql_sum1_d" AS "_cql_sum1_d",
      CASE
        WHEN r."_cql_old"
        THEN r."sum0"
        ELSE CASE
          WHEN r."_cql_count0" > 0
          THEN CAST((
            CAST(r."_cql_sum0" AS DOUBLE) / CAST(1.152921504606847e+18 AS DOUBLE) + COALESCE(outlying."_cql_outlying0", CAST(0.0 AS DOUBLE))
          ) AS DOUBLE)
        END
      END AS "sum0",
      CASE
        WHEN r."_cql_old"
        THEN r."avg1"
        ELSE CASE
          WHEN r."_cql_count1" > 0
          THEN CAST(CAST((
            CAST(r."_cql_sum1" AS DOUBLE) / CAST(1.152921504606847e+18 AS DOUBLE) + COALESCE(outlying."_cql_outlying1", CAST(0.0 AS DOUBLE))
          ) AS DOUBLE) / r."_cql_count1" + CAST(0.0 AS DOUBLE) AS DOUBLE)
        END
      END AS "avg1"
    FROM running AS r
    LEFT JOIN outlying
      ON TRUE AND outlying."_ts" = r."_ts"
  )
  SELECT
    r."_ts" AS "_ts",
    r."_cql_n" AS "_cql_n",
    r."_cql_count0" AS "_cql_count0",
    r."_cql_sum0" AS "_cql_sum0",
    r."_cql_count1" AS "_cql_count1",
    r."_cql_sum1" AS "_cql_sum1",
    r."_cql_last" AS "_cql_last",
    TRUE AS "_cql_is",
    r."_ts" > $begin AS "_cql_was",
    r."sum0" AS "sum0",
    r."_cql_old_sum0" AS "_cql_old_sum0",
    r."avg1" AS "avg1",
    r."_cql_old_avg1" AS "_cql_old_avg1"
  FROM (
    SELECT
      *,
      LAG("sum0") OVER (ORDER BY "_ts") AS "_cql_old_sum0",
      LAG("avg1") OVER (ORDER BY "_ts") AS "_cql_old_avg1"
    FROM valued
  ) AS r
  WHERE
    r."_ts" > $t0
) AS results;

-- operator 0: write the elements of the answer
INSERT INTO cql_state."changes_q"
SELECT
  "_cql_old_sum0" AS "total",
  "_cql_old_avg1" AS "mean",
  "_ts",
  CAST(-1 AS BIGINT) AS "_weight"
FROM temp."_cql_delta_q_1"
WHERE
  "_cql_was" AND "_cql_changed"
UNION ALL
SELECT
  "sum0" AS "total",
  "avg1" AS "mean",
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
  "_cql_count0",
  "_cql_sum0",
  "_cql_count1",
  "_cql_sum1",
  "sum0",
  "avg1"
FROM temp."_cql_delta_q_1"
WHERE
  "_cql_last";

-- operator 1: keep the outliers
INSERT INTO cql_state."q_1_outliers"
SELECT
  *
FROM temp."_cql_outliers_q_1";

-- operator 1: the groups and instants that changed, in a tick of one instant, in stages
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_1" AS
SELECT
  *,
  (
    "_cql_is" IS DISTINCT FROM "_cql_was"
    OR "sum0" IS DISTINCT FROM "_cql_old_sum0"
    OR "avg1" IS DISTINCT FROM "_cql_old_avg1"
  ) AS "_cql_changed"
FROM (
  WITH running AS (
    SELECT
      changes."_ts" AS "_ts",
      CAST(COALESCE(kept."_cql_n", 0) + changes."_cql_n" AS BIGINT) AS "_cql_n",
      changes."_cql_n" AS "_cql_d_n",
      CAST(COALESCE(kept."_cql_count0", 0) + changes."_cql_count0" AS BIGINT) AS "_cql_count0",
      changes."_cql_count0" AS "_cql_count0_d",
      CAST(COALESCE(kept."_cql_sum0", 0) + changes."_cql_sum0" AS INT128) AS "_cql_sum0",
      changes."_cql_sum0" AS "_cql_sum0_d",
      CAST(COALESCE(kept."_cql_count1", 0) + changes."_cql_count1" AS BIGINT) AS "_cql_count1",
      changes."_cql_count1" AS "_cql_count1_d",
      CAST(COALESCE(kept."_cql_sum1", 0) + changes."_cql_sum1" AS INT128) AS "_cql_sum1",
      changes."_cql_sum1" AS "_cql_sum1_d",
      kept."sum0" AS "sum0",
      kept."avg1" AS "avg1"
    FROM temp."_cql_sums_8ed6b4f238e2" AS changes
    LEFT JOIN cql_state."q_1_groups" AS kept
      ON TRUE
  ), outlying AS (
    SELECT
      "_ts",
      CASE
        WHEN ISNAN(SUM("_cql_value" * "_weight") FILTER(WHERE
          "_cql_call" = 0))
        THEN CAST('NaN' AS DOUBLE)
        ELSE (
          SUM("_cql_value" * "_weight") FILTER(WHERE
            "_cql_call" = 0)
        ) + CAST(0 AS DOUBLE)
      END AS "_cql_outlying0",
      CASE
        WHEN ISNAN(SUM("_cql_value" * "_weight") FILTER(WHERE
          "_cql_call" = 1))
        THEN CAST('NaN' AS DOUBLE)
        ELSE (
          SUM("_cql_value" * "_weight") FILTER(WHERE
            "_cql_call" = 1)
        ) + CAST(0 AS DOUBLE)
      END AS "_cql_outlying1"
    FROM (
      SELECT
        r."_ts" AS "_ts",
        "_cql_call",
        "_cql_value",
        SUM(o."_weight") AS "_weight"
      FROM running AS r
      INNER JOIN (
        SELECT
          "_cql_call",
          "_cql_value",
          "_ts",
          "_weight"
        FROM cql_state."q_1_outliers"
        UNION ALL
        SELECT
          *
        FROM temp."_cql_outliers_q_1"
      ) AS o
        ON TRUE AND o."_ts" <= r."_ts"
      WHERE
        r."_ts" > $t0
      GROUP BY
        r."_ts",
        "_cql_call",
        "_cql_value"
      HAVING
        SUM(o."_weight") <> 0
    ) AS net
    GROUP BY
      "_ts"
  ), valued AS (
    SELECT
      r."_ts" AS "_ts",
      r."_cql_n" AS "_cql_n",
      r."_cql_d_n" AS "_cql_d_n",
      r."_cql_count0" AS "_cql_count0",
      r."_cql_count0_d" AS "_cql_count0_d",
      r."_cql_sum0" AS "_cql_sum0",
      r."_cql_sum0_d" AS "_cql_sum0_d",
      r."_cql_count1" AS "_cql_count1",
      r."_cql_count1_d" AS "_cql_count1_d",
      r."_cql_sum1" AS "_cql_sum1",
      r."_cql_sum1_d" AS "_cql_sum1_d",
      CASE
        WHEN r."_cql_count0" > 0
        THEN CAST((
          CAST(r."_cql_sum0" AS DOUBLE) / CAST(1.152921504606847e+18 AS DOUBLE) + COALESCE(outlying."_cql_outlying0", CAST(0.0 AS DOUBLE))
        ) AS DOUBLE)
      END AS "sum0",
      r."sum0" AS "_cql_old_sum0",
      CASE
        WHEN r."_cql_count1" > 0
        THEN CAST(CAST((
          CAST(r."_cql_sum1" AS DOUBLE) / CAST(1.152921504606847e+18 AS DOUBLE) + COALESCE(outlying."_cql_outlying1", CAST(0.0 AS DOUBLE))
        ) AS DOUBLE) / r."_cql_count1" + CAST(0.0 AS DOUBLE) AS DOUBLE)
      END AS "avg1",
      r."avg1" AS "_cql_old_avg1"
    FROM running AS r
    LEFT JOIN outlying
      ON TRUE AND outlying."_ts" = r."_ts"
  )
  SELECT
    r."_ts" AS "_ts",
    r."_cql_n" AS "_cql_n",
    r."_cql_count0" AS "_cql_count0",
    r."_cql_sum0" AS "_cql_sum0",
    r."_cql_count1" AS "_cql_count1",
    r."_cql_sum1" AS "_cql_sum1",
    TRUE AS "_cql_is",
    r."_ts" > $begin AS "_cql_was",
    r."sum0" AS "sum0",
    r."_cql_old_sum0" AS "_cql_old_sum0",
    r."avg1" AS "avg1",
    r."_cql_old_avg1" AS "_cql_old_avg1"
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
      TRUE
  );

-- operator 1: keep their new state, in a tick of one instant, in stages
INSERT INTO cql_state."q_1_groups"
SELECT
  "_cql_n",
  "_cql_count0",
  "_cql_sum0",
  "_cql_count1",
  "_cql_sum1",
  "sum0",
  "avg1"
FROM temp."_cql_delta_q_1";
