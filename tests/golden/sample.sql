-- title: the number of an element decides whether it is kept
SELECT k FROM s 10% SAMPLE
----
-- operator 0: write the elements of the answer
INSERT INTO cql_state."changes_q"
SELECT
  "k",
  "_ts",
  CAST(1 AS BIGINT) AS "_weight"
FROM cql_state."stream_s"
WHERE
  "_ts" <= $t1
  AND "_ts" > $t0
  AND MD5_NUMBER_LOWER('s:' || CAST("_cql_seq" AS TEXT)) < 1844674407370955161;

-- title: in the stream of a query its instant and its place there do
CREATE CONTINUOUS QUERY evens AS
    SELECT Istream(k, v) FROM s [ROWS 5] WHERE k % 2 = 0;
SELECT k FROM evens 50% SAMPLE [RANGE 10]
----
-- operator 0: write the elements of the answer
INSERT INTO cql_state."changes_q"
SELECT
  "evens.k" AS "k",
  "_ts",
  "_weight"
FROM (
  SELECT
    "evens.k",
    "_ts",
    CAST(1 AS BIGINT) AS "_weight",
    ROW_NUMBER() OVER (PARTITION BY "_ts" ORDER BY "evens.k", "evens.v") AS "_cql_seq"
  FROM (
    SELECT
      "evens.k",
      "evens.v",
      "_ts",
      UNNEST(RANGE("_weight")) AS "_cql_copy"
    FROM (
      SELECT
        "k" AS "evens.k",
        "v" AS "evens.v",
        "_ts",
        "_weight"
      FROM cql_state."changes_evens"
      WHERE
        "_ts" <= $t1 AND "_ts" > $t0
    ) AS stream
  ) AS copies
) AS stream
WHERE
  MD5_NUMBER_LOWER('evens:' || CAST("_ts" AS TEXT) || ':' || CAST("_cql_seq" AS TEXT)) < 9223372036854775808
UNION ALL
SELECT
  "evens.k" AS "k",
  "_ts" + 11 AS "_ts",
  -"_weight" AS "_weight"
FROM (
  SELECT
    "evens.k",
    "_ts",
    CAST(1 AS BIGINT) AS "_weight",
    ROW_NUMBER() OVER (PARTITION BY "_ts" ORDER BY "evens.k", "evens.v") AS "_cql_seq"
  FROM (
    SELECT
      "evens.k",
      "evens.v",
      "_ts",
      UNNEST(RANGE("_weight")) AS "_cql_copy"
    FROM (
      SELECT
        "k" AS "evens.k",
        "v" AS "evens.v",
        "_ts",
        "_weight"
      FROM cql_state."changes_evens"
      WHERE
        "_ts" <= $t1 - 11 AND "_ts" > $t0 - 11
    ) AS stream
  ) AS copies
) AS stream
WHERE
  MD5_NUMBER_LOWER('evens:' || CAST("_ts" AS TEXT) || ':' || CAST("_cql_seq" AS TEXT)) < 9223372036854775808;
