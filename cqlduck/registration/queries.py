"""Continuous queries: created, replaced, given other options, dropped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cqlduck import selects
from cqlduck.engine import Engine
from cqlduck.engine.completeness import complete_from
from cqlduck.errors import BindError, CatalogError, NotSupportedError
from cqlduck.registration import candidates, families, separating, system
from cqlduck.registration.candidates import forgotten
from cqlduck.registration.names import is_registered, refuse_missing
from cqlduck.registration.options import (
    assign,
    defer,
    is_deferred,
    retention_of,
    sharing_of,
    weight_of,
)
from cqlduck.registration.pins import NO_PINS, Pins, pins_of, restore
from cqlduck.registration.removal import drop_unread, remove, remove_readers
from cqlduck.rewrite import Compiled
from cqlduck.rewrite.statements.memory import unbounded
from cqlduck.rewrite.text.names import refuse_name
from cqlduck.rewrite.text.options import DEFAULT
from cqlduck.rewrite.text.queries import refuse_ours
from cqlduck.rewrite.text.statements import CreateQuery, Drop
from cqlduck.rewrite.text.time import Instant, parse_duration
from cqlduck.rewrite.text.tokens import has_same_words
from cqlduck.state import catalog_rows, inspection
from cqlduck.state.columns import typed
from cqlduck.state.registered import EXPIRED, FAILED, Query

CHANGEABLE = ("keep", "read", "sharing", "weight")
"""The options that a query can be given once it is registered."""


def create(engine: Engine, statement: CreateQuery) -> None:
    """Register a continuous query; it begins after the frontier of its inputs.

    Raises:
        Error: Of the family, with its place in the query.
    """
    with engine.changing():
        engine.shareable.registering = statement.name
        refuse_name(statement.name)
        if not engine.has_text(statement.name, statement.body):
            refuse_ours(statement.body)
        system.prepare(engine, statement.body)
        refuse_other(engine, statement)
        old = engine.catalogue.queries.get(statement.name.lower())
        if old is None or not statement.or_replace:
            if not is_registered(
                engine, statement.name, statement.if_not_exists, "continuous query"
            ):
                _begin_new(engine, statement)
        elif stays(engine, old, statement):
            options = dict(statement.options)
            _set(engine, old, {name: options.get(name, DEFAULT) for name in CHANGEABLE})
        else:
            _replace(engine, statement, old)
        drop_unread(engine)


def refuse_other(engine: Engine, statement: CreateQuery) -> None:
    """Refuse a written plan whose query computes something else here.

    Raises:
        BindError: Its root would have another id.
    """
    if statement.id is not None:
        found = engine.compile(statement.name, statement.body).root
        if found != statement.id:
            raise BindError(
                f"the query of the plan computes something else here: its root is {found}, not "
                f"{statement.id}",
                hint="streams, relations and queries have to be those of the plan, registered in "
                "the same order; AS with the query's text registers it as it is here",
            )


def _begin_new(engine: Engine, statement: CreateQuery, pins: Pins = NO_PINS) -> None:
    """Register a query: as a member of a family, or with a plan of its own.

    Args:
        engine: The engine.
        statement: CREATE CONTINUOUS QUERY.
        pins: What was pinned for the query in whose place it comes.
    """
    compiled = None
    if engine.refuses_unbounded:
        # what bounds the memory of a member its own plan says
        compiled = engine.compile(statement.name, statement.body)
        refuse_unbounded(engine, statement, compiled)
    if families.join(engine, statement, pins):
        return
    compiled = compiled or engine.compile(statement.name, statement.body)
    if pins or not families.widen(engine, statement, compiled):
        begin(engine, statement, compiled)
        candidates.note(engine, engine.query(statement.name))


def _set(engine: Engine, query: Query, options: Mapping[str, str]) -> None:
    """Change options of a query, inside a change; those that are not written stay.

    Raises:
        NotSupportedError: One cannot be changed now.
    """
    if "sharing" in options:
        sharing = sharing_of(options["sharing"])
        if sharing is False and query.family is not None:
            query = separating.separate(engine, query)
        query.sharing = sharing
    if "read" in options:
        if is_deferred(options["read"]) and query.family is not None:
            query = separating.separate(engine, query)
        defer(engine, query, options["read"])
        if query.is_deferred:
            # whoever reads it brings it up
            engine.backfill.begin(query)
    if "weight" in options:
        query.weight = weight_of(options["weight"])
    if "keep" in options:
        query.keep = retention_of(engine, options["keep"])
    family = engine.catalogue.family_of(query)
    if family is not None:
        families.bound_history(engine, family)
    engine.shareable.meetings = None
    # what is asked in the same script is to see it
    catalog_rows.move(engine.database, query)


def refuse_unbounded(engine: Engine, statement: CreateQuery, compiled: Compiled) -> None:
    """Refuse a query that keeps more with each element for ever, if the connection does.

    Raises:
        NotSupportedError: It is one.
    """
    if not engine.refuses_unbounded:
        return
    grown = unbounded(selects.stored(engine, statement.name, compiled))
    if grown:
        one = grown[0]
        raise NotSupportedError(
            f"{statement.name} would keep {one.what}, which {one.bound.in_words}",
            hint=f"it would be bounded by {' and '.join(one.bound.cure)}; connect with "
            "unbounded='allow' to have it so",
        )


def compile_anew(engine: Engine, statement: CreateQuery, old: Query | None) -> Compiled:
    """Compile a query that may take the place of an old one, which it cannot read.

    Raises:
        Error: It does, or it cannot be compiled.
    """
    compiled = engine.compile(statement.name, statement.body)
    if old is not None and any(source.name == old.name for source in compiled.sources.values()):
        raise CatalogError(
            f"{statement.name} would read itself, as it takes the place of {old.name}",
            hint="give it another name",
        )
    return compiled


def stays(engine: Engine, old: Query, statement: CreateQuery) -> bool:
    """Return whether CREATE OR REPLACE leaves a query as it is, but for options.

    One that failed or has expired is replaced by what says the same: so it begins again.
    """
    return old.state not in (FAILED, EXPIRED) and says_the_same(engine, old, statement)


def says_the_same(engine: Engine, old: Query, statement: CreateQuery) -> bool:
    """Return whether a query would be what it is: macros may have changed under the same words."""
    if not has_same_words(old.body, statement.body):
        return False
    return old.taken == engine.compile(old.name, statement.body).taken


def _replace(engine: Engine, statement: CreateQuery, old: Query) -> None:
    """Register a query in the place of an old one.

    If others read it, they go on: its log does too, and at one instant its answer changes. What is
    pinned for it stays.
    """
    pins = pins_of(engine, old)
    readers = engine.catalogue.readers_of(old)
    compiled = compile_anew(engine, statement, old)
    if readers:
        refuse_unfit(engine, statement, compiled, old, readers)
        remove(engine, old, keep_log=True)
        begin(engine, statement, compiled, old)
        move_behind(engine, readers)
    else:
        remove(engine, old)
        _begin_new(engine, statement, pins)
    restore(engine, engine.query(statement.name), pins)


def move_behind(engine: Engine, readers: Sequence[Query]) -> None:
    """Give queries a place behind one that they read, and that has been registered after them."""
    for reader in readers:
        # queries are listed in the order of registration, which is after what they read
        engine.catalogue.remove(reader)
        inspection.refresh(engine.database, engine.catalogue, reader)
        reader.position = engine.catalogue.next_position
        engine.catalogue.add(reader)
        compiled = engine.compiled[reader.planned_by]
        reader.complete_from = complete_from(engine.catalogue, reader, compiled)
        catalog_rows.move(engine.database, reader)
        inspection.refresh(engine.database, engine.catalogue, reader)


def refuse_unfit(
    engine: Engine,
    statement: CreateQuery,
    compiled: Compiled,
    old: Query,
    readers: Sequence[Query],
) -> None:
    """Refuse to replace a query if those that read it could not go on.

    Raises:
        CatalogError: The columns or the kind are others, or what they have read would change.
    """
    read = {source.name for source in compiled.sources.values()}
    # families are named by their members
    names = [reader.name for reader in readers if reader.shape is None]
    above = [name for name in names if name in read]
    known = engine.catalogue.inputs
    problem = None
    if above:
        problem = f"the new one would read {', '.join(above)}"
    elif compiled.columns != old.columns:
        problem = f"its columns would no longer be {typed(old.columns)}"
    elif compiled.kind != old.kind:
        problem = f"the new one would yield a {compiled.kind} and no {old.kind}"
    elif old.backfill_to is not None:
        problem = (
            f"it is behind the others, at {engine.shown(old.frontier)}: what it would have said up "
            "to where the new one begins would be missing"
        )
    elif any(key == "history" for key, _ in statement.options):
        problem = "a new one with history would begin before what they have read"
    elif any(name.lower() in known and known[name.lower()].late == "AMEND" for name in read):
        problem = "a stream with LATE AMEND would correct what the old one said too"
    if problem is not None:
        raise CatalogError(
            f"{old.name} is read by {', '.join(names)}, and {problem}",
            hint="advance() until it is level, drop these queries first, or give the new one "
            "another name"
            if old.backfill_to is not None
            else "drop these queries first, or give the new one another name",
        )


def begin(
    engine: Engine, statement: CreateQuery, compiled: Compiled, old: Query | None = None
) -> None:
    """Register a query; it goes on with the log of an `old` one, if it replaces one."""
    refuse_unbounded(engine, statement, compiled)
    options = dict(statement.options)
    if compiled.counts_instants and engine.catalogue.settings.get("time") is None:
        engine.set_time("integer", "a window without a unit")
    inputs = tuple(source.name for source in compiled.sources.values())
    query = Query(
        engine.catalogue.next_position,
        statement.name if old is None else old.name,
        statement.body,
        compiled.kind,
        compiled.columns,
        inputs,
        compiled.order,
        taken=compiled.taken,
    )
    query.number = engine.catalogue.next_number if old is None else old.number
    engine.catalogue.add(query)
    query.state = engine.active_state(query)
    query.since = _begins_after(engine, query, options.get("history"))
    if old is not None:
        query.since = max((f for f in (query.since, old.frontier) if f is not None), default=None)
        query.history_from = old.history_from
    query.frontier = query.since
    assign(engine, query, options)
    query.complete_from = complete_from(engine.catalogue, query, compiled)
    engine.backfill.begin(query)
    engine.write(query, compiled, has_log=old is not None)
    engine.recount()
    engine.expect(query)


def would_begin_after(engine: Engine, statement: CreateQuery, compiled: Compiled) -> Instant | None:
    """Return the instant after which a query would begin, or None for the beginning of time.

    Raises:
        BindError: It asks for history that is forgotten.
    """
    catalogue = engine.catalogue
    inputs = tuple(source.name for source in compiled.sources.values())
    # a name that no query has
    query = Query(
        catalogue.next_position, "", statement.body, compiled.kind, compiled.columns, inputs
    )
    catalogue.add(query)
    try:
        return _begins_after(engine, query, dict(statement.options).get("history"))
    finally:
        catalogue.remove(query)


def _begins_after(engine: Engine, query: Query, history: str | None) -> Instant | None:
    """Return the instant after which a new query begins, or None for the beginning of time.

    Without `history` that is the frontier of its inputs; 'true' goes back as far as elements
    were ever there, 'kept' as far as all of them are still stored, a duration that far from the
    frontier.

    Raises:
        BindError: Elements after that instant are forgotten, or it is no duration.
    """
    reached, read = engine.progress.target(query), forgotten(engine, query)
    inner = [q for name in query.inputs if (q := engine.catalogue.queries.get(name.lower()))]
    if history is None or history.lower() == "false":
        begins = [reached, *read.values()]
        return max((instant for instant in begins if instant is not None), default=None)
    since: Instant | None = None
    is_kept = history.lower() == "kept"
    if not is_kept and history.lower() != "true" and reached is not None:
        since = Instant(reached - engine.clock.instants(parse_duration(history)))
    begun = [q.since for q in inner if q.since is not None]
    since = max(begun) if since is None and begun else since
    since = max([since, *begun]) if since is not None else None
    if is_kept:
        known = [since, *read.values()]
        return max((instant for instant in known if instant is not None), default=None)
    for name, lost in read.items():
        if lost is not None and (since is None or since < lost):
            raise BindError(
                f"{name} has been forgotten up to {engine.shown(lost)}",
                hint="WITH (history = 'kept') begins with all that is there, WITH (history = "
                "'1 hour') with less, and a query without history begins now",
            )
    return since


def set_options(engine: Engine, name: str, written: Sequence[tuple[str, str]]) -> None:
    """Change the options of a query; those that are not written stay.

    Raises:
        CatalogError: There is no such query.
        BindError: An option cannot be changed any more.
    """
    with engine.changing():
        query = engine.query(name)
        options = dict(written)
        if "history" in options:
            raise BindError(
                "history says where a query begins, and this one has begun",
                hint="make it anew: CREATE OR REPLACE CONTINUOUS QUERY … WITH (history = …)",
            )
        _set(engine, query, options)


def drop(engine: Engine, statement: Drop) -> None:
    """Drop a query.

    Raises:
        CatalogError: It is not there, or another query reads it and it does not say CASCADE.
    """
    with engine.changing():
        query = engine.catalogue.queries.get(statement.name.lower())
        if query is None:
            known = list(engine.catalogue.queries.values())
            refuse_missing(statement, "continuous query", known)
            return
        remove_readers(engine, statement, query)
        remove(engine, query)
        drop_unread(engine)
    with engine.changed:
        # who waits for its elements waits for nothing
        engine.changed.notify_all()
