-- From version 8: a query may be answered anew at each change, and has another plan then.

ALTER TABLE IF EXISTS cql_state.query_rows ADD COLUMN IF NOT EXISTS is_anew BOOLEAN DEFAULT false;
