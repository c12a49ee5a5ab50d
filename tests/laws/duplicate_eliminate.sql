-- law: of what only grows δ has each tuple from its first instant on
-- operator: First
-- node: Distinct(l)
-- means: SELECT DISTINCT * FROM {l}
-- asks: elements, lives, standing
-- l(k INTEGER, v INTEGER) is_append_only never_expires:
--   0: (1, 1) (1, 1) (NULL, 1)
--   1: (1, 1) (1, NULL)
--   3: (NULL, 1) (2, 2)
--   4: (2, 2) 3(1, 2)
--   8: (1, NULL) (2, NULL)
-- ticks: 0, 2, 5, 8
-- gives:
--   0: (1, 1) (NULL, 1)
--   1: (1, NULL)
--   3: (2, 2)
--   4: (1, 2)
--   8: (2, NULL)
-- kept counts:
--   (1, 1, 0) (NULL, 1, 0) (1, NULL, 1) (2, 2, 3) (1, 2, 4) (2, NULL, 8)
----
-- the tuples that were not there yet
INSERT INTO cql_state.distinct_counts
SELECT k, v, _ts FROM (SELECT k, v, MIN(_ts) AS _ts FROM delta_l GROUP BY k, v) AS first
WHERE NOT EXISTS(
    SELECT 1 FROM cql_state.distinct_counts AS kept
    WHERE first.k IS NOT DISTINCT FROM kept.k AND first.v IS NOT DISTINCT FROM kept.v
  );
-- elements
SELECT k, v, _ts, CAST(1 AS BIGINT) AS _weight FROM cql_state.distinct_counts WHERE _ts > $t0;
-- lives
SELECT k, v, _ts AS _cql_enter, 9223372036854775807 AS _cql_leave, CAST(1 AS BIGINT) AS _weight
FROM cql_state.distinct_counts WHERE _ts > $t0;
-- standing
SELECT k, v, CAST($t0 AS BIGINT) AS _cql_enter, 9223372036854775807 AS _cql_leave,
  CAST(1 AS BIGINT) AS _weight FROM cql_state.distinct_counts WHERE _ts <= $t0;

-- law: the same in stages: only what meets the tick is read of the synopsis
-- operator: First
-- node: Distinct(l)
-- form: staged
-- l(k INTEGER, v INTEGER) is_append_only never_expires: as above
-- ticks: 0, 2, 5, 8
-- gives: as above
-- kept counts: as above
-- same, the stage reads no more than what it is compared with:
--   the tuples that were not there yet: without EXISTS(SELECT 1 FROM (SELECT * … v IS NOT DISTINCT FROM kept.v)
--   the tuples that were not there yet: without first.k IS NOT DISTINCT FROM kept.k
--   the tuples that were not there yet: without first.v IS NOT DISTINCT FROM kept.v
----
-- the tuples of the tick, each once
CREATE OR REPLACE TEMPORARY TABLE temp._cql_first_distinct AS
SELECT k, v, MIN(_ts) AS _ts FROM delta_l GROUP BY k, v;
-- the tuples that were not there yet
INSERT INTO cql_state.distinct_counts
WITH here AS MATERIALIZED (
  SELECT k, v FROM cql_state.distinct_counts AS kept WHERE EXISTS(
      SELECT 1 FROM (SELECT * FROM temp._cql_first_distinct) AS first
      WHERE first.k IS NOT DISTINCT FROM kept.k AND first.v IS NOT DISTINCT FROM kept.v
    )
)
SELECT k, v, _ts FROM (SELECT * FROM temp._cql_first_distinct) AS first WHERE NOT EXISTS(
    SELECT 1 FROM here AS kept
    WHERE first.k IS NOT DISTINCT FROM kept.k AND first.v IS NOT DISTINCT FROM kept.v
  );
-- elements
SELECT k, v, _ts, CAST(1 AS BIGINT) AS _weight FROM cql_state.distinct_counts WHERE _ts > $t0;
