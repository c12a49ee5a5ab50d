-- title: distinct values are a part of their own, beside a count that is kept as a sum
SELECT k, count(*) AS n, count(DISTINCT v) AS kinds FROM s [RANGE 10] GROUP BY k
----
project(aggregate(union(project(project(seq-window(stream(s)))), project(duplicate-eliminate(select(project("s.k", "s.v" AS distinct s.v)))))))
8352224f2212cccb

-- title: of what only grows the first of each value counts
SELECT sum(DISTINCT v) AS total, count(DISTINCT k) FILTER (WHERE v > 3) AS many FROM s
----
project(aggregate(union(project(duplicate-eliminate(select(project(project(seq-window(stream(s))))))), project(duplicate-eliminate(select(project("argument1" AS distinct argument1)))))))
e8f8780a729a68b8

-- title: one value under two conditions has a synopsis of its own, each condition a number
SELECT k, count(DISTINCT v) AS n, count(DISTINCT v) FILTER (WHERE d > 0) AS positive FROM s GROUP BY k
----
project(aggregate(union(project(project(seq-window(stream(s)))), project(duplicate-eliminate(union(select(project("s.k", CAST(0 AS INT) AS argument, "s.v" AS value)), select(project("s.k", CAST(1 AS INT) AS argument, "argument2" AS value))))))))
c70ce394629c43d4
