"""The number of threads that run statements: all, or one while ticks are small.

DuckDB (release 2.0) distributes the parts of a statement to its threads, and in a small statement
waking them takes longer than the work. Ticks of 100 to 10,000 events took 10 to 25 % less time with
one thread instead of two, and a third less of the processor. But that depends: a few elements may
meet a large state, which all threads read faster, or change a thousand groups; of many, one thread
reads the arrivals anyway, and another may prefetch the next batch. So for ticks up to a row group
the number is a point of choice (`cqlduck.streamon.threads`).

Changing the setting takes 0.2 ms, so it is changed after several such ticks in a row with nothing
else between them, and changed back for anything else.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from cqlduck.state.row_groups import ROW_GROUP_ROWS

MEDIUM_TICK_ELEMENTS = ROW_GROUP_ROWS
"""How many elements come in a tick at most that may be as fast with one thread: a row group."""

IN_A_ROW = 3
"""After how many small ticks one thread goes on alone."""

AFTER_READ_SECONDS = 2.0
"""Seconds after a read in which all threads stay: what it gave may be looked at once more."""


class Threads:
    """The setting `threads` of a database.

    Args:
        execute: Runs a statement and returns its rows.
    """

    def __init__(self, execute: Callable[[str], list[tuple[Any, ...]]]) -> None:
        """Begin with all."""
        self._execute = execute
        self.small = 0
        """How many small ticks have followed each other."""
        self.before: int | None = None
        """How many threads there were before one goes on alone, while it does."""
        self._lock = threading.Lock()
        self.readers = 0
        """How many read, beside ticks."""
        self.quiet_from = 0.0
        """Until when what was read may be looked at once more."""

    @property
    def is_one(self) -> bool:
        """Whether one thread runs statements because ticks are small."""
        return self.before is not None

    def one(self) -> None:
        """Let one thread run what comes next."""
        if not self.is_one:
            (before,) = self._execute("SELECT current_setting('threads')")[0]
            if before > 1:
                self._execute("SET threads = 1")
                self.before = before
            else:
                self.small = 0

    def all(self) -> None:
        """Let as many threads as before run what comes next, which may be large."""
        self.small = 0
        if self.before is not None:
            self.give_back()

    def give_back(self) -> None:
        """Let as many threads as before run this tick, and perhaps one thread the next."""
        if self.before is not None:
            self._execute(f"SET threads = {self.before}")
            self.before = None

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """Let all threads read in the block, which may run beside ticks."""
        with self._lock:
            self.readers += 1
        try:
            yield
        finally:
            with self._lock:
                self.readers -= 1
            self.quiet_from = time.monotonic() + AFTER_READ_SECONDS
