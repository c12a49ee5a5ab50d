"""Columns as SQL: of a query, of CREATE TABLE, to compare rows, and to make a table net."""

from __future__ import annotations

from collections.abc import Sequence

from cqlduck.rewrite.plan import Column
from cqlduck.rewrite.relalg.values import identity_columns
from cqlduck.state.connection import Database, quoted


def of_query(database: Database, query: str) -> tuple[Column, ...]:
    """Return the columns of a query, which binds inside the transaction.

    Raises:
        duckdb.Error: It does not bind.
    """
    return tuple(Column(name, kind) for name, kind, *_ in database.rows(f"DESCRIBE {query}"))


def type_of(database: Database, written: str) -> str:
    """Return a type as DuckDB calls it.

    Raises:
        duckdb.Error: It has none of this name.
    """
    return of_query(database, f"SELECT CAST(NULL AS {written}) AS c")[0].type


def typed(columns: tuple[Column, ...]) -> str:
    """Return columns as in CREATE TABLE."""
    return ", ".join(f"{quoted(c.name)} {c.type}" for c in columns)


def same_rows(columns: Sequence[Column]) -> str:
    """Return what to group rows by that are the same, not only equal, as SQL."""
    return ", ".join(part.sql("duckdb") for part in identity_columns(columns))


def weighted_rows(columns: tuple[Column, ...], source: str) -> str:
    """Return the SELECT of a bag: each tuple as often as its weights in `source` sum up to."""
    listed = ", ".join(quoted(c.name) for c in columns)
    return (
        f"SELECT {listed} FROM (SELECT {listed}, unnest(range(_weight)) AS _cql_copy FROM "
        f"(SELECT {listed}, CAST(sum(_weight) AS BIGINT) AS _weight FROM ({source}) AS elements "
        f"GROUP BY {same_rows(columns)} HAVING sum(_weight) > 0) AS net) AS copies"
    )


def rewrite(database: Database, table: str, query: str, gone: str = "") -> None:
    """Put what a query says in the place of rows of a table that it reads.

    Args:
        database: The database, inside a transaction.
        table: The table, as SQL.
        query: The query.
        gone: Which rows go, as a WHERE clause; by default all.
    """
    database.execute(f"CREATE OR REPLACE TEMP TABLE _cql_rewritten AS {query}")
    database.execute(f"DELETE FROM {table}{gone}")
    database.execute(f"INSERT INTO {table} SELECT * FROM temp._cql_rewritten")


def compact(database: Database, table: str, columns: Sequence[Column], until: int) -> None:
    """Replace the elements of a log up to an instant by their net content, dated at it."""
    listed, name = ", ".join(quoted(c.name) for c in columns), f"cql_state.{quoted(table)}"
    net = (
        f"SELECT {listed}, {until}::BIGINT AS _ts, CAST(sum(_weight) AS BIGINT) AS _weight "
        f"FROM {name} WHERE _ts <= {until} GROUP BY {same_rows(columns)} HAVING sum(_weight) <> 0"
    )
    rewrite(database, name, net, f" WHERE _ts <= {until}")
