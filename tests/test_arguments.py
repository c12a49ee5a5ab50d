"""What is passed as a name, a text, a duration or seconds, and is none, is refused in words."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import cqlduck
from cqlduck import Connection

CALLS: dict[str, Callable[[Connection, Any], object]] = {
    "execute": lambda con, x: con.execute(x),
    "parameters": lambda con, x: con.execute("SELECT ?", x),
    "sql": lambda con, x: con.sql(x),
    "parameters of sql": lambda con, x: con.sql("SELECT $a", x),
    "table": lambda con, x: con.table(x),
    "arrow": lambda con, x: con.arrow(x),
    "as_of": lambda con, x: con.as_of(x, 1),
    "as_of, the instant": lambda con, x: con.as_of("q", x),
    "changes": lambda con, x: con.changes(x),
    "subscribe": lambda con, x: con.subscribe(x),
    "explain": lambda con, x: con.explain(x),
    "check": lambda con, x: con.check(x),
    "append": lambda con, x: con.append(x, [(1,)]),
    "append, the data": lambda con, x: con.append("s", x, at=x),
    "retract": lambda con, x: con.retract(x, [(1,)]),
    "refresh": lambda con, x: con.refresh(x, [(1,)]),
    "heartbeat": lambda con, x: con.heartbeat(x, 3),
    "heartbeat, the instant": lambda con, x: con.heartbeat("s", x),
    "tick": lambda con, x: con.tick({}, x),
    "register": lambda con, x: con.register(x, {"a": [1]}),
    "register, the data": lambda con, x: con.register("frame", x),
    "unregister": lambda con, x: con.unregister(x),
    "start": lambda con, x: con.start(every=x),
    "start, on_error": lambda con, x: con.start(on_error=x),
    "subscribe, the timeout": lambda con, x: con.subscribe("q", timeout=x),
    "snapshot": lambda con, x: con.snapshot(x),
}
NONE_OF_THEM = [
    5,
    b"q",
    [None],
    {},
    {1: 2},
    object(),
    float("nan"),
    "\0",
    pd.DataFrame(),
    pa.table({}),
]


@pytest.fixture(scope="module")
def con() -> Any:
    with cqlduck.connect() as connection:
        connection.execute(
            "CREATE STREAM s (a BIGINT); CREATE CONTINUOUS QUERY q AS SELECT count(*) AS n FROM s"
        )
        connection.append("s", [(1,)], at=1)
        connection.advance(3)
        yield connection


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_whatever_is_passed_an_error_is_of_the_family(con: Connection, call) -> None:
    for given in NONE_OF_THEM:
        with contextlib.suppress(cqlduck.Error):
            call(con, given)
    assert [(1,)] == con.table("q").fetchall()


@pytest.mark.parametrize("call", ["table", "as_of", "append", "heartbeat", "unregister"])
def test_a_name_is_a_text(con: Connection, call: str) -> None:
    for given in (None, 5, b"q", ["q"]):
        with pytest.raises(cqlduck.CatalogError, match="is no name"):
            CALLS[call](con, given)


@pytest.mark.parametrize("call", ["table", "append", "register"])
def test_a_name_is_not_empty(con: Connection, call: str) -> None:
    with pytest.raises(cqlduck.CatalogError, match="a name is not empty"):
        CALLS[call](con, "")


@pytest.mark.parametrize("timeout", ["5", -1, float("nan"), [1], b"1"])
def test_seconds_are_a_number_from_0_on(con: Connection, timeout: Any) -> None:
    with pytest.raises(cqlduck.DataError, match="seconds"):
        con.subscribe("q", timeout=timeout)


@pytest.mark.parametrize("timeout", [float("inf"), 10**10, 10**400])
def test_who_waits_longer_than_can_be_waits_for_good(timeout: Any) -> None:
    with cqlduck.connect() as con:
        con.execute("CREATE STREAM s (a BIGINT); CREATE CONTINUOUS QUERY q AS SELECT a FROM s")
        con.start("10 milliseconds")
        waiting = con.subscribe("q", timeout=timeout)
        con.append("s", [(1,)], at=1)
        con.heartbeat("s", 3)
        assert 1 == next(waiting).num_rows
        stopping = threading.Timer(0.1, con.stop)
        stopping.start()
        assert [] == list(waiting)
        stopping.join()


@pytest.mark.parametrize("given", [5, "raise", True, [print]])
def test_on_error_is_a_function(con: Connection, given: Any) -> None:
    with pytest.raises(cqlduck.DataError, match="no function of an error"):
        con.start(on_error=given)
    con.start()  # it did not begin
    con.stop()


@pytest.mark.parametrize("every", ["36501 days", "10000000 weeks"])
def test_an_interval_ends_before_the_calendar(con: Connection, every: str) -> None:
    with pytest.raises(cqlduck.Error, match="too long"):
        con.start(every)


@pytest.mark.parametrize("text", [5, None, b"SELECT 1", ["SELECT 1"]])
def test_statements_are_a_text(con: Connection, text: Any) -> None:
    for call in (con.execute, con.sql):
        with pytest.raises(cqlduck.ParseError, match="is no text"):
            call(text)


def test_one_of_many_threads_starts_the_scheduler() -> None:
    con, gate, started = cqlduck.connect(), threading.Barrier(20), []

    def start() -> None:
        gate.wait()
        with contextlib.suppress(cqlduck.Error):
            con.start("1 hour")
            started.append(True)

    threads = [threading.Thread(target=start) for _ in range(20)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    con.close()
    assert [True] == started
    assert not [one for one in threading.enumerate() if "APScheduler" in one.name]


def test_following_needs_a_drop_zone() -> None:
    with cqlduck.connect() as con:
        assert 0 == con.follow()
        con.execute("CREATE STREAM away (a BIGINT) FROM 'away'")
        with pytest.warns(RuntimeWarning, match="stream away reads the folder 'away'") as warned:
            assert 0 == con.follow()
        assert [__file__] == [one.filename for one in warned]
