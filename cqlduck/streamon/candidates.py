"""Candidate caches: what pipelines in given orders may have (thesis, 5.4, 5.5.4 and 5.7).

The pipeline of ΔRᵢ joins with R_{i₁}, R_{i₂}, …; a cache C_{ijk} is of its segment R_{i_j}, …,
R_{i_k}. It is kept up to date without a join of its own if the pipelines of the inputs in the
segment begin with the segment (prefix invariant, definition 5.4.2): what their first k − j
operators make are its changes. So two sets of inputs that satisfy it have no input in common, or
one has the other in it, and the candidates of a pipeline are a forest (figure 5.8).

Candidates of several pipelines are shared if they are of the same segment and have the same key
K_{ijk} (definition 5.5.1): the attributes by which the inputs before the segment are joined with
those in it. A whole cache has all combinations, whatever the key, and is shared by all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from cqlduck.rewrite.plan.orders import Order
from cqlduck.rewrite.plan.segments import Segment

Orders = Mapping[int, Order]
"""The orders of all pipelines of a join, by the input that changes, which is the first in each."""

Attribute = frozenset[int]
"""An attribute that is equated across a join, as the inputs that have it."""

Identity = tuple[Segment, tuple[Attribute, ...]]
"""A segment and a key: candidates with the same are shared."""


@dataclass(frozen=True)
class Candidate:
    """C_{ijk}: a segment of one pipeline, of which there may be a cache.

    Attributes:
        pipeline: i, the input that changes.
        first: j, the place of the first operator of the segment in the pipeline, from 1.
        last: k, that of the last one.
        segment: The inputs in it, ascending.
        key: K_{ijk}, the attributes between the inputs before the segment and those in it.
    """

    pipeline: int
    first: int
    last: int
    segment: Segment
    key: tuple[Attribute, ...] = ()

    @property
    def cache(self) -> Identity:
        """What candidates with the same cache have in common."""
        return self.segment, self.key

    def covers(self, other: Candidate) -> bool:
        """Return whether a segment of the same pipeline has another one in it."""
        is_inside = self.first <= other.first and other.last <= self.last
        return self.pipeline == other.pipeline and is_inside and self != other


def prefixes(orders: Orders) -> list[Segment]:
    """Return the sets of inputs that satisfy the prefix invariant, the smaller ones first.

    All inputs of the join are none: nothing is left that would meet them.

    >>> prefixes({0: (0, 1, 2), 1: (1, 2, 0), 2: (2, 1, 0)})
    [(1, 2)]
    """
    found = []
    for count in range(2, len(orders)):
        begins = {place: frozenset(order[:count]) for place, order in orders.items()}
        some = {one for one in begins.values() if all(begins[place] == one for place in one)}
        found += sorted(tuple(sorted(one)) for one in some)
    return found


def in_pipelines(
    orders: Orders, segments: Iterable[Segment], attributes: Sequence[Attribute] = ()
) -> list[Candidate]:
    """Return where segments are in pipelines, by pipeline and segment.

    Args:
        orders: The orders of the pipelines.
        segments: The sets of inputs that may have a cache.
        attributes: The attributes that are equated; without, caches are whole and have no key.
    """
    found = []
    listed = list(segments)
    for pipeline, order in sorted(orders.items()):
        for segment in listed:
            places = sorted(order.index(place) for place in segment)
            first, last = places[0], places[-1]
            if pipeline in segment or last - first + 1 > len(segment):
                continue
            before = frozenset(order[:first])
            key = tuple(one for one in attributes if one & before and one & frozenset(segment))
            found.append(Candidate(pipeline, first, last, segment, key))
    return found


def candidates(orders: Orders, attributes: Sequence[Attribute] = ()) -> list[Candidate]:
    """Return the candidate caches of pipelines: those that satisfy the prefix invariant."""
    return in_pipelines(orders, prefixes(orders), attributes)


def parents(some: Iterable[Candidate]) -> dict[Candidate, Candidate | None]:
    """Return the forest of candidates: of each the least one that has it in it, or None.

    Children come before their parents.
    """
    listed = sorted(some, key=lambda one: one.last - one.first)
    return {
        one: next((other for other in listed[at + 1 :] if other.covers(one)), None)
        for at, one in enumerate(listed)
    }


def groups(some: Iterable[Candidate]) -> dict[Identity, list[Candidate]]:
    """Return candidates by what is shared; a group of one is not shared."""
    found: dict[Identity, list[Candidate]] = {}
    for one in some:
        found.setdefault(one.cache, []).append(one)
    return found


def partner(orders: Orders, segment: Segment) -> Segment:
    """Return Y, where a globally consistent cache of a segment X is one of X ⋉ Y (section 5.7).

    Those are the fewest inputs with which it satisfies the prefix invariant; at worst all others.
    None are needed if it satisfies that by itself.
    """
    inside = set(segment)
    larger = (one for one in prefixes(orders) if inside <= set(one))
    return tuple(place for place in next(larger, sorted(orders)) if place not in inside)


def globally_consistent(orders: Orders, some: Iterable[Segment]) -> list[Segment]:
    """Return the segments that need others for the prefix invariant, the larger ones first."""
    known = set(prefixes(orders))
    return sorted((one for one in some if one not in known), key=lambda one: (-len(one), one))
