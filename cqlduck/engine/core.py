"""What an engine holds, and the frame of every change.

A change is a transaction. What lies in memory beside the database takes part in it
(`state.running`); so does the engine with its plans and its catalogue, which is read again after a
failure.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from cqlduck import arguments, failures
from cqlduck.compiler import Compiler
from cqlduck.engine.backfill import Backfill
from cqlduck.engine.bounds import MAX_TICK, Bounds
from cqlduck.engine.deferral import Deferral
from cqlduck.engine.in_force import SettingsInForce
from cqlduck.engine.shareable import Shareable
from cqlduck.engine.system import SystemStream
from cqlduck.errors import TOLD, CatalogError, DatabaseError, Error
from cqlduck.housekeeping import STANDING, Housekeeping
from cqlduck.progress import Progress
from cqlduck.rewrite import Compiled
from cqlduck.rewrite.physical.form import Form
from cqlduck.rewrite.statements.steps import OperatorRow, Steps
from cqlduck.rewrite.text.names import SYSTEM, bare
from cqlduck.rewrite.text.spelling import suggestion
from cqlduck.rewrite.text.time import Clock, Instant
from cqlduck.state import catalog_rows, instants, machine, plans, records
from cqlduck.state.catalog import Catalogue
from cqlduck.state.connection import Database
from cqlduck.state.input_buffer import InputBuffer
from cqlduck.state.output_buffer import OutputBuffer
from cqlduck.state.processes import OwnLock
from cqlduck.state.registered import WAITS, Input, Query
from cqlduck.state.relation_buffer import RelationBuffer
from cqlduck.state.results import Results
from cqlduck.state.ticks import TickBuffer
from cqlduck.streamon.lookups import Lookups
from cqlduck.streamon.streamon import StreaMon
from cqlduck.subscription import ChangeSignal

log = logging.getLogger("cqlduck")


@dataclass(frozen=True)
class TickReport:
    """What a tick did: for progress displays and `on_tick`."""

    until: Instant
    elements_in: int
    elements_out: int
    seconds: float


@dataclass(frozen=True)
class Savepoint:
    """What an engine held at the end of a change, to which it returns if the next is undone.

    Attributes:
        compiled: The queries' statements, by lower-case name.
        taken: How many elements had been taken since the last tick.
        elements_in: How many ticks had taken in.
        ticks: How many ticks there had been.
        seen: As in `Progress`.
        left: As in `Housekeeping`.
    """

    compiled: Mapping[str, Compiled]
    taken: int
    elements_in: int
    ticks: int
    seen: Mapping[str, int]
    left: Mapping[str, Instant | None]


def _nothing() -> None:
    """Do nothing between ticks."""


@dataclass
class Core:
    """What an engine holds."""

    database: Database
    adaptive: bool = True
    max_tick: int = MAX_TICK
    strict: bool = False
    refuses_unbounded: bool = False
    sharing: bool = True
    history: str | None = None
    kept_records: int = records.MAX_RECORDS
    standing: str = STANDING
    wanted: dict[str, str] = field(default_factory=dict)
    catalogue: Catalogue = field(init=False)
    compiled: dict[str, Compiled] = field(default_factory=dict)
    lock: OwnLock = field(init=False)
    closed: bool = False
    compiler: Compiler = field(init=False)
    input_buffer: InputBuffer = field(init=False)
    relation_buffer: RelationBuffer = field(init=False)
    output_buffer: OutputBuffer = field(init=False)
    tick_buffer: TickBuffer = field(init=False)
    results: Results = field(init=False)
    progress: Progress = field(init=False)
    housekeeping: Housekeeping = field(init=False)
    streamon: StreaMon = field(init=False)
    lookups: Lookups = field(init=False)
    system: SystemStream = field(init=False)
    bounds: Bounds = field(init=False)
    deferral: Deferral = field(init=False)
    backfill: Backfill = field(init=False)
    settings: SettingsInForce = field(init=False)
    on_tick: list[Callable[[TickReport], None]] = field(default_factory=list)
    ticks: int = 0
    elements_in: int = 0
    """How many elements ticks have taken in, as this process has seen."""
    changed: ChangeSignal = field(default_factory=ChangeSignal)
    _taken: int = 0
    _before: dict[str, int] = field(default_factory=dict)
    """Of queries: their frontiers before their last ticks."""
    _ticked: list[catalog_rows.Ticked] = field(default_factory=list)
    """The ticks that the change has run, to be written with it."""
    _is_stale: bool = False
    """Whether the catalogue is to be read again, because a change was undone that had read it."""
    _listening: int | None = None
    """The thread in which a listener runs, if one does."""
    _still: int | None = None
    """The thread that holds the engine still for several calls, if one does."""
    failed: list[Error] = field(default_factory=list)
    """What is still to be told of queries that failed, and of ticks that had no room."""
    pending: dict[str, tuple[int, int | None]] = field(default_factory=dict)
    """Of relations: the next number when what is pending was looked at, and its first instant."""
    kept: Savepoint = field(default_factory=lambda: Savepoint({}, 0, 0, 0, {}, {}))
    """What it held at the end of the last change."""
    shareable: Shareable = field(default_factory=Shareable)
    between_ticks: Callable[[], None] = _nothing
    """What is done before each tick, as a change of its own."""
    _written: Mapping[str, tuple[Steps, int]] = field(default_factory=dict)
    """How many forms each plan had when they were stored last."""

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
        """Hold the engine still while the block runs, and let signals wait.

        Raises:
            DatabaseError: The database is closed, or there is no room to go on with it.
        """
        with self.database.interrupts.deferred, self.lock:
            self._make_usable()
            yield

    @contextlib.contextmanager
    def still(self) -> Iterator[None]:
        """Hold the engine still for several calls of this thread: no tick comes between them."""
        with self.lock:
            before, self._still = self._still, threading.get_ident()
            try:
                yield
            finally:
                self._still = before

    def give_way(self) -> bool:
        """Let threads that wait for the engine have it between two ticks of a call.

        Returns:
            Whether there were some: what is registered may be other than before.

        Raises:
            DatabaseError: One of them has closed the database.
        """
        if self.database.depth or not self.lock.give_way():
            return False
        self._make_usable()
        return True

    def _make_usable(self) -> None:
        """Be ready for a call, which holds the lock.

        Raises:
            DatabaseError: The database is closed, or there is no room to go on with it.
        """
        if self.closed:
            self.refuse_closed()
        if not self.database.depth:
            if self.database.is_invalid:
                self._attach_again()
            elif self._is_stale:
                self._read_again()

    def _attach_again(self) -> None:
        """Attach the file anew after a checkpoint of it failed.

        Raises:
            DatabaseError: There is still no room for it.
        """
        with self.database.interrupts.settling:
            self.database.reattach()
            self._read_again()

    @contextlib.contextmanager
    def changing(self) -> Iterator[None]:
        """One change at a time, in a transaction; after a failure the engine is as it was."""
        with self.opened():
            stored: Sequence[tuple[Steps, Form]] = ()
            with self.database.transaction() as is_outermost:
                yield
                if is_outermost:
                    with self.database.part("catalogue"):
                        stored = self._end_change()
            for steps, form in stored:
                steps.note(form)
            if is_outermost:
                self.kept = self.savepoint()
                self._written = plans.written(self.compiled)

    def _end_change(self) -> Sequence[tuple[Steps, Form]]:
        """Write what a change leaves in memory; return the statements that are written with it."""
        if self.database.recorded:
            records.cut(self.database, self.kept_records)
        stored: Sequence[tuple[Steps, Form]] = ()
        written = plans.written(self.compiled)
        if written != self._written:
            stored = plans.save_statements(self.database, self.compiled)
        may_wait = self.database.in_memory and not self.on_tick
        buffer = self.tick_buffer
        rows, waiting = catalog_rows.save(
            self.database,
            self.catalogue,
            self.ticks,
            self._ticked,
            buffer.inputs,
            may_wait=may_wait,
        )
        buffer.add(rows, waiting, may_wait=may_wait)
        has_news = self.streamon.executor.has_news
        if not may_wait and (has_news or written != self.streamon.shown.written):
            self.streamon.flush()
        self.ticks += len(self._ticked)
        self._ticked.clear()
        return stored

    def savepoint(self) -> Savepoint:
        """Return what it holds, for `roll_back`."""
        return Savepoint(
            dict(self.compiled),
            self._taken,
            self.elements_in,
            self.ticks,
            dict(self.progress.seen),
            dict(self.housekeeping.left),
        )

    def roll_back(self, kept: Savepoint) -> None:
        """Hold again what it held when a transaction began that is undone."""
        self._is_stale = True
        self._taken, self.elements_in, self.ticks = kept.taken, kept.elements_in, kept.ticks
        self._ticked.clear()
        self.streamon.executor.number = self.ticks + 1
        self.compiled.clear()
        self.compiled.update(kept.compiled)
        self.shareable.undone()
        self.recount()
        self.progress.seen.update(kept.seen)
        self.housekeeping.left.clear()
        self.housekeeping.left.update(kept.left)
        self.housekeeping.recount()
        self._read_again()

    def _read_again(self) -> None:
        """Read the catalogue from the database; later, where that has to be attached anew first."""
        self.tick_buffer.flush()
        if not self.database.is_invalid:
            self.catalogue.restore(catalog_rows.load(self.database))
            self._is_stale = False

    def recount(self) -> None:
        """Forget what was counted of inputs; it is counted again when it is asked for."""
        self.bounds.recount()
        self.progress.recount()
        self.deferral.recount()
        self.backfill.recount()
        self.pending.clear()
        self.shareable.meetings = None

    # -- names ------------------------------------------------------------------------------------

    @property
    def clock(self) -> Clock:
        """The clock of the database."""
        return self.catalogue.clock

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
                    hint="name a stream or relation that it reads",
                )
            known = [i.name for i in self.catalogue.inputs.values()]
            raise CatalogError(
                f"there is no stream or relation {name}",
                hint=suggestion(name, known, "there are"),
            )
        if found is self.catalogue.system:
            raise CatalogError(
                f"{SYSTEM} is cqlduck's own: ticks say there what operators did",
                hint="read it in a continuous query",
            )
        return found

    def pin(self, point: str, option: str | None, owner: str | None) -> None:
        """Have an option run at points of choice; inside a change.

        Raises:
            CatalogError: There is no such owner.
            Error: There is no such point, or it has no such option.
        """
        if owner is not None:
            known: dict[str, Input | Query] = {**self.catalogue.inputs, **self.catalogue.queries}
            found = known.get(bare(arguments.name(owner)).lower())
            if found is None:
                names = [one.name for one in known.values()]
                raise CatalogError(
                    f"there is no stream, relation or query {owner}",
                    hint=suggestion(owner, names, "there are"),
                )
            owner = found.name
            if isinstance(found, Query) and found.family is not None:
                owner = found.family
        self.streamon.pin(point, option, owner)
        # what was pinned may be merged from now on
        self.shareable.meetings = None

    def query(self, name: str) -> Query:
        """Return a continuous query.

        Raises:
            CatalogError: There is none of this name.
        """
        found = self.catalogue.queries.get(name.lower()) if isinstance(name, str) else None
        if found is None:
            arguments.name(name)
            found = self.catalogue.queries.get(bare(name).lower())
        if found is None:
            known = [q.name for q in self.catalogue.queries.values()]
            hint = suggestion(name, known, "there are")
            if name.lower() in self.catalogue.inputs:
                hint = f"{name} is a stream or relation; look at it with sql('FROM {name}')"
            raise CatalogError(f"there is no continuous query {name}", hint=hint)
        return found

    def planned(self, query: Query) -> Query:
        """Return the query whose plan computes a query: itself, or its family."""
        return self.catalogue.family_of(query) or query

    def missing_function(self, query: Query) -> str | None:
        """Return a function that a query calls and that is not registered, or None."""
        return self.database.functions.missing(self.catalogue.functions_of(query))

    def active_state(self, query: Query) -> str:
        """Return the state of a query that is to go on: active, or it waits for a function."""
        missing = self.missing_function(query)
        return "active" if missing is None else WAITS + missing

    def operators(self, name: str) -> Sequence[OperatorRow]:
        """Return the operators of a query's plan; none if there is no such query."""
        found = self.compiled.get(name.lower())
        return () if found is None else found.operators

    def frontier(self) -> Instant | None:
        """Return the least frontier of the active queries, or None."""
        known = [q.closed_to for q in self.catalogue.queries.values() if q.state == "active"]
        if not known or any(f is None for f in known):
            return None
        return min(f for f in known if f is not None)

    def raise_heartbeat(self, thing: Input, instant: Instant) -> None:
        """Promise that no element at or before an instant is still to come to an input."""
        if thing.heartbeat is None or instant > thing.heartbeat:
            thing.heartbeat = instant

    def shown(self, instant: Instant | None) -> str:
        """Return an instant as people write it."""
        return instants.shown_instant(self.clock, instant)

    # -- what is refused, and told later ----------------------------------------------------------

    def refuse_failed(self, query: Query) -> None:
        """Refuse to show what a query will never say, because it failed, or one below it.

        Raises:
            QueryError: It says at which instant, because of which row, and why.
        """
        if query.state != "active" or self.catalogue.reading.stopped.get(query.name):
            error = failures.refusal(self.catalogue, query)
            if error is not None:
                raise error

    def tell(self, error: Error) -> None:
        """Have the caller told of something that went on all the same, and the log."""
        log.warning("%s", error.message, extra={TOLD: True})
        self.failed.append(error)

    def new_failures(self) -> list[Error]:
        """Return what is to be told of failed queries and ticks since this was asked last."""
        told, self.failed = self.failed, []
        return told

    def refuse_in_listener(self, call: str) -> None:
        """Refuse what cannot be done from inside a listener: its tick is not at its end.

        Raises:
            DatabaseError: It is called from a listener, or as `refuse_inside` says.
        """
        self.refuse_inside()
        if self.is_listening:
            raise DatabaseError(
                f"{call} is called by a listener, inside of a tick that waits for the listener",
                hint="a listener may read answers by table(), arrow(), changes() and as_of(); note "
                "what else is to be done, and do it after the call, or in another thread",
            )

    @property
    def is_listening(self) -> bool:
        """Whether a listener runs in this thread, at the end of a tick that is not committed."""
        return self._listening == threading.get_ident()

    def refuse_inside(self, *, is_call: bool = True) -> None:
        """Refuse a call from inside another one of the same thread, in the middle of which it is.

        Args:
            is_call: Whether it takes its turn; who holds the lock may look at the engine.

        Raises:
            DatabaseError: It is from a user's function, for which a statement waits, from a trace
                hook, from the handler of a signal that came into a call, or from what Python runs
                wherever it likes: `__del__`, the callback of a weak reference, a profiler's.
        """
        inside = self.database.interrupts.inside
        if inside is not None:
            raise DatabaseError(
                f"{inside} calls the connection, in the middle of a call that it waits for",
                hint="note there what is to be done, and do it after that call; a handler may also "
                "raise, or close(): then the call is undone",
            )
        is_let_in = self.is_listening or self._still == threading.get_ident()
        if is_call and self.lock.is_mine and not is_let_in:
            raise DatabaseError(
                "the connection is called in the middle of another call of the same thread",
                hint="as by a __del__, or the callback of a weak reference: note there what is to "
                "be done, and do it after that call",
            )
        name = self.database.functions.calling() if self.catalogue.functions else None
        if name is not None:
            raise DatabaseError(
                f"the function {name} calls the connection, and a statement waits for the function",
                hint="a function gives a value for its arguments; pass it what it needs, or join",
            )

    def may_return(self, error: BaseException) -> bool:
        """Return whether a call that has committed what it was for returns in spite of an error.

        Whoever calls it again would take in the same rows a second time. So an interruption waits
        for its end, and of what the machine did to the ticks that follow there is a warning; they
        run with the next call. If another thread has closed the database between two of them, they
        run when it is opened again.
        """
        if self.database.interrupts.postpone(error) or self.closed:
            return True
        if isinstance(error, Error) and machine.is_told(error):
            log.warning("the rows are committed, but not all ticks have run: %s", error.message)
            self.failed.append(error)
            return True
        return False
