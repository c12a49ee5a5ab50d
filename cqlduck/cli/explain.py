"""`cqlduck explain`."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from cqlduck import application as applications
from cqlduck.cli.options import existing
from cqlduck.connection import Connection, connect
from cqlduck.errors import Error


class Form(Enum):
    """How a plan is printed."""

    TEXT = "text"
    JSON = "json"
    MERMAID = "mermaid"
    SQL = "sql"


_COMMENT = {Form.TEXT: "--", Form.MERMAID: "%%", Form.SQL: "--"}
"""What a line begins with that says which query it is; each JSON says it itself."""


def explain(
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="[APPLICATION] [QUERY]",
            help="A file of CQL or a database, and one of its queries.",
        ),
    ],
    database: Annotated[
        Path | None, typer.Option("--database", "-d", help="A database instead of a file.")
    ] = None,
    form: Annotated[
        Form, typer.Option("--as", help="How: with its SQL, as data, as a picture, or as a SELECT.")
    ] = Form.TEXT,
    analyze: Annotated[
        bool,
        typer.Option("--analyze", help="Also count what operators keep; of a database."),
    ] = False,
) -> None:
    """Print the plan of a query and the SQL that a tick runs for each operator.

    For example:

    ```
    cqlduck explain app.cql                  every query of an application
    cqlduck explain app.cql delays           one of them
    cqlduck explain app.duckdb delays        a query of a database
    cqlduck explain app.cql delays --as mermaid > delays.mmd
    ```
    """
    if database is None and applications.is_database(Path(names[0])):
        database, names = Path(names[0]), names[1:]
    limit = 1 if database else 2
    if len(names) > limit:
        raise Error(
            f"{names[limit]} is too much",
            hint="cqlduck explain app.cql [QUERY], or cqlduck explain app.duckdb [QUERY]",
        )
    if database is not None:
        with connect(existing(database)) as con:
            _print(con, names, form, analyze=analyze)
        return
    if analyze:
        raise Error(
            "an application that has not run has measured nothing",
            hint="cqlduck explain --analyze DATABASE QUERY",
        )
    application = Path(names[0])
    text = applications.read(application)
    with connect() as con:
        # Only what defines something: nothing is inserted, read or written for an explanation.
        applications.define(con, application, text)
        _print(con, names[1:], form)


def _print(con: Connection, names: Sequence[str], form: Form, *, analyze: bool = False) -> None:
    """Print the plan of a query, or of each one."""
    if names:
        typer.echo(con.plan(names[0], analyze=analyze).shown(form.name))
        return
    for name in con.queries:
        if form in _COMMENT:
            typer.secho(f"{_COMMENT[form]} {name}", bold=True)
        typer.echo(con.plan(name, analyze=analyze).shown(form.name) + "\n")
