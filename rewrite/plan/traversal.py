"""Traversal of plans: inputs, nodes top-down and bottom-up, chains over a stream."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import wraps
from operator import is_
from typing import TypeVar

from sqlglot import exp

from cqlduck.rewrite.plan.nodes import (
    Cache,
    Difference,
    Filter,
    Join,
    Plan,
    Project,
    Recompute,
    Sample,
    SetOperation,
    UnionAll,
)
from cqlduck.rewrite.plan.sources import RelationScan, StreamScan

Node = TypeVar("Node", bound=Plan)
Known = TypeVar("Known")


def derived_once(derive: Callable[[Node], Known]) -> Callable[[Node], Known]:
    """Let what is derived from a node stay with it: a node is immutable."""
    name = f"_{derive.__module__}.{derive.__name__}"

    @wraps(derive)
    def known(node: Node) -> Known:
        facts = vars(node)
        if name not in facts:
            facts[name] = derive(node)
        found: Known = facts[name]
        return found

    return known


def with_children(plan: Plan, inputs: tuple[Plan, ...]) -> Plan:
    """Return the node with other inputs; the same one if they are its own."""
    if all(map(is_, inputs, plan.children)):
        return plan
    match plan:
        case StreamScan() | RelationScan():
            return plan
        case Join() | UnionAll() | Recompute():
            return replace(plan, inputs=inputs)
        case Difference() | SetOperation():
            left, right = inputs
            return replace(plan, left=left, right=right)
        case Cache():
            segment, *askers = inputs
            assert isinstance(segment, Join)
            return replace(plan, input=segment, askers=tuple(askers))
        case _:
            (only,) = inputs
            return replace(plan, input=only)  # type: ignore[arg-type]  # the caller keeps streams


def on_children(plan: Plan, rule: Callable[[Plan], Plan]) -> Plan:
    """Return the node over what a rule makes of its inputs."""
    return with_children(plan, tuple(map(rule, plan.children)))


def walk(plan: Plan) -> list[Plan]:
    """Return the node and all below it, from the top, left to right."""
    found: list[Plan] = []
    left = [plan]
    while left:
        found.append(left.pop())
        left += reversed(found[-1].children)
    return found


def unique(plan: Plan) -> list[Plan]:
    """Return the node and all below it, each once though it may have several parents."""
    return _once(walk(plan))


def bottom_up(plan: Plan) -> list[Plan]:
    """Return the node and all below it, each once and after all of its inputs, left to right."""
    backwards: list[Plan] = []
    left = [plan]
    while left:
        backwards.append(left.pop())
        left += backwards[-1].children
    return _once(reversed(backwards))


def _once(nodes: Iterable[Plan]) -> list[Plan]:
    return list({id(node): node for node in nodes}.values())


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
