"""`cqlduck profile`."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from cqlduck import application as applications
from cqlduck import display
from cqlduck.cli.options import (
    AsJson,
    DropZone,
    Setting,
    chosen,
    closed,
    refuse_without_zone,
)
from cqlduck.connection import connect
from cqlduck.errors import Error
from cqlduck.failures import has_failed


def profile(
    application: Annotated[
        Path | None, typer.Argument(help="A file of CQL statements, as for `cqlduck run`.")
    ] = None,
    database: Annotated[
        Path | None,
        typer.Option("--database", "-d", help="Begin with a copy of this database."),
    ] = None,
    drop_zone: DropZone = None,
    script: Annotated[
        Path | None, typer.Option(help="Statements to run, such as INSERT, while time is taken.")
    ] = None,
    to: Annotated[
        str | None, typer.Option(metavar="INSTANT", help="Advance up to here at the end.")
    ] = None,
    deep: Annotated[
        bool, typer.Option("--deep", help="Ask DuckDB's profiler for its operators too.")
    ] = False,
    as_json: AsJson = False,
    setting: Setting = None,
) -> int:
    """Run an application, and print where the time of its ticks goes.

    A line for each query, each operator of its plan and each of its statements: milliseconds in
    all, their share, the median and the 95th percentile of a tick, and rows written. What a tick
    does besides has lines of its own. Nothing is kept: without a database all is in memory, with
    one a copy of it is advanced. `cqlduck run --profile` does the same to a run that is kept.

    For example:

    ```
    cqlduck profile app.cql --drop-zone drop
    cqlduck profile app.cql -z drop --deep
    cqlduck profile -d app.duckdb --script inserts.cql --to '2013-02-01'
    cqlduck profile app.cql -z drop --json > profile.json
    ```
    """
    if application is None and database is None:
        raise Error("there is nothing to profile", hint="name an application, a --database or both")
    text = "" if application is None else applications.read(application)
    statements = "" if script is None else applications.read(script)
    settings = chosen(setting or [])
    if drop_zone is not None:
        if not drop_zone.is_dir():
            raise Error(f"there is no drop zone {drop_zone}")
        settings["drop_zone"] = drop_zone
    with tempfile.TemporaryDirectory() as folder, applications.Stop() as stop:
        kept = ":memory:" if database is None else _copy(closed(database), Path(folder))
        with connect(kept, progress=False, **settings) as con:
            if application is not None:
                applications.go_on(con, application, text)
            if drop_zone is not None or database is None:
                refuse_without_zone(con)
            watched = display.Display(con, display.console(stderr=True))
            with con.profile(deep=deep) as counted, watched:
                if script is not None:
                    applications.execute(con, script, statements)
                applications.follow(con, watched, stop, poll=1.0, complete=lambda: True)
                if to is not None:
                    con.advance(int(to) if to.lstrip("-").isdigit() else to)
            if as_json:
                typer.echo(json.dumps(counted.report(), indent=2))
            else:
                display.print_profile(counted, display.console())
            failed = any(map(has_failed, con.engine.catalogue.queries.values()))
    return stop.code or int(failed)


def _copy(database: Path, folder: Path) -> Path:
    """Copy a closed database, with what a crash may have left beside it."""
    for found in (database, database.with_name(f"{database.name}.wal")):
        if found.exists():
            shutil.copyfile(found, folder / found.name)
    return folder / database.name
