"""Whether a recomputed query is monotonic by its form."""

from __future__ import annotations

from sqlglot import exp

from cqlduck.rewrite.text.parsed import function_name, words_of


def is_monotonic(body: exp.Query, aggregates: frozenset[str]) -> bool:
    """Return whether a query's result can only grow if what it reads does, by its form.

    Projection, WHERE, inner joins, DISTINCT, UNION, IN and EXISTS; nothing that counts, orders,
    negates or leaves rows without a partner.
    """
    for node in body.walk():
        if isinstance(
            node, (exp.Group, exp.Having, exp.Limit, exp.Offset, exp.Qualify, exp.Window)
        ):
            return False
        if isinstance(node, (exp.Lateral, exp.Except, exp.Intersect, exp.Unnest, exp.Columns)):
            return False
        if isinstance(node, exp.Pivot) or (
            isinstance(node, exp.With) and node.args.get("recursive")
        ):
            return False
        if isinstance(node, exp.Distinct) and node.args.get("on"):
            return False
        if isinstance(node, exp.Join) and words_of(node) - {"INNER", "CROSS", "NATURAL", "SEMI"}:
            return False
        if isinstance(node, exp.Func) and function_name(node) in aggregates:
            return False
        if isinstance(node, exp.Query) and node is not body and not _may_grow(node):
            return False
    return True


def _may_grow(query: exp.Query) -> bool:
    """Return whether a subquery stands in FROM, in a UNION, or in IN or EXISTS without NOT."""
    around = query.parent
    while isinstance(around, (exp.Subquery, exp.Paren)):
        query, around = around, around.parent  # type: ignore[assignment]
    if isinstance(around, (exp.Union, exp.From, exp.Join, exp.CTE)):
        return True
    if not isinstance(around, (exp.In, exp.Exists)):
        return False
    above = around.parent
    while isinstance(above, (exp.Paren, exp.And, exp.Or)):
        above = above.parent
    return isinstance(above, exp.Where)
