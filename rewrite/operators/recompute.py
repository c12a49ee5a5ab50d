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

It costs |R| and the inputs at each instant of T, so `explain` marks it, with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from cqlduck.rewrite.physical.operator import Operator
from cqlduck.rewrite.plan import Column, Plan, Recompute
from cqlduck.rewrite.relalg import Rows
from cqlduck.rewrite.relalg.builders import cast, column, typed_null
from cqlduck.rewrite.relalg.elements import (
    ENTER,
    LEAVE,
    NEXT,
    TS,
    WEIGHT,
    add,
    after,
    consolidate,
    count,
    element_names,
    greatest,
    named,
    number,
    parameter,
    qualified,
    references,
    temp_table,
    tuples_of,
    union_all,
    until,
)
from cqlduck.rewrite.relalg.values import identity, told_apart

AT = "_cql_at"

Tables = Callable[[str], exp.Table]
"""From a part ('alive0', 'instants', 'at0', 'results') to where it stands."""


class Again(Operator[Recompute]):
    """A query that is worked out again, for all instants of a tick in one LATERAL."""

    @property
    def purpose(self) -> str:
        """What its statements are for."""
        return f"worked out again: {self.node.reason}"

    def keep(self) -> None:
        """Keep the net elements of the tick."""
        self.writer.delta(self.node, self._in_a_lateral(), self.purpose)

    def elements(self) -> Rows:
        """Return the net elements of the tick."""
        return Rows.of(
            temp_table(self.writer.deltas[id(self.node)]), element_names(self.node.columns)
        )

    def _in_a_lateral(self) -> exp.Query:
        """Return the net elements as one query."""

        def table(part: str) -> exp.Table:
            return exp.Table(this=exp.to_identifier(f"_cql_{part}"))

        def leg(place: int) -> exp.Select:
            return _leg_at(self.node, place, table(f"at{place}"), qualified("_cql_instants", TS))

        lateral = exp.Lateral(this=exp.Subquery(this=self.node.over(leg)), alias=_again(self.node))
        results = exp.select(
            *[qualified("_cql_again", c.name) for c in self.node.columns],
            qualified("_cql_instants", TS),
            qualified("_cql_instants", NEXT),
        ).from_(table("instants"), copy=False)
        results = results.join(lateral, join_type="cross", copy=False)
        query = _net(self.node, table("results"))
        for place, plan in enumerate(self.node.inputs):
            query = query.with_(
                f"_cql_alive{place}", as_=self.writer.alive(plan).query(), copy=False
            )
        query = query.with_("_cql_instants", as_=_instants(self.node, table), copy=False)
        for place, plan in enumerate(self.node.inputs):
            query = query.with_(f"_cql_at{place}", as_=_laid_out(plan, place, table), copy=False)
        return query.with_("_cql_results", as_=results, copy=False)


class OneByOne(Again):
    """The same, an instant a statement: what may not stand in a LATERAL."""

    def keep(self) -> None:
        """Keep the inputs at each instant, then the results, an instant a statement."""
        base = self.writer.instance(self.node)

        def table(part: str) -> exp.Table:
            return temp_table(f"_cql_{part}_{base}")

        def leg(place: int) -> exp.Select:
            return _leg_at(self.node, place, table(f"at{place}"), parameter("at"))

        for place, plan in enumerate(self.node.inputs):
            alive = self.writer.alive(plan).query()
            self.writer.keep(self.node, table(f"alive{place}").name, alive, f"input {place}")
        instants = table("instants").name
        self.writer.keep(
            self.node,
            instants,
            _instants(self.node, table),
            "the instants at which an input changes",
        )
        for place, plan in enumerate(self.node.inputs):
            ordered = _laid_out(plan, place, table).order_by(column(AT), *_in_order(plan.columns))
            self.writer.keep(
                self.node, table(f"at{place}").name, ordered, f"input {place} at these instants"
            )
        listed = [typed_null(c.type) for c in self.node.columns]
        nothing = exp.select(
            *[named(e, c.name) for e, c in zip(listed, self.node.columns, strict=True)],
            *[named(cast(exp.null(), "BIGINT"), name) for name in (TS, NEXT)],
        ).where(exp.false(), copy=False)
        self.writer.keep(self.node, table("results").name, nothing, "room for the results")
        again = exp.Subquery(this=self.node.over(leg), alias=_again(self.node))
        times = [cast(parameter(name), "BIGINT") for name in ("at", "next")]
        results = exp.select(*references(self.node.columns), *times).from_(again, copy=False)
        self.writer.each(self.node, instants, exp.insert(results, table("results")), self.purpose)
        self.writer.delta(
            self.node, _net(self.node, table("results")), "what has changed from instant to instant"
        )


def at_instant(node: Recompute, inputs: Sequence[Rows], instant: exp.Expr) -> exp.Query:
    """Return the query over its inputs as they are at one instant.

    Args:
        node: The node.
        inputs: (columns, `_weight`) of each input at that instant.
        instant: The instant, as an expression.
    """

    def leg(place: int) -> exp.Select:
        columns = node.inputs[place].columns
        whole = tuples_of(inputs[place], columns, is_repeated=True)
        listed = [
            exp.alias_(column(c.name), name, quoted=True)
            for c, name in zip(columns, node.names[place], strict=True)
        ]
        query = exp.select(*listed).from_(whole.subquery("tuples"), copy=False)
        return query.order_by(*_in_order(columns), copy=False) if node.alone else query

    def now(part: exp.Expr) -> exp.Expr:
        is_column = isinstance(part, exp.Column) and part.table == "_cql_instants"
        return cast(instant, "BIGINT") if is_column or part == parameter("at") else part

    query = node.over(leg).transform(now, copy=False)
    again = exp.Subquery(this=query, alias=_again(node))
    return exp.select(*references(node.columns)).from_(again, copy=False)


def _in_order(columns: Sequence[Column]) -> list[exp.Ordered]:
    return [exp.Ordered(this=part, nulls_first=False) for part in told_apart(columns)]


def _again(node: Recompute) -> exp.TableAlias:
    return exp.TableAlias(
        this=exp.to_identifier("_cql_again"),
        columns=[exp.to_identifier(c.name, quoted=True) for c in node.columns],
    )


def _net(node: Recompute, results: exp.Table) -> exp.Query:
    """Return the changes between results, which have their instant and the next one."""
    rows = Rows.of(results)
    less, one = (named(cast(number(n), "BIGINT"), WEIGHT) for n in (-1, 1))
    come = [*references(node.columns), column(TS), one]
    gone = [*references(node.columns), named(column(NEXT), TS), less]
    has_next = exp.not_(exp.Is(this=column(NEXT), expression=exp.null()))
    changes = [
        rows.where(after(column(TS), parameter("t0"))).project(come),
        rows.where(has_next).project(gone),
    ]
    return consolidate(Rows.union(changes), node.columns).query()


def _instants(node: Recompute, table: Tables) -> exp.Select:
    """Return t₀ and the instants at which an input changes, each with the next one."""
    parts: list[exp.Query] = []
    for place in range(len(node.inputs)):
        for instant in (ENTER, LEAVE):
            parts.append(
                exp.select(named(column(instant), TS))
                .from_(table(f"alive{place}"), copy=False)
                .where(after(column(instant), parameter("t0")), copy=False)
                .where(until(column(instant), parameter("t1")), copy=False)
            )
    for place, turn in node.turns:
        moment = exp.select(named(turn.copy(), TS)).from_(table(f"alive{place}"), copy=False)
        parts.append(
            exp.select(column(TS))
            .from_(moment.subquery("turns", copy=False), copy=False)
            .where(after(column(TS), parameter("t0")), copy=False)
            .where(until(column(TS), parameter("t1")), copy=False)
        )
    if node.always:
        first = greatest(add(parameter("t0"), 1), parameter("begin"))
        every = exp.Anonymous(this="range", expressions=[first, add(parameter("t1"), 1)])
        parts.append(exp.select(named(exp.Unnest(expressions=[every]), TS)))
    for name, condition in (
        ("t0", exp.LTE(this=parameter("begin"), expression=parameter("t0"))),
        ("begin", after(parameter("begin"), parameter("t0"))),
    ):
        parts.append(
            exp.select(named(cast(parameter(name), "BIGINT"), TS)).where(condition, copy=False)
        )
    distinct = exp.select(column(TS)).from_(union_all(parts).subquery("all_instants", copy=False))
    distinct = distinct.group_by(column(TS), copy=False)
    following = exp.Window(
        this=exp.Lead(this=column(TS)),
        order=exp.Order(expressions=[exp.Ordered(this=column(TS))]),
    )
    return exp.select(column(TS), named(following, NEXT)).from_(
        distinct.subquery("distinct_instants", copy=False), copy=False
    )


def _laid_out(plan: Plan, place: int, table: Tables) -> exp.Select:
    """Return the tuples of an input at each of the instants, each as often as it is there."""
    columns = plan.columns
    apart = [identity(qualified("l", c.name), c.type) for c in columns]
    condition = exp.and_(
        until(qualified("l", ENTER), qualified("i", TS)),
        after(qualified("l", LEAVE), qualified("i", TS)),
    )
    net = (
        exp.select(
            *[named(qualified("l", c.name), c.name) for c in columns],
            named(qualified("i", TS), AT),
            named(count(qualified("l", WEIGHT)), WEIGHT),
        )
        .from_(table("instants").as_("i"), copy=False)
        .join(table(f"alive{place}").as_("l"), on=condition, copy=False)
        .group_by(*[qualified("l", c.name) for c in columns], qualified("i", TS), copy=False)
        .group_by(*[part for part in apart if part is not None], copy=False)
        .having(after(exp.Sum(this=qualified("l", WEIGHT)), number(0)), copy=False)
    )
    copies = exp.Unnest(expressions=[exp.Anonymous(this="range", expressions=[column(WEIGHT)])])
    return exp.select(*references(columns), column(AT), named(copies, "_cql_copy")).from_(
        net.subquery("net", copy=False), copy=False
    )


def _leg_at(node: Recompute, place: int, table: exp.Table, instant: exp.Expr) -> exp.Select:
    """Return an input at an instant, with its columns' names inside the query."""
    listed = [
        exp.alias_(column(c.name), name, quoted=True)
        for c, name in zip(node.inputs[place].columns, node.names[place], strict=True)
    ]
    return (
        exp.select(*listed)
        .from_(table, copy=False)
        .where(exp.EQ(this=column(AT), expression=instant), copy=False)
    )
