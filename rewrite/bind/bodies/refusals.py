"""Clauses that a recomputed query cannot have."""

from __future__ import annotations

from sqlglot import exp

from cqlduck.errors import NotSupportedError
from cqlduck.rewrite.text.parsed import MARK, place_of, words_of

_INSTEAD = {
    "POSITIONAL JOIN": "number the rows of both sides with row_number(), and join on the numbers",
    "ASOF RIGHT and FULL JOIN": "write ASOF LEFT JOIN; UNION ALL with an ANTI JOIN adds the others",
    "PIVOT without the values that become columns": "name them: PIVOT s ON k IN (1, 2) USING "
    "sum(v); parentheses stand around an expression: ON (k + 1) IN (2, 3)",
    "FILTER in PIVOT": "put the condition into the argument: sum(CASE WHEN … THEN v END)",
    "SAMPLE": "leave it out; or write n% SAMPLE after a stream",
}


def refuse_clauses(body: exp.Query) -> None:
    """Refuse what has no meaning over bags, or whose columns depend on the data."""
    message = None
    for node in body.walk():
        words = words_of(node)
        if isinstance(node, exp.Join) and "POSITIONAL" in words:
            message = "POSITIONAL JOIN"
        elif isinstance(node, exp.Join) and "ASOF" in words and words & {"RIGHT", "FULL"}:
            # DuckDB 2.0 waits for ever on some of these, and ties of the right side stay open
            message = "ASOF RIGHT and FULL JOIN"
        elif isinstance(node, exp.Join) and "ASOF" in words and words & {"SEMI", "ANTI"}:
            node.set("method", None)  # whether there is a nearest one is whether there is any
        elif isinstance(node, exp.Pivot) and finds_columns(node):
            message = "PIVOT without the values that become columns"
        elif isinstance(node, exp.Pivot) and has_filter(node):
            # DuckDB 2.0 puts the test for a column in its place
            message = "FILTER in PIVOT"
        elif isinstance(node, exp.TableSample) or node.args.get("sample"):
            message = "SAMPLE"
        if message is not None:
            raise NotSupportedError(
                f"{message} is not supported",
                hint=_INSTEAD[message],
                offset=place_of(node) or place_of(body),
            )


def has_filter(node: exp.Pivot) -> bool:
    """Return whether an aggregate of a PIVOT has a FILTER."""
    calls = (node.args.get("using") or []) if node.this else node.expressions
    return not node.args.get("unpivot") and any(call.find(exp.Filter) for call in calls)


def finds_columns(node: exp.Pivot) -> bool:
    """Return whether the columns that a PIVOT makes are looked for in the data.

    `ON k + 1 IN (2, 3)` is a truth value for DuckDB, and its values are those that are there;
    `ON (k + 1) IN (2, 3)` names them.
    """
    if node.args.get("unpivot"):
        return False
    fields = [*(node.args.get("fields") or []), *(node.expressions if node.this else [])]
    return any(
        not isinstance(field, exp.In)
        or not field.expressions
        or field.find(exp.Query)
        or (
            isinstance(field.this, (exp.Binary, exp.Unary))
            and not isinstance(field.this, (exp.Paren, exp.Dot))
        )
        for field in fields
    )


def refuse_operators(body: exp.Query) -> None:
    """Refuse relation-to-stream operators in subqueries of expressions."""
    for literal in body.find_all(exp.Literal):
        if literal.is_string and literal.name.startswith(MARK):
            word = literal.name.removeprefix(MARK).capitalize()
            raise NotSupportedError(
                f"{word} cannot stand in a subquery of an expression",
                hint="put the subquery into FROM",
            )
