"""The data of `append` and `retract`, as SQL can read it.

Data of any kind becomes an Arrow table (`cqlduck.data`). Columns are matched by name if the data
has names, otherwise by position. `at` gives the instants of data without timestamps: one for all
rows, or one for each.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import duckdb
import pyarrow as pa

from cqlduck import matching
from cqlduck.data import place, sound, tables, texts
from cqlduck.data.owned import owned
from cqlduck.engine import Engine
from cqlduck.errors import DatabaseError, DataError, first_line
from cqlduck.moments import raw_time
from cqlduck.rewrite.plan import Column
from cqlduck.rewrite.text.time import RawTime
from cqlduck.state import arrivals, intake, staged
from cqlduck.state.connection import quoted
from cqlduck.state.registered import Input
from cqlduck.state.threads import MEDIUM_TICK_ELEMENTS
from cqlduck.state.types import has_text, told_type


@contextlib.contextmanager
def arriving(
    engine: Engine, thing: Input, table: pa.Table, at: Any, operation: str
) -> Iterator[arrivals.Arrivals]:
    """Make what a user passed, and `read` has read, readable by SQL as long as the block runs.

    Raises:
        DataError: The data does not fit the input.
        DatabaseError: DuckDB could not go on, for want of memory or of room.
    """
    source = f"_cql_incoming_{thing.position}"
    there = _named(table)
    try:
        given = matching.matched(thing, "the data", there, allowed=("_ts",))
        times = _times(engine, thing, there, at) if thing.kind == "stream" else None
        ready = arrivals.prepared(engine.clock, table, times)
        with engine.database.incoming.readable(source, ready.table):
            rows, seen = _arrival(engine, thing, source, given, table, at, operation)
            rows = replace(rows, known=seen or ready.seen, is_registered=True)
            # of instants that are given beside it, the source is more than the table
            yield ready.filled(rows) if rows.source == source else replace(rows, place=ready.place)
    except DataError as error:
        raise _placed(engine, error, thing, table) from error
    except duckdb.Error as error:
        raise DatabaseError(
            f"no row was appended of the data for {thing.name}: {first_line(error)}",
            hint="resolve that, and append it again",
        ) from error


def accept(
    engine: Engine, thing: Input, table: pa.Table, at: Any, operation: str
) -> intake.Accepted:
    """Accept rows that `read` has read, inside a change.

    Args:
        engine: The engine.
        thing: The stream or relation.
        table: The rows.
        at: Their instant, or one for each, or None.
        operation: '+' or '-'.

    Raises:
        DataError: They do not fit the input.
        DatabaseError: DuckDB could not go on.
    """
    with arriving(engine, thing, table, at, operation) as rows:
        return engine.accept(thing, rows)


def read(thing: Input, data: Any) -> pa.Table:
    """Return data as an Arrow table that is ours, and that DuckDB takes as what it is.

    Raises:
        DataError: It cannot be read, or holds what DuckDB cannot.
    """
    table = tables.read(thing, data)
    sound.check(thing, table)
    found = texts.as_times(thing, table)
    # of a file nobody else has the rows
    return found if isinstance(data, (str, os.PathLike)) else owned(found)


def _placed(engine: Engine, error: DataError, thing: Input, table: pa.Table) -> DataError:
    """Return an error with the row and the column that are to blame, if there is one."""
    if error.row is not None or not isinstance(error.__cause__, duckdb.Error):
        return error
    given = matching.matched(thing, "the data", _named(table), allowed=("_ts",))
    pairs = zip(given, thing.columns, strict=True)
    casts = [(own.name, arrivals.cast(mine, own.type)) for mine, own in pairs]
    for name in table.column_names:
        if name.lower() == "_ts":
            time = "BIGINT" if engine.clock.kind == "integer" else "TIMESTAMPTZ"
            casts.append((name, f"CAST({quoted(name)} AS {time})"))
    if thing.timestamp_by is not None:
        # a date may fit its column, and be beyond all timestamps
        stamp = matching.stamp(engine.clock, thing, _named(table))
        casts.append((thing.timestamp_by, stamp))
    found = place.of_misfit(table, casts)
    if found is None:
        return error
    return DataError(
        f"row {found.row} does not fit {thing.kind} {thing.name}: {found.field}: {found.why}",
        hint=error.hint,
        row=found.row,
        field=found.field,
    )


def _named(table: pa.Table) -> matching.Named:
    """Return the columns of a table; of those that are or have texts the type is VARCHAR."""
    return matching.named(Column(field.name, told_type(field.type)) for field in table.schema)


def _times(engine: Engine, thing: Input, there: matching.Named, at: Any) -> Column | None:
    """Return the data's own column of a stream's times, as what it is read; None if it has none."""
    found = matching.times(thing, there)
    if found is None or thing.timestamp_by is not None:
        return found
    if at is not None or engine.catalogue.time_is_open:
        return None
    return Column(found.name, "BIGINT" if engine.clock.kind == "integer" else "TIMESTAMP")


def _arrival(
    engine: Engine, thing: Input, source: str, given: tuple[Column, ...], table: pa.Table, at: Any,
    operation: str,
) -> tuple[arrivals.Arrivals, arrivals.Survey | None]:  # fmt: skip
    """Return how to read the rows, and what is known of them if they are all of one instant."""
    count = table.num_rows
    if count > MEDIUM_TICK_ELEMENTS:
        engine.database.threads.all()
    rows, stamp = _stamp(engine, thing, source, _named(table), table, at)
    seen = None
    if isinstance(stamp, int):
        seen = arrivals.Survey(count, count, stamp, stamp, True, True)
        arrived = arrivals.arrival(thing, rows, given, "", f"'{operation}'")
        return arrivals.at_once(arrived, engine.clock, stamp), seen
    return arrivals.arrival(thing, rows, given, stamp, f"'{operation}'"), None


def of_query(engine: Engine, thing: Input, query: str) -> arrivals.Arrivals:
    """Return what an SQL query gives for an input, matched by name, else by position.

    Raises:
        DataError: A column is missing or unknown.
    """
    given = staged.write_query(engine.database, query)
    there = matching.named(given)
    is_by_name = any(c.name.lower() in there for c in thing.columns)
    if is_by_name or len(given) != len(thing.columns):
        given = matching.matched(thing, "the query", there)
    return arrivals.arrival(thing, staged.ROWS, given, "NULL")


def _stamp(
    engine: Engine, thing: Input, rows: str, there: matching.Named, table: pa.Table, at: Any
) -> tuple[str, str | RawTime]:
    """Return what to read the rows from, and the raw time of each as SQL over it, or of all."""
    if thing.timestamp_by is not None:
        if at is not None:
            raise DataError(
                f"{thing.name} takes its timestamps from {thing.timestamp_by}",
                hint="leave at out",
            )
        return rows, matching.stamp(engine.clock, thing, there)
    if "_ts" in there and at is not None:
        raise DataError(
            f"the rows for {thing.name} have a column _ts, and at gives them another time",
            hint="leave one of the two out",
            field="_ts",
        )
    if at is None:
        if "_ts" in there:
            return rows, _stamp_column(engine, thing, table, there["_ts"].name)
        return rows, engine.next_raw_time(thing)
    moments = instants_of(at)
    if not isinstance(moments, list):
        return rows, raw_time(engine, at)
    raws = _raw_times(engine, thing, moments, table.num_rows)
    return staged.with_times(engine.database, rows, raws)


def instants_of(at: Any) -> Any:
    """Return the instants that are given for each row as a list; what is one for all as it is.

    Raises:
        DataError: One is none of Python's.
    """
    if isinstance(at, str) or not hasattr(at, "__len__"):
        return at
    try:
        return at.to_pylist() if hasattr(at, "to_pylist") else list(at)
    except OverflowError as error:
        raise DataError(
            f"at has a time that is none of Python's: {error}", hint="leave it out", field="at"
        ) from error
    except TypeError:
        # a single value of numpy's
        return at


def _raw_times(engine: Engine, thing: Input, moments: list[Any], count: int) -> list[RawTime]:
    if len(moments) != count:
        raise DataError(
            f"{len(moments)} instants for {count} rows of {thing.name}",
            hint="at is one instant, or one for each row",
        )
    raws = []
    for row, moment in enumerate(moments):
        try:
            raws.append(raw_time(engine, moment))
        except DataError as error:
            raise DataError(
                f"at for row {row} of {thing.name}: {error.message}",
                hint=error.hint,
                row=row,
                field="at",
            ) from error
    return raws


def _stamp_column(engine: Engine, thing: Input, table: pa.Table, name: str) -> str:
    """Return the raw time of the data's own `_ts`; its type tells the kind of time."""
    kind = table.schema.field(name).type
    own = quoted(name)
    if pa.types.is_null(kind) or not table.num_rows:
        return f"CAST(CAST({own} AS VARCHAR) AS BIGINT)"
    if pa.types.is_integer(kind):
        engine.set_time("integer", f"the column _ts {kind}")
        return f"CAST({own} AS BIGINT)"
    if has_text(kind):
        filled = table.column(name).drop_null()
        sample = str(filled[0]) if len(filled) else ""
        if sample.lstrip("-").isdigit():
            engine.set_time("integer", "the column _ts")
            return f"CAST({own} AS BIGINT)"
        engine.set_time("wall", "the column _ts")
        return f"epoch_us(CAST({own} AS TIMESTAMPTZ))"
    if not pa.types.is_temporal(kind):
        raise DataError(
            f"the column _ts of the data for {thing.name} is {kind}, which is no time",
            hint="make it integers, timestamps, or texts in ISO 8601",
            field="_ts",
        )
    engine.set_time("wall", f"the column _ts {kind}")
    is_fine = pa.types.is_timestamp(kind) and kind.unit == "ns"
    zoned = pa.types.is_timestamp(kind) and kind.tz is not None
    return arrivals.raw_sql(
        engine.clock, own, "TIMESTAMP_NS" if is_fine
        else "TIMESTAMP WITH TIME ZONE" if zoned else "TIMESTAMP",
    )  # fmt: skip
