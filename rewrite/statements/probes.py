"""Probes: statements that profile the filters of a selection (thesis, 4.3.1).

In the paper a dropped tuple is profiled with a small probability, and all other filters are tested
on it. Here a probe runs in a tick now and then: it takes a sample of what comes to the selection,
tests all filters on each of its tuples, and counts the tuples by **mask**: bit i is 1 where Fᵢ
drops the tuple. The counts are enough for the selectivities under every order. What a filter takes
is measured on the same sample, each filter alone.

A selection, or a join, is probed if what comes to it is at hand: a stream, a window in time over
one, or a relation, with selections, projections and samples between. Filters that are probed cannot
raise.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from cqlduck.rewrite.physical.writer import Writer
from cqlduck.rewrite.plan import (
    Filter,
    Join,
    Plan,
    Project,
    RelationScan,
    Sample,
    StreamScan,
    TimeWindow,
    unique,
)
from cqlduck.rewrite.plan.filters import filters, tested
from cqlduck.rewrite.plan.orders import FILTERS, Order, Site, is_order
from cqlduck.rewrite.plan.trees import placeholders
from cqlduck.rewrite.relalg import Rows
from cqlduck.rewrite.relalg.builders import column
from cqlduck.rewrite.relalg.elements import named, number, temp_table
from cqlduck.rewrite.statements.ordered import order_option

PROFILED_TUPLES = 512
"""On how many tuples all filters are tested."""

TIMED_TUPLES = 1024
"""On how many each filter is timed: of fewer the time is too short."""

_SAMPLE, _MASK, _TUPLES = "_cql_sample", "mask", "tuples"


@dataclass(frozen=True)
class Probe:
    """How the filters of a selection are profiled.

    Attributes:
        site: Where the filters are.
        names: The filters as text, by number.
        masks: The query of masks, and how many tuples of a sample have each.
        sample: The statement that keeps a larger sample in a temporary table.
        alone: For no filter, and then for each, the query of how many tuples of that one pass.
        parameters: The parameters that `masks` and `sample` take.
    """

    site: Site
    names: tuple[str, ...]
    masks: str
    sample: str
    alone: tuple[str, ...]
    parameters: frozenset[str]

    @property
    def default(self) -> Order:
        """The order of the text."""
        return tuple(range(len(self.names)))

    def option(self, text: str) -> str | None:
        """Return an option as it is called here; None if it is another point's."""
        return order_option(self, text)

    def allows(self, order: Order) -> bool:
        """Return whether an order is one of these filters."""
        return is_order(order, len(self.names))


def probes(writer: Writer) -> Iterator[Probe]:
    """Yield the probes of the selections and joins of a plan whose filters can be profiled.

    Args:
        writer: Has written the statements of ticks of several instants.
    """
    if writer.at_boundaries is not None:
        return
    for node in unique(writer.plan):
        if isinstance(node, (Filter, Join)):
            chosen = filters(node)
            rows = _at_hand(writer, tested(node)) if chosen else None
            if rows is not None:
                yield _probe(writer.number(node), chosen, rows)


def _at_hand(writer: Writer, node: Plan) -> Rows | None:
    """Return the tuples that come to a selection in the tick, or None if they are not at hand."""
    below = node
    while isinstance(below, (Filter, Project, Sample)):
        below = below.input
    if isinstance(below, TimeWindow):
        stream: Plan = below.input
        while isinstance(stream, (Filter, Project, Sample)):
            stream = stream.input
        return writer.begins(node) if isinstance(stream, StreamScan) else None
    return writer.elements(node) if isinstance(below, (StreamScan, RelationScan)) else None


def _probe(operator: int, chosen: list[exp.Expr], rows: Rows) -> Probe:
    read = dict.fromkeys(c.name for part in chosen for c in part.find_all(exp.Column))
    tuples = rows.project([column(name) for name in read], "sampled")
    create = exp.Create(
        this=temp_table(_SAMPLE),
        kind="TABLE",
        expression=_sample(tuples, TIMED_TUPLES),
        replace=True,
        properties=exp.Properties(expressions=[exp.TemporaryProperty()]),
    )
    alone = exp.select(exp.Count(this=exp.Star())).from_(temp_table(_SAMPLE))
    return Probe(
        Site(FILTERS, operator),
        tuple(part.sql("duckdb") for part in chosen),
        _masks(chosen, _sample(tuples, PROFILED_TUPLES)).sql("duckdb"),
        create.sql("duckdb"),
        (alone.sql("duckdb"), *(alone.where(part.copy()).sql("duckdb") for part in chosen)),
        frozenset(placeholders(create)),
    )


def _sample(tuples: Rows, size: int) -> exp.Select:
    sample = exp.select("*").from_(tuples.subquery("sampled"))
    sample.set("sample", exp.TableSample(method=exp.var("reservoir"), size=number(size)))
    return sample


def _masks(chosen: list[exp.Expr], sample: exp.Select) -> exp.Select:
    bits: list[exp.Expr] = [
        exp.Case().when(part.copy(), number(0)).else_(number(1 << place))
        for place, part in enumerate(chosen)
    ]
    mask = functools.reduce(lambda left, right: exp.Add(this=left, expression=right), bits)
    of_each = exp.select(named(mask, _MASK)).from_(sample.subquery("profiled"))
    counted = named(exp.Count(this=exp.Star()), _TUPLES)
    grouped = exp.select(column(_MASK), counted).from_(of_each.subquery("masks"))
    return grouped.group_by(column(_MASK))
