-- law: Dstream(R) at τ = R(τ−1) − R(τ): the net elements that are negative, turned round
-- operator: Dstream
-- node: ToStream(l, "dstream")
-- means: dstream SELECT * FROM {l}
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
--   3: (NULL, 1)
--   4: (1, 1)
--   7: (1, 2)
----
-- elements
SELECT k, v, _ts, -_weight AS _weight
FROM (
  SELECT k, v, _ts, CAST(SUM(_weight) AS BIGINT) AS _weight FROM delta_l GROUP BY k, v, _ts
  HAVING ABS(SUM(_weight)) > SUM(_weight)
) AS net;
