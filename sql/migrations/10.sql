-- From version 9: a query that has become warm may become a member of a family.

ALTER TABLE IF EXISTS cql_state.query_rows ADD COLUMN IF NOT EXISTS merged_at BIGINT;
