"""Ties of the aggregates of a PIVOT: as elsewhere all columns of what it stands on decide.

Without a GROUP BY it groups by all columns that it does not name. So these are not named here, and
those that it names decide alone: the others are equal in a group.
"""

from __future__ import annotations

from sqlglot import exp

from cqlduck.rewrite.bind.bodies.inputs import Inputs
from cqlduck.rewrite.bind.bodies.ties import SUMS, is_orderless, order_call, terms_by, value_of
from cqlduck.rewrite.plan.aggregates import aggregate_calls, sums_exactly
from cqlduck.rewrite.relalg.builders import column
from cqlduck.rewrite.text.parsed import function_name


def order_pivots(body: exp.Query, inputs: Inputs) -> None:
    """Decide all ties of aggregates in PIVOT, in place."""
    for item in list(body.find_all(exp.Table, exp.Subquery)):
        clauses = item.args.get("pivots") or []
        for place, clause in enumerate(clauses):
            below = item.copy()
            below.set("joins", None)
            below.set("pivots", [other.copy() for other in clauses[:place]])
            _order(clause, clause.expressions, below, inputs)
    for clause in list(body.find_all(exp.Pivot)):
        if clause.this:
            _order(clause, clause.args.get("using") or [], clause.this.copy(), inputs)


def _order(clause: exp.Pivot, using: list[exp.Expr], below: exp.Expr, inputs: Inputs) -> None:
    """Order the arguments of the aggregates of one PIVOT that depend on it."""
    if clause.args.get("unpivot"):
        return
    aggregates = inputs.catalog.aggregates
    found = [call for one in using for call in aggregate_calls(one, aggregates)]
    calls = [call for call in found if isinstance(call, exp.Func) and not is_orderless(call)]
    calls = [call for call in calls if not _sums_exactly(call, below, inputs)]
    columns = inputs.described(_over(below, exp.Star())) if calls else None
    if columns is None:
        return
    if not clause.args.get("group"):
        fields = clause.args.get("fields") or clause.expressions
        named = {c.name.lower() for part in [*fields, *using] for c in part.find_all(exp.Column)}
        columns = [(name, kind) for name, kind in columns if name.lower() in named]
    for call in calls:
        order_call(
            call, lambda: [t for name, kind in columns for t in terms_by(column(name), kind)]
        )


def _sums_exactly(call: exp.Func, below: exp.Expr, inputs: Inputs) -> bool:
    if function_name(call) not in SUMS:
        return False
    found = inputs.described(_over(below, value_of(call).copy()))
    return bool(found) and sums_exactly(found[0][1])  # type: ignore[index]


def _over(below: exp.Expr, value: exp.Expr) -> exp.Select:
    return exp.select(value).from_(below.copy(), copy=False)
