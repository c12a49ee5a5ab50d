-- title: what a queue of one instant comes to under a key
WITH pending AS (
  SELECT
    "k",
    "name",
    "_ts",
    "_op",
    "_cql_seq",
    "_ts" AS "_cql_enter"
  FROM temp."few"
), counted AS (
  SELECT
    "k",
    "name",
    "_ts",
    "_op",
    "_cql_seq",
    MAX(CASE WHEN "_op" = 'u' AND NOT "_ts" IS NULL THEN "_cql_seq" END) OVER (PARTITION BY "k") AS "_cql_upsert"
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
      ON q."k" = s."k"
    WHERE
      s."_cql_leave" = 9223372036854775807
    UNION ALL
    SELECT
      *
    FROM pending
  ) AS history
  QUALIFY
    "_ts" IS NULL OR "_cql_upsert" IS NULL OR "_cql_seq" >= "_cql_upsert"
), sums AS (
  SELECT
    "k",
    "name",
    CAST(SUM(CASE WHEN "_op" = '-' THEN -1 WHEN "_op" = 'u' THEN 0 ELSE 1 END) AS BIGINT) AS "_cql_d",
    BOOL_OR(CAST("_cql_seq" IS NOT DISTINCT FROM "_cql_upsert" AS BOOLEAN)) AS "_cql_is_set",
    COALESCE(
      MIN("_cql_seq") FILTER(WHERE
        NOT "_ts" IS NULL AND NOT "_op" = '-'),
      MIN("_cql_seq") FILTER(WHERE
        NOT "_ts" IS NULL)
    ) AS "_cql_row",
    MIN("_cql_seq") FILTER(WHERE
      "_ts" IS NULL) AS "_cql_held",
    NOT MAX("_cql_upsert") IS NULL AS "_cql_resets"
  FROM counted
  GROUP BY
    "k",
    "name"
), judged AS (
  SELECT
    "_cql_d",
    "_cql_is_set",
    "_cql_resets",
    "_cql_row",
    "_cql_held",
    "_cql_resets"
    OR BOOL_OR(CAST(NOT "_cql_held" IS NULL AND "_cql_d" < 0 AS BOOLEAN)) OVER (PARTITION BY "k")
    OR NOT BOOL_OR(CAST(NOT "_cql_held" IS NULL AS BOOLEAN)) OVER (PARTITION BY "k") AS "_cql_takes_place",
    (
      (
        "_cql_is_set" AND NOT "_cql_d" < 0
      ) OR "_cql_d" > 0
    )
    AND ROW_NUMBER() OVER (
      PARTITION BY "k"
      ORDER BY CASE
        WHEN "_cql_is_set" AND NOT "_cql_d" < 0
        THEN 0
        WHEN "_cql_d" > 0
        THEN 1
        ELSE 2
      END NULLS FIRST, "_cql_row" NULLS FIRST
    ) = 1 AS "_cql_stands"
  FROM sums
)
SELECT
  *
FROM (
  SELECT
    COALESCE("_cql_held", "_cql_row") AS "_cql_seq",
    CASE WHEN NOT NOT "_cql_held" IS NULL THEN $instant END AS "_ts",
    COALESCE(CASE WHEN NOT "_cql_held" IS NULL THEN $instant END, 9223372036854775807) AS "_cql_leave",
    CAST(0 AS BIGINT) AS "_cql_wrong"
  FROM judged
  WHERE
    "_cql_takes_place" AND "_cql_stands" <> (
      NOT "_cql_held" IS NULL
    )
  UNION ALL
  SELECT
    "_cql_row" AS "_cql_seq",
    $instant AS "_ts",
    CAST(NULL AS BIGINT) AS "_cql_leave",
    CAST("_cql_d" - CASE
      WHEN "_cql_d" < 0
      AND (
        CASE WHEN "_cql_resets" THEN "_cql_is_set" ELSE NOT "_cql_held" IS NULL END
      )
      THEN -1
      WHEN "_cql_d" > 0
      AND (
        "_cql_takes_place"
        AND "_cql_stands"
        AND NOT (
          CASE WHEN "_cql_resets" THEN "_cql_is_set" ELSE NOT "_cql_held" IS NULL END
        )
      )
      THEN 1
      ELSE 0
    END AS BIGINT) AS "_cql_wrong"
  FROM judged
  WHERE
    (
      "_cql_d" - CASE
        WHEN "_cql_d" < 0
        AND (
          CASE WHEN "_cql_resets" THEN "_cql_is_set" ELSE NOT "_cql_held" IS NULL END
        )
        THEN -1
        WHEN "_cql_d" > 0
        AND (
          "_cql_takes_place"
          AND "_cql_stands"
          AND NOT (
            CASE WHEN "_cql_resets" THEN "_cql_is_set" ELSE NOT "_cql_held" IS NULL END
          )
        )
        THEN 1
        ELSE 0
      END
    ) <> 0
) AS outcome;

-- title: the same without upserts
WITH pending AS (
  SELECT
    "k",
    "name",
    "_ts",
    "_op",
    "_cql_seq",
    "_ts" AS "_cql_enter"
  FROM temp."few"
), counted AS (
  SELECT
    "k",
    "name",
    "_ts",
    "_op",
    "_cql_seq",
    CAST(NULL AS BIGINT) AS "_cql_upsert"
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
      ON q."k" = s."k"
    WHERE
      s."_cql_leave" = 9223372036854775807
    UNION ALL
    SELECT
      *
    FROM pending
  ) AS history
), sums AS (
  SELECT
    "k",
    "name",
    CAST(SUM(CASE WHEN "_op" = '-' THEN -1 WHEN "_op" = 'u' THEN 0 ELSE 1 END) AS BIGINT) AS "_cql_d",
    BOOL_OR(CAST("_cql_seq" IS NOT DISTINCT FROM "_cql_upsert" AS BOOLEAN)) AS "_cql_is_set",
    COALESCE(
      MIN("_cql_seq") FILTER(WHERE
        NOT "_ts" IS NULL AND NOT "_op" = '-'),
      MIN("_cql_seq") FILTER(WHERE
        NOT "_ts" IS NULL)
    ) AS "_cql_row",
    MIN("_cql_seq") FILTER(WHERE
      "_ts" IS NULL) AS "_cql_held",
    NOT MAX("_cql_upsert") IS NULL AS "_cql_resets"
  FROM counted
  GROUP BY
    "k",
    "name"
), judged AS (
  SELECT
    "_cql_d",
    "_cql_is_set",
    "_cql_resets",
    "_cql_row",
    "_cql_held",
    "_cql_resets"
    OR BOOL_OR(CAST(NOT "_cql_held" IS NULL AND "_cql_d" < 0 AS BOOLEAN)) OVER (PARTITION BY "k")
    OR NOT BOOL_OR(CAST(NOT "_cql_held" IS NULL AS BOOLEAN)) OVER (PARTITION BY "k") AS "_cql_takes_place",
    (
      (
        "_cql_is_set" AND NOT "_cql_d" < 0
      ) OR "_cql_d" > 0
    )
    AND ROW_NUMBER() OVER (
      PARTITION BY "k"
      ORDER BY CASE
        WHEN "_cql_is_set" AND NOT "_cql_d" < 0
        THEN 0
        WHEN "_cql_d" > 0
        THEN 1
        ELSE 2
      END NULLS FIRST, "_cql_row" NULLS FIRST
    ) = 1 AS "_cql_stands"
  FROM sums
)
SELECT
  *
FROM (
  SELECT
    COALESCE("_cql_held", "_cql_row") AS "_cql_seq",
    CASE WHEN NOT NOT "_cql_held" IS NULL THEN $instant END AS "_ts",
    COALESCE(CASE WHEN NOT "_cql_held" IS NULL THEN $instant END, 9223372036854775807) AS "_cql_leave",
    CAST(0 AS BIGINT) AS "_cql_wrong"
  FROM judged
  WHERE
    "_cql_takes_place" AND "_cql_stands" <> (
      NOT "_cql_held" IS NULL
    )
  UNION ALL
  SELECT
    "_cql_row" AS "_cql_seq",
    $instant AS "_ts",
    CAST(NULL AS BIGINT) AS "_cql_leave",
    CAST("_cql_d" - CASE
      WHEN "_cql_d" < 0
      AND (
        CASE WHEN "_cql_resets" THEN "_cql_is_set" ELSE NOT "_cql_held" IS NULL END
      )
      THEN -1
      WHEN "_cql_d" > 0
      AND (
        "_cql_takes_place"
        AND "_cql_stands"
        AND NOT (
          CASE WHEN "_cql_resets" THEN "_cql_is_set" ELSE NOT "_cql_held" IS NULL END
        )
      )
      THEN 1
      ELSE 0
    END AS BIGINT) AS "_cql_wrong"
  FROM judged
  WHERE
    (
      "_cql_d" - CASE
        WHEN "_cql_d" < 0
        AND (
          CASE WHEN "_cql_resets" THEN "_cql_is_set" ELSE NOT "_cql_held" IS NULL END
        )
        THEN -1
        WHEN "_cql_d" > 0
        AND (
          "_cql_takes_place"
          AND "_cql_stands"
          AND NOT (
            CASE WHEN "_cql_resets" THEN "_cql_is_set" ELSE NOT "_cql_held" IS NULL END
          )
        )
        THEN 1
        ELSE 0
      END
    ) <> 0
) AS outcome;
