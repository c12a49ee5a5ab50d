"""Tables of elements made net: their rows are replaced by what they come to."""

from __future__ import annotations

from collections.abc import Sequence

from cqlduck.rewrite.plan import Column
from cqlduck.rewrite.text.time import Instant
from cqlduck.state.columns import same_rows, values_of_group
from cqlduck.state.connection import Database, quoted


def rewrite(database: Database, table: str, query: str, gone: str = "") -> None:
    """Put what a query says in the place of rows of a table that it reads.

    Args:
        database: The database, inside a transaction.
        table: The table, as SQL.
        query: The query.
        gone: Which rows go, as a WHERE clause; by default all.
    """
    database.execute(f"CREATE OR REPLACE TEMP TABLE _cql_rewritten AS {query}")
    database.execute(f"DELETE FROM {table}{gone}")
    database.execute(f"INSERT INTO {table} SELECT * FROM temp._cql_rewritten")
    database.execute("DROP TABLE temp._cql_rewritten")


def compact(database: Database, table: str, columns: Sequence[Column], until: Instant) -> None:
    """Replace the elements of a log up to an instant by their net content, dated at it."""
    name = f"cql_state.{quoted(table)}"
    net = (
        f"SELECT {values_of_group(columns)}, {until}::BIGINT AS _ts, "
        "CAST(sum(_weight) AS BIGINT) AS _weight "
        f"FROM {name} WHERE _ts <= {until} GROUP BY {same_rows(columns)} HAVING sum(_weight) <> 0"
    )
    rewrite(database, name, net, f" WHERE _ts <= {until}")
