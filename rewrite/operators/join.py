"""The join: multilinear, one term for each input.

    Δ(R₁ ⋈ … ⋈ Rₙ) = Σᵢ  R₁ ⋈ … ⋈ Rᵢ₋₁  ⋈  ΔRᵢ  ⋈  (Rᵢ₊₁ + ΔRᵢ₊₁) ⋈ … ⋈ (Rₙ + ΔRₙ)

Left of i are the standing lifetimes, at i those that begin or end in the tick, right of it both; so
each combination with at least one delta is in exactly one term. A combination lives while all its
tuples do: from the greatest `_cql_enter` to the least `_cql_leave`, with the product of the
weights. Each term is written as a pipeline (`pipelines`); in a small tick each is a step of its
own, which does not run if its input did not change. Time predicates (`time_predicates`) may remove
terms: if one input is always the latest, its term suffices, with all lifetimes that touch the tick.

In the form `stepwise` each input of a pipeline is met in a statement of its own, over a temporary
table of the combinations so far (the left-hand sides above), and the pipeline stops where there are
none. A statement takes one to three milliseconds to plan besides, so this pays where pipelines
seldom come to their end: where what changes meets few tuples that pass their conditions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from cqlduck.rewrite.operators import intervals, pipelines, varying_sums, varying_windows
from cqlduck.rewrite.operators.pipelines import Pipeline
from cqlduck.rewrite.operators.statement_marks import INTERVALS, mark
from cqlduck.rewrite.physical.bands import Band
from cqlduck.rewrite.physical.operator import Operator
from cqlduck.rewrite.plan import Join, Plan, filters, lengths, properties
from cqlduck.rewrite.plan.conditions import names_in
from cqlduck.rewrite.plan.join_graph import join_graph
from cqlduck.rewrite.plan.lengths import Met
from cqlduck.rewrite.plan.orders import FILTERS, ORDER, Order, Site
from cqlduck.rewrite.plan.segments import CACHES, can_have
from cqlduck.rewrite.relalg import Rows
from cqlduck.rewrite.relalg.builders import column
from cqlduck.rewrite.relalg.elements import (
    ENTER,
    TS,
    WEIGHT,
    lifetime_names,
    lifetimes_to_elements,
    named,
    references,
    temp_table,
)


class Combinations(Operator[Join]):
    """All pipelines in one SELECT, which becomes a part of the statement of the operator above."""

    def elements(self) -> Rows:
        """Return the changes of the join in the tick."""
        if properties(self.node).never_expires:
            listed = [*references(self.node.columns), named(column(ENTER), TS), column(WEIGHT)]
            return self.lives().project(listed, "joined")
        return lifetimes_to_elements(self.lives(), self.node.columns)

    def lives(self) -> Rows:
        """Return the combinations that begin or end in the tick."""
        return Rows.union(list(self._pipelines()))

    def alive_of(self, asked: Rows, by: Mapping[str, str]) -> Rows:
        """Return the combinations that touch the tick; of what stands those of the keys."""
        stands = varying_windows.standing_of(self.writer, self._met, asked, by)
        return Rows.union([stands, self.writer.lives(self.node)])

    def standing(self) -> Rows:
        """Return the combinations of what stands."""
        return varying_windows.standing_of(self.writer, self._met)

    @property
    def _met(self) -> Met:
        """What it is of; other joins whose content is read have a trace."""
        met = lengths.met(self.node)
        assert met is not None, "there is no trace"
        return met

    def _pipelines(self) -> Iterator[Rows]:
        """Yield what each pipeline gives."""
        for pipe in pipelines.of(self.writer.clock, self.node):
            node, ordered = self._seen(pipe)
            ordered = self._filtering(ordered)
            for number, arm in enumerate(pipelines.arms(node), 1):
                legs = {place: self.of_input(node, ordered, place) for place in ordered.order[1:]}
                legs[ordered.changed], tested = self._changing(node, ordered)
                yield pipelines.nested(
                    node,
                    ordered,
                    arm,
                    legs,
                    self._arranged,
                    tested=tested,
                    reduces=self.writer.form.reduces or self.writer.form.stepwise,
                    keep=self._keep(pipe, number),
                )

    def _keep(self, pipe: Pipeline, arm: int) -> pipelines.Keep | None:
        """Return what keeps the steps of a part of a pipeline, if they are statements."""
        return None

    def _seen(self, pipe: Pipeline) -> tuple[Join, Pipeline]:
        """Return the join as a pipeline sees it, and that in the order that is chosen.

        Of a join with caches inputs are those of the join that it has come of. A pipeline meets a
        cache where it would meet the first of its inputs, as far as such an order is legal; where
        it does not use one, it meets its inputs.
        """
        number, origin = self.writer.number(self.node), self.writer.origin(self.node)
        if origin.units is None:
            site = pipelines.site(self.node, number, pipe)
            chosen = None if site is None else self.writer.form.order(site)
            join = Site(CACHES, number) if can_have(self.node) else None
            return self.node, replace(pipe, site=site, join=join, order=chosen or pipe.order)
        mine, node, units = origin.units[pipe.changed], self.node, origin.units
        if pipe.changed in origin.seen:
            seen = origin.seen[pipe.changed]
            node, stands = seen.join, {at for place in pipe.standing for at in units[place]}
            units = seen.units
            standing = frozenset(at for at, unit in enumerate(units) if stands.issuperset(unit))
            changed = units.index(mine)
            order = pipelines.order(node, changed)
            # of a join that may have caches time bounds no input
            pipe = Pipeline(changed, order, standing, frozenset(), {})
        pipe = replace(pipe, join=Site(CACHES, number))
        if len(mine) > 1:
            return node, pipe
        site = Site(ORDER, number, *mine)
        places = {at: place for place, unit in enumerate(units) for at in unit}
        chosen = self.writer.form.order(site) or ()
        order = tuple(dict.fromkeys(places[at] for at in chosen if at in places))
        is_legal = join_graph(node).allows(order)
        return node, replace(pipe, site=site, order=order if is_legal else pipe.order)

    def _arranged(self, conditions: Sequence[exp.Expr]) -> list[exp.Expr]:
        """Return conditions, those in order whose order is chosen."""
        if self.writer.origin(self.node).units is not None:
            return list(conditions)
        number = self.writer.number(self.node)
        return filters.arranged(self.node, number, self._order(), conditions)

    def _order(self) -> Order | None:
        """Return the order of filters that is chosen."""
        return self.writer.form.order(Site(FILTERS, self.writer.number(self.node)))

    def _filtering(self, pipe: Pipeline) -> Pipeline:
        """Return a pipeline with what is chosen of its filters."""
        chosen = filters.filters(self.node)
        if chosen is None or not chosen.met or self.writer.origin(self.node).units is not None:
            return pipe
        site = Site(FILTERS, self.writer.number(self.node))
        return replace(pipe, filters=site, behind=chosen.behind(self._order()))

    def _changing(self, node: Join, pipe: Pipeline) -> tuple[Rows, Sequence[exp.Expr]]:
        """Return what begins or ends of an input, and the conditions that it has met."""
        plan = node.inputs[pipe.changed]
        conditions = [c for c in _harmless(plan, node) if id(c) not in pipe.behind]
        chosen = filters.filters(self.node)
        is_filtered = chosen is not None and plan is chosen.input
        site = pipe.filters if is_filtered else None
        rows, left = self.writer.tested_lives(plan, self._arranged(conditions), site)
        return rows, () if left else conditions

    def of_input(self, node: Join, pipe: Pipeline, place: int) -> Rows:
        """Return what a pipeline meets of an input of the join that it sees."""
        plan = node.inputs[place]
        if place in pipe.standing:
            return self.writer.standing(plan)
        return self.writer.lives(plan) if place in pipe.fresh else self.writer.alive(plan)


class StoredCombinations(Combinations):
    """The same once a tick, for several operators that read it."""

    def keep(self) -> None:
        """Keep the combinations that begin or end in the tick."""
        query = super().lives().query()
        self.writer.delta(self.node, query, "the combinations that begin or end")

    @property
    def is_at_hand(self) -> bool:
        """Whether what begins or ends is read from a temporary table: it is."""
        return True

    def lives(self) -> Rows:
        """Return the combinations that were kept."""
        return Rows.of(self.delta_table, lifetime_names(self.node.columns))


class Pipelines(StoredCombinations):
    """The same, each pipeline a step of its own, which is not run if its input did not change."""

    def keep(self) -> None:
        """Gather the combinations that begin or end in the tick, pipeline by pipeline."""
        parts = [rows.query() for rows in self._pipelines()]
        for part in parts:
            if id(self.node) in self.writer.place.banded:
                mark(part, INTERVALS)
        self.writer.gather(self.node, parts, "combinations that begin or end")

    def _keep(self, pipe: Pipeline, arm: int) -> pipelines.Keep | None:
        """Return what keeps each step in a temporary table, where each is a statement."""
        writer = self.writer
        if not writer.form.stepwise:
            return None

        def keep(step: int, rows: Rows) -> Rows:
            names = rows.names
            assert names is not None
            table = f"_cql_step_{writer.instance(self.node)}_{pipe.changed + 1}_{arm}_{step}"
            writer.keep(self.node, table, rows.query(), "the combinations so far")
            return Rows.of(temp_table(table), names)

        return keep


class Unsettled(Pipelines):
    """The combinations that the aggregate above does not sum up by interval."""

    @property
    def band(self) -> Band:
        """What they are of."""
        return self.writer.place.banded[id(self.node)]

    def keep(self) -> None:
        """Keep the bounds that are settled, and gather combinations with all others."""
        for pipe in pipelines.of(self.writer.clock, self.node):
            if pipe.changed == self.band.elements:
                met = super().of_input(self.node, pipe, self.band.bounds)
                self.keep_bounds(met)
        super().keep()

    def keep_bounds(self, met: Rows) -> None:
        """Keep of the bounds that are met those that are settled."""
        intervals.keep_settled(self.writer, self.band, met)

    def _order(self) -> Order | None:
        """Return the order that is chosen, with all conditions ahead: bounds are met as a whole."""
        return intervals.order(self.writer, self.node)

    def of_input(self, node: Join, pipe: Pipeline, place: int) -> Rows:
        """Return what a pipeline meets of an input: of settled bounds nothing."""
        met = super().of_input(node, pipe, place)
        if pipe.changed != self.band.elements or place != self.band.bounds:
            return met
        return self.unsettled(met)

    def unsettled(self, met: Rows) -> Rows:
        """Return of the bounds that are met those that are not settled."""
        return met.where(intervals.unsettled(self.writer, self.band))


class UnsettledLengths(Unsettled):
    """The same where elements are of windows of several lengths: bounds are settled by length."""

    def keep_bounds(self, met: Rows) -> None:
        """Keep the bounds that are settled, and the others."""
        varying_sums.keep_bounds(self.writer, self.band, met)

    def unsettled(self, met: Rows) -> Rows:
        """Return the bounds that are not settled, which are few, and none in the long run."""
        return varying_sums.unsettled(self.writer, self.band)

    def _changing(self, node: Join, pipe: Pipeline) -> tuple[Rows, Sequence[exp.Expr]]:
        """Return what begins or ends of an input: of windows those whose bounds form pairs."""
        if pipe.changed != self.band.elements:
            return super()._changing(node, pipe)
        return varying_sums.lives(self.writer, self.band), ()


def _harmless(plan: Plan, node: Join) -> list[exp.Expr]:
    """Return conditions about one input that all of its tuples have to meet, and never raise.

    Those are the ones before the first that may: of what does not meet it, it has to be known.
    """
    names = {c.name for c in plan.columns}
    early = set.intersection(*(set(arm.early) for arm in pipelines.arms(node)))
    return [c for c in node.predicates if c in early and names_in([c]) and names_in([c]) <= names]
