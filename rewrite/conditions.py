"""Conditions as parts that AND combines."""

from __future__ import annotations

from sqlglot import exp


def without_parens(tree: exp.Expr) -> exp.Expr:
    """Return what is inside the parentheses."""
    while isinstance(tree, exp.Paren):
        tree = tree.this
    return tree


def conjuncts(tree: exp.Expr) -> list[exp.Expr]:
    """Return the conditions that AND combines."""
    tree = without_parens(tree)
    if isinstance(tree, exp.And):
        return [*conjuncts(tree.this), *conjuncts(tree.expression)]
    return [tree]
