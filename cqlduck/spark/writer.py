"""Writing the drop zone from Spark: DataFrames become batches, complete or not at all.

Spark writes into a hidden folder inside the stream's own; its other files (checksums, markers) are
removed, a manifest is added, and the folder is renamed into place. `cqlduck.sources.dropzone` has
the format and its rules.

Every instant is written as UTC without a time zone, so that DuckDB reads a TIMESTAMP, whatever
Spark's session time zone is. (Spark's default, INT96, has no statistics, and has a time zone.)
"""

from __future__ import annotations

import contextlib
import re
import shutil
import uuid
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from cqlduck.errors import DropZoneError
from cqlduck.sources.dropzone import (
    Extent,
    batch_folder,
    describe,
    extent,
    hidden_folder,
    is_there,
    publish,
    refuse_without_times,
    stream_folder,
    writing,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["StagedBatches", "foreach_batch", "stage_batches", "write_batch", "write_batches_by"]

Heartbeat = int | datetime | None

_KEY = "_cqlduck_batch"
_ARRIVAL = "_cqlduck_arrival"
_EPOCH = "TIMESTAMP_NTZ '1970-01-01 00:00:00'"
_OPTIONS = {
    "compression": "zstd",
    # Checksums and markers would be thrown away; what counts is the rename into place.
    "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
    "mapreduce.fileoutputcommitter.algorithm.version": "2",
}


def write_batch(
    df: DataFrame,
    root: str | Path,
    name: str,
    batch: int,
    *,
    ts: str = "_ts",
    heartbeat: Heartbeat = None,
) -> bool:
    """Write a DataFrame as one batch; writing it again is harmless and runs no Spark job.

    Args:
        df: Rows in arrival order.
        root: The drop zone.
        name: The stream's folder in it.
        batch: Number of the batch, from 0.
        ts: The column with the timestamps, a timestamp, date or integer.
        heartbeat: No element up to this time is still to come: a `datetime` (UTC if it has no time
            zone), or an instant of integer time. None for no promise.

    Returns:
        True, or False if the batch is there already.

    Raises:
        DropZoneError: The rows lack timestamps, or have a type that a batch cannot hold; or the
            batch cannot be written. What Spark's own job raises it raises.
    """
    folder = stream_folder(root, name)
    if is_there(folder, batch):
        return False
    plain = _in_utc(df)
    schema = _arrow_schema(plain)
    _check_timestamps(schema, ts)
    hidden = hidden_folder(folder, batch)
    try:
        parts = hidden / "parts"
        plain.write.options(**_OPTIONS).parquet(str(parts))
        with writing(folder, batch):
            for part in _parquet_files(parts):
                part.rename(hidden / part.name)
            shutil.rmtree(parts)
        return _publish(hidden, name, batch, heartbeat, ts, schema)
    finally:
        shutil.rmtree(hidden, ignore_errors=True)


def write_batches_by(
    df: DataFrame,
    root: str | Path,
    name: str,
    key_column: str,
    first_batch: int = 0,
    *,
    last_batch: int | None = None,
    ts: str = "_ts",
    heartbeats: Callable[[int], Heartbeat] | Mapping[int, Heartbeat] | None = None,
) -> list[int]:
    """Write many batches in one Spark job: rows with the number n in `key_column` are batch n.

    Rows of a batch are sorted by timestamp, then by their order in `df`. A number between
    `first_batch` and the last one without rows becomes a batch with only a heartbeat; batches that
    are there already are left as they are.

    Args:
        df: Rows in arrival order.
        root: The drop zone.
        name: The stream's folder in it.
        key_column: An integer column with the number of a row's batch; it is not written.
        first_batch: The smallest number to write.
        last_batch: The greatest number to write; None for the greatest in `key_column`.
        ts: The column with the timestamps.
        heartbeats: The heartbeat of a batch by its number; None for no promises.

    Returns:
        The numbers of the batches that were put in place by this call.

    Raises:
        DropZoneError: A row's number is NULL or out of range, or see `write_batch`.
    """
    with stage_batches(
        df, root, name, key_column, first_batch, last_batch=last_batch, ts=ts
    ) as staged:
        heartbeat = heartbeats if callable(heartbeats) else (heartbeats or {}).get
        return [n for n in staged.numbers if staged.publish(n, heartbeat(n))]


class StagedBatches:
    """Batches that Spark has written and nobody sees yet; made by `stage_batches`.

    Attributes:
        numbers: Their numbers in order, those without rows and those already in place included.
    """

    def __init__(
        self, staging: Path, name: str, ts: str, schema: pa.Schema, numbers: range
    ) -> None:
        """Take over a folder that Spark has partitioned by batch."""
        self.numbers = numbers
        self._staging = staging
        self._name = name
        self._ts = ts
        self._schema = schema

    def publish(self, number: int, heartbeat: Heartbeat = None) -> bool:
        """Put one of them in place with its heartbeat.

        Returns:
            True, or False if it is there already.
        """
        folder = self._staging.parent
        if is_there(folder, number):
            return False
        hidden = hidden_folder(folder, number)
        with writing(folder, number), contextlib.suppress(FileNotFoundError):
            for part in _parquet_files(self._staging / f"{_KEY}={number}"):
                part.rename(hidden / part.name)
        return _publish(hidden, self._name, number, heartbeat, self._ts, self._schema)


@contextlib.contextmanager
def stage_batches(
    df: DataFrame,
    root: str | Path,
    name: str,
    key_column: str,
    first_batch: int = 0,
    *,
    last_batch: int | None = None,
    ts: str = "_ts",
) -> Iterator[StagedBatches]:
    """Write many batches in one Spark job, and leave it to the caller when each gets into place.

    A context manager: what was not published by its end is thrown away. No job runs if the range
    is in place already. For the arguments and errors see `write_batches_by`.
    """
    from pyspark.sql import functions as F

    folder = stream_folder(root, name)
    plain = _in_utc(df)
    key_type = _arrow_schema(plain.select(key_column)).field(0).type
    if not pa.types.is_integer(key_type):
        raise DropZoneError(
            f"batch numbers in column {key_column!r} are of type {key_type}",
            hint="cast them to an integer",
        )
    schema = _arrow_schema(plain.drop(key_column))
    _check_timestamps(schema, ts)
    staging = folder / f".staging-{uuid.uuid4().hex}"
    numbers = range(first_batch, first_batch if last_batch is None else last_batch + 1)
    try:
        if last_batch is None or not all(batch_folder(folder, n).exists() for n in numbers):
            with writing(folder, first_batch):
                staging.mkdir(parents=True)
            _write_partitioned(
                plain.withColumnRenamed(key_column, _KEY).withColumn(
                    _ARRIVAL, F.monotonically_increasing_id()
                ),
                staging,
                ts,
            )
            numbers = _check_keys(_keys(staging), first_batch, last_batch)
        yield StagedBatches(staging, folder.name, ts, schema, numbers)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def foreach_batch(
    root: str | Path,
    name: str,
    progress: Callable[[], Mapping[str, Any] | None],
    *,
    ts: str = "_ts",
    bound: timedelta = timedelta(0),
) -> Callable[[DataFrame, int], None]:
    """Return a function for `DataStreamWriter.foreachBatch` that writes batch n = epoch n.

        query = df.withWatermark("at", "5 minutes").writeStream.foreachBatch(
            foreach_batch("drop", "flights", lambda: query.lastProgress, ts="at")
        ).start()

    Spark runs an epoch again after a failure; the batch that is there already then stays.

    A batch's heartbeat is the watermark of the progress before it − bound − 1 microsecond, as
    Spark does not hand the watermark of the running epoch over; null while there is none.

    Args:
        root: The drop zone.
        name: The stream's folder in it.
        progress: Gives the query's latest progress, or None. While it raises a NameError, as the
            lambda above does until `start` has returned, there is none.
        ts: The column with the timestamps.
        bound: How far the stream is declared to be out of order.
    """

    def write(df: DataFrame, epoch: int) -> None:
        heartbeat = _watermark(progress)
        if heartbeat is not None:
            heartbeat -= bound + timedelta(microseconds=1)
        write_batch(df, root, name, epoch, ts=ts, heartbeat=heartbeat)

    return write


def _watermark(progress: Callable[[], Mapping[str, Any] | None]) -> datetime | None:
    """Return the watermark of the latest progress; None before there is one."""
    try:
        latest = progress()
    except NameError:
        return None
    text = ((latest or {}).get("eventTime") or {}).get("watermark")
    if text is None:
        return None
    watermark = datetime.fromisoformat(text)
    # Spark's way to say that it has seen no event time yet.
    return watermark if watermark.timestamp() > 0 else None


# --- parts ----------------------------------------------------------------------------------------


def _in_utc(df: DataFrame) -> DataFrame:
    """Return `df` with TIMESTAMP columns as TIMESTAMP_NTZ in UTC."""
    from pyspark.sql import functions as F
    from pyspark.sql.types import TimestampType

    for field in df.schema.fields:
        if isinstance(field.dataType, TimestampType):
            # Not a cast, which would go by way of the session's time zone and its summer time.
            name = field.name.replace("`", "``")
            micros = f"timestampadd(MICROSECOND, unix_micros(`{name}`), {_EPOCH})"
            df = df.withColumn(field.name, F.expr(micros))
    return df


def _arrow_schema(df: DataFrame) -> pa.Schema:
    with warnings.catch_warnings():
        # pyspark warns of new releases of pandas, which is not used here.
        warnings.simplefilter("ignore")
        from pyspark.sql.pandas.types import to_arrow_schema

        return to_arrow_schema(df.schema)


def _check_timestamps(schema: pa.Schema, ts: str) -> None:
    refuse_without_times(schema.names, ts)
    extent(pa.chunked_array([], schema.field(ts).type), ts)


def _write_partitioned(df: DataFrame, staging: Path, ts: str) -> None:
    partitions = df.sparkSession.sparkContext.defaultParallelism
    (
        df.repartition(partitions, _KEY)
        .sortWithinPartitions(_KEY, ts, _ARRIVAL)
        .drop(_ARRIVAL)
        .write.options(**_OPTIONS)
        .mode("append")
        .partitionBy(_KEY)
        .parquet(str(staging))
    )


def _keys(staging: Path) -> list[str]:
    return [entry.name.removeprefix(f"{_KEY}=") for entry in staging.glob(f"{_KEY}=*")]


def _check_keys(keys: Iterable[str], first: int, last: int | None) -> range:
    """Return the numbers from the first to the last batch.

    Raises:
        DropZoneError: A key is no number, or is outside of them.
    """
    numbers = []
    for key in keys:
        number = int(key) if re.fullmatch(r"-?\d+", key, re.ASCII) else None
        if number is None or number < first or (last is not None and number > last):
            shown = "NULL or no number" if number is None else number
            raise DropZoneError(
                f"a row's batch number is {shown}, outside of {first} to "
                + ("…" if last is None else str(last)),
                hint="give every row a number in the range, or filter it out",
            )
        numbers.append(number)
    return range(first, max(numbers, default=first - 1) + 1 if last is None else last + 1)


def _parquet_files(folder: Path) -> list[Path]:
    """Return the Parquet files in a folder by the order of Spark's partitions."""
    return sorted(path for path in folder.iterdir() if path.name.startswith("part-"))


def _publish(
    hidden: Path, name: str, batch: int, heartbeat: Heartbeat, ts: str, schema: pa.Schema
) -> bool:
    try:
        with writing(hidden.parent, batch):
            reach = [(path, _file_extent(path, ts)) for path in _parquet_files(hidden)]
            filled = [(path, found) for path, found in reach if found.rows]
            for path, found in reach:
                if not found.rows:
                    path.unlink()
        whole = _union([found for _, found in filled])
        files = [path.name for path, _ in filled]
        manifest = describe(name, batch, whole, heartbeat, files, schema)
    except BaseException:
        shutil.rmtree(hidden, ignore_errors=True)
        raise
    return publish(hidden, manifest)


def _file_extent(path: Path, ts: str) -> Extent:
    """Return the extent of a file's timestamps from its one column, read in pieces."""
    with pq.ParquetFile(path) as file:
        empty = extent(pa.chunked_array([], file.schema_arrow.field(ts).type), ts)
        pieces = [
            extent(pa.chunked_array([piece.column(0)]), ts)
            for piece in file.iter_batches(columns=[ts])
        ]
    return _union(pieces) or empty


def _union(extents: list[Extent]) -> Extent | None:
    filled = [found for found in extents if found.rows]
    if not filled:
        return None
    return Extent(
        rows=sum(found.rows for found in filled),
        min_ts=min(found.min_ts for found in filled if found.min_ts is not None),
        max_ts=max(found.max_ts for found in filled if found.max_ts is not None),
        wall_clock=filled[0].wall_clock,
    )
