"""The drop zone: a folder of batches for each stream or relation, read and written.

    drop/flights/batch=000000000042/part-0.parquet
    drop/flights/batch=000000000042/_manifest.json
       {"version": 1, "stream": "flights", "batch": 42, "rows": 918,
        "min_ts": "2013-02-11T05:02:00Z", "max_ts": "2013-02-11T23:58:00Z",
        "heartbeat": "2013-02-11T23:59:59.999999Z",
        "files": ["part-0.parquet"], "schema": [["origin", "VARCHAR"], ["dep_delay", "DOUBLE"]],
        "checksums": {"part-0.parquet": "xxh3_64:2d06800538d394c2"}}

What a reader may rely on:

- A batch folder is written under a hidden name and renamed into place, so one that can be seen is
  complete. Names that start with `.` or `_` are nobody's business but their writer's.
- Batches are taken strictly by number from 0; a gap waits. Of two writers of one number the first
  to rename wins, and the other leaves what it finds, so writing a batch again is harmless.
- Only the files that the manifest lists belong to the batch, in that order; arrival order is file,
  then row. A batch without rows is a heartbeat.

Times are integers, or wall-clock time as ISO 8601 in UTC with `Z`. In Python both are `int`: the
instants of integer time as they are, or microseconds since 1970-01-01 with `wall_clock` true.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from cqlduck.errors import DropZoneError, first_line
from cqlduck.sources import checksums
from cqlduck.state.machine import NO_ROOM

__all__ = [
    "MANIFEST",
    "VERSION",
    "Batch",
    "BatchWriter",
    "Extent",
    "Manifest",
    "batch_folder",
    "duckdb_type",
    "extent",
    "gap",
    "hidden_folder",
    "inside",
    "instant",
    "pending",
    "publish",
    "read_batch",
    "reading",
    "write_batch",
    "writing",
]

VERSION = 1
MANIFEST = "_manifest.json"

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_WALL_CLOCK = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z", re.ASCII)
_BATCH = re.compile(r"batch=(\d{12,})", re.ASCII)
_NO_LINK = "copy what it leads to into the drop zone; a link out does not do"
_REWRITE = "write the batch again under a hidden name and rename it into place"


def _wrong(path: Path, what: str, hint: str = _REWRITE) -> DropZoneError:
    return DropZoneError(f"{path}: {what}", hint=hint)


@contextlib.contextmanager
def reading(path: Path) -> Iterator[None]:
    """Say of which path the block cannot read what it needs.

    Raises:
        DropZoneError: The system, or Python (of links that lead to themselves), says no.
    """
    try:
        yield
    except (OSError, RuntimeError) as error:
        hint = "see its permissions" if isinstance(error, PermissionError) else _REWRITE
        raise _wrong(path, f"cannot be read: {_reason(error)}", hint) from error


@contextlib.contextmanager
def writing(folder: Path, number: int) -> Iterator[None]:
    """Say of which batch the block cannot write the files.

    Args:
        folder: The stream's folder.
        number: The batch's number.

    Raises:
        DropZoneError: The system says no.
    """
    try:
        yield
    except OSError as error:
        why = _reason(error)
        first = "make room on its disk" if why in NO_ROOM else "see whether you may write there"
        raise DropZoneError(
            f"batch {number} cannot be written into {folder}: {why}",
            hint=f"{first}, then write the batch again; no reader sees a part of it",
        ) from error


def _reason(error: OSError | RuntimeError) -> str:
    """Return what the system says; Arrow says more around it."""
    number = getattr(error, "errno", None)
    return first_line(error) if number is None else os.strerror(number)


# --- times ----------------------------------------------------------------------------------------


def instant(moment: int | datetime) -> tuple[int, bool]:
    """Return a time as an integer, and whether it is wall-clock time.

    Args:
        moment: An instant of integer time, or a `datetime` (UTC if it has no time zone).

    Returns:
        (instant, False), or (microseconds since 1970-01-01 UTC, True).
    """
    if isinstance(moment, datetime):
        aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return (aware - _EPOCH) // _MICROSECOND, True
    return moment, False


def _format_time(value: int | None, wall_clock: bool | None) -> int | str | None:
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


def _parse_time(value: object, key: str, path: Path) -> tuple[int, bool] | None:
    if value is None:
        return None
    if isinstance(value, int) and not isinstance(value, bool):
        if not -(2**63) <= value < 2**63:
            raise _wrong(path, f"'{key}' does not fit a BIGINT: {value}")
        return value, False
    if isinstance(value, str) and _WALL_CLOCK.fullmatch(value):
        with contextlib.suppress(ValueError):
            return instant(datetime.fromisoformat(value))
    raise _wrong(
        path,
        f"'{key}' is not a time: {json.dumps(value)}",
        'times are integers, or ISO 8601 in UTC such as "2013-02-11T05:02:00Z" '
        "with at most six digits after the second",
    )


# --- manifest -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Manifest:
    """What a batch says about itself.

    Attributes:
        version: The version of the format, 1.
        stream: Name of the stream's or relation's folder.
        batch: Number of the batch, from 0.
        rows: Number of rows in all files together.
        min_ts: Smallest timestamp of the rows, None without rows.
        max_ts: Greatest timestamp of the rows, None without rows.
        heartbeat: No element with a timestamp up to this one is still to come; None for no promise.
        files: Names of the Parquet files, relative to the batch's folder, in arrival order.
        schema: (column, DuckDB type) in order; may be empty in a batch without rows.
        wall_clock: Whether the three times are microseconds since 1970-01-01 UTC (True) or instants
            of integer time (False); None if none of them is there.
        checksums: The checksums of files by name, see `checksums`; of all, of some or of none.
    """

    version: int
    stream: str
    batch: int
    rows: int
    min_ts: int | None
    max_ts: int | None
    heartbeat: int | None
    files: tuple[str, ...]
    schema: tuple[tuple[str, str], ...]
    wall_clock: bool | None = None
    checksums: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> str:
        """Return the manifest as the text of its file, one line that ends in a newline."""
        fields: dict[str, Any] = {
            "version": self.version,
            "stream": self.stream,
            "batch": self.batch,
            "rows": self.rows,
            "min_ts": _format_time(self.min_ts, self.wall_clock),
            "max_ts": _format_time(self.max_ts, self.wall_clock),
            "heartbeat": _format_time(self.heartbeat, self.wall_clock),
            "files": list(self.files),
            "schema": [list(column) for column in self.schema],
        }
        if self.checksums:
            fields["checksums"] = dict(self.checksums)
        return json.dumps(fields, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str, path: Path) -> Manifest:
        """Return the manifest that `text` holds, checked against the folder that it lies in.

        Keys beyond those of the format are ignored.

        Args:
            text: JSON.
            path: The manifest's own path, `<stream>/batch=<number>/_manifest.json`.

        Raises:
            DropZoneError: The text is no manifest of this version, belongs to another folder, or
                lists files that are not there.
        """
        try:
            fields = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise _wrong(path, f"not JSON: {error}") from None
        if not isinstance(fields, dict):
            raise _wrong(path, "not a JSON object")
        version = _field(fields, "version", path)
        if version != VERSION or isinstance(version, bool):
            raise _wrong(
                path,
                f"unknown version {json.dumps(version)} of the drop-zone format",
                f"this cqlduck reads version {VERSION}; write that, or upgrade cqlduck",
            )
        folder = path.absolute().parent
        stream = _field(fields, "stream", path)
        if stream != folder.parent.name:
            raise _wrong(
                path,
                f"'stream' is {json.dumps(stream)}, but its folder is {folder.parent.name!r}",
                "move the batch to the folder of its stream, or correct the manifest",
            )
        batch = _count(fields, "batch", path)
        if folder.name != _name(batch):
            raise _wrong(
                path,
                f"'batch' is {batch}, but its folder is {folder.name!r}",
                f"the folder of batch {batch} is {_name(batch)!r}; rename it, or correct the "
                "manifest",
            )
        rows = _count(fields, "rows", path)
        min_ts, max_ts, heartbeat, wall_clock = _times(fields, rows, path)
        files = _files(fields, rows, path)
        return cls(
            version=VERSION,
            stream=folder.parent.name,
            batch=batch,
            rows=rows,
            min_ts=min_ts,
            max_ts=max_ts,
            heartbeat=heartbeat,
            files=files,
            schema=_schema(fields, rows, path),
            wall_clock=wall_clock,
            checksums=_checksums(fields, files, path),
        )


def _field(fields: Mapping[str, Any], key: str, path: Path) -> Any:
    if key not in fields:
        raise _wrong(path, f"'{key}' is missing")
    return fields[key]


def _count(fields: Mapping[str, Any], key: str, path: Path) -> int:
    value = _field(fields, key, path)
    if not isinstance(value, int) or isinstance(value, bool):
        raise _wrong(path, f"'{key}' is not an integer: {json.dumps(value)}")
    if value < 0:
        raise _wrong(path, f"'{key}' is negative: {value}")
    return value


def _times(
    fields: Mapping[str, Any], rows: int, path: Path
) -> tuple[int | None, int | None, int | None, bool | None]:
    keys = ("min_ts", "max_ts", "heartbeat")
    times = {key: _parse_time(_field(fields, key, path), key, path) for key in keys}
    kinds = {time[1] for time in times.values() if time}
    if len(kinds) > 1:
        raise _wrong(path, "its times are partly integers and partly wall-clock time")
    min_ts, max_ts, heartbeat = (time[0] if time else None for time in times.values())
    for key in ("min_ts", "max_ts"):
        if (times[key] is None) != (rows == 0):
            what = "null, but there are rows" if rows else "a time, but there are no rows"
            raise _wrong(path, f"'{key}' is {what}")
    if min_ts is not None and max_ts is not None and min_ts > max_ts:
        raise _wrong(path, f"'min_ts' {fields['min_ts']} is after 'max_ts' {fields['max_ts']}")
    return min_ts, max_ts, heartbeat, kinds.pop() if kinds else None


def _files(fields: Mapping[str, Any], rows: int, path: Path) -> tuple[str, ...]:
    files = _field(fields, "files", path)
    if not isinstance(files, list) or not all(isinstance(name, str) for name in files):
        raise _wrong(path, f"'files' is not a list of names: {json.dumps(files)}")
    if rows and not files:
        raise _wrong(path, f"'files' is empty, but 'rows' is {rows}")
    if len(set(files)) < len(files):
        raise _wrong(path, "'files' names a file twice")
    folder = path.absolute().parent
    home = folder.resolve()
    for name in files:
        outside = f"'files' leaves the batch's folder: {name!r}"
        pure = PureWindowsPath(name)
        if "\0" in name or pure.anchor or PurePosixPath(name).anchor or ".." in pure.parts:
            raise _wrong(path, outside, "name files relative to the folder, below it")
        file = folder / name
        if not file.is_file():
            raise _wrong(path, f"'files' names {name!r}, which is not a file there")
        if not file.resolve().is_relative_to(home):
            raise _wrong(path, outside, "copy the file into the folder; a link out does not do")
    return tuple(files)


def _schema(fields: Mapping[str, Any], rows: int, path: Path) -> tuple[tuple[str, str], ...]:
    schema = _field(fields, "schema", path)
    if not isinstance(schema, list) or not all(
        isinstance(column, list)
        and len(column) == 2
        and all(isinstance(part, str) and part for part in column)
        for column in schema
    ):
        raise _wrong(
            path,
            f"'schema' is not a list of [column, type]: {json.dumps(schema)}",
            'write it like [["origin", "VARCHAR"], ["dep_delay", "DOUBLE"]]',
        )
    if rows and not schema:
        raise _wrong(path, f"'schema' is empty, but 'rows' is {rows}")
    if len({column.casefold() for column, _ in schema}) < len(schema):
        raise _wrong(path, "'schema' has a column twice (names do not differ by case)")
    return tuple((column, type_) for column, type_ in schema)


def _checksums(fields: Mapping[str, Any], files: Sequence[str], path: Path) -> dict[str, str]:
    """Return the checksums of a manifest; it need not have any."""
    found = fields.get("checksums", {})
    if not isinstance(found, dict):
        raise _wrong(path, f"'checksums' is not an object: {json.dumps(found)}")
    for name, checksum in found.items():
        if name not in files:
            raise _wrong(path, f"'checksums' names {name!r}, which 'files' does not")
        if not isinstance(checksum, str) or not checksums.is_written_right(checksum):
            raise _wrong(
                path,
                f"'checksums' has no checksum for {name!r}: {json.dumps(checksum)}",
                'write it like "xxh3_64:2d06800538d394c2", or leave it out',
            )
    return found


# --- reading --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Batch:
    """One batch in place.

    Attributes:
        number: Its number, from 0.
        folder: Its folder.
        manifest: What it says about itself, checked.
    """

    number: int
    folder: Path
    manifest: Manifest

    @property
    def files(self) -> tuple[Path, ...]:
        """Paths of its Parquet files in arrival order."""
        return tuple(self.folder / name for name in self.manifest.files)


def _name(number: int) -> str:
    return f"batch={number:012d}"


def inside(root: Path, source: str) -> Path:
    """Return the folder of an input in the drop zone `root`.

    Raises:
        DropZoneError: It leads out of the drop zone.
    """
    folder = root / source
    with reading(folder):
        is_inside = folder.resolve().is_relative_to(root.resolve())
    if not is_inside:
        raise _wrong(folder, f"leads out of the drop zone {root}", _NO_LINK)
    return folder


def batch_folder(folder: Path, number: int) -> Path:
    """Return where batch `number` of the stream in `folder` lies once it is in place."""
    return folder / _name(number)


def read_batch(folder: Path, number: int) -> Batch:
    """Return batch `number` of the stream in `folder`.

    Raises:
        DropZoneError: It is not there, or its manifest is missing or wrong.
    """
    here = batch_folder(folder, number)
    path = here / MANIFEST
    with reading(path):
        if here.is_symlink() and not here.resolve().is_relative_to(folder.resolve()):
            raise _wrong(here, f"leads out of {folder}", _NO_LINK)
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            what = "a batch without a manifest" if here.is_dir() else "there is no such batch"
            raise _wrong(here, what) from None
        except UnicodeDecodeError as error:
            raise _wrong(path, f"not UTF-8: {error}") from None
        return Batch(number, here, Manifest.from_json(text, path))


def pending(folder: Path, next_batch: int) -> Iterator[Batch]:
    """Yield the batches of the stream in `folder` from `next_batch` on, up to the first gap.

    The folder is not listed: each step looks for one name, so a folder with any number of batches
    behind `next_batch` costs nothing. A stream without a folder has no batches.

    Args:
        folder: The stream's folder.
        next_batch: The number after the last one consumed.

    Raises:
        DropZoneError: The batch reached has no manifest or a wrong one, or its folder's number is
            not padded to twelve digits. Reading can go on behind it with another call.
    """
    number = next_batch
    with reading(folder):
        while batch_folder(folder, number).exists():
            yield read_batch(folder, number)
            number += 1
        short = folder / f"batch={number}"
        if short.name != _name(number) and short.exists():
            raise _wrong(
                short,
                "the number is not padded to twelve digits",
                f"rename it to {_name(number)!r}",
            )


def gap(folder: Path, next_batch: int) -> int | None:
    """Return the smallest number in place beyond a missing `next_batch`, or None without a gap.

    Lists the folder if `next_batch` is missing: for showing, not for each poll.
    """
    with reading(folder):
        if batch_folder(folder, next_batch).exists():
            return None
        try:
            with os.scandir(folder) as entries:
                matches = [_BATCH.fullmatch(entry.name) for entry in entries]
        except (FileNotFoundError, NotADirectoryError):
            return None
    beyond = [n for match in matches if match and (n := int(match[1])) > next_batch]
    return min(beyond, default=None)


# --- writing --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Extent:
    """How far some rows reach.

    Attributes:
        rows: Their number.
        min_ts: Smallest timestamp, None without rows.
        max_ts: Greatest timestamp, None without rows.
        wall_clock: Whether timestamps are microseconds since 1970-01-01 UTC, or instants.
    """

    rows: int
    min_ts: int | None
    max_ts: int | None
    wall_clock: bool


def extent(column: pa.ChunkedArray, name: str) -> Extent:
    """Return the extent of the timestamps in `column`, any length, called `name` in errors.

    Raises:
        DropZoneError: The column is neither of integers nor of times, or has a NULL.
    """
    per_unit = _microseconds_per_unit(column.type)
    wall_clock = per_unit is not None
    if not wall_clock and not pa.types.is_integer(column.type):
        raise DropZoneError(
            f"timestamps in column {name!r} are of type {column.type}",
            hint="cast them to TIMESTAMP, or to BIGINT for integer time",
        )
    if column.null_count:
        raise DropZoneError(
            f"{column.null_count} of {len(column)} rows have no timestamp in column {name!r}",
            hint="leave them out, or give them one",
        )
    if not len(column):
        return Extent(0, None, None, wall_clock)
    ends = pc.min_max(column)
    if per_unit is None:
        return Extent(len(column), ends["min"].as_py(), ends["max"].as_py(), False)
    # `//` floors, which is what nanoseconds get.
    first, last = (int(ends[end].value * per_unit // 1) for end in ("min", "max"))
    return Extent(len(column), first, last, True)


def _microseconds_per_unit(type_: pa.DataType) -> Fraction | None:
    if pa.types.is_date32(type_):
        return Fraction(86_400_000_000)
    if pa.types.is_date64(type_):
        return Fraction(1000)
    if pa.types.is_timestamp(type_):
        return Fraction(1_000_000, {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[type_.unit])
    return None


_PLAIN_TYPES = {
    pa.bool_(): "BOOLEAN",
    pa.int8(): "TINYINT",
    pa.int16(): "SMALLINT",
    pa.int32(): "INTEGER",
    pa.int64(): "BIGINT",
    pa.uint8(): "UTINYINT",
    pa.uint16(): "USMALLINT",
    pa.uint32(): "UINTEGER",
    pa.uint64(): "UBIGINT",
    pa.float32(): "FLOAT",
    pa.float64(): "DOUBLE",
    pa.string(): "VARCHAR",
    pa.large_string(): "VARCHAR",
    pa.string_view(): "VARCHAR",
    pa.binary(): "BLOB",
    pa.large_binary(): "BLOB",
    pa.binary_view(): "BLOB",
    pa.date32(): "DATE",
    pa.date64(): "DATE",
    pa.time32("ms"): "TIME",
    pa.time64("us"): "TIME",
    pa.null(): "INTEGER",
}


def duckdb_type(type_: pa.DataType) -> str:
    """Return the DuckDB type that a Parquet column of this Arrow type is read as.

    A timestamp with a time zone is a TIMESTAMP here, as the writers turn it into UTC.

    Raises:
        DropZoneError: Parquet has no such type.
    """
    types = pa.types
    if type_ in _PLAIN_TYPES:
        return _PLAIN_TYPES[type_]
    if types.is_timestamp(type_):
        return "TIMESTAMP_NS" if type_.unit == "ns" else "TIMESTAMP"
    if types.is_decimal128(type_):
        return f"DECIMAL({type_.precision},{type_.scale})"
    if types.is_dictionary(type_):
        return duckdb_type(type_.value_type)
    if types.is_map(type_):
        return f"MAP({duckdb_type(type_.key_type)}, {duckdb_type(type_.item_type)})"
    if types.is_list(type_) or types.is_large_list(type_) or types.is_fixed_size_list(type_):
        return f"{duckdb_type(type_.value_type)}[]"
    if types.is_struct(type_):
        fields = ", ".join(
            '"{}" {}'.format(field.name.replace('"', '""'), duckdb_type(field.type))
            for field in (type_.field(i) for i in range(type_.num_fields))
        )
        return f"STRUCT({fields})"
    raise DropZoneError(f"a batch cannot hold a column of type {type_}", hint="cast the column")


def schema_names(schema: pa.Schema) -> tuple[tuple[str, str], ...]:
    """Return (column, DuckDB type) for each column of `schema`, as a manifest has it."""
    return tuple((field.name, duckdb_type(field.type)) for field in schema)


def hidden_folder(folder: Path, number: int) -> Path:
    """Create and return a new folder for `publish`, which no reader sees."""
    hidden = folder / f".{_name(number)}-{uuid.uuid4().hex}"
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
    (hidden / MANIFEST).write_text(text, encoding="utf-8")
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
        with writing(self.folder, batch):
            if batch_folder(self.folder, batch).exists():
                return False
        table = _in_utc(pa.table({}) if data is None else pa.table(data))
        if len(table) and self.ts not in table.column_names:
            raise DropZoneError(
                f"there is no column {self.ts!r} for the timestamps, only "
                + ", ".join(table.column_names),
                hint="name it with ts=…",
            )
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
    if batch < 0:
        raise DropZoneError(f"a batch cannot have the number {batch}", hint="count from 0")
    wall_clock = reach.wall_clock if reach else None
    promised = None
    if heartbeat is not None:
        promised, kind = instant(heartbeat)
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
