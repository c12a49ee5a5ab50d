"""EXISTS, IN, ANY and ALL as truth values: under OR and NOT, in CASE, the SELECT list, HAVING.

A tuple gets a column that says whether it has a partner, its mark:

    mark (L, R)  =  (L ⋉ R) × {true}  +  (L ▷ R) × {false}

`x < ANY (Q)` is true with a partner y for which x < y is true; else it is unknown if some y is
NULL, or x is NULL and there is any y; else it is false. So it takes up to three marks, or one where
unknown may count as false, as in WHERE under AND and OR. ALL is NOT ANY of the opposite comparison.
What is not correlated and compares nothing is one tuple, which a join puts beside all others.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from cqlduck.errors import BindError
from cqlduck.rewrite.bind import current_time
from cqlduck.rewrite.bind.bodies.growth import is_monotonic
from cqlduck.rewrite.bind.catalog import Catalog
from cqlduck.rewrite.bind.conditions import no_aggregate, safe_types
from cqlduck.rewrite.bind.context import Context, Ctes, Scalar
from cqlduck.rewrite.bind.grouping import group_by
from cqlduck.rewrite.bind.projection import project
from cqlduck.rewrite.bind.scope import Scope, resolve
from cqlduck.rewrite.bind.subqueries import Test, bound, test_of
from cqlduck.rewrite.bind.windows import to_stream
from cqlduck.rewrite.plan import (
    Difference,
    Distinct,
    Filter,
    Join,
    Plan,
    Project,
    Recompute,
    RowWindow,
    StreamScan,
    TimeWindow,
    Trace,
    UnionAll,
    properties,
)
from cqlduck.rewrite.plan.aggregates import aggregate_calls
from cqlduck.rewrite.plan.conditions import COMPARISONS, conjuncts, names_in, without_parens
from cqlduck.rewrite.plan.not_incremental import NotIncremental
from cqlduck.rewrite.plan.raising import can_raise
from cqlduck.rewrite.relalg.builders import column, over_nothing
from cqlduck.rewrite.relalg.elements import is_null
from cqlduck.rewrite.text.parsed import aliases_of, place_of

_OPPOSITE: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.EQ: exp.NEQ,
    exp.NEQ: exp.EQ,
    exp.LT: exp.GTE,
    exp.LTE: exp.GT,
    exp.GT: exp.LTE,
    exp.GTE: exp.LT,
}


def bind_marks(context: Context, tree: exp.Select, scope: Scope, ctes: Ctes) -> list[Scalar]:
    """Put values into the places of a SELECT's tests for partners; return what yields them.

    Those that are conjuncts of WHERE stay: they are semijoins and antijoins.

    Raises:
        NotIncremental: A test that is no mark, or may raise an error.
    """
    taken: list[Scalar] = []
    where, having = tree.args.get("where"), tree.args.get("having")
    whole = set() if where is None else {id(_inside(c)) for c in conjuncts(where.this)}
    grows: bool | None = None
    for part in [*tree.expressions, where, having]:
        for node in [] if part is None else list(part.walk()):
            if not is_test(node) or id(node) in whole or node.find_ancestor(exp.Select) is not tree:
                continue
            refused = NotIncremental("a subquery in an expression", offset=place_of(node))
            if part.arg_key == "expressions" and not isinstance(part, exp.Alias):
                raise refused
            left = exp.null() if isinstance(node, exp.Exists) else node.this
            if part is where:
                no_aggregate(context.catalog, left, "WHERE")
            aliases = set(aliases_of(tree)) if part is having else set()
            if any(c.name.lower() in aliases for c in left.find_all(exp.Column)):
                raise refused
            grows = is_monotonic(tree, context.catalog.aggregates) if grows is None else grows
            made, value = _Mark(context, scope, ctes, refused, grows).of(node)
            scope.values[made[0].name] = value
            node.replace(column(made[0].name))
            taken += made
    return taken


def is_test(node: exp.Expr) -> bool:
    """Return whether an expression asks a subquery for a partner."""
    if isinstance(node, exp.Exists):
        return True
    if isinstance(node, exp.In):
        return node.args.get("query") is not None
    inner = node.expression if isinstance(node, COMPARISONS) else None
    return isinstance(inner, (exp.Any, exp.All)) and inner.find(exp.Query) is not None


def _inside(conjunct: exp.Expr) -> exp.Expr:
    node = without_parens(conjunct)
    while isinstance(node, exp.Not):
        node = without_parens(node.this)
    return node


def _asks_for_truth(node: exp.Expr) -> bool:
    """Return whether it makes no difference if an expression is unknown or false."""
    inner, around = node, node.parent
    while isinstance(around, (exp.And, exp.Or, exp.Paren)):
        inner, around = around, around.parent
    if isinstance(around, exp.If):
        case = around.parent
        return around.this is inner and not (isinstance(case, exp.Case) and case.this)
    return isinstance(around, (exp.Where, exp.Having))


class _Mark:
    """Makes the value of one test."""

    def __init__(
        self, context: Context, scope: Scope, ctes: Ctes, refused: NotIncremental, grows: bool
    ) -> None:
        self.context = context
        self.scope = scope
        self.ctes = ctes
        self.refused = refused
        self.grows = grows
        self.name = context.partners.unique_name()
        self.made: list[Scalar] = []
        self.is_correlated = False

    def of(self, node: exp.Expr) -> tuple[list[Scalar], exp.Expr]:
        """Return what yields the value of a test, and the value."""
        test = test_of(node)
        plan, value, partners = bound(self.context, test, self.scope, self.ctes)
        own = {c.name for c in plan.columns}
        reads_around = value is not None and not names_in([value]) <= own
        self.is_correlated = bool(partners) or reads_around
        if value is None or test.left is None:
            self.check(plan, partners)
            found = self.any(plan, partners)
        else:
            found, test = self.compared(node, test, plan, value, partners)
        return self.made, exp.not_(exp.paren(found)) if test.negated else found

    def compared(
        self, node: exp.Expr, test: Test, plan: Plan, value: exp.Expr, partners: list[exp.Expr]
    ) -> tuple[exp.Expr, Test]:
        """Return whether a comparison with some value is true, and the test that this answers."""
        comparison = test.comparison
        if test.every:
            comparison = _OPPOSITE[comparison]
            test = Test(test.query, not test.negated, test.left)
        try:
            assert test.left is not None
            left = resolve(test.left, self.scope)
        except BindError as error:
            raise self.refused from error  # it may name an alias
        condition = comparison(this=left, expression=value)
        self.check(plan, [*partners, condition])
        found = self.mark(plan, [*partners, condition])
        if not test.negated and _asks_for_truth(node):
            return found, test
        known = {n for p in self.scope.plans for n in properties(p).not_null}
        has_value = isinstance(value, exp.Column) and value.name in properties(plan).not_null
        has_left = isinstance(left, exp.Column) and left.name in known
        if has_value and has_left:
            return found, test
        some, nulls = self.unknown(plan, value, partners, has_value=has_value, has_left=has_left)
        unknown = exp.or_(exp.and_(is_null(left), some), nulls)
        case = exp.Case().when(found, exp.true()).when(unknown, exp.null())
        return case.else_(exp.false()), test

    def unknown(
        self,
        plan: Plan,
        value: exp.Expr,
        partners: list[exp.Expr],
        *,
        has_value: bool,
        has_left: bool,
    ) -> tuple[exp.Expr, exp.Expr]:
        """Return whether there is anything to compare with, and whether a NULL is among it."""
        if not self.is_correlated and not self.grows:
            return self.counted(plan, is_null(value))
        some = exp.false() if has_left else self.mark(plan, partners)
        return some, exp.false() if has_value else self.mark(plan, [*partners, is_null(value)])

    def any(self, plan: Plan, partners: list[exp.Expr]) -> exp.Expr:
        """Return whether there is a partner."""
        if partners or self.grows:
            return self.mark(plan, partners)
        return self.counted(plan, exp.false())[0]

    def counted(self, plan: Plan, test: exp.Expr) -> tuple[exp.Expr, exp.Expr]:
        """Return whether there is a tuple, and one that meets a test: columns of one tuple.

        Duplicate elimination first: how many there are changes at each of them, and the rest not.
        """
        catalog = self.context.catalog
        flags = Distinct(project(catalog, plan, [("flag", test)]))
        count = exp.Count(this=exp.Star())
        those = exp.Filter(this=count.copy(), expression=exp.Where(this=column("flag")))
        grouped, shown, _ = group_by(catalog, flags, [], [count, those])
        names = [self.context.partners.unique_name() for _ in shown]
        zero = exp.Literal.number(0)
        listed = [
            (name, exp.GT(this=value, expression=zero.copy()))
            for name, value in zip(names, shown, strict=True)
        ]
        one = project(catalog, grouped, list(listed))
        some, found = (column(name) for name in names)
        self.made.append(Scalar(self.name, one, exp.and_(some.copy(), found.copy())))
        return some, found

    def mark(self, plan: Plan, conditions: list[exp.Expr]) -> exp.Expr:
        """Return the column that says whether a tuple has a partner."""
        mark = self.context.partners.unique_name()
        links = tuple(condition.copy() for condition in conditions)
        self.made.append(Scalar(self.name, plan, column(mark), links, mark, self.is_correlated))
        return column(mark)

    def check(self, plan: Plan, conditions: list[exp.Expr]) -> None:
        """Refuse what reads anything but FROM and the subquery, or may raise.

        Raises:
            NotIncremental: Of such a condition.
        """
        plans = [*self.scope.plans, plan]
        known = {c.name for p in plans for c in p.columns}
        timed = any(current_time.mentions(condition) for condition in conditions)
        if timed or not names_in(conditions) <= known:
            raise self.refused
        if not conditions:
            return
        types = safe_types(plans)
        tested = exp.paren(exp.and_(*(condition.copy() for condition in conditions)))
        for place, call in enumerate(aggregate_calls(tested, self.context.catalog.aggregates)):
            # what an aggregate raises is raised whoever reads it
            columns = [c for p in plans for c in p.columns]
            query = over_nothing(columns, [call])
            ((_, kind),) = self.context.catalog.described(query.sql("duckdb")) or [("", "")]
            types[f"call{place}"] = kind
            call.replace(column(f"call{place}"))
        if can_raise(tested, types):
            raise self.refused


class ByPartners(NotIncremental):
    """A SELECT all of whose subqueries are correlated: recomputed by keys it is cheaper.

    Args:
        plan: Its plan with marks, for where there are no keys.
    """

    def __init__(self, plan: Plan) -> None:
        """Take down the plan."""
        super().__init__("a subquery in an expression")
        self.plan = plan


# -- monotonic queries -----------------------------------------------------------------------------


def as_grown(catalog: Catalog, plan: Plan) -> Plan:
    """Return a relation that can only grow so that it is known: all tuples of its Istream."""
    return TimeWindow(to_stream(catalog, plan, "istream"), None)


def can_only_grow(plan: Plan) -> bool:
    """Return whether a plan of marks that none negates only grows: if all its inputs do."""
    return all(
        properties(node).is_monotonic
        for node in _above_windows(plan)
        if not isinstance(node, (Difference, Distinct, Filter, Join, Project, Trace, UnionAll))
    )


def _above_windows(plan: Plan) -> Iterator[Plan]:
    """Yield the nodes of a plan, and none below its windows and what is recomputed."""
    left = [plan]
    while left:
        node = left.pop()
        yield node
        if not isinstance(node, (TimeWindow, RowWindow, StreamScan, Recompute)):
            left += node.children
