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
from cqlduck.rewrite.relalg import Rows
from cqlduck.rewrite.scope import column
from cqlduck.rewrite.weighted import (
    ENTER,
    LEAVE,
    TS,
    WEIGHT,
    add,
    after,
    consolidate,
    element_names,
    elements_to_lifetimes,
    greatest,
    least,
    lifetime_names,
    lifetimes_to_elements,
    named,
    number,
    parameter,
    references,
    state_table,
    temp_table,
    until,
)

if TYPE_CHECKING:
    from cqlduck.rewrite.delta.rules import Rules


def elements(rules: Rules, node: ToStream) -> Rows:
    """Return the elements of the stream in the tick."""
    if node.kind == "rstream":
        return _rstream(rules, node)
    if properties(node.input).is_append_only:
        inner = rules.elements(node.input)
        return inner if node.kind == "istream" else inner.where(exp.false())
    net = consolidate(rules.elements(node.input), node.columns)
    if node.kind == "istream":
        return net.where(after(column(WEIGHT), number(0)), alias="net")
    less = named(exp.Neg(this=column(WEIGHT)), WEIGHT)
    gone = net.where(exp.LT(this=column(WEIGHT), expression=number(0)), alias="net")
    return gone.project([*references(node.columns), column(TS), less], "net")


def _rstream(rules: Rules, node: ToStream) -> Rows:
    inner = node.input
    lives = rules.lives(inner) if properties(inner).is_instantaneous else rules.alive(inner)
    first = greatest(column(ENTER), add(parameter("t0"), 1))
    last = least(column(LEAVE), add(parameter("t1"), 1))
    instants = exp.Unnest(expressions=[exp.Anonymous(this="range", expressions=[first, last])])
    listed = [*references(node.columns), named(instants, TS), column(WEIGHT)]
    return consolidate(lives.project(listed, "lives"), node.columns)


# -- traces -----------------------------------------------------------------------------------


def keep_trace(rules: Rules, node: Trace) -> None:
    """Keep the elements of the tick, and append them to the log.

    Of what lives for an instant only the lifetimes that touch the tick are kept, and no log: none
    of them stands beyond it.
    """
    if properties(node).is_instantaneous:
        rules.delta(node, rules.lives(node.input).query(), "the tuples of single instants")
        return
    columns = (*node.columns, Column(TS, "BIGINT"), Column(WEIGHT, "BIGINT"))
    stream = properties(node).is_stream
    table = rules.synopsis(node, "trace", columns, is_log=not stream)
    if isinstance(node.input, (Aggregate, Recompute)):
        rules.deltas[id(node)] = ""
    else:
        rules.delta(node, rules.elements(node.input).query(), "the elements of the tick")
    rules.update(
        node,
        "append them to the trace",
        exp.insert(trace_elements(rules, node).query(), state_table(table)),
    )


def trace_elements(rules: Rules, node: Trace) -> Rows:
    """Return the elements of the tick."""
    if properties(node).is_instantaneous:
        return lifetimes_to_elements(trace_lives(rules, node), node.columns)
    name = rules.deltas[id(node)]
    if not name:
        return rules.elements(node.input)
    return Rows.of(temp_table(name), element_names(node.columns))


def trace_lives(rules: Rules, node: Trace) -> Rows:
    """Return the lifetimes that touch the tick, of what lives for an instant."""
    return Rows.of(temp_table(rules.deltas[id(node)]), lifetime_names(node.columns))


def trace_standing(rules: Rules, node: Trace) -> Rows:
    """Return the log up to $t0."""
    if properties(node).is_instantaneous:
        return trace_lives(rules, node).where(exp.false())
    return elements_to_lifetimes(_logged(rules, node), node.columns)


def trace_rows(rules: Rules, node: Trace, low: exp.Expr | None, high: exp.Expr) -> Rows:
    """Return the elements of a traced stream with `low` < `_ts` ≤ `high`."""
    both = Rows.union([_logged(rules, node), trace_elements(rules, node)])
    conditions = [until(column(TS), high)]
    if low is not None:
        conditions.append(after(column(TS), low))
    return both.where(*conditions, alias="trace")


def _logged(rules: Rules, node: Trace) -> Rows:
    """Return the elements that the log has from before the tick."""
    log = Rows.of(state_table(_table(rules, node)), element_names(node.columns))
    return log.where(until(column(TS), parameter("t0")))


def _table(rules: Rules, node: Trace) -> str:
    return rules.table(node, "trace")
