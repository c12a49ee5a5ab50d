"""Grouping and aggregation. DISTINCT of an input with deletions is grouping without aggregates.

The synopsis `groups` holds a row for each group: how many tuples it has (`_cql_n`), the states of
the accumulators that its aggregates are made of, and the results that these do not give. Each
(group, instant) that changed in a tick has its result after and before. Where the two differ, the
old tuple is deleted and the new one inserted:

    − (key, result before)   + (key, result after)

`algebra` says of which accumulators a result is made, and `evaluators` which module computes it, by
the shape of the window:

    panes               over a window that tumbles, a pane at a time
    frames              where the content of a group is a frame of the log, as that frame
    running, stepped    else from accumulators (`accumulating`), over several instants or one; an
                        aggregate without any is recomputed for the groups and instants that changed

The content at t₀ is read from `groups` (`answer`): so an answer needs no copy, and an operator
above needs no trace. A group's tuple lives until the group's next one.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from cqlduck.rewrite.operators.search import Search
from cqlduck.rewrite.physical.algebra import Accumulator, Aggregation, N, aggregations
from cqlduck.rewrite.physical.evaluators import is_evaluated_at_once
from cqlduck.rewrite.physical.operator import Operator
from cqlduck.rewrite.physical.writer import Writer
from cqlduck.rewrite.plan import Aggregate, AggregateCall, Column
from cqlduck.rewrite.plan.aggregates import EXTREMES
from cqlduck.rewrite.relalg import Rows
from cqlduck.rewrite.relalg.builders import cast, column
from cqlduck.rewrite.relalg.elements import (
    ENTER,
    LEAVE,
    ROWID,
    TS,
    WEIGHT,
    after,
    begun,
    exists,
    forever,
    is_null,
    named,
    number,
    once,
    over_time,
    qualified,
    references,
    same,
    state_table,
)
from cqlduck.rewrite.relalg.values import differs

LAST, IS, WAS, CHANGED, OLD = (
    "_cql_last", "_cql_is", "_cql_was", "_cql_changed", "_cql_old",
)  # fmt: skip
PURPOSE = "the groups and instants that changed"


class Grouping(Operator[Aggregate]):
    """What all evaluators have: the synopsis `groups`, and a delta with both results of each group.

    The delta has (keys, `_ts`, state, results, `_cql_is`, `_cql_was`, old results, `_cql_changed`),
    and, if a group may be in it twice, `_cql_last`. If it says where the old state of a group lies
    (`_cql_rowid`), the synopsis is not searched for the groups once more: of 3 million groups to
    forget 4,000 so takes a quarter of the time.
    """

    def __init__(self, node: Aggregate, writer: Writer) -> None:
        """Write nothing yet."""
        super().__init__(node, writer)
        self.made = aggregations(node)

    search: Search | None = None
    """How the groups are found, if not by a scan."""

    def groups(self, table: str) -> exp.Table:
        """Return the synopsis `groups`."""
        return state_table(table)

    @property
    def carried(self) -> Sequence[Aggregation]:
        """The aggregates whose results are kept with the groups: all of them."""
        return self.made

    @property
    def sums(self) -> Sequence[Accumulator]:
        """The accumulators that are kept with the groups: none."""
        return ()

    @property
    def is_stepped(self) -> bool:
        """Whether each group has one state in the delta."""
        return False

    @property
    def has_places(self) -> bool:
        """Whether the delta says where the old states lie."""
        return False

    def changes(self, table: str) -> exp.Query:
        """Write what comes before, and return the delta without `_cql_changed`.

        Args:
            table: The synopsis `groups`.
        """
        raise NotImplementedError

    def keep(self) -> None:
        """Keep the groups and instants of the tick that changed, and the synopsis of the groups."""
        results = (Column(made.call.name, made.call.type) for made in self.carried)
        states = (Column(a.name, a.type) for a in self.sums)
        columns = (*self.key_columns, Column(N, "BIGINT"), *states, *results)
        table = self.writer.synopsis(self.node, "groups", columns)
        changes = self.changes(table)
        self.writer.delta(self.node, _changed(changes, self.node), PURPOSE)
        self._upkeep(table, columns)

    @property
    def key_columns(self) -> tuple[Column, ...]:
        """The keys, with their types."""
        types = {c.name: c.type for c in self.node.input.columns}
        return tuple(Column(key, types[key]) for key in self.node.keys)

    def _upkeep(self, table: str, columns: Sequence[Column]) -> None:
        """Bring the synopsis of the groups up to date: those that changed, in their last state."""
        is_last = [] if self.is_stepped else [column(LAST)]
        delta, search = self.delta_table, self.search
        theirs, mine = ([qualified(t, key) for key in self.node.keys] for t in ("delta", "kept"))
        is_same = exists(delta.copy().as_("delta"), *is_last, same(theirs, mine))
        purpose = "forget the old state of the groups that changed"
        if search is not None:
            matches = search.matches("delta", "kept")
            self._forget(table, purpose, [*is_last, matches], using=delta.copy().as_("delta"))
            if not search.never_null:
                is_nothing = is_null(qualified("kept", search.key))
                self._forget(table, f"{purpose}, without a value there", [is_nothing, is_same])
        elif self.has_places:
            places = exp.select(column(ROWID)).from_(delta.copy(), copy=False)
            rowid = qualified("kept", "rowid")
            is_there = exp.In(this=rowid, query=places.subquery(copy=False))
            self._forget(table, purpose, [is_there])
        else:
            self._forget(table, purpose, [is_same])
        stay = exp.select(*references(columns)).from_(delta.copy(), copy=False)
        stay = stay.where(*is_last, copy=False)
        if not self.node.everything:
            stay = stay.where(after(column(N), number(0)), copy=False)
        self.writer.update(self.node, "keep their new state", exp.insert(stay, self.groups(table)))

    def _forget(
        self,
        table: str,
        purpose: str,
        conditions: Sequence[exp.Expr],
        *,
        using: exp.Expr | None = None,
    ) -> None:
        """Delete those groups, `kept`, that meet conditions, with a row of a table beside."""
        gone = exp.delete(self.groups(table).as_("kept"))
        if using is not None:
            gone.set("using", [using])
        self.writer.update(self.node, purpose, gone.where(*conditions, copy=False))

    def elements(self) -> Rows:
        """Return the old and the new tuple of each group and instant that changed."""
        delta = Rows.of(self.delta_table)
        keys = [column(key) for key in self.node.keys]
        old = [named(column(f"{OLD}_{call.name}"), call.name) for call in self.node.calls]
        new = [column(call.name) for call in self.node.calls]
        less, one = (named(cast(number(n), "BIGINT"), WEIGHT) for n in (-1, 1))
        gone = delta.where(column(WAS), column(CHANGED)).project([*keys, *old, column(TS), less])
        come = delta.where(column(IS), column(CHANGED)).project([*keys, *new, column(TS), one])
        return Rows.union([gone, come])

    def lives(self) -> Rows:
        """Return the lifetimes of the tuples that come or go: each lasts until the group's next."""
        keys = [column(key) for key in self.node.keys]
        old = [named(column(f"{OLD}_{call.name}"), call.name) for call in self.node.calls]
        new = [column(call.name) for call in self.node.calls]
        single = self.writer.form.single
        end = (
            forever() if single else exp.Coalesce(this=column("_cql_end"), expressions=[forever()])
        )
        changed: list[exp.Expr] = [exp.Star()]
        stood: list[exp.Expr] = [column(WAS)]
        if not single:
            ends, begins = (
                over_time(function(this=column(TS)), keys) for function in (exp.Lead, exp.Lag)
            )
            changed += [named(ends, "_cql_end"), named(begins, "_cql_begin")]
            stood.append(exp.Is(this=column("_cql_begin"), expression=exp.null()))
        steps = Rows.of(exp.to_table("changed"))
        come = [*keys, *new, named(column(TS), ENTER), named(end, LEAVE), once()]
        gone = [*keys, *old, begun(), named(column(TS), LEAVE), once()]
        delta = Rows.of(self.delta_table)
        return Rows.union(
            [steps.where(column(IS)).project(come), steps.where(*stood).project(gone)]
        ).with_("changed", delta.select(changed, where=[column(CHANGED)]))

    def standing(self) -> Rows:
        """Return the tuples of the groups that do not change."""
        delta, groups = (
            [qualified(table, key) for key in self.node.keys] for table in ("delta", "groups")
        )
        changes = self.delta_table.as_("delta")
        stays = exp.not_(exists(changes, column(CHANGED), same(delta, groups)))
        end = named(forever(), LEAVE)
        listed = [*references(self.node.columns), begun(), end, column(WEIGHT)]
        return self.answer().where(stays, alias="groups").project(listed, "groups")

    def answer(self) -> Rows:
        """Return the groups and their results as the synopsis has them, each of weight 1."""
        return shown(self.node, Rows.of(state_table(self.writer.table(self.node, "groups"))))


def shown(node: Aggregate, groups: Rows) -> Rows:
    """Return the tuples of an aggregate, each of weight 1, from the state of its groups."""
    made = aggregations(node)
    whole = is_evaluated_at_once(node, made)
    results = [
        column(one.call.name)
        if whole or one.is_carried
        else named(one.result(column), one.call.name)
        for one in made
    ]
    return groups.project([*map(column, node.keys), *results, once()])


def _changed(query: exp.Query, node: Aggregate) -> exp.Select:
    """Say of each group and instant whether its tuple is another one than before."""
    changes = [
        exp.NullSafeNEQ(this=column(IS), expression=column(WAS)),
        *[_is_another(call) for call in node.calls],
    ]
    return exp.select("*", named(exp.paren(exp.or_(*changes)), CHANGED)).from_(
        query.subquery("results", copy=False), copy=False
    )


def _is_another(call: AggregateCall) -> exp.Expr:
    """Return whether a result is not the same as before; all but extremes are canonical."""
    new, old = column(call.name), column(f"{OLD}_{call.name}")
    if call.function in EXTREMES:
        return differs(new, old, call.type)
    return exp.NullSafeNEQ(this=new, expression=old)
