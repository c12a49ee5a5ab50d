"""The choice between two ways, by what each took.

The cost that counts is the clock's. So both are tried in turn, each `TRIALS` times after a first
one that does not count, because what is new is parsed then; the one with the lesser median is kept.
What is `CLEAR` after one trial, or after a first one that parsing alone cannot explain, is not
tried more often. The other is tried again from time to time, less often as long as nothing changes,
and so seldom that it costs a hundredth of the time at most: so what was learned stays true while
the state grows.
"""

from __future__ import annotations

import statistics
from collections import deque
from dataclasses import dataclass, field

TRIALS = 3
CLEAR = 1.6
"""How many times longer the one takes than the other when a trial is enough."""

FIRST_LOOK, LAST_LOOK = 32, 1024
"""After how many ticks the other way is tried again, at first and at last."""


@dataclass
class Learned:
    """What is known of two ways, the first of which is True: seconds of each, and when to look."""

    taken: dict[bool, deque[float]] = field(
        default_factory=lambda: {way: deque(maxlen=TRIALS) for way in (False, True)}
    )
    warm: set[bool] = field(default_factory=set)
    kept: bool | None = None
    left: int = FIRST_LOOK
    interval: int = FIRST_LOOK

    def next(self) -> bool:
        """Return which way the next one is to take."""
        if not self.taken[True]:
            return True
        short = [way for way in (False, True) if len(self.taken[way]) < TRIALS]
        fewest = min(len(taken) for taken in self.taken.values())
        if fewest == 0 or (short and self._times() < CLEAR):
            return min(short, key=lambda way: len(self.taken[way]) + (way in self.warm))
        faster = min((False, True), key=self._median)
        if faster != self.kept:
            self.kept, self.interval = faster, FIRST_LOOK
            self._wait()
        self.left -= 1
        if self.left > 0:
            return faster
        self.interval = min(2 * self.interval, LAST_LOOK)
        self._wait()
        return not faster

    def _wait(self) -> None:
        self.left = max(self.interval, round(100 * (self._times() - 1)))

    def _median(self, way: bool) -> float:
        return statistics.median(self.taken[way])

    def _times(self) -> float:
        """Return how many times longer the slower way takes."""
        low, high = sorted(map(self._median, self.taken))
        return high / max(low, 1e-9)

    def took(self, way: bool, seconds: float) -> None:
        """Take note of what one took."""
        other = self.taken[not way]
        if way in self.warm or (other and seconds > 2 * CLEAR * statistics.median(other)):
            self.taken[way].append(seconds)
        self.warm.add(way)
