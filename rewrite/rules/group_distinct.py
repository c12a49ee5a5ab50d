"""DISTINCT of an input with deletions is grouping by all columns."""

from __future__ import annotations

from cqlduck.rewrite.plan import (
    Aggregate,
    Distinct,
    Plan,
    children,
    properties,
    with_children,
)


def group_distinct(plan: Plan) -> Plan:
    """Group by all columns where tuples may leave: δ(R) = γ_A (R), with A the columns of R.

    A group has to know how many tuples it has. Of a relation that only grows, each tuple's first
    instant is enough: its δ stays.
    """
    plan = with_children(plan, tuple(group_distinct(child) for child in children(plan)))
    if not isinstance(plan, Distinct) or properties(plan.input).is_append_only:
        return plan
    return Aggregate(plan.input, tuple(c.name for c in plan.columns), ())
