"""How far queries can go, and what their ticks can take from the queues of streams.

A query goes as far as the heartbeats of its inputs say, and no further than any query below it that
stands still: what that one will say when it goes on is still to come. What has come of a stream its
tick takes from the queue if that holds what the tick is to read, no more and no less.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Sequence
from dataclasses import dataclass, field

from cqlduck.rewrite import Compiled
from cqlduck.rewrite.text.time import Duration, Instant
from cqlduck.state.catalog import Catalogue
from cqlduck.state.input_buffer import Buffered, Stay
from cqlduck.state.registered import EXPIRED, Input, Query


@dataclass
class Progress:
    """Knows where time is, for each query and stream.

    Attributes:
        catalogue: What is registered.
        compiled: The queries' statements, by lower-case name.
        in_memory: Whether the database is in memory.
        excluded: The names of the queries that have just failed, and wait for their turn.
        seen: Of queries: how many elements their inputs had in all at the last tick.
    """

    catalogue: Catalogue
    compiled: dict[str, Compiled]
    in_memory: bool
    excluded: frozenset[str] = frozenset()
    seen: dict[str, int] = field(default_factory=dict)
    _above: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Of queries above those that are excluded: the names of these."""

    def recount(self) -> None:
        """Forget what was counted."""
        self.seen.clear()

    def exclude(self, names: Collection[str]) -> None:
        """Let only these queries have failed; they wait for their turn."""
        self.excluded = frozenset(names)
        self._above = {}
        for name in names:
            for reader in self.catalogue.readers_of(self.catalogue.planned(name)):
                self._above[reader.name] = (*self._above.get(reader.name, ()), name)

    def target(self, query: Query) -> Instant | None:
        """Return how far a query could go, or None.

        That is the least heartbeat of its inputs, and of the frontiers of the queries below it
        that stand still, however far below.
        """
        reading = self.catalogue.reading
        holding, stopped = reading.holding[query.name], reading.stopped[query.name]
        beat = min((i.heartbeat for i in holding if i.heartbeat is not None), default=None)
        if any(i.heartbeat is None for i in holding):
            return None
        excluded = self._above.get(query.name, ())
        if beat is None or not (stopped or excluded):
            return beat
        beats = [beat, *(inner.frontier for inner in stopped)]
        beats += [self.catalogue.planned(name).frontier for name in excluded]
        if any(beat is None for beat in beats):
            return None
        return min(beat for beat in beats if beat is not None)

    def way(self) -> Callable[[], float | None]:
        """Return what says, from any thread, which share of their way from here queries have gone.

        The way of a query is that from its frontier to how far it could go; one that need not move
        has none. It says None where no query has, or where what is registered changes meanwhile.
        """
        start = {name: query.frontier for name, query in self.catalogue.queries.items()}

        def share() -> float | None:
            try:
                known = [self._gone(name, start[name]) for name in start]
            except (KeyError, RuntimeError):
                return None
            gone = [part for part in known if part is not None]
            return sum(gone) / len(gone) if gone else None

        return share

    def _gone(self, name: str, start: Instant | None) -> float | None:
        query = self.catalogue.queries[name]
        # one that is deferred stays behind
        goal = None if query.is_deferred else self.target(query)
        start = self.begins(query) if start is None else start
        if start is None or goal is None or goal <= start:
            return None
        reached = start if query.frontier is None else query.frontier
        return min(max((reached - start) / (goal - start), 0.0), 1.0)

    def waits(self, query: Query) -> bool:
        """Return whether a query stands still until somebody lets it, or one below it, go on."""
        return query.state != "active" or bool(self.catalogue.stopped_below(query))

    def expires(self, query: Query, standing: Duration | None) -> bool:
        """Return whether a query has stood still for longer than its inputs are kept for it.

        Args:
            query: The query.
            standing: For how many instants they are; None if for good.
        """
        if standing is None or query.state == EXPIRED or not self.waits(query):
            return False
        beats = [i.heartbeat for i in self.catalogue.reading.holding[query.name]]
        stood = query.frontier
        if stood is None:
            # what it has not begun with is kept for it too
            begins = self.begins(query)
            stood = None if begins is None else Instant(begins - 1)
        if stood is None or not beats:
            return False
        return all(beat is not None and stood + standing < beat for beat in beats)

    def begins(self, query: Query, goal: Instant | None = None) -> Instant | None:
        """Return the instant at which time begins for a query's inputs, or None.

        Args:
            query: The query.
            goal: Where a tick brings it: there begins what has nothing else to begin at.
        """
        known = [
            i.first_instant for i in self.catalogue.inputs_of(query) if i.first_instant is not None
        ]
        if self.catalogue.clock.kind == "integer":
            return min([Instant(0), *known])
        if self.is_undated(query):
            return goal if query.since is None else Instant(query.since + 1)
        return min(known) if known else None

    def is_undated(self, query: Query) -> bool:
        """Return whether a query is still to begin and nothing it reads has an instant.

        It reads relations alone, and they have elements, but of the beginning of time: on
        wall-clock time it begins at the first instant to which it is advanced.
        """
        if query.begin_instant is not None or self.catalogue.clock.kind == "integer":
            return False
        inputs = self.catalogue.inputs_of(query)
        are_undated = all(i.kind == "relation" and i.first_instant is None for i in inputs)
        return are_undated and any(i.next_seq for i in inputs)

    def stay(
        self, thing: Input, buffered: Buffered | None, going: Container[str], until: Instant | None
    ) -> Stay:
        """Return where the rows of a stream may stay after the tick that begins.

        Args:
            thing: The stream.
            buffered: What has come of it since the last tick, if something has.
            going: The names of the queries that the tick runs.
            until: Where the tick ends, if that is before the heartbeats.
        """
        reading = self.catalogue.reading
        readers = self.catalogue.live_readers(thing)
        looks_back, may_hold = False, self.in_memory
        for query in readers:
            compiled = self.compiled[query.name.lower()]
            span = compiled.spans.get(thing.name, 0)
            looks_back = looks_back or span != 0
            may_hold = may_hold and span is not None and not compiled.is_heavy
            if query.name not in going or not (may_hold or not looks_back):
                return Stay.STORED
            if reading.amending[query.name]:
                return Stay.STORED
        # what nobody reads yet people may look at, or ask for with WITH (history = true)
        if not readers:
            return Stay.STORED
        if buffered is not None and not looks_back and self._is_read_once(buffered, readers, until):
            return Stay.GONE
        return Stay.HELD if may_hold else Stay.STORED

    def _is_read_once(
        self, buffered: Buffered, readers: Sequence[Query], until: Instant | None
    ) -> bool:
        """Return whether this tick reads all that waits of a stream, and no later one any of it.

        Args:
            buffered: What waits.
            readers: The queries that read it, none of which looks back; the tick runs them all.
            until: Where the tick ends, if that is before the heartbeats.
        """
        last = buffered.thing.last_instant
        known = self.catalogue
        beats = [i.heartbeat for i in known.inputs.values() if i is not known.system]
        # a query that is registered next begins at the least of them
        if last is None or any(_is_before(beat, last) for beat in beats):
            return False
        for query in readers:
            if buffered.before is not None and _is_before(query.frontier, buffered.before):
                return False
            goal = self.goal(query, until, until)
            if goal is None or goal < last:
                return False
        return True

    def goal(self, query: Query, until: Instant | None, bound: Instant | None) -> Instant | None:
        """Return where a tick brings a query, or None if it stays.

        Args:
            query: The query.
            until: An instant that the tick does not go beyond, or None.
            bound: The same where how large the tick is has no say: for a query that begins there.
        """
        target = self.target(query)
        if target is None:
            return None
        if query.begin_instant is None and query.since is None and self.is_undated(query):
            until = bound
        goal = target if until is None else min(target, until)
        return goal if query.frontier is None or goal > query.frontier else None

    def arrived(self, query: Query, goal: Instant) -> int | None:
        """Return how many elements came for a query since its last tick, or None.

        It is known if this tick and the last one go as far as they can.
        """
        seen = self.seen.pop(query.name, None)
        if goal != self.target(query):
            return None
        count = sum(thing.next_seq for thing in self.catalogue.reading.inputs[query.name])
        self.seen[query.name] = count
        # a query that begins reads no more than all
        if seen is None and query.begin_instant is None:
            return count
        return None if seen is None else count - seen


def _is_before(instant: Instant | None, other: int) -> bool:
    return instant is None or instant < other
