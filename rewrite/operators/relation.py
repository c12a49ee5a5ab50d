"""Relations that people change: from pending elements to lifetimes of rows.

A relation has two tables in `cql_state`. Its **pending** elements are those whose instants are not
closed: a row, its instant `_ts`, its operation `_op` (`+`, `-`, or `u` for an upsert) and its
number `_cql_seq`, which is the order of arrival. Its **store** has a row for each copy of a tuple,
which lives from `_cql_enter` until before `_cql_leave`, FOREVER while it is not deleted. A row
keeps its number when it moves from pending to the store, so a row of either is identified by its
number alone, and no statement computes with its values: any type will do, and values are preserved.

Resolving pending elements gives their **outcome**, a table of numbers (`_cql_seq`, `_ts`,
`_cql_leave`, `_cql_wrong`), with three kinds of rows:

    a row of the store that ends      `_ts` NULL    `_cql_leave` its end
    a pending row that enters         `_ts` entry   `_cql_leave` its end, or FOREVER
    elements that have no effect      `_ts` instant `_cql_leave` NULL

For the last kind, `_cql_seq` is one of the elements, and `_cql_wrong` their number: negative for
deletions of tuples that are not there, positive for second rows under a key.

`bags` has the law for a bag, `primary_key` the law under a key. The statements here carry it out.
Parameter: `$until`, the instant up to which pending elements are resolved.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass

from sqlglot import exp

from cqlduck.rewrite.plan import Column
from cqlduck.rewrite.relalg.builders import cast, column, typed_null
from cqlduck.rewrite.relalg.elements import (
    ENTER,
    LEAVE,
    SEQ,
    TS,
    forever,
    is_null,
    named,
    number,
    parameter,
    qualified,
    references,
    same,
    state_table,
    temp_table,
    union_all,
    until,
)

OP, WRONG, TUPLE, ROW = "_op", "_cql_wrong", "_cql_tuple", "_cql_row"


@dataclass(frozen=True)
class Relation:
    """A relation as its tables are.

    Args:
        columns: Its columns.
        primary_key: The names of those that are its key, or none.
        store: Its store, inside `cql_state`.
        queue: Its queue, inside `cql_state`.
        outcome: The temporary table of what its queue comes to.
        matches_null: Whether a value may be NULL by which rows of the store are looked for. If not,
            DuckDB can look for few rows in the parts of the store alone where they may lie.
        few: A temporary table of what is pending, if that is little. Of a queue that was long once
            DuckDB expects many rows, and would go through the store another way.
    """

    columns: tuple[Column, ...]
    primary_key: tuple[str, ...]
    store: str
    queue: str
    outcome: str = "_cql_outcome"
    matches_null: bool = True
    few: str | None = None


Law = Callable[[Relation], exp.Expr]
"""What says a statement of a relation."""


# -- what the laws read ---------------------------------------------------------------------------


def pending(relation: Relation) -> exp.Select:
    """Return (columns, `_ts`, `_op`, `_cql_seq`, `_cql_enter`): the elements to be resolved."""
    enter = named(column(TS), ENTER)
    rows = exp.select(*references(relation.columns), *map(column, (TS, OP, SEQ)), enter)
    if relation.few is not None:
        return rows.from_(temp_table(relation.few), copy=False)
    return rows.from_(state_table(relation.queue), copy=False).where(
        until(column(TS), parameter("until")), copy=False
    )


def set_apart(relation: Relation) -> exp.Select:
    """Return what is pending, for the table `few`."""
    return (
        exp.select(*references(relation.columns), *map(column, (TS, OP, SEQ)))
        .from_(state_table(relation.queue), copy=False)
        .where(until(column(TS), parameter("until")), copy=False)
    )


def stored_rows(relation: Relation, names: Sequence[str], operation: str) -> exp.Select:
    """Return the rows of the store that are there, where `pending` has the same values of columns.

    They look like elements of the given operation, before all instants: their `_ts` is NULL.

    Only of a join by one column does DuckDB filter a scan of the store row by row. So few elements
    with a key of several columns look for numbers first, in a scan of the key, and the numbers for
    the rows.

    Args:
        relation: The relation.
        names: The columns that have to be the same.
        operation: '+' or 'u'; '+' is for tuples of which copies are deleted.
    """
    matches = meet("q", "s", names, () if relation.matches_null else _plain(relation.columns))
    if operation == "+":
        matches = exp.and_(_is(qualified("q", OP), "-"), matches)
    listed = [qualified("s", c.name) for c in relation.columns]
    before = [named(typed_null("BIGINT"), TS), named(text(operation), OP)]
    shown = exp.select(*listed, *before, qualified("s", SEQ), qualified("s", ENTER))
    if relation.few is None or not 1 < len(names) < len(relation.columns):
        return _found(relation, shown, matches)
    numbers = _found(relation, exp.select(qualified("s", SEQ)), matches)
    return shown.from_(state_table(relation.store).as_("s"), copy=False).where(
        exp.In(this=qualified("s", SEQ), query=numbers.subquery(copy=False)), copy=False
    )


def _found(relation: Relation, shown: exp.Select, matches: exp.Expr) -> exp.Select:
    """Return values of the rows of the store that stay and match something that is pending."""
    return (
        shown.from_(state_table(relation.store).as_("s"), copy=False)
        .join(table("pending").as_("q"), on=matches, join_type="semi", copy=False)
        .where(_stays(qualified("s", LEAVE)), copy=False)
    )


def over(
    function: exp.Expr,
    by: Sequence[str],
    order: Sequence[exp.Expr] = (),
    frame: exp.WindowSpec | None = None,
) -> exp.Window:
    """Return a function over the rows with the same values of `by`, NULL being before all."""
    keys = [o if isinstance(o, exp.Ordered) else exp.Ordered(this=o, nulls_first=True)
            for o in order]  # fmt: skip
    return exp.Window(
        this=function,
        partition_by=[column(name) for name in by],
        order=exp.Order(expressions=keys) if keys else None,
        spec=frame,
    )


def earlier() -> exp.WindowSpec:
    """Return the frame of the rows before this one."""
    return exp.WindowSpec(
        kind="ROWS",
        start="UNBOUNDED",
        start_side="PRECEDING",
        end=number(1),
        end_side="PRECEDING",
    )


def later() -> exp.WindowSpec:
    """Return the frame of the rows after this one."""
    return exp.WindowSpec(
        kind="ROWS",
        start=number(1),
        start_side="FOLLOWING",
        end="UNBOUNDED",
        end_side="FOLLOWING",
    )


def where(function: exp.Expr, condition: exp.Expr) -> exp.Filter:
    """Return an aggregate of the rows that meet a condition."""
    return exp.Filter(this=function, expression=exp.Where(this=condition))


def deletes() -> exp.Expr:
    """Return whether an element is a deletion."""
    return _is(column(OP), "-")


def upserts() -> exp.Expr:
    """Return whether an element is an upsert."""
    return _is(column(OP), "u")


def meet(left: str, right: str, names: Sequence[str], never_null: Container[str] = ()) -> exp.Expr:
    """Return whether rows of two tables have the same in these columns, NULL being the same."""
    mine, theirs = ([qualified(side, n) for n in names] for side in (left, right))
    return same(mine, theirs, never_null)


def text(value: str) -> exp.Expr:
    """Return a string literal."""
    return exp.Literal.string(value)


def table(name: str) -> exp.Table:
    """Return a reference to a part of the statement."""
    return exp.Table(this=exp.to_identifier(name))


def wrong(row: exp.Expr, instant: exp.Expr, count: exp.Expr) -> list[exp.Expr]:
    """Return what an outcome lists of elements that have no effect."""
    return [named(row, SEQ), named(instant, TS), named(typed_null("BIGINT"), LEAVE),
            named(cast(count, "BIGINT"), WRONG)]  # fmt: skip


def only_wrong(sums: exp.Select) -> exp.Select:
    """Return what has no effect, of all sums as `wrong` lists them."""
    is_wrong = exp.NEQ(this=column(WRONG), expression=number(0))
    return exp.select("*").from_(sums.subquery("rest", copy=False)).where(is_wrong, copy=False)


def right(row: exp.Expr, instant: exp.Expr, end: exp.Expr) -> list[exp.Expr]:
    """Return what an outcome lists of a row that enters or ends; without an end it stays."""
    leave = exp.Coalesce(this=end, expressions=[forever()])
    return [named(row, SEQ), named(instant, TS), named(leave, LEAVE),
            named(cast(number(0), "BIGINT"), WRONG)]  # fmt: skip


# -- what is done with an outcome -----------------------------------------------------------------


def came(relation: Relation) -> exp.Insert:
    """Move a queue of insertions into a bag: nothing has to be judged."""
    rows = exp.select(*references(relation.columns), column(TS), forever(), column(SEQ)).from_(
        pending(relation).subquery("pending", copy=False), copy=False
    )
    return _into_store(relation, rows.order_by(column(TS), column(SEQ), copy=False))


def ends(relation: Relation) -> exp.Update:
    """End the rows of the store that the outcome ends."""
    outcome, store = temp_table(relation.outcome).as_("o"), state_table(relation.store)
    store.set("alias", exp.TableAlias(this=exp.to_identifier("s")))
    return exp.update(
        store,
        {LEAVE: qualified("o", LEAVE)},
        where=exp.and_(
            exp.EQ(this=qualified("s", SEQ), expression=qualified("o", SEQ)),
            is_null(qualified("o", TS)),
        ),
        from_=exp.From(this=outcome),
    )


def begins(relation: Relation) -> exp.Insert:
    """Move the rows that enter from the queue into the store."""
    values = [qualified("q", c.name) for c in relation.columns]
    times = [qualified("o", name) for name in (TS, LEAVE, SEQ)]
    rows = _outcomes(relation, [*values, *times])
    rows = rows.where(exp.Not(this=is_null(qualified("o", LEAVE))), copy=False)
    return _into_store(relation, rows.order_by(qualified("o", TS), qualified("o", SEQ), copy=False))


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
        .where(_stays(column(LEAVE)), copy=False)
    )
    comes = (
        exp.select(*references(relation.columns))
        .from_(state_table(relation.queue), copy=False)
        .where(until(column(TS), number(instant)), copy=False)
    )
    if judged:
        seqs = exp.select(column(SEQ)).from_(temp_table(relation.outcome), copy=False)
        ended = seqs.where(is_null(column(TS)))
        enters = seqs.where(exp.Not(this=is_null(column(TS))), _stays(column(LEAVE)))
        there = there.where(
            exp.Not(this=exp.In(this=column(SEQ), query=ended.subquery(copy=False))), copy=False
        )
        comes = comes.where(exp.In(this=column(SEQ), query=enters.subquery(copy=False)), copy=False)
    return union_all([there, comes])


def _outcomes(relation: Relation, listed: Sequence[exp.Expr]) -> exp.Select:
    """Return the outcome of rows of the queue, with these rows."""
    matches = exp.EQ(this=qualified("q", SEQ), expression=qualified("o", SEQ))
    few = relation.few
    queue = state_table(relation.queue) if few is None else temp_table(few)
    return (
        exp.select(*listed)
        .from_(temp_table(relation.outcome).as_("o"), copy=False)
        .join(queue.as_("q"), on=matches, copy=False)
        .where(exp.Not(this=is_null(qualified("o", TS))), copy=False)
    )


def _plain(columns: Sequence[Column]) -> list[str]:
    """Return the names of columns whose values have no others inside, which might be NULL."""
    nested = ("[", "STRUCT", "MAP", "UNION", "VARIANT")
    return [c.name for c in columns if not any(word in c.type for word in nested)]


def _into_store(relation: Relation, rows: exp.Select) -> exp.Insert:
    names = [*(c.name for c in relation.columns), ENTER, LEAVE, SEQ]
    identifiers = [exp.to_identifier(name, quoted=True) for name in names]
    return exp.insert(rows, state_table(relation.store), columns=identifiers)


def _stays(leave: exp.Expr) -> exp.Expr:
    return exp.EQ(this=leave, expression=forever())


def _is(expression: exp.Expr, value: str) -> exp.Expr:
    return exp.EQ(this=expression, expression=text(value))
