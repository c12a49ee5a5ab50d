"""Relation to stream: Istream, Dstream and Rstream.

    Istream(R) at τ = R(τ) − R(τ−1)      the positive net elements
    Dstream(R) at τ = R(τ−1) − R(τ)      the negative net elements, with their weights negated
    Rstream(R) at τ = R(τ)               each lifetime once at every instant it covers

(chapter, section 2.2). Elements must be consolidated first: a tuple that leaves and returns at the
same instant is in neither Istream nor Dstream. An append-only input needs no consolidation.
"""

from __future__ import annotations

from sqlglot import exp

from cqlduck.rewrite.physical.operator import Operator
from cqlduck.rewrite.plan import ToStream, properties
from cqlduck.rewrite.relalg import Rows
from cqlduck.rewrite.relalg.builders import column
from cqlduck.rewrite.relalg.elements import (
    ENTER,
    LEAVE,
    TS,
    WEIGHT,
    add,
    consolidate,
    greatest,
    least,
    named,
    parameter,
    references,
)


class Istream(Operator[ToStream]):
    """What comes."""

    def elements(self) -> Rows:
        """Return the net elements of the tick that are positive."""
        inner = self.writer.elements(self.node.input)
        if properties(self.node.input).is_append_only:
            return inner
        return consolidate(inner, self.node.columns, exp.GT)


class Dstream(Operator[ToStream]):
    """What goes."""

    def elements(self) -> Rows:
        """Return the net elements of the tick that are negative, turned round."""
        inner = self.writer.elements(self.node.input)
        less = named(exp.Neg(this=column(WEIGHT)), WEIGHT)
        gone = consolidate(inner, self.node.columns, exp.LT)
        return gone.project([*references(self.node.columns), column(TS), less], "net")


class Rstream(Operator[ToStream]):
    """What stands, at every instant."""

    def elements(self) -> Rows:
        """Return each lifetime that touches the tick once at every instant of it that it covers."""
        inner, writer = self.node.input, self.writer
        lives = writer.lives(inner) if properties(inner).is_instantaneous else writer.alive(inner)
        first = greatest(column(ENTER), add(parameter("t0"), 1))
        last = least(column(LEAVE), add(parameter("t1"), 1))
        instants = exp.Unnest(expressions=[exp.Anonymous(this="range", expressions=[first, last])])
        listed = [*references(self.node.columns), named(instants, TS), column(WEIGHT)]
        return consolidate(lives.project(listed, "lives"), self.node.columns)
