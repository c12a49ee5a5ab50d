"""Python values as Arrow: a column at a time, so that DuckDB casts each value as if it stood alone.

A column of plain values of one kind becomes an Arrow array. Values without a kind of Arrow (a
mixture, a dict for a MAP, a time of day with an offset) are bound, one by one, to a parameter of
the column's type in a separate DuckDB: so no value gets the keys or the type of its neighbours, and
the error of a value that cannot be converted has its place and ends no transaction.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import math
import uuid
from collections.abc import Mapping, Sequence
from decimal import Decimal
from types import NoneType
from typing import Any

import duckdb
import pyarrow as pa
from duckdb.sqltypes import DuckDBPyType

from cqlduck.data.inferred import arrow_type, ready
from cqlduck.data.place import first_that_fails, scratch
from cqlduck.errors import DataError, first_line
from cqlduck.state.types import EXPORTED, ZONED, inside, replaced

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
_TEXTS = (Decimal, uuid.UUID)
_TYPED = (datetime.timedelta, list, tuple, dict)
_KNOWN = {NoneType, *_ARROW, *_TEXTS, *_TYPED}
_ALONE = _KNOWN - {list, tuple, dict}
"""Types of values that hold no others."""

_DOWN = (int, float, str, bytes)
_FAILURES = (duckdb.Error, TypeError, ValueError, OverflowError, RuntimeError)
_FOREIGN = ("numpy", "pandas")
_ZONED = {zoned for _, zoned in ZONED}
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
    if not types <= _ALONE:
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
    if kind in _TEXTS:
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
    ready = _each(values, lambda value: _ready(value, target))
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
    return f"CAST(CAST(? AS JSON) AS {kind})" if isinstance(value, _Json) else f"CAST(? AS {kind})"


def _parameter(value: Any) -> Any:
    return value.text if isinstance(value, _Json) else value


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


# -- values by themselves --------------------------------------------------------------------------


def plain(value: Any) -> Any:
    """Return a value of numpy's or pandas' as one of Python's.

    Raises:
        ValueError: There is none.
    """
    kind = type(value)
    if kind in (list, tuple):
        return [plain(v) for v in value]
    if kind is dict or isinstance(value, Mapping):
        return {plain(k): plain(v) for k, v in value.items()}
    if kind in _KNOWN:
        return value
    if kind.__module__.partition(".")[0] in _FOREIGN:
        return _of_numpy(value) if kind.__module__.startswith("numpy") else _of_pandas(value)
    if isinstance(value, (bytearray, memoryview)):
        return bytes(value)
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, (*_DOWN, *_TEXTS, datetime.date, datetime.timedelta)):
        return _down(value)
    raise ValueError(f"a {kind.__name__} is no value of DuckDB's")


def _down(value: Any) -> Any:
    """Return a value of a subclass as one of the class that Arrow knows: an IntEnum as an int."""
    if isinstance(value, datetime.datetime):
        return datetime.datetime.combine(value.date(), value.timetz())
    if isinstance(value, datetime.date):
        return datetime.date(value.year, value.month, value.day)
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    return bytes(value) if isinstance(value, bytes) else value


def _of_numpy(value: Any) -> Any:
    kind = type(value).__name__
    if kind == "MaskedConstant":
        return None
    if hasattr(value, "dtype") and getattr(value, "ndim", None):
        # `tolist` makes plain numbers of times
        whole = list(value) if value.dtype.kind in "mMO" else value.tolist()
        return [plain(v) for v in whole]
    if kind == "datetime64":
        return _of_datetime64(value)
    if kind == "timedelta64":
        if str(value) == "NaT":
            return None
        found = value.astype("timedelta64[us]").item()
        if isinstance(found, int):
            raise ValueError(f"{value} is longer than a timedelta")
        return found
    found = value.item() if hasattr(value, "item") else value
    if type(found).__module__.startswith("numpy"):
        raise ValueError(f"a {kind} is no value of DuckDB's")
    return plain(found)


def _of_datetime64(value: Any) -> Any:
    """Return a moment of numpy's as one of Python's, or as a text where Python has none."""
    text = str(value)
    if text == "NaT":
        return None
    micros = value.astype("datetime64[us]")
    found = micros.item()
    if isinstance(found, datetime.datetime) and micros == value:
        return found if "T" in text else found.date()
    if "T" not in text:
        text = str(value.astype("datetime64[D]"))
    elif text.count(":") < 2:
        text = str(value.astype("datetime64[s]"))
    return text.replace("T", " ")


def _of_pandas(value: Any) -> Any:
    kind = type(value).__name__
    if kind in ("NaTType", "NAType"):
        return None
    if kind == "Timestamp":
        zone = value.tzinfo
        moment = value if zone is None else value.tz_convert("UTC").tz_localize(None)
        found = _of_datetime64(moment.to_datetime64())
        if isinstance(found, str):
            return found if zone is None else f"{found}+00"
        return found if zone is None else found.replace(tzinfo=datetime.UTC)
    if kind == "Timedelta":
        return value.to_pytimedelta()
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    raise ValueError(f"a {kind} is no value of DuckDB's")


# -- values of a type ------------------------------------------------------------------------------


class _Json:
    """A value that is bound as JSON."""

    def __init__(self, value: Any) -> None:
        """Write it."""
        self.text = json.dumps(value, allow_nan=False)


def _ready(value: Any, kind: DuckDBPyType) -> Any:
    """Return a value as DuckDB binds it to a parameter of a type.

    Raises:
        ValueError: It has keys that the type has no place for, or is none of its values.
    """
    if isinstance(value, (list, tuple, dict)):
        found = _inside(value, kind)
        if isinstance(found, (list, dict)) and str(kind) != "VARIANT":
            return duckdb.Value(found, kind)
        return found
    if isinstance(value, (Decimal, uuid.UUID)) and str(kind) == "VARCHAR":
        return str(value)
    if isinstance(value, datetime.date) and str(kind) in _ZONED:
        # bound as such, one without a zone would be none
        zone = "" if getattr(value, "tzinfo", None) else "+00"
        return f"{value}{zone if isinstance(value, datetime.datetime) else ''}"
    if isinstance(value, datetime.datetime) and value.tzinfo is None and str(kind) == "DATE":
        return value.date()  # inside a list DuckDB takes no moment for a date
    if isinstance(value, datetime.time) and value.tzinfo is not None and str(kind) != "VARIANT":
        # DuckDB (release 2.0) takes no offset that is negative
        return value.isoformat()
    if isinstance(value, int) and not -(2**127) <= value < 2**128:
        return str(value)
    return value


def _inside(value: Any, kind: DuckDBPyType) -> Any:
    if str(kind) == "JSON" and isinstance(value, (list, tuple, dict)):
        return _as_json(value)
    if str(kind) == "VARIANT" and isinstance(value, (list, tuple, dict)):
        return _variant(value)
    if isinstance(value, (list, tuple)):
        if kind.id in ("list", "array"):
            child = inside(kind)["child"]
            return [_inside(v, child) for v in value]
        if kind.id == "struct" and len(value) == len(inside(kind)):
            pairs = zip(value, inside(kind).items(), strict=True)
            return {name: _inside(v, of) for v, (name, of) in pairs}
        return list(value)
    if isinstance(value, dict):
        if kind.id == "struct":
            return _fields(value, kind)
        if kind.id == "map":
            of = inside(kind)
            return {_inside(k, of["key"]): _inside(v, of["value"]) for k, v in value.items()}
        return value
    return _ready(value, kind)


def _variant(value: Any) -> Any:
    """Return a list or a dict such that each value in it keeps its own type in a VARIANT.

    DuckDB would make one type of the members of a list, and one STRUCT of all dicts in it.

    Raises:
        ValueError: It holds what is no JSON, and not of one type.
    """
    if _is_json(value):
        return _Json(value)
    if arrow_type([value]) is None or not _has_texts_as_keys(value):
        raise ValueError("a VARIANT cannot hold these values side by side as they are")
    return value


def _is_json(value: Any) -> bool:
    """Return whether JSON holds a value as it is."""
    if isinstance(value, (list, tuple)):
        return all(map(_is_json, value))
    if isinstance(value, dict):
        return all(isinstance(k, str) and _is_json(v) for k, v in value.items())
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, int):
        return -(2**63) <= value < 2**64
    return value is None or isinstance(value, str)


def _has_texts_as_keys(value: Any) -> bool:
    if isinstance(value, dict):
        return all(isinstance(k, str) and _has_texts_as_keys(v) for k, v in value.items())
    return not isinstance(value, (list, tuple)) or all(map(_has_texts_as_keys, value))


def _fields(value: dict[Any, Any], kind: DuckDBPyType) -> dict[str, Any]:
    """Return a dict as a STRUCT's fields; those that it lacks are NULL."""
    given = {str(key).lower(): v for key, v in value.items()}
    names = {name.lower() for name in inside(kind)}
    if len(given) < len(value):
        raise ValueError(f"two of the keys {list(value)} are one field of {kind}")
    unknown = [key for key in value if str(key).lower() not in names]
    if unknown:
        raise ValueError(f"the key {unknown[0]!r} is no field of {kind}")
    return {name: _inside(given.get(name.lower()), of) for name, of in inside(kind).items()}


def _as_json(value: Any) -> str:
    try:
        return json.dumps(value, allow_nan=False)
    except TypeError as error:
        raise ValueError(f"it is no JSON: {error}") from error


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


def shown(value: Any) -> str:
    """Return a value as a message shows it."""
    try:
        text = repr(value)
    except Exception:  # whatever it is, it is not ours
        text = f"a {type(value).__name__}"
    return text if len(text) <= 80 else f"{text[:77]}..."
