"""Unused columns are removed."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from cqlduck.rewrite.plan import (
    Aggregate,
    AggregateCall,
    Anew,
    Column,
    Difference,
    Distinct,
    During,
    Filter,
    Join,
    Net,
    Plan,
    Project,
    Recompute,
    RelationScan,
    RowWindow,
    Sample,
    SetOperation,
    StreamScan,
    TimeWindow,
    ToStream,
    Trace,
    UnionAll,
    VaryingWindow,
    on_children,
    properties,
    unique,
    walk,
)
from cqlduck.rewrite.plan.conditions import names_in
from cqlduck.rewrite.relalg.builders import narrowed, typed_null
from cqlduck.rewrite.rules.unread import is_risky, is_risky_call, without_unread


def prune(plan: Plan) -> Plan:
    """Remove unused columns: π_A(op(R)) = π_A(op(π_A+used(R))).

    Not below DISTINCT, whose columns are its key, and not below a ROWS window or a sample of a
    derived stream, whose ties are broken by all columns. A join that several read has the columns
    that any of them reads: to be one join is worth more than to be narrow.
    """
    seen: dict[int, set[str]] = {}
    nodes = walk(plan)
    if len(unique(plan)) < len(nodes):
        # what several read: all that they read has to be known
        _pruned(plan, {c.name for c in plan.columns}, seen)
    return _pruned(plan, {c.name for c in plan.columns}, seen)


def _pruned(plan: Plan, needed: set[str], seen: dict[int, set[str]]) -> Plan:
    """Return a plan with the columns that are needed; note what is read of what is kept."""
    match plan:
        case StreamScan() | RelationScan():
            return _scan(plan, needed)
        case Project():
            kept = [
                (e, c)
                for e, c in zip(plan.expressions, plan.columns, strict=True)
                if c.name in needed
            ] or [_harmless(plan)]
            expressions, columns = zip(*kept, strict=True)
            inner = _pruned(plan.input, names_in(expressions), seen)
            if inner is plan.input and columns == plan.columns:
                return plan
            return Project(inner, expressions, columns)
        case Filter():
            below = needed | names_in([plan.predicate])
        case During():
            below = needed | names_in((*plan.begins, *plan.ends))
        case Join():
            wanted = seen.setdefault(id(plan), set())
            wanted |= needed
            below = wanted | names_in(plan.predicates)
            inputs = tuple([_pruned(i, below, seen) for i in plan.inputs])
            names = [c.name for i in inputs for c in i.columns]
            outside = tuple([name for name in names if name in wanted]) or (names[0],)
            return replace(plan, inputs=inputs, shown=outside)
        case Aggregate():
            wanted = seen.setdefault(id(plan), set())
            wanted |= needed
            calls = tuple([c for c in plan.calls if c.name in wanted or not is_risky_call(plan, c)])
            if not calls and not plan.keys:
                calls = (_counting(plan.calls[0]),)
            below = set(plan.keys) | names_in([call.call for call in calls])
            below |= {call.argument for call in calls if call.argument is not None}
            plan = plan if calls == plan.calls else replace(plan, calls=calls)
        case RowWindow() | Sample() if not properties(plan.input).is_numbered:
            return plan
        case RowWindow():
            below = needed | set(plan.partition_by)
        case TimeWindow() | VaryingWindow() | Sample():
            below = needed
        case UnionAll():
            shown = _listed(plan.columns, needed)
            return UnionAll(tuple(_exactly(i, shown, seen) for i in plan.inputs))
        case Difference():
            read = names_in(
                p for n in walk(plan.right) if isinstance(n, Join) for p in n.predicates
            )
            shown = _listed(plan.columns, needed | read)
            left, right = (_exactly(side, shown, seen) for side in (plan.left, plan.right))
            return replace(plan, left=left, right=right)
        case Recompute():
            wanted = seen.setdefault(id(plan), set())
            wanted |= needed
            return without_unread(plan, wanted, lambda inner, names: _pruned(inner, names, seen))
        case Distinct() | SetOperation() | ToStream() | Trace() | Net() | Anew():
            # all columns of these are read: as a key, as the net of elements, or by name
            return on_children(plan, lambda i: _pruned(i, {c.name for c in i.columns}, seen))
    return on_children(plan, lambda i: _pruned(i, below, seen))


def _harmless(plan: Project) -> tuple[exp.Expr, Column]:
    """Return the expression of an unused column: one that does not raise."""
    pairs = zip(plan.expressions, plan.columns, strict=True)
    known = plan.columns[0]
    safe = (pair for pair in pairs if not is_risky(plan, pair[1].name))
    return next(safe, (typed_null(known.type), known))


def _counting(call: AggregateCall) -> AggregateCall:
    """Return an aggregate of the same name that does not raise, for an unused result."""
    if call.argument is None and call.function == "count":
        return call
    return AggregateCall(call.name, "count", exp.Count(this=exp.Star()), None, "BIGINT")


def _listed(columns: tuple[Column, ...], needed: set[str]) -> tuple[Column, ...]:
    return tuple(c for c in columns if c.name in needed) or columns[:1]


def _exactly(plan: Plan, columns: tuple[Column, ...], seen: dict[int, set[str]]) -> Plan:
    """Return the pruned plan with these columns alone, as inputs of a union have to have them."""
    return narrowed(_pruned(plan, {c.name for c in columns}, seen), columns)


def _scan(plan: StreamScan | RelationScan, needed: set[str]) -> Plan:
    names = tuple([name if name in needed else None for name in plan.names])
    if all(name is None for name in names) and not (
        isinstance(plan, StreamScan) and plan.instant in needed
    ):
        names = (plan.names[0], *names[1:])
    if isinstance(plan, StreamScan):
        return replace(plan, names=names, instant=plan.instant if plan.instant in needed else None)
    return replace(plan, names=names)
