"""Aggregates from accumulators: the lift of a tick's elements, and the results from the states.

In a tick the elements are lifted, by group and instant. From that and the group's row follow the
states after and before each instant: of several instants (`running`), or of one (`stepped`). A
result that does not follow from the state before is carried along with the group; its parts are
computed at the groups and instants that changed, which are the CTE `running`:

    outlying   the sums of the bags (`outliers`)
    again      results without accumulators: a frame of the log if the group is one (`frames`), else
               the aggregate over the group's tuples at these instants (`instants`); of an extreme
               only where it may have left (`extremes`)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from sqlglot import exp

from cqlduck.rewrite.operators import intervals, outliers, search, varying_sums
from cqlduck.rewrite.operators.aggregate import IS, OLD, WAS, Grouping
from cqlduck.rewrite.operators.extremes import Extreme, extremes_of
from cqlduck.rewrite.operators.instants import AT, Laid, laid_out
from cqlduck.rewrite.physical.algebra import Accumulator, Aggregation, N
from cqlduck.rewrite.physical.arrivals import reads_arrivals
from cqlduck.rewrite.physical.quiet import quiet
from cqlduck.rewrite.physical.writer import Writer
from cqlduck.rewrite.plan import Aggregate, Plan, Project, UnionAll, properties
from cqlduck.rewrite.plan.aggregates import each_call
from cqlduck.rewrite.plan.orders import Site, mark
from cqlduck.rewrite.plan.searches import SEARCH
from cqlduck.rewrite.relalg import Rows
from cqlduck.rewrite.relalg.builders import cast, column, filtered
from cqlduck.rewrite.relalg.elements import (
    TS,
    WEIGHT,
    after,
    count,
    named,
    number,
    parameter,
    qualified,
    same,
    state_table,
    temp_table,
    union_all,
)
from cqlduck.rewrite.relalg.values import unsized


class Accumulating(Grouping):
    """What is the same whether a tick has one instant or several."""

    table = ""
    """The synopsis `groups`, when it is known."""
    outliers: str | None = None
    """The synopsis of the values that are in bags, if there may be any."""
    fresh: str | None = None
    """The temporary table of those of the tick."""
    lifted = ""
    """The temporary table of the elements, lifted, when it is written."""

    def __init__(self, node: Aggregate, writer: Writer) -> None:
        """Write nothing yet."""
        super().__init__(node, writer)
        self.search = search.chosen(writer, node)

    def groups(self, table: str) -> exp.Table:
        """Return the synopsis `groups`, marked as what may be searched through an index."""
        return mark(state_table(table), Site(SEARCH, self.writer.number(self.node)))

    @property
    def sums(self) -> Sequence[Accumulator]:
        """The accumulators that are kept with the groups."""
        return [a for made in self.made for a in made.accumulators if a.is_stored]

    @property
    def accumulators(self) -> Sequence[Accumulator]:
        """Those that are lifted."""
        return [*self.sums, *self.of_extremes]

    @property
    def carried(self) -> list[Aggregation]:
        """The aggregates whose results are kept with the groups."""
        return [made for made in self.made if made.is_carried]

    @property
    def keys(self) -> list[exp.Expr]:
        """The keys."""
        return [column(key) for key in self.node.keys]

    def keys_of(self, table: str) -> list[exp.Expr]:
        """Return the keys as columns of a table."""
        return [qualified(table, key) for key in self.node.keys]

    def listed(self, names: Iterable[str]) -> list[exp.Expr]:
        """Return the keys and other columns of a state `r`, under their names."""
        return [
            *[named(k, n) for k, n in zip(self.keys_of("r"), self.node.keys, strict=True)],
            *[named(qualified("r", name), name) for name in names],
        ]

    def is_recomputed(self, made: Aggregation) -> bool:
        """Return whether an aggregate is worked out from tuples."""
        return made.is_holistic

    @cached_property
    def extremes(self) -> Mapping[int, Extreme]:
        """The extremes that are worked out from tuples only where they leave, by place."""
        again = {place: made for place, made in enumerate(self.made) if self.is_recomputed(made)}
        return extremes_of(self.node, again)

    @property
    def of_extremes(self) -> Sequence[Accumulator]:
        """What is lifted for these."""
        return [one for each in self.extremes.values() for one in (each.come, each.gone)]

    def changes(self, table: str) -> exp.Query:
        """Write the elements, lifted, and return the states with both results."""
        self.table = table
        if any(made.bags for made in self.made):
            self._keep_outliers()
        lifted, purpose = self._lift(), "the elements, summed up"
        empty = None if self.node.everything else quiet(self.node.input)
        self.lifted = self.writer.reusable(self.node, "sums", lifted, purpose, empty=empty)
        return self.build()

    def build(self) -> exp.Select:
        """Return the query: with state before, state after and results of both."""
        raise NotImplementedError

    def keep(self) -> None:
        """Keep the groups and instants that changed, the groups, and the outliers."""
        super().keep()
        if self.outliers is not None and self.fresh is not None:
            rows = exp.select("*").from_(temp_table(self.fresh))
            keep = exp.insert(rows, state_table(self.outliers))
            self.writer.update(self.node, "keep the outliers", keep)

    def _keep_outliers(self) -> None:
        """Keep the values of the tick that are in bags."""
        columns = outliers.columns_of(self.key_columns)
        self.outliers = self.writer.synopsis(self.node, "outliers", columns, is_log=True)
        # worked out once, before any synopsis below moves
        self.fresh = self.writer.reusable(
            self.node,
            "outliers",
            outliers.values(self.node, self.made, self.writer.elements(self.node.input)),
            "the values that stay as they are",
            empty=quiet(self.node.input),
        )

    # -- lift ----------------------------------------------------------------------------------

    @property
    def source(self) -> exp.Expr:
        """The elements, lifted, as an item of FROM."""
        return temp_table(self.lifted).as_("changes")

    def _lift(self) -> exp.Query:
        """The elements, lifted by group and instant; a global aggregate begins with nothing.

        What has just come is lifted by itself: that needs no state, and may have been done before
        (`physical.arrivals.prefetch`).
        """
        inputs = self.node.input.inputs if isinstance(self.node.input, UnionAll) else ()
        parts: list[exp.Query] = []
        if not any(map(reads_arrivals, inputs)):
            inputs = ()
            parts.append(self._lift_of(self.node.input))
        for place, arm in enumerate(inputs):
            lifted = self._lift_of(arm)
            if reads_arrivals(arm):
                name = f"_cql_part{place}_{self.writer.instance(self.node)}"
                self.writer.keep(self.node, name, lifted, "what has just come, summed up")
                lifted = exp.select("*").from_(temp_table(name), copy=False)
            parts.append(lifted)
        if self.writer.form.intervals:
            for band in self.writer.place.bands_of(self.node):
                summed = intervals if band.window is None else varying_sums
                parts += summed.lifted(self.writer, band, self.node, self.accumulators)
        if self.node.everything:
            parts.append(self._nothing())
        return parts[0] if len(parts) == 1 else self._combined(union_all(parts))

    def _lift_of(self, plan: Plan) -> exp.Query:
        """What the elements of a plan are lifted to, by group and instant."""
        nothing, are_ones = _nulls(plan), properties(plan).has_unit_elements
        rows = cast(exp.Count(this=exp.Star()), "BIGINT") if are_ones else count()
        deltas = [named(rows, N)]
        for argument, accumulator in self._by_argument():
            lift = accumulator.lift.copy()
            if argument in nothing:
                lift = accumulator.nothing
            elif argument is not None and are_ones and accumulator.counts:
                lift = cast(exp.Count(this=column(argument)), accumulator.type)
            deltas.append(named(lift, accumulator.name))
        instant, by = self._instant_of(plan)
        listed = [*self.keys, instant, *deltas]
        return self.writer.elements(plan).select(listed, group=by, alias="elements")

    def _instant_of(self, plan: Plan) -> tuple[exp.Expr, list[exp.Expr]]:
        """Return the instant of a plan's elements, and by what they are grouped."""
        return column(TS), [*self.keys, column(TS)]

    def _by_argument(self) -> Iterator[tuple[str | None, Accumulator]]:
        for made in self.made:
            for accumulator in made.accumulators:
                if accumulator in self.accumulators:
                    yield made.call.argument, accumulator
        for extreme in self.extremes.values():
            yield extreme.made.call.argument, extreme.come
            yield extreme.made.call.argument, extreme.gone

    def _nothing(self) -> exp.Query:
        """The change of no tuple at the first instant."""
        return exp.select(
            named(cast(parameter("begin"), "BIGINT"), TS),
            named(cast(number(0), "BIGINT"), N),
            *[named(a.nothing, a.name) for a in self.accumulators],
        ).where(after(parameter("begin"), parameter("t0")), copy=False)

    def _combined(self, parts: exp.Query) -> exp.Query:
        return (
            exp.select(
                *self.keys,
                column(TS),
                named(cast(exp.Sum(this=column(N)), "BIGINT"), N),
                *[
                    named(cast(a.monoid.over(this=column(a.name)), a.type), a.name)
                    for a in self.accumulators
                ],
            )
            .from_(parts.subquery("both", copy=False), copy=False)
            .group_by(*self.keys, column(TS), copy=False)
        )

    # -- at the groups and instants that changed -----------------------------------------------

    def beside(self) -> Iterator[tuple[str, exp.Select]]:
        """Yield what is worked out at the groups and instants that changed, by name."""
        if self.outliers is not None:
            assert self.fresh is not None
            known = [column(c.name) for c in outliers.columns_of(self.key_columns)]
            kept = exp.select(*known).from_(state_table(self.outliers), copy=False)
            fresh = exp.select("*").from_(temp_table(self.fresh))
            yield "outlying", outliers.sums(self.node, self.made, [kept, fresh])
        if any(map(self.is_recomputed, self.made)):
            yield "again", self.recomputed()

    def recomputed(self) -> exp.Select:
        """Return (keys, `_ts`, values) of the aggregates that are worked out again."""
        inner = self.node.input
        again = [made for made in self.made if self.is_recomputed(made)]
        conditions = [after(qualified("i", TS), parameter("t0"))]
        if self.extremes:
            leaves = [qualified("i", extreme.leaves) for extreme in self.extremes.values()]
            conditions.append(exp.or_(*leaves))
        how = Laid(
            inner.columns,
            exp.to_table("running"),
            self.node.keys,
            tuple(conditions),
            is_unit=properties(inner).has_unit_weights,
            is_blank=True,
            is_bag=not (self.extremes or all(made.call.distinct for made in again)),
        )
        tuples = laid_out(self._alive_of_groups(conditions).subquery("l"), how)
        keys = [column(name) for name in how.own_keys]
        values = [
            named(
                unsized_value(each_call(made.call.call, _only_matched), made),
                recomputed_name(place),
            )
            for place, made in enumerate(self.made)
            if self.is_recomputed(made)
        ]
        own = [named(key, name) for key, name in zip(keys, self.node.keys, strict=True)]
        return (
            exp.select(*own, named(column(AT), TS), *values)
            .from_(tuples.subquery("tuples", copy=False), copy=False)
            .group_by(*keys, column(AT))
        )

    def _alive_of_groups(self, conditions: Sequence[exp.Expr]) -> Rows:
        """Return the tuples that touch the tick, of the groups and instants that meet conditions.

        Args:
            conditions: Those, over `i`.
        """
        by = {key: f"_cql_asked{place}" for place, key in enumerate(self.node.keys)}
        listed = [named(qualified("i", key), name) for key, name in by.items()]
        groups = exp.select(*listed).distinct().from_(exp.to_table("running").as_("i"), copy=False)
        groups = groups.where(*(part.copy() for part in conditions), copy=False)
        return self.writer.alive_of(self.node.input, Rows.given(groups, by.values(), "asked"), by)

    def joined(self, query: exp.Select, names: Iterable[str]) -> exp.Select:
        """Join what is worked out beside, by name, to the groups and instants, which are `r`."""
        for name in names:
            on = exp.and_(
                same(self.keys_of("r"), self.keys_of(name)),
                exp.EQ(this=qualified(name, TS), expression=qualified("r", TS)),
            )
            query = query.join(exp.to_table(name), on=on, join_type="left", copy=False)
        return query

    def value_now(self, place: int, made: Aggregation) -> exp.Expr:
        """Return the value of a result that is carried along, worked out at an instant."""
        if self.is_recomputed(made):
            value = sized_value(qualified("again", recomputed_name(place)), made)
            if place in self.extremes:
                return self.extremes[place].value(value)
            if made.call.call.find(exp.Count) is None:
                return value
            # a group of none may have no row there
            return exp.Coalesce(this=value, expressions=[number(0)])
        bags = {bag.name for bag in made.bags}
        return made.result(lambda name: qualified("outlying" if name in bags else "r", name))

    # -- results -------------------------------------------------------------------------------

    def results(self) -> list[exp.Expr]:
        """Return what the delta has of a state `r`: keys, instant, state, and both results."""
        everything = self.node.everything
        now: exp.Expr = exp.true() if everything else after(qualified("r", N), number(0))
        earlier = exp.Sub(this=qualified("r", N), expression=qualified("r", "_cql_d_n"))
        was: exp.Expr = (
            after(qualified("r", TS), parameter("begin"))
            if everything
            else after(earlier, number(0))
        )
        listed = [
            *self.listed(self.state_names()),
            named(now, IS),
            named(was, WAS),
        ]
        for made in self.made:
            name = made.call.name
            if made.is_carried:
                listed.append(named(qualified("r", name), name))
                listed.append(named(qualified("r", f"{OLD}_{name}"), f"{OLD}_{name}"))
            else:
                listed.append(named(made.result(lambda name: qualified("r", name)), name))
                listed.append(named(made.result(self._before), f"{OLD}_{name}"))
        return listed

    def state_names(self) -> list[str]:
        """Return the columns of a state in the delta."""
        return [TS, N, *(a.name for a in self.sums)]

    def _before(self, name: str) -> exp.Expr:
        """Return a state before an instant: that after it less the own, if that can be taken back.

        What cannot be taken back is known from before.
        """
        if name == N:
            whole, own = qualified("r", N), qualified("r", "_cql_d_n")
            return exp.paren(exp.Sub(this=whole, expression=own))
        monoid = next(a.monoid for a in self.sums if a.name == name)
        own = qualified("r", f"{name}_d")
        return own if monoid.without is None else monoid.without(qualified("r", name), own)


def recomputed_name(place: int) -> str:
    """Return the column of an aggregate that is worked out again."""
    return f"_cql_again{place}"


def unsized_value(value: exp.Expr, made: Aggregation) -> exp.Expr:
    """Return a result as a LEFT JOIN can hand it on."""
    kind = unsized(made.call.type)
    return value if kind == made.call.type else cast(value, kind)


def sized_value(value: exp.Expr, made: Aggregation) -> exp.Expr:
    """Return a result of its own type, after a LEFT JOIN."""
    return value if unsized(made.call.type) == made.call.type else cast(value, made.call.type)


def _nulls(plan: Plan) -> set[str | None]:
    """Return the columns of a projection that are NULL in all tuples."""
    if not isinstance(plan, Project):
        return set()
    both = zip(plan.columns, plan.expressions, strict=True)
    return {known.name for known, value in both if isinstance(_core(value), exp.Null)}


def _core(value: exp.Expr) -> exp.Expr:
    return value.this if isinstance(value, exp.Cast) else value


def _only_matched(call: exp.Expr) -> exp.Expr:
    """Return the call over the tuples that there are: a group of none has one row of NULLs."""
    return filtered(call, exp.not_(exp.Is(this=column(WEIGHT), expression=exp.null())))
