"""The joins of which segments may have caches, and what profiles them (thesis, section 5.5).

A probe counts the rows of each input, and of each delta. How many combinations the tuples of a
delta have on the path to each other input is what the probes of orders find (`join_probes`); where
a pipeline has only one order, the probe of caches counts them too, of one such pipeline at a time.
What a cache stores, and what each step scans, follow from both.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from sqlglot import exp

from cqlduck.rewrite.operators import pipelines
from cqlduck.rewrite.operators.time_predicates import latest, of_time
from cqlduck.rewrite.physical.writer import Writer
from cqlduck.rewrite.plan import Join, unique
from cqlduck.rewrite.plan.join_graph import JoinGraph, join_graph
from cqlduck.rewrite.plan.orders import ORDER, Site
from cqlduck.rewrite.plan.segments import (
    CACHES,
    Segment,
    Segments,
    says_its_end,
    segments_of,
    segments_of_text,
    segments_text,
)
from cqlduck.rewrite.plan.trees import placeholders
from cqlduck.rewrite.relalg import Rows
from cqlduck.rewrite.statements.join_probes import JoinPipeline, names_of, profiled, tree_of


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
        pipelines: The pipelines of all inputs, with probes where there is no choice of an order;
            none if not all can be profiled.
        sizes: The query of how many rows each input has, and how many begin or end of each.
        sized: The parameters that it takes.
    """

    site: Site
    names: tuple[str, ...]
    segments: Segments
    graph: JoinGraph
    ends: tuple[int, ...] = ()
    running: tuple[int, ...] = ()
    pipelines: tuple[JoinPipeline, ...] = ()
    sizes: str = ""
    sized: frozenset[str] = frozenset()

    @property
    def alone(self) -> tuple[JoinPipeline, ...]:
        """The pipelines that are not profiled for the choice of their order."""
        return tuple(pipe for pipe in self.pipelines if pipe.sample)

    def allows(self, segments: Segments) -> bool:
        """Return whether segments may have caches together."""
        listed = [place for segment in segments for place in segment]
        return set(segments) <= set(self.segments) and len(set(listed)) == len(listed)

    def option(self, text: str) -> str | None:
        """Return an option as it is called here; None if it is another point's."""
        segments = segments_of_text(text)
        if segments is None:
            return text
        return segments_text(segments) if self.allows(segments) else None


def join_caches(writer: Writer) -> Iterator[JoinCaches]:
    """Yield the joins of a plan of which segments may have caches.

    Where the order of time says that one input is the latest, or bounds another, there are none: of
    a cache that is not known.

    Args:
        writer: Has written the statements of ticks of several instants.
    """
    if writer.at_boundaries is not None:
        return
    for node in unique(writer.plan):
        if isinstance(node, Join):
            segments = tuple(segments_of(node))
            if segments and not _is_bounded(writer, node):
                yield _known(writer, node, segments)


def _is_bounded(writer: Writer, node: Join) -> bool:
    clock, places = writer.clock, range(len(node.inputs))
    return latest(clock, node) is not None or any(of_time(clock, node, at) for at in places)


def _known(writer: Writer, node: Join, segments: tuple[Segment, ...]) -> JoinCaches:
    number, names, graph = writer.number(node), names_of(node), join_graph(node)
    site = Site(CACHES, number)
    ends = tuple(place for place, plan in enumerate(node.inputs) if says_its_end(plan))
    if not any(set(segment) <= set(ends) for segment in segments):
        # others are there for who asks for them
        return JoinCaches(site, names, segments, graph, ends)
    running = {pipe.changed: pipe for pipe in pipelines.of(writer.clock, node)}
    found = []
    for place in range(len(node.inputs)):
        # a pipeline that is always empty in the join may be one of a segment
        pipe = running.get(place) or pipelines.anywhere(node, place)
        known = JoinPipeline(Site(ORDER, number, place), names, pipe.order, graph)
        if place in running and pipelines.site(node, number, pipe) is not None:
            # its probe is that of its order
            found.append(replace(known, tree=tree_of(node, pipe, graph)))
        else:
            found.append(profiled(writer, node, pipe, known))
    if any(pipe.tree is None for pipe in found):
        return JoinCaches(site, names, segments, graph, ends)
    sizes = exp.select(
        *(_count(writer.alive(plan)) for plan in node.inputs),
        *(_count(writer.lives(plan)) for plan in node.inputs),
    )
    return JoinCaches(
        site,
        names,
        segments,
        graph,
        ends,
        tuple(running),
        tuple(found),
        sizes.sql("duckdb"),
        frozenset(placeholders(sizes)),
    )


def _count(rows: Rows) -> exp.Expr:
    counted = exp.select(exp.Count(this=exp.Star())).from_(rows.subquery("counted"))
    return exp.paren(counted)
