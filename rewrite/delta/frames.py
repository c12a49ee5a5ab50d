"""Aggregates of a window as frames over the log, where each group's content is a frame of it.

An aggregate without a sum of its own is worked out again for each group and instant that changed.
Over a RANGE window, or over a ROWS window that is partitioned by the group's keys, the tuples of a
group at an instant are consecutive in the log, so DuckDB's window frames (segment trees) do that in
n log n instead of the number of pairs of instants and tuples:

    RANGE w           agg(x) OVER (PARTITION BY keys ORDER BY t RANGE BETWEEN w PRECEDING AND …)
                      over the tuples and, as rows without a value, the instants that changed
    PARTITION BY keys agg(x) OVER (PARTITION BY keys ORDER BY t, position ROWS BETWEEN n−1
    ROWS n            PRECEDING AND …), of which the last row of each instant counts

Not where a condition stands between a ROWS window and the aggregate: what it takes away still
counts as one of the n. Not over SLIDE or HOP, whose content is not that of the instant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from cqlduck.rewrite.plan import Aggregate, Filter, Plan, Project, RowWindow, TimeWindow
from cqlduck.rewrite.scope import column
from cqlduck.rewrite.weighted import (
    ENTER,
    SEQ,
    TS,
    named,
    number,
    parameter,
    qualified,
    references,
    same,
    temp_table,
    union_all,
)

if TYPE_CHECKING:
    from cqlduck.rewrite.delta.rules import Rules

ROW, RANK = "_cql_row", "_cql_rank"


def has_frame(node: Aggregate, positive: bool) -> bool:
    """Return whether each group of an aggregate is a frame of the log."""
    return positive and (_range_window(node.input) is not None or _row_window(node) is not None)


def frame(rules: Rules, node: Aggregate, calls: list[tuple[str, exp.Expr]]) -> exp.Select:
    """Return (keys, `_ts`, results) for each changed group and instant.

    Args:
        rules: The statements so far; `running` is the CTE of groups and instants.
        node: The aggregate, for which `has_frame` is true.
        calls: Names and calls of the aggregates to work out.
    """
    window = _range_window(node.input)
    if window is not None:
        return _range_frame(rules, node, window, calls)
    rows = _row_window(node)
    assert rows is not None
    return _row_frame(rules, node, rows, calls)


def _range_window(plan: Plan) -> TimeWindow | None:
    while isinstance(plan, (Filter, Project)):
        plan = plan.input
    if isinstance(plan, TimeWindow) and plan.width is not None:
        empty = plan.half_open and plan.width == 0
        return None if plan.slide is not None or plan.hop or empty else plan
    return None


def _row_window(node: Aggregate) -> RowWindow | None:
    plan = node.input
    keys = set(node.keys)
    while isinstance(plan, Project):
        made = dict(zip((c.name for c in plan.columns), plan.expressions, strict=True))
        sources = [made[key] for key in keys]
        if not all(isinstance(source, exp.Column) for source in sources):
            return None
        keys = {source.name for source in sources}
        plan = plan.input
    if not isinstance(plan, RowWindow) or plan.width is not None or plan.slide is not None:
        return None
    return plan if keys == set(plan.partition_by) else None


def _range_frame(
    rules: Rules, node: Aggregate, window: TimeWindow, calls: list[tuple[str, exp.Expr]]
) -> exp.Select:
    inner = node.input
    keys = list(node.keys)
    touched = (
        exp.select("1")
        .from_("running", copy=False)
        .where(
            same([qualified("running", k) for k in keys], [qualified("l", k) for k in keys]),
            copy=False,
        )
    )
    tuples = exp.select(
        *references(inner.columns), named(column(ENTER), TS), named(exp.true(), ROW)
    ).from_(rules.alive(inner).subquery("l", copy=False), copy=False)
    if keys:
        tuples = tuples.where(exp.Exists(this=touched), copy=False)
    probes = exp.select(
        *[column(c.name) if c.name in keys else named(exp.null(), c.name) for c in inner.columns],
        column(TS),
        named(exp.false(), ROW),
    ).from_("running", copy=False)
    assert window.width is not None
    width = window.width - 1 if window.half_open else window.width
    results = [
        named(
            exp.Window(
                this=_filtered(call, column(ROW)),
                partition_by=[column(k) for k in keys],
                order=exp.Order(expressions=[exp.Ordered(this=column(TS))]),
                spec=exp.WindowSpec(
                    kind="RANGE",
                    start=number(width),
                    start_side="PRECEDING",
                    end="CURRENT ROW",
                ),
            ),
            name,
        )
        for name, call in calls
    ]
    framed = exp.select(*[column(k) for k in keys], column(TS), *results, column(ROW)).from_(
        union_all([tuples, probes]).subquery("log", copy=False), copy=False
    )
    return (
        exp.select(*[column(k) for k in keys], column(TS), *[column(n) for n, _ in calls])
        .from_(framed.subquery("framed", copy=False), copy=False)
        .where(exp.not_(column(ROW)), copy=False)
    )


def _row_frame(
    rules: Rules, node: Aggregate, window: RowWindow, calls: list[tuple[str, exp.Expr]]
) -> exp.Select:
    keys = list(node.keys)
    instant = exp.Greatest(this=column(TS), expressions=[parameter("t0")])
    log: exp.Select = exp.select(
        *references(window.columns), named(instant, TS), column(SEQ)
    ).from_(temp_table(rules.deltas[id(window)]), copy=False)
    chain: list[Project] = []
    plan: Plan = node.input
    while isinstance(plan, Project):
        chain.append(plan)
        plan = plan.input
    for project in reversed(chain):
        listed = [
            named(e.copy(), c.name)
            for e, c in zip(project.expressions, project.columns, strict=True)
        ]
        log = exp.select(*listed, column(TS), column(SEQ)).from_(
            log.subquery("log", copy=False), copy=False
        )
    results = [
        named(
            exp.Window(
                this=call.copy(),
                partition_by=[column(k) for k in keys],
                order=_by_position(),
                spec=exp.WindowSpec(
                    kind="ROWS",
                    start=number(window.rows - 1),
                    start_side="PRECEDING",
                    end="CURRENT ROW",
                ),
            ),
            name,
        )
        for name, call in calls
    ]
    rank = exp.Window(
        this=exp.RowNumber(),
        partition_by=[*[column(k) for k in keys], column(TS)],
        order=exp.Order(expressions=[exp.Ordered(this=column(SEQ), desc=True)]),
    )
    framed = exp.select(*[column(k) for k in keys], column(TS), *results, named(rank, RANK)).from_(
        log.subquery("log", copy=False), copy=False
    )
    return (
        exp.select(*[column(k) for k in keys], column(TS), *[column(n) for n, _ in calls])
        .from_(framed.subquery("framed", copy=False), copy=False)
        .where(exp.EQ(this=column(RANK), expression=number(1)), copy=False)
    )


def _by_position() -> exp.Order:
    return exp.Order(expressions=[exp.Ordered(this=column(TS)), exp.Ordered(this=column(SEQ))])


def _filtered(call: exp.Expr, condition: exp.Expr) -> exp.Expr:
    """Return a call over the rows for which a condition is true, besides its own FILTER."""
    inner = call.copy()
    if isinstance(inner, exp.Filter):
        condition = exp.and_(inner.expression.this.copy(), condition)
        inner = inner.this
    return exp.Filter(this=inner, expression=exp.Where(this=condition))
