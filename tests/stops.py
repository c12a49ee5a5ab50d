"""Statements that stop: whichever is the last one of a change, the change is undone."""

from __future__ import annotations

from collections.abc import Callable

import cqlduck


class Stopped(Exception):
    """A statement does not run."""


class Stops:
    """A trace that lets some statements of a change run, and stops it at the next that writes."""

    def __init__(self) -> None:
        self._left: int | None = None

    def __call__(self, sql: str, parameters: object) -> None:
        """Count a statement."""
        if self._left is not None:
            self._left -= 1
            if self._left < 0 and not sql.startswith(("ROLLBACK", "SELECT", "FROM", "DESCRIBE")):
                raise Stopped(sql)

    def each(
        self, con: cqlduck.Connection, text: str, check: Callable[[int], None], step: int = 1
    ) -> int:
        """Execute a text that stops after ever more statements, until it does not.

        Args:
            con: The connection, whose trace this is.
            text: The text.
            check: What has to hold after each stop, by its number.
            step: How many statements more run the next time.

        Returns:
            After how many statements it no longer stopped.
        """
        return self.each_time(lambda: con.execute(text), check, step)

    def each_time(self, run: Callable[[], object], check: Callable[[int], None], step: int) -> int:
        """Run something that stops after ever more statements, until it does not; see `each`."""
        stops = 0
        while True:
            self._left = stops
            try:
                run()
            except (Stopped, cqlduck.Error):
                # an error of its own would come each time
                if self._left >= 0:
                    raise
                self._left = None
            else:
                self._left = None
                return stops
            stops += step
            check(stops)
