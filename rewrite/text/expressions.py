"""Expressions in tokens that sqlglot reads with DuckDB's meaning.

sqlglot reads many functions and operators as nodes of its own, and writes them with another
meaning: arguments are lost, types differ, operators group otherwise. This pass over the tokens of a
query, before sqlglot parses them, prevents that:

* A call gets a name that sqlglot does not know (`mark`), so it becomes an `exp.Anonymous` with the
  arguments unchanged; `reading.restore` restores the name. Only functions that rules look for are
  read as nodes of sqlglot.
* Operators are grouped by DuckDB's grammar (`precedence`). Where sqlglot groups otherwise, the
  grouping is written as parentheses; an operator that sqlglot would misread is written as a call.
* Special forms become the calls that DuckDB makes of them: `extract(year FROM d)` is
  `date_part('year', d)`, `x AT TIME ZONE z` is `timezone(z, x)`.

DuckDB's meaning of the tokens does not change; tests compare both, for all of its functions and for
all pairs of operators. Tokens keep their places, so errors point into the original text.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot.tokens import Token, TokenType

from cqlduck.errors import ParseError
from cqlduck.rewrite.text.cursor import Part, call, made, wrapped
from cqlduck.rewrite.text.operands import Operands
from cqlduck.rewrite.text.precedence import (
    AND,
    ARROW,
    ATOM,
    COLLATE,
    COMPARISON,
    DISTINCT_FROM,
    IS,
    MATCH,
    NOT,
    OR,
    OTHER,
    PREFIXES,
    SIGN,
    SYMBOLS,
    ZONE,
    Operator,
)
from cqlduck.rewrite.text.reading import LIST, Reading

_LIST_ENDS = frozenset(
    {TokenType.FROM, TokenType.WHERE, TokenType.GROUP_BY, TokenType.HAVING, TokenType.ORDER_BY,
     TokenType.LIMIT, TokenType.OFFSET, TokenType.QUALIFY, TokenType.WINDOW, TokenType.UNION,
     TokenType.EXCEPT, TokenType.INTERSECT, TokenType.USING}
)  # fmt: skip


def read(text: str, tokens: Sequence[Token], marker: str) -> Reading:
    """Return the tokens of a query with its expressions as sqlglot reads them right.

    Args:
        text: The text that the tokens are of.
        tokens: The tokens; parentheses and brackets are in pairs.
        marker: What a string begins with that is no item of a SELECT list.

    Raises:
        ParseError: Comparisons in a chain, or an operator without an operand.
    """
    reader = _Expressions(text, tokens, marker)
    return Reading(text, reader.sequence(len(tokens)), reader.lists)


class _Expressions(Operands):
    """Writes the tokens of a query anew."""

    def __init__(self, text: str, tokens: Sequence[Token], marker: str) -> None:
        super().__init__(text, tokens)
        self.marker = marker
        self.lists: list[list[str]] = []

    # -- sequences: what stands between parentheses, or all of it ----------------------------------

    def sequence(self, end: int) -> list[Token]:
        """Write what there is up to a place: expressions, and the words and signs between them."""
        written: list[Token] = []
        while self.place < end:
            kind = self.given[self.place].token_type
            if kind == TokenType.SELECT:
                written += self.select(end)
            elif kind == TokenType.FOR and self.place:
                written += self.comprehension(end)
            elif kind == TokenType.UNPIVOT:
                written.append(self.advance())
                if self.words("INCLUDE", "NULLS") or self.words("EXCLUDE", "NULLS"):
                    written += [self.advance(), self.advance()]
            elif self.begins_operand():
                written += self.expression().tokens
            else:
                written.append(self.advance())
        return written

    def comprehension(self, end: int) -> list[Token]:
        """`FOR x, i IN l IF …` inside a list: this IN is no operator, and IF no function."""
        written = [self.advance()]
        while self.place < end and self.kind() != TokenType.IN:
            written.append(self.advance())
        if self.place < end:
            written.append(self.advance())
        while self.place < end:
            if self.words("IF"):
                written.append(self.advance())
            elif self.begins_operand():
                written += self.expression().tokens
            else:
                written.append(self.advance())
        return written

    def select(self, end: int) -> list[Token]:
        """Write SELECT and its list, with a marker that tells how the items were written."""
        select = self.advance()
        written = [select]
        if self.kind() == TokenType.ALL:
            written.append(self.advance())
        if self.kind() == TokenType.DISTINCT:
            written.append(self.advance())
            if self.kind() == TokenType.ON and self.kind(1) == TokenType.L_PAREN:
                written += [self.advance(), *self.group()]
        if self.place >= end or self.kind() in _LIST_ENDS:
            return written
        items: list[str] = []
        mark = made(TokenType.STRING, f"{LIST}{len(self.lists)}", select)
        written += [mark, made(TokenType.COMMA, ",", select)]
        self.lists.append(items)
        first = self.place
        while self.place < end and (kind := self.given[self.place].token_type) not in _LIST_ENDS:
            if kind == TokenType.COMMA:
                self.note(items, first)
                first = self.place + 1
                written.append(self.advance())
            elif self.begins_operand():
                written += self.expression().tokens
            else:
                written.append(self.advance())
        self.note(items, first)
        return written

    def note(self, items: list[str], first: int) -> None:
        """Note the text of an item of a SELECT list that ends here."""
        if first < self.place and not self.given[first].text.startswith(self.marker):
            start, end = self.given[first].start, self.given[self.place - 1].end
            items.append(self.text[start : end + 1])

    # -- operators ---------------------------------------------------------------------------------

    def expression(self, least: int = ARROW) -> Part:
        """Write an expression of operators that bind at least so tightly."""
        left = self.prefixed()
        while True:
            following = self.following(left, least)
            if following is None:
                return left
            left = following

    def prefixed(self) -> Part:
        if self.word() == "NOT":
            token = self.advance()
            return Part([token, *self.operand(NOT, token).under(NOT)], NOT)
        sign = self.symbol()
        level = PREFIXES.get(sign)
        if level is None or (sign == "!" and not self.begins_operand()):
            return self.primary()
        token = self.skip(sign)
        if sign == "-" and self.kind() in (TokenType.COLON, TokenType.R_BRACKET):
            return Part([token])  # the open end of a slice, as in l[1:-:2]
        inner = self.operand(level, token)
        if sign == "-":
            return Part([token, *inner.under(SIGN)], SIGN)
        if sign == "~":
            return Part([token, *inner.under(ATOM)], SIGN)
        return Part(call(sign, token, [inner.tokens], quoted=True))

    def operand(self, least: int, after: Token) -> Part:
        """Write the operand that has to follow an operator."""
        if not self.begins_operand():
            raise self.lacking(after)
        return self.expression(least)

    def operand_name(self, after: Token) -> Token:
        """Step over the name that has to follow a word."""
        if self.token() is None:
            raise self.lacking(after)
        return self.advance()

    def lacking(self, after: Token) -> ParseError:
        """Return the error that something has no operand."""
        return ParseError(
            f"what {after.text.upper()} applies to is missing",
            text=self.text,
            offset=after.start,
        )

    def following(self, left: Part, least: int) -> Part | None:
        """Write an operator that follows an operand, with its other operand, or return None."""
        if self.kind() == TokenType.DCOLON:
            # behind a test, as in a IS NULL::INTEGER
            return Part([*wrapped(left.tokens), self.advance(), *self.type_()])
        sign = self.symbol()
        if sign in SYMBOLS and not self.is_percent(sign):
            operator = SYMBOLS[sign]
            if operator.level < least:
                return None
            return self.binary(left, operator, sign)
        for reading in _BEHIND.get(self.word(), ()):
            found: Part | None = reading(self, left, least)
            if found is not None:
                return found
        return None

    def is_percent(self, sign: str) -> bool:
        """Return whether a % is that of `LIMIT 10%`, which nothing follows."""
        if sign != "%":
            return False
        self.place += 1
        alone = not self.begins_operand()
        self.place -= 1
        return alone

    def binary(self, left: Part, operator: Operator, sign: str) -> Part:
        """Write an operator of signs and its right operand."""
        token = self.skip(sign)
        if operator.level == COMPARISON and left.level == COMPARISON:
            raise ParseError(
                "comparisons cannot be chained",
                hint="write a < b AND b < c, or put one of them in parentheses",
                text=self.text,
                offset=token.start,
            )
        if self.word() in ("ANY", "ALL", "SOME"):
            right = Part([self.advance(), *(self.group() if self.opens() else [])])
        else:
            right = self.operand(operator.level + 1, token)
        if operator.written == "call":
            quoted = not operator.name.isidentifier()
            calling = Part(call(operator.name, token, [left.tokens, right.tokens], quoted=quoted))
            return calling.negated(token) if operator.negated else calling
        if operator.written == "arrow":
            sides = [*wrapped(left.tokens), token, *wrapped(right.tokens)]
            return Part(wrapped(sides))
        middle = [token if len(sign) == len(token.text) else made(token.token_type, sign, token)]
        if sign in ("<<", ">>"):
            kind = TokenType.LT if sign == "<<" else TokenType.GT
            middle = [made(kind, sign[0], token), made(kind, sign[0], token)]
        if operator.written == "like":
            words = {"LIKE": TokenType.LIKE, "ILIKE": TokenType.ILIKE, "GLOB": TokenType.GLOB}
            middle = [made(words[operator.name], operator.name, token)]
            if operator.negated:
                middle.insert(0, made(TokenType.NOT, "NOT", token))
        level = operator.level
        return Part([*left.under(level), *middle, *right.under(level)], level)

    def connective(self, left: Part, least: int) -> Part | None:
        """OR and AND."""
        for word, level in (("OR", OR), ("AND", AND)):
            if level >= least and self.words(word):
                token = self.advance()
                right = self.operand(level + 1, token)
                return Part([*left.under(level), token, *right.under(level)], level)
        return None

    def test(self, left: Part, least: int) -> Part | None:
        """IS, ISNULL and NOTNULL."""
        for words in (("IS", "NOT", "DISTINCT", "FROM"), ("IS", "DISTINCT", "FROM")):
            if least <= DISTINCT_FROM and self.words(*words):
                tokens = self.accept(*words)
                right = self.operand(DISTINCT_FROM + 1, tokens[-1])
                sides = (left.under(DISTINCT_FROM), right.under(DISTINCT_FROM))
                return Part([*sides[0], *tokens, *sides[1]], DISTINCT_FROM)
        if least > IS:
            return None
        for test in (("ISNULL",), ("NOTNULL",), ("NOT", "NULL")):
            if self.words(*test):
                return Part([*left.under(IS), *self.accept(*test)], IS)
        if not self.words("IS"):
            return None
        tokens = [*self.accept("IS"), *self.accept("NOT")]
        if self.place < len(self.given):
            tokens.append(self.advance())
        return Part([*left.under(IS), *tokens], IS)

    def match(self, left: Part, least: int) -> Part | None:
        """BETWEEN, IN, LIKE and their kin, with or without NOT."""
        if least > MATCH or left.is_star:
            return None
        first = self.place
        negation = self.accept("NOT")
        negated = bool(negation)
        if self.words("BETWEEN"):
            token = self.advance()
            self.asymmetric()
            low = self.operand(OTHER, token)
            between = self.accept("AND")
            high = self.operand(OTHER, token) if between else Part([])
            middle = [*low.under(MATCH), *between, *high.under(MATCH)]
            return Part([*left.under(MATCH), *negation, token, *middle], MATCH)
        if self.words("IN"):
            return self.inside(left, negation)
        if self.words("SIMILAR", "TO"):
            (token,) = self.accept("SIMILAR", "TO")
            arguments = [left.tokens, self.operand(OTHER, token).tokens]
            if self.words("ESCAPE"):
                arguments.append(self.operand(OTHER, self.advance()).tokens)
            calling = Part(call("regexp_full_match", token, arguments))
            return calling.negated(token) if negated else calling
        for word in ("LIKE", "ILIKE", "GLOB"):
            if self.words(word):
                token = self.advance()
                right = self.operand(OTHER, token)
                if self.words("ESCAPE"):
                    sign = self.operand(OTHER, self.advance())
                    name = f"{'not_' if negated else ''}{word.lower()}_escape"
                    return Part(call(name, token, [left.tokens, right.tokens, sign.tokens]))
                sides = (left.under(MATCH), right.under(MATCH))
                return Part([*sides[0], *negation, token, *sides[1]], MATCH)
        self.place = first
        return None

    def asymmetric(self) -> None:
        """Step over ASYMMETRIC, which says nothing, and refuse SYMMETRIC, as DuckDB does."""
        self.accept("ASYMMETRIC")
        token = self.token()
        if token is not None and self.words("SYMMETRIC"):
            raise ParseError(
                "BETWEEN SYMMETRIC is not known to DuckDB",
                hint="write x BETWEEN a AND b OR x BETWEEN b AND a",
                text=self.text,
                offset=token.start,
            )

    def inside(self, left: Part, negation: list[Token]) -> Part:
        """`a IN (…)` stays; `a IN l` asks whether a list contains it."""
        token = self.advance()
        if self.opens():
            return Part([*left.under(MATCH), *negation, token, *self.group()], MATCH)
        right = self.operand(OTHER, token)
        calling = Part(call("contains", token, [right.tokens, left.tokens]))
        return calling.negated(token) if negation else calling

    def binding(self, left: Part, least: int) -> Part | None:
        """COLLATE and AT TIME ZONE."""
        if least <= COLLATE and self.words("COLLATE"):
            token = self.advance()
            name = [self.operand_name(token)]
            while self.kind() == TokenType.DOT:
                name += [self.advance(), self.operand_name(token)]
            # one name for sqlglot, which would look for a column NOACCENT of NOCASE
            whole = made(TokenType.VAR, "".join(part.text for part in name), name[0])
            tokens = [token, *(name if len(name) == 1 else [whole])]
            return Part([*left.under(COLLATE), *tokens], COLLATE)
        if least <= ZONE and self.words("AT", "TIME", "ZONE"):
            token = self.accept("AT", "TIME", "ZONE")[0]
            zone = self.operand(ZONE + 1, token)
            return Part(call("timezone", token, [zone.tokens, left.tokens]))
        return None


_BEHIND = {
    **dict.fromkeys(("OR", "AND"), (_Expressions.connective,)),
    **dict.fromkeys(("IS", "ISNULL", "NOTNULL"), (_Expressions.test,)),
    "NOT": (_Expressions.test, _Expressions.match),
    **dict.fromkeys(("BETWEEN", "IN", "SIMILAR", "LIKE", "ILIKE", "GLOB"), (_Expressions.match,)),
    **dict.fromkeys(("COLLATE", "AT"), (_Expressions.binding,)),
}
"""By the word that follows an operand, what reads the operator that it begins."""
