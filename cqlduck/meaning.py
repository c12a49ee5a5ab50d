"""Settings of DuckDB's that change what SQL means: all statements of ticks have them alike.

A setting is no part of a file. If one of these could be set, a statement would mean something else
from then on, and again after the file is opened anew: what a query has said before would never
leave its answer.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot.tokens import Token

from cqlduck.errors import NotSupportedError

FIXED = {
    "calendar": "write out what is meant",
    "current_dialect": "write DuckDB's SQL",
    "default_collation": "write COLLATE in a comparison",
    "default_null_order": "write NULLS FIRST or NULLS LAST",
    "default_order": "write ASC or DESC",
    "dialect_compatibility_mode": "write DuckDB's SQL",
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
