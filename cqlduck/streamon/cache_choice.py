"""Which caches a join has, by the model of what they cost (thesis, sections 5.5.4, 5.6 and 5.7).

`optimum` is free of the orders of pipelines: those of the inputs in a cache follow it. The
algorithms of the thesis begin with these orders, and with the candidates that they allow.

For want of candidates the thesis has **globally consistent** caches (section 5.7): X ⋉ Y, where X
is the segment, which with Y satisfies the prefix invariant. Such a cache may have any values from
those of σ(X) with a partner in the rest of the join up to all of σ(X) (definition 5.7.1). So what
is a cache of X here is one of these: it has all of σ(X). That the pipelines of the inputs in X
begin with others first does not matter, as they follow. `global_optimum` searches the candidates
that the thesis does.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Collection, Iterator, Sequence

from cqlduck.rewrite.plan.segments import Cached, Caching, Segment, is_laminar, used
from cqlduck.streamon.cache_costs import Costs
from cqlduck.streamon.cache_misses import slots_of
from cqlduck.streamon.candidates import Candidate, globally_consistent, prefixes
from cqlduck.streamon.selection import Prices, selected

MAX_SEARCHED = 6
"""Of how many inputs caches are searched that are there together; of more it is one cache."""

MAX_CANDIDATES = 6
"""How many candidates are searched among which are globally consistent caches: m in section 5.7."""

ALL_KEYS = 1 << 40
"""Slots enough for all keys."""

Algorithm = Callable[[Collection[Candidate], Prices], tuple[Candidate, ...]]
"""What selects candidate caches."""


def least(known: Costs, some: Sequence[Segment]) -> tuple[Caching, float]:
    """Return the caches that cost the least together, and what; none is a choice, too.

    Here the pipelines of the inputs follow the caches; no order has to satisfy the prefix invariant
    before. Which pipelines use which caches is found for the best ones.

    Args:
        known: What is known of the join.
        some: The segments that may have a cache.
    """
    count = len(known.orders)
    if count <= MAX_SEARCHED:
        family = _tree(known, some)
    else:
        family = min(((), *((one,) for one in some)), key=lambda one: known.of(_bare(one)))
    caching = known.used(family) or used(_bare(family), count) or ()
    return caching, known.of(caching)


def _bare(family: Collection[Segment]) -> Caching:
    return tuple(Cached(segment) for segment in sorted(family))


def _tree(known: Costs, some: Sequence[Segment]) -> tuple[Segment, ...]:
    """Return the segments of the best tree of joins.

    What a join of units takes does not depend on what these are made of. So the best tree of each
    set of inputs is found from those of its parts, over all ways to divide it.
    """
    begins: dict[int, list[Segment]] = {}
    for segment in some:
        begins.setdefault(segment[0], []).append(segment)

    def divisions(level: Segment, whole: int) -> Iterator[tuple[Segment, ...]]:
        if not level:
            yield ()
            return
        for unit in ((level[0],), *begins.get(level[0], ())):
            if len(unit) < whole and set(unit) <= set(level):
                rest = tuple(place for place in level if place not in unit)
                for others in divisions(rest, whole):
                    yield (unit, *others)

    @functools.cache
    def best(level: Segment) -> tuple[float, tuple[Segment, ...]]:
        found: tuple[float, tuple[Segment, ...]] = math.inf, ()
        for parts in divisions(level, len(level)):
            caches = [unit for unit in parts if len(unit) > 1]
            inside = [best(unit) for unit in caches]
            cost = sum(known.pipeline(unit, parts, level) for unit in parts)
            cost += sum(known.maintenance(unit) for unit in caches) + sum(
                other for other, _ in inside
            )
            # the first one has no cache
            if cost < found[0]:
                found = cost, (*caches, *(one for _, mine in inside for one in mine))
        return found

    return best(tuple(range(len(known.orders))))[1]


def allocated(known: Costs, caching: Caching, rows: float) -> Caching:
    """Return the caches for which there is memory, those of the highest priority (section 5.6).

    The priority of a cache is what it brings, net, for each row that it has. A whole cache has all
    of its rows or is not there.

    Args:
        known: What is known of the join.
        caching: The caches, selected as if memory were infinite.
        rows: How many rows there is memory for.
    """
    if sum(known.rows_of(one.segment) for one in caching) <= rows:
        return caching

    def priority(one: Cached) -> float:
        others = used(tuple(other for other in caching if other != one), len(known.orders)) or ()
        return (known.of(others) - known.of(caching)) / max(known.rows_of(one.segment), 1.0)

    found: Caching = ()
    for one in sorted(caching, key=priority, reverse=True):
        size = known.rows_of(one.segment)
        if size <= rows:
            found, rows = tuple(sorted((*found, one), key=lambda one: one.segment)), rows - size
    return used(found, len(known.orders)) or ()


def with_partial(
    known: Costs, found: Caching, some: Collection[Segment], rows: float, less: float
) -> Caching:
    """Return caches of which one is partial, if that costs clearly less than whole ones.

    A partial cache is for one pipeline, alone or with the whole caches that there are.

    Args:
        known: What is known of the join.
        found: The best whole caches.
        some: The segments that may have a cache.
        rows: How many rows there is memory for.
        less: Which part of their cost it has to fall below.
    """
    best, least_cost = found, less * known.of(found)
    left = rows - sum(known.rows_of(one.segment) for one in found)
    for segment in some:
        for user in known.matches:
            if user in segment or not known.delta[user] or user not in known.running:
                continue
            for others in dict.fromkeys(((), found)):
                room = left if others else rows
                caching = with_keys(known, others, Cached(segment, (user,)), room)
                cost = math.inf if caching is None else known.of(caching)
                if caching is not None and cost < least_cost:
                    best, least_cost = caching, cost
    return best


def with_keys(known: Costs, others: Caching, one: Cached, rows: float) -> Caching | None:
    """Return caches and a partial one besides, with as many slots as there is memory for.

    Args:
        known: What is known of the join.
        others: The other caches.
        one: The partial one, without slots, and the pipeline that uses it.
        rows: How many rows it may have: at least those of the keys that one tick asks for.
    """
    every = known.known_by(one._replace(slots=ALL_KEYS))
    if every is None or any(other.segment == one.segment for other in others):
        return None
    most = rows * every.of / max(every.rows, every.of, 1.0)
    one = one._replace(slots=slots_of(every.of, most))
    if known.rows_in(one) > rows:
        return None
    caching = (*others, one)
    if not is_laminar([other.segment for other in caching]):
        return None
    return used(tuple(sorted(caching, key=lambda other: other.segment)), len(known.orders))


def thesis(known: Costs, some: Collection[Segment], algorithm: Algorithm) -> tuple[Caching, float]:
    """Return the caches that an algorithm of the thesis selects, and what they cost here.

    Args:
        known: What is known of the join.
        some: The segments that may have a cache.
        algorithm: What selects candidates (`selection`).
    """
    found, prices = known.prices()
    fit = [one for one in found if one.segment in some]
    users: dict[Segment, set[int]] = {}
    for one in algorithm(fit, prices):
        users.setdefault(one.segment, set()).add(one.pipeline)
    caching: Caching | None = None
    while users and caching is None:
        listed = tuple(
            Cached(segment, tuple(sorted(mine))) for segment, mine in sorted(users.items())
        )
        caching = used(listed, len(known.orders))
        if caching is None:
            # pipelines of inputs that are cached together go on together, and use a larger one
            del users[min(users, key=len)]
    return caching or (), known.of(caching or ())


def global_optimum(
    known: Costs, some: Sequence[Segment], most: int = MAX_CANDIDATES
) -> tuple[Caching, float]:
    """Return the best caches among the candidates of section 5.7, and what they cost.

    Those are what satisfies the prefix invariant, and up to a number of globally consistent ones.
    If there are that many of the former, these are selected as in section 5.5.4.

    Args:
        known: What is known of the join.
        some: The segments that may have a cache.
        most: How many candidates there are: 2 to the power of that are searched.
    """
    fit = [one for one in prefixes(known.orders) if one in some]
    if len(fit) >= most:
        return thesis(known, some, selected)
    fit += globally_consistent(known.orders, some)[: most - len(fit)]
    best: tuple[Caching, float] = (), known.of(())
    for count in range(1, len(fit) + 1):
        for family in filter(is_laminar, itertools.combinations(fit, count)):
            caching = known.used(family)
            cost = math.inf if caching is None else known.of(caching)
            if caching is not None and cost < best[1]:
                best = caching, cost
    return best
