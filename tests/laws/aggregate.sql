-- law: sums run: of each group and instant that changed −(g, f(before)) and +(g, f(after))
-- operator: Running
-- node: Aggregate(l, "k", total="sum(v)")
-- asks: elements, answer
-- means: SELECT k, sum(v) AS total FROM {l} GROUP BY k
-- l(k INTEGER, v INTEGER):
--   0..4: (1, 5) (NULL, 7); 1..: 2(1, NULL); 2..3: 2(1, 6) (2, 1); 3: (1, 6) (3, NULL)
--   5: -(1, 6) (2, 2); 6..9: (NULL, 1); 6: (1, 6); 8: -(1, 6) -(3, NULL) (4, -3)
--   9: -(4, -3) (3, 1) -(3, 1)
-- ticks: 2, 3, 7, 10
-- gives:
--   0: (1, 5) (NULL, 7)
--   2: (1, 17) -(1, 5) (2, 1)
--   3: (1, 11) -(1, 17) -(2, 1) (3, NULL)
--   4: -(1, 11) (1, 6) -(NULL, 7)
--   5: -(1, 6) (1, NULL) (2, 2)
--   6: (1, 6) -(1, NULL) (NULL, 1)
--   8: -(1, 6) (1, NULL) -(3, NULL) (4, -3)
--   9: -(4, -3) -(NULL, 1)
-- kept groups:
--   (1, 2, 0, 0) (2, 1, 1, 2)
-- same, what is not touched has no instant in the tick:
--   the groups and instants that changed: without EXISTS(SELECT 1 FROM temp._cql … k IS NOT DISTINCT FROM kept.k)
--   the groups and instants that changed: without changes.k IS NOT DISTINCT FROM kept.k
-- same, each one that changed has a last instant:
--   upkeep: forget the old state of the groups that changed: without _cql_last
-- same, it is never NULL:
--   the groups and instants that changed: _cql_is IS DISTINCT FROM _cql_was -> _cql_is <> _cql_was
-- same, a result that is not carried along does not ask what is old:
--   the groups and instants that changed: TRUE -> FALSE
--   the groups and instants that changed: FALSE -> TRUE
----
-- the elements, summed up
CREATE OR REPLACE TEMPORARY TABLE temp._cql_sums_aggregate AS
SELECT k, _ts, CAST(SUM(_weight) AS BIGINT) AS _cql_n,
  CAST(SUM(CASE WHEN v IS NULL THEN 0 ELSE _weight END) AS BIGINT) AS _cql_count0,
  CAST(COALESCE(SUM(CAST(v AS BIGINT) * _weight), 0) AS BIGINT) AS _cql_sum0 FROM delta_l
GROUP BY k, _ts;
-- the groups and instants that changed
CREATE OR REPLACE TEMPORARY TABLE temp._cql_delta_aggregate AS
SELECT
  *, (_cql_is IS DISTINCT FROM _cql_was OR total IS DISTINCT FROM _cql_old_total) AS _cql_changed
FROM (
  WITH before AS (
    SELECT k, CAST($t0 AS BIGINT) AS _ts, _cql_n, _cql_count0, _cql_sum0
    FROM cql_state.aggregate_groups AS kept WHERE EXISTS(
        SELECT 1 FROM temp._cql_sums_aggregate AS changes
        WHERE changes.k IS NOT DISTINCT FROM kept.k
      )
  ), running AS (
    SELECT k, _ts, CAST(SUM(_cql_n) OVER (PARTITION BY k ORDER BY _ts) AS BIGINT) AS _cql_n,
      _cql_n AS _cql_d_n,
      CAST(SUM(_cql_count0) OVER (PARTITION BY k ORDER BY _ts) AS BIGINT) AS _cql_count0,
      _cql_count0 AS _cql_count0_d,
      CAST(SUM(_cql_sum0) OVER (PARTITION BY k ORDER BY _ts) AS BIGINT) AS _cql_sum0,
      _cql_sum0 AS _cql_sum0_d, _cql_old,
      LEAD(_ts) OVER (PARTITION BY k ORDER BY _ts) IS NULL AS _cql_last
    FROM (
      SELECT k, _ts, _cql_n, _cql_count0, _cql_sum0, TRUE AS _cql_old FROM before
      UNION ALL
      SELECT k, _ts, _cql_n, _cql_count0, _cql_sum0, FALSE AS _cql_old
      FROM temp._cql_sums_aggregate AS changes
    ) AS history
  )
  SELECT r.k AS k, r._ts AS _ts, r._cql_n AS _cql_n, r._cql_count0 AS _cql_count0,
    r._cql_sum0 AS _cql_sum0, r._cql_last AS _cql_last, r._cql_n > 0 AS _cql_is,
    r._cql_n - r._cql_d_n > 0 AS _cql_was,
    CASE WHEN r._cql_count0 > 0 THEN CAST(r._cql_sum0 AS INT128) END AS total,
    CASE WHEN (r._cql_count0 - r._cql_count0_d) > 0
      THEN CAST((r._cql_sum0 - r._cql_sum0_d) AS INT128)
    END AS _cql_old_total FROM running AS r WHERE r._ts > $t0
) AS results;
-- elements
SELECT k, _cql_old_total AS total, _ts, CAST(-1 AS BIGINT) AS _weight FROM temp._cql_delta_aggregate
WHERE _cql_was AND _cql_changed
UNION ALL
SELECT k, total, _ts, CAST(1 AS BIGINT) AS _weight FROM temp._cql_delta_aggregate
WHERE _cql_is AND _cql_changed;
-- upkeep: forget the old state of the groups that changed
DELETE FROM cql_state.aggregate_groups AS kept WHERE EXISTS(
    SELECT 1 FROM temp._cql_delta_aggregate AS delta
    WHERE _cql_last AND delta.k IS NOT DISTINCT FROM kept.k
  );
-- upkeep: keep their new state
INSERT INTO cql_state.aggregate_groups
SELECT k, _cql_n, _cql_count0, _cql_sum0 FROM temp._cql_delta_aggregate
WHERE _cql_last AND _cql_n > 0;
-- answer
SELECT k, CASE WHEN _cql_count0 > 0 THEN CAST(_cql_sum0 AS INT128) END AS total,
  CAST(1 AS BIGINT) AS _weight FROM cql_state.aggregate_groups;

-- law: DISTINCT of what may leave is a group without aggregates; a group lives until its next tuple
-- operator: Running
-- node: Aggregate(l, "k")
-- means: SELECT DISTINCT k FROM {l}
-- asks: elements, lives, standing
-- l(k INTEGER, v INTEGER): as above
-- ticks: 2, 3, 7, 10
-- gives:
--   0: (1) (NULL)
--   2: (2)
--   3: -(2) (3)
--   4: -(NULL)
--   5: (2)
--   6: (NULL)
--   8: -(3) (4)
--   9: -(4) -(NULL)
-- kept groups:
--   (1, 2) (2, 1)
-- same, it is never NULL: as above
-- same, a result that is not carried along does not ask what is old: as above
-- same, what does not change goes and comes again:
--   the groups and instants that changed: (_cql_is IS DISTINCT FROM _cql_was) AS _cql_changed -> TRUE
--   lives: without _cql_changed
-- same, what is not touched has no instant in the tick: as above
-- same, each one that changed has a last instant: as above
----
-- the elements, summed up
CREATE OR REPLACE TEMPORARY TABLE temp._cql_sums_aggregate AS
SELECT k, _ts, CAST(SUM(_weight) AS BIGINT) AS _cql_n FROM delta_l GROUP BY k, _ts;
-- the groups and instants that changed
CREATE OR REPLACE TEMPORARY TABLE temp._cql_delta_aggregate AS
SELECT *, (_cql_is IS DISTINCT FROM _cql_was) AS _cql_changed
FROM (
  WITH before AS (
    SELECT k, CAST($t0 AS BIGINT) AS _ts, _cql_n FROM cql_state.aggregate_groups AS kept
    WHERE EXISTS(
        SELECT 1 FROM temp._cql_sums_aggregate AS changes
        WHERE changes.k IS NOT DISTINCT FROM kept.k
      )
  ), running AS (
    SELECT k, _ts, CAST(SUM(_cql_n) OVER (PARTITION BY k ORDER BY _ts) AS BIGINT) AS _cql_n,
      _cql_n AS _cql_d_n, _cql_old,
      LEAD(_ts) OVER (PARTITION BY k ORDER BY _ts) IS NULL AS _cql_last
    FROM (
      SELECT k, _ts, _cql_n, TRUE AS _cql_old FROM before
      UNION ALL
      SELECT k, _ts, _cql_n, FALSE AS _cql_old FROM temp._cql_sums_aggregate AS changes
    ) AS history
  )
  SELECT
    r.k AS k, r._ts AS _ts, r._cql_n AS _cql_n, r._cql_last AS _cql_last, r._cql_n > 0 AS _cql_is,
    r._cql_n - r._cql_d_n > 0 AS _cql_was FROM running AS r WHERE r._ts > $t0
) AS results;
-- elements
SELECT k, _ts, CAST(-1 AS BIGINT) AS _weight FROM temp._cql_delta_aggregate
WHERE _cql_was AND _cql_changed
UNION ALL
SELECT k, _ts, CAST(1 AS BIGINT) AS _weight FROM temp._cql_delta_aggregate
WHERE _cql_is AND _cql_changed;
-- lives
WITH changed AS (
  SELECT *, LEAD(_ts) OVER (PARTITION BY k ORDER BY _ts) AS _cql_end,
    LAG(_ts) OVER (PARTITION BY k ORDER BY _ts) AS _cql_begin FROM temp._cql_delta_aggregate
  WHERE _cql_changed
)
SELECT k, _ts AS _cql_enter, COALESCE(_cql_end, 9223372036854775807) AS _cql_leave,
  CAST(1 AS BIGINT) AS _weight FROM changed WHERE _cql_is
UNION ALL
SELECT k, CAST($t0 AS BIGINT) AS _cql_enter, _ts AS _cql_leave, CAST(1 AS BIGINT) AS _weight
FROM changed WHERE _cql_was AND _cql_begin IS NULL;
-- standing
SELECT k, CAST($t0 AS BIGINT) AS _cql_enter, 9223372036854775807 AS _cql_leave, _weight
FROM (SELECT k, CAST(1 AS BIGINT) AS _weight FROM cql_state.aggregate_groups) AS groups
WHERE NOT EXISTS(
    SELECT 1 FROM temp._cql_delta_aggregate AS delta
    WHERE _cql_changed AND delta.k IS NOT DISTINCT FROM groups.k
  );
-- upkeep: forget the old state of the groups that changed
DELETE FROM cql_state.aggregate_groups AS kept WHERE EXISTS(
    SELECT 1 FROM temp._cql_delta_aggregate AS delta
    WHERE _cql_last AND delta.k IS NOT DISTINCT FROM kept.k
  );
-- upkeep: keep their new state
INSERT INTO cql_state.aggregate_groups
SELECT k, _cql_n FROM temp._cql_delta_aggregate WHERE _cql_last AND _cql_n > 0;

-- law: a count and an average of what is not NULL
-- operator: Running
-- node: Aggregate(l, "k", n="count(v)", mean="avg(v)")
-- hides: upkeep
-- means: SELECT k, count(v) AS n, avg(v) AS mean FROM {l} GROUP BY k
-- l(k INTEGER, v INTEGER):
--   0..4: (1, 5) (NULL, 7); 1..: 2(1, NULL); 2..3: 2(1, 6) (2, 1); 3: (1, 6) (3, NULL)
--   5: -(1, 6) (2, 2); 6..9: (NULL, 1); 6: (1, 6); 8: -(1, 6) -(3, NULL) (4, -3)
--   9: -(4, -3) (3, 1) -(3, 1) (2, 2); 10: -(2, 2) (2, 3)
-- ticks: 2, 3, 7, 10
-- gives:
--   0: (1, 1, 5.0) (NULL, 1, 7.0)
--   2: -(1, 1, 5.0) (1, 3, 5.666666666666667) (2, 1, 1.0)
--   3: (1, 2, 5.5) -(1, 3, 5.666666666666667) -(2, 1, 1.0) (3, 0, NULL)
--   4: (1, 1, 6.0) -(1, 2, 5.5) -(NULL, 1, 7.0)
--   5: (1, 0, NULL) -(1, 1, 6.0) (2, 1, 2.0)
--   6: -(1, 0, NULL) (1, 1, 6.0) (NULL, 1, 1.0)
--   8: (1, 0, NULL) -(1, 1, 6.0) -(3, 0, NULL) (4, 1, -3.0)
--   9: -(2, 1, 2.0) (2, 2, 2.0) -(4, 1, -3.0) -(NULL, 1, 1.0)
--   10: -(2, 2, 2.0) (2, 2, 2.5)
-- same, an average is NULL where the count is 0, which is another one then:
--   the groups and instants that changed: mean IS DISTINCT FROM _cql_old_mean -> mean <> _cql_old_mean
-- same, a result that is not carried along does not ask what is old: as above
-- same, it is never NULL:
--   the groups and instants that changed: _cql_is IS DISTINCT FROM _cql_was -> _cql_is <> _cql_was
--   the groups and instants that changed: n IS DISTINCT FROM _cql_old_n -> n <> _cql_old_n
-- same, what is not touched has no instant in the tick: as above
----
-- the elements, summed up
CREATE OR REPLACE TEMPORARY TABLE temp._cql_sums_aggregate AS
SELECT k, _ts, CAST(SUM(_weight) AS BIGINT) AS _cql_n,
  CAST(SUM(CASE WHEN v IS NULL THEN 0 ELSE _weight END) AS BIGINT) AS _cql_count0,
  CAST(SUM(CASE WHEN v IS NULL THEN 0 ELSE _weight END) AS BIGINT) AS _cql_count1,
  CAST(COALESCE(SUM(CAST(v AS BIGINT) * _weight), 0) AS BIGINT) AS _cql_sum1 FROM delta_l
GROUP BY k, _ts;
-- the groups and instants that changed
CREATE OR REPLACE TEMPORARY TABLE temp._cql_delta_aggregate AS
SELECT *, (
    _cql_is IS DISTINCT FROM _cql_was
    OR n IS DISTINCT FROM _cql_old_n
    OR mean IS DISTINCT FROM _cql_old_mean
  ) AS _cql_changed
FROM (
  WITH before AS (
    SELECT k, CAST($t0 AS BIGINT) AS _ts, _cql_n, _cql_count0, _cql_count1, _cql_sum1
    FROM cql_state.aggregate_groups AS kept WHERE EXISTS(
        SELECT 1 FROM temp._cql_sums_aggregate AS changes
        WHERE changes.k IS NOT DISTINCT FROM kept.k
      )
  ), running AS (
    SELECT k, _ts, CAST(SUM(_cql_n) OVER (PARTITION BY k ORDER BY _ts) AS BIGINT) AS _cql_n,
      _cql_n AS _cql_d_n,
      CAST(SUM(_cql_count0) OVER (PARTITION BY k ORDER BY _ts) AS BIGINT) AS _cql_count0,
      _cql_count0 AS _cql_count0_d,
      CAST(SUM(_cql_count1) OVER (PARTITION BY k ORDER BY _ts) AS BIGINT) AS _cql_count1,
      _cql_count1 AS _cql_count1_d,
      CAST(SUM(_cql_sum1) OVER (PARTITION BY k ORDER BY _ts) AS BIGINT) AS _cql_sum1,
      _cql_sum1 AS _cql_sum1_d, _cql_old,
      LEAD(_ts) OVER (PARTITION BY k ORDER BY _ts) IS NULL AS _cql_last
    FROM (
      SELECT k, _ts, _cql_n, _cql_count0, _cql_count1, _cql_sum1, TRUE AS _cql_old FROM before
      UNION ALL
      SELECT k, _ts, _cql_n, _cql_count0, _cql_count1, _cql_sum1, FALSE AS _cql_old
      FROM temp._cql_sums_aggregate AS changes
    ) AS history
  )
  SELECT r.k AS k, r._ts AS _ts, r._cql_n AS _cql_n, r._cql_count0 AS _cql_count0,
    r._cql_count1 AS _cql_count1, r._cql_sum1 AS _cql_sum1, r._cql_last AS _cql_last,
    r._cql_n > 0 AS _cql_is, r._cql_n - r._cql_d_n > 0 AS _cql_was, r._cql_count0 AS n,
    (r._cql_count0 - r._cql_count0_d) AS _cql_old_n,
    CASE WHEN r._cql_count1 > 0 THEN CAST(CAST(r._cql_sum1 AS DOUBLE) / r._cql_count1 AS DOUBLE)
    END AS mean, CASE WHEN (r._cql_count1 - r._cql_count1_d) > 0
      THEN CAST(CAST((
        r._cql_sum1 - r._cql_sum1_d
      ) AS DOUBLE) / (
        r._cql_count1 - r._cql_count1_d
      ) AS DOUBLE)
    END AS _cql_old_mean FROM running AS r WHERE r._ts > $t0
) AS results;
-- elements
SELECT k, _cql_old_n AS n, _cql_old_mean AS mean, _ts, CAST(-1 AS BIGINT) AS _weight
FROM temp._cql_delta_aggregate WHERE _cql_was AND _cql_changed
UNION ALL
SELECT k, n, mean, _ts, CAST(1 AS BIGINT) AS _weight FROM temp._cql_delta_aggregate
WHERE _cql_is AND _cql_changed;

-- law: without keys there is one group, which is always there
-- operator: Running
-- node: Aggregate(l, n="count(*)")
-- hides: upkeep
-- means: SELECT count(*) AS n FROM {l}
-- l(k INTEGER, v INTEGER):
--   1..4: (1, 5) (NULL, 7); 1..: 2(1, NULL); 2..3: 2(1, 6); 3: (1, 6); 5: -(1, 6) (2, 2)
--   8: (3, 1) -(3, 1) -(2, 2); 9: -2(1, NULL)
-- ticks: 0, 2, 3, 7, 10
-- gives:
--   0: (0)
--   1: -(0) (4)
--   2: -(4) (6)
--   3: (5) -(6)
--   4: (3) -(5)
--   8: (2) -(3)
--   9: (0) -(2)
-- same, a result that is not carried along does not ask what is old:
--   the groups and instants that changed: TRUE -> FALSE 2
--   the groups and instants that changed: FALSE -> TRUE
-- same, it is never NULL: as above
-- same, beside the elements there is a change of 0, and they are no fewer:
--   the elements, summed up: SUM(_cql_n) -> MAX(_cql_n)
-- same, nothing is added before the tick:
--   the elements, summed up: without $begin > $t0
--   the elements, summed up: $begin > $t0 -> $begin >= $t0
-- same, what is not touched has no instant in the tick:
--   the groups and instants that changed: without EXISTS(SELECT 1 FROM temp._cql … gregate AS changes WHERE TRUE)
-- same, it is always there:
--   elements: without _cql_is
----
-- the elements, summed up
CREATE OR REPLACE TEMPORARY TABLE temp._cql_sums_aggregate AS
SELECT _ts, CAST(SUM(_cql_n) AS BIGINT) AS _cql_n
FROM (
  SELECT _ts, CAST(SUM(_weight) AS BIGINT) AS _cql_n FROM delta_l GROUP BY _ts
  UNION ALL
  SELECT CAST($begin AS BIGINT) AS _ts, CAST(0 AS BIGINT) AS _cql_n WHERE $begin > $t0
) AS "both" GROUP BY _ts;
-- the groups and instants that changed
CREATE OR REPLACE TEMPORARY TABLE temp._cql_delta_aggregate AS
SELECT *, (_cql_is IS DISTINCT FROM _cql_was OR n IS DISTINCT FROM _cql_old_n) AS _cql_changed
FROM (
  WITH before AS (
    SELECT CAST($t0 AS BIGINT) AS _ts, _cql_n FROM cql_state.aggregate_groups AS kept
    WHERE EXISTS(SELECT 1 FROM temp._cql_sums_aggregate AS changes WHERE TRUE)
  ), running AS (
    SELECT
      _ts, CAST(SUM(_cql_n) OVER (ORDER BY _ts) AS BIGINT) AS _cql_n, _cql_n AS _cql_d_n, _cql_old,
      LEAD(_ts) OVER (ORDER BY _ts) IS NULL AS _cql_last
    FROM (
      SELECT _ts, _cql_n, TRUE AS _cql_old FROM before
      UNION ALL
      SELECT _ts, _cql_n, FALSE AS _cql_old FROM temp._cql_sums_aggregate AS changes
    ) AS history
  )
  SELECT r._ts AS _ts, r._cql_n AS _cql_n, r._cql_last AS _cql_last, TRUE AS _cql_is,
    r._ts > $begin AS _cql_was, r._cql_n AS n, (r._cql_n - r._cql_d_n) AS _cql_old_n
  FROM running AS r WHERE r._ts > $t0
) AS results;
-- elements
SELECT _cql_old_n AS n, _ts, CAST(-1 AS BIGINT) AS _weight FROM temp._cql_delta_aggregate
WHERE _cql_was AND _cql_changed
UNION ALL
SELECT n, _ts, CAST(1 AS BIGINT) AS _weight FROM temp._cql_delta_aggregate
WHERE _cql_is AND _cql_changed;

-- law: extremes of what only grows run too
-- operator: Running
-- node: Aggregate(g, "k", low="min(v)")
-- hides: upkeep
-- means: SELECT k, min(v) AS low FROM {g} GROUP BY k
-- g(k INTEGER, v INTEGER) is_append_only never_expires:
--   0: (1, 5) (1, 6) (NULL, 7); 1: (1, NULL); 2: (2, NULL) (1, 3); 4: (1, 9) (NULL, 7); 6: (1, 3) (2, 1); 7: (1, 1)
-- ticks: 1, 3, 6, 8
-- gives:
--   0: (1, 5) (NULL, 7)
--   2: (1, 3) -(1, 5) (2, NULL)
--   6: (2, 1) -(2, NULL)
--   7: (1, 1) -(1, 3)
-- kept groups:
--   (1, 7, 1) (NULL, 2, 7) (2, 2, 1)
-- same, of what only grows no group is empty:
--   the groups and instants that changed: r._cql_n > 0 AS _cql_is -> TRUE
--   the groups and instants that changed: r._cql_n > 0 -> r._cql_n >= 0
-- same, a result that is not carried along does not ask what is old:
--   the groups and instants that changed: TRUE -> FALSE
--   the groups and instants that changed: FALSE -> TRUE
-- same, it is never NULL:
--   the groups and instants that changed: _cql_is IS DISTINCT FROM _cql_was -> _cql_is <> _cql_was
-- same, what is not touched has no instant in the tick:
--   the groups and instants that changed: without EXISTS(SELECT 1 FROM temp._cql … k IS NOT DISTINCT FROM kept.k)
--   the groups and instants that changed: without changes.k IS NOT DISTINCT FROM kept.k
-- same, it is always there: as above
----
-- the elements, summed up
CREATE OR REPLACE TEMPORARY TABLE temp._cql_sums_aggregate AS
SELECT k, _ts, CAST(SUM(_weight) AS BIGINT) AS _cql_n, MIN(v) AS _cql_extreme0 FROM delta_g
GROUP BY k, _ts;
-- the groups and instants that changed
CREATE OR REPLACE TEMPORARY TABLE temp._cql_delta_aggregate AS
SELECT *, (_cql_is IS DISTINCT FROM _cql_was OR low IS DISTINCT FROM _cql_old_low) AS _cql_changed
FROM (
  WITH before AS (
    SELECT k, CAST($t0 AS BIGINT) AS _ts, _cql_n, _cql_extreme0
    FROM cql_state.aggregate_groups AS kept WHERE EXISTS(
        SELECT 1 FROM temp._cql_sums_aggregate AS changes
        WHERE changes.k IS NOT DISTINCT FROM kept.k
      )
  ), running AS (
    SELECT k, _ts, CAST(SUM(_cql_n) OVER (PARTITION BY k ORDER BY _ts) AS BIGINT) AS _cql_n,
      _cql_n AS _cql_d_n, MIN(_cql_extreme0) OVER (PARTITION BY k ORDER BY _ts) AS _cql_extreme0,
      MIN(_cql_extreme0) OVER (PARTITION BY k ORDER BY _ts ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS _cql_extreme0_d,
      _cql_old, LEAD(_ts) OVER (PARTITION BY k ORDER BY _ts) IS NULL AS _cql_last
    FROM (
      SELECT k, _ts, _cql_n, _cql_extreme0, TRUE AS _cql_old FROM before
      UNION ALL
      SELECT k, _ts, _cql_n, _cql_extreme0, FALSE AS _cql_old
      FROM temp._cql_sums_aggregate AS changes
    ) AS history
  )
  SELECT r.k AS k, r._ts AS _ts, r._cql_n AS _cql_n, r._cql_extreme0 AS _cql_extreme0,
    r._cql_last AS _cql_last, r._cql_n > 0 AS _cql_is, r._cql_n - r._cql_d_n > 0 AS _cql_was,
    r._cql_extreme0 AS low, r._cql_extreme0_d AS _cql_old_low FROM running AS r WHERE r._ts > $t0
) AS results;
-- elements
SELECT k, _cql_old_low AS low, _ts, CAST(-1 AS BIGINT) AS _weight FROM temp._cql_delta_aggregate
WHERE _cql_was AND _cql_changed
UNION ALL
SELECT k, low, _ts, CAST(1 AS BIGINT) AS _weight FROM temp._cql_delta_aggregate
WHERE _cql_is AND _cql_changed;

-- law: extremes of a range are those of its instants: a frame over each instant's own
-- operator: Running
-- node: Aggregate(TimeWindow(s, 2), "k", high="max(v)")
-- hides: upkeep
-- means: SELECT k, max(v) AS high FROM {s Range(2)} GROUP BY k
-- stream s(k INTEGER, v INTEGER):
--   0: (1, 5) (1, 7) (NULL, 7); 1: (1, 6); 2: (2, NULL) (1, 3) (NULL, 3); 4: (1, 3) (NULL, 7); 5: (1, 1)
--   6: (1, NULL); 7: (2, 1) (2, 1); 8: (2, 2)
-- ticks: 1, 3, 6, 8, 12
-- gives:
--   0: (1, 7) (NULL, 7)
--   2: (2, NULL)
--   3: (1, 6) -(1, 7) (NULL, 3) -(NULL, 7)
--   4: (1, 3) -(1, 6) (NULL, 7) -(NULL, 3)
--   5: -(2, NULL)
--   7: (1, 1) -(1, 3) (2, 1) -(NULL, 7)
--   8: -(1, 1) (1, NULL) -(2, 1) (2, 2)
--   9: -(1, NULL)
--   11: -(2, 2)
-- same, it is never NULL: as above
-- same, a result that is not carried along does not ask what is old:
--   the groups and instants that changed: TRUE -> FALSE
-- same, no weight is 0:
--   the elements, summed up: _weight > 0 -> _weight >= 0
-- same, what is not touched has no instant in the tick:
--   the groups and instants that changed: without EXISTS(SELECT 1 FROM temp._cql … k IS NOT DISTINCT FROM kept.k)
--   the groups and instants that changed: without changes.k IS NOT DISTINCT FROM kept.k
--   the groups and instants that changed: without EXISTS(SELECT 1 FROM (SELECT k … l_key0 IS NOT DISTINCT FROM k)
--   the groups and instants that changed: without _cql_key0 IS NOT DISTINCT FROM k
-- same, earlier ones are in no frame, and later ones are cut off at $t0:
--   the groups and instants that changed: without _ts > $t0 - 3
--   the groups and instants that changed: without _ts <= $t1
--   the groups and instants that changed: _ts > $t0 - 3 -> _ts >= $t0 - 3
--   the groups and instants that changed: $t0 - 3 with 4
--   the groups and instants that changed: _ts <= $t1 -> _ts < $t1
--   the groups and instants that changed: _ts <= $t1 with $t0
-- same, rows from before the tick are not shown:
--   the groups and instants that changed: without NOT r._cql_old IS NULL
----
-- the elements, summed up
CREATE OR REPLACE TEMPORARY TABLE temp._cql_sums_aggregate AS
SELECT
  k, _ts, CAST(SUM(_weight) AS BIGINT) AS _cql_n, MAX(v) FILTER(WHERE _weight > 0) AS _cql_extreme0
FROM (
  SELECT k, v, _ts, _weight FROM delta_s
  UNION ALL
  SELECT k, v, _ts + 3 AS _ts, -_weight AS _weight FROM s WHERE _ts > $t0 - 3 AND _ts <= $t1 - 3
) AS elements GROUP BY k, _ts;
-- the groups and instants that changed
CREATE OR REPLACE TEMPORARY TABLE temp._cql_delta_aggregate AS
SELECT *, (_cql_is IS DISTINCT FROM _cql_was OR high IS DISTINCT FROM _cql_old_high) AS _cql_changed
FROM (
  WITH before AS (
    SELECT k, CAST($t0 AS BIGINT) AS _ts, _cql_n, high FROM cql_state.aggregate_groups AS kept
    WHERE EXISTS(
        SELECT 1 FROM temp._cql_sums_aggregate AS changes
        WHERE changes.k IS NOT DISTINCT FROM kept.k
      )
  ), running AS (
    SELECT k, _ts, CAST(SUM(_cql_n) OVER (PARTITION BY k ORDER BY _ts) AS BIGINT) AS _cql_n,
      _cql_n AS _cql_d_n,
      MAX(_cql_extreme0) OVER (PARTITION BY k ORDER BY _ts RANGE BETWEEN 2 PRECEDING AND CURRENT ROW) AS _cql_extreme0,
      high, _cql_old, LEAD(_ts) OVER (PARTITION BY k ORDER BY _ts) IS NULL AS _cql_last
    FROM (
      SELECT k, _ts, _cql_n, CAST(NULL AS INT) AS _cql_extreme0, high, TRUE AS _cql_old FROM before
      UNION ALL
      SELECT k, _ts, _cql_n, _cql_extreme0, CAST(NULL AS INT) AS high, FALSE AS _cql_old
      FROM temp._cql_sums_aggregate AS changes
      UNION ALL
      SELECT k, _cql_enter AS _ts, CAST(0 AS BIGINT) AS _cql_n, MAX(v) AS _cql_extreme0,
        CAST(NULL AS INT) AS high, NULL AS _cql_old
      FROM (SELECT k, v, _ts AS _cql_enter FROM s WHERE _ts > $t0 - 3 AND _ts <= $t1) AS l
      WHERE _cql_enter <= $t0 AND EXISTS(
          SELECT 1 FROM (SELECT k AS _cql_key0 FROM temp._cql_sums_aggregate AS changes) AS touched
          WHERE _cql_key0 IS NOT DISTINCT FROM k
        ) GROUP BY k, _cql_enter
    ) AS history
  ), valued AS (
    SELECT
      r.k AS k, r._ts AS _ts, r._cql_n AS _cql_n, r._cql_d_n AS _cql_d_n, r._cql_old AS _cql_old,
      r._cql_last AS _cql_last, CASE WHEN r._cql_old THEN r.high ELSE r._cql_extreme0 END AS high
    FROM running AS r WHERE NOT r._cql_old IS NULL
  )
  SELECT
    r.k AS k, r._ts AS _ts, r._cql_n AS _cql_n, r._cql_last AS _cql_last, r._cql_n > 0 AS _cql_is,
    r._cql_n - r._cql_d_n > 0 AS _cql_was, r.high AS high, r._cql_old_high AS _cql_old_high
  FROM (SELECT *, LAG(high) OVER (PARTITION BY k ORDER BY _ts) AS _cql_old_high FROM valued) AS r
  WHERE r._ts > $t0
) AS results;
-- elements
SELECT k, _cql_old_high AS high, _ts, CAST(-1 AS BIGINT) AS _weight FROM temp._cql_delta_aggregate
WHERE _cql_was AND _cql_changed
UNION ALL
SELECT k, high, _ts, CAST(1 AS BIGINT) AS _weight FROM temp._cql_delta_aggregate
WHERE _cql_is AND _cql_changed;

-- law: what has no parts is worked out again of the tuples alive, for the groups and instants that changed
-- operator: Running
-- node: Aggregate(l, "k", mid="median(v)")
-- hides: upkeep
-- means: SELECT k, median(v) AS mid FROM {l} GROUP BY k
-- l(k INTEGER, v INTEGER):
--   0..4: (7, 1) (7, 1) (7, 9)
--   0..4: (1, 5) (NULL, 7); 1..: 2(1, NULL); 2..3: 2(1, 6) (2, 1); 3: (1, 6) (3, NULL)
--   5: -(1, 6) (2, 2); 6..9: (NULL, 1); 6: (1, 6); 8: -(1, 6) -(3, NULL) (4, -3)
--   9: -(4, -3) (3, 1) -(3, 1)
-- ticks: 2, 3, 7, 10
-- gives:
--   0: (1, 5.0) (7, 1.0) (NULL, 7.0)
--   2: -(1, 5.0) (1, 6.0) (2, 1.0)
--   3: (1, 5.5) -(1, 6.0) -(2, 1.0) (3, NULL)
--   4: -(1, 5.5) (1, 6.0) -(7, 1.0) -(NULL, 7.0)
--   5: -(1, 6.0) (1, NULL) (2, 2.0)
--   6: (1, 6.0) -(1, NULL) (NULL, 1.0)
--   8: -(1, 6.0) (1, NULL) -(3, NULL) (4, -3.0)
--   9: -(4, -3.0) -(NULL, 1.0)
-- kept groups:
--   (1, 2, NULL) (2, 1, 2)
-- same, what is not touched has no instant in the tick:
--   the groups and instants that changed: without EXISTS(SELECT 1 FROM temp._cql … k IS NOT DISTINCT FROM kept.k)
--   the groups and instants that changed: without changes.k IS NOT DISTINCT FROM kept.k
-- same, it is never NULL: as above
-- same, a group without a tuple has the row of NULLs, or none:
--   the groups and instants that changed: without NOT _weight IS NULL
--   the groups and instants that changed: COALESCE(_weight, 1) -> _weight
--   the groups and instants that changed: COALESCE(_weight, 1) with 2
--   the groups and instants that changed: LEFT JOIN (SELECT k, v, _cql_enter, _cql … ve, _weight FROM alive_l) AS l -> INNER
-- same, what was before the tick is not asked for:
--   the groups and instants that changed: without i._ts > $t0
--   the groups and instants that changed: i._ts > $t0 -> i._ts >= $t0
----
-- the elements, summed up
CREATE OR REPLACE TEMPORARY TABLE temp._cql_sums_aggregate AS
SELECT k, _ts, CAST(SUM(_weight) AS BIGINT) AS _cql_n FROM delta_l GROUP BY k, _ts;
-- the groups and instants that changed
CREATE OR REPLACE TEMPORARY TABLE temp._cql_delta_aggregate AS
SELECT *, (_cql_is IS DISTINCT FROM _cql_was OR mid IS DISTINCT FROM _cql_old_mid) AS _cql_changed
FROM (
  WITH before AS (
    SELECT k, CAST($t0 AS BIGINT) AS _ts, _cql_n, mid FROM cql_state.aggregate_groups AS kept
    WHERE EXISTS(
        SELECT 1 FROM temp._cql_sums_aggregate AS changes
        WHERE changes.k IS NOT DISTINCT FROM kept.k
      )
  ), running AS (
    SELECT k, _ts, CAST(SUM(_cql_n) OVER (PARTITION BY k ORDER BY _ts) AS BIGINT) AS _cql_n,
      _cql_n AS _cql_d_n, mid, _cql_old,
      LEAD(_ts) OVER (PARTITION BY k ORDER BY _ts) IS NULL AS _cql_last
    FROM (
      SELECT k, _ts, _cql_n, mid, TRUE AS _cql_old FROM before
      UNION ALL
      SELECT k, _ts, _cql_n, CAST(NULL AS DOUBLE) AS mid, FALSE AS _cql_old
      FROM temp._cql_sums_aggregate AS changes
    ) AS history
  ), again AS (
    SELECT
      _cql_key0 AS k, _cql_at AS _ts, MEDIAN(v) FILTER(WHERE NOT _weight IS NULL) AS _cql_again0
    FROM (
      SELECT *, UNNEST(RANGE(COALESCE(_weight, 1))) AS _cql_copy
      FROM (
        SELECT _cql_key0, _cql_at, k, v, CAST(SUM(_weight) AS BIGINT) AS _weight
        FROM (
          SELECT i.k AS _cql_key0, i._ts AS _cql_at, l.k AS k, l.v AS v, l._weight AS _weight
          FROM running AS i
          LEFT JOIN (
            SELECT k, v, _cql_enter, _cql_leave, _weight FROM alive_l
          ) AS l ON i.k IS NOT DISTINCT FROM l.k AND l._cql_enter <= i._ts AND l._cql_leave > i._ts
          WHERE i._ts > $t0
        ) AS pairs GROUP BY _cql_key0, _cql_at, k, v, _weight IS NULL
      ) AS net
    ) AS tuples GROUP BY _cql_key0, _cql_at
  ), valued AS (
    SELECT
      r.k AS k, r._ts AS _ts, r._cql_n AS _cql_n, r._cql_d_n AS _cql_d_n, r._cql_old AS _cql_old,
      r._cql_last AS _cql_last, CASE WHEN r._cql_old THEN r.mid ELSE again._cql_again0 END AS mid
    FROM running AS r
    LEFT JOIN again ON r.k IS NOT DISTINCT FROM again.k AND again._ts = r._ts
  )
  SELECT
    r.k AS k, r._ts AS _ts, r._cql_n AS _cql_n, r._cql_last AS _cql_last, r._cql_n > 0 AS _cql_is,
    r._cql_n - r._cql_d_n > 0 AS _cql_was, r.mid AS mid, r._cql_old_mid AS _cql_old_mid
  FROM (SELECT *, LAG(mid) OVER (PARTITION BY k ORDER BY _ts) AS _cql_old_mid FROM valued) AS r
  WHERE r._ts > $t0
) AS results;
-- elements
SELECT k, _cql_old_mid AS mid, _ts, CAST(-1 AS BIGINT) AS _weight FROM temp._cql_delta_aggregate
WHERE _cql_was AND _cql_changed
UNION ALL
SELECT k, mid, _ts, CAST(1 AS BIGINT) AS _weight FROM temp._cql_delta_aggregate
WHERE _cql_is AND _cql_changed;

-- law: an extreme of what may leave is worked out again only where it may have left
-- operator: Running
-- node: Aggregate(l, "k", most="max(v)")
-- hides: upkeep, elements
-- means: SELECT k, max(v) AS most FROM {l} GROUP BY k
-- l(k INTEGER, v INTEGER) has_unit_weights:
--   0..4: (1, 5); 1..: (1, NULL); 2..3: (1, 6) (2, 1); 3..6: (1, 3); 4..5: (1, 9)
--   0..2: (7, 9) (7, 4); 0..6: (7, 1) (7, 2); 3..6: (7, 12); 0..3: (NULL, 9); 0..5: (NULL, 7) (NULL, 6)
--   2..6: (2, 0); 3..: (3, NULL); 4..5: (5, 9); 4..: (5, 1); 6..: (5, 2)
-- ticks: 0, 3, 7
-- gives:
--   0: (1, 5) (7, 9) (NULL, 9)
--   2: -(1, 5) (1, 6) (2, 1) (7, 2) -(7, 9)
--   3: (1, 5) -(1, 6) -(2, 1) (2, 0) (3, NULL) (7, 12) -(7, 2) (NULL, 7) -(NULL, 9)
--   4: -(1, 5) (1, 9) (5, 9)
--   5: (1, 3) -(1, 9) -(5, 9) (5, 1) -(NULL, 7)
--   6: -(1, 3) (1, NULL) -(2, 0) -(5, 1) (5, 2) -(7, 12)
-- same, it is never NULL: as above
-- same, what is not touched has no instant in the tick: as above
-- same, what was before the tick is not asked for: as above
-- same, a group without a tuple has the row of NULLs, or none:
--   the groups and instants that changed: without NOT _weight IS NULL
--   the groups and instants that changed: LEFT JOIN (SELECT k, v, _cql_enter, _cql … ve, _weight FROM alive_l) AS l -> INNER
-- same, more is worked out again than may have left:
--   the elements, summed up: 0 > _weight -> 0 >= _weight
--   the elements, summed up: without 0 > _weight
--   the elements, summed up: 0 > _weight with 1
--   the groups and instants that changed: MAX(_cql_gone0) OVER (PARTITION BY k ORDER BY _ts) without k
--   the groups and instants that changed: MAX(_cql_gone0) OVER (PARTITION BY k ORDER BY _ts) without k 2
--   the groups and instants that changed: without i._cql_leaves0
-- same, one value alone is before the tick:
--   the groups and instants that changed: MAX(_cql_come0) -> MIN(_cql_come0) 2
--   the groups and instants that changed: TRUE -> FALSE
-- same, it is asked whether there is a value at all:
--   the groups and instants that changed: MAX(_cql_gone0) -> MIN(_cql_gone0) 2
-- same, a weight says here that there is a tuple:
--   the groups and instants that changed: l._weight AS _weight -> -(l._weight) AS _weight
--   the groups and instants that changed: _weight -> -(_weight) AS _weight
----
-- the elements, summed up
CREATE OR REPLACE TEMPORARY TABLE temp._cql_sums_aggregate AS
SELECT k, _ts, CAST(SUM(_weight) AS BIGINT) AS _cql_n, MAX(v) AS _cql_come0,
  MAX(v) FILTER(WHERE 0 > _weight) AS _cql_gone0 FROM delta_l GROUP BY k, _ts;
-- the groups and instants that changed
CREATE OR REPLACE TEMPORARY TABLE temp._cql_delta_aggregate AS
SELECT *, (_cql_is IS DISTINCT FROM _cql_was OR most IS DISTINCT FROM _cql_old_most) AS _cql_changed
FROM (
  WITH before AS (
    SELECT k, CAST($t0 AS BIGINT) AS _ts, _cql_n, most FROM cql_state.aggregate_groups AS kept
    WHERE EXISTS(
        SELECT 1 FROM temp._cql_sums_aggregate AS changes
        WHERE changes.k IS NOT DISTINCT FROM kept.k
      )
  ), running AS (
    SELECT k, _ts, CAST(SUM(_cql_n) OVER (PARTITION BY k ORDER BY _ts) AS BIGINT) AS _cql_n,
      _cql_n AS _cql_d_n, MAX(_cql_come0) OVER (PARTITION BY k ORDER BY _ts) AS _cql_stays0,
      COALESCE(
        MAX(_cql_gone0) OVER (PARTITION BY k ORDER BY _ts) >= MAX(_cql_come0) FILTER(WHERE
          _cql_old) OVER (PARTITION BY k),
        NOT MAX(_cql_gone0) OVER (PARTITION BY k ORDER BY _ts) IS NULL
      ) AS _cql_leaves0, most, _cql_old,
      LEAD(_ts) OVER (PARTITION BY k ORDER BY _ts) IS NULL AS _cql_last
    FROM (
      SELECT
        k, _ts, _cql_n, most AS _cql_come0, CAST(NULL AS INT) AS _cql_gone0, most, TRUE AS _cql_old
      FROM before
      UNION ALL
      SELECT k, _ts, _cql_n, _cql_come0, _cql_gone0, CAST(NULL AS INT) AS most, FALSE AS _cql_old
      FROM temp._cql_sums_aggregate AS changes
    ) AS history
  ), again AS (
    SELECT _cql_key0 AS k, _cql_at AS _ts, MAX(v) FILTER(WHERE NOT _weight IS NULL) AS _cql_again0
    FROM (
      SELECT i.k AS _cql_key0, i._ts AS _cql_at, l.k AS k, l.v AS v, l._weight AS _weight
      FROM running AS i
      LEFT JOIN (
        SELECT k, v, _cql_enter, _cql_leave, _weight FROM alive_l
      ) AS l ON i.k IS NOT DISTINCT FROM l.k AND l._cql_enter <= i._ts AND l._cql_leave > i._ts
      WHERE i._ts > $t0 AND i._cql_leaves0
    ) AS tuples GROUP BY _cql_key0, _cql_at
  ), valued AS (
    SELECT
      r.k AS k, r._ts AS _ts, r._cql_n AS _cql_n, r._cql_d_n AS _cql_d_n, r._cql_old AS _cql_old,
      r._cql_last AS _cql_last, CASE WHEN r._cql_old
        THEN r.most
        ELSE CASE WHEN r._cql_leaves0 THEN again._cql_again0 ELSE r._cql_stays0 END
      END AS most FROM running AS r
    LEFT JOIN again ON r.k IS NOT DISTINCT FROM again.k AND again._ts = r._ts
  )
  SELECT
    r.k AS k, r._ts AS _ts, r._cql_n AS _cql_n, r._cql_last AS _cql_last, r._cql_n > 0 AS _cql_is,
    r._cql_n - r._cql_d_n > 0 AS _cql_was, r.most AS most, r._cql_old_most AS _cql_old_most
  FROM (SELECT *, LAG(most) OVER (PARTITION BY k ORDER BY _ts) AS _cql_old_most FROM valued) AS r
  WHERE r._ts > $t0
) AS results;

-- law: in a tick of one instant an extreme stays unless what leaves reaches it
-- operator: Stepped
-- node: Aggregate(l, "k", least="min(v)")
-- hides: upkeep
-- means: SELECT k, min(v) AS least FROM {l} GROUP BY k
-- form: single
-- l(k INTEGER, v INTEGER):
--   0..4: (1, 5); 1..: 2(1, NULL); 2..3: (1, 6) (2, 1); 3..6: (1, 3); 4..5: (1, 2)
--   0: (7, 1) (7, 4); 2: -(7, 1) -(7, 4); 0..6: (7, 9); 2..6: (7, 8); 0..3: (NULL, 2); 0..5: (NULL, 7) 2(NULL, 8); 3..: (3, NULL)
-- ticks: 0, 1, 2, 3, 4, 5, 6, 7
-- gives:
--   0: (1, 5) (7, 1) (NULL, 2)
--   2: (2, 1) -(7, 1) (7, 8)
--   3: (1, 3) -(1, 5) -(2, 1) (3, NULL) -(NULL, 2) (NULL, 7)
--   4: (1, 2) -(1, 3)
--   5: -(1, 2) (1, 3) -(NULL, 7)
--   6: -(1, 3) (1, NULL) -(7, 8)
-- same, it is never NULL: as above
-- same, what was before the tick is not asked for: as above
-- same, a group without a tuple has the row of NULLs, or none:
--   the groups and instants that changed: without NOT _weight IS NULL
--   the groups and instants that changed: LEFT JOIN (SELECT k, v, _cql_enter, _cql … ve, _weight FROM alive_l) AS l -> INNER
--   the groups and instants that changed: without OR SUM(_weight) IS NULL
--   the groups and instants that changed: SUM(_weight) -> MAX(_weight) 3
-- same, more is worked out again than may have left:
--   the elements, summed up: 0 > _weight -> 0 >= _weight
--   the elements, summed up: without 0 > _weight
--   the elements, summed up: 0 > _weight with 1
--   the groups and instants that changed: changes._cql_gone0 <= LEAST(ke … es._cql_come0) AS _cql_leaves0 -> TRUE
--   the groups and instants that changed: LEAST(kept.least, changes._cql_come0) -> GREATEST(kept.least, changes._cql_come0) 2
--   the groups and instants that changed: without i._cql_leaves0
-- same, one instant is all there is:
--   the groups and instants that changed: without l._cql_enter <= i._ts
--   the groups and instants that changed: without again._ts = r._ts
-- same, a weight says here that there is a tuple:
--   the groups and instants that changed: CAST(SUM(_weight) AS BIGINT) AS _weight -> -(CAST(SUM(_weight) AS BIGINT)) AS _weight
--   the groups and instants that changed: SUM(_weight) -> MAX(_weight)
----
-- the elements, summed up
CREATE OR REPLACE TEMPORARY TABLE temp._cql_sums_aggregate AS
SELECT k, CAST($t1 AS BIGINT) AS _ts, CAST(SUM(_weight) AS BIGINT) AS _cql_n, MIN(v) AS _cql_come0,
  MIN(v) FILTER(WHERE 0 > _weight) AS _cql_gone0 FROM delta_l GROUP BY k;
-- the groups and instants that changed
CREATE OR REPLACE TEMPORARY TABLE temp._cql_delta_aggregate AS
SELECT
  *, (_cql_is IS DISTINCT FROM _cql_was OR least IS DISTINCT FROM _cql_old_least) AS _cql_changed
FROM (
  WITH running AS (
    SELECT changes.k AS k, changes._ts AS _ts, kept.rowid AS _cql_rowid,
      CAST(COALESCE(kept._cql_n, 0) + changes._cql_n AS BIGINT) AS _cql_n,
      changes._cql_n AS _cql_d_n, LEAST(kept.least, changes._cql_come0) AS _cql_stays0,
      changes._cql_gone0 <= LEAST(kept.least, changes._cql_come0) AS _cql_leaves0,
      kept.least AS least FROM temp._cql_sums_aggregate AS changes
    LEFT JOIN cql_state.aggregate_groups AS kept ON changes.k IS NOT DISTINCT FROM kept.k
  ), again AS (
    SELECT _cql_key0 AS k, _cql_at AS _ts, MIN(v) FILTER(WHERE NOT _weight IS NULL) AS _cql_again0
    FROM (
      SELECT _cql_key0, _cql_at, k, v, CAST(SUM(_weight) AS BIGINT) AS _weight
      FROM (
        SELECT i.k AS _cql_key0, i._ts AS _cql_at, l.k AS k, l.v AS v, l._weight AS _weight
        FROM running AS i
        LEFT JOIN (
          SELECT k, v, _cql_enter, _cql_leave, _weight FROM alive_l
        ) AS l ON i.k IS NOT DISTINCT FROM l.k AND l._cql_enter <= i._ts AND l._cql_leave > i._ts
        WHERE i._ts > $t0 AND i._cql_leaves0
      ) AS pairs GROUP BY _cql_key0, _cql_at, k, v, _weight IS NULL
      HAVING SUM(_weight) > 0 OR SUM(_weight) IS NULL
    ) AS tuples GROUP BY _cql_key0, _cql_at
  ), valued AS (
    SELECT r.k AS k, r._ts AS _ts, r._cql_rowid AS _cql_rowid, r._cql_n AS _cql_n,
      r._cql_d_n AS _cql_d_n,
      CASE WHEN r._cql_leaves0 THEN again._cql_again0 ELSE r._cql_stays0 END AS least,
      r.least AS _cql_old_least FROM running AS r
    LEFT JOIN again ON r.k IS NOT DISTINCT FROM again.k AND again._ts = r._ts
  )
  SELECT
    r.k AS k, r._ts AS _ts, r._cql_n AS _cql_n, r._cql_rowid AS _cql_rowid, r._cql_n > 0 AS _cql_is,
    r._cql_n - r._cql_d_n > 0 AS _cql_was, r.least AS least, r._cql_old_least AS _cql_old_least
  FROM valued AS r
) AS results;
-- elements
SELECT k, _cql_old_least AS least, _ts, CAST(-1 AS BIGINT) AS _weight FROM temp._cql_delta_aggregate
WHERE _cql_was AND _cql_changed
UNION ALL
SELECT k, least, _ts, CAST(1 AS BIGINT) AS _weight FROM temp._cql_delta_aggregate
WHERE _cql_is AND _cql_changed;

-- law: sums of doubles are sums of fixed-point numbers, and of the outliers that are there
-- operator: Running
-- node: Aggregate(l, "k", total="sum(x)")
-- hides: upkeep
-- means: SELECT k, sum(x) AS total FROM {l} GROUP BY k
-- l(k INTEGER, x DOUBLE):
--   0..4: (7, 1); 0..5: (7, 1); 1..3: (7, 1e300) (7, 1e300) (7, 2e300)
--   0..4: (1, 0.5) (NULL, 1e300); 1..: 2(1, NULL) (1, 0.25); 2..3: 2(1, 1e300) (2, 1); 3: (1, 'inf') (3, NULL)
--   4..5: (3, 1.5); 4: (2, 0); 5: -(1, 'inf') (2, 2); 6..9: (NULL, 1e-40); 6: (1, 'nan'); 8: -(1, 'nan') -(3, NULL)
-- ticks: 2, 3, 7, 10
-- gives:
--   0: (1, 0.5) (7, 2.0) (NULL, 1e+300)
--   1: -(1, 0.5) (1, 0.75) -(7, 2.0) (7, 4e+300)
--   2: -(1, 0.75) (1, 2e+300) (2, 1.0)
--   3: -(1, 2e+300) (1, 'inf') -(2, 1.0) (3, NULL) (7, 2.0) -(7, 4e+300)
--   4: (2, 0.0) (3, 1.5) -(3, NULL) (7, 1.0) -(7, 2.0) -(NULL, 1e+300)
--   5: (1, 0.25) -(1, 'inf') -(2, 0.0) (2, 2.0) -(3, 1.5) (3, NULL) -(7, 1.0)
--   6: -(1, 0.25) (1, 'nan') (NULL, 1e-40)
--   8: (1, 0.25) -(1, 'nan') -(3, NULL)
--   9: -(NULL, 1e-40)
-- same, there is one such aggregate:
--   the groups and instants that changed: without _cql_call = 0
--   the groups and instants that changed: _cql_call = 0 with 1
--   the groups and instants that changed: without _cql_call = 0 2
-- same, 0 adds nothing, wherever it is counted:
--   the values that stay as they are: without OR x = 0
--   the values that stay as they are: x = 0 with 1
--   the elements, summed up: without OR x = 0
--   the elements, summed up: x = 0 with 1
-- same, what is not touched has no instant in the tick: as above
-- same, what was before the tick is not asked for:
--   the groups and instants that changed: without r._ts > $t0 2
--   the groups and instants that changed: r._ts > $t0 -> r._ts >= $t0 2
-- same, it is never NULL: as above
-- same, a NaN is one in either branch:
--   the groups and instants that changed: SUM(_cql_value * _weight) -> MAX(_cql_value * _weight)
--   the groups and instants that changed: _cql_value * _weight -> _cql_value
--   the groups and instants that changed: _cql_value * _weight -> _weight
-- same, 0.0 makes a negative zero a positive one, which are equal here:
--   the groups and instants that changed: (SUM(_cql_value * _weight) FIL … call = 0)) + CAST(0 AS DOUBLE) -> (SUM(_cql_value * _weight) FIL … call = 0)) - CAST(0 AS DOUBLE)
----
-- the values that stay as they are
CREATE OR REPLACE TEMPORARY TABLE temp._cql_outliers_aggregate AS
SELECT k, 0 AS _cql_call, CAST(x AS DOUBLE) AS _cql_value, _ts, _weight FROM delta_l WHERE NOT (
    x = 0
    OR ABS(x) BETWEEN CAST(9.313225746154785e-10 AS DOUBLE) AND CAST(137438953472.0 AS DOUBLE)
  );
-- the elements, summed up
CREATE OR REPLACE TEMPORARY TABLE temp._cql_sums_aggregate AS
SELECT k, _ts, CAST(SUM(_weight) AS BIGINT) AS _cql_n,
  CAST(SUM(CASE WHEN x IS NULL THEN 0 ELSE _weight END) AS BIGINT) AS _cql_count0, CAST(COALESCE(
    SUM(
      CASE WHEN x = 0
        OR ABS(x) BETWEEN CAST(9.313225746154785e-10 AS DOUBLE) AND CAST(137438953472.0 AS DOUBLE)
        THEN CAST(CAST(x AS DOUBLE) * CAST(1.152921504606847e+18 AS DOUBLE) AS INT128)
      END * _weight
    ), 0
  ) AS INT128) AS _cql_sum0 FROM delta_l GROUP BY k, _ts;
-- the groups and instants that changed
CREATE OR REPLACE TEMPORARY TABLE temp._cql_delta_aggregate AS
SELECT
  *, (_cql_is IS DISTINCT FROM _cql_was OR total IS DISTINCT FROM _cql_old_total) AS _cql_changed
FROM (
  WITH before AS (
    SELECT k, CAST($t0 AS BIGINT) AS _ts, _cql_n, _cql_count0, _cql_sum0, total
    FROM cql_state.aggregate_groups AS kept WHERE EXISTS(
        SELECT 1 FROM temp._cql_sums_aggregate AS changes
        WHERE changes.k IS NOT DISTINCT FROM kept.k
      )
  ), running AS (
    SELECT k, _ts, CAST(SUM(_cql_n) OVER (PARTITION BY k ORDER BY _ts) AS BIGINT) AS _cql_n,
      _cql_n AS _cql_d_n,
      CAST(SUM(_cql_count0) OVER (PARTITION BY k ORDER BY _ts) AS BIGINT) AS _cql_count0,
      _cql_count0 AS _cql_count0_d,
      CAST(SUM(_cql_sum0) OVER (PARTITION BY k ORDER BY _ts) AS INT128) AS _cql_sum0,
      _cql_sum0 AS _cql_sum0_d, total, _cql_old,
      LEAD(_ts) OVER (PARTITION BY k ORDER BY _ts) IS NULL AS _cql_last
    FROM (
      SELECT k, _ts, _cql_n, _cql_count0, _cql_sum0, total, TRUE AS _cql_old FROM before
      UNION ALL
      SELECT
        k, _ts, _cql_n, _cql_count0, _cql_sum0, CAST(NULL AS DOUBLE) AS total, FALSE AS _cql_old
      FROM temp._cql_sums_aggregate AS changes
    ) AS history
  ), outlying AS (
    SELECT k, _ts, CASE WHEN ISNAN(SUM(_cql_value * _weight) FILTER(WHERE _cql_call = 0))
        THEN CAST('NaN' AS DOUBLE)
        ELSE (
          SUM(_cql_value * _weight) FILTER(WHERE _cql_call = 0)
        ) + CAST(0 AS DOUBLE)
      END AS _cql_outlying0
    FROM (
      SELECT r.k AS k, r._ts AS _ts, _cql_call, _cql_value, SUM(o._weight) AS _weight
      FROM running AS r
      INNER JOIN (
        SELECT k, _cql_call, _cql_value, _ts, _weight FROM cql_state.aggregate_outliers
        UNION ALL
        SELECT * FROM temp._cql_outliers_aggregate
      ) AS o ON r.k IS NOT DISTINCT FROM o.k AND o._ts <= r._ts WHERE r._ts > $t0
      GROUP BY r.k, r._ts, _cql_call, _cql_value
      HAVING SUM(o._weight) <> 0
    ) AS net GROUP BY k, _ts
  ), valued AS (
    SELECT
      r.k AS k, r._ts AS _ts, r._cql_n AS _cql_n, r._cql_d_n AS _cql_d_n, r._cql_old AS _cql_old,
      r._cql_last AS _cql_last, r._cql_count0 AS _cql_count0, r._cql_count0_d AS _cql_count0_d,
      r._cql_sum0 AS _cql_sum0, r._cql_sum0_d AS _cql_sum0_d, CASE WHEN r._cql_old
        THEN r.total
        ELSE CASE WHEN r._cql_count0 > 0
          THEN CAST((
            CAST(r._cql_sum0 AS DOUBLE) / CAST(1.152921504606847e+18 AS DOUBLE) + COALESCE(outlying._cql_outlying0, CAST(0.0 AS DOUBLE))
          ) AS DOUBLE)
        END
      END AS total FROM running AS r
    LEFT JOIN outlying ON r.k IS NOT DISTINCT FROM outlying.k AND outlying._ts = r._ts
  )
  SELECT r.k AS k, r._ts AS _ts, r._cql_n AS _cql_n, r._cql_count0 AS _cql_count0,
    r._cql_sum0 AS _cql_sum0, r._cql_last AS _cql_last, r._cql_n > 0 AS _cql_is,
    r._cql_n - r._cql_d_n > 0 AS _cql_was, r.total AS total, r._cql_old_total AS _cql_old_total
  FROM (SELECT *, LAG(total) OVER (PARTITION BY k ORDER BY _ts) AS _cql_old_total FROM valued) AS r
  WHERE r._ts > $t0
) AS results;
-- elements
SELECT k, _cql_old_total AS total, _ts, CAST(-1 AS BIGINT) AS _weight FROM temp._cql_delta_aggregate
WHERE _cql_was AND _cql_changed
UNION ALL
SELECT k, total, _ts, CAST(1 AS BIGINT) AS _weight FROM temp._cql_delta_aggregate
WHERE _cql_is AND _cql_changed;

-- law: in a tick of one instant the state after is the group's row and its change
-- operator: Stepped
-- node: Aggregate(l, "k", total="sum(v)")
-- means: SELECT k, sum(v) AS total FROM {l} GROUP BY k
-- form: single
-- l(k INTEGER, v INTEGER):
--   0..4: (1, 5) (NULL, 7); 1..: 2(1, NULL); 2..3: 2(1, 6) (2, 1); 3: (1, 6) (3, NULL)
--   5: -(1, 6) (2, 2); 6..9: (NULL, 1); 6: (1, 6); 8: -(1, 6) -(3, NULL) (4, -3)
--   9: -(4, -3) (3, 1) -(3, 1)
-- ticks: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
-- gives:
--   0: (1, 5) (NULL, 7)
--   2: (1, 17) -(1, 5) (2, 1)
--   3: (1, 11) -(1, 17) -(2, 1) (3, NULL)
--   4: -(1, 11) (1, 6) -(NULL, 7)
--   5: -(1, 6) (1, NULL) (2, 2)
--   6: (1, 6) -(1, NULL) (NULL, 1)
--   8: -(1, 6) (1, NULL) -(3, NULL) (4, -3)
--   9: -(4, -3) -(NULL, 1)
-- kept groups:
--   (1, 2, 0, 0) (2, 1, 1, 2)
-- same, it is never NULL: as above
----
-- the elements, summed up
CREATE OR REPLACE TEMPORARY TABLE temp._cql_sums_aggregate AS
SELECT k, CAST($t1 AS BIGINT) AS _ts, CAST(SUM(_weight) AS BIGINT) AS _cql_n,
  CAST(SUM(CASE WHEN v IS NULL THEN 0 ELSE _weight END) AS BIGINT) AS _cql_count0,
  CAST(COALESCE(SUM(CAST(v AS BIGINT) * _weight), 0) AS BIGINT) AS _cql_sum0 FROM delta_l GROUP BY k;
-- the groups and instants that changed
CREATE OR REPLACE TEMPORARY TABLE temp._cql_delta_aggregate AS
SELECT
  *, (_cql_is IS DISTINCT FROM _cql_was OR total IS DISTINCT FROM _cql_old_total) AS _cql_changed
FROM (
  SELECT r.k AS k, r._ts AS _ts, r._cql_n AS _cql_n, r._cql_count0 AS _cql_count0,
    r._cql_sum0 AS _cql_sum0, r._cql_rowid AS _cql_rowid, r._cql_n > 0 AS _cql_is,
    r._cql_n - r._cql_d_n > 0 AS _cql_was,
    CASE WHEN r._cql_count0 > 0 THEN CAST(r._cql_sum0 AS INT128) END AS total,
    CASE WHEN (r._cql_count0 - r._cql_count0_d) > 0
      THEN CAST((r._cql_sum0 - r._cql_sum0_d) AS INT128)
    END AS _cql_old_total
  FROM (
    SELECT changes.k AS k, changes._ts AS _ts, kept.rowid AS _cql_rowid,
      CAST(COALESCE(kept._cql_n, 0) + changes._cql_n AS BIGINT) AS _cql_n,
      changes._cql_n AS _cql_d_n,
      CAST(COALESCE(kept._cql_count0, 0) + changes._cql_count0 AS BIGINT) AS _cql_count0,
      changes._cql_count0 AS _cql_count0_d,
      CAST(COALESCE(kept._cql_sum0, 0) + changes._cql_sum0 AS BIGINT) AS _cql_sum0,
      changes._cql_sum0 AS _cql_sum0_d FROM temp._cql_sums_aggregate AS changes
    LEFT JOIN cql_state.aggregate_groups AS kept ON changes.k IS NOT DISTINCT FROM kept.k
  ) AS r
) AS results;
-- elements
SELECT k, _cql_old_total AS total, _ts, CAST(-1 AS BIGINT) AS _weight FROM temp._cql_delta_aggregate
WHERE _cql_was AND _cql_changed
UNION ALL
SELECT k, total, _ts, CAST(1 AS BIGINT) AS _weight FROM temp._cql_delta_aggregate
WHERE _cql_is AND _cql_changed;
-- upkeep: forget the old state of the groups that changed
DELETE FROM cql_state.aggregate_groups AS kept
WHERE kept.rowid IN (SELECT _cql_rowid FROM temp._cql_delta_aggregate);
-- upkeep: keep their new state
INSERT INTO cql_state.aggregate_groups
SELECT k, _cql_n, _cql_count0, _cql_sum0 FROM temp._cql_delta_aggregate WHERE _cql_n > 0;
