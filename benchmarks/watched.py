"""Access logs of watched hosts: a costly condition before the lookup, or behind it.

    python benchmarks/watched.py [--ticks 150] [--lines 10000] [--write]

A query counts lines of hosts in a watchlist, `condition AND host IN (SELECT host FROM watchlist)`.
The condition is a classifier in Python, which most lines pass, or a regular expression that half of
them match. The list has 1, 10, 50 or 100 % of the hosts. The same lines go to each contestant, tick
by tick in turn:

* **adaptive**: as cqlduck runs by default, from its first tick on;
* **before**: the condition is tested first, as DuckDB does by itself;
* **behind**: the condition is tested of what has met the list.

All answers are compared. Shown are ratios of the total times of ticks, intake included.
"""

from __future__ import annotations

import argparse
import contextlib
import random
from collections.abc import Sequence
from dataclasses import dataclass

import filters
import joins
import logs
import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.progress import track

import cqlduck
from cqlduck.streamon.points import WRITTEN

CONDITIONS = {
    "a Python classifier": "is_person(line)",
    "a regular expression": "line ~ '(Android|iPhone|iPad)[^\"]*\"'",
}
HOSTS = 1000
WATCHED = (10, 100, 500, 1000)
"""How many hosts are watched."""

BEHIND = "2 1"


def contestant(
    stack: contextlib.ExitStack, condition: str, watched: int, order: str | None = None
) -> filters.Contestant:
    """Return a fresh database in memory, perhaps with an order that is forced."""
    con = stack.enter_context(cqlduck.connect(threads=2))
    con.create_function(
        "is_person", logs.is_person, ["VARCHAR"], "BOOLEAN", exception_handling="return_null"
    )
    con.execute(
        "CREATE STREAM log (host INTEGER, line VARCHAR, t INTEGER) TIMESTAMP BY t;"
        "CREATE RELATION watchlist (host INTEGER PRIMARY KEY);"
        "CREATE CONTINUOUS QUERY q AS SELECT host, count(*) AS n FROM log "
        f"WHERE {condition} AND host IN (SELECT host FROM watchlist) GROUP BY host"
    )
    con.append("watchlist", [(host,) for host in range(watched)], at=0)
    made = filters.Contestant(con)
    if order is not None:
        made.want(order)
    return made


@dataclass(frozen=True)
class Row:
    """What a condition and a watchlist gave.

    Attributes:
        condition: The condition, in words.
        watched: Which part of the hosts is watched.
        adaptive: The seconds of adaptive.
        before: Those with the condition first.
        behind: Those with the lookup first.
    """

    condition: str
    watched: float
    adaptive: float
    before: float
    behind: float

    @property
    def cells(self) -> list[str]:
        """The row of the table."""
        best = min(self.before, self.behind)
        ratios = self.before / self.behind, self.before / self.adaptive, self.adaptive / best
        return [self.condition, f"{self.watched:.0%}", *(f"{ratio:.2f}" for ratio in ratios)]


HEAD = ["condition", "watched", "before, × behind", "before, × adaptive", "adaptive, × the better"]


def run(name: str, watched: int, ticks: int, size: int) -> Row:
    """Run all contestants in turn; return what they took.

    Args:
        name: The condition, in words.
        watched: How many hosts are watched.
        ticks: How many ticks there are.
        size: How many lines a tick has.
    """
    drawn = random.Random(0)
    pool = logs.lines("day", 4 * size, drawn)
    hosts = np.random.default_rng(0)
    with contextlib.ExitStack() as stack:
        everyone = {
            option: contestant(stack, CONDITIONS[name], watched, order)
            for option, order in (("adaptive", None), ("before", WRITTEN), ("behind", BEHIND))
        }
        turns = [*everyone.values()]
        for tick in track(range(1, ticks + 1), f"{name}, {watched} hosts", transient=True):
            start = drawn.randint(0, len(pool) - size)
            batch = pa.table(
                {
                    "host": pa.array(hosts.integers(0, HOSTS, size), pa.int32()),
                    "line": pool.slice(start, size),
                    "t": pa.array([tick] * size, pa.int32()),
                }
            )
            for place in range(len(turns)):
                turns[(tick + place) % len(turns)].tick(batch, tick)
        answers = {tuple(sorted(one.con.table("q").fetchall())) for one in turns}
        if len(answers) > 1:
            raise SystemExit(f"the answers differ: {name}, {watched} hosts")
        took = {option: one.seconds for option, one in everyone.items()}
        return Row(name, watched / HOSTS, **took)


BEGIN, END = "<!-- watched -->\n", "<!-- end of watched -->\n"


def table(rows: Sequence[Row]) -> str:
    """Return rows as Markdown."""
    lines = [HEAD, ["---", *["---:"] * (len(HEAD) - 1)], *(row.cells for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def main() -> None:
    """Run, and show."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--ticks", type=int, default=150, help="ticks of each run (default 150)")
    parser.add_argument("--lines", type=int, default=10_000, help="lines a tick (default 10,000)")
    parser.add_argument("--write", action="store_true", help="write a section of ADAPTIVITY.md")
    given = parser.parse_args()
    rows = [run(name, n, given.ticks, given.lines) for name in CONDITIONS for n in WATCHED]
    Console().print(table(rows), markup=False)
    if given.write:
        joins.write(
            "# Access logs of watched hosts\n\n"
            f"`python benchmarks/watched.py --ticks {given.ticks} --lines {given.lines} --write`"
            "\n\nA costly condition before a lookup in a watchlist, or behind it, by the part of "
            "the hosts that is watched. `watched.py` says what is compared.\n\n" + table(rows),
            BEGIN,
            END,
        )


if __name__ == "__main__":
    main()
