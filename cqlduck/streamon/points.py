"""The points of choice: their options, their owners, and the sizes of ticks they tell apart."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from cqlduck.rewrite.plan.orders import FILTERS, ORDER, order_of
from cqlduck.rewrite.plan.searches import SEARCH, key_of
from cqlduck.rewrite.plan.segments import CACHES, caching_of_text
from cqlduck.rewrite.statements.ordered import Ordered
from cqlduck.rewrite.statements.refreshing import INCREMENTAL, RECOMPUTED
from cqlduck.state.input_buffer import Place
from cqlduck.state.tick_plan import PASSING, PREFETCH

STAGES, THREADS, ARRIVALS, OUTPUT = "stages", "threads", "arrivals", "output"
ORDERING, CACHING = "ordering", "caching"
ANSWER = "answer"

STAGED, REDUCED, STEPWISE = "staged", "reduced", "stepwise"
INTERVALS, UNSTAGED = "intervals", "whole"
ONE, ALL = "one", "all"
AHEAD, IN_TICK = "ahead", "in tick"
COLUMNS, STATEMENT = "columns", "statement"
BUFFER, LOG = "buffer", "log"
WRITTEN = "written"
PLANNED = "planned"
NONE = "none"
SCAN = "scan"
OPTIMUM, A_GREEDY, SWEEP = "optimum", "a-greedy", "sweep"
INDEPENDENT, LOCAL_SWAPS = "independent", "local-swaps"
A_CACHING, EXHAUSTIVE, GLOBAL = "a-caching", "exhaustive", "global"


@dataclass(frozen=True)
class Kind:
    """A kind of points.

    Attributes:
        name: Its name.
        of: Whose points they are.
        options: What may be chosen; the first is the default.
        about: What it is, for people to read.
        example: What else are options than those listed, as people write it; nothing if no others.
        is_option: Whether a text is such another option.
    """

    name: str
    of: Literal["database", "stream", "query", "operator"]
    options: tuple[str, ...]
    about: str
    example: str = ""
    is_option: Callable[[str], bool] | None = None

    def has(self, pin: str) -> bool:
        """Return whether something is an option, or several with commas between."""
        if pin in self.options:
            return True
        return self.is_option is not None and all(map(self.is_option, pin.split(",")))


def _is_order(text: str) -> bool:
    return order_of(text) is not None


def _is_caching(text: str) -> bool:
    return caching_of_text(text) is not None


def _is_key(text: str) -> bool:
    return key_of(text) is not None


_AN_ORDER = "an order such as '2 1'"

KINDS: Mapping[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind(
            STAGES,
            "query",
            (STAGED, UNSTAGED, REDUCED, STEPWISE, INTERVALS),
            "whether deltas are materialized in a temporary table before they meet a state; with "
            "reduced a state that they meet by several columns is reduced by the values of each, "
            "with stepwise each input of a join is met in a statement of its own until nothing is "
            "left, with intervals what an aggregate has of comparisons is summed up between their "
            "bounds",
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
            "it; in memory and in the store; or in the store alone; of a relation, in memory or in "
            "the queue until their instants close",
        ),
        Kind(
            OUTPUT,
            "query",
            (BUFFER, LOG),
            "whether elements are buffered in memory before they are flushed into their log",
        ),
        Kind(
            FILTERS,
            "operator",
            (WRITTEN,),
            "in which order the filters of a selection are tested, counted from 1 as EXPLAIN "
            "shows them; written leaves it to DuckDB",
            example=_AN_ORDER,
            is_option=_is_order,
        ),
        Kind(
            ORDER,
            "operator",
            (PLANNED,),
            "in which order the delta of an input of a join meets the other inputs, all counted "
            "from 1 as EXPLAIN shows them, the one that changes first; planned is what the plan "
            "gives: what matches once first, then as in the text",
            example=_AN_ORDER,
            is_option=_is_order,
        ),
        Kind(
            CACHES,
            "operator",
            (NONE,),
            "which inputs of a join have their combinations in a cache, counted from 1 as EXPLAIN "
            "shows them: 2+3 is the cache of the second and the third, 1+2 3+4 are two, 2+3@1 is "
            "used by the pipeline of the first alone",
            example="inputs such as '2+3', or of two caches '1+2 3+4'",
            is_option=_is_caching,
        ),
        Kind(
            SEARCH,
            "operator",
            (SCAN,),
            "how a delta finds the groups of an aggregate, and changes the rows of a relation: by "
            "a scan, or through an index on one of its keys, counted from 1: of an aggregate as "
            "EXPLAIN shows them, of a relation without a primary key all columns",
            example="the number of a key such as '1'",
            is_option=_is_key,
        ),
        Kind(
            ANSWER,
            "query",
            (INCREMENTAL, RECOMPUTED),
            "whether a query's answer is kept up incrementally, or the whole query is answered "
            "anew at each instant at which an input changes, by DuckDB's own plan",
        ),
        Kind(
            ORDERING,
            "query",
            (OPTIMUM, A_GREEDY, SWEEP, INDEPENDENT, LOCAL_SWAPS),
            "which algorithm orders the filters, and the inputs of joins",
        ),
        Kind(
            CACHING,
            "query",
            (OPTIMUM, A_CACHING, EXHAUSTIVE, GLOBAL),
            "which algorithm selects the caches of joins: optimum searches all sets of them, the "
            "others begin with those that go with the orders of the pipelines",
        ),
    )
}
"""All kinds of points, by name."""


def _optimum() -> str:
    """Return the default algorithm."""
    return OPTIMUM


@dataclass(frozen=True)
class Facts:
    """What is known of a tick before it runs.

    Attributes:
        elements: How many elements come, or None if that is not known.
        is_first: Whether it is the first tick of the query since the database was opened.
        stored: Says about how many rows the tick may meet; to ask takes a while.
        about: What is ordered at the point, if an order is chosen there.
        algorithm: Says which algorithm orders it, or selects its caches.
        refuses: Says whether what does not stand at a point of two options cannot be had.
        is_single: Whether the tick has one instant.
        is_reducible: Whether states may be reduced by the keys of stages.
        has_steps: Whether pipelines of joins have several steps.
        has_intervals: Whether what meets bounds of a relation may be summed up by interval.
        ticks: For how many it stands: itself, and those before it that were not looked at.
    """

    elements: int | None = None
    is_first: bool = False
    stored: Callable[[], int] = int
    about: Ordered | None = None
    algorithm: Callable[[], str] = _optimum
    refuses: Callable[[], bool] = bool
    is_single: bool = False
    is_reducible: bool = False
    has_steps: bool = False
    has_intervals: bool = False
    ticks: int = 1


def suited(pin: str, about: Ordered | None) -> str | None:
    """Return the option to which a pin brings a point, or None if it is none of its options.

    Args:
        pin: An option, or several with commas between, of which each point takes the first that is
            one of its own.
        about: What is chosen there.
    """
    if about is None:
        return pin
    found = (about.option(part.strip()) for part in pin.split(","))
    return next((option for option in found if option is not None), None)


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
