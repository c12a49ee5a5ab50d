"""Activation: a query is deactivated, activated, or begins after the frontier of its inputs."""

from __future__ import annotations

from cqlduck.engine import Engine
from cqlduck.errors import CatalogError
from cqlduck.registration import families, queries, removal
from cqlduck.registration.options import options_of
from cqlduck.rewrite.text.statements import AlterQuery, CreateQuery
from cqlduck.state.registered import EXPIRED, Query


def alter(engine: Engine, statement: AlterQuery) -> None:
    """Change the options of a query, or whether it goes on, and from where."""
    if statement.action == "SET":
        queries.set_options(engine, statement.name, statement.options)
    elif statement.action == "ACTIVATE FROM NOW":
        begin_anew(engine, statement.name)
    else:
        set_active(engine, statement.name, statement.action == "ACTIVATE")


def set_active(engine: Engine, name: str, active: bool) -> None:
    """Activate or deactivate a query; an inactive one stands still.

    Raises:
        CatalogError: One that has expired cannot go on.
    """
    with engine.changing():
        query = engine.query(name)
        if EXPIRED in (query.state, engine.planned(query).state):
            if active:
                raise _expired(engine, query)
            return
        if query.family is not None:
            families.turn(engine, query, active=active)
            engine.recount()
            return
        engine.catalogue.turn(query, engine.active_state(query) if active else "inactive")
        engine.recount()
        if active:
            query.error = query.error_reason = query.error_row = None
            engine.backfill.begin(query)


def _expired(engine: Engine, query: Query) -> CatalogError:
    return CatalogError(
        f"{query.name} has expired: it stood still at {engine.shown(query.frontier)} for longer "
        f"than {engine.standing}, and what came since is no longer kept for it",
        hint=f"ALTER CONTINUOUS QUERY {query.name} ACTIVATE FROM NOW lets it begin from now; made "
        "anew, with CREATE OR REPLACE … WITH (history = …), it begins with what is still kept",
    )


def begin_anew(engine: Engine, name: str) -> None:
    """Let a query that stands still begin from now: what came since it stood still it never sees.

    Its changes up to then stay. Those that read it go on from where they stand.

    Raises:
        CatalogError: It does not stand still, or one that it reads has expired, or late elements
            would correct what others have read.
    """
    with engine.changing():
        old = engine.query(name)
        if old.state == "active":
            raise CatalogError(
                f"{old.name} does not stand still",
                hint="to begin it from now, DEACTIVATE it first; to go on, leave it as it is",
            )
        for inner in engine.catalogue.queries_of(old):
            if inner.state == EXPIRED:
                raise CatalogError(
                    f"{old.name} reads {inner.name}, which has expired",
                    hint=f"let that begin first: ALTER CONTINUOUS QUERY {inner.name} ACTIVATE FROM "
                    "NOW",
                )
        readers = engine.catalogue.readers_of(old)
        amends = any(thing.late == "AMEND" for thing in engine.catalogue.inputs_of(old))
        if amends and readers:
            raise CatalogError(
                f"{old.name} is read by {', '.join(r.name for r in readers)}, and a stream with "
                "LATE AMEND would correct what they have read",
                hint="drop these queries first",
            )
        known = engine.compiled.get(old.name.lower())
        compiled = engine.recompile(old) if known is None else engine.incremental(old)
        statement = CreateQuery(old.name, old.body, options_of(old))
        compiled.steps.unstore()
        removal.remove(engine, old, keep_log=not amends)
        queries.begin(engine, statement, compiled, None if amends else old)
        queries.move_behind(engine, readers)
