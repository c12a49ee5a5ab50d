-- law: over [PARTITION BY k ROWS 2] a group's content is a frame of the log that ends at its row
-- operator: Frames
-- node: Aggregate(RowWindow(s, 2, ("k",)), "k", m="median(v)")
-- means: SELECT k, median(v) AS m FROM {s PartitionRows(('k',), 2)} GROUP BY k
-- asks: elements, lives, answer
-- hides: upkeep
-- stream s(k INTEGER, v INTEGER):
--   0: (1, 5) (1, 4) (1, 3) (2, 1); 1: (NULL, 1) (1, 3); 2: (NULL, 4) (4, NULL); 3: (1, 3) (NULL, NULL)
--   4: (1, NULL) (2, 1) (2, 2); 5: (2, 1) (2, 2); 6: (1, NULL) (2, 3); 8: (2, 4) (3, 1) (4, 2)
-- ticks: 1, 2, 5, 8
-- gives:
--   0: (1, 3.5) (2, 1.0)
--   1: (1, 3.0) -(1, 3.5) (NULL, 1.0)
--   2: (4, NULL) -(NULL, 1.0) (NULL, 2.5)
--   3: -(NULL, 2.5) (NULL, 4.0)
--   4: -(2, 1.0) (2, 1.5)
--   6: -(1, 3.0) (1, NULL) -(2, 1.5) (2, 2.5)
--   8: -(2, 2.5) (2, 3.5) (3, 1.0) (4, 2.0) -(4, NULL)
-- same, a row that is kept too long is in no frame:
--   the rows that come, and whom they push out: LEAD(_ts, 2) with 3
-- same, a partition never gets empty:
--   the rows that come, and whom they push out: COUNT(*) OVER (PARTITION BY k  … N 1 PRECEDING AND CURRENT ROW) …
--   the rows that come, and whom they push out: ROWS BETWEEN 1 PRECEDING AND CURRENT ROW with 2 2
--   elements: without _cql_is
--   lives: without _cql_is
-- same, what does not change goes and comes again:
--   lives: without _cql_changed
-- same, where no row comes there is no other content:
--   the rows that come, and whom they push out: without EXISTS(SELECT 1 FROM arrivals  … k IS NOT DISTINCT FROM kept.k)
--   the rows that come, and whom they push out: without arrivals.k IS NOT DISTINCT FROM kept.k
-- same, of what was before the tick the last is asked for:
--   the groups and instants that changed: without (_cql_next IS NULL OR _cql_next > $t0)
--   the groups and instants that changed: _cql_next > $t0 -> _cql_next >= $t0
-- same, it is never NULL:
--   the groups and instants that changed: _cql_is IS DISTINCT FROM _cql_was -> _cql_is <> _cql_was
----
-- the rows that come, and whom they push out
CREATE OR REPLACE TEMPORARY TABLE temp._cql_delta_rowwindow AS
WITH arrivals AS (SELECT k, v, _ts, _cql_seq FROM delta_s)
SELECT k, v, _ts, _ts AS _cql_enter,
  COALESCE(LEAD(_ts, 2) OVER (PARTITION BY k ORDER BY _ts, _cql_seq), 9223372036854775807) AS _cql_leave,
  _cql_seq,
  MEDIAN(v) OVER (PARTITION BY k ORDER BY _ts, _cql_seq ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS _cql_result_m,
  COUNT(*) OVER (PARTITION BY k ORDER BY _ts, _cql_seq ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS _cql_n,
  LEAD(_ts) OVER (PARTITION BY k ORDER BY _ts, _cql_seq) AS _cql_next
FROM (
  SELECT k, v, _ts, _cql_seq FROM cql_state.rowwindow_rows AS kept
  WHERE EXISTS(SELECT 1 FROM arrivals WHERE arrivals.k IS NOT DISTINCT FROM kept.k)
  UNION ALL
  SELECT k, v, _ts, _cql_seq FROM arrivals
) AS rows;
-- the groups and instants that changed
CREATE OR REPLACE TEMPORARY TABLE temp._cql_delta_aggregate AS
SELECT *, (_cql_is IS DISTINCT FROM _cql_was OR m IS DISTINCT FROM _cql_old_m) AS _cql_changed
FROM (
  SELECT
    k, _ts, _cql_n, m, _cql_old_m, _cql_last, TRUE AS _cql_is, NOT _cql_earlier IS NULL AS _cql_was
  FROM (
    SELECT k, _ts, _cql_n, m, LAG(m) OVER (PARTITION BY k ORDER BY _ts) AS _cql_old_m,
      LAG(_ts) OVER (PARTITION BY k ORDER BY _ts) AS _cql_earlier, _cql_next IS NULL AS _cql_last
    FROM (
      SELECT *
      FROM (
        SELECT k, _ts, _cql_result_m AS m, _cql_n, _cql_next FROM temp._cql_delta_rowwindow
      ) AS framed WHERE _cql_next IS DISTINCT FROM _ts AND (_cql_next IS NULL OR _cql_next > $t0)
    ) AS ends
  ) AS stepped WHERE _ts > $t0
) AS results;
-- elements
SELECT k, _cql_old_m AS m, _ts, CAST(-1 AS BIGINT) AS _weight FROM temp._cql_delta_aggregate
WHERE _cql_was AND _cql_changed
UNION ALL
SELECT k, m, _ts, CAST(1 AS BIGINT) AS _weight FROM temp._cql_delta_aggregate
WHERE _cql_is AND _cql_changed;
-- lives
WITH changed AS (
  SELECT *, LEAD(_ts) OVER (PARTITION BY k ORDER BY _ts) AS _cql_end,
    LAG(_ts) OVER (PARTITION BY k ORDER BY _ts) AS _cql_begin FROM temp._cql_delta_aggregate
  WHERE _cql_changed
)
SELECT k, m, _ts AS _cql_enter, COALESCE(_cql_end, 9223372036854775807) AS _cql_leave,
  CAST(1 AS BIGINT) AS _weight FROM changed WHERE _cql_is
UNION ALL
SELECT k, _cql_old_m AS m, CAST($t0 AS BIGINT) AS _cql_enter, _ts AS _cql_leave,
  CAST(1 AS BIGINT) AS _weight FROM changed WHERE _cql_was AND _cql_begin IS NULL;
-- answer
SELECT k, m, CAST(1 AS BIGINT) AS _weight FROM cql_state.aggregate_groups;
