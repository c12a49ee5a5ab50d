"""The engine: joins the catalogue, the rewriter and the state, and runs ticks.

Its parts, each above the next: this one joins them, keeps the settings and the time, and takes
elements in; `opening` compiles queries, and those of a database that is opened; `catching_up`
brings queries up to date that are answered when they are read; `failing` separates a query that
fails from the others; `ticking` runs ticks; `refreshing` has a query go from one plan to the other;
`reading` is before every read; `core` is what an engine holds and the frame of every change. How
registrations change is in `registration`, how queries are compiled in `compiler`, how far they can
go in `progress`, which of them wait to be read in `deferral`, and what is done after a tick, so
that nothing grows, in `housekeeping`.

The way of a row: a source makes `Arrivals` of it, `accept` has them judged and taken by the input
buffer; a tick has them settle, and runs the plan of each query up to its goal; what that writes is
in the query's log, or in the output buffer before it; `reading` is before every read.

It guarantees that a tick is one transaction: what the drop zone gave, the closing of relations'
instants, every query's statements, frontiers and bookkeeping are committed together. After a
failure the catalogue in memory is read again from the database, so the two never differ.
"""

from __future__ import annotations

import time as wall
from dataclasses import dataclass, replace

from cqlduck.compiler import Compiler
from cqlduck.engine import completeness
from cqlduck.engine.backfill import SLICE, Backfill
from cqlduck.engine.bounds import Bounds
from cqlduck.engine.deferral import Deferral
from cqlduck.engine.in_force import SettingsInForce, Values
from cqlduck.engine.opening import Opening
from cqlduck.engine.system import SystemStream
from cqlduck.errors import BindError, DatabaseError, DataError, Error
from cqlduck.housekeeping import Housekeeping
from cqlduck.progress import Progress
from cqlduck.rewrite import Compiled
from cqlduck.rewrite.text.time import BEGINNING, Instant, RawTime
from cqlduck.state import (
    amend,
    answers,
    catalog_rows,
    families,
    inspection,
    plans,
    synopses,
)
from cqlduck.state.arrivals import Arrivals
from cqlduck.state.caches import Caches
from cqlduck.state.changed import RelationChanges
from cqlduck.state.condensed import Condensed
from cqlduck.state.indexes import Indexes
from cqlduck.state.input_buffer import InputBuffer, Place
from cqlduck.state.intake import Accepted
from cqlduck.state.names import Names
from cqlduck.state.output_buffer import OutputBuffer
from cqlduck.state.prefetch import Prefetcher
from cqlduck.state.processes import OwnLock
from cqlduck.state.registered import Input, Query
from cqlduck.state.relation_buffer import RelationBuffer
from cqlduck.state.results import Results
from cqlduck.state.reusable import Tables
from cqlduck.state.tick import Tick
from cqlduck.state.ticks import TickBuffer
from cqlduck.streamon.lookups import Lookups
from cqlduck.streamon.streamon import StreaMon

SETTINGS = {
    "granularity": "1",
    "instant": "1000000",
    "window_edge": "closed",
    "recompute": "allow",
}


@dataclass
class Engine(Opening):
    """Runs continuous queries over one database."""

    def __post_init__(self) -> None:
        """Read the catalogue and compile the queries that are there."""
        base = self.database
        self.lock = OwnLock(base.owner, base.interrupts)
        self.catalogue = catalog_rows.load(base, is_empty=base.is_new)
        self.compiler = Compiler(base)
        base.participants.append(self.compiler)
        self.relation_buffer = RelationBuffer(base, self.may_wait)
        self.input_buffer = InputBuffer(base, self.catalogue, self.relation_buffer)
        self.tick_buffer = TickBuffer(base)
        self.output_buffer = OutputBuffer(base)
        self.prefetcher = Prefetcher(base)
        self.last_changes = RelationChanges(base)
        self.names = Names(base, self.last_changes)
        self.tables = Tables(base)
        self.caches = Caches(base, self.catalogue)
        self.indexes = Indexes(base, self.catalogue)
        self.condensed = Condensed(base, self.catalogue)
        self.tick = Tick(
            base,
            self.catalogue,
            self.names,
            self.prefetcher,
            self.tables,
            self.output_buffer,
            self.caches,
            self.indexes,
        )
        self.progress = Progress(self.catalogue, self.compiled, base.in_memory)
        known = base, self.catalogue, self.compiled, self.progress, self.input_buffer
        self.bounds = Bounds(*known, self.max_tick)
        slices = Bounds(*known, min(self.max_tick, SLICE))
        self.backfill = Backfill(self.catalogue, self.progress, slices)
        self.deferral = Deferral(base, self.catalogue, self.compiled, self.on_tick)
        self.results = Results(base)
        self.housekeeping = Housekeeping(
            base,
            self.catalogue,
            self.compiled,
            self.output_buffer,
            self.input_buffer,
            self.progress,
            self.results,
            self.caches,
            self.condensed,
            self.history,
            self.standing,
        )
        self.ticks = catalog_rows.last_tick(base)
        self.streamon = StreaMon(base, self.compiled, adapts=self.adaptive)
        self.streamon.executor.number = self.ticks + 1
        self.lookups = Lookups(base, self.streamon.executor, self.indexes)
        watched = self.compiled, self.streamon.profiler
        self.system = SystemStream(self.catalogue, self.input_buffer, *watched)
        self.streamon.is_watched = self.system.measures
        self.settings = SettingsInForce(base, self._set)
        self.configure(self.wanted)
        self.open_queries()
        self.kept = self.savepoint()
        base.participants.append(self)

    # -- settings and time ------------------------------------------------------------------------

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
            catalog_rows.choose(self.database, self.catalogue, missing)

    def _set(self, values: Values) -> None:
        """Put settings of the connection into force, from the next tick on."""
        self.streamon.executor.adapts = bool(values["adaptive"])
        history = values["history"]
        self.history = self.housekeeping.history = None if history is None else str(history)
        self.max_tick = self.bounds.max_tick = int(str(values["max_tick"]))
        self.backfill.bounds.max_tick = min(self.max_tick, SLICE)
        self.kept_records = int(str(values["records"]))
        self.standing = self.housekeeping.standing = str(values["standing"])
        self.strict = bool(values["strict"])
        self.refuses_unbounded = values["unbounded"] == "refuse"
        if self.sharing != values["sharing"]:
            self.sharing = bool(values["sharing"])
            # of queries that were registered while it was off nothing is noted
            self.shareable.shapes = self.shareable.meetings = None

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
        catalog_rows.choose(self.database, self.catalogue, {"time": kind})
        if kind == "wall":
            for query in self.catalogue.running:
                self._plan_anew(query)

    def _plan_anew(self, query: Query) -> None:
        """Compile a query that was compiled while the kind of time was open, and has no state yet.

        Its plan, its synopses and the types of its columns may depend on the kind of time.

        Raises:
            BindError: It does not fit the kind of time.
        """
        try:
            compiled = self.recompile(query)
        except Error as error:
            name = ", ".join(one.name for one in self.catalogue.members_of(query)) or query.name
            raise BindError(
                f"the continuous query {name} was made for time in integers: {error.message}",
                hint=f"DROP CONTINUOUS QUERY {name}, and make it anew for wall-clock time",
            ) from error
        self.erase(query)
        query.columns = compiled.columns
        self.write(query, compiled)
        kinds = {column.name: column for column in compiled.columns}
        for member in self.catalogue.members_of(query):
            pairs = zip(member.projected, member.columns, strict=True)
            member.columns = tuple(replace(kinds[name], name=c.name) for name, c in pairs)
            catalog_rows.move(self.database, member)
            answers.create_member(self.database, self.clock, member)
        for one in (query, *self.catalogue.members_of(query)):
            self.condensed.renew(one)

    # -- what the database has of a query ---------------------------------------------------------

    def write(self, query: Query, compiled: Compiled, *, has_log: bool = False) -> None:
        """Write the row, plan, synopses and answer of a query of the catalogue, inside a change.

        Args:
            query: The query.
            compiled: Its plan.
            has_log: Whether it goes on with the log of the query that it replaces.
        """
        base, self.compiled[query.name.lower()] = self.database, compiled
        plans.save(base, query.name, compiled)
        synopses.create(base, query.name, compiled)
        answers.create(base, self.clock, query, compiled.answer, has_log=has_log)
        if has_log:
            # it may have elements, which history forgets too
            self.output_buffer.store(query)
            self.condensed.renew(query)
        for read in self.condensed.read_by(query):
            self.condensed.create(read)
        if query.kind == "stream" and self.catalogue.amends(query):
            amend.create(base, query)
        catalog_rows.insert(base, query)
        inspection.refresh(base, self.catalogue, query)
        inspection.write_stubs(base, query, self.stubs(query))

    def erase(self, query: Query, *, keep_log: bool = False) -> None:
        """Delete all that `write` has written, or all but the log, inside a change."""
        base = self.database
        answers.drop(base, query, keep_log=keep_log)
        plans.drop(base, query.name)
        synopses.drop(base, query.name)
        catalog_rows.delete(base, query)
        inspection.delete_stubs(base, query)
        self.tables.drop(query.name)
        self.streamon.forget(query.name)
        self.caches.forget(query.name)
        self.indexes.forget(query.name)
        self.backfill.recount()
        self.both.pop(query.name.lower(), None)
        self.unfit_to_refresh.pop(query.name, None)
        self.shareable.forget(query.number)

    def explain(self, query: Query, notes: str = "") -> str:
        """Return the plan of a query, and the statements that run by what is chosen.

        Args:
            query: The query.
            notes: What else is to be said between them.
        """
        planned = self.planned(query)
        forms, chosen = self.streamon.shown.forms(planned.name), self.streamon.notes(planned.name)
        said = (
            chosen,
            self.why_it_stays(planned),
            self.when_it_is_answered(planned),
            completeness.said(query, self.shown),
            self.backfill.said(planned, self.shown),
            notes,
        )
        both = "\n\n".join(filter(None, said))
        plan = self.compiled[query.planned_by].explain(forms, both)
        if planned is query:
            return plan
        wide = self.shareable.unmerged.get((planned.number, planned.number))
        known = families.said(self.catalogue, query)
        if wide is not None:
            known += f"\n--   it shows more than is asked of it: {wide}"
        return f"{known}\n\n{plan}"

    # -- elements ---------------------------------------------------------------------------------

    def may_wait(self, thing: Input) -> bool:
        """Return whether elements of a relation may lie in memory until their instants close."""
        return self.arrivals_place(thing) is Place.QUEUE

    def accept(self, thing: Input, rows: Arrivals) -> Accepted:
        """Take rows into an input, inside a change."""
        done = self.input_buffer.accept(thing, rows)
        self._taken += done.taken
        if done.amends is not None:
            self._note_amendment(thing, done.amends)
        return done

    def _note_amendment(self, thing: Input, instant: Instant) -> None:
        """Let the queries that have gone past an instant know that a stream has changed there."""
        readers = self.catalogue.live_readers(thing)
        past = [q for q in readers if q.frontier is not None and q.frontier >= instant]
        for query in past:
            if query.amend_from is None or instant < query.amend_from:
                query.amend_from = instant

    def close_beginning(self, thing: Input) -> None:
        """Let a new relation show what it has been filled with without an instant."""
        self.close_relation(thing, BEGINNING)

    def next_raw_time(self, thing: Input) -> RawTime:
        """Return the raw time that a change without one gets.

        That is the first instant after the input's heartbeat, or that of its latest element, with
        an effect or without, if later. Before either a relation changes at the beginning of time,
        a stream by the clock.
        """
        known = [self.clock.granularity * (i + (k == "heartbeat"))
                 for k, i in (("heartbeat", thing.heartbeat), ("last", thing.last_instant))
                 if i is not None]  # fmt: skip
        if known:
            return RawTime(max(known))
        if thing.kind == "relation":
            return RawTime(BEGINNING)
        return RawTime(int(wall.time() * 1_000_000) if self.clock.kind == "wall" else 0)

    def close(self) -> None:
        """Close the database; further calls are errors."""
        if self.database.owner.is_other:
            return
        with self.lock:
            if not self.closed:
                try:
                    if not self.database.in_memory:
                        self.streamon.closing()
                        self.flush(everything=True)
                        self.keep_answers()
                    self.results.close()
                finally:
                    self.closed = True
                    self.database.close()
        with self.changed:
            self.changed.notify_all()
