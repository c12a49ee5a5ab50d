"""The buffer of relations: elements in memory that are in no queue table yet.

Few changes of a relation, appended and retracted at one instant each, cost most of their time in
statements that write them into the queue, and delete them there in the next tick: 15 ms of the 40
that a tick took of 70 changes of a table with sixteen columns. In memory, where nothing has to
survive, they lie here until the tick that closes their instant, which reads them as one Arrow
table. Whoever else reads the queue has them written first (`store`).

What goes into the queue itself goes there behind what lies here: so all elements here are the last
ones that came, and if the queue was empty before the first of them, they are all that is pending.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pyarrow as pa

from cqlduck.rewrite.operators.relation import BUFFERED
from cqlduck.rewrite.text.time import Instant
from cqlduck.state.arrivals import Prepared
from cqlduck.state.arrow import integers, stored_type
from cqlduck.state.connection import Database, quoted
from cqlduck.state.registered import Input

MAX_ELEMENTS = 10_000
"""How many elements of a relation lie here at most."""


@dataclass(frozen=True)
class Pieces:
    """What came of a relation, at one instant and with one operation a piece.

    Attributes:
        begin: The number of the first element.
        tables: The elements, as the queue has them.
        instants: The instant of each piece.
        operations: Its operation, '+' or '-'.
    """

    begin: int
    tables: tuple[pa.Table, ...] = ()
    instants: tuple[Instant, ...] = ()
    operations: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """How many elements there are."""
        return sum(table.num_rows for table in self.tables)

    @property
    def table(self) -> pa.Table:
        """All elements, in their order; in one piece, for DuckDB reads each by itself."""
        return pa.concat_tables(self.tables).combine_chunks()


def piece(thing: Input, ready: Prepared, instant: Instant, operation: str) -> pa.Table | None:
    """Return elements as the queue would have them; None if they have to be cast.

    Args:
        thing: The relation.
        ready: The rows.
        instant: Their instant.
        operation: '+' or '-'.
    """
    given = {name.lower(): n for n, name in enumerate(ready.table.column_names)}
    columns: dict[str, pa.ChunkedArray | pa.Array] = {}
    for own in thing.columns:
        if own.name.lower() not in given:
            return None
        columns[own.name] = ready.table.column(given[own.name.lower()])
        if stored_type(columns[own.name].type) != own.type:
            return None
    count = ready.table.num_rows
    columns["_ts"] = integers(array("q", [instant]) * count)
    offsets = pa.py_buffer(array("i", range(count + 1)))
    signs = pa.py_buffer(operation.encode() * count)
    columns["_op"] = pa.Array.from_buffers(pa.string(), count, [None, offsets, signs])
    columns["_cql_seq"] = integers(range(thing.next_seq, thing.next_seq + count))
    return pa.table(columns)


class RelationBuffer:
    """The elements of relations that are in no queue table yet.

    Args:
        database: The database.
        may_wait: Returns whether elements of a relation may lie here: the point `arrivals`.
    """

    def __init__(self, database: Database, may_wait: Callable[[Input], bool]) -> None:
        """Begin with none."""
        self._database = database
        self._may_wait = may_wait
        self.kept: Mapping[str, Pieces] = {}
        """The elements, by relation."""
        database.participants.append(self)

    def roll_back(self, kept: Mapping[str, Pieces]) -> None:
        """Have again what was there then."""
        self.kept = kept

    def add(self, thing: Input, ready: Prepared, instant: Instant, operation: str) -> bool:
        """Take elements that came at one instant, before their numbers are given away.

        Args:
            thing: The relation.
            ready: The rows.
            instant: Their instant.
            operation: '+' or '-'.

        Returns:
            Whether they are here; else they have to go into the queue.
        """
        known = self.kept.get(thing.name, Pieces(thing.next_seq))
        count = known.count + ready.table.num_rows
        if not self._database.in_memory or count > MAX_ELEMENTS:
            return False
        table = piece(thing, ready, instant, operation)
        if table is None or not self._may_wait(thing):
            return False
        self._keep(
            thing.name,
            Pieces(
                known.begin,
                (*known.tables, table),
                (*known.instants, instant),
                (*known.operations, operation),
            ),
        )
        return True

    def _keep(self, name: str, pieces: Pieces | None) -> None:
        others = {other: one for other, one in self.kept.items() if other != name}
        self.kept = others if pieces is None else {**others, name: pieces}

    def first(self, thing: Input) -> Instant | None:
        """Return the first instant of the elements here, or None if there are none."""
        known = self.kept.get(thing.name)
        return None if known is None else min(known.instants)

    def due(self, thing: Input, until: Instant, empty_at: int | None) -> Pieces | None:
        """Return all that is pending of a relation, if it is here and none of it is for later.

        Args:
            thing: The relation.
            until: The instant up to which it is closed.
            empty_at: The number of the next element when its queue was seen to be empty, or None.
        """
        known = self.kept.get(thing.name)
        if known is None or known.begin != empty_at or max(known.instants) > until:
            return None
        return known if known.begin + known.count == thing.next_seq else None

    def fill(
        self,
        thing: Input,
        table: str,
        query: str = f"FROM {BUFFERED}",
        values: Mapping[str, int] | None = None,
    ) -> None:
        """Write the elements of a relation into a temporary table, in the place of another one.

        Args:
            thing: The relation.
            table: The table.
            query: What is written, of the elements, which are called `BUFFERED`.
            values: Its parameters.
        """
        made = f"CREATE OR REPLACE TEMP TABLE {quoted(table)} AS {query}"
        with self._database.incoming.readable(BUFFERED, self.kept[thing.name].table):
            self._database.execute(made, values)

    def forget(self, thing: Input) -> None:
        """Let go of the elements of a relation, which are resolved."""
        self._keep(thing.name, None)

    def store(self, thing: Input) -> None:
        """Write the elements of a relation into its queue, inside a change."""
        known = self.kept.get(thing.name)
        if known is not None:
            with self._database.incoming.readable(BUFFERED, known.table):
                self._database.execute(
                    f"INSERT INTO cql_state.{quoted(thing.pending)} FROM {BUFFERED}"
                )
            self._keep(thing.name, None)
