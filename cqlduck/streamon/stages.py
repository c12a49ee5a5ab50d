"""Whether a query's ticks have stages (`rewrite.delta.form`).

It depends on how many elements a tick has and how large the state is. So both forms are tried
(`tried`), and ticks of unlike sizes learn apart. Stages come first, because they never cost much:
the other form can save no more than the time of their statements. If in some ticks that was less
than `LITTLE`, it is not tried. Nor is it tried where a few elements meet so much that to read it
once would cost more than stages ever could. Ticks of many elements, or of nobody knows how many,
have none, but for a query's first.
"""

from __future__ import annotations

import statistics

from cqlduck.streamon.budget import Budget
from cqlduck.streamon.points import KINDS, STAGED, STAGES, WHOLE, Facts
from cqlduck.streamon.profiler import Statistics
from cqlduck.streamon.tried import TRIALS, Proposal, Tried

FEW = 400_000
"""How many elements a tick has at most for which stages are tried."""

LITTLE = 0.15
"""Which part of a tick stages take at most to be left as they are."""

MUCH, TIMES = 500_000, 1000
"""Of more rows than this, and than so many times the elements, a state is too large for a trial.

On 10 million rows such ticks of 100 elements took .3 to 1 s instead of 9 ms, on a million 45 ms.
"""

LOOK = 256
"""For how many ticks what is known of the size of a state holds."""


class Stages:
    """The policy of a query's point `stages`, for ticks of one size.

    Args:
        budget: What looking again may cost.
    """

    def __init__(self, budget: Budget) -> None:
        """Begin without knowing anything."""
        self._tried = Tried(KINDS[STAGES].options, budget)
        self._is_large = False
        self._left = 0

    def default(self, facts: Facts) -> str:
        """Return the option of a tick before anything is known of such ticks."""
        if facts.elements is None:
            return STAGED if facts.is_first else WHOLE
        return STAGED if facts.elements <= FEW else WHOLE

    def propose(self, now: str, known: Statistics, facts: Facts) -> Proposal | None:
        """Return what the next tick is to run in place of what stands, or None."""
        if facts.elements is None or facts.elements > FEW:
            return None
        if now == STAGED and not known.runs(WHOLE) and _is_little(known):
            return None
        if self._left == 0:
            self._is_large = facts.stored() > max(MUCH, TIMES * facts.elements)
            self._left = LOOK
        self._left -= 1
        if not self._is_large:
            return self._tried.propose(now, known)
        if now == STAGED:
            return None
        return Proposal(STAGED, reason="a few elements meet a large state")


def _is_little(known: Statistics) -> bool:
    """Return whether stages take so little that there is nothing to learn, as far as is known."""
    return len(known.avoidable) < TRIALS or statistics.median(known.avoidable) < LITTLE
