"""Joins of windows of several lengths with the relation that has these lengths.

    { (t, m) : t of S [RANGE l], (m, l, …) of R, and what else they have to meet }

Each tuple of R has its own window of S. So what the join stands for is found without the windows of
all lengths: from the tuples of R, each with the elements since τ − l.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from cqlduck.rewrite.plan.conditions import names_in
from cqlduck.rewrite.plan.nodes import Join, VaryingWindow
from cqlduck.rewrite.plan.raising import can_raise
from cqlduck.rewrite.plan.sources import RelationScan


@dataclass(frozen=True)
class Met:
    """Such a join.

    Attributes:
        join: The join.
        window: The windows.
        bounds: The relation.
        length: The column of the relation that has the lengths.
        others: The conditions besides that the length is equal.
    """

    join: Join
    window: VaryingWindow
    bounds: RelationScan
    length: str
    others: tuple[exp.Expr, ...]


def paired(join: Join) -> Met | None:
    """Return a join as one of windows of several lengths with these; None if it is another.

    The other conditions may be of any kind.
    """
    windows = [one for one in join.inputs if isinstance(one, VaryingWindow)]
    relations = [one for one in join.inputs if isinstance(one, RelationScan)]
    if len(join.inputs) != 2 or len(windows) != 1 or len(relations) != 1:
        return None
    (window,), (bounds,) = windows, relations
    shown = zip(bounds.names, bounds.source.columns, strict=True)
    lengths = {name for name, c in shown if c.name == window.column}
    others, length = list[exp.Expr](), None
    for one in join.predicates:
        sides = {one.this.name, one.expression.name} if isinstance(one, exp.EQ) else set[str]()
        if length is None and window.name in sides and sides & lengths:
            (length,) = sides & lengths
        else:
            others.append(one)
    if length is None or bounds.source != window.widths:
        return None
    return Met(join, window, bounds, length, tuple(others))


def met(join: Join) -> Met | None:
    """Return such a join whose other conditions can be tested without the windows; or None."""
    found = paired(join)
    if found is None or found.window.name in names_in(found.others):
        return None
    types = {c.name: c.type for plan in join.inputs for c in plan.columns}
    return None if any(can_raise(one, types) for one in found.others) else found
