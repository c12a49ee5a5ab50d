-- title: an aggregate of a window joined to a relation
SELECT r.name, sum(s.v) AS v FROM s [RANGE 5], r WHERE s.k = r.k GROUP BY r.name
----
project(aggregate(project(binary-join(seq-window(stream(s)), relation(r)))))

-- relation
CREATE OR REPLACE TEMPORARY TABLE temp._cql_lives_0329cda894ea AS
SELECT k AS "r.k", name AS "r.name", GREATEST(_cql_enter, $begin) AS _cql_enter, _cql_leave,
  CAST(1 AS BIGINT) AS _weight FROM temp._cql_changes_r($low, $t1)
WHERE _cql_enter <= $t1 AND _cql_leave > $t0 AND _cql_leave > $begin;

-- seq-window
CREATE OR REPLACE TEMPORARY TABLE temp._cql_lives_749466e12519 AS
SELECT
  k AS "s.k", v AS "s.v", _ts AS _cql_enter, _ts + 6 AS _cql_leave, CAST(1 AS BIGINT) AS _weight
FROM temp._cql_arrivals_s($t0, $t1)
UNION ALL
SELECT
  k AS "s.k", v AS "s.v", _ts AS _cql_enter, _ts + 6 AS _cql_leave, CAST(1 AS BIGINT) AS _weight
FROM temp._cql_stream_s() WHERE _ts > $since AND _ts <= $t1 - 6 AND _ts > $t0 - 6 AND _ts <= $t0;

-- binary-join
CREATE OR REPLACE TEMPORARY TABLE temp._cql_delta_q_3e3ce0545105_2 (
  "s.v" BIGINT, "r.name" TEXT, _cql_enter BIGINT, _cql_leave BIGINT, _weight BIGINT
);
INSERT INTO temp._cql_delta_q_3e3ce0545105_2
SELECT i0."s.v", i1."r.name", GREATEST(i0._cql_enter, i1._cql_enter) AS _cql_enter,
  LEAST(i0._cql_leave, i1._cql_leave) AS _cql_leave, i0._weight * i1._weight AS _weight
FROM temp._cql_lives_749466e12519 AS i0
CROSS JOIN (
  SELECT k AS "r.k", name AS "r.name", GREATEST(_cql_enter, $begin) AS _cql_enter, _cql_leave,
    CAST(1 AS BIGINT) AS _weight FROM cql_state.relation_r
  WHERE _cql_enter <= $t1 AND _cql_leave > $t0 AND _cql_leave > $begin
) AS i1
WHERE i0."s.k" = i1."r.k" AND i0._cql_enter < i1._cql_leave AND i1._cql_enter < i0._cql_leave;
INSERT INTO temp._cql_delta_q_3e3ce0545105_2
SELECT i0.v AS "s.v", i1."r.name", GREATEST(i1._cql_enter, i0._ts) AS _cql_enter,
  LEAST(i1._cql_leave, (i0._ts + 6)) AS _cql_leave, i1._weight * CAST(1 AS BIGINT) AS _weight
FROM temp._cql_lives_0329cda894ea AS i1
CROSS JOIN temp._cql_stream_s() AS i0
WHERE i0._ts > $since AND i0._ts <= $t0 AND i0._ts > $t1 - 6 AND i0.k = i1."r.k"
  AND i1._cql_enter < (i0._ts + 6) AND i0._ts < i1._cql_leave;

-- aggregate
CREATE OR REPLACE TEMPORARY TABLE temp._cql_sums_q_4fa66c14aed6_2 AS
SELECT "r.name", _ts, CAST(SUM(_weight) AS BIGINT) AS _cql_n,
  CAST(SUM(CASE WHEN "s.v" IS NULL THEN 0 ELSE _weight END) AS BIGINT) AS _cql_count0,
  CAST(COALESCE(SUM(CAST("s.v" AS INT128) * _weight), 0) AS INT128) AS _cql_sum0
FROM (
  WITH lives AS (
    SELECT "s.v", "r.name", _cql_enter, _cql_leave, _weight FROM temp._cql_delta_q_3e3ce0545105_2
  )
  SELECT "r.name", "s.v", _cql_enter AS _ts, _weight FROM lives WHERE _cql_enter > $t0
  UNION ALL
  SELECT "r.name", "s.v", _cql_leave AS _ts, -_weight AS _weight FROM lives WHERE _cql_leave <= $t1
) AS elements GROUP BY "r.name", _ts;
CREATE OR REPLACE TEMPORARY TABLE temp._cql_delta_q_4fa66c14aed6_2 AS
SELECT *, (_cql_is IS DISTINCT FROM _cql_was OR sum0 IS DISTINCT FROM _cql_old_sum0) AS _cql_changed
FROM (
  WITH before AS (
    SELECT "r.name", CAST($t0 AS BIGINT) AS _ts, _cql_n, _cql_count0, _cql_sum0
    FROM cql_state.q_4fa66c14aed6_2_groups AS kept WHERE EXISTS(
        SELECT 1 FROM temp._cql_sums_q_4fa66c14aed6_2 AS changes
        WHERE changes."r.name" IS NOT DISTINCT FROM kept."r.name"
      )
  ), running AS (
    SELECT "r.name", _ts,
      CAST(SUM(_cql_n) OVER (PARTITION BY "r.name" ORDER BY _ts) AS BIGINT) AS _cql_n,
      _cql_n AS _cql_d_n,
      CAST(SUM(_cql_count0) OVER (PARTITION BY "r.name" ORDER BY _ts) AS BIGINT) AS _cql_count0,
      _cql_count0 AS _cql_count0_d,
      CAST(SUM(_cql_sum0) OVER (PARTITION BY "r.name" ORDER BY _ts) AS INT128) AS _cql_sum0,
      _cql_sum0 AS _cql_sum0_d, _cql_old,
      LEAD(_ts) OVER (PARTITION BY "r.name" ORDER BY _ts) IS NULL AS _cql_last
    FROM (
      SELECT "r.name", _ts, _cql_n, _cql_count0, _cql_sum0, TRUE AS _cql_old FROM before
      UNION ALL
      SELECT "r.name", _ts, _cql_n, _cql_count0, _cql_sum0, FALSE AS _cql_old
      FROM temp._cql_sums_q_4fa66c14aed6_2 AS changes
    ) AS history
  )
  SELECT r."r.name" AS "r.name", r._ts AS _ts, r._cql_n AS _cql_n, r._cql_count0 AS _cql_count0,
    r._cql_sum0 AS _cql_sum0, r._cql_last AS _cql_last, r._cql_n > 0 AS _cql_is,
    r._cql_n - r._cql_d_n > 0 AS _cql_was,
    CASE WHEN r._cql_count0 > 0 THEN CAST(r._cql_sum0 AS INT128) END AS sum0,
    CASE WHEN (r._cql_count0 - r._cql_count0_d) > 0
      THEN CAST((r._cql_sum0 - r._cql_sum0_d) AS INT128)
    END AS _cql_old_sum0 FROM running AS r WHERE r._ts > $t0
) AS results;
DELETE FROM cql_state.q_4fa66c14aed6_2_groups AS kept WHERE EXISTS(
    SELECT 1 FROM temp._cql_delta_q_4fa66c14aed6_2 AS delta
    WHERE _cql_last AND delta."r.name" IS NOT DISTINCT FROM kept."r.name"
  );
INSERT INTO cql_state.q_4fa66c14aed6_2_groups
SELECT "r.name", _cql_n, _cql_count0, _cql_sum0 FROM temp._cql_delta_q_4fa66c14aed6_2
WHERE _cql_last AND _cql_n > 0;

-- project
INSERT INTO cql_state.changes_q
SELECT "r.name" AS name, _cql_old_sum0 AS v, _ts, CAST(-1 AS BIGINT) AS _weight
FROM temp._cql_delta_q_4fa66c14aed6_2 WHERE _cql_was AND _cql_changed
UNION ALL
SELECT "r.name" AS name, sum0 AS v, _ts, CAST(1 AS BIGINT) AS _weight
FROM temp._cql_delta_q_4fa66c14aed6_2 WHERE _cql_is AND _cql_changed;

-- title: a semijoin
SELECT k, v FROM s [RANGE 5] WHERE k IN (SELECT k FROM r)
----
project(binary-join(seq-window(stream(s)), duplicate-eliminate(project(relation(r)))))

-- duplicate-eliminate
CREATE OR REPLACE TEMPORARY TABLE temp._cql_sums_61aa8aab31ae AS
SELECT match0, _ts, CAST(SUM(_weight) AS BIGINT) AS _cql_n
FROM (
  WITH lives AS (
    SELECT k AS "r.k", GREATEST(_cql_enter, $begin) AS _cql_enter, _cql_leave,
      CAST(1 AS BIGINT) AS _weight FROM temp._cql_changes_r($low, $t1)
    WHERE _cql_enter <= $t1 AND _cql_leave > $t0 AND _cql_leave > $begin
  )
  SELECT "r.k" AS match0, _cql_enter AS _ts, _weight FROM lives WHERE _cql_enter > $t0
  UNION ALL
  SELECT "r.k" AS match0, _cql_leave AS _ts, -_weight AS _weight FROM lives WHERE _cql_leave <= $t1
) AS elements GROUP BY match0, _ts;
CREATE OR REPLACE TEMPORARY TABLE temp._cql_delta_q_1851b6a36a35 AS
SELECT *, (_cql_is IS DISTINCT FROM _cql_was) AS _cql_changed
FROM (
  WITH before AS (
    SELECT match0, CAST($t0 AS BIGINT) AS _ts, _cql_n FROM cql_state.q_1851b6a36a35_groups AS kept
    WHERE EXISTS(
        SELECT 1 FROM temp._cql_sums_61aa8aab31ae AS changes
        WHERE changes.match0 IS NOT DISTINCT FROM kept.match0
      )
  ), running AS (
    SELECT
      match0, _ts, CAST(SUM(_cql_n) OVER (PARTITION BY match0 ORDER BY _ts) AS BIGINT) AS _cql_n,
      _cql_n AS _cql_d_n, _cql_old,
      LEAD(_ts) OVER (PARTITION BY match0 ORDER BY _ts) IS NULL AS _cql_last
    FROM (
      SELECT match0, _ts, _cql_n, TRUE AS _cql_old FROM before
      UNION ALL
      SELECT match0, _ts, _cql_n, FALSE AS _cql_old FROM temp._cql_sums_61aa8aab31ae AS changes
    ) AS history
  )
  SELECT r.match0 AS match0, r._ts AS _ts, r._cql_n AS _cql_n, r._cql_last AS _cql_last,
    r._cql_n > 0 AS _cql_is, r._cql_n - r._cql_d_n > 0 AS _cql_was FROM running AS r
  WHERE r._ts > $t0
) AS results;
CREATE OR REPLACE TEMPORARY TABLE temp._cql_lives_q_1851b6a36a35 AS
WITH changed AS (
  SELECT *, LEAD(_ts) OVER (PARTITION BY match0 ORDER BY _ts) AS _cql_end,
    LAG(_ts) OVER (PARTITION BY match0 ORDER BY _ts) AS _cql_begin
  FROM temp._cql_delta_q_1851b6a36a35 WHERE _cql_changed
)
SELECT match0, _ts AS _cql_enter, COALESCE(_cql_end, 9223372036854775807) AS _cql_leave,
  CAST(1 AS BIGINT) AS _weight FROM changed WHERE _cql_is
UNION ALL
SELECT match0, CAST($t0 AS BIGINT) AS _cql_enter, _ts AS _cql_leave, CAST(1 AS BIGINT) AS _weight
FROM changed WHERE _cql_was AND _cql_begin IS NULL;
DELETE FROM cql_state.q_1851b6a36a35_groups AS kept WHERE EXISTS(
    SELECT 1 FROM temp._cql_delta_q_1851b6a36a35 AS delta
    WHERE _cql_last AND delta.match0 IS NOT DISTINCT FROM kept.match0
  );
INSERT INTO cql_state.q_1851b6a36a35_groups
SELECT match0, _cql_n FROM temp._cql_delta_q_1851b6a36a35 WHERE _cql_last AND _cql_n > 0;

-- seq-window
CREATE OR REPLACE TEMPORARY TABLE temp._cql_lives_749466e12519 AS
SELECT
  k AS "s.k", v AS "s.v", _ts AS _cql_enter, _ts + 6 AS _cql_leave, CAST(1 AS BIGINT) AS _weight
FROM temp._cql_arrivals_s($t0, $t1)
UNION ALL
SELECT
  k AS "s.k", v AS "s.v", _ts AS _cql_enter, _ts + 6 AS _cql_leave, CAST(1 AS BIGINT) AS _weight
FROM temp._cql_stream_s() WHERE _ts > $since AND _ts <= $t1 - 6 AND _ts > $t0 - 6 AND _ts <= $t0;

-- binary-join
CREATE OR REPLACE TEMPORARY TABLE temp._cql_delta_q_664c5df7da9f_2 (
  "s.k" INT, "s.v" BIGINT, _cql_enter BIGINT, _cql_leave BIGINT, _weight BIGINT
);
INSERT INTO temp._cql_delta_q_664c5df7da9f_2
SELECT i0."s.k", i0."s.v", GREATEST(i0._cql_enter, i1._cql_enter) AS _cql_enter,
  LEAST(i0._cql_leave, i1._cql_leave) AS _cql_leave, i0._weight * i1._weight AS _weight
FROM temp._cql_lives_749466e12519 AS i0
CROSS JOIN (
  SELECT match0, CAST($t0 AS BIGINT) AS _cql_enter, 9223372036854775807 AS _cql_leave, _weight
  FROM (SELECT match0, CAST(1 AS BIGINT) AS _weight FROM cql_state.q_1851b6a36a35_groups) AS groups
  WHERE NOT EXISTS(
      SELECT 1 FROM temp._cql_delta_q_1851b6a36a35 AS delta
      WHERE _cql_changed AND delta.match0 IS NOT DISTINCT FROM groups.match0
    )
  UNION ALL
  SELECT match0, _cql_enter, _cql_leave, _weight
  FROM (
    WITH changed AS (
      SELECT *, LEAD(_ts) OVER (PARTITION BY match0 ORDER BY _ts) AS _cql_end,
        LAG(_ts) OVER (PARTITION BY match0 ORDER BY _ts) AS _cql_begin
      FROM temp._cql_delta_q_1851b6a36a35 WHERE _cql_changed
    )
    SELECT match0, _ts AS _cql_enter, COALESCE(_cql_end, 9223372036854775807) AS _cql_leave,
      CAST(1 AS BIGINT) AS _weight FROM changed WHERE _cql_is
    UNION ALL
    SELECT
      match0, CAST($t0 AS BIGINT) AS _cql_enter, _ts AS _cql_leave, CAST(1 AS BIGINT) AS _weight
    FROM changed WHERE _cql_was AND _cql_begin IS NULL
  ) AS arm
) AS i1
WHERE i0."s.k" = i1.match0 AND i0._cql_enter < i1._cql_leave AND i1._cql_enter < i0._cql_leave;
INSERT INTO temp._cql_delta_q_664c5df7da9f_2
SELECT i0.k AS "s.k", i0.v AS "s.v", GREATEST(i1._cql_enter, i0._ts) AS _cql_enter,
  LEAST(i1._cql_leave, (i0._ts + 6)) AS _cql_leave, i1._weight * CAST(1 AS BIGINT) AS _weight
FROM temp._cql_lives_q_1851b6a36a35 AS i1
CROSS JOIN temp._cql_stream_s() AS i0
WHERE i0._ts > $since AND i0._ts <= $t0 AND i0._ts > $t1 - 6 AND i0.k = i1.match0
  AND i1._cql_enter < (i0._ts + 6) AND i0._ts < i1._cql_leave;

-- project
INSERT INTO cql_state.changes_q
SELECT k, v, _ts, CAST(SUM(_weight) AS BIGINT) AS _weight
FROM (
  WITH lives AS (
    SELECT "s.k", "s.v", _cql_enter, _cql_leave, _weight FROM temp._cql_delta_q_664c5df7da9f_2
  )
  SELECT "s.k" AS k, "s.v" AS v, _cql_enter AS _ts, _weight FROM lives WHERE _cql_enter > $t0
  UNION ALL
  SELECT "s.k" AS k, "s.v" AS v, _cql_leave AS _ts, -_weight AS _weight FROM lives
  WHERE _cql_leave <= $t1
) AS elements GROUP BY k, v, _ts
HAVING SUM(_weight) <> 0;
