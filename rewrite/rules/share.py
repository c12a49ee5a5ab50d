"""Equal nodes are one node."""

from __future__ import annotations

from dataclasses import fields, is_dataclass

from sqlglot import exp

from cqlduck.rewrite.plan import (
    Column,
    Net,
    Plan,
    Source,
    Trace,
    children,
    with_children,
)


def share(plan: Plan) -> Plan:
    """Make equal nodes one: op(R) beside op(R) is worked out, and kept, once.

    What is materialized is read from its trace everywhere.
    """
    known: dict[object, Plan] = {}
    traces: dict[object, Plan] = {}

    def shared(node: Plan, traced: bool = False) -> Plan:
        inner = tuple(shared(child, isinstance(node, (Trace, Net))) for child in children(node))
        node = with_children(node, inner)
        node = known.setdefault(_key(node), node)
        if isinstance(node, Trace) or (isinstance(node, Net) and node.is_kept):
            traces[id(node.input)] = node
        return node if traced else traces.get(id(node), node)

    return shared(shared(plan))


def _key(value: object) -> object:
    """Return what a node is, in full: its inputs by identity, expressions by their text."""
    if isinstance(value, exp.Expr):
        return value.sql("duckdb")
    if isinstance(value, tuple):
        return tuple(_key(part) for part in value)
    if isinstance(value, (Source, Column)) or not is_dataclass(value):
        return value
    inputs = {id(child) for child in children(value)} if isinstance(value, Plan) else set()
    parts = []
    for known in fields(value):
        part = getattr(value, known.name)
        if id(part) in inputs:
            part = id(part)
        elif isinstance(part, tuple) and part and all(id(p) in inputs for p in part):
            part = tuple(id(p) for p in part)
        parts.append(_key(part))
    return (type(value), *parts)
