"""The profile of ticks: their time by query, operator and statement, and the rest.

All SQL runs through `Database.execute`, so a profile sees each statement and its time.
`Database.part` says what a statement is for. Parts are nested, and the time of a part is the time
inside it and outside of its inner parts: so the times add up to the total, with Python's time
between two statements as a line of its own.

A tick is the time in transactions from the commit of the previous tick to its own commit: appends
in between are counted to it.
"""

from __future__ import annotations

import json
import math
import time
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

import duckdb

from cqlduck.rewrite.statements.steps import OperatorRow, Step

INGEST, BETWEEN, COMMIT, PROFILER = "ingest", "between statements", "commit", "profiler"
PROBES = "probes"

BOOKKEEPING = {
    INGEST: "elements are stored",
    "bounds": "how far the tick may go",
    "relations": "changes of relations become final",
    PROBES: "filters are profiled, to choose their order",
    "answers": "kept answers are written anew",
    "retention": "stores, logs and history forget",
    "catalogue": "frontiers, and the record of the tick",
    COMMIT: "the end of the transaction",
    PROFILER: "DuckDB's profile is read",
    BETWEEN: "Python, outside of SQL",
}
"""What a tick does besides the statements of its queries, in the order of the lines."""

PLANNING = ("planner", "optimizer", "physical_planner")
"""What DuckDB does before it runs a statement."""


@dataclass(frozen=True)
class Line:
    """One line of a profile; times are of a tick in which it ran.

    Attributes:
        level: 'query', 'operator', 'statement', 'bookkeeping', or 'duckdb': what DuckDB's profiler
            says of the statement above (`PLANNING`, and its operators in capitals; processor time,
            all threads together). A query is the sum of its operators, and these of statements.
        query: The query, or None.
        operator: The operator's number in the plan, or None.
        what: What it is, for people to read.
        ms: Milliseconds, all ticks together.
        share: Of the time of all ticks.
        p50_ms: Half of the ticks took no longer.
        p95_ms: 95 of 100 took no longer.
        rows: Rows that it wrote; of 'duckdb', that it passed on.
        runs: How many statements ran; of 'duckdb', None.
        scanned: Rows of tables that they read, after DuckDB's pruning, whatever came of them; None
            if DuckDB's profiler was not asked.
    """

    level: str
    query: str | None
    operator: int | None
    what: str
    ms: float
    share: float
    p50_ms: float | None
    p95_ms: float | None
    rows: int | None
    runs: int | None
    scanned: int | None = None


@dataclass(frozen=True)
class _Part:
    """What frames are counted to: a statement of a query, or a line of the bookkeeping."""

    name: str
    step: Step | None = None


@dataclass
class _Count:
    """What was counted of a part: seconds of each tick in which it ran, by the tick's number."""

    runs: int = 0
    rows: int = 0
    scanned: int = 0
    numbers: array[int] = field(default_factory=lambda: array("q"))
    seconds: array[float] = field(default_factory=lambda: array("d"))
    inside: dict[str, tuple[float, int]] = field(default_factory=dict)


def percentile(values: Iterable[float], share: float) -> float:
    """Return the least value that at least this share of all is at or below; 0 of none.

    >>> percentile([3.0, 1.0, 2.0, 4.0], 0.5)
    2.0
    >>> percentile([3.0, 1.0, 2.0, 4.0], 0.95)
    4.0
    """
    ordered = sorted(values)
    return ordered[max(math.ceil(share * len(ordered)) - 1, 0)] if ordered else 0.0


class Profile:
    """Counts while ticks run. `lines` and `report` give what was counted; so does its text.

    Attributes:
        deep: Whether DuckDB's own profiler looks into the statements of queries.
        elements_in: Elements that ticks took in.
        elements_out: Elements that queries wrote.
    """

    def __init__(
        self, operators: Callable[[str], Sequence[OperatorRow]], *, deep: bool = False
    ) -> None:
        """Begin with nothing.

        Args:
            operators: Gives the operators of a query's plan, none of one that is gone.
            deep: Whether to ask DuckDB's profiler too; costs time.
        """
        self.deep = deep
        self.elements_in = 0
        self.elements_out = 0
        self._operators = operators
        self._counts: dict[_Part, _Count] = {}
        self._ticks = array("d")
        self._now: dict[_Part, float] = {}
        self._frames: list[_Part] = []
        self._since = 0.0
        self._ticked = False

    # -- while ticks run --------------------------------------------------------------------------

    @contextmanager
    def part(self, name: str, step: Step | None = None) -> Iterator[None]:
        """Count a block, but for the frames inside it, to a statement or to the bookkeeping."""
        part = _Part(name, step)
        self._turn()
        self._frames.append(part)
        try:
            yield
        finally:
            self._turn()
            self._frames.pop()

    def spent(self, name: str, seconds: float) -> None:
        """Count seconds of the bookkeeping that were spent before the turn of the call."""
        part = _Part(name)
        self._now[part] = self._now.get(part, 0.0) + seconds

    def _turn(self) -> None:
        """Give the time since the last turn to the frame that is open."""
        now = time.perf_counter()
        if self._frames:
            part = self._frames[-1]
            self._now[part] = self._now.get(part, 0.0) + now - self._since
        self._since = now

    def _count(self) -> _Count:
        part = self._frames[-1] if self._frames else _Part(BETWEEN)
        return self._counts.setdefault(part, _Count())

    @property
    def looks_inside(self) -> bool:
        """Whether DuckDB's profiler is asked about the statement that ran."""
        return self.deep and bool(self._frames)

    def ran(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Count the statement that a connection has just run."""
        self._count().runs += 1
        if self.looks_inside:
            self.inside(connection.get_profiling_information(format="json"))

    def wrote(self, rows: int) -> None:
        """Count rows that a statement wrote."""
        self._count().rows += rows

    def inside(self, text: str) -> None:
        """Count what DuckDB's profiler said, as JSON, of the last statement."""
        count = self._count()
        found = count.inside
        with self.part(PROFILER):
            said = json.loads(text)
            count.scanned += int(said.get("query", {}).get("total_rows_scanned") or 0)
            steps = [(s, float(said[s]["total_time"]), 0) for s in PLANNING if s in said]
            for name, seconds, rows in (*steps, *_operators(said)):
                before = found.get(name, (0.0, 0))
                found[name] = (before[0] + seconds, before[1] + rows)

    def ticked(self, taken: int, written: int) -> None:
        """Hear that a tick is done, but for its commit.

        Args:
            taken: Elements that it took in.
            written: Elements that its queries wrote.
        """
        self._ticked = True
        self.elements_in += taken
        self.elements_out += written

    def committed(self) -> None:
        """Hear that a transaction has ended; a tick in it is complete now."""
        if not self._ticked:
            return
        self._ticked = False
        number = len(self._ticks)
        self._ticks.append(sum(self._now.values()))
        for part, seconds in self._now.items():
            count = self._counts.setdefault(part, _Count())
            count.numbers.append(number)
            count.seconds.append(seconds)
        self._now.clear()

    # -- afterwards -------------------------------------------------------------------------------

    @property
    def ticks(self) -> int:
        """How many ticks ran."""
        return len(self._ticks)

    def lines(self) -> list[Line]:
        """Return the lines: queries, each with its operators and their statements; bookkeeping."""
        counted = {part: count for part, count in self._counts.items() if count.numbers}
        found = []
        for query in dict.fromkeys(part.name for part in counted if part.step is not None):
            mine = {p: c for p, c in counted.items() if p.name == query and p.step is not None}
            found.append(self._line("query", query, None, query, mine.values()))
            described = {o.number: f"{o.kind}: {o.description}" for o in self._operators(query)}
            numbers = {part.step.operator for part in mine if part.step is not None}
            for number in sorted(numbers):
                steps = {
                    part.step: count
                    for part, count in mine.items()
                    if part.step is not None and part.step.operator == number
                }
                what = described.get(number, "of a plan that no longer exists")
                found.append(self._line("operator", query, number, what, steps.values()))
                for step, count in steps.items():
                    found.append(self._line("statement", query, number, step.purpose, [count]))
                    found += self._inside(query, number, count)
        found += [
            self._line("bookkeeping", None, None, name, [counted[_Part(name)]])
            for name in BOOKKEEPING
            if _Part(name) in counted
        ]
        return found

    def _line(
        self, level: str, query: str | None, operator: int | None, what: str,
        counts: Iterable[_Count],
    ) -> Line:  # fmt: skip
        ticks: dict[int, float] = {}
        runs = rows = scanned = 0
        for count in counts:
            for number, seconds in zip(count.numbers, count.seconds, strict=True):
                ticks[number] = ticks.get(number, 0.0) + seconds
            runs, rows = runs + count.runs, rows + count.rows
            scanned += count.scanned
        if level == "bookkeeping":
            rows = self.elements_in if what == INGEST else 0
        return Line(
            level, query, operator, what, sum(ticks.values()) * 1e3,
            self._share(sum(ticks.values())), percentile(ticks.values(), 0.5) * 1e3,
            percentile(ticks.values(), 0.95) * 1e3, rows or None, runs,
            scanned if self.deep else None,
        )  # fmt: skip

    def _inside(self, query: str, operator: int, count: _Count) -> Iterator[Line]:
        for name, (seconds, rows) in sorted(count.inside.items(), key=lambda item: -item[1][0]):
            ms, share = seconds * 1e3, self._share(seconds)
            yield Line("duckdb", query, operator, name, ms, share, None, None, rows or None, None)

    def _share(self, seconds: float) -> float:
        total = sum(self._ticks)
        return seconds / total if total else 0.0

    def report(self) -> dict[str, Any]:
        """Return all that was counted as plain values, such as JSON has; times in milliseconds."""
        return {
            "ticks": self.ticks,
            "elements_in": self.elements_in,
            "elements_out": self.elements_out,
            "ms": sum(self._ticks) * 1e3,
            "p50_ms": percentile(self._ticks, 0.5) * 1e3,
            "p95_ms": percentile(self._ticks, 0.95) * 1e3,
            "lines": [asdict(line) for line in self.lines()],
        }

    def __str__(self) -> str:
        """Return the lines as text."""
        shown = [f"{'ms':>10} {'share':>6} {'p50 ms':>9} {'p95 ms':>9} {'rows':>12}"]
        shown[0] += f" {'scanned':>12}" if self.deep else ""
        indents = {"operator": "  ", "statement": "    ", "duckdb": "      "}
        for line in self.lines():
            p50, p95 = ("" if x is None else f"{x:.2f}" for x in (line.p50_ms, line.p95_ms))
            rows = "" if line.rows is None else f"{line.rows:,}"
            rows = f"{rows:>12}"
            if self.deep:
                rows += " " * 13 if line.scanned is None else f" {line.scanned:>12,}"
            number = f"{line.operator} " if line.level == "operator" else ""
            shown.append(
                f"{line.ms:10.1f} {line.share:6.1%} {p50:>9} {p95:>9} {rows}  "
                f"{indents.get(line.level, '')}{number}{line.what}"
            )
        return "\n".join(shown)


def _operators(found: dict[str, Any]) -> Iterator[tuple[str, float, int]]:
    """Yield name, seconds and rows of DuckDB's operators, however deep they lie."""
    for node in found.get("operator") or found.get("children") or ():
        yield node["type"], float(node.get("timing") or 0), int(node.get("intermediate_rows") or 0)
        yield from _operators({"children": node.get("children")})
