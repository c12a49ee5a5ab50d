"""The statements of ticks, which come again and again: DuckDB parses each once.

On few rows a fourth of a statement's time is parsing. So from its second run on a statement is a
prepared one. A table cannot be made by a prepared statement: one that a step makes anew is emptied
and filled instead, as long as it is small and has the columns that the step gives it. What is
emptied leaves traces behind, so now and then it is made anew after all.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import duckdb

from cqlduck.rewrite.compile import Step

REFILLS = 64
"""How often a table is emptied before it is made anew."""

SMALL = 10_000
"""How many rows a table that is filled again had at most the last time."""


@dataclass
class _Made:
    """A temporary table that is there."""

    columns: tuple[tuple[object, ...], ...]
    rows: int
    fills: int = 0


@dataclass
class Steps:
    """What of the steps is prepared on a connection, whose SQL `execute` runs."""

    execute: Callable[..., duckdb.DuckDBPyConnection]
    _names: dict[str, str] = field(default_factory=dict)
    _seen: set[str] = field(default_factory=set)
    _columns: dict[str, tuple[tuple[object, ...], ...]] = field(default_factory=dict)
    _made: dict[str, _Made] = field(default_factory=dict)
    _numbers: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    def run(self, step: Step, instants: Mapping[str, int | None]) -> int:
        """Run a step; return how many rows it wrote."""
        if step.makes is None:
            if step.sql in self._seen:
                return self._execute(step.sql, instants)
            self._seen.add(step.sql)
            return _written(self.execute(step.sql, instants))
        made = self._made.get(step.makes)
        if (
            made is not None
            and made.fills < REFILLS
            and made.rows <= SMALL
            and made.columns == self._columns.get(step.sql)
        ):
            self.execute(f'TRUNCATE temp."{step.makes}"')
            made.rows = self._execute(_filling(step), instants)
            made.fills += 1
            return made.rows
        rows = _written(self.execute(step.sql, instants))
        if step.sql not in self._columns:
            found = self.execute(f'DESCRIBE temp."{step.makes}"').fetchall()
            self._columns[step.sql] = tuple((row[0], row[1]) for row in found)
        self._made[step.makes] = _Made(self._columns[step.sql], rows)
        return rows

    def _execute(self, sql: str, instants: Mapping[str, int | None]) -> int:
        name = self._names.get(sql)
        if name is None:
            name = f"cql_step_{next(self._numbers)}"
            self.execute(f"PREPARE {name} AS {sql}")
            self._names[sql] = name
        given = ", ".join(
            f"{key} := CAST({'NULL' if value is None else value} AS BIGINT)"
            for key, value in instants.items()
        )
        return _written(self.execute(f"EXECUTE {name}({given})" if given else f"EXECUTE {name}"))

    def rolled_back(self) -> None:
        """Take no table for granted any more."""
        self._made.clear()

    def forget(self, steps: Iterable[Step]) -> None:
        """Let go of what is known of steps."""
        for step in steps:
            self._seen.discard(step.sql)
            self._columns.pop(step.sql, None)
            for sql in (step.sql, _filling(step)):
                name = self._names.pop(sql, None)
                if name is not None:
                    self.execute(f"DEALLOCATE {name}")


def _filling(step: Step) -> str:
    """Return the statement that fills the table which a step makes, and which is there already."""
    _, _, query = step.sql.partition(" AS\n")
    return f'INSERT INTO temp."{step.makes}"\n{query}'


def _written(result: duckdb.DuckDBPyConnection) -> int:
    return sum(int(row[0]) for row in result.fetchall())
