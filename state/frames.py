"""Arrow tables that a user's statements read by name, on every connection.

DuckDB registers a table on one connection only. So this module has the tables that are registered
for good, and registers them on each connection that is made later.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping

import duckdb
import pyarrow as pa


class Frames:
    """The tables that are registered, by name."""

    def __init__(self) -> None:
        """Begin with none."""
        self.tables: dict[str, pa.Table] = {}
        """The tables, by name."""

    def find(self, name: str) -> str | None:
        """Return the name of a registered table as it was written, or None if there is none."""
        return next((known for known in self.tables if known.lower() == name.lower()), None)

    @property
    def names(self) -> list[str]:
        """The names."""
        return list(self.tables)

    def show(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Let the statements of a connection read all tables."""
        for name, table in self.tables.items():
            connection.register(name, table)

    def add(self, name: str, table: pa.Table, connection: duckdb.DuckDBPyConnection) -> None:
        """Register a table for good, in the place of another of this name."""
        known = self.find(name)
        if known is not None:
            self.remove(known, connection)
        connection.register(name, table)
        self.tables[name] = table

    def remove(self, name: str, connection: duckdb.DuckDBPyConnection) -> None:
        """Take a table back."""
        del self.tables[name]
        connection.unregister(name)


@contextlib.contextmanager
def readable(
    connection: duckdb.DuckDBPyConnection, tables: Mapping[str, pa.Table]
) -> Iterator[None]:
    """Let the statements of the block read tables by name, on one connection."""
    for name, table in tables.items():
        connection.register(name, table)
    try:
        yield
    finally:
        for name in tables:
            with contextlib.suppress(duckdb.Error):
                connection.unregister(name)
