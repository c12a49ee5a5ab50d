"""Windows and samples as they are written: the text between the brackets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from sqlglot import exp
from sqlglot.tokens import Token

from cqlduck.errors import Error, ParseError
from cqlduck.rewrite.text.parsing import expression_of
from cqlduck.rewrite.text.reader import Reader
from cqlduck.rewrite.text.time import WrittenDuration, is_unit
from cqlduck.rewrite.text.tokens import are_digits

MAX_ROWS = 2**31 - 1
"""How many rows a window in rows has at most."""

WINDOW_WORDS = ("RANGE", "ROWS", "NOW", "UNBOUNDED", "PARTITION BY", "HOP", "TUMBLE")


@dataclass(frozen=True)
class WindowSyntax:
    """A window as it was written; `unbounded` for RANGE and ROWS UNBOUNDED alike.

    In the text of a family `RANGE w OF relation.column` has the ranges in a column, up to w, in
    `widths`.
    """

    offset: int
    range: WrittenDuration | None = None
    rows: int | None = None
    now: bool = False
    unbounded: bool = False
    hop: bool = False
    slide: WrittenDuration | None = None
    slide_rows: int | None = None
    partition_by: tuple[tuple[tuple[str, ...], int], ...] = ()
    where: exp.Expr | None = None
    widths: tuple[str, ...] = field(default=(), repr=False)
    text: str = field(default="", compare=False, repr=False)


@dataclass(frozen=True)
class SampleSyntax:
    """`n% SAMPLE` as it was written."""

    offset: int
    percent: Decimal


def read_window(text: str, tokens: Sequence[Token], offset: int) -> WindowSyntax:
    """Read a window from the tokens between its brackets."""
    reader = Reader(text, tokens)
    try:
        return _window(reader, offset)
    except Error as error:
        raise error.at(text, offset) from error


_STOPS = ("PRECEDING", "SLIDE", "WHERE", "EVERY", "ROWS", "RANGE", "OF")


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
                    if reader.accept("OF"):
                        parts["widths"] = tuple(reader.names())
            else:
                break
            reader.accept("PRECEDING")
    reader.accept("PRECEDING")
    if "hop" not in parts and reader.accept("SLIDE"):
        if not slides:
            reader.fail("SLIDE needs a range or a number of rows before it")
        if "rows" in parts and "range" not in parts:
            parts["slide_rows"] = _count(reader, "SLIDE")
        else:
            parts["slide"] = reader.duration(_STOPS)
    if reader.accept("WHERE"):
        parts["where"] = _condition(reader)
    if not reader.done:
        reader.fail("the window should end here", _instead(reader, parts), known=_STOPS[:-1])
    if "partition_by" in parts and "rows" not in parts:
        reader.fail("PARTITION BY needs ROWS", "as in [PARTITION BY a ROWS 10]")
    if "rows" in parts and "range" in parts and "partition_by" not in parts:
        reader.fail("ROWS and RANGE together need PARTITION BY")
    parts["text"] = reader.text[offset : reader.tokens[-1].end + 1] if reader.tokens else ""
    return WindowSyntax(offset, **parts)  # type: ignore[arg-type]  # keys are the fields' names


def _instead(reader: Reader, parts: Mapping[str, object]) -> str | None:
    """Return what somebody may mean who goes on behind a window."""
    unit = reader.tokens[reader.position].text.upper()
    if "rows" in parts and is_unit(unit):
        return f"ROWS counts rows; a length of time is RANGE, as in [RANGE {parts['rows']} {unit}]"
    if "hop" in parts:
        return "[TUMBLE w] ends here; [HOP w EVERY s] moves on by s"
    if "partition_by" in parts and "rows" not in parts:
        return "as in [PARTITION BY a ROWS 10]"
    return None


def _count(reader: Reader, word: str) -> int:
    at = reader.offset
    if reader.done:
        reader.fail(f"{word} needs a number of rows", f"as in [{word} 10]")
    number = reader.word()
    if number == "-" and not reader.done:
        number += reader.word()
    while are_digits(number) and reader.accept(","):
        # thousands, as in [ROWS 10,000]
        number += _three_digits(reader, word)
    if not are_digits(number) or not int(number):
        raise ParseError(f"{word} needs a whole number of at least 1, not {number}").at(
            reader.text, at
        )
    if int(number) > MAX_ROWS:
        raise ParseError(
            f"{word} needs a number of at most {MAX_ROWS}, not {number}",
            hint="[RANGE UNBOUNDED] has all rows",
        ).at(reader.text, at)
    return int(number)


def _three_digits(reader: Reader, word: str) -> str:
    at = reader.offset
    digits = reader.word()
    if len(digits) != 3 or not are_digits(digits):
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
    condition = expression_of(reader.text, rest)
    reader.position = len(reader.tokens)
    if not isinstance(condition, (exp.Condition, exp.Subquery)):
        raise ParseError("WHERE in a window needs one condition, and ends it").at(
            reader.text, rest[0].start
        )
    return condition
