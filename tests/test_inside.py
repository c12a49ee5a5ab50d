"""Calls from inside of a call: handlers of signals, trace hooks, generators of rows, listeners."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import cqlduck
from cqlduck.sources.dropzone import BatchWriter
from cqlduck.state import answers

SCHEMA = (
    "CREATE STREAM s (k INTEGER, t INTEGER) TIMESTAMP BY t;"
    "CREATE CONTINUOUS QUERY q AS SELECT k, count(*) AS n FROM s [RANGE 5] GROUP BY k;"
)
ROWS = [(number % 3, number) for number in range(20)]
CALLS: dict[str, Callable[[cqlduck.Connection], object]] = {
    "advance": lambda con: con.advance(15),
    "tick": lambda con: con.tick({"s": [(1, 30)]}),
    "append": lambda con: con.append("s", [(1, 30)]),
    "execute": lambda con: con.execute("DROP CONTINUOUS QUERY q"),
    "table": lambda con: con.table("q"),
    "sql": lambda con: con.sql("FROM s"),
    "check": lambda con: con.check(),
    "queries": lambda con: con.queries["q"],
    "stop": lambda con: con.stop(),
}

with_signals = pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="there are no signals")


def wrong(con: cqlduck.Connection) -> list[Any]:
    return con.check().filter("state = 'wrong'").fetchall()


def answer(con: cqlduck.Connection) -> list[Any]:
    return sorted(con.table("q").fetchall())


@pytest.fixture
def signals() -> Iterator[None]:
    before = signal.getsignal(signal.SIGUSR1)
    yield
    signal.signal(signal.SIGUSR1, before)


class Hook:
    """A trace hook that does something before one of the statements of a call."""

    def __init__(self, what: Callable[[], object]) -> None:
        self.what, self.place, self.seen = what, 0, -1

    def __call__(self, sql: str, parameters: object) -> None:
        if self.seen >= 0:
            self.seen += 1
            if self.seen == self.place:
                self.what()

    def at(self, place: int) -> None:
        self.place, self.seen = place, 0


@with_signals
@pytest.mark.usefixtures("signals")
@pytest.mark.parametrize("name", CALLS)
def test_the_handler_of_a_signal_calls_nothing_in_the_middle_of_a_call(name: str) -> None:
    """Wherever the signal comes: the call that it interrupts is done, or nothing of it."""
    hook = Hook(lambda: os.kill(os.getpid(), signal.SIGUSR1))
    told: list[str] = []

    def handle(*_: object) -> None:
        try:
            CALLS[name](con)
            told.append("done")
        except cqlduck.DatabaseError as error:
            told.append(error.message)

    signal.signal(signal.SIGUSR1, handle)
    refused = 0
    for place in range(1, 12):
        told.clear()
        with cqlduck.connect(trace=hook, sharing=False) as con:
            con.execute(SCHEMA)
            con.append("s", ROWS)
            hook.at(place)
            con.advance(10)
            was_sent, hook.seen = hook.seen >= place, -1
            # what came behind the last statement is sent again when the call has returned
            while was_sent and not told:
                time.sleep(0.001)
            refused += told == [
                "the handler of a signal calls the connection, in the middle of a call that it "
                "waits for"
            ]
            if "done" not in told or name not in ("execute", "append", "tick"):
                con.advance(19)
                assert [(0, 2), (1, 2), (2, 2)] == answer(con)
            if "done" not in told or name != "execute":
                assert [] == wrong(con)
    assert refused


@with_signals
@pytest.mark.usefixtures("signals")
def test_what_a_handler_does_not_catch_undoes_the_call() -> None:
    hook = Hook(lambda: os.kill(os.getpid(), signal.SIGUSR1))
    signal.signal(signal.SIGUSR1, lambda *_: con.table("q"))
    with cqlduck.connect(trace=hook, sharing=False) as con:
        con.execute(SCHEMA)
        con.append("s", ROWS)
        hook.at(3)
        with pytest.raises(cqlduck.DatabaseError, match="the handler of a signal calls"):
            con.advance(10)
        hook.seen = -1
        con.advance(19)
        assert [(0, 2), (1, 2), (2, 2)] == answer(con)
        assert [] == wrong(con)


CLOSES = """
import os, signal, sys, threading
import cqlduck

con = cqlduck.connect(sys.argv[1])
con.execute("CREATE STREAM s (v INTEGER); CREATE RELATION r (v INTEGER)")
con.append("s", [(1,)], at=1)

def end(*_):
    con.close()
    sys.exit(3)

signal.signal(signal.SIGTERM, end)
if sys.argv[2] == "scheduler":
    con.start("10 milliseconds")
threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGTERM)).start()
while True:
    con.sql("SELECT sum(a.range * b.range) FROM range(1000000) a, range(1000000) b").fetchall()
"""


@with_signals
@pytest.mark.parametrize("how", ["alone", "scheduler"])
def test_a_handler_that_closes_ends_a_process(tmp_path: Path, how: str) -> None:
    path = tmp_path / "app.duckdb"
    done = subprocess.run(
        [sys.executable, "-c", CLOSES, str(path), how], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 3
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "app.duckdb.wal").exists()
    with cqlduck.connect(path) as con:
        assert [(1,)] == con.sql("SELECT v FROM s").fetchall()


@with_signals
@pytest.mark.usefixtures("signals")
def test_a_handler_that_closes_interrupts_the_call() -> None:
    hook = Hook(lambda: os.kill(os.getpid(), signal.SIGUSR1))
    con = cqlduck.connect(trace=hook, sharing=False)
    signal.signal(signal.SIGUSR1, lambda *_: con.close())
    con.execute(SCHEMA)
    con.append("s", ROWS)
    hook.at(3)
    with pytest.raises(cqlduck.DatabaseError, match="the call was interrupted"):
        con.advance(10)
    with pytest.raises(cqlduck.DatabaseError, match="the connection is closed"):
        con.advance(10)


@pytest.mark.parametrize("name", [*CALLS, "close"])
def test_a_trace_hook_calls_nothing(name: str) -> None:
    call = CALLS.get(name, lambda con: con.close())
    told: list[str] = []

    def what() -> None:
        try:
            call(con)
        except cqlduck.DatabaseError as error:
            told.append(error.message)

    hook = Hook(what)
    for place in range(1, 10):
        with cqlduck.connect(trace=hook, sharing=False) as con:
            con.execute(SCHEMA)
            con.append("s", ROWS)
            hook.at(place)
            con.advance(10)
            hook.seen = -1
            con.advance(19)
            assert [(0, 2), (1, 2), (2, 2)] == answer(con)
            assert [] == wrong(con)
    assert {"the trace hook calls the connection, in the middle of a call that it waits for"} == {
        *told
    }


@pytest.mark.parametrize("how", ["append", "refresh", "tick"])
def test_rows_may_come_from_a_thread_that_uses_the_connection(how: str) -> None:
    with cqlduck.connect() as con:
        con.execute("CREATE RELATION s (v INTEGER); CREATE RELATION r (x INTEGER)")
        made: queue.Queue[Any] = queue.Queue()

        def produce() -> None:
            for number in range(3):
                made.put((number + con.sql("SELECT count(*) FROM r").fetchall()[0][0],))
            made.put(None)

        def rows() -> Iterator[Any]:
            threading.Thread(target=produce, daemon=True).start()
            yield from iter(made.get, None)

        if how == "append":
            con.append("s", rows(), at=1)
        elif how == "refresh":
            con.refresh("s", rows(), at=1)
        else:
            con.tick({"s": ({"v": row[0], "_ts": 1} for row in rows())}, 1)
        con.advance(1)
        assert [(0,), (1,), (2,)] == sorted(con.sql("SELECT v FROM s").fetchall())


def test_what_a_generator_of_rows_does_is_no_part_of_the_call() -> None:
    """Its own calls are done or not, whatever becomes of the rows."""
    with cqlduck.connect() as con:
        con.execute(
            "CREATE STREAM s (v INTEGER); CREATE RELATION r (x INTEGER);"
            "CREATE CONTINUOUS QUERY q AS SELECT x FROM r"
        )

        def rows() -> Iterator[Any]:
            with pytest.raises(cqlduck.Error):
                con.execute("INSERT INTO r VALUES (1); UPDATE s SET v = 2")
            con.execute("INSERT INTO r VALUES (7)")
            yield (1,)
            yield ("no number",)

        with pytest.raises(cqlduck.DataError):
            con.append("s", rows(), at=5)
        con.advance(6)
        assert [(7,)] == con.table("q").fetchall()
        assert [] == con.sql("FROM s").fetchall()
        assert [] == wrong(con)


def test_an_input_that_is_made_anew_while_its_rows_are_read_takes_none() -> None:
    with cqlduck.connect() as con:
        con.execute("CREATE STREAM s (v INTEGER)")

        def rows() -> Iterator[Any]:
            con.execute("DROP STREAM s; CREATE STREAM s (v INTEGER, w INTEGER)")
            yield (1,)

        with pytest.raises(cqlduck.DataError) as caught:
            con.append("s", rows(), at=5)
        assert "the stream s got other columns while its rows were read" == caught.value.message
        assert [] == con.sql("FROM s").fetchall()


@with_signals
@pytest.mark.usefixtures("ctrl_c")
def test_a_generator_of_rows_can_be_interrupted() -> None:
    with cqlduck.connect() as con:
        con.execute("CREATE STREAM s (v INTEGER)")

        def rows() -> Iterator[Any]:
            threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
            yield (1,)
            threading.Event().wait(30)

        begun = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            con.append("s", rows(), at=1)
        assert time.monotonic() - begun < 20
        assert [] == con.sql("FROM s").fetchall()


def test_rows_that_are_read_when_somebody_interrupts_are_not_taken() -> None:
    with cqlduck.connect() as con:
        con.execute("CREATE STREAM s (v INTEGER)")

        def rows() -> Iterator[Any]:
            yield (1,)
            con.interrupt()
            yield (2,)

        with pytest.raises(cqlduck.DatabaseError, match="the call was interrupted"):
            con.append("s", rows(), at=1)
        assert [] == con.sql("FROM s").fetchall()
        assert 1 == con.append("s", [(3,)], at=1)


def test_a_listener_does_not_wait_for_its_own_tick() -> None:
    with cqlduck.connect() as con:
        con.execute(
            "CREATE STREAM s (v INTEGER, t INTEGER) TIMESTAMP BY t;"
            "CREATE CONTINUOUS QUERY q AS SELECT v FROM s WHERE v > 100"
        )
        subscription, told = con.subscribe("q"), []

        def listen(_: object) -> None:
            try:
                told.append(next(subscription, None))
            except cqlduck.DatabaseError as error:
                told.append(error.message)

        con.engine.on_tick.append(listen)
        con.start("10 milliseconds")
        con.append("s", [(1, 1), (2, 2)])
        con.append("s", [(300, 3)])
        con.append("s", [(4, 9)])
        while len(told) < 2 or not any(isinstance(one, pa.RecordBatch) for one in told):
            con.append("s", [(4, con.engine.catalogue.inputs["s"].last_instant + 1)])
            time.sleep(0.01)
        con.stop()
        assert any("next() is called by a listener" in str(one) for one in told)


def zone(folder: Path, names: str, count: int) -> None:
    for name in names:
        writer = BatchWriter(folder, name, ts="at")
        for number in range(count):
            rows = pa.table({"x": [number], "at": [number * 10]})
            writer.write_batch(number, rows, heartbeat=number * 10 + 5)


def wanted(con: cqlduck.Connection) -> None:
    """Wait until another thread wants the connection."""
    while not con.engine.lock.is_wanted:
        time.sleep(0.001)


def test_an_input_that_is_made_while_another_is_followed_is_followed(tmp_path: Path) -> None:
    zone(tmp_path, "ab", 9)
    with cqlduck.connect(drop_zone=tmp_path, max_tick=1) as con:
        text = "CREATE STREAM {0} (x INTEGER, at INTEGER) TIMESTAMP BY at FROM '{0}'"
        con.execute(f"{text.format('a')}; CREATE CONTINUOUS QUERY q AS SELECT count(*) FROM a")
        other = threading.Thread(target=lambda: con.execute(text.format("b")))

        def tick(_: object) -> None:
            if not other.ident:
                other.start()
                wanted(con)

        con.engine.on_tick.append(tick)
        assert con.follow() == 18
        other.join()
        assert 9 == con.engine.catalogue.inputs["b"].next_batch


def test_who_follows_is_told_that_another_thread_has_closed(tmp_path: Path) -> None:
    zone(tmp_path, "a", 60)
    for number in range(6):
        con = cqlduck.connect(drop_zone=tmp_path, max_tick=1)
        con.execute(
            "CREATE STREAM a (x INTEGER, at INTEGER) TIMESTAMP BY at FROM 'a';"
            "CREATE CONTINUOUS QUERY q AS SELECT count(*) AS n FROM a"
        )
        other = threading.Thread(target=con.close)
        ticks: list[object] = []

        def tick(
            _: object,
            con: cqlduck.Connection = con,
            other: threading.Thread = other,
            ticks: list[object] = ticks,
            last: int = 3 * number,
        ) -> None:
            ticks.append(None)
            if len(ticks) > last and not other.ident:
                other.start()
                wanted(con)

        con.engine.on_tick.append(tick)
        with pytest.raises(cqlduck.DatabaseError, match="the connection is closed"):
            con.follow()
        other.join()


def test_a_tick_whose_rows_are_committed_returns_though_another_thread_closes(
    tmp_path: Path,
) -> None:
    path = tmp_path / "app.duckdb"
    con = cqlduck.connect(path, max_tick=10, sharing=False)
    con.execute(
        "CREATE STREAM s (v INTEGER, t INTEGER) TIMESTAMP BY t LATE AMEND;"
        "CREATE CONTINUOUS QUERY w AS SELECT count(*) AS n FROM s"
    )
    con.append("s", [(1, 1)])
    other = threading.Thread(target=con.close)

    def tick(_: object) -> None:
        if not other.ident:
            other.start()
            wanted(con)

    con.engine.on_tick.append(tick)
    con.tick({"s": [(number, 2000 + number) for number in range(200)]})
    other.join()
    with cqlduck.connect(path) as again:
        again.advance(9999)
        assert [(201,)] == again.table("w").fetchall()


# -- what Python runs wherever it likes ---------------------------------------------------------


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("outer", ["append", "tick", "execute"])
def test_what_python_runs_by_itself_calls_nothing_in_the_middle_of_a_call(
    name: str, outer: str
) -> None:
    """A profiler's callback is called where the collector may call a `__del__`."""
    done, told = 0, set[str]()
    with cqlduck.connect() as con:
        con.execute(SCHEMA + "CREATE RELATION r (x INTEGER); CREATE CONTINUOUS QUERY p AS FROM r;")
        calls: dict[str, Callable[[], object]] = {
            "append": lambda: con.append("r", [(done,)], at=done),
            "tick": lambda: con.tick({"r": [{"x": done, "_ts": done}]}, done),
            "execute": lambda: con.execute(f"INSERT INTO r VALUES ({done})"),
        }
        inside = False
        for place in range(40, 1500, 97):
            count = 0

            def profile(frame: object, event: str, argument: object, place: int = place) -> None:
                nonlocal count, inside
                count += event == "call"
                if count < place or inside:
                    return
                count, inside = -(1 << 30), True
                try:
                    if con.engine.lock.is_mine:
                        CALLS[name](con)
                        told.add("done")
                except cqlduck.DatabaseError as error:
                    told.add(error.message)
                finally:
                    inside = False

            done += 1
            sys.setprofile(profile)
            try:
                calls[outer]()
            finally:
                sys.setprofile(None)
        refused = {one for one in told if "in the middle of another call" in one}
        assert told == refused != set()
        con.advance(done)
        assert [(one,) for one in range(1, done + 1)] == sorted(con.table("p").fetchall())
        assert wrong(con) == []


class Instants:
    """Instants that do something when they are read."""

    def __init__(self, what: Callable[[], object]) -> None:
        self.what = what

    def __len__(self) -> int:
        return 2

    def __iter__(self) -> Iterator[int]:
        self.what()
        return iter([10, 11])


def asking(con: cqlduck.Connection) -> pa.RecordBatchReader:
    """Return batches of which a thread has asked the database before they come."""
    schema = pa.schema([("k", pa.int64())])

    def batches() -> Iterator[pa.RecordBatch]:
        found: list[int] = []
        other = threading.Thread(target=lambda: found.append(len(con.sql("FROM s").fetchall())))
        other.start()
        other.join()
        yield pa.RecordBatch.from_pydict({"k": found}, schema=schema)

    return pa.RecordBatchReader.from_batches(schema, batches())


def test_instants_are_read_before_the_call_changes_anything() -> None:
    with cqlduck.connect() as con:
        con.execute("CREATE STREAM s (k INTEGER); CREATE CONTINUOUS QUERY q AS SELECT k FROM s")
        assert 2 == con.append(
            "s", [(1,), (2,)], at=Instants(lambda: con.append("s", [(9,)], at=9))
        )
        con.advance(20)
        assert [(9, 9, 1), (1, 10, 1), (2, 11, 1)] == con.changes("q").fetchall()


def test_frames_are_read_outside_of_turns() -> None:
    with cqlduck.connect() as con:
        con.execute("CREATE STREAM s (k BIGINT)")
        con.register("f", asking(con))
        assert [(0,)] == con.sql("FROM f").fetchall()
        others: list[threading.Thread] = []

        def ask() -> None:
            others.append(threading.Thread(target=lambda: con.sql("FROM s").fetchall()))
            others[0].start()
            others[0].join()

        con.append("s", [(1,), (2,)], at=Instants(ask))
        assert len(others) == 1


def test_variables_are_read_outside_of_turns() -> None:
    polars = pytest.importorskip("polars")
    with cqlduck.connect() as con:
        con.execute("CREATE STREAM s (k BIGINT)")

        def asked(value: int) -> int:
            found: list[int] = []
            other = threading.Thread(target=lambda: found.append(len(con.sql("FROM s").fetchall())))
            other.start()
            other.join()
            return value + found[0]

        lazy = polars.LazyFrame({"k": [1, 2]}).with_columns(
            k=polars.col("k").map_elements(asked, return_dtype=polars.Int64)
        )
        con.execute("INSERT INTO s FROM lazy")
        assert [(3,), (4,)] == con.sql("SELECT k FROM lazy ORDER BY k").fetchall()
        assert lazy is not None


@pytest.mark.parametrize("kind", ["relation", "stream"])
@pytest.mark.parametrize("path", [":memory:", "file"])
@pytest.mark.parametrize("is_long", [True, False])
def test_a_listener_reads_the_answer_of_its_tick(
    kind: str, path: str, is_long: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if is_long:
        # such logs are read without a copy
        monkeypatch.setattr(answers, "LONG_LOG_ELEMENTS", 1)
    with cqlduck.connect(path if path == ":memory:" else tmp_path / "a.duckdb") as con:
        con.execute("CREATE STREAM s (k INTEGER, t INTEGER) TIMESTAMP BY t")
        body = "SELECT k, count(*) AS n FROM s GROUP BY k"
        con.execute(f"CREATE CONTINUOUS QUERY q AS {body if kind == 'relation' else 'FROM s'}")
        seen: list[tuple[list[Any], ...]] = []

        def listen(report: Any) -> None:
            arrow = [tuple(row.values()) for row in con.arrow("q").to_pylist()]
            as_of = con.as_of("q", report.until).fetchall()
            seen.append((arrow, con.table("q").fetchall(), as_of, con.changes("q").fetchall()))
            with pytest.raises(cqlduck.DatabaseError, match=r"sql\(\) is called by a listener"):
                con.sql("FROM q")

        con.engine.on_tick.append(listen)
        for t in range(1, 4):
            con.tick({"s": [(1, t)]}, to=t)
            arrow, table, as_of, changes = seen[-1]
            assert arrow == table == con.table("q").fetchall()
            assert as_of == con.as_of("q", t).fetchall()
            assert changes == con.changes("q").fetchall()
            assert len(changes) == (t if kind == "stream" else 2 * t - 1)


@with_signals
@pytest.mark.usefixtures("signals")
@pytest.mark.parametrize("call", ["stop", "close"])
def test_a_handler_stops_a_scheduler_that_is_being_started(call: str) -> None:
    script = f"""
import cqlduck, faulthandler, signal
faulthandler.dump_traceback_later(60, exit=True)
con = cqlduck.connect()
signal.signal(signal.SIGALRM, lambda *_: con.{call}())
for number in range(150):
    signal.setitimer(signal.ITIMER_REAL, .0002 + number % 40 * .00005)
    try:
        con.start("1 hour")
        con.stop()
    except cqlduck.Error as error:
        assert "closed" in str(error) or "stop() it first" in str(error), error
    signal.setitimer(signal.ITIMER_REAL, 0)
    con.stop()
    if "{call}" == "close":
        con = cqlduck.connect()
print("done")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert "done" in done.stdout, done.stderr


def test_a_snapshot_that_was_interrupted_hinders_none(tmp_path: Path) -> None:
    with cqlduck.connect() as con:
        con.execute("CREATE STREAM s (k BIGINT)")
        hook = Hook(con.interrupt)
        with con.engine.lock:
            # hooks are asked for by the lock's holder
            con.engine.database.trace = con.engine.database.interrupts.guarded(hook)
        outcomes = []
        for place in range(1, 30):
            hook.at(place)
            try:
                con.snapshot(tmp_path / "copy.duckdb")
                outcomes.append("written")
            except cqlduck.DatabaseError as error:
                outcomes.append(error.message)
            if hook.seen < place:
                break
        assert {"written", "the call was interrupted"} == set(outcomes)
        assert outcomes[-1] == "written"


def test_who_waits_for_elements_of_a_query_that_is_dropped_is_told() -> None:
    with cqlduck.connect() as con:
        con.execute(SCHEMA)
        con.start("1 hour")
        subscription, told = con.subscribe("q"), queue.Queue[object]()

        def read() -> None:
            try:
                told.put(next(subscription, None))
            except cqlduck.Error as error:
                told.put(error)

        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        while reader.is_alive() and not con.engine.changed._waiters:  # type: ignore[attr-defined]
            time.sleep(0.001)
        con.execute("DROP CONTINUOUS QUERY q")
        found = told.get(timeout=60)
        assert isinstance(found, cqlduck.CatalogError)


@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="there are no alarms")
def test_what_an_alarm_raises_while_rows_are_read_comes_through() -> None:
    def late(number: int, frame: object) -> None:
        raise TimeoutError("too slow")

    def rows() -> Iterator[tuple[int, int]]:
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        while True:
            yield 1, 1

    before = signal.signal(signal.SIGALRM, late)
    try:
        with cqlduck.connect() as con:
            con.execute(SCHEMA)
            with pytest.raises(TimeoutError, match="too slow"):
                con.append("s", rows())
            with pytest.raises(cqlduck.DataError, match="cannot be read: TimeoutError: mine"):
                con.append("s", _raising(TimeoutError("mine")))
    finally:
        signal.signal(signal.SIGALRM, before)


def _raising(error: Exception) -> Iterator[tuple[int, int]]:
    yield 1, 1
    raise error


def test_several_calls_may_be_made_while_the_engine_is_held_still() -> None:
    with cqlduck.connect() as con:
        con.execute(SCHEMA)
        con.append("s", ROWS)
        assert "q" in con._repr_html_()
        with con.engine.still():
            con.advance(5)
            first = answer(con)
            assert first == answer(con)
        with con.engine.lock, pytest.raises(cqlduck.DatabaseError, match="in the middle of"):
            con.advance(9)
        assert con.advance(9) == 9
