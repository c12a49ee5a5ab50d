"""Aggregates: the functions, and the law of each.

* count, sum and avg over exact numbers and DOUBLE are sums over a group, so a delta adds to them.
* min and max of an append-only input are stored; of any other input they are recomputed from the
  group's tuples where they may have left (`operators.extremes`).
* `RECOMPUTED` are recomputed too. Their value does not depend on the order of the tuples.

DuckDB's other aggregates depend on that order (list, first, arg_max, mode): the query around them
becomes a `Recompute`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from sqlglot import exp

from cqlduck.rewrite.plan.not_incremental import NotIncremental
from cqlduck.rewrite.text.parsed import function_name, place_of

ADDITIVE = ("count", "sum", "avg")
EXTREMES = ("min", "max")
RECOMPUTED = frozenset(
    {
        "bit_and", "bit_or", "bit_xor", "bool_and", "bool_or", "corr", "count_if", "countif",
        "covar_pop", "covar_samp", "entropy", "favg", "fsum", "kahan_sum", "kurtosis",
        "kurtosis_pop", "mad", "median", "product", "quantile", "quantile_cont", "quantile_disc",
        "regr_avgx", "regr_avgy", "regr_count", "regr_intercept", "regr_r2", "regr_slope",
        "regr_sxx", "regr_sxy", "regr_syy", "sem", "skewness", "stddev", "stddev_pop",
        "stddev_samp", "sumkahan", "var_pop", "var_samp", "variance", "histogram",
    }
)  # fmt: skip
BLIND_TO_COUNT = frozenset({"min", "max", "bit_and", "bit_or", "bool_and", "bool_or"})
"""Aggregates that do not care how often a tuple is there."""

MERGING = frozenset(
    {"approx_quantile", "approx_top_k", "entropy", "histogram", "histogram_exact", "mad", "median",
     "mode", "quantile", "quantile_cont", "quantile_disc"}
)  # fmt: skip
"""Aggregates that take equal values for one, or show one of them, whichever DuckDB meets."""

INTEGERS = frozenset(
    {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER",
     "UBIGINT", "BOOLEAN"}
)  # fmt: skip
FLOATS = frozenset({"DOUBLE", "FLOAT"})

_NEVER_RAISING = frozenset(
    {"bit_and", "bit_or", "bit_xor", "bool_and", "bool_or", "count", "count_if", "countif",
     "histogram", "max", "min", "quantile_disc", "regr_count"}
)  # fmt: skip
_OUT_OF_RANGE = frozenset({"kurtosis", "kurtosis_pop", "skewness"})
"""Aggregates that raise where their value is no finite number."""

_SUMMED = (INTEGERS - {"HUGEINT"}) | FLOATS
"""Types of which no sum of as many values as there may be overflows."""

_MAX_SUMMED_DIGITS = 18


def aggregate_calls(tree: exp.Expr, aggregates: frozenset[str]) -> Iterator[exp.Expr]:
    """Yield the outermost aggregate calls of an expression, FILTER included; not of subqueries."""
    stack = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, exp.Query):
            continue
        if is_aggregate(aggregate_core(node), aggregates):
            yield node
            continue
        stack.extend(reversed(list(node.iter_expressions())))


def each_call(tree: exp.Expr, made: Callable[[exp.Expr], exp.Expr]) -> exp.Expr:
    """Return an expression with something made of each aggregate that has a delta rule."""
    known = RECOMPUTED.union(ADDITIVE, EXTREMES)
    if isinstance(tree, exp.Filter) or is_aggregate(tree, known):
        return made(tree)
    changed = tree.copy()
    for call in list(aggregate_calls(changed, known)):
        call.replace(made(call))
    return changed


def aggregate_core(node: exp.Expr) -> exp.Expr:
    """Return the call inside FILTER (…), IGNORE NULLS and the like."""
    while isinstance(node, (exp.Filter, exp.WithinGroup, exp.IgnoreNulls)):
        node = node.this
    return node


def is_aggregate(node: exp.Expr, aggregates: frozenset[str]) -> bool:
    """Return whether a call is one of an aggregate function."""
    if not isinstance(node, exp.Func):
        return False
    name = function_name(node)
    if isinstance(node, exp.AggFunc):
        return name in aggregates or isinstance(node, (exp.Count, exp.Sum, exp.Avg))
    return isinstance(node, exp.Anonymous) and name in aggregates


def function_of(call: exp.Expr) -> str:
    """Return the rule that a call takes: 'count', 'sum', 'avg', 'min', 'max' or 'other'.

    Raises:
        NotIncremental: An aggregate whose value depends on the order of the tuples.
    """
    core = aggregate_core(call)
    assert isinstance(core, exp.Func)
    name = function_name(core)
    plain = not isinstance(call, (exp.WithinGroup, exp.IgnoreNulls))
    inner = core.this
    if isinstance(inner, exp.Order) and name in (*ADDITIVE, *EXTREMES):
        core.set("this", inner.this)
        inner = core.this
    extra = core.args.get("expressions") or core.args.get("count")
    if plain and name in (*ADDITIVE, *EXTREMES) and not extra:
        if isinstance(inner, exp.Distinct):
            return name if name in EXTREMES else "other"
        return name
    if name in RECOMPUTED and plain:
        return "other"
    raise NotIncremental(f"the aggregate {name}", offset=place_of(call))


def sums_exactly(type_name: str) -> bool:
    """Return whether a sum over this type is exact: integers and decimals."""
    return type_name in INTEGERS or type_name.startswith("DECIMAL")


def value_may_raise(call: exp.Expr, argument_type: str | None) -> bool:
    """Return whether the value of an aggregate may raise: an overflow, what is out of range.

    One-sided: what it calls safe never raises.

    Args:
        call: The call.
        argument_type: The type of its argument, or None if that is not known.
    """
    core = aggregate_core(call)
    if isinstance(core, exp.Func) and function_name(core) in _NEVER_RAISING:
        return False
    # what makes a value canonical may stand around the call
    if any(function_name(one) in _OUT_OF_RANGE for one in call.find_all(exp.Func)):
        return True
    kind = argument_type or ""
    decimal = re.fullmatch(r"DECIMAL\((\d+), ?\d+\)", kind)
    is_narrow = decimal is not None and int(decimal[1]) <= _MAX_SUMMED_DIGITS
    return not (is_narrow or kind in _SUMMED)
