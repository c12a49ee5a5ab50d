"""Changes of a relation with a primary key: the tuple of each key.

The tuple of a key at an instant follows from its previous tuple h and from the elements of the
instant: an upsert sets h to its tuple, whatever there was, and cancels earlier elements of that
instant; of several upserts the last by arrival counts. The insertions and deletions after it
(without an upsert, all) are summed by tuple. Let G be the tuples whose sum is negative, and c the
first arrival among those whose sum is positive. Then the key has

    f(h) = c     if h ∈ G, or if there is no h
         = h     else

and of the sums everything is wrong but one deletion of h and one insertion of c. f yields c or h,
so a state, once reached, lasts until the first later instant that **ends** it: one with an upsert,
one that deletes its tuple, or, if the key has no tuple, one that inserts a tuple. So each instant
has one successor, a window function finds it, and the instants at which a key changes are the chain
of successors from the first one, along which the recursion runs. Upserts begin chains of their own,
because they do not depend on h. The number of rounds of the recursion is the greatest number of
changes of a key between upserts; a round costs a look at the remaining keys.

The instants from which a key's tuple is judged do not suffice: an instant that changes nothing may
be the one on which the next depends.
"""

from __future__ import annotations

from sqlglot import exp

from cqlduck.rewrite.operators.relation import (
    OP,
    ROW,
    TUPLE,
    Relation,
    deletes,
    earlier,
    later,
    meet,
    only_wrong,
    over,
    pending,
    right,
    stored_rows,
    table,
    upserts,
    where,
    wrong,
)
from cqlduck.rewrite.relalg.builders import cast, column
from cqlduck.rewrite.relalg.elements import (
    SEQ,
    TS,
    after,
    is_null,
    least,
    named,
    number,
    qualified,
    union_all,
)

KEY, UPSERT, CHANGE = "_cql_key", "_cql_upsert", "_cql_d"
IS_SET, RESETS, GIVES = "_cql_is_set", "_cql_resets", "_cql_gives"
STATE, ENDS, NEXT, BEGINS = "_cql_state", "_cql_ends", "_cql_next", "_cql_begins"
REPLACES, BEFORE = "_cql_takes_place", "_cql_before"
NOTHING = -1
"""The tuple of a key that has none; the tuples have the numbers of rows."""


def outcome(relation: Relation) -> exp.Select:
    """Return what the queue of a relation with a primary key comes to (see `relation`)."""
    whole = exp.select("*").from_(
        union_all([_enter(), _bad()]).subquery("outcome", copy=False), copy=False
    )
    for name, query in (
        ("pending", pending(relation)),
        ("history", history(relation)),
        ("numbered", _numbered(relation)),
        ("sums", _sums()),
        ("ranked", _ranked()),
        ("instants", _instants()),
        ("linked", _linked()),
        ("chain", _chain()),
        ("stood", _stood()),
        ("changes", _changes()),
    ):
        whole = whole.with_(name, as_=query, recursive=True, copy=False)
    return whole


def latest(relation: Relation) -> exp.Select:
    """Return the outcome of a queue that has upserts alone: f is a constant, so nothing is linked.

    Of each key and instant the last counts, if it differs from what the key had before.
    """
    keys = relation.primary_key
    last = over(exp.RowNumber(), [*keys, TS], [exp.Ordered(this=column(SEQ), desc=True)])
    first_of_key, first_of_tuple = (
        over(exp.Min(this=column(SEQ)), by) for by in (keys, [c.name for c in relation.columns])
    )
    set_ = (
        exp.select(
            named(column(SEQ), ROW),
            column(TS),
            named(first_of_key, KEY),
            named(first_of_tuple, STATE),
            named(exp.true(), REPLACES),
        )
        .from_(history(relation).subquery("history", copy=False), copy=False)
        .qualify(exp.EQ(this=last, expression=number(1)), copy=False)
    )
    before = over(exp.Lag(this=column(STATE)), [KEY], [column(TS)])
    stood = exp.select(
        "*", named(exp.Coalesce(this=before, expressions=[number(NOTHING)]), BEFORE)
    ).from_(set_.subquery("set", copy=False), copy=False)
    whole = _enter()
    for name, query in (
        ("pending", pending(relation)),
        ("stood", stood),
        ("changes", _changes()),
    ):
        whole = whole.with_(name, as_=query, copy=False)
    return whole


def history(relation: Relation) -> exp.Query:
    """Return what the keys have, as upserts without an instant, and the elements."""
    elements = exp.select("*").from_(table("pending"), copy=False)
    return union_all([stored_rows(relation, relation.primary_key, "u"), elements])


def _numbered(relation: Relation) -> exp.Select:
    """Return the elements with numbers for their keys and tuples, and their instant's upsert."""
    last = exp.Max(this=exp.Case().when(upserts(), column(SEQ)))
    return exp.select(
        column(SEQ),
        column(TS),
        column(OP),
        named(over(exp.Min(this=column(SEQ)), relation.primary_key), KEY),
        named(over(exp.Min(this=column(SEQ)), [c.name for c in relation.columns]), TUPLE),
        named(over(last, [*relation.primary_key, TS]), UPSERT),
    ).from_(table("history"), copy=False)


def _sums() -> exp.Select:
    """Return the sum of each tuple and instant, whether an upsert sets it, and a row of it."""
    comes = where(exp.Min(this=column(SEQ)), exp.Not(this=deletes()))
    row = exp.Coalesce(this=comes, expressions=[exp.Min(this=column(SEQ))])
    counts = exp.or_(is_null(column(UPSERT)), exp.GTE(this=column(SEQ), expression=column(UPSERT)))
    keys = [column(name) for name in (KEY, TUPLE, TS)]
    return (
        exp.select(
            *keys,
            named(cast(exp.Sum(this=sign()), "BIGINT"), CHANGE),
            named(is_set(), IS_SET),
            named(row, ROW),
            named(exp.Not(this=is_null(exp.Max(this=column(UPSERT)))), RESETS),
        )
        .from_(table("numbered"), copy=False)
        .where(counts, copy=False)
        .group_by(*[key.copy() for key in keys], copy=False)
    )


def _ranked() -> exp.Select:
    """Return the sums, whether their instant gives the tuple, and when each tuple is deleted."""
    goes = where(exp.Min(this=column(TS)), exp.LT(this=column(CHANGE), expression=number(0)))
    return exp.select(
        "*",
        named(gives(), GIVES),
        named(over(goes, [TUPLE], [column(TS)], later()), ENDS),
    ).from_(table("sums"), copy=False)


def _instants() -> exp.Select:
    """Return for each key and instant the tuple that it gives, if the key takes one there."""
    state = exp.Case().when(column(GIVES), column(TUPLE)).else_(number(NOTHING))
    # what an upsert sets has the first of the rows that count
    first = over(
        exp.RowNumber(), [KEY, TS], [exp.Ordered(this=column(GIVES), desc=True), column(ROW)]
    )
    return (
        exp.select(*map(column, (KEY, TS, RESETS, ROW, ENDS)), named(state, STATE))
        .from_(table("ranked"), copy=False)
        .qualify(exp.EQ(this=first, expression=number(1)), copy=False)
    )


def _linked() -> exp.Select:
    """Return the instants with the one that ends the state of each, and where chains begin."""
    sets = where(exp.Min(this=column(TS)), column(RESETS))
    comes = where(exp.Min(this=column(TS)), _is_something())
    ends = exp.Case().when(_is_something(), column(ENDS))
    ends = ends.else_(over(comes, [KEY], [column(TS)], later()))
    resets = over(sets, [KEY], [column(TS)], later())
    # of instants that there are not, the other one
    following = least(resets, ends)
    known = exp.or_(column(RESETS), _is_something())
    begun = over(exp.LogicalOr(this=exp.paren(known)), [KEY], [column(TS)], earlier())
    nothing_before = exp.Not(this=exp.Coalesce(this=begun, expressions=[exp.false()]))
    first = exp.and_(_is_something(), nothing_before)
    return exp.select(
        *map(column, (KEY, TS, RESETS, ROW, STATE)),
        named(following, NEXT),
        named(exp.or_(column(RESETS), first), BEGINS),
    ).from_(table("instants"), copy=False)


def _chain() -> exp.Query:
    """Return the instants at which a key takes what they give, with their successors."""
    begin = (
        exp.select(*map(column, (KEY, TS, NEXT)))
        .from_(table("linked"), copy=False)
        .where(column(BEGINS), copy=False)
    )
    matches = exp.and_(
        exp.EQ(this=qualified("l", KEY), expression=qualified("c", KEY)),
        exp.EQ(this=qualified("l", TS), expression=qualified("c", NEXT)),
        exp.Not(this=qualified("l", RESETS)),
    )
    follow = (
        exp.select(*(qualified("l", name) for name in (KEY, TS, NEXT)))
        .from_(table("chain").as_("c"), copy=False)
        .join(table("linked").as_("l"), on=matches, copy=False)
    )
    return union_all([begin, follow])


def _stood() -> exp.Select:
    """Return the instants with what their keys had before them, and whether it changes there."""
    taken = exp.Not(this=is_null(qualified("c", KEY)))
    state = exp.Case().when(taken, qualified("l", STATE))
    before = over(exp.IgnoreNulls(this=exp.LastValue(this=state)), [], [qualified("l", TS)],
                  earlier())  # fmt: skip
    before.set("partition_by", [qualified("l", KEY)])
    return (
        exp.select(
            *(qualified("l", name) for name in (KEY, TS, RESETS, ROW, STATE)),
            named(taken.copy(), REPLACES),
            named(exp.Coalesce(this=before, expressions=[number(NOTHING)]), BEFORE),
        )
        .from_(table("linked").as_("l"), copy=False)
        .join(
            table("chain").as_("c"),
            on=meet("l", "c", (KEY, TS), (KEY,)),
            join_type="left",
            copy=False,
        )
    )


def _changes() -> exp.Select:
    """Return the rows that keys have in turn, each until the next."""
    changes = exp.NEQ(this=column(STATE), expression=column(BEFORE))
    end = over(exp.Lead(this=column(TS)), [KEY], [column(TS)])
    return (
        exp.select(*map(column, (ROW, TS, STATE)), named(end, ENDS))
        .from_(table("stood"), copy=False)
        .where(column(REPLACES), changes, copy=False)
    )


def _enter() -> exp.Select:
    """Return the rows that end or enter."""
    stays = exp.and_(is_null(column(TS)), is_null(column(ENDS)))
    return (
        exp.select(*right(column(ROW), column(TS), column(ENDS)))
        .from_(table("changes"), copy=False)
        .where(_is_something(), exp.Not(this=exp.paren(stays)), copy=False)
    )


def _bad() -> exp.Select:
    """Return the sums but for one deletion of what the key had, and one insertion that it took."""
    had = exp.Case().when(qualified("i", RESETS), qualified("s", IS_SET))
    had = had.else_(exp.EQ(this=qualified("s", TUPLE), expression=qualified("i", BEFORE)))
    # what an upsert sets is no insertion
    took = exp.and_(
        qualified("i", REPLACES),
        exp.EQ(this=qualified("s", TUPLE), expression=qualified("i", STATE)),
        exp.Not(this=qualified("s", IS_SET)),
    )
    deleted = exp.and_(exp.LT(this=qualified("s", CHANGE), expression=number(0)), had)
    right_ones = exp.Case().when(deleted, number(-1)).when(took, number(1)).else_(number(0))
    rest = exp.Sub(this=qualified("s", CHANGE), expression=right_ones)
    return only_wrong(
        exp.select(*wrong(qualified("s", ROW), qualified("s", TS), rest))
        .from_(table("sums").as_("s"), copy=False)
        .join(table("stood").as_("i"), on=meet("s", "i", (KEY, TS), (KEY, TS)), copy=False)
    )


def sign() -> exp.Expr:
    """Return by how much an element changes how often its tuple is there."""
    return exp.Case().when(deletes(), number(-1)).when(upserts(), number(0)).else_(number(1))


def is_set() -> exp.Expr:
    """Return whether the last upsert is among the elements of a group."""
    return exp.LogicalOr(this=exp.NullSafeEQ(this=column(SEQ), expression=column(UPSERT)))


def gives() -> exp.Expr:
    """Return whether an instant gives its key a tuple, of which the first one counts."""
    stays = exp.and_(column(IS_SET), exp.GTE(this=column(CHANGE), expression=number(0)))
    return exp.or_(stays, after(column(CHANGE), number(0)))


def _is_something() -> exp.Expr:
    return exp.NEQ(this=column(STATE), expression=number(NOTHING))
