"""Aggregates of distinct values: each distinct argument over its own distinct values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

from sqlglot import exp

from cqlduck.rewrite.physical.algebra import aggregation
from cqlduck.rewrite.plan import (
    Aggregate,
    AggregateCall,
    Column,
    Distinct,
    Filter,
    Plan,
    Project,
    UnionAll,
    on_children,
    properties,
    value_of,
)
from cqlduck.rewrite.relalg.builders import cast, column, typed_null
from cqlduck.rewrite.relalg.elements import number


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
    plan = on_children(plan, distinct_arguments)
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
    if not values or any(aggregation(c, i, types, grows).is_holistic for i, c in enumerate(calls)):
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
