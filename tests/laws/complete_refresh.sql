-- law: R(τ) = Q(L(τ)) wherever an input changes, a SELECT an instant: + R(τ) at τ, − R(τ) at the next, − R(t₀) at the first
-- operator: CompleteRefresh
-- node: Anew(Project(Filter(TimeWindow(s, 2), "v > 1 OR v IS NULL"), k="k", w="v % 2"))
-- means: SELECT k, v % 2 AS w FROM {s Range(2)} WHERE v > 1 OR v IS NULL
-- stream s(k INTEGER, v INTEGER):
--   0: (1, 4) (NULL, NULL) (NULL, NULL)
--   1: (1, 6) (1, 1)
--   2: (2, 5)
--   3: (1, 2)
--   5: (1, 4) (3, 0)
--   6: (2, 7) (1, 4)
--   8: (1, 6)
--   11: (1, 8)
-- ticks: 1, 2, 5, 8, 9, 11, 14, 20
-- gives:
--   0: (1, 0) 2(NULL, NULL)
--   1: (1, 0)
--   2: (2, 1)
--   3: -2(NULL, NULL)
--   4: -(1, 0)
--   5: (1, 0) -(2, 1)
--   6: (2, 1)
--   9: -(1, 0) -(2, 1)
--   14: -(1, 0)
-- same, no aggregate has a row before the first element:
--   the instants at which an input changes: without SELECT CAST(GREATEST($t0, $begin) AS BIGINT) AS _ts
--   the instants at which an input changes: GREATEST($t0, $begin) -> LEAST($t0, $begin)
--   the instants at which an input changes: GREATEST($t0, $begin) with $t1
-- same, at an instant without a change the answers before and after are equal:
--   the instants at which an input changes: without _ts > $t0 - 3
--   the instants at which an input changes: without _ts <= $t1 - 3
--   the instants at which an input changes: _ts > $t0 - 3 -> _ts >= $t0 - 3
--   the instants at which an input changes: $t0 - 3 with 4
--   the instants at which an input changes: $t1 - 3 -> $t1 + 3
--   the instants at which an input changes: without _ts > $t0
--   the instants at which an input changes: without _ts <= $t1
--   the instants at which an input changes: _ts > $t0 -> _ts >= $t0
-- same, what is read is bounded by the window, and what is found by the lifetimes:
--   answer the whole query anew: without _ts > $t0 - 3
--   answer the whole query anew: without _ts <= $t1
--   answer the whole query anew: _ts > $t0 - 3 -> _ts >= $t0 - 3
--   answer the whole query anew: $t0 - 3 with 4
-- same, the trace ends at t₀ before the tick writes it:
--   what has changed from instant to instant: without _ts <= $t0
--   what has changed from instant to instant: _ts <= $t0 with $t1
----
-- the instants at which an input changes
CREATE OR REPLACE TEMPORARY TABLE temp._cql_instants_anew AS
SELECT _ts, LEAD(_ts) OVER (ORDER BY _ts) AS _cql_next
FROM (
  SELECT CAST(GREATEST($t0, $begin) AS BIGINT) AS _ts
  UNION ALL
  SELECT _ts FROM delta_s
  UNION ALL
  SELECT _ts + 3 AS _ts FROM s WHERE _ts > $t0 - 3 AND _ts <= $t1 - 3
) AS all_instants WHERE _ts > $t0 AND _ts <= $t1 GROUP BY _ts;
-- room for the answers
CREATE OR REPLACE TEMPORARY TABLE temp._cql_results_anew (
  k INT, w INT, _cql_at BIGINT, _cql_next BIGINT
);
-- answer the whole query anew
INSERT INTO temp._cql_results_anew
SELECT k, w, CAST($at AS BIGINT) AS _cql_at, CAST($next AS BIGINT) AS _cql_next
FROM (
  SELECT k, v % 2 AS w FROM s
  WHERE _ts > $t0 - 3 AND _ts <= $t1 AND _ts <= $at AND (_ts + 3) > $at AND (v > 1 OR v IS NULL)
) AS answer;
-- room for what has changed
CREATE OR REPLACE TEMPORARY TABLE temp._cql_delta_anew (k INT, w INT, _ts BIGINT, _weight BIGINT);
-- what has changed from instant to instant
INSERT INTO temp._cql_delta_anew
SELECT k, w, _ts, CAST(SUM(_weight) AS BIGINT) AS _weight
FROM (
  SELECT k, w, _cql_at AS _ts, CAST(1 AS BIGINT) AS _weight FROM temp._cql_results_anew
  UNION ALL
  SELECT k, w, _cql_next AS _ts, CAST(-1 AS BIGINT) AS _weight FROM temp._cql_results_anew
  WHERE NOT _cql_next IS NULL
  UNION ALL
  SELECT
    k, w, (SELECT MIN(_ts) FROM temp._cql_instants_anew) AS _ts, CAST(-_weight AS BIGINT) AS _weight
  FROM (SELECT k, w, _ts, _weight FROM cql_state.anew_trace WHERE _ts <= $t0) AS weighted
) AS elements GROUP BY k, w, _ts
HAVING SUM(_weight) <> 0;
-- elements
SELECT k, w, _ts, _weight FROM temp._cql_delta_anew;
-- upkeep: append what has changed to the trace
INSERT INTO cql_state.anew_trace
SELECT k, w, _ts, _weight FROM temp._cql_delta_anew;
