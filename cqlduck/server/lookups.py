"""What the pages show, as SQL that anybody can run: in `con.sql`, or in a shell on a file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlglot.tokens import TokenType

from cqlduck.connection import Connection
from cqlduck.display import order_of
from cqlduck.errors import Error, NotSupportedError
from cqlduck.rewrite.text.tokens import tokenize
from cqlduck.state.connection import quoted
from cqlduck.statements import plain_sql

MAX_ROWS = 200
"""How many rows of an answer, or of what somebody asks, a page shows."""

MAX_CHARACTERS = 1000
"""How many characters of a value a page shows."""

SECONDS = 30.0
"""How many seconds what somebody asks on a page may take."""

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


_BEFORE = "FROM (\n"
"""What stands before a statement whose first rows are asked for."""

_WHERE_TO_CHANGE = (
    "write a SELECT; what changes something belongs in the application, or in a program that has "
    "the database open"
)

_NUMBER = re.compile(r"(U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|DECIMAL\(.*\)|DOUBLE|FLOAT|BIGNUM)$")


@dataclass(frozen=True)
class Table:
    """The first rows of a SELECT.

    Attributes:
        columns: The names of their columns.
        rows: The rows, at most `MAX_ROWS`.
        has_more: Whether there are more.
        numbers: Of each column, whether it has numbers.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    has_more: bool
    numbers: tuple[bool, ...] = ()

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
    rows = found.limit(MAX_ROWS + 1).fetchall()
    return Table(tuple(found.columns), tuple(rows[:MAX_ROWS]), len(rows) > MAX_ROWS)


def as_text(con: Connection, sql: str) -> Table:
    """Return the first rows of a SELECT, each value as the text that DuckDB writes, or None.

    Args:
        con: The connection.
        sql: What is asked.

    Raises:
        NotSupportedError: It changes something.
        Error: Of the family; among others it takes longer than `SECONDS`.
    """
    if not plain_sql.reads(sql):
        raise NotSupportedError("this page only reads", hint=_WHERE_TO_CHANGE)
    first_rows = _first_rows(sql)
    try:
        found = con.sql(first_rows or sql, timeout=SECONDS)
    except Error as error:
        if error.text == first_rows and error.offset is not None:
            error.text = sql
            error.offset = min(max(error.offset - len(_BEFORE), 0), len(sql) - 1)
        raise
    columns, kinds = tuple(found.columns), [str(kind) for kind in found.types]
    shown = [f"left(CAST({quoted(name)} AS VARCHAR), {MAX_CHARACTERS + 1})" for name in columns]
    rows = found.limit(MAX_ROWS + 1).project(", ".join(shown)).fetchall()
    cut = tuple(tuple(map(_cut, row)) for row in rows[:MAX_ROWS])
    numbers = tuple(_NUMBER.match(kind) is not None for kind in kinds)
    return Table(columns, cut, len(rows) > MAX_ROWS, numbers)


def _first_rows(sql: str) -> str | None:
    """Return a SELECT of the first rows of a statement, so that no others are copied.

    Returns:
        None if it cannot stand in a SELECT, such as an EXPLAIN.
    """
    if not plain_sql.is_select(sql):
        return None
    tokens = tokenize(sql)
    while tokens[-1].token_type == TokenType.SEMICOLON:
        tokens.pop()
    selected = f"{_BEFORE}{sql[: tokens[-1].end + 1]}\n) LIMIT {MAX_ROWS + 1}"
    try:
        return selected if plain_sql.reads(selected) else None
    except Error:
        return None


def _cut(text: str | None) -> str | None:
    if text is None or len(text) <= MAX_CHARACTERS:
        return text
    return f"{text[:MAX_CHARACTERS]}…"


def stopped_below(con: Connection) -> dict[str, str]:
    """Return of queries that cannot go on: those that they read and that stand still, in words."""
    with con.engine.opened():
        known = con.engine.catalogue
        found = {q.name: known.stopped_below(q) for q in known.queries.values()}
    return {
        name: ", ".join(f"{one.name} ({one.state})" for one in stopped)
        for name, stopped in found.items()
        if stopped
    }


def answer(con: Connection, name: str) -> Table:
    """Return the first rows of the answer of a query; of a stream its newest elements.

    Raises:
        QueryError: The query failed, or one below it.
    """
    query = con.engine.query(name)
    return as_text(con, f"FROM {quoted(query.name)} {order_of(query)}")
