"""Writing batches: under a hidden name first, then renamed into place."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from cqlduck.errors import DropZoneError, kind_of
from cqlduck.sources import checksums
from cqlduck.sources.dropzone.arrow import Extent, extent, schema_names
from cqlduck.sources.dropzone.batches import batch_folder, is_there
from cqlduck.sources.dropzone.manifest import (
    MANIFEST,
    VERSION,
    Manifest,
    batch_name,
    refuse_unreadable,
)
from cqlduck.sources.dropzone.refusals import writing
from cqlduck.sources.dropzone.times import raw_time


def hidden_folder(folder: Path, number: int) -> Path:
    """Create and return a new folder for `publish`, which no reader sees."""
    hidden = folder / f".{batch_name(number)}-{uuid.uuid4().hex}"
    with writing(folder, number):
        hidden.mkdir(parents=True)
    return hidden


def publish(hidden: Path, manifest: Manifest) -> bool:
    """Put a batch in place: add its manifest with checksums, make it durable, rename its folder.

    Args:
        hidden: A folder in the stream's folder with the files that the manifest lists. It is gone
            afterwards, whatever happens.
        manifest: What the batch says about itself.

    Returns:
        True, or False if a batch with this number was there already; it is left as it is.

    Raises:
        DropZoneError: It cannot be written.
    """
    try:
        with writing(hidden.parent, manifest.batch):
            return _publish(hidden, manifest)
    finally:
        shutil.rmtree(hidden, ignore_errors=True)


def _publish(hidden: Path, manifest: Manifest) -> bool:
    target = batch_folder(hidden.parent, manifest.batch)
    if target.exists():
        return False
    sums = {name: checksums.of_file(hidden / name) for name in manifest.files}
    text = replace(manifest, checksums=sums).to_json()
    path = hidden / MANIFEST
    path.write_text(text, encoding="utf-8")
    _refuse_unreadable(path, text, manifest.batch)
    for name in (*manifest.files, MANIFEST):
        _sync(hidden / name)
    _sync(hidden)
    try:
        hidden.rename(target)
    except OSError:
        # Another writer was first: a folder that is not empty cannot be replaced.
        if not target.exists():
            raise
        return False
    _sync(hidden.parent)
    return True


def _refuse_unreadable(path: Path, text: str, batch: int) -> None:
    """Refuse a manifest that no reader would take: the stream would wait there for ever.

    Raises:
        DropZoneError: What is wrong with it.
    """
    try:
        refuse_unreadable(text, path)
    except DropZoneError as error:
        what = error.message.removeprefix(f"{path}: ")
        raise DropZoneError(
            f"batch {batch} of {path.parent.parent} cannot be written: {what}",
            hint="a reader would refuse it; nothing of it is visible",
        ) from error


def _sync(path: Path) -> None:
    if os.name == "nt" and path.is_dir():
        return  # Windows cannot open a folder, and makes a rename durable by itself.
    handle = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class BatchWriter:
    """Writes the batches of one stream or relation, without Spark.

    Args:
        root: The drop zone.
        name: The stream's folder in it, one name.
        ts: The column with the timestamps.
    """

    def __init__(self, root: str | Path, name: str, *, ts: str = "_ts") -> None:
        """Check the name; nothing is created yet."""
        self.folder = stream_folder(root, name)
        self.ts = ts

    def write_batch(
        self, batch: int, data: Any = None, *, heartbeat: int | datetime | None = None
    ) -> bool:
        """Write one batch; writing it again is harmless.

        Args:
            batch: Its number, from 0.
            data: Rows in arrival order: an Arrow table, or anything that exports an Arrow stream (a
                DuckDB relation, a pandas or polars frame). None, or no rows: only a heartbeat.
            heartbeat: No element up to this time is still to come: an instant of integer time or a
                `datetime` (UTC if it has no time zone), like the timestamps. None for no promise.

        Returns:
            True, or False if the batch is there already.

        Raises:
            DropZoneError: The rows lack timestamps, or have a type that a batch cannot hold; or it
                cannot be written, and nothing of it is visible.
        """
        refuse_no_number(batch)
        if is_there(self.folder, batch):
            return False
        table = _in_utc(_table(data))
        if len(table):
            refuse_without_times(table.column_names, self.ts)
        reach = extent(table[self.ts], self.ts) if len(table) else None
        files = ("part-0.parquet",) if reach else ()
        manifest = describe(self.folder.name, batch, reach, heartbeat, files, table.schema)
        hidden = hidden_folder(self.folder, batch)
        try:
            with writing(self.folder, batch):
                for name in files:
                    pq.write_table(table, hidden / name)
        except BaseException:
            shutil.rmtree(hidden, ignore_errors=True)
            raise
        return publish(hidden, manifest)


def write_batch(
    root: str | Path,
    name: str,
    batch: int,
    data: Any = None,
    *,
    ts: str = "_ts",
    heartbeat: int | datetime | None = None,
) -> bool:
    """Write one batch of the stream or relation `name`; see `BatchWriter`."""
    return BatchWriter(root, name, ts=ts).write_batch(batch, data, heartbeat=heartbeat)


def stream_folder(root: str | Path, name: str) -> Path:
    """Return the folder of a stream in the drop zone `root`.

    Raises:
        DropZoneError: `name` is not one visible name.
    """
    if not name or name[0] in "._" or any(part in name for part in ("/", "\\", "\0")):
        raise DropZoneError(
            f"{name!r} cannot be the name of a stream's folder",
            hint="use one name without slashes that starts with neither '.' nor '_'",
        )
    return Path(root) / name


def refuse_no_number(batch: object) -> None:
    """Refuse what is not the number of a batch.

    Raises:
        DropZoneError: It is no integer, or negative.
    """
    if not isinstance(batch, int) or isinstance(batch, bool) or batch < 0:
        raise DropZoneError(f"a batch cannot have the number {batch!r}", hint="count from 0")


def _table(data: Any) -> pa.Table:
    """Return rows as an Arrow table.

    Raises:
        DropZoneError: Arrow cannot read them.
    """
    try:
        return pa.table({} if data is None else data)
    except (pa.ArrowException, TypeError, ValueError, AttributeError) as error:
        raise DropZoneError(
            f"a batch cannot be made of {kind_of(data)}: {str(error).splitlines()[0]}",
            hint="pass an Arrow table, or a frame or relation that exports one, such as "
            "pa.Table.from_pylist(rows)",
        ) from error


def refuse_without_times(names: Sequence[str], ts: str) -> None:
    """Refuse rows without a column for the timestamps.

    Raises:
        DropZoneError: It is not among these names.
    """
    if ts not in names:
        raise DropZoneError(
            f"there is no column {ts!r} for the timestamps, only " + ", ".join(names),
            hint="name it with ts=…",
        )


def describe(
    stream: str,
    batch: int,
    reach: Extent | None,
    heartbeat: int | datetime | None,
    files: Sequence[str],
    schema: pa.Schema,
) -> Manifest:
    """Return the manifest of a batch that is about to be written.

    Args:
        stream: Name of the stream's folder.
        batch: Number of the batch.
        reach: Extent of the rows; None if there are none.
        heartbeat: See `BatchWriter.write_batch`.
        files: Names of the Parquet files in arrival order.
        schema: Columns of the rows.

    Raises:
        DropZoneError: The number is negative, or heartbeat and timestamps are of different kinds.
    """
    refuse_no_number(batch)
    wall_clock = reach.wall_clock if reach else None
    promised = None
    if heartbeat is not None:
        if not isinstance(heartbeat, (int, datetime)) or isinstance(heartbeat, bool):
            raise DropZoneError(
                f"the heartbeat {heartbeat!r} is no time",
                hint="give a datetime for wall-clock time and an int for integer time",
            )
        promised, kind = raw_time(heartbeat)
        if wall_clock is not None and kind != wall_clock:
            raise DropZoneError(
                f"the heartbeat is {'wall-clock' if kind else 'integer'} time, "
                "the timestamps are not",
                hint="give a datetime for wall-clock time and an int for integer time",
            )
        wall_clock = kind
    return Manifest(
        version=VERSION,
        stream=stream,
        batch=batch,
        rows=reach.rows if reach else 0,
        min_ts=reach.min_ts if reach else None,
        max_ts=reach.max_ts if reach else None,
        heartbeat=promised,
        files=tuple(files),
        schema=schema_names(schema),
        wall_clock=wall_clock,
    )


def _in_utc(table: pa.Table) -> pa.Table:
    """Return `table` with plain UTC timestamps for those that have a time zone."""
    for i, column in enumerate(table.schema):
        if pa.types.is_timestamp(column.type) and column.type.tz is not None:
            plain = table.column(i).cast(pa.timestamp(column.type.unit))
            table = table.set_column(i, column.name, plain)
    return table
