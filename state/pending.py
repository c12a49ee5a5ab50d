"""What is pending of a relation up to an instant, wherever it lies, and the statements about it.

Its elements lie in its queue table (`InTable`), or all of them in memory (`InMemory`). To close an
instant asks both the same: what there is, to be where statements find it, and to be gone then.
"""

from __future__ import annotations

import abc
import functools
from collections.abc import Mapping
from dataclasses import dataclass, replace

from cqlduck.rewrite.operators import outcome, primary_key_swap, relation
from cqlduck.rewrite.operators.relation import Law, Relation, Scratch
from cqlduck.rewrite.text.time import Instant
from cqlduck.state import stores
from cqlduck.state.changed import RelationChanges
from cqlduck.state.connection import Database, quoted
from cqlduck.state.registered import Input
from cqlduck.state.relation_buffer import Pieces, RelationBuffer

MAX_SCRATCH_ELEMENTS = 10_000
"""How many elements are set apart at most before they are judged."""

MAX_SWAPPED_ELEMENTS = 1_000_000
"""How many elements are resolved apart at most where keys swap their tuples: that takes half of the
time of the general law, but as much memory as what changes, once."""

MAX_DELETED = 10_000
"""How many elements a queue has had at most that is emptied by deleting them."""


@dataclass(frozen=True)
class Pending:
    """What is pending of a relation up to an instant.

    Attributes:
        count: How many elements.
        inserts: How many of them are insertions.
        upserts: How many are upserts.
        first: The first of their instants, or None.
        last: The last one.
        with_nulls: The columns with a NULL by which rows of the store are looked for.
        later: The first instant of what is left for later, or None.
    """

    count: int
    inserts: int
    upserts: int
    first: Instant | None
    last: Instant | None
    with_nulls: frozenset[str]
    later: Instant | None

    @property
    def are_insertions(self) -> bool:
        """Whether there are insertions alone."""
        return self.inserts == self.count

    @property
    def are_upserts(self) -> bool:
        """Whether there are upserts alone."""
        return self.upserts == self.count

    @property
    def is_at_once(self) -> bool:
        """Whether all of it has one instant."""
        return self.first == self.last


class Elements(abc.ABC):
    """The pending elements of a relation that are due.

    Args:
        database: The database, inside a transaction.
        thing: The relation.
        until: The instant up to which they are due.
        since: From which number on its queue table has had elements.
        found: What they are.
    """

    def __init__(
        self, database: Database, thing: Input, until: Instant, since: int, found: Pending
    ) -> None:
        """Have none of them resolved."""
        self.database, self.thing, self.until = database, thing, until
        self.since, self.found = since, found

    @property
    @abc.abstractmethod
    def is_short(self) -> bool:
        """Whether they are all of a queue table that has never been long."""

    @abc.abstractmethod
    def write_pending(self, of: Relation) -> None:
        """Write them into `Scratch.pending`, if there is to be one."""

    @abc.abstractmethod
    def write_insertions(self, of: Relation) -> None:
        """Write what they change into `Scratch.changed`, if they are insertions that all enter."""

    @abc.abstractmethod
    def write_swaps(self, of: Relation) -> None:
        """Write what they change into `Scratch.changed`, if each key swaps its tuple at most."""

    @abc.abstractmethod
    def store(self) -> None:
        """Have them lie in the queue table."""

    def remove(self) -> int:
        """Remove them from the queue table; return from which number on it has had elements.

        DuckDB leaves deleted rows where they lie, in memory for good, and every scan passes them.
        So a table that is empty then, and has had many elements, is made anew.
        """
        thing = self.thing
        if self.found.later is None and thing.next_seq - self.since > MAX_DELETED:
            stores.make_pending(self.database, thing)
            return thing.next_seq
        text = statement(described(thing), outcome.resolved)
        self.database.execute(text, {"until": self.until})
        return self.since


class InTable(Elements):
    """Those that lie in the queue table."""

    @property
    def is_short(self) -> bool:
        """Whether nothing is left for later, and the table has never had many."""
        return self.found.later is None and self.thing.next_seq - self.since <= MAX_DELETED

    _is_copied = False

    def write_pending(self, of: Relation) -> None:
        """Copy them, once."""
        if not self._is_copied:
            write_queued(self.database, of, self.until)
            self._is_copied = True

    def write_insertions(self, of: Relation) -> None:
        """Write it from the table."""
        assert of.scratch is not None
        values = {"until": self.until}
        write(self.database, of, of.scratch.changed, outcome.changed_by_insertions, values)

    def write_swaps(self, of: Relation) -> None:
        """Write it from `Scratch.pending`."""
        assert of.scratch is not None
        assert self.found.first is not None
        self.write_pending(of)
        values = {"instant": self.found.first}
        write(self.database, of, of.scratch.changed, primary_key_swap.changed, values)

    def store(self) -> None:
        """They lie there."""


class InMemory(Elements):
    """All that is pending, where that lies in the buffer."""

    def __init__(
        self,
        database: Database,
        thing: Input,
        until: Instant,
        since: int,
        pieces: Pieces,
        buffer: RelationBuffer,
    ) -> None:
        """See what there is."""
        super().__init__(database, thing, until, since, found_in_memory(thing, pieces))
        self.buffer = buffer

    is_short = False

    def write_pending(self, of: Relation) -> None:
        """Write them into the table."""
        assert of.scratch is not None
        assert of.scratch.pending is not None
        self.buffer.fill(self.thing, of.scratch.pending)

    def write_insertions(self, of: Relation) -> None:
        """Write it from memory."""
        assert of.scratch is not None
        text = statement(of, outcome.changed_by_buffer)
        self.buffer.fill(self.thing, of.scratch.changed, text)

    def write_swaps(self, of: Relation) -> None:
        """Write it from memory, without a table of the elements."""
        assert of.scratch is not None
        assert self.found.first is not None
        there = replace(of, scratch=replace(of.scratch, pending=relation.BUFFERED))
        text, values = statement(there, primary_key_swap.changed), {"instant": self.found.first}
        self.buffer.fill(self.thing, of.scratch.changed, text, values)

    def store(self) -> None:
        """Write them there."""
        self.buffer.store(self.thing)

    def remove(self) -> int:
        """Let go of them where they are."""
        if self.thing.name not in self.buffer.kept:
            return super().remove()
        self.buffer.forget(self.thing)
        return self.since


def due(
    database: Database,
    thing: Input,
    until: Instant,
    changed: RelationChanges,
    buffer: RelationBuffer,
) -> Elements:
    """Return what is pending of a relation at or before an instant.

    Args:
        database: The database, inside a transaction.
        thing: The relation.
        until: The instant.
        changed: What is known of the relation's last changes, and of its queue table.
        buffer: The elements that are not in the table yet; they are written there, unless they are
            all that is pending.
    """
    since = changed.pending_since(thing)
    pieces = buffer.due(thing, until, changed.empty_at(thing)) if has_row_ids(thing) else None
    if pieces is not None:
        return InMemory(database, thing, until, since, pieces, buffer)
    buffer.store(thing)
    return InTable(database, thing, until, since, found_in_table(database, thing, until))


def found_in_memory(thing: Input, pieces: Pieces) -> Pending:
    """Return what is pending, if that is what lies in the buffer."""
    names = thing.primary_key or tuple(c.name for c in thing.columns)
    both = zip(pieces.tables, pieces.operations, strict=True)
    inserts = sum(table.num_rows for table, operation in both if operation == "+")
    with_nulls = {n for n in names for table in pieces.tables if table.column(n).null_count}
    first, last = min(pieces.instants), max(pieces.instants)
    return Pending(pieces.count, inserts, 0, first, last, frozenset(with_nulls), None)


def found_in_table(database: Database, thing: Input, until: Instant) -> Pending:
    """Return what is pending in the queue table up to an instant."""
    names = thing.primary_key or tuple(c.name for c in thing.columns)
    nulls = "".join(f", {quoted(name)} IS NULL AS n{place}" for place, name in enumerate(names))
    any_null = "".join(
        f", coalesce(bool_or(n{place}) FILTER (is_due), false)" for place in range(len(names))
    )
    ((count, inserts, upserts, first, last, later, *has_null),) = database.rows(
        "SELECT count(*) FILTER (is_due), count(*) FILTER (is_due AND _op = '+'), "
        "count(*) FILTER (is_due AND _op = 'u'), min(_ts) FILTER (is_due), "
        f"max(_ts) FILTER (is_due), min(_ts) FILTER (NOT is_due){any_null} FROM (SELECT _ts, _op, "
        f"_ts <= ? AS is_due{nulls} FROM cql_state.{quoted(thing.pending)}) AS elements",
        [until],
    )
    with_nulls = frozenset(name for name, has in zip(names, has_null, strict=True) if has)
    return Pending(count, inserts, upserts, first, last, with_nulls, later)


# -- the relation as the delta rules see it -------------------------------------------------------


def described(
    thing: Input,
    found: Pending | None = None,
    lead: str | None = None,
    *,
    is_short: bool = False,
    has_index: bool = False,
) -> Relation:
    """Return a relation as the delta rules see it.

    Args:
        thing: The relation.
        found: What is pending; if that is little, it is resolved apart.
        lead: By which column rows are looked for first then.
        is_short: Whether that is all of a queue table that has never been long.
        has_index: Whether that column has an index, in which that few are looked up.
    """
    result, few, stored, changed = stores.scratch_tables(thing)
    of = Relation(thing.columns, thing.primary_key, thing.table, thing.pending, result)
    if found is None:
        return of
    of = replace(of, matches_null=bool(found.with_nulls))
    is_large = not is_few(thing, found)
    if is_large and not may_swap(thing, found):
        return of
    # many are not worth a copy of their own
    queue = None if is_short or (is_large and found.later is None) else few
    return replace(of, scratch=Scratch(queue, stored, changed, lead, has_index))


def is_few(thing: Input, found: Pending) -> bool:
    """Return whether elements are few, and rows can be told from each other by their ids."""
    return found.count <= MAX_SCRATCH_ELEMENTS and has_row_ids(thing)


def may_swap(thing: Input, found: Pending) -> bool:
    """Return whether it may be that each key swaps its tuple at most once, which is to be seen."""
    if not (thing.primary_key and found.is_at_once) or found.upserts or found.are_insertions:
        return False
    return found.count <= MAX_SWAPPED_ELEMENTS and has_row_ids(thing)


def has_row_ids(thing: Input) -> bool:
    """Return whether row ids can be read: a column may have their name, and hide them."""
    return all(c.name.lower() != "rowid" for c in thing.columns)


def lead_of(thing: Input, found: Pending, changed: RelationChanges | None = None) -> str | None:
    """Return the column by which few elements best find their rows, in which none is NULL."""
    if enters_at_once(thing, found) or not (is_few(thing, found) or may_swap(thing, found)):
        return None
    plain = relation.plain(thing.columns)
    leads = thing.primary_key if changed is None else changed.leads(thing)
    names = (n for n in leads if n in plain and n not in found.with_nulls)
    return next(names, None)


def enters_at_once(thing: Input, found: Pending) -> bool:
    """Return whether nothing has to be judged: what is pending are insertions into a bag."""
    return found.are_insertions and not thing.primary_key


@functools.lru_cache(maxsize=1024)
def statement(of: Relation, law: Law) -> str:
    """Return a statement of a relation, written once."""
    return law(of).sql("duckdb", copy=False)


def write(
    database: Database, of: Relation, table: str, law: Law, values: Mapping[str, int] | None = None
) -> int:
    """Write a temporary table of a relation, in the place of another one; return its rows."""
    made = f"CREATE OR REPLACE TEMP TABLE {quoted(table)} AS {statement(of, law)}"
    return int(database.execute(made, values)[0][0])


def write_queued(database: Database, of: Relation, until: Instant) -> None:
    """Copy few elements of the queue table up to an instant, where need be."""
    if of.scratch is not None and of.scratch.pending is not None:
        write(database, of, of.scratch.pending, relation.queued, {"until": until})
