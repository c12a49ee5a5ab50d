"""Instants: what a raw time means, and how an instant is shown.

A raw time is a number of microseconds since 1970-01-01 UTC on wall-clock time, and the instant
itself on integer time. An instant is the number of the granule that a raw time falls into.
"""

from __future__ import annotations

import datetime

from cqlduck.rewrite.text.time import BEGINNING, Clock, Instant, RawDuration, RawTime

MAX_RAW_TIME = 2**62
"""How far a raw time is from 0 at most, so that windows beyond it can be counted."""

RANGE = "times are from 144169 BC to the year 148107, so that windows beyond can be counted"

_CYCLE = 400 * 365 + 97
"""The days of 400 years, after which the calendar begins anew."""


def closes(clock: Clock, raw: RawTime) -> Instant:
    """Return the last instant that a heartbeat of a raw time closes."""
    return Instant((raw + 1) // clock.granularity - 1 if clock.kind == "wall" else raw)


def heartbeat_after(clock: Clock, raw: RawTime, bound: RawDuration) -> Instant:
    """Return the heartbeat that a stream gives itself after a timestamp: m − b − 1.

    It is not before the last time that is before all that can come.
    """
    return closes(clock, RawTime(max(raw - bound - 1, -MAX_RAW_TIME - 1)))


def instant_of(clock: Clock, raw: RawTime) -> Instant:
    """Return the instant of a raw time; the beginning of time is one too."""
    if int(raw) == BEGINNING:
        return BEGINNING
    return Instant(raw // clock.granularity if clock.kind == "wall" else raw)


def raw_of(clock: Clock, instant: Instant) -> RawTime:
    """Return the first raw time of an instant."""
    return RawTime(instant * clock.granularity)


def instant_sql(clock: Clock, raw: str) -> str:
    """Return the instant of a raw time as SQL."""
    g = clock.granularity
    if clock.kind == "integer" or g == 1:
        return raw
    return f"(({raw}) - ((({raw}) % {g}) + {g}) % {g}) // {g}"


def shown_raw(clock: Clock, raw: RawTime | None) -> str:
    """Return a raw time as people write it."""
    if raw is None:
        return "none"
    return str(raw) if clock.kind == "integer" else str(as_datetime(raw))


def as_datetime(raw: RawTime) -> datetime.datetime | str:
    """Return microseconds since 1970 as a naive datetime, or as DuckDB shows it if it is none.

    >>> as_datetime(0), as_datetime(253_402_300_800_000_000), as_datetime(-62_135_596_800_000_001)
    (datetime.datetime(1970, 1, 1, 0, 0), '10000-01-01 00:00:00', '0001-12-31 (BC) 23:59:59.999999')
    """
    days, micros = divmod(raw, 86_400_000_000)
    cycles = (days + 719_162) // _CYCLE
    inside = datetime.datetime(1970, 1, 1) + datetime.timedelta(days - cycles * _CYCLE)
    inside += datetime.timedelta(microseconds=micros)
    year = inside.year + 400 * cycles
    if 1 <= year <= 9999:
        return inside.replace(year=year)
    era = " (BC)" if year < 1 else ""
    return f"{1 - year if year < 1 else year:04d}-{inside:%m-%d}{era} {inside.time()}"


def shown_instant(clock: Clock, instant: Instant | None) -> str:
    """Return an instant as people write it."""
    return shown_raw(clock, None if instant is None else raw_of(clock, instant))


def public(clock: Clock, instant: Instant | None) -> int | datetime.datetime | str | None:
    """Return an instant as Python sees it: an int, or a naive datetime in UTC.

    One of a year that Python has not is a text, as DuckDB gives it.
    """
    if instant is None or clock.kind == "integer":
        return instant
    return as_datetime(raw_of(clock, instant))
