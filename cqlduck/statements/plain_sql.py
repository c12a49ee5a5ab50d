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

from cqlduck.errors import CatalogError, Error, NotSupportedError, ParseError
from cqlduck.registration.names import refuse_reserved
from cqlduck.rewrite.text.script import parse_script
from cqlduck.rewrite.text.statements import Dml, Sql
from cqlduck.rewrite.text.tokens import refuse_nested_with, tokenize
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
_MADE = re.compile(
    r"\s*CREATE\s+(OR\s+REPLACE\s+)?(TEMP(ORARY)?\s+)?(TABLE|VIEW)\s+(IF\s+NOT\s+EXISTS\s+)?"
    r"((\"[^\"]+\"|\w+)\.)*(?P<name>\"[^\"]+\"|\w+)",
    re.IGNORECASE,
)
_EXPORT = re.compile(r"\s*COPY\s+[^\s(]+\s*(\([^)]*\)\s*)?TO\b", re.IGNORECASE)
_TRANSACTION = "each execute is a transaction of its own"
_OURS = {
    **dict.fromkeys(("BEGIN", "START", "COMMIT", "ROLLBACK", "ABORT", "END"), _TRANSACTION),
    **dict.fromkeys(
        ("PREPARE", "EXECUTE", "DEALLOCATE"),
        "pass the statement with its parameters: execute(text, parameters)",
    ),
    "USE": "name tables in full; the database of the connection stays the default",
    "DETACH": "close the connection to let go of its database",
}
_OWN_SCHEMAS = ("cql", "cql_state")
_READING = ("SELECT", "EXPLAIN", "RELATION")
_GIVING = ("PRAGMA", "CALL", "MULTI")
_WRITING = ("INSERT", "UPDATE", "DELETE", "MERGE_INTO")
_OPTIONS = ("ANALYZE", "FORMAT")
"""Of EXPLAIN, in parentheses."""

_SHOWING = re.compile(r"\s*(describe|show|summarize|pragma)\b", re.IGNORECASE)


_CHANGES = ("INSERT", "UPDATE", "DELETE", "TRUNCATE", "MERGE", "COPY")
_WITH = re.compile(r"\bWITH\b", re.IGNORECASE)
_CHANGE = re.compile(rf"\b({'|'.join(_CHANGES)})\b", re.IGNORECASE)


def refuse_changes_inside(text: str) -> None:
    """Refuse statements with a part WITH that changes something, which DuckDB calls a SELECT.

    Raises:
        NotSupportedError: There is one.
    """
    first_with = _WITH.search(text)
    if first_with is None or not _CHANGE.search(text, first_with.end()):
        return
    tokens = tokenize(text)
    words = [token.text.upper() for token in tokens]
    for at, word in enumerate(words):
        if word != "(":
            continue
        first = at + 1
        named = [w for w in words[max(at - 3, 0) : at] if w not in ("NOT", "MATERIALIZED")]
        if words[first : first + 1] == ["WITH"]:
            first = _behind_with(words, first)
        elif named[-1:] != ["AS"]:
            continue
        if first < len(words) and words[first] in _CHANGES:
            raise NotSupportedError(
                f"{words[first]} cannot stand in WITH, where what is named is only read",
                hint=f"run the {words[first]} as a statement of its own",
                text=text,
                offset=tokens[first].start,
            )


def _behind_with(words: Sequence[str], place: int) -> int:
    """Return where the statement begins that follows the parts of a WITH."""
    depth, is_named = 0, False
    for at in range(place, len(words)):
        depth += {"(": 1, ")": -1}.get(words[at], 0)
        is_named = is_named or (depth == 0 and words[at] == "AS")
        if depth == 0 and words[at] == ")" and is_named:
            if words[at + 1 : at + 2] != [","]:
                return at + 1
            is_named = False
    return len(words)


def reads(text: str) -> bool:
    """Return whether a statement only reads.

    Raises:
        Error: It is none, or more than one.
        NotSupportedError: EXPLAIN ANALYZE would run a statement that changes something, or a part
            WITH changes something.
    """
    refuse_changes_inside(text)
    statements = _statements(text)
    if not statements:
        raise ParseError("there is no statement", hint="write a SELECT")
    if len(statements) != 1:
        raise Error("one statement at a time", hint="run the statements one by one")
    kind = _kind(statements[0])
    if kind == "EXPLAIN":
        analyzed = _analyzed(text)
        if analyzed is not None and not reads(analyzed):
            raise NotSupportedError(
                "EXPLAIN ANALYZE runs the statement, and this one changes something",
                hint="EXPLAIN shows its plan, and runs nothing",
            )
    return kind in _READING


def _analyzed(text: str) -> str | None:
    """Return the statement that an EXPLAIN ANALYZE runs; None if it is an EXPLAIN alone."""
    # to sqlglot EXPLAIN is a command, and what follows it a text
    text = text[tokenize(text)[0].end + 1 :]
    tokens, runs = tokenize(text), False
    while tokens and (tokens[0].text.upper() == "ANALYZE" or tokens[0].text == "("):
        if tokens[0].text == "(":
            end = next((at for at, token in enumerate(tokens) if token.text == ")"), 0)
            runs = runs or any(token.text.upper() == "ANALYZE" for token in tokens[:end])
            if tokens[1].text.upper() not in _OPTIONS:
                break
            tokens = tokens[end:]
        else:
            runs = True
        tokens = tokens[1:]
    return text[tokens[0].start :] if runs and tokens else None


def is_no_read(text: str) -> NotSupportedError:
    """Return what to say of a statement that does not only read, where only such may stand."""
    hint = "changes go through execute()"
    if _kind(_statements(text)[0]) == "MULTI":
        # DuckDB makes a type of the values that it finds
        hint = "name the values, as in PIVOT t ON x IN ('a', 'b') USING …, or run it with execute()"
    return NotSupportedError("sql() only reads", hint=hint)


def gives_rows(text: str, tokens: Sequence[Token]) -> bool:
    """Return whether a statement that does not only read gives rows.

    PIVOT with values that are not named is several statements to DuckDB, the last a SELECT.
    """
    kind = _kind(_statements(text)[0])
    if kind in _WRITING:
        return any(token.text.upper() == "RETURNING" for token in tokens)
    return kind in _GIVING


def is_select(text: str) -> bool:
    """Return whether a statement that only reads is a query, which may stand in another one."""
    return _kind(_statements(text)[0]) in ("SELECT", "RELATION") and not _SHOWING.match(text)


def _statements(text: str) -> list[Any]:
    refuse_nested_with(text)
    try:
        return list(duckdb.extract_statements(text))
    except duckdb.Error as error:
        raise _is_cql(text) or from_duckdb(error, text, 0) from error


def _is_cql(text: str) -> Error | None:
    """Return what to say of a text that DuckDB cannot read because it is CQL; None if it is not."""
    try:
        found = parse_script(text)
    except Error:
        return None
    if all(isinstance(statement, Sql | Dml) for statement in found):
        return None
    return NotSupportedError(
        "this is a statement of CQL; here DuckDB's SQL is read",
        hint="execute() runs it; views such as cql.queries, cql.streams and cql.operators can be "
        "read here",
    )


def _kind(statement: Any) -> str:
    """Return the kind of a statement in DuckDB's words, such as SELECT."""
    return str(statement.type).split(".")[-1].removesuffix("_STATEMENT")


def first_word(tokens: Sequence[Token]) -> str:
    """Return the word that a statement begins with, in upper case.

    Raises:
        NotSupportedError: It is about transactions, prepared statements, or the default database.
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
        CatalogError: It changes the view of a stream, relation or query, or makes a table or view
            that has the name of a registered data frame, or a reserved one.
        NotSupportedError: It changes what statements of ticks would mean.
    """
    refuse_views(catalogue, text)
    made = _MADE.match(text)
    if made is not None:
        refuse_reserved(made["name"].strip('"'))
    if made is not None and database.frames.find(made["name"].strip('"')) is not None:
        name = made["name"].strip('"')
        raise CatalogError(
            f"{name} is a data frame that is registered",
            hint=f"unregister({name!r}) first, or choose another name",
        )
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
        changes = ""
        if kind == "RELATION":
            changes = " [ON CONFLICT DO UPDATE …], UPDATE or DELETE"
        how = f"change it with INSERT INTO {found['name']}{changes}"
    elif name in catalogue.queries:
        kind = "CONTINUOUS QUERY"
        how = f"change it with CREATE OR REPLACE {kind} {found['name']}"
    else:
        return
    raise CatalogError(
        f"{found['name']} is a {kind.lower()}; this statement is for tables and views",
        hint=f"{how}; remove it with DROP {kind}",
    )
