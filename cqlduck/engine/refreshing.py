"""The point `answer`: whether a query is kept up incrementally, or answered anew at each change.

A query goes from the one plan to the other between two ticks, in the transaction of the second:
what the new plan keeps is filled with its content at the frontier, and what the old one kept is
dropped (`state.synopses.adopt`). Its log, and so its answer, stay as they are. It goes only where
it could also come back: where the content of both can be had.

What chooses is `streamon.answering`. It has the other plan rehearsed behind a tick.
"""

from __future__ import annotations

import functools
import time as wall
from collections.abc import Iterator
from dataclasses import dataclass, field

import duckdb

from cqlduck.engine.core import log
from cqlduck.engine.reading import Reading
from cqlduck.errors import DatabaseError, Error, NotSupportedError, first_line
from cqlduck.rewrite import Compiled
from cqlduck.rewrite.physical.form import Form
from cqlduck.rewrite.statements.content import Content, contents
from cqlduck.rewrite.statements.refreshing import RECOMPUTED, following, option_of, refusal
from cqlduck.rewrite.text.time import Instant
from cqlduck.state import answers, inspection, machine, plans, synopses
from cqlduck.state.caches import Caches
from cqlduck.state.condensed import Condensed
from cqlduck.state.contents import Frontier
from cqlduck.state.indexes import Indexes
from cqlduck.state.registered import Query
from cqlduck.state.rehearsal import RehearsalExceeded, RehearsalFailed, rehearse
from cqlduck.state.reusable import Tables
from cqlduck.state.tick import instants_between
from cqlduck.streamon.points import ANSWER, Facts

_AMENDED = "late elements may have it worked out again"


@dataclass(frozen=True)
class Plans:
    """The two plans of a query.

    Attributes:
        name: The query.
        kept: The incremental one.
        anew: The one that answers anew, or None.
        reason: Why there is none, or None.
    """

    name: str
    kept: Compiled
    anew: Compiled | None
    reason: str | None = None

    @functools.cached_property
    def incremental_content(self) -> tuple[Content, ...]:
        """What the synopses of the incremental plan hold."""
        return contents(self.name, self.kept.plan, self.kept.steps.clock, self.kept.synopses)

    @functools.cached_property
    def anew_content(self) -> tuple[Content, ...]:
        """What the synopsis of the other plan holds."""
        assert self.anew is not None
        return contents(self.name, self.anew.plan, self.anew.steps.clock, self.anew.synopses)


class RefreshFailed(DatabaseError):
    """A query cannot go to its other plan: DuckDB fails at the content of that one.

    The transaction has to be undone.
    """


@dataclass
class Refreshing(Reading):
    """Brings queries from the one of their plans to the other."""

    caches: Caches = field(init=False)
    indexes: Indexes = field(init=False)
    condensed: Condensed = field(init=False)
    tables: Tables = field(init=False)
    both: dict[str, Plans] = field(default_factory=dict)
    """Of queries of which that was asked: their plans, by lower-case name."""
    unfit_to_refresh: dict[str, str] = field(default_factory=dict)
    """Of queries that could not go to their other plan: why, by name, until somebody pins."""

    def incremental(self, query: Query) -> Compiled:
        """Return the plan of a query that is incremental, whichever one it runs."""
        return self.plans_of(query).kept if query.is_anew else self.compiled[query.planned_by]

    def plans_of(self, query: Query) -> Plans:
        """Return the two plans of a query that has a plan of its own."""
        key = query.name.lower()
        now, known = self.compiled[key], self.both.get(key)
        if known is None or now is not (known.anew if query.is_anew else known.kept):
            if query.is_anew:
                kept = self.compiler.compile(
                    self.catalogue, query.name, query.body, query.taken, is_anew=False
                )
                known = Plans(query.name, kept, now)
            else:
                known = self.with_anew(query.name, query.body, query.taken, now)
            self.both[key] = known
        return known

    def with_anew(self, name: str, body: str, taken: str | None, kept: Compiled) -> Plans:
        """Compile the plan that answers a query anew, beside its incremental one.

        Args:
            name: The query, which need not be registered.
            body: Its text.
            taken: The macros and types that it captured, or None (`Compiler.compile`).
            kept: Its incremental plan.
        """
        try:
            anew = self.compiler.compile(self.catalogue, name, body, taken, is_anew=True)
            reason = refusal(kept, anew)
        except Error as error:
            return Plans(name, kept, None, error.message)
        anew = following(kept, anew)
        return Plans(name, kept, anew if reason is None else None, reason)

    def cannot_be_anew(self, query: Query) -> str | None:
        """Return why a query cannot be answered anew, whatever its inputs hold, or None."""
        if query.family is not None or query.shape is not None:
            return "it shares a plan with others"
        if self.catalogue.amends(query):
            return _AMENDED
        return self.plans_of(query).reason

    def could_not_be_anew(self, name: str, body: str, kept: Compiled) -> str | None:
        """Return the same of a query with a plan of its own that is not registered."""
        if self.catalogue.any_amended(source.name for source in kept.sources.values()):
            return _AMENDED
        return self.with_anew(name, body, kept.taken, kept).reason

    def pin(self, point: str, option: str | None, owner: str | None) -> None:
        """Have an option run at points of choice; inside a change.

        Raises:
            CatalogError: There is no such owner.
            NotSupportedError: The query named cannot be answered anew.
            Error: There is no such point, or it has no such option.
        """
        super().pin(point, option, owner)
        if point == ANSWER:
            for query in self.catalogue.running:
                if query.name in self.unfit_to_refresh:
                    self.streamon.answers.may_go(query)
            self.unfit_to_refresh.clear()
            if owner is not None and option == RECOMPUTED:
                query = self.query(owner)
                reason = self.cannot_be_anew(query)
                if reason is not None:
                    raise NotSupportedError(
                        f"{query.name} cannot be answered anew: {reason}",
                        hint="its plan stays incremental",
                    )

    def refresh(self) -> None:
        """Bring queries to the plans that are chosen at their points `answer`; inside a change.

        Raises:
            RefreshFailed: DuckDB fails at what one would keep.
        """
        for query in self._asked():
            facts = Facts(refuses=functools.partial(self._refuses, query))
            option = self.streamon.answers.choose(query, facts, query.frontier)
            if (option == RECOMPUTED) != query.is_anew and not self._refuses(query):
                self._go(query)
            elif query.name in self.unfit_to_refresh:
                self.streamon.answers.cannot_go(query, self.unfit_to_refresh[query.name], 0.0)

    def _asked(self) -> Iterator[Query]:
        """Yield the queries whose point `answer` may not be as it stands."""
        asked = self.streamon.answers.asked()
        for query in self.catalogue.running:
            if query.is_anew or None in asked or query.name in asked:
                began = query.begin_instant is not None and query.frontier is not None
                if began and query.state == "active":
                    yield query

    def _refuses(self, query: Query) -> bool:
        """Return whether a query cannot go to its other plan; why is noted."""
        if query.name not in self.unfit_to_refresh:
            reason = self._refusal(query)
            if reason is None:
                return False
            self.unfit_to_refresh[query.name] = reason
        return True

    def _refusal(self, query: Query) -> str | None:
        """Return why a query cannot go to its other plan now, or None."""
        if not query.is_anew:
            reason = self.cannot_be_anew(query)
            if reason is not None:
                return reason
        both = self.plans_of(query)
        frontier = self._frontier(query)
        # to come back, the content of the incremental plan has to be there all the time
        for content in (*(() if query.is_anew else both.anew_content), *both.incremental_content):
            reason = frontier.lacks(content)
            if content.found is None or reason is not None:
                return f"{content.synopsis.name} ({content.operator}) cannot be had: {reason}"
        return None

    def why_it_stays(self, query: Query) -> str:
        """Return in lines why a query does not go to its other plan; nothing if it is not known."""
        reason = self.unfit_to_refresh.get(query.name)
        if reason is None:
            return ""
        option = option_of(is_anew=query.is_anew)
        return f"-- answer: {option}, for the other plan cannot be had:\n--   {reason}"

    def _frontier(self, query: Query) -> Frontier:
        missing = self.missing_function(query)
        return Frontier(query, self.catalogue, self.database.value, self.shown, missing)

    def _go(self, query: Query) -> None:
        """Bring a query to its other plan, which can be had."""
        started, base = wall.perf_counter(), self.database
        both, before = self.plans_of(query), self.compiled[query.name.lower()]
        plan = both.kept if query.is_anew else both.anew
        assert plan is not None
        # content is read from the stores
        self.flush(everything=True)
        try:
            content = both.incremental_content if query.is_anew else both.anew_content
            synopses.adopt(base, self._frontier(query), plan, content)
        except DatabaseError as error:
            if machine.is_told(error) or not isinstance(error.__cause__, duckdb.Error):
                raise
            self.unfit_to_refresh[query.name] = first_line(error.__cause__)
            raise RefreshFailed(error.message) from error
        before.steps.unstore()
        self.compiled[query.name.lower()] = plan
        plans.renew(base, query.name, plan)
        answers.hold(base, self.clock, query, before.answer, plan.answer)
        query.is_anew = not query.is_anew
        self.caches.forget(query.name)
        self.indexes.forget(query.name)
        inspection.refresh(base, self.catalogue, query)
        inspection.delete_stubs(base, query)
        inspection.write_stubs(base, query, self.stubs(query))
        self.housekeeping.dropped(query)
        # how far the new plan looks back counts there; what has come is as before
        self.bounds.recount()
        self.streamon.refreshed(query, wall.perf_counter() - started)
        log.info("%s is %s from now on", query.name, option_of(is_anew=query.is_anew))

    def rehearse(self, query: Query, before: Instant, facts: Facts) -> None:
        """Learn what the tick that a query has just run would have taken, answered anew.

        Args:
            query: The query.
            before: Its frontier before the tick.
            facts: What was known of the tick.

        Raises:
            RehearsalFailed: It took too long, or DuckDB fails.
        """
        most = self.streamon.answers.wants_rehearsal(query, facts)
        if most is None:
            return
        started = wall.perf_counter()
        if self._refuses(query):
            reason = self.unfit_to_refresh[query.name]
            self.streamon.answers.cannot_go(query, reason, wall.perf_counter() - started)
            return
        both = self.plans_of(query)
        assert both.anew is not None
        assert query.frontier is not None
        # of one instant all that stands there is asked for, as what the trace then holds
        since = query.frontier if facts.is_single else before
        values = instants_between(query, since, query.frontier)
        steps = both.anew.steps.of(Form(single=facts.is_single))
        frontier, content = self._frontier(query), both.anew_content
        self.streamon.answers.compiled(wall.perf_counter() - started)
        started = wall.perf_counter()
        try:
            found = rehearse(self.database, frontier, content, self.tables, steps, values, most)
        except RehearsalExceeded:
            self.streamon.answers.exceeded(query, wall.perf_counter() - started)
            raise
        except RehearsalFailed as error:
            self.unfit_to_refresh[query.name] = error.message
            self.streamon.answers.cannot_go(query, error.message, wall.perf_counter() - started)
            raise
        self.streamon.answers.rehearsed(query, facts, found)

    def stubs(self, query: Query) -> dict[str, int | None]:
        """Return how far a query looks back on the store of each input that it reads itself."""
        spans = self.compiled[query.name.lower()].spans
        names = [
            name for name in dict.fromkeys(query.inputs) if name.lower() in self.catalogue.inputs
        ]
        return {name: spans.get(name, 0) for name in names}
