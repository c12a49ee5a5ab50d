"""Probes: statements that profile filters, pipelines and caches (thesis, 4.3.1, 5.2 and 5.5).

In the paper a dropped tuple is profiled with a small probability, and all other filters are tested
on it. Here a probe runs in a tick now and then, on a sample of what comes. It is written when it is
wanted first: to write the probes of a join of four takes longer than all else of compiling it.

- **Filters.** All filters are tested on each tuple of the sample, and the tuples are counted by
  **mask**: bit i is 1 where Fᵢ drops the tuple. The counts are enough for the selectivities under
  every order. What a filter takes is measured on the same sample, each filter alone.
- **Pipelines.** The combinations of each tuple are counted on the path to each other input: 0 says
  that this logical filter drops the tuple, as drop probing would find. The counts say more than
  masks: what a step makes of a tuple, its fan-out, is the ratio of the counts of a path and of the
  path before its last input.
- **Caches.** The rows of each input, and of each delta, are counted. What a cache stores, and what
  each step scans, follow from these and from the combinations that the probes of pipelines find.
  Of a sample of one delta the keys are counted for which its tuples would ask a partial cache.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from sqlglot import exp

from cqlduck.rewrite.operators import pipelines
from cqlduck.rewrite.operators.join import StoredCombinations
from cqlduck.rewrite.physical.writer import Writer
from cqlduck.rewrite.plan import (
    Column,
    Filter,
    Join,
    Plan,
    Project,
    Sample,
    TimeWindow,
    unique,
)
from cqlduck.rewrite.plan.filters import Filters, filters, matched
from cqlduck.rewrite.plan.join_graph import SpanningTree
from cqlduck.rewrite.plan.orders import Site
from cqlduck.rewrite.plan.partial import keys_of
from cqlduck.rewrite.plan.trees import placeholders
from cqlduck.rewrite.relalg import Rows
from cqlduck.rewrite.relalg.builders import column
from cqlduck.rewrite.relalg.elements import (
    exists,
    lifetime_names,
    named,
    number,
    qualified,
    temp_table,
)
from cqlduck.rewrite.statements.ordered import JoinCaches, JoinPipeline, Ordered, OrderedFilters

MASKED_TUPLES = 256
"""On how many tuples all filters are tested: for more it takes longer than the statement itself."""

TIMED_TUPLES = 1024
"""On how many each filter is timed: of fewer the time is too short."""

MET_TUPLES = 128
"""How many tuples of a delta meet the other inputs; each may match many."""

KEY_TUPLES = 256
"""Of how many tuples of a delta the keys are looked at for which they ask."""

_SAMPLE, _TUPLE, _MASK, _TUPLES = "_cql_sample", "_cql_tuple", "mask", "tuples"


@dataclass(frozen=True)
class Query:
    """A statement of a probe as text, and the parameters that it takes."""

    sql: str
    parameters: frozenset[str]


@dataclass(frozen=True)
class FilterProbe:
    """What profiles filters.

    Attributes:
        masks: The query of masks, and how many tuples of a sample have each.
        sample: The statement that has a larger sample in a temporary table.
        alone: For no filter, and then for each condition, the query of how many tuples of that one
            pass.
        met: How many filters are inputs of a join.
    """

    masks: Query
    sample: Query
    alone: tuple[str, ...]
    met: int = 0


@dataclass(frozen=True)
class PipelineProbe:
    """What profiles a pipeline.

    Attributes:
        sample: The statement that has a sample of the delta in a temporary table.
        matches: The query of how many tuples of it have so many combinations, by path.
    """

    sample: Query
    matches: Query


@dataclass(frozen=True)
class KeyProbe:
    """What samples the keys for which the tuples of an input ask.

    Attributes:
        place: The input.
        columns: Those of its columns that are the keys.
        keys: The query of a hash of each, and how many tuples of a sample have it.
    """

    place: int
    columns: tuple[str, ...]
    keys: Query


@dataclass(frozen=True)
class SizeProbe:
    """What profiles the inputs of a join that may have caches.

    Attributes:
        sizes: The query of how many rows each has, and how many begin or end of each.
        keys: What samples the keys for which each may ask partial caches.
    """

    sizes: Query
    keys: tuple[KeyProbe, ...] = ()


Probe = FilterProbe | PipelineProbe | SizeProbe


def probe(writer: Writer, about: Ordered) -> Probe:
    """Return what profiles filters, a pipeline, or the inputs of a join.

    Args:
        writer: Has written the statements of such ticks as are profiled.
        about: What is profiled, of which that is possible.
    """
    node = next(n for n in unique(writer.plan) if writer.number(n) == about.site.operator)
    if isinstance(about, OrderedFilters):
        assert isinstance(node, (Filter, Join))
        chosen = filters(node)
        assert chosen is not None
        return _of_filters(writer, chosen)
    assert isinstance(node, Join)
    if isinstance(about, JoinPipeline):
        assert about.tree is not None
        return _of_pipeline(writer, node, about.site, about.tree)
    assert isinstance(about, JoinCaches)
    return SizeProbe(
        _query(
            exp.select(
                *(_count(writer.alive(plan)) for plan in node.inputs),
                *(_count(writer.lives(plan)) for plan in node.inputs),
            )
        ),
        tuple(_of_keys(writer, node, about)),
    )


def _query(tree: exp.Expr) -> Query:
    return Query(tree.sql("duckdb"), frozenset(placeholders(tree)))


def _table(rows: exp.Select) -> exp.Create:
    """Return the statement that has rows in the temporary table of samples."""
    return exp.Create(
        this=temp_table(_SAMPLE),
        kind="TABLE",
        expression=rows,
        replace=True,
        properties=exp.Properties(expressions=[exp.TemporaryProperty()]),
    )


def _sampled(rows: Rows, size: int) -> exp.Select:
    drawn = exp.select("*").from_(rows.subquery("rows"))
    drawn.set("sample", exp.TableSample(method=exp.var("reservoir"), size=number(size)))
    return drawn


# -- filters --------------------------------------------------------------------------------------


def _of_filters(writer: Writer, chosen: Filters) -> FilterProbe:
    asked = [*chosen.conditions, *(part for matches in chosen.matches for part in matches)]
    named_in = dict.fromkeys(c.name for part in asked for c in part.find_all(exp.Column))
    own = {c.name for c in chosen.input.columns}
    read = [name for name in named_in if name in own]
    tuples = _coming(writer, chosen.input).project([column(name) for name in read], "sampled")
    alone = exp.select(exp.Count(this=exp.Star())).from_(temp_table(_SAMPLE))
    of_each = (alone.where(part.copy()).sql("duckdb") for part in chosen.conditions)
    masked = [*chosen.conditions, *_matched(writer, chosen)]
    return FilterProbe(
        _query(_masks(masked, _sampled(tuples, MASKED_TUPLES))),
        _query(_table(_sampled(tuples, TIMED_TUPLES))),
        (alone.sql("duckdb"), *of_each),
        len(chosen.met),
    )


def _matched(writer: Writer, chosen: Filters) -> Iterator[exp.Expr]:
    """Yield whether a tuple matches any of each input that is met."""
    for place, matches in zip(chosen.met, chosen.matches, strict=True):
        there = writer.alive(matched(chosen.node.children[place])).subquery("met")
        yield exists(there, *(part.copy() for part in matches))


def _coming(writer: Writer, node: Plan) -> Rows:
    """Return the tuples that come to a selection in the tick."""
    below = node
    while isinstance(below, (Filter, Project, Sample)):
        below = below.input
    return writer.begins(node) if isinstance(below, TimeWindow) else writer.elements(node)


def _masks(chosen: Iterable[exp.Expr], sample: exp.Select) -> exp.Select:
    bits: list[exp.Expr] = [
        exp.Case().when(part.copy(), number(0)).else_(number(1 << place))
        for place, part in enumerate(chosen)
    ]
    mask = functools.reduce(lambda left, right: exp.Add(this=left, expression=right), bits)
    of_each = exp.select(named(mask, _MASK)).from_(sample.subquery("profiled"))
    counted = named(exp.Count(this=exp.Star()), _TUPLES)
    grouped = exp.select(column(_MASK), counted).from_(of_each.subquery("masks"))
    return grouped.group_by(column(_MASK))


# -- pipelines and caches -------------------------------------------------------------------------


def _of_pipeline(writer: Writer, node: Join, site: Site, tree: SpanningTree) -> PipelineProbe:
    assert site.input is not None
    running = {pipe.changed: pipe for pipe in pipelines.of(writer.clock, node)}
    # of segments with caches it may be profiled where it is always empty in the join
    pipe = running.get(site.input) or pipelines.anywhere(node, site.input)
    drawn = _sampled(writer.lives(node.inputs[site.input]), MET_TUPLES)
    numbered = named(exp.Window(this=exp.RowNumber()), _TUPLE)
    sample = exp.select("*", numbered).from_(drawn.subquery("drawn"))
    return PipelineProbe(_query(_table(sample)), _query(_matches(writer, node, pipe, tree)))


def _matches(
    writer: Writer, node: Join, pipe: pipelines.Pipeline, tree: SpanningTree
) -> exp.Select:
    """Return how many tuples of the sample have so many combinations, by path to each input."""
    changed = node.inputs[pipe.changed]
    numbers = Column(_TUPLE, "BIGINT")
    expressions = tuple(exp.column(c.name, quoted=True) for c in changed.columns)
    stand_in = Project(changed, (*expressions, number(1)), (*changed.columns, numbers))
    inputs = [stand_in if plan is changed else plan for plan in node.inputs]
    counted = replace(node, inputs=tuple(inputs), shown=(_TUPLE,))
    (arm,) = pipelines.arms(node)
    combinations = StoredCombinations(node, writer)
    listed: list[exp.Expr] = []
    query = exp.select().from_(exp.alias_(temp_table(_SAMPLE), "sampled", table=True))
    met = {other: combinations.of_input(node, pipe, other) for other in tree.others}
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
    tuples = named(exp.Count(this=exp.Star()), _TUPLES)
    return query.select(*listed, tuples).group_by(*map(str, range(1, len(listed) + 1)))


def _of_keys(writer: Writer, node: Join, about: JoinCaches) -> Iterator[KeyProbe]:
    wanted = {
        (place, tuple(mine for (mine,) in keys_of(about.links, segment, (place,)).values()))
        for segment in about.segments
        for place in set(about.running) - set(segment)
    }
    for place, columns in sorted(wanted):
        if columns:
            keys: list[exp.Expr] = [column(name) for name in columns]
            known = [exp.not_(exp.Is(this=key.copy(), expression=exp.null())) for key in keys]
            asking = writer.lives(node.inputs[place]).project(keys).where(*known)
            hashed = exp.Anonymous(this="hash", expressions=[key.copy() for key in keys])
            counted = named(exp.Count(this=exp.Star()), _TUPLES)
            sample = _sampled(asking, KEY_TUPLES).subquery("sampled")
            query = exp.select(hashed, counted).from_(sample).group_by("1")
            yield KeyProbe(place, columns, _query(query))


def _count(rows: Rows) -> exp.Expr:
    counted = exp.select(exp.Count(this=exp.Star())).from_(rows.subquery("counted"))
    return exp.paren(counted)
