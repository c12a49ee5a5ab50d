"""Unused columns of recomputed queries and of their inputs.

    Q(R)                                 =  Q(π_A(R))              where Q names the columns A alone
    Q(R) with an unused column v = f(x)  =  Q(R) with NULL for v   where f may raise

The text of a recomputed query shows which columns of its inputs it names, those by which it breaks
ties among them; the node above shows which of its own are read. So an unused column fails no query.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace

from sqlglot import exp

from cqlduck.rewrite.plan import (
    INPUT,
    Aggregate,
    AggregateCall,
    Column,
    Plan,
    Project,
    Recompute,
    guards,
    properties,
)
from cqlduck.rewrite.plan.aggregates import aggregate_core
from cqlduck.rewrite.plan.raising import can_raise
from cqlduck.rewrite.relalg.builders import typed_null

Pruned = Callable[[Plan, set[str]], Plan]
"""From a plan and the columns of it that are read to the plan without the others."""


def without_unread(node: Recompute, needed: Collection[str], pruned: Pruned) -> Recompute:
    """Return a recomputed query without the columns of its inputs that it does not name.

    Args:
        node: The node.
        needed: Which of its columns are read; the others are NULL if they may raise.
        pruned: Leaves columns out of an input.
    """
    places = [n for n, known in enumerate(node.columns) if known.name not in needed]
    query = node.query
    for place in places:
        if _may_be_nothing(node, place):
            query = _with_nothing(query, place, node.columns[place])
    node = replace(node, query=query)
    inputs = tuple(_read_by(node, place, pruned) for place in range(len(node.inputs)))
    return replace(
        node,
        inputs=inputs,
        names=tuple(_names_of(node, place, inner) for place, inner in enumerate(inputs)),
    )


def is_risky(plan: Plan, name: str) -> bool:
    """Return whether the expression of a column may raise."""
    match plan:
        case Project():
            value = dict(zip((c.name for c in plan.columns), plan.expressions, strict=True))[name]
            types = {c.name: c.type for c in plan.input.columns}
            read = {c.name for c in value.find_all(exp.Column)} & types.keys()
            return can_raise(value, types) or any(is_risky(plan.input, n) for n in read)
        case Aggregate():
            calls = [call for call in plan.calls if call.name == name]
            return any(is_risky_call(plan, call) for call in calls)
        case Recompute():
            place = [c.name for c in plan.columns].index(name)
            return _may_be_nothing(plan, place)
        case _ if properties(plan).is_stream:
            return False
        case _:
            owners = [p for p in plan.children if name in {c.name for c in p.columns}]
            return any(is_risky(owner, name) for owner in owners)


def is_risky_call(plan: Aggregate, call: AggregateCall) -> bool:
    """Return whether an argument of an aggregate may raise."""
    types = {c.name: c.type for c in plan.input.columns}
    if call.function == "other" and any(can_raise(e, types) for e in guards.arguments(call.call)):
        return True
    read = {c.name for c in call.call.find_all(exp.Column)} & types.keys()
    return any(is_risky(plan.input, name) for name in read)


def _read_by(node: Recompute, place: int, pruned: Pruned) -> Plan:
    """Return an input without the columns that the query does not name."""
    plan = node.inputs[place]
    named = _named(node.query, place)
    if named is None:
        return pruned(plan, {c.name for c in plan.columns})
    pairs = zip(node.names[place], plan.columns, strict=True)
    read = {c.name for name, c in pairs if name.lower() in named}
    read |= {c.name for n, turn in node.turns if n == place for c in turn.find_all(exp.Column)}
    read |= set(node.keys[place] if node.keys else ())
    if read:
        return pruned(plan, read)
    safe = next((c.name for c in plan.columns if not is_risky(plan, c.name)), None)
    if safe is not None:
        return pruned(plan, {safe})
    first, *_ = plan.columns
    return Project(pruned(plan, set()), (typed_null(first.type),), (first,))


def _names_of(node: Recompute, place: int, inner: Plan) -> tuple[str, ...]:
    """Return what the columns of an input are called in the query."""
    known = zip(node.inputs[place].columns, node.names[place], strict=True)
    names = {c.name: name for c, name in known}
    return tuple(names[c.name] for c in inner.columns)


def _named(query: exp.Query, place: int) -> set[str] | None:
    """Return all names that a query mentions, in lower case; None if it reads whole rows."""
    for node in query.walk():
        if isinstance(node, exp.Star) and not isinstance(node.parent, exp.Count):
            return None
        if (
            isinstance(node, (exp.Columns, exp.PositionalColumn, exp.Pivot))
            or node.args.get("method") == "NATURAL"
        ):
            return None
    tables = [t for t in query.find_all(exp.Table) if t.name == f"{INPUT}{place}"]
    if any(t.args["alias"].args.get("columns") for t in tables):
        return None
    aliases = {t.alias.lower() for t in tables}
    if any(c.name.lower() in aliases and not c.table for c in query.find_all(exp.Column)):
        return None
    return {node.name.lower() for node in query.find_all(exp.Identifier)}


def _may_be_nothing(node: Recompute, place: int) -> bool:
    """Return whether the expression of a column may raise, and nothing else depends on it."""
    select = node.query
    if not isinstance(select, exp.Select) or select.args.get("distinct"):
        return False
    if len(select.expressions) != len(node.columns) or any(e.is_star for e in select.expressions):
        return False
    group = select.args.get("group")
    if group is not None and (group.args.get("all") or group.find(exp.Literal)):
        return False
    listed = select.expressions[place]
    value = listed.unalias()
    if value.find(exp.Unnest, exp.Explode, exp.Columns) is not None:
        return False
    if group is None and value.find(exp.Anonymous) is not None:
        return False  # it may be an aggregate, which makes one row of all
    others = [e for e in select.iter_expressions() if e is not listed]
    if any(name == listed.alias_or_name.lower() for e in others for name in _columns(e)):
        return False
    order = select.args.get("order")
    by_place = order is not None and any(isinstance(t.this, exp.Literal) for t in order.expressions)
    return not by_place and _raises(node, value)


def _columns(tree: exp.Expr) -> Iterator[str]:
    return (c.name.lower() for c in tree.find_all(exp.Column) if not c.table)


def _raises(node: Recompute, value: exp.Expr) -> bool:
    """Return whether an item of a SELECT list may raise, by the columns of the inputs."""
    read = {c.name.lower() for c in value.find_all(exp.Column)}
    inputs = [
        (name.lower(), known, plan)
        for names, plan in zip(node.names, node.inputs, strict=True)
        for name, known in zip(names, plan.columns, strict=True)
        if name.lower() in read
    ]
    if any(is_risky(plan, known.name) for _, known, plan in inputs):
        return True
    kinds: dict[str, set[str]] = {}
    for name, known, _ in inputs:
        kinds.setdefault(name, set()).add(known.type)
    types = {
        c.name: next(iter(kinds[c.name.lower()]))
        for c in value.find_all(exp.Column)
        if len(kinds.get(c.name.lower(), ())) == 1
    }
    if isinstance(aggregate_core(value), (exp.Count, exp.Sum, exp.Avg, exp.Min, exp.Max)):
        return any(can_raise(e, types) for e in guards.arguments(value))
    return can_raise(value, types)


def _aggregates(value: exp.Expr, select: exp.Select) -> bool:
    """Return whether an item of a SELECT list has an aggregate of this SELECT, not under OVER."""
    return any(
        call.find_ancestor(exp.Window) is None and _select_of(call) is select
        for call in value.find_all(exp.AggFunc)
    )


def _select_of(call: exp.Expr) -> exp.Select | None:
    """Return the SELECT whose rows an aggregate is over; one without FROM has none of its own."""
    select = call.find_ancestor(exp.Select)
    while select is not None and select.args.get("from_") is None:
        select = select.find_ancestor(exp.Select)
    return select


def _with_nothing(query: exp.Query, place: int, known: Column) -> exp.Query:
    """Return a query with NULL for a column, and as many rows as before."""
    copy = query.copy()
    assert isinstance(copy, exp.Select)
    nothing = typed_null(known.type)
    if copy.args.get("group") is None and _aggregates(copy.expressions[place], copy):
        nothing = exp.Max(this=nothing)
    listed = list(copy.expressions)
    listed[place] = exp.alias_(nothing, known.name, quoted=True)
    copy.set("expressions", listed)
    return copy
