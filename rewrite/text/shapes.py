"""Shapes of queries: the text of a query with its constants cut out.

Two queries have one shape if their texts differ in the constants of comparisons alone. One plan can
then compute both: the constants become a relation, a row for each query, with which the plan joins.

A constant is cut out if it stands alone on one side of a comparison, with a column on the other,
and the comparison is one of the conjuncts of WHERE. All else is part of the shape. It is read from
the tokens: the text of a further query of a known shape need not be parsed.

A query has a shape with constants only if nothing in it may look at rows of several queries at
once: it is one SELECT, without subqueries, set operations, LIMIT, OVER or samples.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.tokens import Token, TokenType

from cqlduck.rewrite.text.tokens import tokenize

ALIAS = "_cql_constants"
"""What the relation of constants is called in the text of a generalized query."""

MEMBER, SINCE = "_cql_member", "_cql_since"
"""Its columns: the number of the member, and the instant after which the member begins."""

MAX_DIGITS = 18
"""How many digits a number has at most that is cut out."""

_CLAUSES = (
    TokenType.FROM,
    TokenType.WHERE,
    TokenType.GROUP_BY,
    TokenType.HAVING,
    TokenType.ORDER_BY,
)
"""The clauses of a SELECT that can be generalized, in their order."""

_UNFIT = frozenset(
    {
        TokenType.UNION,
        TokenType.EXCEPT,
        TokenType.INTERSECT,
        TokenType.LIMIT,
        TokenType.OFFSET,
        TokenType.FETCH,
        TokenType.OVER,
        TokenType.WINDOW,
        TokenType.QUALIFY,
        TokenType.WITH,
        TokenType.VALUES,
        TokenType.TABLE_SAMPLE,
        TokenType.USING,
        TokenType.NATURAL,
        TokenType.PIVOT,
        TokenType.UNPIVOT,
    }
)
"""Tokens of what may look at rows of several queries at once, or gives no place to a column."""

_UNFIT_WORDS = frozenset({"SAMPLE", "COLUMNS", "ROLLUP", "CUBE", "GROUPING", "POSITIONAL", "SETS"})

_COMPARISONS = (
    TokenType.EQ,
    TokenType.NEQ,
    TokenType.LT,
    TokenType.LTE,
    TokenType.GT,
    TokenType.GTE,
)

_NESTING: Mapping[TokenType, int] = {
    TokenType.L_PAREN: 1,
    TokenType.L_BRACKET: 1,
    TokenType.L_BRACE: 1,
    TokenType.CASE: 1,
    TokenType.R_PAREN: -1,
    TokenType.R_BRACKET: -1,
    TokenType.R_BRACE: -1,
    TokenType.END: -1,
}


@dataclass(frozen=True)
class Constant:
    """A constant that is cut out.

    Attributes:
        column: The column that it is compared with, as written: one name or two.
        kind: 'whole' (a number of digits alone), 'decimal' or 'text'.
        scale: How many digits a decimal has behind its point.
        sql: The constant, as SQL.
        start: Where it begins in the text.
        end: Where it ends there.
    """

    column: tuple[str, ...]
    kind: str
    scale: int
    sql: str
    start: int
    end: int


@dataclass(frozen=True)
class Shape:
    """The shape of a query, and what was cut out of its text.

    Attributes:
        text: The query.
        key: Equal for queries of one shape; the constants leave their kind in it.
        words: Equal for queries that say the same.
        constants: What was cut out, in order; nothing where the query cannot be generalized.
        inserted: What is to be inserted in order to generalize it, by place in the text.
        has_operator: Whether a relation-to-stream operator stands in front of the SELECT list.
        list_start: Where the SELECT list begins, and
        list_end: where it ends.
        where_end: Where the condition of WHERE ends.
    """

    text: str
    key: str
    words: str
    constants: tuple[Constant, ...] = ()
    inserted: tuple[tuple[int, str], ...] = ()
    has_operator: bool = False
    list_start: int = 0
    list_end: int = 0
    where_end: int = 0

    def generalized(self, relation: str, since: Sequence[str], now: int | None) -> str:
        """Return the text with a join in the place of the constants.

        Args:
            relation: The name of the relation of constants.
            since: The aliases of the streams of which a window may look back behind the beginning
                of a member; empty if all members begin with the query.
            now: The place behind the name of the one stream, if the query emits its elements:
                it becomes an Rstream over [NOW].
        """
        # what is inserted at one place stands in the order in which it is listed
        inserted = [] if now is None else [(now, " [NOW]"), (self.list_start, "Rstream(")]
        inserted += [(at, text.format(relation=relation)) for at, text in self.inserted]
        for place, constant in enumerate(self.constants):
            inserted.append((constant.start, f"{ALIAS}.{column_of(place)}"))
        inserted += [(self.where_end, f" AND {name}._ts > {ALIAS}.{SINCE}") for name in since]
        if now is not None:
            inserted.append((self.list_end, ")"))
        dropped = {c.start: c.end for c in self.constants}
        parts, at = [], 0
        for place, text in sorted(inserted, key=lambda one: one[0]):
            parts += [self.text[at:place], text]
            at = max(at, dropped.get(place, place))
        return "".join([*parts, self.text[at:]])


def column_of(place: int) -> str:
    """Return the column of a constant, by its place among those of a shape."""
    return f"_cql_{place}"


def shape_of(text: str) -> Shape:
    """Return the shape of a query.

    >>> shape = shape_of("SELECT k FROM s [NOW] WHERE v > 5 AND k = 'a'")
    >>> [constant.sql for constant in shape.constants]
    ['5', "'a'"]
    >>> print(shape.generalized("c", (), None).partition(" WHERE ")[2])
    v > _cql_constants._cql_0 AND k = _cql_constants._cql_1

    Raises:
        ParseError: The text cannot be split into tokens.
    """
    tokens = tokenize(text)
    words = _key(tokens, ())
    clauses = _clauses(tokens)
    if clauses is None or TokenType.WHERE not in clauses:
        return Shape(text, words, words)
    begin, end = clauses[TokenType.WHERE]
    conjuncts = _conjuncts(tokens[begin + 1 : end])
    constants = tuple(found for part in conjuncts for found in _compared(part))
    if not constants:
        return Shape(text, words, words)
    first, is_operator = _list_of(tokens, clauses[TokenType.FROM][0])
    last = clauses[TokenType.FROM][0] - (2 if is_operator else 1)
    return Shape(
        text,
        _key(tokens, constants),
        words,
        constants,
        tuple(_inserted(tokens, clauses, first, last)),
        is_operator,
        tokens[first].start,
        tokens[last].end + 1,
        tokens[end - 1].end + 1,
    )


def _key(tokens: Sequence[Token], constants: Sequence[Constant]) -> str:
    """Return the words of a text, of its constants the kind alone."""
    cut = {c.start: c for c in constants}
    words: list[str] = []
    until = 0
    for token in tokens:
        found = cut.get(token.start)
        if found is not None:
            words.append(f"?{found.kind}{found.scale or ''}")
            until = found.end
        elif token.start >= until:
            words.append(f"{token.token_type.name}:{token.text}")
    return "\n".join(words)


def _clauses(tokens: Sequence[Token]) -> dict[TokenType, tuple[int, int]] | None:
    """Return where the clauses of a SELECT are, by token; None where there is more than one."""
    if not tokens or tokens[0].token_type != TokenType.SELECT:
        return None
    depth, at = 0, []
    for place, token in enumerate(tokens):
        kind = token.token_type
        if kind in _UNFIT or token.text.upper() in _UNFIT_WORDS:
            return None
        if kind == TokenType.SELECT and place:
            return None
        depth += _NESTING.get(kind, 0)
        if depth == 0 and kind in _CLAUSES:
            at.append((kind, place))
    order = [_CLAUSES.index(kind) for kind, _ in at]
    if depth or not at or order[0] or order != sorted(set(order)):
        return None
    ends = [place for _, place in at[1:]] + [len(tokens)]
    return {kind: (place, end) for (kind, place), end in zip(at, ends, strict=True)}


def _conjuncts(tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """Yield the conjuncts of a condition; none if it is no conjunction."""
    depth, begin, between, parts = 0, 0, False, []
    for place, token in enumerate(tokens):
        kind = token.token_type
        depth += _NESTING.get(kind, 0)
        if depth:
            continue
        if kind in (TokenType.OR, TokenType.XOR):
            return
        if kind == TokenType.BETWEEN:
            between = True
        elif kind == TokenType.AND and between:
            between = False
        elif kind == TokenType.AND:
            parts.append(tokens[begin:place])
            begin = place + 1
    yield from (*parts, tokens[begin:])


def _compared(tokens: Sequence[Token]) -> Iterator[Constant]:
    """Yield the constants of a conjunct that compares a column with one, or with two."""
    kinds = [token.token_type for token in tokens]
    signs = [place for place, kind in enumerate(kinds) if kind in _COMPARISONS]
    if TokenType.BETWEEN in kinds:
        begin = kinds.index(TokenType.BETWEEN)
        middle = kinds.index(TokenType.AND) if TokenType.AND in kinds else len(kinds)
        low = _constant(_column(tokens[:begin]), tokens[begin + 1 : middle])
        high = _constant(_column(tokens[:begin]), tokens[middle + 1 :])
        if low is not None and high is not None:
            yield from (low, high)
    elif len(signs) == 1:
        left, right = tokens[: signs[0]], tokens[signs[0] + 1 :]
        found = _constant(_column(left), right) or _constant(_column(right), left)
        if found is not None:
            yield found


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


def _constant(column: tuple[str, ...] | None, tokens: Sequence[Token]) -> Constant | None:
    """Return a constant that is compared with a column, if tokens are one."""
    if column is None:
        return None
    is_negative = len(tokens) == 2 and tokens[0].token_type == TokenType.DASH
    if not (is_negative or len(tokens) == 1):
        return None
    token = tokens[-1]
    start, end = tokens[0].start, token.end + 1
    if token.token_type == TokenType.STRING and not is_negative:
        return Constant(column, "text", 0, exp.Literal.string(token.text).sql("duckdb"), start, end)
    if token.token_type != TokenType.NUMBER:
        return None
    whole, point, behind = token.text.partition(".")
    digits = whole + behind
    if not (digits.isascii() and digits.isdigit()) or len(digits) > MAX_DIGITS or not whole:
        return None
    sign = "-" if is_negative else ""
    kind = "decimal" if point else "whole"
    return Constant(column, kind, len(behind), sign + token.text, start, end)


def _list_of(tokens: Sequence[Token], end: int) -> tuple[int, bool]:
    """Return the first token of the SELECT list, and whether an operator stands around it."""
    first = 1
    if tokens[1].token_type == TokenType.DISTINCT:
        first = 2
    named = tokens[first].text.lower() in ("istream", "dstream", "rstream")
    if named and tokens[first + 1].token_type == TokenType.L_PAREN:
        closing = tokens[end - 1]
        if closing.token_type == TokenType.R_PAREN:
            return first + 2, True
    return first, False


def _inserted(
    tokens: Sequence[Token], clauses: Mapping[TokenType, tuple[int, int]], first: int, last: int
) -> Iterator[tuple[int, str]]:
    """Yield what is inserted: the member into the SELECT list and GROUP BY, the relation."""
    if not _has_star(tokens[first : last + 1]):
        yield tokens[last].end + 1, f", {ALIAS}.{MEMBER}"
    source = clauses[TokenType.FROM]
    yield tokens[source[1] - 1].end + 1, f", {{relation}} AS {ALIAS}"
    if TokenType.GROUP_BY in clauses:
        group, end = clauses[TokenType.GROUP_BY]
        if [t.text.upper() for t in tokens[group + 1 : end]] != ["ALL"]:
            yield tokens[end - 1].end + 1, f", {ALIAS}.{MEMBER}"


def _has_star(tokens: Sequence[Token]) -> bool:
    """Return whether a SELECT list has a `*` for all columns of FROM."""
    depth, is_begin = 0, True
    for token in tokens:
        if depth == 0 and is_begin and token.token_type == TokenType.STAR:
            return True
        is_begin = depth == 0 and token.token_type == TokenType.COMMA
        depth += _NESTING.get(token.token_type, 0)
    return False
