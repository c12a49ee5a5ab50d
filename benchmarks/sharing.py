"""What many queries cost that differ in constants, in what they show, or in nothing, beside one.

    python benchmarks/sharing.py [--numbers 1,100,1000] [--rows 100] [--rows 10000] [--ticks 20]

All databases of a row of the table run in turn, tick by tick, over the same elements; shown are
medians as ratios to the tick of one query, and the milliseconds to register a query. `alone` is the
same number of queries with `sharing=False`, up to `--most-alone` of them. With `--one-by-one` each
is registered a tick after the one before; what is measured begins when all are warm and merged.
"""

from __future__ import annotations

import math
import random
import statistics
import time
from dataclasses import dataclass, field
from typing import Annotated

import pyarrow as pa
import typer

import cqlduck

UNMEASURED = 5

WINDOW = 60
"""The longest window of the shapes that can be merged, in ticks."""

SHAPES = {
    "groups": "SELECT k, count(*) AS n, sum(v) AS t FROM s [RANGE 60] WHERE v > {n} GROUP BY k",
    "filters": "SELECT k, v FROM s WHERE k = {n} AND v > 5",
    "windows": "SELECT k, count(*) AS n, sum(v) AS t FROM s [RANGE {w}] WHERE v > {n} GROUP BY k",
    "equal": "SELECT k, count(*) AS n FROM s GROUP BY k",
    "lists": "SELECT s.k, {item} AS x FROM s [RANGE 60] JOIN r ON s.k = r.k WHERE v > 5",
    "aggregates": "SELECT s.k, {call} AS x FROM s [RANGE 60] JOIN r ON s.k = r.k GROUP BY s.k",
    "unlike": "SELECT k, {call} AS x FROM s [RANGE {w}] WHERE v % {p} = 0 GROUP BY k",
}
ITEMS = ["v", "r.w", "r.name", "upper(name)", "v > w", "v IS NULL", "r.k",
         "name IS NULL", "lower(name)", "w IS NULL"]  # fmt: skip
"""What queries over one join show."""

CALLS = ["count(*)", "sum(v)", "min(v)", "max(v)", "avg(v)", "count(v)", "count(*) > 3",
         "max(v) IS NULL", "count(*) FILTER (WHERE v > 9)", "sum(v) > 99"]  # fmt: skip
"""What queries show of one aggregate."""

VALUES = 1_000_000
"""Values of `v` are below it, and so are the constants of `groups`."""


@dataclass
class Contestant:
    """A database with so many queries of a shape.

    Attributes:
        number: How many.
        con: The database.
        registered: The seconds that it took to register one, on average.
        ticks: The seconds of each tick.
        waiting: The queries that are still to be registered, one a tick.
    """

    number: int
    con: cqlduck.Connection
    registered: float
    ticks: list[float] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)

    def register(self) -> None:
        """Register the next query, if one waits."""
        if self.waiting:
            self.con.execute(self.waiting.pop(0))


def contestant(shape: str, number: int, *, sharing: bool, one_by_one: bool) -> Contestant:
    """Return a database with queries."""
    con = cqlduck.connect(sharing=sharing)
    con.execute("CREATE STREAM s (k INTEGER, v INTEGER)")
    con.execute("CREATE RELATION r (k INTEGER, w INTEGER, name VARCHAR)")
    con.append("r", [(k, k * 1000, f"name {k}") for k in range(20)])
    step = VALUES // (number + 1) if shape in ("groups", "windows") else 1
    texts = [
        SHAPES[shape].format(
            n=step * (n + 1),
            w=17 + n % 48,
            item=ITEMS[n % len(ITEMS)],
            call=CALLS[n % len(CALLS)],
            p=n + 2,
        )
        for n in range(number)
    ]
    texts = [f"CREATE CONTINUOUS QUERY q{n} AS {text}" for n, text in enumerate(texts)]
    if one_by_one:
        return Contestant(number, con, math.nan, waiting=texts)
    began = time.perf_counter()
    for text in texts:
        con.execute(text)
    return Contestant(number, con, (time.perf_counter() - began) / number)


def measured(
    shape: str, numbers: list[int], rows: int, ticks: int, most_alone: int, *, one_by_one: bool
) -> list[str]:
    """Return the cells of a row: one query in ms, then ratios."""
    together = [
        contestant(shape, number, sharing=True, one_by_one=one_by_one) for number in numbers
    ]
    alone = contestant(shape, most_alone, sharing=False, one_by_one=one_by_one)
    chance = random.Random(1)
    # two are merged between two ticks
    unmeasured = UNMEASURED + (2 * max(*numbers, most_alone) + WINDOW if one_by_one else 0)
    for instant in range(unmeasured + ticks):
        table = pa.table(
            {
                "k": pa.array([chance.randrange(20) for _ in range(rows)], pa.int32()),
                "v": pa.array([chance.randrange(VALUES) for _ in range(rows)], pa.int32()),
                "_ts": pa.array([instant] * rows, pa.int64()),
            }
        )
        for one in (*together, alone):
            one.register()
            began = time.perf_counter()
            one.con.tick({"s": table}, instant)
            if instant >= unmeasured:
                one.ticks.append(time.perf_counter() - began)
    medians = [statistics.median(one.ticks) for one in (*together, alone)]
    cells = [f"{1000 * medians[0]:.1f} ms"]
    cells += [f"{median / medians[0]:.1f}" for median in medians[1:]]
    registered = (together[-1].registered, alone.registered)
    cells += ["" if one_by_one else f"{1000 * seconds:.1f} ms" for seconds in registered]
    for one in (*together, alone):
        one.con.close()
    return cells


def main(
    numbers: Annotated[str, typer.Option(help="How many queries; the first is one.")] = (
        "1,100,1000"
    ),
    rows: Annotated[list[int] | None, typer.Option(help="How many elements a tick has.")] = None,
    ticks: Annotated[int, typer.Option(min=1, help="How many are measured.")] = 20,
    most_alone: Annotated[int, typer.Option(min=1, help="How many that do not share.")] = 50,
    shapes: Annotated[str, typer.Option(help="Which shapes; by default all.")] = ",".join(SHAPES),
    one_by_one: Annotated[bool, typer.Option(help="Register one a tick, then measure.")] = False,
) -> None:
    """Print a table."""
    listed = [int(number) for number in numbers.split(",")]
    more = [f"{number} ÷ {listed[0]}" for number in listed[1:]]
    head = ["shape", "rows", f"{listed[0]}", *more, f"{most_alone} alone ÷ {listed[0]}",
            "registering one", "alone"]  # fmt: skip
    print("| " + " | ".join(head) + " |")
    print("|---" * len(head) + "|")
    for shape in shapes.split(","):
        for size in rows or [100, 10_000]:
            cells = measured(shape, listed, size, ticks, most_alone, one_by_one=one_by_one)
            print("| " + " | ".join([shape, f"{size:,}", *cells]) + " |", flush=True)


if __name__ == "__main__":
    typer.run(main)
