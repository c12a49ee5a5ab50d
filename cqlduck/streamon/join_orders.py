"""Orders of join pipelines: what they cost (thesis, section 5.2).

What is known of a pipeline is, of a sample of tuples of the delta, how many combinations the path
to each input has (`SpanningTree`): 0 where that logical filter drops the tuple. Divided by those of
the path before it, they are the **fan-out** of the input for a tuple. So a tuple that has met a set
S of inputs has become

    N(S) = Π fan-outs of the inputs in S

rows, whatever the order in which these were met: exactly in a star, and elsewhere if what tuples
match on different branches is independent. A pipeline costs

    Σₖ fixed + rows in + rows out,        rows out = rows in of the next = N(first k inputs)

In the paper drop probing comes before output generation, whose cost no order changes. Here a step
joins whole deltas and generates output as it goes, so that the rows between steps are what differs.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from cqlduck.rewrite.plan.join_graph import SpanningTree, mask_of
from cqlduck.rewrite.plan.orders import Order
from cqlduck.streamon.orders import ALPHA, Profile

MAX_SEARCHED = 6
"""Of how many inputs that are met the best order is searched; it takes 2ⁿ sets."""


@dataclass(frozen=True)
class Matches:
    """What is known of a pipeline.

    Attributes:
        tree: The paths from the input that changes.
        counts: How many tuples have so many combinations, of each path by logical filter.
    """

    tree: SpanningTree
    counts: Mapping[tuple[int, ...], int]
    _sizes: dict[int, float] = field(default_factory=dict, compare=False)

    @property
    def tuples(self) -> int:
        """How many tuples were profiled."""
        return sum(self.counts.values())

    @property
    def profile(self) -> Profile:
        """The masks of the logical filters, of which each costs the same (5.2.3)."""
        masks: dict[int, int] = {}
        for counts, tuples in self.counts.items():
            mask = mask_of([at for at, count in enumerate(counts) if not count])
            masks[mask] = masks.get(mask, 0) + tuples
        return Profile(masks, [1.0] * len(self.tree.others))

    def drops(self) -> Sequence[float]:
        """Return which part of all tuples each logical filter drops."""
        return self.profile.drops()

    @cached_property
    def _fanouts(self) -> Mapping[int, Sequence[float]]:
        """By input, the fan-out for each kind of tuple."""
        found: dict[int, list[float]] = {}
        numbers = {place: number for number, place in enumerate(self.tree.others)}
        for place in sorted(numbers, key=lambda place: len(self.tree.paths[place])):
            mine = []
            for kind, counts in enumerate(self.counts):
                before = 1.0
                for earlier in self.tree.paths[place][:-1]:
                    before *= found[earlier][kind]
                mine.append(counts[numbers[place]] / before if before else 0.0)
            found[place] = mine
        return found

    def size(self, met: int) -> float:
        """Return how many rows a tuple has become that has met a set of inputs."""
        found = self._sizes.get(met)
        if found is None:
            mine = [fanout for place, fanout in self._fanouts.items() if met >> place & 1]
            found = 0.0
            for kind, tuples in enumerate(self.counts.values()):
                rows = float(tuples)
                for fanout in mine:
                    rows *= fanout[kind]
                found += rows
            found = self._sizes[met] = found / max(self.tuples, 1)
        return found

    def fanout(self, place: int) -> float:
        """Return how many rows a tuple becomes, on average, that an input does not drop."""
        kept = [
            (count, tuples)
            for count, tuples in zip(self._fanouts[place], self.counts.values(), strict=True)
            if count
        ]
        return sum(c * n for c, n in kept) / max(sum(n for _, n in kept), 1)

    def cost(self, order: Order) -> float:
        """Return the rows that go into steps and come out of them, for a tuple."""
        sizes = [self.size(mask_of(order[:met])) for met in range(1, len(order) + 1)]
        return sum(rows_in + rows_out for rows_in, rows_out in itertools.pairwise(sizes))


def optimum(known: Matches, order: Order, alpha: float = ALPHA) -> Order:
    """Return the order of the least cost, if this one costs clearly more.

    What the first inputs are matters to the rest only as a set, so the best order of each set is
    found from those with one input less, as far as their paths allow. Inputs that could change
    places keep theirs.
    """
    root, count = known.tree.root, len(order)
    best: dict[int, tuple[float, tuple[int, ...], Order]] = {1 << root: (0.0, (), (root,))}
    for _ in range(count - 1):
        longer: dict[int, tuple[float, tuple[int, ...], Order]] = {}
        for met, (cost, ranks, way) in best.items():
            for rank, place in enumerate(order):
                if met >> place & 1 or known.tree.before(place) & ~met:
                    continue
                after = met | 1 << place
                total = cost + known.size(met) + known.size(after)
                found = total, (*ranks, rank), (*way, place)
                if after not in longer or found < longer[after]:
                    longer[after] = found
        best = longer
    (found,) = best.values()
    return found[2] if found[0] < alpha * known.cost(order) else order
