"""An operator: its synopses, and how its delta follows from its inputs' deltas.

A node of a logical plan says what is computed; an operator is one way to do so (`choose` selects
it). It has a file of its own, with its law in the docstring, and answers the questions of the
operators above:

* `elements`: its delta in the tick ($t0, $t1];
* `lives`: the same as lifetimes, of all tuples that begin or end in the tick;
* `standing`: the lifetimes that cover $t0 and reach beyond $t1;
* `alive`: all lifetimes that touch the tick, which is `standing` and `lives` together;
* `rows`, of a stream alone: the elements between any two instants.

Elements and lifetimes follow from each other, so an operator has to implement one of them. It asks
its inputs through the writer: a reader between ticks (`at_rest`) answers some questions otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Generic, TypeVar

from sqlglot import exp

from cqlduck.rewrite.explain import kind_of
from cqlduck.rewrite.physical.arrivals import prefetch
from cqlduck.rewrite.physical.identity import identity
from cqlduck.rewrite.physical.statement import Statement, Synopsis
from cqlduck.rewrite.physical.writer import Writer
from cqlduck.rewrite.plan import Plan, Properties, properties
from cqlduck.rewrite.relalg import Rows
from cqlduck.rewrite.relalg.elements import elements_to_lifetimes, lifetimes_to_elements, temp_table
from cqlduck.rewrite.text.time import Duration

Node = TypeVar("Node", bound=Plan, covariant=True)


class Operator(Generic[Node]):
    """One way to run a node of a plan.

    Args:
        node: The node.
        writer: Takes the statements, and knows the other operators.
    """

    def __init__(self, node: Node, writer: Writer) -> None:
        """Write nothing yet."""
        self.node = node
        self.writer = writer

    # -- what it is ----------------------------------------------------------------------------

    @property
    def id(self) -> str:
        """What it computes, whatever its columns are called and whichever options run."""
        return identity(self.node).id

    @property
    def kind(self) -> str:
        """Its kind, in the paper's word."""
        return kind_of(self.node)

    @property
    def inputs(self) -> Sequence[Plan]:
        """The nodes that it reads; the writer has their operators."""
        return self.node.children

    @property
    def properties(self) -> Properties:
        """What is known of its relation or stream."""
        return properties(self.node)

    @property
    def synopses(self) -> Sequence[Synopsis]:
        """What it keeps between ticks."""
        number = self.writer.number(self.node)
        return [synopsis for synopsis in self.writer.synopses if synopsis.operator == number]

    @property
    def deltas(self) -> Sequence[Statement]:
        """Its statements from which those above it read: they run in the order of the tick."""
        number = self.writer.number(self.node)
        return [statement for statement in self.writer.statements if statement.operator == number]

    @property
    def upkeep(self) -> Sequence[Statement]:
        """Its statements that bring its own synopses up to date.

        They read these and temporary tables of the tick alone, so they may run whenever all deltas
        of the tick have run, and before those of the next one.
        """
        number = self.writer.number(self.node)
        return [statement for statement in self.writer.updates if statement.operator == number]

    @property
    def points(self) -> frozenset[str]:
        """The points of choice at which its statements are ('stages', 'prefetch')."""
        found = {"stages" for one in self.deltas if one.is_stage}
        return frozenset(found | {"prefetch" for one in self.deltas if prefetch(one.tree)})

    # -- what it writes and answers ------------------------------------------------------------

    def keep(self) -> None:
        """Write what is made once a tick, and what is kept between ticks; by default nothing."""

    @property
    def delta_table(self) -> exp.Table:
        """The temporary table that `keep` has made for the tick."""
        return temp_table(self.writer.deltas[id(self.node)])

    @property
    def is_at_hand(self) -> bool:
        """Whether what begins or ends is read from temporary tables as it is."""
        return False

    def elements(self) -> Rows:
        """Return (columns, `_ts`, `_weight`): the changes in the tick."""
        return lifetimes_to_elements(self.writer.lives(self.node), self.node.columns)

    def lives(self) -> Rows:
        """Return (columns, `_cql_enter`, `_cql_leave`, `_weight`): what begins or ends."""
        return elements_to_lifetimes(self.writer.elements(self.node), self.node.columns)

    def staged_lives(self) -> Rows | None:
        """Return the same where the inputs' is kept for the tick; None if it is kept itself."""
        return None

    def begins(self) -> Rows:
        """Return the lifetimes that begin in the tick: of a window in time, or part of it."""
        raise AssertionError(f"{type(self).__name__} is no window in time")

    def row_log(self) -> Rows:
        """Return the rows of a window in rows that come or go in the tick, with lifetimes."""
        raise AssertionError(f"{type(self).__name__} is no window in rows")

    def standing(self) -> Rows:
        """Return (columns, `_cql_enter`, `_cql_leave`, `_weight`): what neither begins nor ends."""
        raise AssertionError(f"{type(self).__name__} keeps no state of its own")

    def alive(self) -> Rows:
        """Return (columns, `_cql_enter`, `_cql_leave`, `_weight`): all that touches the tick."""
        return Rows.union([self.writer.standing(self.node), self.writer.lives(self.node)])

    def alive_of(self, asked: Rows, by: Mapping[str, str]) -> Rows:
        """Return the same; of tuples that equal none of those asked for, some may be missing.

        Args:
            asked: The keys that are asked for, each once.
            by: By column of the tuples, the column of the keys that it is compared with.
        """
        return self.writer.alive(self.node)

    def rows(
        self, low: exp.Expr | None, high: exp.Expr, span: Duration | None, extra: tuple[str, ...]
    ) -> Rows:
        """Return the elements of a stream with `low` < `_ts` ≤ `high`.

        Args:
            low: After which instant; None is from the first one on.
            high: Up to which instant.
            span: How many instants before $t0 that can reach (None: without bound).
            extra: Columns of the store that are wanted besides.
        """
        raise AssertionError(f"{type(self).__name__} keeps no elements")

    def answer(self) -> Rows | None:
        """Return (columns, `_weight`): the relation after the tick, if a synopsis holds it.

        Each row is one tuple, so its weight is 1.
        """
        return None
