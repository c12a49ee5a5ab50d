"""Tokens of DuckDB: a text split into words and signs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import SqlglotError
from sqlglot.tokens import Token, Tokenizer, TokenType

from cqlduck.errors import ParseError

_HALF = re.compile("[\ud800-\udfff]")


def tokenize(text: str) -> list[Token]:
    """Return the tokens of a text.

    Raises:
        ParseError: An unterminated string or comment, or half a character.
    """
    half = _HALF.search(text)
    if half is not None:
        raise ParseError(
            "half of a character that is written in two halves",
            hint="a text is Unicode; was it decoded with surrogateescape?",
            text=text,
            offset=half.start(),
        )
    try:
        return Dialect.get_or_raise("duckdb").tokenize(text)
    except SqlglotError as error:
        place, what, hint = _unclosed(text) or (max(len(text) - 1, 0), "", _LEFT_OPEN)
        raise ParseError(
            f"the text cannot be split into tokens{what}", hint=hint, text=text, offset=place
        ) from error


_LEFT_OPEN = "a quote or a comment may be left open"

_OPENING = re.compile(r"--|/\*|\b[eE]'|['\"]|(?<![\w$])\$([^\W\d]\w*)?\$")
"""What a comment or a text begins with."""

_CLOSED = re.compile(
    r"--[^\n]*|[eE]'(?:[^'\\]|\\.|'')*+'|'(?:[^']|'')*+'|\"(?:[^\"]|\"\")*+\"|(\$\w*\$).*?\1",
    re.DOTALL,
)
"""A text, or a comment up to the end of its line."""

_IN_COMMENT = re.compile(r"/\*|\*/")


def _unclosed(text: str) -> tuple[int, str, str] | None:
    """Return where a comment or a text begins that is never closed, or None if all are.

    Returns:
        Its place, what it is, and what to do.
    """
    end: int | None = 0
    while end is not None and (opening := _OPENING.search(text, end)) is not None:
        place, sign = opening.start(), opening[0].lstrip("eE")
        if sign == "/*":
            end, sign, closing = _end_of_comment(text, opening.end()), "comment", "*/"
        else:
            closed, closing = _CLOSED.match(text, place), sign
            end = None if closed is None else closed.end()
        if end is None:
            return place, f": this {sign} is never closed", f"write {closing} at its end"
    return None


def _end_of_comment(text: str, at: int) -> int | None:
    """Return where a comment ends, which may have others inside; None if it does not."""
    depth = 1
    for found in _IN_COMMENT.finditer(text, at):
        depth += 1 if found[0] == "/*" else -1
        if depth == 0:
            return found.end()
    return None


def are_digits(text: str) -> bool:
    """Return whether a text is a number of digits alone; those of other scripts are none.

    >>> [are_digits("10"), are_digits("1.5"), are_digits("\N{SUPERSCRIPT TWO}")]
    [True, False, False]
    """
    return text.isascii() and text.isdigit()


def has_same_words(left: str, right: str) -> bool:
    """Return whether two texts differ in nothing but comments and white space.

    >>> has_same_words("SELECT a /* one */ FROM s", "SELECT  a FROM s")
    True
    """
    both = ([(token.token_type, token.text) for token in tokenize(t)] for t in (left, right))
    return next(both) == next(both)


MOST_NESTED = 5
"""How many WITH may stand in one another."""


_WITH = re.compile(r"\bWITH\b", re.IGNORECASE)


def refuse_nested_with(text: str) -> None:
    """Refuse WITH inside WITH inside WITH …, before DuckDB reads it.

    If something is wrong inside, DuckDB 2.0 tries each level in three ways: at ten levels it has
    filled five gigabytes by the time that it says so.

    Raises:
        ParseError: With the place of the first WITH that is too deep.
    """
    if len(_WITH.findall(text)) <= MOST_NESTED:
        return
    inside: list[bool] = []
    for token, following in pairwise(_inside_commands(text)):
        if token.token_type == TokenType.L_PAREN:
            inside.append(following.token_type == TokenType.WITH)
        elif token.token_type == TokenType.R_PAREN and inside:
            inside.pop()
        if sum(inside) > MOST_NESTED:
            raise ParseError(
                "WITH is nested too deeply",
                hint="name the queries one after the other: WITH a AS (…), b AS (…)",
                text=text,
                offset=following.start,
            )


def _inside_commands(text: str) -> list[Token]:
    """Return the tokens of a text, also of what stands behind EXPLAIN, PREPARE and their kin.

    To sqlglot these are commands, and what follows one is a single string.
    """
    tokens = tokenize(text)
    while True:
        command = next(
            (
                token
                for token, following in pairwise(tokens)
                if token.token_type in Tokenizer.COMMANDS
                and following.token_type == TokenType.STRING
            ),
            None,
        )
        if command is None:
            return tokens
        blank = " " * (command.end + 1 - command.start)
        text = f"{text[: command.start]}{blank}{text[command.end + 1 :]}"
        tokens = tokenize(text)


def token_like(kind: TokenType, text: str, like: Token) -> Token:
    """Return an added token, at the place of another one."""
    return Token(kind, text, like.line, like.col, like.start, like.start)


def closing_of(tokens: Sequence[Token], opening: int) -> int:
    """Return the place of the parenthesis or bracket that closes the one at `opening`."""
    depth = 0
    for place in range(opening, len(tokens)):
        kind = tokens[place].token_type
        if kind in (TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE):
            depth += 1
        elif kind in (TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE):
            depth -= 1
            if depth == 0:
                return place
    raise ParseError(f"this {tokens[opening].text} is never closed", offset=tokens[opening].start)
