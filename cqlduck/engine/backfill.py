"""Backfill: a query that is behind the others comes up to them in ticks of its own.

A query WITH (history = …) begins where the others were long ago, and one that is activated goes on
where it stood. A tick brings all that it runs to one instant, so in common ticks the others would
wait at their frontiers, and what comes for them too, until it is level with them. Therefore it is
left out of ticks in which another query has a way to go, and so are those that read it. Between
these it goes on by a slice, a tick that takes in `SLICE` elements at most.

No element depends on it: a tick's output does not depend on where ticks end, nor on which other
queries it runs. Only what is late for the others, and under LATE AMEND corrects what they have
said, is no correction for a query that has not got there: it finds it in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from cqlduck.engine.bounds import Bounds
from cqlduck.progress import Progress
from cqlduck.rewrite.text.time import Instant
from cqlduck.state.catalog import Catalogue
from cqlduck.state.registered import Query

SLICE = 100_000
"""How many elements a tick of the backfill takes in at most: the others wait for so long."""


@dataclass
class Backfill:
    """Knows which queries are behind, and whose turn the next tick is.

    Attributes:
        catalogue: What is registered.
        progress: How far queries could go.
        bounds: How large its ticks are.
        is_on: Whether the tick that runs is one of its own.
    """

    catalogue: Catalogue
    progress: Progress
    bounds: Bounds
    is_on: bool = False
    _behind: frozenset[str] | None = None
    """The names of those that are left out of common ticks; None if not looked at yet."""
    _spent: dict[str, tuple[float, float]] = field(default_factory=dict)
    """Of queries: the seconds of their ticks, and the share of their way that these went."""

    def recount(self) -> None:
        """Forget what was found, because something has been registered, or a change undone."""
        self._behind = None
        self.bounds.recount()

    def begin(self, query: Query) -> None:
        """Have a query be backfilled that is about to begin, or to go on, behind the others."""
        goal = None if query.is_deferred else self.progress.goal(query, None, None)
        query.backfill_from = None if goal is None else query.frontier
        query.backfill_to = goal
        self._behind = None
        self._spent.pop(query.name, None)

    @property
    def behind(self) -> frozenset[str]:
        """The names of the queries that are left out of common ticks.

        They are behind, or read one that is. If no query is left for common ticks there is nobody
        to wait for them.
        """
        if self._behind is None:
            running = [query for query in self.catalogue.running if query.state == "active"]
            found: set[str] = set()
            for query in running:
                if query.backfill_to is not None:
                    found.add(query.name)
                    found.update(one.name for one in self.catalogue.readers_of(query))
            has_others = any(query.name not in found for query in running)
            self._behind = frozenset(found if has_others else ())
        return self._behind

    def turn(
        self, active: Sequence[Query], has_way: Callable[[Query], bool]
    ) -> tuple[list[Query], Bounds | None]:
        """Return the queries that the next tick is for.

        Args:
            active: All that could run.
            has_way: Says whether a tick would move a query.

        Returns:
            The queries, and what bounds their tick if that is one of the backfill.
        """
        behind = self.behind
        others = [query for query in active if query.name not in behind]
        self.is_on = bool(behind) and not any(map(has_way, others))
        if not self.is_on:
            return others, None
        return [query for query in active if query.name in behind], self.bounds

    def fraction(self, query: Query) -> float | None:
        """Return which share of its way a query has gone, from 0 to 1; None if it is not known."""
        if query.backfill_to is None:
            return None
        start = query.backfill_from
        start = self.progress.begins(query) if start is None else start
        if start is None:
            return None
        reached = start if query.frontier is None else query.frontier
        return min(max((reached - start) / max(query.backfill_to - start, 1), 0.0), 1.0)

    def ran(self, query: Query, before: float | None, seconds: float) -> bool:
        """Note that a tick has moved a query.

        Args:
            query: The query.
            before: Which share of its way it had gone before.
            seconds: How long the tick took for it.

        Returns:
            Whether it is level with the others now, and behind no more.
        """
        share = self.fraction(query)
        if query.backfill_to is None:
            return False
        if before is not None and share is not None and share > before:
            spent, gone = self._spent.get(query.name, (0.0, 0.0))
            self._spent[query.name] = spent + seconds, gone + share - before
        if self.progress.goal(query, None, None) is not None and not self._is_level(query):
            return False
        query.backfill_from = query.backfill_to = None
        self._spent.pop(query.name, None)
        self._behind = None
        return True

    def _others(self) -> list[Instant]:
        """Return the frontiers of active queries that are not behind, if they have one."""
        behind = self.behind
        known = (q for q in self.catalogue.running if q.state == "active" and q.name not in behind)
        return [query.frontier for query in known if query.frontier is not None]

    def frontier(self) -> Instant | None:
        """Return the least frontier of the queries that are not behind, if any is; else None."""
        return min(self._others(), default=None) if self.behind else None

    def _is_level(self, query: Query) -> bool:
        # where nobody is told apart it is one of the others
        reached, known = query.frontier, self._others() if self.behind else []
        return bool(known) and reached is not None and reached >= max(known)

    def seconds_left(self, query: Query) -> float | None:
        """Return how long ticks will take for the rest of a query's way, or None.

        That is as long as they took for the way that this process saw; None if it saw none.
        """
        share = self.fraction(query)
        spent, gone = self._spent.get(query.name, (0.0, 0.0))
        return None if share is None or not gone else spent * (1 - share) / gone

    def said(self, query: Query, shown: Callable[[Instant | None], str]) -> str:
        """Return in lines how far the backfill of a query is; nothing if it is not behind.

        Args:
            query: The query.
            shown: Shows an instant.
        """
        if query.backfill_to is None:
            read = self.catalogue.queries_of(query) if query.name in self.behind else ()
            below = [one.name for one in read if one.backfill_to is not None]
            return f"-- behind: it waits for {', '.join(below)}, which it reads" if below else ""
        share, left = self.fraction(query), self.seconds_left(query)
        gone = "nothing" if query.frontier is None or not share else f"{share:.0%}"
        known = "" if left is None else f", some {left:.2g} s of ticks to go"
        goes = "it goes on between the ticks of the others"
        if query.state != "active":
            known, goes = "", "it stands still"
        elif query.name not in self.behind:
            goes = "it goes on with the next tick, as there is no other query to wait for it"
        return f"-- behind: {gone} of its way to {shown(query.backfill_to)} is done{known}; {goes}"
