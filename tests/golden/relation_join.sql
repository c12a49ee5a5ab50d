-- title: a stream meets the relation as it is at each instant
SELECT s.v, r.name FROM s [RANGE 10] JOIN r ON s.k = r.k
----
project(binary-join(seq-window(stream(s)), relation(r)))
8d34682358e1100a

-- title: with a NOW window each element meets the relation once
SELECT Rstream(s.v, r.name) FROM s [NOW] JOIN r ON s.k = r.k
----
r-stream(project(binary-join(seq-window(stream(s)), relation(r))))
077d8bae571ade47

-- title: a relation joined with itself
SELECT a.name, b.name AS other FROM r a JOIN r b ON a.k = b.k
----
project(binary-join(relation(r), relation(r)))
e82c0488cc6fdedc
