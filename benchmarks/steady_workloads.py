"""What `steady.py` runs: sliding windows, Nexmark, TPC-H and Linear Road, tick by tick.

Each gives fresh databases in memory, all alike, and what each of them takes in a tick.
"""

from __future__ import annotations

import datetime
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import data
import duckdb
import nexmark
import pyarrow as pa
import road
import tpch
import tpch_data
import windows
from contestants import THREADS, settings
from workload import Workload

import cqlduck

Taken = Callable[[cqlduck.Connection], None]
"""Has a database take what comes in a tick, and run the tick."""

EVENTS = {"windows": 2_000, "nexmark": 10_000}
"""How many events a tick has: two instants of the sliding windows, one of Nexmark."""

FILLED = {"windows": 61, "nexmark": 10}
"""After how many ticks the longest window is full."""

SCALE, FRACTION = 0.1, 0.001
"""Of TPC-H, and which part of its rows change in a tick."""

DIRECTIONS = 2
"""Of Linear Road: one expressway."""

STEP = 30
"""How many seconds a tick of Linear Road has until windows are full, then one."""


class Steady(Protocol):
    """A workload that goes on as it began.

    Attributes:
        name: As in the tables.
        filled: After how many ticks windows are full.
    """

    name: str
    filled: int

    def opened(self) -> cqlduck.Connection:
        """Return a fresh database before the first tick."""
        ...

    def tick(self, number: int) -> Taken:
        """Return what comes in a tick; ticks are asked for in order, from 0."""
        ...

    def answers(self, con: cqlduck.Connection) -> list[pa.Table]:
        """Return what the queries say, to be compared."""
        ...

    def close(self) -> None:
        """Let go of what was drawn from."""
        ...


class Events:
    """A query of the sliding windows or of Nexmark.

    Args:
        work: The query.
        name: How it is called.
    """

    def __init__(self, work: Workload, name: str) -> None:
        """Open what events are drawn from."""
        self.name, self._work = name, work
        self.filled = FILLED[work.family]
        self._events = EVENTS[work.family]
        rate = data.RATES[work.family]
        of_family = data.windows(rate) if work.family == "windows" else data.nexmark(rate)
        self._queries = {one.name: one.query for one in of_family if one.name in work.streams}
        self._rate = rate
        self._duckdb = duckdb.connect(config={"threads": THREADS})
        self._before: dict[int, int] = {}
        """The rate of each symbol."""

    def opened(self) -> cqlduck.Connection:
        """Return a fresh database with the query."""
        con = cqlduck.connect(**settings(self._work))
        con.execute(re.sub(r" FROM '\w+'", "", self._work.declarations()))
        con.execute(f"CREATE CONTINUOUS QUERY answer AS {self._work.cql}")
        return con

    def tick(self, number: int) -> Taken:
        """Return the events of a tick."""
        first, last = number * self._events, (number + 1) * self._events
        self._duckdb.execute(
            f"CREATE OR REPLACE TEMP VIEW events AS SELECT range AS i FROM range({first}, {last})"
        )
        came = {
            name: self._duckdb.sql(query).to_arrow_table() for name, query in self._queries.items()
        }
        end = last // self._rate
        to = end - 1 if self._work.family == "windows" else (
            data.BEGIN + end * data.SECOND - datetime.timedelta(microseconds=1)
        )  # fmt: skip
        begin = first // self._rate
        rates = came.pop("rates", None)
        changed = None if rates is None else self._changed(rates)

        def take(con: cqlduck.Connection) -> None:
            if changed is not None:
                for operation, rows in zip((con.retract, con.append), changed, strict=True):
                    operation("rates", rows, at=begin)
            con.tick(came, to=to)

        return take

    def _changed(self, rates: pa.Table) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
        """Return the rates that go and those that come, both at the first instant of the tick."""
        symbols, values = (rates.column(name).to_pylist() for name in ("sym", "rate"))
        new = dict(zip(symbols, values, strict=True))
        old = [(symbol, self._before[symbol]) for symbol in new if symbol in self._before]
        self._before |= new
        return old, list(new.items())

    def answers(self, con: cqlduck.Connection) -> list[pa.Table]:
        """Return what the query says."""
        return [con.arrow("answer")]

    def close(self) -> None:
        """Close what events are drawn from."""
        self._duckdb.close()


class Tpch:
    """A query of TPC-H under change.

    Args:
        query: The query.
    """

    def __init__(self, query: str) -> None:
        """Load the tables that changes are drawn from."""
        self.name, self._query = f"tpch {query}", query
        self.filled = 1
        folder = Path(tempfile.gettempdir()) / "cqlduck-tpch"
        folder.mkdir(exist_ok=True)
        self._folder = tpch_data.generated(folder, SCALE)
        self._texts = {query: tpch_data.text(query, SCALE)}
        self._drawn = tpch.Anew(":memory:", self._folder, self._texts)
        self._drawer = tpch_data.Drawer(self._drawn.con, FRACTION)

    def opened(self) -> cqlduck.Connection:
        """Return a fresh database with the tables as relations, and the query answered once."""
        return tpch.KeptUp(":memory:", self._folder, self._texts, keyed=True).con

    def tick(self, number: int) -> Taken:
        """Return what changes."""
        changes = self._drawer.of(self._query)
        tpch.taken_by_duckdb(self._drawn.con, changes)
        now = number + 2

        def take(con: cqlduck.Connection) -> None:
            tpch.taken_by_cqlduck(con, changes, now)
            con.advance(now)

        return take

    def answers(self, con: cqlduck.Connection) -> list[pa.Table]:
        """Return what the query says."""
        return [con.arrow(self._query)]

    def close(self) -> None:
        """Close what changes are drawn from."""
        self._drawn.con.close()


class Road:
    """Linear Road, all its queries."""

    def __init__(self) -> None:
        """Begin with empty roads."""
        self.name = "linear road"
        self.filled = road.WARM_UP // STEP
        self._traffic = road.Traffic(DIRECTIONS)

    def opened(self) -> cqlduck.Connection:
        """Return a fresh database with the queries."""
        return road.open_road(":memory:")

    def tick(self, number: int) -> Taken:
        """Return the reports of a tick."""
        begins = [min(each, self.filled) * STEP + max(each - self.filled, 0)
                  for each in (number, number + 1)]  # fmt: skip
        rows = self._traffic.reports(*begins)

        def take(con: cqlduck.Connection) -> None:
            con.tick({"reports": rows}, to=begins[1] - 1)

        return take

    def answers(self, con: cqlduck.Connection) -> list[pa.Table]:
        """Return the tolls and alerts."""
        return [con.arrow(name) for name in ("tolls", "alerts")]

    def close(self) -> None:
        """Nothing is open."""


def names() -> list[str]:
    """Return the names of all workloads."""
    return [
        *(f"w2 {work.name}" for work in windows.WORKLOADS),
        *(f"nexmark {work.name}" for work in nexmark.WORKLOADS),
        *(f"tpch {query}" for query in tpch_data.QUERIES),
        "linear road",
    ]


def workload(name: str) -> Steady:
    """Return a workload by its name."""
    if name == "linear road":
        return Road()
    family, _, query = name.partition(" ")
    if family == "tpch":
        return Tpch(query)
    known = windows.WORKLOADS if family == "w2" else nexmark.WORKLOADS
    return Events(next(work for work in known if work.name == query), name)
