"""The display of a running application, and its answers afterwards.

`Display` shows event time, speed and answers: live on a terminal, as a line every few seconds
elsewhere.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sysconfig
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any

from rich import box
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from cqlduck.application import batches
from cqlduck.connection import Connection
from cqlduck.errors import Error, QueryError
from cqlduck.state.connection import quoted
from cqlduck.state.profile import BOOKKEEPING, Line, Profile
from cqlduck.state.registered import FAILED, Query

_PLAIN_WIDTH = 120
_WORDS = 60  # letters of an operator's description in a profile
_LEAST = 0.001  # share from which one of DuckDB's own operators is worth a line
_SECONDS_BETWEEN_LINES = 5.0
_SPEED_OVER_SECONDS = 10.0
# Answers are read at most this often, and in at most this share of the time.
_SECONDS_BETWEEN_ANSWERS = 1.0
_SHARE_FOR_ANSWERS = 0.1


def console(*, stderr: bool = False) -> Console:
    """Return a console; one that is no terminal is wide, as nothing wraps there."""
    found = Console(stderr=stderr, highlight=False)
    if found.is_terminal:
        return found
    return Console(stderr=stderr, highlight=False, width=_PLAIN_WIDTH)


class Display:
    """Shows a connection that follows a drop zone; a context manager.

    Attributes:
        bars: Gives progress towards known ends: a label, how far it is, and where the end is.
        note: What is going on besides, in a few words.
    """

    def __init__(self, con: Connection, out: Console) -> None:
        """Begin to count."""
        self.con = con
        self.out = out
        self.bars: Callable[[], list[tuple[str, int, int]]] = list
        self.note = ""
        self.has_warned = False
        self._first = con.engine.elements_in
        self._spinner = Spinner("dots")
        self._begin = time.monotonic()
        self._speeds: deque[tuple[float, int]] = deque([(self._begin, 0)])
        self._next_line = self._begin
        self._next_answers = self._begin
        self._answers: RenderableType = Text()
        self._live = Live(console=out, auto_refresh=True, transient=True, refresh_per_second=8)

    def __enter__(self) -> Display:
        """Show the first state."""
        if self.out.is_terminal:
            self._live.start()
        self.update()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Clear the display; on a terminal, leave its last line."""
        if self.out.is_terminal:
            self._live.stop()
        if error is None:
            self.out.print(Text(self._line(whole=True)), soft_wrap=True)

    @property
    def events(self) -> int:
        """How many elements ticks have taken in since the display was made."""
        return self.con.engine.elements_in - self._first

    def warn(self, error: Error) -> None:
        """Show an error that does not end anything."""
        self.has_warned = True
        self.out.print(Text(f"error: {error}", style="red"), soft_wrap=True)

    def update(self) -> None:
        """Show how it is now."""
        now = time.monotonic()
        self._speeds.append((now, self.events))
        while now - self._speeds[0][0] > _SPEED_OVER_SECONDS and len(self._speeds) > 2:
            self._speeds.popleft()
        if not self.out.is_terminal:
            if now >= self._next_line:
                self._next_line = now + _SECONDS_BETWEEN_LINES
                self.out.print(Text(self._line()), soft_wrap=True)
            return
        if now >= self._next_answers:
            self._answers = self._moving()
            spent = time.monotonic() - now
            pause = max(_SECONDS_BETWEEN_ANSWERS, spent / _SHARE_FOR_ANSWERS)
            self._next_answers = time.monotonic() + pause
        self._live.update(Group(self._head(), *self._bars(), Text(), self._answers))

    def _speed(self, whole: bool = False) -> float:
        start, events = (self._begin, 0) if whole else self._speeds[0]
        return (self.events - events) / max(time.monotonic() - start, 0.001)

    def _facts(self, whole: bool = False) -> list[str]:
        engine = self.con.engine
        backfill, running = engine.backfill, engine.catalogue.running
        apart = backfill.frontier()
        return [
            f"event time {event_time(engine.shown(engine.frontier() if apart is None else apart))}",
            f"{self.events:,} events",
            f"{self._speed(whole):,.0f} a second",
            f"{batches(self.con):,} batches",
            *(
                f"{query.name} backfilled {backfill.fraction(query) or 0:.0%}"
                for query in running
                if query.backfill_to is not None
            ),
        ]

    def _line(self, whole: bool = False) -> str:
        ends = [f"{label} {done:,} of {total:,}" for label, done, total in self.bars()]
        return ", ".join([*self._facts(whole), *ends, *([self.note] if self.note else [])])

    def _head(self) -> RenderableType:
        self._spinner.update(text=Text("   ".join([*self._facts(), self.note]), style="bold"))
        return self._spinner

    def _bars(self) -> list[RenderableType]:
        grid = Table.grid(padding=(0, 1))
        for label, done, total in self.bars():
            bar = ProgressBar(total=total, completed=done, width=40)
            grid.add_row(Text(label), bar, Text(f"{done:,} of {total:,}"))
        return [grid]

    def _moving(self) -> RenderableType:
        """Return some rows of each answer, as many as the terminal has room for."""
        queries = list(self.con.engine.catalogue.queries.values())
        room = max(self.out.height - 8, 4)
        each = max(1, min(4, room // max(len(queries), 1)))
        table = Table(box=None, show_header=False, expand=True, padding=(0, 1))
        table.add_column(no_wrap=True, style="cyan")
        table.add_column(no_wrap=True, ratio=1, overflow="ellipsis")
        for query in queries[:room]:
            if query.state == FAILED:
                table.add_row(query.name, Text(query.error or "failed", style="red"))
                continue
            _, rows = head(self.con, query, each)
            lines = [" · ".join(shown(value) for value in row) for row in rows] or ["–"]
            for i in range(each):
                name = query.name if i == 0 else ""
                table.add_row(name, Text(lines[i] if i < len(lines) else ""))
        return table


# --- answers --------------------------------------------------------------------------------------


def event_time(text: str) -> str:
    """Return a frontier as shown by the engine, without its fraction of a second.

    >>> event_time("2013-01-01 23:59:59.999999")
    '2013-01-01 23:59:59'
    """
    return "–" if text == "none" else text.partition(".")[0]


def shown(value: object) -> str:
    """Return a value as a person writes it.

    >>> shown(1.23456789), shown(12.0), shown(None)
    ('1.23457', '12', '–')
    """
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, datetime):
        return event_time(str(value))
    return str(value)


def order_of(query: Query) -> str:
    """Return in which order an answer is shown: its own, or by all columns; a stream's newest."""
    if query.kind == "stream":
        return "ORDER BY _ts DESC"
    return "" if query.order_by else "ORDER BY ALL"


def head(con: Connection, query: Query, count: int) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Return the columns and some rows of an answer: the first, or a stream's newest."""
    found = con.sql(f"SELECT * FROM {quoted(query.name)} {order_of(query)} LIMIT {count}")
    return list(found.columns), found.fetchall()


def elements(con: Connection, name: str) -> int:
    """Return how many elements of a query are kept: insertions and deletions, each copy for one."""
    rows = con.changes(name).aggregate("coalesce(sum(abs(_weight)), 0)::BIGINT").fetchall()
    return int(rows[0][0])


def print_answers(
    con: Connection, out: Console, count: int = 5, *, with_elements: bool = False
) -> None:
    """Print the head of each answer as a table, and on request how many elements it took."""
    con.engine.bring_up(con.engine.behind())
    for query in list(con.engine.catalogue.queries.values()):
        if query.state == FAILED:
            out.print(Text(f"{query.name}: failed {query.error}", style="red"), soft_wrap=True)
            continue
        if query.promised is not None:
            out.print(Text(f"{query.name}: {query.state}", style="red"), soft_wrap=True)
            continue
        try:
            con.engine.refuse_failed(query)
        except QueryError as error:
            out.print(Text(f"{query.name}: {error.message}", style="red"), soft_wrap=True)
            continue
        columns, rows = head(con, query, count)
        total = con.sql(f"SELECT count(*) FROM {quoted(query.name)}").fetchall()[0][0]
        words = "newest of " if query.kind == "stream" else "of "
        size = f"{len(rows)} {words}{total:,}" if len(rows) < total else f"{total:,}"
        title = f"{query.name} ({size} row{'' if size == '1' else 's'})"
        if query.state != "active":
            title += f", {query.state}"
        if with_elements:
            title += f", {elements(con, query.name):,} elements"
        out.print(Text(title, style="bold"), soft_wrap=True)
        if rows:
            out.print(as_table(columns, rows))


def as_table(columns: list[str], rows: list[tuple[Any, ...]]) -> Table:
    """Return rows as people read them, numbers to the right."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for i, column in enumerate(columns):
        numeric = any(isinstance(row[i], (int, float)) for row in rows)
        table.add_column(Text(column), justify="right" if numeric else "left")
    for row in rows:
        table.add_row(*(Text(shown(value)) for value in row))
    return table


# --- profiles -------------------------------------------------------------------------------------


def print_profile(profile: Profile, out: Console) -> None:
    """Print where the time of ticks went; times are milliseconds."""
    said = profile.report()
    out.print(
        Text(
            f"{said['ticks']:,} ticks, {said['elements_in']:,} elements in, "
            f"{said['elements_out']:,} out, {said['ms']:,.0f} ms; a tick: "
            f"p50 {said['p50_ms']:,.2f} ms, p95 {said['p95_ms']:,.2f} ms",
            style="bold",
        ),
        soft_wrap=True,
    )
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("")
    scanned = ["scanned"] if profile.deep else []
    for name in ("ms", "share", "p50 ms", "p95 ms", "rows", "runs", *scanned):
        table.add_column(name, justify="right", no_wrap=True)
    styles = {"query": "bold", "statement": "dim", "duckdb": "dim"}
    level = None
    for line in profile.lines():
        if line.level == "duckdb" and line.share < _LEAST:
            continue
        if line.level in ("query", "bookkeeping") and level not in (None, line.level):
            table.add_section()
        level = line.level
        figures = _figures(line)[: 6 + len(scanned)]
        table.add_row(_of_profile(line), *figures, style=styles.get(line.level))
    out.print(table)


def _of_profile(line: Line) -> Text:
    if line.level == "bookkeeping":
        return Text(f"{line.what}: {BOOKKEEPING[line.what]}")
    indent = "  " * ("query", "operator", "statement", "duckdb").index(line.level)
    number = f"{line.operator} " if line.level == "operator" else ""
    what = line.what if len(line.what) <= _WORDS else f"{line.what[: _WORDS - 1]}…"
    return Text(f"{indent}{number}{what}")


def _figures(line: Line) -> tuple[str, ...]:
    return (
        f"{line.ms:,.1f}",
        f"{line.share:.1%}",
        *("" if x is None else f"{x:,.2f}" for x in (line.p50_ms, line.p95_ms)),
        *("" if x is None else f"{x:,}" for x in (line.rows, line.runs, line.scanned)),
    )


# --- checks ---------------------------------------------------------------------------------------

_STYLES = {"right": "green", "wrong": "red", "cannot be had": "yellow"}


def print_checks(lines: Sequence[Mapping[str, Any]], out: Console) -> None:
    """Print what the comparison of each synopsis came to."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("query", "operator", "synopsis", "state"):
        table.add_column(name)
    for line in lines:
        said, rows = str(line["state"]), line["rows"]
        text = Text(said, style=_STYLES[said])
        if rows:
            text.append(f": {rows:,} row{'' if rows == 1 else 's'} missing or too many")
        if line["reason"]:
            text.append(f": {line['reason']}", style="dim")
        number = "" if line["operator"] is None else f"{line['operator']} "
        what = f"{number}{line['description']}"
        shown_as = what if len(what) <= _WORDS else f"{what[: _WORDS - 1]}…"
        table.add_row(Text(line["query"]), Text(shown_as), Text(line["kind"]), text)
    out.print(table)
    counts = Counter(line["state"] for line in lines)
    out.print(Text(", ".join(f"{counts[state]:,} {state}" for state in _STYLES)))


# --- other programs -------------------------------------------------------------------------------


def program(name: str) -> str | None:
    """Return the command by which a program runs: as short as it can be typed, or None.

    Programs of this Python's environment come first, whether it is activated or not.
    """
    own = shutil.which(name, path=sysconfig.get_path("scripts"))
    usual = shutil.which(name)
    if own is None:
        return None if usual is None else name
    if usual is not None and os.path.realpath(usual) == os.path.realpath(own):
        return name
    with contextlib.suppress(ValueError):
        return str(Path(own).relative_to(Path.cwd()))
    return own


def duckdb_shell() -> str:
    """Return the command that opens the DuckDB shell.

    Raises:
        Error: It is not installed.
    """
    found = program("duckdb")
    if found is None:
        raise Error("the DuckDB shell is not installed", hint="pip install duckdb-cli")
    return found
