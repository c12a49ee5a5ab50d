"""Ticks: how far each query goes, and what is done around its statements.

A tick is one transaction. Its way: what has come of streams settles where it is to lie; relations
close their instants; each query goes to its goal, which is one call of `state.tick` with the plan
of what is to run; housekeeping. A query that fails ends the tick, see `failing`.
"""

from __future__ import annotations

import contextlib
import threading
import time as wall
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import duckdb

from cqlduck.engine.core import TickReport, log
from cqlduck.engine.refreshing import RefreshFailed, Refreshing
from cqlduck.errors import DatabaseError, Error, first_line
from cqlduck.rewrite import Compiled
from cqlduck.rewrite.physical.form import FIRST
from cqlduck.rewrite.plan import NEVER
from cqlduck.rewrite.text.time import Instant
from cqlduck.state import amend, answers, catalog_rows, families, relations
from cqlduck.state.changed import RelationChanges
from cqlduck.state.choices import Point
from cqlduck.state.connection import quoted
from cqlduck.state.filling import LimitExceeded
from cqlduck.state.input_buffer import Buffered, Place, Stay
from cqlduck.state.names import Names
from cqlduck.state.prefetch import Prefetcher
from cqlduck.state.probing import ProbeFailed
from cqlduck.state.profile import INGEST
from cqlduck.state.registered import EXPIRED, Input, Query
from cqlduck.state.rehearsal import RehearsalFailed
from cqlduck.state.threads import MEDIUM_TICK_ELEMENTS
from cqlduck.state.tick import Tick
from cqlduck.state.tick_plan import Ran, TickPlan, TooManyInstants
from cqlduck.streamon.points import ARRIVALS, OUTPUT, Facts
from cqlduck.streamon.streamon import stored

NO_FACTS = Facts()

RETRIED = LimitExceeded, ProbeFailed, RefreshFailed, RehearsalFailed, TooManyInstants
"""With these a tick is undone, and runs once more with another choice."""

NOTHING_BUFFERED: Mapping[str, Buffered] = MappingProxyType({})


@dataclass
class Ticking(Refreshing):
    """Runs ticks."""

    last_changes: RelationChanges = field(init=False)
    names: Names = field(init=False)
    prefetcher: Prefetcher = field(init=False)
    tick: Tick = field(init=False)

    def _behind(self, until: Instant | None) -> bool:
        """Return whether there is something for a tick to do."""
        running = self.catalogue.running
        if any(q.state == "active" and self._has_way(q, until) for q in running):
            return True
        if (
            any(q.state not in ("active", EXPIRED) for q in self.catalogue.queries.values())
            and self.housekeeping.expiring()
        ):
            return True
        return any(
            thing.kind == "relation" and self._may_close(thing) and self._waits(thing)
            for thing in (*self.catalogue.inputs.values(), *self.catalogue.constants.values())
        )

    def _has_way(self, query: Query, until: Instant | None) -> bool:
        """Return whether a tick moves an active query, or where ticks would have brought it."""
        goal = self.progress.goal(query, until, until)
        if goal is None or not self.deferral.waits(query):
            return goal is not None
        return query.promised is None or goal > query.promised

    def has_backfill(self) -> bool:
        """Return whether a query that is behind the others has a way to go."""
        behind = self.backfill.behind
        return any(
            query.name in behind and query.state == "active" and self._has_way(query, None)
            for query in self.catalogue.running
        )

    def _others_go(self) -> bool:
        """Return whether a query that is not behind the others has a way to go."""
        behind = self.backfill.behind
        return any(
            query.name not in behind and query.state == "active" and self._has_way(query, None)
            for query in self.catalogue.running
        )

    def _waits(self, thing: Input) -> bool:
        """Return whether something is pending in a relation at or before its heartbeat."""
        first = self.relation_buffer.first(thing)
        if first is not None and thing.heartbeat is not None and first <= thing.heartbeat:
            return True
        return bool(
            self.database.value(
                f"SELECT EXISTS (SELECT 1 FROM cql_state.{quoted(thing.pending)} WHERE _ts <= ?)",
                [thing.heartbeat],
            )
        )

    def _try_tick(
        self, before: Callable[[], Instant | None]
    ) -> tuple[Instant | None, tuple[str, Exception] | None]:
        """Return what `before` did, and the query that failed with its error, or None."""
        while True:
            # each time with one choice fewer
            with contextlib.suppress(*RETRIED):
                return self._try_once(before)

    def _try_once(
        self, before: Callable[[], Instant | None]
    ) -> tuple[Instant | None, tuple[str, Exception] | None]:
        """Do what `_try_tick` does, unless a cache exceeds its limit: then all is undone."""
        current: list[str] = []
        bound: Instant | None = None
        try:
            with self.changing():
                self.streamon.give_up()
                self.refresh()
                with self.input_buffer.open():
                    with self.database.part(INGEST):
                        bound = before()
                    self._tick(current, bound)
        except duckdb.Error as error:
            if not current:
                raise _outside(error) from error
            return bound, (current[-1], of_the_query(error))
        return bound, None

    def _tick(self, current: list[str], bound: Instant | None) -> None:
        """Run one tick, inside a change.

        Args:
            current: Gets the name of the query that runs, for who has to know which one failed.
            bound: An instant that it does not go beyond, or None.
        """
        started = wall.perf_counter()
        excluded = self.progress.excluded
        running = self.catalogue.running
        active = able = [q for q in running if q.state == "active" and q.name not in excluded]
        woken, bounds = self.deferral.woken, None
        self.backfill.is_on = False
        if not woken:
            active, bounds = self.backfill.turn(active, lambda query: self._has_way(query, bound))
        waiting = self.deferral.waiting(active)
        going = [q for q in active if q.name not in waiting and (not woken or q.name in woken)]
        with self.database.part("bounds"):
            targets = {query.name: self.progress.target(query) for query in going}
            most = (bounds or self.bounds).until(going, targets)
        until = bound if most is None or (bound is not None and bound < most) else most
        with self.database.part(INGEST):
            buffered = self._place(targets, until)
        self.streamon.expect(self._taken if most is None else None)
        moving = going if woken else active
        stood = {q.name: q.closed_to if q.name in waiting else q.frontier for q in moving}
        # who is brought up to date goes where ticks have been, and relations have closed
        reached = None
        if not woken:
            with self.database.part("relations"):
                self._close_relations(able, until, bound)
            reached = self._promise(active, waiting, until)
        self.prefetcher.tick += 1
        self.tables.made.clear()
        elements, moved = 0, []
        for query in going:
            goal = self.progress.goal(query, until, bound)
            if goal is None:
                continue
            current.append(query.name)
            elements += self._move(query, goal, buffered)
            current.pop()
            moved.append(query)
        if self.tables.large:
            self.tables.end()
        self.system.write(moved, self._may_be_held)
        self.housekeeping.finish(moved)
        seconds = wall.perf_counter() - started
        self.streamon.ended(seconds, len(moved))
        reached = max((q.frontier for q in moved if q.frontier is not None), default=reached)
        if reached is not None:
            number = self.ticks + len(self._ticked) + 1
            names = {q.name for q in moved} | waiting
            known = [instant for name, instant in stood.items() if name in names]
            since = None if None in known else min(at for at in known if at is not None)
            self._ticked.append(
                catalog_rows.Ticked(number, since, reached, len(moved), elements, seconds)
            )
            self.streamon.executor.number = number + 1
        self._report(reached, elements, seconds)

    def _move(self, query: Query, goal: Instant, buffered: Mapping[str, Buffered]) -> int:
        """Bring a query to an instant, and its members; return how many elements it wrote."""
        gone, begun = self.backfill.fraction(query), wall.perf_counter()
        elements = self._advance(query, goal, buffered)
        self.deferral.ran(query)
        if self.backfill.ran(query, gone, wall.perf_counter() - begun):
            # what has come for it too is to be counted
            self.bounds.recount()
        if query.shape is not None:
            families.level(self.catalogue, query)
        return elements

    def _promise(
        self, active: Sequence[Query], waiting: Container[str], until: Instant | None
    ) -> Instant | None:
        """Note how far ticks would have brought those that wait; return the greatest of it."""
        promised: list[Instant] = []
        for query in active:
            if query.name in waiting:
                goal = self.progress.goal(query, until, None)
                if goal is not None and (query.promised is None or goal > query.promised):
                    query.promised = goal
                    promised.append(goal)
        return max(promised, default=None)

    def arrivals_place(self, thing: Input) -> Place:
        """Return where the arrivals of an input are to lie, as far as they can."""
        return Place(self.streamon.executor.choose(Point(ARRIVALS, thing.name), NO_FACTS))

    def _place(self, going: Container[str], until: Instant | None) -> Mapping[str, Buffered]:
        """Have what has come of streams lie where it is to lie; return what waits, by stream.

        Args:
            going: The names of the queries that the tick runs.
            until: Where the tick ends, if that is before the heartbeats.
        """
        buffer = self.input_buffer
        for thing in self.catalogue.inputs.values():
            buffered, held = buffer.arrived.get(thing.name), buffer.kept.get(thing.name)
            if buffered is None and not held:
                continue
            place, stay = self.arrivals_place(thing), Stay.STORED
            if place is Place.QUEUE:
                new = buffered if held is None else None
                stay = self.progress.stay(thing, new, going, until)
            if buffer.place(thing, stay, is_queue=place is not Place.STORE):
                self.bounds.has_read(thing)
        return buffer.queues

    def _may_be_held(self, thing: Input) -> bool:
        """Return whether the next tick may read from memory what this one makes of a stream."""
        going = {query.name for query in self.catalogue.running if query.state == "active"}
        is_queue = self.arrivals_place(thing) is Place.QUEUE
        return is_queue and self.progress.stay(thing, None, going, None) is Stay.HELD

    def _close_relations(
        self, active: Sequence[Query], until: Instant | None, bound: Instant | None
    ) -> None:
        """Close the instants of relations up to where the queries that read them go."""
        goals: dict[str, Instant] = {}
        behind = self.backfill.behind
        for query in active:
            # as far as that goes time has come for who is behind, too
            goal = self.progress.goal(query, bound if query.name in behind else until, bound)
            if goal is not None:
                goals[query.name] = goal
        above = self.catalogue.reading.above
        for thing in (*self.catalogue.inputs.values(), *self.catalogue.constants.values()):
            if thing.kind == "relation":
                self.last_changes.meet(thing)
                mine = [goals[q.name] for q in above.get(thing.name, ()) if q.name in goals]
                highest = max(mine, default=None)
                if highest is not None and (thing.heartbeat is None or highest > thing.heartbeat):
                    thing.heartbeat = highest
                if self._may_close(thing):
                    assert thing.heartbeat is not None
                    first = self.close_relation(thing, thing.heartbeat)
                    self.pending[thing.name] = thing.next_seq, first

    def close_relation(self, thing: Input, until: Instant) -> Instant | None:
        """Resolve what is pending of a relation at or before an instant, inside a change.

        Returns:
            The first instant of what is left, or None.
        """
        with self.lookups.closing():
            return relations.close(
                self.database,
                thing,
                until,
                self.last_changes,
                self.relation_buffer,
                self.lookups.column,
                strict=self.strict,
            )

    def _may_close(self, thing: Input) -> bool:
        """Return whether something may be pending in a relation at or before its heartbeat."""
        if not thing.next_seq or thing.heartbeat is None:
            return False
        number, first = self.pending.get(thing.name, (None, None))
        return number != thing.next_seq or (first is not None and first <= thing.heartbeat)

    def _advance(
        self, query: Query, goal: Instant, buffered: Mapping[str, Buffered] = NOTHING_BUFFERED
    ) -> int:
        """Bring a query to an instant; return how many elements it wrote."""
        written = 0 if query.amend_from is None else self._amend(query)
        if query.begin_instant is None:
            return written + self._begin(query, goal, buffered)
        compiled, before = self.compiled[query.name.lower()], query.frontier
        assert before is not None
        if compiled.period is not None and compiled.rests(before, goal):
            query.frontier = goal
            self.housekeeping.ran(query, Ran())
            return written
        return written + self._run(query, compiled, goal, Instant(before + 1), buffered)

    def _begin(self, query: Query, goal: Instant, buffered: Mapping[str, Buffered]) -> int:
        """Bring a query to an instant that has not begun; return how many elements it wrote."""
        is_first = query.since is not None and query.frontier == query.since
        begins, written = self.progress.begins(query, goal), 0
        if begins is None or begins > goal:
            query.frontier = goal
        else:
            if query.since is not None:
                begins = max(begins, Instant(query.since + 1))
            self.condensed.admit(query, Instant(begins - 1))
            written = self._run(query, self.compiled[query.name.lower()], goal, begins, buffered)
        if is_first:
            answers.retract_replaced(self.database, self.clock, query, self.synopsis_answer(query))
        return written

    def _run(
        self,
        query: Query,
        compiled: Compiled,
        goal: Instant,
        first: Instant,
        buffered: Mapping[str, Buffered],
    ) -> int:
        """Run a query's statements up to an instant; return how many elements they wrote.

        Args:
            query: The query.
            compiled: Its statements.
            goal: The instant.
            first: The first instant after its frontier, or the one at which it begins.
            buffered: What waits of streams.
        """
        database, catalogue = self.database, self.catalogue
        facts = Facts(
            self.progress.arrived(query, goal),
            # how many came before a query's first tick here is not known
            query.name not in self._before,
            lambda: stored(database, catalogue, query, compiled),
            is_single=goal == first,
        )
        chosen = self.streamon.choose(query, compiled, goal == first, facts)
        started = wall.perf_counter()
        before = None if query.begin_instant is None else query.frontier
        self._before[query.name] = NEVER if before is None else before
        amends = catalogue.reading.amending[query.name]
        # what a large tick writes may be too much for memory, and a listener reads what is written
        is_large = self._taken > MEDIUM_TICK_ELEMENTS or self.backfill.is_on
        may_wait = database.in_memory and not (amends or self.on_tick or is_large)
        may_wait = may_wait and not catalogue.readers(query) and chosen.is_default(OUTPUT)
        plan = TickPlan(query, compiled, goal, first, chosen, amends=amends, may_wait=may_wait)
        try:
            ran = self.tick.run(plan, buffered)
        except LimitExceeded as error:
            self.streamon.exceeded(chosen, error)
            raise
        except TooManyInstants as error:
            self.streamon.answers.too_many(query, error.instants)
            raise
        self.streamon.saw(chosen, query, compiled, ran, wall.perf_counter() - started)
        self.housekeeping.ran(query, ran)
        if before is not None and not chosen.rests:
            self.rehearse(query, before, facts)
        return ran.elements

    def _amend(self, query: Query) -> int:
        """Work a query out again, because late elements have changed what it has read."""
        self.output_buffer.store(query)
        self.database.threads.all()
        kept = (*self.compiled[query.name.lower()].synopses, *self.caches.of(query.name))
        written = amend.amend(
            self.database,
            query,
            [synopsis.name for synopsis in kept],
            lambda until: self._replay(query, until),
        )
        self.housekeeping.tails.pop(query.name, None)
        return written

    def _replay(self, query: Query, until: Instant) -> None:
        """Run a query again from its beginning up to an instant, in ticks of bounded size."""
        self.bounds.recount()
        while query.frontier is None or query.frontier < until:
            most = self.bounds.until([query], {query.name: self.progress.target(query)})
            self.tables.made.clear()
            self._advance(query, until if most is None else min(most, until))
        self.bounds.recount()
        self.tables.made.clear()

    def _report(self, until: Instant | None, elements: int, seconds: float) -> None:
        taken, self._taken = self._taken, 0
        if self.database.profile is not None:
            self.database.profile.ticked(taken, elements)
        if until is not None and not self.deferral.woken:
            self.elements_in += taken
            if self.on_tick:
                self._tell(TickReport(until, taken, elements, seconds))
        with self.changed:
            self.changed.notify_all()

    def _tell(self, report: TickReport) -> None:
        """Tell listeners of a tick, inside of it; what goes wrong in one undoes nothing."""
        self._listening = threading.get_ident()
        try:
            for listener in list(self.on_tick):
                try:
                    listener(report)
                except Exception:
                    log.exception("a listener failed in the tick up to %s", report.until)
        finally:
            self._listening = None

    def reads_last_tick(self, query: Query, since: Instant | None) -> bool:
        """Return whether elements after an instant are those of a query's last tick at most."""
        name = query.name if query.family is None else query.family
        return since is not None and since >= self._before.get(name, since + 1)

    def expect(self, query: Query) -> None:
        """Parse what a query's first ticks will run, so that these need not."""
        steps = self.compiled[query.name.lower()].steps.of(FIRST)
        self.prefetcher.note(steps)
        for step in steps:
            self.database.expect(step.sql)


def of_the_query(error: duckdb.Error) -> duckdb.Error:
    """Return an error that is about the data and the query.

    Raises:
        DatabaseError: It is about the machine.
    """
    if isinstance(error, _OF_THE_MACHINE):
        raise _outside(error) from error
    return error


_OF_THE_MACHINE = (
    duckdb.IOException,
    duckdb.InterruptException,
    duckdb.ConnectionException,
    duckdb.TransactionException,
)


def _outside(error: duckdb.Error) -> Error:
    return DatabaseError(
        f"the tick was undone: {first_line(error)}", hint="resolve that, and call again"
    )
