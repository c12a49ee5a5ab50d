-- From version 10: a query may be answered when it is read, and not in each tick.

ALTER TABLE IF EXISTS cql_state.query_rows ADD COLUMN IF NOT EXISTS is_deferred BOOLEAN DEFAULT false;
ALTER TABLE IF EXISTS cql_state.query_rows ADD COLUMN IF NOT EXISTS promised BIGINT;
