-- From version 1: a query keeps the macros that it calls as they were when it was registered.

ALTER TABLE cql_state.query_rows ADD COLUMN IF NOT EXISTS taken VARCHAR;
