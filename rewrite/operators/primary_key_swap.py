"""Changes of a relation with a primary key where each key swaps its tuple at most once, at once.

`primary_key` defines f, from the previous tuple h of a key to its next one. Nearly always a key has
one change at an instant: its tuple goes, one comes, or one comes in the place of the other. So let
all elements have one instant, none be an upsert, and of each key let there be

    no deletion but of h, and no insertion of h         at most one deletion
    an insertion of another tuple c at most             and with h only if that is deleted

Then each element has its effect: the deletion ends h, and the insertion lets c enter. So what
changes is the elements, each beside what its key has: there is no outcome to be written, and none
to be joined with the rows again. For few changes nearly all of the work is to plan statements, and
this is one in the place of three.

What cannot be seen of an element alone is asked of what changes, by key (`exceptions`). A key of
another kind has the relation resolved by `primary_key_once`. A key that gives up h as often as it
gets it has no change (`unchanged`).

Parameter: `$instant`, the one of all elements.
"""

from __future__ import annotations

from sqlglot import exp

from cqlduck.rewrite.operators.relation import (
    OP,
    Relation,
    elements_of,
    matches_key,
    near,
    table,
    text,
)
from cqlduck.rewrite.plan import Column
from cqlduck.rewrite.relalg.builders import cast, column
from cqlduck.rewrite.relalg.elements import (
    ENTER,
    LEAVE,
    ROWID,
    SEQ,
    after,
    forever,
    is_null,
    named,
    number,
    parameter,
    qualified,
    same,
    temp_table,
)
from cqlduck.rewrite.relalg.values import may_vary, unsized

STORED_ROW, IS_SAME = "_cql_held", "_cql_same"
IS_UNCHANGED = "_cql_unchanged"


def changed(relation: Relation) -> exp.Select:
    """Return the elements as what they change, for `Scratch.changed`, beside what their keys have.

    Besides the columns of `Scratch.changed`: `_cql_held`, the number of the row that the key has,
    or NULL, and `_cql_same`, whether the element is of that row.

    Args:
        relation: The relation; it has a primary key, its pending elements are set apart, are no
            upserts, and have one instant.
    """
    rest = [c for c in relation.columns if c.name not in relation.primary_key]
    there = exp.Not(this=is_null(qualified("s", SEQ)))
    mine = [_without_arrays(qualified("q", c.name), c) for c in rest]
    is_same = exp.and_(there, same(mine, [qualified("s", c.name) for c in rest])) if rest else there
    instant, rowid = parameter("instant"), qualified("s", ROWID)
    changes = (
        exp.select(
            *(_value(c) for c in relation.columns),
            named(_either(qualified("s", ENTER), instant), ENTER),
            named(_either(instant.copy(), forever()), LEAVE),
            named(_either(qualified("s", SEQ), qualified("q", SEQ)), SEQ),
            named(exp.Case().when(_is_deletion(), rowid), ROWID),
            named(qualified("s", SEQ), STORED_ROW),
            named(is_same, IS_SAME),
        )
        .from_(elements_of(relation).as_("q"), copy=False)
        .join(_stored(relation), on=matches_key(relation), join_type="left", copy=False)
    )
    return changes.with_("near", as_=near(relation), materialized=True, copy=False)


def exceptions(relation: Relation) -> exp.Select:
    """Return (`_cql_unchanged`) of each key that is no such one, by `changed`.

    True says that what the key has is inserted as often as deleted, and nothing changes; false says
    that the key is of another kind.
    """
    is_same, every = column(IS_SAME), exp.Count(this=exp.Star())
    deletes = exp.NEQ(this=column(LEAVE), expression=forever())
    is_another = exp.NEQ(this=is_same.copy(), expression=exp.paren(deletes))
    # where no element is another's, each deletion has the row that it ends
    deletions, rows = (exp.Count(this=column(name)) for name in (ROWID, STORED_ROW))
    insertions = exp.Sub(this=every, expression=deletions)
    stays = exp.and_(after(rows, number(0)), exp.EQ(this=deletions, expression=number(0)))
    is_no_swap = exp.or_(
        exp.LogicalOr(this=is_another),
        after(deletions, number(1)),
        after(insertions, number(1)),
        exp.paren(stays),
    )
    gives_up = exp.EQ(this=every, expression=exp.Mul(this=number(2), expression=deletions))
    is_unchanged = exp.and_(exp.LogicalAnd(this=is_same), gives_up)
    return (
        exp.select(named(is_unchanged, IS_UNCHANGED))
        .from_(_changed(relation), copy=False)
        .group_by(*map(column, relation.primary_key), copy=False)
        .having(is_no_swap, copy=False)
    )


def unchanged(relation: Relation) -> exp.Delete:
    """Remove the elements of keys without a change from `Scratch.changed`: h is inserted there."""
    inserts = exp.EQ(this=column(LEAVE), expression=forever())
    rows = exp.select(column(STORED_ROW)).from_(_changed(relation), copy=False)
    rows = rows.where(column(IS_SAME), inserts, copy=False)
    is_one = exp.In(this=column(STORED_ROW), query=rows.subquery(copy=False))
    return exp.delete(_changed(relation)).where(is_one, copy=False)


def _changed(relation: Relation) -> exp.Table:
    assert relation.scratch is not None
    return temp_table(relation.scratch.changed)


def _value(known: Column) -> exp.Expr:
    """Return the value of a column; a row that ends has its own where equal values may differ."""
    mine = qualified("q", known.name)
    if not may_vary(known.type):
        return mine
    theirs: exp.Expr = qualified("s", known.name)
    if unsized(known.type) != known.type:
        theirs = cast(theirs, known.type)
    return named(_either(theirs, mine), known.name)


def _either(ends: exp.Expr, enters: exp.Expr) -> exp.Expr:
    """Return one thing of a row that ends, and another of one that enters."""
    return exp.Case().when(_is_deletion(), ends).else_(enters)


def _is_deletion() -> exp.Expr:
    return exp.EQ(this=qualified("q", OP), expression=text("-"))


def _stored(relation: Relation) -> exp.Expr:
    """Return what is near, to stand on the right of a LEFT JOIN, as `s`."""
    if all(unsized(c.type) == c.type for c in relation.columns):
        return table("near").as_("s")
    listed = [named(_without_arrays(column(c.name), c), c.name) for c in relation.columns]
    rows = exp.select(*listed, *map(column, (SEQ, ENTER, ROWID))).from_(table("near"), copy=False)
    return rows.subquery("s", copy=False)


def _without_arrays(value: exp.Expr, known: Column) -> exp.Expr:
    """Return a value with a list in the place of each array, see `unsized`."""
    kind = unsized(known.type)
    return value if kind == known.type else cast(value, kind)
