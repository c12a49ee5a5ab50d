"""`cqlduck explain`."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from cqlduck import application as applications
from cqlduck.cli.options import existing
from cqlduck.connection import connect
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
        typer.Argument(metavar="[APPLICATION] [QUERY]", help="A file of CQL, a query, or both."),
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
    cqlduck explain -d app.duckdb delays     a query of a database
    cqlduck explain app.cql delays --as mermaid > delays.mmd
    ```
    """
    limit = 1 if database else 2
    if len(names) > limit:
        raise Error(
            f"{names[limit]} is too much",
            hint="cqlduck explain app.cql [QUERY], or cqlduck explain --database DATABASE QUERY",
        )
    if database is not None:
        with connect(existing(database)) as con:
            typer.echo(con.plan(names[0], analyze=analyze).shown(form.name))
        return
    if analyze:
        raise Error(
            "an application that has not run has measured nothing",
            hint="cqlduck explain --analyze --database DATABASE QUERY",
        )
    application = Path(names[0])
    text = applications.read(application)
    with connect() as con:
        # Only what defines something: nothing is inserted, read or written for an explanation.
        applications.define(con, application, text)
        known = [query.name for query in con.engine.catalogue.queries.values()]
        for name in names[1:] or known:
            if not names[1:] and form in _COMMENT:
                typer.secho(f"{_COMMENT[form]} {name}", bold=True)
            typer.echo(con.plan(name).shown(form.name) + "\n")
