"""The options of queries and streams: what WITH (…) and SET (…) may say.

An option has the same values wherever it is written: in CREATE, in ALTER, or in an UPDATE of
`cql.properties`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from cqlduck.errors import BindError, ParseError
from cqlduck.rewrite.text.reader import Reader
from cqlduck.rewrite.text.spelling import suggestion
from cqlduck.rewrite.text.time import parse_duration

DEFAULT = "default"
"""The word that resets an option."""


@dataclass(frozen=True)
class Option:
    """What the value of an option may be.

    Attributes:
        kind: What it is besides one of the words.
        words: The words.
    """

    kind: Literal["duration", "number", "word"]
    words: tuple[str, ...]

    def checked(self, name: str, value: str) -> str:
        """Return a value that was written, in lower case if it is a word.

        Args:
            name: The name of the option.
            value: The value, without quotes.

        Raises:
            ParseError: The option cannot have it.
        """
        if value.lower() in self.words:
            return value.lower()
        if self.kind == "duration":
            self._refuse_duration(name, value)
            return value
        if self.kind == "number" and _is_positive(value):
            return value
        what = "a positive number, or " if self.kind == "number" else ""
        shown = f"{name} is {what}{_either(self.words)}"
        raise ParseError(
            f"{value or 'nothing'} is no value of {name}",
            hint=suggestion(value, self.words, shown, every=False),
        )

    def _refuse_duration(self, name: str, value: str) -> None:
        """Refuse what is no duration.

        Raises:
            ParseError: It is none.
        """
        shown = f"{name} is a duration, as '7 days', or {_either(self.words)}"
        try:
            parse_duration(value)
        except ParseError as error:
            hint = error.hint if error.hint and "did you mean" in error.hint else shown
            hint = suggestion(value, self.words, hint, every=False)
            raise ParseError(error.message, hint=hint) from error


OF_QUERIES: Mapping[str, Option] = {
    "history": Option("duration", ("true", "false", "kept")),
    "keep": Option("duration", ("unbounded", DEFAULT)),
    "read": Option("word", ("later", DEFAULT)),
    "sharing": Option("word", ("true", "false", DEFAULT)),
    "weight": Option("number", (DEFAULT,)),
}
"""The options of a continuous query."""

OF_STREAMS: Mapping[str, Option] = {
    "ahead_at_most": Option("duration", (DEFAULT,)),
    "late": Option("word", ("reject", "drop", "keep", "amend", DEFAULT)),
    "out_of_order_within": Option("duration", (DEFAULT,)),
}
"""The options of a stream that ALTER STREAM can set."""


def read_options(reader: Reader, known: Mapping[str, Option]) -> tuple[tuple[str, str], ...]:
    """Read `(name = value, …)`.

    Args:
        reader: The reader, before the parenthesis.
        known: The options that there are.

    Raises:
        BindError: There is no such option.
        ParseError: An option that is there twice, or a value that it cannot have.
    """
    reader.expect("(")
    options: dict[str, str] = {}
    while True:
        if not reader.peek_name() and not reader.next_is_string:
            reader.fail("expected an option here", suggestion("", known, "the options are"))
        at, key = reader.offset, reader.word().lower()
        if key not in known:
            raise BindError(
                f"there is no option {key}", hint=suggestion(key, known, "the options are")
            ).at(reader.text, at)
        if key in options:
            raise ParseError(f"the option {key} is there twice", hint="write one of them").at(
                reader.text, at
            )
        reader.accept("=")
        at, value = reader.offset, reader.value()
        try:
            options[key] = known[key].checked(key, value)
        except ParseError as error:
            raise error.at(reader.text, at) from error
        if not reader.accept(","):
            break
    reader.expect(")")
    return tuple(options.items())


def _is_positive(value: str) -> bool:
    """Return whether a text is a number above 0 that can be counted with."""
    try:
        number = float(value)
    except ValueError:
        return False
    return math.isfinite(number) and number > 0


def _either(words: tuple[str, ...]) -> str:
    """Return words as those of which one is to be written."""
    return " or ".join(filter(None, (", ".join(words[:-1]), words[-1])))
