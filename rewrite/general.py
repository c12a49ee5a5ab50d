"""Binding of what has no delta rule: the smallest enclosing query becomes a `Recompute`.

Each item of its FROM that can be bound by itself is an input, so a subquery there keeps its own
delta rules; so is each stream, relation or query that its expressions' subqueries read. What is
left is plain SQL over these inputs, and DuckDB's to understand.

Ties that SQL leaves open are broken by all columns of the FROM clause in order, NULLs last: in
LIMIT and DISTINCT ON, in window functions that number rows, and in aggregates that depend on order.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from cqlduck.errors import BindError, Error, NotSupportedError
from cqlduck.rewrite import current
from cqlduck.rewrite.plan import Column, Plan, Project, Recompute
from cqlduck.rewrite.queries import has_operator, place_of, unwrapped
from cqlduck.rewrite.scope import Item, Scope, column, function_name, is_now, refuse_always
from cqlduck.rewrite.weighted import TS, qualified

if TYPE_CHECKING:
    from cqlduck.rewrite.bind import Binder, Ctes

CONSTANT_FUNCTIONS = ("range", "generate_series", "unnest")
"""Table functions that read nothing but their arguments."""

NUMBERING = (exp.RowNumber, exp.Lag, exp.Lead, exp.Ntile)
"""Window functions that go by the position of a row, whatever the frame."""

RANKING = (exp.Rank, exp.DenseRank, exp.PercentRank, exp.CumeDist)
VALUES = (exp.FirstValue, exp.LastValue, exp.NthValue)
ORDERED = frozenset(
    {"list", "array_agg", "string_agg", "group_concat", "listagg", "first", "last", "any_value",
     "arbitrary", "arg_max", "arg_min", "max_by", "min_by", "argmax", "argmin", "mode",
     "arg_max_null", "arg_min_null"}
)  # fmt: skip
"""Aggregates whose value depends on the order of the tuples."""


_RENAMING = (exp.Order, exp.Having, exp.Group, exp.Qualify, exp.Lambda, exp.Comprehension)
"""Where a name may be an alias of the SELECT list, or a variable."""


def recompute(binder: Binder, tree: exp.Query, ctes: Ctes, reason: str) -> Plan:
    """Return the plan of a query without a delta rule."""
    body = tree.copy()
    refuse_always(body, binder.catalog.volatile)
    build = _Build(binder, ctes, reason)
    if isinstance(body, exp.SetOperation):
        build.sides(body)
    elif isinstance(body, exp.Select):
        build.select(body)
    return build.finish(body)


class _Build:
    """Collects the inputs of a `Recompute` while their places in the query are taken."""

    def __init__(self, binder: Binder, ctes: Ctes, reason: str) -> None:
        self.binder = binder
        self.ctes = ctes
        self.reason = reason
        self.inputs: list[Plan] = []
        self.names: list[tuple[str, ...]] = []

    def sides(self, body: exp.SetOperation) -> None:
        """Make each side of a set operation an input."""
        for side in ("this", "expression"):
            if not any(True for _ in body.args[side].find_all(exp.Table)):
                continue
            plan = self.binder.relation(body.args[side], self.ctes, body)
            item = Item("side", plan, tuple((c.name, c) for c in plan.columns))
            body.set(side, exp.select("*").from_(self._leg(item)))
        names = [c.name for c in self.inputs[0].columns] if self.inputs else []
        _order_fully(body, names)

    def select(self, body: exp.Select) -> None:
        """Make the items of FROM inputs, and all that the expressions' subqueries read."""
        for with_ in body.find_all(exp.With):
            if with_.args.get("recursive"):
                raise NotSupportedError(
                    "WITH RECURSIVE is not supported",
                    hint="a query whose depth depends on the data has no delta rule",
                    offset=place_of(with_),
                )
        self.ctes = self.binder.with_(body, self.ctes)
        body.set("with_", None)
        own = _names_of_ctes(body)
        for node in _from_items(body):
            item = self._item(node, own)
            if item is not None:
                leg = self._leg(item)
                leg.set("joins", node.args.get("joins"))
                node.replace(leg)
        _refuse_clauses(body)
        for node in list(body.find_all(exp.Subquery)):
            if isinstance(node.parent, (exp.From, exp.Join)) and self._needs_binding(node):
                item = self._item(node, own)
                if item is not None:
                    node.replace(self._leg(item))
        for table in list(body.find_all(exp.Table)):
            if table.name.startswith("_cql_leg") or table.name.lower() in own:
                continue
            item = self._item(table, own)
            if item is not None:
                leg = self._leg(item)
                leg.set("joins", table.args.get("joins"))
                table.replace(leg)
        _refuse_operators(body)
        _refuse_what_lateral_misses(body, self.binder.catalog.aggregates)
        for select in list(body.find_all(exp.Select)):
            known = self._columns_of(select)
            if known is not None:
                _break_ties(select, known, self.binder)

    def _columns_of(self, select: exp.Select) -> list[tuple[str, str]] | None:
        """Return (alias, name) of all columns of a FROM clause whose items are all inputs."""
        known: list[tuple[str, str]] = []
        for node in _from_items(select):
            if not isinstance(node, exp.Table) or not node.name.startswith("_cql_leg"):
                return None
            place = int(node.name.removeprefix("_cql_leg"))
            known += [(node.alias, name) for name in self.names[place] if name != "_ts"]
        return known

    def _needs_binding(self, node: exp.Subquery) -> bool:
        """Return whether a subquery in FROM is CQL itself: it has a window or an operator."""
        if self.binder.window_of(node) is not None:
            return True
        select = unwrapped(node.this)
        return isinstance(select, exp.Select) and has_operator(select)

    def _item(self, node: exp.Expr, own: set[str]) -> Item | None:
        """Bind one item of FROM by itself, or return None where it needs what is around it."""
        if isinstance(node, exp.Table) and not node.args.get("db") and node.name.lower() in own:
            return None
        if isinstance(node, (exp.Values, exp.Unnest, exp.Lateral)):
            return None
        if isinstance(node, exp.Table) and not isinstance(node.this, exp.Identifier):
            function = node.this.sql("duckdb").split("(")[0].lower()
            if function in CONSTANT_FUNCTIONS:
                return None
        if isinstance(node, exp.Subquery) and any(
            table.name.lower() in own for table in node.find_all(exp.Table)
        ):
            return None
        if isinstance(node, exp.Subquery) and not node.alias and isinstance(node.this, exp.Table):
            return None
        scope = Scope(volatile=self.binder.catalog.volatile)
        single = node.copy()
        if isinstance(single, exp.Table):
            single.set("joins", None)
        try:
            self.binder.item(single, scope, self.ctes)
        except (BindError, NotSupportedError):
            if isinstance(node, exp.Subquery) and not self._needs_binding(node):
                return None
            raise
        return scope.items[0]

    def _leg(self, item: Item) -> exp.Table:
        columns = tuple(known for _, known in item.names)
        plan = item.plan
        if columns != plan.columns:
            plan = Project(plan, tuple(column(c.name) for c in columns), columns)
        self.inputs.append(plan)
        self.names.append(tuple(public for public, _ in item.names))
        name = f"_cql_leg{len(self.inputs) - 1}"
        return exp.Table(
            this=exp.to_identifier(name),
            alias=exp.TableAlias(this=exp.to_identifier(item.alias, quoted=True)),
        )

    def finish(self, body: exp.Query) -> Recompute:
        """Return the node, with the columns that DuckDB finds."""
        if not self.inputs:
            raise BindError(
                "the query reads nothing",
                hint="a continuous query selects FROM a stream or relation",
                offset=place_of(body),
            )
        typed = body.copy()
        for table in list(typed.find_all(exp.Table)):
            if table.name.startswith("_cql_leg"):
                place = int(table.name.removeprefix("_cql_leg"))
                columns = self.inputs[place].columns
                named = zip(self.names[place], columns, strict=True)
                empty = _nothing(tuple(Column(name, c.type) for name, c in named))
                nothing_there = empty.subquery(table.alias)
                nothing_there.set("joins", table.args.get("joins"))
                table.replace(nothing_there)
        outer = exp.select("*").from_(typed.subquery("named"))
        answer = tuple(self.binder.catalog.describe(outer.sql("duckdb")))
        grows = only_grows(body, self.binder.catalog.aggregates)
        plan = Recompute(tuple(self.inputs), tuple(self.names), body, answer, self.reason, grows)
        return self._timed(plan) if current.mentions(body) else plan

    def _timed(self, plan: Recompute) -> Recompute:
        """Return a query that depends on τ, with the instants at which it may change.

        Raises:
            NotSupportedError: That would be at every microsecond.
        """
        clock = self.binder.catalog.clock
        body = plan.query
        for select in body.find_all(exp.Select):
            for call in _calls(select, self.binder.catalog.aggregates):
                around = call.parent if isinstance(call.parent, exp.Filter) else call
                parts = [*around.iter_expressions()] if around is not call else [call]
                if any(current.mentions(p) and p.find(exp.Column) is None for p in parts):
                    raise NotSupportedError(
                        "an aggregate of the current time alone is not supported",
                        hint="aggregate an expression with a column, such as now() - t",
                        offset=place_of(call),
                    )
        turns: list[tuple[int, exp.Expr]] | None = []
        for node in [node for node in body.walk() if is_now(node)]:
            found = self._turns(body, node)
            turns = None if turns is None or found is None else turns + found
        if turns is None and clock.kind == "wall" and clock.granularity == 1:
            raise NotSupportedError(
                "the current time stands where the answer would change at every microsecond",
                hint="compare it with a column in WHERE, or connect with a granularity such as "
                "'1 second'",
            )
        now = current.at(body, clock, qualified("_cql_instants", TS))
        assert isinstance(now, exp.Query)
        always = turns is None
        return replace(plan, query=now, grows=False, turns=tuple(turns or ()), always=always)

    def _turns(self, body: exp.Query, node: exp.Expr) -> list[tuple[int, exp.Expr]] | None:
        """Return when the comparison around a mention of τ turns, or None if that is not known."""
        clock, describe = self.binder.catalog.clock, self.binder.catalog.described
        around = node.find_ancestor(exp.Between, *current.COMPARISONS)
        if around is None or around.find_ancestor(*_RENAMING) is not None:
            return None
        turns: list[tuple[int, exp.Expr]] = []
        for part in current.split(around):
            known = current.compared(part, clock) if current.mentions(part) else None
            if known is None:
                if current.mentions(part):
                    return None
                continue
            place = self._leg_of(body, known.value)
            if place is None:
                return None
            plan, names = self.inputs[place], self.names[place]
            inner = {n.lower(): c for n, c in zip(names, plan.columns, strict=True)}
            value = known.value.copy()
            for read in list(value.find_all(exp.Column)):
                mine = column(inner[read.name.lower()].name)
                if read is value:
                    value = mine
                else:
                    read.replace(mine)
            typed = exp.select(value.copy()).from_(_nothing(plan.columns).subquery("leg"))
            types = describe(typed.sql("duckdb"))
            if not types or not current.is_exact(known, types[0][1], clock):
                return None
            known = replace(known, value=value)
            for turn in current.turns(known, types[0][1], clock):
                turns.append((place, exp.Anonymous(this="try", expressions=[turn])))
        return turns

    def _leg_of(self, body: exp.Query, value: exp.Expr) -> int | None:
        """Return the one input that all columns of an expression come from, or None."""
        if value.find(exp.Query) is not None:
            return None
        legs = [t for t in body.find_all(exp.Table) if t.name.startswith("_cql_leg")]
        others = [
            item
            for item in body.find_all(exp.Table, exp.Subquery, exp.Values, exp.Unnest, exp.Lateral)
            if isinstance(item.parent, (exp.From, exp.Join)) and item not in legs
        ]
        places: set[int] = set()
        for read in value.find_all(exp.Column):
            alias = read.table.lower()
            if len(read.parts) > 2 or (not alias and others):
                return None
            if alias and any((item.alias or item.name).lower() == alias for item in others):
                return None
            found = {
                int(leg.name.removeprefix("_cql_leg"))
                for leg in legs
                if (not alias or (leg.alias or leg.name).lower() == alias)
                and read.name.lower()
                in (n.lower() for n in self.names[int(leg.name.removeprefix("_cql_leg"))])
            }
            if len(found) != 1:
                return None
            places |= found
        return places.pop() if len(places) == 1 else None


def _nothing(columns: tuple[Column, ...]) -> exp.Select:
    """Return a SELECT of no rows with these columns."""
    listed = [
        exp.alias_(exp.cast(exp.null(), c.type, dialect="duckdb"), c.name, quoted=True)
        for c in columns
    ]
    return exp.select(*listed).where(exp.false())


def _names_of_ctes(body: exp.Query) -> set[str]:
    return {cte.alias.lower() for cte in body.find_all(exp.CTE)}


def _from_items(body: exp.Select) -> list[exp.Expr]:
    """Return the items of the outermost FROM clause, in order."""
    clause = body.args.get("from_")
    if clause is None:
        return []
    items = [clause.this]
    for join in [*(clause.this.args.get("joins") or []), *(body.args.get("joins") or [])]:
        items.append(join.this)
    return items


def _refuse_clauses(body: exp.Select) -> None:
    """Refuse what DuckDB cannot do inside a LATERAL, or does otherwise there."""
    for node in body.walk():
        message = None
        if isinstance(node, exp.Limit):
            options = node.args.get("limit_options")
            if not isinstance(node.expression, exp.Literal) or options is not None:
                message = "LIMIT with anything but a number"
        elif isinstance(node, exp.Join) and str(node.args.get("method")).upper() == "POSITIONAL":
            message = "POSITIONAL JOIN"
        elif isinstance(node, (exp.Grouping, exp.GroupingId)) and any(
            body.find_all(exp.GroupingSets, exp.Rollup, exp.Cube)
        ):
            message = "grouping() beside an aggregate without a delta rule"
        if message is not None:
            raise NotSupportedError(
                f"{message} is not supported",
                hint="see the table of limits for what to write instead",
                offset=place_of(node),
            )


def _refuse_what_lateral_misses(body: exp.Select, aggregates: frozenset[str]) -> None:
    """Refuse what DuckDB answers wrongly inside a LATERAL (release 2.0)."""
    message = None
    for node in body.find_all(exp.In, exp.Any, exp.All):
        left = node if isinstance(node, exp.In) else node.parent
        if left is not None and isinstance(left.this, exp.Tuple) and node.find(exp.Query):
            message = "IN with several columns and a subquery"
    if body.args.get("group") is None and any(True for _ in _calls(body, aggregates)):
        for written in body.expressions:
            for query in written.find_all(exp.Query):
                if not _inside_aggregate(query, aggregates):
                    message = "a subquery beside an aggregate over everything"
    if message is not None:
        raise NotSupportedError(
            f"{message} is not supported",
            hint="join with the subquery in FROM instead",
            offset=place_of(body),
        )


def _inside_aggregate(node: exp.Expr, aggregates: frozenset[str]) -> bool:
    around = node.parent
    while around is not None and not isinstance(around, exp.Select):
        if isinstance(around, exp.Func) and function_name(around) in aggregates:
            return True
        around = around.parent
    return False


def _refuse_operators(body: exp.Select) -> None:
    for literal in body.find_all(exp.Literal):
        if literal.is_string and literal.name.startswith("\x00cql:"):
            word = literal.name.removeprefix("\x00cql:").capitalize()
            raise NotSupportedError(
                f"{word} cannot stand in a subquery of an expression",
                hint="put the subquery into FROM",
            )


def only_grows(body: exp.Query, aggregates: frozenset[str]) -> bool:
    """Return whether a query's result can only grow if what it reads does, by its form.

    Projection, WHERE, inner joins, DISTINCT, UNION, IN and EXISTS; nothing that counts, orders,
    negates or leaves rows without a partner.
    """
    for node in body.walk():
        if isinstance(
            node, (exp.Group, exp.Having, exp.Limit, exp.Offset, exp.Qualify, exp.Window)
        ):
            return False
        if isinstance(node, (exp.Lateral, exp.Except, exp.Intersect, exp.Unnest, exp.Columns)):
            return False
        if isinstance(node, exp.Distinct) and node.args.get("on"):
            return False
        if isinstance(node, exp.Join):
            words = {str(node.args.get(part) or "") for part in ("method", "side", "kind")}
            if words - {"", "INNER", "CROSS", "NATURAL"}:
                return False
        if isinstance(node, exp.Func) and function_name(node) in aggregates:
            return False
        if isinstance(node, exp.Query) and node is not body and not _may_grow(node):
            return False
    return True


def _may_grow(query: exp.Query) -> bool:
    """Return whether a subquery stands in FROM, in a UNION, or in IN or EXISTS without NOT."""
    around = query.parent
    while isinstance(around, (exp.Subquery, exp.Paren)):
        query, around = around, around.parent  # type: ignore[assignment]
    if isinstance(around, (exp.Union, exp.From, exp.Join, exp.CTE)):
        return True
    if not isinstance(around, (exp.In, exp.Exists)):
        return False
    above = around.parent
    while isinstance(above, (exp.Paren, exp.And, exp.Or)):
        above = above.parent
    return isinstance(above, exp.Where)


# -- ties ----------------------------------------------------------------------------------------


def _break_ties(body: exp.Select, known: list[tuple[str, str]], binder: Binder) -> None:
    """Order fully what SQL leaves open in the outermost SELECT."""
    grouped = body.args.get("group") is not None or any(
        True for _ in _calls(body, binder.catalog.aggregates)
    )
    for call in _calls(body, binder.catalog.aggregates):
        if function_name(call) in ORDERED:
            _order_call(call, known)
    if not grouped:
        _order_windows(body, known)
    distinct = body.args.get("distinct")
    on = distinct is not None and distinct.args.get("on")
    if body.args.get("limit") or body.args.get("offset") or on:
        if _orders_by_all(body):
            return
        if grouped or (distinct is not None and not on):
            _order_fully(body, [])
        else:
            order = body.args.get("order") or exp.Order(expressions=[])
            order.set("expressions", [*order.expressions, *_terms(known)])
            body.set("order", order)


def _order_windows(body: exp.Select, known: list[tuple[str, str]]) -> None:
    """Break the ties of window functions.

    Those that go by position, and all over a ROWS frame, get more terms in OVER's ORDER BY. Over
    RANGE and GROUPS frames that would change who is a peer: there the argument is ordered.
    """
    named_windows = {w.this.name.lower(): w for w in body.args.get("windows") or []}
    for node in _own(body, exp.Window):
        assert isinstance(node, exp.Window)
        if isinstance(node.this, exp.Identifier):
            continue
        _inline(node, named_windows)
        function = _unwrapped(node.this)
        spec = node.args.get("spec")
        kind = str(spec.args.get("kind") or "RANGE").upper() if spec is not None else "RANGE"
        order = node.args.get("order") or exp.Order(expressions=[])
        if isinstance(function, RANKING):
            continue
        if isinstance(function, NUMBERING) or kind == "ROWS":
            order.set("expressions", [*order.expressions, *_terms(known)])
            node.set("order", order)
        elif isinstance(function, VALUES) or (
            isinstance(function, exp.Func) and function_name(function) in ORDERED
        ):
            last = "offset" if function.args.get("offset") else "this"
            value = function.args.get(last)
            if value is not None and not isinstance(value, exp.Order):
                terms = [term.copy() for term in order.expressions]
                function.set(last, exp.Order(this=value, expressions=[*terms, *_terms(known)]))


def _inline(node: exp.Window, named_windows: dict[str, exp.Expr]) -> None:
    """Put the definition of a named window in the place of its name."""
    name = node.args.get("alias")
    while name is not None:
        definition = named_windows.get(name.name.lower())
        if definition is None:
            return
        for part in ("partition_by", "order", "spec"):
            if not node.args.get(part) and definition.args.get(part):
                value = definition.args[part]
                copied = [v.copy() for v in value] if isinstance(value, list) else value.copy()
                node.set(part, copied)
        name = definition.args.get("alias")
    node.set("alias", None)


def _orders_by_all(body: exp.Query) -> bool:
    order = body.args.get("order")
    terms = order.expressions if order is not None else []
    return any(term.this.sql("duckdb").upper() == "ALL" for term in terms)


def _own(body: exp.Select, kind: type[exp.Expr]) -> list[exp.Expr]:
    """Return the nodes of a kind that belong to this SELECT and not to one inside it."""
    return [node for node in body.find_all(kind) if node.find_ancestor(exp.Select) is body]


def _calls(body: exp.Select, aggregates: frozenset[str]) -> list[exp.Func]:
    found = []
    for node in _own(body, exp.Func):
        assert isinstance(node, exp.Func)
        inside = node.parent
        while isinstance(inside, (exp.Filter, exp.IgnoreNulls, exp.WithinGroup)):
            inside = inside.parent
        if function_name(node) in aggregates | ORDERED and not isinstance(inside, exp.Window):
            found.append(node)
    return found


def _unwrapped(node: exp.Expr) -> exp.Expr:
    while isinstance(node, (exp.IgnoreNulls, exp.RespectNulls, exp.Filter)):
        node = node.this
    return node


def _terms(known: list[tuple[str, str]]) -> list[exp.Expr]:
    return [
        exp.Ordered(
            this=exp.column(
                exp.to_identifier(name, quoted=True), table=exp.to_identifier(alias, quoted=True)
            ),
            nulls_first=False,
        )
        for alias, name in known
    ]


def _order_call(call: exp.Func, known: list[tuple[str, str]]) -> None:
    """Add all columns to the ORDER BY inside an aggregate; a DISTINCT one orders by its value."""
    argument = call.this
    if isinstance(call, exp.Anonymous):
        last = call.expressions[-1] if call.expressions else None
        if last is None:
            return
        ordered = last if isinstance(last, exp.Order) else exp.Order(this=last, expressions=[])
        ordered.set("expressions", [*ordered.expressions, *_terms(known)])
        call.set("expressions", [*call.expressions[:-1], ordered])
        return
    key = "this"
    if isinstance(call, (exp.ArgMax, exp.ArgMin)):
        key = "count" if call.args.get("count") else "expression"
        argument = call.args[key]
    if isinstance(argument, exp.Order):
        inner = argument.this
        terms = argument.expressions
    else:
        inner, terms = argument, []
    if isinstance(inner, exp.Distinct):
        if not terms and len(inner.expressions) == 1:
            value = exp.Ordered(this=inner.expressions[0].copy(), nulls_first=False)
            call.set(key, exp.Order(this=inner.copy(), expressions=[value]))
        return
    if inner is None or isinstance(inner, exp.Star):
        return
    call.set(key, exp.Order(this=inner.copy(), expressions=[*terms, *_terms(known)]))


def _order_fully(body: exp.Query, names: list[str]) -> None:
    """Order by all columns of the result, after what is there already."""
    if not (body.args.get("limit") or body.args.get("offset")) or _orders_by_all(body):
        return
    if names:
        terms: list[exp.Expr] = [
            exp.Ordered(this=column(name), nulls_first=False) for name in names
        ]
    elif any(isinstance(e, exp.Star) or e.find(exp.Columns) for e in body.selects):
        return
    else:
        terms = [
            exp.Ordered(this=exp.Literal.number(place + 1), nulls_first=False)
            for place in range(len(body.selects))
        ]
    order = body.args.get("order") or exp.Order(expressions=[])
    order.set("expressions", [*order.expressions, *terms])
    body.set("order", order)


__all__ = ["Error", "recompute"]
