-- law: top_k (R(τ)) = top_k (top_k (S) + L(τ)): of what stands through the tick, the first k tuples alone can be chosen
-- operator: TopK
-- node: Recompute(l, "SELECT v, k AS x FROM l ORDER BY 1 DESC, x LIMIT 2 OFFSET 1", first=3)
-- means: SELECT v, k AS x FROM {l} ORDER BY 1 DESC, x LIMIT 2 OFFSET 1
-- l(k INTEGER, v INTEGER) has_unit_weights:
--   0..12: (1, 5); 0..6: (2, 5); 0..: (3, NULL) (4, 3); 0..13: (4, 3); 0..9: (1, 4); 2..6: (NULL, 7)
--   3..4: (2, 9); 6..14: (NULL, 5); 8..10: (5, 6); 14..: (6, 1); 15..17: (3, NULL); 16..18: (1, 2)
-- ticks: 1, 4, 7, 9, 11, 13, 14, 18, 20
-- gives:
--   0: (4, 1) (5, 2)
--   2: -(4, 1) (5, 1)
--   3: -(5, 2) (7, NULL)
--   4: (5, 2) -(7, NULL)
--   6: (4, 1) -(5, 1) -(5, 2) (5, NULL)
--   8: -(4, 1) (5, 1)
--   10: (3, 4) -(5, 1)
--   12: (3, 4) -(5, NULL)
--   13: -(3, 4) (NULL, 3)
--   14: (1, 6) -(3, 4)
--   16: (2, 1) -(NULL, 3)
--   18: -(2, 1) (NULL, 3)
-- same, each tuple of l has weight 1:
--   worked out again: a law: _weight -> -(_weight) AS _weight…
-- same, who may be chosen may be one more:
--   worked out again: a law: LIMIT 3 with 4
-- same, t₀ is one of them:
--   worked out again: a law: _cql_enter > $t0 -> _cql_enter >= $t0
----
-- worked out again: a law
CREATE OR REPLACE TEMPORARY TABLE temp._cql_delta_recompute AS
WITH _cql_alive0 AS (
  SELECT k, v, _cql_enter, _cql_leave, _weight
  FROM (
    SELECT * FROM (SELECT k, v, _cql_enter, _cql_leave, _weight FROM l) AS standing
    ORDER BY v DESC, k
    LIMIT 3
  ) AS chosen
  UNION ALL
  SELECT k, v, _cql_enter, _cql_leave, _weight FROM lives_l
), _cql_instants AS (
  SELECT _ts, LEAD(_ts) OVER (ORDER BY _ts) AS _cql_next
  FROM (
    SELECT CAST(GREATEST($t0, $begin) AS BIGINT) AS _ts
    UNION ALL
    SELECT _cql_enter AS _ts FROM _cql_alive0 WHERE _cql_enter > $t0
    UNION ALL
    SELECT _cql_leave AS _ts FROM _cql_alive0 WHERE _cql_leave <= $t1
  ) AS all_instants GROUP BY _ts
), _cql_at0 AS (
  SELECT i._ts AS _cql_at, l.k AS k, l.v AS v FROM _cql_instants AS i
  INNER JOIN _cql_alive0 AS l ON l._cql_enter <= i._ts AND l._cql_leave > i._ts
), _cql_results AS (
  SELECT _cql_again.v, _cql_again.x, _cql_instants._ts AS _cql_at, _cql_instants._cql_next
  FROM _cql_instants
  CROSS JOIN LATERAL (
    SELECT v, k AS x
    FROM (
      SELECT k AS k, v AS v FROM (SELECT k, v, _cql_at FROM _cql_at0) AS tuples
      WHERE _cql_at = _cql_instants._ts
    )
    ORDER BY 1 DESC, x
    LIMIT 2
    OFFSET 1
  ) AS _cql_again(v, x)
)
SELECT v, x, _ts, CAST(SUM(_weight) AS BIGINT) AS _weight
FROM (
  SELECT v, x, _cql_at AS _ts, CAST(1 AS BIGINT) AS _weight FROM _cql_results WHERE _cql_at > $t0
  UNION ALL
  SELECT v, x, _cql_next AS _ts, CAST(-1 AS BIGINT) AS _weight FROM _cql_results
  WHERE NOT _cql_next IS NULL
) AS elements GROUP BY v, x, _ts
HAVING SUM(_weight) <> 0;
-- elements
SELECT v, x, _ts, _weight FROM temp._cql_delta_recompute;
