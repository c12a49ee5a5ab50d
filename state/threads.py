"""How many threads run statements: all, or one while ticks are small.

DuckDB (release 2.0) hands the parts of a statement to its threads, and in a small statement to wake
them takes longer than the work. Of ticks of 100 to 10,000 events with one thread instead of two,
10 to 25 % of the time and a third of the processor's work went away. Of ticks of 100,000 it
depends: what such a tick reads of its input one thread reads anyway, and another may read the next
batch; but a large state all read faster. So ticks up to a row group are a point of choice
(`cqlduck.streamon.threads`).

To change the setting takes 0.2 ms, so it is changed when several such ticks have followed each
other and nothing else was run between them, and changed back for anything else.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

FEW = 20_000
"""How many elements come in a small tick at most."""

SOME = 122_880
"""How many come in a tick at most that may be as fast with one thread: a row group."""

IN_A_ROW = 3
"""After how many small ticks one thread goes on alone."""

LONG = 0.1
"""Seconds for a query in a tick that was not so small: elements may leave that came long ago."""


QUIET = 2.0
"""Seconds after a read in which all threads stay: what it gave may be looked at once more."""


class Threads:
    """The setting `threads` of a database.

    Args:
        execute: Runs a statement and returns its rows.
    """

    def __init__(self, execute: Callable[[str], list[tuple[Any, ...]]]) -> None:
        """Begin with all."""
        self._execute = execute
        self._small = 0
        self._wanted = IN_A_ROW
        self._before: int | None = None
        self._lock = threading.Lock()
        self._reading = 0
        self._quiet_from = 0.0

    @property
    def is_one(self) -> bool:
        """Whether one thread runs statements because ticks are small."""
        return self._before is not None

    def may_be_one(self, elements: int) -> bool:
        """Return whether a tick in which so many elements come may run on one thread.

        It may not while somebody reads, and not before some such ticks have followed each other.
        """
        if elements > SOME:
            self.all()
            return False
        self._small += 1
        reads = self._reading > 0 or time.monotonic() < self._quiet_from
        return self._small >= self._wanted and not reads

    def one(self) -> None:
        """Let one thread run what comes next."""
        if not self.is_one:
            (before,) = self._execute("SELECT current_setting('threads')")[0]
            if before > 1:
                self._execute("SET threads = 1")
                self._before = before
            else:
                self._small = 0

    def took(self, seconds: float) -> None:
        """Take note of what a tick took for each query; after a long one try half as often."""
        if self.is_one and seconds > LONG:
            self.all()
            self._wanted *= 2

    def all(self) -> None:
        """Let as many threads as before run what comes next, which may be large."""
        self._small = 0
        self.give_back()

    def give_back(self) -> None:
        """Let as many threads as before run this tick, and perhaps one thread the next."""
        if self._before is not None:
            self._execute(f"SET threads = {self._before}")
            self._before = None

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """Let all threads read in the block, which may run beside ticks."""
        with self._lock:
            self._reading += 1
        try:
            yield
        finally:
            with self._lock:
                self._reading -= 1
            self._quiet_from = time.monotonic() + QUIET
