-- title: a projection is linear, and its duplicates stay
SELECT v % 2 AS parity, upper('x') AS x FROM s [RANGE 10]
----
-- operator 0: write the elements of the answer
INSERT INTO cql_state."changes_q"
SELECT
  "parity",
  "x",
  _ts,
  _weight
FROM (
  SELECT
    "s.v" % 2 AS "parity",
    UPPER('x') AS "x",
    "_ts",
    "_weight"
  FROM (
    SELECT
      "s.v",
      "_ts",
      "_weight"
    FROM (
      SELECT
        "v" AS "s.v",
        "_ts",
        CAST(1 AS BIGINT) AS "_weight"
      FROM cql_state."stream_s"
      WHERE
        (
          "_ts" > $since AND "_ts" <= $t1
        ) AND "_ts" > $t0
    ) AS stream
    WHERE
      "_ts" > $t0 AND "_ts" <= $t1
    UNION ALL
    SELECT
      "s.v",
      "_ts" + 11 AS "_ts",
      -"_weight" AS "_weight"
    FROM (
      SELECT
        "v" AS "s.v",
        "_ts",
        CAST(1 AS BIGINT) AS "_weight"
      FROM cql_state."stream_s"
      WHERE
        (
          "_ts" > $since AND "_ts" <= $t1 - 10
        ) AND "_ts" > $t0 - 11
    ) AS stream
    WHERE
      "_ts" + 11 > $t0 AND "_ts" + 11 <= $t1
  ) AS input
) AS output;

-- title: columns that nobody reads are not read from the store
SELECT k FROM s [RANGE 10]
----
-- operator 0: write the elements of the answer
INSERT INTO cql_state."changes_q"
SELECT
  "k",
  _ts,
  _weight
FROM (
  SELECT
    "s.k" AS "k",
    "_ts",
    "_weight"
  FROM (
    SELECT
      "s.k",
      "_ts",
      "_weight"
    FROM (
      SELECT
        "k" AS "s.k",
        "_ts",
        CAST(1 AS BIGINT) AS "_weight"
      FROM cql_state."stream_s"
      WHERE
        (
          "_ts" > $since AND "_ts" <= $t1
        ) AND "_ts" > $t0
    ) AS stream
    WHERE
      "_ts" > $t0 AND "_ts" <= $t1
    UNION ALL
    SELECT
      "s.k",
      "_ts" + 11 AS "_ts",
      -"_weight" AS "_weight"
    FROM (
      SELECT
        "k" AS "s.k",
        "_ts",
        CAST(1 AS BIGINT) AS "_weight"
      FROM cql_state."stream_s"
      WHERE
        (
          "_ts" > $since AND "_ts" <= $t1 - 10
        ) AND "_ts" > $t0 - 11
    ) AS stream
    WHERE
      "_ts" + 11 > $t0 AND "_ts" + 11 <= $t1
  ) AS input
) AS output;

-- title: _ts is the timestamp of the element and no part of *
SELECT *, _ts AS at FROM t [RANGE 10]
----
-- operator 0: write the elements of the answer
INSERT INTO cql_state."changes_q"
SELECT
  "k",
  "w",
  "at",
  _ts,
  _weight
FROM (
  SELECT
    "t.k" AS "k",
    "t.w" AS "w",
    "t._ts" AS "at",
    "_ts",
    "_weight"
  FROM (
    SELECT
      "t.k",
      "t.w",
      "t._ts",
      "_ts",
      "_weight"
    FROM (
      SELECT
        "k" AS "t.k",
        "w" AS "t.w",
        "_ts" AS "t._ts",
        "_ts",
        CAST(1 AS BIGINT) AS "_weight"
      FROM cql_state."stream_t"
      WHERE
        (
          "_ts" > $since AND "_ts" <= $t1
        ) AND "_ts" > $t0
    ) AS stream
    WHERE
      "_ts" > $t0 AND "_ts" <= $t1
    UNION ALL
    SELECT
      "t.k",
      "t.w",
      "t._ts",
      "_ts" + 11 AS "_ts",
      -"_weight" AS "_weight"
    FROM (
      SELECT
        "k" AS "t.k",
        "w" AS "t.w",
        "_ts" AS "t._ts",
        "_ts",
        CAST(1 AS BIGINT) AS "_weight"
      FROM cql_state."stream_t"
      WHERE
        (
          "_ts" > $since AND "_ts" <= $t1 - 10
        ) AND "_ts" > $t0 - 11
    ) AS stream
    WHERE
      "_ts" + 11 > $t0 AND "_ts" + 11 <= $t1
  ) AS input
) AS output;
