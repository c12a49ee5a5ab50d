"""What closing relations has changed last, so that a tick need not look for it in their stores.

A relation that is closed with few pending elements leaves the rows that entered and ended in a
temporary table (`relation.Scratch.changed`). It stays good until the relation is closed again: a
query whose tick begins at or after the changes before these finds all it has to read there. The
instants are remembered in memory; of a relation that this process has not closed yet, the heartbeat
with which it was opened says that there is nothing after it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from cqlduck.rewrite.plan import NEVER
from cqlduck.rewrite.text.time import BEGINNING, Instant
from cqlduck.state import listing
from cqlduck.state.connection import Database, quoted
from cqlduck.state.registered import Input


@dataclass(frozen=True)
class Changes:
    """The last changes of a relation's store.

    Attributes:
        after: An instant at or after all changes before these.
        last: The last instant of these.
        table: The temporary table that has them, or None.
        pending_since: The number of the first element that has come into the queue since its table
            was made, as far as is known.
        empty_at: The number of the next element when the queue was empty after these, or None.
    """

    after: Instant
    last: Instant
    table: str | None
    pending_since: int = 0
    empty_at: int | None = None


class RelationChanges:
    """The last changes of the relations of a database.

    Args:
        database: The database.
    """

    def __init__(self, database: Database) -> None:
        """Begin with none."""
        self.kept: Mapping[str, Changes] = {}
        self._leads: dict[str, tuple[int, tuple[str, ...]]] = {}
        self._database = database
        database.participants.append(self)

    def roll_back(self, kept: Mapping[str, Changes]) -> None:
        """Know again what was known when the transaction began that is undone."""
        self.kept = kept

    def note(self, thing: Input, changes: Changes) -> None:
        """Remember what closing a relation has changed."""
        self.kept = {**self.kept, thing.table: changes}

    def meet(self, thing: Input) -> None:
        """Note of a relation that has not been closed here that its store has changed before."""
        if thing.table not in self.kept:
            last = BEGINNING if thing.heartbeat is None else thing.heartbeat
            self.note(thing, Changes(last, last, None))

    def pending_since(self, thing: Input) -> int:
        """Return the number of the first element that came into a queue as it is, or 0."""
        known = self.kept.get(thing.table)
        return 0 if known is None else known.pending_since

    def empty_at(self, thing: Input) -> int | None:
        """Return the number of the next element when a queue was seen to be empty, or None."""
        known = self.kept.get(thing.table)
        return None if known is None else known.empty_at

    def is_empty(self, thing: Input) -> None:
        """Note that the queue of a relation is empty."""
        known = self.kept.get(thing.table)
        if known is not None and known.empty_at != thing.next_seq:
            self.note(thing, replace(known, empty_at=thing.next_seq))

    def forget(self, thing: Input) -> None:
        """Know nothing of a relation that is dropped: another one may get the name of its store."""
        self.kept = {store: known for store, known in self.kept.items() if store != thing.table}
        self._leads.pop(thing.table, None)

    def is_as_before(self, store: str, low: Instant) -> bool:
        """Return whether nothing in a store begins or ends after an instant, as far as is known."""
        known = self.kept.get(store)
        return known is not None and low >= known.last

    def read(self, store: str, low: Instant) -> str:
        """Return where the changes of a store after an instant are, as a FROM item with WHERE.

        Before the first tick of a query that is the store: what is filled at the beginning of time
        may have been filled there before.

        Args:
            store: The name of the store's table, in `cql_state`.
            low: The instant.
        """
        known = self.kept.get(store)
        if (
            known is None
            or low == NEVER
            or low < known.after
            or (known.table is None and low < known.last)
        ):
            return f"cql_state.{quoted(store)} WHERE (_cql_enter > low OR _cql_leave <= high)"
        if known.table is None:
            return f"cql_state.{quoted(store)} WHERE false"
        return f"temp.{quoted(known.table)} WHERE (_cql_enter > low OR _cql_leave <= high)"

    def leads(self, thing: Input) -> tuple[str, ...]:
        """Return columns of a relation by which few rows have the same value, the best one first.

        They are its key, or all of its columns, by DuckDB's estimate of how many values they have,
        which is asked again as the relation grows.
        """
        seen, leads = self._leads.get(thing.table, (0, ()))
        if not leads or thing.next_seq > 2 * seen:
            names = thing.primary_key or tuple(c.name for c in thing.columns)
            listed = ", ".join(f"stats({quoted(name)})" for name in names)
            found = self._database.rows(
                f"SELECT {listed} FROM cql_state.{quoted(thing.table)} LIMIT 1"
            )
            counts = [listing.distinct(one) for one in found[0]] if found else [0] * len(names)
            order = sorted(range(len(names)), key=lambda place: -counts[place])
            leads = tuple(names[place] for place in order)
            self._leads[thing.table] = thing.next_seq, leads
        return leads
