"""DuckDB's errors translated: into the family, and with their place in the whole script.

DuckDB's error concerns the text that it was given, which may be a part of the script, or have words
of ours around it. A word near the place that is almost a keyword is usually a misspelling: then the
error names that word.
"""

from __future__ import annotations

import dataclasses
import re

import duckdb

from cqlduck.errors import (
    BindError,
    DataError,
    Error,
    NotSupportedError,
    ParseError,
    raised_by_function,
)
from cqlduck.rewrite.text.habits import habit
from cqlduck.rewrite.text.inputs import BEFORE_ITEM
from cqlduck.rewrite.text.script import with_semicolon
from cqlduck.rewrite.text.spelling import misspelt, said_by_duckdb, suggestion
from cqlduck.rewrite.text.statements import (
    CreateQuery,
    CreateRelation,
    Dml,
    ExplainCreate,
    RefreshRelation,
    Sql,
    Statement,
)
from cqlduck.rewrite.text.tokens import tokenize
from cqlduck.settings import AT_ANY_TIME, Settings
from cqlduck.state import machine

_NAMED = re.compile(r"(?:name|column|function(?! with)) \"?([\w.]+)", re.IGNORECASE)
_LINE = re.compile(r"LINE (\d+): (.*)\n( *)\^")
_SETTING = re.compile(r'unrecognized configuration parameter "([^"]+)"')
_MEANT = re.compile(r'Did you mean:? "?(\w+)"?\??$')
_CUT = "..."
"""What DuckDB writes where a line is too long to be shown."""

_OF_FUNCTIONS = "TRY(…) around the call gives NULL in its place"
_OF_FILES = "see whether the file is there, and its permissions"


def from_duckdb(error: duckdb.Error, text: str, offset: int) -> Error:
    """Return an error of DuckDB's as one of the family, with the place in the text.

    Args:
        error: What DuckDB raised.
        text: The script.
        offset: Where in it the statement is, or its name.
    """
    message = str(error)
    head = message.split("\n\nLINE ")[0].strip()
    first, _, rest = head.partition("\n")
    place = _place(message, text, offset)
    if (raised := raised_by_function(first)) is not None:
        return DataError(raised, hint=None if "is not registered" in raised else _OF_FUNCTIONS)
    setting = _SETTING.search(first)
    if setting is not None:
        return _no_setting(setting[1], rest).at(text, max(text.find(setting[1], offset), offset))
    kind = machine.unstorable(error)
    if kind is not None:
        return NotSupportedError(
            f"a database in a file, which DuckDB 1.5 can open, has no {kind} columns",
            hint=machine.NAME_FIELDS,
        ).at(text, place)
    instead = habit(text, place)
    slip = misspelt(tokenize(text), place) if "syntax error" in first else None
    if slip is not None and instead is None:
        word, meant = slip
        return ParseError(f"{word.text} cannot stand here", hint=f"did you mean {meant}?").at(
            text, word.start
        )
    family = BindError if isinstance(error, duckdb.BinderException) else ParseError
    return family(
        said_by_duckdb(first),
        hint=instead
        or " ".join(rest.split())
        or (_OF_FILES if isinstance(error, duckdb.IOException) else None),
        text=text,
        offset=min(place, max(len(text) - 1, 0)),
    )


def _no_setting(name: str, rest: str) -> Error:
    """Return what to say of a SET of a setting that DuckDB has not."""
    ours = [field.name for field in dataclasses.fields(Settings)]
    if name.lower() in AT_ANY_TIME:
        return NotSupportedError(
            f"{name} is a setting of cqlduck",
            hint=f"UPDATE cql.properties SET value = '…' WHERE name = '{name.lower()}'",
        )
    if name.lower() in ours:
        return NotSupportedError(
            f"{name} is a setting of connect()",
            hint=f"pass it there, as in cqlduck.connect(path, {name.lower()}=…)",
        )
    found = _MEANT.search(rest.strip())
    there = "DuckDB lists its own in duckdb_settings()"
    hint = suggestion(name, [found[1]] if found else [], there, every=False)
    return BindError(f"there is no setting {name}", hint=hint)


def _place(message: str, text: str, offset: int) -> int:
    """Return the place in a script that DuckDB's message is about, or `offset` if it names none."""
    begin = text.rfind(";", 0, offset) + 1
    found = _LINE.search(message)
    if found is None:
        named = _NAMED.search(message)
        start = text.lower().find(named[1].lower(), offset) if named else -1
        return start if start >= 0 else offset
    shown, column = found[2], len(found[3]) - len(f"LINE {found[1]}: ")
    if column < 0:
        return offset
    if shown.startswith(_CUT):
        shown, column = shown[len(_CUT) :], column - len(_CUT)
    shown = shown.removesuffix(_CUT)
    start = text.find(shown, begin)
    if start >= 0:
        return start + column
    # words of ours stand before it
    start = text.find(shown[column:], begin) if shown[column:].strip() else -1
    return start if start >= 0 else offset


def too_deep(text: str, offset: int) -> ParseError:
    """Return what to say of a statement that is deeper than Python's stack."""
    return ParseError(
        "the statement is nested too deeply",
        hint="split it, with WITH or by a query over another",
        text=text,
        offset=offset,
    )


def placed(error: Error, statement: Statement, text: str) -> Error:
    """Move an error's place from the body of a query to the whole text.

    Its hint says so if another statement seems to begin there.
    """
    part = None
    if isinstance(statement, ExplainCreate):
        statement = statement.create
    if isinstance(statement, CreateQuery):
        part = statement.body
    elif isinstance(statement, (Sql, Dml)):
        part = statement.text
    elif isinstance(statement, (CreateRelation, RefreshRelation)):
        part = statement.query
    if part is not None and error.text == part and error.text != text:
        if isinstance(statement, Dml):
            # the text may differ from what is written in `main.`, which is blanked
            start = statement.start
        elif isinstance(statement, CreateQuery) and statement.id is None:
            start = statement.body_offset
        else:
            start = text.find(part, max(statement.offset - len(part), 0))
        if start < 0 and part.startswith(BEFORE_ITEM):
            # it stands right after FROM
            start = text.find(part.removeprefix(BEFORE_ITEM), statement.offset) - len(BEFORE_ITEM)
        if start >= 0 and error.offset is not None:
            error.text = text
            error.offset = max(start + error.offset, statement.offset)
    return with_semicolon(error.at(text, statement.offset))
