"""The text of a query, parsed to a DuckDB syntax tree to which CQL's parts are attached.

The text is tokenized with sqlglot's stock DuckDB tokenizer. Windows, samples and relation-to-stream
operators are cut out of the list of tokens, which keep their places, so errors point into the
original text. The rest is plain DuckDB SQL and is parsed as such. A window is found again by the
place of the name that it follows (`windows`); a relation-to-stream operator leaves a marker as the
first expression of its SELECT, which is removed later.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TypeVar

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ParseError as SqlglotParseError
from sqlglot.errors import SqlglotError
from sqlglot.tokens import Token, TokenType

from cqlduck.errors import Error, ParseError
from cqlduck.rewrite.text import expressions, spelling
from cqlduck.rewrite.text.reading import restore
from cqlduck.rewrite.text.syntax import Reader, tokenize
from cqlduck.rewrite.text.time import Duration

OPERATORS = ("ISTREAM", "DSTREAM", "RSTREAM")
WINDOW_WORDS = ("RANGE", "ROWS", "NOW", "UNBOUNDED", "PARTITION BY", "HOP", "TUMBLE")
_MARK = "\x00cql:"
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


@dataclass(frozen=True)
class WindowSyntax:
    """A window as it was written; `unbounded` for RANGE and ROWS UNBOUNDED alike."""

    offset: int
    range: Duration | None = None
    rows: int | None = None
    now: bool = False
    unbounded: bool = False
    hop: bool = False
    slide: Duration | None = None
    slide_rows: int | None = None
    partition_by: tuple[tuple[tuple[str, ...], int], ...] = ()
    where: exp.Expr | None = None
    text: str = field(default="", compare=False, repr=False)


@dataclass(frozen=True)
class SampleSyntax:
    """`n% SAMPLE` as it was written."""

    offset: int
    percent: Decimal


@dataclass(frozen=True)
class QuerySyntax:
    """A query: its syntax tree, its windows and samples by the place of the name they follow."""

    text: str
    tree: exp.Query
    windows: dict[int, WindowSyntax]
    samples: dict[int, SampleSyntax]
    mentions_ts: bool


@dataclass
class _Level:
    """What is known between two parentheses."""

    clause: str = ""
    selects: bool = False
    first: bool = True


@dataclass
class _Scan:
    """The pass over the tokens: what is kept, and what was cut out."""

    text: str
    tokens: Sequence[Token]
    kept: list[Token] = field(default_factory=list)
    windows: dict[int, WindowSyntax] = field(default_factory=dict)
    samples: dict[int, SampleSyntax] = field(default_factory=dict)
    inserts: dict[int, list[Token]] = field(default_factory=dict)
    dropped: set[int] = field(default_factory=set)


def parse_query(text: str) -> QuerySyntax:
    """Read a query.

    >>> parse_query("SELECT a FROM s [ROWS 5] x").windows
    {14: WindowSyntax(offset=16, range=None, rows=5, now=False, unbounded=False, hop=False, \
slide=None, slide_rows=None, partition_by=(), where=None)}

    Raises:
        ParseError: With line, column and a caret.
    """
    tokens = tokenize(text)
    scan = _Scan(text, tokens)
    try:
        _operators(scan)
        _windows(scan)
        _pairs(scan)
    except Error as error:
        place = tokens[0].start if tokens else 0
        raise error.at(text, place if error.offset is None else error.offset) from error
    mentions = "_ts" in [t.text.lower() for t in tokens if t.token_type != TokenType.STRING]
    tree = _parse(text, scan.kept)
    return QuerySyntax(text, tree, scan.windows, scan.samples, mentions)


def parse_sql(text: str) -> exp.Query:
    """Read a query of DuckDB's own, without windows.

    Raises:
        ParseError: With line, column and a caret.
    """
    return _parse(text, tokenize(text))


def parse_expression(text: str) -> exp.Expr:
    """Read an expression of DuckDB's own.

    Raises:
        ParseError: With line, column and a caret.
    """
    return _parse_expression(text, tokenize(text))


def take_operator(select: exp.Select) -> str | None:
    """Remove the marker of a relation-to-stream operator; return 'istream', … or None."""
    if select.expressions:
        first = select.expressions[0]
        if isinstance(first, exp.Literal) and first.is_string and first.name.startswith(_MARK):
            select.set("expressions", select.expressions[1:])
            return first.name.removeprefix(_MARK)
    return None


def has_operator(select: exp.Select) -> bool:
    """Return whether a SELECT has a relation-to-stream operator."""
    first = select.expressions[0] if select.expressions else None
    return isinstance(first, exp.Literal) and first.is_string and first.name.startswith(_MARK)


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


def _parse(text: str, tokens: list[Token]) -> exp.Query:
    if not tokens:
        raise ParseError("the query is empty", text=text, offset=0)
    written = expressions.read(text, tokens, _MARK)
    tokens = written.tokens
    try:
        trees = Dialect.get_or_raise("duckdb").parser().parse(tokens, text)
    except SqlglotParseError as error:
        raise _unreadable(text, tokens, error) from error
    except SqlglotError as error:
        raise ParseError("this is not a query", text=text, offset=tokens[0].start) from error
    except RecursionError as error:
        raise ParseError("the query is nested too deeply", text=text, offset=0) from error
    except (AttributeError, TypeError) as error:
        # sqlglot takes `->` without what is right of it for an expression
        raise ParseError("an operator lacks an operand", text=text, offset=0) from error
    tree = trees[0] if len(trees) == 1 else None
    if tree is not None:
        restore(tree, written)
    tree = unwrapped(tree)
    if not isinstance(tree, exp.Query) or isinstance(tree, exp.Table):
        raise ParseError(
            "a continuous query is a SELECT",
            hint="write SELECT … FROM a stream or relation",
            text=text,
            offset=tokens[0].start,
        )
    for join in tree.find_all(exp.Join):
        _check_join(join, text)
        if join.args.get("kind") == "INNER":
            join.set("kind", None)
    return tree


def _unreadable(text: str, tokens: Sequence[Token], error: SqlglotParseError) -> ParseError:
    """Return the error that sqlglot cannot read some tokens, in words of ours."""
    first = error.errors[0] if error.errors else {}
    place = (first.get("line"), first.get("col"))
    # a token's column is that of its end; signs that were put in have those of their neighbours
    found = [token for token in tokens if (token.line, token.col) == place]
    there = [t for t in found if text.startswith(t.text, t.start)]
    wrong = (there or found or [tokens[-1]])[0]
    options = re.search(r"\bwith\s*\(\s*\w+\s*=", text, re.IGNORECASE)
    if options is not None and options.start() <= wrong.start <= options.end():
        return ParseError(
            "options cannot stand here",
            hint="options stand before AS: CREATE CONTINUOUS QUERY name WITH (…) AS SELECT …",
            text=text,
            offset=options.start(),
        )
    meant = spelling.misspelt(tokenize(text), wrong.start)
    if meant is not None:
        token, keyword = meant
        return ParseError(
            f"{token.text} cannot stand here",
            hint=f"did you mean {keyword}?",
            text=text,
            offset=token.start,
        )
    written = text[wrong.start : wrong.end + 1]
    ends = wrong is tokens[-1] and "Expect" in str(first.get("description"))
    return ParseError(
        f"something is missing after {written}" if ends else f"{written} cannot stand here",
        text=text,
        offset=wrong.start,
    )


def _check_join(join: exp.Join, text: str) -> None:
    """Refuse a JOIN that does not say what it joins on, and one that says it where none can be.

    Raises:
        ParseError: With the place of what is joined.
    """
    words = {str(join.args.get(part) or "").upper() for part in ("method", "side", "kind")}
    if words == {""}:
        return  # a comma
    said = [part for part in ("on", "using") if join.args.get(part)]
    free = words & {"NATURAL", "CROSS", "POSITIONAL"}
    if free and said:
        raise ParseError(
            f"{free.pop()} JOIN has no {said[0].upper()}",
            hint="leave it out, or write JOIN … ON",
            text=text,
            offset=place_of(join.this),
        )
    if not free and not said:
        raise ParseError(
            "this JOIN has no condition",
            hint="write JOIN … ON condition or JOIN … USING (columns); or, to pair each row with "
            "each, CROSS JOIN",
            text=text,
            offset=place_of(join.this),
        )


def _token(kind: TokenType, text: str, like: Token) -> Token:
    return Token(kind, text, like.line, like.col, like.start, like.start)


def _closing(tokens: Sequence[Token], opening: int) -> int:
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


def _pairs(scan: _Scan) -> None:
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


def _operators(scan: _Scan) -> None:
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
            closing = _closing(tokens, place + 1)
        except ParseError as error:
            raise ParseError(
                f"the parenthesis after {token.text} is never closed",
                text=scan.text,
                offset=tokens[place + 1].start,
            ) from error
        mark = [
            _token(TokenType.STRING, _MARK + word.lower(), token),
            _token(TokenType.COMMA, ",", token),
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


def _around_query(scan: _Scan, place: int, closing: int, mark: list[Token]) -> None:
    """`Istream(Q)` becomes `(SELECT <mark>, * FROM (Q))`."""
    token = scan.tokens[place]
    scan.dropped.add(place)
    scan.inserts.setdefault(place + 1, []).extend(
        [
            _token(TokenType.L_PAREN, "(", token),
            _token(TokenType.SELECT, "SELECT", token),
            *mark,
            _token(TokenType.STAR, "*", token),
            _token(TokenType.FROM, "FROM", token),
        ]
    )
    scan.inserts.setdefault(closing + 1, []).append(
        _token(TokenType.R_PAREN, ")", scan.tokens[closing])
    )


def _in_select(scan: _Scan, place: int, closing: int, mark: list[Token]) -> None:
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
            first = _closing(tokens, first + 1) + 1
    scan.inserts.setdefault(first, []).extend(mark)


def _windows(scan: _Scan) -> None:
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
                scan.kept.append(_token(TokenType.INNER, "INNER", token))
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


def _cut_sample(scan: _Scan, place: int) -> int:
    """Read the `n% SAMPLE` that begins here; return the place after it."""
    token = scan.tokens[place]
    percent = Decimal(token.text)
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


def _follows_item(scan: _Scan) -> bool:
    """Return whether the next tokens follow an item of FROM."""
    ends = (TokenType.VAR, TokenType.IDENTIFIER, TokenType.R_PAREN)
    return bool(scan.kept) and scan.kept[-1].token_type in ends


def _refuse_bracket(scan: _Scan, opening: int) -> None:
    """Refuse a bracket that stands where a window does, and begins as none does.

    Raises:
        ParseError: With the window that may be meant.
    """
    inside = scan.tokens[opening + 1 : opening + 2]
    word = inside[0].text if inside else ""
    found = spelling.meant(word, WINDOW_WORDS)
    raise ParseError(
        f"{word or 'nothing'} begins no window",
        hint=f"did you mean {found}?" if found else f"windows begin with {', '.join(WINDOW_WORDS)}",
        text=scan.text,
        offset=(inside[0] if inside else scan.tokens[opening]).start,
    )


def _cut_window(scan: _Scan, opening: int) -> int:
    """Read the window that opens here; return the place after it."""
    tokens = scan.tokens
    try:
        closing = _closing(tokens, opening)
    except ParseError as error:
        raise ParseError(
            "the window is never closed", text=scan.text, offset=tokens[opening].start
        ) from error
    window = _read_window(scan.text, tokens[opening + 1 : closing], tokens[opening].start)
    _hang(scan, opening, closing + 1, window, scan.windows)
    return closing + 1


_Hung = TypeVar("_Hung", "WindowSyntax", "SampleSyntax")


def _hang(scan: _Scan, begin: int, end: int, what: _Hung, into: dict[int, _Hung]) -> None:
    """Note what was cut out under the place of the name that it follows.

    After a parenthesis that is the alias behind it, or one that is made up.
    """
    key = scan.kept[-1].start
    if scan.kept[-1].token_type == TokenType.R_PAREN:
        alias = _alias_from(scan.tokens, end)
        if alias is None:
            alias = _token(TokenType.VAR, f"_window_{what.offset}", scan.tokens[begin])
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
            place = _closing(tokens, place) + 1
        elif tokens[place].token_type == TokenType.ALIAS:
            place += 1
        else:
            named = tokens[place].token_type in (TokenType.VAR, TokenType.IDENTIFIER)
            return tokens[place] if named else None
    return None


def _read_window(text: str, tokens: Sequence[Token], offset: int) -> WindowSyntax:
    reader = Reader(text, tokens)
    try:
        return _window(reader, offset)
    except Error as error:
        raise error.at(text, offset) from error


_STOPS = ("PRECEDING", "SLIDE", "WHERE", "EVERY", "ROWS", "RANGE")


def _window(reader: Reader, offset: int) -> WindowSyntax:
    parts: dict[str, object] = {}
    slides = True
    if reader.accept("NOW"):
        parts["now"], slides = True, False
    elif reader.accept("UNBOUNDED"):
        parts["unbounded"] = True
    elif reader.accept("HOP"):
        parts |= {"hop": True, "range": reader.duration(_STOPS)}
        reader.expect("EVERY")
        parts["slide"] = reader.duration(_STOPS)
    elif reader.accept("TUMBLE"):
        width = reader.duration(_STOPS)
        parts |= {"hop": True, "range": width, "slide": width}
    else:
        if reader.accept("PARTITION", "BY"):
            parts["partition_by"] = _partition(reader)
        while not reader.done:
            if reader.accept("ROWS"):
                if reader.accept("UNBOUNDED"):
                    parts["unbounded"], slides = True, False
                else:
                    parts["rows"] = _count(reader, "ROWS")
            elif reader.accept("RANGE"):
                if reader.accept("UNBOUNDED"):
                    parts["unbounded"] = True
                else:
                    parts["range"] = reader.duration(_STOPS)
            else:
                break
            reader.accept("PRECEDING")
    reader.accept("PRECEDING")
    if reader.accept("SLIDE"):
        if not slides:
            reader.fail("SLIDE needs a range or a number of rows before it")
        if "rows" in parts and "range" not in parts:
            parts["slide_rows"] = _count(reader, "SLIDE")
        else:
            parts["slide"] = reader.duration(_STOPS)
    if reader.accept("WHERE"):
        parts["where"] = _condition(reader)
    reader.end()
    if "partition_by" in parts and "rows" not in parts:
        reader.fail("PARTITION BY needs ROWS", "as in [PARTITION BY a ROWS 10]")
    if "rows" in parts and "range" in parts and "partition_by" not in parts:
        reader.fail("ROWS and RANGE together need PARTITION BY")
    parts["text"] = reader.text[offset : reader.tokens[-1].end + 1] if reader.tokens else ""
    return WindowSyntax(offset, **parts)  # type: ignore[arg-type]  # keys are the fields' names


def _count(reader: Reader, word: str) -> int:
    at = reader.offset
    number = reader.word()
    while number.isdigit() and reader.accept(","):
        # thousands, as in [ROWS 10,000]
        number += _three_digits(reader, word)
    if not number.isdigit() or not 1 <= int(number) < 2**31:
        raise ParseError(f"{word} needs a whole number of at least 1, not {number}").at(
            reader.text, at
        )
    return int(number)


def _three_digits(reader: Reader, word: str) -> str:
    at = reader.offset
    digits = reader.word()
    if len(digits) != 3 or not digits.isdigit():
        raise ParseError(
            f"{word} needs a whole number, and its thousands have three digits, not {digits}"
        ).at(reader.text, at)
    return digits


def _partition(reader: Reader) -> tuple[tuple[tuple[str, ...], int], ...]:
    names = []
    while True:
        at = reader.offset
        names.append((reader.names(), at))
        if not reader.accept(","):
            return tuple(names)


def _condition(reader: Reader) -> exp.Expr:
    rest = reader.tokens[reader.position :]
    if not rest:
        reader.fail("the condition after WHERE is missing")
    condition = _parse_expression(reader.text, rest)
    reader.position = len(reader.tokens)
    if not isinstance(condition, (exp.Condition, exp.Subquery)):
        raise ParseError("WHERE in a window needs one condition, and ends it").at(
            reader.text, rest[0].start
        )
    return condition


def _parse_expression(text: str, tokens: Sequence[Token]) -> exp.Expr:
    """Read tokens that are one expression, as the list of a SELECT."""
    tree = _parse(text, [_token(TokenType.SELECT, "SELECT", tokens[0]), *tokens])
    others = [part for part, value in tree.args.items() if value and part != "expressions"]
    if others or len(tree.expressions) != 1:
        raise ParseError("one expression is expected here").at(text, tokens[0].start)
    expression: exp.Expr = tree.expressions[0]
    expression.pop()
    return expression
