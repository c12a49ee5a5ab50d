-- From version 11: a query that is behind the others comes up to them in ticks of its own,
-- and the instant from which a query lacks nothing is noted; of those that are there it is found later.

ALTER TABLE IF EXISTS cql_state.query_rows ADD COLUMN IF NOT EXISTS backfill_from BIGINT;
ALTER TABLE IF EXISTS cql_state.query_rows ADD COLUMN IF NOT EXISTS backfill_to BIGINT;
ALTER TABLE IF EXISTS cql_state.query_rows ADD COLUMN IF NOT EXISTS complete_from BIGINT DEFAULT -9223372036854775807;
