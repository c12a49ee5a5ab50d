"""The temporary tables of ticks: which are there and empty, and which several queries read.

A statement that would make an empty table is not run if the table is there and empty already.

Ten queries over one window do the same work on its arrivals ten times. If the result of a statement
does not depend on one query, its table is named after the statement: the first query that needs it
writes it, and the others read it, if their ticks have the same parameters. For ten queries that
joined the same two windows a tick of 100 elements took 41 ms before, and 30 with the cache.

Synopses are not cached so: each query may begin, stop and be amended at instants of its own.
"""

from __future__ import annotations

from collections.abc import Iterable

from cqlduck.state.connection import Database, quoted

LARGE_TABLE_ROWS = 20_000
"""Of more rows than this a shared table is not left behind: its statement may not come again."""


class Tables:
    """The temporary tables that queries make for each other.

    Args:
        database: The database.
    """

    def __init__(self, database: Database) -> None:
        """Begin without any."""
        self._database = database
        database.participants.append(self)
        self.kept = None
        self._empty: dict[str, str] = {}
        """Those that are there and empty, from whichever tick, and which statements made them."""
        self.made: dict[str, tuple[tuple[int, ...], int]] = {}
        """By name of a table that is there: with which parameters it was made, and its rows.

        Each tick begins without any: what was made before is of another tick, or undone.
        """
        self._left: set[str] = set()
        self._own: dict[str, set[str]] = {}
        """Those that one query alone makes, by its name."""
        self.large: set[str] = set()
        """Those of them that are not left behind."""

    def is_empty(self, table: str, made_by: str) -> bool:
        """Return whether a table is known to be there and empty, with the columns of a statement.

        Args:
            table: The table.
            made_by: The statement.
        """
        return self._empty.get(table) == made_by

    def wrote(self, table: str, rows: int, made_by: str | None, query: str | None) -> None:
        """Take note of what a statement has written.

        Args:
            table: The table.
            rows: How many rows.
            made_by: The statement, if it has made the table, and not added to it.
            query: The query, if it alone makes the table.
        """
        if query is not None:
            self._own.setdefault(query, set()).add(table)
        if rows:
            self._empty.pop(table, None)
        elif made_by is not None:
            self._empty[table] = made_by

    def note(self, table: str, given: tuple[int, ...], rows: int) -> None:
        """Take note of a table that others may need, made with some parameters."""
        self.made[table] = given, rows
        self._left.add(table)
        if rows > LARGE_TABLE_ROWS:
            self.large.add(table)

    def roll_back(self, kept: None) -> None:
        """Know of none that it is empty: those that the transaction has made are undone."""
        self._empty.clear()

    def discard(self, tables: Iterable[str]) -> None:
        """Drop tables that nobody else reads."""
        self._drop(set(tables))

    def end(self) -> None:
        """Drop what is large, at the end of a tick."""
        self._drop(self.large)

    def drop(self, query: str) -> None:
        """Drop those of a query that goes, and all that it may have been the last to need."""
        self._drop(self._own.pop(query, set()) | self._left)
        self._left.clear()

    def _drop(self, tables: set[str]) -> None:
        for table in sorted(tables):
            self._database.execute(f"DROP TABLE IF EXISTS temp.{quoted(table)}")
            self.made.pop(table, None)
            self._empty.pop(table, None)
        tables.clear()
