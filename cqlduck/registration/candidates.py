"""Candidates: what a query could be computed with by one plan, and why it cannot be.

Nothing is registered here: `families` makes of a candidate what EXPLAIN CREATE only speaks of.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from cqlduck.engine import Engine
from cqlduck.errors import Error
from cqlduck.registration.generalizing import value
from cqlduck.registration.options import is_deferred, retention_of, sharing_of
from cqlduck.registration.pins import NO_PINS, Pins
from cqlduck.rewrite.bind.macros import Captured
from cqlduck.rewrite.text.shapes import (
    Shape,
    is_stem,
    shape_of,
    shapes_of,
    stems_of,
)
from cqlduck.rewrite.text.statements import CreateQuery
from cqlduck.rewrite.text.time import Instant
from cqlduck.state.connection import quoted
from cqlduck.state.registered import Query

log = logging.getLogger("cqlduck")


@dataclass(frozen=True)
class Candidate:
    """What a query may be computed with.

    Attributes:
        query: A family, or a query that has a plan of its own.
        like: That query, or, of a family, a member.
        shape: The shape that both have.
        is_open: Whether it is a family that takes the query as it is; else one has to be made.
        is_first: Whether the query would become the first member of that one.
    """

    query: Query
    like: Query
    shape: Shape
    is_open: bool
    is_first: bool


def candidates(
    engine: Engine, statement: CreateQuery, leaving: Query | None = None, pins: Pins = NO_PINS
) -> Iterator[Candidate]:
    """Yield what a query may be computed with, the best first; nothing changes.

    Args:
        engine: The engine.
        statement: CREATE CONTINUOUS QUERY.
        leaving: A query that goes before.
        pins: What is pinned for that one.
    """
    if not wants_sharing(engine, statement):
        return
    if any(key == "history" for key, _ in statement.options):
        return
    try:
        shapes = shapes_of(statement.body)
    except Error:
        return  # to compile it says what is wrong, and where
    keep = retention_of(engine, dict(statement.options).get("keep"))
    wanted = _Wanted(keep, leaving_names(engine, leaving), pins)
    shaped = [one for shape in shapes for one in _of_shape(engine, shape, wanted)]
    if not any(one.is_open for one in shaped):
        # a family that takes it comes before one that would have to be made
        for stem in stems_of(statement.body):
            yield from _of_stem(engine, stem, wanted)
    yield from shaped


@dataclass(frozen=True)
class _Wanted:
    """What a query that is registered asks of those that it may be computed with.

    Attributes:
        keep: How long changes are kept.
        left: The names of what goes before.
        pins: What is pinned for that.
    """

    keep: str | None
    left: tuple[str, ...]
    pins: Pins


def _of_shape(engine: Engine, shape: Shape, wanted: _Wanted) -> Iterator[Candidate]:
    """Yield the candidates of a shape."""
    known = [one for one in engine.catalogue.families.values() if one.shape == shape.key]
    known = [one for one in known if one.name not in wanted.left]
    open_to_it = [one for one in known if one.keep == wanted.keep and _may_join(engine, one)]
    open_to_it = [one for one in open_to_it if fits(engine, shape, _types(engine, one))]
    for query in open_to_it or [*known, *alike(engine, shape.key)]:
        like = (*engine.catalogue.members_of(query), query)[0]
        if query.name in wanted.left:
            continue
        if not wanted.pins.admit(query, is_open=bool(open_to_it)):
            continue
        if _is_plain(engine, like, shape):
            can_be = query.keep == wanted.keep and is_first(engine, query)
            yield Candidate(query, like, shape, bool(open_to_it), can_be)


def _of_stem(engine: Engine, stem: Shape, wanted: _Wanted) -> Iterator[Candidate]:
    """Yield the families of a stem with a member that shows what a query of this stem shows."""
    for family in engine.catalogue.families.values():
        if family.shape != stem.key or family.keep != wanted.keep or family.name in wanted.left:
            continue
        shown = _lists(engine, family).get(stem.listed)
        if shown is None or not wanted.pins.admit(family, is_open=True):
            continue
        can_join = _may_join(engine, family) and fits(engine, stem, _types(engine, family))
        if can_join and _is_plain(engine, shown, stem):
            yield Candidate(family, shown, stem, is_open=True, is_first=False)


def _lists(engine: Engine, family: Query) -> Mapping[str, Query]:
    """Return the members of a family of a stem by their SELECT lists, one for each."""
    known = engine.shareable.lists.get(family.name)
    if known is None:
        assert family.shape is not None
        members = engine.catalogue.members_of(family)
        known = {shape_of(one.body, family.shape).listed: one for one in members}
        engine.shareable.lists[family.name] = known
    return known


def member_like(engine: Engine, family: Query, query: Query) -> Query | None:
    """Return a member of a family that shows of it what a query would; None if none does.

    Args:
        engine: The engine.
        family: A family whose members differ in constants.
        query: A query of its shape or stem.
    """
    assert family.shape is not None
    if not is_stem(family.shape):
        return engine.catalogue.members_of(family)[0]
    return _lists(engine, family).get(shape_of(query.body, family.shape).listed)


def leaving_names(engine: Engine, leaving: Query | None) -> tuple[str, ...]:
    """Return the name of a query that goes, and of the family of which it is the only member."""
    if leaving is None:
        return ()
    family = engine.catalogue.family_of(leaving)
    is_alone = family is not None and len(engine.catalogue.members_of(family)) == 1
    return (leaving.name, *((family.name,) if family is not None and is_alone else ()))


def wants_sharing(engine: Engine, statement: CreateQuery) -> bool:
    """Return whether a query that is registered may be computed with others."""
    options = dict(statement.options)
    if is_deferred(options.get("read")):
        return False
    wish = sharing_of(options.get("sharing"))
    return engine.sharing if wish is None else wish


def _types(engine: Engine, family: Query) -> Sequence[str]:
    """Return the types that a family has for its constants."""
    constants = engine.catalogue.constants_of(family)
    return () if constants is None else [column.type for column in constants.columns[2:]]


def fits(engine: Engine, shape: Shape, types: Sequence[str]) -> bool:
    """Return whether constants have the types of a family: of what is no date DuckDB has the word.

    Args:
        engine: The engine.
        shape: The shape of a query.
        types: The types; none if the queries of the family have no constants of their own.
    """
    try:
        for constant in shape.constants:
            value(engine, constant)
    except Error:
        return False  # to compile it says what is wrong, and where
    pairs = zip(shape.constants, types, strict=False)
    texts = [(c.sql, kind) for c, kind in pairs if c.kind == "text" and kind != "VARCHAR"]
    checks = [f"TRY_CAST({sql} AS {kind}) IS NOT NULL" for sql, kind in texts]
    return not checks or bool(engine.database.value(f"SELECT {' AND '.join(checks)}"))


def note(engine: Engine, query: Query) -> None:
    """Note a query that has a plan of its own, for those that come after it."""
    if engine.shareable.shapes is not None:
        for shape in (*shapes_of(query.body), *stems_of(query.body)):
            engine.shareable.shapes.setdefault(shape.key, []).append(query.name.lower())


def alike(engine: Engine, key: str) -> list[Query]:
    """Return the queries of a shape that have plans of their own."""
    if engine.shareable.shapes is None:
        engine.shareable.shapes = {}
        for query in engine.catalogue.queries.values():
            if query.family is None:
                note(engine, query)
    known = map(engine.catalogue.queries.get, engine.shareable.shapes.get(key, ()))
    found = {query.name: query for query in known if query is not None and query.family is None}
    # another query may have the name by now
    return [q for q in found.values() if shape_of(q.body, key).key == key]


def _is_plain(engine: Engine, like: Query, shape: Shape) -> bool:
    """Return whether the text of a query means what that of one like it meant.

    That is so if neither names a macro, a type or a function of a user.
    """
    known = Captured() if not like.taken else Captured.of(like.taken)
    if known != Captured():
        return False
    words = {word.partition(":")[2].lower() for word in shape.words.split("\n")}
    return words.isdisjoint(engine.compiler.own_names) and words.isdisjoint(
        engine.catalogue.functions
    )


def since_of(engine: Engine, query: Query) -> Instant | None:
    """Return the instant after which a query begins that reads the inputs of another one."""
    known = engine.progress.target(query), *forgotten(engine, query).values()
    return max((at for at in known if at is not None), default=None)


def forgotten(engine: Engine, query: Query) -> dict[str, Instant | None]:
    """Return by name up to where elements are forgotten of what a query reads itself.

    What a query below it has read may be forgotten, as long as the log of that one is there.
    """
    known, read = engine.catalogue, dict[str, Instant | None]()
    for name in query.inputs:
        thing, inner = known.inputs.get(name.lower()), known.queries.get(name.lower())
        if thing is not None:
            read[thing.name] = thing.forgotten
        elif inner is not None:
            read[inner.name] = inner.history_from
    return read


def _may_join(engine: Engine, family: Query) -> bool:
    """Return whether a family takes a member that is registered now.

    One that stands still does not: its inputs may not be kept for it until it would go on.
    """
    if family.state != "active":
        return False
    since = since_of(engine, family)
    if family.is_open and since is not None:
        return True
    return is_new(family) and family.since == since


def is_new(query: Query) -> bool:
    """Return whether a query has not moved since it was registered."""
    return query.begin_instant is None and query.frontier == query.since


def is_first(engine: Engine, query: Query) -> bool:
    """Return whether a query that has a plan of its own can become a member of a family.

    That is so if it has not moved yet, nobody reads it or has pinned something of it, and it goes
    on with the log of no other.
    """
    if query.shape is not None or query.state != "active" or not is_new(query):
        return False
    if query.sharing is False or query.is_deferred:
        return False
    if query.since != since_of(engine, query) or engine.catalogue.readers(query):
        return False
    if engine.streamon.executor.pins_of(query.name):
        return False
    log = f"cql_state.{quoted(query.changes)}"
    return not engine.database.value(f"SELECT EXISTS (FROM {log})")
