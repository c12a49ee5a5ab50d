"""Late elements under `LATE AMEND`: a query is worked out again, and the difference comes after.

What was published up to the frontier φ stays as it is. When a query that has gone past a late
element next moves, it first forgets its synopses and runs again, from its beginning up to φ, over
its inputs as they are now. What that run says in total less what was published in total are the
corrections; they are written at φ + 1, the first open instant, and marked in `cql.corrections`. So
from φ + 1 on the elements of a relation sum up to the answer that it would have if nothing had been
late.

A stream takes nothing back: of a query that yields a stream only the missing elements are written.
What should not have been there is marked alone.

For this the inputs of a query that reads an amended stream are kept from its beginning on
(`Engine._amends`).
"""

from __future__ import annotations

from collections.abc import Callable

from cqlduck.rewrite.compile import Compiled
from cqlduck.state.catalog import Query
from cqlduck.state.connection import Database, quoted


def amend(
    database: Database, query: Query, compiled: Compiled, replay: Callable[[int], None]
) -> int:
    """Work a query out again up to its frontier; return how many rows of corrections it wrote.

    Args:
        database: The database, inside a transaction.
        query: A query that has gone past late elements of `amend_from` and later.
        compiled: Its statements.
        replay: Runs the query from its beginning, which its frontier says, up to an instant.
    """
    frontier = query.frontier
    assert frontier is not None
    changes = f"cql_state.{quoted(query.changes)}"
    database.execute(f"CREATE OR REPLACE TEMP TABLE _cql_published AS FROM {changes}")
    database.execute(f"DELETE FROM {changes}")
    for synopsis in compiled.synopses:
        database.execute(f"DELETE FROM cql_state.{quoted(synopsis.name)}")
    database.execute(
        "UPDATE cql_state.synopses SET compacted_rows = 0 WHERE query = ?", [query.name]
    )
    query.begin_instant, query.frontier, query.amend_from = None, query.since, None
    replay(frontier)
    query.frontier = frontier
    written = _correct(database, query, changes, frontier + 1)
    database.execute("DROP TABLE temp._cql_published")
    return written


def _correct(database: Database, query: Query, changes: str, instant: int) -> int:
    """Put what was published back, and the corrections behind it."""
    listed = ", ".join(quoted(c.name) for c in query.columns)
    kept = ""
    if query.kind == "stream" and query.history_from is not None:
        kept = f" WHERE _ts > {query.history_from}"
    database.execute(
        f"CREATE OR REPLACE TEMP TABLE _cql_corrections AS SELECT {listed}, "
        f"CAST(sum(_weight) AS BIGINT) AS _weight FROM (SELECT {listed}, _weight FROM {changes}"
        f"{kept} UNION ALL SELECT {listed}, -_weight FROM temp._cql_published{kept}) AS elements "
        f"GROUP BY {listed} HAVING sum(_weight) <> 0"
    )
    database.execute(f"DELETE FROM {changes}")
    database.execute(f"INSERT INTO {changes} FROM temp._cql_published")
    taken = "_weight > 0" if query.kind == "stream" else "true"
    database.execute(
        f"INSERT INTO {changes} SELECT {listed}, {instant}, _weight FROM temp._cql_corrections "
        f"WHERE {taken}"
    )
    element = ", ".join(f"{quoted(c.name)} := {quoted(c.name)}" for c in query.columns)
    database.execute(
        f"INSERT INTO cql_state.corrections SELECT ?, {instant}, "
        f"CAST(struct_pack({element}) AS VARCHAR), _weight, {taken} FROM temp._cql_corrections",
        [query.name],
    )
    written = database.value(f"SELECT count(*) FROM temp._cql_corrections WHERE {taken}")
    database.execute("DROP TABLE temp._cql_corrections")
    return int(written)
