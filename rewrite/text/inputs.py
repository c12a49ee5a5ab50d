"""CREATE, ALTER and REFRESH of the inputs: streams and relations."""

from __future__ import annotations

from cqlduck.errors import ParseError
from cqlduck.rewrite.text.columns import RELATION_CLAUSES, columns_and_key, key_columns, one_key
from cqlduck.rewrite.text.options import OF_STREAMS, read_options
from cqlduck.rewrite.text.reader import Reader
from cqlduck.rewrite.text.spelling import suggestion
from cqlduck.rewrite.text.statements import (
    AlterStream,
    CreateRelation,
    CreateStream,
    RefreshRelation,
)
from cqlduck.rewrite.text.time import WrittenDuration
from cqlduck.rewrite.text.tokens import are_digits

LATE_POLICIES = ("REJECT", "DROP", "KEEP", "AMEND")


STREAM_CLAUSES = "TIMESTAMP BY, OUT OF ORDER WITHIN, LATE, AHEAD AT MOST and FROM 'folder'"


_OF_STREAM = ("TIMESTAMP BY", "OUT OF ORDER WITHIN", "LATE", "AHEAD AT MOST", "FROM")


_STREAM_WORDS = tuple(clause.split()[0] for clause in _OF_STREAM)


def create_stream(reader: Reader) -> CreateStream:
    """Read CREATE STREAM from IF NOT EXISTS or the name on."""
    if_not_exists = reader.accept_if("IF NOT EXISTS")
    at = reader.offset
    name = reader.object_name()
    columns, _ = columns_and_key(reader, "STREAM")
    timestamp_by: str | None = None
    bound: WrittenDuration | None = None
    ahead: WrittenDuration | None = None
    late, source = "REJECT", None
    while not reader.done:
        if reader.clause("TIMESTAMP", "BY"):
            place = reader.offset
            written = reader.name()
            known = {column.lower(): column for column, _ in columns}
            if written.lower() not in known:
                raise ParseError(
                    f"TIMESTAMP BY names {written}, which is no column of {name}",
                    hint=f"columns: {', '.join(c for c, _ in columns)}",
                ).at(reader.text, place)
            timestamp_by = known[written.lower()]
        elif reader.clause("OUT", "OF", "ORDER", "WITHIN"):
            bound = reader.duration(_STREAM_WORDS, _OF_STREAM)
        elif reader.clause("AHEAD", "AT", "MOST"):
            ahead = reader.duration(_STREAM_WORDS, _OF_STREAM)
        elif reader.clause("LATE"):
            place = reader.offset
            late = reader.word().upper()
            if late not in LATE_POLICIES:
                raise ParseError(
                    f"LATE is one of {', '.join(LATE_POLICIES)}, not {late}",
                    hint=suggestion(late, LATE_POLICIES, "as in LATE KEEP", every=False),
                ).at(reader.text, place)
        elif reader.clause("FROM"):
            source = reader.string()
        else:
            reader.fail(
                "this is no clause of CREATE STREAM",
                f"the clauses are {STREAM_CLAUSES}",
                _OF_STREAM,
            )
    return CreateStream(name, columns, timestamp_by, bound, late, source, ahead, if_not_exists, at)


def create_relation(reader: Reader) -> CreateRelation:
    """Read CREATE RELATION from IF NOT EXISTS or the name on."""
    if_not_exists = reader.accept_if("IF NOT EXISTS")
    at = reader.offset
    name = reader.object_name()
    bare = reader.next_is("PRIMARY", "AT", "FROM")
    columns, key = ((), None) if bare else columns_and_key(reader, "RELATION")
    source = query = moment = None
    while not reader.done:
        if reader.accept("PRIMARY", "KEY"):
            key = one_key(reader, key, key_columns(reader))
        elif reader.clause("AT"):
            moment = _moment(reader)
        elif reader.clause("FROM"):
            if reader.next_is_string:
                source = reader.string()
            else:
                query = _query_after_from(reader)
        else:
            reader.fail(
                "this is no clause of CREATE RELATION",
                "the clauses are PRIMARY KEY (columns), AT instant, and FROM 'folder' or a query",
                RELATION_CLAUSES,
            )
    if query is None and (bare or moment is not None):
        hint = "as in: FROM (SELECT …)"
        if source is not None:
            hint = (
                "a text is a folder of the drop zone, behind columns; of a file: FROM read_csv('…')"
            )
        reader.fail("FROM with a table or a query is missing", hint)
    known = {column.lower(): column for column, _ in columns}
    for part in key or ():
        if part.lower() not in known and not bare:
            raise ParseError(
                f"PRIMARY KEY names {part}, which is no column of {name}",
                hint=f"columns: {', '.join(c for c, _ in columns)}",
            ).at(reader.text, at)
    kept = tuple(known.get(part.lower(), part) for part in key or ())
    return CreateRelation(name, columns, kept, source, query, moment, if_not_exists, at)


def refresh_relation(reader: Reader) -> RefreshRelation:
    """Read REFRESH RELATION from the name on."""
    at = reader.offset
    name = reader.object_name()
    moment = _moment(reader) if reader.accept("AT") else None
    query = _query_after_from(reader) if reader.accept("FROM") else None
    reader.end(("AT", "FROM"))
    return RefreshRelation(name, query, moment, at)


def alter_stream(reader: Reader) -> AlterStream:
    """Read ALTER STREAM from the name on."""
    at = reader.offset
    name = reader.object_name()
    if reader.accept("SET"):
        options = read_options(reader, OF_STREAMS)
        reader.end()
        return AlterStream(name, None, at, options)
    if not reader.accept("HEARTBEAT"):
        reader.fail(
            "ALTER STREAM needs HEARTBEAT or SET",
            "as in: ALTER STREAM s HEARTBEAT 120, or ALTER STREAM s SET (late = keep)",
            ("HEARTBEAT", "SET"),
        )
    moment = _moment(reader)
    reader.end()
    return AlterStream(name, moment, at)


def _moment(reader: Reader) -> str | int:
    """Read an instant: a string, or an integer."""
    if reader.next_is_string:
        return reader.string()
    sign = -1 if reader.accept("-") else 1
    at = reader.offset
    word = reader.word()
    if not are_digits(word):
        raise ParseError(
            f"{word} is no instant", hint="write an integer, or a text such as '2013-01-01 12:00'"
        ).at(reader.text, at)
    return sign * int(word)


BEFORE_ITEM = "FROM "
"""What makes a query of a table's name, or of what else can stand in FROM."""


def _query_after_from(reader: Reader) -> str:
    """Read the rest of the statement as SQL: what stands after FROM, or a whole query."""
    if reader.done:
        reader.fail("a table or a query is missing after FROM", "as in: FROM (SELECT …)")
    whole = reader.next_is("SELECT", "WITH", "VALUES", "FROM")
    rest = reader.rest()
    reader.position = len(reader.tokens)
    return rest if whole else BEFORE_ITEM + rest
