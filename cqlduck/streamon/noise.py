"""What measurements say in spite of noise: medians, and how far from these the truth may be.

The time of a tick varies by a tenth and more, and now and then one takes many times as long. So
samples are summed up by their median, and spread is taken from the median deviation: neither
depends on what single ticks took. All values are logarithms of seconds or of ratios, so that
differences are factors.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Collection, Iterable, Sequence

import numpy as np

DOUBT = 2.5
"""How many times its error a median may be away from the truth."""

LEAST_SPREAD = 0.015
"""How much a sample is taken to spread at least: a few values may agree by chance."""

LEAST_SECONDS = 1e-9
"""What anything takes at least, so that there is a logarithm."""

CHANCE = 2.576
"""How many times its error a count is away from the truth in one of a hundred cases."""

SURE = 4.0
"""How many times its error the difference of two samples is, if they are of different tuples."""

CANDIDATES = 64
"""For how many values it is seen whether they may be the median."""

Ratios = tuple[float, ...]
"""Of a tick the logarithms of its seconds over those of each of some ticks before it."""

_SPREAD_OF_DEVIATION, _ERROR_OF_MEDIAN = 1.4826, 1.2533
"""Of a normal distribution: its spread over the median deviation, the error of its median."""


def logarithm(seconds: float) -> float:
    """Return the logarithm of seconds."""
    return math.log(max(seconds, LEAST_SECONDS))


def spread(values: Collection[float]) -> float:
    """Return how much values spread, as a standard deviation."""
    middle = statistics.median(values)
    deviation = statistics.median(abs(one - middle) for one in values)
    return max(_SPREAD_OF_DEVIATION * deviation, LEAST_SPREAD)


def doubt(values: Collection[float]) -> float:
    """Return how far from the median of values the truth may be.

    >>> round(doubt([0.0] * 3), 3), round(doubt([-0.1, 0.0, 0.1] * 4), 3)
    (0.027, 0.134)
    """
    return DOUBT * _ERROR_OF_MEDIAN * spread(values) / math.sqrt(len(values))


def longer(after: Collection[float], before: Collection[float], allowed: float) -> bool | None:
    """Return whether seconds are more than so many times those before; None if it is not clear.

    >>> longer([1.0] * 3, [1.0] * 3, 1.1), longer([1.5] * 3, [1.0] * 3, 1.1)
    (False, True)
    >>> longer([1.0, 1.2, 0.9], [0.9, 1.1, 1.0], 1.05) is None
    True

    Args:
        after: Seconds.
        before: Those before.
        allowed: How many times as long is no longer.
    """
    logs = [[logarithm(one) for one in sample] for sample in (after, before)]
    difference = statistics.median(logs[0]) - statistics.median(logs[1]) - math.log(allowed)
    return None if abs(difference) < math.hypot(*map(doubt, logs)) else difference > 0


def pooled(some: Iterable[Ratios]) -> list[float]:
    """Return the ratios of several ticks as one sample."""
    return [each for one in some for each in one]


def by_chance(ticks: Sequence[Ratios], count: float) -> float:
    """Return by how much the median of some of these ticks may differ from that of all by chance.

    Ticks that take one and two in turn, say, differ by a factor of two from half of those before
    them: so do a few trials that all meet those of two, though they cost nothing more.

    A value x above the median may be that of those that are drawn if half of their ratios are x or
    more. Of one tick c(x) are; the mean of c is half of k then, or less by `CHANCE` times the
    spread of c over √count.

    Args:
        ticks: Ticks that all ran the same, with k ratios each.
        count: How many are drawn.

    >>> flat, turns = [(0.0, 0.0)] * 9, [(-1.0, 0.0), (1.0, 0.0)] * 9
    >>> by_chance(flat, 3), by_chance(turns, 3), by_chance(turns, 60)
    (0.0, 1.0, 0.0)
    """
    table = np.array(ticks)
    values = np.sort(table, axis=None)
    values = values[:: max(len(values) // CANDIDATES, 1)]
    distances = values - np.median(table)
    # those that are as far away or farther, on the same side
    side = np.where(distances < 0, -1.0, 1.0)[:, None, None]
    beyond = (side * table[None] >= side * values[:, None, None]).sum(axis=2)
    missing = (table.shape[1] / 2 - beyond.mean(axis=1)) * math.sqrt(count)
    return float(np.abs(distances)[missing <= CHANCE * beyond.std(axis=1)].max(initial=0.0))


def trial_doubt(trials: Sequence[Ratios], ticks: Sequence[Ratios], count: float) -> float:
    """Return how far the median of trials may be from the truth.

    Args:
        trials: Of one option.
        ticks: Of the one that stands, with which they are compared.
        count: How many trials that have nothing in common say as much as these.
    """
    least = DOUBT * _ERROR_OF_MEDIAN * LEAST_SPREAD / math.sqrt(count)
    return max(least, *(by_chance(some, count) for some in (trials, ticks) if some))


def differ(some: int, of: int, others: int, of_others: int) -> bool:
    """Return whether parts of two samples differ by more than chance makes likely.

    >>> differ(10, 100, 14, 100), differ(10, 100, 50, 100), differ(0, 10, 0, 10)
    (False, True, False)
    """
    pooled = (some + others) / (of + of_others)
    error = math.sqrt(pooled * (1 - pooled) * (1 / of + 1 / of_others))
    return abs(some / of - others / of_others) > SURE * error
