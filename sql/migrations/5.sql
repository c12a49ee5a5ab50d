-- From version 4: one plan can compute several queries, which are its members.

ALTER TABLE IF EXISTS cql_state.input_rows ADD COLUMN IF NOT EXISTS family VARCHAR;
ALTER TABLE IF EXISTS cql_state.query_rows ADD COLUMN IF NOT EXISTS family VARCHAR;
ALTER TABLE IF EXISTS cql_state.query_rows ADD COLUMN IF NOT EXISTS member BIGINT;
ALTER TABLE IF EXISTS cql_state.query_rows ADD COLUMN IF NOT EXISTS shape VARCHAR;
ALTER TABLE IF EXISTS cql_state.query_rows ADD COLUMN IF NOT EXISTS is_open BOOLEAN DEFAULT false;
