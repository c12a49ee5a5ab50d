"""The re-optimizer: proposes options from the counts, by a policy for each kind of point."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

from cqlduck.errors import DatabaseError
from cqlduck.rewrite.plan.orders import FILTERS, ORDER
from cqlduck.rewrite.plan.searches import SEARCH
from cqlduck.rewrite.plan.segments import CACHES
from cqlduck.state.choices import Point
from cqlduck.state.observations import Observation
from cqlduck.state.probing import Found, Wanted
from cqlduck.streamon.answering import Answering
from cqlduck.streamon.budget import Budget
from cqlduck.streamon.caching import JoinCaching
from cqlduck.streamon.filters import FilterOrder
from cqlduck.streamon.joins import JoinOrder
from cqlduck.streamon.modelled import Modelled
from cqlduck.streamon.points import ANSWER, KINDS, STAGES, THREADS, Facts
from cqlduck.streamon.policy import Policy
from cqlduck.streamon.profiler import Statistics
from cqlduck.streamon.proposals import Proposal
from cqlduck.streamon.searching import Searching
from cqlduck.streamon.stages import Stages
from cqlduck.streamon.threads import ThreadCount

POLICIES: Mapping[str, Callable[[Budget], Policy]] = {
    STAGES: Stages,
    THREADS: ThreadCount,
    FILTERS: FilterOrder,
    ORDER: JoinOrder,
    CACHES: JoinCaching,
    SEARCH: Searching,
    ANSWER: Answering,
}
"""The policies, by kind of point. Of other kinds the first option is known to cost the least."""


class Reoptimizer:
    """Asks the policies of points.

    Args:
        budget: What looking at options again may cost.
    """

    def __init__(self, budget: Budget) -> None:
        """Begin without knowing anything."""
        self._budget = budget
        self._policies: dict[Point, Policy] = {}
        self._profiles: Mapping[Point, str] = {}
        self._seen: Mapping[Point, Sequence[Observation]] = {}
        self._asked: set[str | None] = set()

    def remember(
        self, profiles: Mapping[Point, str], seen: Mapping[Point, Sequence[Observation]]
    ) -> None:
        """Have policies go on with what is stored of their points.

        Args:
            profiles: What they had found, as `profile` returned it.
            seen: What was decided there, in its order.
        """
        self._profiles, self._seen = profiles, seen

    def profile(self, point: Point) -> str | None:
        """Return what the policy of a point has found, as JSON; None if nothing is to be stored."""
        policy = self._policies.get(point)
        state = None if policy is None else policy.state()
        return None if state is None else json.dumps(state)

    def refuse(self, point: Point, option: str) -> None:
        """Have an option of a point not run until what was found has moved."""
        policy = self._policies.get(point)
        if isinstance(policy, Modelled) and policy.probes:
            policy.refuse(option)

    def profiled(self) -> list[Point]:
        """Return the points whose policies have found something that is to be stored."""
        return [point for point, policy in self._policies.items() if policy.probes]

    def decided(self, point: Point) -> Sequence[Observation]:
        """Return what the last proposal of a point has decided, once."""
        policy = self._policies.get(point)
        return () if policy is None else policy.decided()

    def default(self, point: Point, facts: Facts) -> str:
        """Return the option of a point before anything is known."""
        policy = self.policy(point)
        return KINDS[point.name].options[0] if policy is None else policy.default(facts)

    def propose(self, point: Point, now: str, known: Statistics, facts: Facts) -> Proposal | None:
        """Return what the next tick is to run at a point, or None for what stands.

        Args:
            point: The point.
            now: The option that stands.
            known: What the profiler knows.
            facts: What is known of the tick.
        """
        policy = self.policy(point)
        return None if policy is None else policy.propose(now, known, facts)

    def wants(self, point: Point, facts: Facts, now: str) -> Wanted | None:
        """Return what the next tick is to profile at a point, or None.

        Args:
            point: The point.
            facts: What is known of the tick.
            now: The option that it runs.
        """
        policy = self.policy(point)
        return None if policy is None else policy.wants(facts, now)

    def waits(self, point: Point) -> bool:
        """Return whether a point waits for what the next tick takes."""
        policy = self._policies.get(point)
        return policy is not None and policy.waits

    def rests(self, point: Point) -> bool:
        """Return whether nothing that flows matters at a point for now."""
        policy = self._policies.get(point)
        return policy is not None and policy.rests

    def asked_of_answers(self) -> set[str | None]:
        """Return the queries whose points `answer` are to be asked now; None for all."""
        return self._asked

    def saw(
        self, point: Point, facts: Facts, option: str, seconds: float | None, found: Found | None
    ) -> None:
        """Take note of a tick.

        Args:
            point: The point.
            facts: What was known of the tick.
            option: What ran.
            seconds: What its statements took, or None if that was not counted.
            found: What was found by what was wanted.
        """
        policy = self.policy(point)
        if policy is not None:
            policy.saw(facts, option, seconds, found)

    def policy(self, point: Point) -> Policy | None:
        """Return the policy of a point, or None if its options have a known cost."""
        policy = self._policies.get(point)
        if policy is None and point.name in POLICIES:
            policy = self._policies[point] = POLICIES[point.name](self._budget)
            self._restore(point, policy)
        return policy

    def answering(self, query: str) -> Answering:
        """Return the policy of the point `answer` of a query."""
        policy = self.policy(Point(ANSWER, query))
        assert isinstance(policy, Answering)
        return policy

    def answered(self, query: str) -> None:
        """Take note that more is known of the point `answer` of a query."""
        if self.answering(query).wants_change:
            self._asked.add(query)
        else:
            self._asked.discard(query)

    def replanned(self) -> None:
        """Forget what the number of threads did for ticks that have another plan from now on."""
        self._policies = {p: mine for p, mine in self._policies.items() if p.name != THREADS}

    def _restore(self, point: Point, policy: Policy) -> None:
        stored = self._profiles.get(point)
        if stored is None:
            return
        try:
            policy.restore(json.loads(stored))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise DatabaseError(
                f"what is stored in cql_state.profiles of the point {point.name} of {point.owner} "
                f"is not what was written: {error!r}",
                hint="delete the row; the point is then profiled anew",
            ) from error
        if isinstance(policy, Modelled):
            policy.regions.seen.extend(self._seen.get(point, ()))

    def forget(self, owner: str) -> None:
        """Forget a query or stream."""
        self._asked.discard(owner)
        self._policies = {p: policy for p, policy in self._policies.items() if p.owner != owner}
        self._profiles = {p: text for p, text in self._profiles.items() if p.owner != owner}
        self._seen = {p: seen for p, seen in self._seen.items() if p.owner != owner}
