"""Scripts: statements of CQL and of DuckDB run one after another, inside one change."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import duckdb
import pyarrow as pa

from cqlduck import moments
from cqlduck.data import relation
from cqlduck.engine import Engine
from cqlduck.errors import Error
from cqlduck.queryplan import plan_of
from cqlduck.registration import activation, explaining, inputs, queries
from cqlduck.rewrite import parse_script
from cqlduck.rewrite.text.script import with_semicolon
from cqlduck.rewrite.text.statements import (
    AlterQuery,
    AlterStream,
    CreateQuery,
    CreateRelation,
    CreateStream,
    Dml,
    Drop,
    Explain,
    ExplainCreate,
    RefreshRelation,
    Show,
    Sql,
    Statement,
)
from cqlduck.rewrite.text.tokens import refuse_nested_with, tokenize
from cqlduck.state.frames import readable
from cqlduck.state.profile import INGEST
from cqlduck.state.registered import Query
from cqlduck.state.running import Parameters
from cqlduck.statements import dml, plain_sql, properties, refresh
from cqlduck.statements.translated import from_duckdb, placed, too_deep

Rows = duckdb.DuckDBPyRelation | None
"""What a statement returns: rows, if it has any."""


class Upkeep(Protocol):
    """Brings queries to where ticks would have brought them."""

    def bring_up(self, queries: Sequence[Query]) -> None:
        """Bring these there, as far as they can go."""
        ...

    def bring_up_read(self, text: str) -> None:
        """Bring those there that a text may read."""
        ...


_VIEWS = {"STREAMS": "cql.streams", "RELATIONS": "cql.relations", "QUERIES": "cql.queries"}
_SETTING = ("SET", "RESET", "PRAGMA")
_ROWS_ALONE = ("INSERT", "UPDATE", "DELETE", "TRUNCATE")


def run(
    engine: Engine,
    text: str,
    parameters: Parameters,
    frames: Callable[[str], Mapping[str, pa.Table]],
    reader: Upkeep,
) -> Rows:
    """Run statements, all of them or none; return the rows of the last one, if it has any.

    Args:
        engine: The engine.
        text: The statements.
        parameters: Values for the parameters of a single statement.
        frames: Returns the data frames that a text may read by name.
        reader: Brings queries up to date that the statements read.

    Raises:
        Error: Of the family, with the place in `text`.
    """
    plain_sql.refuse_changes_inside(text)
    statements = parse_script(text)
    if parameters is not None and len(statements) > 1:
        raise Error("parameters need a single statement", hint="run the statements one by one")
    result: Rows = None
    with engine.opened():
        read = _queries_read(engine, statements, text)
    named = frames(read)
    with engine.database.interrupts.deferred, engine.opened():
        # what is registered anew, or set, finds all where ticks would have brought it
        if behind := engine.behind():
            sets = not all(map(_sets_nothing, statements))
            if sets:
                reader.bring_up(behind)
            else:
                reader.bring_up_read(text)
        with readable(engine.database.connection, named), engine.changing():
            engine.reading(everything=True)
            for statement in statements:
                try:
                    result = _run(engine, statement, parameters)
                except duckdb.Error as error:
                    raise with_semicolon(from_duckdb(error, text, statement.offset)) from error
                except Error as error:
                    raise placed(error, statement, text) from error
                except RecursionError as error:
                    raise too_deep(text, statement.offset) from error
    return result


def _sets_nothing(statement: Statement) -> bool:
    """Return whether a statement only reads, or gives elements to inputs."""
    match statement:
        case Explain() | ExplainCreate() | Show():
            return True
        case Dml():
            return statement.name.lower() not in properties.NAMES
        case Sql():
            # what is wrong with it is said where it runs
            with contextlib.suppress(Error):
                return plain_sql.reads(statement.text)
    return False


def _queries_read(engine: Engine, statements: Sequence[Statement], text: str) -> str:
    """Return a script, with the queries of relations behind it that it reads anew."""
    known = engine.catalogue.inputs
    again = [s.name.lower() for s in statements if isinstance(s, RefreshRelation)]
    kept = [known[name].query for name in again if name in known]
    return "\n".join([text, *(query for query in kept if query is not None)])


def _run(engine: Engine, statement: Statement, parameters: Parameters) -> Rows:
    match statement:
        case CreateStream() | CreateRelation():
            made = inputs.create(engine, statement)
            if made and isinstance(statement, CreateRelation) and statement.query is not None:
                refresh.from_query(engine, statement.name, statement.query, statement.at)
                engine.close_beginning(engine.input(statement.name))
        case RefreshRelation():
            refresh.from_query(engine, statement.name, statement.query, statement.at)
        case CreateQuery():
            queries.create(engine, statement)
        case Drop():
            (queries if statement.kind == "QUERY" else inputs).drop(engine, statement)
        case AlterQuery():
            activation.alter(engine, statement)
        case AlterStream(heartbeat=None):
            inputs.set_options(engine, statement.name, dict(statement.options))
        case AlterStream():
            to = moments.heartbeat_instant(engine, statement.heartbeat)
            inputs.lower_heartbeat(engine, statement.name, to)
        case Show():
            return _copied(engine, f"SELECT * FROM {_VIEWS[statement.kind]}")
        case Explain():
            found = plan_of(engine, engine.query(statement.name), analyze=statement.analyze)
            lines = found.shown(statement.form).removesuffix("\n").split("\n")
            return relation.of_table(pa.table({"explain": lines}))
        case ExplainCreate():
            lines = explaining.explain_create(engine, statement.create).split("\n")
            return relation.of_table(pa.table({"explain": lines}))
        case Dml():
            return _run_dml(engine, statement, parameters)
        case Sql():
            return _run_sql(engine, statement.text, parameters)
    return None


def _run_dml(engine: Engine, statement: Dml, parameters: Parameters) -> Rows:
    """Run an INSERT, UPDATE or DELETE, on an input or on a table."""
    refuse_nested_with(statement.text)
    name = statement.name.lower()
    if name in properties.NAMES:
        properties.run(engine, statement, parameters)
        return None
    if name in engine.catalogue.inputs or name in engine.catalogue.queries:
        with engine.database.part(INGEST):
            dml.run(engine, statement, parameters)
        return None
    plain_sql.refuse_views(engine.catalogue, statement.text)
    return _run_sql(engine, statement.text, parameters)


def _run_sql(engine: Engine, text: str, parameters: Parameters) -> Rows:
    """Run a statement of DuckDB's own."""
    tokens = tokenize(text)
    first = plain_sql.first_word(tokens)
    if plain_sql.reads(text):
        return _copied(engine, text, parameters)
    plain_sql.refuse_change(engine.database, engine.catalogue, text, tokens)
    if first not in _ROWS_ALONE:
        engine.database.has_others = True
    rows: Rows = None
    if plain_sql.gives_rows(text, tokens):
        rows = _copied(engine, text, parameters)
        if rows.columns == ["Success"]:
            # what DuckDB says of a statement that has been done, and that has no rows
            rows = None
    else:
        engine.database.execute(text, parameters)
    if first in _SETTING:
        engine.prefetcher.stop()
    if first not in _ROWS_ALONE:
        engine.compiler.forget_macros()
    return rows


def _copied(engine: Engine, query: str, parameters: Parameters = None) -> duckdb.DuckDBPyRelation:
    """Run a query in the engine's own transaction; return a copy of its rows."""
    database = engine.database
    with database.running(database.connection):
        found = database.relation(query, parameters)
        return relation.of_table(pa.table({})) if found is None else relation.copied(found)
