"""Time windows: the instants at which a tuple enters and leaves.

A `TimeWindow` gives each tuple a lifetime that depends on its timestamp t alone, so it needs no
synopsis: the tuples that enter and leave in a tick are two ranges of the stream's store, its stub.

    RANGE w              [t, t+w+1)
    half-open            [t, t+w)
    RANGE w SLIDE s      [⌈t/s⌉·s, (⌊(t+w)/s⌋+1)·s)
    HOP w EVERY s        [(⌊t/s⌋+1)·s, (⌊(t+w)/s⌋+1)·s)
"""

from __future__ import annotations

from sqlglot import exp

from cqlduck.rewrite.physical.operator import Operator
from cqlduck.rewrite.plan import TimeWindow
from cqlduck.rewrite.relalg import Rows
from cqlduck.rewrite.relalg.builders import column
from cqlduck.rewrite.relalg.elements import (
    ENTER,
    LEAVE,
    TS,
    WEIGHT,
    add,
    ceil_to,
    floor_to,
    forever,
    named,
    parameter,
    references,
    until,
)
from cqlduck.rewrite.text.time import ZERO


def lifetime(node: TimeWindow) -> tuple[exp.Expr, exp.Expr]:
    """Return when a tuple enters and when it leaves, as expressions over `_ts`."""
    instant: exp.Expr = column(TS)
    width, slide = node.width, node.slide
    if slide is None:
        end = forever() if width is None else add(instant, width + (not node.half_open))
        return instant, end
    enter = add(floor_to(instant, slide), slide) if node.hop else ceil_to(instant, slide)
    if width is None:
        return enter, forever()
    if width % slide:
        instant, width = add(instant, width), ZERO
    if node.half_open:
        return enter, add(ceil_to(instant, slide), width)
    return enter, add(floor_to(instant, slide), slide + width)


def _entered(node: TimeWindow, bound: str) -> exp.Expr:
    """Return the last timestamp whose tuples have entered by $t0 or $t1.

    The same as asking each tuple for its lifetime, but computed once.
    """
    if node.slide is None:
        return parameter(bound)
    return add(floor_to(parameter(bound), node.slide), -1 if node.hop else 0)


def _left(node: TimeWindow, bound: str) -> exp.Expr:
    """Return the last timestamp whose tuples have left by $t0 or $t1, of a window with a width."""
    assert node.width is not None
    last = parameter(bound) if node.slide is None else floor_to(parameter(bound), node.slide)
    return add(last, -node.width - (not node.half_open))


class Stub(Operator[TimeWindow]):
    """A window in time: two positions on a stream, not a copy of it."""

    def entering(self) -> Rows:
        """Return the elements that enter in the tick."""
        low, high = _entered(self.node, "t0"), _entered(self.node, "t1")
        return self.writer.rows(self.node.input, low, high, span=self.node.slide or ZERO)

    def _leaving(self) -> Rows:
        """Return the elements that leave in the tick."""
        return self.writer.rows(
            self.node.input, _left(self.node, "t0"), _left(self.node, "t1"), span=self.node.reach
        )

    def elements(self) -> Rows:
        """Return what enters and what leaves in the tick."""
        enter, leave = lifetime(self.node)
        parts = [_stamped(self.node, self.entering(), enter, column(WEIGHT))]
        if self.node.width is not None:
            gone = exp.Neg(this=column(WEIGHT))
            parts.append(_stamped(self.node, self._leaving(), leave, gone))
        return Rows.union(parts)

    def begins(self) -> Rows:
        """Return the lifetimes that begin in the tick."""
        return _living(self.node, self.entering())

    def lives(self) -> Rows:
        """Return the lifetimes that begin in the tick, and the older ones that end in it."""
        parts = [self.begins()]
        if self.node.width is not None:
            older = until(column(TS), _entered(self.node, "t0"))
            parts.append(_living(self.node, self._leaving().where(older, alias="leaving")))
        return Rows.union(parts)

    def standing(self) -> Rows:
        """Return the lifetimes that cover the whole tick."""
        return _living(self.node, self._rows_between("t1", "t0"))

    def alive(self) -> Rows:
        """Return the lifetimes that touch the tick."""
        return _living(self.node, self._rows_between("t0", "t1"))

    def _rows_between(self, left: str, entered: str) -> Rows:
        """Return the elements that have entered by one end of the tick, not left by the other."""
        low = None if self.node.width is None else _left(self.node, left)
        return self.writer.rows(
            self.node.input, low, _entered(self.node, entered), span=self.node.reach
        )


def _stamped(node: TimeWindow, rows: Rows, instant: exp.Expr, weight: exp.Expr) -> Rows:
    listed = [*references(node.columns), named(instant, TS), named(weight, WEIGHT)]
    return _that_live(node, rows).project(listed, "stream")


def _living(node: TimeWindow, rows: Rows) -> Rows:
    enter, leave = lifetime(node)
    listed = [*references(node.columns), named(enter, ENTER), named(leave, LEAVE), column(WEIGHT)]
    return _that_live(node, rows).project(listed, "stream")


def _that_live(node: TimeWindow, rows: Rows) -> Rows:
    """Leave out the tuples that fall between two positions of the window, if there can be any."""
    if node.width is None:
        return rows
    shortest = node.width - (node.half_open or node.hop)
    if shortest >= (0 if node.slide is None else node.slide - 1):
        return rows
    enter, leave = lifetime(node)
    return rows.where(exp.LT(this=enter, expression=leave), alias="stream")
