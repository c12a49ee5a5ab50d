"""Reading batches: from Parquet files to arrivals, by Arrow where they are small, else by DuckDB.

A small batch, and one that was read ahead, is a table of Arrow that has been made `ready` in
another thread: its columns are the input's, its times have been looked at, and it is what its
manifest says. A large one DuckDB reads from its files. Several are read together where a scan of
their times tells that nothing is wrong with any of them; otherwise one by one, so that what is
wrong is said of its batch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import duckdb
import pyarrow as pa

from cqlduck import matching
from cqlduck.data import sound
from cqlduck.engine import Engine
from cqlduck.errors import DataError, DropZoneError
from cqlduck.rewrite.plan import Column
from cqlduck.rewrite.text.time import Clock
from cqlduck.sources import checksums, claims, columns, misfits
from cqlduck.sources.ahead import Ahead, Ready
from cqlduck.sources.dropzone import Batch
from cqlduck.sources.footers import Footers, opened
from cqlduck.state import arrivals, instants, intake, lateness
from cqlduck.state.arrivals import Arrivals, Survey
from cqlduck.state.columns import of_query
from cqlduck.state.connection import literal, quoted
from cqlduck.state.prefetch import Made
from cqlduck.state.registered import Input


class NotTogether(Exception):
    """An input whose batches cannot be read together: it ends the transaction."""

    def __init__(self, name: str) -> None:
        """Name the input."""
        super().__init__(name)
        self.name = name


def ready(
    clock: Clock,
    thing: Input,
    begin: int,
    work: Callable[[pa.Table], Made] | None,
    batch: Batch,
    table: pa.Table,
    there: dict[str, Column],
) -> Ready:
    """Make rows ready that Arrow has read; it may run in another thread.

    Args:
        clock: The clock.
        thing: The input.
        begin: The number that the first row is going to have.
        work: What works out of the rows what the tick wants, if there is something.
        batch: The batch.
        table: Its rows.
        there: Its columns, by lower-case name.

    Raises:
        DropZoneError: They are not the input's.
    """
    given = columns.matched(thing, batch.folder, there)
    times = matching.times(thing, there)
    assert times is not None
    try:
        sound.check(thing, table)
    except DataError as error:
        raise misfits.told(clock, thing, batch, error) from error
    # the operations of a relation have to be looked at too
    found = arrivals.prepared(clock, table, times if thing.kind == "stream" else None)
    stored = found.as_stored(thing, begin)
    if stored is not None:
        made = {} if work is None else work(stored)
        found = replace(found, stored=stored, begin=begin, made=made)
    operation = quoted(there["_op"].name) if "_op" in there else None
    stamp = matching.stamp(clock, thing, there)
    source = f"_cql_batch_{thing.position}"
    rows = found.filled(arrivals.arrival(thing, source, given, stamp, operation, found.seen))
    seen = found.seen
    is_as_said = seen is not None and claims.is_as_said(clock, times, batch, seen)
    return Ready(thing, times, rows, is_as_said)


def alone(engine: Engine, thing: Input, batch: Batch, ahead: Ahead) -> None:
    """Take the rows of a batch.

    Raises:
        DropZoneError: The files cannot be read, or do not hold what the manifest says.
    """
    clock = engine.catalogue.clock
    small = ahead.small(batch, partial(ready, clock, thing, thing.next_seq, None))
    if small is None:
        _of_files(engine, thing, batch)
        return
    found = small.ready
    if found is None or found.thing is not thing:
        found = ready(clock, thing, thing.next_seq, None, batch, small.table, small.columns)
    if thing.timestamp_by is None:
        _settle_time(engine, found.times)
    known = found.rows.ready
    assert known is not None
    if known.clock != engine.catalogue.clock:
        clock = engine.catalogue.clock
        found = ready(clock, thing, thing.next_seq, None, batch, small.table, small.columns)
        known = found.rows.ready
        assert known is not None
    try:
        rows = found.rows
        if not found.is_as_said:
            with engine.database.incoming.readable(rows.source, known.table):
                rows = _checked(engine, thing, batch, found.times, rows)
        engine.accept(thing, rows)
    except duckdb.Error as error:
        raise misfits.unreadable(batch, error) from error


def _settle_time(engine: Engine, times: Column) -> None:
    """Let the column `_ts` say what kind of time the database has."""
    kind = "integer" if "INT" in times.type else "wall"
    if kind != engine.catalogue.settings.get("time"):
        engine.set_time(kind, f"its _ts {times.type}")


def _checked(engine: Engine, thing: Input, batch: Batch, times: Column, rows: Arrivals) -> Arrivals:
    """Return rows with what is known of them, which is what the manifest says.

    Raises:
        DropZoneError: It is not.
    """
    known = {} if rows.known is None else {0: rows.known}
    found = known or intake.survey(engine.database, thing, rows)
    claims.check(engine.database, engine.clock, times, batch, list(found.values()))
    return replace(rows, known=found.get(0))


def _of_files(engine: Engine, thing: Input, batch: Batch) -> None:
    """Take the rows of a batch that DuckDB reads."""
    checksums.check(batch.folder, batch.manifest.checksums)
    files = ", ".join(literal(str(path)) for path in batch.files)
    source = f"read_parquet([{files}], hive_partitioning = false)"
    try:
        with opened(batch.files) as footers:
            rows, times = _arrival(engine, thing, batch, source, footers)
            # times that go on from file to file are judged by one scan
            plain = _plain(engine, thing, times, footers if len(batch.files) == 1 else None)
        rows = replace(rows, known=None if plain is None else plain.get(0))
        engine.accept(thing, _checked(engine, thing, batch, times, rows))
    except duckdb.Error as error:
        raise misfits.unreadable(batch, error) from error


def together(engine: Engine, thing: Input, batches: list[Batch]) -> bool:
    """Take batches in one read if nothing is wrong with them; return whether that was so.

    Raises:
        NotTogether: Reading failed, which ended the transaction.
    """
    database = engine.database
    if engine.strict and thing.kind == "relation":
        return False  # each has numbers of its own, see `quarantine`
    full = [batch for batch in batches if batch.manifest.rows]
    files = [path for batch in full for path in batch.files]
    kinds = {b.manifest.wall_clock for b in batches if b.manifest.heartbeat is not None}
    if len(kinds) > 1:
        return False
    try:
        for batch in full:
            checksums.check(batch.folder, batch.manifest.checksums)
        if files:
            listed = ", ".join(literal(str(path)) for path in files)
            source = f"read_parquet([{listed}], hive_partitioning = false)"
            with opened(files) as footers:
                if footers is None or not footers.alike() or footers.place() is None:
                    return False
                rows, stamp = _arrival(engine, thing, full[0], source, footers)
                seen = _plain(engine, thing, stamp, footers)
            if seen is None:
                seen = intake.survey(database, thing, rows, "file_index")
            whole = _whole(engine, thing, stamp, batches, seen)
            if whole is None:
                return False
            engine.accept(thing, replace(rows, known=whole, are_clean=True))
    except (duckdb.Error, DataError, DropZoneError) as error:
        raise NotTogether(thing.name) from error
    return True


def _whole(
    engine: Engine,
    thing: Input,
    times: Column,
    batches: list[Batch],
    seen: dict[int, Survey],
) -> Survey | None:
    """Return what is known of all batches, or None if one of them has to be looked at by itself.

    Each is judged as it would be by itself: by what the input is after those before it.
    """
    clock = engine.clock
    after = replace(thing)
    number = 0
    for batch in batches:
        parts = []
        if batch.manifest.rows:
            numbers = range(number, number + len(batch.files))
            parts = [seen[n] for n in numbers if n in seen]
            number += len(batch.files)
        if claims.mismatch(engine.database, clock, times, batch, parts) is not None:
            return None
        last = lateness.limit(clock, after)
        for part in parts:
            if not intake.is_clean(clock, after, part, last):
                return None
            intake.count(clock, after, part.count, part.lowest, part.highest)
        if batch.manifest.heartbeat is not None:
            engine.raise_heartbeat(after, instants.closes(clock, batch.manifest.heartbeat))
    count = sum(part.count for part in seen.values())
    lowest = min(part.lowest for part in seen.values() if part.lowest is not None)
    highest = max(part.highest for part in seen.values() if part.highest is not None)
    return Survey(count, count, lowest, highest, True, True)


def _arrival(
    engine: Engine, thing: Input, batch: Batch, source: str, footers: Footers | None
) -> tuple[Arrivals, Column]:
    """Return how to read the rows of files whose columns are those of a batch's first.

    Returns:
        The arrival; the column of the times, by its name in the files and as what it is read.

    Raises:
        DropZoneError: The columns are not the input's, or not those of the first file.
    """
    there = footers.columns() if footers is not None else None
    surplus = footers.surplus() if footers is not None else None
    if surplus is not None:
        path, name = surplus
        raise DropZoneError(
            f"{path} has a column {name}, which {batch.files[0].name} has not",
            hint="the files of a batch have the same columns; write it anew",
        )
    dateless = footers.without_date() if footers is not None else None
    if dateless is not None:
        path, name = dateless
        raise DropZoneError(
            f"{path} has a timestamp in {name} that is no date",
            hint="what lies outside of the years -290307 to 294247 cannot be stored; write it anew",
        )
    if there is None:
        there = matching.named(of_query(engine.database, f"FROM {source}"))
    given = columns.matched(thing, batch.folder, there)
    times = matching.times(thing, there)
    assert times is not None
    if thing.timestamp_by is None:
        _settle_time(engine, times)
    operation = quoted(there["_op"].name) if "_op" in there else None
    stamp = matching.stamp(engine.clock, thing, there)
    rows = arrivals.arrival(thing, source, given, stamp, operation)
    place = None if footers is None else footers.place()
    return rows if place is None else replace(rows, place=place), times


def _plain(
    engine: Engine, thing: Input, stamp: Column, footers: Footers | None
) -> dict[int, Survey] | None:
    """Return what a survey would tell, by number of file, or None if DuckDB has to scan."""
    if thing.kind != "stream" or footers is None:
        return None
    found = {}
    for number, times in enumerate(footers.times(stamp.name) or ()):
        if len(times):
            seen = arrivals.survey_of(engine.clock, stamp.type, times)
            if seen is None:
                return None
            found[number] = seen
    return found or None
