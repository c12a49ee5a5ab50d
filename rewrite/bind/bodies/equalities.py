"""Equalities of columns that preserve the values of both sides, in a recomputed query."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sqlglot import exp

from cqlduck.rewrite.bind.bodies.guarded import column_types
from cqlduck.rewrite.bind.bodies.inputs import Inputs
from cqlduck.rewrite.bind.bodies.select_parts import from_items
from cqlduck.rewrite.plan.conditions import conjuncts
from cqlduck.rewrite.relalg.equalities import preserving_sides, sides_of


def preserve_sides(body: exp.Query, inputs: Inputs) -> None:
    """Let the joins of a query, and of its subqueries, show the values of both sides, in place.

    Args:
        body: The query.
        inputs: What is known of the items of its FROM clauses.
    """
    for select in list(body.find_all(exp.Select)):
        for clause, part in _conditions(select):
            found = conjuncts(clause.args[part])
            sides = [side for condition in found for side in sides_of(condition)]
            types = _types(select, sides, inputs)
            made = [preserving_sides(condition, types) for condition in found]
            if made != found:
                clause.set(part, exp.and_(*(condition.copy() for condition in made)))


def _conditions(select: exp.Select) -> Iterator[tuple[exp.Expr, str]]:
    """Yield where a SELECT has conditions of joins: a node, and the name of its part."""
    if (where := select.args.get("where")) is not None:
        yield where, "this"
    for _, join in from_items(select):
        if join is not None and join.args.get("on") is not None:
            yield join, "on"


def _types(select: exp.Select, sides: list[exp.Column], inputs: Inputs) -> Mapping[str, str]:
    """Return the types of columns, by name, as far as they can be known."""
    types = dict(column_types(select, inputs)) if sides else {}
    for side in sides:
        if side.name not in types:
            found = inputs.types_in(select, [side])
            types |= {side.name: found[0]} if found else {}
    return types
