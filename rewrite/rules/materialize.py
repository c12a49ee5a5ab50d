"""Traces between an input and an operator that needs more of its content than it stores."""

from __future__ import annotations

from cqlduck.rewrite.physical.algebra import aggregations, needs_lifetimes
from cqlduck.rewrite.plan import (
    Aggregate,
    Anew,
    Distinct,
    During,
    Filter,
    Join,
    Net,
    Plan,
    Project,
    Recompute,
    RelationScan,
    RowWindow,
    Sample,
    SetOperation,
    TimeWindow,
    ToStream,
    Trace,
    UnionAll,
    VaryingWindow,
    on_children,
    properties,
)
from cqlduck.rewrite.plan.lengths import met
from cqlduck.rewrite.rules.net import ends_in_difference


def materialize(plan: Plan) -> Plan:
    """Put a `Trace` under each operator that reads more of an input than the input keeps.

    A join reads its inputs as they stand, a recomputed aggregate reads the tuples of
    a group, an Rstream repeats a relation, a window reads older elements of a stream. Windows on
    stored streams, relations, groups, and filters and projections of them keep that already.
    """
    plan = on_children(plan, materialize)
    match plan:
        case Recompute(first=int()):
            return on_children(plan, _kept_net)
        case Join() | Recompute() | During():
            return on_children(plan, _kept)
        case Aggregate() if needs_lifetimes(plan):
            return on_children(plan, _kept_of_groups if _has_extremes(plan) else _kept)
        case ToStream(kind="rstream") if not properties(plan.input).is_instantaneous:
            return on_children(plan, _kept)
        case TimeWindow() | VaryingWindow() | RowWindow() | Sample():
            return on_children(plan, _kept_stream)
        case _:
            return plan


def _kept(plan: Plan) -> Plan:
    match plan:
        case TimeWindow() | VaryingWindow() | RowWindow() | RelationScan() | Trace():
            return plan
        case Aggregate() | Distinct() | SetOperation() | Net(is_kept=True) | Anew():
            return plan
        case UnionAll() if any(map(ends_in_difference, plan.inputs)):
            return Trace(plan, "trace")
        case Filter() | During() | Project() | UnionAll():
            return on_children(plan, _kept)
        case _:
            return Trace(plan, "trace")


def _has_extremes(node: Aggregate) -> bool:
    """Return whether of few groups at a time tuples are read: where an extreme has left."""
    read = [made.call for made in aggregations(node) if made.is_holistic]
    return all(call.function in ("min", "max") for call in read)


def _kept_of_groups(plan: Plan) -> Plan:
    """Keep what groups are read of.

    Of windows of several lengths, each element is in several, and meets several bounds. A trace
    would have all of these combinations; those of a group are found as fast among its elements.
    """
    match plan:
        case Project():
            return on_children(plan, _kept_of_groups)
        case Join() if met(plan) is not None:
            return plan
        case _:
            return _kept(plan)


def _kept_net(plan: Plan) -> Plan:
    """Keep how often each tuple is there, where a log would be kept."""
    kept = _kept(plan)
    match kept:
        case Filter() | During() | Project() | UnionAll():
            return on_children(plan, _kept_net)
        case Trace():
            return Net(kept.input, is_kept=True)
        case RelationScan() if kept.source.is_query:
            return Net(kept, is_kept=True)
        case _:
            return kept


def _kept_stream(plan: Plan) -> Plan:
    match plan:
        case Filter() if properties(plan).is_stream:
            return on_children(plan, _kept_stream)
        case ToStream():
            return Trace(plan, "trace")
        case _:
            return plan
