"""Deferral: which queries wait until somebody reads them, `WITH (read = 'later')`.

A query that is kept up to date in each tick costs what its ticks cost, whether anybody looks or
not. A deferred one runs when somebody reads it (`catching_up`), in few large ticks, in which rows
are cheap. That is deferred view maintenance (Colby, Griffin, Libkin, Mumick, Trickey: Algorithms
for deferred view maintenance, SIGMOD 1996), here with the elements of every instant.

No answer, element or error depends on it: a tick's output does not depend on where ticks end. What
has to happen in the ticks themselves does: its relations close their instants, and heartbeats move.
Until it runs its frontier stays where it is, so stores keep what it has not read; `Query.promised`
is where ticks would have brought it.

It does not wait while what it has not read is more than what it keeps.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from cqlduck.rewrite import Compiled
from cqlduck.rewrite.plan import FOREVER
from cqlduck.rewrite.text.time import Instant
from cqlduck.state import listing
from cqlduck.state.catalog import Catalogue
from cqlduck.state.connection import Database, quoted
from cqlduck.state.registered import Input, Query

LEAST = 20_000
"""How many elements a query may always leave unread."""


@dataclass
class Deferral:
    """Knows which queries wait for somebody to read them.

    Attributes:
        database: The database.
        catalogue: What is registered.
        compiled: The queries' statements, by lower-case name.
        listeners: Who is told of each tick, and may read in it.
        woken: The names of the queries that are being brought up to date.
        least: As `LEAST`.
    """

    database: Database
    catalogue: Catalogue
    compiled: Mapping[str, Compiled]
    listeners: Sequence[object]
    woken: frozenset[str] = frozenset()
    least: int = LEAST
    _read: dict[str, int] = field(default_factory=dict)
    """Of queries: how many elements their inputs had in all when they ran last."""
    _most: dict[str, int] = field(default_factory=dict)
    """Of queries: how many elements they may leave unread."""

    def recount(self) -> None:
        """Forget what was counted, because a change has been undone."""
        self._read.clear()
        self._most.clear()

    def waiting(self, queries: Iterable[Query]) -> frozenset[str]:
        """Return the names of those of some queries that do not run in the tick that begins."""
        return frozenset(query.name for query in queries if self.waits(query))

    def waits(self, query: Query) -> bool:
        """Return whether a query does not run in the tick that begins."""
        if not query.is_deferred or query.name in self.woken or self.why_not(query) is not None:
            return False
        return self.unread(query) <= self._most_unread(query)

    def why_not(self, query: Query) -> str | None:
        """Return why a deferred query runs in each tick, or None if it does not."""
        if query.begin_instant is None or query.frontier is None:
            return "it has not begun"
        if self.listeners:
            return "a listener may read it in each tick"
        system = self.catalogue.system
        if system is not None and query not in self.catalogue.reading.above.get(system.name, ()):
            return f"{system.name} is read, and says what it does"
        for reader in self.catalogue.readers(query):
            if reader.state == "active" and not self.waits(reader):
                return f"{reader.name} reads it"
        return None

    def unread(self, query: Query) -> int:
        """Return how many elements have come for a query since it ran last."""
        inputs = self.catalogue.reading.inputs[query.name]
        count = sum(thing.next_seq for thing in inputs)
        if query.name not in self._read:
            assert query.frontier is not None
            since = query.frontier
            self._read[query.name] = count - sum(self.after(thing, since) for thing in inputs)
        return count - self._read[query.name]

    def after(self, thing: Input, instant: Instant) -> int:
        """Return how many elements a stream or relation has after an instant, in its store."""
        after = f"count(*) FILTER (_ts > {instant})"
        if thing.kind == "relation":
            ended = f"_cql_leave > {instant} AND _cql_leave < {FOREVER}"
            after = f"count(*) FILTER (_cql_enter > {instant}) + count(*) FILTER ({ended})"
        return int(self.database.value(f"SELECT {after} FROM cql_state.{quoted(thing.table)}"))

    def _most_unread(self, query: Query) -> int:
        """Return how many elements a query may leave unread: as many as rows that it keeps."""
        if query.name not in self._most:
            names = [synopsis.name for synopsis in self.compiled[query.name.lower()].synopses]
            self._most[query.name] = max(self.least, listing.row_count(self.database, names))
        return self._most[query.name]

    def ran(self, query: Query) -> None:
        """Note that a query has run, perhaps as far as it is promised."""
        if query.promised is not None and query.frontier is not None:
            if query.frontier < query.promised:
                return
            query.promised = None
        if query.is_deferred:
            inputs = self.catalogue.reading.inputs[query.name]
            self._read[query.name] = sum(thing.next_seq for thing in inputs)
            self._most.pop(query.name, None)
