"""What is decided at a point whose options are modelled, as values."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

Costing = Callable[[str], float | None]
"""Returns what an option costs by the model, in the unit of the kind; None is not known."""


@dataclass(frozen=True)
class Better:
    """An option that is expected to be better than the one that stands.

    Attributes:
        option: The option.
        reason: Why, in words.
        saved: Which part it is expected to save of what an element takes.
        is_due: Whether the other one has to go whatever an element takes with this one.
    """

    option: str
    reason: str
    saved: float | None
    is_due: bool = False


@dataclass(frozen=True)
class Switch:
    """An option that runs and is not yet confirmed.

    Attributes:
        before: The option before.
        seconds: What an element took with it, if that is known from enough ticks.
        after: The option since.
        size: Of which size the ticks are.
        expected: What an element is expected to take with it, if that is known.
        statistics: Under which statistics it was chosen.
        costs: What options cost under these, by the model.
        doubted: What an element took with it when that was more than with the one before. This one
            runs again then, to be compared with it under the mix that there is now.
        sample: What an element took in the ticks with which those to come are compared: with the
            option before, then, if there is doubt, with the one after.
        others: How many ticks of other sizes have come since the last of this one.
    """

    before: str
    seconds: float | None
    after: str
    size: int
    expected: float | None = None
    statistics: tuple[float, ...] = ()
    costs: Mapping[str, float] = field(default_factory=dict)
    doubted: float | None = None
    sample: tuple[float, ...] = ()
    others: int = 0

    @property
    def running(self) -> str:
        """The option that runs."""
        return self.after if self.doubted is None else self.before


def size_class(elements: int) -> int:
    """Return the size of a tick: those within a factor of four are alike."""
    return elements.bit_length() // 2


def runs(window: Iterable[Hashable]) -> list[list[Any]]:
    """Return a profile window as its values with how often each follows itself.

    >>> runs([1, 1, 2, 1])
    [[1, 2], [2, 1], [1, 1]]
    """
    return [[value, sum(1 for _ in same)] for value, same in itertools.groupby(window)]


def scaled(number: float, most: float = 16.0) -> float:
    """Return a number of rows as a statistic: about 0 to 1, equal steps for equal factors.

    Args:
        number: The rows.
        most: The logarithm to base 2 of how many are 1.

    >>> scaled(0), scaled(255)
    (0.0, 0.5)
    """
    return math.log2(1 + number) / most
