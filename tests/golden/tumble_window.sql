-- title: without keys a tumbling window has a result at all instants: a pane at a time, read from the log no more
SELECT max(v) AS top, count(*) AS n FROM s [TUMBLE 5]
----
project(aggregate(project(seq-window(stream(s)))))
b24c076431594097
