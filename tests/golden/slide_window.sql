-- title: both ends move to the multiples of the slide, negative instants too
SELECT k FROM s [RANGE 10 SLIDE 5]
----
project(seq-window(stream(s)))
851761cfea4fec30

-- title: with a slide longer than the range a tuple may fall between two positions
SELECT k FROM s [RANGE 2 SLIDE 5]
----
project(seq-window(stream(s)))
39a8ff76864756d1

-- title: unbounded: tuples wait for the next boundary and stay
SELECT k FROM s [RANGE UNBOUNDED SLIDE 5]
----
i-stream(project(seq-window(stream(s))))
d5838e73b53bbd86

-- title: ROWS slides by arrivals: the content changes after every second one
SELECT k FROM s [ROWS 3 SLIDE 2]
----
project(seq-window(stream(s)))
ff1e4e3f56d5794e
