"""The executor: puts options into force between ticks, and writes the choices with their reasons.

A rollback undoes the choices of its transaction: `mark` and `roll_back`. In a file `flush` writes
in the transaction, in memory before the database is read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from cqlduck.state import choices
from cqlduck.state.choices import DEFAULT, MEASURED, USER, Change, Choice, Point
from cqlduck.state.connection import Database
from cqlduck.streamon.points import KINDS, Facts
from cqlduck.streamon.profiler import Profiler
from cqlduck.streamon.reoptimizer import Reoptimizer
from cqlduck.streamon.tried import Proposal

Choices = Mapping[Point, Choice]

Mark = tuple[Choices, frozenset[Point], tuple[Change, ...]]
"""What is chosen, what of it is to be written, and what is to be logged."""

_FORCED = "a user wants it"


class Executor:
    """What is chosen.

    Args:
        database: The database.
        profiler: What was measured.
        reoptimizer: What proposes options.
        tick: Gives the number of the tick that runs.
    """

    def __init__(
        self,
        database: Database,
        profiler: Profiler,
        reoptimizer: Reoptimizer,
        tick: Callable[[], int],
    ) -> None:
        """Begin with what is stored."""
        self._database = database
        self._profiler = profiler
        self.reoptimizer = reoptimizer
        self._tick = tick
        self._choices: Choices = choices.load(database)
        self._unwritten: frozenset[Point] = frozenset()
        self._changes: tuple[Change, ...] = ()
        self._has_wishes = self._has_some()
        for point, choice in self._choices.items():
            if choice.chosen_by == MEASURED:
                profiler.remember(point, choice)

    # -- in transactions --------------------------------------------------------------------------

    def mark(self) -> Mark:
        """Return what is chosen now."""
        return self._choices, self._unwritten, self._changes

    def roll_back(self, mark: Mark) -> None:
        """Choose what was chosen then."""
        self._choices, self._unwritten, self._changes = mark
        self._has_wishes = self._has_some()

    @property
    def holds_some(self) -> bool:
        """Whether something is chosen that is not written."""
        return bool(self._unwritten or self._changes)

    def flush(self) -> None:
        """Write what has changed; inside a transaction."""
        if self._unwritten:
            found = {point: self._choices.get(point) for point in self._unwritten}
            choices.write(self._database, found)
        if self._changes:
            choices.log(self._database, self._changes)
        self._unwritten, self._changes = frozenset(), ()

    # -- choosing ---------------------------------------------------------------------------------

    @property
    def chosen(self) -> Choices:
        """What is chosen, by point."""
        return self._choices

    def choose(self, point: Point, facts: Facts, instant: int | None = None) -> str:
        """Return what the tick runs at a point; what it changes for good is in force from now on.

        Args:
            point: The point, to which the tick is about to come.
            facts: What is known of the tick.
            instant: The frontier before the tick, for the log.
        """
        standing = self._choices.get(point)
        if standing is None:
            option = self.reoptimizer.default(point, facts)
            standing = self._put(point, option, DEFAULT)
        if self._has_wishes:
            wish = self._wish(point)
            if wish is not None:
                if (wish, USER) != (standing.option, standing.chosen_by):
                    self._switch(point, Proposal(wish, reason=_FORCED), USER, instant)
                return wish
        known = self._profiler.statistics(point)
        proposal = self.reoptimizer.propose(point, standing.option, known, facts)
        if proposal is None:
            return standing.option
        if not proposal.is_trial:
            self._switch(point, proposal, MEASURED, instant)
        return proposal.option

    def standing(self, point: Point) -> str | None:
        """Return the option that stands at a point, whatever a trial ran; None before any tick."""
        found = self._choices.get(point)
        return None if found is None else found.option

    def _wish(self, point: Point) -> str | None:
        """Return what a user wants at a point, or None; what is said of one owner counts first."""
        for owner in (point.owner, None):
            found = self._choices.get(Point(point.name, owner, None, None))
            if found is not None:
                return found.option
        return None

    def _has_some(self) -> bool:
        """Return whether a user wants something."""
        return any(point.ticks is None for point in self._choices)

    def wish(self, name: str, owner: str | None, option: str | None) -> None:
        """Let a user want an option, or none any more.

        Args:
            name: The kind of point.
            owner: Whose points; None for all.
            option: The option.
        """
        point = Point(name, owner, None, None)
        if option is not None:
            self._put(point, option, USER)
        elif point in self._choices:
            self._choices = {p: c for p, c in self._choices.items() if p != point}
            self._unwritten |= {point}
        self._has_wishes = self._has_some()

    def _switch(
        self, point: Point, proposal: Proposal, chosen_by: str, instant: int | None
    ) -> None:
        before = self._choices[point].option
        self._put(point, proposal.option, chosen_by)
        if before != proposal.option:
            change = Change(
                self._tick(), instant, point, before, proposal.option, chosen_by, proposal.reason,
                (proposal.now, proposal.then),
            )  # fmt: skip
            self._changes += (change,)

    def _put(self, point: Point, option: str, chosen_by: str) -> Choice:
        options = KINDS[point.name].options
        known = self._profiler.statistics(point)
        seconds = tuple(known.median(one) for one in options)
        choice = Choice(option, options, chosen_by, self._tick(), seconds)
        self._choices = {**self._choices, point: choice}
        self._unwritten |= {point}
        return choice

    def forget(self, owner: str) -> None:
        """Forget a query or stream that is dropped, or planned anew; inside a change."""
        self._choices = {p: c for p, c in self._choices.items() if p.owner != owner}
        self._unwritten = frozenset(p for p in self._unwritten if p.owner != owner)
        self._changes = tuple(c for c in self._changes if c.point.owner != owner)
        self._profiler.forget(owner)
        self.reoptimizer.forget(owner)
        choices.forget(self._database, owner)
