"""Names with dots: columns, fields of structs, and functions that are called as methods.

DuckDB reads `a.b.f(…)` as a call of f in the schema a.b if there is one, else as `f(a.b, …)`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence

from sqlglot import exp

from cqlduck.rewrite.text.operands import SQLGLOT_NODES


def methods_as_calls(tree: exp.Expr, knows: Callable[[str], bool]) -> exp.Expr:
    """Return a tree with `a.b.f(…)` as `f(a.b, …)` where a is a column or an item of FROM.

    Elsewhere a is the schema of a function, or a variable of a lambda, and DuckDB's to find.

    Args:
        tree: An expression; it is changed in place.
        knows: Whether a lower-case name is that of a column or an item of FROM.
    """
    for node in list(tree.find_all(exp.Dot)):
        method = node.expression
        if not isinstance(method, exp.Anonymous):
            continue
        names = _names(node.this)
        if not names or _is_variable(node, names[0].name) or not knows(names[0].name.lower()):
            continue
        arguments = [reference(names), *method.expressions]
        call: exp.Expr = exp.Anonymous(this=method.this, expressions=arguments)
        if method.name.lower() in SQLGLOT_NODES:
            # of too many arguments DuckDB has the word
            with contextlib.suppress(ValueError):
                call = exp.func(method.name, *arguments, dialect="duckdb")
        call.meta.update(method.meta)
        if node is tree:
            return call
        node.replace(call)
    return tree


def is_reference(node: exp.Expr) -> bool:
    """Return whether an expression is nothing but names: a column, or a field of a struct."""
    while isinstance(node, exp.Dot) and isinstance(node.expression, exp.Identifier):
        node = node.this
    return isinstance(node, exp.Column)


def reference(names: Sequence[exp.Expr]) -> exp.Expr:
    """Return what `a.b.c` refers to, in the form in which sqlglot reads it."""
    copies = [name.copy() for name in names]
    column, fields = copies[:4], copies[4:]
    parts = zip(("this", "table", "db", "catalog"), reversed(column), strict=False)
    found: exp.Expr = exp.Column(**dict(parts))
    for field in fields:
        found = exp.Dot(this=found, expression=field)
    return found


def _names(node: exp.Expr) -> list[exp.Expr]:
    """Return the names of `a.b.c`, or nothing if there is more in it than names."""
    if isinstance(node, exp.Identifier):
        return [node]
    if isinstance(node, exp.Dot) and isinstance(node.expression, exp.Identifier):
        before = _names(node.this)
        return [*before, node.expression] if before else []
    return []


def _is_variable(node: exp.Expr, name: str) -> bool:
    """Return whether a lambda around a node has a variable of this name."""
    around = node.find_ancestor(exp.Lambda)
    while around is not None:
        if any(variable.name.lower() == name.lower() for variable in around.expressions):
            return True
        around = around.find_ancestor(exp.Lambda)
    return False
