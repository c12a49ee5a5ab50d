"""Batches of the drop zone: quarantined ones, and those whose rows may still be open.

Only with `strict` a batch is noted as open, with the range of the numbers of its rows.
"""

from __future__ import annotations

from cqlduck.state import records
from cqlduck.state.connection import Database, quoted
from cqlduck.state.registered import Input


def quarantine(database: Database, thing: Input, number: int, rows: int, reason: str) -> None:
    """Record a batch that is passed over, inside a change."""
    database.execute(
        "INSERT INTO cql_state.quarantined VALUES (?, ?, ?, ?)", [thing.name, number, rows, reason]
    )
    records.note(database, records.QUARANTINED, thing.name)


def note_open(database: Database, thing: Input, number: int, rows: int, first: int) -> None:
    """Note the rows of a relation's batch that is consumed, inside a change.

    Args:
        database: The database.
        thing: The relation.
        number: The batch's number.
        rows: How many rows it has.
        first: The number that the first of them got.
    """
    database.execute(
        "DELETE FROM cql_state.open_batches AS b WHERE input = ? AND NOT EXISTS (SELECT 1 FROM "
        f"cql_state.{quoted(thing.pending)} WHERE _cql_seq BETWEEN b.first_row AND b.last_row)",
        [thing.name],
    )
    database.execute(
        "INSERT INTO cql_state.open_batches VALUES (?, ?, ?, ?, ?)",
        [thing.name, number, rows, first, thing.next_seq - 1],
    )


def withdraw(database: Database, thing: Input, row: int) -> list[tuple[int, int]]:
    """Delete what is pending of the open batch that a row is of, inside a change.

    Returns:
        The number of the batch and how many rows it has; nothing if it is not open.
    """
    found = database.rows(
        "DELETE FROM cql_state.open_batches WHERE input = ? AND ? BETWEEN first_row AND "
        "last_row RETURNING batch, row_count, first_row, last_row",
        [thing.name, row],
    )
    for _, _, first, last in found:
        database.execute(
            f"DELETE FROM cql_state.{quoted(thing.pending)} WHERE _cql_seq BETWEEN ? AND ?",
            [first, last],
        )
    return [(number, rows) for number, rows, _, _ in found]
