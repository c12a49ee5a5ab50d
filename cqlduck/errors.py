"""The errors of cqlduck: one family, so that one `except` catches them all.

    cqlduck.Error
    ├── ParseError           the text is not CQL, or not SQL that DuckDB reads
    ├── BindError            a name or a type does not fit
    ├── NotSupportedError    CQL or SQL that is refused, with what to use instead
    ├── CatalogError         a stream, relation or query is missing, or is there already
    ├── DataError            rows that do not fit their stream or relation
    │   └── LateError        elements at or before the heartbeat of their input
    ├── DropZoneError        a batch that breaks the format of the drop zone
    ├── DatabaseError        a database file that cannot be opened or is in use
    └── QueryError           a continuous query that failed while it ran

Every error says what is wrong, where (line, column and a caret under the place, when it is about a
text; column and row, when it is about data), and what to do. It leaves everything as it was.
Of a value, a name or a line that is very long it shows a part.
"""

from __future__ import annotations

import re
import sys
import warnings
from datetime import datetime
from typing import Any

__all__ = [
    "BindError",
    "CatalogError",
    "DataError",
    "DatabaseError",
    "DropZoneError",
    "Error",
    "LateError",
    "NotSupportedError",
    "ParseError",
    "QueryError",
]

MAX_WORD_CHARACTERS = 300
"""How many characters of a word a message shows; paths are rarely longer."""

MAX_CHARACTERS = 1000
"""How many characters of all a message shows, and how many of a hint."""

MAX_LINE_CHARACTERS = 200
"""How many characters of a line are shown above a caret."""

ELLIPSIS = "…"

_LONG_WORD = re.compile(rf"\S{{{MAX_WORD_CHARACTERS + 1},}}")


def shortened(text: str) -> str:
    """Return a text as messages show it: of a very long word or text, the beginning and the end.

    >>> shortened("there is no " + 70_000 * "x") == f"there is no {239 * 'x'}…{60 * 'x'}"
    True
    """
    if len(text) <= MAX_WORD_CHARACTERS:
        return text
    return _cut(_LONG_WORD.sub(lambda found: _cut(found[0], MAX_WORD_CHARACTERS), text))


def _cut(text: str, most: int = MAX_CHARACTERS) -> str:
    """Return at most so many characters of a text: four fifths of them from its beginning."""
    end = most // 5
    return text if len(text) <= most else f"{text[: most - end - 1]}{ELLIPSIS}{text[-end:]}"


class Error(Exception):
    """The root of the family.

    Args:
        message: What is wrong, lower case, without a full stop.
        hint: What to do instead, or None.
        text: The statement that the error is about, or None.
        offset: The place in `text`, in characters from 0, or None.

    Attributes:
        file: The file that `text` is the content of, or None.
        line: Line of the place, from 1, or None.
        column: Column of the place, from 1, or None.
    """

    file: str | None = None

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        text: str | None = None,
        offset: int | None = None,
    ) -> None:
        """Keep the parts; the text of the exception is made by `__str__`."""
        message = shortened(message)
        super().__init__(message)
        self.message = message
        self.hint = None if hint is None else shortened(hint)
        self.text = text
        self.offset = offset

    @property
    def line(self) -> int | None:
        """Line of the place, from 1, or None."""
        if self.text is None or self.offset is None:
            return None
        return self.text.count("\n", 0, self.offset) + 1

    @property
    def column(self) -> int | None:
        """Column of the place, from 1, or None."""
        if self.text is None or self.offset is None:
            return None
        return self.offset - (self.text.rfind("\n", 0, self.offset) + 1) + 1

    def at(self, text: str, offset: int | None) -> Error:
        """Return the same error, placed in `text` unless it has a place already."""
        if self.text is None:
            self.text = text
            self.offset = offset
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the parts: an error that crosses to another process says the same there."""
        return _rebuilt, (type(self), self.args, self.__dict__)

    def __str__(self) -> str:
        """Return message, place with a caret, and hint, each on lines of its own."""
        parts = [self.message]
        if self.text is not None and self.offset is not None:
            assert self.line is not None
            assert self.column is not None
            shown = self.text.splitlines()[self.line - 1] if self.text.splitlines() else ""
            # half a character cannot be printed
            shown = shown.encode("utf-8", "replace").decode("utf-8")
            shown, place = _around(shown, self.column - 1)
            head = f"LINE {self.line}: "
            parts.append(f"{head}{shown}")
            # a tab is as wide here as it is there
            before = "".join("\t" if c == "\t" else " " for c in shown[:place])
            parts.append(" " * len(head) + before.ljust(place) + "^")
        if self.hint:
            parts.append(f"hint: {self.hint}")
        return "\n".join(parts)


def _around(line: str, place: int) -> tuple[str, int]:
    """Return the part of a long line that is around a place, and the place in it."""
    if len(line) <= MAX_LINE_CHARACTERS:
        return line, place
    begin = min(place - MAX_LINE_CHARACTERS // 2, len(line) - MAX_LINE_CHARACTERS)
    begin = max(begin, 0)
    end = begin + MAX_LINE_CHARACTERS
    before, behind = ELLIPSIS if begin else "", ELLIPSIS if end < len(line) else ""
    return f"{before}{line[begin:end]}{behind}", place - begin + len(before)


class ParseError(Error):
    """The text is not CQL, or not SQL that DuckDB reads."""


class BindError(Error):
    """A name or a type does not fit.

    Attributes:
        missing: The name that was not found, or None.
    """

    missing: str | None = None


class NotSupportedError(Error):
    """A construct that is refused; the hint says what to use instead."""


class CatalogError(Error):
    """A stream, relation or query is missing, or is there already."""


class DataError(Error):
    """Rows that do not fit their stream or relation.

    Attributes:
        row: The position of the row in what was passed, from 0, or None if no row is to blame.
        field: The name of its column, or None.
    """

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        row: int | None = None,
        field: str | None = None,
    ) -> None:
        """Keep the place in the data."""
        super().__init__(message, hint=hint)
        self.row = row
        self.field = field


class LateError(DataError):
    """Elements at or before the heartbeat of their input.

    Attributes:
        rows: The positions of the late rows in what was passed, from 0.
    """

    def __init__(self, message: str, *, rows: list[int], hint: str | None = None) -> None:
        """Keep the positions of the late rows."""
        super().__init__(message, hint=hint, row=rows[0] if rows else None)
        self.rows = rows


class DropZoneError(Error):
    """A batch that breaks the format of the drop zone."""


class DatabaseError(Error):
    """A database file that cannot be opened or is in use."""


class QueryError(Error):
    """A continuous query that failed while it ran, or is stopped because of one that did.

    Attributes:
        query: The name of the query that failed, or None.
        instant: The instant at which it failed, an int, a datetime in UTC, its text where Python
            has no such datetime, or None.
        row: The row that made it fail, as text, or None if no single one did.
        reason: Why it failed, or None.
    """

    query: str | None = None
    instant: int | datetime | str | None = None
    row: str | None = None
    reason: str | None = None


def _rebuilt(kind: type[Error], args: tuple[Any, ...], parts: dict[str, Any]) -> Error:
    """Return an error as it was pickled; its own __init__ may ask for other arguments."""
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(parts)
    return error


_OF_FUNCTION = re.compile(r"Invalid Input Error: Python exception .* the UDF: FunctionError: (.*)")
"""How DuckDB says what a user's function has raised."""


def raised_by_function(said: str) -> str | None:
    """Return what a user's function has raised, from the line in which DuckDB says it; or None."""
    found = _OF_FUNCTION.match(said)
    return None if found is None else found[1]


def first_line(error: BaseException) -> str:
    """Return the first line of what an error says, or its kind where it says nothing."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    if not lines:
        return type(error).__name__
    return raised_by_function(lines[0]) or lines[0]


def kind_of(value: object) -> str:
    """Return what a value of Python's is, with its article, for messages.

    >>> kind_of(3), kind_of("three")
    ('an int', 'a str')
    """
    name = type(value).__name__
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


def how_to_install(extra: str) -> str:
    """Return the command that installs an extra, for hints.

    >>> how_to_install("serve")
    "pip install '.[serve]' in a checkout of cqlduck"
    """
    return f"pip install '.[{extra}]' in a checkout of cqlduck"


TOLD = "told"
"""What a record of the log is marked with if the caller is warned of the same."""


def warn(message: str) -> None:
    """Warn of something that went on all the same, at the line that called this package."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("cqlduck."):
        frame, level = frame.f_back, level + 1
    warnings.warn(shortened(message), RuntimeWarning, stacklevel=level)
