"""INSERT, UPDATE and DELETE on streams and relations, as elements.

The statement runs, unchanged, on a temporary table of the same name: empty for a plain INSERT,
otherwise with the relation's content including pending elements. The other relations that it reads
include their pending elements too. The difference between before and after becomes elements at the
first instant after the input's heartbeat, or at that of its latest element, with an effect or
without, if that is later; the rows of a stream with TIMESTAMP BY have their own. A relation that
has neither a heartbeat nor an element with an instant changes at the beginning of time.

Elements of that instant that have no effect on the content that a statement reads have none later
either: they are recorded, and are no longer pending (`relations.leave_effective`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cqlduck.engine import Engine
from cqlduck.errors import CatalogError, DataError, NotSupportedError
from cqlduck.rewrite.plan import FOREVER
from cqlduck.rewrite.text.reads import has_on_conflict, tables_read
from cqlduck.rewrite.text.statements import Dml
from cqlduck.rewrite.text.time import Instant
from cqlduck.state import arrivals, difference, instants, listing, relations, stores
from cqlduck.state.connection import quoted
from cqlduck.state.registered import Input
from cqlduck.statements import assignments, offsets


def run(
    engine: Engine, statement: Dml, parameters: Sequence[Any] | Mapping[str, Any] | None
) -> int:
    """Run the statement inside a change; return the number of elements.

    Raises:
        CatalogError: The target is a continuous query.
        DataError: ON CONFLICT, and a key that is there already has a NULL.
        NotSupportedError: UPDATE or DELETE on a stream, RETURNING, or ON CONFLICT without a key.
    """
    conflicts = statement.kind == "INSERT" and has_on_conflict(statement.tokens)
    thing = _target(engine, statement, conflicts)
    database = engine.database
    read = tables_read(statement.text, statement.tokens)
    whole = statement.kind != "INSERT" or conflicts or thing.name.lower() in read
    if whole and thing.kind == "stream":
        raise NotSupportedError(
            f"INSERT INTO {thing.name} that reads {thing.name}",
            hint="read a continuous query over it instead",
        )
    columns, text = thing.columns, statement.text
    if statement.kind == "INSERT":
        insert = assignments.insert(statement.tokens)
        if not whole:
            columns = offsets.taking(thing.columns, text, insert, database.described)
        text = offsets.inserted(thing.columns, text, insert, database.described, own_types=whole)
    elif statement.kind == "UPDATE":
        text = offsets.updated(thing.columns, text, statement.tokens)
    listed = ", ".join(
        f"{offsets.converted(theirs, own)} AS {quoted(own.name)}"
        for theirs, own in zip(columns, thing.columns, strict=True)
    )
    others = read - {thing.name.lower()}
    table = difference.table_of(database, thing, columns, with_key=conflicts)
    with pending_shown(engine, others), table as name:
        if whole:
            instant = instants.instant_of(engine.clock, engine.next_raw_time(thing))
            buffer = engine.relation_buffer
            difference.write_before(database, thing, instant, buffer, strict=engine.strict)
            difference.fill(database, name)
        database.execute(text, parameters)
        difference.write_after(database, listed, name)
        if conflicts:
            _refuse_null_key(engine, thing)
    return _accept(engine, thing, whole)


def _refuse_null_key(engine: Engine, thing: Input) -> None:
    """Refuse a second row under a key, which DuckDB takes for no conflict if there is a NULL in it.

    Raises:
        DataError: There is one.
    """
    key = difference.twice_under_key(engine.database, thing)
    if key is not None:
        shown = ", ".join("NULL" if value is None else repr(value) for value in key)
        raise DataError(
            f"there is a row of {thing.name} under the primary key ({shown}), and ON CONFLICT "
            "finds no key with a NULL in it",
            hint="UPDATE it, or upsert it by the drop zone",
        )


def _target(engine: Engine, statement: Dml, conflicts: bool) -> Input:
    """Return what a statement changes.

    Raises:
        CatalogError: It is a continuous query.
        NotSupportedError: A stream only grows; there is nobody to return rows to, or no key.
    """
    if statement.name.lower() in engine.catalogue.queries:
        raise CatalogError(
            f"{statement.name} is a continuous query, whose answer follows from its inputs",
            hint="change its streams and relations instead",
        )
    thing = engine.input(statement.name)
    if thing.kind == "stream" and statement.kind != "INSERT":
        raise NotSupportedError(
            f"{statement.kind} on the stream {thing.name}: a stream is append-only",
            hint="a window forgets a stream's tuples by itself",
        )
    if any(token.text.upper() == "RETURNING" for token in statement.tokens):
        raise NotSupportedError(
            f"RETURNING on {thing.name}", hint="read the relation, or changes() of a query over it"
        )
    if conflicts and not thing.primary_key:
        what = "a stream has none" if thing.kind == "stream" else "declare a PRIMARY KEY"
        raise NotSupportedError(
            f"ON CONFLICT on {thing.name}, which has no primary key",
            hint=f"{what}; without ON CONFLICT all rows come",
        )
    return thing


@contextlib.contextmanager
def pending_shown(engine: Engine, read: frozenset[str]) -> Iterator[None]:
    """Let relations that a statement reads show what is pending in them, as long as the block runs.

    Args:
        engine: The engine, inside a change.
        read: The lower-case names of what it reads. If plain views, macros or anything unknown may
            be among them, these may read any relation.
    """
    database, inputs, buffer = engine.database, engine.catalogue.inputs, engine.relation_buffer
    if not read:
        yield
        return
    waiting = [
        thing
        for thing in inputs.values()
        if thing.kind == "relation" and relations.has_pending(database, thing, buffer)
    ]
    registered = (*inputs, *engine.catalogue.queries)
    if waiting and not listing.has_views_or_macros(database, registered):
        waiting = [thing for thing in waiting if thing.name.lower() in read]
    for thing in waiting:
        content, _ = relations.content_at(database, thing, Instant(FOREVER - 1), buffer)
        database.view(quoted(thing.name), content)
    yield
    for thing in waiting:
        stores.show(database, thing)


def _accept(engine: Engine, thing: Input, whole: bool) -> int:
    """Accept what a statement left in its table; return the number of elements."""
    if thing.timestamp_by is not None:
        own = next(c for c in thing.columns if c.name == thing.timestamp_by)
        stamp = arrivals.raw_sql(engine.clock, quoted(own.name), own.type)
        return engine.accept(thing, difference.rows_after(thing, stamp)).taken
    if whole:
        rows = difference.elements(engine.database, thing)
    else:
        rows = difference.rows_after(thing, "")
    rows = arrivals.at_once(rows, engine.clock, engine.next_raw_time(thing))
    return engine.accept(thing, rows).taken
