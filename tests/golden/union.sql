-- title: UNION ALL is linear: the changes of both sides
SELECT k, v FROM s [RANGE 10] UNION ALL SELECT k, w FROM t [RANGE 5]
----
union(project(seq-window(stream(s))), project(project(seq-window(stream(t)))))
ba32ec7ed2f7fe84

-- title: UNION is a set
SELECT k FROM s [RANGE 10] UNION SELECT k FROM r
----
duplicate-eliminate(union(project(seq-window(stream(s))), project(relation(r))))
3fe390ff61b7b3c2

-- title: a side of another type is cast to the type of both
SELECT v FROM s [RANGE 10] UNION ALL SELECT k FROM r
----
union(project(seq-window(stream(s))), project(project(relation(r))))
e41c2e0ed46d507c
