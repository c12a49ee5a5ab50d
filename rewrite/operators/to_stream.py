"""Relation to stream: Istream, Dstream and Rstream.

    Istream(R) at τ = R(τ) − R(τ−1)      the positive net elements
    Dstream(R) at τ = R(τ−1) − R(τ)      the negative net elements, with their weights negated
    Rstream(R) at τ = R(τ)               each lifetime once at every instant it covers

(chapter, section 2.2). Elements must be consolidated first: a tuple that leaves and returns at the
same instant is in neither Istream nor Dstream. An append-only input needs no consolidation.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from cqlduck.rewrite.physical.operator import Operator
from cqlduck.rewrite.plan import Column, ToStream, properties
from cqlduck.rewrite.relalg import Rows
from cqlduck.rewrite.relalg.builders import cast, column
from cqlduck.rewrite.relalg.elements import (
    ENTER,
    LEAVE,
    TS,
    WEIGHT,
    add,
    consolidate,
    greatest,
    least,
    lifetime_names,
    named,
    number,
    over_time,
    parameter,
    references,
)
from cqlduck.rewrite.relalg.values import identity_columns


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
    """What stands, at every instant.

    Where each tuple needs one of a `[NOW]`, there are as many as such instants, however many
    instants the tick has. Lifetimes that end by another one of negative weight are cut there first.
    """

    def elements(self) -> Rows:
        """Return each lifetime that touches the tick once at every instant of it that it covers."""
        inner, columns = self.node.input, self.node.columns
        facts = properties(inner)
        if facts.is_instantaneous:
            return consolidate(self._at_each(self.writer.lives(inner)), columns)
        if facts.needs_now:
            return self._at_each(_cut(self.writer.alive(inner), columns))
        return consolidate(self._at_each(self.writer.alive(inner)), columns)

    def _at_each(self, lives: Rows) -> Rows:
        """Return the tuples of lifetimes at each instant of the tick."""
        first = greatest(column(ENTER), add(parameter("t0"), 1))
        last = least(column(LEAVE), add(parameter("t1"), 1))
        instants = exp.Unnest(expressions=[exp.Anonymous(this="range", expressions=[first, last])])
        listed = [*references(self.node.columns), named(instants, TS), column(WEIGHT)]
        return lives.project(listed, "lives")


def _cut(lives: Rows, columns: Sequence[Column]) -> Rows:
    """Return net lifetimes: from where one of a tuple begins or ends up to where the next does."""
    source = Rows.of(exp.to_table("alive"), lifetime_names(columns))
    less = named(exp.Neg(this=column(WEIGHT)), WEIGHT)
    both = [
        source.project([*references(columns), named(column(ENTER), TS), column(WEIGHT)]),
        source.project([*references(columns), named(column(LEAVE), TS), less]),
    ]
    changes = Rows.union(both).with_("alive", lives.query()).subquery("changes")
    keys = identity_columns(columns)
    listed = [
        named(column(TS), ENTER),
        named(over_time(exp.Lead(this=column(TS)), keys), LEAVE),
        named(cast(over_time(exp.Sum(this=column(WEIGHT)), keys), "BIGINT"), WEIGHT),
    ]
    query = exp.select(*references(columns), *listed).from_(changes, copy=False)
    net = Rows.given(query, lifetime_names(columns), "cut")
    return net.where(exp.NEQ(this=column(WEIGHT), expression=number(0)))
