-- title: the net elements that are negative, turned round
SELECT Dstream(*) FROM t [RANGE 10]
----
-- operator 0: write the elements of the answer
INSERT INTO cql_state."changes_q"
SELECT
  "k",
  "w",
  "_ts",
  -"_weight" AS "_weight"
FROM (
  SELECT
    "k",
    "w",
    "_ts",
    CAST(SUM("_weight") AS BIGINT) AS "_weight"
  FROM (
    SELECT
      "k",
      "w",
      "_ts",
      CAST(1 AS BIGINT) AS "_weight"
    FROM temp."_cql_arrivals_t"($t0, $t1)
    UNION ALL
    SELECT
      "k",
      "w",
      "_ts" + 11 AS "_ts",
      -CAST(1 AS BIGINT) AS "_weight"
    FROM temp."_cql_stream_t"()
    WHERE
      "_ts" > $since AND "_ts" <= $t1 - 11 AND "_ts" > $t0 - 11
  ) AS elements
  GROUP BY
    "k",
    "w",
    "_ts"
  HAVING
    SUM("_weight") < 0
) AS net;

-- title: nothing leaves what only grows
SELECT Dstream(k) FROM s [RANGE UNBOUNDED]
----
-- operator 0: write the elements of the answer
INSERT INTO cql_state."changes_q"
SELECT
  "k",
  "_ts",
  -"_weight" AS "_weight"
FROM (
  SELECT
    "k",
    "_ts",
    CAST(SUM(CAST(1 AS BIGINT)) AS BIGINT) AS "_weight"
  FROM temp."_cql_arrivals_s"($t0, $t1)
  GROUP BY
    "k",
    "_ts"
  HAVING
    SUM(CAST(1 AS BIGINT)) < 0
) AS net;
