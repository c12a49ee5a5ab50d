-- From version 6: what was measured at points of choice is stored. schema.sql makes the tables, as in
-- a new database; a version that does not know them would leave what was measured of a query behind
-- that it drops, so it is to refuse the file from now on.

DROP TABLE IF EXISTS cql_state.observations;
DROP TABLE IF EXISTS cql_state.profiles;
DROP TABLE IF EXISTS cql_state.accounts;
