"""What has an order that can be chosen, or caches, as the engine knows it between ticks."""

from __future__ import annotations

from typing import Protocol

from cqlduck.rewrite.plan.orders import Order, Site, order_name, order_of


class Ordered(Protocol):
    """Filters or inputs of a join of which something can be chosen, and how they are profiled."""

    @property
    def site(self) -> Site:
        """Where they are in the plan."""
        ...

    @property
    def names(self) -> tuple[str, ...]:
        """They as text, by number."""
        ...

    def option(self, text: str) -> str | None:
        """Return an option as it is called here; None if it is another point's.

        Args:
            text: As a user has written it, or as it was stored.
        """
        ...


class _InOrder(Protocol):
    def allows(self, order: Order) -> bool: ...


def order_option(about: _InOrder, text: str) -> str | None:
    """Return the option that an order is, if it may be chosen; another text as it is."""
    order = order_of(text)
    if order is None:
        return text
    return order_name(order) if about.allows(order) else None
