"""The settings of a connection as rows, and `cql.properties` as a table that can be updated."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import duckdb

from cqlduck.state.connection import Database
from cqlduck.state.running import Parameters

TABLE = "temp._cql_properties"
"""What an UPDATE of `cql.properties` runs on."""

_COLUMNS = (
    "kind",
    "owner",
    "name",
    "value",
    "default_value",
    "meaning",
    "is_changeable",
    "changes",
    "statement",
)


class Property(NamedTuple):
    """A row of `cql.properties`; see there what its columns mean."""

    kind: str
    owner: str | None
    name: str
    value: str | None
    default_value: str | None
    meaning: str
    is_changeable: bool
    changes: str
    statement: str


def write(database: Database, values: Mapping[str, str | None]) -> None:
    """Write the settings of a connection, unless they stand there, inside a change.

    Args:
        database: The database.
        values: Their values as texts, by name; None is a setting without one.
    """
    known = dict(database.rows("SELECT name, value FROM cql_state.connection_settings"))
    if known == values:
        return
    database.execute("DELETE FROM cql_state.connection_settings")
    marks = ", ".join(["(?, ?)"] * len(values))
    listed = [text for pair in values.items() for text in pair]
    database.execute(f"INSERT INTO cql_state.connection_settings VALUES {marks}", listed)


@contextlib.contextmanager
def table_of_properties(database: Database) -> Iterator[None]:
    """Make `TABLE` a copy of `cql.properties` for the block, inside a change."""
    database.execute(
        "CREATE TEMP TABLE _cql_properties AS "
        "SELECT *, row_number() OVER () AS _cql_number FROM cql.properties"
    )
    try:
        yield
    finally:
        # after an error the transaction is over, and the table with it
        with contextlib.suppress(duckdb.Error):
            database.execute(f"DROP TABLE {TABLE}")


def properties(database: Database) -> Sequence[Property]:
    """Return the rows of `TABLE`, in their order."""
    listed = ", ".join(_COLUMNS)
    rows = database.rows(f"SELECT {listed} FROM {TABLE} ORDER BY _cql_number")
    return [Property(*row) for row in rows]


def updated(database: Database, text: str, parameters: Parameters) -> int:
    """Run an UPDATE of `TABLE`; return how many rows it found."""
    rows: list[tuple[Any, ...]] = database.execute(text, parameters)
    return int(rows[0][0]) if rows else 0
