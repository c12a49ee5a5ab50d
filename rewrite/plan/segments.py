"""Segments of a join: inputs whose combinations a cache holds (thesis, sections 5.3 and 5.4).

    R₁ ⋈ R₂ ⋈ R₃ ⋈ R₄  =  R₁ ⋈ C ⋈ R₄        C = R₂ ⋈ R₃

The paper has a cache in one pipeline, for a segment of it, and keeps it consistent by the prefix
invariant (definition 5.4.2): the pipelines of the inputs in the segment begin with the segment. So
the change of the cache is what their first steps make, and the rest of the join goes on from there.
Here a cache is whole: it has all combinations of the segment, not those for keys that were asked
for. So it serves all pipelines of the inputs outside of the segment, and a join with caches is a
join of caches and inputs: a tree of MJoins, which the paper finds among its plans (section 5.9).

A segment is linked by equalities. If all of its inputs are windows in time, each combination says
when it ends as soon as it begins, and its cache never has to find it. Otherwise the cache has what
stands, and what ends is deleted; that is for inputs of which each tuple is one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations

from sqlglot import exp

from cqlduck.rewrite.plan import guards
from cqlduck.rewrite.plan.conditions import names_in
from cqlduck.rewrite.plan.join_graph import (
    BY_EQUALITY,
    JoinGraph,
    join_graph,
    mask_of,
    owners,
    places,
)
from cqlduck.rewrite.plan.nodes import (
    Cache,
    Filter,
    Join,
    Plan,
    Project,
    RelationScan,
    RowWindow,
    Sample,
    TimeWindow,
    UnionAll,
)
from cqlduck.rewrite.plan.properties import properties
from cqlduck.rewrite.plan.raising import can_raise
from cqlduck.rewrite.plan.traversal import bottom_up, unique, with_children

CACHES = "caches"
"""The kind of point at which caches are chosen."""

Segment = tuple[int, ...]
"""The inputs in a segment, by number, from 0, ascending."""

Segments = tuple[Segment, ...]
"""Segments of one join that have no input in common, ascending."""

Caches = tuple[tuple[int, Segments], ...]
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


def segments_text(segments: Segments) -> str:
    """Return segments as people write them.

    >>> segments_text(((1, 2), (3, 4)))
    '2+3 4+5'
    """
    return " ".join("+".join(str(place + 1) for place in segment) for segment in segments)


def segments_of_text(text: str) -> Segments | None:
    """Return segments as people write them, in order; None if the text names none.

    >>> segments_of_text("5+4 2+3")
    ((1, 2), (3, 4))
    >>> segments_of_text("2+2") is segments_of_text("none") is segments_of_text("2") is None
    True
    """
    found: list[Segment] = []
    for word in text.split():
        parts = word.split("+")
        if not all(part.isascii() and part.isdigit() and 0 < len(part) < 3 for part in parts):
            return None
        segment = tuple(sorted({int(part) - 1 for part in parts}))
        if len(segment) < len(parts) or len(segment) < 2 or segment[0] < 0:
            return None
        found.append(segment)
    listed = [place for segment in found for place in segment]
    return tuple(sorted(found)) if found and len(set(listed)) == len(listed) else None


@dataclass(frozen=True)
class Origin:
    """What a node of a plan with caches has come of.

    Attributes:
        node: The node of the plan without.
        part: What tells it from others that have come of the same; nothing if it stands for it.
        units: Of a join, the inputs of the one that it has come of, for each of its own.
    """

    node: Plan
    part: str = ""
    units: tuple[Segment, ...] | None = None


@dataclass(frozen=True)
class Divided:
    """A plan whose joins have caches.

    Attributes:
        plan: The plan.
        before: The plan without caches, whose operators it has.
        origins: By node of the plan, what that has come of, unless it is a node of both.
    """

    plan: Plan
    before: Plan
    origins: Mapping[int, Origin] = field(default_factory=dict)


def divided(plan: Plan, caches: Caches) -> Divided:
    """Return a plan whose joins have caches.

    Args:
        plan: The plan.
        caches: By number of a join's operator, the segments; `allows` says which ones.
    """
    chosen = dict(caches)
    numbers = {id(node): number for number, node in enumerate(unique(plan))}
    made: dict[int, Plan] = {}
    origins: dict[int, Origin] = {}
    for node in bottom_up(plan):
        new = with_children(node, tuple(made[id(child)] for child in node.children))
        segments = chosen.get(numbers[id(node)])
        if segments and isinstance(node, Join) and isinstance(new, Join):
            new = _divided(node, new, segments, origins)
        elif new is not node:
            origins[id(new)] = Origin(node)
        made[id(node)] = new
    return Divided(made[id(plan)], plan, origins)


def part_of(segment: Segment) -> str:
    """Return what tells a segment from others of its join, as a part of the names of tables."""
    return "_".join(["of", *(str(place + 1) for place in segment)])


def _divided(before: Join, node: Join, segments: Segments, origins: dict[int, Origin]) -> Plan:
    """Return a join whose segments have caches, with the columns in their order."""
    inner = {place: segment for segment in segments for place in segment}
    units = [inner.get(place, (place,)) for place in range(len(node.inputs))]
    units = list(dict.fromkeys(units))
    whose = owners(node)
    inside = {
        segment: tuple(
            part for part in node.predicates if set() < places(part, whose) <= set(segment)
        )
        for segment in segments
    }
    outside = [
        part for part in node.predicates if not any(part in mine for mine in inside.values())
    ]
    read = names_in(outside) | {c.name for c in node.columns}
    inputs: list[Plan] = []
    for unit in units:
        if unit not in inside:
            inputs.append(node.inputs[unit[0]])
            continue
        members = tuple(node.inputs[place] for place in unit)
        listed = tuple(c.name for plan in members for c in plan.columns if c.name in read)
        segment = Join(members, inside[unit], listed)
        cache = Cache(segment)
        name = part_of(unit)
        origins[id(segment)] = Origin(before, f"{name}_segment", tuple((at,) for at in unit))
        origins[id(cache)] = Origin(before, name)
        inputs.append(cache)
    shown = tuple(c.name for c in node.columns)
    joined = replace(node, inputs=tuple(inputs), predicates=tuple(outside), shown=shown)
    origins[id(joined)] = Origin(before, "", tuple(units))
    if joined.columns == node.columns:
        return joined
    references = tuple(exp.column(c.name, quoted=True) for c in node.columns)
    ordered = Project(joined, references, node.columns)
    origins[id(ordered)] = Origin(before, "ordered")
    return ordered
