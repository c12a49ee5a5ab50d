-- From version 5: queries have a weight, and may have a plan of their own by their own wish.

ALTER TABLE IF EXISTS cql_state.query_rows ADD COLUMN IF NOT EXISTS weight DOUBLE DEFAULT 1;
ALTER TABLE IF EXISTS cql_state.query_rows ADD COLUMN IF NOT EXISTS sharing BOOLEAN;
