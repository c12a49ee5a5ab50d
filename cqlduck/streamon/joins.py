"""The policy of `order`: the order of a join's pipeline, by what a sample of the delta matches.

A probe says of each tuple of a sample how many combinations the path to each input has; the last
`WINDOW` tuples are the profile window. The rows between the steps of any order follow
(`join_orders`). Of what the pipeline takes, a part is fixed, such as scanning its inputs: that is
what the probe takes, which meets the same inputs with a few tuples. The rest is taken to grow with
the rows. So an order is expected to save of the rest what it saves of the rows.

When a tick is probed, and when another order is put into force, is said by `modelled`.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from cqlduck.rewrite.plan.join_graph import SpanningTree
from cqlduck.rewrite.plan.orders import Order, order_name, order_of
from cqlduck.rewrite.statements.ordered import JoinPipeline
from cqlduck.state.probing import Found, JoinProfiled, Wanted
from cqlduck.streamon import join_orders
from cqlduck.streamon.confirming import CONFIRMING_TICKS
from cqlduck.streamon.decisions import Better, Costing, runs, scaled
from cqlduck.streamon.join_orders import MAX_SEARCHED, Matches
from cqlduck.streamon.modelled import (
    LEAST_GAIN,
    WINDOW,
    Modelled,
)
from cqlduck.streamon.ordering import Rounds
from cqlduck.streamon.points import A_GREEDY, OPTIMUM, PLANNED, Facts


@dataclass
class JoinOrder(Modelled):
    """The policy of the point `order` of a pipeline.

    Attributes:
        window: Of the tuples that were profiled last how many combinations each path has.
        fixed: What the last probes took to meet the inputs.
    """

    window: deque[tuple[int, ...]] = field(default_factory=partial(deque, maxlen=WINDOW))
    fixed: deque[float] = field(default_factory=partial(deque, maxlen=CONFIRMING_TICKS))
    _rounds: Rounds = field(default_factory=Rounds)

    def default(self, facts: Facts) -> str:
        """Return the option of a tick before anything is known of such ticks."""
        return PLANNED

    def wants(self, facts: Facts, now: str) -> Wanted | None:
        """Return what the tick is to profile, within the budget."""
        about = facts.about
        if not isinstance(about, JoinPipeline) or about.tree is None:
            return None
        return super().wants(facts, now)

    def forget(self) -> None:
        """Forget what tuples matched."""
        self.window.clear()

    def learn(self, found: Found) -> bool:
        """Take note of what a probe has found; return whether an order can follow from it."""
        assert isinstance(found, JoinProfiled)
        for counts, tuples in found.counts.items():
            self.window.extend([counts] * tuples)
        self.fixed.append(found.fixed)
        return bool(self.window)

    def drops(self) -> Sequence[float]:
        """Return which part of all tuples each path drops; nothing if none is known."""
        counts = list(self.window)
        paths = range(len(counts[0])) if counts else ()
        return [sum(not one[at] for one in counts) / len(counts) for at in paths]

    def statistics(self) -> Sequence[float]:
        """Return which part of all tuples each path drops, and how many combinations it has."""
        counts = list(self.window)
        paths = range(len(counts[0]))
        means = [sum(one[at] for one in counts) / len(counts) for at in paths]
        return [*self.drops(), *(scaled(mean, 8.0) for mean in means)]

    def costing(self, facts: Facts) -> Costing:
        """Return what says the rows in and out of the steps of an order, for a tuple."""
        about = facts.about
        assert isinstance(about, JoinPipeline)
        assert about.tree is not None
        known, default = Matches(about.tree, Counter(self.window)), about.default
        return lambda option: known.cost(order_of(option) or default)

    def better(self, now: str, taken: float | None, facts: Facts) -> Better | None:
        """Return another order, if it is expected to save enough, and why."""
        about = facts.about
        assert isinstance(about, JoinPipeline)
        if about.tree is None or not facts.elements:
            return None
        if taken is None:
            # what it takes is not known yet, and what was found stays
            self.is_due = True
            return None
        known = Matches(about.tree, Counter(self.window))
        before = order_of(now) or about.default
        after, algorithm = self._next(known, about.tree, before, facts.algorithm())
        rows, fewer = known.cost(before), known.cost(after)
        variable = max(taken - min(self.fixed) / facts.elements, 0.0)
        saved = variable * (1 - fewer / max(rows, 1e-9))
        if after == before or saved < LEAST_GAIN * taken:
            self.gains_little = after != before
            return None
        option = PLANNED if after == about.default else order_name(after)
        why = _evidence(known, about, rows, fewer, algorithm)
        return Better(option, why, saved / taken if taken else None)

    def state(self) -> dict[str, Any]:
        """Return what was found, as values that JSON has."""
        mine = {"window": runs(self.window), "fixed": [*self.fixed]}
        return {**super().state(), **mine, "round": self._rounds.position}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on with what was found before the database was closed."""
        super().restore(state)
        for counts, tuples in state["window"]:
            self.window.extend([tuple(counts)] * tuples)
        self.fixed.extend(state["fixed"])
        self._rounds.position = state["round"]

    def _next(
        self, known: Matches, tree: SpanningTree, before: Order, algorithm: str
    ) -> tuple[Order, str]:
        """Return the order that an algorithm makes of what is known, and which one that was."""
        if algorithm == OPTIMUM and len(before) - 1 <= MAX_SEARCHED:
            return join_orders.optimum(known, before), algorithm
        algorithm = A_GREEDY if algorithm == OPTIMUM else algorithm
        filters = tree.filters(before)
        found = self._rounds.ordered(known.profile, filters, algorithm)
        return (before if found == filters else tree.pipeline(found)), algorithm


def _evidence(
    known: Matches, about: JoinPipeline, rows: float, fewer: float, algorithm: str
) -> str:
    """Return in words why one order is expected to be better than another."""
    parts = ", ".join(
        f"{about.names[place]} drops {100 * part:.0f} % (fan-out {known.fanout(place):.1f})"
        for place, part in zip(known.tree.others, known.drops(), strict=True)
    )
    return (
        f"{algorithm}: of {known.tuples} tuples {parts}; one takes {fewer:.1f} rows in this "
        f"order, {rows:.1f} before"
    )
