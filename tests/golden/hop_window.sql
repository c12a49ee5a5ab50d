-- title: a tuple enters at the boundary after it and leaves at the first one after t+w
SELECT k FROM s [HOP 10 EVERY 5]
----
project(seq-window(stream(s)))
97aae507d159b987

-- title: TUMBLE w is HOP w EVERY w
SELECT k FROM s [TUMBLE 10]
----
project(seq-window(stream(s)))
8a0805d842d148b9
