"""Time: instants, raw times, durations, and the clock of a database.

A raw time is a time as data has it, an instant the number of the granule that it falls into, a
BIGINT. Windows and laws are written in instants and durations, whatever the kind of time. `Clock`
converts durations as they are written; `state.instants` converts raw times.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import NewType

from cqlduck.errors import BindError, ParseError
from cqlduck.rewrite.text.spelling import suggestion

Instant = NewType("Instant", int)
"""A point of a database's time: the number of a granule, or the integer of integer time."""

RawTime = NewType("RawTime", int)
"""A time as data has it: microseconds since 1970-01-01 UTC, or the integer of integer time."""

Duration = NewType("Duration", int)
"""A number of instants."""

ZERO = Duration(0)
"""The duration of [NOW]."""

RawDuration = NewType("RawDuration", int)
"""A difference of raw times: microseconds, or a number of instants on integer time."""

MICROSECONDS: dict[str, int] = {
    "MICROSECOND": 1,
    "US": 1,
    "MILLISECOND": 1_000,
    "MS": 1_000,
    "SECOND": 1_000_000,
    "SEC": 1_000_000,
    "S": 1_000_000,
    "MINUTE": 60_000_000,
    "MIN": 60_000_000,
    "M": 60_000_000,
    "HOUR": 3_600_000_000,
    "H": 3_600_000_000,
    "DAY": 86_400_000_000,
    "D": 86_400_000_000,
    "WEEK": 604_800_000_000,
}
"""Microseconds in each fixed unit; plurals are read too."""

MAX_DURATION = Duration(2**62)
"""The longest duration, in instants or microseconds: what it is added to has as many at most."""

BEGINNING = Instant(-(2**63) + 1)
"""The instant before all others.

A change of a relation without an instant has this one if the relation has no heartbeat and no
element with an instant yet. A query's first tick reads such elements, as its `$low` is the least
BIGINT, which is less. They do not decide at which instant a query begins.
"""

_PLURALS = ("WEEKS", "DAYS", "HOURS", "MINUTES", "SECONDS", "MILLISECONDS", "MICROSECONDS")
UNFIXED = {"MONTH", "QUARTER", "YEAR", "DECADE", "CENTURY", "MILLENNIUM"}


@dataclass(frozen=True)
class WrittenDuration:
    """A length of time as it was written: `microseconds`, or a bare number of `instants`."""

    microseconds: Fraction | None
    instants: Fraction | None
    offset: int | None = None

    def __post_init__(self) -> None:
        """Refuse a duration that is both or neither."""
        if (self.microseconds is None) == (self.instants is None):
            raise ValueError("a duration is either in units or in instants")

    @property
    def shown(self) -> str:
        """The duration as people read it: a number of instants, or seconds."""
        if self.microseconds is None:
            return f"{float(self.instants or 0):g}"
        seconds, rest = divmod(int(self.microseconds), MICROSECONDS["SECOND"])
        shown = f"{seconds}{f'.{rest:06}'.rstrip('0') if rest else ''}"
        return f"{shown} second{'' if shown == '1' else 's'}"


@dataclass(frozen=True)
class Clock:
    """What an instant of a database is.

    Args:
        kind: 'integer' or 'wall'.
        granularity: Microseconds in an instant of wall-clock time.
        instant: Microseconds that an instant of integer time stands for.
    """

    kind: str
    granularity: int = 1
    instant: int = 1_000_000

    def __post_init__(self) -> None:
        """Refuse a clock that does not move."""
        if self.kind not in ("integer", "wall"):
            raise ValueError(f"unknown kind of time: {self.kind}")
        if self.granularity < 1 or self.instant < 1:
            raise ValueError("granularity and instant are at least one microsecond")

    @property
    def public_type(self) -> str:
        """The DuckDB type in which people see instants."""
        return "BIGINT" if self.kind == "integer" else "TIMESTAMP"

    @property
    def unit(self) -> int:
        """Microseconds in an instant."""
        return self.instant if self.kind == "integer" else self.granularity

    def instants(self, duration: WrittenDuration, *, rounded_up: bool = False) -> Duration:
        """Return a duration as a whole number of instants, rounded down.

        Args:
            duration: The duration.
            rounded_up: Whether it is rounded up instead, as for (τ−w, τ], which holds the instants
                after τ−w.

        Raises:
            BindError: A bare number on wall-clock time.
        """
        exact = self.exact(duration)
        return Duration(math.ceil(exact) if rounded_up else math.floor(exact))

    def exact(self, duration: WrittenDuration) -> Fraction:
        """Return a duration in instants.

        Raises:
            BindError: A bare number on wall-clock time.
        """
        if duration.microseconds is not None:
            return duration.microseconds / self.unit
        if self.kind == "wall":
            raise BindError(
                "a bare number is not a duration on wall-clock time",
                hint="write a unit, as in RANGE 30 SECONDS",
            )
        assert duration.instants is not None
        return duration.instants


_HOURS = re.compile(r"(?:^|\s)\s*([0-9]+):([0-5][0-9]):([0-5][0-9](?:\.[0-9]+)?)$")
"""Hours, minutes and seconds as DuckDB writes them of an INTERVAL, behind its days."""


def _without_hours(text: str) -> tuple[str, Fraction | None]:
    """Return what stands before hours, minutes and seconds, and these in microseconds, or None."""
    found = _HOURS.search(text)
    if found is None:
        return text, None
    units = (MICROSECONDS["HOUR"], MICROSECONDS["MINUTE"], MICROSECONDS["SECOND"])
    parts = (Fraction(n) * unit for n, unit in zip(found.groups(), units, strict=True))
    return text[: found.start()], sum(parts, Fraction(0))


_PART = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)")


def is_unit(word: str) -> bool:
    """Return whether a word is a unit of time of fixed length.

    >>> is_unit("SECONDS"), is_unit("min"), is_unit("ROWS")
    (True, True, False)
    """
    upper = word.upper()
    return upper in MICROSECONDS or upper.removesuffix("S") in MICROSECONDS


def parse_duration(text: str, offset: int | None = None) -> WrittenDuration:
    """Read `5 MINUTES`, `INTERVAL '5 minutes'`, `'90 seconds'`, `'1 day 00:30:00'` or `120`.

    >>> parse_duration("1 hour 30 minutes").microseconds
    Fraction(5400000000, 1)
    >>> parse_duration("01:30:00").microseconds
    Fraction(5400000000, 1)
    >>> parse_duration("120").instants
    Fraction(120, 1)

    Raises:
        ParseError: No duration, a unit of no fixed length, or more than `MAX_DURATION`.
    """
    body = text.strip()
    if body.upper().startswith("INTERVAL"):
        body = body[len("INTERVAL") :].strip()
    quoted = re.fullmatch(r"'([^']*)'\s*([A-Za-z]*)", body)
    if quoted:
        body = f"{quoted[1]} {quoted[2]}".strip()
    body, hours = _without_hours(body)
    position, total, bare = 0, hours or Fraction(0), None
    while position < len(body):
        part = _PART.match(body, position)
        if part is None or (bare is not None):
            raise ParseError(
                f"no duration: {text.strip() or 'nothing'}",
                hint="write a number and a unit, as in 30 SECONDS or 1 HOUR 30 MINUTES",
            )
        number, unit = Fraction(part[1]), part[2].upper()
        if not unit:
            if position or hours is not None:
                raise ParseError(f"a number without a unit in {text.strip()}")
            bare = number
        else:
            singular = unit
            if unit not in MICROSECONDS and unit.endswith("S"):
                singular = unit[:-1]
            if singular in UNFIXED or unit in UNFIXED or singular == "CENTURIE":
                raise ParseError(
                    f"{unit} has no fixed length",
                    hint="use DAYS, HOURS, MINUTES, SECONDS or smaller units",
                )
            if singular not in MICROSECONDS:
                raise ParseError(
                    f"unknown unit {unit}",
                    hint=suggestion(unit, _PLURALS, f"use {', '.join(_PLURALS)}", every=False),
                )
            total += number * MICROSECONDS[singular]
        position = part.end()
    if bare is None and hours is None and not body:
        raise ParseError("a duration is missing", hint="write a number and a unit: 30 SECONDS")
    if (total if bare is None else bare) > MAX_DURATION:
        unit = "microseconds" if bare is None else "instants"
        raise ParseError(
            f"{text.strip()} is too long",
            hint=f"at most {MAX_DURATION} {unit}; a window RANGE UNBOUNDED has no end",
        )
    if bare is not None:
        return WrittenDuration(None, bare, offset)
    return WrittenDuration(total, None, offset)
