"""Append: forms of data, texts with offsets, years beyond Python's, and the places of errors."""

import datetime as dt
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import cqlduck
from cqlduck.engine import TickReport
from cqlduck.sources import dropzone

OFFSET = "2024-01-01 00:00:00+02"
IN_UTC = dt.datetime(2023, 12, 31, 22)


def stored(con: cqlduck.Connection, columns: str = "*", name: str = "s") -> list[tuple[Any, ...]]:
    return con.sql(f"SELECT {columns} FROM {name} ORDER BY ALL").fetchall()


# ------------------------------------------------------------------------------------------- forms


class Stream:
    """Anything with Arrow's interface."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)


class Batch:
    """The same for a single batch."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        self.batch = batch

    def __arrow_c_array__(self, requested_schema: object | None = None) -> object:
        return self.batch.__arrow_c_array__(requested_schema)


TABLE = pa.table({"b": ["x", None], "A": [1, 2]})


def files(folder: Path) -> dict[str, Any]:
    pq.write_table(TABLE, folder / "a.parquet")
    (folder / "a.csv").write_text("b,A\nx,1\n,2\n")
    (folder / "a.csv.gz").write_bytes(gzip.compress(b"b,A\nx,1\n,2\n"))
    (folder / "a.json").write_text(json.dumps([{"b": "x", "A": 1}, {"A": 2}]))
    (folder / "a.ndjson").write_text('{"b": "x", "A": 1}\n{"b": null, "A": 2}\n')
    return {
        "parquet": folder / "a.parquet",
        "parquet as text": str(folder / "a.parquet"),
        "wildcard": str(folder / "*.parquet"),
        "csv": folder / "a.csv",
        "packed": folder / "a.csv.gz",
        "json": folder / "a.json",
        "lines": folder / "a.ndjson",
        "dataset": ds.dataset(folder / "a.parquet"),
        "scanner": ds.dataset(folder / "a.parquet").scanner(),
    }


def in_memory() -> dict[str, Any]:
    records = np.array([("x", 1), ("y", 2)], dtype=[("b", "U1"), ("A", "i8")])
    masked = np.ma.masked_array(records, mask=[(False, False), (True, False)])
    return {
        "table": TABLE,
        "batch": TABLE.to_batches()[0],
        "reader": TABLE.to_reader(),
        "stream": Stream(TABLE),
        "array": Batch(TABLE.to_batches()[0]),
        "polars": pl.from_arrow(TABLE),
        "lazy": pl.from_arrow(TABLE).lazy(),  # type: ignore[union-attr]
        "pandas": TABLE.to_pandas(),
        "records": masked,
        "dicts": TABLE.to_pylist(),
        "generator": (row for row in TABLE.to_pylist()),
        "tuples": [(1, "x"), (2, None)],
        "relation": duckdb.from_arrow(TABLE),
    }


@pytest.mark.parametrize("form", [*in_memory(), "parquet", "parquet as text", "wildcard", "csv",
                                  "packed", "json", "lines", "dataset", "scanner"])  # fmt: skip
def test_a_form_of_data(con: cqlduck.Connection, tmp_path: Path, form: str) -> None:
    con.execute("CREATE STREAM s (a INTEGER, b VARCHAR)")
    data = {**in_memory(), **files(tmp_path)}[form]
    assert 2 == con.append("s", data, at=1)
    assert [(1, "x"), (2, None)] == stored(con)


def test_retract_takes_the_same_forms(con: cqlduck.Connection, tmp_path: Path) -> None:
    con.execute("CREATE RELATION r (a INTEGER, b VARCHAR)")
    con.execute("CREATE CONTINUOUS QUERY q AS SELECT * FROM r")
    for at, data in enumerate(files(tmp_path).values()):
        con.append("r", data, at=2 * at)
        con.retract("r", data, at=2 * at + 1)
        con.advance(2 * at)
        assert 2 == len(stored(con, name="q"))
        con.advance(2 * at + 1)
        assert [] == stored(con, name="q")


def test_texts_of_files_are_read_as_their_columns_types(
    con: cqlduck.Connection, tmp_path: Path
) -> None:
    con.execute("CREATE STREAM s (n VARCHAR, t TIMESTAMP, b BIT, m MAP(VARCHAR, INTEGER), v JSON)")
    (tmp_path / "a.csv").write_text(f'n,t,b,m,v\n007,{OFFSET},101,{{a=1}},"{{""k"": 1.50}}"\n')
    row = {"n": "007", "t": OFFSET, "b": "101", "m": {"a": 1}, "v": {"k": [1, "x"]}}
    (tmp_path / "a.json").write_text(json.dumps(row) + '\n{"n": "2024-01-01T00:00:00Z"}')
    con.append("s", tmp_path / "a.csv", at=1)
    con.append("s", tmp_path / "a.json", at=2)
    assert [
        ("007", IN_UTC, "101", {"a": 1}, '{"k": 1.50}'),
        ("007", IN_UTC, "101", {"a": 1}, '{"k":[1,"x"]}'),
        ("2024-01-01T00:00:00Z", None, None, None, None),
    ] == stored(con)


# ----------------------------------------------------------------------------------------- offsets


def drop(folder: Path, table: pa.Table, first: str) -> None:
    hidden = dropzone.hidden_folder(folder / "s", 0)
    pq.write_table(table, hidden / "part-0.parquet")
    micros = dropzone.raw_time(dt.datetime.fromisoformat(first))[0]
    names = tuple((name, "VARCHAR") for name in table.column_names)
    manifest = dropzone.Manifest(
        1, "s", 0, len(table), micros, micros, None, ("part-0.parquet",), names, wall_clock=True
    )
    assert dropzone.publish(hidden, manifest)


@pytest.mark.parametrize("kind", ["TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"])
@pytest.mark.parametrize(
    "way", ["rows", "dicts", "pandas", "polars", "arrow", "relation", "insert", "select",
            "parameter", "zone"],
)  # fmt: skip
def test_a_text_with_an_offset_is_a_moment(tmp_path: Path, kind: str, way: str) -> None:
    table = pa.table({"t": [OFFSET], "l": [[OFFSET]], "d": [OFFSET]})
    listed = f"'{OFFSET}', ['{OFFSET}'], '{OFFSET}'"
    with cqlduck.connect(drop_zone=tmp_path) as con:
        con.execute(f"CREATE STREAM s (t {kind}, l {kind}[], d DATE) TIMESTAMP BY t FROM 's'")
        given: dict[str, Callable[[], Any]] = {
            "rows": lambda: con.append("s", [(OFFSET, [OFFSET], OFFSET)]),
            "dicts": lambda: con.append("s", table.to_pylist()),
            "pandas": lambda: con.append("s", table.to_pandas()),
            "polars": lambda: con.append("s", pl.from_arrow(table)),
            "arrow": lambda: con.append("s", table),
            "relation": lambda: con.append("s", duckdb.from_arrow(table)),
            "insert": lambda: con.execute(f"INSERT INTO s VALUES ({listed})"),
            "select": lambda: con.execute(f"INSERT INTO s SELECT {listed}"),
            "parameter": lambda: con.execute(
                f"INSERT INTO s VALUES (?, ['{OFFSET}'], '{OFFSET}')", [OFFSET]
            ),
            "zone": lambda: (drop(tmp_path, table, OFFSET), con.follow()),
        }
        given[way]()
        assert [(IN_UTC, [IN_UTC], IN_UTC.date())] == stored(con)
        assert [("2023-12-31 22:00:00",)] == stored(con, "first_element", "cql.streams")


def test_an_update_takes_offsets(con: cqlduck.Connection) -> None:
    con.execute("CREATE RELATION r (k INTEGER, t TIMESTAMP, n TIMESTAMP_NS)")
    con.execute("INSERT INTO r (k) VALUES (1), (2)")
    con.execute(f"UPDATE r SET t = '{OFFSET}', n = '{OFFSET}' WHERE k = 1")
    con.execute("UPDATE r SET t = ?, n = t WHERE k = 2", [OFFSET])
    con.execute("CREATE CONTINUOUS QUERY q AS SELECT * FROM r")
    con.advance("2025-01-01")
    assert [(1, IN_UTC, IN_UTC), (2, IN_UTC, None)] == stored(con, name="q")


@pytest.mark.parametrize(
    "text", ["2024-01-01 00:00:00", "2024-01-01", "epoch", "infinity", "0044-03-15 (BC)",
             "2024-01-01 00:00:00 Asia/Tokyo", "2024-01-01T00:00:00Z", "2024-1-1 0:0:0-03:30",
             "2024-01-01 24:00:00", "12024-01-01 00:00:00.5+01"],
)  # fmt: skip
def test_a_text_is_the_moment_that_duckdb_sees_with_its_zone(
    con: cqlduck.Connection, text: str
) -> None:
    con.execute("CREATE RELATION r (t TIMESTAMP)")
    con.append("r", [(text,)], at=1)
    con.execute("CREATE CONTINUOUS QUERY q AS SELECT t FROM r")
    con.advance(2)
    with duckdb.connect() as own:
        own.execute("SET TimeZone = 'UTC'")
        want = own.execute("SELECT ?::TIMESTAMPTZ::TIMESTAMP::VARCHAR", [text]).fetchall()
    assert want == con.sql("SELECT t::VARCHAR FROM q").fetchall()


# ------------------------------------------------------------------------------------------- years


FAR = ["10000-01-01 00:00:00", "148107-01-01 00:00:00", "0001-01-01 00:00:00",
       "0001-12-31 (BC) 23:59:59.999999", "0044-03-15 (BC) 00:00:00",
       "144168-01-01 (BC) 00:00:00"]  # fmt: skip


def moments(text: str) -> list[Any]:
    """A moment as a text, as numpy's and as Arrow's."""
    with duckdb.connect() as own:
        micros = own.execute("SELECT epoch_us(?::TIMESTAMP)", [text]).fetchall()[0][0]
    return [text, np.datetime64(micros, "us"), pa.array([micros], pa.timestamp("us"))]


@pytest.mark.parametrize("text", FAR)
@pytest.mark.parametrize("granularity", [None, "1 second"])
def test_a_far_year_is_taken_and_shown(text: str, granularity: str | None) -> None:
    written, numpys, arrows = moments(text)
    whole = text.partition(".")[0] if granularity else text
    for data in ([(written,)], [(numpys,)], pa.table({"t": arrows})):
        with cqlduck.connect(granularity=granularity) as con:
            reports: list[TickReport] = []
            con.engine.on_tick.append(reports.append)
            con.execute("CREATE STREAM s (t TIMESTAMP) TIMESTAMP BY t")
            con.execute(
                "CREATE CONTINUOUS QUERY q AS SELECT t, count(*) AS n FROM s [RANGE 1 HOUR]"
                " GROUP BY t"
            )
            assert 1 == con.append("s", data)
            reached = con.advance(numpys + np.timedelta64(2, "s"))
            assert text == con.sql("SELECT t::VARCHAR FROM q").fetchall()[0][0]
            at = con.sql(f"SELECT '{whole}'::TIMESTAMP").fetchall()[0][0]
            assert at == con.changes("q").fetchall()[0][-2]
            assert 1 == len(con.as_of("q", numpys).fetchall())
            assert 1 == len(con.changes("q", until=written).fetchall())
            assert [(whole,)] == stored(con, "first_element", "cql.streams")
            assert con.engine.shown(reports[-1].until) == str(reached)
            assert [(str(reached).removesuffix(".000000"),)] == stored(
                con, "frontier", "cql.queries"
            )


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("294247-01-10 04:00:54.775806", "294247-01-10 04:00:54.775806, which is out of range"),
        ("290309-12-22 (BC) 00:00:00", "290309-12-22 (BC) 00:00:00, which is out of range"),
        ("infinity", "infinity"),
        (None, "no timestamp"),
    ],
)
def test_a_time_that_cannot_be_counted_is_refused(
    con: cqlduck.Connection, value: str | None, words: str
) -> None:
    con.execute("CREATE STREAM s (t TIMESTAMP) TIMESTAMP BY t")
    with duckdb.connect() as own:
        table = own.execute(
            "SELECT '2024-01-01'::TIMESTAMP AS t UNION ALL SELECT ?::TIMESTAMP", [value]
        ).to_arrow_table()
    for data in ([("2024-01-01",), (value,)], table):
        with pytest.raises(cqlduck.DataError, match="row 1") as caught:
            con.append("s", data)
        assert words in str(caught.value)
        assert (1, "t") == (caught.value.row, caught.value.field)
        assert caught.value.hint
    assert [] == stored(con)
    # as a value it is no time, and can be anything
    con.execute("CREATE RELATION r (t TIMESTAMP)")
    con.append("r", table, at="2024-01-01")


@pytest.mark.parametrize("call", ["heartbeat", "advance", "as_of", "append"])
def test_a_moment_that_cannot_be_counted_is_refused(con: cqlduck.Connection, call: str) -> None:
    con.execute("CREATE STREAM s (a INTEGER)")
    con.execute("CREATE CONTINUOUS QUERY q AS SELECT a FROM s")
    calls: dict[str, Callable[[Any], Any]] = {
        "heartbeat": lambda moment: con.heartbeat("s", moment),
        "advance": con.advance,
        "as_of": lambda moment: con.as_of("q", moment),
        "append": lambda moment: con.append("s", [(1,)], at=moment),
    }
    for moment in ("290000-01-01", np.datetime64("290000-01-01"), "infinity"):
        with pytest.raises(cqlduck.DataError):
            calls[call](moment)


# ------------------------------------------------------------------------------------------ places


@pytest.mark.parametrize(
    ("kind", "values", "row"),
    [
        ("INTEGER", [1, "x", "y"], 1),
        ("INTEGER", ["1", "2", "x"], 2),
        ("TINYINT", [1, 300], 1),
        ("INTEGER[2]", [[1, 2], [3]], 1),
        ("STRUCT(a INTEGER)", [{"a": 1}, {"b": 2}], 1),
        ("ENUM('a', 'b')", ["a", "c"], 1),
        ("TIMESTAMP", ["2024-01-01", "when"], 1),
        ("INTEGER[]", [[1], [2, "x"]], 1),
        ("UUID", [None, "x"], 1),
        ("VARIANT", [1, dt.timedelta(1)], 1),
        ("VARCHAR", ["a", "\ud800"], 1),
        ("INTEGER", [1, object()], 1),
    ],
)
def test_an_error_says_where(
    con: cqlduck.Connection, kind: str, values: list[Any], row: int
) -> None:
    con.execute(f"CREATE STREAM s (k INTEGER, v {kind})")
    rows = list(enumerate(values))
    for data in (
        rows,
        [{"v": v, "k": k} for k, v in rows],
        pd.DataFrame({"k": range(len(rows)), "v": pd.Series(values, dtype=object)}),
    ):
        with pytest.raises(cqlduck.DataError) as caught:
            con.append("s", data, at=1)
        error = caught.value
        assert (row, "v") == (error.row, error.field)
        assert f"row {row}" in error.message
        assert error.hint
    assert [] == stored(con)


@pytest.mark.parametrize(
    ("array", "kind", "words"),
    [
        (pa.array([0, -(2**63)]).view(pa.timestamp("us")), "TIMESTAMP", "range"),
        (pa.array([0, 2**62]).view(pa.timestamp("ms")), "TIMESTAMP_MS", "range"),
        (pa.array([0, -5]).view(pa.time64("us")), "TIME", "range"),
        (
            pa.Array.from_buffers(
                pa.decimal128(5, 1),
                2,
                [None, pa.py_buffer(bytes(16) + (10**9).to_bytes(16, "little"))],
            ),
            "DECIMAL(5, 1)",
            "range",
        ),
        (pa.array([b"a", b"\xff"]).view(pa.string()), "VARCHAR", "UTF8"),
        (pa.array([b"\x05\xfd", None]), "BIT", "bits"),
        (pa.array([{"a": 1, "z": 2}]), "STRUCT(a INTEGER)", "z"),
    ],
)
def test_what_duckdb_would_choke_on_is_refused(
    con: cqlduck.Connection, array: pa.Array, kind: str, words: str
) -> None:
    con.execute(f"CREATE STREAM s (v {kind})")
    with pytest.raises(cqlduck.DataError, match=words) as caught:
        con.append("s", pa.table({"v": array}), at=1)
    assert "v" == caught.value.field
    assert caught.value.hint
    assert caught.value.row in (1, None)
    if caught.value.row is not None:
        con.append("s", pa.table({"v": array.slice(0, 1)}), at=1)


def test_columns_that_differ_by_case_alone_are_refused(con: cqlduck.Connection) -> None:
    con.execute("CREATE STREAM s (a INTEGER)")
    with pytest.raises(cqlduck.DataError, match="twice"):
        con.append("s", pa.table({"a": [1], "A": [2]}), at=1)


def test_what_somebody_elses_code_raises_is_said(con: cqlduck.Connection) -> None:
    def rows() -> Any:
        yield (1,)
        raise LookupError("the source ended too soon")

    con.execute("CREATE STREAM s (a INTEGER)")
    with pytest.raises(cqlduck.DataError, match=r"LookupError: the source ended") as caught:
        con.append("s", rows(), at=1)
    assert isinstance(caught.value.__cause__, LookupError)
    assert [] == stored(con)
