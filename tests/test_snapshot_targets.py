"""A snapshot replaces no file that is in use, nor one whose log would be taken for the copy's."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import cqlduck
from cqlduck.state import snapshot

HOLDER = """
import os, sys
import cqlduck
con = cqlduck.connect(sys.argv[1])
con.execute("CREATE STREAM s (k BIGINT)")
con.append("s", [(1,)], at=1)
print("open", flush=True)
sys.stdin.readline()
os._exit(0) if sys.argv[2] == "killed" else con.close()
"""


def holder(path: Path, how: str) -> subprocess.Popen[str]:
    """Start a process that has a database open until it is told to end."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path), how],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert "open\n" == process.stdout.readline()
    return process


def test_not_onto_a_database_that_is_open_in_this_process(tmp_path: Path) -> None:
    with cqlduck.connect() as con, cqlduck.connect(tmp_path / "other.duckdb") as other:
        other.execute("CREATE STREAM s (k BIGINT)")
        with pytest.raises(cqlduck.DatabaseError, match="open as a database") as caught:
            con.snapshot(tmp_path / "other.duckdb")
        assert caught.value.hint
        other.append("s", [(1,)], at=1)
    with cqlduck.connect(tmp_path / "other.duckdb") as other:
        assert [(1,)] == other.sql("FROM s").fetchall()
        con = cqlduck.connect()
        con.snapshot(tmp_path / "new.duckdb")
        assert con.snapshot(tmp_path / "new.duckdb").exists(), "an older snapshot is replaced"
        con.close()


def test_not_onto_a_file_that_is_no_database(tmp_path: Path) -> None:
    path = tmp_path / "app.cql"
    path.write_text("CREATE STREAM s (k BIGINT)")
    with cqlduck.connect() as con:
        with pytest.raises(cqlduck.DatabaseError, match="which is no database") as caught:
            con.snapshot(path)
        assert "another path" in str(caught.value.hint)
        assert "CREATE STREAM s (k BIGINT)" == path.read_text()
        path.write_text("")
        assert path == con.snapshot(path), "a file that was made and not written is nobody's"
    assert [path] == list(tmp_path.iterdir())


def test_not_onto_a_database_that_another_process_writes(tmp_path: Path) -> None:
    path = tmp_path / "other.duckdb"
    process = holder(path, "closed")
    with cqlduck.connect() as con:
        with pytest.raises(cqlduck.DatabaseError, match="open as a database"):
            con.snapshot(path)
        process.communicate("end\n", timeout=60)
        assert path == con.snapshot(path)


@pytest.mark.parametrize("target", ["", " ", ".", "/", None, 5, b"a.duckdb", "a\0b", "\ud800"])
def test_not_onto_what_no_file_is_called(con: cqlduck.Connection, target: object) -> None:
    with pytest.raises(cqlduck.DatabaseError, match=r"no path|a folder"):
        con.snapshot(target)  # type: ignore[arg-type]


def test_not_beside_the_log_of_one_that_was_killed(tmp_path: Path) -> None:
    path = tmp_path / "other.duckdb"
    holder(path, "killed").communicate("end\n", timeout=60)
    with cqlduck.connect() as con:
        with pytest.raises(cqlduck.DatabaseError, match="was not closed") as caught:
            con.snapshot(path)
        assert "open that database" in (caught.value.hint or "")
        cqlduck.connect(path).close()
        assert path == con.snapshot(path)
    with cqlduck.connect(path) as copy:
        assert 0 == len(copy.engine.catalogue.inputs)


def test_copies_that_were_given_up_by_a_kill_are_removed(tmp_path: Path) -> None:
    """Not those that somebody may write still, nor files of other names."""
    old, digits = time.time() - snapshot.ABANDONED_SECONDS - 1, "0" * 32
    names = [f".copy.duckdb.{number}-{digits}" for number in (1, 2, 3, os.getpid())]
    names += [".copy.duckdb.1-mine", f".other.duckdb.1-{digits}"]
    abandoned, recent, written, *others = [tmp_path / name for name in names]
    process = holder(written, "ended")
    for path in (abandoned, recent, *others):
        path.write_bytes(b"")
    for path in (abandoned, written, *others):
        os.utime(path, (old, old))
    with cqlduck.connect() as con:
        con.snapshot(tmp_path / "copy.duckdb")
    left = {path.name for path in tmp_path.iterdir()} - {"copy.duckdb", written.name + ".wal"}
    assert left == {path.name for path in (recent, written, *others)}
    process.communicate("\n")
