"""The pipelines of joins whose order can be chosen, and what profiles them (thesis, 5.2).

A probe takes a sample of the delta, and counts for each of its tuples the combinations on the path
to each other input: 0 says that this logical filter drops the tuple, as drop probing would find.
The counts say more than masks: what a step makes of a tuple, its fan-out, is the ratio of the
counts of a path and of the path before its last input.

A pipeline is probed if equalities link all inputs, and if these are windows in time over streams,
or relations, with selections, projections and samples between. None of what a probe evaluates can
raise.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from sqlglot import exp

from cqlduck.rewrite import explain
from cqlduck.rewrite.operators import pipelines
from cqlduck.rewrite.operators.join import StoredCombinations
from cqlduck.rewrite.physical.writer import Writer
from cqlduck.rewrite.plan import (
    Column,
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
    guards,
    unique,
)
from cqlduck.rewrite.plan.join_graph import JoinGraph, SpanningTree, join_graph
from cqlduck.rewrite.plan.orders import Order, Site
from cqlduck.rewrite.plan.raising import can_raise
from cqlduck.rewrite.plan.trees import placeholders
from cqlduck.rewrite.relalg import Rows
from cqlduck.rewrite.relalg.elements import lifetime_names, named, number, qualified, temp_table
from cqlduck.rewrite.statements.ordered import order_option

SAMPLED_TUPLES = 128
"""How many tuples a probe has meet the other inputs; each may match many."""

_SAMPLE, _TUPLE = "_cql_sampled", "_cql_tuple"


@dataclass(frozen=True)
class JoinPipeline:
    """A pipeline of a join.

    Attributes:
        site: Where it is.
        names: The inputs of the join, for people to read.
        default: The order in which they are met before anything is known.
        graph: The join graph.
        tree: The paths from the input that changes; None if it cannot be profiled.
        sample: The statement that keeps a sample of the delta in a temporary table.
        matches: The query of how many tuples of it have so many combinations, by path.
        sampled: The parameters that `sample` takes.
        matched: Those that `matches` takes.
    """

    site: Site
    names: tuple[str, ...]
    default: Order
    graph: JoinGraph
    tree: SpanningTree | None = None
    sample: str = ""
    matches: str = ""
    sampled: frozenset[str] = frozenset()
    matched: frozenset[str] = frozenset()

    def option(self, text: str) -> str | None:
        """Return an option as it is called here; None if it is another point's."""
        return order_option(self, text)

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
            names = names_of(node)
            for pipe in pipelines.of(writer.clock, node):
                site = pipelines.site(node, writer.number(node), pipe)
                if site is not None:
                    known = JoinPipeline(site, names, pipe.order, join_graph(node))
                    yield profiled(writer, node, pipe, known)


def profiled(
    writer: Writer, node: Join, pipe: pipelines.Pipeline, known: JoinPipeline
) -> JoinPipeline:
    """Return a pipeline with the statements of its probe, if it can be profiled."""
    tree = tree_of(node, pipe, known.graph)
    if tree is None:
        return known
    changed = node.inputs[pipe.changed]
    create = exp.Create(
        this=temp_table(_SAMPLE),
        kind="TABLE",
        expression=_sample(writer.lives(changed)),
        replace=True,
        properties=exp.Properties(expressions=[exp.TemporaryProperty()]),
    )
    matches = _matches(writer, node, pipe, tree)
    return replace(
        known,
        tree=tree,
        sample=create.sql("duckdb"),
        matches=matches.sql("duckdb"),
        sampled=frozenset(placeholders(create)),
        matched=frozenset(placeholders(matches)),
    )


def tree_of(node: Join, pipe: pipelines.Pipeline, graph: JoinGraph) -> SpanningTree | None:
    """Return the paths from the input that changes; None if the pipeline cannot be profiled."""
    arm, *others = pipelines.arms(node)
    if others or arm.guarded or not all(map(_is_at_hand, node.inputs)):
        return None
    return graph.tree(pipe.changed)


def _sample(delta: Rows) -> exp.Select:
    """Return some tuples of a delta, numbered."""
    drawn = exp.select("*").from_(delta.subquery("delta"))
    drawn.set("sample", exp.TableSample(method=exp.var("reservoir"), size=number(SAMPLED_TUPLES)))
    numbered = named(exp.Window(this=exp.RowNumber()), _TUPLE)
    return exp.select("*", numbered).from_(drawn.subquery("drawn"))


def _matches(
    writer: Writer, node: Join, pipe: pipelines.Pipeline, tree: SpanningTree
) -> exp.Select:
    """Return how many tuples of the sample have so many combinations, by path to each input."""
    changed = node.inputs[pipe.changed]
    column = Column(_TUPLE, "BIGINT")
    expressions = tuple(exp.column(c.name, quoted=True) for c in changed.columns)
    stand_in = Project(changed, (*expressions, number(1)), (*changed.columns, column))
    inputs = [stand_in if plan is changed else plan for plan in node.inputs]
    counted = replace(node, inputs=tuple(inputs), shown=(_TUPLE,))
    (arm,) = pipelines.arms(node)
    combinations = StoredCombinations(node, writer)
    listed: list[exp.Expr] = []
    query = exp.select().from_(exp.alias_(temp_table(_SAMPLE), "sampled", table=True))
    met = {other: combinations.of_input(pipe, other) for other in tree.others}
    for place in tree.others:
        path = replace(pipe, order=(pipe.changed, *tree.paths[place]), site=None)
        legs = {other: met[other] for other in tree.paths[place]}
        legs[pipe.changed] = Rows.of(temp_table(_SAMPLE), [*lifetime_names(stand_in.columns)])
        rows = pipelines.nested(counted, path, arm, legs)
        own = exp.select(_TUPLE, named(exp.Count(this=exp.Star()), "matches"))
        own = own.from_(rows.subquery("met")).group_by(_TUPLE)
        name = f"path{place}"
        query = query.join(
            own.subquery(name), on=f"{name}.{_TUPLE} = sampled.{_TUPLE}", join_type="left"
        )
        count = exp.Coalesce(this=qualified(name, "matches"), expressions=[number(0)])
        listed.append(named(count, name))
    tuples = named(exp.Count(this=exp.Star()), "tuples")
    return query.select(*listed, tuples).group_by(*map(str, range(1, len(listed) + 1)))


def _is_at_hand(plan: Plan) -> bool:
    """Return whether a probe may read an input: what it has needs no state, and cannot raise."""
    while isinstance(plan, (Filter, Project, Sample, TimeWindow)):
        if isinstance(plan, Filter) and guards.may_raise(plan):
            return False
        if isinstance(plan, Project):
            types = {c.name: c.type for c in plan.input.columns}
            if any(can_raise(expression, types) for expression in plan.expressions):
                return False
        plan = plan.input
    return isinstance(plan, (StreamScan, RelationScan)) and not plan.source.is_query


def names_of(node: Join) -> tuple[str, ...]:
    """Return the inputs of a join for people to read."""
    return tuple(map(_name, node.inputs))


def _name(plan: Plan) -> str:
    """Return what an input of a join is, in a few words."""
    window = ""
    while isinstance(plan, (Filter, Project, Sample, TimeWindow, RowWindow, Trace)):
        if isinstance(plan, (TimeWindow, RowWindow)):
            window = f" {explain.describe(plan)}"
        plan = plan.input
    is_named = isinstance(plan, (StreamScan, RelationScan))
    return f"{explain.describe(plan) if is_named else explain.kind_of(plan)}{window}"
