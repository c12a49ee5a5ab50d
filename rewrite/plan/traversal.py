"""Traversal of plans: inputs, nodes top-down and bottom-up, chains over a stream."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sqlglot import exp

from cqlduck.rewrite.plan.nodes import (
    Difference,
    Filter,
    Join,
    Plan,
    Project,
    Recompute,
    RelationScan,
    Sample,
    SetOperation,
    StreamScan,
    UnionAll,
)


def children(plan: Plan) -> tuple[Plan, ...]:
    """Return the inputs of a node, in order."""
    match plan:
        case StreamScan() | RelationScan():
            return ()
        case Join(inputs=inputs) | UnionAll(inputs=inputs) | Recompute(inputs=inputs):
            return inputs
        case Difference() | SetOperation():
            return (plan.left, plan.right)
        case _:
            return (plan.input,)


def with_children(plan: Plan, inputs: tuple[Plan, ...]) -> Plan:
    """Return the node with other inputs."""
    match plan:
        case StreamScan() | RelationScan():
            return plan
        case Join() | UnionAll() | Recompute():
            return replace(plan, inputs=inputs)
        case Difference() | SetOperation():
            left, right = inputs
            return replace(plan, left=left, right=right)
        case _:
            (only,) = inputs
            return replace(plan, input=only)  # type: ignore[arg-type]  # the caller keeps streams


def walk(plan: Plan) -> Iterator[Plan]:
    """Yield the node and all below it, from the top, left to right."""
    yield plan
    for child in children(plan):
        yield from walk(child)


def unique(plan: Plan) -> Iterator[Plan]:
    """Yield the node and all below it, each once though it may have several parents."""
    seen: set[int] = set()
    for node in walk(plan):
        if id(node) not in seen:
            seen.add(id(node))
            yield node


def bottom_up(plan: Plan) -> Iterator[Plan]:
    """Yield the node and all below it, each once and after all of its inputs."""
    seen: set[int] = set()

    def visit(node: Plan) -> Iterator[Plan]:
        if id(node) not in seen:
            seen.add(id(node))
            for child in children(node):
                yield from visit(child)
            yield node

    return visit(plan)


def chain_of(stream: Plan) -> Iterator[Plan]:
    """Yield a stream and what it is made of, down through filters and samples."""
    yield stream
    while isinstance(stream, (Filter, Sample)):
        stream = stream.input
        yield stream


def value_of(plan: Plan, name: str) -> exp.Expr:
    """Return what a column is where it is not NULL, over the input of a projection.

    That is y for `CASE WHEN p THEN y END`, which is what an argument with a FILTER stands as.
    """
    if not isinstance(plan, Project):
        return exp.column(name)
    places = [known.name for known in plan.columns]
    value = plan.expressions[places.index(name)]
    if isinstance(value, exp.Case) and not value.this and not value.args.get("default"):
        branches = value.args["ifs"]
        if len(branches) == 1:
            value = branches[0].args["true"]
    return value
