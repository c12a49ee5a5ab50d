"""Selection by the current time: a condition on τ cuts the lifetime of each tuple.

A condition such as `t > current_timestamp - INTERVAL '5 minutes'` is true of a tuple at the
instants of an interval [from, to) that follows from its columns. So a tuple of the input with the
lifetime [enter, leave) lives in the result in

    [max(enter, from), min(leave, to))

if that is not empty. This is linear, but not in the input's elements: a standing tuple of the input
may begin or end in the result in any tick. The law reads all lifetimes of the input that touch the
tick.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from cqlduck.rewrite.physical.operator import Operator
from cqlduck.rewrite.plan import During
from cqlduck.rewrite.relalg import Rows
from cqlduck.rewrite.relalg.builders import column
from cqlduck.rewrite.relalg.elements import (
    ENTER,
    LEAVE,
    WEIGHT,
    after,
    begins_or_ends,
    greatest,
    is_null,
    least,
    named,
    parameter,
    references,
    until,
)


class Cut(Operator[During]):
    """Selection by the current time: lifetimes, cut."""

    def lives(self) -> Rows:
        """Return the lifetimes that begin or end in the tick."""
        return self._touching(begins_or_ends())

    def standing(self) -> Rows:
        """Return the lifetimes that cover the whole tick."""
        return _cut(self.node, self.writer.standing(self.node.input)).where(
            until(column(ENTER), parameter("t0")),
            after(column(LEAVE), parameter("t1")),
            alias="cut",
        )

    def alive(self) -> Rows:
        """Return the lifetimes that touch the tick."""
        return self._touching()

    def _touching(self, *conditions: exp.Expr) -> Rows:
        touch = [until(column(ENTER), parameter("t1")), after(column(LEAVE), parameter("t0"))]
        is_there = exp.LT(this=column(ENTER), expression=column(LEAVE))
        return _cut(self.node, self.writer.alive(self.node.input)).where(
            *touch, is_there, *conditions, alias="cut"
        )


def _cut(node: During, lifetimes: Rows) -> Rows:
    """Return lifetimes, cut, some to nothing; one of a NULL is left out."""
    begins = [f"_cql_from{place}" for place in range(len(node.begins))]
    ends = [f"_cql_to{place}" for place in range(len(node.ends))]
    limits = [
        named(limit.copy(), name)
        for limit, name in zip((*node.begins, *node.ends), (*begins, *ends), strict=True)
    ]
    limited = lifetimes.project(
        [*references(node.columns), *map(column, (ENTER, LEAVE, WEIGHT)), *limits]
    )
    known = [exp.not_(is_null(column(name))) for name in (*begins, *ends)]
    enter = named(_of(greatest, [ENTER, *begins]), ENTER)
    leave = named(_of(least, [LEAVE, *ends]), LEAVE)
    return limited.where(*known, alias="limited").project(
        [*references(node.columns), enter, leave, column(WEIGHT)], "limited"
    )


def _of(function: Callable[..., exp.Expr], names: list[str]) -> exp.Expr:
    return column(names[0]) if len(names) == 1 else function(*map(column, names))
