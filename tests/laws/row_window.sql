-- law: [PARTITION BY k ROWS 2]: a tuple leaves with the second one behind it
-- operator: LastRows
-- node: RowWindow(s, 2, ("k",))
-- means: SELECT * FROM {s PartitionRows(('k',), 2)}
-- asks: lives, standing, answer
-- stream s(k INTEGER, v INTEGER):
--   0: (1, 1) (1, 2) (1, 3) (NULL, 4); 2: (1, 5) (2, 6); 3: (NULL, 7) (NULL, 8); 5: (2, 9)
--   6: (1, 10) (1, 11) (2, 14) (2, 15); 9: (2, 12) (1, 13)
-- ticks: 1, 2, 4, 6, 10
-- gives:
--   0: (1, 2) (1, 3) (NULL, 4)
--   2: -(1, 2) (1, 5) (2, 6)
--   3: -(NULL, 4) (NULL, 7) (NULL, 8)
--   5: (2, 9)
--   6: (1, 10) (1, 11) -(1, 3) -(1, 5) (2, 14) (2, 15) -(2, 6) -(2, 9)
--   9: -(1, 10) (1, 13) (2, 12) -(2, 14)
-- kept rows:
--   (1, 11, 6, 10) (1, 13, 9, 14) (2, 15, 6, 12) (2, 12, 9, 13) (NULL, 7, 3, 6) (NULL, 8, 3, 7)
-- same, what is not touched has no instant in the tick:
--   the rows that come, and whom they push out: without EXISTS(SELECT 1 FROM arrivals  … k IS NOT DISTINCT FROM kept.k)
--   the rows that come, and whom they push out: without arrivals.k IS NOT DISTINCT FROM kept.k
----
-- the rows that come, and whom they push out
CREATE OR REPLACE TEMPORARY TABLE temp._cql_delta_rowwindow AS
WITH arrivals AS (SELECT k, v, _ts, _cql_seq FROM delta_s)
SELECT k, v, _ts, _ts AS _cql_enter,
  COALESCE(LEAD(_ts, 2) OVER (PARTITION BY k ORDER BY _ts, _cql_seq), 9223372036854775807) AS _cql_leave,
  _cql_seq
FROM (
  SELECT k, v, _ts, _cql_seq FROM cql_state.rowwindow_rows AS kept
  WHERE EXISTS(SELECT 1 FROM arrivals WHERE arrivals.k IS NOT DISTINCT FROM kept.k)
  UNION ALL
  SELECT k, v, _ts, _cql_seq FROM arrivals
) AS rows;
-- lives
SELECT k, v, _cql_enter, _cql_leave, CAST(1 AS BIGINT) AS _weight FROM temp._cql_delta_rowwindow
WHERE _cql_enter < _cql_leave AND (_cql_enter > $t0 OR _cql_leave <= $t1);
-- standing
SELECT k, v, _ts AS _cql_enter, 9223372036854775807 AS _cql_leave, CAST(1 AS BIGINT) AS _weight
FROM cql_state.rowwindow_rows
WHERE NOT _cql_seq IN (SELECT _cql_seq FROM temp._cql_delta_rowwindow WHERE _cql_leave <= $t1);
-- upkeep: forget the rows that left
DELETE FROM cql_state.rowwindow_rows
WHERE _cql_seq IN (SELECT _cql_seq FROM temp._cql_delta_rowwindow WHERE _cql_leave <= $t1);
-- upkeep: keep the rows that came
INSERT INTO cql_state.rowwindow_rows
SELECT k, v, _ts, _cql_seq FROM temp._cql_delta_rowwindow WHERE _ts > $t0 AND _cql_leave > $t1
ORDER BY _cql_seq;
-- answer
SELECT k, v, CAST(1 AS BIGINT) AS _weight FROM cql_state.rowwindow_rows;

-- law: [ROWS 3]: in all of the stream
-- operator: LastRows
-- node: RowWindow(s, 3)
-- means: SELECT * FROM {s Rows(3)}
-- asks: lives
-- stream s(k INTEGER, v INTEGER): as above
-- ticks: 1, 2, 4, 6, 10
-- gives:
--   0: (1, 2) (1, 3) (NULL, 4)
--   2: -(1, 2) -(1, 3) (1, 5) (2, 6)
--   3: -(1, 5) -(NULL, 4) (NULL, 7) (NULL, 8)
--   5: -(2, 6) (2, 9)
--   6: (1, 11) (2, 14) (2, 15) -(2, 9) -(NULL, 7) -(NULL, 8)
--   9: -(1, 11) (1, 13) (2, 12) -(2, 14)
-- kept rows:
--   (2, 15, 6, 12) (2, 12, 9, 13) (1, 13, 9, 14)
-- same, what is not touched has no instant in the tick:
--   the rows that come, and whom they push out: without EXISTS(SELECT 1 FROM arrivals WHERE TRUE)
----
-- the rows that come, and whom they push out
CREATE OR REPLACE TEMPORARY TABLE temp._cql_delta_rowwindow AS
WITH arrivals AS (SELECT k, v, _ts, _cql_seq FROM delta_s)
SELECT k, v, _ts, _ts AS _cql_enter,
  COALESCE(LEAD(_ts, 3) OVER (ORDER BY _ts, _cql_seq), 9223372036854775807) AS _cql_leave, _cql_seq
FROM (
  SELECT k, v, _ts, _cql_seq FROM cql_state.rowwindow_rows AS kept
  WHERE EXISTS(SELECT 1 FROM arrivals WHERE TRUE)
  UNION ALL
  SELECT k, v, _ts, _cql_seq FROM arrivals
) AS rows;
-- lives
SELECT k, v, _cql_enter, _cql_leave, CAST(1 AS BIGINT) AS _weight FROM temp._cql_delta_rowwindow
WHERE _cql_enter < _cql_leave AND (_cql_enter > $t0 OR _cql_leave <= $t1);
-- upkeep: forget the rows that left
DELETE FROM cql_state.rowwindow_rows
WHERE _cql_seq IN (SELECT _cql_seq FROM temp._cql_delta_rowwindow WHERE _cql_leave <= $t1);
-- upkeep: keep the rows that came
INSERT INTO cql_state.rowwindow_rows
SELECT k, v, _ts, _cql_seq FROM temp._cql_delta_rowwindow WHERE _ts > $t0 AND _cql_leave > $t1
ORDER BY _cql_seq;

-- law: with RANGE 2 it leaves w + 1 after its timestamp at the latest
-- operator: LastRows
-- node: RowWindow(s, 2, ("k",), 2)
-- means: SELECT * FROM {s PartitionRows(('k',), 2, 2)}
-- asks: lives
-- stream s(k INTEGER, v INTEGER): as above
-- ticks: 1, 2, 4, 6, 10
-- gives:
--   0: (1, 2) (1, 3) (NULL, 4)
--   2: -(1, 2) (1, 5) (2, 6)
--   3: -(1, 3) -(NULL, 4) (NULL, 7) (NULL, 8)
--   5: -(1, 5) -(2, 6) (2, 9)
--   6: (1, 10) (1, 11) (2, 14) (2, 15) -(2, 9) -(NULL, 7) -(NULL, 8)
--   9: -(1, 10) -(1, 11) (1, 13) (2, 12) -(2, 14) -(2, 15)
-- kept rows:
--   (2, 12, 9, 13) (1, 13, 9, 14)
-- same, least() passes over NULL:
--   the rows that come, and whom they push out: COALESCE(LEAD(_ts, 2) OVER (PA … cql_seq), 9223372036854775807) -> LEAD(_ts, 2) OVER (PARTITION BY k ORDER BY _ts, _cql_seq)
----
-- the rows that come, and whom they push out
CREATE OR REPLACE TEMPORARY TABLE temp._cql_delta_rowwindow AS
WITH arrivals AS (SELECT k, v, _ts, _cql_seq FROM delta_s)
SELECT k, v, _ts, _ts AS _cql_enter, LEAST(
    COALESCE(LEAD(_ts, 2) OVER (PARTITION BY k ORDER BY _ts, _cql_seq), 9223372036854775807),
    _ts + 3
  ) AS _cql_leave, _cql_seq
FROM (
  SELECT k, v, _ts, _cql_seq FROM cql_state.rowwindow_rows AS kept
  UNION ALL
  SELECT k, v, _ts, _cql_seq FROM arrivals
) AS rows;
-- lives
SELECT k, v, _cql_enter, _cql_leave, CAST(1 AS BIGINT) AS _weight FROM temp._cql_delta_rowwindow
WHERE _cql_enter < _cql_leave AND (_cql_enter > $t0 OR _cql_leave <= $t1);
-- upkeep: forget the rows that left
DELETE FROM cql_state.rowwindow_rows
WHERE _cql_seq IN (SELECT _cql_seq FROM temp._cql_delta_rowwindow WHERE _cql_leave <= $t1);
-- upkeep: keep the rows that came
INSERT INTO cql_state.rowwindow_rows
SELECT k, v, _ts, _cql_seq FROM temp._cql_delta_rowwindow WHERE _ts > $t0 AND _cql_leave > $t1
ORDER BY _cql_seq;

-- law: with RANGE 2 SLIDE 3 both ends are moved to multiples of 3
-- operator: LastRows
-- node: RowWindow(s, 2, ("k",), 2, every=3)
-- means: SELECT * FROM {s PartitionRows(('k',), 2, 2, None, 3)}
-- asks: lives, standing
-- stream s(k INTEGER, v INTEGER):
--   -7: (1, 1) (1, 2) (1, 3) (NULL, 4); -5: (1, 5) (2, 6); -4: (NULL, 7) (NULL, 8); -2: (2, 9)
--   -1: (1, 10) (1, 11) (2, 14) (2, 15); 2: (2, 12) (1, 13) (1, 16) (1, 17); -6: (3, 20)
-- begin: -8
-- ticks: -6, -5, -3, -1, 3
-- gives:
--   -6: (1, 2) (1, 3) (3, 20) (NULL, 4)
--   -3: -(1, 2) -(1, 3) (1, 5) (2, 6) -(3, 20) -(NULL, 4) (NULL, 7) (NULL, 8)
--   0: (1, 10) (1, 11) -(1, 5) (2, 14) (2, 15) -(2, 6) -(NULL, 7) -(NULL, 8)
--   3: -(1, 10) -(1, 11) (1, 16) (1, 17) (2, 12) -(2, 14) -(2, 15)
-- kept rows:
--   (2, 12, 2, 13) (1, 16, 2, 15) (1, 17, 2, 16)
-- same, least() passes over NULL: as above
----
-- the rows that come, and whom they push out
CREATE OR REPLACE TEMPORARY TABLE temp._cql_delta_rowwindow AS
WITH arrivals AS (SELECT k, v, _ts, _cql_seq FROM delta_s)
SELECT k, v, _ts, (
    (_cql_enter + 2) - (_cql_enter + 2) % 3 - CASE WHEN (_cql_enter + 2) % 3 < 0 THEN 3 ELSE 0 END
  ) AS _cql_enter, (
    (_cql_leave + 2) - (_cql_leave + 2) % 3 - CASE WHEN (_cql_leave + 2) % 3 < 0 THEN 3 ELSE 0 END
  ) AS _cql_leave, _cql_seq
FROM (
  SELECT k, v, _ts, _ts AS _cql_enter, LEAST(
      COALESCE(LEAD(_ts, 2) OVER (PARTITION BY k ORDER BY _ts, _cql_seq), 9223372036854775807),
      _ts + 3
    ) AS _cql_leave, _cql_seq
  FROM (
    SELECT k, v, _ts, _cql_seq FROM cql_state.rowwindow_rows AS kept
    UNION ALL
    SELECT k, v, _ts, _cql_seq FROM arrivals
  ) AS rows
) AS moved;
-- lives
SELECT k, v, _cql_enter, _cql_leave, CAST(1 AS BIGINT) AS _weight FROM temp._cql_delta_rowwindow
WHERE _cql_enter < _cql_leave AND (_cql_enter > $t0 OR _cql_leave <= $t1) AND _cql_enter <= $t1;
-- standing
SELECT k, v, _cql_enter, _cql_leave, CAST(1 AS BIGINT) AS _weight FROM temp._cql_delta_rowwindow
WHERE _cql_enter <= $t0 AND _cql_leave > $t1;
-- upkeep: forget the rows that left
DELETE FROM cql_state.rowwindow_rows
WHERE _cql_seq IN (SELECT _cql_seq FROM temp._cql_delta_rowwindow WHERE _cql_leave <= $t1);
-- upkeep: keep the rows that came
INSERT INTO cql_state.rowwindow_rows
SELECT k, v, _ts, _cql_seq FROM temp._cql_delta_rowwindow WHERE _ts > $t0 AND _cql_leave > $t1
ORDER BY _cql_seq;

-- law: with SLIDE 3 both ends are moved to positions that are multiples of 3
-- operator: LastRows
-- node: RowWindow(s, 2, ("k",), slide=3)
-- means: SELECT * FROM {s PartitionRows(('k',), 2, None, None, 3)}
-- asks: lives, standing
-- stream s(k INTEGER, v INTEGER):
--   0: (1, 1) (1, 2) (1, 3) (NULL, 4); 2: (1, 5) (2, 6); 3: (NULL, 7) (NULL, 8); 5: (2, 9)
--   6: (1, 10) (1, 11) (2, 14) (2, 15); 9: (2, 12) (1, 13) (1, 16) (1, 17)
-- ticks: 1, 2, 4, 6, 9
-- gives:
--   0: (1, 2) (1, 3)
--   3: (NULL, 7) (NULL, 8)
--   6: (1, 10) (1, 11) -(1, 2) -(1, 3) (2, 14) (2, 9)
--   9: -(1, 10) -(1, 11) (1, 16) (1, 17)
-- kept rows:
--   (1, 16, 9, 15, 8) (1, 17, 9, 16, 9) (2, 9, 5, 8, 2) (2, 14, 6, 11, 3)
--   (2, 15, 6, 12, 4) (2, 12, 9, 13, 5) (NULL, 7, 3, 6, 2) (NULL, 8, 3, 7, 3)
-- same, what never enters is in no answer:
--   the rows that come, and whom they push out: COALESCE(LEAD(_ts, (3 - _cql_p … cql_seq), 9223372036854775807) -> LEAD(_ts, (3 - _cql_position % … N BY k ORDER BY _ts, _cql_seq)
----
-- the rows that come, and whom they push out
CREATE OR REPLACE TEMPORARY TABLE temp._cql_delta_rowwindow AS
WITH arrivals AS (SELECT k, v, _ts, _cql_seq FROM delta_s)
SELECT k, v, _ts, COALESCE(
    LEAD(_ts, (3 - _cql_position % 3) % 3) OVER (PARTITION BY k ORDER BY _ts, _cql_seq),
    9223372036854775807
  ) AS _cql_enter, COALESCE(
    LEAD(_ts, 2 + (3 - (_cql_position + 2) % 3) % 3) OVER (PARTITION BY k ORDER BY _ts, _cql_seq),
    9223372036854775807
  ) AS _cql_leave, _cql_seq, _cql_position
FROM (
  SELECT k, v, _ts, _cql_seq,
    COALESCE(MIN(_cql_position) OVER (PARTITION BY k), 1) + ROW_NUMBER() OVER (PARTITION BY k ORDER BY _ts, _cql_seq) - 1 AS _cql_position
  FROM (
    SELECT k, v, _ts, _cql_seq, _cql_position FROM cql_state.rowwindow_rows AS kept
    UNION ALL
    SELECT k, v, _ts, _cql_seq, CAST(NULL AS BIGINT) AS _cql_position FROM arrivals
  ) AS numbered
) AS rows;
-- lives
SELECT k, v, _cql_enter, _cql_leave, CAST(1 AS BIGINT) AS _weight FROM temp._cql_delta_rowwindow
WHERE _cql_enter < _cql_leave AND (_cql_enter > $t0 OR _cql_leave <= $t1);
-- standing
SELECT k, v, _cql_enter, _cql_leave, CAST(1 AS BIGINT) AS _weight FROM temp._cql_delta_rowwindow
WHERE _cql_enter <= $t0 AND _cql_leave > $t1;
-- upkeep: forget the rows that left
DELETE FROM cql_state.rowwindow_rows
WHERE _cql_seq IN (SELECT _cql_seq FROM temp._cql_delta_rowwindow WHERE _cql_leave <= $t1);
-- upkeep: keep the rows that came
INSERT INTO cql_state.rowwindow_rows
SELECT k, v, _ts, _cql_seq, _cql_position FROM temp._cql_delta_rowwindow
WHERE _ts > $t0 AND _cql_leave > $t1
ORDER BY _cql_seq;

-- law: of a derived stream the order is that of all columns
-- operator: LastRows
-- node: RowWindow(s, 2)
-- asks: lives
-- stream s(k INTEGER, v INTEGER) is_numbered=False has_unit_elements=False:
--   0: (2, 2) 2(1, NULL) (1, 3); 2: (1, 5); 3: (NULL, 7) (3, 8); 4: (1, 1); 5: 3(2, 9) (2, 8)
--   7: (5, 1)
-- ticks: 1, 2, 4, 5, 10
-- gives:
--   0: (1, NULL) (2, 2)
--   2: (1, 5) -(1, NULL)
--   3: (3, 8) (NULL, 7) -(2, 2) -(1, 5)
--   4: (1, 1) -(3, 8)
--   5: 2(2, 9) -(1, 1) -(NULL, 7)
--   7: (5, 1) -(2, 9)
-- kept rows:
--   (2, 9, 5, 12) (5, 1, 7, 13)
-- same, the order of instants comes before that of numbers:
--   the rows that come, and whom they push out: ROW_NUMBER() OVER (ORDER BY _ts, k, v) with _ts turned round
-- same, what is not touched has no instant in the tick: as above
----
-- the rows that come, and whom they push out
CREATE OR REPLACE TEMPORARY TABLE temp._cql_delta_rowwindow AS
WITH arrivals AS (
  SELECT k, v, _ts, ROW_NUMBER() OVER (ORDER BY _ts, k, v) + (
      SELECT COALESCE(MAX(_cql_seq), 0) FROM cql_state.rowwindow_rows
    ) AS _cql_seq
  FROM (SELECT k, v, _ts, UNNEST(RANGE(_weight)) AS _cql_copy FROM delta_s) AS arriving
)
SELECT k, v, _ts, _ts AS _cql_enter,
  COALESCE(LEAD(_ts, 2) OVER (ORDER BY _ts, _cql_seq), 9223372036854775807) AS _cql_leave, _cql_seq
FROM (
  SELECT k, v, _ts, _cql_seq FROM cql_state.rowwindow_rows AS kept
  WHERE EXISTS(SELECT 1 FROM arrivals WHERE TRUE)
  UNION ALL
  SELECT k, v, _ts, _cql_seq FROM arrivals
) AS rows;
-- lives
SELECT k, v, _cql_enter, _cql_leave, CAST(1 AS BIGINT) AS _weight FROM temp._cql_delta_rowwindow
WHERE _cql_enter < _cql_leave AND (_cql_enter > $t0 OR _cql_leave <= $t1);
-- upkeep: forget the rows that left
DELETE FROM cql_state.rowwindow_rows
WHERE _cql_seq IN (SELECT _cql_seq FROM temp._cql_delta_rowwindow WHERE _cql_leave <= $t1);
-- upkeep: keep the rows that came
INSERT INTO cql_state.rowwindow_rows
SELECT k, v, _ts, _cql_seq FROM temp._cql_delta_rowwindow WHERE _ts > $t0 AND _cql_leave > $t1
ORDER BY _cql_seq;

-- law: [PARTITION BY k ROWS 1]: the last one of an instant shows, and pushes out one row at most
-- operator: LastRow
-- node: RowWindow(s, 1, ("k",))
-- means: SELECT * FROM {s PartitionRows(('k',), 1)}
-- asks: lives, standing
-- stream s(k INTEGER, v INTEGER):
--   0: (1, 1) (1, 2) (1, 3) (NULL, 4); 2: (1, 5) (2, 6); 3: (NULL, 7) (NULL, 8); 5: (2, 9) (NULL, 17); 4: (1, 16)
--   6: (1, 10) (1, 11) (2, 14) (2, 15); 9: (2, 12) (1, 13)
-- ticks: 1, 2, 6, 10
-- gives:
--   0: (1, 3) (NULL, 4)
--   2: -(1, 3) (1, 5) (2, 6)
--   3: -(NULL, 4) (NULL, 8)
--   4: (1, 16) -(1, 5)
--   5: -(2, 6) (2, 9) (NULL, 17) -(NULL, 8)
--   6: (1, 11) -(1, 16) (2, 15) -(2, 9)
--   9: -(1, 11) (1, 13) (2, 12) -(2, 15)
-- same, what is not touched has no instant in the tick:
--   the newest rows that come: without EXISTS(SELECT 1 FROM several W … IS NOT DISTINCT FROM newest.k)
--   whom they push out: without EXISTS(SELECT 1 FROM temp._cql … k IS NOT DISTINCT FROM kept.k)
--   whom they push out: without arrivals.k IS NOT DISTINCT FROM kept.k
-- same, the tables of the tick hold nothing else:
--   lives: without (_cql_enter > $t0 OR _cql_leave <= $t1)
--   lives: _cql_enter > $t0 -> _cql_enter >= $t0
--   lives: _cql_enter -> _cql_leave 2
--   lives: _cql_leave -> _cql_enter 2
--   standing: without _cql_leave <= $t1
--   standing: _cql_leave -> _cql_enter
-- same, what comes alone has no neighbour:
--   the newest rows that come: without COUNT(*) > 1
--   the newest rows that come: COUNT(*) > 1 -> COUNT(*) >= 1
--   the newest rows that come: without several.k IS NOT DISTINCT FROM newest.k
-- same, one of an instant shows, so none is empty:
--   lives: without _cql_enter < _cql_leave
--   lives: _cql_enter < _cql_leave -> _cql_enter <= _cql_leave
----
-- the newest rows that come
CREATE OR REPLACE TEMPORARY TABLE temp._cql_newest_rowwindow AS
WITH newest AS MATERIALIZED (
  SELECT k, _ts, MAX(_cql_seq) AS _cql_seq FROM (SELECT k, v, _ts, _cql_seq FROM delta_s) AS stream
  GROUP BY k, _ts
), several AS MATERIALIZED (
  SELECT k FROM newest GROUP BY k
  HAVING COUNT(*) > 1
), ordered AS NOT MATERIALIZED (
  SELECT _cql_seq, LEAD(_ts) OVER (PARTITION BY k ORDER BY _ts) AS _cql_next,
    LAG(_ts) OVER (PARTITION BY k ORDER BY _ts) IS NULL AS _cql_first FROM newest
  WHERE EXISTS(SELECT 1 FROM several WHERE several.k IS NOT DISTINCT FROM newest.k)
)
SELECT stream.k, stream.v, stream._ts, stream._cql_seq, ordered._cql_next,
  COALESCE(ordered._cql_first, TRUE) AS _cql_first
FROM (
  SELECT k, v, _ts, _cql_seq FROM (SELECT k, v, _ts, _cql_seq FROM delta_s) AS stream
  WHERE _cql_seq IN (SELECT _cql_seq FROM newest)
) AS stream
LEFT JOIN ordered ON ordered._cql_seq = stream._cql_seq
ORDER BY stream._cql_seq;
-- whom they push out
CREATE OR REPLACE TEMPORARY TABLE temp._cql_delta_rowwindow AS
SELECT kept.k, kept.v, kept._ts, kept._ts AS _cql_enter, arrivals._ts AS _cql_leave, kept._cql_seq
FROM (
  SELECT * FROM cql_state.rowwindow_rows AS kept WHERE EXISTS(
      SELECT 1 FROM temp._cql_newest_rowwindow AS arrivals
      WHERE arrivals.k IS NOT DISTINCT FROM kept.k
    )
) AS kept
INNER JOIN temp._cql_newest_rowwindow AS arrivals ON arrivals.k IS NOT DISTINCT FROM kept.k
WHERE arrivals._cql_first;
-- lives
SELECT k, v, _cql_enter, _cql_leave, CAST(1 AS BIGINT) AS _weight
FROM (
  SELECT k, v, _cql_enter, _cql_leave FROM temp._cql_delta_rowwindow
  UNION ALL
  SELECT k, v, _ts AS _cql_enter, COALESCE(_cql_next, 9223372036854775807) AS _cql_leave
  FROM temp._cql_newest_rowwindow
) AS input WHERE _cql_enter < _cql_leave AND (_cql_enter > $t0 OR _cql_leave <= $t1);
-- standing
SELECT k, v, _ts AS _cql_enter, 9223372036854775807 AS _cql_leave, CAST(1 AS BIGINT) AS _weight
FROM cql_state.rowwindow_rows
WHERE NOT _cql_seq IN (SELECT _cql_seq FROM temp._cql_delta_rowwindow WHERE _cql_leave <= $t1);
-- upkeep: forget the rows that left
DELETE FROM cql_state.rowwindow_rows
WHERE _cql_seq IN (SELECT _cql_seq FROM temp._cql_delta_rowwindow);
-- upkeep: keep the rows that came
INSERT INTO cql_state.rowwindow_rows
SELECT k, v, _ts, _cql_seq FROM temp._cql_newest_rowwindow WHERE _cql_next IS NULL;
