"""Guards: conditions are tested in the order of their text if one of them may raise an error.

DuckDB tests conjuncts in the order that it finds best: comparisons with constants first, while it
scans a table. So a condition that may raise, and all after it, stand in a CASE, which tests one
condition after the other, and each only where those before it are true:

    p ∧ q ∧ r  =  p ∧ CASE WHEN p THEN CASE WHEN q THEN r ELSE false END ELSE false END

where q may raise. The conditions before it are outside too, so that DuckDB skips rows that do not
meet them. So are those that a statement itself adds, such as the instants of a tick: they come
first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from sqlglot import exp

from cqlduck.rewrite.plan.aggregates import aggregate_core
from cqlduck.rewrite.plan.conditions import conjuncts
from cqlduck.rewrite.plan.nodes import Filter, Join
from cqlduck.rewrite.plan.raising import can_raise, split

_MARK = "guard"
"""What the CASE of a guard is marked with, among the notes of its node."""

_AROUND_ARGUMENTS = (exp.Distinct, exp.IgnoreNulls, exp.RespectNulls, exp.Order, exp.Ordered)
"""What stands between the call of an aggregate and its arguments."""


def may_raise(node: Filter | Join) -> bool:
    """Return whether a condition of an operator may raise."""
    types = {c.name: c.type for inner in node.children for c in inner.columns}
    conditions = node.predicates if isinstance(node, Join) else [node.predicate]
    return any(can_raise(condition, types) for condition in conditions)


def nested(conditions: Iterable[exp.Expr]) -> exp.Expr:
    """Return what is true where all conditions are, each tested where those before it are true."""
    inner: exp.Expr | None = None
    for condition in reversed(list(conditions)):
        tested = condition.copy()
        if inner is not None:
            case = exp.Case().when(tested, inner, copy=False)
            tested = case.else_(exp.false(), copy=False)
        inner = tested
    return exp.true() if inner is None else inner


def ordered(predicate: exp.Expr, types: Mapping[str, str]) -> exp.Expr:
    """Return a condition that may raise as one expression that is tested in order."""
    return nested(conjuncts(predicate)) if can_raise(predicate, types) else predicate


def filtered(call: exp.Expr, types: Mapping[str, str]) -> exp.Expr:
    """Return the call of an aggregate whose arguments are evaluated where its FILTER is true.

        f(x) FILTER (WHERE p)  =  f(CASE WHEN p THEN x END) FILTER (WHERE p)     where x may raise

    Args:
        call: A call, with or without FILTER.
        types: The types of the columns, by name.
    """
    call = call.copy()
    if not isinstance(call, exp.Filter):
        return call
    condition = ordered(call.expression.this, types)
    call.expression.set("this", condition.copy())
    for value in list(arguments(call.this)):
        if can_raise(value, types):
            value.replace(exp.Case().when(condition.copy(), value.copy()))
    return call


def arguments(call: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the arguments of an aggregate that differ from row to row, and what orders them."""
    core = aggregate_core(call)
    around = [call]
    while around:
        for child in around.pop().iter_expressions():
            if child is core or isinstance(child, _AROUND_ARGUMENTS):
                around.append(child)
            elif not isinstance(child, (exp.Star, exp.Lambda)) and child.find(exp.Column):
                yield child


def restriction(
    node: Filter, arranged: Callable[[Sequence[exp.Expr]], Sequence[exp.Expr]] = tuple
) -> exp.Expr:
    """Return the condition of a filter for WHERE, in order if it may raise.

    Args:
        node: The filter.
        arranged: How the conjuncts are arranged that come before any that may raise.
    """
    types = {c.name: c.type for c in node.input.columns}
    safe, guarded = split(conjuncts(node.predicate), types)
    early = [part.copy() for part in arranged(safe)]
    if not guarded:
        return exp.and_(*early)
    return exp.and_(*early, _guard(early, nested(guarded)))


def order_guards(select: exp.Select) -> None:
    """Put all that WHERE says of an item besides ahead of what may raise there, in place.

    Args:
        select: A SELECT in whose WHERE guards of several filters may have come together.
    """
    clause = select.args.get("where")
    parts = [] if clause is None else conjuncts(clause.this)
    guards = [part for part in parts if part.meta.get(_MARK)]
    if clause is None or not guards:
        return
    others = [part for part in parts if not part.meta.get(_MARK)]
    is_joined = bool(select.args.get("joins"))
    made: list[exp.Expr] = []
    for read in dict.fromkeys(_items(guard) if is_joined else frozenset() for guard in guards):
        mine = [guard for guard in guards if not is_joined or _items(guard) == read]
        ahead = [part for part in others if not is_joined or _items(part) <= read]
        tested = [guard.args["ifs"][0].args["true"] for guard in mine]
        made.append(_guard(ahead, nested(tested)) if ahead else nested(tested))
    clause.set("this", exp.and_(*others, *made))


def without(condition: exp.Expr, is_left_out: Callable[[exp.Expr], bool]) -> exp.Expr:
    """Return a condition; if it is a guard, without some of what stands ahead in it."""
    if not condition.meta.get(_MARK):
        return condition
    branch = condition.args["ifs"][0]
    ahead = [part for part in conjuncts(branch.this) if not is_left_out(part)]
    return _guard(ahead, branch.args["true"]) if ahead else branch.args["true"]


def _guard(ahead: Sequence[exp.Expr], tested: exp.Expr) -> exp.Expr:
    first = exp.and_(*(part.copy() for part in ahead)) if ahead else exp.true()
    guard = exp.Case().when(first, tested).else_(exp.false())
    guard.meta[_MARK] = True
    return guard


def _items(tree: exp.Expr) -> frozenset[str]:
    """Return the items of FROM that an expression reads."""
    return frozenset(c.table for c in tree.find_all(exp.Column))
