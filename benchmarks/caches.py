"""Caches of joins: adaptive beside no cache and each cache that there may be.

    python benchmarks/caches.py [--ticks 50] [--workloads D1,D3,payments] [--rows 4000] [--write]

Workloads:

* **D1** to **D8**: the four windows of `joins.py`, with rates and selectivities of table 5.2 of
  Babu's thesis (section 5.8);
* **payments**: each payment, at its instant, meets the sessions at the merchant, where their
  devices were seen, and the reports about such addresses, of the last 200 instants. Of a hundred
  tuples 97 are payments, so the three windows hardly change. A payment meets some 60 places, and
  hardly one of these a report;
* **relations**: the same where places and reports stand in relations, of which in each instant one
  row in a thousand goes and another one comes.

First each set of caches runs some ticks, pinned, so that the best and the worst are known. Then the
same tuples go to each contestant, tick by tick in turn:

* **none**: without caches, pinned;
* **best**, **worst**: the caches that took the least and the most;
* **adaptive**: as cqlduck runs by default; it may change orders, too.

All answers are compared, and all are kept up incrementally, in stages. Shown are ratios of medians
of the last half of the ticks, when windows are full and choices are made.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import re
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import joins
import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.progress import track
from rich.table import Table

import cqlduck
from cqlduck.rewrite.plan.segments import CACHES, Cached, Segment, caching_text, is_laminar
from cqlduck.rewrite.statements.ordered import JoinCaches
from cqlduck.streamon.points import ANSWER, NONE, STAGED, STAGES

TRIED_TICKS = 4
"""How many ticks each set of caches runs first; the first of them makes them."""

FULL_AFTER = 12
"""After how many ticks windows of the points of table 5.2 are full."""

SPAN = 200
"""How many instants the windows of payments have."""

MERCHANTS, DEVICES, ADDRESSES = 500, 2000, 1_000_000
CHANGING = 1000
"""One of how many rows of a relation goes in an instant."""

SLOW = 0.01
"""Which part of the tuples are sessions, and places of devices, and reports."""


Taken = Callable[[cqlduck.Connection], None]
"""Has a database take what comes in a tick, and run the tick."""


class Workload(Protocol):
    """A query, and what comes to its inputs."""

    inputs: str
    query: str

    def taken(self, tick: int) -> Taken:
        """Return what comes in a tick."""
        ...


class Point(joins.Arrivals):
    """A point of table 5.2."""

    inputs = "".join(
        f"CREATE STREAM {name} (a INTEGER, t INTEGER) TIMESTAMP BY t;" for name in joins.NAMES
    )
    query = joins.QUERY

    def taken(self, tick: int) -> Taken:
        """Return what comes in a tick."""
        came = self.tick(tick)
        return lambda con: con.tick(came, to=tick)


class Payments:
    """Payments against three windows that hardly change.

    Args:
        rows: How many tuples a tick has of all streams together.
        seed: By what they are drawn.
    """

    inputs = (
        "CREATE STREAM payments (merchant INTEGER, amount INTEGER, t INTEGER) TIMESTAMP BY t;"
        "CREATE STREAM sessions (merchant INTEGER, device INTEGER, t INTEGER) TIMESTAMP BY t;"
        "CREATE STREAM devices (device INTEGER, address INTEGER, t INTEGER) TIMESTAMP BY t;"
        "CREATE STREAM reports (address INTEGER, t INTEGER) TIMESTAMP BY t;"
    )
    query = (
        "CREATE CONTINUOUS QUERY q AS SELECT p.merchant, count(*) AS reports, sum(p.amount) AS a "
        f"FROM payments p [NOW], sessions s [RANGE {SPAN}], devices d [RANGE {SPAN}], "
        f"reports x [RANGE {SPAN}] WHERE p.merchant = s.merchant AND s.device = d.device "
        "AND d.address = x.address GROUP BY p.merchant"
    )

    def __init__(self, rows: int, seed: int = 0) -> None:
        """Begin with nothing."""
        self.drawn = np.random.default_rng(seed)
        self.slow = max(round(SLOW * rows), 1)
        self.fast = max(rows - 3 * self.slow, 1)

    def taken(self, tick: int) -> Taken:
        """Return what comes in a tick; the first one fills the windows."""
        came = self._came(tick)
        return lambda con: con.tick(came, to=tick)

    def _came(self, tick: int) -> dict[str, pa.Table]:
        slow = self.slow * (SPAN if tick == 0 else 1)
        return {
            "payments": self._drawn(tick, self.fast, merchant=MERCHANTS, amount=500),
            "sessions": self._drawn(tick, slow, merchant=MERCHANTS, device=DEVICES),
            "devices": self._drawn(tick, slow, device=DEVICES, address=ADDRESSES),
            "reports": self._drawn(tick, slow, address=ADDRESSES),
        }

    def _drawn(self, tick: int, size: int, **limits: int) -> pa.Table:
        listed = {
            name: pa.array(self.drawn.integers(0, limit, size), pa.int32())
            for name, limit in limits.items()
        }
        return pa.table({**listed, "t": pa.array(np.full(size, tick), pa.int32())})


class Relations(Payments):
    """Payments against a window and two relations that hardly change."""

    inputs = re.sub(
        r"CREATE STREAM (devices|reports) (\(.*?), t INTEGER\) TIMESTAMP BY t;",
        r"CREATE RELATION \1 \2);",
        Payments.inputs,
    )
    query = re.sub(r"(devices d|reports x) \[RANGE \d+\]", r"\1", Payments.query)

    def __init__(self, rows: int, seed: int = 0) -> None:
        """Begin with nothing."""
        super().__init__(rows, seed)
        self._standing: dict[str, pa.Table] = {}

    def taken(self, tick: int) -> Taken:
        """Return what comes in a tick; the first one fills the window and the relations."""
        came = self._came(tick)
        changes = {name: self._changed(name, came.pop(name)) for name in ("devices", "reports")}

        def take(con: cqlduck.Connection) -> None:
            for name, (gone, begun) in changes.items():
                con.retract(name, gone, at=tick)
                con.append(name, begun, at=tick)
            con.tick(came, to=tick)

        return take

    def _changed(self, name: str, came: pa.Table) -> tuple[pa.Table, pa.Table]:
        """Return the rows that go from a relation, and those that come."""
        rows, standing = came.drop_columns("t"), self._standing.get(name)
        if standing is None:
            self._standing[name] = rows
            return rows.slice(0, 0), rows
        part = standing.num_rows // CHANGING
        gone, begun = standing.slice(0, part), rows.slice(0, part)
        self._standing[name] = pa.concat_tables([standing.slice(part), begun])
        return gone, begun


WORKLOADS: Mapping[str, type[Payments]] = {"payments": Payments, "relations": Relations}


def workload(name: str, rows: int, seed: int = 0) -> Workload:
    """Return a workload by its name."""
    return WORKLOADS[name](rows, seed) if name in WORKLOADS else Point(name, rows, seed)


@dataclass
class Contestant:
    """A database with the query.

    Attributes:
        con: The connection.
        seconds: What each tick took.
    """

    con: cqlduck.Connection
    seconds: list[float] = field(default_factory=list)

    def tick(self, taken: Taken) -> None:
        """Run a tick."""
        started = time.perf_counter()
        taken(self.con)
        self.seconds.append(time.perf_counter() - started)


def contestant(stack: contextlib.ExitStack, work: Workload, option: str | None) -> Contestant:
    """Return a fresh database in memory, perhaps with caches that are pinned."""
    con = stack.enter_context(cqlduck.connect(threads=2))
    con.execute(work.inputs)
    con.execute(work.query)
    con.pin(STAGES, STAGED)
    con.pin(ANSWER, "incremental")
    if option is not None:
        con.pin(CACHES, option, "q")
    return Contestant(con)


def families(segments: Sequence[Segment]) -> Iterator[tuple[Segment, ...]]:
    """Yield all sets of segments that may have caches together, without the empty one."""
    for count in range(1, len(segments) + 1):
        yield from filter(is_laminar, itertools.combinations(segments, count))


def tried(name: str, rows: int) -> Mapping[str, float]:
    """Return what a tick takes with each set of caches."""
    work = workload(name, rows, seed=1)
    with contextlib.ExitStack() as stack:
        one = contestant(stack, work, NONE)
        for tick in range(FULL_AFTER):
            one.tick(work.taken(tick))
        ordered = one.con.engine.compiled["q"].ordered
        (about,) = (each for each in ordered if isinstance(each, JoinCaches))
        found: dict[str, float] = {}
        tick = FULL_AFTER
        for segments in [(), *families(about.segments)]:
            option = caching_text(tuple(map(Cached, segments))) or NONE
            one.con.pin(CACHES, option, "q")
            for _ in range(TRIED_TICKS):
                one.tick(work.taken(tick))
                tick += 1
            found[option] = statistics.median(one.seconds[1 - TRIED_TICKS :])
    return found


@dataclass(frozen=True)
class Row:
    """What a workload gave.

    Attributes:
        workload: Its name.
        milliseconds: The median of ticks without caches.
        best, best_gain: The caches that took the least, and how many times less than none.
        worst, worst_gain: The same of the most.
        adaptive, adaptive_gain: The caches that were chosen last, and the same.
        filled: After which tick the first caches were there; None if there were none.
        spent: Which part of the time of ticks measuring took.
    """

    workload: str
    milliseconds: float
    best: str
    best_gain: float
    worst: str
    worst_gain: float
    adaptive: str
    adaptive_gain: float
    filled: int | None
    spent: float

    @property
    def cells(self) -> tuple[str, ...]:
        """The row as text."""
        return (
            self.workload, f"{self.milliseconds:.1f}", self.best, f"{self.best_gain:.2f}",
            self.worst, f"{self.worst_gain:.2f}", self.adaptive, f"{self.adaptive_gain:.2f}",
            "" if self.filled is None else str(self.filled), f"{100 * self.spent:.1f} %",
        )  # fmt: skip


HEAD = (
    "workload", "ms a tick, none", "best", "none, × best", "worst", "none, × worst",
    "adaptive", "none, × adaptive", "from tick", "measuring",
)  # fmt: skip


def run(name: str, ticks: int, rows: int) -> Row:
    """Run all contestants in turn; return how they compare."""
    took = tried(name, rows)
    best = min(took, key=lambda option: took[option])
    worst = max(took, key=lambda option: took[option])
    work = workload(name, rows)
    with contextlib.ExitStack() as stack:
        options = {"none": NONE, "best": best, "worst": worst, "adaptive": None}
        everyone = {who: contestant(stack, work, option) for who, option in options.items()}
        turns = list(everyone.values())
        for tick in track(range(FULL_AFTER + ticks), name, transient=True):
            taken = work.taken(tick)
            for place in range(len(turns)):
                turns[(tick + place) % len(turns)].tick(taken)
        answers = {str(sorted(one.con.table("q").fetchall())) for one in turns}
        if len(answers) > 1:
            raise SystemExit(f"{name}: the answers differ")
        begun = FULL_AFTER + ticks // 2
        medians = {who: statistics.median(one.seconds[begun:]) for who, one in everyone.items()}
        gains = {who: medians["none"] / seconds for who, seconds in medians.items()}
        con = everyone["adaptive"].con
        chosen = con.sql(
            "SELECT option FROM cql.points WHERE point = 'caches' AND operator IS NOT NULL"
        ).fetchall()
        first = con.sql("SELECT min(tick) FROM cql.plan_log WHERE point = 'caches'").fetchall()
        budget = con.engine.streamon.budget
        return Row(
            name, 1e3 * medians["none"], best, gains["best"], worst, gains["worst"],
            chosen[0][0], gains["adaptive"], first[0][0],
            (budget.counting + budget.looking) / budget.ticks,
        )  # fmt: skip


BEGIN, END = "<!-- caches -->\n", "<!-- end of caches -->\n"


def main() -> None:
    """Run, and show."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--ticks", type=int, default=50, help="ticks of each run (default 50)")
    parser.add_argument("--workloads", default=",".join([*joins.POINTS, *WORKLOADS]))
    parser.add_argument("--rows", type=int, default=4000, help="tuples a tick (default 4,000)")
    parser.add_argument("--write", action="store_true", help="write a section of ADAPTIVITY.md")
    given = parser.parse_args()
    console, rows = Console(), []
    for name in given.workloads.split(","):
        rows.append(run(name, given.ticks, given.rows))
        console.print(dict(zip(HEAD, rows[-1].cells, strict=True)))
    shown = Table(*HEAD)
    for row in rows:
        shown.add_row(*row.cells)
    console.print(shown)
    if given.write:
        listed = (HEAD, ["---:"] * len(HEAD), *(row.cells for row in rows))
        body = ["| " + " | ".join(row) + " |" for row in listed]
        joins.write(
            "# Caches of joins\n\n"
            f"`python benchmarks/caches.py --ticks {given.ticks} --workloads {given.workloads} "
            f"--rows {given.rows} --write`\n\n"
            "Joins of four inputs: with the rates and selectivities of table 5.2 of the thesis, "
            "and payments against three windows. `2+3` is the cache of the second and third input. "
            "`caches.py` says what is compared.\n\n" + "\n".join(body) + "\n",
            BEGIN,
            END,
        )


if __name__ == "__main__":
    main()
