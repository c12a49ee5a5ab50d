"""What runs at points of choice in tests: drawn, so that options follow each other, or forced."""

from __future__ import annotations

import random

import cqlduck
from cqlduck.state.choices import Point
from cqlduck.streamon.budget import Budget
from cqlduck.streamon.filters import FilterOrder
from cqlduck.streamon.points import (
    FILTERS,
    KINDS,
    STAGED,
    STAGES,
    UNSTAGED,
    WRITTEN,
    Facts,
    order_name,
)
from cqlduck.streamon.profiler import Statistics
from cqlduck.streamon.reoptimizer import Reoptimizer
from cqlduck.streamon.trials import Proposal


class Drawn(Reoptimizer):
    """Draws whether ticks have stages, so that forms follow each other over the same synopses.

    Attributes:
        drawn: By what; random cases seed it anew, each by what it is.
        everywhere: Whether all points are drawn.
    """

    def __init__(self, budget: Budget) -> None:
        super().__init__(budget)
        self.drawn = random.Random(0)
        self.everywhere = False

    def propose(self, point: Point, now: str, known: Statistics, facts: Facts) -> Proposal | None:
        if point.name == STAGES:
            # the form of a tick of one instant without stages is compiled for such ticks alone
            often = 0.8 if (point.ticks or "").startswith("one") else 0.5
            option = STAGED if self.drawn.random() < often else UNSTAGED
        elif self.everywhere and point.name == FILTERS:
            order = self.drawn.sample(range(facts.filters), facts.filters)
            option = self.drawn.choice([WRITTEN, order_name(tuple(order))])
            facts.algorithm()
        elif self.everywhere:
            option = self.drawn.choice(KINDS[point.name].options)
        else:
            return None
        # a switch is written and logged, a trial is not
        return Proposal(option, is_trial=option == now or self.drawn.random() < 0.5)

    def order_of_filters(self, point: Point) -> FilterOrder:
        return _Drawn(self)


class _Drawn(FilterOrder):
    """Has an order drawn in each tick, and a probe run in some."""

    def __init__(self, drawn: Drawn) -> None:
        super().__init__(Budget())
        self.reoptimizer = drawn

    @property
    def is_due(self) -> bool:
        return self.reoptimizer.everywhere

    def wants_probe(self, facts: Facts, now: str) -> bool:
        return self.reoptimizer.everywhere and self.reoptimizer.drawn.random() < 0.3


def draw(con: cqlduck.Connection, seed: object, *, everywhere: bool = False) -> None:
    """Draw what runs by a seed."""
    reoptimizer = con.engine.streamon.executor.reoptimizer
    assert isinstance(reoptimizer, Drawn)
    reoptimizer.drawn.seed(str(seed))
    reoptimizer.everywhere = everywhere


def measure(con: cqlduck.Connection) -> None:
    """Choose by what is measured, as outside of tests."""
    streamon = con.engine.streamon
    streamon.executor.reoptimizer = Reoptimizer(streamon.budget)


def force(con: cqlduck.Connection, name: str, option: str | None, owner: str | None = None) -> None:
    """Have an option run."""
    with con.engine.changing():
        con.engine.streamon.force(name, option, owner)


def force_stages(con: cqlduck.Connection, staged: bool | None) -> None:
    """Have all ticks run with stages, or without; None draws."""
    force(con, STAGES, None if staged is None else STAGED if staged else UNSTAGED)
