"""The budget: the fraction of the time of ticks that measuring may take."""

from __future__ import annotations

from dataclasses import dataclass

MEASURING_FRACTION = 0.01
"""Which fraction of the time of ticks counting and looking again take at most, together."""

WAITING_BUDGETS = 5.0
"""How many times the budget may be spent on counting while a choice waits for it."""

FILLING_FRACTION = 0.1
"""Which part of the time of all ticks so far it may take to make a cache or an index.

As a cache saves a tenth of the time to come, it has paid for itself when ticks have run as long
again.
"""


WAITING_SECONDS, MOST_WAITED_SECONDS = 1.0, 10.0
"""For how long, in seconds of ticks, the turn is kept of somebody who does not ask again, and after
how many it has to come: others do not wait longer for what takes very long."""


@dataclass(frozen=True)
class _Waiting:
    """Somebody who waits for a turn.

    Attributes:
        who: Who it is.
        seconds: What is to be done takes so long.
        times: How many times the budget may be spent for it.
        asked: Seconds of all ticks when it was asked for last.
    """

    who: object
    seconds: float
    times: float
    asked: float


@dataclass
class Budget:
    """What has been earned and spent.

    Attributes:
        fraction: The fraction of the time of ticks that may be spent.
        ticks: Seconds of all ticks.
        counting: Seconds that went into counting what statements took.
        looking: Seconds by which options take longer that were looked at again.
        first: Seconds that the first looks of points took, before which nothing is known of them.
            What comes later need not wait until they are earned too.
        last_counting: Seconds that counting took of the query that was counted last.
        choosing: Seconds that went into choosing what ticks run, and noting what these took: no
            measuring, and none of it can be put off.
    """

    fraction: float = MEASURING_FRACTION
    ticks: float = 0.0
    counting: float = 0.0
    looking: float = 0.0
    first: float = 0.0
    last_counting: float = 0.0
    choosing: float = 0.0
    _waiting: _Waiting | None = None

    def counted(self, seconds: float) -> None:
        """Note how long it took to count the statements of a query in a tick."""
        self.counting += seconds
        self.last_counting = seconds

    def looked(self, seconds: float, *, is_first: bool = False) -> None:
        """Note how long it took to look at something."""
        if is_first:
            self.first += seconds
        else:
            self.looking += seconds

    def affords_counting(self, others: int = 0) -> bool:
        """Return whether the statements of a query in a tick may be counted.

        Half of the budget is for looking.

        Args:
            others: How many queries of the tick are to be counted first.
        """
        wanted = self.counting + others * self.last_counting
        return wanted <= self.fraction * self.ticks / 2

    @property
    def affords_waiting(self) -> bool:
        """Whether they may be counted while a choice waits for it, or is confirmed."""
        return self.counting <= WAITING_BUDGETS * self.fraction * self.ticks

    def affords(
        self,
        seconds: float,
        times: float = 1.0,
        *,
        is_in_all: bool = False,
        who: object | None = None,
    ) -> bool:
        """Return whether something may be done that takes so long.

        Args:
            seconds: How long it takes.
            times: How many times the budget may be spent for it.
            is_in_all: Whether it may be spent so many times with the first looks of all points.
            who: Who asks, if it waits for its turn where it cannot be done yet. Of others only what
                leaves enough for it is done then, or what takes little would always come first.
        """
        spent = self.counting + self.looking + (self.first if is_in_all else 0.0)
        left = times * self.fraction * self.ticks - spent
        waiting = self._waiting
        if waiting is not None and self.ticks - waiting.asked > WAITING_SECONDS:
            waiting = self._waiting = None
        if waiting is not None and waiting.who is who:
            waiting = self._waiting = None
        if seconds > left:
            comes = seconds - left <= times * self.fraction * MOST_WAITED_SECONDS
            if waiting is None and who is not None and comes:
                self._waiting = _Waiting(who, seconds, times, self.ticks)
            return False
        if waiting is None or not seconds or times > waiting.times:
            return True
        return seconds + waiting.seconds <= left
