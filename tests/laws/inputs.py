"""Inputs by name, and the writer that writes the statements of one operator over them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from sqlglot import exp

from cqlduck.rewrite.operators.leaves import QueryLog, Relation, Stream
from cqlduck.rewrite.physical.form import Form
from cqlduck.rewrite.physical.operator import Operator
from cqlduck.rewrite.physical.writer import Writer
from cqlduck.rewrite.plan import (
    Column,
    Plan,
    Properties,
    RelationScan,
    Source,
    StreamScan,
    bottom_up,
    properties,
    unique,
)
from cqlduck.rewrite.relalg import Rows
from cqlduck.rewrite.relalg.builders import column
from cqlduck.rewrite.relalg.elements import (
    TS,
    after,
    element_names,
    lifetime_names,
    parameter,
    until,
)
from cqlduck.rewrite.statements.choose import ALTERNATIVES, choose, in_ticks
from cqlduck.rewrite.text.time import Clock
from laws.blocks import Given, Law

LEAVES: dict[str, type[Operator[Any]]] = {
    "Relation": Relation, "QueryLog": QueryLog, "Stream": Stream
}  # fmt: skip
"""Operators that read what the catalogue has."""


class NamedRelation(RelationScan):
    """A relation that a block gives."""


class NamedStream(StreamScan):
    """A stream that a block gives."""


def leaf(given: Given) -> Plan:
    """Return the leaf that stands for an input."""
    columns = tuple(Column(name, kind) for name, kind in given.columns)
    kind = "stream" if given.is_stream else "relation"
    is_query = given.facts.get("is_numbered") is False
    source = Source(given.name, kind, columns, given.name, is_query)
    names = tuple(name for name, _ in given.columns)
    made = (NamedStream if given.is_stream else NamedRelation)(source, names)
    known = {"is_stream": True, "is_numbered": True, "is_append_only": True}
    if given.is_stream:
        known["has_unit_elements"] = True
    facts = {name: _frozen(fact) for name, fact in given.facts.items()}
    # where `properties` keeps what it has derived
    kept = f"_{properties.__module__}.{properties.__name__}"
    vars(made)[kept] = Properties(**(known if given.is_stream else {}) | facts)
    return made


def _frozen(fact: object) -> object:
    return frozenset(fact) if isinstance(fact, set) else fact


class Named(Operator[RelationScan]):
    """A relation: a table for each question."""

    def elements(self) -> Rows:
        return Rows.of(self._table("delta_"), element_names(self.node.columns))

    def lives(self) -> Rows:
        return self._lifetimes("lives_")

    def standing(self) -> Rows:
        return self._lifetimes("")

    def alive(self) -> Rows:
        return self._lifetimes("alive_")

    def _lifetimes(self, kind: str) -> Rows:
        return Rows.of(self._table(kind), lifetime_names(self.node.columns))

    def _table(self, kind: str) -> exp.Table:
        return exp.to_table(f"{kind}{self.node.source.name}")


class NamedElements(Operator[StreamScan]):
    """A stream: a table of what comes in the tick, and one of all elements."""

    def elements(self) -> Rows:
        return self._of("delta_", ())

    def rows(
        self, low: exp.Expr | None, high: exp.Expr, span: int | None, extra: tuple[str, ...]
    ) -> Rows:
        if low == parameter("t0") and high == parameter("t1"):
            return self._of("delta_", extra)
        bounds = [] if low is None else [after(column(TS), low)]
        return self._of("", extra).where(*bounds, until(column(TS), high))

    def _of(self, kind: str, extra: tuple[str, ...]) -> Rows:
        table = exp.to_table(f"{kind}{self.node.source.name}")
        return Rows.of(table, [*element_names(self.node.columns), *extra])


class Alone(Writer):
    """Takes the statements of one operator."""

    def reusable(self, node: Plan, name: str, query: exp.Query, purpose: str, **how: bool) -> str:
        """Keep what others may need; it is called after the node, and not by a digest."""
        return self.keep(node, f"_cql_{name}_{self.instance(node)}", query, purpose)


def writer(law: Law, plan: Plan, form: Form) -> Alone:
    """Return a writer to which the operator of a block has written what it keeps.

    Below the operator stand inputs, and what is chosen for other nodes. Tables are called after
    nodes.
    """
    made = Alone("law", plan, Clock("integer"), form)
    made.place = in_ticks(plan, made.clock, form)
    if law.operator != "AtBoundaries":
        made.place.at_boundaries = None
    for position, node in enumerate(unique(plan)):
        made.numbers[id(node)] = position
        made.instances[id(node)] = _name(node, made.instances.values())
        made.operators[id(node)] = _operator(law, node, made)
    whole = made.at_boundaries
    for node in bottom_up(plan) if whole is None else (whole,):
        made.operator(node).keep()
    return made


def _name(node: Plan, taken: Collection[str]) -> str:
    kind = type(node).__name__.lower()
    others = [name for name in taken if name.startswith(kind)]
    return kind if not others else f"{kind}{len(others) + 1}"


def _operator(law: Law, node: Plan, writer: Writer) -> Operator[Any]:
    if law.operator in LEAVES:
        return LEAVES[law.operator](node, writer)
    if isinstance(node, NamedRelation):
        return Named(node, writer)
    if isinstance(node, NamedStream):
        return NamedElements(node, writer)
    if node is not writer.plan or law.operator == "AtBoundaries":
        return choose(node, writer.place).operator(node, writer)
    known = {other.operator.__name__: other.operator for other in ALTERNATIVES[type(node)]}
    # that of a block may be below, and write for the node
    return known.get(law.operator, choose(node, writer.place).operator)(node, writer)
