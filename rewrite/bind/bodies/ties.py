"""Ties: all columns of the FROM clause in order, NULLs last, decide what SQL leaves open.

An answer must not depend on how the engine happened to read its inputs, so a recomputed query gets
more ORDER BY: in LIMIT and DISTINCT ON, in window functions that depend on position, in aggregates
that depend on the order of the tuples, sums of DOUBLE among them, and in ASOF joins. A column that
follows from those before it decides nothing, and is left out (`deciding`). Values that are equal
but not identical count as different there (`values.identity`). Among the groups of a grouped SELECT
the keys decide, in order; after DISTINCT, GROUP BY and set operations a LIMIT orders by the columns
of the result.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence

from sqlglot import exp

from cqlduck.rewrite.bind.bodies.deciding import Place, deciding
from cqlduck.rewrite.bind.bodies.inputs import Inputs
from cqlduck.rewrite.bind.bodies.select_parts import SelectParts, from_items
from cqlduck.rewrite.bind.ordering import Result
from cqlduck.rewrite.plan.aggregates import sums_exactly
from cqlduck.rewrite.plan.conditions import conjuncts
from cqlduck.rewrite.relalg.builders import column
from cqlduck.rewrite.relalg.values import identity
from cqlduck.rewrite.text.parsed import function_name

NUMBERING = (exp.RowNumber, exp.Lag, exp.Lead, exp.Ntile)
"""Window functions that go by the position of a row, whatever the frame."""

RANKING = (exp.Rank, exp.DenseRank, exp.PercentRank, exp.CumeDist)
VALUES = (exp.FirstValue, exp.LastValue, exp.NthValue)

ORDERLESS = frozenset(
    {"count", "count_star", "count_if", "countif", "min", "max", "bool_and", "bool_or", "bit_and",
     "bit_or", "bit_xor", "bitstring_agg", "median", "quantile_cont", "quantile_disc", "quantile",
     "histogram", "histogram_exact", "approx_count_distinct", "regr_count", "mad",
     "grouping", "grouping_id"}
)  # fmt: skip
"""Aggregates of one column that give the same value whatever the order of the tuples.

Those whose further argument is a column too, as `max(x, n)` and `histogram(x, bins)`, take it from
the first tuple.
"""

SUMS = frozenset({"sum", "avg", "mean"})
"""Aggregates that do so over integers and decimals."""


def break_ties(body: exp.Query, inputs: Inputs) -> None:
    """Decide all ties of a query, of its subqueries too, in place."""
    for node in list(body.find_all(exp.Select, exp.SetOperation)):
        if isinstance(node, exp.SetOperation):
            _order_result(node, inputs)
        elif isinstance(node, exp.Select):
            _Ties(node, inputs).run()


class _Ties:
    """The ties of one SELECT."""

    def __init__(self, body: exp.Select, inputs: Inputs) -> None:
        self.body = body
        self.inputs = inputs
        self.parts = SelectParts(body, inputs)
        self.grouped = body.args.get("group") is not None or bool(self.parts.calls())

    def run(self) -> None:
        """Decide them."""
        for item, join in from_items(self.body):
            if join is not None and str(join.args.get("method")).upper() == "ASOF":
                self.nearest(item, join)
        self.refuse_open()
        self.order_aggregates()
        self.order_windows()
        self.order_rows()

    # -- what decides ------------------------------------------------------------------------------

    def terms(self) -> list[exp.Expr]:
        """Return the columns of the FROM clause that decide, as terms; of other items, the rows."""
        items = [
            (number, item)
            for number, (item, join) in enumerate(from_items(self.body))
            if join is None or str(join.args.get("kind")).upper() not in ("SEMI", "ANTI")
        ]
        known = [(i.alias, c.name) for _, i in items for c in self.inputs.columns_of(i) or ()]
        decide = deciding(self.body, self.inputs, known)
        return [term for number, item in items for term in self.terms_of(item, number, decide)]

    def terms_of(
        self, item: exp.Expr, number: int, decide: Container[Place] | None = None
    ) -> list[exp.Expr]:
        """Return the columns of an item as terms, those that decide; all of them by default."""
        if item.args.get("pivots"):
            return self._terms_of_pivot(item, number)
        alias = item.alias or (item.name if isinstance(item, exp.Table) else "")
        if not alias:
            alias = f"_cql_item{number}"
            item.set("alias", exp.TableAlias(this=exp.to_identifier(alias)))
        columns = self.inputs.columns_of(item)
        if columns is None:
            kinds = self.inputs.types_in(self.body, [column(alias)]) or [""]
            return terms_by(column(alias), kinds[0])
        named = [c for c in columns if decide is None or (item.alias, c.name) in decide]
        return [t for c in named for t in terms_by(column(c.name, alias), c.type)]

    def _terms_of_pivot(self, item: exp.Expr, number: int) -> list[exp.Expr]:
        """Return the columns of an item under PIVOT or UNPIVOT, whose own name is gone."""
        last = item.args["pivots"][-1]
        if not last.alias:
            last.set("alias", exp.TableAlias(this=exp.to_identifier(f"_cql_item{number}")))
        alone = item.copy()
        alone.set("joins", None)
        found = self.inputs.described(exp.select("*").from_(alone, copy=False)) or []
        return [t for name, kind in found for t in terms_by(column(name, last.alias), kind)]

    # -- aggregates --------------------------------------------------------------------------------

    def order_aggregates(self) -> None:
        """Order the arguments of aggregates that depend on it."""
        calls = [call for call in self.parts.calls() if not is_orderless(call)]
        sums = [call for call in calls if function_name(call) in SUMS]
        types = self.inputs.types_in(self.body, [value_of(call) for call in sums]) if sums else ()
        exact = {
            id(call)
            for call, kind in zip(sums, types or (), strict=bool(types))
            if sums_exactly(kind)
        }
        for call in calls:
            if id(call) not in exact:
                order_call(call, self.terms)

    # -- windows -----------------------------------------------------------------------------------

    def order_windows(self) -> None:
        """Break the ties of window functions.

        Those that go by position, and all over a ROWS frame, get more terms in OVER's ORDER BY.
        Over RANGE and GROUPS frames that would change who is a peer: there the argument is ordered.
        """
        named_windows = {w.this.name.lower(): w for w in self.body.args.get("windows") or []}
        for node in self.parts.own(exp.Window):
            assert isinstance(node, exp.Window)
            if isinstance(node.this, exp.Identifier):
                continue
            _inline(node, named_windows)
            function = _function(node.this)
            spec = node.args.get("spec")
            kind = str(spec.args.get("kind") or "RANGE").upper() if spec is not None else "RANGE"
            if isinstance(function, RANKING):
                continue
            if isinstance(function, NUMBERING) or kind == "ROWS":
                order = node.args.get("order") or exp.Order(expressions=[])
                order.set("expressions", [*order.expressions, *self.rows()])
                if order.expressions:
                    node.set("order", order)
            elif isinstance(function, VALUES):
                self.order_value(function, node)
            elif (
                isinstance(function, exp.Func)
                and function_name(function) in self.parts.aggregates
                and not is_orderless(function)
            ):
                self.order_argument(function)

    def rows(self) -> list[exp.Expr]:
        """Return what tells the rows of the result apart, before DISTINCT."""
        if not self.grouped:
            return self.terms()
        keys, group = [*map(_term, self.parts.group_keys())], self.body.args.get("group")
        if group is not None and group.args.get("all") and keys:
            # ALL would not find the keys that now stand in a window function too; a name in HAVING
            # that is a key now may have meant an alias
            having = self.body.args.get("having")
            if having is not None:
                having.set("this", self.parts.opened(having.this, frozenset()))
            self.body.set("group", exp.Group(expressions=[key.this.copy() for key in keys]))
        return keys

    def order_value(self, function: exp.Expr, node: exp.Window) -> None:
        order = node.args.get("order")
        last = "offset" if function.args.get("offset") else "this"
        value = function.args.get(last)
        if value is not None and not isinstance(value, exp.Order):
            terms = [term.copy() for term in order.expressions] if order is not None else []
            terms += self.rows()
            if terms:
                function.set(last, exp.Order(this=value, expressions=terms))

    def order_argument(self, function: exp.Func) -> None:
        if function_name(function) in SUMS and not self.grouped:
            types = self.inputs.types_in(self.body, [value_of(function)])
            if types and sums_exactly(types[0]):
                return
        order_call(function, self.rows)

    # -- rows --------------------------------------------------------------------------------------

    def order_rows(self) -> None:
        """Order fully what LIMIT, OFFSET and DISTINCT ON choose from."""
        body = self.body
        distinct = body.args.get("distinct")
        on = distinct is not None and distinct.args.get("on")
        if not (body.args.get("limit") or body.args.get("offset") or on) or _orders_by_all(body):
            return
        if self.grouped or (distinct is not None and not on):
            _order_result(body, self.inputs, chosen=bool(on))
            return
        order_also(body, self.terms())

    def refuse_open(self) -> None:
        """Refuse an order by what rows may have several of that DISTINCT makes one.

        Raises:
            NotSupportedError: There is such a term.
        """
        body, order = self.body, self.body.args.get("order")
        distinct = body.args.get("distinct")
        if not (body.args.get("limit") or body.args.get("offset")) or _orders_by_all(body):
            return
        if order is None or distinct is None or distinct.args.get("on"):
            return
        result = Result(body, self.parts.reads)
        if self.grouped and all(key in result for key in self.parts.group_keys()):
            return  # the groups are the rows
        for term in order.expressions:
            if not isinstance(term.this, exp.Literal) and result.over(term.this) is None:
                raise result.several(term.this)

    # -- ASOF --------------------------------------------------------------------------------------

    def nearest(self, item: exp.Expr, join: exp.Join) -> None:
        """Leave one row of the right item for each value that ASOF compares with.

        Of the rows that are equally near the first by all columns counts.
        """
        alias = item.alias or (item.name if isinstance(item, exp.Table) else "")
        if not alias:
            return
        known = [c.name for c in self.inputs.columns_of(item) or ()]
        using = join.args.get("using")
        values: list[exp.Expr] = [column(name.name) for name in using or []]
        on = join.args.get("on")
        for comparison in [] if on is None else conjuncts(on):
            for side in (comparison.this, comparison.args.get("expression")):
                if isinstance(side, exp.Expr) and _reads_only(side, alias, known):
                    values.append(side)
        if not values:
            return
        terms = [*map(_term, values), *self.terms_of(item, 0)]
        inner = item.copy()
        inner.set("joins", None)
        chosen = exp.select("*").from_(inner, copy=False)
        chosen.set("distinct", exp.Distinct(on=exp.Tuple(expressions=[v.copy() for v in values])))
        chosen.set("order", exp.Order(expressions=[term.copy() for term in terms]))
        replaced = exp.Subquery(
            this=chosen, alias=exp.TableAlias(this=exp.to_identifier(alias, quoted=True))
        )
        replaced.set("joins", item.args.get("joins"))
        item.replace(replaced)


def _function(node: exp.Expr) -> exp.Expr:
    while isinstance(node, (exp.IgnoreNulls, exp.RespectNulls, exp.Filter)):
        node = node.this
    return node


def plain_value(value: exp.Expr) -> exp.Expr:
    """Return an argument of an aggregate without DISTINCT and ORDER BY."""
    while isinstance(value, (exp.Order, exp.Distinct)):
        value = value.this if isinstance(value, exp.Order) else value.expressions[0]
    return value


def value_of(call: exp.Func) -> exp.Expr:
    """Return the first argument of an aggregate without DISTINCT and ORDER BY."""
    return plain_value(call.expressions[0] if isinstance(call, exp.Anonymous) else call.this)


def is_orderless(call: exp.Func) -> bool:
    """Return whether the order of the tuples is of no account to an aggregate."""
    if function_name(call) not in ORDERLESS:
        return False
    if isinstance(call, exp.Anonymous):
        further = call.expressions[1:]
    else:
        further = [call.args.get(key) for key in ("count", "quantile", "expression")]
    return not any(isinstance(each, exp.Expr) and each.find(exp.Column) for each in further)


def _reads_only(tree: exp.Expr, alias: str, known: Sequence[str]) -> bool:
    """Return whether an expression reads columns, and all of one item."""
    columns = list(tree.find_all(exp.Column))
    names = {name.lower() for name in known}
    return bool(columns) and all(
        c.table.lower() == alias.lower() if c.table else c.name.lower() in names for c in columns
    )


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


def _term(tree: exp.Expr) -> exp.Expr:
    return exp.Ordered(this=tree.copy(), nulls_first=False)


def terms_by(value: exp.Expr, kind: str) -> list[exp.Expr]:
    """Return the terms by which a value decides: itself, and what tells equal ones apart."""
    told = identity(value, kind)
    return [_term(value)] if told is None else [_term(value), _term(told)]


def order_also(body: exp.Query, terms: Sequence[exp.Expr]) -> None:
    """Order a query by further terms, after those that it has."""
    if terms:
        order = body.args.get("order") or exp.Order(expressions=[])
        order.set("expressions", [*order.expressions, *terms])
        body.set("order", order)


def _orders_by_all(body: exp.Query) -> bool:
    order = body.args.get("order")
    terms = order.expressions if order is not None else []
    return any(term.this.sql("duckdb").upper() == "ALL" for term in terms)


def _order_result(body: exp.Query, inputs: Inputs, chosen: bool = False) -> None:
    """Order what LIMIT, OFFSET or DISTINCT ON (`chosen`) chooses from by all of its columns."""
    cut = chosen or body.args.get("limit") or body.args.get("offset")
    if not cut or _orders_by_all(body):
        return
    width: int | None = len(body.selects)
    if any(e.is_star or e.find(exp.Columns, exp.Unnest) for e in body.selects):
        width = inputs.width(body)
    if width is None:
        order_also(body, [exp.Ordered(this=exp.Columns(this=exp.Star()), nulls_first=False)])
    else:
        places = range(1, width + 1)
        order_also(body, [_term(exp.Literal.number(place)) for place in places])


def order_call(call: exp.Func, terms: Callable[[], list[exp.Expr]]) -> None:
    """Add terms to the ORDER BY inside an aggregate; a DISTINCT one orders by its value."""
    if isinstance(call, exp.Anonymous):
        last = call.expressions[-1] if call.expressions else None
        if last is None:
            return
        first = call.expressions[0]
        if isinstance(first, exp.Distinct) and first is not last:
            if not isinstance(last, exp.Order):
                order = exp.Order(this=last.copy(), expressions=[_term(first.expressions[0])])
                call.set("expressions", [*call.expressions[:-1], order])
            return
        changed = _ordered(last, terms)
        if changed is not None:
            call.set("expressions", [*call.expressions[:-1], changed])
        return
    # ORDER BY stands after the last argument
    for key in ("count", "quantile", "expression", "this"):
        argument = call.args.get(key)
        if isinstance(argument, exp.Expr):
            changed = _ordered(argument, terms)
            if changed is not None:
                call.set(key, changed)
            return


def _ordered(argument: exp.Expr, terms: Callable[[], list[exp.Expr]]) -> exp.Expr | None:
    known: list[exp.Expr] = []
    if isinstance(argument, exp.Order):
        known, argument = list(argument.expressions), argument.this
    if isinstance(argument, exp.Star):
        return None
    if isinstance(argument, exp.Distinct):
        if known or len(argument.expressions) != 1:
            return None
        return exp.Order(this=argument.copy(), expressions=[_term(argument.expressions[0])])
    added = terms()
    return exp.Order(this=argument.copy(), expressions=[*known, *added]) if added else None
