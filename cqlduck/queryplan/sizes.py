"""How many rows the tables of a plan have, and about how many bytes these take."""

from __future__ import annotations

from collections.abc import Callable

from cqlduck.state.connection import Database

SAMPLED_ROWS = 1_000
"""From how many rows of a table it follows how many bytes all of them take."""

Size = Callable[[str], tuple[int, int]]
"""Returns how many rows a table has, and about how many bytes these take."""


def size(database: Database, table: str) -> tuple[int, int]:
    """Return how many rows a table has, and about how many bytes these take, in Arrow."""
    rows = int(database.value(f"SELECT count(*) FROM {table}"))
    sample = database.arrow(f"FROM {table} LIMIT {SAMPLED_ROWS}")
    return rows, round(sample.nbytes * rows / max(sample.num_rows, 1))
