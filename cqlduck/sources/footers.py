"""Footers of Parquet files: the columns and times of a batch before DuckDB reads it.

Asking DuckDB for the columns of a file and for the range of its times takes two statements; for a
batch of a hundred rows they cost more than consuming it. A file's footer has its columns, and Arrow
reads a plain column of times in a fraction of that. Other files (truncated ones, columns that
differ by case, times of another type) are left to DuckDB, which also words the errors.
"""

from __future__ import annotations

import contextlib
import itertools
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from cqlduck.data.sound import check, moments
from cqlduck.data.target import Frame
from cqlduck.errors import DataError
from cqlduck.rewrite.plan import Column
from cqlduck.state.types import told_type

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
    found = {f.name.lower(): Column(f.name, _TIMES.get(f.type, told_type(f.type))) for f in schema}
    stamp = found.get("_ts")
    if len(found) < len(schema) or (stamp is not None and stamp.type not in _TIMES.values()):
        return None
    return found


def _unit(column: Any) -> str | None:
    """Return the unit of a column of timestamps that DuckDB does not check, or None."""
    if column.logical_type.type != "TIMESTAMP":
        return None
    unit = json.loads(column.logical_type.to_json())["timeUnit"]
    return {"milliseconds": "ms", "microseconds": "us"}.get(unit)


class Footers:
    """The open Parquet files of batches, in arrival order."""

    def __init__(self, paths: Sequence[Path], files: Sequence[pq.ParquetFile]) -> None:
        """Keep the files; `opened` opens and closes them."""
        self._paths, self._files = paths, files

    def columns(self) -> dict[str, Column] | None:
        """Return the columns of the first file, see `columns_of`."""
        return columns_of(self._files[0].schema_arrow)

    def surplus(self) -> tuple[Path, str] | None:
        """Return the first file with a column that the first has not, and its name.

        DuckDB takes the columns of the first file and skips others.
        """
        known = {name.lower() for name in self._files[0].schema_arrow.names}
        for path, file in zip(self._paths, self._files, strict=True):
            for name in file.schema_arrow.names:
                if name.lower() not in known:
                    return path, name
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

    def without_date(self) -> tuple[Path, str] | None:
        """Return the first file with a timestamp that is none in DuckDB, and its column.

        DuckDB stores it, and fails for good when a query shows it. Of most columns statistics say
        the least and the greatest value; others are read.
        """
        for path, file in zip(self._paths, self._files, strict=True):
            for place in range(file.metadata.num_columns):
                column = file.metadata.schema.column(place)
                unit = _unit(column)
                if unit is not None and not self._has_dates(file, place, unit):
                    return path, column.path
        return None

    @staticmethod
    def _has_dates(file: pq.ParquetFile, place: int, unit: str) -> bool:
        low, high = moments(unit)
        groups = (file.metadata.row_group(at) for at in range(file.metadata.num_row_groups))
        statistics = [group.column(place).statistics for group in groups if group.num_rows]
        if all(each is not None and each.has_min_max for each in statistics):
            ends = [end for each in statistics for end in (each.min_raw, each.max_raw)]
            if all(low <= end <= high for end in ends):
                return True
        path = file.metadata.schema.column(place).path
        try:
            table = file.read(columns=[path], use_threads=False)
            check(Frame(path), table)
        except DataError:
            return False
        except (pa.ArrowException, KeyError, OSError):
            # DuckDB says what is wrong with it
            return True
        return True

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
        yield Footers(paths, files) if files else None
