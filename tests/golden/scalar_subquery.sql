-- title: an aggregate over everything has one tuple, so a join with it keeps the weights
SELECT k, v FROM s [RANGE 10] WHERE v > (SELECT avg(w) FROM t [RANGE 5])
----
project(binary-join(seq-window(stream(s)), project(project(aggregate(project(seq-window(stream(t))))))))
0e93673e33954849

-- title: one that is correlated is an outer join with the groups
SELECT k, (SELECT count(*) FROM t [RANGE 5] y WHERE y.k = r.k) AS n FROM r
----
project(union(binary-join(relation(r), project(aggregate(project(seq-window(stream(t)))))), project(antisemijoin(project(binary-join(duplicate-eliminate(project(project("y.k" AS match0)))))))))
678a8dcff28380cb
