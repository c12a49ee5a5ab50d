-- title: a subquery that yields a relation is a plan under the plan
SELECT x.n FROM (SELECT k, count(*) AS n FROM s [RANGE 10] GROUP BY k) x WHERE x.k = 1
----
project(select(project(project(aggregate(project(seq-window(stream(s))))))))
bc42e368ce41cd7a

-- title: a join keeps a trace of an input that keeps nothing itself
SELECT t.w, x.n FROM t [RANGE 5] JOIN
    (SELECT k, count(*) AS n FROM s [RANGE 10] GROUP BY k) x ON t.k = x.k
----
project(binary-join(seq-window(stream(t)), project(project(aggregate(project(seq-window(stream(s))))))))
3a2a16649c485e5b

-- title: a common table expression is a subquery with a name
WITH x AS (SELECT DISTINCT k FROM s [RANGE 10]) SELECT r.name FROM x JOIN r USING (k)
----
project(binary-join(project(duplicate-eliminate(project(seq-window(stream(s))))), relation(r)))
386047885a3ddcd1
