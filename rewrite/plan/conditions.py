"""Conditions as conjuncts."""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from cqlduck.rewrite.plan.trees import nodes

COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)


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


def names_in(expressions: Iterable[exp.Expr]) -> set[str]:
    """Return the columns that expressions name."""
    return {node.name for e in expressions for node in nodes(e, exp.Column)}
