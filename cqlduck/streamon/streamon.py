"""The engine's interface to StreaMon: its question before a tick, and its report after."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from cqlduck.errors import Error
from cqlduck.rewrite import Compiled
from cqlduck.rewrite.physical.form import FIRST, Form
from cqlduck.rewrite.plan.segments import CACHES
from cqlduck.rewrite.statements.refreshing import option_of
from cqlduck.rewrite.text.spelling import suggestion
from cqlduck.rewrite.text.time import Instant
from cqlduck.state import listing
from cqlduck.state import threads as one_thread
from cqlduck.state.catalog import Catalogue
from cqlduck.state.choices import Point
from cqlduck.state.connection import Database
from cqlduck.state.filling import Limit, LimitExceeded
from cqlduck.state.probing import Wanted
from cqlduck.state.registered import Query
from cqlduck.state.tick_plan import Ran
from cqlduck.streamon import notes, points, threads
from cqlduck.streamon.answers import Answers
from cqlduck.streamon.budget import MEASURING_FRACTION, Budget
from cqlduck.streamon.caching import fill_limit
from cqlduck.streamon.executor import Executor
from cqlduck.streamon.points import (
    KINDS,
    ONE,
    STAGES,
    THREADS,
    Facts,
)
from cqlduck.streamon.profiler import MeasuredTick, Profiler
from cqlduck.streamon.reoptimizer import Reoptimizer
from cqlduck.streamon.resting import Resting
from cqlduck.streamon.shown import Shown, in_force
from cqlduck.streamon.sites import Asked, Sites
from cqlduck.streamon.stages import MAX_STAGED_ELEMENTS, form_of, option_in
from cqlduck.streamon.turns import Turns


@dataclass(frozen=True)
class ChosenOptions:
    """What a tick of a query runs.

    Attributes:
        form: The form of its statements.
        query: The query.
        stages: The point `stages` of such ticks, if there is something to measure.
        executor: What is asked of points to which the tick comes on its way.
        facts: What is known of the tick.
        instant: The frontier before it.
        wants_steps: Whether the tick is to say what each of its statements took.
        asked: What is chosen where there are orders.
        most_instants: At how many instants of change it may be answered anew; None is any.
        size: Which ticks it is like, in words.
        rests: Whether it is not looked at (`resting`).
    """

    form: Form
    query: str
    stages: Point | None
    executor: Executor
    facts: Facts
    instant: Instant | None
    wants_steps: bool
    asked: tuple[Asked, ...] = ()
    most_instants: int | None = None
    size: str = ""
    rests: bool = False

    @property
    def probes(self) -> list[Wanted]:
        """The probes that are to run after the statements."""
        return [one.wanted for one in self.asked if one.wanted is not None]

    @property
    def fill_limit(self) -> Limit | None:
        """What it may take to fill a cache; None is any, where caches are pinned."""
        mine = [one for one in self.asked if one.site.kind == CACHES]
        if any(self.executor.is_pinned(one.point) for one in mine):
            return None
        return fill_limit(self.executor.profiler.budget)

    @property
    def stands(self) -> bool:
        """Whether it is what stands of stages, and no trial."""
        point = self.stages
        return point is None or self.executor.standing(point) == option_in(self.form)

    def is_default(self, point: str, operator: int | None = None) -> bool:
        """Return whether a point of the query, or of an operator, has its default option."""
        where = Point(point, self.query, operator)
        option = self.executor.choose(where, self.facts, self.instant)
        return option == KINDS[point].options[0]


class StreaMon:
    """Profiler, re-optimizer and executor of a database.

    Args:
        database: The database.
        compiled: The queries' statements, by lower-case name.
        fraction: Which fraction of the time of ticks learning may take.
        adapts: Whether what is measured changes what runs.
    """

    makes: type[Reoptimizer] = Reoptimizer
    """What proposes options."""

    def __init__(
        self,
        database: Database,
        compiled: Mapping[str, Compiled],
        fraction: float = MEASURING_FRACTION,
        *,
        adapts: bool = True,
    ) -> None:
        """Begin with what is stored."""
        self._database = database
        self._compiled = compiled
        self.budget = Budget(fraction)
        self.profiler = Profiler(self.budget)
        made = self.makes(self.budget)
        self.executor = Executor(database, self.profiler, made, adapts=adapts)
        self._threads: tuple[Point, str] | None = None
        self.shown = Shown(database, compiled, self.executor)
        self._exceeded: list[tuple[Asked, LimitExceeded, Instant | None]] = []
        self.answers = Answers(self.executor)
        """Whether queries are answered anew."""
        self._sites = Sites(self.executor)
        self._resting = Resting()
        self._turns = Turns()
        self.is_watched: Callable[[Query], bool] = lambda _: False
        """Returns whether somebody wants to know of each tick of a query what it did."""

    # -- in transactions --------------------------------------------------------------------------

    @property
    def holds_some(self) -> bool:
        """Whether something is chosen, or runs, that nobody sees yet in the database."""
        if self.executor.holds_some:
            return True
        # in a file what runs is shown by the change that has it run first
        return self._database.in_memory and self.shown.is_outdated

    def flush(self) -> None:
        """Write what has changed, and have `cql.operators` show what runs; in a transaction."""
        self.executor.flush()
        self.shown.flush()

    def closing(self) -> None:
        """Have the next `flush` write all that was found, also what ticks have moved since."""
        self.executor.note_profiles()

    # -- the tick of a query ----------------------------------------------------------------------

    def choose(self, query: Query, compiled: Compiled, single: bool, facts: Facts) -> ChosenOptions:
        """Return what a tick of a query runs.

        Args:
            query: The query, before the tick.
            compiled: Its statements.
            single: Whether the tick has one instant.
            facts: What is known of it.
        """
        started = time.perf_counter()
        size = points.sized(single, facts.elements, MAX_STAGED_ELEMENTS)
        is_due, is_watched = self._turns.is_due(query.name), self.is_watched(query)
        if not is_watched:
            rests = self._at_rest(query, compiled, facts, size)
            if rests is not None:
                self.budget.choosing += time.perf_counter() - started
                return rests
            ticks = self._resting.stands_for(query.name, size)
            if ticks > 1:
                facts = replace(facts, ticks=ticks)
        few = facts.elements is not None and facts.elements <= MAX_STAGED_ELEMENTS
        # to write a form takes longer than many a tick: for large ones that of the first is asked
        asked = Form(single, staged=True) if few else FIRST
        point, form = None, Form(single, staged=facts.is_first)
        has_stages = compiled.steps.staged.get(asked)
        if has_stages is None:
            # to write a form is no choosing
            asking = time.perf_counter()
            has_stages = compiled.steps.has_stages(asked)
            started += time.perf_counter() - asking
        if has_stages:
            point = Point(STAGES, query.name, None, size)
            offers = compiled.steps.offers(asked)
            if any(offers):
                facts = replace(facts, **offers._asdict())
            form = form_of(self.executor.choose(point, facts, query.frontier), single, facts)
        ordered = self._sites.choose(query, compiled, facts) if compiled.ordered else ()
        wants_steps = is_watched or (
            self.executor.adapts
            and (
                self.budget.affords_counting(0 if is_due else len(self._turns.before))
                # to count the statements of a tick takes little, and ends the wait
                or (
                    any(self.reoptimizer.waits(one.point) for one in ordered)
                    and self.budget.affords_waiting
                )
            )
        )
        chosen = ChosenOptions(
            in_force((one.site, one.option) for one in ordered).of(form),
            query.name, point if few else None, self.executor, facts, query.frontier, wants_steps,
            ordered, self.answers.most_instants(query, facts), size,
        )  # fmt: skip
        self.budget.choosing += time.perf_counter() - started
        return chosen

    def _at_rest(
        self, query: Query, compiled: Compiled, facts: Facts, size: str
    ) -> ChosenOptions | None:
        """Return what a tick runs that is not looked at; None if it is."""
        if facts.is_first or not self.executor.adapts:
            return None
        form = self._resting.form(query.name, size, compiled)
        if form is None:
            return None
        most = self.answers.most_instants(query, facts)
        return ChosenOptions(
            form, query.name, None, self.executor, facts, query.frontier,
            wants_steps=False, most_instants=most, size=size, rests=True,
        )  # fmt: skip

    @property
    def reoptimizer(self) -> Reoptimizer:
        """What proposes options."""
        return self.executor.reoptimizer

    def saw(
        self, chosen: ChosenOptions, query: Query, compiled: Compiled, ran: Ran, seconds: float
    ) -> None:
        """Take note of a tick.

        Args:
            chosen: What it ran.
            query: The query.
            compiled: The query's statements.
            ran: What it did.
            seconds: How long it took.
        """
        started = time.perf_counter()
        if chosen.rests:
            self._resting.passed(query.name, chosen.size, seconds)
            self.budget.choosing += time.perf_counter() - started
            return
        steps = compiled.steps.written[chosen.form]
        avoidable = idle = None
        seconds -= sum(profiled.seconds for profiled in ran.profiles) + ran.filling
        self.budget.looking += ran.filling
        if ran.steps:
            tick = MeasuredTick(chosen.facts.elements, steps, ran.steps)
            self.profiler.saw(chosen.query, chosen.form, tick)
        if chosen.asked:
            self._sites.saw(chosen.asked, steps, ran)
        if chosen.wants_steps:
            counted = time.perf_counter() - started
            self.budget.counted(counted)
            self._turns.spend(query.name, query.weight, counted)
            started += counted
        if chosen.stages is not None:
            option = option_in(chosen.form)
            if chosen.form.staged and ran.steps:
                avoidable = sum(
                    one.seconds
                    for step, one in zip(steps, ran.steps, strict=True)
                    if step.is_stage and not step.is_sure
                )
                if not chosen.form.stepwise:
                    idle = sum(
                        one.seconds
                        for step, one in zip(steps, ran.steps, strict=True)
                        if step.has_steps and not one.rows
                    )
            ticks = chosen.facts.ticks
            self.executor.measured(chosen.stages, option, seconds, avoidable, idle, ticks)
        if ran.rows or chosen.facts.elements:
            option = option_of(is_anew=query.is_anew)
            self.answers.saw(query, chosen.facts, option, seconds)
        is_settled = chosen.stages is None or self.reoptimizer.rests(chosen.stages)
        if is_settled and self._sites.rest(chosen.asked):
            self._resting.looked(
                query.name, chosen.size, compiled, chosen.form, seconds, stands=chosen.stands
            )
        else:
            self._resting.forget(query.name)
        self.budget.choosing += time.perf_counter() - started

    # -- whether queries are answered anew --------------------------------------------------------

    def refreshed(self, query: Query, seconds: float) -> None:
        """Take note of a query that has another plan from now on.

        Args:
            query: The query.
            seconds: How long it took to fill what that keeps.
        """
        option = option_of(is_anew=query.is_anew)
        self.answers.switched(query, option, seconds)
        self.profiler.replanned(query.name)
        self.reoptimizer.replanned()
        self._sites.forget(query.name)
        self._resting.forget(query.name)
        self.shown.forget(query.name)

    # -- other points -----------------------------------------------------------------------------

    def expect(self, elements: int | None) -> None:
        """Have a tick run on as many threads as is best.

        Args:
            elements: How many elements come; None if it takes in a part of what waits.
        """
        self._threads = None
        mine = self._database.threads
        if elements is None or elements > one_thread.MEDIUM_TICK_ELEMENTS:
            mine.all()
            return
        mine.small += 1
        # not while somebody reads, and not before some such ticks have followed each other
        if mine.small < one_thread.IN_A_ROW or mine.readers or time.monotonic() < mine.quiet_from:
            return
        point = Point(THREADS, ticks=threads.sized(elements))
        option = self.executor.choose(point, Facts(elements))
        if option == ONE:
            mine.one()
        else:
            mine.give_back()
        self._threads = point, option

    def exceeded(self, chosen: ChosenOptions, error: LimitExceeded) -> None:
        """Remember that a tick is undone because the cache that it chose is too large."""
        self.budget.looking += error.seconds
        for one in chosen.asked:
            if one.site.kind == CACHES and one.site.operator == error.operator:
                self._exceeded.append((one, error, chosen.instant))

    def give_up(self) -> None:
        """Take the choices back because of which ticks were undone; inside a change."""
        for one, error, instant in self._exceeded:
            self.executor.ledger.filled(one.point, 1, error.seconds)
            reason = f"given up: {error.what}"
            self.executor.give_up(one.point, one.option, reason, instant)

    def ended(self, seconds: float, queries: int) -> None:
        """Take note of a tick of all queries.

        Args:
            seconds: How long it took.
            queries: How many queries it moved.
        """
        self.budget.ticks += seconds
        self._turns.ended()
        self.answers.ended()
        if self._exceeded:
            self._exceeded, self.executor.barred = [], frozenset()
        seconds /= max(queries, 1)
        if self._threads is not None:
            point, option = self._threads
            self.executor.measured(point, option, seconds)

    def forget(self, owner: str, *, keeps_pins: bool = False) -> None:
        """Forget a query or stream that is dropped, or planned anew; inside a change.

        Args:
            owner: The query or stream.
            keeps_pins: Whether its pins stay.
        """
        self.executor.forget(owner, keeps_pins=keeps_pins)
        self._sites.forget(owner)
        self._resting.forget(owner)
        self._turns.forget(owner)
        self.shown.forget(owner)

    # -- what people see and want -----------------------------------------------------------------

    def pin(self, name: str, option: str | None, owner: str | None = None) -> None:
        """Pin points to an option from the next tick on, whatever was measured; inside a change.

        Args:
            name: The kind of point.
            option: The option; None removes the pin.
            owner: The query or stream; by default all.

        Raises:
            Error: There is no such point, or it has no such option.
        """
        kind = KINDS.get(str(name))
        if kind is None:
            raise Error(
                f"there is no point of choice {name}",
                hint=suggestion(str(name), [*KINDS], "there are"),
            )
        if option is not None and not (isinstance(option, str) and kind.has(option)):
            example = "it has"
            if kind.example:
                several = "or several with commas, of which each point takes the first of its own"
                example = f"{kind.example}, {several}, or it has"
            if not isinstance(option, str):
                example = f"options are texts, such as '{kind.options[0]}'; it has"
            raise Error(
                f"the point {name} has no option {option}",
                hint=suggestion(str(option), kind.options, example),
            )
        self.executor.pin(name, owner, option)
        self._resting.wake()

    def notes(self, query: str) -> str:
        """Return in lines which option is in force at the points of a query."""
        kept = self.executor.kept
        return notes.notes(self._database, kept.choices, kept.changes, self._compiled, query)


def stored(database: Database, catalogue: Catalogue, query: Query, compiled: Compiled) -> int:
    """Return about how many rows a query's inputs and synopses have."""
    tables = [thing.table for thing in catalogue.inputs_of(query)]
    tables += [synopsis.name for synopsis in compiled.synopses]
    return listing.row_count(database, tables)
