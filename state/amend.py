"""`LATE AMEND`: a query is recomputed over late elements, and corrections follow.

The elements published up to the frontier φ stay as they are. When a query whose frontier is beyond
a late element next runs, it drops its synopses and runs again, from its beginning up to φ, over its
inputs as they are now. The corrections are the sum of that run less the sum of what was published;
they are written at φ + 1, the first open instant, and marked in `cql.corrections`. So from φ + 1 on
the elements of a relation sum up to the answer that it would have if no element had been late.

A stream cannot delete: of a query that yields a stream only the missing elements are written.
Elements that should not have been published are only marked. If later late elements make such an
element right after all, its mark is removed, and no element is written.

For this the inputs of a query that reads an amended stream are stored from its beginning on
(`Catalogue.amends`). For a query that yields a stream, the table `beside_<name>` counts the
elements that history has forgotten, and those that are marked: rows (tuple, weight, whether it is a
mark). The log of a relation has its own sums.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from cqlduck.rewrite.text.time import Instant
from cqlduck.state import records
from cqlduck.state.columns import same_rows, typed, values_of_group
from cqlduck.state.connection import Database, quoted
from cqlduck.state.registered import Query


def amend(
    database: Database, query: Query, tables: Iterable[str], replay: Callable[[Instant], None]
) -> int:
    """Work a query out again up to its frontier; return how many rows of corrections it wrote.

    Args:
        database: The database, inside a transaction.
        query: A query that has gone past late elements of `amend_from` and later.
        tables: Its synopses.
        replay: Runs the query from its beginning, which its frontier says, up to an instant.
    """
    frontier = query.frontier
    assert frontier is not None
    changes = f"cql_state.{quoted(query.changes)}"
    database.execute(f"CREATE OR REPLACE TEMP TABLE _cql_published AS FROM {changes}")
    database.execute(f"DELETE FROM {changes}")
    for table in tables:
        database.execute(f"DELETE FROM cql_state.{quoted(table)}")
    database.execute(
        "UPDATE cql_state.synopses SET compacted_rows = 0 WHERE query = ?", [query.name]
    )
    query.begin_instant, query.frontier, query.amend_from = None, query.since, None
    replay(frontier)
    query.frontier = frontier
    written = _correct(database, query, changes, Instant(frontier + 1))
    database.execute("DROP TABLE temp._cql_published")
    return written


def create(database: Database, query: Query) -> None:
    """Make the table of what is beside the log of a query that yields a stream."""
    beside = f"cql_state.{quoted(query.beside)}"
    database.execute(
        f"CREATE TABLE {beside} ({typed(query.columns)}, _weight BIGINT, _is_mark BOOLEAN)"
    )
    database.execute(
        f"COMMENT ON TABLE {beside} IS 'Of a query over streams with LATE AMEND: how many of its "
        "elements history has let go of, and how many should not have been there.'"
    )


def set_aside(database: Database, query: Query, until: Instant) -> None:
    """Remember how many elements a query's log has up to an instant, before they are forgotten."""
    listed = values_of_group(query.columns)
    database.execute(
        f"INSERT INTO cql_state.{quoted(query.beside)} SELECT {listed}, "
        f"CAST(sum(_weight) AS BIGINT), false FROM cql_state.{quoted(query.changes)} "
        f"WHERE _ts <= {until} GROUP BY {same_rows(query.columns)}"
    )


def _correct(database: Database, query: Query, changes: str, instant: Instant) -> int:
    """Put what was published back, and the corrections behind it."""
    listed = ", ".join(quoted(c.name) for c in query.columns)
    parts = [
        f"SELECT {listed}, _weight AS missing, 0 AS marks FROM {changes}",
        f"SELECT {listed}, -_weight, 0 FROM temp._cql_published",
    ]
    mark, written = "0", "missing"
    if query.kind == "stream":
        beside = f"cql_state.{quoted(query.beside)}"
        parts.append(f"SELECT {listed}, -_weight, CASE WHEN _is_mark THEN _weight ELSE 0 END "
                     f"FROM {beside}")  # fmt: skip
        # marks are negative: as many as are missing again come off, before anything is written
        mark = "CASE WHEN missing < 0 THEN missing ELSE least(missing, -marks) END"
        written = f"missing - {mark}"
    database.execute(
        "CREATE OR REPLACE TEMP TABLE _cql_corrections AS "
        f"SELECT {listed}, {mark} AS _mark, {written} AS _weight "
        f"FROM (SELECT {values_of_group(query.columns)}, "
        "CAST(sum(missing) AS BIGINT) AS missing, CAST(sum(marks) AS BIGINT) AS marks "
        f"FROM ({' UNION ALL '.join(parts)}) AS elements "
        f"GROUP BY {same_rows(query.columns)}) AS totals WHERE missing <> 0"
    )
    database.execute(f"DELETE FROM {changes}")
    database.execute(f"INSERT INTO {changes} FROM temp._cql_published")
    database.execute(
        f"INSERT INTO {changes} SELECT {listed}, {instant}, _weight FROM temp._cql_corrections "
        "WHERE _weight <> 0"
    )
    if query.kind == "stream":
        _mark(database, query)
    element = ", ".join(f"{quoted(c.name)} := {quoted(c.name)}" for c in query.columns)
    for weight, published in (("_mark", "false"), ("_weight", "true")):
        database.execute(
            f"INSERT INTO cql_state.corrections SELECT ?, {instant}, "
            f"CAST(struct_pack({element}) AS VARCHAR), {weight}, {published} "
            f"FROM temp._cql_corrections WHERE {weight} <> 0",
            [query.name],
        )
    records.note(database, records.CORRECTIONS, query.name)
    count = database.value("SELECT count(*) FROM temp._cql_corrections WHERE _weight <> 0")
    database.execute("DROP TABLE temp._cql_corrections")
    return int(count)


def _mark(database: Database, query: Query) -> None:
    """Add what is marked to what is beside a query's log, and make that net."""
    listed = ", ".join(quoted(c.name) for c in query.columns)
    beside = f"cql_state.{quoted(query.beside)}"
    database.execute(
        "CREATE OR REPLACE TEMP TABLE _cql_beside AS "
        f"SELECT {values_of_group(query.columns)}, "
        f"CAST(sum(_weight) AS BIGINT) AS _weight, _is_mark FROM (FROM {beside} UNION ALL "
        f"SELECT {listed}, _mark, true FROM temp._cql_corrections) AS marked "
        f"GROUP BY {same_rows(query.columns)}, _is_mark HAVING sum(_weight) <> 0"
    )
    database.execute(f"DELETE FROM {beside}")
    database.execute(f"INSERT INTO {beside} FROM temp._cql_beside")
    database.execute("DROP TABLE temp._cql_beside")
