"""The public face: `connect` and `Connection`.

A call that changes something goes through the engine, one at a time. A call that reads runs on a
connection of its own and returns a DuckDB relation over a copy, so that it stays as it was when
time goes on, and may be read while a tick runs.
"""

from __future__ import annotations

import html
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType, MappingProxyType, TracebackType
from typing import TYPE_CHECKING, Any, Literal

import duckdb
import pyarrow as pa

from cqlduck import arguments, checks, dml, ingest, inventory, moments, registration
from cqlduck import variables as of_python
from cqlduck.data import relation, tables
from cqlduck.engine import MAX_TICK, Engine
from cqlduck.errors import (
    CatalogError,
    DataError,
    Error,
    NotSupportedError,
)
from cqlduck.housekeeping import STANDING
from cqlduck.meaning import refuse_fixed, refuse_shadow
from cqlduck.meter import Meter
from cqlduck.rewrite import parse_script
from cqlduck.rewrite.text.dollars import apart, place_before
from cqlduck.rewrite.text.reads import tables_read
from cqlduck.rewrite.text.spelling import suggestion
from cqlduck.rewrite.text.syntax import (
    AlterQuery,
    AlterStream,
    CreateQuery,
    CreateRelation,
    CreateStream,
    Dml,
    Drop,
    Explain,
    RefreshRelation,
    Show,
    Sql,
    Statement,
    refuse_nested_with,
    tokenize,
)
from cqlduck.scheduler import Scheduler
from cqlduck.settings import Settings, Trace, keywords_of_settings
from cqlduck.state import answers, instants, snapshot
from cqlduck.state.catalog import Input, Query
from cqlduck.state.connection import Database, quoted
from cqlduck.state.frames import readable
from cqlduck.state.profile import INGEST, Profile
from cqlduck.state.queues import Taken
from cqlduck.state.records import KEPT
from cqlduck.state.threads import SOME
from cqlduck.subscription import Subscription
from cqlduck.translated import from_duckdb, placed, too_deep

if TYPE_CHECKING:
    from cqlduck.sources.ahead import Ahead

NO_FRAMES: Mapping[str, pa.Table] = MappingProxyType({})
_DDL = re.compile(
    r"\s*((DROP|ALTER|CREATE(\s+OR\s+REPLACE)?)\s+(VIEW|TABLE)\s+(IF\s+(NOT\s+)?EXISTS\s+)?"
    r"|(WITH\b.*)?(INSERT(\s+OR\s+\w+)?|MERGE)\s+INTO\s+|TRUNCATE\s+(TABLE\s+)?|COPY\s+"
    r"|UPDATE\s+|DELETE\s+FROM\s+)"
    r"(main\.)?(?P<name>\"[^\"]+\"|\w+)",
    re.IGNORECASE | re.DOTALL,
)
_TRANSACTION = "each execute is a transaction of its own"
_OURS = {
    **dict.fromkeys(("BEGIN", "START", "COMMIT", "ROLLBACK", "ABORT", "END"), _TRANSACTION),
    "USE": "name tables in full; the database of the connection stays the default",
    "DETACH": "close the connection to let go of its database",
}
_ROWS_ALONE = ("INSERT", "UPDATE", "DELETE", "TRUNCATE")
_READING = ("SELECT", "EXPLAIN", "RELATION")


@keywords_of_settings
def connect(
    database: str | os.PathLike[str] = ":memory:",
    *,
    drop_zone: str | os.PathLike[str] | None = None,
    granularity: str | None = None,
    history: str | None = None,
    instant: str | None = None,
    max_tick: int = MAX_TICK,
    memory_limit: str | None = None,
    progress: bool | None = None,
    recompute: Literal["allow", "refuse", "always"] | None = None,
    records: int = KEPT,
    standing: str = STANDING,
    strict: bool = False,
    threads: int | None = None,
    trace: Trace | None = None,
    variables: bool = True,
    window_edge: Literal["closed", "half_open"] | None = None,
) -> Connection:
    """Open a database, in memory or in a file; a file goes on where it stopped.

    A database keeps `granularity`, `instant`, `recompute` and `window_edge` for life; they may be
    left out when it is opened again. The other settings are the connection's own.

    Args:
        database: A path, or ':memory:'.
        drop_zone: The folder that FROM 'folder' of a stream or relation is relative to.
        granularity: How long an instant of wall-clock time is, '1 microsecond' by default.
        history: How long the changes of queries are kept, as '7 days'; by default without bound.
        instant: What an instant of integer time stands for, '1 second' by default.
        max_tick: How many elements a tick takes in at most, unless one instant has more.
        memory_limit: How much memory DuckDB may take, as '2GB'.
        progress: Whether calls that take longer than a second show a bar on stderr; by default on a
            terminal and in a notebook.
        recompute: What becomes of a query, or a part of it, that has no delta rule: with 'allow',
            the default, it is worked out again when an input changes; with 'refuse' it is an error;
            with 'always' all queries are worked out again.
        records: How many rows `cql.late`, `cql.corrections` and the quarantined batches of
            `cql.batches` keep of each input, or query; those before them are summed up.
        standing: How long the streams and relations of a query that stands still, because it failed
            or was deactivated, are kept for it, '1 day' by default, or 'unbounded'; then it has
            expired.
        strict: Whether to retract what is not there is an error, rather than a row of `cql.late`.
        threads: How many threads DuckDB has; by default one for each core.
        trace: Is called with every SQL statement and its parameters before it runs.
        variables: Whether SQL may name data frames that are variables of the caller.
        window_edge: Whether RANGE w at t is [t − w, t] ('closed', the default) or (t − w, t]
            ('half_open').

    Returns:
        The connection, which is a context manager too.

    Raises:
        DatabaseError: The file is in use or no database, or was made with other settings.
        Error: A setting that there is not, or a value that it cannot have.
    """
    return Connection(
        database,
        Settings(
            drop_zone=drop_zone,
            granularity=granularity,
            history=history,
            instant=instant,
            max_tick=max_tick,
            memory_limit=memory_limit,
            progress=progress,
            recompute=recompute,
            records=records,
            standing=standing,
            strict=strict,
            threads=threads,
            trace=trace,
            variables=variables,
            window_edge=window_edge,
        ),
    )


class Connection:
    """One engine over one database; a context manager. `connect` makes it."""

    def __init__(self, database: str | os.PathLike[str], settings: Settings) -> None:
        """Open the database and read its catalogue."""
        base = Database(
            database,
            memory_limit=settings.memory_limit,
            threads=settings.threads,
            trace=settings.trace,
        )
        try:
            with base.opening():
                self._own = Engine(
                    base,
                    max_tick=int(settings.max_tick),
                    kept_records=int(settings.records),
                    standing=str(settings.standing),
                    strict=settings.strict,
                    history=None if settings.history is None else str(settings.history),
                    wanted=settings.lasting,
                )
        except BaseException:
            base.abandon()
            raise
        self.drop_zone = settings.zone
        self._sees_variables = settings.variables
        self._meter = Meter(settings.progress)
        self._ahead: Ahead | None = None
        self._rows_of: dict[str, int] = {}
        if self.drop_zone is not None:
            # not in the first tick; who has no drop zone does not wait for what reads Parquet
            from cqlduck.sources.follow import reading_ahead

            self._ahead = reading_ahead(self._engine)
        self._scheduler = Scheduler(self._engine, self._follow)

    def __enter__(self) -> Connection:
        """Return the connection itself."""
        self._own.refuse_closed()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the connection."""
        self.close()

    @property
    def _engine(self) -> Engine:
        """The engine, unless it is closed or another process's: every call begins with it.

        In a child a lock may be held forever by a thread that is not there, so it comes first.
        """
        self._own.database.owner.check()
        self._own.refuse_closed()
        return self._own

    @property
    def engine(self) -> Engine:
        """The engine, for programs that watch its ticks (`engine.on_tick`)."""
        return self._engine

    @property
    def streams(self) -> inventory.Inventory[inventory.Stream]:
        """The streams by name, as they are now: columns, heartbeat, how many elements came."""
        with self._open() as engine:
            return inventory.streams(engine)

    @property
    def relations(self) -> inventory.Inventory[inventory.Relation]:
        """The relations by name, as they are now: columns, primary key, heartbeat."""
        with self._open() as engine:
            return inventory.relations(engine)

    @property
    def queries(self) -> inventory.Inventory[inventory.Query]:
        """The continuous queries by name, as they are now: kind, state, frontier, columns, text.

        >>> with connect() as con:
        ...     _ = con.execute("CREATE STREAM s (k INTEGER);"
        ...         "CREATE CONTINUOUS QUERY q AS SELECT k FROM s [ROWS 2]")
        ...     con.queries["q"].kind, con.queries["q"].frontier, list(con.streams)
        ('relation', None, ['s'])
        """
        with self._open() as engine:
            return inventory.queries(engine)

    @contextmanager
    def _open(self) -> Iterator[Engine]:
        """Hold the engine still, unless it is closed; signals wait for a statement that runs."""
        with self._engine.database.interrupts.held(), self._own.opened():
            yield self._own

    def __repr__(self) -> str:
        """Return in a line which database it is, and what is there."""
        if self._own.database.owner.is_other:
            return f"<cqlduck.Connection {self._own.database.path}, of another process>"
        with self._own.lock:
            return f"<cqlduck.Connection {inventory.summary(self._own)}>"

    def _repr_html_(self) -> str:
        """Return what is there, for a notebook."""
        if self._own.database.owner.is_other:
            return f"<p>{html.escape(repr(self))}</p>"
        with self._own.lock:
            parts = [f"<p>{html.escape(inventory.summary(self._own))}</p>"]
            if not self._own.closed:
                for things in (self.streams, self.relations, self.queries):
                    parts += [things._repr_html_()] if things else []
            return "".join(parts)

    def close(self) -> None:
        """Stop the scheduler and close the database; in a process that was forked, do nothing.

        What another thread reads is stopped. Relations that were returned can be read no more, but
        for those of `execute`.

        Raises:
            DatabaseError: It is called from a listener, inside of a tick.
        """
        if self._own.database.owner.is_other:
            return
        self._own.refuse_in_listener("close()")
        self._scheduler.stop()
        if self._ahead is not None:
            self._ahead.close()
        self._own.close()

    # -- statements -------------------------------------------------------------------------------

    def execute(
        self, text: str, parameters: Sequence[Any] | Mapping[str, Any] | None = None
    ) -> duckdb.DuckDBPyRelation | None:
        """Run CQL and DuckDB statements; all of them or none.

        INSERT on streams and relations, UPDATE and DELETE on relations become elements. A name that
        the database does not know may be that of a data frame, a variable of the caller:

            con.execute("INSERT INTO flights FROM flights_df")

        Args:
            text: Statements, separated by semicolons.
            parameters: Values for `?` or `$name` in a single statement.

        Returns:
            The last statement's rows, or None if it has none.

        Raises:
            Error: Of the family, with the place in `text`; nothing of `text` was done.
        """
        self._engine.refuse_in_listener("execute()")
        given = arguments.statements(text)
        text = apart(given)
        try:
            return self._execute(text, parameters, sys._getframe(1))
        except Error as error:
            if error.text == text and error.offset is not None:
                error.text, error.offset = given, place_before(given, error.offset)
            raise

    def _execute(
        self, text: str, parameters: Any, frame: FrameType
    ) -> duckdb.DuckDBPyRelation | None:
        statements = parse_script(text)
        parameters = arguments.parameters(parameters)
        if parameters is not None and len(statements) > 1:
            raise Error("parameters need a single statement", hint="run the statements one by one")
        result: duckdb.DuckDBPyRelation | None = None
        held = self._engine.database.interrupts.held()
        naming = self._naming(self._queried(statements, text), frame)
        with held, self._open(), naming:
            with self._engine.changing():
                self._engine.reading(everything=True)
                for statement in statements:
                    try:
                        result = self._statement(statement, parameters)
                    except duckdb.Error as error:
                        raise from_duckdb(error, text, statement.offset) from error
                    except Error as error:
                        raise placed(error, statement, text) from error
                    except RecursionError as error:
                        raise too_deep(text, statement.offset) from error
            return result

    def _queried(self, statements: Sequence[Statement], text: str) -> str:
        """Return a script, with the queries of relations behind it that it reads anew."""
        known = self._engine.catalogue.inputs
        again = [s.name.lower() for s in statements if isinstance(s, RefreshRelation)]
        kept = [known[name].query for name in again if name in known]
        return "\n".join([text, *(query for query in kept if query is not None)])

    def _frames(self, text: str, frame: FrameType) -> dict[str, pa.Table]:
        """Return the caller's data frames that a text names and the database does not know."""
        if not self._sees_variables:
            return {}
        found = of_python.frames_in(text, frame)
        if not found:
            return {}
        with self._open() as engine:
            database, known = engine.database, engine.catalogue
            return {
                name: tables.of_frame(name, data)
                for name, data in found.items()
                if not (name.lower() in known.inputs or name.lower() in known.queries)
                and database.described(f"FROM {quoted(name)}") is None
            }

    @contextmanager
    def _naming(self, text: str, frame: FrameType) -> Iterator[None]:
        """Let the statements of the block read the caller's data frames."""
        tables = self._frames(text, frame)
        with readable(self._engine.database.connection, tables):
            yield

    def register(self, name: str, data: Any) -> None:
        """Let SQL read a data frame by a name, in place of another frame of this name.

        It stays as it is now when the data changes, and is gone when the connection is closed.

        Args:
            name: The name. It is no stream, relation, query, table or view.
            data: A pandas or polars frame, anything of Arrow, a DuckDB relation, a mapping of
                columns, or rows that are mappings.

        Raises:
            CatalogError: The name is taken.
            DataError: The data is nothing that can be read as a table.

        >>> with connect() as con:
        ...     con.register("airlines_df", {"carrier": ["AA"], "name": ["American"]})
        ...     _ = con.execute("CREATE RELATION airlines FROM airlines_df")
        ...     con.sql("FROM airlines").fetchall()
        [('AA', 'American')]
        """
        with self._open() as engine:
            registration.is_taken(engine, arguments.name(name), False, "data frame")
            engine.database.register(name, tables.of_frame(name, data))

    def unregister(self, name: str) -> None:
        """Take back what `register` did.

        Raises:
            CatalogError: No data frame of this name is registered.
        """
        with self._open() as engine:
            frames = engine.database.frames
            found = frames.find(arguments.name(name))
            if found is None:
                raise CatalogError(
                    f"no data frame {name} is registered",
                    hint=suggestion(name, frames.names, "there are"),
                )
            engine.database.unregister(found)

    def _statement(
        self, statement: Statement, parameters: Sequence[Any] | Mapping[str, Any] | None
    ) -> duckdb.DuckDBPyRelation | None:
        engine = self._engine
        match statement:
            case CreateStream() | CreateRelation():
                made = registration.create_input(engine, statement)
                if made and isinstance(statement, CreateRelation) and statement.query is not None:
                    self._refresh(statement.name, statement.query, statement.at)
                    engine.close_beginning(engine.input(statement.name))
            case RefreshRelation():
                self._refresh(statement.name, statement.query, statement.at)
            case CreateQuery():
                registration.create_query(engine, statement)
            case Drop():
                registration.drop(engine, statement)
            case AlterQuery():
                if statement.action == "SET":
                    registration.set_options(engine, statement.name, statement.options)
                elif statement.action == "ACTIVATE FROM NOW":
                    registration.begin_anew(engine, statement.name)
                else:
                    registration.set_active(engine, statement.name, statement.action == "ACTIVATE")
            case AlterStream():
                to = moments.heartbeat_instant(engine, statement.heartbeat)
                registration.take_heartbeat_back(engine, statement.name, to)
            case Show():
                view = {"STREAMS": "streams", "RELATIONS": "relations", "QUERIES": "queries"}
                return self._kept(f"SELECT * FROM cql.{view[statement.kind]}")
            case Explain():
                return self._text(self.explain(statement.name))
            case Dml():
                refuse_nested_with(statement.text)
                name = statement.name.lower()
                if name in engine.catalogue.inputs or name in engine.catalogue.queries:
                    with engine.database.part(INGEST):
                        dml.run(engine, statement, parameters)
                    return None
                self._refuse_ours(statement.text)
                return self._sql_statement(statement.text, parameters)
            case Sql():
                return self._sql_statement(statement.text, parameters)
        return None

    def _sql_statement(
        self, text: str, parameters: Sequence[Any] | Mapping[str, Any] | None
    ) -> duckdb.DuckDBPyRelation | None:
        """Run a statement of DuckDB's own inside the change; return its rows, if it has any."""
        tokens = tokenize(text)
        first = tokens[0].text.upper() if tokens else ""
        if first in _OURS:
            raise NotSupportedError(f"{first} is not supported here", hint=_OURS[first])
        if _reads(text):
            return self._kept(text, parameters)
        self._refuse_ours(text)
        refuse_fixed(tokens)
        refuse_shadow(self._engine.database, tokens)
        self._engine.database.execute(text, parameters)
        if first in ("SET", "RESET", "PRAGMA"):
            self._engine.prefetcher.stop()
        if first not in _ROWS_ALONE:
            self._engine.compiler.forget_macros()
        return None

    def _refuse_ours(self, text: str) -> None:
        """Refuse DDL of DuckDB's own on the views that show what is registered."""
        known = self._engine.catalogue
        found = _DDL.match(text)
        if found is None:
            return
        name = found["name"].strip('"').lower()
        for things, word in ((known.inputs, None), (known.queries, "CONTINUOUS QUERY")):
            if name in things:
                kind = word or known.inputs[name].kind.upper()
                raise CatalogError(
                    f"{found['name']} is a {kind.lower()}; this statement is for tables and views",
                    hint=f"change it with INSERT INTO {found['name']}, UPDATE or DELETE; "
                    f"remove it with DROP {kind}",
                )

    def _kept(
        self, query: str, parameters: Sequence[Any] | Mapping[str, Any] | None = None
    ) -> duckdb.DuckDBPyRelation:
        """Run a reading statement in the engine's own transaction; return a copy of its rows."""
        database = self._engine.database
        with database.running(database.connection):
            found = database.relation(query, parameters)
            return _relation(pa.table({})) if found is None else relation.copied(found)

    def _text(self, text: str) -> duckdb.DuckDBPyRelation:
        return _relation(pa.table({"explain": text.splitlines()}))

    # -- elements ---------------------------------------------------------------------------------

    def append(self, name: str, data: Any, at: Any = None) -> int:
        """Append elements to a stream, or insertions to a relation, in arrival order.

        Args:
            name: The stream or relation.
            data: Rows (tuples or dicts), a pandas or polars frame, a structured array, anything of
                Arrow, a DuckDB relation, or the path of a Parquet, CSV or JSON file.
            at: The instant of all rows, or one for each, where the data has no timestamps: ints on
                integer time; datetimes, dates or texts, in UTC, on wall-clock time.

        Returns:
            How many elements were taken; late ones under DROP or KEEP are not.

        Raises:
            CatalogError: There is no such stream or relation.
            LateError: Rows at or before the heartbeat; nothing was taken.
            DataError: Rows that do not fit, with the first such row and its column; nothing was
                taken.
            DatabaseError: DuckDB could not go on, for want of memory or room; nothing was taken.
        """
        return self._append(name, data, at, "+").taken

    def retract(self, name: str, data: Any, at: Any = None) -> int:
        """Delete tuples from a relation; a retraction of what is not there goes to `cql.late`.

        Raises:
            DataError: It is a stream, or rows do not fit; nothing was taken.
        """
        thing = self._engine.input(name)
        if thing.kind == "stream":
            raise DataError(
                f"{name} is a stream, and a stream only grows",
                hint="retract from a relation; a window forgets a stream's tuples by itself",
            )
        return self._append(name, data, at, "-").taken

    def _append(self, name: str, data: Any, at: Any, operation: str) -> Taken:
        engine = self._engine
        engine.refuse_in_listener("append()")
        what = f"append to {name}" if operation == "+" else f"retract from {name}"
        held, meter = engine.database.interrupts.held(), self._meter.during(what)
        with held, meter, engine.changing(), engine.database.part(INGEST):
            thing = engine.input(name)
            return self._accept(thing, ingest.read(thing, data), at, operation)

    def _accept(self, thing: Input, table: pa.Table, at: Any, operation: str) -> Taken:
        """Take rows that are read, inside a change."""
        with ingest.arriving(self._engine, thing, table, at, operation) as rows:
            return self._engine.accept(thing, rows)

    def refresh(self, name: str, data: Any = None, at: Any = None) -> int:
        """Make data the content of a relation: what differs becomes insertions and deletions.

        Rows that stay give no element; with a primary key, a row that changed gives two.

        Args:
            name: The relation.
            data: All rows that it is to have, as for `append`; by default what the query gives that
                it was created FROM.
            at: The instant; by default as for `append`.

        Returns:
            How many elements that are.

        Raises:
            CatalogError: There is no such relation.
            DataError: It is a stream, or has no query, or the rows do not fit; nothing was taken.
            LateError: The instant is at or before the heartbeat; nothing was taken.
        """
        self._engine.refuse_in_listener("refresh()")
        if data is None:
            known = self._engine.catalogue.inputs.get(name.lower())
            text = "" if known is None or known.query is None else known.query
            held = self._engine.database.interrupts.held()
            with held, self._naming(text, sys._getframe(1)), self._engine.changing():
                # its query may read whatever there is
                self._engine.reading(everything=True)
                return self._refresh(name, None, at)
        engine = self._engine
        held = engine.database.interrupts.held()
        with held, engine.changing(), engine.database.part(INGEST):
            thing = self._refreshed(name)
            table = ingest.read(thing, data)
            with ingest.arriving(engine, thing, table, at, "+") as rows:
                if at is None and "_ts" in rows.stamp:
                    raise DataError(
                        f"the data for {name} has a column _ts, and a refresh is of one instant",
                        hint="pass the instant as at, and leave the column out",
                    )
                raw = None if at is None else moments.raw_time(engine, at)
                return dml.refresh(engine, thing, rows, raw)

    def _refreshed(self, name: str) -> Input:
        thing = self._engine.input(name)
        if thing.kind == "stream":
            raise DataError(
                f"{name} is a stream, and a stream only grows", hint="refresh a relation"
            )
        return thing

    def _refresh(self, name: str, query: str | None, at: Any) -> int:
        """Refresh a relation from a query, or from its own, inside a change."""
        engine = self._engine
        thing = self._refreshed(name)
        query = thing.query if query is None else query
        if query is None:
            raise DataError(
                f"{name} was not created from a query",
                hint=f"say from what: REFRESH RELATION {name} FROM (SELECT …)",
            )
        if not _reads(query):
            raise NotSupportedError(
                f"{name} is refreshed from what only reads", hint="as in FROM (SELECT …)"
            )
        raw = None if at is None else moments.raw_time(engine, at)
        with dml.pending_shown(engine, tables_read(query)):
            rows = ingest.of_query(engine, thing, query)
        return dml.refresh(engine, thing, rows, raw)

    def heartbeat(self, name: str, to: Any) -> None:
        """Promise that no element at or before `to` is still to come to an input."""
        engine = self._engine
        engine.refuse_in_listener("heartbeat()")
        with engine.database.interrupts.held(), engine.changing():
            thing = engine.input(name)
            engine.raise_heartbeat(thing, moments.heartbeat_instant(engine, to))

    def advance(self, to: Any = None) -> Any:
        """Give every input the heartbeat `to`, then bring all queries up to it.

        Without `to`, bring them as far as the heartbeats allow. A query that fails on the way stops
        before the instant at which it fails, with a RuntimeWarning; the others go on.

        Returns:
            The least frontier of the active queries (an int, or a datetime in UTC), or None.
        """
        return self._step({}, to)

    def tick(self, rows: Mapping[str, Any], to: Any = None) -> Any:
        """Append rows to several inputs and advance, in one transaction.

        It gives what `append` to each input and `advance` give, but all of it or nothing, and
        sooner, because on disk each transaction takes some milliseconds:

            con.tick({"bids": bids, "auctions": auctions}, to="2013-01-01 12:00")

        Args:
            rows: For each input its data, as for `append`.
            to: As for `advance`.

        Returns:
            As `advance`.

        Raises:
            CatalogError: There is no such stream or relation; nothing was taken.
            LateError: Rows at or before the heartbeat; nothing was taken.
            DataError: Rows that do not fit; nothing was taken.
        """
        return self._step(rows, to)

    def _step(self, rows: Mapping[str, Any], to: Any) -> Any:
        engine = self._engine
        engine.refuse_in_listener("advance()")
        what = "advance" if to is None else f"advance to {to}"
        with engine.database.interrupts.held():
            with engine.opened(), self._meter.during(what, engine.progress.way):
                until = None
                if rows or to is not None:
                    if not isinstance(rows, Mapping):
                        raise DataError(
                            f"the rows of a tick are a mapping, not a {type(rows).__name__}",
                            hint='from the name of each input to its data, as in {"s": rows}',
                        )
                    # once, because a tick in which a query fails takes them in a second time
                    kept = {name: ingest.read(engine.input(name), rows[name]) for name in rows}
                    until = engine.step(lambda: self._take(kept, to))
                self._run(until, is_done=bool(rows))
                reached = instants.public(engine.clock, engine.frontier())
            self._warn(4)
            return reached

    def _run(self, until: int | None, *, is_done: bool) -> None:
        """Run ticks; what ends those of a call that has done what it was for lets it return."""
        try:
            self._engine.run(until)
        except BaseException as error:
            if not (is_done and self._engine.may_return(error)):
                raise

    def _take(self, rows: Mapping[str, pa.Table], to: Any) -> int | None:
        """Take rows and a heartbeat in, inside a change; return the heartbeat's instant."""
        engine = self._engine
        for name, table in rows.items():
            with engine.database.part(INGEST):
                self._accept(engine.input(name), table, None, "+")
        if to is None:
            return None
        until = moments.heartbeat_instant(engine, to)
        for thing in engine.catalogue.inputs.values():
            engine.raise_heartbeat(thing, until)
        return until

    def follow(self, *, limit: int | None = None) -> int:
        """Take what is new in the drop zone and advance; return the number of batches taken.

        Args:
            limit: How many batches of each input to take at most.
        """
        self._engine.refuse_in_listener("follow()")
        with self._engine.database.interrupts.held():
            taken = self._follow(limit)
            self._warn(3)
            return taken

    def _follow(self, limit: int | None = None) -> int:
        from cqlduck.sources.follow import reading_ahead, take

        if self.drop_zone is None:
            self._engine.run()
            return 0
        if self._ahead is None:
            self._ahead = reading_ahead(self._engine)
        with self._meter.during(f"follow {self.drop_zone}"):
            return take(self._engine, self.drop_zone, self._ahead, limit)

    def _warn(self, level: int) -> None:
        """Warn a caller, so many frames up, of the queries and ticks that failed, once of each."""
        for error in self._own.new_failures():
            warnings.warn(str(error), RuntimeWarning, stacklevel=level)

    # -- answers ----------------------------------------------------------------------------------

    def table(self, query: str) -> duckdb.DuckDBPyRelation:
        """Return the answer at the frontier; of a query that yields a stream, its elements.

        Raises:
            QueryError: The query failed, or one that it reads; `as_of` gives its last answer.
        """
        with self._open() as engine:
            found = engine.query(query)
            engine.refuse_failed(found)
            engine.keep_answers([found])
            if found.kind == "stream" and engine.is_lasting(found):
                return self._over_log(
                    found, answers.tuples_sql(engine.clock, found, found.frontier)
                )
            return self._read(engine.answer_sql(found))

    def arrow(self, query: str) -> pa.Table:
        """Return the answer at the frontier as an Arrow table, which `table` takes longer to give.

        Of a query that yields a stream it is its elements, with `_ts`. What Arrow has no type for
        (BIT, UHUGEINT, a time of day with an offset) is text.

        Raises:
            QueryError: The query failed, or one that it reads; `as_of` gives its last answer.
            NotSupportedError: A VARIANT holds an INTERVAL or a BIT, which Arrow's has no type for.
        """
        with self._open() as engine:
            found = engine.query(query)
            engine.refuse_failed(found)
            is_large = self._rows_of.get(found.name, 0) > SOME
            engine.reading(is_large=is_large)
            engine.keep_answers([found])
            sql = engine.answer_sql(found)
            listed = relation.for_arrow(found.columns)
            if listed is not None:
                stamp = ", _ts" if found.kind == "stream" else ""
                sql = f"SELECT {listed}{stamp} FROM ({sql}) AS answer"
            with relation.leaving():
                table = engine.database.arrow(sql, is_large=is_large)
            self._rows_of[found.name] = table.num_rows
            return table

    def as_of(self, query: str, t: Any) -> duckdb.DuckDBPyRelation:
        """Return the answer at an instant of kept history.

        Raises:
            DataError: The instant is after the frontier or before kept history.
            QueryError: It is after the frontier, and the query failed, or one that it reads.
        """
        with self._open() as engine:
            found = engine.query(query)
            instant = moments.instant(engine, t)
            if found.frontier is None or instant > found.frontier:
                engine.refuse_failed(found)
                raise DataError(
                    f"{query} has no answer at {t} yet; its frontier is "
                    f"{engine.shown(found.frontier)}",
                    hint="advance first",
                )
            if found.history_from is not None and instant < found.history_from:
                raise DataError(
                    f"the history of {query} begins at {engine.shown(found.history_from)}",
                    hint="the setting history says how long changes are kept",
                )
            return self._read(engine.answer_sql(found, instant))

    def changes(self, query: str, since: Any = None, until: Any = None) -> duckdb.DuckDBPyRelation:
        """Return the net elements with since < `_ts` ≤ until: columns, `_ts`, `_weight`."""
        with self._open() as engine:
            found = engine.query(query)
            bounds = [None if t is None else moments.instant(engine, t) for t in (since, until)]
            self._refuse_before_history(found, bounds[0])
            engine.reading()
            (since, until), is_net = bounds, engine.is_net(found)
            if not engine.is_lasting(found) or found.frontier is None:
                return self._read(
                    answers.changes_sql(engine.clock, found, since, until, is_net=is_net)
                )
            until = min(t for t in (until, found.frontier) if t is not None)
            known = engine.results.logs.known(found, since, is_net=is_net)
            sql = answers.changes_sql(
                engine.clock,
                found,
                since,
                until,
                is_net=is_net or known.is_net,
                in_order=known.in_order,
            )
            return self._over_log(found, sql)

    def _over_log(self, query: Query, sql: str) -> duckdb.DuckDBPyRelation:
        """Return a relation over rows of a query's log that stay as they are, without a copy."""
        return self._engine.results.read(query.changes, sql)

    def _refuse_before_history(self, query: Query, since: int | None) -> None:
        start = query.history_from
        if since is not None and start is not None and since < start:
            raise DataError(
                f"the history of {query.name} begins at {self._engine.shown(start)}",
                hint="ask for changes since then",
            )

    def subscribe(
        self, query: str, since: Any = None, *, timeout: float | None = None
    ) -> Subscription:
        """Yield the elements of a query as Arrow batches, one or more a tick, as ticks close.

        It can be read in a `for` of a thread, or in an `async for`, which leaves the event loop
        free while it waits:

            async for batch in con.subscribe("delays"): ...

        Args:
            query: The query.
            since: Begin after this instant; by default after the frontier at the call.
            timeout: How many seconds to wait for the next batch before it ends.

        Returns:
            An iterator of batches with the query's columns, `_ts` and `_weight`. It waits for more
            only while the scheduler runs, else ends.

        Raises:
            DataError: `since` is before kept history; or, from the iterator, elements that it has
                not given yet are forgotten.
            QueryError: After what was emitted: the query failed, or one that it reads.
        """
        with self._open() as engine:
            found = engine.query(query)
            position = found.frontier if since is None else moments.instant(engine, since)
            self._refuse_before_history(found, position)
        return Subscription(
            lambda position: self._come(query, position),
            self._goes_on,
            engine.changed,
            position,
            arguments.seconds(timeout),
        )

    def _goes_on(self) -> bool:
        """Return whether elements may come by themselves."""
        self._own.database.owner.check()
        return self._scheduler.running and not self._own.closed

    def _come(self, query: str, position: int | None) -> tuple[list[pa.RecordBatch], int | None]:
        """Return the elements of a query after an instant, and how far they go."""
        engine = self._own
        with engine.database.interrupts.held(), engine.lock:
            found = engine.query(query)
            if found.frontier is None or (position is not None and found.frontier <= position):
                engine.refuse_failed(found)
                return [], position
            engine.refuse_closed()
            self._refuse_forgotten(found, position)
            start = found.history_from
            # of a relation, what stands at the start of history is no change
            since = position if start is None else max(position or start, start)
            return self._new(found, since).to_batches(), found.frontier

    def _refuse_forgotten(self, query: Query, position: int | None) -> None:
        """Refuse to go on behind elements that history has let go of.

        Raises:
            DataError: There were some after `position`.
        """
        engine = self._engine
        lost = engine.housekeeping.lost.get(query.name)
        if lost is not None and (position is None or lost > position):
            raise DataError(
                f"the subscription to {query.name} was too slow: it has elements up to "
                f"{engine.shown(position)}, and the history of {query.name} begins at "
                f"{engine.shown(query.history_from)}",
                hint=f"keep more, as in ALTER CONTINUOUS QUERY {query.name} SET (keep = …), or "
                "read more often; subscribe anew to go on from here",
            )

    def _new(self, query: Query, since: int | None) -> pa.Table:
        """Return the elements of a query after an instant, in the order of time."""
        engine = self._engine
        fresh = engine.output_buffer.since(query, since, engine.clock)
        if fresh is not None:
            return _in_order(fresh)
        engine.reading(is_large=not engine.reads_last_tick(query, since))
        if query.kind == "stream":
            sql = answers.new_sql(engine.clock, query, since, query.frontier)
        else:
            is_net = engine.is_net(query)
            sql = answers.changes_sql(engine.clock, query, since, query.frontier, is_net=is_net)
        listed = relation.for_arrow(query.columns)
        if listed is not None:
            sql = f"SELECT {listed}, _ts, _weight FROM ({sql}) AS elements"
        with relation.leaving():
            table = engine.database.arrow(sql, is_large=True)
        return _in_order(table) if query.kind == "stream" else table

    def sql(
        self, query: str, parameters: Sequence[Any] | Mapping[str, Any] | None = None
    ) -> duckdb.DuckDBPyRelation:
        """Run plain SQL that only reads; answers, streams and relations are views there.

        Raises:
            NotSupportedError: The statement changes something.
            ParseError: DuckDB's own word on the query.
        """
        self._engine.refuse_closed()
        parameters = arguments.parameters(parameters)
        if not _reads(arguments.statements(query)):
            raise NotSupportedError("sql() only reads", hint="changes go through execute()")
        try:
            return self._read(
                query, parameters, stores=True, frames=self._frames(query, sys._getframe(1))
            )
        except duckdb.Error as error:
            raise from_duckdb(error, query, 0) from error

    def explain(self, query: str) -> str:
        """Return the plan of a query and, for each operator, its SQL."""
        with self._open() as engine:
            return engine.explain(engine.query(query))

    def check(self, query: str | None = None) -> duckdb.DuckDBPyRelation:
        """Compare what operators keep with what they would keep if it were made anew.

        Nothing changes. It costs about what it would cost to answer the queries once, from what the
        database keeps of their inputs.

        Args:
            query: A query; by default all.

        Returns:
            A row for each synopsis: query, operator (its number) and description, kind, synopsis
            (its table), state ('right', 'wrong' or 'cannot be had'), rows (how many are missing or
            too many), and reason: what its inputs would have to keep.

        Raises:
            DatabaseError: It is called from a listener.
        """
        self._engine.refuse_in_listener("check()")
        with self._open() as engine:
            known = engine.catalogue.queries.values()
            asked = checks.Check(engine, list(known) if query is None else [engine.query(query)])
            with engine.database.interrupts.held(), self._meter.during("check", asked.way):
                return _relation(asked.run())

    @contextmanager
    def profile(self, *, deep: bool = False) -> Iterator[Profile]:
        """Count where the time of the block's ticks goes.

        Args:
            deep: Ask DuckDB's own profiler too, for the operators of each statement; costs time.

        Yields:
            The profile: printed it is a table; `lines()` and `report()` give values.

        Raises:
            Error: A profile is being taken already.

        >>> with connect() as con:
        ...     con.execute("CREATE STREAM s (k INTEGER, t INTEGER) TIMESTAMP BY t;"
        ...         "CREATE CONTINUOUS QUERY q AS SELECT k, count(*) AS n FROM s GROUP BY k")
        ...     with con.profile() as profile:
        ...         taken = con.append("s", [(1, 1), (2, 2)])
        ...         at = con.advance(5)
        ...     [line.what for line in profile.lines() if line.level == "operator"]
        ['project: "s.k" AS k, "count0" AS n', 'aggregate: COUNT(*) BY s.k']
        """
        with self._open() as engine:
            base = engine.database
            if base.profile is not None:
                raise Error("a profile is being taken already", hint="end that one first")
            found = Profile(engine.operators, deep=deep)
            if deep:
                base.execute("SET enable_profiling = 'no_output'")
            base.profile = found
        try:
            yield found
        finally:
            with engine.lock:
                base.profile = None
                if deep and not engine.closed:
                    base.execute("RESET enable_profiling")

    def snapshot(self, path: str | os.PathLike[str]) -> Path:
        """Write a consistent copy of the database, renamed into place; return its path.

        Raises:
            DatabaseError: It cannot be written there, or is called from a listener.
        """
        self._engine.refuse_in_listener("snapshot()")
        with self._open() as engine:
            engine.reading(everything=True)
            return snapshot.write(engine.database, path)

    def _read(
        self,
        query: str,
        parameters: Sequence[Any] | Mapping[str, Any] | None = None,
        *,
        stores: bool = False,
        frames: Mapping[str, pa.Table] = NO_FRAMES,
    ) -> duckdb.DuckDBPyRelation:
        """Return a relation over a copy of what a query gives now, on a connection of its own."""
        with self._open() as engine:
            engine.reading(everything=stores)
            if stores:
                text = query.lower()
                known = engine.catalogue.queries
                engine.keep_answers(q for name, q in known.items() if name in text)
            reader = engine.database.reader()
            # what a tick leaves out of the database for now must not be of a later tick than this
            with engine.database.running(reader):
                reader.execute("BEGIN TRANSACTION")
                reader.execute("SELECT 1 FROM cql_state.settings LIMIT 1").fetchall()
        running, reading = engine.database.running(reader), engine.database.threads.reading()
        held, seen = engine.database.interrupts.held(), readable(reader, frames)
        with _until_closed(engine), held, reading, seen, running:
            if _is_select(query):
                text = query.strip().rstrip(";")
                reader.execute(f"CREATE TEMP TABLE _cql_result AS {text}", parameters)
                reader.execute("COMMIT")
                if self._sees_variables:
                    # what is made of the relation DuckDB runs for the caller itself
                    reader.execute("SET python_enable_replacements = true")
                return reader.table("temp._cql_result")
            found: duckdb.DuckDBPyRelation | None = reader.sql(query, params=parameters)
            rows = _relation(pa.table({})) if found is None else relation.copied(found)
            reader.execute("COMMIT")
            return rows

    def interrupt(self) -> None:
        """Stop the calls that are under way, in whatever thread; each raises a DatabaseError.

        A call that is stopped leaves everything as it was before it. Of one that runs several ticks
        those that were committed stay; calling it again goes on from there. A call that has
        committed what it was for is let return.
        """
        if not self._own.database.owner.is_other:
            self._own.database.interrupts.interrupt()

    # -- the scheduler ----------------------------------------------------------------------------

    def start(
        self, every: str = "1 second", on_error: Callable[[Exception], object] | None = None
    ) -> None:
        """Follow the drop zone and run ticks in the background.

        Args:
            every: How often, as '1 second'. Where ticks take longer, the next one follows later.
            on_error: Is called, in the background, with each error of a run, and with the
                QueryError of each query that fails; all are logged too.

        Raises:
            Error: `every` is no duration with a unit, or the scheduler runs already.
        """
        self._engine.database.owner.check()
        self._engine.refuse_in_listener("start()")
        self._scheduler.start(arguments.duration(every), on_error)

    def stop(self) -> None:
        """Stop what `start` started; a tick that runs is finished first.

        Raises:
            DatabaseError: It is called from a listener, inside of that tick.
        """
        self._own.refuse_in_listener("stop()")
        if not self._own.database.owner.is_other:
            self._scheduler.stop()


@contextmanager
def _until_closed(engine: Engine) -> Iterator[None]:
    """Say so if another thread has closed the connection while the block read from it.

    Raises:
        DatabaseError: It has.
    """
    try:
        yield
    except duckdb.Error:
        engine.refuse_closed()
        raise


def _relation(table: pa.Table) -> duckdb.DuckDBPyRelation:
    own = duckdb.connect(":memory:")
    own.register("rows_of_result", table)
    own.execute("CREATE TEMP TABLE result AS SELECT * FROM rows_of_result")
    return own.table("temp.result")


def _statements(text: str) -> list[Any]:
    refuse_nested_with(text)
    try:
        return list(duckdb.extract_statements(text))
    except duckdb.Error as error:
        raise from_duckdb(error, text, 0) from error


def _reads(text: str) -> bool:
    """Return whether a single statement only reads."""
    statements = _statements(text)
    if len(statements) != 1:
        raise Error("one statement at a time", hint="run the statements one by one")
    return _kind(text) in _READING


def _kind(text: str) -> str:
    """Return the kind of a statement in DuckDB's words, such as SELECT."""
    return str(_statements(text)[0].type).split(".")[-1].removesuffix("_STATEMENT")


def _in_order(table: pa.Table) -> pa.Table:
    """Return rows in the order of `_ts`; to look whether they are is quicker than to sort them."""
    import pyarrow.compute as pc

    times = table.column("_ts")
    if pc.all(pc.greater_equal(times[1:], times[:-1]), min_count=0).as_py():
        return table
    return table.sort_by("_ts")


def _is_select(text: str) -> bool:
    return _kind(text) in ("SELECT", "RELATION") and not re.match(
        r"\s*(describe|show|summarize|pragma)\b", text, re.IGNORECASE
    )
