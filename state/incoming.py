"""A slot for Arrow tables: a name that stays registered while its table changes.

Registering and unregistering a table for one statement takes DuckDB longer than inserting a hundred
rows of it. So an object is registered for good, and hands out the current table.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import duckdb
import pyarrow as pa


class _Current:
    """An object that gives out one table after another, all of one schema, by Arrow's interface.

    In batches of `batch` rows, each of which one of DuckDB's threads takes in.
    """

    def __init__(self, table: pa.Table, batch: int) -> None:
        self.table = table
        self.batch = batch
        self.schema: pa.Schema = table.schema
        # not empty_table(), which cannot make every type
        self.nothing: pa.Table = pa.Table.from_batches([], schema=table.schema)

    def __arrow_c_schema__(self) -> object:
        return self.schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        batches = self.table.to_reader(max_chunksize=self.batch)
        return batches.__arrow_c_stream__(requested_schema)


class Incoming:
    """What is registered on a connection, by name.

    Args:
        connection: The connection.
        batch: How many rows are read at a time: if that is how many DuckDB stores together, what
            a thread has read it writes by itself, and once.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, batch: int) -> None:
        """Begin with nothing."""
        self._connection = connection
        self._batch = batch
        self._registered: dict[str, _Current] = {}

    @contextlib.contextmanager
    def readable(self, name: str, table: pa.Table) -> Iterator[None]:
        """Let statements of the block read a table by a name."""
        current = self._registered.get(name)
        if current is None or not current.schema.equals(table.schema, check_metadata=True):
            current = _Current(table, self._batch)
            self._connection.register(name, current)
            self._registered[name] = current
        current.table = table
        try:
            yield
        finally:
            # it may be large, and is not ours to keep
            current.table = current.nothing

    def remove(self, name: str) -> None:
        """Let go of a name, if it is registered."""
        if self._registered.pop(name, None) is not None:
            self._connection.unregister(name)

    kept: None = None
    """What is registered stays, unless a transaction is undone."""

    def roll_back(self, _: None = None) -> None:
        """Register anew what comes: the transaction is undone that may have registered."""
        self._registered.clear()
