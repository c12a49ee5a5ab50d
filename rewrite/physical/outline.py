"""Outlines: which tuples or groups a query shows, by what its columns and conditions mean.

The plan of a query is, above all that costs, a projection, and below it HAVING above an aggregate:

    π_columns(σ_conditions(γ_keys;calls(R)))        or        π_columns(R)

If two queries have equal R and keys, one plan has both, and each is a projection and selection of
it (view matching: Goldstein and Larson, SIGMOD 2001):

    π_a(σ_p(γ_k;f(R)))  =  π_a(σ_p(π_{a,p,b}(γ_k;f,g(R))))

As the columns that a query does not show do not affect which tuples there are, both are the same
bags at every instant, and so are their Rstreams. So are the Istreams of what only grows, since
nothing of it is deleted.

Meanings are those of `identity`: neither names nor aliases matter. A query that may raise has no
outline: what fails would fail for all who show something of one plan.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp

from cqlduck.rewrite.physical.identity import digest, identity, over_meanings
from cqlduck.rewrite.plan import (
    Aggregate,
    Filter,
    Join,
    Plan,
    Project,
    Recompute,
    ToStream,
    properties,
    unique,
)
from cqlduck.rewrite.plan.aggregates import value_may_raise
from cqlduck.rewrite.plan.conditions import conjuncts
from cqlduck.rewrite.plan.guards import may_raise
from cqlduck.rewrite.plan.raising import can_raise


@dataclass(frozen=True)
class Outline:
    """Which tuples or groups a query shows, and what its columns and conditions mean.

    Attributes:
        base: The digest of the tuples or groups, of the keys and the relation-to-stream operator.
        columns: The meanings of the columns, in order.
        conditions: The meanings of the conjuncts of HAVING, in order.
    """

    base: str
    columns: tuple[str, ...]
    conditions: tuple[str, ...]


def outline(plan: Plan) -> Outline | None:
    """Return the outline of a query.

    Args:
        plan: Its plan as it was bound: rules may have made something else of its aggregates.

    Returns:
        The outline; None if it is no projection, or may raise.
    """
    operator = "relation"
    if isinstance(plan, ToStream):
        grows = plan.kind == "istream" and properties(plan.input).is_monotonic
        if not grows and plan.kind != "rstream":
            return None
        operator, plan = plan.kind, plan.input
    if not isinstance(plan, Project) or any(map(_may_fail, unique(plan))):
        return None
    below, conditions = plan.input, list[exp.Expr]()
    inner = below
    while isinstance(inner, Filter):
        conditions = [*conjuncts(inner.predicate), *conditions]
        inner = inner.input
    if isinstance(inner, Aggregate):
        meanings = identity(inner).meanings
        keys = sorted(meanings[key] for key in inner.keys)
        base = digest(operator, "groups", _tuples(inner.input), inner.everything, *keys)
    else:
        conditions, meanings = [], identity(below).meanings
        base = digest(operator, "tuples", _tuples(below))
    return Outline(
        base,
        tuple(_meaning(value, meanings) for value in plan.expressions),
        tuple(_meaning(condition, meanings) for condition in conditions),
    )


def _tuples(plan: Plan) -> str:
    """Return the id of an input, whose projections do not affect how many tuples it has."""
    while isinstance(plan, Project):
        plan = plan.input
    return identity(plan).id


def _meaning(value: exp.Expr, meanings: Mapping[str, str]) -> str:
    """Return the meaning of an expression over columns; parentheses around these mean nothing."""
    bare = exp.Paren(this=value.copy())
    for paren in list(bare.find_all(exp.Paren)):
        if paren is not bare and isinstance(paren.this, (exp.Column, exp.Paren)):
            paren.replace(paren.this)
    only = bare.this
    while isinstance(only, exp.Paren):
        only = only.this
    if isinstance(only, exp.Column):
        return meanings[only.name]
    return digest("column", over_meanings(only, meanings))


def _may_fail(node: Plan) -> bool:
    """Return whether an operator may raise, or is recomputed."""
    match node:
        case Recompute():
            return True
        case Aggregate():
            return any(value_may_raise(call.call, call.argument_type) for call in node.calls)
        case Filter() | Join():
            return may_raise(node)
        case Project():
            types = {c.name: c.type for c in node.input.columns}
            return any(can_raise(expression, types) for expression in node.expressions)
    return False
