"""Intervals: sums over the pairs of a comparison with a relation's bounds, without the pairs.

Let an aggregate sum up, by keys k of S and m of R, what meets the bounds of a relation:

    γ_k,m;Σf (S ⋈_v>c R)            f over S;  R has bounds c

The bounds cut the values of v into intervals. An element in the interval of b, the greatest bound
below its v, meets exactly the bounds up to b. So what it adds is added to that interval once, and
the sum of each bound is a running sum over the intervals:

    Σf of (k, m)  =  Σ over bounds b ≥ c of  γ_k,b;Σf (S ⋈_asof R)

With n elements and p bounds that is n + p rows of each k and not n · p pairs. It is pre-aggregation
(Yan and Larson, VLDB 1995) where the join is no equality, and what makes p queries that differ in a
threshold cost little more than one. With equalities beside the comparison the intervals are those
between bounds that are equal so. What is between two bounds is what is beyond the lower one, less
what is beyond the upper one.

In a tick S is what begins or ends. A bound takes part in this if it meets all of that alike: it
stands through the whole tick, and conditions on instants are true of all (a member of a family has
what came after its beginning). It is *settled*. Pairs with all other bounds are formed as in any
join.

Where each k has few elements of an instant, there are as many running sums as there would be pairs:
so whether sums are made by interval is an option of the point `stages`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from cqlduck.rewrite.physical.algebra import Accumulator, N
from cqlduck.rewrite.physical.bands import ABOVE, COMPLEMENT, Band, Comparison
from cqlduck.rewrite.physical.writer import Writer
from cqlduck.rewrite.plan import Aggregate, Column, Join, filters
from cqlduck.rewrite.plan.conditions import names_in
from cqlduck.rewrite.plan.orders import FILTERS, Order, Site
from cqlduck.rewrite.relalg import Rows
from cqlduck.rewrite.relalg.builders import cast, column, typed_null
from cqlduck.rewrite.relalg.elements import (
    ENTER,
    LEAVE,
    TS,
    WEIGHT,
    after,
    count,
    element_names,
    exists,
    lifetimes_to_elements,
    named,
    number,
    parameter,
    qualified,
    temp_table,
    union_all,
    until,
)

BOUND, ASKED = "_cql_bound", "_cql_asked"


# -- what the join keeps -------------------------------------------------------------------------


def settled(writer: Writer, band: Band) -> exp.Expr:
    """Return whether a bound meets all that begins or ends in the tick alike, or none of it.

    Args:
        writer: The writer, in whose form there are stages.
        band: The join.
    """
    compared = [until(column(ENTER), parameter("t0")), after(column(LEAVE), parameter("t1"))]
    for one in band.on.compared:
        compared.append(exp.not_(exp.Is(this=column(one.bound), expression=exp.null())))
    for one in band.on.timely:
        extreme = exp.Min if one.sign in ABOVE else exp.Max
        value = _of_all(writer, band, extreme(this=column(one.value)))
        compared.append(one.sign(this=value, expression=column(one.bound)))
    return exp.and_(*compared)


def unsettled(writer: Writer, band: Band) -> exp.Expr:
    """Return the contrary; where nothing begins or ends no bound is settled."""
    return exp.not_(exp.Coalesce(this=settled(writer, band), expressions=[exp.false()]))


def _of_all(writer: Writer, band: Band, value: exp.Expr) -> exp.Expr:
    """Return an aggregate of all that begins or ends."""
    lives, _ = _lives(writer, band)
    return exp.Subquery(this=lives.select([named(value, "value")], alias="lives"))


def _lives(writer: Writer, band: Band) -> tuple[Rows, Sequence[exp.Expr]]:
    """Return what begins or ends, and the conditions on it that are left to be tested."""
    plan, number = band.join.inputs[band.elements], writer.number(band.join)
    own = filters.arranged(band.join, number, order(writer, band.join), band.on.own)
    chosen = filters.filters(band.join)
    is_filtered = chosen is not None and bool(chosen.met) and plan is chosen.input
    return writer.tested_lives(plan, own, Site(FILTERS, number) if is_filtered else None)


def order(writer: Writer, node: Join) -> Order | None:
    """Return the order of a join's filters, with conditions ahead of all inputs.

    Elements are summed up before they meet any.
    """
    chosen = filters.filters(node)
    found = writer.form.order(Site(FILTERS, writer.number(node)))
    return found if chosen is None else chosen.without_inputs(found)


def keep_settled(writer: Writer, band: Band, bounds: Rows) -> None:
    """Keep the settled bounds of the tick.

    Args:
        writer: The writer.
        band: The join.
        bounds: (columns, `_cql_enter`, `_cql_leave`, `_weight`): the bounds that are met.
    """
    lives, _ = _lives(writer, band)
    there = exists(lives.subquery("lives") if lives.table is None else lives.table.copy())
    keep_bounds(writer, band, bounds.where(*_theirs(band), settled(writer, band), there))


def keep_bounds(writer: Writer, band: Band, bounds: Rows) -> None:
    """Keep bounds, all of which are settled, but for those between which there is nothing.

    Args:
        writer: The writer.
        band: The join.
        bounds: (columns, `_cql_enter`, `_cql_leave`, `_weight`): the bounds.
    """
    if len(band.on.compared) > 1:
        bounds = bounds.where(_has_room(*band.on.compared))
    query = bounds.project([*map(column, band.read)]).query()
    purpose = "the bounds that all that begins or ends meets alike"
    writer.keep(band.join, settled_table(writer, band), query, purpose)


def _theirs(band: Band) -> list[exp.Expr]:
    """Return the conditions that bounds have to meet by themselves."""
    return [part.copy() for part in band.on.theirs]


def _has_room(lower: Comparison, upper: Comparison) -> exp.Expr:
    """Return whether there may be values between two bounds."""
    both = lower.sign is exp.GTE and upper.sign is exp.LTE
    sign = exp.LTE if both else exp.LT
    return sign(this=column(lower.bound), expression=column(upper.bound))


def settled_table(writer: Writer, band: Band) -> str:
    """Return the temporary table of the settled bounds."""
    return f"_cql_bounds_{writer.instance(band.join)}"


def projected(band: Band, rows: Rows, more: Sequence[str]) -> Rows:
    """Return elements as the aggregate sees them.

    Args:
        band: The join, with the projections between it and the aggregate.
        rows: (columns of elements, `_ts`, `_weight`, more): the elements.
        more: Further columns that are passed on.
    """
    theirs = {c.name for c in band.join.inputs[band.bounds].columns}
    for node in band.above:
        pairs = list(zip(node.columns, node.expressions, strict=True))
        own = [(known.name, part) for known, part in pairs if not names_in([part]) & theirs]
        theirs = {known.name for known, part in pairs if names_in([part]) & theirs}
        listed = [named(part.copy(), name) for name, part in own]
        rows = rows.project([*listed, *map(column, (TS, WEIGHT, *more))])
    return rows


# -- what the aggregate sums up ------------------------------------------------------------------


def lifted(
    writer: Writer, band: Band, node: Aggregate, accumulators: Sequence[Accumulator]
) -> list[exp.Query]:
    """Return (keys, `_ts`, `_cql_n`, accumulators): what pairs with settled bounds are lifted to.

    Args:
        writer: The writer.
        band: The join.
        node: The aggregate.
        accumulators: Those that are lifted.
    """
    columns = band.join.inputs[band.elements].columns
    lives, left = _lives(writer, band)
    lives = lives.where(*(part.copy() for part in left)) if left else lives
    elements = lifetimes_to_elements(lives, columns)
    return [by_interval(writer, band, node, accumulators, elements, columns, band.on.equal)]


def by_interval(
    writer: Writer,
    band: Band,
    node: Aggregate,
    accumulators: Sequence[Accumulator],
    elements: Rows,
    columns: Sequence[Column],
    equal: Sequence[tuple[str, str]],
) -> exp.Query:
    """Return (keys, `_ts`, `_cql_n`, accumulators): what elements and settled bounds are lifted to.

    Args:
        writer: The writer.
        band: The join.
        node: The aggregate.
        accumulators: Those that are lifted.
        elements: (columns, `_ts`, `_weight`): the elements.
        columns: Their columns.
        equal: Columns of elements, and those of bounds that are equal to them.
    """
    first, *others = band.on.compared
    given = (writer, band, node, accumulators, elements, columns, equal)
    sums = _Sums(*given, first).query()
    if not others:
        return sums
    # what is between two bounds is beyond the lower one, less what is beyond the upper one
    (upper,) = others
    beyond = replace(upper, sign=COMPLEMENT[upper.sign])
    less = _Sums(*given, beyond, is_less=True).query()
    keys, names = [*map(column, node.keys), column(TS)], [N, *(a.name for a in accumulators)]
    net = [exp.Sum(this=column(name)) for name in names]
    return (
        exp.select(*keys, *(named(one, name) for one, name in zip(net, names, strict=True)))
        .from_(union_all([sums, less]).subquery("net", copy=False), copy=False)
        .group_by(*keys, copy=False)
        .having(exp.or_(*(exp.NEQ(this=one.copy(), expression=number(0)) for one in net)))
    )


@dataclass(frozen=True)
class _Sums:
    """The sums of the intervals of a tick, as a query."""

    writer: Writer
    band: Band
    node: Aggregate
    accumulators: Sequence[Accumulator]
    elements: Rows
    columns: Sequence[Column]
    equal: Sequence[tuple[str, str]]
    compared: Comparison
    is_less: bool = False

    @property
    def _equal(self) -> list[str]:
        """How columns of bounds that equal those of elements are called."""
        return [f"_cql_equal{place}" for place in range(len(self.equal))]

    @property
    def _keys(self) -> list[str]:
        """The keys that are of elements."""
        renamed = self.band.renamed()
        return [key for key in self.node.keys if key not in renamed]

    @property
    def _states(self) -> list[Column]:
        return [Column(N, "BIGINT"), *(Column(a.name, a.type) for a in self.accumulators)]

    def query(self) -> exp.Query:
        """Return (keys, `_ts`, `_cql_n`, accumulators)."""
        band, renamed = self.band, self.band.renamed()
        keys = [
            named(qualified("c", renamed[key]) if key in renamed else qualified("r", key), key)
            for key in self.node.keys
        ]
        values: list[exp.Expr] = [qualified("r", one.name) for one in self._states]
        if self.is_less:
            values = [exp.Neg(this=value) for value in values]
        states = [named(v, one.name) for v, one in zip(values, self._states, strict=True)]
        settled_bounds = temp_table(settled_table(self.writer, band)).as_("c")
        bound = exp.EQ(this=qualified("r", BOUND), expression=qualified("c", self.compared.bound))
        pairs = zip(self._equal, self.equal, strict=True)
        equal = [
            exp.EQ(this=qualified("r", mine), expression=qualified("c", theirs))
            for mine, (_, theirs) in pairs
        ]
        return (
            exp.select(*keys, named(qualified("r", TS), TS), *states)
            .from_(self._running().subquery("r", copy=False), copy=False)
            .join(settled_bounds, on=exp.and_(bound, *equal), copy=False)
            .with_("bounds", as_=self._bounds(), copy=False)
            .with_("intervals", as_=self._intervals(), copy=False)
        )

    def _bounds(self) -> exp.Select:
        """The settled bounds, each once."""
        named_so = zip(self._equal, self.equal, strict=True)
        listed = [named(column(theirs), name) for name, (_, theirs) in named_so]
        listed.append(named(column(self.compared.bound), BOUND))
        return (
            exp.select(*listed).distinct().from_(temp_table(settled_table(self.writer, self.band)))
        )

    def _intervals(self) -> exp.Select:
        """What elements add to their intervals."""
        band, compared = self.band, self.compared
        elements = self.elements.subquery("e")
        names = element_names(self.columns)
        on: list[exp.Expr] = [
            exp.EQ(this=qualified("e", mine), expression=qualified("b", name))
            for name, (mine, _) in zip(self._equal, self.equal, strict=True)
        ]
        value, bound = qualified("e", compared.value), qualified("b", BOUND)
        on.append(compared.sign(this=value, expression=bound))
        more = [*self._equal, BOUND]
        met = exp.select(
            *[named(qualified("e", name), name) for name in names],
            *[named(qualified("b", name), name) for name in more],
        ).from_(elements, copy=False)
        met = met.join(exp.to_table("bounds").as_("b"), on=exp.and_(*on), join_type="asof")
        rows = Rows.given(met, [*names, *more], "met")
        rows = projected(band, rows, more)
        is_single = self.writer.form.single
        instant = named(cast(parameter("t1"), "BIGINT"), TS) if is_single else column(TS)
        by = [*map(column, (*self._keys, *([] if is_single else [TS]), *more))]
        keys = [*map(column, self._keys), instant, *map(column, more)]
        lifts = [named(a.lift.copy(), a.name) for a in self.accumulators]
        return rows.select([*keys, named(count(), N), *lifts], group=by, alias="met")

    def _running(self) -> exp.Select:
        """The sums of each bound: of its own interval, and those beyond it."""
        shown = [*self._keys, TS, *self._equal, BOUND]
        states = [one.name for one in self._states]
        intervals = exp.select(
            *map(column, shown), *map(column, states), named(exp.false(), ASKED)
        ).from_("intervals", copy=False)
        groups = exp.select(*map(column, [*self._keys, TS, *self._equal])).distinct()
        groups = groups.from_("intervals", copy=False)
        listed = [named(qualified("g", name), name) for name in (*self._keys, TS, *self._equal)]
        nothing = [named(typed_null(one.type), one.name) for one in self._states]
        equal = [
            exp.EQ(this=qualified("g", name), expression=qualified("b", name))
            for name in self._equal
        ]
        asked = exp.select(
            *listed, named(qualified("b", BOUND), BOUND), *nothing, named(exp.true(), ASKED)
        ).from_(groups.subquery("g", copy=False), copy=False)
        bounds = exp.to_table("bounds").as_("b")
        asked = (
            asked.join(bounds, on=exp.and_(*equal), copy=False)
            if equal
            else asked.join(bounds, join_type="cross", copy=False)
        )
        both = union_all([intervals, asked]).subquery("both", copy=False)
        running = exp.select(
            *map(column, shown),
            *[named(self._over(name), name) for name in states],
            column(ASKED),
        ).from_(both, copy=False)
        return (
            exp.select("*")
            .from_(running.subquery("sums", copy=False), copy=False)
            .where(column(ASKED), copy=False)
            .where(exp.not_(exp.Is(this=column(N), expression=exp.null())), copy=False)
        )

    def _over(self, name: str) -> exp.Expr:
        is_above = self.compared.sign in ABOVE
        order = exp.Order(expressions=[exp.Ordered(this=column(BOUND), desc=is_above)])
        parts = [*map(column, (*self._keys, TS, *self._equal))]
        return exp.Window(this=exp.Sum(this=column(name)), partition_by=parts, order=order)
