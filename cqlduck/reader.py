"""Reading: answers, changes and plain SQL, as relations that do not change afterwards.

A read runs on a connection of its own, over a copy or over rows of a log that never change, so the
result can be read while a tick runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import duckdb
import pyarrow as pa

from cqlduck import moments, selects
from cqlduck.data import relation
from cqlduck.engine import Engine
from cqlduck.engine.catching_up import is_named
from cqlduck.errors import DatabaseError, DataError
from cqlduck.meter import Meter
from cqlduck.rewrite.text.time import Instant
from cqlduck.state import answers
from cqlduck.state.reads import Read, copied
from cqlduck.state.registered import Query
from cqlduck.state.running import Parameters
from cqlduck.state.threads import MEDIUM_TICK_ELEMENTS
from cqlduck.statements.plain_sql import is_select


class Reader:
    """Reads what an engine has; whoever calls it holds the engine still, but for `sql`.

    Args:
        engine: The engine.
        meter: Shows how far long reads are.
        sees_variables: Whether what is made of a relation may name variables of the caller.
    """

    def __init__(self, engine: Engine, meter: Meter, *, sees_variables: bool) -> None:
        """Read nothing yet."""
        self._engine = engine
        self._meter = meter
        self._sees_variables = sees_variables
        self._counts: dict[str, int] = {}
        """Of queries: how many rows their answers had when they were read last."""

    def bring_up(self, queries: Sequence[Query]) -> None:
        """Bring deferred queries to where ticks would have brought them, as far as they can go."""
        if queries:
            with self._meter.during(f"bring {queries[0].name} up to date"):
                self._engine.bring_up(queries)

    def bring_up_read(self, text: str) -> None:
        """Bring queries up to date that statements may read.

        Raises:
            QueryError: One that they name calls a function that is not registered, or one that it
                reads does.
        """
        queries = self._engine.behind_in(text)
        self.bring_up(queries)
        self._engine.refuse_waiting(one for one in queries if is_named(one.name, text))

    def up_to_date(self, query: Query) -> Query:
        """Return a query that is up to date.

        Raises:
            QueryError: It calls a function that is not registered, or one that it reads does.
        """
        if query.promised is None:
            return query
        self.bring_up([query])
        self._engine.refuse_waiting([query])
        # if a tick was undone, the catalogue was read again
        return self._engine.query(query.name)

    def table(self, query: Query) -> duckdb.DuckDBPyRelation:
        """Return the answer at the frontier; of a query that yields a stream, its elements.

        Raises:
            QueryError: The query failed, or one that it reads.
        """
        engine, query = self._engine, self.up_to_date(query)
        engine.refuse_failed(query)
        is_stream = query.kind == "stream"
        is_large = is_stream or self._is_large(query)
        engine.reading(is_large=is_large, answers=(query,))
        if engine.is_listening:
            return self._in_tick(engine.answer_sql(query))
        sql = selects.of_table(engine, query)
        if is_stream and engine.is_lasting(query):
            return engine.results.read(query.changes, sql)
        sees = self._sees_variables
        rows, count = copied(engine.database, sql, sees_variables=sees, is_large=is_large)
        self._counts[query.name] = count
        return rows

    def arrow(self, query: Query) -> pa.Table:
        """Return the answer at the frontier as an Arrow table.

        Raises:
            QueryError: The query failed, or one that it reads.
            NotSupportedError: A VARIANT holds what Arrow's has no type for.
        """
        engine, query = self._engine, self.up_to_date(query)
        engine.refuse_failed(query)
        is_large = self._is_large(query)
        engine.reading(is_large=is_large, answers=(query,))
        stamp = ("_ts",) if query.kind == "stream" else ()
        table = self._arrow(query, engine.answer_sql(query), stamp, is_large=is_large)
        self._counts[query.name] = table.num_rows
        return table

    def _is_large(self, query: Query) -> bool:
        """Return whether all threads should read an answer, by its rows when it was read last."""
        return self._counts.get(query.name, MEDIUM_TICK_ELEMENTS + 1) > MEDIUM_TICK_ELEMENTS

    def _arrow(
        self, query: Query, sql: str, stamps: tuple[str, ...], *, is_large: bool
    ) -> pa.Table:
        """Run a SELECT of a query's columns and some of ours, as Arrow can hold them."""
        listed = relation.for_arrow(query.columns)
        if listed is not None:
            sql = f"SELECT {', '.join((listed, *stamps))} FROM ({sql}) AS rows_of_query"
        with relation.leaving():
            return self._engine.database.arrow(sql, is_large=is_large)

    def as_of(self, query: Query, t: Any) -> duckdb.DuckDBPyRelation:
        """Return the answer at an instant of kept history.

        Raises:
            DataError: The instant is after the frontier or before kept history.
            QueryError: It is after the frontier, and the query failed, or one that it reads.
        """
        engine = self._engine
        instant = moments.instant(engine, t)
        if query.frontier is not None and instant > query.frontier:
            query = self.up_to_date(query)
        if query.frontier is None or instant > query.frontier:
            engine.refuse_failed(query)
            raise DataError(
                f"{query.name} has no answer at {t} yet; its frontier is "
                f"{engine.shown(query.frontier)}",
                hint="advance first",
            )
        hint = "the setting history says how long changes are kept"
        self.refuse_before_history(query, instant, hint)
        return self._answer(engine.answer_sql(query, instant))

    def changes(self, query: Query, since: Any, until: Any) -> duckdb.DuckDBPyRelation:
        """Return the net elements with since < `_ts` ≤ until: columns, `_ts`, `_weight`."""
        engine = self._engine
        since, until = (None if t is None else moments.instant(engine, t) for t in (since, until))
        query = self.up_to_date(query)
        self.refuse_before_history(query, since)
        engine.reading()
        sql = selects.of_changes(engine, query, since, until)
        if engine.is_listening or not engine.is_lasting(query) or query.frontier is None:
            return self._answer(sql)
        return engine.results.read(query.changes, sql)

    def refuse_before_history(
        self, query: Query, since: Instant | None, hint: str = "ask for changes since then"
    ) -> None:
        """Refuse to look at a query before its kept history.

        Raises:
            DataError: The instant is before it.
        """
        start = query.history_from
        if since is not None and start is not None and since < start:
            shown = self._engine.shown(start)
            raise DataError(f"the history of {query.name} begins at {shown}", hint=hint)

    # -- subscriptions ----------------------------------------------------------------------------

    def elements_after(
        self, name: str, position: Instant | None
    ) -> tuple[list[pa.RecordBatch], Instant | None]:
        """Return the elements of a query after an instant, and how far they go.

        Raises:
            DataError: Some of them are forgotten.
            QueryError: There are none, and the query failed, or one that it reads.
        """
        engine = self._engine
        with engine.database.interrupts.deferred, engine.lock:
            query = self.up_to_date(engine.query(name))
            if query.frontier is None or (position is not None and query.frontier <= position):
                engine.refuse_failed(query)
                return [], position
            engine.refuse_closed()
            self._refuse_forgotten(query, position)
            start = query.history_from
            # of a relation, what stands at the start of history is no change
            known = [t for t in (position, start) if t is not None]
            since = max(known, default=None)
            found = self._elements(query, since).to_batches()
            if not found:
                engine.refuse_failed(query)
            return found, query.frontier

    def _refuse_forgotten(self, query: Query, position: Instant | None) -> None:
        """Refuse to go on behind elements that history has let go of.

        Raises:
            DataError: There were some after `position`.
        """
        engine = self._engine
        lost = engine.housekeeping.lost_of(query)
        if lost is not None and (position is None or lost > position):
            raise DataError(
                f"the subscription to {query.name} was too slow: it has elements up to "
                f"{engine.shown(position)}, and the history of {query.name} begins at "
                f"{engine.shown(query.history_from)}",
                hint=f"keep more, as in ALTER CONTINUOUS QUERY {query.name} SET (keep = …), or "
                "read more often; subscribe anew to go on from here",
            )

    def _elements(self, query: Query, since: Instant | None) -> pa.Table:
        """Return the elements of a query after an instant, in the order of time."""
        engine = self._engine
        found = engine.output_buffer.since(query, since, engine.clock)
        if found is not None:
            return _in_order(found)
        engine.reading(is_large=not engine.reads_last_tick(query, since))
        # of a member that shows fewer columns than its family, equal elements have to be netted
        is_in_any_order = query.kind == "stream" and not query.projection
        if is_in_any_order:
            sql = answers.new_sql(engine.clock, query, since, query.frontier)
        else:
            is_net = engine.is_net(query)
            sql = answers.changes_sql(engine.clock, query, since, query.frontier, is_net=is_net)
        table = self._arrow(query, sql, ("_ts", "_weight"), is_large=True)
        return _in_order(table) if is_in_any_order else table

    # -- plain SQL --------------------------------------------------------------------------------

    def sql(
        self,
        text: str,
        parameters: Parameters,
        frames: Mapping[str, pa.Table],
        timeout: float | None = None,
    ) -> duckdb.DuckDBPyRelation:
        """Return a relation over a copy of what a statement that only reads gives now.

        Args:
            text: The statement.
            parameters: Values for its parameters.
            frames: Data frames that it may read by name.
            timeout: How many seconds it may take; None is any.

        Raises:
            DatabaseError: It took longer.
        """
        engine = self._engine
        is_query = is_select(text)
        with engine.database.interrupts.deferred:
            with engine.opened():
                self.bring_up_read(text)
                lower = text.lower()
                # there may be thousands of queries, and hardly one of them is named
                shown = [
                    query
                    for name, query in engine.catalogue.queries.items()
                    if (name in lower or '"' in name) and is_named(name, lower)
                ]
                engine.reading(everything=True, inputs=engine.inputs_in(text), answers=shown)
                read = Read(engine.database, frames, is_select=is_query)
            with self._until_closed(), _limited(timeout), read.reading(timeout):
                if is_query:
                    return read.table(text, parameters, sees_variables=self._sees_variables)
                found = read.sql(text, parameters)
                rows = relation.of_table(pa.table({})) if found is None else relation.copied(found)
                read.end()
                return rows

    def _answer(self, sql: str) -> duckdb.DuckDBPyRelation:
        """Return a relation over a copy of what a SELECT over answers and logs gives now."""
        engine = self._engine
        engine.reading()
        if engine.is_listening:
            return self._in_tick(sql)
        return copied(engine.database, sql, sees_variables=self._sees_variables)[0]

    def _in_tick(self, sql: str) -> duckdb.DuckDBPyRelation:
        """Return the same for a listener, at the end of a tick that no other connection sees."""
        database = self._engine.database
        with database.running(database.connection):
            found = database.relation(sql)
            assert found is not None
            return relation.copied(found)

    @contextmanager
    def _until_closed(self) -> Iterator[None]:
        """Say so if another thread has closed the connection while the block read from it.

        Raises:
            DatabaseError: It has.
        """
        try:
            yield
        except duckdb.Error:
            self._engine.refuse_closed()
            raise


@contextmanager
def _limited(timeout: float | None) -> Iterator[None]:
    """Say so if what the block reads took longer than it may.

    Raises:
        DatabaseError: It did.
    """
    try:
        yield
    except duckdb.InterruptException as error:
        # who calls `interrupt` gets another error
        if timeout is None:
            raise
        raise DatabaseError(
            f"the statement took longer than {timeout:g} seconds", hint="ask for less of it"
        ) from error


def _in_order(table: pa.Table) -> pa.Table:
    """Return rows in the order of `_ts`; to look whether they are is quicker than to sort them."""
    import pyarrow.compute as pc

    times = table.column("_ts")
    if pc.all(pc.greater_equal(times[1:], times[:-1]), min_count=0).as_py():
        return table
    return table.sort_by("_ts")
