"""Ctrl-C and `interrupt`: a call is undone or done, whatever moment they come at, and never both.

Real signals: at the very moment of COMMIT and ROLLBACK, and at moments of chance into a process
that goes on and counts what it has.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import cqlduck
from cqlduck.state.interrupts import SOON

pytestmark = pytest.mark.usefixtures("ctrl_c")

APPLICATION = """
    CREATE STREAM s (k BIGINT);
    CREATE RELATION r (k BIGINT);
    CREATE CONTINUOUS QUERY counted AS SELECT count(*) AS n FROM s [RANGE UNBOUNDED];
    CREATE CONTINUOUS QUERY passed AS SELECT k FROM s WHERE k >= 0;
"""
SLOW = """
    SELECT count(*)::BIGINT AS n FROM range(100000000) a, range(1000) b
    WHERE a.range % 7 = b.range % 11
"""


@pytest.fixture(params=["memory", "file"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return ":memory:" if request.param == "memory" else str(tmp_path / "some.duckdb")


def at(word: str, act: Callable[[], object]) -> Callable[[str, object], None]:
    """Return a trace that acts when a statement begins so, but for once."""
    left = [act]

    def trace(sql: str, _: object) -> None:
        if left and sql.startswith(word):
            left.pop()()

    return trace


def ctrl_c() -> None:
    os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize(
    "call",
    [
        lambda con: con.append("s", [(1,), (2,)], at=1),
        lambda con: con.tick({"s": [{"k": 1, "_ts": 1}, {"k": 2, "_ts": 1}]}),
        lambda con: con.execute("INSERT INTO s SELECT k FROM (VALUES (1), (2)) AS t (k)"),
    ],
    ids=["append", "tick", "execute"],
)
def test_ctrl_c_at_commit_comes_when_the_call_has_returned(database: str, call) -> None:
    with cqlduck.connect(database) as con:
        con.execute(APPLICATION)
        con.engine.database.trace = at("COMMIT", ctrl_c)
        call(con)
        with pytest.raises(KeyboardInterrupt):
            time.sleep(60)
        con.engine.database.trace = None
        con.append("s", [(3,)], at=7)
        con.advance(9)
        assert [(3,)] == con.table("counted").fetchall()


@pytest.mark.parametrize("word", ["INSERT", "ROLLBACK", "BEGIN"])
def test_a_call_that_is_interrupted_before_it_has_committed_did_nothing(
    database: str, word: str
) -> None:
    with cqlduck.connect(database) as con:
        con.execute(APPLICATION)
        con.append("s", [(1,)], at=1)
        con.engine.database.trace = at(word, ctrl_c)
        rows = [(2, 2), (3, 0 if word == "ROLLBACK" else 3)]
        error = cqlduck.LateError if word == "ROLLBACK" else KeyboardInterrupt
        with pytest.raises(error):
            con.append("s", [(k,) for k, _ in rows], at=[t for _, t in rows])
        if word == "ROLLBACK":
            # the error was first: what came meanwhile is not lost
            with pytest.raises(KeyboardInterrupt):
                time.sleep(60)
        con.engine.database.trace = None
        con.append("s", [(4,)], at=4)
        con.advance(9)
        assert [(2,)] == con.table("counted").fetchall()


def test_a_trace_that_raises_at_commit_undoes_the_call(database: str) -> None:
    def fail() -> None:
        raise ValueError("in the trace")

    with cqlduck.connect(database) as con:
        con.execute(APPLICATION)
        for word in ("COMMIT", "ROLLBACK", "BEGIN", "INSERT"):
            con.engine.database.trace = at(word, fail)
            with pytest.raises((ValueError, cqlduck.LateError)):
                con.append("s", [(1,), (2,)], at=[5, 1])
            con.engine.database.trace = None
        con.append("s", [(1,)], at=1)
        con.advance(9)
        assert [(1,)] == con.table("counted").fetchall()


def test_rows_that_a_tick_has_taken_are_not_taken_again_after_ctrl_c(database: str) -> None:
    """The ticks that follow end early, and the call returns: whoever retries would count twice."""
    with cqlduck.connect(database, max_tick=2) as con:
        con.execute(APPLICATION)
        commits: list[str] = []

        def trace(sql: str, _: object) -> None:
            commits.append(sql) if sql == "COMMIT" else None
            if len(commits) == 1 and sql.startswith("BEGIN"):
                commits.append(sql)
                ctrl_c()

        con.engine.database.trace = trace
        reached = con.tick({"s": [{"k": t, "_ts": t} for t in range(20)]}, 30)
        with pytest.raises(KeyboardInterrupt):
            time.sleep(60)
        con.engine.database.trace = None
        assert reached < 30
        assert 30 == con.advance(30)
        assert [(20,)] == con.table("counted").fetchall()


def test_other_handlers_are_called_while_a_statement_runs_and_given_back(
    con: cqlduck.Connection,
) -> None:
    heard: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
    try:
        mine = signal.getsignal(signal.SIGINT)
        con.engine.database.trace = at("SELECT 42", ctrl_c)
        assert con.execute("SELECT 42") is not None
        assert [signal.SIGINT] == heard
        assert signal.getsignal(signal.SIGINT) is mine
    finally:
        signal.signal(signal.SIGINT, before)


def test_an_alarm_that_waited_is_not_sent_when_its_handler_was_taken_back(
    con: cqlduck.Connection,
) -> None:
    """Without a handler an alarm ends the process."""
    heard: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda number, frame: heard.append(number))
    with con.engine.database.interrupts.deferred:
        signal.raise_signal(signal.SIGALRM)
        assert [] == heard
    signal.signal(signal.SIGALRM, before)
    time.sleep(20 * SOON)
    assert [] == heard


@pytest.mark.parametrize("restored", [False, True], ids=["held", "restored"])
def test_a_handler_that_raises_while_others_are_held_or_restored_loses_none_of_them(
    con: cqlduck.Connection, monkeypatch: pytest.MonkeyPatch, restored: bool
) -> None:
    class Alarmed(Exception):
        pass

    def alarm(number: int, frame: object) -> None:
        raise Alarmed

    before = signal.signal(signal.SIGALRM, alarm)
    change = signal.signal

    def interrupted(number: int, handler: object) -> object:
        found = change(number, handler)  # type: ignore[arg-type]
        if restored == (handler is alarm) and signal.getsignal(signal.SIGALRM) is alarm:
            signal.raise_signal(signal.SIGALRM)
        return found

    try:
        with monkeypatch.context() as patch:
            patch.setattr(signal, "signal", interrupted)
            with pytest.raises(Alarmed), con.engine.database.interrupts.deferred:
                pass
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        assert 0 == con.sql("SELECT 0").fetchall()[0][0]
    finally:
        signal.signal(signal.SIGALRM, before)


READS: dict[str, Callable[[cqlduck.Connection, Path], object]] = {
    "table": lambda con, _: con.table("counted"),
    "table of a stream": lambda con, _: con.table("passed"),
    "as_of": lambda con, _: con.as_of("counted", 3),
    "changes": lambda con, _: con.changes("counted"),
    "arrow": lambda con, _: con.arrow("counted"),
    "sql": lambda con, _: con.sql("FROM counted"),
    "subscribe": lambda con, _: list(con.subscribe("counted", since=0)),
    "queries": lambda con, _: repr(con.queries),
    "register": lambda con, _: con.register("frame", {"k": [1]}),
    "connect": lambda con, folder: cqlduck.connect(folder / "other.duckdb").close(),
}


# what a handler raises inside of a weak reference's callback Python itself drops
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("call", READS.values(), ids=READS)
def test_a_call_that_reads_raises_what_the_handler_raises_at_any_moment(
    tmp_path: Path, call: Callable[[cqlduck.Connection, Path], object]
) -> None:
    """Inside of a statement DuckDB would make a RuntimeError of it."""

    inside = False

    def alarm(number: int, frame: object) -> None:
        nonlocal inside
        if inside:
            inside = False
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, alarm)
    try:
        with cqlduck.connect() as con:
            con.execute(APPLICATION)
            con.append("s", [(1,), (2,)], at=[1, 2])
            con.advance(9)
            begun = time.perf_counter()
            call(con, tmp_path)
            takes = time.perf_counter() - begun
            for part in range(1, 25):
                with contextlib.suppress(KeyboardInterrupt):
                    inside = True
                    signal.setitimer(signal.ITIMER_REAL, max(takes * part / 25, 1e-6))
                    call(con, tmp_path)
                    inside = False
                assert [(2,)] == con.table("counted").fetchall()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


# ------------------------------------------------------------------------------------ interrupt


@pytest.fixture
def calls() -> Iterator[Callable[[Callable[[], object]], list[BaseException]]]:
    """Run a call in a thread of its own, and return what it raises."""
    threads: list[threading.Thread] = []

    def start(call: Callable[[], object]) -> list[BaseException]:
        raised: list[BaseException] = []

        def run() -> None:
            try:
                call()
            except BaseException as error:
                raised.append(error)

        threads.append(threading.Thread(target=run))
        threads[-1].start()
        return raised

    start.wait = lambda: [thread.join(120) for thread in threads]  # type: ignore[attr-defined]
    yield start
    start.wait()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "call",
    [
        lambda con: con.sql(SLOW),
        lambda con: con.execute(f"CREATE TABLE t AS {SLOW}"),
        lambda con: con.execute(f"INSERT INTO s SELECT n FROM ({SLOW})"),
        lambda con: con.refresh("slow"),
    ],
    ids=["sql", "execute", "insert", "refresh"],
)
def test_interrupt_stops_what_runs_and_leaves_all_as_it_was(database: str, call, calls) -> None:
    with cqlduck.connect(database) as con:
        con.execute(APPLICATION)
        con.execute("CREATE TABLE none (n BIGINT); CREATE RELATION slow FROM (SELECT n FROM none)")
        con.engine.query("counted")
        con.engine.input("slow").query = SLOW
        raised = calls(lambda: call(con))
        while not raised:
            con.interrupt()
            time.sleep(0.02)
        calls.wait()
        assert isinstance(raised[0], cqlduck.DatabaseError)
        assert "interrupted" in str(raised[0])
        assert [] == con.sql("FROM s").fetchall()
        con.append("s", [(3,)], at=7)
        con.advance(9)
        assert [(1,)] == con.table("counted").fetchall()
        assert [(0,)] == con.sql("SELECT count(*) FROM none").fetchall()


def test_interrupt_without_anything_that_runs_does_nothing(con: cqlduck.Connection) -> None:
    con.execute(APPLICATION)
    con.interrupt()
    con.append("s", [(3,)], at=7)
    assert 9 == con.advance(9)


# ------------------------------------------------------------------------- a process of its own

CHILD = """
import signal, sys
import cqlduck

inside = False

def ctrl_c(number, frame):
    # once a try, so that none comes between the end of one and the next
    global inside
    if inside:
        inside = False
        raise KeyboardInterrupt

con = cqlduck.connect(sys.argv[1])
con.execute(sys.argv[2])
wanted, i, interrupts = int(sys.argv[3]), 0, 0
signal.signal(signal.SIGINT, ctrl_c)
print("ready", flush=True)
while i < wanted:
    try:
        inside = True
        if i % 3 == 0:
            con.tick({"s": [{"k": i, "_ts": i}], "r": [{"k": i, "_ts": i}]}, i)
        else:
            con.append("s", [(i,)], at=i)
            if i % 3 == 1:
                con.advance(i)
        inside = False
    except KeyboardInterrupt:
        interrupts += 1
    # it may have come right after the call: whoever wants to know asks
    i = con.engine.input("s").next_seq
signal.signal(signal.SIGINT, signal.SIG_IGN)
con.advance(wanted)
assert [(k,) for k in range(wanted)] == con.table("passed").select("k").order("k").fetchall()
assert [(wanted,)] == con.table("counted").fetchall()
con.close()
print(interrupts)
"""


@pytest.mark.slow
def test_interrupted_again_and_again_nothing_is_lost_or_there_twice(database: str) -> None:
    wanted, chance = 90, random.Random(5)
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", CHILD, database, APPLICATION, str(wanted)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert "ready\n" == process.stdout.readline()
    sent = 0
    while process.poll() is None and sent < 100:
        time.sleep(chance.uniform(0.002, 0.1))
        process.send_signal(signal.SIGINT)
        sent += 1
    out, err = process.communicate(timeout=300)
    assert 0 == process.returncode, err
    assert 0 < int(out) <= sent
    if database != ":memory:":
        with cqlduck.connect(database) as con:
            assert [(wanted,)] == con.table("counted").fetchall()
