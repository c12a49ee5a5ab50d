-- title: a tuple enters at the boundary after it and leaves at the first one after t+w
SELECT k FROM s [HOP 10 EVERY 5]
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
      (
        (
          "_ts"
        ) - (
          (
            (
              (
                "_ts"
              ) % 5
            ) + 5
          ) % 5
        )
      ) + 5 AS "_ts",
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
        ) AND "_ts" > $t0 - 5
    ) AS stream
    WHERE
      (
        (
          (
            "_ts"
          ) - (
            (
              (
                (
                  "_ts"
                ) % 5
              ) + 5
            ) % 5
          )
        ) + 5 > $t0
        AND (
          (
            "_ts"
          ) - (
            (
              (
                (
                  "_ts"
                ) % 5
              ) + 5
            ) % 5
          )
        ) + 5 <= $t1
      )
      AND (
        (
          "_ts"
        ) - (
          (
            (
              (
                "_ts"
              ) % 5
            ) + 5
          ) % 5
        )
      ) + 5 < (
        (
          "_ts" + 10
        ) - (
          (
            (
              (
                "_ts" + 10
              ) % 5
            ) + 5
          ) % 5
        )
      ) + 5
    UNION ALL
    SELECT
      "s.k",
      (
        (
          "_ts" + 10
        ) - (
          (
            (
              (
                "_ts" + 10
              ) % 5
            ) + 5
          ) % 5
        )
      ) + 5 AS "_ts",
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
        ) AND "_ts" > $t0 - 16
    ) AS stream
    WHERE
      (
        (
          (
            "_ts" + 10
          ) - (
            (
              (
                (
                  "_ts" + 10
                ) % 5
              ) + 5
            ) % 5
          )
        ) + 5 > $t0
        AND (
          (
            "_ts" + 10
          ) - (
            (
              (
                (
                  "_ts" + 10
                ) % 5
              ) + 5
            ) % 5
          )
        ) + 5 <= $t1
      )
      AND (
        (
          "_ts"
        ) - (
          (
            (
              (
                "_ts"
              ) % 5
            ) + 5
          ) % 5
        )
      ) + 5 < (
        (
          "_ts" + 10
        ) - (
          (
            (
              (
                "_ts" + 10
              ) % 5
            ) + 5
          ) % 5
        )
      ) + 5
  ) AS input
) AS output;

-- title: TUMBLE w is HOP w EVERY w
SELECT k FROM s [TUMBLE 10]
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
      (
        (
          "_ts"
        ) - (
          (
            (
              (
                "_ts"
              ) % 10
            ) + 10
          ) % 10
        )
      ) + 10 AS "_ts",
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
        ) AND "_ts" > $t0 - 10
    ) AS stream
    WHERE
      (
        (
          (
            "_ts"
          ) - (
            (
              (
                (
                  "_ts"
                ) % 10
              ) + 10
            ) % 10
          )
        ) + 10 > $t0
        AND (
          (
            "_ts"
          ) - (
            (
              (
                (
                  "_ts"
                ) % 10
              ) + 10
            ) % 10
          )
        ) + 10 <= $t1
      )
      AND (
        (
          "_ts"
        ) - (
          (
            (
              (
                "_ts"
              ) % 10
            ) + 10
          ) % 10
        )
      ) + 10 < (
        (
          "_ts" + 10
        ) - (
          (
            (
              (
                "_ts" + 10
              ) % 10
            ) + 10
          ) % 10
        )
      ) + 10
    UNION ALL
    SELECT
      "s.k",
      (
        (
          "_ts" + 10
        ) - (
          (
            (
              (
                "_ts" + 10
              ) % 10
            ) + 10
          ) % 10
        )
      ) + 10 AS "_ts",
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
        ) AND "_ts" > $t0 - 21
    ) AS stream
    WHERE
      (
        (
          (
            "_ts" + 10
          ) - (
            (
              (
                (
                  "_ts" + 10
                ) % 10
              ) + 10
            ) % 10
          )
        ) + 10 > $t0
        AND (
          (
            "_ts" + 10
          ) - (
            (
              (
                (
                  "_ts" + 10
                ) % 10
              ) + 10
            ) % 10
          )
        ) + 10 <= $t1
      )
      AND (
        (
          "_ts"
        ) - (
          (
            (
              (
                "_ts"
              ) % 10
            ) + 10
          ) % 10
        )
      ) + 10 < (
        (
          "_ts" + 10
        ) - (
          (
            (
              (
                "_ts" + 10
              ) % 10
            ) + 10
          ) % 10
        )
      ) + 10
  ) AS input
) AS output;
