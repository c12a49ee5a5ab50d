"""Following the drop zone: from batches in folders to arrivals, and to ticks.

A batch is consumed in the same transaction as the tick that reads it, so it counts once, even if it
is written again or the process is killed. A batch that is late under REJECT is quarantined: it is
recorded in `cql.batches` and passed over, and following continues. With the setting `strict` so is
a batch of a relation that has an element without effect (`quarantine`). A batch that cannot be read
stops its own input: nothing of it is consumed, `waiting_for` in `cql.streams` says why, the other
inputs go on, and the error is raised after them.

How rows are read depends on how many there are (`reading`): a small batch has mostly been read, and
made ready, while the tick before ran (`ahead`). The batches that a tick takes are read together
where nothing is wrong with any of them. All go the same way in, `Engine.accept`.
"""

from __future__ import annotations

import itertools
import time
from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from operator import itemgetter
from pathlib import Path

from cqlduck.engine import Engine
from cqlduck.errors import DataError, DropZoneError, Error, LateError
from cqlduck.sources import dropzone, misfits, quarantine, reading, sparksink
from cqlduck.sources.ahead import Ahead, batches
from cqlduck.sources.dropzone import Batch
from cqlduck.state import instants
from cqlduck.state.profile import INGEST
from cqlduck.state.registered import Input
from cqlduck.state.relations import WrongElement
from cqlduck.state.threads import MEDIUM_TICK_ELEMENTS


class _Unreadable(Exception):
    """A batch that cannot be taken: it ends the transaction, and its input waits at it."""

    def __init__(self, name: str, number: int, error: Error) -> None:
        super().__init__(name, number)
        self.name, self.number, self.error = name, number, error


def reading_ahead(engine: Engine) -> Ahead:
    """Return what reads small batches for an engine, and has its thread get ready."""
    return Ahead(engine.prefetcher.open)


BREATH = 0.001
"""For how many seconds other threads have the engine between two slices of the backfill."""


def accept_batches(
    engine: Engine,
    root: Path,
    ahead: Ahead,
    limit: int | None = None,
    slices: int | None = None,
) -> int:
    """Take what is new in the drop zone, and run ticks; return the number of batches taken.

    Args:
        engine: The engine.
        root: The folder that each input's FROM is relative to.
        ahead: Reads small batches.
        limit: How many batches of each input to take at most.
        slices: How many slices of the backfill to run at most; the batches that come meanwhile are
            taken between two.

    Raises:
        DropZoneError: A batch that cannot be read; the other inputs have gone on.
    """
    taken, run = 0, 0
    held: dict[str, _Unreadable] = {}
    passed_over: list[Error] = []
    apart: set[str] = set()
    singly: set[str] = set()
    # between two ticks other threads may make inputs
    left: dict[str, int | None] = defaultdict(lambda: limit)
    while True:
        has_more = False
        with engine.opened():
            with engine.database.part(INGEST):
                plan = _plan(engine, root, ahead, left, held, singly)
            try:
                if plan:
                    passed_over.clear()
                    engine.step(partial(_take_all, engine, plan, apart, ahead, passed_over))
                    for error in passed_over:
                        engine.tell(error)
                else:
                    has_more = engine.go_on(1 if run != slices else 0)
                    _note_waiting(engine, root, held)
            except reading.NotTogether as error:
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
                engine.tell(quarantine.told(engine.input(wrong.relation), mine, wrong.message))
                passed = engine.input(wrong.relation).next_batch
                plan = [(wrong.relation, batch) for batch in mine if batch.number < passed]
            else:
                if not plan and (not has_more or run == slices):
                    break
                run += has_more
            taken += len(plan)
            for name, _ in plan:
                count = left[name]
                left[name] = None if count is None else count - 1
        if has_more:
            time.sleep(BREATH)
    if held:
        raise next(iter(held.values())).error
    return taken


def _plan(
    engine: Engine,
    root: Path,
    ahead: Ahead,
    left: dict[str, int | None],
    held: dict[str, _Unreadable],
    singly: set[str],
) -> list[tuple[str, Batch]]:
    """Return the next batches of each input: about as many rows as a tick takes in.

    Args:
        engine: The engine.
        root: The drop zone.
        ahead: What has been read of them.
        left: How many batches of each input to take at most.
        held: The batches at which inputs wait.
        singly: The inputs whose batches have ticks of their own.
    """
    plan: list[tuple[str, Batch]] = []
    for thing in engine.catalogue.inputs.values():
        if thing.source is None:
            continue
        rows, count, number = 0, left[thing.name], thing.next_batch
        stop = held[thing.name].number if thing.name in held else None
        if number == stop or (count is not None and count <= 0):
            continue
        try:
            for batch in _batches(root, thing.source, thing.next_batch, ahead):
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


def _batches(root: Path, source: str, number: int, ahead: Ahead) -> Iterator[Batch]:
    """Yield the batches of an input from a number on; one that has been read is not looked for.

    Raises:
        DropZoneError: One cannot be read, or its folder leads out of the drop zone.
    """
    found = ahead.batch(root / source, number)
    if found is not None:
        yield found
        number = found.number + 1
    yield from batches(dropzone.inside(root, source), number)


def _take_all(
    engine: Engine,
    plan: list[tuple[str, Batch]],
    apart: set[str],
    ahead: Ahead,
    passed_over: list[Error],
) -> None:
    """Take the batches of a plan, those of an input together where that can be.

    Args:
        engine: The engine.
        plan: The inputs, and a batch of each.
        apart: The inputs whose batches are read one by one.
        ahead: What has been read of them.
        passed_over: Gets what is to be told of batches that are quarantined.
    """
    passed_over.clear()
    if sum(batch.manifest.rows for _, batch in plan) > MEDIUM_TICK_ELEMENTS:
        engine.database.threads.all()
    by_input = [
        (engine.catalogue.inputs[name.lower()], [batch for _, batch in pairs])
        for name, pairs in itertools.groupby(plan, key=itemgetter(0))
    ]
    for thing, mine in by_input:
        if len(mine) > 1 and thing.name not in apart and reading.together(engine, thing, mine):
            for batch in mine:
                _promise(engine, thing, batch)
            thing.next_batch, thing.waiting_for = mine[-1].number + 1, None
            thing.taken_batch = mine[-1].number
            thing.taken_rows = sum(batch.manifest.rows for batch in mine)
            continue
        for batch in mine:
            try:
                _take(engine, thing, batch, ahead, passed_over)
            except DropZoneError as error:
                raise _Unreadable(thing.name, batch.number, error) from error
    for thing, mine in by_input:
        if len(mine) == 1:
            prefetcher = engine.prefetcher
            work = prefetcher.order(thing.name) if prefetcher.wanted else None
            prepare = partial(reading.ready, engine.catalogue.clock, thing, thing.next_seq, work)
            ahead.begin(mine[0].folder.parent, mine[0].number + 1, prepare)


def _take(
    engine: Engine, thing: Input, batch: Batch, ahead: Ahead, passed_over: list[Error]
) -> None:
    """Take one batch, or quarantine it if it is late."""
    first = thing.next_seq
    try:
        if batch.manifest.rows:
            reading.alone(engine, thing, batch, ahead)
        _promise(engine, thing, batch)
    except LateError as error:
        quarantine.pass_over(engine, thing, batch, error.message)
        passed_over.append(quarantine.told(thing, [batch], error.message))
        return
    except DataError as error:
        raise misfits.told(engine.clock, thing, batch, error) from error
    if engine.strict:
        quarantine.note_open(engine, thing, batch, first)
    thing.next_batch, thing.waiting_for = batch.number + 1, None
    thing.taken_batch, thing.taken_rows = batch.number, batch.manifest.rows


def _promise(engine: Engine, thing: Input, batch: Batch) -> None:
    """Raise the input's heartbeat to what a batch promises."""
    manifest = batch.manifest
    if manifest.heartbeat is not None:
        kind = "wall" if manifest.wall_clock else "integer"
        if kind != engine.catalogue.settings.get("time"):
            engine.set_time(kind, "its heartbeat")
        engine.raise_heartbeat(thing, instants.closes(engine.catalogue.clock, manifest.heartbeat))


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
