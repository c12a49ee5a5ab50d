"""What has an order that can be chosen, as the engine knows it between ticks."""

from __future__ import annotations

from typing import Protocol

from cqlduck.rewrite.plan.orders import Order, Site


class Ordered(Protocol):
    """Things whose order can be chosen, and how they are profiled."""

    @property
    def site(self) -> Site:
        """Where it is in the plan."""
        ...

    @property
    def names(self) -> tuple[str, ...]:
        """The things as text, by number."""
        ...

    @property
    def default(self) -> Order:
        """The order before anything is known."""
        ...

    def allows(self, order: Order) -> bool:
        """Return whether an order may be chosen."""
        ...
