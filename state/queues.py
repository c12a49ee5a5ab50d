"""Queues: how elements come in.

Rows are staged in the temporary table `incoming`: the input's columns, then `_ts` as a raw time
(microseconds on wall-clock time, instants on integer time), and for relations `_op`. Their order is
the order of arrival. `accept` then judges them element by element and takes all of them, or none.

A stream gives itself the heartbeat m − b − 1 instant after timestamp m, b being its bound; so an
element is late if its instant is at or before the greater of the input's heartbeat and what the
elements before it in the same arrival imply. A relation's elements may come in any order after its
heartbeat.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass

import duckdb

from cqlduck.errors import DataError, LateError
from cqlduck.rewrite.plan import Column
from cqlduck.rewrite.time import Clock
from cqlduck.state.catalog import Input, typed
from cqlduck.state.connection import Database, quoted

SHOWN = 5
"""How many offending rows a message names."""


@dataclass(frozen=True)
class Taken:
    """What `accept` did: elements taken, and elements that were late (and dropped or kept)."""

    taken: int
    late: int


def closes(clock: Clock, raw: int) -> int:
    """Return the last instant that a heartbeat of a raw time closes."""
    return (raw + 1) // clock.granularity - 1 if clock.kind == "wall" else raw


def heartbeat_after(clock: Clock, raw: int, bound: int) -> int:
    """Return the heartbeat that a stream gives itself after a timestamp: m − b − 1."""
    return closes(clock, raw - bound - 1)


def instant_of(clock: Clock, raw: int) -> int:
    """Return the instant of a raw time."""
    return raw // clock.granularity if clock.kind == "wall" else raw


def instant_sql(clock: Clock, raw: str) -> str:
    """Return the instant of a raw time as SQL."""
    g = clock.granularity
    if clock.kind == "integer" or g == 1:
        return raw
    return f"(({raw}) - ((({raw}) % {g}) + {g}) % {g}) // {g}"


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


def stage(
    database: Database,
    thing: Input,
    source: str,
    given: tuple[Column, ...],
    stamp: str,
    operation: str | None,
) -> int:
    """Fill `incoming` from a FROM item whose columns are `given`; return the number of rows.

    Args:
        database: The database.
        thing: The stream or relation.
        source: What stands after FROM.
        given: The columns of the source, in the order of the input's own.
        stamp: The raw time as an expression over the source's columns.
        operation: '+' or '-' as an SQL expression, for relations.

    Raises:
        DataError: A value that does not fit its column, with row and column.
    """
    listed = [
        f"CAST({quoted(mine.name)} AS {own.type}) AS {quoted(own.name)}"
        for mine, own in zip(given, thing.columns, strict=True)
    ]
    listed.append(f"{stamp} AS _ts")
    if thing.kind == "relation":
        listed.append(f"{operation or chr(39) + '+' + chr(39)} AS _op")
    listed.append("row_number() OVER () - 1 AS _cql_row")
    sql = f"CREATE OR REPLACE TEMP TABLE _cql_incoming AS SELECT {', '.join(listed)} FROM {source}"
    try:
        database.execute(sql)
    except (duckdb.ConversionException, duckdb.OutOfRangeException, duckdb.InvalidInputException,
            duckdb.BinderException) as error:  # fmt: skip
        raise DataError(
            f"the rows do not fit {thing.kind} {thing.name}: {str(error).splitlines()[0]}",
            hint=f"its columns are {typed(thing.columns)}",
        ) from error
    return int(database.value("SELECT count(*) FROM temp._cql_incoming"))


def accept(database: Database, clock: Clock, thing: Input, *, late: str | None = None) -> Taken:
    """Judge the staged rows and take them into the input's store or queue.

    Args:
        database: The database, inside a transaction.
        clock: The clock.
        thing: The stream or relation; its heartbeat and counters move.
        late: The policy, if not the input's own.

    Raises:
        DataError: A row without a timestamp.
        LateError: Late rows under REJECT; nothing is taken.
    """
    _refuse_unstamped(database, thing)
    policy = late or thing.late
    condition = _late_condition(clock, thing)
    dropped = 0
    if condition is not None:
        dropped = _judge(database, clock, thing, condition, policy)
    if thing.kind == "relation":
        _refuse_operations(database, thing)
    instant = instant_sql(clock, "_ts")
    lowest, highest, last, count = database.rows(
        f"SELECT min({instant}), max({instant}), max(_ts), count(*) FROM temp._cql_incoming"
    )[0]
    if not count:
        return Taken(0, dropped)
    listed = ", ".join(quoted(c.name) for c in thing.columns)
    if thing.kind == "stream":
        database.execute(
            f"INSERT INTO cql_state.{quoted(thing.table)} "
            f"SELECT {listed}, {instant}, _cql_row + {thing.next_seq} FROM temp._cql_incoming"
        )
    else:
        database.execute(
            f"INSERT INTO cql_state.{quoted(thing.pending)} "
            f"SELECT {listed}, {instant}, _op, _cql_row + {thing.next_seq} FROM temp._cql_incoming"
        )
    thing.next_seq += count
    thing.first_instant = _least(thing.first_instant, lowest)
    thing.last_instant = _greatest(thing.last_instant, highest)
    if thing.kind == "stream":
        thing.last_raw = _greatest(thing.last_raw, last)
        assert thing.last_raw is not None
        own = heartbeat_after(clock, thing.last_raw, thing.bound)
        thing.heartbeat = _greatest(thing.heartbeat, own)
    return Taken(count, dropped)


def _refuse_unstamped(database: Database, thing: Input) -> None:
    rows = [
        r
        for (r,) in database.rows(
            "SELECT _cql_row FROM temp._cql_incoming WHERE _ts IS NULL ORDER BY 1 LIMIT 1"
        )
    ]
    if rows:
        raise DataError(
            f"{thing.name}: row {rows[0]} has no timestamp",
            hint=f"give {thing.timestamp_by or '_ts'} a value in every row",
        )


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
        raise DataError(f"{thing.name}: row {row[0][0]} has the _op {row[0][1]!r}", hint=hint)


def _late_condition(clock: Clock, thing: Input) -> str | None:
    """Return what makes a staged row late, as SQL over `_cql_row` and `_ts`, or None."""
    heartbeat = "NULL" if thing.heartbeat is None else str(thing.heartbeat)
    instant = instant_sql(clock, "_ts")
    if thing.kind == "relation":
        return None if thing.heartbeat is None else f"{instant} <= {heartbeat}"
    ahead = "max(_ts) OVER (ORDER BY _cql_row ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)"
    granule = clock.granularity if clock.kind == "wall" else 1
    raw = f"({ahead} - {thing.bound})"
    implied = f"(({raw}) - ((({raw}) % {granule}) + {granule}) % {granule}) // {granule} - 1"
    return f"{instant} <= greatest({heartbeat}, {implied})"


def _judge(database: Database, clock: Clock, thing: Input, condition: str, policy: str) -> int:
    """Apply the policy for late elements; return how many there were."""
    late = (
        "CREATE OR REPLACE TEMP TABLE _cql_late_rows AS SELECT row_id FROM "
        f"(SELECT _cql_row AS row_id, {condition} AS late "
        "FROM temp._cql_incoming) AS judged WHERE late"
    )
    database.execute(late)
    rows = [r for (r,) in database.rows("SELECT row_id FROM temp._cql_late_rows ORDER BY row_id")]
    if not rows:
        return 0
    if policy == "REJECT":
        shown = ", ".join(map(str, rows[:SHOWN])) + (", …" if len(rows) > SHOWN else "")
        ts = database.value("SELECT _ts FROM temp._cql_incoming WHERE _cql_row = ?", [rows[0]])
        edge = shown_instant(clock, thing.heartbeat)
        raise LateError(
            f"{len(rows)} of the rows for {thing.name} are late: rows {shown} "
            f"(row {rows[0]} is at {shown_raw(clock, ts)}, the heartbeat is at {edge})",
            rows=rows,
            hint="send rows in order, declare OUT OF ORDER WITHIN, or LATE DROP or KEEP; "
            "nothing was taken",
        )
    instant = instant_sql(clock, "_ts")
    element = "NULL"
    if policy == "KEEP":
        listed = ", ".join(f"{quoted(c.name)} := {quoted(c.name)}" for c in thing.columns)
        element = f"CAST(struct_pack({listed}) AS VARCHAR)"
        database.execute(
            f"INSERT INTO cql_state.late SELECT ?, {instant}, 'late', 1, {element} "
            f"FROM temp._cql_incoming WHERE _cql_row IN (SELECT row_id FROM temp._cql_late_rows)",
            [thing.name],
        )
    else:
        database.execute(
            f"INSERT INTO cql_state.late SELECT ?, max({instant}), 'late, dropped', count(*), NULL "
            f"FROM temp._cql_incoming WHERE _cql_row IN (SELECT row_id FROM temp._cql_late_rows)",
            [thing.name],
        )
    database.execute(
        "CREATE OR REPLACE TEMP TABLE _cql_incoming AS SELECT * FROM temp._cql_incoming "
        "WHERE _cql_row NOT IN (SELECT row_id FROM temp._cql_late_rows) ORDER BY _cql_row"
    )
    return len(rows)


def shown_raw(clock: Clock, raw: int | None) -> str:
    """Return a raw time as people write it."""
    if raw is None:
        return "none"
    if clock.kind == "integer":
        return str(raw)
    try:
        epoch = datetime.datetime(1970, 1, 1)
        return str(epoch + datetime.timedelta(microseconds=raw))
    except OverflowError:
        return f"{raw} µs"


def shown_instant(clock: Clock, instant: int | None) -> str:
    """Return an instant as people write it."""
    return shown_raw(clock, None if instant is None else instant * clock.granularity)


def public(clock: Clock, instant: int | None) -> int | datetime.datetime | None:
    """Return an instant as Python sees it: an int, or a naive datetime in UTC."""
    if instant is None or clock.kind == "integer":
        return instant
    epoch = datetime.datetime(1970, 1, 1)
    return epoch + datetime.timedelta(microseconds=instant * clock.granularity)


def _least(left: int | None, right: int) -> int:
    return right if left is None else min(left, right)


def _greatest(left: int | None, right: int) -> int:
    return right if left is None else max(left, right)
