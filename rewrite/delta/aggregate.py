"""Grouping and aggregation, and DISTINCT, which is grouping by all columns without aggregates.

The synopsis `groups` holds a row for each group: how many tuples it has (`_cql_n`) and the sums
that its aggregates are made of. In a tick the elements are summed by group and instant, put behind
the group's row, and summed up in the order of time; so each (group, instant) that changed has its
state after, and that minus the instant's own sum is its state before. Where the two give
different results, the old one goes and the new one comes:

    − (key, f(state before))   + (key, f(state after))

* count, sum and avg of exact types are sums of weight · value, in HUGEINT or DECIMAL.
* sum and avg of DOUBLE are sums of fixed-point numbers, so nothing drifts: a value x with
  2⁻³⁰ ≤ |x| ≤ 2³⁷ is taken as round(x · 2⁶⁰), which is exact for |x| ≥ 2⁻⁸ and wrong by less than
  2⁻³¹ of |x| otherwise, in at most 98 of the 127 bits of a HUGEINT. All others, infinities and NaN
  among them, are outliers: they stay as they are in the synopsis `outliers`, and the ones that a
  group still has at an instant are added up anew. So what passed through leaves nothing behind.
* min and max of a relation that only grows are running extremes.
* Everything else is worked out again from the group's tuples, for the groups and instants that
  changed: as a frame of the log where it is one (`frames`), else over the input's lifetimes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from cqlduck.rewrite.aggregates import FLOATS, sums_exactly
from cqlduck.rewrite.delta import frames
from cqlduck.rewrite.plan import Aggregate, AggregateCall, Column, Plan, only_inserts
from cqlduck.rewrite.scope import column
from cqlduck.rewrite.weighted import (
    ENTER,
    LEAVE,
    TS,
    WEIGHT,
    after,
    count,
    named,
    number,
    parameter,
    qualified,
    references,
    same,
    state_table,
    temp_table,
    union_all,
    until,
)

if TYPE_CHECKING:
    from cqlduck.rewrite.delta.rules import Rules

N, PREVIOUS, LAST, IS, WAS, CHANGED = (
    "_cql_n", "_cql_previous", "_cql_last", "_cql_is", "_cql_was", "_cql_changed",
)  # fmt: skip
SCALE = 2.0**60
LEAST, MOST = 2.0**-30, 2.0**37


@dataclass(frozen=True)
class _Part:
    """One column of the synopsis: how a tick sums it, and how it is summed up over time."""

    name: str
    type: str
    delta: exp.Expr
    extreme: Callable[..., exp.Expr] | None = None


@dataclass(frozen=True)
class Rule:
    """How one aggregate is made of parts of the state, or worked out again."""

    call: AggregateCall
    parts: tuple[_Part, ...]
    outliers: bool = False
    again: bool = False


def rule_of(call: AggregateCall, place: int, grows: bool) -> Rule:
    """Return the rule of an aggregate over an input that only grows, or not."""
    kind = call.argument_type or ""
    if call.function == "count" and call.argument is None:
        return Rule(call, ())
    if call.argument is None or call.function == "other":
        return Rule(call, (), again=True)
    argument = column(call.argument)
    known = _Part(
        f"_cql_count{place}",
        "BIGINT",
        exp.cast(exp.Sum(this=_if_known(argument, column(WEIGHT), number(0))), "BIGINT"),
    )
    if call.function == "count":
        return Rule(call, (known,))
    if call.function in ("min", "max"):
        if not grows:
            return Rule(call, (), again=True)
        extreme = exp.Min if call.function == "min" else exp.Max
        return Rule(
            call, (_Part(f"_cql_extreme{place}", kind, extreme(this=argument), extreme=extreme),)
        )
    if sums_exactly(kind):
        wide = f"DECIMAL(38, {kind.split(',')[1].strip(' )')})" if "DECIMAL" in kind else "HUGEINT"
        value = exp.cast(argument, wide, dialect="duckdb")
        weighted = exp.Mul(this=value, expression=column(WEIGHT))
        total = exp.Coalesce(this=exp.Sum(this=weighted), expressions=[number(0)])
        exact = exp.cast(total, wide, dialect="duckdb")
        return Rule(call, (known, _Part(f"_cql_sum{place}", wide, exact)))
    if kind in FLOATS:
        fixed = exp.cast(
            exp.Mul(this=exp.cast(argument, "DOUBLE"), expression=_double(SCALE)),
            "HUGEINT",
            dialect="duckdb",
        )
        inside = exp.Case().when(_in_band(argument), fixed)
        weighted = exp.Mul(this=inside, expression=column(WEIGHT))
        total = exp.Coalesce(this=exp.Sum(this=weighted), expressions=[number(0)])
        exact = exp.cast(total, "HUGEINT", dialect="duckdb")
        return Rule(call, (known, _Part(f"_cql_sum{place}", "HUGEINT", exact)), outliers=True)
    return Rule(call, (), again=True)


def needs_lifetimes(node: Aggregate) -> bool:
    """Return whether an aggregate asks its input for more than elements."""
    grows = only_inserts(node.input)
    return any(rule_of(call, i, grows).again for i, call in enumerate(node.calls))


def elements(rules: Rules, node: Plan) -> exp.Query:
    """Return the old and the new tuple of each group and instant that changed."""
    delta = temp_table(rules.deltas[id(node)])
    keys, results = _split(node)
    old = [named(column(f"_cql_old_{name}"), name) for name in results]
    new = [named(column(f"_cql_new_{name}"), name) for name in results]
    gone = (
        exp.select(
            *map(column, keys), *old, column(TS), named(exp.cast(number(-1), "BIGINT"), WEIGHT)
        )
        .from_(delta.copy(), copy=False)
        .where(column(WAS), column(CHANGED), copy=False)
    )
    come = (
        exp.select(
            *map(column, keys), *new, column(TS), named(exp.cast(number(1), "BIGINT"), WEIGHT)
        )
        .from_(delta.copy(), copy=False)
        .where(column(IS), column(CHANGED), copy=False)
    )
    return union_all([gone, come])


def _split(node: Plan) -> tuple[list[str], list[str]]:
    if isinstance(node, Aggregate):
        return list(node.keys), [call.name for call in node.calls]
    return [c.name for c in node.columns], []


def keep(rules: Rules, node: Plan, grouped: Aggregate) -> None:
    """Keep the groups and instants of the tick that changed, and the synopsis of the groups."""
    grows = only_inserts(grouped.input)
    made = [rule_of(call, place, grows) for place, call in enumerate(grouped.calls)]
    parts = [part for rule in made for part in rule.parts]
    types = {c.name: c.type for c in grouped.input.columns}
    keys = tuple(Column(key, types[key]) for key in grouped.keys)
    table = rules.synopsis(
        node,
        "groups",
        (*keys, Column(N, "BIGINT"), *(Column(p.name, p.type) for p in parts)),
    )
    outliers = None
    if any(rule.outliers for rule in made):
        outliers = rules.synopsis(
            node,
            "outliers",
            (
                *keys,
                Column("_cql_call", "INTEGER"),
                Column("_cql_value", "DOUBLE"),
                Column(TS, "BIGINT"),
                Column(WEIGHT, "BIGINT"),
            ),
            is_log=True,
        )
    fresh = None
    if outliers is not None:
        # worked out once, before any synopsis below moves
        fresh = rules.keep(
            node,
            f"_cql_outliers_{rules.query}_{rules.number(node)}",
            _outlying(rules, grouped, made),
            "the values that stay as they are",
        )
    query = _Query(rules, grouped, made, parts, table, outliers, fresh).build()
    rules.delta(node, query, "the groups and instants that changed")
    delta = temp_table(rules.deltas[id(node)])
    touched = (
        exp.select("1")
        .from_(delta.copy().as_("delta"), copy=False)
        .where(column(LAST), copy=False)
        .where(
            same(
                [qualified("delta", k.name) for k in keys],
                [qualified("kept", k.name) for k in keys],
            ),
            copy=False,
        )
    )
    gone = exp.delete(state_table(table).as_("kept")).where(exp.Exists(this=touched), copy=False)
    rules.update(node, "forget the old state of the groups that changed", gone)
    stay = exp.select(*references(keys), column(N), *[column(p.name) for p in parts]).from_(
        delta.copy(), copy=False
    )
    stay = stay.where(column(LAST), copy=False)
    if not grouped.everything:
        stay = stay.where(after(column(N), number(0)), copy=False)
    rules.update(node, "keep their new state", exp.insert(stay, state_table(table)))
    if outliers is not None and fresh is not None:
        rows = exp.select("*").from_(temp_table(fresh))
        rules.update(node, "keep the outliers", exp.insert(rows, state_table(outliers)))


@dataclass
class _Query:
    """The one statement that gives all changes of an aggregate in a tick."""

    rules: Rules
    node: Aggregate
    made: list[Rule]
    parts: list[_Part]
    table: str
    outliers: str | None
    fresh: str | None

    @property
    def keys(self) -> list[exp.Expr]:
        return [column(key) for key in self.node.keys]

    def _keys_of(self, table: str) -> list[exp.Expr]:
        return [qualified(table, key) for key in self.node.keys]

    def build(self) -> exp.Select:
        """Return the query: with state before, state after and results of both."""
        query = self._results()
        query = query.with_("changes", as_=self._changes(), copy=False)
        query = query.with_("before", as_=self._before(), copy=False)
        query = query.with_("running", as_=self._running(), copy=False)
        if self.outliers is not None:
            query = query.with_("outlying", as_=self._outlying_now(), copy=False)
        if any(rule.again for rule in self.made):
            query = query.with_("again", as_=self._again(), copy=False)
        return query

    def _changes(self) -> exp.Query:
        """The elements, summed by group and instant; a global aggregate begins with nothing."""
        query = exp.select(
            *self.keys,
            column(TS),
            named(count(), N),
            *[named(part.delta.copy(), part.name) for part in self.parts],
        ).from_(self.rules.elements(self.node.input).subquery("elements", copy=False), copy=False)
        query = query.group_by(*self.keys, column(TS), copy=False)
        if not self.node.everything:
            return query
        begin = exp.select(
            named(exp.cast(parameter("begin"), "BIGINT"), TS),
            named(exp.cast(number(0), "BIGINT"), N),
            *[
                named(
                    exp.cast(exp.null() if p.extreme else number(0), p.type, dialect="duckdb"),
                    p.name,
                )
                for p in self.parts
            ],
        ).where(after(parameter("begin"), parameter("t0")), copy=False)
        both = union_all([query, begin]).subquery("both", copy=False)
        return (
            exp.select(
                column(TS),
                named(exp.cast(exp.Sum(this=column(N)), "BIGINT"), N),
                *[
                    named(
                        exp.cast(
                            (p.extreme or exp.Sum)(this=column(p.name)), p.type, dialect="duckdb"
                        ),
                        p.name,
                    )
                    for p in self.parts
                ],
            )
            .from_(both, copy=False)
            .group_by(column(TS), copy=False)
        )

    def _before(self) -> exp.Select:
        """The state of the touched groups, as of $t0."""
        touched = (
            exp.select("1")
            .from_("changes", copy=False)
            .where(same(self._keys_of("changes"), self._keys_of("kept")), copy=False)
        )
        return (
            exp.select(
                *self.keys,
                named(exp.cast(parameter("t0"), "BIGINT"), TS),
                column(N),
                *[column(p.name) for p in self.parts],
            )
            .from_(state_table(self.table).as_("kept"), copy=False)
            .where(exp.Exists(this=touched), copy=False)
        )

    def _over(self, function: exp.Expr, before: bool = False) -> exp.Window:
        spec = None
        if before:
            spec = exp.WindowSpec(
                kind="ROWS",
                start="UNBOUNDED",
                start_side="PRECEDING",
                end=number(1),
                end_side="PRECEDING",
            )
        return exp.Window(
            this=function,
            partition_by=self.keys,
            order=exp.Order(expressions=[exp.Ordered(this=column(TS))]),
            spec=spec,
        )

    def _running(self) -> exp.Select:
        """State after each instant, and the instant before it in the same group."""
        names = [N, *[p.name for p in self.parts]]
        listed = [*self.keys, column(TS), *map(column, names)]
        rows = union_all(
            [
                exp.select(*[x.copy() for x in listed]).from_("before", copy=False),
                exp.select(*[x.copy() for x in listed]).from_("changes", copy=False),
            ]
        )
        after_each = [
            named(exp.cast(self._over(exp.Sum(this=column(N))), "BIGINT"), N),
            named(column(N), "_cql_d_n"),
        ]
        for part in self.parts:
            if part.extreme is not None:
                after_each += [
                    named(self._over(part.extreme(this=column(part.name))), part.name),
                    named(
                        self._over(part.extreme(this=column(part.name)), before=True),
                        f"{part.name}_d",
                    ),
                ]
            else:
                total = self._over(exp.Sum(this=column(part.name)))
                after_each += [
                    named(exp.cast(total, part.type, dialect="duckdb"), part.name),
                    named(column(part.name), f"{part.name}_d"),
                ]
        return exp.select(
            *self.keys,
            column(TS),
            *after_each,
            named(self._over(exp.Lag(this=column(TS))), PREVIOUS),
            named(exp.Is(this=self._over(exp.Lead(this=column(TS))), expression=exp.null()), LAST),
        ).from_(rows.subquery("history", copy=False), copy=False)

    # -- outliers ------------------------------------------------------------------------------

    def _outlying_now(self) -> exp.Select:
        """For each changed group and instant, the sum of the outliers that it has."""
        assert self.outliers is not None
        assert self.fresh is not None
        fresh = exp.select("*").from_(temp_table(self.fresh))
        kept = exp.select(
            *self.keys, column("_cql_call"), column("_cql_value"), column(TS), column(WEIGHT)
        ).from_(state_table(self.outliers), copy=False)
        both = union_all([kept, fresh]).subquery("o", copy=False)
        net = (
            exp.select(
                *[named(k, n) for k, n in zip(self._keys_of("r"), self.node.keys, strict=True)],
                named(qualified("r", TS), TS),
                column("_cql_call"),
                column("_cql_value"),
                named(exp.Sum(this=qualified("o", WEIGHT)), WEIGHT),
            )
            .from_(exp.to_table("running").as_("r"), copy=False)
            .join(
                both,
                on=exp.and_(
                    same(self._keys_of("r"), self._keys_of("o")),
                    until(qualified("o", TS), qualified("r", TS)),
                ),
                join_type="inner",
                copy=False,
            )
            .group_by(
                *self._keys_of("r"),
                qualified("r", TS),
                column("_cql_call"),
                column("_cql_value"),
                copy=False,
            )
            .having(
                exp.NEQ(this=exp.Sum(this=qualified("o", WEIGHT)), expression=number(0)), copy=False
            )
        )
        sums = []
        for place, rule in enumerate(self.made):
            if rule.outliers:
                product = exp.Mul(this=column("_cql_value"), expression=column(WEIGHT))
                sums.append(
                    named(
                        exp.Filter(
                            this=exp.Sum(this=product),
                            expression=exp.Where(
                                this=exp.EQ(this=column("_cql_call"), expression=number(place))
                            ),
                        ),
                        f"_cql_outlying{place}",
                    )
                )
        return (
            exp.select(*self.keys, column(TS), *sums)
            .from_(net.subquery("net", copy=False), copy=False)
            .group_by(*self.keys, column(TS), copy=False)
        )

    # -- worked out again ----------------------------------------------------------------------

    def _again(self) -> exp.Select:
        """For each changed group and instant, the aggregates over the tuples that it has."""
        from cqlduck.rewrite.delta.rules import is_positive

        node = self.node
        inner = node.input
        if frames.has_frame(node, is_positive(inner)):
            calls = [
                (f"_cql_again{place}", rule.call.call)
                for place, rule in enumerate(self.made)
                if rule.again
            ]
            return frames.frame(self.rules, node, calls)
        pairs = exp.select(
            *[named(k, f"_cql_key{i}") for i, k in enumerate(self._keys_of("r"))],
            named(qualified("r", TS), "_cql_at"),
            *[named(qualified("l", c.name), c.name) for c in inner.columns],
            named(qualified("l", WEIGHT), WEIGHT),
        ).from_(exp.to_table("running").as_("r"), copy=False)
        condition = exp.and_(
            same(self._keys_of("r"), self._keys_of("l")),
            until(qualified("l", ENTER), qualified("r", TS)),
            after(qualified("l", LEAVE), qualified("r", TS)),
        )
        pairs = pairs.join(
            self.rules.alive(inner).subquery("l", copy=False),
            on=condition,
            join_type="left",
            copy=False,
        )
        keys = [column(f"_cql_key{i}") for i in range(len(node.keys))]
        tuples: exp.Select = pairs
        if not is_positive(inner):
            grouping = [*keys, column("_cql_at"), *references(inner.columns)]
            tuples = (
                exp.select(*grouping, named(count(), WEIGHT))
                .from_(pairs.subquery("pairs", copy=False), copy=False)
                .group_by(*[x.copy() for x in grouping], _unmatched(), copy=False)
                .having(
                    exp.or_(
                        after(exp.Sum(this=column(WEIGHT)), number(0)),
                        exp.Is(this=exp.Sum(this=column(WEIGHT)), expression=exp.null()),
                    ),
                    copy=False,
                )
            )
            if not all(rule.call.distinct for rule in self.made if rule.again):
                copies = exp.Unnest(
                    expressions=[
                        exp.Anonymous(
                            this="range",
                            expressions=[
                                exp.Coalesce(this=column(WEIGHT), expressions=[number(1)])
                            ],
                        )
                    ]
                )
                tuples = exp.select("*", named(copies, "_cql_copy")).from_(
                    tuples.subquery("net", copy=False), copy=False
                )
        values = [
            named(_only_matched(rule.call.call), f"_cql_again{place}")
            for place, rule in enumerate(self.made)
            if rule.again
        ]
        return (
            exp.select(
                *[named(key, name) for key, name in zip(keys, node.keys, strict=True)],
                named(column("_cql_at"), TS),
                *values,
            )
            .from_(tuples.subquery("tuples", copy=False), copy=False)
            .group_by(*[k.copy() for k in keys], column("_cql_at"), copy=False)
        )

    # -- results -------------------------------------------------------------------------------

    def _results(self) -> exp.Select:
        everything = self.node.everything
        now: exp.Expr = exp.true() if everything else after(qualified("r", N), number(0))
        earlier = exp.Sub(this=qualified("r", N), expression=qualified("r", "_cql_d_n"))
        was: exp.Expr = (
            after(qualified("r", TS), parameter("begin"))
            if everything
            else after(earlier, number(0))
        )
        listed = [
            *[named(k, n) for k, n in zip(self._keys_of("r"), self.node.keys, strict=True)],
            named(qualified("r", TS), TS),
            named(qualified("r", N), N),
            *[named(qualified("r", p.name), p.name) for p in self.parts],
            named(qualified("r", LAST), LAST),
            named(now, IS),
            named(was, WAS),
        ]
        for place, rule in enumerate(self.made):
            listed.append(named(self._result(place, rule, True), f"_cql_new_{rule.call.name}"))
            listed.append(named(self._result(place, rule, False), f"_cql_old_{rule.call.name}"))
        query = exp.select(*listed).from_(exp.to_table("running").as_("r"), copy=False)
        for name, wanted in (
            ("outlying", self.outliers is not None),
            ("again", any(rule.again for rule in self.made)),
        ):
            if not wanted:
                continue
            for alias, instant in ((f"{name}_new", TS), (f"{name}_old", PREVIOUS)):
                query = query.join(
                    exp.to_table(name).as_(alias),
                    on=exp.and_(
                        same(self._keys_of("r"), self._keys_of(alias)),
                        exp.EQ(this=qualified(alias, TS), expression=qualified("r", instant)),
                    ),
                    join_type="left",
                    copy=False,
                )
        query = query.where(after(qualified("r", TS), parameter("t0")), copy=False)
        differs = [
            exp.NullSafeNEQ(this=column(IS), expression=column(WAS)),
            *[
                exp.NullSafeNEQ(
                    this=column(f"_cql_new_{rule.call.name}"),
                    expression=column(f"_cql_old_{rule.call.name}"),
                )
                for rule in self.made
            ],
        ]
        return exp.select("*", named(exp.paren(exp.or_(*differs)), CHANGED)).from_(
            query.subquery("results", copy=False), copy=False
        )

    def _result(self, place: int, rule: Rule, new: bool) -> exp.Expr:
        """Return the value of an aggregate, over the state after an instant or before it."""

        def part(name: str) -> exp.Expr:
            if new:
                return qualified("r", name)
            return exp.paren(
                exp.Sub(
                    this=qualified("r", name),
                    expression=qualified("r", "_cql_d_n" if name == N else f"{name}_d"),
                )
            )

        call = rule.call
        if rule.again:
            return qualified("again_new" if new else "again_old", f"_cql_again{place}")
        if not rule.parts:
            return part(N)
        first = rule.parts[0]
        if first.extreme is not None:
            return qualified("r", first.name if new else f"{first.name}_d")
        if call.function == "count":
            return part(first.name)
        total = part(rule.parts[1].name)
        if rule.outliers:
            total = exp.Div(this=exp.cast(total, "DOUBLE"), expression=_double(SCALE))
            rest = qualified("outlying_new" if new else "outlying_old", f"_cql_outlying{place}")
            total = exp.paren(
                exp.Add(this=total, expression=exp.Coalesce(this=rest, expressions=[_double(0.0)]))
            )
        if call.function == "avg":
            total = exp.Div(this=exp.cast(total, "DOUBLE"), expression=part(first.name))
        return exp.Case().when(
            after(part(first.name), number(0)), exp.cast(total, call.type, dialect="duckdb")
        )


def _outlying(rules: Rules, node: Aggregate, made: list[Rule]) -> exp.Query:
    """Return the elements of the tick whose value is out of the band of fixed-point numbers."""
    keys = [column(key) for key in node.keys]
    parts = []
    for place, rule in enumerate(made):
        if not rule.outliers or rule.call.argument is None:
            continue
        argument = column(rule.call.argument)
        parts.append(
            exp.select(
                *[key.copy() for key in keys],
                named(number(place), "_cql_call"),
                named(exp.cast(argument, "DOUBLE"), "_cql_value"),
                column(TS),
                column(WEIGHT),
            )
            .from_(rules.elements(node.input).subquery("elements", copy=False), copy=False)
            .where(exp.not_(exp.paren(_in_band(argument))), copy=False)
        )
    return union_all(parts)


def _in_band(argument: exp.Expr) -> exp.Expr:
    """Return whether a value is a fixed-point number (NULL for NULL)."""
    size = exp.Abs(this=argument.copy())
    return exp.or_(
        exp.EQ(this=argument.copy(), expression=number(0)),
        exp.Between(this=size, low=_double(LEAST), high=_double(MOST)),
    )


def _double(value: float) -> exp.Expr:
    return exp.cast(exp.Literal.number(repr(value)), "DOUBLE")


def _if_known(argument: exp.Expr, known: exp.Expr, unknown: exp.Expr) -> exp.Expr:
    test = exp.Is(this=argument.copy(), expression=exp.null())
    return exp.Case().when(test, unknown).else_(known)


def _unmatched() -> exp.Expr:
    return exp.Is(this=column(WEIGHT), expression=exp.null())


def _only_matched(call: exp.Expr) -> exp.Expr:
    """Return the call over the tuples that there are: a group of none has one row of NULLs."""
    matched: exp.Expr = exp.not_(_unmatched())
    inner = call.copy()
    if isinstance(inner, exp.Filter):
        matched = exp.and_(inner.expression.this.copy(), matched)
        inner = inner.this
    return exp.Filter(this=inner, expression=exp.Where(this=matched))
