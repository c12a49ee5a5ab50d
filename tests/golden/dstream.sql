-- title: the net elements that are negative, turned round
SELECT Dstream(*) FROM t [RANGE 10]
----
d-stream(project(seq-window(stream(t))))
3ddcad8aa9abdfa4

-- title: nothing leaves what only grows
SELECT Dstream(k) FROM s [RANGE UNBOUNDED]
----
d-stream(project(seq-window(stream(s))))
2efefb02f56b943f
