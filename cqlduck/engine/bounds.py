"""How large a tick is: up to which instant it takes in no more elements than it should."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from cqlduck.progress import Progress
from cqlduck.rewrite import Compiled
from cqlduck.rewrite.plan import NEVER
from cqlduck.rewrite.text.time import Instant
from cqlduck.state.catalog import Catalogue
from cqlduck.state.connection import Database, quoted
from cqlduck.state.input_buffer import InputBuffer
from cqlduck.state.registered import Input, Query

MAX_TICK = 2_000_000
"""How many elements a tick takes in at most, unless one instant has more."""

HEAVY_TICK = 20_000
"""How many elements a tick takes in at most if a query is worked out again at each instant."""

MAX_INSTANTS = 1_000_000
"""How many instants a tick spans at most for a query that repeats a relation at each of them."""

HEAVY_INSTANTS = 20_000
"""The same for a query that is worked out again at each of them."""


@dataclass
class Bounds:
    """Knows how much has come of each stream, and looks only where that may be too much.

    Attributes:
        database: The database.
        catalogue: What is registered.
        compiled: The queries' statements, by lower-case name.
        progress: How far queries could go.
        input_buffer: The rows of streams that are in no store yet.
        max_tick: How many elements a tick takes in at most.
    """

    database: Database
    catalogue: Catalogue
    compiled: Mapping[str, Compiled]
    progress: Progress
    input_buffer: InputBuffer
    max_tick: int
    _unread: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Of streams: the next number when elements after all frontiers were counted, and the count."""

    def recount(self) -> None:
        """Forget what was counted."""
        self._unread.clear()

    def has_read(self, thing: Input) -> None:
        """Note that the tick that begins reads all that has come of a stream."""
        self._unread[thing.name] = thing.next_seq, 0

    def until(
        self, active: Sequence[Query], targets: Mapping[str, Instant | None]
    ) -> Instant | None:
        """Return an instant up to which a tick takes in no more than it should, or None.

        Args:
            active: The queries that the tick runs.
            targets: How far each of them could go, by name.
        """
        until: Instant | None = None
        above = self.catalogue.reading.above
        for thing in self.catalogue.inputs.values():
            number, unread = self._unread.get(thing.name, (0, 0))
            come = unread + thing.next_seq - number
            # no tick is smaller than a heavy one
            if thing.kind != "stream" or come <= min(self.max_tick, HEAVY_TICK):
                continue
            readers = [
                query
                for query in above.get(thing.name, ())
                if query.name in targets and may_go_on(query, targets[query.name])
            ]
            if readers and all(targets[q.name] is not None for q in readers):
                bound = self._of_stream(thing, readers, come)
                if bound is not None:
                    until = bound if until is None else min(until, bound)
        for query in active:
            compiled = self.compiled[query.name.lower()]
            if compiled.repeats:
                reached = self.progress.begins(query) if query.frontier is None else query.frontier
                if reached is not None:
                    most = HEAVY_INSTANTS if compiled.is_heavy else MAX_INSTANTS
                    bound = Instant(reached + most)
                    until = bound if until is None else min(until, bound)
        return until

    def _of_stream(self, thing: Input, readers: Sequence[Query], come: int) -> Instant | None:
        """Return up to which instant a tick takes what has come of a stream; None if all of it."""
        # one without a frontier reads all that there is
        floor = min(NEVER if q.frontier is None else q.frontier for q in readers)
        heavy = any(self.compiled[q.name.lower()].is_heavy for q in readers)
        size = min(self.max_tick, HEAVY_TICK) if heavy else self.max_tick
        if come <= size:
            return None
        self.input_buffer.store(thing)
        low = f"_ts > {floor}"
        row = self.database.rows(
            f"SELECT _ts FROM cql_state.{quoted(thing.table)} WHERE {low} "
            f"ORDER BY _ts LIMIT 1 OFFSET {size}"
        )
        if row:
            first, before = Instant(row[0][0]), Instant(row[0][0] - 1)
            return before if before > floor else first
        left = self.database.value(
            f"SELECT count(*) FROM cql_state.{quoted(thing.table)} WHERE {low}"
        )
        self._unread[thing.name] = thing.next_seq, int(left)
        return None


def may_go_on(query: Query, target: Instant | None) -> bool:
    """Return whether a query has a way to its target, or will have when it gets a heartbeat."""
    return target is None or query.frontier is None or target > query.frontier
