"""A plan whose joins have caches (thesis, sections 5.3 and 5.4); `segments` says which may be.

A join becomes one of units: inputs, and caches of segments, each over a join of its own inputs,
which may be caches again. The delta of a unit goes through its pipeline once, whichever of the
inputs in it has changed. A pipeline that does not use a cache meets the inputs of that instead:

    standing(C) = standing(R₂) ⋈ standing(R₃)        and so for what begins or ends

so that it makes the same combinations.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from sqlglot import exp

from cqlduck.rewrite.plan.conditions import names_in
from cqlduck.rewrite.plan.join_graph import owners, places
from cqlduck.rewrite.plan.nodes import Cache, Join, Plan, Project
from cqlduck.rewrite.plan.partial import Asker, Partial, keys_of
from cqlduck.rewrite.plan.segments import (
    Cached,
    Caches,
    Caching,
    Segment,
    links_of,
    met,
    units,
    users_of,
)
from cqlduck.rewrite.plan.traversal import bottom_up, unique, with_children


@dataclass(frozen=True)
class Origin:
    """What a node of a plan with caches has come of.

    Attributes:
        node: The node of the plan without.
        part: What tells it from others that have come of the same; nothing if it stands for it.
        units: Of a join, the inputs of the one that it has come of, for each of its own.
        seen: By input, what the join is to its pipeline, if that does not use all caches.
    """

    node: Plan
    part: str = ""
    units: tuple[Segment, ...] | None = None
    seen: Mapping[int, Seen] = field(default_factory=dict)


@dataclass(frozen=True)
class Seen:
    """A join as one of its pipelines sees it, which meets inputs where others meet a cache.

    Attributes:
        join: The same join, of other inputs; its columns are the same.
        units: The inputs of the join without caches, for each of its own.
    """

    join: Join
    units: tuple[Segment, ...]


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
        caching = chosen.get(numbers[id(node)])
        if caching and isinstance(node, Join) and isinstance(new, Join):
            new = _divided(node, new, caching, origins)
        elif new is not node:
            origins[id(new)] = Origin(node)
        made[id(node)] = new
    return Divided(made[id(plan)], plan, origins)


def part_of(one: Cached) -> str:
    """Return what tells a cache from others of its join, as a part of the names of tables.

    >>> part_of(Cached((1, 2))), part_of(Cached((1, 2), (0,), 64))
    ('of_2_3', 'of_2_3_at_1_in_64')
    """
    segment, users, slots = one
    if slots is None:
        return _named("of", segment)
    return f"{_named('of', segment)}_{_named('at', users or ())}_in_{slots}"


_PART = re.compile(r"of_([0-9_]+?)(?:_at_([0-9_]+)_in_([0-9]+))?")


def cached_of_part(part: str) -> Cached | None:
    """Return the cache that a part of a table's name tells from others; None if it is none.

    >>> cached_of_part(part_of(Cached((1, 2), (0, 3), 64)))
    Cached(segment=(1, 2), users=(0, 3), slots=64)
    """
    found = _PART.fullmatch(part)
    if found is None:
        return None
    segment, users, slots = found.groups()
    if slots is None:
        return Cached(_places(segment))
    return Cached(_places(segment), _places(users), int(slots))


def _named(word: str, places: Segment) -> str:
    return "_".join([word, *(str(place + 1) for place in places)])


def _places(numbers: str) -> Segment:
    return tuple(int(number) - 1 for number in numbers.split("_"))


def _divided(before: Join, node: Join, caching: Caching, origins: dict[int, Origin]) -> Plan:
    """Return a join whose segments have caches, with the columns in their order."""
    parts = _Parts(node, caching)
    users = users_of(caching, len(node.inputs))
    for one in sorted(caching, key=lambda one: len(one.segment)):
        segment = one.segment
        joined = parts.join(segment, units(caching, segment))
        mine = tuple(unit[0] for unit in users[segment])
        cache = parts.cache(joined, one._replace(users=mine))
        name = part_of(one._replace(users=mine))
        origins[id(joined)] = parts.origin(before, f"{name}_segment", segment)
        origins[id(cache)] = Origin(before, name)
    everything = tuple(range(len(node.inputs)))
    joined = parts.join(everything, units(caching, everything))
    origins[id(joined)] = parts.origin(before, "", everything)
    if joined.columns == node.columns:
        return joined
    references = tuple(exp.column(c.name, quoted=True) for c in node.columns)
    ordered = Project(joined, references, node.columns)
    origins[id(ordered)] = Origin(before, "ordered")
    return ordered


@dataclass
class _Parts:
    """Makes the joins that one with caches consists of.

    Attributes:
        node: The join.
        caching: Its caches.
        caches: Those that were made, by segment.
    """

    node: Join
    caching: Caching
    caches: dict[Segment, Cache] = field(default_factory=dict)

    @cached_property
    def _reads(self) -> list[tuple[exp.Expr, set[int]]]:
        whose = owners(self.node)
        return [(part, places(part, whose)) for part in self.node.predicates]

    def join(self, level: Segment, some: tuple[Segment, ...]) -> Join:
        """Return the join of some units, which together are all of the join or of a segment."""
        known = [set(unit) for unit in some if len(unit) > 1]
        inside = set(level)
        is_whole = len(level) == len(self.node.inputs)
        predicates = tuple(
            part
            for part, read in self._reads
            if (is_whole or set() < read <= inside)
            and not any(set() < read <= unit for unit in known)
        )
        outside = [part for part, read in self._reads if not set() < read <= inside]
        shown = {c.name for c in self.node.columns} | (set() if is_whole else names_in(outside))
        inputs = tuple(
            self.node.inputs[unit[0]] if len(unit) == 1 else self.caches[unit] for unit in some
        )
        listed = tuple(c.name for plan in inputs for c in plan.columns if c.name in shown)
        return replace(self.node, inputs=inputs, predicates=predicates, shown=listed)

    def cache(self, joined: Join, one: Cached) -> Cache:
        """Return the cache of a segment, over the join of its units."""
        found = Cache(joined)
        if one.slots is not None:
            users, inputs = one.users or (), self.node.inputs
            keys = keys_of(links_of(self.node), one.segment, users)
            askers = (
                Asker(
                    tuple(columns[number] for columns in keys.values()),
                    tuple(part for part, read in self._reads if read == {place}),
                )
                for number, place in enumerate(users)
            )
            partial = Partial(tuple(keys), one.slots, tuple(askers))
            found = Cache(joined, partial, tuple(inputs[place] for place in users))
        self.caches[one.segment] = found
        return found

    def origin(self, before: Join, part: str, level: Segment) -> Origin:
        """Return what the join of all units of a segment, or of the join, has come of."""
        mine, seen = units(self.caching, level), {}
        for place, unit in enumerate(mine):
            other = met(self.caching, unit, level)
            if other != mine:
                seen[place] = Seen(self.join(level, other), other)
        return Origin(before, part, mine, seen)
