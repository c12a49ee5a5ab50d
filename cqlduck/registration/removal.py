"""Removing queries, and all that read what is dropped."""

from __future__ import annotations

from cqlduck.engine import Engine
from cqlduck.registration import families
from cqlduck.registration.names import refuse_if_read
from cqlduck.rewrite.text.statements import Drop
from cqlduck.state import inspection, records, stores
from cqlduck.state.registered import Input, Query


def remove_readers(engine: Engine, statement: Drop, thing: Input | Query) -> None:
    """Remove all queries that read what a statement drops, themselves or through others.

    Args:
        engine: The engine, inside a change.
        statement: The statement.
        thing: What it drops.

    Raises:
        CatalogError: There are some, and the statement does not say CASCADE.
    """
    if not statement.cascade:
        refuse_if_read(engine, thing)
        return
    # families go with their last members; who reads a query was registered after it
    for reader in reversed(engine.catalogue.readers_of(thing)):
        if reader.shape is None:
            remove(engine, reader)


def remove_input(engine: Engine, thing: Input) -> None:
    """Remove a stream or relation that no query reads, inside a change."""
    engine.catalogue.remove(thing)
    inspection.refresh(engine.database, engine.catalogue, thing)
    stores.drop(engine.database, thing)
    engine.last_changes.forget(thing)
    records.drop(engine.database, records.LATE, thing.name)
    records.drop(engine.database, records.QUARANTINED, thing.name)
    engine.streamon.forget(thing.name)
    engine.indexes.forget(thing.name)
    engine.recount()


def drop_unread(engine: Engine) -> None:
    """Remove what is there for readers alone and has none any more, inside a change.

    That are the bases of queries, and the stream of what operators did.
    """
    engine.condensed.drop_unread()
    thing = engine.catalogue.system
    if thing is not None and not engine.catalogue.readers(thing):
        remove_input(engine, thing)


def remove(engine: Engine, query: Query, *, keep_log: bool = False) -> None:
    """Remove a query, inside a change; its log may stay for one that takes its place."""
    if not keep_log:
        engine.results.keep(query.changes)
        if query.kind == "relation":
            engine.condensed.drop(query)
    if query.family is not None:
        families.leave(engine, query, keep_log=keep_log)
        return
    engine.erase(query, keep_log=keep_log)
    records.drop(engine.database, records.CORRECTIONS, query.name)
    engine.catalogue.remove(query)
    inspection.refresh(engine.database, engine.catalogue, query)
    engine.compiled.pop(query.name.lower(), None)
    engine.shareable.meetings = None
    engine.housekeeping.dropped(query)
    if not keep_log:
        engine.housekeeping.lost.pop(query.name, None)
    engine.output_buffer.drop(query)
