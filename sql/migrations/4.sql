-- From version 3: the pipelines of a join have points of their own, told apart by the input that
-- changes. The tables are there only if the database was made by version 3: before, they are new.

ALTER TABLE IF EXISTS cql_state.choices ADD COLUMN IF NOT EXISTS input INTEGER;
ALTER TABLE IF EXISTS cql_state.plan_log ADD COLUMN IF NOT EXISTS input INTEGER;
