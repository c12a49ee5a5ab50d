-- title: only the partitions that get new tuples are read; NULLs are one of them
SELECT k, v FROM s [PARTITION BY k ROWS 2]
----
project(seq-window(stream(s)))
2c44255fd3271d8e

-- title: with a range, tuples leave by time too, so every partition is read
SELECT k, v FROM s [PARTITION BY k ROWS 2 RANGE 10]
----
project(seq-window(stream(s)))
3d4930739964190c

-- title: with SLIDE, positions in the partition say when a row enters and when it leaves
SELECT k, v FROM s [PARTITION BY k ROWS 3 SLIDE 2]
----
project(seq-window(stream(s)))
186f0e44ecec8557
