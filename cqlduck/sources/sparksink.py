"""Folders of Spark's own Parquet sink, `writeStream.format("parquet")`: read by their log.

    out/part-00000-….c000.snappy.parquet
    out/_spark_metadata/0, 1, 2.compact, 3, 4, 5.compact, …

The log says which files count: those of a failed attempt, or of one that is not yet committed, lie
in the folder as well. A log file is a line `v1`, then a line of JSON for each data file, in arrival
order; it is renamed into place, so one that can be seen is complete. Every so often a number gets a
compact file instead: the lines of all numbers up to it, its own last. Long after, Spark cleans up
what lies before a compact file.

- A batch is what a number added. Of a compact file that is all that the numbers before the one
  to be taken do not list; it is one batch, with the compact file's number.
- So numbers jump if single files have been cleaned up: after a batch, take `batch.number + 1`.
- What came before must be told from the log itself: from the compact file before and the single
  files since. From number 0 on nothing did, so a log that has been cleaned up can be taken from
  its start, in one batch. A reader that the cleaning overtakes cannot go on.
- The log makes no promise about time: heartbeats come from the bound on disorder.
- Data files are found by name in the folder, wherever it was when Spark wrote their addresses.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from cqlduck.errors import DropZoneError
from cqlduck.sources.dropzone import VERSION, Batch, Manifest, reading
from cqlduck.sources.dropzone.refusals import wrong

__all__ = ["LOG", "is_sink", "pending"]

LOG = "_spark_metadata"

_LOG_VERSION = "v1"
_LOG_FILE = re.compile(r"(0|[1-9]\d*)(\.compact)?", re.ASCII)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:", re.ASCII)
_ADD, _DELETE = "add", "delete"

_DAMAGED = "was the file truncated while it was copied? Copy the whole folder again"


def _wrong(path: Path, what: str, hint: str = _DAMAGED) -> DropZoneError:
    return wrong(path, what, hint)


def is_sink(folder: Path) -> bool:
    """Return whether Spark's file sink writes, or wrote, `folder`."""
    with reading(folder):
        return (folder / LOG).is_dir()


def pending(folder: Path, next_batch: int) -> Iterator[Batch]:
    """Yield the committed batches of the sink in `folder` from `next_batch` on.

    Numbers can jump where the log was cleaned up: the follower sets its next batch to the number
    of the batch taken + 1. The manifests are made from the log and the files' footers; there is
    no heartbeat, no extent and no schema in them.

    Args:
        folder: The sink's folder, with its log.
        next_batch: The number after the last one taken.

    Raises:
        DropZoneError: The log was cleaned up past what was taken, or is damaged; a file that it
            lists is not there, is another one, or lies in a partition.
    """
    with reading(folder):
        yield from _pending(folder, next_batch)


def _pending(folder: Path, number: int) -> Iterator[Batch]:
    log = folder / LOG
    while True:
        single = log / str(number)
        if single.exists():
            entries = _added(single)
        else:
            singles, compacts = _log_files(log)
            if single.exists():  # it came while the log was being listed
                continue
            covering = min((n for n in compacts if n >= number), default=None)
            if covering is None:
                _check_gap(log, number, singles)
                return
            entries = _compacted(log, number, covering, singles, compacts)
            number = covering
        yield _batch(folder, number, entries)
        number += 1


# --- the log --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Entry:
    """A line of the log.

    Attributes:
        log_file: The file of the log that it stands in.
        name: Name of the data file, without its folder.
        parent: Name of the folder that the data file was written to.
        size: Size of the data file in bytes.
        action: `add` or `delete`.
    """

    log_file: Path
    name: str
    parent: str
    size: int
    action: str


def _log_files(log: Path) -> tuple[set[int], set[int]]:
    """Return the numbers of the single and of the compact files in the log."""
    singles: set[int] = set()
    compacts: set[int] = set()
    try:
        names = os.listdir(log)
    except OSError as error:
        raise _wrong(log, f"cannot be read: {error.strerror}", "see its permissions") from error
    for name in names:
        if match := _LOG_FILE.fullmatch(name):
            (compacts if match[2] else singles).add(int(match[1]))
    return singles, compacts


def _check_gap(log: Path, number: int, singles: set[int]) -> None:
    """Raise an error if `number` is missing in the log though later ones are there."""
    beyond = min((n for n in singles if n > number), default=None)
    if beyond is not None:
        raise _wrong(
            log,
            f"lacks number {number}, but {beyond} is there",
            "Spark writes its log without gaps; copy the whole folder again",
        )


def _compacted(
    log: Path, number: int, covering: int, singles: set[int], compacts: set[int]
) -> list[_Entry]:
    """Return what the numbers from `number` to that of a compact file have added.

    Args:
        log: The log's folder.
        number: The number that is to be taken next; it has no file of its own.
        covering: Number of the first compact file from `number` on.
        singles: Numbers of the single files.
        compacts: Numbers of the compact files.

    Raises:
        DropZoneError: What the numbers before `number` have added cannot be told any more.
    """
    # Up to `number` - 1: the compact file before it, and the single files since.
    base = max((n for n in compacts if n < number), default=None)
    since = range(0 if base is None else base + 1, number)
    if not singles.issuperset(since):
        raise _wrong(
            log,
            f"the log was compacted past what was taken: up to {number - 1}, and number {number} "
            f"cannot be told from the earlier ones in {covering}.compact",
            "follow the sink more often, or have Spark keep its log for longer "
            "(spark.sql.streaming.fileSink.log.cleanupDelay, spark.sql.streaming."
            "minBatchesToRetain); a stream that is dropped and created again takes it all",
        )
    earlier = [log / str(n) for n in since]
    if base is not None:
        earlier.append(_compact_file(log, base))
    known = {entry.name for path in earlier for entry in _entries(path)}
    return [e for e in _net(_entries(_compact_file(log, covering))) if e.name not in known]


def _compact_file(log: Path, number: int) -> Path:
    return log / f"{number}.compact"


def _added(single: Path) -> list[_Entry]:
    """Return what the number of a single file has added."""
    entries = list(_entries(single))
    own = {entry.name for entry in entries if entry.action == _ADD}
    for entry in entries:
        if entry.name not in own:
            raise _wrong(
                single,
                f"deletes {entry.name!r}, a file of an earlier batch",
                "elements that were taken cannot be given back; write to a folder that nothing "
                "else rewrites",
            )
    return _net(entries)


def _net(entries: Iterable[_Entry]) -> list[_Entry]:
    """Return the entries whose files are there at last, in order."""
    there: dict[str, _Entry] = {}
    for entry in entries:
        if entry.action == _ADD:
            there.setdefault(entry.name, entry)
        else:
            there.pop(entry.name, None)
    return list(there.values())


def _entries(path: Path) -> Iterator[_Entry]:
    """Yield the lines of a file of the log, without those of folders."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise _wrong(path, f"not UTF-8: {error}") from None
    except OSError as error:
        raise _wrong(path, f"cannot be read: {error.strerror}", "see its permissions") from error
    version, *lines = text.split("\n")
    version = version.strip()
    if version != _LOG_VERSION:
        raise _wrong(
            path,
            f"its first line is {version[:40]!r}, not {_LOG_VERSION!r}",
            f"this cqlduck reads version {_LOG_VERSION} of the log" if version else _DAMAGED,
        )
    for line_number, line in enumerate(lines, 2):
        if line.strip():
            entry = _entry(path, line_number, line)
            if entry is not None:
                yield entry


def _entry(path: Path, line_number: int, line: str) -> _Entry | None:
    """Return a line of the log, or None if it is about a folder."""
    where = f"line {line_number}"
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise _wrong(path, f"{where} is not JSON: {error}") from None
    if not isinstance(fields, dict):
        raise _wrong(path, f"{where} is not a JSON object")
    address: str = _field(fields, "path", str, path, where)
    size: int = _field(fields, "size", int, path, where)
    action: str = _field(fields, "action", str, path, where)
    if action not in (_ADD, _DELETE):
        raise _wrong(path, f"'action' in {where} is neither add nor delete: {action!r}")
    if _field(fields, "isDir", bool, path, where):
        return None
    # An address, percent-encoded: a '?' or '#' in it would be the name's own, and is encoded.
    parts = _SCHEME.sub("", address, count=1).split("/")
    try:
        name, parent = (unquote(p, errors="strict") for p in (parts[-1], ["", *parts][-2]))
    except UnicodeDecodeError:
        name = parent = ""
    if name in ("", ".", "..") or any(part in name for part in ("/", "\\", "\0")):
        raise _wrong(path, f"'path' in {where} is not the address of a file: {address!r}")
    return _Entry(path, name, parent, size, action)


def _field(fields: dict[str, Any], key: str, kind: type, path: Path, where: str) -> Any:
    value = fields.get(key)
    if type(value) is not kind:
        what = "missing" if key not in fields else f"not of type {kind.__name__}: {value!r}"
        raise _wrong(path, f"'{key}' in {where} is {what}")
    return value


# --- the data files -------------------------------------------------------------------------------


def _batch(folder: Path, number: int, entries: list[_Entry]) -> Batch:
    manifest = Manifest(
        version=VERSION,
        stream=folder.name,
        batch=number,
        rows=sum(_rows(folder, entry) for entry in entries),
        min_ts=None,
        max_ts=None,
        heartbeat=None,
        files=tuple(entry.name for entry in entries),
        schema=(),
    )
    return Batch(number, folder, manifest)


def _rows(folder: Path, entry: _Entry) -> int:
    """Return the number of rows in a data file."""
    file = folder / entry.name
    try:
        if not file.is_file():
            raise _missing(folder, entry)
        if file.is_symlink() and not file.resolve().is_relative_to(folder.resolve()):
            raise _wrong(file, f"leads out of {folder}", "copy what it leads to into the folder")
        size = file.stat().st_size
        if size != entry.size:
            raise _wrong(file, f"has {size} bytes, but {entry.log_file} says {entry.size}")
        rows: int = pq.read_metadata(file).num_rows
    except (pa.ArrowException, OSError) as error:
        reason = str(error).partition("\n")[0]
        raise _wrong(file, f"cannot be read: {reason}") from error
    return rows


def _missing(folder: Path, entry: _Entry) -> DropZoneError:
    if "=" in entry.parent and entry.parent != folder.name:
        return _wrong(
            entry.log_file,
            f"{entry.parent}/{entry.name} lies in a partition, and lacks its column",
            "write to the sink without partitionBy",
        )
    return _wrong(
        entry.log_file,
        f"lists {entry.name!r}, which is not in {folder}",
        "copy the whole folder again; Spark does not remove files that its log lists",
    )
