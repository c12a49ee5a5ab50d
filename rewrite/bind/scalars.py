"""Scalar subqueries: aggregates without GROUP BY, or over the partners of a tuple.

    x > (SELECT avg(v) FROM S)                    a join with γ(S), which always has one tuple
    (SELECT sum(v) FROM S WHERE S.k = R.k)        R ⟕ γ_k(S) on k

Without a partner the value is that of the aggregates over an empty input: 0 for a count, else NULL.

In a grouped query, a scalar subquery outside of aggregates and keys is joined to the groups.
"""

from __future__ import annotations

from sqlglot import exp

from cqlduck.errors import BindError
from cqlduck.rewrite.bind import current_time
from cqlduck.rewrite.bind.context import Context, Ctes, Scalar
from cqlduck.rewrite.bind.grouping import group_by
from cqlduck.rewrite.bind.marks import bind_marks
from cqlduck.rewrite.bind.scope import Scope
from cqlduck.rewrite.bind.subqueries import correlated
from cqlduck.rewrite.plan import Column
from cqlduck.rewrite.plan.aggregates import aggregate_calls, aggregate_core
from cqlduck.rewrite.plan.conditions import names_in
from cqlduck.rewrite.plan.not_incremental import NotIncremental
from cqlduck.rewrite.relalg.builders import column, renamed
from cqlduck.rewrite.text.parsed import has_operator, place_of, unwrapped

OVER_NOTHING = ("count", "sum", "avg", "min", "max")
"""Aggregates whose value over nothing is known: 0 for count, NULL for the others."""


def bind_scalars(context: Context, tree: exp.Select, scope: Scope, ctes: Ctes) -> list[Scalar]:
    """Put values into the places of a SELECT's scalar subqueries, and return what yields them.

    The scope then knows the values by the names that are left in the tree.

    Raises:
        NotIncremental: A subquery that is no aggregate, or is correlated by more than equalities.
    """
    taken = bind_marks(context, tree, scope, ctes)
    parts = [*tree.expressions, tree.args.get("where"), tree.args.get("having")]
    for part in [part for part in parts if part is not None]:
        for node in list(part.find_all(exp.Subquery)):
            if not _is_value(node, tree):
                continue
            if part.arg_key == "expressions" and not isinstance(part, exp.Alias):
                raise NotIncremental("a subquery in an expression", offset=place_of(node))
            scalar = _scalar(context, node, scope, ctes)
            scope.values[scalar.name] = scalar.value
            node.replace(column(scalar.name))
            taken.append(scalar)
    return taken


def _is_value(node: exp.Subquery, tree: exp.Select) -> bool:
    around = node.parent
    while isinstance(around, (exp.Paren, exp.Subquery)):
        around = around.parent
    if isinstance(around, (exp.In, exp.Any, exp.All, exp.Exists, exp.From, exp.Join, exp.Tuple)):
        return False
    return node.find_ancestor(exp.Select) is tree and isinstance(unwrapped(node), exp.Select)


def _scalar(context: Context, node: exp.Subquery, scope: Scope, ctes: Ctes) -> Scalar:
    refused = NotIncremental("a subquery in an expression", offset=place_of(node))
    query = unwrapped(node.copy())
    assert isinstance(query, exp.Select)
    parts = ("group", "having", "limit", "offset", "qualify", "windows", "laterals", "distinct")
    if has_operator(query) or len(query.expressions) != 1:
        raise refused
    if any(query.args.get(part) for part in parts):
        raise refused
    (written,) = query.expressions
    aggregates = context.catalog.aggregates
    if written.find(exp.Window, exp.Unnest, exp.Explode, exp.Columns) is not None:
        raise refused
    if next(iter(aggregate_calls(written, aggregates)), None) is None:
        raise refused
    try:
        plan = context.relation(query.copy(), ctes, node)
    except BindError as error:
        if error.missing is None or not scope.knows(error.missing):
            raise
    else:
        name = context.partners.unique_name()
        (only,) = plan.columns
        return Scalar(name, renamed(plan, (Column(name, only.type),)), column(name))
    if query.args.get("with_"):
        raise refused
    return _grouped(context, query, scope, ctes, refused)


def _grouped(
    context: Context, query: exp.Select, scope: Scope, ctes: Ctes, refused: NotIncremental
) -> Scalar:
    """Return the aggregates of a correlated subquery by what it is correlated by."""
    plan, (value,), links = correlated(context, query, scope, ctes)
    inner = {c.name for c in plan.columns}
    pairs: list[tuple[type[exp.Expr], exp.Expr, exp.Expr]] = []
    for link in links:
        if not isinstance(link, (exp.EQ, exp.NullSafeEQ)) or current_time.mentions(link):
            raise refused
        own, other = link.this, link.expression
        if not names_in([own]) <= inner:
            own, other = other, own
        if not names_in([own]) or not names_in([own]) <= inner or names_in([other]) & inner:
            raise refused
        pairs.append((type(link), own, other))
    if not names_in([value]) <= inner or not pairs or current_time.mentions(value):
        raise refused
    grouped, (shown,), calls = group_by(
        context.catalog, plan, [own for _, own, _ in pairs], [value]
    )
    if len(grouped.keys) != len(pairs) or not names_in([shown]) <= {call.name for call in calls}:
        raise refused
    names = {c.name: context.partners.unique_name() for c in grouped.columns}
    columns = tuple(Column(names[c.name], c.type) for c in grouped.columns)
    for call in calls:
        core = aggregate_core(call.call)
        kind = core.key
        if kind not in OVER_NOTHING:
            raise refused
        for read in list(shown.find_all(exp.Column)):
            if read.name == call.name:
                found: exp.Expr = column(names[call.name])
                if kind == "count":
                    found = exp.Coalesce(this=found, expressions=[exp.Literal.number(0)])
                if read is shown:
                    shown = found
                else:
                    read.replace(found)
    met = [
        kind(this=other.copy(), expression=column(names[key]))
        for (kind, _, other), key in zip(pairs, grouped.keys, strict=True)
    ]
    name = context.partners.unique_name()
    return Scalar(name, renamed(grouped, columns), shown, tuple(met))
