-- law: by keys, of one input: for the keys that changed, at the instants they changed at
-- operator: KeyedRecomputation
-- node: Recompute(l, "SELECT count(*) // 2 AS n, max(v) AS m FROM l GROUP BY k", keys=(("k",),))
-- means: SELECT count(*) // 2 AS n, max(v) AS m FROM {l} GROUP BY k
-- l(k INTEGER, v VARCHAR):
--   0..4: (1, 'a') (NULL, 'x'); 0..5: (2, 'b'); 4: (3, 'c'); 0: (9, 'i') (1, 'h'); 1..: 2(1, 'b') 3(NULL, 'y')
--   2..6: (8, NULL); 2..3: 2(1, 'f') (2, 'b'); 3: (1, 'f') 2(4, 'd') -2(4, 'd'); 5: -(1, 'f'); 6: (2, 'e'); 8: -(NULL, 'y')
--   5..6: (9, 'i'); 5..7: (7, 'i'); 6..9: (6, 'e')
-- ticks: 0, 1, 3, 7, 10
-- gives:
--   0: (0, 'b') (0, 'i') (0, 'x') (1, 'h')
--   1: -(0, 'x') -(1, 'h') (2, 'h') (2, 'y')
--   2: -(0, 'b') (0, NULL) (1, 'b') -(2, 'h') (3, 'h')
--   3: (0, 'b') -(1, 'b') (2, 'h') -(3, 'h')
--   4: (0, 'c') (1, 'y') -(2, 'y')
--   5: -(0, 'b') (1, 'h') (1, 'i') -(2, 'h')
--   6: 2(0, 'e') (0, 'i') -(0, NULL) -(1, 'i')
--   7: -(0, 'i')
--   9: -(0, 'e')
-- same, any numbers do that tell the instants apart:
--   the keys that changed, and when: DENSE_RANK() OVER (ORDER BY _ts, _cql_next) with _ts turned round
--   the keys that changed, and when: DENSE_RANK() OVER (ORDER BY _ts, _cql_next) with _cql_next turned round
----
-- the keys that changed, and when
CREATE OR REPLACE TEMPORARY TABLE temp._cql_keys_recompute AS
SELECT _cql_key0, _ts, _cql_next, DENSE_RANK() OVER (ORDER BY _ts, _cql_next) AS _cql_number
FROM (
  SELECT _cql_key0, _ts, LEAD(_ts) OVER (PARTITION BY _cql_key0 ORDER BY _ts) AS _cql_next
  FROM (
    SELECT k AS _cql_key0, UNNEST([_ts, CAST(GREATEST($t0, $begin) AS BIGINT)]) AS _ts FROM delta_l
  ) AS changes GROUP BY _cql_key0, _ts
) AS pairs;
-- worked out again by k: a law
CREATE OR REPLACE TEMPORARY TABLE temp._cql_delta_recompute AS
WITH _cql_instants AS (
  SELECT DISTINCT _cql_number, _ts, _cql_next FROM temp._cql_keys_recompute
), _cql_at0 AS (
  SELECT *, UNNEST(RANGE(_weight)) AS _cql_copy
  FROM (
    SELECT _cql_at, k, v, CAST(SUM(_weight) AS BIGINT) AS _weight
    FROM (
      SELECT i._cql_number AS _cql_at, l.k AS k, l.v AS v, l._weight AS _weight
      FROM temp._cql_keys_recompute AS i
      INNER JOIN (
        SELECT k, v, _cql_enter, _cql_leave, _weight FROM alive_l
      ) AS l
        ON i._cql_key0 IS NOT DISTINCT FROM l.k AND l._cql_enter <= i._ts AND l._cql_leave > i._ts
    ) AS pairs GROUP BY _cql_at, k, v
  ) AS net
), _cql_results AS (
  SELECT _cql_again.n, _cql_again.m, _cql_instants._cql_number AS _cql_at, _cql_instants._ts,
    _cql_instants._cql_next FROM _cql_instants
  CROSS JOIN LATERAL (
    SELECT COUNT(*) // 2 AS n, MAX(v) AS m
    FROM (
      SELECT k AS k, v AS v FROM (SELECT k, v, _cql_at FROM _cql_at0) AS tuples
      WHERE _cql_at = _cql_instants._cql_number
    ) GROUP BY k
  ) AS _cql_again(n, m)
)
SELECT n, m, _ts, CAST(SUM(_weight) AS BIGINT) AS _weight
FROM (
  SELECT n, m, _ts, CAST(1 AS BIGINT) AS _weight FROM _cql_results WHERE _ts > $t0
  UNION ALL
  SELECT n, m, _cql_next AS _ts, CAST(-1 AS BIGINT) AS _weight FROM _cql_results
  WHERE NOT _cql_next IS NULL
) AS elements GROUP BY n, m, _ts
HAVING SUM(_weight) <> 0;
-- elements
SELECT n, m, _ts, _weight FROM temp._cql_delta_recompute;

-- law: by keys, of two inputs, each with a column of its own
-- operator: KeyedRecomputation
-- node: Recompute(l, r, "SELECT k, (SELECT count(w) FROM r WHERE j = k) AS n FROM l", keys=(("k",), ("j",)))
-- means: SELECT k, (SELECT count(w) FROM {r} WHERE j = k) AS n FROM {l}
-- l(k INTEGER, v INTEGER) has_unit_weights:
--   0..4: (1, 5) (NULL, 7); 0..5: (2, 5); 4: (3, 5); 0: (9, 5)
--   2..6: (5, 6); 5: (6, 5); 1..8: (1, 7); 3..5: (2, 8)
-- r(j INTEGER, w INTEGER):
--   0: (7, 7) (9, 1); 2..6: (5, 6) (5, 7); 5: 2(6, 5); 3..7: (2, 4) (1, 6)
--   0..2: (1, 5); 1..6: (NULL, 7); 4..5: 2(NULL, 7) (9, 9); 6: -(6, 5); 3: (3, 3) (9, NULL)
-- ticks: 0, 1, 3, 7, 10
-- gives:
--   0: (1, 1) (2, 0) (9, 1) (NULL, 0)
--   1: (1, 1)
--   2: 2(1, 0) -2(1, 1) (5, 2)
--   3: -2(1, 0) 2(1, 1) -(2, 0) 2(2, 1)
--   4: -(1, 1) (3, 1) -(9, 1) (9, 2) -(NULL, 0)
--   5: -2(2, 1) (6, 2) (9, 1) -(9, 2)
--   6: -(5, 2) (6, 1) -(6, 2)
--   7: (1, 0) -(1, 1)
--   8: -(1, 0)
-- same, the query itself compares NULL with no key:
--   worked out again by k: a law: i._cql_key0 IS NOT DISTINCT FROM l.j -> i._cql_key0 = l.j
-- same, each tuple of l has weight 1:
--   worked out again by k: a law: _weight -> -(_weight) AS _weight
-- same, any numbers do that tell the instants apart: as above
----
-- the keys that changed, and when
CREATE OR REPLACE TEMPORARY TABLE temp._cql_keys_recompute AS
SELECT _cql_key0, _ts, _cql_next, DENSE_RANK() OVER (ORDER BY _ts, _cql_next) AS _cql_number
FROM (
  SELECT _cql_key0, _ts, LEAD(_ts) OVER (PARTITION BY _cql_key0 ORDER BY _ts) AS _cql_next
  FROM (
    SELECT k AS _cql_key0, UNNEST([_ts, CAST(GREATEST($t0, $begin) AS BIGINT)]) AS _ts FROM delta_l
    UNION ALL
    SELECT j AS _cql_key0, UNNEST([_ts, CAST(GREATEST($t0, $begin) AS BIGINT)]) AS _ts FROM delta_r
  ) AS changes GROUP BY _cql_key0, _ts
) AS pairs;
-- worked out again by k: a law
CREATE OR REPLACE TEMPORARY TABLE temp._cql_delta_recompute AS
WITH _cql_instants AS (
  SELECT DISTINCT _cql_number, _ts, _cql_next FROM temp._cql_keys_recompute
), _cql_at0 AS (
  SELECT i._cql_number AS _cql_at, l.k AS k, l.v AS v FROM temp._cql_keys_recompute AS i
  INNER JOIN (
    SELECT k, v, _cql_enter, _cql_leave, _weight FROM alive_l
  ) AS l ON i._cql_key0 IS NOT DISTINCT FROM l.k AND l._cql_enter <= i._ts AND l._cql_leave > i._ts
), _cql_at1 AS (
  SELECT *, UNNEST(RANGE(_weight)) AS _cql_copy
  FROM (
    SELECT _cql_at, j, w, CAST(SUM(_weight) AS BIGINT) AS _weight
    FROM (
      SELECT i._cql_number AS _cql_at, l.j AS j, l.w AS w, l._weight AS _weight
      FROM temp._cql_keys_recompute AS i
      INNER JOIN (
        SELECT j, w, _cql_enter, _cql_leave, _weight FROM alive_r
      ) AS l
        ON i._cql_key0 IS NOT DISTINCT FROM l.j AND l._cql_enter <= i._ts AND l._cql_leave > i._ts
    ) AS pairs GROUP BY _cql_at, j, w
  ) AS net
), _cql_results AS (
  SELECT _cql_again.k, _cql_again.n, _cql_instants._cql_number AS _cql_at, _cql_instants._ts,
    _cql_instants._cql_next FROM _cql_instants
  CROSS JOIN LATERAL (
    SELECT k, (
        SELECT COUNT(w)
        FROM (
          SELECT j AS j, w AS w FROM (SELECT j, w, _cql_at FROM _cql_at1) AS tuples
          WHERE _cql_at = _cql_instants._cql_number
        ) WHERE j = k
      ) AS n
    FROM (
      SELECT k AS k, v AS v FROM (SELECT k, v, _cql_at FROM _cql_at0) AS tuples
      WHERE _cql_at = _cql_instants._cql_number
    )
  ) AS _cql_again(k, n)
)
SELECT k, n, _ts, CAST(SUM(_weight) AS BIGINT) AS _weight
FROM (
  SELECT k, n, _ts, CAST(1 AS BIGINT) AS _weight FROM _cql_results WHERE _ts > $t0
  UNION ALL
  SELECT k, n, _cql_next AS _ts, CAST(-1 AS BIGINT) AS _weight FROM _cql_results
  WHERE NOT _cql_next IS NULL
) AS elements GROUP BY k, n, _ts
HAVING SUM(_weight) <> 0;
-- elements
SELECT k, n, _ts, _weight FROM temp._cql_delta_recompute;
