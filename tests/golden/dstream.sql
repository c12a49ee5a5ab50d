-- title: the net elements that are negative, turned round
SELECT Dstream(*) FROM t [RANGE 10]
----
-- operator 0: write the elements of the answer
INSERT INTO cql_state."changes_q"
SELECT
  "k",
  "w",
  _ts,
  _weight
FROM (
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
        "t.k" AS "k",
        "t.w" AS "w",
        "_ts",
        "_weight"
      FROM (
        SELECT
          "t.k",
          "t.w",
          "_ts",
          "_weight"
        FROM (
          SELECT
            "k" AS "t.k",
            "w" AS "t.w",
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
          "_ts" + 11 AS "_ts",
          -"_weight" AS "_weight"
        FROM (
          SELECT
            "k" AS "t.k",
            "w" AS "t.w",
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
    ) AS elements
    GROUP BY
      "k",
      "w",
      "_ts"
    HAVING
      SUM("_weight") <> 0
  ) AS net
  WHERE
    "_weight" < 0
) AS output;

-- title: nothing leaves what only grows
SELECT Dstream(k) FROM s [RANGE UNBOUNDED]
----
-- operator 0: write the elements of the answer
INSERT INTO cql_state."changes_q"
SELECT
  "k",
  _ts,
  _weight
FROM (
  SELECT
    *
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
    ) AS input
  ) AS input
  WHERE
    FALSE
) AS output;
