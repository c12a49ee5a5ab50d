"""Equalities of columns that preserve the values of both sides.

For the condition x = y of an inner join DuckDB shows x for y too. It does not for numbers whose
equal values differ, such as 0.0 and −0.0, but it does for those inside LIST, ARRAY, STRUCT, MAP and
UNION. There

    x = y   is written as   x IS NOT DISTINCT FROM y AND x IS NOT NULL

which is true of the same rows and joined by just as well; but only among conjuncts, as it is false
where the equality is NULL.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from cqlduck.rewrite.plan.conditions import without_parens
from cqlduck.rewrite.relalg.values import is_nested, may_vary


def preserving_sides(condition: exp.Expr, types: Mapping[str, str]) -> exp.Expr:
    """Return a condition of a join, so that it shows the values of both sides.

    Args:
        condition: One of those that AND combines.
        types: The types of its columns, by name.
    """
    sides = sides_of(condition)
    if not any(_differs(types.get(side.name)) for side in sides):
        return condition
    one, other = sides
    known = exp.not_(exp.Is(this=one.copy(), expression=exp.null()))
    return exp.and_(exp.NullSafeEQ(this=one.copy(), expression=other.copy()), known)


def sides_of(condition: exp.Expr) -> list[exp.Column]:
    """Return the sides of an equality of columns; nothing of another condition."""
    if not isinstance(condition, exp.EQ):
        return []
    sides = [without_parens(condition.this), without_parens(condition.expression)]
    columns = [side for side in sides if isinstance(side, exp.Column)]
    return columns if len(columns) == 2 else []


def _differs(kind: str | None) -> bool:
    return kind is not None and is_nested(kind) and may_vary(kind)
