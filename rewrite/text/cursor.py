"""A cursor over the tokens of a query, and constructors of tokens.

New tokens have the places of those that they replace.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot.dialects.duckdb import DuckDB
from sqlglot.tokens import Token, TokenType

from cqlduck.errors import ParseError
from cqlduck.rewrite.text.precedence import ATOM, ODD, PREFIXES, SIGNS, SYMBOLS, needs_parentheses

CALL = "\x00call:"
"""What the names of functions begin with that sqlglot is not to know."""

LITERALS = frozenset(
    {TokenType.NUMBER, TokenType.STRING, TokenType.BYTE_STRING, TokenType.HEREDOC_STRING,
     TokenType.PLACEHOLDER}
)  # fmt: skip
NAMES = (TokenType.STRING, TokenType.IDENTIFIER)
"""Quoted text, which is no word whatever it says."""

CLOSING = {
    TokenType.L_PAREN: TokenType.R_PAREN,
    TokenType.L_BRACKET: TokenType.R_BRACKET,
    TokenType.L_BRACE: TokenType.R_BRACE,
}


@dataclass
class Part:
    """Tokens of an expression, and the level of the operator that stands outermost in it."""

    tokens: list[Token]
    level: int = ATOM
    is_star: bool = False

    def under(self, level: int) -> list[Token]:
        """Return its tokens as an operand: in parentheses where sqlglot may group otherwise."""
        return wrapped(self.tokens) if needs_parentheses(level, self.level) else self.tokens

    def negated(self, like: Token) -> Part:
        """Return NOT of it, in parentheses."""
        return Part(wrapped([made(TokenType.NOT, "NOT", like), *self.tokens]))


class Cursor:
    """A place in the tokens of a text."""

    def __init__(self, text: str, tokens: Sequence[Token]) -> None:
        """Begin at the first token."""
        self.text = text
        self.given = list(tokens)
        for place, before in enumerate(tokens[:-1]):
            if before.token_type == TokenType.PARAMETER:
                self.given[place + 1] = _keyword(tokens[place + 1])
        self.place = 0
        self._said = [
            () if t.token_type in NAMES else tuple(t.text.upper().split()) for t in tokens
        ]  # fmt: skip

    def token(self, ahead: int = 0) -> Token | None:
        """Return a token ahead, or None at the end."""
        place = self.place + ahead
        return self.given[place] if place < len(self.given) else None

    def word(self) -> str:
        """Return the word that comes next, in upper case, or '' if none does."""
        said = self._said[self.place] if self.place < len(self._said) else ()
        return said[0] if said else ""

    def advance(self) -> Token:
        """Step over the next token and return it.

        Raises:
            ParseError: There is none.
        """
        if self.place >= len(self.given):
            raise ParseError("the query ends too early", text=self.text, offset=len(self.text))
        self.place += 1
        return self.given[self.place - 1]

    def kind(self, ahead: int = 0) -> TokenType | None:
        """Return the type of a token ahead, or None at the end."""
        place = self.place + ahead
        return self.given[place].token_type if place < len(self.given) else None

    def words(self, *wanted: str) -> int:
        """Return how many tokens these words are if they come next, or 0."""
        place, left = self.place, wanted
        while left:
            said = self._said[place] if place < len(self._said) else ()
            if not said or left[: len(said)] != said:
                return 0
            left, place = left[len(said) :], place + 1
        return place - self.place

    def accept(self, *wanted: str) -> list[Token]:
        """Step over these words if they come next, and return their tokens."""
        count = self.words(*wanted)
        self.place += count
        return list(self.given[self.place - count : self.place])

    def symbol(self) -> str:
        """Return the operator of signs that comes next, or ''.

        It has as many signs as stand side by side; + and - end one only if no sign in it is of
        operators alone.

        Raises:
            ParseError: DuckDB has no operator of these signs.
        """
        first = self.token()
        if first is None or first.text[:1].isalnum() or first.token_type in LITERALS:
            return ""
        signs, end = "", first.start - 1
        for place in range(self.place, len(self.given)):
            token = self.given[place]
            if (
                token.start != end + 1
                or token.token_type in NAMES
                or not SIGNS.issuperset(token.text)
            ):
                break
            signs, end = signs + token.text, token.end
        if ODD.isdisjoint(signs):
            signs = signs[:1] + signs[1:].rstrip("+-")
        if signs in SYMBOLS or signs in PREFIXES:
            return signs
        if len(signs) > len(first.text):
            raise ParseError(
                f"DuckDB has no operator {signs}",
                hint="put a space between two operators",
                text=self.text,
                offset=first.start,
            )
        return ""

    def skip(self, symbol: str) -> Token:
        """Step over the tokens of an operator, and return the first of them."""
        first, length = self.advance(), 0
        length = len(first.text)
        while length < len(symbol):
            length += len(self.advance().text)
        return first

    def closing(self) -> int:
        """Return the place of what closes the parenthesis or bracket that comes next."""
        depth = 0
        for place in range(self.place, len(self.given)):
            kind = self.given[place].token_type
            depth += (kind in CLOSING) - (kind in CLOSING.values())
            if depth == 0:
                return place
        raise ParseError("this is never closed", text=self.text, offset=self.given[-1].start)

    def close(self, end: int) -> Token:
        """Step over the closing sign at a place; what stands inside it must have ended there.

        Raises:
            ParseError: If what stands inside took the closing sign for a part of it, as in `(a.)`.
        """
        if self.place > end:
            closing = self.given[end]
            raise ParseError(
                f"{closing.text} cannot stand here", text=self.text, offset=closing.start
            )
        return self.advance()

    def opens(self) -> bool:
        """Return whether a parenthesis opens here."""
        return self.kind() == TokenType.L_PAREN

    def raw(self, end: int) -> list[Token]:
        """Step over all tokens up to a place, and return them as they are."""
        taken = list(self.given[self.place : end])
        self.place = end
        return taken


def _keyword(token: Token) -> Token:
    """Return a token as what its text says: behind @ sqlglot takes every word for a name."""
    kind = DuckDB.Tokenizer.KEYWORDS.get(token.text.upper())
    return made(kind, token.text, token) if token.token_type == TokenType.VAR and kind else token


def mark(function: Token) -> Token:
    """Return the name of a function as one that sqlglot does not know."""
    quoted = function.token_type == TokenType.IDENTIFIER
    kind = TokenType.IDENTIFIER if quoted else TokenType.VAR
    return made(kind, CALL + function.text, function)


def made(kind: TokenType, text: str, like: Token) -> Token:
    """Return a token in the place of another one."""
    return Token(kind, text, like.line, like.col, like.start, like.end)


def call(
    name: str, like: Token, arguments: list[list[Token]], *, quoted: bool = False
) -> list[Token]:
    """Return the tokens of a call of a function that sqlglot is not to know."""
    kind = TokenType.IDENTIFIER if quoted else TokenType.VAR
    tokens = [made(kind, CALL + name, like), made(TokenType.L_PAREN, "(", like)]
    for place, argument in enumerate(arguments):
        if place:
            tokens.append(made(TokenType.COMMA, ",", like))
        tokens += argument
    return [*tokens, made(TokenType.R_PAREN, ")", like)]


def wrapped(tokens: list[Token]) -> list[Token]:
    """Return tokens between parentheses."""
    first, last = tokens[0], tokens[-1]
    opening, closing = (TokenType.L_PAREN, "("), (TokenType.R_PAREN, ")")
    return [made(*opening, first), *tokens, made(*closing, last)]
