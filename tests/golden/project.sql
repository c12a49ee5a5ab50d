-- title: a projection is linear, and its duplicates stay
SELECT v % 2 AS parity, upper('x') AS x FROM s [RANGE 10]
----
project(seq-window(stream(s)))
66ec6a24ad5269ac

-- title: columns that nobody reads are not read from the store
SELECT k FROM s [RANGE 10]
----
project(seq-window(stream(s)))
e002e8b7ff425779

-- title: _ts is the timestamp of the element and no part of *
SELECT *, _ts AS at FROM t [RANGE 10]
----
project(seq-window(stream(t)))
cf3e625586029bca
