"""Row windows: the instants at which a tuple enters and leaves.

A `RowWindow` gives the tuple at position p of its partition the lifetime [t, u) where u is the
timestamp at position p+n. Its synopsis has the tuples in the window; the tuples of the partitions
with arrivals are read from it, and the n-th successor is a LEAD. With SLIDE m the tuple at position
p, counted from 1 in its partition, enters with the first position ≥ p, and leaves with the first
one ≥ p+n, that is a multiple of m. The stored part of a partition is never empty and has no gaps,
so its positions continue from the first one. With RANGE w and SLIDE s the lifetime is
[⌈t/s⌉·s, ⌈min(u, t+w+1)/s⌉·s): only tuples that are in the window at a multiple of s are seen.
ROWS 1 by itself is simpler (`last_row`).
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from cqlduck.rewrite.operators import frames
from cqlduck.rewrite.physical.operator import Operator
from cqlduck.rewrite.physical.writer import Writer
from cqlduck.rewrite.plan import Column, RowWindow, properties
from cqlduck.rewrite.relalg import Rows
from cqlduck.rewrite.relalg.builders import cast, column
from cqlduck.rewrite.relalg.elements import (
    ENTER,
    LEAVE,
    SEQ,
    TS,
    add,
    after,
    begins_or_ends,
    ceil_to,
    copies,
    exists,
    forever,
    least,
    named,
    number,
    once,
    over_time,
    parameter,
    qualified,
    references,
    same,
    state_table,
    union_all,
    until,
)
from cqlduck.rewrite.relalg.values import identity_columns

POSITION = "_cql_position"


class Positions(Operator[RowWindow]):
    """What all windows in rows have: a synopsis of the rows that are in the window."""

    @property
    def content(self) -> Rows:
        """The rows that the synopsis has."""
        return Rows.of(state_table(self.writer.table(self.node, "rows")))

    @property
    def is_at_hand(self) -> bool:
        """Whether what begins or ends is read from temporary tables: it is."""
        return True

    def row_log(self) -> Rows:
        """Return the rows of the window that come or go in the tick, with their lifetimes."""
        return Rows.of(self.delta_table)

    def lives(self) -> Rows:
        """Return the lifetimes that begin or end in the tick."""
        conditions: list[exp.Expr] = [exp.LT(this=column(ENTER), expression=column(LEAVE))]
        conditions.append(begins_or_ends())
        if self.node.every is not None:
            conditions.append(until(column(ENTER), parameter("t1")))
        listed = [*references(self.node.columns), column(ENTER), column(LEAVE), once()]
        return self.row_log().where(*conditions).project(listed)

    def standing(self) -> Rows:
        """Return the content of the window but for what the tick pushes out."""
        delta = Rows.of(self.delta_table)
        if self.node.slide is not None or self.node.every is not None:
            standing = delta.where(
                until(column(ENTER), parameter("t0")), after(column(LEAVE), parameter("t1"))
            )
            return standing.project(
                [*references(self.node.columns), column(ENTER), column(LEAVE), once()]
            )
        gone = delta.where(until(column(LEAVE), parameter("t1"))).project([column(SEQ)])
        stays = exp.not_(exp.In(this=column(SEQ), query=gone.query().subquery(copy=False)))
        begin, end = named(column(TS), ENTER), named(forever(), LEAVE)
        return self.content.where(stays).project(
            [*references(self.node.columns), begin, end, once()]
        )

    def answer(self) -> Rows | None:
        """Return what the window holds after the tick, unless it slides."""
        if self.node.slide is not None or self.node.every is not None:
            return None
        return self.content.project([*references(self.node.columns), once()])

    def arrivals(self, table: str) -> Rows:
        """Return the new tuples (columns, `_ts`, `_cql_seq`), each once, in the order of arrival.

        A base stream numbers its elements. Those of a derived stream are ordered by timestamp and
        all columns, NULLs last; a weight of k is k tuples.
        """
        node, low, high = self.node, parameter("t0"), parameter("t1")
        if properties(node.input).is_numbered:
            rows = self.writer.rows(node.input, low, high, extra=(SEQ,))
            return rows.project([*references(node.columns), column(TS), column(SEQ)], "stream")
        repeated = copies(self.writer.rows(node.input, low, high), node.columns)
        last = (
            exp.select(exp.Coalesce(this=exp.Max(this=column(SEQ)), expressions=[number(0)]))
            .from_(state_table(table), copy=False)
            .subquery(copy=False)
        )
        # after those that the synopsis has
        return in_order(node, repeated, [column(TS), *identity_columns(node.columns)], last)

    def forget(self, table: str, gone: exp.Select) -> None:
        """Take the rows with these numbers out of the synopsis."""
        those = exp.In(this=column(SEQ), query=gone.subquery(copy=False))
        tree = exp.delete(state_table(table)).where(those, copy=False)
        self.writer.update(self.node, "forget the rows that left", tree)


class LastRows(Positions):
    """The last rows of each partition, in order."""

    def keep(self) -> None:
        """Keep the rows of the tick with their lifetimes, and the window's content."""
        columns = (*self.node.columns, Column(TS, "BIGINT"), Column(SEQ, "BIGINT"))
        if self.node.slide is not None:
            columns = (*columns, Column(POSITION, "BIGINT"))
        table = self.writer.synopsis(self.node, "rows", columns)
        reader = self.writer.framed.get(id(self.node))
        results = [] if reader is None else frames.results(reader, self.node)
        arrivals = self.arrivals(table).query()
        fresh = self.writer.staged(self.node, "arrivals", arrivals, "the rows that come")
        numbered = _numbered(self.node, table, fresh, results)
        self.writer.delta(self.node, numbered, "the rows that come, and whom they push out")
        delta = self.delta_table
        gone = (
            exp.select(column(SEQ))
            .from_(delta.copy(), copy=False)
            .where(until(column(LEAVE), parameter("t1")), copy=False)
        )
        self.forget(table, gone)
        stay = (
            exp.select(*references(columns))
            .from_(delta.copy(), copy=False)
            .where(after(column(TS), parameter("t0")), copy=False)
            .where(after(column(LEAVE), parameter("t1")), copy=False)
            # in this order they compress as the stream does
            .order_by(column(SEQ), copy=False)
        )
        self.writer.update(
            self.node, "keep the rows that came", exp.insert(stay, state_table(table))
        )


def history(writer: Writer, node: RowWindow) -> Rows:
    """Return what a window holds at $t1, from the elements of its stream.

    Of a window with a range those of the range are enough; else it takes all that came.

    Returns:
        (columns, `_ts`, `_cql_seq`), with SLIDE the position too; of a derived stream, whose
        elements have no numbers, the place in their order stands for it.
    """
    low = None
    if node.width is not None:
        low = add(parameter("t1"), -node.width - 1 - (node.every or 0))
    rows = writer.rows(
        node.input, low, parameter("t1"), extra=(SEQ,) if properties(node.input).is_numbered else ()
    )
    if not properties(node.input).is_numbered:
        rows = in_order(
            node, copies(rows, node.columns), [column(TS), *identity_columns(node.columns)]
        )
    listed = [*references(node.columns), column(TS), column(SEQ)]
    if node.slide is not None:
        listed.append(named(cast(exp.null(), "BIGINT"), POSITION))
    query = placed(node, rows.project(listed, "stream").query())
    held = Rows.given(query, placed_names(node), "placed")
    return held.where(after(column(LEAVE), parameter("t1")))


def in_order(
    node: RowWindow, rows: Rows, order: Sequence[exp.Expr], last: exp.Expr | None = None
) -> Rows:
    """Return rows with their place in an order as `_cql_seq`; positions stay.

    Args:
        node: The window.
        rows: Rows of its stream, with `_ts`.
        order: What they are ordered by, NULLs last.
        last: The place before the first one; by default 0.
    """
    ordered = [exp.Ordered(this=key, nulls_first=False) for key in order]
    place: exp.Expr = exp.Window(this=exp.RowNumber(), order=exp.Order(expressions=ordered))
    if last is not None:
        place = exp.Add(this=place, expression=last)
    listed = [*references(node.columns), column(TS), named(place, SEQ)]
    if rows.names is not None and POSITION in rows.names:
        listed.append(column(POSITION))
    return rows.project(listed, "arriving")


def _numbered(node: RowWindow, table: str, fresh: exp.Query, results: list[exp.Expr]) -> exp.Select:
    """Return the rows of the touched partitions with `_cql_enter`, `_cql_leave` and results."""
    listed = [*references(node.columns), column(TS), column(SEQ)]
    arrivals = exp.Table(this=exp.to_identifier("arrivals"))
    kept = exp.select(*[x.copy() for x in listed]).from_(state_table(table).as_("kept"), copy=False)
    if node.width is None and node.slide is None:
        kept = kept.where(_touched(node), copy=False)
    fresh_rows = exp.select(*[x.copy() for x in listed]).from_(arrivals.copy(), copy=False)
    if node.slide is not None:
        kept = kept.select(column(POSITION), copy=False)
        nothing = cast(exp.null(), "BIGINT")
        fresh_rows = fresh_rows.select(named(nothing, POSITION), copy=False)
    query = placed(node, union_all([kept, fresh_rows]), results)
    return query.with_("arrivals", as_=fresh, copy=False)


def placed(node: RowWindow, rows: exp.Query, results: Sequence[exp.Expr] = ()) -> exp.Select:
    """Return rows (columns, `_ts`, `_cql_seq`) with `_cql_enter`, `_cql_leave` and results.

    With SLIDE they have a position in their partition or NULL for the next ones, from 1.

    Args:
        node: The window.
        rows: Rows of whole partitions, but for some that came first.
        results: Further expressions over each row.
    """
    keys = [column(name) for name in node.partition_by]
    listed = [*references(node.columns), column(TS), column(SEQ)]
    enter: exp.Expr = column(TS)
    leave = _successor(keys, number(node.rows))
    if node.slide is not None:
        rows = _with_positions(keys, listed, rows)
        listed.append(column(POSITION))
        enter = _successor(keys, _to_multiple(column(POSITION), node.slide))
        beyond = exp.paren(add(column(POSITION), node.rows))
        rest = exp.Add(this=number(node.rows), expression=_to_multiple(beyond, node.slide))
        leave = _successor(keys, rest)
    if node.width is not None:
        expiry = add(column(TS), node.width if node.half_open else node.width + 1)
        leave = least(leave, expiry)
    at = len(node.columns) + 1
    listed[at:at] = [named(enter, ENTER), named(leave, LEAVE)]
    query = exp.select(*listed, *results).from_(rows.subquery("rows", copy=False), copy=False)
    if node.every is not None:
        listed[at : at + 2] = [
            named(ceil_to(column(edge), node.every), edge) for edge in (ENTER, LEAVE)
        ]
        query = exp.select(*[x.copy() for x in listed]).from_(query.subquery("moved", copy=False))
    return query


def placed_names(node: RowWindow) -> list[str]:
    """Return the names of the columns that `placed` gives, without results."""
    names = [*(c.name for c in node.columns), TS, ENTER, LEAVE, SEQ]
    return names if node.slide is None else [*names, POSITION]


def _touched(node: RowWindow) -> exp.Exists:
    """Return whether something arrives in the partition of a row of `kept`."""
    return exists(exp.Table(this=exp.to_identifier("arrivals")), is_partition(node))


def is_partition(node: RowWindow) -> exp.Expr:
    """Return whether a row of `arrivals` is in the partition of one of `kept`."""
    theirs, mine = (
        [qualified(name, key) for key in node.partition_by] for name in ("arrivals", "kept")
    )
    return same(theirs, mine)


def _with_positions(keys: list[exp.Column], listed: list[exp.Expr], rows: exp.Query) -> exp.Select:
    """Return rows with their positions in their partitions, from 1."""
    first = exp.Window(
        this=exp.Min(this=column(POSITION)), partition_by=[key.copy() for key in keys]
    )
    if not keys:
        # never OVER () alone above a UNION ALL
        first.set("partition_by", [exp.true()])
    rank = over_time(exp.RowNumber(), keys, by=(TS, SEQ))
    begin = exp.Coalesce(this=first, expressions=[number(1)])
    position = add(exp.Add(this=begin, expression=rank), -1)
    return exp.select(*[x.copy() for x in listed], named(position, POSITION)).from_(
        rows.subquery("numbered", copy=False), copy=False
    )


def _successor(keys: list[exp.Column], distance: exp.Expr) -> exp.Expr:
    """Return the timestamp of the row that is `distance` rows behind, or FOREVER."""
    row = over_time(exp.Lead(this=column(TS), offset=distance), keys, by=(TS, SEQ))
    return exp.Coalesce(this=row, expressions=[forever()])


def _to_multiple(position: exp.Expr, step: int) -> exp.Expr:
    """Return how far the first multiple of `step` at or after a position is ahead."""
    short = exp.Sub(
        this=number(step), expression=exp.Mod(this=position.copy(), expression=number(step))
    )
    return exp.Mod(this=exp.paren(short), expression=number(step))
