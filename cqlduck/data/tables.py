"""Data of any kind as an Arrow table: for an input, or as a frame that SQL reads by name.

A table has the column names of the data; rows without names get those of the input's columns. The
types of a frame's columns follow from its values.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import duckdb
import pyarrow as pa

from cqlduck.data import files, relation, sound, target, values
from cqlduck.data.target import Frame, Target
from cqlduck.errors import DataError, Error, first_line, kind_of
from cqlduck.state.interrupts import is_of_handler

WANTED = (
    "pass rows (tuples or dicts), a frame, Arrow, a DuckDB relation, or a path to a Parquet, CSV "
    "or JSON file"
)
FRAMES = (
    "pass a pandas or polars frame, a structured array, Arrow, a DuckDB relation, a mapping of "
    "columns, or rows that are mappings"
)
_SURE = (pa.types.is_string, pa.types.is_large_string, pa.types.is_boolean, pa.types.is_int64,
         pa.types.is_float64, pa.types.is_null)  # fmt: skip
"""Types that Arrow gives objects only if all of them are of one, or equal to what it makes."""


def read(thing: Target, data: Any) -> pa.Table:
    """Return data as an Arrow table.

    Args:
        thing: The input that it is for.
        data: See `Connection.append`.

    Raises:
        DataError: It is nothing that can be read, or reading it failed.
    """
    return _known(_named(thing, lambda: _read(thing, data), WANTED))


def _known(table: pa.Table) -> pa.Table:
    """Return a table without types of somebody's own: DuckDB takes what they are stored as."""
    for place, field in enumerate(table.schema):
        if isinstance(field.type, pa.ExtensionType) and field.type.__hash__ is None:
            storage = [chunk.storage for chunk in table.column(place).chunks]
            column = pa.chunked_array(storage, field.type.storage_type)
            table = table.set_column(place, field.name, column)
    return table


def of_frame(name: str, data: Any) -> pa.Table:
    """Return a data frame as an Arrow table that DuckDB takes as what it is.

    Args:
        name: What it is called.
        data: See `Connection.register`.

    Raises:
        DataError: It is nothing that can be read as a table, has no columns, or holds what DuckDB
            cannot.
    """
    frame = Frame(name)
    is_frame = not isinstance(data, (str, bytes, os.PathLike))
    if isinstance(data, Sequence):
        is_frame = is_frame and bool(data) and all(isinstance(row, Mapping) for row in data)
    if not is_frame:
        raise _no_table(frame, data)
    if isinstance(data, Mapping):
        table = _named(frame, lambda: _of_columns(frame, data), FRAMES)
    else:
        table = _known(_named(frame, lambda: _read(frame, data), FRAMES))
    if not table.num_columns:
        raise DataError(f"{name} has no columns", hint="pass a table with at least one")
    sound.check(frame, table)
    return table


def _named(thing: Target, made: Callable[[], pa.Table], wanted: str) -> pa.Table:
    """Return a table that is made of somebody's data, each of its columns with a name of its own.

    Raises:
        DataError: It could not be made.
    """
    try:
        table = made()
    except Error:
        raise
    except Exception as error:
        if is_of_handler(error):
            # as where a limit of time is set by an alarm
            raise
        # the data is somebody else's code: whatever it raises, it could not be read
        raise DataError(
            f"the data for {thing.name} cannot be read: {type(error).__name__}: "
            f"{first_line(error)}",
            hint=wanted,
        ) from error
    _refuse_doubles(thing, table.column_names)
    return table


def _no_table(thing: Target, data: Any) -> DataError:
    kind = kind_of(data)
    if isinstance(thing, Frame):
        return DataError(f"{thing.name} is {kind}, not a table", hint=FRAMES)
    return DataError(f"cannot append {kind} to {thing.name}", hint=WANTED)


def _refuse_doubles(thing: Target, names: Sequence[str]) -> None:
    lower = [name.lower() for name in names]
    if len(set(lower)) < len(lower):
        double = next(name for name in names if lower.count(name.lower()) > 1)
        raise DataError(
            f"the data for {thing.name} has a column {double} twice",
            hint="names do not differ by case; leave one of them out",
            field=double,
        )


def _is_lost_in_arrow(dtype: Any) -> bool:
    """Return whether polars exports a type as something else than its values.

    Of an Object it exports the address in memory, and Int128 under a name that Arrow has not; so
    also inside lists and structs.
    """
    return "Object" in str(dtype) or "Int128" in str(dtype)


def _read(thing: Target, data: Any) -> pa.Table:
    module = type(data).__module__.partition(".")[0]
    if isinstance(data, (str, os.PathLike)):
        return files.read(thing, data)
    if isinstance(data, duckdb.DuckDBPyRelation):
        return relation.read(thing, data)
    if isinstance(data, pa.Table):
        return data
    if module == "polars" and hasattr(data, "collect"):
        data = data.collect()
    if module == "polars" and any(map(_is_lost_in_arrow, getattr(data, "dtypes", ()))):
        return _of_columns(thing, {column.name: column for column in data})
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
        raise _no_table(thing, data)
    if isinstance(thing, Frame) and not isinstance(data, Sequence):
        # rows of a generator may be gone when they are found to be none
        raise _no_table(thing, data)
    return _of_rows(thing, list(data))


# -- frames ----------------------------------------------------------------------------------------


def _of_pandas(thing: Target, frame: Any) -> pa.Table:
    """Return a pandas frame as Arrow; what pandas calls missing is NULL."""
    names = [str(name) for name in frame.columns]
    _refuse_doubles(thing, names)
    # whatever it raises, the values are looked at one by one then
    with contextlib.suppress(Exception):
        whole = pa.Table.from_pandas(frame, preserve_index=False)
        if all(map(_is_sure, frame.dtypes, whole.schema.types)):
            return whole
    return _table(_of_series(thing, n, frame.iloc[:, place]) for place, n in enumerate(names))


def _of_series(thing: Target, name: str, series: Any) -> values.Column:
    """Return a pandas series as Arrow.

    Python's objects are looked at one by one: Arrow would make one type of the keys of all dicts,
    numbers of what is masked, dates of moments.
    """
    with contextlib.suppress(Exception):
        found = pa.array(series, from_pandas=True)
        if _is_sure(series.dtype, found.type):
            return pa.field(name, found.type), found
    cells = [None if _is_nan(cell) else cell for cell in series.tolist()]
    return values.of_data(thing.name, name, cells, target.kind(thing, name))


def _is_sure(given: Any, kind: pa.DataType) -> bool:
    """Return whether Arrow holds a series of a type of pandas' as it is."""
    categories = getattr(given, "categories", None)
    if categories is not None and hasattr(kind, "value_type"):
        return _is_sure(categories.dtype, kind.value_type)
    return str(given) != "object" or any(is_sure(kind) for is_sure in _SURE)


def _is_nan(cell: Any) -> bool:
    return isinstance(cell, float) and cell != cell


def _of_records(thing: Target, data: Any, names: Sequence[str]) -> pa.Table:
    """Return a structured array of numpy's as Arrow, a column for each field."""
    flat = data.reshape(-1)
    return _table(_of_array(thing, name, flat[name]) for name in names)


def _of_array(thing: Target, name: str, array: Any) -> values.Column:
    """Return an array of numpy's as Arrow; what is masked is NULL."""
    if array.dtype.kind in "biuf" and array.ndim == 1 and not hasattr(array, "mask"):
        found = pa.array(array)
        return pa.field(name, found.type), found
    return values.of_data(thing.name, name, list(array), target.kind(thing, name))


def _of_columns(thing: Target, data: Mapping[Any, Any]) -> pa.Table:
    """Return a mapping from names to columns as Arrow."""
    for name in data:
        if not isinstance(name, str):
            raise DataError(
                f"{thing.name} has the key {name!r}",
                hint="the keys of a mapping of columns are their names",
            )
    return _table(_of_any(thing, name, column) for name, column in data.items())


def _of_any(thing: Target, name: str, column: Any) -> values.Column:
    """Return a column of whatever kind as Arrow."""
    module = type(column).__module__.partition(".")[0]
    if module == "polars" and hasattr(column, "to_arrow"):
        column = column.to_list() if _is_lost_in_arrow(column.dtype) else column.to_arrow()
    if isinstance(column, (pa.Array, pa.ChunkedArray)):
        return pa.field(name, column.type), column
    if module == "pandas" and hasattr(column, "dtype"):
        return _of_series(thing, name, column if hasattr(column, "items") else column.to_series())
    if module == "numpy":
        return _of_array(thing, name, column)
    if isinstance(column, (str, bytes, Mapping)):
        raise DataError(
            f"{name} of {thing.name} is {kind_of(column)}, not a column",
            hint="a mapping of columns has a list or an array for each name",
            field=name,
        )
    return values.of_data(thing.name, name, list(column), target.kind(thing, name))


def _table(columns: Iterable[values.Column]) -> pa.Table:
    made = list(columns)
    if not made:
        return pa.table({})
    return pa.table([array for _, array in made], schema=pa.schema([field for field, _ in made]))


# -- rows ------------------------------------------------------------------------------------------


def _of_rows(thing: Target, rows: list[Any]) -> pa.Table:
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
    return _table(
        values.of_data(thing.name, name, cells, target.kind(thing, name))
        for name, cells in zip(names, columns, strict=True)
    )


def _mapping(thing: Target, place: int, row: Any) -> Mapping[str, Any]:
    if not isinstance(row, Mapping):
        raise DataError(
            f"row {place} for {thing.name} is {kind_of(row)}, and those before are dicts",
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


def _check(thing: Target, place: int, row: Any) -> None:
    if not isinstance(row, (tuple, list)):
        raise DataError(
            f"row {place} for {thing.name} is {kind_of(row)}",
            hint="rows are tuples, lists or dicts",
            row=place,
        )
    if len(row) != len(thing.columns):
        raise DataError(
            f"row {place} for {thing.name} has {len(row)} values, not {len(thing.columns)}",
            hint=f"its columns are {', '.join(c.name for c in thing.columns)}",
            row=place,
        )
