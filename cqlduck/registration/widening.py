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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from cqlduck.engine import Engine
from cqlduck.errors import Error
from cqlduck.registration.candidates import is_first, is_new, leaving_names, since_of, wants_sharing
from cqlduck.registration.founding import Founding, family_name
from cqlduck.registration.options import retention_of
from cqlduck.rewrite import Compiled
from cqlduck.rewrite.bind.macros import Captured
from cqlduck.rewrite.physical.outline import Outline
from cqlduck.rewrite.plan import Column
from cqlduck.rewrite.text.shapes import Shape
from cqlduck.rewrite.text.statements import CreateQuery
from cqlduck.rewrite.widening import Written, widened
from cqlduck.state.registered import Input, Query

log = logging.getLogger("cqlduck")


MAX_COLUMNS = 64
"""How many columns a family has at most: with each that it gets it is compiled anew."""

MAX_CONDITIONS = 8
"""How many conditions of members a family has at most as columns.

More queries that show parts of one other mostly differ in constants: one family of their own is
cheaper to register and to tick.
"""


@dataclass(frozen=True)
class Shown:
    """What a member shows of its family, or a family of one into which it is merged.

    Attributes:
        columns: The columns of that one, one for each of its own; none if these are called alike.
        selection: Those that are true in what it shows.
    """

    columns: tuple[str, ...] = ()
    selection: tuple[str, ...] = ()

    def of(self, source: Query, member: Query) -> Shown:
        """Return what a member of a family shows then."""
        if not self.columns:
            return Shown(member.projection, member.selection)
        names = dict(zip((c.name for c in source.columns), self.columns, strict=True))
        columns = (names[name] for name in member.projected)
        kept = (names[name] for name in member.selection)
        return Shown(tuple(columns), tuple(dict.fromkeys((*kept, *self.selection))))


@dataclass(frozen=True)
class Host:
    """A plan that may compute more queries than it does.

    Attributes:
        query: A family, or a query that has a plan of its own.
        text: The text of the plan.
        compiled: The plan.
        founding: The family that it would be the plan of, if the constants of a query are to be a
            relation.
        constants: That relation, or the one that the family has.
    """

    query: Query
    text: str
    compiled: Compiled
    founding: Founding | None = None
    constants: Input | None = None

    @property
    def is_alone(self) -> bool:
        """Whether the plan is that of a query which is in no family, nor would be."""
        return self.query.shape is None and self.founding is None

    @property
    def outline(self) -> Outline | None:
        """What it shows."""
        return self.compiled.outline


@dataclass(frozen=True)
class Widening:
    """How a query can be computed with another one.

    Attributes:
        host: A family, or a query that has a plan of its own.
        made: The family that computes both; None if the host is one and has all columns.
        projection: The columns of that family that the query shows.
        selection: Its columns that are true in what the query shows.
        host_selection: Those that are true in what the host has shown so far.
        stem: The stem of the query, if both differ in constants besides.
        moved: The queries that become members of the family that is made, besides the query: what
            they show of it.
    """

    host: Query
    made: Founding | None
    projection: tuple[str, ...]
    selection: tuple[str, ...]
    host_selection: tuple[str, ...]
    stem: Shape | None = None
    moved: tuple[tuple[Query, Shown], ...] = ()


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
    query = written(statement.body, compiled)
    keep = retention_of(engine, dict(statement.options).get("keep"))
    left = leaving_names(engine, leaving)
    for host in _hosts(engine, shown.base):
        if host.name in left:
            continue
        why = f"{host.name} shows something of the same, but has begun, is read or pinned, or has "
        why += "other options"
        if host.keep != keep or not may_host(engine, host):
            continue
        found = shown_with(engine, Host(host, host.body, engine.compiled[host.name.lower()]), query)
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


def may_host(engine: Engine, host: Query) -> bool:
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


def shown_with(engine: Engine, host: Host, query: Written) -> Widening | str:
    """Return how one plan computes a query and a host, or why none does; nothing changes.

    Args:
        engine: The engine.
        host: The host.
        query: The query.
    """
    its, made, compiled = host.outline, host.founding, host.compiled
    assert its is not None
    if host.is_alone or not _has(its, query.outline):
        found = _made(engine, host, its, query)
        if isinstance(found, str):
            return found
        made, compiled = found, found.compiled
        if compiled.columns[: len(host.compiled.columns)] != host.compiled.columns:
            return f"what {host.query.name} shows would be called otherwise"
    shown, columns = compiled.outline, compiled.columns
    assert shown is not None
    known = {means: c for means, c in zip(reversed(shown.columns), reversed(columns), strict=True)}
    projection = [known[means] for means in query.outline.columns]
    if [c.type for c in projection] != list(query.types):
        return f"beside {host.query.name} its columns would have other types"
    selection = _selection(its, shown, known)
    moved = ((host.query, Shown(host.query.projected, selection)),) if host.is_alone else ()
    return Widening(
        host.query,
        made,
        tuple(column.name for column in projection),
        _selection(query.outline, shown, known),
        selection,
        moved=moved,
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


def _made(engine: Engine, host: Host, its: Outline, query: Written) -> Founding | str:
    """Return the family that computes a host and a query, or why there can be none."""
    called = host.query.name
    if its.base != query.outline.base:
        return f"it shows something of other tuples than {called}"
    both = {*its.conditions} & {*query.outline.conditions}
    if both not in ({*its.conditions}, {*query.outline.conditions}):
        return f"it shows tuples that {called} does not show, and {called} others"
    try:
        body = widened(written(host.text, host.compiled), query)
        if body is None:
            return f"its text does not say how it would be shown beside {called}"
        made, name = host.founding, family_name(engine) if host.is_alone else called
        name = name if made is None else made.name
        compiled = engine.compiler.compile(engine.catalogue, name, body, constants=host.constants)
    except Error as error:
        log.debug("%s is not widened: %s", called, error.message)
        return f"its text means something else beside {called}"
    shown = compiled.outline
    if len(compiled.columns) > MAX_COLUMNS:
        return f"{called} would have more than {MAX_COLUMNS} columns"
    fits = shown is not None and _has(shown, its) and _has(shown, query.outline)
    if not fits or compiled.kind != host.compiled.kind:
        return f"its text means something else beside {called}"
    members = engine.catalogue.members_of(host.query) if made is None else ()
    if len(_conditions(members, compiled, its, query.outline)) > MAX_CONDITIONS:
        return f"{called} would have more than {MAX_CONDITIONS} conditions"
    if made is not None:
        return replace(made, body=body, compiled=compiled)
    return Founding(name, body, compiled, since_of(engine, host.query), None, None)


def written(text: str, compiled: Compiled) -> Written:
    """Return a query as it is written, and what it shows."""
    assert compiled.outline is not None
    names, types = zip(*((c.name, c.type) for c in compiled.columns), strict=True)
    return Written(text, names, types, compiled.outline)


def _conditions(members: Sequence[Query], compiled: Compiled, *shown: Outline) -> set[str]:
    """Return the conditions that a family would have as columns, by meaning.

    Args:
        members: The members that it has.
        compiled: Its plan.
        shown: What the host and another query show.
    """
    assert compiled.outline is not None
    names = (column.name for column in compiled.columns)
    meanings = dict(zip(names, compiled.outline.columns, strict=True))
    found = {meanings[name] for member in members for name in member.selection}
    return found.union(*(one.conditions for one in shown)) - {*compiled.outline.conditions}
