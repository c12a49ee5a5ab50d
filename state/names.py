"""The binding of the names by which statements read streams and relations (rewrite's `arrivals`).

The tick of a query binds them: `stream_s` to the store of s, or to the input buffer while nothing
of s is stored; `arrivals_s` to a range of that, or to the rows of the buffer if these are exactly
what the tick is to read. `changes_r` is bound to the store of r, or to what closing r has left
aside (`changed`). All are temporary macros, whose bodies DuckDB substitutes into a
statement when it plans it. Rebinding them, when the rows are elsewhere than in the last tick, is a
statement of half a millisecond, and most ticks need none.
"""

from __future__ import annotations

from dataclasses import dataclass

from cqlduck.rewrite.physical.arrivals import arrivals_of, changes_of, stream_of
from cqlduck.rewrite.plan import Source
from cqlduck.rewrite.text.time import Instant
from cqlduck.state.changed import RelationChanges
from cqlduck.state.connection import Database, quoted

ARRIVED = "_cql_arrived_"
"""Before the name of a stream: under what the rows are registered that have just come of it."""

BUFFERED = "_cql_held_"
"""The same of the rows that its queue holds."""


class Names:
    """The macros of a database's connection.

    Args:
        database: The database.
        changed: What closing relations has changed last.
    """

    def __init__(self, database: Database, changed: RelationChanges) -> None:
        """Begin without any."""
        self._database = database
        self.changed = changed
        self._texts: dict[str, _Texts] = {}
        self._bodies: dict[str, str] = {}
        database.participants.append(self)

    kept: None = None
    """Macros stay, unless a transaction is undone."""

    def roll_back(self, _: None) -> None:
        """Define them anew: the transaction is undone that may have defined them."""
        self._bodies.clear()

    def bind(self, source: Source, *, is_held: bool = False, has_just_come: bool = False) -> None:
        """Bind the names of a stream for the statements that follow.

        Args:
            source: The stream.
            is_held: Whether its rows are in its queue, and not in its store.
            has_just_come: Whether the rows that have just come are the arrivals.
        """
        texts = self._texts.get(source.name)
        if texts is None:
            texts = self._texts[source.name] = _texts(source)
        kept = texts.held if is_held else texts.store
        rows = f"FROM {kept} WHERE _ts > low AND _ts <= high"
        if has_just_come:
            rows = f"FROM {texts.arrived}"
        self._define(texts.arrivals_of, rows)
        self._define(texts.stream_of, f"FROM {kept}")

    def bind_changes(self, source: Source, low: Instant) -> None:
        """Bind the name of a relation's changes for the statements that follow.

        Args:
            source: The relation.
            low: The instant after which the tick begins.
        """
        head = f"{quoted(changes_of(source.name))}(low, high)"
        self._define(head, f"FROM {self.changed.read(source.table, low)}")

    def _define(self, head: str, body: str) -> None:
        if self._bodies.get(head) != body:
            self._database.execute(f"CREATE OR REPLACE TEMP MACRO {head} AS TABLE {body}")
            self._bodies[head] = body


@dataclass(frozen=True)
class _Texts:
    """What is said of a stream, as SQL."""

    arrivals_of: str
    stream_of: str
    arrived: str
    held: str
    store: str


def _texts(source: Source) -> _Texts:
    return _Texts(
        f"{quoted(arrivals_of(source.name))}(low, high)",
        f"{quoted(stream_of(source.name))}()",
        quoted(ARRIVED + source.name),
        quoted(BUFFERED + source.name),
        f"cql_state.{quoted(source.table)}",
    )
