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
      "_ts"
    ) % 5 - CASE WHEN (
      "_ts"
    ) % 5 < 0 THEN 5 ELSE 0 END
  ) + 5 AS "_ts",
  CAST(1 AS BIGINT) AS "_weight"
FROM temp."_cql_stream_s"()
WHERE
  "_ts" > $since
  AND "_ts" <= (
    (
      $t1
    ) - (
      $t1
    ) % 5 - CASE WHEN (
      $t1
    ) % 5 < 0 THEN 5 ELSE 0 END
  ) - 1
  AND "_ts" > (
    (
      $t0
    ) - (
      $t0
    ) % 5 - CASE WHEN (
      $t0
    ) % 5 < 0 THEN 5 ELSE 0 END
  ) - 1
UNION ALL
SELECT
  "k",
  (
    (
      "_ts"
    ) - (
      "_ts"
    ) % 5 - CASE WHEN (
      "_ts"
    ) % 5 < 0 THEN 5 ELSE 0 END
  ) + 15 AS "_ts",
  -CAST(1 AS BIGINT) AS "_weight"
FROM temp."_cql_stream_s"()
WHERE
  "_ts" > $since
  AND "_ts" <= (
    (
      $t1
    ) - (
      $t1
    ) % 5 - CASE WHEN (
      $t1
    ) % 5 < 0 THEN 5 ELSE 0 END
  ) - 11
  AND "_ts" > (
    (
      $t0
    ) - (
      $t0
    ) % 5 - CASE WHEN (
      $t0
    ) % 5 < 0 THEN 5 ELSE 0 END
  ) - 11;

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
      "_ts"
    ) % 10 - CASE WHEN (
      "_ts"
    ) % 10 < 0 THEN 10 ELSE 0 END
  ) + 10 AS "_ts",
  CAST(1 AS BIGINT) AS "_weight"
FROM temp."_cql_stream_s"()
WHERE
  "_ts" > $since
  AND "_ts" <= (
    (
      $t1
    ) - (
      $t1
    ) % 10 - CASE WHEN (
      $t1
    ) % 10 < 0 THEN 10 ELSE 0 END
  ) - 1
  AND "_ts" > (
    (
      $t0
    ) - (
      $t0
    ) % 10 - CASE WHEN (
      $t0
    ) % 10 < 0 THEN 10 ELSE 0 END
  ) - 1
UNION ALL
SELECT
  "k",
  (
    (
      "_ts"
    ) - (
      "_ts"
    ) % 10 - CASE WHEN (
      "_ts"
    ) % 10 < 0 THEN 10 ELSE 0 END
  ) + 20 AS "_ts",
  -CAST(1 AS BIGINT) AS "_weight"
FROM temp."_cql_stream_s"()
WHERE
  "_ts" > $since
  AND "_ts" <= (
    (
      $t1
    ) - (
      $t1
    ) % 10 - CASE WHEN (
      $t1
    ) % 10 < 0 THEN 10 ELSE 0 END
  ) - 11
  AND "_ts" > (
    (
      $t0
    ) - (
      $t0
    ) % 10 - CASE WHEN (
      $t0
    ) % 10 < 0 THEN 10 ELSE 0 END
  ) - 11;
