"""DuckDB's types as texts: some leaves replaced, at any depth in LIST, STRUCT, MAP or UNION."""

from __future__ import annotations

import functools

import duckdb
import pyarrow as pa
from duckdb.sqltypes import DuckDBPyType
from sqlglot import exp

ZONED = (
    ("TIMESTAMP", "TIMESTAMP WITH TIME ZONE"),
    ("TIMESTAMP_S", "TIMESTAMP WITH TIME ZONE"),
    ("TIMESTAMP_MS", "TIMESTAMP WITH TIME ZONE"),
    ("TIMESTAMP_NS", "TIMESTAMPTZ_NS"),
)
"""As what a text is read for a type of time, so that its offset counts."""

EXPORTED = (
    ("BIT", "VARCHAR"),
    ("TIME WITH TIME ZONE", "VARCHAR"),
    ("UHUGEINT", "VARCHAR"),
)
"""As what a type is given to Arrow, which would take it for another and damage its values."""

OFFSET = "':.*[-+A-Za-z]'"
"""What a text with an offset or a time zone matches: it stands after the time of day."""


@functools.lru_cache(maxsize=10_000)
def replaced(kind: str, leaves: tuple[tuple[str, str], ...]) -> str:
    """Return a type with some leaves replaced.

    >>> replaced("STRUCT(a TIMESTAMP, b BIT[])", ZONED)
    'STRUCT("a" TIMESTAMP WITH TIME ZONE, "b" BIT[])'

    Args:
        kind: The type.
        leaves: The leaves and what takes their place.
    """
    if not any(leaf in kind for leaf, _ in leaves):
        return kind
    return _replaced(duckdb.type(kind), dict(leaves))


def inside(kind: DuckDBPyType) -> dict[str, DuckDBPyType]:
    """Return the types inside a nested type by name: fields, members, `child`, `key`, `value`."""
    # the first child of a union says which of the others is there
    children = kind.children[1:] if kind.id == "union" else kind.children
    return {name: of for name, of in children if isinstance(of, DuckDBPyType)}


def _replaced(kind: DuckDBPyType, leaves: dict[str, str]) -> str:
    if kind.id in ("list", "array"):
        size = dict(kind.children).get("size", "")
        return f"{_replaced(inside(kind)['child'], leaves)}[{size}]"
    if kind.id == "map":
        of = inside(kind)
        return f"MAP({_replaced(of['key'], leaves)}, {_replaced(of['value'], leaves)})"
    if kind.id in ("struct", "union"):
        fields = [
            (exp.to_identifier(name, quoted=True).sql("duckdb"), _replaced(of, leaves))
            for name, of in inside(kind).items()
        ]
        listed = ", ".join(f"{name} {of}" for name, of in fields)
        return f"{kind.id.upper()}({listed})"
    return leaves.get(str(kind), str(kind))


def has_text(kind: pa.DataType) -> bool:
    """Return whether a type of Arrow is text, or has texts inside."""
    # cheaper than to walk through it
    written = str(kind)
    return "string" in written or "json" in written


NANOSECONDS = "TIMESTAMPTZ_NS"
"""A time with an offset to the nanosecond, which DuckDB (release 2.0) casts to few types."""


def told_type(kind: pa.DataType) -> str:
    """Return of a type of Arrow what has to be known of it to cast it: VARCHAR if it has texts."""
    if pa.types.is_timestamp(kind) and kind.unit == "ns" and kind.tz is not None:
        return NANOSECONDS
    return "VARCHAR" if has_text(kind) else ""


def fitted(value: str, kind: str, *, is_text: bool) -> str:
    """Return a value as one of its column's type, as SQL.

    A text with an offset becomes a time in UTC, as a time with an offset does; DuckDB (release 2.0)
    would leave the offset out.

    Args:
        value: The value, as SQL.
        kind: The type.
        is_text: Whether the value is a text, or has texts inside.
    """
    plain = f"CAST({value} AS {kind})"
    if not is_text:
        return plain
    zoned = "TIMESTAMP WITH TIME ZONE" if kind == "DATE" else replaced(kind, ZONED)
    if zoned == kind:
        return plain
    in_utc = f"CAST(CAST({value} AS {zoned}) AS {kind})"
    if kind != "DATE" and kind not in dict(ZONED):
        return in_utc
    # it takes longer, and most texts have none
    return f"CASE WHEN regexp_matches({value}, {OFFSET}) THEN {in_utc} ELSE {plain} END"
