-- title: a subquery under a window gets an Istream, kept in a trace
SELECT x.n FROM (SELECT count(*) AS n FROM s [RANGE 10]) [RANGE 3] AS x
----
project(seq-window(materialize(i-stream(project(project(aggregate(project(seq-window(stream(s))))))))))
164d7a40184de417

-- title: its own operator is left as it is
SELECT x.k FROM (SELECT Dstream(k) FROM s [RANGE 10]) AS x [ROWS 2]
----
project(seq-window(materialize(d-stream(project(project(seq-window(stream(s))))))))
bf3f6be8f959e5f1
