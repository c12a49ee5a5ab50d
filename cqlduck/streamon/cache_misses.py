"""How many keys a partial cache knows, and how many are missed (thesis, sections 5.4.1 and 5.5.3).

In the paper the probability of a miss is b / W_d: of W_d tuples that were looked at b have keys of
their own. There each tuple of a window is; here a probe samples some of a tick now and then, so
that even frequent keys are seen once. So how many keys D there are is estimated from how many were
seen once, and twice (A. Chao, Nonparametric estimation of the number of classes in a population,
1984), which is a lower bound:

    D = b + f₁ (f₁ − 1) / 2 (f₂ + 1)

With s slots some s (1 − e^(−D/s)) of D keys are known that are asked for equally often. If some are
asked for more often than others, more of those that come are known.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable

ROOM = 16
"""For how many times as many keys as there are a partial cache has slots, where memory allows."""

LEAST_SLOTS = 64


def distinct(seen: Iterable[int]) -> float:
    """Return how many different keys there are at least.

    Args:
        seen: The keys of a sample, each as often as it was seen; at least one.

    >>> distinct([7, 7, 7, 7])
    1.0
    >>> distinct([1, 2, 3, 4])
    10.0
    """
    counts = Counter(Counter(seen).values())
    once, twice = counts[1], counts[2]
    return sum(counts.values()) + once * (once - 1) / (2 * (twice + 1))


def slots_of(keys: float, most: float) -> int:
    """Return how many slots a partial cache is to have: a power of two.

    Args:
        keys: How many keys there are.
        most: For how many of them there is memory.
    """
    wanted = max(ROOM * keys, LEAST_SLOTS)
    return 1 << max(0, min(math.ceil(math.log2(wanted)), int(math.log2(max(most, 1.0)))))


def known_of(keys: float, slots: int) -> float:
    """Return how many keys are known, of which so many are asked for.

    >>> round(known_of(1000, 16384)), round(known_of(1000, 1))
    (970, 1)
    """
    return slots * -math.expm1(-keys / slots)


def asked_of(tuples: float, keys: float) -> float:
    """Return how many different keys some tuples ask for.

    >>> round(asked_of(100, 1e9)), round(asked_of(1e9, 100))
    (100, 100)
    """
    return keys * -math.expm1(-tuples / keys)
