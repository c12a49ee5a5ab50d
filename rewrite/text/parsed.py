"""Parsed trees: places, operators and calls in them."""

from __future__ import annotations

import re

from sqlglot import exp

MARK = "\x00cql:"
"""What the marker of a relation-to-stream operator begins with, in its SELECT."""

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
    if isinstance(node, exp.And | exp.Or):
        # which may have hundreds of operands, and to write each costs all of them
        return str(node.key)
    text = node.sql("duckdb")
    name, opening, _ = text.partition("(")
    return name.strip().lower() if not opening or _is_call(text) else str(node.key)


def words_of(join: exp.Expr) -> set[str]:
    """Return the words before JOIN, in upper case; of a comma there are none."""
    return {str(join.args.get(part) or "").upper() for part in ("method", "side", "kind")} - {""}


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


def aliases_of(select: exp.Select) -> dict[str, exp.Expr]:
    """Return what the aliases of a SELECT list stand for, by name in lower case.

    What a star has under another name, or in the place of a column, is one of them. Of several with
    one name DuckDB takes the last.

    >>> from sqlglot import parse_one
    >>> text = "SELECT a + 1 AS B, r.* REPLACE (0 AS c) RENAME (d AS e)"
    >>> found = aliases_of(parse_one(text, read="duckdb"))
    >>> {name: value.sql("duckdb") for name, value in found.items()}
    {'b': 'a + 1', 'c': '0', 'e': 'r."d"'}
    """
    found: dict[str, exp.Expr] = {}
    for listed in select.expressions:
        star = listed.this if isinstance(listed, exp.Column) else listed
        if isinstance(star, exp.Star):
            table = listed.table if isinstance(listed, exp.Column) else ""
            for part in star.args.get("replace") or []:
                found[part.alias.lower()] = part.this
            for part in star.args.get("rename") or []:
                name = exp.to_identifier(part.this.name, quoted=True)
                found[part.alias.lower()] = exp.column(name, table=table or None)
        elif isinstance(listed, exp.Alias):
            found[listed.alias.lower()] = listed.this
    return found


def remove_parens(tree: exp.Expr) -> None:
    """Remove the parentheses around whole terms of ORDER BY, DISTINCT ON, GROUP BY, PARTITION BY.

    A name alone is that of an alias there before it is one of FROM, and a number alone is a place;
    in an expression they are not.

    >>> from sqlglot import parse_one
    >>> tree = parse_one("SELECT -a AS a ORDER BY ((a)) DESC, (a) + 1", read="duckdb")
    >>> remove_parens(tree)
    >>> tree.sql("duckdb")
    'SELECT -a AS a ORDER BY a DESC, (a) + 1'
    """
    for paren in list(tree.find_all(exp.Paren)):
        around = paren.parent
        is_term = isinstance(around, (exp.Ordered, exp.Group)) or (
            paren.arg_key == "partition_by"
            if isinstance(around, exp.Window)
            else isinstance(around, exp.Tuple) and isinstance(around.parent, exp.Distinct)
        )
        if is_term:
            paren.replace(paren.unnest())


def remove_operator(select: exp.Select) -> str | None:
    """Remove the marker of a relation-to-stream operator; return 'istream', … or None."""
    if select.expressions:
        first = select.expressions[0]
        if isinstance(first, exp.Literal) and first.is_string and first.name.startswith(MARK):
            select.set("expressions", select.expressions[1:])
            return first.name.removeprefix(MARK)
    return None


def has_operator(select: exp.Select) -> bool:
    """Return whether a SELECT has a relation-to-stream operator."""
    first = select.expressions[0] if select.expressions else None
    return isinstance(first, exp.Literal) and first.is_string and first.name.startswith(MARK)


def place_of(node: exp.Expr) -> int | None:
    """Return the place of the first name in a tree, in characters from 0, or None."""
    places = [part.meta["start"] for part in node.walk() if "start" in part.meta]
    return min(places) if places else None


def unwrapped(tree: exp.Expr | None) -> exp.Expr | None:
    """Return a query without the parentheses around it; clauses behind them stay in force."""
    while isinstance(tree, exp.Paren) or (isinstance(tree, exp.Subquery) and not tree.alias):
        clauses = {
            part: tree.args[part]
            for part in ("with_", "order", "limit", "offset", "sample", "pivots")
            if tree.args.get(part)
        }
        if clauses:
            around = exp.select("*").from_(exp.Subquery(this=tree.this))
            for part, clause in clauses.items():
                around.set(part, clause)
            return around
        tree = tree.this
    return tree
