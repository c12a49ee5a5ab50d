"""Queries that change only at boundaries: evaluated in full at each boundary of the tick.

If all windows of a relation hop by the same s, it changes only at multiples of s. If they tumble,
its content at a boundary B has nothing in common with its earlier content: no sum can be updated,
and following each tuple in and out costs more than evaluating the query over the pane [B−s, B) as
DuckDB would. So the operators are combined as in SQL over tables, with the boundary as one more
column by which they join, group and compare; one statement evaluates all operators at all
boundaries of a tick. With C(B) its result and B₀ = ⌊t₀/s⌋·s,

    Δ = + C(B) at B for B₀ < B ≤ t₁,  − C(B) at B+s for B₀ ≤ B ≤ t₁−s,  summed by tuple

The synopsis `content` has C(B₀), which is the answer at the frontier; a tick adds the content at
its boundaries, and retains the last.

A window that is k hops wide has k panes of s. An aggregate of one stores these, by pane and group,
in the synopsis `panes`, and combines k of them for each boundary. `hopping` says which relations
are evaluated so.
"""

from __future__ import annotations

from sqlglot import exp

from cqlduck.rewrite.operators.hopping import (
    MEETING,
    fits,
    is_of_panes,
    panes_of_aggregate,
    slide_of,
)
from cqlduck.rewrite.operators.instants import Instants, at, grouped, names_of
from cqlduck.rewrite.operators.time_windows import Stub
from cqlduck.rewrite.physical.algebra import ADDED, monoid_of_results
from cqlduck.rewrite.physical.operator import Operator
from cqlduck.rewrite.physical.writer import Writer
from cqlduck.rewrite.plan import (
    Aggregate,
    AggregateCall,
    Column,
    Filter,
    Plan,
    Project,
    TimeWindow,
)
from cqlduck.rewrite.plan.aggregates import EXTREMES
from cqlduck.rewrite.relalg import Rows
from cqlduck.rewrite.relalg.builders import cast, column
from cqlduck.rewrite.relalg.elements import (
    TS,
    WEIGHT,
    add,
    after,
    consolidate,
    floor_to,
    named,
    number,
    once,
    parameter,
    references,
    state_table,
    until,
)
from cqlduck.rewrite.relalg.values import extreme
from cqlduck.rewrite.text.time import Duration

BOUNDARY = "_cql_boundary"
BOUNDARIES = Instants(column(BOUNDARY), BOUNDARY)
"""The boundaries of the tick."""
ARRIVALS = Instants(column(TS), TS)
"""The instants at which tuples arrive."""


class AtBoundaries(Operator[Plan]):
    """A relation that is worked out whole, at each boundary of the tick."""

    def keep(self) -> None:
        """Put the content at each boundary of the tick into the synopsis; the last one stays."""
        relation, writer = self.node, self.writer
        made = _Contents(writer, slide_of(relation))
        query = made.query_of(relation)
        columns = (*relation.columns, Column(BOUNDARY, "BIGINT"))
        table = state_table(writer.synopsis(relation, "content", columns))
        writer.first(relation, "the content at each boundary", exp.insert(query, table))
        last = floor_to(parameter("t1"), made.slide)
        earlier = exp.LT(this=column(BOUNDARY), expression=last)
        gone = exp.delete(table.copy()).where(earlier, copy=False)
        writer.update(relation, "forget the contents before the last", gone)
        for node, tree in made.updates:
            writer.update(node, "forget the panes that have left", tree)

    def elements(self) -> Rows:
        """Return the net elements of the tick."""
        columns, content = references(self.node.columns), self._content
        ends = add(column(BOUNDARY), slide_of(self.node))
        less, one = (named(cast(number(n), "BIGINT"), WEIGHT) for n in (-1, 1))
        come = content.where(after(column(BOUNDARY), parameter("t0")))
        go = content.where(until(ends, parameter("t1")))
        changes = [
            come.project([*columns, named(column(BOUNDARY), TS), one]),
            go.project([*columns, named(ends, TS), less]),
        ]
        return consolidate(Rows.union(changes), self.node.columns)

    def answer(self) -> Rows:
        """Return (columns, `_weight`): the relation after the tick, a row for each tuple."""
        return self._content.project([*references(self.node.columns), once()])

    @property
    def _content(self) -> Rows:
        return Rows.of(state_table(self.writer.table(self.node, "content")))


class _Contents:
    """Writes relations at each boundary B with t₀ < B ≤ t₁: (columns, `_cql_boundary`)."""

    def __init__(self, writer: Writer, slide: Duration) -> None:
        self.writer = writer
        self.slide = slide
        self.updates: list[tuple[Plan, exp.Expr]] = []
        """Of aggregates that keep panes, the statements that forget them."""
        self._shared: dict[int, str] = {}
        self._queries: list[tuple[str, exp.Query]] = []
        self._kept: set[int] = set()

    def query_of(self, relation: Plan) -> exp.Query:
        """Return a relation; what several operators read stands before it."""
        query = self._of(relation).query()
        for name, shared in self._queries:
            query = query.with_(name, as_=shared, materialized=True, copy=False)
        return query

    def at(self, node: Plan) -> Rows:
        """Return a relation for an operator that reads it."""
        if self.writer.readers[id(node)] == 1 or not isinstance(node, MEETING):
            return self._of(node)
        if id(node) not in self._shared:
            name = f"_cql_shared{self.writer.number(node)}"
            self._queries.append((name, self._of(node).query()))
            self._shared[id(node)] = name
        return Rows.of(exp.to_table(self._shared[id(node)]), names_of(node, BOUNDARIES))

    def _of(self, node: Plan) -> Rows:
        match node:
            case TimeWindow():
                return self._window(node)
            case Aggregate() if not fits(node.input):
                return self._from_panes(node)
            case Aggregate(keys=()) if is_of_panes(node):
                return self._from_instants(node)
            case _:
                return at(node, [self.at(child) for child in node.children], BOUNDARIES)

    def _window(self, node: TimeWindow) -> Rows:
        listed = [*references(node.columns), named(self._end(), BOUNDARY)]
        return Stub(node, self.writer).entering().project(listed, "stream")

    def _end(self) -> exp.Expr:
        """Return the boundary at which a tuple's pane ends, as an expression over `_ts`."""
        return add(floor_to(column(TS), self.slide), self.slide)

    def _entering(self, node: Plan) -> Rows:
        """Return (columns, `_ts`) of what enters a window, seen through filters and projections."""
        match node:
            case TimeWindow():
                return Stub(node, self.writer).entering()
            case Filter() | Project():
                return at(node, [self._entering(node.input)], ARRIVALS)
            case _:
                raise AssertionError(f"{type(node).__name__} is no window")

    def _from_instants(self, node: Aggregate) -> Rows:
        """Return a global aggregate put together from the results at each instant.

        DuckDB knows how many instants there are, and counts by them in an array; by what is worked
        out of an instant it would count in a hash table, ten times slower.
        """
        results = [named(call.call, call.name) for call in node.calls]
        entering = self._entering(node.input)
        each = entering.select([*results, column(TS)], group=[column(TS)], alias="tuples")
        whole = [named(_whole(call), call.name) for call in node.calls]
        query = (
            exp.select(*whole, named(self._end(), BOUNDARY))
            .from_(each.subquery("instants", copy=False), copy=False)
            .group_by(column(BOUNDARY), copy=False)
        )
        return Rows.given(query, names_of(node, BOUNDARIES))

    def _from_panes(self, node: Aggregate) -> Rows:
        """Return an aggregate put together from the results over each pane."""
        panes = panes_of_aggregate(node)
        # it is read twice if a projection of it is
        if id(node) not in self._kept:
            self._kept.add(id(node))
            self._keep_panes(node)
        table = self.writer.table(node, "panes")
        ends = [number(end) for end in (0, panes * self.slide, self.slide)]
        later = exp.Unnest(expressions=[exp.Anonymous(this="range", expressions=ends)])
        end = named(exp.Add(this=column(BOUNDARY), expression=later), BOUNDARY)
        laid_out = Rows.of(state_table(table)).project([*references(node.columns), end])
        inside = laid_out.where(
            after(column(BOUNDARY), parameter("t0")),
            until(column(BOUNDARY), parameter("t1")),
            alias="laid_out",
        )
        whole = [named(_whole(c), c.name) for c in node.calls]
        return grouped(node, inside, BOUNDARIES, whole)

    def _keep_panes(self, node: Aggregate) -> None:
        """Keep the results over the last panes in a synopsis."""
        columns = (*node.columns, Column(BOUNDARY, "BIGINT"))
        table = state_table(self.writer.synopsis(node, "panes", columns))
        begun = self.begun(node).query()
        self.writer.first(node, "the panes that begin", exp.insert(begun, table))
        gone = until(column(BOUNDARY), self._oldest(node))
        self.updates.append((node, exp.delete(table.copy()).where(gone, copy=False)))

    def begun(self, node: Aggregate) -> Rows:
        """Return (keys, results, `_cql_boundary`) of the panes that begin in the tick."""
        results = [named(call.call, call.name) for call in node.calls]
        entering = self._entering(node.input).project(
            [*references(node.input.columns), named(self._end(), BOUNDARY)], "stream"
        )
        return grouped(node, entering, BOUNDARIES, results)

    def _oldest(self, node: Aggregate) -> exp.Expr:
        """Return the boundary up to which no window after $t1 needs a pane."""
        panes = panes_of_aggregate(node)
        return add(floor_to(parameter("t1"), self.slide), -(panes - 1) * self.slide)


def stored_panes(writer: Writer, relation: Plan, node: Aggregate) -> tuple[Rows, exp.Expr]:
    """Return what the synopsis `panes` holds, as the panes of a tick, and where that begins ($t0).

    Args:
        writer: Reads the stream.
        relation: The relation that is worked out at boundaries.
        node: The aggregate in it.
    """
    made = _Contents(writer, slide_of(relation))
    return made.begun(node), made._oldest(node)


def last_boundary(relation: Plan) -> exp.Expr:
    """Return the last boundary up to $t1, of which the synopsis `content` holds the content."""
    return floor_to(parameter("t1"), slide_of(relation))


def _whole(call: AggregateCall) -> exp.Expr:
    """Return a result over a window from the results over its panes."""
    monoid = monoid_of_results(call)
    assert monoid is not None
    if call.function in EXTREMES:
        return extreme(monoid.over, column(call.name), call.type)
    whole = monoid.over(this=column(call.name))
    return cast(whole, call.type) if monoid is ADDED else whole
