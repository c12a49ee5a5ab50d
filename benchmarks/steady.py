"""Does adapting cost anything once nothing changes? Adaptive beside the best plan that stays.

    python benchmarks/steady.py [--only "w2 a,tpch q3"] [--settle 300] [--ticks 20] [--pairs 60]
        [--write]

Two databases in memory take the same ticks of a workload (`steady_workloads.py`): one adapts, as
cqlduck does by default, the other one does not. They run in turn, in blocks of ten ticks: what a
tick leaves to be done, and what two threads take, differs if another database has each second one.
First both run some ticks, in which windows fill and choices settle. Then each option of each point
of choice is pinned alone in the other database for some ticks, and the fastest, or the default if
none is faster, is the **best single plan**. That one is pinned, and pairs of blocks run; the ratio
of a pair is the time of the best single plan over that of adaptive. Shown are the geometric mean of
the pairs, and the interval in which it lies with 95 % by the bootstrap. At the end the answers are
compared.

`--write` puts the rows of these workloads into the table, those of others stay: all take hours.

The best of many medians is partly luck, so a mean somewhat above 1 says no more than one of 1.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import steady_workloads
from joins import HERE, write
from rich.console import Console
from rich.progress import track
from steady_workloads import Steady, Taken

import cqlduck
from cqlduck.rewrite.plan.orders import ORDER, order_name
from cqlduck.rewrite.plan.segments import CACHES, Cached, caching_text
from cqlduck.rewrite.statements.ordered import JoinCaches, JoinPipeline
from cqlduck.rewrite.statements.refreshing import RECOMPUTED
from cqlduck.state.threads import AFTER_READ_SECONDS
from cqlduck.streamon.points import ANSWER

BLOCK = 10
"""How many ticks of one database run before those of the other one."""

TURNED = 2
"""How many ticks run after another option is pinned before it is timed."""

HOPELESS = 4.0
"""An option that takes so many times as long as the default one is given up."""

RESAMPLED = 10_000

Pin = tuple[str, str, str | None]
"""A point, its option and its owner."""


@dataclass
class Run:
    """A database and what its ticks took.

    Attributes:
        con: The connection.
        seconds: What each tick took.
    """

    con: cqlduck.Connection
    seconds: list[float] = field(default_factory=list)

    def tick(self, taken: Taken) -> float:
        """Run a tick; return what it took."""
        started = time.perf_counter()
        taken(self.con)
        self.seconds.append(time.perf_counter() - started)
        return self.seconds[-1]


def pins(con: cqlduck.Connection) -> list[Pin]:
    """Return each option of each point, but for those that run by default."""
    found: dict[Pin, None] = {}
    points = con.sql("SELECT point, owner, option, options FROM cql.points ORDER BY ALL").fetchall()
    for point, owner, option, options in points:
        found |= dict.fromkeys((point, other, owner) for other in options if other != option)
    for query, compiled in con.engine.compiled.items():
        with contextlib.suppress(cqlduck.NotSupportedError):
            con.pin(ANSWER, RECOMPUTED, query)
            con.pin(ANSWER, None, query)
            found[ANSWER, RECOMPUTED, query] = None
        for about in compiled.ordered:
            if isinstance(about, JoinPipeline):
                others = itertools.permutations(about.default[1:])
                orders = ((about.default[0], *rest) for rest in others)
                listed = (order_name(o) for o in orders if o != about.default and about.allows(o))
                found |= dict.fromkeys((ORDER, each, query) for each in listed)
            if isinstance(about, JoinCaches):
                each_alone = (caching_text((Cached(segment),)) for segment in about.segments)
                found |= dict.fromkeys((CACHES, each, query) for each in each_alone)
    # while somebody reads, and shortly after, all threads stay
    time.sleep(AFTER_READ_SECONDS)
    return list(found)


def pinned(con: cqlduck.Connection, pin: Pin | None, *, away: bool = False) -> None:
    """Pin an option, or take the pin away; nothing stands for the default plan."""
    if pin is not None:
        point, option, owner = pin
        con.pin(point, None if away else option, owner)


class Rivals:
    """The database that adapts and the one that does not, over the same ticks.

    Args:
        work: The workload.
        stack: Closes them.
    """

    def __init__(self, work: Steady, stack: contextlib.ExitStack) -> None:
        """Open both."""
        self.work = work
        self.adaptive = Run(stack.enter_context(work.opened()))
        self.single = Run(stack.enter_context(work.opened()))
        self.single.con.execute(
            "UPDATE cql.properties SET value = 'false' WHERE name = 'adaptive' AND owner IS NULL"
        )
        self._numbers: Iterator[int] = itertools.count()

    def drawn(self, count: int) -> list[Taken]:
        """Return what comes in the next ticks."""
        return [self.work.tick(next(self._numbers)) for _ in range(count)]

    def together(self, count: int, what: str) -> None:
        """Run ticks in both."""
        for first in track(
            range(0, count, BLOCK), what, transient=True, disable=not sys.stderr.isatty()
        ):
            block = self.drawn(min(BLOCK, count - first))
            for run in (self.adaptive, self.single):
                for taken in block:
                    run.tick(taken)

    def timed(self, pin: Pin | None, ticks: int, most: float) -> list[float]:
        """Return what ticks take with an option, over what they take with adaptive just then.

        So it does not matter that the machine is slower now and then. After the first tick that
        takes more than `most`, the others are taken to do so as well.
        """
        pinned(self.single.con, pin)
        found: list[float] = []
        is_hopeless = False
        drawn = self.drawn(TURNED + ticks)
        for first in range(0, len(drawn), BLOCK):
            block = drawn[first : first + BLOCK]
            adaptive = [self.adaptive.tick(taken) for taken in block]
            for number, taken in enumerate(block):
                ratio = self.single.tick(taken) / adaptive[number]
                if first + number >= TURNED and not is_hopeless:
                    found.append(ratio)
                    if ratio > most:
                        is_hopeless, found = True, [ratio] * ticks
                        pinned(self.single.con, pin, away=True)
        pinned(self.single.con, pin, away=True)
        return found

    def best(self, ticks: int) -> tuple[Pin | None, int]:
        """Return the fastest of all plans, None for the default one, and how many others."""
        took: dict[Pin | None, list[float]] = {None: self.timed(None, ticks, float("inf"))}
        most = HOPELESS * statistics.median(took[None])
        options = pins(self.single.con)
        for pin in track(
            options, f"{self.work.name}: options", transient=True, disable=not sys.stderr.isatty()
        ):
            took[pin] = self.timed(pin, ticks, most)
        return min(took, key=lambda pin: statistics.median(took[pin])), len(options)

    def pair(self, number: int) -> float:
        """Run a block of ticks in each; return the time of the single plan over adaptive's."""
        block = self.drawn(BLOCK)
        turns = [self.adaptive, self.single]
        for run in turns if number % 2 else reversed(turns):
            for taken in block:
                run.tick(taken)
        return sum(self.single.seconds[-BLOCK:]) / sum(self.adaptive.seconds[-BLOCK:])

    def difference(self) -> bool:
        """Return whether the answers differ."""
        both = [self.work.answers(run.con) for run in (self.adaptive, self.single)]
        return any(_rows(a) != _rows(b) for a, b in zip(*both, strict=True))


def _rows(answer: pa.Table) -> list[str]:
    columns = [column.to_pylist() for column in answer.columns]
    rows = zip(*columns, strict=True)
    return sorted(
        str([float(f"{v:.9g}") if isinstance(v, float) else v for v in row]) for row in rows
    )


@dataclass(frozen=True)
class Row:
    """What a workload gave.

    Attributes:
        workload: Its name.
        milliseconds: The median tick of adaptive.
        options: How many plans were tried beside the default one.
        best: The best single plan.
        mean: Its time over that of adaptive, the geometric mean of the pairs.
        low, high: The ends of the interval.
        changes: How often adaptive changed a plan from beginning to end.
        late: How often while it was compared.
    """

    workload: str
    milliseconds: float
    options: int
    best: Pin | None
    mean: float
    low: float
    high: float
    changes: int
    late: int

    @property
    def cells(self) -> tuple[str, ...]:
        """The row as text."""
        plan = "the default" if self.best is None else f"{self.best[0]}: {self.best[1]}"
        return (
            self.workload, f"{self.milliseconds:.1f}", str(self.options), plan,
            f"{self.mean:.3f}", f"{self.low:.3f} to {self.high:.3f}", str(self.changes),
            str(self.late),
        )  # fmt: skip


HEAD = (
    "workload", "ms a tick", "other plans", "best single plan", "best, × adaptive",
    "95 % of it", "changes", "while compared",
)  # fmt: skip


def interval(ratios: list[float]) -> tuple[float, float, float]:
    """Return the geometric mean of ratios, and the ends of its 95 % interval by the bootstrap."""
    logs = np.log(ratios)
    drawn = np.random.default_rng(0).choice(logs, (RESAMPLED, len(logs))).mean(axis=1)
    low, high = np.percentile(drawn, [2.5, 97.5])
    return float(np.exp(logs.mean())), float(np.exp(low)), float(np.exp(high))


def _changes(con: cqlduck.Connection) -> int:
    return int(con.sql("SELECT count(*) FROM cql.plan_log").fetchall()[0][0])


def run(name: str, settle: int, ticks: int, pairs: int) -> Row:
    """Compare the two databases over a workload.

    Raises:
        SystemExit: The answers differ.
    """
    work = steady_workloads.workload(name)
    with contextlib.closing(work), contextlib.ExitStack() as stack:
        rivals = Rivals(work, stack)
        rivals.together(work.filled + settle, f"{name}: settling")
        best, options = rivals.best(ticks)
        pinned(rivals.single.con, best)
        rivals.together(2 * BLOCK, f"{name}: settling")
        before, begun = _changes(rivals.adaptive.con), len(rivals.adaptive.seconds)
        ratios = [
            rivals.pair(number)
            for number in track(
                range(pairs), f"{name}: pairs", transient=True, disable=not sys.stderr.isatty()
            )
        ]
        if rivals.difference():
            raise SystemExit(f"{name}: the answers differ")
        after = _changes(rivals.adaptive.con)
        return Row(
            name, 1e3 * statistics.median(rivals.adaptive.seconds[begun:]), options, best,
            *interval(ratios), after, after - before,
        )  # fmt: skip


BEGIN, END = "<!-- steady -->\n", "<!-- end of steady -->\n"


def _is_kept(cells: Sequence[str]) -> bool:
    """Return whether adapting costs two percent at most, as a row of the table says."""
    mean, low = cells[HEAD.index("best, × adaptive")], cells[HEAD.index("95 % of it")].split()[0]
    return float(mean) >= 0.98 and float(low) >= 0.96


def merged(
    rows: Sequence[tuple[str, ...]], path: Path = HERE / "ADAPTIVITY.md"
) -> list[tuple[str, ...]]:
    """Return the rows of the table that there is and new ones, which come in the place of old ones.

    Args:
        rows: The new rows as text.
        path: The file with the table.
    """
    whole = path.read_text(encoding="utf-8") if path.exists() else ""
    lines = whole.partition(BEGIN)[2].partition(END)[0].splitlines()
    listed = [
        tuple(cell.strip() for cell in line.strip("|").split("|"))
        for line in lines
        if line.startswith("|")
    ]
    there = {cells[0]: cells for cells in listed[2:]} | {cells[0]: cells for cells in rows}
    return [there[name] for name in steady_workloads.names() if name in there]


def main() -> None:
    """Run, and show."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add = parser.add_argument
    add("--only", default=",".join(steady_workloads.names()), help="workloads (all)")
    add("--settle", type=int, default=300, help="ticks in which choices settle (%(default)s)")
    add("--ticks", type=int, default=20, help="ticks of each option (%(default)s)")
    add("--pairs", type=int, default=60, help="pairs of blocks (%(default)s)")
    add("--write", action="store_true", help="write a section of ADAPTIVITY.md")
    given = parser.parse_args()
    console, rows = Console(), []
    for name in given.only.split(","):
        rows.append(run(name, given.settle, given.ticks, given.pairs))
        console.print(dict(zip(HEAD, rows[-1].cells, strict=True)))
    if given.write:
        listed = merged([row.cells for row in rows])
        kept = sum(_is_kept(cells) for cells in listed)
        body = "\n".join(
            "| " + " | ".join(cells) + " |" for cells in (HEAD, ["---:"] * len(HEAD), *listed)
        )
        write(
            "# While nothing changes\n\n"
            f"`python benchmarks/steady.py --settle {given.settle} --ticks {given.ticks} --pairs "
            f"{given.pairs} --write`\n\n"
            "Adaptive beside the best plan that stays: the default one, or one option of one point "
            "pinned. `steady.py` says how they are compared. A ratio below 1 is what adapting "
            f"costs. Adapting costs 2 % at most with {kept} of {len(listed)} workloads.\n\n"
            f"{body}\n",
            BEGIN,
            END,
        )


if __name__ == "__main__":
    main()
