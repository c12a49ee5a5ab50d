-- law: what changes at boundaries alone is worked out whole at each: + C(B) at B, − C(B) at B + 2
-- operator: AtBoundaries
-- node: Join(d := Distinct(TimeWindow(s, 2, 2, hop=True)), Aggregate(d, m="max(v)"), "v <= m", shown=("k", "m"))
-- means: SELECT k, m FROM (SELECT DISTINCT * FROM {s Tumble(2)}), (SELECT max(v) AS m FROM {s Tumble(2)}) WHERE v <= m
-- asks: elements, answer
-- stream s(k INTEGER, v INTEGER):
--   -9: (3, 2); -8: (1, 7); -7: (1, 6); -6: (1, 5) (1, 5); -5: (2, NULL) (NULL, 5) (1, 4); -4: (1, 3); -3: (1, 5); -2: (2, 4) (1, 2)
--   -1: (NULL, 4) (2, 3); 0: (2, 1); 2: (2, 1); 3: (4, 2); 6: (2, 1); 7: (2, 1); 9: (3, 2); 11: (1, NULL); 12: (1, 1)
-- begin: -9
-- ticks: -7, -6, -4, -3, 0, 1, 6, 10, 14
-- gives:
--   -8: (3, 2)
--   -6: 2(1, 7) -(3, 2)
--   -4: 2(1, 5) -2(1, 7) (NULL, 5)
--   -2: -(NULL, 5)
--   0: (1, 4) -2(1, 5) 2(2, 4) (NULL, 4)
--   2: -(1, 4) (2, 1) -2(2, 4) -(NULL, 4)
--   4: -(2, 1) (2, 2) (4, 2)
--   6: -(2, 2) -(4, 2)
--   8: (2, 1)
--   10: -(2, 1) (3, 2)
--   12: -(3, 2)
--   14: (1, 1)
-- same, boundaries are multiples of 2:
--   upkeep: forget the contents before the last: CASE WHEN ($t1) % 2 < 0 THEN 2 END with 3
--   upkeep: forget the contents before the last: CASE WHEN ($t1) % 2 < 0 THEN 2 ELSE 0 END with 1
----
-- the content at each boundary
INSERT INTO cql_state.join_content
WITH _cql_shared1 AS MATERIALIZED (
  SELECT k, v, _cql_boundary
  FROM (
    SELECT
      k, v, ((_ts) - (_ts) % 2 - CASE WHEN (_ts) % 2 < 0 THEN 2 ELSE 0 END) + 2 AS _cql_boundary
    FROM s WHERE _ts > (($t0) - ($t0) % 2 - CASE WHEN ($t0) % 2 < 0 THEN 2 ELSE 0 END) - 1
      AND _ts <= (($t1) - ($t1) % 2 - CASE WHEN ($t1) % 2 < 0 THEN 2 ELSE 0 END) - 1
  ) AS tuples GROUP BY k, v, _cql_boundary
)
SELECT i0.k, i1.m, i0._cql_boundary FROM _cql_shared1 AS i0
CROSS JOIN (SELECT MAX(v) AS m, _cql_boundary FROM _cql_shared1 GROUP BY _cql_boundary) AS i1
WHERE i0._cql_boundary = i1._cql_boundary AND i0.v <= i1.m;
-- elements
SELECT k, m, _ts, CAST(SUM(_weight) AS BIGINT) AS _weight
FROM (
  SELECT k, m, _cql_boundary AS _ts, CAST(1 AS BIGINT) AS _weight FROM cql_state.join_content
  WHERE _cql_boundary > $t0
  UNION ALL
  SELECT k, m, _cql_boundary + 2 AS _ts, CAST(-1 AS BIGINT) AS _weight FROM cql_state.join_content
  WHERE _cql_boundary + 2 <= $t1
) AS elements GROUP BY k, m, _ts
HAVING SUM(_weight) <> 0;
-- upkeep: forget the contents before the last
DELETE FROM cql_state.join_content
WHERE _cql_boundary < (($t1) - ($t1) % 2 - CASE WHEN ($t1) % 2 < 0 THEN 2 ELSE 0 END);
-- answer
SELECT k, m, CAST(1 AS BIGINT) AS _weight FROM cql_state.join_content;

-- law: over HOP 6 EVERY 2 a boundary's aggregates are put together from three panes
-- operator: AtBoundaries
-- node: Aggregate(TimeWindow(s, 6, 2, hop=True), "k", n="count(v)", m="min(v)")
-- means: SELECT k, count(v) AS n, min(v) AS m FROM {s Hop(6, 2)} GROUP BY k
-- asks: elements, answer
-- stream s(k INTEGER, v INTEGER):
--   -6: (1, 5) (1, 5); -5: (2, NULL) (NULL, 5); -4: (1, 3); -3: (1, 6); -2: (2, 4) (1, 2); -1: (NULL, 2)
--   0: (2, 1); 2: (2, 1); 6: (2, 1); 7: (2, 1); 9: (3, 2); 11: (1, 1); 12: (1, 1)
-- begin: -7
-- ticks: -6, -3, 0, 1, 6, 8, 12, 14
-- gives:
--   -4: (1, 2, 5) (2, 0, NULL) (NULL, 1, 5)
--   -2: -(1, 2, 5) (1, 4, 3)
--   0: -(1, 4, 3) (1, 5, 2) -(2, 0, NULL) (2, 1, 4) -(NULL, 1, 5) (NULL, 2, 2)
--   2: (1, 3, 2) -(1, 5, 2) -(2, 1, 4) (2, 2, 1) (NULL, 1, 2) -(NULL, 2, 2)
--   4: (1, 1, 2) -(1, 3, 2) -(2, 2, 1) (2, 3, 1)
--   6: -(1, 1, 2) (2, 2, 1) -(2, 3, 1) -(NULL, 1, 2)
--   8: -(2, 2, 1) (2, 3, 1)
--   10: (2, 2, 1) -(2, 3, 1) (3, 1, 2)
--   12: (1, 1, 1)
--   14: -(1, 1, 1) (1, 2, 1) -(2, 2, 1)
-- kept panes:
--   (1, 1, 1, 12) (1, 1, 1, 14)
-- same, of equal results at a boundary there are none:
--   elements: SUM(_weight) -> MAX(_weight)
-- same, boundaries are multiples of 2: as above
-- same, a pane that is kept too long is in no window:
--   upkeep: forget the panes that have left: ($t1) with $t0 2
--   upkeep: forget the panes that have left: ($t1) with $t0 3
--   upkeep: forget the panes that have left: ($t1) % 2 with 3 2
--   upkeep: forget the panes that have left: CASE WHEN ($t1) % 2 < 0 THEN 2 END with 3
----
-- the panes that begin
INSERT INTO cql_state.aggregate_panes
SELECT k, COUNT(v) AS n, MIN(v) AS m, _cql_boundary
FROM (
  SELECT k, v, ((_ts) - (_ts) % 2 - CASE WHEN (_ts) % 2 < 0 THEN 2 ELSE 0 END) + 2 AS _cql_boundary
  FROM s WHERE _ts > (($t0) - ($t0) % 2 - CASE WHEN ($t0) % 2 < 0 THEN 2 ELSE 0 END) - 1
    AND _ts <= (($t1) - ($t1) % 2 - CASE WHEN ($t1) % 2 < 0 THEN 2 ELSE 0 END) - 1
) AS tuples GROUP BY k, _cql_boundary;
-- the content at each boundary
INSERT INTO cql_state.aggregate_content
SELECT k, CAST(SUM(n) AS BIGINT) AS n, MIN(m) AS m, _cql_boundary
FROM (
  SELECT k, n, m, _cql_boundary + UNNEST(RANGE(0, 6, 2)) AS _cql_boundary
  FROM cql_state.aggregate_panes
) AS laid_out WHERE _cql_boundary > $t0 AND _cql_boundary <= $t1 GROUP BY k, _cql_boundary;
-- elements
SELECT k, n, m, _ts, CAST(SUM(_weight) AS BIGINT) AS _weight
FROM (
  SELECT k, n, m, _cql_boundary AS _ts, CAST(1 AS BIGINT) AS _weight
  FROM cql_state.aggregate_content WHERE _cql_boundary > $t0
  UNION ALL
  SELECT k, n, m, _cql_boundary + 2 AS _ts, CAST(-1 AS BIGINT) AS _weight
  FROM cql_state.aggregate_content WHERE _cql_boundary + 2 <= $t1
) AS elements GROUP BY k, n, m, _ts
HAVING SUM(_weight) <> 0;
-- upkeep: forget the contents before the last
DELETE FROM cql_state.aggregate_content
WHERE _cql_boundary < (($t1) - ($t1) % 2 - CASE WHEN ($t1) % 2 < 0 THEN 2 ELSE 0 END);
-- upkeep: forget the panes that have left
DELETE FROM cql_state.aggregate_panes
WHERE _cql_boundary <= (($t1) - ($t1) % 2 - CASE WHEN ($t1) % 2 < 0 THEN 2 ELSE 0 END) - 4;
-- answer
SELECT k, n, m, CAST(1 AS BIGINT) AS _weight FROM cql_state.aggregate_content;
