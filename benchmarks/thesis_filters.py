"""The figures about filters of Babu's thesis (4.11 to 4.24), drawn again as ratios.

    python benchmarks/thesis_filters.py [--lines 5000] [--ticks 15] [--draws 10] [--write]

Filters stand in groups of Γ that treat 80 % of the tuples alike (section 4.7.2). An order is what
counts, so the figures are **replayed** on the drop masks of tuples, with the algorithms of the
engine, and with probes as it has them (`drop_masks.py`). An algorithm is fed with probes until its
order settles (4.11 to 4.17), or while selectivities change places (4.19 to 4.24). Shown is what its
order costs for a tuple beside the best one.

For three points the orders are also **timed**: they run in the engine, pinned, tick by tick in
turn, as regular expressions over the same log lines; the dearer ones read longer texts.

Table 4.2 and figures 4.15, 4.16, 4.18 are about the overhead of profiling, which a budget bounds
here: which part of the time measuring took is shown, and how many ticks lay between probes.
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import filters as mixes
import joins
import numpy as np
import pyarrow as pa
from drop_masks import (
    SAMPLED,
    Filters,
    Phase,
    Replay,
    adapting,
    phase_of,
    settled,
    staying,
)
from rich.console import Console
from rich.progress import track
from thesis_figures import Curves, Figure, as_table, picture

import cqlduck
from cqlduck.rewrite.plan.orders import FILTERS, order_name
from cqlduck.streamon.modelled import Modelled
from cqlduck.streamon.points import A_GREEDY, INDEPENDENT, LOCAL_SWAPS, OPTIMUM, ORDERING, SWEEP

ALGORITHMS = (OPTIMUM, A_GREEDY, SWEEP, LOCAL_SWAPS, INDEPENDENT)
NAMES = ("auth", "user", "path", "code", "time", "host", "size", "type", "lang", "zone")
"""The field of the line that each filter is about."""

SPREAD = (0.1, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
"""What eight filters pass where their selectivities change places."""

LENGTH = 3
"""A filter that costs 2 reads so many user agents more than one that costs 1."""

BEFORE, PROBES = 4, 40
"""How many probes are shown before a change, and after it."""

PHASES, PERIODS, SHORT, LONG = 10, (1, 2, 5, 10, 25, 100), 5, 50
"""How many changes there are, and how many probes lie between two of them."""

STAYS = "best that stays"
STYLES = {
    OPTIMUM: "k-", A_GREEDY: "C0o-", SWEEP: "C1s-", LOCAL_SWAPS: "C2^-", INDEPENDENT: "C3v--",
    STAYS: "C7:",
}  # fmt: skip

HERE = Path(__file__).parent


def drawn_batch(filters: Filters, count: int, tick: int, drawn: np.random.Generator) -> pa.Table:
    """Draw the tuples of a tick: lines on which filters do what their masks say."""
    masks, size = filters.masks(count, drawn), len(filters.passing)
    wrong = drawn.integers(1, 10, (count, size))
    middle = drawn.integers(100, 1000, (count, size))
    made = []
    for mask, last, digits in zip(masks.tolist(), wrong.tolist(), middle.tolist(), strict=True):
        fields = (
            f"{NAMES[at]}=a{digits[at]}{last[at] if mask >> at & 1 else 0} " for at in range(size)
        )
        made.append(f"GET {mixes.AGENT} {''.join(fields)}end")
    longer = f"{mixes.AGENT} " * LENGTH * round(max(filters.costs) - 1)
    return pa.table(
        {
            "n": pa.array(range(count), pa.int32()),
            "line": pa.array(made),
            "text": pa.array([longer + line for line in made]),
            "t": pa.array([tick] * count, pa.int32()),
        }
    )


def opened(stack: contextlib.ExitStack, filters: Filters) -> cqlduck.Connection:
    """Return a fresh database in memory with a query of filters; the dear ones read long texts."""
    con = stack.enter_context(cqlduck.connect(threads=2))
    con.execute(
        "CREATE STREAM log (n INTEGER, line VARCHAR, text VARCHAR, t INTEGER) TIMESTAMP BY t"
    )
    conditions = [mixes.filter_of(NAMES[at]) for at in range(len(filters.passing))]
    dear = [at for at, cost in enumerate(filters.costs) if cost > 1]
    for at in dear:
        conditions[at] = conditions[at].replace("line", "text", 1)
    con.execute(f"CREATE CONTINUOUS QUERY q AS SELECT n FROM log WHERE {' AND '.join(conditions)}")
    return con


class Engines:
    """Databases with the same filters, each of which runs the order of one algorithm.

    Args:
        stack: What closes them.
        filters: The filters.
    """

    def __init__(self, stack: contextlib.ExitStack, filters: Filters) -> None:
        """Make them."""
        self.filters, self.now = filters, 0
        self.all = {one: mixes.Contestant(opened(stack, filters)) for one in ALGORITHMS}

    def run(self, given: argparse.Namespace, seed: int) -> dict[str, float]:
        """Return what a tick takes with each algorithm, in seconds, of each the median."""
        drawn = np.random.default_rng(seed)
        for algorithm, one in self.all.items():
            one.want(order_name(settled(algorithm, self.filters, drawn)))
        took: dict[str, list[float]] = {algorithm: [] for algorithm in ALGORITHMS}
        turns = list(self.all.items())
        for _ in range(given.ticks + 1):
            batch = drawn_batch(self.filters, given.lines, self.now, drawn)
            for algorithm, one in turns:
                one.seconds = 0.0
                one.tick(batch, self.now)
                took[algorithm].append(one.seconds)
            self.now += 1
            turns.append(turns.pop(0))
        return {algorithm: statistics.median(each[1:]) for algorithm, each in took.items()}


def timed(filters: Filters, given: argparse.Namespace, what: str) -> dict[str, float]:
    """Return by algorithm how fast a tick is beside one with the best order."""
    with contextlib.ExitStack() as stack:
        engines = Engines(stack, filters)
        runs = [engines.run(given, seed) for seed in track(range(3), what, transient=True)]
    return {name: statistics.median(r[OPTIMUM] / r[name] for r in runs) for name in ALGORITHMS}


def converged(points: Sequence[tuple[float, Filters]], draws: int, what: str) -> Curves:
    """Return by algorithm what the order costs at which it arrives, over the points of a figure."""
    found: Curves = {algorithm: [] for algorithm in ALGORITHMS}
    for place, filters in track(points, what, transient=True):
        sums = dict.fromkeys(ALGORITHMS, 0.0)
        for seed in range(draws):
            drawn = np.random.default_rng(seed)
            phase = phase_of(filters, drawn)
            for algorithm in ALGORITHMS:
                sums[algorithm] += phase.cost(settled(algorithm, filters, drawn)) / draws
        for algorithm, curve in found.items():
            curve.append((place, sums[algorithm]))
    return found


def alike(count: int, passing: float = 0.5, gamma: int = 2) -> Filters:
    """Return filters of one selectivity and one cost."""
    return Filters([passing] * count, gamma)


def uneven(cost: float) -> Filters:
    """Return eight filters, every second of which costs so many times as much."""
    return Filters([0.5] * 8, 2, [1.0, cost] * 4)


# -- replayed --------------------------------------------------------------------------------------


def permuted(drawn: np.random.Generator, costs: Sequence[float] = ()) -> Phase:
    """Return a phase of eight filters whose selectivities have changed places."""
    return phase_of(Filters(drawn.permutation(SPREAD).tolist(), 4, costs), drawn)


def reactions(probes: int, draws: int) -> Curves:
    """Return by algorithm what its order costs, beside the best one, from a change on."""
    found: Curves = {}
    for algorithm in ALGORITHMS:
        costs = np.zeros(probes + BEFORE)
        for seed in range(draws):
            drawn = np.random.default_rng(seed)
            before, after = permuted(drawn), permuted(drawn)
            one = Replay(algorithm, settled(algorithm, before.filters, drawn))
            for at in range(len(costs)):
                phase = before if at < BEFORE else after
                costs[at] += phase.cost(one.order) / draws
                one.probe(phase.filters, phase.filters.masks(SAMPLED, drawn))
        found[algorithm] = [(at - BEFORE, cost) for at, cost in enumerate(costs.tolist())]
    return found


def changing(periods: Sequence[int], cost: float, draws: int) -> Curves:
    """Return by algorithm what it costs beside switching at once, by probes in a phase."""
    found: Curves = {name: [] for name in (*ALGORITHMS, STAYS)}
    for period in track(periods, f"figure 4.22, costs of 1 and {cost:g}", transient=True):
        sums = dict.fromkeys(found, 0.0)
        for seed in range(draws):
            drawn = np.random.default_rng(seed)
            phases = [permuted(drawn, [1.0, cost] * 4) for _ in range(PHASES)]
            sums[STAYS] += staying(phases) / draws
            for algorithm in ALGORITHMS:
                sums[algorithm] += adapting(algorithm, phases, period, drawn) / draws
        for name, curve in found.items():
            curve.append((period, sums[name]))
    return found


# -- overhead --------------------------------------------------------------------------------------


def overhead(count: int, cost: float, given: argparse.Namespace) -> dict[str, tuple[float, float]]:
    """Return by algorithm which part of the time measuring takes, and the ticks between probes."""
    found = {}
    filters = Filters([0.5] * count, 2, [1.0 if at % 2 == 0 else cost for at in range(count)])
    drawn = np.random.default_rng(0)
    pool = [drawn_batch(filters, given.lines, 0, drawn) for _ in range(4)]
    for algorithm in track(ALGORITHMS, f"overhead of {count} filters", transient=True):
        with contextlib.ExitStack() as stack:
            con = opened(stack, filters)
            con.pin(ORDERING, algorithm)
            for tick in range(given.overhead):
                times = pa.array([tick] * given.lines, pa.int32())
                batch = pool[tick % 4].set_column(3, "t", times)
                con.tick({"log": batch}, to=tick)
            streamon = con.engine.streamon
            (point,) = (p for p in streamon.executor.kept.choices if p.name == FILTERS)
            policy = streamon.reoptimizer.policy(point)
            assert isinstance(policy, Modelled)
            spent = streamon.budget.counting + streamon.budget.looking
            found[algorithm] = (
                spent / streamon.budget.ticks,
                given.overhead / max(policy.probes, 1),
            )
    return found


# -- what is shown ---------------------------------------------------------------------------------


COST = "cost, 1 is the best order"


def figures(given: argparse.Namespace) -> Iterator[Figure]:
    """Yield all figures, one after the other."""
    for name, across, points in (
        ("4.11", "filters", [(n, alike(n)) for n in (2, 4, 6, 8, 10)]),
        ("4.12, 6 filters", "selectivity", [(s, alike(6, s)) for s in (0.1, 0.3, 0.5, 0.7, 0.9)]),
        ("4.13, 3 filters", "Γ", [(gamma, alike(3, gamma=gamma)) for gamma in (1, 2, 3)]),
        ("4.14, 8 filters", "Γ", [(gamma, alike(8, gamma=gamma)) for gamma in (1, 2, 4, 6, 8)]),
        ("4.17, 8 filters", "cost of every second", [(c, uneven(c)) for c in (1, 3, 10, 30)]),
    ):
        yield Figure(name, across, COST, converged(points, given.draws, f"figure {name}"))
    yield Figure("4.19-4.21", "probes since the change", COST, reactions(PROBES, given.draws))
    periods = changing(PERIODS, 10, given.draws)
    yield Figure("4.22, costs of 1 and 10", "probes in a phase", COST, periods, is_log=True)
    for name, period in (("4.23", SHORT), ("4.24", LONG)):
        curves: Curves = {algorithm: [] for algorithm in (*ALGORITHMS, STAYS)}
        for cost in (1, 10, 100):
            for algorithm, curve in changing((period,), cost, given.draws).items():
                curves[algorithm].append((cost, curve[0][1]))
        yield Figure(
            f"{name}, phases of {period} probes", "cost of every second", COST, curves, is_log=True
        )


BEGIN, END = "<!-- thesis: filters -->\n", "<!-- end of thesis: filters -->\n"

TEXT = """\
# Figures of the thesis: filters

`python benchmarks/thesis_filters.py {options}--write`

What each algorithm makes of filters, as ratios to the best order. `thesis_filters.py` says how they
are drawn.

![figures 4.11 to 4.24](thesis_filters.png)

{figures}

Timed in the engine: the speed of a tick, 1 is the best order, medians in ticks of {lines:,} lines.

{speeds}

Profiling under the budget, in ticks of {lines:,} tuples:

{overhead}
"""


def main() -> None:
    """Run, and show."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--lines", type=int, default=5000, help="lines a tick (default 5,000)")
    parser.add_argument("--ticks", type=int, default=15, help="ticks of what is timed (default 15)")
    parser.add_argument("--draws", type=int, default=10, help="data of each point (default 10)")
    parser.add_argument("--overhead", type=int, default=150, help="ticks of overhead (default 150)")
    parser.add_argument("--write", action="store_true", help="write ADAPTIVITY.md and the picture")
    given = parser.parse_args()
    console, found = Console(width=200), []
    head = ("figure", "over", "at", *STYLES)
    for figure in figures(given):
        found.append(figure)
        console.print(dict(zip(head, figure.row(list(STYLES)), strict=True)))
    speeds = []
    for what, filters in (
        ("8 filters, Γ = 2", alike(8)),
        ("8 filters, Γ = 4", alike(8, gamma=4)),
        ("8 filters, Γ = 2, every second costs 10", uneven(10)),
    ):
        ratios = timed(filters, given, what)
        speeds.append((what, *(f"{ratios[name]:.2f}" for name in ALGORITHMS)))
        console.print(*speeds[-1])
    spent = []
    for count, cost in ((3, 1), (8, 1), (8, 10)):
        for algorithm, (part, interval) in overhead(count, cost, given).items():
            cells = f"{count}", f"1, {cost}", algorithm, f"{100 * part:.1f} %", f"{interval:.0f}"
            spent.append(cells)
            console.print(*cells)
    if given.write:
        picture(found, STYLES, HERE / "thesis_filters.png")
        names = "filters", "costs", "algorithm", "measuring", "ticks between probes"
        options = "".join(f"{word} " for word in sys.argv[1:] if word != "--write")
        text = TEXT.format(
            options=options,
            figures=as_table(head, [figure.row(list(STYLES)) for figure in found]),
            speeds=as_table(("filters", *ALGORITHMS), speeds),
            overhead=as_table(names, spent),
            lines=given.lines,
        )
        joins.write(text, BEGIN, END)


if __name__ == "__main__":
    main()
