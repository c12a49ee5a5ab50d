"""Queries that change at boundaries alone: worked out whole, at each boundary of the tick.

Where all windows of a relation hop by the same s, it changes at multiples of s and at no other
instant. If they tumble, its content at a boundary B has nothing in common with what it was before:
there is nothing to add to or to take back, and to follow each tuple in and out costs more than to
answer the query over the pane [B−s, B) as DuckDB would. So the operators are put together as in SQL
over tables, with the boundary as one more column by which they join, group and compare; all
boundaries of a tick, and all operators, are one statement. With C(B) its result and B₀ = ⌊t₀/s⌋·s,

    Δ = + C(B) at B for B₀ < B ≤ t₁,  − C(B) at B+s for B₀ ≤ B ≤ t₁−s,  added up by tuple

The synopsis `content` holds C(B₀), which is the answer at the frontier; a tick puts those of its
boundaries beside it, and leaves the last.

A window that is k hops wide has k panes of s. An aggregate of it that can be put together from
parts keeps these, by pane and group, in the synopsis `panes`, and adds up k of them for each
boundary. That costs k parts a group and boundary however few tuples came, so k is at most `MOST`;
other operators would do their work k times.

A global aggregate has a row over nothing too, at boundaries that no tuple leads to. It is worked
out so only where that row can meet no other: joined by a comparison with a result that is NULL.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from cqlduck.rewrite import guards
from cqlduck.rewrite.aggregates import EXTREMES, FLOATS
from cqlduck.rewrite.delta import windows
from cqlduck.rewrite.plan import (
    Aggregate,
    AggregateCall,
    Column,
    Difference,
    Distinct,
    Filter,
    Join,
    Plan,
    Project,
    SetOperation,
    TimeWindow,
    ToStream,
    UnionAll,
    children,
    properties,
    walk,
)
from cqlduck.rewrite.scope import cast, column
from cqlduck.rewrite.values import extreme, identities
from cqlduck.rewrite.weighted import (
    TS,
    WEIGHT,
    add,
    after,
    consolidate,
    floor_to,
    named,
    number,
    parameter,
    qualified,
    references,
    state_table,
    union_all,
    until,
)

if TYPE_CHECKING:
    from cqlduck.rewrite.delta.rules import Rules

MOST = 16
"""How many panes wide a window is at most."""

_MEETING = (Join, Aggregate, Distinct, SetOperation, Difference)
"""Where tuples meet others; without these a tuple's lifetime is all there is to know."""

BOUNDARY = "_cql_boundary"
_COMPARISONS = (exp.EQ, exp.LT, exp.LTE, exp.GT, exp.GTE)
_NULL_OVER_NOTHING = ("min", "max", "sum", "avg")
_PARTS = ("count", "min", "max", "sum")


def relation_of(plan: Plan) -> Plan | None:
    """Return the relation of a query that is worked out at boundaries, or None."""
    relation = plan
    if isinstance(plan, ToStream):
        if plan.kind == "rstream":
            return None
        relation = plan.input
    nodes = list(walk(relation))
    slides = {node.slide for node in nodes if isinstance(node, TimeWindow)}
    if len(slides) != 1 or None in slides or not any(isinstance(n, _MEETING) for n in nodes):
        return None
    return relation if _fits(relation) else None


def _fits(node: Plan, *, meets_nothing: bool = False) -> bool:
    match node:
        case TimeWindow():
            return _panes(node) == 1
        case Aggregate():
            if any(_drifts(call) for call in node.calls):
                return False
            if node.everything and not meets_nothing:
                return False
            return _fits(node.input) or _is_of_panes(node)
        case Filter() | Project():
            return _fits(node.input, meets_nothing=meets_nothing)
        case Join():
            return not guards.may_raise(node) and all(
                _fits(plan, meets_nothing=_meets_nothing(plan, node.predicates))
                for plan in node.inputs
            )
        case Distinct() | UnionAll() | SetOperation() | Difference():
            return all(_fits(plan) for plan in children(node))
        case _:
            return False


def _panes(window: TimeWindow) -> int | None:
    """Return of how many panes a window consists, or None if it is no whole number of them."""
    if (
        not window.hop
        or window.half_open
        or not window.slide
        or not properties(window).has_unit_weights
    ):
        return None
    assert window.width is not None
    count, rest = divmod(window.width, window.slide)
    return count if count and not rest else None


def _drifts(call: AggregateCall) -> bool:
    """Return whether a result depends on the order of the tuples, in its last bits."""
    return call.function in ("sum", "avg") and call.argument_type in FLOATS


def _meets_nothing(plan: Plan, predicates: Sequence[exp.Expr]) -> bool:
    """Return whether an input's row over nothing meets no tuple in a join."""
    nulls = _nulls_over_nothing(plan)
    for predicate in predicates:
        if isinstance(predicate, _COMPARISONS):
            for side in (predicate.left, predicate.right):
                if isinstance(side, exp.Column) and side.name in nulls:
                    return True
    return False


def _nulls_over_nothing(plan: Plan) -> set[str]:
    """Return the columns that are NULL in a global aggregate's row over nothing."""
    match plan:
        case Aggregate(everything=True):
            return {c.name for c in plan.calls if c.function in _NULL_OVER_NOTHING}
        case Filter():
            return _nulls_over_nothing(plan.input)
        case Project():
            inner = _nulls_over_nothing(plan.input)
            return {
                known.name
                for expression, known in zip(plan.expressions, plan.columns, strict=True)
                if isinstance(expression, exp.Column) and expression.name in inner
            }
        case _:
            return set()


def _is_of_panes(node: Aggregate) -> bool:
    """Return whether an aggregate of a window is put together from panes."""
    plan = node.input
    while isinstance(plan, (Filter, Project)):
        plan = plan.input
    if not isinstance(plan, TimeWindow):
        return False
    panes = _panes(plan)
    return panes is not None and panes <= MOST and all(_has_parts(call) for call in node.calls)


def _has_parts(call: AggregateCall) -> bool:
    return call.function in _PARTS and (call.function == "count" or call.argument is not None)


def keep(rules: Rules, relation: Plan) -> None:
    """Put the content at each boundary of the tick into the synopsis; the last one stays."""
    made = _Contents(rules, _slide(relation))
    query = made.whole(relation)
    columns = (*relation.columns, Column(BOUNDARY, "BIGINT"))
    table = state_table(rules.synopsis(relation, "content", columns))
    rules.first(relation, "the content at each boundary", exp.insert(query, table))
    last = floor_to(parameter("t1"), made.slide)
    earlier = exp.LT(this=column(BOUNDARY), expression=last)
    gone = exp.delete(table.copy()).where(earlier, copy=False)
    rules.update(relation, "forget the contents before the last", gone)
    for purpose, tree in made.updates:
        rules.update(relation, purpose, tree)


def _slide(relation: Plan) -> int:
    (slide,) = {node.slide for node in walk(relation) if isinstance(node, TimeWindow)}
    assert slide is not None
    return slide


def _content(rules: Rules, relation: Plan) -> exp.Table:
    return state_table(f"{rules.query}_{rules.number(relation)}_content")


def elements(rules: Rules, relation: Plan) -> exp.Select:
    """Return the net elements of the tick."""
    columns = references(relation.columns)
    come = exp.select(
        *columns, named(column(BOUNDARY), TS), named(cast(number(1), "BIGINT"), WEIGHT)
    ).from_(_content(rules, relation), copy=False)
    come = come.where(after(column(BOUNDARY), parameter("t0")), copy=False)
    ends = add(column(BOUNDARY), _slide(relation))
    go = exp.select(
        *(c.copy() for c in columns), named(ends, TS), named(cast(number(-1), "BIGINT"), WEIGHT)
    ).from_(_content(rules, relation), copy=False)
    go = go.where(until(ends.copy(), parameter("t1")), copy=False)
    return consolidate(union_all([come, go]), relation.columns)


def answer(rules: Rules, relation: Plan) -> exp.Select:
    """Return (columns, `_weight`): the relation after the tick, a row for each tuple."""
    return exp.select(
        *references(relation.columns), named(cast(number(1), "BIGINT"), WEIGHT)
    ).from_(_content(rules, relation), copy=False)


class _Contents:
    """Writes relations at each boundary B with t₀ < B ≤ t₁: (columns, `_cql_boundary`)."""

    def __init__(self, rules: Rules, slide: int) -> None:
        self.rules = rules
        self.slide = slide
        self.updates: list[tuple[str, exp.Expr]] = []
        self._shared: dict[int, str] = {}
        self._queries: list[tuple[str, exp.Query]] = []

    def whole(self, relation: Plan) -> exp.Query:
        """Return a relation; what several operators read stands before it."""
        query = self._of(relation)
        for name, shared in self._queries:
            query = query.with_(name, as_=shared, materialized=True, copy=False)
        return query

    def at(self, node: Plan) -> exp.Query:
        """Return a relation for an operator that reads it."""
        if self.rules.readers[id(node)] == 1 or not isinstance(node, _MEETING):
            return self._of(node)
        if id(node) not in self._shared:
            name = f"_cql_shared{self.rules.number(node)}"
            self._queries.append((name, self._of(node)))
            self._shared[id(node)] = name
        return exp.select(*references(node.columns), column(BOUNDARY)).from_(
            exp.to_table(self._shared[id(node)]), copy=False
        )

    def _of(self, node: Plan) -> exp.Query:
        match node:
            case TimeWindow():
                return self._window(node)
            case Filter():
                return (
                    exp.select(*references(node.columns), column(BOUNDARY))
                    .from_(self.at(node.input).subquery("input", copy=False), copy=False)
                    .where(guards.restriction(node), copy=False)
                )
            case Project():
                listed = [
                    named(expression.copy(), known.name)
                    for expression, known in zip(node.expressions, node.columns, strict=True)
                ]
                return exp.select(*listed, column(BOUNDARY)).from_(
                    self.at(node.input).subquery("input", copy=False), copy=False
                )
            case Join():
                return self._join(node)
            case Aggregate() if not _fits(node.input):
                return self._from_panes(node)
            case Aggregate(keys=()) if _is_of_panes(node):
                return self._from_instants(node)
            case Aggregate():
                return self._grouped(
                    self.at(node.input),
                    node.keys,
                    [named(c.call.copy(), c.name) for c in node.calls],
                )
            case Distinct():
                return self._grouped(self.at(node.input), [c.name for c in node.columns], [])
            case UnionAll():
                return union_all([self._listed(plan) for plan in node.inputs])
            case SetOperation():
                kind = exp.except_ if node.kind == "except" else exp.intersect
                left, right = self._listed(node.left), self._listed(node.right)
                return kind(left, right, distinct=not node.all, copy=False)
            case Difference():
                return self._difference(node)
            case _:
                raise AssertionError(f"{type(node).__name__} is not worked out at boundaries")

    def _listed(self, node: Plan) -> exp.Select:
        return exp.select(*references(node.columns), column(BOUNDARY)).from_(
            self.at(node).subquery("input", copy=False), copy=False
        )

    def _difference(self, node: Difference) -> exp.Query:
        """Return what is left: of equal tuples those that are the same go."""
        apart = [named(e, f"_cql_apart{n}") for n, e in enumerate(identities(node.columns))]
        left, right = (self._listed(side).select(*apart) for side in (node.left, node.right))
        rest = exp.except_(left, right, distinct=False, copy=False)
        if not apart:
            return rest
        return exp.select(*references(node.columns), column(BOUNDARY)).from_(
            rest.subquery("rest", copy=False), copy=False
        )

    def _window(self, node: TimeWindow) -> exp.Select:
        entering = windows.entering(self.rules, node).subquery("stream", copy=False)
        return exp.select(*references(node.columns), named(self._end(), BOUNDARY)).from_(
            entering, copy=False
        )

    def _end(self) -> exp.Expr:
        """Return the boundary at which a tuple's pane ends, as an expression over `_ts`."""
        return add(floor_to(column(TS), self.slide), self.slide)

    def _entering(self, node: Plan) -> exp.Query:
        """Return (columns, `_ts`) of what enters a window, seen through filters and projections."""
        match node:
            case TimeWindow():
                return windows.entering(self.rules, node)
            case Filter():
                listed, inner = references(node.columns), node.input
            case Project():
                listed = [
                    named(expression.copy(), known.name)
                    for expression, known in zip(node.expressions, node.columns, strict=True)
                ]
                inner = node.input
            case _:
                raise AssertionError(f"{type(node).__name__} is no window")
        query = exp.select(*listed, column(TS)).from_(
            self._entering(inner).subquery("input", copy=False), copy=False
        )
        if isinstance(node, Filter):
            query = query.where(guards.restriction(node), copy=False)
        return query

    def _from_instants(self, node: Aggregate) -> exp.Select:
        """Return a global aggregate put together from the results at each instant.

        DuckDB knows how many instants there are, and counts by them in an array; by what is worked
        out of an instant it would count in a hash table, ten times slower.
        """
        results = [named(call.call.copy(), call.name) for call in node.calls]
        each = exp.select(*results, column(TS)).from_(
            self._entering(node.input).subquery("tuples", copy=False), copy=False
        )
        each = each.group_by(column(TS), copy=False)
        return (
            exp.select(
                *[named(_whole(c), c.name) for c in node.calls], named(self._end(), BOUNDARY)
            )
            .from_(each.subquery("instants", copy=False), copy=False)
            .group_by(column(BOUNDARY), copy=False)
        )

    def _grouped(
        self, query: exp.Query, keys: Sequence[str], results: Sequence[exp.Expr]
    ) -> exp.Select:
        by = [*map(column, keys), column(BOUNDARY)]
        return (
            exp.select(*map(column, keys), *results, column(BOUNDARY))
            .from_(query.subquery("tuples", copy=False), copy=False)
            .group_by(*by, copy=False)
        )

    def _join(self, node: Join) -> exp.Select:
        names = [f"i{place}" for place in range(len(node.inputs))]
        listed = [
            qualified(name, known.name)
            for name, plan in zip(names, node.inputs, strict=True)
            for known in plan.columns
            if known in node.columns
        ]
        query = exp.select(*listed, qualified(names[0], BOUNDARY))
        for name, plan in zip(names, node.inputs, strict=True):
            item = self.at(plan).subquery(name, copy=False)
            if name == names[0]:
                query = query.from_(item, copy=False)
            else:
                query = query.join(item, join_type="cross", copy=False)
        same = [
            exp.EQ(this=qualified(names[0], BOUNDARY), expression=qualified(name, BOUNDARY))
            for name in names[1:]
        ]
        return query.where(*same, *(p.copy() for p in node.predicates), copy=False)

    def _from_panes(self, node: Aggregate) -> exp.Select:
        """Return an aggregate put together from the results over each pane."""
        panes = _panes(next(p for p in walk(node.input) if isinstance(p, TimeWindow)))
        assert panes is not None
        columns = (*node.columns, Column(BOUNDARY, "BIGINT"))
        table = self.rules.synopsis(node, "panes", columns)
        results = [named(call.call.copy(), call.name) for call in node.calls]
        entering = exp.select(*references(node.input.columns), named(self._end(), BOUNDARY)).from_(
            self._entering(node.input).subquery("stream", copy=False), copy=False
        )
        begun = self._grouped(entering, node.keys, results)
        self.rules.first(node, "the panes that begin", exp.insert(begun, state_table(table)))
        oldest = add(floor_to(parameter("t1"), self.slide), -(panes - 1) * self.slide)
        self.updates.append(
            (
                "forget the panes that have left",
                exp.delete(state_table(table)).where(until(column(BOUNDARY), oldest), copy=False),
            )
        )
        ends = [number(end) for end in (0, panes * self.slide, self.slide)]
        later = exp.Unnest(expressions=[exp.Anonymous(this="range", expressions=ends)])
        laid_out = exp.select(
            *references(node.columns),
            named(exp.Add(this=column(BOUNDARY), expression=later), BOUNDARY),
        ).from_(state_table(table), copy=False)
        inside = exp.select("*").from_(laid_out.subquery("laid_out", copy=False), copy=False)
        inside = inside.where(
            after(column(BOUNDARY), parameter("t0")),
            until(column(BOUNDARY), parameter("t1")),
            copy=False,
        )
        return self._grouped(inside, node.keys, [named(_whole(c), c.name) for c in node.calls])


def _whole(call: AggregateCall) -> exp.Expr:
    """Return a result over a window from the results over its panes."""
    if call.function in EXTREMES:
        function = exp.Min if call.function == "min" else exp.Max
        return extreme(function, column(call.name), call.type)
    whole = exp.Sum(this=column(call.name))
    return cast(whole, call.type) if call.function in ("count", "sum") else whole
