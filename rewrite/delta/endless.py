"""Lifetimes without an end: the nodes of which no tuple ever leaves."""

from __future__ import annotations

from cqlduck.rewrite.delta.counting import only_comes
from cqlduck.rewrite.plan import (
    Difference,
    Distinct,
    During,
    Filter,
    Join,
    Plan,
    Project,
    Recompute,
    RelationScan,
    TimeWindow,
    Trace,
    UnionAll,
    is_instantaneous,
)


def is_endless(node: Plan) -> bool:
    """Return whether no lifetime of a node has an end."""
    match node:
        case RelationScan():
            return node.source.is_query
        case Recompute():
            return True
        case Trace():
            return not is_instantaneous(node)
        case Distinct():
            return only_comes(node)
        case TimeWindow():
            return node.width is None
        case Filter() | Project():
            return is_endless(node.input)
        case During():
            return not node.ends and is_endless(node.input)
        case Join() | UnionAll():
            return all(is_endless(inner) for inner in node.inputs)
        case Difference():
            return is_endless(node.left) and is_endless(node.right)
        case _:
            return False
