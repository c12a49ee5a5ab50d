"""A tick of one query: the statements of its plan over (t₀, t₁], inside the caller's transaction.

Reads only what is at or before t₁ and writes only what is after t₀, so how time is cut into ticks
does not show in what is written.
"""

from __future__ import annotations

import time as wall
from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from cqlduck.rewrite.compile import Compiled, Step
from cqlduck.rewrite.delta import Form
from cqlduck.rewrite.plan import NEVER
from cqlduck.rewrite.weighted import TS, WEIGHT
from cqlduck.state.catalog import Query
from cqlduck.state.connection import Database, quoted
from cqlduck.state.input_buffer import Queue
from cqlduck.state.output_buffer import OutputBuffer
from cqlduck.state.prefetch import Prefetcher
from cqlduck.state.queues import ones
from cqlduck.state.shared import Tables


@dataclass(frozen=True)
class Ran:
    """What a tick of a query did.

    Attributes:
        elements: How many elements of its answer it wrote.
        rows: How many rows it wrote.
        stages: How many seconds the stages took that it might have been faster without.
    """

    elements: int = 0
    rows: int = 0
    stages: float = 0.0


def run(
    database: Database,
    query: Query,
    compiled: Compiled,
    until: int,
    begin: int,
    form: Form,
    come: Mapping[str, Queue],
    prefetcher: Prefetcher,
    tables: Tables,
    buffer: OutputBuffer | None = None,
) -> Ran:
    """Bring a query's answer from its frontier to an instant.

    Args:
        database: The database, inside a transaction.
        query: The query; its frontier and its first instant move.
        compiled: Its statements.
        until: t₁.
        begin: The first instant of the query, if it has not begun.
        form: The form of its statements.
        come: The queues whose rows are the arrivals, by stream.
        prefetcher: What has been worked out of them.
        tables: What the tick's queries have made before this one.
        buffer: Where elements may stay before they are in the log, if they may.
    """
    values = _instants_of(query, until, begin)
    steps = compiled.steps.of(form)
    prefetcher.note(steps)
    known = {select: table for queue in come.values() for select, table in queue.made.items()}
    running = _Running(database, query, values, come, prefetcher, tables, buffer, known)
    for step in steps:
        running.run(step)
    query.frontier = until
    return Ran(running.elements, running.rows, running.stages)


def _instants_of(query: Query, until: int, begin: int) -> dict[str, int]:
    """Return the instants that the statements take as parameters; the query has begun then."""
    first = query.begin_instant is None
    if first:
        query.begin_instant = begin
        before = begin - 1
    else:
        assert query.frontier is not None
        before = query.frontier
    assert query.begin_instant is not None
    return {
        "t0": before,
        "t1": until,
        "low": NEVER if first else before,
        "begin": query.begin_instant,
        "since": NEVER if query.since is None else query.since,
    }


@dataclass
class _Running:
    """The statements of a tick of one query, of which some have run.

    Attributes:
        elements, rows, stages: As in `Ran`.
        sizes: How many rows temporary tables have that were made.
    """

    database: Database
    query: Query
    values: Mapping[str, int]
    come: Mapping[str, Queue]
    prefetcher: Prefetcher
    tables: Tables
    buffer: OutputBuffer | None
    known: Mapping[str, pa.Table]
    elements: int = 0
    rows: int = 0
    stages: float = 0.0
    sizes: dict[str, int] = field(default_factory=dict)

    def run(self, step: Step) -> None:
        """Run the next statement, unless what it makes is there or it would do nothing."""
        if step.shared is not None and self.tables.has(step.shared, self.values):
            self.sizes[step.shared.table] = self.tables.rows(step.shared)
            return
        if step.needs and not any(self.sizes.get(table, 1) for table in step.needs):
            return
        started = wall.perf_counter()
        with self.database.part(self.query.name, step):
            if step.each is not None:
                self._run_each(step, step.each)
                return
            written = self._made(step)
            if written is None:
                written = self.database.run(step, self.values)
            if step.shared is not None:
                self.tables.take(step.shared, self.values, written)
            if step.is_stage and not step.is_sure:
                self.stages += wall.perf_counter() - started
            self._count(step, written)
            if step.answer is not None:
                self.elements += written
            if self.database.profile is not None:
                self.database.profile.wrote(written)

    def _run_each(self, step: Step, instants: str) -> None:
        for at, following in _instants(self.database, instants):
            written = self.database.run(step, {**self.values, "at": at, "next": following})
            self._count(step, written)

    def _made(self, step: Step) -> int | None:
        """Return how many rows a step has that need not run, or None."""
        if step.answer is not None and self.buffer is not None:
            return _taken(self.database, self.query, step, self.values, self.come, self.buffer)
        return None if step.prefetch is None else self.prefetcher.take(self.known, step.prefetch)

    def _count(self, step: Step, written: int) -> None:
        self.rows += written
        if step.makes is not None:
            self.sizes[step.makes] = self.sizes.get(step.makes, 0) + written


def _taken(
    database: Database,
    query: Query,
    step: Step,
    values: Mapping[str, int],
    come: Mapping[str, Queue],
    buffer: OutputBuffer,
) -> int | None:
    """Keep a tick's elements out of the log for now; return how many, or None if that fails."""
    if step.answer is not None and buffer.may_take(query):
        given = {name: values[name] for name in step.parameters}
        table = _passed(database, query, step, given, come)
        if table is None:
            table = database.arrow(step.answer, given)
        if buffer.take(query, table, values["t0"]):
            return int(table.num_rows)
    buffer.store(query)
    return None


def _passed(
    database: Database,
    query: Query,
    step: Step,
    given: Mapping[str, int],
    come: Mapping[str, Queue],
) -> pa.Table | None:
    """Return the elements of a tick that are its arrivals, each at its place, or None."""
    if step.passing is None or len(come) != 1:
        return None
    (queue,) = come.values()
    rest = None if step.passing.rest is None else database.arrow(step.passing.rest, given)
    others = iter(() if rest is None else rest.columns)
    columns = [
        next(others) if name is None else queue.table.column(name) for name in step.passing.columns
    ]
    names = [*(c.name for c in query.columns), TS, WEIGHT]
    return pa.table([*columns, ones(queue.table.num_rows)], names=names)


def _instants(database: Database, table: str) -> list[tuple[int, int | None]]:
    """Return the instants of a temporary table in order, each with the next one or None."""
    rows = database.rows(f"SELECT * FROM temp.{quoted(table)} ORDER BY ALL")
    return [(at, following) for at, following in rows]
