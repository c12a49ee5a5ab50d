"""A tick of one query: the statements of its plan over (t₀, t₁], inside the caller's transaction.

Reads only what is at or before t₁ and writes only what is after t₀, so how time is cut into ticks
does not show in what is written.
"""

from __future__ import annotations

import time as wall
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import pyarrow as pa

from cqlduck.rewrite.physical.form import Form
from cqlduck.rewrite.plan import NEVER
from cqlduck.rewrite.relalg.elements import TS, WEIGHT
from cqlduck.rewrite.statements.compiled import Compiled
from cqlduck.rewrite.statements.steps import Step
from cqlduck.state.catalog import Query
from cqlduck.state.connection import Database, quoted
from cqlduck.state.input_buffer import Queue
from cqlduck.state.output_buffer import OutputBuffer
from cqlduck.state.prefetch import Prefetcher
from cqlduck.state.queues import ones
from cqlduck.state.shared import Tables

PREFETCH, PASSING = "prefetch", "passing"
"""The points of choice to which a tick comes on its way (`cqlduck.streamon.points`)."""


class Chosen(Protocol):
    """What a tick runs at points of choice."""

    @property
    def form(self) -> Form:
        """The form of the statements."""
        ...

    @property
    def wants_steps(self) -> bool:
        """Whether it is to be counted what each statement takes."""
        ...

    def is_default(self, point: str, operator: int) -> bool:
        """Return whether a point of an operator has its default option, and not the other one."""
        ...


@dataclass(frozen=True)
class StepRan:
    """What became of a statement of a tick.

    Attributes:
        seconds: How long it took.
        rows: How many rows it wrote.
        is_skipped: Whether it did not run, because its table was there or it had nothing to do.
    """

    seconds: float = 0.0
    rows: int = 0
    is_skipped: bool = False


SKIPPED = StepRan(is_skipped=True)


@dataclass(frozen=True)
class Ran:
    """What a tick of a query did.

    Attributes:
        elements: How many elements of its answer it wrote.
        rows: How many rows it wrote.
        steps: What became of each statement, in order, if that was to be counted.
    """

    elements: int = 0
    rows: int = 0
    steps: tuple[StepRan, ...] = ()


def run(
    database: Database,
    query: Query,
    compiled: Compiled,
    until: int,
    begin: int,
    chosen: Chosen,
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
        chosen: What it runs at points of choice.
        come: The queues whose rows are the arrivals, by stream.
        prefetcher: What has been worked out of them.
        tables: What the tick's queries have made before this one.
        buffer: Where elements may stay before they are in the log, if they may.
    """
    values = _instants_of(query, until, begin)
    steps = compiled.steps.of(chosen.form)
    ahead = [s for s in steps if s.prefetch is not None and _is_ahead(chosen, s)]
    prefetcher.note(ahead)
    known = {select: table for queue in come.values() for select, table in queue.made.items()}
    known = known if ahead else {}
    running = _Running(database, query, values, chosen, come, prefetcher, tables, buffer, known)
    ran = running.all(steps)
    query.frontier = until
    return Ran(running.elements, running.rows, ran)


def _is_ahead(chosen: Chosen, step: Step) -> bool:
    """Return whether what a step makes of the arrivals alone may be worked out before the tick."""
    return chosen.is_default(PREFETCH, step.operator)


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
        elements, rows: As in `Ran`.
        sizes: How many rows temporary tables have that were made.
    """

    database: Database
    query: Query
    values: Mapping[str, int]
    chosen: Chosen
    come: Mapping[str, Queue]
    prefetcher: Prefetcher
    tables: Tables
    buffer: OutputBuffer | None
    known: Mapping[str, pa.Table]
    elements: int = 0
    rows: int = 0
    sizes: dict[str, int] = field(default_factory=dict)

    def all(self, steps: Sequence[Step]) -> tuple[StepRan, ...]:
        """Run all statements; return what became of each, if that is to be counted."""
        if not self.chosen.wants_steps:
            for step in steps:
                self.run(step)
            return ()
        ran = []
        began = wall.perf_counter()
        for step in steps:
            before = self.rows
            is_run = self.run(step)
            ended = wall.perf_counter()
            ran.append(StepRan(ended - began, self.rows - before) if is_run else SKIPPED)
            began = ended
        return tuple(ran)

    def run(self, step: Step) -> bool:
        """Run the next statement, unless what it makes is there or it would do nothing.

        Returns:
            Whether it ran.
        """
        if step.shared is not None and self.tables.has(step.shared, self.values):
            self.sizes[step.shared.table] = self.tables.rows(step.shared)
            return False
        if step.needs and not any(self.sizes.get(table, 1) for table in step.needs):
            return False
        with self.database.part(self.query.name, step):
            if step.each is not None:
                self._run_each(step, step.each)
                return True
            written = self._made(step)
            if written is None:
                written = self.database.run(step, self.values)
            if step.shared is not None:
                self.tables.take(step.shared, self.values, written)
            self._count(step, written)
            if step.answer is not None:
                self.elements += written
            if self.database.profile is not None:
                self.database.profile.wrote(written)
        return True

    def _run_each(self, step: Step, instants: str) -> None:
        for at, following in _instants(self.database, instants):
            written = self.database.run(step, {**self.values, "at": at, "next": following})
            self._count(step, written)

    def _made(self, step: Step) -> int | None:
        """Return how many rows a step has that need not run, or None."""
        if step.answer is not None and self.buffer is not None:
            return self._taken(step, self.buffer)
        if step.prefetch is None or not self.known or not _is_ahead(self.chosen, step):
            return None
        return self.prefetcher.take(self.known, step.prefetch)

    def _taken(self, step: Step, buffer: OutputBuffer) -> int | None:
        """Keep a tick's elements out of the log for now; return how many, or None if that fails."""
        if step.answer is not None and buffer.may_take(self.query):
            given = {name: self.values[name] for name in step.parameters}
            table = self._passed(step, given)
            if table is None:
                table = self.database.arrow(step.answer, given)
            if buffer.take(self.query, table, self.values["t0"]):
                return int(table.num_rows)
        buffer.store(self.query)
        return None

    def _passed(self, step: Step, given: Mapping[str, int]) -> pa.Table | None:
        """Return the elements of a tick that are its arrivals, each at its place, or None."""
        if step.passing is None or len(self.come) != 1:
            return None
        if not self.chosen.is_default(PASSING, step.operator):
            return None
        (queue,) = self.come.values()
        rest = None
        if step.passing.rest is not None:
            rest = self.database.arrow(step.passing.rest, given)
        others = iter(() if rest is None else rest.columns)
        columns = [
            next(others) if name is None else queue.table.column(name)
            for name in step.passing.columns
        ]
        names = [*(c.name for c in self.query.columns), TS, WEIGHT]
        return pa.table([*columns, ones(queue.table.num_rows)], names=names)

    def _count(self, step: Step, written: int) -> None:
        self.rows += written
        if step.makes is not None:
            self.sizes[step.makes] = self.sizes.get(step.makes, 0) + written


def _instants(database: Database, table: str) -> list[tuple[int, int | None]]:
    """Return the instants of a temporary table in order, each with the next one or None."""
    rows = database.rows(f"SELECT * FROM temp.{quoted(table)} ORDER BY ALL")
    return [(at, following) for at, following in rows]
