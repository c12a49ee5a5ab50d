"""Catching up: deferred queries are brought to where ticks would have brought them.

It is done before somebody reads them (`deferral`). Whatever else is registered stays where it is: a
read moves no time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from cqlduck.engine.failing import Failing
from cqlduck.errors import QueryError
from cqlduck.rewrite.text.time import Instant
from cqlduck.state import listing
from cqlduck.state.registered import WAITS, Input, Query

_NAMES_ITSELF = re.compile(r"\bquery(_table)?\W*\(|\bcql_state\b")
"""What a text reads whose names are made while it runs, or are ours."""


class CatchingUp(Failing):
    """An engine that brings queries up to date."""

    def run(self, until: Instant | None = None) -> None:
        """Advance all queries as far as the heartbeats allow, or up to an instant."""
        self._serve_listeners()
        super().run(until)

    def go_on(self, slices: int) -> bool:
        """Advance as far as the heartbeats allow, but queries that are behind by some slices."""
        self._serve_listeners()
        return super().go_on(slices)

    def step(self, before: Callable[[], Instant | None]) -> Instant | None:
        """Run `before`, which takes elements in, and one tick, in one transaction."""
        self._serve_listeners()
        return super().step(before)

    def _serve_listeners(self) -> None:
        """Bring up to date what listeners may read in the ticks that come."""
        if self.on_tick:
            with self.opened():
                self.bring_up(self.behind())

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
        if found and _NAMES_ITSELF.search(lower):
            return found
        return [query for query in found if is_named(query.name, lower)]

    def inputs_in(self, text: str) -> list[Input]:
        """Return the inputs whose stores statements may read: they name them, or some view may."""
        known = list(self.catalogue.inputs.values())
        views = ("stores", "queues")
        if _NAMES_ITSELF.search(text.lower()) or any(is_named(view, text) for view in views):
            return known
        names = [*self.catalogue.queries, *self.catalogue.inputs]
        if self.database.has_others and listing.has_views_or_macros(self.database, names):
            return known
        return [thing for thing in known if is_named(thing.name, text)]

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
            for query in map(self.query, names):
                # what it reads may have failed on the way; for a function it waits
                if self._waits_for(query) is None:
                    query.promised = None

    def _waits_for(self, query: Query) -> Query | None:
        """Return what a query waits for that calls a function which is not there, or None."""
        known = (query, *self.catalogue.queries_of(query))
        return next((one for one in known if one.state.startswith(WAITS)), None)

    def refuse_waiting(self, queries: Iterable[Query]) -> None:
        """Refuse to read queries that could not be brought up to date.

        Raises:
            QueryError: One calls a function that is not registered, or one that it reads does.
        """
        for query in queries:
            found = self.catalogue.queries.get(query.name.lower())
            if found is None or found.promised is None:
                continue
            waiting = self._waits_for(found)
            if waiting is not None:
                raise QueryError(
                    f"{found.name} is read later, and has not been answered since "
                    f"{self.shown(found.frontier)}: {waiting.name} {waiting.state}",
                    hint=f"register it with create_function; as_of('{found.name}', …) gives "
                    "answers up to there",
                )

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


def is_named(name: str, text: str) -> bool:
    """Return whether a text has a name; that it is part of a longer word does not count."""
    forms = "|".join(map(re.escape, (name.lower(), name.lower().replace('"', '""'))))
    return re.search(rf"(?<!\w)({forms})(?!\w)", text.lower()) is not None
