"""Subqueries in WHERE that test for a partner: EXISTS, IN, ANY and ALL.

A conjunct of WHERE has to be true, so unknown counts as false:

    EXISTS (Q)          semijoin                 NOT EXISTS (Q)      antijoin
    x IN (Q)            semijoin on x = y        x NOT IN (Q)        three semijoins, with NULLs
    x < ANY (Q)         semijoin on x < y        NOT x < ANY (Q)     antijoin, x < y not false
    x < ALL (Q)         antijoin, x < y not true NOT x < ALL (Q)     semijoin on NOT x < y

The subquery may name columns of the outer query in its own WHERE, and have subqueries of its own
there. In other places they are truth values (`marks`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from sqlglot import exp

from cqlduck.errors import BindError
from cqlduck.rewrite.bind import current_time
from cqlduck.rewrite.bind.conditions import (
    conditions_of,
    inner_join,
    may_raise,
    no_aggregate,
    safe_types,
)
from cqlduck.rewrite.bind.context import Context, Ctes, Scalar
from cqlduck.rewrite.bind.from_clause import bind_from
from cqlduck.rewrite.bind.scope import Item, Merged, Scope, asking_around, resolve
from cqlduck.rewrite.plan import Column, Join, Plan
from cqlduck.rewrite.plan.aggregates import aggregate_calls
from cqlduck.rewrite.plan.conditions import COMPARISONS, conjuncts, names_in, without_parens
from cqlduck.rewrite.plan.not_incremental import NotIncremental
from cqlduck.rewrite.plan.raising import split
from cqlduck.rewrite.relalg.builders import column, renamed
from cqlduck.rewrite.text.parsed import has_operator, place_of, unwrapped

_STRICT = (
    exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Neg, exp.Paren, exp.Column, exp.Identifier, exp.Literal,
)  # fmt: skip
"""With comparisons what is NULL as soon as one of its columns is."""


@dataclass(frozen=True)
class Test:
    """A test against a subquery: `left comparison quantifier (query)`, or EXISTS without `left`."""

    query: exp.Query
    negated: bool
    left: exp.Expr | None = None
    comparison: type[exp.Expr] = exp.EQ
    every: bool = False


class _InOrder(Exception):
    """A condition may raise, so what stands before it in the text has to be applied before it."""


def bind_where(
    context: Context,
    clause: exp.Expr | None,
    scope: Scope,
    conditions: Sequence[exp.Expr],
    aliases: Mapping[str, exp.Expr],
    ctes: Ctes,
    scalars: Sequence[Scalar] = (),
) -> Plan:
    """Return the join of a scope's plans, and of `scalars`, under conditions and a WHERE clause.

    Raises:
        NotIncremental: A subquery that is no such test.
    """
    parts: list[exp.Expr | Test] = []
    for written in [] if clause is None else conjuncts(clause.this):
        if written.find(exp.Query) is None:
            parts += conditions_of(written, scope, aliases)
        else:
            parts.append(test_of(written))
    tests = sorted((part for part in parts if isinstance(part, Test)), key=_removes)
    around = _Around(context, scope, aliases, ctes)
    try:
        plain = [part for part in parts if not isinstance(part, Test)]
        first = [*conditions, *plain]
        return _applied(around, first, scalars, tests, in_order=not tests)
    except _InOrder:
        return _applied(around, conditions, scalars, parts, in_order=True)


@dataclass(frozen=True)
class _Around:
    """Where a WHERE clause stands."""

    context: Context
    scope: Scope
    aliases: Mapping[str, exp.Expr]
    ctes: Ctes


def _applied(
    around: _Around,
    first: Sequence[exp.Expr],
    scalars: Sequence[Scalar],
    parts: Sequence[exp.Expr | Test],
    *,
    in_order: bool,
) -> Plan:
    """Return the join of a scope's plans under conditions, with what yields values, under parts.

    Raises:
        _InOrder: A condition may raise, or that of a test, and the parts are not in order.
    """
    context = around.context
    plans, conditions = list(around.scope.plans), list(first)
    for scalar in scalars:
        _add(context, scalar, plans, conditions)
    if not in_order and may_raise(plans, conditions):
        raise _InOrder
    for part in parts:
        if not isinstance(part, Test):
            conditions.append(part)
            continue
        inner, value, partners = bound(context, part, around.scope, around.ctes)
        left = None if part.left is None else resolve(part.left, around.scope, around.aliases)
        if left is not None and value is not None:
            compared = part.comparison(this=left, expression=value)
            if not _removes(part):
                partners.append(exp.not_(compared) if part.every else compared)
            elif part.every or part.comparison is not exp.EQ:
                partners.append(_is_not(compared, part.every))
        _check(partners, [*plans, inner], part)
        is_risky = may_raise([*plans, inner], partners)
        if is_risky and not in_order:
            raise _InOrder
        if not _removes(part):
            if may_raise(plans, conditions):
                # these are about tuples of FROM, whether they have a partner or not
                plans, conditions = [inner_join(context.catalog, plans, conditions)], []
            if is_risky:
                near = inner_join(context.catalog, plans, conditions)
            else:
                near = _near(context, plans, conditions, names_in(partners))
            met, links = context.partners.matches(near, inner, partners)
            plans.append(met)
            conditions += links
            continue
        whole = inner_join(context.catalog, plans, conditions)
        if left is not None and value is not None and _is_in(part):
            plans = [context.partners.not_in(whole, inner, (left, value), partners)]
        else:
            plans = [context.partners.anti(whole, inner, partners)]
        conditions = []
    return inner_join(context.catalog, plans, conditions)


def _add(context: Context, scalar: Scalar, plans: list[Plan], conditions: list[exp.Expr]) -> None:
    """Join what yields a value to the plans of a FROM clause."""
    if not scalar.links and not scalar.mark:
        plans.append(scalar.plan)
        return
    known = {c.name for plan in plans for c in plan.columns}
    ready = [c for c in conditions if names_in([c]) <= known]
    if may_raise([*plans, scalar.plan], conditions):
        ready = list(takewhile(lambda c: names_in([c]) <= known, conditions))
    whole = inner_join(context.catalog, plans, ready)
    if scalar.mark:
        plans[:] = [context.partners.marked(whole, scalar.plan, scalar.links, scalar.mark)]
        conditions[:] = [c for c in conditions if not any(c is done for done in ready)]
        return
    if not context.partners.meets_one(whole, scalar.plan, scalar.links):
        raise NotIncremental("a subquery in an expression")
    values = {c.name for c in scalar.plan.columns}
    if _needs_one_of(values, conditions) and not may_raise([*plans, scalar.plan], conditions):
        plans[:] = [Join((whole, scalar.plan), scalar.links)]
    else:
        plans[:] = [context.partners.outer(whole, scalar.plan, scalar.links, "LEFT")]
    conditions[:] = [c for c in conditions if not any(c is done for done in ready)]


def _needs_one_of(values: set[str], conditions: Sequence[exp.Expr]) -> bool:
    """Return whether conditions are not true if certain columns are NULL.

    Comparisons and arithmetic are NULL then, so tuples without a partner need not be padded.
    """
    return any(
        isinstance(condition, COMPARISONS)
        and names_in([condition]) & values
        and all(isinstance(node, (*COMPARISONS, *_STRICT)) for node in condition.walk())
        for condition in conditions
    )


def test_of(written: exp.Expr) -> Test:
    """Return the test that an expression is.

    Raises:
        NotIncremental: It is none.
    """
    negated, node = False, without_parens(written)
    while isinstance(node, exp.Not):
        negated, node = not negated, without_parens(node.this)
    test: Test | None = None
    if isinstance(node, exp.Exists):
        test = Test(_query_of(node.this), negated)
    elif isinstance(node, exp.In) and node.args.get("query") is not None:
        test = Test(_query_of(node.args["query"]), negated, node.this)
    elif isinstance(node, COMPARISONS) and isinstance(node.expression, (exp.Any, exp.All)):
        every = isinstance(node.expression, exp.All)
        query = node.expression.this
        if isinstance(query, (exp.Query, exp.Paren)):
            test = Test(_query_of(query), negated, node.this, type(node), every)
    if (
        test is None
        or (test.left is not None and test.left.find(exp.Query) is not None)
        or isinstance(test.left, exp.Tuple)
    ):
        raise NotIncremental("a subquery in an expression", offset=place_of(written))
    if test.every and test.comparison is exp.NEQ:
        return replace(test, negated=not negated, comparison=exp.EQ, every=False)
    return test


def _query_of(tree: exp.Expr) -> exp.Query:
    query = unwrapped(tree)
    if not isinstance(query, exp.Query):
        raise NotIncremental("a subquery in an expression", offset=place_of(tree))
    return query


def _removes(test: Test) -> bool:
    """Return whether partners take a tuple away, rather than keep it."""
    return test.negated != test.every


def _is_in(test: Test) -> bool:
    return test.left is not None and not test.every and test.comparison is exp.EQ


def _is_not(compared: exp.Expr, value: bool) -> exp.Expr:
    return exp.not_(exp.Is(this=exp.paren(compared), expression=exp.Boolean(this=value)))


def _check(conditions: list[exp.Expr], plans: list[Plan], test: Test) -> None:
    known = {c.name for plan in plans for c in plan.columns}
    timed = any(current_time.mentions(condition) for condition in conditions)
    if timed or not names_in(conditions) <= known:
        raise NotIncremental("a subquery in an expression", offset=place_of(test.query))


def _near(context: Context, plans: list[Plan], conditions: list[exp.Expr], read: set[str]) -> Plan:
    """Return the join of those plans that have the columns which are read."""
    some = [plan for plan in plans if read & {c.name for c in plan.columns}] or plans[:1]
    known = {c.name for plan in some for c in plan.columns}
    return inner_join(
        context.catalog, some, [c for c in conditions if names_in([c]) <= known and names_in([c])]
    )


def bound(
    context: Context, test: Test, scope: Scope, ctes: Ctes
) -> tuple[Plan, exp.Expr | None, list[exp.Expr]]:
    """Return the subquery's relation, the value that it yields, and how it is correlated."""
    query = test.query.copy()
    if isinstance(query, exp.Select) and has_operator(query):
        raise NotIncremental("a subquery in an expression", offset=place_of(query))
    if isinstance(query, exp.Select) and _is_plain(context, query, test):
        plan, values, partners = correlated(context, query, scope, ctes)
        return plan, None if test.left is None else values[0], partners
    with asking_around(scope, "a subquery in an expression"):
        plan = context.relation(query, ctes, test.query)
    names = [context.partners.unique_name() for _ in plan.columns]
    columns = tuple(Column(n, c.type) for n, c in zip(names, plan.columns, strict=True))
    plan = renamed(plan, columns)
    if test.left is None:
        return plan, None, []
    if len(columns) != 1:
        raise BindError(
            f"the subquery yields {len(columns)} columns, and is compared with one",
            hint="select one column in it",
            offset=place_of(test.query),
        )
    return plan, column(names[0]), []


def _is_plain(context: Context, query: exp.Select, test: Test) -> bool:
    """Return whether a subquery is FROM and WHERE, so that only its rows count."""
    for part in ("with_", "group", "having", "limit", "offset", "qualify", "windows", "laterals"):
        if query.args.get(part):
            return False
    distinct = query.args.get("distinct")
    if distinct is not None and distinct.args.get("on"):
        return False
    for written in query.expressions:
        if any(True for _ in aggregate_calls(written, context.catalog.aggregates)):
            return False
        if written.find(exp.Query, exp.Window, exp.Unnest, exp.Explode, exp.Columns):
            return False
    if test.left is None:
        return True
    return len(query.expressions) == 1 and query.expressions[0].find(exp.Star) is None


def correlated(
    context: Context, query: exp.Select, scope: Scope, ctes: Ctes
) -> tuple[Plan, list[exp.Expr], list[exp.Expr]]:
    """Return FROM and WHERE of a subquery, its values, and what names columns around it."""
    inner = Scope(volatile=scope.volatile, around=scope)
    with asking_around(scope, "a subquery in an expression"):
        conditions = bind_from(context, query, inner, ctes)
    conditions = _unclash(inner, conditions)
    clause = query.args.get("where")
    if any(listed.find(exp.Query) is not None for listed in query.expressions):
        raise NotIncremental("a subquery in an expression", offset=place_of(query))
    scalars = context.scalars(query, inner, ctes)
    aliases: dict[str, exp.Expr] = {}
    plans = [*inner.plans, *(scalar.plan for scalar in scalars)]
    marks = {scalar.mark: "BOOLEAN" for scalar in scalars if scalar.mark}
    known = {c.name for plan in plans for c in plan.columns}
    if not names_in([link for scalar in scalars for link in scalar.links]) <= known:
        raise NotIncremental("a subquery in an expression", offset=place_of(query))
    nested: list[exp.Expr] = []
    for written in [] if clause is None else conjuncts(clause.this):
        no_aggregate(context.catalog, written, "WHERE")
        if written.find(exp.Query) is not None:
            nested.append(written)
        else:
            conditions += conditions_of(written, inner, aliases)
    # a condition that may raise is applied to rows of the subquery that meet a row around it
    types = safe_types([*plans, *inner.plans_around()]) | marks
    early, _ = split(conditions, types)
    own = [c for c in early if names_in([c]) <= known.union(marks)]
    partners = [c for c in conditions if not any(c is mine for mine in own)]
    again = exp.Where(this=exp.and_(*nested)) if nested else None
    plan = bind_where(context, again, inner, own, aliases, ctes, scalars)
    listed = [e.this if isinstance(e, exp.Alias) else e for e in query.expressions]
    values = [resolve(e, inner, aliases) for e in listed if not e.is_star]
    return plan, values, partners


def _unclash(scope: Scope, conditions: list[exp.Expr]) -> list[exp.Expr]:
    """Rename the columns of a scope that one around it has too; return the conditions renamed."""
    taken: set[str] = set()
    around = scope.around
    depth = 0
    while around is not None:
        taken |= {c.name for plan in around.plans for c in plan.columns}
        around, depth = around.around, depth + 1
    old = {c.name for plan in scope.plans for c in plan.columns} & taken
    if not old:
        return conditions

    def unlike(known: Column) -> Column:
        return Column(f"{known.name} in {depth}", known.type) if known.name in old else known

    for place, plan in enumerate(scope.plans):
        columns = tuple(unlike(c) for c in plan.columns)
        if columns != plan.columns:
            scope.plans[place] = renamed(plan, columns)
    scope.items = [
        Item(item.alias, item.plan, tuple((public, unlike(c)) for public, c in item.names))
        for item in scope.items
    ]
    scope.merged = {
        name: [Merged(unlike(m.value), [*map(unlike, m.columns)], unlike(m.right)) for m in known]
        for name, known in scope.merged.items()
    }
    made = [c.copy() for c in conditions]
    for condition in made:
        for node in list(condition.find_all(exp.Column)):
            if node.name in old:
                node.set("this", exp.to_identifier(f"{node.name} in {depth}", quoted=True))
    return made
