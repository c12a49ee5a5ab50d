"""What the pages show, as SQL that anybody can run: in `con.sql`, or in a shell on a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cqlduck.connection import Connection
from cqlduck.display import head

MAX_ROWS = 200
"""How many rows of an answer, or of what somebody asks, a page shows."""

MAX_TICKS = 120
"""How many of the last ticks a page draws."""

OVERVIEW: Mapping[str, str] = {
    "queries": "SELECT name, kind, state, frontier, inputs, family, error FROM cql.queries",
    "streams": "SELECT name, elements, heartbeat, last_element, late, folder, waiting_for "
    "FROM cql.streams",
    "relations": "SELECT name, elements, heartbeat, last_element, primary_key, folder, "
    "waiting_for FROM cql.relations",
    "late": "SELECT input, reason, sum(occurrences)::BIGINT AS elements FROM cql.late GROUP BY ALL "
    "ORDER BY ALL",
}
"""The tables of the first page, by name."""

TICKS = (
    f"SELECT number, until, elements, seconds FROM cql.ticks ORDER BY number DESC LIMIT {MAX_TICKS}"
)
"""The last ticks, the newest first."""


@dataclass(frozen=True)
class Table:
    """The first rows of a SELECT.

    Attributes:
        columns: The names of their columns.
        rows: The rows, at most `MAX_ROWS`.
        has_more: Whether there are more.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    has_more: bool

    @property
    def records(self) -> list[dict[str, Any]]:
        """The rows by the names of their columns."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


def table(con: Connection, sql: str) -> Table:
    """Return the first rows of a SELECT.

    Args:
        con: The connection.
        sql: What is asked.

    Raises:
        Error: Of the family; among others it changes something.
    """
    found = con.sql(sql)
    return _first(found.columns, found.limit(MAX_ROWS + 1).fetchall())


def _first(columns: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> Table:
    return Table(tuple(columns), tuple(rows[:MAX_ROWS]), len(rows) > MAX_ROWS)


def answer(con: Connection, name: str) -> Table:
    """Return the first rows of the answer of a query; of a stream its newest elements.

    Raises:
        QueryError: The query failed, or one below it.
    """
    return _first(*head(con, con.engine.query(name), MAX_ROWS + 1))
