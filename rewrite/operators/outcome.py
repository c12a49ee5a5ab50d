"""What is done with the outcome of a relation's pending elements (see `relation`).

Rows of the store end, pending rows enter, and what is resolved leaves the queue. What few elements
change is set apart first: queries read it there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from cqlduck.rewrite.operators.relation import (
    BUFFERED,
    OP,
    WRONG,
    Relation,
    Scratch,
    elements_of,
    of_store,
    pending,
    stays,
    text,
)
from cqlduck.rewrite.relalg.builders import cast, column, typed_null
from cqlduck.rewrite.relalg.elements import (
    ENTER,
    LEAVE,
    ROWID,
    SEQ,
    TS,
    forever,
    is_null,
    named,
    number,
    parameter,
    qualified,
    references,
    state_table,
    temp_table,
    union_all,
    until,
)


def insert_pending(relation: Relation) -> exp.Insert:
    """Move a queue of insertions into the store that all enter, in the order of their instants."""
    rows = _insertions(relation).order_by(column(TS), column(SEQ), copy=False)
    return _into_store(relation, rows)


def insert_at_once(relation: Relation) -> exp.Insert:
    """Move the same where all have one instant: they lie in their order."""
    return _into_store(relation, _insertions(relation))


def _insertions(relation: Relation) -> exp.Select:
    listed = [*references(relation.columns), column(TS), forever(), column(SEQ)]
    return exp.select(*listed).from_(pending(relation).subquery("pending", copy=False), copy=False)


def changed_by_outcome(relation: Relation) -> exp.Query:
    """Return what changes, for `Scratch.changed`: the rows that the outcome ends, or lets enter."""
    assert relation.scratch is not None
    enters = [*_of_queue(relation), named(qualified("o", TS), ENTER), qualified("o", LEAVE)]
    enters += [qualified("o", SEQ), named(typed_null("BIGINT"), ROWID)]
    come = _outcomes(relation, enters).where(
        exp.Not(this=is_null(qualified("o", LEAVE))), copy=False
    )
    ends = [*of_store(relation), qualified("s", ENTER), qualified("o", LEAVE)]
    ends += [qualified("s", SEQ), qualified("s", ROWID)]
    gone = (
        exp.select(*ends)
        .from_(temp_table(relation.outcome).as_("o"), copy=False)
        .join(temp_table(relation.scratch.stored).as_("s"), on=_of_one_row("s"), copy=False)
        .where(is_null(qualified("o", TS)), copy=False)
    )
    return union_all([come, gone])


def changed_by_insertions(relation: Relation) -> exp.Select:
    """Return what changes, for `Scratch.changed`, where a queue of insertions moves into a bag."""
    times = [named(column(TS), ENTER), named(forever(), LEAVE), column(SEQ)]
    return exp.select(
        *references(relation.columns), *times, named(typed_null("BIGINT"), ROWID)
    ).from_(pending(replace(relation, scratch=None)).subquery("pending", copy=False), copy=False)


def changed_by_buffer(relation: Relation) -> exp.Select:
    """Return the same where the insertions are in memory, and in no queue."""
    times = [named(column(TS), ENTER), named(forever(), LEAVE), column(SEQ)]
    listed = [*references(relation.columns), *times, named(typed_null("BIGINT"), ROWID)]
    return exp.select(*listed).from_(exp.to_table(BUFFERED), copy=False)


def ends(relation: Relation) -> exp.Update:
    """End the rows of the store that the outcome ends."""
    store = state_table(relation.store)
    store.set("alias", exp.TableAlias(this=exp.to_identifier("s")))
    is_row: exp.Expr
    if relation.scratch is not None:
        ended = temp_table(relation.scratch.changed).as_("o")
        is_row = _of_one_place(relation.scratch)
    else:
        ended = temp_table(relation.outcome).as_("o")
        is_row = exp.and_(_of_one_row("s"), is_null(qualified("o", TS)))
    return exp.update(
        store, {LEAVE: qualified("o", LEAVE)}, where=is_row, from_=exp.From(this=ended)
    )


def _of_one_place(scratch: Scratch) -> exp.Expr:
    """Return whether what changes is a row of the store; it is found through an index, if any."""
    rowids = qualified("s", "rowid"), qualified("o", ROWID)
    if scratch.lead is None or not scratch.has_index:
        return exp.EQ(this=rowids[0], expression=rowids[1])
    lead = exp.EQ(this=qualified("s", scratch.lead), expression=qualified("o", scratch.lead))
    return exp.and_(lead, exp.NullSafeEQ(this=rowids[0], expression=rowids[1]))


def begins(relation: Relation) -> exp.Insert:
    """Move the rows that enter into the store."""
    if relation.scratch is not None:
        listed = [*references(relation.columns), *map(column, (ENTER, LEAVE, SEQ))]
        rows = exp.select(*listed).from_(temp_table(relation.scratch.changed), copy=False)
        rows = rows.where(is_null(column(ROWID)), copy=False)
        # few rows need no order, which takes as long as to insert them
        return _into_store(relation, rows)
    times = [qualified("o", name) for name in (TS, LEAVE, SEQ)]
    rows = _outcomes(relation, [*_of_queue(relation), *times])
    rows = rows.where(exp.Not(this=is_null(qualified("o", LEAVE))), copy=False)
    return _into_store(relation, rows.order_by(qualified("o", TS), qualified("o", SEQ), copy=False))


def _of_queue(relation: Relation) -> list[exp.Expr]:
    return [qualified("q", c.name) for c in relation.columns]


def _of_one_row(alias: str) -> exp.Expr:
    """Return whether the outcome is that of a row."""
    return exp.EQ(this=qualified(alias, SEQ), expression=qualified("o", SEQ))


def resolved(relation: Relation) -> exp.Delete:
    """Take what is resolved out of the queue."""
    return exp.delete(state_table(relation.queue)).where(
        until(column(TS), parameter("until")), copy=False
    )


def settled(relation: Relation, instant: int) -> exp.Query:
    """Return (columns, `_op`, `_cql_seq`): the elements of an instant that have an effect.

    They come to the same as all of its elements do, and none of the others can have one any more.
    Deletions have no numbers yet.
    """
    values = references(relation.columns)
    outcome = exp.select(column(SEQ)).from_(temp_table(relation.outcome), copy=False)
    ends = outcome.where(exp.EQ(this=column(LEAVE), expression=number(instant)))
    ended, enters = ends.where(is_null(column(TS))), ends.where(exp.Not(this=is_null(column(TS))))
    comes = outcome.where(
        exp.EQ(this=column(TS), expression=number(instant)), exp.Not(this=is_null(column(LEAVE)))
    )
    parts = []
    for source, seqs, operation in (
        (relation.store, ended, "-"),
        (relation.queue, enters, "-"),
        (relation.queue, comes, "+"),
    ):
        seq = column(SEQ) if operation == "+" else named(typed_null("BIGINT"), SEQ)
        parts.append(
            exp.select(*(v.copy() for v in values), named(text(operation), OP), seq)
            .from_(state_table(source), copy=False)
            .where(exp.In(this=column(SEQ), query=seqs.subquery(copy=False)), copy=False)
        )
    return union_all(parts)


def without_effect(relation: Relation) -> exp.Select:
    """Return (instant, `_cql_wrong`, element): the elements that have no effect, in order."""
    values = [
        exp.PropertyEQ(
            this=exp.to_identifier(c.name, quoted=True), expression=qualified("q", c.name)
        )
        for c in relation.columns
    ]
    element = cast(exp.Struct(expressions=values), "VARCHAR")
    rows = _outcomes(
        relation, [qualified("o", TS), qualified("o", WRONG), named(element, "element")]
    )
    return rows.where(
        exp.NEQ(this=qualified("o", WRONG), expression=number(0)), copy=False
    ).order_by(qualified("o", TS), qualified("o", SEQ), copy=False)


def content(relation: Relation, instant: int, *, judged: bool) -> exp.Query:
    """Return the bag that a relation is when its queue is resolved up to an instant.

    Args:
        relation: The relation.
        instant: The instant.
        judged: Whether the outcome is needed; if not, all that is pending comes.
    """
    there = (
        exp.select(*references(relation.columns))
        .from_(state_table(relation.store), copy=False)
        .where(stays(column(LEAVE)), copy=False)
    )
    comes = (
        exp.select(*references(relation.columns))
        .from_(state_table(relation.queue), copy=False)
        .where(until(column(TS), number(instant)), copy=False)
    )
    if judged:
        seqs = exp.select(column(SEQ)).from_(temp_table(relation.outcome), copy=False)
        ended = seqs.where(is_null(column(TS)))
        enters = seqs.where(exp.Not(this=is_null(column(TS))), stays(column(LEAVE)))
        there = there.where(
            exp.Not(this=exp.In(this=column(SEQ), query=ended.subquery(copy=False))), copy=False
        )
        comes = comes.where(exp.In(this=column(SEQ), query=enters.subquery(copy=False)), copy=False)
    return union_all([there, comes])


def _outcomes(relation: Relation, listed: Sequence[exp.Expr]) -> exp.Select:
    """Return the outcome of rows of the queue, with these rows."""
    return (
        exp.select(*listed)
        .from_(temp_table(relation.outcome).as_("o"), copy=False)
        .join(elements_of(relation).as_("q"), on=_of_one_row("q"), copy=False)
        .where(exp.Not(this=is_null(qualified("o", TS))), copy=False)
    )


def _into_store(relation: Relation, rows: exp.Select) -> exp.Insert:
    names = [*(c.name for c in relation.columns), ENTER, LEAVE, SEQ]
    identifiers = [exp.to_identifier(name, quoted=True) for name in names]
    return exp.insert(rows, state_table(relation.store), columns=identifiers)
