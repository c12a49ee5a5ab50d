"""The assignments of INSERT and UPDATE, as pieces of text: which expression is for which column.

A piece is a range of a statement's tokens, which have their places in the text. Nothing is parsed,
so this module need not understand all that DuckDB does. A piece of an unknown form is skipped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import duckdb
from duckdb.sqltypes import DuckDBPyType
from sqlglot.tokens import Token, TokenType

from cqlduck.rewrite.plan import Column
from cqlduck.state.types import inside

Piece = Sequence[Token]

_OPEN = {TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE, TokenType.CASE}
_CLOSE = {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE, TokenType.END}
_TEXTS = {TokenType.STRING, TokenType.HEREDOC_STRING, TokenType.RAW_STRING, TokenType.PLACEHOLDER}
_PLAIN = {
    *_TEXTS, TokenType.L_PAREN, TokenType.R_PAREN, TokenType.COMMA, TokenType.NUMBER,
    TokenType.DASH, TokenType.PARAMETER, TokenType.NULL, TokenType.TRUE, TokenType.FALSE,
}  # fmt: skip
"""Of what a row of literals and parameters is made."""

_QUERY = ("SELECT", "FROM", "WITH", "VALUES", "TABLE", "(")
_SETS = ("UNION", "EXCEPT", "INTERSECT")
_AFTER_ITEMS = (
    *_SETS, "FROM", "INTO", "WHERE", "GROUP", "HAVING", "WINDOW", "QUALIFY", "ORDER", "LIMIT",
    "OFFSET", "USING",
)  # fmt: skip
_AFTER_SET = ("WHERE", "FROM", "RETURNING", ";")
_ALIKE = ("coalesce", "ifnull", "greatest", "least")
"""Functions whose value is one of their arguments."""


class Assigned(NamedTuple):
    """An expression that a statement writes into a column of a type."""

    piece: Piece
    type: str


# -- tokens ----------------------------------------------------------------------------------------


def word(token: Token) -> str:
    """Return what a token says, in upper case; of a quoted name or a text nothing."""
    quoted = token.token_type in (TokenType.IDENTIFIER, TokenType.STRING)
    return "" if quoted else token.text.upper()


def outer(piece: Piece) -> Iterator[tuple[int, Token]]:
    """Return the tokens of a piece that stand in no brackets and no CASE, with their places."""
    depth = 0
    for place, token in enumerate(piece):
        if token.token_type in _CLOSE:
            depth -= 1
        if depth <= 0:
            yield place, token
        if token.token_type in _OPEN:
            depth += 1


def split(piece: Piece, between: TokenType) -> list[Piece]:
    """Return what stands between the separators of a piece."""
    places = [place for place, token in outer(piece) if token.token_type == between]
    starts, ends = [0, *(place + 1 for place in places)], [*places, len(piece)]
    return [piece[start:end] for start, end in zip(starts, ends, strict=True)]


def enclosed(piece: Piece) -> Piece | None:
    """Return what is inside the brackets that a piece begins and ends with, or None."""
    if not piece or piece[0].token_type not in _OPEN or piece[-1].token_type not in _CLOSE:
        return None
    closing = [place for place, token in outer(piece) if token.token_type in _CLOSE]
    return piece[1:-1] if closing == [len(piece) - 1] else None


def _until(piece: Piece, words: Sequence[str]) -> Piece:
    """Return a piece up to the first of some words; IS DISTINCT FROM is none of them."""
    for place, token in outer(piece):
        if word(token) in words and not (place and word(piece[place - 1]) == "DISTINCT"):
            return piece[:place]
    return piece


# -- statements ------------------------------------------------------------------------------------


def of_set(columns: Sequence[Column], tokens: Piece) -> Iterator[Assigned]:
    """Return what SET assigns, in an UPDATE or after ON CONFLICT."""
    kinds = {c.name.lower(): c.type for c in columns}
    begin = next((p for p, t in outer(tokens) if t.token_type == TokenType.SET), len(tokens))
    for each in split(_until(tokens[begin + 1 :], _AFTER_SET), TokenType.COMMA):
        sides = split(each, TokenType.EQ)
        if len(sides) < 2 or not sides[1]:
            continue
        names, values = [sides[0]], [each[len(sides[0]) + 1 :]]
        if enclosed(sides[0]) is not None:
            row = enclosed(values[0]) or enclosed(values[0][1:])
            names = split(enclosed(sides[0]) or [], TokenType.COMMA)
            values = split(row or [], TokenType.COMMA)
        if len(names) == len(values):
            for name, value in zip(names, values, strict=True):
                kind = kinds.get(name[0].text.lower()) if len(name) == 1 else None
                if kind is not None and value and value[0].token_type != TokenType.DEFAULT:
                    yield Assigned(value, kind)


class Insert(NamedTuple):
    """The pieces of an INSERT."""

    names: tuple[str, ...]
    """The columns that it lists, or none."""
    by_name: bool
    query: Piece
    rest: Piece
    """What follows the query: ON CONFLICT."""

    @property
    def is_plain(self) -> bool:
        """Whether it lists values that are literals and parameters, and nothing inside of others.

        A long list is looked through once then, and not taken apart.
        """
        depth = 0
        for token in self.query[1:] if self.is_values else ():
            kind = token.token_type
            if kind == TokenType.L_PAREN:
                depth += 1
            elif kind == TokenType.R_PAREN:
                depth -= 1
            if depth > 1 or kind not in _PLAIN:
                return False
        return self.is_values

    def columns(self, of: Sequence[Column]) -> tuple[Column, ...]:
        """Return the columns that it writes, in order; those that there are not have no type."""
        if not self.names:
            return tuple(of)
        kinds = {c.name.lower(): c.type for c in of}
        return tuple(Column(name, kinds.get(name.lower(), "")) for name in self.names)

    @property
    def is_values(self) -> bool:
        """Whether it lists values, for each of which DuckDB knows the column that it is for."""
        return bool(self.query) and self.query[0].token_type == TokenType.VALUES


def insert(tokens: Piece) -> Insert:
    """Return the pieces of an INSERT; the query of one that has none is empty."""
    ends = [p for p, t in outer(tokens) if t.token_type == TokenType.SEMICOLON]
    tokens = tokens[: ends[0]] if ends else tokens
    into = next((p for p, t in outer(tokens) if t.token_type == TokenType.INTO), 0)
    listed: tuple[str, ...] = ()
    begin, before = len(tokens), ""
    by_name = False
    for place, token in outer(tokens):
        if place <= into + 1 or token.token_type in _CLOSE:
            continue
        following = word(tokens[place + 1]) if place + 1 < len(tokens) else ""
        if token.token_type == TokenType.L_PAREN and following not in _QUERY:
            listed = _names(tokens[place + 1 :])
        elif word(token) in _QUERY:
            begin = place
            break
        by_name = by_name or (before == "BY" and word(token) == "NAME")
        before = word(token)
    query = tokens[begin:]
    end = next(
        (
            p
            for p, t in outer(query)
            if word(t) == "ON" and [word(t) for t in query[p + 1 : p + 2]] == ["CONFLICT"]
        ),
        len(query),
    )
    return Insert(listed, by_name, query[:end], query[end:])


def _names(after: Piece) -> tuple[str, ...]:
    end = next((p for p, t in enumerate(after) if t.token_type == TokenType.R_PAREN), len(after))
    return tuple(each[0].text for each in split(after[:end], TokenType.COMMA) if len(each) == 1)


def of_values(columns: Sequence[Column], query: Piece) -> Iterator[Assigned]:
    """Return what the rows of VALUES have for columns."""
    for row in split(query[1:], TokenType.COMMA):
        items = split(enclosed(row) or [], TokenType.COMMA)
        for item, column in zip(items, columns, strict=False):
            if item and item[0].token_type != TokenType.DEFAULT:
                yield Assigned(item, column.type)


def of_query(columns: Sequence[Column], query: Piece, *, by_name: bool) -> Iterator[Assigned]:
    """Return what the SELECTs of a query, on both sides of a UNION too, have for columns."""
    within = enclosed(query)
    if within is not None:
        yield from of_query(columns, within, by_name=by_name)
        return
    for place, token in outer(query):
        if word(token) == "SELECT":
            after = query[place + 1 :]
            if after and word(after[0]) in ("DISTINCT", "ALL"):
                after = after[1:]
            items = split(_until(after, _AFTER_ITEMS), TokenType.COMMA)
            yield from _selected(columns, items, by_name)
        elif token.token_type == TokenType.L_PAREN and (
            place == 0 or word(query[place - 1]) in (*_SETS, "ALL", "NAME")
        ):
            yield from of_query(columns, _group(query[place:]), by_name=by_name)


def _group(piece: Piece) -> Piece:
    """Return the brackets that a piece begins with; nothing if they do not end."""
    ends = (place for place, token in outer(piece) if token.token_type in _CLOSE)
    return piece[: next(ends, -1) + 1]


def _selected(
    columns: Sequence[Column], items: Sequence[Piece], by_name: bool
) -> Iterator[Assigned]:
    """Return the items of a SELECT for columns, as far as no star comes between."""
    kinds = {c.name.lower(): c.type for c in columns}
    is_star = [any(t.token_type == TokenType.STAR for t in (*i[:1], *i[-1:])) for i in items]
    for place, item in enumerate(items):
        value, name = _alias(item)
        if by_name:
            kind = kinds.get(name.lower())
        elif True not in is_star[: place + 1]:
            kind = columns[place].type if place < len(columns) else None
        elif True not in is_star[place:] and len(items) - place <= len(columns):
            kind = columns[place - len(items)].type
        else:
            kind = None
        if kind:
            yield Assigned(value, kind)


def _alias(item: Piece) -> tuple[Piece, str]:
    for place, token in outer(item):
        if token.token_type == TokenType.ALIAS and place + 1 < len(item):
            return item[:place], item[place + 1].text
    return item, ""


# -- expressions -----------------------------------------------------------------------------------


def texts(value: Assigned) -> Iterator[Assigned]:
    """Return the texts and parameters that an expression may have as its value, or inside of it.

    DuckDB gives such a text the type of what stands beside it: in `coalesce('…', t)` that of t.
    What an expression compares, or calculates with, is not its value.
    """
    piece = value.piece
    if is_text(piece):
        yield value
        return
    within = enclosed(piece)
    if within is None:
        for part, kind in _arguments(piece, value.type):
            yield from texts(Assigned(part, kind))
    elif piece[0].token_type == TokenType.CASE:
        for part in _branches(within):
            yield from texts(Assigned(part, value.type))
    elif within and word(within[0]) in ("SELECT", "FROM", "WITH"):
        for item in of_query([Column("", value.type)], within, by_name=False):
            yield from texts(item)
    elif piece[0].token_type == TokenType.L_PAREN and len(split(within, TokenType.COMMA)) == 1:
        yield from texts(Assigned(within, value.type))
    else:
        for part, kind in _members(piece[0].token_type, within, value.type):
            yield from texts(Assigned(part, kind))


def is_text(piece: Piece) -> bool:
    """Return whether a piece is one text or parameter and nothing more."""
    if len(piece) == 2:
        return piece[0].token_type == TokenType.PARAMETER
    return len(piece) == 1 and piece[0].token_type in _TEXTS


def parameters(piece: Piece) -> list[Piece]:
    """Return the parameters in a piece: `?`, `$1`, `$name`."""
    found = []
    for place, token in enumerate(piece):
        if token.token_type == TokenType.PLACEHOLDER:
            found.append(piece[place : place + 1])
        elif token.token_type == TokenType.PARAMETER:
            found.append(piece[place : place + 2])
    return found


def _branches(case: Piece) -> Iterator[Piece]:
    """Return what a CASE may give."""
    marks = [
        (place, word(token))
        for place, token in outer(case)
        if word(token) in ("WHEN", "THEN", "ELSE")
    ]
    for (start, what), (end, _) in zip(marks, [*marks[1:], (len(case), "")], strict=True):
        if what != "WHEN":
            yield case[start + 1 : end]


def _arguments(piece: Piece, kind: str) -> Iterator[tuple[Piece, str]]:
    """Return the arguments of a function that are its value or inside of it, with their types."""
    within = enclosed(piece[1:])
    if within is None or len(piece) < 3:
        return
    name, parts = piece[0].text.lower(), split(within, TokenType.COMMA)
    bracket = piece[1].token_type
    if (name, bracket) in (("map", TokenType.L_BRACE), ("array", TokenType.L_BRACKET)):
        yield from _members(bracket, within, kind)
    elif bracket != TokenType.L_PAREN:
        return
    elif name in _ALIKE:
        yield from ((part, kind) for part in parts)
    elif name in ("if", "nullif"):
        yield from ((part, kind) for part in (parts[1:] if name == "if" else parts[:1]))
    elif name in ("list_value", "list_pack", "array_value"):
        yield from _members(TokenType.L_BRACKET, within, kind)
    elif name in ("row", "struct_pack"):
        yield from _members(TokenType.L_PAREN, within, kind)


def _members(bracket: TokenType, within: Piece, kind: str) -> Iterator[tuple[Piece, str]]:
    """Return the values in brackets, with their types inside a type."""
    nested = duckdb.type(kind)
    of = {name.lower(): str(member) for name, member in _inside(nested).items()}
    for place, part in enumerate(split(within, TokenType.COMMA)):
        name, value = _named(part)
        if nested.id in ("list", "array") and bracket == TokenType.L_BRACKET:
            yield part, of["child"]
        elif nested.id == "map" and bracket == TokenType.L_BRACE:
            yield name, of["key"]
            yield value, of["value"]
        elif nested.id == "struct" and name and name[0].text.lower() in of:
            yield value, of[name[0].text.lower()]
        elif nested.id == "struct" and not name and place < len(of):
            yield part, list(of.values())[place]


def _named(part: Piece) -> tuple[Piece, Piece]:
    """Return the name and the value in `name: value` or `name := value`."""
    for mark in (TokenType.COLON, TokenType.COLON_EQ):
        pair = split(part, mark)
        if len(pair) == 2:
            return pair[0], pair[1]
    return [], part


def _inside(kind: DuckDBPyType) -> dict[str, DuckDBPyType]:
    return inside(kind) if kind.id in ("list", "array", "map", "struct", "union") else {}
