"""Syntax errors in our words: which word is wrong, and a suggestion.

The parsers below tell little more than the place. A word near it that is almost a keyword is
usually a misspelling.
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

MAX_LISTED = 24
"""How many names are listed at most."""

MAX_LETTERS = 100
"""How many letters a word has at most that is compared, which takes time by their square."""

_BEGINS = re.compile(
    r"(CREATE|DROP|ALTER|SHOW)\s+(?P<kind>\w+)"
    r"|INSERT\s+(INTO|OR)\b|DELETE\s+FROM\b|UPDATE\s+\S+\s+SET\b|REFRESH\s+RELATION\b"
    r"|EXPLAIN\s+(ANALYZE|CONTINUOUS|CREATE|SELECT)\b",
    re.IGNORECASE,
)
"""The first words of statements that are like no part of another one."""

_KINDS = DUCKDB_KINDS | {
    word for name in (*KINDS, *PLURALS) for word in name.split() if word != "QUERY"
}

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
    close = max(firsts, key=lambda first: _likeness(upper, first))
    return firsts[close] if _likeness(upper, close) >= CLOSE else None


def suggestion(name: str, candidates: Iterable[str], listed: str, *, every: bool = True) -> str:
    """Return `did you mean …?`, or else what there is: the first of many.

    Args:
        name: The name that is none.
        candidates: The names that there are.
        listed: What stands before them.
        every: Whether they are listed; if not, `listed` is all that is said.

    >>> suggestion("hystory", ["history", "keep"], "the options are")
    'did you mean history?'
    >>> suggestion("colour", ["history", "keep"], "the options are")
    'the options are: history, keep'
    """
    known = list(dict.fromkeys(candidates))
    close: list[str] = []
    if len(name) <= MAX_LETTERS:
        close = difflib.get_close_matches(name.lower(), [c.lower() for c in known], n=1)
    if close:
        (meant,) = [c for c in known if c.lower() == close[0]][:1]
        return f"did you mean {meant}?"
    if not every:
        return listed
    more = f" and {len(known) - MAX_LISTED} more" if len(known) > MAX_LISTED else ""
    return f"{listed}: {', '.join(known[:MAX_LISTED]) or 'none'}{more}"


def slip(
    words: Sequence[str], phrases: Iterable[str], *, alone: bool = False
) -> tuple[int, str] | None:
    """Return which of the next words is misspelt and what was meant, or None.

    The phrase counts of which most words stand before that one.

    Args:
        words: The next words of a statement, in capitals.
        phrases: What may stand there.
        alone: Whether all other words of the phrase have to be right, because what stands there may
            be a name.

    >>> slip(["OUT", "OF", "ODER", "WITHIN", "5"], ["OUT OF ORDER WITHIN", "LATE"])
    (2, 'ORDER')
    """
    best: tuple[int, float, str] | None = None
    for phrase in phrases:
        parts = phrase.split()
        pairs = list(zip(words, parts, strict=False))
        right = next((n for n, (word, part) in enumerate(pairs) if word != part), len(pairs))
        if right == len(pairs) or (
            alone and list(words[right + 1 : len(parts)]) != parts[right + 1 :]
        ):
            continue
        alike = _likeness(*pairs[right])
        if alike >= CLOSE and (best is None or (right, alike) > best[:2]):
            best = right, alike, parts[right]
    return None if best is None else (best[0], best[2])


def _likeness(word: str, meant: str) -> float:
    """Return how alike two words are, at most 1; those of the same letters are."""
    if len(word) > MAX_LETTERS:
        return 0.0
    if sorted(word) == sorted(meant):
        return 1.0
    return difflib.SequenceMatcher(None, word, meant).ratio()


def misspelt(tokens: Sequence[Token], place: int) -> tuple[Token, str] | None:
    """Return the word at or shortly before a place that is almost a keyword, and the keyword."""
    near = [token for token in tokens if token.start <= place][-3:]
    for token in reversed(near):
        found = meant(token.text, CLAUSES) if token.token_type == TokenType.VAR else None
        if found is not None:
            return token, found
    return None


def begun(text: str, tokens: Sequence[Token], place: int) -> str | None:
    """Return the word at a place, or right before it, with which another statement begins; or None.

    Args:
        text: A script.
        tokens: Its tokens.
        place: Where reading a statement of it has ended.
    """
    at = next((n for n, token in enumerate(tokens) if token.start >= place), 0)
    if text[place : tokens[at].start].strip():
        return None
    for before, token in zip(tokens[max(at - 2, 0) : at], tokens[max(at - 1, 1) :], strict=False):
        is_inside = before.text.upper() in (";", "AS", "ANALYZE", "EXPLAIN")
        found = None if is_inside else _BEGINS.match(text, token.start)
        if found is not None and (found["kind"] is None or found["kind"].upper() in _KINDS):
            return token.text.upper()
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
