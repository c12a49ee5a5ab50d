"""A query that fails says so, and what nobody asked for says nothing.

Where it stopped, because of which row, and why; to whoever advances, reads or subscribes, at the
query and at those above it. Listeners and the scheduler undo nothing and hang nowhere.
"""

from __future__ import annotations

import logging
import re
import threading
import warnings
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cqlduck
from cqlduck import failures

FRAGILE = """
    CREATE STREAM s (k INTEGER, v VARCHAR);
    CREATE CONTINUOUS QUERY bad AS SELECT k, CAST(v AS INTEGER) AS n FROM s [RANGE 100];
    CREATE CONTINUOUS QUERY above AS SELECT sum(n) AS total FROM bad;
    CREATE CONTINUOUS QUERY fine AS SELECT v FROM s;
"""


def break_it(con: cqlduck.Connection) -> None:
    con.execute(FRAGILE)
    con.append("s", [(1, "1"), (2, "2"), (3, "x"), (4, "y")], at=[1, 3, 5, 5])
    con.advance(9)


@pytest.mark.parametrize("name", ["bad", "above"])
@pytest.mark.parametrize(
    "ask",
    [
        lambda con, name: con.table(name),
        lambda con, name: con.arrow(name),
        lambda con, name: con.as_of(name, 5),
        lambda con, name: list(con.subscribe(name)),
    ],
    ids=["table", "arrow", "as_of", "subscribe"],
)
def test_who_asks_a_failed_query_for_more_hears_when_why_and_because_of_which_row(
    con: cqlduck.Connection, name: str, ask: Callable[[cqlduck.Connection, str], object]
) -> None:
    break_it(con)
    with pytest.raises(cqlduck.QueryError) as caught:
        ask(con, name)
    error = caught.value
    assert ("bad", 5, "s(k = 3, v = 'x')") == (error.query, error.instant, error.row)
    assert "Could not convert string 'x'" in (error.reason or "")
    assert all(word in error.message for word in (name, "bad", "at 5", "s(k = 3, v = 'x')"))
    assert f"as_of('{name}', 4)" in (error.hint or "")


def test_up_to_its_frontier_a_failed_query_answers_as_ever(con: cqlduck.Connection) -> None:
    con.execute(FRAGILE)
    feed = con.subscribe("bad", since=-1)
    con.append("s", [(1, "1"), (2, "2"), (3, "x")], at=[1, 3, 5])
    con.advance(9)
    assert [(1, 1), (2, 2)] == sorted(con.as_of("bad", 4).fetchall())
    assert [(3,)] == con.as_of("above", 4).fetchall()
    assert [(1, 1, 1, 1), (2, 2, 3, 1)] == con.changes("bad").fetchall()
    assert {"_ts": [1, 3], "_weight": [1, 1]} == next(feed).select(["_ts", "_weight"]).to_pydict()
    with pytest.raises(cqlduck.QueryError):
        next(feed)
    assert 3 == len(con.table("fine").fetchall())


def test_it_is_told_after_reopening_and_of_wall_clock_time(tmp_path) -> None:
    path = tmp_path / "some.duckdb"
    with cqlduck.connect(path) as con:
        con.execute("""
            CREATE STREAM s (v VARCHAR, t TIMESTAMP) TIMESTAMP BY t;
            CREATE CONTINUOUS QUERY bad AS SELECT CAST(v AS INTEGER) AS n FROM s;
        """)
        con.append("s", [("1", "2013-01-01"), ("x", "2013-01-01 02:00")])
        con.advance("2013-01-01 03:00")
    with cqlduck.connect(path) as con:
        with pytest.raises(cqlduck.QueryError) as caught:
            con.table("bad")
        assert "2013-01-01 02:00:00" == str(caught.value.instant)
        assert "s(v = 'x', t = 2013-01-01 02:00:00)" == caught.value.row
        written = (caught.value.hint or "").partition("'bad', '")[2].partition("'")[0]
        assert [(1,)] == con.as_of("bad", written).select("n").fetchall()
        con.execute("ALTER CONTINUOUS QUERY bad DEACTIVATE")
        assert 1 == len(con.table("bad").fetchall())


def test_a_failure_is_told_when_the_query_has_expired_too(con: cqlduck.Connection) -> None:
    con.execute("CREATE STREAM s (v VARCHAR, t TIMESTAMP) TIMESTAMP BY t;")
    con.execute("CREATE CONTINUOUS QUERY bad AS SELECT CAST(v AS INTEGER) AS n FROM s")
    con.append("s", [("1", "2013-01-01"), ("x", "2013-01-02")])
    con.advance("2014-01-01")
    con.advance("2014-01-02")
    assert [("expired",)] == con.sql("SELECT state FROM cql.queries").fetchall()
    with pytest.raises(cqlduck.QueryError, match="'x'"):
        con.table("bad")


def test_advance_warns_once_of_each_query_that_fails(
    con: cqlduck.Connection, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.warns(RuntimeWarning, match=r"query bad failed at 5: .*'x'.*\n.*as_of") as warned:
        break_it(con)
    assert [__file__] == [w.filename for w in warned if w.category is RuntimeWarning]
    assert ["bad failed at 5"] == [
        r.getMessage()[21:36] for r in caplog.records if r.levelno == logging.WARNING
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        con.advance(12)
        con.tick({"s": [{"k": 1, "v": "1", "_ts": 13}]}, 13)


def test_a_failure_for_which_no_row_came_names_none(con: cqlduck.Connection) -> None:
    con.execute("""
        CREATE STREAM s (v INTEGER);
        CREATE CONTINUOUS QUERY bad AS
            SELECT CAST(CASE WHEN count(*) = 0 THEN 'none' ELSE '1' END AS INTEGER) AS n
            FROM s [RANGE 2];
    """)
    con.append("s", [(1,), (2,)], at=[0, 5])
    con.advance(9)
    with pytest.raises(cqlduck.QueryError) as caught:
        con.table("bad")
    assert (3, None) == (caught.value.instant, caught.value.row)
    assert "row" not in caught.value.message


@given(counts=st.dictionaries(st.sampled_from("abc"), st.integers(0, 9)), bad=st.integers(0, 30))
def test_the_culprit_is_the_first_arrival_that_breaks_the_instant(
    counts: dict[str, int], bad: int
) -> None:
    arrivals = [(name, place) for name, count in counts.items() for place in range(count)]
    wanted = arrivals[bad] if bad < len(arrivals) else None

    def fails(first) -> bool:
        kept = [(name, place) for name, count in first.items() for place in range(count)]
        return wanted is None or wanted in kept

    assert wanted == failures.culprit(counts, fails)


# ------------------------------------------------------------------------------------ listeners


def test_what_goes_wrong_in_a_listener_is_logged_and_undoes_nothing(
    con: cqlduck.Connection, caplog: pytest.LogCaptureFixture
) -> None:
    con.execute("CREATE STREAM s (v INTEGER); CREATE CONTINUOUS QUERY q AS SELECT v FROM s")
    heard: list[int] = []
    con.engine.on_tick.append(lambda report: {}["nothing"])
    con.engine.on_tick.append(lambda report: heard.append(report.until))
    con.append("s", [(1,)], at=1)
    assert 3 == con.advance(3)
    assert [3] == heard
    assert [(1, 1)] == con.table("q").fetchall()
    assert any("listener" in r.message and r.exc_info for r in caplog.records)


def test_a_listener_reads_what_its_tick_has_emitted(con: cqlduck.Connection) -> None:
    con.execute("CREATE STREAM s (v INTEGER); CREATE CONTINUOUS QUERY q AS SELECT v FROM s")
    seen: list[int] = []
    con.engine.on_tick.append(lambda _: seen.append(len(con.table("q").fetchall())))
    for t in range(4):
        con.tick({"s": [{"v": t, "_ts": t}]}, t)
    assert [1, 2, 3, 4] == seen


@pytest.mark.parametrize(
    "call",
    [
        lambda con, path: con.stop(),
        lambda con, path: con.start(),
        lambda con, path: con.close(),
        lambda con, path: con.snapshot(path / "copy.duckdb"),
        lambda con, path: con.advance(99),
        lambda con, path: con.tick({}, 99),
        lambda con, path: con.follow(),
        lambda con, path: con.append("s", [(9,)], at=50),
        lambda con, path: con.heartbeat("s", 99),
        lambda con, path: con.execute("CREATE TABLE mine (a INTEGER)"),
    ],
    ids=[
        "stop",
        "start",
        "close",
        "snapshot",
        "advance",
        "tick",
        "follow",
        "append",
        "heartbeat",
        "execute",
    ],
)
def test_a_listener_is_refused_what_its_tick_would_wait_for(
    con: cqlduck.Connection, tmp_path, call, request: pytest.FixtureRequest
) -> None:
    con.execute("CREATE STREAM s (v INTEGER); CREATE CONTINUOUS QUERY q AS SELECT v FROM s")
    refused: list[cqlduck.Error] = []

    def listener(_: object) -> None:
        with pytest.raises(cqlduck.DatabaseError, match="listener") as caught:
            call(con, tmp_path)
        refused.append(caught.value)

    con.engine.on_tick.append(listener)
    con.append("s", [(1,)], at=1)
    assert 3 == con.advance(3)
    assert refused
    assert refused[0].hint
    named = re.match(r"(\w+)\(\)", str(refused[0]))
    assert named is None or named[1] == request.node.callspec.id
    con.engine.on_tick.clear()
    con.append("s", [(2,)], at=5)
    assert 6 == con.advance(6)
    assert [(1, 1), (2, 5)] == con.table("q").fetchall()


# ------------------------------------------------------------------------------- the scheduler


def test_the_scheduler_calls_on_error_with_what_fails_and_goes_on(con: cqlduck.Connection) -> None:
    con.execute(FRAGILE)
    told, has_told = [], threading.Event()

    def on_error(error: Exception) -> None:
        told.append(error)
        has_told.set()
        raise ValueError("so does this")

    con.append("s", [(3, "x")], at=[5])
    con.heartbeat("s", 9)
    con.start("10 milliseconds", on_error=on_error)
    assert has_told.wait(60)
    reached = threading.Event()
    con.engine.on_tick.append(lambda report: report.until < 15 or reached.set())
    con.append("s", [(4, "4")], at=[12])
    con.heartbeat("s", 15)
    assert reached.wait(60)
    con.stop()
    assert [cqlduck.QueryError] == [type(error) for error in told]
    assert 2 == len(con.table("fine").fetchall())


@pytest.mark.parametrize("wrong", [ValueError, SystemExit, KeyboardInterrupt])
def test_whatever_on_error_raises_it_is_told_the_other_errors(
    con: cqlduck.Connection, wrong: type[BaseException]
) -> None:
    con.execute(FRAGILE)
    con.execute("CREATE CONTINUOUS QUERY worse AS SELECT CAST(v AS DATE) AS d FROM s [RANGE 9]")
    told, has_both = [], threading.Event()

    def on_error(error: Exception) -> None:
        told.append(error)
        if len(told) == 2:
            has_both.set()
        raise wrong

    con.append("s", [(3, "x")], at=[5])
    con.heartbeat("s", 9)
    con.start("10 milliseconds", on_error=on_error)
    assert has_both.wait(60)
    con.stop()
    assert ["bad", "worse"] == sorted(str(error).split()[3] for error in told)


def test_on_error_may_stop_the_scheduler(con: cqlduck.Connection) -> None:
    con.execute(FRAGILE)
    stopped = threading.Event()

    def on_error(error: Exception) -> None:
        con.stop()
        stopped.set()

    con.append("s", [(3, "x")], at=[5])
    con.heartbeat("s", 9)
    con.start("10 milliseconds", on_error)
    assert stopped.wait(60)
    con.start("1 hour")
    con.stop()


def test_a_scheduler_that_is_faster_than_its_runs_is_quiet(
    con: cqlduck.Connection, caplog: pytest.LogCaptureFixture
) -> None:
    runs, enough, go = [], threading.Event(), threading.Event()

    def work() -> None:
        runs.append(1)
        go.wait(0.2)
        if len(runs) == 3:
            enough.set()

    caplog.set_level(logging.WARNING)
    con._scheduler.work = work
    con.start("5 milliseconds")
    assert enough.wait(60)
    go.set()
    con.stop()
    assert [] == [r.getMessage() for r in caplog.records]
