"""Shapes of queries: the text of a query with its constants cut out.

Two queries have one shape if their texts differ in constants alone. One plan can then compute both:
the constants become a relation, a row for each query, with which the plan joins.

What is cut out is in `constants`; all else is part of the shape. A text has several shapes: where
the first cannot be generalized, or no other query has it, the next one may do. They are read from
the tokens: the text of a further query of a known shape need not be parsed.

Of a stem the SELECT list is cut out too. One plan can compute queries of one stem if it has the
columns of all (`registration.stems`).

A query has a shape with constants only if nothing in it may look at rows of several queries at
once: it is one SELECT, without subqueries, set operations, LIMIT, OVER or samples.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from sqlglot import exp
from sqlglot.tokens import Token, TokenType

from cqlduck.rewrite.text.constants import (
    NESTING,
    Constant,
    compared,
    conjuncts,
    listed,
    nested,
    ranged,
)
from cqlduck.rewrite.text.tokens import tokenize

ALIAS = "_cql_constants"
"""What the relation of constants is called in the text of a generalized query."""

MEMBER, SINCE = "_cql_member", "_cql_since"
"""Its columns: the number of the member, and the instant after which the member begins."""

WIDTH = "_cql_width"
"""The column of a window of several lengths that has these."""

_CLAUSES = (
    TokenType.FROM,
    TokenType.WHERE,
    TokenType.GROUP_BY,
    TokenType.HAVING,
    TokenType.ORDER_BY,
)
"""The clauses of a SELECT that can be generalized, in their order."""

_COMPARING: tuple[tuple[TokenType, Literal["where", "having"]], ...] = (
    (TokenType.WHERE, "where"),
    (TokenType.HAVING, "having"),
)
"""The clauses of which constants are cut out beside comparisons."""

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


@dataclass(frozen=True)
class Shape:
    """The shape of a query, and what was cut out of its text.

    Attributes:
        text: The query.
        key: Equal for queries of one shape; the constants leave their kind in it.
        words: Equal for queries that say the same.
        listed: The words of the SELECT list; nothing where the query cannot be generalized.
        constants: What was cut out, in order; nothing where the query cannot be generalized.
        relation_at: Behind FROM: where the relation of constants is inserted.
        list_start: Where the SELECT list begins, and
        list_end: where it ends.
        has_star: Whether the SELECT list has all columns of FROM, the member among them.
        has_operator: Whether a relation-to-stream operator stands in front of the SELECT list.
        where_end: Where the condition of WHERE ends; None without one.
        either_at: Where that begins, if it is no conjunction: it has to stand in parentheses.
        group_end: Where the keys of GROUP BY end; None without them.
        by_all: Whether these are ALL.
    """

    text: str
    key: str
    words: str
    listed: str = ""
    constants: tuple[Constant, ...] = ()
    relation_at: int = 0
    list_start: int = 0
    list_end: int = 0
    has_star: bool = False
    has_operator: bool = False
    where_end: int | None = None
    either_at: int | None = None
    group_end: int | None = None
    by_all: bool = False

    @property
    def with_list(self) -> str:
        """The key, with the SELECT list also if it is that of a stem."""
        return f"{self.key}\n{self.listed}" if is_stem(self.key) else self.key

    def ends(self, key: str) -> bool:
        """Return whether a key of a shape may be that of a query of this stem."""
        return key.endswith(self.key.split("\n", 2)[2])

    def generalized(
        self, relation: str, since: Sequence[str], now: int | None, *, is_global: bool
    ) -> str:
        """Return the text with a join in the place of the constants.

        Args:
            relation: The name of the relation of constants.
            since: The aliases of the streams of which a window may look back behind the beginning
                of a member; empty if all members begin with the query.
            now: The place behind the name of the one stream, if the query emits its elements:
                it becomes an Rstream over [NOW].
            is_global: Whether it is a global aggregate; it gets a group for each member.
        """
        # what is inserted at one place stands in the order in which it is listed
        inserted = [] if now is None else [(now, " [NOW]"), (self.list_start, "Rstream(")]
        if not self.has_star:
            inserted.append((self.list_end, f", {ALIAS}.{MEMBER}"))
        inserted.append((self.relation_at, f", {relation} AS {ALIAS}"))
        conditions = [f"{name}._ts > {ALIAS}.{SINCE}" for name in since]
        for place, constant in enumerate(self.constants):
            column = column_of(place)
            if constant.place == "window":
                inserted.append((constant.start, f"{constant.limit} OF {relation}.{column}"))
                item = exp.to_identifier(constant.column[0], quoted=True).sql("duckdb")
                conditions.append(f"{item}.{WIDTH} = {ALIAS}.{column}")
            else:
                inserted.append((constant.start, f"{ALIAS}.{column}"))
        if conditions and self.where_end is None:
            inserted += [
                (self.relation_at, " WHERE "),
                (self.relation_at, " AND ".join(conditions)),
            ]
        elif self.where_end is not None:
            if conditions and self.either_at is not None:
                # in front of a constant that may stand there
                inserted = [(self.either_at, "("), *inserted, (self.where_end, ")")]
            inserted += [(self.where_end, f" AND {condition}") for condition in conditions]
        keys = ", ".join(self._keys())
        if is_global:
            behind = self.relation_at if self.where_end is None else self.where_end
            inserted += [(behind, " GROUP BY "), (behind, keys)]
        elif self.group_end is not None and not self.by_all:
            inserted.append((self.group_end, f", {keys}"))
        if now is not None:
            inserted.append((self.list_end, ")"))
        dropped = {c.start: c.end for c in self.constants}
        parts, at = [], 0
        for place, text in sorted(inserted, key=lambda one: one[0]):
            parts += [self.text[at:place], text]
            at = max(at, dropped.get(place, place))
        return "".join([*parts, self.text[at:]])

    def _keys(self) -> Iterator[str]:
        """Yield what groups get as keys: the member, and constants that are read above them."""
        yield f"{ALIAS}.{MEMBER}"
        for place, constant in enumerate(self.constants):
            if constant.place in ("having", "listed"):
                yield f"{ALIAS}.{column_of(place)}"


def column_of(place: int) -> str:
    """Return the column of a constant, by its place among those of a shape."""
    return f"_cql_{place}"


def shapes_of(text: str) -> tuple[Shape, ...]:
    """Return the shapes of a query: the better ones first, if other queries have them.

    They have all constants that are conjuncts or listed; those beside columns; none; the ranges of
    windows too, which cost a join; and the first and the last of these besides the constants inside
    of conjuncts, for which all pairs meet.

    >>> text = "SELECT 7 AS n, k FROM s [RANGE 60] WHERE v > 5 AND k = 'a'"
    >>> most, plain, equal, ranged = shapes_of(text)
    >>> [constant.sql for constant in most.constants]
    ['7', '5', "'a'"]
    >>> [constant.sql for constant in plain.constants]
    ['5', "'a'"]
    >>> equal.key == equal.words
    True
    >>> [constant.sql for constant in ranged.constants]
    ['7', '60', '5', "'a'"]
    >>> print(plain.generalized("c", (), None, is_global=False).partition(" WHERE ")[2])
    v > _cql_constants._cql_0 AND k = _cql_constants._cql_1

    Raises:
        ParseError: The text cannot be split into tokens.
    """
    found = _constants(text)
    if isinstance(found, Shape):
        return (found,)
    shapes: dict[str, Shape] = {}
    for some in found.choices:
        constants = sorted(some, key=lambda one: one.start)
        key = _key(found.tokens, constants)
        shapes.setdefault(key, replace(found.shape, key=key, constants=tuple(constants)))
    return tuple(shapes.values())


def stems_of(text: str) -> tuple[Shape, ...]:
    """Return the stems of a query: its shapes without the SELECT list, the better ones first.

    A query that shows a constant has none, as each constant would be another list; nor has one with
    DISTINCT or ORDER BY, as these are about what is shown.

    >>> one, *_ = stems_of("SELECT k, v FROM s [RANGE 60] WHERE v > 5")
    >>> other, *_ = stems_of("SELECT k FROM s [RANGE 60] WHERE v > 6")
    >>> one.key == other.key, one.listed == other.listed
    (True, False)

    Raises:
        ParseError: The text cannot be split into tokens.
    """
    found = _constants(text)
    if isinstance(found, Shape) or found.has_listed or found.is_about_list:
        return ()
    begin = found.from_place
    stems: dict[str, Shape] = {}
    for some in found.choices:
        constants = sorted(some, key=lambda one: one.start)
        key = "\n".join([_STEM, found.operator, _key(found.tokens[begin:], constants)])
        if constants:
            stems.setdefault(key, replace(found.shape, key=key, constants=tuple(constants)))
    return tuple(stems.values())


_STEM = "stem"
"""The first word of the key of a stem: no text has it."""


def is_stem(key: str) -> bool:
    """Return whether a key is that of a stem."""
    return key.startswith(f"{_STEM}\n")


@dataclass(frozen=True)
class _Found:
    """What can be cut out of a text.

    Attributes:
        tokens: Its tokens.
        shape: Its shape without constants.
        choices: Which constants are cut out, the better choices first.
        has_listed: Whether some of them are listed.
        is_about_list: Whether another clause than the SELECT list is about what that one shows.
        operator: The relation-to-stream operator in front of the list, in lower case, or nothing.
        from_place: The place of FROM among the tokens.
    """

    tokens: Sequence[Token]
    shape: Shape
    choices: Sequence[Sequence[Constant]]
    has_listed: bool
    is_about_list: bool
    operator: str
    from_place: int


def _constants(text: str) -> _Found | Shape:
    """Return what can be cut out of a text; its one shape if nothing can."""
    tokens = tokenize(text)
    words, clauses = _key(tokens, ()), _clauses(tokens)
    if clauses is None or TokenType.FROM not in clauses:
        return Shape(text, words, words)
    begin, end = clauses[TokenType.FROM]
    first, is_operator = _list_of(tokens, begin)
    last = begin - (2 if is_operator else 1)
    items = tokens[first : last + 1]
    shown, ranges, inside = [*listed(items)], [*ranged(tokens[begin + 1 : end])], list[Constant]()
    found = [*shown]
    for clause, place in _COMPARING:
        if clause in clauses:
            there = tokens[clauses[clause][0] + 1 : clauses[clause][1]]
            found += compared(there, place)
            inside += nested(there, place)
    ends = {kind: tokens[end - 1].end + 1 for kind, (_, end) in clauses.items()}
    plain = Shape(
        text,
        words,
        words,
        _key(items, ()),
        (),
        ends[TokenType.FROM],
        tokens[first].start,
        tokens[last].end + 1,
        _has_star(items),
        is_operator,
        ends.get(TokenType.WHERE),
        _either_at(tokens, clauses),
        ends.get(TokenType.GROUP_BY),
        _is_by_all(tokens, clauses),
    )
    beside_columns, more = [c for c in found if c.place == "column"], [*found, *ranges]
    none: list[Constant] = []
    choices = found, beside_columns, none, more, [*found, *inside], [*more, *inside]
    is_distinct = tokens[1].token_type == TokenType.DISTINCT
    return _Found(
        tokens,
        plain,
        choices,
        bool(shown),
        is_distinct or TokenType.ORDER_BY in clauses,
        tokens[1].text.lower() if is_operator else "",
        begin,
    )


def without_literals(text: str) -> str:
    """Return the words of a text without any number or text in it, wherever it stands.

    >>> without_literals("SELECT 1 FROM s LIMIT 3") == without_literals("SELECT 2 FROM s LIMIT 4")
    True
    """
    literals = (TokenType.NUMBER, TokenType.STRING)
    return "\n".join(
        "?" if token.token_type in literals else _word(token) for token in tokenize(text)
    )


def shape_of(text: str, key: str) -> Shape:
    """Return the shape or stem of a query that has a key; if none has, that without constants."""
    those = stems_of(text) if is_stem(key) else shapes_of(text)
    shapes = {shape.key: shape for shape in those}
    return shapes.get(key) or next(one for one in shapes_of(text) if not one.constants)


def _key(tokens: Sequence[Token], constants: Sequence[Constant]) -> str:
    """Return the words of a text, of its constants the kind alone."""
    cut = {c.start: c for c in constants}
    words: list[str] = []
    until = 0
    for token in tokens:
        found = cut.get(token.start)
        if found is not None:
            words.append(found.key)
            until = found.end
        elif token.start >= until:
            words.append(_word(token))
    return "\n".join(words)


def _word(token: Token) -> str:
    """Return the type and the text of a token; no line of it but the first begins as another."""
    text = token.text.replace("\n", "\n ")
    return f"{token.token_type.name}:{text}"


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
        depth += NESTING.get(kind, 0)
        if depth == 0 and kind in _CLAUSES:
            at.append((kind, place))
    order = [_CLAUSES.index(kind) for kind, _ in at]
    if depth or not at or order[0] or order != sorted(set(order)):
        return None
    ends = [place for _, place in at[1:]] + [len(tokens)]
    return {kind: (place, end) for (kind, place), end in zip(at, ends, strict=True)}


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


def _either_at(tokens: Sequence[Token], clauses: Mapping[TokenType, tuple[int, int]]) -> int | None:
    """Return where the condition of WHERE begins, if it is no conjunction."""
    begin, end = clauses.get(TokenType.WHERE, (0, 0))
    inside = tokens[begin + 1 : end]
    return None if not inside or list(conjuncts(inside)) else inside[0].start


def _is_by_all(tokens: Sequence[Token], clauses: Mapping[TokenType, tuple[int, int]]) -> bool:
    """Return whether a SELECT has GROUP BY ALL."""
    begin, end = clauses.get(TokenType.GROUP_BY, (0, 0))
    return [token.text.upper() for token in tokens[begin + 1 : end]] == ["ALL"]


def _has_star(tokens: Sequence[Token]) -> bool:
    """Return whether a SELECT list has a `*` for all columns of FROM."""
    depth, is_begin = 0, True
    for token in tokens:
        if depth == 0 and is_begin and token.token_type == TokenType.STAR:
            return True
        is_begin = depth == 0 and token.token_type == TokenType.COMMA
        depth += NESTING.get(token.token_type, 0)
    return False
