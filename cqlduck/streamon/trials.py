"""The policy for points whose cost has no model: trials, after which the faster option stands.

The cost is measured by the clock. What a tick takes grows with the state, and changes with the
machine and with what comes, so what an option took some time ago says little: a trial is compared
with the ticks just before it, which ran the option that stands, and so is each of these. What is
kept of a tick are the logarithms of the ratios (`noise.Ratios`)

    log(seconds of the tick / seconds of each of the last `COMPARED` before it)

The q of an option is the median of those of its trials, less that of ticks with the option that
stands: so growth does not count. How far q may be from the truth is seen from these ticks, too: as
far as it comes out by chance if as many of them are taken for trials.

Each option is tried `TRIALS` times after a first run that does not count, because it parses. When a
trial comes is drawn, as ticks may take less and more in turn: windows slide, batches alternate. It
takes the place of the one that stands if its q is clearly below zero. If it is clearly slower, then
or after one trial, or in its first run by more than parsing can account for, it is tried again ever
less often. If nothing is clear, it is tried again soon: options between which nothing can be told
cost little to try. If what stands comes to take longer, or a trial contradicts those before, the
next trials come at once. All of that within the budget, to which trials are charged by what they
took: so the choice stays right while the state grows.
"""

from __future__ import annotations

import math
import random
import statistics
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from cqlduck.streamon.budget import Budget
from cqlduck.streamon.noise import Ratios, logarithm, pooled
from cqlduck.streamon.option_trials import (
    DECISIVE_RATIO,
    FIRST_LOOK,
    PROMISING_BUDGETS,
    REMEMBERED_TRIALS,
    OptionTrials,
)
from cqlduck.streamon.profiler import Statistics
from cqlduck.streamon.proposals import Proposal

LEAST_TICKS = 8
"""How many ticks with the option that stands say how much ticks vary, at least."""

COMPARED = 4
"""With how many of the ticks before it a tick is compared; if several ticks of a trial count, these
are compared with twice as many."""

RISEN = 1.5
"""By which factor ticks have to take longer than at the last trial for the next one to be due."""


@dataclass
class Trials:
    """The trials of a point.

    Attributes:
        options: The options.
        budget: What looking again may cost.
        settling: How many ticks with another option than before run until one counts: at the
            beginning of a trial, and behind it with the option that stands.
        counted: How many ticks of a trial count: where it takes long to settle, several.
    """

    options: Sequence[str]
    budget: Budget
    settling: int = 0
    counted: int = 1
    _left: int = 0
    _returning: int = 0
    _base: Sequence[float] = ()
    _now: str | None = None
    _last: deque[float] = field(default_factory=lambda: deque(maxlen=2 * COMPARED))
    _standing: deque[Ratios] = field(default_factory=lambda: deque(maxlen=REMEMBERED_TRIALS))
    _by_option: dict[str, OptionTrials] = field(default_factory=dict)
    _seen: int = 0
    _looked_at: float = math.inf
    _expected_extra: float = 0.0
    _drawn: random.Random = field(default_factory=lambda: random.Random(0))

    def propose(self, now: str, known: Statistics) -> Proposal | None:
        """Return what the next tick is to run in place of what stands, or None.

        Args:
            now: The option that stands.
            known: What is known of the options.
        """
        if now != self._now:
            self._turn_to(now, known)
        is_trial_over = self._learn(now, known)
        if len(self._last) < self._compared:
            # with so many ticks others are compared; the first may have made what these have
            return None
        if self.counted == 1 or not (self._left or self._returning or is_trial_over):
            # while a trial runs none comes nearer, or one of several ticks would follow the other
            for trials in self._by_option.values():
                trials.left -= 1
        better = min(self._by_option, key=lambda option: self._by_option[option].q)
        if len(self._standing) >= LEAST_TICKS and self._by_option[better].is_faster:
            seconds = {option: self._expected(option) for option in self.options}
            reason = _compared(better, seconds)
            return Proposal(better, False, reason, seconds[now], seconds[better])
        if is_trial_over or self._returning:
            # the next one is compared with the tick that comes now
            return None
        if self._left and known.last in self._by_option:
            return Proposal(known.last, is_trial=True)
        unknown = [option for option, trials in self._by_option.items() if not trials.is_known]
        if unknown:
            if self._drawn.random() < 0.5:
                return None
            return self._begin(min(unknown, key=lambda o: len(self._by_option[o].ratios)))
        return self._look(known)

    @property
    def are_settled(self) -> bool:
        """Whether further trials would hardly change which option stands."""
        return all(trials.is_settled for trials in self._by_option.values())

    def note(self, now: str, known: Statistics) -> None:
        """Take note of the tick that ran, and have the next one run what stands.

        Of ticks that take less and more in turn, else those alone would be known behind which
        something is proposed.

        Args:
            now: The option that stands.
            known: What is known of the options.
        """
        if now != self._now:
            self._turn_to(now, known)
        self._learn(now, known)

    def _begin(self, option: str) -> Proposal:
        """Return the first tick of a trial."""
        self._left = self.settling + self.counted
        self._base = [*self._last][-self._compared :]
        return Proposal(option, is_trial=True)

    def _learn(self, now: str, known: Statistics) -> bool:
        """Take note of the tick that ran, if one did; return whether it was a trial that counts."""
        if known.recorded == self._seen:
            return False
        self._seen, option = known.recorded, known.last
        if option is None or option not in self.options or not known.counts_last:
            return False
        seconds = known.seconds[option][-1]
        took = logarithm(seconds)
        if len(self._last) < self._compared:
            if option == now:
                self._last.append(took)
            return False
        if option == now:
            self._left = 0
            ratios = tuple(took - one for one in [*self._last][-COMPARED:])
            if self._returning:
                self._returning -= 1
                self.budget.looked(seconds - self._mean)
                return False
            self._last.append(took)
            self._standing.append(ratios)
            if len(self._standing) == LEAST_TICKS:
                self._compare()
            return False
        self._charge(option, seconds)
        trials = self._by_option[option]
        self._left = max(self._left - 1, 0)
        if self._left >= self.counted:
            return False
        self._note_trial(trials, tuple(took - one for one in self._base))
        if trials.q >= math.log(DECISIVE_RATIO):
            self._left = 0
        if self._left:
            return False
        self._returning, self._looked_at = self.settling, self._seconds
        if not self.settling:
            # what it would have taken with what stands, or every other tick were missing
            self._last.append(took - trials.q)
        return True

    def _note_trial(self, trials: OptionTrials, ratios: Ratios) -> None:
        """Take note of a tick of a trial; if all of it contradicts those before, these go."""
        was_known = trials.is_known
        trials.ratios.append(ratios)
        if not self._left:
            mine = [*trials.ratios][-self.counted :]
            if trials.contradicts(tuple(pooled(mine)), self._standing, self._usual):
                trials.ratios.clear()
                trials.ratios.extend(mine)
        self._compare()
        if trials.is_known and not was_known:
            trials.left = trials.interval = FIRST_LOOK

    def _charge(self, option: str, seconds: float) -> None:
        """Charge a trial with what it took longer than the ticks before, less what was expected."""
        longer = seconds - self._mean - self._expected_extra
        self.budget.looked(longer, is_first=not self._by_option[option].is_known)
        self._expected_extra = 0.0

    @property
    def _usual(self) -> float:
        """By how much a tick takes longer than those before it, as a logarithm."""
        return statistics.median(pooled(self._standing)) if self._standing else 0.0

    def _compare(self) -> None:
        usual = self._usual
        for trials in self._by_option.values():
            trials.compare(self._standing, usual)

    def _turn_to(self, now: str, known: Statistics) -> None:
        """Compare what was tried with another option, which stands from now on."""
        before, mine = self._now, self._by_option.get(now, OptionTrials())
        others = [option for option in reversed(self.options) if option != now]
        self._now = now
        if before is not None and mine.ratios and self._last:
            back = OptionTrials(counted=self.counted)
            back.ratios.extend(tuple(-each for each in one) for one in mine.ratios)
            self._by_option = {
                option: back if option == before else self._by_option[option].shifted(mine.q)
                for option in others
            }
            self._last = deque((one + mine.q for one in self._last), maxlen=self._last.maxlen)
            self._returning = self.settling
            self._looked_at = self._seconds
            self._compare()
            return
        self._looked_at = math.inf
        self._by_option = {option: OptionTrials(counted=self.counted) for option in others}
        self._last.clear()
        self._standing.clear()
        stood = known.median(now)
        if known.recorded == 0 and stood:
            # it was stored when the option was chosen
            self._last.extend([logarithm(stood)] * self._compared)
            for option, trials in self._by_option.items():
                if known.runs(option):
                    ratio = logarithm(known.median(option) or 0.0) - logarithm(stood)
                    trials.ratios.append((ratio,) * self._compared)
            self._compare()

    @property
    def _compared(self) -> int:
        """With how many of the ticks before it a trial is compared."""
        return COMPARED if self.counted == 1 else 2 * COMPARED

    @property
    def _seconds(self) -> float:
        """What a tick takes with the option that stands."""
        return math.exp(statistics.median(self._last))

    @property
    def _mean(self) -> float:
        """What the last ticks with it took on the average.

        Of ticks that take less and more in turn the median is that of one kind: trials would seem
        to save, or cost, what they do not.
        """
        return math.fsum(map(math.exp, self._last)) / len(self._last)

    def _expected(self, option: str) -> float:
        """Return what a tick is expected to take with an option."""
        trials = self._by_option.get(option)
        return self._seconds * (1.0 if trials is None else math.exp(trials.q))

    def _look(self, known: Statistics) -> Proposal | None:
        """Return another trial of an option, if it is time for one and the budget affords it."""
        option = min(self._by_option, key=lambda one: self._by_option[one].left)
        trials = self._by_option[option]
        if trials.left > 0 and self._seconds <= RISEN * self._looked_at:
            return None
        # if the one that stands has become slower, the other one need not have
        expected = min(self._expected(option), known.median(option) or math.inf)
        longer = (self.counted + self.settling) * max(expected - self._seconds, 0.0)
        times = PROMISING_BUDGETS if trials.is_promising else 1.0
        if not self.budget.affords(longer, times, is_in_all=trials.is_promising, who=self):
            return None
        # nothing was taken by a trial that was undone with its first tick
        self.budget.looking += longer - self._expected_extra
        self._expected_extra = longer
        self._looked_at = self._seconds
        trials.wait(self._drawn.uniform(0.5, 1.5))
        return self._begin(option)


def _compared(best: str, seconds: dict[str, float]) -> str:
    """Return in words what was measured.

    >>> _compared("whole", {"staged": 0.0025, "whole": 0.001})
    'a tick took 1.00 ms with whole, 2.50 ms with staged'
    """
    order = sorted(seconds, key=lambda option: (option != best, option))
    return "a tick took " + ", ".join(f"{1e3 * seconds[o]:.2f} ms with {o}" for o in order)
