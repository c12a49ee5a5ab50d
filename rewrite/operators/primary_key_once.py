"""Changes of a relation with a primary key that all have one instant: f is applied once.

`primary_key` defines f. At one instant no change depends on another: each key has its previous
tuple h, and then f(h). So nothing is linked, and there is no recursion. The elements are summed by
tuple, h with them, and the tuples of a key show which of them it has then. Most ticks of a relation
that people change are of this kind, and with few changes most of the work is planning the
statement: this one takes half of the time of the other.

Parameters: `$until`, and `$instant`, the one of all elements.
"""

from __future__ import annotations

from sqlglot import exp

from cqlduck.rewrite.operators.primary_key import (
    CHANGE,
    IS_SET,
    REPLACES,
    RESETS,
    UPSERT,
    gives,
    history,
    is_set,
    sign,
)
from cqlduck.rewrite.operators.relation import (
    OP,
    ROW,
    Relation,
    deletes,
    only_wrong,
    over,
    pending,
    right,
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
    named,
    number,
    parameter,
    references,
    union_all,
)

STORED_ROW, STANDS = "_cql_held", "_cql_stands"


def outcome(relation: Relation) -> exp.Select:
    """Return what the queue of a relation comes to if all of it has one instant (see `relation`).

    Args:
        relation: The relation; it has a primary key.
    """
    return _outcome(relation, _counted(relation), has_upserts=True)


def without_upserts(relation: Relation) -> exp.Select:
    """Return the same of a queue that has no upserts: all elements count, and no key is reset."""
    return _outcome(relation, history(relation), has_upserts=False)


def _outcome(relation: Relation, counted: exp.Query, *, has_upserts: bool) -> exp.Select:
    whole = exp.select("*").from_(
        union_all([_moves(), _bad(has_upserts)]).subquery("outcome", copy=False), copy=False
    )
    for name, query in (
        ("pending", pending(relation)),
        ("counted", counted),
        ("sums", _sums(relation, has_upserts)),
        ("judged", _judged(relation, has_upserts)),
    ):
        whole = whole.with_(name, as_=query, copy=False)
    return whole


def _counted(relation: Relation) -> exp.Select:
    """Return what the keys have, and the elements from the last upsert of their key on."""
    comes = exp.and_(upserts(), exp.Not(this=_was_there()))
    last = over(exp.Max(this=exp.Case().when(comes, column(SEQ))), relation.primary_key)
    counts = exp.or_(
        _was_there(), is_null(column(UPSERT)), exp.GTE(this=column(SEQ), expression=column(UPSERT))
    )
    return (
        exp.select(*references(relation.columns), *map(column, (TS, OP, SEQ)), named(last, UPSERT))
        .from_(history(relation).subquery("history", copy=False), copy=False)
        .qualify(counts, copy=False)
    )


def _sums(relation: Relation, has_upserts: bool) -> exp.Select:
    """Return of each tuple its sum, a row of it, that of h, and what upserts do to it."""
    first, here = exp.Min(this=column(SEQ)), exp.Not(this=_was_there())
    comes = where(first, exp.and_(here, exp.Not(this=deletes())))
    row = exp.Coalesce(this=comes, expressions=[where(first.copy(), here.copy())])
    sums = (
        exp.select(
            *references(relation.columns),
            named(cast(exp.Sum(this=sign()), "BIGINT"), CHANGE),
            named(row, ROW),
            named(where(exp.Min(this=column(SEQ)), _was_there()), STORED_ROW),
        )
        .from_(table("counted"), copy=False)
        .group_by(*references(relation.columns), copy=False)
    )
    if not has_upserts:
        return sums
    resets = exp.Not(this=is_null(exp.Max(this=column(UPSERT))))
    return sums.select(named(is_set(), IS_SET), named(resets, RESETS), copy=False)


def _judged(relation: Relation, has_upserts: bool) -> exp.Select:
    """Return the tuples, and whether their keys change to an inserted tuple, and to this one."""
    by = relation.primary_key
    enters = gives() if has_upserts else after(column(CHANGE), number(0))
    frees = over(exp.LogicalOr(this=exp.and_(_had(), _falls())), by)
    has = over(exp.LogicalOr(this=_had()), by)
    takes = exp.or_(column(RESETS) if has_upserts else None, frees, exp.Not(this=has))
    first = over(exp.RowNumber(), by, [exp.Ordered(this=enters, desc=True), column(ROW)])
    stands = exp.and_(enters.copy(), exp.EQ(this=first, expression=number(1)))
    upserted = (IS_SET, RESETS) if has_upserts else ()
    return exp.select(
        *map(column, (CHANGE, ROW, STORED_ROW, *upserted)),
        named(takes, REPLACES),
        named(stands, STANDS),
    ).from_(table("sums"), copy=False)


def _moves() -> exp.Select:
    """Return the rows that end or enter: what a key had and has no more, or has and had not."""
    instant = parameter("instant")
    enters = exp.Case().when(is_null(column(STORED_ROW)), instant)
    ends = exp.Case().when(_had(), instant.copy())
    row = exp.Coalesce(this=column(STORED_ROW), expressions=[column(ROW)])
    moves = exp.NEQ(this=column(STANDS), expression=exp.paren(_had()))
    return (
        exp.select(*right(row, enters, ends))
        .from_(table("judged"), copy=False)
        .where(column(REPLACES), moves, copy=False)
    )


def _bad(has_upserts: bool) -> exp.Select:
    """Return the sums but for one deletion of what the key had, and one insertion that it took."""
    had, took = _had(), exp.and_(column(REPLACES), column(STANDS))
    if has_upserts:
        had = exp.paren(exp.Case().when(column(RESETS), column(IS_SET)).else_(had))
        # what an upsert sets is no insertion
        took = exp.and_(took, exp.Not(this=column(IS_SET)))
    right_ones = exp.Case().when(exp.and_(_falls(), had), number(-1))
    right_ones = right_ones.when(took, number(1)).else_(number(0))
    rest = exp.Sub(this=column(CHANGE), expression=right_ones)
    judged = exp.select(*wrong(column(ROW), parameter("instant"), rest))
    return only_wrong(judged.from_(table("judged"), copy=False))


def _was_there() -> exp.Expr:
    return is_null(column(TS))


def _had() -> exp.Expr:
    return exp.not_(is_null(column(STORED_ROW)))


def _falls() -> exp.Expr:
    return exp.LT(this=column(CHANGE), expression=number(0))
