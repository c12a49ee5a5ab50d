"""The policy of `filters`: the order of a selection's filters, by what a sample of tuples says.

The cost of an order follows (`orders`) from the drop masks of the last `WINDOW` tuples that were
sampled, the profile window of the thesis (4.3.1), and the time of each filter. The masks say how
often the filters drop the same tuples. When a tick is probed, and when another order is put into
force, is said by `modelled`.
"""

from __future__ import annotations

import statistics
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from cqlduck.rewrite.plan.orders import Order, order_name, order_of
from cqlduck.rewrite.statements.ordered import OrderedFilters
from cqlduck.state.probing import Found, Profiled
from cqlduck.streamon.confirming import CONFIRMING_TICKS
from cqlduck.streamon.decisions import Better, Costing, runs
from cqlduck.streamon.modelled import (
    LEAST_GAIN,
    WINDOW,
    Modelled,
)
from cqlduck.streamon.ordering import Rounds
from cqlduck.streamon.orders import Profile
from cqlduck.streamon.points import WRITTEN, Facts

TIMED_EVERY = 16
"""Every how many probes the filters are timed: their times change less than what they drop."""


@dataclass
class FilterOrder(Modelled):
    """The policy of the point `filters` of a selection.

    Attributes:
        window: The drop masks of the tuples that were profiled last.
        times: Of each filter the seconds for a tuple, as measured by the last probes.
    """

    window: deque[int] = field(default_factory=partial(deque, maxlen=WINDOW))
    times: list[deque[float]] = field(default_factory=list)
    _rounds: Rounds = field(default_factory=Rounds)

    def default(self, facts: Facts) -> str:
        """Return the option of a tick before anything is known of such ticks."""
        return WRITTEN

    @property
    def is_timed(self) -> bool:
        """Whether the next probe is to measure what each filter takes."""
        return not self.times or self.probes % TIMED_EVERY == 0

    def forget(self) -> None:
        """Forget the masks; what filters take stays."""
        self.window.clear()

    def learn(self, found: Found) -> bool:
        """Take note of what a probe has found; return whether an order can follow from it."""
        assert isinstance(found, Profiled)
        for mask, tuples in found.masks.items():
            self.window.extend([mask] * tuples)
        for place, seconds in enumerate(found.times or ()):
            if place == len(self.times):
                self.times.append(deque(maxlen=CONFIRMING_TICKS))
            self.times[place].append(seconds)
        return bool(self.window) and bool(self.times)

    @property
    def profile(self) -> Profile:
        """What is known of the filters."""
        return Profile(Counter(self.window), [statistics.median(known) for known in self.times])

    def drops(self) -> Sequence[float]:
        """Return which part of all tuples each filter drops; nothing if none is known."""
        return self.profile.drops() if self.window else ()

    def statistics(self) -> Sequence[float]:
        """Return which part of all tuples each filter drops, and of the time of all it takes."""
        times = self.profile.times
        return [*self.drops(), *(seconds / sum(times) for seconds in times)]

    def costing(self, facts: Facts) -> Costing:
        """Return what says the expected seconds for a tuple with an order."""
        about, profile = facts.about, self.profile

        def cost(option: str) -> float | None:
            if not isinstance(about, OrderedFilters) or len(about.names) != len(profile.times):
                return None
            return profile.cost(order_of(option) or about.default)

        return cost

    def better(self, now: str, taken: float | None, facts: Facts) -> Better | None:
        """Return another order, if the profile asks for one, and why."""
        profile, about = self.profile, facts.about
        if not isinstance(about, OrderedFilters) or len(about.names) != len(profile.times):
            return None
        before, algorithm = order_of(now) or about.default, facts.algorithm()
        after = self._rounds.ordered(profile, before, algorithm)
        saved = profile.cost(before) - profile.cost(after)
        if after == before or (taken is not None and saved < LEAST_GAIN * taken):
            self.gains_little = after != before
            return None
        option = WRITTEN if after == about.default else order_name(after)
        part = min(saved / taken, 1.0) if taken else None
        return Better(option, _evidence(profile, before, after, algorithm), part)

    def state(self) -> dict[str, Any]:
        """Return what was found, as values that JSON has."""
        mine = {"window": runs(self.window), "times": [[*known] for known in self.times]}
        return {**super().state(), **mine, "round": self._rounds.position}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on with what was found before the database was closed."""
        super().restore(state)
        for mask, tuples in state["window"]:
            self.window.extend([mask] * tuples)
        self.times = [deque(known, maxlen=CONFIRMING_TICKS) for known in state["times"]]
        self._rounds.position = state["round"]


def _evidence(profile: Profile, before: Order, after: Order, algorithm: str) -> str:
    """Return in words why one order is expected to be better than another."""
    drops = ", ".join(f"{100 * part:.0f} %" for part in profile.drops())
    times = ", ".join(f"{1e6 * seconds:.2f}" for seconds in profile.times)
    return (
        f"{algorithm}: of {profile.tuples} tuples the filters drop {drops}, and take {times} µs "
        f"for one; all take {1e6 * profile.cost(after):.2f} µs in this order, "
        f"{1e6 * profile.cost(before):.2f} before"
    )
