"""The caches of joins: made, filled and dropped between ticks.

What is chosen at the points `caches` says which ones there are; here the tables follow, in the
transaction of the tick that runs with them first. A cache that is made is filled with its content
at the frontier, so it may be dropped at any time, and nothing is lost: in particular when the plan
has become another one, for whose joins it is not.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from cqlduck.rewrite.physical.statement import DISPOSABLE, Synopsis
from cqlduck.rewrite.statements.filling import Filled
from cqlduck.state import inspection, synopses
from cqlduck.state.connection import Database, quoted
from cqlduck.state.disposable import Disposable
from cqlduck.state.filling import Limit, fill
from cqlduck.state.registered import Query

Known = Mapping[str, tuple[Synopsis, ...]]
"""The caches that there are, by name of the query."""


@dataclass(frozen=True)
class Fill:
    """A cache that was filled.

    Attributes:
        operator: The number of the join.
        rows: How many rows it has.
        seconds: How long it took to make and fill it.
    """

    operator: int
    rows: int
    seconds: float


class Caches(Disposable[Synopsis]):
    """The caches of a database, by query."""

    def opened(self) -> None:
        """Take note of what the database has."""
        self.kept = load(self.database)

    def prepare(
        self,
        query: Query,
        wanted: Sequence[Filled],
        instants: Mapping[str, int],
        limit: Limit | None,
        *,
        is_first: bool,
    ) -> tuple[Fill, ...]:
        """Have the caches be there that a tick is about to read, and no others; inside of it.

        Args:
            query: The query.
            wanted: The caches.
            instants: The parameters of the tick, whose names are bound.
            limit: What it may take to fill one; None is any.
            is_first: Whether it is the first of the query, before which nothing stands.

        Returns:
            The caches that were filled.

        Raises:
            LimitExceeded: To fill one would take more. The tick has to be undone.
        """
        names = {one.name for one in self.of(query.name)}
        if names == {one.synopsis.name for one in wanted}:
            return ()
        self._drop(names - {one.synopsis.name for one in wanted})
        fills = []
        for one in wanted:
            if one.synopsis.name not in names:
                started, rows = time.perf_counter(), 0
                synopses.make(self.database, query.name, one.synopsis)
                if not is_first:
                    rows = fill(self.database, one, instants, limit)
                seconds = time.perf_counter() - started
                fills.append(Fill(one.synopsis.operator, rows, seconds))
        self._know(query.name, tuple(one.synopsis for one in wanted))
        inspection.refresh(self.database, self.catalogue, query)
        return tuple(fills)

    def _drop(self, names: Iterable[str]) -> None:
        for name in sorted(names):
            self.database.execute(f"DROP TABLE IF EXISTS cql_state.{quoted(name)}")
            self.database.execute("DELETE FROM cql_state.synopses WHERE table_name = ?", [name])

    def forget(self, query: str) -> None:
        """Forget a query whose synopses have been dropped."""
        self._know(query, ())


def load(database: Database) -> Known:
    """Return the caches that a database has."""
    if database.is_new:
        return {}
    found: dict[str, tuple[Synopsis, ...]] = {}
    for query, number, kind, table in database.rows(
        "SELECT query, operator, kind, table_name FROM cql_state.synopses "
        "WHERE list_contains(?, kind) ORDER BY operator, table_name",
        [DISPOSABLE],
    ):
        columns = synopses.columns_of(database, table)
        found[query] = (*found.get(query, ()), Synopsis(table, number, kind, columns))
    return found
