"""The row and column that does not fit, searched for in a separate DuckDB after an error.

DuckDB names the value that it could not cast, and not its place; and an error ends the transaction
in which it happens. So the place is searched for separately, by bisection: the first row at which
the same cast fails.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow as pa

from cqlduck.errors import first_line
from cqlduck.state.processes import never_let_go

_own = threading.local()


class _Holder:
    """Lives as long as its thread."""


def scratch() -> duckdb.DuckDBPyConnection:
    """Return a DuckDB of this thread without any user's data."""
    found: duckdb.DuckDBPyConnection | None = getattr(_own, "connection", None)
    try:
        if found is not None:
            found.execute("SELECT 1").fetchall()
            return found
    except duckdb.Error:
        # DuckDB failed at a value: its instance has to be replaced
        found = None
    found = duckdb.connect(":memory:", config={"threads": 1})
    found.execute("SET TimeZone = 'UTC'")
    _own.connection, _own.holder = found, _Holder()
    # a child has no more of this thread than what it would take apart at its end
    never_let_go(_own.holder, found)
    return found


def first_that_fails(count: int, fails: Callable[[int, int], str | None]) -> tuple[int, str] | None:
    """Return the first of some rows that fails and why, or None if none does.

    Args:
        count: How many rows there are.
        fails: Says why the rows from one number up to before another fail, or None.
    """
    low, high = 0, count
    why = fails(low, high)
    if why is None:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        found = fails(low, middle)
        if found is None:
            low = middle
        else:
            high, why = middle, found
    return low, why


@dataclass(frozen=True)
class Place:
    """A value that does not fit.

    Attributes:
        row: Its row, from 0.
        field: Its column.
        why: What DuckDB says.
    """

    row: int
    field: str
    why: str


def of_misfit(table: pa.Table, casts: Sequence[tuple[str, str]]) -> Place | None:
    """Return the first row of a table in which a value cannot be cast, or None.

    Args:
        table: The rows.
        casts: Columns, and the cast of each as SQL over the table.
    """

    def failure(cast: str, low: int, high: int) -> str | None:
        own = scratch()
        own.register("misfit", table.slice(low, high - low))
        try:
            return _failure(own, f"SELECT {cast} AS x FROM misfit")
        finally:
            own.unregister("misfit")

    return _first(table.num_rows, casts, failure)


def of_misfit_in_file(path: Path, count: int, casts: Sequence[tuple[str, str]]) -> Place | None:
    """Return the first row of a Parquet file in which a value cannot be cast, or None.

    Args:
        path: The file.
        count: How many rows it has.
        casts: Columns, and the cast of each as SQL over the file.
    """
    file = str(path).replace("'", "''")

    def failure(cast: str, low: int, high: int) -> str | None:
        rows = f"FROM read_parquet('{file}', hive_partitioning = false)"
        some = f"SELECT * {rows} LIMIT {high - low} OFFSET {low}"
        return _failure(scratch(), f"SELECT {cast} AS x FROM ({some}) AS misfit")

    return _first(count, casts, failure)


def _first(
    count: int,
    casts: Sequence[tuple[str, str]],
    failure: Callable[[str, int, int], str | None],
) -> Place | None:
    """Return the first place of all columns' at which a cast of some rows fails."""
    found = []
    for field, cast in casts:
        first = first_that_fails(count, functools.partial(failure, cast))
        if first is not None:
            found.append(Place(first[0], field, first[1]))
    return min(found, key=lambda place: place.row, default=None)


def _failure(own: duckdb.DuckDBPyConnection, query: str) -> str | None:
    """Return why a query fails, or None."""
    try:
        own.execute(f"CREATE OR REPLACE TEMP TABLE fits AS {query}")
    except duckdb.Error as error:
        return first_line(error)
    except UnicodeDecodeError:
        # DuckDB quotes the value in its message, and cannot hand it over
        return "bytes that are no text"
    return None
