-- title: what hops together is worked out whole at each boundary, a hopping window from its panes
SELECT c.k, c.n FROM (SELECT k, count(*) AS n FROM s [HOP 10 EVERY 5] GROUP BY k) c,
  (SELECT max(n) AS most FROM (SELECT k, count(*) AS n FROM s [HOP 10 EVERY 5] GROUP BY k)) m
WHERE c.n = m.most
----
-- operator 4: the panes that begin
INSERT INTO cql_state."q_4_panes"
SELECT
  "s.k",
  COUNT(*) AS "count0",
  "_cql_boundary"
FROM (
  SELECT
    "k" AS "s.k",
    (
      (
        "_ts"
      ) - (
        "_ts"
      ) % 5 - CASE WHEN (
        "_ts"
      ) % 5 < 0 THEN 5 ELSE 0 END
    ) + 5 AS "_cql_boundary"
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
) AS tuples
GROUP BY
  "s.k",
  "_cql_boundary";

-- operator 0: the content at each boundary
INSERT INTO cql_state."q_0_content"
WITH _cql_shared4 AS MATERIALIZED (
  SELECT
    "s.k",
    CAST(SUM("count0") AS BIGINT) AS "count0",
    "_cql_boundary"
  FROM (
    SELECT
      "s.k",
      "count0",
      "_cql_boundary" + UNNEST(RANGE(0, 10, 5)) AS "_cql_boundary"
    FROM cql_state."q_4_panes"
  ) AS laid_out
  WHERE
    "_cql_boundary" > $t0 AND "_cql_boundary" <= $t1
  GROUP BY
    "s.k",
    "_cql_boundary"
)
SELECT
  i0."s.k" AS "k",
  i0."count0" AS "n",
  i0."_cql_boundary"
FROM _cql_shared4 AS i0
CROSS JOIN (
  SELECT
    MAX("count0") AS "max0",
    "_cql_boundary"
  FROM _cql_shared4
  GROUP BY
    "_cql_boundary"
) AS i1
WHERE
  i0."_cql_boundary" = i1."_cql_boundary" AND i0."count0" = i1."max0";

-- operator 0: write the elements of the answer
INSERT INTO cql_state."changes_q"
SELECT
  "k",
  "n",
  "_ts",
  CAST(SUM("_weight") AS BIGINT) AS "_weight"
FROM (
  SELECT
    "k",
    "n",
    "_cql_boundary" AS "_ts",
    CAST(1 AS BIGINT) AS "_weight"
  FROM cql_state."q_0_content"
  WHERE
    "_cql_boundary" > $t0
  UNION ALL
  SELECT
    "k",
    "n",
    "_cql_boundary" + 5 AS "_ts",
    CAST(-1 AS BIGINT) AS "_weight"
  FROM cql_state."q_0_content"
  WHERE
    "_cql_boundary" + 5 <= $t1
) AS elements
GROUP BY
  "k",
  "n",
  "_ts"
HAVING
  SUM("_weight") <> 0;

-- operator 0: forget the contents before the last
DELETE FROM cql_state."q_0_content"
WHERE
  "_cql_boundary" < (
    (
      $t1
    ) - (
      $t1
    ) % 5 - CASE WHEN (
      $t1
    ) % 5 < 0 THEN 5 ELSE 0 END
  );

-- operator 4: forget the panes that have left
DELETE FROM cql_state."q_4_panes"
WHERE
  "_cql_boundary" <= (
    (
      $t1
    ) - (
      $t1
    ) % 5 - CASE WHEN (
      $t1
    ) % 5 < 0 THEN 5 ELSE 0 END
  ) - 5;
