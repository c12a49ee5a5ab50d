"""Consolidation: the elements of a relation of which no two have the same tuple and instant.

    Δnet(R) = {(s, τ, Σ w) : s ∈ ΔR at τ, Σ w ≠ 0}

It is linear and keeps nothing; `counting` is for a net relation that is read as standing.
"""

from __future__ import annotations

from cqlduck.rewrite.physical.operator import Operator
from cqlduck.rewrite.plan import Net
from cqlduck.rewrite.relalg import Rows
from cqlduck.rewrite.relalg.elements import consolidate, element_names


class Consolidation(Operator[Net]):
    """The elements of the input that do not cancel in the tick; nothing is kept beyond it."""

    def keep(self) -> None:
        """Keep the elements of the tick that do not cancel."""
        net = consolidate(self.writer.elements(self.node.input), self.node.columns)
        self.writer.delta(self.node, net.query(), "the elements that do not cancel")

    def elements(self) -> Rows:
        """Return the elements of the tick that do not cancel."""
        return Rows.of(self.delta_table, element_names(self.node.columns))
