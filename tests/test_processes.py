"""A fork: the child can do nothing with its parent's connection, and cannot harm it either."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import gc, os, sys
import cqlduck

path, folder = sys.argv[1:]
con = cqlduck.connect(path)
con.execute('''
    CREATE STREAM s (k BIGINT);
    CREATE CONTINUOUS QUERY counted AS SELECT count(*) AS n FROM s [RANGE UNBOUNDED];
''')
con.append("s", [(1,), (2,)], at=1)
con.advance(2)

child = os.fork()
if child == 0:
    calls = [
        lambda: con.append("s", [(3,)], at=5),
        lambda: con.tick({"s": [{"k": 3, "_ts": 5}]}, 6),
        lambda: con.advance(9),
        lambda: con.heartbeat("s", 9),
        lambda: con.execute("CREATE TABLE t (a INTEGER)"),
        lambda: con.follow(),
        lambda: con.table("counted"),
        lambda: con.arrow("counted"),
        lambda: con.changes("counted"),
        lambda: con.as_of("counted", 1),
        lambda: con.sql("FROM counted"),
        lambda: con.explain("counted"),
        lambda: next(con.subscribe("counted")),
        lambda: con.snapshot(folder + "/copy.duckdb"),
        lambda: con.start(),
    ]
    for call in calls:
        try:
            call()
        except cqlduck.DatabaseError as error:
            assert "forked" in error.message and error.hint, error
        else:
            os._exit(3)
    if path != ":memory:":
        try:
            cqlduck.connect(path)
        except cqlduck.DatabaseError as error:
            assert "another process" in error.message, error
        else:
            os._exit(4)
    con.close()
    with con:
        pass
    del con, calls
    gc.collect()
    # as multiprocessing ends a child: DuckDB's library does not outlive a fork
    os._exit(0)

_, status = os.waitpid(child, 0)
assert os.waitstatus_to_exitcode(status) == 0, status
con.append("s", [(3,)], at=5)
assert con.advance(9) == 9
assert con.table("counted").fetchall() == [(3,)]
con.close()
if path != ":memory:":
    with cqlduck.connect(path) as con:
        assert con.table("counted").fetchall() == [(3,)]
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.parametrize("kind", ["memory", "file"])
def test_a_forked_child_is_refused_and_harms_nothing(tmp_path: Path, kind: str) -> None:
    path = ":memory:" if kind == "memory" else str(tmp_path / "some.duckdb")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, path, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert 0 == done.returncode, done.stderr


BUSY = """
import os, sys, threading
import cqlduck

sys.path.insert(0, sys.argv[2])
from test_closed import ASKED, used

con = cqlduck.connect(sys.argv[1], progress=True)
con.execute('CREATE STREAM s (k BIGINT); CREATE RELATION r (k BIGINT);'
            'CREATE CONTINUOUS QUERY q AS SELECT k, count(*) AS n FROM s GROUP BY k')
con.append("s", [(1,)], at=0)
con.advance(0)
con.start(every="1 millisecond")
subscription = con.subscribe("q", since=-1)
over = threading.Event()
at = iter(range(1, 10**9))

def feed():
    while not over.is_set():
        con.append("s", [(i % 7,) for i in range(100)], at=next(at))
        con.table("q").fetchall()
        over.wait(0.001)  # the lock is not fair: without a pause nobody else would get it

threads = [threading.Thread(target=feed) for _ in range(1)]
threads += [threading.Thread(target=lambda: [over.is_set() for _ in subscription])]
for thread in threads:
    thread.start()

def refused(call):
    try:
        call()
    except cqlduck.DatabaseError as error:
        assert "forked" in error.message, error
    else:
        os._exit(3)

children = []
for _ in range(3):
    before = con.engine.changed.count
    with con.engine.changed:
        con.engine.changed.wait_for(lambda: con.engine.changed.count > before, 60)
    child = os.fork()
    if child == 0:
        for name in ASKED:
            for fully in (False, True):
                refused(lambda: used(con, name, fully=fully))
        refused(lambda: next(subscription))
        con.stop(); con.interrupt(); con.close()
        assert "another process" in repr(con)
        # as programs end: its threads are not there to be waited for
        sys.exit(5)
    children.append(child)
codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
over.set()
assert [5, 5, 5] == codes, codes
threads[0].join()
con.close()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.parametrize("kind", ["memory", "file"])
def test_a_child_of_a_busy_process_never_waits(tmp_path: Path, kind: str) -> None:
    """Whatever lock a thread of the parent held at the fork: nobody frees it in the child."""
    path = ":memory:" if kind == "memory" else str(tmp_path / "some.duckdb")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", BUSY, path, str(Path(__file__).parent)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        timeout=600,
    )
    assert 0 == done.returncode, done.stderr
