"""Accumulators in a tick of several instants: states that run.

The elements, lifted by group and instant, are put behind the group's row, and combined in the order
of time. So each group and instant has the state after it, beside its own lift. An accumulator that
looks back over w instants is combined over a frame of them; the instants before the tick are lifted
from the tuples that stand.

The lifted elements are a table of their own: DuckDB (release 2.0) cuts a partitioned window into as
many parts as it expects rows for, and of the elements of a join with a large state it expects far
too many.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from sqlglot import exp

from cqlduck.rewrite.operators import frames
from cqlduck.rewrite.operators.accumulating import Accumulating, recomputed_name, unsized_value
from cqlduck.rewrite.operators.aggregate import LAST, OLD
from cqlduck.rewrite.operators.extremes import Extreme
from cqlduck.rewrite.physical.algebra import Accumulator, N
from cqlduck.rewrite.physical.evaluators import has_frame
from cqlduck.rewrite.relalg.builders import cast, column, filtered, typed_null
from cqlduck.rewrite.relalg.elements import (
    ENTER,
    TS,
    after,
    exists,
    is_null,
    named,
    number,
    over_time,
    parameter,
    preceding,
    qualified,
    same,
    union_all,
    until,
)


class Running(Accumulating):
    """States after each instant of a tick."""

    @property
    def accumulators(self) -> Sequence[Accumulator]:
        """Those that are lifted."""
        return [*self._stated, *self.of_extremes]

    @property
    def _stated(self) -> Sequence[Accumulator]:
        """Those that have a state after each instant."""
        return [a for made in self.made for a in made.accumulators if a not in made.bags]

    @cached_property
    def extremes(self) -> Mapping[int, Extreme]:
        """The extremes that are worked out from tuples only where they leave, by place."""
        # a frame is worked out as a whole
        return {} if has_frame(self.node) else super().extremes

    @property
    def framed(self) -> Sequence[Accumulator]:
        """Those of the last instants: they need the instants before the tick too."""
        return [a for a in self._stated if a.width is not None]

    def state_names(self) -> list[str]:
        """Return the columns of a state in the delta."""
        return [*super().state_names(), LAST]

    def build(self) -> exp.Select:
        """Return the query: with state before, state after and results of both."""
        source: exp.Expr = exp.to_table("running").as_("r")
        if self.carried:
            lags = [
                named(self._over(exp.Lag(this=column(made.call.name))), f"{OLD}_{made.call.name}")
                for made in self.carried
            ]
            source = exp.select("*", *lags).from_("valued", copy=False).subquery("r", copy=False)
        query = exp.select(*self.results()).from_(source, copy=False)
        query = query.where(after(qualified("r", TS), parameter("t0")), copy=False)
        query = query.with_("before", as_=self._before_tick(), copy=False)
        query = query.with_("running", as_=self._running(), copy=False)
        beside = dict(self.beside())
        for name, made in beside.items():
            query = query.with_(name, as_=made, copy=False)
        return (
            query.with_("valued", as_=self._valued(beside), copy=False) if self.carried else query
        )

    def recomputed(self) -> exp.Select:
        """Return the aggregates that are worked out again; where a group is a frame, as that."""
        if not has_frame(self.node):
            return super().recomputed()
        calls = [
            (recomputed_name(place), unsized_value(made.call.call, made))
            for place, made in enumerate(self.made)
            if made.is_holistic
        ]
        return frames.frame(self.writer, self.node, calls)

    # -- states --------------------------------------------------------------------------------

    def _before_tick(self) -> exp.Query:
        """The state of the touched groups, as of $t0."""
        if self.search is None:
            return self._kept().where(self._touches(), copy=False)
        matches = self.search.matches("changes", "kept")
        found = self._kept().join(self.source, on=matches, join_type="semi", copy=False)
        if self.search.never_null:
            return found
        is_nothing = is_null(qualified("kept", self.search.key))
        return union_all([found, self._kept().where(is_nothing, self._touches(), copy=False)])

    def _kept(self) -> exp.Select:
        """The state of all groups, as of $t0."""
        states = [column(a.name) for a in self.sums]
        results = [column(made.call.name) for made in self.carried]
        instant = named(cast(parameter("t0"), "BIGINT"), TS)
        listed = exp.select(*self.keys, instant, column(N), *states, *results)
        return listed.from_(self.groups(self.table).as_("kept"), copy=False)

    def _touches(self) -> exp.Expr:
        return exists(self.source, same(self.keys_of("changes"), self.keys_of("kept")))

    def _is_touched(self, alias: str) -> exp.Expr:
        """Return whether the group of a tuple of the input changes.

        A column that is composed loses the `alias` of its SELECT, so the keys of the changes have
        other names.
        """
        names = [f"_cql_key{place}" for place in range(len(self.node.keys))]
        keys = [named(key, name) for key, name in zip(self.keys, names, strict=True)]
        changes = exp.select(*keys).from_(self.source, copy=False).subquery("touched", copy=False)
        return exists(changes, same([column(name) for name in names], self.keys_of(alias)))

    def _over(self, function: exp.Expr, spec: exp.WindowSpec | None = None) -> exp.Window:
        return over_time(function, self.keys, spec)

    def _history(self) -> exp.Query:
        """The states before, the changes, and the instants before the tick that frames need.

        `_cql_old` tells them apart: true, false and NULL.
        """
        carried = [made.call for made in self.carried]
        nothing = [named(typed_null(call.type), call.name) for call in carried]
        before = exp.select(
            *self.keys,
            column(TS),
            column(N),
            *[column(a.name) for a in self.sums],
            *[named(typed_null(a.type), a.name) for a in self.framed],
            *self._extremes_before(),
            *[column(call.name) for call in carried],
            named(exp.true(), OLD),
        ).from_("before", copy=False)
        changes = exp.select(
            *self.keys,
            column(TS),
            column(N),
            *[column(a.name) for a in (*self.sums, *self.framed, *self.of_extremes)],
            *[x.copy() for x in nothing],
            named(exp.false(), OLD),
        ).from_(self.source, copy=False)
        if not self.framed:
            return union_all([before, changes])
        conditions = [until(column(ENTER), parameter("t0"))]
        if self.node.keys:
            conditions.append(self._is_touched("l"))
        earlier = self.writer.alive(self.node.input).select(
            [
                *self.keys,
                named(column(ENTER), TS),
                named(cast(number(0), "BIGINT"), N),
                *[named(cast(number(0), a.type), a.name) for a in self.sums],
                *[named(a.of_tuples, a.name) for a in self.framed],
                *[x.copy() for x in nothing],
                named(exp.null(), OLD),
            ],
            where=conditions,
            group=[*self.keys, column(ENTER)],
            alias="l",
        )
        return union_all([before, changes, earlier])

    def _extremes_before(self) -> list[exp.Expr]:
        """The extremes as of $t0, as what has come."""
        listed: list[exp.Expr] = []
        for extreme in self.extremes.values():
            listed.append(named(column(extreme.made.call.name), extreme.come.name))
            listed.append(named(typed_null(extreme.gone.type), extreme.gone.name))
        return listed

    def _running(self) -> exp.Select:
        """State after each instant, beside its own lift, or the state before it."""
        after_each = [
            named(cast(self._over(exp.Sum(this=column(N))), "BIGINT"), N),
            named(column(N), "_cql_d_n"),
        ]
        for accumulator in self._stated:
            after_each += self._after_each(accumulator)
        for extreme in self.extremes.values():
            before = filtered(extreme.come.monoid.over(this=column(extreme.come.name)), column(OLD))
            whole = exp.Window(this=before, partition_by=[key.copy() for key in self.keys])
            after_each += extreme.after_each(self._over, whole)
        return exp.select(
            *self.keys,
            column(TS),
            *after_each,
            *[column(made.call.name) for made in self.carried],
            column(OLD),
            named(exp.Is(this=self._over(exp.Lead(this=column(TS))), expression=exp.null()), LAST),
        ).from_(self._history().subquery("history", copy=False), copy=False)

    def _after_each(self, accumulator: Accumulator) -> list[exp.Expr]:
        name, monoid = accumulator.name, accumulator.monoid
        combined = monoid.over(this=column(name))
        if accumulator.width is not None:
            frame = preceding("RANGE", accumulator.width)
            return [named(self._over(combined, frame), name)]
        if monoid.without is not None:
            total = cast(self._over(combined), accumulator.type)
            return [named(total, name), named(column(name), f"{name}_d")]
        earlier = exp.WindowSpec(
            kind="ROWS",
            start="UNBOUNDED",
            start_side="PRECEDING",
            end=number(1),
            end_side="PRECEDING",
        )
        before = self._over(combined.copy(), earlier)
        return [named(self._over(combined), name), named(before, f"{name}_d")]

    # -- results -------------------------------------------------------------------------------

    def _valued(self, beside: Iterable[str]) -> exp.Select:
        """The results that are carried along, after each instant and as of $t0."""
        own = [name for a in self.sums for name in (a.name, f"{a.name}_d")]
        names = [TS, N, "_cql_d_n", OLD, LAST, *own]
        listed = self.listed(names)
        for place, made in enumerate(self.made):
            if made.is_carried:
                kept = qualified("r", made.call.name)
                value = exp.Case().when(qualified("r", OLD), kept)
                value = value.else_(self.value_now(place, made))
                listed.append(named(value, made.call.name))
        query = exp.select(*listed).from_(exp.to_table("running").as_("r"), copy=False)
        query = self.joined(query, beside)
        if self.framed:
            there = exp.not_(exp.Is(this=qualified("r", OLD), expression=exp.null()))
            query = query.where(there, copy=False)
        return query
