-- title: a LEFT JOIN is a join and an antijoin
SELECT x.k, v, name FROM s [RANGE 10] x LEFT JOIN r y ON x.k = y.k
----
project(union(binary-join(seq-window(stream(s)), relation(r)), project(antisemijoin(project(binary-join(duplicate-eliminate(project(relation(r)))))))))
4a9763d8eca05d59
