"""What the engine asks and tells of the points `answer`: which queries go, and what they took.

A tick may be undone and run once more because of what is told here, so nothing of it is undone.
"""

from __future__ import annotations

import time

from cqlduck.rewrite.text.time import Instant
from cqlduck.state.choices import Point
from cqlduck.state.registered import Query
from cqlduck.state.rehearsal import Rehearsed
from cqlduck.streamon.answering import Answering
from cqlduck.streamon.executor import Executor
from cqlduck.streamon.points import ANSWER, Facts


class Answers:
    """The points `answer` of all queries.

    Args:
        executor: What is asked at each point.
    """

    def __init__(self, executor: Executor) -> None:
        """Begin without knowing any query."""
        self._executor = executor
        self._returning: list[Answering] = []
        self._switched: dict[Point, Answering] = {}

    def _policy(self, query: Query) -> Answering:
        return self._executor.reoptimizer.answering(query.name)

    def asked(self) -> set[str | None]:
        """Return the queries whose points may not be as they stand; None for all."""
        return self._executor.pinned(ANSWER) | self._executor.reoptimizer.asked_of_answers()

    def choose(self, query: Query, facts: Facts, instant: Instant | None) -> str:
        """Return how a query is to be answered from the next tick on."""
        return self._executor.choose(Point(ANSWER, query.name), facts, instant)

    def saw(self, query: Query, facts: Facts, option: str, seconds: float) -> None:
        """Take note of a tick in which something happened.

        Args:
            query: The query.
            facts: What was known of the tick.
            option: How it was answered.
            seconds: How long it took.
        """
        if not self._executor.adapts or self._is_pinned(query):
            self._policy(query).stay()
        self._executor.answered(query.name, facts, option, seconds)

    def wants_rehearsal(self, query: Query, facts: Facts) -> float | None:
        """Return how long the other plan of a query may be rehearsed; None for not at all.

        Args:
            query: The query, behind a tick.
            facts: What was known of the tick.
        """
        executor = self._executor
        if not executor.adapts or query.is_anew or self._is_pinned(query):
            return None
        started = time.perf_counter()
        seconds = self._policy(query).wants_rehearsal(facts)
        executor.profiler.budget.choosing += time.perf_counter() - started
        return seconds

    def rehearsed(self, query: Query, facts: Facts, found: Rehearsed) -> None:
        """Take note of what a rehearsal has found."""
        self._executor.rehearsed(query.name, facts, found)

    def exceeded(self, query: Query, seconds: float) -> None:
        """Take note of a rehearsal that took too long, so that the tick is undone."""
        self._policy(query).exceeded(seconds)

    def most_instants(self, query: Query, facts: Facts) -> int | None:
        """Return at how many instants of change a query may be answered anew; None is any."""
        if not query.is_anew or self._is_pinned(query):
            return None
        return self._policy(query).most_instants(facts)

    def too_many(self, query: Query, instants: int) -> None:
        """Have a query return of which a tick is undone that has many instants of change."""
        policy = self._policy(query)
        policy.instants = instants
        self._returning.append(policy)
        self._executor.reoptimizer.answered(query.name)

    def cannot_go(self, query: Query, reason: str, seconds: float) -> None:
        """Take note of why a query cannot go to its other plan, and how long it took to know."""
        self._executor.profiler.budget.looked(seconds, is_first=True)
        self._policy(query).refusal = reason
        self._executor.reoptimizer.answered(query.name)

    def compiled(self, seconds: float) -> None:
        """Take note of how long it took to have the other plan of a query, and its statements."""
        self._executor.profiler.budget.looked(seconds, is_first=True)

    def may_go(self, query: Query) -> None:
        """Take note that a query is asked again whether it can go to its other plan."""
        self._policy(query).refusal = None

    def switched(self, query: Query, option: str, seconds: float) -> None:
        """Take note of a query that has gone to an option, and what that took."""
        policy = self._policy(query)
        policy.switched(option, seconds)
        self._switched[Point(ANSWER, query.name)] = policy
        self._executor.reoptimizer.answered(query.name)
        self._executor.ledger.filled(Point(ANSWER, query.name), 1, seconds)

    def ended(self) -> None:
        """Take note of the end of a tick of all queries."""
        for policy in self._returning:
            policy.instants = None
        for point, policy in self._switched.items():
            # else it was undone, and this is the tick of other queries
            if self._executor.standing(point) == policy.option:
                policy.ended()
        self._returning.clear()
        self._switched.clear()

    def _is_pinned(self, query: Query) -> bool:
        """Return whether a user has pinned how a query is answered."""
        return self._executor.is_pinned(Point(ANSWER, query.name))
