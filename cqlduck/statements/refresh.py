"""REFRESH of relations: the difference between their content and a query or a caller's data.

The difference becomes deletions and insertions at one instant, chosen as for UPDATE and DELETE
(`dml`). Unchanged rows emit no element.
"""

from __future__ import annotations

from typing import Any

import duckdb
import pyarrow as pa

from cqlduck import ingest
from cqlduck.engine import Engine
from cqlduck.errors import DataError, LateError, NotSupportedError, first_line
from cqlduck.moments import raw_time
from cqlduck.rewrite.text.reads import tables_read
from cqlduck.state import arrivals, difference, instants
from cqlduck.state.columns import typed
from cqlduck.state.connection import quoted
from cqlduck.state.registered import Input
from cqlduck.statements.dml import pending_shown
from cqlduck.statements.plain_sql import reads


def relation(engine: Engine, name: str) -> Input:
    """Return the relation that is to be refreshed.

    Raises:
        DataError: It is a stream.
    """
    thing = engine.input(name)
    if thing.kind == "stream":
        raise DataError(
            f"{name} is a stream, and a stream is append-only", hint="refresh a relation"
        )
    return thing


def from_query(engine: Engine, name: str, query: str | None = None, at: Any = None) -> int:
    """Refresh a relation from a query, by default its own; return the number of elements.

    Args:
        engine: The engine, inside a change.
        name: The relation.
        query: The query.
        at: The instant, or None.

    Raises:
        DataError: It is a stream, or was created from no query, or the rows do not fit.
        NotSupportedError: The query is a statement that changes something.
        LateError: The instant is at or before the relation's heartbeat.
    """
    thing = relation(engine, name)
    query = thing.query if query is None else query
    if query is None:
        raise DataError(
            f"{name} was not created from a query",
            hint=f"say from what: REFRESH RELATION {name} FROM (SELECT …)",
        )
    if not reads(query):
        raise NotSupportedError(
            f"{name} can only be refreshed from a query that reads", hint="as in FROM (SELECT …)"
        )
    with pending_shown(engine, tables_read(query)):
        rows = ingest.of_query(engine, thing, query)
    return _replace(engine, thing, rows, at)


def from_data(engine: Engine, thing: Input, table: pa.Table, at: Any = None) -> int:
    """Refresh a relation from rows that are read; return the number of elements.

    Args:
        engine: The engine, inside a change.
        thing: The relation.
        table: Its rows.
        at: The instant, or None.

    Raises:
        DataError: The rows do not fit, or carry instants.
        LateError: The instant is at or before the relation's heartbeat.
    """
    with ingest.arriving(engine, thing, table, at, "+") as rows:
        if at is None and "_ts" in rows.stamp:
            raise DataError(
                f"the data for {thing.name} has a column _ts, and a refresh has one instant",
                hint="pass the instant as at, and leave the column out",
            )
        return _replace(engine, thing, rows, at)


def _replace(engine: Engine, thing: Input, rows: arrivals.Arrivals, at: Any) -> int:
    """Make rows the content of a relation; return the number of elements."""
    raw = engine.next_raw_time(thing) if at is None else raw_time(engine, at)
    instant = instants.instant_of(engine.clock, raw)
    if thing.heartbeat is not None and instant <= thing.heartbeat:
        raise LateError(
            f"{thing.name} cannot change at {engine.shown(instant)} any more; its heartbeat is at "
            f"{engine.shown(thing.heartbeat)}",
            rows=[],
            hint="leave the instant out, or take a later one",
        )
    listed = ", ".join(
        f"{value} AS {quoted(c.name)}" for value, c in zip(rows.columns, thing.columns, strict=True)
    )
    try:
        difference.write_after(engine.database, listed, rows.source)
    except (duckdb.ConversionException, duckdb.OutOfRangeException, duckdb.InvalidInputException,
            duckdb.BinderException) as error:  # fmt: skip
        raise DataError(
            f"the rows do not fit {thing.kind} {thing.name}: {first_line(error)}",
            hint=f"its columns are {typed(thing.columns)}",
        ) from error
    twice = difference.twice_under_key(engine.database, thing)
    if twice is not None:
        shown = ", ".join(f"{k} = {v!r}" for k, v in zip(thing.primary_key, twice, strict=True))
        raise DataError(
            f"{thing.name} would have several rows under its primary key: {shown}",
            hint="give it one row for each key, as with DISTINCT ON or GROUP BY",
        )
    buffer = engine.relation_buffer
    difference.write_before(engine.database, thing, instant, buffer, strict=engine.strict)
    rows = difference.elements(engine.database, thing)
    return engine.accept(thing, arrivals.at_once(rows, engine.clock, raw)).taken
