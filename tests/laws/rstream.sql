-- law: Rstream(R) at τ = R(τ): each lifetime once at every instant that it covers
-- operator: Rstream
-- node: ToStream(l, "rstream")
-- means: rstream SELECT * FROM {l}
-- l(k INTEGER, v INTEGER):
--   0..3: 2(1, 1) (1, NULL) (NULL, 1)
--   1..2: (2, 2) 2(1, NULL)
--   3..4: 3(1, 1)
--   4: (NULL, 1) (3, 3) -(3, 3)
--   5..7: (3, 3) (1, 2)
--   6: (2, 2)
--   7: -(2, 2)
-- ticks: 1, 2, 5, 8
-- gives:
--   0: 2(1, 1) (1, NULL) (NULL, 1)
--   1: 2(1, 1) 3(1, NULL) (2, 2) (NULL, 1)
--   2: 2(1, 1) (1, NULL) (NULL, 1)
--   3: 3(1, 1)
--   4: (NULL, 1)
--   5: (1, 2) (3, 3) (NULL, 1)
--   6: (1, 2) (2, 2) (3, 3) (NULL, 1)
--   7: (NULL, 1)
--   8: (NULL, 1)
----
-- elements
SELECT k, v, _ts, CAST(SUM(_weight) AS BIGINT) AS _weight
FROM (
  SELECT
    k, v, UNNEST(RANGE(GREATEST(_cql_enter, $t0 + 1), LEAST(_cql_leave, $t1 + 1))) AS _ts, _weight
  FROM alive_l
) AS elements GROUP BY k, v, _ts
HAVING SUM(_weight) <> 0;

-- law: of what lives for an instant nothing stands, so only what begins or ends is read
-- operator: Rstream
-- node: ToStream(l, "rstream")
-- means: rstream SELECT * FROM {l}
-- l(k INTEGER, v INTEGER) is_instantaneous:
--   0..1: 2(1, 1) (1, NULL)
--   1..2: (1, 1)
--   2..3: (2, 2) 2(2, 2)
--   4..5: (1, 1) -(1, 1) (NULL, 1)
--   5..6: 2(1, 1)
--   8..9: (1, 1)
-- ticks: 1, 2, 5, 8
-- gives:
--   0: 2(1, 1) (1, NULL)
--   1: (1, 1)
--   2: 3(2, 2)
--   4: (NULL, 1)
--   5: 2(1, 1)
--   8: (1, 1)
-- same, what begins in the tick and lives for an instant has ended by then:
--   elements: $t1 + 1 with 2
----
-- elements
SELECT k, v, _ts, CAST(SUM(_weight) AS BIGINT) AS _weight
FROM (
  SELECT
    k, v, UNNEST(RANGE(GREATEST(_cql_enter, $t0 + 1), LEAST(_cql_leave, $t1 + 1))) AS _ts, _weight
  FROM lives_l
) AS elements GROUP BY k, v, _ts
HAVING SUM(_weight) <> 0;

-- law: where each tuple needs a [NOW], lifetimes end where others of negative weight begin
-- operator: Rstream
-- node: ToStream(l, "rstream")
-- means: rstream SELECT * FROM {l}
-- l(k INTEGER, v INTEGER) needs_now:
--   0..1: 2(1, 1) (1, NULL)
--   1..3: (1, 1)
--   2: (NULL, 1)
--   3: -(NULL, 1) 2(2, 2)
--   4: 2(1, 1) -(2, 2) (3, 3) -(3, 3)
--   5: -(1, 1) -(2, 2)
--   6: -(1, 1) (1, NULL)
--   7: -(1, NULL)
--   8: (2, 2)
-- ticks: 1, 2, 5, 8
-- gives:
--   0: 2(1, 1) (1, NULL)
--   1: (1, 1)
--   2: (1, 1) (NULL, 1)
--   3: 2(2, 2)
--   4: 2(1, 1) (2, 2)
--   5: (1, 1)
--   6: (1, NULL)
--   8: (2, 2)
----
-- elements
SELECT
  k, v, UNNEST(RANGE(GREATEST(_cql_enter, $t0 + 1), LEAST(_cql_leave, $t1 + 1))) AS _ts, _weight
FROM (
  SELECT k, v, _ts AS _cql_enter, LEAD(_ts) OVER (PARTITION BY k, v ORDER BY _ts) AS _cql_leave,
    CAST(SUM(_weight) OVER (PARTITION BY k, v ORDER BY _ts) AS BIGINT) AS _weight
  FROM (
    WITH alive AS (SELECT k, v, _cql_enter, _cql_leave, _weight FROM alive_l)
    SELECT k, v, _cql_enter AS _ts, _weight FROM alive
    UNION ALL
    SELECT k, v, _cql_leave AS _ts, -_weight AS _weight FROM alive
  ) AS changes
) AS cut WHERE _weight <> 0;
