"""Aggregates by running sums and extremes.

In a tick the elements are summed by group and instant, appended to the group's row, and
prefix-summed in the order of instants. A result that is not made of sums is carried along. A result
without parts is recomputed for the groups and instants that changed: as a frame of the log if it is
one (`frames`), else over the input's lifetimes.

The sums are a table of their own: DuckDB (release 2.0) cuts a partitioned window into as many parts
as it expects rows for, and for the elements of a join with a large state it expects far too many.

In a tick of one instant nothing has to be ordered: the state before is the group's row, and the
state after is that plus the delta. So the form for such ticks has no window function, whose cost is
too high for small groups.

The synopsis `outliers` has the values of DOUBLE that are not fixed-point numbers (`algebra`).
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from cqlduck.rewrite.operators import frames
from cqlduck.rewrite.operators.aggregate import IS, LAST, OLD, WAS, Grouping
from cqlduck.rewrite.physical.algebra import (
    N,
    Part,
    Rule,
    extreme_of,
    no_change,
    outlying,
    value_of,
)
from cqlduck.rewrite.physical.arrivals import reads_arrivals
from cqlduck.rewrite.physical.evaluators import has_frame
from cqlduck.rewrite.plan import Column, Plan, Project, UnionAll, properties
from cqlduck.rewrite.plan.aggregates import each_call
from cqlduck.rewrite.relalg.builders import cast, column, typed_null
from cqlduck.rewrite.relalg.elements import (
    ENTER,
    LEAVE,
    TS,
    WEIGHT,
    after,
    count,
    greatest,
    least,
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
from cqlduck.rewrite.relalg.values import canonical, identities, unsized


class Running(Grouping):
    """Sums and extremes that run."""

    table = ""
    """The synopsis `groups`, when it is known."""
    outliers: str | None = None
    """The synopsis of the values that are in no running sum, if there may be any."""
    fresh: str | None = None
    """The temporary table of those of the tick."""
    _sums_table = ""
    """The temporary table of the elements, summed up, when it is written."""

    @property
    def sums(self) -> Sequence[Part]:
        """The parts that are kept with the groups."""
        return [part for rule in self.made for part in rule.parts if part.width is None]

    @property
    def is_stepped(self) -> bool:
        """Whether each group has one state in the delta."""
        return self.single

    def changes(self, table: str) -> exp.Query:
        """Write the elements, summed up, and return the states with both results."""
        self.table = table
        if any(rule.outliers for rule in self.made):
            self._keep_outliers()
        summed, purpose = self._summed(), "the elements, summed up"
        self._sums_table = self.writer.share(self.node, "sums", summed, purpose)
        return self.build()

    def keep(self) -> None:
        """Keep the groups and instants that changed, the groups, and the outliers."""
        super().keep()
        if self.outliers is not None and self.fresh is not None:
            rows = exp.select("*").from_(temp_table(self.fresh))
            keep = exp.insert(rows, state_table(self.outliers))
            self.writer.update(self.node, "keep the outliers", keep)

    def _keep_outliers(self) -> None:
        """Keep the values of the tick that are in no running sum."""
        values = (
            Column("_cql_call", "INTEGER"),
            Column("_cql_value", "DOUBLE"),
            Column(TS, "BIGINT"),
            Column(WEIGHT, "BIGINT"),
        )
        columns = (*self.key_columns, *values)
        self.outliers = self.writer.synopsis(self.node, "outliers", columns, is_log=True)
        # worked out once, before any synopsis below moves
        self.fresh = self.writer.keep(
            self.node,
            f"_cql_outliers_{self.writer.instance(self.node)}",
            outlying(self.node, self.made, self.writer.elements(self.node.input)),
            "the values that stay as they are",
        )

    @property
    def single(self) -> bool:
        """Whether the tick has one instant."""
        return self.writer.form.single

    @property
    def keys(self) -> list[exp.Expr]:
        """The keys."""
        return [column(key) for key in self.node.keys]

    @property
    def parts(self) -> list[Part]:
        """The parts that the statements work out."""
        known = [part for rule in self.made for part in rule.parts]
        return [part for part in known if part.width is None] if self.single else known

    @property
    def framed(self) -> list[Part]:
        """The extremes of the last instants: they need the instants before the tick too."""
        return [part for part in self.parts if part.width is not None and not self.single]

    def _is_again(self, rule: Rule) -> bool:
        """Whether an aggregate is worked out from tuples; of one instant, so are extremes."""
        return rule.again or (self.single and any(p.width is not None for p in rule.parts))

    @property
    def carried(self) -> list[Rule]:
        """The aggregates whose results are kept with the groups."""
        return [rule for rule in self.made if rule.carried]

    def _keys_of(self, table: str) -> list[exp.Expr]:
        return [qualified(table, key) for key in self.node.keys]

    def build(self) -> exp.Select:
        """Return the query: with state before, state after and results of both."""
        query = self._results()
        is_plain = self.outliers is None and not any(map(self._is_again, self.made))
        if self.single and is_plain and not self.carried:
            return query.from_(self._stepped().subquery("r", copy=False), copy=False)
        if self.single:
            query = query.with_("running", as_=self._stepped(), copy=False)
        else:
            query = query.with_("before", as_=self._before(), copy=False)
            query = query.with_("running", as_=self._running(), copy=False)
        if self.outliers is not None:
            query = query.with_("outlying", as_=self._outlying_now(), copy=False)
        if any(map(self._is_again, self.made)):
            query = query.with_("again", as_=self._again(), copy=False)
        if self.carried:
            query = query.with_("valued", as_=self._valued(), copy=False)
        return query

    @property
    def _source(self) -> exp.Expr:
        return temp_table(self._sums_table).as_("changes")

    def _summed(self) -> exp.Query:
        """The elements, summed by group and instant; a global aggregate begins with nothing.

        What has just come is summed up by itself: that needs no state, and may have been done
        before (`physical.arrivals.prefetch`).
        """
        inputs = self.node.input.inputs if isinstance(self.node.input, UnionAll) else ()
        parts: list[exp.Query] = []
        if not any(map(reads_arrivals, inputs)):
            inputs = ()
            parts.append(self._sums(self.node.input))
        for place, arm in enumerate(inputs):
            sums = self._sums(arm)
            if reads_arrivals(arm):
                name = f"_cql_part{place}_{self.writer.instance(self.node)}"
                self.writer.keep(self.node, name, sums, "what has just come, summed up")
                sums = exp.select("*").from_(temp_table(name), copy=False)
            parts.append(sums)
        if self.node.everything:
            parts.append(self._nothing())
        return parts[0] if len(parts) == 1 else self._sums_of_sums(union_all(parts))

    def _sums(self, plan: Plan) -> exp.Query:
        """What the elements of a plan add up to, by group and instant."""
        nothing, are_ones = _nulls(plan), properties(plan).has_unit_elements
        arguments = {part: rule.call.argument for rule in self.made for part in rule.parts}
        rows = cast(exp.Count(this=exp.Star()), "BIGINT") if are_ones else count()
        deltas = [named(rows, N)]
        for part in self.parts:
            argument = arguments[part]
            delta = part.delta.copy()
            if argument in nothing:
                delta = no_change(part)
            elif argument is not None and are_ones and part.counts:
                delta = cast(exp.Count(this=column(argument)), part.type)
            deltas.append(named(delta, part.name))
        instant: exp.Expr = column(TS)
        by = [*self.keys, instant]
        if self.single and self.node.keys and not reads_arrivals(plan):
            # all of them are of one instant; what is worked out before the tick knows none
            instant, by = named(cast(parameter("t1"), "BIGINT"), TS), self.keys
        listed = [*self.keys, instant, *deltas]
        return self.writer.elements(plan).select(listed, group=by, alias="elements")

    def _nothing(self) -> exp.Query:
        """The change of no tuple at the first instant."""
        return exp.select(
            named(cast(parameter("begin"), "BIGINT"), TS),
            named(cast(number(0), "BIGINT"), N),
            *[named(no_change(part), part.name) for part in self.parts],
        ).where(after(parameter("begin"), parameter("t0")), copy=False)

    def _sums_of_sums(self, parts: exp.Query) -> exp.Query:
        return (
            exp.select(
                *self.keys,
                column(TS),
                named(cast(exp.Sum(this=column(N)), "BIGINT"), N),
                *[
                    named(cast((p.extreme or exp.Sum)(this=column(p.name)), p.type), p.name)
                    for p in self.parts
                ],
            )
            .from_(parts.subquery("both", copy=False), copy=False)
            .group_by(*self.keys, column(TS), copy=False)
        )

    def _before(self) -> exp.Select:
        """The state of the touched groups, as of $t0."""
        return (
            exp.select(
                *self.keys,
                named(cast(parameter("t0"), "BIGINT"), TS),
                column(N),
                *[column(p.name) for p in self.parts if p.width is None],
                *[column(rule.call.name) for rule in self.carried],
            )
            .from_(state_table(self.table).as_("kept"), copy=False)
            .where(self._is_touched("kept"), copy=False)
        )

    def _is_touched(self, table: str) -> exp.Expr:
        touched = (
            exp.select("1")
            .from_(self._source, copy=False)
            .where(same(self._keys_of("changes"), self._keys_of(table)), copy=False)
        )
        return exp.Exists(this=touched)

    def _over(self, function: exp.Expr, spec: exp.WindowSpec | None = None) -> exp.Window:
        return exp.Window(
            this=function,
            partition_by=self.keys,
            order=exp.Order(expressions=[exp.Ordered(this=column(TS))]),
            spec=spec,
        )

    def _history(self) -> exp.Query:
        """The states before, the changes, and the instants before the tick that extremes need.

        `_cql_old` tells them apart: true, false and NULL.
        """
        inner = [p for p in self.parts if p.width is None]
        carried = [rule.call for rule in self.carried]
        nothing = [named(typed_null(call.type), call.name) for call in carried]
        before = exp.select(
            *self.keys,
            column(TS),
            column(N),
            *[column(p.name) for p in inner],
            *[named(typed_null(p.type), p.name) for p in self.framed],
            *[column(call.name) for call in carried],
            named(exp.true(), OLD),
        ).from_("before", copy=False)
        changes = exp.select(
            *self.keys,
            column(TS),
            column(N),
            *[column(p.name) for p in (*inner, *self.framed)],
            *[x.copy() for x in nothing],
            named(exp.false(), OLD),
        ).from_(self._source, copy=False)
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
                *[named(cast(number(0), p.type), p.name) for p in inner],
                *[named(extreme_of(p), p.name) for p in self.framed],
                *[x.copy() for x in nothing],
                named(exp.null(), OLD),
            ],
            where=conditions,
            group=[*self.keys, column(ENTER)],
            alias="l",
        )
        return union_all([before, changes, earlier])

    def _running(self) -> exp.Select:
        """State after each instant."""
        after_each = [
            named(cast(self._over(exp.Sum(this=column(N))), "BIGINT"), N),
            named(column(N), "_cql_d_n"),
        ]
        for part in self.parts:
            if part.extreme is None:
                total = self._over(exp.Sum(this=column(part.name)))
                after_each += [
                    named(cast(total, part.type), part.name),
                    named(column(part.name), f"{part.name}_d"),
                ]
                continue
            spec = None
            if part.width is not None:
                spec = exp.WindowSpec(
                    kind="RANGE",
                    start=number(part.width),
                    start_side="PRECEDING",
                    end="CURRENT ROW",
                )
            after_each.append(
                named(self._over(part.extreme(this=column(part.name)), spec), part.name)
            )
            if part.width is None:
                earlier = exp.WindowSpec(
                    kind="ROWS",
                    start="UNBOUNDED",
                    start_side="PRECEDING",
                    end=number(1),
                    end_side="PRECEDING",
                )
                before = self._over(part.extreme(this=column(part.name)), earlier)
                after_each.append(named(before, f"{part.name}_d"))
        return exp.select(
            *self.keys,
            column(TS),
            *after_each,
            *[column(rule.call.name) for rule in self.carried],
            column(OLD),
            named(exp.Is(this=self._over(exp.Lead(this=column(TS))), expression=exp.null()), LAST),
        ).from_(self._history().subquery("history", copy=False), copy=False)

    def _stepped(self) -> exp.Select:
        """State after the one instant of a tick: the group's row and its change."""
        states: list[exp.Expr] = []
        for name, kind, extreme in [
            (N, "BIGINT", None),
            *[(part.name, part.type, part.extreme) for part in self.parts],
        ]:
            old, new = qualified("kept", name), qualified("changes", name)
            if extreme is None:
                known = exp.Coalesce(this=old, expressions=[number(0)])
                total: exp.Expr = exp.Add(this=known, expression=new)
                change = named(new.copy(), "_cql_d_n" if name == N else f"{name}_d")
            else:
                total = (least if extreme is exp.Min else greatest)(old, new)
                change = named(old.copy(), f"{name}_d")
            states += [named(cast(total, kind), name), change]
        on = same(
            self._keys_of("changes"), self._keys_of("kept"), properties(self.node.input).not_null
        )
        return (
            exp.select(
                *[
                    named(k, n)
                    for k, n in zip(self._keys_of("changes"), self.node.keys, strict=True)
                ],
                named(qualified("changes", TS), TS),
                *states,
                *[
                    named(_sized(qualified("kept", rule.call.name), rule), rule.call.name)
                    for rule in self.carried
                ],
            )
            .from_(self._source, copy=False)
            .join(self._kept(), on=on, join_type="left", copy=False)
        )

    def _kept(self) -> exp.Expr:
        """The groups as they are in the synopsis, as a LEFT JOIN can hand them on."""
        kept = state_table(self.table)
        lists = [rule for rule in self.carried if unsized(rule.call.type) != rule.call.type]
        if not lists:
            return kept.as_("kept")
        made = [
            exp.alias_(_unsized(column(rule.call.name), rule), rule.call.name, quoted=True)
            for rule in lists
        ]
        return exp.select(exp.Star(replace=made)).from_(kept, copy=False).subquery("kept")

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
            .where(after(qualified("r", TS), parameter("t0")), copy=False)
            .having(
                exp.NEQ(this=exp.Sum(this=qualified("o", WEIGHT)), expression=number(0)), copy=False
            )
        )
        sums = []
        for place, rule in enumerate(self.made):
            if rule.outliers:
                product = exp.Mul(this=column("_cql_value"), expression=column(WEIGHT))
                own = exp.EQ(this=column("_cql_call"), expression=number(place))
                total = exp.Filter(this=exp.Sum(this=product), expression=exp.Where(this=own))
                sums.append(named(canonical(total, "DOUBLE"), f"_cql_outlying{place}"))
        return (
            exp.select(*self.keys, column(TS), *sums)
            .from_(net.subquery("net", copy=False), copy=False)
            .group_by(*self.keys, column(TS), copy=False)
        )

    # -- worked out again ----------------------------------------------------------------------

    def _again(self) -> exp.Select:
        """For each changed group and instant, the aggregates over the tuples that it has."""
        node = self.node
        if has_frame(node) and not self.single:
            calls = [
                (f"_cql_again{place}", _unsized(rule.call.call, rule))
                for place, rule in enumerate(self.made)
                if rule.again
            ]
            return frames.frame(self.writer, node, calls)
        keys = [column(f"_cql_key{i}") for i in range(len(node.keys))]
        tuples = self._tuples(keys)
        values = [
            named(_unsized(each_call(rule.call.call, _only_matched), rule), f"_cql_again{place}")
            for place, rule in enumerate(self.made)
            if self._is_again(rule)
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

    def _tuples(self, keys: Sequence[exp.Expr]) -> exp.Select:
        """For each changed group and instant, the tuples that it has, each as often as it is there.

        A group without one has a row of NULLs. Where all aggregates are distinct, once will do.
        """
        inner = self.node.input
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
            self.writer.alive(inner).subquery("l"),
            on=condition,
            join_type="left",
            copy=False,
        ).where(after(qualified("r", TS), parameter("t0")), copy=False)
        if properties(inner).has_unit_weights:
            return pairs
        grouping = [*keys, column("_cql_at"), *references(inner.columns)]
        tuples = (
            exp.select(*grouping, named(count(), WEIGHT))
            .from_(pairs.subquery("pairs", copy=False), copy=False)
            .group_by(*[x.copy() for x in grouping], _unmatched(), copy=False)
            .group_by(*identities(inner.columns), copy=False)
            .having(
                exp.or_(
                    after(exp.Sum(this=column(WEIGHT)), number(0)),
                    exp.Is(this=exp.Sum(this=column(WEIGHT)), expression=exp.null()),
                ),
                copy=False,
            )
        )
        if all(rule.call.distinct for rule in self.made if self._is_again(rule)):
            return tuples
        copies = exp.Unnest(
            expressions=[
                exp.Anonymous(
                    this="range",
                    expressions=[exp.Coalesce(this=column(WEIGHT), expressions=[number(1)])],
                )
            ]
        )
        return exp.select("*", named(copies, "_cql_copy")).from_(
            tuples.subquery("net", copy=False), copy=False
        )

    # -- results -------------------------------------------------------------------------------

    def _valued(self) -> exp.Select:
        """The results that are carried along, after each instant and as of $t0."""
        others = [N, "_cql_d_n"] if self.single else [N, "_cql_d_n", OLD, LAST]
        for part in self.parts:
            if part.width is None:
                others += [part.name, f"{part.name}_d"]
        listed = [
            *[named(k, n) for k, n in zip(self._keys_of("r"), self.node.keys, strict=True)],
            named(qualified("r", TS), TS),
            *[named(qualified("r", name), name) for name in others],
        ]
        for place, rule in enumerate(self.made):
            if not rule.carried:
                continue
            name = rule.call.name
            if self.single:
                listed.append(named(self._fresh(place, rule), name))
                listed.append(named(qualified("r", name), f"{OLD}_{name}"))
            else:
                value = (
                    exp.Case()
                    .when(qualified("r", OLD), qualified("r", name))
                    .else_(self._fresh(place, rule))
                )
                listed.append(named(value, name))
        query = exp.select(*listed).from_(exp.to_table("running").as_("r"), copy=False)
        for name, wanted in (
            ("outlying", self.outliers is not None),
            ("again", any(map(self._is_again, self.made))),
        ):
            if wanted:
                on = exp.and_(
                    same(self._keys_of("r"), self._keys_of(name)),
                    exp.EQ(this=qualified(name, TS), expression=qualified("r", TS)),
                )
                query = query.join(exp.to_table(name), on=on, join_type="left", copy=False)
        if self.framed:
            there = exp.not_(exp.Is(this=qualified("r", OLD), expression=exp.null()))
            query = query.where(there, copy=False)
        return query

    def _fresh(self, place: int, rule: Rule) -> exp.Expr:
        """Return the value of a result that is carried along, worked out at an instant."""
        if self._is_again(rule):
            value = _sized(qualified("again", f"_cql_again{place}"), rule)
            if rule.call.call.find(exp.Count) is None:
                return value
            # a group of none may have no row there
            return exp.Coalesce(this=value, expressions=[number(0)])
        rest = qualified("outlying", f"_cql_outlying{place}") if rule.outliers else None
        return value_of(rule, lambda name: qualified("r", name), rest)

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
            *[named(qualified("r", p.name), p.name) for p in self.parts if p.width is None],
            *([] if self.single else [named(qualified("r", LAST), LAST)]),
            named(now, IS),
            named(was, WAS),
        ]
        for rule in self.made:
            name = rule.call.name
            if rule.carried:
                listed.append(named(qualified("r", name), name))
                listed.append(named(qualified("r", f"{OLD}_{name}"), f"{OLD}_{name}"))
            else:
                listed.append(named(value_of(rule, lambda part: qualified("r", part)), name))
                listed.append(named(value_of(rule, _part_before), f"{OLD}_{name}"))
        source: exp.Expr = exp.to_table("running").as_("r")
        if self.carried and self.single:
            source = exp.to_table("valued").as_("r")
        elif self.carried:
            lags = [
                named(self._over(exp.Lag(this=column(rule.call.name))), f"{OLD}_{rule.call.name}")
                for rule in self.carried
            ]
            source = exp.select("*", *lags).from_("valued", copy=False).subquery("r", copy=False)
        query = exp.select(*listed).from_(source, copy=False)
        if self.single:
            return query
        return query.where(after(qualified("r", TS), parameter("t0")), copy=False)


def _nulls(plan: Plan) -> set[str | None]:
    """Return the columns of a projection that are NULL in all tuples."""
    if not isinstance(plan, Project):
        return set()
    both = zip(plan.columns, plan.expressions, strict=True)
    return {known.name for known, value in both if isinstance(_core(value), exp.Null)}


def _core(value: exp.Expr) -> exp.Expr:
    return value.this if isinstance(value, exp.Cast) else value


def _unsized(value: exp.Expr, rule: Rule) -> exp.Expr:
    """Return a result as a LEFT JOIN can hand it on."""
    kind = unsized(rule.call.type)
    return value if kind == rule.call.type else cast(value, kind)


def _sized(value: exp.Expr, rule: Rule) -> exp.Expr:
    """Return a result of its own type, after a LEFT JOIN."""
    return value if unsized(rule.call.type) == rule.call.type else cast(value, rule.call.type)


def _part_before(name: str) -> exp.Expr:
    """Return a part as it was before an instant: running extremes keep it, sums give it."""
    if "extreme" in name:
        return qualified("r", f"{name}_d")
    own = "_cql_d_n" if name == N else f"{name}_d"
    return exp.paren(exp.Sub(this=qualified("r", name), expression=qualified("r", own)))


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
