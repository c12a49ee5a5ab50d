"""Equal nodes are one node."""

from __future__ import annotations

from dataclasses import fields

from sqlglot import exp

from cqlduck.rewrite.plan import (
    AggregateCall,
    Net,
    Plan,
    Trace,
    on_children,
)


def merge_equal(plan: Plan) -> Plan:
    """Make equal nodes one: op(R) beside op(R) is evaluated, and stored, once.

    What is materialized is read from its trace everywhere.
    """
    known: dict[object, Plan] = {}
    traces: dict[object, Plan] = {}

    def shared(node: Plan, traced: bool = False) -> Plan:
        is_kept = isinstance(node, (Trace, Net))
        node = on_children(node, lambda child: shared(child, is_kept))
        node = known.setdefault(_key(node), node)
        if isinstance(node, Trace) or (isinstance(node, Net) and node.is_kept):
            traces[id(node.input)] = node
        return node if traced else traces.get(id(node), node)

    once = shared(plan)
    return shared(once) if traces else once


def _key(node: Plan) -> object:
    """Return what a node is, in full: its inputs by identity, expressions by their text."""
    own = [getattr(node, known.name) for known in fields(node) if known.name not in _INPUTS]
    return (type(node), *map(id, node.children), *map(_said, own))


_INPUTS = ("input", "inputs", "left", "right")


def _said(value: object) -> object:
    """Return a value of a node's field so that it can be compared."""
    match value:
        case exp.Expr():
            return value.sql("duckdb")
        case AggregateCall():
            return tuple([_said(getattr(value, known.name)) for known in fields(value)])
        case tuple() if value and isinstance(value[0], (exp.Expr, AggregateCall, tuple)):
            return tuple(map(_said, value))
        case _:
            return value
