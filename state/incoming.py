"""Arrow tables that statements read by a name that stays registered from one table to the next.

To register a table for a statement and take it back takes DuckDB longer than to insert a hundred
rows of it. So what is registered, for good, is an object that hands out the table of the moment.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import duckdb
import pyarrow as pa


class _Current:
    """An object that gives out one table after another, all of one schema, by Arrow's interface."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table
        self.schema: pa.Schema = table.schema
        self.nothing: pa.Table = table.schema.empty_table()

    def __arrow_c_schema__(self) -> object:
        return self.schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)


class Incoming:
    """What is registered on a connection, by name."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Begin with nothing."""
        self._connection = connection
        self._registered: dict[str, _Current] = {}

    @contextlib.contextmanager
    def readable(self, name: str, table: pa.Table) -> Iterator[None]:
        """Let statements of the block read a table by a name."""
        current = self._registered.get(name)
        if current is None or not current.schema.equals(table.schema):
            current = _Current(table)
            self._connection.register(name, current)
            self._registered[name] = current
        current.table = table
        try:
            yield
        finally:
            # it may be large, and is not ours to keep
            current.table = current.nothing

    def forget(self) -> None:
        """Register anew what comes: the transaction is rolled back that may have registered."""
        self._registered.clear()
