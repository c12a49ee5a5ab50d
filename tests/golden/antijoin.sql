-- title: what has no partner is what is left without the semijoin
SELECT k, v FROM s [RANGE 10] x ANTI JOIN r y ON x.k = y.k
----
project(antisemijoin(seq-window(stream(s)), project(binary-join(duplicate-eliminate(project(relation(r)))))))
2f3dd29fedc78949

-- title: NOT IN asks for NULLs too
SELECT k FROM s [RANGE 10] WHERE k NOT IN (SELECT k FROM r)
----
project(antisemijoin(union(seq-window(stream(s)), project(mjoin(duplicate-eliminate(project(relation(r))), duplicate-eliminate(project(select("r.k" IS NULL)))))), union(project(binary-join("s.k" = "match0")), project(binary-join(NOT "s.k" IS NULL)), project(binary-join(duplicate-eliminate(project(CAST(1 AS INT) AS match2)))))))
0ab4acf3ad27ae6e
