-- title: of what only grows, min and max are running extremes
SELECT k, min(v) AS least, max(v) AS most FROM s GROUP BY k
----
project(aggregate(project(seq-window(stream(s)))))
d75840ebb16f1b97

-- title: of what shrinks, they are worked out again where something changed
SELECT k, max(v) AS most FROM s [RANGE 10] GROUP BY k
----
project(aggregate(project(seq-window(stream(s)))))
07360fff1e440423
