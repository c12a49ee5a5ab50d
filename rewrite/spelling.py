"""What is wrong with a text, in words of ours: which word cannot stand here, and what was meant.

The parsers beneath tell little more than the place. A word near it that is almost a keyword is most
often what was misspelt.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence

from sqlglot.tokens import Token, TokenType

CLAUSES: tuple[str, ...] = (
    "SELECT", "DISTINCT", "FROM", "WHERE", "GROUP BY", "HAVING", "QUALIFY", "WINDOW", "ORDER BY",
    "LIMIT", "OFFSET", "UNION", "EXCEPT", "INTERSECT", "JOIN", "INNER", "LEFT", "RIGHT", "FULL",
    "OUTER", "CROSS", "NATURAL", "SEMI", "ANTI", "ASOF", "USING", "VALUES", "BETWEEN", "EXISTS",
    "INTERVAL", "PARTITION BY", "CASE", "WHEN", "THEN", "ELSE", "NULLS", "FILTER", "SAMPLE",
)  # fmt: skip
"""Keywords of a query."""

OPENINGS: tuple[str, ...] = (
    "CREATE", "DROP", "ALTER", "SHOW", "REFRESH", "EXPLAIN", "INSERT", "UPDATE", "DELETE", "SELECT",
    "WITH", "FROM", "VALUES", "SET", "COPY", "ATTACH", "DESCRIBE", "SUMMARIZE",
)  # fmt: skip
"""What statements begin with."""

OTHERS = frozenset(
    {"ANALYZE", "BEGIN", "CALL", "CHECKPOINT", "COMMENT", "COMMIT", "DEALLOCATE", "DESC", "DETACH",
     "EXECUTE", "EXPORT", "FORCE", "IMPORT", "INSTALL", "LOAD", "MERGE", "PIVOT", "PRAGMA",
     "PREPARE", "RESET", "ROLLBACK", "START", "TABLE", "TRUNCATE", "UNPIVOT", "USE", "VACUUM"}
)  # fmt: skip
"""What else statements of DuckDB's begin with."""

KINDS: tuple[str, ...] = ("STREAM", "RELATION", "CONTINUOUS QUERY")
PLURALS: tuple[str, ...] = ("STREAMS", "RELATIONS", "CONTINUOUS QUERIES")
DUCKDB_KINDS = frozenset(
    {"AGGREGATE", "CONSTRAINT", "DATABASE", "FUNCTION", "INDEX", "MACRO", "MATERIALIZED", "OR",
     "PERSISTENT", "RECURSIVE", "SCHEMA", "SECRET", "SEQUENCE", "TABLE", "TABLES", "TEMP",
     "TEMPORARY", "TRIGGER", "TYPE", "UNIQUE", "UNLOGGED", "VIEW", "VIEWS"}
)  # fmt: skip
"""What DuckDB itself creates, drops and shows."""

CLOSE = 0.7
"""How alike two words have to be."""

_NEAR = re.compile(r'syntax error at or near "(.*)"$')
_END = "syntax error at end of input"


def meant(word: str, candidates: Iterable[str]) -> str | None:
    """Return the keyword that a word was meant to be, or None if it is one or is like none.

    >>> meant("GRUOP", CLAUSES), meant("price", CLAUSES), meant("From", CLAUSES)
    ('GROUP BY', None, None)
    """
    firsts = {candidate.split()[0]: candidate for candidate in candidates}
    upper = word.upper()
    if upper in firsts or len(upper) < 3:
        return None
    close = difflib.get_close_matches(upper, firsts, n=1, cutoff=CLOSE)
    return firsts[close[0]] if close else None


def misspelt(tokens: Sequence[Token], place: int) -> tuple[Token, str] | None:
    """Return the word at or shortly before a place that is almost a keyword, and the keyword."""
    near = [token for token in tokens if token.start <= place][-3:]
    for token in reversed(near):
        found = meant(token.text, CLAUSES) if token.token_type == TokenType.VAR else None
        if found is not None:
            return token, found
    return None


def said_by_duckdb(message: str) -> str:
    """Return the first line of an error of DuckDB's in words of ours.

    >>> said_by_duckdb('Parser Error: syntax error at or near "FORM"')
    'FORM cannot stand here'
    """
    for kind in ("Binder Error: ", "Parser Error: ", "Catalog Error: "):
        message = message.removeprefix(kind)
    found = _NEAR.search(message)
    if found is not None:
        return f"{found[1]} cannot stand here"
    return "the statement ends too early" if message.startswith(_END) else message
