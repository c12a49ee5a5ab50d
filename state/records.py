"""Bounded records for people: `cql.late`, `cql.corrections`, `cql.batches`.

Of each input, or query, the newest rows are retained; the older ones become one row for each reason
with the sum of their counts, so that sums over a view stay right. Nothing depends on these records:
that a batch counts once follows from the number of the next one (`Input.next_batch`).

A writer of a record notes it; at the end of the change, records that exceed their bound by a
quarter are cut.
"""

from __future__ import annotations

from dataclasses import dataclass

from cqlduck.state.connection import Database

MAX_RECORDS = 10_000
"""How many records of each input, or query, are kept at least."""


@dataclass(frozen=True)
class Kind:
    """Records of one kind.

    Attributes:
        table: Their table in `cql_state`.
        owner: The column of the input or query that they are of.
        reason: By what those that are cut are told apart, as SQL; of few values.
        amount: What is summed up of those that are cut, as SQL.
    """

    table: str
    owner: str
    reason: str
    amount: str


LATE = Kind("late", "input", "reason", "occurrences")
CORRECTIONS = Kind("corrections", "query", "CAST(published AS VARCHAR)", "weight")
QUARANTINED = Kind("quarantined", "input", "''", "row_count")
KINDS = (LATE, CORRECTIONS, QUARANTINED)


def note(database: Database, kind: Kind, owner: str) -> None:
    """Note that records of an input or query were written, inside a change."""
    database.recorded.add((kind.table, owner))


def cut(database: Database, kept: int) -> None:
    """Cut what was noted, and is more than it should be, inside a change.

    Args:
        database: The database.
        kept: How many records of each input, or query, are kept at least.
    """
    for kind in KINDS:
        owners = sorted(owner for table, owner in database.recorded if table == kind.table)
        if not owners:
            continue
        for owner, count in database.rows(
            f"SELECT {kind.owner}, count(*) FROM cql_state.{kind.table} "
            f"WHERE list_contains($owners, {kind.owner}) GROUP BY ALL HAVING count(*) > $most",
            {"owners": owners, "most": kept + kept // 4},
        ):
            _cut(database, kind, owner, count - kept)
    database.recorded.clear()


def cut_all(database: Database, kept: int) -> None:
    """Cut all that is more than it should be, inside a change: a file may have been kept longer."""
    for kind in KINDS:
        for (owner,) in database.rows(f"SELECT DISTINCT {kind.owner} FROM cql_state.{kind.table}"):
            note(database, kind, owner)
    cut(database, kept)


def drop(database: Database, kind: Kind, owner: str) -> None:
    """Remove all records of an input or query, inside a change."""
    given = {"owner": owner}
    database.execute(f"DELETE FROM cql_state.{kind.table} WHERE {kind.owner} = $owner", given)
    _forget_sums(database, kind, owner)


def _cut(database: Database, kind: Kind, owner: str, count: int) -> None:
    """Cut the oldest records; add up what they say.

    No condition names `rowid`: DuckDB 2.0 now and then loses committed rows by a filter on it that
    it takes from a join or a LIMIT, where the same transaction has appended.
    """
    table, given = f"cql_state.{kind.table}", {"owner": owner}
    database.execute(
        "CREATE OR REPLACE TEMP TABLE _cql_records AS SELECT *, row_number() OVER (ORDER BY rowid) "
        f"AS _cql_place FROM {table} WHERE {kind.owner} = $owner",
        given,
    )
    database.execute(
        "CREATE OR REPLACE TEMP TABLE _cql_cut_sums AS SELECT reason, "
        "CAST(sum(records) AS BIGINT) AS records, CAST(sum(amount) AS BIGINT) AS amount FROM ("
        f"SELECT {kind.reason} AS reason, 1 AS records, {kind.amount} AS amount "
        "FROM temp._cql_records WHERE _cql_place <= $count UNION ALL "
        "SELECT reason, records, amount FROM cql_state.cut_records "
        f"WHERE kind = '{kind.table}' AND owner = $owner) AS cut GROUP BY reason",
        {"owner": owner, "count": count},
    )
    drop(database, kind, owner)
    database.execute(
        f"INSERT INTO cql_state.cut_records SELECT '{kind.table}', $owner, reason, records, amount "
        "FROM temp._cql_cut_sums",
        given,
    )
    database.execute(
        f"INSERT INTO {table} SELECT * EXCLUDE (_cql_place) FROM temp._cql_records "
        "WHERE _cql_place > $count ORDER BY _cql_place",
        {"count": count},
    )


def _forget_sums(database: Database, kind: Kind, owner: str) -> None:
    database.execute(
        f"DELETE FROM cql_state.cut_records WHERE kind = '{kind.table}' AND owner = $owner",
        {"owner": owner},
    )
