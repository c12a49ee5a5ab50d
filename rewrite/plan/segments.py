"""Segments of a join: inputs whose combinations a cache holds (thesis, sections 5.3 and 5.4).

    R₁ ⋈ R₂ ⋈ R₃ ⋈ R₄  =  R₁ ⋈ C ⋈ R₄        C = R₂ ⋈ R₃

The paper has a cache C_{ijk} in one pipeline, for a segment of it, and keeps it consistent by the
prefix invariant (definition 5.4.2): the pipelines of the inputs in the segment begin with the
segment. So the change of the cache is what their first steps make, and the rest of the join goes on
from there. Here a cache is whole: it has all combinations of the segment, not those for keys that
were asked for. So any pipeline of an input outside of the segment can use it, and all that do share
it (definition 5.5.1). By the prefix invariant of two segments that share inputs one is in the
other. A join whose pipelines all use what they can is a tree of MJoins, an XJoin if all of its
joins are of two; where some pipelines use a cache and others meet its inputs, it is more than that,
as the paper says (section 5.3).

A segment is linked by equalities. If all of its inputs are windows in time, each combination says
when it ends as soon as it begins, and its cache never has to find it. Otherwise the cache has what
stands, and what ends is deleted; that is for inputs of which each tuple is one.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

from sqlglot import exp

from cqlduck.rewrite.plan import guards
from cqlduck.rewrite.plan.aggregates import INTEGERS
from cqlduck.rewrite.plan.conditions import without_parens
from cqlduck.rewrite.plan.join_graph import (
    BY_EQUALITY,
    JoinGraph,
    join_graph,
    mask_of,
    owners,
)
from cqlduck.rewrite.plan.nodes import (
    Cache,
    Filter,
    Join,
    Plan,
    Project,
    RowWindow,
    Sample,
    TimeWindow,
    UnionAll,
)
from cqlduck.rewrite.plan.partial import Link
from cqlduck.rewrite.plan.properties import properties
from cqlduck.rewrite.plan.raising import can_raise
from cqlduck.rewrite.plan.sources import RelationScan

CACHES = "caches"
"""The kind of point at which caches are chosen."""

KEY_TYPES = (INTEGERS - {"BOOLEAN"}) | {"DATE", "TIMESTAMP", "VARCHAR"}
"""The types of the keys of partial caches."""

Segment = tuple[int, ...]
"""The inputs in a segment, by number, from 0, ascending."""


class Cached(NamedTuple):
    """A segment that has a cache.

    Attributes:
        segment: Its inputs.
        users: The inputs whose pipelines meet it, ascending; None is all that can.
        slots: For how many keys a partial cache has room; None is a whole one.
    """

    segment: Segment
    users: Segment | None = None
    slots: int | None = None


Caching = tuple[Cached, ...]
"""Segments of a join that have caches, ascending; of two that share inputs one is in the other."""

Caches = tuple[tuple[int, Caching], ...]
"""The segments that have caches, by the number of the join's operator."""


def can_have(node: Join) -> bool:
    """Return whether segments of a join may have caches: no condition of it may raise."""
    types = {c.name: c.type for plan in node.inputs for c in plan.columns}
    return len(node.inputs) > 2 and not any(can_raise(part, types) for part in node.predicates)


def segments_of(node: Join) -> Iterator[Segment]:
    """Yield the segments of a join that may have a cache, the smaller ones first."""
    if not can_have(node):
        return
    graph = join_graph(node)
    fit = {place for place, plan in enumerate(node.inputs) if says_its_end(plan)}
    stored = {
        place
        for place, plan in enumerate(node.inputs)
        if properties(plan).has_unit_weights and _is_over(plan, _is_stored)
    }
    for count in range(2, len(node.inputs)):
        for segment in combinations(sorted(fit | stored), count):
            if (fit.issuperset(segment) or stored.issuperset(segment)) and _is_linked(
                graph, segment
            ):
                yield segment


def says_its_end(plan: Plan) -> bool:
    """Return whether each tuple of an input says when it ends as soon as it begins."""
    if isinstance(plan, Cache):
        return all(map(says_its_end, plan.input.inputs))
    return _is_over(plan, _is_window)


def _is_window(plan: Plan) -> bool:
    return isinstance(plan, TimeWindow) and not properties(plan).is_instantaneous


def _is_stored(plan: Plan) -> bool:
    if isinstance(plan, RelationScan):
        return not plan.source.is_query
    return isinstance(plan, RowWindow) or _is_window(plan)


def _is_over(plan: Plan, is_leaf: Callable[[Plan], bool]) -> bool:
    """Return whether there is nothing but linear operators that cannot raise above some leaves."""
    match plan:
        case Filter():
            return not guards.may_raise(plan) and _is_over(plan.input, is_leaf)
        case Project():
            types = {c.name: c.type for c in plan.input.columns}
            raises = any(can_raise(expression, types) for expression in plan.expressions)
            return not raises and _is_over(plan.input, is_leaf)
        case Sample():
            return _is_over(plan.input, is_leaf)
        case UnionAll():
            return all(_is_over(inner, is_leaf) for inner in plan.inputs)
        case _:
            return is_leaf(plan)


def _is_linked(graph: JoinGraph, segment: Segment) -> bool:
    """Return whether equalities link the inputs of a segment without any other."""
    met = [segment[0]]
    while len(met) < len(segment):
        following = [
            place
            for place in segment
            if place not in met and graph.link(mask_of(met), place) == BY_EQUALITY
        ]
        if not following:
            return False
        met += following
    return True


_SLOTS = re.compile(r"[1-9][0-9]{0,7}", re.ASCII)


def caching_text(caching: Caching) -> str:
    """Return the caches of a join as people write them.

    >>> caching_text((Cached((1, 2), slots=64), Cached((3, 4), (0, 5))))
    '2+3:64 4+5@1+6'
    """
    return " ".join(
        _inputs(segment)
        + ("" if users is None else f"@{_inputs(users)}")
        + ("" if slots is None else f":{slots}")
        for segment, users, slots in caching
    )


def _inputs(places: Iterable[int]) -> str:
    return "+".join(str(place + 1) for place in places)


@functools.lru_cache(maxsize=256)
def caching_of_text(text: str) -> Caching | None:
    """Return the caches of a join as people write them, in order; None if the text names none.

    >>> caching_of_text("5+4 2+3@1:64") == (Cached((1, 2), (0,), 64), Cached((3, 4)))
    True
    >>> caching_of_text("2+2") is caching_of_text("none") is caching_of_text("2") is None
    True
    """
    found: list[Cached] = []
    for word in text.split():
        rest, colon, slots = word.partition(":")
        inputs, at, users = rest.partition("@")
        segment, mine = _places(inputs), _places(users) if at else None
        if segment is None or len(segment) < 2 or (at and (not mine or set(mine) & set(segment))):
            return None
        if colon and not _SLOTS.fullmatch(slots):
            return None
        found.append(Cached(segment, mine, int(slots) if colon else None))
    found.sort(key=lambda one: one.segment)
    return tuple(found) if found and is_laminar([one.segment for one in found]) else None


def _places(text: str) -> Segment | None:
    parts = text.split("+")
    if not all(part.isascii() and part.isdigit() and 0 < len(part) < 3 for part in parts):
        return None
    places = tuple(sorted({int(part) - 1 for part in parts}))
    return None if len(places) < len(parts) or places[0] < 0 else places


def is_laminar(segments: Sequence[Segment]) -> bool:
    """Return whether of any two segments that share inputs one is in the other, and not the same.

    >>> is_laminar([(0, 1), (0, 1, 2), (3, 4)]), is_laminar([(0, 1), (1, 2)])
    (True, False)
    """
    pairs = combinations(map(set, segments), 2)
    return all(not one & other or one < other or other < one for one, other in pairs)


def units(caching: Caching, level: Segment) -> tuple[Segment, ...]:
    """Return what a join of inputs is one of: inputs and the largest caches among them.

    Args:
        caching: The caches.
        level: The inputs: all of the join, or those of a segment.
    """
    inside = [set(one.segment) for one in caching if set(one.segment) < set(level)]
    largest = [tuple(sorted(one)) for one in inside if not any(one < other for other in inside)]
    within = {place: segment for segment in largest for place in segment}
    return tuple(dict.fromkeys(within.get(place, (place,)) for place in level))


def met(caching: Caching, unit: Segment, level: Segment) -> tuple[Segment, ...]:
    """Return what all units of a join are to the pipeline of one of them, itself included.

    A pipeline that does not use a cache meets what that is made of.
    """
    users = {one.segment: one.users for one in caching}

    def seen(other: Segment) -> list[Segment]:
        mine = users.get(other)
        if len(other) == 1 or other == unit or mine is None or set(unit) & set(mine):
            return [other]
        return [one for part in units(caching, other) for one in seen(part)]

    return tuple(one for part in units(caching, level) for one in seen(part))


def used(caching: Caching, count: int) -> Caching | None:
    """Return caches with the pipelines that use each, written in one way only.

    Args:
        caching: The caches.
        count: How many inputs the join has.

    Returns:
        None if one is used by no pipeline, or a partial one by that of a cache. Partial ones say
        always who uses them.
    """
    users = users_of(caching, count)
    if not all(users.values()):
        return None
    by_all = users == users_of(tuple(one._replace(users=None) for one in caching), count)
    found = []
    for one in caching:
        mine = users[one.segment]
        if one.slots is not None and any(len(unit) > 1 for unit in mine):
            return None
        listed = tuple(sorted(place for unit in mine for place in unit))
        found.append(one._replace(users=None if by_all and one.slots is None else listed))
    return tuple(found)


def users_of(caching: Caching, count: int) -> dict[Segment, list[Segment]]:
    """Return the units whose pipelines meet each cache, ascending."""
    found: dict[Segment, set[Segment]] = {one.segment: set() for one in caching}
    for level in (tuple(range(count)), *found):
        for unit in units(caching, level):
            for other in met(caching, unit, level):
                if len(other) > 1 and other != unit:
                    found[other].add(unit)
    return {segment: sorted(mine) for segment, mine in found.items()}


def links_of(node: Join) -> tuple[Link, ...]:
    """Return the equalities of columns of one type between inputs, each in both directions."""
    whose = owners(node)
    types = {c.name: c.type for plan in node.inputs for c in plan.columns}
    found = []
    for predicate in node.predicates:
        if not isinstance(predicate, exp.EQ):
            continue
        sides = [without_parens(side) for side in (predicate.this, predicate.expression)]
        names = [side.name for side in sides if isinstance(side, exp.Column)]
        if len(names) < 2 or types[names[0]] != types[names[1]] or types[names[0]] not in KEY_TYPES:
            continue
        one, other = names
        if whose[one] != whose[other]:
            found += [
                Link(whose[one], one, whose[other], other),
                Link(whose[other], other, whose[one], one),
            ]
    return tuple(found)
