-- title: a comparison with the current time cuts lifetimes at instants that a tuple's columns give
CREATE STREAM IF NOT EXISTS u (t BIGINT, until_ BIGINT) TIMESTAMP BY t;
SELECT t FROM u [RANGE 10] WHERE until_ >= current_timestamp
----
-- operator 0: write the elements of the answer
INSERT INTO cql_state."changes_q"
WITH lives AS (
  SELECT
    "u.t",
    "u.until_",
    "_cql_enter",
    "_cql_leave",
    "_weight"
  FROM (
    SELECT
      "u.t",
      "u.until_",
      "_cql_enter",
      LEAST("_cql_leave", "_cql_to0") AS "_cql_leave",
      "_weight"
    FROM (
      SELECT
        "t" AS "u.t",
        "until_" AS "u.until_",
        "_ts" AS "_cql_enter",
        "_ts" + 11 AS "_cql_leave",
        CAST(1 AS BIGINT) AS "_weight",
        CASE
          WHEN CAST("until_" AS INT128) > 9200000000000000000
          THEN 9200000000000000000
          WHEN CAST("until_" AS INT128) < -9200000000000000000
          THEN -9200000000000000000
          ELSE CAST(CAST("until_" AS INT128) AS BIGINT)
        END + 1 AS "_cql_to0"
      FROM temp."_cql_stream_u"()
      WHERE
        "_ts" > $since AND "_ts" <= $t1 AND "_ts" > $t0 - 11
    ) AS limited
    WHERE
      NOT "_cql_to0" IS NULL
  ) AS cut
  WHERE
    "_cql_enter" <= $t1
    AND "_cql_leave" > $t0
    AND "_cql_enter" < "_cql_leave"
    AND (
      "_cql_enter" > $t0 OR "_cql_leave" <= $t1
    )
)
SELECT
  "u.t" AS "t",
  "_cql_enter" AS "_ts",
  "_weight"
FROM lives
WHERE
  "_cql_enter" > $t0
UNION ALL
SELECT
  "u.t" AS "t",
  "_cql_leave" AS "_ts",
  -"_weight" AS "_weight"
FROM lives
WHERE
  "_cql_leave" <= $t1;

-- title: a timestamp that is compared bounds what an unbounded window reads
CREATE STREAM IF NOT EXISTS u (t BIGINT, until_ BIGINT) TIMESTAMP BY t;
SELECT t FROM u WHERE t > current_timestamp - 5
----
-- operator 0: write the elements of the answer
INSERT INTO cql_state."changes_q"
WITH lives AS (
  SELECT
    "u.t",
    "_cql_enter",
    "_cql_leave",
    "_weight"
  FROM (
    SELECT
      "u.t",
      "_cql_enter",
      LEAST("_cql_leave", "_cql_to0") AS "_cql_leave",
      "_weight"
    FROM (
      SELECT
        "t" AS "u.t",
        "_ts" AS "_cql_enter",
        "_ts" + 7 AS "_cql_leave",
        CAST(1 AS BIGINT) AS "_weight",
        CASE
          WHEN CAST("t" AS INT128) > 9200000000000000000
          THEN 9200000000000000000
          WHEN CAST("t" AS INT128) < -9200000000000000000
          THEN -9200000000000000000
          ELSE CAST(CAST("t" AS INT128) AS BIGINT)
        END + 5 AS "_cql_to0"
      FROM temp."_cql_stream_u"()
      WHERE
        "_ts" > $since AND "_ts" <= $t1 AND "_ts" > $t0 - 7
    ) AS limited
    WHERE
      NOT "_cql_to0" IS NULL
  ) AS cut
  WHERE
    "_cql_enter" <= $t1
    AND "_cql_leave" > $t0
    AND "_cql_enter" < "_cql_leave"
    AND (
      "_cql_enter" > $t0 OR "_cql_leave" <= $t1
    )
)
SELECT
  "u.t" AS "t",
  "_cql_enter" AS "_ts",
  "_weight"
FROM lives
WHERE
  "_cql_enter" > $t0
UNION ALL
SELECT
  "u.t" AS "t",
  "_cql_leave" AS "_ts",
  -"_weight" AS "_weight"
FROM lives
WHERE
  "_cql_leave" <= $t1;

-- title: what shows the time is worked out again at every instant
CREATE STREAM IF NOT EXISTS u (t BIGINT, until_ BIGINT) TIMESTAMP BY t;
SELECT current_timestamp AS now, count(*) AS n FROM u [RANGE 10]
----
-- operator 0: worked out again: the current time in an expression
CREATE OR REPLACE TEMPORARY TABLE temp."_cql_delta_q_0" AS
WITH _cql_alive0 AS (
  SELECT
    "t" AS "u.t",
    "until_" AS "u.until_",
    "_ts" AS "_cql_enter",
    "_ts" + 11 AS "_cql_leave",
    CAST(1 AS BIGINT) AS "_weight"
  FROM temp."_cql_stream_u"()
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
        UNNEST(RANGE(GREATEST($t0 + 1, $begin), $t1 + 1)) AS "_ts"
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
    l."u.t" AS "u.t",
    l."u.until_" AS "u.until_",
    l."_weight" AS "_weight"
  FROM _cql_instants AS i
  INNER JOIN _cql_alive0 AS l
    ON l."_cql_enter" <= i."_ts" AND l."_cql_leave" > i."_ts"
), _cql_results AS (
  SELECT
    _cql_again."now",
    _cql_again."n",
    _cql_instants."_ts" AS "_cql_at",
    _cql_instants."_cql_next"
  FROM _cql_instants
  CROSS JOIN LATERAL (
    SELECT
      CAST(_cql_instants."_ts" AS BIGINT) AS now,
      COUNT(*) AS n
    FROM (
      SELECT
        "u.t" AS "t",
        "u.until_" AS "until_"
      FROM (
        SELECT
          "u.t",
          "u.until_",
          "_cql_at"
        FROM _cql_at0
      ) AS tuples
      WHERE
        "_cql_at" = _cql_instants."_ts"
    ) AS u
  ) AS _cql_again("now", "n")
)
SELECT
  "now",
  "n",
  "_ts",
  CAST(SUM("_weight") AS BIGINT) AS "_weight"
FROM (
  SELECT
    "now",
    "n",
    "_cql_at" AS "_ts",
    CAST(1 AS BIGINT) AS "_weight"
  FROM _cql_results
  WHERE
    "_cql_at" > $t0
  UNION ALL
  SELECT
    "now",
    "n",
    "_cql_next" AS "_ts",
    CAST(-1 AS BIGINT) AS "_weight"
  FROM _cql_results
  WHERE
    NOT "_cql_next" IS NULL
) AS elements
GROUP BY
  "now",
  "n",
  "_ts"
HAVING
  SUM("_weight") <> 0;

-- operator 0: write the elements of the answer
INSERT INTO cql_state."changes_q"
SELECT
  "now",
  "n",
  "_ts",
  "_weight"
FROM temp."_cql_delta_q_0";
