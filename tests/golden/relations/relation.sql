-- title: few elements are set apart
SELECT "k", "name", "_ts", "_op", "_cql_seq" FROM cql_state."pending_r" WHERE "_ts" <= $until;

-- title: insertions into a bag need no judging
INSERT INTO cql_state."relation_r" ("k", "name", "_cql_enter", "_cql_leave", "_cql_seq")
SELECT "k", "name", "_ts", 9223372036854775807, "_cql_seq"
FROM (
  SELECT "k", "name", "_ts", "_op", "_cql_seq", "_ts" AS "_cql_enter" FROM cql_state."pending_r"
  WHERE "_ts" <= $until
) AS pending
ORDER BY "_ts", "_cql_seq";

-- title: nor do those of one instant
INSERT INTO cql_state."relation_r" ("k", "name", "_cql_enter", "_cql_leave", "_cql_seq")
SELECT "k", "name", "_ts", 9223372036854775807, "_cql_seq"
FROM (
  SELECT "k", "name", "_ts", "_op", "_cql_seq", "_ts" AS "_cql_enter" FROM cql_state."pending_r"
  WHERE "_ts" <= $until
) AS pending;

-- title: many insertions by an ascending key
SELECT COUNT(*) FILTER(WHERE "k" > "_cql_before0"
    OR ("k" = "_cql_before0" AND ("name" > "_cql_before1"))) = COUNT(*) - 1 AS "_cql_is_greater"
FROM (
  SELECT "k", "name", LAG("k") OVER () AS "_cql_before0", LAG("name") OVER () AS "_cql_before1"
  FROM (
    SELECT "k", "name", "_ts", "_op", "_cql_seq", "_ts" AS "_cql_enter" FROM cql_state."pending_r"
    WHERE "_ts" <= $until
  ) AS pending
) AS pairs;

-- title: many insertions of one key
SELECT "k"
FROM (
  SELECT "k", "name", "_ts", "_op", "_cql_seq", "_ts" AS "_cql_enter" FROM cql_state."pending_r"
  WHERE "_ts" <= $until
) AS pending GROUP BY "k"
HAVING COUNT(*) > 1
LIMIT 1;

-- title: many insertions of a key that is there
SELECT s."_cql_seq" FROM cql_state."relation_r" AS s
SEMI JOIN (
  SELECT "k", "name", "_ts", "_op", "_cql_seq", "_ts" AS "_cql_enter" FROM cql_state."pending_r"
  WHERE "_ts" <= $until
) AS q ON q."k" IS NOT DISTINCT FROM s."k" WHERE s."_cql_leave" = 9223372036854775807
LIMIT 1;

-- title: rows end
UPDATE cql_state."relation_r" AS s SET _cql_leave = o."_cql_leave" FROM temp."_cql_outcome" AS o
WHERE s."_cql_seq" = o."_cql_seq" AND o."_ts" IS NULL;

-- title: rows enter
INSERT INTO cql_state."relation_r" ("k", "name", "_cql_enter", "_cql_leave", "_cql_seq")
SELECT q."k", q."name", o."_ts", o."_cql_leave", o."_cql_seq" FROM temp."_cql_outcome" AS o
JOIN cql_state."pending_r" AS q ON q."_cql_seq" = o."_cql_seq"
WHERE NOT o."_ts" IS NULL AND NOT o."_cql_leave" IS NULL
ORDER BY o."_ts", o."_cql_seq";

-- title: the queue is resolved
DELETE FROM cql_state."pending_r" WHERE "_ts" <= $until;

-- title: what has no effect
SELECT o."_ts", o."_cql_wrong", CAST({'k': q."k", 'name': q."name"} AS TEXT) AS "element"
FROM temp."_cql_outcome" AS o
JOIN cql_state."pending_r" AS q ON q."_cql_seq" = o."_cql_seq"
WHERE NOT o."_ts" IS NULL AND o."_cql_wrong" <> 0
ORDER BY o."_ts", o."_cql_seq";

-- title: rows of few elements
WITH near AS MATERIALIZED (
  SELECT s."k", s."name", s."_cql_seq", s."_cql_enter", s."rowid" AS "_cql_rowid"
  FROM cql_state."relation_r" AS s
  SEMI JOIN temp."few" AS q ON q."k" = s."k" WHERE s."_cql_leave" = 9223372036854775807
)
SELECT * FROM near AS s
SEMI JOIN temp."few" AS q ON q."k" = s."k" AND q."name" = s."name";

-- title: what few elements change
SELECT q."k", q."name", o."_ts" AS "_cql_enter", o."_cql_leave", o."_cql_seq",
  CAST(NULL AS BIGINT) AS "_cql_rowid" FROM temp."_cql_outcome" AS o
JOIN temp."few" AS q ON q."_cql_seq" = o."_cql_seq"
WHERE NOT o."_ts" IS NULL AND NOT o."_cql_leave" IS NULL
UNION ALL
SELECT s."k", s."name", s."_cql_enter", o."_cql_leave", s."_cql_seq", s."_cql_rowid"
FROM temp."_cql_outcome" AS o
JOIN temp."held" AS s ON s."_cql_seq" = o."_cql_seq" WHERE o."_ts" IS NULL;

-- title: what few insertions into a bag change
SELECT "k", "name", "_ts" AS "_cql_enter", 9223372036854775807 AS "_cql_leave", "_cql_seq",
  CAST(NULL AS BIGINT) AS "_cql_rowid"
FROM (
  SELECT "k", "name", "_ts", "_op", "_cql_seq", "_ts" AS "_cql_enter" FROM cql_state."pending_r"
  WHERE "_ts" <= $until
) AS pending;

-- title: the same of insertions in memory
SELECT "k", "name", "_ts" AS "_cql_enter", 9223372036854775807 AS "_cql_leave", "_cql_seq",
  CAST(NULL AS BIGINT) AS "_cql_rowid" FROM _cql_buffered_elements;

-- title: keys that get what they give up
DELETE FROM temp."ends" WHERE "_cql_held" IN (
    SELECT "_cql_held" FROM temp."ends" WHERE "_cql_same" AND "_cql_leave" = 9223372036854775807
  );

-- title: rows end by what changes
UPDATE cql_state."relation_r" AS s SET _cql_leave = o."_cql_leave" FROM temp."ends" AS o
WHERE s."rowid" = o."_cql_rowid";

-- title: rows enter by what changes
INSERT INTO cql_state."relation_r" ("k", "name", "_cql_enter", "_cql_leave", "_cql_seq")
SELECT "k", "name", "_cql_enter", "_cql_leave", "_cql_seq" FROM temp."ends"
WHERE "_cql_rowid" IS NULL;

-- title: the content with what is pending
SELECT "k", "name" FROM cql_state."relation_r" WHERE "_cql_leave" = 9223372036854775807
  AND NOT "_cql_seq" IN (SELECT "_cql_seq" FROM temp."_cql_outcome" WHERE "_ts" IS NULL)
UNION ALL
SELECT "k", "name" FROM cql_state."pending_r" WHERE "_ts" <= 7 AND "_cql_seq" IN (
    SELECT "_cql_seq" FROM temp."_cql_outcome"
    WHERE NOT "_ts" IS NULL AND "_cql_leave" = 9223372036854775807
  );
