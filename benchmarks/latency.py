"""Keeping up: how long one more tick takes after a history, on disk (W3 of PEERS).

A tick is `append` to each input and `advance`; both DuckDB and cqlduck get the same Arrow tables,
made beforehand. In a tick of few events each tick is a second of its own, so that it closes an
instant. What is measured is the call until the answer stands in the database.
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
        recompute: DuckDB inserting and recomputing.
        rows: Rows of the answer at the end; the same for both, or `wrong` says what differs.
        wrong: What differs, or None.
    """

    work: Workload
    history: int
    events: int
    cqlduck: list[float]
    recompute: list[float]
    rows: int
    wrong: str | None


def percentile(values: list[float], share: float) -> float:
    """Return the smallest value that at least this share of all is at or below."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def ticks_of(work: Workload, data: Dataset, size: int, count: int) -> list[Tick]:
    """Return `count` ticks of `size` events that come after a data set's own."""
    made: list[Tick] = []
    streams = [s for s in data.streams if s.name in work.streams]
    with duckdb.connect() as con:
        for number in range(count):
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
                begins = data.end + SECOND * number
                heartbeat = begins + SECOND - MICROSECOND
                shown = f"TIMESTAMP '{begins}'"
                late = number * (1_000_000 - size * (1_000_000 // data.rate))
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
    """Measure ticks of each size, one after the other on one history.

    Args:
        work: The workload.
        data: The history.
        sizes: How many ticks of how many events.
    """
    found = []
    for size, count in sizes.items():
        ticks = ticks_of(work, data, size, count)
        with tempfile.TemporaryDirectory() as folder:
            ours, answer = _cqlduck(work, data, ticks, Path(folder) / "ours.duckdb")
            theirs, expected = _recompute(work, data, ticks, Path(folder) / "theirs.duckdb")
        wrong = None if answer == expected else f"{answer} instead of {expected}"
        found.append(Latency(work, data.events, size, ours, theirs, expected[0], wrong))
    return found


def _cqlduck(
    work: Workload, data: Dataset, ticks: list[Tick], path: Path
) -> tuple[list[float], tuple[int, ...]]:
    with cqlduck.connect(path, drop_zone=data.root, **settings(work)) as con:
        con.execute(work.declarations() + f"CREATE CONTINUOUS QUERY answer AS {work.cql};")
        con.follow()
        taken = []
        for tables, heartbeat, _ in ticks:
            started = time.perf_counter()
            for name, rows in tables.items():
                con.append(name, rows)
            con.advance(heartbeat)
            taken.append((time.perf_counter() - started) * 1e3)
        columns = con.engine.query("answer").columns
        return taken, _print(con.sql(_fingerprint([c.name for c in columns])).fetchall())


def _recompute(
    work: Workload, data: Dataset, ticks: list[Tick], path: Path
) -> tuple[list[float], tuple[int, ...]]:
    with duckdb.connect(path, config={"threads": THREADS}) as con:
        for name in work.streams:
            con.execute(f"CREATE TABLE {name} AS FROM {data.scan(name)}")
        taken = []
        for tables, _, now in ticks:
            started = time.perf_counter()
            con.execute("BEGIN")
            for name, rows in tables.items():
                con.register("fresh", rows)
                con.execute(f"INSERT INTO {name} FROM fresh")
                con.unregister("fresh")
            query = work.recompute.format(**{**literals(data), "now": now})
            con.execute(f"CREATE OR REPLACE TABLE answer AS {query}")
            con.execute("COMMIT")
            taken.append((time.perf_counter() - started) * 1e3)
        columns = [row[0] for row in con.execute("DESCRIBE answer").fetchall()]
        return taken, _print(con.execute(_fingerprint(columns)).fetchall())


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
