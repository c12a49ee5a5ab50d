"""Accumulators in a tick of one instant: the group's row plus the delta.

Nothing has to be ordered: the state before is the group's row, and the state after is that plus the
delta. So there is no window function, whose cost is too high for small groups. An accumulator of
the last w instants would be lifted from the tuples of all of them: its aggregate is recomputed,
unless it stays (`extremes`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from sqlglot import exp

from cqlduck.rewrite.operators.accumulating import Accumulating, sized_value, unsized_value
from cqlduck.rewrite.operators.aggregate import OLD
from cqlduck.rewrite.physical.algebra import ADDED, Aggregation, Monoid, N
from cqlduck.rewrite.physical.arrivals import reads_arrivals
from cqlduck.rewrite.plan import Plan, properties
from cqlduck.rewrite.relalg.builders import cast, column
from cqlduck.rewrite.relalg.elements import (
    ROWID,
    TS,
    named,
    parameter,
    qualified,
    same,
    temp_table,
)
from cqlduck.rewrite.relalg.values import unsized


class Stepped(Accumulating):
    """States after the one instant of a tick."""

    @property
    def is_stepped(self) -> bool:
        """Whether each group has one state in the delta: it has."""
        return True

    @property
    def has_places(self) -> bool:
        """Whether the delta says where the old states lie: a key may hide that by its name."""
        names = {key.lower() for key in self.node.keys}
        return bool(names) and "rowid" not in names

    def state_names(self) -> list[str]:
        """Return the columns of a state in the delta, and that of its place."""
        return [*super().state_names(), *([ROWID] if self.has_places else [])]

    def is_recomputed(self, made: Aggregation) -> bool:
        """Return whether an aggregate is worked out from tuples; what looks back is."""
        return made.is_holistic or made.is_framed

    def _instant_of(self, plan: Plan) -> tuple[exp.Expr, list[exp.Expr]]:
        """Return the instant of the tick; what is worked out before the tick knows none."""
        if self.node.keys and not reads_arrivals(plan):
            return named(cast(parameter("t1"), "BIGINT"), TS), self.keys
        return super()._instant_of(plan)

    def build(self) -> exp.Select:
        """Return the query: with state before, state after and results of both."""
        query = exp.select(*self.results())
        if not self.carried:
            return query.from_(self._running().subquery("r", copy=False), copy=False)
        query = query.from_(exp.to_table("valued").as_("r"), copy=False)
        query = query.with_("running", as_=self._running(), copy=False)
        beside = dict(self.beside())
        for name, made in beside.items():
            query = query.with_(name, as_=made, copy=False)
        return query.with_("valued", as_=self._valued(beside), copy=False)

    def _columns_of_state(self) -> Iterator[tuple[str, str, str, Monoid]]:
        """Yield the columns of a state: its name, that of its change, type and monoid."""
        yield N, "_cql_d_n", "BIGINT", ADDED
        for accumulator in self.sums:
            name = accumulator.name
            yield name, f"{name}_d", accumulator.type, accumulator.monoid

    def _running(self) -> exp.Select:
        """State after the instant, beside the change, or the state before it."""
        states: list[exp.Expr] = []
        for name, own, kind, monoid in self._columns_of_state():
            old, new = qualified("kept", name), qualified("changes", name)
            states.append(named(cast(monoid.both(old, new), kind), name))
            states.append(named((old if monoid.without is None else new).copy(), own))
        # an equality would be a filter of the scan that an index is to replace
        not_null = () if self.search else properties(self.node.input).not_null
        changes = self.keys_of("changes")
        place = [named(qualified("kept", "rowid"), ROWID)] if self.has_places else []
        return (
            exp.select(
                *[named(k, n) for k, n in zip(changes, self.node.keys, strict=True)],
                named(qualified("changes", TS), TS),
                *place,
                *states,
                *chain.from_iterable(
                    extreme.after(qualified("kept", extreme.made.call.name))
                    for extreme in self.extremes.values()
                ),
                *[
                    named(sized_value(qualified("kept", made.call.name), made), made.call.name)
                    for made in self.carried
                ],
            )
            .from_(self.source, copy=False)
            .join(
                self._kept(),
                on=same(changes, self.keys_of("kept"), not_null),
                join_type="left",
                copy=False,
            )
        )

    def _kept(self) -> exp.Expr:
        """The groups as they are in the synopsis, as a LEFT JOIN can hand them on."""
        lists = [made for made in self.carried if unsized(made.call.type) != made.call.type]
        if not lists and self.search is None:
            return self.groups(self.table).as_("kept")
        replaced = [
            exp.alias_(unsized_value(column(made.call.name), made), made.call.name, quoted=True)
            for made in lists
        ]
        place = [column("rowid")] if self.has_places else []
        listed = [exp.Star(replace=replaced), *place]
        if self.search is None:
            return exp.select(*listed).from_(self.groups(self.table), copy=False).subquery("kept")
        delta = temp_table(self.lifted)
        return self.search.touched(listed, lambda: self.groups(self.table), delta).subquery("kept")

    def _valued(self, beside: Iterable[str]) -> exp.Select:
        """The results that are carried along, after the instant and before."""
        names = [
            TS,
            *([ROWID] if self.has_places else []),
            *(name for name, own, _, _ in self._columns_of_state() for name in (name, own)),
        ]
        listed = self.listed(names)
        for place, made in enumerate(self.made):
            if made.is_carried:
                name = made.call.name
                listed.append(named(self.value_now(place, made), name))
                listed.append(named(qualified("r", name), f"{OLD}_{name}"))
        query = exp.select(*listed).from_(exp.to_table("running").as_("r"), copy=False)
        return self.joined(query, beside)
