"""The tables that a statement reads, besides its target, and whether an INSERT has ON CONFLICT."""

from __future__ import annotations

from collections.abc import Sequence

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.tokens import Token

from cqlduck.rewrite.text.tokens import tokenize

_READING = {"select", "from", "table", "using", "pivot", "unpivot", "describe", "summarize"}
"""Without one of these words nothing is read, and a long list of VALUES need not be looked into."""


def tables_read(text: str, tokens: Sequence[Token] | None = None) -> frozenset[str]:
    """Return the lower-case names of the tables and macros that a statement reads in FROM.

    The target of an INSERT, UPDATE or DELETE is among them if it is read too. Names that WITH gives
    are, so it may be more than is read, but not less.

    >>> sorted(tables_read("INSERT INTO v (v) SELECT k FROM main.a JOIN of_b(3) ON true"))
    ['a', 'of_b']
    >>> tables_read("INSERT INTO v (v) VALUES (1)")
    frozenset()

    Of what cannot be looked into, all words are returned.

    Args:
        text: The statement.
        tokens: Its tokens, if they are known.
    """
    found = tokenize(text) if tokens is None else tokens
    words = frozenset(token.text.lower() for token in found)
    if not words & _READING:
        return frozenset()
    try:
        tree = sqlglot.parse_one(text, dialect="duckdb")
    except (SqlglotError, RecursionError):
        return words
    target = None
    if isinstance(tree, (exp.Insert, exp.Update, exp.Delete)):
        target = tree.this.this if isinstance(tree.this, exp.Schema) else tree.this
    elif not isinstance(tree, exp.Query):
        return words
    tables = [table for table in tree.find_all(exp.Table) if table is not target]
    return frozenset(_name(table).lower() for table in tables) - {""}


def _name(table: exp.Table) -> str:
    """Return the name of a table or macro; functions of DuckDB's own have none here."""
    return table.name or str(table.this.name if isinstance(table.this, exp.Anonymous) else "")


def has_on_conflict(tokens: Sequence[Token]) -> bool:
    """Return whether an INSERT says what becomes of a row that conflicts with another.

    >>> has_on_conflict(tokenize("INSERT INTO r VALUES (1) ON CONFLICT DO NOTHING"))
    True

    Args:
        tokens: The tokens of the statement.
    """
    # one word is quicker to look for, in a long list of VALUES, than two
    before = [place for place, token in enumerate(tokens) if "CONFLICT" in token.text.upper()]
    return any(
        tokens[place].text.upper() == "ON CONFLICT"
        or (place and [t.text.upper() for t in tokens[place - 1 : place + 1]] == ["ON", "CONFLICT"])
        for place in before
    )
