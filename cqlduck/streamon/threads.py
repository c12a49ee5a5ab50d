"""The policy of `threads`: one thread for the statements of a tick, or all.

In a small statement waking threads takes longer than the work (`state.threads`). So one thread is
the default up to a row group; large ticks, which are no point of choice, have all. But elements may
be few and the work much: they meet a large state, or change many groups. And one thread reads the
arrivals anyway, and another may prefetch the next batch. So both are tried, for ticks of each size,
unless these take so little that nothing can be gained.
"""

from __future__ import annotations

from cqlduck.state.threads import MEDIUM_TICK_ELEMENTS
from cqlduck.streamon.budget import Budget
from cqlduck.streamon.points import KINDS, ONE, THREADS, Facts
from cqlduck.streamon.policy import Policy
from cqlduck.streamon.profiler import Statistics
from cqlduck.streamon.proposals import Proposal
from cqlduck.streamon.trials import Trials

LEAST_SECONDS = 0.005
"""How long a query takes in a tick at least for all threads to be tried.

Waking them, and changing the setting, take some 0.5 ms.
"""

SETTLING_TICKS = 1
"""How many ticks run after the number was changed before one counts.

They are slow whichever number it is: of a query that took 31 ms a tick with one thread, and 34 with
two, the first tick took 43 and 41. So where trials are frequent, most ticks would be first ones.
"""

COUNTED_TICKS = 6
"""How many ticks of a trial count, as those before and behind them are slow and do not."""

FEW_ELEMENTS = 512
"""Ticks of fewer elements are of one size, but for those of none, in which time alone moves on."""


class ThreadCount(Policy):
    """The policy of the point `threads`, for ticks of one size.

    Args:
        budget: What looking again may cost.
    """

    def __init__(self, budget: Budget) -> None:
        """Begin without knowing anything."""
        self._trials = Trials(KINDS[THREADS].options, budget, SETTLING_TICKS, COUNTED_TICKS)

    def default(self, facts: Facts) -> str:
        """Return the option of a tick before anything is known of such ticks."""
        return ONE

    def propose(self, now: str, known: Statistics, facts: Facts) -> Proposal | None:
        """Return what the next tick is to run in place of what stands, or None."""
        if facts.elements is None:
            return None
        if now == ONE and (known.median(ONE) or 0.0) < LEAST_SECONDS:
            self._trials.note(now, known)
            return None
        return self._trials.propose(now, known)


def sized(elements: int) -> str:
    """Return which ticks are like one of so many elements, in words.

    >>> sized(0), sized(100), sized(30_000), sized(100_000)
    ('no elements', 'up to 511 elements', '16384 to 32767 elements', '65536 to 122880 elements')
    """
    if not elements:
        return "no elements"
    if elements < FEW_ELEMENTS:
        return f"up to {FEW_ELEMENTS - 1} elements"
    size = elements.bit_length()
    return f"{1 << (size - 1)} to {min((1 << size) - 1, MEDIUM_TICK_ELEMENTS)} elements"
