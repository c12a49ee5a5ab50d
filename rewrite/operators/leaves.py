"""Leaves of a plan: streams, relations, and the logs of other queries.

A stream is read by names that mean the same wherever its elements are (`arrivals`): the arrivals of
the tick by one, all that is stored by another. So is a relation: the lifetimes that begin or end in
the tick have a name, the others are read in its store, from $begin on. A query over another one
reads its log of elements, and as standing a log that is condensed.
"""

from __future__ import annotations

from sqlglot import exp

from cqlduck.rewrite.physical.operator import Operator
from cqlduck.rewrite.plan import RelationScan, StreamScan
from cqlduck.rewrite.relalg import Rows
from cqlduck.rewrite.relalg.builders import column
from cqlduck.rewrite.relalg.elements import (
    ENTER,
    LEAVE,
    TS,
    WEIGHT,
    after,
    forever,
    greatest,
    named,
    once,
    parameter,
    state_table,
    until,
)
from cqlduck.rewrite.text.time import Duration


class Stream(Operator[StreamScan]):
    """The elements of a stream."""

    def elements(self) -> Rows:
        """Return the arrivals of the tick."""
        return self.writer.rows(self.node, parameter("t0"), parameter("t1"))

    def rows(
        self, low: exp.Expr | None, high: exp.Expr, span: Duration | None, extra: tuple[str, ...]
    ) -> Rows:
        """Return the elements between two instants, from the store unless it is the tick."""
        node, writer = self.node, self.writer
        writer.reads_back(node.source, low, span)
        listed = _scanned(node)
        if node.instant is not None:
            listed.append(named(column(TS), node.instant))
        weight = column(WEIGHT) if node.source.is_query else once()
        listed += [column(TS), weight, *map(column, extra)]
        if low == parameter("t0") and high == parameter("t1"):
            return writer.arrivals(node.source).project(listed)
        bounds = [] if low is None else [after(column(TS), low)]
        since = after(column(TS), parameter("since"))
        kept = writer.stored(node.source)
        return kept.where(since, until(column(TS), high), *bounds).project(listed)


class Relation(Operator[RelationScan]):
    """The tuples of a base relation that are there in the tick, from $begin on."""

    def lives(self) -> Rows:
        """Return what begins or ends."""
        return self._with(self.writer.changes(self.node.source), *self._touches)

    def standing(self) -> Rows:
        """Return what neither begins nor ends."""
        stands = until(column(ENTER), parameter("low")), after(column(LEAVE), parameter("t1"))
        return self._with(self._store, *stands)

    def alive(self) -> Rows:
        """Return all that touches the tick."""
        return self._with(self._store, *self._touches)

    @property
    def _store(self) -> Rows:
        return Rows.of(state_table(self.node.source.table))

    @property
    def _touches(self) -> list[exp.Expr]:
        bounds = (after(column(LEAVE), parameter(low)) for low in ("t0", "begin"))
        return [until(column(ENTER), parameter("t1")), *bounds]

    def _with(self, rows: Rows, *conditions: exp.Expr) -> Rows:
        enter = greatest(column(ENTER), parameter("begin"))
        listed = [*_scanned(self.node), named(enter, ENTER), column(LEAVE), once()]
        return rows.where(*conditions).project(listed)


def standing_at(node: RelationScan, instant: exp.Expr) -> Rows:
    """Return (columns): the tuples of a base relation at an instant at which its query has begun.

    DuckDB looks at no row where it knows all of a row group to stand.
    """
    stands = until(column(ENTER), instant.copy()), after(column(LEAVE), instant.copy())
    rows = Rows.of(state_table(node.source.table)).where(*stands)
    return rows.project(_scanned(node), "tuples")


class QueryLog(Operator[RelationScan]):
    """The relation that another query yields, from the log of its elements.

    What it was before the tick is read from its condensed log: elements of long ago are summed up
    there.
    """

    def elements(self) -> Rows:
        """Return the changes in the tick."""
        instant = greatest(column(TS), parameter("begin"))
        return (
            Rows.of(state_table(self.node.source.table))
            .where(after(column(TS), parameter("low")), until(column(TS), parameter("t1")))
            .project([*_scanned(self.node), named(instant, TS), column(WEIGHT)])
        )

    def standing(self) -> Rows:
        """Return the elements from before the tick."""
        return self._up_to("low")

    def alive(self) -> Rows:
        """Return all elements up to the end of the tick."""
        return self._up_to("t1")

    def _up_to(self, bound: str) -> Rows:
        instant = greatest(column(TS), parameter("begin"))
        end = named(forever(), LEAVE)
        return (
            Rows.of(state_table(self.node.source.condensed))
            .where(until(column(TS), parameter(bound)))
            .project([*_scanned(self.node), named(instant, ENTER), end, column(WEIGHT)])
        )


def _scanned(node: StreamScan | RelationScan) -> list[exp.Expr]:
    return [
        named(column(known.name), name)
        for known, name in zip(node.source.columns, node.names, strict=True)
        if name is not None
    ]
