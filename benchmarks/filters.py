"""Filters over log lines whose mix changes: adaptive order beside fixed ones and an oracle.

    python benchmarks/filters.py [--ticks 400] [--periods 2,10,50] [--lines 10000] [--costly]
        [--write]

Five regular expressions of equal cost test a log line, or five functions of Python that match one
each (`--costly`): with the former filters are half of a tick. In each phase one of them drops most
lines, and which one is moves on when the phase ends, after so many ticks (figures 4.19 to 4.24 of
Babu's thesis, where selectivities are permuted). The same lines go to each contestant, tick by tick
in turn:

* **adaptive**: as cqlduck runs by default;
* **oracle**: the best order of each phase, forced when the phase begins;
* **fixed**: each of the five orders that is best in one phase; the fastest of all counts.

All answers are compared. Shown are ratios of total times, and how many ticks lie between probes.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import joins
import pyarrow as pa
from rich.console import Console
from rich.progress import track
from rich.table import Table

import cqlduck
from cqlduck.rewrite.plan.orders import FILTERS, order_name
from cqlduck.streamon.modelled import Modelled

FIELDS = ("auth", "user", "path", "code", "time")
PASSING = (0.02, 0.5, 0.9, 0.9, 0.98)
"""Which part of the lines passes each filter, in the first phase; then they move on by one."""

AGENT = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"

HERE = Path(__file__).parent


def filter_of(name: str) -> str:
    """Return a condition on the field of a line that has a number: it ends in 0 where it passes."""
    return f"line ~ '[^a-z]{name}=([a-f]+|[0-9]+)+0[ ;]'"


def function_of(name: str) -> Callable[[str], bool]:
    """Return the same condition as a function of Python."""
    pattern = re.compile(f"[^a-z]{name}=([a-f]+|[0-9]+)+0[ ;]")
    return lambda line: pattern.search(line) is not None


def lines(phase: int, count: int, drawn: random.Random) -> pa.Array:
    """Return log lines of a phase."""
    passing = [PASSING[(place - phase) % len(PASSING)] for place in range(len(FIELDS))]
    made = []
    for number in range(count):
        parts = []
        for name, part in zip(FIELDS, passing, strict=True):
            last = 0 if drawn.random() < part else drawn.randint(1, 9)
            parts.append(f"{name}={drawn.choice('abcdef')}{drawn.randint(100, 999)}{last} ")
        made.append(f"host{number % 50} GET {AGENT} {''.join(parts)}end")
    return pa.array(made)


def best_order(phase: int) -> str:
    """Return the order of a phase that tests first what drops most."""
    passing = [PASSING[(place - phase) % len(PASSING)] for place in range(len(FIELDS))]
    return order_name(tuple(sorted(range(len(FIELDS)), key=lambda at: (passing[at], at))))


@dataclass
class Contestant:
    """A database with the query.

    Attributes:
        con: The connection.
        seconds: What its ticks took, all together.
        found: How many lines passed.
    """

    con: cqlduck.Connection
    seconds: float = 0.0
    found: int = 0
    wanted: str | None = field(default=None)

    def want(self, order: str) -> None:
        """Have an order run from the next tick on."""
        if order != self.wanted:
            with self.con.engine.changing():
                self.con.engine.streamon.pin(FILTERS, order, "q")
            self.wanted = order

    def tick(self, batch: pa.Table, to: int) -> None:
        """Take lines, and count those that pass."""
        started = time.perf_counter()
        self.con.tick({"log": batch}, to=to)
        self.seconds += time.perf_counter() - started


def contestant(
    stack: contextlib.ExitStack, order: str | None = None, *, costly: bool = False
) -> Contestant:
    """Return a fresh database in memory, perhaps with an order that is forced."""
    con = stack.enter_context(cqlduck.connect(threads=2))
    con.execute("CREATE STREAM log (n INTEGER, line VARCHAR, t INTEGER) TIMESTAMP BY t")
    conditions = [filter_of(name) for name in FIELDS]
    if costly:
        conditions = [f"has_{name}(line)" for name in FIELDS]
        for name in FIELDS:
            con.create_function(
                f"has_{name}", function_of(name), ["VARCHAR"], "BOOLEAN",
                exception_handling="return_null",
            )  # fmt: skip
    con.execute(f"CREATE CONTINUOUS QUERY q AS SELECT n FROM log WHERE {' AND '.join(conditions)}")
    made = Contestant(con)
    if order is not None:
        made.want(order)
    return made


@dataclass(frozen=True)
class Row:
    """What a period gave.

    Attributes:
        period: Ticks of a phase.
        interval: Ticks between probes.
        to_oracle: Time of adaptive over that of the oracle.
        to_fixed: Time of the best fixed order over that of adaptive.
        to_worst: Time of the worst fixed order over that of adaptive.
        changes: How often the order was changed.
    """

    period: int
    interval: float
    to_oracle: float
    to_fixed: float
    to_worst: float
    changes: int


def run(
    period: int, ticks: int, pools: Sequence[pa.Array], size: int, *, costly: bool = False
) -> Row:
    """Run all contestants in turn; return how they compare.

    Args:
        period: Ticks of a phase.
        ticks: How many ticks there are.
        pools: Lines of each phase, of which ticks take slices.
        size: How many lines a tick has.
        costly: Whether filters are functions of Python.
    """
    drawn = random.Random(period)
    with contextlib.ExitStack() as stack:
        adaptive, oracle = (contestant(stack, costly=costly) for _ in range(2))
        orders = map(best_order, range(len(FIELDS)))
        fixed = [contestant(stack, order, costly=costly) for order in orders]
        everyone = [adaptive, oracle, *fixed]
        for tick in track(range(ticks), f"phases of {period} ticks", transient=True):
            phase = tick // period % len(FIELDS)
            oracle.want(best_order(phase))
            start = drawn.randint(0, len(pools[phase]) - size)
            batch = pa.table(
                {
                    "n": pa.array(range(size), pa.int32()),
                    "line": pools[phase].slice(start, size),
                    "t": pa.array([tick] * size, pa.int32()),
                }
            )
            order = everyone[tick % len(everyone) :] + everyone[: tick % len(everyone)]
            for one in order:
                one.tick(batch, tick)
        answers = {len(one.con.changes("q")) for one in everyone}
        if len(answers) > 1:
            raise SystemExit(f"the answers differ: {answers}")
        streamon = adaptive.con.engine.streamon
        (point,) = (p for p in streamon.executor.kept.choices if p.name == FILTERS)
        policy = streamon.reoptimizer.policy(point)
        probes = policy.probes if isinstance(policy, Modelled) else 0
        changes = adaptive.con.sql("SELECT count(*) FROM cql.plan_log WHERE point = 'filters'")
        return Row(
            period,
            ticks / max(probes, 1),
            adaptive.seconds / oracle.seconds,
            min(one.seconds for one in fixed) / adaptive.seconds,
            max(one.seconds for one in fixed) / adaptive.seconds,
            int(changes.fetchall()[0][0]),
        )


def table(rows: Sequence[Row]) -> list[tuple[str, ...]]:
    """Return the rows as text."""
    return [
        (
            str(row.period), f"{row.interval:.0f}", f"{row.period / row.interval:.1f}",
            f"{row.to_oracle:.2f}", f"{row.to_fixed:.2f}", f"{row.to_worst:.2f}", str(row.changes),
        )
        for row in rows
    ]  # fmt: skip


HEAD = (
    "ticks a phase", "ticks between probes", "phase in probes", "time, × oracle",
    "best fixed order, × adaptive", "worst fixed order, × adaptive", "changes",
)  # fmt: skip


def draw(rows: Sequence[Row], path: Path) -> None:
    """Draw the ratios over the period."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4))
    periods = [row.period / row.interval for row in rows]
    axes.plot(periods, [1 / row.to_oracle for row in rows], "o-", label="adaptive")
    axes.plot(
        periods,
        [1 / (row.to_oracle * row.to_fixed) for row in rows],
        "s--",
        label="best fixed order",
    )
    axes.plot(
        periods,
        [1 / (row.to_oracle * row.to_worst) for row in rows],
        "^:",
        label="worst fixed order",
    )
    axes.axhline(1, color="grey", linewidth=0.8)
    axes.set_xscale("log")
    axes.set_ylim(0, 1.1)
    axes.set_xlabel("length of a phase, in intervals between probes")
    axes.set_ylabel("speed, 1 is an oracle that switches at once")
    axes.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def main() -> None:
    """Run, and show."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--ticks", type=int, default=400, help="ticks of each run (default 400)")
    parser.add_argument("--phases", type=int, default=1, help="phases of each run at least (1)")
    parser.add_argument("--periods", default="2,10,50,200", help="ticks of a phase")
    parser.add_argument("--lines", type=int, default=10_000, help="lines a tick (default 10,000)")
    parser.add_argument("--costly", action="store_true", help="filters are functions of Python")
    parser.add_argument("--write", action="store_true", help="write ADAPTIVITY.md and the picture")
    given = parser.parse_args()
    console = Console()
    drawn = random.Random(0)
    pools = [lines(phase, 4 * given.lines, drawn) for phase in range(len(FIELDS))]
    rows = []
    for period in map(int, given.periods.split(",")):
        ticks = max(given.ticks, given.phases * period)
        rows.append(run(period, ticks, pools, given.lines, costly=given.costly))
        console.print(dict(zip(HEAD, table(rows)[-1], strict=True)))
    shown = Table(*HEAD)
    for row in table(rows):
        shown.add_row(*row)
    console.print(shown)
    if given.write:
        name = "costly_filters" if given.costly else "filters"
        what = "functions of Python" if given.costly else "regular expressions"
        draw(rows, HERE / f"{name}.png")
        body = ["| " + " | ".join(row) + " |" for row in (HEAD, ["---:"] * len(HEAD), *table(rows))]
        joins.write(
            f"# The order of {'costly ' if given.costly else ''}filters while the mix changes\n\n"
            f"`python benchmarks/filters.py --ticks {given.ticks} --phases {given.phases} "
            f"--periods {given.periods} --lines {given.lines}{' --costly' * given.costly} "
            "--write`\n\n"
            f"Five {what} of equal cost over log lines; which of them drops most moves "
            "on at the end of each phase. `filters.py` says what is compared.\n\n"
            + "\n".join(body)
            + f"\n\n![speed over the length of a phase]({name}.png)\n",
            f"<!-- {name} -->\n",
            f"<!-- end of {name} -->\n",
        )


if __name__ == "__main__":
    main()
