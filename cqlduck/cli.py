"""The command line: `cqlduck run`, `demo`, `explain`, `profile`, `check`, `shell`, `snapshot`.

The commands only call the library. Errors of the family are printed with their place and hint, and
exit with 1; Ctrl-C exits with 130 and SIGTERM with 143, after the database was closed.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, ParamSpec

import duckdb
import typer

import cqlduck
from cqlduck import application as applications
from cqlduck import display
from cqlduck.connection import Connection, connect
from cqlduck.errors import DatabaseError, Error
from cqlduck.state.catalog import EXPIRED, Query

P = ParamSpec("P")

SETTINGS = ("granularity", "history", "instant", "max_tick", "memory_limit", "records",
            "standing", "threads", "window_edge")  # fmt: skip

app = typer.Typer(
    name="cqlduck",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Continuous queries in CQL, embedded in DuckDB.\n\n"
    "An application is a file of statements: streams, relations, and queries over them whose "
    "answers are kept up to date. `cqlduck demo` shows one at work; `cqlduck run` runs yours.",
)


def main() -> None:
    """Run the command line."""
    app()


def _command(name: str) -> Callable[[Callable[P, int | None]], Callable[P, None]]:
    """Make a command of a function that returns its exit code; print errors of the family."""

    def make(function: Callable[P, int | None]) -> Callable[P, None]:
        @app.command(name)
        @functools.wraps(function)
        def wrapped(*args: P.args, **kwargs: P.kwargs) -> None:
            try:
                code = function(*args, **kwargs)
            except Error as error:
                _say(error)
                code = 1
            except KeyboardInterrupt:
                code = 128 + signal.SIGINT
            raise typer.Exit(code or 0)

        return wrapped

    return make


def _say(error: Error) -> None:
    typer.echo(f"{typer.style('error:', fg='red', bold=True)} {error}", err=True)


@app.callback(invoke_without_command=True)
def _options(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        typer.echo(f"cqlduck {cqlduck.__version__}")
        raise typer.Exit


Setting = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help=f"One of {', '.join(SETTINGS)}."),
]
Database = Annotated[Path, typer.Argument(help="A database that `cqlduck run` or `connect` made.")]


@_command("run")
def run(
    application: Annotated[Path, typer.Argument(help="A file of CQL statements.")],
    database: Annotated[
        Path | None,
        typer.Option("--database", "-d", help="The DuckDB file to keep; without it, in memory."),
    ] = None,
    drop_zone: Annotated[
        Path | None,
        typer.Option("--drop-zone", "-z", help="The folder that FROM is relative to."),
    ] = None,
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
    settings = _settings(setting or [])
    if drop_zone is not None:
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
        applications.go_on(con, text)
        _needs_zone(con)
        counting = con.profile() if profile else contextlib.nullcontext()
        with counting as counted, display.Display(con, out) as shown:
            shown.note = f"following {drop_zone}; Ctrl-C ends" if follow else ""
            held = applications.follow(con, shown, stop, poll=poll, complete=lambda: not follow)
        display.print_answers(con, out, rows)
        if counted is not None:
            display.print_profile(counted, out)
        failed = any(map(_has_failed, con.engine.catalogue.queries.values()))
    return stop.code or int(failed or held is not None)


@_command("demo")
def demo(
    data: Annotated[
        Path, typer.Option(help="The folder for the drop zone and the database.")
    ] = Path("demo-data"),
    days: Annotated[
        int | None, typer.Option(min=1, max=366, help="Only so many days of the year.")
    ] = None,
    pause: Annotated[
        float, typer.Option(min=0, help="Seconds that Spark waits after each day, as if live.")
    ] = 0.0,
    keep: Annotated[
        bool | None,
        typer.Option(
            "--keep/--fresh",
            help="After a finished run: show it again, or start anew (as without either). "
            "--fresh throws an unfinished run away too.",
        ),
    ] = None,
) -> int:
    """Follow a year of flights while Spark writes them, and keep nine queries up to date.

    Needs the extra `demo`: `pip install 'cqlduck[demo]'`. An unfinished run is resumed by the same
    command; after a finished one it starts anew.

    For example:

    ```
    cqlduck demo
    cqlduck demo --days 30 --pause 0.5
    ```
    """
    from cqlduck.demo.run import run_demo

    return run_demo(data, days=days, pause=pause, keep=keep)


@_command("explain")
def explain(
    names: Annotated[
        list[str],
        typer.Argument(metavar="[APPLICATION] [QUERY]", help="A file of CQL, a query, or both."),
    ],
    database: Annotated[
        Path | None, typer.Option("--database", "-d", help="A database instead of a file.")
    ] = None,
) -> None:
    """Print the plan of a query and the SQL that a tick runs for each operator.

    For example:

    ```
    cqlduck explain app.cql                  every query of an application
    cqlduck explain app.cql delays           one of them
    cqlduck explain -d app.duckdb delays     a query of a database
    ```
    """
    limit = 1 if database else 2
    if len(names) > limit:
        raise Error(
            f"{names[limit]} is too much",
            hint="cqlduck explain app.cql [QUERY], or cqlduck explain --database DATABASE QUERY",
        )
    if database is not None:
        with connect(_there(database)) as con:
            typer.echo(con.explain(names[0]))
        return
    text = applications.read(Path(names[0]))
    with connect() as con:
        # Only what defines something: nothing is inserted, read or written for an explanation.
        con.execute(applications.definitions(text))
        known = [query.name for query in con.engine.catalogue.queries.values()]
        for name in names[1:] or known:
            if not names[1:]:
                typer.secho(f"-- {name}", bold=True)
            typer.echo(con.explain(name) + "\n")


@_command("profile")
def profile(
    application: Annotated[
        Path | None, typer.Argument(help="A file of CQL statements, as for `cqlduck run`.")
    ] = None,
    database: Annotated[
        Path | None,
        typer.Option("--database", "-d", help="Begin with a copy of this database."),
    ] = None,
    drop_zone: Annotated[
        Path | None,
        typer.Option("--drop-zone", "-z", help="The folder that FROM is relative to."),
    ] = None,
    script: Annotated[
        Path | None, typer.Option(help="Statements to run, such as INSERT, while time is taken.")
    ] = None,
    to: Annotated[
        str | None, typer.Option(metavar="INSTANT", help="Advance up to here at the end.")
    ] = None,
    deep: Annotated[
        bool, typer.Option("--deep", help="Ask DuckDB's profiler for its operators too.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
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
    settings = _settings(setting or [])
    if drop_zone is not None:
        if not drop_zone.is_dir():
            raise Error(f"there is no drop zone {drop_zone}")
        settings["drop_zone"] = drop_zone
    with tempfile.TemporaryDirectory() as folder, applications.Stop() as stop:
        kept = ":memory:" if database is None else _copy(_closed(database), Path(folder))
        with connect(kept, progress=False, **settings) as con:
            if text:
                applications.go_on(con, text)
            if drop_zone is not None or database is None:
                _needs_zone(con)
            watched = display.Display(con, display.console(stderr=True))
            with con.profile(deep=deep) as counted, watched:
                if statements:
                    con.execute(statements)
                applications.follow(con, watched, stop, poll=1.0, complete=lambda: True)
                if to is not None:
                    con.advance(int(to) if to.lstrip("-").isdigit() else to)
            if as_json:
                typer.echo(json.dumps(counted.report(), indent=2))
            else:
                display.print_profile(counted, display.console())
            failed = any(map(_has_failed, con.engine.catalogue.queries.values()))
    return stop.code or int(failed)


@_command("check")
def check(
    database: Database,
    query: Annotated[str | None, typer.Argument(help="One query; by default all.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Compare what the operators of a closed database keep with their inputs.

    Each synopsis is compared with what it would hold if it were made anew from what is kept below
    its operator: a line says that it is right, how many rows of it are wrong, or why that cannot be
    told. Nothing is changed. Ends with 1 if something is wrong.

    For example:

    ```
    cqlduck check app.duckdb
    cqlduck check app.duckdb delays
    cqlduck check app.duckdb --json > check.json
    ```
    """
    with connect(_there(database)) as con:
        found = con.check(query)
        columns, rows = list(found.columns), found.fetchall()
    lines = [dict(zip(columns, row, strict=True)) for row in rows]
    if as_json:
        typer.echo(json.dumps(lines, indent=2))
    else:
        display.print_checks(lines, display.console())
    wrong = [line for line in lines if line["state"] == "wrong"]
    if wrong:
        names = sorted({line["query"] for line in wrong})
        raise DatabaseError(
            f"{len(wrong)} of {len(lines)} synopses {'is' if len(wrong) == 1 else 'are'} wrong, "
            f"of {', '.join(names)}",
            hint="answers from here on may be wrong too: go back to a snapshot, or make the query "
            "anew with CREATE OR REPLACE CONTINUOUS QUERY … WITH (history = true)",
        )


def _has_failed(query: Query) -> bool:
    """Return whether a query failed and stands still, even for so long that it has expired."""
    return query.state == "failed" or (query.state == EXPIRED and query.error is not None)


def _needs_zone(con: Connection) -> None:
    """Refuse an application that reads from folders without a drop zone."""
    folders = [i.source for i in con.engine.catalogue.inputs.values() if i.source is not None]
    if con.drop_zone is None and folders:
        raise Error(
            f"the application reads from folders ({', '.join(folders)})",
            hint="say with --drop-zone where they are",
        )


def _copy(database: Path, folder: Path) -> Path:
    """Copy a closed database, with what a crash may have left beside it."""
    for found in (database, database.with_name(f"{database.name}.wal")):
        if found.exists():
            shutil.copyfile(found, folder / found.name)
    return folder / database.name


@_command("shell")
def shell(
    database: Database,
    command: Annotated[
        list[str] | None, typer.Option("--command", "-c", help="Run this SQL and exit.")
    ] = None,
) -> int:
    """Open a closed database in the DuckDB shell, to look and not to change.

    A query's answer is a view under its own name. Schema `cql` says what there is: `cql.queries`,
    `cql.operators`, `cql.streams`, `cql.relations`, `cql.synopses`, `cql.ticks` and others.

    For example:

    ```
    cqlduck shell app.duckdb
    cqlduck shell app.duckdb -c "FROM cql.queries" -c "FROM delays"
    ```
    """
    line = [display.duckdb_shell(), "-readonly", os.fspath(_closed(database))]
    for text in command or []:
        line += ["-c", text]
    # In the shell Ctrl-C ends a statement; it is not for us.
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        return subprocess.call(line)
    finally:
        signal.signal(signal.SIGINT, before)


@_command("snapshot")
def snapshot(
    database: Database,
    target: Annotated[Path, typer.Argument(help="The copy; an older one is replaced.")],
) -> None:
    """Copy a closed database into one file that any DuckDB shell from 1.5 on opens.

    A program that runs writes a copy of its own database with `Connection.snapshot()`.

    For example:

    ```
    cqlduck snapshot app.duckdb copy.duckdb
    ```
    """
    with connect(_there(database)) as con:
        typer.echo(f"wrote {con.snapshot(target)}")


def _there(database: Path) -> Path:
    if not database.is_file():
        raise DatabaseError(f"there is no database {database}", hint="cqlduck run makes one")
    return database


def _closed(database: Path) -> Path:
    """Return the path of a database that no other process has open."""
    try:
        duckdb.connect(os.fspath(_there(database)), read_only=True).close()
    except duckdb.Error as error:
        if "lock" in str(error).lower():
            raise DatabaseError(
                f"the database {database} is in use by another process",
                hint="stop that process first; it can write a copy with Connection.snapshot()",
            ) from error
        raise DatabaseError(
            f"the database {database} cannot be opened: {str(error).splitlines()[0]}"
        ) from error
    return database


def _settings(given: Sequence[str]) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    for pair in given:
        name, equals, value = pair.partition("=")
        if not equals or name not in SETTINGS:
            raise Error(f"{pair} is no setting", hint=f"NAME=VALUE, of {', '.join(SETTINGS)}")
        settings[name] = value
    return settings
