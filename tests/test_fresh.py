"""Elements that are not in their log yet show no other way than those that are."""

from __future__ import annotations

import datetime
import warnings
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import cqlduck
from cqlduck.state import output_buffer, ticks

S = "CREATE STREAM s (a BIGINT, b VARCHAR, t BIGINT) TIMESTAMP BY t"
ALL = "CREATE CONTINUOUS QUERY q AS SELECT a, b FROM s"
DOUBLE = "CREATE CONTINUOUS QUERY q AS SELECT a, a + 1 AS more, b FROM s"
ODD = "CREATE CONTINUOUS QUERY q AS SELECT a, b FROM s WHERE a % 2 = 1"


def rows(*of: tuple[int, str, int]) -> pa.Table:
    return pa.table(
        {
            "a": pa.array([a for a, _, _ in of], pa.int64()),
            "b": pa.array([b for _, b, _ in of], pa.string()),
            "t": pa.array([t for _, _, t in of], pa.int64()),
        }
    )


def logged(con: cqlduck.Connection, query: str = "q") -> list[tuple[Any, ...]]:
    """What is in the log of a query, as a statement of the engine's sees it."""
    return con.engine.database.rows(f"FROM cql_state.changes_{query} ORDER BY ALL")


def handed_out(con: cqlduck.Connection, since: Any = -1) -> list[tuple[Any, ...]]:
    batches = con.subscribe("q", since=since)
    return [tuple(row.values()) for batch in batches for row in batch.to_pylist()]


@pytest.mark.parametrize(
    ("query", "elements"),
    [
        (ALL, [(1, "x", 1, 1), (2, "y", 2, 1), (3, "z", 4, 1)]),
        (DOUBLE, [(1, 2, "x", 1, 1), (2, 3, "y", 2, 1), (3, 4, "z", 4, 1)]),
        (ODD, [(1, "x", 1, 1), (3, "z", 4, 1)]),
    ],
    ids=["columns of the queue", "one is worked out", "rows are selected"],
)
def test_a_subscriber_gets_elements_that_are_in_no_log(
    con: cqlduck.Connection, query: str, elements: list[tuple[Any, ...]]
) -> None:
    con.execute(f"{S}; {query}")
    con.tick({"s": rows((1, "x", 1), (2, "y", 2))}, 2)
    assert [e for e in elements if e[-2] <= 2] == handed_out(con)
    con.tick({"s": rows((3, "z", 4))}, 4)
    assert [] == logged(con)
    assert [e for e in elements if e[-2] > 2] == handed_out(con, since=2)
    assert [e for e in elements if e[-2] > 1] == handed_out(con, since=1)
    assert elements == handed_out(con)
    assert [] == logged(con)
    assert elements == con.changes("q").fetchall()
    assert elements == logged(con)
    assert elements == handed_out(con)


def test_what_a_subscriber_gets_has_the_types_of_the_log(con: cqlduck.Connection) -> None:
    con = cqlduck.connect(granularity="1 second")
    con.execute(
        "CREATE STREAM s (a BIGINT, at TIMESTAMP) TIMESTAMP BY at;"
        "CREATE CONTINUOUS QUERY q AS SELECT a, at, a * 0.5 AS half FROM s"
    )
    at = datetime.datetime(2026, 1, 1, 0, 0, 1, 500_000)
    (early,) = list(con.subscribe("q", since=at)) or [None]
    assert early is None
    con.tick(
        {"s": pa.table({"a": [1], "at": pa.array([at], pa.timestamp("us"))})}, "2026-01-01 1:0"
    )
    (here,) = con.subscribe("q", since=datetime.datetime(2026, 1, 1))
    assert [] == logged(con)
    con.table("q")
    (there,) = con.subscribe("q", since=datetime.datetime(2025, 1, 1))
    assert there.schema == here.schema
    assert there.to_pylist() == here.to_pylist()
    assert datetime.datetime(2026, 1, 1, 0, 0, 1) == here.to_pylist()[0]["_ts"]


@pytest.mark.parametrize(
    "look",
    [
        lambda con: con.table("q").fetchall(),
        lambda con: con.sql("FROM q").fetchall(),
        lambda con: con.sql("FROM cql_state.changes_q").fetchall(),
        lambda con: con.execute("FROM q").fetchall(),
        lambda con: con.as_of("q", 2).fetchall(),
    ],
    ids=["table", "sql", "the log", "execute", "as_of"],
)
def test_who_looks_finds_them_in_the_log(con: cqlduck.Connection, look: Any) -> None:
    con.execute(f"{S}; {ALL}")
    con.tick({"s": rows((1, "x", 1), (2, "y", 2))}, 2)
    assert [] == logged(con)
    assert [(1, "x"), (2, "y")] == [row[:2] for row in look(con)]
    con.tick({"s": rows((3, "z", 4))}, 4)
    assert [(1, "x", 1, 1), (2, "y", 2, 1)] == logged(con)
    assert [(3, "z", 4, 1)] == handed_out(con, since=2)
    assert 3 == len(con.table("q").fetchall())


def test_a_snapshot_has_them(con: cqlduck.Connection, tmp_path: Path) -> None:
    con.execute(f"{S}; {ALL}")
    con.tick({"s": rows((1, "x", 1))}, 2)
    with duckdb.connect(str(con.snapshot(tmp_path / "copy.db"))) as copy:
        assert [(1, "x", 1, 1)] == copy.execute("FROM cql_state.changes_q").fetchall()


def test_a_query_that_is_registered_later_reads_them(con: cqlduck.Connection) -> None:
    con.execute(f"{S}; {ALL}")
    con.tick({"s": rows((1, "x", 1))}, 2)
    con.execute("CREATE CONTINUOUS QUERY n WITH (history = true) AS SELECT count(*) AS n FROM q")
    con.tick({"s": rows((2, "x", 3))}, 3)
    assert [(2,)] == con.table("n").fetchall()
    assert [(1, "x", 1, 1), (2, "x", 3, 1)] == logged(con)


def test_a_tick_that_is_undone_leaves_none(con: cqlduck.Connection) -> None:
    con.execute(f"{S}; {ALL}; CREATE CONTINUOUS QUERY bad AS SELECT CAST(b AS INTEGER) AS n FROM s")
    con.tick({"s": rows((1, "7", 1))}, 1)
    con.tick({"s": rows((2, "8", 2), (3, "no", 3))}, 3)
    assert [("active",), ("failed",)] == con.sql("SELECT state FROM cql.queries").fetchall()
    assert [(1, "7", 1, 1), (2, "8", 2, 1), (3, "no", 3, 1)] == handed_out(con)
    assert [(1, "7", 1, 1), (2, "8", 2, 1), (3, "no", 3, 1)] == con.changes("q").fetchall()


def test_a_change_that_fails_keeps_them(con: cqlduck.Connection) -> None:
    con.execute(f"{S}; {ALL}")
    con.tick({"s": rows((1, "x", 1))}, 1)
    with pytest.raises(cqlduck.Error):
        con.execute("CREATE TABLE t (a INTEGER); SELECT * FROM nowhere")
    assert [] == logged(con)
    assert [(1, "x", 1, 1)] == handed_out(con)
    assert [(1, "x", 1, 1)] == con.changes("q").fetchall()


def test_many_go_into_the_log_and_the_last_stay_for_a_subscriber(
    con: cqlduck.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output_buffer, "MAX_BYTES", 100)
    con.execute(f"{S}; {ALL}")
    everything = []
    for n in range(1, 9):
        con.tick({"s": rows((n, "x", n), (-n, "y", n))}, n)
        new = [(n, "x", n, 1), (-n, "y", n, 1)]
        everything += new
        assert new == handed_out(con, since=n - 1)
    assert 0 < len(logged(con)) <= len(everything)
    assert everything == handed_out(con, since=0)
    con.execute("CREATE CONTINUOUS QUERY n AS SELECT count(*) AS n FROM q")
    con.tick({"s": rows((9, "x", 9))}, 9)
    everything.append((9, "x", 9, 1))
    assert sorted(everything) == sorted(con.changes("q").fetchall())
    assert sorted(everything) == sorted(logged(con))


def test_a_query_of_the_same_name_has_none_of_them(
    con: cqlduck.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output_buffer, "MAX_BYTES", 100)
    con.execute(f"{S}; {ALL}")
    for n in range(1, 5):
        con.tick({"s": rows((n, "x", n), (-n, "y", n))}, n)
    con.execute(f"DROP CONTINUOUS QUERY q; {ODD}")
    assert [] == handed_out(con, since=0)
    assert [] == handed_out(con, since=3)


def test_what_history_lets_go_of_is_never_written(con: cqlduck.Connection) -> None:
    con.execute(f"{S}; CREATE CONTINUOUS QUERY q WITH (keep = '2 seconds') AS SELECT a, b FROM s")
    for n in range(1, 20):
        con.tick({"s": rows((n, "x", n))}, n)
        assert [(n, "x", n, 1)] == handed_out(con, since=n - 1)
    assert [] == logged(con)
    # it forgets in steps of two instants
    kept = [(n, "x", n, 1) for n in (17, 18, 19)]
    assert kept == con.changes("q").fetchall()
    assert kept == logged(con)
    con.tick({"s": rows((20, "x", 20))}, 30)
    assert [] == con.changes("q").fetchall()


def test_types_that_arrow_has_not_go_into_the_log(con: cqlduck.Connection) -> None:
    con.execute(f"{S}; CREATE CONTINUOUS QUERY q AS SELECT CAST(a AS HUGEINT) * 3 AS h FROM s")
    con.tick({"s": rows((2**62, "x", 1))}, 1)
    assert [(3 * 2**62, 1, 1)] == logged(con)
    con.tick({"s": rows((2**62 + 1, "x", 2))}, 2)
    assert [(3 * 2**62, 1, 1), (3 * 2**62 + 3, 2, 1)] == logged(con)


def test_in_a_file_they_are_committed_with_the_tick(tmp_path: Path) -> None:
    with cqlduck.connect(tmp_path / "a.db") as con:
        con.execute(f"{S}; {ALL}")
        con.tick({"s": rows((1, "x", 1))}, 1)
        assert [(1, "x", 1, 1)] == logged(con)
        assert [(1, "x", 1, 1)] == handed_out(con)


def test_a_tick_beside_a_read_does_not_show_in_it(
    con: cqlduck.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ticks, "MAX_WAITING_ROWS", 1)
    con.execute(f"{S}; {ALL}")
    con.tick({"s": rows((1, "x", 1))}, 1)
    threads = con.engine.database.threads
    reading = threads.reading

    def late() -> Any:
        con.tick({"s": rows((2, "y", 2))}, 2)
        return reading()

    monkeypatch.setattr(threads, "reading", late)
    both = "SELECT (SELECT count(*) FROM q), (SELECT elements FROM cql.streams)"
    assert con.sql(both).fetchall() == [(1, 1)]
    monkeypatch.undo()
    assert con.sql(both).fetchall() == [(2, 2)]


def test_a_program_may_make_errors_of_all_warnings(con: cqlduck.Connection) -> None:
    con.execute(f"{S}; {ODD}")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        con.tick({"s": rows((1, "x", 1), (2, "y", 2))}, 2)
        assert con.arrow("q").num_rows == 1
    assert [(1, "x", 1, 1)] == handed_out(con)
