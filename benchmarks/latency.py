"""Keeping up: how long one more tick takes after a history, on disk.

A tick appends to each input and advances (`Connection.tick`); both DuckDB and cqlduck get the same
Arrow tables, made beforehand, each tick here and then there. In a tick of few events each tick is a
second of its own, so that it closes an instant. What is measured is the call until the answer
stands in the database.
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import duckdb
import pyarrow as pa
from contestants import THREADS, literals, settings
from data import MICROSECOND, SECOND, Dataset
from workload import Workload

import cqlduck

Tick = tuple[dict[str, pa.Table], "int | datetime", str]
"""Rows by stream, the heartbeat, and the last instant as SQL."""


@dataclass(frozen=True)
class Latency:
    """The milliseconds of ticks of one size after one history.

    Attributes:
        work: The workload.
        history: How many events were there before.
        events: How many events a tick has.
        cqlduck: Of each tick.
        recompute: DuckDB inserting and recomputing, all windows where the answer is the last one's.
        last: The same of the last window alone, where that is another query; else nothing.
        rows: Rows of the answer at the end; the same for both, or `wrong` says what differs.
        wrong: What differs, or None.
    """

    work: Workload
    history: int
    events: int
    cqlduck: list[float]
    recompute: list[float]
    last: list[float]
    rows: int
    wrong: str | None


def ticks_of(work: Workload, data: Dataset, size: int, count: int, skip: int = 0) -> list[Tick]:
    """Return `count` ticks of `size` events that come after a data set's own and `skip` ticks."""
    made: list[Tick] = []
    streams = [s for s in data.streams if s.name in work.streams]
    with duckdb.connect() as con:
        for number in range(skip, skip + count):
            first = data.events + number * size
            con.execute(
                f"CREATE OR REPLACE TEMP VIEW events AS SELECT range AS i FROM range({first}, "
                f"{first + size})"
            )
            if data.family == "windows":
                now = data.last + 1 + number
                moved = f"{now}::BIGINT AS ts"
                heartbeat: int | datetime = now
                shown = str(now)
            else:
                seconds = -(-size // data.rate)
                ends = data.end + SECOND * seconds * (number + 1)
                heartbeat = ends - MICROSECOND
                shown = f"TIMESTAMP '{ends - SECOND}'"
                late = number * (1_000_000 * seconds - size * (1_000_000 // data.rate))
                moved = f"dateTime + to_microseconds({late}) AS dateTime"
            tables = {}
            for stream in streams:
                extra = ""
                if stream.name == "auction":
                    extra = f", expires + to_microseconds({late}) AS expires"
                tables[stream.name] = con.sql(
                    f"SELECT * REPLACE ({moved}{extra}) FROM ({stream.query})"
                ).to_arrow_table()
            made.append((tables, heartbeat, shown))
    return made


def latency(work: Workload, data: Dataset, sizes: dict[int, int]) -> list[Latency]:
    """Measure ticks of each size, each size on the same history.

    Args:
        work: The workload.
        data: The history.
        sizes: How many ticks of how many events.
    """
    found = []
    for size, count in sizes.items():
        ticks = ticks_of(work, data, size, count)
        with tempfile.TemporaryDirectory() as folder:
            ours = cqlduck.connect(
                Path(folder) / "ours.duckdb", drop_zone=data.root, **settings(work)
            )
            theirs = duckdb.connect(Path(folder) / "theirs.duckdb", config={"threads": THREADS})
            with ours, theirs:
                found.append(_in_turn(work, data, size, ticks, ours, theirs))
    return found


def _in_turn(
    work: Workload, data: Dataset, size: int, ticks: list[Tick], ours: cqlduck.Connection,
    theirs: duckdb.DuckDBPyConnection,
) -> Latency:  # fmt: skip
    """Run each tick here and there, so that what else the machine does meets both."""
    ours.execute(work.declarations() + f"CREATE CONTINUOUS QUERY answer AS {work.cql};")
    ours.follow()
    for name in work.streams:
        theirs.execute(f"CREATE TABLE {name} AS FROM {data.scan(name)}")
    spent: tuple[list[float], list[float], list[float]] = ([], [], [])
    for tick in ticks:
        times = [time.perf_counter()]
        _advance(ours, tick)
        times.append(time.perf_counter())
        _insert(theirs, tick)
        inserted = time.perf_counter() - times[-1]
        if work.every_window is not None:
            _answer(work.every_window, data, theirs, tick)
            times.append(time.perf_counter())
        _answer(work.recompute, data, theirs, tick)
        times.append(time.perf_counter())
        for kept, begin, end in zip(spent, times, times[1:], strict=False):
            kept.append((end - begin) * 1e3)
        if spent[2]:
            spent[2][-1] += inserted * 1e3
    columns = [column.name for column in ours.engine.query("answer").columns]
    answer = _print(ours.sql(_fingerprint(columns)).fetchall())
    columns = [row[0] for row in theirs.execute("DESCRIBE answer").fetchall()]
    expected = _print(theirs.execute(_fingerprint(columns)).fetchall())
    wrong = None if answer == expected else f"{answer} instead of {expected}"
    return Latency(work, data.events, size, *spent, expected[0], wrong)


def _advance(con: cqlduck.Connection, tick: Tick) -> None:
    tables, heartbeat, _ = tick
    con.tick(tables, heartbeat)


def _insert(con: duckdb.DuckDBPyConnection, tick: Tick) -> None:
    con.execute("BEGIN")
    for name, rows in tick[0].items():
        con.register("fresh", rows)
        con.execute(f"INSERT INTO {name} FROM fresh")
        con.unregister("fresh")
    con.execute("COMMIT")


def _answer(query: str, data: Dataset, con: duckdb.DuckDBPyConnection, tick: Tick) -> None:
    text = query.format(**{**literals(data), "now": tick[2]})
    con.execute(f"CREATE OR REPLACE TABLE answer AS {text}")


def _fingerprint(columns: list[str]) -> str:
    """Return a SELECT of the answer's count and of a sum of its hashes, seen as texts."""
    kept = [f'"{name}"' for name in columns if name != "_ts"]
    texts = ", ".join(
        f"coalesce(round(TRY_CAST({name}::VARCHAR AS DOUBLE), 6)::VARCHAR, {name}::VARCHAR)"
        for name in kept
    )
    return f"SELECT count(*), coalesce(sum(hash({texts})::HUGEINT), 0) FROM answer"


def _print(rows: list[tuple[int, ...]]) -> tuple[int, ...]:
    return tuple(int(value) for value in rows[0])
