-- law: Istream(R) at τ = R(τ) − R(τ−1): the net elements that are positive
-- operator: Istream
-- node: ToStream(l, "istream")
-- means: istream SELECT * FROM {l}
-- l(k INTEGER, v INTEGER):
--   0..3: 2(1, 1) (1, NULL) (NULL, 1)
--   1..2: (2, 2)
--   2: (2, 2)
--   3..4: 3(1, 1)
--   3: (1, NULL)
--   4: 2(1, 1) (NULL, 1) (3, 3) -(3, 3)
--   5..7: (3, 3) (1, 2)
--   7: 2(3, 3)
-- ticks: 1, 2, 5, 8
-- gives:
--   0: 2(1, 1) (1, NULL) (NULL, 1)
--   1: (2, 2)
--   3: (1, 1)
--   4: (NULL, 1)
--   5: (1, 2) (3, 3)
--   7: (3, 3)
----
-- elements
SELECT k, v, _ts, CAST(SUM(_weight) AS BIGINT) AS _weight FROM delta_l GROUP BY k, v, _ts
HAVING SUM(_weight) > 0;

-- law: of what only grows all elements
-- operator: Istream
-- node: ToStream(l, "istream")
-- means: istream SELECT * FROM {l}
-- l(k INTEGER, v INTEGER) is_append_only:
--   0: 2(1, 1) (1, NULL)
--   3: (1, 1) (NULL, 1)
-- ticks: 1, 2, 5, 8
-- gives:
--   0: 2(1, 1) (1, NULL)
--   3: (1, 1) (NULL, 1)
----
-- elements
SELECT k, v, _ts, _weight FROM delta_l;
