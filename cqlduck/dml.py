"""INSERT, UPDATE and DELETE on streams and relations, and REFRESH of relations, as elements.

The statement runs, as it was written, on a temporary table of the same name: empty for a plain
INSERT, else with the relation's content, what is pending included. The difference between before
and after becomes elements at the first instant after the input's heartbeat, or at that of its
latest pending element if later; the rows of a stream with TIMESTAMP BY carry their own. A refresh
takes the difference between the content and what a query or the caller gives.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

import duckdb

from cqlduck import offsets
from cqlduck.engine import Engine
from cqlduck.errors import CatalogError, DataError, LateError, NotSupportedError
from cqlduck.rewrite.plan import Column
from cqlduck.rewrite.syntax import Dml, tokenize
from cqlduck.state import instants, queues, relations
from cqlduck.state.catalog import Input, same_rows, typed
from cqlduck.state.connection import quoted


def run(
    engine: Engine, statement: Dml, parameters: Sequence[Any] | Mapping[str, Any] | None
) -> int:
    """Run the statement inside a change; return the number of elements.

    Raises:
        CatalogError: The target is a continuous query.
        NotSupportedError: UPDATE or DELETE on a stream.
    """
    if statement.name.lower() in engine.catalogue.queries:
        raise CatalogError(
            f"{statement.name} is a continuous query, whose answer follows from its inputs",
            hint="change its streams and relations instead",
        )
    thing = engine.input(statement.name)
    if thing.kind == "stream" and statement.kind != "INSERT":
        raise NotSupportedError(
            f"{statement.kind} on the stream {thing.name}: a stream only grows",
            hint="a window forgets a stream's tuples by itself",
        )
    if any(token.text.upper() == "RETURNING" for token in tokenize(statement.text)):
        raise NotSupportedError(
            f"RETURNING on {thing.name}", hint="read the relation, or changes() of a query over it"
        )
    mentions = sum(t.text.lower() == thing.name.lower() for t in tokenize(statement.text))
    whole = statement.kind != "INSERT" or mentions > 1
    if whole and thing.kind == "stream":
        raise NotSupportedError(
            f"INSERT INTO {thing.name} that reads {thing.name}",
            hint="read a continuous query over it instead",
        )
    database = engine.database
    copy = quoted(thing.name)
    columns, text = thing.columns, statement.text
    if not whole:
        columns = offsets.taking(thing.columns, text, database.described)
    elif statement.kind == "UPDATE":
        text = offsets.assigned(thing.columns, text)
    listed = ", ".join(
        f"{offsets.taken(theirs, own)} AS {quoted(own.name)}"
        for theirs, own in zip(columns, thing.columns, strict=True)
    )
    database.execute(f"CREATE TEMP TABLE {copy} ({typed(columns)})")
    try:
        if whole:
            _content(engine, thing, engine.next_instant(thing))
            database.execute(f"INSERT INTO temp.{copy} SELECT * FROM temp._cql_content_before")
        database.execute(text, parameters)
        database.execute(
            f"CREATE OR REPLACE TEMP TABLE _cql_content_after AS SELECT {listed} FROM temp.{copy}"
        )
    finally:
        # after an error the transaction is over, and the table with it
        with contextlib.suppress(duckdb.Error):
            database.execute(f"DROP TABLE temp.{copy}")
    return _taken(engine, thing, whole)


def _taken(engine: Engine, thing: Input, whole: bool) -> int:
    if thing.timestamp_by is not None:
        own = next(c for c in thing.columns if c.name == thing.timestamp_by)
        stamp = queues.raw_sql(engine.clock, quoted(own.name), own.type)
    else:
        stamp = f"{engine.next_instant(thing)}::BIGINT"
    if not whole:
        given = tuple(Column(c.name, "") for c in thing.columns)
        rows = queues.arrival(thing, "temp._cql_content_after", given, stamp)
        return engine.accept(thing, rows).taken
    return _difference(engine, thing, stamp)


def _content(engine: Engine, thing: Input, raw: int) -> None:
    """Write the content of a relation at a raw time, what is pending included."""
    until = instants.instant_of(engine.clock, raw)
    content = relations.content_at(engine.database, thing, until)
    engine.database.execute(f"CREATE OR REPLACE TEMP TABLE _cql_content_before AS {content}")


def _difference(engine: Engine, thing: Input, stamp: str) -> int:
    """Take what differs before and after as elements at the raw time `stamp`."""
    listed = ", ".join(quoted(c.name) for c in thing.columns)
    before, after = (
        f"SELECT {same_rows(thing.columns)} FROM temp._cql_content_{when} AS content({listed})"
        for when in ("before", "after")
    )
    engine.database.execute(
        f"CREATE OR REPLACE TEMP TABLE _cql_difference AS SELECT {listed}, '-' AS _cql_sign "
        f"FROM ({before} EXCEPT ALL {after}) AS gone"
    )
    engine.database.execute(
        f"INSERT INTO temp._cql_difference SELECT {listed}, '+' FROM "
        f"({after} EXCEPT ALL {before}) AS come"
    )
    given = tuple(Column(c.name, "") for c in thing.columns)
    rows = queues.arrival(thing, "temp._cql_difference", given, stamp, "_cql_sign")
    return engine.accept(thing, rows).taken


def refresh(engine: Engine, thing: Input, rows: queues.Arrival, at: int | None) -> int:
    """Make rows the content of a relation at a raw time; return the number of elements.

    The difference to what stands then, what is pending included, becomes insertions and deletions.

    Raises:
        DataError: Two rows have one primary key, or a value does not fit its column.
        LateError: The instant is at or before the relation's heartbeat.
    """
    raw = engine.next_instant(thing) if at is None else at
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
        engine.database.execute(
            f"CREATE OR REPLACE TEMP TABLE _cql_content_after AS SELECT {listed} FROM {rows.source}"
        )
    except (duckdb.ConversionException, duckdb.OutOfRangeException, duckdb.InvalidInputException,
            duckdb.BinderException) as error:  # fmt: skip
        raise DataError(
            f"the rows do not fit {thing.kind} {thing.name}: {str(error).splitlines()[0]}",
            hint=f"its columns are {typed(thing.columns)}",
        ) from error
    _refuse_second_rows(engine, thing)
    _content(engine, thing, raw)
    return _difference(engine, thing, f"{raw}::BIGINT")


def _refuse_second_rows(engine: Engine, thing: Input) -> None:
    if not thing.primary_key:
        return
    keys = ", ".join(quoted(key) for key in thing.primary_key)
    twice = engine.database.rows(
        f"SELECT {keys} FROM temp._cql_content_after GROUP BY {keys} HAVING count(*) > 1 "
        "ORDER BY ALL LIMIT 1"
    )
    if twice:
        shown = ", ".join(f"{k} = {v!r}" for k, v in zip(thing.primary_key, twice[0], strict=True))
        raise DataError(
            f"{thing.name} would have several rows under its primary key: {shown}",
            hint="give it one row for each key, as with DISTINCT ON or GROUP BY",
        )
