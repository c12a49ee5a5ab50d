"""The engine: joins the catalogue, the rewriter and the state, and runs ticks.

What is registered it holds; how that changes is in `registration`, how queries are compiled in
`compiler`, how far they can go in `progress`, and what is done after a tick, so that nothing grows,
in `housekeeping`.

It guarantees that a tick is one transaction: what the drop zone gave, the closing of relations'
instants, every query's statements, frontiers and bookkeeping are committed together. After a
failure the catalogue in memory is read again from the database, so the two never differ.

A query that fails is separated from the others: the tick is undone and run without it, and the
query alone is advanced by halves to the last instant before the one that fails.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time as wall
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TypeVar

import duckdb

from cqlduck import arguments, failures
from cqlduck.compiler import Compiler
from cqlduck.errors import (
    BindError,
    CatalogError,
    DatabaseError,
    DataError,
    Error,
    first_line,
)
from cqlduck.housekeeping import STANDING, Housekeeping
from cqlduck.progress import Progress
from cqlduck.rewrite import Compiled
from cqlduck.rewrite.physical.form import FIRST, Form
from cqlduck.rewrite.plan import NEVER
from cqlduck.rewrite.statements.steps import OperatorRow, Steps
from cqlduck.rewrite.text.names import bare
from cqlduck.rewrite.text.spelling import suggestion
from cqlduck.rewrite.text.time import BEGINNING, Clock
from cqlduck.state import (
    amend,
    answers,
    arrived,
    catalog,
    inspection,
    instants,
    machine,
    plans,
    queues,
    records,
    relations,
    synopses,
    tick,
)
from cqlduck.state.buffers import Buffer
from cqlduck.state.catalog import EXPIRED, Input, Query
from cqlduck.state.connection import Database, quoted
from cqlduck.state.contents import Frontier
from cqlduck.state.input_buffer import InputBuffer, Queue
from cqlduck.state.names import Names
from cqlduck.state.output_buffer import OutputBuffer
from cqlduck.state.prefetch import Prefetcher
from cqlduck.state.processes import OwnLock
from cqlduck.state.profile import INGEST
from cqlduck.state.queues import Arrival, Taken
from cqlduck.state.results import Results
from cqlduck.state.shared import Tables
from cqlduck.state.threads import SOME
from cqlduck.state.tick import Ran
from cqlduck.state.ticks import TickBuffer
from cqlduck.streamon.points import OUTPUT, Facts
from cqlduck.streamon.streamon import StreaMon, stored
from cqlduck.subscription import Changed

log = logging.getLogger("cqlduck")

MAX_TICK = 2_000_000
"""How many elements a tick takes in at most, unless one instant has more."""

HEAVY_TICK = 20_000
"""How many elements a tick takes in at most if a query is worked out again at each instant."""

MAX_INSTANTS = 1_000_000
"""How many instants a tick spans at most for a query that repeats a relation at each of them."""

HEAVY_INSTANTS = 20_000
"""The same for a query that is worked out again at each of them."""

NO_QUEUES: Mapping[str, Queue] = MappingProxyType({})

Result = TypeVar("Result")

SETTINGS = {
    "granularity": "1",
    "instant": "1000000",
    "window_edge": "closed",
    "recompute": "allow",
}


@dataclass(frozen=True)
class TickReport:
    """What a tick did: for progress displays and `on_tick`."""

    until: int
    elements_in: int
    elements_out: int
    seconds: float


@dataclass
class Engine:
    """Runs continuous queries over one database."""

    database: Database
    max_tick: int = MAX_TICK
    strict: bool = False
    history: str | None = None
    kept_records: int = records.KEPT
    standing: str = STANDING
    wanted: dict[str, str] = field(default_factory=dict)
    catalogue: catalog.Catalogue = field(init=False)
    compiled: dict[str, Compiled] = field(default_factory=dict)
    lock: OwnLock = field(init=False)
    closed: bool = False
    streamon: StreaMon = field(init=False)
    on_tick: list[Callable[[TickReport], None]] = field(default_factory=list)
    ticks: int = 0
    changed: Changed = field(default_factory=Changed)
    _taken: int = 0
    _unread: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Of streams: the next number when elements after all frontiers were counted, and the count."""
    _before: dict[str, int] = field(default_factory=dict)
    """Of queries: their frontiers before their last ticks."""
    _ticked: list[catalog.Ticked] = field(default_factory=list)
    """The ticks that the change has run, to be written with it."""
    """The ticks that are still to be written: in memory nothing outlives the process."""
    _listening: int | None = None
    """The thread in which a listener runs, if one does."""
    _failed: list[Error] = field(default_factory=list)
    """What is still to be told of queries that failed, and of ticks that had no room."""
    _changed_plans: list[str] = field(default_factory=list)
    """The queries that were compiled when the database was opened."""
    _resolved: dict[str, int] = field(default_factory=dict)
    """Up to which instant nothing is pending in a relation's queue."""

    def __post_init__(self) -> None:
        """Read the catalogue and compile the queries that are there."""
        self.lock = OwnLock(self.database.owner, self.database.interrupts)
        self.catalogue = catalog.load(self.database)
        self.compiler = Compiler(self.database)
        self.input_buffer = InputBuffer(self.database, lambda: self.catalogue.inputs)
        self.tick_buffer = TickBuffer(self.database)
        self.output_buffer = OutputBuffer(self.database)
        self.prefetcher = Prefetcher(self.database)
        self.names = Names(self.database)
        self.tables = Tables(self.database)
        self.progress = Progress(self.catalogue, self.compiled, self.database.in_memory)
        self.results = Results(self.database)
        self.housekeeping = Housekeeping(
            self.database,
            self.catalogue,
            self.compiled,
            self.output_buffer,
            self.input_buffer,
            self.progress,
            self.results,
            self.history,
            self.standing,
        )
        self.ticks = int(
            self.database.value("SELECT coalesce(max(number), 0) FROM cql_state.ticks") or 0
        )
        self.streamon = StreaMon(self.database, self.compiled, lambda: self._tick_number)
        self.configure(self.wanted)
        self._compile_all()
        self._adopt()
        for key in self._changed_plans:
            name = self.catalogue.queries[key].name
            plans.save(self.database, name, self.compiled[key])
            self.streamon.forget(name)
        self.streamon.opened()
        self._inspectable()

    # -- the frame of every change ----------------------------------------------------------------

    def refuse_closed(self) -> None:
        """Refuse to go on when the database is closed.

        Raises:
            DatabaseError: It is.
        """
        if self.closed:
            raise DatabaseError("the connection is closed", hint="connect again")

    @contextlib.contextmanager
    def opened(self) -> Iterator[None]:
        """Hold the engine still while the block runs.

        Raises:
            DatabaseError: The database is closed, or there is no room to go on with it.
        """
        with self.lock:
            self.refuse_closed()
            self._attached()
            yield

    def _attached(self) -> None:
        """Attach the file anew, if a checkpoint of it has failed since.

        Raises:
            DatabaseError: There is still no room for it.
        """
        if self.database.is_invalid and not self.database.depth:
            with self.database.interrupts.settling():
                self.database.reattach()
                self._read_again()

    @contextlib.contextmanager
    def changing(self) -> Iterator[None]:
        """One change at a time, in a transaction; after a failure the catalogue is as it was."""
        with self.opened(), self.database.interrupts.held():
            outermost = self.database.depth == 0
            compiled, taken = dict(self.compiled), self._taken
            stored: list[tuple[Steps, Form]] = []
            try:
                with self.database.transaction():
                    yield
                    if outermost:
                        with self.database.part("catalogue"):
                            records.cut(self.database, self.kept_records)
                            stored = plans.save_statements(self.database, self.compiled)
                            self._save()
                            if not self._may_wait and self.streamon.holds_some:
                                self.streamon.flush()
                if outermost:
                    for steps, form in stored:
                        steps.note(form)
                    self.ticks += len(self._ticked)
                    self._ticked.clear()
                    self.compiler.ended(committed=True)
            except BaseException:
                if outermost:
                    with self.database.interrupts.settling():
                        self._ticked.clear()
                        self.compiled.clear()
                        self.compiled.update(compiled)
                        self._taken = taken
                        self.recount()
                        self.housekeeping.recount()
                        self.compiler.ended(committed=False)
                        self.tick_buffer.flush()
                        self._read_again()
                raise

    def _read_again(self) -> None:
        """Read the catalogue from the database; later, where that has to be attached anew first."""
        if not self.database.is_invalid:
            self.catalogue.restore(catalog.load(self.database))

    def _save(self) -> None:
        """Write what changed of the catalogue; of ticks in memory only every so many."""
        rows = catalog.save(self.database, self.catalogue, self.ticks, self._ticked)
        self.tick_buffer.add(rows, may_wait=self._may_wait)

    @property
    def _may_wait(self) -> bool:
        """Whether what people look at may be written when they do.

        A listener may look from inside the tick, where nothing can be written for it.
        """
        return self.database.in_memory and not self.on_tick

    @property
    def _tick_number(self) -> int:
        """The number of the tick that runs, or of the next one."""
        return self.ticks + len(self._ticked) + 1

    def flush(self, *, everything: bool = False) -> None:
        """Write what buffers hold of the logs, so that all can be read.

        Args:
            everything: Whether rows go into the stores of streams too, and ticks into `cql.ticks`.
        """
        buffers: list[Buffer] = [self.output_buffer]
        if everything:
            buffers += [self.input_buffer, self.tick_buffer]
            # elsewhere each change has written what it chose
            buffers += [self.streamon] if self._may_wait else []
        if any(buffer.holds_some for buffer in buffers):
            with self.changing():
                for buffer in buffers:
                    buffer.flush()

    def reading(self, *, everything: bool = False, is_large: bool = True) -> None:
        """Have the database ready for somebody who is about to read it.

        Args:
            everything: Whether that may be anything: the stores of streams, and `cql.ticks`.
            is_large: Whether it may be much, for which all threads are.
        """
        self.flush(everything=everything)
        if is_large:
            self.database.threads.all()

    def keep_answers(self, queries: Iterable[Query] | None = None) -> None:
        """Write the kept answers of queries anew where the elements since outweigh them.

        It is done apart from ticks, because after a long history it takes as long as many of them.
        Answers can be read without, so if it fails that is only logged.

        Args:
            queries: The queries; by default all.
        """
        with self.lock:
            # in a tick, where a listener may read, others still see the answers as they were
            if self.closed or self.database.depth:
                return
            self.flush()
            wanted = self.catalogue.queries.values() if queries is None else queries
            try:
                for query in self.housekeeping.outweighed(wanted):
                    self.database.threads.all()
                    with self.changing():
                        self.housekeeping.keep_answer(query)
            except (duckdb.Error, DatabaseError) as error:
                if isinstance(error, DatabaseError) and not machine.is_told(error):
                    raise  # an interruption
                log.warning("an answer is read from its log: %s", first_line(error))
                self._attached()

    def recount(self) -> None:
        """Forget what was counted of inputs; it is counted again when it is asked for."""
        self._unread.clear()
        self.progress.recount()
        self._resolved.clear()

    def compile(self, name: str, body: str) -> Compiled:
        """Compile a query against what is registered now.

        Raises:
            Error: Of the family, with its place in the query.
        """
        return self.compiler.compile(self.catalogue, name, body)

    def compile_again(self, query: Query) -> Compiled:
        """Compile a query that is registered, with the macros as they were then.

        Raises:
            Error: Of the family, with its place in the query.
        """
        return self.compiler.compile(self.catalogue, query.name, query.body, query.taken)

    def _compile_all(self) -> None:
        """Take the plans that are stored, and compile the queries that have none of this version.

        Raises:
            DatabaseError: One of these is refused now.
        """
        queries = self.catalogue.queries
        stored = plans.load(
            self.database,
            self.clock,
            [query.name for query in queries.values()],
            lambda name: self.compile_again(self.query(name)),
        )
        for key, query in queries.items():
            if key in stored:
                self.compiled[key] = stored[key]
            else:
                try:
                    self.compiled[key] = self.compile_again(query)
                except Error as error:
                    raise DatabaseError(
                        f"the continuous query {query.name} cannot be compiled any more: "
                        f"{error.message}",
                        hint="another version of cqlduck has made it, or something that it names "
                        "is gone; make that again with duckdb, or use that version",
                    ) from error
                query.taken = self.compiled[key].taken
                self._changed_plans.append(key)

    def _adopt(self) -> None:
        """Bring what another version of cqlduck has written to the plans that would run.

        Raises:
            DatabaseError: That cannot be done.
        """
        if self.database.is_new:
            return
        there: dict[str, set[str]] = {}
        for name, table in self.database.rows("SELECT query, table_name FROM cql_state.synopses"):
            there.setdefault(name, set()).add(table)
        described = {
            name for (name,) in self.database.rows("SELECT DISTINCT query FROM cql_state.operators")
        }
        for key, query in self.catalogue.queries.items():
            compiled, is_anew = self.compiled[key], key in self._changed_plans
            has_all = there.get(query.name, set()) == {s.name for s in compiled.synopses}
            if not has_all or (is_anew and not synopses.fits(self.database, query.name, compiled)):
                frontier = Frontier(query, self.catalogue, self.database.value, self.shown)
                synopses.adopt(self.database, frontier, compiled)
            elif is_anew or query.name not in described:
                synopses.describe(self.database, query.name, compiled)

    def _inspectable(self) -> None:
        """Bring what people look at up to date with what is registered."""
        if self.database.is_new:
            return
        with self.database.transaction():
            inspection.refresh_all(self.database, self.catalogue)
            self.database.execute("DELETE FROM cql_state.stubs")
            for query in self.catalogue.queries.values():
                inspection.write_stubs(self.database, query, self.stubs(query))
            records.cut_all(self.database, self.kept_records)

    def stubs(self, query: Query) -> dict[str, int | None]:
        """Return how far a query looks back on the store of each input that it reads itself."""
        spans = self.compiled[query.name.lower()].spans
        names = [
            name for name in dict.fromkeys(query.inputs) if name.lower() in self.catalogue.inputs
        ]
        return {name: spans.get(name, 0) for name in names}

    # -- settings and time ------------------------------------------------------------------------

    @property
    def clock(self) -> Clock:
        """The clock of the database."""
        return self.catalogue.clock

    def configure(self, wanted: dict[str, str]) -> None:
        """Write the settings of a new database, or compare them with those it was made with.

        Raises:
            DatabaseError: A setting that a database keeps for life is another one.
        """
        known = self.catalogue.settings
        for name, want in wanted.items():
            if name in known and want != known[name]:
                raise DatabaseError(
                    f"the database has {name} = {known[name]}, not {want}",
                    hint=f"leave {name} out, or make a new database",
                )
        chosen = SETTINGS | wanted
        with self.changing():
            missing = {name: value for name, value in chosen.items() if name not in known}
            catalog.choose(self.database, self.catalogue, missing)

    def set_time(self, kind: str, why: str) -> None:
        """Settle the kind of time, or refuse another one.

        Raises:
            DataError: The database has the other kind.
        """
        known = self.catalogue.settings.get("time")
        if known == kind:
            return
        if known is not None:
            words = {"integer": "integers", "wall": "wall-clock time"}
            raise DataError(
                f"the database's time is {words[known]}, and {why} is {words[kind]}",
                hint="a database has one kind of time; use another database for the other",
            )
        catalog.choose(self.database, self.catalogue, {"time": kind})
        if kind == "wall":
            for query in self.catalogue.queries.values():
                self._plan_anew(query)

    def _plan_anew(self, query: Query) -> None:
        """Compile a query that was compiled while the kind of time was open, and has no state yet.

        Its plan, its synopses and the types of its columns may depend on the kind of time.

        Raises:
            BindError: It does not fit the kind of time.
        """
        try:
            compiled = self.compile_again(query)
        except Error as error:
            raise BindError(
                f"the continuous query {query.name} was made for time in integers: {error.message}",
                hint=f"DROP CONTINUOUS QUERY {query.name}, and make it anew for wall-clock time",
            ) from error
        self.compiled[query.name.lower()] = compiled
        plans.save(self.database, query.name, compiled)
        answers.drop(self.database, query)
        synopses.drop(self.database, query.name)
        self.streamon.forget(query.name)
        query.columns = compiled.columns
        synopses.create(self.database, query.name, compiled)
        answers.create(self.database, self.clock, query, compiled.answer)
        if query.kind == "stream" and self.catalogue.amends(query):
            amend.create(self.database, query)
        catalog.move(self.database, query)
        inspection.refresh(self.database, self.catalogue, query)
        self.database.execute("DELETE FROM cql_state.stubs WHERE query = ?", [query.name])
        inspection.write_stubs(self.database, query, self.stubs(query))

    # -- names ------------------------------------------------------------------------------------

    def input(self, name: str) -> Input:
        """Return a stream or relation.

        Raises:
            CatalogError: There is none of this name.
        """
        found = self.catalogue.inputs.get(arguments.name(name).lower())
        found = found or self.catalogue.inputs.get(bare(name).lower())
        if found is None:
            if bare(name).lower() in self.catalogue.queries:
                raise CatalogError(
                    f"{name} is a continuous query, which makes its own elements",
                    hint="append to a stream or relation",
                )
            known = [i.name for i in self.catalogue.inputs.values()]
            raise CatalogError(
                f"there is no stream or relation {name}",
                hint=suggestion(name, known, "there are"),
            )
        return found

    def query(self, name: str) -> Query:
        """Return a continuous query.

        Raises:
            CatalogError: There is none of this name.
        """
        found = self.catalogue.queries.get(arguments.name(name).lower())
        found = found or self.catalogue.queries.get(bare(name).lower())
        if found is None:
            known = [q.name for q in self.catalogue.queries.values()]
            hint = suggestion(name, known, "there are")
            if name.lower() in self.catalogue.inputs:
                hint = f"{name} is a stream or relation; look at it with sql('FROM {name}')"
            raise CatalogError(f"there is no continuous query {name}", hint=hint)
        return found

    def is_net(self, query: Query) -> bool:
        """Return whether no two elements in a query's log have the same tuple and instant."""
        return self.compiled[query.name.lower()].is_net and not self.catalogue.amends(query)

    def is_lasting(self, query: Query) -> bool:
        """Return whether what is in a query's log up to its frontier stays as it is, and is much.

        Nothing else than to drop the query, or to bound its history from now on, takes it away.
        """
        kept = query.keep if query.keep is not None else self.history
        stays = kept in (None, "unbounded") and not self.catalogue.amends(query)
        return stays and query.frontier is not None and answers.is_long(self.database, query)

    def operators(self, name: str) -> Sequence[OperatorRow]:
        """Return the operators of a query's plan; none if there is no such query."""
        found = self.compiled.get(name.lower())
        return () if found is None else found.operators

    def held(self, query: Query) -> str | None:
        """Return how a query's answer is read from its synopses, or None."""
        return self.compiled[query.name.lower()].answer

    def answer_sql(self, query: Query, until: int | None = None) -> str:
        """Return the SELECT of a query's answer at an instant, or at its frontier."""
        return answers.answer_sql(self.clock, query, self.held(query), until)

    # -- heartbeats -------------------------------------------------------------------------------

    def raise_heartbeat(self, thing: Input, instant: int) -> None:
        """Promise that no element at or before an instant is still to come to an input."""
        if thing.heartbeat is None or instant > thing.heartbeat:
            thing.heartbeat = instant

    # -- ticks ------------------------------------------------------------------------------------

    def frontier(self) -> int | None:
        """Return the least frontier of the active queries, or None."""
        known = [q.frontier for q in self.catalogue.queries.values() if q.state == "active"]
        if not known or any(f is None for f in known):
            return None
        return min(f for f in known if f is not None)

    def run(self, until: int | None = None) -> None:
        """Advance all queries as far as the heartbeats allow, or up to an instant."""
        with self.opened():
            while self._behind(until):
                self._step(until)

    def _behind(self, until: int | None) -> bool:
        for query in self.catalogue.queries.values():
            if query.state == "active" and self.progress.goal(query, until) is not None:
                return True
        if self.housekeeping.expiring():
            return True
        return any(
            thing.kind == "relation" and thing.heartbeat is not None and self._waits(thing)
            for thing in self.catalogue.inputs.values()
        )

    def _waits(self, thing: Input) -> bool:
        assert thing.heartbeat is not None
        if not thing.next_seq:
            return False
        if self._resolved.get(thing.name) == thing.heartbeat:
            return False
        return bool(
            self.database.value(
                f"SELECT EXISTS (SELECT 1 FROM cql_state.{quoted(thing.pending)} WHERE _ts <= ?)",
                [thing.heartbeat],
            )
        )

    def step(self, before: Callable[[], int | None]) -> int | None:
        """Run `before`, which takes elements in, and one tick, in one transaction.

        If a query fails in the tick, what was taken in is kept, and the failing query is set apart;
        `before` is run twice then.

        Args:
            before: Takes elements in, inside a change; returns up to which instant the tick goes,
                or None if as far as heartbeats allow.

        Returns:
            What `before` did.
        """
        with self.opened():
            bound, failed = self._try_tick(before)
            if failed is not None:
                with self.changing():
                    bound = before()
                try:
                    self._step(bound)
                except BaseException as error:
                    # what `before` took is committed
                    if not self.may_return(error):
                        raise
            return bound

    def may_return(self, error: BaseException) -> bool:
        """Return whether a call that has committed what it was for returns in spite of an error.

        Whoever calls it again would take in the same rows a second time. So an interruption waits
        for its end, and of what the machine did to the ticks that follow there is a warning; they
        run with the next call.
        """
        if self.database.interrupts.postpone(error):
            return True
        if isinstance(error, Error) and machine.is_told(error):
            log.warning("the rows are committed, but not all ticks have run: %s", error.message)
            self._failed.append(error)
            return True
        return False

    def _step(self, until: int | None) -> None:
        """Run one tick; separate a query that fails from the others.

        The others go first, so that what the failing one reads of them is there.
        """
        failed: dict[str, Exception] = {}
        try:
            while True:
                self.progress.set_apart(failed)
                _, found = self._try_tick(lambda: until)
                if found is None:
                    break
                failed[found[0]] = found[1]
        finally:
            self.progress.set_apart(())
        for name, error in failed.items():
            self._advance_alone(name, error, until)

    def _try_tick(
        self, before: Callable[[], int | None]
    ) -> tuple[int | None, tuple[str, Exception] | None]:
        """Return what `before` did, and the query that failed with its error, or None."""
        current: list[str] = []
        bound: int | None = None
        try:
            with self.changing(), self.input_buffer.open():
                with self.database.part(INGEST):
                    bound = before()
                self._tick(current, bound)
        except duckdb.Error as error:
            if not current:
                raise _outside(error) from error
            return bound, (current[-1], _of_the_query(error))
        return bound, None

    def _tick(self, current: list[str], bound: int | None) -> None:
        started = wall.perf_counter()
        active = [q for q in self.catalogue.queries.values() if not self.progress.stands_still(q)]
        with self.database.part("bounds"):
            most = self._bounded(active)
            until = _least(most, bound)
        going = {query.name for query in active}
        with self.database.part(INGEST):
            waiting = self.input_buffer.settle(
                lambda queue: self.progress.is_read_once(queue, going, until),
                lambda thing: self.progress.may_stay(thing, going),
                self.streamon.place,
            )
            for name, queue in waiting.items():
                if queue.held is not None:
                    self._unread[name] = (queue.thing.next_seq, 0)
        self.streamon.expect(self._taken if most is None else None)
        with self.database.part("relations"):
            self._close_relations(going, until, bound)
        before = [q.frontier for q in active if q.frontier is not None]
        self.prefetcher.begin()
        self.tables.begin()
        elements = 0
        moved = []
        for query in active:
            goal = self._goal(query, until, bound)
            if goal is None:
                continue
            current.append(query.name)
            elements += self._run_query(query, goal, waiting)
            current.pop()
            moved.append(query)
        self.tables.end()
        self.housekeeping.finish(moved)
        seconds = wall.perf_counter() - started
        self.streamon.ended(seconds / max(len(moved), 1))
        reached = max((q.frontier for q in moved if q.frontier is not None), default=None)
        if reached is not None:
            since = min(before, default=None)
            number = self._tick_number
            self._ticked.append(
                catalog.Ticked(number, since, reached, len(moved), elements, seconds)
            )
        self._report(reached, elements, seconds)

    def _bounded(self, active: list[Query]) -> int | None:
        """Return an instant up to which a tick takes in no more elements than it should."""
        until: int | None = None
        targets = {query.name: self.progress.target(query) for query in active}
        for thing in self.catalogue.inputs.values():
            if thing.kind != "stream":
                continue
            readers = [
                query
                for query in self.catalogue.readers_above(thing)
                if query.name in targets and self.progress.may_go_on(query, targets[query.name])
            ]
            floor = min((q.frontier for q in readers if q.frontier is not None), default=None)
            if not readers or any(targets[q.name] is None for q in readers):
                continue
            heavy = any(self.compiled[q.name.lower()].is_heavy for q in readers)
            size = min(self.max_tick, HEAVY_TICK) if heavy else self.max_tick
            number, unread = self._unread.get(thing.name, (0, 0))
            if unread + thing.next_seq - number <= size:
                continue
            self.input_buffer.store(thing)
            low = "true" if floor is None else f"_ts > {floor}"
            row = self.database.rows(
                f"SELECT _ts FROM cql_state.{quoted(thing.table)} WHERE {low} "
                f"ORDER BY _ts LIMIT 1 OFFSET {size}"
            )
            if row:
                bound = row[0][0] - 1 if floor is None or row[0][0] - 1 > floor else row[0][0]
                until = bound if until is None else min(until, bound)
            else:
                left = self.database.value(
                    f"SELECT count(*) FROM cql_state.{quoted(thing.table)} WHERE {low}"
                )
                self._unread[thing.name] = (thing.next_seq, int(left))
        for query in active:
            compiled = self.compiled[query.name.lower()]
            reached = self.progress.begins(query) if query.frontier is None else query.frontier
            if compiled.repeats and reached is not None:
                bound = reached + (HEAVY_INSTANTS if compiled.is_heavy else MAX_INSTANTS)
                until = bound if until is None else min(until, bound)
        return until

    def _goal(self, query: Query, until: int | None, bound: int | None) -> int | None:
        """Return where a tick brings a query; where one begins, how large a tick is has no say."""
        opens = query.since is None and self.progress.is_undated(query)
        return self.progress.goal(query, bound if opens else until)

    def _close_relations(self, going: Set[str], until: int | None, bound: int | None) -> None:
        for thing in self.catalogue.inputs.values():
            if thing.kind != "relation":
                continue
            goals = [
                goal
                for query in self.catalogue.readers_above(thing)
                if query.name in going and (goal := self._goal(query, until, bound)) is not None
            ]
            if goals:
                self.raise_heartbeat(thing, max(goals))
            if thing.heartbeat is not None and thing.next_seq:
                relations.close(self.database, thing, thing.heartbeat, strict=self.strict)
                self._resolved[thing.name] = thing.heartbeat

    def _run_query(self, query: Query, goal: int, waiting: Mapping[str, Queue] = NO_QUEUES) -> int:
        written = 0
        if query.amend_from is not None:
            self.output_buffer.store(query)
            self.database.threads.all()
            compiled = self.compiled[query.name.lower()]
            written = amend.amend(
                self.database, query, compiled, lambda until: self._replay(query, until)
            )
            self.housekeeping.tails.pop(query.name, None)
        return written + self._go(query, goal, waiting)

    def _replay(self, query: Query, until: int) -> None:
        """Run a query again from its beginning up to an instant, in ticks of bounded size."""
        self._unread.clear()
        while query.frontier is None or query.frontier < until:
            bound = _least(self._bounded([query]), until)
            assert bound is not None
            self.tables.begin()
            self._go(query, bound)
        self._unread.clear()
        self.tables.begin()

    def _go(self, query: Query, goal: int, waiting: Mapping[str, Queue] = NO_QUEUES) -> int:
        known = query.since is not None
        is_first = known and query.begin_instant is None and query.frontier == query.since
        written = self._move(query, goal, waiting)
        if is_first:
            answers.take_over(self.database, self.clock, query, self.held(query))
        return written

    def _move(self, query: Query, goal: int, waiting: Mapping[str, Queue]) -> int:
        begins = self.progress.begins(query, goal)
        if query.begin_instant is None:
            if begins is None or begins > goal:
                query.frontier = goal
                return 0
            if query.since is not None:
                begins = max(begins, query.since + 1)
        compiled = self.compiled[query.name.lower()]
        before = None if query.begin_instant is None else query.frontier
        if before is not None and compiled.rests(before, goal):
            query.frontier = goal
            self.housekeeping.ran(query, Ran())
            return 0
        arrived = self.progress.arrived(query, goal)
        come = self._bind(query, compiled, goal, waiting)
        facts = Facts(
            arrived,
            # how many came before a query's first tick here is not known
            query.name not in self._before,
            lambda: stored(self.database, self.catalogue, query, compiled),
        )
        single = goal == (begins or 0 if before is None else before + 1)
        chosen = self.streamon.choose(query, compiled, single, facts)
        started = wall.perf_counter()
        self._before[query.name] = NEVER if before is None else before
        # what a large tick writes may be too much for memory, and a listener reads what is written
        may_wait = self._taken <= SOME and not self.catalogue.readers(query) and not self.on_tick
        may_wait = may_wait and self.output_buffer.may_take(query)
        may_wait = may_wait and not self.catalogue.amends(query) and chosen.is_default(OUTPUT)
        buffer = self.output_buffer if may_wait else None
        if buffer is None:
            self.output_buffer.store(query)
        done = tick.run(
            self.database,
            query,
            compiled,
            goal,
            begins or 0,
            chosen,
            come,
            self.prefetcher,
            self.tables,
            buffer,
        )
        self.streamon.saw(chosen, compiled, done, wall.perf_counter() - started)
        self.housekeeping.ran(query, done)
        return done.elements

    def explain(self, query: Query) -> str:
        """Return the plan of a query, and the statements that run by what is chosen."""
        forms = self.streamon.forms(query.name)
        return self.compiled[query.name.lower()].explain(forms, self.streamon.notes(query.name))

    def _bind(
        self, query: Query, compiled: Compiled, goal: int, waiting: Mapping[str, Queue]
    ) -> Mapping[str, Queue]:
        """Bind the names of the streams that a query's tick reads.

        Returns:
            The queues whose rows are the arrivals of the tick, by stream.
        """
        come = {}
        for source in compiled.sources.values():
            if source.kind == "stream":
                queue = None if source.is_query else waiting.get(source.name)
                is_held = queue is not None and queue.held is not None
                if queue is not None and self.progress.covers_tick(queue, query, goal):
                    come[source.name] = queue
                self.names.bind(source, is_held=is_held, has_just_come=source.name in come)
        return come

    def refuse_failed(self, query: Query) -> None:
        """Refuse to show what a query will never say, because it failed, or one below it.

        Raises:
            QueryError: It says at which instant, because of which row, and why.
        """
        error = failures.refusal(self.catalogue, query)
        if error is not None:
            raise error

    def new_failures(self) -> list[Error]:
        """Return what is to be told of failed queries and ticks since this was asked last."""
        told, self._failed = self._failed, []
        return told

    def reads_last_tick(self, query: Query, since: int | None) -> bool:
        """Return whether elements after an instant are those of a query's last tick at most."""
        return since is not None and since >= self._before.get(query.name, since + 1)

    def _report(self, until: int | None, elements: int, seconds: float) -> None:
        taken, self._taken = self._taken, 0
        if self.database.profile is not None:
            self.database.profile.ticked(taken, elements)
        if until is not None:
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

    def refuse_in_listener(self, call: str) -> None:
        """Refuse what cannot be done from inside a listener: its tick is not at its end.

        Raises:
            DatabaseError: It is called from a listener.
        """
        if self._listening == threading.get_ident():
            raise DatabaseError(
                f"{call} is called by a listener, inside of a tick that waits for the listener",
                hint="a listener may read; note what is to be done, and do it after the call that "
                "runs ticks, or in another thread",
            )

    def _advance_alone(self, name: str, error: Exception, until: int | None) -> None:
        """Bring a query to the last instant before the one at which it fails."""
        self.flush(everything=True)
        query = self.query(name)
        goal = self.progress.goal(query, until)
        assert goal is not None
        begins = (self.progress.begins(query, goal) or 0) - 1
        done = begins if query.frontier is None else max(query.frontier, begins)
        instant, error = failures.first_failure(
            lambda middle: self._try_alone(name, middle), done, goal, error
        )
        row = self._culprit(name, instant)
        with self.changing():
            failures.fail(self.catalogue, self.query(name), instant, first_line(error), row)
        told = failures.told(self.catalogue, self.query(name), self.query(name))
        log.warning("%s", told.message)
        self._failed.append(told)

    def _culprit(self, name: str, instant: int) -> str | None:
        """Return the row because of which a query fails at an instant, or None."""
        base, known = self.database, self.catalogue

        def fails(first: Mapping[str, int]) -> bool:
            def run(query: Query) -> None:
                arrived.keep_first(base, known, instant, first)
                self._run_query(query, instant)

            try:
                self._undone(name, instant, run)
            except duckdb.Error as error:
                return bool(_of_the_query(error))
            return False

        counts = self._undone(
            name, instant, lambda query: arrived.counts(base, known, query, instant)
        )
        place = failures.culprit(counts, fails)
        if place is None:
            return None
        return self._undone(
            name, instant, lambda query: arrived.shown(base, known, place[0], instant, place[1])
        )

    def _undone(self, name: str, until: int, work: Callable[[Query], Result]) -> Result:
        """Return what is found out of a query, with its relations closed, in a change undone."""
        found: list[Result] = []
        with contextlib.suppress(_Undone), self.changing():
            found.append(work(self._alone(name, until)))
            raise _Undone
        return found[0]

    def _try_alone(self, name: str, until: int) -> Exception | None:
        try:
            with self.changing():
                self._run_query(self._alone(name, until), until)
        except duckdb.Error as error:
            return _of_the_query(error)
        return None

    def _alone(self, name: str, until: int) -> Query:
        """Return a query that is about to run alone, and close its relations, inside a change."""
        query = self.query(name)
        self.tables.begin()
        for thing in self.catalogue.inputs_of(query):
            if thing.kind == "relation":
                self.raise_heartbeat(thing, until)
                relations.close(self.database, thing, until, strict=self.strict)
        return query

    def expect(self, query: Query) -> None:
        """Parse what a query's first ticks will run, so that these need not."""
        steps = self.compiled[query.name.lower()].steps.of(FIRST)
        self.prefetcher.note(steps)
        for step in steps:
            self.database.expect(step.sql)

    # -- elements ---------------------------------------------------------------------------------

    def accept(self, thing: Input, rows: Arrival) -> Taken:
        """Take rows into an input, inside a change."""
        if self.input_buffer.take(self.clock, thing, rows):
            assert rows.known is not None
            self.took(rows.known.count)
            return Taken(rows.known.count, 0)
        done = queues.accept(self.database, self.clock, thing, rows)
        self.took(done.taken)
        if done.amends is not None:
            self._note_amendment(thing, done.amends)
        return done

    def _note_amendment(self, thing: Input, instant: int) -> None:
        """Let the queries that have gone past an instant know that a stream has changed there."""
        readers = self.catalogue.readers(thing)
        readers = [q for q in readers if q.state != EXPIRED]
        past = [q for q in readers if q.frontier is not None and q.frontier >= instant]
        for query in past:
            query.amend_from = _least(query.amend_from, instant)

    def close_beginning(self, thing: Input) -> None:
        """Let a new relation show what it has been filled with without an instant."""
        relations.close(self.database, thing, BEGINNING, strict=self.strict)

    def took(self, count: int) -> None:
        """Count elements that were taken in, for the report of the next tick."""
        self._taken += count

    def next_instant(self, thing: Input) -> int:
        """Return the instant that a change without one gets, as a raw time.

        That is the first instant after the input's heartbeat, or that of its latest pending element
        if later. Before either a relation changes at the beginning of time, a stream by the clock.
        """
        known = [self.clock.granularity * (i + (k == "heartbeat"))
                 for k, i in (("heartbeat", thing.heartbeat), ("last", thing.last_instant))
                 if i is not None]  # fmt: skip
        if known:
            return max(known)
        if thing.kind == "relation":
            return BEGINNING
        return int(wall.time() * 1_000_000) if self.clock.kind == "wall" else 0

    def shown(self, instant: int | None) -> str:
        """Return an instant as people write it."""
        return instants.shown_instant(self.clock, instant)

    def close(self) -> None:
        """Close the database; further calls are errors."""
        if self.database.owner.is_other:
            return
        with self.lock:
            if not self.closed:
                try:
                    if not self.database.in_memory:
                        self.keep_answers()
                    self.results.close()
                finally:
                    self.closed = True
                    self.database.close()
        with self.changed:
            self.changed.notify_all()


def _least(left: int | None, right: int | None) -> int | None:
    known = [x for x in (left, right) if x is not None]
    return min(known, default=None)


class _Undone(Exception):
    """Ends a change that was only made to look at what comes of it."""


def _of_the_query(error: duckdb.Error) -> duckdb.Error:
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
