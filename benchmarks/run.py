"""The benchmarks: `python benchmarks/run.py --help`.

Exits with 1 if a result is not right.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

import endurance
import invariants
import nexmark
import peerrun
import report
import road
import windows
from contestants import THREADS
from data import dataset
from latency import latency
from measure import Result, beside, measure
from report import Found
from workload import Workload

HERE = Path(__file__).parent
WORKLOADS = {work.name: work for work in (*windows.WORKLOADS, *nexmark.WORKLOADS)}
PARTS = (
    "invariants", "queries", "peers", "ticks", "road", "sizes", "memory", "flatness", "trickle",
)  # fmt: skip
TICKED = ("a", "d", "q4", "q5", "q7", "q15", "q18", "q20")
"""The workloads whose ticks are measured one by one; a tick of a window is one instant."""

REMEMBERED = ("a", "q18")
"""Those whose memory is measured while they catch up."""

STEADY = ("a", "c")
"""Those that run many ticks."""

TICKS = {100_000: 10, 10_000: 30, 100: 60}
SMOKE_SIZES = {"windows": [30_000], "nexmark": [80_000]}
"""More than the longest window, and no whole number of batches."""

SMOKE_TICKS = {1_000: 3, 100: 3}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--parts", default=",".join(PARTS), help="what to run (%(default)s)")
    add("--only", default="", help="names of workloads, separated by commas; all by default")
    add("--sizes", default="100000,1000000", help="events, separated by commas (%(default)s)")
    add("--times", type=int, default=3, help="how often each is run (%(default)s)")
    longest = "leave out runs that would take longer, going by a smaller size (%(default)s)"
    add("--limit", type=float, default=20.0, metavar="SECONDS", help=longest)
    longest = "peers: leave out runs that would take longer (%(default)s)"
    add("--peer-limit", type=float, default=60.0, metavar="SECONDS", help=longest)
    add("--history", type=int, help="ticks: events before them; the largest size by default")
    add("--road-seconds", type=int, default=60, help="Linear Road: what is measured (%(default)s)")
    add("--histories", default="1000000,2000000,4000000",
        help="memory: events, separated by commas; 50000000 takes long (%(default)s)")  # fmt: skip
    add("--memory-limit", default="1GB", help="memory: the setting (%(default)s)")
    add("--flat-ticks", type=int, default=20_000, help="flatness: how many (%(default)s)")
    add("--states", default="100000,1000000,10000000",
        help="trickle: tuples in the window, separated by commas (%(default)s)")  # fmt: skip
    add("--spark", action="store_true", help="let Spark run too, where it can; needs Java")
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


def _numbers(text: str) -> list[int]:
    return sorted(int(number) for number in text.split(","))


def main() -> int:
    """Run what was asked for; return the exit code."""
    wanted = _arguments()
    wanted.only = _listed(wanted.only, list(WORKLOADS), "workload")
    wanted.parts = _listed(wanted.parts, PARTS, "part")
    found = Found()
    with tempfile.TemporaryDirectory() as made:
        folder = wanted.data or Path(made)
        if wanted.smoke:
            wanted.times, wanted.limit = 1, 15.0
            _run(folder, SMOKE_SIZES, wanted, found)
            _smoke(folder, wanted, found)
        else:
            _run(folder, dict.fromkeys(SMOKE_SIZES, _numbers(wanted.sizes)), wanted, found)
            if "peers" in wanted.parts:
                _beside(folder, wanted, found)
            _endure(folder, wanted, found)
    right = report.show(found, only_wrong=wanted.smoke)
    if not wanted.smoke and not _save(wanted, found):
        print("No plots: matplotlib is not there.", file=sys.stderr)
    return 0 if right else 1


def _save(wanted: argparse.Namespace, found: Found) -> bool:
    """Write what is there so far, so that a run that is stopped has not been for nothing."""
    plots = report.draw(wanted.results.parent, found)
    report.write(wanted.results, found, _command(), plots or [])
    return plots is not None


def _chosen(wanted: argparse.Namespace, among: Sequence[str] = ()) -> list[Workload]:
    return [
        work
        for name, work in WORKLOADS.items()
        if (not wanted.only or name in wanted.only) and (not among or name in among)
    ]


def _run(
    folder: Path, sizes: dict[str, list[int]], wanted: argparse.Namespace, found: Found
) -> None:
    """Run the parts that go through the workloads one by one."""
    _check(folder, wanted, found)
    for work in _chosen(wanted):
        smaller: list[Result] = []
        for size in sizes[work.family] if "queries" in wanted.parts else ():
            _say(f"{work.name}, {size:,} events")
            data = dataset(work.family, folder, size)
            smaller.append(measure(work, data, wanted.times, wanted.limit, smaller, wanted.spark))
            found.checked += len(smaller[-1].runs)
        found.results += smaller
        too_slow = bool(smaller) and "cqlduck" in smaller[-1].left_out
        if work.name in TICKED and "ticks" in wanted.parts and not too_slow:
            history = wanted.history or sizes[work.family][-1]
            _say(f"{work.name}, ticks on {history:,} events")
            data = dataset(work.family, folder, history)
            found.ticks += latency(work, data, SMOKE_TICKS if wanted.smoke else TICKS)
            found.checked += 1
        if not wanted.smoke:
            _save(wanted, found)


def _check(folder: Path, wanted: argparse.Namespace, found: Found) -> None:
    """Run what says only whether results are right; side by side, as nothing is timed."""
    checked: dict[Future[list[str]], str] = {}
    with ProcessPoolExecutor(THREADS, get_context("spawn")) as pool:
        if "road" in wanted.parts and not wanted.only:
            checked[pool.submit(road.wrong)] = "Linear Road, against plain Python"
        if "invariants" in wanted.parts:
            invariants.prepare(folder, {work.family for work in _chosen(wanted)})
            for work in _chosen(wanted):
                checked[pool.submit(invariants.broken, work, folder)] = (
                    f"{work.name}, the invariants"
                )
        for done in as_completed(checked):
            _say(checked[done])
            found.broken += [f"{checked[done]}: {what}" for what in done.result()]
            found.checked += 1


def _smoke(folder: Path, wanted: argparse.Namespace, found: Found) -> None:
    """Run a little of what measures endurance."""
    if wanted.only:
        return
    work = WORKLOADS["a"]
    if "sizes" in wanted.parts:
        found.sizes.append(endurance.size(work, dataset("windows", folder, 10_000)))
    if "memory" in wanted.parts:
        found.peaks.append(endurance.peak(work, dataset("windows", folder, 70_000), "500MB"))
    if "flatness" in wanted.parts:
        _say("many ticks")
        found.flat["a"] = endurance.flatness(work, folder, 100, 2)
    if "trickle" in wanted.parts:
        _say("ticks of 100 events")
        found.trickles += endurance.trickle(work, folder, 10_000, 3)
    found.checked += len(found.peaks) + len(found.flat) + len(found.trickles)


def _beside(folder: Path, wanted: argparse.Namespace, found: Found) -> None:
    """Run Nexmark beside the peers whose environments are there."""
    peers = list(peerrun.available())
    absent = [name for name in peerrun.QUERIES if name not in peers]
    if absent:
        print(f"Not there: {', '.join(absent)}; `make peers` installs them.", file=sys.stderr)
    for work in _chosen(wanted, [work.name for work in nexmark.WORKLOADS]) if peers else ():
        smaller: list[Result] = []
        for size in _numbers(wanted.sizes):
            _say(f"{work.name}, {size:,} events, beside {', '.join(peers)}")
            data = dataset(work.family, folder, size)
            smaller.append(beside(work, data, peers, wanted.peer_limit, smaller))
        found.beside += smaller
        _save(wanted, found)


def _endure(folder: Path, wanted: argparse.Namespace, found: Found) -> None:
    """Run the parts that take long, each with sizes of its own."""
    for work in _chosen(wanted, list(endurance.LIVE)) if "sizes" in wanted.parts else ():
        size = _numbers(wanted.sizes)[-1]
        _say(f"{work.name}, what is kept of {size:,} events")
        found.sizes.append(endurance.size(work, dataset(work.family, folder, size)))
    _save(wanted, found)
    for work in _chosen(wanted, REMEMBERED) if "memory" in wanted.parts else ():
        for size in _numbers(wanted.histories):
            _say(f"{work.name}, memory over {size:,} events")
            data = dataset(work.family, folder, size)
            found.peaks.append(endurance.peak(work, data, wanted.memory_limit))
            _save(wanted, found)
    for size in _numbers(wanted.states) if "trickle" in wanted.parts and not wanted.only else ():
        _say(f"ticks of 100 events on {size:,}")
        found.trickles += endurance.trickle(WORKLOADS["a"], folder, size, 60)
        _save(wanted, found)
    if "road" in wanted.parts and not wanted.only:
        _say("Linear Road")
        found.road = road.largest(wanted.road_seconds)
        _save(wanted, found)
    for work in _chosen(wanted, STEADY) if "flatness" in wanted.parts else ():
        _say(f"{work.name}, {wanted.flat_ticks:,} ticks")
        found.flat[work.name] = endurance.flatness(work, folder, wanted.flat_ticks)
        _save(wanted, found)


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
    terminal = sys.stderr.isatty()
    print(f"\r\033[K{line}" if terminal else line, end="" if terminal else "\n", file=sys.stderr,
          flush=True)  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
