"""DuckDB's own lists: tables, views, functions and macros."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from cqlduck.rewrite.bind.macros import Macro
from cqlduck.rewrite.plan.aggregates import RECOMPUTED
from cqlduck.state.connection import ALIAS, Database

NOT_DETERMINISTIC = frozenset(
    {"approx_quantile", "approx_top_k", "current_date", "current_time", "current_timestamp",
     "gen_random_uuid", "get_current_timestamp", "localtime", "localtimestamp", "now", "rand",
     "random", "reservoir_quantile", "today", "uuid"}
)  # fmt: skip

Functions = tuple[frozenset[str], frozenset[str], frozenset[str]]

_FUNCTIONS: list[Functions] = []
_MACROS: list[dict[str, list[Macro]]] = []


def has_table(database: Database, name: str) -> bool:
    """Return whether a table or view of the schema main has a name, besides what is registered."""
    # in a new instance DuckDB's first list of what there is takes 10 ms
    return database.has_others and bool(
        database.rows(
            "SELECT table_name FROM duckdb_tables() WHERE database_name = $alias "
            "AND schema_name = 'main' AND lower(table_name) = $name UNION ALL "
            "SELECT view_name FROM duckdb_views() WHERE database_name = $alias "
            "AND schema_name = 'main' AND lower(view_name) = $name",
            {"alias": ALIAS, "name": name.lower()},
        )
    )


def has_function(database: Database, name: str) -> bool:
    """Return whether DuckDB has a function or macro of a name."""
    return bool(
        database.value(
            "SELECT EXISTS (FROM duckdb_functions() WHERE lower(function_name) = ?)",
            [name.lower()],
        )
    )


def has_views_or_macros(database: Database, known: Iterable[str]) -> bool:
    """Return whether somebody has made macros, or views besides those of some lower-case names.

    They may be anywhere: in other schemas, in other databases, or temporary. A table of Arrow that
    is registered is a temporary view to DuckDB, and reads nothing of ours.
    """
    ours = f"database_name = '{ALIAS}' AND schema_name IN ('cql', 'cql_state')"
    return bool(
        database.value(
            f"SELECT EXISTS (FROM duckdb_views() WHERE NOT internal AND NOT ({ours}) "
            f"AND NOT (database_name = '{ALIAS}' AND schema_name = 'main' "
            "AND list_contains($known, lower(view_name))) "
            "AND NOT (database_name = 'temp' AND contains(sql, 'python_arrow_scan('))) "
            "OR EXISTS (FROM duckdb_functions() WHERE NOT internal "
            f"AND function_type LIKE '%macro' AND NOT ({ours}) "
            "AND NOT (database_name = 'temp' AND starts_with(function_name, '_cql_')))",
            {"known": list(known)},
        )
    )


def row_count(database: Database, tables: Sequence[str]) -> int:
    """Return about how many rows some tables of ours have."""
    return int(
        database.value(
            "SELECT coalesce(sum(estimated_size), 0) FROM duckdb_tables() "
            "WHERE database_name = $name AND schema_name = 'cql_state' "
            "AND list_contains($tables, table_name)",
            {"name": ALIAS, "tables": tables},
        )
    )


def functions(database: Database) -> Functions:
    """Return DuckDB's aggregates, what is not deterministic, and all functions, read once."""
    if not _FUNCTIONS:
        rows = database.rows(
            "SELECT lower(function_name), function_type = 'aggregate', "
            "coalesce(stability, '') <> 'CONSISTENT' AND function_type = 'scalar' "
            "FROM duckdb_functions() WHERE function_type IN ('aggregate', 'scalar')"
        )
        aggregates = frozenset(row[0] for row in rows if row[1]) | RECOMPUTED
        volatile = frozenset(row[0] for row in rows if row[2]) | NOT_DETERMINISTIC
        _FUNCTIONS.append((aggregates, volatile, frozenset(row[0] for row in rows)))
    return _FUNCTIONS[0]


def macros(database: Database) -> dict[str, list[Macro]]:
    """Return the macros that a database has by now."""
    found: dict[str, list[Macro]] = {}
    for name, parameters, definition, is_table, types, schema, is_own in database.rows(
        "SELECT lower(function_name), parameters, macro_definition, function_type = 'table_macro', "
        "parameter_types, lower(schema_name), NOT internal "
        "FROM duckdb_functions() WHERE function_type IN ('macro', 'table_macro') "
        "AND schema_name <> 'pg_catalog' "
        "AND (internal OR database_name IN (current_database(), 'temp')) ORDER BY function_oid"
    ):
        typed = tuple(types) if any(kind is not None for kind in types) else ()
        found.setdefault(name, []).append(
            Macro(tuple(parameters), definition, is_table, typed, schema, is_own)
        )
    return found


def macros_of_a_new(database: Database) -> dict[str, list[Macro]]:
    """Return the macros that every new database has, read once: a listing takes 15 ms."""
    if not _MACROS:
        _MACROS.append(macros(database))
    return _MACROS[0]


def distinct(statistics: object) -> int:
    """Return the estimate of how many values a column has, of what DuckDB's `stats` says of it."""
    found = statistics.get("approx_unique", 0) if isinstance(statistics, dict) else 0
    return found if isinstance(found, int) else 0
