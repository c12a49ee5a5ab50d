"""The place of a node in a plan: what the choice of its operator depends on besides the node."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from cqlduck.rewrite.physical.bands import Band
from cqlduck.rewrite.physical.form import Form
from cqlduck.rewrite.plan import (
    Aggregate,
    Difference,
    During,
    Filter,
    Join,
    Plan,
    Project,
    Sample,
    UnionAll,
    unique,
)
from cqlduck.rewrite.text.time import Clock


@dataclass
class Place:
    """What a choice may depend on besides the node.

    Args:
        plan: The plan.
        clock: The clock.
        form: The form of the ticks.

    Attributes:
        readers: By node, how many nodes read it.
        framed: By ROWS window, the aggregate that alone reads it and computes its frames there.
        banded: By join, what an aggregate above it may sum up by interval.
        below_conditions: The joins to which DuckDB would move conditions of operators above them.
        at_boundaries: The relation that is evaluated in full at boundaries, or None.
    """

    plan: Plan
    clock: Clock
    form: Form
    readers: dict[int, int] = field(default_factory=dict)
    framed: dict[int, Aggregate] = field(default_factory=dict)
    banded: dict[int, Band] = field(default_factory=dict)
    below_conditions: set[int] = field(default_factory=set)
    at_boundaries: Plan | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        """Count the readers, and find the joins below conditions."""
        for node in unique(self.plan):
            for child in node.children:
                self.readers[id(child)] = self.readers.get(id(child), 0) + 1
            if isinstance(node, (Filter, Join)):
                self.below_conditions |= {id(join) for join in _joins_below(node)}

    def bands_of(self, node: Aggregate) -> list[Band]:
        """Return what an aggregate may sum up by interval."""
        return [band for band in self.banded.values() if band.aggregate is node]


def _joins_below(node: Plan) -> Iterator[Join]:
    """Yield the next joins below a node that would be in one SELECT with it."""
    for child in node.children:
        if isinstance(child, Join):
            yield child
        elif isinstance(child, (Filter, Project, During, Sample, UnionAll, Difference)):
            yield from _joins_below(child)
