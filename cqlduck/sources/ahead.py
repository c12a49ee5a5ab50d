"""Reading small batches with Arrow, and prefetching the next one while a tick runs.

DuckDB (release 2.0) reads a row group of a Parquet file with one thread, and a small batch has one
row group. Arrow reads its columns in parallel, and uses none of DuckDB's threads; and as most
statements of a small tick use one thread, the next batch is prefetched beside them. At most one
batch of each input is prefetched, and only if it is small.

A batch that Arrow and DuckDB may read differently (a column that is no plain number, text or time,
text that is not UTF-8) is left to DuckDB, and so is a damaged file.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from cqlduck.errors import DropZoneError
from cqlduck.rewrite.plan import Column
from cqlduck.sources import checksums, dropzone, sparksink
from cqlduck.sources.dropzone import Batch
from cqlduck.sources.footers import columns_of
from cqlduck.state.arrivals import Arrivals
from cqlduck.state.arrow import PLAIN
from cqlduck.state.registered import Input
from cqlduck.state.row_groups import ROW_GROUP_ROWS

MAX_BATCH_ROWS = ROW_GROUP_ROWS
"""How many rows a small batch has at most: a row group."""


@dataclass(frozen=True)
class Ready:
    """The rows of a batch, ready for their way in.

    Attributes:
        thing: The input that takes them, as it was when they were made ready.
        times: The column of the timestamps, and as what it is read.
        rows: The rows.
        is_as_said: Whether they are known to be what the manifest says.
    """

    thing: Input
    times: Column
    rows: Arrivals
    is_as_said: bool


Prepare = Callable[[Batch, pa.Table, dict[str, Column]], Ready]
"""Makes rows ready that Arrow has read.

Raises:
    DropZoneError: They are not the input's.
"""

_Mark = tuple[tuple[int, int, int] | bytes, ...]


@dataclass(frozen=True)
class Small:
    """A small batch that has been read.

    Attributes:
        batch: The batch.
        table: Its rows in arrival order.
        columns: Its columns, see `footers.columns_of`.
        ready: The rows, ready for their way in; None if they are not the input's.
        paths: Its files, and its manifest if it has one.
        mark: What tells these from others in their place.
    """

    batch: Batch
    table: pa.Table
    columns: dict[str, Column]
    ready: Ready | None
    paths: tuple[Path, ...]
    mark: _Mark


class Ahead:
    """Reads small batches; its calls come one at a time."""

    def __init__(self, first: Callable[[], None]) -> None:
        """Begin with nothing, and let the thread do something first."""
        self._thread: ThreadPoolExecutor | None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="cqlduck-ahead")
        self._thread.submit(first)
        self._kept: dict[Path, tuple[int, Future[Small | None]]] = {}

    def batch(self, folder: Path, number: int) -> Batch | None:
        """Return the next batch of a folder if it has been read, and is still the one in place."""
        kept, future = self._kept.get(folder, (None, None))
        if future is None or kept != number:
            return None
        found = future.result()
        # a folder that was taken away and put back has other files
        if found is None or found.mark != _mark(found.paths):
            return None
        return found.batch

    def small(self, batch: Batch, prepare: Prepare) -> Small | None:
        """Return a batch that has been read, or is read now; None if DuckDB has to read it."""
        if batch.manifest.rows > MAX_BATCH_ROWS:
            return None
        _, future = self._kept.pop(batch.folder.parent, (None, None))
        found = None if future is None else future.result()
        if found is not None and found.batch is batch:
            return found
        return _read(batch, prepare)

    def begin(self, folder: Path, number: int, prepare: Prepare) -> None:
        """Begin to read a batch, if it is there, for the tick that follows.

        Args:
            folder: The input's.
            number: The batch's.
            prepare: Makes its rows ready.
        """
        assert self._thread is not None
        self._kept[folder] = number, self._thread.submit(_next, folder, number, prepare)

    def close(self) -> None:
        """Let go of what was read, and of the thread."""
        self._kept.clear()
        if self._thread is not None:
            self._thread.shutdown(wait=False, cancel_futures=True)
            self._thread = None


def batches(folder: Path, number: int) -> Iterator[Batch]:
    """Yield the batches of a folder from a number on, whoever writes them; see `pending`."""
    pending = sparksink.pending if sparksink.is_sink(folder) else dropzone.pending
    return pending(folder, number)


def _next(folder: Path, number: int, prepare: Prepare) -> Small | None:
    try:
        batch = next(batches(folder, number), None)
    except (DropZoneError, OSError):
        return None  # it is said when its turn comes
    if batch is None or not 0 < batch.manifest.rows <= MAX_BATCH_ROWS:
        return None
    return _read(batch, prepare)


def _mark(paths: Sequence[Path]) -> _Mark | None:
    """Return what tells files from others in their place.

    A manifest may be written anew in place, with as many bytes and before the clock of the file
    system has moved, so that counts by what it says.
    """
    try:
        found = [os.stat(path) for path in paths]
        said = [path.read_bytes() for path in paths if path.name == dropzone.MANIFEST]
    except OSError:
        return None
    return (*((f.st_ino, f.st_size, f.st_mtime_ns) for f in found), *said)


def _read(batch: Batch, prepare: Prepare) -> Small | None:
    manifest = batch.folder / dropzone.MANIFEST
    paths = (*batch.files, manifest) if manifest.exists() else batch.files
    mark = _mark(paths)
    try:
        if manifest.exists() and dropzone.read_batch(batch.folder.parent, batch.number) != batch:
            return None  # it was written anew meanwhile
        checksums.check(batch.folder, batch.manifest.checksums)
    except DropZoneError:
        return None  # it is said when DuckDB is to read it
    table = _table(batch.files) if mark else None
    columns = None if table is None else columns_of(table.schema)
    if not mark or table is None or columns is None:
        return None
    try:
        ready = prepare(batch, table, columns)
    except DropZoneError:
        ready = None  # it is said when its turn comes
    return Small(batch, table, columns, ready, paths, mark)


def _table(files: Sequence[Path]) -> pa.Table | None:
    tables: list[pa.Table] = []
    try:
        for path in files:
            with pq.ParquetFile(path) as file:
                schema = file.schema_arrow
                if not {*schema.types} <= PLAIN.keys() or file.metadata.num_rows > MAX_BATCH_ROWS:
                    return None
                if tables and not schema.equals(tables[0].schema):
                    return None
                table = file.read().replace_schema_metadata(None)
            for column in table.columns:
                if column.type == pa.string():
                    column.validate(full=True)
            tables.append(table)
    except (pa.ArrowException, OSError):
        return None
    return pa.concat_tables(tables)
