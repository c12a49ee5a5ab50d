-- law: R(τ) = Q(L(τ), M(τ)) at t₀ and wherever an input changes or a comparison turns: + R(τ) at τ, − R(τ) at the next
-- operator: Recomputation
-- node: Recompute(l, m, "SELECT k, (SELECT count(*) FROM m WHERE i = k AND v > _cql_instants._ts) AS n FROM l", turns=((1, "v"),))
-- means: SELECT k, (SELECT count(*) FROM {m} WHERE i = k AND v > current_timestamp) AS n FROM {l}
-- l(k INTEGER):
--   0..12: (1) 2(NULL); 3..: (2); 8: -(2) (3); 8..12: 2(1); 9: -(3); 13..: (1)
-- m(i INTEGER, v INTEGER) has_unit_weights:
--   0..: (1, 15) (NULL, 3); 5..6: (1, 9); 7..: (1, 10) (2, NULL); 1..7: (2, 4)
-- ticks: 2, 4, 6, 12, 15, 20
-- gives:
--   0: (1, 1) 2(NULL, 0)
--   3: (2, 1)
--   4: (2, 0) -(2, 1)
--   5: -(1, 1) (1, 2)
--   6: (1, 1) -(1, 2)
--   7: -(1, 1) (1, 2)
--   8: 2(1, 2) -(2, 0) (3, 0)
--   9: -(3, 0)
--   10: 3(1, 1) -3(1, 2)
--   12: -3(1, 1) -2(NULL, 0)
--   13: (1, 1)
--   15: (1, 0) -(1, 1)
-- same, t₀ is one of them:
--   worked out again: a law: _cql_enter > $t0 -> _cql_enter >= $t0
--   worked out again: a law: _cql_enter > $t0 -> _cql_enter >= $t0 2
--   worked out again: a law: _ts > $t0 -> _ts >= $t0
-- same, each tuple of m has weight 1:
--   worked out again: a law: _weight -> -(_weight) AS _weight 2
----
-- worked out again: a law
CREATE OR REPLACE TEMPORARY TABLE temp._cql_delta_recompute AS
WITH _cql_alive0 AS (
  SELECT k, _cql_enter, _cql_leave, _weight FROM alive_l
), _cql_alive1 AS (
  SELECT i, v, _cql_enter, _cql_leave, _weight FROM alive_m
), _cql_instants AS (
  SELECT _ts, LEAD(_ts) OVER (ORDER BY _ts) AS _cql_next
  FROM (
    SELECT CAST(GREATEST($t0, $begin) AS BIGINT) AS _ts
    UNION ALL
    SELECT _cql_enter AS _ts FROM _cql_alive0 WHERE _cql_enter > $t0
    UNION ALL
    SELECT _cql_leave AS _ts FROM _cql_alive0 WHERE _cql_leave <= $t1
    UNION ALL
    SELECT _cql_enter AS _ts FROM _cql_alive1 WHERE _cql_enter > $t0
    UNION ALL
    SELECT _cql_leave AS _ts FROM _cql_alive1 WHERE _cql_leave <= $t1
    UNION ALL
    SELECT _ts FROM (SELECT v AS _ts FROM _cql_alive1) AS turns WHERE _ts > $t0 AND _ts <= $t1
  ) AS all_instants GROUP BY _ts
), _cql_at0 AS (
  SELECT *, UNNEST(RANGE(_weight)) AS _cql_copy
  FROM (
    SELECT _cql_at, k, CAST(SUM(_weight) AS BIGINT) AS _weight
    FROM (
      SELECT i._ts AS _cql_at, l.k AS k, l._weight AS _weight FROM _cql_instants AS i
      INNER JOIN _cql_alive0 AS l ON l._cql_enter <= i._ts AND l._cql_leave > i._ts
    ) AS pairs GROUP BY _cql_at, k
  ) AS net
), _cql_at1 AS (
  SELECT i._ts AS _cql_at, l.i AS i, l.v AS v FROM _cql_instants AS i
  INNER JOIN _cql_alive1 AS l ON l._cql_enter <= i._ts AND l._cql_leave > i._ts
), _cql_results AS (
  SELECT _cql_again.k, _cql_again.n, _cql_instants._ts AS _cql_at, _cql_instants._cql_next
  FROM _cql_instants
  CROSS JOIN LATERAL (
    SELECT k, (
        SELECT COUNT(*)
        FROM (
          SELECT i AS i, v AS v FROM (SELECT i, v, _cql_at FROM _cql_at1) AS tuples
          WHERE _cql_at = _cql_instants._ts
        ) WHERE i = k AND v > _cql_instants._ts
      ) AS n
    FROM (
      SELECT k AS k FROM (SELECT k, _cql_at FROM _cql_at0) AS tuples
      WHERE _cql_at = _cql_instants._ts
    )
  ) AS _cql_again(k, n)
)
SELECT k, n, _ts, CAST(SUM(_weight) AS BIGINT) AS _weight
FROM (
  SELECT k, n, _cql_at AS _ts, CAST(1 AS BIGINT) AS _weight FROM _cql_results WHERE _cql_at > $t0
  UNION ALL
  SELECT k, n, _cql_next AS _ts, CAST(-1 AS BIGINT) AS _weight FROM _cql_results
  WHERE NOT _cql_next IS NULL
) AS elements GROUP BY k, n, _ts
HAVING SUM(_weight) <> 0;
-- elements
SELECT k, n, _ts, _weight FROM temp._cql_delta_recompute;

-- law: a query of the current time may change at every instant
-- operator: Recomputation
-- node: Recompute(l, "SELECT v, _cql_instants._ts // 2 AS half FROM l", always=True)
-- means: SELECT v, current_timestamp // 2 AS half FROM {l}
-- l(v INTEGER):
--   3..6: 2(1); 4..: (NULL) (1); 8: -(1)
-- begin: 2
-- ticks: 3, 4, 7, 8
-- gives:
--   3: 2(1, 1)
--   4: -2(1, 1) 3(1, 2) (NULL, 2)
--   6: -3(1, 2) (1, 3) -(NULL, 2) (NULL, 3)
--   8: -(1, 3) -(NULL, 3) (NULL, 4)
----
-- worked out again: a law
CREATE OR REPLACE TEMPORARY TABLE temp._cql_delta_recompute AS
WITH _cql_alive0 AS (
  SELECT v, _cql_enter, _cql_leave, _weight FROM alive_l
), _cql_instants AS (
  SELECT _ts, LEAD(_ts) OVER (ORDER BY _ts) AS _cql_next
  FROM (SELECT UNNEST(RANGE(GREATEST($t0, $begin), $t1 + 1)) AS _ts) AS all_instants
), _cql_at0 AS (
  SELECT *, UNNEST(RANGE(_weight)) AS _cql_copy
  FROM (
    SELECT _cql_at, v, CAST(SUM(_weight) AS BIGINT) AS _weight
    FROM (
      SELECT i._ts AS _cql_at, l.v AS v, l._weight AS _weight FROM _cql_instants AS i
      INNER JOIN _cql_alive0 AS l ON l._cql_enter <= i._ts AND l._cql_leave > i._ts
    ) AS pairs GROUP BY _cql_at, v
  ) AS net
), _cql_results AS (
  SELECT _cql_again.v, _cql_again.half, _cql_instants._ts AS _cql_at, _cql_instants._cql_next
  FROM _cql_instants
  CROSS JOIN LATERAL (
    SELECT v, _cql_instants._ts // 2 AS half
    FROM (
      SELECT v AS v FROM (SELECT v, _cql_at FROM _cql_at0) AS tuples
      WHERE _cql_at = _cql_instants._ts
    )
  ) AS _cql_again(v, half)
)
SELECT v, half, _ts, CAST(SUM(_weight) AS BIGINT) AS _weight
FROM (
  SELECT v, half, _cql_at AS _ts, CAST(1 AS BIGINT) AS _weight FROM _cql_results WHERE _cql_at > $t0
  UNION ALL
  SELECT v, half, _cql_next AS _ts, CAST(-1 AS BIGINT) AS _weight FROM _cql_results
  WHERE NOT _cql_next IS NULL
) AS elements GROUP BY v, half, _ts
HAVING SUM(_weight) <> 0;
-- elements
SELECT v, half, _ts, _weight FROM temp._cql_delta_recompute;

-- law: what may not stand in a LATERAL is a statement an instant
-- operator: OneByOne
-- node: Recompute(l, "SELECT k, sum(v) OVER (PARTITION BY k) AS total FROM l", alone="a law")
-- means: SELECT k, sum(v) OVER (PARTITION BY k) AS total FROM {l}
-- l(k INTEGER, v INTEGER):
--   0..3: (1, 1) 2(1, NULL) (NULL, 1); 1..: (2, 2) (4, 1); 2: (2, 3); 3..5: (1, 1) (1, 2); 4: -(2, 3) (2, 2)
--   5..8: 2(1, 2) (2, NULL); 6: -(4, 1)
-- ticks: 1, 2, 5, 8
-- gives:
--   0: 3(1, 1) (NULL, 1)
--   1: (2, 2) (4, 1)
--   2: -(2, 2) 2(2, 5)
--   3: -3(1, 1) 2(1, 3) -(NULL, 1)
--   4: 2(2, 4) -2(2, 5)
--   5: -2(1, 3) 2(1, 4) (2, 4)
--   6: -(4, 1)
--   8: -2(1, 4) -(2, 4)
-- same, t₀ is one of them:
--   the instants at which an input changes: _cql_enter > $t0 -> _cql_enter >= $t0
----
-- input 0
CREATE OR REPLACE TEMPORARY TABLE temp._cql_alive0_recompute AS
SELECT k, v, _cql_enter, _cql_leave, _weight FROM alive_l;
-- the instants at which an input changes
CREATE OR REPLACE TEMPORARY TABLE temp._cql_instants_recompute AS
SELECT _ts, LEAD(_ts) OVER (ORDER BY _ts) AS _cql_next
FROM (
  SELECT CAST(GREATEST($t0, $begin) AS BIGINT) AS _ts
  UNION ALL
  SELECT _cql_enter AS _ts FROM temp._cql_alive0_recompute WHERE _cql_enter > $t0
  UNION ALL
  SELECT _cql_leave AS _ts FROM temp._cql_alive0_recompute WHERE _cql_leave <= $t1
) AS all_instants GROUP BY _ts;
-- input 0 at these instants
CREATE OR REPLACE TEMPORARY TABLE temp._cql_at0_recompute AS
SELECT *, UNNEST(RANGE(_weight)) AS _cql_copy
FROM (
  SELECT _cql_at, k, v, CAST(SUM(_weight) AS BIGINT) AS _weight
  FROM (
    SELECT i._ts AS _cql_at, l.k AS k, l.v AS v, l._weight AS _weight
    FROM temp._cql_instants_recompute AS i
    INNER JOIN temp._cql_alive0_recompute AS l ON l._cql_enter <= i._ts AND l._cql_leave > i._ts
  ) AS pairs GROUP BY _cql_at, k, v
) AS net;
-- room for the results
CREATE OR REPLACE TEMPORARY TABLE temp._cql_results_recompute (
  k INT, total INT128, _cql_at BIGINT, _cql_next BIGINT
);
-- worked out again: a law
INSERT INTO temp._cql_results_recompute
SELECT
  _cql_again.k, _cql_again.total, CAST($at AS BIGINT) AS _cql_at, CAST($next AS BIGINT) AS _cql_next
FROM (
  SELECT k, SUM(v) OVER (PARTITION BY k) AS total
  FROM (
    SELECT k AS k, v AS v FROM (SELECT k, v, _cql_at FROM temp._cql_at0_recompute) AS tuples
    WHERE _cql_at = CAST($at AS BIGINT)
    ORDER BY k, v
  )
) AS _cql_again(k, total);
-- what has changed from instant to instant
CREATE OR REPLACE TEMPORARY TABLE temp._cql_delta_recompute AS
SELECT k, total, _ts, CAST(SUM(_weight) AS BIGINT) AS _weight
FROM (
  SELECT k, total, _cql_at AS _ts, CAST(1 AS BIGINT) AS _weight FROM temp._cql_results_recompute
  WHERE _cql_at > $t0
  UNION ALL
  SELECT k, total, _cql_next AS _ts, CAST(-1 AS BIGINT) AS _weight FROM temp._cql_results_recompute
  WHERE NOT _cql_next IS NULL
) AS elements GROUP BY k, total, _ts
HAVING SUM(_weight) <> 0;
-- elements
SELECT k, total, _ts, _weight FROM temp._cql_delta_recompute;
