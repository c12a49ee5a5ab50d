"""SysStream: what operators did, as a stream that queries can read (stream chapter, section 7).

While a query reads it, each tick says there, for every query that it moved, what each operator did:
(query, operator, property, value), at the instant to which the query moved, in the transaction of
the tick. `rows_in`, `rows_out`, `selectivity` and `seconds` are an operator's; those without a
number are the query's: `rows_out` is how many elements it wrote.

Its heartbeat is the least frontier of the queries that are measured, so what reads it moves in the
next tick. What reads it, itself or through others, is not measured: it would feed itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import pyarrow as pa

from cqlduck.rewrite import Compiled
from cqlduck.rewrite.text.time import Instant
from cqlduck.state.catalog import Catalogue
from cqlduck.state.input_buffer import InputBuffer
from cqlduck.state.registered import Input, Query
from cqlduck.streamon.measures import by_operator
from cqlduck.streamon.profiler import MeasuredTick, Profiler

SCHEMA = pa.schema(
    [("query", pa.string()), ("operator", pa.int32()), ("property", pa.string()),
     ("value", pa.float64()), ("_ts", pa.int64()), ("_cql_seq", pa.int64())]
)  # fmt: skip

Said = tuple[str, int | None, str, float]
"""A query, an operator, a property and its value."""


class SystemStream:
    """Writes what operators did.

    Args:
        catalogue: What is registered.
        input_buffer: Takes what is written.
        compiled: The queries' statements, by lower-case name.
        profiler: What has counted the statements of ticks.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        input_buffer: InputBuffer,
        compiled: Mapping[str, Compiled],
        profiler: Profiler,
    ) -> None:
        """Begin with nothing written."""
        self._catalogue = catalogue
        self._input_buffer = input_buffer
        self._compiled = compiled
        self._profiler = profiler
        self._last: dict[str, MeasuredTick] = {}

    def measures(self, query: Query) -> bool:
        """Return whether a tick of a query is to be measured for those that read the stream."""
        thing = self._catalogue.system
        return thing is not None and query not in self._above(thing)

    def _above(self, thing: Input) -> Sequence[Query]:
        return self._catalogue.reading.above.get(thing.name, ())

    def reached(self) -> Instant | None:
        """Return up to where all is said: the least frontier of the queries that are measured.

        If there is none, that is where the inputs are; None if they are nowhere.
        """
        thing = self._catalogue.system
        above = () if thing is None else self._above(thing)
        known = [
            query.frontier
            for query in self._catalogue.running
            if query.state == "active" and query.frontier is not None and query not in above
        ]
        if not known:
            beats = [i.heartbeat for i in self._catalogue.inputs.values() if i is not thing]
            known = [beat for beat in beats if beat is not None] if None not in beats else []
        return min(known, default=None)

    def write(self, moved: Sequence[Query], may_be_held: Callable[[Input], bool]) -> None:
        """Say what the operators of some queries did in a tick, inside it, if a query reads it.

        Args:
            moved: The queries that the tick has moved.
            may_be_held: Whether a tick that reads a stream may do so from memory.
        """
        thing = self._catalogue.system
        if thing is None:
            return
        above = self._above(thing)
        rows: list[tuple[object, ...]] = []
        for query in moved:
            if query in above or query.frontier is None:
                continue
            at = query.frontier
            if thing.heartbeat is not None and at <= thing.heartbeat:
                # of a query that stood still while the others went on
                at = Instant(thing.heartbeat + 1)
            rows += [(*said, at) for said in self._said(query)]
        if rows:
            self._add(thing, rows, is_held=may_be_held(thing))
        reached = self.reached()
        if reached is not None and (thing.heartbeat is None or reached > thing.heartbeat):
            thing.heartbeat = reached

    def _said(self, query: Query) -> Iterator[Said]:
        ticks = self._profiler.last(query.name)
        if not ticks or self._last.get(query.name) is ticks[-1]:
            return
        self._last[query.name] = ticks[-1]
        found = by_operator(self._compiled[query.name.lower()].plan, ticks[-1:])
        members = self._catalogue.members_of(query)
        for name in [one.name for one in members] or [query.name]:
            for number, did in found.items():
                if did.rows_in is not None:
                    yield name, number, "rows_in", did.rows_in
                yield name, number, "rows_out", did.rows_out
                if did.selectivity is not None:
                    yield name, number, "selectivity", did.selectivity
                yield name, number, "seconds", did.seconds
            if 0 in found:
                yield name, None, "rows_out", found[0].rows_out
            yield name, None, "seconds", sum(did.seconds for did in found.values())

    def _add(self, thing: Input, rows: Sequence[tuple[object, ...]], *, is_held: bool) -> None:
        *columns, instants = zip(*rows, strict=True)
        numbers = range(thing.next_seq, thing.next_seq + len(rows))
        values = (*columns, instants, numbers)
        arrays = [pa.array(one, kind.type) for one, kind in zip(values, SCHEMA, strict=True)]
        table = pa.Table.from_arrays(arrays, schema=SCHEMA)
        self._input_buffer.add(thing, table, is_held=is_held)
        thing.next_seq += len(rows)
        first, last = Instant(min(instants)), Instant(max(instants))
        if thing.first_instant is None or first < thing.first_instant:
            thing.first_instant = first
        if thing.last_instant is None or last > thing.last_instant:
            thing.last_instant = last
