"""A read of what is committed, on a connection of its own, beside the ticks that go on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import duckdb
import pyarrow as pa

from cqlduck.state.connection import Database
from cqlduck.state.frames import readable

Parameters = Sequence[Any] | Mapping[str, Any] | None


class Read:
    """One read; `begin` makes it.

    Args:
        database: The database.
        connection: The read's own connection.
    """

    def __init__(self, database: Database, connection: duckdb.DuckDBPyConnection) -> None:
        """Begin a transaction, which sees what is committed by now."""
        self._database = database
        self._connection = connection
        with database.running(connection):
            self._execute("BEGIN TRANSACTION")
            # DuckDB begins it with its first read
            self._execute("SELECT 1 FROM cql_state.settings LIMIT 1").fetchall()

    @contextmanager
    def reading(self, frames: Mapping[str, pa.Table]) -> Iterator[None]:
        """Let the block read, and what it reads be stopped.

        Args:
            frames: Data frames that it may read by name.
        """
        running, reading = self._database.running(self._connection), self._database.threads
        with reading.reading(), readable(self._connection, frames), running:
            yield

    def table(
        self, query: str, parameters: Parameters, *, sees_variables: bool
    ) -> duckdb.DuckDBPyRelation:
        """Return a query's rows as a relation over a copy, and end the read.

        Args:
            query: The query.
            parameters: Values for its parameters.
            sees_variables: Whether what is made of the relation may name variables of the caller:
                that DuckDB runs for the caller itself.
        """
        text = query.strip().rstrip(";")
        self._execute(f"CREATE TEMP TABLE _cql_result AS {text}", parameters)
        self.end()
        if sees_variables:
            self._execute("SET python_enable_replacements = true")
        return self._connection.table("temp._cql_result")

    def sql(self, query: str, parameters: Parameters) -> duckdb.DuckDBPyRelation | None:
        """Return a statement as a relation, which runs when it is read; None if it has no rows."""
        if self._database.trace is not None:
            self._database.trace(query, parameters)
        return self._connection.sql(query, params=parameters)

    def end(self) -> None:
        """End the read."""
        self._execute("COMMIT")

    def _execute(self, sql: str, parameters: Parameters = None) -> duckdb.DuckDBPyConnection:
        if self._database.trace is not None:
            self._database.trace(sql, parameters)
        return self._connection.execute(sql, parameters)


def begin(database: Database) -> Read:
    """Begin a read of what is committed: ticks after it do not show in it."""
    return Read(database, database.reader())
