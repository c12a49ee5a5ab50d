"""Stems: queries that differ in constants and in what they show are computed by one plan.

    SELECT k, count(*) AS n FROM s [RANGE 60] WHERE v > 5 GROUP BY k
    SELECT k, sum(v) AS t FROM s [RANGE 60] WHERE v > 6 GROUP BY k

have one stem: all but the SELECT list and the constants (`text.shapes`). Their family has the
relation of constants, as one whose members differ in these alone, and all columns that one of them
shows, as one whose members differ in these alone (`widening`):

    SELECT k, count(*) AS n, c.member, sum(v) AS t FROM s [RANGE 60], constants AS c
    WHERE v > c.c0 AND s._ts > c.since GROUP BY k, c.member

A member is a selection by its number and a projection of that.

A list that the family lacks is written with the family's relation in the place of its constants:
then it is a query that shows something else of the same. As its synopses would lack what came
before, a family gets columns only until it has moved; a query with a list that it has joins it at
any time, as one of its shape would, and nothing of it is parsed.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace

from cqlduck.engine import Engine
from cqlduck.errors import Error
from cqlduck.registration.candidates import (
    Candidate,
    alike,
    fits,
    is_first,
    is_new,
    leaving_names,
    wants_sharing,
)
from cqlduck.registration.founding import founding
from cqlduck.registration.generalizing import generalized, is_as
from cqlduck.registration.options import retention_of
from cqlduck.registration.widening import (
    Host,
    Shown,
    Widening,
    is_plain,
    may_host,
    shown_with,
    written,
)
from cqlduck.rewrite import Compiled
from cqlduck.rewrite.plan import Aggregate, unique
from cqlduck.rewrite.plan.aggregates import ADDITIVE, EXTREMES
from cqlduck.rewrite.text.names import OURS
from cqlduck.rewrite.text.shapes import SINCE, Shape, shape_of, stems_of
from cqlduck.rewrite.text.statements import CreateQuery
from cqlduck.state.registered import Query

log = logging.getLogger("cqlduck")


MAX_SHOWN = 16
"""How many columns a family of a stem may have before it gets further ones.

With each it is compiled anew, which takes ever longer; and each is computed for all constants.
"""

MAX_MOVED = 64
"""How many members a family without constants has at most that gives way: all are written anew."""


def shown_of_stem(
    engine: Engine, statement: CreateQuery, own: Compiled, leaving: Query | None = None
) -> Widening | str:
    """Return how a query can be computed with others of its stem, or why not; nothing changes.

    Args:
        engine: The engine.
        statement: CREATE CONTINUOUS QUERY.
        own: The plan that it has alone.
        leaving: A query that goes before.
    """
    why = ""
    if own.outline is None or not wants_sharing(engine, statement) or not is_plain(own.taken):
        return why
    if any(key == "history" for key, _ in statement.options):
        return why
    keep = retention_of(engine, dict(statement.options).get("keep"))
    left = leaving_names(engine, leaving)
    for stem in stems_of(statement.body):
        for query in _hosts(engine, stem):
            if query.name in left or query.keep != keep or not may_host(engine, query):
                continue
            found = _found(engine, query, stem, own)
            if not isinstance(found, str):
                return found
            why = found
    return why


def _hosts(engine: Engine, stem: Shape) -> Iterator[Query]:
    """Yield the families and queries of a stem."""
    for family in engine.catalogue.families.values():
        if family.shape == stem.key or (is_new(family) and _has_stem(engine, family, stem)):
            yield family
    for query in alike(engine, stem.key):
        if is_first(engine, query):
            yield query


def _has_stem(engine: Engine, family: Query, stem: Shape) -> bool:
    """Return whether the members of a family that has another shape have a stem."""
    assert family.shape is not None
    first, *others = engine.catalogue.members_of(family)
    found = shape_of(first.body, stem.key)
    if found.key != stem.key:
        return False
    if engine.catalogue.constants_of(family) is not None:
        return found.constants == shape_of(first.body, family.shape).constants
    return all(shape_of(one.body, stem.key).key == stem.key for one in others)


def _found(engine: Engine, query: Query, stem: Shape, own: Compiled) -> Widening | str:
    """Return how a query of a stem is computed with another one, or a family, or why it is not."""
    known = engine.catalogue
    constants = known.constants_of(query)
    if constants is not None:
        host = Host(query, query.body, engine.compiled[query.name.lower()], None, constants)
        return _shown(engine, host, stem, own)
    # what has none gives way to a family that has one
    those = [query] if query.shape is None else known.members_of(query)
    if len(engine.compiled[query.name.lower()].columns) >= MAX_SHOWN:
        return f"{query.name} has {MAX_SHOWN} columns or more"
    if len(those) > MAX_MOVED:
        return f"{query.name} has more than {MAX_MOVED} members, which would have to move"
    if any(one.state != "active" for one in those):
        return f"a member of {query.name} stands still"
    first, *others = those
    founded = _founded(engine, query, first, stem)
    if isinstance(founded, str):
        return founded
    host, its = founded, shape_of(first.body, stem.key)
    lists = {its.listed: Shown(tuple(c.name for c in first.columns))}
    moved = [(first, lists[its.listed])]
    for one in others:
        its = shape_of(one.body, stem.key)
        if its.listed not in lists:
            found = _shown(engine, host, its, engine.recompile(one))
            if isinstance(found, str):
                return found
            made = found.made
            assert made is not None
            lists[its.listed] = Shown(found.projection)
            host = replace(host, text=made.body, compiled=made.compiled, founding=made)
        moved.append((one, lists[its.listed]))
    found = _shown(engine, host, stem, own)
    return found if isinstance(found, str) else replace(found, moved=tuple(moved))


def _founded(engine: Engine, query: Query, like: Query, stem: Shape) -> Host | str:
    """Return the plan of a family in whose relation of constants a query has a row.

    Args:
        engine: The engine.
        query: What gives way to it.
        like: The query, which is that one or a member of it.
        stem: Its stem, with constants of another query.
    """
    own = engine.compiled[query.name.lower()] if query.shape is None else engine.recompile(like)
    its = shape_of(like.body, stem.key)
    made = founding(engine, Candidate(query, like, its, is_open=False, is_first=True), own)
    if isinstance(made, str):
        return made
    return Host(query, made.body, made.compiled, made, made.constants)


def _shown(engine: Engine, host: Host, stem: Shape, own: Compiled) -> Widening | str:
    """Return how a query of a stem is shown by a host, or why it is not."""
    called, constants = host.query.name, host.constants
    assert constants is not None
    if len(host.compiled.columns) >= MAX_SHOWN:
        return f"{called} would have more than {MAX_SHOWN} columns"
    if host.outline is None:
        return f"what {called} shows may fail, or leave and return"
    if _dearest(own) != _dearest(host.compiled):
        return f"it or {called} has dearer aggregates than the other, and they would be for both"
    found = generalized(engine, own, stem, begin_at_once=True)
    types = tuple(column.type for column in constants.columns[2:])
    if found is None or found.types != types or not fits(engine, stem, types):
        return f"the constants in which it differs from {called} cannot be a relation"
    is_open = host.query.is_open
    if host.founding is not None and host.founding.generalized is not None:
        is_open = host.founding.generalized.is_open
    if found.is_open != is_open or bool(found.since) != (f".{SINCE}" in host.text):
        return f"beside {called} it could not begin later"
    body = stem.generalized(constants.name, found.since, found.now, is_global=found.is_global)
    try:
        compiled = engine.compiler.compile(engine.catalogue, called, body, constants=constants)
    except Error as error:
        log.debug("a query is not shown beside %s: %s", called, error.message)
        return f"its text means something else beside {called}"
    is_same = is_as(compiled, own.kind, own.order, own.columns, is_general=True)
    if not is_same or compiled.outline is None:
        return f"one plan for it and {called} would mean something else"
    shown = shown_with(engine, host, written(body, compiled))
    if isinstance(shown, str):
        return shown
    if shown.selection or shown.host_selection:
        return f"its names say something else than those of {called}"
    pairs = zip(shown.projection, compiled.columns, strict=True)
    projection = tuple(name for name, column in pairs if not column.name.startswith(OURS))
    return replace(shown, projection=projection, stem=stem)


def _dearest(compiled: Compiled) -> int:
    """Return how dear the dearest aggregate of a plan is, as all are computed for each member.

    Sums over a group take what is added and removed, extremes the tuples of the group, and others
    all of these anew, or another aggregate below, as those of DISTINCT values.
    """
    found = [node for node in unique(compiled.plan) if isinstance(node, Aggregate)]
    if len(found) > 1:
        return 2
    costs = {**dict.fromkeys(ADDITIVE, 0), **dict.fromkeys(EXTREMES, 1)}
    return max((costs.get(call.function, 2) for node in found for call in node.calls), default=0)
