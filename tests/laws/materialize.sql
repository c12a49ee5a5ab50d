-- law: the identity: ΔR = ΔR, and the log of its elements is R
-- operator: Log
-- node: Trace(l, "t")
-- means: SELECT * FROM {l}
-- asks: elements, standing, lives
-- l(k INTEGER, v INTEGER):
--   0..3: (1, 1) 2(1, NULL)
--   1..: (2, 2)
--   2: (NULL, 1)
--   4..7: (1, 1) (1, 1)
--   5: -(NULL, 1)
-- ticks: 1, 2, 5, 8
-- gives:
--   0: (1, 1) 2(1, NULL)
--   1: (2, 2)
--   2: (NULL, 1)
--   3: -(1, 1) -2(1, NULL)
--   4: 2(1, 1)
--   5: -(NULL, 1)
--   7: -2(1, 1)
-- kept trace:
--   (1, 1, 0, 1) (1, NULL, 0, 2) (2, 2, 1, 1) (NULL, 1, 2, 1) (1, 1, 3, -1) (1, NULL, 3, -2)
--   (1, 1, 4, 1) (1, 1, 4, 1) (NULL, 1, 5, -1) (1, 1, 7, -1) (1, 1, 7, -1)
-- same, the log has nothing of the tick yet: it is appended to when all have read it
--   standing: without _ts <= $t0
--   standing: _ts <= $t0 with $t1
----
-- the elements of the tick
CREATE OR REPLACE TEMPORARY TABLE temp._cql_delta_trace AS
SELECT k, v, _ts, _weight FROM delta_l;
-- elements
SELECT k, v, _ts, _weight FROM temp._cql_delta_trace;
-- standing
SELECT k, v, _ts AS _cql_enter, 9223372036854775807 AS _cql_leave, _weight
FROM cql_state.trace_trace WHERE _ts <= $t0;
-- lives
SELECT k, v, _ts AS _cql_enter, 9223372036854775807 AS _cql_leave, _weight
FROM temp._cql_delta_trace;
-- upkeep: append them to the trace
INSERT INTO cql_state.trace_trace
SELECT k, v, _ts, _weight FROM temp._cql_delta_trace;

-- law: what lives for an instant is kept for the tick alone
-- operator: Moments
-- node: Trace(l, "t")
-- means: SELECT * FROM {l}
-- asks: elements, lives
-- l(k INTEGER, v INTEGER) is_instantaneous:
--   0..1: 2(1, 1) (1, NULL)
--   1..2: (1, 1)
--   2..3: (2, 2)
--   4..5: (NULL, 1) (1, 1)
--   5..6: 2(1, 1)
--   8..9: (1, 1)
-- ticks: 1, 2, 5, 8
-- gives:
--   0: 2(1, 1) (1, NULL)
--   1: -(1, 1) -(1, NULL)
--   2: -(1, 1) (2, 2)
--   3: -(2, 2)
--   4: (1, 1) (NULL, 1)
--   5: (1, 1) -(NULL, 1)
--   6: -2(1, 1)
--   8: (1, 1)
----
-- the tuples of single instants
CREATE OR REPLACE TEMPORARY TABLE temp._cql_delta_trace AS
SELECT k, v, _cql_enter, _cql_leave, _weight FROM lives_l;
-- elements
WITH lives AS (SELECT k, v, _cql_enter, _cql_leave, _weight FROM temp._cql_delta_trace)
SELECT k, v, _cql_enter AS _ts, _weight FROM lives WHERE _cql_enter > $t0
UNION ALL
SELECT k, v, _cql_leave AS _ts, -_weight AS _weight FROM lives WHERE _cql_leave <= $t1;
-- lives
SELECT k, v, _cql_enter, _cql_leave, _weight FROM temp._cql_delta_trace;
