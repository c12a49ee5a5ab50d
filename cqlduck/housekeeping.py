"""Housekeeping: work after a tick, or outside of ticks, that keeps stores and logs small.

No answer depends on it. Its counts may be lost at any time: they only say when work is due.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass, field

from cqlduck.progress import Progress
from cqlduck.rewrite import Compiled
from cqlduck.rewrite.physical.statement import Synopsis
from cqlduck.rewrite.text.shapes import MEMBER
from cqlduck.rewrite.text.time import Duration, Instant, parse_duration
from cqlduck.state import amend, answers, catalog_rows, families, netting, retention
from cqlduck.state.caches import Caches
from cqlduck.state.catalog import Catalogue
from cqlduck.state.condensed import Condensed
from cqlduck.state.connection import Database, quoted
from cqlduck.state.input_buffer import InputBuffer
from cqlduck.state.output_buffer import OutputBuffer
from cqlduck.state.registered import EXPIRED, Input, Query
from cqlduck.state.results import Results
from cqlduck.state.tick_plan import Ran

CUT_RATIO = 5
"""Of a stream's store, at least one in so many parts of the time that it covers is cut at once."""

STANDING = "1 day"
"""How long inputs are kept for a query that stands still, by default."""

log = logging.getLogger("cqlduck")


@dataclass
class Housekeeping:
    """Keeps answers, stores and logs small.

    Attributes:
        database: The database, inside the tick's transaction.
        catalogue: What is registered.
        compiled: The queries' statements, by lower-case name.
        output_buffer: The ends of the logs.
        input_buffer: The queues of the streams.
        progress: How far queries could go.
        results: What is read from the logs without a copy.
        caches: The caches of joins.
        condensed: The condensed logs.
        history: How long changes of answers are kept, where a query does not say.
        standing: How long inputs are kept for a query that stands still; or 'unbounded'.
        trace_room: How many rows come at least before a trace or a cache is cut again.
        tails: How many elements of a query's answer are not in what is kept of it yet, as far as
            they have been counted.
        lost: Of queries, the last instant of an element that history has let go of, for those who
            subscribe; it may be of a change that was undone.
    """

    database: Database
    catalogue: Catalogue
    compiled: dict[str, Compiled]
    output_buffer: OutputBuffer
    input_buffer: InputBuffer
    progress: Progress
    results: Results
    caches: Caches
    condensed: Condensed
    history: str | None = None
    standing: str = STANDING
    trace_room: int = retention.TRACE
    tails: dict[str, int] = field(default_factory=dict)
    lost: dict[str, int] = field(default_factory=dict)
    left: dict[str, Instant | None] = field(default_factory=dict)
    """Of families of which members have left: the instant at which what they had ends."""
    _compacted: dict[str, int] = field(default_factory=dict)
    _counted: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Of relations: how many rows the store had at most at a number, and that number."""
    _added: dict[str, int] = field(default_factory=dict)
    """How many rows came to tables since they were looked at, by table."""
    _room: dict[str, int] = field(default_factory=dict)
    """How many rows may come to a log before it is worth a look at how long it is."""

    def opened(self) -> None:
        """Look once what members have left in the families that a file has."""
        for family in self.catalogue.families.values():
            constants = self.catalogue.constants_of(family)
            if constants is not None:
                self.left[family.name] = constants.last_instant

    def ran(self, query: Query, done: Ran) -> None:
        """Take note of what a query wrote."""
        if query.name in self.tails:
            self.tails[query.name] += done.elements
        self.condensed.ran(query, done.elements)
        for table, rows in done.added.items():
            self._added[table] = self._added.get(table, 0) + rows

    def recount(self) -> None:
        """Forget what was counted, because a change has been undone."""
        self.tails.clear()
        self.condensed.recount()
        self._room.clear()
        self._added.clear()
        self._counted.clear()

    def dropped(self, query: Query) -> None:
        """Forget a query, or a family: another one may have its name."""
        self.tails.pop(query.name, None)
        self.left.pop(query.name, None)
        self._room.clear()
        self._added.clear()

    def may_be_outweighed(self, query: Query) -> bool:
        """Return whether a query has a kept answer, which the elements since may outweigh."""
        held = self.compiled[query.name.lower()].answer
        return query.kind == "relation" and held is None and query.frontier is not None

    def outweighed(self, queries: Iterable[Query]) -> list[Query]:
        """Return the queries whose kept answers are to be written anew."""
        return [query for query in queries if self._is_outweighed(query)]

    def _is_outweighed(self, query: Query) -> bool:
        if not self.may_be_outweighed(query):
            return False
        tail = self.tails.get(query.name)
        if tail is None:
            tail = self.tails[query.name] = answers.tail_of(self.database, query)
        return answers.is_outweighed(self.database, query, tail)

    def keep_answer(self, query: Query) -> None:
        """Write a query's kept answer anew, inside a change."""
        with self.database.part("answers"):
            answers.keep(self.database, self.catalogue.clock, query)
        self.tails[query.name] = 0

    def finish(self, moved: list[Query]) -> None:
        """Keep histories, stores and logs small; what has nothing to do is not called."""
        with self.database.part("retention"):
            for query in moved:
                if query.name in self.left:
                    self._forget_members(query)
                if query.keep is not None or self.history is not None:
                    self._forget_history(query)
                kept = self.compiled[query.name.lower()].synopses
                for synopsis in (*kept, *self.caches.of(query.name)):
                    if synopsis.is_log or synopsis.reach is not None or synopsis.has_lifetimes:
                        came = self._added.pop(synopsis.name, 0)
                        room = self._room[synopsis.name] = self._room.get(synopsis.name, 0) - came
                        if room <= 0 and query.frontier is not None:
                            self._shorten(query, synopsis, query.frontier)
            queries = (*self.catalogue.queries.values(), *self.catalogue.families.values())
            stand = [q for q in queries if q.state != "active"]
            if stand:
                self._expire()
            if moved or any(q.state == EXPIRED for q in stand):
                self._forget()
            if moved:
                self.condensed.finish()

    def _forget_members(self, family: Query) -> None:
        """Delete from the log of a family what members had that have left."""
        ends = self.left[family.name]
        if ends is not None and (family.frontier is None or family.frontier < ends):
            return
        del self.left[family.name]
        numbers = [one.member for one in self.catalogue.members_of(family)]
        names = [family.changes]
        if family.kind == "relation" and self.compiled[family.name.lower()].answer is None:
            names.append(family.answer)
        for name in names:
            self.results.keep(name)
            self.database.execute(
                f"DELETE FROM cql_state.{quoted(name)} WHERE NOT list_contains(?, {MEMBER})",
                [numbers],
            )
        self.tails.pop(family.name, None)

    def expiring(self) -> list[Query]:
        """Return the queries that have stood still for longer than `standing`."""
        queries = (*self.catalogue.queries.values(), *self.catalogue.families.values())
        if not any(q.state not in ("active", EXPIRED) for q in queries):
            return []
        standing = self._instants(self.standing)
        return [query for query in queries if self.progress.expires(query, standing)]

    def _expire(self) -> None:
        """Let go of what is kept for queries that stand still."""
        for query in self.expiring():
            self.catalogue.turn(query, EXPIRED)
            if query.family is not None:
                catalog_rows.move(self.database, query)
            if query.shape is not None:
                continue
            log.warning(
                "%s has stood still for longer than %s; what its inputs had since is no longer "
                "kept for it",
                query.name,
                self.standing,
            )

    def _instants(self, kept: str | None) -> Duration | None:
        """Return a duration in instants, or None if it has no bound."""
        if kept is None or kept == "unbounded":
            return None
        return self.catalogue.clock.instants(parse_duration(kept))

    def _forget(self) -> None:
        """Keep the stores of inputs small."""
        inputs, reading = self.catalogue.inputs.values(), self.catalogue.reading
        earliest = min((i.heartbeat for i in inputs if i.heartbeat is not None), default=None)
        system = self.catalogue.system
        if earliest is None or any(i.heartbeat is None for i in inputs if i is not system):
            return
        for thing in inputs:
            if thing.kind == "relation":
                # rows of the store have numbers: it has no more than these, but for what was
                # pending
                counted, number = self._counted.get(thing.name, (0, 0))
                most = max(retention.RELATION, 2 * self._compacted.get(thing.name, 0))
                if counted + thing.next_seq - number > most:
                    self._compact_relation(thing, earliest, most)
            elif thing.first_instant is not None and earliest >= thing.first_instant:
                readers = self.catalogue.live_readers(thing)
                if any(reading.amending[q.name] for q in readers):
                    continue
                until = self._needed_after(thing, readers, earliest)
                if until is None:
                    continue
                if thing.name in self.input_buffer.kept:
                    self.input_buffer.forget(thing, until)
                    continue
                assert thing.last_instant is not None
                start = thing.first_instant - 1 if thing.forgotten is None else thing.forgotten
                if until > start and CUT_RATIO * (until - start) >= thing.last_instant - start:
                    retention.forget(self.database, thing, until)

    def _needed_after(
        self, thing: Input, readers: list[Query], earliest: Instant
    ) -> Instant | None:
        """Return up to which instant nobody needs a stream's rows any more, or None.

        Args:
            thing: The stream, which has a first instant.
            readers: The queries that read it.
            earliest: The least heartbeat of all inputs.
        """
        until = earliest
        for query in readers:
            span = self.compiled[query.name.lower()].spans.get(thing.name, 0)
            if span is None or query.frontier is None:
                return None
            until = min(until, Instant(query.frontier - span - 1))
        return None if thing.first_instant is None or until < thing.first_instant else until

    def _compact_relation(self, thing: Input, earliest: Instant, most: int) -> None:
        """Forget the tuples of a relation that no query will see leave any more, if it is large."""
        rows = int(self.database.value(f"SELECT count(*) FROM cql_state.{quoted(thing.table)}"))
        self._counted[thing.name] = rows, thing.next_seq
        readers = self.catalogue.live_readers(thing)
        frontiers = [q.frontier for q in readers if q.frontier is not None]
        if rows <= most or len(frontiers) < len(readers):
            return
        if any(self.catalogue.amends(q) for q in readers):
            return
        retention.forget_ended(self.database, thing, min([earliest, *frontiers]))
        left = int(self.database.value(f"SELECT count(*) FROM cql_state.{quoted(thing.table)}"))
        self._compacted[thing.name] = left
        self._counted[thing.name] = left, thing.next_seq

    def _forget_history(self, query: Query) -> None:
        span = self._instants(query.keep if query.keep is not None else self.history)
        if span is None or query.frontier is None:
            return
        readers = self.catalogue.live_readers(query)
        until = Instant(query.frontier - span)
        for reader in readers:
            spans = self.compiled[reader.name.lower()].spans
            names = [query.name, *(member.name for member in self.catalogue.members_of(query))]
            reaches = [spans.get(name, 0) for name in names]
            reach = None if None in reaches else max(r for r in reaches if r is not None)
            if reader.frontier is None or reach is None or self.catalogue.amends(reader):
                return
            until = min(until, Instant(reader.frontier - max(span, reach + 1)))
        for member in self.catalogue.members_of(query):
            if member.state != "active":
                if member.frontier is None:
                    return
                until = min(until, Instant(member.frontier - span))
        start = query.history_from if query.history_from is not None else query.begin_instant
        if start is None or until <= start + max(span // 4, 1):
            return
        self._note_lost(query, until)
        for one in (query, *self.catalogue.members_of(query)):
            self.condensed.forgets(one, until)
        if query.kind == "stream" and self.catalogue.amends(query):
            amend.set_aside(self.database, query, until)
        query.history_from = until
        for member in self.catalogue.members_of(query):
            had_before, start = member.has_before, member.history_from
            families.bound_history(query, member)
            if had_before and not member.has_before:
                self._forget_before(member, start)
            if member.state != "active":
                # what ticks move of the others is stored with the family
                catalog_rows.move(self.database, member)
        if self.output_buffer.forget(query, until):
            for name in (query.changes, *(m.changes for m in self.catalogue.members_of(query))):
                self.results.keep(name)
            answers.forget_history(
                self.database,
                self.catalogue.clock,
                query,
                self.compiled[query.name.lower()].answer,
                until,
            )
            self.tails.pop(query.name, None)

    def _forget_before(self, member: Query, start: Instant | None) -> None:
        """Let go of the log that a member had before it was merged into its family.

        Args:
            member: The member.
            start: Where its history began: what stands there is no change.
        """
        self.results.keep(member.changes)
        self.condensed.reset(member)
        since = "" if start is None else f" WHERE _ts > {start}"
        log = f"cql_state.{quoted(member.before)}"
        last = self.database.value(f"SELECT max(_ts) FROM {log}{since}")
        if last is not None:
            self.lost[member.name] = int(last)
        answers.drop_before(self.database, self.catalogue.clock, member)

    def lost_of(self, query: Query) -> int | None:
        """Return the last instant of an element of a query that history has let go of, if any.

        Of a family it is known of all members together, of a merged one from its own log, too.
        """
        known = [self.lost.get(query.name)]
        family = self.catalogue.family_of(query)
        if family is not None:
            lost = self.lost.get(family.name)
            is_after = lost is not None and (query.merged_at is None or lost > query.merged_at)
            known.append(lost if is_after else None)
        return max((at for at in known if at is not None), default=None)

    def _note_lost(self, query: Query, until: Instant) -> None:
        """Note the last element up to an instant, which history is about to let go of."""
        last = self.output_buffer.last(query, until)
        if last is None and self.output_buffer.has_log(query):
            last = answers.last_of(self.database, query, until)
        if last is not None:
            self.lost[query.name] = last

    def _shorten(self, query: Query, synopsis: Synopsis, frontier: Instant) -> None:
        """Keep a trace or cache short, and see how much may come before it is worth a look."""
        if synopsis.is_log:
            self._compact(synopsis, frontier)
        elif synopsis.has_lifetimes:
            left = retention.forget_left(self.database, synopsis.name, frontier)
            self._room[synopsis.name] = max(self.trace_room, left)
        elif synopsis.reach is not None and not self.catalogue.amends(query):
            until = Instant(frontier - synopsis.reach - 1)
            left = retention.forget_trace(self.database, synopsis.name, until)
            self._room[synopsis.name] = max(self.trace_room, left)

    def _compact(self, synopsis: Synopsis, frontier: Instant) -> None:
        """Make a log of a query's state net if it has grown."""
        rows, last = self.database.rows(
            f"SELECT (SELECT count(*) FROM cql_state.{quoted(synopsis.name)}), compacted_rows "
            "FROM cql_state.synopses WHERE table_name = ?",
            [synopsis.name],
        )[0]
        self._room[synopsis.name] = max(retention.LOG, 2 * last) - rows
        if rows > max(retention.LOG, 2 * last):
            own = [c for c in synopsis.columns if c.name not in ("_ts", "_weight")]
            netting.compact(self.database, synopsis.name, own, frontier)
            self.database.execute(
                "UPDATE cql_state.synopses SET compacted_rows = (SELECT count(*) FROM "
                f"cql_state.{quoted(synopsis.name)}) WHERE table_name = ?",
                [synopsis.name],
            )
