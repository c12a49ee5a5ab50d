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

Few pending elements are set apart, in temporary tables (`Scratch`): what is pending, the rows of
the store that it may change, and what changes. So the store is searched once, its rows are ended
where they lie, by row id, and the queries read what changed instead of looking for it.

`bags` has the law for a bag, `primary_key` the law under a key. `outcome` carries it out.
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
    ROWID,
    SEQ,
    TS,
    forever,
    named,
    number,
    parameter,
    qualified,
    references,
    same,
    state_table,
    temp_table,
    until,
)

OP, WRONG, TUPLE, ROW = "_op", "_cql_wrong", "_cql_tuple", "_cql_row"

BUFFERED = "_cql_buffered_elements"
"""What pending elements are called to statements that are in memory, and in no queue."""


@dataclass(frozen=True)
class Scratch:
    """Temporary tables in which few pending elements are resolved.

    Args:
        pending: The elements; None if the queue has no others, and has never been long. Of one
            that was DuckDB expects many rows, and would go through the store another way.
            `BUFFERED` if they are in memory, and in no table.
        stored: The rows of the store that they may change, with their row ids (`_cql_rowid`).
        changed: The rows that enter, and those that end, which have row ids.
        lead: The column by which rows of the store are looked for first, in which nothing that is
            pending is NULL; None if there is no such column. Only of a join by one column does
            DuckDB filter a scan of the store row by row.
        has_index: Whether that column has an index, and so few are pending that DuckDB uses it
            (`search`).
    """

    pending: str | None
    stored: str
    changed: str
    lead: str | None
    has_index: bool = False


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
        scratch: Where few pending elements are resolved; None if they are many.
    """

    columns: tuple[Column, ...]
    primary_key: tuple[str, ...]
    store: str
    queue: str
    outcome: str = "_cql_outcome"
    matches_null: bool = True
    scratch: Scratch | None = None


Law = Callable[[Relation], exp.Expr]
"""What says a statement of a relation."""


# -- what the laws read ---------------------------------------------------------------------------


def pending(relation: Relation) -> exp.Select:
    """Return (columns, `_ts`, `_op`, `_cql_seq`, `_cql_enter`): the elements to be resolved."""
    enter = named(column(TS), ENTER)
    rows = exp.select(*references(relation.columns), *map(column, (TS, OP, SEQ)), enter)
    rows = rows.from_(elements_of(relation), copy=False)
    if relation.scratch is not None:
        return rows
    return rows.where(until(column(TS), parameter("until")), copy=False)


def elements_of(relation: Relation) -> exp.Table:
    """Return the table of the elements to be resolved, which may have later ones too."""
    scratch = relation.scratch
    if scratch is None or scratch.pending is None:
        return state_table(relation.queue)
    if scratch.pending == BUFFERED:
        return table(BUFFERED)
    return temp_table(scratch.pending)


def queued(relation: Relation) -> exp.Select:
    """Return what is pending in the queue, for `Scratch.pending`."""
    return (
        exp.select(*references(relation.columns), *map(column, (TS, OP, SEQ)))
        .from_(state_table(relation.queue), copy=False)
        .where(until(column(TS), parameter("until")), copy=False)
    )


def stored_rows(relation: Relation, names: Sequence[str], operation: str) -> exp.Select:
    """Return the rows of the store that are there, where `pending` has the same values of columns.

    They look like elements of the given operation, before all instants: their `_ts` is NULL.

    Args:
        relation: The relation.
        names: The columns that have to be the same.
        operation: '+' or 'u'; '+' is for tuples of which copies are deleted.
    """
    before = [named(typed_null("BIGINT"), TS), named(text(operation), OP)]
    shown = exp.select(*of_store(relation), *before, qualified("s", SEQ), qualified("s", ENTER))
    if relation.scratch is not None:
        return shown.from_(temp_table(relation.scratch.stored).as_("s"), copy=False)
    rows = shown.from_(state_table(relation.store).as_("s"), copy=False)
    rows = rows.where(stays(qualified("s", LEAVE)), copy=False)
    return _met(rows, table("pending"), _matching(relation, names))


def candidates(relation: Relation) -> exp.Select:
    """Return the rows of the store that pending elements may change, for `Scratch.stored`."""
    assert relation.scratch is not None
    names = _identifying(relation)
    if relation.scratch.lead is None or names == (relation.scratch.lead,):
        return near(relation)
    found = exp.select("*").from_(table("near").as_("s"), copy=False)
    found = _met(found, elements_of(relation), _matching(relation, names))
    return found.with_("near", as_=near(relation), materialized=True, copy=False)


def near(relation: Relation) -> exp.Select:
    """Return the rows of the store where pending elements have the same in `Scratch.lead` alone.

    Without such a column, and with a key of that one alone, they are those of `candidates`.
    """
    place = named(qualified("s", "rowid"), ROWID)
    shown = [*of_store(relation), qualified("s", SEQ), qualified("s", ENTER), place]
    return _near(relation, shown, elements_of(relation))


def near_keys(relation: Relation, elements: exp.Table) -> exp.Select:
    """Return (keys, `_cql_seq`) of the same rows, of elements of a table."""
    keys = [qualified("s", c.name) for c in relation.columns if c.name in relation.primary_key]
    return _near(relation, [*keys, qualified("s", SEQ)], elements.copy())


def _near(relation: Relation, shown: Sequence[exp.Expr], elements: exp.Table) -> exp.Select:
    assert relation.scratch is not None
    lead, names = relation.scratch.lead, _identifying(relation)
    if lead is not None and relation.scratch.has_index:
        return _looked_up(relation, shown, elements, lead)
    rows = exp.select(*shown).from_(state_table(relation.store).as_("s"), copy=False)
    rows = rows.where(stays(qualified("s", LEAVE)), copy=False)
    if lead is None or names == (lead,):
        return _met(rows, elements, _matching(relation, names))
    return _met(rows, elements, meet("q", "s", (lead,), (lead,)))


def _looked_up(
    relation: Relation, shown: Sequence[exp.Expr], elements: exp.Table, lead: str
) -> exp.Select:
    """Return the same rows, found through an index, and tested then whether they have ended.

    A second filter of the scan would keep DuckDB from looking in the index (`search`); it stays
    outside of a LIMIT.
    """
    found = exp.select("*", named(column("rowid"), ROWID)).from_(
        state_table(relation.store).as_("s"), copy=False
    )
    found = _met(found, elements, meet("q", "s", (lead,), (lead,))).offset(0, copy=False)
    listed = [named(column(ROWID), ROWID) if _is_place(one) else one for one in shown]
    rows = exp.select(*listed).from_(found.subquery("s", copy=False), copy=False)
    return rows.where(stays(qualified("s", LEAVE)), copy=False)


def _is_place(shown: exp.Expr) -> bool:
    return shown.alias_or_name == ROWID


def _identifying(relation: Relation) -> tuple[str, ...]:
    """Return the columns by which rows of the store are looked for."""
    return relation.primary_key or tuple(c.name for c in relation.columns)


def _met(rows: exp.Select, pending: exp.Table, matches: exp.Expr) -> exp.Select:
    """Return those of some rows that match something that is pending."""
    return rows.join(pending.as_("q"), on=matches, join_type="semi", copy=False)


def _matching(relation: Relation, names: Sequence[str]) -> exp.Expr:
    """Return whether an element may change a row of the store; without a key deletions alone do."""
    if relation.primary_key:
        return matches_key(relation)
    matches = meet("q", "s", names, () if relation.matches_null else plain(relation.columns))
    return exp.and_(_is(qualified("q", OP), "-"), matches)


def matches_key(relation: Relation) -> exp.Expr:
    """Return whether an element `q` and a row `s` of the store have the same key."""
    never_null = () if relation.matches_null else plain(relation.columns)
    return meet("q", "s", relation.primary_key, never_null)


def of_store(relation: Relation) -> list[exp.Expr]:
    """Return the columns of a row `s` of the store."""
    return [qualified("s", c.name) for c in relation.columns]


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
    return moved(row, instant, exp.Coalesce(this=end, expressions=[forever()]))


def moved(row: exp.Expr, instant: exp.Expr, leave: exp.Expr) -> list[exp.Expr]:
    """Return what an outcome lists of a row that enters or ends, whose end is known."""
    return [named(row, SEQ), named(instant, TS), named(leave, LEAVE),
            named(cast(number(0), "BIGINT"), WRONG)]  # fmt: skip


def plain(columns: Sequence[Column]) -> list[str]:
    """Return the names of columns whose values have no others inside, which might be NULL."""
    nested = ("[", "STRUCT", "MAP", "UNION", "VARIANT")
    return [c.name for c in columns if not any(word in c.type for word in nested)]


def stays(leave: exp.Expr) -> exp.Expr:
    """Return whether a row of the store has not ended."""
    return exp.EQ(this=leave, expression=forever())


def _is(expression: exp.Expr, value: str) -> exp.Expr:
    return exp.EQ(this=expression, expression=text(value))
