"""Registration: what CREATE, DROP and ALTER do to the catalogue.

Each function is one change: it checks first, and what fails leaves everything as it was.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import duckdb

from cqlduck.engine import Engine
from cqlduck.errors import BindError, CatalogError, DataError, NotSupportedError, first_line
from cqlduck.rewrite import Compiled
from cqlduck.rewrite.plan import Column
from cqlduck.rewrite.text.spelling import said_by_duckdb, suggestion
from cqlduck.rewrite.text.syntax import (
    RESERVED,
    STORED,
    AlterQuery,
    CreateQuery,
    CreateRelation,
    CreateStream,
    Drop,
    has_same_words,
)
from cqlduck.rewrite.text.time import Duration, parse_duration
from cqlduck.state import amend, answers, catalog, inspection, lateness, plans, records, synopses
from cqlduck.state.catalog import EXPIRED, Input, Query, typed
from cqlduck.state.paths import leads_out

TIME_TYPES = ("TIMESTAMP", "DATE", "TIMESTAMP WITH TIME ZONE", "TIMESTAMP_S", "TIMESTAMP_MS",
              "TIMESTAMP_NS")  # fmt: skip
INTEGER_TYPES = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT",
                 "UINTEGER")  # fmt: skip


def create_input(engine: Engine, statement: CreateStream | CreateRelation) -> bool:
    """Register a stream or a relation; return whether it was not there before.

    Raises:
        CatalogError: The name is taken.
        BindError: A type that DuckDB does not know.
    """
    with engine.changing():
        kind = "stream" if isinstance(statement, CreateStream) else "relation"
        if is_taken(engine, statement.name, statement.if_not_exists, kind):
            return False
        columns = _typed(engine, statement.columns)
        if isinstance(statement, CreateRelation) and not statement.columns:
            columns = _columns_of(engine, statement)
        _refuse_outside(statement.source)
        thing = Input(_position(engine), statement.name, kind, columns, source=statement.source)
        thing.number = engine.catalogue.next_number
        if isinstance(statement, CreateStream):
            thing.timestamp_by, thing.late = statement.timestamp_by, statement.late
            if thing.timestamp_by is not None:
                _time_of(engine, thing)
            if statement.bound is not None:
                thing.bound = _distance(engine, statement.bound)
                thing.bound_text = statement.bound.shown
            if statement.ahead is not None:
                thing.ahead = _distance(engine, statement.ahead)
                thing.ahead_text = statement.ahead.shown
        else:
            thing.primary_key, thing.query = statement.primary_key, statement.query
        catalog.create_input(engine.database, thing)
        engine.catalogue.add(thing)
        inspection.refresh(engine.database, engine.catalogue, thing)
        return True


def _refuse_outside(source: str | None) -> None:
    """Refuse a folder that is not inside the drop zone.

    Raises:
        BindError: It begins at a root, or goes up.
    """
    if source is None:
        return
    if leads_out(source):
        raise BindError(
            f"FROM {source!r} is no folder inside the drop zone",
            hint="name it relative to the drop zone, and below it",
        )


def _columns_of(engine: Engine, statement: CreateRelation) -> tuple[Column, ...]:
    """Return the columns of a relation that has those of its query.

    Raises:
        BindError: A reserved name, one that is there twice, or a key that there is not.
    """
    rows = engine.database.rows(f"DESCRIBE {statement.query}")
    names = [row[0].lower() for row in rows]
    for name in names:
        is_reserved = name in (*RESERVED, *STORED)
        if is_reserved or names.count(name) > 1:
            problem = "a reserved name" if is_reserved else "there twice"
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


def _time_of(engine: Engine, thing: Input) -> None:
    kind = next(c.type for c in thing.columns if c.name == thing.timestamp_by)
    if kind in TIME_TYPES:
        engine.set_time("wall", f"{thing.timestamp_by} {kind}")
    elif kind in INTEGER_TYPES:
        engine.set_time("integer", f"{thing.timestamp_by} {kind}")
    else:
        raise BindError(
            f"{thing.timestamp_by} is {kind}, which is no timestamp",
            hint="use TIMESTAMP, DATE, TIMESTAMPTZ or an integer type",
        )


def _distance(engine: Engine, written: Duration) -> int:
    """Return a distance between timestamps as a raw time.

    Raises:
        DataError: It is of the other kind of time.
    """
    if written.instants is not None:
        engine.set_time("integer", "a bound without a unit")
        return int(written.instants)
    assert written.microseconds is not None
    if engine.catalogue.settings.get("time") is None:
        engine.set_time("wall", "a bound with a unit")
    integer = engine.clock.kind == "integer"
    return int(written.microseconds) // (engine.clock.instant if integer else 1)


def take_heartbeat_back(engine: Engine, name: str, until: int) -> None:
    """Take a stream's heartbeat back to an instant; elements after it leave for `cql.late`.

    Raises:
        CatalogError: There is no such stream.
        DataError: Its heartbeat is before that instant, or a query has gone beyond it.
    """
    thing = engine.input(name)
    if thing.kind != "stream":
        raise CatalogError(f"{name} is a relation", hint="ALTER STREAM is for streams")
    if thing.heartbeat is None or until > thing.heartbeat:
        raise DataError(
            f"the heartbeat of {name} is at {engine.shown(thing.heartbeat)}, which is not after "
            f"{engine.shown(until)}",
            hint=f"ALTER STREAM takes it back; heartbeat('{name}', …) raises it",
        )
    known = [q for q in engine.catalogue.queries.values() if q.frontier is not None]
    beyond = [
        f"{q.name} (at {engine.shown(q.frontier)})"
        for q in known
        if q.frontier is not None and q.frontier > until and thing in engine.catalogue.inputs_of(q)
    ]
    if beyond:
        raise DataError(
            f"answers beyond {engine.shown(until)} are out: {', '.join(beyond)}",
            hint="take the heartbeat back to no earlier than their frontiers, or drop these "
            "queries first",
        )
    lateness.take_back(engine.database, engine.clock, thing, until)
    engine.recount()


def _typed(engine: Engine, columns: tuple[tuple[str, str], ...]) -> tuple[Column, ...]:
    typed = []
    for name, kind in columns:
        if re.search(r"\bCOLLATE\b", kind, re.IGNORECASE):
            raise NotSupportedError(
                f"column {name}: COLLATE on a column is not supported",
                hint="leave it out, and compare with COLLATE: WHERE x COLLATE NOCASE = 'a'",
            )
        try:
            row = engine.database.rows(f"DESCRIBE SELECT CAST(NULL AS {kind}) AS c")[0]
        except duckdb.Error as error:
            raise BindError(
                f"column {name}: DuckDB does not know the type {kind}: "
                f"{said_by_duckdb(first_line(error))}"
            ) from error
        typed.append(Column(name, row[1]))
    return tuple(typed)


def is_taken(engine: Engine, name: str, allowed: bool, kind: str) -> bool:
    """Refuse a name that is taken; return whether it may be left as it is.

    Args:
        engine: The engine.
        name: The name.
        allowed: Whether a thing of this kind may be there already.
        kind: What it is to be: stream, relation, continuous query or data frame.

    Raises:
        CatalogError: The name is that of something else.
    """
    if kind != "data frame" and engine.database.frames.find(name) is not None:
        raise CatalogError(
            f"{name} is a data frame that is registered",
            hint=f"unregister({name!r}) first, or choose another name",
        )
    known = engine.catalogue.inputs.get(name.lower()) or engine.catalogue.queries.get(name.lower())
    if known is not None:
        what = known.kind if isinstance(known, Input) else "continuous query"
        if allowed and what == kind:
            return True
        raise CatalogError(
            f"{name} is there already, as a {what}",
            hint="choose another name, or drop it; IF NOT EXISTS leaves it as it is"
            if what == kind
            else "choose another name, or drop it",
        )
    row = engine.database.rows(
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


def _position(engine: Engine) -> int:
    positions = [thing.position for thing in engine.catalogue.inputs.values()]
    positions += [query.position for query in engine.catalogue.queries.values()]
    return 1 + max(positions, default=0)


def create_query(engine: Engine, statement: CreateQuery) -> None:
    """Register a continuous query; it begins after the frontier of its inputs.

    Raises:
        Error: Of the family, with its place in the query.
    """
    with engine.changing():
        old = engine.catalogue.queries.get(statement.name.lower())
        if old is None or not statement.or_replace:
            if not is_taken(engine, statement.name, statement.if_not_exists, "continuous query"):
                _begin(engine, statement, engine.compile(statement.name, statement.body))
        elif _says_the_same(engine, old, statement) and old.state not in ("failed", EXPIRED):
            options = dict(statement.options)
            old.keep = _kept_for(engine, options.get("keep"))
        else:
            _replace(engine, statement, old)


def _says_the_same(engine: Engine, old: Query, statement: CreateQuery) -> bool:
    """Return whether a query would be what it is: macros may have changed under the same words."""
    if not has_same_words(old.body, statement.body):
        return False
    return old.taken == engine.compile(old.name, statement.body).taken


def _replace(engine: Engine, statement: CreateQuery, old: Query) -> None:
    """Register a query in the place of an old one.

    If others read it, they go on: its log does too, and at one instant its answer changes.
    """
    readers = engine.catalogue.readers_of(old)
    # it cannot read the one that it replaces
    engine.catalogue.remove(old)
    compiled = engine.compile(statement.name, statement.body)
    if not readers:
        _drop_query(engine, old)
        _begin(engine, statement, compiled)
        return
    _refuse_unfit(engine, statement, compiled, old, readers)
    _drop_query(engine, old, keep_log=True)
    _begin(engine, statement, compiled, old)
    _move_behind(engine, readers)


def _move_behind(engine: Engine, readers: Sequence[Query]) -> None:
    """Give queries a place behind one that they read, and that has been registered after them."""
    for reader in readers:
        # queries run in the order of registration, which is after what they read
        engine.catalogue.remove(reader)
        inspection.refresh(engine.database, engine.catalogue, reader)
        reader.position = _position(engine)
        engine.catalogue.add(reader)
        catalog.move(engine.database, reader)
        inspection.refresh(engine.database, engine.catalogue, reader)


def _refuse_unfit(
    engine: Engine,
    statement: CreateQuery,
    compiled: Compiled,
    old: Query,
    readers: Sequence[Query],
) -> None:
    """Refuse to replace a query if those that read it could not go on.

    Raises:
        CatalogError: The columns or the kind are others, or what they have read would change.
    """
    read = {source.name for source in compiled.sources.values()}
    above = [reader.name for reader in readers if reader.name in read]
    known = engine.catalogue.inputs
    problem = None
    if above:
        problem = f"the new one would read {', '.join(above)}"
    elif compiled.columns != old.columns:
        problem = f"its columns would no longer be {typed(old.columns)}"
    elif compiled.kind != old.kind:
        problem = f"the new one would yield a {compiled.kind} and no {old.kind}"
    elif any(key == "history" for key, _ in statement.options):
        problem = "a new one with history would begin before what they have read"
    elif any(name.lower() in known and known[name.lower()].late == "AMEND" for name in read):
        problem = "a stream with LATE AMEND would correct what the old one said too"
    if problem is not None:
        raise CatalogError(
            f"{old.name} is read by {', '.join(r.name for r in readers)}, and {problem}",
            hint="drop these queries first, or give the new one another name",
        )


def _begin(
    engine: Engine, statement: CreateQuery, compiled: Compiled, old: Query | None = None
) -> None:
    """Register a query; it goes on with the log of an `old` one, if it replaces one."""
    options = dict(statement.options)
    if compiled.counts_instants and engine.catalogue.settings.get("time") is None:
        engine.set_time("integer", "a window without a unit")
    inputs = tuple(source.name for source in compiled.sources.values())
    query = Query(
        _position(engine),
        statement.name if old is None else old.name,
        statement.body,
        compiled.kind,
        compiled.columns,
        inputs,
        compiled.order,
        taken=compiled.taken,
    )
    query.number = engine.catalogue.next_number if old is None else old.number
    query.since = _begins_after(engine, query, options.get("history"))
    if old is not None:
        query.since = max((f for f in (query.since, old.frontier) if f is not None), default=None)
        query.history_from = old.history_from
    query.frontier = query.since
    query.keep = _kept_for(engine, options.get("keep"))
    plans.save(engine.database, query.name, compiled)
    synopses.create(engine.database, query.name, compiled)
    answers.create(engine.database, engine.clock, query, compiled.answer, has_log=old is not None)
    if query.kind == "stream" and engine.catalogue.amends(query):
        amend.create(engine.database, query)
    catalog.insert(engine.database, query)
    engine.catalogue.add(query)
    engine.compiled[query.name.lower()] = compiled
    engine.recount()
    inspection.refresh(engine.database, engine.catalogue, query)
    inspection.write_stubs(engine.database, query, engine.stubs(query))
    engine.expect(query)


def _begins_after(engine: Engine, query: Query, history: str | None) -> int | None:
    """Return the instant after which a new query begins, or None for the beginning of time.

    Without `history` that is the frontier of its inputs; 'true' goes back as far as elements
    were ever there, a duration that far from the frontier.

    Raises:
        BindError: Elements after that instant are forgotten, or it is no duration.
    """
    reached = engine.progress.target(query)
    inputs = engine.catalogue.inputs_of(query)
    inner = [q for name in query.inputs if (q := engine.catalogue.queries.get(name.lower()))]
    if history is None or history.lower() == "false":
        begins = [reached, *(thing.forgotten for thing in inputs)]
        return max((instant for instant in begins if instant is not None), default=None)
    since: int | None = None
    if history.lower() != "true" and reached is not None:
        since = reached - engine.clock.instants(parse_duration(history))
    begun = [q.since for q in inner if q.since is not None]
    since = max(begun) if since is None and begun else since
    since = max([since, *begun]) if since is not None else None
    read = [(thing.name, thing.forgotten) for thing in inputs if thing.name in query.inputs]
    for name, lost in read + [(q.name, q.history_from) for q in inner]:
        if lost is not None and (since is None or since < lost):
            raise BindError(
                f"{name} has been forgotten up to {engine.shown(lost)}",
                hint="ask for less, as in WITH (history = '1 hour'), or for nothing: a query "
                "without history begins now",
            )
    return since


def _kept_for(engine: Engine, written: str | None) -> str | None:
    """Return how long changes are kept as it is stored, or None for the setting `history`.

    Raises:
        ParseError: It is no duration.
        BindError: It is one of the other kind of time.
    """
    if written is None or written.lower() == "default":
        return None
    if written.lower() != "unbounded":
        engine.clock.instants(parse_duration(written))
    return written.lower()


def alter_query(engine: Engine, statement: AlterQuery) -> None:
    """Change the options of a query, or whether it goes on, and from where."""
    if statement.action == "SET":
        set_options(engine, statement.name, statement.options)
    elif statement.action == "ACTIVATE FROM NOW":
        begin_anew(engine, statement.name)
    else:
        set_active(engine, statement.name, statement.action == "ACTIVATE")


def set_options(engine: Engine, name: str, written: Sequence[tuple[str, str]]) -> None:
    """Change the options of a query.

    Raises:
        BindError: There is no such option, or it cannot be changed any more.
    """
    with engine.changing():
        query = engine.query(name)
        options = dict(written)
        if "history" in options:
            raise BindError(
                "history says where a query begins, and this one has begun",
                hint="make it anew: CREATE OR REPLACE CONTINUOUS QUERY … WITH (history = …)",
            )
        query.keep = _kept_for(engine, options.get("keep"))


def drop(engine: Engine, statement: Drop) -> None:
    """Drop a stream, relation or query.

    Raises:
        CatalogError: It is not there, or a query reads it.
    """
    with engine.changing():
        key = statement.name.lower()
        if statement.kind == "QUERY":
            query = engine.catalogue.queries.get(key)
            if query is None:
                _missing(
                    engine, statement, "continuous query", list(engine.catalogue.queries.values())
                )
                return
            _refuse_if_read(engine, query)
            _drop_query(engine, query)
            return
        thing = engine.catalogue.inputs.get(key)
        kind = statement.kind.lower()
        if thing is None or thing.kind != kind:
            same = [i for i in engine.catalogue.inputs.values() if i.kind == kind]
            _missing(engine, statement, kind, same)
            return
        _refuse_if_read(engine, thing)
        engine.catalogue.remove(thing)
        inspection.refresh(engine.database, engine.catalogue, thing)
        catalog.drop_input(engine.database, thing)
        records.drop(engine.database, records.LATE, thing.name)
        records.drop(engine.database, records.QUARANTINED, thing.name)
        engine.streamon.forget(thing.name)
        engine._resolved.pop(thing.name, None)


def _missing(engine: Engine, statement: Drop, kind: str, there: Sequence[Input | Query]) -> None:
    if not statement.if_exists:
        raise CatalogError(
            f"there is no {kind} {statement.name}",
            hint=suggestion(statement.name, [t.name for t in there], "there are"),
        )


def _refuse_if_read(engine: Engine, thing: Input | Query) -> None:
    readers = engine.catalogue.readers(thing)
    if readers:
        raise CatalogError(
            f"{thing.name} is read by {', '.join(q.name for q in readers)}",
            hint="drop these queries first",
        )


def _drop_query(engine: Engine, query: Query, *, keep_log: bool = False) -> None:
    if not keep_log:
        engine.results.keep(query.changes)
    answers.drop(engine.database, query, keep_log=keep_log)
    plans.drop(engine.database, query.name)
    synopses.drop(engine.database, query.name)
    for table, column in (
        (catalog.ROWS["queries"], "name"),
        ("stubs", "query"),
    ):
        engine.database.execute(f"DELETE FROM cql_state.{table} WHERE {column} = ?", [query.name])
    records.drop(engine.database, records.CORRECTIONS, query.name)
    engine.catalogue.remove(query)
    inspection.refresh(engine.database, engine.catalogue, query)
    engine.compiled.pop(query.name.lower(), None)
    engine.housekeeping.dropped(query)
    if not keep_log:
        engine.housekeeping.lost.pop(query.name, None)
    engine.tables.drop()
    engine.streamon.forget(query.name)
    engine.output_buffer.store(query)


def set_active(engine: Engine, name: str, active: bool) -> None:
    """Activate or deactivate a query; an inactive one stands still.

    Raises:
        CatalogError: One that has expired cannot go on.
    """
    with engine.changing():
        query = engine.query(name)
        if query.state == EXPIRED:
            if active:
                raise _expired(engine, query)
            return
        engine.catalogue.turn(query, "active" if active else "inactive")
        engine.recount()
        if active:
            query.error = query.error_reason = query.error_row = None


def _expired(engine: Engine, query: Query) -> CatalogError:
    return CatalogError(
        f"{query.name} has expired: it stood still at {engine.shown(query.frontier)} for longer "
        f"than {engine.standing}, and what came since is no longer kept for it",
        hint=f"ALTER CONTINUOUS QUERY {query.name} ACTIVATE FROM NOW lets it begin from now; made "
        "anew, with CREATE OR REPLACE … WITH (history = …), it begins with what is still kept",
    )


def begin_anew(engine: Engine, name: str) -> None:
    """Let a query that stands still begin from now: what came since it stood still it never sees.

    Its changes up to then stay. Those that read it go on from where they stand.

    Raises:
        CatalogError: It does not stand still, or one that it reads has expired, or late elements
            would correct what others have read.
    """
    with engine.changing():
        old = engine.query(name)
        if old.state == "active":
            raise CatalogError(
                f"{old.name} does not stand still",
                hint="to begin it from now, DEACTIVATE it first; to go on, leave it as it is",
            )
        for inner in engine.catalogue.queries_of(old):
            if inner.state == EXPIRED:
                raise CatalogError(
                    f"{old.name} reads {inner.name}, which has expired",
                    hint=f"let that begin first: ALTER CONTINUOUS QUERY {inner.name} ACTIVATE FROM "
                    "NOW",
                )
        readers = engine.catalogue.readers_of(old)
        amends = any(thing.late == "AMEND" for thing in engine.catalogue.inputs_of(old))
        if amends and readers:
            raise CatalogError(
                f"{old.name} is read by {', '.join(r.name for r in readers)}, and a stream with "
                "LATE AMEND would correct what they have read",
                hint="drop these queries first",
            )
        compiled = engine.compiled[old.name.lower()]
        options = () if old.keep is None else (("keep", old.keep),)
        statement = CreateQuery(old.name, old.body, options)
        _drop_query(engine, old, keep_log=not amends)
        _begin(engine, statement, compiled, None if amends else old)
        _move_behind(engine, readers)
