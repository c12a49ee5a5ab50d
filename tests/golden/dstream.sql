-- title: the net elements that are negative, turned round
SELECT Dstream(*) FROM t [RANGE 10]
----
d-stream(project(seq-window(stream(t))))
c621ee914d85372f

-- title: nothing leaves what only grows
SELECT Dstream(k) FROM s [RANGE UNBOUNDED]
----
d-stream(project(seq-window(stream(s))))
74db0fa7497f0fd7
