"""The figures about caches of Babu's thesis (5.12 to 5.23), drawn again as ratios.

    python benchmarks/thesis_joins.py [--ticks 12] [--rows 500] [--only 5.12,5.22] [--write]

R(A) ⋈ S(A, B) ⋈ T(B), with windows of `SPAN` instants; a tick is an instant. Attributes take the
values of one domain in the same order; each value comes once in R and S and five times in T, whose
rate is five times theirs (section 5.8.3). Caches are pinned. Shown is, as in the relative graphs of
the thesis, how long a tick takes with the cache beside one without: below 1 the cache is faster.

* **5.12**: how often T has each value, and so how often the cache is asked for a key again;
* **5.14**: how many tuples of R ⋈ S match one of T;
* **5.16**: tuples of R and S for one of T, so updates of the cache for a probe;
* **5.18**: joins of n inputs on one attribute, with the caches that A-Caching selects;
* **5.20**: R ⋈ S by a range inside of eight groups, over windows of several lengths;
* **5.21**: the points of table 5.2: M without caches, X the best tree of joins of two, C the best
  caches;
* **5.22**: R comes 20 times as fast from the middle on: two plans that stay, and adaptive;
* **5.23**: point D8 with a partial cache of more and more slots, over the rows that it has, beside
  the best tree of joins of two; and the same where R asks for a few keys of many.

Windows of 5.22 are in rows, as in the thesis, or a burst would fill the window of R.
"""

from __future__ import annotations

import abc
import argparse
import contextlib
import itertools
import statistics
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import caches
import joins
import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.progress import track
from thesis_figures import Curves, Figure, as_table, picture

import cqlduck
from cqlduck.rewrite.plan.segments import caching_of_text
from cqlduck.streamon.points import NONE

SPAN = 20
"""How many instants windows have."""

MULTIPLE = 5
"""How often T has each value, by default."""

BURST = 20
"""How many times as fast R comes in a burst."""

HERE = Path(__file__).parent
INT = pa.int32()


class Arriving(abc.ABC):
    """A workload whose tuples come by ticks."""

    @abc.abstractmethod
    def came(self, tick: int) -> dict[str, pa.Table]:
        """Return the tuples of a tick."""

    def taken(self, tick: int) -> caches.Taken:
        """Return what has a database take the tuples of a tick."""
        came = self.came(tick)
        return lambda con: con.tick(came, to=tick)


@dataclass
class Chain(Arriving):
    """R(A) ⋈ S(A, B) ⋈ T(B).

    Attributes:
        rate: Tuples of R and of S in a tick.
        multiple: How often T has each value, and how many times as fast it comes.
        matching: How many tuples of R ⋈ S one of T matches.
        probes: Tuples of T in a tick; by default `multiple` times the rate.
        windows: The window of each stream.
        condition: How R and S are joined.
        burst_from: From which tick on R comes `BURST` times as fast.
    """

    rate: int
    multiple: int = MULTIPLE
    matching: float = 1
    probes: int | None = None
    windows: tuple[str, ...] = (f"[RANGE {SPAN}]",) * 3
    condition: str = "r.a = s.a"
    burst_from: int | None = None
    _came: dict[str, int] = field(default_factory=lambda: dict.fromkeys("rst", 0))

    inputs = (
        "CREATE STREAM r (a INTEGER, g INTEGER, t INTEGER) TIMESTAMP BY t;"
        "CREATE STREAM s (a INTEGER, b INTEGER, g INTEGER, t INTEGER) TIMESTAMP BY t;"
        "CREATE STREAM t (b INTEGER, t INTEGER) TIMESTAMP BY t;"
    )

    @property
    def query(self) -> str:
        """The query."""
        r, s, t = self.windows
        return (
            "CREATE CONTINUOUS QUERY q AS SELECT count(*) AS n, sum(r.a) AS a, sum(t.b) AS b "
            f"FROM r {r}, s {s}, t {t} "
            f"WHERE {self.condition} AND s.b = t.b"
        )

    def came(self, tick: int) -> dict[str, pa.Table]:
        """Return the tuples of a tick."""
        is_burst = self.burst_from is not None and tick >= self.burst_from
        a = self._next("r", self.rate * (BURST if is_burst else 1), 1)
        key = self._next("s", self.rate, 1)
        # several tuples of S with one B, or values of T that no S has
        b = (key / max(self.matching, 1)).astype(np.int32)
        probes = self.rate * self.multiple if self.probes is None else self.probes
        asked = self._next("t", probes, probes / self.rate * max(self.matching, 1))
        if self.matching < 1:
            missing = np.arange(len(asked)) % round(1 / self.matching) > 0
            asked = np.where(missing, -1 - asked, asked)
        return {
            "r": _table(tick, a=a, g=a % 8),
            "s": _table(tick, a=key, b=b, g=key % 8),
            "t": _table(tick, b=asked),
        }

    def _next(self, name: str, count: int, each: float) -> Any:
        """Return the next values of a stream, that come each so many times in a row."""
        first = self._came[name]
        self._came[name] += count
        return (np.arange(first, first + count) / each).astype(np.int32)


def _table(tick: int, **columns: Any) -> pa.Table:
    size = len(next(iter(columns.values())))
    listed = {name: pa.array(values, INT) for name, values in columns.items()}
    return pa.table({**listed, "t": pa.array(np.full(size, tick), INT)})


@dataclass
class Clique(Arriving):
    """Inputs joined on one attribute, half of which have each value once, the others five times."""

    count: int
    rate: int
    _first: int = 0

    @property
    def names(self) -> list[str]:
        """The streams."""
        return [f"s{at}" for at in range(1, self.count + 1)]

    @property
    def inputs(self) -> str:
        """The statements that make the streams."""
        return "".join(
            f"CREATE STREAM {name} (a INTEGER, t INTEGER) TIMESTAMP BY t;" for name in self.names
        )

    @property
    def query(self) -> str:
        """The query."""
        listed = ", ".join(f"{name} [RANGE {SPAN}]" for name in self.names)
        equal = " AND ".join(f"{x}.a = {y}.a" for x, y in itertools.pairwise(self.names))
        return f"CREATE CONTINUOUS QUERY q AS SELECT count(*) AS n FROM {listed} WHERE {equal}"

    def came(self, tick: int) -> dict[str, pa.Table]:
        """Return the tuples of a tick."""
        values = np.arange(self._first, self._first + self.rate)
        self._first += self.rate
        ones = self.count // 2
        return {
            name: _table(tick, a=values if at < ones else values.repeat(MULTIPLE))
            for at, name in enumerate(self.names)
        }


# -- timed -----------------------------------------------------------------------------------------


def side_by_side(
    work: caches.Workload,
    options: Mapping[str, str | None],
    ticks: int,
    what: str,
    rows: dict[str, float] | None = None,
) -> dict[str, list[float]]:
    """Return what each tick takes with each option, tick by tick in turn.

    Args:
        work: What comes.
        options: The caches of each contestant; None if they are chosen.
        ticks: How many ticks there are.
        what: What is said of the progress.
        rows: Gets how many rows the caches of each have in the end.
    """
    with contextlib.ExitStack() as stack:
        everyone = {who: caches.contestant(stack, work, each) for who, each in options.items()}
        turns = list(everyone.values())
        for tick in track(range(ticks), what, transient=True):
            taken = work.taken(tick)
            for one in turns:
                one.tick(taken)
            turns.append(turns.pop(0))
        answers = {str(sorted(one.con.table("q").fetchall())) for one in turns}
        if len(answers) > 1:
            raise SystemExit(f"{what}: the answers differ")
        if rows is not None:
            rows |= {who: held(one.con) for who, one in everyone.items()}
        return {who: one.seconds for who, one in everyone.items()}


def held(con: cqlduck.Connection) -> float:
    """Return how many rows the caches of a database have."""
    found = con.sql("SELECT coalesce(sum(row_count), 0) FROM cql.caches").fetchall()
    return float(found[0][0])


def ratio(work: caches.Workload, option: str | None, ticks: int, what: str, warm: int = 0) -> float:
    """Return how long a tick takes with caches, beside one without, when windows are full."""
    full = SPAN + warm
    took = side_by_side(work, {NONE: NONE, CACHED: option}, full + ticks, what)
    pairs = zip(took[CACHED][full:], took[NONE][full:], strict=True)
    return statistics.median(mine / none for mine, none in pairs)


CACHED, FIRST = "cache", "1+2"
"""The cache of R ⋈ S."""


def of_chains(given: argparse.Namespace) -> Iterator[Figure]:
    """Yield the figures of three inputs."""
    rate, ticks = given.rows, given.ticks
    several: dict[str, tuple[str, list[tuple[float, Chain]]]] = {
        "5.12": (
            "part of the probes that meet a key again",
            [(1 - 1 / r, Chain(rate, r)) for r in (1, 2, 5, 10)],
        ),
        "5.14": (
            "tuples of R ⋈ S for one of T",
            [(m, Chain(rate, matching=m)) for m in (0.25, 0.5, 1, 2, 4)],
        ),
        "5.16": (
            "tuples of R and S for one of T",
            [(2 * u, Chain(round(u * 5 * rate), probes=5 * rate)) for u in (0.02, 0.1, 0.5, 1, 2)],
        ),
        "5.20": (
            "tuples in a window of R and of S",
            [
                (SPAN * size, Chain(size, probes=5 * rate, condition=NESTED))
                for size in (rate // 20, rate // 10, rate // 5, rate // 2)
            ],
        ),
    }
    for name, (across, points) in several.items():
        if name in given.only:
            curve = [(at, ratio(work, FIRST, ticks, f"{name}: {at:g}")) for at, work in points]
            yield Figure(name, across, TIME, {CACHED: curve}, is_log=name in ("5.16", "5.20"))


NESTED = "r.g = s.g AND r.a >= s.a AND r.a <= s.a"
TIME = "time of a tick, 1 is without caches"


def of_sizes(given: argparse.Namespace) -> Figure:
    """Return the figure of joins of several inputs; its caches are selected."""
    curve = [
        (n, ratio(Clique(n, max(given.rows // 5, 1)), None, given.ticks, f"5.18: {n}", given.warm))
        for n in (3, 4, 5, 6)
    ]
    return Figure("5.18", "inputs", TIME, {ADAPTIVE: curve})


ADAPTIVE = "adaptive"


def is_tree(option: str) -> bool:
    """Return whether caches make joins of two of a join of four."""
    found = [one.segment for one in caching_of_text(option) or ()]
    return len(found) == 2


def of_points(given: argparse.Namespace) -> Figure:
    """Return the figure of the points of table 5.2: the best tree, and the best caches."""
    curves: Curves = {TREE: [], BEST: []}
    for at, point in enumerate(joins.POINTS, start=1):
        took = caches.tried(point, given.rows * 8)
        best = min(took, key=lambda option: took[option])
        tree = min(filter(is_tree, took), key=lambda option: took[option])
        work = caches.workload(point, given.rows * 8)
        options = {NONE: NONE, TREE: tree, BEST: best}
        seconds = side_by_side(work, options, caches.FULL_AFTER + given.ticks, f"5.21: {point}")
        for who, curve in curves.items():
            pairs = zip(seconds[who], seconds[NONE], strict=True)
            ratios = [mine / none for mine, none in pairs][caches.FULL_AFTER :]
            curve.append((at, statistics.median(ratios)))
    return Figure("5.21", "point of table 5.2", TIME, curves)


TREE, BEST = "best tree (X)", "best caches (P, G)"


def of_burst(given: argparse.Namespace) -> Figure:
    """Return the figure of a burst: ticks in terms of those without caches.

    Its name says what adaptive takes in each phase, as a ratio to the better plan that stays.
    """
    half = SPAN + given.phase
    work = Chain(given.rows, burst_from=half)
    work.windows = tuple(f"[ROWS {SPAN * given.rows * each}]" for each in (1, 1, MULTIPLE))
    options = {NONE: NONE, "R+S": "1+2", "S+T": "2+3", ADAPTIVE: None}
    took = side_by_side(work, options, 2 * half, "5.22")
    curves = {}
    for who in list(options)[1:]:
        ratios = [mine / none for mine, none in zip(took[who], took[NONE], strict=True)]
        smooth = [statistics.median(ratios[max(at - 5, 0) : at + 6]) for at in range(len(ratios))]
        curves[who] = [(float(at), value) for at, value in enumerate(smooth) if at >= SPAN]
    phases = [
        {who: sum(seconds[begin : begin + given.phase]) for who, seconds in took.items()}
        for begin in (SPAN, half)
    ]
    better = " and ".join(f"{one.pop(ADAPTIVE) / min(one.values()):.2f}" for one in phases)
    what = f"5.22, R comes {BURST} times as fast from {half} on; adaptive, × the better: {better}"
    return Figure(what, "tick", TIME, curves)


@dataclass
class Hot(Arriving):
    """R [NOW] asks for a few keys of S ⋈ T ⋈ U, in which each has many combinations on the way.

    Args:
        rate: How many tuples of R a tick has.
        keys: How many keys S has.
        asked: For how many of them R asks.
    """

    rate: int
    keys: int
    asked: int
    inputs: str = "".join(
        f"CREATE STREAM {name} (a INTEGER, b INTEGER, t INTEGER) TIMESTAMP BY t;" for name in "rstu"
    )
    query: str = (
        "CREATE CONTINUOUS QUERY q AS SELECT r.a, count(*) AS n FROM r [NOW], s, t, u "
        "WHERE r.a = s.a AND s.b = t.a AND t.b = u.a GROUP BY r.a"
    )
    drawn: Any = field(default_factory=lambda: np.random.default_rng(0))

    def came(self, tick: int) -> dict[str, pa.Table]:
        """Return the tuples of a tick; the first one fills the windows."""
        many = 16 * self.keys
        came = {"r": self._drawn(tick, self.rate, self.asked, 9)}
        if tick == 0:
            came["s"] = self._drawn(tick, many, self.keys, 4 * self.keys)
            came["t"] = self._drawn(tick, many, 4 * self.keys, 1000 * self.keys)
            came["u"] = self._drawn(tick, many // 2, 1000 * self.keys, 9)
        else:
            came["s"] = self._drawn(tick, 10, self.keys, 4 * self.keys)
        return came

    def _drawn(self, tick: int, size: int, *limits: int) -> pa.Table:
        a, b = (pa.array(self.drawn.integers(0, limit, size), INT) for limit in limits)
        return _table(tick, a=a, b=b)


SLOTS = tuple(4**power for power in range(2, 9))
"""The slots of the partial caches of 5.23."""


def of_memory(given: argparse.Namespace) -> Iterator[Figure]:
    """Yield the figures of memory: partial caches of more and more slots."""
    took = caches.tried("D8", given.rows * 8)
    best = min(filter(is_tree, took), key=lambda option: took[option])
    hot = Hot(20 * given.rows, 100 * given.rows, 20 * given.rows)
    for work, tree, first, what in (
        (caches.workload("D8", given.rows * 8), best, "1+2@4", "5.23: D8"),
        (hot, "2+3@1", "2+3@1", f"5.23: R asks for {hot.asked} keys of {hot.keys}"),
    ):
        partial = {f"{first}:{slots}": f"{first}:{slots}" for slots in SLOTS}
        rows: dict[str, float] = {}
        options = {NONE: NONE, TREE: tree, **partial}
        seconds = side_by_side(work, options, SPAN + given.ticks, what, rows)
        median = {
            who: statistics.median(
                mine / none for mine, none in zip(mine[SPAN:], seconds[NONE][SPAN:], strict=True)
            )
            for who, mine in seconds.items()
        }
        curve = sorted((max(rows[who], 1.0), median[who]) for who in partial)
        end = max(rows[TREE], curve[-1][0])
        whole = [(rows[TREE], median[TREE]), (end * 1.5, median[TREE])]
        yield Figure(what, "rows of the caches", TIME, {PARTIAL: curve, TREE: whole}, is_log=True)


PARTIAL = "partial"


# -- what is shown ---------------------------------------------------------------------------------

STYLES = {
    CACHED: "C0o-", ADAPTIVE: "k-", TREE: "C1s-", BEST: "C2^-", "R+S": "C0-", "S+T": "C3-",
    PARTIAL: "C4o-",
}  # fmt: skip

BEGIN, END = "<!-- thesis: caches -->\n", "<!-- end of thesis: caches -->\n"

TEXT = """\
# Figures of the thesis: caches

`python benchmarks/thesis_joins.py {options}--write`

The time of a tick with caches, as a ratio to one without. `thesis_joins.py` says how they are
drawn.

![figures 5.12 to 5.23](thesis_joins.png)

{figures}
"""


def main() -> None:
    """Run, and show."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, default=500, help="tuples of R a tick (default 500)")
    parser.add_argument("--ticks", type=int, default=12, help="ticks of each point (default 12)")
    parser.add_argument("--warm", type=int, default=40, help="ticks to choose (default 40)")
    parser.add_argument("--phase", type=int, default=200, help="ticks of 5.22 (default 200)")
    parser.add_argument("--only", default="5.12,5.14,5.16,5.18,5.20,5.21,5.22,5.23", help="which")
    parser.add_argument("--write", action="store_true", help="write ADAPTIVITY.md and the picture")
    given = parser.parse_args()
    given.only = given.only.split(",")
    console, found = Console(width=200), list[Figure]()
    head = ("figure", "over", "at", *STYLES)
    single = {"5.18": of_sizes, "5.21": of_points, "5.22": of_burst}
    made = (make(given) for name, make in single.items() if name in given.only)
    memory = of_memory(given) if "5.23" in given.only else ()
    for figure in itertools.chain(of_chains(given), made, memory):
        found.append(figure)
        console.print(dict(zip(head, figure.row(list(STYLES)), strict=True)))
    found.sort(key=lambda each: each.name)
    if given.write:
        picture(found, STYLES, HERE / "thesis_joins.png", columns=4)
        options = "".join(f"{word} " for word in sys.argv[1:] if word != "--write")
        rows = [figure.row(list(STYLES)) for figure in found]
        joins.write(TEXT.format(options=options, figures=as_table(head, rows)), BEGIN, END)


if __name__ == "__main__":
    main()
