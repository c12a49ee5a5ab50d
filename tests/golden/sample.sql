-- title: the number of an element decides whether it is kept
SELECT k FROM s 10% SAMPLE
----
-- operator 0: write the elements of the answer
INSERT INTO cql_state."changes_q"
SELECT
  "s.k" AS "k",
  "_ts",
  "_weight"
FROM (
  SELECT
    "s.k",
    "_ts",
    "_weight",
    (
      XOR(XOR("_cql_hash", "_cql_hash" >> 15), 3178415476) * 1935289751
    ) & 4294967295 AS "_cql_hash"
  FROM (
    SELECT
      "s.k",
      "_ts",
      "_weight",
      (
        XOR("_cql_hash", "_cql_hash" >> 16) * 569420461
      ) & 4294967295 AS "_cql_hash"
    FROM (
      SELECT
        "k" AS "s.k",
        "_ts",
        CAST(1 AS BIGINT) AS "_weight",
        XOR(
          XOR(
            "_cql_seq" & 4294967295,
            (
              (
                (
                  "_cql_seq" >> 32
                ) & 4294967295
              ) * 739982445
            ) & 4294967295
          ),
          2272344580
        ) AS "_cql_hash"
      FROM temp."_cql_arrivals_s"($t0, $t1)
    ) AS stream
  ) AS stream
) AS stream
WHERE
  (
    (
      XOR("_cql_hash", "_cql_hash" >> 15) * 739982445
    ) & 4294967295
  ) < 429496730;

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
    "_weight",
    (
      XOR(XOR("_cql_hash", "_cql_hash" >> 15), 3960318277) * 1935289751
    ) & 4294967295 AS "_cql_hash"
  FROM (
    SELECT
      "evens.k",
      "_ts",
      "_weight",
      (
        XOR("_cql_hash", "_cql_hash" >> 16) * 569420461
      ) & 4294967295 AS "_cql_hash"
    FROM (
      SELECT
        "evens.k",
        "_ts",
        "_weight",
        XOR(
          XOR(
            "_cql_seq" & 4294967295,
            (
              (
                (
                  "_cql_seq" >> 32
                ) & 4294967295
              ) * 739982445
            ) & 4294967295
          ),
          (
            XOR("_cql_hash", "_cql_hash" >> 15) * 739982445
          ) & 4294967295
        ) AS "_cql_hash"
      FROM (
        SELECT
          "evens.k",
          "_ts",
          "_weight",
          "_cql_seq",
          (
            XOR(XOR("_cql_hash", "_cql_hash" >> 15), 3960318277) * 1935289751
          ) & 4294967295 AS "_cql_hash"
        FROM (
          SELECT
            "evens.k",
            "_ts",
            "_weight",
            "_cql_seq",
            (
              XOR("_cql_hash", "_cql_hash" >> 16) * 569420461
            ) & 4294967295 AS "_cql_hash"
          FROM (
            SELECT
              "evens.k",
              "_ts",
              "_weight",
              "_cql_seq",
              XOR(
                XOR(
                  "_ts" & 4294967295,
                  (
                    (
                      (
                        "_ts" >> 32
                      ) & 4294967295
                    ) * 739982445
                  ) & 4294967295
                ),
                3682072498
              ) AS "_cql_hash"
            FROM (
              SELECT
                "evens.k",
                "_ts",
                CAST(1 AS BIGINT) AS "_weight",
                ROW_NUMBER() OVER (PARTITION BY "_ts" ORDER BY "evens.k", "evens.v") AS "_cql_seq"
              FROM (
                SELECT
                  "k" AS "evens.k",
                  "v" AS "evens.v",
                  "_ts",
                  UNNEST(RANGE("_weight")) AS "_cql_copy"
                FROM temp."_cql_arrivals_evens"($t0, $t1)
              ) AS copies
            ) AS stream
          ) AS stream
        ) AS stream
      ) AS stream
    ) AS stream
  ) AS stream
) AS stream
WHERE
  (
    (
      XOR("_cql_hash", "_cql_hash" >> 15) * 739982445
    ) & 4294967295
  ) < 2147483648
UNION ALL
SELECT
  "evens.k" AS "k",
  "_ts" + 11 AS "_ts",
  -"_weight" AS "_weight"
FROM (
  SELECT
    "evens.k",
    "_ts",
    "_weight",
    (
      XOR(XOR("_cql_hash", "_cql_hash" >> 15), 3960318277) * 1935289751
    ) & 4294967295 AS "_cql_hash"
  FROM (
    SELECT
      "evens.k",
      "_ts",
      "_weight",
      (
        XOR("_cql_hash", "_cql_hash" >> 16) * 569420461
      ) & 4294967295 AS "_cql_hash"
    FROM (
      SELECT
        "evens.k",
        "_ts",
        "_weight",
        XOR(
          XOR(
            "_cql_seq" & 4294967295,
            (
              (
                (
                  "_cql_seq" >> 32
                ) & 4294967295
              ) * 739982445
            ) & 4294967295
          ),
          (
            XOR("_cql_hash", "_cql_hash" >> 15) * 739982445
          ) & 4294967295
        ) AS "_cql_hash"
      FROM (
        SELECT
          "evens.k",
          "_ts",
          "_weight",
          "_cql_seq",
          (
            XOR(XOR("_cql_hash", "_cql_hash" >> 15), 3960318277) * 1935289751
          ) & 4294967295 AS "_cql_hash"
        FROM (
          SELECT
            "evens.k",
            "_ts",
            "_weight",
            "_cql_seq",
            (
              XOR("_cql_hash", "_cql_hash" >> 16) * 569420461
            ) & 4294967295 AS "_cql_hash"
          FROM (
            SELECT
              "evens.k",
              "_ts",
              "_weight",
              "_cql_seq",
              XOR(
                XOR(
                  "_ts" & 4294967295,
                  (
                    (
                      (
                        "_ts" >> 32
                      ) & 4294967295
                    ) * 739982445
                  ) & 4294967295
                ),
                3682072498
              ) AS "_cql_hash"
            FROM (
              SELECT
                "evens.k",
                "_ts",
                CAST(1 AS BIGINT) AS "_weight",
                ROW_NUMBER() OVER (PARTITION BY "_ts" ORDER BY "evens.k", "evens.v") AS "_cql_seq"
              FROM (
                SELECT
                  "k" AS "evens.k",
                  "v" AS "evens.v",
                  "_ts",
                  UNNEST(RANGE("_weight")) AS "_cql_copy"
                FROM temp."_cql_stream_evens"()
                WHERE
                  "_ts" > $since AND "_ts" <= $t1 - 11 AND "_ts" > $t0 - 11
              ) AS copies
            ) AS stream
          ) AS stream
        ) AS stream
      ) AS stream
    ) AS stream
  ) AS stream
) AS stream
WHERE
  (
    (
      XOR("_cql_hash", "_cql_hash" >> 15) * 739982445
    ) & 4294967295
  ) < 2147483648;
