"""Sums over windows of several lengths: what enters is summed up once for all of them.

Queries that differ in the lengths of their windows, and perhaps in a threshold, are one plan. Let
V have the windows of several lengths w over a stream S (`varying_windows`), and the relation R a
length l and a bound c for each query m:

    γ_k,m;Σf (V ⋈_w=l,v>c R)

A tuple enters the windows of all lengths at one instant, its timestamp. So what enters is summed up
by interval (`intervals`) without regard to lengths, once for all bounds. A tuple leaves windows of
different lengths at different instants, and of one length there are few bounds. So pairs are summed
up as they are formed:

    Δ  =  γ_k,m;Σf (ΔS ⋈_v>c R)  −  γ_k,m;Σf (left_w(S) ⋈_w=l,v>c R)

With n elements of each instant, p bounds and q lengths this reads n + p and q · n rows, and keeps
none. Lifetimes of each element with each length would be 2 · q · n rows, and pairs with bounds as
many again.

A bound is *settled*, and takes part, if it stands through the whole tick and conditions on instants
are true of all that enters or leaves: what leaves a window of length l in the tick has a timestamp
after t0 − l − 1, so that is known without looking. All other bounds form pairs with lifetimes of
their lengths, as in any join; once every query is older than its window there are none.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from cqlduck.rewrite.operators import intervals
from cqlduck.rewrite.operators.varying_windows import VaryingStub
from cqlduck.rewrite.physical.algebra import Accumulator, N
from cqlduck.rewrite.physical.bands import ABOVE, Band
from cqlduck.rewrite.physical.writer import Writer
from cqlduck.rewrite.plan import Aggregate, Column, VaryingWindow, filters, orders
from cqlduck.rewrite.plan.orders import FILTERS, Site
from cqlduck.rewrite.relalg import Rows
from cqlduck.rewrite.relalg.builders import column
from cqlduck.rewrite.relalg.elements import (
    ENTER,
    LEAVE,
    TS,
    WEIGHT,
    add,
    after,
    count,
    element_names,
    exists,
    lifetime_names,
    named,
    number,
    parameter,
    qualified,
    temp_table,
    until,
)
from cqlduck.rewrite.relalg.product import joined


def _window(band: Band) -> VaryingWindow:
    assert band.window is not None
    return band.window


def _length(band: Band) -> str:
    assert band.length is not None
    return band.length


# -- what the join keeps -------------------------------------------------------------------------


def settled(writer: Writer, band: Band) -> exp.Expr:
    """Return whether a bound meets all that enters or leaves alike, or none of it.

    Args:
        writer: The writer.
        band: The join.
    """
    window, length = _window(band), _length(band)
    compared = [until(column(ENTER), parameter("t0")), after(column(LEAVE), parameter("t1"))]
    for name in (length, *(one.bound for one in band.on.compared)):
        compared.append(exp.not_(exp.Is(this=column(name), expression=exp.null())))
    if window.half_open:
        # what would leave when it enters is never there
        compared.append(exp.GT(this=column(length), expression=number(0)))
    first = add(VaryingStub(window, writer).left("t0", length), 1)
    for one in band.on.timely:
        extreme = first if one.sign in ABOVE else parameter("t1")
        compared.append(one.sign(this=extreme, expression=column(one.bound)))
    return exp.and_(*compared)


def keep_bounds(writer: Writer, band: Band, bounds: Rows) -> None:
    """Keep the settled bounds of the tick, and the others.

    Args:
        writer: The writer.
        band: The join.
        bounds: (columns, `_cql_enter`, `_cql_leave`, `_weight`): the bounds that are met.
    """
    bounds = bounds.where(*(part.copy() for part in band.on.theirs))
    intervals.keep_bounds(writer, band, bounds.where(settled(writer, band)))
    others = exp.not_(exp.Coalesce(this=settled(writer, band), expressions=[exp.false()]))
    names = lifetime_names(band.join.inputs[band.bounds].columns)
    query = bounds.where(others).project([*map(column, names)]).query()
    writer.keep(band.join, _unsettled_table(writer, band), query, "the bounds that form pairs")


def unsettled(writer: Writer, band: Band) -> Rows:
    """Return the bounds that are not settled."""
    names = lifetime_names(band.join.inputs[band.bounds].columns)
    return Rows.of(temp_table(_unsettled_table(writer, band)), names)


def lives(writer: Writer, band: Band) -> Rows:
    """Keep what begins or ends in windows of the lengths of other bounds; return it."""
    window = _window(band)
    of_length = exp.EQ(this=qualified("b", _length(band)), expression=column(window.name))
    asked = exists(temp_table(_unsettled_table(writer, band)).as_("b"), of_length)
    query = writer.lives(window).where(asked).query()
    table = f"_cql_lives_{writer.instance(band.join)}"
    writer.keep(band.join, table, query, "what begins or ends in the windows of these")
    return Rows.of(temp_table(table), lifetime_names(window.columns))


def _unsettled_table(writer: Writer, band: Band) -> str:
    return f"_cql_unsettled_{writer.instance(band.join)}"


# -- what the aggregate sums up ------------------------------------------------------------------


def lifted(
    writer: Writer, band: Band, node: Aggregate, accumulators: Sequence[Accumulator]
) -> list[exp.Query]:
    """Return (keys, `_ts`, `_cql_n`, accumulators): what enters, and what leaves, is lifted to.

    Args:
        writer: The writer.
        band: The join.
        node: The aggregate.
        accumulators: Those that are lifted.
    """
    window = _window(band)
    enters = _tested(writer, band, writer.elements(window.input))
    if band.on.compared:
        equal = [pair for pair in band.on.equal if pair[0] != window.name]
        entering = intervals.by_interval(
            writer, band, node, accumulators, enters, window.input.columns, equal
        )
    else:
        entering = _pairs(writer, band, node, accumulators, enters, window.input.columns)
    stub = VaryingStub(window, writer)
    names = [c.name for c in window.columns]
    gone = exp.Neg(this=column(WEIGHT))
    leaves = _tested(writer, band, stub.leaving()).project(
        [*map(column, names), named(stub.end(), TS), named(gone, WEIGHT)]
    )
    leaving = _pairs(writer, band, node, accumulators, leaves, window.columns)
    return [entering, leaving]


def _tested(writer: Writer, band: Band, rows: Rows) -> Rows:
    """Return the elements that meet the conditions on elements alone, in the order chosen."""
    node, site = band.join, Site(FILTERS, writer.number(band.join))
    own = filters.arranged(node, site.operator, intervals.order(writer, node), band.on.own)
    parts = [part.copy() for part in own]
    if filters.filters(node) is not None:
        parts = [orders.mark(part, site) for part in parts]
    return rows.where(*parts) if parts else rows


def _pairs(
    writer: Writer,
    band: Band,
    node: Aggregate,
    accumulators: Sequence[Accumulator],
    elements: Rows,
    columns: Sequence[Column],
) -> exp.Query:
    """Return what pairs of elements with settled bounds are lifted to, without keeping these.

    Args:
        writer: The writer.
        band: The join.
        node: The aggregate.
        accumulators: Those that are lifted.
        elements: (columns, `_ts`, `_weight`): the elements.
        columns: Their columns.
    """
    known, renamed = {c.name for c in columns}, band.renamed()
    met = [
        *(exp.EQ(this=qualified("e", mine), expression=qualified("c", theirs))
          for mine, theirs in band.on.equal if mine in known),
        *(one.sign(this=qualified("e", one.value), expression=qualified("c", one.bound))
          for one in band.on.compared),
    ]  # fmt: skip
    shown = [*dict.fromkeys(renamed.values())]
    bounds = Rows.of(temp_table(intervals.settled_table(writer, band)), band.read)
    listed = [named(qualified("e", name), name) for name in element_names(columns)]
    listed += [named(qualified("c", name), name) for name in shown]
    rows = intervals.projected(band, joined({"e": elements, "c": bounds}, listed, met), shown)
    keys = [named(column(renamed.get(key, key)), key) for key in node.keys]
    by = [column(renamed.get(key, key)) for key in node.keys]
    lifts = [named(count(), N), *(named(a.lift.copy(), a.name) for a in accumulators)]
    return rows.select([*keys, column(TS), *lifts], group=[*by, column(TS)], alias="met")
