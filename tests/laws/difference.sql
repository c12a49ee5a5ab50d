-- law: what is left of L when a part of it is gone is linear: Δ(L − R) = ΔL − ΔR
-- operator: Minus
-- node: Difference(l, r)
-- means: SELECT * FROM {l} EXCEPT ALL SELECT * FROM {r}
-- asks: elements, lives, standing, alive
-- l(k INTEGER, v INTEGER):
--   0..6: 3(1, NULL)
--   0..: 2(2, 2)
--   1..7: (NULL, 1)
--   3: (1, 1)
-- r(k INTEGER, v INTEGER):
--   0..4: (1, NULL)
--   1..7: (2, 2)
--   3..7: (NULL, 1)
--   3..5: (1, 1)
-- ticks: 1, 2, 5, 8
-- gives:
--   0: 2(1, NULL) 2(2, 2)
--   1: -(2, 2) (NULL, 1)
--   3: -(NULL, 1)
--   4: (1, NULL)
--   5: (1, 1)
--   6: -3(1, NULL)
--   7: (2, 2)
----
-- elements
SELECT k, v, _ts, _weight FROM delta_l
UNION ALL
SELECT k, v, _ts, -_weight AS _weight FROM delta_r;
-- lives
SELECT k, v, _cql_enter, _cql_leave, _weight FROM lives_l
UNION ALL
SELECT k, v, _cql_enter, _cql_leave, -_weight AS _weight FROM lives_r;
-- standing
SELECT k, v, _cql_enter, _cql_leave, _weight FROM l
UNION ALL
SELECT k, v, _cql_enter, _cql_leave, -_weight AS _weight FROM r;
-- alive
SELECT k, v, _cql_enter, _cql_leave, _weight FROM alive_l
UNION ALL
SELECT k, v, _cql_enter, _cql_leave, -_weight AS _weight FROM alive_r;
