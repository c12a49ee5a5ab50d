"""What a query with a long history costs the others while it comes up to them.

    python benchmarks/backfill.py [--elements 2000000] [--rows 100]

A stream has so many elements stored, and a query over it is kept up tick by tick. Then one is
registered `WITH (history = true)`. Shown is how long the first one waits for its answer until the
new one is level: where that runs in slices between its ticks, and where all run in common ticks,
which is what the engine does if no query is told apart. A batch that comes while a slice runs waits
for that, too.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass, field
from typing import Annotated, Any

import pyarrow as pa
import pyarrow.compute as pc
import typer

import cqlduck

GROUPS = 1_000
PER_INSTANT = 100
LIVE = "SELECT k, count(*) AS n FROM s [RANGE 60] GROUP BY k"
NEW = "SELECT k, count(*) AS n, avg(v) AS v FROM s [RANGE 60] GROUP BY k"
HOLDS = "SELECT a.k FROM s a, s b WHERE a.v = b.v"
"""All of s is kept for it; it stands still, so that it costs nothing."""


@dataclass
class Run:
    """How one database went.

    Attributes:
        waits: The seconds from a batch to the live query's answer.
        slices: The seconds of each slice.
        seconds: How long it took until the new query was level.
        answer: The answer of the new query in the end.
    """

    waits: list[float] = field(default_factory=list)
    slices: list[float] = field(default_factory=list)
    seconds: float = 0.0
    answer: list[Any] = field(default_factory=list)


def elements(first: int, count: int) -> pa.Table:
    """Return elements of s, from a number on."""
    numbers = pa.array(range(first, first + count), pa.int64())
    groups = pc.subtract(numbers, pc.multiply(pc.divide(numbers, GROUPS), GROUPS))
    return pa.table({"k": groups, "v": numbers, "_ts": pc.divide(numbers, PER_INSTANT)})


def run(stored: int, rows: int, *, is_apart: bool) -> Run:
    """Run the queries over a database of their own."""
    found, ran = Run(), 0.0
    with cqlduck.connect(sharing=False) as con:
        engine = con.engine
        if not is_apart:
            engine.backfill.begin = lambda query: None  # type: ignore[method-assign]
        con.execute("CREATE STREAM s (k BIGINT, v BIGINT)")
        con.execute(f"CREATE CONTINUOUS QUERY holds AS {HOLDS}")
        con.execute("ALTER CONTINUOUS QUERY holds DEACTIVATE")
        con.execute(f"CREATE CONTINUOUS QUERY live AS {LIVE}")
        con.append("s", elements(0, stored))
        con.advance()
        con.execute(f"CREATE CONTINUOUS QUERY new WITH (history = true) AS {NEW}")
        reached: list[float] = []

        def told(_: object) -> None:
            if engine.query("live").frontier == engine.input("s").heartbeat and not reached:
                reached.append(time.perf_counter())

        engine.on_tick.append(told)
        begun, taken = time.perf_counter(), stored
        while not found.waits or engine.has_backfill():
            con.append("s", elements(taken, rows))
            taken += rows
            reached.clear()
            started = time.perf_counter()
            con.follow(slices=1)
            ran = time.perf_counter()
            found.waits.append(reached[0] - started)
            found.slices.append(ran - reached[0])
        found.seconds = ran - begun
        con.advance()
        found.answer = sorted(con.table("new").fetchall())
    return found


def main(
    stored: Annotated[
        int, typer.Option("--elements", help="Elements that are stored.")
    ] = 2_000_000,
    rows: Annotated[int, typer.Option(help="Elements of a batch.")] = 100,
) -> None:
    """Print how long the live query waits, apart and in common ticks."""
    apart, common = (run(stored, rows, is_apart=is_apart) for is_apart in (True, False))
    print(f"{stored:,} elements of history, batches of {rows}")
    for name, one in (("slices", apart), ("common ticks", common)):
        print(
            f"{name:13} the answer waits {1e3 * statistics.median(one.waits):8.1f} ms in the "
            f"median, {1e3 * max(one.waits):8.1f} at most; slices take "
            f"{1e3 * statistics.median(one.slices):8.1f} ms; level after {one.seconds:6.2f} s"
        )
    print(f"at most {max(common.waits) / max(apart.waits):.0f} times longer in common ticks")


if __name__ == "__main__":
    typer.run(main)
