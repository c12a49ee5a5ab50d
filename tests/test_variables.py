"""Data frames by name in SQL: variables of the caller, and those that are registered."""

from __future__ import annotations

import gc
import threading
import weakref
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import cqlduck

ROWS = [(1, "a"), (2, "b")]
COLUMNS = {"k": [1, 2], "x": ["a", "b"]}
KINDS = {
    "arrow": lambda: pa.table(COLUMNS),
    "batch": lambda: pa.RecordBatch.from_pydict(COLUMNS),
    "pandas": lambda: pd.DataFrame(COLUMNS, index=[7, 9]),
    "polars": lambda: pl.DataFrame(COLUMNS),
    "lazy": lambda: pl.LazyFrame(COLUMNS),
    "relation": lambda: duckdb.sql("SELECT * FROM (VALUES (1, 'a'), (2, 'b')) AS v(k, x)"),
}

of_module = pa.table({"k": [10], "x": ["of the module"]})


@pytest.fixture
def con() -> Any:
    with cqlduck.connect() as connection:
        connection.execute(
            "CREATE STREAM s (k INTEGER, x VARCHAR); CREATE RELATION r (k BIGINT, x TEXT)"
        )
        connection.execute("CREATE CONTINUOUS QUERY q AS SELECT k, x FROM s [ROWS 9]")
        yield connection


@pytest.mark.parametrize("kind", KINDS)
def test_variables_of_each_kind(con: cqlduck.Connection, kind: str) -> None:
    df = KINDS[kind]()
    assert df is not None
    con.execute("INSERT INTO s SELECT * FROM df")
    con.execute("INSERT INTO s FROM df WHERE k = $1", [2])
    con.advance(0)
    assert [*ROWS, ROWS[1]] == sorted(con.table("q").fetchall())
    assert ROWS == con.sql("FROM df ORDER BY k").fetchall()
    selected = con.execute("SELECT count(*) FROM df d JOIN df e USING (k)")
    assert selected is not None
    assert [(2,)] == selected.fetchall()
    con.execute("CREATE RELATION made FROM df; INSERT INTO r (k, x) SELECT k, x FROM df")
    con.advance(1)
    assert ROWS == con.sql("FROM r ORDER BY k").fetchall()
    assert ROWS == con.sql("FROM made ORDER BY k").fetchall()
    con.execute("CREATE TABLE kept AS FROM df")
    assert ROWS == con.sql("FROM kept ORDER BY k").fetchall()


def test_a_relation_is_refreshed_from_the_variable_it_was_made_of(con: cqlduck.Connection) -> None:
    df = pa.table(COLUMNS)
    con.execute("CREATE RELATION made FROM df")
    df = pa.table({"k": [3], "x": ["c"]})
    con.execute("REFRESH RELATION made")
    con.execute("CREATE CONTINUOUS QUERY m AS SELECT * FROM made")
    con.advance(1)
    assert [(3, "c")] == con.table("m").fetchall()
    df = pa.table({"k": [4], "x": ["d"]})
    con.refresh("made")
    assert 1 == df.num_rows
    con.advance(3)
    assert [(4, "d")] == con.table("m").fetchall()


def test_the_nearest_variable_counts_and_no_other_frame_s(con: cqlduck.Connection) -> None:
    assert [(10,)] == con.sql("SELECT k FROM of_module").fetchall()
    outside = pa.table({"k": [5]})

    def inside() -> list[Any]:
        of_module = pa.table({"k": [11]})
        rows = con.sql("SELECT k FROM of_module").fetchall()
        assert 1 == of_module.num_rows
        return rows

    def closure() -> list[Any]:
        return [outside.num_rows, *con.sql("SELECT k FROM outside").fetchall()]

    def without() -> list[Any]:
        return con.sql("SELECT k FROM outside").fetchall()

    assert [(11,)] == inside()
    assert [1, (5,)] == closure()
    with pytest.raises(cqlduck.Error, match="outside"):
        without()


def test_names_of_the_database_go_first(con: cqlduck.Connection) -> None:
    s = r = q = plain = pa.table({"k": [99], "x": ["frame"]})
    assert q is s is r
    con.execute("CREATE TABLE plain AS SELECT 0 AS k, 'table' AS x")
    con.execute("INSERT INTO r SELECT 1, 'row'")
    con.advance(0)
    con.execute("INSERT INTO s FROM r; INSERT INTO s FROM plain")
    con.advance(1)
    assert [(0, "table"), (1, "row")] == sorted(con.table("q").fetchall())
    assert [(1, "row")] == con.sql("FROM r").fetchall()
    with_one = con.sql("WITH plain AS (SELECT 5 AS k) SELECT k FROM plain").fetchall()
    assert [(5,)] == with_one
    made = pa.table({"k": [99]})
    con.execute("CREATE TABLE made AS SELECT 7 AS k; CREATE TABLE again AS FROM made")
    assert [(7,)] == con.sql("FROM again").fetchall()
    assert 1 == made.num_rows == plain.num_rows


def test_nothing_of_cqlduck_itself_is_seen(con: cqlduck.Connection) -> None:
    """These are names of variables in its own frames."""
    for name in ("rows", "table", "text", "statement", "reader", "_cql_incoming_rows", "result"):
        with pytest.raises(cqlduck.Error, match=name):
            con.sql(f'FROM "{name}"')
        with pytest.raises(cqlduck.Error, match=name):
            con.execute(f'INSERT INTO s FROM "{name}"')
    result = pa.table({"k": [3]})
    assert [(3,)] == con.sql("FROM result").fetchall()
    assert 1 == result.num_rows


def test_what_fails_leaves_no_name_behind(con: cqlduck.Connection) -> None:
    df = pa.table({"k": [1, 2], "x": ["a", "b"]})
    with pytest.raises(cqlduck.Error, match="nothing"):
        con.execute("INSERT INTO s FROM df; INSERT INTO s SELECT nothing FROM df")
    del df
    with pytest.raises(cqlduck.Error, match="df"):
        con.sql("FROM df")
    with pytest.raises(cqlduck.Error, match="df"):
        con.execute("INSERT INTO s FROM df")
    con.advance(0)
    assert [] == con.table("q").fetchall()


def test_a_frame_is_not_kept(con: cqlduck.Connection) -> None:
    def use() -> tuple[weakref.ref[pa.Table], duckdb.DuckDBPyRelation]:
        df = pa.table(COLUMNS)
        con.execute("INSERT INTO s FROM df")
        return weakref.ref(df), con.sql("FROM df")

    watched, found = use()
    gc.collect()
    assert watched() is None
    assert ROWS == sorted(found.fetchall())


def test_a_function_lets_go_of_what_no_text_names(con: cqlduck.Connection) -> None:
    mine = pa.table(COLUMNS)
    watched = weakref.ref(mine)
    con.execute("INSERT INTO s VALUES (1, 'a')")
    con.sql("FROM s")
    del mine
    gc.collect()
    assert watched() is None


def test_the_setting_turns_it_off() -> None:
    df = pa.table(COLUMNS)
    with cqlduck.connect(variables=False) as con:
        con.execute("CREATE STREAM s (k INTEGER, x VARCHAR)")
        for run in (con.execute, con.sql):
            with pytest.raises(cqlduck.Error, match="df"):
                run("SELECT * FROM df")
        con.register("df", df)
        assert ROWS == con.sql("FROM df").fetchall()


def test_registered_names(con: cqlduck.Connection, tmp_path: Path) -> None:
    rows = [{"k": 1, "x": "a"}, {"k": 2, "x": "b"}]
    for data in (*(make() for make in KINDS.values()), COLUMNS, rows):
        con.register("Given", data)
        assert ROWS == con.sql("FROM given ORDER BY k").fetchall()
    given = pa.table({"k": [99], "x": ["a variable"]})
    con.execute("INSERT INTO s FROM given; CREATE RELATION made FROM given")
    assert 99 == given["k"][0].as_py()
    con.advance(1)
    assert ROWS == sorted(con.table("q").fetchall())
    assert ROWS == con.sql("FROM made ORDER BY k").fetchall()
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.extend(con.sql("FROM given").fetchall()))
    thread.start()
    thread.join()
    assert ROWS == sorted(found)
    con.snapshot(tmp_path / "copy.duckdb")
    del given
    con.unregister("GIVEN")
    for run in (con.execute, con.sql):
        with pytest.raises(cqlduck.Error, match="given"):
            run("FROM given")
    with pytest.raises(cqlduck.CatalogError, match="given"):
        con.unregister("given")


def test_names_that_are_taken(con: cqlduck.Connection) -> None:
    con.execute("CREATE TABLE plain (a INTEGER)")
    for name in ("s", "R", "q", "plain"):
        with pytest.raises(cqlduck.CatalogError, match=name):
            con.register(name, COLUMNS)
    con.register("mine", COLUMNS)
    for text in ("STREAM IF NOT EXISTS Mine (a INT)", "CONTINUOUS QUERY mine AS SELECT k FROM s"):
        with pytest.raises(cqlduck.CatalogError, match="unregister"):
            con.execute(f"CREATE {text}")
    with pytest.raises(cqlduck.NotSupportedError, match="CREATE RELATION"):
        con.execute("CREATE CONTINUOUS QUERY other AS SELECT k FROM mine")


@pytest.mark.parametrize("data", [7, "text", object(), [1, 2], [(1, "a")], None])
def test_what_is_no_table_is_not_registered(con: cqlduck.Connection, data: Any) -> None:
    with pytest.raises(cqlduck.DataError, match="mine"):
        con.register("mine", data)
    with pytest.raises(cqlduck.Error, match="mine"):
        con.sql("FROM mine")


def test_a_relation_that_was_returned_reads_variables_as_duckdb_has_it(
    con: cqlduck.Connection,
) -> None:
    df = pa.table({"k": [2], "y": [3.5]})
    con.execute("INSERT INTO s VALUES (1, 'a'), (2, 'b')")
    con.advance(0)
    found = con.table("q").query("q", "SELECT x, y FROM q JOIN df USING (k)")
    assert [("b", 3.5)] == found.fetchall()
    assert 1 == df.num_rows


@pytest.mark.parametrize("made", ["TABLE", "OR REPLACE TABLE", "VIEW"])
@pytest.mark.parametrize("name", ["Frame", '"frame"', "main.frame"])
def test_no_table_gets_the_name_of_a_registered_frame(
    con: cqlduck.Connection, made: str, name: str
) -> None:
    con.register("frame", pd.DataFrame({"a": [1]}))
    with pytest.raises(cqlduck.CatalogError, match="is a data frame that is registered"):
        con.execute(f"CREATE {made} {name} AS SELECT 2 AS a")
    assert [(1,)] == con.sql("FROM frame").fetchall()
    con.unregister("frame")
    con.execute(f"CREATE {made} {name} AS SELECT 2 AS a")
    assert [(2,)] == con.sql("FROM frame").fetchall()
