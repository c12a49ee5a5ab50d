"""The pipelines of joins whose order can be chosen, as the engine knows them between ticks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cqlduck.rewrite import explain
from cqlduck.rewrite.operators import pipelines
from cqlduck.rewrite.physical.writer import Writer
from cqlduck.rewrite.plan import (
    Filter,
    Join,
    Plan,
    Project,
    RelationScan,
    RowWindow,
    Sample,
    StreamScan,
    TimeWindow,
    Trace,
    unique,
)
from cqlduck.rewrite.plan.join_graph import JoinGraph, join_graph
from cqlduck.rewrite.plan.orders import Order, Site


@dataclass(frozen=True)
class JoinPipeline:
    """A pipeline of a join.

    Attributes:
        site: Where it is.
        names: The inputs of the join, for people to read.
        default: The order in which they are met before anything is known.
        graph: The join graph.
    """

    site: Site
    names: tuple[str, ...]
    default: Order
    graph: JoinGraph

    def allows(self, order: Order) -> bool:
        """Return whether an order begins with what changes, and is legal."""
        return order[:1] == (self.site.input,) and self.graph.allows(order)


def join_pipelines(writer: Writer) -> Iterator[JoinPipeline]:
    """Yield the pipelines of a plan of whose order there is a choice.

    Args:
        writer: Has written the statements of ticks of several instants.
    """
    if writer.at_boundaries is not None:
        return
    for node in unique(writer.plan):
        if isinstance(node, Join) and len(node.inputs) > 2:
            names = tuple(map(_name, node.inputs))
            for pipe in pipelines.of(writer.clock, node):
                site = pipelines.site(node, writer.number(node), pipe)
                if site is not None:
                    yield JoinPipeline(site, names, pipe.order, join_graph(node))


def _name(plan: Plan) -> str:
    """Return what an input of a join is, in a few words."""
    window = ""
    while isinstance(plan, (Filter, Project, Sample, TimeWindow, RowWindow, Trace)):
        if isinstance(plan, (TimeWindow, RowWindow)):
            window = f" {explain.describe(plan)}"
        plan = plan.input
    is_named = isinstance(plan, (StreamScan, RelationScan))
    return f"{explain.describe(plan) if is_named else explain.kind_of(plan)}{window}"
