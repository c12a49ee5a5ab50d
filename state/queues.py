"""Queues: how elements come in.

An `Arrival` says how to read rows: the input's columns, the raw time of each row (microseconds on
wall-clock time, instants on integer time), and for relations the operation. Their order is the
order of arrival. One scan of the times alone, the `Survey`, tells whether all is well, as it mostly
is; then the rows go straight from where they lie into the store. Else they are staged in the
temporary table `incoming` and judged one by one. `accept` takes all rows, or none.

A stream gives itself the heartbeat m − b − 1 instant after timestamp m, b being its bound; so an
element is late if its instant is at or before the greater of the input's heartbeat and what the
elements before it in the same arrival imply. A relation's elements may come in any order after its
heartbeat.
"""

from __future__ import annotations

import functools
from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import duckdb
import pyarrow as pa

from cqlduck.errors import DataError
from cqlduck.rewrite.plan import Column
from cqlduck.rewrite.text.time import BEGINNING, Clock
from cqlduck.state import lateness
from cqlduck.state.catalog import Input
from cqlduck.state.columns import typed
from cqlduck.state.connection import Database, quoted
from cqlduck.state.instants import MOST, RANGE, heartbeat_after, instant_of, instant_sql, shown_raw
from cqlduck.state.types import fitted

SOME = 200_000
"""The numbers of so many rows are worked out once."""

_STORED = {
    pa.bool_(): "BOOLEAN",
    pa.int8(): "TINYINT",
    pa.int16(): "SMALLINT",
    pa.int32(): "INTEGER",
    pa.int64(): "BIGINT",
    pa.float32(): "FLOAT",
    pa.float64(): "DOUBLE",
    pa.string(): "VARCHAR",
    pa.date32(): "DATE",
    pa.timestamp("us"): "TIMESTAMP",
    pa.timestamp("us", "UTC"): "TIMESTAMP WITH TIME ZONE",
}
"""As what DuckDB reads plain columns of Arrow."""


@dataclass(frozen=True)
class Taken:
    """What `accept` did: elements taken, and elements that were late (and dropped or kept).

    `amends` is the least instant of late elements that were taken under AMEND, or None.
    """

    taken: int
    late: int
    amends: int | None = None


def raw_sql(clock: Clock, expression: str, type_name: str) -> str:
    """Return the raw time of a timestamp column as SQL.

    Raises:
        DataError: The column's type is no time of the database's kind.
    """
    if clock.kind == "integer":
        return f"CAST({expression} AS BIGINT)"
    if type_name == "TIMESTAMP WITH TIME ZONE":
        return f"epoch_us({expression})"
    if type_name == "TIMESTAMP_NS":
        nanoseconds = f"epoch_ns({expression})"
        return f"({nanoseconds} - ((({nanoseconds}) % 1000) + 1000) % 1000) // 1000"
    return f"epoch_us(CAST({expression} AS TIMESTAMP))"


@dataclass(frozen=True)
class Survey:
    """What one scan of the times tells of rows that come in.

    Args:
        count: How many rows there are.
        stamped: How many of them have a time.
        lowest: The least raw time, or None.
        highest: The greatest raw time, or None.
        in_order: Whether no raw time is before the one of the row before it.
        legal: Whether all operations are the input's.
    """

    count: int
    stamped: int
    lowest: int | None
    highest: int | None
    in_order: bool
    legal: bool


@dataclass(frozen=True)
class Arrival:
    """Rows on their way in; reading them twice gives the same rows in the same order.

    Args:
        source: What stands after FROM.
        columns: The input's columns, in order, as SQL over the source.
        stamp: The raw time of a row as SQL over the source.
        operation: '+', '-' or 'u' as SQL over the source; for relations.
        known: What a survey would tell, where that is known without one.
        place: The place of a row, from 0, as SQL over the source. To count rows lets one thread
            alone read them.
        instant: The instant of a row as SQL over the source, where it is at hand.
        ready: The table that the source reads, if it is one of Arrow.
    """

    source: str
    columns: tuple[str, ...]
    stamp: str
    operation: str = "'+'"
    known: Survey | None = None
    place: str = "row_number() OVER () - 1"
    instant: str | None = None
    ready: Prepared | None = None

    @property
    def is_of_beginning(self) -> bool:
        """Whether the rows have no instant, and none is needed (`at_once`)."""
        return self.instant == f"{BEGINNING}::BIGINT"


@dataclass(frozen=True)
class Prepared:
    """An Arrow table on its way in, with what Arrow works out of it faster than SQL.

    Args:
        table: The rows, with columns of ours after their own.
        clock: The clock that was asked.
        place: The column of a row's place, from 0.
        instant: The column of a row's instant, or None.
        seen: What a survey would tell of a stream's rows, or None.
        made: What was worked out of them for the tick, by the SELECT (`state.prefetch`).
        begin: The number of the first row in its stream that `made` goes by.
    """

    table: pa.Table
    clock: Clock
    place: str
    instant: str | None = None
    seen: Survey | None = None
    made: Mapping[str, pa.Table] = field(default_factory=dict)
    begin: int | None = None

    def queue(self, thing: Input, begin: int) -> pa.Table | None:
        """Return the rows as a stream's store would have them; None if they have to be cast.

        Args:
            thing: The stream.
            begin: The number of the first row.
        """
        import pyarrow.compute as pc

        if self.instant is None:
            return None
        given = {name.lower(): n for n, name in enumerate(self.table.column_names)}
        columns: dict[str, pa.ChunkedArray] = {}
        for own in thing.columns:
            columns[own.name] = self.table.column(given[own.name.lower()])
            if stored_type(columns[own.name].type) != own.type:
                return None
        columns["_ts"] = self.table.column(self.instant)
        columns["_cql_seq"] = pc.add(self.table.column(self.place), integers([begin])[0])
        return pa.table(columns)

    def filled(self, rows: Arrival) -> Arrival:
        """Return rows whose source is the table, with what is known of them."""
        instant = rows.instant if self.instant is None else quoted(self.instant)
        return replace(rows, place=quoted(self.place), instant=instant, ready=self)


def stored_type(kind: pa.DataType) -> str | None:
    """Return as what DuckDB reads a column of Arrow, if that is plain."""
    if pa.types.is_decimal128(kind):
        return f"DECIMAL({kind.precision},{kind.scale})"
    return _STORED.get(kind)


def prepared(clock: Clock, table: pa.Table, times: Column | None) -> Prepared:
    """Prepare a table.

    Args:
        clock: The clock.
        table: The rows.
        times: The column of a stream's timestamps, and the type in which they are read; or None.
    """
    # 60 ms that those who append rows need not wait for
    import pyarrow.compute as pc

    taken = {name.lower() for name in table.column_names}

    def free(name: str) -> str:
        while name in taken:
            name += "_"
        return name

    seen, known = None, None
    if times is not None and table.column_names.count(times.name) == 1:
        stamps = table.column(times.name)
        seen = survey_of(clock, times.type, stamps)
        if seen is not None and clock.kind == "integer":
            known = times.name
        # Arrow divides towards zero, and instants go down
        elif seen is not None and (seen.lowest or 0) >= 0:
            known = free("_cql_instant")
            granule = integers([clock.granularity])[0]
            table = table.append_column(known, pc.divide(stamps.cast(pa.int64()), granule))
    place = free("_cql_place")
    table = table.append_column(place, _places(table.num_rows))
    return Prepared(table, clock, place, known, seen)


def integers(values: Iterable[int]) -> pa.Array:
    """Return BIGINTs; `pa.array` and `pa.scalar` would import pandas first, where there is one."""
    return _buffer(array("q", values))


def _buffer(raw: array[int]) -> pa.Array:
    return pa.Array.from_buffers(pa.int64(), len(raw), [None, pa.py_buffer(raw)])


def _places(count: int) -> pa.Array:
    """Return the numbers from 0 up to before `count`."""
    return _some_places().slice(0, count) if count <= SOME else _counted(count)


@functools.cache
def _some_places() -> pa.Array:
    return _counted(SOME)


def _counted(count: int) -> pa.Array:
    import pyarrow.compute as pc

    return pc.cumulative_sum(_buffer(array("q", [1]) * count), start=integers([-1])[0])


def last_of(rows: pa.Table) -> int:
    """Return the last instant of rows of a store, in the order of their arrival."""
    import pyarrow.compute as pc

    return int(pc.max(rows.column("_ts")).as_py())


def ones(count: int) -> pa.Array:
    """Return so many weights of 1."""
    return _some_ones().slice(0, count) if count <= SOME else _buffer(array("q", [1]) * count)


@functools.cache
def _some_ones() -> pa.Array:
    return _buffer(array("q", [1]) * SOME)


def arrival(
    thing: Input,
    source: str,
    given: tuple[Column, ...],
    stamp: str,
    operation: str | None = None,
    known: Survey | None = None,
) -> Arrival:
    """Return the rows of a FROM item whose columns are `given`, in the order of the input's own."""
    listed = tuple(cast(mine, own.type) for mine, own in zip(given, thing.columns, strict=True))
    return Arrival(source, listed, stamp, operation or "'+'", known)


def cast(given: Column, kind: str) -> str:
    """Return a column of a FROM item as one of a type, as SQL.

    Args:
        given: Its name, and its own type, if it may hold texts.
        kind: The type.
    """
    is_text = any(word in given.type for word in ("VARCHAR", "JSON"))
    return fitted(quoted(given.name), kind, is_text=is_text)


def at_once(rows: Arrival, clock: Clock, raw: int) -> Arrival:
    """Return rows that all have one raw time, which may be the beginning of time."""
    instant = instant_of(clock, raw)
    return replace(rows, stamp=f"{raw}::BIGINT", instant=f"{instant}::BIGINT")


def survey(
    database: Database, thing: Input, rows: Arrival, by: str | None = None
) -> dict[int, Survey]:
    """Scan the times of rows, by the number of their file if `by` is given; else all under 0.

    Raises:
        DataError: A time that cannot be read.
    """
    group = "0" if by is None else by
    allowed = "('+', '-', 'u')" if thing.primary_key else "('+', '-')"
    legal = "true"
    if thing.kind == "relation":
        legal = f"coalesce({rows.operation} IN {allowed}, false)"
    order = "true"
    if thing.kind == "stream":
        order = "_ts >= lag(_ts, 1, _ts) OVER ()"
    found = _read(
        database,
        thing,
        f"SELECT part, count(*), count(_ts), min(_ts), max(_ts), "
        f"coalesce(bool_and(in_order), true), coalesce(bool_and(legal), true) FROM (SELECT *, "
        f"{order} AS in_order FROM (SELECT {group} AS part, {rows.stamp} AS _ts, {legal} AS legal "
        f"FROM {rows.source}) AS times) AS judged GROUP BY part",
    )
    return {row[0]: Survey(*row[1:]) for row in found}


def survey_of(clock: Clock, type_name: str, times: pa.ChunkedArray) -> Survey | None:
    """Return what a survey would tell of rows of a stream, or None if the times have to be read.

    Args:
        clock: The clock.
        type_name: The DuckDB type of the timestamps.
        times: The time of each row, as Arrow or Parquet has it.
    """
    # 60 ms that those who append rows need not wait for
    import pyarrow.compute as pc

    if clock.kind == "integer":
        plain = pa.types.is_signed_integer(times.type) and type_name == "BIGINT"
    else:
        # a session is in UTC, so a time zone changes nothing
        plain = pa.types.is_timestamp(times.type) and times.type.unit == "us"
        plain = plain and type_name in ("TIMESTAMP", "TIMESTAMP WITH TIME ZONE")
    if not plain or times.null_count or not len(times):
        return None
    raw = times.cast(pa.int64())
    ends = pc.min_max(raw)
    lowest, highest = ends["min"].as_py(), ends["max"].as_py()
    if max(-lowest, highest) > MOST:
        return None
    in_order = pc.all(pc.greater_equal(raw[1:], raw[:-1]), min_count=0).as_py()
    return Survey(len(raw), len(raw), lowest, highest, in_order, True)


def _read(
    database: Database, thing: Input, sql: str, parameters: Mapping[str, Any] | None = None
) -> list[tuple[Any, ...]]:
    """Run a statement that reads what comes in.

    Raises:
        DataError: A value that does not fit its column.
    """
    try:
        return database.rows(sql, parameters)
    except (duckdb.ConversionException, duckdb.OutOfRangeException, duckdb.InvalidInputException,
            duckdb.BinderException, duckdb.NotImplementedException) as error:  # fmt: skip
        raise DataError(
            f"the rows do not fit {thing.kind} {thing.name}: {str(error).splitlines()[0]}",
            hint=f"its columns are {typed(thing.columns)}",
        ) from error


def accept(database: Database, clock: Clock, thing: Input, rows: Arrival) -> Taken:
    """Judge rows and take them into the input's store or queue.

    Args:
        database: The database, inside a transaction.
        clock: The clock.
        thing: The stream or relation; its heartbeat and counters move.
        rows: The rows.

    Raises:
        DataError: A row without a timestamp, or one that does not fit the input.
        LateError: Late rows under REJECT; nothing is taken.
    """
    seen = rows.known or survey(database, thing, rows).get(0)
    if seen is None or not seen.count:
        return Taken(0, 0)
    if rows.is_of_beginning or is_clean(clock, thing, seen, lateness.limit(clock, thing)):
        insert(database, clock, thing, rows, seen)
        return Taken(seen.count, 0)
    return _accept_staged(database, clock, thing, rows)


def is_clean(clock: Clock, thing: Input, seen: Survey, last: int | None) -> bool:
    """Return whether rows can be taken as they are: stamped, legal, in order, none late or ahead.

    Args:
        clock: The clock.
        thing: The stream or relation, as it is before them.
        seen: What is known of the rows.
        last: The last instant that one of their arrival may have, see `lateness.limit`.
    """
    if seen.stamped < seen.count or not seen.legal or not seen.in_order:
        return False
    if seen.lowest is None or seen.highest is None or max(-seen.lowest, seen.highest) > MOST:
        return False
    if last is not None and instant_of(clock, seen.highest) > last:
        return False
    return thing.heartbeat is None or instant_of(clock, seen.lowest) > thing.heartbeat


def insert(database: Database, clock: Clock, thing: Input, rows: Arrival, seen: Survey) -> None:
    """Take clean rows from where they lie into the store or queue, and move the counters.

    Raises:
        DataError: A row that does not fit the input.
    """
    instant = rows.instant or instant_sql(clock, rows.stamp)
    listed = ", ".join(rows.columns)
    number = f"{rows.place} + $next"
    if thing.kind == "stream":
        target, more = thing.table, f"{instant}, {number}"
    else:
        target, more = thing.pending, f"{instant}, {rows.operation}, {number}"
    _read(
        database,
        thing,
        f"INSERT INTO cql_state.{quoted(target)} SELECT {listed}, {more} FROM {rows.source}",
        {"next": thing.next_seq},
    )
    count(clock, thing, seen)


def count(clock: Clock, thing: Input, seen: Survey) -> None:
    """Move an input's counters past rows that are clean."""
    assert seen.lowest is not None
    assert seen.highest is not None
    _count(clock, thing, seen.count, seen.lowest, seen.highest)


def _count(clock: Clock, thing: Input, numbers: int, lowest: int, highest: int) -> None:
    """Move an input's counters and a stream's own heartbeat; `numbers` are given away."""
    thing.next_seq += numbers
    if highest == BEGINNING:
        return
    thing.first_instant = _least(thing.first_instant, instant_of(clock, lowest))
    thing.last_instant = _greatest(thing.last_instant, instant_of(clock, highest))
    if thing.kind == "stream":
        thing.last_raw = _greatest(thing.last_raw, highest)
        own = heartbeat_after(clock, thing.last_raw, thing.bound)
        thing.heartbeat = _greatest(thing.heartbeat, own)


def _accept_staged(database: Database, clock: Clock, thing: Input, rows: Arrival) -> Taken:
    """Stage rows, judge them one by one, and take those that are left."""
    listed = [
        f"{expression} AS {quoted(own.name)}"
        for expression, own in zip(rows.columns, thing.columns, strict=True)
    ]
    listed += [f"{rows.stamp} AS _ts", f"{rows.operation} AS _op"]
    listed.append("row_number() OVER () - 1 AS _cql_row")
    _read(
        database,
        thing,
        f"CREATE OR REPLACE TEMP TABLE _cql_incoming AS SELECT {', '.join(listed)} "
        f"FROM {rows.source}",
    )
    _refuse_unstamped(database, clock, thing)
    judged = lateness.judge(database, clock, thing)
    if thing.kind == "relation":
        _refuse_operations(database, thing)
    lowest, highest, count = database.rows(
        "SELECT min(_ts), max(_ts), count(*) FROM temp._cql_incoming"
    )[0]
    if not count:
        return Taken(0, judged.left_out)
    names = ", ".join(quoted(c.name) for c in thing.columns)
    instant = instant_sql(clock, "_ts")
    target, more = (thing.table, "") if thing.kind == "stream" else (thing.pending, ", _op")
    database.execute(
        f"INSERT INTO cql_state.{quoted(target)} "
        f"SELECT {names}, {instant}{more}, _cql_row + {thing.next_seq} FROM temp._cql_incoming"
    )
    # a row that is left out keeps its number, so that no other gets it
    _count(clock, thing, count + judged.left_out, lowest, highest)
    return Taken(count, judged.left_out, judged.amends)


def _refuse_unstamped(database: Database, clock: Clock, thing: Input) -> None:
    """Refuse rows without a time, and with one that cannot be counted.

    Raises:
        DataError: There is one.
    """
    found = database.rows(
        f"SELECT _cql_row, _ts FROM temp._cql_incoming WHERE _ts IS NULL OR _ts > {MOST} "
        f"OR _ts < -{MOST} ORDER BY 1 LIMIT 1"
    )
    if not found:
        return
    row, raw = found[0]
    name = thing.timestamp_by or "_ts"
    if raw is not None:
        problem, hint = f"is at {shown_raw(clock, raw)}, which is out of range", RANGE
        hint = RANGE if clock.kind == "wall" else f"instants are from -{MOST} to {MOST}"
    else:
        problem, hint = "has no timestamp", f"give {name} a value in every row"
        if thing.timestamp_by is not None and database.value(
            f"SELECT {quoted(thing.timestamp_by)} IS NOT NULL FROM temp._cql_incoming "
            f"WHERE _cql_row = {row}"
        ):
            problem, hint = "is at infinity, which is not an instant", RANGE
    raise DataError(f"{thing.name}: row {row} {problem}", hint=hint, row=row, field=name)


def _refuse_operations(database: Database, thing: Input) -> None:
    allowed = "('+', '-', 'u')" if thing.primary_key else "('+', '-')"
    row = database.rows(
        f"SELECT _cql_row, _op FROM temp._cql_incoming "
        f"WHERE _op IS NULL OR _op NOT IN {allowed} ORDER BY 1 LIMIT 1"
    )
    if row:
        hint = "use + or -" if not thing.primary_key else "use +, - or u"
        if row[0][1] == "u":
            hint = "an upsert needs a PRIMARY KEY; use - and + instead"
        raise DataError(
            f"{thing.name}: row {row[0][0]} has the _op {row[0][1]!r}",
            hint=hint,
            row=row[0][0],
            field="_op",
        )


def _least(left: int | None, right: int) -> int:
    return right if left is None else min(left, right)


def _greatest(left: int | None, right: int) -> int:
    return right if left is None else max(left, right)
