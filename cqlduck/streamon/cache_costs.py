"""What the pipelines of a join cost with caches, and without (thesis, section 5.5.1).

In the paper the benefit of a cache is the cost of the segment for the tuples that hit it, less that
of probing, and its cost is that of updating it. Here a step joins a whole delta with an input. What
that takes is modelled as

    fixed + scan · rows of the input + row · (rows in + rows out)

because in a set engine the fixed part and the scan are most of a small tick. A cache makes one step
of several, whose input is the cache; the pipelines of its own inputs go through the segment first,
and on from there together. Of a tuple that has met a set S of inputs N(S) rows are made, as a
sample says (`join_orders`); so a cache has |R| · N(S) rows, by each of its inputs R.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from cqlduck.rewrite.plan.join_graph import mask_of
from cqlduck.rewrite.plan.orders import Order
from cqlduck.rewrite.plan.segments import Segment, Segments
from cqlduck.streamon.join_orders import Matches

FIXED, SCAN, ROW = 2e-4, 4e-9, 6e-8
"""Seconds of a step, for a row that it scans, and for one that goes in or comes out."""

APPEND = 1e-7
"""Seconds for a row that is appended to a cache."""

MAX_SEARCHED = 6
"""Of how many inputs caches are searched that are there together; of more it is one cache."""


@dataclass(frozen=True)
class Costs:
    """What is known of the pipelines of a join.

    Attributes:
        matches: Of the pipelines what their tuples match, by the input that changes.
        orders: The orders of all pipelines, by the same.
        ends: The inputs whose tuples say when they end.
        running: The inputs whose pipelines are not always empty in the whole join.
        alive: How many rows each input has.
        delta: How many rows of each input begin or end in a tick.
    """

    matches: Mapping[int, Matches]
    orders: Mapping[int, Order]
    ends: Collection[int]
    running: Collection[int]
    alive: Sequence[float]
    delta: Sequence[float]

    def rows_of(self, unit: Segment) -> float:
        """Return how many rows an input has, or the cache of a segment; infinity is not known."""
        if len(unit) == 1:
            return self.alive[unit[0]]
        if not all(self._is_profiled(place, unit) for place in unit if self.delta[place]):
            return math.inf
        met = mask_of(unit)
        found = [
            self.alive[place] * self.matches[place].size(met & ~(1 << place))
            for place in unit
            if self._is_profiled(place, unit)
        ]
        found = found or [*self._met_on_the_way(unit)]
        return sum(found) / len(found) if found else math.inf

    def _is_profiled(self, place: int, segment: Segment) -> bool:
        """Return whether it is known what an input matches in a segment: no path leads outside."""
        known = self.matches.get(place)
        if known is None:
            return False
        others = [known.tree.paths[at] for at in segment if at != place]
        return all(set(path) <= set(segment) for path in others)

    def _met_on_the_way(self, segment: Segment) -> Iterator[float]:
        """Yield how many rows a segment has whose inputs never change, by what others met there.

        Of the rows of its first input on the way each is taken to match as many as those did.
        """
        for root, known in self.matches.items():
            paths = known.tree.paths
            first = min(segment, key=lambda place: len(paths[place]))
            is_on_the_way = all(
                first in paths[at] and set(paths[at][paths[at].index(first) :]) <= set(segment)
                for at in segment
            )
            came = known.size(1 << first)
            if root not in segment and is_on_the_way and came:
                yield self.alive[first] * known.size(mask_of(segment)) / came

    def filling(self, segment: Segment) -> float:
        """Return the seconds that it takes to make the cache of a segment."""
        scanned = sum(self.alive[place] for place in segment)
        return FIXED * len(segment) + SCAN * scanned + (ROW + APPEND) * self.rows_of(segment)

    def of(self, segments: Segments) -> float:
        """Return the seconds of a tick with caches of some segments."""
        return sum(self._parts(segments))

    def _parts(self, segments: Segments) -> Iterator[float]:
        inside = {place: segment for segment in segments for place in segment}
        for place in self.orders:
            if place in self.running and place not in inside and self.delta[place]:
                order = tuple(dict.fromkeys(units_of(self.orders[place], inside)))
                yield from self._steps([place], order)
        for segment in segments:
            changing = [place for place in segment if self.delta[place]]
            for place in changing:
                own = tuple((at,) for at in self.orders[place] if at in segment)
                yield from self._steps([place], own)
            if changing:
                rows = sum(self._rows(place, segment) for place in changing)
                yield FIXED + APPEND * rows / 2
                if not set(segment) <= set(self.ends):
                    # what ends is searched for
                    yield 2 * FIXED + SCAN * self.rows_of(segment)
            if any(place in self.running for place in changing):
                first = self.orders[changing[0]]
                rest = tuple(dict.fromkeys((segment, *units_of(first, inside))))
                yield from self._steps(changing, rest)

    def _rows(self, place: int, met: Sequence[int]) -> float:
        """Return how many rows the delta of an input has become that has met others."""
        known = self.matches.get(place)
        others = mask_of(tuple(at for at in met if at != place))
        return self.delta[place] * (1.0 if known is None else known.size(others))

    def _steps(self, changing: Sequence[int], order: Sequence[Segment]) -> Iterator[float]:
        """Yield what each step takes that deltas go through together."""
        met = list(order[0])
        rows = sum(self._rows(place, met) for place in changing)
        for unit in order[1:]:
            met += unit
            after = sum(self._rows(place, met) for place in changing)
            yield FIXED + SCAN * self.rows_of(unit) + ROW * (rows + after)
            rows = after


def units_of(order: Order, inside: Mapping[int, Segment]) -> Iterator[Segment]:
    """Yield what a pipeline meets: inputs, and caches in the place of theirs."""
    for place in order:
        yield inside.get(place, (place,))


def least(known: Costs, candidates: Sequence[Segment]) -> tuple[Segments, float]:
    """Return the segments whose caches cost the least together, and what; none is a choice, too.

    All sets of segments that have no input in common are searched (5.5.2 to 5.5.3).
    """
    together = len(known.orders) <= MAX_SEARCHED
    best: tuple[Segments, float] = (), known.of(())
    for segments in disjoint(candidates, None if together else 1):
        cost = known.of(segments)
        if cost < best[1]:
            best = segments, cost
    return best


def disjoint(candidates: Sequence[Segment], most: int | None = None) -> Iterator[Segments]:
    """Yield the sets of some segments that have no input in common, but not the empty one."""
    for number, first in enumerate(candidates):
        yield (first,)
        if most == 1:
            continue
        rest = [one for one in candidates[number + 1 :] if not set(one) & set(first)]
        for others in disjoint(rest, None if most is None else most - 1):
            yield tuple(sorted((first, *others)))
