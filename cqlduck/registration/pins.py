"""Pins of a query that is replaced, or leaves its family: they go on with the plan that it gets.

What is in force for a query stays so, whether it was pinned for the query or for its family. A pin
whose point the new plan does not have stands there unused, as `con.pin` has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from cqlduck.engine import Engine
from cqlduck.errors import warn
from cqlduck.rewrite.statements.refreshing import RECOMPUTED
from cqlduck.state.choices import Point
from cqlduck.state.registered import Query
from cqlduck.streamon.points import ANSWER


@dataclass(frozen=True)
class Pins:
    """What is pinned for a query.

    Attributes:
        options: The options, by the name of the point.
        family: The name of its family, if it is pinned for that.
    """

    options: Mapping[str, str] = field(default_factory=dict)
    family: str | None = None

    def __bool__(self) -> bool:
        """Return whether something is pinned."""
        return bool(self.options)

    def admit(self, query: Query, *, is_open: bool) -> bool:
        """Return whether the query may be computed with another one, and what is pinned still runs.

        Args:
            query: A family, or a query that has a plan of its own.
            is_open: Whether it is a family that takes the query as it is.
        """
        return not self or (is_open and query.name == self.family)


NO_PINS = Pins()


def pins_of(engine: Engine, query: Query) -> Pins:
    """Return what is pinned for a query, or for its family."""
    owner = engine.planned(query).name
    return Pins(engine.streamon.executor.pins_of(owner), query.family)


def restore(engine: Engine, query: Query, pins: Pins) -> None:
    """Pin for a query with another plan what was pinned before; inside a change.

    What it refuses is let go of, which a warning and the plan log say.

    Args:
        engine: The engine.
        query: The query in its place; if it has a family, that one has its pins still.
        pins: What was pinned.
    """
    if query.family is not None:
        return
    for point, option in pins.options.items():
        reason = None
        if (point, option) == (ANSWER, RECOMPUTED):
            reason = engine.cannot_be_anew(query)
        if reason is None:
            engine.pin(point, option, query.name)
            continue
        why = f"it cannot be answered anew: {reason}"
        engine.streamon.executor.let_go(Point(point, query.name), option, why, query.frontier)
        warn(f"{query.name} is no longer pinned to be {option}: {why}")
