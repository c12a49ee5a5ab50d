"""Whatever is appended is taken, or refused with an error of the family and nothing of it taken."""

from __future__ import annotations

import datetime as dt
import os
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from counts import is_brief
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cqlduck

FEW = 60
MANY = int(os.environ.get("FUZZ", "100000")) // 20

TYPES = [
    "INTEGER", "TINYINT", "BIGINT", "HUGEINT", "DOUBLE", "DECIMAL(5,2)", "VARCHAR", "BOOLEAN",
    "BLOB", "BIT", "UUID", "DATE", "TIME", "TIMETZ", "TIMESTAMP", "TIMESTAMP_NS", "TIMESTAMPTZ",
    "INTERVAL", "INTEGER[]", "INTEGER[2]", "STRUCT(a INTEGER, b VARCHAR)", "MAP(VARCHAR, INTEGER)",
    "UNION(i INTEGER, s VARCHAR)", "ENUM('a', 'b')", "JSON", "VARIANT", "TIMESTAMP[]",
]  # fmt: skip


class Odd:
    """An object that has everything and gives nothing."""

    def __len__(self) -> int:
        raise RuntimeError("no length")

    def __str__(self) -> str:
        raise RuntimeError("no text")


class Broken:
    """Says that it is Arrow, and is not."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        raise ZeroDivisionError("no stream")


def raising(rows: list[Any]) -> Any:
    yield from rows
    raise LookupError("the source ended too soon")


CELLS: st.SearchStrategy[Any] = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-3, 3),
        st.sampled_from([2**31, -(2**63), 2**64, 2**127, -(2**200)]),
        st.floats(),
        st.sampled_from(["", "a", "1", "nonsense", "2024-01-01", "2024-01-01 00:00:00+02", "\0",
                         "half \ud800", "infinity", "101", "{}", "[1, 2]", "12:00:00-03"]),
        st.binary(max_size=3),
        st.datetimes(timezones=st.none() | st.just(dt.UTC)),
        st.dates(),
        st.times(),
        st.timedeltas(),
        st.decimals(),
        st.uuids(),
        st.sampled_from([np.int8(1), np.float32(0.1), np.datetime64("NaT"), pd.NaT, pd.NA,
                         np.datetime64("12000-01-01"), np.timedelta64(1, "Y"), np.array([1, 2]),
                         np.ma.masked_array([1, 2], [0, 1]), Decimal("NaN"), 1 + 2j, {1, 2}, Odd(),
                         object(), pd.Timestamp("2024-01-01 00:00:00.000000001"),
                         np.longdouble(1)]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["a", "b", "c", 1, None]), inner, max_size=3),
        st.tuples(inner, inner),
    ),
    max_leaves=4,
)  # fmt: skip

ATS = st.one_of(
    st.none(),
    st.integers(-2, 9),
    st.sampled_from([2**63, "x", "2024-01-01", 1.5, True, [], [1], [1, 2], {1: 2}, Odd(), object(),
                     np.datetime64("NaT"), np.int64(4), np.array(3), pd.Series([1, 2]), [3, None],
                     pa.array([1, 2]), dt.date(2024, 1, 1), (t for t in (1, 2))]),
)  # fmt: skip


@st.composite
def data(draw: st.DrawFn, names: list[str]) -> Any:
    """Rows of random cells in a random form, mostly with the columns that there are."""
    given_names = list(names)
    if draw(st.integers(0, 5)) == 0:
        change = draw(st.sampled_from(["drop", "more", "case", "twice"]))
        if change == "drop":
            given_names.pop()
        elif change == "more":
            given_names.append(draw(st.sampled_from(["zz", "_ts", "_op", "_cql_place"])))
        elif change == "case":
            given_names = [name.upper() for name in given_names]
        else:
            given_names.append(given_names[0])
    count = draw(st.integers(0, 4))
    columns = [[draw(CELLS) for _ in range(count)] for _ in given_names]
    rows = list(zip(*columns, strict=True)) if columns else [()] * count
    form = draw(st.sampled_from(FORMS))
    return form(given_names, columns, rows)


def ragged(names: list[str], columns: list[Any], rows: list[Any]) -> Any:
    return [row[: i % 3] if i % 2 else row for i, row in enumerate(rows)]


def records(names: list[str], columns: list[Any], rows: list[Any]) -> Any:
    unlike = list(dict.fromkeys(names))
    return np.array([(1,) * len(unlike)] * len(rows), dtype=[(name, "i4") for name in unlike])


FORMS: list[Any] = [
    lambda names, columns, rows: rows,
    lambda names, columns, rows: [dict(zip(names, row, strict=True)) for row in rows],
    lambda names, columns, rows: iter(rows),
    lambda names, columns, rows: raising(rows),
    ragged,
    lambda names, columns, rows: [*rows, None],
    lambda names, columns, rows: [*rows, {"a": 1}],
    lambda names, columns, rows: pd.DataFrame(dict(zip(names, columns, strict=True)), dtype=object),
    lambda names, columns, rows: pl.DataFrame(
        {n: pl.Series(n, c, dtype=pl.Object) for n, c in zip(names, columns, strict=True)}
    ),
    lambda names, columns, rows: pa.table({n: list(range(len(rows))) for n in names}),
    lambda names, columns, rows: pa.table({n: [None] * len(rows) for n in names}),
    lambda names, columns, rows: pa.table({n: ["1"] * len(rows) for n in names}),
    lambda names, columns, rows: pa.record_batch({n: [b"\xff"] * len(rows) for n in names}),
    lambda names, columns, rows: pl.LazyFrame({n: [1.5] * len(rows) for n in names}),
    records,
    lambda names, columns, rows: np.array([[1.0] * len(names)] * len(rows)),
    lambda names, columns, rows: Broken(),
    lambda names, columns, rows: Odd(),
    lambda names, columns, rows: None,
    lambda names, columns, rows: "no such file.parquet",
    lambda names, columns, rows: b"bytes",
    lambda names, columns, rows: dict(zip(names, columns, strict=True)),
]  # fmt: skip


@st.composite
def cases(draw: st.DrawFn) -> tuple[str, list[str], Any, Any, str]:
    kind = draw(st.sampled_from(["STREAM", "RELATION"]))
    types = draw(st.lists(st.sampled_from(TYPES), min_size=1, max_size=3))
    names = [f"c{i}" for i in range(len(types))]
    listed = ", ".join(f"{n} {t}" for n, t in zip(names, types, strict=True))
    by = ""
    if kind == "STREAM" and draw(st.booleans()):
        stamp = draw(st.sampled_from(["INTEGER", "TIMESTAMP", "BIGINT", "DATE"]))
        listed, names, by = f"{listed}, t {stamp}", [*names, "t"], " TIMESTAMP BY t"
    operation = "append" if kind == "STREAM" else draw(st.sampled_from(["append", "retract"]))
    return f"CREATE {kind} s ({listed}){by}", names, draw(data(names)), draw(ATS), operation


def stored(con: cqlduck.Connection) -> list[Any]:
    """All that an append could have left behind."""
    known = con.engine.catalogue
    tables = con.engine.database.rows(
        "SELECT table_name FROM duckdb_tables() WHERE schema_name = 'cql_state' AND NOT temporary "
        "AND (table_name LIKE 'stream%' OR table_name LIKE 'rel%' OR table_name LIKE 'pend%')"
    )
    counts = [con.engine.database.rows(f'FROM cql_state."{name}"') for (name,) in sorted(tables)]
    things = [repr(thing) for thing in known.inputs.values()]
    return [counts, things, sorted(known.settings.items()), con.engine.database.depth]


def check(case: tuple[str, list[str], Any, Any, str]) -> None:
    text, _, given_data, at, operation = case
    with cqlduck.connect() as con:
        con.execute(text)
        before = stored(con)
        refusal, taken = None, 0
        try:
            taken = getattr(con, operation)("s", given_data, at=at)
        except cqlduck.Error as error:
            refusal = error
        if refusal is None:
            assert taken == con.engine.catalogue.inputs["s"].next_seq
        else:
            assert refusal.message
            assert str(refusal)
            assert before == stored(con)
        # what has been taken can be read, and the connection works
        con.execute("CREATE RELATION other (a INTEGER)")
        con.append("other", [(1,)], at=None)
        con.sql("FROM s").fetchall()


@settings(max_examples=FEW // 2 if is_brief() else FEW, suppress_health_check=list(HealthCheck))
@given(cases())
def test_an_append_is_taken_or_refused(case: tuple[str, list[str], Any, Any, str]) -> None:
    check(case)


@pytest.mark.long
@settings(max_examples=MANY, suppress_health_check=list(HealthCheck), derandomize=False)
@given(cases())
def test_many_appends(case: tuple[str, list[str], Any, Any, str]) -> None:
    check(case)
