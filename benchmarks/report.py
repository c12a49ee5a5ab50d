"""The tables of a run: on the terminal, in RESULTS.md, and as a plot."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Sequence
from pathlib import Path

import duckdb
from latency import Latency, percentile
from measure import CQLDUCK, ONCE, PYTHON, RECOMPUTE, TICKS, Result
from rich.console import Console
from rich.table import Table

import cqlduck

CONTESTANTS = (CQLDUCK, TICKS, ONCE, RECOMPUTE, PYTHON)


def machine() -> list[str]:
    """Return what the figures were measured on."""
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        named = [x for x in cpuinfo.read_text().splitlines() if x.startswith("model name")]
        model = named[0].partition(":")[2].strip() if named else model
    memory = ""
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        size = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        memory = f", {size / 2**30:.0f} GiB of memory"
    lines = [
        f"{os.cpu_count()} processors ({model}){memory}, {platform.system()}",
        f"Python {platform.python_version()}, DuckDB {duckdb.__version__}, "
        f"cqlduck {cqlduck.__version__}; two threads for each",
    ]
    if hasattr(os, "getloadavg"):
        lines.append(f"load over the last 15 minutes at the end: {os.getloadavg()[2]:.1f}")
    return lines


def _rate(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value / 1e6:.2f}M" if value >= 1e6 else f"{value / 1e3:.0f}k"


def _times(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _cell(result: Result, name: str) -> str:
    if name in result.wrong:
        return "✗"
    if name in result.left_out:
        return f"(~{result.left_out[name]:.0f} s)"
    return _rate(result.rate(name))


_HEAD = ("query", "events", "rows out", *CONTESTANTS, "of once", "of once, CPU", "× recompute",
         "× Python")  # fmt: skip


def _row(result: Result) -> tuple[str, ...]:
    best = TICKS if TICKS in result.runs else CQLDUCK
    return (
        f"{result.work.name}: {result.work.title}",
        f"{result.events:,}",
        f"{result.rows:,}",
        *(_cell(result, name) for name in CONTESTANTS),
        _times(result.ratio(CQLDUCK, ONCE)),
        _times(result.ratio(CQLDUCK, ONCE, cpu=True)),
        _times(result.ratio(best, RECOMPUTE)),
        _times(result.ratio(CQLDUCK, PYTHON)),
    )


_TICK_HEAD = ("query", "history", "events a tick", "cqlduck p50", "p99", "DuckDB recompute p50",
              "p99 ", "× recompute")  # fmt: skip


def _tick_row(found: Latency) -> tuple[str, ...]:
    head = (f"{found.work.name}: {found.work.title}", f"{found.history:,}", f"{found.events:,}")
    if found.wrong is not None:
        return (*head, "✗", "", "", "", "")
    ours, theirs = found.cqlduck, found.recompute
    middle, other = percentile(ours, 0.5), percentile(theirs, 0.5)
    return (*head, f"{middle:.1f}", f"{percentile(ours, 0.99):.1f}", f"{other:.1f}",
            f"{percentile(theirs, 0.99):.1f}", f"{other / middle:.2f}")  # fmt: skip


def _shown(
    console: Console, title: str, head: Sequence[str], rows: Iterable[Sequence[str]]
) -> None:
    table = Table(title=title)
    for place, name in enumerate(head):
        table.add_column(name, justify="left" if place == 0 else "right")
    for row in rows:
        table.add_row(*row)
    console.print(table)


def _markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = ["| " + " | ".join(name.strip() for name in head) + " |"]
    lines.append("|---|" + "--:|" * (len(head) - 1))
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def _problems(
    results: Sequence[Result], ticks: Sequence[Latency], broken: Sequence[str]
) -> list[str]:
    lines = list(broken)
    lines += [
        f"{result.work.name}, {result.events:,} events, {name}: {what}"
        for result in results
        for name, what in result.wrong.items()
    ]
    lines += [
        f"{found.work.name}, ticks of {found.events:,} on {found.history:,}: {found.wrong}"
        for found in ticks
        if found.wrong is not None
    ]
    return lines


def show(
    results: Sequence[Result], ticks: Sequence[Latency], broken: Sequence[str], *, only_wrong: bool
) -> bool:
    """Print the tables, or just what is wrong; return whether every result was right."""
    console = Console(width=None if os.isatty(1) else 200)
    problems = _problems(results, ticks, broken)
    if not only_wrong:
        _tables(console, results, ticks)
    for line in problems:
        console.print(f"✗ {line}", style="red", markup=False)
    if only_wrong and not problems:
        checked = sum(len(result.runs) for result in results) + len(ticks)
        console.print(f"all results are right ({checked} runs, each against DuckDB)")
    return not problems


def _tables(console: Console, results: Sequence[Result], ticks: Sequence[Latency]) -> None:
    for family, title in (("windows", "Sliding windows"), ("nexmark", "Nexmark")):
        rows = [_row(r) for r in results if r.work.family == family]
        if rows:
            _shown(console, f"{title}: events a second", _HEAD, rows)
    if ticks:
        _shown(console, "One more tick: ms", _TICK_HEAD, map(_tick_row, ticks))


def write(
    path: Path, results: Sequence[Result], ticks: Sequence[Latency], broken: Sequence[str],
    command: str, plot: Path | None,
) -> None:  # fmt: skip
    """Write RESULTS.md."""
    lines = ["# Results", "", "Measured with", "", f"    {command}", "", "on", ""]
    lines += [f"- {line}" for line in machine()]
    lines += [
        "",
        "Other work may have run beside it, so compare figures of one row, not of two runs. "
        "`README.md` says what each workload and each column is. Every figure's result was compared"
        " with DuckDB's batch answer; ✗ stands for one that differs, and is listed below; (~ s) for"
        " one that was left out because it would take about that long.",
    ]
    if plot is not None:
        lines += ["", f"![Events a second]({plot.name})"]
    for family, title in (("windows", "Sliding windows"), ("nexmark", "Nexmark")):
        rows = [_row(r) for r in results if r.work.family == family]
        if rows:
            lines += ["", f"## {title}: events a second", "", *_markdown(_HEAD, rows)]
    if ticks:
        lines += ["", "## One more tick, on disk: ms", ""]
        lines += _markdown(_TICK_HEAD, map(_tick_row, ticks))
    problems = _problems(results, ticks, broken)
    if problems:
        lines += ["", "## What differs", "", *(f"- {line}" for line in problems)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def draw(path: Path, results: Sequence[Result]) -> bool:
    """Draw events a second of the largest size; return False if there is no matplotlib."""
    try:
        import matplotlib
    except ImportError:
        return False
    matplotlib.use("Agg")
    from matplotlib import pyplot

    largest = [r for r in results if r.events == max(x.events for x in results)]
    figure, axes = pyplot.subplots(figsize=(12, 5))
    width = 0.8 / len(CONTESTANTS)
    for place, name in enumerate(CONTESTANTS):
        at = [i + (place - 2) * width for i in range(len(largest))]
        axes.bar(at, [r.rate(name) or 0 for r in largest], width, label=name)
    axes.set_yscale("log")
    axes.set_ylabel("events a second")
    axes.set_xticks(range(len(largest)), [r.work.name for r in largest])
    axes.legend()
    figure.tight_layout()
    figure.savefig(path)
    return True
