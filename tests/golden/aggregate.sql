-- title: count and exact sums are sums over the group: state before, state after
SELECT k, count(*) AS n, sum(v) AS total FROM s [RANGE 10] GROUP BY k
----
project(aggregate(project(seq-window(stream(s)))))
5fe6b380984697c1

-- title: avg is a sum and a count; NULLs are in neither
SELECT k, avg(v) AS mean, count(v) AS known FROM s [RANGE 10] GROUP BY k
----
project(aggregate(project(seq-window(stream(s)))))
99a0b42b778f1886

-- title: FILTER makes an argument of the condition
SELECT k, count(*) FILTER (WHERE v > 0) AS n FROM s [RANGE 10] GROUP BY k
----
project(aggregate(project(seq-window(stream(s)))))
a34a7b15d8aa5ee0
