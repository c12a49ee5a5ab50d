"""`cqlduck run`."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Annotated

import typer

from cqlduck import application as applications
from cqlduck import display
from cqlduck.cli.options import DropZone, Setting, chosen, refuse_without_zone, warn_of_reads
from cqlduck.connection import connect
from cqlduck.errors import Error
from cqlduck.failures import has_failed


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
    cqlduck run app.cql -d app.duckdb -z drop --set history='7 days'
    ```
    """
    text = applications.read(application)
    settings = chosen(setting or [])
    if drop_zone is not None:
        if drop_zone.exists() and not drop_zone.is_dir():
            raise Error(f"{drop_zone} is no folder", hint="a drop zone is a folder of batches")
        if not drop_zone.is_dir() and not follow:
            raise Error(
                f"there is no drop zone {drop_zone}",
                hint="--follow waits until somebody writes into it",
            )
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
            held = applications.follow(con, shown, stop, poll=poll, complete=lambda: not follow)
        display.print_answers(con, out, rows)
        if counted is not None:
            display.print_profile(counted, out)
        failed = any(map(has_failed, con.engine.catalogue.queries.values()))
    return stop.code or int(failed or held is not None or shown.has_warned)


def _following(drop_zone: Path | None) -> str:
    """Return what is said while the command waits for batches."""
    what = "there is no drop zone to follow" if drop_zone is None else f"following {drop_zone}"
    return f"{what}; Ctrl-C ends"
