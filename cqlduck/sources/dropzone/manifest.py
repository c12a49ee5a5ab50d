"""Manifests: what a batch says about itself, as JSON, checked against the folder it lies in."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cqlduck.rewrite.text.time import RawTime
from cqlduck.sources import checksums
from cqlduck.sources.dropzone.refusals import wrong
from cqlduck.sources.dropzone.times import format_time, parse_time
from cqlduck.state.paths import leads_out

VERSION = 1
MANIFEST = "_manifest.json"


def batch_name(number: int) -> str:
    """Return the name of a batch's folder."""
    return f"batch={number:012d}"


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
    min_ts: RawTime | None
    max_ts: RawTime | None
    heartbeat: RawTime | None
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
            "min_ts": format_time(self.min_ts, self.wall_clock),
            "max_ts": format_time(self.max_ts, self.wall_clock),
            "heartbeat": format_time(self.heartbeat, self.wall_clock),
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
            raise wrong(path, f"not JSON: {error}") from None
        if not isinstance(fields, dict):
            raise wrong(path, "not a JSON object")
        version = _field(fields, "version", path)
        if version != VERSION or isinstance(version, bool):
            raise wrong(
                path,
                f"unknown version {json.dumps(version)} of the drop-zone format",
                f"this cqlduck reads version {VERSION}; write that, or upgrade cqlduck",
            )
        folder = path.absolute().parent
        stream = _field(fields, "stream", path)
        if stream != folder.parent.name:
            raise wrong(
                path,
                f"'stream' is {json.dumps(stream)}, but its folder is {folder.parent.name!r}",
                "move the batch to the folder of its stream, or correct the manifest",
            )
        batch = _count(fields, "batch", path)
        if folder.name != batch_name(batch):
            raise wrong(
                path,
                f"'batch' is {batch}, but its folder is {folder.name!r}",
                f"the folder of batch {batch} is {batch_name(batch)!r}; rename it, or correct the "
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


def refuse_unreadable(text: str, path: Path) -> None:
    """Refuse a manifest, which is to be written, whose times or columns no reader takes.

    Raises:
        DropZoneError: What is wrong with them.
    """
    fields = json.loads(text)
    rows = _count(fields, "rows", path)
    _times(fields, rows, path)
    _schema(fields, rows, path)


def _field(fields: Mapping[str, Any], key: str, path: Path) -> Any:
    if key not in fields:
        raise wrong(path, f"'{key}' is missing")
    return fields[key]


def _count(fields: Mapping[str, Any], key: str, path: Path) -> int:
    value = _field(fields, key, path)
    if not isinstance(value, int) or isinstance(value, bool):
        raise wrong(path, f"'{key}' is not an integer: {json.dumps(value)}")
    if value < 0:
        raise wrong(path, f"'{key}' is negative: {value}")
    return value


def _times(
    fields: Mapping[str, Any], rows: int, path: Path
) -> tuple[RawTime | None, RawTime | None, RawTime | None, bool | None]:
    keys = ("min_ts", "max_ts", "heartbeat")
    times = {key: parse_time(_field(fields, key, path), key, path) for key in keys}
    kinds = {time[1] for time in times.values() if time}
    if len(kinds) > 1:
        raise wrong(path, "its times are partly integers and partly wall-clock time")
    min_ts, max_ts, heartbeat = (time[0] if time else None for time in times.values())
    for key in ("min_ts", "max_ts"):
        if (times[key] is None) != (rows == 0):
            what = "null, but there are rows" if rows else "a time, but there are no rows"
            raise wrong(path, f"'{key}' is {what}")
    if min_ts is not None and max_ts is not None and min_ts > max_ts:
        raise wrong(path, f"'min_ts' {fields['min_ts']} is after 'max_ts' {fields['max_ts']}")
    return min_ts, max_ts, heartbeat, kinds.pop() if kinds else None


def _files(fields: Mapping[str, Any], rows: int, path: Path) -> tuple[str, ...]:
    files = _field(fields, "files", path)
    if not isinstance(files, list) or not all(isinstance(name, str) for name in files):
        raise wrong(path, f"'files' is not a list of names: {json.dumps(files)}")
    if rows and not files:
        raise wrong(path, f"'files' is empty, but 'rows' is {rows}")
    if len(set(files)) < len(files):
        raise wrong(path, "'files' names a file twice")
    folder = path.absolute().parent
    home = folder.resolve()
    for name in files:
        outside = f"'files' leaves the batch's folder: {name!r}"
        if leads_out(name):
            raise wrong(path, outside, "name files relative to the folder, below it")
        file = folder / name
        if not file.is_file():
            raise wrong(path, f"'files' names {name!r}, which is not a file there")
        if not file.resolve().is_relative_to(home):
            raise wrong(path, outside, "copy the file into the folder; a link out of it is refused")
    return tuple(files)


def _schema(fields: Mapping[str, Any], rows: int, path: Path) -> tuple[tuple[str, str], ...]:
    schema = _field(fields, "schema", path)
    if not isinstance(schema, list) or not all(
        isinstance(column, list)
        and len(column) == 2
        and all(isinstance(part, str) and part for part in column)
        for column in schema
    ):
        raise wrong(
            path,
            f"'schema' is not a list of [column, type]: {json.dumps(schema)}",
            'write it like [["origin", "VARCHAR"], ["dep_delay", "DOUBLE"]]',
        )
    if rows and not schema:
        raise wrong(path, f"'schema' is empty, but 'rows' is {rows}")
    if len({column.casefold() for column, _ in schema}) < len(schema):
        raise wrong(path, "'schema' has a column twice (names do not differ by case)")
    return tuple((column, type_) for column, type_ in schema)


def _checksums(fields: Mapping[str, Any], files: Sequence[str], path: Path) -> dict[str, str]:
    """Return the checksums of a manifest; it need not have any."""
    found = fields.get("checksums", {})
    if not isinstance(found, dict):
        raise wrong(path, f"'checksums' is not an object: {json.dumps(found)}")
    for name, checksum in found.items():
        if name not in files:
            raise wrong(path, f"'checksums' names {name!r}, which 'files' does not")
        if not isinstance(checksum, str) or not checksums.is_written_right(checksum):
            raise wrong(
                path,
                f"'checksums' has no checksum for {name!r}: {json.dumps(checksum)}",
                'write it like "xxh3_64:2d06800538d394c2", or leave it out',
            )
    return found
