-- From version 7: a member of a family may show some columns of it, where some of them are true.

ALTER TABLE IF EXISTS cql_state.query_rows ADD COLUMN IF NOT EXISTS projection VARCHAR[] DEFAULT [];
ALTER TABLE IF EXISTS cql_state.query_rows ADD COLUMN IF NOT EXISTS selection VARCHAR[] DEFAULT [];
