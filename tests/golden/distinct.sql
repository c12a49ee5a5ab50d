-- title: DISTINCT is grouping by all columns without aggregates
SELECT DISTINCT k FROM s [RANGE 10]
----
duplicate-eliminate(project(seq-window(stream(s))))
0d9da4ce2d008c9b

-- title: of what only grows it only grows, so its query yields an Istream
SELECT DISTINCT k, v FROM s
----
i-stream(duplicate-eliminate(project(seq-window(stream(s)))))
0d979d8cfe5e9e0a
