"""The indexes of synopses, and of the stores of relations: made and dropped between ticks.

What is chosen at the points `search` says which ones there are; here DuckDB's indexes follow, in
the transaction of the tick that runs with them first. An index has no content of its own, so it may
go at any time: so do those of synopses that another plan gives other names (`synopses.adopt`).
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cqlduck.rewrite.operators.search import MAX_KEYS
from cqlduck.state import listing, synopses
from cqlduck.state.caches import Fill
from cqlduck.state.catalog import Catalogue
from cqlduck.state.connection import ALIAS, Database, quoted
from cqlduck.state.disposable import Disposable


@dataclass(frozen=True)
class Index:
    """An index of a table; it has one at most.

    Attributes:
        operator: The number of the operator whose synopsis it is; of a relation 0.
        table: The synopsis, or the store.
        place: Which of its columns has the index, from 0.
    """

    operator: int
    table: str
    place: int

    @property
    def name(self) -> str:
        """What DuckDB knows it by, inside `cql_state`."""
        return f"{self.table}{_INDEX}{self.place + 1}"


_INDEX = "_index"

Known = Mapping[str, tuple[Index, ...]]
"""The indexes that there are, by name of the query or relation."""


class Indexes(Disposable[Index]):
    """The indexes of a database, by query or relation.

    Args:
        database: The database.
        catalogue: What is registered.
    """

    def __init__(self, database: Database, catalogue: Catalogue) -> None:
        """Know none before the database is `opened`."""
        super().__init__(database, catalogue)
        self._most = 0

    def opened(self) -> None:
        """Take note of what the database has."""
        self.kept = load(self.database, self.catalogue)
        self.look_up()

    def prepare(self, owner: str, wanted: Sequence[Index]) -> tuple[Fill, ...]:
        """Have the indexes be there that a tick is about to use, and no others; inside of it.

        Args:
            owner: The query or relation.
            wanted: The indexes.

        Returns:
            The indexes that were made, as what it took.
        """
        self.look_up()
        there = self.of(owner)
        if set(there) == set(wanted):
            return ()
        for index in there:
            if index not in wanted:
                self.database.execute(f"DROP INDEX IF EXISTS cql_state.{quoted(index.name)}")
        made = []
        for index in wanted:
            if index not in there:
                began = time.perf_counter()
                column = synopses.columns_of(self.database, index.table)[index.place].name
                self.database.execute(
                    f"CREATE INDEX {quoted(index.name)} ON cql_state.{quoted(index.table)} "
                    f"({quoted(column)})"
                )
                rows = listing.row_count(self.database, [index.table])
                made.append(Fill(index.operator, rows, time.perf_counter() - began))
        self._know(owner, tuple(wanted))
        return tuple(made)

    def forget(self, owner: str) -> None:
        """Forget a query or relation whose tables have been dropped."""
        self._know(owner, ())

    def _know(self, owner: str, there: tuple[Index, ...]) -> None:
        if self.of(owner) == there:
            return
        super()._know(owner, there)
        self.look_up()

    def look_up(self, most: int = MAX_KEYS) -> None:
        """Have DuckDB look up so many values in indexes at most, while there are any.

        No transaction undoes a setting: after one that was undone it may be another one.
        """
        most = most if self.kept else 0
        if self._most != most:
            setting = "dynamic_or_filter_threshold"
            self.database.execute(f"SET {setting} = {most}" if most else f"RESET {setting}")
            self._most = most


def load(database: Database, catalogue: Catalogue) -> Known:
    """Return the indexes that a database has."""
    if database.is_new:
        return {}
    stores = {one.table: one.name for one in catalogue.inputs.values() if one.kind == "relation"}
    found: dict[str, tuple[Index, ...]] = {}
    for table, name, query, operator in database.rows(
        "SELECT i.table_name, i.index_name, s.query, s.operator FROM duckdb_indexes() AS i "
        "LEFT JOIN cql_state.synopses AS s USING (table_name) "
        f"WHERE i.database_name = '{ALIAS}' AND i.schema_name = 'cql_state' ORDER BY ALL"
    ):
        owner, number = query or stores.get(table), name.removeprefix(f"{table}{_INDEX}")
        # another one is somebody else's
        if owner is not None and number.isdecimal():
            index = Index(operator or 0, table, int(number) - 1)
            found[owner] = (*found.get(owner, ()), index)
    return found
