"""The difference of a statement or a refresh: a relation's content before and after it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import duckdb

from cqlduck.errors import NotSupportedError
from cqlduck.rewrite.plan import Column
from cqlduck.rewrite.text.time import Instant
from cqlduck.state import arrivals, relations
from cqlduck.state.columns import same_rows, typed
from cqlduck.state.connection import Database, quoted
from cqlduck.state.registered import Input
from cqlduck.state.relation_buffer import RelationBuffer

BEFORE = "temp._cql_content_before"
AFTER = "temp._cql_content_after"
_DIFFERENCE = "temp._cql_difference"


@contextlib.contextmanager
def table_of(
    database: Database, thing: Input, columns: tuple[Column, ...], *, with_key: bool
) -> Iterator[str]:
    """Make a temporary table under an input's own name for the block; yield the name as SQL.

    Args:
        database: The database, inside a transaction.
        thing: The input.
        columns: The columns of the table.
        with_key: Whether its primary key finds conflicts.

    Raises:
        NotSupportedError: DuckDB has no index over a type of the key, so finds no conflicts.
    """
    listed = typed(columns)
    if with_key:
        listed += f", UNIQUE ({', '.join(map(quoted, thing.primary_key))})"
    try:
        database.execute(f"CREATE TEMP TABLE {quoted(thing.name)} ({listed})")
    except duckdb.InvalidTypeException as error:
        raise NotSupportedError(
            f"ON CONFLICT on {thing.name}: DuckDB has no index over the types of its primary key",
            hint="use UPDATE and INSERT, or upsert by append",
        ) from error
    name = f"temp.{quoted(thing.name)}"
    try:
        yield name
    finally:
        # after an error the transaction is over, and the table with it
        with contextlib.suppress(duckdb.Error):
            database.execute(f"DROP TABLE {name}")


def fill(database: Database, name: str) -> None:
    """Insert `BEFORE` into a table that has its columns."""
    database.execute(f"INSERT INTO {name} SELECT * FROM {BEFORE}")


def write_before(
    database: Database, thing: Input, instant: Instant, buffer: RelationBuffer, *, strict: bool
) -> None:
    """Write the content of a relation at an instant, what is pending included, into `BEFORE`.

    Pending elements without effect are recorded.

    Args:
        database: The database, inside a transaction.
        thing: The relation.
        instant: The instant.
        buffer: The elements that are not in the relation's queue yet.
        strict: Whether an element without effect is an error.

    Raises:
        WrongElement: With `strict`, a deletion of what is not there or a second tuple under a key.
    """
    content, judged = relations.content_at(database, thing, instant, buffer)
    database.execute(f"CREATE OR REPLACE TEMP TABLE _cql_content_before AS {content}")
    if judged:
        relations.leave_effective(database, thing, instant, strict=strict)


def write_after(database: Database, listed: str, source: str) -> None:
    """Write rows, as SQL over a source, into `AFTER`."""
    database.execute(
        f"CREATE OR REPLACE TEMP TABLE _cql_content_after AS SELECT {listed} FROM {source}"
    )


def rows_after(thing: Input, stamp: str) -> arrivals.Arrivals:
    """Return `AFTER` as rows on their way into an input, with their raw time as SQL."""
    given = tuple(Column(c.name, "") for c in thing.columns)
    return arrivals.arrival(thing, AFTER, given, stamp)


def twice_under_key(database: Database, thing: Input) -> tuple[Any, ...] | None:
    """Return the first primary key that several rows of `AFTER` have, or None."""
    if not thing.primary_key:
        return None
    keys = ", ".join(quoted(key) for key in thing.primary_key)
    rows = database.rows(
        f"SELECT {keys} FROM {AFTER} GROUP BY {keys} HAVING count(*) > 1 ORDER BY ALL LIMIT 1"
    )
    return rows[0] if rows else None


def elements(database: Database, thing: Input) -> arrivals.Arrivals:
    """Return as deletions and insertions in what `AFTER` differs from `BEFORE`, without a time."""
    listed = ", ".join(quoted(c.name) for c in thing.columns)
    before, after = (
        f"SELECT {same_rows(thing.columns)} FROM {content} AS content({listed})"
        for content in (BEFORE, AFTER)
    )
    database.execute(
        f"CREATE OR REPLACE TEMP TABLE _cql_difference AS SELECT {listed}, '-' AS _cql_sign "
        f"FROM ({before} EXCEPT ALL {after}) AS gone"
    )
    database.execute(
        f"INSERT INTO {_DIFFERENCE} SELECT {listed}, '+' FROM ({after} EXCEPT ALL {before}) AS come"
    )
    given = tuple(Column(c.name, "") for c in thing.columns)
    return arrivals.arrival(thing, _DIFFERENCE, given, "", "_cql_sign")
