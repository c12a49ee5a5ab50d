"""Pipelined filters: the conjuncts of a selection whose order can be chosen (thesis, chapter 4).

    σ_{F₁ ∧ F₂ ∧ … ∧ Fₙ}(S)        in the order F_f(1), F_f(2), …, F_f(n)

Filters commute: whichever is tested first, the same tuples pass. DuckDB tests comparisons with
constants first, while it scans, and of the others it does not know which one drops more tuples for
its time. So the order of these is a point of choice. They take part if they call a function or
match a pattern, and come before any condition that may raise an error: that one, and all behind it,
stay where they are (`guards`). Of a join those count that are about one of its inputs, the one that
has most of them.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from cqlduck.rewrite.plan import guards
from cqlduck.rewrite.plan.conditions import conjuncts, names_in
from cqlduck.rewrite.plan.nodes import Filter, Join, Plan
from cqlduck.rewrite.plan.orders import FILTERS, Order, Site, mark
from cqlduck.rewrite.plan.raising import split

_CHEAP = (exp.Cast, exp.TryCast, exp.Coalesce, exp.And, exp.Or, exp.Case, exp.If)
"""Functions to sqlglot that cost no more than a comparison."""

MAX_FILTERS = 62
"""A mask of what drops a tuple is a BIGINT; filters beyond stay where they are."""


def filters(node: Filter | Join) -> list[exp.Expr]:
    """Return the conjuncts whose order can be chosen; none if there are not several.

    They are all about one input, in which the tuples are that they are tested on.
    """
    types = {c.name: c.type for inner in node.children for c in inner.columns}
    conditions = node.predicates if isinstance(node, Join) else conjuncts(node.predicate)
    early, _ = split(conditions, types)
    costly = _costly(early)
    of_each = [
        [part for part in costly if names_in([part]) <= {c.name for c in inner.columns}]
        for inner in node.children
    ]
    most = max(of_each, key=len)[:MAX_FILTERS]
    return most if len(most) > 1 else []


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


def tested(node: Filter | Join) -> Plan:
    """Return the input whose tuples the filters of an operator are tested on."""
    names = names_in(filters(node))
    return next(inner for inner in node.children if names <= {c.name for c in inner.columns})


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

    Args:
        node: The operator.
        number: Its number, with which conditions are marked.
        order: The order of its filters; None leaves it to DuckDB.
        conditions: Some of its conjuncts.
    """
    chosen = filters(node)
    mine = {id(part) for part in chosen}
    if not chosen or not mine <= {id(part) for part in conditions}:
        return list(conditions)
    marked = [part.copy() for part in chosen]
    if order is not None:
        marked = [guards.nested([marked[place] for place in order])]
    for part in marked:
        mark(part, Site(FILTERS, number))
    return [*(part for part in conditions if id(part) not in mine), *marked]
