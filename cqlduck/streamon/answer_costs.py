"""What ticks of a query take with either plan: kept up incrementally, or answered anew.

* Incrementally: what ticks of about as many elements took when that plan stood, in between linear
  in the elements.
* Anew: what was rehearsed (`state.rehearsal`), `fixed` + n · `each` at n instants of change, how
  many elements come. If ticks took more after a switch than was rehearsed, what is rehearsed later
  is multiplied by that; with each rehearsal less, as the inputs may have grown in between.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from cqlduck.rewrite.statements.refreshing import INCREMENTAL, RECOMPUTED
from cqlduck.state.rehearsal import Rehearsed
from cqlduck.streamon.decisions import size_class
from cqlduck.streamon.profiler import MEASURED_TICKS, Statistics

COMPILING_SECONDS = 0.03
"""What it is expected to take to compile the other plan."""

FILLS = 4.0
"""How many times as long as an answer it is expected to take to fill synopses, before it is known:
there may be several."""


@dataclass
class AnswerCosts:
    """What is known of the two plans of a query.

    Attributes:
        rehearsed: What was rehearsed last of ticks of one instant, and of several, with how many
            elements each had.
        going: What it took to go to an option last.
        factor: How many times longer ticks took than was rehearsed; at least 1.
    """

    rehearsed: dict[bool, tuple[int, Rehearsed]] = field(default_factory=dict)
    going: dict[str, float] = field(default_factory=dict)
    factor: float = 1.0
    _known: dict[int, tuple[int, Statistics]] = field(default_factory=dict)
    """By size of the tick how many elements it had, and what it took with each option."""
    _incremental: list[tuple[int, float]] | None = None
    """How many elements ticks had that took so long incrementally, in order; None if not asked."""

    def record(self, option: str, elements: int, seconds: float) -> Statistics:
        """Take note of a tick; return what is known of those of its size."""
        size = size_class(elements)
        before, known = self._known.get(size, (elements, Statistics()))
        known.record(option, seconds)
        self._known[size] = (before + elements) // 2, known
        if option == INCREMENTAL or elements != before:
            self._incremental = None
        return known

    def forget(self, option: str) -> None:
        """Forget what ticks took with an option: it was of other data."""
        self._incremental = None
        for _, known in self._known.values():
            known.seconds.pop(option, None)
            known.warm.discard(option)

    def learn(self, single: bool, elements: int, found: Rehearsed) -> None:
        """Take note of what was rehearsed behind a tick of one instant, or of several."""
        self.going.setdefault(RECOMPUTED, found.filling)
        self.rehearsed[single] = elements, found
        self.factor = math.sqrt(self.factor)

    def correct(self, taken: float, expected: float) -> None:
        """Take note that ticks take so long anew, where so much was expected."""
        self.factor = max(self.factor * taken / expected, 1.0)

    def expected(self, option: str, single: bool, elements: int) -> float | None:
        """Return what a tick is expected to take with an option, or None."""
        if option == INCREMENTAL:
            return self.incremental(elements)
        found = self.rehearsed.get(single)
        if found is None:
            return None
        of, one = found
        instants = 1.0 if single else max(one.instants * elements / max(of, 1), 1.0)
        return self.factor * (one.fixed + instants * one.each)

    def incremental(self, elements: int) -> float | None:
        """Return what a tick took when the query was kept up incrementally, or None."""
        if self._incremental is None:
            # asked in each tick of a query that is answered anew, in which it stays
            self._incremental = sorted(
                (of, seconds)
                for of, known in self._known.values()
                for seconds in [known.median(INCREMENTAL)]
                if seconds is not None
            )
        measured = self._incremental
        if not measured:
            return None
        below = [one for one in measured if one[0] <= elements]
        above = [one for one in measured if one[0] >= elements]
        if not below:
            return above[0][1]
        (few, low), (many, high) = below[-1], (above[0] if above else (0, 0.0))
        if not above:
            return low * elements / max(few, 1)
        return low + (high - low) * (elements - few) / max(many - few, 1)

    @property
    def longest(self) -> float:
        """What a tick took at most when the query was kept up incrementally; 0 if nothing is."""
        self.incremental(0)
        return max((seconds for _, seconds in self._incremental or ()), default=0.0)

    @property
    def each(self) -> float:
        """What an instant of change takes anew at most; 0 if that is not known."""
        known = [found for _, found in self.rehearsed.values()]
        return max((found.each or found.tick for found in known), default=0.0) * self.factor

    def switch(self, option: str) -> float:
        """Return what it takes to go to an option: as long as last time, else what is guessed."""
        if option in self.going:
            return self.going[option]
        one = max((found.tick for _, found in self.rehearsed.values()), default=COMPILING_SECONDS)
        return one if option == RECOMPUTED else FILLS * one

    def state(self) -> dict[str, Any]:
        """Return it as values that JSON has; all of it is bounded."""
        return {
            "rehearsed": [
                [single, of, asdict(found)] for single, (of, found) in self.rehearsed.items()
            ],
            "going": self.going,
            "known": [
                [size, of, {option: [*some] for option, some in known.seconds.items()}]
                for size, (of, known) in self._known.items()
            ],
            "factor": self.factor,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on with what was known before the database was closed; see `state`."""
        for single, of, found in state["rehearsed"]:
            self.rehearsed[bool(single)] = of, Rehearsed(**found)
        self.going, self.factor = dict(state["going"]), state["factor"]
        for size, of, options in state["known"]:
            known = Statistics()
            for option, seconds in options.items():
                known.seconds[option] = deque(seconds, maxlen=MEASURED_TICKS)
            self._known[size] = of, known
