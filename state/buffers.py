"""Buffers: rows in memory that belong to the database and are not in it yet.

Reading and writing a few rows costs less in memory than in tables. So the rows of streams
(`input_buffer`), the elements of queries (`output_buffer`) and the record of ticks (`ticks`) may
wait in buffers. A buffer takes part in transactions: it is marked when one begins, and returns to
its mark if the transaction is rolled back. Every read of the database flushes the buffers first
(`Engine.reading`).
"""

from __future__ import annotations

from typing import Any, Protocol


class Participant(Protocol):
    """What has a state of its own besides the database, and takes part in transactions."""

    def mark(self) -> Any:
        """Return the state as it is now: a transaction begins."""
        ...

    def roll_back(self, mark: Any) -> None:
        """Go back to a state: the transaction is undone that began with it."""
        ...


class Buffer(Participant, Protocol):
    """Rows in memory that are to go into tables."""

    @property
    def holds_some(self) -> bool:
        """Whether there are any that a reader would miss."""
        ...

    def flush(self) -> None:
        """Write them; inside a transaction."""
        ...
