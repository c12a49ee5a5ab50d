"""Values of numpy, pandas and subclasses, as values of Python's own types."""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Mapping
from decimal import Decimal
from types import NoneType
from typing import Any

from cqlduck.errors import kind_of

TEXTS = (Decimal, uuid.UUID)
"""Types of which a text stands for a value."""

ALONE = {
    NoneType, bool, int, float, str, bytes, datetime.datetime, datetime.date, datetime.time,
    datetime.timedelta, *TEXTS,
}  # fmt: skip
"""Types of values that hold no others."""

_DOWN = (int, float, str, bytes)
_FOREIGN = ("numpy", "pandas")


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
    if kind in ALONE:
        return value
    if kind.__module__.partition(".")[0] in _FOREIGN:
        return _of_numpy(value) if kind.__module__.startswith("numpy") else _of_pandas(value)
    if isinstance(value, (bytearray, memoryview)):
        return bytes(value)
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, (*_DOWN, *TEXTS, datetime.date, datetime.timedelta)):
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
        if str(value.dtype)[-2:] in ("Y]", "M]"):
            # numpy counts 30.4 days for a month
            return str(value)
        found = value.astype("timedelta64[us]").item()
        if isinstance(found, int):
            raise ValueError(f"{value} is longer than a timedelta")
        return found
    found = value.item() if hasattr(value, "item") else value
    if type(found).__module__.startswith("numpy"):
        raise ValueError(f"{kind_of(value)} is no value of DuckDB's")
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
    raise ValueError(f"{kind_of(value)} is no value of DuckDB's")


def shown(value: Any) -> str:
    """Return a value as a message shows it."""
    try:
        text = repr(value)
    except Exception:  # whatever it is, it is not ours
        text = kind_of(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
