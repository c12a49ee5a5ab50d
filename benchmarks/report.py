"""The tables of a run: on the terminal, in RESULTS.md, and as plots."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
from endurance import Flat, Peak, Size, Trickle
from latency import Latency
from measure import CQLDUCK, ONCE, PYTHON, RECOMPUTE, SPARK, TICKS, Result
from rich.console import Console
from rich.table import Table
from road import LIMIT, Held

import cqlduck
from cqlduck.state.profile import percentile

CONTESTANTS = (CQLDUCK, TICKS, ONCE, RECOMPUTE, PYTHON, SPARK)


@dataclass
class Found:
    """What a run gave.

    Attributes:
        broken: Invariants that do not hold, and what else is wrong.
        checked: How many results were compared.
        results: Throughput.
        beside: Throughput beside peers.
        ticks: Single ticks.
        road: Linear Road, what was tried.
        sizes: What is kept.
        peaks: Memory while catching up.
        flat: Many ticks, by the name of the query.
        trickles: Small ticks.
    """

    broken: list[str] = field(default_factory=list)
    checked: int = 0
    results: list[Result] = field(default_factory=list)
    beside: list[Result] = field(default_factory=list)
    ticks: list[Latency] = field(default_factory=list)
    road: list[Held] = field(default_factory=list)
    sizes: list[Size] = field(default_factory=list)
    peaks: list[Peak] = field(default_factory=list)
    flat: dict[str, Flat] = field(default_factory=dict)
    trickles: list[Trickle] = field(default_factory=list)


@dataclass(frozen=True)
class Section:
    """A table with a heading."""

    title: str
    head: Sequence[str]
    rows: list[Sequence[str]]


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


def _row(result: Result, contestants: Sequence[str]) -> tuple[str, ...]:
    best = TICKS if TICKS in result.runs else CQLDUCK
    return (
        f"{result.work.name}: {result.work.title}",
        f"{result.events:,}",
        f"{result.rows:,}",
        *(_cell(result, name) for name in contestants),
        _times(result.ratio(CQLDUCK, ONCE)),
        _times(result.ratio(CQLDUCK, ONCE, cpu=True)),
        _times(result.ratio(best, RECOMPUTE)),
        _times(result.ratio(CQLDUCK, PYTHON)),
    )


def _mb(value: float) -> str:
    return f"{value / 2**20:,.1f}"


def sections(found: Found) -> Iterator[Section]:
    """Yield the tables of what was run."""
    ran = {name for r in found.results for name in (*r.runs, *r.wrong, *r.left_out)}
    contestants = [name for name in CONTESTANTS if name in ran]
    head = ("query", "events", "rows out", *contestants, "of once", "of once, CPU", "× recompute",
            "× Python")  # fmt: skip
    for family, title in (("windows", "Sliding windows"), ("nexmark", "Nexmark")):
        rows = [_row(r, contestants) for r in found.results if r.work.family == family]
        yield Section(f"{title}: events a second", head, rows)
    yield from _beside(found)
    yield Section(
        "One more tick, on disk: ms",
        ("query", "history", "events a tick", "cqlduck p50", "p99", "DuckDB recompute p50", "p99",
         "× recompute", "DuckDB, last window p50"),
        [_tick_row(x) for x in found.ticks],
    )  # fmt: skip
    yield Section(
        f"Linear Road: which L answers every report within {LIMIT:g} s",
        ("L", "holds", "longest wait, s", "ticks", "median tick, s", "tolls and alerts"),
        [
            (f"{x.expressways:g}", "yes" if x.holds else "no", f"{x.longest:.2f}",
             f"{len(x.ticks)}", f"{percentile(x.ticks, 0.5):.2f}", f"{x.answers:,}")
            for x in found.road
        ],
    )  # fmt: skip
    yield from _endurance(found)


LAST = 10
"""Of how many ticks at the end the median is shown."""


def _beside(found: Found) -> Iterator[Section]:
    ran = dict.fromkeys(
        name for r in found.beside for name in (*r.runs, *r.wrong, *r.left_out) if name != TICKS
    )
    head = ("query", "events", TICKS, *ran)
    yield Section(
        "Nexmark beside other engines, by ticks where they have any: events a second",
        (*head, "× the best other"),
        [
            (f"{r.work.name}: {r.work.title}", f"{r.events:,}",
             *(_cell(r, name) for name in (TICKS, *ran)), _times(_lead(r)))
            for r in found.beside
        ],
    )  # fmt: skip
    yield Section(
        f"Nexmark beside other engines: ms a tick of 100,000, median of the last {LAST}",
        head,
        [
            (f"{r.work.name}: {r.work.title}", f"{r.events:,}",
             *(_last_ticks(r, name) for name in (TICKS, *ran)))
            for r in found.beside
        ],
    )  # fmt: skip


def _lead(result: Result) -> float | None:
    """Return cqlduck's rate as a multiple of the greatest of the others."""
    ours = result.rate(TICKS)
    rates = [result.rate(name) for name in result.runs if name != TICKS]
    others = [rate for rate in rates if rate is not None]
    return ours / max(others) if ours is not None and others else None


def _last_ticks(result: Result, name: str) -> str:
    ticks = [t for run in result.runs.get(name, ()) for t in run.ticks[-LAST:]]
    return f"{percentile(ticks, 0.5) * 1e3:.0f}" if ticks else ""


def _endurance(found: Found) -> Iterator[Section]:
    yield Section(
        "What is kept, on disk: MiB",
        ("query", "events", "live tuples", "live tuples as a table", "state", "state / live",
         "the database"),
        [
            (f"{x.work.name}: {x.work.title}", f"{x.events:,}", f"{x.live:,}", _mb(x.live_bytes),
             _mb(x.state_bytes), f"{x.state_bytes / x.live_bytes:.2f}", _mb(x.file_bytes))
            for x in found.sizes
        ],
    )  # fmt: skip
    yield Section(
        "Catching up under a memory limit",
        ("query", "events", "memory_limit", "peak of the process, MiB", "seconds"),
        [
            (x.name, f"{x.events:,}", x.limit, *(("✗", "") if x.wrong else
             (_mb(x.bytes), f"{x.seconds:.1f}")))
            for x in found.peaks
        ],
    )  # fmt: skip
    rows = []
    for name, flat in found.flat.items():
        places = sorted({0, len(flat.ticks) // 4, len(flat.ticks) // 2, len(flat.ticks) - 1})
        rows += [
            (name, f"{flat.ticks[i]:,}", f"{flat.median[i]:.1f}", f"{flat.worst[i]:.1f}",
             _mb(flat.file[i]), _mb(flat.memory[i]))
            for i in places
        ]  # fmt: skip
    yield Section(
        "Many ticks: does it stay as it was?",
        ("query", "after ticks", "tick p50, ms", "longest, ms", "file, MiB", "memory, MiB"),
        rows,
    )
    yield Section(
        "Ticks of 100 events, on disk: ms",
        ("window", "queries", "tuples in the window", "p50", "p99"),
        [
            (x.name, f"{x.queries}", f"{x.state:,}", *(("✗", "") if x.wrong else
             (f"{percentile(x.ticks, 0.5):.1f}", f"{percentile(x.ticks, 0.99):.1f}")))
            for x in found.trickles
        ],
    )  # fmt: skip


def _tick_row(found: Latency) -> tuple[str, ...]:
    head = (f"{found.work.name}: {found.work.title}", f"{found.history:,}", f"{found.events:,}")
    if found.wrong is not None:
        return (*head, "✗", "", "", "", "", "")
    ours, theirs = found.cqlduck, found.recompute
    middle, other = percentile(ours, 0.5), percentile(theirs, 0.5)
    return (*head, f"{middle:.1f}", f"{percentile(ours, 0.99):.1f}", f"{other:.1f}",
            f"{percentile(theirs, 0.99):.1f}", f"{other / middle:.2f}",
            f"{percentile(found.last, 0.5):.1f}" if found.last else "")  # fmt: skip


def problems(found: Found) -> list[str]:
    """Return what is wrong, a line each; none if all results are right."""
    lines = list(found.broken)
    lines += [
        f"{result.work.name}, {result.events:,} events, {name}: {what}"
        for result in (*found.results, *found.beside)
        for name, what in result.wrong.items()
    ]
    lines += [
        f"{x.work.name}, ticks of {x.events:,} on {x.history:,}: {x.wrong}"
        for x in found.ticks
        if x.wrong is not None
    ]
    lines += [
        f"{x.name}, {x.events:,} events with {x.limit}: {x.wrong}" for x in found.peaks if x.wrong
    ]
    lines += [f"{name}, many ticks: {x.wrong}" for name, x in found.flat.items() if x.wrong]
    lines += [
        f"{x.name}, {x.queries} queries on {x.state:,}: {x.wrong}"
        for x in found.trickles
        if x.wrong
    ]
    return lines


def show(found: Found, *, only_wrong: bool) -> bool:
    """Print the tables, or just what is wrong; return whether every result was right."""
    console = Console(width=None if os.isatty(1) else 200)
    for section in () if only_wrong else sections(found):
        if section.rows:
            table = Table(title=section.title)
            for place, name in enumerate(section.head):
                table.add_column(name, justify="left" if place == 0 else "right")
            for row in section.rows:
                table.add_row(*row)
            console.print(table)
    wrong = problems(found)
    for line in wrong:
        console.print(f"✗ {line}", style="red", markup=False)
    if only_wrong and not wrong:
        console.print(f"all results are right ({found.checked} were compared)")
    return not wrong


def write(path: Path, found: Found, command: str, plots: Sequence[Path]) -> None:
    """Write RESULTS.md."""
    lines = ["# Results", "", "Measured with", "", f"    {command}", "", "on", ""]
    lines += [f"- {line}" for line in machine()]
    lines += [
        "",
        "Other work may have run beside it, so compare figures of one row, not of two runs. "
        "`README.md` says what each table and each column is. Results were compared with DuckDB's"
        " batch answer, those of Linear Road with plain Python on less traffic; ✗ stands for a"
        " figure whose result differs, which is listed below; (~ s) for one that was left out"
        " because it would take about that long.",
        "",
        "[TPCH.md](TPCH.md) has queries of TPC-H under change, [ADAPTIVITY.md](ADAPTIVITY.md) plans"
        " that change, and [Sharing](../docs/sharing.md#what-it-costs) many queries.",
    ]
    lines += [part for plot in plots for part in ("", f"![{plot.stem}]({plot.name})")]
    for section in sections(found):
        if section.rows:
            lines += ["", f"## {section.title}", ""]
            lines.append("| " + " | ".join(section.head) + " |")
            lines.append("|---|" + "--:|" * (len(section.head) - 1))
            lines += ["| " + " | ".join(row) + " |" for row in section.rows]
    wrong = problems(found)
    if wrong:
        lines += ["", "## What differs", "", *(f"- {line}" for line in wrong)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def draw(folder: Path, found: Found) -> list[Path] | None:
    """Draw events a second of the largest size, and the many ticks.

    Returns:
        The plots, or None if there is no matplotlib.
    """
    try:
        import matplotlib
    except ImportError:
        return None
    matplotlib.use("Agg")
    from matplotlib import pyplot

    made = []
    if found.results:
        made.append(_draw_rates(pyplot, folder / "results.png", found.results))
    if found.flat:
        made.append(_draw_flat(pyplot, folder / "flatness.png", found.flat))
    return made


def _draw_rates(pyplot: Any, path: Path, results: Sequence[Result]) -> Path:
    largest = [r for r in results if r.events == max(x.events for x in results)]
    names = [n for n in CONTESTANTS if any(n in r.runs for r in largest)]
    figure, axes = pyplot.subplots(figsize=(14, 5))
    width = 0.8 / max(len(names), 1)
    for place, name in enumerate(names):
        at = [i + (place - (len(names) - 1) / 2) * width for i in range(len(largest))]
        axes.bar(at, [r.rate(name) or 0 for r in largest], width, label=name)
    axes.set_yscale("log")
    axes.set_ylabel("events a second")
    axes.set_xticks(range(len(largest)), [r.work.name for r in largest])
    axes.set_title(f"{largest[0].events:,} events")
    axes.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=100)
    pyplot.close(figure)
    return path


def _draw_flat(pyplot: Any, path: Path, found: dict[str, Flat]) -> Path:
    figure, axes = pyplot.subplots(3, 1, figsize=(10, 8), sharex=True)
    for name, flat in found.items():
        axes[0].plot(flat.ticks, flat.median, label=name)
        axes[1].plot(flat.ticks, [x / 2**20 for x in flat.file], label=name)
        axes[2].plot(flat.ticks, [x / 2**20 for x in flat.memory], label=name)
    for axis, what in zip(axes, ("a tick, median, ms", "file, MiB", "memory, MiB"), strict=True):
        axis.set_ylabel(what)
        axis.set_ylim(bottom=0)
    axes[2].set_xlabel("ticks")
    axes[0].legend()
    figure.tight_layout()
    figure.savefig(path, dpi=100)
    pyplot.close(figure)
    return path
