"""Endurance: what is kept, how much memory it takes, and whether ticks stay as fast as they were.

* `sizes`: the tables of a query's state on disk, beside a table of the tuples that are live.
* `memory`: peak memory of catching up on longer and longer histories under a memory limit.
* `flatness`: file, memory and tick time along many ticks of a sliding window.
* `trickle`: small ticks on more and more state, of one query and of ten.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import duckdb
from contestants import THREADS, settings
from data import Dataset, dataset
from latency import ticks_of
from workload import Workload

import cqlduck

HERE = Path(__file__).parent

# -- (a) what is kept ------------------------------------------------------------------------------

LIVE = {
    "a": {"trades": "ts > {last} - 60"},
    "b": {"s1": "id > (SELECT max(id) FROM s1) - 2000", "s2": "ts > {last} - 121"},
    "c": {"trades": "true QUALIFY row_number() OVER (PARTITION BY sym ORDER BY id DESC) <= 10"},
    "e": {"r": "ts > {last} - 60", "s": "ts > {last} - 60", "t": "ts > {last} - 60"},
    "q4": {"auction": "true", "bid": "true"},
    "q18": {
        "bid": "true QUALIFY row_number() OVER (PARTITION BY bidder, auction "
        "ORDER BY dateTime DESC) = 1"
    },
    "q20": {"auction": "true", "bid": "true"},
}
"""The tuples in the windows of a query when all has been read, of each of its inputs."""


@dataclass(frozen=True)
class Size:
    """What a query keeps.

    Attributes:
        work: The query.
        events: The size of the history.
        live: Tuples in its windows.
        live_bytes: Of a DuckDB file with these tuples alone.
        state_bytes: Of a DuckDB file with the stores, synopses and answers of the query.
        file_bytes: Of the database itself; the changes of the answer and free blocks are in it.
    """

    work: Workload
    events: int
    live: int
    live_bytes: int
    state_bytes: int
    file_bytes: int


COPIES = 16
"""How often rows are written whose size is measured: a column takes a block of 256 KiB at least."""


def size(work: Workload, data: Dataset) -> Size:
    """Catch up on disk, and measure what is kept then."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        with cqlduck.connect(folder / "a.duckdb", drop_zone=data.root, **settings(work)) as con:
            con.execute(work.declarations() + f"CREATE CONTINUOUS QUERY answer AS {work.cql};")
            con.follow()
        kept = (
            "SELECT table_name FROM duckdb_tables() WHERE database_name = 'kept' AND "
            "schema_name = 'cql_state' AND (table_name = 'answer_answer' OR "
            "starts_with(table_name, 'stream_') OR starts_with(table_name, 'relation_') OR "
            "table_name IN (SELECT table_name FROM kept.cql_state.synopses))"
        )
        with duckdb.connect() as con:
            con.execute(f"ATTACH '{folder / 'a.duckdb'}' AS kept (READ_ONLY)")
            con.execute(f"ATTACH '{folder / 'state.duckdb'}' AS state")
            for (name,) in con.execute(kept).fetchall():
                _copied(con, f'state."{name}"', f'FROM kept.cql_state."{name}"')
            con.execute("DETACH state")
            live = 0
            con.execute(f"ATTACH '{folder / 'live.duckdb'}' AS live")
            for name, where in LIVE[work.name].items():
                con.execute(f"CREATE VIEW {name} AS FROM {data.scan(name)}")
                chosen = where.format(last=data.last)
                _copied(con, f"live.{name}", f"FROM {name} WHERE {chosen}")
                live += con.execute(f"SELECT count(*) // {COPIES} FROM live.{name}").fetchall()[0][
                    0
                ]
            con.execute("DETACH live")
        files = [(folder / f"{name}.duckdb").stat().st_size for name in ("live", "state", "a")]
        return Size(work, data.events, live, files[0] // COPIES, files[1] // COPIES, files[2])


def _copied(con: duckdb.DuckDBPyConnection, name: str, rows: str) -> None:
    """Make a table of several copies of rows, one behind the other."""
    con.execute(f"CREATE TABLE {name} AS {rows} LIMIT 0")
    for _ in range(COPIES):
        con.execute(f"INSERT INTO {name} {rows}")


# -- (b) memory while catching up ------------------------------------------------------------------


@dataclass(frozen=True)
class Peak:
    """Peak memory of a process that caught up.

    Attributes:
        name: The query.
        events: The size of the history.
        limit: The setting memory_limit.
        seconds: How long it took.
        bytes: The most memory that the process had, Python and all.
        wrong: What went wrong, or None.
    """

    name: str
    events: int
    limit: str
    seconds: float = 0.0
    bytes: int = 0
    wrong: str | None = None


def peak(work: Workload, data: Dataset, limit: str) -> Peak:
    """Catch up in a process of its own, on disk; return what it took."""
    argument = json.dumps([work.declarations(), work.cql, settings(work), str(data.root), limit])
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, str(Path(__file__)), argument, folder],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no word"])[-1]
        return Peak(work.name, data.events, limit, wrong=last)
    seconds, most = json.loads(done.stdout)
    return Peak(work.name, data.events, limit, seconds, most)


def _catch_up(argument: str, folder: str) -> None:
    """What the process does: catch up, and print seconds and peak memory in bytes."""
    declared, cql, chosen, root, limit = json.loads(argument)
    started = time.perf_counter()
    with cqlduck.connect(
        Path(folder) / "peak.duckdb", drop_zone=root, memory_limit=limit, **chosen
    ) as con:
        con.execute(declared + f"CREATE CONTINUOUS QUERY answer AS {cql};")
        con.follow()
        state, error = con.sql("SELECT state, error FROM cql.queries").fetchall()[0]
        if state != "active":
            raise RuntimeError(f"the query is {state}: {error}")
    print(json.dumps([time.perf_counter() - started, _memory("VmHWM")]))


def _memory(field: str) -> int:
    """Return what Linux says of this process, in bytes: VmRSS is now, VmHWM was the most; or 0.

    The `ru_maxrss` of getrusage would be at least that of the process that started this one.
    """
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{field}:"))


# -- (c) flatness ----------------------------------------------------------------------------------


@dataclass
class Flat:
    """Samples along many ticks; each is of the ticks since the sample before.

    Attributes:
        ticks: How many ticks had run.
        median: Milliseconds of a tick, the median.
        worst: The longest.
        file: Bytes of the database and of the log beside it.
        memory: Bytes of memory that the process has.
        wrong: What differs from DuckDB at the end, or None.
    """

    ticks: list[int] = field(default_factory=list)
    median: list[float] = field(default_factory=list)
    worst: list[float] = field(default_factory=list)
    file: list[int] = field(default_factory=list)
    memory: list[int] = field(default_factory=list)
    wrong: str | None = None


def flatness(work: Workload, folder: Path, ticks: int, samples: int = 100, rate: int = 100) -> Flat:
    """Run many ticks of one instant and `rate` events; history is kept for ten minutes.

    Args:
        work: A query over sliding windows.
        folder: Where data lie.
        ticks: How many.
        samples: How often to look.
        rate: Events of a tick.
    """
    empty = dataset("windows", folder, rate, rate=rate, cuts=[rate])
    found, block = Flat(), max(ticks // samples, 1)
    with tempfile.TemporaryDirectory() as made:
        path = Path(made) / "flat.duckdb"
        with cqlduck.connect(path, history="10 minutes", threads=THREADS) as con:
            con.execute(work.declarations() + f"CREATE CONTINUOUS QUERY answer AS {work.cql};")
            for first in range(0, ticks, block):
                taken = []
                for tables, heartbeat, _ in ticks_of(work, empty, rate, block, first):
                    started = time.perf_counter()
                    con.tick(tables, heartbeat)
                    taken.append((time.perf_counter() - started) * 1e3)
                found.ticks.append(first + block)
                found.median.append(sorted(taken)[len(taken) // 2])
                found.worst.append(max(taken))
                files = (path, path.with_name(f"{path.name}.wal"))
                found.file.append(sum(f.stat().st_size for f in files if f.exists()))
                found.memory.append(_memory("VmRSS"))
            found.wrong = _differs(work, empty, con, rate, found.ticks[-1])
    return found


def _differs(
    work: Workload, data: Dataset, con: cqlduck.Connection, rate: int, ticks: int
) -> str | None:
    """Compare the answer with DuckDB's over the last ticks, more than a window is long.

    A window of the last 10 rows of each of 1,000 symbols reaches far back for the rarest of them.
    """
    last = 1_000
    first = max(ticks - last, 0)
    with duckdb.connect() as batch:
        for place, (tables, _, _) in enumerate(ticks_of(work, data, rate, ticks - first, first)):
            for name, rows in tables.items():
                batch.register("fresh", rows)
                verb = f"INSERT INTO {name}" if place else f"CREATE TABLE {name} AS"
                batch.execute(f"{verb} FROM fresh")
                batch.unregister("fresh")
        expected = batch.execute(work.recompute.format(now=data.last + ticks)).fetchall()
    return same_rows(expected, con.table("answer").fetchall())


def same_rows(expected: list[tuple[object, ...]], found: list[tuple[object, ...]]) -> str | None:
    """Return None if these are the same bag, doubles to six decimals, or what differs."""

    def plain(rows: list[tuple[object, ...]]) -> list[str]:
        return sorted(
            repr(tuple(round(v, 6) if isinstance(v, float) else v for v in row)) for row in rows
        )

    one, other = plain(expected), plain(found)
    if one == other:
        return None
    lost, more = sorted(set(one) - set(other))[:2], sorted(set(other) - set(one))[:2]
    return f"{len(other)} rows instead of {len(one)}; missing {lost}, too many {more}"


# -- (d) trickle -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Trickle:
    """Ticks of a few events on much state.

    Attributes:
        name: What kind of query.
        queries: How many there were.
        state: Tuples in the window.
        ticks: Milliseconds of each tick.
        wrong: What differs from DuckDB at the end, or None.
    """

    name: str
    queries: int
    state: int
    ticks: list[float]
    wrong: str | None


TRICKLE_EVENTS = 100

TRICKLES: dict[str, Callable[[int, int], tuple[str, str]]] = {
    "mean and count by symbol": lambda width, i: (
        f"SELECT sym, avg(price) AS mean, count(*) AS trades FROM trades [RANGE {width}] "
        f"WHERE price >= {i} GROUP BY sym",
        f"SELECT sym, avg(price) AS mean, count(*) AS trades FROM trades WHERE price >= {i} AND "
        f"ts BETWEEN {{now}} - {width} AND {{now}} GROUP BY sym",
    ),
    "trades of the same id": lambda width, i: (
        f"SELECT n.id, w.price FROM trades [NOW] n, trades [RANGE {width}] w "
        f"WHERE n.id - {1_000 * (i + 1)} = w.id",
        f"SELECT n.id, w.price FROM trades n, trades w WHERE n.ts = {{now}} AND "
        f"w.ts BETWEEN {{now}} - {width} AND {{now}} AND n.id - {1_000 * (i + 1)} = w.id",
    ),
}
"""Queries, and DuckDB's for the answer at an instant, for a width of the window and a number."""


def trickle(work: Workload, folder: Path, state: int, ticks: int) -> list[Trickle]:
    """Measure ticks of 100 events when a window of `state` tuples is full, on disk.

    Args:
        work: A workload over `trades`, for its declarations.
        folder: Where data lie.
        state: Tuples in the window.
        ticks: How many ticks.
    """
    rate = TRICKLE_EVENTS
    data = dataset("windows", folder, state, rate=rate)
    made = ticks_of(work, data, rate, ticks)
    found = []
    for name, make in TRICKLES.items():
        for count in (1, 10):
            queries = [make(state // rate - 1, i) for i in range(count)]
            with tempfile.TemporaryDirectory() as place:
                taken, wrong = _trickle(work, data, made, queries, Path(place) / "t.duckdb")
            found.append(Trickle(name, count, state, taken, wrong))
    return found


def _trickle(
    work: Workload, data: Dataset, ticks: list[object], queries: list[tuple[str, str]], path: Path
) -> tuple[list[float], str | None]:
    taken: list[float] = []
    with cqlduck.connect(path, drop_zone=data.root, threads=THREADS) as con:
        con.execute(work.declarations())
        for i, (cql, _) in enumerate(queries):
            con.execute(f"CREATE CONTINUOUS QUERY q{i} AS {cql}")
        con.follow()
        for tables, heartbeat, _ in ticks:
            started = time.perf_counter()
            con.tick(tables, heartbeat)
            taken.append((time.perf_counter() - started) * 1e3)
        answers = [con.table(f"q{i}").fetchall() for i in range(len(queries))]
    with duckdb.connect(config={"threads": THREADS}) as batch:
        for name in work.streams:
            batch.execute(f"CREATE TABLE {name} AS FROM {data.scan(name)}")
        for tables, _, _ in ticks:
            for name, rows in tables.items():
                batch.register("fresh", rows)
                batch.execute(f"INSERT INTO {name} FROM fresh")
                batch.unregister("fresh")
        for i, (_, query) in enumerate(queries):
            expected = batch.execute(query.format(now=ticks[-1][2])).fetchall()
            wrong = same_rows(expected, answers[i])
            if wrong is not None:
                return taken, f"q{i}: {wrong}"
    return taken, None


if __name__ == "__main__":
    _catch_up(sys.argv[1], sys.argv[2])
