"""Claims: the manifest's statements about a batch, compared with its files.

A manifest that is wrong about its rows belongs to other files, or to files that were exchanged or
truncated later; nothing of such a batch is consumed. Manifests that are made from a log (see
`sparksink`) claim no times.
"""

from __future__ import annotations

from collections.abc import Sequence

from cqlduck.errors import DropZoneError
from cqlduck.rewrite.plan import Column
from cqlduck.rewrite.text.time import Clock, RawTime
from cqlduck.sources.dropzone import Batch
from cqlduck.state import arrivals, instants
from cqlduck.state.arrivals import Survey
from cqlduck.state.connection import Database
from cqlduck.state.types import NANOSECONDS

EXACT = ("TIMESTAMP", "TIMESTAMP WITH TIME ZONE", "TIMESTAMP_NS", NANOSECONDS)
"""The types that hold a manifest's microseconds as they are."""


def check(
    database: Database, clock: Clock, times: Column, batch: Batch, parts: Sequence[Survey]
) -> None:
    """Refuse a batch that does not hold what its manifest says.

    Args:
        database: The database.
        clock: The clock.
        times: The column of the timestamps, and as what it is read.
        batch: The batch.
        parts: What a scan of the timestamps tells, of all files or of each.

    Raises:
        DropZoneError: It has other rows, or other least or greatest timestamps.
    """
    problem = mismatch(database, clock, times, batch, parts)
    if problem is not None:
        raise DropZoneError(
            f"{batch.folder} {problem}",
            hint="write the batch again under a hidden name and rename it into place",
        )


def is_as_said(clock: Clock, times: Column, batch: Batch, seen: Survey) -> bool:
    """Return whether a batch holds what its manifest says, as far as that is known without DuckDB.

    For the arguments see `check`.
    """
    if clock.kind == "wall" and times.type not in EXACT:
        return False
    return mismatch(None, clock, times, batch, [seen]) is None


def mismatch(
    database: Database | None, clock: Clock, times: Column, batch: Batch, parts: Sequence[Survey]
) -> str | None:
    """Return what a manifest says that is not so, or None; for the arguments see `check`."""
    manifest = batch.manifest
    count = sum(part.count for part in parts)
    if count != manifest.rows:
        return f"has {count} rows, and its manifest says {manifest.rows}"
    lows = [part.lowest for part in parts if part.lowest is not None]
    highs = [part.highest for part in parts if part.highest is not None]
    # rows without a timestamp are refused as such
    is_stamped = all(part.stamped == part.count for part in parts)
    if manifest.min_ts is None or manifest.max_ts is None or not lows or not is_stamped:
        return None
    if manifest.wall_clock != (clock.kind == "wall"):
        kind = "wall-clock time" if manifest.wall_clock else "integers"
        return f"has other times than its manifest, which gives {kind}"
    written = {name.casefold(): kind for name, kind in manifest.schema}
    # DuckDB rounds nanoseconds, and a manifest has them cut off
    is_finer = written.get(times.name.casefold()) in ("TIMESTAMP_NS", NANOSECONDS)
    for word, found, raw in (
        ("least", min(lows), manifest.min_ts),
        ("greatest", max(highs), manifest.max_ts),
    ):
        said = _read(database, clock, times, raw)
        if found != said and not (
            is_finer and found == _read(database, clock, times, RawTime(raw + 1))
        ):
            here, there = (instants.shown_raw(clock, time) for time in (found, said))
            return f"has the {word} timestamp {here}, and its manifest says {there}"
    return None


def _read(database: Database | None, clock: Clock, times: Column, raw: RawTime) -> RawTime:
    """Return a manifest's time as it is read as the type of a column: a DATE is its midnight."""
    if clock.kind == "integer" or times.type in EXACT:
        return raw
    assert database is not None
    value = f"CAST(make_timestamp({raw}) AS {times.type})"
    return RawTime(database.value(f"SELECT {arrivals.raw_sql(clock, value, times.type)}"))
