"""The policy for points whose cost has no model: trials, after which the faster option stands.

The cost is measured by the clock. The options run in turn, each `TRIALS` times after a first run
that does not count, because it parses; the one with the least median is selected. If one option is
clearly slower after one trial, or in its first run by more than parsing can account for, it is not
measured again. The others are tried again from time to time, less often as long as nothing changes,
and only within the budget: so the choice stays right while the state grows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cqlduck.streamon.budget import Budget
from cqlduck.streamon.profiler import MEASURED_TICKS, SLOW_RATIO, Statistics

TRIALS = MEASURED_TICKS
"""How often each option is tried: as many ticks say what it takes."""

DECISIVE_RATIO = SLOW_RATIO / 2
"""How many times longer the one takes than the other when a trial is enough."""

FIRST_LOOK, LAST_LOOK = 32, 1024
"""After how many ticks another option is tried again, at first and at last."""


@dataclass(frozen=True)
class Proposal:
    """What is to run at a point.

    Attributes:
        option: The option.
        is_trial: Whether it runs once, to be measured, and what stands goes on standing.
        reason: Why, in words.
        now: Seconds of a tick with the option that stands, if they were measured.
        then: The same with this one.
        expected: Seconds that it is expected to save for an element, if that is known.
        returns: Whether the option before comes back, because the one that stands was no better.
    """

    option: str
    is_trial: bool = False
    reason: str = ""
    now: float | None = None
    then: float | None = None
    expected: float | None = None
    returns: bool = False


@dataclass
class Trials:
    """The trials of a point.

    Attributes:
        options: The options.
        budget: What looking again may cost.
        kept: The option that was found to be the fastest, or None.
        left: After how many ticks another is looked at.
        interval: How many these were.
        turn: Which of the others is next.
    """

    options: Sequence[str]
    budget: Budget
    kept: str | None = None
    left: int = FIRST_LOOK
    interval: int = FIRST_LOOK
    turn: int = 0

    def propose(self, now: str, known: Statistics) -> Proposal | None:
        """Return what the next tick is to run in place of what stands, or None.

        Args:
            now: The option that stands.
            known: What is known of the options.
        """
        if not known.runs(now):
            return None
        wanting = self._wanting(known)
        if wanting is not None:
            return None if wanting == now else Proposal(wanting, is_trial=True)
        seconds = {option: known.median(option) or 0.0 for option in self.options}
        best = min(self.options, key=lambda option: (seconds[option], option != now))
        if best != self.kept or best != now:
            self.kept, self.interval, self.left = best, FIRST_LOOK, FIRST_LOOK
            return Proposal(best, False, _compared(best, seconds), seconds[now], seconds[best])
        return self._look(best, seconds)

    def _wanting(self, known: Statistics) -> str | None:
        """Return the option of which too little is known, or None."""
        unknown = [option for option in self.options if not known.runs(option)]
        if not unknown:
            least = min(known.median(option) or 0.0 for option in self.options)
            most = DECISIVE_RATIO * max(least, 1e-9)
            near = [option for option in self.options if (known.median(option) or 0.0) < most]
            if len(near) < 2:
                return None
            unknown = [option for option in near if known.runs(option) < TRIALS]
        if not unknown:
            return None
        # another one first: the default has run already
        order = {option: place for place, option in enumerate(reversed(self.options))}
        return min(unknown, key=lambda o: (known.runs(o) + (o in known.warm), order[o]))

    def _look(self, best: str, seconds: dict[str, float]) -> Proposal | None:
        """Return a trial of another option, if it is time for one and the budget affords it."""
        self.left -= 1
        if self.left > 0:
            return None
        others = [option for option in self.options if option != best]
        other = others[self.turn % len(others)]
        longer = max(seconds[other] - seconds[best], 0.0)
        if not self.budget.affords(longer):
            return None
        self.budget.looking += longer
        self.turn += 1
        self.interval = min(2 * self.interval, LAST_LOOK)
        self.left = self.interval
        return Proposal(other, is_trial=True)


def _compared(best: str, seconds: dict[str, float]) -> str:
    """Return in words what was measured.

    >>> _compared("whole", {"staged": 0.0025, "whole": 0.001})
    'a tick took 1.00 ms with whole, 2.50 ms with staged'
    """
    order = sorted(seconds, key=lambda option: (option != best, option))
    return "a tick took " + ", ".join(f"{1e3 * seconds[o]:.2f} ms with {o}" for o in order)
