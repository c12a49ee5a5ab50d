-- From what was written before versions were counted: the catalogue's rows get what they lack. Their
-- views are made anew afterwards.

ALTER TABLE cql_state.input_rows ADD COLUMN IF NOT EXISTS ahead BIGINT;
ALTER TABLE cql_state.input_rows ADD COLUMN IF NOT EXISTS ahead_text VARCHAR;
ALTER TABLE cql_state.query_rows ADD COLUMN IF NOT EXISTS error_reason VARCHAR;
ALTER TABLE cql_state.query_rows ADD COLUMN IF NOT EXISTS error_row VARCHAR;

-- Inputs and queries are numbered together, and keep their number for life.
ALTER TABLE cql_state.input_rows ADD COLUMN IF NOT EXISTS number BIGINT;
ALTER TABLE cql_state.query_rows ADD COLUMN IF NOT EXISTS number BIGINT;
UPDATE cql_state.input_rows SET number = position WHERE number IS NULL;
UPDATE cql_state.query_rows SET number = position WHERE number IS NULL;

-- Operators are called by their ids, and described anew when the database is opened.
DROP TABLE cql_state.operators;
