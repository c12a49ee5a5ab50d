-- title: a filter is linear: it reads the changes alone
SELECT k, v FROM s [RANGE 10] WHERE k > 1 AND v IS NOT NULL
----
project(select(seq-window(stream(s))))
46ce0fb7b079c944

-- title: a filter on a relation
SELECT name FROM r WHERE k = 1
----
project(select(relation(r)))
9065a92bb5393470

-- title: HAVING is a filter above the aggregate
SELECT k FROM r GROUP BY k HAVING count(*) > 1
----
project(select(aggregate(project(relation(r)))))
fa9d1813ed470375
