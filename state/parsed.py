"""A cache of parsed statements: DuckDB parses each once.

On few rows a fourth of a statement's time is parsing. So from its second run on a statement is
passed to DuckDB as it was parsed then. Preparing it would gain no more: DuckDB (release 2.0) binds
and plans a prepared statement anew at each EXECUTE.
"""

from __future__ import annotations

from collections import OrderedDict

import duckdb

MAX_STATEMENTS = 1_000
"""How many statements are remembered; those that have not come for longest are let go."""

MAX_CHARACTERS = 50_000
"""Of how many characters: a text with many values in it does not come again."""


class Parsed:
    """What was parsed of the statements that run on a connection."""

    def __init__(self) -> None:
        """Begin without any."""
        self._known: OrderedDict[str, duckdb.Statement | None] = OrderedDict()

    def statement(self, sql: str) -> str | duckdb.Statement:
        """Return a statement as it was parsed, if it has come before; else its text."""
        if len(sql) > MAX_CHARACTERS:
            return sql
        if sql not in self._known:
            self._remember(sql, None)
            return sql
        self._known.move_to_end(sql)
        found = self._known[sql]
        if found is None:
            statements = duckdb.extract_statements(sql)
            if len(statements) != 1:
                return sql
            found = self._known[sql] = statements[0]
        return found

    def expect(self, sql: str, statement: duckdb.Statement | None = None) -> None:
        """Parse a statement that is going to come, unless it is given as it was parsed."""
        if len(sql) <= MAX_CHARACTERS and sql not in self._known:
            self._remember(sql, statement or duckdb.extract_statements(sql)[0])

    def _remember(self, sql: str, statement: duckdb.Statement | None) -> None:
        self._known[sql] = statement
        if len(self._known) > MAX_STATEMENTS:
            self._known.popitem(last=False)
