"""The kinds of values in random cases: what a column of one holds, and what can be said of it."""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any


@dataclass(frozen=True)
class Kind:
    """A kind of values.

    Attributes:
        type: DuckDB's type.
        values: What a column holds; few, so that there are ties.
        literals: What a value is compared with.
        forms: Expressions of a value `{}`, perhaps of another one of its kind, `{other}`; each
            with the kind of its result. Some are of the same kind.
    """

    type: str
    values: Sequence[Any]
    literals: Sequence[str]
    forms: Sequence[tuple[str, str]]

    @property
    def literal(self) -> str:
        """A constant that has the type in any place."""
        return f"CAST({self.literals[-1]} AS {self.type})"


FEW: Mapping[str, Kind] = {
    "int": Kind(
        "BIGINT",
        [1, 2, 0, -1, None],
        ["0", "1", "2"],
        [
            ("{} + 1", "int"),
            ("{} * 2", "int"),
            ("{} % 2", "int"),
            ("abs({})", "int"),
            ("coalesce({}, 0)", "int"),
            ("{} - {other}", "int"),
            ("CASE WHEN {} > 0 THEN {} ELSE {other} END", "int"),
            ("{} / 2", "double"),
            ("{} IS NULL", "bool"),
        ],
    ),
    "varchar": Kind(
        "VARCHAR",
        ["a", "b", "", "B", None],
        ["'b'", "''", "'a'"],
        [
            ("{} || 'x'", "varchar"),
            ("upper({})", "varchar"),
            ("coalesce({}, '-')", "varchar"),
            ("{} || {other}", "varchar"),
            ("length({})", "int"),
            ("{} IS NULL", "bool"),
        ],
    ),
    "double": Kind(
        "DOUBLE",
        [0.5, 1.25, 0.0, -2.0, None],
        ["0", "1.25", "0.5"],
        [
            ("{} + 0.5", "double"),
            ("{} * 2", "double"),
            ("abs({})", "double"),
            ("coalesce({}, 0)", "double"),
            ("CASE WHEN {} < 1 THEN {} ELSE {other} END", "double"),
            ("{} IS NULL", "bool"),
        ],
    ),
    "decimal": Kind(
        "DECIMAL(9,2)",
        [Decimal("1.50"), Decimal("0.25"), Decimal("0.00"), Decimal("-2.00"), None],
        ["0.25", "0", "1.50"],
        [
            ("{} + 0.25", "decimal"),
            ("-{}", "decimal"),
            ("coalesce({}, 0)", "decimal"),
            ("CASE WHEN {} > 0 THEN {} ELSE {other} END", "decimal"),
            ("{} IS NULL", "bool"),
        ],
    ),
}
"""Those over which there are sums."""

BOOL = Kind(
    "BOOLEAN",
    [True, False, None],
    ["false", "true"],
    [("NOT {}", "bool"), ("coalesce({}, false)", "bool"), ("({} OR {other})", "bool")],
)

MORE: Mapping[str, Kind] = {
    "bool": BOOL,
    "date": Kind(
        "DATE",
        [datetime.date(2013, 1, 31), datetime.date(2012, 2, 29), datetime.date(1969, 12, 31), None],
        ["DATE '2012-02-29'", "DATE '2013-01-31'"],
        [
            ("{} + 1", "date"),
            ("last_day({})", "date"),
            ("coalesce({}, DATE '2012-02-29')", "date"),
            ("greatest({}, {other})", "date"),
            ("{} + INTERVAL 1 MONTH", "moment"),
            ("date_trunc('month', {}::TIMESTAMP)", "moment"),
            ("month({})", "int"),
            ("date_diff('day', {}, {other})", "int"),
            ("strftime({}, '%Y-%j')", "varchar"),
            ("{}::VARCHAR", "varchar"),
        ],
    ),
    "moment": Kind(
        "TIMESTAMP",
        [
            datetime.datetime(2013, 1, 31, 10),
            datetime.datetime(2013, 1, 31, 10, 0, 0, 1),
            datetime.datetime(1969, 12, 31, 23, 59, 59, 999999),
            None,
        ],
        ["TIMESTAMP '1970-01-01'", "TIMESTAMP '2013-01-31 10:00:00'"],
        [
            ("date_trunc('hour', {})", "moment"),
            ("{} + INTERVAL '1 day 2 hours'", "moment"),
            ("time_bucket(INTERVAL '7 days', {})", "moment"),
            ("CAST({} AS DATE)", "date"),
            ("CAST({} AS TIME)", "time"),
            ("epoch_us({})", "int"),
            ("hour({})", "int"),
            ("{}::VARCHAR", "varchar"),
        ],
    ),
    "time": Kind(
        "TIME",
        [datetime.time(1), datetime.time(23, 59, 59, 999999), None],
        ["TIME '01:00:00'", "TIME '12:00:00'"],
        [("{} + INTERVAL '2 hours'", "time"), ("minute({})", "int"), ("{}::VARCHAR", "varchar")],
    ),
    "tiny": Kind(
        "UTINYINT",
        [1, 2, 200, None],
        ["2", "1"],
        [("{}::BIGINT", "int"), ("{} & 1::UTINYINT", "tiny"), ("bit_count({})::BIGINT", "int")],
    ),
    "huge": Kind(
        "HUGEINT",
        [2**70, 1, -(2**70), None],
        ["0", "1"],
        [("-{}", "huge"), ("{} % 7", "huge"), ("{}::VARCHAR", "varchar")],
    ),
    "blob": Kind(
        "BLOB",
        [b"\x00", b"a", b"", None],
        ["'\\x00'::BLOB", "'a'::BLOB"],
        [("{} || {other}", "blob"), ("hex({})", "varchar"), ("octet_length({})", "int")],
    ),
    "uuid": Kind(
        "UUID",
        [uuid.UUID(int=1), uuid.UUID(int=2**127), None],
        ["'80000000-0000-0000-0000-000000000000'", "'00000000-0000-0000-0000-000000000001'"],
        [("{}::VARCHAR", "varchar"), ("coalesce({}, {other})", "uuid")],
    ),
    "enum": Kind(
        "ENUM('a', 'b')",
        ["a", "b", None],
        ["'b'", "'a'"],
        [
            ("coalesce({}, {other})", "enum"),
            ("{}::VARCHAR", "varchar"),
            ("enum_code({})::BIGINT", "int"),
            ("{} || 'x'", "varchar"),
        ],
    ),
    "list": Kind(
        "BIGINT[]",
        [[1, None], [], [1], [2, 1], None],
        ["[2, 1]", "[1]"],
        [
            ("list_sort({})", "list"),
            ("list_transform({}, lambda e: e + 1)", "list"),
            ("list_filter({}, lambda e: e IS NOT NULL)", "list"),
            ("list_concat({}, {other})", "list"),
            ("{}[1]", "int"),
            ("len({})", "int"),
            ("list_sum({})::BIGINT", "int"),
            ("list_contains({}, 1)", "bool"),
            ("{'a': len({}), 'b': NULL::VARCHAR}", "struct"),
        ],
    ),
    "struct": Kind(
        "STRUCT(a BIGINT, b VARCHAR)",
        [{"a": 1, "b": "x"}, {"a": 1, "b": None}, {"a": None, "b": "x"}, None],
        ["{'a': 1, 'b': NULL}", "{'a': 1, 'b': 'x'}"],
        [
            ("struct_extract({}, 'a')", "int"),
            ("struct_extract({}, 'b')", "varchar"),
            ("[struct_extract({}, 'a'), 7]", "list"),
            ("coalesce({}, {other})", "struct"),
        ],
    ),
}
"""More of DuckDB's types, with functions that are not defined on the others."""

KINDS: Mapping[str, Kind] = {**FEW, **MORE}
