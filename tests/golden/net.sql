-- title: what may raise is worked out of what has no partner
SELECT v::TINYINT AS v FROM s [RANGE 10] x ANTI JOIN r y ON x.k = y.k
----
project(materialize(antisemijoin(seq-window(stream(s)), project(binary-join(duplicate-eliminate(project(relation(r))))))))
2880b2a7ee49fde0
