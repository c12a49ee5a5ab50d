"""Fills the cache of a join, within a limit.

A cache is filled in the transaction of a tick, by one join over the stores. How many rows that
makes is modelled before; where the model errs, the statement ends at a number of rows, or is
interrupted after a number of seconds. Then the tick is undone with it, and runs once more without
the cache.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

import duckdb

from cqlduck.errors import DatabaseError
from cqlduck.rewrite.statements.filling import Filled
from cqlduck.state.connection import Database
from cqlduck.state.interrupts import interrupted_after


@dataclass(frozen=True)
class Limit:
    """What filling a cache may take.

    Attributes:
        rows: How many rows the cache may have.
        seconds: How long the statement may run.
    """

    rows: int
    seconds: float


class LimitExceeded(DatabaseError):
    """A cache would have more rows, or take longer to be filled, than it may.

    Attributes:
        operator: The number of its join.
        what: What was exceeded, in words.
        seconds: What was spent on it.
    """

    operator: int = 0
    what: str = ""
    seconds: float = 0.0

    @classmethod
    def of(cls, operator: int, what: str, seconds: float) -> LimitExceeded:
        """Return the error that says what was exceeded."""
        error = cls(f"the cache of operator {operator} was given up: {what}")
        error.operator, error.what, error.seconds = operator, what, seconds
        return error


def fill(database: Database, one: Filled, instants: Mapping[str, int], limit: Limit | None) -> int:
    """Fill a cache with its content at the frontier; return how many rows it has.

    Args:
        database: The database, inside the transaction of a tick.
        one: The cache, which is empty, and the statement.
        instants: The parameters of the tick.
        limit: What that may take; None is any.

    Raises:
        LimitExceeded: It would take more. The transaction has to be undone.
    """
    if one.sql is None:
        return 0
    given = {name: instants[name] for name in one.parameters}
    if limit is None:
        ((rows,),) = database.execute(one.sql, given)
        return int(rows)
    operator, started = one.synopsis.operator, time.perf_counter()
    try:
        with interrupted_after(database.connection, limit.seconds):
            ((rows,),) = database.execute(f"{one.sql}\nLIMIT {limit.rows + 1}", given)
    except duckdb.InterruptException as error:
        # somebody who calls `interrupt` gets another error
        raise _too_long(operator, limit, time.perf_counter() - started) from error
    seconds = time.perf_counter() - started
    if rows > limit.rows:
        raise LimitExceeded.of(operator, f"it has more than {limit.rows} rows", seconds)
    if seconds > limit.seconds:
        # it ended before it was interrupted
        raise _too_long(operator, limit, seconds)
    return int(rows)


def _too_long(operator: int, limit: Limit, seconds: float) -> LimitExceeded:
    what = f"to fill it took longer than {limit.seconds:.2f} s"
    return LimitExceeded.of(operator, what, seconds)
