"""Arrivals: rows on their way in, whatever gives them.

A batch of the drop zone, what a user appends and what a statement inserts all become one value: how
to read the rows as SQL (the input's columns, the raw time of each row, for relations the
operation), and, where the rows are a table of Arrow, what Arrow has worked out of it. Their order
is the order of arrival. A `Survey` is what one scan of the times tells; with it `state.intake`
judges them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pyarrow as pa

from cqlduck.rewrite.plan import Column
from cqlduck.rewrite.text.names import unused
from cqlduck.rewrite.text.time import BEGINNING, Clock, RawTime
from cqlduck.state.arrow import integers, places, stored_type
from cqlduck.state.connection import quoted
from cqlduck.state.instants import MAX_RAW_TIME, instant_of
from cqlduck.state.registered import Input
from cqlduck.state.types import NANOSECONDS, fitted


def raw_sql(clock: Clock, expression: str, type_name: str) -> str:
    """Return the raw time of a timestamp column as SQL.

    Raises:
        DataError: The column's type is no time of the database's kind.
    """
    if clock.kind == "integer":
        return f"CAST({expression} AS BIGINT)"
    if type_name == "TIMESTAMP WITH TIME ZONE":
        return f"epoch_us({expression})"
    if type_name in ("TIMESTAMP_NS", NANOSECONDS):
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
    lowest: RawTime | None
    highest: RawTime | None
    in_order: bool
    legal: bool


@dataclass(frozen=True)
class Arrivals:
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
        raw: The raw time of all rows, if they have one.
        are_clean: Whether they have been judged already, or have no instant and need none
            (`at_once`), and are to be taken as they are.
        is_registered: Whether the table is registered under the source's name by whoever made this.
    """

    source: str
    columns: tuple[str, ...]
    stamp: str
    operation: str = "'+'"
    known: Survey | None = None
    place: str = "row_number() OVER () - 1"
    instant: str | None = None
    ready: Prepared | None = None
    raw: RawTime | None = None
    are_clean: bool = False
    is_registered: bool = False


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
        stored: The rows as a stream's store would have them, if they were made beforehand.
        begin: The number of the first row in its stream that `stored` and `made` go by.
    """

    table: pa.Table
    clock: Clock
    place: str
    instant: str | None = None
    seen: Survey | None = None
    made: Mapping[str, pa.Table] = field(default_factory=dict)
    stored: pa.Table | None = None
    begin: int | None = None

    def as_stored(self, thing: Input, begin: int) -> pa.Table | None:
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

    def filled(self, rows: Arrivals) -> Arrivals:
        """Return rows whose source is the table, with what is known of them."""
        instant = rows.instant if self.instant is None else quoted(self.instant)
        return replace(rows, place=quoted(self.place), instant=instant, ready=self)


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

    seen, known = None, None
    if times is not None and table.column_names.count(times.name) == 1:
        stamps = table.column(times.name)
        seen = survey_of(clock, times.type, stamps)
        if seen is not None and clock.kind == "integer" and stamps.type == pa.int64():
            known = times.name
        elif seen is not None and clock.kind == "integer":
            known = unused("_cql_instant", taken)
            table = table.append_column(known, stamps.cast(pa.int64()))
        # Arrow divides towards zero, and instants go down
        elif seen is not None and (seen.lowest or 0) >= 0:
            known = unused("_cql_instant", taken)
            granule = integers([clock.granularity])[0]
            table = table.append_column(known, pc.divide(stamps.cast(pa.int64()), granule))
    place = unused("_cql_place", taken)
    table = table.append_column(place, places(table.num_rows))
    return Prepared(table, clock, place, known, seen)


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
    if max(-lowest, highest) > MAX_RAW_TIME:
        return None
    in_order = pc.all(pc.greater_equal(raw[1:], raw[:-1]), min_count=0).as_py()
    return Survey(len(raw), len(raw), lowest, highest, in_order, True)


def arrival(
    thing: Input,
    source: str,
    given: tuple[Column, ...],
    stamp: str,
    operation: str | None = None,
    known: Survey | None = None,
) -> Arrivals:
    """Return the rows of a FROM item whose columns are `given`, in the order of the input's own."""
    listed = tuple(cast(mine, own.type) for mine, own in zip(given, thing.columns, strict=True))
    return Arrivals(source, listed, stamp, operation or "'+'", known)


def cast(given: Column, kind: str) -> str:
    """Return a column of a FROM item as one of a type, as SQL.

    Args:
        given: Its name, and its own type, if it may hold texts, or is `NANOSECONDS`.
        kind: The type.
    """
    if given.type == NANOSECONDS and kind == "TIMESTAMP":
        return f"CAST(CAST({quoted(given.name)} AS TIMESTAMP WITH TIME ZONE) AS {kind})"
    is_text = any(word in given.type for word in ("VARCHAR", "JSON"))
    return fitted(quoted(given.name), kind, is_text=is_text)


def at_once(rows: Arrivals, clock: Clock, raw: RawTime) -> Arrivals:
    """Return rows that all have one raw time, which may be the beginning of time."""
    instant = instant_of(clock, raw)
    return replace(
        rows,
        stamp=f"{raw}::BIGINT",
        instant=f"{instant}::BIGINT",
        raw=raw,
        are_clean=instant == BEGINNING,
    )
