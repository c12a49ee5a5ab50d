"""The progress bar of long calls: where it shows, what it says, and that it goes."""

from __future__ import annotations

import io
import subprocess
import sys
import threading
from typing import Any

import pytest
from rich.console import Console

import cqlduck
from cqlduck import meter
from cqlduck.meter import Meter

PATIENCE = 120.0


def terminal() -> Console:
    return Console(file=io.StringIO(), force_terminal=True, width=80)


def written(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_a_bar_shows_while_a_call_runs_and_goes_when_it_returns() -> None:
    console = terminal()
    looked = threading.Event()

    def share() -> float:
        looked.set()
        return 0.5

    shown = Meter(True, console, delay=0)
    with shown.during("advance [to] noon", lambda: share):
        assert looked.wait(PATIENCE)
        with shown.during("a call inside"):
            pass
    text = written(console)
    assert "advance [to] noon" in text
    assert "a call inside" not in text
    # its line is cleared, and the cursor is there again
    assert "\x1b[2K" in text
    assert text.rindex("\x1b[?25h") > text.rindex("advance")
    looked.clear()
    with shown.during("once more", lambda: share):
        assert looked.wait(PATIENCE)
    assert "once more" in written(console)


def test_a_short_call_shows_nothing() -> None:
    console = terminal()
    shown = Meter(True, console, delay=PATIENCE)
    with shown.during("advance"):
        assert shown._call is not None
        shown._look(shown._call)
    assert "" == written(console)


def test_what_is_off_starts_no_thread() -> None:
    before = threading.active_count()
    shown = Meter(False, terminal(), delay=0)
    with shown.during("advance"):
        assert shown._call is None
    assert before == threading.active_count()


def test_an_error_takes_the_bar_away() -> None:
    console = terminal()
    looked = threading.Event()
    shown = Meter(True, console, delay=0)

    def share() -> None:
        looked.set()

    def interrupted() -> None:
        with shown.during("advance", lambda: share):
            assert looked.wait(PATIENCE)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    text = written(console)
    assert text.rindex("\x1b[?25h") > text.rindex("advance")
    assert shown._call is None
    assert shown._shown is None


def test_who_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    class ZMQInteractiveShell:
        pass

    class Notebook:
        get_ipython = ZMQInteractiveShell

    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert not meter.is_seen()
    monkeypatch.setitem(sys.modules, "IPython", Notebook())  # type: ignore[arg-type]
    assert meter.is_seen()
    monkeypatch.delitem(sys.modules, "IPython")
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert meter.is_seen()
    monkeypatch.setattr(sys, "stderr", None)
    assert not meter.is_seen()


SCRIPT = """
    CREATE STREAM s (a BIGINT);
    CREATE CONTINUOUS QUERY p AS SELECT count(*) AS n FROM s [ROWS 3];
    CREATE CONTINUOUS QUERY q AS SELECT sum(a) AS total FROM s [RANGE 2];
"""


@pytest.mark.parametrize("setting", [True, None])
def test_a_connection_shows_how_far_it_is(
    setting: bool | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each statement waits until the thread has looked, as if it took long."""
    console, looks = terminal(), threading.Semaphore(0)
    seen: list[float | None] = []
    monkeypatch.setattr(meter, "is_seen", lambda: True)

    def slow(sql: str, parameters: Any) -> None:
        if "write" in sql or "INSERT" in sql:
            assert not waiting or looks.acquire(timeout=PATIENCE)

    waiting: list[bool] = []
    with cqlduck.connect(progress=setting, max_tick=20, trace=slow) as con:
        con._feed._meter = con._meter = Meter(True, console, delay=0)
        look = con._meter._look

        def noted(call: meter.Call) -> None:
            look(call)
            seen.append(call.share())
            looks.release()

        monkeypatch.setattr(con._meter, "_look", noted)
        con.execute(SCRIPT)
        waiting.append(True)
        con.append("s", [(n,) for n in range(100)], at=range(100))
        con.advance(120)
        waiting.clear()
        assert 120 == con.advance()
    text = written(console)
    assert "append to s" in text
    assert "advance to 120" in text
    shares = [share for share in seen if share is not None]
    assert sorted(shares) == shares
    assert len(set(shares)) > 3
    assert all(0 <= share <= 1 for share in shares)


def test_the_setting_and_where_nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meter, "is_seen", lambda: False)
    for setting, is_on in ((None, False), (False, False), (True, True)):
        with cqlduck.connect(progress=setting) as con:
            assert con._meter.is_on is is_on


def test_an_interrupted_tick_is_undone() -> None:
    interrupts = [False]

    def interrupt(sql: str, parameters: Any) -> None:
        if interrupts[0] and "changes_q" in sql:
            raise KeyboardInterrupt

    with cqlduck.connect(progress=True, trace=interrupt) as con:
        con.execute(SCRIPT)
        con.append("s", [(1,), (2,)], at=[1, 2])
        interrupts[0] = True
        with pytest.raises(KeyboardInterrupt):
            con.advance(5)
        interrupts[0] = False
        assert con.queries["p"].frontier is None
        assert con._meter._shown is None
        assert 5 == con.advance(5)
        assert [(0,)] != con.table("p").fetchall()


def test_rich_is_not_imported_before_it_is_needed() -> None:
    code = (
        "import sys, cqlduck\nwith cqlduck.connect() as con:\n"
        "    con.execute('CREATE STREAM s (a INTEGER)'); con.append('s', [(1,)], at=1)\n"
        "    con.advance(2)\nassert 'rich' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)
