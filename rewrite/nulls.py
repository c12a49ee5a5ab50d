"""Which columns of a plan are never NULL.

A condition that compares a column is not true where the column is NULL, so what it lets through has
none there; so it is of the keys that a join compares. That matters where tuples are looked up by
their keys: DuckDB (release 2.0) skips parts of a table for `a = b`, and of an outer join not for
`a IS NOT DISTINCT FROM b`.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from cqlduck.rewrite.plan import (
    Aggregate,
    Difference,
    Distinct,
    During,
    Filter,
    Join,
    Plan,
    Project,
    RowWindow,
    Sample,
    SetOperation,
    StreamScan,
    TimeWindow,
    ToStream,
    Trace,
    UnionAll,
)
from cqlduck.rewrite.subqueries import conjuncts

_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)

_MAYBE_LISTS = (exp.All, exp.Any, exp.Anonymous)
"""As what ALL and ANY are read: of a list ALL is as any function that sqlglot does not know."""

_ODD = ("UNION", "VARIANT")
"""How types begin whose values may be no NULL and yet equal nothing, as a union of NULL does."""


def never_null(plan: Plan) -> frozenset[str]:
    """Return the names of columns that have a value in each tuple, as far as the form tells."""
    types = {column.name: column.type for column in plan.columns}
    known = _with_values(plan) & types.keys()
    return frozenset(n for n in known if not types[n].startswith(_ODD))


def _with_values(plan: Plan) -> frozenset[str]:
    match plan:
        case StreamScan(instant=instant) if instant is not None:
            return frozenset([instant])
        case Filter():
            return _with_values(plan.input) | _compared([plan.predicate])
        case Join():
            return frozenset().union(*map(_with_values, plan.inputs), _compared(plan.predicates))
        case Project():
            inner = _with_values(plan.input)
            return frozenset(
                known.name
                for value, known in zip(plan.expressions, plan.columns, strict=True)
                if isinstance(value, exp.Column) and value.name in inner
            )
        case Aggregate():
            counted = [call.name for call in plan.calls if call.function == "count"]
            return (_with_values(plan.input) & set(plan.keys)) | frozenset(counted)
        case UnionAll():
            first, *others = map(_with_values, plan.inputs)
            return first.intersection(*others)
        case SetOperation(kind="intersect"):
            return _with_values(plan.left) | _with_values(plan.right)
        case Difference() | SetOperation():
            return _with_values(plan.left)
        case TimeWindow() | RowWindow() | Sample() | During() | Distinct() | ToStream() | Trace():
            return _with_values(plan.input)
        case _:
            return frozenset()


def _compared(predicates: Iterable[exp.Expr]) -> frozenset[str]:
    """Return the columns that are not NULL where all predicates are true."""
    operands: list[exp.Expr | None] = []
    for condition in (c for predicate in predicates for c in conjuncts(predicate)):
        match condition:
            case _ if isinstance(condition, _COMPARISONS):
                # with ALL of an empty list any comparison is true
                pair = [condition.this, condition.expression]
                if not any(isinstance(side, _MAYBE_LISTS) for side in pair):
                    operands += pair
            case exp.Between():
                operands += [condition.this, condition.args["low"], condition.args["high"]]
            case exp.In(this=value) | exp.Not(this=exp.Is(this=value, expression=exp.Null())):
                operands.append(value)
    return frozenset(o.name for o in operands if isinstance(o, exp.Column))
