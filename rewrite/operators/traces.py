"""Traces: the log of an operator's elements, from which operators above read its content.

Of tuples that live for one instant only the lifetimes that touch the tick are stored, and no log:
none of them outlives the tick. An input that is in a table already is not copied for the tick.
"""

from __future__ import annotations

from sqlglot import exp

from cqlduck.rewrite.physical.operator import Operator
from cqlduck.rewrite.physical.writer import Writer
from cqlduck.rewrite.plan import Aggregate, Anew, Column, Recompute, Trace, properties
from cqlduck.rewrite.relalg import Rows
from cqlduck.rewrite.relalg.builders import column
from cqlduck.rewrite.relalg.elements import (
    TS,
    WEIGHT,
    after,
    element_names,
    elements_to_lifetimes,
    lifetime_names,
    lifetimes_to_elements,
    parameter,
    state_table,
    until,
)
from cqlduck.rewrite.text.time import Duration


class Moments(Operator[Trace]):
    """What lives for an instant, kept for the tick alone."""

    def keep(self) -> None:
        """Keep the lifetimes that touch the tick."""
        lives = self.writer.lives(self.node.input).query()
        self.writer.delta(self.node, lives, "the tuples of single instants")

    @property
    def is_at_hand(self) -> bool:
        """Whether what begins or ends is read from a temporary table: it is."""
        return True

    def elements(self) -> Rows:
        """Return the elements of the tick."""
        return lifetimes_to_elements(self.lives(), self.node.columns)

    def lives(self) -> Rows:
        """Return the lifetimes that touch the tick."""
        return Rows.of(self.delta_table, lifetime_names(self.node.columns))

    def standing(self) -> Rows:
        """Return nothing: none stands beyond its instant."""
        return self.lives().where(exp.false())


class Log(Operator[Trace]):
    """The log of the input's elements."""

    def keep(self) -> None:
        """Keep the elements of the tick, and append them to the log."""
        columns = (*self.node.columns, Column(TS, "BIGINT"), Column(WEIGHT, "BIGINT"))
        is_stream = properties(self.node).is_stream
        table = self.writer.synopsis(self.node, "trace", columns, is_log=not is_stream)
        if not self._is_kept_below:
            elements = self.writer.elements(self.node.input).query()
            self.writer.delta(self.node, elements, "the elements of the tick")
        append = exp.insert(self.elements().query(), state_table(table))
        self.writer.update(self.node, "append them to the trace", append)

    @property
    def _is_kept_below(self) -> bool:
        return isinstance(self.node.input, (Aggregate, Recompute))

    @property
    def is_at_hand(self) -> bool:
        """Whether what begins or ends is read from a temporary table: it is."""
        return True

    def elements(self) -> Rows:
        """Return the elements of the tick."""
        if self._is_kept_below:
            return self.writer.elements(self.node.input)
        return Rows.of(self.delta_table, element_names(self.node.columns))

    def standing(self) -> Rows:
        """Return the log up to $t0."""
        if properties(self.node).is_stream:
            self.writer.trace_reads_back(self.writer.table(self.node, "trace"), None)
        return elements_to_lifetimes(logged(self.writer, self.node), self.node.columns)

    def rows(
        self, low: exp.Expr | None, high: exp.Expr, span: Duration | None, extra: tuple[str, ...]
    ) -> Rows:
        """Return the elements of a traced stream with `low` < `_ts` ≤ `high`."""
        self.writer.trace_reads_back(self.writer.table(self.node, "trace"), span)
        both = Rows.union([logged(self.writer, self.node), self.elements()])
        conditions = [until(column(TS), high)]
        if low is not None:
            conditions.append(after(column(TS), low))
        return both.where(*conditions, alias="trace")


def logged(writer: Writer, node: Trace | Anew) -> Rows:
    """Return the elements that the trace of a node has from before the tick."""
    log = Rows.of(state_table(writer.table(node, "trace")), element_names(node.columns))
    return log.where(until(column(TS), parameter("t0")))
