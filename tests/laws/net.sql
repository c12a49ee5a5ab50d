-- law: elements that cancel at their instant are left out; nothing is kept
-- operator: Consolidation
-- node: Net(l, False)
-- means: SELECT * FROM {l}
-- l(k INTEGER, v INTEGER):
--   0..4: (1, 5) (NULL, 7); 0..5: (2, 5); 4: (3, 5); 0: (9, 5) (1, 8); 1..: 2(1, 5) 3(NULL, 7)
--   2..6: (8, NULL); 2..3: 2(1, 6) (2, NULL); 3: (1, 6) 2(4, 4) -2(4, 4); 5: -(1, 6); 6: (2, NULL); 8: -(NULL, 7)
-- ticks: 1, 3, 7, 10
-- gives:
--   0: (1, 5) (1, 8) (2, 5) (9, 5) (NULL, 7)
--   1: 2(1, 5) 3(NULL, 7)
--   2: 2(1, 6) (2, NULL) (8, NULL)
--   3: -(1, 6) -(2, NULL)
--   4: -(1, 5) (3, 5) -(NULL, 7)
--   5: -(1, 6) -(2, 5)
--   6: (2, NULL) -(8, NULL)
--   8: -(NULL, 7)
----
-- the elements that do not cancel
CREATE OR REPLACE TEMPORARY TABLE temp._cql_delta_net AS
SELECT k, v, _ts, CAST(SUM(_weight) AS BIGINT) AS _weight FROM delta_l GROUP BY k, v, _ts
HAVING SUM(_weight) <> 0;
-- elements
SELECT k, v, _ts, _weight FROM temp._cql_delta_net;

-- law: kept, a tuple lives until its count changes
-- operator: Counts
-- node: Net(l, True)
-- means: SELECT * FROM {l}
-- asks: elements, lives, standing
-- l(k INTEGER, v INTEGER): as above
-- ticks: 1, 3, 7, 10
-- gives: as above
-- kept counts:
--   (1, 5, 2) (NULL, 7, 2) (2, NULL, 1) (3, 5, 1) (9, 5, 1) (1, 8, 1)
-- same, what is not touched has no instant in the tick:
--   the tuples and instants that changed: without EXISTS(SELECT 1 FROM changes W … v IS NOT DISTINCT FROM kept.v)
--   the tuples and instants that changed: without changes.k IS NOT DISTINCT FROM kept.k
--   the tuples and instants that changed: without changes.v IS NOT DISTINCT FROM kept.v
-- same, each one that changed has a last instant:
--   upkeep: forget the old counts of the tuples that changed: without _cql_last
-- same, what cancels changes no count:
--   the tuples and instants that changed: without SUM(_weight) <> 0
--   the tuples and instants that changed: SUM(_weight) -> MAX(_weight) 2
-- same, a weight of 0 is none:
--   elements: without _weight <> _cql_was
--   lives: without _weight <> _cql_was
--   standing: without _cql_n0 <> 0
--   standing: without _weight <> _cql_was
----
-- the tuples and instants that changed
CREATE OR REPLACE TEMPORARY TABLE temp._cql_delta_net AS
WITH changes AS (
  SELECT k, v, _ts, CAST(SUM(_weight) AS BIGINT) AS _cql_n0 FROM delta_l GROUP BY k, v, _ts
  HAVING SUM(_weight) <> 0
), before AS (
  SELECT k, v, CAST($t0 AS BIGINT) AS _ts, _cql_n0 FROM cql_state.net_counts AS kept WHERE EXISTS(
      SELECT 1 FROM changes
      WHERE changes.k IS NOT DISTINCT FROM kept.k AND changes.v IS NOT DISTINCT FROM kept.v
    )
), running AS (
  SELECT k, v, _ts,
    CAST(SUM(_cql_n0) OVER (PARTITION BY k, v ORDER BY _ts ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS BIGINT) AS _cql_n0,
    _cql_n0 AS _cql_n0_d, LEAD(_ts) OVER (PARTITION BY k, v ORDER BY _ts) IS NULL AS _cql_last
  FROM (
    SELECT k, v, _ts, _cql_n0 FROM before
    UNION ALL
    SELECT k, v, _ts, _cql_n0 FROM changes
  ) AS history
)
SELECT k, v, _ts, _cql_n0, _cql_n0 AS _weight, (_cql_n0 - _cql_n0_d) AS _cql_was, _cql_last
FROM running WHERE _ts > $t0;
-- elements
SELECT k, v, _ts, _weight - _cql_was AS _weight FROM temp._cql_delta_net WHERE _weight <> _cql_was;
-- lives
WITH steps AS (
  SELECT k, v, _ts,
    COALESCE(LEAD(_ts) OVER (PARTITION BY k, v ORDER BY _ts), 9223372036854775807) AS _cql_leave,
    _weight, CASE WHEN LAG(_ts) OVER (PARTITION BY k, v ORDER BY _ts) IS NULL THEN _cql_was ELSE 0
    END AS _cql_was FROM temp._cql_delta_net WHERE _weight <> _cql_was
)
SELECT k, v, _ts AS _cql_enter, _cql_leave, _weight FROM steps WHERE _weight <> 0
UNION ALL
SELECT k, v, CAST($t0 AS BIGINT) AS _cql_enter, _ts AS _cql_leave, _cql_was AS _weight FROM steps
WHERE _cql_was <> 0;
-- standing
SELECT
  k, v, CAST($t0 AS BIGINT) AS _cql_enter, 9223372036854775807 AS _cql_leave, _cql_n0 AS _weight
FROM cql_state.net_counts AS kept WHERE _cql_n0 <> 0 AND NOT EXISTS(
    SELECT 1 FROM temp._cql_delta_net AS delta WHERE _weight <> _cql_was
      AND (delta.k IS NOT DISTINCT FROM kept.k AND delta.v IS NOT DISTINCT FROM kept.v)
  );
-- upkeep: forget the old counts of the tuples that changed
DELETE FROM cql_state.net_counts AS kept WHERE EXISTS(
    SELECT 1 FROM temp._cql_delta_net AS delta
    WHERE
      _cql_last AND (delta.k IS NOT DISTINCT FROM kept.k AND delta.v IS NOT DISTINCT FROM kept.v)
  );
-- upkeep: keep their new counts
INSERT INTO cql_state.net_counts
SELECT k, v, _cql_n0 FROM temp._cql_delta_net WHERE _cql_last AND _cql_n0 <> 0;
