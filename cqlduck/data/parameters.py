"""Values bound by DuckDB to a parameter of a type."""

from __future__ import annotations

import datetime
import json
import math
import uuid
from decimal import Decimal
from typing import Any

import duckdb
from duckdb.sqltypes import DuckDBPyType

from cqlduck.data.inferred import arrow_type
from cqlduck.state.types import ZONED, inside

_ZONED = {zoned for _, zoned in ZONED}


class Json:
    """A value that is bound as JSON."""

    def __init__(self, value: Any) -> None:
        """Write it."""
        self.text = json.dumps(value, allow_nan=False)


def bound(value: Any, kind: DuckDBPyType) -> Any:
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
    return bound(value, kind)


def _variant(value: Any) -> Any:
    """Return a list or a dict such that each value in it keeps its own type in a VARIANT.

    DuckDB would make one type of the members of a list, and one STRUCT of all dicts in it.

    Raises:
        ValueError: It holds what is no JSON, and not of one type.
    """
    if _is_json(value):
        return Json(value)
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
