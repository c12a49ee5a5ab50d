-- title: a median is worked out again from the group's tuples
SELECT k, median(v) AS middle FROM s [RANGE 10] GROUP BY k
----
project(aggregate(project(seq-window(stream(s)))))
ff7b33e3fc3a8f97

-- title: of a relation, copies of a tuple are spread first
SELECT k, stddev(length(name)) AS spread FROM r GROUP BY k
----
project(aggregate(project(relation(r))))
d908401a7202e61c

-- title: what has no delta rule is worked out again from its inputs as they are
SELECT r.name, s.v FROM r ASOF JOIN s [RANGE 10] ON r.k >= s.k
----
recompute(relation(r), seq-window(stream(s)))
a23022d051b444a6

-- title: a subquery in an expression makes an input of what it reads
SELECT k, v FROM s [RANGE 10] WHERE v > 5 OR k IN (SELECT r.k FROM r WHERE r.k = s.k)
----
recompute(seq-window(stream(s)), relation(r))
9347d9c8c70639cd

-- title: ties that SQL leaves open are broken by all columns
SELECT k, row_number() OVER (PARTITION BY k ORDER BY v) AS place FROM s [ROWS 5]
----
recompute(seq-window(stream(s)))
54ccb0ce40d1e992

-- title: LIMIT is part of the answer, and only the query that has it is worked out again
SELECT k, n FROM (SELECT k, count(*) AS n FROM s [RANGE 10] GROUP BY k) x
    ORDER BY n DESC LIMIT 3
----
recompute(project(project(aggregate(project(seq-window(stream(s)))))))
4284b1d43e910f87

-- title: a set operation has its sides as inputs
SELECT k FROM s [RANGE 10] EXCEPT ALL SELECT k FROM r LIMIT 3
----
recompute(except(project(seq-window(stream(s))), project(relation(r))))
1fe2792cd9940ffd
