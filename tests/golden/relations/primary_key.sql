-- title: what the queue comes to under a key
WITH RECURSIVE pending AS (
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
    'u' AS "_op",
    s."_cql_seq",
    s."_cql_enter"
  FROM cql_state."relation_r" AS s
  SEMI JOIN pending AS q
    ON q."k" IS NOT DISTINCT FROM s."k"
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
    "_op",
    MIN("_cql_seq") OVER (PARTITION BY "k") AS "_cql_key",
    MIN("_cql_seq") OVER (PARTITION BY "k", "name") AS "_cql_tuple",
    MAX(CASE WHEN "_op" = 'u' THEN "_cql_seq" END) OVER (PARTITION BY "k", "_ts") AS "_cql_upsert"
  FROM history
), sums AS (
  SELECT
    "_cql_key",
    "_cql_tuple",
    "_ts",
    CAST(SUM(CASE WHEN "_op" = '-' THEN -1 WHEN "_op" = 'u' THEN 0 ELSE 1 END) AS BIGINT) AS "_cql_d",
    BOOL_OR(CAST("_cql_seq" IS NOT DISTINCT FROM "_cql_upsert" AS BOOLEAN)) AS "_cql_is_set",
    COALESCE(MIN("_cql_seq") FILTER(WHERE
      NOT "_op" = '-'), MIN("_cql_seq")) AS "_cql_row",
    NOT MAX("_cql_upsert") IS NULL AS "_cql_resets"
  FROM numbered
  WHERE
    "_cql_upsert" IS NULL OR "_cql_seq" >= "_cql_upsert"
  GROUP BY
    "_cql_key",
    "_cql_tuple",
    "_ts"
), ranked AS (
  SELECT
    *,
    CASE WHEN "_cql_is_set" AND "_cql_d" >= 0 THEN 0 WHEN "_cql_d" > 0 THEN 1 ELSE 2 END AS "_cql_rank",
    MIN("_ts") FILTER(WHERE
      "_cql_d" < 0) OVER (
      PARTITION BY "_cql_tuple"
      ORDER BY "_ts" NULLS FIRST
      ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING
    ) AS "_cql_ends"
  FROM sums
), instants AS (
  SELECT
    "_cql_key",
    "_ts",
    "_cql_resets",
    "_cql_row",
    "_cql_ends",
    CASE WHEN "_cql_rank" < 2 THEN "_cql_tuple" ELSE -1 END AS "_cql_state"
  FROM ranked
  QUALIFY
    ROW_NUMBER() OVER (
      PARTITION BY "_cql_key", "_ts"
      ORDER BY "_cql_rank" NULLS FIRST, "_cql_row" NULLS FIRST
    ) = 1
), linked AS (
  SELECT
    "_cql_key",
    "_ts",
    "_cql_resets",
    "_cql_row",
    "_cql_state",
    LEAST(
      MIN("_ts") FILTER(WHERE
        "_cql_resets") OVER (
        PARTITION BY "_cql_key"
        ORDER BY "_ts" NULLS FIRST
        ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING
      ),
      CASE
        WHEN "_cql_state" <> -1
        THEN "_cql_ends"
        ELSE MIN("_ts") FILTER(WHERE
          "_cql_state" <> -1) OVER (
          PARTITION BY "_cql_key"
          ORDER BY "_ts" NULLS FIRST
          ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING
        )
      END
    ) AS "_cql_next",
    "_cql_resets"
    OR (
      "_cql_state" <> -1
      AND NOT COALESCE(
        BOOL_OR(CAST((
          "_cql_resets" OR "_cql_state" <> -1
        ) AS BOOLEAN)) OVER (
          PARTITION BY "_cql_key"
          ORDER BY "_ts" NULLS FIRST
          ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ),
        FALSE
      )
    ) AS "_cql_begins"
  FROM instants
), chain AS (
  SELECT
    "_cql_key",
    "_ts",
    "_cql_next"
  FROM linked
  WHERE
    "_cql_begins"
  UNION ALL
  SELECT
    l."_cql_key",
    l."_ts",
    l."_cql_next"
  FROM chain AS c
  JOIN linked AS l
    ON l."_cql_key" = c."_cql_key" AND l."_ts" = c."_cql_next" AND NOT l."_cql_resets"
), stood AS (
  SELECT
    l."_cql_key",
    l."_ts",
    l."_cql_resets",
    l."_cql_row",
    l."_cql_state",
    NOT c."_cql_key" IS NULL AS "_cql_takes_place",
    COALESCE(
      LAST_VALUE(CASE WHEN NOT c."_cql_key" IS NULL THEN l."_cql_state" END IGNORE NULLS) OVER (
        PARTITION BY l."_cql_key"
        ORDER BY l."_ts" NULLS FIRST
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
      ),
      -1
    ) AS "_cql_before"
  FROM linked AS l
  LEFT JOIN chain AS c
    ON l."_cql_key" IS NOT DISTINCT FROM c."_cql_key"
    AND l."_ts" IS NOT DISTINCT FROM c."_ts"
), changes AS (
  SELECT
    "_cql_row",
    "_ts",
    "_cql_state",
    LEAD("_ts") OVER (PARTITION BY "_cql_key" ORDER BY "_ts" NULLS FIRST) AS "_cql_ends"
  FROM stood
  WHERE
    "_cql_takes_place" AND "_cql_state" <> "_cql_before"
)
SELECT
  *
FROM (
  SELECT
    "_cql_row" AS "_cql_seq",
    "_ts",
    COALESCE("_cql_ends", 9223372036854775807) AS "_cql_leave",
    CAST(0 AS BIGINT) AS "_cql_wrong"
  FROM changes
  WHERE
    "_cql_state" <> -1 AND NOT (
      "_ts" IS NULL AND "_cql_ends" IS NULL
    )
  UNION ALL
  SELECT
    s."_cql_row" AS "_cql_seq",
    s."_ts" AS "_ts",
    CAST(NULL AS BIGINT) AS "_cql_leave",
    CAST(s."_cql_d" - CASE
      WHEN s."_cql_d" < 0
      AND CASE
        WHEN i."_cql_resets"
        THEN s."_cql_is_set"
        ELSE s."_cql_tuple" = i."_cql_before"
      END
      THEN -1
      WHEN s."_cql_d" > 0
      AND (
        i."_cql_takes_place"
        AND s."_cql_tuple" = i."_cql_state"
        AND NOT CASE
          WHEN i."_cql_resets"
          THEN s."_cql_is_set"
          ELSE s."_cql_tuple" = i."_cql_before"
        END
      )
      THEN 1
      ELSE 0
    END AS BIGINT) AS "_cql_wrong"
  FROM sums AS s
  JOIN stood AS i
    ON s."_cql_key" IS NOT DISTINCT FROM i."_cql_key"
    AND s."_ts" IS NOT DISTINCT FROM i."_ts"
  WHERE
    NOT s."_ts" IS NULL
    AND (
      s."_cql_d" - CASE
        WHEN s."_cql_d" < 0
        AND CASE
          WHEN i."_cql_resets"
          THEN s."_cql_is_set"
          ELSE s."_cql_tuple" = i."_cql_before"
        END
        THEN -1
        WHEN s."_cql_d" > 0
        AND (
          i."_cql_takes_place"
          AND s."_cql_tuple" = i."_cql_state"
          AND NOT CASE
            WHEN i."_cql_resets"
            THEN s."_cql_is_set"
            ELSE s."_cql_tuple" = i."_cql_before"
          END
        )
        THEN 1
        ELSE 0
      END
    ) <> 0
) AS outcome;

-- title: the same, of upserts alone
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
), stood AS (
  SELECT
    *,
    COALESCE(LAG("_cql_state") OVER (PARTITION BY "_cql_key" ORDER BY "_ts" NULLS FIRST), -1) AS "_cql_before"
  FROM (
    SELECT
      "_cql_seq" AS "_cql_row",
      "_ts",
      MIN("_cql_seq") OVER (PARTITION BY "k") AS "_cql_key",
      MIN("_cql_seq") OVER (PARTITION BY "k", "name") AS "_cql_state",
      TRUE AS "_cql_takes_place"
    FROM (
      SELECT
        s."k",
        s."name",
        CAST(NULL AS BIGINT) AS "_ts",
        'u' AS "_op",
        s."_cql_seq",
        s."_cql_enter"
      FROM cql_state."relation_r" AS s
      SEMI JOIN pending AS q
        ON q."k" IS NOT DISTINCT FROM s."k"
      WHERE
        s."_cql_leave" = 9223372036854775807
      UNION ALL
      SELECT
        *
      FROM pending
    ) AS history
    QUALIFY
      ROW_NUMBER() OVER (PARTITION BY "k", "_ts" ORDER BY "_cql_seq" DESC) = 1
  ) AS set
), changes AS (
  SELECT
    "_cql_row",
    "_ts",
    "_cql_state",
    LEAD("_ts") OVER (PARTITION BY "_cql_key" ORDER BY "_ts" NULLS FIRST) AS "_cql_ends"
  FROM stood
  WHERE
    "_cql_takes_place" AND "_cql_state" <> "_cql_before"
)
SELECT
  "_cql_row" AS "_cql_seq",
  "_ts",
  COALESCE("_cql_ends", 9223372036854775807) AS "_cql_leave",
  CAST(0 AS BIGINT) AS "_cql_wrong"
FROM changes
WHERE
  "_cql_state" <> -1 AND NOT (
    "_ts" IS NULL AND "_cql_ends" IS NULL
  );
