"""A cursor over the tokens of a query, and constructors of tokens.

New tokens have the places of those that they replace.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot.tokens import Token, TokenType

from cqlduck.errors import ParseError
from cqlduck.rewrite.text.precedence import ATOM, LONGEST, PREFIXES, SYMBOLS, needs_parentheses

CALL = "\x00call:"
"""What the names of functions begin with that sqlglot is not to know."""

LITERALS = frozenset(
    {TokenType.NUMBER, TokenType.STRING, TokenType.BYTE_STRING, TokenType.HEREDOC_STRING,
     TokenType.PLACEHOLDER}
)  # fmt: skip
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
        self.given = tokens
        self.place = 0

    def token(self, ahead: int = 0) -> Token | None:
        """Return a token ahead, or None at the end."""
        place = self.place + ahead
        return self.given[place] if place < len(self.given) else None

    def take(self) -> Token:
        """Step over the next token and return it."""
        self.place += 1
        return self.given[self.place - 1]

    def kind(self, ahead: int = 0) -> TokenType | None:
        """Return the type of a token ahead, or None at the end."""
        token = self.token(ahead)
        return None if token is None else token.token_type

    def words(self, *wanted: str) -> int:
        """Return how many tokens these words are if they come next, or 0."""
        ahead, left = 0, list(wanted)
        while left:
            token = self.token(ahead)
            if token is None or token.token_type in (TokenType.STRING, TokenType.IDENTIFIER):
                return 0
            found = token.text.upper().split()
            if not found or left[: len(found)] != found:
                return 0
            left = left[len(found) :]
            ahead += 1
        return ahead

    def accept(self, *wanted: str) -> list[Token]:
        """Step over these words if they come next, and return their tokens."""
        count = self.words(*wanted)
        self.place += count
        return list(self.given[self.place - count : self.place])

    def symbol(self) -> str:
        """Return the operator of signs that comes next, or ''."""
        first = self.token()
        if first is None or first.text[:1].isalnum() or first.token_type in LITERALS:
            return ""
        found = written = ""
        ahead, end = 0, first.start - 1
        while (token := self.token(ahead)) is not None and token.start == end + 1:
            written += token.text
            if len(written) > LONGEST or token.token_type in (
                TokenType.STRING, TokenType.IDENTIFIER
            ):  # fmt: skip
                break
            if written in SYMBOLS or written in PREFIXES:
                found = written
            ahead, end = ahead + 1, token.end
        return found

    def skip(self, symbol: str) -> Token:
        """Step over the tokens of an operator, and return the first of them."""
        first, length = self.take(), 0
        length = len(first.text)
        while length < len(symbol):
            length += len(self.take().text)
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
        return self.take()

    def opens(self) -> bool:
        """Return whether a parenthesis opens here."""
        return self.kind() == TokenType.L_PAREN

    def raw(self, end: int) -> list[Token]:
        """Step over all tokens up to a place, and return them as they are."""
        taken = list(self.given[self.place : end])
        self.place = end
        return taken


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
