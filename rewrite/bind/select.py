"""A SELECT whose parts all have laws."""

from __future__ import annotations

from sqlglot import exp

from cqlduck.errors import BindError, NotSupportedError
from cqlduck.rewrite.bind import collations
from cqlduck.rewrite.bind.bodies.growth import is_monotonic
from cqlduck.rewrite.bind.conditions import no_aggregate
from cqlduck.rewrite.bind.context import Context, Ctes
from cqlduck.rewrite.bind.from_clause import bind_from
from cqlduck.rewrite.bind.grouping import aggregate, grouping_sets, union_of
from cqlduck.rewrite.bind.having import keys_of_having, resolve_having
from cqlduck.rewrite.bind.marks import ByPartners, as_grown, can_only_grow
from cqlduck.rewrite.bind.projection import project
from cqlduck.rewrite.bind.scalars import bind_scalars
from cqlduck.rewrite.bind.scope import Scope
from cqlduck.rewrite.bind.select_list import select_list
from cqlduck.rewrite.bind.subqueries import bind_where
from cqlduck.rewrite.plan import Distinct, Plan
from cqlduck.rewrite.plan.aggregates import aggregate_calls
from cqlduck.rewrite.plan.conditions import names_in
from cqlduck.rewrite.plan.not_incremental import NotIncremental
from cqlduck.rewrite.text.parsed import place_of


def incremental(context: Context, tree: exp.Select, ctes: Ctes) -> Plan:
    """Return the plan of a SELECT all of whose parts have delta rules.

    Raises:
        NotIncremental: One of them has none.
        ByPartners: It has marks, and may be cheaper if it is recomputed by keys.
    """
    _refuse_clauses(tree)
    if collations.is_beside_grouping(tree):
        raise NotIncremental("COLLATE beside a subquery or a join", offset=place_of(tree))
    scope = Scope(volatile=context.catalog.volatile)
    conditions = bind_from(context, tree, scope, ctes)
    if not tree.expressions:
        raise BindError("SELECT lists no columns", hint="write SELECT *, or FROM alone")
    grows = is_monotonic(tree, context.catalog.aggregates)
    values = bind_scalars(context, tree, scope, ctes)
    listed, aliases = select_list(context, tree, scope)
    where = tree.args.get("where")
    if where is not None:
        no_aggregate(context.catalog, where.this, "WHERE")
    group, having = tree.args.get("group"), tree.args.get("having")
    shown = [e for _, e in listed] + [link for v in values if v.mark for link in v.links]
    calls = [c for e in shown for c in aggregate_calls(e, context.catalog.aggregates)]
    sets = grouping_sets(context.catalog, tree, scope, listed, aliases)
    by_all = group is not None and bool(group.args.get("all"))
    if having is not None:
        known = [] if by_all else [key for keys in sets for key in keys]
        aggregates = context.catalog.aggregates
        having = resolve_having(having.this, scope, aliases, known, aggregates)
        if by_all:
            sets = [[*sets[0], *keys_of_having(having, aggregates)]]
    if (group is not None and not by_all) or sets != [[]] or calls or having is not None:
        if having is not None:
            calls += aggregate_calls(having, context.catalog.aggregates)
        below = names_in([*calls, *(key for keys in sets for key in keys)])
        below |= set() if where is None else names_in([where])
        above = [v for v in values if not {v.name, *names_in([v.value])} & below]
        # what GROUP BY ALL takes for a key among subqueries, DuckDB alone knows
        if any(v.links and not v.mark for v in above) or (values and by_all):
            raise NotIncremental("a subquery in an expression", offset=place_of(tree))
        others = [v for v in values if v not in above]
        plan = bind_where(context, where, scope, conditions, aliases, ctes, others)
        try:
            plans = [
                aggregate(context.catalog, plan, s, sets, listed, having, above, context.partners)
                for s in sets
            ]
        except BindError as error:
            if not any(v.mark for v in others):
                raise
            # a mark of tuples, which is none of the groups
            raise NotIncremental("a subquery in an expression", offset=place_of(tree)) from error
        plan = union_of(context.catalog, plans)
    else:
        plan = bind_where(context, where, scope, conditions, aliases, ctes, values)
        plan = project(context.catalog, plan, listed)
    plan = plan if tree.args.get("distinct") is None else Distinct(plan)
    if any(v.mark for v in values):
        plan = as_grown(context.catalog, plan) if grows and can_only_grow(plan) else plan
        if all(v.is_correlated if v.mark else v.links for v in values):
            raise ByPartners(plan)
    return plan


def _refuse_clauses(tree: exp.Select) -> None:
    distinct = tree.args.get("distinct")
    if distinct is not None and distinct.args.get("on"):
        raise NotIncremental("DISTINCT ON", offset=place_of(tree))
    for part in ("limit", "offset", "qualify", "windows", "laterals"):
        if tree.args.get(part):
            raise NotIncremental(part.upper(), offset=place_of(tree))
    refused = {
        "sample": "USING SAMPLE is not supported",
        "into": "SELECT INTO is not supported",
        "locks": "locking clauses are not supported",
    }
    for part, message in refused.items():
        if tree.args.get(part):
            raise NotSupportedError(message, hint="leave the clause out", offset=place_of(tree))
