"""DISTINCT of an input with deletions is grouping by all columns."""

from __future__ import annotations

from cqlduck.rewrite.plan import (
    Aggregate,
    Distinct,
    Plan,
    on_children,
    properties,
)


def group_distinct(plan: Plan) -> Plan:
    """Group by all columns where tuples may leave: δ(R) = γ_A (R), with A the columns of R.

    A group has to know how many tuples it has. Of an append-only relation, each tuple's first
    instant is enough: its δ stays.
    """
    plan = on_children(plan, group_distinct)
    if not isinstance(plan, Distinct) or properties(plan.input).is_append_only:
        return plan
    return Aggregate(plan.input, tuple(c.name for c in plan.columns), ())
