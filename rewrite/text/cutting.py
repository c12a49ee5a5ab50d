"""CQL cut out of the tokens of a query: windows, samples, relation-to-stream operators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import TypeVar

from sqlglot.tokens import Token, TokenType

from cqlduck.errors import ParseError
from cqlduck.rewrite.text import spelling
from cqlduck.rewrite.text.parsed import MARK
from cqlduck.rewrite.text.tokens import closing_of, token_like
from cqlduck.rewrite.text.windows import WINDOW_WORDS, SampleSyntax, WindowSyntax, read_window

OPERATORS = ("ISTREAM", "DSTREAM", "RSTREAM")


_BEFORE_ITEM = {TokenType.FROM, TokenType.JOIN, TokenType.COMMA, TokenType.L_PAREN}


_JOIN_WORDS = {
    TokenType.ANTI,
    TokenType.ASOF,
    TokenType.CROSS,
    TokenType.FULL,
    TokenType.INNER,
    TokenType.LEFT,
    TokenType.NATURAL,
    TokenType.OUTER,
    TokenType.POSITIONAL,
    TokenType.RIGHT,
    TokenType.SEMI,
}


_EXPRESSION_CLAUSES = {
    TokenType.WHERE,
    TokenType.GROUP_BY,
    TokenType.HAVING,
    TokenType.ORDER_BY,
    TokenType.LIMIT,
    TokenType.QUALIFY,
    TokenType.WINDOW,
}


@dataclass
class _Level:
    """What is known between two parentheses."""

    clause: str = ""
    selects: bool = False
    first: bool = True


@dataclass
class Scan:
    """The pass over the tokens: what is kept, and what was cut out."""

    text: str
    tokens: Sequence[Token]
    kept: list[Token] = field(default_factory=list)
    windows: dict[int, WindowSyntax] = field(default_factory=dict)
    samples: dict[int, SampleSyntax] = field(default_factory=dict)
    inserts: dict[int, list[Token]] = field(default_factory=dict)
    dropped: set[int] = field(default_factory=set)


def refuse_unpaired(scan: Scan) -> None:
    """Refuse brackets without a partner, which the parser closes in silence at the end."""
    partners = {
        TokenType.R_PAREN: TokenType.L_PAREN,
        TokenType.R_BRACKET: TokenType.L_BRACKET,
        TokenType.R_BRACE: TokenType.L_BRACE,
    }
    opened: list[Token] = []
    for token in scan.tokens:
        opening = partners.get(token.token_type)
        if token.token_type in partners.values():
            opened.append(token)
        elif opening is not None and (not opened or opened.pop().token_type != opening):
            raise ParseError(
                f"this {token.text} closes nothing", text=scan.text, offset=token.start
            )
    if opened:
        last = opened[-1]
        raise ParseError(f"this {last.text} is never closed", text=scan.text, offset=last.start)


def refuse_empty_names(scan: Scan) -> None:
    """Refuse `""`, which is no name in DuckDB."""
    for token in scan.tokens:
        if token.token_type == TokenType.IDENTIFIER and not token.text:
            raise ParseError("a name is not empty", text=scan.text, offset=token.start)


def cut_operators(scan: Scan) -> None:
    """Cut relation-to-stream operators out; leave a marker in their SELECT."""
    tokens = scan.tokens
    for place, token in enumerate(tokens):
        word = token.text.upper()
        if (
            word not in OPERATORS
            or token.token_type in (TokenType.STRING, TokenType.IDENTIFIER)
            or place + 1 >= len(tokens)
            or tokens[place + 1].token_type != TokenType.L_PAREN
        ):
            continue
        try:
            closing = closing_of(tokens, place + 1)
        except ParseError as error:
            raise ParseError(
                f"the parenthesis after {token.text} is never closed",
                text=scan.text,
                offset=tokens[place + 1].start,
            ) from error
        mark = [
            token_like(TokenType.STRING, MARK + word.lower(), token),
            token_like(TokenType.COMMA, ",", token),
        ]
        inner = tokens[place + 2].token_type if place + 2 < len(tokens) else None
        before = tokens[place - 1].token_type if place else None
        if inner in (TokenType.SELECT, TokenType.FROM, TokenType.WITH, TokenType.L_PAREN) and (
            before != TokenType.SELECT
        ):
            _around_query(scan, place, closing, mark)
        elif before == TokenType.SELECT:
            _in_select(scan, place, closing, mark)
        else:
            raise ParseError(
                f"{token.text} stands around a whole SELECT list or a whole SELECT",
                hint=f"write SELECT {token.text}(…) FROM … or {token.text}(SELECT …)",
                text=scan.text,
                offset=token.start,
            )


def _around_query(scan: Scan, place: int, closing: int, mark: list[Token]) -> None:
    """`Istream(Q)` becomes `(SELECT <mark>, * FROM (Q))`."""
    token = scan.tokens[place]
    scan.dropped.add(place)
    scan.inserts.setdefault(place + 1, []).extend(
        [
            token_like(TokenType.L_PAREN, "(", token),
            token_like(TokenType.SELECT, "SELECT", token),
            *mark,
            token_like(TokenType.STAR, "*", token),
            token_like(TokenType.FROM, "FROM", token),
        ]
    )
    scan.inserts.setdefault(closing + 1, []).append(
        token_like(TokenType.R_PAREN, ")", scan.tokens[closing])
    )


def _in_select(scan: Scan, place: int, closing: int, mark: list[Token]) -> None:
    """`SELECT Istream(a, b)` becomes `SELECT <mark>, a, b`."""
    tokens = scan.tokens
    scan.dropped |= {place, place + 1, closing}
    after = tokens[closing + 1].token_type if closing + 1 < len(tokens) else None
    if after not in (
        None,
        TokenType.FROM,
        TokenType.WHERE,
        TokenType.R_PAREN,
        TokenType.UNION,
        TokenType.EXCEPT,
        TokenType.INTERSECT,
        TokenType.GROUP_BY,
        TokenType.HAVING,
        TokenType.ORDER_BY,
        TokenType.LIMIT,
    ):
        raise ParseError(
            f"{tokens[place].text} stands around the whole SELECT list",
            hint="put the closing parenthesis at the end of the list",
            text=scan.text,
            offset=tokens[closing + 1].start,
        )
    first = place + 2
    if first < len(tokens) and tokens[first].token_type == TokenType.DISTINCT:
        first += 1
        if tokens[first].token_type == TokenType.ON:
            first = closing_of(tokens, first + 1) + 1
    scan.inserts.setdefault(first, []).extend(mark)


def cut_windows(scan: Scan) -> None:
    """Copy the tokens, but for windows after the items of FROM clauses."""
    tokens = scan.tokens
    levels = [_Level()]
    place = 0
    while place < len(tokens):
        scan.kept.extend(scan.inserts.get(place, ()))
        token = tokens[place]
        kind = token.token_type
        level = levels[-1]
        if place in scan.dropped:
            place += 1
            continue
        if kind == TokenType.L_BRACKET and level.clause == "from" and _opens_window(tokens, place):
            place = _cut_window(scan, place)
            continue
        if kind == TokenType.L_BRACKET and level.clause == "from" and _follows_item(scan):
            _refuse_bracket(scan, place)
        if level.clause == "from" and scan.kept and _is_sample(tokens, place):
            place = _cut_sample(scan, place)
            continue
        if kind == TokenType.L_PAREN:
            called = place > 0 and tokens[place - 1].token_type not in _BEFORE_ITEM
            levels.append(_Level("from" if level.clause == "from" and not called else ""))
        elif kind == TokenType.R_PAREN:
            if len(levels) > 1:
                levels.pop()
        elif kind == TokenType.SELECT:
            level.clause, level.selects = "select", True
        elif kind == TokenType.FROM and _is_distinct(tokens, place):
            pass
        elif kind == TokenType.FROM and (level.selects or level.first):
            level.clause, level.selects = "from", True
        elif kind == TokenType.JOIN or (kind == TokenType.COMMA and level.clause == "on"):
            level.clause = "from"
            if kind == TokenType.JOIN and tokens[place - 1].token_type not in _JOIN_WORDS:
                # in the tree a bare JOIN would be the same as a comma
                scan.kept.append(token_like(TokenType.INNER, "INNER", token))
        elif kind in (TokenType.ON, TokenType.USING) and level.clause == "from":
            level.clause = "on"
        elif kind in _EXPRESSION_CLAUSES:
            level.clause = "expression"
        elif kind in (TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT):
            level.clause = ""
        level.first = False
        scan.kept.append(token)
        place += 1
    scan.kept.extend(scan.inserts.get(len(tokens), ()))


def _is_sample(tokens: Sequence[Token], place: int) -> bool:
    return (
        place + 2 < len(tokens)
        and tokens[place].token_type == TokenType.NUMBER
        and tokens[place + 1].token_type == TokenType.MOD
        and tokens[place + 2].text.upper() == "SAMPLE"
    )


def _cut_sample(scan: Scan, place: int) -> int:
    """Read the `n% SAMPLE` that begins here; return the place after it."""
    token = scan.tokens[place]
    try:
        percent = Decimal(token.text)
    except InvalidOperation:
        # a number that ends in an exponent without digits
        percent = Decimal(0)
    if not 0 < percent <= 100:
        raise ParseError(
            f"a sample is more than 0 and at most 100 per cent, not {token.text}",
            text=scan.text,
            offset=token.start,
        )
    _hang(scan, place, place + 3, SampleSyntax(token.start, percent), scan.samples)
    return place + 3


def _opens_window(tokens: Sequence[Token], place: int) -> bool:
    return (
        place + 1 < len(tokens)
        and tokens[place + 1].token_type not in (TokenType.STRING, TokenType.IDENTIFIER)
        and tokens[place + 1].text.upper() in WINDOW_WORDS
    )


def _is_distinct(tokens: Sequence[Token], place: int) -> bool:
    """Return whether a FROM is that of IS [NOT] DISTINCT FROM, and begins no clause."""
    before = [token.token_type for token in tokens[max(place - 2, 0) : place]]
    return before in ([TokenType.IS, TokenType.DISTINCT], [TokenType.NOT, TokenType.DISTINCT])


def _follows_item(scan: Scan) -> bool:
    """Return whether the next tokens follow an item of FROM."""
    ends = (TokenType.VAR, TokenType.IDENTIFIER, TokenType.R_PAREN)
    return bool(scan.kept) and scan.kept[-1].token_type in ends


def _refuse_bracket(scan: Scan, opening: int) -> None:
    """Refuse a bracket that stands where a window does, and begins as none does.

    Raises:
        ParseError: With the window that may be meant.
    """
    inside = scan.tokens[opening + 1 : opening + 2]
    word = inside[0].text if inside else ""
    found = spelling.meant(word, WINDOW_WORDS)
    raise ParseError(
        "the window is empty" if word in ("", "]") else f"{word} begins no window",
        hint=f"did you mean {found}?" if found else f"windows begin with {', '.join(WINDOW_WORDS)}",
        text=scan.text,
        offset=(inside[0] if inside else scan.tokens[opening]).start,
    )


def _cut_window(scan: Scan, opening: int) -> int:
    """Read the window that opens here; return the place after it."""
    tokens = scan.tokens
    try:
        closing = closing_of(tokens, opening)
    except ParseError as error:
        raise ParseError(
            "the window is never closed", text=scan.text, offset=tokens[opening].start
        ) from error
    window = read_window(scan.text, tokens[opening + 1 : closing], tokens[opening].start)
    _hang(scan, opening, closing + 1, window, scan.windows)
    return closing + 1


_Hung = TypeVar("_Hung", "WindowSyntax", "SampleSyntax")


def _hang(scan: Scan, begin: int, end: int, what: _Hung, into: dict[int, _Hung]) -> None:
    """Note what was cut out under the place of the name that it follows.

    After a parenthesis that is the alias behind it, or one that is made up.
    """
    key = scan.kept[-1].start
    if scan.kept[-1].token_type == TokenType.R_PAREN:
        alias = _alias_from(scan.tokens, end)
        if alias is None:
            alias = token_like(TokenType.VAR, f"_window_{what.offset}", scan.tokens[begin])
            scan.kept.append(alias)
        key = alias.start
    if key in into:
        one = "window" if isinstance(what, WindowSyntax) else "sample"
        raise ParseError(
            f"a second {one} on the same stream", text=scan.text, offset=scan.tokens[begin].start
        )
    into[key] = what


def _alias_from(tokens: Sequence[Token], place: int) -> Token | None:
    """Return the alias that follows here, perhaps after more windows and samples."""
    while place < len(tokens):
        if _is_sample(tokens, place):
            place += 3
        elif tokens[place].token_type == TokenType.L_BRACKET and _opens_window(tokens, place):
            place = closing_of(tokens, place) + 1
        elif tokens[place].token_type == TokenType.ALIAS:
            place += 1
        else:
            named = tokens[place].token_type in (TokenType.VAR, TokenType.IDENTIFIER)
            return tokens[place] if named else None
    return None
