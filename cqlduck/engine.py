"""The engine: joins the catalogue, the rewriter and the state, and runs ticks.

It guarantees that a tick is one transaction: what the drop zone gave, the closing of relations'
instants, every query's statements, frontiers and bookkeeping are committed together. After a
failure the catalogue in memory is read again from the database, so the two never differ.

A query that fails is separated from the others: the tick is undone and run without it, and the
query alone is advanced by halves to the last instant before the one that fails.
"""

from __future__ import annotations

import threading
import time as wall
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import duckdb

from cqlduck.errors import BindError, CatalogError, DatabaseError, DataError, Error
from cqlduck.rewrite import Compiled, compile_query
from cqlduck.rewrite.aggregates import RECOMPUTED
from cqlduck.rewrite.compile import OperatorRow
from cqlduck.rewrite.macros import Macro, Macros
from cqlduck.rewrite.plan import Column, Source
from cqlduck.rewrite.scope import suggestion
from cqlduck.rewrite.syntax import RESERVED, CreateQuery, CreateRelation, CreateStream, Drop
from cqlduck.rewrite.time import Clock, parse_duration
from cqlduck.state import amend, answers, catalog, inspection, queues, relations, retention, tick
from cqlduck.state.catalog import Input, Query
from cqlduck.state.connection import Database, quoted
from cqlduck.state.profile import INGEST
from cqlduck.state.queues import Arrival, Taken

MAX_TICK = 2_000_000
"""How many elements a tick takes in at most, unless one instant has more."""

HEAVY_TICK = 20_000
"""How many elements a tick takes in at most if a query is worked out again at each instant."""

MAX_INSTANTS = 1_000_000
"""How many instants a tick spans at most for a query that repeats a relation at each of them."""

HEAVY_INSTANTS = 20_000
"""The same for a query that is worked out again at each of them."""

KEPT_TICKS = 10_000
TIME_TYPES = ("TIMESTAMP", "DATE", "TIMESTAMP WITH TIME ZONE", "TIMESTAMP_S", "TIMESTAMP_MS",
              "TIMESTAMP_NS")  # fmt: skip
NOT_DETERMINISTIC = frozenset(
    {"approx_quantile", "approx_top_k", "current_date", "current_time", "current_timestamp",
     "gen_random_uuid", "get_current_timestamp", "localtime", "localtimestamp", "now", "rand",
     "random", "reservoir_quantile", "today", "uuid"}
)  # fmt: skip
SETTINGS = {
    "granularity": "1",
    "instant": "1000000",
    "window_edge": "closed",
    "recompute": "allow",
}


@dataclass(frozen=True)
class TickReport:
    """What a tick did: for progress displays and `on_tick`."""

    until: int
    elements_in: int
    elements_out: int
    seconds: float


@dataclass
class _View:
    """The catalogue as the binder sees it."""

    engine: Engine
    clock: Clock
    half_open: bool
    aggregates: frozenset[str]
    volatile: frozenset[str]
    recompute: str
    time_is_open: bool

    @property
    def macros(self) -> Macros:
        """The scalar macros of the database and of DuckDB itself, by lower-case name."""
        return self.engine.macros()

    def lookup(self, name: str) -> Source | None:
        """Return the stream, relation or query of a name."""
        found = self.engine.catalogue.inputs.get(name.lower())
        if found is not None:
            kind = "stream" if found.kind == "stream" else "relation"
            return Source(found.name, kind, found.columns, found.table, False, found.timestamp_by)  # type: ignore[arg-type]
        query = self.engine.catalogue.queries.get(name.lower())
        if query is not None:
            return Source(query.name, query.kind, query.columns, query.changes, True)  # type: ignore[arg-type]
        return None

    def is_table(self, name: str) -> bool:
        """Return whether a plain table or view has this name."""
        return self.engine.database.described(f"SELECT * FROM {name}") is not None

    def names(self) -> Sequence[str]:
        """Return all names."""
        known = self.engine.catalogue
        inputs = [thing.name for thing in known.inputs.values()]
        return inputs + [query.name for query in known.queries.values()]

    def described(self, sql: str) -> Sequence[tuple[str, str]] | None:
        """Return names and types of the columns of a SELECT, or None if it does not bind."""
        return self.engine.database.described(sql)

    def describe(self, sql: str) -> Sequence[Column]:
        """Return the columns of a SELECT.

        Raises:
            BindError: DuckDB's own word on a name or type that does not fit.
        """
        found = self.engine.database.described(sql)
        if found is not None:
            return [Column(name, kind) for name, kind in found]
        try:
            return [Column(r[0], r[1]) for r in self.engine.database.rows(f"DESCRIBE {sql}")]
        except duckdb.Error as error:
            raise BindError(_first_line(error)) from error


@dataclass
class Engine:
    """Runs continuous queries over one database."""

    database: Database
    max_tick: int = MAX_TICK
    strict: bool = False
    history: str | None = None
    wanted: dict[str, str] = field(default_factory=dict)
    catalogue: catalog.Catalogue = field(init=False)
    compiled: dict[str, Compiled] = field(default_factory=dict)
    lock: threading.RLock = field(default_factory=threading.RLock)
    closed: bool = False
    on_tick: list[Callable[[TickReport], None]] = field(default_factory=list)
    ticks: int = 0
    changed: threading.Condition = field(default_factory=threading.Condition)
    _tails: dict[str, int] = field(default_factory=dict)
    _latest: dict[str, int] = field(default_factory=dict)
    _macros: dict[str, list[Macro]] | None = None
    _taken: int = 0
    _compacted: dict[str, int] = field(default_factory=dict)
    _unread: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Of streams: the next number when elements after all frontiers were counted, and the count."""
    _wrote: dict[str, int] = field(default_factory=dict)
    """How many rows a query wrote since its logs were looked at, synopses and answer together."""
    _room: dict[str, int] = field(default_factory=dict)
    """How many rows may come to a log before it is worth a look at how long it is."""
    _resolved: dict[str, int] = field(default_factory=dict)
    """Up to which instant nothing is pending in a relation's queue."""

    def __post_init__(self) -> None:
        """Read the catalogue and compile the queries that are there."""
        self.catalogue = catalog.load(self.database)
        self._aggregates, self._volatile = _functions(self.database)
        if self.database.is_new:
            self._macros = _macros_of_a_new(self.database)
        self.ticks = int(
            self.database.value("SELECT coalesce(max(number), 0) FROM cql_state.ticks") or 0
        )
        self.configure(self.wanted)
        inspection.refresh(self.database, self.catalogue)
        self._compile_all()
        self._check_synopses()

    # -- the frame of every change ----------------------------------------------------------------

    @contextmanager
    def changing(self) -> Iterator[None]:
        """One change at a time, in a transaction; after a failure the catalogue is as it was."""
        with self.lock:
            if self.closed:
                raise DatabaseError("the connection is closed", hint="connect again")
            outermost = self.database.depth == 0
            compiled = dict(self.compiled)
            try:
                with self.database.transaction():
                    yield
                    if outermost:
                        with self.database.part("catalogue"):
                            catalog.save(self.database, self.catalogue)
            except BaseException:
                if outermost:
                    self.catalogue = catalog.load(self.database)
                    self.compiled = compiled
                    self._tails.clear()
                    self._unread.clear()
                    self._room.clear()
                    self._resolved.clear()
                    self.forget_macros()
                raise

    def _compile_all(self) -> None:
        self.compiled = {
            name: self._compile(query.name, query.body)
            for name, query in self.catalogue.queries.items()
        }

    def _check_synopses(self) -> None:
        """Refuse a database whose synopses are not those of the plans that would run.

        Raises:
            DatabaseError: It was made by a version that plans otherwise.
        """
        there = {
            name for (name,) in self.database.rows("SELECT table_name FROM cql_state.synopses")
        }
        wanted = {s.name for compiled in self.compiled.values() for s in compiled.synopses}
        if there != wanted:
            raise DatabaseError(
                f"the synopses of this database are not those of its plans: "
                f"{', '.join(sorted(there ^ wanted))}",
                hint="it was made by another version of cqlduck; use that one, or make the queries "
                "anew in a new database",
            )

    # -- settings and time ------------------------------------------------------------------------

    @property
    def clock(self) -> Clock:
        """The clock; integer time as long as nothing says otherwise."""
        return self.catalogue.clock or self.catalogue.clock_of("integer")

    def configure(self, wanted: dict[str, str]) -> None:
        """Write the settings of a new database, or compare them with those it was made with.

        Raises:
            DatabaseError: A setting that a database keeps for life is another one.
        """
        with self.changing():
            for name, default in SETTINGS.items():
                have = self.catalogue.settings.get(name)
                want = wanted.get(name)
                if have is None:
                    catalog.save_setting(
                        self.database, self.catalogue, name, default if want is None else want
                    )
                elif want is not None and want != have:
                    raise DatabaseError(
                        f"the database has {name} = {have}, not {want}",
                        hint=f"leave {name} out, or make a new database",
                    )

    def set_time(self, kind: str, why: str) -> None:
        """Settle the kind of time, or refuse another one.

        Raises:
            DataError: The database has the other kind.
        """
        known = self.catalogue.settings.get("time")
        if known == kind:
            return
        if known is not None:
            words = {"integer": "integers", "wall": "wall-clock time"}
            raise DataError(
                f"the database's time is {words[known]}, and {why} is {words[kind]}",
                hint="a database has one kind of time; use another database for the other",
            )
        catalog.save_setting(self.database, self.catalogue, "time", kind)
        if kind == "wall":
            for name, query in self.catalogue.queries.items():
                self.compiled[name] = self._compile(query.name, query.body)
                answers.view(self.database, self.clock, query, self._held(query))

    # -- registration -----------------------------------------------------------------------------

    def create_input(self, statement: CreateStream | CreateRelation) -> bool:
        """Register a stream or a relation; return whether it was not there before.

        Raises:
            CatalogError: The name is taken.
            BindError: A type that DuckDB does not know.
        """
        with self.changing():
            kind = "stream" if isinstance(statement, CreateStream) else "relation"
            if self._is_taken(statement.name, statement.if_not_exists, kind):
                return False
            columns = self._typed(statement.columns)
            if isinstance(statement, CreateRelation) and not statement.columns:
                columns = self._columns_of(statement)
            thing = Input(self._position(), statement.name, kind, columns, source=statement.source)
            if isinstance(statement, CreateStream):
                thing.timestamp_by, thing.late = statement.timestamp_by, statement.late
                if thing.timestamp_by is not None:
                    self._time_of(thing)
                if statement.bound is not None:
                    self._bound(thing, statement)
            else:
                thing.primary_key, thing.query = statement.primary_key, statement.query
            catalog.create_input(self.database, thing)
            self.catalogue.inputs[thing.name.lower()] = thing
            inspection.refresh(self.database, self.catalogue)
            return True

    def _columns_of(self, statement: CreateRelation) -> tuple[Column, ...]:
        """Return the columns of a relation that has those of its query.

        Raises:
            BindError: A reserved name, one that is there twice, or a key that there is not.
        """
        rows = self.database.rows(f"DESCRIBE {statement.query}")
        names = [row[0].lower() for row in rows]
        for name in names:
            if name in RESERVED or names.count(name) > 1:
                problem = "a reserved name" if name in RESERVED else "there twice"
                raise BindError(
                    f"the column {name} of the query is {problem}",
                    hint="write SELECT … AS something else",
                )
        for part in statement.primary_key:
            if part.lower() not in names:
                raise BindError(
                    f"PRIMARY KEY names {part}, which is no column of {statement.name}",
                    hint=f"columns: {', '.join(row[0] for row in rows)}",
                )
        return tuple(Column(row[0], row[1]) for row in rows)

    def _time_of(self, thing: Input) -> None:
        kind = next(c.type for c in thing.columns if c.name == thing.timestamp_by)
        if kind in TIME_TYPES:
            self.set_time("wall", f"{thing.timestamp_by} {kind}")
        elif kind in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT",
                      "UINTEGER"):  # fmt: skip
            self.set_time("integer", f"{thing.timestamp_by} {kind}")
        else:
            raise BindError(
                f"{thing.timestamp_by} is {kind}, which is no timestamp",
                hint="use TIMESTAMP, DATE, TIMESTAMPTZ or an integer type",
            )

    def _bound(self, thing: Input, statement: CreateStream) -> None:
        bound = statement.bound
        assert bound is not None
        if bound.instants is not None:
            self.set_time("integer", "a bound without a unit")
            thing.bound = int(bound.instants)
            thing.bound_text = str(thing.bound)
        else:
            assert bound.microseconds is not None
            micros = int(bound.microseconds)
            thing.bound_text = f"{micros / 1e6:g} seconds"
            if self.catalogue.settings.get("time") is None:
                self.set_time("wall", "a bound with a unit")
            integer = self.clock.kind == "integer"
            thing.bound = micros // self.clock.instant if integer else micros

    def _typed(self, columns: tuple[tuple[str, str], ...]) -> tuple[Column, ...]:
        typed = []
        for name, kind in columns:
            try:
                row = self.database.rows(f"DESCRIBE SELECT CAST(NULL AS {kind}) AS c")[0]
            except duckdb.Error as error:
                raise BindError(
                    f"column {name}: DuckDB does not know the type {kind}: {_first_line(error)}"
                ) from error
            typed.append(Column(name, row[1]))
        return tuple(typed)

    def _is_taken(self, name: str, allowed: bool, kind: str) -> bool:
        """Refuse a name that is taken; return whether it may be left as it is."""
        known = self.catalogue.inputs.get(name.lower()) or self.catalogue.queries.get(name.lower())
        if known is not None:
            same = isinstance(known, Input) and known.kind == kind
            if allowed and same:
                return True
            what = known.kind if isinstance(known, Input) else "continuous query"
            raise CatalogError(
                f"{name} is there already, as a {what}", hint="choose another name, or drop it"
            )
        row = self.database.rows(
            "SELECT table_name FROM duckdb_tables() WHERE database_name = 'cqlduck' "
            "AND schema_name = 'main' AND lower(table_name) = $1 UNION ALL "
            "SELECT view_name FROM duckdb_views() WHERE database_name = 'cqlduck' "
            "AND schema_name = 'main' AND lower(view_name) = $1",
            [name.lower()],
        )
        if row:
            raise CatalogError(
                f"{name} is there already, as a table or view", hint="choose another name"
            )
        return False

    def _position(self) -> int:
        positions = [thing.position for thing in self.catalogue.inputs.values()]
        positions += [query.position for query in self.catalogue.queries.values()]
        return 1 + max(positions, default=0)

    def create_query(self, statement: CreateQuery) -> None:
        """Register a continuous query; it begins after the frontier of its inputs.

        Raises:
            Error: Of the family, with its place in the query.
        """
        with self.changing():
            old = self.catalogue.queries.get(statement.name.lower())
            if old is not None and statement.or_replace:
                self._refuse_if_read(old.name)
                self._drop_query(old)
            self._is_taken(statement.name, False, "query")
            options = _known(statement.options, ("history", "keep"))
            compiled = self._compile(statement.name, statement.body)
            if compiled.counts_instants and self.catalogue.settings.get("time") is None:
                self.set_time("integer", "a window without a unit")
            inputs = tuple(source.name for source in compiled.sources.values())
            query = Query(
                self._position(),
                statement.name,
                statement.body,
                compiled.kind,
                compiled.columns,
                inputs,
                compiled.order,
            )
            query.since = query.frontier = self._begins_after(query, options.get("history"))
            query.keep = self._kept_for(options.get("keep"))
            self._create_synopses(query, compiled)
            answers.create(self.database, self.clock, query, compiled.answer)
            catalog.insert(self.database, query)
            self.catalogue.queries[query.name.lower()] = query
            self.compiled[query.name.lower()] = compiled
            self._unread.clear()
            inspection.refresh(self.database, self.catalogue)

    def macros(self) -> Macros:
        """Return DuckDB's scalar macros by lower-case name; kept until `forget_macros`."""
        if self._macros is None:
            self._macros = _macros(self.database)
        return self._macros

    def forget_macros(self) -> None:
        """Read macros anew when a query asks for them: a statement may have changed them."""
        self._macros = None

    def _begins_after(self, query: Query, history: str | None) -> int | None:
        """Return the instant after which a new query begins, or None for the beginning of time.

        Without `history` that is the frontier of its inputs; 'true' goes back as far as elements
        were ever there, a duration that far from the frontier.

        Raises:
            BindError: Elements after that instant are forgotten, or it is no duration.
        """
        reached = self.target(query)
        if reached is None:
            return None
        inputs = self._inputs_of(query)
        inner = [q for name in query.inputs if (q := self.catalogue.queries.get(name.lower()))]
        if history is None or history.lower() == "false":
            forgotten = [thing.forgotten for thing in inputs if thing.forgotten is not None]
            return max([reached, *forgotten])
        since: int | None = None
        if history.lower() != "true":
            since = reached - self.clock.instants(parse_duration(history))
        begun = [q.since for q in inner if q.since is not None]
        since = max(begun) if since is None and begun else since
        since = max([since, *begun]) if since is not None else None
        read = [(thing.name, thing.forgotten) for thing in inputs if thing.name in query.inputs]
        for name, lost in read + [(q.name, q.history_from) for q in inner]:
            if lost is not None and (since is None or since < lost):
                raise BindError(
                    f"{name} has been forgotten up to {self.shown(lost)}",
                    hint="ask for less, as in WITH (history = '1 hour'), or for nothing: a query "
                    "without history begins now",
                )
        return since

    def _kept_for(self, written: str | None) -> str | None:
        """Return how long changes are kept as it is stored, or None for the setting `history`.

        Raises:
            ParseError: It is no duration.
            BindError: It is one of the other kind of time.
        """
        if written is None or written.lower() == "default":
            return None
        if written.lower() != "unbounded":
            self.clock.instants(parse_duration(written))
        return written.lower()

    def set_options(self, name: str, written: Sequence[tuple[str, str]]) -> None:
        """Change the options of a query.

        Raises:
            BindError: There is no such option, or it cannot be changed any more.
        """
        with self.changing():
            query = self.query(name)
            options = _known(written, ("history", "keep"))
            if "history" in options:
                raise BindError(
                    "history says where a query begins, and this one has begun",
                    hint="make it anew: CREATE OR REPLACE CONTINUOUS QUERY … WITH (history = …)",
                )
            query.keep = self._kept_for(options.get("keep"))

    def _compile(self, name: str, body: str) -> Compiled:
        view = _View(
            self,
            self.clock,
            self.catalogue.half_open,
            self._aggregates,
            self._volatile,
            self.catalogue.settings["recompute"],
            self.catalogue.clock is None,
        )
        return compile_query(name, body, view)

    def _create_synopses(self, query: Query, compiled: Compiled) -> None:
        for synopsis in compiled.synopses:
            columns = catalog.typed(synopsis.columns)
            name = f"cql_state.{quoted(synopsis.name)}"
            self.database.execute(f"CREATE TABLE {name} ({columns})")
            self.database.execute(
                f"COMMENT ON TABLE {name} IS 'Synopsis ({synopsis.kind}) of operator "
                f"{synopsis.operator} of a continuous query.'"
            )
            self.database.execute(
                "INSERT INTO cql_state.synopses VALUES (?, ?, ?, ?, ?, ?, 0)",
                [query.name, synopsis.operator, synopsis.kind, synopsis.name, synopsis.reach,
                 synopsis.is_log],
            )  # fmt: skip
        rows = [
            (query.name, row.number, row.parent, row.kind, row.description, row.sql)
            for row in compiled.operators
        ]
        marks = ", ".join(["(?, ?, ?, ?, ?, ?)"] * len(rows))
        self.database.execute(
            f"INSERT INTO cql_state.operators VALUES {marks}",
            [value for row in rows for value in row],
        )

    def drop(self, statement: Drop) -> None:
        """Drop a stream, relation or query.

        Raises:
            CatalogError: It is not there, or a query reads it.
        """
        with self.changing():
            key = statement.name.lower()
            if statement.kind == "QUERY":
                query = self.catalogue.queries.get(key)
                if query is None:
                    self._missing(
                        statement, "continuous query", list(self.catalogue.queries.values())
                    )
                    return
                self._refuse_if_read(query.name)
                self._drop_query(query)
                inspection.refresh(self.database, self.catalogue)
                return
            thing = self.catalogue.inputs.get(key)
            kind = statement.kind.lower()
            if thing is None or thing.kind != kind:
                same = [i for i in self.catalogue.inputs.values() if i.kind == kind]
                self._missing(statement, kind, same)
                return
            self._refuse_if_read(thing.name)
            catalog.drop_input(self.database, thing)
            del self.catalogue.inputs[key]
            self._resolved.pop(thing.name, None)
            inspection.refresh(self.database, self.catalogue)

    def _missing(self, statement: Drop, kind: str, there: Sequence[Input | Query]) -> None:
        if not statement.if_exists:
            raise CatalogError(
                f"there is no {kind} {statement.name}",
                hint=suggestion(statement.name, [t.name for t in there], "there are"),
            )

    def _refuse_if_read(self, name: str) -> None:
        readers = [q.name for q in self.catalogue.queries.values() if name in q.inputs]
        if readers:
            raise CatalogError(
                f"{name} is read by {', '.join(readers)}", hint="drop these queries first"
            )

    def _drop_query(self, query: Query) -> None:
        answers.drop(self.database, query)
        for (table,) in self.database.rows(
            "SELECT table_name FROM cql_state.synopses WHERE query = ?", [query.name]
        ):
            self.database.execute(f"DROP TABLE IF EXISTS cql_state.{quoted(table)}")
        for table, column in (
            ("queries", "name"),
            ("synopses", "query"),
            ("operators", "query"),
            ("corrections", "query"),
        ):
            self.database.execute(f"DELETE FROM cql_state.{table} WHERE {column} = ?", [query.name])
        del self.catalogue.queries[query.name.lower()]
        compiled = self.compiled.pop(query.name.lower(), None)
        if compiled is not None:
            self.database.forget(compiled.all_steps)
        self._tails.pop(query.name, None)
        self._room.clear()

    def set_active(self, name: str, active: bool) -> None:
        """Activate or deactivate a query; an inactive one stands still."""
        with self.changing():
            query = self.query(name)
            query.state = "active" if active else "inactive"
            self._unread.clear()
            query.error = None if active else query.error

    # -- names ------------------------------------------------------------------------------------

    def input(self, name: str) -> Input:
        """Return a stream or relation.

        Raises:
            CatalogError: There is none of this name.
        """
        found = self.catalogue.inputs.get(name.lower())
        if found is None:
            if name.lower() in self.catalogue.queries:
                raise CatalogError(
                    f"{name} is a continuous query, which makes its own elements",
                    hint="append to a stream or relation",
                )
            known = [i.name for i in self.catalogue.inputs.values()]
            raise CatalogError(
                f"there is no stream or relation {name}",
                hint=suggestion(name, known, "there are"),
            )
        return found

    def query(self, name: str) -> Query:
        """Return a continuous query.

        Raises:
            CatalogError: There is none of this name.
        """
        found = self.catalogue.queries.get(name.lower())
        if found is None:
            known = [q.name for q in self.catalogue.queries.values()]
            hint = suggestion(name, known, "there are")
            if name.lower() in self.catalogue.inputs:
                hint = f"{name} is a stream or relation; look at it with sql('FROM {name}')"
            raise CatalogError(f"there is no continuous query {name}", hint=hint)
        return found

    def operators(self, name: str) -> Sequence[OperatorRow]:
        """Return the operators of a query's plan; none if there is no such query."""
        found = self.compiled.get(name.lower())
        return () if found is None else found.operators

    def _held(self, query: Query) -> str | None:
        """Return how a query's answer is read from its synopses, or None."""
        return self.compiled[query.name.lower()].answer

    def answer_sql(self, query: Query, until: int | None = None) -> str:
        """Return the SELECT of a query's answer at an instant, or at its frontier."""
        return answers.answer_sql(self.clock, query, self._held(query), until)

    # -- heartbeats -------------------------------------------------------------------------------

    def raise_heartbeat(self, thing: Input, instant: int) -> None:
        """Promise that no element at or before an instant is still to come to an input."""
        if thing.heartbeat is None or instant > thing.heartbeat:
            thing.heartbeat = instant

    def _inputs_of(self, query: Query) -> list[Input]:
        """Return the streams and relations that a query reads, itself or through others."""
        found: dict[str, Input] = {}
        names = list(query.inputs)
        while names:
            name = names.pop()
            if name.lower() in self.catalogue.inputs:
                found[name] = self.catalogue.inputs[name.lower()]
            else:
                names += self.catalogue.queries[name.lower()].inputs
        return list(found.values())

    def target(self, query: Query) -> int | None:
        """Return how far a query could go: the least heartbeat of its inputs, or None."""
        inputs = self._inputs_of(query)
        holding = [i for i in inputs if i.kind == "stream" or i.source is not None] or inputs
        beats = [i.heartbeat for i in holding]
        for name in query.inputs:
            inner = self.catalogue.queries.get(name.lower())
            if inner is not None and inner.state != "active":
                beats.append(inner.frontier)
        if any(beat is None for beat in beats):
            return None
        return min(beat for beat in beats if beat is not None)

    def _time_begins(self, query: Query) -> int | None:
        """Return the instant at which time begins for a query's inputs, or None."""
        known = [i.first_instant for i in self._inputs_of(query) if i.first_instant is not None]
        if self.clock.kind == "integer":
            return min([0, *known])
        return min(known) if known else None

    # -- ticks ------------------------------------------------------------------------------------

    def frontier(self) -> int | None:
        """Return the least frontier of the active queries, or None."""
        known = [q.frontier for q in self.catalogue.queries.values() if q.state == "active"]
        if not known or any(f is None for f in known):
            return None
        return min(f for f in known if f is not None)

    def run(self, until: int | None = None) -> None:
        """Advance all queries as far as the heartbeats allow, or up to an instant."""
        with self.lock:
            while self._behind(until):
                self._step(until)

    def _behind(self, until: int | None) -> bool:
        for query in self.catalogue.queries.values():
            if query.state == "active" and self._goal(query, until) is not None:
                return True
        return any(
            thing.kind == "relation" and thing.heartbeat is not None and self._waits(thing)
            for thing in self.catalogue.inputs.values()
        )

    def _waits(self, thing: Input) -> bool:
        assert thing.heartbeat is not None
        if thing.last_instant is None or thing.first_instant is None:
            return False
        if self._resolved.get(thing.name) == thing.heartbeat:
            return False
        return bool(
            self.database.value(
                f"SELECT EXISTS (SELECT 1 FROM cql_state.{quoted(thing.pending)} WHERE _ts <= ?)",
                [thing.heartbeat],
            )
        )

    def step(self, before: Callable[[], None], until: int | None = None) -> None:
        """Run `before`, which takes elements in, and one tick, in one transaction.

        If a query fails in the tick, what was taken in is kept, and the failing query is set apart.
        """
        with self.lock:
            if self._try_tick(set(), until, before) is not None:
                with self.changing():
                    before()
                self._step(until)

    def _step(self, until: int | None) -> None:
        """Run one tick; separate a query that fails from the others."""
        skip: set[str] = set()
        while True:
            failed = self._try_tick(skip, until)
            if failed is None:
                return
            name, error = failed
            skip.add(name)
            self._advance_alone(name, error, until)

    def _try_tick(
        self, skip: set[str], until: int | None, before: Callable[[], None] | None = None
    ) -> tuple[str, Exception] | None:
        current: list[str] = []
        try:
            with self.changing():
                if before is not None:
                    with self.database.part(INGEST):
                        before()
                self._tick(skip, current, until)
        except duckdb.Error as error:
            if not current or not _is_the_querys(error):
                raise _outside(error) from error
            return current[-1], error
        return None

    def _tick(self, skip: set[str], current: list[str], bound: int | None) -> None:
        started = wall.perf_counter()
        active = [
            q for q in self.catalogue.queries.values() if q.state == "active" and q.name not in skip
        ]
        with self.database.part("bounds"):
            until = _least(self._bounded(active), bound)
        with self.database.part("relations"):
            self._close_relations(active, until)
        before = [q.frontier for q in active if q.frontier is not None]
        elements = 0
        moved = []
        for query in active:
            goal = self._goal(query, until)
            if goal is None:
                continue
            current.append(query.name)
            elements += self._run_query(query, goal)
            current.pop()
            moved.append(query)
        self._finish(moved)
        seconds = wall.perf_counter() - started
        reached = max((q.frontier for q in moved if q.frontier is not None), default=None)
        if reached is not None:
            with self.database.part("catalogue"):
                self._record(min(before, default=None), reached, len(moved), elements, seconds)
        self._report(reached, elements, seconds)

    def _goal(self, query: Query, until: int | None) -> int | None:
        """Return where a tick brings a query, or None if it stays."""
        target = self.target(query)
        if target is None:
            return None
        goal = target if until is None else min(target, until)
        return goal if query.frontier is None or goal > query.frontier else None

    def _bounded(self, active: list[Query]) -> int | None:
        """Return an instant up to which a tick takes in no more elements than it should."""
        until: int | None = None
        for thing in self.catalogue.inputs.values():
            if thing.kind != "stream":
                continue
            readers = [q for q in active if thing in self._inputs_of(q)]
            floor = min((q.frontier for q in readers if q.frontier is not None), default=None)
            if not readers or any(self.target(q) is None for q in readers):
                continue
            heavy = any(self.compiled[q.name.lower()].is_heavy for q in readers)
            size = min(self.max_tick, HEAVY_TICK) if heavy else self.max_tick
            number, unread = self._unread.get(thing.name, (0, 0))
            if unread + thing.next_seq - number <= size:
                continue
            low = "true" if floor is None else f"_ts > {floor}"
            row = self.database.rows(
                f"SELECT _ts FROM cql_state.{quoted(thing.table)} WHERE {low} "
                f"ORDER BY _ts LIMIT 1 OFFSET {size}"
            )
            if row:
                bound = row[0][0] - 1 if floor is None or row[0][0] - 1 > floor else row[0][0]
                until = bound if until is None else min(until, bound)
            else:
                left = self.database.value(
                    f"SELECT count(*) FROM cql_state.{quoted(thing.table)} WHERE {low}"
                )
                self._unread[thing.name] = (thing.next_seq, int(left))
        for query in active:
            compiled = self.compiled[query.name.lower()]
            reached = self._time_begins(query) if query.frontier is None else query.frontier
            if compiled.repeats and reached is not None:
                bound = reached + (HEAVY_INSTANTS if compiled.is_heavy else MAX_INSTANTS)
                until = bound if until is None else min(until, bound)
        return until

    def _close_relations(self, active: list[Query], until: int | None) -> None:
        for thing in self.catalogue.inputs.values():
            if thing.kind != "relation":
                continue
            goals = [
                goal
                for query in active
                if thing in self._inputs_of(query)
                and (goal := self._goal(query, until)) is not None
            ]
            if goals:
                self.raise_heartbeat(thing, max(goals))
            if thing.heartbeat is not None and thing.last_instant is not None:
                relations.close(self.database, thing, thing.heartbeat, strict=self.strict)
                self._resolved[thing.name] = thing.heartbeat

    def _run_query(self, query: Query, goal: int) -> int:
        written = 0
        if query.amend_from is not None:
            compiled = self.compiled[query.name.lower()]
            written = amend.amend(
                self.database, query, compiled, lambda until: self._replay(query, until)
            )
            self._tails[query.name] = self._tails.get(query.name, 0) + written
        return written + self._go(query, goal)

    def _replay(self, query: Query, until: int) -> None:
        """Run a query again from its beginning up to an instant, in ticks of bounded size."""
        tails, latest = dict(self._tails), dict(self._latest)
        self._unread.clear()
        while query.frontier is None or query.frontier < until:
            bound = _least(self._bounded([query]), until)
            assert bound is not None
            self._go(query, bound)
        self._unread.clear()
        self._tails, self._latest = tails, latest

    def _amends(self, query: Query) -> bool:
        """Return whether a query may be worked out again, and needs all of its inputs."""
        known = [self.catalogue.inputs.get(name.lower()) for name in query.inputs]
        return any(thing is not None and thing.late == "AMEND" for thing in known)

    def _go(self, query: Query, goal: int) -> int:
        begins = self._time_begins(query)
        if query.begin_instant is None:
            if begins is None or begins > goal:
                query.frontier = goal
                return 0
            if query.since is not None:
                begins = max(begins, query.since + 1)
        compiled = self.compiled[query.name.lower()]
        done = tick.run(self.database, query, compiled, goal, begins or 0)
        self._tails[query.name] = self._tails.get(query.name, 0) + done.elements
        self._latest[query.name] = done.elements
        self._wrote[query.name] = self._wrote.get(query.name, 0) + done.rows
        return done.elements

    def _finish(self, moved: list[Query]) -> None:
        """Keep answers, stores and logs small."""
        for query in moved:
            with self.database.part("answers"):
                if self._held(query) is None and answers.settle(
                    self.database,
                    self.clock,
                    query,
                    self._tails.get(query.name, 0),
                    self._latest.get(query.name, 0),
                ):
                    self._tails[query.name] = 0
            with self.database.part("retention"):
                self._forget_history(query)
                self._compact(query)
        with self.database.part("retention"):
            self._forget(moved)

    def _forget(self, moved: list[Query]) -> None:
        """Keep the stores of inputs small."""
        beats = [i.heartbeat for i in self.catalogue.inputs.values()]
        if not moved or any(beat is None for beat in beats):
            return
        earliest = min(beat for beat in beats if beat is not None)
        self._compact_relations(earliest)
        for thing in self.catalogue.inputs.values():
            if thing.kind == "stream":
                readers = [
                    (q, self.compiled[q.name.lower()])
                    for q in self.catalogue.queries.values()
                    if thing.name in q.inputs
                ]
                if any(self._amends(q) for q, _ in readers):
                    continue
                retention.forget(self.database, thing, readers, earliest)

    def _compact_relations(self, earliest: int) -> None:
        """Forget the tuples of relations that no query will see leave any more."""
        for thing in self.catalogue.inputs.values():
            if thing.kind != "relation":
                continue
            rows = self.database.value(f"SELECT count(*) FROM cql_state.{quoted(thing.table)}")
            if rows <= max(retention.LOG, 2 * self._compacted.get(thing.name, 0)):
                continue
            readers = [q for q in self.catalogue.queries.values() if thing.name in q.inputs]
            frontiers = [q.frontier for q in readers]
            if any(f is None for f in frontiers) or any(self._amends(q) for q in readers):
                continue
            until = min([earliest, *[f for f in frontiers if f is not None]])
            retention.forget_ended(self.database, thing, until)
            self._compacted[thing.name] = int(
                self.database.value(f"SELECT count(*) FROM cql_state.{quoted(thing.table)}")
            )

    def _forget_history(self, query: Query) -> None:
        kept = query.keep if query.keep is not None else self.history
        if kept is None or kept == "unbounded" or query.frontier is None:
            return
        span = self.clock.instants(parse_duration(kept))
        readers = [q for q in self.catalogue.queries.values() if query.name in q.inputs]
        frontiers = [q.frontier for q in readers]
        if any(f is None for f in frontiers) or any(self._amends(q) for q in readers):
            return
        until = min([query.frontier, *[f for f in frontiers if f is not None]]) - span
        start = query.history_from if query.history_from is not None else query.begin_instant
        if start is not None and until > start + max(span // 4, 1):
            answers.forget_history(self.database, self.clock, query, self._held(query), until)

    def _compact(self, query: Query) -> None:
        compiled = self.compiled[query.name.lower()]
        wrote = self._wrote.pop(query.name, 0)
        for synopsis in compiled.synopses:
            if not synopsis.is_log or query.frontier is None:
                continue
            room = self._room.get(synopsis.name, 0) - wrote
            if room > 0:
                self._room[synopsis.name] = room
                continue
            rows, last = self.database.rows(
                f"SELECT (SELECT count(*) FROM cql_state.{quoted(synopsis.name)}), compacted_rows "
                "FROM cql_state.synopses WHERE table_name = ?",
                [synopsis.name],
            )[0]
            if rows > max(retention.LOG, 2 * last):
                names = [c.name for c in synopsis.columns if c.name not in ("_ts", "_weight")]
                retention.compact(self.database, synopsis.name, names, query.frontier)
                self.database.execute(
                    "UPDATE cql_state.synopses SET compacted_rows = (SELECT count(*) FROM "
                    f"cql_state.{quoted(synopsis.name)}) WHERE table_name = ?",
                    [synopsis.name],
                )
                continue
            self._room[synopsis.name] = max(retention.LOG, 2 * last) - rows

    def _record(
        self, since: int | None, until: int, queries: int, elements: int, seconds: float
    ) -> None:
        number = self.ticks + 1
        self.database.execute(
            "INSERT INTO cql_state.ticks VALUES (?, ?, ?, ?, ?, ?)",
            [number, since, until, queries, elements, seconds],
        )
        if number % 1000 == 0:
            self.database.execute(
                "DELETE FROM cql_state.ticks WHERE number <= ?", [number - KEPT_TICKS]
            )
        self.ticks = number

    def _report(self, until: int | None, elements: int, seconds: float) -> None:
        taken, self._taken = self._taken, 0
        if self.database.profile is not None:
            self.database.profile.ticked(taken, elements)
        if until is not None:
            for listener in self.on_tick:
                listener(TickReport(until, taken, elements, seconds))
        with self.changed:
            self.changed.notify_all()

    def _advance_alone(self, name: str, error: Exception, until: int | None) -> None:
        """Bring a query to the last instant before the one at which it fails."""
        query = self.query(name)
        goal = self._goal(query, until)
        begins = self._time_begins(query)
        assert goal is not None
        low = query.frontier if query.frontier is not None else (begins or 0) - 1
        low = max(low, (begins or 0) - 1)
        high = goal
        while high - low > 1:
            middle = (low + high) // 2
            failure = self._try_alone(name, middle)
            if failure is None:
                low = middle
            else:
                high, error = middle, failure
        with self.changing():
            query = self.query(name)
            query.state, query.error = "failed", f"at {self.shown(high)}: {_first_line(error)}"
            if query.frontier is None or query.frontier < high - 1:
                query.frontier = high - 1

    def _try_alone(self, name: str, until: int) -> Exception | None:
        try:
            with self.changing():
                query = self.query(name)
                for thing in self._inputs_of(query):
                    if thing.kind == "relation":
                        self.raise_heartbeat(thing, until)
                        relations.close(self.database, thing, until, strict=self.strict)
                self._run_query(query, until)
        except duckdb.Error as error:
            if not _is_the_querys(error):
                raise _outside(error) from error
            return error
        return None

    # -- elements ---------------------------------------------------------------------------------

    def accept(self, thing: Input, rows: Arrival) -> Taken:
        """Take rows into an input, inside a change."""
        done = queues.accept(self.database, self.clock, thing, rows)
        self.took(done.taken)
        if done.amends is not None:
            self._note_amendment(thing, done.amends)
        return done

    def _note_amendment(self, thing: Input, instant: int) -> None:
        """Let the queries that have gone past an instant know that a stream has changed there."""
        readers = [q for q in self.catalogue.queries.values() if thing.name in q.inputs]
        past = [q for q in readers if q.frontier is not None and q.frontier >= instant]
        for query in past:
            query.amend_from = _least(query.amend_from, instant)

    def took(self, count: int) -> None:
        """Count elements that were taken in, for the report of the next tick."""
        self._taken += count

    def next_instant(self, thing: Input) -> int:
        """Return the instant that an SQL change gets, as a raw time."""
        known = [self.clock.granularity * (i + (k == "heartbeat"))
                 for k, i in (("heartbeat", thing.heartbeat), ("last", thing.last_instant))
                 if i is not None]  # fmt: skip
        if known:
            return max(known)
        return int(wall.time() * 1_000_000) if self.clock.kind == "wall" else 0

    def shown(self, instant: int | None) -> str:
        """Return an instant as people write it."""
        return queues.shown_instant(self.clock, instant)

    def close(self) -> None:
        """Close the database; further calls are errors."""
        with self.lock:
            if not self.closed:
                self.closed = True
                self.database.close()
        with self.changed:
            self.changed.notify_all()


def _known(written: Sequence[tuple[str, str]], names: tuple[str, ...]) -> dict[str, str]:
    """Return options as a mapping.

    Raises:
        BindError: One that there is not.
    """
    for key, _ in written:
        if key not in names:
            raise BindError(f"there is no option {key}", hint=f"the options are {', '.join(names)}")
    return dict(written)


def _least(left: int | None, right: int | None) -> int | None:
    known = [x for x in (left, right) if x is not None]
    return min(known, default=None)


_FUNCTIONS: list[tuple[frozenset[str], frozenset[str]]] = []


def _functions(database: Database) -> tuple[frozenset[str], frozenset[str]]:
    """Return DuckDB's aggregates and its functions that are not deterministic, read once."""
    if not _FUNCTIONS:
        rows = database.rows(
            "SELECT lower(function_name), function_type = 'aggregate', "
            "coalesce(stability, '') <> 'CONSISTENT' AND function_type = 'scalar' "
            "FROM duckdb_functions() WHERE function_type IN ('aggregate', 'scalar')"
        )
        aggregates = frozenset(row[0] for row in rows if row[1]) | RECOMPUTED
        volatile = frozenset(row[0] for row in rows if row[2]) | NOT_DETERMINISTIC
        _FUNCTIONS.append((aggregates, volatile))
    return _FUNCTIONS[0]


def _macros(database: Database) -> dict[str, list[Macro]]:
    """Return the scalar macros that a database has by now."""
    macros: dict[str, list[Macro]] = {}
    for name, parameters, definition in database.rows(
        "SELECT lower(function_name), parameters, macro_definition "
        "FROM duckdb_functions() WHERE function_type = 'macro' "
        "AND schema_name <> 'pg_catalog' ORDER BY function_oid"
    ):
        macros.setdefault(name, []).append(Macro(tuple(parameters), definition))
    return macros


_MACROS: list[dict[str, list[Macro]]] = []


def _macros_of_a_new(database: Database) -> dict[str, list[Macro]]:
    """Return the macros that every new database has, read once: a listing takes 15 ms."""
    if not _MACROS:
        _MACROS.append(_macros(database))
    return _MACROS[0]


def _first_line(error: BaseException) -> str:
    lines = [line for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__


def _is_the_querys(error: duckdb.Error) -> bool:
    """Return whether an error is about the data and the query, not the machine."""
    return not isinstance(
        error,
        (
            duckdb.IOException,
            duckdb.OutOfMemoryException,
            duckdb.FatalException,
            duckdb.InterruptException,
            duckdb.ConnectionException,
            duckdb.TransactionException,
        ),
    )


def _outside(error: duckdb.Error) -> Error:
    hint = None
    if isinstance(error, duckdb.OutOfMemoryException):
        hint = "give it more with memory_limit, or take smaller ticks with max_tick"
    return DatabaseError(f"the tick was undone: {_first_line(error)}", hint=hint)
