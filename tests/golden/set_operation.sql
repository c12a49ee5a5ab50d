-- title: EXCEPT counts each tuple on both sides
SELECT k FROM s [RANGE 10] EXCEPT SELECT k FROM r
----
except(project(seq-window(stream(s))), project(relation(r)))
0629099ef458f8b0

-- title: INTERSECT ALL has a tuple as often as the side that has it less often
SELECT k FROM s [RANGE 10] INTERSECT ALL SELECT k FROM r
----
intersect(project(seq-window(stream(s))), project(relation(r)))
5ca8dbe6ee2b8546
