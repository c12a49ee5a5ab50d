"""Conditions as conjuncts."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp


def without_parens(tree: exp.Expr) -> exp.Expr:
    """Return what is inside the parentheses."""
    while isinstance(tree, exp.Paren):
        tree = tree.this
    return tree


def conjuncts(tree: exp.Expr) -> list[exp.Expr]:
    """Return the conditions that AND combines."""
    found: list[exp.Expr] = []
    left = [tree]
    while left:
        tree = left.pop()
        if isinstance(tree, exp.Paren):
            left.append(tree.this)
        elif isinstance(tree, exp.And):
            left += [tree.expression, tree.this]
        else:
            found.append(tree)
    return found


def names_in(conditions: Sequence[exp.Expr]) -> set[str]:
    """Return the columns that conditions name."""
    return {node.name for c in conditions for node in c.find_all(exp.Column)}
