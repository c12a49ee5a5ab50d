"""Clauses that a recomputed query cannot have."""

from __future__ import annotations

from sqlglot import exp

from cqlduck.errors import NotSupportedError
from cqlduck.rewrite.text.parsed import MARK, place_of, words_of


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
        elif isinstance(node, exp.Pivot) and _finds_columns(node):
            message = "PIVOT without the values that become columns"
        elif isinstance(node, exp.TableSample) or node.args.get("sample"):
            message = "SAMPLE"
        if message is not None:
            raise NotSupportedError(
                f"{message} is not supported",
                hint="see the table of limits for what to write instead",
                offset=place_of(node) or place_of(body),
            )


def _finds_columns(node: exp.Pivot) -> bool:
    """Return whether the columns that a PIVOT makes are looked for in the data."""
    if node.args.get("unpivot"):
        return False
    fields = [*(node.args.get("fields") or []), *(node.expressions if node.this else [])]
    return any(
        not isinstance(field, exp.In) or not field.expressions or field.find(exp.Query)
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
