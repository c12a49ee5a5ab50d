"""Retention: what stores and logs forget, because no query can need it.

A stream's store is cut at the earliest position of its stubs: for each query that reads it, the
frontier less the span of its windows. It is cut not in every tick, but when a fifth of it can go.
Nothing after the earliest heartbeat of all inputs is cut, because the next registered query begins
there. A relation forgets deleted tuples whose deletion all queries have read. The traces of
relations are replaced by their net content. Both happen when they have doubled since the last time.
The traces of streams are cut as stores are, at the frontier less the span of the windows above.
"""

from __future__ import annotations

from cqlduck.rewrite.text.time import Instant
from cqlduck.state.connection import Database, quoted
from cqlduck.state.registered import Input

LOG = 10_000
"""How many elements a log may have before it is first made net.

Who reads what stands sums the log up, in a query that is answered anew in each tick: 0.1 µs an
element. To make 10,000 net takes a few milliseconds.
"""

RELATION = 100_000
"""How many tuples the store of a relation may have before what has ended is first forgotten."""


TRACE = 10_000
"""How many rows come to the trace of a stream, or to a cache, at least before it is cut again."""


def forget(database: Database, thing: Input, until: Instant) -> None:
    """Cut a stream's store.

    Args:
        database: The database, inside a transaction.
        thing: The stream.
        until: The instant up to which nobody needs its rows.
    """
    database.execute(f"DELETE FROM cql_state.{quoted(thing.table)} WHERE _ts <= {until}")
    thing.forgotten = until


def forget_trace(database: Database, table: str, until: Instant) -> int:
    """Cut the trace of a stream; return how many elements are left.

    Args:
        database: The database, inside a transaction.
        table: The trace.
        until: The instant up to which nobody needs its elements.
    """
    database.execute(f"DELETE FROM cql_state.{quoted(table)} WHERE _ts <= {until}")
    return int(database.value(f"SELECT count(*) FROM cql_state.{quoted(table)}"))


def forget_left(database: Database, table: str, until: Instant) -> int:
    """Forget the rows of a cache that have left at or before an instant; return how many stay."""
    database.execute(f"DELETE FROM cql_state.{quoted(table)} WHERE _cql_leave <= {until}")
    return int(database.value(f"SELECT count(*) FROM cql_state.{quoted(table)}"))


def forget_ended(database: Database, thing: Input, until: Instant) -> None:
    """Forget the tuples of a relation that left at or before an instant."""
    database.execute(f"DELETE FROM cql_state.{quoted(thing.table)} WHERE _cql_leave <= {until}")
    thing.forgotten = until
