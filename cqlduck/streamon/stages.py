"""The policy of `stages`: whether a query's ticks materialize their deltas before a state is read.

The better option depends on the number of elements in a tick and on the size of the state. So both
are tried (`trials`), separately for ticks of different sizes. Stages come first, because they never
cost much: the other option can save no more than the time of their statements. If that time was a
small part of some ticks, the other option is not tried. Nor is it tried if a single scan of the
state would cost more than stages can over many ticks. Large ticks, or ticks of unknown size, have
no stages, except for a query's first tick.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass

from cqlduck.streamon.budget import Budget
from cqlduck.streamon.points import KINDS, STAGED, STAGES, UNSTAGED, Facts
from cqlduck.streamon.policy import Policy
from cqlduck.streamon.profiler import Statistics
from cqlduck.streamon.trials import TRIALS, Proposal, Trials

MAX_STAGED_ELEMENTS = 400_000
"""How many elements a tick has at most for which stages are tried."""

NEGLIGIBLE_FRACTION = 0.15
"""Which part of a tick stages take at most to be left as they are."""

LARGE_STATE_ROWS, LARGE_STATE_RATIO = 500_000, 1000
"""Of more rows than this, and than so many times the elements, a state is too large for a trial.

On 10 million rows such ticks of 100 elements took .3 to 1 s instead of 9 ms, on a million 45 ms.
"""

STATE_SIZE_TICKS = 256
"""For how many ticks what is known of the size of a state holds."""


@dataclass
class Stages(Policy):
    """The policy of a query's point `stages`, for ticks of one size.

    Attributes:
        budget: What looking again may cost.
    """

    budget: Budget
    _trials: Trials | None = None
    _is_large: bool = False
    _left: int = 0

    def default(self, facts: Facts) -> str:
        """Return the option of a tick before anything is known of such ticks."""
        if facts.elements is None:
            return STAGED if facts.is_first else UNSTAGED
        return STAGED if facts.elements <= MAX_STAGED_ELEMENTS else UNSTAGED

    def propose(self, now: str, known: Statistics, facts: Facts) -> Proposal | None:
        """Return what the next tick is to run in place of what stands, or None."""
        if facts.elements is None or facts.elements > MAX_STAGED_ELEMENTS:
            return None
        if now == STAGED and UNSTAGED not in known.seconds:
            # stages take so little that there is nothing to learn, as far as is known
            shares = known.avoidable
            if len(shares) < TRIALS or statistics.median(shares) < NEGLIGIBLE_FRACTION:
                return None
        if self._left == 0:
            least = max(LARGE_STATE_ROWS, LARGE_STATE_RATIO * facts.elements)
            self._is_large = facts.stored() > least
            self._left = STATE_SIZE_TICKS
        self._left -= 1
        if not self._is_large:
            if self._trials is None:
                self._trials = Trials(KINDS[STAGES].options, self.budget)
            return self._trials.propose(now, known)
        if now == STAGED:
            return None
        return Proposal(STAGED, reason="a few elements meet a large state")
