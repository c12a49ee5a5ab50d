"""The tables of a query's plan: its synopses, and the rows that describe its operators.

They are made when the query is registered, and made anew when the database learns that its time is
wall-clock time: until then a query is compiled as if instants were integers.
"""

from __future__ import annotations

from cqlduck.rewrite import Compiled
from cqlduck.state.catalog import typed
from cqlduck.state.connection import Database, quoted


def create(database: Database, query: str, compiled: Compiled) -> None:
    """Make the synopses of a query, empty, and describe its operators in `cql.operators`.

    Args:
        database: The database, inside a transaction.
        query: The name of the query.
        compiled: Its plan and statements.
    """
    for synopsis in compiled.synopses:
        name = f"cql_state.{quoted(synopsis.name)}"
        database.execute(f"CREATE TABLE {name} ({typed(synopsis.columns)})")
        database.execute(
            f"COMMENT ON TABLE {name} IS 'Synopsis ({synopsis.kind}) of operator "
            f"{synopsis.operator} of a continuous query.'"
        )
        database.execute(
            "INSERT INTO cql_state.synopses VALUES (?, ?, ?, ?, ?, ?, 0)",
            [query, synopsis.operator, synopsis.kind, synopsis.name, synopsis.reach,
             synopsis.is_log],
        )  # fmt: skip
    rows = [
        (query, row.number, row.parent, row.kind, row.description, row.sql)
        for row in compiled.operators
    ]
    marks = ", ".join(["(?, ?, ?, ?, ?, ?)"] * len(rows))
    database.execute(
        f"INSERT INTO cql_state.operators VALUES {marks}",
        [value for row in rows for value in row],
    )


def drop(database: Database, query: str) -> None:
    """Remove the synopses of a query and the description of its operators."""
    for (table,) in database.rows(
        "SELECT table_name FROM cql_state.synopses WHERE query = ?", [query]
    ):
        database.execute(f"DROP TABLE IF EXISTS cql_state.{quoted(table)}")
    for described in ("synopses", "operators"):
        database.execute(f"DELETE FROM cql_state.{described} WHERE query = ?", [query])
