"""Instants: what a raw time means, and how an instant is shown.

A raw time is a number of microseconds since 1970-01-01 UTC on wall-clock time, and the instant
itself on integer time. An instant is the number of the granule that a raw time falls into.
"""

from __future__ import annotations

import datetime

from cqlduck.rewrite.time import Clock


def closes(clock: Clock, raw: int) -> int:
    """Return the last instant that a heartbeat of a raw time closes."""
    return (raw + 1) // clock.granularity - 1 if clock.kind == "wall" else raw


def heartbeat_after(clock: Clock, raw: int, bound: int) -> int:
    """Return the heartbeat that a stream gives itself after a timestamp: m − b − 1."""
    return closes(clock, raw - bound - 1)


def instant_of(clock: Clock, raw: int) -> int:
    """Return the instant of a raw time."""
    return raw // clock.granularity if clock.kind == "wall" else raw


def instant_sql(clock: Clock, raw: str) -> str:
    """Return the instant of a raw time as SQL."""
    g = clock.granularity
    if clock.kind == "integer" or g == 1:
        return raw
    return f"(({raw}) - ((({raw}) % {g}) + {g}) % {g}) // {g}"


def shown_raw(clock: Clock, raw: int | None) -> str:
    """Return a raw time as people write it."""
    if raw is None:
        return "none"
    if clock.kind == "integer":
        return str(raw)
    try:
        epoch = datetime.datetime(1970, 1, 1)
        return str(epoch + datetime.timedelta(microseconds=raw))
    except OverflowError:
        return f"{raw} µs"


def shown_instant(clock: Clock, instant: int | None) -> str:
    """Return an instant as people write it."""
    return shown_raw(clock, None if instant is None else instant * clock.granularity)


def public(clock: Clock, instant: int | None) -> int | datetime.datetime | None:
    """Return an instant as Python sees it: an int, or a naive datetime in UTC."""
    if instant is None or clock.kind == "integer":
        return instant
    epoch = datetime.datetime(1970, 1, 1)
    return epoch + datetime.timedelta(microseconds=instant * clock.granularity)
