-- title: three inputs are one operator with three terms, not two joins
SELECT s.v, t.w, r.name FROM s [RANGE 10], t [RANGE 5], r WHERE s.k = t.k AND t.k = r.k
----
project(mjoin(seq-window(stream(s)), seq-window(stream(t)), relation(r)))
759b70eb4753f411
