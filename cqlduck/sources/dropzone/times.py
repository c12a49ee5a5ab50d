"""Times of a manifest: integers, or wall-clock time as ISO 8601 in UTC with `Z`.

In Python both are a `RawTime`: the instants of integer time as they are, or microseconds since
1970-01-01 with `wall_clock` true.
"""

from __future__ import annotations

import contextlib
import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cqlduck.errors import DropZoneError
from cqlduck.rewrite.text.time import RawTime
from cqlduck.sources.dropzone.refusals import wrong

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_WALL_CLOCK = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z", re.ASCII)


def raw_time(moment: int | datetime) -> tuple[RawTime, bool]:
    """Return a time as a raw time, and whether it is wall-clock time.

    Args:
        moment: An instant of integer time, or a `datetime` (UTC if it has no time zone).

    Returns:
        (instant, False), or (microseconds since 1970-01-01 UTC, True).
    """
    if isinstance(moment, datetime):
        aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return RawTime((aware - _EPOCH) // _MICROSECOND), True
    return RawTime(moment), False


def format_time(value: RawTime | None, wall_clock: bool | None) -> int | str | None:
    """Return a time as a manifest has it.

    Raises:
        DropZoneError: It is outside of the years 1 to 9999.
    """
    if value is None or not wall_clock:
        return value
    try:
        moment = _EPOCH + value * _MICROSECOND
    except OverflowError:
        raise DropZoneError(
            f"{value} microseconds since 1970 is outside of the years 1 to 9999",
            hint="a manifest's times are ISO 8601; leave such rows out",
        ) from None
    return moment.replace(tzinfo=None).isoformat() + "Z"


def parse_time(value: object, key: str, path: Path) -> tuple[RawTime, bool] | None:
    """Return a manifest's time as an integer, and whether it is wall-clock time; None for null.

    Args:
        value: The time.
        key: What it is the time of.
        path: The manifest's path.

    Raises:
        DropZoneError: It is no time.
    """
    if value is None:
        return None
    if isinstance(value, int) and not isinstance(value, bool):
        if not -(2**63) <= value < 2**63:
            raise wrong(path, f"'{key}' does not fit a BIGINT: {value}")
        return RawTime(value), False
    if isinstance(value, str) and _WALL_CLOCK.fullmatch(value):
        with contextlib.suppress(ValueError):
            return raw_time(datetime.fromisoformat(value))
    raise wrong(
        path,
        f"'{key}' is not a time: {json.dumps(value)}",
        'times are integers, or ISO 8601 in UTC such as "2013-02-11T05:02:00Z" '
        "with at most six digits after the second",
    )
