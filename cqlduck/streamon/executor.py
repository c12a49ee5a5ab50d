"""The executor: puts options into force between ticks, and writes the choices with their reasons.

What it chooses in a transaction that is undone is undone too. In a file
`flush` writes in the transaction, in memory when somebody is about to look.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Set
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from cqlduck.rewrite.text.time import Instant
from cqlduck.state import accounts, choices, observations
from cqlduck.state.choices import DEFAULT, MEASURED, USER, Change, Choice, Point
from cqlduck.state.connection import Database
from cqlduck.state.probing import Found
from cqlduck.state.rehearsal import Rehearsed
from cqlduck.streamon.ledger import Ledger
from cqlduck.streamon.points import ANSWER, KINDS, Facts, suited
from cqlduck.streamon.profiler import Profiler
from cqlduck.streamon.proposals import Proposal
from cqlduck.streamon.regions import MAX_REMEMBERED
from cqlduck.streamon.reoptimizer import Reoptimizer

Choices = Mapping[Point, Choice]


@dataclass(frozen=True)
class ExecutorState:
    """What is chosen, as a value.

    Attributes:
        choices: What is chosen, by point.
        unwritten: The points of which the database has something else, or nothing.
        changes: What is still to be logged.
        has_news: Whether some of what is unwritten is no default: that is written with its tick. A
            default is chosen again if the process ends before somebody looks.
        profiled: The points of which more was found than the database has.
    """

    choices: Choices = field(default_factory=dict)
    unwritten: frozenset[Point] = frozenset()
    changes: tuple[Change, ...] = ()
    has_news: bool = False
    profiled: frozenset[Point] = frozenset()


_PINNED = "a user wants it"
_UNPINNED = "no user wants an option any more"
_FIXED = "the setting adaptive is off"


class Executor:
    """What is chosen.

    Args:
        database: The database.
        profiler: What was measured.
        reoptimizer: What proposes options.
        adapts: Whether proposals count; if not, default options run, and pinned ones.
    """

    def __init__(
        self,
        database: Database,
        profiler: Profiler,
        reoptimizer: Reoptimizer,
        *,
        adapts: bool = True,
    ) -> None:
        """Begin with what is stored."""
        self._database = database
        self.profiler = profiler
        self.reoptimizer = reoptimizer
        self.adapts = adapts
        self.ledger = Ledger(database)
        self.barred: Set[tuple[Point, str]] = frozenset()
        """What was taken back because a tick with it was undone, until one has run without."""
        self.recall()
        self.kept = ExecutorState(choices.load(database))
        self._has_pins = self._has_any_pin()
        for point, choice in self.kept.choices.items():
            if choice.chosen_by == MEASURED:
                profiler.remember(point, choice)
        database.participants.append(self)

    # -- in transactions --------------------------------------------------------------------------

    def recall(self) -> None:
        """Have the re-optimizer go on with what the database has of its policies."""
        self.reoptimizer.remember(
            accounts.load_profiles(self._database),
            observations.load(self._database, MAX_REMEMBERED),
        )

    @property
    def number(self) -> int:
        """The number of the tick that runs, or of the next one."""
        return self.ledger.number

    @number.setter
    def number(self, number: int) -> None:
        self.ledger.number = number

    def roll_back(self, kept: ExecutorState) -> None:
        """Choose what was chosen then; what policies have found in the meantime stays found."""
        self.kept = replace(kept, profiled=kept.profiled | self.kept.profiled)
        self._has_pins = self._has_any_pin()

    @property
    def holds_some(self) -> bool:
        """Whether something is chosen, or was found, that is not written."""
        kept = self.kept
        return bool(kept.unwritten or kept.changes or kept.profiled) or self.ledger.holds_some

    @property
    def has_news(self) -> bool:
        """Whether some of that is to be written with the tick."""
        return self.kept.has_news or self.ledger.kept.has_news

    def flush(self) -> None:
        """Write what has changed; inside a transaction."""
        kept = self.kept
        if kept.unwritten:
            found = {point: kept.choices.get(point) for point in kept.unwritten}
            choices.write(self._database, found)
        if kept.changes:
            choices.log(self._database, kept.changes)
        started, has_news = time.perf_counter(), self.has_news
        known = {point: self.reoptimizer.profile(point) for point in kept.profiled}
        profiles = {point: text for point, text in known.items() if text is not None}
        accounts.write_profiles(self._database, self.number, profiles)
        self.ledger.flush()
        if has_news:
            self.profiler.budget.looking += time.perf_counter() - started
        self.kept = ExecutorState(kept.choices)

    # -- what ticks have taken --------------------------------------------------------------------

    def saw(
        self, point: Point, facts: Facts, option: str, seconds: float | None, found: Found | None
    ) -> None:
        """Take note of a tick at a point where an order or caches are chosen.

        Args:
            point: The point.
            facts: What was known of the tick.
            option: What ran.
            seconds: What its statements took, or None if that was not counted.
            found: What was found by what was wanted.
        """
        if seconds and facts.elements:
            self.profiler.statistics(point).record(option, seconds / facts.elements)
        self.reoptimizer.saw(point, facts, option, seconds, found)
        if facts.elements:
            self.ledger.ran(point, facts.elements)
        if found is not None:
            self.ledger.probed(point, found.seconds)
            self._profile(point)

    def told(self, point: Point, facts: Facts, option: str, found: Found) -> None:
        """Take note of what a probe has found on behalf of another point."""
        self.reoptimizer.saw(point, facts, option, None, found)
        self._profile(point)

    def measured(
        self,
        point: Point,
        option: str,
        seconds: float,
        avoidable: float | None = None,
        idle: float | None = None,
        ticks: int = 1,
    ) -> None:
        """Take note of a tick at a point whose options are tried.

        Args:
            point: The point.
            option: What ran.
            seconds: How long the tick took.
            avoidable: How much of that another option may save at most, or None if nobody knows.
            idle: How much of that pipelines took which found nothing, or None if nobody knows.
            ticks: For how many ticks it stands.
        """
        known, standing = self.profiler.statistics(point), self.standing(point)
        usual = None if standing is None else known.median(standing)
        known.record(option, seconds, avoidable, idle)
        if option == standing:
            self.ledger.ran(point, ticks)
        else:
            self.ledger.trial(point, seconds - (usual or seconds))

    def answered(self, query: str, facts: Facts, option: str, seconds: float) -> None:
        """Take note of a tick of a query that was answered incrementally, or anew.

        Args:
            query: The query.
            facts: What was known of the tick.
            option: Which of these.
            seconds: How long it took.
        """
        point = Point(ANSWER, query)
        self.reoptimizer.saw(point, facts, option, seconds, None)
        self.reoptimizer.answered(query)
        self.ledger.ran(point, facts.ticks)

    def rehearsed(self, query: str, facts: Facts, found: Rehearsed) -> None:
        """Take note of what a tick of a query would have taken by its other plan."""
        point = Point(ANSWER, query)
        self.reoptimizer.answering(query).learn(facts, found)
        self.reoptimizer.answered(query)
        self.ledger.probed(point, found.seconds)
        self._profile(point)

    def note_profiles(self) -> None:
        """Have what was found of all points be written with the next `flush`."""
        self.kept = replace(self.kept, profiled=frozenset(self.reoptimizer.profiled()))

    def _profile(self, point: Point) -> None:
        self.kept = replace(self.kept, profiled=self.kept.profiled | {point})

    # -- choosing ---------------------------------------------------------------------------------

    def choose(self, point: Point, facts: Facts, instant: Instant | None = None) -> str:
        """Return what the tick runs at a point; what it changes for good is in force from now on.

        Args:
            point: The point, to which the tick is about to come.
            facts: What is known of the tick.
            instant: The frontier before the tick, for the log.
        """
        standing = self.kept.choices.get(point)
        if standing is None:
            standing = self._put(point, self.reoptimizer.default(point, facts), DEFAULT)
        if self._has_pins:
            pin = self._pin_at(point, facts)
            if pin is not None:
                if pin != standing.option and facts.refuses():
                    return standing.option
                if (pin, USER) != (standing.option, standing.chosen_by):
                    self._switch(point, Proposal(pin, reason=_PINNED), USER, instant)
                return pin
        if standing.chosen_by == USER or not self.adapts:
            default = self.reoptimizer.default(point, facts)
            if default != standing.option and facts.refuses():
                return standing.option
            if (default, DEFAULT) != (standing.option, standing.chosen_by):
                why = _FIXED if not self.adapts else _UNPINNED
                self._switch(point, Proposal(default, reason=why), DEFAULT, instant)
            return default
        known = self.profiler.statistics(point)
        proposal = self.reoptimizer.propose(point, standing.option, known, facts)
        for seen in self.reoptimizer.decided(point):
            self.ledger.note(point, seen, instant)
            self._profile(point)
        if proposal is None or (point, proposal.option) in self.barred:
            return standing.option
        if proposal.option != standing.option and facts.refuses():
            return standing.option
        if not proposal.is_trial:
            self._switch(point, proposal, MEASURED, instant)
        return proposal.option

    def standing(self, point: Point) -> str | None:
        """Return the option that stands at a point, whatever a trial ran; None before any tick."""
        found = self.kept.choices.get(point)
        return None if found is None else found.option

    def is_pinned(self, point: Point) -> bool:
        """Return whether a user has pinned a point to an option."""
        if not self._has_pins:
            return False
        pins = (Point(point.name, owner, None, None) for owner in (point.owner, None))
        return any(pin in self.kept.choices for pin in pins)

    def give_up(self, point: Point, option: str, reason: str, instant: Instant | None) -> None:
        """Take an option back because of which a tick was undone, and log that; inside a change.

        Args:
            point: The point.
            option: The option, which may stand already, or was chosen in the tick.
            reason: Why.
            instant: The frontier before the tick.
        """
        self.reoptimizer.refuse(point, option)
        self.barred = {*self.barred, (point, option)}
        before = self.standing(point) or KINDS[point.name].options[0]
        if before == option:
            before = KINDS[point.name].options[0]
        else:
            self._switch(point, Proposal(option, reason="expected to save"), MEASURED, instant)
        self._switch(point, Proposal(before, reason=reason, returns=True), MEASURED, instant)

    def _pin_at(self, point: Point, facts: Facts) -> str | None:
        """Return the option to which a point is pinned, or None; pins of its owner count first."""
        for owner in (point.owner, None):
            found = self.kept.choices.get(Point(point.name, owner, None, None))
            if found is not None:
                return suited(found.option, facts.about)
        return None

    def _has_any_pin(self) -> bool:
        """Return whether a user has pinned anything."""
        return any(point.ticks is None for point in self.kept.choices)

    def pinned(self, name: str) -> set[str | None]:
        """Return the owners of whose points of a kind one is pinned; None for all."""
        if not self._has_pins:
            return set()
        known = self.kept.choices
        return {point.owner for point in known if point.ticks is None and point.name == name}

    def pins_of(self, owner: str) -> dict[str, str]:
        """Return the options to which points of an owner are pinned, by the kind of point."""
        known = self.kept.choices
        mine = [point for point in known if point.ticks is None and point.owner == owner]
        return {point.name: known[point].option for point in mine}

    def pin(self, name: str, owner: str | None, option: str | None) -> None:
        """Pin points to an option, or to none any more; inside a change.

        Args:
            name: The kind of point.
            owner: Whose points; None for all.
            option: The option; None removes the pin.
        """
        point = Point(name, owner, None, None)
        if option is not None:
            self._put(point, option, USER)
        elif point in self.kept.choices:
            left = {p: c for p, c in self.kept.choices.items() if p != point}
            unwritten = self.kept.unwritten | {point}
            self.kept = replace(self.kept, choices=left, unwritten=unwritten, has_news=True)
        self._has_pins = self._has_any_pin()

    def let_go(self, point: Point, option: str, reason: str, instant: Instant | None) -> None:
        """Log that a pin cannot be had any more; inside a change.

        Args:
            point: The point, for which its default option runs from now on.
            option: The option that was wanted.
            reason: Why not.
            instant: The frontier.
        """
        self._put(point, option, USER)
        default = KINDS[point.name].options[0]
        self._switch(point, Proposal(default, reason=reason), DEFAULT, instant)

    def _switch(
        self, point: Point, proposal: Proposal, chosen_by: str, instant: Instant | None
    ) -> None:
        before = self.kept.choices[point].option
        measured = {before: proposal.now, proposal.option: proposal.then}
        self._put(point, proposal.option, chosen_by, measured)
        if before == proposal.option:
            return
        if chosen_by == MEASURED:
            saved = None
            if proposal.now is not None and proposal.then is not None and not proposal.returns:
                saved = proposal.now - proposal.then
            self.ledger.switched(point, proposal.expected, saved, returns=proposal.returns)
        else:
            self.ledger.ended(point)
        change = Change(
            self.number, instant, point, before, proposal.option, chosen_by, proposal.reason,
            (proposal.now, proposal.then),
        )  # fmt: skip
        self.kept = replace(self.kept, changes=(*self.kept.changes, change))

    def _put(
        self,
        point: Point,
        option: str,
        chosen_by: str,
        measured: Mapping[str, float | None] = MappingProxyType({}),
    ) -> Choice:
        """Have an option stand.

        Args:
            point: The point.
            option: The option.
            chosen_by: Who has chosen it.
            measured: What the choice says that options take; of others their last ticks say it.
        """
        standing = self.kept.choices.get(point)
        options = KINDS[point.name].options
        # of a point with orders the one before and the new one are all that is known
        others = [option] if standing is None else [standing.option, option]
        options = tuple(dict.fromkeys((*options, *others)))
        known = self.profiler.statistics(point)
        seconds = tuple(
            known.median(one) if measured.get(one) is None else measured[one] for one in options
        )
        choice = Choice(option, options, chosen_by, self.number, seconds)
        kept = self.kept
        found = {**kept.choices, point: choice}
        has_news = kept.has_news or chosen_by != DEFAULT
        unwritten = kept.unwritten | {point}
        self.kept = replace(kept, choices=found, unwritten=unwritten, has_news=has_news)
        return choice

    def forget(self, owner: str, *, keeps_pins: bool = False) -> None:
        """Forget a query or stream that is dropped, or planned anew; inside a change.

        Args:
            owner: The query or stream.
            keeps_pins: Whether its pins stay.
        """

        def stays(point: Point) -> bool:
            return point.owner != owner or (keeps_pins and point.ticks is None)

        kept = self.kept
        self.kept = ExecutorState(
            {p: c for p, c in kept.choices.items() if stays(p)},
            frozenset(p for p in kept.unwritten if stays(p)),
            tuple(c for c in kept.changes if c.point.owner != owner),
            kept.has_news,
            frozenset(p for p in kept.profiled if p.owner != owner),
        )
        self.ledger.forget(owner)
        self.profiler.forget(owner)
        self.reoptimizer.forget(owner)
        self._has_pins = self._has_any_pin()
        choices.forget(self._database, owner, keeps_pins=keeps_pins)
