-- From version 2: what is chosen at the points of plans lies in the database, and why it changed.
-- schema.sql makes the tables, as in a new database; a version that does not know them would leave
-- the choices of a query behind that it drops, so it is to refuse the file from now on.

DROP TABLE IF EXISTS cql_state.choices;
DROP TABLE IF EXISTS cql_state.plan_log;
