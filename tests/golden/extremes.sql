-- title: of what only grows, min and max are running extremes
SELECT k, min(v) AS least, max(v) AS most FROM s GROUP BY k
----
project(aggregate(project(seq-window(stream(s)))))
1de0fedcfb3609b9

-- title: of what shrinks, they are worked out again where something changed
SELECT k, max(v) AS most FROM s [RANGE 10] GROUP BY k
----
project(aggregate(project(seq-window(stream(s)))))
d94d820dea5c763e
