"""Python values as Arrow: a column at a time, so that DuckDB casts each value as if it stood alone.

A column of plain values of one kind becomes an Arrow array. Values without a kind of Arrow (a
mixture, a dict for a MAP, a time of day with an offset) are bound, one by one, to a parameter of
the column's type in a separate DuckDB: so no value gets the keys or the type of its neighbours, and
the error of a value that cannot be converted has its place and ends no transaction.
"""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Sequence
from types import NoneType
from typing import Any

import duckdb
import pyarrow as pa

from cqlduck.data.inferred import arrow_type, ready
from cqlduck.data.parameters import Json, bound
from cqlduck.data.place import first_that_fails, scratch
from cqlduck.data.plain import ALONE, TEXTS, plain, shown
from cqlduck.errors import DataError, first_line
from cqlduck.state.types import EXPORTED, ZONED, replaced

CHUNK = 200
"""How many values one INSERT has."""

_ARROW: dict[type, pa.DataType] = {
    bool: pa.bool_(),
    int: pa.int64(),
    float: pa.float64(),
    str: pa.string(),
    bytes: pa.binary(),
    datetime.datetime: pa.timestamp("us"),
    datetime.date: pa.date32(),
    datetime.time: pa.time64("us"),
}
_SMALL = {"TINYINT": pa.int8(), "SMALLINT": pa.int16(), "INTEGER": pa.int32()}
_FAILURES = (duckdb.Error, TypeError, ValueError, OverflowError, RuntimeError)
_BARE = ("VARIANT", "UNION")
"""Types of which a value keeps its own type: no text can stand for it."""


class Unfit(Exception):
    """A value that cannot be converted, at a place from 0."""

    def __init__(self, row: int, why: str) -> None:
        """Keep the place and the reason."""
        super().__init__(row, why)
        self.row, self.why = row, why


Column = tuple[pa.Field, pa.Array | pa.ChunkedArray]
"""A column of Arrow: of a VARIANT the field says that it is one."""


def column(values: Sequence[Any], kind: str) -> Column:
    """Return values as Arrow; None, NaT, NA and what is masked are NULL.

    Args:
        values: The values.
        kind: The DuckDB type of the column that they are for.

    Raises:
        Unfit: A value that is nothing DuckDB knows.
    """
    types = set(map(type, values))
    if not types <= ALONE:
        values = _each(values, plain)
        types = set(map(type, values))
    types.discard(NoneType)
    if not types:
        return pa.field("x", pa.null()), pa.nulls(len(values))
    found = None
    if len(types) == 1 and not any(word in kind for word in _BARE):
        found = _uniform(values, types.pop(), kind)
    return _bound(values, kind) if found is None else (pa.field("x", found.type), found)


def _uniform(values: Sequence[Any], kind: type, column: str) -> pa.Array | None:
    """Return values of one type as Arrow, or None if Arrow has no type for them."""
    if kind in TEXTS:
        return pa.array([None if v is None else str(v) for v in values], pa.string())
    wanted = _ARROW.get(kind)
    if kind is int and column in _SMALL:
        with contextlib.suppress(pa.ArrowInvalid, OverflowError):
            return pa.array(values, _SMALL[column])
    if kind is datetime.datetime:
        zones = {v.tzinfo is None for v in values if v is not None}
        wanted = None if len(zones) > 1 else pa.timestamp("us", None if True in zones else "UTC")
    if kind is datetime.time and any(v.tzinfo is not None for v in values if v is not None):
        wanted = None
    if wanted is None:
        return None
    try:
        return pa.array(values, wanted, from_pandas=False)
    except (pa.ArrowException, OverflowError, UnicodeError):
        # an int beyond 64 bits, half a character
        return None


def _bound(values: Sequence[Any], kind: str) -> Column:
    """Return values as those of a column's type, each bound by itself."""
    target = duckdb.type(replaced(kind, ZONED))
    ready = _each(values, lambda value: bound(value, target))
    own, zoned = scratch(), str(target)
    own.execute(f"CREATE OR REPLACE TEMP TABLE bound (x {zoned})")
    for start in range(0, len(ready), CHUNK):
        part = ready[start : start + CHUNK]
        marks = ", ".join(f"({_cast(value, zoned)})" for value in part)
        try:
            own.execute(f"INSERT INTO bound VALUES {marks}", [_parameter(v) for v in part])
        except _FAILURES as error:
            _find(part, start, zoned)
            raise Unfit(start, first_line(error)) from error
    return _exported(own, zoned, len(ready))


def _exported(own: duckdb.DuckDBPyConnection, kind: str, count: int) -> Column:
    """Return the bound values as Arrow.

    Raises:
        Unfit: A VARIANT of a type that Arrow's has not.
    """
    select = f"SELECT CAST(x AS {replaced(kind, EXPORTED)}) AS x FROM bound"

    def fails(low: int, high: int) -> str | None:
        try:
            own.sql(f"{select} WHERE rowid >= {low} AND rowid < {high}").to_arrow_table()
        except duckdb.Error as error:
            return first_line(error)
        return None

    try:
        table = own.sql(select).to_arrow_table()
    except duckdb.Error as error:
        found = first_that_fails(count, fails) or (0, first_line(error))
        raise Unfit(*found) from error
    return table.schema.field(0), table.column(0)


def _cast(value: Any, kind: str) -> str:
    # as JSON, a list of an int and a text stays that
    return f"CAST(CAST(? AS JSON) AS {kind})" if isinstance(value, Json) else f"CAST(? AS {kind})"


def _parameter(value: Any) -> Any:
    return value.text if isinstance(value, Json) else value


def _find(values: Sequence[Any], start: int, kind: str) -> None:
    """Say which of some values cannot be converted.

    Raises:
        Unfit: The first of them.
    """
    for place, value in enumerate(values, start):
        try:
            scratch().execute(f"SELECT {_cast(value, kind)}", [_parameter(value)]).fetchall()
        except _FAILURES as error:
            raise Unfit(place, first_line(error)) from error


def _each(values: Sequence[Any], convert: Any) -> list[Any]:
    """Convert values one by one.

    Raises:
        Unfit: One of them cannot be converted.
    """
    found = []
    for place, value in enumerate(values):
        try:
            found.append(convert(value))
        except (ValueError, TypeError, OverflowError, RecursionError) as error:
            raise Unfit(place, first_line(error)) from error
    return found


def typed(values: Sequence[Any]) -> Column:
    """Return values as Arrow, as the one type that all have, or as a VARIANT where there is none.

    Raises:
        Unfit: A value that is nothing DuckDB knows.
    """
    values = _each(values, plain)
    kind = arrow_type(values)
    if kind is not None:
        with contextlib.suppress(pa.ArrowException, OverflowError, UnicodeError, ValueError):
            found = pa.array([ready(v, kind) for v in values], kind, from_pandas=False)
            return pa.field("x", kind), found
    is_time = kind is None and set(map(type, values)) <= {NoneType, datetime.time}
    return _bound(values, "TIME WITH TIME ZONE" if is_time else "VARIANT")


def of_data(name: str, field: str, values: Sequence[Any], kind: str | None) -> Column:
    """Return a column of data as Arrow.

    Args:
        name: What the data is for.
        field: The column.
        values: Its values.
        kind: The DuckDB type that it is for, or None if the values say it.

    Raises:
        DataError: A value that cannot be converted, with its place.
    """
    try:
        made, found = typed(values) if kind is None else column(values, kind)
        return made.with_name(field), found
    except Unfit as error:
        raise DataError(
            f"row {error.row} for {name}: {field} is {shown(values[error.row])}: {error.why}",
            hint=f"{field} is {kind}" if kind else "leave it out, or give it one type",
            row=error.row,
            field=field,
        ) from error
