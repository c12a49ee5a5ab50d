"""What LIMIT and OFFSET choose from keeps the laws that it has.

Where that is the result of GROUP BY, DISTINCT or a set operation, it is the whole query without
them, and one input of the recomputed query:

    top_k (γ (R ⋈ S))          top_k recomputed over the groups, and these incremental
    top_k (δ (R + S))          top_k recomputed over the union, and this incremental

Ties are broken by all columns of the result. Where a name or a place may mean something else then,
the query stays whole.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from cqlduck.errors import BindError
from cqlduck.rewrite.bind.below import (
    BELOW,
    CHOOSING,
    CLAUSES,
    JOINED,
    has_only,
    is_plain,
    over_places,
    parts,
    place_of_alias,
    result_of,
)
from cqlduck.rewrite.bind.bodies.inputs import Inputs
from cqlduck.rewrite.bind.context import Context, Ctes
from cqlduck.rewrite.bind.ordering import Combined, Result
from cqlduck.rewrite.bind.scope import Item
from cqlduck.rewrite.plan import Plan
from cqlduck.rewrite.plan.aggregates import aggregate_calls
from cqlduck.rewrite.plan.conditions import without_parens
from cqlduck.rewrite.plan.not_incremental import NotIncremental
from cqlduck.rewrite.relalg.builders import column


def chosen_from(
    context: Context, tree: exp.Select, ctes: Ctes, inputs: Inputs
) -> exp.Select | None:
    """Make what LIMIT and OFFSET choose from an input, where that is a result of its own.

    Args:
        context: Binds the query without these clauses.
        tree: A SELECT.
        ctes: What FROM sees.
        inputs: Gets the input.

    Returns:
        The SELECT over this input, or None if there is no such result.
    """
    if not (tree.args.get("limit") or tree.args.get("offset")):
        return None
    distinct = tree.args.get("distinct")
    aggregates = context.catalog.aggregates
    is_grouped = tree.args.get("group") is not None or any(
        True for e in tree.expressions for _ in aggregate_calls(e, aggregates)
    )
    if not has_only(tree, CLAUSES) or not (distinct or is_grouped):
        return None
    if (distinct and distinct.args.get("on")) or tree.args.get("qualify"):
        return None
    if any(part.find(exp.Window) for part in parts(tree, CLAUSES - JOINED)):
        return None
    if not all(map(is_plain, parts(tree, CHOOSING))):
        return None
    try:
        return _Chosen(context, tree, ctes).over(inputs, is_distinct=bool(distinct))
    except (NotIncremental, BindError):
        return None


def chosen_from_sides(
    context: Context, tree: exp.SetOperation, ctes: Ctes, inputs: Inputs
) -> exp.Select | None:
    """Make a set operation under LIMIT and OFFSET an input.

    Args:
        context: Binds it.
        tree: The set operation, with these clauses.
        ctes: What its sides see.
        inputs: Gets the input.

    Returns:
        The SELECT over this input, or None if there is none.
    """
    if not (tree.args.get("limit") or tree.args.get("offset")):
        return None
    if not all(map(is_plain, parts(tree, CHOOSING))):
        return None
    inner = tree.copy()
    for part in CHOOSING:
        inner.set(part, None)
    try:
        plan = context.query(inner, ctes)
    except (NotIncremental, BindError):
        return None
    order = tree.args.get("order")
    terms = _terms_of_sides(order, tree, plan)
    return None if terms is None else _choice(tree, plan, len(plan.columns), terms, inputs)


def _terms_of_sides(
    order: exp.Order | None, tree: exp.SetOperation, plan: Plan
) -> list[exp.Expr] | None:
    """Return the terms of ORDER BY over `c0`, `c1`, …, or None if the result does not have them."""
    names = [c.name for c in plan.columns]
    result = Combined(tree, names, order)
    terms: list[exp.Expr] = []
    for term in [] if order is None else order.expressions:
        value = without_parens(term.this) if isinstance(term, exp.Ordered) else term
        if value.sql("duckdb").upper() == "ALL" or isinstance(value, exp.Literal):
            terms.append(term.copy())
            continue
        found = over_places(value, result, names)
        if found is None or found.find(exp.Window):
            return None
        chosen = term.copy()
        chosen.set("this", found)
        terms.append(chosen)
    return terms


def _choice(
    tree: exp.Query, plan: Plan, count: int, terms: list[exp.Expr], inputs: Inputs
) -> exp.Select:
    """Return the choice from a result, which becomes an input.

    Args:
        tree: The query, with its LIMIT and OFFSET.
        plan: What they choose from.
        count: How many of its columns are shown.
        terms: Those of ORDER BY, over `c0`, `c1`, ….
        inputs: Gets the input.
    """
    pairs = tuple((f"c{place}", known) for place, known in enumerate(plan.columns))
    shown = [exp.alias_(column(public), known.name, quoted=True) for public, known in pairs[:count]]
    body = exp.select(*shown, copy=False).from_(inputs.add(Item(BELOW, plan, pairs)), copy=False)
    for part in ("limit", "offset"):
        value = tree.args.get(part)
        body.set(part, None if value is None else value.copy())
    if terms:
        body.set("order", exp.Order(expressions=terms))
    return body


class _Chosen:
    """A SELECT with what it is chosen from."""

    def __init__(self, context: Context, tree: exp.Select, ctes: Ctes) -> None:
        self.context = context
        self.tree = tree
        self.ctes = ctes
        self.more: list[exp.Expr] = []
        """What ORDER BY reads and the SELECT list has not."""

    def over(self, inputs: Inputs, *, is_distinct: bool) -> exp.Select | None:
        """Return the choice over the result, which becomes an input; None if it needs more."""
        inner = self.tree.copy()
        for part in CHOOSING:
            inner.set(part, None)
        if is_distinct:
            plan = self.context.query(inner, self.ctes)
            result = result_of(self.context, self.tree, self.ctes)
            terms = self._terms([c.name for c in plan.columns], None, result)
        else:
            is_fixed = not any(e.is_star for e in self.tree.expressions)
            names = [e.alias_or_name for e in self.tree.expressions]
            terms = self._terms(names, len(names) if is_fixed else None)
            if terms is not None:
                inner.set("expressions", [*inner.expressions, *self.more])
                plan = self.context.query(inner, self.ctes)
        if terms is None:
            return None
        return _choice(self.tree, plan, len(plan.columns) - len(self.more), terms, inputs)

    def _terms(
        self, names: Sequence[str], count: int | None, result: Result | None = None
    ) -> list[exp.Expr] | None:
        """Return the terms of ORDER BY over the result, or None if it does not have them.

        Args:
            names: Its columns, without those that are added.
            count: How many these are; None if none can be added.
            result: What they stand for, where an expression of them may stand in ORDER BY.
        """
        order = self.tree.args.get("order")
        terms: list[exp.Expr] = []
        for term in [] if order is None else order.expressions:
            written = without_parens(term.this) if isinstance(term, exp.Ordered) else term
            if written.sql("duckdb").upper() == "ALL" or isinstance(written, exp.Literal):
                terms.append(term.copy())
                continue
            place = place_of_alias(term, self.tree, names) or self._listed(written)
            found = None if place or result is None else over_places(written, result, names)
            if found is not None:
                chosen = term.copy()
                chosen.set("this", found)
                terms.append(chosen)
                continue
            if place is None and (count is None or self._would_be_key(written)):
                return None
            if place is None:
                assert count is not None
                self.more.append(exp.alias_(written.copy(), f"_cql_order{len(self.more)}"))
                place = count + len(self.more)
            chosen = term.copy()
            chosen.set("this", column(f"c{place - 1}", BELOW))
            terms.append(chosen)
        if self.more and any(t.this.sql("duckdb").upper() == "ALL" for t in terms):
            return None
        return terms

    def _would_be_key(self, written: exp.Expr) -> bool:
        """Return whether GROUP BY ALL would group by an expression too if it were listed."""
        group = self.tree.args.get("group")
        is_by_all = group is not None and bool(group.args.get("all"))
        return is_by_all and not list(aggregate_calls(written, self.context.catalog.aggregates))

    def _listed(self, written: exp.Expr) -> int | None:
        """Return the place from 1 of an expression in the SELECT list, or None."""
        listed = self.tree.expressions
        if any(e.is_star for e in listed):
            return None
        places = [n for n, e in enumerate(listed, 1) if without_parens(e.unalias()) == written]
        return places[0] if places else None
