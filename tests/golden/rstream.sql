-- title: each lifetime once at every instant that it covers
SELECT Rstream(k, count(*) AS n) FROM s [RANGE 10] GROUP BY k
----
r-stream(project(aggregate(project(seq-window(stream(s))))))
352b8cd411f15d50

-- title: of a NOW window the tick alone is read
SELECT Rstream(v) FROM s [NOW]
----
r-stream(project(seq-window(stream(s))))
ed331fa6be869a27

-- title: a window gives its lifetimes itself, so there is no trace
SELECT Rstream(k) FROM s [RANGE 10]
----
r-stream(project(seq-window(stream(s))))
03d5a75d202101db
