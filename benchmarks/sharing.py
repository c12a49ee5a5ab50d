"""What many queries cost that differ in constants, in what they show, or in nothing, beside one.

    python benchmarks/sharing.py [--numbers 1,100,1000] [--rows 100] [--rows 10000] [--ticks 20]
    python benchmarks/sharing.py --files [--numbers 1,1000,10000] [--shapes groups,filters,equal]

All databases of a row of the table run in turn, tick by tick, over the same elements; shown are
medians as ratios to the tick of one query, and the milliseconds to register a query. `alone` is the
same number of queries with `sharing=False`, up to `--most-alone` of them. With `--one-by-one` each
is registered a tick after the one before; what is measured begins when all are warm and merged.

With `--files` the databases are files, all queries of one are registered by one call, and shown are
what that takes, and for one query and as ratios to it: a tick, the size of the file when it is
closed, opening it again, and reading the answer of one query.
"""

from __future__ import annotations

import math
import random
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
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
    "levels": "SELECT k, {n} AS level, count(*) AS n FROM s [RANGE {w}] WHERE v > {n} GROUP BY k",
    "mixed": "SELECT k, {call} AS x FROM s [RANGE {w}] WHERE v > {n} GROUP BY k",
    "sums": "SELECT k, {sum} AS x FROM s [RANGE {w}] WHERE v > {n} GROUP BY k",
    "inside": "SELECT k, v FROM s WHERE v > {n} OR k = {p}",
    "equal": "SELECT k, count(*) AS n FROM s GROUP BY k",
    "lists": "SELECT s.k, {item} AS x FROM s [RANGE 60] JOIN r ON s.k = r.k WHERE v > 5",
    "aggregates": "SELECT s.k, {call} AS x FROM s [RANGE 60] JOIN r ON s.k = r.k GROUP BY s.k",
    "conditions": "SELECT s.k, v, w FROM s [RANGE 60], r WHERE s.k = r.k{condition}",
    "unlike": "SELECT k, {call} AS x FROM s [RANGE {w}] WHERE v % {p} = 0 GROUP BY k",
}
ITEMS = ["v", "r.w", "r.name", "upper(name)", "v > w", "v IS NULL", "r.k",
         "name IS NULL", "lower(name)", "w IS NULL"]  # fmt: skip
"""What queries over one join show."""

CALLS = ["count(*)", "sum(v)", "min(v)", "max(v)", "avg(v)", "count(v)", "count(*) > 3",
         "max(v) IS NULL", "count(*) FILTER (WHERE v > 9)", "sum(v) > 99"]  # fmt: skip
"""What queries show of one aggregate."""

SUMS = [call for call in CALLS if "m" not in call[:2]]
"""Those that are made of sums."""

CONDITIONS = ["", *(f" AND {c}" for c in ("v > 500000", "v > 500000 AND w < 9000", "v > 990000",
              "w = 3000", "v < 100000", "s.k IN (1, 2)", "v > 500000 AND w = 3000", "w > 5000",
              "r.name IS NOT NULL"))]  # fmt: skip
"""Which part of the tuples of a join queries show."""

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
    texts = prepared(con, shape, number)
    if one_by_one:
        return Contestant(number, con, math.nan, waiting=texts)
    began = time.perf_counter()
    for text in texts:
        con.execute(text)
    return Contestant(number, con, (time.perf_counter() - began) / number)


def prepared(con: cqlduck.Connection, shape: str, number: int) -> list[str]:
    """Register what queries read; return the statements that register so many of a shape."""
    con.execute("CREATE STREAM s (k INTEGER, v INTEGER)")
    con.execute("CREATE RELATION r (k INTEGER, w INTEGER, name VARCHAR)")
    con.append("r", [(k, k * 1000, f"name {k}") for k in range(20)])
    is_spread = shape in ("groups", "windows", "levels", "mixed", "sums", "inside")
    step = VALUES // (number + 1) if is_spread else 1
    texts = [
        SHAPES[shape].format(
            n=step * (n + 1),
            w=17 + n % 48,
            item=ITEMS[n % len(ITEMS)],
            call=CALLS[n % len(CALLS)],
            sum=SUMS[n % len(SUMS)],
            condition=CONDITIONS[n % len(CONDITIONS)],
            p=n + 2,
        )
        for n in range(number)
    ]
    return [f"CREATE CONTINUOUS QUERY q{n} AS {text}" for n, text in enumerate(texts)]


def elements(chance: random.Random, rows: int, instant: int) -> pa.Table:
    """Return the elements of a tick."""
    return pa.table(
        {
            "k": pa.array([chance.randrange(20) for _ in range(rows)], pa.int32()),
            "v": pa.array([chance.randrange(VALUES) for _ in range(rows)], pa.int32()),
            "_ts": pa.array([instant] * rows, pa.int64()),
        }
    )


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
        table = elements(chance, rows, instant)
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


OPENED = 5
"""How often a file is opened, and an answer read."""


@dataclass
class File:
    """What a file with so many queries takes.

    Attributes:
        registered: The seconds of the call that registers all.
        ticks: The seconds of each tick.
        size: Its bytes when it is closed.
        opened: The seconds of each opening and closing.
        read: The seconds of each reading of the answer of the query in the middle.
    """

    registered: float
    ticks: list[float] = field(default_factory=list)
    size: int = 0
    opened: list[float] = field(default_factory=list)
    read: list[float] = field(default_factory=list)


def on_disk(shape: str, numbers: Sequence[int], rows: int, ticks: int, folder: Path) -> list[File]:
    """Return what files with so many queries of a shape take; ticks and openings in turn."""
    paths = [folder / f"{shape}_{rows}_{number}.duckdb" for number in numbers]
    cons, files, chance = [], [], random.Random(1)
    for path, number in zip(paths, numbers, strict=True):
        con = cqlduck.connect(path)
        script = "; ".join(prepared(con, shape, number))
        began = time.perf_counter()
        con.execute(script)
        files.append(File(time.perf_counter() - began))
        cons.append(con)
    for instant in range(UNMEASURED + ticks):
        table = elements(chance, rows, instant)
        for con, one in zip(cons, files, strict=True):
            began = time.perf_counter()
            con.tick({"s": table}, instant)
            if instant >= UNMEASURED:
                one.ticks.append(time.perf_counter() - began)
    for con, one, path in zip(cons, files, paths, strict=True):
        con.close()
        one.size = path.stat().st_size
    for _ in range(OPENED):
        for path, number, one in zip(paths, numbers, files, strict=True):
            began = time.perf_counter()
            with cqlduck.connect(path) as con:
                opened = time.perf_counter()
                con.table(f"q{number // 2}").fetchall()
                one.read.append(time.perf_counter() - opened)
                closing = time.perf_counter()
            one.opened.append(time.perf_counter() - closing + opened - began)
    return files


def print_files(shapes: list[str], numbers: list[int], sizes: list[int], ticks: int) -> None:
    """Print the table of files."""
    head = ["shape", "rows", "queries", "registering all", "a tick", "file", "opening", "an answer"]
    print("| " + " | ".join(head) + " |")
    print("|---" * len(head) + "|")
    for shape in shapes:
        for rows in sizes:
            with tempfile.TemporaryDirectory() as folder:
                files = on_disk(shape, numbers, rows, ticks, Path(folder))
            known = [
                (statistics.median(f.ticks), f.size, statistics.median(f.opened),
                 statistics.median(f.read))
                for f in files
            ]  # fmt: skip
            for number, one, mine in zip(numbers, files, known, strict=True):
                cells = [f"{mine[0] * 1e3:.1f} ms", f"{mine[1] / 1e6:.1f} MB",
                         f"{mine[2] * 1e3:.0f} ms", f"{mine[3] * 1e3:.1f} ms"]  # fmt: skip
                if number != numbers[0]:
                    cells = [f"{a / b:.1f}" for a, b in zip(mine, known[0], strict=True)]
                cells = [shape, f"{rows:,}", f"{number:,}", f"{one.registered:.2f} s", *cells]
                print("| " + " | ".join(cells) + " |", flush=True)


def main(
    numbers: Annotated[str, typer.Option(help="How many queries; the first is one.")] = (
        "1,100,1000"
    ),
    rows: Annotated[list[int] | None, typer.Option(help="How many elements a tick has.")] = None,
    ticks: Annotated[int, typer.Option(min=1, help="How many are measured.")] = 20,
    most_alone: Annotated[int, typer.Option(min=1, help="How many that do not share.")] = 50,
    shapes: Annotated[str, typer.Option(help="Which shapes; by default all.")] = ",".join(SHAPES),
    one_by_one: Annotated[bool, typer.Option(help="Register one a tick, then measure.")] = False,
    files: Annotated[bool, typer.Option(help="Measure files: size, opening, reading.")] = False,
) -> None:
    """Print a table."""
    listed = [int(number) for number in numbers.split(",")]
    if files:
        print_files(shapes.split(","), listed, rows or [100], ticks)
        return
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
