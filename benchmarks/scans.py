"""How many rows of tables a tick of TPC-H reads, at two scales of the data.

    python benchmarks/scans.py [--scales 0.1,1] [--rows 100] [--queries q1,q6] [--updates 200]
        [--answer incremental]

Each query is kept up alone, over ticks in which so many rows change, whatever the scale. DuckDB's
profiler says how many rows of tables its statements have scanned, after pruning: state, but for the
rows of the tick. If cost follows the change, there are about as many at a larger scale. With
`--updates` so many ticks run before those that are counted. An index is no table; how many there
are is said.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import tpch_data
from rich.console import Console
from rich.progress import track
from tpch import Anew, KeptUp
from tpch_data import OF_PARTSUPP, Drawer

UNMEASURED = 5
"""How many ticks come before those that are counted."""

CHANGING = {True: ("partsupp",), False: ("orders", "lineitem")}
"""Which tables change, by whether the query is one over partsupp."""


@dataclass(frozen=True)
class Scanned:
    """What ticks of a query have read.

    Attributes:
        intake: Rows a tick on the way of the changes into relations.
        query: Rows a tick in the statements of the query.
        indexes: How many indexes there are.
    """

    intake: float
    query: float
    indexes: int

    @property
    def rows(self) -> float:
        """Both together."""
        return self.intake + self.query


def scanned(
    folder: Path, query: str, scale: float, rows: int, ticks: int, updates: int, answer: str | None
) -> Scanned:
    """Run ticks of a query, and count what they read."""
    tables = tpch_data.generated(folder, scale)
    texts = {query: tpch_data.text(query, scale)}
    # only to draw from
    theirs = Anew(":memory:", tables, {query: "SELECT 1"})
    ours = KeptUp(":memory:", tables, texts, True, answer)
    with theirs.con, ours.con as con:
        names = CHANGING[query in OF_PARTSUPP]
        there = sum(theirs.con.table(name).count("*").fetchall()[0][0] for name in names)
        drawer = Drawer(theirs.con, rows / there)

        def tick() -> None:
            changes = drawer.of(query)
            theirs.tick(changes, query)
            ours.tick(changes, query)

        for _ in range(UNMEASURED + updates):
            tick()
        with con.profile(deep=True) as profile:
            for _ in range(ticks):
                tick()
        both = [0, 0]
        for line in profile.lines():
            if line.level in ("query", "bookkeeping"):
                both[line.level == "query"] += line.scanned or 0
        indexes = con.sql("SELECT count(*) FROM cql.points WHERE point = 'search' "
                          "AND option <> 'scan'").fetchall()[0][0]  # fmt: skip
        return Scanned(both[0] / ticks, both[1] / ticks, indexes)


def main() -> None:
    """Print a table: of each query what ticks read at each scale, and the ratio."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    add = parser.add_argument
    data = Path(tempfile.gettempdir()) / "cqlduck-tpch"
    add("--data", type=Path, default=data, help="(%(default)s)")
    add("--scales", default="0.1,1", help="two of them (%(default)s)")
    add("--rows", type=int, default=100, help="that change in a tick (%(default)s)")
    add("--queries", default=",".join(tpch_data.QUERIES), help="all by default")
    add("--ticks", type=int, default=6, help="that are counted (%(default)s)")
    add("--updates", type=int, default=0, help="ticks before them (%(default)s)")
    add("--answer", help="pins the point answer: incremental or recomputed")
    wanted = parser.parse_args()
    wanted.data.mkdir(parents=True, exist_ok=True)
    low, high = (float(scale) for scale in wanted.scales.split(","))
    print(f"| query | scale {low:g} | scale {high:g} | of these intake | indexes | ratio |")
    print("|---|---:|---:|---:|---:|---:|")
    console, queries = Console(stderr=True), wanted.queries.split(",")
    for query in track(queries, "counting", console=console, disable=not sys.stderr.isatty()):
        small, large = (
            scanned(wanted.data, query, scale, wanted.rows, wanted.ticks, wanted.updates,
                    wanted.answer)
            for scale in (low, high)
        )  # fmt: skip
        print(
            f"| {query} | {small.rows:,.0f} | {large.rows:,.0f} | {large.intake:,.0f} "
            f"| {large.indexes} | {large.rows / small.rows:.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
