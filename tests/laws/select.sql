-- law: selection is linear: Δσ(R) = σ(ΔR)
-- operator: Selection
-- node: Filter(l, "v > 1")
-- means: SELECT * FROM {l} WHERE v > 1
-- asks: elements, lives, standing
-- l(k INTEGER, v INTEGER):
--   0..3: (1, 2) (1, 1)
--   1..: (1, 2) 2(NULL, 3)
--   1..5: (2, NULL)
--   3..6: (1, 2)
--   4: -(NULL, 3)
--   5: (NULL, 3) (2, 2)
-- ticks: 1, 2, 5, 8
-- gives:
--   0: (1, 2)
--   1: (1, 2) 2(NULL, 3)
--   4: -(NULL, 3)
--   5: (NULL, 3) (2, 2)
--   6: -(1, 2)
----
-- elements
SELECT k, v, _ts, _weight FROM delta_l WHERE v > 1;
-- lives
SELECT k, v, _cql_enter, _cql_leave, _weight FROM lives_l WHERE v > 1;
-- standing
SELECT k, v, _cql_enter, _cql_leave, _weight FROM l WHERE v > 1;
