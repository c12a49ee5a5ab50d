"""What DuckDB lists: tables, views and macros of the file."""

from __future__ import annotations

from collections.abc import Iterable

from cqlduck.state.connection import ALIAS, Database


def has_table(database: Database, name: str) -> bool:
    """Return whether a table or view of the schema main has a name."""
    return bool(
        database.rows(
            "SELECT table_name FROM duckdb_tables() WHERE database_name = $alias "
            "AND schema_name = 'main' AND lower(table_name) = $name UNION ALL "
            "SELECT view_name FROM duckdb_views() WHERE database_name = $alias "
            "AND schema_name = 'main' AND lower(view_name) = $name",
            {"alias": ALIAS, "name": name.lower()},
        )
    )


def has_views_or_macros(database: Database, known: Iterable[str]) -> bool:
    """Return whether somebody has made macros, or views besides those of some lower-case names."""
    return bool(
        database.value(
            "SELECT EXISTS (FROM duckdb_views() WHERE database_name = $alias "
            "AND schema_name = 'main' AND NOT list_contains($known, lower(view_name))) "
            "OR EXISTS (FROM duckdb_functions() WHERE database_name = $alias "
            "AND schema_name = 'main' AND function_type LIKE '%macro')",
            {"alias": ALIAS, "known": list(known)},
        )
    )
