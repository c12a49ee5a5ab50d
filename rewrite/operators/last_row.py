"""ROWS 1: the last row of each partition.

Only the newest row of a partition and instant is in the window, and it displaces at most one row.
So the arrivals are ordered by themselves, which needs no synopsis, and of the synopsis only the
displaced rows are read. The arrivals of a tick are in one temporary table, the displaced rows in
another:

    comes        [t, u)    u: the instant of the partition's next arrival, if the tick has one
    goes         [s, t)    s: its own timestamp, t: that of the first arrival

The synopsis `rows` has the last row of each partition.
"""

from __future__ import annotations

from sqlglot import exp

from cqlduck.rewrite.operators import row_windows
from cqlduck.rewrite.plan import Column, RowWindow, properties
from cqlduck.rewrite.relalg import Rows
from cqlduck.rewrite.relalg.builders import column
from cqlduck.rewrite.relalg.elements import (
    ENTER,
    LEAVE,
    NEXT,
    SEQ,
    TS,
    after,
    exists,
    forever,
    is_null,
    named,
    number,
    over_time,
    parameter,
    qualified,
    references,
    same,
    state_table,
    temp_table,
)

FIRST = "_cql_first"


def is_last_row(node: RowWindow) -> bool:
    """Return whether of each partition the last row is there."""
    is_plain = node.width is None and node.slide is None and node.every is None
    return node.rows == 1 and is_plain


class LastRow(row_windows.Positions):
    """The last row of each partition."""

    def keep(self) -> None:
        """Keep the rows of the tick that show, those that they push out, and the synopsis."""
        columns = (*self.node.columns, Column(TS, "BIGINT"), Column(SEQ, "BIGINT"))
        table = self.writer.synopsis(self.node, "rows", columns)
        arrivals = self.writer.keep(
            self.node, self._table(), self._newest(table), "the newest rows that come"
        )
        self.writer.delta(self.node, self._replaced(table), "whom they push out")
        gone = exp.select(column(SEQ)).from_(self.delta_table, copy=False)
        self.forget(table, gone)
        stay = exp.select(*references(columns)).from_(temp_table(arrivals), copy=False)
        if not self.writer.form.single:
            stay = stay.where(is_null(column(NEXT)), copy=False)
        self.writer.update(
            self.node, "keep the rows that came", exp.insert(stay, state_table(table))
        )

    def _table(self) -> str:
        return f"_cql_newest_{self.writer.instance(self.node)}"

    def _newest(self, table: str) -> exp.Select:
        """Return the newest new row of each partition and instant.

        In a tick of several instants with the instant of the partition's next one in the tick,
        and whether it is the partition's first one there. Only partitions with several are put
        in order: mostly they are few.
        """
        arrivals = self.arrivals(table)
        # of what waits in a queue a copy costs more than to read it twice
        is_read_twice = properties(self.node.input).is_numbered
        rows: exp.Expr = exp.to_table("arrivals")
        if is_read_twice:
            rows = arrivals.subquery("stream")
        last = exp.select(*_keys(self.node), column(TS), named(exp.Max(this=column(SEQ)), SEQ))
        last = last.from_(rows.copy(), copy=False).group_by(
            *_keys(self.node), column(TS), copy=False
        )
        seqs = exp.select(column(SEQ)).from_("newest", copy=False)
        listed = [*references(self.node.columns), column(TS), column(SEQ)]
        query = exp.select(*listed).from_(rows, copy=False)
        query = query.where(exp.In(this=column(SEQ), query=seqs.subquery(copy=False)), copy=False)
        parts: list[tuple[str, exp.Query]] = (
            [] if is_read_twice else [("arrivals", arrivals.query())]
        )
        parts.append(("newest", last))
        if not self.writer.form.single:
            query = _with_neighbours(query, listed)
            parts += [("several", _several(self.node)), ("ordered", _ordered(self.node))]
        for name, part in parts:
            query = query.with_(name, as_=part, materialized=name != "ordered", copy=False)
        return query

    def _replaced(self, table: str) -> exp.Select:
        """Return the rows of the window that the tick pushes out, with their lifetimes."""
        arrivals = temp_table(self._table()).as_("arrivals")
        known = exists(arrivals.copy(), row_windows.is_partition(self.node))
        kept = exp.select("*").from_(state_table(table).as_("kept"), copy=False)
        kept = kept.where(known, copy=False)
        listed = [qualified("kept", c.name) for c in self.node.columns]
        ts, seq = qualified("kept", TS), qualified("kept", SEQ)
        leave = parameter("t1") if self.writer.form.single else qualified("arrivals", TS)
        query = exp.select(*listed, ts, named(ts.copy(), ENTER), named(leave, LEAVE), seq)
        query = query.from_(kept.subquery("kept", copy=False), copy=False)
        if self.writer.form.single:
            return query
        # DuckDB (release 2.0) skips parts of the window for EXISTS, not for a join on NULLs too
        query = query.join(
            arrivals, on=row_windows.is_partition(self.node), join_type="inner", copy=False
        )
        return query.where(qualified("arrivals", FIRST), copy=False)

    def row_log(self) -> Rows:
        """Return the rows of the tick and those that they push out, with their lifetimes."""
        listed = [*references(self.node.columns), column(TS)]
        end = exp.Coalesce(this=column(NEXT), expressions=[forever()])
        leave = forever() if self.writer.form.single else end
        come = Rows.of(temp_table(self._table())).project(
            [*listed, named(column(TS), ENTER), named(leave, LEAVE), column(SEQ)]
        )
        go = [*(item.name for item in listed), ENTER, LEAVE, SEQ]
        return Rows.union([Rows.of(self.delta_table, go), come])


def _keys(node: RowWindow) -> list[exp.Expr]:
    return [column(name) for name in node.partition_by]


def _several(node: RowWindow) -> exp.Select:
    """Return the partitions that have more than one of the `newest` rows."""
    query = exp.select(*(_keys(node) or [number(1)])).from_("newest", copy=False)
    query = query.having(after(exp.Count(this=exp.Star()), number(1)), copy=False)
    return query.group_by(*_keys(node), copy=False) if node.partition_by else query


def _ordered(node: RowWindow) -> exp.Select:
    """Return of the rows of these partitions when the next one comes, and which is the first."""
    following, previous = (
        over_time(function(this=column(TS)), _keys(node)) for function in (exp.Lead, exp.Lag)
    )
    mine, theirs = ([qualified(t, k) for k in node.partition_by] for t in ("newest", "several"))
    return (
        exp.select(column(SEQ), named(following, NEXT), named(is_null(previous), FIRST))
        .from_("newest", copy=False)
        .where(exists("several", same(theirs, mine)), copy=False)
    )


def _with_neighbours(rows: exp.Select, listed: list[exp.Expr]) -> exp.Select:
    """Return rows with what `ordered` says of them; of the others each is the only one."""
    is_first = exp.Coalesce(this=qualified("ordered", FIRST), expressions=[exp.true()])
    on = exp.EQ(this=qualified("ordered", SEQ), expression=qualified("stream", SEQ))
    return (
        exp.select(
            *[qualified("stream", c.name) for c in listed],
            qualified("ordered", NEXT),
            named(is_first, FIRST),
        )
        .from_(rows.subquery("stream", copy=False), copy=False)
        .join(exp.to_table("ordered"), on=on, join_type="left", copy=False)
        # in this order they compress as the stream does
        .order_by(qualified("stream", SEQ), copy=False)
    )
