-- title: a tuple enters at the boundary after it and leaves at the first one after t+w
SELECT k FROM s [HOP 10 EVERY 5]
----
-- operator 0: write the elements of the answer
INSERT INTO cql_state."changes_q"
SELECT
  "k",
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
  CAST(1 AS BIGINT) AS "_weight"
FROM cql_state."stream_s"
WHERE
  "_ts" > $since
  AND "_ts" <= $t1
  AND "_ts" > $t0 - 5
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
  "k",
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
  -CAST(1 AS BIGINT) AS "_weight"
FROM cql_state."stream_s"
WHERE
  "_ts" > $since
  AND "_ts" <= $t1 - 10
  AND "_ts" > $t0 - 16
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
  ) + 5;

-- title: TUMBLE w is HOP w EVERY w
SELECT k FROM s [TUMBLE 10]
----
-- operator 0: write the elements of the answer
INSERT INTO cql_state."changes_q"
SELECT
  "k",
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
  CAST(1 AS BIGINT) AS "_weight"
FROM cql_state."stream_s"
WHERE
  "_ts" > $since
  AND "_ts" <= $t1
  AND "_ts" > $t0 - 10
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
  "k",
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
  -CAST(1 AS BIGINT) AS "_weight"
FROM cql_state."stream_s"
WHERE
  "_ts" > $since
  AND "_ts" <= $t1 - 10
  AND "_ts" > $t0 - 21
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
  ) + 10;
