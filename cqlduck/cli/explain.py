"""`cqlduck explain`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cqlduck import application as applications
from cqlduck.cli.options import existing
from cqlduck.connection import connect
from cqlduck.errors import Error


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
        with connect(existing(database)) as con:
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
