-- law: over TUMBLE each pane by itself: its results come when it begins, and go when it ends
-- operator: Panes
-- node: Aggregate(TimeWindow(s, 3, 3, hop=True), "k", total="sum(v)")
-- means: SELECT k, sum(v) AS total FROM {s Tumble(3)} GROUP BY k
-- asks: elements, answer
-- stream s(k INTEGER, v INTEGER):
--   -10: (1, 3) (2, 4); -9: (1, 5) (1, 5) (2, NULL); -8: (NULL, 1); -7: (1, 3); -6: (6, 1)
--   -5: (1, 5) (1, 5); -4: (2, 1) (1, 2); -3: (NULL, 2) (7, NULL); -2: (2, 1) (2, NULL)
--   1: (3, 1); 2: (3, 1) (2, 1); 5: (3, 1); 6: (1, 1); 9: (1, 1) (4, 1)
--   13: (2, 1); 14: (4, 1) (5, 1) (5, 2)
-- begin: -10
-- ticks: -8, -7, -5, -3, 3, 10, 12, 17, 18
-- gives:
--   -9: (1, 3) (2, 4)
--   -6: (1, 13) -(1, 3) -(2, 4) (2, NULL) (NULL, 1)
--   -3: (1, 12) -(1, 13) (2, 1) -(2, NULL) (6, 1) -(NULL, 1)
--   0: -(1, 12) -(6, 1) (7, NULL) (NULL, 2)
--   3: (3, 2) -(7, NULL) -(NULL, 2)
--   6: -(2, 1) (3, 1) -(3, 2)
--   9: (1, 1) -(3, 1)
--   12: (4, 1)
--   15: -(1, 1) (2, 1) (5, 3)
--   18: -(2, 1) -(4, 1) -(5, 3)
-- same, all panes end at once, and then no tuple is there:
--   the groups and instants that changed: _cql_next IS NULL AS _cql_last -> TRUE
--   upkeep: forget the old state of the groups that changed: without _cql_last
--   upkeep: forget the old state of the groups that changed: without delta.k IS NOT DISTINCT FROM kept.k
----
-- the panes that begin
CREATE OR REPLACE TEMPORARY TABLE temp._cql_panes_aggregate AS
SELECT k, _cql_enter AS _ts, COUNT(*) AS _cql_n, SUM(v) AS total
FROM (
  SELECT k, v, ((_ts) - (_ts) % 3 - CASE WHEN (_ts) % 3 < 0 THEN 3 ELSE 0 END) + 3 AS _cql_enter
  FROM s WHERE _ts > (($t0) - ($t0) % 3 - CASE WHEN ($t0) % 3 < 0 THEN 3 ELSE 0 END) - 1
    AND _ts <= (($t1) - ($t1) % 3 - CASE WHEN ($t1) % 3 < 0 THEN 3 ELSE 0 END) - 1
) AS tuples GROUP BY k, _cql_enter;
-- the groups and instants that changed
CREATE OR REPLACE TEMPORARY TABLE temp._cql_delta_aggregate AS
SELECT
  *, (_cql_is IS DISTINCT FROM _cql_was OR total IS DISTINCT FROM _cql_old_total) AS _cql_changed
FROM (
  WITH log AS (
    SELECT k, (($t0) - ($t0) % 3 - CASE WHEN ($t0) % 3 < 0 THEN 3 ELSE 0 END) AS _ts, _cql_n, total
    FROM cql_state.aggregate_groups
    UNION ALL
    SELECT k, _ts, _cql_n, total FROM temp._cql_panes_aggregate
  ), steps AS (
    SELECT *, LAG(_ts) OVER (PARTITION BY k ORDER BY _ts) AS _cql_before,
      LAG(total) OVER (PARTITION BY k ORDER BY _ts) AS _cql_found_total,
      LEAD(_ts) OVER (PARTITION BY k ORDER BY _ts) AS _cql_next FROM log
  )
  SELECT k, _ts, _cql_n, total, _cql_found_total AS _cql_old_total,
    _cql_next IS NULL AND _ts + 3 > $t1 AS _cql_last, TRUE AS _cql_is,
    _cql_before = _ts - 3 AS _cql_was FROM steps WHERE _ts > $t0
  UNION ALL
  SELECT k, _ts + 3 AS _ts, CAST(0 AS BIGINT) AS _cql_n, CAST(NULL AS INT128) AS total,
    total AS _cql_old_total, _cql_next IS NULL AS _cql_last, FALSE AS _cql_is, TRUE AS _cql_was
  FROM steps WHERE _cql_next IS DISTINCT FROM _ts + 3 AND _ts + 3 <= $t1
) AS results;
-- elements
SELECT k, _cql_old_total AS total, _ts, CAST(-1 AS BIGINT) AS _weight FROM temp._cql_delta_aggregate
WHERE _cql_was AND _cql_changed
UNION ALL
SELECT k, total, _ts, CAST(1 AS BIGINT) AS _weight FROM temp._cql_delta_aggregate
WHERE _cql_is AND _cql_changed;
-- upkeep: forget the old state of the groups that changed
DELETE FROM cql_state.aggregate_groups AS kept WHERE EXISTS(
    SELECT 1 FROM temp._cql_delta_aggregate AS delta
    WHERE _cql_last AND delta.k IS NOT DISTINCT FROM kept.k
  );
-- upkeep: keep their new state
INSERT INTO cql_state.aggregate_groups
SELECT k, _cql_n, total FROM temp._cql_delta_aggregate WHERE _cql_last AND _cql_n > 0;
-- answer
SELECT k, total, CAST(1 AS BIGINT) AS _weight FROM cql_state.aggregate_groups;

-- law: without keys there is a result at all instants, over nothing too
-- operator: Panes
-- node: Aggregate(TimeWindow(s, 2, 2, hop=True), total="sum(v)")
-- means: SELECT sum(v) AS total FROM {s Tumble(2)}
-- asks: elements, answer
-- stream s(v INTEGER):
--   -9: (6); -8: (7); -6: (NULL); -5: (5); -2: (4) (3); 2: (3) (NULL); 3: (3)
--   7: (1); 9: (8); 12: (2); 15: (NULL)
-- begin: -9
-- ticks: -7, -4, 0, 1, 6, 10, 12, 14, 20
-- gives:
--   -9: (NULL)
--   -8: (6) -(NULL)
--   -6: -(6) (7)
--   -4: (5) -(7)
--   -2: -(5) (NULL)
--   0: (7) -(NULL)
--   2: -(7) (NULL)
--   4: (6) -(NULL)
--   6: -(6) (NULL)
--   8: (1) -(NULL)
--   10: -(1) (8)
--   12: -(8) (NULL)
--   14: (2) -(NULL)
--   16: -(2) (NULL)
-- same, there is a result at all instants:
--   the groups and instants that changed: _cql_is IS DISTINCT FROM _cql_was -> _cql_is <> _cql_was
--   elements: without _cql_is
--   upkeep: forget the old state of the groups that changed: without _cql_last
-- same, over how many tuples it is matters to nobody:
--   the groups and instants that changed: CAST(0 AS BIGINT) with 1
--   the groups and instants that changed: CAST(0 AS BIGINT) with 1 2
-- same, over nothing both are NULL:
--   the groups and instants that changed: SUM(v) -> MAX(v)
-- same, nothing is added before the tick:
--   the groups and instants that changed: without $begin > $t0
--   the groups and instants that changed: $begin > $t0 -> $begin >= $t0
----
-- the panes that begin
CREATE OR REPLACE TEMPORARY TABLE temp._cql_panes_aggregate AS
SELECT _cql_enter AS _ts, COUNT(*) AS _cql_n, SUM(v) AS total
FROM (
  SELECT v, ((_ts) - (_ts) % 2 - CASE WHEN (_ts) % 2 < 0 THEN 2 ELSE 0 END) + 2 AS _cql_enter FROM s
  WHERE _ts > (($t0) - ($t0) % 2 - CASE WHEN ($t0) % 2 < 0 THEN 2 ELSE 0 END) - 1
    AND _ts <= (($t1) - ($t1) % 2 - CASE WHEN ($t1) % 2 < 0 THEN 2 ELSE 0 END) - 1
) AS tuples GROUP BY _cql_enter;
-- the groups and instants that changed
CREATE OR REPLACE TEMPORARY TABLE temp._cql_delta_aggregate AS
SELECT
  *, (_cql_is IS DISTINCT FROM _cql_was OR total IS DISTINCT FROM _cql_old_total) AS _cql_changed
FROM (
  WITH nothing AS (
    SELECT SUM(v) AS total FROM (SELECT CAST(NULL AS INT) AS v) AS tuples WHERE FALSE
  ), log AS (
    SELECT (($t0) - ($t0) % 2 - CASE WHEN ($t0) % 2 < 0 THEN 2 ELSE 0 END) AS _ts, _cql_n, total
    FROM cql_state.aggregate_groups
    UNION ALL
    SELECT _ts, _cql_n, total FROM temp._cql_panes_aggregate
    UNION ALL
    SELECT CAST($begin AS BIGINT) AS _ts, CAST(0 AS BIGINT) AS _cql_n,
      (SELECT total FROM nothing) AS total WHERE $begin > $t0
  ), steps AS (
    SELECT *, LAG(_ts) OVER (ORDER BY _ts) AS _cql_before,
      LAG(total) OVER (ORDER BY _ts) AS _cql_found_total, LEAD(_ts) OVER (ORDER BY _ts) AS _cql_next
    FROM log
  )
  SELECT _ts, _cql_n, total,
    CASE WHEN _cql_before = _ts - 2 THEN _cql_found_total ELSE (SELECT total FROM nothing)
    END AS _cql_old_total, _cql_next IS NULL AND _ts + 2 > $t1 AS _cql_last, TRUE AS _cql_is,
    _ts > $begin AS _cql_was FROM steps WHERE _ts > $t0
  UNION ALL
  SELECT _ts + 2 AS _ts, CAST(0 AS BIGINT) AS _cql_n, (SELECT total FROM nothing) AS total,
    total AS _cql_old_total, _cql_next IS NULL AS _cql_last, TRUE AS _cql_is, TRUE AS _cql_was
  FROM steps WHERE _cql_next IS DISTINCT FROM _ts + 2 AND _ts + 2 <= $t1
) AS results;
-- elements
SELECT _cql_old_total AS total, _ts, CAST(-1 AS BIGINT) AS _weight FROM temp._cql_delta_aggregate
WHERE _cql_was AND _cql_changed
UNION ALL
SELECT total, _ts, CAST(1 AS BIGINT) AS _weight FROM temp._cql_delta_aggregate
WHERE _cql_is AND _cql_changed;
-- upkeep: forget the old state of the groups that changed
DELETE FROM cql_state.aggregate_groups AS kept
WHERE EXISTS(SELECT 1 FROM temp._cql_delta_aggregate AS delta WHERE _cql_last AND TRUE);
-- upkeep: keep their new state
INSERT INTO cql_state.aggregate_groups
SELECT _cql_n, total FROM temp._cql_delta_aggregate WHERE _cql_last;
-- answer
SELECT total, CAST(1 AS BIGINT) AS _weight FROM cql_state.aggregate_groups;
