"""`cqlduck serve`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cqlduck import application as applications
from cqlduck import display
from cqlduck.cli.options import (
    DropZone,
    Setting,
    chosen,
    closed,
    refuse_without_zone,
    warn_of_reads,
)
from cqlduck.connection import Connection, connect
from cqlduck.errors import Error, how_to_install

if TYPE_CHECKING:
    from cqlduck.server import Server

PORT = 8642
"""Where the page is, by default."""


def serve(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A file of CQL statements, or a database.")
    ],
    database: Annotated[
        Path | None,
        typer.Option("--database", "-d", help="The DuckDB file to keep; without it, in memory."),
    ] = None,
    drop_zone: DropZone = None,
    poll: Annotated[float, typer.Option(min=0.01, help="Seconds between two polls.")] = 1.0,
    host: Annotated[str, typer.Option(help="The address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 is any free.")] = PORT,
    setting: Setting = None,
) -> int:
    """Show what is inside in a browser: queries and their answers, plans, ticks, choices.

    An application runs as with `cqlduck run`, and goes on with new batches of its drop zone until
    Ctrl-C. Of a database nothing runs, unless there is a drop zone that it reads from.

    Only this machine can see the page, each of its users, and they can read files by SQL as you
    can; at another address whoever reaches it sees all that the database has, and there is no SQL.
    Nothing can be changed through the page.

    For example:

    ```
    cqlduck serve app.cql -d app.duckdb -z drop
    cqlduck serve app.duckdb
    ```
    """
    out = display.console()
    runs = drop_zone is not None or not applications.is_database(file)
    with (
        applications.Stop() as stop,
        _opened(file, database, drop_zone, setting or []) as con,
        _server(con, host, port) as server,
    ):
        out.print(f"{server.url} shows {con.engine.database.path}; Ctrl-C ends", soft_wrap=True)
        if runs:
            with display.Display(con, out) as shown:
                shown.note = server.url
                is_over = con.drop_zone is None
                applications.follow(con, shown, stop, poll=poll, complete=lambda: is_over)
        while not stop:
            stop.wait(1)
    return stop.code


@contextlib.contextmanager
def _opened(
    file: Path, database: Path | None, drop_zone: Path | None, setting: list[str]
) -> Iterator[Connection]:
    """Open a database, or run an application on one."""
    settings = chosen(setting)
    if drop_zone is not None:
        settings["drop_zone"] = drop_zone
    if applications.is_database(file):
        if database is not None:
            raise Error(
                f"{file} is a database itself",
                hint="cqlduck serve DATABASE, or cqlduck serve APPLICATION --database DATABASE",
            )
        with connect(closed(file), progress=False, **settings) as con:
            yield con
        return
    text = applications.read(file)
    with connect(database or ":memory:", progress=False, **settings) as con:
        applications.go_on(con, file, text)
        warn_of_reads(file, text)
        refuse_without_zone(con)
        yield con


def _server(con: Connection, host: str, port: int) -> Server:
    """Return a server of the pages of a connection.

    Raises:
        Error: Its packages are not installed, or it cannot listen there.
    """
    try:
        from cqlduck.server import Server  # they come with an extra
    except ModuleNotFoundError as error:
        raise Error(
            f"cqlduck serve needs {error.name}, which is not installed",
            hint=how_to_install("serve"),
        ) from error
    return Server(con, host, port)
