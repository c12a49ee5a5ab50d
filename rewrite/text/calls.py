"""Function calls in parsed expressions: the name that DuckDB has for each."""

from __future__ import annotations

import re

from sqlglot import exp

_QUOTED = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"")


def function_name(node: exp.Func) -> str:
    """Return the name of a function as DuckDB calls it, in lower case.

    What sqlglot takes for a function and DuckDB writes as an operator has the key of its node.

    >>> from sqlglot import parse_one
    >>> function_name(parse_one("Median(x)", read="duckdb"))
    'median'
    >>> function_name(parse_one("count(*) > 1 AND max(x) > 2", read="duckdb"))
    'and'
    """
    if isinstance(node, exp.Anonymous):
        return str(node.name).lower()
    text = node.sql("duckdb")
    name, opening, _ = text.partition("(")
    return name.strip().lower() if not opening or _is_call(text) else str(node.key)


def is_now(node: exp.Expr) -> bool:
    """Return whether a node is now(), as which the binder writes τ."""
    return isinstance(node, exp.Anonymous) and str(node.name).lower() == "now"


def _is_call(text: str) -> bool:
    """Return whether the first parenthesis of a text closes at its end."""
    depth = 0
    text = _QUOTED.sub("", text)
    for place, sign in enumerate(text):
        depth += (sign == "(") - (sign == ")")
        if sign == ")" and depth == 0:
            return place == len(text) - 1
    return False
