-- title: a projection is linear, and its duplicates stay
SELECT v % 2 AS parity, upper('x') AS x FROM s [RANGE 10]
----
-- operator 0: write the elements of the answer
INSERT INTO cql_state."changes_q"
SELECT
  "s.v" % 2 AS "parity",
  UPPER('x') AS "x",
  "_ts",
  "_weight"
FROM (
  SELECT
    "v" AS "s.v",
    "_ts",
    CAST(1 AS BIGINT) AS "_weight"
  FROM temp."_cql_arrivals_s"($t0, $t1)
  UNION ALL
  SELECT
    "v" AS "s.v",
    "_ts" + 11 AS "_ts",
    -CAST(1 AS BIGINT) AS "_weight"
  FROM temp."_cql_stream_s"()
  WHERE
    "_ts" > $since AND "_ts" <= $t1 - 11 AND "_ts" > $t0 - 11
) AS input;

-- title: columns that nobody reads are not read from the store
SELECT k FROM s [RANGE 10]
----
-- operator 0: write the elements of the answer
INSERT INTO cql_state."changes_q"
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
  "_ts" > $since AND "_ts" <= $t1 - 11 AND "_ts" > $t0 - 11;

-- title: _ts is the timestamp of the element and no part of *
SELECT *, _ts AS at FROM t [RANGE 10]
----
-- operator 0: write the elements of the answer
INSERT INTO cql_state."changes_q"
SELECT
  "k",
  "w",
  "_ts" AS "at",
  "_ts",
  CAST(1 AS BIGINT) AS "_weight"
FROM temp."_cql_arrivals_t"($t0, $t1)
UNION ALL
SELECT
  "k",
  "w",
  "_ts" AS "at",
  "_ts" + 11 AS "_ts",
  -CAST(1 AS BIGINT) AS "_weight"
FROM temp."_cql_stream_t"()
WHERE
  "_ts" > $since AND "_ts" <= $t1 - 11 AND "_ts" > $t0 - 11;
