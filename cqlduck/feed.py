"""What comes in: rows, heartbeats and batches of the drop zone, and the ticks that follow.

A call takes what it was given inside a change, all of it or nothing. Ticks come after it, each a
transaction of its own; a query that fails in one stops, and the caller is warned of it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import duckdb
import pyarrow as pa

from cqlduck import ingest, moments
from cqlduck.engine import Engine
from cqlduck.errors import DataError, kind_of, warn
from cqlduck.meter import Meter
from cqlduck.reader import Reader
from cqlduck.rewrite.text.time import Instant
from cqlduck.state import instants
from cqlduck.state.frames import readable
from cqlduck.state.profile import INGEST
from cqlduck.state.registered import Input
from cqlduck.statements import refresh
from cqlduck.statements.translated import from_duckdb

if TYPE_CHECKING:
    from cqlduck.sources.ahead import Ahead


class _Given(NamedTuple):
    """Data that a call was given.

    Attributes:
        thing: The input that they are for.
        table: They, as Arrow.
        seconds: How long it took to read them.
    """

    thing: Input
    table: pa.Table
    seconds: float


class Feed:
    """Takes rows into the inputs of an engine, and runs its ticks.

    Args:
        engine: The engine.
        reader: Brings up what a refresh reads.
        meter: Shows how far a call is.
        drop_zone: The folder of the drop zone, or None.
    """

    def __init__(
        self, engine: Engine, reader: Reader, meter: Meter, drop_zone: Path | None
    ) -> None:
        """Begin to read ahead of the drop zone, if there is one."""
        self._engine, self._reader, self._meter = engine, reader, meter
        self.drop_zone = drop_zone
        self._ahead: Ahead | None = None
        if drop_zone is not None:
            # not in the first tick; who has no drop zone does not wait for what reads Parquet
            from cqlduck.sources.follow import reading_ahead

            self._ahead = reading_ahead(engine)

    def close(self) -> None:
        """Read ahead no more."""
        if self._ahead is not None:
            self._ahead.close()

    def append(self, name: str, data: Any, at: Any, operation: str) -> int:
        """Take rows into an input; return how many elements were taken.

        Args:
            name: The stream or relation.
            data: The rows, as for `Connection.append`.
            at: Their instants, or None.
            operation: '+', or '-' for retractions from a relation.

        Raises:
            CatalogError: There is no such stream or relation.
            DataError: Rows that do not fit, or are late; nothing was taken.
        """
        engine = self._engine
        what = f"append to {name}" if operation == "+" else f"retract from {name}"
        deferred, meter = engine.database.interrupts.deferred, self._meter.during(what)
        with meter:
            given, at = self._read(name, data), ingest.instants_of(at)
            with deferred, engine.changing(), engine.database.part(INGEST):
                self._count(given)
                thing = self._as_read(given)
                return ingest.accept(engine, thing, given.table, at, operation).taken

    def _read(self, name: str, data: Any) -> _Given:
        """Read data for an input.

        Data may come from the caller's code, such as a generator, which may take its time, wait for
        other threads, or use the connection: so they are read outside of any change and turn.
        """
        with self._engine.opened():
            thing = self._engine.input(name)
        begun = time.perf_counter()
        with self._engine.database.interrupts.noticed():
            table = ingest.read(thing, data)
        return _Given(thing, table, time.perf_counter() - begun)

    def _as_read(self, given: _Given) -> Input:
        """Return the input for which data were read, if it is still what it was.

        Raises:
            DataError: It was made anew, with other columns.
        """
        thing = given.thing
        found = self._engine.input(thing.name)
        if found.columns != thing.columns:
            raise DataError(
                f"the {thing.kind} {thing.name} got other columns while its rows were read",
                hint="nothing was taken; append them again",
            )
        return found

    def _count(self, *given: _Given) -> None:
        """Have a profile, if one is taken, count what it took to read data."""
        profile = self._engine.database.profile
        if profile is not None:
            profile.spent(INGEST, sum(one.seconds for one in given))

    def refresh(self, name: str, data: Any, at: Any) -> int:
        """Make data the content of a relation; return how many elements that are.

        Raises:
            Error: As `Connection.refresh`.
        """
        engine = self._engine
        with engine.opened():
            refresh.relation(engine, name)
        given = self._read(name, data)
        with (
            engine.database.interrupts.deferred,
            engine.changing(),
            engine.database.part(INGEST),
        ):
            self._count(given)
            return refresh.from_data(engine, self._as_read(given), given.table, at)

    def refresh_from_query(self, name: str, frames: Mapping[str, pa.Table], at: Any) -> int:
        """Make what a relation's query gives its content; return how many elements that are.

        Args:
            name: The relation.
            frames: The data frames that the query reads, by name.
            at: The instant, or None.

        Raises:
            Error: As `Connection.refresh`.
        """
        engine = self._engine
        deferred = engine.database.interrupts.deferred
        with deferred, engine.opened():
            self._reader.bring_up(engine.behind())
        with deferred, readable(engine.database.connection, frames), engine.changing():
            # its query may read whatever there is
            engine.reading(everything=True)
            try:
                return refresh.from_query(engine, name, at=at)
            except duckdb.Error as error:
                raise from_duckdb(error, engine.input(name).query or "", 0) from error

    def heartbeat(self, name: str, to: Any) -> None:
        """Raise the heartbeat of an input.

        Raises:
            CatalogError: There is no such stream or relation.
        """
        engine = self._engine
        with engine.database.interrupts.deferred, engine.changing():
            thing = engine.input(name)
            engine.raise_heartbeat(thing, moments.heartbeat_instant(engine, to))

    def step(self, rows: Mapping[str, Any], to: Any) -> Any:
        """Take rows into several inputs, raise all heartbeats, and run the ticks that this allows.

        Args:
            rows: For each input its data.
            to: The heartbeat of all inputs, or None.

        Returns:
            The least frontier of the active queries, as people see instants, or None.

        Raises:
            CatalogError: There is no such stream or relation; nothing was taken.
            DataError: Rows that do not fit, or are late; nothing was taken.
        """
        engine = self._engine
        what = "advance" if to is None else f"advance to {to}"
        if not isinstance(rows, Mapping):
            raise DataError(
                f"the rows of a tick are a mapping, not {kind_of(rows)}",
                hint='from the name of each input to its data, as in {"s": rows}',
            )
        # once, because a tick in which a query fails takes them in a second time
        kept = [self._read(name, rows[name]) for name in rows]
        with engine.database.interrupts.deferred:
            with engine.opened(), self._meter.during(what, engine.progress.way):
                until = None
                self._count(*kept)
                if rows or to is not None:
                    until = engine.step(lambda: self._take(kept, to))
                self._run(until, is_done=bool(rows))
                reached = instants.public(engine.clock, engine.frontier())
            self._warn()
            return reached

    def _run(self, until: Instant | None, *, is_done: bool) -> None:
        """Run ticks; what ends those of a call that has done what it was for lets it return."""
        try:
            self._engine.run(until)
        except BaseException as error:
            if not (is_done and self._engine.may_return(error)):
                raise

    def _take(self, rows: Sequence[_Given], to: Any) -> Instant | None:
        """Take rows and a heartbeat in, inside a change; return the heartbeat's instant."""
        engine = self._engine
        for given in rows:
            with engine.database.part(INGEST):
                ingest.accept(engine, self._as_read(given), given.table, None, "+")
        if to is None:
            return None
        until = moments.heartbeat_instant(engine, to)
        for thing in engine.catalogue.inputs.values():
            # what operators did is known up to where they are
            if thing is not engine.catalogue.system:
                engine.raise_heartbeat(thing, until)
        return until

    def follow(self, limit: int | None = None, slices: int | None = None) -> int:
        """Take what is new in the drop zone and advance; return the number of batches taken.

        Args:
            limit: How many batches of each input to take at most.
            slices: How many slices of the backfill to run at most.
        """
        with self._engine.database.interrupts.deferred:
            count = self.follow_quietly(limit, slices)
            if self._engine.failed:
                self._warn()
            return count

    def follow_quietly(self, limit: int | None = None, slices: int | None = None) -> int:
        """Do the same, and leave it to the caller to tell of queries that failed."""
        from cqlduck.sources.follow import accept_batches, reading_ahead

        if self.drop_zone is None:
            if slices is None:
                self._engine.run()
            else:
                self._engine.go_on(slices)
            return 0
        if self._ahead is None:
            self._ahead = reading_ahead(self._engine)
        with self._meter.during(f"follow {self.drop_zone}"):
            return accept_batches(self._engine, self.drop_zone, self._ahead, limit, slices)

    def warn_without_zone(self) -> None:
        """Warn the caller who follows where an input reads a folder, and there is no drop zone."""
        if self.drop_zone is not None:
            return
        for thing in self._engine.catalogue.inputs.values():
            if thing.source is not None:
                warn(
                    f"the {thing.kind} {thing.name} reads the folder {thing.source!r}, and there "
                    "is no drop zone: connect(drop_zone=…) says where it is"
                )
                return

    def _warn(self) -> None:
        """Warn the caller of the queries and ticks that failed, once of each."""
        for error in self._engine.new_failures():
            warn(str(error))
