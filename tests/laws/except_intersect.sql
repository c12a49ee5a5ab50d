-- law: EXCEPT ALL: a tuple is there max(l − r, 0) times
-- operator: Counts
-- node: SetOperation(l, r, "except", True)
-- means: SELECT * FROM {l} EXCEPT ALL SELECT * FROM {r}
-- l(k INTEGER, v INTEGER):
--   0..4: (1, 5) (NULL, 7); 0..5: (2, 5); 4: (3, 5); 0: (9, 5) (1, 8) (7, 7)
--   2..6: (5, 6) (5, 6) (NULL, 8) (8, NULL); 4: (2, 8); 5: (6, 5); 1..: 2(1, 5) 3(NULL, 7); 2..3: 2(1, 6) (2, NULL)
--   3: (1, 6); 5: -(1, 6); 6: (2, NULL); 8: -(NULL, 7)
-- r(k INTEGER, v INTEGER):
--   0: (7, 7); 2..6: (5, 6) (5, 6); 5: 5(6, 5)
--   0..2: (1, 5); 1..6: (NULL, 7); 3..7: (1, 6) (1, 5); 4..5: 2(NULL, 7) (9, 9)
--   6: (2, NULL) (4, 4); 9: -(2, NULL)
-- ticks: 1, 3, 7, 10
-- gives:
--   0: (1, 8) (2, 5) (9, 5) (NULL, 7)
--   1: 2(1, 5) 2(NULL, 7)
--   2: (1, 5) 2(1, 6) (2, NULL) (8, NULL) (NULL, 8)
--   3: -(1, 5) -2(1, 6) -(2, NULL)
--   4: -(1, 5) (2, 8) (3, 5) -3(NULL, 7)
--   5: -(2, 5) 2(NULL, 7)
--   6: -(8, NULL) (NULL, 7) -(NULL, 8)
--   7: (1, 5)
--   8: -(NULL, 7)
--   9: (2, NULL)
-- kept counts:
--   (1, 5, 2, 0) (NULL, 7, 2, 0) (3, 5, 1, 0) (9, 5, 1, 0) (1, 8, 1, 0) (2, NULL, 1, 0) (4, 4, 0, 1)
--   (7, 7, 1, 1) (2, 8, 1, 0) (6, 5, 1, 5)
-- same, each one that changed has a last instant:
--   upkeep: forget the old counts of the tuples that changed: without _cql_last
-- same, what is not touched has no instant in the tick:
--   the tuples and instants that changed: without EXISTS(SELECT 1 FROM changes W … v IS NOT DISTINCT FROM kept.v)
--   the tuples and instants that changed: without changes.k IS NOT DISTINCT FROM kept.k
--   the tuples and instants that changed: without changes.v IS NOT DISTINCT FROM kept.v
-- same, what cancels changes no count:
--   the tuples and instants that changed: without SUM(_cql_n0) <> 0 OR SUM(_cql_n1) <> 0
--   the tuples and instants that changed: SUM(_cql_n0) -> MAX(_cql_n0) 2
--   the tuples and instants that changed: SUM(_cql_n1) -> MAX(_cql_n1) 2
----
-- the tuples and instants that changed
CREATE OR REPLACE TEMPORARY TABLE temp._cql_delta_setoperation AS
WITH changes AS (
  SELECT k, v, _ts, CAST(SUM(_cql_n0) AS BIGINT) AS _cql_n0, CAST(SUM(_cql_n1) AS BIGINT) AS _cql_n1
  FROM (
    SELECT k, v, _ts, _weight AS _cql_n0, CAST(0 AS BIGINT) AS _cql_n1 FROM delta_l
    UNION ALL
    SELECT k, v, _ts, CAST(0 AS BIGINT) AS _cql_n0, _weight AS _cql_n1 FROM delta_r
  ) AS elements GROUP BY k, v, _ts
  HAVING SUM(_cql_n0) <> 0 OR SUM(_cql_n1) <> 0
), before AS (
  SELECT k, v, CAST($t0 AS BIGINT) AS _ts, _cql_n0, _cql_n1
  FROM cql_state.setoperation_counts AS kept WHERE EXISTS(
      SELECT 1 FROM changes
      WHERE changes.k IS NOT DISTINCT FROM kept.k AND changes.v IS NOT DISTINCT FROM kept.v
    )
), running AS (
  SELECT k, v, _ts,
    CAST(SUM(_cql_n0) OVER (PARTITION BY k, v ORDER BY _ts ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS BIGINT) AS _cql_n0,
    CAST(SUM(_cql_n1) OVER (PARTITION BY k, v ORDER BY _ts ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS BIGINT) AS _cql_n1,
    _cql_n0 AS _cql_n0_d, _cql_n1 AS _cql_n1_d,
    LEAD(_ts) OVER (PARTITION BY k, v ORDER BY _ts) IS NULL AS _cql_last
  FROM (
    SELECT k, v, _ts, _cql_n0, _cql_n1 FROM before
    UNION ALL
    SELECT k, v, _ts, _cql_n0, _cql_n1 FROM changes
  ) AS history
)
SELECT k, v, _ts, _cql_n0, _cql_n1, CAST(GREATEST(_cql_n0 - _cql_n1, 0) AS BIGINT) AS _weight,
  CAST(GREATEST((_cql_n0 - _cql_n0_d) - (_cql_n1 - _cql_n1_d), 0) AS BIGINT) AS _cql_was, _cql_last
FROM running WHERE _ts > $t0;
-- elements
SELECT k, v, _ts, _weight - _cql_was AS _weight FROM temp._cql_delta_setoperation
WHERE _weight <> _cql_was;
-- upkeep: forget the old counts of the tuples that changed
DELETE FROM cql_state.setoperation_counts AS kept WHERE EXISTS(
    SELECT 1 FROM temp._cql_delta_setoperation AS delta
    WHERE
      _cql_last AND (delta.k IS NOT DISTINCT FROM kept.k AND delta.v IS NOT DISTINCT FROM kept.v)
  );
-- upkeep: keep their new counts
INSERT INTO cql_state.setoperation_counts
SELECT k, v, _cql_n0, _cql_n1 FROM temp._cql_delta_setoperation
WHERE _cql_last AND (_cql_n0 <> 0 OR _cql_n1 <> 0);

-- law: EXCEPT: once if l > 0 and r = 0
-- operator: Counts
-- node: SetOperation(l, r, "except", False)
-- asks: lives, standing
-- hides: upkeep
-- means: SELECT * FROM {l} EXCEPT SELECT * FROM {r}
-- l(k INTEGER, v INTEGER): as above
-- r(k INTEGER, v INTEGER): as above
-- ticks: 1, 3, 7, 10
-- gives:
--   0: (1, 8) (2, 5) (9, 5) (NULL, 7)
--   1: -(NULL, 7)
--   2: (1, 5) (1, 6) (2, NULL) (8, NULL) (NULL, 8)
--   3: -(1, 5) -(1, 6) -(2, NULL)
--   4: (2, 8) (3, 5)
--   5: -(2, 5)
--   6: -(8, NULL) (NULL, 7) -(NULL, 8)
--   7: (1, 5)
--   9: (2, NULL)
-- kept counts: as above
-- same, what is on neither side is not kept:
--   standing: _cql_n0 > 0 -> _cql_n0 >= 0
--   standing: _cql_n0 > 0 -> _cql_n0 >= 0 2
-- same, what is not touched has no instant in the tick: as above
-- same, what cancels changes no count: as above
-- same, a weight of 0 is none:
--   lives: without _weight <> _cql_was
-- same, the condition leaves out who is not there:
--   standing: _cql_n1 <= 0 with 1
----
-- the tuples and instants that changed
CREATE OR REPLACE TEMPORARY TABLE temp._cql_delta_setoperation AS
WITH changes AS (
  SELECT k, v, _ts, CAST(SUM(_cql_n0) AS BIGINT) AS _cql_n0, CAST(SUM(_cql_n1) AS BIGINT) AS _cql_n1
  FROM (
    SELECT k, v, _ts, _weight AS _cql_n0, CAST(0 AS BIGINT) AS _cql_n1 FROM delta_l
    UNION ALL
    SELECT k, v, _ts, CAST(0 AS BIGINT) AS _cql_n0, _weight AS _cql_n1 FROM delta_r
  ) AS elements GROUP BY k, v, _ts
  HAVING SUM(_cql_n0) <> 0 OR SUM(_cql_n1) <> 0
), before AS (
  SELECT k, v, CAST($t0 AS BIGINT) AS _ts, _cql_n0, _cql_n1
  FROM cql_state.setoperation_counts AS kept WHERE EXISTS(
      SELECT 1 FROM changes
      WHERE changes.k IS NOT DISTINCT FROM kept.k AND changes.v IS NOT DISTINCT FROM kept.v
    )
), running AS (
  SELECT k, v, _ts,
    CAST(SUM(_cql_n0) OVER (PARTITION BY k, v ORDER BY _ts ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS BIGINT) AS _cql_n0,
    CAST(SUM(_cql_n1) OVER (PARTITION BY k, v ORDER BY _ts ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS BIGINT) AS _cql_n1,
    _cql_n0 AS _cql_n0_d, _cql_n1 AS _cql_n1_d,
    LEAD(_ts) OVER (PARTITION BY k, v ORDER BY _ts) IS NULL AS _cql_last
  FROM (
    SELECT k, v, _ts, _cql_n0, _cql_n1 FROM before
    UNION ALL
    SELECT k, v, _ts, _cql_n0, _cql_n1 FROM changes
  ) AS history
)
SELECT k, v, _ts, _cql_n0, _cql_n1, CAST(_cql_n0 > 0 AND _cql_n1 <= 0 AS BIGINT) AS _weight,
  CAST((_cql_n0 - _cql_n0_d) > 0 AND (_cql_n1 - _cql_n1_d) <= 0 AS BIGINT) AS _cql_was, _cql_last
FROM running WHERE _ts > $t0;
-- lives
WITH steps AS (
  SELECT k, v, _ts,
    COALESCE(LEAD(_ts) OVER (PARTITION BY k, v ORDER BY _ts), 9223372036854775807) AS _cql_leave,
    _weight, CASE WHEN LAG(_ts) OVER (PARTITION BY k, v ORDER BY _ts) IS NULL THEN _cql_was ELSE 0
    END AS _cql_was FROM temp._cql_delta_setoperation WHERE _weight <> _cql_was
)
SELECT k, v, _ts AS _cql_enter, _cql_leave, _weight FROM steps WHERE _weight <> 0
UNION ALL
SELECT k, v, CAST($t0 AS BIGINT) AS _cql_enter, _ts AS _cql_leave, _cql_was AS _weight FROM steps
WHERE _cql_was <> 0;
-- standing
SELECT k, v, CAST($t0 AS BIGINT) AS _cql_enter, 9223372036854775807 AS _cql_leave,
  CAST(_cql_n0 > 0 AND _cql_n1 <= 0 AS BIGINT) AS _weight FROM cql_state.setoperation_counts AS kept
WHERE CAST(_cql_n0 > 0 AND _cql_n1 <= 0 AS BIGINT) <> 0 AND NOT EXISTS(
    SELECT 1 FROM temp._cql_delta_setoperation AS delta WHERE _weight <> _cql_was
      AND (delta.k IS NOT DISTINCT FROM kept.k AND delta.v IS NOT DISTINCT FROM kept.v)
  );

-- law: INTERSECT ALL: min(l, r) times
-- operator: Counts
-- node: SetOperation(l, r, "intersect", True)
-- hides: upkeep
-- means: SELECT * FROM {l} INTERSECT ALL SELECT * FROM {r}
-- l(k INTEGER, v INTEGER): as above
-- r(k INTEGER, v INTEGER): as above
-- ticks: 1, 3, 7, 10
-- gives:
--   0: (1, 5) (7, 7)
--   1: (NULL, 7)
--   2: -(1, 5) 2(5, 6)
--   3: (1, 5) (1, 6)
--   4: 2(NULL, 7)
--   5: -(1, 6) (6, 5) -2(NULL, 7)
--   6: (2, NULL) -2(5, 6) -(NULL, 7)
--   7: -(1, 5)
--   9: -(2, NULL)
-- kept counts: as above
-- same, what cancels changes no count: as above
-- same, what is not touched has no instant in the tick: as above
----
-- the tuples and instants that changed
CREATE OR REPLACE TEMPORARY TABLE temp._cql_delta_setoperation AS
WITH changes AS (
  SELECT k, v, _ts, CAST(SUM(_cql_n0) AS BIGINT) AS _cql_n0, CAST(SUM(_cql_n1) AS BIGINT) AS _cql_n1
  FROM (
    SELECT k, v, _ts, _weight AS _cql_n0, CAST(0 AS BIGINT) AS _cql_n1 FROM delta_l
    UNION ALL
    SELECT k, v, _ts, CAST(0 AS BIGINT) AS _cql_n0, _weight AS _cql_n1 FROM delta_r
  ) AS elements GROUP BY k, v, _ts
  HAVING SUM(_cql_n0) <> 0 OR SUM(_cql_n1) <> 0
), before AS (
  SELECT k, v, CAST($t0 AS BIGINT) AS _ts, _cql_n0, _cql_n1
  FROM cql_state.setoperation_counts AS kept WHERE EXISTS(
      SELECT 1 FROM changes
      WHERE changes.k IS NOT DISTINCT FROM kept.k AND changes.v IS NOT DISTINCT FROM kept.v
    )
), running AS (
  SELECT k, v, _ts,
    CAST(SUM(_cql_n0) OVER (PARTITION BY k, v ORDER BY _ts ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS BIGINT) AS _cql_n0,
    CAST(SUM(_cql_n1) OVER (PARTITION BY k, v ORDER BY _ts ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS BIGINT) AS _cql_n1,
    _cql_n0 AS _cql_n0_d, _cql_n1 AS _cql_n1_d,
    LEAD(_ts) OVER (PARTITION BY k, v ORDER BY _ts) IS NULL AS _cql_last
  FROM (
    SELECT k, v, _ts, _cql_n0, _cql_n1 FROM before
    UNION ALL
    SELECT k, v, _ts, _cql_n0, _cql_n1 FROM changes
  ) AS history
)
SELECT k, v, _ts, _cql_n0, _cql_n1, CAST(LEAST(_cql_n0, _cql_n1) AS BIGINT) AS _weight,
  CAST(LEAST((_cql_n0 - _cql_n0_d), (_cql_n1 - _cql_n1_d)) AS BIGINT) AS _cql_was, _cql_last
FROM running WHERE _ts > $t0;
-- elements
SELECT k, v, _ts, _weight - _cql_was AS _weight FROM temp._cql_delta_setoperation
WHERE _weight <> _cql_was;

-- law: INTERSECT: once if l > 0 and r > 0
-- operator: Counts
-- node: SetOperation(l, r, "intersect", False)
-- hides: upkeep
-- means: SELECT * FROM {l} INTERSECT SELECT * FROM {r}
-- l(k INTEGER, v INTEGER): as above
-- r(k INTEGER, v INTEGER): as above
-- ticks: 1, 3, 7, 10
-- gives:
--   0: (1, 5) (7, 7)
--   1: (NULL, 7)
--   2: -(1, 5) (5, 6)
--   3: (1, 5) (1, 6)
--   5: -(1, 6) (6, 5)
--   6: (2, NULL) -(5, 6) -(NULL, 7)
--   7: -(1, 5)
--   9: -(2, NULL)
-- kept counts: as above
-- same, what cancels changes no count: as above
-- same, what is not touched has no instant in the tick: as above
----
-- the tuples and instants that changed
CREATE OR REPLACE TEMPORARY TABLE temp._cql_delta_setoperation AS
WITH changes AS (
  SELECT k, v, _ts, CAST(SUM(_cql_n0) AS BIGINT) AS _cql_n0, CAST(SUM(_cql_n1) AS BIGINT) AS _cql_n1
  FROM (
    SELECT k, v, _ts, _weight AS _cql_n0, CAST(0 AS BIGINT) AS _cql_n1 FROM delta_l
    UNION ALL
    SELECT k, v, _ts, CAST(0 AS BIGINT) AS _cql_n0, _weight AS _cql_n1 FROM delta_r
  ) AS elements GROUP BY k, v, _ts
  HAVING SUM(_cql_n0) <> 0 OR SUM(_cql_n1) <> 0
), before AS (
  SELECT k, v, CAST($t0 AS BIGINT) AS _ts, _cql_n0, _cql_n1
  FROM cql_state.setoperation_counts AS kept WHERE EXISTS(
      SELECT 1 FROM changes
      WHERE changes.k IS NOT DISTINCT FROM kept.k AND changes.v IS NOT DISTINCT FROM kept.v
    )
), running AS (
  SELECT k, v, _ts,
    CAST(SUM(_cql_n0) OVER (PARTITION BY k, v ORDER BY _ts ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS BIGINT) AS _cql_n0,
    CAST(SUM(_cql_n1) OVER (PARTITION BY k, v ORDER BY _ts ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS BIGINT) AS _cql_n1,
    _cql_n0 AS _cql_n0_d, _cql_n1 AS _cql_n1_d,
    LEAD(_ts) OVER (PARTITION BY k, v ORDER BY _ts) IS NULL AS _cql_last
  FROM (
    SELECT k, v, _ts, _cql_n0, _cql_n1 FROM before
    UNION ALL
    SELECT k, v, _ts, _cql_n0, _cql_n1 FROM changes
  ) AS history
)
SELECT k, v, _ts, _cql_n0, _cql_n1, CAST(_cql_n0 > 0 AND _cql_n1 > 0 AS BIGINT) AS _weight,
  CAST((_cql_n0 - _cql_n0_d) > 0 AND (_cql_n1 - _cql_n1_d) > 0 AS BIGINT) AS _cql_was, _cql_last
FROM running WHERE _ts > $t0;
-- elements
SELECT k, v, _ts, _weight - _cql_was AS _weight FROM temp._cql_delta_setoperation
WHERE _weight <> _cql_was;
