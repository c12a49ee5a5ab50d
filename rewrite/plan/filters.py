"""Pipelined filters: the conjuncts of a selection whose order can be chosen (thesis, chapter 4).

    σ_{F₁ ∧ F₂ ∧ … ∧ Fₙ}(S)        in the order F_f(1), F_f(2), …, F_f(n)

Filters commute: whichever is tested first, the same tuples pass. DuckDB tests comparisons with
constants first, while it scans, and of the others it does not know which one drops more tuples for
its time. So the order of these is a point of choice. They take part if they call a function or
match a pattern, and come before any condition that may raise an error: that one, and all behind it,
stay where they are (`guards`).
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from cqlduck.rewrite.plan import guards
from cqlduck.rewrite.plan.conditions import conjuncts
from cqlduck.rewrite.plan.nodes import Filter
from cqlduck.rewrite.plan.raising import split

_MARK = "filters"
"""What a condition is marked with in which filters are tested, among the notes of its node."""

_CHEAP = (exp.Cast, exp.TryCast, exp.Coalesce, exp.And, exp.Or, exp.Case, exp.If)
"""Functions to sqlglot that cost no more than a comparison."""

MAX_FILTERS = 62
"""A mask of what drops a tuple is a BIGINT; filters beyond stay where they are."""

Order = tuple[int, ...]
"""The filters by number, from 0, in the order in which they are tested."""


def filters(node: Filter) -> list[exp.Expr]:
    """Return the conjuncts whose order can be chosen; none if there are not several."""
    types = {c.name: c.type for c in node.input.columns}
    early, _ = split(conjuncts(node.predicate), types)
    costly = [part for part in early if _is_costly(part)][:MAX_FILTERS]
    return costly if len(costly) > 1 else []


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
    chosen = filters(node)
    if not chosen:
        return guards.restriction(node)
    marked = [part.copy() for part in chosen]
    if order is not None:
        marked = [guards.nested([marked[place] for place in order])]
    for part in marked:
        part.meta[_MARK] = number
    mine = {id(part) for part in chosen}
    return guards.restriction(
        node, lambda ahead: [*(part for part in ahead if id(part) not in mine), *marked]
    )


def tested_in(tree: exp.Expr) -> frozenset[int]:
    """Return the numbers of the operators whose filters a statement tests."""
    return frozenset(node.meta[_MARK] for node in tree.walk() if node.meta.get(_MARK) is not None)


def is_order(numbers: Sequence[int], count: int) -> bool:
    """Return whether numbers are an order of so many filters."""
    return sorted(numbers) == list(range(count))
