"""What runs at points of choice in tests: drawn, so that options follow each other, or forced."""

from __future__ import annotations

import random

import cqlduck
from cqlduck.rewrite.plan.join_graph import mask_of
from cqlduck.rewrite.plan.orders import Order, order_name
from cqlduck.rewrite.plan.searches import key_name
from cqlduck.rewrite.plan.segments import Cached, Caching, caching_text, is_laminar
from cqlduck.rewrite.statements.ordered import JoinCaches, JoinPipeline, Ordered, TableSearch
from cqlduck.state.choices import Point
from cqlduck.state.probing import Found, Wanted
from cqlduck.streamon.budget import Budget
from cqlduck.streamon.points import (
    ANSWER,
    INTERVALS,
    KINDS,
    REDUCED,
    STAGED,
    STAGES,
    STEPWISE,
    UNSTAGED,
    Facts,
)
from cqlduck.streamon.profiler import Statistics
from cqlduck.streamon.proposals import Proposal
from cqlduck.streamon.reoptimizer import Reoptimizer


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
            staged = [STAGED]
            staged += [REDUCED] if facts.is_reducible else []
            staged += [STEPWISE] if facts.has_steps else []
            staged += [INTERVALS] if facts.has_intervals else []
            option = self.drawn.choice(staged)
            option = option if self.drawn.random() < often else UNSTAGED
        elif self.everywhere and facts.about is not None:
            option = self.drawn.choice([KINDS[point.name].options[0], self.other(facts.about)])
            facts.algorithm()
        elif self.everywhere:
            option = self.drawn.choice(KINDS[point.name].options)
        else:
            return None
        # a switch is written and logged, a trial is not
        return Proposal(option, is_trial=option == now or self.drawn.random() < 0.5)

    def other(self, about: Ordered) -> str:
        """Draw an option that is no default."""
        if isinstance(about, JoinCaches):
            return caching_text(self.caching(about))
        if isinstance(about, TableSearch):
            return key_name(self.drawn.choice(about.keys))
        return order_name(self.order(about))

    def caching(self, about: JoinCaches) -> Caching:
        """Draw segments that may have caches, one in another too, who uses them, and how large."""
        found: tuple[Cached, ...] = ()
        for segment in self.drawn.sample(about.segments, len(about.segments)):
            others = [at for at in range(len(about.names)) if at not in segment]
            users = None
            if self.drawn.random() < 0.3:
                count = self.drawn.randint(1, len(others))
                users = tuple(sorted(self.drawn.sample(others, count)))
            slots = self.drawn.choice([1, 2, 64]) if self.drawn.random() < 0.4 else None
            more = (*found, Cached(segment, users, slots))
            if not is_laminar([one.segment for one in more]):
                continue
            known = about.used(tuple(sorted(more, key=lambda one: one.segment)))
            if known is None and slots is not None:
                one_user = (*found, Cached(segment, (self.drawn.choice(others),), slots))
                known = about.used(tuple(sorted(one_user, key=lambda one: one.segment)))
            if known is not None and (not found or self.drawn.random() < 0.7):
                found = known
        return found or (Cached(about.segments[0]),)

    def order(self, about: Ordered) -> Order:
        """Draw an order that may be chosen."""
        if isinstance(about, JoinPipeline):
            met = [about.default[0]]
            while len(met) < about.graph.count:
                met.append(self.drawn.choice(about.graph.following(mask_of(met))))
            return tuple(met)
        return tuple(self.drawn.sample(about.default, len(about.default)))

    def wants(self, point: Point, facts: Facts, now: str) -> Wanted | None:
        """Have a probe run in some ticks."""
        about = facts.about
        if about is None or not self.everywhere or self.drawn.random() > 0.3:
            return None
        if isinstance(about, JoinPipeline) and about.tree is None:
            return None
        if isinstance(about, JoinCaches) and not about.pipelines:
            return None
        return Wanted(about, self.drawn.random() < 0.5, self.drawn.randrange(8))

    def asked_of_answers(self) -> set[str | None]:
        """Draw for all queries whether they are answered anew, in some ticks."""
        return {None} if self.everywhere and self.drawn.random() < 0.3 else set()

    def saw(
        self, point: Point, facts: Facts, option: str, seconds: float | None, found: Found | None
    ) -> None:
        """What was seen does not count."""


class Measured(Reoptimizer):
    """Chooses by what is measured, but for whether queries are answered anew: caches would go."""

    def saw(
        self, point: Point, facts: Facts, option: str, seconds: float | None, found: Found | None
    ) -> None:
        if point.name != ANSWER:
            super().saw(point, facts, option, seconds, found)


def draw(con: cqlduck.Connection, seed: object, *, everywhere: bool = False) -> None:
    """Draw what runs by a seed."""
    reoptimizer = con.engine.streamon.executor.reoptimizer
    assert isinstance(reoptimizer, Drawn)
    reoptimizer.drawn.seed(str(seed))
    reoptimizer.everywhere = everywhere


def measure(con: cqlduck.Connection) -> None:
    """Choose by what is measured."""
    streamon = con.engine.streamon
    streamon.executor.reoptimizer = Measured(streamon.budget)


def force(con: cqlduck.Connection, name: str, option: str | None, owner: str | None = None) -> None:
    """Have an option run."""
    with con.engine.changing():
        con.engine.streamon.pin(name, option, owner)


def force_stages(con: cqlduck.Connection, staged: bool | None) -> None:
    """Have all ticks run with stages, or without; None draws."""
    force(con, STAGES, None if staged is None else STAGED if staged else UNSTAGED)
