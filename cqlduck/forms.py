"""The choice between forms of a query's ticks, by what they took.

Whether stages pay (`rewrite.delta.form`) depends on how many elements a tick has and how large the
state is, and the cost that counts is the clock's. So both forms are tried in turn, each `TRIALS`
times after a first one that does not count, because its statements are parsed then; the one with
the lesser median is kept. Stages come first, because they never cost much. What is `CLEAR` after
one trial, or after a first one that parsing alone cannot explain, is not tried more often. The
other form is tried again from time to time, less often as long as nothing changes, and so seldom
that it costs a hundredth of the time at most: so what was learned stays true while the state grows.
Ticks of unlike sizes learn apart.

Both forms write the same, so nothing of this shows in an answer.
"""

from __future__ import annotations

import statistics
from collections import deque
from dataclasses import dataclass, field

FEW = 400_000
"""How many elements a tick has at most for which stages are tried."""

TRIALS = 3
CLEAR = 3.0
"""How many times longer the one form takes than the other when a trial is enough."""

FIRST_LOOK, LAST_LOOK = 32, 1024
"""After how many ticks the other form is tried again, at first and at last."""


@dataclass
class _Learned:
    """What is known of ticks of one query and size: seconds by form, and when to look again."""

    taken: dict[bool, deque[float]] = field(
        default_factory=lambda: {staged: deque(maxlen=TRIALS) for staged in (False, True)}
    )
    warm: set[bool] = field(default_factory=set)
    kept: bool | None = None
    left: int = FIRST_LOOK
    interval: int = FIRST_LOOK

    def next(self) -> bool:
        """Return whether the next tick is to have stages."""
        if not self.taken[True]:
            return True
        short = [staged for staged in (False, True) if len(self.taken[staged]) < TRIALS]
        fewest = min(len(taken) for taken in self.taken.values())
        if fewest == 0 or (short and self._times() < CLEAR):
            return min(short, key=lambda staged: len(self.taken[staged]) + (staged in self.warm))
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

    def _median(self, staged: bool) -> float:
        return statistics.median(self.taken[staged])

    def _times(self) -> float:
        """Return how many times longer the slower form takes."""
        low, high = sorted(map(self._median, self.taken))
        return high / max(low, 1e-9)

    def took(self, staged: bool, seconds: float) -> None:
        """Take note of what a tick took."""
        other = self.taken[not staged]
        if staged in self.warm or (other and seconds > 2 * CLEAR * statistics.median(other)):
            self.taken[staged].append(seconds)
        self.warm.add(staged)


@dataclass
class Forms:
    """Chooses the form of each tick.

    Attributes:
        always: The answer to whether ticks have stages, if it is not to be learned.
    """

    always: bool | None = None
    _known: dict[tuple[str, bool, int], _Learned] = field(default_factory=dict)

    def may_stage(self, elements: int | None) -> bool:
        """Return whether a tick may have stages at all.

        Args:
            elements: How many elements came since the query's last tick, or None if that is not
                known.
        """
        return self.always is not None or (elements is not None and elements <= FEW)

    def staged(self, query: str, single: bool, elements: int | None) -> bool:
        """Return whether a query's next tick is to have stages.

        Args:
            query: The query.
            single: Whether the tick has one instant.
            elements: How many elements came, such that the tick may have stages.
        """
        if self.always is not None:
            return self.always
        assert elements is not None
        return self._of(query, single, elements).next()

    def took(
        self, query: str, single: bool, elements: int | None, staged: bool, seconds: float
    ) -> None:
        """Take note of what a tick took that might have had stages."""
        if self.always is None:
            assert elements is not None
            self._of(query, single, elements).took(staged, seconds)

    def forget(self, query: str) -> None:
        """Forget a query that is dropped."""
        self._known = {key: known for key, known in self._known.items() if key[0] != query}

    def _of(self, query: str, single: bool, elements: int) -> _Learned:
        size = elements.bit_length() // 2
        return self._known.setdefault((query, single, size), _Learned())
