-- title: the number of an element decides whether it is kept
SELECT k FROM s 10% SAMPLE
----
i-stream(project(seq-window(sample(stream(s)))))
48f75be42f5b1094

-- title: in the stream of a query its instant and its place there do
CREATE CONTINUOUS QUERY evens AS
    SELECT Istream(k, v) FROM s [ROWS 5] WHERE k % 2 = 0;
SELECT k FROM evens 50% SAMPLE [RANGE 10]
----
project(seq-window(sample(stream(evens))))
faa27680f3dccb7c
