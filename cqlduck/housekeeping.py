"""Housekeeping: work after a tick, or outside of ticks, that keeps stores and logs small.

No answer depends on it. Its counts may be lost at any time: they only say when work is due.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass, field

from cqlduck.progress import Progress
from cqlduck.rewrite import Compiled
from cqlduck.rewrite.text.time import parse_duration
from cqlduck.state import amend, answers, retention
from cqlduck.state.catalog import EXPIRED, Catalogue, Input, Query
from cqlduck.state.connection import Database, quoted
from cqlduck.state.input_buffer import InputBuffer
from cqlduck.state.output_buffer import OutputBuffer
from cqlduck.state.results import Results
from cqlduck.state.tick import Ran

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
        history: How long changes of answers are kept, where a query does not say.
        standing: How long inputs are kept for a query that stands still; or 'unbounded'.
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
    history: str | None = None
    standing: str = STANDING
    tails: dict[str, int] = field(default_factory=dict)
    lost: dict[str, int] = field(default_factory=dict)
    _compacted: dict[str, int] = field(default_factory=dict)
    _counted: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Of relations: how many rows the store had at most at a number, and that number."""
    _wrote: dict[str, int] = field(default_factory=dict)
    """How many rows a query wrote since its logs were looked at, synopses and answer together."""
    _room: dict[str, int] = field(default_factory=dict)
    """How many rows may come to a log before it is worth a look at how long it is."""

    def ran(self, query: Query, done: Ran) -> None:
        """Take note of what a query wrote."""
        if query.name in self.tails:
            self.tails[query.name] += done.elements
        self._wrote[query.name] = self._wrote.get(query.name, 0) + done.rows

    def recount(self) -> None:
        """Forget what was counted, because a change has been undone."""
        self.tails.clear()
        self._room.clear()
        self._counted.clear()

    def dropped(self, query: Query) -> None:
        """Forget a query."""
        self.tails.pop(query.name, None)
        self._room.clear()

    def outweighed(self, queries: Iterable[Query]) -> list[Query]:
        """Return the queries whose kept answers are to be written anew."""
        return [query for query in queries if self._is_outweighed(query)]

    def _is_outweighed(self, query: Query) -> bool:
        held = self.compiled[query.name.lower()].answer is not None
        if query.kind != "relation" or held or query.frontier is None:
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
        """Keep histories, stores and logs small."""
        for query in moved:
            with self.database.part("retention"):
                self._forget_history(query)
                self._compact(query)
        with self.database.part("retention"):
            self._expire()
            self._forget(moved)

    def expiring(self) -> list[Query]:
        """Return the queries that have stood still for longer than `standing`."""
        if not any(q.state not in ("active", EXPIRED) for q in self.catalogue.queries.values()):
            return []
        standing = self._instants(self.standing)
        queries = self.catalogue.queries.values()
        return [query for query in queries if self.progress.expires(query, standing)]

    def _expire(self) -> None:
        """Let go of what is kept for queries that stand still."""
        for query in self.expiring():
            self.catalogue.turn(query, EXPIRED)
            log.warning(
                "%s has stood still for longer than %s; what its inputs had since is no longer "
                "kept for it",
                query.name,
                self.standing,
            )

    def _instants(self, kept: str | None) -> int | None:
        """Return a duration in instants, or None if it has no bound."""
        if kept is None or kept == "unbounded":
            return None
        return self.catalogue.clock.instants(parse_duration(kept))

    def _readers(self, thing: Input | Query) -> list[Query]:
        """Return the queries for which what they read of a thing is kept."""
        return [query for query in self.catalogue.readers(thing) if query.state != EXPIRED]

    def _forget(self, moved: list[Query]) -> None:
        """Keep the stores of inputs small."""
        beats = [i.heartbeat for i in self.catalogue.inputs.values()]
        has_expired = any(q.state == EXPIRED for q in self.catalogue.queries.values())
        if not (moved or has_expired) or any(beat is None for beat in beats):
            return
        earliest = min(beat for beat in beats if beat is not None)
        self._compact_relations(earliest)
        for thing in self.catalogue.inputs.values():
            if thing.kind == "stream":
                readers = [(q, self.compiled[q.name.lower()]) for q in self._readers(thing)]
                if any(self.catalogue.amends(q) for q, _ in readers):
                    continue
                until = retention.forgettable(thing, readers, earliest)
                if until is not None and not self.input_buffer.forget(thing, until):
                    retention.forget(self.database, thing, until)

    def _compact_relations(self, earliest: int) -> None:
        """Forget the tuples of relations that no query will see leave any more."""
        for thing in self.catalogue.inputs.values():
            if thing.kind != "relation":
                continue
            most = max(retention.LOG, 2 * self._compacted.get(thing.name, 0))
            # rows of the store have numbers: it has no more than these, but for what was pending
            counted, number = self._counted.get(thing.name, (0, 0))
            if counted + thing.next_seq - number <= most:
                continue
            rows = int(self.database.value(f"SELECT count(*) FROM cql_state.{quoted(thing.table)}"))
            self._counted[thing.name] = rows, thing.next_seq
            if rows <= most:
                continue
            readers = self._readers(thing)
            frontiers = [q.frontier for q in readers]
            if any(f is None for f in frontiers) or any(self.catalogue.amends(q) for q in readers):
                continue
            until = min([earliest, *[f for f in frontiers if f is not None]])
            retention.forget_ended(self.database, thing, until)
            left = int(self.database.value(f"SELECT count(*) FROM cql_state.{quoted(thing.table)}"))
            self._compacted[thing.name] = left
            self._counted[thing.name] = left, thing.next_seq

    def _forget_history(self, query: Query) -> None:
        span = self._instants(query.keep if query.keep is not None else self.history)
        if span is None or query.frontier is None:
            return
        readers = self._readers(query)
        until = query.frontier - span
        for reader in readers:
            reach = self.compiled[reader.name.lower()].spans.get(query.name, 0)
            if reader.frontier is None or reach is None or self.catalogue.amends(reader):
                return
            until = min(until, reader.frontier - max(span, reach + 1))
        start = query.history_from if query.history_from is not None else query.begin_instant
        if start is None or until <= start + max(span // 4, 1):
            return
        self._note_lost(query, until)
        if query.kind == "stream" and self.catalogue.amends(query):
            amend.set_aside(self.database, query, until)
        query.history_from = until
        if self.output_buffer.forget(query, until):
            self.results.keep(query.changes)
            answers.forget_history(
                self.database,
                self.catalogue.clock,
                query,
                self.compiled[query.name.lower()].answer,
                until,
            )
            self.tails.pop(query.name, None)

    def _note_lost(self, query: Query, until: int) -> None:
        """Note the last element up to an instant, which history is about to let go of."""
        last = self.output_buffer.last(query, until)
        if last is None and self.output_buffer.has_log(query):
            last = answers.last_of(self.database, query, until)
        if last is not None:
            self.lost[query.name] = last

    def _compact(self, query: Query) -> None:
        compiled = self.compiled[query.name.lower()]
        wrote = self._wrote.pop(query.name, 0)
        for synopsis in compiled.synopses:
            if not synopsis.is_log or query.frontier is None:
                continue
            room = self._room.get(synopsis.name, 0) - wrote
            if room > 0:
                self._room[synopsis.name] = room
                continue
            rows, last = self.database.rows(
                f"SELECT (SELECT count(*) FROM cql_state.{quoted(synopsis.name)}), compacted_rows "
                "FROM cql_state.synopses WHERE table_name = ?",
                [synopsis.name],
            )[0]
            if rows > max(retention.LOG, 2 * last):
                own = [c for c in synopsis.columns if c.name not in ("_ts", "_weight")]
                retention.compact(self.database, synopsis.name, own, query.frontier)
                self.database.execute(
                    "UPDATE cql_state.synopses SET compacted_rows = (SELECT count(*) FROM "
                    f"cql_state.{quoted(synopsis.name)}) WHERE table_name = ?",
                    [synopsis.name],
                )
                continue
            self._room[synopsis.name] = max(retention.LOG, 2 * last) - rows
