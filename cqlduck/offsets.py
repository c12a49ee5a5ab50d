"""Texts with an offset in INSERT and UPDATE: '2024-01-01 00:00:00+02' is a moment, in UTC.

DuckDB (release 2.0) leaves the offset out where it makes a TIMESTAMP of a text. So a statement that
may bring texts writes into a table that keeps times with their zone, and what it has written is
turned to UTC afterwards. Times that are no texts need not take this way, which costs a microsecond
each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot.tokens import Token, TokenType

from cqlduck.rewrite.plan import Column
from cqlduck.rewrite.syntax import tokenize
from cqlduck.state.connection import quoted
from cqlduck.state.types import ZONED, fitted, replaced

Describe = Callable[[str], list[tuple[str, str]] | None]

_QUERY = ("SELECT", "FROM", "WITH", "VALUES", "TABLE", "(")


def taking(columns: tuple[Column, ...], text: str, describe: Describe) -> tuple[Column, ...]:
    """Return the columns of a table that an INSERT writes into, such that offsets count.

    Args:
        columns: The columns that are meant.
        text: The INSERT.
        describe: Returns the columns of a query with their types, or None.
    """
    wide = tuple(Column(c.name, _taking(c.type)) for c in columns)
    if wide == columns or not _brings_text(text, describe):
        return columns
    return wide


def _taking(kind: str) -> str:
    # a moment is no date: where its offset counts, it may be on another day
    return "VARCHAR" if kind == "DATE" else replaced(kind, ZONED)


def taken(written: Column, own: Column) -> str:
    """Return what an INSERT has written into a column as the column's own type, as SQL."""
    if written == own:
        return quoted(own.name)
    return fitted(quoted(own.name), own.type, is_text=written.type == "VARCHAR")


def _brings_text(text: str, describe: Describe) -> bool:
    """Return whether an INSERT may bring texts, as one of literals or parameters may."""
    query = _query(tokenize(text))
    if query is None or query.token_type == TokenType.VALUES:
        return True
    found = describe(text[query.start :])
    return found is None or any("VARCHAR" in kind or "JSON" in kind for _, kind in found)


def _query(tokens: Sequence[Token]) -> Token | None:
    """Return where the query of an INSERT begins: after its name and its columns."""
    depth = 0
    for place, token in enumerate(tokens):
        if token.token_type == TokenType.L_PAREN:
            following = tokens[place + 1].text.upper() if place + 1 < len(tokens) else ""
            if depth == 0 and following in _QUERY:
                return token
            depth += 1
        elif token.token_type == TokenType.R_PAREN:
            depth -= 1
        elif depth == 0 and token.text.upper() in _QUERY and place > 1:
            return token
    return None


def assigned(columns: tuple[Column, ...], text: str) -> str:
    """Return an UPDATE in which the offsets of texts and parameters count that SET assigns."""
    kinds = {c.name.lower(): c.type for c in columns if c.type in dict(ZONED)}
    tokens = tokenize(text)
    begin = next((i for i, t in enumerate(tokens) if t.token_type == TokenType.SET), len(tokens))
    ends = (TokenType.WHERE, TokenType.FROM, TokenType.RETURNING)
    end = next((i for i, t in enumerate(tokens) if i > begin and t.token_type in ends), len(tokens))
    for place in reversed(range(begin + 1, end - 2)):
        name, equals = tokens[place], tokens[place + 1]
        kind = kinds.get(name.text.lower())
        if kind is None or equals.token_type != TokenType.EQ:
            continue
        last = _value(tokens[place + 2 : end])
        if last is not None:
            first = tokens[place + 2]
            value = text[first.start : last.end + 1]
            cast = f"CAST(CAST({value} AS {replaced(kind, ZONED)}) AS {kind})"
            text = text[: first.start] + cast + text[last.end + 1 :]
    return text


def _value(tokens: Sequence[Token]) -> Token | None:
    """Return the last token of a value that is one text or parameter and nothing more, or None."""
    length = 1
    if tokens[0].token_type == TokenType.PARAMETER:
        length = 2
    elif tokens[0].token_type not in (TokenType.STRING, TokenType.PLACEHOLDER):
        return None
    if len(tokens) > length and tokens[length].token_type not in (
        TokenType.COMMA,
        TokenType.SEMICOLON,
    ):
        return None
    return tokens[length - 1] if len(tokens) >= length else None
