"""Reads of committed data, on connections of their own, while ticks go on."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import MappingProxyType

import duckdb
import pyarrow as pa

from cqlduck.state.connection import Database
from cqlduck.state.frames import readable
from cqlduck.state.interrupts import interrupted_after
from cqlduck.state.running import Parameters

NO_FRAMES: Mapping[str, pa.Table] = MappingProxyType({})


class Read:
    """One read of what is committed when it begins: ticks after it do not show in it.

    Args:
        database: The database.
        frames: Data frames that it may read by name.
        is_select: Whether it is a SELECT, which then cannot write whatever its text is. DuckDB
            explains a DELETE where it could be run alone.
    """

    def __init__(
        self,
        database: Database,
        frames: Mapping[str, pa.Table] = NO_FRAMES,
        *,
        is_select: bool = True,
    ) -> None:
        """Begin a transaction."""
        self._database = database
        self._frames = frames
        self._connection = database.reader()
        with database.running(self._connection):
            self._execute(f"BEGIN TRANSACTION{' READ ONLY' if is_select else ''}")
            # DuckDB begins it with its first read
            self._execute("SELECT 1 FROM cql_state.settings LIMIT 1").fetchall()

    @contextmanager
    def reading(self, timeout: float | None = None) -> Iterator[None]:
        """Let the block read, and what it reads be stopped.

        Args:
            timeout: After how many seconds it is interrupted, which is a
                `duckdb.InterruptException`; None is never.
        """
        database, connection = self._database, self._connection
        seen = readable(connection, self._frames)
        limit: AbstractContextManager[None] = nullcontext()
        if timeout is not None:
            limit = interrupted_after(connection, timeout)
        with database.threads.reading(), seen, database.running(connection), limit:
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


def copied(
    database: Database, query: str, *, sees_variables: bool, is_large: bool = True
) -> tuple[duckdb.DuckDBPyRelation, int]:
    """Return the rows of a SELECT of ours as a relation over a copy, and their number.

    No tick runs meanwhile.

    Args:
        database: The database.
        query: The SELECT.
        sees_variables: As in `Read.table`.
        is_large: Whether there may be so many rows that all threads should copy them.
    """
    reader = database.reader(is_large=is_large)
    with database.threads.reading() if is_large else contextlib.nullcontext():
        database.on(reader, f"CREATE TEMP TABLE _cql_result AS {query}")
        ((count,),) = reader.fetchall()
        if sees_variables:
            database.on(reader, "SET python_enable_replacements = true")
        return reader.table("temp._cql_result"), count
