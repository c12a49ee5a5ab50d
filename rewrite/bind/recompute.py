"""Binding of SQL without a law: the smallest enclosing query becomes a `Recompute`.

Each item of its FROM that can be bound by itself is an input, so a subquery there keeps its own
laws; so is each stream, relation or query that subqueries in its expressions read. The rest is
plain SQL over these inputs, which DuckDB evaluates. `bodies.ties` decides what SQL leaves open,
`bodies.lateral` whether one statement can serve all instants.
"""

from __future__ import annotations

from collections.abc import Collection

from sqlglot import exp

from cqlduck.errors import BindError, NotSupportedError
from cqlduck.rewrite.bind import below, chosen, current_time
from cqlduck.rewrite.bind.bodies.canonical import show_canonical
from cqlduck.rewrite.bind.bodies.columns import columns as columns_of
from cqlduck.rewrite.bind.bodies.equalities import preserve_sides
from cqlduck.rewrite.bind.bodies.growth import is_monotonic
from cqlduck.rewrite.bind.bodies.guarded import guard_conditions
from cqlduck.rewrite.bind.bodies.inputs import Inputs
from cqlduck.rewrite.bind.bodies.instants import show_instants
from cqlduck.rewrite.bind.bodies.keys import keys_of
from cqlduck.rewrite.bind.bodies.lateral import why_alone, why_refused
from cqlduck.rewrite.bind.bodies.pivoted import order_pivots
from cqlduck.rewrite.bind.bodies.postponed import postpone_shown
from cqlduck.rewrite.bind.bodies.refusals import refuse_clauses, refuse_operators
from cqlduck.rewrite.bind.bodies.select_parts import from_items
from cqlduck.rewrite.bind.bodies.ties import break_ties
from cqlduck.rewrite.bind.bodies.turns import turning_points
from cqlduck.rewrite.bind.context import Context, Ctes, with_ctes
from cqlduck.rewrite.bind.from_clause import bind_item, is_join
from cqlduck.rewrite.bind.from_items import CONSTANT_FUNCTIONS
from cqlduck.rewrite.bind.ordering import Combined
from cqlduck.rewrite.bind.scope import Item, Scope, refuse_always
from cqlduck.rewrite.bind.windows import sample_of, window_of
from cqlduck.rewrite.plan import INPUT, Recompute, place_in
from cqlduck.rewrite.plan.aggregates import aggregate_calls
from cqlduck.rewrite.plan.not_incremental import NothingRead
from cqlduck.rewrite.relalg.elements import TS, parameter, qualified
from cqlduck.rewrite.text.parsed import has_operator, place_of, remove_parens, unwrapped

_MOST = 2**63 - 1
"""The greatest number that LIMIT can have."""


def _defines(node: exp.Expr, table: exp.Table) -> bool:
    """Return whether a name in a subquery is that of a CTE in the subquery."""
    around = table.parent
    while around is not None:
        clause = around.args.get("with_")
        for cte in clause.expressions if clause is not None else ():
            if cte.alias.lower() == table.name.lower():
                return True
        if around is node:
            break
        around = around.parent
    return False


def recompute(
    context: Context, tree: exp.Query, ctes: Ctes, reason: str, *, whole: bool = False
) -> Recompute:
    """Return the plan of a query without a delta rule, the `whole` of it or what stands above one.

    Raises:
        NothingRead: The query has constants alone.
    """
    body = tree.copy()
    remove_parens(body)
    refuse_always(body, context.catalog.volatile)
    refuse_clauses(body)
    build = _Build(context, ctes, reason)
    if context.catalog.recompute != "always" and not whole:
        over = build.over_one(body)
        if over is not None:
            return build.finish(over)
    clause = body.args.get("with_")
    if isinstance(body, exp.SetOperation) and clause is None:
        build.sides(body)
    else:
        build.rewrite_query(body)
    return build.finish(body)


def recompute_pivot(context: Context, tree: exp.Pivot, ctes: Ctes, reason: str) -> Recompute:
    """Return the plan of a PIVOT or UNPIVOT that is a query: all of what it stands on is read."""
    whole = exp.Subquery(this=tree.copy())
    body = exp.select("*").from_(whole, copy=False)
    refuse_always(body, context.catalog.volatile)
    refuse_clauses(body)
    build = _Build(context, ctes, reason)
    build.add_input(whole.this.this)
    build.add_other_inputs(body)
    return build.finish(body)


class _Build:
    """Collects the inputs of a `Recompute` while their places in the query are taken."""

    def __init__(self, context: Context, ctes: Ctes, reason: str) -> None:
        self.context = context
        self.ctes = ctes
        self.reason = reason
        self.inputs = Inputs(context.catalog)

    def over_one(self, body: exp.Query) -> exp.Select | None:
        """Return the SELECT over what stands below its construct as one input, or None."""
        clause = body.args.get("with_")
        if clause is not None and clause.args.get("recursive"):
            return None
        ctes = with_ctes(body, self.ctes)
        body = body.copy()
        body.set("with_", None)
        if isinstance(body, exp.SetOperation):
            return chosen.chosen_from_sides(self.context, body, ctes, self.inputs)
        if not isinstance(body, exp.Select):
            return None
        found = chosen.chosen_from(self.context, body, ctes, self.inputs)
        return found or below.joined(self.context, body, ctes, self.inputs)

    def sides(self, body: exp.SetOperation) -> None:
        """Make each side of a set operation an input, and what ORDER BY reads."""
        written, order = body.copy(), body.args.get("order")
        body.set("order", None)
        for side in ("this", "expression"):
            if not any(True for _ in body.args[side].find_all(exp.Table)):
                continue
            try:
                plan = self.context.relation(body.args[side], self.ctes, body)
            except NothingRead:
                self.rewrite_query(body.args[side])
                continue
            item = Item("side", plan, tuple((c.name, c) for c in plan.columns))
            body.set(side, exp.select("*").from_(self.inputs.add(item)))
        if order is not None:
            # what the sides list, and what they call it, is gone
            names = [c.name for c in columns_of(body, self.inputs)]
            right = body.expression.args.get("from_")
            place = None if right is None else place_in(right.this)
            if place is not None and not written.args.get("by_name"):
                self.inputs.names[place] = tuple(names)
            terms = map(Combined(written, names, order).term, order.expressions)
            body.set("order", exp.Order(expressions=list(terms)))
        self.add_other_inputs(body)

    def rewrite_query(self, body: exp.Query) -> None:
        """Make the items of FROM inputs, and all that the expressions' subqueries read."""
        clause = body.args.get("with_")
        if clause is not None and not clause.args.get("recursive"):
            self.ctes = with_ctes(body, self.ctes)
            body.set("with_", None)
        own = {cte.alias.lower() for cte in body.find_all(exp.CTE)}
        if isinstance(body, exp.Select):
            for node, _ in from_items(body):
                if not self._is_shown_late(body, node):
                    self.add_input(node, own)
        self.add_other_inputs(body)

    def add_other_inputs(self, body: exp.Query) -> None:
        """Make inputs of what is still read: by subqueries of expressions, and by CTEs."""
        own = {cte.alias.lower() for cte in body.find_all(exp.CTE)}
        for node in list(body.find_all(exp.Subquery)):
            if isinstance(node.parent, (exp.From, exp.Join)) and self._needs_binding(node):
                if not self._stands_alone(node, own):
                    raise NotSupportedError(
                        "a window or an operator over a recursive CTE is not supported",
                        hint="make the recursive query one of its own, and read that",
                        offset=place_of(node),
                    )
                self.add_input(node, own)
        # a CTE that reads nothing is put in the place of its name, with what it reads in turn
        while tables := [t for t in body.find_all(exp.Table) if not self._is_done(t, own)]:
            for table in tables:
                self.add_input(table, own)
        show_instants(body, self.inputs)
        refuse_operators(body)

    def _is_done(self, table: exp.Table, own: Collection[str]) -> bool:
        if not isinstance(table.this, exp.Identifier):
            return table.this.sql("duckdb").split("(")[0].lower() in CONSTANT_FUNCTIONS
        return table.name.startswith(INPUT) or (
            not table.args.get("db") and table.name.lower() in own
        )

    def add_input(self, node: exp.Expr, own: Collection[str] = ()) -> None:
        """Put an input in the place of an item of FROM, if it can be bound by itself."""
        if not self._stands_alone(node, own):
            return
        scope = Scope(volatile=self.context.catalog.volatile)
        single = node.copy()
        for part in ("joins", "pivots"):
            if isinstance(single, exp.Table) or part == "pivots":
                single.set(part, None)
        try:
            bind_item(self.context, single, scope, self.ctes)
        except NothingRead:
            if isinstance(node, exp.Table):
                self._put_constants(node)
            return
        except (BindError, NotSupportedError):
            if isinstance(node, exp.Subquery) and not self._needs_binding(node):
                return
            raise
        leg = self.inputs.add(scope.items[0])
        for part in ("joins", "pivots"):
            leg.set(part, node.args.get(part))
        node.replace(leg)

    def _stands_alone(self, node: exp.Expr, own: Collection[str]) -> bool:
        """Return whether an item of FROM does not need what is around it."""
        if isinstance(node, exp.Table):
            return not self._is_done(node, own)
        if not isinstance(node, exp.Subquery):
            return False
        for table in node.find_all(exp.Table):
            if table.name.lower() in own and not _defines(node, table):
                return False
        return not is_join(node.this) or bool(node.alias)

    def _is_shown_late(self, body: exp.Select, node: exp.Expr) -> bool:
        """Return whether a subquery stays in the text, so that its expressions are evaluated above.

        That is what may raise and WHERE around it guards; what decides ties reads all of it anyway.
        DuckDB does not move WHERE below two subqueries with expressions, one inside the other.
        """
        query = unwrapped(node.this) if isinstance(node, exp.Subquery) else None
        if not isinstance(query, exp.Select) or self._needs_binding(node):  # type: ignore[arg-type]
            return False
        if not set(_clauses(query)) <= {"expressions", "from_"} or len(from_items(query)) != 1:
            return False
        if not all(_shows_columns(item) for item, _ in from_items(query)):
            return False
        if not set(_clauses(body)) <= {"expressions", "from_", "where"} or body.find(exp.Window):
            return False
        shown = [e.unalias() for e in query.expressions]
        return (
            body.args.get("where") is not None
            and not any(
                e.is_star or e.find(exp.Query, exp.Window, exp.Unnest, exp.Columns) for e in shown
            )
            and not all(isinstance(e, (exp.Column, exp.Literal)) for e in shown)
            and not any(
                True for e in shown for _ in aggregate_calls(e, self.context.catalog.aggregates)
            )
        )

    def _put_constants(self, table: exp.Table) -> None:
        """Put the query of a CTE that reads nothing in the place of its name."""
        cte = self.ctes[table.name.lower()]
        inner = exp.Subquery(this=cte.tree.copy())
        alias = table.args.get("alias") or exp.TableAlias(this=table.this.copy())
        inner.set("alias", alias.copy())
        inner.set("joins", table.args.get("joins"))
        table.replace(inner)

    def _needs_binding(self, node: exp.Subquery) -> bool:
        """Return whether a subquery in FROM is CQL: it has a window, sample or operator."""
        if window_of(self.context, node) is not None or sample_of(self.context, node) is not None:
            return True
        select = unwrapped(node.this)
        return isinstance(select, exp.Select) and has_operator(select)

    def finish(self, body: exp.Query) -> Recompute:
        """Return the node, with the columns that DuckDB finds.

        Raises:
            NothingRead: There is no input.
        """
        inputs = self.inputs
        if not inputs.plans:
            raise NothingRead(
                "the query reads nothing",
                hint="a continuous query selects FROM a stream or relation",
                offset=place_of(body),
            )
        aggregates = self.context.catalog.aggregates
        columns = columns_of(body, inputs)
        grows = is_monotonic(body, aggregates)
        timed = current_time.mentions(body)
        turns, always = turning_points(body, inputs) if timed else ([], False)
        break_ties(body, inputs)
        order_pivots(body, inputs)
        body = show_canonical(body, inputs)
        postpone_shown(body, inputs, {place for place, _ in turns})
        is_guarded = guard_conditions(body, inputs)
        preserve_sides(body, inputs)
        columns_of(body, inputs)
        read = [c for plan in inputs.plans for c in plan.columns]
        alone = why_alone(body, aggregates, [*read, *columns]) or why_refused(body, inputs)
        if timed:
            instant = parameter("at") if alone else qualified("_cql_instants", TS)
            at_instant = current_time.at(body, self.context.catalog.clock, instant)
            assert isinstance(at_instant, exp.Query)
            body, grows = at_instant, False
        is_whole = self.context.catalog.recompute == "always" or timed or alone is not None
        keys = () if is_whole else keys_of(body, inputs)
        return Recompute(
            tuple(inputs.plans),
            tuple(inputs.names),
            body,
            columns,
            self.reason,
            grows,
            tuple(turns),
            always,
            alone,
            keys,
            None if alone else _first_of(body, inputs),
            is_guarded,
        )


def _clauses(query: exp.Expr) -> list[str]:
    return [key for key, value in query.args.items() if value]


def _first_of(body: exp.Query, inputs: Inputs) -> int | None:
    """Return how many tuples of its one input a query chooses by an order, or None.

    Args:
        body: The query.
        inputs: Its inputs.

    Returns:
        LIMIT and OFFSET together; None if it does anything else, or that is more than a BIGINT.
    """
    clauses = {"expressions", "from_", "order", "limit", "offset"}
    if inputs.catalog.recompute == "always" or current_time.mentions(body):
        return None
    if len(inputs.plans) != 1 or not isinstance(body, exp.Select) or not body.args.get("order"):
        return None
    if not set(_clauses(body)) <= clauses or place_in(body.args["from_"].this) is None:
        return None
    if any(True for e in body.expressions for _ in aggregate_calls(e, inputs.catalog.aggregates)):
        return None
    limit, offset = body.args.get("limit"), body.args.get("offset")
    numbers = [part.expression for part in (limit, offset) if part is not None]
    if limit is None or not all(isinstance(n, exp.Literal) and n.is_int for n in numbers):
        return None
    first = sum(int(n.name) for n in numbers)
    return first if first <= _MOST else None


def _shows_columns(item: exp.Expr) -> bool:
    """Return whether an item of FROM shows columns alone, and no expressions over them."""
    if not isinstance(item, exp.Subquery):
        return True
    query = unwrapped(item.this)
    if not isinstance(query, exp.Select):
        return False
    shown = [e.unalias() for e in query.expressions]
    return all(isinstance(e, (exp.Column, exp.Star)) for e in shown) and all(
        _shows_columns(inner) for inner, _ in from_items(query)
    )
