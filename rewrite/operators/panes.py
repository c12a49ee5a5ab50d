"""Aggregates of a window that tumbles, a pane at a time.

A tuple of TUMBLE p enters at a multiple of p and leaves at the next one. So the content of a group
at an instant is one pane, and has nothing in common with the pane before: no sum runs over panes.
The tuples that enter in the tick are grouped once by the instant of entry, whatever the aggregate
is; those that leave are not read at all. The synopsis `groups` has the results of the current pane.
Ordered together with it, by group,

    a pane that begins     its results are inserted; those of the pane before are deleted, or none
                           if that pane had no tuple of the group
    a pane that ends       its results are deleted, unless a pane of the group begins there

Without keys there is a result at all instants: after a pane without a successor, that of an empty
input.

Sums of doubles are not computed so (`aggregate` sums them exactly): two panes of the same values
could differ in their last bits.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from cqlduck.rewrite.operators.aggregate import Grouping
from cqlduck.rewrite.physical.evaluators import tumbling
from cqlduck.rewrite.physical.writer import Writer
from cqlduck.rewrite.plan import Aggregate
from cqlduck.rewrite.relalg.builders import cast, column, typed_null
from cqlduck.rewrite.relalg.elements import (
    ENTER,
    NEXT,
    TS,
    add,
    after,
    floor_to,
    named,
    number,
    over_time,
    parameter,
    state_table,
    temp_table,
    union_all,
    until,
)

N, LAST, IS, WAS, OLD = "_cql_n", "_cql_last", "_cql_is", "_cql_was", "_cql_old"
BEFORE, FOUND = "_cql_before", "_cql_found"


def begun(writer: Writer, node: Aggregate) -> exp.Select:
    """Return (keys, `_ts`, `_cql_n`, results) of the panes that begin in the tick."""
    keys = [column(key) for key in node.keys]
    rows = exp.Count(this=exp.Star(), big_int=True)
    results = [named(call.call.copy(), call.name) for call in node.calls]
    return writer.begins(node.input).select(
        [*keys, named(column(ENTER), TS), named(rows, N), *results],
        group=[*keys, column(ENTER)],
        alias="tuples",
    )


def states(node: Aggregate, table: str, panes: str) -> exp.Query:
    """Return the delta of the aggregate: each group and instant with its old and its new results.

    Args:
        node: The aggregate.
        table: Its synopsis.
        panes: The temporary table that holds `begun`.
    """
    window = tumbling(node)
    assert window is not None
    assert window.slide is not None
    pane = window.slide
    ends = add(column(TS), pane)
    ends_here = [
        exp.NullSafeNEQ(this=column(NEXT), expression=ends.copy()),
        until(ends.copy(), parameter("t1")),
    ]
    none_comes = exp.Is(this=column(NEXT), expression=exp.null())
    follows = exp.EQ(this=column(BEFORE), expression=add(column(TS), -pane))
    come = _come(node, follows, exp.and_(none_comes, after(ends.copy(), parameter("t1"))))
    go = exp.select(
        *[column(key) for key in node.keys],
        named(ends.copy(), TS),
        named(_none(), N),
        *_named(node, _nothing(node)),
        *[named(column(call.name), f"{OLD}_{call.name}") for call in node.calls],
        named(none_comes.copy(), LAST),
        named(exp.true() if node.everything else exp.false(), IS),
        named(exp.true(), WAS),
    ).where(*ends_here, copy=False)
    steps = exp.to_table("steps")
    query = union_all([come.from_(steps.copy(), copy=False), go.from_(steps, copy=False)])
    if node.everything:
        # not from the tuples of the tick: they would be planned for nothing
        blank = exp.select(*[named(typed_null(c.type), c.name) for c in node.input.columns])
        nothing = exp.select(*[named(call.call.copy(), call.name) for call in node.calls])
        nothing = nothing.from_(blank.subquery("tuples", copy=False), copy=False)
        query = query.with_("nothing", as_=nothing.where(exp.false(), copy=False), copy=False)
    query = query.with_("log", as_=_log(node, table, panes, pane), copy=False)
    return query.with_("steps", as_=_in_order(node), copy=False)


def _come(node: Aggregate, follows: exp.Expr, last: exp.Expr) -> exp.Select:
    """Return what begins: the panes, and without keys the time before the first of them."""
    old = []
    for call, nothing in zip(node.calls, _nothing(node), strict=True):
        value: exp.Expr = column(f"{FOUND}_{call.name}")
        if node.everything:
            value = exp.Case().when(follows.copy(), value).else_(nothing)
        old.append(named(value, f"{OLD}_{call.name}"))
    was = after(column(TS), parameter("begin")) if node.everything else follows
    return exp.select(
        *[column(key) for key in node.keys],
        column(TS),
        column(N),
        *[column(call.name) for call in node.calls],
        *old,
        named(last, LAST),
        named(exp.true(), IS),
        named(was, WAS),
    ).where(after(column(TS), parameter("t0")), copy=False)


def _log(node: Aggregate, table: str, panes: str, pane: int) -> exp.Query:
    """Return the pane that stands and those that begin; without keys, the first instant too."""
    listed = [column(call.name) for call in node.calls]
    keys = [column(key) for key in node.keys]
    stands = exp.select(
        *keys, named(floor_to(parameter("t0"), pane), TS), column(N), *listed
    ).from_(state_table(table), copy=False)
    begin = exp.select(
        *[x.copy() for x in keys], column(TS), column(N), *[x.copy() for x in listed]
    ).from_(temp_table(panes), copy=False)
    parts: list[exp.Query] = [stands, begin]
    if node.everything:
        first = exp.select(
            named(cast(parameter("begin"), "BIGINT"), TS),
            named(_none(), N),
            *_named(node, _nothing(node)),
        )
        parts.append(first.where(after(parameter("begin"), parameter("t0")), copy=False))
    return union_all(parts)


def _in_order(node: Aggregate) -> exp.Select:
    """Return the log, and with each row what is before it and when the next one is."""

    def over(function: type[exp.AggFunc], name: str) -> exp.Window:
        return over_time(function(this=column(name)), [column(key) for key in node.keys])

    return exp.select(
        "*",
        named(over(exp.Lag, TS), BEFORE),
        *[named(over(exp.Lag, call.name), f"{FOUND}_{call.name}") for call in node.calls],
        named(over(exp.Lead, TS), NEXT),
    ).from_("log", copy=False)


def _nothing(node: Aggregate) -> list[exp.Expr]:
    """Return the results over no tuples; with keys there are none."""
    if not node.everything:
        return [typed_null(call.type) for call in node.calls]
    return [
        exp.select(column(call.name)).from_("nothing").subquery(copy=False) for call in node.calls
    ]


def _named(node: Aggregate, results: Sequence[exp.Expr]) -> list[exp.Expr]:
    return [named(value, call.name) for value, call in zip(results, node.calls, strict=True)]


def _none() -> exp.Expr:
    return cast(number(0), "BIGINT")


class Panes(Grouping):
    """All results a pane at a time."""

    def changes(self, table: str) -> exp.Query:
        """Write the panes that begin, and return those with their old and their new results."""
        begin = begun(self.writer, self.node)
        return states(
            self.node,
            table,
            self.writer.reusable(self.node, "panes", begin, "the panes that begin"),
        )
