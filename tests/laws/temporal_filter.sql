-- law: σ of b ≤ τ < e cuts lifetimes: [max(enter, b), min(leave, e))
-- operator: Cut
-- node: During(l, (sql("b"),), (sql("e"),))
-- means: SELECT * FROM {l} WHERE current_timestamp >= b AND current_timestamp < e
-- asks: lives, standing, alive
-- l(b INTEGER, e INTEGER):
--   0..4: (1, 3) (5, 9) 2(1, 9) (NULL, 3) (1, NULL)
--   0..: (3, 6) (6, 6) (5, 3) (0, 5)
--   1..2: (0, 1) (2, 4)
--   2..7: (0, 6) 2(3, 4)
--   3..5: (5, 7) (4, 5) (5, 9)
--   5: (1, 3) 2(6, 8) (2, 12)
--   6: (6, 8) -(2, 12) (5, 6)
-- ticks: 1, 2, 5, 8, 10
-- gives:
--   0: (0, 5)
--   1: (1, 3) 2(1, 9)
--   2: (0, 6)
--   3: -(1, 3) 2(3, 4) (3, 6)
--   4: -2(1, 9) -2(3, 4) (4, 5)
--   5: -(0, 5) (2, 12) -(4, 5)
--   6: -(0, 6) -(2, 12) -(3, 6) 3(6, 8)
--   8: -3(6, 8)
----
-- lives
SELECT b, e, _cql_enter, _cql_leave, _weight
FROM (
  SELECT b, e, GREATEST(_cql_enter, b) AS _cql_enter, LEAST(_cql_leave, e) AS _cql_leave, _weight
  FROM alive_l WHERE NOT b IS NULL AND NOT e IS NULL
) AS cut WHERE _cql_enter <= $t1 AND _cql_leave > $t0 AND _cql_enter < _cql_leave
  AND (_cql_enter > $t0 OR _cql_leave <= $t1);
-- standing
SELECT b, e, _cql_enter, _cql_leave, _weight
FROM (
  SELECT b, e, GREATEST(_cql_enter, b) AS _cql_enter, LEAST(_cql_leave, e) AS _cql_leave, _weight
  FROM l WHERE NOT b IS NULL AND NOT e IS NULL
) AS cut WHERE _cql_enter <= $t0 AND _cql_leave > $t1;
-- alive
SELECT b, e, _cql_enter, _cql_leave, _weight
FROM (
  SELECT b, e, GREATEST(_cql_enter, b) AS _cql_enter, LEAST(_cql_leave, e) AS _cql_leave, _weight
  FROM alive_l WHERE NOT b IS NULL AND NOT e IS NULL
) AS cut WHERE _cql_enter <= $t1 AND _cql_leave > $t0 AND _cql_enter < _cql_leave;

-- law: from the greatest of several instants on
-- operator: Cut
-- node: During(l, (sql("b"), sql("c")), ())
-- means: SELECT * FROM {l} WHERE current_timestamp >= b AND current_timestamp >= c
-- asks: lives, standing
-- l(b INTEGER, c INTEGER):
--   0..4: (1, 0) 2(0, 1) (NULL, 0) (0, NULL)
--   0..: (3, 6) (6, 3) (12, 1)
--   0..5: (1, 1) (5, 0)
--   0..8: (0, 2)
--   1..3: (3, 2) (2, 2)
--   2..7: (0, 4) 2(4, 1)
--   5: (1, 3) 2(6, 7) (5, 5)
-- ticks: 1, 2, 5, 8
-- gives:
--   1: 2(0, 1) (1, 0) (1, 1)
--   2: (0, 2) (2, 2)
--   3: -(2, 2)
--   4: -2(0, 1) (0, 4) -(1, 0) 2(4, 1)
--   5: -(1, 1) (1, 3) (5, 5)
--   6: (3, 6) (6, 3)
--   7: -(0, 4) -2(4, 1) 2(6, 7)
--   8: -(0, 2)
-- same, without an end of its own a tuple ends as it does in the input:
--   lives: without _cql_leave > $t0
--   lives: _cql_leave > $t0 -> _cql_leave >= $t0
--   standing: without _cql_leave > $t1
--   standing: _cql_leave > $t1 -> _cql_leave >= $t1
--   standing: _cql_leave > $t1 with $t0
----
-- lives
SELECT b, c, _cql_enter, _cql_leave, _weight
FROM (
  SELECT b, c, GREATEST(_cql_enter, b, c) AS _cql_enter, _cql_leave, _weight FROM alive_l
  WHERE NOT b IS NULL AND NOT c IS NULL
) AS cut WHERE _cql_enter <= $t1 AND _cql_leave > $t0 AND _cql_enter < _cql_leave
  AND (_cql_enter > $t0 OR _cql_leave <= $t1);
-- standing
SELECT b, c, _cql_enter, _cql_leave, _weight
FROM (
  SELECT b, c, GREATEST(_cql_enter, b, c) AS _cql_enter, _cql_leave, _weight FROM l
  WHERE NOT b IS NULL AND NOT c IS NULL
) AS cut WHERE _cql_enter <= $t0 AND _cql_leave > $t1;
