"""Results that are read from the log of a query only when a caller reads them.

The part of a log up to a frontier never changes, so a result over it needs no copy: it is a view,
bounded by that frontier, which the returned relation reads. Only before a log loses rows, because
its query is dropped or history is bounded, is the result copied, and its view reads the copy from
then on. The views and copies are in memory, beside the database.

A result ends when no relation reads it any more. Each is read on a connection of its own, which the
relations made of it reference. So a weak reference to an object of that connection tells.
"""

from __future__ import annotations

import itertools
import weakref
from collections import deque

import duckdb
import pyarrow as pa

from cqlduck.state.connection import Database
from cqlduck.state.logs import Logs

_VIEW = "memory.main._cql_result_{}"
_COPY = "memory.main._cql_copy_{}"
_GUARD = "_cql_guard"


class Results:
    """The results that are read from logs.

    Args:
        database: The database.
    """

    def __init__(self, database: Database) -> None:
        """Begin with none."""
        self.logs = Logs(database)
        """What is known of the logs that are read."""
        self._database = database
        self._numbers = itertools.count()
        self._logs: dict[int, str] = {}
        """Of each result that is read from a log, that log."""
        self._over: deque[int] = deque()
        """The results that are over, and still have their views."""
        self._own: duckdb.DuckDBPyConnection | None = None

    def read(self, log: str, query: str) -> duckdb.DuckDBPyRelation:
        """Return a relation that reads a log, as long as it may.

        Args:
            log: The name of the log.
            query: A SELECT over rows of it that stay as they are.
        """
        self._sweep()
        number = next(self._numbers)
        view = _VIEW.format(number)
        self._run(f"CREATE VIEW {view} AS {query}")
        self._logs[number] = log
        reader = self._database.reader()
        guard = pa.Table.from_batches([], pa.schema([("guard", pa.bool_())]))
        reader.register(_GUARD, guard)
        # from whatever thread: the view is dropped by the next who comes along
        weakref.finalize(guard, self._over.append, number).atexit = False
        return reader.view(view)

    def keep(self, log: str) -> None:
        """Copy what is read from a log, before it loses rows."""
        self._sweep()
        self.logs.forget(log)
        for number, name in list(self._logs.items()):
            if name == log:
                view, copy = _VIEW.format(number), _COPY.format(number)
                self._run(f"CREATE TABLE {copy} AS FROM {view}")
                self._run(f"CREATE OR REPLACE VIEW {view} AS FROM {copy}")
                del self._logs[number]

    def close(self) -> None:
        """Let go of the database; no result can be read after it."""
        if self._own is not None:
            self._own.close()
            self._own = None

    def _sweep(self) -> None:
        """Drop the views and copies of results that are over."""
        while self._over:
            number = self._over.popleft()
            self._logs.pop(number, None)
            self._run(f"DROP VIEW IF EXISTS {_VIEW.format(number)}")
            self._run(f"DROP TABLE IF EXISTS {_COPY.format(number)}")

    def _run(self, sql: str) -> None:
        """Run a statement on a connection whose changes are no part of a tick's transaction."""
        if self._own is None:
            self._own = self._database.reader()
        if self._database.trace is not None:
            self._database.trace(sql, None)
        self._own.execute(sql)
