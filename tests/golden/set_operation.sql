-- title: EXCEPT counts each tuple on both sides
SELECT k FROM s [RANGE 10] EXCEPT SELECT k FROM r
----
except(project(seq-window(stream(s))), project(relation(r)))
9c6741fb522f3a23

-- title: INTERSECT ALL has a tuple as often as the side that has it less often
SELECT k FROM s [RANGE 10] INTERSECT ALL SELECT k FROM r
----
intersect(project(seq-window(stream(s))), project(relation(r)))
85bd1fb0ee958ae3
