"""Which candidate caches are used: the offline algorithms of the thesis (section 5.5.4).

A cache takes the place of the operators of its segment. With proc(C) for what a tick takes to use
it in its pipeline, and cost(C) to keep it up to date, those have to be found that do not overlap in
a pipeline and minimize

    Σ proc(C) + cost(C),        an operator without a cache being one of length 0 and without cost

which is to maximize Σ benefit(C) − cost(C). Shared candidates have one cache, whose cost counts
once. Without any the best ones of each pipeline follow from its forest (theorem 5.5.1). With some
the problem is NP-hard (theorem 5.5.2). The greedy algorithm of theorem 5.5.3 is in another report;
here it is that of weighted set cover, which has the same bound:

    As long as operators are uncovered, take the one cache, and the pipelines that are to use it,
    for which cost and proc are the least for each operator that it covers newly.

It ends at a cost of at most H(n(n − 1)) times the least one, as a cover of the n(n − 1) operators
by such sets does. What is in a cache that was taken later is dropped, which only saves.

To search all subsets is exact, too. Once it is given which caches there are, each pipeline is on
its own again. By the prefix invariant n inputs have n − 2 caches at most, so that it takes 2ⁿ⁻²
forests of pipelines: 16 for 6 inputs, where the subsets of candidates would be thousands.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from cqlduck.streamon.candidates import Candidate, Identity, groups, parents


@dataclass(frozen=True)
class Prices:
    """What operators and caches take in a tick, in seconds.

    Attributes:
        steps: By pipeline, what each of its operators takes (d·c), the first one first.
        uses: What each candidate takes in its pipeline: proc(C).
        maintenance: What each cache takes to be kept up to date: cost(C).
    """

    steps: Mapping[int, Sequence[float]]
    uses: Mapping[Candidate, float]
    maintenance: Mapping[Identity, float]

    def without(self, one: Candidate) -> float:
        """Return what the operators of a segment take without a cache."""
        return sum(self.steps[one.pipeline][one.first - 1 : one.last])

    def benefit(self, one: Candidate) -> float:
        """Return what a candidate saves in its pipeline (5.5.1)."""
        return self.without(one) - self.uses[one]

    def of(self, chosen: Collection[Candidate]) -> float:
        """Return what a tick takes with some candidates that do not overlap."""
        nothing = sum(map(sum, self.steps.values()))
        kept = sum(self.maintenance[one] for one in {one.cache for one in chosen})
        return nothing - sum(map(self.benefit, chosen)) + kept


def recursive(
    some: Iterable[Candidate], net: Callable[[Candidate], float]
) -> tuple[Candidate, ...]:
    """Return candidates that do not overlap and have the greatest net benefit together.

    Of each tree of the forest it is its root, or the best ones of its children (theorem 5.5.1).
    That is exact if none is shared, or if nothing but the benefit counts.

    Args:
        some: The candidates, of one pipeline or several.
        net: What each brings.
    """
    below: dict[Candidate | None, list[tuple[float, tuple[Candidate, ...]]]] = {}
    for one, parent in parents(some).items():
        inside = below.pop(one, [])
        best = sum(value for value, _ in inside), tuple(c for _, mine in inside for c in mine)
        if net(one) > best[0]:
            best = net(one), (one,)
        below.setdefault(parent, []).append(best)
    return tuple(one for _, mine in below.get(None, []) for one in mine)


def greedy(some: Collection[Candidate], prices: Prices) -> tuple[Candidate, ...]:
    """Return candidates that cost at most H(n(n − 1)) times the least (theorem 5.5.3)."""
    uncovered = {
        (pipeline, place)
        for pipeline, steps in prices.steps.items()
        for place in range(1, len(steps) + 1)
    }
    chosen: set[Candidate] = set()
    there: set[Identity] = set()
    best: tuple[Candidate, ...]
    while uncovered:
        # an operator without a cache
        bare = min(uncovered, key=lambda one: (prices.steps[one[0]][one[1] - 1], one))
        rate, best = prices.steps[bare[0]][bare[1] - 1], ()
        for shared, mine in groups(some).items():
            kept = 0.0 if shared in there else prices.maintenance[shared]
            for each, users in _cheapest(mine, prices, uncovered, kept):
                if each < rate:
                    rate, best = each, users
        if not best:
            uncovered.discard(bare)
            continue
        there.add(best[0].cache)
        for one in best:
            chosen = {other for other in chosen if not one.covers(other)} | {one}
            uncovered -= _operators(one)
    found = tuple(sorted(chosen, key=lambda one: (one.pipeline, one.first)))
    return found if prices.of(found) < prices.of(()) else ()


def _operators(one: Candidate) -> set[tuple[int, int]]:
    return {(one.pipeline, place) for place in range(one.first, one.last + 1)}


def _cheapest(
    mine: Iterable[Candidate], prices: Prices, uncovered: set[tuple[int, int]], kept: float
) -> Iterable[tuple[float, tuple[Candidate, ...]]]:
    """Yield what a cache takes for each operator that it covers newly, in more and more pipelines.

    For any number of operators those are the best ones that take the least for each.
    """
    rated = []
    for one in mine:
        covered = len(_operators(one) & uncovered)
        if covered:
            rated.append((prices.uses[one] / covered, covered, one))
    rated.sort(key=lambda found: (found[0], found[2].pipeline))
    cost, covered = kept, 0
    users: tuple[Candidate, ...] = ()
    for rate, more, one in rated:
        cost, covered, users = cost + rate * more, covered + more, (*users, one)
        yield cost / covered, users


def exhaustive(some: Collection[Candidate], prices: Prices) -> tuple[Candidate, ...]:
    """Return the candidates of the least cost: all sets of caches are searched."""
    together = groups(some)
    best: tuple[float, tuple[Candidate, ...]] = prices.of(()), ()
    for count in range(1, len(together) + 1):
        for there in itertools.combinations(together, count):
            mine = [one for shared in there for one in together[shared]]
            chosen = recursive(mine, prices.benefit)
            cost = prices.of(chosen)
            if cost < best[0]:
                best = cost, chosen
    return best[1]


def selected(some: Collection[Candidate], prices: Prices) -> tuple[Candidate, ...]:
    """Return what the thesis selects: by recursion without shared candidates, else greedily."""
    if any(len(mine) > 1 for mine in groups(some).values()):
        return greedy(some, prices)
    return recursive(some, lambda one: prices.benefit(one) - prices.maintenance[one.cache])
