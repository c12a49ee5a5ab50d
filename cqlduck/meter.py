"""A progress bar for long calls, on a terminal or in a notebook.

A thread checks now and then whether a call has been running for a second, and shows a bar until it
returns. It reads the progress of the call and changes nothing, so a short call, or one whose output
goes elsewhere, costs nothing. Rich draws the bar, and is imported when the first one is shown.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID

DELAY = 1.0
"""How many seconds a call runs before its bar is shown."""

BETWEEN = 0.1
"""How many seconds lie between two looks."""

IDLE = 5.0
"""After how many seconds without a call the thread ends."""


def is_seen() -> bool:
    """Return whether somebody looks at what is written: at a terminal, or in a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if type(shell).__name__ == "ZMQInteractiveShell":
        return True
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):
        # there is none, or it is closed
        return False


Fraction = Callable[[], float | None]
"""Returns the fraction of a call that is done, from 0 to 1, or None if it is unknown."""


@dataclass(frozen=True)
class Call:
    """A call that runs.

    Attributes:
        what: What it does, in a few words.
        share: Which share of it is done.
        begun: When it began, by `time.monotonic()`.
    """

    what: str
    share: Fraction
    begun: float = field(default_factory=time.monotonic)


class Meter:
    """Shows how far calls are.

    Args:
        is_on: Whether to show anything; None for where somebody looks.
        console: Where to show it; by default on stderr.
        delay: How many seconds a call runs before its bar is shown.
    """

    def __init__(
        self, is_on: bool | None = None, console: Console | None = None, delay: float = DELAY
    ) -> None:
        """Show nothing yet."""
        self.is_on = is_seen() if is_on is None else is_on
        self._console = console
        self._delay = delay
        self._lock = threading.Lock()
        self._call: Call | None = None
        self._shown: tuple[Progress, TaskID] | None = None
        self._thread: threading.Thread | None = None

    @contextlib.contextmanager
    def during(self, what: str, way: Callable[[], Fraction] | None = None) -> Iterator[None]:
        """Show a bar while the block runs, if that takes long; a block inside a block has none.

        Args:
            what: What the block does, in a few words.
            way: Is called before the block; what it returns says how far that is.
        """
        if not self.is_on or self._call is not None:
            yield
            return
        share = (lambda: None) if way is None else way()
        with self._lock:
            self._call = Call(what, share)
            if self._thread is None:
                self._thread = threading.Thread(target=self._watch, daemon=True)
                self._thread.start()
        try:
            yield
        finally:
            with self._lock:
                self._call = None
                self._clear()

    def _watch(self) -> None:
        quiet = time.monotonic()
        while True:
            time.sleep(BETWEEN)
            with self._lock:
                if self._call is not None:
                    quiet = time.monotonic()
                    self._look(self._call)
                elif time.monotonic() - quiet > IDLE:
                    self._thread = None
                    return

    def _look(self, call: Call) -> None:
        """Draw the bar of a call that has run for a while; the lock is held."""
        if time.monotonic() - call.begun < self._delay:
            return
        if self._shown is None:
            self._shown = self._bar(call)
        progress, task = self._shown
        share = call.share()
        progress.update(task, total=None if share is None else 1.0, completed=share or 0.0)
        progress.refresh()

    def _bar(self, call: Call) -> tuple[Progress, TaskID]:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TimeElapsedColumn(),
            console=self._console or Console(stderr=True),
            auto_refresh=False,
            transient=True,
        )
        progress.start()
        return progress, progress.add_task(call.what, total=None)

    def _clear(self) -> None:
        shown, self._shown = self._shown, None
        if shown is not None:
            shown[0].stop()
