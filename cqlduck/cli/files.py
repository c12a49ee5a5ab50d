"""`cqlduck shell` and `cqlduck snapshot`: open a closed database in the shell, or copy it."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path
from typing import Annotated

import typer

from cqlduck import display
from cqlduck.cli.options import Database, closed, existing
from cqlduck.connection import connect


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
    line = [display.duckdb_shell(), "-readonly", os.fspath(closed(database))]
    for text in command or []:
        line += ["-c", text]
    # In the shell Ctrl-C ends a statement; it is not for us.
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        return subprocess.call(line)
    finally:
        signal.signal(signal.SIGINT, before)


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
    with connect(existing(database)) as con:
        typer.echo(f"wrote {con.snapshot(target)}")
