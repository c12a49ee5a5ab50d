"""The record of ticks, `cql.ticks`, whose last rows may be buffered in memory.

In a file a tick's row is written in its transaction. In memory it is written together with others,
which saves half a millisecond a tick.
"""

from __future__ import annotations

from collections.abc import Sequence

from cqlduck.state import catalog_rows
from cqlduck.state.connection import Database

LATE = 64
"""How many rows wait at most."""


class TickBuffer:
    """Rows of the record that are not written yet.

    Args:
        database: The database.
    """

    def __init__(self, database: Database) -> None:
        """Begin with none."""
        self._database = database
        database.participants.append(self)
        self.kept: tuple[catalog_rows.TickRow, ...] = ()
        """The rows that wait."""

    def roll_back(self, kept: tuple[catalog_rows.TickRow, ...]) -> None:
        """Let those wait again that did then."""
        self.kept = kept

    @property
    def holds_some(self) -> bool:
        """Whether rows wait."""
        return bool(self.kept)

    def add(self, rows: Sequence[catalog_rows.TickRow], *, may_wait: bool) -> None:
        """Take rows; write them and those that wait, unless they may wait too."""
        self.kept += tuple(rows)
        if self.kept and not (rows and may_wait and len(self.kept) < LATE):
            catalog_rows.write_ticks(self._database, self.kept)
            self.kept = ()

    def flush(self) -> None:
        """Write the rows."""
        self.add((), may_wait=False)
