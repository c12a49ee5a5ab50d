-- title: IN meets each key once
SELECT k, v FROM s [RANGE 10] WHERE k IN (SELECT k FROM r)
----
project(binary-join(seq-window(stream(s)), duplicate-eliminate(project(relation(r)))))
e6180fc1149629fb

-- title: of any other condition the columns that it names are counted
SELECT x.k FROM s [RANGE 10] x WHERE EXISTS (SELECT 1 FROM t y WHERE y.k = x.k AND y.w > x.v)
----
project(binary-join(seq-window(stream(s)), duplicate-eliminate(project(binary-join(seq-window(stream(t)))))))
8132f51f9c92d8d9
