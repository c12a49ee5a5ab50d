"""Relations that change only at boundaries, because all of their windows hop by one slide.

They are evaluated in full at each boundary (`at_boundaries`) if their windows tumble: then there is
nothing that a delta could update. A window that is k hops wide has k panes: an aggregate that can
be put together from parts combines them. That costs k parts for each group and boundary however few
tuples arrived, so k is bounded; other operators would do their work k times.

A global aggregate has a row over an empty input too, at boundaries without tuples. It is evaluated
this way only where that row can have no partner: joined by a comparison with a result that is NULL.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from cqlduck.rewrite.physical.algebra import monoid_of_results
from cqlduck.rewrite.plan import (
    Aggregate,
    AggregateCall,
    Difference,
    Distinct,
    Filter,
    Join,
    Net,
    Plan,
    Project,
    SetOperation,
    TimeWindow,
    ToStream,
    UnionAll,
    guards,
    properties,
    walk,
)
from cqlduck.rewrite.plan.aggregates import FLOATS
from cqlduck.rewrite.plan.conditions import names_in
from cqlduck.rewrite.text.time import Duration

MAX_PANES = 16
"""How many panes wide a window is at most."""

MEETING = (Join, Aggregate, Distinct, SetOperation, Difference, Net)
"""Where tuples meet others; without these a tuple's lifetime is all there is to know."""

_COMPARISONS = (exp.EQ, exp.LT, exp.LTE, exp.GT, exp.GTE)
_NULL_OVER_NOTHING = ("min", "max", "sum", "avg")


def relation_of(plan: Plan) -> Plan | None:
    """Return the relation of a query that is worked out at boundaries, or None."""
    relation = plan
    if isinstance(plan, ToStream):
        if plan.kind == "rstream":
            return None
        relation = plan.input
    nodes = list(walk(relation))
    slides = {node.slide for node in nodes if isinstance(node, TimeWindow)}
    if len(slides) != 1 or None in slides or not any(isinstance(n, MEETING) for n in nodes):
        return None
    return relation if fits(relation) else None


def fits(node: Plan, *, meets_nothing: bool = False) -> bool:
    """Return whether an operator can be evaluated at boundaries, with all that is below it.

    Args:
        node: The operator.
        meets_nothing: Whether its row over an empty input has no partner.
    """
    match node:
        case TimeWindow():
            return panes(node) == 1
        case Aggregate():
            if any(_drifts(call) for call in node.calls):
                return False
            if node.everything and not meets_nothing:
                return False
            return fits(node.input) or is_of_panes(node)
        case Filter() if guards.may_raise(node) and _sinks(node.input, names_in([node.predicate])):
            return False
        case Filter() | Project():
            return fits(node.input, meets_nothing=meets_nothing)
        case Join():
            return not guards.may_raise(node) and all(
                fits(plan, meets_nothing=_meets_nothing(plan, node.predicates))
                for plan in node.inputs
            )
        case Distinct() | UnionAll() | SetOperation() | Difference() | Net():
            return all(fits(plan) for plan in node.children)
        case _:
            return False


def _sinks(plan: Plan, names: set[str]) -> bool:
    """Return whether DuckDB may test a condition on columns before tuples meet others.

    It would of those that meet none, or cancel.
    """
    match plan:
        case Join() | SetOperation() | Difference():
            return True
        case Project():
            pairs = zip(plan.expressions, plan.columns, strict=True)
            return _sinks(plan.input, names_in([e for e, c in pairs if c.name in names]))
        case Aggregate():
            return names <= set(plan.keys) and _sinks(plan.input, names)
        case Filter() | Distinct() | UnionAll() | Net():
            return any(_sinks(child, names) for child in plan.children)
        case _:
            return False


def panes(window: TimeWindow) -> int | None:
    """Return of how many panes a window consists, or None if it is no whole number of them."""
    if (
        not window.hop
        or window.half_open
        or not window.slide
        or not properties(window).has_unit_weights
    ):
        return None
    assert window.width is not None
    count, rest = divmod(window.width, window.slide)
    return count if count and not rest else None


def _drifts(call: AggregateCall) -> bool:
    """Return whether a result depends on the order of the tuples, in its last bits."""
    return call.function in ("sum", "avg") and call.argument_type in FLOATS


def _meets_nothing(plan: Plan, predicates: Sequence[exp.Expr]) -> bool:
    """Return whether an input's row over nothing meets no tuple in a join."""
    nulls = _nulls_over_nothing(plan)
    for predicate in predicates:
        if isinstance(predicate, _COMPARISONS):
            for side in (predicate.left, predicate.right):
                if isinstance(side, exp.Column) and side.name in nulls:
                    return True
    return False


def _nulls_over_nothing(plan: Plan) -> set[str]:
    """Return the columns that are NULL in a global aggregate's row over nothing."""
    match plan:
        case Aggregate(everything=True):
            return {c.name for c in plan.calls if c.function in _NULL_OVER_NOTHING}
        case Filter():
            return _nulls_over_nothing(plan.input)
        case Project():
            inner = _nulls_over_nothing(plan.input)
            return {
                known.name
                for expression, known in zip(plan.expressions, plan.columns, strict=True)
                if isinstance(expression, exp.Column) and expression.name in inner
            }
        case _:
            return set()


def is_of_panes(node: Aggregate) -> bool:
    """Return whether an aggregate of a window is put together from panes."""
    plan = node.input
    while isinstance(plan, (Filter, Project)):
        plan = plan.input
    if not isinstance(plan, TimeWindow):
        return False
    count = panes(plan)
    return (
        count is not None
        and count <= MAX_PANES
        and all(monoid_of_results(call) for call in node.calls)
    )


def slide_of(relation: Plan) -> Duration:
    """Return the one slide of the windows of a relation."""
    (slide,) = {node.slide for node in walk(relation) if isinstance(node, TimeWindow)}
    assert slide is not None
    return slide


def panes_of_aggregate(node: Aggregate) -> int:
    """Return of how many panes the window of an aggregate consists."""
    count = panes(next(p for p in walk(node.input) if isinstance(p, TimeWindow)))
    assert count is not None
    return count
