"""Grouping and aggregation. A DISTINCT of what may leave is grouping without aggregates.

The synopsis `groups` holds a row for each group: how many tuples it has (`_cql_n`), the sums that
its aggregates are made of, and the results that are not made of sums. In a tick the elements are
summed by group and instant, put behind the group's row, and summed up in the order of time; so each
(group, instant) that changed has its state after, and that minus the instant's own sum is its state
before. A result that is not made of sums is carried along: the one before is that of the instant
before in the group. Where the two results differ, the old one goes and the new one comes:

    − (key, f(state before))   + (key, f(state after))

* count, sum and avg of exact types are sums of weight · value, in HUGEINT or DECIMAL.
* sum and avg of DOUBLE are sums of fixed-point numbers, so nothing drifts: a value x with
  2⁻³⁰ ≤ |x| ≤ 2³⁷ is taken as round(x · 2⁶⁰), which is exact for |x| ≥ 2⁻⁸ and wrong by less than
  2⁻³¹ of |x| otherwise, in at most 98 of the 127 bits of a HUGEINT. All others, infinities and NaN
  among them, are outliers: they stay as they are in the synopsis `outliers`, and the ones that a
  group still has at an instant are added up anew. So what passed through leaves nothing behind.
* min and max of a relation that only grows are running extremes; over a RANGE window they are the
  extremes of the last w instants, each instant's own having been found first.
* Over a window that tumbles all results are those of a pane (`panes`).
* Everything else is worked out again from the group's tuples, for the groups and instants that
  changed: as a frame of the log where it is one (`frames`), else over the input's lifetimes.

The sums are a table of their own: DuckDB (release 2.0) cuts a partitioned window into as many parts
as it expects rows for, and of the elements of a join with a large state it expects far too many.

In a tick of one instant nothing has to be put in order: the state before is the group's row, and
the state after is that and the change. So the form for such ticks has no window function, which
small groups cannot pay for.

What stands is read from `groups` (`kept`): so an answer needs no copy, and an operator above no
trace. A group's tuple lives until the group's next one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from cqlduck.rewrite.aggregates import EXTREMES, FLOATS, each_call, sums_exactly
from cqlduck.rewrite.delta import frames, panes
from cqlduck.rewrite.delta.arrivals import reads_arrivals
from cqlduck.rewrite.plan import (
    Aggregate,
    AggregateCall,
    Column,
    Plan,
    Project,
    RowWindow,
    UnionAll,
    properties,
)
from cqlduck.rewrite.relalg import Rows
from cqlduck.rewrite.scope import cast, column, typed_null
from cqlduck.rewrite.values import (
    canonical,
    differs,
    identities,
    may_vary,
    sign,
    signed,
    unsized,
)
from cqlduck.rewrite.weighted import (
    ENTER,
    LEAVE,
    TS,
    WEIGHT,
    after,
    count,
    forever,
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

if TYPE_CHECKING:
    from cqlduck.rewrite.delta.rules import Rules

N, LAST, IS, WAS, CHANGED, OLD = (
    "_cql_n", "_cql_last", "_cql_is", "_cql_was", "_cql_changed", "_cql_old",
)  # fmt: skip
SMALL = ("TINYINT", "SMALLINT", "INTEGER", "UTINYINT", "USMALLINT", "UINTEGER", "BOOLEAN")
"""Types of which 2^31 values add up to a BIGINT."""

SCALE = 2.0**60
LEAST, MOST = 2.0**-30, 2.0**37


@dataclass(frozen=True)
class _Part:
    """What a rule knows of each group and instant.

    Args:
        name: Its column.
        type: Its type.
        delta: What the elements of a group and instant make of it.
        extreme: MIN or MAX, if it is summed up by that and not by adding.
        value: What an extreme is taken of.
        width: Over how many instants before its own an extreme looks back; None is all.
        counts: Whether it is how many of the values are not NULL.
    """

    name: str
    type: str
    delta: exp.Expr
    extreme: Callable[..., exp.Expr] | None = None
    value: exp.Expr | None = None
    width: int | None = None
    counts: bool = False


@dataclass(frozen=True)
class Rule:
    """How one aggregate is made of parts of the state, or worked out again.

    Args:
        call: The aggregate.
        parts: What it is made of.
        outliers: Whether values that are no fixed-point numbers are added to it.
        again: Whether it is worked out again.
    """

    call: AggregateCall
    parts: tuple[_Part, ...]
    outliers: bool = False
    again: bool = False

    @property
    def carried(self) -> bool:
        """Whether the state before does not give the result before, so that it is carried along."""
        return self.outliers or self.again or any(p.width is not None for p in self.parts)


def rule_of(call: AggregateCall, place: int, grows: bool, width: int | None = None) -> Rule:
    """Return the rule of an aggregate.

    Args:
        call: The aggregate.
        place: Its number.
        grows: Whether the input only grows.
        width: The range of the window if the input's tuples are those of the last instants.
    """
    kind = call.argument_type or ""
    if call.function == "count" and call.argument is None:
        return Rule(call, ())
    if call.argument is None or call.function == "other":
        return Rule(call, (), again=True)
    argument = column(call.argument)
    known = _Part(
        f"_cql_count{place}",
        "BIGINT",
        cast(exp.Sum(this=_if_known(argument, column(WEIGHT), number(0))), "BIGINT"),
        counts=True,
    )
    if call.function == "count":
        return Rule(call, (known,))
    if call.function in ("min", "max"):
        if width is None and not grows:
            return Rule(call, (), again=True)
        if may_vary(kind) and kind not in FLOATS:
            return Rule(call, (), again=True)
        parts = [_extreme(call, f"_cql_extreme{place}", kind, argument, None if grows else width)]
        if kind in FLOATS:
            name = f"_cql_extreme{place}_sign"
            parts.append(_extreme(call, name, "BOOLEAN", sign(argument), parts[0].width))
        return Rule(call, tuple(parts))
    if sums_exactly(kind):
        wide = "BIGINT" if kind in SMALL else "HUGEINT"
        if "DECIMAL" in kind:
            wide = f"DECIMAL(38, {kind.split(',')[1].strip(' )')})"
        value = cast(argument, wide)
        weighted = exp.Mul(this=value, expression=column(WEIGHT))
        total = exp.Coalesce(this=exp.Sum(this=weighted), expressions=[number(0)])
        exact = cast(total, wide)
        return Rule(call, (known, _Part(f"_cql_sum{place}", wide, exact)))
    if kind in FLOATS:
        fixed = cast(
            exp.Mul(this=cast(argument, "DOUBLE"), expression=_double(SCALE)),
            "HUGEINT",
        )
        inside = exp.Case().when(_in_band(argument), fixed)
        weighted = exp.Mul(this=inside, expression=column(WEIGHT))
        total = exp.Coalesce(this=exp.Sum(this=weighted), expressions=[number(0)])
        exact = cast(total, "HUGEINT")
        return Rule(call, (known, _Part(f"_cql_sum{place}", "HUGEINT", exact)), outliers=True)
    return Rule(call, (), again=True)


def _extreme(
    call: AggregateCall, name: str, kind: str, value: exp.Expr, width: int | None
) -> _Part:
    """Return a running extreme of a value; with a width, of what has come in the last instants."""
    extreme = exp.Min if call.function == "min" else exp.Max
    delta: exp.Expr = extreme(this=value.copy())
    if width is not None:
        entering = exp.Where(this=after(column(WEIGHT), number(0)))
        delta = exp.Filter(this=delta, expression=entering)
    return _Part(name, kind, delta, extreme, value, width)


def rules_of(node: Aggregate) -> list[Rule]:
    """Return the rule of each aggregate of a node."""
    grows = properties(node.input).is_append_only
    width = properties(node.input).frame_width
    return [rule_of(call, place, grows, width) for place, call in enumerate(node.calls)]


def window_of_its_own(node: Aggregate, readers: Mapping[int, int]) -> RowWindow | None:
    """Return the window whose rows an aggregate alone reads, all its results being frames."""
    if not frames.whole_rows(node, rules_of(node)):
        return None
    return frames.only_window(node, readers)


def is_whole(node: Aggregate, made: Sequence[Rule]) -> bool:
    """Return whether all results are worked out at once, and kept with the groups."""
    return frames.whole_rows(node, made) or panes.fits(node, made)


def needs_lifetimes(node: Aggregate) -> bool:
    """Return whether an aggregate asks its input for more than elements."""
    return any(rule.again for rule in rules_of(node))


def elements(rules: Rules, node: Aggregate) -> Rows:
    """Return the old and the new tuple of each group and instant that changed."""
    delta = Rows.of(temp_table(rules.deltas[id(node)]))
    keys = [column(key) for key in node.keys]
    old = [named(column(f"{OLD}_{call.name}"), call.name) for call in node.calls]
    new = [column(call.name) for call in node.calls]
    less, one = (named(cast(number(n), "BIGINT"), WEIGHT) for n in (-1, 1))
    gone = delta.where(column(WAS), column(CHANGED)).project([*keys, *old, column(TS), less])
    come = delta.where(column(IS), column(CHANGED)).project([*keys, *new, column(TS), one])
    return Rows.union([gone, come])


def lives(rules: Rules, node: Aggregate) -> Rows:
    """Return the lifetimes of the tuples that come or go: each lasts until the group's next."""
    keys = [column(key) for key in node.keys]
    old = [named(column(f"{OLD}_{call.name}"), call.name) for call in node.calls]
    new = [column(call.name) for call in node.calls]
    single = rules.form.single
    end = forever() if single else exp.Coalesce(this=column("_cql_end"), expressions=[forever()])
    one = named(cast(number(1), "BIGINT"), WEIGHT)
    began = named(cast(parameter("t0"), "BIGINT"), ENTER)
    changed: list[exp.Expr] = [exp.Star()]
    stood: list[exp.Expr] = [column(WAS)]
    if not single:
        over: dict[str, Any] = {
            "partition_by": keys,
            "order": exp.Order(expressions=[exp.Ordered(this=column(TS))]),
        }
        ends = exp.Window(this=exp.Lead(this=column(TS)), **over).copy()
        begins = exp.Window(this=exp.Lag(this=column(TS)), **over).copy()
        changed += [named(ends, "_cql_end"), named(begins, "_cql_begin")]
        stood.append(exp.Is(this=column("_cql_begin"), expression=exp.null()))
    steps = Rows.of(exp.to_table("changed"))
    come = [*keys, *new, named(column(TS), ENTER), named(end, LEAVE), one]
    gone = [*keys, *old, began, named(column(TS), LEAVE), one]
    delta = Rows.of(temp_table(rules.deltas[id(node)]))
    return Rows.union(
        [steps.where(column(IS)).project(come), steps.where(*stood).project(gone)]
    ).with_("changed", delta.select(changed, where=[column(CHANGED)]))


def standing(rules: Rules, node: Aggregate) -> Rows:
    """Return the tuples of the groups that do not change."""
    delta, groups = ([qualified(table, key) for key in node.keys] for table in ("delta", "groups"))
    changed = (
        exp.select("1")
        .from_(temp_table(rules.deltas[id(node)]).as_("delta"), copy=False)
        .where(column(CHANGED), copy=False)
        .where(same(delta, groups), copy=False)
    )
    listed = [
        *references(node.columns),
        named(cast(parameter("t0"), "BIGINT"), ENTER),
        named(forever(), LEAVE),
        column(WEIGHT),
    ]
    stays = exp.not_(exp.Exists(this=changed))
    return kept(rules, node).where(stays, alias="groups").project(listed, "groups")


def keep(rules: Rules, node: Aggregate) -> None:
    """Keep the groups and instants of the tick that changed, and the synopsis of the groups."""
    made = rules_of(node)
    whole = is_whole(node, made)
    carried = made if whole else [rule for rule in made if rule.carried]
    parts = [] if whole else [p for r in made for p in r.parts if p.width is None]
    types = {c.name: c.type for c in node.input.columns}
    keys = tuple(Column(key, types[key]) for key in node.keys)
    results = tuple(Column(rule.call.name, rule.call.type) for rule in carried)
    columns = (*keys, Column(N, "BIGINT"), *(Column(p.name, p.type) for p in parts), *results)
    table = rules.synopsis(node, "groups", columns)
    outliers, fresh = _keep_outliers(rules, node, made, keys)
    purpose = "the groups and instants that changed"
    is_stepped = False
    if panes.fits(node, made):
        sums = rules.share(node, "panes", panes.begun(rules, node), "the panes that begin")
        query = panes.states(node, table, sums)
        rules.delta(node, _changed(query, node), purpose)
    elif whole:
        query = frames.states(rules, node, [rule.call.name for rule in made])
        rules.delta(node, _changed(query, node), purpose)
    else:
        written = _Query(rules, node, made, table, outliers, fresh)
        written.sums = rules.share(node, "sums", written.changes(), "the elements, summed up")
        rules.delta(node, _changed(written.build(), node), purpose)
        is_stepped = rules.form.single
    _upkeep(rules, node, table, keys, columns, is_stepped=is_stepped)
    if outliers is not None and fresh is not None:
        rows = exp.select("*").from_(temp_table(fresh))
        rules.update(node, "keep the outliers", exp.insert(rows, state_table(outliers)))


def _keep_outliers(
    rules: Rules, node: Aggregate, made: list[Rule], keys: Sequence[Column]
) -> tuple[str | None, str | None]:
    """Return the synopsis of values that are in no running sum, and the table of the tick's."""
    if not any(rule.outliers for rule in made):
        return None, None
    values = (
        Column("_cql_call", "INTEGER"),
        Column("_cql_value", "DOUBLE"),
        Column(TS, "BIGINT"),
        Column(WEIGHT, "BIGINT"),
    )
    outliers = rules.synopsis(node, "outliers", (*keys, *values), is_log=True)
    # worked out once, before any synopsis below moves
    fresh = rules.keep(
        node,
        f"_cql_outliers_{rules.instance(node)}",
        outlying(node, made, rules.elements(node.input)),
        "the values that stay as they are",
    )
    return outliers, fresh


def _upkeep(
    rules: Rules,
    node: Aggregate,
    table: str,
    keys: Sequence[Column],
    columns: Sequence[Column],
    *,
    is_stepped: bool,
) -> None:
    """Bring the synopsis of the groups up to date: those that changed, each in its last state.

    Args:
        rules: Takes the statements.
        node: The aggregate.
        table: The synopsis.
        keys: Its keys.
        columns: Its columns.
        is_stepped: Whether each group has one state in the delta.
    """
    is_last = [] if is_stepped else [column(LAST)]
    delta = temp_table(rules.deltas[id(node)])
    touched = (
        exp.select("1")
        .from_(delta.copy().as_("delta"), copy=False)
        .where(*is_last, copy=False)
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
    stay = exp.select(*references(columns)).from_(delta.copy(), copy=False)
    stay = stay.where(*is_last, copy=False)
    if not node.everything:
        stay = stay.where(after(column(N), number(0)), copy=False)
    rules.update(node, "keep their new state", exp.insert(stay, state_table(table)))


def kept(rules: Rules, node: Aggregate) -> Rows:
    """Return the groups and their results as the synopsis has them, each of weight 1."""
    return shown(node, Rows.of(state_table(rules.table(node, "groups"))))


def shown(node: Aggregate, groups: Rows) -> Rows:
    """Return the tuples of an aggregate, each of weight 1, from the state of its groups."""
    made = rules_of(node)
    whole = is_whole(node, made)
    results = [
        column(rule.call.name)
        if whole or rule.carried
        else named(value_of(rule, lambda name: column(name)), rule.call.name)
        for rule in made
    ]
    one = named(cast(number(1), "BIGINT"), WEIGHT)
    return groups.project([*map(column, node.keys), *results, one])


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


@dataclass
class _Query:
    """The statement that gives all changes of an aggregate in a tick, from the sums."""

    rules: Rules
    node: Aggregate
    made: list[Rule]
    table: str
    outliers: str | None
    fresh: str | None
    sums: str = ""
    """The temporary table of the elements, summed up, when it is written."""

    @property
    def single(self) -> bool:
        """Whether the tick has one instant."""
        return self.rules.form.single

    @property
    def keys(self) -> list[exp.Expr]:
        return [column(key) for key in self.node.keys]

    @property
    def parts(self) -> list[_Part]:
        known = [part for rule in self.made for part in rule.parts]
        return [part for part in known if part.width is None] if self.single else known

    @property
    def framed(self) -> list[_Part]:
        """The extremes of the last instants: they need the instants before the tick too."""
        return [part for part in self.parts if part.width is not None and not self.single]

    def _is_again(self, rule: Rule) -> bool:
        """Whether an aggregate is worked out from tuples; of one instant, so are extremes."""
        return rule.again or (self.single and any(p.width is not None for p in rule.parts))

    @property
    def carried(self) -> list[Rule]:
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
        return temp_table(self.sums).as_("changes")

    def changes(self) -> exp.Query:
        """The elements, summed by group and instant; a global aggregate begins with nothing.

        What has just come is summed up by itself: that needs no state, and may have been done
        before (`delta.arrivals.prefetch`).
        """
        inputs = self.node.input.inputs if isinstance(self.node.input, UnionAll) else ()
        parts: list[exp.Query] = []
        if not any(map(reads_arrivals, inputs)):
            inputs = ()
            parts.append(self._sums(self.node.input))
        for place, arm in enumerate(inputs):
            sums = self._sums(arm)
            if reads_arrivals(arm):
                name = f"_cql_part{place}_{self.rules.instance(self.node)}"
                self.rules.keep(self.node, name, sums, "what has just come, summed up")
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
        return self.rules.elements(plan).select(listed, group=by, alias="elements")

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
        earlier = self.rules.alive(self.node.input).select(
            [
                *self.keys,
                named(column(ENTER), TS),
                named(cast(number(0), "BIGINT"), N),
                *[named(cast(number(0), p.type), p.name) for p in inner],
                *[named(_extreme_of(p), p.name) for p in self.framed],
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
        if frames.has_frame(node) and not self.single:
            calls = [
                (f"_cql_again{place}", _unsized(rule.call.call, rule))
                for place, rule in enumerate(self.made)
                if rule.again
            ]
            return frames.frame(self.rules, node, calls)
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
            self.rules.alive(inner).subquery("l"),
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


def no_change(part: _Part) -> exp.Expr:
    """Return what a part is where no tuple counts."""
    return cast(exp.null() if part.extreme else number(0), part.type)


def _part_before(name: str) -> exp.Expr:
    """Return a part as it was before an instant: running extremes keep it, sums give it."""
    if "extreme" in name:
        return qualified("r", f"{name}_d")
    own = "_cql_d_n" if name == N else f"{name}_d"
    return exp.paren(exp.Sub(this=qualified("r", name), expression=qualified("r", own)))


def value_of(rule: Rule, part: Callable[[str], exp.Expr], rest: exp.Expr | None = None) -> exp.Expr:
    """Return an aggregate's value from its parts and, of doubles, the sum of the outliers."""
    call = rule.call
    if not rule.parts:
        return part(N)
    first = rule.parts[0]
    if first.extreme is not None and len(rule.parts) > 1:
        return signed(part(first.name), part(rule.parts[1].name), call.type)
    if first.extreme is not None or call.function == "count":
        return part(first.name)
    total = part(rule.parts[1].name)
    if rule.outliers:
        total = exp.Div(this=cast(total, "DOUBLE"), expression=_double(SCALE))
        beside = exp.Coalesce(this=rest or exp.null(), expressions=[_double(0.0)])
        total = exp.paren(exp.Add(this=total, expression=beside))
    if call.function == "avg":
        total = exp.Div(this=cast(total, "DOUBLE"), expression=part(first.name))
        if rule.outliers:
            # what is too small for a DOUBLE is no negative zero
            total = exp.Add(this=total, expression=_double(0.0))
    return exp.Case().when(after(part(first.name), number(0)), cast(total, call.type))


def _extreme_of(part: _Part) -> exp.Expr:
    """Return the extreme of tuples that stand, of which each has weight 1."""
    assert part.extreme is not None
    assert part.value is not None
    return part.extreme(this=part.value.copy())


def outlying(
    node: Aggregate, made: Sequence[Rule], tuples: Rows, time: Sequence[str] = (TS, WEIGHT)
) -> exp.Query:
    """Return the values that are out of the band of fixed-point numbers.

    Args:
        node: The aggregate.
        made: Its rules.
        tuples: Tuples or elements of its input.
        time: Which columns stand behind the value.
    """
    keys = [column(key) for key in node.keys]
    parts = []
    for place, rule in enumerate(made):
        if not rule.outliers or rule.call.argument is None:
            continue
        argument = column(rule.call.argument)
        outside = is_outlier(argument)
        value = named(cast(argument, "DOUBLE"), "_cql_value")
        listed = [*keys, named(number(place), "_cql_call"), value, *map(column, time)]
        parts.append(tuples.select(listed, where=[outside], alias="elements"))
    return union_all(parts)


def is_outlier(argument: exp.Expr) -> exp.Expr:
    """Return whether a value is no fixed-point number."""
    outside = exp.not_(exp.paren(_in_band(argument)))
    return outside


def _in_band(argument: exp.Expr) -> exp.Expr:
    """Return whether a value is a fixed-point number (NULL for NULL)."""
    size = exp.Abs(this=argument.copy())
    return exp.or_(
        exp.EQ(this=argument.copy(), expression=number(0)),
        exp.Between(this=size, low=_double(LEAST), high=_double(MOST)),
    )


def _double(value: float) -> exp.Expr:
    return cast(exp.Literal.number(repr(value)), "DOUBLE")


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
