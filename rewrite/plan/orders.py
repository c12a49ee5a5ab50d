"""Orders that can be chosen: of what, and how the statements that they change are found.

Filters commute, and so do the inputs of a join. Where their order is a point of choice, there is a
**site** in the plan. A form of a tick's statements has an order for some sites; what a statement
does in that order is marked with the site, so that its time can be told from the rest.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

from sqlglot import exp

FILTERS, ORDER = "filters", "order"
"""The kinds of sites: the filters of an operator, and a pipeline of a join."""

Order = tuple[int, ...]
"""Filters, or inputs of a join, by number, from 0, in the order in which they are met."""

Part = TypeVar("Part", bound=exp.Expr)

_MARK = "site"
"""What an expression is marked with that is evaluated in a chosen order, among its notes."""


class Site(NamedTuple):
    """A place in a plan where an order can be chosen.

    Attributes:
        kind: `FILTERS` or `ORDER`.
        operator: The number of the operator.
        input: Of a join, the number of the input whose pipeline it is, from 0.
    """

    kind: str
    operator: int
    input: int | None = None

    @property
    def place(self) -> tuple[int, str, int]:
        """How sites are sorted."""
        return self.operator, self.kind, -1 if self.input is None else self.input


def is_order(numbers: Sequence[int], count: int) -> bool:
    """Return whether numbers are an order of so many things."""
    return sorted(numbers) == list(range(count))


def order_name(order: Order) -> str:
    """Return the option of an order.

    >>> order_name((2, 0, 1))
    '3 1 2'
    """
    return " ".join(str(number + 1) for number in order)


@functools.lru_cache(maxsize=256)
def order_of(option: str) -> Order | None:
    """Return the order that an option is, or None if it is none.

    >>> order_of("3 1 2")
    (2, 0, 1)
    >>> order_of("3 1") is order_of("written") is None
    True
    """
    words = option.split()
    if not words or not all(word.isascii() and word.isdigit() and len(word) < 3 for word in words):
        return None
    order = tuple(int(word) - 1 for word in words)
    return order if is_order(order, len(order)) else None


def mark(part: Part, site: Site) -> Part:
    """Mark an expression with the site at which its place in an order is chosen."""
    part.meta[_MARK] = site
    return part


def marked_in(tree: exp.Expr) -> frozenset[Site]:
    """Return the sites with which parts of a statement are marked."""
    return frozenset(node.meta[_MARK] for node in tree.walk() if node.meta.get(_MARK) is not None)
