"""The bags of outliers: values of DOUBLE that are not fixed-point numbers (`fixed_point`).

The synopsis `outliers` is a log of them, (keys, `_cql_call`, `_cql_value`, `_ts`, `_weight`). Those
of a group at an instant are summed anew, so each sum is that of the current values alone.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from cqlduck.rewrite.physical.algebra import Aggregation
from cqlduck.rewrite.plan import Aggregate, Column
from cqlduck.rewrite.relalg import Rows
from cqlduck.rewrite.relalg.builders import cast, column
from cqlduck.rewrite.relalg.elements import (
    TS,
    WEIGHT,
    after,
    named,
    number,
    parameter,
    qualified,
    same,
    union_all,
    until,
)
from cqlduck.rewrite.relalg.values import canonical

CALL, VALUE = "_cql_call", "_cql_value"


def columns_of(keys: Sequence[Column]) -> tuple[Column, ...]:
    """Return the columns of the log."""
    return (
        *keys,
        Column(CALL, "INTEGER"),
        Column(VALUE, "DOUBLE"),
        Column(TS, "BIGINT"),
        Column(WEIGHT, "BIGINT"),
    )


def values(
    node: Aggregate, made: Sequence[Aggregation], tuples: Rows, time: Sequence[str] = (TS, WEIGHT)
) -> exp.Query:
    """Return (keys, `_cql_call`, `_cql_value`, time): the values that are in bags.

    Args:
        node: The aggregate.
        made: How its aggregates are worked out.
        tuples: Tuples or elements of its input.
        time: Which columns stand behind the value.
    """
    keys = [column(key) for key in node.keys]
    parts = []
    for place, one in enumerate(made):
        for bag in one.bags:
            value = named(cast(column(one.call.argument or ""), "DOUBLE"), VALUE)
            listed = [*keys, named(number(place), CALL), value, *map(column, time)]
            parts.append(tuples.select(listed, where=[bag.lift.copy()], alias="elements"))
    return union_all(parts)


def sums(node: Aggregate, made: Sequence[Aggregation], log: Sequence[exp.Query]) -> exp.Select:
    """Return (keys, `_ts`, sums): for each changed group and instant, what its bags come to.

    Args:
        node: The aggregate.
        made: How its aggregates are worked out.
        log: (keys, `_cql_call`, `_cql_value`, `_ts`, `_weight`) of all values, in parts; `running`
            is the CTE of groups and instants.
    """
    keys = [column(key) for key in node.keys]
    running, theirs = ([qualified(table, key) for key in node.keys] for table in ("r", "o"))
    both = union_all(log).subquery("o", copy=False)
    net = (
        exp.select(
            *[named(k, n) for k, n in zip(running, node.keys, strict=True)],
            named(qualified("r", TS), TS),
            column(CALL),
            column(VALUE),
            named(exp.Sum(this=qualified("o", WEIGHT)), WEIGHT),
        )
        .from_(exp.to_table("running").as_("r"), copy=False)
        .join(
            both,
            on=exp.and_(same(running, theirs), until(qualified("o", TS), qualified("r", TS))),
            join_type="inner",
            copy=False,
        )
        .group_by(*running, qualified("r", TS), column(CALL), column(VALUE))
        .where(after(qualified("r", TS), parameter("t0")), copy=False)
        .having(
            exp.NEQ(this=exp.Sum(this=qualified("o", WEIGHT)), expression=number(0)), copy=False
        )
    )
    listed = []
    for place, one in enumerate(made):
        for bag in one.bags:
            product = exp.Mul(this=column(VALUE), expression=column(WEIGHT))
            own = exp.EQ(this=column(CALL), expression=number(place))
            total = exp.Filter(this=exp.Sum(this=product), expression=exp.Where(this=own))
            listed.append(named(canonical(total, bag.type), bag.name))
    return (
        exp.select(*keys, column(TS), *listed)
        .from_(net.subquery("net", copy=False), copy=False)
        .group_by(*keys, column(TS))
    )
