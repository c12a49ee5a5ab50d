"""Buffers: rows in memory that belong to the database and are not in it yet.

Reading and writing a few rows costs less in memory than in tables. So the rows of streams
(`input_buffer`), the elements of queries (`output_buffer`) and the record of ticks (`ticks`) may
wait in buffers. A buffer takes part in transactions: what it keeps is a value, and it goes back to
the one with which a transaction began if that is undone. Whoever reads the database flushes it
first (`Engine.reading`).
"""

from __future__ import annotations

from typing import Protocol


class Buffer(Protocol):
    """Rows in memory that are to go into tables; they, or their parts, are `Participant`s."""

    @property
    def holds_some(self) -> bool:
        """Whether there are any that a reader would miss."""
        ...

    def flush(self) -> None:
        """Write them; inside a transaction."""
        ...
