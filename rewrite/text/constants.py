"""Constants of queries that can be cut out of the text, found among its tokens.

A constant can be cut out where a column can stand in its place: on one side of a comparison that is
a conjunct of WHERE or HAVING, or alone in the SELECT list, under a name. So it can on one side of a
comparison inside of a conjunct, in a list behind IN, and behind LIKE; but a join by such a
condition meets all pairs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from sqlglot import exp
from sqlglot.tokens import Token, TokenType

from cqlduck.rewrite.text.tokens import are_digits

MAX_DIGITS = 18
"""How many digits a number has at most that is cut out."""

MAX_LISTED_DIGITS = 9
"""How many digits a whole number has at most that is cut out of a SELECT list: an INTEGER."""

_COMPARISONS = (
    TokenType.EQ,
    TokenType.NEQ,
    TokenType.LT,
    TokenType.LTE,
    TokenType.GT,
    TokenType.GTE,
)

MAX_NESTED = 16
"""How many constants inside of conjuncts are cut out at most: each is a column."""

NESTING: Mapping[TokenType, int] = {
    TokenType.L_PAREN: 1,
    TokenType.L_BRACKET: 1,
    TokenType.L_BRACE: 1,
    TokenType.CASE: 1,
    TokenType.R_PAREN: -1,
    TokenType.R_BRACKET: -1,
    TokenType.R_BRACE: -1,
    TokenType.END: -1,
}
"""What opens and closes parts of an expression."""

_BINDS_TIGHTER = frozenset(
    {
        TokenType.VAR,
        TokenType.IDENTIFIER,
        TokenType.DOT,
        TokenType.NUMBER,
        TokenType.STRING,
        TokenType.PLUS,
        TokenType.DASH,
        TokenType.STAR,
        TokenType.SLASH,
        TokenType.MOD,
        TokenType.DPIPE,
        TokenType.FILTER,
        *NESTING,
    }
)
"""Tokens of an expression that a comparison beside it does not split."""


_BEFORE = (TokenType.AND, TokenType.OR, TokenType.NOT, TokenType.L_PAREN, TokenType.COMMA,
           TokenType.WHEN, TokenType.THEN, TokenType.ELSE)  # fmt: skip
"""Tokens behind which a comparison may begin."""

_BEHIND = (TokenType.AND, TokenType.OR, TokenType.R_PAREN, TokenType.COMMA,
           TokenType.WHEN, TokenType.THEN, TokenType.ELSE, TokenType.END)  # fmt: skip
"""Tokens before which one may end."""

Place = Literal["column", "where", "having", "listed", "window"]
"""Where a constant stands: see `Constant.place`."""


@dataclass(frozen=True)
class Constant:
    """A constant that is cut out.

    Attributes:
        place: 'column' (compared with a column, in WHERE), 'where' or 'having' (compared with
            another expression), 'listed' (an item of the SELECT list), or 'window' (the range of a
            window).
        column: The column that it is compared with, as written: one name or two; or what the item
            of FROM is called on which the window stands; or nothing.
        kind: 'whole' (a number of digits alone), 'decimal' or 'text'; 'whole' of a window.
        digits: How many digits a number has.
        scale: How many digits a decimal has behind its point.
        sql: The constant, as SQL.
        start: Where it begins in the text.
        end: Where it ends there.
        limit: Of a window, the longest range of a window of the same shape.
    """

    place: Place
    column: tuple[str, ...]
    kind: Literal["whole", "decimal", "text"]
    digits: int
    scale: int
    sql: str
    start: int
    end: int
    limit: str = ""

    @property
    def key(self) -> str:
        """What stays of it in the key of a shape."""
        if self.place == "window":
            return f"?RANGE {self.limit}"
        if self.place == "listed":
            return f"?{self.literal_type}"
        return f"?{self.kind}{self.scale or ''}"

    @property
    def literal_type(self) -> str:
        """The type that it has where it stands alone."""
        if self.kind == "text":
            return "VARCHAR"
        return "INTEGER" if self.kind == "whole" else f"DECIMAL({self.digits},{self.scale})"

    @property
    def exact_type(self) -> str:
        """A type that has all constants of its kind."""
        return {"whole": "BIGINT", "text": "VARCHAR"}.get(self.kind, f"DECIMAL(18,{self.scale})")


def compared(tokens: Sequence[Token], place: Literal["where", "having"]) -> Iterator[Constant]:
    """Yield the constants of the conjuncts of WHERE or HAVING."""
    for conjunct in conjuncts(tokens):
        yield from _compared(conjunct, place)


def nested(tokens: Sequence[Token], place: Literal["where", "having"]) -> Iterator[Constant]:
    """Yield the constants inside of the conjuncts of WHERE or HAVING; none if there are many.

    >>> from cqlduck.rewrite.text.tokens import tokenize
    >>> found = nested(tokenize("(v > 3 OR NOT k = 'a') AND w IN (1, 2) AND n LIKE 'b%'"), "where")
    >>> [constant.sql for constant in found]
    ['3', "'a'", '1', '2', "'b%'"]
    """
    found: list[Constant] = []
    for conjunct in tuple(conjuncts(tokens)) or (tokens,):
        kinds = [token.token_type for token in conjunct]
        if TokenType.BETWEEN in kinds or next(_compared(conjunct, place), None) is not None:
            continue
        for at, kind in enumerate(kinds):
            if kind in _COMPARISONS:
                found += _nested(conjunct, at, place)
            elif kind in (TokenType.LIKE, TokenType.ILIKE):
                found += (c for c in _nested(conjunct, at, place) if c.kind == "text")
            elif kind == TokenType.IN:
                found += _among(conjunct, at, place)
    if len(found) <= MAX_NESTED:
        yield from found


def listed(tokens: Sequence[Token]) -> Iterator[Constant]:
    """Yield the constants that are items of a SELECT list, each under a name."""
    for item in parts(tokens):
        kinds = [token.token_type for token in item]
        if len(item) < 3 or kinds[-2] != TokenType.ALIAS:
            continue
        found = _constant((), item[:-2], "listed")
        if found is not None and (found.kind != "whole" or found.digits <= MAX_LISTED_DIGITS):
            yield found


def ranged(tokens: Sequence[Token]) -> Iterator[Constant]:
    """Yield the ranges of windows in FROM: a whole number, which may have a unit.

    >>> from cqlduck.rewrite.text.tokens import tokenize
    >>> found = ranged(tokenize("s [RANGE 90 SECONDS] AS x, u [RANGE 5], v [RANGE 9 SLIDE 3]"))
    >>> [(constant.column, constant.sql, constant.limit) for constant in found]
    [(('x',), '90 SECONDS', '256 SECONDS'), (('u',), '5', '16')]
    """
    for place, token in enumerate(tokens):
        if token.token_type != TokenType.L_BRACKET or not place:
            continue
        inside = tokens[place + 1 : place + 5]
        if len(inside) < 3:
            continue
        word, number, *rest = inside
        if word.text.upper() != "RANGE" or number.token_type != TokenType.NUMBER:
            continue
        unit = [] if rest and rest[0].token_type == TokenType.R_BRACKET else rest[:1]
        closing = place + 3 + len(unit)
        if closing >= len(tokens) or tokens[closing].token_type != TokenType.R_BRACKET:
            continue
        if not are_digits(number.text) or not 0 < int(number.text) < 10**MAX_LISTED_DIGITS:
            continue
        behind = [t for t in tokens[closing + 1 : closing + 3] if t.token_type != TokenType.ALIAS]
        is_named = behind and behind[0].token_type in (TokenType.VAR, TokenType.IDENTIFIER)
        called = behind[0] if is_named else tokens[place - 1]
        words = [number.text, *(one.text.upper() for one in unit)]
        limit = " ".join([str(_limit(int(number.text))), *words[1:]])
        start, end = number.start, tokens[closing - 1].end + 1
        yield Constant("window", (called.text,), "whole", 0, 0, " ".join(words), start, end, limit)


def _limit(width: int) -> int:
    """Return the least power of four that a length does not exceed."""
    limit = 1
    while limit < width:
        limit *= 4
    return limit


def parts(tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """Yield what commas separate."""
    depth, begin = 0, 0
    for place, token in enumerate(tokens):
        depth += NESTING.get(token.token_type, 0)
        if depth == 0 and token.token_type == TokenType.COMMA:
            yield tokens[begin:place]
            begin = place + 1
    yield tokens[begin:]


def conjuncts(tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """Yield the conjuncts of a condition; none if it is no conjunction."""
    depth, begin, between, found = 0, 0, False, []
    for place, token in enumerate(tokens):
        kind = token.token_type
        depth += NESTING.get(kind, 0)
        if depth:
            continue
        if kind in (TokenType.OR, TokenType.XOR):
            return
        if kind == TokenType.BETWEEN:
            between = True
        elif kind == TokenType.AND and between:
            between = False
        elif kind == TokenType.AND:
            found.append(tokens[begin:place])
            begin = place + 1
    yield from (*found, tokens[begin:])


def _compared(tokens: Sequence[Token], place: Literal["where", "having"]) -> Iterator[Constant]:
    """Yield the constants of a conjunct that compares something with one, or with two."""
    outside = list(_outside(tokens))
    signs = [at for at, kind in outside if kind in _COMPARISONS]
    between = [at for at, kind in outside if kind == TokenType.BETWEEN]
    if len(between) == 1 and not signs:
        begin = between[0]
        middle = next((at for at, kind in outside if kind == TokenType.AND), len(tokens))
        low = _beside(tokens[:begin], tokens[begin + 1 : middle], place)
        high = _beside(tokens[:begin], tokens[middle + 1 :], place)
        if low is not None and high is not None:
            yield from (low, high)
    elif len(signs) == 1 and not between:
        left, right = tokens[: signs[0]], tokens[signs[0] + 1 :]
        found = _beside(left, right, place) or _beside(right, left, place)
        if found is not None:
            yield found


def _nested(
    tokens: Sequence[Token], at: int, place: Literal["where", "having"]
) -> Iterator[Constant]:
    """Yield the constant beside a sign, or none."""
    sides = _side_before(tokens, at), _side_behind(tokens, at)
    if sides[0] is not None and sides[1] is not None:
        found = _beside(sides[0], sides[1], place)
        if found is None and tokens[at].token_type in _COMPARISONS:
            found = _beside(sides[1], sides[0], place)
        if found is not None:
            is_like = tokens[at].token_type not in _COMPARISONS
            yield replace(found, place=place, column=()) if is_like else found


def _among(
    tokens: Sequence[Token], at: int, place: Literal["where", "having"]
) -> Iterator[Constant]:
    """Yield the constants of the list behind an IN; none if something else is in it."""
    side = _side_before(tokens, at)
    if side is None or at + 1 == len(tokens) or tokens[at + 1].token_type != TokenType.L_PAREN:
        return
    closing = next(n for n in range(at, len(tokens)) if tokens[n].token_type == TokenType.R_PAREN)
    found = [_beside(side, item, place) for item in parts(tokens[at + 2 : closing])]
    known = [one for one in found if one is not None]
    if len(known) == len(found) and len({one.kind for one in known}) == 1:
        yield from known


def _side_before(tokens: Sequence[Token], at: int) -> Sequence[Token] | None:
    """Return what stands before a sign; None if that may be a part of something else."""
    last = at
    if last and tokens[at].token_type not in _COMPARISONS:
        last -= tokens[at - 1].token_type == TokenType.NOT
    first, depth = last, 0
    while first and (depth or tokens[first - 1].token_type in _BINDS_TIGHTER):
        step = NESTING.get(tokens[first - 1].token_type, 0)
        if step > depth:
            break
        first, depth = first - 1, depth - step
    if first and tokens[first - 1].token_type not in _BEFORE:
        return None
    return tokens[first:last]


def _side_behind(tokens: Sequence[Token], at: int) -> Sequence[Token] | None:
    """Return what stands behind a sign; None if that may be a part of something else."""
    end, depth = at + 1, 0
    while end < len(tokens) and (depth or tokens[end].token_type in _BINDS_TIGHTER):
        step = NESTING.get(tokens[end].token_type, 0)
        if depth + step < 0:
            break
        end, depth = end + 1, depth + step
    if end < len(tokens) and tokens[end].token_type not in _BEHIND:
        return None
    return tokens[at + 1 : end]


def _outside(tokens: Sequence[Token]) -> Iterator[tuple[int, TokenType]]:
    """Yield the places and kinds of the tokens outside of parentheses."""
    depth = 0
    for place, token in enumerate(tokens):
        depth += NESTING.get(token.token_type, 0)
        if depth == 0:
            yield place, token.token_type


def _beside(
    side: Sequence[Token], tokens: Sequence[Token], place: Literal["where", "having"]
) -> Constant | None:
    """Return the constant that tokens are, beside one side of a comparison."""
    column = _column(side)
    if column is not None and place == "where":
        return _constant(column, tokens, "column")
    if not side or not {kind for _, kind in _outside(side)} <= _BINDS_TIGHTER:
        return None
    if _constant((), side, place) is not None:
        return None
    return _constant((), tokens, place)


def _column(tokens: Sequence[Token]) -> tuple[str, ...] | None:
    """Return the names of a column, if tokens are one."""
    names = tokens[::2]
    dots = tokens[1::2]
    if not 1 <= len(names) <= 2 or any(dot.token_type != TokenType.DOT for dot in dots):
        return None
    fit = (TokenType.VAR, TokenType.IDENTIFIER)
    if any(name.token_type not in fit for name in names):
        return None
    return tuple(name.text for name in names)


def _constant(
    column: tuple[str, ...],
    tokens: Sequence[Token],
    place: Place,
) -> Constant | None:
    """Return a constant, if tokens are one."""
    is_negative = len(tokens) == 2 and tokens[0].token_type == TokenType.DASH
    if not (is_negative or len(tokens) == 1):
        return None
    token = tokens[-1]
    start, end = tokens[0].start, token.end + 1
    if token.token_type == TokenType.STRING and not is_negative:
        text = exp.Literal.string(token.text).sql("duckdb")
        return Constant(place, column, "text", 0, 0, text, start, end)
    if token.token_type != TokenType.NUMBER:
        return None
    whole, point, behind = token.text.partition(".")
    digits = whole + behind
    if not are_digits(digits) or len(digits) > MAX_DIGITS or not whole:
        return None
    sql = ("-" if is_negative else "") + token.text
    kind: Literal["whole", "decimal"] = "decimal" if point else "whole"
    return Constant(place, column, kind, len(digits), len(behind), sql, start, end)
