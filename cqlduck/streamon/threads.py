"""The policy of `threads`: one thread for the statements of a tick, or all.

In a small statement waking threads takes longer than the work (`state.threads`). So small ticks use
one, and large ones, which are no point of choice, all. In between it depends: one thread reads the
arrivals anyway, and another may prefetch the next batch; but all threads read a large state faster.
So both are tried for ticks up to a row group.
"""

from __future__ import annotations

from cqlduck.state.threads import MEDIUM_TICK_ELEMENTS, SMALL_TICK_ELEMENTS
from cqlduck.streamon.budget import Budget
from cqlduck.streamon.points import KINDS, ONE, THREADS, Facts
from cqlduck.streamon.policy import Policy
from cqlduck.streamon.profiler import Statistics
from cqlduck.streamon.trials import Proposal, Trials


class ThreadCount(Policy):
    """The policy of the point `threads`, for ticks of one size.

    Args:
        budget: What looking again may cost.
    """

    def __init__(self, budget: Budget) -> None:
        """Begin without knowing anything."""
        self._trials = Trials(KINDS[THREADS].options, budget)

    def default(self, facts: Facts) -> str:
        """Return the option of a tick before anything is known of such ticks."""
        return ONE

    def propose(self, now: str, known: Statistics, facts: Facts) -> Proposal | None:
        """Return what the next tick is to run in place of what stands, or None."""
        if facts.elements is None or facts.elements <= SMALL_TICK_ELEMENTS:
            return None
        return self._trials.propose(now, known)


def sized(elements: int) -> str:
    """Return which ticks are like one of so many elements, in words.

    >>> sized(100), sized(30_000), sized(100_000)
    ('up to 20000 elements', '20001 to 32767 elements', '65536 to 122880 elements')
    """
    if elements <= SMALL_TICK_ELEMENTS:
        return f"up to {SMALL_TICK_ELEMENTS} elements"
    size = elements.bit_length()
    least = max(1 << (size - 1), SMALL_TICK_ELEMENTS + 1)
    return f"{least} to {min((1 << size) - 1, MEDIUM_TICK_ELEMENTS)} elements"
