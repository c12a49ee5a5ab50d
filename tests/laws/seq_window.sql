-- law: [RANGE 2]: a tuple lives in [t, t + 3)
-- operator: Stub
-- node: TimeWindow(s, 2)
-- means: SELECT * FROM {s Range(2)}
-- asks: elements, lives, standing, alive
-- stream s(k INTEGER):
--   0: (1) (1) (NULL)
--   1: (1)
--   2: (2)
--   3: (1)
--   5: (NULL)
--   6: (1)
--   9: (2)
-- ticks: 1, 2, 5, 8, 14
-- gives:
--   0: 2(1) (NULL)
--   1: (1)
--   2: (2)
--   3: -(1) -(NULL)
--   4: -(1)
--   5: -(2) (NULL)
--   8: -(NULL)
--   9: -(1) (2)
--   12: -(2)
-- same, when it leaves after the tick is of no account in it:
--   standing: _ts + 3 with 4
----
-- elements
SELECT k, _ts, _weight FROM delta_s
UNION ALL
SELECT k, _ts + 3 AS _ts, -_weight AS _weight FROM s WHERE _ts > $t0 - 3 AND _ts <= $t1 - 3;
-- lives
SELECT k, _ts AS _cql_enter, _ts + 3 AS _cql_leave, _weight FROM delta_s
UNION ALL
SELECT k, _ts AS _cql_enter, _ts + 3 AS _cql_leave, _weight FROM s
WHERE _ts > $t0 - 3 AND _ts <= $t1 - 3 AND _ts <= $t0;
-- standing
SELECT k, _ts AS _cql_enter, _ts + 3 AS _cql_leave, _weight FROM s
WHERE _ts > $t1 - 3 AND _ts <= $t0;
-- alive
SELECT k, _ts AS _cql_enter, _ts + 3 AS _cql_leave, _weight FROM s
WHERE _ts > $t0 - 3 AND _ts <= $t1;

-- law: half-open: a tuple lives in [t, t + 2)
-- operator: Stub
-- node: TimeWindow(s, 2, half_open=True)
-- means: SELECT * FROM {s Range(2)}
-- stream s(k INTEGER):
--   0: (1) (1) (NULL)
--   1: (1)
--   3: (2) (1)
--   5: (NULL)
-- ticks: 1, 2, 5, 8
-- gives:
--   0: 2(1) (NULL)
--   1: (1)
--   2: -2(1) -(NULL)
--   3: (2)
--   5: -(1) -(2) (NULL)
--   7: -(NULL)
----
-- elements
SELECT k, _ts, _weight FROM delta_s
UNION ALL
SELECT k, _ts + 2 AS _ts, -_weight AS _weight FROM s WHERE _ts > $t0 - 2 AND _ts <= $t1 - 2;

-- law: [RANGE UNBOUNDED]: a tuple lives in [t, ∞)
-- operator: Stub
-- node: TimeWindow(s, None)
-- means: SELECT * FROM {s Unbounded()}
-- asks: elements, lives, standing
-- stream s(k INTEGER):
--   0: (1) (1) (NULL)
--   2: (1)
--   3: (2)
--   5: (NULL)
-- ticks: 1, 2, 5, 8
-- gives:
--   0: 2(1) (NULL)
--   2: (1)
--   3: (2)
--   5: (NULL)
----
-- elements
SELECT k, _ts, _weight FROM delta_s;
-- lives
SELECT k, _ts AS _cql_enter, 9223372036854775807 AS _cql_leave, _weight FROM delta_s;
-- standing
SELECT k, _ts AS _cql_enter, 9223372036854775807 AS _cql_leave, _weight FROM s WHERE _ts <= $t0;

-- law: [RANGE 4 SLIDE 3]: a tuple lives in [⌈t/3⌉·3, (⌊(t + 4)/3⌋ + 1)·3)
-- operator: Stub
-- node: TimeWindow(s, 4, 3)
-- means: SELECT * FROM {s Range(4, slide=3)}
-- asks: elements, alive
-- stream s(k INTEGER):
--   -11: (3); -10: (2); -9: (1); -8: (0); -7: (3); -6: (2)
--   -5: (1); -4: (NULL); -3: (3); -2: (2); -1: (1); 0: (0)
--   1: (1); 2: (2) (1); 3: (3); 4: (0); 5: (1); 6: (2)
-- begin: -12
-- ticks: -7, -4, -2, -1, 1, 2, 3, 6, 7, 14, 15
-- gives:
--   -9: (1) (2) (3)
--   -6: (0) (2)
--   -3: -(0) -(2) (3) (NULL)
--   0: (0) -(3)
--   3: 2(1) -(NULL)
--   6: -(1) (2)
--   9: -(0) -(1) -(2) -(3)
--   12: -(1) -(2)
----
-- elements
SELECT
  k, ((_ts + 2) - (_ts + 2) % 3 - CASE WHEN (_ts + 2) % 3 < 0 THEN 3 ELSE 0 END) AS _ts, _weight
FROM s WHERE _ts > (($t0) - ($t0) % 3 - CASE WHEN ($t0) % 3 < 0 THEN 3 ELSE 0 END)
  AND _ts <= (($t1) - ($t1) % 3 - CASE WHEN ($t1) % 3 < 0 THEN 3 ELSE 0 END)
UNION ALL
SELECT k, ((_ts + 4) - (_ts + 4) % 3 - CASE WHEN (_ts + 4) % 3 < 0 THEN 3 ELSE 0 END) + 3 AS _ts,
  -_weight AS _weight FROM s
WHERE _ts > (($t0) - ($t0) % 3 - CASE WHEN ($t0) % 3 < 0 THEN 3 ELSE 0 END) - 5
  AND _ts <= (($t1) - ($t1) % 3 - CASE WHEN ($t1) % 3 < 0 THEN 3 ELSE 0 END) - 5;
-- alive
SELECT k, ((_ts + 2) - (_ts + 2) % 3 - CASE WHEN (_ts + 2) % 3 < 0 THEN 3 ELSE 0 END) AS _cql_enter,
  ((_ts + 4) - (_ts + 4) % 3 - CASE WHEN (_ts + 4) % 3 < 0 THEN 3 ELSE 0 END) + 3 AS _cql_leave,
  _weight FROM s WHERE _ts > (($t0) - ($t0) % 3 - CASE WHEN ($t0) % 3 < 0 THEN 3 ELSE 0 END) - 5
  AND _ts <= (($t1) - ($t1) % 3 - CASE WHEN ($t1) % 3 < 0 THEN 3 ELSE 0 END);

-- law: [RANGE 0 SLIDE 2]: what falls between two slides is never there
-- operator: Stub
-- node: TimeWindow(s, 0, 2)
-- means: SELECT * FROM {s Range(0, slide=2)}
-- stream s(k INTEGER): as above
-- begin: -12
-- ticks: -7, -4, -2, -1, 1, 2, 3, 6, 7, 14, 15
-- gives:
--   -10: (2)
--   -8: (0) -(2)
--   -6: -(0) (2)
--   -4: -(2) (NULL)
--   -2: (2) -(NULL)
--   0: (0) -(2)
--   2: -(0) (1) (2)
--   4: (0) -(1) -(2)
--   6: -(0) (2)
--   8: -(2)
-- same, a tuple of an odd instant is never there, and an even one is an edge of no other:
--   elements: (_ts + 1) % 2 < 0 -> (_ts + 1) % 2 <= 0
--   elements: (_ts + 1) % 2 < 0 with 1
--   elements: _ts + 1 with 2 4
--   elements: _ts + 1 -> _ts - 1 6
--   elements: CASE WHEN (_ts + 1) % 2 < 0 THEN 2 END with 3 2
--   elements: CASE WHEN (_ts) % 2 < 0 THEN 2 END with 3
--   elements: CASE WHEN (_ts) % 2 < 0 THEN 2 ELSE 0 END with 1
--   elements: (_ts) - (_ts) % 2 - CASE WHEN  … _ts) % 2 < 0 THEN 2 ELSE 0 END -> (_ts) - (_ts) % 2 + CASE WHEN  … _ts) % 2 < 0 THEN 2 ELSE 0 END 2
--   elements: (_ts) - (_ts) % 2 -> (_ts) + (_ts) % 2 2
--   elements: CASE WHEN (_ts) % 2 < 0 THEN 2 END with 3 2
--   elements: _ts > (($t0) - ($t0) % 2 - CAS … % 2 < 0 THEN 2 ELSE 0 END) - 1 -> _ts >= (($t0) - ($t0) % 2 - CA … % 2 < 0 THEN 2 ELSE 0 END) - 1
--   elements: CASE WHEN ($t0) % 2 < 0 THEN 2 END with 3 2
--   elements: CASE WHEN ($t0) % 2 < 0 THEN 2 ELSE 0 END with 1 2
--   elements: (($t0) - ($t0) % 2 - CASE WHEN … % 2 < 0 THEN 2 ELSE 0 END) - 1 with 2
--   elements: _ts <= (($t1) - ($t1) % 2 - CA … % 2 < 0 THEN 2 ELSE 0 END) - 1 -> _ts < (($t1) - ($t1) % 2 - CAS … % 2 < 0 THEN 2 ELSE 0 END) - 1
--   elements: CASE WHEN ($t1) % 2 < 0 THEN 2 END with 3 2
--   elements: CASE WHEN ($t1) % 2 < 0 THEN 2 ELSE 0 END with 1 2
--   elements: (($t1) - ($t1) % 2 - CASE WHEN … % 2 < 0 THEN 2 ELSE 0 END) - 1 with 2
--   elements: _ts + 1 with 2 7
--   elements: _ts + 1 -> _ts - 1 9
--   elements: CASE WHEN (_ts + 1) % 2 < 0 THEN 2 END with 3 3
--   elements: CASE WHEN (_ts) % 2 < 0 THEN 2 END with 3 3
--   elements: CASE WHEN (_ts) % 2 < 0 THEN 2 ELSE 0 END with 1 3
----
-- elements
SELECT
  k, ((_ts + 1) - (_ts + 1) % 2 - CASE WHEN (_ts + 1) % 2 < 0 THEN 2 ELSE 0 END) AS _ts, _weight
FROM s WHERE _ts > (($t0) - ($t0) % 2 - CASE WHEN ($t0) % 2 < 0 THEN 2 ELSE 0 END)
  AND _ts <= (($t1) - ($t1) % 2 - CASE WHEN ($t1) % 2 < 0 THEN 2 ELSE 0 END) AND (
    (_ts + 1) - (_ts + 1) % 2 - CASE WHEN (_ts + 1) % 2 < 0 THEN 2 ELSE 0 END
  ) < (
    (_ts) - (_ts) % 2 - CASE WHEN (_ts) % 2 < 0 THEN 2 ELSE 0 END
  ) + 2
UNION ALL
SELECT
  k, ((_ts) - (_ts) % 2 - CASE WHEN (_ts) % 2 < 0 THEN 2 ELSE 0 END) + 2 AS _ts, -_weight AS _weight
FROM s WHERE _ts > (($t0) - ($t0) % 2 - CASE WHEN ($t0) % 2 < 0 THEN 2 ELSE 0 END) - 1
  AND _ts <= (($t1) - ($t1) % 2 - CASE WHEN ($t1) % 2 < 0 THEN 2 ELSE 0 END) - 1 AND (
    (_ts + 1) - (_ts + 1) % 2 - CASE WHEN (_ts + 1) % 2 < 0 THEN 2 ELSE 0 END
  ) < (
    (_ts) - (_ts) % 2 - CASE WHEN (_ts) % 2 < 0 THEN 2 ELSE 0 END
  ) + 2;

-- law: [HOP 4 EVERY 3]: a tuple lives in [(⌊t/3⌋ + 1)·3, (⌊(t + 4)/3⌋ + 1)·3)
-- operator: Stub
-- node: TimeWindow(s, 4, 3, hop=True)
-- means: SELECT * FROM {s Hop(4, 3)}
-- asks: elements, alive
-- stream s(k INTEGER): as above
-- begin: -12
-- ticks: -7, -4, -2, -1, 1, 2, 3, 6, 7, 14, 15
-- gives:
--   -9: (2) (3)
--   -6: (0) (1)
--   -3: -(0) (NULL)
--   3: (0) 2(1) -(3) -(NULL)
--   6: -(1) (3)
--   9: -(0) -(1) -(3)
--   12: -(1) -(2)
----
-- elements
SELECT k, ((_ts) - (_ts) % 3 - CASE WHEN (_ts) % 3 < 0 THEN 3 ELSE 0 END) + 3 AS _ts, _weight FROM s
WHERE _ts > (($t0) - ($t0) % 3 - CASE WHEN ($t0) % 3 < 0 THEN 3 ELSE 0 END) - 1
  AND _ts <= (($t1) - ($t1) % 3 - CASE WHEN ($t1) % 3 < 0 THEN 3 ELSE 0 END) - 1
UNION ALL
SELECT k, ((_ts + 4) - (_ts + 4) % 3 - CASE WHEN (_ts + 4) % 3 < 0 THEN 3 ELSE 0 END) + 3 AS _ts,
  -_weight AS _weight FROM s
WHERE _ts > (($t0) - ($t0) % 3 - CASE WHEN ($t0) % 3 < 0 THEN 3 ELSE 0 END) - 5
  AND _ts <= (($t1) - ($t1) % 3 - CASE WHEN ($t1) % 3 < 0 THEN 3 ELSE 0 END) - 5;
-- alive
SELECT k, ((_ts) - (_ts) % 3 - CASE WHEN (_ts) % 3 < 0 THEN 3 ELSE 0 END) + 3 AS _cql_enter,
  ((_ts + 4) - (_ts + 4) % 3 - CASE WHEN (_ts + 4) % 3 < 0 THEN 3 ELSE 0 END) + 3 AS _cql_leave,
  _weight FROM s WHERE _ts > (($t0) - ($t0) % 3 - CASE WHEN ($t0) % 3 < 0 THEN 3 ELSE 0 END) - 5
  AND _ts <= (($t1) - ($t1) % 3 - CASE WHEN ($t1) % 3 < 0 THEN 3 ELSE 0 END) - 1;
