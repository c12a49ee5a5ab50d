"""Closing instants of a relation: its queue is resolved, and its store brought up to date.

What a queue comes to is said in `rewrite.delta`: `bags`, `primary_key`, and `relation`, whose
statements run here. Elements that have no effect are recorded in `cql_state.late`; with the setting
`strict` they are an error, before anything moves.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

from cqlduck.errors import DataError
from cqlduck.rewrite.delta import bags, primary_key, relation
from cqlduck.rewrite.delta.relation import Relation
from cqlduck.state import records
from cqlduck.state.catalog import Input
from cqlduck.state.connection import Database, quoted


class WrongElement(DataError):
    """An element that has no effect, with the setting `strict`.

    Attributes:
        relation: The name of its relation.
        number: Its number there, in the order of arrival.
    """

    def __init__(self, message: str, *, relation: str, number: int, hint: str | None = None):
        """Keep where the element is."""
        super().__init__(message, hint=hint)
        self.relation = relation
        self.number = number


@dataclass(frozen=True)
class Statements:
    """The statements of a relation, written once."""

    outcome: str
    of_upserts: str
    came: str
    ends: str
    begins: str
    resolved: str
    without_effect: str


@functools.lru_cache(maxsize=1024)
def _statements(of: Relation) -> Statements:
    law = primary_key if of.primary_key else bags
    trees = (
        law.outcome(of),
        primary_key.latest(of) if of.primary_key else law.outcome(of),
        relation.came(of),
        relation.ends(of),
        relation.begins(of),
        relation.resolved(of),
        relation.without_effect(of),
    )
    return Statements(*(tree.sql("duckdb", copy=False) for tree in trees))


def described(thing: Input) -> Relation:
    """Return a relation as the delta rules see it."""
    return Relation(
        thing.columns,
        thing.primary_key,
        thing.table,
        thing.pending,
        f"_cql_outcome_{thing.position}",
    )


def close(database: Database, thing: Input, until: int, *, strict: bool = False) -> int:
    """Resolve what is pending at or before an instant; return the number of elements.

    Raises:
        WrongElement: With `strict`, a deletion of what is not there or a second tuple under a key.
    """
    count, operations = _pending(database, thing, until)
    if not count:
        return 0
    written, values = _statements(described(thing)), {"until": until}
    if _only_comes(thing, operations):
        database.execute(written.came, values)
    else:
        _judge(database, thing, until, operations)
        record(database, thing, strict=strict)
        database.execute(written.ends)
        database.execute(written.begins)
    database.execute(written.resolved, values)
    return count


def has_pending(database: Database, thing: Input) -> bool:
    """Return whether elements of a relation wait for their instants to close."""
    if not thing.next_seq:
        return False
    queue = f"cql_state.{quoted(thing.pending)}"
    return bool(database.value(f"SELECT EXISTS (FROM {queue})"))


def _pending(database: Database, thing: Input, until: int) -> tuple[int, str]:
    """Return how many elements are pending, and which operations there are among them."""
    queue = f"cql_state.{quoted(thing.pending)}"
    count, operations = database.rows(
        f"SELECT count(*), coalesce(string_agg(DISTINCT _op, ''), '') FROM {queue} WHERE _ts <= ?",
        [until],
    )[0]
    return int(count), str(operations)


def _only_comes(thing: Input, operations: str) -> bool:
    """Return whether nothing has to be judged: what is pending are insertions into a bag."""
    return operations in ("", "+") and not thing.primary_key


def _judge(database: Database, thing: Input, until: int, operations: str) -> None:
    """Write the outcome of a relation's queue, which has these operations."""
    of = described(thing)
    written = _statements(of)
    query = written.of_upserts if operations == "u" else written.outcome
    database.execute(
        f"CREATE OR REPLACE TEMP TABLE {quoted(of.outcome)} AS {query}", {"until": until}
    )


def record(database: Database, thing: Input, *, strict: bool, at: int | None = None) -> int:
    """Record the elements that the outcome says have no effect; return how many records.

    Args:
        database: The database, inside a transaction.
        thing: The relation, whose queue is judged.
        strict: Whether one is an error.
        at: Of which instant; by default all.

    Raises:
        WrongElement: With `strict`, there is one.
    """
    bad = f"FROM ({_statements(described(thing)).without_effect}) AS bad(instant, wrong, element)"
    if at is not None:
        bad += f" WHERE instant = {at}"
    reason = (
        "CASE WHEN wrong < 0 THEN 'retracts what is not there' "
        "ELSE 'is a second row under its primary key' END"
    )
    first = database.rows(f"SELECT {reason}, element {bad} LIMIT 1")
    if not first:
        return 0
    if strict:
        raise WrongElement(
            f"{thing.name} {first[0][0]}: {first[0][1]}",
            relation=thing.name,
            number=_last_wrong(database, thing),
            hint="the setting strict is on; without it this is recorded in cql.late",
        )
    written = database.execute(
        f"INSERT INTO cql_state.late SELECT ?, instant, {reason}, abs(wrong), element {bad}",
        [thing.name],
    ).fetchall()
    records.note(database, records.LATE, thing.name)
    return int(written[0][0])


def _last_wrong(database: Database, thing: Input) -> int:
    """Return the number of the last element that is like the first one without effect."""
    queue = f"cql_state.{quoted(thing.pending)}"
    alike = ["_ts", "_op", *(quoted(c.name) for c in thing.columns)]
    same = " AND ".join(f"q.{name} IS NOT DISTINCT FROM w.{name}" for name in alike)
    return int(
        database.value(
            f"SELECT max(q._cql_seq) FROM {queue} AS q JOIN {queue} AS w ON {same} "
            f"WHERE w._cql_seq = (SELECT _cql_seq FROM {quoted(described(thing).outcome)} "
            "WHERE _ts IS NOT NULL AND _cql_wrong <> 0 ORDER BY _ts, _cql_seq LIMIT 1)"
        )
    )


def content_at(database: Database, thing: Input, until: int) -> tuple[str, bool]:
    """Return the bag of a relation at an instant, with all that is pending, as a SELECT.

    Also whether the queue had to be judged for it, so that some of it may have no effect.

    What is pending stays pending; the SELECT is good until the relation's queue is judged again.

    Args:
        database: The database, inside a transaction.
        thing: The relation.
        until: An instant after its heartbeat.
    """
    _, operations = _pending(database, thing, until)
    judged = not _only_comes(thing, operations)
    if judged:
        _judge(database, thing, until, operations)
    content = relation.content(described(thing), until, judged=judged)
    return content.sql("duckdb", copy=False), judged


def settle(database: Database, thing: Input, instant: int, *, strict: bool) -> None:
    """Leave in a relation's queue, of an instant, only what has an effect; record the rest.

    So what a statement does to the content is what becomes of it: an element that was left out does
    not come back because the statement has removed what kept it out.

    Args:
        database: The database, inside a transaction; `content_at` has just been asked.
        thing: The relation.
        instant: The instant.
        strict: Whether an element without effect is an error.

    Raises:
        DataError: With `strict`, there is one.
    """
    if not record(database, thing, strict=strict, at=instant):
        return
    of, queue = described(thing), f"cql_state.{quoted(thing.pending)}"
    listed = ", ".join(quoted(c.name) for c in thing.columns)
    kept = relation.settled(of, instant).sql("duckdb", copy=False)
    database.execute(f"CREATE OR REPLACE TEMP TABLE _cql_settled AS {kept}")
    database.execute(f"DELETE FROM {queue} WHERE _ts = {instant}")
    number = f"row_number() OVER (ORDER BY _cql_seq NULLS FIRST) - 1 + {thing.next_seq}"
    written = database.execute(
        f"INSERT INTO {queue} SELECT {listed}, {instant}, _op, {number} FROM temp._cql_settled"
    ).fetchall()
    thing.next_seq += int(written[0][0])
