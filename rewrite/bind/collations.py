"""COLLATE: values that are compared by a collation instead of by their bytes.

DuckDB loses a collation where a value is stored, so keys and states cannot have one. COLLATE may
stand in comparisons and in ORDER BY, whose results have no collation. The binder does not use laws
that group equal values (semijoins, subqueries, outer joins) beside it.
"""

from __future__ import annotations

from sqlglot import exp

from cqlduck.errors import NotSupportedError
from cqlduck.rewrite.text.parsed import place_of, words_of

_ENDS = (exp.Predicate, exp.Connector, exp.Not, exp.Order, exp.Window, exp.Join, exp.Where)
"""What a collation does not reach beyond."""

_GROUPING = frozenset({"LEFT", "RIGHT", "FULL", "SEMI", "ANTI"})


def refuse_values(tree: exp.Expr) -> None:
    """Refuse COLLATE where it would belong to a column, a key or an aggregate.

    Raises:
        NotSupportedError: With its place.
    """
    for node in tree.find_all(exp.Collate):
        above = node.parent
        while above is not None and not isinstance(above, (exp.Query, exp.Group, *_ENDS)):
            above = above.parent
        if not isinstance(above, _ENDS):
            raise NotSupportedError(
                "COLLATE on a value that is shown, grouped or aggregated is not supported",
                hint="compare or order by it; to group regardless of case, group by lower(x)",
                offset=place_of(node),
            )


def is_beside_grouping(tree: exp.Select) -> bool:
    """Return whether COLLATE stands in a SELECT beside what groups by equality of its own."""
    if tree.find(exp.Collate) is None:
        return False
    subqueries = [query for query in tree.find_all(exp.Query) if query is not tree]
    return any(words_of(join) & _GROUPING for join in tree.find_all(exp.Join)) or any(
        query.find(exp.Collate) is not None or not _is_input(query) for query in subqueries
    )


def _is_input(query: exp.Expr) -> bool:
    """Return whether a query stands in FROM."""
    above = query.parent
    while isinstance(above, exp.Subquery):
        above = above.parent
    return isinstance(above, (exp.From, exp.Join, exp.CTE))
