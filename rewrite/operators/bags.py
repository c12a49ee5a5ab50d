"""Changes of a relation without a primary key: the multiplicity of each tuple.

Insertions and deletions of one tuple at one instant are judged by their sum d. With S the running
sum of a tuple's d, beginning with its multiplicity, and m = min(0, min S) its lowest value so far,
the multiplicity that holds is

    M = S − m        so that at each instant  M changes by  d − Δm,  and  −Δm  deletions are wrong:

a deletion of a tuple that is not there has no effect, now or later. Each copy of a tuple is a row
of its own. The copy that was inserted first is deleted first: the n-th copy leaves with the n-th
valid deletion. Among the insertions of one instant the first are cancelled by its deletions, so the
last ones remain, with their values.

S alone would be wrong: an invalid deletion would lower it for good, so that a later insertion would
not show.
"""

from __future__ import annotations

from sqlglot import exp

from cqlduck.rewrite.operators.relation import (
    ROW,
    TUPLE,
    Relation,
    deletes,
    meet,
    over,
    pending,
    right,
    stored_rows,
    table,
    where,
    wrong,
)
from cqlduck.rewrite.relalg.builders import cast, column
from cqlduck.rewrite.relalg.elements import (
    ENTER,
    SEQ,
    TS,
    is_null,
    least,
    named,
    number,
    qualified,
    union_all,
    until,
)

DOES_DELETE = "_cql_deletes"
CHANGE, TOTAL, LOWEST, MISSING = "_cql_d", "_cql_s", "_cql_m", "_cql_missing"
PLACE = "_cql_place"


def outcome(relation: Relation) -> exp.Select:
    """Return what the queue of a bag comes to (see `relation`)."""
    names = [c.name for c in relation.columns]
    history = union_all(
        [stored_rows(relation, names, "+"), exp.select("*").from_(table("pending"), copy=False)]
    )
    numbered = exp.select(
        column(SEQ),
        column(TS),
        column(ENTER),
        named(deletes(), DOES_DELETE),
        named(over(exp.Min(this=column(SEQ)), names), TUPLE),
    ).from_(table("history"), copy=False)
    enter = (
        exp.select(
            *right(qualified("c", SEQ), qualified("c", TS), qualified("g", TS)),
        )
        .from_(table("come").as_("c"), copy=False)
        .join(
            table("gone").as_("g"),
            on=meet("c", "g", (TUPLE, PLACE), (TUPLE, PLACE)),
            join_type="left",
            copy=False,
        )
        .where(
            exp.not_(exp.and_(is_null(qualified("c", TS)), is_null(qualified("g", TS)))),
            copy=False,
        )
    )
    bad = (
        exp.select(*wrong(column(ROW), column(TS), column(MISSING)))
        .from_(table("judged"), copy=False)
        .where(exp.LT(this=column(MISSING), expression=number(0)), copy=False)
    )
    whole = exp.select("*").from_(
        union_all([enter, bad]).subquery("outcome", copy=False), copy=False
    )
    for name, query in (
        ("pending", pending(relation)),
        ("history", history),
        ("numbered", numbered),
        ("changes", _changes()),
        ("sums", _sums()),
        ("lowest", _lowest()),
        ("judged", _judged()),
        ("come", _come()),
        ("gone", _gone()),
    ):
        whole = whole.with_(name, as_=query, copy=False)
    return whole


def _changes() -> exp.Select:
    """Return d of each tuple and instant, and the first of its deletions."""
    signs = exp.Case().when(column(DOES_DELETE), number(-1)).else_(number(1))
    return (
        exp.select(
            column(TUPLE),
            column(TS),
            named(cast(exp.Sum(this=signs), "BIGINT"), CHANGE),
            named(where(exp.Min(this=column(SEQ)), column(DOES_DELETE)), ROW),
        )
        .from_(table("numbered"), copy=False)
        .group_by(column(TUPLE), column(TS), copy=False)
    )


def _sums() -> exp.Select:
    """Return S after each change."""
    total = over(exp.Sum(this=column(CHANGE)), [TUPLE], [column(TS)])
    return exp.select("*", named(total, TOTAL)).from_(table("changes"), copy=False)


def _lowest() -> exp.Select:
    """Return m after each change."""
    total = over(exp.Min(this=column(TOTAL)), [TUPLE], [column(TS)])
    low = least(number(0), total)
    return exp.select("*", named(low, LOWEST)).from_(table("sums"), copy=False)


def _judged() -> exp.Select:
    """Return Δm at each change, and what is left of d."""
    before = over(exp.Lag(this=column(LOWEST)), [TUPLE], [column(TS)])
    down = exp.Sub(
        this=column(LOWEST), expression=exp.Coalesce(this=before, expressions=[number(0)])
    )
    inner = exp.select("*", named(down, MISSING)).from_(table("lowest"), copy=False)
    left = exp.Sub(this=column(CHANGE), expression=column(MISSING))
    return exp.select(
        *map(column, (TUPLE, TS, ROW, MISSING)), named(cast(left, "BIGINT"), CHANGE)
    ).from_(inner.subquery("falls", copy=False), copy=False)


def _come() -> exp.Select:
    """Return the copies that are there or enter, each with its place among those of its tuple."""
    last = over(exp.RowNumber(), [TUPLE, TS], [exp.Ordered(this=column(SEQ), desc=True)])
    insertions = (
        exp.select(*map(column, (SEQ, TS, ENTER, TUPLE)), named(last, PLACE))
        .from_(table("numbered"), copy=False)
        .where(exp.Not(this=column(DOES_DELETE)), copy=False)
    )
    place = over(exp.RowNumber(), [], [qualified("i", ENTER), qualified("i", SEQ)])
    place.set("partition_by", [qualified("i", TUPLE)])
    return (
        exp.select(*(qualified("i", name) for name in (SEQ, TS, TUPLE)), named(place, PLACE))
        .from_(insertions.subquery("i", copy=False), copy=False)
        .join(
            table("judged").as_("j"),
            on=meet("i", "j", (TUPLE, TS), (TUPLE,)),
            copy=False,
        )
        .where(until(qualified("i", PLACE), qualified("j", CHANGE)), copy=False)
    )


def _gone() -> exp.Select:
    """Return the deletions that count, each with its place among those of its tuple."""
    times = exp.Anonymous(this="range", expressions=[exp.Neg(this=column(CHANGE))])
    each = exp.select(
        column(TUPLE), column(TS), named(exp.Unnest(expressions=[times]), PLACE)
    ).from_(table("judged"), copy=False)
    place = over(exp.RowNumber(), [TUPLE], [column(TS)])
    return exp.select(column(TUPLE), column(TS), named(place, PLACE)).from_(
        each.subquery("deletions", copy=False), copy=False
    )
