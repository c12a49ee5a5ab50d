-- law: a tuple lives in [t, t + w + 1) for each w that is listed
-- operator: VaryingStub
-- node: VaryingWindow(s, l.source, "w", 2, half_open=False, name="width")
-- means: SELECT k, 0 AS width FROM {s Range(0)} UNION ALL SELECT k, 2 FROM {s Range(2)}
-- asks: elements, lives, standing, alive
-- stream s(k INTEGER):
--   0: (1) (1) (NULL)
--   1: (1)
--   2: (2)
--   3: (1)
--   5: (NULL)
--   6: (1)
--   9: (2)
-- l(w BIGINT):
--   0..: (0) (2) (2); 0..1: (0)
-- ticks: 1, 2, 5, 8, 14
-- gives:
--   0: 2(1, 0) 2(1, 2) (NULL, 0) (NULL, 2)
--   1: -(1, 0) (1, 2) -(NULL, 0)
--   2: -(1, 0) (2, 0) (2, 2)
--   3: (1, 0) -(1, 2) -(2, 0) -(NULL, 2)
--   4: -(1, 0) -(1, 2)
--   5: -(2, 2) (NULL, 0) (NULL, 2)
--   6: (1, 0) -(NULL, 0)
--   7: -(1, 0)
--   8: -(NULL, 2)
--   9: -(1, 2) (2, 0) (2, 2)
--   10: -(2, 0)
--   12: -(2, 2)
-- same, the longest window bounds what is read, and each window what is found:
--   elements: without element._ts > $t0 - 3
--   elements: element._ts > $t0 - 3 -> element._ts >= $t0 - 3
--   elements: $t0 - 3 with 4
--   elements: without element._ts <= $t1
--   elements: element._ts <= $t1 -> element._ts < $t1
--   elements: without _ts > $t0 - 3
--   elements: _ts > $t0 - 3 -> _ts >= $t0 - 3
--   elements: $t0 - 3 with 4 2
--   elements: without _ts <= $t1
--   elements: _ts <= $t1 -> _ts < $t1
--   lives: without element._ts > $t0 - 3
--   lives: element._ts > $t0 - 3 -> element._ts >= $t0 - 3
--   lives: $t0 - 3 with 4
--   lives: without element._ts <= $t1
--   lives: element._ts <= $t1 -> element._ts < $t1
--   lives: element._ts <= $t1 with $t0
--   lives: without _ts > $t0 - 3
--   lives: _ts > $t0 - 3 -> _ts >= $t0 - 3
--   lives: $t0 - 3 with 4 2
--   lives: without _ts <= $t1
--   lives: _ts <= $t1 -> _ts < $t1
--   lives: _ts <= $t1 with $t0
--   standing: without element._ts > $t0 - 3
--   standing: element._ts > $t0 - 3 -> element._ts >= $t0 - 3
--   standing: $t0 - 3 with 4
--   standing: $t0 - 3 with $t1
--   alive: without element._ts > $t0 - 3
--   alive: element._ts > $t0 - 3 -> element._ts >= $t0 - 3
--   alive: $t0 - 3 with 4
-- same, when it leaves after the tick is of no account in it:
--   standing: element._ts + length._cql_w + 1 with 2
----
-- elements
SELECT element.k, length._cql_w AS width, element._ts, element._weight FROM delta_s AS element
CROSS JOIN (SELECT DISTINCT w AS _cql_w FROM cql_state.l) AS length
UNION ALL
SELECT element.k, length._cql_w AS width, element._ts + length._cql_w + 1 AS _ts,
  -element._weight AS _weight FROM s AS element
CROSS JOIN (
  SELECT length._cql_w, instant._cql_due
  FROM (SELECT _ts AS _cql_due FROM s WHERE _ts > $t0 - 3 AND _ts <= $t1 GROUP BY _ts) AS instant
  CROSS JOIN (SELECT DISTINCT w AS _cql_w FROM cql_state.l) AS length
  WHERE instant._cql_due > $t0 - length._cql_w - 1 AND instant._cql_due <= $t1 - length._cql_w - 1
) AS length WHERE element._ts > $t0 - 3 AND element._ts <= $t1 AND element._ts = length._cql_due;
-- lives
SELECT element.k, length._cql_w AS width, element._ts AS _cql_enter,
  element._ts + length._cql_w + 1 AS _cql_leave, element._weight FROM delta_s AS element
CROSS JOIN (SELECT DISTINCT w AS _cql_w FROM cql_state.l) AS length
UNION ALL
SELECT element.k, length._cql_w AS width, element._ts AS _cql_enter,
  element._ts + length._cql_w + 1 AS _cql_leave, element._weight FROM s AS element
CROSS JOIN (
  SELECT length._cql_w, instant._cql_due
  FROM (SELECT _ts AS _cql_due FROM s WHERE _ts > $t0 - 3 AND _ts <= $t1 GROUP BY _ts) AS instant
  CROSS JOIN (SELECT DISTINCT w AS _cql_w FROM cql_state.l) AS length
  WHERE instant._cql_due > $t0 - length._cql_w - 1 AND instant._cql_due <= $t1 - length._cql_w - 1
) AS length WHERE element._ts > $t0 - 3 AND element._ts <= $t1 AND element._ts = length._cql_due
  AND element._ts <= $t0;
-- standing
SELECT element.k, length._cql_w AS width, element._ts AS _cql_enter,
  element._ts + length._cql_w + 1 AS _cql_leave, element._weight FROM s AS element
CROSS JOIN (SELECT DISTINCT w AS _cql_w FROM cql_state.l) AS length
WHERE element._ts > $t0 - 3 AND element._ts <= $t0 AND element._ts > $t1 - length._cql_w - 1;
-- alive
SELECT element.k, length._cql_w AS width, element._ts AS _cql_enter,
  element._ts + length._cql_w + 1 AS _cql_leave, element._weight FROM s AS element
CROSS JOIN (SELECT DISTINCT w AS _cql_w FROM cql_state.l) AS length
WHERE element._ts > $t0 - 3 AND element._ts <= $t1 AND element._ts > $t0 - length._cql_w - 1;

-- law: half-open: a tuple lives in [t, t + w), and one of length 0 never
-- operator: VaryingStub
-- node: VaryingWindow(s, l.source, "w", 4, half_open=True, name="width")
-- means: SELECT k, 1 AS width FROM {s Range(1)} UNION ALL SELECT k, 3 FROM {s Range(3)}
-- asks: elements
-- stream s(k INTEGER): as above
-- l(w BIGINT):
--   0..: (1) (3) (3) (0); 2..4: (1)
-- ticks: 1, 2, 5, 8, 14
-- gives:
--   0: 2(1, 1) 2(1, 3) (NULL, 1) (NULL, 3)
--   1: -(1, 1) (1, 3) -(NULL, 1)
--   2: -(1, 1) (2, 1) (2, 3)
--   3: (1, 1) -(1, 3) -(2, 1) -(NULL, 3)
--   4: -(1, 1) -(1, 3)
--   5: -(2, 3) (NULL, 1) (NULL, 3)
--   6: (1, 1) -(NULL, 1)
--   7: -(1, 1)
--   8: -(NULL, 3)
--   9: -(1, 3) (2, 1) (2, 3)
--   10: -(2, 1)
--   12: -(2, 3)
-- same, the longest window bounds what is read, and each window what is found:
--   elements: without element._ts > $t0 - 5
--   elements: element._ts > $t0 - 5 -> element._ts >= $t0 - 5
--   elements: $t0 - 5 with 6
--   elements: without element._ts <= $t1
--   elements: element._ts <= $t1 -> element._ts < $t1
--   elements: without _ts > $t0 - 5
--   elements: _ts > $t0 - 5 -> _ts >= $t0 - 5
--   elements: $t0 - 5 with 6 2
--   elements: without _ts <= $t1
--   elements: _ts <= $t1 -> _ts < $t1
----
-- elements
SELECT element.k, length._cql_w AS width, element._ts, element._weight FROM delta_s AS element
CROSS JOIN (SELECT DISTINCT w AS _cql_w FROM cql_state.l) AS length WHERE length._cql_w > 0
UNION ALL
SELECT
  element.k, length._cql_w AS width, element._ts + length._cql_w AS _ts, -element._weight AS _weight
FROM s AS element
CROSS JOIN (
  SELECT length._cql_w, instant._cql_due
  FROM (SELECT _ts AS _cql_due FROM s WHERE _ts > $t0 - 5 AND _ts <= $t1 GROUP BY _ts) AS instant
  CROSS JOIN (SELECT DISTINCT w AS _cql_w FROM cql_state.l) AS length
  WHERE length._cql_w > 0 AND instant._cql_due > $t0 - length._cql_w
    AND instant._cql_due <= $t1 - length._cql_w
) AS length WHERE element._ts > $t0 - 5 AND element._ts <= $t1 AND element._ts = length._cql_due;
