"""The policy of `stages`: whether a query's ticks materialize their deltas before a state is read.

The better option depends on the number of elements in a tick and on the size of the state. So both
are tried (`trials`), separately for ticks of different sizes. Stages come first, because they never
cost much: the other option can save no more than the time of their statements. If that time was a
small part of some ticks, the other option is not tried. Nor is it tried if to scan a large state is
expected to take several times as long as a tick. With a large state other options that are tried
are to reduce it first (`cqlduck.rewrite.operators.reduction`), where a join meets it by several
columns, and to go through pipelines input by input (`cqlduck.rewrite.operators.join`), where some
took time and found nothing. Where an aggregate sums up what meets the bounds of a relation, the
other option is to do so by interval (`cqlduck.rewrite.operators.intervals`), whatever stages take.
Large ticks, or ticks of unknown size, have no stages, except for a query's first tick.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass

from cqlduck.rewrite.physical.form import Form
from cqlduck.streamon.budget import Budget
from cqlduck.streamon.option_trials import TRIALS
from cqlduck.streamon.points import INTERVALS, REDUCED, STAGED, STEPWISE, UNSTAGED, Facts
from cqlduck.streamon.policy import Policy
from cqlduck.streamon.profiler import Statistics
from cqlduck.streamon.proposals import Proposal
from cqlduck.streamon.trials import Trials

MAX_STAGED_ELEMENTS = 400_000
"""How many elements a tick has at most for which stages are tried."""

NEGLIGIBLE_FRACTION = 0.03
"""Which part of a tick stages take at most to be left as they are."""

IDLE_FRACTION = 0.1
"""Which part of a tick pipelines that find nothing take at least to go through them by input."""

LARGE_STATE_ROWS, LARGE_STATE_RATIO = 500_000, 1000
"""Of more rows than this, and than so many times the elements, a state is large."""

SECONDS_A_ROW = 45e-9
"""What a row of a large state may cost a tick without stages.

On 10 million rows such ticks of 100 elements took .3 to 1 s instead of 9 ms, on a million 45 ms.
"""

TOO_SLOW = 4.0
"""What is expected to take so many times as long as stages is not tried."""

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
    _stored: int = 0
    _is_large: bool = False
    _is_affordable: bool = False
    _ends_early: bool = False
    _left: int = 0

    def default(self, facts: Facts) -> str:
        """Return the option of a tick before anything is known of such ticks."""
        if facts.elements is None:
            return STAGED if facts.is_first else UNSTAGED
        return STAGED if facts.elements <= MAX_STAGED_ELEMENTS else UNSTAGED

    @property
    def rests(self) -> bool:
        """Whether there is nothing to try, or trials have said what they can."""
        return self._trials is None or self._trials.are_settled

    def propose(self, now: str, known: Statistics, facts: Facts) -> Proposal | None:
        """Return what the next tick is to run in place of what stands, or None."""
        if facts.elements is None or facts.elements > MAX_STAGED_ELEMENTS:
            return None
        if facts.has_intervals:
            return self._tried((INTERVALS,), now, known)
        if not (facts.is_reducible or facts.has_steps) and self._is_negligible(now, known):
            return None
        if self._left == 0:
            self._stored = facts.stored()
            least = max(LARGE_STATE_ROWS, LARGE_STATE_RATIO * facts.elements)
            self._is_large = self._stored > least
            self._left = STATE_SIZE_TICKS
        self._left -= 1
        if not self._is_large:
            # of a small state there is little that could be left out
            return None if self._is_negligible(now, known) else self._tried((UNSTAGED,), now, known)
        others: tuple[str, ...] = (UNSTAGED,) if self._may_be_scanned(now, known) else ()
        if now == UNSTAGED and not others:
            return Proposal(STAGED, reason="a few elements meet a large state")
        others += (REDUCED,) if facts.is_reducible else ()
        others += (STEPWISE,) if self._may_end_early(now, known, facts) else ()
        return self._tried(others, now, known) if others or now != STAGED else None

    def _may_be_scanned(self, now: str, known: Statistics) -> bool:
        """Return whether a large state may be scanned in a tick, to see what that takes.

        Where it is scanned anyway that is known.
        """
        if now == UNSTAGED and known.runs(UNSTAGED):
            return True
        staged = TOO_SLOW * (known.median(STAGED) or 0.0)
        # or it would come and go where it is close
        most = 2 * staged if self._is_affordable else staged
        self._is_affordable = SECONDS_A_ROW * self._stored <= most
        return self._is_affordable and not self._is_negligible(now, known)

    def _may_end_early(self, now: str, known: Statistics, facts: Facts) -> bool:
        """Return whether pipelines of several steps were seen to find nothing, now or before."""
        shares = known.idle
        is_seen = len(shares) == TRIALS and statistics.median(shares) >= IDLE_FRACTION
        self._ends_early |= is_seen or now == STEPWISE
        return facts.has_steps and self._ends_early

    def _is_negligible(self, now: str, known: Statistics) -> bool:
        """Return whether stages take so little that there is nothing to learn, as far as known."""
        if now != STAGED or UNSTAGED in known.seconds:
            return False
        shares = known.avoidable
        return len(shares) < TRIALS or statistics.median(shares) < NEGLIGIBLE_FRACTION

    def _tried(self, others: tuple[str, ...], now: str, known: Statistics) -> Proposal | None:
        """Return what the trials of stages and other options propose."""
        options = STAGED, *others
        if now not in options:
            return Proposal(STAGED, reason="the state has become larger or smaller")
        if self._trials is None or self._trials.options != options:
            self._trials = Trials(options, self.budget)
        return self._trials.propose(now, known)


def form_of(option: str, single: bool, facts: Facts) -> Form:
    """Return the form of ticks with an option.

    Args:
        option: The option.
        single: Whether the ticks have one instant.
        facts: What is known of them.
    """
    reduces = option == REDUCED and facts.is_reducible
    stepwise = option == STEPWISE and facts.has_steps
    intervals = option == INTERVALS and facts.has_intervals
    return Form(single, option != UNSTAGED, reduces, stepwise, intervals)


def option_in(form: Form) -> str:
    """Return the option with which ticks have a form."""
    if form.intervals:
        return INTERVALS
    if form.stepwise:
        return STEPWISE
    return REDUCED if form.reduces else STAGED if form.staged else UNSTAGED
