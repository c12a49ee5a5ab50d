"""Columns of Arrow as stores have them, and numbers that Arrow makes faster than SQL."""

from __future__ import annotations

import functools
from array import array
from collections.abc import Iterable

import pyarrow as pa

from cqlduck.rewrite.text.time import Instant

CACHED_ROWS = 200_000
"""The numbers of so many rows are worked out once."""

PLAIN: dict[pa.DataType, str] = {
    pa.bool_(): "BOOLEAN",
    pa.int8(): "TINYINT",
    pa.int16(): "SMALLINT",
    pa.int32(): "INTEGER",
    pa.int64(): "BIGINT",
    pa.uint8(): "UTINYINT",
    pa.uint16(): "USMALLINT",
    pa.uint32(): "UINTEGER",
    pa.uint64(): "UBIGINT",
    pa.float32(): "FLOAT",
    pa.float64(): "DOUBLE",
    pa.string(): "VARCHAR",
    pa.date32(): "DATE",
    pa.timestamp("us"): "TIMESTAMP",
    pa.timestamp("us", "UTC"): "TIMESTAMP WITH TIME ZONE",
}
"""As what DuckDB reads plain columns of Arrow."""


def stored_type(kind: pa.DataType) -> str | None:
    """Return as what DuckDB reads a column of Arrow, if that is plain."""
    if pa.types.is_decimal128(kind):
        return f"DECIMAL({kind.precision},{kind.scale})"
    return PLAIN.get(kind)


def integers(values: Iterable[int]) -> pa.Array:
    """Return BIGINTs; `pa.array` and `pa.scalar` would import pandas first, where there is one."""
    return _buffer(array("q", values))


def _buffer(raw: array[int]) -> pa.Array:
    return pa.Array.from_buffers(pa.int64(), len(raw), [None, pa.py_buffer(raw)])


def places(count: int) -> pa.Array:
    """Return the numbers from 0 up to before `count`."""
    return _some_places().slice(0, count) if count <= CACHED_ROWS else _counted(count)


@functools.cache
def _some_places() -> pa.Array:
    return _counted(CACHED_ROWS)


def _counted(count: int) -> pa.Array:
    import pyarrow.compute as pc

    return pc.cumulative_sum(_buffer(array("q", [1]) * count), start=integers([-1])[0])


def last_of(rows: pa.Table) -> Instant:
    """Return the last instant of rows of a store, in the order of their arrival."""
    import pyarrow.compute as pc

    return Instant(pc.max(rows.column("_ts")).as_py())


def ones(count: int) -> pa.Array:
    """Return so many weights of 1."""
    if count <= CACHED_ROWS:
        return _some_ones().slice(0, count)
    return _buffer(array("q", [1]) * count)


@functools.cache
def _some_ones() -> pa.Array:
    return _buffer(array("q", [1]) * CACHED_ROWS)
