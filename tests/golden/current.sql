-- title: a comparison with the current time cuts lifetimes at instants that a tuple's columns give
CREATE STREAM IF NOT EXISTS u (t BIGINT, until_ BIGINT) TIMESTAMP BY t;
SELECT t FROM u [RANGE 10] WHERE until_ >= current_timestamp
----
project(select(seq-window(stream(u))))
19f199c78b70d77f

-- title: a timestamp that is compared bounds what an unbounded window reads
CREATE STREAM IF NOT EXISTS u (t BIGINT, until_ BIGINT) TIMESTAMP BY t;
SELECT t FROM u WHERE t > current_timestamp - 5
----
project(select(seq-window(stream(u))))
5ecc0ca56abdb286

-- title: what shows the time is worked out again at every instant
CREATE STREAM IF NOT EXISTS u (t BIGINT, until_ BIGINT) TIMESTAMP BY t;
SELECT current_timestamp AS now, count(*) AS n FROM u [RANGE 10]
----
recompute(seq-window(stream(u)))
253a01146d864eff
