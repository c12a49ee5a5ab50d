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
    stored_rows,
    table,
    upserts,
    where,
    wrong,
)
from cqlduck.rewrite.relalg.builders import cast, column, typed_null
from cqlduck.rewrite.relalg.elements import (
    SEQ,
    TS,
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
    return _outcome(relation, has_upserts=True)


def without_upserts(relation: Relation) -> exp.Select:
    """Return the same of a queue that has no upserts, in a statement with less in it."""
    return _outcome(relation, has_upserts=False)


def _outcome(relation: Relation, *, has_upserts: bool) -> exp.Select:
    whole = exp.select("*").from_(
        union_all([_moves(), _bad()]).subquery("outcome", copy=False), copy=False
    )
    for name, query in (
        ("pending", pending(relation)),
        ("counted", _counted(relation, has_upserts=has_upserts)),
        ("sums", _sums(relation)),
        ("judged", _judged(relation)),
    ):
        whole = whole.with_(name, as_=query, copy=False)
    return whole


def _counted(relation: Relation, *, has_upserts: bool) -> exp.Select:
    """Return what the keys have, and the elements from the last upsert of their key on."""
    elements = exp.select("*").from_(table("pending"), copy=False)
    history = union_all([stored_rows(relation, relation.primary_key, "u"), elements])
    listed = [*references(relation.columns), *map(column, (TS, OP, SEQ))]
    rows = exp.select(*listed).from_(history.subquery("history", copy=False), copy=False)
    if not has_upserts:
        return rows.select(named(typed_null("BIGINT"), UPSERT), copy=False)
    comes = exp.and_(upserts(), exp.Not(this=_was_there()))
    last = over(exp.Max(this=exp.Case().when(comes, column(SEQ))), relation.primary_key)
    counts = exp.or_(
        _was_there(), is_null(column(UPSERT)), exp.GTE(this=column(SEQ), expression=column(UPSERT))
    )
    return rows.select(named(last, UPSERT), copy=False).qualify(counts, copy=False)


def _sums(relation: Relation) -> exp.Select:
    """Return of each tuple its sum, whether an upsert sets it, a row of it, and that of h."""
    signs = exp.Case().when(deletes(), number(-1))
    signs = signs.when(upserts(), number(0)).else_(number(1))
    is_set = exp.LogicalOr(this=exp.NullSafeEQ(this=column(SEQ), expression=column(UPSERT)))
    first, here = exp.Min(this=column(SEQ)), exp.Not(this=_was_there())
    comes = where(first, exp.and_(here, exp.Not(this=deletes())))
    row = exp.Coalesce(this=comes, expressions=[where(first.copy(), here.copy())])
    return (
        exp.select(
            *references(relation.columns),
            named(cast(exp.Sum(this=signs), "BIGINT"), CHANGE),
            named(is_set, IS_SET),
            named(row, ROW),
            named(where(exp.Min(this=column(SEQ)), _was_there()), STORED_ROW),
            named(exp.Not(this=is_null(exp.Max(this=column(UPSERT)))), RESETS),
        )
        .from_(table("counted"), copy=False)
        .group_by(*references(relation.columns), copy=False)
    )


def _judged(relation: Relation) -> exp.Select:
    """Return the tuples, and whether their keys change to an inserted tuple, and to this one."""
    by = relation.primary_key
    frees = over(exp.LogicalOr(this=exp.and_(_had(), _falls())), by)
    has = over(exp.LogicalOr(this=_had()), by)
    takes = exp.or_(column(RESETS), frees, exp.Not(this=has))
    first = over(exp.RowNumber(), by, [exp.Ordered(this=gives(), desc=True), column(ROW)])
    stands = exp.and_(gives(), exp.EQ(this=first, expression=number(1)))
    return exp.select(
        *map(column, (CHANGE, IS_SET, RESETS, ROW, STORED_ROW)),
        named(takes, REPLACES),
        named(stands, STANDS),
    ).from_(table("sums"), copy=False)


def _moves() -> exp.Select:
    """Return the rows that end or enter: what a key had and has no more, or has and had not."""
    instant = parameter("instant")
    enters = exp.Case().when(exp.Not(this=_had()), instant)
    ends = exp.Case().when(_had(), instant.copy())
    row = exp.Coalesce(this=column(STORED_ROW), expressions=[column(ROW)])
    moves = exp.NEQ(this=column(STANDS), expression=exp.paren(_had()))
    return (
        exp.select(*right(row, enters, ends))
        .from_(table("judged"), copy=False)
        .where(column(REPLACES), moves, copy=False)
    )


def _bad() -> exp.Select:
    """Return the sums but for one deletion of what the key had, and one insertion that it took."""
    had = exp.paren(exp.Case().when(column(RESETS), column(IS_SET)).else_(_had()))
    # what an upsert sets is no insertion
    took = exp.and_(column(REPLACES), column(STANDS), exp.Not(this=column(IS_SET)))
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
