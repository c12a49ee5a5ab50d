"""Statements of DuckDB: their kinds, and refusals.

Streams, relations and queries show as views; statements that would change them as views are
refused. `meaning` refuses settings and macros that would change the meaning of ticks.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import duckdb
from sqlglot.tokens import Token

from cqlduck.errors import CatalogError, Error, NotSupportedError
from cqlduck.rewrite.text.tokens import refuse_nested_with
from cqlduck.state.catalog import Catalogue
from cqlduck.state.connection import Database
from cqlduck.statements.meaning import refuse_fixed, refuse_shadow
from cqlduck.statements.translated import from_duckdb

_DDL = re.compile(
    r"\s*((DROP|ALTER|CREATE(\s+OR\s+REPLACE)?)\s+(?P<kind>VIEW|TABLE|SCHEMA)\s+(IF\s+(NOT\s+)?EXISTS\s+)?"
    r"|(WITH\b.*)?(INSERT(\s+OR\s+\w+)?|MERGE)\s+INTO\s+|TRUNCATE\s+(TABLE\s+)?|COPY\s+"
    r"|UPDATE\s+|DELETE\s+FROM\s+)"
    r"(cqlduck\.)?((?P<schema>main|cql|cql_state|\"cql\"|\"cql_state\")\.)?"
    r"(?P<name>\"[^\"]+\"|\w+)",
    re.IGNORECASE | re.DOTALL,
)
_EXPORT = re.compile(r"\s*COPY\s+[^\s(]+\s*(\([^)]*\)\s*)?TO\b", re.IGNORECASE)
_TRANSACTION = "each execute is a transaction of its own"
_OURS = {
    **dict.fromkeys(("BEGIN", "START", "COMMIT", "ROLLBACK", "ABORT", "END"), _TRANSACTION),
    "USE": "name tables in full; the database of the connection stays the default",
    "DETACH": "close the connection to let go of its database",
}
_OWN_SCHEMAS = ("cql", "cql_state")
_READING = ("SELECT", "EXPLAIN", "RELATION")
_SHOWING = re.compile(r"\s*(describe|show|summarize|pragma)\b", re.IGNORECASE)


def reads(text: str) -> bool:
    """Return whether a statement only reads.

    Raises:
        Error: It is none, or more than one.
    """
    statements = _statements(text)
    if len(statements) != 1:
        raise Error("one statement at a time", hint="run the statements one by one")
    return _kind(statements[0]) in _READING


def is_select(text: str) -> bool:
    """Return whether a statement that only reads is a query, which may stand in another one."""
    return _kind(_statements(text)[0]) in ("SELECT", "RELATION") and not _SHOWING.match(text)


def _statements(text: str) -> list[Any]:
    refuse_nested_with(text)
    try:
        return list(duckdb.extract_statements(text))
    except duckdb.Error as error:
        raise from_duckdb(error, text, 0) from error


def _kind(statement: Any) -> str:
    """Return the kind of a statement in DuckDB's words, such as SELECT."""
    return str(statement.type).split(".")[-1].removesuffix("_STATEMENT")


def first_word(tokens: Sequence[Token]) -> str:
    """Return the word that a statement begins with, in upper case.

    Raises:
        NotSupportedError: It is about transactions, or which database is the default.
    """
    first = tokens[0].text.upper() if tokens else ""
    if first in _OURS:
        raise NotSupportedError(f"{first} is not supported here", hint=_OURS[first])
    return first


def refuse_change(
    database: Database, catalogue: Catalogue, text: str, tokens: Sequence[Token]
) -> None:
    """Refuse a statement that changes what only ticks may, or what ticks rely on.

    Raises:
        CatalogError: It changes the view of a stream, relation or query.
        NotSupportedError: It changes what statements of ticks would mean.
    """
    refuse_views(catalogue, text)
    refuse_fixed(tokens)
    refuse_shadow(database, tokens)


def refuse_views(catalogue: Catalogue, text: str) -> None:
    """Refuse a statement that changes the view of a stream, relation or query, or what is ours.

    Raises:
        CatalogError: It does.
    """
    found = _DDL.match(text)
    if found is None or _EXPORT.match(text):
        return
    name = found["name"].strip('"').lower()
    schema = (found["schema"] or "").strip('"').lower()
    is_schema = (found["kind"] or "").upper() == "SCHEMA"
    if schema in _OWN_SCHEMAS or (is_schema and name in _OWN_SCHEMAS):
        raise CatalogError(
            f"what is in the schema {schema or name} follows what is registered, and what has come",
            hint="read it with sql(); streams, relations and queries change by statements of their "
            "own",
        )
    if name in catalogue.inputs:
        kind = catalogue.inputs[name].kind.upper()
    elif name in catalogue.queries:
        kind = "CONTINUOUS QUERY"
    else:
        return
    raise CatalogError(
        f"{found['name']} is a {kind.lower()}; this statement is for tables and views",
        hint=f"change it with INSERT INTO {found['name']}, UPDATE or DELETE; "
        f"remove it with DROP {kind}",
    )
