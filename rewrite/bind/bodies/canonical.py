"""Canonical values in the text of a recomputed query.

This is `rules.canonical` for SQL instead of plans: wherever DuckDB makes one row of several equal
ones, its choice among them is open, so the text is rewritten to show the canonical value. That
concerns the items of SELECT DISTINCT, keys of GROUP BY outside of aggregates, the sides of UNION,
EXCEPT and INTERSECT, the columns of USING and of a PIVOT, and aggregates over distinct values. MIN
and MAX select the least and the greatest by the order that tells equal values apart.

It runs after `ties`: choices by position are already determined.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from sqlglot import exp

from cqlduck.rewrite.bind.bodies.inputs import Inputs
from cqlduck.rewrite.bind.bodies.select_parts import from_items, group_keys
from cqlduck.rewrite.bind.bodies.ties import order_also, plain_value
from cqlduck.rewrite.bind.ordering import Result
from cqlduck.rewrite.plan.aggregates import EXTREMES, MERGING, each_call
from cqlduck.rewrite.relalg.builders import column
from cqlduck.rewrite.relalg.values import canonical, extreme, identity, may_vary
from cqlduck.rewrite.text.parsed import aliases_of, function_name

_AROUND = (exp.Filter, exp.IgnoreNulls, exp.RespectNulls, exp.WithinGroup)
_ALL = "_cql_all"


def show_canonical(body: exp.Query, inputs: Inputs) -> exp.Query:
    """Return a query that shows canonical values; it is changed in place, but for its outermost."""
    for node in list(body.find_all(exp.Select, exp.SetOperation)):
        if isinstance(node, exp.SetOperation):
            _sides(node, inputs)
        elif isinstance(node, exp.Select):
            _joined(node, inputs)
            _aggregates(node, inputs)
            _keys(node, inputs)
            _distinct(node, inputs)
    for node in list(body.find_all(exp.SetOperation)):
        if node.args.get("distinct") is False and _is_cut(node):
            ordered = _ordered(node, inputs)
            if node is body:
                body = ordered
            elif ordered is not node:
                node.replace(ordered)
    return body


# -- FROM ------------------------------------------------------------------------------------------


def _joined(select: exp.Select, inputs: Inputs) -> None:
    """Let USING name canonical values on both sides, and PIVOT group by them."""
    items = from_items(select)
    merged: set[str] = set()
    for _, join in items:
        if join is None or str(join.args.get("kind")).upper() in ("SEMI", "ANTI"):
            continue
        merged |= {name.name.lower() for name in join.args.get("using") or []}
        if str(join.args.get("method")).upper() == "NATURAL":
            merged |= _in_common([item for item, _ in items], inputs)
    for item, _ in items:
        if any(not clause.args.get("unpivot") for clause in item.args.get("pivots") or []):
            _show_in(item, inputs, None)
        elif merged:
            _show_in(item, inputs, merged)


def _in_common(items: Sequence[exp.Expr], inputs: Inputs) -> set[str]:
    """Return the names that several items have."""
    seen: set[str] = set()
    common: set[str] = set()
    for item in items:
        names = {name.lower() for name, _ in inputs.described(_alone(item)) or []}
        common |= names & seen
        seen |= names
    return common


def _alone(item: exp.Expr) -> exp.Select:
    """Return a query that reads one item of FROM alone."""
    single = item.copy()
    for part in ("joins", "pivots"):
        single.set(part, None)
    return exp.select("*").from_(single, copy=False)


def _show_in(item: exp.Expr, inputs: Inputs, names: Collection[str] | None) -> None:
    """Put a subquery that shows canonical values in the place of an item of FROM."""
    if not isinstance(item, (exp.Table, exp.Subquery)):
        return
    inner = _alone(item)
    found = inputs.described(inner) or []
    shown = [
        exp.alias_(canonical(column(name), kind), name, quoted=True)
        for name, kind in found
        if may_vary(kind) and (names is None or name.lower() in names)
    ]
    if not shown:
        return
    inner.expressions[0].set("replace", shown)
    alias = item.alias or item.name
    around = inner.subquery(exp.to_identifier(alias, quoted=True) if alias else None, copy=False)
    for part in ("joins", "pivots"):
        around.set(part, item.args.get(part))
    item.replace(around)


# -- aggregates ------------------------------------------------------------------------------------


def _aggregates(select: exp.Select, inputs: Inputs) -> None:
    """Settle what aggregates choose of equal values."""
    for call in list(select.find_all(exp.Func)):
        name = function_name(call)
        if name not in inputs.catalog.aggregates or call.find_ancestor(exp.Query) is not select:
            continue
        if name in EXTREMES:
            _settle_extreme(select, call, inputs)
        elif call.find(exp.Distinct) is not None:
            _settle_distinct(select, call, inputs)
        elif name in MERGING:
            _settle_argument(select, call, inputs)


def _argument(call: exp.Func) -> exp.Expr | None:
    """Return the first argument of an aggregate, without DISTINCT and ORDER BY."""
    if isinstance(call, exp.Anonymous) and not call.expressions:
        return None
    value = call.expressions[0] if isinstance(call, exp.Anonymous) else call.this
    return plain_value(value) if isinstance(value, exp.Expr) else None


def _settle_extreme(select: exp.Select, call: exp.Func, inputs: Inputs) -> None:
    value = _argument(call)
    kind = None if value is None else _type_of(select, value, inputs)
    if value is None or kind is None or not may_vary(kind):
        return
    if call.args.get("expressions") or call.args.get("count"):
        value.replace(canonical(value, kind))
        return
    function = exp.Max if function_name(call) == "max" else exp.Min
    whole: exp.Expr = call
    while isinstance(whole.parent, (*_AROUND, exp.Window)) and whole.parent.this is whole:
        whole = whole.parent

    def around(one: exp.Expr) -> exp.Expr:
        """Return an aggregate under the FILTER and the OVER of the call."""
        if whole is call:
            return one
        call.replace(marked := exp.Placeholder(this="call"))
        made = whole.copy()
        found = next(iter(made.find_all(exp.Placeholder)))
        found.replace(one.copy())
        marked.replace(call)
        return made

    _replace(whole, each_call(extreme(function, value, kind), around))


def _settle_argument(select: exp.Select, call: exp.Func, inputs: Inputs) -> None:
    value = _argument(call)
    kind = None if value is None else _type_of(select, value, inputs)
    if value is not None and kind is not None and may_vary(kind):
        value.replace(canonical(value, kind))


def _settle_distinct(select: exp.Select, call: exp.Func, inputs: Inputs) -> None:
    distinct = call.find(exp.Distinct)
    if distinct is None or distinct.find_ancestor(exp.Func, exp.Query) is not call:
        return
    kinds = inputs.types_in(select, [value.copy() for value in distinct.expressions])
    made = {
        value: canonical(value, kind)
        for value, kind in zip(distinct.expressions, kinds or (), strict=bool(kinds))
        if may_vary(kind)
    }
    around = distinct.parent
    terms = around.expressions if isinstance(around, exp.Order) else []
    for node in [*distinct.expressions, *(term.this for term in terms)]:
        if node in made:
            node.replace(made[node].copy())


def _type_of(select: exp.Select, value: exp.Expr, inputs: Inputs) -> str | None:
    found = inputs.types_in(select, [value.copy()])
    return found[0] if found else None


# -- GROUP BY --------------------------------------------------------------------------------------


def _keys(select: exp.Select, inputs: Inputs) -> None:
    """Show the canonical value where a key of GROUP BY stands outside of aggregates."""
    keys = group_keys(select, inputs)
    kinds = inputs.types_in(select, keys) if keys else None
    varied = {k: kind for k, kind in zip(keys, kinds or (), strict=bool(kinds)) if may_vary(kind)}
    if not varied:
        return

    def is_aggregate(node: exp.Expr) -> bool:
        around = node.parent
        while isinstance(around, _AROUND):
            around = around.parent
        return (
            isinstance(node, exp.Func)
            and function_name(node) in inputs.catalog.aggregates
            and not isinstance(around, exp.Window)
        )

    def visit(node: exp.Expr) -> None:
        kind = _key_type(node, varied)
        if kind is not None:
            _replace(node, canonical(node, kind))
        elif not (is_aggregate(node) or isinstance(node, exp.Query) or _names_keys(node)):
            for child in list(node.iter_expressions()):
                visit(child)

    for clause in ("having", "qualify"):
        if select.args.get(clause) is not None:
            visit(select.args[clause])
    aliases, order = aliases_of(select), select.args.get("order")
    for term in [] if order is None else list(order.expressions):
        if not (_is_name(term.this) and term.this.name.lower() in aliases):
            visit(term)
    for item in list(select.expressions):
        visit(item)


def _is_name(tree: exp.Expr) -> bool:
    """Return whether an expression is a name alone, which may be that of an alias."""
    return isinstance(tree, exp.Column) and not tree.table


def _names_keys(node: exp.Expr) -> bool:
    """Return whether the arguments of a node are keys themselves, and not what they are."""
    return isinstance(node, exp.Func) and function_name(node) in ("grouping", "grouping_id")


def _key_type(node: exp.Expr, keys: Mapping[exp.Expr, str]) -> str | None:
    """Return the type of the key that an expression is, or None if it is none."""
    for key, kind in keys.items():
        if node == key:
            return kind
        if isinstance(node, exp.Column) and isinstance(key, exp.Column):
            tables = {node.table.lower(), key.table.lower()} - {""}
            if node.name.lower() == key.name.lower() and len(tables) < 2:
                return kind
    return None


def _replace(node: exp.Expr, made: exp.Expr) -> None:
    """Replace a part of a query; an item of a SELECT list keeps its name."""
    if isinstance(node.parent, exp.Select) and node.arg_key == "expressions":
        name = node.name if isinstance(node, exp.Column) else node.sql("duckdb")
        made = exp.alias_(made, name, quoted=True)
    node.replace(made)


# -- DISTINCT and set operations -------------------------------------------------------------------


def _distinct(select: exp.Select, inputs: Inputs) -> None:
    """Let SELECT DISTINCT choose among canonical values."""
    distinct = select.args.get("distinct")
    if distinct is None or distinct.args.get("on"):
        _chosen_by(select, inputs)
        return
    found = inputs.described(select)
    if found is None or not any(may_vary(kind) for _, kind in found):
        return
    outer = {"order", "limit", "offset"}
    inner = select.copy()
    for part in ("distinct", *outer):
        inner.set(part, None)
    _to_positions(select)
    _to_names(select, inputs)
    for part in list(select.args):
        if part not in outer | {"distinct", "with_"}:
            select.set(part, None)
    inner.set("with_", None)
    shown = _shown(inner, found)
    for part in ("expressions", "from_"):
        select.set(part, shown.args[part])


def _chosen_by(select: exp.Select, inputs: Inputs) -> None:
    """Let DISTINCT ON choose by canonical values, so that what is shown is the chosen tuple's.

    In a LATERAL DuckDB (release 2.0) shows for a key that of any tuple that is equal in it.
    """
    distinct = select.args.get("distinct")
    on = None if distinct is None else distinct.args.get("on")
    keys = list(on.expressions) if isinstance(on, exp.Tuple) else []
    if not keys or any(isinstance(key, exp.Literal) for key in keys):
        return
    aliases = aliases_of(select)
    meant = [aliases.get(k.name.lower(), k) if _is_name(k) else k for k in keys]
    kinds = inputs.types_in(select, meant)
    for key, value, kind in zip(keys, meant, kinds or (), strict=bool(kinds)):
        if may_vary(kind):
            key.replace(canonical(value, kind))


def _to_positions(select: exp.Select) -> None:
    """Let ORDER BY name items of the SELECT list by their places."""
    items = [item.this if isinstance(item, exp.Alias) else item for item in select.expressions]
    if any(item.is_star for item in items):
        return
    order = select.args.get("order")
    for term in order.expressions if order is not None else []:
        if term.this in items:
            term.set("this", exp.Literal.number(items.index(term.this) + 1))


def _to_names(select: exp.Select, inputs: Inputs) -> None:
    """Let expressions of ORDER BY read the columns of the result, where they need no others."""
    known = [c.name.lower() for i, _ in from_items(select) for c in inputs.columns_of(i) or ()]
    result, order = Result(select, known.__contains__), select.args.get("order")
    for term in order.expressions if order is not None else []:
        found = None if isinstance(term.this, exp.Literal) else result.over(term.this)
        if found is not None:
            term.set("this", found)


def _sides(node: exp.SetOperation, inputs: Inputs) -> None:
    """Let UNION, EXCEPT and INTERSECT compare canonical values."""
    if isinstance(node, exp.Union) and node.args.get("distinct") is False:
        return
    for part in ("this", "expression"):
        side = node.args[part]
        found = inputs.described(side)
        if found is not None and any(may_vary(kind) for _, kind in found):
            query = side.this if isinstance(side, exp.Subquery) and not side.alias else side
            node.set(part, _shown(query.copy(), found))


def _shown(query: exp.Query, columns: Sequence[tuple[str, str]]) -> exp.Select:
    """Return a query with the canonical values in its columns."""
    names = [f"_cql_c{place}" for place in range(len(columns))]
    listed = [
        exp.alias_(canonical(column(inner), kind), name, quoted=True)
        for inner, (name, kind) in zip(names, columns, strict=True)
    ]
    return exp.select(*listed).from_(_named(query, names), copy=False)


def _named(query: exp.Query, names: Sequence[str]) -> exp.Subquery:
    alias = exp.TableAlias(
        this=exp.to_identifier(_ALL), columns=[exp.to_identifier(n, quoted=True) for n in names]
    )
    return exp.Subquery(this=query, alias=alias)


def _is_cut(node: exp.Query) -> bool:
    return any(node.args.get(part) for part in ("limit", "offset"))


def _ordered(node: exp.SetOperation, inputs: Inputs) -> exp.Query:
    """Order the rows of which LIMIT takes some by what tells equal values apart, at last."""
    found = inputs.described(node)
    told = [identity(column(name), kind) for name, kind in found or []]
    if not any(told):
        return node
    inner = node.copy()
    around = exp.select("*")
    for part in ("order", "limit", "offset"):
        around.set(part, inner.args.get(part))
        inner.set(part, None)
    terms = [exp.Ordered(this=term, nulls_first=False) for term in told if term is not None]
    order_also(around, terms)
    return around.from_(inner.subquery(_ALL, copy=False), copy=False)
