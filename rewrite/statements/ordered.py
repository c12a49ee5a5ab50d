"""What of a plan has an order that can be chosen, caches or indexes, as the engine knows it.

These are facts without statements: sites, names, and which options there are. What profiles them is
written when it is first wanted (`probes`).

Filters are profiled if what comes to their selection, or join, is at hand: a stream, a window in
time over one, or a relation, with selections, projections and samples between. Filters cannot
raise.

A pipeline of a join is profiled if equalities link all inputs, and if these are windows in time
over streams, or relations, with selections, projections and samples between. None of what a probe
evaluates can raise.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Protocol

from sqlglot import exp

from cqlduck.rewrite import explain
from cqlduck.rewrite.operators import pipelines, search
from cqlduck.rewrite.operators.accumulating import Accumulating
from cqlduck.rewrite.operators.time_predicates import latest, of_time
from cqlduck.rewrite.physical.writer import Writer
from cqlduck.rewrite.plan import (
    Aggregate,
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
from cqlduck.rewrite.plan.filters import Filters, filters, is_readable, matched
from cqlduck.rewrite.plan.join_graph import JoinGraph, SpanningTree, join_graph
from cqlduck.rewrite.plan.orders import FILTERS, ORDER, Order, Site, is_order, order_name, order_of
from cqlduck.rewrite.plan.partial import Link, keys_of
from cqlduck.rewrite.plan.searches import SEARCH, key_name, key_of
from cqlduck.rewrite.plan.segments import (
    CACHES,
    Cached,
    Caching,
    Segment,
    caching_of_text,
    caching_text,
    links_of,
    says_its_end,
    segments_of,
    used,
    users_of,
)


class Ordered(Protocol):
    """Filters or inputs of a join of which something can be chosen."""

    @property
    def site(self) -> Site:
        """Where they are in the plan."""
        ...

    @property
    def names(self) -> tuple[str, ...]:
        """They as text, by number."""
        ...

    def option(self, text: str) -> str | None:
        """Return an option as it is called here; None if it is another point's.

        Args:
            text: As a user has written it, or as it was stored.
        """
        ...


@dataclass(frozen=True)
class OrderedFilters:
    """The filters of a selection, or of a join, in the order of their numbers."""

    site: Site
    names: tuple[str, ...]

    @property
    def default(self) -> Order:
        """The order of the text."""
        return tuple(range(len(self.names)))

    def option(self, text: str) -> str | None:
        """Return an option as it is called here; None if it is another point's."""
        return _order_option(self, text)

    def allows(self, order: Order) -> bool:
        """Return whether an order is one of these filters."""
        return is_order(order, len(self.names))


@dataclass(frozen=True)
class JoinPipeline:
    """A pipeline of a join.

    Attributes:
        site: Where it is.
        names: The inputs of the join, for people to read.
        default: The order in which they are met before anything is known.
        graph: The join graph.
        tree: The paths from the input that changes; None if it cannot be profiled.
    """

    site: Site
    names: tuple[str, ...]
    default: Order
    graph: JoinGraph
    tree: SpanningTree | None = None

    def option(self, text: str) -> str | None:
        """Return an option as it is called here; None if it is another point's."""
        return _order_option(self, text)

    def allows(self, order: Order) -> bool:
        """Return whether an order begins with what changes, and is legal."""
        return order[:1] == (self.site.input,) and self.graph.allows(order)


@dataclass(frozen=True)
class JoinCaches:
    """A join of which segments may have caches.

    Attributes:
        site: Where it is.
        names: Its inputs, for people to read.
        segments: The segments that may have a cache.
        graph: The join graph.
        ends: The inputs whose tuples say when they end: segments of others have to be searched
            for what ends.
        running: The inputs whose pipelines are not always empty.
        pipelines: The pipelines of all inputs; none if not all can be profiled.
        unordered: The inputs of pipelines of whose order there is no choice: what is known of the
            others is found by the probes of their orders.
        links: The equalities by which pipelines may ask for keys of partial caches.
    """

    site: Site
    names: tuple[str, ...]
    segments: tuple[Segment, ...]
    graph: JoinGraph
    ends: tuple[int, ...] = ()
    running: tuple[int, ...] = ()
    pipelines: tuple[JoinPipeline, ...] = ()
    unordered: tuple[int, ...] = ()
    links: tuple[Link, ...] = ()

    def used(self, caching: Caching) -> Caching | None:
        """Return caches with the pipelines that use each, in one way only; None if not allowed."""
        segments = {one.segment for one in caching}
        others = (place for one in caching for place in one.users or ())
        if not segments <= set(self.segments) or max(others, default=0) >= len(self.names):
            return None
        found = used(caching, len(self.names))
        return found if found and all(self._has_keys(found, one) for one in found) else None

    def _has_keys(self, caching: Caching, one: Cached) -> bool:
        """Return whether all pipelines that use a partial cache ask for the same keys of it."""
        if one.slots is None:
            return True
        users = [place for (place,) in users_of(caching, len(self.names))[one.segment]]
        return bool(keys_of(self.links, one.segment, users))

    def option(self, text: str) -> str | None:
        """Return an option as it is called here; None if it is another point's."""
        caching = caching_of_text(text)
        if caching is None:
            return text
        found = self.used(caching)
        return None if found is None else caching_text(found)


NOWHERE = Site(SEARCH, 0)
"""The site of a relation, which is in no plan."""


@dataclass(frozen=True)
class TableSearch:
    """A table of which few rows may be found through an index: groups, or the rows of a relation.

    Attributes:
        site: Where it is in the plan, or `NOWHERE`.
        names: The keys by which rows are found.
        keys: The numbers of those that may have an index, from 0.
        table: The table.
    """

    site: Site
    names: tuple[str, ...]
    keys: tuple[int, ...]
    table: str

    def option(self, text: str) -> str | None:
        """Return an option as it is called here; None if it is another point's."""
        key = key_of(text)
        if key is None:
            return text
        return key_name(key) if key in self.keys else None


def ordered(writer: Writer) -> tuple[Ordered, ...]:
    """Return what has an order that can be chosen, caches or an index, sorted by place.

    Args:
        writer: Has written the statements of ticks of several instants.
    """
    if writer.at_boundaries is not None:
        return ()
    found: list[Ordered] = []
    for node in unique(writer.plan):
        if isinstance(node, (Filter, Join)):
            chosen = filters(node)
            if chosen is not None and _is_at_hand(chosen.input):
                names = tuple(_filter_names(chosen))
                found.append(OrderedFilters(Site(FILTERS, writer.number(node)), names))
        if isinstance(node, Aggregate):
            found += _searches(writer, node)
        if isinstance(node, Join):
            found += _pipelines(writer, node)
            segments = tuple(segments_of(node))
            if segments and not _is_bounded(writer, node):
                found.append(_caches(writer, node, segments))
    return tuple(sorted(found, key=lambda one: one.site.place))


# -- filters --------------------------------------------------------------------------------------


def _is_at_hand(node: Plan) -> bool:
    """Return whether the tuples that come to a selection in a tick are at hand."""
    node = _below(node)
    if isinstance(node, TimeWindow):
        return isinstance(_below(node.input), StreamScan)
    return isinstance(node, (StreamScan, RelationScan))


def _filter_names(chosen: Filters) -> Iterator[str]:
    """Yield filters as text: conditions, and then what an input has to match."""
    yield from (part.sql("duckdb") for part in chosen.conditions)
    for place, matches in zip(chosen.met, chosen.matches, strict=True):
        met = matched(chosen.node.children[place])
        yield f"in {_name(met)}: {exp.and_(*matches).sql('duckdb')}"


def _below(node: Plan) -> Plan:
    while isinstance(node, (Filter, Project, Sample)):
        node = node.input
    return node


# -- the orders of pipelines ----------------------------------------------------------------------


def _pipelines(writer: Writer, node: Join) -> Iterator[JoinPipeline]:
    """Yield the pipelines of a join of whose order there is a choice."""
    if len(node.inputs) > 2:
        names, graph = _names(node), join_graph(node)
        for pipe in pipelines.of(writer.clock, node):
            site = pipelines.site(node, writer.number(node), pipe)
            if site is not None:
                yield JoinPipeline(site, names, pipe.order, graph, _tree(node, pipe, graph))


def _tree(node: Join, pipe: pipelines.Pipeline, graph: JoinGraph) -> SpanningTree | None:
    """Return the paths from the input that changes; None if the pipeline cannot be profiled."""
    arm, *others = pipelines.arms(node)
    if others or arm.guarded or not all(map(is_readable, node.inputs)):
        return None
    return graph.tree(pipe.changed)


def _names(node: Join) -> tuple[str, ...]:
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


# -- the groups of aggregates ---------------------------------------------------------------------


def _searches(writer: Writer, node: Aggregate) -> Iterator[TableSearch]:
    """Yield an aggregate of which the groups are met by a delta, and may have an index."""
    keys = search.searchable(node)
    if keys and isinstance(writer.operator(node), Accumulating):
        site = Site(SEARCH, writer.number(node))
        yield TableSearch(site, tuple(node.keys), keys, writer.table(node, "groups"))


# -- the caches of joins --------------------------------------------------------------------------


def _is_bounded(writer: Writer, node: Join) -> bool:
    """Return whether the order of time says that one input is the latest, or bounds another.

    Of such a join it is not known what a cache would bring.
    """
    clock, places = writer.clock, range(len(node.inputs))
    return latest(clock, node) is not None or any(of_time(clock, node, at) for at in places)


def _caches(writer: Writer, node: Join, segments: tuple[Segment, ...]) -> JoinCaches:
    number, names, graph = writer.number(node), _names(node), join_graph(node)
    ends = tuple(place for place, plan in enumerate(node.inputs) if says_its_end(plan))
    known = JoinCaches(Site(CACHES, number), names, segments, graph, ends, links=links_of(node))
    running = {pipe.changed: pipe for pipe in pipelines.of(writer.clock, node)}
    found, unordered = [], []
    for place in range(len(node.inputs)):
        # a pipeline that is always empty in the join may be one of a segment
        pipe = running.get(place) or pipelines.anywhere(node, place)
        tree = _tree(node, pipe, graph)
        if tree is None:
            return known
        found.append(JoinPipeline(Site(ORDER, number, place), names, pipe.order, graph, tree))
        if place not in running or pipelines.site(node, number, pipe) is None:
            unordered.append(place)
    return replace(
        known, running=tuple(running), pipelines=tuple(found), unordered=tuple(unordered)
    )


class _InOrder(Protocol):
    def allows(self, order: Order) -> bool: ...


def _order_option(about: _InOrder, text: str) -> str | None:
    """Return the option that an order is, if it may be chosen; another text as it is."""
    order = order_of(text)
    if order is None:
        return text
    return order_name(order) if about.allows(order) else None
