"""Policies of modelled options: when they are profiled, and how another one is put into force.

The cost of an order, or of a cache, is modelled from what probes find, so none has to run to be
known. An option runs only if it is expected to save enough of what the statements take that it
changes. It is then confirmed: if the next ticks take longer than the last ones with the old option,
that one comes back, and is not left for the same option until what was found has moved by `MOVED`.

In the paper each dropped tuple is profiled with probability p. Here a probe is a statement, which
costs a millisecond or more however few tuples there are; how often one runs is what the budget
limits. That the mix of tuples may have changed shows in what an element takes, which is counted
anyway: then the next probe comes earlier, and what is older than it is forgotten. What an element
takes depends on the size of the tick too, so only ticks of similar size are compared.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from cqlduck.state.probing import Found, Wanted
from cqlduck.streamon.budget import Budget
from cqlduck.streamon.points import Facts
from cqlduck.streamon.policy import Policy
from cqlduck.streamon.profiler import Statistics
from cqlduck.streamon.trials import Proposal

WINDOW = 1000
"""How many tuples the profile window has (table 4.1)."""

EXPECTED_SECONDS = 0.01
"""What the first probe is expected to take."""

FIRST_PROBES, FIRST_BUDGETS = 2, 5.0
"""For how many probes, which fill the profile window, the budget is so many times as large.

Of a join whose pipelines are profiled in turn, it is at least one of each.
"""

CHANGED = 1.2
"""By which factor what an element takes has to change to suggest that the mix has."""

EARLY_BUDGETS = 3.0
"""How many times the budget may be spent, all in all, if the mix seems to have changed."""

LEAST_GAIN = 0.05
"""Which part of the time of its statements an order has to save to be tried."""

CONFIRMING_TICKS = 3
"""How many ticks with a new order are compared with the last ones before."""

TOLERANCE = 1.05
"""How many times longer these may take."""

MOVED = 0.2
"""By how much of all tuples a drop rate has to move for a refused order to be considered again."""


@dataclass(frozen=True)
class _Switch:
    """An option that runs and is not yet confirmed.

    Attributes:
        before: The option before.
        seconds: What an element took with it, if that is known from enough ticks.
        after: The option since.
        size: Of which size the ticks are.
    """

    before: str
    seconds: float | None
    after: str
    size: int


@dataclass
class Modelled(Policy):
    """The policy of a point whose options are modelled.

    Attributes:
        budget: What probes may cost.
        probes: How many probes have run.
        is_due: Whether something was found since another option was looked for.
    """

    least_elements: ClassVar[int] = 256
    """Of how many elements a tick has to be to be probed."""

    budget: Budget
    probes: int = 0
    is_due: bool = False
    _took: dict[bool, float] = field(default_factory=dict)
    _known: dict[int, Statistics] = field(default_factory=dict)
    _usual: dict[int, float] = field(default_factory=dict)
    _is_early: bool = False
    _switch: _Switch | None = None
    _refused: dict[str, Sequence[float]] = field(default_factory=dict)

    # -- what a kind of options says ---------------------------------------------------------------

    @property
    def is_timed(self) -> bool:
        """Whether the next probe is to measure seconds, which takes longer."""
        return False

    @property
    def first_probes(self) -> int:
        """How many probes are needed before something is known, for which the budget is larger."""
        return FIRST_PROBES

    @property
    def waits(self) -> bool:
        """Whether it waits for what the next tick takes, to choose or to confirm."""
        return self.is_due or self._switch is not None

    @abstractmethod
    def forget(self) -> None:
        """Forget what older probes have found."""

    @abstractmethod
    def learn(self, found: Found) -> bool:
        """Take note of what a probe has found; return whether an option can follow from it."""

    @abstractmethod
    def drops(self) -> Sequence[float]:
        """Return of all tuples which part each filter or input drops."""

    @abstractmethod
    def better(self, now: str, taken: float | None, facts: Facts) -> tuple[str, str] | None:
        """Return an option that is better by enough, and why, or None.

        Args:
            now: The option that stands.
            taken: What an element takes with it, if that is known.
            facts: What is known of the tick.
        """

    # -- profiling --------------------------------------------------------------------------------

    def _of(self, elements: int) -> Statistics:
        """Return what is known of ticks of a size, by option: seconds for an element."""
        return self._known.setdefault(_size(elements), Statistics())

    def wants(self, facts: Facts, now: str) -> Wanted | None:
        """Return what the tick is to profile, within the budget."""
        if facts.elements is None or facts.elements < self.least_elements:
            return None
        if facts.about is None:
            return None
        seconds = self._took.get(self.is_timed, EXPECTED_SECONDS)
        first = self.probes < self.first_probes
        has_changed = not first and self._has_changed(facts.elements, now)
        times = FIRST_BUDGETS if first else EARLY_BUDGETS if has_changed else 1.0
        if not self.budget.affords(seconds, times):
            return None
        self._is_early = has_changed
        return Wanted(facts.about, self.is_timed)

    def _has_changed(self, elements: int, now: str) -> bool:
        """Return whether an element takes more or less than it did when the option was chosen."""
        known = self._of(elements)
        if known.runs(now) < CONFIRMING_TICKS:
            return False
        taken = known.median(now) or 0.0
        usual = self._usual.setdefault(_size(elements), taken)
        return not usual / CHANGED <= taken <= CHANGED * usual

    def saw(self, facts: Facts, option: str, seconds: float | None, found: Found | None) -> None:
        """Take note of a tick, and of what its probe has found."""
        if found is not None:
            self.budget.looking += found.seconds
            self._took[self.is_timed] = found.seconds
            if self._is_early:
                self.forget()
                self._usual.clear()
            self.probes += 1
            self.is_due = self.learn(found)
        if seconds and facts.elements:
            self._of(facts.elements).record(option, seconds / facts.elements)

    # -- proposing --------------------------------------------------------------------------------

    def propose(self, now: str, known: Statistics, facts: Facts) -> Proposal | None:
        """Return what the next tick is to run in place of what stands, or None."""
        if facts.elements is None or not (self.is_due or self._switch is not None):
            return None
        mine, size = self._of(facts.elements), _size(facts.elements)
        if self._switch is not None and self._switch.after == now:
            if self._switch.size != size or mine.runs(now) < CONFIRMING_TICKS:
                return None
            switch, self._switch = self._switch, None
            taken = mine.median(now)
            if taken and switch.seconds and taken > TOLERANCE * switch.seconds:
                self._refused[now] = self.drops()
                self._usual.clear()
                return Proposal(switch.before, False, _erred(switch, taken), taken, switch.seconds)
        if not self.is_due:
            return None
        self.is_due = False
        found = self.better(now, mine.median(now), facts)
        if found is None or self._is_refused(found[0]):
            return None
        option, why = found
        steady = mine.median(now) if mine.runs(now) >= CONFIRMING_TICKS else None
        self._switch = _Switch(now, steady, option, size)
        self._usual.clear()
        # what was measured of it before was of other data
        for other in self._known.values():
            other.seconds.pop(option, None)
        return Proposal(option, False, why)

    def _is_refused(self, option: str) -> bool:
        then = self._refused.get(option)
        if then is None:
            return False
        if max(abs(a - b) for a, b in zip(then, self.drops(), strict=True)) <= MOVED:
            return True
        del self._refused[option]
        return False


def _size(elements: int) -> int:
    """Return the size of a tick: those within a factor of four are alike."""
    return elements.bit_length() // 2


def _erred(switch: _Switch, taken: float) -> str:
    return (
        f"the model erred: an element took {1e6 * taken:.2f} µs with it, "
        f"{1e6 * (switch.seconds or 0):.2f} before"
    )
