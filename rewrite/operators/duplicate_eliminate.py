"""DISTINCT of an append-only input: each tuple from its first instant on.

    Δδ(R) = {(s, min τ) : s ∈ ΔR at τ, s not in the synopsis}

It needs no sums: the synopsis `counts` has each tuple with its first instant, so the delta of a
tick is read from there. Inputs of a union without common tuples are grouped separately, which is
faster than together. Any other DISTINCT is a group without aggregates (`rules.group_distinct`).
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from cqlduck.rewrite.physical.operator import Operator
from cqlduck.rewrite.plan import Column, Distinct, Filter, Plan, Project, UnionAll
from cqlduck.rewrite.relalg import Rows
from cqlduck.rewrite.relalg.builders import column
from cqlduck.rewrite.relalg.elements import (
    ENTER,
    LEAVE,
    TS,
    after,
    begun,
    exists,
    forever,
    named,
    once,
    parameter,
    qualified,
    references,
    same,
    state_table,
    union_all,
    until,
)


class First(Operator[Distinct]):
    """Each tuple of an append-only input, from its first instant on."""

    def keep(self) -> None:
        """Put the tuples that come into the synopsis, each with its instant."""
        columns = (*self.node.columns, Column(TS, "BIGINT"))
        table = state_table(self.writer.synopsis(self.node, "counts", columns))
        (inner,) = self.node.children
        first = union_all(
            [
                self.writer.elements(arm).select(
                    [*references(self.node.columns), named(exp.Min(this=column(TS)), TS)],
                    group=references(self.node.columns),
                    alias="elements",
                )
                for arm in _apart(inner)
            ]
        )
        # without a stage all of the synopsis is read, which only many tuples are worth
        fresh = self.writer.staged(
            self.node, "first", first, "the tuples of the tick, each once", is_sure=True
        )
        is_known = same(_of("first", self.node), _of("kept", self.node))
        kept: exp.Expr = table.copy().as_("kept")
        query = exp.select(*references(columns)).from_(
            fresh.subquery("first", copy=False), copy=False
        )
        if self.writer.form.staged:
            # which DuckDB (release 2.0) skips parts of the synopsis for, and not for NOT EXISTS
            met = exists(fresh.subquery("first", copy=True), is_known.copy())
            here = exp.select(*references(self.node.columns)).from_(kept, copy=False)
            here = here.where(met, copy=False)
            query = query.with_("here", as_=here, materialized=True, copy=False)
            kept = exp.to_table("here").as_("kept")
        query = query.where(exp.not_(exists(kept, is_known)), copy=False)
        self.writer.first(self.node, "the tuples that were not there yet", exp.insert(query, table))

    def elements(self) -> Rows:
        """Return the tuples that come."""
        listed = [*references(self.node.columns), column(TS), once()]
        return self._come().project(listed, "first")

    def lives(self) -> Rows:
        """Return the lifetimes that begin in the tick; none ends."""
        end = named(forever(), LEAVE)
        listed = [*references(self.node.columns), named(column(TS), ENTER), end, once()]
        return self._come().project(listed, "first")

    def standing(self) -> Rows:
        """Return what was there before the tick, as lifetimes without an end."""
        end = named(forever(), LEAVE)
        there = Rows.of(self._table).where(until(column(TS), parameter("t0")))
        return there.project([*references(self.node.columns), begun(), end, once()])

    @property
    def _table(self) -> exp.Table:
        return state_table(self.writer.table(self.node, "counts"))

    def _come(self) -> Rows:
        """Return (columns, `_ts`) of the tuples that come in the tick."""
        kept = Rows.of(self._table, [*(c.name for c in self.node.columns), TS])
        return kept.where(after(column(TS), parameter("t0")))


def first_instants(node: Distinct, lifetimes: Rows) -> Rows:
    """Return (columns, `_ts`): each tuple of an append-only input, and its first instant."""
    query = lifetimes.select(
        [*references(node.columns), named(exp.Min(this=column(ENTER)), TS)],
        group=references(node.columns),
        alias="lifetimes",
    )
    return Rows.given(query, [*(c.name for c in node.columns), TS], "first")


def _apart(plan: Plan) -> Sequence[Plan]:
    """Return the inputs of a union that have no tuple in common; of another plan, itself.

    They are told apart by a column that is another number in each, as `rules.distinct_arguments`
    writes it.
    """
    if not isinstance(plan, UnionAll):
        return [plan]
    numbers = [_numbers(arm) for arm in plan.inputs]
    for place in range(len(plan.columns)):
        found = {known.get(place) for known in numbers}
        if None not in found and len(found) == len(numbers):
            return plan.inputs
    return [plan]


def _numbers(plan: Plan) -> dict[int, str]:
    """Return the columns of projections, filtered or not, that are numbers, by their places."""
    while isinstance(plan, Filter):
        plan = plan.input
    if not isinstance(plan, Project):
        return {}
    below = {plan.input.columns[n].name: number for n, number in _numbers(plan.input).items()}
    values = [e.this if isinstance(e, exp.Cast) else e for e in plan.expressions]
    return {
        n: value.name if isinstance(value, exp.Literal) else below[value.name]
        for n, value in enumerate(values)
        if (isinstance(value, exp.Literal) and value.is_int)
        or (isinstance(value, exp.Column) and value.name in below)
    }


def _of(table: str, node: Distinct) -> list[exp.Expr]:
    return [qualified(table, c.name) for c in node.columns]
