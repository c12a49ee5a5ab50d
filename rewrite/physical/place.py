"""The place of a node in a plan: what the choice of its operator depends on besides the node."""

from __future__ import annotations

from dataclasses import dataclass, field

from cqlduck.rewrite.physical.form import Form
from cqlduck.rewrite.plan import (
    Aggregate,
    Plan,
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
        at_boundaries: The relation that is evaluated in full at boundaries, or None.
    """

    plan: Plan
    clock: Clock
    form: Form
    readers: dict[int, int] = field(default_factory=dict)
    framed: dict[int, Aggregate] = field(default_factory=dict)
    at_boundaries: Plan | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        """Count the readers."""
        for node in unique(self.plan):
            for child in node.children:
                self.readers[id(child)] = self.readers.get(id(child), 0) + 1
