-- title: count and exact sums are sums over the group: state before, state after
SELECT k, count(*) AS n, sum(v) AS total FROM s [RANGE 10] GROUP BY k
----
project(aggregate(project(seq-window(stream(s)))))
53f316a4d323e23e

-- title: avg is a sum and a count; NULLs are in neither
SELECT k, avg(v) AS mean, count(v) AS known FROM s [RANGE 10] GROUP BY k
----
project(aggregate(project(seq-window(stream(s)))))
fb1022bcf883e91c

-- title: FILTER makes an argument of the condition
SELECT k, count(*) FILTER (WHERE v > 0) AS n FROM s [RANGE 10] GROUP BY k
----
project(aggregate(project(seq-window(stream(s)))))
7d185186c4e908ac
