"""The policy of `caches` (A-Caching): which segments of a join have one, by what inputs match.

Probes say of samples of the deltas how many combinations the path to each other input has, most of
them on behalf of orders (`joins`), and how many rows all inputs and deltas have. From these follows
what a tick costs with any caches (`cache_costs`). What its statements really take is then expected
to change as the model does. The caches of the least cost are made if they save
`LEAST_SAVED`, and confirmed as other modelled options are (`modelled`). Those that cost more than
they bring are dropped at the next probe, at whatever gain, as the paper does (section 5.5.5). So
are those that have grown to more rows than the memory for them has (section 5.6).
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from cqlduck.rewrite.plan.segments import Cached, Caching, caching_of_text, caching_text, used
from cqlduck.rewrite.statements.ordered import JoinCaches
from cqlduck.rewrite.statements.probes import KEY_TUPLES, MET_TUPLES
from cqlduck.state.filling import Limit
from cqlduck.state.probing import CachesProfiled, Found, JoinProfiled, Wanted
from cqlduck.streamon.budget import FILLING_FRACTION, Budget
from cqlduck.streamon.cache_choice import (
    Algorithm,
    allocated,
    global_optimum,
    least,
    thesis,
    with_partial,
)
from cqlduck.streamon.cache_costs import Costs
from cqlduck.streamon.cache_misses import distinct
from cqlduck.streamon.decisions import Better, Costing, runs, scaled
from cqlduck.streamon.join_orders import MAX_SEARCHED, Matches, optimum
from cqlduck.streamon.modelled import FIRST_PROBES, WINDOW, Modelled
from cqlduck.streamon.noise import differ
from cqlduck.streamon.points import A_CACHING, EXHAUSTIVE, GLOBAL, NONE, OPTIMUM, Facts
from cqlduck.streamon.profiler import Statistics
from cqlduck.streamon.proposals import Proposal
from cqlduck.streamon.selection import exhaustive, selected

LEAST_SAVED = 0.1
"""Which part of the time of its statements caches have to save to be made."""

ALGORITHMS: Mapping[str, Algorithm] = {A_CACHING: selected, EXHAUSTIVE: exhaustive}
"""What selects candidates that satisfy the prefix invariant."""

MAX_ROWS = 1_000_000
"""How many rows the caches of a join may have: the memory of more would be missed elsewhere."""

GROWN = 2
"""How many times as many they may have grown to: what has left waits to be forgotten."""

LEAST_LIMIT_SECONDS, LIMIT_RATIO = 1.0, 2.0
"""After how many seconds filling a cache is given up at the earliest, and after how many times what
`FILLING_FRACTION` allows."""

ASKED = 4096
"""From how many tuples it follows how many keys they have: W_d of the paper."""

Asking = tuple[int, tuple[str, ...]]
"""An input, and those of its columns that are keys of partial caches."""

KNOWN_TICKS = 8
"""From how many of the last probes it follows how many rows a delta has."""


def fill_limit(budget: Budget) -> Limit:
    """Return what it may take to fill a cache, whatever the model said."""
    allowed = LIMIT_RATIO * FILLING_FRACTION * budget.ticks
    return Limit(MAX_ROWS, max(LEAST_LIMIT_SECONDS, allowed))


@dataclass
class JoinCaching(Modelled):
    """The policy of the point `caches` of a join.

    Attributes:
        windows: By input, of the tuples of its pipeline that were profiled last how many
            combinations each path has.
        deltas: How many rows of each input began or ended in the last ticks that were profiled.
        alive: How many rows each input had in the last one.
        about: The join.
        rows: How many rows its caches had in the last one.
        counted: Which caches these were; None if that is not known.
        asking: By input, and those of its columns that are keys, a hash of each key that the tuples
            had which were looked at last.
        fixed: How many times as long the fixed parts of statements took as is usual.
    """

    least_elements: ClassVar[int] = 16
    windows: dict[int, deque[tuple[int, ...]]] = field(default_factory=dict)
    deltas: deque[tuple[int, ...]] = field(default_factory=lambda: deque(maxlen=KNOWN_TICKS))
    alive: tuple[int, ...] = ()
    about: JoinCaches | None = None
    rows: int = 0
    counted: str | None = None
    asking: dict[Asking, deque[int]] = field(default_factory=dict)
    fixed: float = 1.0

    def default(self, facts: Facts) -> str:
        """Return the option of a tick before anything is known of such ticks."""
        return NONE

    def wants(self, facts: Facts, now: str) -> Wanted | None:
        """Return what the tick is to profile, within the budget: the pipelines in turn."""
        self._meet(facts)
        if self.about is None or not self.about.pipelines:
            return None
        wanted = super().wants(facts, now)
        return None if wanted is None else replace(wanted, turn=self.probes)

    def propose(self, now: str, known: Statistics, facts: Facts) -> Proposal | None:
        """Return what the next tick is to run in place of what stands, or None."""
        self._meet(facts)
        return super().propose(now, known, facts)

    def _meet(self, facts: Facts) -> None:
        """Take note of the join: what is restored does not say which one it is."""
        self.about = facts.about if isinstance(facts.about, JoinCaches) else None

    @property
    def first_probes(self) -> int:
        """How many probes are needed before something is known, for which the budget is larger."""
        return FIRST_PROBES if self.about is None else max(FIRST_PROBES, len(self.about.unordered))

    def forget(self) -> None:
        """Forget what tuples matched before the last probe of each pipeline."""
        for window in self.windows.values():
            while len(window) > MET_TUPLES:
                window.popleft()
        while len(self.deltas) > 1:
            self.deltas.popleft()
        for asked in self.asking.values():
            while len(asked) > KEY_TUPLES:
                asked.popleft()

    def saw(self, facts: Facts, option: str, seconds: float | None, found: Found | None) -> None:
        """Take note of a tick, and of what its probes have found, also the one of an order."""
        if isinstance(found, JoinProfiled):
            assert found.site.input is not None
            self._match(found.site.input, found.counts)
            self.is_due = self.is_due or self._is_known
        else:
            super().saw(facts, option, seconds, found)
            if found is not None:
                self.counted = option

    def _match(self, place: int, counts: Mapping[tuple[int, ...], int]) -> None:
        window = self.windows.setdefault(place, deque(maxlen=WINDOW))
        came = [one for one, tuples in counts.items() for _ in range(tuples)]
        if _are_others(window, came):
            window.clear()
        window.extend(came)

    def learn(self, found: Found) -> bool:
        """Take note of what a probe has found; return whether the costs follow from it."""
        assert isinstance(found, CachesProfiled)
        if found.input is not None:
            self._match(found.input, found.counts)
        self.deltas.append(found.delta)
        self.alive, self.rows = found.alive, found.rows
        if found.asking is not None:
            place, columns, counts = found.asking
            self._ask((place, columns), counts)
        return self._is_known

    def _ask(self, whose: Asking, counts: Mapping[int, int]) -> None:
        window = self.asking.setdefault(whose, deque(maxlen=ASKED))
        for key, tuples in counts.items():
            window.extend([key] * tuples)

    @property
    def _is_known(self) -> bool:
        """Whether something is known of each pipeline whose input changes."""
        means = self._means()
        return bool(means) and all(self.windows.get(at) for at, rows in enumerate(means) if rows)

    def _means(self) -> list[float]:
        return [sum(rows) / len(self.deltas) for rows in zip(*self.deltas, strict=True)]

    def drops(self) -> Sequence[float]:
        """Return of the tuples of each pipeline which part each path drops; nothing of no join."""
        if self.about is None:
            return ()
        found: list[float] = []
        for place, _ in enumerate(self.about.names):
            counts = list(self.windows.get(place, ()))
            for at in range(len(self.about.names) - 1):
                found.append(sum(not one[at] for one in counts) / max(len(counts), 1))
        return found

    def costs(self) -> Costs | None:
        """Return what is known of the join, or None if nothing."""
        if self.about is None or not self.windows:
            return None
        trees = {pipe.site.input: pipe.tree for pipe in self.about.pipelines}
        matches = {}
        orders = {pipe.default[0]: pipe.default for pipe in self.about.pipelines}
        for place, window in self.windows.items():
            tree = trees.get(place)
            if tree is not None and window:
                matches[place] = Matches(tree, Counter(window))
                # that is the one to which its own point would come
                if len(orders[place]) - 1 <= MAX_SEARCHED:
                    orders[place] = optimum(matches[place], orders[place])
        return Costs(
            matches,
            orders,
            self.about.ends,
            self.about.running,
            self.alive,
            self._means(),
            self.about.links,
            {whose: distinct(window) for whose, window in self.asking.items() if window},
            self.fixed,
        )

    def _fits(self, known: Costs, one: Cached) -> bool:
        """Return whether there is room for a cache, and time to make it."""
        if one.slots is not None:
            return known.rows_in(one) <= MAX_ROWS
        is_small = known.rows_of(one.segment) <= MAX_ROWS
        return is_small and known.filling(one.segment) <= FILLING_FRACTION * self.budget.ticks

    def statistics(self) -> Sequence[float]:
        """Return what each path drops, and how many rows the inputs and their deltas have."""
        rows = [*self.alive, *self._means()]
        return [*self.drops(), *(scaled(number, 24.0) for number in rows)]

    def costing(self, facts: Facts) -> Costing:
        """Return what says the seconds of a tick with caches; None if there may be no such ones."""
        known = self.costs()

        def cost(option: str) -> float | None:
            caching = caching_of_text(option) or ()
            if known is None or not all(self._fits(known, one) for one in caching):
                return None
            found = known.of(caching)
            return found if math.isfinite(found) else None

        return cost

    def better(self, now: str, taken: float | None, facts: Facts) -> Better | None:
        """Return other caches, if they are expected to save enough, or to cost less than none."""
        if taken is None:
            # what it takes is not known yet, and what was found stays
            self.is_due = True
            return None
        known = self.costs()
        if known is None or self.about is None:
            return None
        before = caching_of_text(now) or ()
        known = known.fitted(before, taken * (facts.elements or 0))
        self.fixed = known.fixed
        after, cost = self._selected(known, facts.algorithm())
        stands, none = known.of(before), known.of(())
        if math.isinf(stands):
            return None
        if stands > none and before and cost > (1 - LEAST_SAVED) * none:
            why = f"the caches cost more than they bring: {_compared(none, stands)}"
            return Better(NONE, why, 1 - none / stands)
        if after == before or cost > (1 - LEAST_SAVED) * stands:
            self.gains_little = after != before
            return None
        why = _evidence(known, after, cost, stands)
        return Better(caching_text(after) or NONE, why, 1 - cost / stands)

    def _selected(self, known: Costs, algorithm: str) -> tuple[Caching, float]:
        """Return caches that an algorithm selects, for which there is memory, and their cost."""
        assert self.about is not None
        fit = [one for one in self.about.segments if self._fits(known, Cached(one))]
        if algorithm in ALGORITHMS:
            found, _ = thesis(known, fit, ALGORITHMS[algorithm])
        else:
            found, _ = (global_optimum if algorithm == GLOBAL else least)(known, fit)
        found = allocated(known, found, MAX_ROWS)
        if algorithm == OPTIMUM:
            found = with_partial(known, found, self.about.segments, MAX_ROWS, 1 - LEAST_SAVED)
        return found, known.of(found)

    def excess(self, now: str, facts: Facts) -> Better | None:
        """Return other caches, or none, if those that stand have more rows than they may."""
        before = caching_of_text(now)
        if before is None or self.rows <= GROWN * MAX_ROWS or self.counted not in (now, None):
            return None
        known = self.costs()
        after: Caching = ()
        if known is not None:
            kept = tuple(one for one in before if known.rows_in(one) <= MAX_ROWS)
            kept = () if kept == before else used(kept, len(known.orders)) or ()
            after = allocated(known, kept, MAX_ROWS)
        # the model may have said that they are smaller
        self.refuse(now)
        why = f"the caches have {self.rows} rows, of {MAX_ROWS} that they may"
        return Better(caching_text(after) or NONE, why, None, is_due=True)

    def state(self) -> dict[str, Any]:
        """Return what was found, as values that JSON has."""
        windows = [[place, runs(window)] for place, window in self.windows.items()]
        sizes = {"deltas": [*map(list, self.deltas)], "alive": [*self.alive], "rows": self.rows}
        asking = [[*whose, runs(window)] for whose, window in self.asking.items()]
        mine = {"windows": windows, "asking": asking, "counted": self.counted, **sizes}
        mine["fixed"] = self.fixed
        return {**super().state(), **mine}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on with what was found before the database was closed."""
        super().restore(state)
        for place, window in state["windows"]:
            mine = self.windows.setdefault(place, deque(maxlen=WINDOW))
            for counts, tuples in window:
                mine.extend([tuple(counts)] * tuples)
        self.deltas.extend(map(tuple, state["deltas"]))
        self.alive, self.rows = tuple(state["alive"]), state.get("rows", 0)
        self.counted, self.fixed = state.get("counted"), float(state.get("fixed", 1.0))
        for place, columns, seen in state.get("asking", ()):
            for key, tuples in seen:
                self._ask((place, tuple(columns)), {key: tuples})


def _are_others(before: Collection[tuple[int, ...]], came: Collection[tuple[int, ...]]) -> bool:
    """Return whether a path drops another part of the tuples that came than of those before."""
    if not (before and came):
        return False
    pairs = zip(zip(*before, strict=True), zip(*came, strict=True), strict=True)
    return any(differ(old.count(0), len(before), new.count(0), len(came)) for old, new in pairs)


def _compared(after: float, before: float) -> str:
    return f"a tick is modelled to take {1e3 * after:.2f} ms, {1e3 * before:.2f} before"


def _of_cache(known: Costs, one: Cached) -> str:
    text = f"{caching_text((one,))} has some {known.rows_in(one):.0f} rows"
    keys = known.known_by(one)
    if keys is None:
        return text
    return (
        f"{text}, of {keys.keys:.0f} of {keys.of:.0f} keys; of {keys.asked:.0f} that a tick asks "
        f"for {keys.missed:.0f} are missed"
    )


def _evidence(known: Costs, caching: Caching, after: float, before: float) -> str:
    """Return in words why caches are expected to be better than what there was."""
    rows = (_of_cache(known, one) for one in caching)
    deltas = ", ".join(f"{rows:.0f} of {place + 1}" for place, rows in enumerate(known.delta))
    listed = ", ".join(rows) or "no cache"
    return f"{_compared(after, before)}: {listed}; {deltas} begin or end in a tick"
