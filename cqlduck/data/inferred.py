"""The common type of Python values: the type that a frame shows for a column of objects.

An input declares the types of its columns; a frame that SQL reads by name does not. Arrow would
guess from the first values: a date before a datetime becomes two dates, and dicts become one struct
with the keys of all. So this module infers the type from every value, and values without a common
type have none.
"""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Iterable, Sequence
from decimal import Decimal
from itertools import chain
from types import NoneType
from typing import Any

import pyarrow as pa

_PLAIN: dict[type, pa.DataType] = {
    bool: pa.bool_(),
    float: pa.float64(),
    str: pa.string(),
    bytes: pa.binary(),
    datetime.date: pa.date32(),
    datetime.timedelta: pa.duration("us"),
    uuid.UUID: pa.uuid(),
}
_EXACT = 2**53
"""Up to here a DOUBLE holds every integer."""

_DIGITS = 38


def arrow_type(values: Sequence[Any]) -> pa.DataType | None:
    """Return the type of Arrow that holds values as they are, or None if there is none.

    Dicts with the same keys are a STRUCT; with others, or with keys that are no texts, a MAP.

    >>> arrow_type([{"a": 1}, {"a": None}]), arrow_type([1, 2.5]), arrow_type([1, "x"])
    (StructType(struct<a: int64>), DataType(double), None)

    Args:
        values: Values of Python's own, as `plain` gives them.
    """
    types = set(map(type, values)) - {NoneType}
    if len(types) > 1:
        return _of_numbers(types, values)
    if not types:
        return pa.null()
    kind = types.pop()
    if kind in (int, Decimal):
        return _of_numbers({kind}, values)
    filled = [v for v in values if v is not None]
    if kind is datetime.datetime:
        zones = {v.tzinfo is None for v in filled}
        return None if len(zones) > 1 else pa.timestamp("us", None if True in zones else "UTC")
    if kind is datetime.time:
        return None if any(v.tzinfo is not None for v in filled) else pa.time64("us")
    if kind in (list, tuple):
        child = arrow_type(list(chain.from_iterable(filled)))
        return None if child is None else pa.list_(child)
    return _of_dicts(filled) if kind is dict else _PLAIN.get(kind)


def _of_numbers(types: set[type], values: Sequence[Any]) -> pa.DataType | None:
    """Return the type of integers, decimals, or of both; of integers and doubles if that is exact.

    Not of doubles and decimals: 0.1 is another number in each.
    """
    integers = [v for v in values if type(v) is int]
    least, greatest = min(integers, default=0), max(integers, default=0)
    if types == {int} and least >= -(2**63) and greatest < 2**63:
        return pa.int64()
    if types == {int, float} and least >= -_EXACT and greatest <= _EXACT:
        return pa.float64()
    if not types <= {int, Decimal}:
        return None
    return _of_decimals(Decimal(v) for v in (*values, least, greatest) if v is not None)


def _of_decimals(values: Iterable[Decimal]) -> pa.DataType | None:
    whole = scale = 0
    for value in values:
        _, digits, exponent = value.as_tuple()
        if not isinstance(exponent, int):
            # NaN, an infinity
            return None
        whole, scale = max(whole, len(digits) + exponent), max(scale, -exponent)
    width = max(whole + scale, 1)
    return pa.decimal128(width, scale) if width <= _DIGITS else None


def _of_dicts(dicts: Sequence[dict[Any, Any]]) -> pa.DataType | None:
    keys = list(dict.fromkeys(chain.from_iterable(dicts)))
    if keys and all(isinstance(key, str) for key in keys):
        fields = {key: arrow_type([d[key] for d in dicts if key in d]) for key in keys}
        is_one = all(len(d) == len(keys) for d in dicts)
        if is_one and len({key.lower() for key in keys}) == len(keys):
            listed = [pa.field(key, kind) for key, kind in fields.items() if kind is not None]
            return pa.struct(listed) if len(listed) == len(keys) else None
    key = arrow_type(keys) if keys else pa.string()
    value = arrow_type(list(chain.from_iterable(d.values() for d in dicts)))
    is_map = key is not None and value is not None and None not in keys
    return pa.map_(key, value) if is_map else None


def ready(value: Any, kind: pa.DataType) -> Any:
    """Return a value as Arrow takes one of a type that `arrow_type` gave: of a MAP its pairs."""
    if value is None or not pa.types.is_nested(kind):
        return value
    if pa.types.is_struct(kind):
        return {field.name: ready(value[field.name], field.type) for field in kind}
    if pa.types.is_map(kind):
        pairs = value.items()
        return [(ready(k, kind.key_type), ready(v, kind.item_type)) for k, v in pairs]
    return [ready(v, kind.value_type) for v in value]
