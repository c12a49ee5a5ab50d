"""The cache of a segment of a join: the combinations of its inputs, with lifetimes.

    C = R₂ ⋈ R₃        ΔC = ΔR₂ ⋈ R₃  +  (R₂ + ΔR₂) ⋈ ΔR₃

What begins in the tick is appended. What ends is not deleted: each row says when it leaves, and
what has left is forgotten from time to time. So the rows with enter ≤ t₀ and leave > t₁ are what
stands (thesis, section 5.4; `plan.segments` says which segments may have one).
"""

from __future__ import annotations

from sqlglot import exp

from cqlduck.rewrite.physical.operator import Operator
from cqlduck.rewrite.physical.statement import CACHE
from cqlduck.rewrite.plan import Cache, Column
from cqlduck.rewrite.relalg import Rows
from cqlduck.rewrite.relalg.builders import column
from cqlduck.rewrite.relalg.elements import (
    ENTER,
    LEAVE,
    WEIGHT,
    after,
    lifetime_names,
    parameter,
    state_table,
)


class CachedSegment(Operator[Cache]):
    """All combinations of the segment."""

    def keep(self) -> None:
        """Keep what begins or ends in the tick, and append what begins."""
        times = tuple(Column(name, "BIGINT") for name in (ENTER, LEAVE, WEIGHT))
        self.writer.synopsis(self.node, CACHE, (*self.node.columns, *times))
        if not self._is_kept_below:
            lives = self.writer.lives(self.node.input).query()
            self.writer.delta(self.node, lives, "what begins or ends in the segment")
        begun = self.lives().where(after(column(ENTER), parameter("t0")))
        append = exp.insert(begun.query(), self._table)
        self.writer.update(self.node, "append to the cache what begins in the segment", append)

    @property
    def _table(self) -> exp.Table:
        return state_table(self.writer.table(self.node, CACHE))

    @property
    def _is_kept_below(self) -> bool:
        return self.writer.operator(self.node.input).is_at_hand

    @property
    def is_at_hand(self) -> bool:
        """Whether what begins or ends is read from a temporary table: it is."""
        return True

    def lives(self) -> Rows:
        """Return the lifetimes that begin or end in the tick."""
        if self._is_kept_below:
            return self.writer.lives(self.node.input)
        return Rows.of(self.delta_table, lifetime_names(self.node.columns))

    def standing(self) -> Rows:
        """Return the lifetimes that cover the whole tick."""
        cached = Rows.of(self._table, lifetime_names(self.node.columns))
        return cached.where(after(column(LEAVE), parameter("t1")))
