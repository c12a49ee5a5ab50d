"""What the trials of one option have found, and when it is tried again (see `trials`)."""

from __future__ import annotations

import math
import statistics
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from cqlduck.streamon.noise import Ratios, pooled, spread, trial_doubt
from cqlduck.streamon.profiler import MEASURED_TICKS, SLOW_RATIO

TRIALS = MEASURED_TICKS
"""How often each option is tried before anything is decided."""

REMEMBERED_TRIALS = 64
"""How many of the last trials of an option count, and of the ticks with the one that stands."""

OWN = 0.6
"""How much a tick says of a trial of which several count, compared with one that is a trial by
itself, as all of them are compared with the same ticks: for six it is (1 + 1.57 / 4) / (1 / 6 +
1.57 / 8) / 6, where 1.57 / n is the variance of a median of n."""

CONTRADICTING = 4.0
"""How many times their spread a trial is away from those before if these are of another time."""

LEAST_GAIN = 0.01
"""Which part of a tick an option has to save to be worth a switch."""

PROMISING_GAIN, PROMISING_BUDGETS = 0.05, 5.0
"""Which part of a tick an option has to seem to save for so many times the budget to be spent on
trials, until that is clear."""

SETTLED_TRIALS = 16
"""After how many trials little is to be expected of an option that seems to save less than that."""

DECISIVE_RATIO = SLOW_RATIO / 2
"""How many times longer the one takes than the other when a trial is enough."""

UNDECIDED_LOOK, FIRST_LOOK, LAST_LOOK = 4, 32, 1024
"""After how many ticks an option is tried again: while nothing is clear, for each tick of a trial
that counts, then at first, at last; half as many more or less, as it is drawn."""


@dataclass
class OptionTrials:
    """What the trials of an option have found.

    Attributes:
        ratios: Of its last trials the ratios to the ticks before them.
        left: After how many ticks it is tried again.
        interval: How many these were.
        counted: How many ticks of a trial count.
        q: How much longer a tick takes than with the option that stands, as a logarithm.
        doubt: How far that may be from the truth.
    """

    ratios: deque[Ratios] = field(default_factory=lambda: deque(maxlen=REMEMBERED_TRIALS))
    left: int = FIRST_LOOK
    interval: int = FIRST_LOOK
    counted: int = 1
    q: float = 0.0
    doubt: float = math.inf

    def compare(self, standing: Sequence[Ratios], usual: float) -> None:
        """Compare the trials with the ticks that ran the option that stands.

        Args:
            standing: The ratios of these.
            usual: Their median.
        """
        if not self.ratios:
            self.q, self.doubt = 0.0, math.inf
            return
        self.q = statistics.median(pooled(self.ratios)) - usual
        alone = len(self.ratios) * (1.0 if self.counted == 1 else OWN)
        self.doubt = trial_doubt(self.ratios, standing, alone)

    @property
    def is_known(self) -> bool:
        """Whether there were enough trials for anything to be decided."""
        if not self.ratios:
            return False
        return self._is_tried or self.q >= math.log(DECISIVE_RATIO)

    @property
    def _is_tried(self) -> bool:
        return len(self.ratios) >= TRIALS * self.counted

    @property
    def is_faster(self) -> bool:
        """Whether the option is to take the place of the one that stands."""
        return self._is_tried and self.q + self.doubt < math.log(1 - LEAST_GAIN)

    @property
    def is_slower(self) -> bool:
        """Whether it is clear that the option that stands is better."""
        if not self._is_tried:
            return self.is_known
        return self.q - self.doubt > 0

    @property
    def is_promising(self) -> bool:
        """Whether it seems to be faster, which is not clear yet."""
        return self.q < math.log(1 - PROMISING_GAIN)

    @property
    def is_settled(self) -> bool:
        """Whether further trials would hardly change which option stands."""
        tried = len(self.ratios) >= SETTLED_TRIALS * self.counted
        return self.is_slower or (tried and not self.is_promising)

    def contradicts(self, ratios: Ratios, standing: Sequence[Ratios], usual: float) -> bool:
        """Return whether a trial is so fast that those before are of another time."""
        away = CONTRADICTING * spread([statistics.median(one) for one in standing or [ratios]])
        found = statistics.median(ratios) - usual
        return self.is_slower and found < min(math.log(1 - LEAST_GAIN), self.q - away)

    def shifted(self, by: float) -> OptionTrials:
        """Return it compared with another option, that has so large a q."""
        found = OptionTrials(counted=self.counted)
        found.ratios.extend(tuple(each - by for each in one) for one in self.ratios)
        return found

    def wait(self, drawn: float) -> None:
        """Have the next trial come soon if nothing is clear yet, else ever later.

        Args:
            drawn: By which factor it comes later or sooner than on the average.
        """
        if self.is_slower or len(self.ratios) >= REMEMBERED_TRIALS:
            self.interval = min(2 * self.interval, LAST_LOOK)
        else:
            self.interval = UNDECIDED_LOOK * self.counted
        self.left = round(drawn * self.interval)
