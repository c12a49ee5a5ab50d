-- title: a query that yields a relation is read from its elements
CREATE CONTINUOUS QUERY totals AS
    SELECT k, sum(v) AS total FROM s [RANGE 10] GROUP BY k;
SELECT max(total) AS most FROM totals
----
project(aggregate(project(relation(totals))))
6038796617615db6

-- title: a query that yields a stream takes a window
CREATE CONTINUOUS QUERY fresh AS SELECT Istream(k, v) FROM s [RANGE 10];
SELECT k, count(*) AS n FROM fresh [RANGE 3] GROUP BY k
----
project(aggregate(project(seq-window(stream(fresh)))))
65b565a1f7c09bb7
