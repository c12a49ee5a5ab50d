"""Selection by the current time: what each tuple says of τ cuts its lifetime.

A condition such as `t > current_timestamp - INTERVAL '5 minutes'` is true of a tuple at the
instants of an interval [from, to) that its columns give. So a tuple of the input with the lifetime
[enter, leave) lives in the result in

    [max(enter, from), min(leave, to))

if that is not empty. This is linear, and the input's elements alone do not tell it: a tuple that
stands in the input may begin or end in the result in any tick. The rule reads all lifetimes of the
input that touch the tick.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from cqlduck.rewrite.plan import During
from cqlduck.rewrite.scope import column
from cqlduck.rewrite.weighted import (
    ENTER,
    LEAVE,
    WEIGHT,
    after,
    named,
    parameter,
    references,
    until,
)

if TYPE_CHECKING:
    from cqlduck.rewrite.delta.rules import Rules


def lives(rules: Rules, node: During) -> exp.Select:
    """Return the lifetimes that begin or end in the tick."""
    changes = exp.or_(after(column(ENTER), parameter("t0")), until(column(LEAVE), parameter("t1")))
    return alive(rules, node).where(changes, copy=False)


def standing(rules: Rules, node: During) -> exp.Select:
    """Return the lifetimes that cover the whole tick."""
    return (
        _picked(node, _cut(node, rules.standing(node.input)))
        .where(until(column(ENTER), parameter("t0")), copy=False)
        .where(after(column(LEAVE), parameter("t1")), copy=False)
    )


def alive(rules: Rules, node: During) -> exp.Select:
    """Return the lifetimes that touch the tick."""
    return (
        _picked(node, _cut(node, rules.alive(node.input)))
        .where(until(column(ENTER), parameter("t1")), copy=False)
        .where(after(column(LEAVE), parameter("t0")), copy=False)
    )


def _picked(node: During, cut: exp.Select) -> exp.Select:
    return exp.select(*references(node.columns), *map(column, (ENTER, LEAVE, WEIGHT))).from_(
        cut.subquery("cut", copy=False), copy=False
    )


def _cut(node: During, lifetimes: exp.Query) -> exp.Select:
    """Return lifetimes, cut; one that is nowhere, or of a NULL, is left out."""
    begins = [f"_cql_from{place}" for place in range(len(node.begins))]
    ends = [f"_cql_to{place}" for place in range(len(node.ends))]
    limits = [
        named(limit.copy(), name)
        for limit, name in zip((*node.begins, *node.ends), (*begins, *ends), strict=True)
    ]
    limited = exp.select(
        *references(node.columns), *map(column, (ENTER, LEAVE, WEIGHT)), *limits
    ).from_(lifetimes.subquery("input", copy=False), copy=False)
    enter = _most("greatest", [ENTER, *begins])
    leave = _most("least", [LEAVE, *ends])
    query = exp.select(
        *references(node.columns), named(enter, ENTER), named(leave, LEAVE), column(WEIGHT)
    ).from_(limited.subquery("limited", copy=False), copy=False)
    conditions = [
        exp.LT(this=exp.column(begin, table="limited"), expression=exp.column(end, table="limited"))
        for begin in (ENTER, *begins)
        for end in (LEAVE, *ends)
        if (begin, end) != (ENTER, LEAVE)
    ]
    return query.where(*conditions, copy=False)


def _most(function: str, names: list[str]) -> exp.Expr:
    if len(names) == 1:
        return column(names[0])
    return exp.Anonymous(this=function, expressions=[column(name) for name in names])
