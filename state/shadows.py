"""Macros of the schema main that hide functions of DuckDB.

DuckDB looks for a function among the macros of the database first. A macro with the name of a
built-in function replaces it in all statements: those of ticks, and those that migrate a file. So
creating one is refused, and a file that has one is not opened.
"""

from __future__ import annotations

from typing import Any, Protocol

from cqlduck.errors import DatabaseError

_ALONE = frozenset({"coalesce", "exists", "grouping", "if", "unnest"})
"""What DuckDB knows as functions and does not list."""

_NAMES = "SELECT function_name FROM system.main.duckdb_functions() WHERE "
"""No function of the statement can be hidden."""


class Base(Protocol):
    """What is asked of a database here."""

    path: str

    def rows(self, sql: str, parameters: Any = None) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        ...


def hides(database: Base, name: str) -> bool:
    """Return whether a macro of a lower-case name would hide a function of DuckDB's."""
    own = {found.lower() for (found,) in database.rows(f"{_NAMES} internal")}
    return name in own | _ALONE


def refuse(database: Base, alias: str) -> None:
    """Refuse a file with a macro that hides a function; DuckDB alone has made it.

    Args:
        database: The database.
        alias: As what its file is attached.

    Raises:
        DatabaseError: There is one.
    """
    made = f"{_NAMES} NOT internal AND schema_name = 'main' AND database_name = ? ORDER BY ALL"
    for name in dict.fromkeys(found for (found,) in database.rows(made, [alias])):
        if hides(database, name.lower()):
            raise DatabaseError(
                f"the macro {name} in the database {database.path} hides a function of DuckDB's, "
                "which statements of ticks call",
                hint=f"open the file with duckdb, and make the macro {name} anew under another "
                "name, or in a schema of its own",
            )
