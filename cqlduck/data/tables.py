"""Data of whatever kind, as an Arrow table.

A table keeps the names that the data has; rows without names get those of the input's columns.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import duckdb
import pyarrow as pa

from cqlduck.data import files, relation, values
from cqlduck.errors import DataError, Error, first_line
from cqlduck.state.catalog import Input

WANTED = (
    "pass rows (tuples or dicts), a frame, Arrow, a DuckDB relation, or a path to a Parquet, CSV "
    "or JSON file"
)


def read(thing: Input, data: Any) -> pa.Table:
    """Return data as an Arrow table.

    Args:
        thing: The input that it is for.
        data: See `Connection.append`.

    Raises:
        DataError: It is nothing that can be read, or reading it failed.
    """
    try:
        table = _read(thing, data)
    except Error:
        raise
    except Exception as error:
        # the data is somebody else's code: whatever it raises, it could not be read
        raise DataError(
            f"the data for {thing.name} cannot be read: {type(error).__name__}: "
            f"{first_line(error)}",
            hint=WANTED,
        ) from error
    _refuse_doubles(thing, table.column_names)
    return table


def _refuse_doubles(thing: Input, names: Sequence[str]) -> None:
    lower = [name.lower() for name in names]
    if len(set(lower)) < len(lower):
        double = next(name for name in names if lower.count(name.lower()) > 1)
        raise DataError(
            f"the data for {thing.name} has a column {double} twice",
            hint="names do not differ by case; leave one of them out",
            field=double,
        )


def _read(thing: Input, data: Any) -> pa.Table:
    module = type(data).__module__.partition(".")[0]
    if isinstance(data, (str, os.PathLike)):
        return files.read(thing, data)
    if isinstance(data, duckdb.DuckDBPyRelation):
        return relation.read(thing, data)
    if isinstance(data, pa.Table):
        return data
    if module == "polars" and hasattr(data, "collect"):
        data = data.collect()
    if module == "pandas" and hasattr(data, "columns"):
        return _of_pandas(thing, data)
    names = getattr(getattr(data, "dtype", None), "names", None)
    if names:
        return _of_records(thing, data, names)
    if module == "pyarrow" and hasattr(data, "to_table"):
        return data.to_table()
    if isinstance(data, pa.RecordBatchReader):
        return data.read_all()
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data])
    if hasattr(data, "__arrow_c_stream__"):
        return pa.table(data)
    if hasattr(data, "__arrow_c_array__"):
        return pa.Table.from_batches([pa.record_batch(data)])
    if isinstance(data, (bytes, Mapping)) or not isinstance(data, Iterable):
        raise DataError(f"cannot append a {type(data).__name__} to {thing.name}", hint=WANTED)
    return _of_rows(thing, list(data))


# -- frames ----------------------------------------------------------------------------------------


def _of_pandas(thing: Input, frame: Any) -> pa.Table:
    """Return a pandas frame as Arrow; what pandas calls missing is NULL.

    Columns of Python's objects are read by the types of the input's own: Arrow would make one type
    of the keys of all dicts, and numbers of what is masked.
    """
    kinds = {c.name.lower(): c.type for c in thing.columns}
    names = [str(name) for name in frame.columns]
    _refuse_doubles(thing, names)
    with contextlib.suppress(pa.ArrowException, TypeError, ValueError, OverflowError):
        whole = pa.Table.from_pandas(frame, preserve_index=False)
        if not any(pa.types.is_nested(kind) for kind in whole.schema.types):
            return whole
    fields, columns = [], []
    for place, name in enumerate(names):
        series = frame.iloc[:, place]
        found = _of_series(series)
        if found is None:
            cells = [None if _is_nan(cell) else cell for cell in series.tolist()]
            kind = kinds.get(name.lower(), "VARCHAR")
            field, found = values.of_input(thing.name, name, cells, kind)
        else:
            field = pa.field(name, found.type)
        fields.append(field.with_name(name))
        columns.append(found)
    return pa.table(columns, schema=pa.schema(fields)) if columns else pa.table({})


def _of_series(series: Any) -> pa.Array | pa.ChunkedArray | None:
    """Return a pandas series as Arrow, or None if its objects have to be looked at."""
    try:
        found = pa.array(series, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return None
    return None if series.dtype == object and pa.types.is_nested(found.type) else found


def _is_nan(cell: Any) -> bool:
    return isinstance(cell, float) and cell != cell


def _of_records(thing: Input, data: Any, names: Sequence[str]) -> pa.Table:
    """Return a structured array of numpy's as Arrow, a column for each field."""
    kinds = {c.name.lower(): c.type for c in thing.columns}
    flat = data.reshape(-1)
    fields, columns = [], []
    for name in names:
        part = flat[name]
        plain = part.dtype.kind in "biuf" and not hasattr(part, "mask")
        if plain:
            found = pa.array(part)
            field = pa.field(name, found.type)
        else:
            kind = kinds.get(name.lower(), "VARCHAR")
            field, found = values.of_input(thing.name, name, list(part), kind)
        fields.append(field)
        columns.append(found)
    return pa.table(columns, schema=pa.schema(fields))


# -- rows ------------------------------------------------------------------------------------------


def _of_rows(thing: Input, rows: list[Any]) -> pa.Table:
    """Return rows as Arrow; those without names have the input's columns, in order."""
    names = [c.name for c in thing.columns]
    if rows and isinstance(rows[0], Mapping):
        rows = [_mapping(thing, place, row) for place, row in enumerate(rows)]
        names = list(dict.fromkeys(key for row in rows for key in row))
        _refuse_doubles(thing, names)
        columns = [[row.get(name) for row in rows] for name in names]
    else:
        for place, row in enumerate(rows):
            _check(thing, place, row)
        columns = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in names]
    kinds = {c.name.lower(): c.type for c in thing.columns}
    made = [
        values.of_input(thing.name, name, cells, kinds.get(name.lower(), "VARCHAR"))
        for name, cells in zip(names, columns, strict=True)
    ]
    return pa.table([array for _, array in made], schema=pa.schema([field for field, _ in made]))


def _mapping(thing: Input, place: int, row: Any) -> Mapping[str, Any]:
    if not isinstance(row, Mapping):
        raise DataError(
            f"row {place} for {thing.name} is a {type(row).__name__}, and those before are dicts",
            hint="rows are all dicts, or all tuples or lists",
            row=place,
        )
    for key in row:
        if not isinstance(key, str):
            raise DataError(
                f"row {place} for {thing.name} has the key {key!r}",
                hint="the keys of a row are the names of its columns",
                row=place,
            )
    return row


def _check(thing: Input, place: int, row: Any) -> None:
    if not isinstance(row, (tuple, list)):
        raise DataError(
            f"row {place} for {thing.name} is a {type(row).__name__}",
            hint="rows are tuples, lists or dicts",
            row=place,
        )
    if len(row) != len(thing.columns):
        raise DataError(
            f"row {place} for {thing.name} has {len(row)} values, not {len(thing.columns)}",
            hint=f"its columns are {', '.join(c.name for c in thing.columns)}",
            row=place,
        )
