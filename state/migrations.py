"""The schema of a database: created in a new one, migrated in an old one.

A database stores the version of its schema in `cql_state.settings`. Each file of `sql/migrations`
leads from one version to the next; all of them, and the objects that are new, are one transaction
with the opening of the database, so a file that is refused stays unchanged. A later version is
refused.
"""

from __future__ import annotations

import functools
import hashlib
import re
from typing import Any, Protocol

import duckdb

from cqlduck import sql
from cqlduck.errors import DatabaseError
from cqlduck.state.template import Template

VERSION = "schema_version"
"""The name of the setting."""

DIGEST = "schema_digest"
"""The name of the setting that says by which texts the schema was made."""

_VIEW = re.compile(r"^CREATE (?:OR REPLACE )?VIEW (?:IF NOT EXISTS )?([\w.]+)", re.MULTILINE)

LISTS = ("cql_state.synopsis_rows", "cql_state.store_rows", "cql_state.bases")
"""The views over the tables of what is registered (`inspection`)."""

FILES = ("schema", "macros", "views", "properties")
"""What makes a schema, in their order."""


class Base(Protocol):
    """What is asked of a database here."""

    path: str
    is_new: bool
    in_memory: bool

    def expect(self, sql: str, statement: duckdb.Statement | None = None) -> None:
        """Have a statement parsed that is going to run."""
        ...

    def execute(self, sql: str, parameters: Any = None) -> list[tuple[Any, ...]]:
        """Run a statement."""
        ...

    def value(self, sql: str, parameters: Any = None) -> Any:
        """Return a value."""
        ...


def run(database: Base, copying: str | None = None) -> None:
    """Make the schema, the macros and the views of a database, or bring them to this version.

    Args:
        database: The database.
        copying: A statement that makes the schema of a new database, if it is to be copied.

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
    if there and known == len(steps) and _is_whole(database):
        _execute(database, sql.read("macros"))
        return
    for text in steps[known:]:
        _execute(database, text)
    if copying is None:
        for name in FILES:
            _execute(database, sql.read(name))
    else:
        database.execute(copying)
    if there:
        names = [VERSION, DIGEST]
        database.execute("DELETE FROM cql_state.settings WHERE list_contains(?, name)", [names])
    written = [VERSION, str(len(steps))]
    if not database.in_memory:
        # one in memory is not opened again
        if there or not _of_new:
            _of_new[:] = [_seen(database)]
        written += [DIGEST, _of_new[0]]
    pairs = ", ".join(["(?, ?)"] * (len(written) // 2))
    database.execute(f"INSERT INTO cql_state.settings VALUES {pairs}", written)


_of_new: list[str] = []
"""What `_seen` says of a database as the files make it, once it has been asked for."""


def _is_whole(database: Base) -> bool:
    """Return whether the schema is that of these files, and nobody has changed its views."""
    found = database.value("SELECT max(value) FROM cql_state.settings WHERE name = ?", [DIGEST])
    return bool(found == _seen(database))


def _seen(database: Base) -> str:
    """Return by which texts a schema is made, how many of its views there are, and how long.

    To ask for what is in tables and macros takes long.
    """
    found = database.value(
        "SELECT count(*) || ' ' || sum(length(sql)) FROM duckdb_views() "
        "WHERE database_name = current_database() "
        "AND list_contains(?, schema_name || '.' || view_name)",
        [_views()],
    )
    return f"{_digest()} {found}"


@functools.cache
def _views() -> list[str]:
    """Return the names of the views of the files, but for those that registrations make anew."""
    names = [name for text in map(sql.read, FILES) for name in _VIEW.findall(text)]
    return [name for name in names if name not in LISTS]


@functools.cache
def _digest() -> str:
    return hashlib.sha256("".join(map(sql.read, FILES)).encode()).hexdigest()


def _fill(connection: duckdb.DuckDBPyConnection) -> None:
    for name in FILES:
        for statement in _statements(sql.read(name)):
            connection.execute(statement)


TEMPLATE = Template(_fill)
"""What new databases of this process are copied from."""


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
