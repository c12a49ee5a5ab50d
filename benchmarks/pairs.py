"""Compares this checkout with another one: each workload by turns, in a process of each.

    python benchmarks/pairs.py --other ../before [--only a,q5] [--events 1000000] [--times 5]

The other checkout needs its own `.venv`. Both run this checkout's benchmark code, each on its own
engine. A pair is two runs one after the other, the first of them by turns. What is compared is
processor time, which other work on the machine disturbs less than the clock; of trickle it is the
sum of its queries' median ticks. A ratio is the other's time over ours: above 1, this checkout is
faster.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import contestants
import endurance
import nexmark
import windows
from data import dataset

HERE = Path(__file__).parent
WORKLOADS = {work.name: work for work in (*windows.WORKLOADS, *nexmark.WORKLOADS)}
TRICKLE = "trickle"
TRICKLE_TICKS = 40


class Side:
    """A checkout's process; a run is a line to it and a line back."""

    def __init__(self, checkout: Path) -> None:
        """Start the process.

        Args:
            checkout: The folder of the checkout; its `.venv` has its engine.
        """
        python = checkout / ".venv" / "bin" / "python"
        if not python.exists():
            sys.exit(f"{checkout} has no .venv: run `make check` there first")
        self._process = subprocess.Popen(
            [python, __file__, "--child"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(self, **task: Any) -> float:
        """Return the time of a run."""
        commands, answers = _pipes(self._process)
        print(json.dumps(task), file=commands, flush=True)
        line = answers.readline()
        if not line:
            sys.exit(f"the process ended at {task}")
        return float(json.loads(line))

    def end(self) -> None:
        """Let the process end."""
        commands, _ = _pipes(self._process)
        commands.close()
        self._process.wait()


def _pipes(process: subprocess.Popen[str]) -> tuple[IO[str], IO[str]]:
    assert process.stdin is not None
    assert process.stdout is not None
    return process.stdin, process.stdout


def child() -> None:
    """Run what comes in, and say what it took, until nothing comes any more."""
    for line in sys.stdin:
        print(json.dumps(_run(**json.loads(line))), flush=True)


def _run(name: str, folder: str, events: int) -> float:
    if name == TRICKLE:
        found = endurance.trickle(WORKLOADS["a"], Path(folder), events, TRICKLE_TICKS)
        if any(one.wrong for one in found):
            raise RuntimeError(str([one.wrong for one in found]))
        return sum(statistics.median(one.ticks) for one in found)
    work = WORKLOADS[name]
    run = contestants.in_ticks if work.family == "nexmark" else contestants.catch_up
    return run(work, dataset(work.family, Path(folder), events), None).cpu


def pairs(other: Side, ours: Side, times: int, **task: Any) -> Iterator[float]:
    """Yield the ratio of each pair; before them both sides run once unmeasured."""
    other.run(**task), ours.run(**task)
    for number in range(times):
        if number % 2:
            theirs, mine = other.run(**task), ours.run(**task)
        else:
            mine, theirs = ours.run(**task), other.run(**task)
        yield theirs / mine


def main() -> None:
    """Print each workload's ratios and their geometric means."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    add = parser.add_argument
    add("--child", action="store_true", help=argparse.SUPPRESS)
    add("--other", type=Path, help="the other checkout")
    add("--only", default="", help=f"workloads, separated by commas; or {TRICKLE}; all by default")
    add("--events", type=int, default=1_000_000, help="(%(default)s)")
    add("--times", type=int, default=5, help="pairs of each (%(default)s)")
    wanted = parser.parse_args()
    if wanted.child:
        return child()
    if wanted.other is None:
        parser.error("--other is needed: the checkout to compare with")
    names = wanted.only.split(",") if wanted.only else [*WORKLOADS, TRICKLE]
    other, ours = Side(wanted.other.resolve()), Side(HERE.parent.resolve())
    medians: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            task = {"name": name, "folder": folder, "events": wanted.events}
            ratios = sorted(pairs(other, ours, wanted.times, **task))
            median = statistics.median(ratios)
            family = TRICKLE if name == TRICKLE else WORKLOADS[name].family
            medians.setdefault(family, []).append(median)
            shown = " ".join(f"{ratio:.2f}" for ratio in ratios)
            print(f"{name:8} {median:.3f}   ({shown})", flush=True)
    other.end(), ours.end()
    for family, found in medians.items():
        print(f"{family}: geometric mean {statistics.geometric_mean(found):.3f}")


if __name__ == "__main__":
    main()
