"""Footers of Parquet files: the columns and times of a batch before DuckDB reads it.

Asking DuckDB for the columns of a file and for the range of its times takes two statements; for a
batch of a hundred rows they cost more than consuming it. A file's footer has its columns, and Arrow
reads a plain column of times in a fraction of that. Other files (truncated ones, columns that
differ by case, times of another type) are left to DuckDB, which also words the errors.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from cqlduck.rewrite.plan import Column
from cqlduck.state.types import has_text

_TIMES = {
    pa.int64(): "BIGINT",
    pa.timestamp("us"): "TIMESTAMP",
    pa.timestamp("us", "UTC"): "TIMESTAMP WITH TIME ZONE",
}


def columns_of(schema: pa.Schema) -> dict[str, Column] | None:
    """Return the columns of a file by lower-case name, or None if DuckDB should tell.

    Types are those that DuckDB reads; of columns that cannot be times they are empty, and VARCHAR
    if they are or have texts.
    """
    found = {f.name.lower(): Column(f.name, _TIMES.get(f.type, _text(f.type))) for f in schema}
    stamp = found.get("_ts")
    if len(found) < len(schema) or (stamp is not None and stamp.type not in _TIMES.values()):
        return None
    return found


def _text(kind: pa.DataType) -> str:
    return "VARCHAR" if has_text(kind) else ""


class Footers:
    """The open Parquet files of batches, in arrival order."""

    def __init__(self, files: Sequence[pq.ParquetFile]) -> None:
        """Keep the files; `opened` opens and closes them."""
        self._files = files

    def columns(self) -> dict[str, Column] | None:
        """Return the columns of the first file, see `columns_of`."""
        return columns_of(self._files[0].schema_arrow)

    def surplus(self) -> tuple[int, str] | None:
        """Return the number of the first file with a column that the first has not, and its name.

        DuckDB takes the columns of the first file and skips others.
        """
        known = {name.lower() for name in self._files[0].schema_arrow.names}
        for number, file in enumerate(self._files):
            for name in file.schema_arrow.names:
                if name.lower() not in known:
                    return number, name
        return None

    def alike(self) -> bool:
        """Return whether all files have the same columns."""
        return all(file.schema.equals(self._files[0].schema) for file in self._files)

    def place(self) -> str | None:
        """Return the place of a row among all rows, from 0, as SQL over the files, or None.

        It is made of DuckDB's own columns for the number of a file and of a row in it; a column of
        the files with such a name would stand in their way.
        """
        if {"file_index", "file_row_number"} & {
            f.name.lower() for f in self._files[0].schema_arrow
        }:
            return None
        if len(self._files) == 1:
            return "file_row_number"
        counts = [file.metadata.num_rows for file in self._files]
        begins = list(itertools.accumulate(counts[:-1], initial=0))
        return f"list_extract({begins}, file_index::BIGINT + 1)::BIGINT + file_row_number"

    def times(self, column: str) -> list[pa.ChunkedArray] | None:
        """Return a column of each file, or None if it cannot be read as it is."""
        try:
            return [
                file.read(columns=[column], use_threads=False).column(column)
                for file in self._files
            ]
        except (pa.ArrowException, KeyError, OSError):
            return None


@contextlib.contextmanager
def opened(paths: Sequence[Path]) -> Iterator[Footers | None]:
    """Open Parquet files for a block; None if there are none, or one of them cannot be read."""
    with contextlib.ExitStack() as stack:
        try:
            files = [stack.enter_context(pq.ParquetFile(path)) for path in paths]
        except (pa.ArrowException, OSError):
            files = []
        yield Footers(files) if files else None
