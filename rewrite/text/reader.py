"""A cursor over the tokens of one statement or window; every failure has a place."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot.tokens import Token, TokenType

from cqlduck.errors import ParseError
from cqlduck.rewrite.text import spelling
from cqlduck.rewrite.text.names import DATABASE, SCHEMA
from cqlduck.rewrite.text.time import WrittenDuration, parse_duration

MOST_AHEAD = 6
"""How many words are looked at to say which of them is misspelt."""


class Reader:
    """A cursor over the tokens of one statement; every failure has a place."""

    def __init__(self, text: str, tokens: Sequence[Token]) -> None:
        """Begin at the first token."""
        self.text = text
        self.tokens = tokens
        self.position = 0
        self._clauses: set[str] = set()

    @property
    def done(self) -> bool:
        """Whether all tokens are read."""
        return self.position >= len(self.tokens)

    @property
    def offset(self) -> int:
        """The place of the next token, or the end of the last one."""
        if not self.tokens:
            return 0
        return self.tokens[-1].end if self.done else self.tokens[self.position].start

    def _upper(self, ahead: int = 0) -> list[str]:
        """The words of the token `ahead` of the next one; `PARTITION BY` is one token."""
        place = self.position + ahead
        if place >= len(self.tokens):
            return []
        token = self.tokens[place]
        if token.token_type in (TokenType.STRING, TokenType.IDENTIFIER):
            return []
        return token.text.upper().split()

    def accept(self, *words: str) -> bool:
        """Step over these words if they are next."""
        ahead, left = 0, list(words)
        while left:
            found = self._upper(ahead)
            if not found or left[: len(found)] != found:
                return False
            left = left[len(found) :]
            ahead += 1
        self.position += ahead
        return True

    def clause(self, *words: str) -> bool:
        """Step over the words that a clause begins with, if they are next.

        Raises:
            ParseError: The statement has this clause already.
        """
        place, phrase = self.offset, " ".join(words)
        if not self.accept(*words):
            return False
        if phrase in self._clauses:
            raise ParseError(f"{phrase} is there twice", hint="write it once").at(self.text, place)
        self._clauses.add(phrase)
        return True

    def accept_if(self, phrase: str) -> bool:
        """Step over IF EXISTS or IF NOT EXISTS, if it is next; a name may be next as well.

        Raises:
            ParseError: One word of it is misspelt.
        """
        self.refuse_slip(phrase, alone=True)
        return self.accept(*phrase.split())

    def expect(self, *words: str) -> None:
        """Step over these words, or fail."""
        if not self.accept(*words):
            self.fail(f"expected {' '.join(words)} here", known=(" ".join(words),))

    def fail(self, message: str, hint: str | None = None, known: Sequence[str] = ()) -> None:
        """Raise a `ParseError` at the next token, or at the next one that is misspelt.

        Args:
            message: What is wrong.
            hint: What to do, unless something is misspelt.
            known: The phrases that may stand here.
        """
        slip = self._slip(known, alone=False)
        place, hint = (self.position, hint) if slip is None else (slip[0], _meaning(slip[1]))
        found = "" if self.done else f", found {self.tokens[place].text!r}"
        offset = self.offset if self.done else self.tokens[place].start
        raise ParseError(f"{message}{found}", hint=hint, text=self.text, offset=offset)

    def refuse_slip(self, *phrases: str, alone: bool = False) -> None:
        """Raise a `ParseError` if a phrase is next of which a word is misspelt."""
        slip = self._slip(phrases, alone=alone)
        if slip is not None:
            token = self.tokens[slip[0]]
            raise ParseError(f"{token.text} cannot stand here", hint=_meaning(slip[1])).at(
                self.text, token.start
            )

    def _slip(self, phrases: Sequence[str], *, alone: bool) -> tuple[int, str] | None:
        """Return the place of a misspelt token among the next ones and what was meant, or None."""
        words: list[tuple[int, str]] = []
        for ahead in range(MOST_AHEAD):
            found = self._upper(ahead)
            if not found:
                break
            words += [(self.position + ahead, word) for word in found]
        slip = spelling.slip([word for _, word in words], phrases, alone=alone)
        return None if slip is None else (words[slip[0]][0], slip[1])

    def word(self) -> str:
        """Read any one token as text."""
        if self.done:
            self.fail("the statement ends too early")
        self.position += 1
        return self.tokens[self.position - 1].text

    def next_is(self, *words: str) -> bool:
        """Whether one of these words is next."""
        return any(word in words for word in self._upper()[:1])

    @property
    def next_is_string(self) -> bool:
        """Whether a string is next."""
        return not self.done and self.tokens[self.position].token_type == TokenType.STRING

    def peek_name(self) -> bool:
        """Whether a name is next."""
        if self.done:
            return False
        token = self.tokens[self.position]
        if token.token_type == TokenType.IDENTIFIER:
            return True
        plain = token.text.replace("_", "a")
        return token.token_type != TokenType.STRING and plain.isalnum() and not plain[0].isdigit()

    def name(self) -> str:
        """Read a name, quoted or not."""
        if not self.peek_name():
            self.fail("expected a name here")
        if not self.tokens[self.position].text:
            self.fail("a name is not empty")
        return self.word()

    def schema(self) -> None:
        """Step over `main.` or `cqlduck.main.`: streams, relations and queries are in no other."""
        schema, database = SCHEMA.upper(), DATABASE.upper()
        if not self.accept(database, ".", schema, "."):
            self.accept(schema, ".")

    def object_name(self) -> str:
        """Read the name of a stream, relation or query, with or without its schema."""
        self.schema()
        return self.name()

    def skip_with(self) -> None:
        """Step over WITH and its queries, if an INSERT, UPDATE or DELETE follows them."""
        if not self.next_is("WITH"):
            return
        depth = 0
        for place, token in enumerate(self.tokens):
            if token.token_type == TokenType.L_PAREN:
                depth += 1
            elif token.token_type == TokenType.R_PAREN:
                depth -= 1
                words = self._upper(place + 1 - self.position)[:1]
                if depth == 0 and words and words[0] in ("INSERT", "UPDATE", "DELETE"):
                    self.position = place + 1
                    return

    def dotted_name(self) -> str:
        """Read `a.b.c`, joined by dots."""
        return ".".join(self.names())

    def names(self) -> tuple[str, ...]:
        """Read the names in `a.b.c`, each of which may have dots of its own between quotes."""
        parts = [self.name()]
        while self.accept("."):
            parts.append(self.name())
        return tuple(parts)

    def string(self) -> str:
        """Read a string literal."""
        if self.done or self.tokens[self.position].token_type != TokenType.STRING:
            self.fail("expected a string in single quotes here", "as in FROM 'flights'")
        return self.word()

    def value(self) -> str:
        """Read an option's value: the text up to the next comma or closing parenthesis.

        Of a string alone that is what it says, without quotes.
        """
        first = self.position
        text = self.until_comma()
        is_string = self.position == first + 1
        is_string = is_string and self.tokens[first].token_type == TokenType.STRING
        return self.tokens[first].text if is_string else text

    def until_comma(self, stops: tuple[str, ...] = ()) -> str:
        """Read the text up to the comma, the parenthesis or the word that ends this item."""
        depth, first = 0, self.position
        while not self.done:
            found = self.tokens[self.position].token_type
            if depth == 0 and (
                found in (TokenType.COMMA, TokenType.R_PAREN) or self.next_is(*stops)
            ):
                break
            if found in (TokenType.L_PAREN, TokenType.L_BRACKET):
                depth += 1
            elif found in (TokenType.R_PAREN, TokenType.R_BRACKET):
                depth -= 1
            self.position += 1
        if self.position == first:
            return ""
        return self._text_from(first)

    def _text_from(self, first: int) -> str:
        """Return the text from a token to the one that was read last."""
        return self.text[self.tokens[first].start : self.tokens[self.position - 1].end + 1]

    def duration(self, stops: tuple[str, ...], clauses: Sequence[str] = ()) -> WrittenDuration:
        """Read a duration up to the end or one of the words in `stops`, with which clauses begin.

        Args:
            stops: The words.
            clauses: The clauses as a whole, if they are more than one word.

        Raises:
            ParseError: It is none, or one of the clauses after it is misspelt.
        """
        at, first = self.offset, self.position
        while not self.done and not set(self._upper()) & set(stops):
            self.position += 1
        if self.position == first:
            self.fail("a duration is missing", "as in 5 MINUTES")
        body = self._text_from(first)
        try:
            return parse_duration(body, at)
        except ParseError as error:
            self.position = first
            while not self.done:
                self.position += 1
                self.refuse_slip(*(clauses or stops))
                if spelling.begun(self.text, self.tokens, self.offset):
                    self.end()
            raise error.at(self.text, at) from error

    def rest(self) -> str:
        """Return the text from the next token to the end of the statement."""
        return self.text[self.offset : self.tokens[-1].end + 1]

    def statement_text(self) -> str:
        """Return the text of the whole statement."""
        return self.text[self.tokens[0].start : self.tokens[-1].end + 1]

    def end(self, known: Sequence[str] = ()) -> None:
        """Fail if anything is left; one of the clauses in `known` may be meant."""
        if not self.done:
            self.fail("the statement should end here", known=known)


def _meaning(word: str) -> str:
    return f"did you mean {word}?"
