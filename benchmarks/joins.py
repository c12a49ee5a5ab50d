"""Orders of join pipelines: adaptive beside the default, the best and the worst ones.

    python benchmarks/joins.py [--ticks 60] [--points D1,D3,D4,D7,D8] [--rows 12000] [--write]

A join of four windows R, S, T, U on one attribute, with the rates and pairwise selectivities
of table 5.2 of Babu's thesis: each pair of streams shares a block of values, as large as its
selectivity asks for, and a few values are everywhere. First each order of each pipeline runs some
ticks, pinned, so that the best and the worst of each pipeline are known. Then the same tuples go to
each contestant, tick by tick in turn:

* **adaptive**: as cqlduck runs by default;
* **planned**: the default orders, pinned;
* **best**, **worst**: these orders of each pipeline, pinned.

All answers are compared, and all are kept up incrementally, in stages and without caches, so that
orders alone differ. Shown are ratios of medians of the last half of the ticks: while windows fill,
orders are refuted that are better, so the ticks before count for learning only.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.progress import track
from rich.table import Table

import cqlduck
from cqlduck.rewrite.plan.orders import ORDER, order_name
from cqlduck.rewrite.plan.segments import CACHES
from cqlduck.state.choices import Point
from cqlduck.streamon.points import ANSWER, NONE, PLANNED, STAGED, STAGES

NAMES = "rstu"
PAIRS = [*itertools.combinations(range(4), 2)]
POINTS: Mapping[str, tuple[Sequence[int], Sequence[float]]] = {
    "D1": ((10, 1, 1, 1), (0.004, 0.005, 0.005, 0.007, 0.0045, 0.005)),
    "D2": ((8, 1, 1, 8), (0.004, 0.005, 0.005, 0.007, 0.0045, 0.005)),
    "D3": ((10, 15, 1, 5), (0.003, 0.005, 0.007, 0.0045, 0.006, 0.008)),
    "D4": ((1, 1, 1, 1), (0.003, 0.004, 0.0067, 0.002, 0.0023, 0.0027)),
    "D5": ((4, 1, 1, 4), (0.005, 0.007, 0.005, 0.006, 0.005, 0.002)),
    "D6": ((1, 1, 1, 1), (0.005, 0.0033, 0.0025, 0.0067, 0.005, 0.0075)),
    "D7": ((1, 1, 1, 1), (0, 0, 0, 0, 0, 0)),
    "D8": ((1, 1, 1, 1), (0.001, 0.001, 0.001, 0.001, 0.001, 0.001)),
}
"""Table 5.2: relative rates of R, S, T, U, and selectivities of RS, RT, RU, ST, SU, TU."""

SHARED, EVERYWHERE = 0.25, 0.02
"""Which part of a stream is in the block of each pair, and in the one that all share."""

WINDOW_TICKS = 10
WARM_TICKS = WINDOW_TICKS + 2
TRIED_TICKS = 3

HERE = Path(__file__).parent

QUERY = (
    "CREATE CONTINUOUS QUERY q AS SELECT count(*) AS n FROM "
    + ", ".join(f"{name} [RANGE {WINDOW_TICKS}]" for name in NAMES)
    + " WHERE "
    + " AND ".join(f"{NAMES[a]}.a = {NAMES[b]}.a" for a, b in PAIRS)
)


class Arrivals:
    """Draws what comes.

    Args:
        point: Of table 5.2.
        rows: How many tuples a tick has of the four streams together.
        seed: By what.
    """

    def __init__(self, point: str, rows: int, seed: int = 0) -> None:
        """Lay out the blocks of values."""
        rates, selectivities = POINTS[point]
        self.sizes = [max(rows * rate // sum(rates), 1) for rate in rates]
        self.drawn = np.random.default_rng(seed)
        self.blocks: list[list[tuple[float, int, int]]] = [[] for _ in NAMES]
        first = 1_000_000
        for pair, selectivity in zip(PAIRS, selectivities, strict=True):
            if selectivity:
                size = max(round(SHARED**2 / selectivity), 1)
                for place in pair:
                    self.blocks[place].append((SHARED, first, size))
                first += size
        if any(selectivities):
            for mine in self.blocks:
                mine.append((EVERYWHERE, first, 50))

    def batch(self, place: int, tick: int) -> pa.Table:
        """Return the tuples of a stream in a tick."""
        size = self.sizes[place]
        values = self.drawn.integers(place * 100_000, (place + 1) * 100_000, size)
        which, low = self.drawn.random(size), 0.0
        for part, first, count in self.blocks[place]:
            is_mine = (which >= low) & (which < low + part)
            values = np.where(is_mine, first + self.drawn.integers(0, count, size), values)
            low += part
        return pa.table(
            {"a": pa.array(values, pa.int32()), "t": pa.array(np.full(size, tick), pa.int32())}
        )

    def tick(self, tick: int) -> dict[str, pa.Table]:
        """Return the tuples of a tick."""
        return {name: self.batch(place, tick) for place, name in enumerate(NAMES)}


@dataclass
class Contestant:
    """A database with the query.

    Attributes:
        con: The connection.
        seconds: What each tick took.
    """

    con: cqlduck.Connection
    seconds: list[float] = field(default_factory=list)

    def tick(self, batch: Mapping[str, pa.Table], to: int) -> None:
        """Run a tick."""
        started = time.perf_counter()
        self.con.tick(batch, to=to)
        self.seconds.append(time.perf_counter() - started)


def contestant(stack: contextlib.ExitStack, orders: str | None) -> Contestant:
    """Return a fresh database in memory, perhaps with orders that are pinned."""
    con = stack.enter_context(cqlduck.connect(threads=2))
    for name in NAMES:
        con.execute(f"CREATE STREAM {name} (a INTEGER, t INTEGER) TIMESTAMP BY t")
    con.execute(QUERY)
    con.pin(STAGES, STAGED)
    con.pin(ANSWER, "incremental")
    con.pin(CACHES, NONE)
    if orders is not None:
        con.pin(ORDER, orders, "q")
    return Contestant(con)


def tried(point: str, rows: int) -> tuple[str, str]:
    """Return the best and the worst order of each pipeline, as a pin has them."""
    arrivals = Arrivals(point, rows, seed=1)
    with contextlib.ExitStack() as stack:
        one = contestant(stack, PLANNED)
        streamon = one.con.engine.streamon
        # all statements are counted
        streamon.budget.fraction = 1.0
        for tick in range(WARM_TICKS):
            one.tick(arrivals.tick(tick), tick)
        tick = WARM_TICKS
        orders = [
            [(place, *rest) for rest in itertools.permutations(set(range(4)) - {place})]
            for place in range(4)
        ]
        for which in [*range(6), *range(6)]:
            wanted = [order_name(mine[which]) for mine in orders]
            one.con.pin(ORDER, ", ".join(wanted), "q")
            for _ in range(TRIED_TICKS):
                one.tick(arrivals.tick(tick), tick)
                tick += 1
        best, worst = [], []
        (operator,) = {about.site.operator for about in one.con.engine.compiled["q"].ordered}
        for place, mine in enumerate(orders):
            known = streamon.profiler.statistics(Point(ORDER, "q", operator, "", place))
            took = {name: known.median(name) or 0.0 for name in map(order_name, mine)}
            best.append(min(took, key=lambda name: took[name]))
            worst.append(max(took, key=lambda name: took[name]))
    return ", ".join(best), ", ".join(worst)


@dataclass(frozen=True)
class Row:
    """What a point gave.

    Attributes:
        point: The point.
        milliseconds: The median of ticks with the best orders.
        worst: That of the worst orders, over the best.
        planned: That of the default orders, over the best.
        adaptive: That of adaptive, over the best.
        gain: That of the default orders, over adaptive.
        changes: How often adaptive changed an order.
        spent: Which part of the time of ticks measuring took.
    """

    point: str
    milliseconds: float
    worst: float
    planned: float
    adaptive: float
    gain: float
    changes: int
    spent: float


def run(point: str, ticks: int, rows: int) -> Row:
    """Run all contestants in turn; return how they compare."""
    best, worst = tried(point, rows)
    arrivals = Arrivals(point, rows)
    with contextlib.ExitStack() as stack:
        names = {"best": best, "worst": worst, "planned": PLANNED, "adaptive": None}
        everyone = {name: contestant(stack, orders) for name, orders in names.items()}
        turns = list(everyone.values())
        for tick in track(range(WARM_TICKS + ticks), point, transient=True):
            batch = arrivals.tick(tick)
            for place in range(len(turns)):
                turns[(tick + place) % len(turns)].tick(batch, tick)
        answers = {str(one.con.table("q").fetchall()) for one in turns}
        if len(answers) > 1:
            raise SystemExit(f"the answers differ: {answers}")
        # what adaptive has learned by the middle
        begun = WARM_TICKS + ticks // 2
        took = {name: statistics.median(one.seconds[begun:]) for name, one in everyone.items()}
        con = everyone["adaptive"].con
        changes = con.sql("SELECT count(*) FROM cql.plan_log WHERE point = 'order'").fetchall()
        budget = con.engine.streamon.budget
        return Row(
            point,
            1e3 * took["best"],
            took["worst"] / took["best"],
            took["planned"] / took["best"],
            took["adaptive"] / took["best"],
            took["planned"] / took["adaptive"],
            int(changes[0][0]),
            (budget.counting + budget.looking) / budget.ticks,
        )


HEAD = (
    "point", "ms a tick, best", "worst, × best", "planned, × best", "adaptive, × best",
    "planned, × adaptive", "changes", "measuring",
)  # fmt: skip


def table(rows: Sequence[Row]) -> list[tuple[str, ...]]:
    """Return the rows as text."""
    return [
        (
            row.point, f"{row.milliseconds:.1f}", f"{row.worst:.2f}", f"{row.planned:.2f}",
            f"{row.adaptive:.2f}", f"{row.gain:.2f}", str(row.changes), f"{100 * row.spent:.1f} %",
        )
        for row in rows
    ]  # fmt: skip


BEGIN, END = "<!-- joins -->\n", "<!-- end of joins -->\n"


def write(text: str, begin: str, end: str) -> None:
    """Put a section into ADAPTIVITY.md, in place of an older one, between two marks."""
    path = HERE / "ADAPTIVITY.md"
    whole = path.read_text(encoding="utf-8") if path.exists() else ""
    before, _, after = whole.partition(begin)
    whole = f"{before.rstrip()}\n\n{begin}{text}{end}{after.partition(end)[2]}"
    path.write_text(whole.lstrip())


def main() -> None:
    """Run, and show."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--ticks", type=int, default=60, help="ticks of each run (default 60)")
    parser.add_argument("--points", default=",".join(POINTS), help="points of table 5.2")
    parser.add_argument("--rows", type=int, default=12000, help="tuples a tick (default 12,000)")
    parser.add_argument("--write", action="store_true", help="write a section of ADAPTIVITY.md")
    given = parser.parse_args()
    console, rows = Console(), []
    for point in given.points.split(","):
        rows.append(run(point, given.ticks, given.rows))
        console.print(dict(zip(HEAD, table(rows)[-1], strict=True)))
    shown = Table(*HEAD)
    for row in table(rows):
        shown.add_row(*row)
    console.print(shown)
    if given.write:
        body = ["| " + " | ".join(row) + " |" for row in (HEAD, ["---:"] * len(HEAD), *table(rows))]
        write(
            "# The order of join pipelines\n\n"
            f"`python benchmarks/joins.py --ticks {given.ticks} --points {given.points} "
            f"--rows {given.rows} --write`\n\n"
            "Four windows joined on one attribute, with the rates and selectivities of table 5.2 "
            "of the thesis. `joins.py` says what is compared.\n\n" + "\n".join(body) + "\n",
            BEGIN,
            END,
        )


if __name__ == "__main__":
    main()
