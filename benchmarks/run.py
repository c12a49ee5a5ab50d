"""The benchmarks: `python benchmarks/run.py --help`.

Exits with 1 if a result differs from DuckDB's batch answer.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import invariants
import nexmark
import report
import windows
from data import dataset
from latency import Latency, latency
from measure import Result, measure
from workload import Workload

HERE = Path(__file__).parent
WORKLOADS = (*windows.WORKLOADS, *nexmark.WORKLOADS)
TICKED = ("a", "d", "e", "q4", "q5", "q7", "q15", "q18", "q20")
"""The workloads whose ticks are measured one by one."""

PARTS = ("invariants", "queries", "ticks")

TICKS = {10_000: 30, 100: 60}
SMOKE_SIZES = {"windows": [10_000, 70_000], "nexmark": [250_000]}
"""More than the longest window, and no whole number of batches."""

SMOKE_TICKS = {1_000: 3, 100: 3}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--sizes", default="100000,1000000", help="events, separated by commas (%(default)s)")
    add("--only", default="", help="names of workloads, separated by commas; all by default")
    add("--times", type=int, default=3, help="how often each is run (%(default)s)")
    longest = "leave out runs that would take longer, going by a smaller size (%(default)s)"
    add("--limit", type=float, default=20.0, metavar="SECONDS", help=longest)
    add("--parts", default=",".join(PARTS), help="what to run (%(default)s)")
    add("--data", type=Path, help="folder for the data; kept, and used again")
    add("--results", type=Path, default=HERE / "RESULTS.md", help="(%(default)s)")
    add("--smoke", action="store_true",
        help="small sizes, once, for correctness: prints what differs, writes nothing")  # fmt: skip
    return parser.parse_args()


def _listed(text: str, known: Sequence[str], word: str) -> set[str]:
    chosen = {name for name in text.split(",") if name}
    unknown = chosen - set(known)
    if unknown:
        sys.exit(f"no {word} {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    return chosen


def main() -> int:
    """Run what was asked for; return the exit code."""
    wanted = _arguments()
    wanted.only = _listed(wanted.only, [work.name for work in WORKLOADS], "workload")
    wanted.parts = _listed(wanted.parts, PARTS, "part")
    if wanted.smoke:
        wanted.times, wanted.limit = 1, 15.0
    listed = sorted(int(size) for size in wanted.sizes.split(","))
    sizes = SMOKE_SIZES if wanted.smoke else dict.fromkeys(SMOKE_SIZES, listed)
    with tempfile.TemporaryDirectory() as made:
        folder = wanted.data or Path(made)
        broken = _invariants(folder, wanted) if "invariants" in wanted.parts else []
        results, ticks = _run(folder, sizes, wanted)
    right = report.show(results, ticks, broken, only_wrong=wanted.smoke)
    if not wanted.smoke:
        plot = wanted.results.with_name("results.png")
        drawn = report.draw(plot, results)
        if not drawn:
            print("No plot: matplotlib is not there.", file=sys.stderr)
        report.write(wanted.results, results, ticks, broken, _command(), plot if drawn else None)
    return 0 if right else 1


def _chosen(wanted: argparse.Namespace) -> list[Workload]:
    return [work for work in WORKLOADS if not wanted.only or work.name in wanted.only]


def _invariants(folder: Path, wanted: argparse.Namespace) -> list[str]:
    found = []
    for work in _chosen(wanted):
        _say(f"{work.name}, the invariants")
        found += [f"{work.name}: {what}" for what in invariants.broken(work, folder)]
    return found


def _run(
    folder: Path, sizes: dict[str, list[int]], wanted: argparse.Namespace
) -> tuple[list[Result], list[Latency]]:
    results: list[Result] = []
    ticks: list[Latency] = []
    for work in _chosen(wanted):
        smaller: list[Result] = []
        if "queries" in wanted.parts:
            for size in sizes[work.family]:
                _say(f"{work.name}, {size:,} events")
                data = dataset(work.family, folder, size)
                smaller.append(measure(work, data, wanted.times, wanted.limit, smaller))
        results += smaller
        too_slow = bool(smaller) and "cqlduck" in smaller[-1].left_out
        if work.name in TICKED and "ticks" in wanted.parts and not too_slow:
            size = sizes[work.family][-1]
            _say(f"{work.name}, ticks on {size:,} events")
            data = dataset(work.family, folder, size)
            ticks += latency(work, data, SMOKE_TICKS if wanted.smoke else TICKS)
    return results, ticks


def _command() -> str:
    """Return the command that was run, without the folders of this machine."""
    kept = []
    words = iter(sys.argv[1:])
    for word in words:
        if word in ("--data", "--results"):
            next(words, None)
        elif not word.startswith(("--data=", "--results=")):
            kept.append(word)
    listed = " ".join(kept)
    return f'make bench BENCH_ARGS="{listed}"' if kept else "make bench"


_BEGIN = time.monotonic()


def _say(what: str) -> None:
    line = f"{time.monotonic() - _BEGIN:6.0f} s  {what}"
    ends = "" if sys.stderr.isatty() else "\n"
    print(f"\r\033[K{line}" if not ends else line, end=ends, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
