"""Orders of pipelined filters: A-Greedy and its variants (thesis, sections 4.2 to 4.6).

What is known of filters F₀ … Fₙ₋₁ is a **profile**: of a sample of tuples how many have each mask,
in which bit i is 1 where Fᵢ drops the tuple, and aᵢ, the time that Fᵢ takes for a tuple. The cost
of an order f is the expected time for a tuple,

    T_O = Σᵢ a_f(i) · (share of the tuples that none of F_f(1), …, F_f(i−1) drops)            (4.1)

The best order is NP-hard to find in general. **Greedy** puts next the filter that drops the most of
what is left for its time; its cost is at most 4 times the least (theorem 4.3.1). The variants look
at fewer selectivities, and so find a violation of their invariant later or not at all:

With d(j, i) the share that F_f(j) drops of what F_f(1), …, F_f(i) pass:

| algorithm | invariant | looks at, of the matrix view V |
|---|---|---|
| `greedy` (A-Greedy) | d(i, i−1) / t_f(i) ≥ d(j, i−1) / t_f(j), i ≤ j (4.3.1) | all of it |
| `sweep` | the same for one j and all i < j; j rotates (4.4.1) | a column |
| `independent` | d(i, 0) / t_f(i) ≥ d(j, 0) / t_f(j), i ≤ j (4.5.1) | the first row |
| `local_swaps` | d(i, i−1) / t_f(i) ≥ d(i+1, i−1) / t_f(i+1) (4.6.1) | two diagonals |
| `optimum` | the least cost | all sets of filters, up to `MAX_OPTIMIZED` filters |

Positions and filters are counted from 0 here, from 1 in the thesis.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cqlduck.rewrite.plan.orders import Order

MAX_OPTIMIZED = 10
"""Of how many filters the best order is searched; it takes 2ⁿ sets."""

ALPHA = 0.9
"""The thrashing-avoidance parameter α (4.4, table 4.1)."""


@dataclass(frozen=True)
class Profile:
    """What is known of filters.

    Attributes:
        masks: How many tuples have each mask.
        times: aᵢ, the seconds that each filter takes for a tuple; all above 0.
    """

    masks: Mapping[int, int]
    times: Sequence[float]

    @property
    def tuples(self) -> int:
        """How many tuples were profiled."""
        return sum(self.masks.values())

    def passing(self, dropped_by: int) -> int:
        """Return how many tuples none of the filters in a mask drops."""
        return sum(count for mask, count in self.masks.items() if not mask & dropped_by)

    def drops(self) -> list[float]:
        """Return which part of all tuples each filter drops."""
        row = self.row(tuple(range(len(self.times))), 0)
        return [count / self.tuples for count in row]

    def row(self, order: Order, position: int) -> list[int]:
        """Return V[position, ·], a row of the matrix view (4.3.2), from the diagonal on.

        It is how many tuples each filter drops, of what is left at a position.

        Args:
            order: The order; the filters before the position do not count.
            position: The row.
        """
        before = _mask(order[:position])
        left = [(mask, count) for mask, count in self.masks.items() if not mask & before]
        return [sum(c for mask, c in left if mask >> at & 1) for at in order[position:]]

    def cost(self, order: Order) -> float:
        """Return the expected seconds for a tuple (4.1)."""
        spent = sum(
            self.times[at] * self.passing(_mask(order[:position]))
            for position, at in enumerate(order)
        )
        return spent / max(self.tuples, 1)


def _mask(numbers: Sequence[int]) -> int:
    return sum(1 << number for number in numbers)


def _ranks(profile: Profile, order: Order, position: int) -> list[float]:
    """Return V[i, j] / a_f(j) of one row i."""
    row = profile.row(order, position)
    return [count / profile.times[at] for count, at in zip(row, order[position:], strict=True)]


def violation(profile: Profile, order: Order, alpha: float = ALPHA) -> int | None:
    """Return the first position at which an order violates the greedy invariant (4.4), or None."""
    for position in range(len(order) - 1):
        first, *others = _ranks(profile, order, position)
        if first < alpha * max(others):
            return position
    return None


def corrected(profile: Profile, order: Order, position: int) -> Order:
    """Return an order that is greedy, from one that is not at a position (figure 4.7).

    Positions behind the last one that is moved stay as they are: what they violated they violate.
    The filter that is moved is put ahead of the others, as in example 4.3.3; the figure swaps two.
    """
    found, last, row = list(order), position, position
    while row <= last:
        ranks = _ranks(profile, tuple(found), row)
        best = row + max(range(len(ranks)), key=lambda at: (ranks[at], -at))
        last = max(last, best)
        found.insert(row, found.pop(best))
        row += 1
    return tuple(found)


def greedy(profile: Profile, order: Order, alpha: float = ALPHA) -> Order:
    """Return the order of A-Greedy: this one, unless it violates the greedy invariant."""
    while (found := violation(profile, order, alpha)) is not None:
        order = corrected(profile, order, found)
    return order


def sweep(profile: Profile, order: Order, position: int, alpha: float = ALPHA) -> Order:
    """Return the order after a stage of Sweep: one filter is moved ahead if it belongs there.

    Args:
        profile: What was profiled in the stage.
        order: The order before.
        position: Which filter the stage is about, by its place in the order.
        alpha: As in (4.4).
    """
    for place in range(position):
        ranks = _ranks(profile, order, place)
        if ranks[0] < alpha * ranks[position - place]:
            rest = [at for at in order if at != order[position]]
            return *rest[:place], order[position], *rest[place:]
    return order


def independent(profile: Profile, order: Order, alpha: float = ALPHA) -> Order:
    """Return the order by what each filter drops alone, if this one violates that invariant."""
    ranks = _ranks(profile, order, 0)
    if all(ranks[at] >= alpha * max(ranks[at:]) for at in range(len(ranks))):
        return order
    return tuple(order[at] for at in sorted(range(len(order)), key=lambda at: (-ranks[at], at)))


def local_swaps(profile: Profile, order: Order, alpha: float = ALPHA) -> Order:
    """Return the order after neighbours have been swapped, from the front, where that is better."""
    found = list(order)
    for place in range(len(found) - 1):
        first, second, *_ = _ranks(profile, tuple(found), place)
        if first < alpha * second:
            found[place], found[place + 1] = found[place + 1], found[place]
    return tuple(found)


def optimum(profile: Profile, order: Order, alpha: float = ALPHA) -> Order:
    """Return the order of the least cost, if this one costs clearly more.

    Which filters come first matters to the rest only as a set, so the best order of each set is
    found from those with one filter less. Filters that could change places keep theirs. Beyond
    `MAX_OPTIMIZED` filters this is `greedy`.
    """
    count = len(order)
    if count > MAX_OPTIMIZED:
        return greedy(profile, order, alpha)
    left = _left(profile, count)
    least, last = [0.0] * (1 << count), [0] * (1 << count)
    for chosen in range(1, 1 << count):
        ways = []
        for place, at in enumerate(order):
            if chosen >> at & 1:
                before = chosen ^ 1 << at
                ways.append((least[before] + profile.times[at] * left[before], -place))
        least[chosen], place = min(ways)
        last[chosen] = order[-place]
    found, chosen = [], (1 << count) - 1
    while chosen:
        found.append(last[chosen])
        chosen ^= 1 << last[chosen]
    best = tuple(reversed(found))
    return best if profile.cost(best) < alpha * profile.cost(order) else order


def _left(profile: Profile, count: int) -> list[int]:
    """Return by set of filters, as a mask, how many tuples none of them drops."""
    whole = (1 << count) - 1
    found = [0] * (1 << count)
    for mask, tuples in profile.masks.items():
        found[whole & ~mask] += tuples
    # a tuple is left by each subset of the filters that pass it
    for at in range(count):
        for chosen in range(1 << count):
            if not chosen >> at & 1:
                found[chosen] += found[chosen | 1 << at]
    return found
