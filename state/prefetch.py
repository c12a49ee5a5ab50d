"""Prefetching: a tick's work on its arrivals alone is done while the previous tick runs.

Statements of a tick run one after another, and most of a small one use one thread. Grouping the
rows of one batch needs neither the state nor the tick: as soon as a thread has read the batch, it
pre-aggregates it, in a DuckDB of its own. The tick uses the result in place of the temporary table
that its statement would write.

The result is valid if the batch is all of the tick's arrivals; otherwise it is dropped. A failed
prefetch is not repeated: the tick raises the error. After a user has changed a setting of DuckDB,
nothing is prefetched any more, because the other DuckDB does not have the setting.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import duckdb
import pyarrow as pa

from cqlduck.rewrite.physical.arrivals import Prefetch, arrivals_of
from cqlduck.rewrite.statements.steps import Step
from cqlduck.state.connection import Database, quoted
from cqlduck.state.incoming import Incoming
from cqlduck.state.names import ARRIVED
from cqlduck.state.parsed import Parsed
from cqlduck.state.processes import never_let_go
from cqlduck.state.row_groups import ROW_GROUP_ROWS
from cqlduck.state.running import copied

WANTED_TICKS = 4
"""For how many ticks what a tick has needed is worked out for those that follow."""

Made = Mapping[str, pa.Table]
"""By the SELECT: what it gives."""

_NAME = "_cql_made_{}"


class Prefetcher:
    """What is wanted for ticks to come, and the DuckDB that works it out.

    Args:
        database: The database.
    """

    def __init__(self, database: Database) -> None:
        """Begin with nothing; the DuckDB is made when it is needed."""
        self._database = database
        self._own: duckdb.DuckDBPyConnection | None = None
        self.wanted: dict[Prefetch, int] = {}
        """What ticks have needed, and which one last."""
        self._failed: set[str] = set()
        self._streams: set[str] = set()
        self._parsed = Parsed()
        self.tick = 0
        """The number of the tick that runs, of those since the database was opened."""
        self._stopped = False

    def note(self, steps: Sequence[Step]) -> None:
        """Take note of what a query's tick could have had."""
        for step in steps:
            if step.prefetch is not None:
                self.wanted[step.prefetch] = self.tick

    def order(self, stream: str) -> Callable[[pa.Table], Made] | None:
        """Return what makes of a stream's rows what the next ticks want, if they want anything.

        It runs in another thread, one call at a time.
        """
        self.wanted = {
            p: last for p, last in self.wanted.items() if self.tick - last < WANTED_TICKS
        }
        wanted = {part.select for part in self.wanted if part.stream == stream} - self._failed
        if not wanted or self._stopped:
            return None
        return lambda rows: self._make(stream, rows, sorted(wanted))

    def stop(self) -> None:
        """Work out nothing from now on."""
        self._stopped = True

    def open(self) -> None:
        """Make the DuckDB, in the thread that uses it."""
        if self._own is None:
            self._own = duckdb.connect(":memory:", config={"threads": 1})
            never_let_go(self, self._own)
            self._own.execute("SET TimeZone = 'UTC'")
            # all types come out as what they are
            self._own.execute("SET arrow_lossless_conversion = true")
            self._incoming = Incoming(self._own, ROW_GROUP_ROWS)

    def _make(self, stream: str, rows: pa.Table, selects: Sequence[str]) -> Made:
        self.open()
        assert self._own is not None
        made: dict[str, pa.Table] = {}
        name = ARRIVED + stream
        with self._incoming.readable(name, rows):
            if stream not in self._streams:
                self._own.execute(
                    f"CREATE OR REPLACE TEMP MACRO {quoted(arrivals_of(stream))}(low, high) "
                    f"AS TABLE FROM {quoted(name)}"
                )
                self._streams.add(stream)
            for select in selects:
                statement = self._parsed.statement(select)
                try:
                    made[select] = copied(self._own, statement, {"t0": 0, "t1": 0})
                except duckdb.Error:
                    self._failed.add(select)
        return made

    def consume(self, made: Made, part: Prefetch) -> int | None:
        """Make a tick's table of what was worked out; return how many rows it has, or None."""
        table = made.get(part.select)
        # what was worked out before a setting was changed may be something else now
        if table is None or self._stopped:
            return None
        name = _NAME.format(part.table)
        with self._database.incoming.readable(name, table):
            self._database.execute(
                f"CREATE OR REPLACE TEMP TABLE {quoted(part.table)} AS FROM {quoted(name)}"
            )
        return int(table.num_rows)
