"""Running contestants in turn, checking each once, and keeping the medians."""

from __future__ import annotations

import functools
import statistics
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import contestants
import peerrun
from check import difference
from contestants import Ran
from data import Dataset
from workload import Workload

Run = Callable[[Workload, Dataset, Path | None], Ran]
CQLDUCK, TICKS, ONCE, RECOMPUTE, PYTHON, SPARK = (
    "cqlduck", "cqlduck, by ticks", "DuckDB once", "DuckDB recompute", "plain Python", "Spark",
)  # fmt: skip
LONG = 4.0
"""Seconds from which a run is not repeated."""


@dataclass
class Result:
    """What one workload in one size gave.

    Attributes:
        work: The workload.
        events: The size.
        rows: Rows of the output, as DuckDB's batch statement gives them.
        runs: Of each contestant whose result is right.
        wrong: Of the others, what differs or what went wrong.
        left_out: Of those that would take too long, about how many seconds.
    """

    work: Workload
    events: int
    rows: int = 0
    runs: dict[str, list[Ran]] = field(default_factory=dict)
    wrong: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, float] = field(default_factory=dict)

    def rate(self, name: str) -> float | None:
        """Return a contestant's events a second, by the median of its runs."""
        runs = self.runs.get(name)
        return self.events / statistics.median(r.seconds for r in runs) if runs else None

    def ratio(self, name: str, other: str, *, cpu: bool = False) -> float | None:
        """Return how many times faster one contestant is, as the median of pairs."""
        ours, theirs = self.runs.get(name), self.runs.get(other)
        if not ours or not theirs:
            return None
        pairs = zip(ours, theirs, strict=False)
        return statistics.median(t.cpu / o.cpu if cpu else t.seconds / o.seconds for o, t in pairs)


def field_of(work: Workload, data: Dataset, spark: bool = False) -> dict[str, Run]:
    """Return who runs in a workload; DuckDB once is the first, the others are checked with it."""
    runs: dict[str, Run] = {ONCE: contestants.once, CQLDUCK: contestants.catch_up}
    if data.family == "nexmark" and data.batches > 1:
        runs[TICKS] = contestants.in_ticks
    if work.recompute:
        runs[RECOMPUTE] = contestants.recompute
    if work.python is not None:
        runs[PYTHON] = contestants.by_hand
    if spark:
        import sparkrun

        if work.name in sparkrun.QUERIES:
            runs[SPARK] = sparkrun.structured_streaming
    return runs


def measure(
    work: Workload, data: Dataset, times: int, limit: float, smaller: Sequence[Result] = (),
    spark: bool = False,
) -> Result:  # fmt: skip
    """Run a workload: all contestants in turn, `times` times; check the first output of each.

    Args:
        work: The workload.
        data: Its data.
        times: How often; a run that is long is not repeated.
        limit: Leave out what would take more seconds than this, going by a smaller size.
        smaller: The results of smaller sizes.
        spark: Whether Spark runs too, where it can.
    """
    result = Result(work, data.events)
    field_ = field_of(work, data, spark)
    _leave_out(result, field_, limit, smaller)
    with tempfile.TemporaryDirectory() as folder:
        for number in range(times):
            for name, run in field_.items():
                done = result.runs.get(name, [])
                if name not in result.wrong and not (done and done[0].seconds > LONG):
                    _run(result, name, run, data, Path(folder) if number == 0 else None)
    return result


def beside(
    work: Workload,
    data: Dataset,
    peers: Sequence[str],
    limit: float,
    smaller: Sequence[Result] = (),
) -> Result:
    """Run cqlduck by ticks, DuckDB recomputing, and peers, once each; check the peers' answers.

    Args:
        work: A Nexmark workload; those of the first two are checked by `measure`.
        data: Its data.
        peers: Who runs, as far as they can express it.
        limit: As for `measure`.
        smaller: The results of smaller sizes.
    """
    result = Result(work, data.events)
    ours = functools.partial(contestants.in_ticks, arrow=True)
    runs: dict[str, Run] = {TICKS: ours, RECOMPUTE: contestants.recompute}
    for peer in peers:
        if work.name in peerrun.QUERIES[peer]:
            runs[peer] = functools.partial(peerrun.run_peer, peer)
    _leave_out(result, runs, limit, smaller)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        peerrun.write_final(work, data, folder / "expected.parquet")
        for name, run in runs.items():
            # of the others `measure` has checked the answer
            checked = name in peers or (name == TICKS and contestants.is_stream(work))
            _run(result, name, run, data, folder if checked else None)
    return result


def _leave_out(
    result: Result, runs: dict[str, Run], limit: float, smaller: Sequence[Result]
) -> None:
    """Take out who would need more seconds than the limit, going by smaller sizes."""
    for known in smaller:
        for name in list(runs):
            rate = known.rate(name)
            seconds = known.left_out.get(name, result.events / rate if rate else 0.0)
            if name != ONCE and seconds > limit:
                result.left_out[name] = seconds
                del runs[name]


def _run(result: Result, name: str, run: Run, data: Dataset, folder: Path | None) -> None:
    """Run one contestant once; with a folder, compare its output with DuckDB's."""
    output = expected = None
    if folder is not None:
        expected = folder / "expected.parquet"
        output = expected if name == ONCE else folder / "found.parquet"
        output.unlink(missing_ok=True)
    try:
        done = run(result.work, data, output)
        if expected is not None and done.output is not None:
            result.rows, what = difference(expected, done.output)
            if what is not None:
                raise ValueError(f"the result differs: {what}")
    except Exception as error:
        lines = str(error).splitlines() or [""]
        result.wrong[name] = f"{type(error).__name__}: {lines[0]}"[:400]
        result.runs.pop(name, None)
        print(f"{result.work.name} {name}: {result.wrong[name]}", file=sys.stderr)
        return
    result.runs.setdefault(name, []).append(done)
