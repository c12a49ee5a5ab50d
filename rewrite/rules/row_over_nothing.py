"""The row over nothing of global aggregates that one plan computes for several queries."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from cqlduck.rewrite.plan import (
    Aggregate,
    AggregateCall,
    Column,
    Plan,
    Project,
    RelationScan,
    UnionAll,
    on_children,
    unique,
)
from cqlduck.rewrite.relalg.builders import cast, column, typed_null
from cqlduck.rewrite.relalg.elements import number
from cqlduck.rewrite.text.shapes import ALIAS, MEMBER


def row_over_nothing(plan: Plan) -> Plan:
    """Give each row of the relation of constants C a group of its own, also over nothing.

        γ_c;f(x) (π_c,x (R ⋈ C))   becomes   γ_c;f(x) (π_c,x,1 (R ⋈ C) + π_c,NULL,NULL (C))

    for keys c that are columns of C alone, where f counts only tuples that have the 1: count(*)
    counts these, other aggregates ignore NULL, or have a condition. So each query of a family has
    the row that a global aggregate has at every instant (docs/sharing.md).

    Groups by constants alone are nothing else: what would group by them otherwise is not
    generalized.
    """
    plan = on_children(plan, row_over_nothing)
    member = f"{ALIAS}.{MEMBER}"
    if not isinstance(plan, Aggregate) or member not in plan.keys:
        return plan
    if not all(key.startswith(f"{ALIAS}.") for key in plan.keys):
        return plan
    constants = next(
        node
        for node in unique(plan)
        if isinstance(node, RelationScan) and member in {c.name for c in node.columns}
    )
    there = "there"
    while there in {c.name for c in plan.input.columns}:
        there += "_"
    columns = (*plan.input.columns, Column(there, "INTEGER"))
    joined = Project(
        plan.input,
        (*(column(c.name) for c in plan.input.columns), cast(number(1), "INTEGER")),
        columns,
    )
    alone = Project(
        constants,
        tuple(column(c.name) if c.name in plan.keys else typed_null(c.type) for c in columns),
        columns,
    )
    calls = tuple(_counting(call, there) for call in plan.calls)
    return replace(plan, input=UnionAll((joined, alone)), calls=calls)


def _counting(call: AggregateCall, there: str) -> AggregateCall:
    """Return an aggregate that counts only tuples that have the 1."""
    if call.function == "count" and call.argument is None:
        made = exp.Count(this=column(there))
        return replace(call, call=made, argument=there, argument_type="INTEGER")
    if call.function != "other":
        return call
    if call.argument is not None and isinstance(call.call.this, exp.Distinct):
        return call
    inner = call.call.copy()
    condition: exp.Expr = exp.not_(exp.Is(this=column(there), expression=exp.null()))
    if isinstance(inner, exp.Filter):
        inner, condition = inner.this, exp.and_(condition, inner.expression.this, copy=False)
    return replace(call, call=exp.Filter(this=inner, expression=exp.Where(this=condition)))
