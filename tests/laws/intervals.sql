-- law: intervals: the sums of bounds that stand run over those of intervals, others are of pairs
-- operator: Unsettled
-- form: staged, intervals
-- node: Aggregate(Join(l, r, "v > c"), "k", "m", n="count(*)")
-- means: SELECT k, m, count(*) AS n FROM {l} JOIN {r} ON v > c GROUP BY k, m
-- asks: elements
-- hides: what begins or ends, an empty table, combinations that begin or end, the groups and instants that changed, upkeep, elements
-- l(k INTEGER, v INTEGER):
--   1..4: (1, 5) (2, NULL); 2..6: 2(1, 7) (1, 8) (1, 1); 3..: (NULL, 3) (1, 1); 4..9: (2, 4) (2, 6)
--   3..5: -(1, 7); 6..8: (1, 6) (1, 3) (NULL, 9); 7: (1, 9)
-- r(m INTEGER, c INTEGER):
--   0..: (1, 2) (2, 5) (4, NULL); 0..5: (5, 4); 0..: (6, 0); 3..: (3, 5); 4..7: (1, 6)
-- ticks: 1, 3, 5, 10
-- gives:
--   1: (1, 1, 1) (1, 5, 1) (1, 6, 1)
--   2: -(1, 1, 1) (1, 1, 4) (1, 2, 3) -(1, 5, 1) (1, 5, 4) -(1, 6, 1) (1, 6, 5)
--   3: (1, 1, 3) -(1, 1, 4) (1, 2, 2) -(1, 2, 3) (1, 3, 2) (1, 5, 3) -(1, 5, 4) (NULL, 1, 1)
--   3: (NULL, 6, 1)
--   4: -(1, 1, 3) (1, 1, 4) (1, 5, 2) -(1, 5, 3) (1, 6, 4) -(1, 6, 5) (2, 1, 2) (2, 2, 1) (2, 3, 1)
--   4: (2, 5, 1) (2, 6, 2)
--   5: -(1, 1, 4) (1, 1, 6) -(1, 2, 2) (1, 2, 3) -(1, 3, 2) (1, 3, 3) -(1, 5, 2) -(1, 6, 4)
--   5: (1, 6, 5) -(2, 5, 1)
--   6: (1, 1, 2) -(1, 1, 6) (1, 2, 1) -(1, 2, 3) (1, 3, 1) -(1, 3, 3) (1, 6, 3) -(1, 6, 5)
--   6: -(NULL, 1, 1) (NULL, 1, 3) (NULL, 2, 1) (NULL, 3, 1) -(NULL, 6, 1) (NULL, 6, 2)
--   7: -(1, 1, 2) (1, 1, 3) -(1, 2, 1) (1, 2, 2) -(1, 3, 1) (1, 3, 2) -(1, 6, 3) (1, 6, 4)
--   7: (NULL, 1, 2) -(NULL, 1, 3)
--   8: (1, 1, 1) -(1, 1, 3) (1, 2, 1) -(1, 2, 2) (1, 3, 1) -(1, 3, 2) (1, 6, 2) -(1, 6, 4)
--   8: (NULL, 1, 1) -(NULL, 1, 2) -(NULL, 2, 1) -(NULL, 3, 1) (NULL, 6, 1) -(NULL, 6, 2)
--   9: -(2, 1, 2) -(2, 2, 1) -(2, 3, 1) -(2, 6, 2)
-- same, an element below all bounds is in no interval, and that is behind all of them:
--   the elements, summed up: INNER JOIN bounds AS b -> LEFT
-- same, each bound of a interval is one of those that are settled:
--   the elements, summed up: INNER JOIN temp._cql_bounds_join AS c -> LEFT
-- same, a bound that is NULL equals none:
--   the bounds that all that begins or ends meets alike: without NOT c IS NULL
-- same, where nothing begins or ends there is no interval:
--   the bounds that all that begins or ends meets alike: without EXISTS(SELECT 1 FROM temp._cql_lives_namedrelation)
----
-- the bounds that all that begins or ends meets alike
CREATE OR REPLACE TEMPORARY TABLE temp._cql_bounds_join AS
SELECT c, m FROM (SELECT m, c, _cql_enter, _cql_leave FROM alive_r) AS input
WHERE _cql_enter <= $t0 AND _cql_leave > $t1 AND NOT c IS NULL
  AND EXISTS(SELECT 1 FROM temp._cql_lives_namedrelation);
-- the elements, summed up
CREATE OR REPLACE TEMPORARY TABLE temp._cql_sums_aggregate AS
SELECT k, m, _ts, CAST(SUM(_cql_n) AS BIGINT) AS _cql_n
FROM (
  SELECT k, m, _ts, CAST(SUM(_weight) AS BIGINT) AS _cql_n
  FROM (
    WITH lives AS (SELECT k, v, m, c, _cql_enter, _cql_leave, _weight FROM temp._cql_delta_join)
    SELECT k, m, _cql_enter AS _ts, _weight FROM lives WHERE _cql_enter > $t0
    UNION ALL
    SELECT k, m, _cql_leave AS _ts, -_weight AS _weight FROM lives WHERE _cql_leave <= $t1
  ) AS elements GROUP BY k, m, _ts
  UNION ALL
  SELECT *
  FROM (
    WITH bounds AS (
      SELECT DISTINCT c AS _cql_bound FROM temp._cql_bounds_join
    ), intervals AS (
      SELECT k, _ts, _cql_bound, CAST(SUM(_weight) AS BIGINT) AS _cql_n
      FROM (
        SELECT e.k AS k, e.v AS v, e._ts AS _ts, e._weight AS _weight, b._cql_bound AS _cql_bound
        FROM (
          WITH lives AS (
            SELECT k, v, _cql_enter, _cql_leave, _weight FROM temp._cql_lives_namedrelation
          )
          SELECT k, v, _cql_enter AS _ts, _weight FROM lives WHERE _cql_enter > $t0
          UNION ALL
          SELECT k, v, _cql_leave AS _ts, -_weight AS _weight FROM lives WHERE _cql_leave <= $t1
        ) AS e
        ASOF JOIN bounds AS b ON e.v > b._cql_bound
      ) AS met GROUP BY k, _ts, _cql_bound
    )
    SELECT r.k AS k, c.m AS m, r._ts AS _ts, r._cql_n AS _cql_n
    FROM (
      SELECT *
      FROM (
        SELECT k, _ts, _cql_bound,
          SUM(_cql_n) OVER (PARTITION BY k, _ts ORDER BY _cql_bound DESC) AS _cql_n, _cql_asked
        FROM (
          SELECT k, _ts, _cql_bound, _cql_n, FALSE AS _cql_asked FROM intervals
          UNION ALL
          SELECT g.k AS k, g._ts AS _ts, b._cql_bound AS _cql_bound, CAST(NULL AS BIGINT) AS _cql_n,
            TRUE AS _cql_asked FROM (SELECT DISTINCT k, _ts FROM intervals) AS g
          CROSS JOIN bounds AS b
        ) AS "both"
      ) AS sums WHERE _cql_asked AND NOT _cql_n IS NULL
    ) AS r
    JOIN temp._cql_bounds_join AS c ON r._cql_bound = c.c
  ) AS arm
) AS "both" GROUP BY k, m, _ts;

-- law: between two bounds is what is beyond the lower one, less what is beyond the upper one
-- operator: Running
-- form: staged, intervals
-- node: Aggregate(Join(l, r, "j = i", "v BETWEEN c AND e"), "k", "m", n="count(*)")
-- means: SELECT k, m, count(*) AS n FROM {l} JOIN {r} ON j = i AND v BETWEEN c AND e GROUP BY k, m
-- asks: elements
-- hides: what begins or ends, an empty table, combinations that begin or end, the groups and instants that changed, upkeep, elements
-- l(k INTEGER, j INTEGER, v INTEGER):
--   1..: (1, 1, 5) (2, 1, NULL); 2..4: 2(1, 1, 7) (1, 1, 1) (1, 1, 3); 3..: (NULL, 2, 3) (1, NULL, 1)
--   3..: (1, 1, 5) (1, 2, 5) (1, 1, 9) (2, 2, 9) (1, 1, 6); 4..: (1, 1, 3) (1, 1, 4) (1, 2, 3)
--   4..: (2, 1, 6) (2, 1, 7) (1, 1, 8) (1, 1, 7) (2, 2, 4); 5..: (1, 1, 6) (1, 1, 9) (2, 1, 5)
--   2..5: (2, 1, 4) (2, 1, 9); 4..5: (1, 2, 9) (1, 2, 4); 3..5: (1, 1, 4) (1, 1, 9)
-- r(m INTEGER, i INTEGER, c INTEGER, e INTEGER):
--   0..: (1, 1, 2, 5) (2, 1, 5, 9) (4, NULL, 0, 9) (6, 2, 3, 3); 0..: (3, 1, 6, 4) (5, 1, 1, 5)
--   0..: (2, 2, 9, 9) (7, 1, 3, 3); 3..: (3, 2, 0, 9) (3, 1, 7, 8); 0..3: (1, 1, 5, 5)
--   0..: (8, 1, NULL, 9) (9, 1, 1, NULL)
-- ticks: 1, 3, 5
-- gives:
--   1: (1, 1, 2) (1, 2, 1) (1, 5, 1)
--   2: -(1, 1, 2) (1, 1, 3) -(1, 2, 1) (1, 2, 3) -(1, 5, 1) (1, 5, 3) (1, 7, 1) (2, 1, 1) (2, 2, 1)
--   2: (2, 5, 1)
--   3: -(1, 1, 3) (1, 1, 4) -(1, 2, 3) (1, 2, 7) (1, 3, 3) -(1, 5, 3) (1, 5, 5) -(2, 2, 1)
--   3: (2, 2, 2) (2, 3, 1) (NULL, 3, 1) (NULL, 6, 1)
--   4: -(1, 1, 4) (1, 1, 5) -(1, 2, 7) (1, 2, 8) -(1, 3, 3) (1, 3, 6) (1, 6, 1) -(2, 2, 2)
--   4: (2, 2, 4) -(2, 3, 1) (2, 3, 3)
--   5: (1, 1, 4) -(1, 1, 5) (1, 3, 4) -(1, 3, 6) (1, 5, 4) -(1, 5, 5)
-- same, an element below all bounds is in no interval, and that is behind all of them:
--   the elements, summed up: INNER JOIN bounds AS b -> LEFT
--   the elements, summed up: INNER JOIN bounds AS b -> LEFT 3
-- same, each bound of a interval is one of those that are settled:
--   the elements, summed up: INNER JOIN temp._cql_bounds_join AS c -> LEFT
--   the elements, summed up: INNER JOIN temp._cql_bounds_join AS c -> LEFT 2
-- same, a group that has no tuples, and had none, has no row:
--   the elements, summed up: without SUM(_cql_n) <> 0
-- same, the sum of no interval is NULL, and not other than 0:
--   the elements, summed up: without NOT _cql_n IS NULL
--   the elements, summed up: without NOT _cql_n IS NULL 2
-- same, nothing is before a bound or behind one that is NULL:
--   the bounds that all that begins or ends meets alike: without NOT c IS NULL
--   the bounds that all that begins or ends meets alike: without NOT e IS NULL
-- same, a interval has a bound:
--   the elements, summed up: INNER JOIN bounds AS b -> LEFT 2
--   the elements, summed up: INNER JOIN bounds AS b -> LEFT 4
-- same, where nothing begins or ends there is no interval:
--   the bounds that all that begins or ends meets alike: without EXISTS(SELECT 1 FROM temp._cql_lives_namedrelation)
----
-- the bounds that all that begins or ends meets alike
CREATE OR REPLACE TEMPORARY TABLE temp._cql_bounds_join AS
SELECT i, c, e, m FROM (SELECT m, i, c, e, _cql_enter, _cql_leave FROM alive_r) AS input
WHERE _cql_enter <= $t0 AND _cql_leave > $t1 AND NOT c IS NULL AND NOT e IS NULL
  AND EXISTS(SELECT 1 FROM temp._cql_lives_namedrelation) AND c <= e;
-- the elements, summed up
CREATE OR REPLACE TEMPORARY TABLE temp._cql_sums_aggregate AS
SELECT k, m, _ts, CAST(SUM(_cql_n) AS BIGINT) AS _cql_n
FROM (
  SELECT k, m, _ts, CAST(SUM(_weight) AS BIGINT) AS _cql_n
  FROM (
    WITH lives AS (
      SELECT k, j, v, m, i, c, e, _cql_enter, _cql_leave, _weight FROM temp._cql_delta_join
    )
    SELECT k, m, _cql_enter AS _ts, _weight FROM lives WHERE _cql_enter > $t0
    UNION ALL
    SELECT k, m, _cql_leave AS _ts, -_weight AS _weight FROM lives WHERE _cql_leave <= $t1
  ) AS elements GROUP BY k, m, _ts
  UNION ALL
  SELECT k, m, _ts, SUM(_cql_n) AS _cql_n
  FROM (
    WITH bounds AS (
      SELECT DISTINCT i AS _cql_equal0, c AS _cql_bound FROM temp._cql_bounds_join
    ), intervals AS (
      SELECT k, _ts, _cql_equal0, _cql_bound, CAST(SUM(_weight) AS BIGINT) AS _cql_n
      FROM (
        SELECT e.k AS k, e.j AS j, e.v AS v, e._ts AS _ts, e._weight AS _weight,
          b._cql_equal0 AS _cql_equal0, b._cql_bound AS _cql_bound
        FROM (
          WITH lives AS (
            SELECT k, j, v, _cql_enter, _cql_leave, _weight FROM temp._cql_lives_namedrelation
          )
          SELECT k, j, v, _cql_enter AS _ts, _weight FROM lives WHERE _cql_enter > $t0
          UNION ALL
          SELECT k, j, v, _cql_leave AS _ts, -_weight AS _weight FROM lives WHERE _cql_leave <= $t1
        ) AS e
        ASOF JOIN bounds AS b ON e.j = b._cql_equal0 AND e.v >= b._cql_bound
      ) AS met GROUP BY k, _ts, _cql_equal0, _cql_bound
    )
    SELECT r.k AS k, c.m AS m, r._ts AS _ts, r._cql_n AS _cql_n
    FROM (
      SELECT *
      FROM (
        SELECT k, _ts, _cql_equal0, _cql_bound,
          SUM(_cql_n) OVER (PARTITION BY k, _ts, _cql_equal0 ORDER BY _cql_bound DESC) AS _cql_n,
          _cql_asked
        FROM (
          SELECT k, _ts, _cql_equal0, _cql_bound, _cql_n, FALSE AS _cql_asked FROM intervals
          UNION ALL
          SELECT g.k AS k, g._ts AS _ts, g._cql_equal0 AS _cql_equal0, b._cql_bound AS _cql_bound,
            CAST(NULL AS BIGINT) AS _cql_n, TRUE AS _cql_asked
          FROM (SELECT DISTINCT k, _ts, _cql_equal0 FROM intervals) AS g
          JOIN bounds AS b ON g._cql_equal0 = b._cql_equal0
        ) AS "both"
      ) AS sums WHERE _cql_asked AND NOT _cql_n IS NULL
    ) AS r
    JOIN temp._cql_bounds_join AS c ON r._cql_bound = c.c AND r._cql_equal0 = c.i
    UNION ALL
    SELECT *
    FROM (
      WITH bounds AS (
        SELECT DISTINCT i AS _cql_equal0, e AS _cql_bound FROM temp._cql_bounds_join
      ), intervals AS (
        SELECT k, _ts, _cql_equal0, _cql_bound, CAST(SUM(_weight) AS BIGINT) AS _cql_n
        FROM (
          SELECT e.k AS k, e.j AS j, e.v AS v, e._ts AS _ts, e._weight AS _weight,
            b._cql_equal0 AS _cql_equal0, b._cql_bound AS _cql_bound
          FROM (
            WITH lives AS (
              SELECT k, j, v, _cql_enter, _cql_leave, _weight FROM temp._cql_lives_namedrelation
            )
            SELECT k, j, v, _cql_enter AS _ts, _weight FROM lives WHERE _cql_enter > $t0
            UNION ALL
            SELECT k, j, v, _cql_leave AS _ts, -_weight AS _weight FROM lives
            WHERE _cql_leave <= $t1
          ) AS e
          ASOF JOIN bounds AS b ON e.j = b._cql_equal0 AND e.v > b._cql_bound
        ) AS met GROUP BY k, _ts, _cql_equal0, _cql_bound
      )
      SELECT r.k AS k, c.m AS m, r._ts AS _ts, -r._cql_n AS _cql_n
      FROM (
        SELECT *
        FROM (
          SELECT k, _ts, _cql_equal0, _cql_bound,
            SUM(_cql_n) OVER (PARTITION BY k, _ts, _cql_equal0 ORDER BY _cql_bound DESC) AS _cql_n,
            _cql_asked
          FROM (
            SELECT k, _ts, _cql_equal0, _cql_bound, _cql_n, FALSE AS _cql_asked FROM intervals
            UNION ALL
            SELECT g.k AS k, g._ts AS _ts, g._cql_equal0 AS _cql_equal0, b._cql_bound AS _cql_bound,
              CAST(NULL AS BIGINT) AS _cql_n, TRUE AS _cql_asked
            FROM (SELECT DISTINCT k, _ts, _cql_equal0 FROM intervals) AS g
            JOIN bounds AS b ON g._cql_equal0 = b._cql_equal0
          ) AS "both"
        ) AS sums WHERE _cql_asked AND NOT _cql_n IS NULL
      ) AS r
      JOIN temp._cql_bounds_join AS c ON r._cql_bound = c.e AND r._cql_equal0 = c.i
    ) AS arm
  ) AS net GROUP BY k, m, _ts
  HAVING SUM(_cql_n) <> 0
) AS "both" GROUP BY k, m, _ts;
