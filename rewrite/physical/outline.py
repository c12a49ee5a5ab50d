"""Outlines: which tuples or groups a query shows, by what its columns and conditions mean.

The plan of a query is, above all that costs, a projection, and below it HAVING above an aggregate:

    π_columns(σ_conditions(γ_keys;calls(R)))        or        π_columns(σ_conditions(R))

If two queries have equal R and keys, one plan has both, and each is a projection and selection of
it (view matching: Goldstein and Larson, SIGMOD 2001):

    π_a(σ_p(γ_k;f(R)))  =  π_a(σ_p(π_{a,p,b}(γ_k;f,g(R))))

A conjunct of WHERE is such a condition too: of one input of what R joins, as what remains is what
another query may ask for; and below an aggregate if it looks at keys alone, as it keeps or removes
whole groups then:

    γ_k;f(σ_p(k)(R))  =  σ_p(k)(γ_k;f(R))

As the columns that a query does not show do not affect which tuples there are, both are the same
bags at every instant, and so are their Rstreams. So are the Istreams of what only grows, since
nothing of it is deleted.

Meanings are those of `identity`: neither names nor aliases matter. A query that may raise has no
outline: what fails would fail for all who show something of one plan.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

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
        conditions: The meanings of the conjuncts of HAVING, in order, and those of WHERE that are
            conditions of what is shown.
        places: Of each condition, where a column of it stands in the text; None of HAVING.
    """

    base: str
    columns: tuple[str, ...]
    conditions: tuple[str, ...]
    places: tuple[int | None, ...]


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
    below, having = plan.input, list[exp.Expr]()
    inner = below
    while isinstance(inner, Filter):
        having = [*conjuncts(inner.predicate), *having]
        inner = inner.input
    if isinstance(inner, Aggregate):
        keyed = inner.input
        if isinstance(keyed, Project):
            rest, found = _apart(keyed.input, _key_names(inner))
            rest = replace(keyed, input=rest)
        else:
            rest, found = _apart(keyed, frozenset(inner.keys))
        inner = replace(inner, input=rest)
        meanings = identity(inner).meanings
        keys = sorted(meanings[key] for key in inner.keys)
        base = digest(operator, "groups", _tuples(inner.input), inner.everything, *keys)
    else:
        rest, found = _apart(below)
        having, meanings = [], identity(rest).meanings
        base = digest(operator, "tuples", _tuples(rest))
    # of a condition that is said in both, that of HAVING counts, in the order of HAVING
    said = {_meaning(condition, meanings): None for condition in having}
    places: dict[str, int | None] = {m: place for m, place in found if m not in said} | said
    return Outline(
        base,
        tuple(_meaning(value, meanings) for value in plan.expressions),
        tuple(places),
        tuple(places.values()),
    )


def _key_names(node: Aggregate) -> frozenset[str]:
    """Return what those keys of an aggregate that are columns are called below its projection."""
    assert isinstance(node.input, Project)
    listed = zip(node.input.columns, node.input.expressions, strict=True)
    return frozenset(
        value.name for c, value in listed if c.name in node.keys and isinstance(value, exp.Column)
    )


def _apart(plan: Plan, keys: frozenset[str] | None = None) -> tuple[Plan, list[tuple[str, int]]]:
    """Return what is left of a plan without conditions of what it shows, and those.

    Args:
        plan: Filters above a join, or above anything. Below a projection names mean something else.
        keys: The columns at which a condition may look; None if at all of one input.

    Returns:
        The plan; of each condition its meaning, and where a column of it stands in the text.
    """
    match plan:
        case Filter():
            rest, found = _apart(plan.input, keys)
            stay, moved = _divided(conjuncts(plan.predicate), plan, keys)
            if stay:
                rest = replace(plan, input=rest, predicate=exp.and_(*stay))
        case Join():
            stay, moved = _divided(plan.predicates, plan, keys)
            rest, found = replace(plan, predicates=tuple(stay)), []
        case _:
            return plan, []
    meanings = identity(rest).meanings
    return rest, [*found, *((_meaning(one, meanings), place) for one, place in moved)]


def _divided(
    conditions: Iterable[exp.Expr], node: Filter | Join, keys: frozenset[str] | None
) -> tuple[list[exp.Expr], list[tuple[exp.Expr, int]]]:
    """Return the conditions that stay in a node, and those that do not, with their places."""
    stay, moved = list[exp.Expr](), list[tuple[exp.Expr, int]]()
    sides = [{c.name for c in child.columns} for child in node.children]
    shown = {c.name for c in node.columns}
    shown = shown if keys is None else shown & keys
    for condition in conditions:
        columns = list(condition.find_all(exp.Column))
        places = [c.meta["start"] for c in columns if "start" in c.meta]
        names = {column.name for column in columns}
        if places and names <= shown and any(map(names.issubset, sides)):
            moved.append((condition, min(places)))
        else:
            stay.append(condition)
    return stay, moved


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
