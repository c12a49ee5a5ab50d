"""The engine's interface to StreaMon: its question before a tick, and its report after."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from cqlduck.errors import Error
from cqlduck.rewrite import Compiled
from cqlduck.rewrite.physical.form import FIRST, Form, Orders
from cqlduck.rewrite.plan.orders import Order, Site, order_of
from cqlduck.rewrite.plan.segments import CACHES, Caches, Caching, caching_of_text
from cqlduck.rewrite.statements.refreshing import option_of
from cqlduck.rewrite.statements.steps import Steps
from cqlduck.rewrite.text.spelling import suggestion
from cqlduck.rewrite.text.time import Instant
from cqlduck.state import choices, listing, plans
from cqlduck.state import threads as one_thread
from cqlduck.state.catalog import Catalogue, Query
from cqlduck.state.choices import Point
from cqlduck.state.connection import Database
from cqlduck.state.filling import Limit, LimitExceeded
from cqlduck.state.probing import Wanted
from cqlduck.state.threads import SMALL_TICK_ELEMENTS
from cqlduck.state.tick_plan import Ran
from cqlduck.streamon import notes, points, threads
from cqlduck.streamon.answers import Answers
from cqlduck.streamon.budget import MEASURING_FRACTION, Budget
from cqlduck.streamon.caching import fill_limit
from cqlduck.streamon.executor import Choices, Executor
from cqlduck.streamon.points import (
    KINDS,
    ONE,
    STAGED,
    STAGES,
    THREADS,
    Facts,
)
from cqlduck.streamon.profiler import MeasuredTick, Profiler
from cqlduck.streamon.reoptimizer import Reoptimizer
from cqlduck.streamon.sites import Asked, Sites
from cqlduck.streamon.stages import MAX_STAGED_ELEMENTS
from cqlduck.streamon.turns import Turns

SINGLE = replace(FIRST, single=True)
"""The form of one instant, in stages."""

Shown = Mapping[str, tuple[Form, ...]]
"""By lower-case name of the query the forms of which statements are shown."""


@dataclass(frozen=True)
class Chosen:
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

    @property
    def probes(self) -> list[Wanted]:
        """The probes that are to run after the statements."""
        return [one.wanted for one in self.asked if one.wanted is not None]

    @property
    def fill_limit(self) -> Limit | None:
        """What it may take to fill a cache; None is any, where a user wants caches."""
        mine = [one for one in self.asked if one.site.kind == CACHES]
        if any(self.executor.is_wanted(one.point) for one in mine):
            return None
        return fill_limit(self.executor.profiler.budget)

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
        self.kept: Shown = {}
        """What is shown."""
        self.written: Mapping[str, tuple[Steps, int]] = {}
        """How many forms each plan had when they were shown last."""
        self._looked: Choices = {}
        self._exceeded: list[tuple[Asked, LimitExceeded, Instant | None]] = []
        self.answers = Answers(self.executor)
        """Whether queries are answered anew."""
        self._sites = Sites(self.executor)
        self._turns = Turns()
        self.is_watched: Callable[[Query], bool] = lambda _: False
        """Returns whether somebody wants to know of each tick of a query what it did."""
        database.participants.append(self)

    # -- in transactions --------------------------------------------------------------------------

    def roll_back(self, kept: Shown) -> None:
        """Show what was shown then."""
        self.kept = kept
        self._looked, self.written = {}, {}

    @property
    def holds_some(self) -> bool:
        """Whether something is chosen, or runs, that nobody sees yet in the database."""
        if self.executor.holds_some:
            return True
        # in a file what runs is shown by the change that has it run first
        return self._database.in_memory and self._look() != (self._looked, self.written)

    def _look(self) -> tuple[Choices, Mapping[str, tuple[Steps, int]]]:
        """Return what says, when it is another one, that other statements may run."""
        return self.executor.kept.choices, plans.written(self._compiled)

    def flush(self) -> None:
        """Write what has changed, and have `cql.operators` show what runs; in a transaction."""
        self.executor.flush()
        looked = self._look()
        if looked != (self._looked, self.written):
            runs = self._run()
            texts = {
                compiled.steps.name: compiled.steps.texts(runs[name])
                for name, compiled in self._compiled.items()
                if runs[name] != self.kept.get(name, (FIRST,))
            }
            choices.show(self._database, texts)
            self.kept, (self._looked, self.written) = runs, looked

    def closing(self) -> None:
        """Have the next `flush` write all that was found, also what ticks have moved since."""
        self.executor.note_profiles()

    def opened(self) -> None:
        """Take note of what the database shows when it has been opened."""
        self.kept, (self._looked, self.written) = self._run(), self._look()

    def _run(self) -> Shown:
        """Return in which forms queries run that have run, by lower-case name."""
        chosen, found = self._forms(), {}
        for name, compiled in self._compiled.items():
            mine = chosen.get(compiled.steps.name, {})
            one = (form for form in mine.get(True, (SINGLE,)) if compiled.steps.has(form))
            found[name] = *mine.get(False, (FIRST,)), *one
        return found

    # -- the tick of a query ----------------------------------------------------------------------

    def choose(self, query: Query, compiled: Compiled, single: bool, facts: Facts) -> Chosen:
        """Return what a tick of a query runs.

        Args:
            query: The query, before the tick.
            compiled: Its statements.
            single: Whether the tick has one instant.
            facts: What is known of it.
        """
        few = facts.elements is not None and facts.elements <= MAX_STAGED_ELEMENTS
        # to write a form takes longer than many a tick: for large ones that of the first is asked
        asked = Form(single, staged=True) if few else FIRST
        point, staged = None, facts.is_first
        has_stages = compiled.steps.staged.get(asked)
        if has_stages is None:
            has_stages = compiled.steps.has_stages(asked)
        started = time.perf_counter()
        if has_stages:
            point = Point(
                STAGES, query.name, None, points.sized(single, facts.elements, MAX_STAGED_ELEMENTS)
            )
            staged = self.executor.choose(point, facts, query.frontier) == STAGED
        ordered = self._sites.choose(query, compiled, facts) if compiled.ordered else ()
        is_due = self._turns.is_due(query.name)
        wants_steps = self.is_watched(query) or (
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
        orders, caches = _chosen((one.site, one.option) for one in ordered)
        chosen = Chosen(
            Form(single, staged, orders, caches),
            query.name, point if few else None, self.executor, facts, query.frontier, wants_steps,
            ordered, self.answers.most_instants(query, facts),
        )  # fmt: skip
        self._spend(chosen, query, time.perf_counter() - started)
        return chosen

    @property
    def reoptimizer(self) -> Reoptimizer:
        """What proposes options."""
        return self.executor.reoptimizer

    def _spend(self, chosen: Chosen, query: Query, seconds: float) -> None:
        """Note what choosing took, or counting."""
        self.budget.counting += seconds
        if chosen.wants_steps:
            self._turns.spend(query.name, query.weight, seconds)

    def saw(
        self, chosen: Chosen, query: Query, compiled: Compiled, ran: Ran, seconds: float
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
        steps = compiled.steps.written[chosen.form]
        avoidable = None
        seconds -= sum(profiled.seconds for profiled in ran.profiles) + ran.filling
        self.budget.looking += ran.filling
        if ran.steps:
            tick = MeasuredTick(chosen.facts.elements, steps, ran.steps)
            self.profiler.saw(chosen.query, chosen.form, tick)
        if chosen.asked:
            self._sites.saw(chosen.asked, steps, ran)
        if chosen.stages is not None:
            option = STAGED if chosen.form.staged else points.UNSTAGED
            if chosen.form.staged and ran.steps:
                avoidable = sum(
                    one.seconds
                    for step, one in zip(steps, ran.steps, strict=True)
                    if step.is_stage and not step.is_sure
                )
            self.executor.measured(chosen.stages, option, seconds, avoidable)
            self.reoptimizer.saw(chosen.stages, chosen.facts, option, seconds, None)
        if ran.rows or chosen.facts.elements:
            option = option_of(is_anew=query.is_anew)
            self.answers.saw(query, chosen.facts, option, seconds)
        took = time.perf_counter() - started
        self._spend(chosen, query, took)
        if chosen.wants_steps:
            self.budget.counted(took)

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
        self._sites.forget(query.name)
        self.kept = {name: forms for name, forms in self.kept.items() if name != query.name.lower()}

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
        if mine.small < mine.wanted or mine.readers or time.monotonic() < mine.quiet_from:
            return
        point = Point(THREADS, ticks=threads.sized(elements))
        option = self.executor.choose(point, Facts(elements))
        if option == ONE:
            mine.one()
        else:
            mine.give_back()
        if elements > SMALL_TICK_ELEMENTS:
            self._threads = point, option

    def exceeded(self, chosen: Chosen, error: LimitExceeded) -> None:
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
        elif seconds > one_thread.SLOW_QUERY_SECONDS:
            self._database.threads.was_long()

    def forget(self, owner: str, *, keeps_pins: bool = False) -> None:
        """Forget a query or stream that is dropped, or planned anew; inside a change.

        Args:
            owner: The query or stream.
            keeps_pins: Whether what a user wants of it stays.
        """
        self.executor.forget(owner, keeps_pins=keeps_pins)
        self._sites.forget(owner)
        self._turns.forget(owner)
        self.kept = {name: forms for name, forms in self.kept.items() if name != owner.lower()}

    # -- what people see and want -----------------------------------------------------------------

    def force(self, name: str, option: str | None, owner: str | None = None) -> None:
        """Have an option run from the next tick on, whatever was measured; inside a change.

        Args:
            name: The kind of point.
            option: The option; None lets go of what was wanted.
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
                example = f"{kind.example}, or several with commas, or it has"
            raise Error(
                f"the point {name} has no option {option}",
                hint=suggestion(str(option), kind.options, example),
            )
        self.executor.wish(name, owner, option)

    def forms(self, query: str) -> tuple[Form, ...]:
        """Return the forms that ticks of several instants run, and then those of one.

        Ticks of unlike sizes may run unlike ones; what was chosen last comes first.
        """
        found = self._forms().get(query, {})
        return *found.get(False, (FIRST,)), *found.get(True, (SINGLE,))

    def _forms(self) -> dict[str, dict[bool, tuple[Form, ...]]]:
        """Return these of all queries, where something was chosen."""
        found: dict[str, dict[bool, tuple[Form, ...]]] = {}
        last: dict[tuple[str, bool], int] = {}
        for point, choice in self.executor.kept.choices.items():
            if point.name == STAGES and point.owner is not None and point.ticks is not None:
                single = points.is_single(point.ticks)
                form = Form(single, choice.option == STAGED)
                mine = found.setdefault(point.owner, {})
                known = mine.get(single, ())
                if choice.since >= last.get((point.owner, single), 0):
                    last[point.owner, single] = choice.since
                    mine[single] = (form, *(one for one in known if one != form))
                elif form not in known:
                    mine[single] = (*known, form)
        for name, (orders, caches) in self._standing().items():
            mine = found.setdefault(name, {})
            for single, default in ((False, FIRST), (True, SINGLE)):
                forms = mine.get(single, (default,))
                mine[single] = tuple(replace(one, orders=orders, caches=caches) for one in forms)
        return found

    def _standing(self) -> dict[str, tuple[Orders, Caches]]:
        """Return the orders and caches that stand, of queries in which some is no default."""
        found: dict[str, list[tuple[Site, str]]] = {}
        for point, choice in self.executor.kept.choices.items():
            if point.owner is not None and point.operator is not None:
                compiled = self._compiled.get(point.owner.lower())
                if compiled is not None and not compiled.ordered:
                    # chosen for the other plan of a query that is answered anew
                    continue
                site = Site(point.name, point.operator, point.input)
                found.setdefault(point.owner, []).append((site, choice.option))
        # as the points of a plan are: by operator, and by input
        chosen = {
            name: _chosen(sorted(mine, key=lambda one: one[0].place))
            for name, mine in found.items()
        }
        return {name: mine for name, mine in chosen.items() if any(mine)}

    def notes(self, query: str) -> str:
        """Return in lines which option is in force at the points of a query."""
        kept = self.executor.kept
        return notes.notes(self._database, kept.choices, kept.changes, self._compiled, query)


def _chosen(options: Iterable[tuple[Site, str]]) -> tuple[Orders, Caches]:
    """Return the orders and the caches among the options of sites; the others are defaults."""
    orders: list[tuple[Site, Order]] = []
    caches: list[tuple[int, Caching]] = []
    for site, option in options:
        order, caching = order_of(option), caching_of_text(option)
        if order is not None:
            orders.append((site, order))
        if site.kind == CACHES and caching is not None:
            caches.append((site.operator, caching))
    return tuple(orders), tuple(caches)


def stored(database: Database, catalogue: Catalogue, query: Query, compiled: Compiled) -> int:
    """Return about how many rows a query's inputs and synopses have."""
    tables = [thing.table for thing in catalogue.inputs_of(query)]
    tables += [synopsis.name for synopsis in compiled.synopses]
    return listing.row_count(database, tables)
