"""How an order follows from a profile, by the algorithm that is chosen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from cqlduck.rewrite.plan.orders import Order
from cqlduck.streamon import orders
from cqlduck.streamon.orders import Profile
from cqlduck.streamon.points import A_GREEDY, INDEPENDENT, LOCAL_SWAPS, OPTIMUM, SWEEP

ALGORITHMS: Mapping[str, Callable[[Profile, Order], Order]] = {
    OPTIMUM: orders.optimum,
    A_GREEDY: orders.greedy,
    INDEPENDENT: orders.independent,
    LOCAL_SWAPS: orders.local_swaps,
}
"""How an order follows from a profile and the order before; `SWEEP` also has a position."""


@dataclass
class Rounds:
    """The rounds of Sweep, whose stages take turns: each is a probe, about another filter.

    Attributes:
        position: Which filter the next stage is about, by its place in the order.
    """

    position: int = 0

    def ordered(self, profile: Profile, before: Order, algorithm: str) -> Order:
        """Return the order that an algorithm makes of a profile and the order before."""
        if algorithm != SWEEP:
            return ALGORITHMS[algorithm](profile, before)
        self.position = self.position % (len(before) - 1) + 1
        return orders.sweep(profile, before, self.position)
