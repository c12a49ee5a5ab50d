"""Regions: where in the space of statistics an option has won (plan logging, thesis section 7.1).

Each decision at a point is an observation ⟨S, P⟩: under statistics S option P was picked. From the
last of them follows

* a **region**: near S, within `NEAR` in each statistic, one option has won `LEAST_WINS` times and
  no other one at all. Then it is picked there without a search;
* which statistics **matter**: those that were in different ranges under different options. What
  merely flickers overlaps, and does not count for what is near;
* whether a switch is likely to be **transient**: options that were left again within
  `TRANSIENT_TICKS`. Then another one has to be found several times in a row before it runs;
* how **rare** probes may be: at a point where no statistics have ever led to another option, ever
  rarer.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from cqlduck.state.observations import RETURNED, Observation

MAX_REMEMBERED = 64
"""How many of the last observations of a point say what is known."""

NEAR = 0.1
"""By how much a statistic may differ; they are about 0 to 1."""

LEAST_WINS = 3
"""How often an option has to have won near some statistics to be picked there at once."""

TRANSIENT_TICKS = 16
"""An option that is left again after fewer ticks came for a transient change."""

REMEMBERED_STAYS, MAX_REPEATED = 8, 4
"""Of how many options it is known how long they stood; how often one has to be found at most."""

STEADY_DECISIONS, MAX_RARITY = 16, 8
"""After how many decisions without a switch ever probes become rarer, and how rare at most."""


@dataclass
class Regions:
    """What is known of the decisions at a point.

    Attributes:
        seen: The last observations, in their order.
        stays: How many ticks the last options stood that were left for another.
    """

    seen: deque[Observation] = field(default_factory=partial(deque, maxlen=MAX_REMEMBERED))
    stays: deque[int] = field(default_factory=partial(deque, maxlen=REMEMBERED_STAYS))

    def known(self, statistics: Sequence[float]) -> tuple[str, int] | None:
        """Return the option whose region some statistics are in, and how often it has won there.

        None if they are in none.
        """
        matter = self.matter()
        wins: dict[str, int] = {}
        for one in self.seen:
            if self._is_near(one.statistics, statistics, matter):
                if one.outcome == RETURNED:
                    return None
                if not one.has_won:
                    continue
                wins[one.option] = wins.get(one.option, 0) + 1
        if len(wins) != 1:
            return None
        ((option, count),) = wins.items()
        return (option, count) if count >= LEAST_WINS else None

    @staticmethod
    def _is_near(some: Sequence[float], other: Sequence[float], matter: Sequence[bool]) -> bool:
        if len(some) != len(other):
            return False
        pairs = zip(some, other, matter, strict=True)
        return all(abs(a - b) <= NEAR for a, b, counts in pairs if counts)

    def matter(self) -> list[bool]:
        """Return which statistics were in different ranges under different options; else all."""
        by_option: dict[str, list[Sequence[float]]] = {}
        count = len(self.seen[-1].statistics) if self.seen else 0
        for one in self.seen:
            if one.has_won and len(one.statistics) == count:
                by_option.setdefault(one.option, []).append(one.statistics)
        found = []
        for at in range(count):
            values = [[one[at] for one in mine] for mine in by_option.values()]
            ranges = sorted((min(mine), max(mine)) for mine in values)
            found.append(any(low > high for (_, high), (low, _) in itertools.pairwise(ranges)))
        return found if any(found) else [True] * count

    @property
    def repeated(self) -> int:
        """How often in a row another option has to be found before it runs."""
        transient = sum(ticks < TRANSIENT_TICKS for ticks in self.stays)
        return 1 if transient < 2 else min(transient, MAX_REPEATED)

    @property
    def rarity(self) -> int:
        """How many times rarer than others the point may be probed."""
        picked = {one.option for one in self.seen}
        if len(picked) > 1 or any(one.outcome == RETURNED for one in self.seen):
            return 1
        return min(1 << (len(self.seen) // STEADY_DECISIONS), MAX_RARITY)
