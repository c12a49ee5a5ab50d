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

-- law: the cache of a segment: what begins is appended with its end, so what ends needs no deletion
-- operator: CachedSegment
-- node: Cache(Join(l, r, "k = j"))
-- means: SELECT a, k, j, b FROM {l} JOIN {r} ON k = j
-- asks: lives, standing
-- l(a INTEGER, k INTEGER):
--   0..4: (1, 1); 1..3: 2(2, 1); 3..8: (4, NULL); 4..6: (5, 1); 8..9: (6, 1); 2..6: (3, 2)
--   0..9: 2(7, 1) (9, 3); 7..: 2(8, 1)
-- r(j INTEGER, b INTEGER):
--   0..2: (1, 10); 2..7: (1, 11); 6..7: 2(1, 12); 9: 3(1, 13); 3..6: 3(2, 20)
--   0..9: (NULL, 0) (2, 21); 4..9: (3, 30); 1..8: (1, 14)
-- ticks: 2, 3, 6, 8, 10
-- gives:
--   0: (1, 1, 1, 10) 2(7, 1, 1, 10)
--   1: (1, 1, 1, 14) 2(2, 1, 1, 10) 2(2, 1, 1, 14) 2(7, 1, 1, 14)
--   2: -(1, 1, 1, 10) (1, 1, 1, 11) -2(2, 1, 1, 10) 2(2, 1, 1, 11) (3, 2, 2, 21) -2(7, 1, 1, 10) 2(7, 1, 1, 11)
--   3: -2(2, 1, 1, 11) -2(2, 1, 1, 14) 3(3, 2, 2, 20)
--   4: -(1, 1, 1, 11) -(1, 1, 1, 14) (5, 1, 1, 11) (5, 1, 1, 14) (9, 3, 3, 30)
--   6: -3(3, 2, 2, 20) -(3, 2, 2, 21) -(5, 1, 1, 11) -(5, 1, 1, 14) 4(7, 1, 1, 12)
--   7: -2(7, 1, 1, 11) -4(7, 1, 1, 12) 2(8, 1, 1, 14)
--   8: -2(7, 1, 1, 14) -2(8, 1, 1, 14)
--   9: 6(8, 1, 1, 13) -(9, 3, 3, 30)
-- kept cache:
--   (1, 1, 1, 10, 0, 2, 1) (1, 1, 1, 11, 2, 4, 1) (1, 1, 1, 14, 1, 4, 1) (2, 1, 1, 10, 1, 2, 2)
--   (2, 1, 1, 11, 2, 3, 2) (2, 1, 1, 14, 1, 3, 2) (5, 1, 1, 11, 4, 6, 1) (5, 1, 1, 14, 4, 6, 1)
--   (3, 2, 2, 20, 3, 6, 3) (3, 2, 2, 21, 2, 6, 1) (7, 1, 1, 10, 0, 2, 2) (7, 1, 1, 11, 2, 7, 2)
--   (7, 1, 1, 12, 6, 7, 4) (7, 1, 1, 14, 1, 8, 2) (9, 3, 3, 30, 4, 9, 1)
--   (8, 1, 1, 13, 9, 9223372036854775807, 6) (8, 1, 1, 14, 7, 8, 2)
-- same, what stands through the tick overlaps all that begins or ends in it:
--   what begins or ends in the segment: without i1._cql_enter < i0._cql_leave 2
--   what begins or ends in the segment: without i0._cql_enter < i1._cql_leave 2
--   what begins or ends in the segment: i1._cql_enter < i0._cql_leave -> i1._cql_enter <= i0._cql_leave 2
--   what begins or ends in the segment: i0._cql_enter < i1._cql_leave -> i0._cql_enter <= i1._cql_leave 2
--   what begins or ends in the segment: i1._cql_leave -> i1._cql_enter 4
----
-- what begins or ends in the segment
CREATE OR REPLACE TEMPORARY TABLE temp._cql_delta_cache AS
SELECT i0.a, i0.k, i1.j, i1.b, GREATEST(i0._cql_enter, i1._cql_enter) AS _cql_enter,
  LEAST(i0._cql_leave, i1._cql_leave) AS _cql_leave, i0._weight * i1._weight AS _weight
FROM lives_l AS i0
CROSS JOIN alive_r AS i1
WHERE i0.k = i1.j AND i0._cql_enter < i1._cql_leave AND i1._cql_enter < i0._cql_leave
UNION ALL
SELECT i0.a, i0.k, i1.j, i1.b, GREATEST(i1._cql_enter, i0._cql_enter) AS _cql_enter,
  LEAST(i1._cql_leave, i0._cql_leave) AS _cql_leave, i1._weight * i0._weight AS _weight
FROM lives_r AS i1
CROSS JOIN l AS i0
WHERE i0.k = i1.j AND i1._cql_enter < i0._cql_leave AND i0._cql_enter < i1._cql_leave;
-- lives
SELECT a, k, j, b, _cql_enter, _cql_leave, _weight FROM temp._cql_delta_cache;
-- standing
SELECT a, k, j, b, _cql_enter, _cql_leave, _weight FROM cql_state.cache_cache WHERE _cql_leave > $t1;
-- upkeep: append to the cache what begins in the segment
INSERT INTO cql_state.cache_cache (a, k, j, b, _cql_enter, _cql_leave, _weight)
SELECT a, k, j, b, _cql_enter, _cql_leave, _weight FROM temp._cql_delta_cache WHERE _cql_enter > $t0;

-- law: the cache of a segment has what stands: what ends is deleted first, what stays is appended
-- operator: StandingSegment
-- node: Cache(Join(l, r, "k = j"))
-- means: SELECT a, k, j, b FROM {l} JOIN {r} ON k = j
-- asks: lives, standing
-- l(a INTEGER, k INTEGER) has_unit_weights:
--   0..4: (1, 1); 1..3: (2, 1) (2, 1); 3..8: (4, NULL); 4..6: (5, 1); 8..9: (6, 1); 2..6: (3, 2)
--   0..9: (7, 1) (7, 1) (9, 3); 5..9: (7, 1); 7..: (8, 1); 4..5: (7, 1); 0..3: (7, 1); 0..5: (NULL, 2)
-- r(j INTEGER, b INTEGER) has_unit_weights:
--   0..2: (1, 10); 2..7: (1, 11); 6..7: (1, 12) (1, 12); 9..: (1, 13) (1, 13); 3..6: (2, 20)
--   0..9: (NULL, 0) (2, 21); 4..9: (3, 30); 1..8: (1, 14); 0..8: (2, NULL)
-- ticks: 2, 3, 6, 8, 10
-- gives:
--   0: (1, 1, 1, 10) 3(7, 1, 1, 10) (NULL, 2, 2, 21) (NULL, 2, 2, NULL)
--   1: (1, 1, 1, 14) 2(2, 1, 1, 10) 2(2, 1, 1, 14) 3(7, 1, 1, 14)
--   2: -(1, 1, 1, 10) (1, 1, 1, 11) -2(2, 1, 1, 10) 2(2, 1, 1, 11) (3, 2, 2, 21) (3, 2, 2, NULL) -3(7, 1, 1, 10) 3(7, 1, 1, 11)
--   3: -2(2, 1, 1, 11) -2(2, 1, 1, 14) (3, 2, 2, 20) -(7, 1, 1, 11) -(7, 1, 1, 14) (NULL, 2, 2, 20)
--   4: -(1, 1, 1, 11) -(1, 1, 1, 14) (5, 1, 1, 11) (5, 1, 1, 14) (7, 1, 1, 11) (7, 1, 1, 14) (9, 3, 3, 30)
--   5: -(NULL, 2, 2, 20) -(NULL, 2, 2, 21) -(NULL, 2, 2, NULL)
--   6: -(3, 2, 2, 20) -(3, 2, 2, 21) -(3, 2, 2, NULL) -(5, 1, 1, 11) -(5, 1, 1, 14) 6(7, 1, 1, 12)
--   7: -3(7, 1, 1, 11) -6(7, 1, 1, 12) (8, 1, 1, 14)
--   8: -3(7, 1, 1, 14) -(8, 1, 1, 14)
--   9: 2(8, 1, 1, 13) -(9, 3, 3, 30)
-- same, what stands through the tick overlaps all that begins or ends in it:
--   what begins or ends in the segment: without i1._cql_enter < i0._cql_leave 2
--   what begins or ends in the segment: without i0._cql_enter < i1._cql_leave 2
--   what begins or ends in the segment: i1._cql_enter < i0._cql_leave -> i1._cql_enter <= i0._cql_leave 2
--   what begins or ends in the segment: i0._cql_enter < i1._cql_leave -> i0._cql_enter <= i1._cql_leave 2
-- same, each tuple is one:
--   what begins or ends in the segment: i0._weight * i1._weight -> i0._weight
--   what begins or ends in the segment: i0._weight * i1._weight -> i1._weight
--   what begins or ends in the segment: i1._weight * i0._weight -> i0._weight
--   what begins or ends in the segment: i1._weight * i0._weight -> i1._weight
-- same, one key says the other, and neither is NULL:
--   delete from the cache what ends in the segment: ended.j IS NOT DISTINCT FROM kept.j -> ended.j = kept.j
--   delete from the cache what ends in the segment: ended.k IS NOT DISTINCT FROM kept.k -> ended.k = kept.k
--   delete from the cache what ends in the segment: without ended.j IS NOT DISTINCT FROM kept.j
--   delete from the cache what ends in the segment: without ended.k IS NOT DISTINCT FROM kept.k
-- same, of what does not end no number is known:
--   delete from the cache what ends in the segment: INNER JOIN temp._cql_ended_cache AS ended -> LEFT
----
-- what begins or ends in the segment
CREATE OR REPLACE TEMPORARY TABLE temp._cql_delta_cache AS
SELECT i0.a, i0.k, i1.j, i1.b, GREATEST(i0._cql_enter, i1._cql_enter) AS _cql_enter,
  LEAST(i0._cql_leave, i1._cql_leave) AS _cql_leave, i0._weight * i1._weight AS _weight
FROM lives_l AS i0
CROSS JOIN alive_r AS i1
WHERE i0.k = i1.j AND i0._cql_enter < i1._cql_leave AND i1._cql_enter < i0._cql_leave
UNION ALL
SELECT i0.a, i0.k, i1.j, i1.b, GREATEST(i1._cql_enter, i0._cql_enter) AS _cql_enter,
  LEAST(i1._cql_leave, i0._cql_leave) AS _cql_leave, i1._weight * i0._weight AS _weight
FROM lives_r AS i1
CROSS JOIN l AS i0
WHERE i0.k = i1.j AND i1._cql_enter < i0._cql_leave AND i0._cql_enter < i1._cql_leave;
-- what ends in the segment
CREATE OR REPLACE TEMPORARY TABLE temp._cql_ended_cache AS
SELECT a, k, j, b, CAST(SUM(_weight) AS BIGINT) AS _cql_n FROM temp._cql_delta_cache
WHERE _cql_enter <= $t0 GROUP BY a, k, j, b;
-- delete from the cache what ends in the segment
DELETE FROM cql_state.cache_cache WHERE rowid IN (
    SELECT _cql_row
    FROM (
      SELECT kept.rowid AS _cql_row, ended._cql_n,
        ROW_NUMBER() OVER (PARTITION BY ended.rowid) AS _cql_place
      FROM cql_state.cache_cache AS kept
      JOIN temp._cql_ended_cache AS ended
        ON ended.a IS NOT DISTINCT FROM kept.a AND ended.k IS NOT DISTINCT FROM kept.k
        AND ended.j IS NOT DISTINCT FROM kept.j AND ended.b IS NOT DISTINCT FROM kept.b
    ) AS numbered WHERE _cql_place <= _cql_n
  );
-- lives
SELECT a, k, j, b, _cql_enter, _cql_leave, _weight FROM temp._cql_delta_cache;
-- standing
SELECT a, k, j, b, CAST($t0 AS BIGINT) AS _cql_enter, 9223372036854775807 AS _cql_leave,
  CAST(1 AS BIGINT) AS _weight FROM cql_state.cache_cache;
-- upkeep: append to the cache what begins in the segment
INSERT INTO cql_state.cache_cache (a, k, j, b)
SELECT a, k, j, b FROM temp._cql_delta_cache WHERE _cql_leave > $t1;
