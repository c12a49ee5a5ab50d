"""What comes in belongs to the database: arrays of the caller, odd values, odd types."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cqlduck
from cqlduck.data.owned import owned
from cqlduck.sources.dropzone import BatchWriter

FORMS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "arrow": pa.table,
    "batch": pa.RecordBatch.from_pydict,
    "reader": lambda columns: pa.table(columns).to_reader(),
    "pandas": pd.DataFrame,
    "pandas, not copied": lambda columns: pd.DataFrame(columns, copy=False),
    "polars": pl.DataFrame,
}


SLICED = {
    "numbers": pa.array(range(9_000)),
    "NULLs": pa.array([None, 1.5] * 4_500),
    "texts": pa.array([f"text {n}" for n in range(9_000)]),
    "lists": pa.array([[n, n] for n in range(9_000)]),
    "structs": pa.array([{"a": n, "b": None} for n in range(9_000)]),
    "words": pa.array(["a", "b"] * 4_500).dictionary_encode(),
    "nothing": pa.nulls(9_000),
    "unions": pa.UnionArray.from_dense(
        pa.array([0] * 9_000, pa.int8()),
        pa.array(range(9_000), pa.int32()),
        [pa.array(range(9_000))],
    ),
}


@pytest.mark.parametrize("kind", SLICED)
def test_of_a_slice_its_own_part_is_copied(kind: str) -> None:
    """A table that comes slice by slice is not copied whole for each."""
    whole = pa.table({"x": SLICED[kind], "n": range(9_000)})
    part = whole.slice(5_000, 10)
    mine = owned(part)
    assert (part.schema, part.to_pylist()) == (mine.schema, mine.to_pylist())
    # what unions refer to stays as it is
    assert kind == "unions" or mine.get_total_buffer_size() < 1_000
    assert whole.get_total_buffer_size() == owned(whole).get_total_buffer_size()


def test_a_slice_shares_no_memory() -> None:
    values = np.arange(1_000)
    mine = owned(pa.table({"x": values}).slice(500, 3))
    values[:] = 0
    assert [500, 501, 502] == mine.column("x").to_pylist()
    words = np.array([10, 20])
    coded = pa.DictionaryArray.from_arrays(pa.array([0, 1] * 500), pa.array(words))
    mine = owned(pa.table({"x": coded}).slice(500, 3))
    words[:] = 0
    assert [10, 20, 10] == mine.column("x").to_pylist()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("place", ["memory", "file"])
def test_who_fills_its_arrays_again_changes_nothing(form: str, place: str, tmp_path: Path) -> None:
    made = FORMS[form]
    with cqlduck.connect(":memory:" if place == "memory" else tmp_path / "a.duckdb") as con:
        con.execute("""
            CREATE STREAM s (x BIGINT, t BIGINT) TIMESTAMP BY t; CREATE RELATION r (y BIGINT);
            CREATE CONTINUOUS QUERY copy AS SELECT x FROM s;
            CREATE CONTINUOUS QUERY w AS SELECT sum(x) AS total FROM s [RANGE 1];
            CREATE CONTINUOUS QUERY rel AS SELECT y FROM r;
        """)
        x, t, y = np.zeros(2, "i8"), np.zeros(2, "i8"), np.array([1, 2, 3])
        con.append("r", made({"y": y}), at=1)
        gone = np.array([3])
        con.retract("r", made({"y": gone}), at=1)
        y[:] = gone[:] = 99
        for k in (1, 2, 3):
            x[:], t[:] = [10 * k, 10 * k + 1], k
            con.tick({"s": made({"x": x, "t": t})}, to=k)
            x[:] = 77
        x[:], t[:] = [40, 41], 4
        con.append("s", made({"x": x, "t": t}))
        x[:] = t[:] = 5
        con.advance(9)
        came = [(10 * k + low, k, 1) for k in (1, 2, 3, 4) for low in (0, 1)]
        assert came == sorted(con.changes("copy").fetchall())
        totals = [row[:2] for row in con.changes("w").fetchall() if row[2] == 1]
        assert [(21, 1), (62, 2), (102, 3), (142, 4), (81, 5)] == totals[1:-1]
        assert [(1,), (2,)] == con.table("rel").fetchall()
        assert "wrong" not in {row[5] for row in con.check().fetchall()}


@pytest.mark.parametrize("kind", [pa.int8(), pa.int16(), pa.int32(), pa.int64()])
@pytest.mark.parametrize("place", ["memory", "file"])
def test_the_type_of_instants_says_nothing(kind: pa.DataType, place: str, tmp_path: Path) -> None:
    last = {8: 127, 16: 32_767, 32: 2**31 - 1, 64: 2**31 + 5}[kind.bit_width]
    with cqlduck.connect(":memory:" if place == "memory" else tmp_path / "a.duckdb") as con:
        con.execute("""
            CREATE STREAM s (x BIGINT); CREATE CONTINUOUS QUERY q AS SELECT x FROM s [RANGE 100];
        """)
        con.tick({"s": pa.table({"x": [1], "_ts": pa.array([last - 50], kind)})}, to=last - 50)
        con.tick({"s": pa.table({"x": [2], "_ts": pa.array([last - 1], kind)})}, to=last - 1)
        con.tick({"s": pa.table({"x": [3], "_ts": pa.array([last], pa.int64())})}, to=last)
        con.advance(last + 500)
        came = {1: last - 50, 2: last - 1, 3: last}
        expected = {(x, at, 1) for x, at in came.items()}
        expected |= {(x, at + 101, -1) for x, at in came.items()}
        assert expected == set(con.changes("q").fetchall())
        assert "active" == con.queries["q"].state


NO_DATE = pa.array([5, -(2**63)]).view(pa.timestamp("us"))
DAY = 86_400_000
REFUSED: dict[str, tuple[str, pa.Array]] = {
    "a moment": ("TIMESTAMP", NO_DATE),
    "in a dictionary": ("TIMESTAMP", NO_DATE.dictionary_encode()),
    "in runs": (
        "TIMESTAMP",
        pa.RunEndEncodedArray.from_arrays(pa.array([1, 2], pa.int16()), NO_DATE),
    ),
    "in a dictionary in a list": (
        "TIMESTAMP[]",
        pa.ListArray.from_arrays(pa.array([0, 1, 2], pa.int32()), NO_DATE.dictionary_encode()),
    ),
    "days beyond the last": ("DATE", pa.array([0, DAY * 3_000_000_000]).view(pa.date64())),
    "a part of a day": ("DATE", pa.array([0, -1]).view(pa.date64())),
    "a day before minus infinity": ("DATE", pa.array([0, -(2**31)], pa.int32()).view(pa.date32())),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_duckdb_would_misread_is_refused_with_its_row(case: str) -> None:
    kind, column = REFUSED[case]
    with cqlduck.connect() as con:
        con.execute(f"CREATE RELATION r (x {kind})")
        with pytest.raises(cqlduck.DataError) as caught:
            con.append("r", pa.table({"x": column}), at=1)
        assert (1, "x") == (caught.value.row, caught.value.field)
        con.advance(1)
        assert [] == con.sql("FROM r").fetchall()


@pytest.mark.parametrize("rows", [2, 200_000])
@pytest.mark.parametrize("has_statistics", [True, False])
@pytest.mark.parametrize("nested", [False, True])
def test_a_batch_with_a_timestamp_that_is_no_date_waits(
    rows: int, has_statistics: bool, nested: bool, tmp_path: Path
) -> None:
    """DuckDB stores it, and no statement runs any more when a query has shown it."""
    raw = np.arange(rows)
    raw[-1] = -(2**63)
    moments = pa.array(raw).view(pa.timestamp("us"))
    kind = "TIMESTAMP"
    if nested:
        moments, kind = pa.StructArray.from_arrays([moments], ["f"]), "STRUCT(f TIMESTAMP)"
    good = moments.slice(0, rows - 1)
    writer = BatchWriter(tmp_path / "drop", "d", ts="v")
    for number, column in enumerate([good, moments, good]):
        times = pa.array([number + 1] * len(column), pa.int64())
        writer.write_batch(number, pa.table({"x": column, "v": times}), heartbeat=number + 1)
    if not has_statistics:
        for path in (tmp_path / "drop").rglob("*.parquet"):
            pq.write_table(pq.ParquetFile(path).read(), path, write_statistics=False)
        for path in (tmp_path / "drop").rglob("_manifest.json"):
            manifest = json.loads(path.read_text())
            del manifest["checksums"]
            path.write_text(json.dumps(manifest))
    con = cqlduck.connect(tmp_path / "a.duckdb", drop_zone=tmp_path / "drop")
    with con:
        con.execute(f"""
            CREATE STREAM d (x {kind}, v BIGINT) TIMESTAMP BY v FROM 'd';
            CREATE STREAM s (v BIGINT);
            CREATE CONTINUOUS QUERY t AS SELECT count(x::VARCHAR) AS n FROM d [RANGE 5];
            CREATE CONTINUOUS QUERY n AS SELECT count(*) AS n FROM s [RANGE 5];
        """)
        with pytest.raises(cqlduck.DropZoneError) as caught:
            con.follow()
        assert ".parquet" in caught.value.message
        assert "x" in caught.value.message
        assert [(rows - 1,)] == con.table("t").fetchall(), caught.value.message
        con.append("s", [(1,)], at=2)
        con.heartbeat("s", 2)
        con.advance()
        assert [(1,)] == con.table("n").fetchall()
        shutil.rmtree(next((tmp_path / "drop").rglob("*1")))
        writer.write_batch(1, pa.table({"x": good, "v": [2] * len(good)}), heartbeat=2)
        con.follow()
        assert [(3 * (rows - 1),)] == con.table("t").fetchall()


def test_values_of_a_dictionary_are_copied_too() -> None:
    with cqlduck.connect() as con:
        con.execute("CREATE RELATION r (x BIGINT)")
        values = np.array([7, 8])
        column = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0]), pa.array(values))
        con.append("r", pa.table({"x": column}), at=1)
        values[:] = 99
        con.advance(1)
        assert [(7,), (7,), (8,)] == con.sql("FROM r ORDER BY x").fetchall()


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_a_missing_duration_is_null(unit: str) -> None:
    with cqlduck.connect() as con:
        con.execute("CREATE RELATION r (x INTERVAL)")
        frame = pd.DataFrame({"x": np.array([1, "NaT"], f"timedelta64[{unit}]")})
        assert 2 == con.append("r", frame, at=1)
        con.advance(1)
        assert [(1,)] == con.sql("SELECT count(x) FROM r").fetchall()


def test_periods_are_refused_and_types_of_somebodys_own_are_what_they_are_stored_as() -> None:
    class Own(pa.ExtensionType):
        def __init__(self) -> None:
            super().__init__(pa.int64(), "own.number")

        def __arrow_ext_serialize__(self) -> bytes:
            return b""

        @classmethod
        def __arrow_ext_deserialize__(cls, storage: pa.DataType, given: bytes) -> "Own":
            return cls()

    with cqlduck.connect() as con:
        con.execute("CREATE RELATION r (x BIGINT); CREATE RELATION v (x VARCHAR)")
        periods = pd.DataFrame({"x": pd.period_range("2020-01", periods=2, freq="M")})
        with pytest.raises(cqlduck.DataError, match="periods are no moments"):
            con.append("v", periods, at=1)
        numbers = pa.ExtensionArray.from_storage(Own(), pa.array([1, 2]))
        assert 2 == con.append("r", pa.table({"x": numbers}), at=1)
        con.advance(1)
        assert [(1,), (2,)] == con.sql("FROM r ORDER BY x").fetchall()


def test_an_instant_that_python_has_not_is_refused() -> None:
    with cqlduck.connect() as con:
        con.execute("CREATE STREAM s (x BIGINT)")
        with pytest.raises(cqlduck.DataError, match="at has a time"):
            con.append("s", [(1,)], at=pa.array([-(2**63)]).view(pa.timestamp("us")))


@pytest.mark.parametrize("kind", [pa.string_view(), pa.binary_view(), pa.large_string()])
def test_dictionaries_of_any_kind_of_texts_come_in(kind: pa.DataType) -> None:
    """Polars gives its categories and texts as views."""
    values = pa.array([b"a", b"b"], pa.binary()).cast(kind)
    column = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0, None], pa.uint32()), values)
    with cqlduck.connect() as con:
        con.execute("CREATE RELATION r (x VARCHAR)")
        assert 4 == con.append("r", pa.table({"x": column}), at=1)
        con.advance(1)
        assert [("a",), ("a",), ("b",), (None,)] == sorted(
            con.sql("FROM r").fetchall(), key=lambda row: (row[0] is None, row)
        )
