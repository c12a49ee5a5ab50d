-- law: of a bag's changes S sums up, M = S − min(0, min S) stands; the copy that came first leaves first
-- operator: bags.outcome
-- node: Relation()
-- held(k INTEGER, v INTEGER):
--   0: (3, 1) (3, 1) (6, NULL) (4, 1) (4, 1); 1: (1, 1) (NULL, 1); 0..2: (1, 1)
-- changes(k INTEGER, v INTEGER, op VARCHAR):
--   3: (1, 1, '-') (1, 1, '-') (NULL, 1, '+') (NULL, 1, '-') (NULL, 1, '-') (1, 2, '+')
--   4: (1, 1, '+') (1, 1, '+') (3, 1, '+') (3, 1, '+') (3, 1, '-') (6, NULL, '-')
--   5: (2, 1, '+') (2, 1, '+') (3, 1, '-') (4, 1, '-') (7, 1, '+') (7, 1, '-') (7, 1, '-')
--   6: (1, 1, '-') (3, 1, '-') (3, 1, '+') (NULL, 1, '+') (NULL, 1, '-') (NULL, 1, '+')
--   7: (1, 2, '-') (3, 1, '-') (3, 1, '-'); 9: (2, 1, '-')
-- ticks: 7
-- kept outcome:
--   (5, NULL, 3, 0) (6, NULL, 3, 0) (12, 3, 7, 0) (2, NULL, 4, 0) (13, 4, 6, 0)
--   (14, 4, 9223372036854775807, 0) (16, 4, 7, 0) (0, NULL, 5, 0) (3, NULL, 5, 0)
--   (19, 5, 9223372036854775807, 0) (20, 5, 9223372036854775807, 0) (31, 6, 9223372036854775807, 0)
--   (1, NULL, 7, 0) (7, 3, NULL, -1) (24, 5, NULL, -1)
-- same, what no deletion touches stays as it is:
--   what the changes come to: without q._op = '-'
--   what the changes come to: without q.k IS NOT DISTINCT FROM s.k
--   what the changes come to: without q.v IS NOT DISTINCT FROM s.v
-- same, each row has a partner, and a semijoin no side:
--   what the changes come to: INNER JOIN pending AS q -> LEFT
--   what the changes come to: INNER JOIN judged AS j -> LEFT
-- same, a tuple is known by any of its rows:
--   what the changes come to: MIN(_cql_seq) -> MAX(_cql_seq)
----
-- what the changes come to
WITH pending AS (
  SELECT k, v, _ts, _op, _cql_seq, _ts AS _cql_enter FROM cql_state.queue WHERE _ts <= $until
), history AS (
  SELECT s.k, s.v, CAST(NULL AS BIGINT) AS _ts, '+' AS _op, s._cql_seq, s._cql_enter
  FROM cql_state.store AS s
  SEMI JOIN pending AS q
    ON q._op = '-' AND (q.k IS NOT DISTINCT FROM s.k AND q.v IS NOT DISTINCT FROM s.v)
  WHERE s._cql_leave = 9223372036854775807
  UNION ALL
  SELECT * FROM pending
), numbered AS (
  SELECT _cql_seq, _ts, _cql_enter, _op = '-' AS _cql_deletes,
    MIN(_cql_seq) OVER (PARTITION BY k, v) AS _cql_tuple FROM history
), changes AS (
  SELECT _cql_tuple, _ts, CAST(SUM(CASE WHEN _cql_deletes THEN -1 ELSE 1 END) AS BIGINT) AS _cql_d,
    MIN(_cql_seq) FILTER(WHERE _cql_deletes) AS _cql_row FROM numbered GROUP BY _cql_tuple, _ts
), sums AS (
  SELECT *, SUM(_cql_d) OVER (PARTITION BY _cql_tuple ORDER BY _ts NULLS FIRST) AS _cql_s
  FROM changes
), lowest AS (
  SELECT *, LEAST(0, MIN(_cql_s) OVER (PARTITION BY _cql_tuple ORDER BY _ts NULLS FIRST)) AS _cql_m
  FROM sums
), judged AS (
  SELECT _cql_tuple, _ts, _cql_row, _cql_missing, CAST(_cql_d - _cql_missing AS BIGINT) AS _cql_d
  FROM (
    SELECT *,
      _cql_m - COALESCE(LAG(_cql_m) OVER (PARTITION BY _cql_tuple ORDER BY _ts NULLS FIRST), 0) AS _cql_missing
    FROM lowest
  ) AS falls
), come AS (
  SELECT i._cql_seq, i._ts, i._cql_tuple, ROW_NUMBER() OVER (
      PARTITION BY i._cql_tuple
      ORDER BY i._cql_enter NULLS FIRST, i._cql_seq NULLS FIRST
    ) AS _cql_place
  FROM (
    SELECT _cql_seq, _ts, _cql_enter, _cql_tuple,
      ROW_NUMBER() OVER (PARTITION BY _cql_tuple, _ts ORDER BY _cql_seq DESC) AS _cql_place
    FROM numbered WHERE NOT _cql_deletes
  ) AS i
  JOIN judged AS j ON i._cql_tuple = j._cql_tuple AND i._ts IS NOT DISTINCT FROM j._ts
  WHERE i._cql_place <= j._cql_d
), gone AS (
  SELECT _cql_tuple, _ts,
    ROW_NUMBER() OVER (PARTITION BY _cql_tuple ORDER BY _ts NULLS FIRST) AS _cql_place
  FROM (SELECT _cql_tuple, _ts, UNNEST(RANGE(-_cql_d)) AS _cql_place FROM judged) AS deletions
)
SELECT *
FROM (
  SELECT c._cql_seq AS _cql_seq, c._ts AS _ts, COALESCE(g._ts, 9223372036854775807) AS _cql_leave,
    CAST(0 AS BIGINT) AS _cql_wrong FROM come AS c
  LEFT JOIN gone AS g ON c._cql_tuple = g._cql_tuple AND c._cql_place = g._cql_place
  WHERE NOT (c._ts IS NULL AND g._ts IS NULL)
  UNION ALL
  SELECT _cql_row AS _cql_seq, _ts, CAST(NULL AS BIGINT) AS _cql_leave,
    CAST(_cql_missing AS BIGINT) AS _cql_wrong FROM judged WHERE _cql_missing < 0
) AS outcome;

-- law: under a key the state of an instant lasts until the first later one that ends it
-- operator: primary_key.outcome
-- node: Relation(key=("k",))
-- held(k INTEGER, v INTEGER):
--   0: (2, NULL) (3, NULL) (4, 1) (5, NULL) (7, 2) (8, NULL) (NULL, NULL); 0..2: (4, 1) (8, 2)
-- changes(k INTEGER, v INTEGER, op VARCHAR):
--   3: (1, 2, '+') (2, NULL, '+') (2, 0, 'u') (2, NULL, 'u') (3, 2, '-') (3, NULL, '+') (3, 1, '+')
--   3: (4, 1, '-') (5, NULL, 'u') (5, NULL, '+') (5, 2, '+') (7, 0, '+') (8, NULL, 'u') (NULL, 2, '+')
--   3: (9, 1, 'u') (9, 1, '-') (10, 1, '-')
--   4: (3, 0, '-') (5, 0, '-') (7, 0, '-') (7, 0, '+') (7, 0, '-') (8, NULL, '-') (NULL, 0, '-')
--   4: (9, 1, '+') (9, 2, '+') (10, 1, '+') (10, 2, '+')
--   5: (2, 0, '-') (4, NULL, '-') (4, NULL, '+') (5, NULL, '+') (5, NULL, '-') (5, NULL, '-')
--   5: (6, 1, '-') (6, 0, '-') (6, 0, '-') (8, NULL, '-') (8, NULL, '-') (NULL, NULL, '+') (NULL, 1, '-')
--   6: (2, 1, 'u') (2, 1, '-') (3, 2, '-') (4, 1, '-') (5, NULL, '+') (6, NULL, '+') (7, 0, '-')
--   6: (8, 1, '+') (8, 2, 'u') (NULL, NULL, '-')
--   7: (1, 0, '+') (2, 2, '+') (2, 1, '-') (3, NULL, '+') (3, NULL, '-') (5, 1, '+') (5, 0, '+') (5, 1, '-')
--   7: (7, 2, '+') (7, NULL, '+') (8, NULL, '+') (8, 0, 'u') (NULL, 1, '+') (NULL, 0, '+'); 9: (8, 0, '-')
-- ticks: 7
-- kept outcome:
--   (2, NULL, 3, 0) (7, 3, 9223372036854775807, 0) (5, NULL, 4, 0) (31, 4, 9223372036854775807, 0)
--   (33, 4, 9223372036854775807, 0) (3, NULL, 5, 0) (0, NULL, 6, 0) (6, NULL, 6, 0)
--   (52, 6, 9223372036854775807, 0) (53, 6, 9223372036854775807, 0) (56, 6, 7, 0)
--   (59, 7, 9223372036854775807, 0) (69, 7, 9223372036854775807, 0) (70, 7, 9223372036854775807, 0)
--   (11, 3, NULL, -1) (12, 3, NULL, 1) (13, 3, NULL, 1) (15, 3, NULL, 1) (17, 3, NULL, 1)
--   (18, 3, NULL, 1) (20, 3, NULL, 1) (23, 3, NULL, -1) (24, 4, NULL, -1) (25, 4, NULL, -1)
--   (27, 4, NULL, -1) (30, 4, NULL, -1) (32, 4, NULL, 1) (34, 4, NULL, 1) (35, 5, NULL, -1)
--   (41, 5, NULL, -1) (42, 5, NULL, -2) (44, 5, NULL, -2) (46, 5, NULL, 1) (47, 5, NULL, -1)
--   (50, 6, NULL, -1) (51, 6, NULL, -1) (54, 6, NULL, -1) (58, 7, NULL, 1) (60, 7, NULL, -1)
--   (64, 7, NULL, 1) (66, 7, NULL, 1) (67, 7, NULL, 1) (71, 7, NULL, 1)
-- same, a key's row is known without when it came:
--   what the changes come to: s._cql_enter -> s._cql_leave AS _cql_enter
-- same, what no change touches stays as it is:
--   what the changes come to: without q.k IS NOT DISTINCT FROM s.k
-- same, each row has a partner, and a semijoin no side:
--   what the changes come to: INNER JOIN pending AS q -> LEFT
--   what the changes come to: INNER JOIN stood AS i -> LEFT
-- same, a key, a tuple and an upsert are known by any of their rows:
--   what the changes come to: MIN(_cql_seq) -> MAX(_cql_seq)
--   what the changes come to: MIN(_cql_seq) -> MAX(_cql_seq) 2
--   what the changes come to: MAX(_cql_upsert) -> MIN(_cql_upsert)
-- same, from nothing to nothing is no change, and the next instant as good as the one that gives a tuple:
--   what the changes come to: without _cql_state <> -1 3
--   what the changes come to: -1 -> 1 6
--   what the changes come to: -1 with 2 6
--   what the changes come to: -1 -> 1 9
--   what the changes come to: -1 with 2 9
----
-- what the changes come to
WITH RECURSIVE pending AS (
  SELECT k, v, _ts, _op, _cql_seq, _ts AS _cql_enter FROM cql_state.queue WHERE _ts <= $until
), history AS (
  SELECT s.k, s.v, CAST(NULL AS BIGINT) AS _ts, 'u' AS _op, s._cql_seq, s._cql_enter
  FROM cql_state.store AS s
  SEMI JOIN pending AS q ON q.k IS NOT DISTINCT FROM s.k WHERE s._cql_leave = 9223372036854775807
  UNION ALL
  SELECT * FROM pending
), numbered AS (
  SELECT _cql_seq, _ts, _op, MIN(_cql_seq) OVER (PARTITION BY k) AS _cql_key,
    MIN(_cql_seq) OVER (PARTITION BY k, v) AS _cql_tuple,
    MAX(CASE WHEN _op = 'u' THEN _cql_seq END) OVER (PARTITION BY k, _ts) AS _cql_upsert
  FROM history
), sums AS (
  SELECT _cql_key, _cql_tuple, _ts,
    CAST(SUM(CASE WHEN _op = '-' THEN -1 WHEN _op = 'u' THEN 0 ELSE 1 END) AS BIGINT) AS _cql_d,
    BOOL_OR(CAST(_cql_seq IS NOT DISTINCT FROM _cql_upsert AS BOOLEAN)) AS _cql_is_set,
    COALESCE(MIN(_cql_seq) FILTER(WHERE NOT _op = '-'), MIN(_cql_seq)) AS _cql_row,
    NOT MAX(_cql_upsert) IS NULL AS _cql_resets FROM numbered
  WHERE _cql_upsert IS NULL OR _cql_seq >= _cql_upsert GROUP BY _cql_key, _cql_tuple, _ts
), ranked AS (
  SELECT *, (_cql_is_set AND _cql_d >= 0) OR _cql_d > 0 AS _cql_gives,
    MIN(_ts) FILTER(WHERE _cql_d < 0) OVER (
      PARTITION BY _cql_tuple
      ORDER BY _ts NULLS FIRST
      ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING
    ) AS _cql_ends FROM sums
), instants AS (
  SELECT _cql_key, _ts, _cql_resets, _cql_row, _cql_ends,
    CASE WHEN _cql_gives THEN _cql_tuple ELSE -1 END AS _cql_state FROM ranked
  QUALIFY
    ROW_NUMBER() OVER (PARTITION BY _cql_key, _ts ORDER BY _cql_gives DESC, _cql_row NULLS FIRST) = 1
), linked AS (
  SELECT _cql_key, _ts, _cql_resets, _cql_row, _cql_state, LEAST(
      MIN(_ts) FILTER(WHERE _cql_resets) OVER (
        PARTITION BY _cql_key
        ORDER BY _ts NULLS FIRST
        ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING
      ), CASE WHEN _cql_state <> -1
        THEN _cql_ends
        ELSE MIN(_ts) FILTER(WHERE _cql_state <> -1) OVER (
          PARTITION BY _cql_key
          ORDER BY _ts NULLS FIRST
          ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING
        )
      END
    ) AS _cql_next, _cql_resets
    OR (
      _cql_state <> -1 AND NOT COALESCE(
        BOOL_OR(CAST((
          _cql_resets OR _cql_state <> -1
        ) AS BOOLEAN)) OVER (
          PARTITION BY _cql_key
          ORDER BY _ts NULLS FIRST
          ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ), FALSE
      )
    ) AS _cql_begins FROM instants
), chain AS (
  SELECT _cql_key, _ts, _cql_next FROM linked WHERE _cql_begins
  UNION ALL
  SELECT l._cql_key, l._ts, l._cql_next FROM chain AS c
  JOIN linked AS l ON l._cql_key = c._cql_key AND l._ts = c._cql_next AND NOT l._cql_resets
), stood AS (
  SELECT l._cql_key, l._ts, l._cql_resets, l._cql_row, l._cql_state,
    NOT c._cql_key IS NULL AS _cql_takes_place, COALESCE(
      LAST_VALUE(CASE WHEN NOT c._cql_key IS NULL THEN l._cql_state END IGNORE NULLS) OVER (
        PARTITION BY l._cql_key
        ORDER BY l._ts NULLS FIRST
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
      ), -1
    ) AS _cql_before FROM linked AS l
  LEFT JOIN chain AS c ON l._cql_key = c._cql_key AND l._ts IS NOT DISTINCT FROM c._ts
), changes AS (
  SELECT _cql_row, _ts, _cql_state,
    LEAD(_ts) OVER (PARTITION BY _cql_key ORDER BY _ts NULLS FIRST) AS _cql_ends FROM stood
  WHERE _cql_takes_place AND _cql_state <> _cql_before
)
SELECT *
FROM (
  SELECT _cql_row AS _cql_seq, _ts, COALESCE(_cql_ends, 9223372036854775807) AS _cql_leave,
    CAST(0 AS BIGINT) AS _cql_wrong FROM changes
  WHERE _cql_state <> -1 AND NOT (_ts IS NULL AND _cql_ends IS NULL)
  UNION ALL
  SELECT *
  FROM (
    SELECT s._cql_row AS _cql_seq, s._ts AS _ts, CAST(NULL AS BIGINT) AS _cql_leave,
      CAST(s._cql_d - CASE WHEN s._cql_d < 0
        AND CASE WHEN i._cql_resets THEN s._cql_is_set ELSE s._cql_tuple = i._cql_before END
        THEN -1
        WHEN i._cql_takes_place AND s._cql_tuple = i._cql_state AND NOT s._cql_is_set
        THEN 1
        ELSE 0
      END AS BIGINT) AS _cql_wrong FROM sums AS s
    JOIN stood AS i ON s._cql_key = i._cql_key AND s._ts = i._ts
  ) AS rest WHERE _cql_wrong <> 0
) AS outcome;

-- law: of upserts alone the last of each key and instant counts
-- operator: primary_key.latest
-- node: Relation(key=("k",))
-- held(k INTEGER, v INTEGER):
--   0: (1, 2) (2, 2) (NULL, 2); 0..2: (4, 9)
-- changes(k INTEGER, v INTEGER, op VARCHAR):
--   3: (1, 1, 'u') (NULL, 0, 'u') (NULL, NULL, 'u') (2, 2, 'u') (4, 9, 'u')
--   4: (NULL, 0, 'u'); 5: (1, 0, 'u') (1, 2, 'u') (1, NULL, 'u')
--   7: (1, NULL, 'u') (NULL, NULL, 'u') (NULL, NULL, 'u'); 9: (1, 6, 'u')
-- ticks: 7
-- kept outcome:
--   (0, NULL, 3, 0) (2, NULL, 3, 0) (3, 3, 5, 0) (5, 3, 4, 0) (7, 3, 9223372036854775807, 0)
--   (8, 4, 7, 0) (11, 5, 9223372036854775807, 0) (14, 7, 9223372036854775807, 0)
-- same, a key's row is known without when it came: as above
-- same, what no change touches stays as it is: as above
-- same, a semijoin has no side:
--   what the changes come to: INNER JOIN pending AS q -> LEFT
-- same, a key and a tuple are known by any of their rows, and a tuple among those of its key:
--   what the changes come to: MIN(_cql_seq) -> MAX(_cql_seq)
--   what the changes come to: MIN(_cql_seq) -> MAX(_cql_seq) 2
--   what the changes come to: MIN(_cql_seq) OVER (PARTITION BY k, v) without k
-- same, an upsert gives a tuple, and takes place:
--   what the changes come to: without _cql_state <> -1
--   what the changes come to: -1 with 2
--   what the changes come to: -1 with 2 2
--   what the changes come to: without _cql_takes_place
--   what the changes come to: -1 -> 1
--   what the changes come to: -1 -> 1 2
----
-- what the changes come to
WITH pending AS (
  SELECT k, v, _ts, _op, _cql_seq, _ts AS _cql_enter FROM cql_state.queue WHERE _ts <= $until
), stood AS (
  SELECT *,
    COALESCE(LAG(_cql_state) OVER (PARTITION BY _cql_key ORDER BY _ts NULLS FIRST), -1) AS _cql_before
  FROM (
    SELECT _cql_seq AS _cql_row, _ts, MIN(_cql_seq) OVER (PARTITION BY k) AS _cql_key,
      MIN(_cql_seq) OVER (PARTITION BY k, v) AS _cql_state, TRUE AS _cql_takes_place
    FROM (
      SELECT s.k, s.v, CAST(NULL AS BIGINT) AS _ts, 'u' AS _op, s._cql_seq, s._cql_enter
      FROM cql_state.store AS s
      SEMI JOIN pending AS q ON q.k IS NOT DISTINCT FROM s.k
      WHERE s._cql_leave = 9223372036854775807
      UNION ALL
      SELECT * FROM pending
    ) AS history
    QUALIFY ROW_NUMBER() OVER (PARTITION BY k, _ts ORDER BY _cql_seq DESC) = 1
  ) AS set
), changes AS (
  SELECT _cql_row, _ts, _cql_state,
    LEAD(_ts) OVER (PARTITION BY _cql_key ORDER BY _ts NULLS FIRST) AS _cql_ends FROM stood
  WHERE _cql_takes_place AND _cql_state <> _cql_before
)
SELECT _cql_row AS _cql_seq, _ts, COALESCE(_cql_ends, 9223372036854775807) AS _cql_leave,
  CAST(0 AS BIGINT) AS _cql_wrong FROM changes
WHERE _cql_state <> -1 AND NOT (_ts IS NULL AND _cql_ends IS NULL);

-- law: at one instant f is applied once: nothing is linked
-- operator: primary_key_once.outcome
-- node: Relation(key=("k",), lead="k", matches_null=False)
-- held(k INTEGER, v INTEGER):
--   0: (1, 2) (2, 1) (3, 1) (5, 1) (9, 1); 0..2: (4, 0)
-- changes(k INTEGER, v INTEGER, op VARCHAR):
--   3: (1, NULL, 'u') (2, 1, '-') (2, 1, '-') (3, NULL, '+') (4, 0, '+') (4, NULL, '+') (4, NULL, '+')
--   3: (5, 2, '-') (5, NULL, 'u') (5, 1, 'u') (5, 1, '+') (6, 0, '+') (6, 2, '+') (6, 0, '-')
--   3: (7, NULL, '-') (7, NULL, '+') (7, NULL, '-') (8, NULL, '+') (8, NULL, '-') (8, 2, '-')
--   3: (9, 2, '+') (9, 1, '+')
-- ticks: 3
-- kept outcome:
--   (0, NULL, 3, 0) (1, NULL, 3, 0) (5, 3, 9223372036854775807, 0) (9, 3, 9223372036854775807, 0)
--   (17, 3, 9223372036854775807, 0) (6, 3, NULL, -1) (8, 3, NULL, 1) (10, 3, NULL, 2) (14, 3, NULL, 1)
--   (20, 3, NULL, -1) (24, 3, NULL, -1) (25, 3, NULL, 1) (26, 3, NULL, 1)
-- same, a tuple and an upsert are known by any of their rows:
--   what the changes come to: MIN(_cql_seq) -> MAX(_cql_seq) 3
--   what the changes come to: MAX(_cql_upsert) -> MIN(_cql_upsert)
----
-- what the changes come to
WITH pending AS (
  SELECT k, v, _ts, _op, _cql_seq, _ts AS _cql_enter FROM temp.few
), counted AS (
  SELECT k, v, _ts, _op, _cql_seq,
    MAX(CASE WHEN _op = 'u' AND NOT _ts IS NULL THEN _cql_seq END) OVER (PARTITION BY k) AS _cql_upsert
  FROM (
    SELECT s.k, s.v, CAST(NULL AS BIGINT) AS _ts, 'u' AS _op, s._cql_seq, s._cql_enter
    FROM temp.held AS s
    UNION ALL
    SELECT * FROM pending
  ) AS history
  QUALIFY _ts IS NULL OR _cql_upsert IS NULL OR _cql_seq >= _cql_upsert
), sums AS (
  SELECT k, v,
    CAST(SUM(CASE WHEN _op = '-' THEN -1 WHEN _op = 'u' THEN 0 ELSE 1 END) AS BIGINT) AS _cql_d,
    COALESCE(
      MIN(_cql_seq) FILTER(WHERE NOT _ts IS NULL AND NOT _op = '-'),
      MIN(_cql_seq) FILTER(WHERE NOT _ts IS NULL)
    ) AS _cql_row, MIN(_cql_seq) FILTER(WHERE _ts IS NULL) AS _cql_held,
    BOOL_OR(CAST(_cql_seq IS NOT DISTINCT FROM _cql_upsert AS BOOLEAN)) AS _cql_is_set,
    NOT MAX(_cql_upsert) IS NULL AS _cql_resets FROM counted GROUP BY k, v
), judged AS (
  SELECT _cql_d, _cql_row, _cql_held, _cql_is_set, _cql_resets, _cql_resets
    OR BOOL_OR(CAST(NOT _cql_held IS NULL AND _cql_d < 0 AS BOOLEAN)) OVER (PARTITION BY k)
    OR NOT BOOL_OR(CAST(NOT _cql_held IS NULL AS BOOLEAN)) OVER (PARTITION BY k) AS _cql_takes_place,
    ((_cql_is_set AND _cql_d >= 0) OR _cql_d > 0) AND ROW_NUMBER() OVER (
      PARTITION BY k
      ORDER BY (_cql_is_set AND _cql_d >= 0) OR _cql_d > 0 DESC, _cql_row NULLS FIRST
    ) = 1 AS _cql_stands FROM sums
)
SELECT *
FROM (
  SELECT
    COALESCE(_cql_held, _cql_row) AS _cql_seq, CASE WHEN _cql_held IS NULL THEN $instant END AS _ts,
    COALESCE(CASE WHEN NOT _cql_held IS NULL THEN $instant END, 9223372036854775807) AS _cql_leave,
    CAST(0 AS BIGINT) AS _cql_wrong FROM judged
  WHERE _cql_takes_place AND _cql_stands <> (NOT _cql_held IS NULL)
  UNION ALL
  SELECT *
  FROM (
    SELECT
      _cql_row AS _cql_seq, $instant AS _ts, CAST(NULL AS BIGINT) AS _cql_leave, CAST(_cql_d - CASE
        WHEN _cql_d < 0 AND (CASE WHEN _cql_resets THEN _cql_is_set ELSE NOT _cql_held IS NULL END)
        THEN -1
        WHEN (_cql_takes_place AND _cql_stands) AND NOT _cql_is_set
        THEN 1
        ELSE 0
      END AS BIGINT) AS _cql_wrong FROM judged
  ) AS rest WHERE _cql_wrong <> 0
) AS outcome;

-- law: without upserts a key has h, or if h goes or is not, the first that is inserted
-- operator: primary_key_once.without_upserts
-- node: Relation(key=("k",), lead="k", matches_null=False)
-- held(k INTEGER, v INTEGER):
--   0: (1, 2) (2, 1) (3, 1) (5, 1) (9, 1); 0..2: (4, 0)
-- changes(k INTEGER, v INTEGER, op VARCHAR):
--   3: (2, 1, '-') (2, 1, '-') (3, NULL, '+') (4, 0, '+') (4, NULL, '+') (4, NULL, '+')
--   3: (5, 2, '-') (5, 1, '+') (6, 0, '+') (6, 2, '+') (6, 0, '-')
--   3: (7, NULL, '-') (7, NULL, '+') (7, NULL, '-') (8, NULL, '+') (8, NULL, '-') (8, 2, '-')
--   3: (9, 2, '+') (9, 1, '-') (1, 2, '-') (1, 2, '+') (1, NULL, '+')
-- ticks: 3
-- kept outcome:
--   (1, NULL, 3, 0) (4, NULL, 3, 0) (8, 3, 9223372036854775807, 0) (14, 3, 9223372036854775807, 0)
--   (22, 3, 9223372036854775807, 0) (5, 3, NULL, -1) (7, 3, NULL, 1) (9, 3, NULL, 2) (11, 3, NULL, -1)
--   (12, 3, NULL, 1) (17, 3, NULL, -1) (21, 3, NULL, -1) (26, 3, NULL, 1)
-- same, a tuple is known by any of its rows:
--   what the changes come to: MIN(_cql_seq) -> MAX(_cql_seq) 3
----
-- what the changes come to
WITH pending AS (
  SELECT k, v, _ts, _op, _cql_seq, _ts AS _cql_enter FROM temp.few
), counted AS (
  SELECT s.k, s.v, CAST(NULL AS BIGINT) AS _ts, 'u' AS _op, s._cql_seq, s._cql_enter
  FROM temp.held AS s
  UNION ALL
  SELECT * FROM pending
), sums AS (
  SELECT k, v,
    CAST(SUM(CASE WHEN _op = '-' THEN -1 WHEN _op = 'u' THEN 0 ELSE 1 END) AS BIGINT) AS _cql_d,
    COALESCE(
      MIN(_cql_seq) FILTER(WHERE NOT _ts IS NULL AND NOT _op = '-'),
      MIN(_cql_seq) FILTER(WHERE NOT _ts IS NULL)
    ) AS _cql_row, MIN(_cql_seq) FILTER(WHERE _ts IS NULL) AS _cql_held FROM counted GROUP BY k, v
), judged AS (
  SELECT _cql_d, _cql_row, _cql_held,
    BOOL_OR(CAST(NOT _cql_held IS NULL AND _cql_d < 0 AS BOOLEAN)) OVER (PARTITION BY k)
    OR NOT BOOL_OR(CAST(NOT _cql_held IS NULL AS BOOLEAN)) OVER (PARTITION BY k) AS _cql_takes_place,
    _cql_d > 0
    AND ROW_NUMBER() OVER (PARTITION BY k ORDER BY _cql_d > 0 DESC, _cql_row NULLS FIRST) = 1 AS _cql_stands
  FROM sums
)
SELECT *
FROM (
  SELECT
    COALESCE(_cql_held, _cql_row) AS _cql_seq, CASE WHEN _cql_held IS NULL THEN $instant END AS _ts,
    COALESCE(CASE WHEN NOT _cql_held IS NULL THEN $instant END, 9223372036854775807) AS _cql_leave,
    CAST(0 AS BIGINT) AS _cql_wrong FROM judged
  WHERE _cql_takes_place AND _cql_stands <> (NOT _cql_held IS NULL)
  UNION ALL
  SELECT *
  FROM (
    SELECT _cql_row AS _cql_seq, $instant AS _ts, CAST(NULL AS BIGINT) AS _cql_leave,
      CAST(_cql_d - CASE WHEN _cql_d < 0 AND NOT _cql_held IS NULL
        THEN -1
        WHEN _cql_takes_place AND _cql_stands
        THEN 1
        ELSE 0
      END AS BIGINT) AS _cql_wrong FROM judged
  ) AS rest WHERE _cql_wrong <> 0
) AS outcome;

-- law: where each key swaps its tuple at most once, each element is what changes
-- operator: primary_key_swap.changed
-- node: Relation(key=("k", "p"), lead="k", matches_null=False)
-- held(k INTEGER, p INTEGER, v DOUBLE, w INTEGER):
--   0: (1, 1, '-0.0'::DOUBLE, 1) (1, 2, NULL, 1) (2, 1, 1, NULL) (3, 1, 5, 5) (4, 1, 0, 1) (7, 1, 1, 2)
--   0..2: (6, 1, 0, 0)
-- changes(k INTEGER, p INTEGER, v DOUBLE, w INTEGER, op VARCHAR):
--   3: (1, 1, 0, 1, '-') (1, 2, NULL, 1, '-') (1, 2, NULL, 2, '+') (2, 1, 1, NULL, '-')
--   3: (2, 1, 2, NULL, '+') (2, 2, 1, 1, '+') (5, 1, NULL, NULL, '+') (4, 1, '-0.0'::DOUBLE, 1, '-')
--   3: (6, 1, 0, 0, '+') (7, 1, 1, 2, '-') (7, 1, 2, 2, '+')
-- ticks: 3
-- kept outcome:
--   (1, 1, '-0.0'::DOUBLE, 1, 0, 3, 0, 6, 0, true) (1, 2, NULL, 1, 0, 3, 1, 5, 1, true)
--   (1, 2, NULL, 2, 3, 9223372036854775807, 8, NULL, 1, false) (2, 1, 1.0, NULL, 0, 3, 2, 4, 2, true)
--   (2, 1, 2.0, NULL, 3, 9223372036854775807, 10, NULL, 2, false)
--   (2, 2, 1.0, 1, 3, 9223372036854775807, 11, NULL, NULL, false)
--   (5, 1, NULL, NULL, 3, 9223372036854775807, 12, NULL, NULL, false)
--   (4, 1, 0.0, 1, 0, 3, 4, 2, 4, true) (6, 1, 0.0, 0, 3, 9223372036854775807, 14, NULL, NULL, false)
--   (7, 1, 1.0, 2, 0, 3, 5, 1, 5, true) (7, 1, 2.0, 2, 3, 9223372036854775807, 16, NULL, 5, false)
-- same, what is near may be more than what is joined:
--   what the changes come to: INNER JOIN temp.few AS q -> LEFT
--   what the changes come to: without q.k = s.k 2
----
-- what the changes come to
WITH near AS MATERIALIZED (
  SELECT s.k, s.p, s.v, s.w, s._cql_seq, s._cql_enter, s.rowid AS _cql_rowid
  FROM cql_state.store AS s
  SEMI JOIN temp.few AS q ON q.k = s.k WHERE s._cql_leave = 9223372036854775807
)
SELECT q.k, q.p, CASE WHEN q._op = '-' THEN s.v ELSE q.v END AS v, q.w,
  CASE WHEN q._op = '-' THEN s._cql_enter ELSE $instant END AS _cql_enter,
  CASE WHEN q._op = '-' THEN $instant ELSE 9223372036854775807 END AS _cql_leave,
  CASE WHEN q._op = '-' THEN s._cql_seq ELSE q._cql_seq END AS _cql_seq,
  CASE WHEN q._op = '-' THEN s._cql_rowid END AS _cql_rowid, s._cql_seq AS _cql_held,
  NOT s._cql_seq IS NULL
  AND (q.v IS NOT DISTINCT FROM s.v AND q.w IS NOT DISTINCT FROM s.w) AS _cql_same
FROM temp.few AS q
LEFT JOIN near AS s ON q.k = s.k AND q.p = s.p;

-- law: a key is no swap that gets or loses another tuple than one in the place of its own
-- operator: primary_key_swap.exceptions
-- node: Relation(key=("k",), lead="k", matches_null=False)
-- held(k INTEGER, v INTEGER):
--   0: (1, 1) (2, 1) (3, 1) (4, 1) (6, 1) (8, NULL) (9, 1) (10, 1) (13, 1) (14, 1) (15, 1) (16, 1)
-- changes(k INTEGER, v INTEGER, op VARCHAR):
--   3: (1, 1, '-') (2, 1, '-') (2, 2, '+') (3, 1, '-') (3, 1, '-') (3, 1, '-') (4, 2, '+')
--   3: (5, 1, '+') (6, 1, '-') (6, 1, '+') (7, 1, '+') (7, 2, '+') (8, NULL, '-') (8, NULL, '+') (8, NULL, '-')
--   3: (8, NULL, '+') (9, 1, '-') (9, 1, '+') (9, 2, '+') (10, 1, '+') (11, 1, '-') (12, 1, '+')
--   3: (12, 1, '-') (13, 2, '-') (14, 1, '-') (14, 1, '-') (14, 1, '+') (14, 2, '+')
--   3: (15, 1, '-') (15, 1, '-') (16, 1, '-') (16, 1, '+') (16, 1, '+') (16, 1, '-')
-- ticks: 3
-- kept outcome:
--   (true) (true) (true) (false) (false) (false) (false) (false) (false) (false) (false) (false) (false)
----
-- what the changes come to
SELECT BOOL_AND(CAST(_cql_same AS BOOLEAN)) AND COUNT(*) = 2 * COUNT(_cql_rowid) AS _cql_unchanged
FROM temp.changed GROUP BY k
HAVING BOOL_OR(CAST(_cql_same <> (_cql_leave <> 9223372036854775807) AS BOOLEAN))
  OR COUNT(_cql_rowid) > 1
  OR COUNT(*) - COUNT(_cql_rowid) > 1
  OR (COUNT(_cql_held) > 0 AND COUNT(_cql_rowid) = 0);

-- law: a key is free that gets one tuple and has none
-- operator: primary_key_insertions.occupied
-- node: Relation(key=("k", "p"), lead="k", matches_null=False)
-- held(k INTEGER, p INTEGER, v INTEGER):
--   0: (1, 1, 1) (2, 1, 1) (2, 2, 1) (2, 3, 1); 0..2: (4, 1, 1)
-- changes(k INTEGER, p INTEGER, v INTEGER, op VARCHAR):
--   3: (1, 1, 2, '+') (1, 2, 1, '+') (2, 2, 1, '+') (3, 1, 1, '+') (3, 2, 1, '+') (4, 1, 1, '+')
--   4: (3, 2, 2, '+') (5, 1, 1, '+')
-- ticks: 4
-- kept outcome:
--   (0) (2) (8)
-- same, a tuple of another key alone occupies none:
--   what the changes come to: INNER JOIN temp.changed AS q -> LEFT
--   what the changes come to: without q.k = s.k
----
-- what the changes come to
SELECT MIN(_cql_seq) AS _cql_seq
FROM (
  SELECT k, p, _cql_seq FROM temp.changed
  UNION ALL
  SELECT s.k, s.p, s._cql_seq FROM cql_state.store AS s
  SEMI JOIN temp.changed AS q ON q.k = s.k WHERE s._cql_leave = 9223372036854775807
) AS tuples GROUP BY k, p
HAVING COUNT(*) > 1;
