"""Staged rows: a query's result, or rows with instants, in temporary tables."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from cqlduck.rewrite.plan import Column
from cqlduck.state import columns
from cqlduck.state.connection import Database

ROWS = "temp._cql_incoming_rows"
"""What the rows of a query are read from."""


def write_query(database: Database, query: str) -> tuple[Column, ...]:
    """Write the rows of a query into `ROWS`; return its columns."""
    database.execute(f"CREATE OR REPLACE TEMP TABLE _cql_incoming_rows AS {query}")
    return columns.of_query(database, f"FROM {ROWS}")


def with_times(database: Database, rows: str, times: Sequence[int]) -> tuple[str, str]:
    """Return what to read rows from, each beside its raw time, and that time, as SQL.

    Args:
        database: The database, inside a transaction.
        rows: What the rows are read from.
        times: The raw time of each.
    """
    given = pa.table({"_cql_raw": pa.array(times, pa.int64())})
    with database.incoming.readable("_cql_incoming_at", given):
        database.execute(
            "CREATE OR REPLACE TEMP TABLE _cql_incoming_at_rows AS SELECT * FROM _cql_incoming_at"
        )
    instants = "(SELECT * FROM temp._cql_incoming_at_rows) AS instants"
    return f"(SELECT * FROM {rows}) AS given POSITIONAL JOIN {instants}", "_cql_raw"
