"""What measurements say in spite of noise: medians, and how far from these the truth may be.

The time of a tick varies by a tenth and more, and now and then one takes many times as long. So
samples are summed up by their median, and spread is taken from the median deviation: neither
depends on what single ticks took. All values are logarithms of seconds or of ratios, so that
differences are factors.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Collection

DOUBT = 2.5
"""How many times its error a median may be away from the truth."""

LEAST_SPREAD = 0.015
"""How much a sample is taken to spread at least: a few values may agree by chance."""

LEAST_SECONDS = 1e-9
"""What anything takes at least, so that there is a logarithm."""

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
