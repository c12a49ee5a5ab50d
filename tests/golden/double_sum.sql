-- title: sums of DOUBLE are fixed-point; what does not fit is kept apart and added up anew
SELECT k, sum(d) AS total FROM s [RANGE 10] GROUP BY k
----
project(aggregate(project(seq-window(stream(s)))))
e2577a62ff645ec9

-- title: two of them share the table of outliers
SELECT sum(d) AS total, avg(d * 2) AS mean FROM s [RANGE 10]
----
project(aggregate(project(seq-window(stream(s)))))
efb392e5de5e6d48
