"""The schema of a database: created in a new one, migrated in an old one.

A database stores the version of its schema in `cql_state.settings`. Each file of `sql/migrations`
leads from one version to the next; all of them, and the objects that are new, are one transaction
with the opening of the database, so a file that is refused stays unchanged. A later version is
refused.
"""

from __future__ import annotations

import functools
from typing import Any, Protocol

import duckdb

from cqlduck import sql
from cqlduck.errors import DatabaseError

VERSION = "schema_version"
"""The name of the setting."""


class Base(Protocol):
    """What is asked of a database here."""

    path: str
    is_new: bool

    def expect(self, sql: str, statement: duckdb.Statement | None = None) -> None:
        """Have a statement parsed that is going to run."""
        ...

    def execute(self, sql: str, parameters: Any = None) -> list[tuple[Any, ...]]:
        """Run a statement."""
        ...

    def value(self, sql: str, parameters: Any = None) -> Any:
        """Return a value."""
        ...


def run(database: Base) -> None:
    """Make the schema, the macros and the views of a database, or bring them to this version.

    Raises:
        DatabaseError: A later version of cqlduck has written it.
    """
    steps = sql.migrations()
    there = not database.is_new and database.value(
        "SELECT count(*) FROM duckdb_tables() WHERE database_name = current_database() "
        "AND schema_name = 'cql_state' AND table_name = 'settings'"
    )
    known = _version(database) if there else len(steps)
    if known > len(steps):
        raise DatabaseError(
            f"the database {database.path} was made by a later version of cqlduck: its schema is "
            f"version {known}, this one knows {len(steps)}",
            hint="install the latest cqlduck",
        )
    for text in steps[known:]:
        _execute(database, text)
    for name in ("schema", "macros", "views", "properties"):
        _execute(database, sql.read(name))
    if not there or known < len(steps):
        if there:
            database.execute("DELETE FROM cql_state.settings WHERE name = ?", [VERSION])
        database.execute("INSERT INTO cql_state.settings VALUES (?, ?)", [VERSION, str(len(steps))])


def _version(database: Base) -> int:
    """Return the version of a schema; before versions were counted it was 0."""
    found = database.value("SELECT max(value) FROM cql_state.settings WHERE name = ?", [VERSION])
    return int(found or 0)


def _execute(database: Base, text: str) -> None:
    for statement in _statements(text):
        database.expect(statement.query, statement)
        database.execute(statement.query)


@functools.cache
def _statements(text: str) -> list[duckdb.Statement]:
    """Parse a file's text, which takes as long as to run it; once for all databases."""
    return duckdb.extract_statements(text)
