"""What the pipelines of a join cost with caches, and without (thesis, section 5.5.1).

In the paper the benefit of a cache is the cost of the segment for the tuples that hit it, less that
of probing, and its cost is that of updating it. Here a step joins a whole delta with an input. What
that takes is modelled as

    fixed + scan · rows of the input + row · (rows in + rows out)

because in a set engine the fixed part and the scan are most of a small tick. A cache makes one step
of several, whose input is the cache; the pipelines of its own inputs go through the segment first,
and on from there together. A pipeline outside of it uses it if that costs the least. Of
a tuple that has met a set S of inputs N(S) rows are made, as a sample says (`join_orders`); so a
cache has |R| · N(S) rows, by each of its inputs R.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from cqlduck.rewrite.plan.join_graph import mask_of
from cqlduck.rewrite.plan.orders import Order
from cqlduck.rewrite.plan.segments import (
    Cached,
    Caching,
    Segment,
    met,
    units,
    used,
)
from cqlduck.streamon.candidates import Candidate, candidates
from cqlduck.streamon.join_orders import Matches
from cqlduck.streamon.orders import ALPHA
from cqlduck.streamon.selection import Prices

FIXED, SCAN, ROW = 2e-4, 4e-9, 6e-8
"""Seconds of a step, for a row that it scans, and for one that goes in or comes out."""

APPEND = 1e-7
"""Seconds for a row that is appended to a cache."""


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
    _known: dict[tuple[Segment, tuple[Segment, ...]], float] = field(
        default_factory=dict, compare=False
    )
    _rows_of: dict[Segment, float] = field(default_factory=dict, compare=False)

    def rows_of(self, unit: Segment) -> float:
        """Return how many rows an input has, or the cache of a segment; infinity is not known."""
        if len(unit) == 1:
            return self.alive[unit[0]]
        if unit not in self._rows_of:
            self._rows_of[unit] = self._estimated(unit)
        return self._rows_of[unit]

    def _estimated(self, unit: Segment) -> float:
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

    def maintenance(self, segment: Segment) -> float:
        """Return the seconds that it takes in a tick to keep the cache of a segment up to date.

        Its changes are made anyway, by the pipelines of its inputs, which begin with it (5.5.1).
        """
        changing = [place for place in segment if self.delta[place]]
        if not changing:
            return 0.0
        found = FIXED + APPEND * sum(self._rows(place, mask_of(segment)) for place in changing) / 2
        if not set(segment) <= set(self.ends):
            # what ends is searched for
            found += 2 * FIXED + SCAN * self.rows_of(segment)
        return found

    def of(self, caching: Caching) -> float:
        """Return the seconds of a tick with caches of some segments."""
        whole = tuple(range(len(self.orders)))
        pipelines = (
            self.pipeline(unit, met(caching, unit, level), level)
            for level in (whole, *(one.segment for one in caching))
            for unit in units(caching, level)
        )
        return sum(pipelines) + sum(self.maintenance(one.segment) for one in caching)

    def pipeline(self, unit: Segment, seen: tuple[Segment, ...], level: Segment) -> float:
        """Return what the pipeline of a unit takes.

        Args:
            unit: The unit.
            seen: All units, as it meets them.
            level: The inputs of all of them.
        """
        key = unit, seen
        found = self._known.get(key)
        if found is None:
            changing = [place for place in unit if self.delta[place]]
            if len(level) == len(self.orders) and not set(changing) & set(self.running):
                changing = []
            found = 0.0
            if changing:
                within = {place: other for other in seen for place in other}
                order = (within[at] for at in self.orders[changing[0]] if at in within)
                found = sum(self._steps(changing, [*dict.fromkeys([unit, *order])]))
            self._known[key] = found
        return found

    def used(self, segments: Collection[Segment]) -> Caching | None:
        """Return caches of segments, each used by the pipelines for which it costs the least.

        A pipeline uses the largest ones that it can, unless others, or none, cost clearly less.
        None is that one of them is used by no pipeline.
        """
        caching = tuple(Cached(segment) for segment in sorted(segments))
        whole = tuple(range(len(self.orders)))
        users: dict[Segment, set[int]] = {segment: set() for segment in segments}
        for level in (whole, *segments):
            for unit in units(caching, level):
                best, least_cost = None, math.inf
                for seen in _alternatives(caching, unit, level):
                    cost = self.pipeline(unit, seen, level)
                    if best is None or cost < ALPHA * least_cost:
                        best, least_cost = seen, cost
                for other in best or ():
                    if len(other) > 1 and other != unit:
                        users[other].update(unit)
        if not all(users.values()):
            return None
        return used(
            tuple(Cached(segment, tuple(sorted(mine))) for segment, mine in sorted(users.items())),
            len(whole),
        )

    def prices(self) -> tuple[list[Candidate], Prices]:
        """Return the candidates of the orders that there are, and what they take."""
        some = candidates(self.orders)
        steps, uses = {}, {}
        for place, order in self.orders.items():
            is_running = place in self.running and self.delta[place]
            alone = [(at,) for at in order]
            steps[place] = (
                [*self._steps([place], alone)] if is_running else [0.0] * (len(order) - 1)
            )
        for one in some:
            order = self.orders[one.pipeline]
            before = [(at,) for at in order[: one.first]]
            found = [*self._steps([one.pipeline], [*before, one.segment])][-1]
            uses[one] = found if any(steps[one.pipeline]) else 0.0
        return some, Prices(steps, uses, {one.cache: self.maintenance(one.segment) for one in some})

    def _rows(self, place: int, met: int) -> float:
        """Return how many rows the delta of an input has become that has met a set of others."""
        known = self.matches.get(place)
        return self.delta[place] * (1.0 if known is None else known.size(met & ~(1 << place)))

    def _steps(self, changing: Sequence[int], order: Sequence[Segment]) -> Iterator[float]:
        """Yield what each step takes that deltas go through together."""
        seen = mask_of(order[0])
        rows = sum(self._rows(place, seen) for place in changing)
        for unit in order[1:]:
            seen |= mask_of(unit)
            after = sum(self._rows(place, seen) for place in changing)
            yield FIXED + SCAN * self.rows_of(unit) + ROW * (rows + after)
            rows = after


def _alternatives(caching: Caching, unit: Segment, level: Segment) -> Iterator[tuple[Segment, ...]]:
    """Yield what a pipeline may meet of all units, the largest caches first."""

    def of(other: Segment) -> list[tuple[Segment, ...]]:
        if len(other) == 1 or other == unit:
            return [(other,)]
        inside = itertools.product(*map(of, units(caching, other)))
        return [(other,), *(tuple(itertools.chain(*parts)) for parts in inside)]

    for parts in itertools.product(*map(of, units(caching, level))):
        yield tuple(itertools.chain(*parts))
