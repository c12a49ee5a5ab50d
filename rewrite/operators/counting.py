"""Counting operators: EXCEPT and INTERSECT, and a net relation that is read as standing.

The multiplicity of a tuple in the result is a function f of its multiplicities in the inputs:

    EXCEPT          1 if l > 0 and r = 0        EXCEPT ALL      max(l − r, 0)
    INTERSECT       1 if l > 0 and r > 0        INTERSECT ALL   min(l, r)

For a net relation f(n) = n, and tuples that are equal but not identical are counted separately.

The synopsis `counts` has the counts of each tuple that is in an input. In a tick the elements are
summed by tuple and instant, appended to the tuple's counts, and prefix-summed in the order of
instants; an element is emitted where f changes, with the difference as its weight. The content at
t₀ is f of the synopsis, so no trace is needed above it. A tuple lives until its count changes: so a
join meets no tuple that is not there, and none twice.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from cqlduck.rewrite.physical.operator import Operator
from cqlduck.rewrite.plan import Column, Net, SetOperation
from cqlduck.rewrite.relalg import Rows
from cqlduck.rewrite.relalg.builders import cast, column
from cqlduck.rewrite.relalg.elements import (
    ENTER,
    LEAVE,
    TS,
    WEIGHT,
    after,
    begun,
    count,
    exists,
    forever,
    greatest,
    is_null,
    least,
    lifetime_names,
    named,
    number,
    over_time,
    parameter,
    qualified,
    qualified_identity,
    references,
    same,
    state_table,
    union_all,
    until,
)
from cqlduck.rewrite.relalg.values import identity_columns, values_of_group

LAST, WAS = "_cql_last", "_cql_was"


class Counts(Operator[SetOperation | Net]):
    """How often each tuple is there, by how often it is in each input."""

    def keep(self) -> None:
        """Keep the tuples and instants that changed, and the synopsis of the counts."""
        counts = _counts(self.node)
        columns = (*self.node.columns, *(Column(name, "BIGINT") for name in counts))
        table = self.writer.synopsis(self.node, "counts", columns)
        self.writer.delta(self.node, self._changed(table), "the tuples and instants that changed")
        delta = self.delta_table
        is_same = same(_of("delta", self.node), _of("kept", self.node))
        gone = exp.delete(state_table(table).as_("kept"))
        if _is_told_apart(self.node):
            gone.set("using", [delta.copy().as_("delta")])
            gone = gone.where(column(LAST), is_same, copy=False)
        else:
            touched = exists(delta.copy().as_("delta"), column(LAST), is_same)
            gone = gone.where(touched, copy=False)
        self.writer.update(self.node, "forget the old counts of the tuples that changed", gone)
        stay = (
            exp.select(*references(columns))
            .from_(delta.copy(), copy=False)
            .where(column(LAST), exp.or_(*[_is_there(column(name)) for name in counts]), copy=False)
        )
        self.writer.update(self.node, "keep their new counts", exp.insert(stay, state_table(table)))

    def elements(self) -> Rows:
        """Return the changes of how often each tuple is there."""
        change = named(exp.Sub(this=column(WEIGHT), expression=column(WAS)), WEIGHT)
        changed = Rows.of(self.delta_table).where(_changes())
        return changed.project([*references(self.node.columns), column(TS), change])

    def lives(self) -> Rows:
        """Return what begins or ends in the tick: a tuple lives until its count changes."""
        following, previous = (
            over_time(function(this=column(TS)), _keys(self.node))
            for function in (exp.Lead, exp.Lag)
        )
        stood = exp.Case().when(is_null(previous), column(WAS)).else_(number(0))
        until_next = exp.Coalesce(this=following, expressions=[forever()])
        changed = Rows.of(self.delta_table).where(_changes())
        steps = changed.project(
            [
                *references(self.node.columns),
                column(TS),
                named(until_next, LEAVE),
                column(WEIGHT),
                named(stood, WAS),
            ]
        )
        both = Rows.of(exp.to_table("steps"))
        come = [named(column(TS), ENTER), column(LEAVE), column(WEIGHT)]
        gone = [begun(), named(column(TS), LEAVE), named(column(WAS), WEIGHT)]
        return Rows.union(
            [
                both.where(_is_there(column(weight))).project(
                    [*references(self.node.columns), *listed]
                )
                for weight, listed in ((WEIGHT, come), (WAS, gone))
            ]
        ).with_("steps", steps.query())

    def standing(self) -> Rows:
        """Return what is there throughout the tick, as lifetimes without an end."""
        listed = [*references(self.node.columns), begun(), named(forever(), LEAVE)]
        delta = self.delta_table.as_("delta")
        is_same = same(_of("delta", self.node), _of("kept", self.node))
        times = _times(self.node, [column(name) for name in _counts(self.node)])
        table = state_table(self.writer.table(self.node, "counts"))
        table.set("alias", exp.TableAlias(this=exp.to_identifier("kept")))
        listed.append(named(times, WEIGHT))
        if not _is_told_apart(self.node):
            changed = exists(delta, _changes(), is_same)
            return Rows.of(table).where(_is_there(times), exp.not_(changed)).project(listed)
        stays = exp.select(*listed).from_(table, copy=False).where(_is_there(times), copy=False)
        on = exp.and_(_changes(), is_same)
        stays = stays.join(delta, on=on, join_type="anti", copy=False)
        return Rows.given(stays, lifetime_names(self.node.columns), "stays")

    def _changed(self, table: str) -> exp.Select:
        """Return the counts after each instant, and f of them after it and before it."""
        counts = _counts(self.node)
        net = {name: count(column(name)) for name in counts}
        changes: exp.Query = self._tagged().select(
            [
                *_shown_of_group(self.node),
                column(TS),
                *[named(sum_, n) for n, sum_ in net.items()],
            ],
            group=[*_keys(self.node), column(TS)],
            having=exp.or_(*[_is_there(sum_.this.copy()) for sum_ in net.values()]),
            alias="elements",
        )
        listed = [*references(self.node.columns), column(TS), *[column(name) for name in counts]]
        history = union_all(
            [
                exp.select(*[x.copy() for x in listed]).from_(part, copy=False)
                for part in ("before", "changes")
            ]
        )
        sums = [
            named(cast(_over(self.node, exp.Sum(this=column(name))), "BIGINT"), name)
            for name in counts
        ]
        changed = [named(column(name), f"{name}_d") for name in counts]
        last = is_null(_over(self.node, exp.Lead(this=column(TS)), frame=False))
        running = exp.select(
            *references(self.node.columns), column(TS), *sums, *changed, named(last, LAST)
        ).from_(history.subquery("history", copy=False), copy=False)
        earlier = [
            exp.paren(exp.Sub(this=column(name), expression=column(f"{name}_d"))) for name in counts
        ]
        query = (
            exp.select(
                *references(self.node.columns),
                column(TS),
                *[column(name) for name in counts],
                named(_times(self.node, [column(name) for name in counts]), WEIGHT),
                named(_times(self.node, earlier), WAS),
                column(LAST),
            )
            .from_("running", copy=False)
            .where(after(column(TS), parameter("t0")), copy=False)
        )
        changes = self.writer.staged(self.node, "sums", changes, "the elements, summed up")
        query = query.with_("changes", as_=changes, copy=False)
        query = query.with_("before", as_=self._before(table), copy=False)
        return query.with_("running", as_=running, copy=False)

    def _before(self, table: str) -> exp.Select:
        """Return the counts of the touched tuples, as of $t0."""
        is_same = same(_of("changes", self.node), _of("kept", self.node))
        rows = exp.select(
            *references(self.node.columns),
            named(cast(parameter("t0"), "BIGINT"), TS),
            *[column(name) for name in _counts(self.node)],
        ).from_(state_table(table).as_("kept"), copy=False)
        if _is_told_apart(self.node):
            return rows.join("changes", on=is_same, join_type="semi", copy=False)
        return rows.where(exists("changes", is_same), copy=False)

    def _tagged(self) -> Rows:
        """Return the elements of all inputs, each weight in the column of its input."""
        return _side_by_side(
            self.node, [self.writer.elements(inner) for inner in self.node.children], TS
        )


def counted(node: SetOperation | Net, sides: Sequence[Rows]) -> Rows:
    """Return (columns, counts): how often each tuple is in each input.

    Args:
        node: EXCEPT or INTERSECT, or a net relation.
        sides: (columns, `_weight`) of each input.
    """
    names = _counts(node)
    query = _side_by_side(node, sides).select(
        [*_shown_of_group(node), *[named(count(column(name)), name) for name in names]],
        group=_keys(node),
        having=exp.or_(*[_is_there(exp.Sum(this=column(name))) for name in names]),
        alias="tuples",
    )
    return Rows.given(query, [*(c.name for c in node.columns), *names], "counted")


def shown(node: SetOperation | Net, counts: Rows) -> Rows:
    """Return (columns, `_weight`): the tuples that are in the result, from their counts."""
    times = _times(node, [column(name) for name in _counts(node)])
    listed = [*references(node.columns), named(times, WEIGHT)]
    return counts.where(_is_there(times)).project(listed, "counted")


def _side_by_side(node: SetOperation | Net, sides: Sequence[Rows], *time: str) -> Rows:
    """Return the rows of all inputs, each weight in the column of its input."""
    parts: list[Rows] = []
    for place, inner in enumerate(sides):
        weights = [
            named(column(WEIGHT) if place == own else cast(number(0), "BIGINT"), name)
            for own, name in enumerate(_counts(node))
        ]
        listed = [*references(node.columns), *map(column, time), *weights]
        parts.append(inner.project(listed, f"elements{place}"))
    return Rows.union(parts)


def _over(node: SetOperation | Net, function: exp.Expr, frame: bool = True) -> exp.Window:
    spec = exp.WindowSpec(kind="ROWS", start="UNBOUNDED", start_side="PRECEDING")
    return over_time(function, _keys(node), spec if frame else None)


def _times(node: SetOperation | Net, counts: Sequence[exp.Expr]) -> exp.Expr:
    """Return f: how often a tuple is there, from its counts."""
    if isinstance(node, Net):
        return counts[0].copy()
    left, right = counts
    if node.all:
        function = greatest if node.kind == "except" else least
        second = number(0) if node.kind == "except" else right.copy()
        first: exp.Expr = left.copy()
        if node.kind == "except":
            first = exp.Sub(this=first, expression=right.copy())
        most = function(first, second)
        return cast(most, "BIGINT")
    wanted = after if node.kind == "intersect" else until
    return cast(exp.and_(after(left.copy(), number(0)), wanted(right.copy(), number(0))), "BIGINT")


def _counts(node: SetOperation | Net) -> list[str]:
    return [f"_cql_n{place}" for place in range(len(node.children))]


def _keys(node: SetOperation | Net) -> list[exp.Expr]:
    """Return by what a tuple is counted."""
    return identity_columns(node.columns) if isinstance(node, Net) else references(node.columns)


def _shown_of_group(node: SetOperation | Net) -> list[exp.Expr]:
    """Return the columns of tuples that are counted together."""
    return values_of_group(node.columns) if isinstance(node, Net) else references(node.columns)


def _of(table: str, node: SetOperation | Net) -> list[exp.Expr]:
    """Return the same of a table."""
    if isinstance(node, Net):
        return qualified_identity(table, node.columns)
    return [qualified(table, c.name) for c in node.columns]


def _is_told_apart(node: SetOperation | Net) -> bool:
    """Return whether tuples that are equal but not the same are counted apart.

    An EXISTS of them is none: DuckDB (release 2.0) works it out once for all values around it that
    are equal. So they are joined.
    """
    return len(_of("kept", node)) > len(node.columns)


def _changes() -> exp.Expr:
    return exp.NEQ(this=column(WEIGHT), expression=column(WAS))


def _is_there(expression: exp.Expr) -> exp.Expr:
    return exp.NEQ(this=expression, expression=number(0))
