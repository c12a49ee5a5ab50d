"""An operator that makes one row of several equal ones shows the canonical value.

With c the canonical value of each column (`values`),

    δ(R)  = δ(c(R))        R − S, R ∩ S  = c(R) − c(S), c(R) ∩ c(S)        γ_k;f (R) = γ_c(k);f (R)

so that a row is deleted with the value with which it was inserted, whichever of the equal tuples is
deleted. Aggregates read the tuples unchanged. An aggregate that selects one of several equal values
is determined too: MIN takes the least and MAX the greatest by what tells them apart; `median`,
`histogram` and similar ones use canonical values, and the result of any other aggregate is one.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from sqlglot import exp

from cqlduck.rewrite.plan import (
    Aggregate,
    AggregateCall,
    Column,
    Distinct,
    Plan,
    Project,
    SetOperation,
    UnionAll,
    on_children,
)
from cqlduck.rewrite.plan.aggregates import EXTREMES, MERGING, aggregate_core
from cqlduck.rewrite.relalg.builders import column
from cqlduck.rewrite.relalg.values import canonical, extreme, may_vary
from cqlduck.rewrite.text.names import unused
from cqlduck.rewrite.text.parsed import function_name


def canonical_values(plan: Plan) -> Plan:
    """Show the canonical values where equal tuples become one."""
    plan = on_children(plan, canonical_values)
    match plan:
        case Distinct() | SetOperation():
            return on_children(plan, shown)
        case Aggregate():
            return _grouped(plan)
        case _:
            return plan


def shown(plan: Plan, names: Collection[str] | None = None) -> Plan:
    """Return a plan with the canonical values in some of its columns.

    Args:
        plan: The plan.
        names: The columns; None is all of them.
    """
    wanted = {c.name for c in plan.columns if may_vary(c.type)}
    wanted &= wanted if names is None else set(names)
    match plan:
        case _ if not wanted:
            return plan
        case UnionAll():
            return UnionAll(tuple(shown(arm, wanted) for arm in plan.inputs))
        case Project() if _may_be_written_twice(plan, wanted):
            values = [
                canonical(e, c.type) if c.name in wanted and not _is_null(e) else e
                for e, c in zip(plan.expressions, plan.columns, strict=True)
            ]
            return replace(plan, expressions=tuple(values))
    values = [
        canonical(column(c.name), c.type) if c.name in wanted else column(c.name)
        for c in plan.columns
    ]
    return Project(plan, tuple(values), plan.columns)


def _may_be_written_twice(plan: Project, names: Collection[str]) -> bool:
    """Return whether columns are no more than references and NULLs, which cost nothing."""
    return all(
        isinstance(expression, exp.Column) or _is_null(expression)
        for expression, known in zip(plan.expressions, plan.columns, strict=True)
        if known.name in names
    )


def _is_null(expression: exp.Expr) -> bool:
    core = expression.this if isinstance(expression, exp.Cast) else expression
    return isinstance(core, exp.Null)


def _grouped(plan: Aggregate) -> Aggregate:
    types = {c.name: c.type for c in plan.input.columns}
    keys = {key for key in plan.keys if may_vary(types[key])}
    calls = tuple(_settled(call) for call in plan.calls)
    if not keys:
        return replace(plan, calls=calls)
    read = {node.name for call in calls for node in call.call.find_all(exp.Column)}
    read |= {call.argument for call in calls if call.argument is not None}
    copies = {key: unused(f"value {key}", types) for key in plan.keys if key in keys & read}
    inner = shown(_with_copies(plan.input, copies), keys)
    return replace(plan, input=inner, calls=tuple(_renamed(call, copies) for call in calls))


def _settled(call: AggregateCall) -> AggregateCall:
    """Return an aggregate that does not depend on which of several equal values it meets."""
    if call.function in EXTREMES and call.argument is not None and may_vary(call.type):
        function = exp.Min if call.function == "min" else exp.Max
        made = extreme(function, column(call.argument), call.type)
        return replace(call, call=made, written=call.call)
    kind = call.argument_type or ""
    if call.function != "other" or not may_vary(kind):
        return call
    made = call.call.copy()
    core = aggregate_core(made)
    if isinstance(core, exp.Func) and function_name(core) in MERGING:
        value = core.expressions[0] if isinstance(core, exp.Anonymous) else core.this
        value.replace(canonical(value, kind))
    elif may_vary(call.type):
        made = canonical(made, call.type)
    return replace(call, call=made, written=call.call)


def _with_copies(plan: Plan, copies: dict[str, str]) -> Plan:
    """Return a plan with second columns of some of its columns, under other names."""
    if not copies:
        return plan
    if isinstance(plan, UnionAll):
        return UnionAll(tuple(_with_copies(arm, copies) for arm in plan.inputs))
    known = {c.name: c for c in plan.columns}
    more = tuple(Column(name, known[key].type) for key, name in copies.items())
    if isinstance(plan, Project):
        values = dict(zip(known, plan.expressions, strict=True))
        added = tuple(values[key].copy() for key in copies)
        return Project(plan.input, (*plan.expressions, *added), (*plan.columns, *more))
    listed = [*known, *copies]
    return Project(plan, tuple(map(column, listed)), (*plan.columns, *more))


def _renamed(call: AggregateCall, copies: dict[str, str]) -> AggregateCall:
    if not copies:
        return call
    made = call.call.copy()
    for node in list(made.find_all(exp.Column)):
        if node.name in copies:
            node.set("this", exp.to_identifier(copies[node.name], quoted=True))
    argument = None if call.argument is None else copies.get(call.argument, call.argument)
    return replace(call, call=made, argument=argument)
