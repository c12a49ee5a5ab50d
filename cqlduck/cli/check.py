"""`cqlduck check`."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from cqlduck import display
from cqlduck.cli.options import AsJson, Database, existing
from cqlduck.connection import connect
from cqlduck.errors import DatabaseError


def check(
    database: Database,
    query: Annotated[str | None, typer.Argument(help="One query; by default all.")] = None,
    as_json: AsJson = False,
) -> None:
    """Compare what the operators of a closed database keep with their inputs.

    Each synopsis is compared with what it would hold if it were made anew from what is kept below
    its operator, each answer with its elements: a line says that it is right, how many rows of it
    are wrong, or why that cannot be told. Nothing is changed. Ends with 1 if something is wrong.

    For example:

    ```
    cqlduck check app.duckdb
    cqlduck check app.duckdb delays
    cqlduck check app.duckdb --json > check.json
    ```
    """
    with connect(existing(database)) as con:
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
            f"{len(wrong)} of {len(lines)} comparisons {'fails' if len(wrong) == 1 else 'fail'}, "
            f"of {', '.join(names)}",
            hint="answers from here on may be wrong too: go back to a snapshot, or make the query "
            "anew with CREATE OR REPLACE CONTINUOUS QUERY … WITH (history = true)",
        )
