"""Threads take turns: what one asks for comes between two ticks of what another one runs."""

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import cqlduck
from cqlduck.errors import DatabaseError
from cqlduck.state.interrupts import Interrupts
from cqlduck.state.processes import Owner, OwnLock

LAST, EACH = 40, 10
PATIENCE = 30
"""After how many seconds a test gives up; none waits for it where all is well."""

QUERY = "SELECT k, count(*) AS n, sum(v) AS t FROM s [RANGE 5] GROUP BY k"


def filled(path: str = ":memory:") -> cqlduck.Connection:
    """Return a database with a query that is behind by many ticks, of one instant each."""
    con = cqlduck.connect(path, sharing=False)
    con.execute(f"""
        CREATE STREAM s (k INTEGER, v INTEGER, t INTEGER) TIMESTAMP BY t;
        CREATE CONTINUOUS QUERY q AS {QUERY};
        CREATE CONTINUOUS QUERY other AS SELECT v FROM s [RANGE 3];
    """)
    con.engine.bounds.max_tick = EACH
    con.append("s", [(v % 3, v, at) for at in range(LAST) for v in range(EACH)])
    return con


def wanted(lock: OwnLock) -> None:
    """Wait until another thread waits for a lock."""
    until = time.monotonic() + PATIENCE
    while not lock.is_wanted:
        assert time.monotonic() < until, "nobody waits"
        time.sleep(0.001)


class Meanwhile:
    """A call of another thread, which asks for its turn in the first tick of a call.

    Args:
        con: The connection.
        call: The call.
    """

    def __init__(self, con: cqlduck.Connection, call: Callable[[], object]) -> None:
        """Wait for the tick."""
        self.con, self.call = con, call
        self.errors: list[BaseException] = []
        self.frontier: int | None = None
        self.thread = threading.Thread(target=self._run, daemon=True)
        con.engine.on_tick.append(self._begin)

    def _begin(self, _: object) -> None:
        if not self.thread.ident:
            self.thread.start()
            wanted(self.con.engine.lock)

    def _run(self) -> None:
        try:
            with self.con.engine.lock:
                self.frontier = self.con.engine.query("q").frontier
            self.call()
        except BaseException as error:
            self.errors.append(error)

    def done(self) -> None:
        """Wait for the call, which has come between two ticks."""
        self.thread.join(PATIENCE)
        assert not self.thread.is_alive()
        assert not self.errors
        assert self.frontier is not None
        assert self.frontier < LAST - 1


CALLS: dict[str, Callable[[cqlduck.Connection], object]] = {
    "create": lambda con: con.execute(f"CREATE CONTINUOUS QUERY p AS {QUERY}"),
    "drop": lambda con: con.execute("DROP CONTINUOUS QUERY other"),
    "replace": lambda con: con.execute(
        "CREATE OR REPLACE CONTINUOUS QUERY other AS SELECT k FROM s [RANGE 4]"
    ),
    "deactivate": lambda con: con.execute("ALTER CONTINUOUS QUERY other DEACTIVATE"),
    "pin": lambda con: con.pin("answer", "incremental", "q"),
    "append": lambda con: con.append("s", [(1, 1, LAST)]),
    "table": lambda con: con.table("q").fetchall(),
    "sql": lambda con: con.sql("FROM other").fetchall(),
    "advance": lambda con: con.advance(LAST),
    "tick": lambda con: con.tick({"s": [(1, 1, LAST)]}),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("place", ["memory", "file"])
def test_a_call_comes_between_two_ticks(call: str, place: str, tmp_path: Path) -> None:
    with filled(":memory:" if place == "memory" else str(tmp_path / "a.duckdb")) as con:
        meanwhile = Meanwhile(con, lambda: CALLS[call](con))
        con.advance(LAST - 1)
        meanwhile.done()
        con.advance(LAST + 3)
        with filled() as alone:
            if call in ("append", "tick"):
                alone.append("s", [(1, 1, LAST)])
            alone.advance(LAST + 3)
            expected = sorted(alone.changes("q").fetchall())
        assert expected == sorted(con.changes("q").fetchall())
        assert "wrong" not in {row[5] for row in con.check().fetchall()}


def test_who_closes_ends_what_runs(tmp_path: Path) -> None:
    path = str(tmp_path / "a.duckdb")
    con = filled(path)
    meanwhile = Meanwhile(con, con.close)
    with pytest.raises(DatabaseError, match="closed"):
        con.advance(LAST)
    meanwhile.done()
    with cqlduck.connect(path) as again, filled() as alone:
        reached = again.engine.query("q").frontier
        assert reached is not None
        assert reached < LAST
        again.advance(LAST)
        alone.advance(LAST)
        assert sorted(alone.changes("q").fetchall()) == sorted(again.changes("q").fetchall())


def test_who_waits_for_its_turn_can_be_interrupted() -> None:
    with filled() as con:
        held: list[bool] = []

        def interrupt() -> None:
            with con.engine.lock:
                con.interrupt()
                # the other thread notices, and waits for its turn to let go
                time.sleep(0.3)
                held.append(con.engine.lock.is_mine)

        meanwhile = Meanwhile(con, interrupt)
        with pytest.raises(DatabaseError, match="interrupted"):
            con.advance(LAST - 1)
        meanwhile.done()
        assert [True] == held
        assert LAST - 1 == con.advance()
        with filled() as alone:
            alone.advance(LAST - 1)
            assert sorted(alone.changes("q").fetchall()) == sorted(con.changes("q").fetchall())


def test_who_reads_all_the_time_holds_up_nobody() -> None:
    with filled() as con:
        reads, stop = list[int](), threading.Event()

        def read() -> None:
            while not stop.is_set():
                reads.append(len(con.table("q").fetchall()))

        threads = [threading.Thread(target=read, daemon=True) for _ in range(3)]
        con.engine.on_tick.append(lambda _: [t.start() for t in threads if not t.ident])
        assert LAST - 1 == con.advance(LAST - 1)
        stop.set()
        for thread in threads:
            thread.join(PATIENCE)
            assert not thread.is_alive()
        assert reads


def a_lock() -> OwnLock:
    return OwnLock(Owner(object()), Interrupts())


def test_a_lock_goes_to_those_who_wait_in_their_order() -> None:
    lock, order, threads = a_lock(), list[int](), []
    with lock, lock:
        for number in range(4):

            def take(mine: int = number) -> None:
                with lock, lock:
                    order.append(mine)

            threads.append(threading.Thread(target=take, daemon=True))
            before = len(lock._waiting)
            threads[-1].start()
            while len(lock._waiting) == before:
                time.sleep(0.001)
        assert [] == order
        assert lock.give_way()
        assert [0, 1, 2, 3] == order
        assert not lock.give_way()
    for thread in threads:
        thread.join(PATIENCE)
    taken = threading.Thread(target=lock.__enter__, daemon=True)
    taken.start()
    taken.join(PATIENCE)
    assert not taken.is_alive()


def test_who_does_not_hold_a_lock_gives_no_way() -> None:
    lock = a_lock()
    assert not lock.give_way()
    with lock:
        thread = threading.Thread(target=lambda: lock.__enter__(), daemon=True)
        thread.start()
        wanted(lock)
        found: list[bool] = []
        other = threading.Thread(target=lambda: found.append(lock.give_way()), daemon=True)
        other.start()
        other.join(PATIENCE)
        assert [False] == found
    thread.join(PATIENCE)
    assert not thread.is_alive()
