"""The binding of the names by which statements read streams (rewrite's `arrivals`).

The tick of a query binds them: `stream_s` to the store of s, or to the input buffer while nothing
of s is stored; `arrivals_s` to a range of that, or to the rows of the buffer if these are exactly
what the tick is to read. Both are temporary macros, whose bodies DuckDB substitutes into a
statement when it plans it. Rebinding them, when the rows are elsewhere than in the last tick, is a
statement of half a millisecond, and most ticks need none.
"""

from __future__ import annotations

from cqlduck.rewrite.physical.arrivals import arrivals_of, stream_of
from cqlduck.rewrite.plan import Source
from cqlduck.state.connection import Database, quoted


def arrived(stream: str) -> str:
    """Return under which name the rows are registered that have just come of a stream."""
    return f"_cql_arrived_{stream}"


def held(stream: str) -> str:
    """Return under which name the rows are registered that a stream's queue holds."""
    return f"_cql_held_{stream}"


class Names:
    """The macros of a database's connection.

    Args:
        database: The database.
    """

    def __init__(self, database: Database) -> None:
        """Begin without any."""
        self._database = database
        self._bodies: dict[str, str] = {}
        database.participants.append(self)

    def mark(self) -> None:
        """Return nothing: macros stay, unless a transaction is undone."""

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
        kept = quoted(held(source.name)) if is_held else f"cql_state.{quoted(source.table)}"
        rows = f"FROM {kept} WHERE _ts > low AND _ts <= high"
        if has_just_come:
            rows = f"FROM {quoted(arrived(source.name))}"
        self._define(f"{quoted(arrivals_of(source.name))}(low, high)", rows)
        self._define(f"{quoted(stream_of(source.name))}()", f"FROM {kept}")

    def _define(self, head: str, body: str) -> None:
        if self._bodies.get(head) != body:
            self._database.execute(f"CREATE OR REPLACE TEMP MACRO {head} AS TABLE {body}")
            self._bodies[head] = body
