"""The state of an aggregate from its tuples, as plain GROUP BY.

This is the state that `aggregate` maintains from tick to tick, computed at once: the number of
tuples of each group, the states of its accumulators, and the results that are carried along. Sums
of DOUBLE use the same fixed-point numbers and outliers, so they are equal to the last bit, in any
order of the tuples; the sum of the outliers is not, nor are results such as a variance (`loose`).
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from cqlduck.rewrite.operators import outliers
from cqlduck.rewrite.operators.accumulating import recomputed_name
from cqlduck.rewrite.physical.algebra import Accumulator, Aggregation, N, aggregations
from cqlduck.rewrite.physical.evaluators import is_evaluated_at_once
from cqlduck.rewrite.plan import Aggregate, properties
from cqlduck.rewrite.plan.aggregates import aggregate_core
from cqlduck.rewrite.relalg import Rows
from cqlduck.rewrite.relalg.builders import cast, column
from cqlduck.rewrite.relalg.elements import WEIGHT, after, count, named, number, tuples_of
from cqlduck.rewrite.relalg.values import canonical
from cqlduck.rewrite.text.parsed import function_name

LOOSE = frozenset(
    {
        "corr", "covar_pop", "covar_samp", "entropy", "favg", "fsum", "kahan_sum", "kurtosis",
        "kurtosis_pop", "product", "regr_avgx", "regr_avgy", "regr_intercept", "regr_r2",
        "regr_slope", "regr_sxx", "regr_sxy", "regr_syy", "sem", "skewness", "stddev",
        "stddev_pop", "stddev_samp", "sumkahan", "var_pop", "var_samp", "variance", "avg", "sum",
    }
)  # fmt: skip
"""Aggregates worked out again in DOUBLE: the order of the tuples shows in the last bits."""


def state(node: Aggregate, tuples: Rows) -> Rows:
    """Return (keys, `_cql_n`, states, carried results): what the synopsis `groups` has.

    Args:
        node: The aggregate.
        tuples: (columns, `_weight`): the tuples of its input.
    """
    made = aggregations(node)
    whole = is_evaluated_at_once(node, made)
    inner = _plain(node, tuples, made, whole=whole)
    keys = [column(key) for key in node.keys]
    listed: list[exp.Expr] = [*keys, column(N)]
    if not whole:
        listed += [column(a.name) for one in made for a in one.accumulators if a.is_stored]
    for place, one in enumerate(made):
        name = one.call.name
        if whole or one.is_holistic:
            listed.append(named(cast(column(recomputed_name(place)), one.call.type), name))
        elif one.is_carried:
            listed.append(named(one.result(column), name))
    return inner.project(listed, "groups")


def _plain(node: Aggregate, tuples: Rows, made: Sequence[Aggregation], *, whole: bool) -> Rows:
    """Return each group with its count, all states, and what is worked out of its tuples."""
    needs_each = whole or any(one.is_holistic for one in made)
    if not properties(node.input).has_unit_weights:
        tuples = tuples_of(tuples, node.input.columns, is_repeated=needs_each)
    rows = exp.Coalesce(this=count(), expressions=[cast(number(0), "BIGINT")])
    listed: list[exp.Expr] = [*map(column, node.keys), named(rows, N)]
    for place, one in enumerate(made):
        if whole or one.is_holistic:
            listed.append(named(one.call.call.copy(), recomputed_name(place)))
            continue
        listed += [named(_state(one, a), a.name) for a in one.accumulators]
    keys = [column(key) for key in node.keys]
    having = None if node.everything else after(exp.Sum(this=column(WEIGHT)), number(0))
    query = tuples.select(listed, group=keys, having=having, alias="tuples")
    return Rows.given(query, [item.alias_or_name for item in listed], "plain")


def _state(one: Aggregation, accumulator: Accumulator) -> exp.Expr:
    """Return the state of an accumulator; what a bag comes to."""
    lift = accumulator.lift.copy()
    if accumulator in one.bags:
        value = cast(column(one.call.argument or ""), "DOUBLE")
        product = exp.Mul(this=value, expression=column(WEIGHT))
        inside = exp.Filter(this=exp.Sum(this=product), expression=exp.Where(this=lift))
        return canonical(inside, accumulator.type)
    if accumulator.monoid.without is None:
        return lift
    return exp.Coalesce(this=lift, expressions=[accumulator.nothing])


def values_in_bags(node: Aggregate, tuples: Rows) -> Rows:
    """Return (keys, `_cql_call`, `_cql_value`, `_weight`): what the synopsis `outliers` comes to.

    Args:
        node: The aggregate.
        tuples: (columns, `_weight`): the tuples of its input.
    """
    found = outliers.values(node, aggregations(node), tuples, (WEIGHT,))
    return Rows.given(found, [*node.keys, "_cql_call", "_cql_value", WEIGHT], "outliers")


def loose(node: Aggregate) -> frozenset[str]:
    """Return the results in whose last bits the order of the tuples may show."""
    found = set()
    for one in aggregations(node):
        calls = [c for c in one.call.call.walk() if isinstance(c, exp.Func)]
        names = {function_name(aggregate_core(c)) for c in calls}  # type: ignore[arg-type]
        is_float = one.call.type not in ("BIGINT", "HUGEINT") and "DECIMAL" not in one.call.type
        if one.bags or (one.is_holistic and is_float and names & LOOSE):
            found.add(one.call.name)
    return frozenset(found)
