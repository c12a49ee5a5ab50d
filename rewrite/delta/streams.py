"""Relation to stream, and traces.

    Istream(R) at τ = R(τ) − R(τ−1)      the net elements that are positive
    Dstream(R) at τ = R(τ−1) − R(τ)      the net elements that are negative, turned round
    Rstream(R) at τ = R(τ)               each lifetime once at every instant it covers

(chapter, section 2.2). Not without consolidating first: a tuple that leaves and comes back at the
same instant is in neither Istream nor Dstream.

A `Trace` is the log of its input's elements: what operators above it read as standing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from cqlduck.rewrite.plan import (
    Aggregate,
    Column,
    Recompute,
    ToStream,
    Trace,
    properties,
)
from cqlduck.rewrite.scope import column
from cqlduck.rewrite.weighted import (
    ENTER,
    LEAVE,
    TS,
    WEIGHT,
    add,
    after,
    consolidate,
    forever,
    lifetimes_to_elements,
    named,
    number,
    parameter,
    references,
    state_table,
    temp_table,
    union_all,
    until,
)

if TYPE_CHECKING:
    from cqlduck.rewrite.delta.rules import Rules


def elements(rules: Rules, node: ToStream) -> exp.Query:
    """Return the elements of the stream in the tick."""
    if node.kind == "rstream":
        return _rstream(rules, node)
    if properties(node.input).is_append_only:
        inner = rules.elements(node.input)
        if node.kind == "istream":
            return inner
        return (
            exp.select("*")
            .from_(inner.subquery("input", copy=False), copy=False)
            .where(exp.false(), copy=False)
        )
    net = consolidate(rules.elements(node.input), node.columns).subquery("net", copy=False)
    columns = references(node.columns)
    if node.kind == "istream":
        return (
            exp.select(*columns, column(TS), column(WEIGHT))
            .from_(net, copy=False)
            .where(after(column(WEIGHT), number(0)), copy=False)
        )
    return (
        exp.select(*columns, column(TS), named(exp.Neg(this=column(WEIGHT)), WEIGHT))
        .from_(net, copy=False)
        .where(exp.LT(this=column(WEIGHT), expression=number(0)), copy=False)
    )


def _rstream(rules: Rules, node: ToStream) -> exp.Query:
    inner = node.input
    lives = rules.lives(inner) if properties(inner).is_instantaneous else rules.alive(inner)
    first = exp.Greatest(this=column(ENTER), expressions=[add(parameter("t0"), 1)])
    last = exp.Least(this=column(LEAVE), expressions=[add(parameter("t1"), 1)])
    instants = exp.Unnest(expressions=[exp.Anonymous(this="range", expressions=[first, last])])
    spread = exp.select(*references(node.columns), named(instants, TS), column(WEIGHT)).from_(
        lives.subquery("lives", copy=False), copy=False
    )
    return consolidate(spread, node.columns)


# -- traces -----------------------------------------------------------------------------------


def keep_trace(rules: Rules, node: Trace) -> None:
    """Keep the elements of the tick, and append them to the log.

    Of what lives for an instant only the lifetimes that touch the tick are kept, and no log: none
    of them stands beyond it.
    """
    if properties(node).is_instantaneous:
        rules.delta(node, rules.lives(node.input), "the tuples of single instants")
        return
    columns = (*node.columns, Column(TS, "BIGINT"), Column(WEIGHT, "BIGINT"))
    stream = properties(node).is_stream
    table = rules.synopsis(node, "trace", columns, is_log=not stream)
    if isinstance(node.input, (Aggregate, Recompute)):
        rules.deltas[id(node)] = ""
    else:
        rules.delta(node, rules.elements(node.input), "the elements of the tick")
    rules.update(
        node,
        "append them to the trace",
        exp.insert(trace_elements(rules, node), state_table(table)),
    )


def trace_elements(rules: Rules, node: Trace) -> exp.Query:
    """Return the elements of the tick."""
    if properties(node).is_instantaneous:
        return lifetimes_to_elements(trace_lives(rules, node), node.columns)
    name = rules.deltas[id(node)]
    if not name:
        return rules.elements(node.input)
    return exp.select(*references(node.columns), column(TS), column(WEIGHT)).from_(
        temp_table(name), copy=False
    )


def trace_lives(rules: Rules, node: Trace) -> exp.Select:
    """Return the lifetimes that touch the tick, of what lives for an instant."""
    return exp.select(*references(node.columns), *map(column, (ENTER, LEAVE, WEIGHT))).from_(
        temp_table(rules.deltas[id(node)]), copy=False
    )


def trace_standing(rules: Rules, node: Trace) -> exp.Query:
    """Return the log up to $t0."""
    if properties(node).is_instantaneous:
        return trace_lives(rules, node).where(exp.false(), copy=False)
    return (
        exp.select(
            *references(node.columns),
            named(column(TS), ENTER),
            named(forever(), LEAVE),
            column(WEIGHT),
        )
        .from_(state_table(_table(rules, node)), copy=False)
        .where(until(column(TS), parameter("t0")), copy=False)
    )


def trace_rows(rules: Rules, node: Trace, low: exp.Expr | None, high: exp.Expr) -> exp.Select:
    """Return the elements of a traced stream with `low` < `_ts` ≤ `high`."""
    listed = [*references(node.columns), column(TS), column(WEIGHT)]
    kept = (
        exp.select(*listed)
        .from_(state_table(_table(rules, node)), copy=False)
        .where(until(column(TS), parameter("t0")), copy=False)
    )
    both = union_all([kept, trace_elements(rules, node)])
    query = (
        exp.select(*[x.copy() for x in listed])
        .from_(both.subquery("trace", copy=False), copy=False)
        .where(until(column(TS), high), copy=False)
    )
    return query if low is None else query.where(after(column(TS), low), copy=False)


def _table(rules: Rules, node: Trace) -> str:
    return f"{rules.query}_{rules.number(node)}_trace"
