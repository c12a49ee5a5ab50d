-- title: what the queue of a bag comes to
WITH pending AS (
  SELECT
    "k",
    "name",
    "_ts",
    "_op",
    "_cql_seq",
    "_ts" AS "_cql_enter"
  FROM cql_state."pending_r"
  WHERE
    "_ts" <= $until
), history AS (
  SELECT
    s."k",
    s."name",
    CAST(NULL AS BIGINT) AS "_ts",
    '+' AS "_op",
    s."_cql_seq",
    s."_cql_enter"
  FROM cql_state."relation_r" AS s
  SEMI JOIN pending AS q
    ON q."_op" = '-'
    AND (
      q."k" IS NOT DISTINCT FROM s."k" AND q."name" IS NOT DISTINCT FROM s."name"
    )
  WHERE
    s."_cql_leave" = 9223372036854775807
  UNION ALL
  SELECT
    *
  FROM pending
), numbered AS (
  SELECT
    "_cql_seq",
    "_ts",
    "_cql_enter",
    "_op" = '-' AS "_cql_deletes",
    MIN("_cql_seq") OVER (PARTITION BY "k", "name") AS "_cql_tuple"
  FROM history
), changes AS (
  SELECT
    "_cql_tuple",
    "_ts",
    CAST(SUM(CASE WHEN "_cql_deletes" THEN -1 ELSE 1 END) AS BIGINT) AS "_cql_d",
    MIN("_cql_seq") FILTER(WHERE
      "_cql_deletes") AS "_cql_row"
  FROM numbered
  GROUP BY
    "_cql_tuple",
    "_ts"
), sums AS (
  SELECT
    *,
    SUM("_cql_d") OVER (PARTITION BY "_cql_tuple" ORDER BY "_ts" NULLS FIRST) AS "_cql_s"
  FROM changes
), lowest AS (
  SELECT
    *,
    LEAST(0, MIN("_cql_s") OVER (PARTITION BY "_cql_tuple" ORDER BY "_ts" NULLS FIRST)) AS "_cql_m"
  FROM sums
), judged AS (
  SELECT
    "_cql_tuple",
    "_ts",
    "_cql_row",
    "_cql_missing",
    CAST("_cql_d" - "_cql_missing" AS BIGINT) AS "_cql_d"
  FROM (
    SELECT
      *,
      "_cql_m" - COALESCE(LAG("_cql_m") OVER (PARTITION BY "_cql_tuple" ORDER BY "_ts" NULLS FIRST), 0) AS "_cql_missing"
    FROM lowest
  ) AS falls
), come AS (
  SELECT
    i."_cql_seq",
    i."_ts",
    i."_cql_tuple",
    ROW_NUMBER() OVER (
      PARTITION BY i."_cql_tuple"
      ORDER BY i."_cql_enter" NULLS FIRST, i."_cql_seq" NULLS FIRST
    ) AS "_cql_place"
  FROM (
    SELECT
      "_cql_seq",
      "_ts",
      "_cql_enter",
      "_cql_tuple",
      ROW_NUMBER() OVER (PARTITION BY "_cql_tuple", "_ts" ORDER BY "_cql_seq" DESC) AS "_cql_place"
    FROM numbered
    WHERE
      NOT "_cql_deletes"
  ) AS i
  JOIN judged AS j
    ON i."_cql_tuple" IS NOT DISTINCT FROM j."_cql_tuple"
    AND i."_ts" IS NOT DISTINCT FROM j."_ts"
  WHERE
    i."_cql_place" <= j."_cql_d"
), gone AS (
  SELECT
    "_cql_tuple",
    "_ts",
    ROW_NUMBER() OVER (PARTITION BY "_cql_tuple" ORDER BY "_ts" NULLS FIRST) AS "_cql_place"
  FROM (
    SELECT
      "_cql_tuple",
      "_ts",
      UNNEST(RANGE(-"_cql_d")) AS "_cql_place"
    FROM judged
    WHERE
      "_cql_d" < 0
  ) AS deletions
)
SELECT
  *
FROM (
  SELECT
    c."_cql_seq" AS "_cql_seq",
    c."_ts" AS "_ts",
    COALESCE(g."_ts", 9223372036854775807) AS "_cql_leave",
    CAST(0 AS BIGINT) AS "_cql_wrong"
  FROM come AS c
  LEFT JOIN gone AS g
    ON c."_cql_tuple" IS NOT DISTINCT FROM g."_cql_tuple"
    AND c."_cql_place" IS NOT DISTINCT FROM g."_cql_place"
  WHERE
    NOT (
      c."_ts" IS NULL AND g."_ts" IS NULL
    )
  UNION ALL
  SELECT
    "_cql_row" AS "_cql_seq",
    "_ts",
    CAST(NULL AS BIGINT) AS "_cql_leave",
    CAST("_cql_missing" AS BIGINT) AS "_cql_wrong"
  FROM judged
  WHERE
    "_cql_missing" < 0
) AS outcome;
