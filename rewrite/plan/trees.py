"""A walk through sqlglot's trees in one Python call: sqlglot's own `walk` makes four a node."""

from __future__ import annotations

from typing import TypeVar

from sqlglot import exp

Kind = TypeVar("Kind", bound=exp.Expr)


def nodes(tree: exp.Expr, kind: type[Kind]) -> list[Kind]:
    """Return the nodes of a kind in a tree, level by level, as `tree.find_all(kind)` yields them.

    >>> [column.name for column in nodes(exp.column("a") + exp.column("b"), exp.Column)]
    ['a', 'b']
    """
    found: list[Kind] = []
    all_nodes = [tree]
    for node in all_nodes:
        if isinstance(node, kind):
            found.append(node)
        for value in node.args.values():
            if isinstance(value, exp.Expr):
                all_nodes.append(value)
            elif isinstance(value, list):
                for one in value:
                    if isinstance(one, exp.Expr):
                        all_nodes.append(one)
    return found


def placeholders(tree: exp.Expr) -> frozenset[str]:
    """Return the names of the parameters in a tree."""
    return frozenset([str(node.this) for node in nodes(tree, exp.Placeholder)])
