"""Insertions into a relation with a primary key whose keys are all free.

Where a key has no tuple, and no second element, `primary_key` comes to one thing: its tuple enters
at the instant of its insertion. So of insertions alone it is asked only which keys are not free,
before their tuples are compared with any others. If there is one, the other laws judge them all.

Of many insertions it is asked in parts, the cheapest first. Data that is loaded often lies in the
order of its key: where each key is greater than that of the row before, all are different, and to
see that takes a seventh of the time of grouping them.

Parameter of what is asked of many: `$until`, as in `relation`.
"""

from __future__ import annotations

from sqlglot import exp

from cqlduck.rewrite.operators.relation import (
    Relation,
    matches_key,
    near_keys,
    pending,
    stays,
    where,
)
from cqlduck.rewrite.relalg.builders import column
from cqlduck.rewrite.relalg.elements import (
    LEAVE,
    SEQ,
    after,
    named,
    number,
    qualified,
    references,
    state_table,
    temp_table,
    union_all,
)

IS_GREATER = "_cql_is_greater"


def occupied(relation: Relation) -> exp.Select:
    """Return (`_cql_seq`) of each key that is not free, by what changes: one of its rows.

    Args:
        relation: The relation; it has a primary key, its pending elements are insertions alone, and
            `Scratch.changed` has them.
    """
    assert relation.scratch is not None
    keys = [c for c in relation.columns if c.name in relation.primary_key]
    changed = temp_table(relation.scratch.changed)
    elements = exp.select(*references(keys), column(SEQ)).from_(changed, copy=False)
    both = union_all([elements, near_keys(relation, changed)]).subquery("tuples", copy=False)
    count = exp.Count(this=exp.Star())
    return (
        exp.select(named(exp.Min(this=column(SEQ)), SEQ))
        .from_(both, copy=False)
        .group_by(*references(keys), copy=False)
        .having(exp.GT(this=count, expression=number(1)), copy=False)
    )


def ascending(relation: Relation) -> exp.Select:
    """Return (`_cql_is_greater`): whether each key is greater than the one of the row before it.

    In whichever order rows are read: then no two keys are equal. A NULL is greater than nothing.

    Args:
        relation: The relation; it has a primary key, of columns without values inside.
    """
    keys = relation.primary_key
    before = [
        named(exp.Window(this=exp.Lag(this=column(name))), f"_cql_before{place}")
        for place, name in enumerate(keys)
    ]
    pairs = exp.select(*map(column, keys), *before).from_(
        pending(relation).subquery("pending", copy=False), copy=False
    )
    is_greater: exp.Expr | None = None
    for place, name in reversed([*enumerate(keys)]):
        mine, last = column(name), column(f"_cql_before{place}")
        greater = after(mine, last)
        if is_greater is not None:
            equal = exp.EQ(this=mine.copy(), expression=last.copy())
            greater = exp.or_(greater, exp.and_(equal, exp.paren(is_greater)))
        is_greater = greater
    assert is_greater is not None
    every = exp.Count(this=exp.Star())
    # of the first row there is none before
    are = exp.EQ(
        this=where(every, is_greater), expression=exp.Sub(this=every.copy(), expression=number(1))
    )
    return exp.select(named(are, IS_GREATER)).from_(pairs.subquery("pairs", copy=False), copy=False)


def doubled(relation: Relation) -> exp.Select:
    """Return (keys) of one key that two pending elements have, if there is one."""
    keys = [c for c in relation.columns if c.name in relation.primary_key]
    return (
        exp.select(*references(keys))
        .from_(pending(relation).subquery("pending", copy=False), copy=False)
        .group_by(*references(keys), copy=False)
        .having(exp.GT(this=exp.Count(this=exp.Star()), expression=number(1)), copy=False)
        .limit(1, copy=False)
    )


def existing(relation: Relation) -> exp.Select:
    """Return (`_cql_seq`) of a row of the store that has the key of an element, if there is one."""
    return (
        exp.select(qualified("s", SEQ))
        .from_(state_table(relation.store).as_("s"), copy=False)
        .join(
            pending(relation).subquery("q", copy=False),
            on=matches_key(relation),
            join_type="semi",
            copy=False,
        )
        .where(stays(qualified("s", LEAVE)), copy=False)
        .limit(1, copy=False)
    )
