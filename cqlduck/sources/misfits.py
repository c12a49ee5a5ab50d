"""Errors in the rows of a batch: the file, the row in it and the column.

They are searched for after an error, file by file; see `cqlduck.data.place`.
"""

from __future__ import annotations

from pathlib import Path

import duckdb

from cqlduck import matching
from cqlduck.data import place
from cqlduck.errors import DataError, DropZoneError, first_line
from cqlduck.rewrite.plan import Column
from cqlduck.rewrite.text.time import Clock
from cqlduck.sources import columns
from cqlduck.sources.dropzone import Batch
from cqlduck.state import arrivals
from cqlduck.state.connection import literal
from cqlduck.state.registered import Input

_REPLACE = "was a file truncated while it was copied? Replace the folder by a complete one"


def told(clock: Clock, thing: Input, batch: Batch, error: DataError) -> DropZoneError:
    """Return what to say of a batch whose rows do not fit: which of them, if one is to blame.

    Args:
        clock: The clock.
        thing: The stream or relation.
        batch: The batch.
        error: What was said of its rows, counted through all of its files.
    """
    if isinstance(error.__cause__, duckdb.Error):
        return _misfit(clock, thing, batch, error)
    spot = None if error.row is None else _spot(batch, error.row)
    if spot is None:
        return DropZoneError(f"{batch.folder}: {error.message}", hint=error.hint)
    file, row = spot
    if len(batch.files) == 1:
        return DropZoneError(f"{file}: {error.message}", hint=error.hint)
    return DropZoneError(
        f"{batch.folder}: {error.message}; of the batch's rows that is row {row} of {file.name}",
        hint=error.hint,
    )


def unreadable(batch: Batch, error: duckdb.Error) -> DropZoneError:
    """Return what to say of a batch of which DuckDB cannot read a file: which one, and why."""
    for file in batch.files:
        try:
            _count(file)
        except duckdb.Error as own:
            return DropZoneError(f"{file} cannot be read: {first_line(own)}", hint=_REPLACE)
    return DropZoneError(
        f"the files of {batch.folder} cannot be read: {first_line(error)}", hint=_REPLACE
    )


def _misfit(clock: Clock, thing: Input, batch: Batch, error: DataError) -> DropZoneError:
    """Return the error of a value that cannot be cast, with its place if it is found."""
    for file in batch.files:
        try:
            count = _count(file)
            found = place.of_misfit_in_file(file, count, _casts(clock, thing, batch, file))
        except duckdb.Error as own:
            return DropZoneError(f"{file} cannot be read: {first_line(own)}", hint=_REPLACE)
        except DropZoneError as own:
            return own
        if found is not None:
            return DropZoneError(
                f"{file}: row {found.row} does not fit {thing.kind} {thing.name}: "
                f"{found.field}: {found.why}",
                hint=error.hint,
            )
    return DropZoneError(f"{batch.folder}: {error.message}", hint=error.hint)


def _casts(clock: Clock, thing: Input, batch: Batch, file: Path) -> list[tuple[str, str]]:
    """Return the columns of a file that are taken, and the cast of each as SQL over it."""
    described = place.scratch().execute(f"DESCRIBE SELECT * FROM {_source(file)}").fetchall()
    there = matching.named(Column(name, kind) for name, kind, *_ in described)
    given = columns.matched(thing, batch.folder, there)
    casts = [
        (own.name, arrivals.cast(mine, own.type))
        for mine, own in zip(given, thing.columns, strict=True)
    ]
    # a date may fit its column, and be beyond all timestamps
    casts.append((thing.timestamp_by or "_ts", matching.stamp(clock, thing, there)))
    return casts


def _spot(batch: Batch, row: int) -> tuple[Path, int] | None:
    """Return where a row of a batch lies, or None if a file cannot be read."""
    for file in batch.files:
        try:
            count = _count(file)
        except duckdb.Error:
            return None
        if row < count:
            return file, row
        row -= count
    return None


def _count(file: Path) -> int:
    """Return how many rows a file has; all of it is read.

    Raises:
        duckdb.Error: It cannot be.
    """
    rows = place.scratch().execute(
        f"SELECT count(*), bit_xor(hash(read)) FROM {_source(file)} AS read"
    )
    return int(rows.fetchall()[0][0])


def _source(file: Path) -> str:
    return f"read_parquet([{literal(str(file))}], hive_partitioning = false)"
