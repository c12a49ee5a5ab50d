"""Arguments and options of several commands."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import duckdb
import typer

from cqlduck.application import only_reads
from cqlduck.connection import Connection
from cqlduck.errors import DatabaseError, Error
from cqlduck.rewrite.text.spelling import suggestion
from cqlduck.settings import IN_WORDS, of_text
from cqlduck.state.claims import refuse_open_here
from cqlduck.state.connection import is_locked, unopened

Setting = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help=f"One of {', '.join(IN_WORDS)}."),
]
DropZone = Annotated[
    Path | None,
    typer.Option("--drop-zone", "-z", help="The folder that FROM is relative to."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Database = Annotated[Path, typer.Argument(help="A database that `cqlduck run` or `connect` made.")]


def chosen(given: Sequence[str]) -> dict[str, Any]:
    """Return settings that are written NAME=VALUE.

    Raises:
        Error: One of them is none.
    """
    settings: dict[str, Any] = {}
    for pair in given:
        written, equals, value = pair.partition("=")
        name = written.strip().lower()
        if name not in IN_WORDS:
            raise Error(
                f"there is no setting {written} on the command line",
                hint=suggestion(name, IN_WORDS, "NAME=VALUE, of"),
            )
        if not equals:
            raise Error(f"{name} has no value", hint=f"write --set {name}=VALUE")
        settings[name] = of_text(name, value)
    return settings


def existing(database: Path) -> Path:
    """Return the path of a database that is there.

    Raises:
        DatabaseError: It is not, or another program has made it, and it would be changed; or this
            process has it open, and would lose its lock.
    """
    if database.is_dir():
        raise DatabaseError(f"{database} is a folder", hint="name the file of a database")
    if not database.is_file():
        raise DatabaseError(f"there is no database {database}", hint="cqlduck run makes one")
    refuse_open_here(database)
    try:
        with duckdb.connect(os.fspath(database), read_only=True) as con:
            is_ours = con.execute(
                "SELECT 1 FROM duckdb_tables() WHERE schema_name = 'cql_state' "
                "AND table_name = 'settings'"
            ).fetchone()
    except duckdb.Error:
        return database  # who opens it says what is wrong
    if is_ours is None:
        raise DatabaseError(
            f"{database} is a database that cqlduck has not made",
            hint="cqlduck run makes one; cqlduck.connect can make this one ours as well",
        )
    return database


def closed(database: Path) -> Path:
    """Return the path of a database that no other process has open."""
    try:
        existing(database)
        duckdb.connect(os.fspath(database), read_only=True).close()
    except duckdb.Error as error:
        if is_locked(str(error)):
            raise DatabaseError(
                f"the database {database} is in use by another process",
                hint="stop that process first; it can write a copy with Connection.snapshot()",
            ) from error
        raise unopened(error, os.fspath(database)) from error
    return database


def warn_of_reads(application: Path, text: str) -> None:
    """Say so if an application only reads: its rows go nowhere."""
    if only_reads(text):
        typer.echo(
            f"{typer.style('warning:', fg='yellow', bold=True)} {application} only reads, and the "
            "rows that it reads are not shown\n"
            "hint: CREATE CONTINUOUS QUERY name AS SELECT … has its answer shown and kept up to "
            "date; cqlduck shell DATABASE -c 'SELECT …' reads once",
            err=True,
        )


def refuse_without_zone(con: Connection) -> None:
    """Refuse an application that reads from folders without a drop zone."""
    folders = [i.source for i in con.engine.catalogue.inputs.values() if i.source is not None]
    if con.drop_zone is None and folders:
        raise Error(
            f"the application reads from folders ({', '.join(folders)})",
            hint="say with --drop-zone where they are",
        )
