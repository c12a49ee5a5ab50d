"""Who runs a workload: cqlduck, DuckDB once, DuckDB recomputing at each tick, plain Python.

Each run begins with a fresh database in memory and ends when the last row of the output is
written. What is timed is from the first read of a file to that row.
"""

from __future__ import annotations

import datetime
import time
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from data import BEGIN, SECOND, Dataset
from workload import Workload

import cqlduck

THREADS = 2


@dataclass(frozen=True)
class Ran:
    """One run.

    Attributes:
        seconds: By the clock on the wall.
        cpu: Of processor time, all threads together; other work on the machine shows less there.
        output: Where its output lies as Parquet, if that was asked for.
        ticks: The seconds of each tick, from the read of its files to the last row of its answer,
            of those who have ticks.
    """

    seconds: float
    cpu: float
    output: Path | None
    ticks: tuple[float, ...] = ()


class _Watch:
    """A stop watch that starts when it is made."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def stop(self) -> tuple[float, float]:
        """Return the seconds on the wall and those of the processor."""
        return time.perf_counter() - self._wall, time.process_time() - self._cpu


def literals(data: Dataset, until: int | None = None) -> dict[str, str]:
    """Return what the SQL of a workload leaves open.

    Args:
        data: The data set.
        until: Nexmark: how many events have been read; windows: the instant.
    """
    if data.family == "windows":
        return {"last": str(data.last), "now": str(data.last if until is None else until)}
    read = data.events if until is None else until
    now = BEGIN + SECOND * (read // data.rate) - datetime.timedelta(seconds=1)
    return {"end": f"TIMESTAMP '{data.end}'", "now": f"TIMESTAMP '{now}'"}


def is_stream(work: Workload) -> bool:
    """Return whether a Nexmark query yields a stream: its batch statement then has `_ts`."""
    return not work.changes and "AS _ts" in work.once


# -- cqlduck --------------------------------------------------------------------------------------


def settings(work: Workload) -> dict[str, Any]:
    """Return the settings with which cqlduck runs a workload."""
    wall_clock = {"granularity": "1 second"} if work.family == "nexmark" else {}
    return {"threads": THREADS, **wall_clock}


def catch_up(work: Workload, data: Dataset, output: Path | None) -> Ran:
    """Run cqlduck over the whole drop zone, in as few ticks as it likes."""
    with cqlduck.connect(drop_zone=data.root, **settings(work)) as con:
        con.execute(work.declarations() + f"CREATE CONTINUOUS QUERY answer AS {work.cql};")
        watch = _Watch()
        con.follow()
        took = watch.stop()
        _well(con)
        return Ran(*took, _written(con, work, output))


def in_ticks(work: Workload, data: Dataset, output: Path | None, *, arrow: bool = False) -> Ran:
    """Run cqlduck batch by batch, and read its answer after each tick.

    Args:
        work: A Nexmark workload.
        data: Its data.
        output: Where its output goes.
        arrow: Whether the answer is handed over as Arrow, or stands in a table. Of a stream that is
            what is new, and no more of it is kept than of the longest batch.
    """
    longest = max(end - begin for begin, end in pairwise((0, *data.cuts))) // data.rate
    hands_over = arrow and is_stream(work)
    option = f" WITH (keep = '{longest} seconds')" if hands_over else ""
    with cqlduck.connect(drop_zone=data.root, **settings(work)) as con:
        con.execute(work.declarations() + f"CREATE CONTINUOUS QUERY answer{option} AS {work.cql};")
        seen = BEGIN - SECOND
        ticks: list[float] = []
        read: list[pa.RecordBatch] = []
        watch = _Watch()
        for _ in range(data.batches):
            tick = _Watch()
            con.follow(limit=1)
            if hands_over:
                read += con.subscribe("answer", since=seen)
                seen = con.advance()
            elif is_stream(work):
                con.changes("answer", since=seen)
                seen = con.advance()
            elif arrow:
                con.arrow("answer")
            else:
                con.table("answer")
            ticks.append(tick.stop()[0])
        took = watch.stop()
        _well(con)
        if not hands_over or output is None:
            return Ran(*took, _written(con, work, output), tuple(ticks))
        pq.write_table(pa.Table.from_batches(read).drop_columns(["_ts", "_weight"]), output)
        return Ran(*took, output, tuple(ticks))


def _well(con: cqlduck.Connection) -> None:
    """Raise if the query failed on its way."""
    state, error = con.sql("SELECT state, error FROM cql.queries").fetchall()[0]
    if state != "active":
        raise RuntimeError(f"the query is {state}: {error}")


def _written(con: cqlduck.Connection, work: Workload, output: Path | None) -> Path | None:
    if output is not None:
        relation = con.changes("answer") if work.changes else con.table("answer")
        relation.write_parquet(str(output))
    return output


# -- DuckDB ---------------------------------------------------------------------------------------


def once(work: Workload, data: Dataset, output: Path | None) -> Ran:
    """Run one DuckDB statement over all the data; the result is left in a table."""
    with duckdb.connect(config={"threads": THREADS}) as con:
        for name in work.streams:
            con.execute(f"CREATE VIEW {name} AS FROM {data.scan(name)}")
        watch = _Watch()
        con.execute(f"CREATE TABLE answer AS {work.once.format(**literals(data))}")
        took = watch.stop()
        if output is not None:
            con.execute(f"COPY answer TO '{output}' (FORMAT parquet)")
        return Ran(*took, output)


def recompute(work: Workload, data: Dataset, output: Path | None) -> Ran:
    """Run DuckDB's query anew at each tick: an instant (windows) or a batch (Nexmark)."""
    with duckdb.connect(config={"threads": THREADS}) as con:
        for name in work.streams:
            con.execute(f"CREATE TABLE {name} AS FROM {data.scan(name)} LIMIT 0")
        ticks: tuple[float, ...] = ()
        watch = _Watch()
        if data.family == "windows":
            _instants(con, work, data)
        else:
            ticks = _batches(con, work, data)
        took = watch.stop()
        # Of a query whose answer is the last window's only the final answer can be compared.
        comparable = data.family == "windows" or not work.changes
        if output is None or not comparable:
            return Ran(*took, None, ticks)
        con.execute(f"COPY answer TO '{output}' (FORMAT parquet)")
        return Ran(*took, output, ticks)


def _instants(con: duckdb.DuckDBPyConnection, work: Workload, data: Dataset) -> None:
    """Recompute at each instant, and take the difference with the instant before."""
    query = work.recompute.format(**literals(data, 0))
    con.execute(f"CREATE TABLE before AS {query} LIMIT 0")
    con.execute("CREATE TABLE answer AS SELECT *, 0::BIGINT AS _ts, 0 AS _weight FROM before")
    for name in work.streams:
        con.execute(f"CREATE TEMP TABLE all_of_{name} AS FROM {data.scan(name)}")
    for now in range(data.last + 1):
        for name in work.streams:
            con.execute(f"INSERT INTO {name} FROM all_of_{name} WHERE ts = {now}")
        query = work.recompute.format(**literals(data, now))
        con.execute(f"CREATE OR REPLACE TABLE now AS {query}")
        con.execute(
            f"INSERT INTO answer SELECT *, {now}, 1 FROM (FROM now EXCEPT ALL FROM before) "
            f"UNION ALL SELECT *, {now}, -1 FROM (FROM before EXCEPT ALL FROM now)"
        )
        con.execute("CREATE OR REPLACE TABLE before AS FROM now")


def _batches(con: duckdb.DuckDBPyConnection, work: Workload, data: Dataset) -> tuple[float, ...]:
    """Recompute after each batch; return the seconds of each."""
    ticks: list[float] = []
    for number, read in enumerate(data.cuts):
        tick = _Watch()
        for name in work.streams:
            con.execute(f"INSERT INTO {name} FROM {data.scan(name, number, 1)}")
        query = (work.every_window or work.recompute).format(**literals(data, read))
        con.execute(f"CREATE OR REPLACE TABLE answer AS {query}")
        ticks.append(tick.stop()[0])
    return tuple(ticks)


# -- plain Python ---------------------------------------------------------------------------------


def by_hand(work: Workload, data: Dataset, output: Path | None) -> Ran:
    """Run the loop in plain Python."""
    assert work.python is not None
    watch = _Watch()
    columns = work.python(data)
    table = pa.table(columns)
    took = watch.stop()
    if output is not None:
        pq.write_table(table, output)
    return Ran(*took, output)
