"""`cqlduck run`."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from cqlduck import application as applications
from cqlduck import display
from cqlduck.cli.options import DropZone, Setting, chosen, refuse_without_zone, warn_of_reads
from cqlduck.connection import Connection, connect
from cqlduck.errors import Error
from cqlduck.failures import has_failed

EVERY = 10.0
"""How many seconds lie between two copies, if nobody says so."""


def run(
    application: Annotated[Path, typer.Argument(help="A file of CQL statements.")],
    database: Annotated[
        Path | None,
        typer.Option("--database", "-d", help="The DuckDB file to keep; without it, in memory."),
    ] = None,
    drop_zone: DropZone = None,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Continue with new batches, until Ctrl-C.")
    ] = False,
    poll: Annotated[
        float, typer.Option(min=0.01, help="With --follow: seconds between two polls.")
    ] = 1.0,
    snapshot: Annotated[
        Path | None,
        typer.Option(help="Write a copy of the database there, which other processes may read."),
    ] = None,
    every: Annotated[
        float | None,
        typer.Option(min=0.01, help=f"With --snapshot: seconds between two copies ({EVERY:g})."),
    ] = None,
    rows: Annotated[int, typer.Option(min=0, help="Rows to print of each answer.")] = 5,
    profile: Annotated[
        bool, typer.Option("--profile", help="Print at the end where the time of ticks went.")
    ] = False,
    setting: Setting = None,
) -> int:
    """Run an application: take what the drop zone has, advance, and print the answers.

    The database goes on where it stopped: run the same command again, after a Ctrl-C or a crash
    too. Statements that it has already are skipped, new ones are run, and a query with another
    text is refused unless it says CREATE OR REPLACE. Other statements, such as INSERT, run the
    first time only.

    An application, app.cql, for batches in `drop/s/`:

    ```
    CREATE STREAM s (k INTEGER, t TIMESTAMP) TIMESTAMP BY t FROM 's';
    CREATE CONTINUOUS QUERY q AS
    SELECT k, count(*) AS n FROM s [RANGE 1 HOUR] GROUP BY k;
    ```

    For example:

    ```
    cqlduck run app.cql --database app.duckdb --drop-zone drop
    cqlduck run app.cql -d app.duckdb -z drop --follow
    cqlduck run app.cql -d app.duckdb -z drop --follow --snapshot copy.duckdb --every 60
    cqlduck run app.cql -d app.duckdb -z drop --set history='7 days'
    ```
    """
    text = applications.read(application)
    settings = chosen(setting or [])
    _check_every(every, snapshot)
    if drop_zone is not None:
        _check_zone(drop_zone, follow=follow)
        settings["drop_zone"] = drop_zone
    out = display.console()
    with (
        applications.Stop() as stop,
        connect(database or ":memory:", progress=False, **settings) as con,
    ):
        applications.go_on(con, application, text)
        warn_of_reads(application, text)
        refuse_without_zone(con)
        counting = con.profile() if profile else contextlib.nullcontext()
        with counting as counted, display.Display(con, out) as shown:
            shown.note = _following(con.drop_zone) if follow else ""
            watcher = shown if snapshot is None else Copies(con, shown, snapshot, every or EVERY)
            held = applications.follow(con, watcher, stop, poll=poll, complete=lambda: not follow)
            if isinstance(watcher, Copies):
                watcher.write()
        for line in _empty_folders(con):
            out.print(Text(line, style="yellow"), soft_wrap=True)
        display.print_answers(con, out, rows)
        if counted is not None:
            display.print_profile(counted, out)
        failed = any(map(has_failed, con.engine.catalogue.queries.values()))
    return stop.code or int(failed or held is not None or shown.has_warned)


def _check_zone(drop_zone: Path, *, follow: bool) -> None:
    """Refuse what is no folder, or is not there and not waited for."""
    if drop_zone.exists() and not drop_zone.is_dir():
        raise Error(f"{drop_zone} is no folder", hint="a drop zone is a folder of batches")
    if not drop_zone.is_dir() and not follow:
        raise Error(
            f"there is no drop zone {drop_zone}",
            hint="--follow waits until somebody writes into it",
        )


def _check_every(every: float | None, snapshot: Path | None) -> None:
    """Refuse seconds between copies if there are none, or that do not end."""
    if every is not None and (snapshot is None or not math.isfinite(every)):
        raise Error(
            "--every says after how many seconds another copy is written",
            hint="with --snapshot copy.duckdb, such as --every 60",
        )


class Copies:
    """Writes a copy of the database now and then, if something has changed since the last one.

    Args:
        con: The connection.
        shown: Who is told, too.
        target: Where the copy is.
        every: How many seconds lie between two.
    """

    def __init__(
        self, con: Connection, shown: applications.Watcher, target: Path, every: float
    ) -> None:
        """Begin without any."""
        self._con, self._shown = con, shown
        self._target, self._every = target, every
        self._written: tuple[int, int] | None = None
        self._told = ""
        self._next = 0.0

    def update(self) -> None:
        """Look at how it is now, and write a copy if it is time for one."""
        self._shown.update()
        if time.monotonic() >= self._next:
            self.write()

    def warn(self, error: Error) -> None:
        """Hear of an error that does not end anything."""
        self._shown.warn(error)

    def write(self) -> None:
        """Write a copy unless the last one has all; what is in the way is told once."""
        engine = self._con.engine
        # batches that are late, or wait for others, change it without a tick
        now = engine.ticks, engine.database.commits
        if now != self._written:
            try:
                self._con.snapshot(self._target)
                self._written, self._told = now, ""
            except Error as error:
                if error.message != self._told:
                    self._told = error.message
                    self._shown.warn(error)
        self._next = time.monotonic() + self._every


def _empty_folders(con: Connection) -> Iterator[str]:
    """Yield what is to be said of folders from which no batch has come, and that are none of ours.

    A folder may be misspelt, or hold files that nobody has put into batches.
    """
    for thing in con.engine.catalogue.inputs.values():
        if thing.source is None or thing.next_batch or con.drop_zone is None:
            continue
        folder = con.drop_zone / thing.source
        if not folder.is_dir():
            yield f"{thing.name}: there is no folder {folder}"
            continue
        names = [entry.name for entry in folder.iterdir() if not entry.name.startswith((".", "_"))]
        if names and not any(name.startswith("batch=") for name in names):
            yield (
                f"{thing.name}: {folder} has no folder batch=0000000000, but "
                f"{', '.join(sorted(names)[:3])}{', …' if len(names) > 3 else ''}; a batch has a "
                "number and a manifest, as docs/drop-zone.md says and BatchWriter writes"
            )


def _following(drop_zone: Path | None) -> str:
    """Return what is said while the command waits for batches."""
    what = "there is no drop zone to follow" if drop_zone is None else f"following {drop_zone}"
    return f"{what}; Ctrl-C ends"
