"""The re-optimizer: proposes options from the counts, by a policy for each kind of point."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from cqlduck.state.choices import Point
from cqlduck.streamon.budget import Budget
from cqlduck.streamon.filters import FilterOrder
from cqlduck.streamon.points import FILTERS, KINDS, STAGES, THREADS, Facts
from cqlduck.streamon.profiler import Statistics
from cqlduck.streamon.stages import Stages
from cqlduck.streamon.threads import ThreadCount
from cqlduck.streamon.trials import Proposal


class Policy(Protocol):
    """How the options of one point are chosen."""

    def default(self, facts: Facts) -> str:
        """Return the option of a tick before anything is known of such ticks."""
        ...

    def propose(self, now: str, known: Statistics, facts: Facts) -> Proposal | None:
        """Return what the next tick is to run in place of what stands, or None."""
        ...


POLICIES: Mapping[str, Callable[[Budget], Policy]] = {
    STAGES: Stages,
    THREADS: ThreadCount,
    FILTERS: FilterOrder,
}
"""The policies, by kind of point. Of other kinds the first option is known to cost the least."""


class Reoptimizer:
    """Proposes options.

    Args:
        budget: What looking at options again may cost.
    """

    def __init__(self, budget: Budget) -> None:
        """Begin without knowing anything."""
        self._budget = budget
        self._policies: dict[Point, Policy] = {}

    def default(self, point: Point, facts: Facts) -> str:
        """Return the option of a point before anything is known."""
        if point.name not in POLICIES:
            return KINDS[point.name].options[0]
        return self._policy(point).default(facts)

    def propose(self, point: Point, now: str, known: Statistics, facts: Facts) -> Proposal | None:
        """Return what the next tick is to run at a point, or None for what stands.

        Args:
            point: The point.
            now: The option that stands.
            known: What the profiler knows.
            facts: What is known of the tick.
        """
        if point.name not in POLICIES:
            return None
        return self._policy(point).propose(now, known, facts)

    def _policy(self, point: Point) -> Policy:
        policy = self._policies.get(point)
        if policy is None:
            policy = self._policies[point] = POLICIES[point.name](self._budget)
        return policy

    def order_of_filters(self, point: Point) -> FilterOrder | None:
        """Return the policy of a point `filters`, if that is what orders them."""
        policy = self._policy(point)
        return policy if isinstance(policy, FilterOrder) else None

    def forget(self, owner: str) -> None:
        """Forget a query or stream."""
        self._policies = {p: policy for p, policy in self._policies.items() if p.owner != owner}
