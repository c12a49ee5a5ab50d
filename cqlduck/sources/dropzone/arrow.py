"""What a manifest says of columns of Arrow: their DuckDB types, and how far their times reach."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import pyarrow as pa
import pyarrow.compute as pc

from cqlduck.errors import DropZoneError
from cqlduck.rewrite.text.time import RawTime
from cqlduck.state.arrow import PLAIN
from cqlduck.state.connection import quoted


@dataclass(frozen=True)
class Extent:
    """How far some rows reach.

    Attributes:
        rows: Their number.
        min_ts: Smallest timestamp, None without rows.
        max_ts: Greatest timestamp, None without rows.
        wall_clock: Whether timestamps are microseconds since 1970-01-01 UTC, or instants.
    """

    rows: int
    min_ts: RawTime | None
    max_ts: RawTime | None
    wall_clock: bool


def extent(column: pa.ChunkedArray, name: str) -> Extent:
    """Return the extent of the timestamps in `column`, any length, called `name` in errors.

    Raises:
        DropZoneError: The column is neither of integers nor of times, or has a NULL.
    """
    per_unit = _microseconds_per_unit(column.type)
    wall_clock = per_unit is not None
    if not wall_clock and not pa.types.is_integer(column.type):
        raise DropZoneError(
            f"timestamps in column {name!r} are of type {column.type}",
            hint="cast them to TIMESTAMP, or to BIGINT for integer time",
        )
    if column.null_count:
        raise DropZoneError(
            f"{column.null_count} of {len(column)} rows have no timestamp in column {name!r}",
            hint="leave them out, or give them one",
        )
    if not len(column):
        return Extent(0, None, None, wall_clock)
    ends = pc.min_max(column)
    if per_unit is None:
        return Extent(len(column), ends["min"].as_py(), ends["max"].as_py(), False)
    # `//` floors, which is what nanoseconds get.
    first, last = (RawTime(int(ends[end].value * per_unit // 1)) for end in ("min", "max"))
    return Extent(len(column), first, last, True)


def _microseconds_per_unit(type_: pa.DataType) -> Fraction | None:
    if pa.types.is_date32(type_):
        return Fraction(86_400_000_000)
    if pa.types.is_date64(type_):
        return Fraction(1000)
    if pa.types.is_timestamp(type_):
        return Fraction(1_000_000, {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[type_.unit])
    return None


_READ = {
    **PLAIN,
    pa.large_string(): "VARCHAR",
    pa.string_view(): "VARCHAR",
    pa.binary(): "BLOB",
    pa.large_binary(): "BLOB",
    pa.binary_view(): "BLOB",
    pa.date64(): "DATE",
    pa.time32("ms"): "TIME",
    pa.time64("us"): "TIME",
    pa.null(): "INTEGER",
}
"""As what DuckDB reads columns of Parquet without parameters; of timestamps see `duckdb_type`."""


def duckdb_type(type_: pa.DataType) -> str:
    """Return the DuckDB type that a Parquet column of this Arrow type is read as.

    A timestamp with a time zone is a TIMESTAMP here, as the writers turn it into UTC.

    Raises:
        DropZoneError: Parquet has no such type.
    """
    types = pa.types
    if types.is_timestamp(type_):
        return "TIMESTAMP_NS" if type_.unit == "ns" else "TIMESTAMP"
    if type_ in _READ:
        return _READ[type_]
    if types.is_decimal128(type_):
        return f"DECIMAL({type_.precision},{type_.scale})"
    if types.is_dictionary(type_):
        return duckdb_type(type_.value_type)
    if types.is_map(type_):
        return f"MAP({duckdb_type(type_.key_type)}, {duckdb_type(type_.item_type)})"
    if types.is_list(type_) or types.is_large_list(type_) or types.is_fixed_size_list(type_):
        return f"{duckdb_type(type_.value_type)}[]"
    if types.is_struct(type_):
        fields = ", ".join(
            f"{quoted(field.name)} {duckdb_type(field.type)}"
            for field in (type_.field(i) for i in range(type_.num_fields))
        )
        return f"STRUCT({fields})"
    raise DropZoneError(f"a batch cannot hold a column of type {type_}", hint="cast the column")


def schema_names(schema: pa.Schema) -> tuple[tuple[str, str], ...]:
    """Return (column, DuckDB type) for each column of `schema`, as a manifest has it."""
    return tuple((field.name, duckdb_type(field.type)) for field in schema)
