"""Columns as SQL: of a query, of CREATE TABLE, and to compare rows."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from cqlduck.rewrite.plan import Column
from cqlduck.rewrite.relalg import values
from cqlduck.state.connection import Database, quoted


def of_query(database: Database, query: str) -> tuple[Column, ...]:
    """Return the columns of a query, which binds inside the transaction.

    Raises:
        duckdb.Error: It does not bind; the transaction goes on.
    """
    # an error of `execute` would end the transaction
    described = database.relation(f"DESCRIBE {query}")
    assert described is not None
    return tuple(Column(name, kind) for name, kind, *_ in described.fetchall())


def types_of(database: Database, written: Sequence[str]) -> list[str]:
    """Return types as DuckDB calls them.

    Raises:
        duckdb.Error: It has none of some name.
    """
    listed = ", ".join(f"CAST(NULL AS {kind}) AS c{at}" for at, kind in enumerate(written))
    return [column.type for column in of_query(database, f"SELECT {listed}")]


def typed(columns: tuple[Column, ...], plain: Collection[str] = ()) -> str:
    """Return columns as in CREATE TABLE.

    Args:
        columns: The columns.
        plain: The names of those that DuckDB must not compress.
    """
    return ", ".join(
        f"{quoted(c.name)} {c.type}{' USING COMPRESSION uncompressed' if c.name in plain else ''}"
        for c in columns
    )


def same_rows(columns: Sequence[Column]) -> str:
    """Return what to group rows by that are the same, not only equal, as SQL."""
    return ", ".join(part.sql("duckdb") for part in values.identity_columns(columns))


def values_of_group(columns: Sequence[Column]) -> str:
    """Return the columns of rows that are grouped by `same_rows`, for a SELECT list, as SQL."""
    return ", ".join(part.sql("duckdb") for part in values.values_of_group(columns))


def weighted_rows(columns: tuple[Column, ...], source: str) -> str:
    """Return the SELECT of a bag: each tuple as often as its weights in `source` sum up to."""
    listed = ", ".join(quoted(c.name) for c in columns)
    return (
        f"SELECT {listed} FROM (SELECT {listed}, unnest(range(_weight)) AS _cql_copy FROM "
        f"(SELECT {values_of_group(columns)}, CAST(sum(_weight) AS BIGINT) AS _weight "
        f"FROM ({source}) AS elements "
        f"GROUP BY {same_rows(columns)} HAVING sum(_weight) > 0) AS net) AS copies"
    )


def differing(columns: Sequence[Column], one: str, other: str) -> str:
    """Return the SELECT of how many tuples of two bags have no like in the other.

    Args:
        columns: The columns by which they are compared.
        one: The SELECT of a bag: (columns, `_weight`).
        other: That of the other one.
    """
    listed = "".join(f"{quoted(c.name)}, " for c in columns)
    grouped = f"GROUP BY {same_rows(columns)} " if columns else ""
    return (
        "SELECT CAST(coalesce(sum(abs(net)), 0) AS BIGINT) FROM (SELECT sum(_weight) AS net FROM "
        f"(SELECT {listed}_weight FROM ({one}) AS one UNION ALL "
        f"SELECT {listed}-_weight FROM ({other}) AS other) AS bags "
        f"{grouped}HAVING sum(_weight) <> 0) AS differing"
    )
