"""Checks of Arrow tables for values that DuckDB cannot store, or would misread.

DuckDB reads Arrow's buffers unchecked. It stores a timestamp that has no date, or a text that is
not UTF-8, and the whole database crashes when a query shows the value. So an Arrow table is checked
before it is read.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from decimal import Decimal, localcontext

import duckdb
import pyarrow as pa
from duckdb.sqltypes import DuckDBPyType

from cqlduck.data.place import first_that_fails, scratch
from cqlduck.data.target import Target
from cqlduck.errors import DataError, first_line
from cqlduck.state.types import inside

_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000}
_FIRST, _LAST = -9_223_372_022_400, 9_223_372_036_854
"""DuckDB's moments, in seconds since 1970."""

_INFINITE = (2**63 - 1, -(2**63 - 1))
_DAY = 86_400
_LAST_DAY = 2**31 - 1
"""DuckDB's infinite day."""

_HUGE = pa.decimal128(38, 0)
_BYTES = (
    pa.types.is_binary,
    pa.types.is_large_binary,
    pa.types.is_binary_view,
    pa.types.is_fixed_size_binary,
)
"""Tell the types of Arrow that hold bytes: polars gives another of them than DuckDB."""


def check(thing: Target, table: pa.Table) -> None:
    """Refuse a table that DuckDB would not take as what it is.

    Args:
        thing: The input that it is for.
        table: The rows.

    Raises:
        DataError: What is wrong, with the column and, if it is a value, the row.
    """
    kinds = {c.name.lower(): c.type for c in thing.columns}
    for field, column in zip(table.schema, table.columns, strict=True):
        _check_known(thing, field)
        kind = kinds.get(field.name.lower())
        if kind is not None:
            _check_kind(thing, field, kind)
        _check_values(thing, field, column, kind)


def _check_known(thing: Target, field: pa.Field) -> None:
    """Refuse a type for which DuckDB has none."""
    if getattr(field.type, "extension_name", None) == "pandas.period":
        # DuckDB takes their numbers
        why: str | None = "periods are no moments"
    else:
        why = _unknown(field.type)
    if why is not None:
        raise DataError(
            f"{field.name} of the data for {thing.name} is {field.type}, for which DuckDB has no "
            f"type: {why}",
            hint="cast it before",
            field=field.name,
        )


@functools.lru_cache(maxsize=1_000)
def _unknown(kind: pa.DataType) -> str | None:
    """Return why DuckDB has no type for one of Arrow's, or None if it has."""
    own = scratch()
    try:
        # without a batch: of some types Arrow makes no empty column
        own.register("unknown", pa.Table.from_batches([], pa.schema([pa.field("x", kind)])))
        own.execute("DESCRIBE FROM unknown").fetchall()
    except duckdb.Error as error:
        return first_line(error)
    finally:
        with contextlib.suppress(duckdb.Error):
            own.unregister("unknown")
    return None


def _check_kind(thing: Target, field: pa.Field, kind: str) -> None:
    """Refuse a type that would lose something on its way into its column's."""
    if not pa.types.is_nested(field.type) and "BIT" not in kind:
        return
    why = _loss(field.type, duckdb.type(kind))
    if why is not None:
        raise DataError(
            f"{field.name} of the data for {thing.name} {why}",
            hint=f"{field.name} is {kind}",
            field=field.name,
        )


def _loss(given: pa.DataType, kind: DuckDBPyType) -> str | None:
    if isinstance(given, pa.BaseExtensionType):
        return None
    if str(kind) == "BIT" and any(is_bytes(given) for is_bytes in _BYTES):
        return "is bytes, which do not say how many bits they are; pass texts such as '101'"
    if pa.types.is_struct(given) and kind.id == "struct":
        own = {name.lower(): of for name, of in inside(kind).items()}
        if len({part.name.lower() for part in given}) < given.num_fields:
            return f"has fields of one name: {', '.join(part.name for part in given)}"
        for part in given:
            if part.name.lower() not in own:
                return f"has the field {part.name}, which the column lacks"
            why = _loss(part.type, own[part.name.lower()])
            if why is not None:
                return why
    pairs: list[tuple[pa.DataType, DuckDBPyType]] = []
    if pa.types.is_map(given) and kind.id == "map":
        of = inside(kind)
        pairs = [(given.key_type, of["key"]), (given.item_type, of["value"])]
    elif kind.id in ("list", "array") and hasattr(given, "value_type"):
        pairs = [(given.value_type, inside(kind)["child"])]
    return next((why for pair in pairs if (why := _loss(*pair)) is not None), None)


# -- values ----------------------------------------------------------------------------------------


def _check_values(
    thing: Target, field: pa.Field, column: pa.ChunkedArray, kind: str | None
) -> None:
    wrong = _wrong(kind)
    why = wrong(column)
    if why is None:
        return
    found = first_that_fails(len(column), lambda low, high: wrong(column.slice(low, high - low)))
    row, why = found or (0, why)
    raise DataError(
        f"row {row} for {thing.name}: {field.name} cannot be stored by DuckDB: {why}",
        hint="leave it out, or make it NULL",
        row=row,
        field=field.name,
    )


def _wrong(kind: str | None) -> Callable[[pa.ChunkedArray], str | None]:
    """Return what says what is wrong with a column, or None."""

    def wrong(column: pa.ChunkedArray) -> str | None:
        try:
            for leaf in _leaves(column):
                why = _out_of_range(leaf, kind)
                if why is not None:
                    return why
            for part in _unpacked(column):
                if not _is_numbers(part.type):
                    part.validate(full=True)
        except (pa.ArrowInvalid, IndexError) as error:
            return first_line(error)
        return None

    return wrong


def _unpacked(column: pa.ChunkedArray) -> Iterator[pa.Array | pa.ChunkedArray]:
    """Yield a column, or what its run ends are of, into which Arrow does not look."""
    if not pa.types.is_run_end_encoded(column.type):
        yield column
        return
    for chunk in column.chunks:
        yield chunk.values


def _is_numbers(kind: pa.DataType) -> bool:
    """Return whether Arrow has nothing to say of a type's values, or something else than DuckDB."""
    types = pa.types
    if types.is_date64(kind):
        # of which DuckDB cuts off what is no whole day
        return False
    return bool(types.is_primitive(kind) or types.is_decimal(kind) or types.is_null(kind))


def _leaves(column: pa.ChunkedArray) -> Iterator[pa.Array | pa.ChunkedArray]:
    """Yield the moments, times of day, days and decimals in a column, however deep."""
    kind = column.type
    is_packed = pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind)
    if not (pa.types.is_nested(kind) or is_packed or isinstance(kind, pa.BaseExtensionType)):
        if pa.types.is_temporal(kind) or pa.types.is_decimal128(kind):
            yield column
        return
    for chunk in getattr(column, "chunks", [column]):
        for part in _parts(chunk):
            yield from _leaves(part)


def _parts(chunk: pa.Array) -> list[pa.Array]:
    import pyarrow.compute as pc

    kind = chunk.type
    if isinstance(kind, pa.BaseExtensionType):
        return [chunk.storage]
    if pa.types.is_dictionary(kind):
        try:
            return [chunk.dictionary_decode()]
        except pa.ArrowNotImplementedError:
            # Arrow has no way to look views up; what no row has is looked at, too
            return [chunk.dictionary]
    if pa.types.is_run_end_encoded(kind):
        return [pc.run_end_decode(chunk)]
    if pa.types.is_struct(kind):
        return list(chunk.flatten())
    if pa.types.is_map(kind):
        return [chunk.keys, chunk.items]
    return [chunk.flatten()] if hasattr(chunk, "flatten") else []


def _out_of_range(leaf: pa.Array | pa.ChunkedArray, kind: str | None) -> str | None:
    import pyarrow.compute as pc

    low, high, infinite, width = _range(leaf.type, kind)
    if width is None or not len(leaf):
        return None
    if width == "decimal":
        ends = pc.min_max(leaf)
        low_end, high_end = ends["min"].as_py(), ends["max"].as_py()
        if low_end is not None:
            per = Decimal(10) ** leaf.type.scale
            with localcontext(prec=80):
                low_end, high_end = int(low_end * per), int(high_end * per)
    else:
        plain = pa.int32() if width == 32 else pa.int64()
        raw = leaf.cast(plain) if isinstance(leaf, pa.ChunkedArray) else leaf.view(plain)
        ends = pc.min_max(raw)
        low_end, high_end = ends["min"].as_py(), ends["max"].as_py()
        if infinite and low_end is not None and (low_end < low or high_end > high):
            finite = raw.filter(pc.invert(pc.is_in(raw, pa.array(_INFINITE, pa.int64()))))
            ends = pc.min_max(finite)
            low_end, high_end = ends["min"].as_py(), ends["max"].as_py()
    if low_end is None or (low <= low_end and high_end <= high):
        return None
    return f"{low_end if low_end < low else high_end} is out of the range of {leaf.type}"


def moments(unit: str) -> tuple[int, int]:
    """Return DuckDB's first and last moment, in 's', 'ms' or 'us' since 1970."""
    per = _PER_SECOND[unit]
    return _FIRST * per, _LAST * per + (775_806 if unit == "us" else 0)


def _range(kind: pa.DataType, own: str | None) -> tuple[int, int, bool, int | str | None]:
    """Return the least and the greatest value, whether there are infinite ones, and its width."""
    types = pa.types
    if types.is_timestamp(kind) and kind.unit in _PER_SECOND:
        return *moments(kind.unit), True, 64
    if types.is_date32(kind):
        return -_LAST_DAY, _LAST_DAY, False, 32
    if types.is_date64(kind):
        return -_LAST_DAY * _DAY * 1000, _LAST_DAY * _DAY * 1000, False, 64
    if types.is_time32(kind):
        return 0, _DAY * _PER_SECOND[kind.unit], False, 32
    if types.is_time64(kind):
        return 0, _DAY * (10**6 if kind.unit == "us" else 10**9), False, 64
    # as DuckDB's own HUGEINT comes: it may have a digit more
    if types.is_decimal128(kind) and not (kind == _HUGE and own == "HUGEINT"):
        most = 10**kind.precision - 1
        return -most, most, False, "decimal"
    return 0, 0, False, None
