"""The tables of a query's plan: its synopses, and the rows that describe its operators.

They are made when the query is registered, and made anew when the database learns that its time is
wall-clock time: until then a query is compiled as if instants were integers. A database whose
synopses are called otherwise, because another version of cqlduck has written it, is brought to
today's plans when it is opened (`adopt`).
"""

from __future__ import annotations

from cqlduck.errors import DatabaseError
from cqlduck.rewrite import Compiled
from cqlduck.rewrite.plan import Column
from cqlduck.state.catalog import Query, typed
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
    describe(database, query, compiled)


def describe(database: Database, query: str, compiled: Compiled) -> None:
    """Describe the operators of a query in `cql.operators`, in place of what stands there."""
    database.execute("DELETE FROM cql_state.operators WHERE query = ?", [query])
    rows = [
        (query, o.number, o.parent, o.id, list(o.inputs), o.kind, o.description, o.sql)
        for o in compiled.operators
    ]
    marks = ", ".join(["(?, ?, ?, ?, ?, ?, ?, ?)"] * len(rows))
    database.execute(
        f"INSERT INTO cql_state.operators VALUES {marks}",
        [value for row in rows for value in row],
    )


def adopt(database: Database, query: Query, compiled: Compiled) -> None:
    """Bring the synopses that a database has of a query to those of its plan.

    A table of the same operator, kind and columns gets the name that it has today. A query that has
    not begun has nothing in its synopses, so they are made anew.

    Raises:
        DatabaseError: The plan needs one that is not there.
    """
    there = {
        (number, kind): table
        for number, kind, table in database.rows(
            "SELECT operator, kind, table_name FROM cql_state.synopses WHERE query = ?",
            [query.name],
        )
    }
    wanted = {(s.operator, s.kind): s for s in compiled.synopses}
    if query.begin_instant is None:
        drop(database, query.name)
        create(database, query.name, compiled)
        return
    missing = [
        synopsis.name
        for place, synopsis in wanted.items()
        if place not in there or _columns(database, there[place]) != synopsis.columns
    ]
    missing += [table for place, table in there.items() if place not in wanted]
    if missing:
        raise DatabaseError(
            f"the synopses that the database has of the continuous query {query.name} are not "
            f"those of its plan: {', '.join(sorted(missing))}",
            hint="it was made by another version of cqlduck; use that one, or make the query anew "
            "in a new database",
        )
    for place, synopsis in wanted.items():
        if there[place] != synopsis.name:
            old, new = quoted(there[place]), quoted(synopsis.name)
            database.execute(f"ALTER TABLE cql_state.{old} RENAME TO {new}")
            database.execute(
                "UPDATE cql_state.synopses SET table_name = ? WHERE table_name = ?",
                [synopsis.name, there[place]],
            )
    describe(database, query.name, compiled)


def _columns(database: Database, table: str) -> tuple[Column, ...]:
    described = database.rows(f"DESCRIBE cql_state.{quoted(table)}")
    return tuple(Column(name, kind) for name, kind, *_ in described)


def drop(database: Database, query: str) -> None:
    """Remove the synopses of a query and the description of its operators."""
    for (table,) in database.rows(
        "SELECT table_name FROM cql_state.synopses WHERE query = ?", [query]
    ):
        database.execute(f"DROP TABLE IF EXISTS cql_state.{quoted(table)}")
    for described in ("synopses", "operators"):
        database.execute(f"DELETE FROM cql_state.{described} WHERE query = ?", [query])
