-- law: a partial cache has the combinations of the keys that were asked for, each with its end
-- operator: PartialSegment
-- node: Cache(Join(l, r, "k = j"), Partial(("k",), 1, (Asker(("x",), (sql("x < 9"),)),)), (q,))
-- means: SELECT a, k, j, b FROM {l} JOIN {r} ON k = j
-- asks: lives, standing
-- hides: lives, what begins or ends in the segment
-- within: k in SELECT x FROM lives_q WHERE x < 9
-- l(a INTEGER, k INTEGER):
--   0..4: (1, 1); 1..: (2, 1); 0..9: (3, 6); 6..: (4, 1); 2..7: 2(5, 6); 0..: (6, NULL) (7, 9)
-- r(j INTEGER, b INTEGER):
--   0..: 2(1, 10); 3..5: (1, 11); 0..6: (6, 20); 2..: (6, 21); 9..: (1, 12); 8..10: (1, 13)
--   0..: (NULL, 0) (9, 0)
-- q(x INTEGER):
--   0..1: (1); 3..4: (6) (NULL); 5..6: (7) (9); 7..8: 2(1); 9..: (1) (6) (9) (NULL)
--   11..12: (1)
-- ticks: 2, 3, 6, 8, 10, 12
-- gives:
--   0: 2(1, 1, 1, 10) (3, 6, 6, 20) (7, 9, 9, 0)
--   1: 2(2, 1, 1, 10)
--   2: (3, 6, 6, 21) 2(5, 6, 6, 20) 2(5, 6, 6, 21)
--   3: (1, 1, 1, 11) (2, 1, 1, 11)
--   4: -2(1, 1, 1, 10) -(1, 1, 1, 11)
--   5: -(2, 1, 1, 11)
--   6: -(3, 6, 6, 20) 2(4, 1, 1, 10) -2(5, 6, 6, 20)
--   7: -2(5, 6, 6, 21)
--   8: (2, 1, 1, 13) (4, 1, 1, 13)
--   9: (2, 1, 1, 12) -(3, 6, 6, 21) (4, 1, 1, 12)
--   10: -(2, 1, 1, 13) -(4, 1, 1, 13)
-- kept cache:
--   (2, 1, 1, 10, 1, 9223372036854775807, 2) (4, 1, 1, 10, 6, 9223372036854775807, 2)
--   (2, 1, 1, 12, 9, 9223372036854775807, 1) (4, 1, 1, 12, 9, 9223372036854775807, 1)
--   (2, 1, 1, 13, 8, 10, 1) (4, 1, 1, 13, 8, 10, 1)
-- kept keys:
--   (1, 0) (6, 0)
-- same, its condition leaves NULL out:
--   the keys that are asked for and not known: without NOT asked._cql_key1 IS NULL
-- same, what nobody asks for is never known:
--   the keys that they drive out: without x < 9
--   the keys that they drive out: x < 9 …
-- same, what stands through the tick overlaps:
--   add what stands of the keys that were missed: without i0._cql_enter < i1._cql_leave
--   add what stands of the keys that were missed: without i1._cql_enter < i0._cql_leave
--   add what stands of the keys that were missed: i0._cql_enter < i1._cql_leave -> …
--   add what stands of the keys that were missed: i1._cql_enter < i0._cql_leave -> …
----
-- the keys that are asked for and not known
CREATE OR REPLACE TEMPORARY TABLE temp._cql_missed_cache AS
SELECT DISTINCT asked._cql_key1, CAST(HASH(asked._cql_key1) % 1 AS BIGINT) AS _cql_slot
FROM (SELECT x AS _cql_key1 FROM lives_q WHERE x < 9) AS asked
WHERE NOT asked._cql_key1 IS NULL AND NOT EXISTS(
    SELECT 1 FROM cql_state.cache_keys AS known WHERE known._cql_key1 = asked._cql_key1
  );
-- the keys that they drive out
CREATE OR REPLACE TEMPORARY TABLE temp._cql_evicted_cache AS
SELECT known.rowid AS _cql_row, known._cql_key1 FROM cql_state.cache_keys AS known
WHERE known._cql_slot IN (SELECT _cql_slot FROM temp._cql_missed_cache) AND NOT EXISTS(
    SELECT 1 FROM (SELECT x AS _cql_key1 FROM lives_q WHERE x < 9) AS asked
    WHERE known._cql_key1 = asked._cql_key1
  );
-- delete from the cache what they have
DELETE FROM cql_state.cache_cache WHERE k IN (SELECT _cql_key1 FROM temp._cql_evicted_cache);
-- forget these keys
DELETE FROM cql_state.cache_keys WHERE rowid IN (SELECT _cql_row FROM temp._cql_evicted_cache);
-- add what stands of the keys that were missed
INSERT INTO cql_state.cache_cache (a, k, j, b, _cql_enter, _cql_leave, _weight)
SELECT i0.a, i0.k, i1.j, i1.b, GREATEST(i0._cql_enter, i1._cql_enter) AS _cql_enter,
  LEAST(i0._cql_leave, i1._cql_leave) AS _cql_leave, i0._weight * i1._weight AS _weight
FROM (
  SELECT a, k, _cql_enter, _cql_leave, _weight
  FROM (SELECT a, k, _cql_enter, _cql_leave, _weight FROM l) AS input
  WHERE k IN (SELECT _cql_key1 FROM temp._cql_missed_cache)
) AS i0
CROSS JOIN r AS i1
WHERE i0.k = i1.j AND i0._cql_enter < i1._cql_leave AND i1._cql_enter < i0._cql_leave;
-- know these keys
INSERT INTO cql_state.cache_keys
SELECT * FROM temp._cql_missed_cache;
-- standing
SELECT a, k, j, b, _cql_enter, _cql_leave, _weight FROM cql_state.cache_cache WHERE _cql_leave > $t1;
-- upkeep: append to the cache what begins in the segment
INSERT INTO cql_state.cache_cache (a, k, j, b, _cql_enter, _cql_leave, _weight)
SELECT a, k, j, b, _cql_enter, _cql_leave, _weight
FROM (
  SELECT a, k, j, b, _cql_enter, _cql_leave, _weight FROM temp._cql_delta_cache
  WHERE _cql_enter > $t0
) AS input WHERE k IN (SELECT _cql_key1 FROM cql_state.cache_keys);

-- law: of a partial cache without ends what ends is deleted first; several inputs may ask
-- operator: PartialStandingSegment
-- node: Cache(Join(l, r, "k = j"), Partial(("b", "k"), 1, (Asker(("y", "x")), Asker(("v", "u")))), (q, p))
-- means: SELECT a, k, j, b FROM {l} JOIN {r} ON k = j
-- asks: lives, standing
-- hides: lives, what begins or ends in the segment, what ends in the segment, delete from the cache what ends in the segment
-- within: k, b in SELECT x, y FROM lives_q UNION SELECT u, v FROM lives_p
-- l(a INTEGER, k INTEGER) has_unit_weights:
--   0..4: (1, 1); 1..: (2, 1) (2, 1); 0..9: (3, 2); 6..: (4, 1); 0..: (5, 2) (6, NULL) (8, 4) (9, 3)
-- r(j INTEGER, b INTEGER) has_unit_weights:
--   0..: (1, 10) (2, 22) (4, 21) (3, 21) (3, 20); 3..5: (1, 11); 0..6: (2, 20); 2..: (2, 21)
--   9..: (1, 10); 0..: (NULL, 0) (2, NULL); 11..12: (2, 22); 13..: (2, 22) (2, 23) (3, 22)
-- q(x INTEGER, y INTEGER):
--   0..1: (1, 10); 3..: (2, 20); 7..8: (1, 10); 9..: (2, 21) (4, 21); 11..: (2, 20) (2, 22)
--   11..: (NULL, 20) (2, NULL)
-- p(u INTEGER, v INTEGER):
--   5..6: (2, 21); 7..8: (3, 21); 9..: (3, 20) (2, 22); 11..: (4, 21); 13..: (4, 21)
-- ticks: 2, 3, 6, 8, 10, 12, 13
-- gives:
--   0: (1, 1, 1, 10) (3, 2, 2, 20) (3, 2, 2, 22) (3, 2, 2, NULL) (5, 2, 2, 20) (5, 2, 2, 22) (5, 2, 2, NULL) (8, 4, 4, 21) (9, 3, 3, 20) (9, 3, 3, 21)
--   1: 2(2, 1, 1, 10)
--   2: (3, 2, 2, 21) (5, 2, 2, 21)
--   3: (1, 1, 1, 11) 2(2, 1, 1, 11)
--   4: -(1, 1, 1, 10) -(1, 1, 1, 11)
--   5: -2(2, 1, 1, 11)
--   6: -(3, 2, 2, 20) (4, 1, 1, 10) -(5, 2, 2, 20)
--   9: 2(2, 1, 1, 10) -(3, 2, 2, 21) -(3, 2, 2, 22) -(3, 2, 2, NULL) (4, 1, 1, 10)
--   11: (5, 2, 2, 22)
--   12: -(5, 2, 2, 22)
--   13: (5, 2, 2, 22) (5, 2, 2, 23) (9, 3, 3, 22)
-- kept cache:
--   (5, 2, 2, 22) (5, 2, 2, 22) (8, 4, 4, 21)
-- kept keys:
--   (20, 2, 0) (21, 4, 0) (22, 2, 0)
-- same, each input alone is reduced to what matters:
--   add what stands of the keys that were missed: without k IN (SELECT _cql_key2 FROM temp._cql_missed_cache)
--   add what stands of the keys that were missed: without b IN (SELECT _cql_key1 FROM temp._cql_missed_cache)
-- same, when they begin and end is not kept:
--   add what stands of the keys that were missed: GREATEST(…
--   add what stands of the keys that were missed: LEAST(…
--   add what stands of the keys that were missed: i0._cql_enter -> i0._cql_leave
--   add what stands of the keys that were missed: i1._cql_enter -> i1._cql_leave
--   add what stands of the keys that were missed: i0._cql_leave -> i0._cql_enter
--   add what stands of the keys that were missed: i1._cql_leave -> i1._cql_enter
--   add what stands of the keys that were missed: _weight -> …
-- same, what stands through the tick overlaps:
--   add what stands of the keys that were missed: without i0._cql_enter < i1._cql_leave
--   add what stands of the keys that were missed: without i1._cql_enter < i0._cql_leave
--   add what stands of the keys that were missed: i0._cql_enter < i1._cql_leave -> …
--   add what stands of the keys that were missed: i1._cql_enter < i0._cql_leave -> …
----
-- the keys that are asked for and not known
CREATE OR REPLACE TEMPORARY TABLE temp._cql_missed_cache AS
SELECT DISTINCT asked._cql_key1, asked._cql_key2,
  CAST(HASH(asked._cql_key1, asked._cql_key2) % 1 AS BIGINT) AS _cql_slot
FROM (
  SELECT y AS _cql_key1, x AS _cql_key2 FROM lives_q
  UNION ALL
  SELECT v AS _cql_key1, u AS _cql_key2 FROM lives_p
) AS asked WHERE NOT asked._cql_key1 IS NULL AND NOT asked._cql_key2 IS NULL AND NOT EXISTS(
    SELECT 1 FROM cql_state.cache_keys AS known
    WHERE known._cql_key1 = asked._cql_key1 AND known._cql_key2 = asked._cql_key2
  );
-- the keys that they drive out
CREATE OR REPLACE TEMPORARY TABLE temp._cql_evicted_cache AS
SELECT known.rowid AS _cql_row, known._cql_key1, known._cql_key2 FROM cql_state.cache_keys AS known
WHERE known._cql_slot IN (SELECT _cql_slot FROM temp._cql_missed_cache) AND NOT EXISTS(
    SELECT 1
    FROM (
      SELECT y AS _cql_key1, x AS _cql_key2 FROM lives_q
      UNION ALL
      SELECT v AS _cql_key1, u AS _cql_key2 FROM lives_p
    ) AS asked WHERE known._cql_key1 = asked._cql_key1 AND known._cql_key2 = asked._cql_key2
  );
-- delete from the cache what they have
DELETE FROM cql_state.cache_cache
WHERE EXISTS(SELECT 1 FROM temp._cql_evicted_cache WHERE b = _cql_key1 AND k = _cql_key2);
-- forget these keys
DELETE FROM cql_state.cache_keys WHERE rowid IN (SELECT _cql_row FROM temp._cql_evicted_cache);
-- add what stands of the keys that were missed
INSERT INTO cql_state.cache_cache (a, k, j, b)
SELECT a, k, j, b
FROM (
  SELECT a, k, j, b
  FROM (
    SELECT i0.a, i0.k, i1.j, i1.b, GREATEST(i0._cql_enter, i1._cql_enter) AS _cql_enter,
      LEAST(i0._cql_leave, i1._cql_leave) AS _cql_leave
    FROM (
      SELECT a, k, _cql_enter, _cql_leave, _weight
      FROM (SELECT a, k, _cql_enter, _cql_leave, _weight FROM l) AS input
      WHERE k IN (SELECT _cql_key2 FROM temp._cql_missed_cache)
    ) AS i0
    CROSS JOIN (
      SELECT j, b, _cql_enter, _cql_leave, _weight
      FROM (SELECT j, b, _cql_enter, _cql_leave, _weight FROM r) AS input
      WHERE b IN (SELECT _cql_key1 FROM temp._cql_missed_cache)
    ) AS i1 WHERE i0.k = i1.j AND i0._cql_enter < i1._cql_leave AND i1._cql_enter < i0._cql_leave
  ) AS found
) AS input WHERE EXISTS(SELECT 1 FROM temp._cql_missed_cache WHERE b = _cql_key1 AND k = _cql_key2);
-- know these keys
INSERT INTO cql_state.cache_keys
SELECT * FROM temp._cql_missed_cache;
-- standing
SELECT a, k, j, b, CAST($t0 AS BIGINT) AS _cql_enter, 9223372036854775807 AS _cql_leave,
  CAST(1 AS BIGINT) AS _weight FROM cql_state.cache_cache;
-- upkeep: append to the cache what begins in the segment
INSERT INTO cql_state.cache_cache (a, k, j, b)
SELECT a, k, j, b
FROM (SELECT a, k, j, b FROM temp._cql_delta_cache WHERE _cql_leave > $t1) AS input
WHERE EXISTS(SELECT 1 FROM cql_state.cache_keys WHERE b = _cql_key1 AND k = _cql_key2);
