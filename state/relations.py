"""Closing instants of a relation: its pending elements are resolved, and its store is updated.

The rewriter's laws say how (`bags`, `primary_key`, and `relation`); their statements run here.
Elements that have no effect are recorded in `cql_state.late`; with the setting `strict` they are an
error, before anything is written.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, replace

from cqlduck.errors import DataError
from cqlduck.rewrite.operators import (
    bags,
    outcome,
    primary_key,
    primary_key_once,
    primary_key_swap,
    relation,
)
from cqlduck.rewrite.operators.relation import Law, Relation, Scratch
from cqlduck.rewrite.text.time import Instant
from cqlduck.state import records, stores
from cqlduck.state.catalog import Input
from cqlduck.state.changed import Changed, Changes
from cqlduck.state.connection import Database, quoted
from cqlduck.state.relation_buffer import Pieces, RelationBuffer

MAX_SCRATCH_ELEMENTS = 10_000
"""How many elements are copied at most before they are judged."""


MAX_DELETED = 10_000
"""How many elements a queue has had at most that is emptied by deleting them."""


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
class Pending:
    """What a relation's queue has up to an instant.

    Attributes:
        count: How many elements.
        inserts: How many of them are insertions.
        upserts: How many are upserts.
        first: The first of their instants, or None.
        last: The last one.
        with_nulls: The columns with a NULL by which rows of the store are looked for.
        later: The first instant of what is left for later, or None.
    """

    count: int
    inserts: int
    upserts: int
    first: Instant | None
    last: Instant | None
    with_nulls: frozenset[str]
    later: Instant | None

    @property
    def are_upserts(self) -> bool:
        """Whether there are upserts alone."""
        return self.upserts == self.count

    @property
    def is_at_once(self) -> bool:
        """Whether all of it has one instant."""
        return self.first == self.last


@functools.lru_cache(maxsize=1024)
def _statement(of: Relation, write: Law) -> str:
    """Return a statement of a relation, written once."""
    return write(of).sql("duckdb", copy=False)


def described(
    thing: Input,
    found: Pending | None = None,
    lead: str | None = None,
    *,
    is_short: bool = False,
    is_buffered: bool = False,
) -> Relation:
    """Return a relation as the delta rules see it.

    Args:
        thing: The relation.
        found: What is pending; if that is little, it is resolved apart.
        lead: By which column rows are looked for first then.
        is_short: Whether its queue has never been long.
        is_buffered: Whether all that is pending is in the buffer, and not in the queue.
    """
    place = thing.position
    of = Relation(
        thing.columns, thing.primary_key, thing.table, thing.pending, f"_cql_outcome_{place}"
    )
    if found is None:
        return of
    is_all = is_short and found.later is None and not is_buffered
    queue = None if is_all else f"_cql_few_{place}"
    scratch = Scratch(queue, f"_cql_stored_{place}", f"_cql_changed_{place}", lead)
    return replace(
        of, matches_null=bool(found.with_nulls), scratch=scratch if _is_few(thing, found) else None
    )


def _is_few(thing: Input, found: Pending) -> bool:
    """Return whether elements are few, and rows can be told from each other by their ids."""
    return found.count <= MAX_SCRATCH_ELEMENTS and _has_row_ids(thing)


def _has_row_ids(thing: Input) -> bool:
    """Return whether row ids can be read: a column may have their name, and hide them."""
    return all(c.name.lower() != "rowid" for c in thing.columns)


def close(
    database: Database,
    thing: Input,
    until: Instant,
    changed: Changed,
    buffer: RelationBuffer,
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
        strict: Whether an element without effect is an error.

    Raises:
        WrongElement: With `strict`, a deletion of what is not there or a second tuple under a key.
    """
    pieces = buffer.due(thing, until, changed.empty_at(thing)) if _has_row_ids(thing) else None
    if pieces is None:
        buffer.store(thing)
        found = _pending(database, thing, until)
    else:
        found = _in_buffer(thing, pieces)
    if not found.count:
        if found.later is None:
            changed.is_empty(thing)
        return found.later
    lead, since = _lead(thing, found, changed), changed.pending_since(thing)
    is_short = thing.next_seq - since <= MAX_DELETED
    of = described(thing, found, lead, is_short=is_short, is_buffered=pieces is not None)
    if not _only_comes(thing, found):
        if pieces is None:
            _set_apart(database, of, until)
        elif of.scratch is not None and of.scratch.pending is not None:
            buffer.fill(thing, of.scratch.pending)
        done = _outcome(database, of, until, found)
        if done.wrong:
            # who records them looks for them in the queue
            buffer.store(thing)
            record(database, thing, strict=strict)
        _carry_out(database, of, done)
    elif of.scratch is None:
        database.execute(_statement(of, outcome.insert_pending), {"until": until})
    elif pieces is None:
        _make(database, of, of.scratch.changed, outcome.changed_by_insertions, {"until": until})
        database.execute(_statement(of, outcome.begins))
    else:
        buffer.fill(thing, of.scratch.changed, _statement(of, outcome.changed_by_buffer))
        database.execute(_statement(of, outcome.begins))
    assert found.first is not None
    assert found.last is not None
    table = None if of.scratch is None else of.scratch.changed
    if thing.name in buffer.kept:
        buffer.forget(thing)
    else:
        since = _leave_pending(database, thing, until, found, since)
    empty_at = thing.next_seq if found.later is None else None
    changed.note(thing, Changes(Instant(found.first - 1), found.last, table, since, empty_at))
    return found.later


def _in_buffer(thing: Input, pieces: Pieces) -> Pending:
    """Return what is pending, if that is what lies in the buffer."""
    names = thing.primary_key or tuple(c.name for c in thing.columns)
    both = zip(pieces.tables, pieces.operations, strict=True)
    inserts = sum(table.num_rows for table, operation in both if operation == "+")
    with_nulls = {n for n in names for table in pieces.tables if table.column(n).null_count}
    first, last = min(pieces.instants), max(pieces.instants)
    return Pending(pieces.count, inserts, 0, first, last, frozenset(with_nulls), None)


def _leave_pending(
    database: Database, thing: Input, until: Instant, found: Pending, since: int
) -> int:
    """Take what is resolved out of the queue; return from which number on it has had elements.

    DuckDB leaves deleted rows where they lie, in memory for good, and every scan passes them. So a
    queue that is empty then, and has had many elements, is made anew.
    """
    if found.later is None and thing.next_seq - since > MAX_DELETED:
        stores.make_pending(database, thing)
        return thing.next_seq
    database.execute(_statement(described(thing), outcome.resolved), {"until": until})
    return since


def _lead(thing: Input, found: Pending, changed: Changed | None = None) -> str | None:
    """Return the column by which few elements best find their rows, in which none is NULL."""
    if not _is_few(thing, found) or _only_comes(thing, found):
        return None
    plain = relation.plain(thing.columns)
    leads = thing.primary_key if changed is None else changed.leads(thing)
    names = (n for n in leads if n in plain and n not in found.with_nulls)
    return next(names, None)


def _make(
    database: Database, of: Relation, table: str, law: Law, values: Mapping[str, int] | None = None
) -> None:
    """Make a temporary table of a relation."""
    database.execute(
        f"CREATE OR REPLACE TEMP TABLE {quoted(table)} AS {_statement(of, law)}", values
    )


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


def _outcome(database: Database, of: Relation, until: Instant, found: Pending) -> _Outcome:
    """Write the outcome of a relation's queue; return what it is."""
    if of.scratch is not None:
        _make(database, of, of.scratch.stored, relation.candidates)
    is_few = of.scratch is not None and bool(of.primary_key)
    if is_few and found.is_at_once and not found.upserts:
        assert found.first is not None
        _make(database, of, of.outcome, primary_key_swap.outcome, {"instant": found.first})
        done, others = _counted(database, of)
        if not others:
            return done
    _judge(database, of, until, found)
    return _counted(database, of)[0]


def _counted(database: Database, of: Relation) -> tuple[_Outcome, int]:
    """Count the rows of an outcome, and those that say that a key is not resolved."""
    ((rows, wrong, ends, others),) = database.rows(
        "SELECT count(_cql_seq), count(*) FILTER (_cql_wrong <> 0), "
        "count(*) FILTER (_ts IS NULL), count(*) FILTER (_cql_seq IS NULL) "
        f"FROM temp.{quoted(of.outcome)}"
    )
    return _Outcome(rows, wrong, ends), others


def _carry_out(database: Database, of: Relation, done: _Outcome) -> None:
    """Do what the outcome of a relation's queue says; what has nothing to do does not run."""
    if of.scratch is not None:
        _make(database, of, of.scratch.changed, outcome.changed_by_outcome)
    if done.ends:
        database.execute(_statement(of, outcome.ends))
    if done.rows > done.wrong + done.ends:
        database.execute(_statement(of, outcome.begins))


def has_pending(database: Database, thing: Input, buffer: RelationBuffer) -> bool:
    """Return whether elements of a relation wait for their instants to close."""
    if thing.name in buffer.kept:
        return True
    if not thing.next_seq:
        return False
    queue = f"cql_state.{quoted(thing.pending)}"
    return bool(database.value(f"SELECT EXISTS (FROM {queue})"))


def _pending(database: Database, thing: Input, until: Instant) -> Pending:
    """Return what is pending up to an instant."""
    names = thing.primary_key or tuple(c.name for c in thing.columns)
    nulls = "".join(f", {quoted(name)} IS NULL AS n{place}" for place, name in enumerate(names))
    any_null = "".join(
        f", coalesce(bool_or(n{place}) FILTER (is_due), false)" for place in range(len(names))
    )
    ((count, inserts, upserts, first, last, later, *has_null),) = database.rows(
        "SELECT count(*) FILTER (is_due), count(*) FILTER (is_due AND _op = '+'), "
        "count(*) FILTER (is_due AND _op = 'u'), min(_ts) FILTER (is_due), "
        f"max(_ts) FILTER (is_due), min(_ts) FILTER (NOT is_due){any_null} FROM (SELECT _ts, _op, "
        f"_ts <= ? AS is_due{nulls} FROM cql_state.{quoted(thing.pending)}) AS elements",
        [until],
    )
    with_nulls = frozenset(name for name, has in zip(names, has_null, strict=True) if has)
    return Pending(count, inserts, upserts, first, last, with_nulls, later)


def _only_comes(thing: Input, found: Pending) -> bool:
    """Return whether nothing has to be judged: what is pending are insertions into a bag."""
    return found.inserts == found.count and not thing.primary_key


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
    _make(database, of, of.outcome, law, values)


def _set_apart(database: Database, of: Relation, until: Instant) -> None:
    """Set few elements apart, where need be."""
    if of.scratch is not None and of.scratch.pending is not None:
        _make(database, of, of.scratch.pending, relation.queued, {"until": until})


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
    without_effect = _statement(described(thing), outcome.without_effect)
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
        raise WrongElement(
            f"{thing.name} {first[0][0]}: {first[0][1]}",
            relation=thing.name,
            number=_last_wrong(database, thing),
            hint="the setting strict is on; without it this is recorded in cql.late",
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
            f"WHERE w._cql_seq = (SELECT _cql_seq FROM {quoted(described(thing).outcome)} "
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
    found = _pending(database, thing, until)
    judged = not _only_comes(thing, found)
    if judged:
        of = described(thing, found, _lead(thing, found))
        _set_apart(database, of, until)
        if of.scratch is not None:
            _make(database, of, of.scratch.stored, relation.candidates)
        _judge(database, of, until, found)
    content = outcome.content(described(thing), until, judged=judged)
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
    of, queue = described(thing), f"cql_state.{quoted(thing.pending)}"
    listed = ", ".join(quoted(c.name) for c in thing.columns)
    kept = outcome.settled(of, instant).sql("duckdb", copy=False)
    database.execute(f"CREATE OR REPLACE TEMP TABLE _cql_settled AS {kept}")
    database.execute(f"DELETE FROM {queue} WHERE _ts = {instant}")
    number = f"row_number() OVER (ORDER BY _cql_seq NULLS FIRST) - 1 + {thing.next_seq}"
    written = database.execute(
        f"INSERT INTO {queue} SELECT {listed}, {instant}, _op, {number} FROM temp._cql_settled"
    )
    thing.next_seq += int(written[0][0])
