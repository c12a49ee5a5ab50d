"""Times that callers pass to `at`, `heartbeat`, `advance` and `as_of`, as raw times, instants."""

from __future__ import annotations

import datetime
from typing import Any

import duckdb

from cqlduck.data.plain import plain, shown
from cqlduck.engine import Engine
from cqlduck.errors import DataError
from cqlduck.rewrite.text.time import Instant, RawTime
from cqlduck.state import instants

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)

_HINT = "write it as '2013-01-01 12:00', in UTC"


def raw_time(engine: Engine, moment: Any) -> RawTime:
    """Return a moment as a raw time, and settle the kind of time if it is open.

    Args:
        engine: The engine, inside a change.
        moment: An int (integer time), or a datetime, date, text such as '2013-01-01 12:00', or a
            moment of numpy's or pandas'. Naive moments are UTC.

    Raises:
        DataError: It is no moment, or one of the other kind of time.
    """
    moment = _plain(moment)
    if isinstance(moment, int):
        if abs(moment) > instants.MAX_RAW_TIME:
            raise DataError(
                f"{moment} is out of range",
                hint=f"instants are from -{instants.MAX_RAW_TIME} to {instants.MAX_RAW_TIME}",
            )
        engine.set_time("integer", f"the instant {moment}")
        return RawTime(moment)
    if isinstance(moment, datetime.datetime):
        engine.set_time("wall", f"the instant {moment}")
        aware = moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)
        return RawTime((aware - EPOCH) // datetime.timedelta(microseconds=1))
    shown = str(moment)
    try:
        raw = engine.database.value("SELECT epoch_us(CAST(? AS TIMESTAMPTZ))", [shown])
    except (duckdb.ConversionException, duckdb.InvalidInputException) as error:
        raise DataError(f"{shown!r} is no instant", hint=_hint(engine)) from error
    if raw is None:
        raise DataError(f"{shown!r} is no instant", hint=_hint(engine))
    if abs(raw) > instants.MAX_RAW_TIME:
        raise DataError(f"{shown!r} is out of range", hint=instants.RANGE)
    engine.set_time("wall", f"the instant {shown}")
    return RawTime(int(raw))


def _hint(engine: Engine) -> str:
    """Return how an instant of a database is written."""
    if engine.catalogue.settings.get("time") == "integer":
        return "instants are integers in this database, as in 10"
    return _HINT


def _plain(moment: Any) -> int | str | datetime.datetime | datetime.date:
    """Return a moment as one of Python's.

    Raises:
        DataError: It is none.
    """
    found: Any = None
    if not isinstance(moment, (bool, list, tuple, dict)):
        try:
            found = plain(moment)
        except (ValueError, TypeError, OverflowError):
            found = None
    if isinstance(found, bool) or not isinstance(found, (int, str, datetime.date)):
        raise DataError(
            f"{shown(moment)} is no instant",
            hint="pass an int, a datetime, or a text in ISO 8601",
        )
    return found


def heartbeat_instant(engine: Engine, moment: Any) -> Instant:
    """Return the last instant that a heartbeat of a moment closes."""
    raw = raw_time(engine, moment)
    return instants.closes(engine.clock, raw)


def instant(engine: Engine, moment: Any) -> Instant:
    """Return the instant that a moment falls into."""
    raw = raw_time(engine, moment)
    return instants.instant_of(engine.clock, raw)
