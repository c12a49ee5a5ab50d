"""The sites of queries: where an order is chosen, what of it is profiled, what it takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cqlduck.rewrite import Compiled
from cqlduck.rewrite.plan.orders import ORDER, Site
from cqlduck.rewrite.plan.searches import SEARCH
from cqlduck.rewrite.plan.segments import CACHES
from cqlduck.rewrite.statements.steps import Step
from cqlduck.state.choices import Point
from cqlduck.state.probing import Wanted
from cqlduck.state.registered import Query
from cqlduck.state.tick_plan import Ran, StepRan
from cqlduck.streamon.executor import Executor
from cqlduck.streamon.points import CACHING, KINDS, ORDERING, Facts


@dataclass(frozen=True)
class Asked:
    """What a tick does at a point where an order is chosen.

    Attributes:
        site: Where that is in the plan.
        point: The point.
        option: What it runs.
        facts: What is known of the tick there.
        wanted: What it is to profile, or None.
    """

    site: Site
    point: Point
    option: str
    facts: Facts
    wanted: Wanted | None


class Sites:
    """Chooses the orders of queries.

    Args:
        executor: What is asked at each point.
    """

    def __init__(self, executor: Executor) -> None:
        """Begin without knowing any query."""
        self._executor = executor
        self._points: dict[str, tuple[Compiled, Sequence[Point]]] = {}

    def choose(self, query: Query, compiled: Compiled, facts: Facts) -> tuple[Asked, ...]:
        """Choose the orders of a query, and what of them is profiled in the tick."""
        known = self._points.get(query.name)
        if known is None or known[0] is not compiled:
            sites = [about.site for about in compiled.ordered]
            of = [Point(site.kind, query.name, site.operator, "", site.input) for site in sites]
            known = self._points[query.name] = compiled, of
        executor, frontier = self._executor, query.frontier

        def algorithm(kind: str) -> Callable[[], str]:
            point = Point(CACHING if kind == CACHES else ORDERING, query.name)
            return lambda: executor.choose(point, facts, frontier)

        asked = []
        for about, point in zip(compiled.ordered, known[1], strict=True):
            mine = Facts(
                facts.elements,
                facts.is_first,
                facts.stored,
                about=about,
                algorithm=algorithm(point.name),
            )
            option = executor.choose(point, mine, frontier)
            if about.option(option) is None:
                option = KINDS[point.name].options[0]
            wanted = None
            if executor.adapts:
                wanted = executor.reoptimizer.wants(point, mine, option)
            asked.append(Asked(about.site, point, option, mine, wanted))
        return tuple(asked)

    def rest(self, asked: Sequence[Asked]) -> bool:
        """Return whether nothing that flows matters for now where these were asked."""
        return all(self._executor.reoptimizer.rests(one.point) for one in asked)

    def saw(self, asked: Sequence[Asked], steps: Sequence[Step], ran: Ran) -> None:
        """Take note of what statements took whose order is chosen, and of what probes found.

        Args:
            asked: What was chosen.
            steps: The statements of the tick.
            ran: What it did.
        """
        took = _by_site(steps, ran.steps) if ran.steps else {}
        found = {profiled.site: profiled for profiled in ran.profiles}
        executor = self._executor
        for one in asked:
            if one.site.kind in (CACHES, SEARCH):
                filled = [fill for fill in ran.fills if fill.operator == one.site.operator]
                if filled:
                    took_in_all = sum(fill.seconds for fill in filled)
                    executor.ledger.filled(one.point, len(filled), took_in_all)
            if one.site.kind == CACHES:
                if ran.steps:
                    took[one.site] = _of_join(steps, ran.steps, one.site)
                for site, profiled in found.items():
                    if site.kind == ORDER and site.operator == one.site.operator:
                        executor.told(one.point, one.facts, one.option, profiled)
        for one in asked:
            seconds = took.get(one.site)
            executor.saw(one.point, one.facts, one.option, seconds, found.get(one.site))

    def forget(self, owner: str) -> None:
        """Forget a query."""
        self._points.pop(owner, None)


def _of_join(steps: Sequence[Step], ran: Sequence[StepRan], join: Site) -> float:
    """Return what the statements of a join took, and those that have its pipelines in them."""
    return sum(
        one.seconds
        for step, one in zip(steps, ran, strict=True)
        if step.operator == join.operator or join in step.sites
    )


def _by_site(steps: Sequence[Step], ran: Sequence[StepRan]) -> dict[Site, float]:
    """Return what the statements of each site took, but of those some of which were prefetched."""
    found: dict[Site, float] = {}
    ahead: set[Site] = set()
    for step, one in zip(steps, ran, strict=True):
        for site in step.sites:
            found[site] = found.get(site, 0.0) + one.seconds
            if one.is_prefetched:
                ahead.add(site)
    return {site: seconds for site, seconds in found.items() if site not in ahead}
