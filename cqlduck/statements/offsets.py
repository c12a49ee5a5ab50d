"""Texts with an offset in INSERT and UPDATE: '2024-01-01 00:00:00+02' is a time in UTC.

DuckDB (release 2.0) ignores the offset when it casts a text to a TIMESTAMP. So every expression
that is assigned to a column with times is cast to the type with a zone first, which leaves values
of other types unchanged. And a text beside a TIMESTAMP, as in `coalesce('…', t)`, which DuckDB
would cast to a TIMESTAMP before the assignment, is cast to the type with a zone by itself, if it
has an offset or is a parameter, which may have one. Other texts stay as they are, so that
statements bind and compare as they do in DuckDB. Comparisons and calculations of a statement are
left to DuckDB.

A plain INSERT writes into a table whose times have a zone, and the rows are converted to UTC
afterwards. Times that are not texts skip this, as it costs a microsecond for each.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from sqlglot.tokens import TokenType

from cqlduck.data.place import scratch
from cqlduck.rewrite.plan import Column
from cqlduck.rewrite.text.tokens import tokenize
from cqlduck.state.connection import literal, quoted
from cqlduck.state.types import OFFSET, ZONED, fitted, replaced
from cqlduck.statements import assignments
from cqlduck.statements.assignments import Assigned, Insert

_TEXTS = ("VARCHAR", "JSON", "VARIANT", "ENUM")
"""The types whose values may be texts, as parts of DuckDB's names of types."""

_PLAIN = (TokenType.STRING, TokenType.HEREDOC_STRING)
"""Texts that are what their tokens say."""

_OFFSET = re.compile("[:+A-Za-z]")
"""What is in every text with an offset, and in no date."""

Describe = Callable[[str], list[tuple[str, str]] | None]


class Edit(NamedTuple):
    """What is put before and after a piece of a text."""

    start: int
    end: int
    before: str
    after: str


def taking(
    columns: tuple[Column, ...], text: str, insert: Insert, describe: Describe
) -> tuple[Column, ...]:
    """Return the columns of a table that an INSERT writes into, such that offsets count.

    Args:
        columns: The columns that are meant.
        text: The INSERT.
        insert: Its pieces.
        describe: Returns the columns of a query with their types, or None.
    """
    wide = tuple(Column(c.name, _zoned(c.type, "VARCHAR")) for c in columns)
    if wide == columns or not _brings_text(text, insert, describe):
        return columns
    return wide


def _zoned(kind: str, date: str) -> str:
    # a moment is no date: where its offset counts, it may be on another day
    return date if kind == "DATE" else replaced(kind, ZONED)


def converted(written: Column, own: Column) -> str:
    """Return what an INSERT has written into a column as the column's own type, as SQL."""
    if written == own:
        return quoted(own.name)
    return fitted(quoted(own.name), own.type, is_text=written.type == "VARCHAR")


def _brings_text(text: str, insert: Insert, describe: Describe) -> bool:
    """Return whether an INSERT may bring texts, as one of literals or parameters may."""
    if not insert.query or insert.is_values:
        return True
    return _has_text(describe(_written(text, insert.query)))


def _has_text(found: list[tuple[str, str]] | None) -> bool:
    return found is None or any(text in kind for _, kind in found for text in _TEXTS)


def _replaced(text: str, piece: assignments.Piece, edits: Sequence[Edit]) -> str:
    """Return a piece of a text with others in the place of pieces of it."""
    parts, done = [], piece[0].start
    for edit in edits:
        parts += [text[done : edit.start], edit.before]
        done = edit.end
    return "".join([*parts, text[done : piece[-1].end + 1]])


def _written(text: str, piece: assignments.Piece) -> str:
    return text[piece[0].start : piece[-1].end + 1]


# -- statements ------------------------------------------------------------------------------------


def updated(columns: tuple[Column, ...], text: str, tokens: assignments.Piece) -> str:
    """Return an UPDATE in which offsets count that SET assigns."""
    if not _has_times(columns):
        return text
    values = [v for v in assignments.of_set(columns, tokens) if _is_time(v.type)]
    return _edited(text, [edit for value in values for edit in _whole(value)])


def inserted(
    columns: tuple[Column, ...], text: str, insert: Insert, describe: Describe, *, own_types: bool
) -> str:
    """Return an INSERT in which offsets count that it writes.

    Args:
        columns: The columns of the table.
        text: The INSERT.
        insert: Its pieces.
        describe: Returns the columns of a query with their types, or None.
        own_types: Whether the table that it writes into has these types, or those of `taking`.
    """
    if not _has_times(columns):
        return text
    listed = insert.columns(columns)
    values = [v for v in assignments.of_set(columns, insert.rest) if _is_time(v.type)]
    edits = [edit for value in values for edit in _whole(value)]
    if insert.is_values:
        if insert.is_plain and not own_types:
            # what such texts are is seen when they are written
            return _edited(text, edits)
        for value in assignments.of_values(listed, insert.query):
            if _is_time(value.type):
                edits += _whole(value) if own_types else _texts(value, itself=False)
        return _edited(text, edits)
    for value in assignments.of_query(listed, insert.query, by_name=insert.by_name):
        if _is_time(value.type):
            edits += _texts(value, itself=True)
    text = _edited(text, edits)
    return _around(text, listed, describe) if own_types and insert.query else text


def _around(text: str, listed: Sequence[Column], describe: Describe) -> str:
    """Return an INSERT of a query such that its columns have the types that they are for."""
    insert = assignments.insert(tokenize(text))
    parameters = assignments.parameters(insert.query)
    # a parameter may be a text, and is needed for its name alone
    nulls = [Edit(p[0].start, p[-1].end + 1, "CAST(NULL AS VARCHAR)", "") for p in parameters]
    found = describe(_replaced(text, insert.query, nulls))
    if not (parameters or _has_text(found)):
        return text
    alias = ""
    if insert.by_name:
        given = {name.lower() for name, _ in found or ()}
        listed = [c for c in listed if c.name.lower() in given]
        names = {c.name: c.name for c in listed}
    else:
        if found is not None and len(found) != len(listed):
            # DuckDB says so
            return text
        names = {c.name: f"_cql_{place}" for place, c in enumerate(listed)}
        alias = f"({', '.join(names.values())})"
    times = [c for c in listed if _is_time(c.type)]
    if not times:
        return text
    turned = ", ".join(
        f"{in_utc(quoted(names[c.name]), c.type)} AS {quoted(names[c.name])}" for c in times
    )
    before, after = f"SELECT * REPLACE ({turned}) FROM (", f") AS _cql_given{alias} "
    return _edited(text, [_edit(insert.query, before, after)])


def _has_times(columns: Iterable[Column]) -> bool:
    return any(_is_time(c.type) for c in columns)


def _is_time(kind: str) -> bool:
    return kind == "DATE" or replaced(kind, ZONED) != kind


# -- expressions -----------------------------------------------------------------------------------


def in_utc(value: str, kind: str) -> str:
    """Return a value as one of a type, as SQL: of a text the offset counts, if it has one."""
    before, after = _turning(kind)
    return f"{before}{value}{after}"


def _turning(kind: str) -> tuple[str, str]:
    """Return what stands before and after a value that is turned to UTC. It is read once."""
    if kind != "DATE":
        return "CAST(CAST(", f" AS {replaced(kind, ZONED)}) AS {kind})"
    # most dates are no moments, and there are more of them
    return "list_transform([", (
        f"], lambda _cql_v: CASE WHEN regexp_matches(CAST(_cql_v AS VARCHAR), {OFFSET}) "
        "THEN CAST(CAST(_cql_v AS TIMESTAMP WITH TIME ZONE) AS DATE) "
        "ELSE CAST(_cql_v AS DATE) END)[1]"
    )


def _whole(value: Assigned) -> list[Edit]:
    """Return how an expression, and the texts that it may have as its value, are turned to UTC."""
    return [_turned(value), *_texts(value, itself=False)]


def _texts(value: Assigned, *, itself: bool) -> list[Edit]:
    """Return how the texts are turned to UTC that an expression may have as its value.

    Args:
        value: The expression.
        itself: Whether it may be the text itself.
    """
    if not itself and assignments.is_text(value.piece):
        return []
    found = (one for one in assignments.texts(value) if _is_time(one.type))
    return [_turned(one) for one in found if _may_have_offset(one)]


def _may_have_offset(value: Assigned) -> bool:
    """Return whether a text or parameter may have an offset that makes it another time."""
    token = value.piece[0]
    return token.token_type not in _PLAIN or _is_moved(token.text, value.type)


@functools.lru_cache(maxsize=1024)
def _is_moved(text: str, kind: str) -> bool:
    """Return whether a text of a type is another value in UTC."""
    if not _OFFSET.search(text):
        return False
    value = literal(text)
    sql = f"SELECT TRY({in_utc(value, kind)}) IS DISTINCT FROM TRY_CAST({value} AS {kind})"
    ((is_moved,),) = scratch().execute(sql).fetchall()
    return bool(is_moved)


def _turned(value: Assigned) -> Edit:
    return _edit(value.piece, *_turning(value.type))


def _edit(piece: assignments.Piece, before: str, after: str) -> Edit:
    return Edit(piece[0].start, piece[-1].end + 1, before, after)


def _edited(text: str, edits: list[Edit]) -> str:
    """Return a text with what is put around its pieces, of which one may be inside of another."""
    puts = [(e.start, 1, -e.end, e.before) for e in edits]
    puts += [(e.end, 0, -e.start, e.after) for e in edits]
    parts, done = [], 0
    for place, _, _, put in sorted(puts):
        parts += [text[done:place], put]
        done = place
    return "".join([*parts, text[done:]])
