"""Catching up: deferred queries are brought to where ticks would have brought them.

It is done before somebody reads them (`deferral`). Whatever else is registered stays where it is: a
read moves no time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from cqlduck.engine.failing import Failing
from cqlduck.rewrite.text.time import Instant
from cqlduck.state import listing
from cqlduck.state.catalog import Query


class CatchingUp(Failing):
    """An engine that brings queries up to date."""

    def behind(self) -> list[Query]:
        """Return the queries that are not as far as ticks would have brought them."""
        return [query for query in self.catalogue.running if query.promised is not None]

    def behind_in(self, text: str) -> list[Query]:
        """Return those of them that statements may read: they name them, or some view may."""
        found = self.behind()
        if found and self.database.has_others:
            known = [*self.catalogue.queries, *self.catalogue.inputs]
            if listing.has_views_or_macros(self.database, known):
                return found
        lower = text.lower()
        return [query for query in found if _is_named(query.name.lower(), lower)]

    def bring_up(self, queries: Iterable[Query]) -> None:
        """Bring queries, and those that they read, as far as ticks would have brought them.

        A query that fails on the way stands still then, as it would have in a tick.
        """
        # inside of a change who reads is a listener, for whom nothing waits
        if self.database.depth:
            return
        wanted: dict[Instant, list[str]] = {}
        for query in queries:
            if query.promised is not None:
                wanted.setdefault(query.promised, []).append(query.name)
        for instant in sorted(wanted):
            self._bring(wanted[instant], instant)

    def _bring(self, names: Sequence[str], until: Instant) -> None:
        """Bring queries to the instant that is promised for all of them."""
        wanted = [self.query(name) for name in names]
        below = [inner for query in wanted for inner in self.catalogue.queries_of(query)]
        group = {one.name: one for one in (*wanted, *below) if one.promised is not None}
        if not group:
            return
        taken, deferral = self._taken, self.deferral
        self._taken = max(deferral.unread(query) for query in group.values())
        deferral.woken = frozenset(group)
        # what ticks count of streams is what the others have not read
        self.bounds.recount()
        try:
            while any(self._goes_on(name, until) for name in group):
                self._step(until)
        finally:
            deferral.woken = frozenset()
            self.bounds.recount()
            self._taken = taken
        with self.changing():
            for name in names:
                # what it reads may have failed on the way
                self.query(name).promised = None

    def _goes_on(self, name: str, until: Instant) -> bool:
        query = self.query(name)
        return query.state == "active" and self.progress.goal(query, until, until) is not None

    def when_it_is_answered(self, query: Query) -> str:
        """Return in lines when a deferred query is answered; nothing of another one."""
        if not query.is_deferred:
            return ""
        reason = self.deferral.why_not(query)
        if reason is not None:
            return f"-- read: later, but it is answered in each tick: {reason}"
        at = self.shown(query.frontier)
        return f"-- read: later; it is answered when it is read, and stands at {at}"


def _is_named(name: str, text: str) -> bool:
    """Return whether a text has a name; that it is part of a longer word does not count."""
    forms = "|".join(map(re.escape, (name, name.replace('"', '""'))))
    return re.search(rf"(?<!\w)({forms})(?!\w)", text) is not None
