"""Times that come as texts: Arrow reads them as DuckDB does, or leaves them to it."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import cqlduck
from cqlduck.data import texts
from cqlduck.rewrite.plan import Column
from cqlduck.state.registered import Input
from cqlduck.state.types import fitted

SOUND = [
    "2024-01-01", "2024-01-01 10", "2024-01-01T10:30", "2024-01-01 10:30:59.5", "1582-10-10",
    "2024-02-29 23:59:59.123456", "2024-01-01 24:00:00", "2024-01-01 00:00:00.1234567",
    "0000-01-01 00:00:00", "9999-12-31 23:59:59.999999-05:30", "2024-01-01 10+02", "20240101",
    "2024-01-01 10:30:00+0530", "2024-01-01T10:30:00Z", "2024-01-01Z", "2024-01-01 10:30+02",
    "2024-01-01 10:00:00 UTC", "infinity", "2024-01-01 10+0200", "2024-01-01 10+02:00",
]  # fmt: skip


@st.composite
def written(draw: st.DrawFn) -> str:
    """Draw a text like a time, with some characters changed."""
    text = draw(st.sampled_from(SOUND))
    for _ in range(draw(st.integers(0, 2))):
        place = draw(st.integers(0, len(text)))
        put = draw(st.sampled_from(["", *"0123456789-+:. TZ"]))
        text = text[:place] + put + text[place + draw(st.integers(0, 1)) :]
    return text


@pytest.fixture(scope="module")
def own() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        yield connection


def read(values: list[str | None], kind: str, of: pa.DataType | None = None) -> pa.ChunkedArray:
    thing = Input(0, "s", "stream", (Column("t", kind),))
    table = pa.table({"k": range(len(values)), "t": pa.array(values, of or pa.string())})
    return texts.as_times(thing, table).column("t")


@given(written(), st.sampled_from(["TIMESTAMP", "DATE"]))
@example("2024-01-01 10", "TIMESTAMP")
@example("2024-01-01 10+02:00", "TIMESTAMP")
def test_what_arrow_reads_duckdb_reads_so(
    own: duckdb.DuckDBPyConnection, text: str, kind: str
) -> None:
    found = read([text], kind)
    if found.type != pa.string():
        value = f"TRY({fitted('$1', kind, is_text=True)})"
        sql = f"SELECT epoch_us(CAST({value} AS TIMESTAMP))"
        micros = found.cast(pa.timestamp("us")).cast(pa.int64())
        assert own.execute(sql, [text]).fetchone() == (micros[0].as_py(),)


@pytest.mark.parametrize("of", [pa.string(), pa.large_string()])
@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("TIMESTAMP", "2024-01-01 10:30:00"),
        ("TIMESTAMP", "2024-01-01T10:30:00.25Z"),
        ("TIMESTAMP", "2024-01-01 10:30:00-05:30"),
        ("DATE", "2024-01-01"),
    ],
)
def test_a_column_of_one_kind_is_read_whole(of: pa.DataType, kind: str, text: str) -> None:
    found = read([text, None] * texts._PIECE, kind, of)
    assert found.type in (pa.timestamp("us"), pa.date32())
    assert texts._PIECE == found.null_count == len(found) // 2
    assert 1 == len(found.drop_null().unique())


@pytest.mark.parametrize(
    ("kind", "other"),
    [
        ("TIMESTAMP", "2024-01-01 10:30:00+02"),
        ("TIMESTAMP", "2024-01-01 10"),
        ("TIMESTAMP", "soon"),
        ("DATE", "2024-01-01 23:00:00-05"),
        ("TIMESTAMP_S", "2024-01-01 10:30:00"),
        ("VARCHAR", "2024-01-01"),
    ],
)
def test_a_column_that_arrow_cannot_read_stays_as_it_is(kind: str, other: str) -> None:
    values = [*["2024-01-01"] * texts._PIECE, other]
    assert values == read(values, kind).to_pylist()


def test_texts_with_and_without_offsets_are_moments(con: cqlduck.Connection) -> None:
    con.execute(
        "CREATE STREAM s (t TIMESTAMP) TIMESTAMP BY t OUT OF ORDER WITHIN 1 DAY;"
        "CREATE CONTINUOUS QUERY q AS SELECT epoch(t)::BIGINT AS e FROM s"
    )
    for day in (
        ["2024-01-01 01:00:00", "2024-01-01 02:00:00"],
        ["2024-01-02 01:00:00+01", "2024-01-02T01:00:00Z"],
        ["2024-01-03 01:00:00+01", "2024-01-03 01:00:00"],
    ):
        con.append("s", pa.table({"t": day}))
    con.advance("2024-01-04")
    hours = [(e - 1704067200) // 3600 for (e,) in con.sql("SELECT e FROM q").fetchall()]
    assert [1, 2, 24, 25, 48, 49] == sorted(hours)


def test_a_text_that_is_no_time_is_named(con: cqlduck.Connection) -> None:
    con.execute("CREATE STREAM s (t TIMESTAMP) TIMESTAMP BY t")
    with pytest.raises(cqlduck.Error, match=r"row 1 .*t: .*soon"):
        con.append("s", pa.table({"t": ["2024-01-01", "soon"]}))
