"""Tuples as drop masks, and orders of filters replayed over them, for `thesis_filters.py`.

A tuple is what it does to the filters: bit i of its mask is 1 where filter i drops it. So the
algorithms of `cqlduck.streamon.orders` can be replayed without an engine, as they run there: a
probe samples `SAMPLED` tuples, the profile window holds the last `WINDOW`, and an order is judged
by what it costs on all tuples.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from cqlduck.rewrite.plan.orders import Order
from cqlduck.streamon.modelled import WINDOW
from cqlduck.streamon.ordering import Rounds
from cqlduck.streamon.orders import Profile, optimum

SAMPLED = 512
"""How many tuples a probe samples."""

AGREEING = 0.8
"""Of two filters of a group: which part of the tuples they treat alike (section 4.7.2)."""

CHANGED = 1.2
"""How many times as much a tuple costs when the profile window is forgotten, as in the engine."""

Masks = NDArray[np.int64]


@dataclass(frozen=True)
class Filters:
    """Filters as the thesis draws them: in groups that are independent of each other.

    Attributes:
        passing: The part of the tuples that each filter passes.
        gamma: How many filters a group has (Γ).
        times: What each costs for a tuple.
    """

    passing: Sequence[float]
    gamma: int = 2
    times: Sequence[float] = ()

    @property
    def costs(self) -> Sequence[float]:
        """What each filter costs for a tuple."""
        return self.times or [1.0] * len(self.passing)

    def masks(self, count: int, drawn: np.random.Generator) -> Masks:
        """Draw tuples.

        A filter follows the draw of its group or one of its own. Two of a group that pass the same
        part then agree on `AGREEING` of the tuples, if they would not agree on more by themselves.
        """
        found = np.zeros(count, np.int64)
        for first in range(0, len(self.passing), self.gamma):
            shared = drawn.random(count)
            for at in range(first, min(first + self.gamma, len(self.passing))):
                part = self.passing[at]
                by_chance = part**2 + (1 - part) ** 2
                follows = max((AGREEING - by_chance) / (1 - by_chance), 0) ** 0.5
                own = drawn.random(count)
                value = np.where(drawn.random(count) < follows, shared, own)
                found |= (value >= part).astype(np.int64) << at
        return found

    def profile(self, masks: Masks) -> Profile:
        """Return the profile of tuples."""
        return Profile(Counter(masks.tolist()), self.costs)


@dataclass
class Replay:
    """An algorithm that is fed with probes.

    Attributes:
        algorithm: Its name, as an option of the point `ordering`.
        order: The order that stands.
        window: The masks of the tuples that were profiled last.
    """

    algorithm: str
    order: Order
    window: Masks = field(default_factory=lambda: np.zeros(0, np.int64))
    _rounds: Rounds = field(default_factory=Rounds)
    _chosen_at: float | None = None

    def probe(self, filters: Filters, masks: Masks) -> None:
        """Profile tuples, and order the filters by what is known."""
        cost = filters.profile(masks).cost(self.order)
        before = self._chosen_at
        if before is not None and not 1 / CHANGED < cost / before < CHANGED:
            self.window, self._chosen_at = self.window[:0], None
        self.window = np.concatenate((self.window, masks))[-WINDOW:]
        order = self._rounds.ordered(filters.profile(self.window), self.order, self.algorithm)
        if order != self.order or self._chosen_at is None:
            self.order = order
            self._chosen_at = filters.profile(masks).cost(order)


def settled(algorithm: str, filters: Filters, drawn: np.random.Generator) -> Order:
    """Return the order at which an algorithm arrives if nothing changes."""
    count = len(filters.passing)
    one = Replay(algorithm, tuple(range(count)))
    for _ in range(4 + count * count):
        one.probe(filters, filters.masks(SAMPLED, drawn))
    return one.order


@dataclass(frozen=True)
class Phase:
    """A time in which filters stay as they are.

    Attributes:
        filters: The filters.
        profile: What is true of them, by `TRUE` tuples.
        best: The order that costs the least.
    """

    filters: Filters
    profile: Profile
    best: Order

    def cost(self, order: Order) -> float:
        """Return what an order costs, in terms of the best one."""
        return self.profile.cost(order) / self.profile.cost(self.best)


TRUE = 20_000
"""By how many tuples an order is judged."""


def phase_of(filters: Filters, drawn: np.random.Generator) -> Phase:
    """Return a phase, with what is true of it."""
    profile = filters.profile(filters.masks(TRUE, drawn))
    order = tuple(range(len(filters.passing)))
    return Phase(filters, profile, optimum(profile, order, alpha=1.0))


def adapting(
    algorithm: str, phases: Sequence[Phase], period: int, drawn: np.random.Generator
) -> float:
    """Return what adapting costs in phases of so many probes, in terms of switching at once."""
    one, spent = Replay(algorithm, phases[-1].best), 0.0
    for phase in phases:
        for _ in range(period):
            # the probe comes at the end of the tick that it is about
            spent += phase.profile.cost(one.order)
            one.probe(phase.filters, phase.filters.masks(SAMPLED, drawn))
    return spent / (period * sum(phase.profile.cost(phase.best) for phase in phases))


def staying(phases: Sequence[Phase]) -> float:
    """Return what the best order that stays costs, in terms of switching at once."""
    least = sum(phase.profile.cost(phase.best) for phase in phases)
    orders = {phase.best for phase in phases}
    return min(sum(phase.profile.cost(order) for phase in phases) for order in orders) / least
