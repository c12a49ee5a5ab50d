"""The join: multilinear, one term for each input.

    Δ(R₁ ⋈ … ⋈ Rₙ) = Σᵢ  R₁ ⋈ … ⋈ Rᵢ₋₁  ⋈  ΔRᵢ  ⋈  (Rᵢ₊₁ + ΔRᵢ₊₁) ⋈ … ⋈ (Rₙ + ΔRₙ)

Left of i stands what neither begins nor ends in the tick, at i what does, right of it both; so each
combination with at least one change is in exactly one term. A combination lives while all its
tuples do: from the greatest `_cql_enter` to the least `_cql_leave`, with the product of the
weights. Pairs that never overlap are cut by a condition, rather than sent on as
elements that cancel. What `bounds` says of time may leave terms out: where one input is always the
latest, its term is all, with everything that touches the tick.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from typing import TYPE_CHECKING

from sqlglot import exp

from cqlduck.rewrite.delta import bounds
from cqlduck.rewrite.delta.counting import only_comes
from cqlduck.rewrite.plan import (
    Difference,
    Distinct,
    During,
    Filter,
    Join,
    Plan,
    Project,
    Recompute,
    RelationScan,
    TimeWindow,
    Trace,
    UnionAll,
    is_instantaneous,
)
from cqlduck.rewrite.scope import column
from cqlduck.rewrite.weighted import (
    ENTER,
    LEAVE,
    TS,
    WEIGHT,
    lifetimes_to_elements,
    named,
    qualified,
    references,
    temp_table,
    union_all,
)

if TYPE_CHECKING:
    from cqlduck.rewrite.delta.rules import Rules


def keep(rules: Rules, node: Join) -> None:
    """Keep the combinations that begin or end in the tick, which several operators read."""
    rules.delta(node, _lives(rules, node), "the combinations that begin or end")


def elements(rules: Rules, node: Join) -> exp.Query:
    """Return the changes of the join in the tick."""
    if is_endless(node):
        return exp.select(
            *references(node.columns), named(column(ENTER), TS), column(WEIGHT)
        ).from_(lives(rules, node).subquery("joined", copy=False), copy=False)
    return lifetimes_to_elements(lives(rules, node), node.columns)


def lives(rules: Rules, node: Join) -> exp.Query:
    """Return the combinations that begin or end in the tick."""
    name = rules.deltas.get(id(node))
    if name is None:
        return _lives(rules, node)
    kept = (column(ENTER), column(LEAVE), column(WEIGHT))
    return exp.select(*references(node.columns), *kept).from_(temp_table(name), copy=False)


def _lives(rules: Rules, node: Join) -> exp.Query:
    latest = bounds.latest(rules.clock, node)
    if latest is not None:
        later = bounds.of_time(rules.clock, node, latest)
        return _term(rules, node, latest, later, before=())
    terms = []
    for place in range(len(node.inputs)):
        later = bounds.of_time(rules.clock, node, place)
        # a term in which something that stands would have to be of the tick is empty
        if not any(fresh < place for fresh in bounds.of_tick(node, later)):
            terms.append(_term(rules, node, place, later, before=range(place)))
    return union_all(terms)


def _term(
    rules: Rules,
    node: Join,
    changed: int,
    later: Mapping[str, exp.Expr],
    before: Container[int],
) -> exp.Select:
    """Return the combinations with a change at one place, and at none `before`.

    Args:
        rules: The rules.
        node: The join.
        changed: The place.
        later: What follows for the other inputs (`bounds.of_time`).
        before: The places at which nothing begins or ends.
    """
    fresh = bounds.of_tick(node, later)
    names = [f"i{place}" for place in range(len(node.inputs))]
    parts: list[exp.Query] = []
    for place, plan in enumerate(node.inputs):
        if place == changed:
            parts.append(rules.staged_lives(plan, _harmless(plan, node.predicates)))
        elif place in before:
            parts.append(rules.standing(plan))
        elif place in fresh:
            parts.append(rules.lives(plan))
        else:
            parts.append(rules.alive(plan))
    enter = _most("greatest", [qualified(name, ENTER) for name in names])
    leave = _most("least", [qualified(name, LEAVE) for name in names])
    weight: exp.Expr = qualified(names[0], WEIGHT)
    for name in names[1:]:
        weight = exp.Mul(this=weight, expression=qualified(name, WEIGHT))
    listed = [
        qualified(name, known.name)
        for name, plan in zip(names, node.inputs, strict=True)
        for known in plan.columns
    ]
    query = exp.select(*listed, named(enter, ENTER), named(leave, LEAVE), named(weight, WEIGHT))
    query = query.from_(parts[0].subquery(names[0], copy=False), copy=False)
    for part, name in zip(parts[1:], names[1:], strict=True):
        query = query.join(part.subquery(name, copy=False), join_type="cross", copy=False)
    conditions = [predicate.copy() for predicate in node.predicates]
    conditions += later.values()
    conditions += _overlaps(node, names)
    return query.where(*conditions, copy=False) if conditions else query


_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)
_INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")


def _harmless(plan: Plan, predicates: Iterable[exp.Expr]) -> list[exp.Expr]:
    """Return the predicates about one input that cannot fail.

    Those compare a column with constants of its kind, or with NULL: there is nothing to cast.
    """
    types = {known.name: known.type for known in plan.columns}
    return [predicate for predicate in predicates if _cannot_fail(predicate, types)]


def _cannot_fail(tree: exp.Expr, types: Mapping[str, str]) -> bool:
    match tree:
        case exp.Paren() | exp.Not():
            return _cannot_fail(tree.this, types)
        case exp.And() | exp.Or():
            return _cannot_fail(tree.left, types) and _cannot_fail(tree.right, types)
        case exp.Is(this=exp.Column(), expression=exp.Null()):
            return tree.this.name in types
        case exp.In(expressions=[_, *_] as listed):
            return all(_are_alike(tree.this, constant, types) for constant in listed)
        case exp.Between():
            ends = (tree.args["low"], tree.args["high"])
            return all(_are_alike(tree.this, end, types) for end in ends)
        case _ if isinstance(tree, _COMPARISONS):
            left, right = tree.left, tree.right
            return _are_alike(left, right, types) or _are_alike(right, left, types)
        case _:
            return False


def _are_alike(tree: exp.Expr, constant: exp.Expr, types: Mapping[str, str]) -> bool:
    """Return whether these are a column of the input and a constant of its kind."""
    if isinstance(constant, exp.Neg):
        constant = constant.this
    if not isinstance(tree, exp.Column) or not isinstance(constant, exp.Literal):
        return False
    kind = types.get(tree.name)
    return kind == "VARCHAR" if constant.is_string else kind in _INTEGERS and constant.is_int


def _overlaps(node: Join, names: list[str]) -> list[exp.Expr]:
    """Return that the lifetimes have an instant in common, as one condition for each pair.

    Intervals that meet two by two meet all together; written so, each condition can be tested as
    soon as its two inputs are joined.
    """
    ends = [not is_endless(plan) for plan in node.inputs]
    return [
        exp.LT(this=qualified(mine, ENTER), expression=qualified(theirs, LEAVE))
        for mine in names
        for theirs, has_end in zip(names, ends, strict=True)
        if mine != theirs and has_end
    ]


def _most(function: str, parts: list[exp.Column]) -> exp.Expr:
    # by name: sqlglot guards its own nodes of these against NULL, which lifetimes never are
    return exp.Anonymous(this=function, expressions=list(parts))


def is_endless(node: Plan) -> bool:
    """Return whether no lifetime of a node has an end."""
    match node:
        case RelationScan():
            return node.source.is_query
        case Recompute():
            return True
        case Trace():
            return not is_instantaneous(node)
        case Distinct():
            return only_comes(node)
        case TimeWindow():
            return node.width is None
        case Filter() | Project():
            return is_endless(node.input)
        case During():
            return not node.ends and is_endless(node.input)
        case Join() | UnionAll():
            return all(is_endless(inner) for inner in node.inputs)
        case Difference():
            return is_endless(node.left) and is_endless(node.right)
        case _:
            return False
