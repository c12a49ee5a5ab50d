"""CQL scripts, parsed to statements.

A script is split into statements at the tokens of sqlglot's DuckDB tokenizer. A statement of CQL
(CREATE STREAM, …) becomes a dataclass of this module; INSERT, UPDATE and DELETE become `Dml`,
because their target may be a stream or relation; every other statement is DuckDB's (`Sql`).

No class of sqlglot is subclassed: its compiled build forbids that. Windows and relation-to-stream
operators are cut out of the token list by `queries.parse_query`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import SqlglotError
from sqlglot.tokens import Token, TokenType

from cqlduck.errors import BindError, Error, NotSupportedError, ParseError
from cqlduck.rewrite.text import spelling
from cqlduck.rewrite.text.spelling import suggestion
from cqlduck.rewrite.text.time import Duration, parse_duration

LATE_POLICIES = ("REJECT", "DROP", "KEEP", "AMEND")
MOST_NESTED = 5
"""How many WITH may stand in one another."""

_WITH = re.compile(r"\bWITH\b", re.IGNORECASE)
_HALF = re.compile("[\ud800-\udfff]")
SCHEMA, DATABASE = "main", "cqlduck"
"""Where streams, relations and queries are, for those who write it before a name."""

RESERVED = ("_ts", "_weight", "_op")
STORED = ("_cql_seq", "_cql_enter", "_cql_leave")
"""The columns that stand beside those of a stream or relation where it is stored."""
STREAM_CLAUSES = "TIMESTAMP BY, OUT OF ORDER WITHIN, LATE, AHEAD AT MOST and FROM 'folder'"
_OF_STREAM = ("TIMESTAMP BY", "OUT OF ORDER WITHIN", "LATE", "AHEAD AT MOST", "FROM")
_STREAM_WORDS = tuple(clause.split()[0] for clause in _OF_STREAM)
_OF_RELATION = ("PRIMARY KEY", "AT", "FROM")
_OPTIONS = {"history": ("true", "false"), "keep": ("unbounded", "default")}
"""The options of a query, and what each may be besides a duration."""

MOST_AHEAD = 6
"""How many words are looked at to say which of them is misspelt."""


def reserved(name: str) -> BindError:
    """Return the error that a column of a query has a name of ours."""
    return BindError(f"{name} is a reserved name", hint=f"write {name} AS something else")


@dataclass(frozen=True)
class CreateStream:
    """`CREATE STREAM name (columns)` with any of the clauses that `STREAM_CLAUSES` lists."""

    name: str
    columns: tuple[tuple[str, str], ...]
    timestamp_by: str | None = None
    bound: Duration | None = None
    late: str = "REJECT"
    source: str | None = None
    ahead: Duration | None = None
    if_not_exists: bool = False
    offset: int = 0


@dataclass(frozen=True)
class CreateRelation:
    """`CREATE RELATION name [(columns)] [PRIMARY KEY (…)] [[AT instant] FROM …]`.

    `source` is a folder of the drop zone, `query` SQL for its content; without columns it has the
    query's.
    """

    name: str
    columns: tuple[tuple[str, str], ...]
    primary_key: tuple[str, ...] = ()
    source: str | None = None
    query: str | None = None
    at: str | int | None = None
    if_not_exists: bool = False
    offset: int = 0


@dataclass(frozen=True)
class RefreshRelation:
    """`REFRESH RELATION name [AT instant] [FROM …]`."""

    name: str
    query: str | None = None
    at: str | int | None = None
    offset: int = 0


@dataclass(frozen=True)
class CreateQuery:
    """`CREATE [OR REPLACE] CONTINUOUS QUERY [IF NOT EXISTS] name [WITH (…)] AS body`."""

    name: str
    body: str
    options: tuple[tuple[str, str], ...] = ()
    or_replace: bool = False
    if_not_exists: bool = False
    offset: int = 0
    body_offset: int = 0


@dataclass(frozen=True)
class Drop:
    """`DROP STREAM|RELATION|CONTINUOUS QUERY [IF EXISTS] name`."""

    kind: str
    name: str
    if_exists: bool = False
    offset: int = 0


@dataclass(frozen=True)
class AlterQuery:
    """`ALTER CONTINUOUS QUERY name ACTIVATE [FROM NOW]|DEACTIVATE|SET (…)`."""

    name: str
    action: str
    options: tuple[tuple[str, str], ...] = ()
    offset: int = 0


@dataclass(frozen=True)
class AlterStream:
    """`ALTER STREAM name HEARTBEAT instant`."""

    name: str
    heartbeat: str | int
    offset: int = 0


@dataclass(frozen=True)
class Show:
    """`SHOW STREAMS|RELATIONS|CONTINUOUS QUERIES`."""

    kind: str
    offset: int = 0


@dataclass(frozen=True)
class Explain:
    """`EXPLAIN CONTINUOUS QUERY name`."""

    name: str
    offset: int = 0


@dataclass(frozen=True)
class Dml:
    """An INSERT, UPDATE or DELETE; `name` is its target as written, `text` the whole statement.

    `tokens` are those of the text, which may be long: no caller need tokenize it again. `start`
    is the place of the text in the script, and `offset` that of the name.
    """

    kind: str
    name: str
    text: str
    offset: int = 0
    start: int = field(default=0, compare=False)
    tokens: Sequence[Token] = field(default=(), repr=False, compare=False)


@dataclass(frozen=True)
class Sql:
    """A statement of DuckDB's own."""

    text: str
    offset: int = 0


Statement = (
    CreateStream
    | CreateRelation
    | RefreshRelation
    | CreateQuery
    | Drop
    | AlterQuery
    | AlterStream
    | Show
    | Explain
    | Dml
    | Sql
)


def bare(name: str) -> str:
    """Return a name without the schema of streams, relations and queries, if it begins with it.

    >>> bare("main.s"), bare("cqlduck.main.s"), bare("other.s")
    ('s', 's', 'other.s')
    """
    for prefix in (f"{DATABASE}.{SCHEMA}.", f"{SCHEMA}."):
        if name.lower().startswith(prefix):
            return name[len(prefix) :]
    return name


def tokenize(text: str) -> list[Token]:
    """Return the tokens of a text.

    Raises:
        ParseError: An unterminated string or comment, or half a character.
    """
    half = _HALF.search(text)
    if half is not None:
        raise ParseError(
            "half of a character that is written in two halves",
            hint="a text is Unicode; was it decoded with surrogateescape?",
            text=text,
            offset=half.start(),
        )
    try:
        return Dialect.get_or_raise("duckdb").tokenize(text)
    except SqlglotError as error:
        raise ParseError(
            "the text cannot be split into tokens",
            hint="a quote or a comment may be left open",
            text=text,
            offset=max(len(text) - 1, 0),
        ) from error


def has_same_words(left: str, right: str) -> bool:
    """Return whether two texts differ in nothing but comments and white space.

    >>> has_same_words("SELECT a /* one */ FROM s", "SELECT  a FROM s")
    True
    """
    both = ([(token.token_type, token.text) for token in tokenize(t)] for t in (left, right))
    return next(both) == next(both)


def refuse_nested_with(text: str) -> None:
    """Refuse WITH inside WITH inside WITH …, before DuckDB reads it.

    If something is wrong inside, DuckDB 2.0 tries each level in three ways: at ten levels it has
    filled five gigabytes by the time that it says so.

    Raises:
        ParseError: With the place of the first WITH that is too deep.
    """
    if len(_WITH.findall(text)) <= MOST_NESTED:
        return
    inside: list[bool] = []
    tokens = tokenize(text)
    for token, following in pairwise(tokens):
        if token.token_type == TokenType.L_PAREN:
            inside.append(following.token_type == TokenType.WITH)
        elif token.token_type == TokenType.R_PAREN and inside:
            inside.pop()
        if sum(inside) > MOST_NESTED:
            raise ParseError(
                "WITH is nested too deeply",
                hint="name the queries one after the other: WITH a AS (…), b AS (…)",
                text=text,
                offset=following.start,
            )


def parse_script(text: str) -> list[Statement]:
    """Cut a script into statements.

    >>> [type(s).__name__ for s in parse_script("CREATE STREAM s (a INT); SELECT 1;")]
    ['CreateStream', 'Sql']

    Raises:
        ParseError: With line, column and a caret.
    """
    statements: list[Statement] = []
    current: list[Token] = []
    for token in [*tokenize(text), None]:
        if token is not None and token.token_type != TokenType.SEMICOLON:
            current.append(token)
        elif current:
            statements.append(_statement(text, current))
            current = []
    return statements


def _statement(text: str, tokens: list[Token]) -> Statement:
    reader = Reader(text, tokens)
    try:
        return _read(reader)
    except Error as error:
        raise error.at(text, reader.offset) from error


def _read(reader: Reader) -> Statement:
    """Read a statement of CQL; all else is DuckDB's."""
    offset = reader.offset
    for word, read in _READ.items():
        if reader.accept(word):
            found = read(reader, offset)
            break
    else:
        found = _read_dml(reader)
    if found is not None:
        return found
    _refuse_misspelt(reader)
    return Sql(reader.whole(), offset)


def _read_create(reader: Reader, offset: int) -> Statement | None:
    or_replace = reader.accept("OR", "REPLACE")
    if or_replace and reader.next_is("STREAM", "RELATION"):
        reader.fail(
            "OR REPLACE is for continuous queries",
            "IF NOT EXISTS leaves a stream or relation as it is; DROP removes it",
        )
    if reader.accept("STREAM"):
        return _create_stream(reader, offset)
    if reader.accept("RELATION"):
        return _create_relation(reader, offset)
    if reader.accept("CONTINUOUS"):
        reader.expect("QUERY")
        return _create_query(reader, offset, or_replace)
    reader.refuse_slip("OR REPLACE", alone=True)
    return None


def _read_drop(reader: Reader, _: int) -> Statement | None:
    for kind in ("STREAM", "RELATION", "CONTINUOUS"):
        if reader.accept(kind):
            if kind == "CONTINUOUS":
                reader.expect("QUERY")
            if_exists = reader.accept_if("IF EXISTS")
            at = reader.offset
            name = reader.thing()
            reader.end()
            return Drop("QUERY" if kind == "CONTINUOUS" else kind, name, if_exists, at)
    return None


def _read_refresh(reader: Reader, _: int) -> Statement | None:
    return _refresh_relation(reader) if reader.accept("RELATION") else None


def _read_alter(reader: Reader, _: int) -> Statement | None:
    if reader.accept("CONTINUOUS"):
        reader.expect("QUERY")
        return _alter_query(reader)
    return _alter_stream(reader) if reader.accept("STREAM") else None


def _read_show(reader: Reader, offset: int) -> Statement | None:
    for words in (("STREAMS",), ("RELATIONS",), ("CONTINUOUS", "QUERIES")):
        if reader.accept(*words):
            reader.end()
            return Show(words[-1], offset)
    if reader.accept("CONTINUOUS"):
        reader.expect("QUERIES")
    return None


def _read_explain(reader: Reader, _: int) -> Statement | None:
    # the tokenizer keeps what follows EXPLAIN as one string
    inner = Reader(reader.text, _shifted(reader.text, reader.tokens[0].end + 1))
    inner.refuse_slip("CONTINUOUS QUERY", alone=True)
    if not inner.accept("CONTINUOUS"):
        return None
    inner.expect("QUERY")
    at = inner.offset
    name = inner.thing()
    inner.end()
    return Explain(name, at)


_READ: Mapping[str, Callable[[Reader, int], Statement | None]] = {
    "CREATE": _read_create,
    "DROP": _read_drop,
    "REFRESH": _read_refresh,
    "ALTER": _read_alter,
    "SHOW": _read_show,
    "EXPLAIN": _read_explain,
}
"""How statements go on after their first word; None if they are DuckDB's."""


def _read_dml(reader: Reader) -> Statement | None:
    reader.skip_with()
    for words in (("INSERT", "INTO"), ("DELETE", "FROM"), ("UPDATE",)):
        if reader.accept(*words):
            at = reader.offset
            if reader.peek_name():
                return _dml(reader, words[0], at)
    if reader.next_is("INSERT", "DELETE"):
        reader.refuse_slip("INSERT INTO", "DELETE FROM")
    return None


def _refuse_misspelt(reader: Reader) -> None:
    """Refuse a statement that DuckDB has not, and that is almost one of ours.

    Raises:
        ParseError: With the place of the word, and what was meant.
    """
    words = [token for token in reader.tokens[:4] if token.token_type != TokenType.STRING]
    if not words or words[0].text.upper() in spelling.OTHERS:
        return
    opening = words[0].text.upper()
    wrong = words[0]
    known = spelling.OPENINGS
    if opening in ("CREATE", "DROP", "ALTER", "REFRESH", "SHOW"):
        rest = [w for w in words[1:] if w.text.upper() not in ("OR", "REPLACE", "OR REPLACE")]
        if not rest or rest[0].text.upper() in spelling.DUCKDB_KINDS:
            return
        wrong = rest[0]
        known = spelling.PLURALS if opening == "SHOW" else spelling.KINDS
    found = spelling.meant(wrong.text, known)
    if found is not None and wrong.token_type == TokenType.VAR:
        raise ParseError(f"{wrong.text} cannot stand here", hint=f"did you mean {found}?").at(
            reader.text, wrong.start
        )


def _dml(reader: Reader, kind: str, at: int) -> Dml:
    """Read the target; `main.` before it is left out of the text, so that places stay."""
    whole, start = reader.whole(), reader.tokens[0].start
    reader.schema()
    after = reader.offset
    begin, end = at - start, after - start
    text = whole[:begin] + " " * (end - begin) + whole[end:]
    tokens = reader.tokens
    if begin < end:
        tokens = [token for token in tokens if not at <= token.start < after]
    return Dml(kind, reader.dotted_name(), text, at, start, _from(tokens, start))


def _from(tokens: Sequence[Token], start: int) -> Sequence[Token]:
    """Return tokens with their places from a start on."""
    if not start:
        return tokens
    return [
        Token(t.token_type, t.text, t.line, t.col, t.start - start, t.end - start, t.comments)
        for t in tokens
    ]


def _shifted(text: str, offset: int) -> list[Token]:
    """Tokenize the rest of one statement, with places in the whole text."""
    tokens = tokenize(" " * offset + text[offset:])
    ends = [i for i, t in enumerate(tokens) if t.token_type == TokenType.SEMICOLON]
    return tokens[: ends[0]] if ends else tokens


def _create_stream(reader: Reader, offset: int) -> CreateStream:
    if_not_exists = reader.accept_if("IF NOT EXISTS")
    at = reader.offset
    name = reader.thing()
    columns, _ = _columns(reader, "STREAM")
    timestamp_by: str | None = None
    bound: Duration | None = None
    ahead: Duration | None = None
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
    del offset
    return CreateStream(name, columns, timestamp_by, bound, late, source, ahead, if_not_exists, at)


def _create_relation(reader: Reader, offset: int) -> CreateRelation:
    if_not_exists = reader.accept_if("IF NOT EXISTS")
    at = reader.offset
    name = reader.thing()
    bare = reader.next_is("PRIMARY", "AT", "FROM")
    columns, key = ((), None) if bare else _columns(reader, "RELATION")
    source = query = moment = None
    while not reader.done:
        if reader.accept("PRIMARY", "KEY"):
            key = _one_key(reader, key, _key_columns(reader))
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
                _OF_RELATION,
            )
    if query is None and (bare or moment is not None):
        reader.fail("FROM with a table or a query is missing", "as in: FROM (SELECT …)")
    known = {column.lower(): column for column, _ in columns}
    for part in key or ():
        if part.lower() not in known and not bare:
            raise ParseError(
                f"PRIMARY KEY names {part}, which is no column of {name}",
                hint=f"columns: {', '.join(c for c, _ in columns)}",
            ).at(reader.text, at)
    del offset
    kept = tuple(known.get(part.lower(), part) for part in key or ())
    return CreateRelation(name, columns, kept, source, query, moment, if_not_exists, at)


def _refresh_relation(reader: Reader) -> RefreshRelation:
    at = reader.offset
    name = reader.thing()
    moment = _moment(reader) if reader.accept("AT") else None
    query = _query_after_from(reader) if reader.accept("FROM") else None
    reader.end(("AT", "FROM"))
    return RefreshRelation(name, query, moment, at)


def _moment(reader: Reader) -> str | int:
    """Read an instant: a string, or an integer."""
    if reader.next_is_string:
        return reader.string()
    sign = -1 if reader.accept("-") else 1
    at = reader.offset
    word = reader.word()
    if not word.isdigit():
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


def _create_query(reader: Reader, offset: int, or_replace: bool) -> CreateQuery:
    place = reader.offset
    if_not_exists = reader.accept_if("IF NOT EXISTS")
    if or_replace and if_not_exists:
        raise ParseError(
            "OR REPLACE and IF NOT EXISTS contradict each other",
            hint="OR REPLACE replaces the query, IF NOT EXISTS leaves it unchanged",
        ).at(reader.text, place)
    at = reader.offset
    name = reader.thing()
    options: tuple[tuple[str, str], ...] = ()
    if reader.accept("WITH"):
        options = _options(reader)
    elif not reader.next_is("AS"):
        reader.fail("expected AS here", known=("AS", "WITH"))
    reader.expect("AS")
    if reader.done:
        reader.fail("the query is missing after AS", "write SELECT … FROM a stream or relation")
    del offset
    body = reader.rest()
    return CreateQuery(name, body, options, or_replace, if_not_exists, at, reader.offset)


def _alter_query(reader: Reader) -> AlterQuery:
    at = reader.offset
    name = reader.thing()
    for action in ("ACTIVATE", "DEACTIVATE"):
        if reader.accept(action):
            if action == "ACTIVATE" and reader.accept("FROM", "NOW"):
                action = "ACTIVATE FROM NOW"
            reader.end(("FROM NOW",))
            return AlterQuery(name, action, (), at)
    if reader.accept("SET"):
        options = _options(reader)
        reader.end()
        return AlterQuery(name, "SET", options, at)
    reader.fail(
        "ALTER CONTINUOUS QUERY needs an action",
        "write ACTIVATE, ACTIVATE FROM NOW, DEACTIVATE or SET (…)",
        ("ACTIVATE", "DEACTIVATE", "SET"),
    )
    raise AssertionError


def _alter_stream(reader: Reader) -> AlterStream:
    at = reader.offset
    name = reader.thing()
    if not reader.accept("HEARTBEAT"):
        reader.fail(
            "ALTER STREAM needs HEARTBEAT", "as in: ALTER STREAM s HEARTBEAT 120", ("HEARTBEAT",)
        )
    moment = _moment(reader)
    reader.end()
    return AlterStream(name, moment, at)


def _options(reader: Reader) -> tuple[tuple[str, str], ...]:
    """Read `(name = value, …)`.

    Raises:
        BindError: There is no such option.
        ParseError: An option that is there twice, or a value that it cannot have.
    """
    reader.expect("(")
    options: dict[str, str] = {}
    while True:
        at, key = reader.offset, reader.word().lower()
        if key not in _OPTIONS:
            raise BindError(
                f"there is no option {key}", hint=suggestion(key, _OPTIONS, "the options are")
            ).at(reader.text, at)
        if key in options:
            raise ParseError(f"the option {key} is there twice", hint="write one of them").at(
                reader.text, at
            )
        reader.accept("=")
        options[key] = _option(reader, key)
        if not reader.accept(","):
            break
    reader.expect(")")
    return tuple(options.items())


def _option(reader: Reader, key: str) -> str:
    """Read the value of an option.

    Raises:
        ParseError: It is none.
    """
    at, words, value = reader.offset, _OPTIONS[key], reader.value()
    if value.lower() not in words:
        shown = f"{key} is a duration, as '7 days', or {' or '.join(words)}"
        try:
            parse_duration(value)
        except ParseError as error:
            hint = error.hint if error.hint and "did you mean" in error.hint else shown
            raise ParseError(error.message, hint=suggestion(value, words, hint, every=False)).at(
                reader.text, at
            ) from error
    return value


def _key_columns(reader: Reader) -> tuple[str, ...]:
    """Read the names of the columns of a key.

    Raises:
        ParseError: One of them is there twice.
    """
    reader.expect("(")
    names: dict[str, str] = {}
    while not names or reader.accept(","):
        place, name = reader.offset, reader.name()
        if name.lower() in names:
            raise ParseError(f"column {name} is in the key twice", hint="write it once").at(
                reader.text, place
            )
        names[name.lower()] = name
    reader.expect(")")
    return tuple(names.values())


def _columns(
    reader: Reader, kind_of: str
) -> tuple[tuple[tuple[str, str], ...], tuple[str, ...] | None]:
    """Read `(name TYPE, …)`, and the PRIMARY KEY of a relation inside the parentheses, if any.

    Raises:
        ParseError: They are no columns.
        NotSupportedError: A constraint, which would not be kept.
    """
    if not reader.accept("("):
        known = _OF_RELATION if kind_of == "RELATION" else ()
        reader.fail("the columns are missing", "write them as (name TYPE, …)", known)
    columns: list[tuple[str, str]] = []
    key: tuple[str, ...] | None = None
    while True:
        reader.refuse_slip("PRIMARY KEY", alone=True)
        if _is_of_table(reader):
            key = _key(reader, kind_of, key)
        else:
            at, name = reader.offset, reader.name()
            if name.lower() in (*RESERVED, *STORED):
                raise ParseError(
                    f"{name} is a reserved name", hint="give the column another name"
                ).at(reader.text, at)
            if name.lower() in (known.lower() for known, _ in columns):
                raise ParseError(f"column {name} is declared twice").at(reader.text, at)
            kind = reader.until_comma(tuple(CONSTRAINTS))
            if not kind and not reader.next_is("GENERATED", "AS"):
                reader.fail(f"the type of column {name} is missing", "as in: price DOUBLE")
            columns.append((name, kind))
            while reader.next_is(*CONSTRAINTS):
                key = _key(reader, kind_of, key, name)
        if not reader.accept(","):
            break
    reader.expect(")")
    if not columns:
        reader.fail("there are no columns", "write them as (name TYPE, …)")
    return tuple(columns), key


CONSTRAINTS = {
    "PRIMARY": "a stream has no key: it takes every element; use a relation",
    "NOT": "leave it out, and such rows with WHERE … IS NOT NULL in the query",
    "NULL": "leave it out: every column may be NULL",
    "DEFAULT": "leave it out; give the value with the row, or coalesce(…) in the query",
    "CHECK": "leave it out, and such rows with WHERE in the query",
    "UNIQUE": "a relation may have a PRIMARY KEY",
    "REFERENCES": "leave it out, and join in the query",
    "FOREIGN": "leave it out, and join in the query",
    "CONSTRAINT": "leave it out; a relation may have a PRIMARY KEY, without a name",
    "GENERATED": "leave the column out, and compute it in the query",
    "AS": "leave the column out, and compute it in the query",
    "COLLATE": "leave it out, and write COLLATE in the query",
    "USING": "leave it out: DuckDB compresses by itself",
}
"""How what may follow a type in CREATE TABLE begins, and what to do here instead."""

_SHOWN = {"PRIMARY": "PRIMARY KEY", "NOT": "NOT NULL", "FOREIGN": "FOREIGN KEY",
          "GENERATED": "GENERATED AS", "AS": "GENERATED AS"}  # fmt: skip


def _is_of_table(reader: Reader) -> bool:
    """Return whether a constraint of the table is next, not a column that is called so."""
    after = {"CHECK": ("(",), "UNIQUE": ("(",), "FOREIGN": ("KEY",), "PRIMARY": ("KEY",)}
    place = reader.position
    if reader.accept("CONSTRAINT") and reader.peek_name():
        reader.name()
        found = reader.next_is(*after)
    else:
        reader.position = place
        found = any(reader.accept(word, *following) for word, following in after.items())
    reader.position = place
    return found


def _key(
    reader: Reader, kind_of: str, known: tuple[str, ...] | None, column: str | None = None
) -> tuple[str, ...]:
    """Read PRIMARY KEY of a relation, which is kept.

    Raises:
        NotSupportedError: It is another constraint, or a key of a stream.
        ParseError: There is a key already.
    """
    at = reader.offset
    if kind_of == "RELATION" and reader.accept("PRIMARY", "KEY"):
        return _one_key(reader, known, _key_columns(reader) if column is None else (column,))
    word = reader.word().upper().split()[0]
    of = "" if column is None else f" on column {column}"
    raise NotSupportedError(
        f"{_SHOWN.get(word, word)}{of} in CREATE {kind_of}",
        hint=CONSTRAINTS[word],
        text=reader.text,
        offset=at,
    )


def _one_key(
    reader: Reader, known: tuple[str, ...] | None, key: tuple[str, ...]
) -> tuple[str, ...]:
    """Return a key, the only one.

    Raises:
        ParseError: There is one already.
    """
    if known is not None:
        raise ParseError(
            "there are two primary keys",
            hint="write one, as in PRIMARY KEY (a, b)",
            text=reader.text,
            offset=reader.offset,
        )
    return key


class Reader:
    """A cursor over the tokens of one statement; every failure has a place."""

    def __init__(self, text: str, tokens: Sequence[Token]) -> None:
        """Begin at the first token."""
        self.text = text
        self.tokens = tokens
        self.position = 0
        self._clauses: set[str] = set()

    @property
    def done(self) -> bool:
        """Whether all tokens are read."""
        return self.position >= len(self.tokens)

    @property
    def offset(self) -> int:
        """The place of the next token, or the end of the last one."""
        if not self.tokens:
            return 0
        return self.tokens[-1].end if self.done else self.tokens[self.position].start

    def _upper(self, ahead: int = 0) -> list[str]:
        """The words of the token `ahead` of the next one; `PARTITION BY` is one token."""
        place = self.position + ahead
        if place >= len(self.tokens):
            return []
        token = self.tokens[place]
        if token.token_type in (TokenType.STRING, TokenType.IDENTIFIER):
            return []
        return token.text.upper().split()

    def accept(self, *words: str) -> bool:
        """Step over these words if they are next."""
        ahead, left = 0, list(words)
        while left:
            found = self._upper(ahead)
            if not found or left[: len(found)] != found:
                return False
            left = left[len(found) :]
            ahead += 1
        self.position += ahead
        return True

    def clause(self, *words: str) -> bool:
        """Step over the words that a clause begins with, if they are next.

        Raises:
            ParseError: The statement has this clause already.
        """
        place, phrase = self.offset, " ".join(words)
        if not self.accept(*words):
            return False
        if phrase in self._clauses:
            raise ParseError(f"{phrase} is there twice", hint="write it once").at(self.text, place)
        self._clauses.add(phrase)
        return True

    def accept_if(self, phrase: str) -> bool:
        """Step over IF EXISTS or IF NOT EXISTS, if it is next; a name may be next as well.

        Raises:
            ParseError: One word of it is misspelt.
        """
        self.refuse_slip(phrase, alone=True)
        return self.accept(*phrase.split())

    def expect(self, *words: str) -> None:
        """Step over these words, or fail."""
        if not self.accept(*words):
            self.fail(f"expected {' '.join(words)} here", known=(" ".join(words),))

    def fail(self, message: str, hint: str | None = None, known: Sequence[str] = ()) -> None:
        """Raise a `ParseError` at the next token, or at the next one that is misspelt.

        Args:
            message: What is wrong.
            hint: What to do, unless something is misspelt.
            known: The phrases that may stand here.
        """
        slip = self._slip(known, alone=False)
        place, hint = (self.position, hint) if slip is None else (slip[0], _meaning(slip[1]))
        found = "" if self.done else f", found {self.tokens[place].text!r}"
        offset = self.offset if self.done else self.tokens[place].start
        raise ParseError(f"{message}{found}", hint=hint, text=self.text, offset=offset)

    def refuse_slip(self, *phrases: str, alone: bool = False) -> None:
        """Raise a `ParseError` if a phrase is next of which a word is misspelt."""
        slip = self._slip(phrases, alone=alone)
        if slip is not None:
            token = self.tokens[slip[0]]
            raise ParseError(f"{token.text} cannot stand here", hint=_meaning(slip[1])).at(
                self.text, token.start
            )

    def _slip(self, phrases: Sequence[str], *, alone: bool) -> tuple[int, str] | None:
        """Return the place of a misspelt token among the next ones and what was meant, or None."""
        words: list[tuple[int, str]] = []
        for ahead in range(MOST_AHEAD):
            found = self._upper(ahead)
            if not found:
                break
            words += [(self.position + ahead, word) for word in found]
        slip = spelling.slip([word for _, word in words], phrases, alone=alone)
        return None if slip is None else (words[slip[0]][0], slip[1])

    def word(self) -> str:
        """Read any one token as text."""
        if self.done:
            self.fail("the statement ends too early")
        self.position += 1
        return self.tokens[self.position - 1].text

    def next_is(self, *words: str) -> bool:
        """Whether one of these words is next."""
        return any(word in words for word in self._upper()[:1])

    @property
    def next_is_string(self) -> bool:
        """Whether a string is next."""
        return not self.done and self.tokens[self.position].token_type == TokenType.STRING

    def peek_name(self) -> bool:
        """Whether a name is next."""
        if self.done:
            return False
        token = self.tokens[self.position]
        if token.token_type == TokenType.IDENTIFIER:
            return True
        plain = token.text.replace("_", "a")
        return token.token_type != TokenType.STRING and plain.isalnum() and not plain[0].isdigit()

    def name(self) -> str:
        """Read a name, quoted or not."""
        if not self.peek_name():
            self.fail("expected a name here")
        return self.word()

    def schema(self) -> None:
        """Step over `main.` or `cqlduck.main.`: streams, relations and queries are in no other."""
        schema, database = SCHEMA.upper(), DATABASE.upper()
        if not self.accept(database, ".", schema, "."):
            self.accept(schema, ".")

    def thing(self) -> str:
        """Read the name of a stream, relation or query, with or without its schema."""
        self.schema()
        return self.name()

    def skip_with(self) -> None:
        """Step over WITH and its queries, if an INSERT, UPDATE or DELETE follows them."""
        if not self.next_is("WITH"):
            return
        depth = 0
        for place, token in enumerate(self.tokens):
            if token.token_type == TokenType.L_PAREN:
                depth += 1
            elif token.token_type == TokenType.R_PAREN:
                depth -= 1
                words = self._upper(place + 1 - self.position)[:1]
                if depth == 0 and words and words[0] in ("INSERT", "UPDATE", "DELETE"):
                    self.position = place + 1
                    return

    def dotted_name(self) -> str:
        """Read `a.b.c`, joined by dots."""
        return ".".join(self.names())

    def names(self) -> tuple[str, ...]:
        """Read the names in `a.b.c`, each of which may have dots of its own between quotes."""
        parts = [self.name()]
        while self.accept("."):
            parts.append(self.name())
        return tuple(parts)

    def string(self) -> str:
        """Read a string literal."""
        if self.done or self.tokens[self.position].token_type != TokenType.STRING:
            self.fail("expected a string in single quotes here", "as in FROM 'flights'")
        return self.word()

    def value(self) -> str:
        """Read an option's value: the text up to the next comma or closing parenthesis."""
        return self.until_comma().strip("'")

    def until_comma(self, stops: tuple[str, ...] = ()) -> str:
        """Read the text up to the comma, the parenthesis or the word that ends this item."""
        depth, first = 0, self.position
        while not self.done:
            found = self.tokens[self.position].token_type
            if depth == 0 and (
                found in (TokenType.COMMA, TokenType.R_PAREN) or self.next_is(*stops)
            ):
                break
            if found in (TokenType.L_PAREN, TokenType.L_BRACKET):
                depth += 1
            elif found in (TokenType.R_PAREN, TokenType.R_BRACKET):
                depth -= 1
            self.position += 1
        if self.position == first:
            return ""
        return self.text[self.tokens[first].start : self.tokens[self.position - 1].end + 1]

    def duration(self, stops: tuple[str, ...], clauses: Sequence[str] = ()) -> Duration:
        """Read a duration up to the end or one of the words in `stops`, with which clauses begin.

        Args:
            stops: The words.
            clauses: The clauses as a whole, if they are more than one word.

        Raises:
            ParseError: It is none, or one of the clauses after it is misspelt.
        """
        at, first = self.offset, self.position
        while not self.done and not set(self._upper()) & set(stops):
            self.position += 1
        if self.position == first:
            self.fail("a duration is missing", "as in 5 MINUTES")
        body = self.text[self.tokens[first].start : self.tokens[self.position - 1].end + 1]
        try:
            return parse_duration(body, at)
        except ParseError as error:
            self.position = first
            while not self.done:
                self.position += 1
                self.refuse_slip(*(clauses or stops))
            raise error.at(self.text, at) from error

    def rest(self) -> str:
        """Return the text from the next token to the end of the statement."""
        return self.text[self.offset : self.tokens[-1].end + 1]

    def whole(self) -> str:
        """Return the text of the whole statement."""
        return self.text[self.tokens[0].start : self.tokens[-1].end + 1]

    def end(self, known: Sequence[str] = ()) -> None:
        """Fail if anything is left; one of the clauses in `known` may be meant."""
        if not self.done:
            self.fail("the statement should end here", known=known)


def _meaning(word: str) -> str:
    return f"did you mean {word}?"
