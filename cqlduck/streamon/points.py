"""The points of choice: their options, their owners, and the sizes of ticks they tell apart."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from cqlduck.state.input_buffer import Place
from cqlduck.state.tick import PASSING, PREFETCH

STAGES, THREADS, ARRIVALS, OUTPUT = "stages", "threads", "arrivals", "output"

STAGED, UNSTAGED = "staged", "whole"
ONE, ALL = "one", "all"
AHEAD, IN_TICK = "ahead", "in tick"
COLUMNS, STATEMENT = "columns", "statement"
BUFFER, LOG = "buffer", "log"


@dataclass(frozen=True)
class Kind:
    """A kind of points.

    Attributes:
        name: Its name.
        of: Whose points they are.
        options: What may be chosen; the first is the default.
        about: What it is, for people to read.
    """

    name: str
    of: Literal["database", "stream", "query", "operator"]
    options: tuple[str, ...]
    about: str


KINDS: Mapping[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind(
            STAGES,
            "query",
            (STAGED, UNSTAGED),
            "whether deltas are materialized in a temporary table before they meet a state",
        ),
        Kind(
            THREADS,
            "database",
            (ONE, ALL),
            "how many threads run the statements of a tick",
        ),
        Kind(
            PREFETCH,
            "operator",
            (AHEAD, IN_TICK),
            "whether the work on arrivals alone is prefetched while the previous tick runs",
        ),
        Kind(
            PASSING,
            "operator",
            (COLUMNS, STATEMENT),
            "whether columns of the arrivals are passed on unchanged, or read by a statement",
        ),
        Kind(
            ARRIVALS,
            "stream",
            tuple(place.value for place in Place),
            "where arrivals are for a tick: in memory alone, as far as no later tick can need "
            "it; in memory and in the store; or in the store alone",
        ),
        Kind(
            OUTPUT,
            "query",
            (BUFFER, LOG),
            "whether elements are buffered in memory before they are flushed into their log",
        ),
    )
}
"""All kinds of points, by name."""


@dataclass(frozen=True)
class Facts:
    """What is known of a tick before it runs.

    Attributes:
        elements: How many elements come, or None if that is not known.
        is_first: Whether it is the first tick of the query since the database was opened.
        stored: Says about how many rows the tick may meet; to ask takes a while.
    """

    elements: int | None = None
    is_first: bool = False
    stored: Callable[[], int] = int


_ONE, _SEVERAL = "one instant", "several instants"


def is_single(ticks: str) -> bool:
    """Return whether ticks have one instant, by the words for them (`sized`)."""
    return ticks.startswith(_ONE)


@functools.lru_cache(maxsize=256)
def sized(single: bool, elements: int | None, most: int) -> str:
    """Return which ticks are like one of so many elements, in words.

    Args:
        single: Whether it has one instant.
        elements: How many elements come, or None if that is not known.
        most: From how many on ticks are all alike.

    >>> sized(True, 100, 400_000)
    'one instant, 32 to 127 elements'
    >>> sized(False, None, 400_000)
    'several instants, of unknown size'
    """
    instants = _ONE if single else _SEVERAL
    if elements is None:
        return f"{instants}, of unknown size"
    if elements > most:
        return f"{instants}, over {most} elements"
    size = elements.bit_length() // 2
    low, high = (0 if size == 0 else 4**size // 2), 2 * 4**size - 1
    return f"{instants}, {low} to {min(high, most)} elements"
