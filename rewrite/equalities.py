"""Equalities of columns that keep the values of both sides.

Where an inner join asks for x = y DuckDB shows x for y too. It leaves that with numbers whose equal
values differ, as 0.0 and −0.0, but not with those inside LIST, ARRAY, STRUCT, MAP and UNION. There

    x = y   is said as   x IS NOT DISTINCT FROM y AND x IS NOT NULL

which is true of the same rows and joined by just as well; only where a condition stands beside
others under AND, as it is false where the equality is NULL.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sqlglot import exp

from cqlduck.rewrite.conditions import conjuncts, without_parens
from cqlduck.rewrite.guarded_body import column_types
from cqlduck.rewrite.ties import Legs, from_items
from cqlduck.rewrite.values import is_nested, may_vary


def kept_apart(condition: exp.Expr, types: Mapping[str, str]) -> exp.Expr:
    """Return a condition of a join, so that it shows the values of both sides.

    Args:
        condition: One of those that AND combines.
        types: The types of its columns, by name.
    """
    sides = _sides(condition)
    if not any(_differs(types.get(side.name)) for side in sides):
        return condition
    one, other = sides
    known = exp.not_(exp.Is(this=one.copy(), expression=exp.null()))
    return exp.and_(exp.NullSafeEQ(this=one.copy(), expression=other.copy()), known)


def keep_apart(body: exp.Query, legs: Legs) -> None:
    """Let the joins of a query, and of its subqueries, show the values of both sides, in place.

    Args:
        body: The query.
        legs: What is known of the items of its FROM clauses.
    """
    for select in list(body.find_all(exp.Select)):
        for clause, part in _conditions(select):
            found = conjuncts(clause.args[part])
            sides = [side for condition in found for side in _sides(condition)]
            types = _types(select, sides, legs)
            made = [kept_apart(condition, types) for condition in found]
            if made != found:
                clause.set(part, exp.and_(*(condition.copy() for condition in made)))


def _conditions(select: exp.Select) -> Iterator[tuple[exp.Expr, str]]:
    """Yield where a SELECT has conditions of joins: a node, and the name of its part."""
    if (where := select.args.get("where")) is not None:
        yield where, "this"
    for _, join in from_items(select):
        if join is not None and join.args.get("on") is not None:
            yield join, "on"


def _sides(condition: exp.Expr) -> list[exp.Column]:
    """Return the sides of an equality of columns; nothing of another condition."""
    if not isinstance(condition, exp.EQ):
        return []
    sides = [without_parens(condition.this), without_parens(condition.expression)]
    columns = [side for side in sides if isinstance(side, exp.Column)]
    return columns if len(columns) == 2 else []


def _types(select: exp.Select, sides: list[exp.Column], legs: Legs) -> Mapping[str, str]:
    """Return the types of columns, by name, as far as they can be known."""
    types = dict(column_types(select, legs)) if sides else {}
    for side in sides:
        if side.name not in types:
            found = legs.types_in(select, [side])
            types |= {side.name: found[0]} if found else {}
    return types


def _differs(kind: str | None) -> bool:
    return kind is not None and is_nested(kind) and may_vary(kind)
