-- law: what enters is summed up once for windows of all lengths, what leaves in pairs of one length
-- operator: UnsettledLengths
-- form: staged, intervals
-- node: Aggregate(Join(VaryingWindow(s, l.source, "w", 2, half_open=False, name="width"), l, "width = w", shown=("k", "v", "m")), "k", "m", n="count(*)")
-- means: SELECT k, m, count(*) AS n FROM (SELECT k, v, 0 AS width FROM {s Range(0)} UNION ALL SELECT k, v, 2 FROM {s Range(2)}) JOIN {l} ON width = w GROUP BY k, m
-- asks: elements
-- hides: what begins or ends, combinations that begin or end, an empty table, the groups and instants that changed, upkeep, elements
-- stream s(k INTEGER, v INTEGER):
--   1: (1, 5) (2, NULL) (1, 2)
--   2: (1, 7) (1, 8) (1, 7) (NULL, 1)
--   3: (1, 5) (2, 6)
--   4: (1, 2) (2, 4) (1, 4)
--   5: (1, 1)
--   6: (1, 6) (1, 3) (NULL, 9)
--   7: (1, 9)
--   9: (2, 5)
-- l(m INTEGER, w BIGINT):
--   0..: (1, 2) (2, 2) (3, 0) (4, NULL); 0..5: (5, 0); 3..: (6, 2); 4..7: (7, 2); 8..: (8, 2)
-- ticks: 1, 3, 5, 6, 12
-- gives:
--   1: (1, 1, 2) (1, 2, 2) (1, 3, 2) (1, 5, 2) (2, 1, 1) (2, 2, 1) (2, 3, 1) (2, 5, 1)
--   2: -(1, 1, 2) (1, 1, 5) -(1, 2, 2) (1, 2, 5) -(1, 3, 2) (1, 3, 3) -(1, 5, 2) (1, 5, 3) -(2, 3, 1) -(2, 5, 1) (NULL, 1, 1) (NULL, 2, 1) (NULL, 3, 1) (NULL, 5, 1)
--   3: -(1, 1, 5) (1, 1, 6) -(1, 2, 5) (1, 2, 6) (1, 3, 1) -(1, 3, 3) (1, 5, 1) -(1, 5, 3) (1, 6, 6) -(2, 1, 1) (2, 1, 2) -(2, 2, 1) (2, 2, 2) (2, 3, 1) (2, 5, 1) (2, 6, 2) -(NULL, 3, 1) -(NULL, 5, 1) (NULL, 6, 1)
--   4: -(1, 3, 1) (1, 3, 2) -(1, 5, 1) (1, 5, 2) (1, 7, 6) (2, 7, 2) (NULL, 7, 1)
--   5: (1, 1, 4) -(1, 1, 6) (1, 2, 4) -(1, 2, 6) (1, 3, 1) -(1, 3, 2) -(1, 5, 2) (1, 6, 4) -(1, 6, 6) (1, 7, 4) -(1, 7, 6) -(2, 3, 1) -(2, 5, 1) -(NULL, 1, 1) -(NULL, 2, 1) -(NULL, 6, 1) -(NULL, 7, 1)
--   6: -(1, 1, 4) (1, 1, 5) -(1, 2, 4) (1, 2, 5) -(1, 3, 1) (1, 3, 2) -(1, 6, 4) (1, 6, 5) -(1, 7, 4) (1, 7, 5) (2, 1, 1) -(2, 1, 2) (2, 2, 1) -(2, 2, 2) (2, 6, 1) -(2, 6, 2) (2, 7, 1) -(2, 7, 2) (NULL, 1, 1) (NULL, 2, 1) (NULL, 3, 1) (NULL, 6, 1) (NULL, 7, 1)
--   7: (1, 1, 4) -(1, 1, 5) (1, 2, 4) -(1, 2, 5) (1, 3, 1) -(1, 3, 2) (1, 6, 4) -(1, 6, 5) -(1, 7, 5) -(2, 1, 1) -(2, 2, 1) -(2, 6, 1) -(2, 7, 1) -(NULL, 3, 1) -(NULL, 7, 1)
--   8: (1, 1, 3) -(1, 1, 4) (1, 2, 3) -(1, 2, 4) -(1, 3, 1) (1, 6, 3) -(1, 6, 4) (1, 8, 3) (NULL, 8, 1)
--   9: (1, 1, 1) -(1, 1, 3) (1, 2, 1) -(1, 2, 3) (1, 6, 1) -(1, 6, 3) (1, 8, 1) -(1, 8, 3) (2, 1, 1) (2, 2, 1) (2, 3, 1) (2, 6, 1) (2, 8, 1) -(NULL, 1, 1) -(NULL, 2, 1) -(NULL, 6, 1) -(NULL, 8, 1)
--   10: -(1, 1, 1) -(1, 2, 1) -(1, 6, 1) -(1, 8, 1) -(2, 3, 1)
--   12: -(2, 1, 1) -(2, 2, 1) -(2, 6, 1) -(2, 8, 1)
-- same, the longest window bounds what is read, and each window what is found:
--   what begins or ends in the windows of these: without _ts > $t0 - 3
--   what begins or ends in the windows of these: without _ts <= $t1
--   what begins or ends in the windows of these: _ts > $t0 - 3 -> _ts >= $t0 - 3
--   what begins or ends in the windows of these: $t0 - 3 with 4
--   what begins or ends in the windows of these: _ts <= $t1 -> _ts < $t1
--   what begins or ends in the windows of these: without element._ts > $t0 - 3
--   what begins or ends in the windows of these: without element._ts <= $t1
--   what begins or ends in the windows of these: element._ts > $t0 - 3 -> element._ts >= $t0 - 3
--   what begins or ends in the windows of these: $t0 - 3 with 4 2
--   what begins or ends in the windows of these: element._ts <= $t1 -> element._ts < $t1
--   the elements, summed up: without _ts > $t0 - 3
--   the elements, summed up: without _ts <= $t1
--   the elements, summed up: _ts > $t0 - 3 -> _ts >= $t0 - 3
--   the elements, summed up: $t0 - 3 with 4
--   the elements, summed up: _ts <= $t1 -> _ts < $t1
--   the elements, summed up: without element._ts > $t0 - 3
--   the elements, summed up: without element._ts <= $t1
--   the elements, summed up: element._ts > $t0 - 3 -> element._ts >= $t0 - 3
--   the elements, summed up: $t0 - 3 with 4 2
--   the elements, summed up: element._ts <= $t1 -> element._ts < $t1
-- same, what begins or ends there alone has left by then, if it was there before:
--   what begins or ends in the windows of these: _ts <= $t1 with $t0
--   what begins or ends in the windows of these: element._ts <= $t1 with $t0
-- same, a bound without a length meets no window:
--   the bounds that form pairs: FALSE -> TRUE
-- same, windows of other lengths meet none of these bounds:
--   what begins or ends in the windows of these: without EXISTS(SELECT 1 FROM temp._cql … d_join AS b WHERE b.w = width)
--   what begins or ends in the windows of these: without b.w = width
----
-- the bounds that all that begins or ends meets alike
CREATE OR REPLACE TEMPORARY TABLE temp._cql_bounds_join AS
SELECT w, m FROM alive_l WHERE _cql_enter <= $t0 AND _cql_leave > $t1 AND NOT w IS NULL;
-- the bounds that form pairs
CREATE OR REPLACE TEMPORARY TABLE temp._cql_unsettled_join AS
SELECT m, w, _cql_enter, _cql_leave, _weight FROM alive_l
WHERE NOT COALESCE(_cql_enter <= $t0 AND _cql_leave > $t1 AND NOT w IS NULL, FALSE);
-- what begins or ends in the windows of these
CREATE OR REPLACE TEMPORARY TABLE temp._cql_lives_join AS
SELECT k, v, width, _cql_enter, _cql_leave, _weight
FROM (
  SELECT element.k, element.v, length._cql_w AS width, element._ts AS _cql_enter,
    element._ts + length._cql_w + 1 AS _cql_leave, element._weight FROM delta_s AS element
  CROSS JOIN (SELECT DISTINCT w AS _cql_w FROM cql_state.l) AS length
  UNION ALL
  SELECT element.k, element.v, length._cql_w AS width, element._ts AS _cql_enter,
    element._ts + length._cql_w + 1 AS _cql_leave, element._weight FROM s AS element
  CROSS JOIN (
    SELECT length._cql_w, instant._cql_due
    FROM (SELECT _ts AS _cql_due FROM s WHERE _ts > $t0 - 3 AND _ts <= $t1 GROUP BY _ts) AS instant
    CROSS JOIN (SELECT DISTINCT w AS _cql_w FROM cql_state.l) AS length
    WHERE instant._cql_due > $t0 - length._cql_w - 1 AND instant._cql_due <= $t1 - length._cql_w - 1
  ) AS length WHERE element._ts > $t0 - 3 AND element._ts <= $t1 AND element._ts = length._cql_due
    AND element._ts <= $t0
) AS input WHERE EXISTS(SELECT 1 FROM temp._cql_unsettled_join AS b WHERE b.w = width);
-- the elements, summed up
CREATE OR REPLACE TEMPORARY TABLE temp._cql_sums_aggregate AS
SELECT k, m, _ts, CAST(SUM(_cql_n) AS BIGINT) AS _cql_n
FROM (
  SELECT k, m, _ts, CAST(SUM(_weight) AS BIGINT) AS _cql_n
  FROM (
    WITH lives AS (SELECT k, v, m, _cql_enter, _cql_leave, _weight FROM temp._cql_delta_join)
    SELECT k, m, _cql_enter AS _ts, _weight FROM lives WHERE _cql_enter > $t0
    UNION ALL
    SELECT k, m, _cql_leave AS _ts, -_weight AS _weight FROM lives WHERE _cql_leave <= $t1
  ) AS elements GROUP BY k, m, _ts
  UNION ALL
  SELECT e.k, c.m, e._ts, CAST(SUM(e._weight) AS BIGINT) AS _cql_n FROM delta_s AS e
  CROSS JOIN temp._cql_bounds_join AS c GROUP BY e.k, c.m, e._ts
  UNION ALL
  SELECT e.k, c.m, e._ts, CAST(SUM(e._weight) AS BIGINT) AS _cql_n
  FROM (
    SELECT element.k, element.v, length._cql_w AS width, element._ts + length._cql_w + 1 AS _ts,
      -element._weight AS _weight FROM s AS element
    CROSS JOIN (
      SELECT length._cql_w, instant._cql_due
      FROM (
        SELECT _ts AS _cql_due FROM s WHERE _ts > $t0 - 3 AND _ts <= $t1 GROUP BY _ts
      ) AS instant
      CROSS JOIN (SELECT DISTINCT w AS _cql_w FROM cql_state.l) AS length
      WHERE
        instant._cql_due > $t0 - length._cql_w - 1 AND instant._cql_due <= $t1 - length._cql_w - 1
    ) AS length WHERE element._ts > $t0 - 3 AND element._ts <= $t1 AND element._ts = length._cql_due
  ) AS e
  CROSS JOIN temp._cql_bounds_join AS c WHERE e.width = c.w GROUP BY e.k, c.m, e._ts
) AS "both" GROUP BY k, m, _ts;

-- law: half-open: bounds of length 0 are not settled, as what would leave when it enters is not there
-- operator: UnsettledLengths
-- form: staged, intervals
-- node: Aggregate(Join(VaryingWindow(s, l.source, "w", 2, half_open=True, name="width"), l, "width = w", shown=("k", "v", "m")), "k", "m", n="count(*)")
-- means: SELECT k, m, count(*) AS n FROM (SELECT k, v, 1 AS width FROM {s Range(1)} UNION ALL SELECT k, v, 2 FROM {s Range(2)}) JOIN {l} ON width = w GROUP BY k, m
-- asks: elements
-- hides: what begins or ends, combinations that begin or end, an empty table, the groups and instants that changed, upkeep, elements
-- stream s(k INTEGER, v INTEGER): as above
-- l(m INTEGER, w BIGINT):
--   0..: (1, 2) (2, 2) (3, 0) (4, NULL) (9, 1); 0..5: (5, 1); 3..: (6, 2); 4..7: (7, 2)
--   8..: (8, 2); 6..: (10, 2)
-- ticks: 1, 3, 5, 6, 12
-- gives:
--   1: (1, 1, 2) (1, 2, 2) (1, 5, 2) (1, 9, 2) (2, 1, 1) (2, 2, 1) (2, 5, 1) (2, 9, 1)
--   2: -(1, 1, 2) (1, 1, 5) -(1, 2, 2) (1, 2, 5) -(1, 5, 2) (1, 5, 3) -(1, 9, 2) (1, 9, 3) -(2, 5, 1) -(2, 9, 1) (NULL, 1, 1) (NULL, 2, 1) (NULL, 5, 1) (NULL, 9, 1)
--   3: (1, 1, 4) -(1, 1, 5) (1, 2, 4) -(1, 2, 5) (1, 5, 1) -(1, 5, 3) (1, 6, 4) (1, 9, 1) -(1, 9, 3) (2, 5, 1) (2, 6, 1) (2, 9, 1) -(NULL, 5, 1) (NULL, 6, 1) -(NULL, 9, 1)
--   4: (1, 1, 3) -(1, 1, 4) (1, 2, 3) -(1, 2, 4) -(1, 5, 1) (1, 5, 2) (1, 6, 3) -(1, 6, 4) (1, 7, 3) -(1, 9, 1) (1, 9, 2) -(2, 1, 1) (2, 1, 2) -(2, 2, 1) (2, 2, 2) -(2, 6, 1) (2, 6, 2) (2, 7, 2) -(NULL, 1, 1) -(NULL, 2, 1) -(NULL, 6, 1)
--   5: -(1, 5, 2) (1, 9, 1) -(1, 9, 2) (2, 1, 1) -(2, 1, 2) (2, 2, 1) -(2, 2, 2) -(2, 5, 1) (2, 6, 1) -(2, 6, 2) (2, 7, 1) -(2, 7, 2) -(2, 9, 1)
--   6: (1, 10, 3) -(1, 9, 1) (1, 9, 2) -(2, 1, 1) -(2, 2, 1) -(2, 6, 1) -(2, 7, 1) (NULL, 1, 1) (NULL, 10, 1) (NULL, 2, 1) (NULL, 6, 1) (NULL, 7, 1) (NULL, 9, 1)
--   7: -(1, 7, 3) (1, 9, 1) -(1, 9, 2) -(NULL, 7, 1) -(NULL, 9, 1)
--   8: (1, 1, 1) -(1, 1, 3) (1, 10, 1) -(1, 10, 3) (1, 2, 1) -(1, 2, 3) (1, 6, 1) -(1, 6, 3) (1, 8, 1) -(1, 9, 1) -(NULL, 1, 1) -(NULL, 10, 1) -(NULL, 2, 1) -(NULL, 6, 1)
--   9: -(1, 1, 1) -(1, 10, 1) -(1, 2, 1) -(1, 6, 1) -(1, 8, 1) (2, 1, 1) (2, 10, 1) (2, 2, 1) (2, 6, 1) (2, 8, 1) (2, 9, 1)
--   10: -(2, 9, 1)
--   11: -(2, 1, 1) -(2, 10, 1) -(2, 2, 1) -(2, 6, 1) -(2, 8, 1)
-- same, the longest window bounds what is read, and each window what is found:
--   what begins or ends in the windows of these: without _ts > $t0 - 3
--   what begins or ends in the windows of these: without _ts <= $t1
--   what begins or ends in the windows of these: _ts > $t0 - 3 -> _ts >= $t0 - 3
--   what begins or ends in the windows of these: $t0 - 3 with 4
--   what begins or ends in the windows of these: _ts <= $t1 -> _ts < $t1
--   what begins or ends in the windows of these: without element._ts > $t0 - 3
--   what begins or ends in the windows of these: without element._ts <= $t1
--   what begins or ends in the windows of these: element._ts > $t0 - 3 -> element._ts >= $t0 - 3
--   what begins or ends in the windows of these: $t0 - 3 with 4 2
--   what begins or ends in the windows of these: element._ts <= $t1 -> element._ts < $t1
--   the elements, summed up: without _ts > $t0 - 3
--   the elements, summed up: without _ts <= $t1
--   the elements, summed up: _ts > $t0 - 3 -> _ts >= $t0 - 3
--   the elements, summed up: $t0 - 3 with 4
--   the elements, summed up: _ts <= $t1 -> _ts < $t1
--   the elements, summed up: without element._ts > $t0 - 3
--   the elements, summed up: without element._ts <= $t1
--   the elements, summed up: element._ts > $t0 - 3 -> element._ts >= $t0 - 3
--   the elements, summed up: $t0 - 3 with 4 2
--   the elements, summed up: element._ts <= $t1 -> element._ts < $t1
-- same, what begins or ends there alone has left by then, if it was there before:
--   what begins or ends in the windows of these: _ts <= $t1 with $t0
--   what begins or ends in the windows of these: element._ts <= $t1 with $t0
-- same, a bound without a length meets no window:
--   the bounds that form pairs: FALSE -> TRUE
-- same, windows of other lengths meet none of these bounds:
--   what begins or ends in the windows of these: without EXISTS(SELECT 1 FROM temp._cql … d_join AS b WHERE b.w = width)
--   what begins or ends in the windows of these: without b.w = width
-- same, a tuple of length 0 is never there, and no bound of this length, or of none, meets one:
--   the bounds that all that begins or ends meets alike: without NOT w IS NULL
--   the bounds that form pairs: w > 0 -> w >= 0
--   what begins or ends in the windows of these: without length._cql_w > 0
--   what begins or ends in the windows of these: length._cql_w > 0 -> length._cql_w >= 0
--   what begins or ends in the windows of these: without length._cql_w > 0 2
--   what begins or ends in the windows of these: length._cql_w > 0 -> length._cql_w >= 0 2
--   the elements, summed up: without length._cql_w > 0
--   the elements, summed up: length._cql_w > 0 -> length._cql_w >= 0
----
-- the bounds that all that begins or ends meets alike
CREATE OR REPLACE TEMPORARY TABLE temp._cql_bounds_join AS
SELECT w, m FROM alive_l WHERE _cql_enter <= $t0 AND _cql_leave > $t1 AND NOT w IS NULL AND w > 0;
-- the bounds that form pairs
CREATE OR REPLACE TEMPORARY TABLE temp._cql_unsettled_join AS
SELECT m, w, _cql_enter, _cql_leave, _weight FROM alive_l
WHERE NOT COALESCE(_cql_enter <= $t0 AND _cql_leave > $t1 AND NOT w IS NULL AND w > 0, FALSE);
-- what begins or ends in the windows of these
CREATE OR REPLACE TEMPORARY TABLE temp._cql_lives_join AS
SELECT k, v, width, _cql_enter, _cql_leave, _weight
FROM (
  SELECT element.k, element.v, length._cql_w AS width, element._ts AS _cql_enter,
    element._ts + length._cql_w AS _cql_leave, element._weight FROM delta_s AS element
  CROSS JOIN (SELECT DISTINCT w AS _cql_w FROM cql_state.l) AS length WHERE length._cql_w > 0
  UNION ALL
  SELECT element.k, element.v, length._cql_w AS width, element._ts AS _cql_enter,
    element._ts + length._cql_w AS _cql_leave, element._weight FROM s AS element
  CROSS JOIN (
    SELECT length._cql_w, instant._cql_due
    FROM (SELECT _ts AS _cql_due FROM s WHERE _ts > $t0 - 3 AND _ts <= $t1 GROUP BY _ts) AS instant
    CROSS JOIN (SELECT DISTINCT w AS _cql_w FROM cql_state.l) AS length
    WHERE length._cql_w > 0 AND instant._cql_due > $t0 - length._cql_w
      AND instant._cql_due <= $t1 - length._cql_w
  ) AS length WHERE element._ts > $t0 - 3 AND element._ts <= $t1 AND element._ts = length._cql_due
    AND element._ts <= $t0
) AS input WHERE EXISTS(SELECT 1 FROM temp._cql_unsettled_join AS b WHERE b.w = width);
-- the elements, summed up
CREATE OR REPLACE TEMPORARY TABLE temp._cql_sums_aggregate AS
SELECT k, m, _ts, CAST(SUM(_cql_n) AS BIGINT) AS _cql_n
FROM (
  SELECT k, m, _ts, CAST(SUM(_weight) AS BIGINT) AS _cql_n
  FROM (
    WITH lives AS (SELECT k, v, m, _cql_enter, _cql_leave, _weight FROM temp._cql_delta_join)
    SELECT k, m, _cql_enter AS _ts, _weight FROM lives WHERE _cql_enter > $t0
    UNION ALL
    SELECT k, m, _cql_leave AS _ts, -_weight AS _weight FROM lives WHERE _cql_leave <= $t1
  ) AS elements GROUP BY k, m, _ts
  UNION ALL
  SELECT e.k, c.m, e._ts, CAST(SUM(e._weight) AS BIGINT) AS _cql_n FROM delta_s AS e
  CROSS JOIN temp._cql_bounds_join AS c GROUP BY e.k, c.m, e._ts
  UNION ALL
  SELECT e.k, c.m, e._ts, CAST(SUM(e._weight) AS BIGINT) AS _cql_n
  FROM (
    SELECT element.k, element.v, length._cql_w AS width, element._ts + length._cql_w AS _ts,
      -element._weight AS _weight FROM s AS element
    CROSS JOIN (
      SELECT length._cql_w, instant._cql_due
      FROM (
        SELECT _ts AS _cql_due FROM s WHERE _ts > $t0 - 3 AND _ts <= $t1 GROUP BY _ts
      ) AS instant
      CROSS JOIN (SELECT DISTINCT w AS _cql_w FROM cql_state.l) AS length
      WHERE length._cql_w > 0 AND instant._cql_due > $t0 - length._cql_w
        AND instant._cql_due <= $t1 - length._cql_w
    ) AS length WHERE element._ts > $t0 - 3 AND element._ts <= $t1 AND element._ts = length._cql_due
  ) AS e
  CROSS JOIN temp._cql_bounds_join AS c WHERE e.width = c.w GROUP BY e.k, c.m, e._ts
) AS "both" GROUP BY k, m, _ts;

-- law: what stands of windows of several lengths is found from the bounds: elements since each length
-- operator: Combinations
-- node: Join(VaryingWindow(s, l.source, "w", 3, half_open=False, name="width"), l, "width = w", "v > c")
-- means: SELECT k, v, width, m, w, c FROM (SELECT k, v, 0 AS width FROM {s Range(0)} UNION ALL SELECT k, v, 3 FROM {s Range(3)}) JOIN {l} ON width = w AND v > c
-- asks: lives, standing
-- hides: lives
-- stream s(k INTEGER, v INTEGER): as above
-- l(m INTEGER, w BIGINT, c INTEGER):
--   0..: 2(1, 3, 2) (2, 3, 5) (3, 0, 4) (4, 3, NULL) (9, NULL, 1); 0..5: (5, 3, 1); 3..: (6, 3, 4)
--   4..7: (7, 3, 5); 8..: (8, 3, 3); 2..4: (10, 3, 1)
-- ticks: 1, 2, 3, 5, 6, 12
-- gives:
--   1: (1, 2, 3, 5, 3, 1) (1, 5, 0, 3, 0, 4) 2(1, 5, 3, 1, 3, 2) (1, 5, 3, 5, 3, 1)
--   2: (1, 2, 3, 10, 3, 1) -(1, 5, 0, 3, 0, 4) (1, 5, 3, 10, 3, 1) 2(1, 7, 0, 3, 0, 4) 4(1, 7, 3, 1, 3, 2) 2(1, 7, 3, 10, 3, 1) 2(1, 7, 3, 2, 3, 5) 2(1, 7, 3, 5, 3, 1) (1, 8, 0, 3, 0, 4) 2(1, 8, 3, 1, 3, 2) (1, 8, 3, 10, 3, 1) (1, 8, 3, 2, 3, 5) (1, 8, 3, 5, 3, 1)
--   3: (1, 5, 0, 3, 0, 4) 2(1, 5, 3, 1, 3, 2) (1, 5, 3, 10, 3, 1) (1, 5, 3, 5, 3, 1) 2(1, 5, 3, 6, 3, 4) -2(1, 7, 0, 3, 0, 4) 2(1, 7, 3, 6, 3, 4) -(1, 8, 0, 3, 0, 4) (1, 8, 3, 6, 3, 4) (2, 6, 0, 3, 0, 4) 2(2, 6, 3, 1, 3, 2) (2, 6, 3, 10, 3, 1) (2, 6, 3, 2, 3, 5) (2, 6, 3, 5, 3, 1) (2, 6, 3, 6, 3, 4)
--   4: -(1, 2, 3, 10, 3, 1) (1, 2, 3, 5, 3, 1) 2(1, 4, 3, 1, 3, 2) (1, 4, 3, 5, 3, 1) -(1, 5, 0, 3, 0, 4) -2(1, 5, 3, 10, 3, 1) -2(1, 7, 3, 10, 3, 1) 2(1, 7, 3, 7, 3, 5) -(1, 8, 3, 10, 3, 1) (1, 8, 3, 7, 3, 5) 2(2, 4, 3, 1, 3, 2) (2, 4, 3, 5, 3, 1) -(2, 6, 0, 3, 0, 4) -(2, 6, 3, 10, 3, 1) (2, 6, 3, 7, 3, 5)
--   5: -2(1, 2, 3, 5, 3, 1) -(1, 4, 3, 5, 3, 1) -2(1, 5, 3, 1, 3, 2) -2(1, 5, 3, 5, 3, 1) -(1, 5, 3, 6, 3, 4) -2(1, 7, 3, 5, 3, 1) -(1, 8, 3, 5, 3, 1) -(2, 4, 3, 5, 3, 1) -(2, 6, 3, 5, 3, 1)
--   6: 2(1, 3, 3, 1, 3, 2) (1, 6, 0, 3, 0, 4) 2(1, 6, 3, 1, 3, 2) (1, 6, 3, 2, 3, 5) (1, 6, 3, 6, 3, 4) (1, 6, 3, 7, 3, 5) -4(1, 7, 3, 1, 3, 2) -2(1, 7, 3, 2, 3, 5) -2(1, 7, 3, 6, 3, 4) -2(1, 7, 3, 7, 3, 5) -2(1, 8, 3, 1, 3, 2) -(1, 8, 3, 2, 3, 5) -(1, 8, 3, 6, 3, 4) -(1, 8, 3, 7, 3, 5) (NULL, 9, 0, 3, 0, 4) 2(NULL, 9, 3, 1, 3, 2) (NULL, 9, 3, 2, 3, 5) (NULL, 9, 3, 6, 3, 4) (NULL, 9, 3, 7, 3, 5)
--   7: -2(1, 5, 3, 1, 3, 2) -(1, 5, 3, 6, 3, 4) -(1, 6, 0, 3, 0, 4) -(1, 6, 3, 7, 3, 5) (1, 9, 0, 3, 0, 4) 2(1, 9, 3, 1, 3, 2) (1, 9, 3, 2, 3, 5) (1, 9, 3, 6, 3, 4) -2(2, 6, 3, 1, 3, 2) -(2, 6, 3, 2, 3, 5) -(2, 6, 3, 6, 3, 4) -(2, 6, 3, 7, 3, 5) -(NULL, 9, 0, 3, 0, 4) -(NULL, 9, 3, 7, 3, 5)
--   8: -2(1, 4, 3, 1, 3, 2) (1, 6, 3, 8, 3, 3) -(1, 9, 0, 3, 0, 4) (1, 9, 3, 8, 3, 3) -2(2, 4, 3, 1, 3, 2) (NULL, 9, 3, 8, 3, 3)
--   9: (2, 5, 0, 3, 0, 4) 2(2, 5, 3, 1, 3, 2) (2, 5, 3, 6, 3, 4) (2, 5, 3, 8, 3, 3)
--   10: -2(1, 3, 3, 1, 3, 2) -2(1, 6, 3, 1, 3, 2) -(1, 6, 3, 2, 3, 5) -(1, 6, 3, 6, 3, 4) -(1, 6, 3, 8, 3, 3) -(2, 5, 0, 3, 0, 4) -2(NULL, 9, 3, 1, 3, 2) -(NULL, 9, 3, 2, 3, 5) -(NULL, 9, 3, 6, 3, 4) -(NULL, 9, 3, 8, 3, 3)
--   11: -2(1, 9, 3, 1, 3, 2) -(1, 9, 3, 2, 3, 5) -(1, 9, 3, 6, 3, 4) -(1, 9, 3, 8, 3, 3)
-- same, what stands began before the tick, and ends behind it:
--   standing: GREATEST(element._ts, bound._cql_enter) -> LEAST(element._ts, bound._cql_enter)
--   standing: LEAST(element._ts + bound.w + 1, bound._cql_leave) -> GREATEST(element._ts + bound.w + 1, bound._cql_leave)
--   standing: element._ts + bound.w + 1 with 2
-- same, an element of a stream has weight 1:
--   standing: element._weight * bound._weight -> bound._weight
-- same, the longest window bounds what is read, and each window what is found:
--   standing: without element._ts > $t0 - 4
--   standing: element._ts > $t0 - 4 -> element._ts >= $t0 - 4
--   standing: $t0 - 4 with $t1
--   standing: $t0 - 4 with 5
----
-- standing
SELECT element.k, element.v, bound.w AS width, bound.m, bound.w, bound.c,
  GREATEST(element._ts, bound._cql_enter) AS _cql_enter,
  LEAST(element._ts + bound.w + 1, bound._cql_leave) AS _cql_leave,
  element._weight * bound._weight AS _weight FROM s AS element
CROSS JOIN l AS bound
WHERE element._ts > $t0 - 4 AND element._ts <= $t0 AND element._ts > $t1 - bound.w - 1
  AND element.v > bound.c;
