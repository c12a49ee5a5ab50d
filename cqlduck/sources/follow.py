"""Following the drop zone: from batches in folders to pending elements.

A batch is consumed in the same transaction as the tick that reads it, so it counts once, even if it
is written again or the process is killed. A batch that is late under REJECT is quarantined: it is
recorded in `cql.batches` and passed over, and following continues. With the setting `strict` so is
a batch of a relation that has an element without effect (`quarantine`). A batch that cannot be read
stops its own input: nothing of it is consumed, `waiting_for` in `cql.streams` says why, the other
inputs go on, and the error is raised after them.

The batches of one tick are read together if nothing is wrong with any of them; a scan of their
times tells. Otherwise they are read one by one, so that an error names its batch.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import duckdb
import pyarrow as pa

from cqlduck import matching
from cqlduck.engine import Engine
from cqlduck.errors import DataError, DropZoneError, Error, LateError
from cqlduck.rewrite.plan import Column
from cqlduck.sources import checksums, claims, columns, dropzone, misfits, quarantine, sparksink
from cqlduck.sources.ahead import Ahead, Prepare, Small
from cqlduck.sources.dropzone import Batch
from cqlduck.sources.footers import Footers, columns_of, opened
from cqlduck.state import instants, lateness, queues
from cqlduck.state.catalog import Input
from cqlduck.state.columns import of_query
from cqlduck.state.connection import literal, quoted
from cqlduck.state.prefetch import Made
from cqlduck.state.profile import INGEST
from cqlduck.state.queues import Prepared
from cqlduck.state.relations import WrongElement
from cqlduck.state.threads import SOME


class _Apart(Exception):
    """An input whose batches cannot be read together: it ends the transaction."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


class _Unreadable(Exception):
    """A batch that cannot be taken: it ends the transaction, and its input waits at it."""

    def __init__(self, name: str, number: int, error: Error) -> None:
        super().__init__(name, number)
        self.name, self.number, self.error = name, number, error


def reading_ahead(engine: Engine) -> Ahead:
    """Return what reads small batches for an engine, and has its thread get ready."""
    return Ahead(engine.prefetcher.open)


def take(engine: Engine, root: Path, ahead: Ahead, limit: int | None = None) -> int:
    """Take what is new in the drop zone, and run ticks; return the number of batches taken.

    Args:
        engine: The engine.
        root: The folder that each input's FROM is relative to.
        ahead: Reads small batches.
        limit: How many batches of each input to take at most.

    Raises:
        DropZoneError: A batch that cannot be read; the other inputs have gone on.
    """
    taken = 0
    held: dict[str, _Unreadable] = {}
    apart: set[str] = set()
    singly: set[str] = set()
    left = {i.name: limit for i in engine.catalogue.inputs.values() if i.source is not None}
    while True:
        with engine.opened():
            with engine.database.part(INGEST):
                plan = _plan(engine, root, left, held, singly)
            try:
                if plan:
                    engine.step(partial(_take_all, engine, plan, apart, ahead))
                else:
                    engine.run()
                    _note_waiting(engine, root, held)
            except _Apart as error:
                apart.add(error.name)
                continue
            except _Unreadable as unreadable:
                held[unreadable.name] = unreadable
                continue
            except WrongElement as wrong:
                mine = [batch for name, batch in plan if name == wrong.relation]
                if len(mine) > 1:
                    singly.add(wrong.relation)
                    continue
                if not quarantine.of_wrong(engine, mine, wrong):
                    raise
                passed = engine.input(wrong.relation).next_batch
                plan = [(wrong.relation, batch) for batch in mine if batch.number < passed]
            else:
                if not plan:
                    break
            taken += len(plan)
            for name, _ in plan:
                count = left[name]
                left[name] = None if count is None else count - 1
    if held:
        raise next(iter(held.values())).error
    return taken


def _plan(
    engine: Engine,
    root: Path,
    left: dict[str, int | None],
    held: dict[str, _Unreadable],
    singly: set[str],
) -> list[tuple[str, Batch]]:
    """Return the next batches of each input: about as many rows as a tick takes in.

    Args:
        engine: The engine.
        root: The drop zone.
        left: How many batches of each input to take at most.
        held: The batches at which inputs wait.
        singly: The inputs whose batches have ticks of their own.
    """
    plan: list[tuple[str, Batch]] = []
    for thing in engine.catalogue.inputs.values():
        if thing.source is None:
            continue
        rows, count, number = 0, left.get(thing.name), thing.next_batch
        stop = held[thing.name].number if thing.name in held else None
        if number == stop or (count is not None and count <= 0):
            continue
        try:
            folder = dropzone.inside(root, thing.source)
            for batch in _pending(folder)(folder, thing.next_batch):
                if batch.number == stop:
                    break
                plan.append((thing.name, batch))
                rows += batch.manifest.rows
                number = batch.number + 1
                count = None if count is None else count - 1
                if rows >= engine.max_tick or count == 0 or thing.name in singly:
                    break
        except DropZoneError as error:
            held[thing.name] = _Unreadable(thing.name, number, error)
    return plan


def _pending(folder: Path) -> Callable[[Path, int], Iterator[Batch]]:
    return sparksink.pending if sparksink.is_sink(folder) else dropzone.pending


def _take_all(engine: Engine, plan: list[tuple[str, Batch]], apart: set[str], ahead: Ahead) -> None:
    """Take the batches of a plan, those of an input together where that can be."""
    if sum(batch.manifest.rows for _, batch in plan) > SOME:
        engine.database.threads.all()
    by_input = [
        (name, [batch for _, batch in pairs])
        for name, pairs in itertools.groupby(plan, key=lambda pair: pair[0])
    ]
    for name, batches in by_input:
        thing = engine.input(name)
        if len(batches) > 1 and name not in apart and _take_together(engine, thing, batches):
            continue
        for batch in batches:
            try:
                _take(engine, thing, batch, ahead)
            except DropZoneError as error:
                raise _Unreadable(name, batch.number, error) from error
    for name, batches in by_input:
        if len(batches) == 1:
            folder = batches[0].folder.parent
            prepare = _preparing(engine, name, engine.prefetcher.order(name))
            ahead.begin(_pending(folder), folder, batches[0].number + 1, prepare)


def _preparing(
    engine: Engine, name: str, work: Callable[[pa.Table], Made] | None = None
) -> Prepare:
    """Return what prepares the rows of an input that Arrow has read.

    Args:
        engine: The engine.
        name: The input.
        work: What works out of the rows what the tick wants, if that is to be done too.
    """
    thing, clock = engine.input(name), engine.clock
    begin = thing.next_seq

    def prepare(table: pa.Table) -> Prepared:
        there = columns_of(table.schema) or {}
        # the operations of a relation have to be looked at too
        times = matching.times(thing, there) if thing.kind == "stream" else None
        ready = queues.prepared(clock, table, times)
        rows = None if work is None else ready.queue(thing, begin)
        if work is None or rows is None:
            return ready
        return replace(ready, made=work(rows), begin=begin)

    return prepare


def _take_together(engine: Engine, thing: Input, batches: list[Batch]) -> bool:
    """Take batches in one read if nothing is wrong with them; return whether that was so.

    Raises:
        _Apart: Reading failed, which ended the transaction.
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
                seen = queues.survey(database, thing, rows, "file_index")
            whole = _whole(engine, thing, stamp, batches, seen)
            if whole is None:
                return False
            engine.input_buffer.store(thing)
            queues.insert(database, engine.clock, thing, rows, whole)
            engine.took(whole.count)
    except (duckdb.Error, DataError, DropZoneError) as error:
        raise _Apart(thing.name) from error
    for batch in batches:
        _promise(engine, thing, batch)
    _record(thing, batches[-1], sum(b.manifest.rows for b in batches))
    return True


def _whole(
    engine: Engine,
    thing: Input,
    times: Column,
    batches: list[Batch],
    seen: dict[int, queues.Survey],
) -> queues.Survey | None:
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
            if not queues.is_clean(clock, after, part, last):
                return None
            queues.count(clock, after, part)
        if batch.manifest.heartbeat is not None:
            engine.raise_heartbeat(after, instants.closes(clock, batch.manifest.heartbeat))
    count = sum(part.count for part in seen.values())
    lowest = min(part.lowest for part in seen.values() if part.lowest is not None)
    highest = max(part.highest for part in seen.values() if part.highest is not None)
    return queues.Survey(count, count, lowest, highest, True, True)


def _promise(engine: Engine, thing: Input, batch: Batch) -> None:
    """Raise the input's heartbeat to what a batch promises."""
    manifest = batch.manifest
    if manifest.heartbeat is not None:
        engine.set_time("wall" if manifest.wall_clock else "integer", "its heartbeat")
        engine.raise_heartbeat(thing, instants.closes(engine.clock, manifest.heartbeat))


def _record(thing: Input, last: Batch, rows: int) -> None:
    """Remember, in the transaction, up to which batch an input has been taken."""
    thing.next_batch = last.number + 1
    thing.waiting_for = None
    thing.taken_batch, thing.taken_rows = last.number, rows


def _take(engine: Engine, thing: Input, batch: Batch, ahead: Ahead) -> None:
    """Take one batch, or quarantine it if it is late."""
    first = thing.next_seq
    try:
        if batch.manifest.rows:
            small = ahead.small(batch, _preparing(engine, thing.name))
            if small is None:
                _accept(engine, thing, batch)
            else:
                _accept_small(engine, thing, batch, small)
        _promise(engine, thing, batch)
    except LateError as error:
        quarantine.pass_over(engine, thing, batch, error.message)
        return
    except DataError as error:
        raise misfits.told(engine.clock, thing, batch, error) from error
    quarantine.note_open(engine, thing, batch, first)
    _record(thing, batch, batch.manifest.rows)


def _accept(engine: Engine, thing: Input, batch: Batch) -> None:
    """Take the rows of a batch.

    Raises:
        DropZoneError: The files cannot be read, or do not hold what the manifest says.
    """
    checksums.check(batch.folder, batch.manifest.checksums)
    files = ", ".join(literal(str(path)) for path in batch.files)
    source = f"read_parquet([{files}], hive_partitioning = false)"
    try:
        with opened(batch.files) as footers:
            rows, stamp = _arrival(engine, thing, batch, source, footers)
            # times that go on from file to file are judged by one scan
            alone = footers if len(batch.files) == 1 else None
            plain = _plain(engine, thing, stamp, alone)
        found = plain or queues.survey(engine.database, thing, rows)
        claims.check(engine.database, engine.clock, stamp, batch, list(found.values()))
        engine.accept(thing, replace(rows, known=found.get(0)))
    except duckdb.Error as error:
        raise misfits.unreadable(batch, error) from error


def _accept_small(engine: Engine, thing: Input, batch: Batch, small: Small) -> None:
    """Take the rows of a batch that have been read.

    Raises:
        DropZoneError: They are not what the manifest says.
    """
    given = columns.matched(thing, batch.folder, small.columns)
    times, stamp, operation = _stamp(engine, thing, small.columns)
    ready = small.ready
    if ready.clock != engine.clock:
        ready = _preparing(engine, thing.name)(small.table)
    source = f"_cql_batch_{thing.position}"
    rows = ready.filled(queues.arrival(thing, source, given, stamp, operation, ready.seen))
    try:
        with engine.database.incoming.readable(source, ready.table):
            found = {0: ready.seen} if ready.seen else queues.survey(engine.database, thing, rows)
            claims.check(engine.database, engine.clock, times, batch, list(found.values()))
            engine.accept(thing, replace(rows, known=found.get(0)))
    except duckdb.Error as error:
        raise misfits.unreadable(batch, error) from error


def _arrival(
    engine: Engine, thing: Input, batch: Batch, source: str, footers: Footers | None
) -> tuple[queues.Arrival, Column]:
    """Return how to read the rows of files whose columns are those of a batch's first.

    Returns:
        The arrival; the column of the times, by its name in the files and as what it is read.
    """
    there = footers.columns() if footers is not None else None
    if there is None:
        there = matching.named(of_query(engine.database, f"FROM {source}"))
    given = columns.matched(thing, batch.folder, there)
    times, stamp, operation = _stamp(engine, thing, there)
    rows = queues.arrival(thing, source, given, stamp, operation)
    place = None if footers is None else footers.place()
    return rows if place is None else replace(rows, place=place), times


def _plain(
    engine: Engine, thing: Input, stamp: Column, footers: Footers | None
) -> dict[int, queues.Survey] | None:
    """Return what a survey would tell, by number of file, or None if DuckDB has to scan."""
    if thing.kind != "stream" or footers is None:
        return None
    found = {}
    for number, times in enumerate(footers.times(stamp.name) or ()):
        if len(times):
            seen = queues.survey_of(engine.clock, stamp.type, times)
            if seen is None:
                return None
            found[number] = seen
    return found or None


def _stamp(
    engine: Engine, thing: Input, there: dict[str, Column]
) -> tuple[Column, str, str | None]:
    """Return the column of the times, the raw time of a row as SQL, and its operation, if any."""
    times = matching.times(thing, there)
    assert times is not None
    if thing.timestamp_by is None:
        engine.set_time("integer" if "INT" in times.type else "wall", f"its _ts {times.type}")
    operation = quoted(there["_op"].name) if "_op" in there else None
    return times, matching.stamp(engine.clock, thing, there), operation


def _note_waiting(engine: Engine, root: Path, held: dict[str, _Unreadable]) -> None:
    """Show in the catalogue what each input waits for."""
    reasons: dict[str, str | None] = {}
    for thing in engine.catalogue.inputs.values():
        if thing.source is None:
            continue
        reason: str | None = None
        if thing.name in held:
            reason = held[thing.name].error.message
        elif not sparksink.is_sink(root / thing.source):
            beyond = dropzone.gap(root / thing.source, thing.next_batch)
            if beyond is not None:
                reason = f"batch {thing.next_batch} (batch {beyond} is there)"
        if reason != thing.waiting_for:
            reasons[thing.name] = reason
    if reasons:
        with engine.changing():
            for name, reason in reasons.items():
                engine.input(name).waiting_for = reason
