-- title: what enters and what leaves are two ranges of the stream's store: no synopsis
SELECT Istream(k, v) FROM s [RANGE 10]
----
i-stream(project(seq-window(stream(s))))
35a3c936f34691a7

-- title: a relation is written net: a tuple that leaves as another comes is no change
SELECT k, v FROM s [RANGE 10]
----
project(seq-window(stream(s)))
0594eab21e3920c2

-- title: NOW is a range of nothing: each tuple leaves at the next instant
SELECT k FROM s [NOW]
----
project(seq-window(stream(s)))
d9d1b64cc2bf787f

-- title: nothing leaves an unbounded window, so its query yields an Istream
SELECT k FROM s [RANGE UNBOUNDED]
----
i-stream(project(seq-window(stream(s))))
c6d3b0164cf19d19

-- title: a condition in the window filters before it
SELECT v FROM s [RANGE 10 WHERE k > 1]
----
project(seq-window(select(stream(s))))
c593a9175b2249a7
