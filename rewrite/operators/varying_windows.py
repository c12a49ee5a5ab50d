"""Windows of several lengths over one stream: the instants at which a tuple enters and leaves.

    V(τ) = ⊎ { (t, w) : t of S [RANGE w] (τ) }   over the values w of a column

Queries that differ in the lengths of their windows are one plan, which joins V with the lengths by
w (docs/sharing.md). A tuple enters once for each w at its timestamp, and leaves at t+w+1
(half-open: t+w): so what leaves in a tick is, for each w, a range of the stream's store, its stub.
Of the instants in the store, each of which has many tuples, it is found which w each has left, so
that one join by instant reads all of these ranges.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from sqlglot import exp

from cqlduck.rewrite.physical.operator import Operator
from cqlduck.rewrite.physical.writer import Writer
from cqlduck.rewrite.plan import VaryingWindow
from cqlduck.rewrite.plan.lengths import Met
from cqlduck.rewrite.relalg import Rows
from cqlduck.rewrite.relalg.builders import column
from cqlduck.rewrite.relalg.elements import (
    ENTER,
    LEAVE,
    TS,
    WEIGHT,
    add,
    after,
    greatest,
    least,
    named,
    parameter,
    qualified,
    references,
    state_table,
    until,
)
from cqlduck.rewrite.relalg.product import joined

NO_KEYS: Mapping[str, str] = MappingProxyType({})


def standing_of(
    writer: Writer, met: Met, asked: Rows | None = None, by: Mapping[str, str] = NO_KEYS
) -> Rows:
    """Return (columns, `_cql_enter`, `_cql_leave`, `_weight`): what stands of groups of a join.

    The bounds of the groups are found first, and by their keys the elements that are in windows of
    their lengths: no element is there once for each length.

    Args:
        writer: The writer.
        met: The join.
        asked: The keys of the groups, each once; without, all are asked for.
        by: By column of the join, the column of the keys.
    """
    window, stub = met.window, VaryingStub(met.window, writer)
    of_bounds = {c.name for c in met.bounds.columns}
    same_keys = {
        mine: exp.NullSafeEQ(this=column(mine), expression=column(theirs))
        for mine, theirs in by.items()
    }
    ours = [*(c.name for c in met.bounds.columns), ENTER, LEAVE, WEIGHT]
    listed = [qualified("bound", name) for name in ours] + [*map(column, by.values())]
    meets = [one for mine, one in same_keys.items() if mine in of_bounds]
    bounds = writer.standing(met.bounds)
    if asked is not None:
        groups = joined({"bound": bounds, "asked": asked}, listed, meets)
        # DuckDB would begin with the elements
        query = groups.query().offset(0, copy=False)
        bounds = Rows.given(query, [*ours, *by.values()], "bounds")
    length, elements = qualified("bound", met.length), stub.reached("t0")
    conditions = [after(qualified("element", TS), stub.left("t1", met.length))]
    conditions += [part.copy() for part in met.others]
    conditions += [one for mine, one in same_keys.items() if mine not in of_bounds]
    values = [named(length.copy() if c.name == window.name else column(c.name), c.name)
              for c in met.join.columns]  # fmt: skip
    times = [
        named(greatest(qualified("element", TS), qualified("bound", ENTER)), ENTER),
        named(least(stub.end(met.length), qualified("bound", LEAVE)), LEAVE),
        named(exp.Mul(this=qualified("element", WEIGHT), expression=qualified("bound", WEIGHT)),
              WEIGHT),
    ]  # fmt: skip
    return joined({"element": elements, "bound": bounds}, [*values, *times], conditions)


_WIDTH, _DUE = "_cql_w", "_cql_due"
"""What a length is called among those that there are, and an instant of a stream beside it."""


class VaryingStub(Operator[VaryingWindow]):
    """Windows of several lengths: pairs of positions on a stream, not copies of it."""

    def elements(self) -> Rows:
        """Return what enters and what leaves in the tick."""
        gone = exp.Neg(this=column(WEIGHT))
        return Rows.union(
            [
                self._stamped(self._entering(), column(TS), column(WEIGHT)),
                self._stamped(self.leaving(), self.end(), gone),
            ]
        )

    def begins(self) -> Rows:
        """Return the lifetimes that begin in the tick."""
        return self._living(self._entering())

    def lives(self) -> Rows:
        """Return the lifetimes that begin in the tick, and the older ones that end in it."""
        older = self.leaving().where(until(column(TS), parameter("t0")))
        return Rows.union([self.begins(), self._living(older)])

    def standing(self) -> Rows:
        """Return the lifetimes that cover the whole tick."""
        return self._living(self._between("t1", "t0"))

    def alive(self) -> Rows:
        """Return the lifetimes that touch the tick."""
        return self._living(self._between("t0", "t1"))

    def _entering(self) -> Rows:
        """Return the elements that enter in the tick, once for each length."""
        rows = self.writer.rows(self.node.input, parameter("t0"), parameter("t1"))
        return self._each(rows, self._lengths())

    def leaving(self) -> Rows:
        """Return the elements that leave in the tick, with the length of the window."""
        rows = self.reached("t1")
        each = rows.select([named(column(TS), _DUE)], group=[column(TS)], alias="reached")
        instants = Rows.given(each, [_DUE], "instants")
        left = after(column(_DUE), self.left("t0")), until(column(_DUE), self.left("t1"))
        both = {"instant": instants, "length": self._lengths()}
        due = joined(both, [column(_WIDTH), column(_DUE)], left)
        return self._each(rows, due, [exp.EQ(this=column(TS), expression=column(_DUE))])

    def _between(self, left: str, entered: str) -> Rows:
        """Return the elements that have entered by one end of the tick, not left by the other."""
        stay = after(column(TS), self.left(left))
        return self._each(self.reached(entered), self._lengths(), [stay])

    def reached(self, bound: str) -> Rows:
        """Return the elements up to one end of the tick that the longest window reaches."""
        low = add(parameter("t0"), -self.node.reach)
        return self.writer.rows(self.node.input, low, parameter(bound), span=self.node.reach)

    def _lengths(self) -> Rows:
        """Return the lengths that there are."""
        node = self.node
        distinct = (
            exp.select(named(column(node.column), _WIDTH))
            .distinct()
            .from_(state_table(node.widths.table), copy=False)
        )
        lengths = Rows.given(distinct, [_WIDTH], "lengths")
        if node.half_open:
            # what would leave when it enters is never there
            lengths = lengths.where(exp.GT(this=column(_WIDTH), expression=exp.Literal.number(0)))
        return lengths

    def _each(self, rows: Rows, lengths: Rows, conditions: Sequence[exp.Expr] = ()) -> Rows:
        """Return rows, once for each length for which conditions hold, with the length."""
        node = self.node
        shown = [*references(node.input.columns), named(column(_WIDTH), node.name)]
        listed = [*shown, column(TS), column(WEIGHT)]
        return joined({"element": rows, "length": lengths}, listed, conditions)

    def left(self, bound: str, length: str = _WIDTH) -> exp.Expr:
        """Return the last timestamp whose elements have left a window by one end of the tick.

        Args:
            bound: The end of the tick, as a parameter.
            length: The column with the length of the window.
        """
        # each side of the comparison is about one side of the join, so that DuckDB can sort them
        last = exp.Sub(this=parameter(bound), expression=column(length))
        return last if self.node.half_open else add(last, -1)

    def end(self, length: str | None = None) -> exp.Expr:
        """Return when an element leaves the window whose length stands beside it.

        Args:
            length: The column with the length; by default that of the node.
        """
        end = exp.Add(this=column(TS), expression=column(length or self.node.name))
        return end if self.node.half_open else add(end, 1)

    def _stamped(self, rows: Rows, instant: exp.Expr, weight: exp.Expr) -> Rows:
        listed = [*references(self.node.columns), named(instant, TS), named(weight, WEIGHT)]
        return rows.project(listed, "stream")

    def _living(self, rows: Rows) -> Rows:
        listed = [*references(self.node.columns), named(column(TS), ENTER)]
        return rows.project([*listed, named(self.end(), LEAVE), column(WEIGHT)], "stream")
