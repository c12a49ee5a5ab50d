"""The output buffer: the end of the log of a query that yields a stream, for databases in memory.

A filter or projection of arrivals emits as many elements as it reads. Writing 100,000 of them into
the log, and reading them again for a subscriber, was three quarters of such a tick. A database in
memory ends with its process, so the time when its log is written does not matter: the elements
remain the Arrow table that DuckDB returned, and a subscriber gets that table. Tables of several
ticks are flushed into the log in one statement, when they exceed a limit of bytes or of tables, or
before the database is read. Elements that history forgets before that are never written.

The cost of a tick depends on its own elements, however many ticks are buffered: their bytes are
summed as they are appended, and the tables of the last elements are found by bisection.

In a file the log is written in the tick's transaction, so that a committed tick is durable.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pyarrow as pa

from cqlduck.rewrite.plan import Column
from cqlduck.rewrite.text.time import Clock, Instant
from cqlduck.state.arrow import integers, stored_type
from cqlduck.state.connection import Database, quoted
from cqlduck.state.registered import Query

MAX_BYTES = 32_000_000
"""How many bytes of one query's elements wait at most, but for those of the last tick."""

MAX_TABLES = 1_000
"""How many tables of one query's elements wait at most: an empty one takes kilobytes too."""

_NAME = "_cql_fresh_{}"


@dataclass(frozen=True)
class End:
    """The end of a log, as a value: with more elements it is another one.

    Tables lie in lists that only grow; each end says how many of them are its own, so that to go
    on from one costs what comes, and to go back to one costs nothing.

    Attributes:
        query: The query.
        after: The instant after which all elements are here.
        own: The elements of each tick that had some: columns, `_ts` (the instant) and `_weight`;
            the first `length` of them.
        begins: Of each table the instant before its tick, after which all of its elements are.
        length: How many tables there are.
        size: The bytes of all tables.
        are_logged: Whether they are in the log too: the last tick's stay for a subscriber.
    """

    query: Query
    after: Instant
    own: list[pa.Table] = field(default_factory=list)
    begins: list[Instant] = field(default_factory=list)
    length: int = 0
    size: int = 0
    are_logged: bool = False

    @property
    def tables(self) -> list[pa.Table]:
        """The tables."""
        return self.own[: self.length]

    @property
    def starts(self) -> list[Instant]:
        """Of each table the instant before its tick."""
        return self.begins[: self.length]

    def with_(self, table: pa.Table, start: Instant) -> End:
        """Return the end with the elements of the next tick, if there are any."""
        if not table.num_rows:
            return self
        # what another end has put there was undone
        del self.own[self.length :], self.begins[self.length :]
        self.own.append(table)
        self.begins.append(start)
        return replace(self, length=self.length + 1, size=self.size + table.nbytes)

    def since(self, instant: Instant) -> list[pa.Table]:
        """Return the elements after an instant, by tick; earlier ticks are not looked at."""
        first = max(bisect_right(self.begins, instant, hi=self.length) - 1, 0)
        found = [_after(self.own[first], instant)] if self.length else []
        rest = self.own[first + 1 : self.length]
        return [table for table in (*found, *rest) if table.num_rows]

    def last(self, until: Instant) -> Instant | None:
        """Return the last instant of an element up to another instant, if there is one."""
        import pyarrow.compute as pc

        bound = integers([until])[0]
        for table in reversed(self.own[: bisect_left(self.begins, until, hi=self.length)]):
            times = table.column("_ts")
            last = pc.max(times.filter(pc.less_equal(times, bound))).as_py()
            if last is not None:
                return Instant(last)
        return None


class OutputBuffer:
    """The ends of the logs.

    Args:
        database: The database.
    """

    def __init__(self, database: Database) -> None:
        """Begin with nothing."""
        self._database = database
        database.participants.append(self)
        self._unfit: set[tuple[str, tuple[Column, ...]]] = set()
        self.kept: tuple[Mapping[str, End], frozenset[str]] = {}, frozenset()
        """The ends, and the queries that have elements in their logs."""

    @property
    def _ends(self) -> Mapping[str, End]:
        return self.kept[0]

    def _put(self, query: Query, end: End | None) -> None:
        """Let a query have another end, or none."""
        ends, logged = dict(self._ends), self.kept[1]
        if end is None:
            ends.pop(query.name, None)
        else:
            ends[query.name] = end
        self.kept = ends, logged

    def roll_back(self, kept: tuple[Mapping[str, End], frozenset[str]]) -> None:
        """Go back to where the ends were."""
        self.kept = kept

    def may_append(self, query: Query) -> bool:
        """Return whether elements of a query may stay here: Arrow has all of its types."""
        plain = query.kind == "stream" and self._database.in_memory
        # what a VARIANT holds may be of a type that Arrow has not
        plain = plain and not any("VARIANT" in known.type for known in query.columns)
        return plain and (query.name, query.columns) not in self._unfit

    def append(self, query: Query, table: pa.Table, before: Instant) -> bool:
        """Append the elements of a tick; return whether Arrow has all of their types.

        Args:
            query: The query.
            table: Its elements: columns, `_ts` and `_weight`.
            before: Its frontier before the tick.
        """
        types = [stored_type(kind) for kind in table.schema.types]
        if types != [*(c.type for c in query.columns), "BIGINT", "BIGINT"]:
            self._unfit.add((query.name, query.columns))
            return False
        end = self._ends.get(query.name)
        if end is None or end.are_logged:
            end = End(query, before)
        end = end.with_(table, before)
        self._put(query, end)
        if end.length > 1 and (end.size > MAX_BYTES or end.length > MAX_TABLES):
            self.store(query)
            last = End(query, before, are_logged=True).with_(table, before)
            self._put(query, last)
        return True

    def store(self, query: Query) -> None:
        """Write a query's elements into its log, before others come there; inside a transaction."""
        ends, logged = self.kept
        end = ends.get(query.name)
        if end is not None or query.name not in logged:
            left = {name: one for name, one in ends.items() if name != query.name}
            self.kept = left, logged | {query.name}
        if end is None or not end.length or end.are_logged:
            return
        self._database.threads.all()
        name = _NAME.format(query.name.lower())
        # one piece, of which each thread writes whole row groups
        table = pa.concat_tables(end.tables).combine_chunks()
        with self._database.incoming.readable(name, table):
            self._database.execute(
                f"INSERT INTO cql_state.{quoted(query.changes)} FROM {quoted(name)}"
            )

    def drop(self, query: Query) -> None:
        """Write a query's elements into its log, if that stays, and let go of the query."""
        self.store(query)
        self._database.incoming.remove(_NAME.format(query.name.lower()))

    def flush(self) -> None:
        """Write all elements into the logs, inside a transaction."""
        for end in list(self._ends.values()):
            self.store(end.query)

    @property
    def holds_some(self) -> bool:
        """Whether there are elements that are not in their log."""
        return any(end.length and not end.are_logged for end in self._ends.values())

    def since(self, query: Query, instant: Instant | None, clock: Clock) -> pa.Table | None:
        """Return a query's elements after an instant as people see them, or None if some are gone.

        The columns are the query's, `_ts` (BIGINT or TIMESTAMP) and `_weight`.
        """
        end = self._ends.get(query.name)
        if end is None or not end.length:
            return None
        is_older = instant is None or instant < end.after
        if is_older and self.has_log(query):
            return None
        tables = end.tables if instant is None else end.since(instant)
        found = pa.concat_tables(tables or [end.own[0].slice(0, 0)])
        if clock.kind == "integer":
            return found
        import pyarrow.compute as pc

        place = len(query.columns)
        raw = pc.multiply(found.column(place), integers([clock.granularity])[0])
        return found.set_column(place, "_ts", raw.cast(pa.timestamp("us")))

    def forget(self, query: Query, until: Instant) -> bool:
        """Let go of a query's elements up to an instant; return whether its log has some too."""
        end = self._ends.get(query.name)
        if end is not None:
            left = End(query, end.after, are_logged=end.are_logged)
            kept = end.since(until)
            for table, start in zip(kept, end.starts[end.length - len(kept) :], strict=True):
                left = left.with_(table, start)
            self._put(query, left)
        return self.has_log(query)

    def last(self, query: Query, until: Instant) -> Instant | None:
        """Return the last instant at or before another one of a query's elements here, if any."""
        end = self._ends.get(query.name)
        return None if end is None else end.last(until)

    def has_log(self, query: Query) -> bool:
        """Return whether a query may have elements in its log."""
        return query.name in self.kept[1] or not self._database.in_memory


def _after(table: pa.Table, instant: Instant) -> pa.Table:
    """Return the rows after an instant."""
    import pyarrow.compute as pc

    times = table.column("_ts")
    ends = pc.min_max(times)
    if ends["min"].as_py() > instant:
        return table
    if ends["max"].as_py() <= instant:
        return table.slice(0, 0)
    return table.filter(pc.greater(times, instant))
