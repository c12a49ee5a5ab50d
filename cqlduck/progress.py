"""How far queries can go, and what their ticks can take from the queues of streams.

A query goes as far as the heartbeats of its inputs say, and no further than any query below it that
stands still: what that one will say when it goes on is still to come. What has come of a stream its
tick takes from the queue if that holds what the tick is to read, no more and no less.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Set
from dataclasses import dataclass, field

from cqlduck.rewrite import Compiled
from cqlduck.state.catalog import EXPIRED, Catalogue, Input, Query
from cqlduck.state.input_buffer import Queue


@dataclass
class Progress:
    """Knows where time is, for each query and stream.

    Attributes:
        catalogue: What is registered.
        compiled: The queries' statements, by lower-case name.
        in_memory: Whether the database is in memory.
        apart: The names of the queries that have just failed, and wait for their turn.
    """

    catalogue: Catalogue
    compiled: dict[str, Compiled]
    in_memory: bool
    apart: frozenset[str] = frozenset()
    _above: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Of queries above those that are apart: the names of these."""
    _seen: dict[str, int] = field(default_factory=dict)
    """Of queries: how many elements their inputs had in all at the last tick."""

    def recount(self) -> None:
        """Forget what was counted."""
        self._seen.clear()

    def set_apart(self, names: Collection[str]) -> None:
        """Let only these queries have failed, and wait for their turn."""
        self.apart = frozenset(names)
        self._above = {}
        for name in names:
            for reader in self.catalogue.readers_of(self.catalogue.queries[name.lower()]):
                self._above[reader.name] = (*self._above.get(reader.name, ()), name)

    def target(self, query: Query) -> int | None:
        """Return how far a query could go, or None.

        That is the least heartbeat of its inputs, and of the frontiers of the queries below it
        that stand still, however far below.
        """
        beats = [self.heard(query)]
        beats += [inner.frontier for inner in self.catalogue.stopped_below(query)]
        apart = self._above.get(query.name, ())
        beats += [self.catalogue.queries[name.lower()].frontier for name in apart]
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

    def _gone(self, name: str, start: int | None) -> float | None:
        query = self.catalogue.queries[name]
        goal = self.target(query)
        start = self.begins(query) if start is None else start
        if start is None or goal is None or goal <= start:
            return None
        reached = start if query.frontier is None else query.frontier
        return min(max((reached - start) / (goal - start), 0.0), 1.0)

    def heard(self, query: Query) -> int | None:
        """Return the least heartbeat of a query's inputs, or None."""
        inputs = self.catalogue.inputs_of(query)
        holding = [i for i in inputs if i.kind == "stream" or i.source is not None] or inputs
        beats = [i.heartbeat for i in holding if i.heartbeat is not None]
        return min(beats) if beats and len(beats) == len(holding) else None

    def waits(self, query: Query) -> bool:
        """Return whether a query stands still until somebody lets it, or one below it, go on."""
        return query.state != "active" or bool(self.catalogue.stopped_below(query))

    def expires(self, query: Query, standing: int | None) -> bool:
        """Return whether a query has stood still for longer than its inputs are kept for it.

        Args:
            query: The query.
            standing: For how many instants they are; None if for good.
        """
        if standing is None or query.state == EXPIRED or not self.waits(query):
            return False
        heard, stood = self.heard(query), query.frontier
        if stood is None:
            # what it has not begun with is kept for it too
            begins = self.begins(query)
            stood = None if begins is None else begins - 1
        return heard is not None and stood is not None and stood + standing < heard

    def begins(self, query: Query, goal: int | None = None) -> int | None:
        """Return the instant at which time begins for a query's inputs, or None.

        Args:
            query: The query.
            goal: Where a tick brings it: there begins what has nothing else to begin at.
        """
        known = [
            i.first_instant for i in self.catalogue.inputs_of(query) if i.first_instant is not None
        ]
        if self.catalogue.clock.kind == "integer":
            return min([0, *known])
        if self.is_undated(query):
            return goal if query.since is None else query.since + 1
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

    def stands_still(self, query: Query) -> bool:
        """Return whether a query goes no further: it failed, or somebody deactivated it."""
        return query.state != "active" or query.name in self.apart

    def may_go_on(self, query: Query, target: int | None) -> bool:
        """Return whether a query has a way to its target, or will have when it gets a heartbeat."""
        return target is None or query.frontier is None or target > query.frontier

    def is_read_once(self, queue: Queue, going: Set[str], until: int | None) -> bool:
        """Return whether this tick reads all that waits of a stream, and no later one any of it.

        Args:
            queue: What waits.
            going: The names of the queries that the tick runs.
            until: Where the tick ends, if that is before the heartbeats.
        """
        thing = queue.thing
        beats = [other.heartbeat for other in self.catalogue.inputs.values()]
        last = thing.last_instant
        # a query that is registered next begins at the least of them
        if last is None or any(_is_before(beat, last) for beat in beats):
            return False
        readers = [q for q in self.catalogue.readers(thing) if q.state != EXPIRED]
        for query in readers:
            span = self.compiled[query.name.lower()].spans.get(thing.name, 0)
            if span != 0 or query.name not in going or self.catalogue.amends(query):
                return False
            if queue.before is not None and _is_before(query.frontier, queue.before):
                return False
            goal = self.goal(query, until)
            if goal is None or goal < last:
                return False
        # what nobody reads yet people may look at, or ask for with WITH (history = true)
        return bool(readers)

    def may_stay(self, thing: Input, going: Set[str]) -> bool:
        """Return whether a stream's queue may hold what its readers look back to.

        Args:
            thing: The stream.
            going: The names of the queries that the tick runs.
        """
        readers = [q for q in self.catalogue.readers(thing) if q.state != EXPIRED]
        for query in readers:
            compiled = self.compiled[query.name.lower()]
            if compiled.spans.get(thing.name, 0) is None or compiled.is_heavy:
                return False
            if query.name not in going or self.catalogue.amends(query):
                return False
        return bool(readers) and self.in_memory

    def covers_tick(self, queue: Queue, query: Query, goal: int) -> bool:
        """Return whether what lies in a queue is what comes of its stream in a query's tick."""
        if queue.is_read_once:
            return True
        if query.begin_instant is None or query.frontier is None or self.catalogue.amends(query):
            return False
        last = queue.thing.last_instant
        is_after = queue.before is None or not _is_before(query.frontier, queue.before)
        return is_after and last is not None and last <= goal

    def goal(self, query: Query, until: int | None) -> int | None:
        """Return where a tick brings a query, or None if it stays."""
        target = self.target(query)
        if target is None:
            return None
        goal = target if until is None else min(target, until)
        return goal if query.frontier is None or goal > query.frontier else None

    def arrived(self, query: Query, goal: int) -> int | None:
        """Return how many elements came for a query since its last tick, or None.

        It is known if this tick and the last one go as far as they can.
        """
        seen = self._seen.pop(query.name, None)
        if goal != self.target(query):
            return None
        count = sum(thing.next_seq for thing in self.catalogue.inputs_of(query))
        self._seen[query.name] = count
        # a query that begins reads no more than all
        if seen is None and query.begin_instant is None:
            return count
        return None if seen is None else count - seen


def _is_before(instant: int | None, other: int) -> bool:
    return instant is None or instant < other
