-- law: a stream is its arrivals of the tick; before it, those that came since the query began
-- operator: Stream
-- node: s
-- asks: elements, rows
-- stream s(k INTEGER, v INTEGER) is_numbered=False:
--   0: (1, 1); 3: (1, 2); 4: (1, 1) (1, 1) 3(2, NULL) (NULL, NULL); 5: (3, 1); 6: (2, NULL); 8: (1, 1); 9: 2(1, 1)
-- begin: 4
-- ticks: 4, 6, 7, 8
-- gives:
--   4: 2(1, 1) 3(2, NULL) (NULL, NULL)
--   5: (3, 1)
--   6: (2, NULL)
--   8: (1, 1)
----
-- elements
SELECT k, v, _ts, _weight FROM temp._cql_arrivals_s($t0, $t1);
-- rows
SELECT k, v, _ts, _weight FROM temp._cql_stream_s() WHERE _ts > $since AND _ts <= $t1;

-- law: a relation is as it stands when a query begins, and then as it changes
-- operator: Relation
-- node: l
-- means: SELECT * FROM {l}
-- asks: elements, lives, standing, alive
-- l(k INTEGER, v INTEGER):
--   0..2: (9, 9); 0..3: (8, 8); 0..: (1, 1) 2(1, NULL); 2..5: (1, 1); 3..6: 2(NULL, 1); 4..: (2, 2)
--   5..7: (1, NULL); 6..9: (3, NULL); 7..8: (1, 1); 9..: (4, 4); 10..: (5, 5)
-- begin: 3
-- ticks: 3, 4, 6, 7, 9
-- gives:
--   3: 2(1, 1) 2(1, NULL) 2(NULL, 1)
--   4: (2, 2)
--   5: -(1, 1) (1, NULL)
--   6: (3, NULL) -2(NULL, 1)
--   7: (1, 1) -(1, NULL)
--   8: -(1, 1)
--   9: -(3, NULL) (4, 4)
-- same, what ends when the query begins comes and goes at one instant:
--   elements: without _cql_leave > $begin
--   elements: _cql_leave > $begin -> _cql_leave >= $begin
-- same, what stands came before the tick, whenever that was:
--   standing: GREATEST(_cql_enter, $begin) -> LEAST(_cql_enter, $begin)
----
-- elements
WITH lives AS (
  SELECT k, v, GREATEST(_cql_enter, $begin) AS _cql_enter, _cql_leave, CAST(1 AS BIGINT) AS _weight
  FROM temp._cql_changes_l($low, $t1)
  WHERE _cql_enter <= $t1 AND _cql_leave > $t0 AND _cql_leave > $begin
)
SELECT k, v, _cql_enter AS _ts, _weight FROM lives WHERE _cql_enter > $t0
UNION ALL
SELECT k, v, _cql_leave AS _ts, -_weight AS _weight FROM lives WHERE _cql_leave <= $t1;
-- lives
SELECT k, v, GREATEST(_cql_enter, $begin) AS _cql_enter, _cql_leave, CAST(1 AS BIGINT) AS _weight
FROM temp._cql_changes_l($low, $t1)
WHERE _cql_enter <= $t1 AND _cql_leave > $t0 AND _cql_leave > $begin;
-- standing
SELECT k, v, GREATEST(_cql_enter, $begin) AS _cql_enter, _cql_leave, CAST(1 AS BIGINT) AS _weight
FROM cql_state.l WHERE _cql_enter <= $low AND _cql_leave > $t1;
-- alive
SELECT k, v, GREATEST(_cql_enter, $begin) AS _cql_enter, _cql_leave, CAST(1 AS BIGINT) AS _weight
FROM cql_state.l WHERE _cql_enter <= $t1 AND _cql_leave > $t0 AND _cql_leave > $begin;

-- law: a relation that another query yields is the sum of its log
-- operator: QueryLog
-- node: l
-- means: SELECT * FROM {l}
-- asks: elements, lives, standing, alive
-- l(k INTEGER, v INTEGER):
--   0: (1, 1) 2(1, NULL) (8, 8); 2: -(8, 8); 3: (NULL, 1); 4: (2, 2) -(1, NULL); 6: -(NULL, 1)
--   7: -(1, NULL) (3, 3); 9: (1, 1) -(2, 2); 10: (5, 5)
-- begin: 3
-- ticks: 3, 4, 6, 7, 9
-- gives:
--   3: (1, 1) 2(1, NULL) (NULL, 1)
--   4: -(1, NULL) (2, 2)
--   6: -(NULL, 1)
--   7: -(1, NULL) (3, 3)
--   9: (1, 1) -(2, 2)
-- same, what stands came before the tick, whenever that was:
--   standing: GREATEST(_ts, $begin) -> LEAST(_ts, $begin)
----
-- elements
SELECT k, v, GREATEST(_ts, $begin) AS _ts, _weight FROM cql_state.l WHERE _ts > $low AND _ts <= $t1;
-- lives
SELECT k, v, _ts AS _cql_enter, 9223372036854775807 AS _cql_leave, _weight
FROM (
  SELECT k, v, GREATEST(_ts, $begin) AS _ts, _weight FROM cql_state.l
  WHERE _ts > $low AND _ts <= $t1
) AS elements;
-- standing
SELECT k, v, GREATEST(_ts, $begin) AS _cql_enter, 9223372036854775807 AS _cql_leave, _weight
FROM cql_state.condensed_l WHERE _ts <= $low;
-- alive
SELECT k, v, GREATEST(_ts, $begin) AS _cql_enter, 9223372036854775807 AS _cql_leave, _weight
FROM cql_state.condensed_l WHERE _ts <= $t1;
