"""The public face: `connect` and `Connection`.

A call that changes something goes through the engine, one at a time. A call that reads runs on a
connection of its own and returns a DuckDB relation over a copy, so that it stays as it was when
time goes on, and may be read while a tick runs.
"""

from __future__ import annotations

import functools
import html
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any, Literal

import duckdb
import pyarrow as pa

from cqlduck import arguments, checks, inventory, moments
from cqlduck import variables as variables_of
from cqlduck.data import relation, tables
from cqlduck.engine import MAX_TICK, Engine
from cqlduck.errors import CatalogError, DataError, Error
from cqlduck.feed import Feed
from cqlduck.housekeeping import STANDING
from cqlduck.meter import Meter
from cqlduck.queryplan import QueryPlan, plan_of
from cqlduck.reader import Reader
from cqlduck.registration import functions
from cqlduck.registration.names import is_registered
from cqlduck.registration.regrouping import regroup
from cqlduck.rewrite.text.dollars import place_before, spaced
from cqlduck.rewrite.text.spelling import suggestion
from cqlduck.scheduler import Scheduler
from cqlduck.settings import Settings, keywords_of_settings
from cqlduck.state import snapshot
from cqlduck.state.connection import Database
from cqlduck.state.interrupts import HANDLER
from cqlduck.state.profile import Profile
from cqlduck.state.records import MAX_RECORDS
from cqlduck.state.running import TraceHook
from cqlduck.statements import plain_sql, script
from cqlduck.statements.translated import from_duckdb
from cqlduck.subscription import Subscription

if TYPE_CHECKING:
    pass


@keywords_of_settings
def connect(
    database: str | os.PathLike[str] = ":memory:",
    *,
    adaptive: bool = True,
    drop_zone: str | os.PathLike[str] | None = None,
    granularity: str | None = None,
    history: str | None = None,
    instant: str | None = None,
    max_tick: int = MAX_TICK,
    memory_limit: str | None = None,
    progress: bool | None = None,
    recompute: Literal["allow", "refuse", "always"] | None = None,
    records: int = MAX_RECORDS,
    sharing: bool = True,
    standing: str = STANDING,
    strict: bool = False,
    threads: int | None = None,
    trace: TraceHook | None = None,
    unbounded: Literal["allow", "refuse"] = "allow",
    variables: bool = True,
    window_edge: Literal["closed", "half_open"] | None = None,
) -> Connection:
    """Open a database, in memory or in a file; a file goes on where it stopped.

    A database keeps `granularity`, `instant`, `recompute` and `window_edge` for life; they may be
    left out when it is opened again. The other settings are the connection's own.

    Args:
        database: A path, or ':memory:'.
        adaptive: Whether what is measured may change how ticks run. If not, each point of choice
            has its default option, unless `pin` wants another one. No answer depends on it.
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
        sharing: Whether a query that is registered from now on is computed by one plan with those
            from which it differs in constants alone, or in nothing. No answer depends on it.
        standing: How long the streams and relations of a query that stands still, because it failed
            or was deactivated, are kept for it, '1 day' by default, or 'unbounded'; then it has
            expired.
        strict: Whether to retract what is not there is an error, rather than a row of `cql.late`.
        threads: How many threads DuckDB has; by default one for each core.
        trace: Is called with each SQL statement of ticks, calls and reads, and its parameters,
            before it runs. It is not called for what reads and casts data that is not in the
            database yet, asks for types, or compares synopses (`check`). It may not call the
            connection, which is in the middle of a call.
        unbounded: With 'refuse', a query that would keep more with each element for ever is an
            error that says what would bound it. EXPLAIN shows what a query keeps, in any case.
        variables: Whether SQL may name data frames that are variables of the caller.
        window_edge: Whether RANGE w at t is [t − w, t] ('closed', the default) or (t − w, t]
            ('half_open').

    Returns:
        The connection, which is a context manager too.

    Raises:
        DatabaseError: The file is in use or no database, or was made with other settings.
        Error: A setting that there is not, or a value that it cannot have.
    """
    given = {name: value for name, value in locals().items() if name != "database"}
    return Connection(database, Settings(**given))


def opened(database: str | os.PathLike[str], settings: Settings) -> Engine:
    """Open a database, and return an engine that has read its catalogue.

    Raises:
        DatabaseError: It cannot be opened.
    """
    base = Database(
        database,
        memory_limit=settings.memory_limit,
        threads=settings.threads,
        trace=settings.trace,
    )
    try:
        with base.opening():
            engine = Engine(
                base,
                adaptive=settings.adaptive,
                max_tick=int(settings.max_tick),
                kept_records=int(settings.records),
                standing=str(settings.standing),
                strict=settings.strict,
                sharing=settings.sharing,
                refuses_unbounded=settings.unbounded == "refuse",
                history=None if settings.history is None else str(settings.history),
                wanted=settings.lasting,
            )
    except BaseException:
        base.abandon()
        raise
    engine.between_ticks = functools.partial(regroup, engine)
    engine.settings.begin(settings.of_connection)
    return engine


class Connection:
    """One engine over one database; a context manager. `connect` makes it."""

    def __init__(self, database: str | os.PathLike[str], settings: Settings) -> None:
        """Open the database and read its catalogue."""
        self._own = opened(database, settings)
        self._sees_variables = settings.variables
        self._meter = Meter(settings.progress)
        self._reader = Reader(self._own, self._meter, sees_variables=settings.variables)
        self._feed = Feed(self._own, self._reader, self._meter, settings.zone)
        self._scheduler = Scheduler(
            self._own, functools.partial(self._feed.follow_quietly, slices=1)
        )

    @property
    def drop_zone(self) -> Path | None:
        """The folder of the drop zone, or None."""
        return self._feed.drop_zone

    @drop_zone.setter
    def drop_zone(self, folder: Path | None) -> None:
        self._feed.drop_zone = folder

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
        own = self._mine()
        own.refuse_inside()
        return own

    def _mine(self) -> Engine:
        """Return the engine, unless it is closed or another process's."""
        own = self._own
        if own.closed or own.database.owner.process != os.getpid():
            own.database.owner.check()
            own.refuse_closed()
        return own

    @property
    def engine(self) -> Engine:
        """The engine, for programs that watch its ticks (`engine.on_tick`)."""
        own = self._mine()
        # who holds its lock may look at it
        own.refuse_inside(is_call=False)
        return own

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
        with self._engine.opened():
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
        with self._own.still():
            parts = [f"<p>{html.escape(inventory.summary(self._own))}</p>"]
            if not self._own.closed:
                for things in (self.streams, self.relations, self.queries):
                    parts += [things._repr_html_()] if things else []
            return "".join(parts)

    def close(self) -> None:
        """Stop the scheduler and close the database; in a process that was forked, do nothing.

        What another thread reads is stopped. Relations that were returned can be read no more, but
        for those of `execute`. The handler of a signal that comes into a call may close, too: the
        call is interrupted, and the database closed when that has been undone.

        Raises:
            DatabaseError: It is called from a listener, inside of a tick, or from a trace hook.
        """
        own = self._own
        if own.database.owner.is_other:
            return
        if own.database.interrupts.inside == HANDLER:
            own.database.interrupts.afterwards(self.close)
            return
        own.refuse_in_listener("close()")
        self._scheduler.stop()
        try:
            own.close()
        finally:
            # who follows has what it reads ahead until it sees that the database is closed
            self._feed.close()

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
        text = spaced(given)
        frame = sys._getframe(1)
        try:
            return script.run(
                self._engine,
                text,
                arguments.parameters(parameters),
                lambda named: self._frames(named, frame),
                self._reader,
            )
        except Error as error:
            if error.text == text and error.offset is not None:
                error.text, error.offset = given, place_before(given, error.offset)
            raise

    def _frames(self, text: str, frame: FrameType) -> dict[str, pa.Table]:
        """Return the caller's data frames that a text names and the database does not know."""
        return variables_of.tables_in(self._engine, text, frame) if self._sees_variables else {}

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
        engine, name = self._engine, arguments.name(name)
        with engine.opened():
            is_registered(engine, name, False, "data frame")
        with engine.database.interrupts.noticed():
            # it may be the caller's code that reads them
            table = tables.of_frame(name, data)
        with engine.opened():
            is_registered(engine, name, False, "data frame")
            engine.database.register(name, table)

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

    def create_function(
        self,
        name: str,
        function: Callable[..., Any],
        parameters: Sequence[Any] | None = None,
        return_type: Any = None,
        *,
        type: Literal["native", "arrow"] = "native",
        null_handling: Literal["default", "special"] = "default",
        exception_handling: Literal["default", "return_null"] = "default",
        side_effects: bool = False,
    ) -> None:
        """Let SQL and continuous queries call a Python function.

        It has to be deterministic: of equal arguments it gives equal values, whenever it is called
        and whatever for. How often that is nobody says. The database keeps its name, its signature
        and a digest of its source; after opening, queries that call it wait, with the state `waits
        for function f`, until it is registered again. If its digest is another one by then, there
        is a RuntimeWarning.

            con.create_function("is_bot", lambda agent: "bot" in agent, ["VARCHAR"], "BOOLEAN")

        Args:
            name: Its name in SQL.
            function: The function. An exception that it raises is the error of the query.
            parameters: The DuckDB types of its parameters; by default by its annotations.
            return_type: The DuckDB type of its values; by default by its annotation.
            type: 'native' if it is called with the values of a row, 'arrow' if with Arrow arrays of
                many rows, of which it gives an array. Which rows come together is not fixed.
            null_handling: 'default' if a NULL argument gives NULL without a call; 'special' if the
                function is called with None.
            exception_handling: 'return_null' if an exception gives NULL. Then the order of its
                calls among the filters of a query can be chosen.
            side_effects: Whether the function does more than to return a value; that is refused.

        Raises:
            BindError: Types are missing, or are none.
            CatalogError: DuckDB has a function of this name, or queries call one of this name and
                another signature.
            NotSupportedError: It has side effects, or the name means something else in SQL.

        >>> with connect() as con:
        ...     con.create_function("twice", lambda x: 2 * x, ["BIGINT"], "BIGINT")
        ...     con.sql("SELECT twice(21)").fetchall()
        [(42,)]
        """
        engine = self._engine
        engine.refuse_in_listener("create_function()")
        if side_effects:
            raise functions.has_side_effects()
        handling = arguments.handling(type, null_handling, exception_handling)
        call = arguments.function(function)
        with self._open():
            functions.refuse_name(engine, arguments.name(name))
            # what they have not read yet is for the function that is there
            self._reader.bring_up(
                [query for query in engine.catalogue.callers(name) if query.promised is not None]
            )
        found = functions.described(name, call, parameters, return_type, handling)
        functions.register(engine, found, call)

    def remove_function(self, name: str) -> None:
        """Take back what `create_function` did.

        Raises:
            CatalogError: There is no function of this name, or a query calls it.
        """
        self._engine.refuse_in_listener("remove_function()")
        functions.remove(self._engine, arguments.name(name))

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
        self._engine.refuse_in_listener("append()")
        return self._feed.append(name, data, at, "+")

    def retract(self, name: str, data: Any, at: Any = None) -> int:
        """Delete tuples from a relation; a retraction of what is not there goes to `cql.late`.

        Raises:
            DataError: It is a stream, or rows do not fit; nothing was taken.
        """
        self._engine.refuse_in_listener("retract()")
        thing = self._engine.input(name)
        if thing.kind == "stream":
            raise DataError(
                f"{name} is a stream, and a stream is append-only",
                hint="retract from a relation; a window forgets a stream's tuples by itself",
            )
        return self._feed.append(name, data, at, "-")

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
            Error: Of the family: the query fails, or does not bind any more; nothing was taken.
        """
        self._engine.refuse_in_listener("refresh()")
        if data is not None:
            return self._feed.refresh(name, data, at)
        known = self._engine.catalogue.inputs.get(arguments.name(name).lower())
        text = "" if known is None or known.query is None else known.query
        return self._feed.refresh_from_query(name, self._frames(text, sys._getframe(1)), at)

    def heartbeat(self, name: str, to: Any) -> None:
        """Promise that no element at or before `to` is still to come to an input."""
        self._engine.refuse_in_listener("heartbeat()")
        self._feed.heartbeat(name, to)

    def advance(self, to: Any = None) -> Any:
        """Give every input the heartbeat `to`, then bring all queries up to it.

        Without `to`, bring them as far as the heartbeats allow. A query that fails on the way stops
        before the instant at which it fails, with a RuntimeWarning; the others go on.

        Returns:
            The least frontier of the active queries (an int, or a datetime in UTC), or None.
        """
        self._engine.refuse_in_listener("advance()")
        return self._feed.step({}, to)

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
        self._engine.refuse_in_listener("tick()")
        return self._feed.step(rows, to)

    def follow(self, *, limit: int | None = None, slices: int | None = None) -> int:
        """Take what is new in the drop zone and advance; return the number of batches taken.

        Args:
            limit: How many batches of each input to take at most.
            slices: How many slices of the backfill to run at most, for queries that are behind the
                others; by default until they are level. What comes meanwhile is taken between two.
        """
        self._engine.refuse_in_listener("follow()")
        self._feed.warn_without_zone()
        return self._feed.follow(limit, slices)

    # -- answers ----------------------------------------------------------------------------------

    def table(self, query: str) -> duckdb.DuckDBPyRelation:
        """Return the answer at the frontier; of a query that yields a stream, its elements.

        Raises:
            QueryError: The query failed, or one that it reads; `as_of` gives its last answer.
        """
        engine = self._engine
        with engine.opened():
            return self._reader.table(engine.query(query))

    def arrow(self, query: str) -> pa.Table:
        """Return the answer at the frontier as an Arrow table, which `table` takes longer to give.

        Of a query that yields a stream it is its elements, with `_ts`. What Arrow has no type for
        (BIT, UHUGEINT, a time of day with an offset) is text.

        Raises:
            QueryError: The query failed, or one that it reads; `as_of` gives its last answer.
            NotSupportedError: A VARIANT holds an INTERVAL or a BIT, which Arrow's has no type for.
        """
        with self._open() as engine:
            return self._reader.arrow(engine.query(query))

    def as_of(self, query: str, t: Any) -> duckdb.DuckDBPyRelation:
        """Return the answer at an instant of kept history.

        Raises:
            DataError: The instant is after the frontier or before kept history.
            QueryError: It is after the frontier, and the query failed, or one that it reads.
        """
        with self._open() as engine:
            return self._reader.as_of(engine.query(query), t)

    def changes(self, query: str, since: Any = None, until: Any = None) -> duckdb.DuckDBPyRelation:
        """Return the net elements with since < `_ts` ≤ until: columns, `_ts`, `_weight`.

        Without `since` they sum up to the answer at `until`. So if history is bounded, what stood
        when it begins comes first, as elements of that instant.

        Raises:
            DataError: `since` is before kept history.
        """
        with self._open() as engine:
            return self._reader.changes(engine.query(query), since, until)

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
            found = self._reader.up_to_date(engine.query(query))
            position = found.frontier if since is None else moments.instant(engine, since)
            self._reader.refuse_before_history(found, position)
        return Subscription(
            lambda position: self._reader.elements_after(query, position),
            self._goes_on,
            engine.changed,
            position,
            arguments.seconds(timeout),
            functools.partial(engine.refuse_in_listener, "next()"),
        )

    def _goes_on(self) -> bool:
        """Return whether elements may come by themselves."""
        self._own.database.owner.check()
        self._own.refuse_inside()
        return self._scheduler.running and not self._own.closed

    def sql(
        self,
        query: str,
        parameters: Sequence[Any] | Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
    ) -> duckdb.DuckDBPyRelation:
        """Run plain SQL that only reads; answers, streams and relations are views there.

        Args:
            query: The statement.
            parameters: Values for `?` or `$name`.
            timeout: How many seconds it may take; by default as many as it takes.

        Raises:
            DatabaseError: It took longer than `timeout`, or is called from a listener: what is not
                an answer is there as it was before the tick.
            NotSupportedError: The statement changes something.
            ParseError: DuckDB's own word on the query.
        """
        self._engine.refuse_in_listener("sql()")
        query, parameters = arguments.statements(query), arguments.parameters(parameters)
        if not plain_sql.reads(query):
            raise plain_sql.is_no_read(query)
        try:
            frames = self._frames(query, sys._getframe(1))
            return self._reader.sql(query, parameters, frames, arguments.seconds(timeout))
        except duckdb.Error as error:
            raise from_duckdb(error, query, 0) from error

    def explain(self, query: str, *, analyze: bool = False) -> str:
        """Return the plan of a query, the SQL of each operator, and that of reads.

        Args:
            query: The query.
            analyze: Whether to say what its operators did in the last ticks that were measured,
                how much they keep, and which choices changed last and why.
        """
        return self.plan(query, analyze=analyze).text

    def plan(self, query: str, *, analyze: bool = False) -> QueryPlan:
        """Return the plan of a query as values, with methods `json`, `mermaid` and `sql`.

        Args:
            query: The query.
            analyze: As in `explain`; it reads a sample of each table that the query keeps.

        Returns:
            The plan: its operators with their inputs, tables, statements and choices. A notebook
            shows it as a picture.
        """
        with self._open() as engine:
            return plan_of(engine, engine.query(query), analyze=analyze)

    def check(self, query: str | None = None) -> duckdb.DuckDBPyRelation:
        """Compare what operators keep with what they would keep if it were made anew.

        The answers of queries that yield relations are compared as well: what their elements sum up
        to, with what follows from what is kept; for a query that shares its plan, from its own text
        and its inputs alone.

        Nothing changes. It costs about what it would cost to answer the queries once, from what the
        database keeps of their inputs.

        Args:
            query: A query; by default all.

        Returns:
            A row for each synopsis: query, operator (its number) and description, kind, synopsis
            (its table), state ('right', 'wrong' or 'cannot be had'), rows (how many are missing or
            too many), and reason: what its inputs would have to keep. Then a row for each answer,
            of kind 'answer' and without an operator.

        Raises:
            DatabaseError: It is called from a listener.
        """
        self._engine.refuse_in_listener("check()")
        with self._open() as engine:
            known = engine.catalogue.queries.values()
            asked = checks.Check(engine, list(known) if query is None else [engine.query(query)])
            with engine.database.interrupts.deferred, self._meter.during("check", asked.way):
                return relation.of_table(asked.run())

    def pin(self, point: str, option: str | None, owner: str | None = None) -> None:
        """Have an option run at points of choice from the next tick on, whatever is measured.

        No option changes an answer. Pins are rows of the database and stay when it is closed, or
        the query replaced; `cql.points` shows them with `chosen_by` 'user'.

            con.pin("filters", "3 1 2", "alarms")

        Args:
            point: The kind of point, as in `cql.points`.
            option: One of its options; for `filters` also an order, as '3 1 2', for `search` the
                number of a key. What a point has not, such as an order of another number of filters
                or a key that may have no index, is ignored there. None takes the pin away.
            owner: The query, stream or relation; by default all.

        Raises:
            CatalogError: There is no such query, stream or relation.
            Error: There is no such point, or it has no such option.
        """
        engine = self._engine
        engine.refuse_in_listener("pin()")
        with engine.database.interrupts.deferred, engine.changing():
            engine.pin(point, option, owner)

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
            self._reader.bring_up(engine.behind())
            engine.reading(everything=True)
            return snapshot.write(engine.database, path)

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
            Error: `every` is no duration with a unit, or of more than a hundred years; `on_error`
                is no function; or the scheduler runs already.
        """
        self._engine.database.owner.check()
        self._engine.refuse_in_listener("start()")
        self._scheduler.start(arguments.duration(every), arguments.callback(on_error))

    def stop(self) -> None:
        """Stop what `start` started; a tick that runs is finished first.

        Raises:
            DatabaseError: It is called from a listener, inside of that tick.
        """
        self._own.refuse_in_listener("stop()")
        if not self._own.database.owner.is_other:
            self._scheduler.stop()
