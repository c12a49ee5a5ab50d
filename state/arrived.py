"""The arrivals of a query's inputs at one instant, to find the row that makes the query fail.

They are the elements of a stream, the tuples inserted into a relation, or the elements in the log
of another query, in the order of arrival.
"""

from __future__ import annotations

from collections.abc import Mapping

from cqlduck.rewrite.plan.log_names import log_of
from cqlduck.rewrite.text.time import Instant
from cqlduck.state import members
from cqlduck.state.catalog import Catalogue
from cqlduck.state.connection import Database, quoted
from cqlduck.state.registered import Input, Query

MAX_SHOWN_CHARACTERS = 200
"""How many characters of a row are shown at most."""


def counts(
    database: Database, catalogue: Catalogue, query: Query, instant: Instant
) -> dict[str, int]:
    """Count what arrived at an instant, by the names of the inputs and queries that are read."""
    found = {}
    for name in query.inputs:
        if name.lower() in catalogue.constants:
            continue
        table, condition, _ = _place(catalogue, name, instant)
        count = database.value(f"SELECT count(*) FROM {table} WHERE {condition}")
        found[name] = int(count)
    return found


def keep_first(
    database: Database, catalogue: Catalogue, instant: Instant, counts: Mapping[str, int]
) -> None:
    """Take back what arrived at an instant, but for the first of each; in a change to be undone."""
    for name, count in counts.items():
        table, condition, order = _place(catalogue, name, instant)
        database.execute(
            f"DELETE FROM {table} WHERE {condition} AND rowid NOT IN (SELECT id FROM ("
            f"SELECT rowid AS id, row_number() OVER (ORDER BY {order}) AS place FROM {table} "
            f"WHERE {condition}) AS arrived WHERE place <= {count})"
        )


def shown(
    database: Database, catalogue: Catalogue, name: str, instant: Instant, place: int
) -> str | None:
    """Return an arrival as people read it, such as s(k = 1, v = 'x').

    Args:
        database: The database.
        catalogue: What is registered.
        name: The input or query that it came from.
        instant: The instant.
        place: Its place among those that arrived there, from 0.
    """
    table, condition, order = _place(catalogue, name, instant)
    thing = _thing(catalogue, name)
    listed = ", ".join(quoted(c.name) for c in thing.columns)
    if isinstance(thing, Query):
        listed = members.columns(thing)
    rows = database.rows(
        f"SELECT {listed} FROM (SELECT *, row_number() OVER (ORDER BY {order}) AS _cql_place "
        f"FROM {table} WHERE {condition}) AS arrived WHERE _cql_place = {place + 1}"
    )
    if not rows:
        return None
    values = (repr(v) if isinstance(v, str) else "NULL" if v is None else str(v) for v in rows[0])
    named = (f"{c.name} = {value}" for c, value in zip(thing.columns, values, strict=True))
    text = f"{thing.name}({', '.join(named)})"
    return text if len(text) <= MAX_SHOWN_CHARACTERS else f"{text[: MAX_SHOWN_CHARACTERS - 1]}…"


def _thing(catalogue: Catalogue, name: str) -> Input | Query:
    return catalogue.inputs.get(name.lower()) or catalogue.queries[name.lower()]


def _place(catalogue: Catalogue, name: str, instant: Instant) -> tuple[str, str, str]:
    """Return the table of an input or query, the condition of an instant, and the order."""
    thing = _thing(catalogue, name)
    if isinstance(thing, Query):
        # the log of a member is a view, whose rows have no number
        name = thing.changes if thing.family is None else log_of(thing.family)
        log = f"cql_state.{quoted(name)}"
        own = [*members.conditions(thing), *members.unchanged(thing, log, f"{instant}")]
        return log, " AND ".join([f"_ts = {instant} AND _weight > 0", *own]), "rowid"
    column = "_ts" if thing.kind == "stream" else "_cql_enter"
    return f"cql_state.{quoted(thing.table)}", f"{column} = {instant}", "_cql_seq"
