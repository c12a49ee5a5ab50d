"""Substitution: columns of an expression are replaced by the expressions that they name.

    e [c := v]    equals    SELECT e FROM (SELECT v AS c …)

if e has no names of its own that could capture one in v, and if v is deterministic, and cheap if it
occurs in several places. The functions here decide which expressions these are, find the columns
that an expression reads, and substitute. They copy what they change.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from sqlglot import exp

from cqlduck.rewrite.plan.trees import nodes

_SIMPLE = (
    exp.Column, exp.Identifier, exp.Literal, exp.Null, exp.Boolean, exp.Placeholder, exp.Cast,
    exp.DataType, exp.DataTypeParam, exp.Neg, exp.Add, exp.Sub, exp.Mul, exp.Paren,
)  # fmt: skip
"""What values are made of that are substituted: deterministic, and cheap enough to stand twice."""

_SCALAR = (
    *_SIMPLE, exp.Case, exp.If, exp.Coalesce, exp.And, exp.Or, exp.Not, exp.Is, exp.GT, exp.GTE,
    exp.LT, exp.LTE, exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Div, exp.IntDiv, exp.Mod,
)  # fmt: skip
"""Expressions whose unused values can be removed: `unnest` or a window would change the rows."""

_NAMES_INSIDE = (
    exp.Query,
    exp.Lambda,
    exp.Comprehension,
    exp.Dot,
    exp.Columns,
    exp.PositionalColumn,
)

_SMALL = 8
"""How many nodes a value has at most that is written more than once."""


def may_stand(value: exp.Expr, times: int) -> bool:
    """Return whether a value may be written in the places of its column.

    Args:
        value: What the column stands for.
        times: In how many places it would be written; with 0 it is left out.
    """
    found = nodes(value, exp.Expr)
    allowed = _SIMPLE if times else _SCALAR
    return all([isinstance(node, allowed) for node in found]) and (
        times <= 1 or len(found) <= _SMALL
    )


def is_scalar(value: exp.Expr) -> bool:
    """Return whether a value says nothing of which rows there are, so that it can be left out."""
    return isinstance(value, exp.Column) or all(
        [isinstance(node, _SCALAR) for node in nodes(value, exp.Expr)]
    )


def used(parts: Iterable[exp.Expr], alias: str, *, only: bool = False) -> Counter[str] | None:
    """Return how often each column is read, or None if expressions have names of their own.

    Args:
        parts: The expressions.
        alias: What the rows are called in them.
        only: Whether columns that do not say of which rows they are belong to others.
    """
    counted: Counter[str] = Counter()
    for part in parts:
        for node in [part] if isinstance(part, exp.Column) else nodes(part, exp.Expr):
            if isinstance(node, exp.Column):
                if node.table == alias or not (node.table or only):
                    counted[node.name] += 1
            elif isinstance(node, _NAMES_INSIDE) or (isinstance(node, exp.Star) and _is_all(node)):
                return None
    return counted


def names_read(parts: Iterable[exp.Expr]) -> frozenset[str] | None:
    """Return the columns that expressions may read; None if it may be all."""
    found: set[str] = set()
    for part in parts:
        for node in nodes(part, exp.Expr):
            if isinstance(node, (exp.Columns, exp.PositionalColumn)):
                return None
            if isinstance(node, exp.Star) and _is_all(node):
                return None
            # of a.b either may be the column
            if isinstance(node, exp.Identifier):
                found.add(node.name)
    return frozenset(found)


def _is_all(star: exp.Star) -> bool:
    """Return whether a star stands for all columns, as the one in count(*) does not."""
    return not isinstance(star.parent, exp.Count)


def substituted(value: exp.Expr, meant: Mapping[tuple[str, str], exp.Expr]) -> exp.Expr:
    """Return an expression with columns replaced by what they stand for.

    Args:
        value: The expression.
        meant: The values, by what the rows are called and by the name of the column.
    """
    if isinstance(value, exp.Column):
        return meant.get((value.table, value.name), value)
    tree = value.copy()
    for known in nodes(tree, exp.Column):
        meaning = meant.get((known.table, known.name))
        if meaning is None:
            continue
        new = meaning.copy()
        if isinstance(new, (exp.Binary, exp.Neg)):
            new = exp.Paren(this=new)
        known.replace(new)
    return tree


def qualified(value: exp.Expr, alias: str) -> exp.Expr:
    """Return an expression all of whose columns are of the rows that are called so."""
    tree = value.copy()
    for known in nodes(tree, exp.Column):
        known.set("table", exp.to_identifier(alias))
    return tree


def owned(value: exp.Expr, owners: Mapping[str, str]) -> exp.Expr:
    """Return an expression whose columns all say of which rows they are.

    Args:
        value: The expression.
        owners: What the rows are called, by the name of the column.
    """
    tree = value.copy()
    for known in nodes(tree, exp.Column):
        if not known.table and known.name in owners:
            known.set("table", exp.to_identifier(owners[known.name]))
    return tree
