"""What the pipelines of a join cost with caches, and without (thesis, section 5.5.1).

In the paper the benefit of a cache is the cost of the segment for the tuples that hit it, less that
of probing, and its cost is that of updating it. Here a step joins a whole delta with an input, and
the steps of a pipeline are one statement. What that takes is modelled as

    statement + Σ (step + scan · rows of the input + row · (rows in + rows out))

because in a set engine fixed parts are most of a small tick: to plan a statement, and each join in
it. How long they take depends on the machine, and on how wide the rows are; so they are fitted to
what the statements of the join really take (`Costs.fitted`). A cache makes one step of several,
whose input is the cache; the pipelines of its own inputs go through the segment first, and on from
there together, by one statement more. A pipeline outside of it uses it if that costs the least. Of
a tuple that has met a set S of inputs N(S) rows are made, as a sample says (`join_orders`); so a
cache has |R| · N(S) rows, by each of its inputs R.

A partial cache has the rows of the keys that it knows (`cache_misses`). Each key that is missed
goes through the segment, as a tuple does without a cache, and a few statements are needed for all
of them: which ones they are, what they drive out, and to add them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import NamedTuple

from cqlduck.rewrite.plan.join_graph import mask_of
from cqlduck.rewrite.plan.orders import Order
from cqlduck.rewrite.plan.partial import Link, keys_of
from cqlduck.rewrite.plan.segments import (
    Cached,
    Caching,
    Segment,
    met,
    units,
    used,
)
from cqlduck.streamon.cache_misses import asked_of, known_of
from cqlduck.streamon.candidates import Candidate, candidates
from cqlduck.streamon.join_orders import Matches
from cqlduck.streamon.orders import ALPHA
from cqlduck.streamon.selection import Prices

STATEMENT, STEP, SCAN, ROW = 1.8e-3, 2.1e-3, 4e-9, 6e-8
"""Seconds of a pipeline, of each of its steps, for a row that this one scans, and for one that goes
in or comes out."""

TABLE, UPKEEP, APPEND = 6e-4, 1.8e-3, 6e-8
"""Seconds to make the table of a cache's changes, to make it and append these, and for a row."""

LEAST_FIXED, MOST_FIXED = 0.1, 4.0
"""How many times as long fixed parts may take as these constants say."""

SEARCH, SEARCH_SCAN, DELETE = 6e-3, 2e-8, 1e-6
"""Seconds to search a cache for what ends where nothing says when, for a row that it has, and for
one that is deleted: the statements of a tick in which something ends."""

MISSING = 5e-3
"""Seconds of the statements for the keys that are missed in a tick, besides those of the join."""


class Known(NamedTuple):
    """What a partial cache knows.

    Attributes:
        of: How many keys there are.
        keys: How many of them it knows.
        rows: How many rows they have.
        asked: For how many a tick asks.
        missed: How many of these it does not know.
    """

    of: float
    keys: float
    rows: float
    asked: float
    missed: float


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
        links: The equalities by which pipelines ask for keys of partial caches.
        keys: How many keys the tuples of an input have in some columns.
        fixed: How many times as long fixed parts take as the constants say.
    """

    matches: Mapping[int, Matches]
    orders: Mapping[int, Order]
    ends: Collection[int]
    running: Collection[int]
    alive: Sequence[float]
    delta: Sequence[float]
    links: Sequence[Link] = ()
    keys: Mapping[tuple[int, tuple[str, ...]], float] = field(default_factory=dict)
    fixed: float = 1.0
    _known: dict[tuple[Segment, tuple[Segment, ...]], float] = field(
        default_factory=dict, init=False, compare=False
    )
    _rows_of: dict[Segment, float] = field(default_factory=dict, init=False, compare=False)

    def fitted(self, caching: Caching, seconds: float) -> Costs:
        """Return the same with fixed parts by which a tick with caches takes what it really takes.

        Args:
            caching: The caches with which it ran.
            seconds: What the statements of the join took.
        """
        least, usual = replace(self, fixed=0.0).of(caching), replace(self, fixed=1.0).of(caching)
        if not math.isfinite(usual) or usual <= least:
            return self
        times = (seconds - least) / (usual - least)
        return replace(self, fixed=min(max(times, LEAST_FIXED), MOST_FIXED))

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
        steps = self.fixed * (STATEMENT + STEP * (len(segment) - 1))
        return steps + SCAN * scanned + (ROW + APPEND) * self.rows_of(segment)

    def maintenance(self, segment: Segment) -> float:
        """Return the seconds that it takes in a tick to keep the cache of a segment up to date.

        Its changes are made anyway, by the pipelines of its inputs, which begin with it (5.5.1).
        """
        changing = [place for place in segment if self.delta[place]]
        if not changing:
            return 0.0
        begin = sum(self._rows(place, mask_of(segment)) for place in changing) / 2
        # where nothing begins nothing is appended
        upkeep = self.fixed * (TABLE - math.expm1(-begin) * (UPKEEP - TABLE))
        return upkeep + APPEND * begin + self._searching(segment, begin, self.rows_of(segment))

    def _searching(self, segment: Segment, end: float, rows: float) -> float:
        """Return the seconds that it takes in a tick to find what ends, and to delete it.

        Args:
            segment: The segment of a cache.
            end: How many of its rows end in a tick.
            rows: How many it has.
        """
        if set(segment) <= set(self.ends):
            return 0.0
        return -math.expm1(-end) * (self.fixed * SEARCH + SEARCH_SCAN * rows) + DELETE * end

    def of(self, caching: Caching) -> float:
        """Return the seconds of a tick with caches of some segments."""
        whole = tuple(range(len(self.orders)))
        sizes = {one.segment: self.rows_in(one) for one in caching if one.slots is not None}
        pipelines = (
            self.pipeline(unit, met(caching, unit, level), level, sizes)
            for level in (whole, *(one.segment for one in caching))
            for unit in units(caching, level)
        )
        kept = (self._kept(one) for one in caching)
        return sum(pipelines) + sum(kept)

    def rows_in(self, one: Cached) -> float:
        """Return how many rows a cache has; infinity is not known."""
        if one.slots is None:
            return self.rows_of(one.segment)
        known = self.known_by(one)
        return math.inf if known is None else known.rows

    def known_by(self, one: Cached) -> Known | None:
        """Return what a partial cache knows, or None if nothing is known of its keys."""
        if one.slots is None or one.users is None or len(one.users) != 1:
            return None
        (user,) = one.users
        columns = tuple(c for (c,) in keys_of(self.links, one.segment, one.users).values())
        keys, matches = self.keys.get((user, columns)), self.matches.get(user)
        if not keys or matches is None:
            return None
        asked = asked_of(self.delta[user], keys)
        # what the last tick has asked for is known, and what no other has driven out
        unknown = (1 - known_of(keys, one.slots) / keys) * (1 - asked / keys)
        known = keys * (1 - unknown)
        fanout = matches.size(mask_of(one.segment))
        return Known(keys, known, known * fanout, asked, asked * unknown)

    def _kept(self, one: Cached) -> float:
        """Return the seconds that it takes in a tick to keep a cache, and to look misses up."""
        if one.slots is None:
            return self.maintenance(one.segment)
        known = self.known_by(one)
        if known is None or one.users is None:
            return math.inf
        (user,) = one.users
        changing = [place for place in one.segment if self.delta[place]]
        appended = sum(self._rows(place, mask_of(one.segment)) for place in changing) / 2
        part = known.rows / max(self.rows_of(one.segment), known.rows, 1.0)
        found = self.fixed * UPKEEP * (1 + bool(changing)) + APPEND * appended * part
        found += self._searching(one.segment, appended * part, known.rows)
        # which ones are missed
        found += SCAN * known.keys + ROW * self.delta[user]
        if known.missed:
            order = [(user,), *((at,) for at in self.orders[user] if at in one.segment)]
            part = known.missed / self.delta[user]
            rows = sum(self._steps([user], order, part)) - sum(self._steps([user], order, 0.0))
            # fixed parts and scans come in those ticks in which any is missed
            often = -math.expm1(-known.missed)
            fixed = self.fixed * (MISSING + STATEMENT)
            found += often * (fixed + sum(self._steps([user], order, 0.0))) + rows
            found += (often * SCAN + APPEND * known.missed / known.keys) * known.rows
        return found

    def pipeline(
        self,
        unit: Segment,
        seen: tuple[Segment, ...],
        level: Segment,
        sizes: Mapping[Segment, float] | None = None,
    ) -> float:
        """Return what the pipeline of a unit takes.

        Args:
            unit: The unit.
            seen: All units, as it meets them.
            level: The inputs of all of them.
            sizes: The rows of partial caches, by segment.
        """
        key = unit, seen
        is_whole = not sizes or not sizes.keys() & set(seen)
        found = self._known.get(key) if is_whole else None
        if found is None:
            changing = [place for place in unit if self.delta[place]]
            if len(level) == len(self.orders) and not set(changing) & set(self.running):
                changing = []
            found = 0.0
            if changing:
                within = {place: other for other in seen for place in other}
                met_then = (within[at] for at in self.orders[changing[0]] if at in within)
                order = [*dict.fromkeys([unit, *met_then])]
                steps = sum(self._steps(changing, order, sizes=sizes or {}))
                found = self.fixed * STATEMENT + steps
                if len(unit) > 1:
                    # it does not run if nothing begins or ends in its segment
                    rows = sum(self._rows(place, mask_of(unit)) for place in changing)
                    found *= -math.expm1(-rows)
            if is_whole:
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

    def _steps(
        self,
        changing: Sequence[int],
        order: Sequence[Segment],
        part: float = 1.0,
        sizes: Mapping[Segment, float] = MappingProxyType({}),
    ) -> Iterator[float]:
        """Yield what each step takes that deltas, or a part of them, go through together."""
        seen = mask_of(order[0])
        rows = sum(self._rows(place, seen) for place in changing)
        for unit in order[1:]:
            seen |= mask_of(unit)
            after = sum(self._rows(place, seen) for place in changing)
            scanned = sizes[unit] if unit in sizes else self.rows_of(unit)
            yield self.fixed * STEP + SCAN * scanned + ROW * part * (rows + after)
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
