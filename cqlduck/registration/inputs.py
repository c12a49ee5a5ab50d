"""Streams and relations: created, dropped, and a heartbeat that is lowered."""

from __future__ import annotations

import re
from collections.abc import Mapping

import duckdb

from cqlduck.engine import Engine
from cqlduck.errors import BindError, CatalogError, DataError, NotSupportedError, first_line
from cqlduck.registration.names import is_registered, refuse_missing
from cqlduck.registration.removal import drop_unread, remove_input, remove_readers
from cqlduck.rewrite.plan import Column
from cqlduck.rewrite.relalg.values import MAX_LEVELS, levels
from cqlduck.rewrite.text.inputs import LATE_POLICIES
from cqlduck.rewrite.text.names import is_reserved, refuse_name
from cqlduck.rewrite.text.options import DEFAULT
from cqlduck.rewrite.text.spelling import said_by_duckdb
from cqlduck.rewrite.text.statements import CreateRelation, CreateStream, Drop
from cqlduck.rewrite.text.time import Instant, RawDuration, WrittenDuration, parse_duration
from cqlduck.state import catalog_rows, columns, inspection, lateness, stores
from cqlduck.state.paths import leads_out
from cqlduck.state.registered import IN_ORDER, Input

TIME_TYPES = ("TIMESTAMP", "DATE", "TIMESTAMP WITH TIME ZONE", "TIMESTAMP_S", "TIMESTAMP_MS",
              "TIMESTAMP_NS")  # fmt: skip
INTEGER_TYPES = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT",
                 "UINTEGER")  # fmt: skip


AMEND = "AMEND"
"""The policy by which late elements change answers."""


def create(engine: Engine, statement: CreateStream | CreateRelation) -> bool:
    """Register a stream or a relation; return whether it was not there before.

    Raises:
        CatalogError: The name is taken.
        BindError: A type that DuckDB does not know.
    """
    with engine.changing():
        kind = "stream" if isinstance(statement, CreateStream) else "relation"
        refuse_name(statement.name)
        if is_registered(engine, statement.name, statement.if_not_exists, kind):
            return False
        if isinstance(statement, CreateRelation) and not statement.columns:
            listed = _columns_of(engine, statement)
        else:
            listed = _typed(engine, statement.columns)
        _refuse_outside(statement.source)
        position = engine.catalogue.next_position
        thing = Input(position, statement.name, kind, listed, source=statement.source)
        thing.number = engine.catalogue.next_number
        if isinstance(statement, CreateStream):
            thing.timestamp_by, thing.late = statement.timestamp_by, statement.late
            if thing.timestamp_by is not None:
                _time_of(engine, thing)
            if statement.bound is not None:
                thing.bound = _distance(engine, statement.bound)
                thing.bound_text = statement.bound.shown
            if statement.ahead is not None:
                thing.ahead = _distance(engine, statement.ahead)
                thing.ahead_text = statement.ahead.shown
        else:
            thing.primary_key, thing.query = statement.primary_key, statement.query
        stores.create(engine.database, thing)
        engine.catalogue.add(thing)
        inspection.refresh(engine.database, engine.catalogue, thing)
        return True


def _refuse_outside(source: str | None) -> None:
    """Refuse a folder that is not inside the drop zone.

    Raises:
        BindError: It begins at a root, or goes up, or is the drop zone itself, or hidden.
    """
    if source is None:
        return
    parts = [part for part in source.replace("\\", "/").split("/") if part]
    if leads_out(source) or not parts or any(part[0] in "._" for part in parts):
        raise BindError(
            f"FROM {source!r} is no folder inside the drop zone",
            hint="name it relative to the drop zone, and below it; names that begin with . or _ "
            "are hidden",
        )


def _columns_of(engine: Engine, statement: CreateRelation) -> tuple[Column, ...]:
    """Return the columns of a relation that has those of its query.

    Raises:
        BindError: A reserved name, one that is there twice, or a key that there is not.
    """
    assert statement.query is not None
    found = columns.of_query(engine.database, statement.query)
    names = [c.name.lower() for c in found]
    for name in names:
        if is_reserved(name) or names.count(name) > 1:
            problem = "a reserved name" if is_reserved(name) else "there twice"
            raise BindError(
                f"the column {name} of the query is {problem}",
                hint="write SELECT … AS something else",
            )
    for part in statement.primary_key:
        if part.lower() not in names:
            raise BindError(
                f"PRIMARY KEY names {part}, which is no column of {statement.name}",
                hint=f"columns: {', '.join(c.name for c in found)}",
            )
    return found


def _time_of(engine: Engine, thing: Input) -> None:
    kind = next(c.type for c in thing.columns if c.name == thing.timestamp_by)
    if kind in TIME_TYPES:
        engine.set_time("wall", f"{thing.timestamp_by} {kind}")
    elif kind in INTEGER_TYPES:
        engine.set_time("integer", f"{thing.timestamp_by} {kind}")
    else:
        raise BindError(
            f"{thing.timestamp_by} is {kind}, which is no timestamp",
            hint="use TIMESTAMP, DATE, TIMESTAMPTZ or an integer type up to BIGINT",
        )


def set_options(engine: Engine, name: str, options: Mapping[str, str]) -> None:
    """Change options of a stream, inside a change; they count for the rows that come next.

    Its heartbeat stays where it is.

    Raises:
        CatalogError: There is no such stream.
        NotSupportedError: AMEND is another way to compute what reads the stream.
        DataError: A distance is of the other kind of time.
    """
    thing = engine.input(name)
    if thing.kind != "stream":
        raise CatalogError(f"{name} is a relation", hint="ALTER STREAM is for streams")
    late = options.get("late")
    if late is not None:
        policy = LATE_POLICIES[0] if late == DEFAULT else late.upper()
        if policy != thing.late and AMEND in (policy, thing.late):
            raise NotSupportedError(
                f"{thing.name} has LATE {thing.late}, which cannot become LATE {policy}: late "
                "elements would change answers that are kept for good, or no longer",
                hint="DROP STREAM, and CREATE it anew",
            )
        thing.late = policy
    given = {key: None if text == DEFAULT else parse_duration(text)
             for key, text in options.items() if key != "late"}  # fmt: skip
    if "out_of_order_within" in given:
        bound = given["out_of_order_within"]
        thing.bound = IN_ORDER if bound is None else _distance(engine, bound)
        thing.bound_text = None if bound is None else bound.shown
    if "ahead_at_most" in given:
        ahead = given["ahead_at_most"]
        thing.ahead = None if ahead is None else _distance(engine, ahead)
        thing.ahead_text = None if ahead is None else ahead.shown
    catalog_rows.move(engine.database, thing)


def _distance(engine: Engine, written: WrittenDuration) -> RawDuration:
    """Return a distance between timestamps as a raw duration.

    Raises:
        DataError: It is of the other kind of time.
    """
    if written.instants is not None:
        engine.set_time("integer", "a bound without a unit")
        return RawDuration(int(written.instants))
    assert written.microseconds is not None
    if engine.catalogue.settings.get("time") is None:
        engine.set_time("wall", "a bound with a unit")
    integer = engine.clock.kind == "integer"
    return RawDuration(int(written.microseconds) // (engine.clock.instant if integer else 1))


def lower_heartbeat(engine: Engine, name: str, until: Instant) -> None:
    """Take a stream's heartbeat back to an instant; elements after it leave for `cql.late`.

    Raises:
        CatalogError: There is no such stream.
        DataError: Its heartbeat is before that instant, or a query has gone beyond it.
    """
    thing = engine.input(name)
    if thing.kind != "stream":
        raise CatalogError(f"{name} is a relation", hint="ALTER STREAM is for streams")
    if thing.heartbeat is None or until > thing.heartbeat:
        raise DataError(
            f"the heartbeat of {name} is at {engine.shown(thing.heartbeat)}, which is not after "
            f"{engine.shown(until)}",
            hint=f"ALTER STREAM takes it back; heartbeat('{name}', …) raises it",
        )
    known = [q for q in engine.catalogue.queries.values() if q.frontier is not None]
    beyond = [
        f"{q.name} (at {engine.shown(q.frontier)})"
        for q in known
        if q.frontier is not None and q.frontier > until and thing in engine.catalogue.inputs_of(q)
    ]
    if beyond:
        raise DataError(
            f"answers beyond {engine.shown(until)} are out: {', '.join(beyond)}",
            hint="take the heartbeat back to no earlier than their frontiers, or drop these "
            "queries first",
        )
    lateness.lower_heartbeat(engine.database, engine.clock, thing, until)
    engine.recount()


def _typed(engine: Engine, written: tuple[tuple[str, str], ...]) -> tuple[Column, ...]:
    for name, kind in written:
        if re.search(r"\bCOLLATE\b", kind, re.IGNORECASE):
            raise NotSupportedError(
                f"column {name}: COLLATE on a column is not supported",
                hint="leave it out, and compare with COLLATE: WHERE x COLLATE NOCASE = 'a'",
            )
    try:
        known = columns.types_of(engine.database, [kind for _, kind in written])
    except duckdb.Error:
        known = [_type(engine, name, kind) for name, kind in written]
    for (name, _), kind in zip(written, known, strict=True):
        if levels(kind) > MAX_LEVELS:
            raise NotSupportedError(
                f"column {name} has a type of {levels(kind)} levels",
                hint=f"Arrow, in which rows come in, has some {MAX_LEVELS}",
            )
    return tuple(Column(name, kind) for (name, _), kind in zip(written, known, strict=True))


def _type(engine: Engine, name: str, kind: str) -> str:
    """Return the type of a column as DuckDB calls it.

    Raises:
        BindError: It has none of this name.
    """
    try:
        return columns.types_of(engine.database, [kind])[0]
    except duckdb.Error as error:
        raise BindError(
            f"column {name}: DuckDB does not know the type {kind}: "
            f"{said_by_duckdb(first_line(error))}"
        ) from error


def drop(engine: Engine, statement: Drop) -> None:
    """Drop a stream or relation.

    Raises:
        CatalogError: It is not there, or a query reads it and the statement does not say CASCADE.
    """
    with engine.changing():
        thing = engine.catalogue.inputs.get(statement.name.lower())
        kind = statement.kind.lower()
        if thing is None or thing.kind != kind:
            same = [i for i in engine.catalogue.inputs.values() if i.kind == kind]
            refuse_missing(statement, kind, same)
            return
        remove_readers(engine, statement, thing)
        if engine.catalogue.inputs.get(statement.name.lower()) is thing:
            # the stream of what operators did may be gone with its last reader
            remove_input(engine, thing)
        drop_unread(engine)
