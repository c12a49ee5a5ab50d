"""Refusals of settings and macros that would change the meaning of registered statements.

After such a change, elements that a query has emitted would never leave its answer. A file does not
store settings of DuckDB: one that changes the meaning of SQL would change it back when the file is
opened again. A macro with the name of a function of DuckDB replaces it in all statements.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot.tokens import Token

from cqlduck.errors import NotSupportedError
from cqlduck.state import shadows
from cqlduck.state.connection import Database

FIXED = {
    "calendar": "write out what is meant",
    "current_dialect": "write DuckDB's SQL",
    "default_collation": "write COLLATE in a comparison",
    "default_null_order": "write NULLS FIRST or NULLS LAST",
    "default_order": "write ASC or DESC",
    "dialect_compatibility_mode": "write DuckDB's SQL",
    "disabled_optimizers": "leave it: those that are off would lose rows inside a transaction",
    "disable_timestamptz_casts": "write AT TIME ZONE",
    "error_on_division_by_zero": "write nullif(…, 0) around a divisor",
    "ieee_floating_point_ops": "write CASE around what divides",
    "integer_division": "write // where integers are divided without a rest",
    "legacy_disable_null_type": "cast NULLs to their types",
    "null_order": "write NULLS FIRST or NULLS LAST",
    "order_by_non_integer_literal": "leave the literal out",
    "preserve_identifier_case": "write names as they are",
    "preserve_insertion_order": "leave it: rows arrive in their order",
    "regex_match_operator_semantics": "write regexp_matches or regexp_full_match",
    "scalar_subquery_error_on_multiple_rows": "write LIMIT 1, or an aggregate",
    "schema": "name tables in full",
    "search_path": "name tables in full",
    "timezone": "times are UTC; turn them with AT TIME ZONE where they are shown",
}
"""The settings in lower case, each with what to do instead."""


_VERBS = ("SET", "RESET", "PRAGMA")
_SCOPES = ("GLOBAL", "SESSION", "LOCAL")


def refuse_fixed(tokens: Sequence[Token]) -> None:
    """Refuse a statement that sets what is fixed.

    Args:
        tokens: The tokens of the statement.

    Raises:
        NotSupportedError: It is one.
    """
    words = [token.text for token in tokens[:4]]
    if len(words) < 2 or words[0].upper() not in _VERBS:
        return
    rest = words[2:] if words[1].upper() in _SCOPES else words[1:]
    if [word.upper() for word in rest[:2]] == ["TIME", "ZONE"]:
        rest = ["TimeZone"]
    if rest and rest[0].lower() in FIXED:
        raise NotSupportedError(
            f"{words[0].upper()} {rest[0]} is not supported here", hint=FIXED[rest[0].lower()]
        )


def macro_made(tokens: Sequence[Token]) -> str | None:
    """Return the lower-case name of the macro that a statement makes in the schema main, or None.

    Args:
        tokens: The tokens of the statement.
    """
    words = [token.text.lower() for token in tokens[:14]]
    before = words.index("(") if "(" in words else 0
    head = words[:before]
    if head[:1] != ["create"] or not {"macro", "function"}.intersection(head[:5]):
        return None
    is_elsewhere = head[-2] == "." and head[-3] not in ("main", "temp")
    return None if is_elsewhere else head[-1]


def refuse_shadow(database: Database, tokens: Sequence[Token]) -> None:
    """Refuse a macro with the name of a function of DuckDB's, which statements of ticks call.

    Args:
        database: The database.
        tokens: The tokens of a statement.

    Raises:
        NotSupportedError: It makes one.
    """
    name = macro_made(tokens)
    if name is not None and shadows.hides(database, name):
        raise NotSupportedError(
            f"{name} is a function of DuckDB's, which statements of ticks call",
            hint="give the macro another name, or make it in a schema of its own",
        )
