"""Widening: a query is computed by the plan of one that shows something else of the same.

Queries that group the same tuples by the same keys, or that show tuples of the same join, have
equal bases (`Outline`). One plan with the columns of all computes them, and each is a projection
and selection of its log. All of them begin together, as those that say the same do: what has begun
lacks the past of what it would be given, until it is warm (`merging`).

The family shows no groups that none of its members shows: its conditions of HAVING are those of one
of them, and the others have theirs besides.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass

from cqlduck.engine import Engine
from cqlduck.errors import Error
from cqlduck.registration.candidates import (
    Founding,
    family_name,
    is_first,
    is_new,
    leaving_names,
    since_of,
    wants_sharing,
)
from cqlduck.registration.options import retention_of
from cqlduck.rewrite import Compiled
from cqlduck.rewrite.bind.macros import Captured
from cqlduck.rewrite.physical.outline import Outline
from cqlduck.rewrite.plan import Column
from cqlduck.rewrite.text.statements import CreateQuery
from cqlduck.rewrite.widening import Written, widened
from cqlduck.state.registered import Query

log = logging.getLogger("cqlduck")


MAX_COLUMNS = 64
"""How many columns a family has at most: with each that it gets it is compiled anew."""

MAX_CONDITIONS = 8
"""How many conditions of members a family has at most as columns.

More queries that show parts of one other mostly differ in constants: one family of their own is
cheaper to register and to tick.
"""


@dataclass(frozen=True)
class Widening:
    """How a query can be computed with another one.

    Attributes:
        host: A family, or a query that has a plan of its own.
        made: The family that computes both; None if the host is one and has all columns.
        projection: The columns of that family that the query shows.
        selection: Its columns that are true in what the query shows.
        host_selection: Those that are true in what the host has shown so far.
    """

    host: Query
    made: Founding | None
    projection: tuple[str, ...]
    selection: tuple[str, ...]
    host_selection: tuple[str, ...]


def widening(
    engine: Engine, statement: CreateQuery, compiled: Compiled, leaving: Query | None = None
) -> Widening | str:
    """Return how a query can be computed with another one, or why it cannot; nothing changes.

    Args:
        engine: The engine.
        statement: CREATE CONTINUOUS QUERY.
        compiled: Its own plan.
        leaving: A query that goes before.
    """
    shown, why = compiled.outline, ""
    if shown is None or not wants_sharing(engine, statement) or not is_plain(compiled.taken):
        return why
    if any(key == "history" for key, _ in statement.options):
        return why
    names = tuple(column.name for column in compiled.columns)
    query = Written(statement.body, names, shown)
    keep = retention_of(engine, dict(statement.options).get("keep"))
    left = leaving_names(engine, leaving)
    for host in _hosts(engine, shown.base):
        if host.name in left:
            continue
        why = f"{host.name} shows something of the same, but has begun, is read or pinned, or has "
        why += "other options"
        if host.keep != keep or not _may_host(engine, host):
            continue
        its = engine.compiled[host.name.lower()].outline
        assert its is not None
        found = shown_with(engine, host, its, query, compiled)
        if not isinstance(found, str):
            return found
        why = found
    return why


def is_plain(taken: str | None) -> bool:
    """Return whether a query names no macro, type or function of a user."""
    return not taken or Captured.of(taken) == Captured()


def _hosts(engine: Engine, base: str) -> Iterator[Query]:
    """Yield the queries and families with a base."""
    for query in engine.catalogue.running:
        found = engine.compiled[query.name.lower()].outline
        if found is not None and found.base == base:
            yield query


def _may_host(engine: Engine, host: Query) -> bool:
    """Return whether a query or family takes others that show something else.

    So it is before it has moved, and if nobody reads it or has pinned something of it.
    """
    if any(thing.late == "AMEND" for thing in engine.catalogue.inputs_of(host)):
        return False
    if not is_plain(host.taken):
        return False
    if host.shape is None:
        return is_first(engine, host)
    if host.state != "active" or not is_new(host) or host.since != since_of(engine, host):
        return False
    return not (engine.catalogue.readers(host) or engine.streamon.executor.pins_of(host.name))


def shown_with(
    engine: Engine, host: Query, its: Outline, query: Written, own: Compiled
) -> Widening | str:
    """Return how one plan computes a query and a host, or why none does; nothing changes.

    Args:
        engine: The engine.
        host: A query that has a plan of its own, or a family.
        its: Its outline.
        query: The query; its outline has an equal base.
        own: The plan that it has alone.
    """
    made, columns, shown = None, host.columns, its
    if host.shape is None or not _has(its, query.outline):
        found = _made(engine, host, its, query)
        if isinstance(found, str):
            return found
        made, columns = found, found.compiled.columns
        assert found.compiled.outline is not None
        shown = found.compiled.outline
        if columns[: len(host.columns)] != host.columns:
            return f"what {host.name} shows would be called otherwise"
    known = {means: c for means, c in zip(reversed(shown.columns), reversed(columns), strict=True)}
    projection = [known[means] for means in query.outline.columns]
    if [c.type for c in projection] != [c.type for c in own.columns]:
        return f"beside {host.name} its columns would have other types"
    return Widening(
        host,
        made,
        tuple(column.name for column in projection),
        _selection(query.outline, shown, known),
        _selection(its, shown, known),
    )


def _selection(its: Outline, shown: Outline, known: dict[str, Column]) -> tuple[str, ...]:
    """Return the columns of a family that are conditions of one member, and not of all."""
    return tuple(known[m].name for m in its.conditions if m not in shown.conditions)


def _has(shown: Outline, its: Outline) -> bool:
    """Return whether a family has all that a query shows."""
    return (
        shown.base == its.base
        and set(its.columns) <= set(shown.columns)
        and set(shown.conditions) <= set(its.conditions)
        and set(its.conditions) <= {*shown.columns, *shown.conditions}
    )


def _made(engine: Engine, host: Query, its: Outline, query: Written) -> Founding | str:
    """Return the family that computes a host and a query, or why there can be none."""
    both = {*its.conditions} & {*query.outline.conditions}
    if both not in ({*its.conditions}, {*query.outline.conditions}):
        return f"it shows tuples that {host.name} does not show, and {host.name} others"
    try:
        body = widened(Written(host.body, tuple(c.name for c in host.columns), its), query)
        if body is None:
            return f"its text does not say how it would be shown beside {host.name}"
        name = host.name if host.shape is not None else family_name(engine)
        compiled = engine.compiler.compile(engine.catalogue, name, body)
    except Error as error:
        log.debug("%s is not widened: %s", host.name, error.message)
        return f"its text means something else beside {host.name}"
    shown = compiled.outline
    if len(compiled.columns) > MAX_COLUMNS:
        return f"{host.name} would have more than {MAX_COLUMNS} columns"
    fits = shown is not None and _has(shown, its) and _has(shown, query.outline)
    if not fits or compiled.kind != host.kind:
        return f"its text means something else beside {host.name}"
    if len(_conditions(engine, host, compiled, its, query.outline)) > MAX_CONDITIONS:
        return f"{host.name} would have more than {MAX_CONDITIONS} conditions"
    return Founding(name, body, compiled, since_of(engine, host), None, None)


def _conditions(engine: Engine, host: Query, compiled: Compiled, *shown: Outline) -> set[str]:
    """Return the conditions that a family would have as columns, by meaning.

    Args:
        engine: The engine.
        host: The query or family that becomes a family, or has more columns.
        compiled: The plan.
        shown: What the host and another query show.
    """
    assert compiled.outline is not None
    names = (column.name for column in compiled.columns)
    meanings = dict(zip(names, compiled.outline.columns, strict=True))
    members = engine.catalogue.members_of(host)
    found = {meanings[name] for member in members for name in member.selection}
    return found.union(*(one.conditions for one in shown)) - {*compiled.outline.conditions}
