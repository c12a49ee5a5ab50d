"""The policy of `search`: whether a table that a delta meets has an index, and on which key.

The table has the groups of an aggregate, or the rows of a relation (`lookups`). A delta meets them
by a scan, which takes longer the more rows there are, or through an index
(`cqlduck.rewrite.operators.search`), which takes longer the more values are looked up. A probe
counts the rows, and takes DuckDB's estimate of how many values each key has; the key with the most
is the one that is searched. To build the index takes a while, and then each row that comes or goes
takes a little longer. The option is confirmed as other modelled options are (`modelled`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from cqlduck.rewrite.operators.search import MAX_ELEMENTS, MAX_KEYS
from cqlduck.rewrite.plan.searches import key_name, key_of
from cqlduck.rewrite.statements.ordered import NOWHERE, TableSearch
from cqlduck.state.probing import Found, RowsCounted, Wanted
from cqlduck.streamon.budget import FILLING_FRACTION
from cqlduck.streamon.decisions import Better, Costing, scaled
from cqlduck.streamon.modelled import LEAST_GAIN, Modelled
from cqlduck.streamon.points import SCAN, Facts

LEAST_ROWS = 100_000
"""Of how many rows an index is considered: fewer are scanned in less time than it takes to look
something up. Of a query whose inputs and synopses have fewer rows its groups are not counted."""

MOST_TICKS = 256
"""For how many ticks what is known of their number holds at most; at first for one, then longer."""

SCANNED_SECONDS = 5e-9
"""What it takes to scan a row, with two threads; of a text some four times as long."""

FIXED_SECONDS, KEY_SECONDS = 1.2e-3, 15e-6
"""What it takes to look values up, and each of them."""

UPKEEP_SECONDS = 4e-6
"""What an index takes besides for each row that comes or goes."""

BUILT_SECONDS = 2.5e-7
"""What it takes to build an index, for each row."""

MOST_FOUND, FOUND_FRACTION = 2048, 0.001
"""How many rows DuckDB (release 2.0) reads through an index at most, or which part of all if those
are more."""


@dataclass
class Searching(Modelled):
    """The policy of the point `search` of an aggregate, or of a relation.

    Attributes:
        rows: How many rows there were at the last probe.
        values: How many values each key had then.
    """

    least_elements: ClassVar[int] = 1
    # a few milliseconds are looked for in the time of a few statements, which varies as much
    leniency: ClassVar[float] = 1.2
    rows: int = 0
    values: tuple[int, ...] = ()
    _is_large: bool = False
    _left: int = 0
    _looks: int = 0
    _gain: float | None = None

    def default(self, facts: Facts) -> str:
        """Return the option of a tick before anything is known of such ticks."""
        return SCAN

    def wants(self, facts: Facts, now: str) -> Wanted | None:
        """Return what the tick is to profile, within the budget, if there may be many rows."""
        if facts.elements is None or facts.is_first:
            return None
        if self._left == 0:
            self._is_large = facts.stored() >= LEAST_ROWS
            self._left = min(2**self._looks, MOST_TICKS)
            self._looks += 1
        self._left -= 1
        return super().wants(facts, now) if self._is_large else None

    @property
    def waits(self) -> bool:
        """Whether it waits for what the next tick takes, to choose or to confirm."""
        return super().waits and (self._gain is None or self._may_build(self._gain))

    @property
    def rests(self) -> bool:
        """Whether there are so few rows that nothing is looked for."""
        return not (self._is_large or super().waits)

    def _may_build(self, gain: float) -> bool:
        """Return whether it may take as long as an index does to build it.

        It may if that is little of the time of all ticks, or if an index that had always been there
        would have saved as much: so at the worst twice as much is spent as had to be.

        Args:
            gain: What it saves a tick.
        """
        build = BUILT_SECONDS * self.rows
        return build <= max(FILLING_FRACTION * self.budget.ticks, gain * self._ticks)

    def forget(self) -> None:
        """Forget what older probes have found: the last one says it all."""

    def learn(self, found: Found) -> bool:
        """Take note of what a probe has found; return whether an option can follow from it."""
        assert isinstance(found, RowsCounted)
        self.rows, self.values = found.rows, found.values
        self._is_large = self.rows >= LEAST_ROWS
        if not self._is_large:
            self._left = MOST_TICKS
        return self._is_large

    def drops(self) -> Sequence[float]:
        """Return how many rows there are, and values of each key, each about 0 to 1."""
        return [scaled(number, 24.0) for number in (self.rows, *self.values)]

    def statistics(self) -> Sequence[float]:
        """Return the same: ticks of other sizes are told apart by what an element takes."""
        return self.drops()

    def _seconds(self, option: str, facts: Facts) -> float | None:
        """Return what a tick takes to find its rows, and to keep an index of them."""
        elements, about = facts.elements or 0, facts.about
        scan, key = SCANNED_SECONDS * self.rows, key_of(option)
        if key is None:
            return scan
        if key >= len(self.values):
            return None
        kept = UPKEEP_SECONDS * elements
        found = elements * self.rows / max(self.values[key], 1)
        is_relation = isinstance(about, TableSearch) and about.site == NOWHERE
        if elements > (MAX_ELEMENTS if is_relation else MAX_KEYS):
            return scan + kept
        if found > max(MOST_FOUND, FOUND_FRACTION * self.rows):
            return scan + kept
        return FIXED_SECONDS + KEY_SECONDS * elements + kept

    def costing(self, facts: Facts) -> Costing:
        """Return what says the seconds that a tick takes to find its rows."""
        return lambda option: self._seconds(option, facts)

    def better(self, now: str, taken: float | None, facts: Facts) -> Better | None:
        """Return another option, if it is expected to save enough."""
        about, elements = facts.about, facts.elements
        if taken is None or elements is None:
            # what it takes is not known yet, and what was found stays
            self.is_due = True
            return None
        if not isinstance(about, TableSearch) or len(self.values) != len(about.names):
            return None
        best = max(about.keys, key=self.values.__getitem__)
        other = SCAN if key_of(now) is not None else key_name(best)
        before, after = self._seconds(now, facts), self._seconds(other, facts)
        if before is None or after is None:
            return None
        saved = (before - after) / max(taken * elements, before)
        if saved < LEAST_GAIN:
            self.gains_little = saved > 0
            return None
        if other != SCAN and not self._may_build(before - after):
            # what was found stays until it may be built
            self.is_due, self._gain = True, before - after
            return None
        self._gain = None
        why = (
            f"to find the rows is modelled to take {1e3 * after:.2f} ms, {1e3 * before:.2f} "
            f"before: there are {self.rows}, and {elements} elements come in a tick"
        )
        return Better(other, why, min(saved, 1 - LEAST_GAIN))

    def state(self) -> dict[str, Any]:
        """Return what was found, as values that JSON has."""
        return {**super().state(), "rows": self.rows, "values": [*self.values]}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on with what was found before the database was closed."""
        super().restore(state)
        self.rows, self.values = state["rows"], tuple(state["values"])
