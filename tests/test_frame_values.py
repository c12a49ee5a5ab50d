"""Data frames by name in SQL hold what came, as `append` takes it, or are refused by name."""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import uuid
import warnings
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, event, example, given, settings
from hypothesis import strategies as st

import cqlduck
from cqlduck.sources import ahead

EAST = dt.timezone(dt.timedelta(hours=2))
MOMENT = dt.datetime(2024, 1, 1, 5)


def objects(*values: Any) -> pd.DataFrame:
    return pd.DataFrame({"x": pd.Series(values, dtype=object)})


def masked(values: list[Any], mask: list[int], dtype: Any = None) -> Any:
    return np.ma.masked_array(np.array(values, dtype), mask)


@pytest.fixture(scope="module")
def con() -> Iterator[cqlduck.Connection]:
    with cqlduck.connect() as connection:
        yield connection


@contextlib.contextmanager
def stream(con: cqlduck.Connection, kind: str) -> Iterator[None]:
    """A stream `s` with one column."""
    con.execute(f"CREATE STREAM s (x {kind})")
    try:
        yield
    finally:
        con.execute("DROP STREAM s")


def taken(con: cqlduck.Connection, kind: str, way: str, frame: Any) -> list[str]:
    """What a stream with a column has after a frame came by a way."""
    with stream(con, kind):
        if way == "append":
            con.append("s", frame)
        elif way == "variable":
            con.execute("INSERT INTO s SELECT * FROM frame")
        else:
            con.register("named", frame)
            con.execute("INSERT INTO s SELECT * FROM named")
        return shown(con, kind)


def alone(con: cqlduck.Connection, kind: str, values: list[Any]) -> list[str]:
    """What it has after an append of each value by itself."""
    with stream(con, kind):
        for value in values:
            con.append("s", [(value,)])
        return shown(con, kind)


def shown(con: cqlduck.Connection, kind: str) -> list[str]:
    what = "x, x::VARCHAR" if kind.startswith("TIMESTAMP") else "x"
    rows = con.sql(f"SELECT {what} FROM s").fetchall()
    if kind == "JSON":
        rows = [(None if x is None else json.loads(x),) for (x,) in rows]
    return [repr(alike(row) if kind in ("JSON", "VARIANT") else sorted_keys(row)) for row in rows]


def sorted_keys(value: Any) -> Any:
    """What a MAP or an object holds is the same in whatever order."""
    if isinstance(value, (list, tuple)):
        return [sorted_keys(v) for v in value]
    if isinstance(value, dict):
        return {k: sorted_keys(v) for k, v in sorted(value.items())}
    return value


def alike(value: Any) -> Any:
    """As `sorted_keys`; ints among doubles may be doubles there."""
    if isinstance(value, (list, tuple)):
        return [alike(v) for v in value]
    if isinstance(value, dict):
        return {k: alike(v) for k, v in sorted(value.items())}
    return float(value) if type(value) is int else value


def ways(frame: Any) -> tuple[str, ...]:
    if isinstance(frame, dict):
        return ("register",)
    is_variable = not isinstance(frame, (list, np.ndarray))
    return ("append", "variable", "register") if is_variable else ("append", "register")


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("INTEGER[]", [masked([1, 2], [0, 1]), masked([3, 4], [1, 0])]),
        ("DOUBLE[]", [masked([1.5, 2], [1, 0])]),
        ("DATE[]", [masked(["2020-01-02", "2021-01-01"], [0, 1], "datetime64[us]")]),
        ("DATE[]", [np.array(["2020-01-02"], "datetime64[us]"), None]),
        ("TIMESTAMP[]", [masked([0, 1], [1, 0], "datetime64[s]")]),
        ("MAP(VARCHAR, INTEGER)", [{"a": 1}, {"b": 2}]),
        ("MAP(VARCHAR, INTEGER)[]", [[{"a": 1}, {"b": None}], [{}]]),
        ("JSON", [{"a": 1}, {"b": [1, "x"]}]),
        ("TIMESTAMP", [dt.date(2024, 1, 1), MOMENT]),
        ("TIMESTAMP_NS", [pd.Timestamp("2024-01-01 00:00:00.000000001"), np.ma.masked]),
        ("TIMETZ", [dt.time(1, tzinfo=EAST), None]),
        ("TIMESTAMPTZ", [MOMENT, MOMENT.replace(tzinfo=EAST)]),
        ("STRUCT(a INTEGER[], b VARCHAR)", [{"a": masked([1, 2], [1, 0]), "b": "x"}, None]),
        ("DECIMAL(9,3)", [Decimal("1.5"), Decimal("1000"), 2]),
        ("VARIANT", [1, "1", {"a": 1}, [1, "x"]]),
    ],
)  # fmt: skip
def test_objects_of_a_frame_are_what_they_are_alone(
    con: cqlduck.Connection, kind: str, values: list[Any]
) -> None:
    expected = alone(con, kind, values)
    for frame in (objects(*values), {"x": values}, [{"x": v} for v in values]):
        for way in ways(frame):
            assert (way, expected) == (way, taken(con, kind, way, frame))


def test_rows_have_the_keys_of_all_of_them(con: cqlduck.Connection) -> None:
    con.register("named", [{"a": 1}, {"b": 2}])
    assert [(1, None), (None, 2)] == con.sql("SELECT a, b FROM named").fetchall()


def test_a_structured_array_is_a_frame(con: cqlduck.Connection) -> None:
    records = np.ma.array(
        [(1, b"x"), (2, b"y")], dtype=[("k", "i4"), ("v", "S1")], mask=[(0, 0), (1, 0)]
    )
    con.register("named", records)
    assert [(1, b"x"), (None, b"y")] == con.sql("FROM named").fetchall()


@pytest.mark.parametrize(
    "frame",
    [
        pa.table({"x": pa.array([2**62], pa.timestamp("s"))}),
        pa.table({"x": pa.StringArray.from_buffers(1, pa.array([0, 1], pa.int32()).buffers()[1],
                                                   pa.py_buffer(b"\xff"))}),
        pa.table({"x": pa.array([Decimal("1.5")], pa.decimal256(50, 2))}),
        pd.DataFrame({"x": [1 + 2j]}),
        objects({1, 2}),
        objects([dt.date(2024, 1, 1), MOMENT]),
        objects({"a": 1, None: MOMENT}),
        {"x": [1], "X": [2]},
        {"x": "text"},
        {"x": [1], "y": [1, 2]},
    ],
)  # fmt: skip
def test_what_a_frame_cannot_hold_is_refused(con: cqlduck.Connection, frame: Any) -> None:
    con.register("named", {"x": [1]})
    with pytest.raises(cqlduck.Error, match="x"):
        con.register("named", frame)
    assert [(1,)] == con.sql("FROM named").fetchall()
    if "variable" in ways(frame):
        with pytest.raises(cqlduck.Error, match="x"):
            con.sql("SELECT x FROM frame")


# -- random frames ---------------------------------------------------------------------------------

NULLS = st.sampled_from([None, np.ma.masked, pd.NaT])
SMALL = st.integers(-3, 3)
TIMES = st.sampled_from([MOMENT, dt.datetime(1969, 12, 31, 23, 59, 59, 999999)])
OF_KIND: dict[str, st.SearchStrategy[Any]] = {
    "INTEGER": SMALL | st.sampled_from([np.int8(1), 2**31 - 1]),
    "HUGEINT": SMALL | st.sampled_from([2**63, -(2**100), 2**53 + 1]),
    "DOUBLE": SMALL | st.sampled_from([0.1, np.float32(0.1), -0.0, 1e300]),
    "DECIMAL(18,3)": SMALL | st.sampled_from([Decimal("1.5"), Decimal("1e9"), Decimal("-0.001")]),
    "VARCHAR": st.sampled_from(["", "a", "2024-01-01 00:00:00+02", "é"]),
    "BOOLEAN": st.booleans() | st.sampled_from([np.bool_(True)]),
    "BLOB": st.sampled_from([b"", b"\xff", b"a"]),
    "UUID": st.sampled_from([uuid.UUID(int=1), uuid.UUID(int=2**127)]),
    "DATE": st.sampled_from([dt.date(2024, 1, 1), dt.date(1, 1, 1), "2024-01-01"]),
    "TIME": st.sampled_from([dt.time(1), dt.time(23, 59, 59, 999999)]),
    "TIMETZ": st.sampled_from([dt.time(1, tzinfo=EAST), dt.time(1, tzinfo=dt.UTC)]),
    "TIMESTAMP": TIMES | st.sampled_from([dt.date(2024, 1, 1), MOMENT.replace(tzinfo=EAST),
                                          np.datetime64("2024-01-01"), pd.Timestamp(MOMENT),
                                          "2024-01-01 00:00:00+02"]),
    "TIMESTAMP_NS": TIMES | st.just(pd.Timestamp("2024-01-01 00:00:00.000000001")),
    "TIMESTAMPTZ": TIMES | st.sampled_from([MOMENT.replace(tzinfo=EAST),
                                            MOMENT.replace(tzinfo=dt.UTC)]),
    "INTERVAL": st.sampled_from([dt.timedelta(1, 2, 3), pd.Timedelta("1h"), dt.timedelta(-1)]),
    "JSON": st.recursive(
        SMALL | st.sampled_from([None, "a", True, 0.5]),
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner),
        max_leaves=3,
    ).filter(lambda value: isinstance(value, (list, dict))),
}  # fmt: skip
SCALARS = SMALL | st.sampled_from(["a", True, MOMENT, dt.date(2024, 1, 1), 0.5])
# no dicts: of a MAP DuckDB makes a list of pairs in a VARIANT
OF_KIND["VARIANT"] = SCALARS | st.lists(SCALARS, max_size=2)


def masked_of(values: list[Any]) -> Any:
    """Return a masked array of values, of which NumPy warns if it makes a NaN of a masked one."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Warning: converting a masked element to nan")
        return np.ma.masked_array(values)


def nested(kind: str) -> tuple[str, st.SearchStrategy[Any]]:
    inner = OF_KIND[kind] | NULLS
    lists = st.lists(inner, max_size=3)
    arrays = lists.map(masked_of) if kind in ("INTEGER", "DOUBLE") else lists
    return st.sampled_from([
        (f"{kind}[]", lists | arrays),
        (f"STRUCT(a {kind}, b {kind}[])", st.fixed_dictionaries(
            {"a": inner}, optional={"b": lists})),
        (f"MAP(VARCHAR, {kind})", st.dictionaries(st.sampled_from("abc"), inner, max_size=2)),
        (f"MAP(VARCHAR, {kind})[]", st.lists(
            st.dictionaries(st.sampled_from("abc"), inner, max_size=2), max_size=2)),
        (f"STRUCT(a MAP(INTEGER, {kind}))", st.fixed_dictionaries(
            {"a": st.dictionaries(SMALL, inner, max_size=2)})),
    ])  # fmt: skip


FLAT = st.sampled_from(list(OF_KIND)).map(lambda kind: (kind, OF_KIND[kind]))
NESTED = st.sampled_from([k for k in OF_KIND if k not in ("JSON", "VARIANT")]).flatmap(nested)


def records(values: list[Any]) -> Any:
    found = np.empty(len(values), dtype=[("x", object)])
    for place, value in enumerate(values):
        found[place] = (value,)
    return found


FORMS: dict[str, Callable[[list[Any]], Any]] = {
    "pandas": lambda values: objects(*values),
    "pandas typed": lambda values: pd.DataFrame({"x": values}),
    "polars": lambda values: pl.DataFrame({"x": values}, strict=False),
    "pyarrow": lambda values: pa.table({"x": values}),
    "numpy": records,
    "rows": lambda values: [{"x": value} for value in values],
    "columns": lambda values: {"x": values},
}


def cells(form: str, frame: Any, values: list[Any]) -> list[Any]:
    """What a frame says itself that it holds."""
    if form == "polars":
        return [row[0] for row in frame.rows()]
    if form == "pyarrow":
        found: list[Any] = frame.column("x").to_pylist(maps_as_pydicts="strict")
        return found
    return list(frame["x"]) if form == "pandas typed" else values


@st.composite
def cases(draw: st.DrawFn) -> tuple[str, str, list[Any]]:
    kind, of_kind = draw(FLAT | NESTED)
    values = draw(st.lists(of_kind | NULLS, min_size=1, max_size=4))
    return kind, draw(st.sampled_from(list(FORMS))), values


@pytest.mark.parametrize(
    ("kind", "dtype", "values"),
    [
        ("HUGEINT", pl.Int128, [2**126, None, -1]),
        ("HUGEINT[]", pl.List(pl.Int128), [[2**126, None], [], None]),
        ("STRUCT(a HUGEINT)", pl.Struct({"a": pl.Int128}), [{"a": 2**126}]),
        ("INTEGER", pl.Int128, [1, None]),
        ("VARIANT", pl.Object, [0, [], {"a": 1}, None]),
        ("UUID", pl.Object, [uuid.UUID(int=7), None]),
        ("VARCHAR", pl.Object, ["x", None]),
    ],
)
def test_polars_columns_that_arrow_has_not(
    con: cqlduck.Connection, kind: str, dtype: Any, values: list[Any]
) -> None:
    frame = pl.DataFrame({"x": pl.Series("x", values, dtype=dtype)})
    expected = alone(con, kind, values)
    for way in ways(frame):
        assert (way, expected) == (way, taken(con, kind, way, frame))
    assert expected == taken(con, kind, "register", {"x": frame["x"]})
    if dtype is not pl.Object:
        assert expected == taken(con, kind, "append", frame.lazy())


@settings(suppress_health_check=list(HealthCheck))
@example(("VARIANT", "polars", [0, []]))
@example(("MAP(VARCHAR, INTEGER)", "pandas", [{"a": 1}, {"b": 2}]))
@example(("STRUCT(a INTEGER, b INTEGER[])", "rows", [{"a": 1}, {"a": 1, "b": [None]}]))
@example(
    ("STRUCT(a TIMESTAMP, b TIMESTAMP[])", "pandas", [{"a": MOMENT}, {"a": "2024-01-01 00:00+02"}])
)
@given(cases())
def test_a_frame_comes_by_each_way_as_its_values_come_alone(
    con: cqlduck.Connection, case: tuple[str, str, list[Any]]
) -> None:
    kind, form, values = case
    try:
        frame = FORMS[form](values)
    except Exception:
        # not even such a frame
        return
    expected: list[str] | None = None
    for way in ways(frame):
        found, refusal = tried(con, kind, way, frame)
        event(f"{way} {'taken' if refusal is None else 'refused'}")
        if refusal is not None:
            # of a cast that DuckDB has not, it says the place in the statement
            assert "x" in refusal or "LINE 1" in refusal
            continue
        if expected is None:
            held = cells(form, frame, values)
            expected = alone(con, kind, [None if is_missing(form, v) else v for v in held])
        assert (way, expected) == (way, found)


def tried(con: cqlduck.Connection, kind: str, way: str, frame: Any) -> tuple[list[str], str | None]:
    """What a stream has after a frame came by a way, or why it was refused."""
    try:
        return taken(con, kind, way, frame), None
    except cqlduck.Error as error:
        return [], str(error)


def is_missing(form: str, value: Any) -> bool:
    """Whether a value is NULL; a NaN is in pandas' frames alone."""
    is_nan = isinstance(value, float) and not form.startswith("pandas")
    return not is_nan and bool(pd.api.types.is_scalar(value) and pd.isna(value))


NANOSECONDS = [1_704_103_200_000_000_000, 1_704_103_200_000_002_000, 1_704_103_201_000_000_000]
EXPECTED = [dt.datetime(2024, 1, 1, 10, 0, n // 10**6, n % 10**6) for n in (0, 2, 10**6)]


def write_batch(folder: Path, table: pa.Table, column: str) -> None:
    """Write a batch as another program may."""
    folder.mkdir(parents=True)
    pq.write_table(table, folder / "part-0.parquet")
    manifest = {
        "version": 1,
        "stream": "s",
        "batch": 0,
        "rows": 3,
        "files": ["part-0.parquet"],
        "min_ts": "2024-01-01T10:00:00Z",
        "max_ts": "2024-01-01T10:00:01Z",
        "heartbeat": None,
        "schema": [["v", "BIGINT"], [column, "TIMESTAMP"]],
    }
    (folder / "_manifest.json").write_text(json.dumps(manifest))


@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin"])
@pytest.mark.parametrize("by", ["append", "tick", "relation", "rows", "small batch", "large batch"])
@pytest.mark.parametrize("column", ["t", "_ts"])
def test_nanoseconds_with_a_time_zone_are_times(
    zone: str | None, by: str, column: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = pa.array(NANOSECONDS, pa.timestamp("ns", zone))
    table = pa.table({"v": [1, 2, 3], column: times})
    own = ", t TIMESTAMP" if column == "t" else ""
    stamped = f" TIMESTAMP BY {column}" if own and by != "relation" else ""
    monkeypatch.setattr(ahead, "MAX_BATCH_ROWS", 0 if by == "large batch" else 100)
    with cqlduck.connect(drop_zone=tmp_path) as con:
        if by == "relation":
            con.execute(f"CREATE RELATION s (v INTEGER{own})")
        else:
            con.execute(f"CREATE STREAM s (v INTEGER{own}){stamped} FROM 's'")
        con.execute(f"CREATE CONTINUOUS QUERY q AS SELECT v, {column} AS t FROM s"
                    if by != "relation" or own else
                    "CREATE CONTINUOUS QUERY q AS SELECT v FROM s")  # fmt: skip
        if by in ("append", "relation"):
            at = {"at": EXPECTED[0]} if by == "relation" and own else {}
            con.append("s", table, **at)
        elif by == "tick":
            con.tick({"s": table})
        elif by == "rows":
            con.append("s", table.to_pandas())
        else:
            write_batch(tmp_path / "s" / "batch=000000000000", table, column)
            assert con.follow() == 1
        con.advance("2024-01-02")
        found = con.changes("q").order("v, _ts").fetchall()
        if by == "relation":
            assert [1, 2, 3] == [row[0] for row in found]
        assert EXPECTED == [row[1] if own or by != "relation" else row[-2] for row in found]


@pytest.mark.parametrize("path", [":memory:", "some.duckdb"])
def test_a_variant_of_a_type_that_arrow_has_not_fails_no_query(tmp_path: Path, path: str) -> None:
    where = path if path == ":memory:" else tmp_path / path
    with cqlduck.connect(where) as con:
        con.execute("CREATE STREAM s (x VARIANT); CREATE CONTINUOUS QUERY q AS SELECT x FROM s")
        con.execute(
            "INSERT INTO s SELECT INTERVAL 1 DAY; INSERT INTO s SELECT '101'::BIT;"
            "INSERT INTO s SELECT 18446744073709551615::UBIGINT"
        )
        con.advance(9)
        assert ("active", None) == (con.queries["q"].state, con.queries["q"].error)
        shown = con.sql("SELECT x::VARCHAR FROM q ORDER BY 1").fetchall()
        assert [("1 day",), ("101",), ("18446744073709551615",)] == shown


def test_categories_of_objects_are_looked_at_one_by_one(con: cqlduck.Connection) -> None:
    days = pd.Index([dt.date(2020, 1, 1), dt.datetime(2020, 1, 2, 10, 30)], dtype=object)
    amounts = pd.Index([Decimal("1.10"), Decimal("2.345")], dtype=object)
    con.execute("CREATE STREAM categories (x TIMESTAMP, y VARCHAR)")
    frame = pd.DataFrame(
        {
            "x": pd.Categorical(days, categories=days),
            "y": pd.Categorical(amounts, categories=amounts),
        }
    )
    con.append("categories", frame)
    assert [
        (dt.datetime(2020, 1, 1), "1.10"),
        (dt.datetime(2020, 1, 2, 10, 30), "2.345"),
    ] == con.sql("SELECT x, y FROM categories ORDER BY ALL").fetchall()


def test_what_would_be_lost_or_is_said_twice_is_refused(con: cqlduck.Connection) -> None:
    con.execute("CREATE STREAM doubles (x STRUCT(a BIGINT)); CREATE STREAM plain_ones (x BIGINT)")
    struct = pa.StructArray.from_arrays([pa.array([1]), pa.array([2])], ["a", "A"])
    with pytest.raises(cqlduck.DataError, match="has fields of one name: a, A"):
        con.append("doubles", pa.table({"x": struct}))
    times = {"x": [1], "_ts": pa.array([MOMENT], pa.timestamp("us"))}
    with pytest.raises(cqlduck.DataError, match="have a column _ts, and at gives them another"):
        con.append("plain_ones", pa.table(times), at=MOMENT)
    indices = pa.DictionaryArray.from_arrays(pa.array([0, 7]), pa.array(["a"]), safe=False)
    with pytest.raises(cqlduck.DataError):
        con.append("plain_ones", pa.table({"x": indices}))
    with pytest.raises(cqlduck.CatalogError):
        con.refresh(5)  # type: ignore[arg-type]


def test_months_of_numpy_are_months(con: cqlduck.Connection) -> None:
    con.execute("CREATE STREAM months (x INTERVAL)")
    con.append("months", [(np.timedelta64(3, "M"),), (np.timedelta64(1, "Y"),)])
    assert [("3 months",), ("1 year",)] == con.sql("SELECT x::VARCHAR FROM months").fetchall()
