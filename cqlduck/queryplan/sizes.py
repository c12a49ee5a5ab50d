"""How many rows the tables of a plan have, and about how many bytes these take."""

from __future__ import annotations

from collections.abc import Callable

import duckdb

from cqlduck.state.connection import Database

SAMPLED_ROWS = 1_000
"""From how many rows of a table it follows how many bytes all of them take."""

Size = Callable[[str], tuple[int | None, int | None]]
"""Returns how many rows a table has, and about how many bytes these take."""


def size(database: Database, table: str) -> tuple[int | None, int | None]:
    """Return how many rows a table has, and about how many bytes these take, as Arrow holds them.

    Both are None if the table is not there yet.
    """
    try:
        rows = int(database.value(f"SELECT count(*) FROM {table}"))
        sample = database.arrow(f"FROM {table} LIMIT {SAMPLED_ROWS}")
    except duckdb.CatalogException:
        return None, None
    return rows, round(sample.nbytes * rows / max(sample.num_rows, 1))
