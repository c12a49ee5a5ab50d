"""A tick of one query: the statements of its plan over (t₀, t₁], inside the caller's transaction.

Reads only what is at or before t₁ and writes only what is after t₀, so how time is cut into ticks
does not show in what is written.
"""

from __future__ import annotations

import time as wall
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from cqlduck.rewrite.physical.form import Form
from cqlduck.rewrite.physical.quiet import Quiet
from cqlduck.rewrite.plan import NEVER
from cqlduck.rewrite.relalg.elements import TS, WEIGHT
from cqlduck.rewrite.statements.compiled import Compiled
from cqlduck.rewrite.statements.ordered import TableSearch
from cqlduck.rewrite.statements.steps import Step
from cqlduck.rewrite.text.time import Instant
from cqlduck.state.arrow import ones
from cqlduck.state.caches import Caches, Fill
from cqlduck.state.catalog import Catalogue
from cqlduck.state.connection import Database, quoted
from cqlduck.state.indexes import Index, Indexes
from cqlduck.state.input_buffer import Buffered
from cqlduck.state.names import Names
from cqlduck.state.output_buffer import OutputBuffer
from cqlduck.state.prefetch import Prefetcher
from cqlduck.state.probing import Found, profile
from cqlduck.state.profile import PROBES
from cqlduck.state.registered import Query
from cqlduck.state.reusable import Tables
from cqlduck.state.tick_plan import (
    PASSING,
    PREFETCH,
    Ran,
    StepRan,
    TickOptions,
    TickPlan,
    TooManyInstants,
)


class Tick:
    """Runs the statements of queries; what they share in a tick is here.

    Args:
        database: The database.
        catalogue: What is registered.
        names: What the names of streams stand for.
        prefetcher: What has been worked out before the tick.
        tables: What the tick's queries make for each other.
        output_buffer: Where elements may stay before they are in the log.
        caches: The caches of joins.
        indexes: The indexes of synopses.
    """

    def __init__(
        self,
        database: Database,
        catalogue: Catalogue,
        names: Names,
        prefetcher: Prefetcher,
        tables: Tables,
        output_buffer: OutputBuffer,
        caches: Caches,
        indexes: Indexes,
    ) -> None:
        """Have nothing run yet."""
        self.database = database
        self.catalogue = catalogue
        self.names = names
        self.prefetcher = prefetcher
        self.tables = tables
        self.output_buffer = output_buffer
        self.caches = caches
        self.indexes = indexes

    def run(self, plan: TickPlan, waiting: Mapping[str, Buffered]) -> Ran:
        """Bring a query's answer from its frontier to an instant, inside a transaction.

        Args:
            plan: What is to run.
            waiting: What waits of streams, by name.
        """
        query, compiled, chosen = plan.query, plan.compiled, plan.chosen
        arrived = self._bind(plan, waiting)
        steps = compiled.steps.written.get(chosen.form) or compiled.steps.of(chosen.form)
        ahead = [s for s in steps if s.prefetch and chosen.is_default(PREFETCH, s.operator)]
        known: Mapping[str, pa.Table] = {}
        if ahead:
            self.prefetcher.note(ahead)
            known = {
                select: table
                for buffered in arrived.values()
                for select, table in buffered.made.items()
            }
        buffer = (
            self.output_buffer if plan.may_wait and self.output_buffer.may_append(query) else None
        )
        if buffer is None and self.database.in_memory:
            self.output_buffer.store(query)
        is_first = query.begin_instant is None
        values = _instants_of(query, plan.until, plan.first)
        filling, fills = self._prepare(plan, values, is_first=is_first)
        running = _Running(self, query, values, chosen, arrived, buffer, known)
        ran, began = [], wall.perf_counter()
        profiles: tuple[Found, ...] = ()
        for step in steps:
            before = running.rows
            is_run = running.run(step)
            if chosen.wants_steps:
                ended = wall.perf_counter()
                took = StepRan(ended - began, running.rows - before, False, running.was_prefetched)
                if not is_run:
                    # another query may have made its table
                    there = 0 if step.shared is None else running.sizes[step.shared.table]
                    took = StepRan(0.0, there, is_skipped=True)
                ran.append(took)
                began = ended
            if step.answer is not None and chosen.probes:
                # synopses are still as the deltas have met them
                profiles = tuple(self._profiled(plan, values))
                began = wall.perf_counter()
        query.frontier = plan.until
        return Ran(
            running.elements, running.rows, running.added, tuple(ran), profiles, filling, fills
        )

    def _profiled(self, plan: TickPlan, values: Mapping[str, Instant]) -> Iterator[Found]:
        """Profile what is wanted; yield what was found."""
        steps, single = plan.compiled.steps, plan.chosen.form.single
        for wanted in plan.chosen.probes:
            with self.database.part(PROBES):
                found = profile(self.database, steps, wanted, values, single=single)
            if found is not None:
                yield found

    def _prepare(
        self, plan: TickPlan, values: Mapping[str, Instant], *, is_first: bool
    ) -> tuple[float, tuple[Fill, ...]]:
        """Have the caches and indexes be there that a tick uses; return what that took."""
        query, compiled, form = plan.query, plan.compiled, plan.chosen.form
        has_caches = form.caches or self.caches.of(query.name)
        has_indexes = form.searches or self.indexes.of(query.name)
        if not (has_caches or has_indexes):
            return 0.0, ()
        fills, began = tuple[Fill, ...](), wall.perf_counter()
        if has_caches:
            caches, limit = compiled.steps.fills(form), plan.chosen.fill_limit
            fills += self.caches.prepare(query, caches, values, limit, is_first=is_first)
        if has_indexes:
            fills += self.indexes.prepare(query.name, _indexes(compiled, form))
        return wall.perf_counter() - began, fills

    def _bind(self, plan: TickPlan, waiting: Mapping[str, Buffered]) -> dict[str, Buffered]:
        """Let the names of a query's inputs stand for what the tick reads.

        Returns:
            By stream, what waits of it and is what comes in the tick.
        """
        arrived: dict[str, Buffered] = {}
        for source in plan.compiled.sources.values():
            if source.kind == "stream":
                buffered = None if source.is_query else waiting.get(source.name)
                if buffered is not None and _covers_tick(buffered, plan):
                    arrived[source.name] = buffered
                is_held = buffered is not None and buffered.held is not None
                has_just_come = source.name in arrived
                self.names.bind(source, is_held=is_held, has_just_come=has_just_come)
            elif not source.is_query:
                self.names.bind_changes(source, _low(plan.query))
        return arrived


def _indexes(compiled: Compiled, form: Form) -> list[Index]:
    """Return the indexes that ticks of a form use."""
    tables = {about.site.operator: about.table for about in compiled.ordered
              if isinstance(about, TableSearch)}  # fmt: skip
    return [Index(number, tables[number], key) for number, key in form.searches]


def _covers_tick(buffered: Buffered, plan: TickPlan) -> bool:
    """Return whether what lies in a queue is what comes of its stream in a query's tick."""
    if buffered.is_read_once:
        return True
    query, last = plan.query, buffered.thing.last_instant
    if query.begin_instant is None or query.frontier is None or plan.amends:
        return False
    is_after = buffered.before is None or query.frontier >= buffered.before
    return is_after and last is not None and last <= plan.until


def _low(query: Query) -> Instant:
    """Return the instant after which relations are read; at first all of them is."""
    if query.begin_instant is None or query.frontier is None:
        return NEVER
    return query.frontier


def _instants_of(query: Query, until: Instant, begin: Instant) -> dict[str, Instant]:
    """Return the instants that the statements take as parameters; the query has begun then."""
    first = query.begin_instant is None
    if first:
        query.begin_instant = begin
        before = Instant(begin - 1)
    else:
        assert query.frontier is not None
        before = query.frontier
    values = instants_between(query, before, until)
    return {**values, "low": NEVER} if first else values


def instants_between(query: Query, before: Instant, until: Instant) -> dict[str, Instant]:
    """Return the parameters of a tick of a query that has begun, from one frontier to another."""
    assert query.begin_instant is not None
    return {
        "t0": before,
        "t1": until,
        "low": before,
        "begin": query.begin_instant,
        "since": NEVER if query.since is None else query.since,
    }


@dataclass
class _Running:
    """The statements of a tick of one query, of which some have run.

    Attributes:
        elements, rows, added: As in `Ran`.
        sizes: How many rows temporary tables have that were made.
        was_prefetched: Whether the work of the last statement was done before the tick.
    """

    tick: Tick
    query: Query
    values: Mapping[str, Instant]
    chosen: TickOptions
    arrived: Mapping[str, Buffered]
    buffer: OutputBuffer | None
    known: Mapping[str, pa.Table]
    elements: int = 0
    rows: int = 0
    added: dict[str, int] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    was_prefetched: bool = False

    def run(self, step: Step) -> bool:
        """Run the next statement, unless what it makes is there or it would do nothing.

        Returns:
            Whether it ran.
        """
        database, tables, shared = self.tick.database, self.tick.tables, step.shared
        given: tuple[int, ...] = ()
        if shared is not None:
            given = tuple(self.values[name] for name in sorted(shared.parameters))
            made = tables.made.get(shared.table)
            if made is not None and made[0] == given:
                self.sizes[shared.table] = made[1]
                return False
        if self._does_nothing(step):
            if step.makes is not None:
                self.sizes.setdefault(step.makes, 0)
            if shared is not None:
                tables.note(shared.table, given, 0)
            return False
        with database.part(self.query.name, step):
            if step.each is not None:
                self._run_each(step, step.each)
                return True
            written = None
            if step.answer is not None and self.buffer is not None:
                written = self._taken(step, self.buffer)
            elif (
                step.prefetch is not None
                and self.known
                and self.chosen.is_default(PREFETCH, step.operator)
            ):
                written = self.tick.prefetcher.consume(self.known, step.prefetch)
            self.was_prefetched = written is not None and step.prefetch is not None
            if written is None:
                written = self._execute(step, self.values)
            if shared is not None:
                tables.note(shared.table, given, written)
            self._count(step, written)
            if step.answer is not None:
                self.elements += written
            if database.profile is not None:
                database.profile.wrote(written)
        return True

    def _does_nothing(self, step: Step) -> bool:
        """Return whether a statement would add nothing, or make a table that is there as empty."""
        if step.is_new and step.makes is not None:
            if not self.tick.tables.is_empty(step.makes, step.sql):
                return False
            quiet = None if step.shared is None else step.shared.quiet
            if quiet is not None and self._is_quiet(quiet):
                return True
        if step.unless and all(map(self._is_quiet, step.unless)):
            return True
        return any(all(self.sizes.get(table) == 0 for table in one) for one in step.needs)

    def _is_quiet(self, quiet: Quiet) -> bool:
        """Return whether nothing changes of an input in the tick."""
        stream = self.tick.catalogue.input_of(quiet.source)
        assert stream is not None
        if quiet.is_relation:
            return self.tick.names.changed.is_as_before(stream.table, self.values["low"])
        return quiet.holds(
            stream.first_instant, stream.last_instant, self.values["t0"], self.values["t1"]
        )

    def _run_each(self, step: Step, instants: str) -> None:
        database, most = self.tick.database, self.chosen.most_instants
        found = instants_in(database, instants)
        if most is not None and len(found) > most:
            raise TooManyInstants.of(len(found))
        for at, following in found:
            values = {**self.values, "at": at, "next": following}
            self._count(step, self._execute(step, values))

    def _execute(self, step: Step, values: Mapping[str, int | None]) -> int:
        """Run a statement; return how many rows it wrote."""
        given = {name: values[name] for name in step.parameters}
        return sum(int(row[0]) for row in self.tick.database.execute(step.sql, given))

    def _count(self, step: Step, written: int) -> None:
        self.rows += written
        if step.adds_to is not None:
            self.added[step.adds_to] = self.added.get(step.adds_to, 0) + written
        if step.makes is not None:
            self.sizes[step.makes] = self.sizes.get(step.makes, 0) + written
            owner = None if step.shared is not None else self.query.name
            self.tick.tables.wrote(step.makes, written, step.sql if step.is_new else None, owner)

    def _taken(self, step: Step, buffer: OutputBuffer) -> int | None:
        """Keep a tick's elements out of the log for now; return how many, or None if that fails."""
        if step.answer is not None and buffer.may_append(self.query):
            given = {name: self.values[name] for name in step.parameters}
            table = self._passed(step, given)
            if table is None:
                table = self.tick.database.arrow(step.answer, given)
            if buffer.append(self.query, table, self.values["t0"]):
                return int(table.num_rows)
        buffer.store(self.query)
        return None

    def _passed(self, step: Step, given: Mapping[str, int]) -> pa.Table | None:
        """Return the elements of a tick that are its arrivals, each at its place, or None."""
        if step.passing is None or len(self.arrived) != 1:
            return None
        if not self.chosen.is_default(PASSING, step.operator):
            return None
        (buffered,) = self.arrived.values()
        rest = None
        if step.passing.rest is not None:
            rest = self.tick.database.arrow(step.passing.rest, given)
        others = iter(() if rest is None else rest.columns)
        columns = [
            next(others) if name is None else buffered.table.column(name)
            for name in step.passing.columns
        ]
        names = [*(c.name for c in self.query.columns), TS, WEIGHT]
        return pa.table([*columns, ones(buffered.table.num_rows)], names=names)


def instants_in(database: Database, table: str) -> list[tuple[int, int | None]]:
    """Return the instants of a temporary table in order, each with the next one or None."""
    rows = database.rows(f"SELECT * FROM temp.{quoted(table)} ORDER BY ALL")
    return [(at, following) for at, following in rows]
