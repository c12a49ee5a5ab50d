"""A file is open once in a process; a database that nobody closed does not keep it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest
from counts import is_brief
from typer.testing import CliRunner

import cqlduck
from cqlduck import cli
from cqlduck.connection import Connection
from cqlduck.state.connection import Database

OPENING: list[Callable[..., Any]] = [
    Connection.__init__,
    Database.__init__,
    Database._claim,
]


def stopped(path: Path, line: int) -> bool:
    """Open a database and raise at the n-th line of what opens it; return whether it came there."""
    codes: set[CodeType] = {f.__code__ for f in OPENING}
    left = line

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal left
        if event == "line":
            left -= 1
            if left == 0:
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(lambda frame, event, _: trace if frame.f_code in codes else None)
    try:
        cqlduck.connect(path)
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


def test_it_opens_again_wherever_opening_it_was_stopped(tmp_path: Path) -> None:
    path = tmp_path / "some.duckdb"
    line = 1
    while stopped(path, line):
        with cqlduck.connect(path) as con:
            con.execute("CREATE STREAM IF NOT EXISTS s (k INTEGER)")
        line += 9 if is_brief() else 2
    assert line > 30


def test_it_opens_again_after_its_connection_was_forgotten(tmp_path: Path) -> None:
    path = tmp_path / "some.duckdb"
    cqlduck.connect(path).execute("CREATE STREAM s (k INTEGER)")
    with cqlduck.connect(path) as con:
        assert "s" in con.streams


def test_it_opens_once_while_its_connection_is_known(tmp_path: Path) -> None:
    path = tmp_path / "some.duckdb"
    with cqlduck.connect(path):
        for other in (path, tmp_path / "." / "some.duckdb"):
            with pytest.raises(cqlduck.DatabaseError, match="is open in this process already"):
                cqlduck.connect(other)
    cqlduck.connect(path).close()


@pytest.mark.skipif(os.name == "nt", reason="no second process opens a file there")
@pytest.mark.parametrize("does", ["connect", "link", "check", "explain", "shell", "snapshot"])
def test_its_lock_stays_whoever_asks_for_it_in_this_process(tmp_path: Path, does: str) -> None:
    """Whoever opens and closes a file takes the locks away that its process has on it."""
    path, other = tmp_path / "some.duckdb", tmp_path / "other.duckdb"
    with cqlduck.connect(path) as con:
        con.execute("CREATE STREAM s (k INTEGER); CREATE CONTINUOUS QUERY q AS SELECT k FROM s")
        if does in ("connect", "link"):
            if does == "link":
                other.hardlink_to(path)
            with pytest.raises(cqlduck.DatabaseError, match="is open in this process already"):
                cqlduck.connect(other if does == "link" else path)
        else:
            more = {"explain": ["-d", str(path)], "snapshot": [str(other)]}.get(does, [])
            first = "q" if does == "explain" else str(path)
            ended = CliRunner().invoke(cli.app, [does, first, *more])
            assert "is open in this process already" in " ".join(ended.stderr.split())
        text = "import sys, cqlduck; cqlduck.connect(sys.argv[1])"
        refused = subprocess.run(
            [sys.executable, "-c", text, str(path)], capture_output=True, text=True
        )
        assert "is in use by another process" in refused.stderr
