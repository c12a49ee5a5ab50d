"""Plan to plan. `RULES` is the whole pipeline, in order; each rule is one law.

`prune` first, so that `materialize` does not keep columns that nobody reads; `share` last, so that
it sees what will run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import fields, is_dataclass, replace

from sqlglot import exp

from cqlduck.rewrite.delta.aggregate import needs_lifetimes
from cqlduck.rewrite.plan import (
    Aggregate,
    Column,
    Distinct,
    During,
    Filter,
    Join,
    Plan,
    Project,
    Recompute,
    RelationScan,
    RowWindow,
    Source,
    StreamScan,
    TimeWindow,
    ToStream,
    Trace,
    UnionAll,
    children,
    is_instantaneous,
    is_stream,
    with_children,
)


def prune(plan: Plan) -> Plan:
    """Leave out the columns that nobody reads: π_A(op(R)) = π_A(op(π_A+used(R))).

    Not below DISTINCT, whose columns are its key, and not below a ROWS window on a derived stream,
    whose ties are broken by all columns.
    """
    return _pruned(plan, {c.name for c in plan.columns})


def _pruned(plan: Plan, needed: set[str]) -> Plan:
    match plan:
        case StreamScan() | RelationScan():
            return _scan(plan, needed)
        case Project():
            kept = [
                (e, c)
                for e, c in zip(plan.expressions, plan.columns, strict=True)
                if c.name in needed
            ] or [(plan.expressions[0], plan.columns[0])]
            inner = _pruned(plan.input, _used(e for e, _ in kept))
            return Project(inner, tuple(e for e, _ in kept), tuple(c for _, c in kept))
        case Filter():
            return replace(plan, input=_pruned(plan.input, needed | _used([plan.predicate])))
        case During():
            below = needed | _used((*plan.begins, *plan.ends))
            return replace(plan, input=_pruned(plan.input, below))
        case Join():
            wanted = needed | _used(plan.predicates)
            return replace(plan, inputs=tuple(_pruned(i, wanted) for i in plan.inputs))
        case Aggregate():
            below = set(plan.keys) | _used(call.call for call in plan.calls)
            below |= {call.argument for call in plan.calls if call.argument is not None}
            return replace(plan, input=_pruned(plan.input, below))
        case RowWindow() if is_stream_derived(plan.input):
            return plan
        case RowWindow():
            below = needed | set(plan.partition_by)
            return replace(plan, input=_pruned(plan.input, below))  # type: ignore[arg-type]
        case TimeWindow():
            return replace(plan, input=_pruned(plan.input, needed))  # type: ignore[arg-type]
        case Distinct() | ToStream() | UnionAll() | Recompute() | Trace():
            # all columns of these are read: as a key, as the net of elements, or by name
            return with_children(
                plan, tuple(_pruned(i, {c.name for c in i.columns}) for i in children(plan))
            )


def is_stream_derived(stream: Plan) -> bool:
    """Return whether a stream is made by a query, so that its ties go by all columns."""
    while isinstance(stream, Filter):
        stream = stream.input
    return not isinstance(stream, StreamScan) or stream.source.is_query


def _scan(plan: StreamScan | RelationScan, needed: set[str]) -> Plan:
    names = tuple(name if name in needed else None for name in plan.names)
    if all(name is None for name in names) and not (
        isinstance(plan, StreamScan) and plan.instant in needed
    ):
        names = (plan.names[0], *names[1:])
    if isinstance(plan, StreamScan):
        return replace(plan, names=names, instant=plan.instant if plan.instant in needed else None)
    return replace(plan, names=names)


def _used(expressions: Iterable[exp.Expr]) -> set[str]:
    return {node.name for e in expressions for node in e.find_all(exp.Column)}


def materialize(plan: Plan) -> Plan:
    """Put a `Trace` under each operator that reads more of an input than the input keeps.

    A join reads its inputs as they stand, an aggregate that is worked out again reads the tuples of
    a group, an Rstream repeats a relation, a window reads older elements of a stream. Windows on
    stored streams, relations, groups, and filters and projections of them keep that already.
    """
    inputs = tuple(materialize(child) for child in children(plan))
    match plan:
        case Join() | Recompute() | During():
            inputs = tuple(_kept(child) for child in inputs)
        case Aggregate() if needs_lifetimes(plan):
            inputs = tuple(_kept(child) for child in inputs)
        case ToStream(kind="rstream") if not is_instantaneous(plan.input):
            inputs = tuple(_kept(child) for child in inputs)
        case TimeWindow() | RowWindow():
            inputs = tuple(_kept_stream(child) for child in inputs)
        case _:
            pass
    return with_children(plan, inputs)


def _kept(plan: Plan) -> Plan:
    match plan:
        case TimeWindow() | RowWindow() | RelationScan() | Trace() | Aggregate() | Distinct():
            return plan
        case Filter() | During() | Project() | UnionAll():
            return with_children(plan, tuple(_kept(child) for child in children(plan)))
        case _:
            return Trace(plan, "trace")


def _kept_stream(plan: Plan) -> Plan:
    match plan:
        case Filter() if is_stream(plan):
            return with_children(plan, (_kept_stream(plan.input),))
        case ToStream():
            return Trace(plan, "trace")
        case _:
            return plan


def share(plan: Plan) -> Plan:
    """Make equal nodes one: op(R) beside op(R) is worked out, and kept, once."""
    known: dict[object, Plan] = {}

    def shared(node: Plan) -> Plan:
        node = with_children(node, tuple(shared(child) for child in children(node)))
        return known.setdefault(_key(node), node)

    return shared(plan)


def _key(value: object) -> object:
    """Return what a node is, in full: its inputs by identity, expressions by their text."""
    if isinstance(value, exp.Expr):
        return value.sql("duckdb")
    if isinstance(value, tuple):
        return tuple(_key(part) for part in value)
    if isinstance(value, (Source, Column)) or not is_dataclass(value):
        return value
    inputs = {id(child) for child in children(value)} if isinstance(value, Plan) else set()
    parts = []
    for known in fields(value):
        part = getattr(value, known.name)
        if id(part) in inputs:
            part = id(part)
        elif isinstance(part, tuple) and part and all(id(p) in inputs for p in part):
            part = tuple(id(p) for p in part)
        parts.append(_key(part))
    return (type(value), *parts)


RULES: tuple[Callable[[Plan], Plan], ...] = (prune, materialize, share)


def optimize(plan: Plan) -> Plan:
    """Apply all rules in order."""
    for rule in RULES:
        plan = rule(plan)
    return plan


__all__ = ["RULES", "Column", "materialize", "optimize", "prune", "share"]
