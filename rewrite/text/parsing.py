"""Tokens without CQL, parsed to a DuckDB syntax tree."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import ParseError as SqlglotParseError
from sqlglot.errors import SqlglotError
from sqlglot.tokens import Token, TokenType

from cqlduck.errors import ParseError
from cqlduck.rewrite.text import expressions, spelling
from cqlduck.rewrite.text.habits import habit
from cqlduck.rewrite.text.parsed import MARK, place_of, unwrapped, words_of
from cqlduck.rewrite.text.pivots import stand_on_joins
from cqlduck.rewrite.text.reading import restore
from cqlduck.rewrite.text.tokens import token_like, tokenize

_PIVOTS = {TokenType.PIVOT, TokenType.UNPIVOT}
_STATEMENTS = ({*DuckDB.parser_class.STATEMENT_PARSERS} | DuckDB.tokenizer_class.COMMANDS) - _PIVOTS
"""The tokens with which statements begin that are no query. Sqlglot warns of some in the log."""


_BEFORE_ITEMS = {
    *(TokenType.COMMA, TokenType.SELECT, TokenType.DISTINCT, TokenType.FROM, TokenType.WHERE),
    *(TokenType.GROUP_BY, TokenType.ORDER_BY, TokenType.HAVING),
    *(TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE),
}
"""Behind these an item of a list begins."""


def parse_sql(text: str) -> exp.Query:
    """Read a query of DuckDB's own, without windows.

    Raises:
        ParseError: With line, column and a caret.
    """
    return parse_tokens(text, tokenize(text))


def parse_expression(text: str) -> exp.Expr:
    """Read an expression of DuckDB's own.

    Raises:
        ParseError: With line, column and a caret.
    """
    return expression_of(text, tokenize(text))


def _refuse_empty_items(text: str, tokens: list[Token]) -> None:
    """Refuse a comma with nothing before it, which sqlglot passes over and DuckDB does not.

    Raises:
        ParseError: There is one.
    """
    for before, token in pairwise(tokens):
        if token.token_type == TokenType.COMMA and before.token_type in _BEFORE_ITEMS:
            raise ParseError(
                "there is nothing before the comma",
                hint="leave it out",
                text=text,
                offset=token.start,
            )


def parse_tokens(text: str, tokens: list[Token]) -> exp.Query:
    """Return the query of a list of tokens; the text gives errors their place."""
    if not tokens:
        raise ParseError("the query is empty", text=text, offset=0)
    if tokens[0].token_type in _STATEMENTS:
        raise _no_query(text, tokens[0])
    _refuse_empty_items(text, tokens)
    written = expressions.read(text, tokens, MARK)
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
        raise _no_query(text, tokens[0], is_pivot=isinstance(tree, exp.Pivot))
    stand_on_joins(tree)
    for combined in tree.find_all(exp.Except, exp.Intersect):
        if combined.args.get("by_name"):
            raise ParseError(
                f"{combined.key.upper()} has no BY NAME",
                hint="list the columns of both sides in one order",
                text=text,
                offset=place_of(combined.expression),
            )
    _check_stars(tree, text)
    for join in tree.find_all(exp.Join):
        _check_join(join, text)
        if join.args.get("kind") == "INNER":
            join.set("kind", None)
    return tree


def _no_query(text: str, first: Token, *, is_pivot: bool = False) -> ParseError:
    """Return the error that a text is no query."""
    word = first.text.upper()
    is_pivot = is_pivot and word in ("PIVOT", "UNPIVOT")
    return ParseError(
        "a continuous query is a SELECT",
        hint=f"write SELECT … FROM {f'({word} …)' if is_pivot else 'a stream or relation'}",
        text=text,
        offset=first.start,
    )


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
    written = text[wrong.start : wrong.end + 1]
    instead = habit(text, wrong.start)
    meant = spelling.misspelt(tokenize(text), wrong.start)
    if meant is not None and instead is None:
        token, keyword = meant
        return ParseError(
            f"{token.text} cannot stand here",
            hint=f"did you mean {keyword}?",
            text=text,
            offset=token.start,
        )
    ends = wrong is tokens[-1] and "Expect" in str(first.get("description"))
    return ParseError(
        f"something is missing after {written}" if ends else f"{written} cannot stand here",
        hint=instead,
        text=text,
        offset=wrong.start,
    )


def _check_stars(tree: exp.Query, text: str) -> None:
    """Read `count((*))` as `count(*)`, and refuse RENAME without a name and another one.

    Raises:
        ParseError: With the place of the name.
    """
    for star in list(tree.find_all(exp.Star)):
        for part in star.args.get("rename") or []:
            if not (isinstance(part, exp.Alias) and isinstance(part.this, exp.Expr) and part.alias):
                raise ParseError(
                    "RENAME takes names and others for them",
                    hint="as in * RENAME (a AS b)",
                    text=text,
                    offset=place_of(star) or place_of(tree) or 0,
                )
        around: exp.Expr = star
        while isinstance(around.parent, exp.Paren):
            around = around.parent
        if around is not star and isinstance(around.parent, exp.Count):
            around.replace(star)


def _check_join(join: exp.Join, text: str) -> None:
    """Refuse a JOIN that does not say what it joins on, and one that says it where none can be.

    Raises:
        ParseError: With the place of what is joined.
    """
    words = words_of(join)
    if not words:
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


def expression_of(text: str, tokens: Sequence[Token]) -> exp.Expr:
    """Read tokens that are one expression, as the list of a SELECT."""
    tree = parse_tokens(text, [token_like(TokenType.SELECT, "SELECT", tokens[0]), *tokens])
    others = [part for part, value in tree.args.items() if value and part != "expressions"]
    if others or len(tree.expressions) != 1:
        raise ParseError("one expression is expected here").at(text, tokens[0].start)
    expression: exp.Expr = tree.expressions[0]
    expression.pop()
    return expression
