"""Queries that fail: one is separated from the others, which go on.

The tick is undone and run without it; the query alone is advanced by halves to the last instant
before the one at which it fails, and the row that makes it fail is looked for.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import duckdb

from cqlduck import failures
from cqlduck.engine.ticking import RETRIED, Ticking, of_the_query
from cqlduck.errors import first_line
from cqlduck.rewrite.text.time import Instant
from cqlduck.state import answers, arrived, catalog_rows
from cqlduck.state.registered import Query

Result = TypeVar("Result")


@dataclass
class Failing(Ticking):
    """Runs ticks, in which queries may fail."""

    def run(self, until: Instant | None = None) -> None:
        """Advance all queries as far as the heartbeats allow, or up to an instant."""
        with self.opened():
            while self._behind(until):
                if self.give_way() and not self._behind(until):
                    break
                self.between_ticks()
                self._step(until)

    def go_on(self, slices: int) -> bool:
        """Advance as far as the heartbeats allow, but queries that are behind by some slices.

        Args:
            slices: How many these are at most.

        Returns:
            Whether one of these has more to go.
        """
        run = 0
        with self.opened():
            while self._behind(None):
                if run >= slices and self.has_backfill() and not self._others_go():
                    return True
                if self.give_way() and not self._behind(None):
                    break
                self.between_ticks()
                self._step(None)
                run += self.backfill.is_on
        return False

    def step(self, before: Callable[[], Instant | None]) -> Instant | None:
        """Run `before`, which takes elements in, and one tick, in one transaction.

        If a query fails in the tick, what was taken in is kept, and the failing query is excluded;
        `before` is run twice then.

        Args:
            before: Takes elements in, inside a change; returns up to which instant the tick goes,
                or None if as far as heartbeats allow.

        Returns:
            What `before` did.
        """
        with self.opened():
            self.between_ticks()
            bound, failed = self._try_tick(before)
            if failed is not None:
                with self.changing():
                    bound = before()
                try:
                    self._step(bound)
                except BaseException as error:
                    # what `before` took is committed
                    if not self.may_return(error):
                        raise
            return bound

    def _step(self, until: Instant | None) -> None:
        """Run one tick; separate a query that fails from the others.

        The others go first, so that what the failing one reads of them is there.
        """
        failed: dict[str, Exception] = {}
        try:
            while True:
                self.progress.exclude(failed)
                _, found = self._try_tick(lambda: until)
                if found is None:
                    break
                failed[found[0]] = found[1]
        finally:
            self.progress.exclude(())
        for name, error in failed.items():
            self._advance_alone(name, error, until)

    def _advance_alone(self, name: str, error: Exception, until: Instant | None) -> None:
        """Bring a query to the last instant before the one at which it fails."""
        self.flush(everything=True)
        query = self.catalogue.planned(name)
        goal = self.progress.goal(query, until, until)
        assert goal is not None
        begins = Instant((self.progress.begins(query, goal) or 0) - 1)
        done = begins if query.frontier is None else max(query.frontier, begins)
        instant, error = failures.first_failure(
            lambda middle: self._try_alone(name, middle), done, goal, error
        )
        row = self._culprit(name, instant)
        failing_too: list[str] = []
        with self.changing():
            for failing in self._computed_by(name):
                failing_too += [] if failing.shape is not None else [failing.name]
                failures.fail(self.catalogue, failing, instant, first_line(error), row)
                if failing.family is not None:
                    catalog_rows.move(self.database, failing)
                    answers.create_member(self.database, self.clock, failing)
        for failed in map(self.query, failing_too):
            self.tell(failures.told(self.catalogue, failed, failed))

    def _computed_by(self, name: str) -> list[Query]:
        """Return a query that has a plan, and the active members if it is a family."""
        query = self.catalogue.planned(name)
        members = self.catalogue.members_of(query)
        return [query, *(member for member in members if member.state == "active")]

    def _culprit(self, name: str, instant: Instant) -> str | None:
        """Return the row because of which a query fails at an instant, or None."""
        base, known = self.database, self.catalogue

        def fails(first: Mapping[str, int]) -> bool:
            def run(query: Query) -> None:
                arrived.keep_first(base, known, instant, first)
                self._advance(query, instant)

            try:
                self._undone(name, instant, run)
            except duckdb.Error as error:
                return bool(of_the_query(error))
            return False

        counts = self._undone(
            name, instant, lambda query: arrived.counts(base, known, query, instant)
        )
        place = failures.culprit(counts, fails)
        if place is None:
            return None
        return self._undone(
            name, instant, lambda query: arrived.shown(base, known, place[0], instant, place[1])
        )

    def _undone(self, name: str, until: Instant, work: Callable[[Query], Result]) -> Result:
        """Return what is found out of a query, with its relations closed, in a change undone."""
        found: list[Result] = []
        with contextlib.suppress(_Undone), self.changing():
            found.append(work(self._alone(name, until)))
            raise _Undone
        return found[0]

    def _try_alone(self, name: str, until: Instant) -> Exception | None:
        while True:
            try:
                with contextlib.suppress(*RETRIED), self.changing():
                    self.streamon.give_up()
                    self._advance(self._alone(name, until), until)
                    return None
            except duckdb.Error as error:
                return of_the_query(error)

    def _alone(self, name: str, until: Instant) -> Query:
        """Return a query that is about to run alone, and close its relations, inside a change."""
        query = self.catalogue.planned(name)
        self.tables.made.clear()
        constants = self.catalogue.constants_of(query)
        for thing in (*self.catalogue.inputs_of(query), *filter(None, [constants])):
            if thing.kind == "relation":
                self.raise_heartbeat(thing, until)
                self.close_relation(thing, until)
        return query


class _Undone(Exception):
    """Ends a change that was only made to look at what comes of it."""
