-- title: the n-th successor pushes a tuple out; ties go by arrival
SELECT k, v FROM s [ROWS 3]
----
project(seq-window(stream(s)))
57b6b442c5dbc897

-- title: the ties of a derived stream go by all columns
CREATE CONTINUOUS QUERY late AS SELECT Dstream(k) FROM s [RANGE 5];
SELECT k FROM late [ROWS 3]
----
project(seq-window(stream(late)))
34fcf1e15836a373

-- title: a condition in the window filters before it counts
SELECT v FROM s [ROWS 3 WHERE k > 1]
----
project(seq-window(select(stream(s))))
dfdde70c40189eb5
