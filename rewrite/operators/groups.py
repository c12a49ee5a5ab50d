"""The state of an aggregate from its tuples, as plain GROUP BY.

This is the state that `aggregate` maintains from tick to tick, computed at once: the number of
tuples of each group, the sums of its parts, and the results that are carried along. Sums of DOUBLE
use the same fixed-point numbers and outliers, so they are equal to the last bit, in any order of
the tuples; the sum of the outliers is not, nor are results such as a variance (`loose`).
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from cqlduck.rewrite.physical.algebra import (
    N,
    Rule,
    is_outlier,
    no_change,
    outlying,
    rules_of,
    value_of,
)
from cqlduck.rewrite.physical.evaluators import is_whole
from cqlduck.rewrite.plan import Aggregate, properties
from cqlduck.rewrite.plan.aggregates import aggregate_core
from cqlduck.rewrite.relalg import Rows
from cqlduck.rewrite.relalg.builders import cast, column
from cqlduck.rewrite.relalg.elements import WEIGHT, after, count, named, number, tuples_of
from cqlduck.rewrite.relalg.values import canonical
from cqlduck.rewrite.text.calls import function_name

LOOSE = frozenset(
    {
        "corr", "covar_pop", "covar_samp", "entropy", "favg", "fsum", "kahan_sum", "kurtosis",
        "kurtosis_pop", "product", "regr_avgx", "regr_avgy", "regr_intercept", "regr_r2",
        "regr_slope", "regr_sxx", "regr_sxy", "regr_syy", "sem", "skewness", "stddev",
        "stddev_pop", "stddev_samp", "sumkahan", "var_pop", "var_samp", "variance", "avg", "sum",
    }
)  # fmt: skip
"""Aggregates worked out again in DOUBLE: the order of the tuples shows in the last bits."""

REST = "_cql_outlying"


def state(node: Aggregate, tuples: Rows) -> Rows:
    """Return (keys, `_cql_n`, parts, carried results): what the synopsis `groups` has.

    Args:
        node: The aggregate.
        tuples: (columns, `_weight`): the tuples of its input.
    """
    made = rules_of(node)
    whole = is_whole(node, made)
    inner = _plain(node, tuples, made, whole=whole)
    keys = [column(key) for key in node.keys]
    listed: list[exp.Expr] = [*keys, column(N)]
    if not whole:
        listed += [column(p.name) for rule in made for p in rule.parts if p.width is None]
    for place, rule in enumerate(made):
        name = rule.call.name
        if whole or rule.again:
            listed.append(named(cast(column(_again(place)), rule.call.type), name))
        elif rule.carried:
            rest = column(f"{REST}{place}") if rule.outliers else None
            listed.append(named(value_of(rule, column, rest), name))
    return inner.project(listed, "groups")


def _plain(node: Aggregate, tuples: Rows, made: Sequence[Rule], *, whole: bool) -> Rows:
    """Return each group with its count, all parts, and what is worked out of its tuples."""
    needs_each = whole or any(rule.again for rule in made)
    if not properties(node.input).has_unit_weights:
        tuples = tuples_of(tuples, node.input.columns, is_repeated=needs_each)
    rows = exp.Coalesce(this=count(), expressions=[cast(number(0), "BIGINT")])
    listed: list[exp.Expr] = [*map(column, node.keys), named(rows, N)]
    for place, rule in enumerate(made):
        if whole or rule.again:
            listed.append(named(rule.call.call.copy(), _again(place)))
            continue
        for part in rule.parts:
            value = part.delta.copy()
            if part.extreme is None:
                value = exp.Coalesce(this=value, expressions=[no_change(part)])
            listed.append(named(value, part.name))
        if rule.outliers:
            listed.append(named(_outlying(rule), f"{REST}{place}"))
    keys = [column(key) for key in node.keys]
    having = None if node.everything else after(exp.Sum(this=column(WEIGHT)), number(0))
    query = tuples.select(listed, group=keys, having=having, alias="tuples")
    return Rows.given(query, [item.alias_or_name for item in listed], "plain")


def _again(place: int) -> str:
    return f"_cql_again{place}"


def _outlying(rule: Rule) -> exp.Expr:
    """Return the sum of the values that are no fixed-point numbers."""
    argument = column(rule.call.argument or "")
    outside = exp.Where(this=is_outlier(argument))
    product = exp.Mul(this=cast(argument, "DOUBLE"), expression=column(WEIGHT))
    return canonical(exp.Filter(this=exp.Sum(this=product), expression=outside), "DOUBLE")


def outliers(node: Aggregate, tuples: Rows) -> Rows:
    """Return (keys, `_cql_call`, `_cql_value`, `_weight`): what the synopsis `outliers` comes to.

    Args:
        node: The aggregate.
        tuples: (columns, `_weight`): the tuples of its input.
    """
    found = outlying(node, rules_of(node), tuples, (WEIGHT,))
    return Rows.given(found, [*node.keys, "_cql_call", "_cql_value", WEIGHT], "outliers")


def loose(node: Aggregate) -> frozenset[str]:
    """Return the results in whose last bits the order of the tuples may show."""
    found = set()
    for rule in rules_of(node):
        calls = [c for c in rule.call.call.walk() if isinstance(c, exp.Func)]
        names = {function_name(aggregate_core(c)) for c in calls}  # type: ignore[arg-type]
        is_float = rule.call.type not in ("BIGINT", "HUGEINT") and "DECIMAL" not in rule.call.type
        if rule.outliers or (rule.again and is_float and names & LOOSE):
            found.add(rule.call.name)
    return frozenset(found)
