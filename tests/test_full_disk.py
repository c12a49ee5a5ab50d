"""A disk that is full: an error that names the file, and, once there is room, the same answers.

It is full from a place of chance on, see `full_disk`.
"""

from __future__ import annotations

import contextlib
import functools
import os
import pickle
import random
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from full_disk import SAID, full_from
from hypothesis import example, given, settings
from hypothesis import strategies as st

import cqlduck
from cqlduck.sources.dropzone import write_batch

EXAMPLES = 2

INPUTS = """
    CREATE STREAM s (k INTEGER, v VARCHAR);
    CREATE RELATION r (k INTEGER, n BIGINT, PRIMARY KEY (k));
    CREATE STREAM d (k INTEGER, t BIGINT) TIMESTAMP BY t FROM 'd';
    CREATE CONTINUOUS QUERY counts AS SELECT k, count(*) AS n FROM s [RANGE 3] GROUP BY k;
    CREATE CONTINUOUS QUERY joined AS SELECT v, r.n FROM s [ROWS 4] JOIN r USING (k);
    CREATE CONTINUOUS QUERY dropped AS SELECT * FROM d;
"""


def sizes(path: Path) -> dict[str, int]:
    """The sizes of a database's files."""
    return {p.name: p.stat().st_size for p in path.parent.glob(path.name + "*") if p.is_file()}


def is_told(error: cqlduck.Error, path: Path) -> None:
    """It names the file, says why and what to do, and comes whole out of another process."""
    assert isinstance(error, cqlduck.DatabaseError), error
    assert str(path) in error.message
    assert SAID in error.message
    assert error.hint is not None
    assert "space" in error.hint
    other = pickle.loads(pickle.dumps(error))
    assert (str(other), vars(other)) == (str(error), vars(error))


# ------------------------------------------------------------------------------------- the engine


def rows(at: int) -> list[tuple[Any, ...]]:
    chance = random.Random(at)
    count = chance.choice((1, 40, 2_000))
    return [(chance.randrange(5), f"{at}-{chance.random()}") for _ in range(count)]


def stamped(at: int) -> pa.Table:
    given = rows(at)
    times = [at + (i >= len(given) // 2) for i in range(len(given))]
    return pa.table({"k": [k for k, _ in given], "v": [v for _, v in given], "_ts": times})


def changed(con: cqlduck.Connection, at: int) -> None:
    con.execute(
        f"INSERT INTO r VALUES ({at}, {at}); UPDATE r SET n = n + 1 WHERE k % 2 = 0;"
        f"CREATE TABLE plain{at} AS SELECT range AS i, hash(range) AS h FROM range(3000)"
    )


def rows_of(con: cqlduck.Connection, at: int) -> None:
    con.append("r", [(-at, at)], at=at)


def asked(con: cqlduck.Connection, at: int) -> None:
    con.execute(f"CREATE CONTINUOUS QUERY q{at} AS SELECT count(*) AS n FROM s [ROWS 10]")


Step = Callable[[cqlduck.Connection, int], object]
STEPS: list[Step] = [
    lambda con, at: con.append("s", rows(at), at=at),
    lambda con, at: con.append("r", [(-at, at)], at=at),
    lambda con, at: con.tick({"s": stamped(at)}, at),
    changed,
    lambda con, at: con.follow(limit=2),
    asked,
    lambda con, at: con.append("s", rows(at), at=at),
    lambda con, at: con.execute("CHECKPOINT"),
    lambda con, at: con.advance(at),
    lambda con, at: con.follow(),
    lambda con, at: con.tick({"s": stamped(at)}, at),
]


@dataclass(frozen=True)
class Fault:
    """A full disk during a step.

    Attributes:
        left: How many bytes the database's largest file may grow.
        reopens: Whether the database is closed, while the disk is full, before the step is tried
            again.
    """

    left: int
    reopens: bool


FAULTS = st.dictionaries(
    st.integers(0, len(STEPS) - 1),
    st.builds(Fault, st.integers(0, 60) | st.integers(0, 400_000), st.booleans()),
    min_size=1,
    max_size=5,
)
ROOMS = st.sampled_from(["1KB", "200KB", "64MB"])


def content(con: cqlduck.Connection) -> dict[str, Any]:
    names = [*con.queries, "s", "r", "d"]
    found: dict[str, Any] = {
        name: sorted(con.changes(name).fetchall(), key=repr) for name in con.queries
    }
    for name in names:
        found[f"FROM {name}"] = sorted(con.sql(f"FROM {name}").fetchall(), key=repr)
    found["frontiers"] = {name: query.frontier for name, query in con.queries.items()}
    found["waits"] = con.sql("SELECT name, heartbeat, waiting_for FROM cql.streams").fetchall()
    found["plain"] = con.sql("SELECT table_name FROM duckdb_tables() WHERE table_name LIKE 'plain%'"
                             "ORDER BY ALL").fetchall()  # fmt: skip
    return found


def is_refused(call: Callable[[], object], path: Path, left: int) -> bool:
    """Whether a call had no room; what it says then is right."""
    with full_from(max(sizes(path).values()) + left), warnings.catch_warnings():
        # of ticks that follow what a call was for
        warnings.simplefilter("ignore", RuntimeWarning)
        try:
            call()
        except cqlduck.Error as error:
            is_told(error, path)
            return True
    return False


def play(folder: Path, faults: dict[int, Fault], room: str) -> dict[str, Any]:
    """Run all steps over a new database; return what is there at their end."""
    path = folder / "a.duckdb"

    def connect() -> cqlduck.Connection:
        con = cqlduck.connect(path, drop_zone=folder / "drop", max_tick=1_000)
        con.execute(f"SET checkpoint_threshold = '{room}'")
        return con

    for batch in range(4):
        given = pa.table({"k": [i % 3 for i in range(300)], "t": [batch] * 300})
        write_batch(folder / "drop", "d", batch, given, ts="t", heartbeat=batch)
    con = connect()
    con.execute(INPUTS)
    for number, step in enumerate(STEPS):
        fault, at = faults.get(number), 2 * number + 10
        if fault is not None:
            if not is_refused(functools.partial(step, con, at), path, fault.left):
                continue
            if fault.reopens:
                with full_from(max(sizes(path).values()) + fault.left):
                    con.close()
                con = connect()
        step(con, at)
    con.advance(100)
    con.close()
    with cqlduck.connect(path) as con:
        return content(con)


@functools.cache
def calm() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        return play(Path(folder), {}, "64MB")


def check(faults: dict[int, Fault], room: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        assert calm() == play(Path(folder), faults, room)


@settings(max_examples=EXAMPLES)
@given(FAULTS, ROOMS)
@example({n: Fault(0, False) for n in range(len(STEPS))}, "64MB")
@example({n: Fault(100_000, False) for n in range(len(STEPS))}, "1KB")
def test_once_there_is_room_it_goes_on_as_if_there_always_was(
    faults: dict[int, Fault], room: str
) -> None:
    check(faults, room)


@pytest.mark.long
@settings(max_examples=max(int(os.environ.get("FUZZ", "0")) // 200, EXAMPLES))
@given(FAULTS, ROOMS)
def test_many_times_it_goes_on_as_if_there_always_was_room(
    faults: dict[int, Fault], room: str
) -> None:
    check(faults, room)


def test_who_reads_needs_no_room(tmp_path: Path) -> None:
    path = tmp_path / "a.duckdb"
    with cqlduck.connect(path) as con:
        con.execute("CREATE STREAM s (k INTEGER); CREATE CONTINUOUS QUERY q AS SELECT k FROM s")
        con.tick({"s": pa.table({"k": [7], "_ts": [1]})}, 1)
        for _ in range(2):
            assert is_refused(lambda: con.append("s", [(1,)] * 9_000, at=3), path, 0)
            assert is_refused(lambda: con.execute("FORCE CHECKPOINT"), path, 0)
            with full_from(0):
                assert [(7, 1)] == con.table("q").fetchall() == con.sql("FROM q").fetchall()
        con.append("s", [(8,)], at=3)


def test_rows_that_are_taken_are_not_asked_for_again(tmp_path: Path) -> None:
    """A tick's rows are committed with its first transaction; only what follows has no room."""
    commits: list[str] = []
    limits = contextlib.ExitStack()

    def full_at_the_second(sql: str, _: object) -> None:
        commits.extend([sql] * (sql == "COMMIT"))
        if len(commits) == 2:
            commits.clear()
            limits.enter_context(full_from(0))

    with cqlduck.connect(tmp_path / "a.duckdb", max_tick=10) as con:
        con.execute("CREATE STREAM s (k INTEGER); CREATE CONTINUOUS QUERY q AS SELECT k FROM s")
        con.engine.database.trace = full_at_the_second
        given = pa.table({"k": list(range(100)), "_ts": list(range(100))})
        with limits, pytest.warns(RuntimeWarning, match=r"a\.duckdb.wal cannot be written"):
            reached = con.tick({"s": given}, 99)
        assert 0 < reached < 99
        con.engine.database.trace = None
        assert 99 == con.advance()
        assert 100 == len(con.table("q").fetchall())


@pytest.mark.parametrize("size", [5_000, 20_000])
def test_a_new_database_without_room_leaves_no_file(tmp_path: Path, size: int) -> None:
    path = tmp_path / "a.duckdb"
    with full_from(size), pytest.raises(cqlduck.DatabaseError) as caught:
        cqlduck.connect(path)
    is_told(caught.value, path)
    assert [] == list(tmp_path.iterdir())
    cqlduck.connect(path).close()


@pytest.mark.parametrize("size", [0, 60_000])
def test_a_snapshot_without_room_leaves_the_older_one(tmp_path: Path, size: int) -> None:
    path = tmp_path / "snapshot.duckdb"
    with cqlduck.connect() as con:
        con.execute("CREATE STREAM s (k INTEGER)")
        con.snapshot(path)
        con.append("s", [(i,) for i in range(9_000)], at=1)
        before = path.read_bytes()
        with full_from(size), pytest.raises(cqlduck.DatabaseError) as caught:
            con.snapshot(path)
        is_told(caught.value, path)
        assert [path] == list(tmp_path.iterdir())
        assert before == path.read_bytes()
        con.snapshot(path)
    with cqlduck.connect(path) as con:
        assert [(9_000,)] == con.sql("SELECT count(*) FROM s").fetchall()


LARGE = "SELECT hash(a.range + b.range) AS h FROM range(2000) a, range(1000) b ORDER BY h"


@pytest.mark.parametrize(
    "call",
    [
        lambda con: con.sql(LARGE),
        lambda con: con.execute(LARGE),
        lambda con: con.execute(f"CREATE TABLE t AS {LARGE}"),
    ],
)
def test_what_does_not_fit_into_memory_and_has_no_room(
    tmp_path: Path, call: Callable[[cqlduck.Connection], object]
) -> None:
    path = tmp_path / "a.duckdb"
    with cqlduck.connect(path, memory_limit="30MB") as con, full_from(100_000):
        with pytest.raises(cqlduck.DatabaseError) as caught:
            call(con)
        is_told(caught.value, path)
        assert "memory_limit" in str(caught.value)
        assert [(1,)] == con.sql("SELECT 1").fetchall()


@pytest.mark.parametrize("size", [0, 2_000])
def test_a_batch_without_room_is_not_there(tmp_path: Path, size: int) -> None:
    given = pa.table({"_ts": list(range(9_000))})
    with full_from(size), pytest.raises(cqlduck.DropZoneError) as caught:
        write_batch(tmp_path, "s", 0, given, heartbeat=9_000)
    assert str(tmp_path / "s") in caught.value.message
    assert SAID in caught.value.message
    assert "space" in str(caught.value.hint)
    assert [] == list((tmp_path / "s").iterdir())
    assert write_batch(tmp_path, "s", 0, given, heartbeat=9_000)
