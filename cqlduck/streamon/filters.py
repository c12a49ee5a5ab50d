"""The policy of `filters`: the order of a selection's filters, by what a sample of tuples says.

The cost of an order is modelled (`orders`): from the drop masks of the last `WINDOW` tuples that
were sampled, the profile window of the thesis (4.3.1), and the time of each filter. The masks say
how often the filters drop the same tuples, so no order has to run to be known. An order runs only
if it is expected to save `LEAST_GAIN` of what the statements with the filters take. It is then
confirmed: if the next ticks take longer than the last ones with the old order, that one comes back,
and is not left for the same order until drop rates have moved by `MOVED`.

In the paper each dropped tuple is profiled with probability p. Here a probe is a statement, which
costs a millisecond or more however few tuples there are; how often one runs is what the budget
limits. That the mix of tuples may have changed shows in what an element takes, which is counted
anyway: then the next probe comes earlier, and what is older than it is forgotten. What an element
takes depends on the size of the tick too, so only ticks of similar size are compared.
"""

from __future__ import annotations

import statistics
from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

from cqlduck.rewrite.plan.filters import Order
from cqlduck.state.probing import Profiled
from cqlduck.streamon import orders
from cqlduck.streamon.budget import Budget
from cqlduck.streamon.orders import Profile
from cqlduck.streamon.points import (
    A_GREEDY,
    INDEPENDENT,
    LOCAL_SWAPS,
    OPTIMUM,
    SWEEP,
    WRITTEN,
    Facts,
    order_name,
    order_of,
)
from cqlduck.streamon.profiler import Statistics
from cqlduck.streamon.trials import Proposal

WINDOW = 1000
"""How many tuples the profile window has (table 4.1)."""

LEAST_ELEMENTS = 256
"""Of how many elements a tick has to be to be probed."""

EXPECTED_SECONDS = 0.01
"""What the first probe is expected to take."""

FIRST_PROBES, FIRST_BUDGETS = 2, 5.0
"""For how many probes, which fill the profile window, the budget is so many times as large."""

TIMED_EVERY = 16
"""Every how many probes the filters are timed: their times change less than what they drop."""

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

ALGORITHMS: Mapping[str, Callable[[Profile, Order], Order]] = {
    OPTIMUM: orders.optimum,
    A_GREEDY: orders.greedy,
    INDEPENDENT: orders.independent,
    LOCAL_SWAPS: orders.local_swaps,
}
"""How an order follows from a profile and the order before; `SWEEP` also has a position."""


@dataclass(frozen=True)
class _Switch:
    """An order that runs and is not yet confirmed.

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
class FilterOrder:
    """The policy of the point `filters` of a selection.

    Attributes:
        budget: What probes may cost.
        window: The drop masks of the tuples that were profiled last.
        times: Of each filter the seconds for a tuple, as measured by the last probes.
        probes: How many probes have run.
    """

    budget: Budget
    window: deque[int] = field(default_factory=partial(deque, maxlen=WINDOW))
    times: list[deque[float]] = field(default_factory=list)
    probes: int = 0
    _took: dict[bool, float] = field(default_factory=dict)
    _known: dict[int, Statistics] = field(default_factory=dict)
    _usual: dict[int, float] = field(default_factory=dict)
    _is_early: bool = False
    _has_news: bool = False
    _stage: int = 0
    _switch: _Switch | None = None
    _refused: dict[str, list[float]] = field(default_factory=dict)

    def default(self, facts: Facts) -> str:
        """Return the option of a tick before anything is known of such ticks."""
        return WRITTEN

    # -- profiling ----------------------------------------------------------------------------

    def ran(self, option: str, seconds: float, elements: int) -> None:
        """Take note of a tick.

        Args:
            option: What ran.
            seconds: How long the statements with the filters took.
            elements: How many elements came.
        """
        self._of(elements).record(option, seconds / elements)

    def _of(self, elements: int) -> Statistics:
        """Return what is known of ticks of a size, by option: seconds for an element."""
        return self._known.setdefault(_size(elements), Statistics())

    def wants_probe(self, facts: Facts, now: str) -> bool:
        """Return whether the next tick is to be probed, and what that takes is affordable.

        Args:
            facts: What is known of the tick.
            now: The option that stands.
        """
        if facts.elements is None or facts.elements < LEAST_ELEMENTS:
            return False
        seconds = self._took.get(self.is_timed, EXPECTED_SECONDS)
        first = self.probes < FIRST_PROBES
        has_changed = not first and self._has_changed(facts.elements, now)
        times = FIRST_BUDGETS if first else EARLY_BUDGETS if has_changed else 1.0
        wanted = self.budget.affords(seconds, times)
        self._is_early = wanted and has_changed
        return wanted

    def _has_changed(self, elements: int, now: str) -> bool:
        """Return whether an element takes more or less than it did when the order was chosen."""
        known = self._of(elements)
        if known.runs(now) < CONFIRMING_TICKS:
            return False
        taken = known.median(now) or 0.0
        usual = self._usual.setdefault(_size(elements), taken)
        return not usual / CHANGED <= taken <= CHANGED * usual

    @property
    def is_timed(self) -> bool:
        """Whether the next probe is to measure what each filter takes."""
        return not self.times or self.probes % TIMED_EVERY == 0

    def saw(self, profiled: Profiled) -> None:
        """Take note of what a probe has found."""
        self.budget.looking += profiled.seconds
        self._took[self.is_timed] = profiled.seconds
        if self._is_early:
            self.window.clear()
            self._usual.clear()
        self.probes += 1
        for mask, tuples in profiled.masks.items():
            self.window.extend([mask] * tuples)
        for place, seconds in enumerate(profiled.times or ()):
            if place == len(self.times):
                self.times.append(deque(maxlen=CONFIRMING_TICKS))
            self.times[place].append(seconds)
        self._has_news = bool(self.window) and bool(self.times)

    @property
    def profile(self) -> Profile:
        """What is known of the filters."""
        return Profile(Counter(self.window), [statistics.median(known) for known in self.times])

    # -- proposing ----------------------------------------------------------------------------

    @property
    def is_due(self) -> bool:
        """Whether there may be something to propose."""
        return self._has_news or self._switch is not None

    def propose(self, now: str, known: Statistics, facts: Facts) -> Proposal | None:
        """Return what the next tick is to run in place of what stands, or None."""
        if facts.elements is None:
            return None
        mine = self._of(facts.elements)
        if self._switch is not None and self._switch.after == now:
            if self._switch.size != _size(facts.elements) or mine.runs(now) < CONFIRMING_TICKS:
                return None
            switch, self._switch = self._switch, None
            taken = mine.median(now)
            if taken and switch.seconds and taken > TOLERANCE * switch.seconds:
                self._refused[now] = _drops(self.profile)
                self._usual.clear()
                return Proposal(switch.before, False, _erred(switch, taken), taken, switch.seconds)
        if not self._has_news:
            return None
        self._has_news = False
        return self._reordered(now, mine, facts, _size(facts.elements))

    def _reordered(self, now: str, known: Statistics, facts: Facts, size: int) -> Proposal | None:
        """Return another order, if the profile asks for one."""
        profile = self.profile
        before = order_of(now) or tuple(range(facts.filters))
        if len(before) != len(profile.times):
            return None
        algorithm = facts.algorithm()
        after = self._next(profile, before, algorithm)
        option = WRITTEN if after == tuple(range(facts.filters)) else order_name(after)
        if after == before or self._is_refused(option, profile):
            return None
        taken, saved = known.median(now), profile.cost(before) - profile.cost(after)
        if taken is not None and saved < LEAST_GAIN * taken:
            return None
        steady = taken if known.runs(now) >= CONFIRMING_TICKS else None
        self._switch = _Switch(now, steady, option, size)
        self._usual.clear()
        # what was measured of it before was of other data
        for other in self._known.values():
            other.seconds.pop(option, None)
        return Proposal(option, False, _evidence(profile, before, after, algorithm))

    def _next(self, profile: Profile, before: Order, algorithm: str) -> Order:
        if algorithm != SWEEP:
            return ALGORITHMS[algorithm](profile, before)
        # a stage of Sweep is a probe
        self._stage = self._stage % (len(before) - 1) + 1
        return orders.sweep(profile, before, self._stage)

    def _is_refused(self, option: str, profile: Profile) -> bool:
        then = self._refused.get(option)
        if then is None:
            return False
        if max(abs(a - b) for a, b in zip(then, _drops(profile), strict=True)) <= MOVED:
            return True
        del self._refused[option]
        return False


def _size(elements: int) -> int:
    """Return the size of a tick: those within a factor of four are alike."""
    return elements.bit_length() // 2


def _drops(profile: Profile) -> list[float]:
    """Return which part of all tuples each filter drops."""
    row = profile.row(tuple(range(len(profile.times))), 0)
    return [count / profile.tuples for count in row]


def _evidence(profile: Profile, before: Order, after: Order, algorithm: str) -> str:
    """Return in words why one order is expected to be better than another."""
    drops = ", ".join(f"{100 * part:.0f} %" for part in _drops(profile))
    times = ", ".join(f"{1e6 * seconds:.2f}" for seconds in profile.times)
    return (
        f"{algorithm}: of {profile.tuples} tuples the filters drop {drops}, and take {times} µs "
        f"for one; all take {1e6 * profile.cost(after):.2f} µs in this order, "
        f"{1e6 * profile.cost(before):.2f} before"
    )


def _erred(switch: _Switch, taken: float) -> str:
    return (
        f"the model erred: an element took {1e6 * taken:.2f} µs in this order, "
        f"{1e6 * (switch.seconds or 0):.2f} before"
    )
