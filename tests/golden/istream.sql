-- title: the net elements that are positive
SELECT Istream(k, v) FROM s [ROWS 3]
----
i-stream(project(seq-window(stream(s))))
dfd0a4d340433470

-- title: around the whole SELECT, DISTINCT included
SELECT Istream(DISTINCT k) FROM s [RANGE 10]
----
i-stream(duplicate-eliminate(project(seq-window(stream(s)))))
f823758698fd3d5d

-- title: a relation's insertions, net at each instant
Istream(SELECT name FROM r WHERE k > 1)
----
i-stream(project(project(project(select(relation(r))))))
431326c61c17cdba
