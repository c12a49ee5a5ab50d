"""A tick of one query: the statements of its plan over (t₀, t₁], inside the caller's transaction.

Reads only what is at or before t₁ and writes only what is after t₀, so how time is cut into ticks
does not show in what is written.
"""

from __future__ import annotations

from dataclasses import dataclass

from cqlduck.rewrite.compile import Compiled
from cqlduck.rewrite.delta import Form
from cqlduck.state.catalog import Query
from cqlduck.state.connection import Database, quoted

NEVER = -9223372036854775808
"""Before all instants."""


@dataclass(frozen=True)
class Ran:
    """What a tick of a query did.

    Attributes:
        elements: How many elements of its answer it wrote.
        rows: How many rows it wrote.
    """

    elements: int = 0
    rows: int = 0


def run(
    database: Database,
    query: Query,
    compiled: Compiled,
    until: int,
    begin: int,
    staged: bool,
    queued: frozenset[str],
) -> Ran:
    """Bring a query's answer from its frontier to an instant.

    Args:
        database: The database, inside a transaction.
        query: The query; its frontier and its first instant move.
        compiled: Its statements.
        until: t₁.
        begin: The first instant of the query, if it has not begun.
        staged: Whether what meets a state is kept in a temporary table first.
        queued: The streams that are read from their queues.
    """
    first = query.begin_instant is None
    if first:
        query.begin_instant = begin
        before = begin - 1
    else:
        assert query.frontier is not None
        before = query.frontier
    values = {
        "t0": before,
        "t1": until,
        "low": NEVER if first else before,
        "begin": query.begin_instant,
        "since": NEVER if query.since is None else query.since,
    }
    elements = rows = 0
    answer = f"INSERT INTO cql_state.{quoted(query.changes)}"
    for step in compiled.steps.of(Form(until == before + 1, staged, queued)):
        with database.part(query.name, step):
            if step.each is not None:
                for at, following in _instants(database, step.each):
                    here = {**values, "at": at, "next": following}
                    rows += database.run(step, here)
                continue
            written = database.run(step, values)
            rows += written
            if step.sql.startswith(answer):
                elements += written
            if database.profile is not None:
                database.profile.wrote(written)
    query.frontier = until
    return Ran(elements, rows)


def _instants(database: Database, table: str) -> list[tuple[int, int | None]]:
    """Return the instants of a temporary table in order, each with the next one or None."""
    rows = database.rows(f"SELECT * FROM temp.{quoted(table)} ORDER BY ALL")
    return [(at, following) for at, following in rows]
