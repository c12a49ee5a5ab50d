"""Operators without state: selection, projection, union and difference.

    Δ(σ R) = σ ΔR        Δ(π R) = π ΔR        Δ(R + S) = ΔR + ΔS        Δ(R − S) = ΔR − ΔS

The same holds for standing lifetimes, so each answers every question by asking its inputs the same
one. None writes a table: they compose into the SELECT of the operator above (`relalg`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from sqlglot import exp

from cqlduck.rewrite.physical.operator import Node, Operator
from cqlduck.rewrite.plan import Difference, Filter, Plan, Project, UnionAll, filters
from cqlduck.rewrite.plan.orders import FILTERS, Site
from cqlduck.rewrite.relalg import Rows
from cqlduck.rewrite.relalg.builders import column
from cqlduck.rewrite.relalg.elements import ENTER, LEAVE, TS, WEIGHT, named, references
from cqlduck.rewrite.text.time import Duration

LIFETIME = (ENTER, LEAVE, WEIGHT)

Ask = Callable[[Plan], Rows]

OneInput = TypeVar("OneInput", Filter, Project)


class Linear(Operator[Node]):
    """An operator whose every answer is made of its inputs' answers to the same question."""

    def of(self, ask: Ask, time: tuple[str, ...]) -> Rows:
        """Return the answer to a question.

        Args:
            ask: What is asked of each input.
            time: The columns that answers have besides those of the node, the weight last.
        """
        raise NotImplementedError

    def elements(self) -> Rows:
        """Return the changes in the tick."""
        return self.of(self.writer.elements, (TS, WEIGHT))

    def lives(self) -> Rows:
        """Return what begins or ends."""
        return self.of(self.writer.lives, LIFETIME)

    def staged_lives(self) -> Rows | None:
        """Return what begins or ends; expressions stay outside of the stages."""
        return self.of(self.writer.staged_lives, LIFETIME)

    def standing(self) -> Rows:
        """Return what neither begins nor ends."""
        return self.of(self.writer.standing, LIFETIME)

    def alive(self) -> Rows:
        """Return all that touches the tick."""
        return self.of(self.writer.alive, LIFETIME)


class LinearInOne(Linear[OneInput]):
    """The same of one input, which may be a window in time, or have its answer in a synopsis."""

    def begins(self) -> Rows:
        """Return the lifetimes that begin in the tick, of a window in time."""
        return self.of(self.writer.begins, LIFETIME)

    def answer(self) -> Rows | None:
        """Return the answer to what the input's synopsis holds, if it does."""
        inner = self.writer.answer(self.node.input)
        return None if inner is None else self.of(lambda _: inner, (WEIGHT,))


class Selection(LinearInOne[Filter]):
    """Tuples that meet a condition."""

    @property
    def condition(self) -> exp.Expr:
        """The condition for WHERE, its filters in the order that is chosen."""
        number = self.writer.number(self.node)
        return filters.restriction(self.node, number, self.writer.form.order(Site(FILTERS, number)))

    def of(self, ask: Ask, time: tuple[str, ...]) -> Rows:
        """Return those of the input's that meet it."""
        return ask(self.node.input).where(self.condition)

    def rows(
        self, low: exp.Expr | None, high: exp.Expr, span: Duration | None, extra: tuple[str, ...]
    ) -> Rows:
        """Return the elements of the stream that meet the condition."""
        inner = self.writer.rows(self.node.input, low, high, span=span, extra=extra)
        return inner.where(self.condition, alias="stream")


class Projection(LinearInOne[Project]):
    """Expressions over each tuple."""

    def of(self, ask: Ask, time: tuple[str, ...]) -> Rows:
        """Return them over the input's."""
        listed = [
            named(expression, known.name)
            for expression, known in zip(self.node.expressions, self.node.columns, strict=True)
        ]
        return ask(self.node.input).project([*listed, *map(column, time)])

    def alive_of(self, asked: Rows, by: Mapping[str, str]) -> Rows:
        """Return them over what the input has of the keys, if these are columns of it."""
        pairs = zip(self.node.columns, self.node.expressions, strict=True)
        found = {c.name: e.name for c, e in pairs if isinstance(e, exp.Column)}
        if not by.keys() <= found.keys():
            return super().alive_of(asked, by)
        inner = {found[mine]: theirs for mine, theirs in by.items()}
        return self.of(lambda node: self.writer.alive_of(node, asked, inner), LIFETIME)


class Union(Linear[UnionAll]):
    """The tuples of all inputs, weights added up."""

    def of(self, ask: Ask, time: tuple[str, ...]) -> Rows:
        """Return those of all inputs."""
        return Rows.union([ask(inner) for inner in self.node.inputs])


class Minus(Linear[Difference]):
    """The tuples of one input, and with the opposite weight those of the other."""

    def of(self, ask: Ask, time: tuple[str, ...]) -> Rows:
        """Return both, those of the right input with the opposite weight."""
        *kept, weight = time
        less = named(exp.Neg(this=column(weight)), weight)
        gone = [*references(self.node.columns), *map(column, kept), less]
        return Rows.union([ask(self.node.left), ask(self.node.right).project(gone, "less")])
