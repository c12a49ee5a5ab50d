"""Aggregates of a window as frames over the log, if each group's content is a frame of it.

An aggregate without a sum of its own is recomputed for each group and instant that changed. Over a
RANGE window, or over a ROWS window that is partitioned by the group's keys, the tuples of a group
at an instant are consecutive in the log, so DuckDB's window frames (segment trees) compute it in
n log n instead of the number of pairs of instants and tuples:

    RANGE w           agg(x) OVER (PARTITION BY keys ORDER BY t RANGE BETWEEN w PRECEDING AND …)
                      over the tuples and, as rows without a value, the instants that changed
    PARTITION BY keys agg(x) OVER (PARTITION BY keys ORDER BY t, position ROWS BETWEEN n−1
    ROWS n            PRECEDING AND …), of which the last row of each instant counts

This does not apply if a condition stands between a ROWS window and the aggregate: the tuples that
it removes still count among the n. Over HOP w EVERY s a tuple enters at a multiple of s, and stays
for w if s divides w; so its content is a frame too, ordered by the instant of entry. It does not
apply to SLIDE, where the lengths of lifetimes differ.

If only the aggregate reads the ROWS window, the frames are computed where the window orders its
rows (`results`), so that they are sorted once.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from cqlduck.rewrite.operators.aggregate import Grouping
from cqlduck.rewrite.physical.evaluators import row_window
from cqlduck.rewrite.physical.writer import Writer
from cqlduck.rewrite.plan import (
    Aggregate,
    Plan,
    Project,
    RowWindow,
    properties,
)
from cqlduck.rewrite.plan.aggregates import each_call
from cqlduck.rewrite.relalg import Rows
from cqlduck.rewrite.relalg.builders import column, filtered
from cqlduck.rewrite.relalg.elements import (
    ENTER,
    NEXT,
    SEQ,
    TS,
    after,
    exists,
    named,
    over_time,
    parameter,
    preceding,
    qualified,
    references,
    same,
    temp_table,
    union_all,
)
from cqlduck.rewrite.text.time import Duration

ROW, RESULT = "_cql_row", "_cql_result"
N, LAST, IS, WAS, OLD = "_cql_n", "_cql_last", "_cql_is", "_cql_was", "_cql_old"


def results(node: Aggregate, window: RowWindow) -> list[exp.Expr]:
    """Return what `states` needs to know of each row of a window that one aggregate reads."""
    keys = list(window.partition_by)
    calls = [(f"{RESULT}_{call.name}", _over_window(node, call.call)) for call in node.calls]
    calls.append((N, exp.Count(this=exp.Star(), big_int=True)))
    return _in_order(keys, window, calls)


def _in_order(
    keys: Sequence[str], window: RowWindow, calls: Sequence[tuple[str, exp.Expr]]
) -> list[exp.Expr]:
    """Return calls over the frame of each row, and when the next row of its partition comes."""
    following = over_time(exp.Lead(this=column(TS)), [*map(column, keys)], by=(TS, SEQ))
    framed = [
        named(each_call(call, lambda one: _framed(keys, window, one)), name) for name, call in calls
    ]
    return [*framed, named(following, NEXT)]


def _over_window(node: Aggregate, expression: exp.Expr) -> exp.Expr:
    """Return an expression over an aggregate's input as one over its window's columns."""
    plan, found = node.input, expression.copy()
    while isinstance(plan, Project):
        made = dict(zip((c.name for c in plan.columns), plan.expressions, strict=True))
        for part in list(found.find_all(exp.Column)):
            value = made[part.name]
            value = value.copy() if isinstance(value, exp.Column) else exp.paren(value)
            if part is found:
                found = value
            else:
                part.replace(value)
        plan = plan.input
    return found


def frame(writer: Writer, node: Aggregate, calls: list[tuple[str, exp.Expr]]) -> exp.Select:
    """Return (keys, `_ts`, results) for each changed group and instant.

    Args:
        writer: The statements so far; `running` is the CTE of groups and instants.
        node: The aggregate, for which `has_frame` is true.
        calls: Names and calls of the aggregates to work out.
    """
    width = properties(node.input).frame_width
    if width is not None:
        return _range_frame(writer, node, width, calls)
    rows = row_window(node)
    assert rows is not None
    return _row_frame(writer, node, rows, calls)


def _range_frame(
    writer: Writer, node: Aggregate, width: Duration, calls: list[tuple[str, exp.Expr]]
) -> exp.Select:
    inner = node.input
    keys = list(node.keys)
    theirs, mine = ([qualified(table, k) for k in keys] for table in ("running", "l"))
    tuples = writer.alive(inner).select(
        [*references(inner.columns), named(column(ENTER), TS), named(exp.true(), ROW)],
        where=[exists("running", same(theirs, mine))] if keys else [],
        alias="l",
    )
    probes = exp.select(
        *[column(c.name) if c.name in keys else named(exp.null(), c.name) for c in inner.columns],
        column(TS),
        named(exp.false(), ROW),
    ).from_("running", copy=False)
    probes = probes.where(after(column(TS), parameter("t0")), copy=False)

    def over_range(call: exp.Expr) -> exp.Expr:
        spec = preceding("RANGE", width)
        return over_time(filtered(call, column(ROW)), [column(k) for k in keys], spec)

    results = [named(each_call(call, over_range), name) for name, call in calls]
    framed = exp.select(*[column(k) for k in keys], column(TS), *results, column(ROW)).from_(
        union_all([tuples, probes]).subquery("log", copy=False), copy=False
    )
    return (
        exp.select(*[column(k) for k in keys], column(TS), *[column(n) for n, _ in calls])
        .from_(framed.subquery("framed", copy=False), copy=False)
        .where(exp.not_(column(ROW)), copy=False)
    )


def _row_frame(
    writer: Writer, node: Aggregate, window: RowWindow, calls: list[tuple[str, exp.Expr]]
) -> exp.Select:
    keys = [column(k) for k in node.keys]
    framed = _row_log(writer, node, window).select(
        [*keys, column(TS), *_in_order(node.keys, window, calls)], alias="log"
    )
    return (
        exp.select(*[k.copy() for k in keys], column(TS), *[column(n) for n, _ in calls])
        .from_(framed.subquery("framed", copy=False), copy=False)
        .where(exp.NullSafeNEQ(this=column(NEXT), expression=column(TS)), copy=False)
        .where(after(column(TS), parameter("t0")), copy=False)
    )


def _row_log(writer: Writer, node: Aggregate, window: RowWindow) -> Rows:
    """Return the rows of the touched partitions as the aggregate sees them, in the log."""
    log = writer.row_log(window).project([*references(window.columns), column(TS), column(SEQ)])
    chain: list[Project] = []
    plan: Plan = node.input
    while isinstance(plan, Project):
        chain.append(plan)
        plan = plan.input
    for project in reversed(chain):
        listed = [
            named(e, c.name) for e, c in zip(project.expressions, project.columns, strict=True)
        ]
        log = log.project([*listed, column(TS), column(SEQ)], "log")
    return log


def _framed(keys: Sequence[str], window: RowWindow, call: exp.Expr) -> exp.Window:
    spec = preceding("ROWS", window.rows - 1)
    return over_time(call.copy(), [column(k) for k in keys], spec, by=(TS, SEQ))


def _with_results(writer: Writer, node: Aggregate, names: list[str]) -> exp.Select:
    """Return each row of the window's log with the results of the frame that ends there."""
    window = row_window(node)
    assert window is not None
    if writer.framed.get(id(window)) is node:
        keys = [column(k) for k in node.keys]
        return exp.select(
            *[named(_over_window(node, key), key.name) for key in keys],
            column(TS),
            *[named(column(f"{RESULT}_{name}"), name) for name in names],
            column(N),
            column(NEXT),
        ).from_(temp_table(writer.deltas[id(window)]), copy=False)
    calls = [(call.name, call.call) for call in node.calls]
    calls.append((N, exp.Count(this=exp.Star(), big_int=True)))
    listed = [*map(column, node.keys), column(TS), *_in_order(node.keys, window, calls)]
    return _row_log(writer, node, window).select(listed, alias="log")


def states(writer: Writer, node: Aggregate, names: list[str]) -> exp.Select:
    """Return the delta of an aggregate whose partitions' content is a frame: one pass over the log.

    The rows that were in the window at $t0 are in the log, so the last of them has the results
    before the tick; nothing else of the state is needed. A partition never gets empty.
    """
    keys = [column(k) for k in node.keys]
    # of each instant the last row, and of all that were there before the tick the very last
    ends = (
        exp.select("*")
        .from_(_with_results(writer, node, names).subquery("framed", copy=False), copy=False)
        .where(exp.NullSafeNEQ(this=column(NEXT), expression=column(TS)), copy=False)
        .where(
            exp.or_(
                exp.Is(this=column(NEXT), expression=exp.null()),
                after(column(NEXT), parameter("t0")),
            ),
            copy=False,
        )
    )

    def earlier(name: str) -> exp.Window:
        return over_time(exp.Lag(this=column(name)), keys)

    known = exp.Is(this=column("_cql_earlier"), expression=exp.null())
    stepped = exp.select(
        *[k.copy() for k in keys],
        column(TS),
        column(N),
        *map(column, names),
        *[named(earlier(name), f"{OLD}_{name}") for name in names],
        named(earlier(TS), "_cql_earlier"),
        named(exp.Is(this=column(NEXT), expression=exp.null()), LAST),
    ).from_(ends.subquery("ends", copy=False), copy=False)
    return (
        exp.select(
            *[k.copy() for k in keys],
            column(TS),
            column(N),
            *map(column, names),
            *[column(f"{OLD}_{name}") for name in names],
            column(LAST),
            named(exp.true(), IS),
            named(exp.not_(known), WAS),
        )
        .from_(stepped.subquery("stepped", copy=False), copy=False)
        .where(after(column(TS), parameter("t0")), copy=False)
    )


class Frames(Grouping):
    """All aggregates of a partition as one frame of the rows of its window."""

    def changes(self, table: str) -> exp.Query:
        """Return each group and instant with its old and its new results, from the log alone."""
        return states(self.writer, self.node, [made.call.name for made in self.made])
