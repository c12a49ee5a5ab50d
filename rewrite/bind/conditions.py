"""Conditions of WHERE and of joins, and the join of plans under them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from cqlduck.errors import BindError
from cqlduck.rewrite.bind import current_time
from cqlduck.rewrite.bind.catalog import Catalog
from cqlduck.rewrite.bind.scope import Scope, resolve
from cqlduck.rewrite.plan import During, Filter, Join, Plan, Project, UnionAll, properties
from cqlduck.rewrite.plan.aggregates import aggregate_calls
from cqlduck.rewrite.plan.conditions import conjuncts
from cqlduck.rewrite.plan.not_incremental import NotIncremental
from cqlduck.rewrite.plan.raising import can_raise
from cqlduck.rewrite.relalg.builders import over_nothing
from cqlduck.rewrite.text.parsed import place_of


def conditions_of(
    tree: exp.Expr, scope: Scope, aliases: Mapping[str, exp.Expr] | None = None
) -> list[exp.Expr]:
    """Return the conjuncts of ON or WHERE over the columns of the combined relation."""
    conditions: list[exp.Expr] = []
    for conjunct in conjuncts(tree):
        for part in current_time.split(conjunct):
            timed = current_time.mentions(part)
            resolved = resolve(part, scope, aliases, timed=timed)
            conditions += [resolved] if timed else conjuncts(resolved)
    return conditions


def no_aggregate(catalog: Catalog, tree: exp.Expr, clause: str) -> None:
    """Refuse an aggregate in a clause that has none."""
    for call in aggregate_calls(tree, catalog.aggregates):
        raise BindError(
            f"{clause} cannot contain an aggregate",
            hint="put the condition into HAVING",
            offset=place_of(call),
        )


def inner_join(catalog: Catalog, plans: Sequence[Plan], conditions: Sequence[exp.Expr]) -> Plan:
    """Return the inner join of one or more plans under the conditions.

    Comparisons with the current time restrict the lifetimes of the plan that they are about,
    or of the join if they are about several. None is about what stands before it in the text
    and may raise.
    """
    plans = list(plans)
    types = safe_types(plans)
    first = next((n for n, c in enumerate(conditions) if _may_fail(c, types)), None)
    for number, condition in enumerate(conditions):
        if first is not None and number > first and current_time.mentions(condition):
            inner = inner_join(catalog, plans, conditions[:number])
            return inner_join(
                catalog, [_during(catalog, inner, [condition])], conditions[number + 1 :]
            )
    plain = [c for c in conditions if not current_time.mentions(c)]
    safe = [c for c in conditions[:first] if not current_time.mentions(c)]
    above: list[exp.Expr] = []
    placed: dict[int, list[exp.Expr]] = {}
    for condition in conditions:
        if current_time.mentions(condition):
            owners = [i for i, plan in enumerate(plans) if _reads(condition, plan)]
            if len(owners) > 1:
                above.append(condition)
            else:
                placed.setdefault(owners[0] if owners else 0, []).append(condition)
    for place, timed in placed.items():
        others = [p for i, p in enumerate(plans) if i != place]
        own = [c for c in safe if not any(_reads(c, other) for other in others)]
        safe = [c for c in safe if c not in own]
        plain = [c for c in plain if c not in own]
        inner = Filter(plans[place], exp.and_(*own)) if own else plans[place]
        plans[place] = _during(catalog, inner, timed)
    whole = plans[0]
    if len(plans) > 1:
        whole = Join(tuple(plans), tuple(plain))
    elif plain:
        whole = Filter(whole, exp.and_(*plain))
    return _during(catalog, whole, above) if above else whole


def _during(catalog: Catalog, plan: Plan, conditions: list[exp.Expr]) -> Plan:
    """Return a relation's tuples at the instants at which comparisons with τ are true.

    Raises:
        NotIncremental: One of them is no comparison of τ, plus or minus constants.
    """
    clock = catalog.clock
    begins: list[exp.Expr] = []
    ends: list[exp.Expr] = []
    for condition in conditions:
        known = current_time.compared(condition, clock)
        if known is None:
            raise NotIncremental("the current time in an expression", offset=place_of(condition))
        typed = over_nothing(plan.columns, [known.value, condition])
        kind = catalog.describe(typed.sql("duckdb"))[0].type
        if not current_time.is_exact(known, kind, clock):
            raise NotIncremental("the current time in an expression", offset=place_of(condition))
        begin, end = current_time.lifetime(known, kind, clock)
        begins += [begin] if begin is not None else []
        ends += [end] if end is not None else []
        if end is not None and isinstance(known.value, exp.Column):
            plan = current_time.bounded(plan, known.value.name, current_time.reach(known, clock))
    return During(plan, tuple(begins), tuple(ends), tuple(conditions))


def _may_fail(condition: exp.Expr, types: Mapping[str, str]) -> bool:
    """Return whether a condition may raise, or what it compares the current time with."""
    if not current_time.mentions(condition):
        return can_raise(condition, types)
    sides = [side for side in condition.iter_expressions() if not current_time.mentions(side)]
    return any(can_raise(side, types) for side in sides)


def _reads(expression: exp.Expr, plan: Plan) -> bool:
    """Return whether an expression reads a column of a plan."""
    names = {c.name for c in plan.columns}
    return any(node.name in names for node in expression.find_all(exp.Column))


def may_raise(plans: Sequence[Plan], trees: Sequence[exp.Expr]) -> bool:
    """Return whether one of some expressions over plans may raise an error.

    Comparisons with the current time are not looked at: they become lifetimes.
    """
    types = safe_types(plans)
    return any(can_raise(tree, types) for tree in trees if not current_time.mentions(tree))


def safe_types(plans: Sequence[Plan]) -> dict[str, str]:
    """Return the types of the columns of plans, without those that may raise themselves.

    A column of a subquery is evaluated where it is read, if it may raise (`postpone`).
    """
    late = set().union(*map(_late_columns, plans))
    return {c.name: c.type for plan in plans for c in plan.columns if c.name not in late}


def _late_columns(plan: Plan) -> set[str]:
    match plan:
        case Project():
            types = safe_types([plan.input])
            pairs = zip(plan.expressions, plan.columns, strict=True)
            return {known.name for value, known in pairs if can_raise(value, types)}
        case Filter() | During():
            return set() if properties(plan).is_stream else _late_columns(plan.input)
        case UnionAll() | Join():
            return set().union(*map(_late_columns, plan.inputs))
        case _:
            return set()
