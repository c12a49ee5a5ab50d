"""Closing instants of a relation: its pending elements are resolved, and its store is updated.

The rewriter's laws say how (`bags`, `primary_key`, and `relation`); their statements run here.
Elements that have no effect are recorded in `cql_state.late`; with the setting `strict` they are an
error, before anything is written.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from cqlduck.errors import DataError
from cqlduck.rewrite.operators import (
    bags,
    outcome,
    primary_key,
    primary_key_insertions,
    primary_key_once,
    primary_key_swap,
    relation,
)
from cqlduck.rewrite.operators.relation import Law, Relation
from cqlduck.rewrite.text.time import Instant
from cqlduck.state import pending, records, stores
from cqlduck.state.changed import Changes, RelationChanges
from cqlduck.state.connection import Database, quoted
from cqlduck.state.pending import Elements, Pending, statement, write
from cqlduck.state.registered import Input
from cqlduck.state.relation_buffer import RelationBuffer


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


Search = Callable[[Input, Pending], str | None]
"""Says by which column of a relation, that has an index, its pending elements find their rows; None
by a scan."""


def close(
    database: Database,
    thing: Input,
    until: Instant,
    changed: RelationChanges,
    buffer: RelationBuffer,
    search: Search,
    *,
    strict: bool = False,
) -> Instant | None:
    """Resolve what is pending at or before an instant; return the first instant of what is left.

    Args:
        database: The database, inside a transaction.
        thing: The relation.
        until: The instant.
        changed: Where it is noted what changes.
        buffer: The elements that are not in its queue yet.
        search: Says by which column, that has an index, rows of the store are found.
        strict: Whether an element without effect is an error.

    Raises:
        WrongElement: With `strict`, a deletion of what is not there or a second tuple under a key.
    """
    elements = pending.due(database, thing, until, changed, buffer)
    found = elements.found
    if not found.count:
        if found.later is None:
            changed.is_empty(thing)
        return found.later
    assert found.first is not None
    assert found.last is not None
    lead, indexed = pending.lead_of(thing, found, changed), search(thing, found)
    has_index = lead is not None and indexed is not None and indexed not in found.with_nulls
    of = pending.described(
        thing,
        found,
        indexed if has_index else lead,
        is_short=elements.is_short,
        has_index=has_index,
    )
    if pending.is_few(thing, found):
        _resolve_few(elements, of, strict=strict)
    else:
        of = _resolve_many(elements, of, strict=strict)
    table = None if of.scratch is None else of.scratch.changed
    since = elements.remove()
    empty_at = thing.next_seq if found.later is None else None
    changed.note(thing, Changes(Instant(found.first - 1), found.last, table, since, empty_at))
    return found.later


def _resolve_many(elements: Elements, of: Relation, *, strict: bool) -> Relation:
    """Resolve many elements; return the relation, with what has changed apart if that was done."""
    database, found = elements.database, elements.found
    elements.store()
    if of.scratch is not None:
        if _are_swaps(elements, of):
            return of
        of = replace(of, scratch=None)
    if found.are_insertions and _load(elements, of):
        return of
    _judge(database, of, elements.until, found)
    _carry_out(elements, of, _counted(database, of), strict=strict)
    return of


def _load(elements: Elements, of: Relation) -> bool:
    """Let many insertions enter as they are, if their keys are all free; return whether."""
    database, thing, found = elements.database, elements.thing, elements.found
    is_new = stores.is_empty(database, thing)
    if of.primary_key and not _are_free(elements, of, is_new=is_new):
        return False
    if is_new and found.is_at_once and found.later is None:
        stores.rename_pending(database, thing)
        return True
    law = outcome.insert_at_once if found.is_at_once else outcome.insert_pending
    database.execute(statement(of, law), {"until": elements.until})
    return True


def _are_free(elements: Elements, of: Relation, *, is_new: bool) -> bool:
    """Return whether the keys of many insertions are all different, and none is in the store."""
    database, values = elements.database, {"until": elements.until}
    if not is_new and database.rows(statement(of, primary_key_insertions.existing), values):
        return False
    if set(of.primary_key) <= set(relation.plain(of.columns)) and database.value(
        statement(of, primary_key_insertions.ascending), values
    ):
        return True
    return not database.rows(statement(of, primary_key_insertions.doubled), values)


def _resolve_few(elements: Elements, of: Relation, *, strict: bool) -> None:
    """Resolve few elements in temporary tables, the simplest way that is right first."""
    database, found = elements.database, elements.found
    assert of.scratch is not None
    if found.are_insertions and _all_enter(elements, of):
        database.execute(statement(of, outcome.begins))
        return
    if of.primary_key and found.is_at_once and not found.upserts and _are_swaps(elements, of):
        return
    elements.write_pending(of)
    write(database, of, of.scratch.stored, relation.candidates)
    _judge(database, of, elements.until, found)
    _carry_out(elements, of, _counted(database, of), strict=strict)


def _all_enter(elements: Elements, of: Relation) -> bool:
    """Write what insertions change; return whether all of them enter."""
    elements.write_insertions(of)
    return not of.primary_key or not elements.database.rows(
        statement(of, primary_key_insertions.occupied)
    )


def _are_swaps(elements: Elements, of: Relation) -> bool:
    """Resolve elements of one instant if each key swaps its tuple at most; return whether."""
    database, found = elements.database, elements.found
    elements.write_swaps(of)
    exceptions = database.rows(statement(of, primary_key_swap.exceptions))
    if not all(is_unchanged for (is_unchanged,) in exceptions):
        return False
    if exceptions:
        database.execute(statement(of, primary_key_swap.unchanged))
    if found.inserts < found.count:
        database.execute(statement(of, outcome.ends))
    if found.inserts:
        database.execute(statement(of, outcome.begins))
    return True


@dataclass(frozen=True)
class _Outcome:
    """What a queue has come to.

    Attributes:
        rows: How many rows the outcome has.
        wrong: How many of them are elements without effect.
        ends: How many of them are rows of the store that end.
    """

    rows: int
    wrong: int
    ends: int


def _counted(database: Database, of: Relation) -> _Outcome:
    """Count the rows of an outcome."""
    ((rows, wrong, ends),) = database.rows(
        "SELECT count(*), count(*) FILTER (_cql_wrong <> 0), count(*) FILTER (_ts IS NULL) "
        f"FROM temp.{quoted(of.outcome)}"
    )
    return _Outcome(rows, wrong, ends)


def _carry_out(elements: Elements, of: Relation, done: _Outcome, *, strict: bool) -> None:
    """Do what the outcome of a relation's queue says; what has nothing to do does not run."""
    database = elements.database
    if done.wrong:
        # who records them looks for them in the queue
        elements.store()
        record(database, elements.thing, strict=strict)
    if of.scratch is not None:
        write(database, of, of.scratch.changed, outcome.changed_by_outcome)
    if done.ends:
        database.execute(statement(of, outcome.ends))
    if done.rows > done.wrong + done.ends:
        database.execute(statement(of, outcome.begins))


def has_pending(database: Database, thing: Input, buffer: RelationBuffer) -> bool:
    """Return whether elements of a relation wait for their instants to close."""
    if thing.name in buffer.kept:
        return True
    if not thing.next_seq:
        return False
    queue = f"cql_state.{quoted(thing.pending)}"
    return bool(database.value(f"SELECT EXISTS (FROM {queue})"))


def _judge(database: Database, of: Relation, until: Instant, found: Pending) -> None:
    """Write the outcome of a relation's queue, of which this has been found."""
    values = {} if of.scratch is not None else {"until": until}
    law: Law = bags.outcome
    if of.primary_key:
        law = primary_key.outcome
        if found.are_upserts:
            law = primary_key.latest
        elif found.is_at_once and found.first is not None:
            law = primary_key_once.outcome if found.upserts else primary_key_once.without_upserts
            values["instant"] = found.first
    write(database, of, of.outcome, law, values)


def record(database: Database, thing: Input, *, strict: bool, at: Instant | None = None) -> int:
    """Record the elements that the outcome says have no effect; return how many records.

    Args:
        database: The database, inside a transaction.
        thing: The relation, whose queue is judged.
        strict: Whether one is an error.
        at: Of which instant; by default all.

    Raises:
        WrongElement: With `strict`, there is one.
    """
    without_effect = statement(pending.described(thing), outcome.without_effect)
    bad = f"FROM ({without_effect}) AS bad(instant, wrong, element)"
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
        hint = "the setting strict is on; without it this is recorded in cql.late"
        if first[0][0].startswith("is a second"):
            hint += "; retract the row that it replaces, or INSERT … ON CONFLICT … DO UPDATE"
        raise WrongElement(
            f"{thing.name} {first[0][0]}: {first[0][1]}",
            relation=thing.name,
            number=_last_wrong(database, thing),
            hint=hint,
        )
    written = database.execute(
        f"INSERT INTO cql_state.late SELECT ?, instant, {reason}, abs(wrong), element {bad}",
        [thing.name],
    )
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
            f"WHERE w._cql_seq = (SELECT _cql_seq FROM {quoted(pending.described(thing).outcome)} "
            "WHERE _ts IS NOT NULL AND _cql_wrong <> 0 ORDER BY _ts, _cql_seq LIMIT 1)"
        )
    )


def content_at(
    database: Database, thing: Input, until: Instant, buffer: RelationBuffer
) -> tuple[str, bool]:
    """Return the bag of a relation at an instant, with all that is pending, as a SELECT.

    Also whether the queue had to be judged for it, so that some of it may have no effect.

    What is pending stays pending; the SELECT is good until the relation's queue is judged again.

    Args:
        database: The database, inside a transaction.
        thing: The relation.
        until: An instant after its heartbeat.
        buffer: The elements that are not in its queue yet; they are written there.
    """
    buffer.store(thing)
    found = pending.found_in_table(database, thing, until)
    judged = not pending.enters_at_once(thing, found)
    if judged:
        of = pending.described(thing, found, pending.lead_of(thing, found))
        pending.write_queued(database, of, until)
        if of.scratch is not None:
            write(database, of, of.scratch.stored, relation.candidates)
        _judge(database, of, until, found)
    content = outcome.content(pending.described(thing), until, judged=judged)
    return content.sql("duckdb", copy=False), judged


def leave_effective(database: Database, thing: Input, instant: Instant, *, strict: bool) -> None:
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
    of, queue = pending.described(thing), f"cql_state.{quoted(thing.pending)}"
    listed = ", ".join(quoted(c.name) for c in thing.columns)
    kept = outcome.settled(of, instant).sql("duckdb", copy=False)
    database.execute(f"CREATE OR REPLACE TEMP TABLE _cql_settled AS {kept}")
    database.execute(f"DELETE FROM {queue} WHERE _ts = {instant}")
    number = f"row_number() OVER (ORDER BY _cql_seq NULLS FIRST) - 1 + {thing.next_seq}"
    written = database.execute(
        f"INSERT INTO {queue} SELECT {listed}, {instant}, _op, {number} FROM temp._cql_settled"
    )
    database.execute("DROP TABLE temp._cql_settled")
    thing.next_seq += int(written[0][0])
