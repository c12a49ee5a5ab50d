-- law: a union of bags is linear: Δ(L + R) = ΔL + ΔR
-- operator: Union
-- node: UnionAll((l, r, m))
-- means: SELECT * FROM {l} UNION ALL SELECT * FROM {r} UNION ALL SELECT * FROM {m}
-- asks: elements, lives, standing, alive
-- l(k INTEGER, v INTEGER):
--   0..3: (1, 1) 2(1, NULL)
--   1..: (2, 2)
--   4..7: (1, 1)
-- r(k INTEGER, v INTEGER):
--   0..6: 3(1, NULL)
--   1..3: (2, 2)
--   3..: (1, 1)
-- m(k INTEGER, v INTEGER):
--   0..: (NULL, 1)
--   3..7: (1, NULL)
--   4: -(NULL, 1)
--   7: (NULL, NULL)
-- ticks: 1, 2, 5, 8
-- gives:
--   0: (1, 1) 5(1, NULL) (NULL, 1)
--   1: 2(2, 2)
--   3: -(1, NULL) -(2, 2)
--   4: (1, 1) -(NULL, 1)
--   6: -3(1, NULL)
--   7: -(1, 1) -(1, NULL) (NULL, NULL)
----
-- elements
SELECT k, v, _ts, _weight FROM delta_l
UNION ALL
SELECT k, v, _ts, _weight FROM delta_r
UNION ALL
SELECT k, v, _ts, _weight FROM delta_m;
-- lives
SELECT k, v, _cql_enter, _cql_leave, _weight FROM lives_l
UNION ALL
SELECT k, v, _cql_enter, _cql_leave, _weight FROM lives_r
UNION ALL
SELECT k, v, _cql_enter, _cql_leave, _weight FROM lives_m;
-- standing
SELECT k, v, _cql_enter, _cql_leave, _weight FROM l
UNION ALL
SELECT k, v, _cql_enter, _cql_leave, _weight FROM r
UNION ALL
SELECT k, v, _cql_enter, _cql_leave, _weight FROM m;
-- alive
SELECT k, v, _cql_enter, _cql_leave, _weight FROM alive_l
UNION ALL
SELECT k, v, _cql_enter, _cql_leave, _weight FROM alive_r
UNION ALL
SELECT k, v, _cql_enter, _cql_leave, _weight FROM alive_m;
