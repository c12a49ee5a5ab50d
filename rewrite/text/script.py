"""CQL scripts, parsed to statements.

A script is split into statements at the tokens of sqlglot's DuckDB tokenizer. A statement of CQL
(CREATE STREAM, …) becomes a dataclass of `statements`; INSERT, UPDATE and DELETE become `Dml`,
because their target may be a stream or relation; every other statement is DuckDB's (`Sql`).

No class of sqlglot is subclassed: its compiled build forbids that. Windows and relation-to-stream
operators are cut out of the token list by `queries.parse_query`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sqlglot.tokens import Token, TokenType

from cqlduck.errors import Error, ParseError
from cqlduck.rewrite.text import spelling
from cqlduck.rewrite.text.continuous import alter_query, create_query
from cqlduck.rewrite.text.inputs import (
    alter_stream,
    create_relation,
    create_stream,
    refresh_relation,
)
from cqlduck.rewrite.text.reader import Reader
from cqlduck.rewrite.text.statements import Dml, Drop, Explain, ExplainCreate, Show, Sql, Statement
from cqlduck.rewrite.text.tokens import tokenize


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
        raise with_semicolon(error.at(text, reader.offset)) from error


def with_semicolon(error: Error) -> Error:
    """Return an error; its hint says so if it stands where another statement seems to begin."""
    if isinstance(error, ParseError) and error.text is not None and error.offset is not None:
        is_slip = error.hint is not None and error.hint.startswith("did you mean")
        word = None
        if not is_slip:
            word = spelling.begun(error.text, tokenize(error.text), error.offset)
        if word is not None:
            error.hint = f"a ; may be missing before {word}"
    return error


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
    return Sql(reader.statement_text(), offset)


def _read_create(reader: Reader, _: int) -> Statement | None:
    or_replace = reader.accept("OR", "REPLACE")
    if or_replace and reader.next_is("STREAM", "RELATION"):
        reader.fail(
            "OR REPLACE is for continuous queries",
            "IF NOT EXISTS leaves a stream or relation as it is; DROP removes it",
        )
    if reader.accept("STREAM"):
        return create_stream(reader)
    if reader.accept("RELATION"):
        return create_relation(reader)
    if reader.accept("CONTINUOUS"):
        reader.expect("QUERY")
        return create_query(reader, or_replace)
    reader.refuse_slip("OR REPLACE", alone=True)
    return None


def _read_drop(reader: Reader, _: int) -> Statement | None:
    for kind in ("STREAM", "RELATION", "CONTINUOUS"):
        if reader.accept(kind):
            if kind == "CONTINUOUS":
                reader.expect("QUERY")
            if_exists = reader.accept_if("IF EXISTS")
            at = reader.offset
            name = reader.object_name()
            cascade = reader.accept("CASCADE")
            if not cascade:
                reader.accept("RESTRICT")
            reader.end(("CASCADE", "RESTRICT"))
            return Drop("QUERY" if kind == "CONTINUOUS" else kind, name, if_exists, at, cascade)
    return None


def _read_refresh(reader: Reader, _: int) -> Statement | None:
    return refresh_relation(reader) if reader.accept("RELATION") else None


def _read_alter(reader: Reader, _: int) -> Statement | None:
    if reader.accept("CONTINUOUS"):
        reader.expect("QUERY")
        return alter_query(reader)
    return alter_stream(reader) if reader.accept("STREAM") else None


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
    if inner.accept("CREATE"):
        or_replace = inner.accept("OR", "REPLACE")
        if not inner.accept("CONTINUOUS"):
            return None
        inner.expect("QUERY")
        return ExplainCreate(create_query(inner, or_replace), reader.tokens[0].start)
    analyze = inner.accept("ANALYZE")
    inner.refuse_slip("CONTINUOUS QUERY", alone=True)
    if not inner.accept("CONTINUOUS"):
        return None
    inner.expect("QUERY")
    at = inner.offset
    name = inner.object_name()
    form = FORMS[0]
    if inner.accept("AS"):
        place = inner.offset
        form = inner.word().upper()
        if form not in FORMS:
            raise ParseError(f"a plan is not shown as {form}", hint=f"AS {', AS '.join(FORMS)}").at(
                inner.text, place
            )
    inner.end(("AS",))
    return Explain(name, at, analyze, form)


FORMS = ("TEXT", "JSON", "MERMAID", "SQL")
"""How EXPLAIN shows a plan."""


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
    whole, start = reader.statement_text(), reader.tokens[0].start
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
