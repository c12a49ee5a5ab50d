-- title: without keys there is a row over nothing from the first instant on
SELECT count(*) AS n, sum(v) AS total FROM s [RANGE 10]
----
project(aggregate(project(seq-window(stream(s)))))
fead553a886fecb8
