"""The tables and views of inputs: a stream's store; a relation's store and pending elements."""

from __future__ import annotations

from collections.abc import Collection

from cqlduck.rewrite.plan import FOREVER
from cqlduck.state import catalog_rows
from cqlduck.state.columns import typed
from cqlduck.state.connection import Database, literal, quoted
from cqlduck.state.registered import Input

_STORE_OF_A_RELATION = "The store of a relation: tuples from when until when."


def create(database: Database, thing: Input) -> None:
    """Make the store of a stream, or the store and queue of a relation, and its view."""
    store = f"cql_state.{quoted(thing.table)}"
    if thing.kind == "stream":
        database.execute(
            f"CREATE TABLE {store} ({typed(thing.columns)}, _ts BIGINT, _cql_seq BIGINT)"
        )
        database.execute(
            f"COMMENT ON TABLE {store} IS 'The store of a stream: its elements by arrival.'"
        )
    else:
        _make_store(database, thing)
        make_pending(database, thing)
    catalog_rows.insert(database, thing)
    show(database, thing)


def _make_store(database: Database, thing: Input, plain: Collection[str] = ()) -> None:
    """Make the store of a relation, in the place of an empty one."""
    store = f"cql_state.{quoted(thing.table)}"
    database.execute(
        f"CREATE OR REPLACE TABLE {store} ({typed(thing.columns, plain)}, "
        "_cql_enter BIGINT, _cql_leave BIGINT, _cql_seq BIGINT)"
    )
    database.execute(f"COMMENT ON TABLE {store} IS {literal(_STORE_OF_A_RELATION)}")


def make_pending(database: Database, thing: Input, plain: Collection[str] = ()) -> None:
    """Make the queue of a relation, in the place of one that is there, with all that it had.

    Args:
        database: The database.
        thing: The relation.
        plain: The names of columns that DuckDB must not compress.
    """
    queue = f"cql_state.{quoted(thing.pending)}"
    database.execute(
        f"CREATE OR REPLACE TABLE {queue} ({typed(thing.columns, plain)}, "
        "_ts BIGINT, _op VARCHAR, _cql_seq BIGINT)"
    )
    database.execute(f"COMMENT ON TABLE {queue} IS 'Elements whose instants are not closed yet.'")


def make_plain(database: Database, thing: Input, plain: Collection[str]) -> None:
    """Make the tables of a relation anew, which are empty, with columns that are not compressed.

    Args:
        database: The database, inside a change.
        thing: The relation; nothing has come into it yet.
        plain: The names of the columns.
    """
    _make_store(database, thing, plain)
    make_pending(database, thing, plain)


def is_empty(database: Database, thing: Input) -> bool:
    """Return whether the store of an input has no rows at all."""
    return not database.value(f"SELECT EXISTS (FROM cql_state.{quoted(thing.table)})")


def rename_pending(database: Database, thing: Input) -> None:
    """Rename the queue of a relation to its store, which is empty; inside a change.

    So what is loaded first is written once: to copy six million rows of sixteen columns took longer
    than to read them from a file.

    Args:
        database: The database.
        thing: The relation; all that is pending are insertions that enter.
    """
    queue = f"ALTER TABLE cql_state.{quoted(thing.pending)}"
    database.execute(f"DROP TABLE cql_state.{quoted(thing.table)}")
    for change in (
        "DROP COLUMN _op",
        "RENAME COLUMN _ts TO _cql_enter",
        f"ADD COLUMN _cql_leave BIGINT DEFAULT {FOREVER}",
        "ALTER COLUMN _cql_leave DROP DEFAULT",
        f"RENAME TO {quoted(thing.table)}",
    ):
        database.execute(f"{queue} {change}")
    database.execute(
        f"COMMENT ON TABLE cql_state.{quoted(thing.table)} IS {literal(_STORE_OF_A_RELATION)}"
    )
    make_pending(database, thing)


def show(database: Database, thing: Input) -> None:
    """Make the view under the input's own name: a stream's kept elements, a relation's content."""
    listed = ", ".join(quoted(c.name) for c in thing.columns)
    store = f"cql_state.{quoted(thing.table)}"
    body = f"SELECT {listed} FROM {store}"
    if thing.kind == "relation":
        body += f" WHERE _cql_leave = {FOREVER}"
    database.view(quoted(thing.name), body)


def scratch_tables(thing: Input) -> tuple[str, str, str, str]:
    """Return the temporary tables of a relation.

    They have the outcome of its elements, few of these, the stored tuples of their keys, and what
    changes.
    """
    number = thing.position
    kinds = ("outcome", "few", "stored", "changed")
    outcome, few, stored, changed = (f"_cql_{kind}_{number}" for kind in kinds)
    return outcome, few, stored, changed


def drop(database: Database, thing: Input) -> None:
    """Remove an input and its tables."""
    database.execute(f"DROP VIEW IF EXISTS {quoted(thing.name)}")
    database.execute(f"DROP TABLE IF EXISTS cql_state.{quoted(thing.table)}")
    if thing.kind == "relation":
        database.execute(f"DROP TABLE IF EXISTS cql_state.{quoted(thing.pending)}")
        for name in scratch_tables(thing):
            database.execute(f"DROP TABLE IF EXISTS temp.{name}")
    catalog_rows.delete(database, thing)
    database.execute("DELETE FROM cql_state.open_batches WHERE input = ?", [thing.name])
