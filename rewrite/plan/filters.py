"""Pipelined filters: the conjuncts of a selection whose order can be chosen (thesis, chapter 4).

    σ_{F₁ ∧ F₂ ∧ … ∧ Fₙ}(S)        in the order F_f(1), F_f(2), …, F_f(n)

Filters commute: whichever is tested first, the same tuples pass. DuckDB tests comparisons with
constants first, while it scans, and of the others it does not know which one drops more tuples for
its time. So the order of these is a point of choice. They take part if they call a function or
match a pattern, and come before any condition that may raise an error: that one, and all behind it,
stay where they are (`guards`). Of a join those count that are about one of its inputs, the one that
has most of them.

A join drops tuples too. Of an input that each of these tuples meets at most once, by the equality
of a key, it makes nothing more: that is how IN and EXISTS come in, and what is looked up in a
relation by its key. So such an input is a filter as well,

    σ_F(S) ⋉ R  =  σ_F(S ⋉ R)

and F may be tested of what has met it. DuckDB tests F first, always, as far below a join as it can.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from sqlglot import exp

from cqlduck.rewrite.plan import guards
from cqlduck.rewrite.plan.conditions import conjuncts, names_in
from cqlduck.rewrite.plan.join_graph import meets_once, owners, places
from cqlduck.rewrite.plan.nodes import (
    Aggregate,
    Distinct,
    Filter,
    Join,
    Plan,
    Project,
    RowWindow,
    Sample,
    TimeWindow,
)
from cqlduck.rewrite.plan.orders import FILTERS, Order, Site, mark
from cqlduck.rewrite.plan.raising import can_raise, split
from cqlduck.rewrite.plan.sources import RelationScan, StreamScan
from cqlduck.rewrite.plan.traversal import derived_once

_CHEAP = (exp.Cast, exp.TryCast, exp.Coalesce, exp.And, exp.Or, exp.Case, exp.If)
"""Functions to sqlglot that cost no more than a comparison."""

MAX_FILTERS = 62
"""A mask of what drops a tuple is a BIGINT; filters beyond stay where they are."""


@dataclass(frozen=True, eq=False)
class Filters:
    """What drops tuples of an input, in an order that can be chosen.

    Conditions have the first numbers, inputs of the join those behind them.

    Attributes:
        node: The selection, or the join.
        place: Of which of its inputs tuples are dropped.
        conditions: The conditions.
        met: Of a join, the places of inputs that drop what they do not match.
    """

    node: Filter | Join
    place: int
    conditions: tuple[exp.Expr, ...]
    met: tuple[int, ...] = ()

    def __len__(self) -> int:
        """Return how many filters there are."""
        return len(self.conditions) + len(self.met)

    @property
    def input(self) -> Plan:
        """The input whose tuples are dropped."""
        return self.node.children[self.place]

    @cached_property
    def matches(self) -> tuple[tuple[exp.Expr, ...], ...]:
        """Of each input that is met the conditions on it and the tuples, and on it alone."""
        assert isinstance(self.node, Join) or not self.met
        if not isinstance(self.node, Join):
            return ()
        whose, found = owners(self.node), []
        for place in self.met:
            reads = [(part, places(part, whose)) for part in self.node.predicates]
            of_it = [part for part, read in reads if place in read <= {self.place, place}]
            found.append(tuple(of_it))
        return tuple(found)

    def without_inputs(self, order: Order | None) -> Order | None:
        """Return an order in which no condition waits for an input."""
        count = len(self.conditions)
        return None if order is None else tuple(sorted(order, key=lambda at: at >= count))

    def ahead(self, order: Order | None) -> list[exp.Expr]:
        """Return the conditions that are tested before any input is met, in order."""
        behind = self.behind(order)
        numbers = range(len(self.conditions)) if order is None else order
        mine = [self.conditions[at] for at in numbers if at < len(self.conditions)]
        return [part for part in mine if id(part) not in behind]

    def behind(self, order: Order | None) -> Mapping[int, frozenset[int]]:
        """Return by the id of a condition the inputs that are met before it is tested, in order."""
        found: dict[int, frozenset[int]] = {}
        met: set[int] = set()
        for number in order or ():
            if number >= len(self.conditions):
                met.add(self.met[number - len(self.conditions)])
            elif met:
                found[id(self.conditions[number])] = frozenset(met)
        return found


@derived_once
def filters(node: Filter | Join) -> Filters | None:
    """Return what drops tuples in an order that can be chosen; None if there is no choice."""
    types = {c.name: c.type for inner in node.children for c in inner.columns}
    conditions = node.predicates if isinstance(node, Join) else conjuncts(node.predicate)
    early, _ = split(conditions, types)
    costly = _costly(early)
    of_each = [
        [part for part in costly if names_in([part]) <= {c.name for c in inner.columns}]
        for inner in node.children
    ]
    most = max(map(len, of_each))
    if not most:
        return None
    found = [
        Filters(node, place, tuple(mine[:MAX_FILTERS]), _met(node, place)[: MAX_FILTERS - most])
        for place, mine in enumerate(of_each)
        if len(mine) == most
    ]
    chosen = max(found, key=len)
    return chosen if len(chosen) > 1 else None


def _met(node: Filter | Join, place: int) -> tuple[int, ...]:
    """Return the inputs of a join that tuples of one meet once at most, and that can be probed."""
    if not isinstance(node, Join) or guards.may_raise(node):
        return ()
    return tuple(
        other
        for other, plan in enumerate(node.inputs)
        if other != place and meets_once(node, {place}, other) and is_readable(matched(plan))
    )


def matched(plan: Plan) -> Plan:
    """Return an input whose tuples say what an input of a join matches, without a state."""
    while isinstance(plan, Distinct) or (isinstance(plan, Aggregate) and plan.is_distinct):
        plan = plan.input
    return plan


def is_readable(plan: Plan) -> bool:
    """Return whether a probe may read an input: what it has is stored, and it cannot raise.

    A window in rows has a synopsis, which a delta meets before it is brought up to date.
    """
    while isinstance(plan, (Filter, Project, Sample, TimeWindow, RowWindow)):
        if isinstance(plan, Filter) and guards.may_raise(plan):
            return False
        if isinstance(plan, Project):
            types = {c.name: c.type for c in plan.input.columns}
            if any(can_raise(expression, types) for expression in plan.expressions):
                return False
        plan = plan.input
    return isinstance(plan, (StreamScan, RelationScan)) and not plan.source.is_query


def in_text_order(node: Filter | Join) -> list[exp.Expr]:
    """Return the conjunct that may raise an error, and what would be a filter but for that.

    All of it keeps the order of the text. None where no other order could be chosen without.
    """
    types = {c.name: c.type for inner in node.children for c in inner.columns}
    conditions = node.predicates if isinstance(node, Join) else conjuncts(node.predicate)
    _, late = split(conditions, types)
    costly = _costly(conditions)
    behind = [part for part in costly if any(part is one for one in late[1:])]
    if len(costly) < 2 or not (behind or any(part is late[0] for part in costly if late)):
        return []
    return [late[0], *behind]


def _costly(conditions: Sequence[exp.Expr]) -> list[exp.Expr]:
    """Return those that take long; what reads no column drops all tuples or none."""
    return [part for part in conditions if names_in([part]) and _is_costly(part)]


def _is_costly(condition: exp.Expr) -> bool:
    return any(
        isinstance(part, (exp.Like, exp.ILike))
        or (isinstance(part, exp.Func) and not isinstance(part, _CHEAP))
        for part in condition.walk()
    )


def restriction(node: Filter, number: int, order: Order | None) -> exp.Expr:
    """Return the condition of a selection for WHERE.

    Args:
        node: The selection.
        number: Its operator's number, with which conditions are marked.
        order: The order of its filters; None leaves it to DuckDB.
    """
    return guards.restriction(node, lambda ahead: arranged(node, number, order, ahead))


def arranged(
    node: Filter | Join, number: int, order: Order | None, conditions: Sequence[exp.Expr]
) -> list[exp.Expr]:
    """Return conditions of an operator with its filters in order, if they are all among them.

    Those are left out that wait until an input is met.

    Args:
        node: The operator.
        number: Its number, with which conditions are marked.
        order: The order of its filters; None leaves it to DuckDB.
        conditions: Some of its conjuncts.
    """
    chosen = filters(node)
    if chosen is None:
        return list(conditions)
    waiting, ahead = chosen.behind(order), chosen.ahead(order)
    mine = {id(part) for part in ahead}
    others = [part for part in conditions if id(part) not in mine | waiting.keys()]
    if not mine <= {id(part) for part in conditions}:
        return [part for part in conditions if id(part) not in waiting]
    marked = [part.copy() for part in ahead]
    if order is not None and marked:
        marked = [guards.nested(marked)]
    return [*others, *(mark(part, Site(FILTERS, number)) for part in marked)]
