-- law: Δ(L ⋈ R) = ΔL ⋈ (R + ΔR) + L ⋈ ΔR; a combination lives while both its tuples do
-- operator: Combinations
-- node: Join(l, r, "k = j")
-- means: SELECT a, k, j, b FROM {l} JOIN {r} ON k = j
-- asks: lives
-- l(a INTEGER, k INTEGER):
--   0..4: (1, 1); 1..3: 2(2, 1); 3..8: (4, NULL); 4..6: (5, 1); 8..9: (6, 1)
--   2: (3, 2); 6: -(3, 2); 0..: 2(7, 1) (9, 3); 7..: 2(8, 1)
-- r(j INTEGER, b INTEGER):
--   0..2: (1, 10); 2..7: (1, 11); 6..7: 2(1, 12); 9: 3(1, 13); 3..6: 3(2, 20)
--   0..: (NULL, 0) (2, 21); 4..9: (3, 30)
-- ticks: 2, 3, 10
-- gives:
--   0: (1, 1, 1, 10) 2(7, 1, 1, 10)
--   1: 2(2, 1, 1, 10)
--   2: -(1, 1, 1, 10) (1, 1, 1, 11) -2(2, 1, 1, 10) 2(2, 1, 1, 11) (3, 2, 2, 21) -2(7, 1, 1, 10) 2(7, 1, 1, 11)
--   3: -2(2, 1, 1, 11) 3(3, 2, 2, 20)
--   4: -(1, 1, 1, 11) (5, 1, 1, 11) (9, 3, 3, 30)
--   6: -3(3, 2, 2, 20) -(3, 2, 2, 21) -(5, 1, 1, 11) 4(7, 1, 1, 12)
--   7: -2(7, 1, 1, 11) -4(7, 1, 1, 12)
--   9: 6(7, 1, 1, 13) 6(8, 1, 1, 13) -(9, 3, 3, 30)
-- same, what stands through the tick overlaps all that begins or ends in it:
--   lives: without i1._cql_enter < i0._cql_leave 2
--   lives: without i0._cql_enter < i1._cql_leave 2
--   lives: i1._cql_enter < i0._cql_leave -> i1._cql_enter <= i0._cql_leave 2
--   lives: i0._cql_enter < i1._cql_leave -> i0._cql_enter <= i1._cql_leave 2
--   lives: i1._cql_leave -> i1._cql_enter 4
----
-- lives
SELECT i0.a, i0.k, i1.j, i1.b, GREATEST(i0._cql_enter, i1._cql_enter) AS _cql_enter,
  LEAST(i0._cql_leave, i1._cql_leave) AS _cql_leave, i0._weight * i1._weight AS _weight
FROM lives_l AS i0
CROSS JOIN alive_r AS i1
WHERE i0.k = i1.j AND i0._cql_enter < i1._cql_leave AND i1._cql_enter < i0._cql_leave
UNION ALL
SELECT i0.a, i0.k, i1.j, i1.b, GREATEST(i1._cql_enter, i0._cql_enter) AS _cql_enter,
  LEAST(i1._cql_leave, i0._cql_leave) AS _cql_leave, i1._weight * i0._weight AS _weight
FROM lives_r AS i1
CROSS JOIN l AS i0
WHERE i0.k = i1.j AND i1._cql_enter < i0._cql_leave AND i0._cql_enter < i1._cql_leave;

-- law: three inputs: of each term the ones on the left stand, those on the right touch the tick
-- operator: Combinations
-- node: Join(l, m, r, "k = i", "c = j", shown=("a", "b"))
-- means: SELECT a, b FROM {l} JOIN {m} ON k = i JOIN {r} ON c = j
-- asks: lives
-- l(a INTEGER, k INTEGER): as above
-- m(i INTEGER, c INTEGER):
--   0..: 2(1, 1); 4..6: 2(1, 2); 7..8: 3(1, 1); 0..1: (1, 1)
--   0..5: (2, 2); 3: 2(2, 1); 8: -(2, 1); 2..6: (NULL, 1)
-- r(j INTEGER, b INTEGER):
--   0..2: (1, 10); 2..7: (1, 11); 6..7: 2(1, 12); 9: 3(1, 13); 3..6: 3(2, 20)
--   0..: (NULL, 0) (2, 21); 4..9: (3, 30); 6..8: (2, 22)
-- ticks: 2, 3, 10
-- gives:
--   0: 3(1, 10) 6(7, 10)
--   1: -(1, 10) 4(2, 10) -2(7, 10)
--   2: -2(1, 10) 2(1, 11) -4(2, 10) 4(2, 11) (3, 21) -4(7, 10) 4(7, 11)
--   3: -4(2, 11) 2(3, 11) 3(3, 20)
--   4: -2(1, 11) 2(5, 11) 6(5, 20) 2(5, 21) 12(7, 20) 4(7, 21)
--   5: -3(3, 20) -(3, 21)
--   6: -2(3, 11) -2(5, 11) -6(5, 20) -2(5, 21) 8(7, 12) -12(7, 20) -4(7, 21)
--   7: -4(7, 11) -8(7, 12)
--   9: 12(7, 13) 12(8, 13)
-- same, what stands through the tick overlaps all that begins or ends in it:
--   lives: without i1._cql_enter < i0._cql_leave 2
--   lives: without i0._cql_enter < i1._cql_leave 2
--   lives: i1._cql_enter < i0._cql_leave -> i1._cql_enter <= i0._cql_leave 2
--   lives: i0._cql_enter < i1._cql_leave -> i0._cql_enter <= i1._cql_leave 2
--   lives: without i2._cql_enter < i1._cql_leave
--   lives: without i1._cql_enter < i2._cql_leave
--   lives: i2._cql_enter < i1._cql_leave -> i2._cql_enter <= i1._cql_leave
--   lives: i1._cql_enter < i2._cql_leave -> i1._cql_enter <= i2._cql_leave
--   lives: without step1._cql_enter < i0._cql_leave
--   lives: without i0._cql_enter < step1._cql_leave
--   lives: step1._cql_enter < i0._cql_leave -> step1._cql_enter <= i0._cql_leave
--   lives: i0._cql_enter < step1._cql_leave -> i0._cql_enter <= step1._cql_leave
--   lives: step1._cql_leave -> step1._cql_enter 6
----
-- lives
SELECT step1.a, i2.b, GREATEST(step1._cql_enter, i2._cql_enter) AS _cql_enter,
  LEAST(step1._cql_leave, i2._cql_leave) AS _cql_leave, step1._weight * i2._weight AS _weight
FROM (
  SELECT i0.a, i1.c, GREATEST(i0._cql_enter, i1._cql_enter) AS _cql_enter,
    LEAST(i0._cql_leave, i1._cql_leave) AS _cql_leave, i0._weight * i1._weight AS _weight
  FROM lives_l AS i0
  CROSS JOIN alive_m AS i1
  WHERE i0.k = i1.i AND i0._cql_enter < i1._cql_leave AND i1._cql_enter < i0._cql_leave
) AS step1
CROSS JOIN alive_r AS i2
WHERE step1.c = i2.j AND step1._cql_enter < i2._cql_leave AND i2._cql_enter < step1._cql_leave
UNION ALL
SELECT step1.a, i2.b, GREATEST(step1._cql_enter, i2._cql_enter) AS _cql_enter,
  LEAST(step1._cql_leave, i2._cql_leave) AS _cql_leave, step1._weight * i2._weight AS _weight
FROM (
  SELECT i0.a, i1.c, GREATEST(i1._cql_enter, i0._cql_enter) AS _cql_enter,
    LEAST(i1._cql_leave, i0._cql_leave) AS _cql_leave, i1._weight * i0._weight AS _weight
  FROM lives_m AS i1
  CROSS JOIN l AS i0
  WHERE i0.k = i1.i AND i1._cql_enter < i0._cql_leave AND i0._cql_enter < i1._cql_leave
) AS step1
CROSS JOIN alive_r AS i2
WHERE step1.c = i2.j AND step1._cql_enter < i2._cql_leave AND i2._cql_enter < step1._cql_leave
UNION ALL
SELECT i0.a, step1.b, GREATEST(step1._cql_enter, i0._cql_enter) AS _cql_enter,
  LEAST(step1._cql_leave, i0._cql_leave) AS _cql_leave, step1._weight * i0._weight AS _weight
FROM (
  SELECT i1.i, i2.b, GREATEST(i2._cql_enter, i1._cql_enter) AS _cql_enter,
    LEAST(i2._cql_leave, i1._cql_leave) AS _cql_leave, i2._weight * i1._weight AS _weight
  FROM lives_r AS i2
  CROSS JOIN m AS i1
  WHERE i1.c = i2.j AND i2._cql_enter < i1._cql_leave AND i1._cql_enter < i2._cql_leave
) AS step1
CROSS JOIN l AS i0
WHERE i0.k = step1.i AND step1._cql_enter < i0._cql_leave AND i0._cql_enter < step1._cql_leave;

-- law: of inputs that never expire a combination begins with the later tuple
-- operator: Combinations
-- node: Join(l, r, "k = j")
-- means: SELECT a, k, j, b FROM {l} JOIN {r} ON k = j
-- l(a INTEGER, k INTEGER) never_expires:
--   0: (1, 1) (2, NULL); 2: 2(3, 2); 3: -(1, 1); 5: -(3, 2) (4, 1); 6: (5, 1)
-- r(j INTEGER, b INTEGER) never_expires:
--   0: (NULL, 0) (1, 10); 3: (2, 20) 2(1, 11); 6: (1, 12); 9: -(1, 10)
-- ticks: 2, 3, 10
-- gives:
--   0: (1, 1, 1, 10)
--   3: -(1, 1, 1, 10) 2(3, 2, 2, 20)
--   5: -(3, 2, 2, 20) (4, 1, 1, 10) 2(4, 1, 1, 11)
--   6: (4, 1, 1, 12) (5, 1, 1, 10) 2(5, 1, 1, 11) (5, 1, 1, 12)
--   9: -(4, 1, 1, 10) -(5, 1, 1, 10)
----
-- elements
SELECT i0.a, i0.k, i1.j, i1.b, GREATEST(i0._cql_enter, i1._cql_enter) AS _ts,
  i0._weight * i1._weight AS _weight FROM lives_l AS i0
CROSS JOIN alive_r AS i1 WHERE i0.k = i1.j
UNION ALL
SELECT i0.a, i0.k, i1.j, i1.b, GREATEST(i1._cql_enter, i0._cql_enter) AS _ts,
  i1._weight * i0._weight AS _weight FROM lives_r AS i1
CROSS JOIN l AS i0 WHERE i0.k = i1.j;

-- law: a [NOW] input never stands, so its term is all
-- operator: Combinations
-- node: Join(l, r, "k = j")
-- means: SELECT a, k, j, b FROM {l} JOIN {r} ON k = j
-- l(a INTEGER, k INTEGER):
--   0..4: (1, 1); 1..3: 2(2, 1); 2: (3, 2); 6: -(3, 2); 3..8: (4, NULL); 0..: (6, 3)
--   7..9: (5, 2)
-- r(j INTEGER, b INTEGER) is_instantaneous:
--   0..1: (1, 10); 1..2: (1, 11); 2..3: (2, 20); 3..4: (1, 12) (NULL, 0); 5..6: 2(2, 21); 6..7: (2, 22) (3, 30)
--   8..9: 2(2, 23) (1, 14); 9..10: (2, 24)
-- ticks: 2, 3, 10
-- gives:
--   0: (1, 1, 1, 10)
--   1: -(1, 1, 1, 10) (1, 1, 1, 11) 2(2, 1, 1, 11)
--   2: -(1, 1, 1, 11) -2(2, 1, 1, 11) (3, 2, 2, 20)
--   3: (1, 1, 1, 12) -(3, 2, 2, 20)
--   4: -(1, 1, 1, 12)
--   5: 2(3, 2, 2, 21)
--   6: -2(3, 2, 2, 21) (6, 3, 3, 30)
--   7: -(6, 3, 3, 30)
--   8: 2(5, 2, 2, 23)
--   9: -2(5, 2, 2, 23)
-- same, a lifetime that is empty is an element and its opposite:
--   elements: i1._cql_enter < i0._cql_leave -> i1._cql_enter <= i0._cql_leave
--   elements: i0._cql_enter < i1._cql_leave -> i0._cql_enter <= i1._cql_leave
----
-- elements
WITH lives AS (
  SELECT i0.a, i0.k, i1.j, i1.b, GREATEST(i1._cql_enter, i0._cql_enter) AS _cql_enter,
    LEAST(i1._cql_leave, i0._cql_leave) AS _cql_leave, i1._weight * i0._weight AS _weight
  FROM lives_r AS i1
  CROSS JOIN alive_l AS i0
  WHERE i0.k = i1.j AND i1._cql_enter < i0._cql_leave AND i0._cql_enter < i1._cql_leave
)
SELECT a, k, j, b, _cql_enter AS _ts, _weight FROM lives WHERE _cql_enter > $t0
UNION ALL
SELECT a, k, j, b, _cql_leave AS _ts, -_weight AS _weight FROM lives WHERE _cql_leave <= $t1;

-- law: in stages each term is a step, and what several read is kept
-- operator: Pipelines
-- node: Join(l, r, "k = j")
-- means: SELECT a, k, j, b FROM {l} JOIN {r} ON k = j
-- asks: lives
-- form: staged
-- l(a INTEGER, k INTEGER):
--   0..4: (1, 1); 1..3: 2(2, 1); 3..8: (4, NULL); 4..6: (5, 1); 8..9: (6, 1)
--   2: (3, 2); 6: -(3, 2); 0..: 2(7, 1) (9, 3); 7..: 2(8, 1)
-- r(j INTEGER, b INTEGER):
--   0..2: (1, 10); 2..7: (1, 11); 6..7: 2(1, 12); 9: 3(1, 13); 3..6: 3(2, 20)
--   0..: (NULL, 0) (2, 21); 4..9: (3, 30)
-- ticks: 2, 3, 10
-- gives:
--   0: (1, 1, 1, 10) 2(7, 1, 1, 10)
--   1: 2(2, 1, 1, 10)
--   2: -(1, 1, 1, 10) (1, 1, 1, 11) -2(2, 1, 1, 10) 2(2, 1, 1, 11) (3, 2, 2, 21) -2(7, 1, 1, 10) 2(7, 1, 1, 11)
--   3: -2(2, 1, 1, 11) 3(3, 2, 2, 20)
--   4: -(1, 1, 1, 11) (5, 1, 1, 11) (9, 3, 3, 30)
--   6: -3(3, 2, 2, 20) -(3, 2, 2, 21) -(5, 1, 1, 11) 4(7, 1, 1, 12)
--   7: -2(7, 1, 1, 11) -4(7, 1, 1, 12)
--   9: 6(7, 1, 1, 13) 6(8, 1, 1, 13) -(9, 3, 3, 30)
-- same, what stands through the tick overlaps all that begins or ends in it:
--   combinations that begin or end: without i1._cql_enter < i0._cql_leave 2
--   combinations that begin or end: without i0._cql_enter < i1._cql_leave 2
--   combinations that begin or end: i1._cql_enter < i0._cql_leave -> i1._cql_enter <= i0._cql_leave 2
--   combinations that begin or end: i0._cql_enter < i1._cql_leave -> i0._cql_enter <= i1._cql_leave 2
--   combinations that begin or end: i1._cql_leave -> i1._cql_enter 4
----
-- what begins or ends
CREATE OR REPLACE TEMPORARY TABLE temp._cql_lives_namedrelation AS
SELECT a, k, _cql_enter, _cql_leave, _weight FROM lives_l;
-- what begins or ends
CREATE OR REPLACE TEMPORARY TABLE temp._cql_lives_namedrelation2 AS
SELECT j, b, _cql_enter, _cql_leave, _weight FROM lives_r;
-- an empty table
CREATE OR REPLACE TEMPORARY TABLE temp._cql_delta_join (
  a INT, k INT, j INT, b INT, _cql_enter BIGINT, _cql_leave BIGINT, _weight BIGINT
);
-- combinations that begin or end
INSERT INTO temp._cql_delta_join
SELECT i0.a, i0.k, i1.j, i1.b, GREATEST(i0._cql_enter, i1._cql_enter) AS _cql_enter,
  LEAST(i0._cql_leave, i1._cql_leave) AS _cql_leave, i0._weight * i1._weight AS _weight
FROM temp._cql_lives_namedrelation AS i0
CROSS JOIN alive_r AS i1
WHERE i0.k = i1.j AND i0._cql_enter < i1._cql_leave AND i1._cql_enter < i0._cql_leave;
-- combinations that begin or end
INSERT INTO temp._cql_delta_join
SELECT i0.a, i0.k, i1.j, i1.b, GREATEST(i1._cql_enter, i0._cql_enter) AS _cql_enter,
  LEAST(i1._cql_leave, i0._cql_leave) AS _cql_leave, i1._weight * i0._weight AS _weight
FROM temp._cql_lives_namedrelation2 AS i1
CROSS JOIN l AS i0
WHERE i0.k = i1.j AND i1._cql_enter < i0._cql_leave AND i0._cql_enter < i1._cql_leave;
-- lives
SELECT a, k, j, b, _cql_enter, _cql_leave, _weight FROM temp._cql_delta_join;

-- law: what several operators read is kept for the tick
-- operator: StoredCombinations
-- node: Join(l, r, "k = j")
-- means: SELECT a, k, j, b FROM {l} JOIN {r} ON k = j
-- asks: lives
-- l(a INTEGER, k INTEGER): as above
-- r(j INTEGER, b INTEGER): as above
-- ticks: 2, 3, 10
-- gives: as above
-- same, what stands through the tick overlaps all that begins or ends in it:
--   the combinations that begin or end: without i1._cql_enter < i0._cql_leave 2
--   the combinations that begin or end: without i0._cql_enter < i1._cql_leave 2
--   the combinations that begin or end: i1._cql_enter < i0._cql_leave -> i1._cql_enter <= i0._cql_leave 2
--   the combinations that begin or end: i0._cql_enter < i1._cql_leave -> i0._cql_enter <= i1._cql_leave 2
--   the combinations that begin or end: i1._cql_leave -> i1._cql_enter 4
----
-- the combinations that begin or end
CREATE OR REPLACE TEMPORARY TABLE temp._cql_delta_join AS
SELECT i0.a, i0.k, i1.j, i1.b, GREATEST(i0._cql_enter, i1._cql_enter) AS _cql_enter,
  LEAST(i0._cql_leave, i1._cql_leave) AS _cql_leave, i0._weight * i1._weight AS _weight
FROM lives_l AS i0
CROSS JOIN alive_r AS i1
WHERE i0.k = i1.j AND i0._cql_enter < i1._cql_leave AND i1._cql_enter < i0._cql_leave
UNION ALL
SELECT i0.a, i0.k, i1.j, i1.b, GREATEST(i1._cql_enter, i0._cql_enter) AS _cql_enter,
  LEAST(i1._cql_leave, i0._cql_leave) AS _cql_leave, i1._weight * i0._weight AS _weight
FROM lives_r AS i1
CROSS JOIN l AS i0
WHERE i0.k = i1.j AND i1._cql_enter < i0._cql_leave AND i0._cql_enter < i1._cql_leave;
-- lives
SELECT a, k, j, b, _cql_enter, _cql_leave, _weight FROM temp._cql_delta_join;

-- law: by several equalities: what is met is reduced by the keys of what begins or ends
-- operator: Combinations
-- form: staged, reduces
-- node: Join(l, r, "k = j", "a = b")
-- means: SELECT a, k, j, b FROM {l} JOIN {r} ON k = j AND a = b
-- asks: lives
-- l(a INTEGER, k INTEGER):
--   0..4: (1, 1); 1..3: 2(2, 1); 3..8: (2, NULL); 4..6: (1, 1) 2(2, 2); 8..9: (2, 1)
--   2: (2, 2); 6: -(2, 2); 0..: 2(2, 1) (1, 3); 7..: 2(1, 1)
-- r(j INTEGER, b INTEGER):
--   0..2: (1, 1); 2..7: (1, 2); 6..7: 2(1, 1); 9: 3(1, 2); 3..6: 3(2, 2)
--   0..: (NULL, 2) (2, 1); 4..9: (3, 1); 5..8: 2(2, 2)
-- ticks: 2, 3, 10
-- gives:
--   0: (1, 1, 1, 1)
--   2: -(1, 1, 1, 1) 4(2, 1, 1, 2)
--   3: -2(2, 1, 1, 2) 3(2, 2, 2, 2)
--   4: (1, 3, 3, 1) 6(2, 2, 2, 2)
--   5: 6(2, 2, 2, 2)
--   6: -15(2, 2, 2, 2)
--   7: -2(2, 1, 1, 2)
--   9: -(1, 3, 3, 1) 6(2, 1, 1, 2)
-- same, what stands through the tick overlaps all that begins or ends in it:
--   lives: without i1._cql_enter < i0._cql_leave 2
--   lives: without i0._cql_enter < i1._cql_leave 2
--   lives: i1._cql_enter < i0._cql_leave -> i1._cql_enter <= i0._cql_leave 2
--   lives: i0._cql_enter < i1._cql_leave -> i0._cql_enter <= i1._cql_leave 2
--   lives: i1._cql_leave -> i1._cql_enter 4
-- same, what has no partner in the delta is in no combination:
--   lives: without j IN …
--   lives: without b IN …
--   lives: without k IN …
--   lives: without a IN …
----
-- what begins or ends
CREATE OR REPLACE TEMPORARY TABLE temp._cql_lives_namedrelation AS
SELECT a, k, _cql_enter, _cql_leave, _weight FROM lives_l;
-- what begins or ends
CREATE OR REPLACE TEMPORARY TABLE temp._cql_lives_namedrelation2 AS
SELECT j, b, _cql_enter, _cql_leave, _weight FROM lives_r;
-- lives
SELECT i0.a, i0.k, i1.j, i1.b, GREATEST(i0._cql_enter, i1._cql_enter) AS _cql_enter,
  LEAST(i0._cql_leave, i1._cql_leave) AS _cql_leave, i0._weight * i1._weight AS _weight
FROM temp._cql_lives_namedrelation AS i0
CROSS JOIN (
  SELECT j, b, _cql_enter, _cql_leave, _weight
  FROM (SELECT j, b, _cql_enter, _cql_leave, _weight FROM alive_r) AS input
  WHERE j IN (SELECT k FROM temp._cql_lives_namedrelation)
    AND b IN (SELECT a FROM temp._cql_lives_namedrelation)
) AS i1
WHERE
  i0.k = i1.j AND i0.a = i1.b AND i0._cql_enter < i1._cql_leave AND i1._cql_enter < i0._cql_leave
UNION ALL
SELECT i0.a, i0.k, i1.j, i1.b, GREATEST(i1._cql_enter, i0._cql_enter) AS _cql_enter,
  LEAST(i1._cql_leave, i0._cql_leave) AS _cql_leave, i1._weight * i0._weight AS _weight
FROM temp._cql_lives_namedrelation2 AS i1
CROSS JOIN (
  SELECT a, k, _cql_enter, _cql_leave, _weight
  FROM (SELECT a, k, _cql_enter, _cql_leave, _weight FROM l) AS input
  WHERE k IN (SELECT j FROM temp._cql_lives_namedrelation2)
    AND a IN (SELECT b FROM temp._cql_lives_namedrelation2)
) AS i0
WHERE
  i0.k = i1.j AND i0.a = i1.b AND i1._cql_enter < i0._cql_leave AND i0._cql_enter < i1._cql_leave;

-- law: input by input: each step is kept, and by the keys of it what is met next is reduced
-- operator: Pipelines
-- form: staged, stepwise
-- node: Join(l, m, r, "k = i", "c = j", "a = b", shown=("a", "i", "b"))
-- means: SELECT a, i, b FROM {l} JOIN {m} ON k = i JOIN {r} ON c = j AND a = b
-- asks: lives
-- hides: what begins or ends, an empty table
-- l(a INTEGER, k INTEGER):
--   0..4: (1, 1); 1..3: 2(2, 1); 3..8: (2, NULL); 4..6: (1, 1) 2(2, 2); 8..9: (2, 1)
--   2: (2, 2); 6: -(2, 2); 0..: 2(2, 1) (1, 3) (1, 1); 7..: 2(1, 1)
-- m(i INTEGER, c INTEGER):
--   0..: 2(1, 1); 4..6: 2(1, 2); 7..8: 3(1, 1); 0..1: (1, 1)
--   0..5: (2, 2); 3: 2(2, 1); 8: -(2, 1); 2..6: (NULL, 1)
-- r(j INTEGER, b INTEGER):
--   0..2: (1, 1); 2..7: (1, 2); 6..7: 2(1, 1); 9: 3(1, 2); 3..6: 3(2, 2)
--   0..: (NULL, 2) (2, 1) (1, 2); 4..9: (3, 1); 5..8: 2(2, 2)
-- ticks: 2, 3, 10
-- gives:
--   0: 6(1, 1, 1) 6(2, 1, 2)
--   1: -2(1, 1, 1) 2(2, 1, 2)
--   2: -4(1, 1, 1) 8(2, 1, 2)
--   3: -8(2, 1, 2) 7(2, 2, 2)
--   4: 4(1, 1, 1) 12(2, 1, 2) 14(2, 2, 2)
--   5: 8(2, 1, 2) -9(2, 2, 2)
--   6: -20(2, 1, 2) -12(2, 2, 2)
--   7: -4(1, 1, 1) 2(2, 1, 2)
--   8: -4(2, 1, 2)
--   9: 10(2, 1, 2)
-- same, what stands through the tick overlaps all that begins or ends in it:
--   the combinations so far: without i1._cql_enter < i0._cql_leave 2
--   the combinations so far: without i0._cql_enter < i1._cql_leave 2
--   the combinations so far: i1._cql_enter < i0._cql_leave -> i1._cql_enter <= i0._cql_leave 2
--   the combinations so far: i0._cql_enter < i1._cql_leave -> i0._cql_enter <= i1._cql_leave 2
--   the combinations so far: without i2._cql_enter < i0._cql_leave
--   the combinations so far: without i0._cql_enter < i2._cql_leave
--   the combinations so far: i2._cql_enter < i0._cql_leave -> i2._cql_enter <= i0._cql_leave
--   the combinations so far: i0._cql_enter < i2._cql_leave -> i0._cql_enter <= i2._cql_leave
--   combinations that begin or end: without step1._cql_enter < i1._cql_leave
--   combinations that begin or end: without i1._cql_enter < step1._cql_leave
--   combinations that begin or end: step1._cql_enter < i1._cql_leave -> step1._cql_enter <= i1._cql_leave
--   combinations that begin or end: i1._cql_enter < step1._cql_leave -> i1._cql_enter <= step1._cql_leave
-- same, what has no partner in the combinations so far is in no later one:
--   combinations that begin or end: without j IN …
--   combinations that begin or end: without b IN …
--   combinations that begin or end: without i IN …
--   combinations that begin or end: without c IN …
----
-- the combinations so far
CREATE OR REPLACE TEMPORARY TABLE temp._cql_step_join_1_1_1 AS
SELECT i0.a, i1.i, i1.c, GREATEST(i0._cql_enter, i1._cql_enter) AS _cql_enter,
  LEAST(i0._cql_leave, i1._cql_leave) AS _cql_leave, i0._weight * i1._weight AS _weight
FROM temp._cql_lives_namedrelation AS i0
CROSS JOIN alive_m AS i1
WHERE i0.k = i1.i AND i0._cql_enter < i1._cql_leave AND i1._cql_enter < i0._cql_leave;
-- the combinations so far
CREATE OR REPLACE TEMPORARY TABLE temp._cql_step_join_2_1_1 AS
SELECT i0.a, i1.i, i1.c, GREATEST(i1._cql_enter, i0._cql_enter) AS _cql_enter,
  LEAST(i1._cql_leave, i0._cql_leave) AS _cql_leave, i1._weight * i0._weight AS _weight
FROM temp._cql_lives_namedrelation2 AS i1
CROSS JOIN l AS i0
WHERE i0.k = i1.i AND i1._cql_enter < i0._cql_leave AND i0._cql_enter < i1._cql_leave;
-- the combinations so far
CREATE OR REPLACE TEMPORARY TABLE temp._cql_step_join_3_1_1 AS
SELECT i0.a, i0.k, i2.j, i2.b, GREATEST(i2._cql_enter, i0._cql_enter) AS _cql_enter,
  LEAST(i2._cql_leave, i0._cql_leave) AS _cql_leave, i2._weight * i0._weight AS _weight
FROM temp._cql_lives_namedrelation3 AS i2
CROSS JOIN l AS i0
WHERE i0.a = i2.b AND i2._cql_enter < i0._cql_leave AND i0._cql_enter < i2._cql_leave;
-- combinations that begin or end
INSERT INTO temp._cql_delta_join
SELECT step1.a, step1.i, i2.b, GREATEST(step1._cql_enter, i2._cql_enter) AS _cql_enter,
  LEAST(step1._cql_leave, i2._cql_leave) AS _cql_leave, step1._weight * i2._weight AS _weight
FROM temp._cql_step_join_1_1_1 AS step1
CROSS JOIN (
  SELECT j, b, _cql_enter, _cql_leave, _weight
  FROM (SELECT j, b, _cql_enter, _cql_leave, _weight FROM alive_r) AS input
  WHERE j IN (SELECT c FROM temp._cql_step_join_1_1_1)
    AND b IN (SELECT a FROM temp._cql_step_join_1_1_1)
) AS i2 WHERE step1.c = i2.j AND step1.a = i2.b AND step1._cql_enter < i2._cql_leave
  AND i2._cql_enter < step1._cql_leave;
-- combinations that begin or end
INSERT INTO temp._cql_delta_join
SELECT step1.a, step1.i, i2.b, GREATEST(step1._cql_enter, i2._cql_enter) AS _cql_enter,
  LEAST(step1._cql_leave, i2._cql_leave) AS _cql_leave, step1._weight * i2._weight AS _weight
FROM temp._cql_step_join_2_1_1 AS step1
CROSS JOIN (
  SELECT j, b, _cql_enter, _cql_leave, _weight
  FROM (SELECT j, b, _cql_enter, _cql_leave, _weight FROM alive_r) AS input
  WHERE j IN (SELECT c FROM temp._cql_step_join_2_1_1)
    AND b IN (SELECT a FROM temp._cql_step_join_2_1_1)
) AS i2 WHERE step1.c = i2.j AND step1.a = i2.b AND step1._cql_enter < i2._cql_leave
  AND i2._cql_enter < step1._cql_leave;
-- combinations that begin or end
INSERT INTO temp._cql_delta_join
SELECT step1.a, i1.i, step1.b, GREATEST(step1._cql_enter, i1._cql_enter) AS _cql_enter,
  LEAST(step1._cql_leave, i1._cql_leave) AS _cql_leave, step1._weight * i1._weight AS _weight
FROM temp._cql_step_join_3_1_1 AS step1
CROSS JOIN (
  SELECT i, c, _cql_enter, _cql_leave, _weight
  FROM (SELECT i, c, _cql_enter, _cql_leave, _weight FROM m) AS input
  WHERE i IN (SELECT k FROM temp._cql_step_join_3_1_1)
    AND c IN (SELECT j FROM temp._cql_step_join_3_1_1)
) AS i1 WHERE step1.k = i1.i AND i1.c = step1.j AND step1._cql_enter < i1._cql_leave
  AND i1._cql_enter < step1._cql_leave;
-- lives
SELECT a, i, b, _cql_enter, _cql_leave, _weight FROM temp._cql_delta_join;
