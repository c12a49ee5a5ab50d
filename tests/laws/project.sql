-- law: projection is linear, and duplicates stay: Δπ(R) = πΔR
-- operator: Projection
-- node: Project(l, k="k", w="coalesce(v, 0) - k")
-- means: SELECT k, coalesce(v, 0) - k AS w FROM {l}
-- asks: elements, lives, standing, alive
-- l(k INTEGER, v INTEGER):
--   0..3: (1, 2) (1, 2) 2(1, 3)
--   1..: (2, NULL) (2, 0)
--   1..6: (NULL, 3)
--   3..7: (1, 3)
--   4: -(2, 0)
--   5: (0, 7)
-- ticks: 1, 2, 5, 8
-- gives:
--   0: 2(1, 1) 2(1, 2)
--   1: 2(2, -2) (NULL, NULL)
--   3: -2(1, 1) -(1, 2)
--   4: -(2, -2)
--   5: (0, 7)
--   6: -(NULL, NULL)
--   7: -(1, 2)
----
-- elements
SELECT k, COALESCE(v, 0) - k AS w, _ts, _weight FROM delta_l;
-- lives
SELECT k, COALESCE(v, 0) - k AS w, _cql_enter, _cql_leave, _weight FROM lives_l;
-- standing
SELECT k, COALESCE(v, 0) - k AS w, _cql_enter, _cql_leave, _weight FROM l;
-- alive
SELECT k, COALESCE(v, 0) - k AS w, _cql_enter, _cql_leave, _weight FROM alive_l;
