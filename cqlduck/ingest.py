"""What people pass to `append` and `retract`, made readable as SQL.

Data may be a pandas or polars frame, anything of Arrow, a DuckDB relation, or rows (tuples, lists
or mappings). Columns are matched by name where the data has names, else by position. `at` gives the
instants of data that carries none: one for all, or one for each row.
"""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any

import duckdb
import pyarrow as pa

from cqlduck.engine import Engine
from cqlduck.errors import DataError
from cqlduck.rewrite.plan import Column
from cqlduck.rewrite.scope import suggestion
from cqlduck.state import instants, queues
from cqlduck.state.catalog import Input
from cqlduck.state.connection import quoted
from cqlduck.state.threads import SOME

CHUNK = 400
"""How many rows one INSERT of Python values has."""


MOST = 2**62
"""The greatest instant of integer time, so that windows beyond it can be counted."""

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)

FIRST, LAST = -62_135_596_800_000_000, 253_402_300_799_999_999
"""The moments that Python and people can write, in microseconds: the years 1 to 9999."""


def raw_time(engine: Engine, moment: Any) -> int:
    """Return a moment as a raw time, and settle the kind of time if it is open.

    Args:
        engine: The engine, inside a change.
        moment: An int (integer time), or a datetime, date, or text such as '2013-01-01 12:00'.
            Naive moments are UTC.

    Raises:
        DataError: It is no moment, or one of the other kind of time.
    """
    if isinstance(moment, bool) or moment is None:
        raise DataError(f"{moment!r} is no instant", hint="pass an int, a datetime or a text")
    if type(moment).__name__ == "datetime64":
        moment = moment.astype("datetime64[us]").item()
    if hasattr(moment, "item") and not isinstance(moment, (int, str)):
        moment = moment.item() if not hasattr(moment, "to_pydatetime") else moment.to_pydatetime()
    if isinstance(moment, int):
        if abs(moment) > MOST:
            raise DataError(f"{moment} is out of range", hint=f"instants are at most {MOST}")
        engine.set_time("integer", f"the instant {moment}")
        return moment
    if type(moment) is datetime.datetime:
        engine.set_time("wall", f"the instant {moment}")
        aware = moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)
        return (aware - EPOCH) // datetime.timedelta(microseconds=1)
    if isinstance(moment, (datetime.datetime, datetime.date, str)):
        shown = str(moment)
        try:
            raw = engine.database.value("SELECT epoch_us(CAST(? AS TIMESTAMPTZ))", [shown])
        except duckdb.Error as error:
            raise DataError(
                f"{shown!r} is no instant", hint="write it as '2013-01-01 12:00', in UTC"
            ) from error
        if raw is None:
            raise DataError(f"{shown!r} is no instant", hint="write it as '2013-01-01 12:00'")
        if not FIRST <= raw <= LAST:
            raise DataError(f"{shown!r} is out of range", hint="the years are 1 to 9999")
        engine.set_time("wall", f"the instant {shown}")
        return int(raw)
    raise DataError(
        f"{moment!r} is no instant", hint="pass an int, a datetime, or a text in ISO 8601"
    )


def heartbeat_instant(engine: Engine, moment: Any) -> int:
    """Return the last instant that a heartbeat of a moment closes."""
    raw = raw_time(engine, moment)
    return instants.closes(engine.clock, raw)


def instant(engine: Engine, moment: Any) -> int:
    """Return the instant that a moment falls into."""
    raw = raw_time(engine, moment)
    return instants.instant_of(engine.clock, raw)


@contextlib.contextmanager
def arriving(
    engine: Engine, thing: Input, data: Any, at: Any, operation: str
) -> Iterator[queues.Arrival]:
    """Make readable what a user passed, as long as the block runs.

    Raises:
        DataError: The data does not fit the input.
    """
    table = _as_arrow(thing, data)
    if table is None:
        names, count = _rows(engine, thing, data)
        yield _arrival(engine, thing, "temp._cql_incoming_rows", names, count, None, at, operation)
        return
    source, names = f"_cql_incoming_{thing.position}", list(table.column_names)
    times = _times(engine, thing, table, at) if thing.kind == "stream" else None
    ready = queues.prepared(engine.clock, table, times)
    with engine.database.incoming.readable(source, ready.table):
        rows = _arrival(engine, thing, source, names, table.num_rows, ready.seen, at, operation)
        # of instants that are given beside it, the source is more than the table
        yield ready.filled(rows) if rows.source == source else replace(rows, place=ready.place)


def _times(engine: Engine, thing: Input, table: pa.Table, at: Any) -> Column | None:
    """Return a table's own column of a stream's times, as what it is read; None if it has none."""
    names = {name.lower(): name for name in table.column_names}
    if thing.timestamp_by is not None:
        own = next(c for c in thing.columns if c.name == thing.timestamp_by)
        found = names.get(own.name.lower())
        return None if found is None else Column(found, own.type)
    if at is not None or "_ts" not in names or engine.catalogue.time_is_open:
        return None
    return Column(names["_ts"], "BIGINT" if engine.clock.kind == "integer" else "TIMESTAMP")


def _arrival(
    engine: Engine, thing: Input, source: str, names: list[str] | None, count: int,
    seen: queues.Survey | None, at: Any, operation: str,
) -> queues.Arrival:  # fmt: skip
    if count > SOME:
        engine.database.threads.all()
    given = _matched(thing, names)
    rows, stamp = _stamp(engine, thing, source, names, at)
    if isinstance(stamp, int):
        seen = queues.Survey(count, count, stamp, stamp, True, True)
        stamp = f"{stamp}::BIGINT"
    return queues.arrival(thing, rows, given, stamp, f"'{operation}'", seen)


def of_query(engine: Engine, thing: Input, query: str) -> queues.Arrival:
    """Return what an SQL query gives for an input, matched by name, else by position.

    Raises:
        DataError: A column is missing or unknown.
    """
    engine.database.execute(f"CREATE OR REPLACE TEMP TABLE _cql_incoming_rows AS {query}")
    names = [row[0] for row in engine.database.rows("DESCRIBE temp._cql_incoming_rows")]
    known = {c.name.lower() for c in thing.columns}
    if not known & {name.lower() for name in names} and len(names) == len(thing.columns):
        given = tuple(Column(n, c.type) for n, c in zip(names, thing.columns, strict=True))
    else:
        given = _matched(thing, names, timed=False)
    return queues.arrival(thing, "temp._cql_incoming_rows", given, "NULL")


def kept(thing: Input, data: Any) -> Any:
    """Return data such that it can be read more than once.

    Raises:
        DataError: It is nothing that can be appended.
    """
    table = _as_arrow(thing, data)
    return list(data) if table is None else table


def _as_arrow(thing: Input, data: Any) -> pa.Table | None:
    """Return data as an Arrow table, or None if it is rows of Python values."""
    if isinstance(data, duckdb.DuckDBPyRelation):
        data = data.to_arrow_table()
    if isinstance(data, pa.RecordBatch):
        data = pa.Table.from_batches([data])
    if isinstance(data, pa.RecordBatchReader):
        data = data.read_all()
    if not isinstance(data, pa.Table) and hasattr(data, "__arrow_c_stream__"):
        try:
            if type(data).__module__.startswith("pandas"):
                data = pa.Table.from_pandas(data, preserve_index=False)
            else:
                data = pa.table(data)
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise DataError(f"the data for {thing.name} cannot be read: {error}") from error
    if isinstance(data, pa.Table):
        return data
    if isinstance(data, (str, bytes)) or not isinstance(data, Iterable):
        raise DataError(
            f"cannot append a {type(data).__name__} to {thing.name}",
            hint="pass rows (tuples or dicts), a frame, Arrow, or a DuckDB relation",
        )
    return None


def _rows(engine: Engine, thing: Input, data: Iterable[Any]) -> tuple[list[str] | None, int]:
    """Put rows of Python values into `incoming_rows`; return their names, if any, and how many."""
    listed = list(data)
    names: list[str] | None = None
    if listed and isinstance(listed[0], Mapping):
        names = list(dict.fromkeys(key for row in listed for key in row))
        listed = [tuple(row.get(name) for name in names) for row in listed]
    width = len(thing.columns) if names is None else len(names)
    known = {c.name.lower(): c.type for c in thing.columns}
    for place, row in enumerate(listed):
        if not isinstance(row, (tuple, list)):
            raise DataError(
                f"row {place} for {thing.name} is a {type(row).__name__}",
                hint="rows are tuples, lists or dicts",
            )
        if len(row) != width:
            raise DataError(
                f"row {place} for {thing.name} has {len(row)} values, not {width}",
                hint=f"its columns are {', '.join(c.name for c in thing.columns)}",
            )
    if names is None:
        kinds = [c.type for c in thing.columns]
        shown = [c.name for c in thing.columns]
    else:
        shown = names
        stamp = "BIGINT" if engine.catalogue.settings.get("time") == "integer" else "VARCHAR"
        kinds = [known.get(name.lower(), stamp if name == "_ts" else "VARCHAR") for name in names]
    database = engine.database
    columns = ", ".join(f"{quoted(n)} {k}" for n, k in zip(shown, kinds, strict=True))
    database.execute(f"CREATE OR REPLACE TEMP TABLE _cql_incoming_rows ({columns})")
    marks = "(" + ", ".join("?" for _ in shown) + ")"
    for start in range(0, len(listed), CHUNK):
        part = listed[start : start + CHUNK]
        values = [_value(v) for row in part for v in row]
        try:
            database.execute(
                f"INSERT INTO temp._cql_incoming_rows VALUES {', '.join([marks] * len(part))}",
                values,
            )
        except duckdb.Error as error:
            raise DataError(
                f"the rows do not fit {thing.kind} {thing.name}: {str(error).splitlines()[0]}",
                hint=f"its columns are {columns}",
            ) from error
    return names, len(listed)


def _value(value: Any) -> Any:
    if isinstance(value, (int, float, str, bytes, bool, Decimal)) or value is None:
        return value
    if hasattr(value, "to_pydatetime"):
        return value.to_pydatetime()
    if hasattr(value, "item") and not isinstance(value, (list, dict)):
        return value.item()
    return value


def _matched(thing: Input, names: list[str] | None, *, timed: bool = True) -> tuple[Column, ...]:
    """Return the data's columns in the order of the input's own; a `timed` one may have `_ts` too.

    Raises:
        DataError: A column is missing or unknown.
    """
    if names is None:
        return thing.columns
    by_lower = {name.lower(): name for name in names}
    missing = [c.name for c in thing.columns if c.name.lower() not in by_lower]
    known = {c.name.lower() for c in thing.columns} | ({"_ts"} if timed else set())
    unknown = [name for name in names if name.lower() not in known]
    if missing or unknown:
        parts = []
        if missing:
            parts.append(f"lacks {', '.join(missing)}")
        if unknown:
            parts.append(f"has {', '.join(unknown)} too many")
        raise DataError(
            f"the data for {thing.name} {' and '.join(parts)}",
            hint=suggestion(unknown[0], missing, "its columns are")
            if unknown and missing
            else f"its columns are {', '.join(c.name for c in thing.columns)}",
        )
    return tuple(Column(by_lower[c.name.lower()], c.type) for c in thing.columns)


def _stamp(
    engine: Engine, thing: Input, rows: str, names: list[str] | None, at: Any
) -> tuple[str, str | int]:
    """Return what to read the rows from, and the raw time of each as SQL over it, or of all."""
    if thing.timestamp_by is not None:
        if at is not None:
            raise DataError(
                f"{thing.name} takes its timestamps from {thing.timestamp_by}",
                hint="leave at out",
            )
        own = next(c for c in thing.columns if c.name == thing.timestamp_by)
        written = thing.timestamp_by
        if names is not None:
            written = next(n for n in names if n.lower() == thing.timestamp_by.lower())
        value = f"CAST({quoted(written)} AS {own.type})"
        return rows, queues.raw_sql(engine.clock, value, own.type)
    if at is None:
        if names is not None and any(n.lower() == "_ts" for n in names):
            return rows, _stamp_column(engine, rows)
        return rows, engine.next_instant(thing)
    if isinstance(at, str) or not hasattr(at, "__len__"):
        return rows, raw_time(engine, at)
    moments = at.to_pylist() if hasattr(at, "to_pylist") else at
    raws = [raw_time(engine, moment) for moment in moments]
    count = engine.database.value(f"SELECT count(*) FROM {rows}")
    if count != len(raws):
        raise DataError(
            f"{len(raws)} instants for {count} rows of {thing.name}",
            hint="at is one instant, or one for each row",
        )
    connection = engine.database.connection
    connection.register("_cql_incoming_at", pa.table({"_cql_raw": pa.array(raws, pa.int64())}))
    try:
        engine.database.execute(
            "CREATE OR REPLACE TEMP TABLE _cql_incoming_at_rows AS SELECT * FROM _cql_incoming_at"
        )
    finally:
        connection.unregister("_cql_incoming_at")
    at_rows = "(SELECT * FROM temp._cql_incoming_at_rows) AS instants"
    return f"(SELECT * FROM {rows}) AS given POSITIONAL JOIN {at_rows}", "_cql_raw"


def _stamp_column(engine: Engine, rows: str) -> str:
    """Return the raw time of the data's own `_ts`; its type tells the kind of time."""
    database = engine.database
    kind = database.rows(f"DESCRIBE SELECT _ts FROM {rows}")[0][1]
    if kind == "VARCHAR":
        sample = database.value(f"SELECT _ts FROM {rows} WHERE _ts IS NOT NULL LIMIT 1")
        if sample is not None and sample.lstrip("-").isdigit():
            engine.set_time("integer", "the column _ts")
            return "CAST(_ts AS BIGINT)"
        engine.set_time("wall", "the column _ts")
        return "epoch_us(CAST(_ts AS TIMESTAMPTZ))"
    engine.set_time("integer" if "INT" in kind else "wall", f"the column _ts {kind}")
    return queues.raw_sql(engine.clock, "_ts", kind)
