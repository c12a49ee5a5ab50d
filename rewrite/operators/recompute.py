"""Recompute: a query evaluated at each instant at which an input changed.

For SQL without a law of its own. With T the instants of the tick at which an input changes, and t₀
before them,

    R(τ) = Q(L₁(τ), …, Lₙ(τ))  for τ in {t₀} + T
    + R(τ) at τ, and − R(τ) at the instant of T after τ, summed by tuple

A query that depends on τ itself changes at other instants too: at those at which a comparison of τ
with a column turns, or at all. They are in T.

The inputs are laid out by instant, (τ, tuple), and the query runs in a LATERAL over the instants:
one statement, which DuckDB turns into joins on τ. It is also the second implementation against
which the laws are tested.

It costs |R| and the inputs at each instant of T, so `explain` marks it, with the reason; where keys
divide the inputs, `keyed` costs less.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from cqlduck.rewrite.operators.instants import AT, LISTED, Instants, Laid, at, laid_out
from cqlduck.rewrite.physical.operator import Operator
from cqlduck.rewrite.plan import Column, Plan, Recompute, properties
from cqlduck.rewrite.relalg import Rows
from cqlduck.rewrite.relalg.builders import cast, column
from cqlduck.rewrite.relalg.elements import (
    ENTER,
    LEAVE,
    NEXT,
    TS,
    WEIGHT,
    add,
    after,
    consolidate,
    element_names,
    greatest,
    named,
    number,
    over_time,
    parameter,
    qualified,
    references,
    temp_table,
    union_all,
    until,
)

Tables = Callable[[str], exp.Table]
"""From a part ('alive0', 'instants', 'at0', 'results') to where it stands."""


class Recomputation(Operator[Recompute]):
    """A query that is worked out again, for all instants of a tick in one LATERAL."""

    @property
    def purpose(self) -> str:
        """What its statements are for."""
        return f"worked out again: {self.node.reason}"

    def keep(self) -> None:
        """Keep the net elements of the tick."""
        self.writer.delta(self.node, self._in_a_lateral(), self.purpose)

    def touching(self, place: int) -> exp.Query:
        """Return the lifetimes of an input that matter in the tick."""
        return self.writer.alive(self.node.inputs[place]).query()

    def elements(self) -> Rows:
        """Return the net elements of the tick."""
        return Rows.of(self.delta_table, element_names(self.node.columns))

    def _in_a_lateral(self) -> exp.Query:
        """Return the net elements as one query."""
        here = qualified(LISTED, TS)
        instants = Instants(here, AT, in_query("instants"), (qualified(LISTED, NEXT),))
        query = net(self.node, in_query("results"), AT)
        for place in range(len(self.node.inputs)):
            query = query.with_(f"_cql_alive{place}", as_=self.touching(place), copy=False)
        query = query.with_(LISTED, as_=_instants(self.node, in_query), copy=False)
        for place, plan in enumerate(self.node.inputs):
            laid = _laid_out(plan, place, in_query)
            query = with_laid_out(query, self.node, place, laid)
        results = at(self.node, inputs_at(self.node, in_query), instants)
        return query.with_("_cql_results", as_=results.query(), copy=False)


def with_laid_out(query: exp.Query, node: Recompute, place: int, laid: exp.Query) -> exp.Query:
    """Return a query with an input at the instants before it.

    Of what is not materialized DuckDB joins tuples of different instants, and then looks whether
    the instants are the same: a condition that may raise would be tested in between.
    """
    apart = node.is_guarded and len(node.inputs) > 1
    return query.with_(f"_cql_at{place}", as_=laid, materialized=apart or None, copy=False)


class OneByOne(Recomputation):
    """The same, an instant a statement: what may not stand in a LATERAL."""

    def keep(self) -> None:
        """Keep the inputs at each instant, then the results, an instant a statement."""
        base = self.writer.instance(self.node)

        def table(part: str) -> exp.Table:
            return temp_table(f"_cql_{part}_{base}")

        for place in range(len(self.node.inputs)):
            name = table(f"alive{place}").name
            self.writer.keep(self.node, name, self.touching(place), f"input {place}")
        instants = table("instants").name
        self.writer.keep(
            self.node,
            instants,
            _instants(self.node, table),
            "the instants at which an input changes",
        )
        for place, plan in enumerate(self.node.inputs):
            laid = _laid_out(plan, place, table)
            purpose = f"input {place} at these instants"
            self.writer.keep(self.node, table(f"at{place}").name, laid, purpose)
        columns = [*self.node.columns, *(Column(name, "BIGINT") for name in (AT, NEXT))]
        name = table("results").name
        self.writer.room(self.node, name, columns, "room for the results")
        following = named(cast(parameter("next"), "BIGINT"), NEXT)
        one = Instants(cast(parameter("at"), "BIGINT"), AT, more=(following,))
        results = at(self.node, inputs_at(self.node, table), one).query()
        self.writer.each(self.node, instants, exp.insert(results, table("results")), self.purpose)
        self.writer.delta(
            self.node,
            net(self.node, table("results"), AT),
            "what has changed from instant to instant",
        )


def in_query(part: str) -> exp.Table:
    """Return a part of the one query that all of it is."""
    return exp.Table(this=exp.to_identifier(f"_cql_{part}"))


def inputs_at(node: Recompute, table: Tables) -> list[Rows]:
    """Return (columns, `_cql_at`) of each input at the instants of the tick."""
    return [
        Rows.of(table(f"at{place}"), [*(c.name for c in plan.columns), AT])
        for place, plan in enumerate(node.inputs)
    ]


def _laid_out(plan: Plan, place: int, table: Tables) -> exp.Select:
    """Return the tuples of an input at each of the instants, each as often as it is there."""
    is_unit = properties(plan).has_unit_weights
    how = Laid(plan.columns, table("instants"), is_unit=is_unit)
    return laid_out(table(f"alive{place}").as_("l"), how)


def net(node: Recompute, results: exp.Table, instant: str) -> exp.Query:
    """Return the changes between results, which have their instant and the next one.

    Args:
        node: The node.
        results: (columns, the instant, `_cql_next`).
        instant: The column that has the instant.
    """
    rows = Rows.of(results)
    less, one = (named(cast(number(n), "BIGINT"), WEIGHT) for n in (-1, 1))
    come = [*references(node.columns), named(column(instant), TS), one]
    gone = [*references(node.columns), named(column(NEXT), TS), less]
    has_next = exp.not_(exp.Is(this=column(NEXT), expression=exp.null()))
    changes = [
        rows.where(after(column(instant), parameter("t0"))).project(come),
        rows.where(has_next).project(gone),
    ]
    return consolidate(Rows.union(changes), node.columns).query()


def _instants(node: Recompute, table: Tables) -> exp.Select:
    """Return t₀ and the instants at which the query may change, each with the next one."""
    first = greatest(parameter("t0"), parameter("begin"))
    if node.always:
        every = exp.Anonymous(this="range", expressions=[first, add(parameter("t1"), 1)])
        return _with_next(exp.select(named(exp.Unnest(expressions=[every]), TS)))
    parts: list[exp.Query] = [exp.select(named(cast(first, "BIGINT"), TS))]
    for place in range(len(node.inputs)):
        # what is alive in a tick enters before its end, and leaves after its beginning
        for instant, inside in (
            (ENTER, after(column(ENTER), parameter("t0"))),
            (LEAVE, until(column(LEAVE), parameter("t1"))),
        ):
            lives = exp.select(named(column(instant), TS)).from_(table(f"alive{place}"), copy=False)
            parts.append(lives.where(inside, copy=False))
    for place, turn in node.turns:
        moment = exp.select(named(turn.copy(), TS)).from_(table(f"alive{place}"), copy=False)
        parts.append(
            exp.select(column(TS))
            .from_(moment.subquery("turns", copy=False), copy=False)
            .where(after(column(TS), parameter("t0")), copy=False)
            .where(until(column(TS), parameter("t1")), copy=False)
        )
    return _with_next(union_all(parts)).group_by(column(TS), copy=False)


def _with_next(instants: exp.Query) -> exp.Select:
    """Return instants, each with the next one."""
    following = over_time(exp.Lead(this=column(TS)))
    return exp.select(column(TS), named(following, NEXT)).from_(
        instants.subquery("all_instants", copy=False), copy=False
    )
