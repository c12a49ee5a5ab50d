-- title: what hops together is worked out whole at each boundary, a hopping window from its panes
SELECT c.k, c.n FROM (SELECT k, count(*) AS n FROM s [HOP 10 EVERY 5] GROUP BY k) c,
  (SELECT max(n) AS most FROM (SELECT k, count(*) AS n FROM s [HOP 10 EVERY 5] GROUP BY k)) m
WHERE c.n = m.most
----
project(binary-join(project(project(aggregate(project(seq-window(stream(s)))))), project(project(aggregate(project(project(project("count0" AS n))))))))
bd5961e0117fd018
