"""Intake: how arrivals are judged, and come into the store of a stream or the queue of a relation.

One scan of the times alone, the `Survey`, tells whether all is well, as it mostly is; then the rows
go straight from where they lie into the store. Else they are staged in the temporary table
`incoming` and judged one by one. All rows are taken, or none.

A stream gives itself the heartbeat m − b − 1 instant after timestamp m, b being its bound; so an
element is late if its instant is at or before the greater of the input's heartbeat and what the
elements before it in the same arrival imply. A relation's elements may come in any order after its
heartbeat.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import duckdb

from cqlduck.errors import DataError
from cqlduck.rewrite.text.time import BEGINNING, Clock, Instant, RawTime
from cqlduck.state import lateness, stores
from cqlduck.state.arrivals import Arrivals, Survey
from cqlduck.state.columns import typed
from cqlduck.state.connection import Database, quoted
from cqlduck.state.instants import (
    MAX_RAW_TIME,
    RANGE,
    heartbeat_after,
    instant_of,
    instant_sql,
    shown_raw,
)
from cqlduck.state.registered import Input

LARGE_LOAD = 100_000
"""From how many rows on the first arrival of a relation says how its texts are stored."""

SAMPLE = 10_000
"""Of how many rows at its beginning."""

MAX_PLAIN_BYTES = 256
"""Texts that are longer, on the average, are compressed however different they are."""


@dataclass(frozen=True)
class Accepted:
    """What became of arrivals: elements taken, and elements that were late (and dropped or kept).

    `amends` is the least instant of late elements that were taken under AMEND, or None.
    """

    taken: int
    late: int
    amends: Instant | None = None


def survey(
    database: Database, thing: Input, rows: Arrivals, by: str | None = None
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


def is_clean(clock: Clock, thing: Input, seen: Survey, last: Instant | None) -> bool:
    """Return whether rows can be taken as they are: stamped, legal, in order, none late or ahead.

    Args:
        clock: The clock.
        thing: The stream or relation, as it is before them.
        seen: What is known of the rows.
        last: The last instant that one of their arrival may have, see `lateness.limit`.
    """
    if seen.stamped < seen.count or not seen.legal or not seen.in_order:
        return False
    if (
        seen.lowest is None
        or seen.highest is None
        or max(-seen.lowest, seen.highest) > MAX_RAW_TIME
    ):
        return False
    if last is not None and instant_of(clock, seen.highest) > last:
        return False
    return thing.heartbeat is None or instant_of(clock, seen.lowest) > thing.heartbeat


def insert(database: Database, clock: Clock, thing: Input, rows: Arrivals, seen: Survey) -> None:
    """Take clean rows from where they lie into the store or queue, and move the counters.

    Raises:
        DataError: A row that does not fit the input.
    """
    instant, values = rows.instant or instant_sql(clock, rows.stamp), {"next": thing.next_seq}
    if rows.raw is not None:
        # the text is that of the tick before, which need not be parsed again
        instant, values["instant"] = "$instant::BIGINT", instant_of(clock, rows.raw)
    listed = ", ".join(rows.columns)
    number = f"{rows.place} + $next"
    if thing.kind == "stream":
        target, more = thing.table, f"{instant}, {number}"
    else:
        target, more = thing.pending, f"{instant}, {rows.operation}, {number}"
        if not thing.next_seq and seen.count >= LARGE_LOAD and not database.is_limited:
            _suit(database, thing, rows)
    _read(
        database,
        thing,
        f"INSERT INTO cql_state.{quoted(target)} SELECT {listed}, {more} FROM {rows.source}",
        values,
    )
    count(clock, thing, seen.count, seen.lowest, seen.highest)


def _suit(database: Database, thing: Input, rows: Arrivals) -> None:
    """Make the tables of a relation, which are empty, such that rows are found quickly.

    Where a few rows of a vector of 2,048 are wanted, DuckDB 2.0 decompresses all its texts if they
    are different (DICT_FSST), but none if they repeat. So texts of which most are different are not
    compressed: to find 7,500 of six million rows took 230 ms instead of 510 with one such column,
    and 540 with no text compressed.

    Raises:
        DataError: A row that does not fit the input.
    """
    texts = [
        (own.name, expression)
        for own, expression in zip(thing.columns, rows.columns, strict=True)
        if own.type == "VARCHAR"
    ]
    if not texts:
        return
    shown = [f"({text})::VARCHAR AS t{place}" for place, (_, text) in enumerate(texts)]
    judged = [
        f"2 * count(DISTINCT t{place}) > count(*) AND avg(strlen(t{place})) <= {MAX_PLAIN_BYTES}"
        for place in range(len(texts))
    ]
    sample = f"SELECT {', '.join(shown)} FROM {rows.source} LIMIT {SAMPLE}"
    (found,) = _read(database, thing, f"SELECT {', '.join(judged)} FROM ({sample}) AS sample")
    plain = [name for (name, _), is_plain in zip(texts, found, strict=True) if is_plain]
    if plain:
        stores.make_plain(database, thing, plain)


def count(
    clock: Clock, thing: Input, numbers: int, lowest: RawTime | None, highest: RawTime | None
) -> None:
    """Move an input's counters, and a stream's own heartbeat, past rows.

    Args:
        clock: The clock.
        thing: The stream or relation.
        numbers: How many numbers are given away.
        lowest: The least raw time.
        highest: The greatest raw time.
    """
    assert lowest is not None
    assert highest is not None
    thing.next_seq += numbers
    if int(highest) == BEGINNING:
        return
    first, last = instant_of(clock, lowest), instant_of(clock, highest)
    if thing.first_instant is None or first < thing.first_instant:
        thing.first_instant = first
    if thing.last_instant is None or last > thing.last_instant:
        thing.last_instant = last
    if thing.kind == "stream":
        if thing.last_raw is None or highest > thing.last_raw:
            thing.last_raw = highest
        own = heartbeat_after(clock, thing.last_raw, thing.bound)
        if thing.heartbeat is None or own > thing.heartbeat:
            thing.heartbeat = own


def judge(database: Database, clock: Clock, thing: Input, rows: Arrivals) -> Accepted:
    """Stage rows, judge them one by one, and take those that are left.

    Args:
        database: The database, inside a transaction.
        clock: The clock.
        thing: The stream or relation; its heartbeat and counters move.
        rows: The rows.

    Raises:
        DataError: A row without a timestamp, or one that does not fit the input.
        LateError: Late rows under REJECT; nothing is taken.
    """
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
    lowest, highest, taken = database.rows(
        "SELECT min(_ts), max(_ts), count(*) FROM temp._cql_incoming"
    )[0]
    if not taken:
        return Accepted(0, judged.left_out)
    names = ", ".join(quoted(c.name) for c in thing.columns)
    instant = instant_sql(clock, "_ts")
    target, more = (thing.table, "") if thing.kind == "stream" else (thing.pending, ", _op")
    database.execute(
        f"INSERT INTO cql_state.{quoted(target)} "
        f"SELECT {names}, {instant}{more}, _cql_row + {thing.next_seq} FROM temp._cql_incoming"
    )
    # a row that is left out keeps its number, so that no other gets it
    count(clock, thing, taken + judged.left_out, lowest, highest)
    return Accepted(taken, judged.left_out, judged.amends)


def _refuse_unstamped(database: Database, clock: Clock, thing: Input) -> None:
    """Refuse rows without a time, and with one that cannot be counted.

    Raises:
        DataError: There is one.
    """
    found = database.rows(
        f"SELECT _cql_row, _ts FROM temp._cql_incoming WHERE _ts IS NULL OR _ts > {MAX_RAW_TIME} "
        f"OR _ts < -{MAX_RAW_TIME} ORDER BY 1 LIMIT 1"
    )
    if not found:
        return
    row, raw = found[0]
    name = thing.timestamp_by or "_ts"
    if raw is not None:
        problem, hint = f"is at {shown_raw(clock, raw)}, which is out of range", RANGE
        hint = (
            RANGE
            if clock.kind == "wall"
            else f"instants are from -{MAX_RAW_TIME} to {MAX_RAW_TIME}"
        )
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
