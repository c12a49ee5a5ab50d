"""The benchmarks: `python benchmarks/run.py --help`.

Exits with 1 if a result differs from DuckDB's batch answer.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import nexmark
import report
import windows
from data import dataset
from latency import Latency, latency
from measure import Result, measure

HERE = Path(__file__).parent
WORKLOADS = (*windows.WORKLOADS, *nexmark.WORKLOADS)
TICKED = ("a", "d", "e", "q4", "q5", "q7", "q15", "q18", "q20")
"""The workloads whose ticks are measured one by one."""

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
    add("--no-ticks", action="store_true", help="leave out the latency of single ticks")
    add("--data", type=Path, help="folder for the data; kept, and used again")
    add("--results", type=Path, default=HERE / "RESULTS.md", help="(%(default)s)")
    add("--smoke", action="store_true",
        help="small sizes, once, for correctness: writes no results")  # fmt: skip
    return parser.parse_args()


def main() -> int:
    """Run what was asked for; return the exit code."""
    wanted = _arguments()
    chosen = {name for name in wanted.only.split(",") if name}
    unknown = chosen - {work.name for work in WORKLOADS}
    if unknown:
        sys.exit(f"no workload {', '.join(sorted(unknown))}; there are "
                 f"{', '.join(work.name for work in WORKLOADS)}")  # fmt: skip
    if wanted.smoke:
        wanted.times, wanted.limit = 1, 15.0
    listed = sorted(int(size) for size in wanted.sizes.split(","))
    sizes = SMOKE_SIZES if wanted.smoke else dict.fromkeys(SMOKE_SIZES, listed)
    with tempfile.TemporaryDirectory() as made:
        folder = wanted.data or Path(made)
        results, ticks = _run(folder, sizes, chosen, wanted)
    right = report.show(results, ticks)
    if not wanted.smoke:
        plot = wanted.results.with_name("results.png")
        drawn = report.draw(plot, results)
        if not drawn:
            print("No plot: matplotlib is not there.", file=sys.stderr)
        report.write(wanted.results, results, ticks, _command(), plot if drawn else None)
    return 0 if right else 1


def _run(
    folder: Path, sizes: dict[str, list[int]], chosen: set[str], wanted: argparse.Namespace
) -> tuple[list[Result], list[Latency]]:
    results: list[Result] = []
    ticks: list[Latency] = []
    for work in WORKLOADS:
        if chosen and work.name not in chosen:
            continue
        smaller: list[Result] = []
        for size in sizes[work.family]:
            data = dataset(work.family, folder, size)
            _say(f"{work.name}, {size:,} events")
            smaller.append(measure(work, data, wanted.times, wanted.limit, smaller))
        results += smaller
        if work.name in TICKED and not wanted.no_ticks and not smaller[-1].left_out.get("cqlduck"):
            _say(f"{work.name}, ticks on {size:,} events")
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


def _say(what: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\033[K{what}", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
