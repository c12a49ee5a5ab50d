"""Plan to plan. `RULES` is the whole pipeline, in order; each rule is one law.

`prune` first, so that no other rule keeps columns that nobody reads, or works them out; `share`
last, so that what the others have written out twice is one again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Literal

from sqlglot import exp

from cqlduck.rewrite.canonical import canonical_values
from cqlduck.rewrite.delta.algebra import needs_lifetimes, rule_of
from cqlduck.rewrite.netting import ends_in_difference, net
from cqlduck.rewrite.plan import (
    Aggregate,
    AggregateCall,
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
    Source,
    StreamScan,
    TimeWindow,
    ToStream,
    Trace,
    UnionAll,
    children,
    properties,
    value_of,
    walk,
    with_children,
)
from cqlduck.rewrite.postpone import postpone, settle
from cqlduck.rewrite.scope import cast, column, typed_null
from cqlduck.rewrite.unread import is_risky, is_risky_call, without_unread
from cqlduck.rewrite.weighted import number


def prune(plan: Plan) -> Plan:
    """Leave out the columns that nobody reads: π_A(op(R)) = π_A(op(π_A+used(R))).

    Not below DISTINCT, whose columns are its key, and not below a ROWS window or a sample of a
    derived stream, whose ties are broken by all columns.
    """
    seen: dict[int, set[str]] = {}
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
            inner = _pruned(plan.input, _used(e for e, _ in kept), seen)
            return Project(inner, tuple(e for e, _ in kept), tuple(c for _, c in kept))
        case Filter():
            return replace(plan, input=_pruned(plan.input, needed | _used([plan.predicate]), seen))
        case During():
            below = needed | _used((*plan.begins, *plan.ends))
            return replace(plan, input=_pruned(plan.input, below, seen))
        case Join():
            wanted = needed | _used(plan.predicates)
            inputs = tuple(_pruned(i, wanted, seen) for i in plan.inputs)
            names = [c.name for i in inputs for c in i.columns]
            outside = tuple(name for name in names if name in needed) or (names[0],)
            return replace(plan, inputs=inputs, shown=outside)
        case Aggregate():
            wanted = seen.setdefault(id(plan), set())
            wanted |= needed
            calls = tuple(c for c in plan.calls if c.name in wanted or not is_risky_call(plan, c))
            if not calls and not plan.keys:
                calls = (_counting(plan.calls[0]),)
            below = set(plan.keys) | _used(call.call for call in calls)
            below |= {call.argument for call in calls if call.argument is not None}
            return replace(plan, calls=calls, input=_pruned(plan.input, below, seen))
        case RowWindow() | Sample() if not properties(plan.input).is_numbered:
            return plan
        case RowWindow():
            below = needed | set(plan.partition_by)
            return replace(plan, input=_pruned(plan.input, below, seen))  # type: ignore[arg-type]
        case TimeWindow() | Sample():
            return replace(plan, input=_pruned(plan.input, needed, seen))  # type: ignore[arg-type]
        case UnionAll():
            shown = _listed(plan.columns, needed)
            return UnionAll(tuple(_exactly(i, shown, seen) for i in plan.inputs))
        case Difference():
            read = _used(p for n in walk(plan.right) if isinstance(n, Join) for p in n.predicates)
            shown = _listed(plan.columns, needed | read)
            left, right = (_exactly(side, shown, seen) for side in (plan.left, plan.right))
            return replace(plan, left=left, right=right)
        case Recompute():
            wanted = seen.setdefault(id(plan), set())
            wanted |= needed
            return without_unread(plan, wanted, lambda inner, names: _pruned(inner, names, seen))
        case Distinct() | SetOperation() | ToStream() | Trace() | Net():
            # all columns of these are read: as a key, as the net of elements, or by name
            return with_children(
                plan, tuple(_pruned(i, {c.name for c in i.columns}, seen) for i in children(plan))
            )


def _harmless(plan: Project) -> tuple[exp.Expr, Column]:
    """Return what a projection shows if nobody reads it: a column that does not raise."""
    pairs = zip(plan.expressions, plan.columns, strict=True)
    known = plan.columns[0]
    safe = (pair for pair in pairs if not is_risky(plan, pair[1].name))
    return next(safe, (typed_null(known.type), known))


def _counting(call: AggregateCall) -> AggregateCall:
    """Return an aggregate of the same name that does not raise, for a row that nobody reads."""
    if call.argument is None and call.function == "count":
        return call
    return AggregateCall(call.name, "count", exp.Count(this=exp.Star()), None, "BIGINT")


def _listed(columns: tuple[Column, ...], needed: set[str]) -> tuple[Column, ...]:
    return tuple(c for c in columns if c.name in needed) or columns[:1]


def _exactly(plan: Plan, columns: tuple[Column, ...], seen: dict[int, set[str]]) -> Plan:
    """Return the pruned plan with these columns alone, as inputs of a union have to have them."""
    pruned = _pruned(plan, {c.name for c in columns}, seen)
    if pruned.columns == columns:
        return pruned
    return Project(pruned, tuple(column(c.name) for c in columns), columns)


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


def distinct_arguments(plan: Plan) -> Plan:
    """Sum each distinct argument over its own distinct values.

        γ_k;f(x),g(DISTINCT y) (R) = γ_k;f(x),g(y) ( π_k,x (R) + π_k,y (δ (π_k,y (R))) )

    where the columns that a part of the union lacks are NULL, which no aggregate counts. Arguments
    that are one value under several conditions are made distinct together, beside the number of
    each:

        δ (π_k,1,y (σ_p (R)) + π_k,2,y (σ_q (R)))    with y where the number is 1, and where it is 2

    Arguments of other values are not: what a synopsis of values that come in an order has of long
    ago DuckDB skips, but not in one of several such values.

    Not beside an aggregate that is worked out again: that reads all tuples of the group anyway.
    """
    plan = with_children(plan, tuple(distinct_arguments(child) for child in children(plan)))
    if not isinstance(plan, Aggregate):
        return plan
    types = {c.name: c.type for c in plan.input.columns}
    row = "row"
    while row in types:
        row += "_"
    calls: list[AggregateCall] = []
    listed: dict[str, exp.Expr] = {}
    values: dict[str, str] = {}
    for call in plan.calls:
        function = _over_distinct(call)
        argument = call.argument
        if argument is None and call.function == "count":
            argument, kind = row, "INTEGER"
            listed[row] = cast(number(1), kind)
            call = replace(call, call=exp.Count(this=column(row)))
        elif argument is None:
            return plan
        elif function is None:
            kind = types[argument]
            read, argument = argument, f"value {argument}" if argument in plan.keys else argument
            listed[argument] = column(read)
            call = replace(call, call=type(call.call)(this=column(argument)))
        else:
            kind = types[argument]
            values[f"distinct {argument}"] = argument
            argument = f"distinct {argument}"
            made = type(call.call)(this=column(argument))
            call = replace(call, function=function, call=made, distinct=False)
        types[argument] = kind
        calls.append(replace(call, argument=argument, argument_type=kind))
    grows = properties(plan.input).is_append_only
    if not values or any(rule_of(c, i, grows).again for i, c in enumerate(calls)):
        return plan
    columns = tuple(Column(name, types[name]) for name in (*plan.keys, *listed, *values))
    keys: dict[str, exp.Expr] = {key: column(key) for key in plan.keys}
    own_keys = tuple(Column(key, types[key]) for key in plan.keys)
    parts = [] if plan.everything and not listed else [_filled(plan.input, columns, keys | listed)]
    meant = {value: (types[value], value_of(plan.input, values[value])) for value in values}
    for value_meant in dict.fromkeys(meant.values()):
        alike = {value: values[value] for value in values if meant[value] == value_meant}
        kind, _ = value_meant
        once, shown = _once(plan.input, tuple(keys.values()), own_keys, alike, kind)
        parts.append(_filled(once, columns, keys | shown))
    union = UnionAll(tuple(parts)) if len(parts) > 1 else parts[0]
    return replace(plan, input=union, calls=tuple(calls))


def _once(
    plan: Plan,
    keys: tuple[exp.Expr, ...],
    key_columns: tuple[Column, ...],
    values: Mapping[str, str],
    kind: str,
) -> tuple[Plan, dict[str, exp.Expr]]:
    """Return the distinct values of arguments that are one value under conditions, by group.

    Args:
        plan: What is aggregated.
        keys: The keys, over its columns.
        key_columns: Their columns.
        values: By the names that the values get, the arguments: columns of the plan.
        kind: Their type.

    Returns:
        The plan of the values; what each name is over its columns.
    """
    taken = {known.name for known in key_columns}
    if len(values) == 1:
        ((name, argument),) = values.items()
        return Distinct(_known(plan, keys, key_columns, argument, Column(name, kind))), {
            name: column(name)
        }
    value, which = "value", "argument"
    while value in taken or which in taken:
        value, which = f"{value}_", f"{which}_"
    numbered = (*key_columns, Column(which, "INTEGER"))
    parts = [
        _known(plan, (*keys, cast(number(n), "INTEGER")), numbered, argument, Column(value, kind))
        for n, argument in enumerate(values.values())
    ]
    shown: dict[str, exp.Expr] = {
        name: exp.Case().when(exp.EQ(this=column(which), expression=number(n)), column(value))
        for n, name in enumerate(values)
    }
    return Distinct(UnionAll(tuple(parts))), shown


def _known(
    plan: Plan,
    keys: tuple[exp.Expr, ...],
    key_columns: tuple[Column, ...],
    argument: str,
    value: Column,
) -> Plan:
    """Return the values of an argument that are not NULL, by group."""
    listed = tuple(key.copy() for key in keys)
    shown = Project(plan, (*listed, column(argument)), (*key_columns, value))
    return Filter(shown, exp.not_(exp.Is(this=column(value.name), expression=exp.null())))


def _over_distinct(call: AggregateCall) -> Literal["count", "sum", "avg"] | None:
    """Return the function of an aggregate over distinct values, or None for another."""
    if call.function != "other" or not isinstance(call.call.this, exp.Distinct):
        return None
    match call.call:
        case exp.Count():
            return "count"
        case exp.Sum():
            return "sum"
        case exp.Avg():
            return "avg"
    return None


def _filled(plan: Plan, columns: tuple[Column, ...], known: Mapping[str, exp.Expr]) -> Plan:
    """Return the projection to these columns, NULL in those that are not known."""
    listed = [known[c.name].copy() if c.name in known else typed_null(c.type) for c in columns]
    return Project(plan, tuple(listed), columns)


def group_distinct(plan: Plan) -> Plan:
    """Group by all columns where tuples may leave: δ(R) = γ_A (R), with A the columns of R.

    A group has to know how many tuples it has. Of a relation that only grows, each tuple's first
    instant is enough: its δ stays.
    """
    plan = with_children(plan, tuple(group_distinct(child) for child in children(plan)))
    if not isinstance(plan, Distinct) or properties(plan.input).is_append_only:
        return plan
    return Aggregate(plan.input, tuple(c.name for c in plan.columns), ())


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
        case ToStream(kind="rstream") if not properties(plan.input).is_instantaneous:
            inputs = tuple(_kept(child) for child in inputs)
        case TimeWindow() | RowWindow() | Sample():
            inputs = tuple(_kept_stream(child) for child in inputs)
        case _:
            pass
    return with_children(plan, inputs)


def _kept(plan: Plan) -> Plan:
    match plan:
        case TimeWindow() | RowWindow() | RelationScan() | Trace():
            return plan
        case Aggregate() | Distinct() | SetOperation() | Net(is_kept=True):
            return plan
        case UnionAll() if any(map(ends_in_difference, plan.inputs)):
            return Trace(plan, "trace")
        case Filter() | During() | Project() | UnionAll():
            return with_children(plan, tuple(_kept(child) for child in children(plan)))
        case _:
            return Trace(plan, "trace")


def _kept_stream(plan: Plan) -> Plan:
    match plan:
        case Filter() if properties(plan).is_stream:
            return with_children(plan, (_kept_stream(plan.input),))
        case ToStream():
            return Trace(plan, "trace")
        case _:
            return plan


def share(plan: Plan) -> Plan:
    """Make equal nodes one: op(R) beside op(R) is worked out, and kept, once.

    What is materialized is read from its trace everywhere.
    """
    known: dict[object, Plan] = {}
    traces: dict[object, Plan] = {}

    def shared(node: Plan, traced: bool = False) -> Plan:
        inner = tuple(shared(child, isinstance(node, (Trace, Net))) for child in children(node))
        node = with_children(node, inner)
        node = known.setdefault(_key(node), node)
        if isinstance(node, Trace) or (isinstance(node, Net) and node.is_kept):
            traces[id(node.input)] = node
        return node if traced else traces.get(id(node), node)

    return shared(shared(plan))


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


RULES: tuple[Callable[[Plan], Plan], ...] = (
    prune,
    postpone,
    distinct_arguments,
    canonical_values,
    settle,
    group_distinct,
    net,
    materialize,
    share,
)


def optimize(plan: Plan) -> Plan:
    """Apply all rules in order."""
    for rule in RULES:
        plan = rule(plan)
    return plan


__all__ = [
    "RULES",
    "Column",
    "distinct_arguments",
    "group_distinct",
    "materialize",
    "optimize",
    "prune",
    "share",
]
