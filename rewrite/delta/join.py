"""The join: multilinear, one term for each input.

    Δ(R₁ ⋈ … ⋈ Rₙ) = Σᵢ  R₁ ⋈ … ⋈ Rᵢ₋₁  ⋈  ΔRᵢ  ⋈  (Rᵢ₊₁ + ΔRᵢ₊₁) ⋈ … ⋈ (Rₙ + ΔRₙ)

Left of i stands what neither begins nor ends in the tick, at i what does, right of it both; so each
combination with at least one change is in exactly one term. A combination lives while all its
tuples do: from the greatest `_cql_enter` to the least `_cql_leave`, with the product of the
weights. Each term is written as a pipeline (`pipelines`); in a tick of few elements each is a step
of its own, which is not run if its input did not change. What `bounds` says of time may leave terms
out: where one input is always the latest, its term is all, with everything that touches the tick.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from sqlglot import exp

from cqlduck.rewrite.delta import pipelines
from cqlduck.rewrite.delta.endless import is_endless
from cqlduck.rewrite.delta.pipelines import Pipeline
from cqlduck.rewrite.plan import Join, Plan
from cqlduck.rewrite.scope import column
from cqlduck.rewrite.weighted import (
    ENTER,
    LEAVE,
    TS,
    WEIGHT,
    lifetimes_to_elements,
    named,
    references,
    temp_table,
    union_all,
)

if TYPE_CHECKING:
    from cqlduck.rewrite.delta.rules import Rules


def is_stepwise(rules: Rules, node: Join) -> bool:
    """Return whether each pipeline is a step of its own, which is not run if nothing changed.

    In a large tick it is not: there all inputs change, and the combinations are many.
    """
    return rules.form.staged and len(list(pipelines.of(rules.clock, node))) > 1


def keep(rules: Rules, node: Join) -> None:
    """Keep the combinations that begin or end in the tick, which several operators read."""
    if is_stepwise(rules, node):
        parts = [_pipeline(rules, node, pipe) for pipe in pipelines.of(rules.clock, node)]
        rules.gather(node, parts, "combinations that begin or end")
    else:
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
    pipes = pipelines.of(rules.clock, node)
    return union_all([_pipeline(rules, node, pipe)[0] for pipe in pipes])


def _pipeline(rules: Rules, node: Join, pipe: Pipeline) -> tuple[exp.Query, frozenset[str]]:
    """Return the combinations in which the input changes that a pipeline begins with.

    Returns:
        The combinations, and the temporary tables without which there are none.
    """
    parts: dict[int, exp.Query] = {}
    for place in pipe.order:
        plan = node.inputs[place]
        if place == pipe.changed:
            parts[place] = rules.staged_lives(plan, _harmless(plan, node.predicates))
        elif place in pipe.standing:
            parts[place] = rules.standing(plan)
        elif place in pipe.fresh:
            parts[place] = rules.lives(plan)
        else:
            parts[place] = rules.alive(plan)
    read = list(parts[pipe.changed].find_all(exp.Table))
    is_kept = all(table.db == "temp" for table in read)
    needs = frozenset(table.name for table in read) if is_kept else frozenset()
    return pipelines.nested(node, pipe, parts), needs


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
