"""Changes of a relation with a primary key where no key gets more than one other tuple, at once.

`primary_key` defines f, from the previous tuple h of a key to its next one. Nearly always a key has
one change at an instant: its tuple goes, one comes, or one comes in the place of the other. So let
all elements have one instant, and of each key let

    d = insertions − deletions of h        no deletion of another tuple
                                           at most one insertion of another tuple c

Then h goes if d < 0; c comes if h goes or there is none. All else has no effect: of h, all but one
deletion, or as many insertions as d says; c, if it does not come.

No tuple is grouped or ranked: a key has one row, and one comparison says which elements are of h.
For few changes most of the work is to plan the statement, and this one takes half of the time of
`primary_key_once`. Of a key of another kind only the elements of h are judged. A row without number
says that there is one, and then the outcome has to be that of `primary_key_once`.

Parameter: `$instant`, the one of all elements.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from cqlduck.rewrite.operators.relation import (
    OP,
    Relation,
    elements_of,
    matches_key,
    moved,
    only_wrong,
    table,
    text,
    where,
    wrong,
)
from cqlduck.rewrite.plan import Column
from cqlduck.rewrite.relalg.builders import cast, column, typed_null
from cqlduck.rewrite.relalg.elements import (
    SEQ,
    forever,
    is_null,
    named,
    number,
    parameter,
    qualified,
    same,
    temp_table,
    union_all,
)
from cqlduck.rewrite.relalg.values import unsized

STORED_ROW, IS_SAME, DELETES = "_cql_held", "_cql_same", "_cql_deletes"
CHANGE, ROW, OTHER_ROW = "_cql_d", "_cql_row", "_cql_other"
IS_SWAP = "_cql_swap"


def outcome(relation: Relation) -> exp.Select:
    """Return what a queue comes to, and a row without `_cql_seq` for a key of another kind.

    Args:
        relation: The relation; it has a primary key, its pending elements are set apart, are no
            upserts, and have one instant.
    """
    parts = [_goes(), _comes(), _wrong_of_held(), _wrong_of_other(), _is_of_another_kind()]
    whole = exp.select("*").from_(union_all(parts).subquery("outcome", copy=False), copy=False)
    for name, query in (("elements", _elements(relation)), ("keys", _keys(relation))):
        whole = whole.with_(name, as_=query, copy=False)
    return whole


def _elements(relation: Relation) -> exp.Select:
    """Return the keys of elements, with what the key has, and whether an element is of that."""
    assert relation.scratch is not None
    rest = [c for c in relation.columns if c.name not in relation.primary_key]
    there = exp.Not(this=is_null(qualified("s", SEQ)))
    mine = [_without_arrays(qualified("q", c.name), c) for c in rest]
    theirs = [qualified("s", c.name) for c in rest]
    is_same = exp.and_(there, same(mine, theirs)) if rest else there
    return (
        exp.select(
            *(qualified("q", name) for name in relation.primary_key),
            qualified("q", SEQ),
            named(exp.EQ(this=qualified("q", OP), expression=text("-")), DELETES),
            named(qualified("s", SEQ), STORED_ROW),
            named(is_same, IS_SAME),
        )
        .from_(elements_of(relation).as_("q"), copy=False)
        .join(
            _stored(relation, relation.scratch.stored),
            on=matches_key(relation),
            join_type="left",
            copy=False,
        )
    )


def _stored(relation: Relation, name: str) -> exp.Expr:
    """Return what the keys have, to stand on the right of a LEFT JOIN, as `s`."""
    found = temp_table(name)
    rest = [c for c in relation.columns if c.name not in relation.primary_key]
    if all(unsized(c.type) == c.type for c in rest):
        return found.as_("s")
    listed = [named(_without_arrays(column(c.name), c), c.name) for c in rest]
    keys = map(column, (*relation.primary_key, SEQ))
    return exp.select(*keys, *listed).from_(found, copy=False).subquery("s", copy=False)


def _without_arrays(value: exp.Expr, known: Column) -> exp.Expr:
    """Return a value with a list in the place of each array, see `unsized`."""
    kind = unsized(known.type)
    return value if kind == known.type else cast(value, kind)


def _keys(relation: Relation) -> exp.Select:
    """Return of each key its previous row, and what the elements of h and of others come to."""
    is_same, deletes = column(IS_SAME), column(DELETES)
    other, comes = exp.Not(this=is_same.copy()), exp.Not(this=deletes.copy())
    sign = exp.Case().when(exp.Not(this=is_same.copy()), number(0))
    sign = sign.when(deletes.copy(), number(-1)).else_(number(1))
    first = exp.Min(this=column(SEQ))
    inserted = where(first.copy(), exp.and_(is_same.copy(), comes.copy()))
    row = exp.Coalesce(this=inserted, expressions=[where(first.copy(), is_same.copy())])
    count = exp.Count(this=exp.Star())
    none_goes = exp.EQ(this=where(count, exp.and_(other, deletes)), expression=number(0))
    one_comes = exp.LTE(this=where(count.copy(), other.copy()), expression=number(1))
    return (
        exp.select(
            named(exp.Min(this=column(STORED_ROW)), STORED_ROW),
            named(cast(exp.Sum(this=sign), "BIGINT"), CHANGE),
            named(row, ROW),
            named(where(first, other.copy()), OTHER_ROW),
            named(exp.and_(none_goes, one_comes), IS_SWAP),
        )
        .from_(table("elements"), copy=False)
        .group_by(*map(column, relation.primary_key), copy=False)
    )


def _falls() -> exp.Expr:
    return exp.LT(this=column(CHANGE), expression=number(0))


def _is_free() -> exp.Expr:
    """Return whether a key has no tuple, or loses it."""
    return exp.paren(exp.or_(is_null(column(STORED_ROW)), _falls()))


def _goes() -> exp.Select:
    listed = moved(column(STORED_ROW), typed_null("BIGINT"), parameter("instant"))
    return exp.select(*listed).from_(table("keys"), copy=False).where(_falls(), copy=False)


def _comes() -> exp.Select:
    return _others(moved(column(OTHER_ROW), parameter("instant"), forever()), _is_free())


def _wrong_of_held() -> exp.Select:
    rest = exp.Case().when(_falls(), exp.Add(this=column(CHANGE), expression=number(1)))
    listed = wrong(column(ROW), parameter("instant"), rest.else_(column(CHANGE)))
    return only_wrong(exp.select(*listed).from_(table("keys"), copy=False))


def _wrong_of_other() -> exp.Select:
    listed = wrong(column(OTHER_ROW), parameter("instant"), number(1))
    return _others(listed, exp.Not(this=_is_free()))


def _others(listed: Sequence[exp.Expr], condition: exp.Expr) -> exp.Select:
    """Return what is listed of the keys to which another tuple may come, on a condition."""
    there = exp.Not(this=is_null(column(OTHER_ROW)))
    keys = exp.select(*listed).from_(table("keys"), copy=False)
    return keys.where(column(IS_SWAP), there, condition, copy=False)


def _is_of_another_kind() -> exp.Select:
    listed = wrong(typed_null("BIGINT"), parameter("instant"), number(0))
    keys = exp.select(*listed).from_(table("keys"), copy=False)
    return keys.where(exp.Not(this=column(IS_SWAP)), copy=False)
