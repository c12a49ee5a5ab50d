"""Compiling: from the text of a query to its plan, operators and statements."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from cqlduck.errors import BindError, Error, NotSupportedError
from cqlduck.rewrite.bind import current_time, functions
from cqlduck.rewrite.bind.below import result_of
from cqlduck.rewrite.bind.binder import Binder
from cqlduck.rewrite.bind.catalog import Catalog
from cqlduck.rewrite.bind.macros import Captured, expand_macros
from cqlduck.rewrite.bind.named_types import expand_types
from cqlduck.rewrite.bind.ordering import Combined, Result
from cqlduck.rewrite.bind.scope import refuse_always
from cqlduck.rewrite.physical import identity
from cqlduck.rewrite.physical.algebra import needs_lifetimes
from cqlduck.rewrite.physical.evaluators import has_frame
from cqlduck.rewrite.physical.form import FIRST
from cqlduck.rewrite.physical.outline import outline
from cqlduck.rewrite.physical.writer import Writer
from cqlduck.rewrite.plan import (
    Aggregate,
    Filter,
    Join,
    Plan,
    Recompute,
    ToStream,
    properties,
    unique,
)
from cqlduck.rewrite.plan.aggregates import aggregate_calls
from cqlduck.rewrite.plan.conditions import conjuncts
from cqlduck.rewrite.relalg.builders import typed_nothing
from cqlduck.rewrite.relalg.elements import TS, number, union_all
from cqlduck.rewrite.relalg.values import MAX_LEVELS, levels
from cqlduck.rewrite.rules import optimize
from cqlduck.rewrite.statements.choose import writer_of
from cqlduck.rewrite.statements.compiled import Compiled
from cqlduck.rewrite.statements.ordered import ordered
from cqlduck.rewrite.statements.refreshing import answered_anew, refusal_of_plan
from cqlduck.rewrite.statements.steps import Steps, is_net, write_steps
from cqlduck.rewrite.text.names import RESERVED, reserved
from cqlduck.rewrite.text.parsed import function_name, place_of, remove_operator, unwrapped
from cqlduck.rewrite.text.queries import parse_query

_OPEN = (
    "_ts is a BIGINT as long as nothing says that time is wall-clock time; a heartbeat with a date "
    "does, or a stream with TIMESTAMP BY"
)
_EMPTY = "_ts is no part of *: write _ts AS something else"


def compile_query(name: str, body: str, catalog: Catalog, *, is_anew: bool = False) -> Compiled:
    """Compile the body of a continuous query.

    Args:
        name: The query's public name; its synopses are called after it.
        body: The SELECT, in CQL.
        catalog: Streams, relations, queries, and the types of expressions.
        is_anew: Whether it is answered anew at each change; then `catalog` recomputes all.

    Raises:
        Error: Of the family, with a place in `body`.
    """
    try:
        syntax = parse_query(body)
        macros = expand_macros(syntax.tree, catalog.macros, catalog.aggregates, catalog.volatile)
        called = functions.written(syntax.tree, catalog.functions)
        types = expand_types(syntax.tree, catalog.types, catalog.defined)
        order = _take_order(syntax.tree)
        binder = Binder(catalog, syntax)
        plan = binder.bind()
        _check_columns(plan)
        _check_conditions(plan, catalog)
        order_sql = None if order is None else _order(order, plan, binder)
        shown = outline(plan)
        plan = _answered_anew(plan) if is_anew else optimize(plan)
    except Error as error:
        if isinstance(error, BindError) and TS in body.lower():
            is_empty = "SELECT list is empty" in str(error)
            error.hint = error.hint or (
                _EMPTY if is_empty else _OPEN if catalog.time_is_open else None
            )
        raise error.at(body, error.offset if error.offset is not None else 0) from error
    except RecursionError as error:
        raise Error("the query is nested too deeply", text=body, offset=0) from error
    writer = writer_of(name, plan, catalog.clock, FIRST)
    steps = Steps(name, catalog.clock, lambda: plan)
    steps.add(FIRST, write_steps(writer))
    answer = _answer(writer, plan, catalog)
    return Compiled(
        "stream" if properties(plan).is_stream else "relation",
        plan.columns,
        binder.sources,
        steps,
        identity(plan).id,
        writer.written_synopses(),
        dict(writer.spans),
        order_sql,
        any(map(_repeats, unique(plan))),
        any(
            d is not None and d.instants is not None
            for window in syntax.windows.values()
            for d in (window.range, window.slide)
        ),
        any(map(_is_heavy, unique(plan))),
        answer,
        properties(plan).period,
        is_net(plan, writer) or properties(plan).is_consolidated,
        Captured(macros, binder.called, types, called).text(),
        () if is_anew else ordered(writer),
        shown,
    )


def _answered_anew(plan: Plan) -> Plan:
    """Return the plan of a query, bound as a whole, that answers it anew.

    Raises:
        NotSupportedError: It would need what is not kept.
    """
    plan = optimize(answered_anew(plan))
    reason = refusal_of_plan(plan)
    if reason is not None:
        raise NotSupportedError(reason)
    return plan


def _answer(writer: Writer, plan: Plan, catalog: Catalog) -> str | None:
    """Return how the answer is read from synopses, or None if it is not.

    What calls a function of Python is not: the view of an answer is read without cqlduck, too.
    """
    found = writer.answer(plan)
    query = None if found is None else found.query()
    if query is None or any(functions.calls(query, catalog.functions)):
        return None
    return query.sql("duckdb")


def _repeats(node: Plan) -> bool:
    """Return whether a node may have elements at every instant."""
    if isinstance(node, ToStream):
        return node.kind == "rstream" and not properties(node.input).needs_now
    return isinstance(node, Recompute) and node.always


def _is_heavy(node: Plan) -> bool:
    if isinstance(node, Aggregate):
        return needs_lifetimes(node) and not has_frame(node) and properties(node).period is None
    return isinstance(node, Recompute)


def _check_columns(plan: Plan) -> None:
    for known in plan.columns:
        if known.name.lower() in RESERVED:
            raise reserved(known.name)
        if levels(known.type) > MAX_LEVELS:
            raise NotSupportedError(
                f"column {known.name} has a type of {levels(known.type)} levels",
                hint=f"Arrow, which hands answers out, has some {MAX_LEVELS}",
            )


def _check_conditions(plan: Plan, catalog: Catalog) -> None:
    """Refuse conditions whose types do not fit, before a tick would fail of them.

    Raises:
        BindError: DuckDB's own word on one of them.
    """
    found: list[tuple[exp.Expr, exp.Select]] = []
    for node in unique(plan):
        match node:
            case Filter():
                parts: Sequence[exp.Expr] = conjuncts(node.predicate)
            case Join():
                parts = node.predicates
            case _:
                continue
        source = typed_nothing([c for inner in node.children for c in inner.columns])
        for part in parts:
            whole = exp.select(exp.alias_(number(1), "one")).from_(source.subquery("input"))
            found.append((part, whole.where(part.copy(), copy=False)))
    if not found or catalog.described(union_all([w.copy() for _, w in found]).sql("duckdb")):
        return
    for part, whole in found:
        try:
            catalog.describe(whole.sql("duckdb"))
        except BindError as error:
            error.offset = place_of(part)
            raise


def _take_order(tree: exp.Query) -> exp.Order | None:
    """Remove and return the ORDER BY of the outermost query."""
    if not isinstance(tree, (exp.Select, exp.SetOperation)):
        return None
    if tree.args.get("limit") or tree.args.get("offset"):
        return None
    distinct = tree.args.get("distinct")
    if isinstance(tree, exp.Select) and distinct is not None and distinct.args.get("on"):
        return None
    order = tree.args.get("order")
    tree.set("order", None)
    return order


def _refuse_position(value: exp.Expr, order: exp.Order, columns: int) -> None:
    """Refuse a literal in ORDER BY that is no position of a column.

    Raises:
        BindError: It is none.
    """
    inner = value.unnest()
    literal = inner.this if isinstance(inner, exp.Neg) else inner
    if not isinstance(literal, (exp.Literal, exp.Null, exp.Boolean)):
        return
    text = inner.sql("duckdb")
    if not (text.isdecimal() and 1 <= int(text) <= columns):
        raise BindError(
            f"ORDER BY {text}: that is no position of a column",
            hint=f"a literal in ORDER BY is a position, 1 to {columns} here; name the column",
            offset=place_of(literal) or place_of(order),
        )


def _order(order: exp.Order, plan: Plan, binder: Binder) -> str:
    """Return ORDER BY over the answer's columns.

    Args:
        order: As it stood in the outermost query.
        plan: The plan of the query.
        binder: What has bound it.

    Raises:
        NotSupportedError: It names what the answer does not have.
    """
    catalog = binder.catalog
    copy = order.copy()
    current_time.refuse(copy, "ORDER BY")
    refuse_always(copy, catalog.volatile)
    known = {c.name.lower() for c in plan.columns}
    result = _result(binder, plan, order)
    for term in copy.expressions:
        value = term.this if isinstance(term, exp.Ordered) else term
        if value.sql("duckdb").upper() == "ALL":
            continue
        _refuse_position(value, order, len(plan.columns))
        found = result.over(value)
        if found is not None and not any(True for _ in aggregate_calls(found, catalog.aggregates)):
            missing = [c for c in found.find_all(exp.Column) if c.name.lower() not in known]
            if not missing:
                value.replace(found)
                continue
        if any(True for _ in aggregate_calls(value, catalog.aggregates)):
            raise NotSupportedError(
                "ORDER BY an aggregate, which is no column of the answer",
                hint="select the aggregate too, and order by its name",
                offset=place_of(order),
            )
        if isinstance(result, Result) and result.is_distinct and found is None:
            raise result.several(value)
        missing_here = result.missing(value)
        raise NotSupportedError(
            f"ORDER BY {missing_here.sql('duckdb')}, which is no column of the answer",
            hint="ORDER BY orders what table() shows; select the column too",
            offset=place_of(missing_here),
        )
    if (called := next(functions.calls(copy, catalog.functions), None)) is not None:
        name = catalog.functions[function_name(called)].name
        raise NotSupportedError(
            f"ORDER BY calls {name}, a function of Python, without which the answer is read, too",
            hint=f"select {name}(…) under a name, and order by that name",
            offset=place_of(order),
        )
    return copy.sql("duckdb").strip()


def _result(binder: Binder, plan: Plan, order: exp.Order) -> Result | Combined:
    """Return the result of a query as its ORDER BY sees it."""
    tree = unwrapped(binder.syntax.tree.copy())
    if isinstance(tree, exp.SetOperation):
        return Combined(tree, [c.name for c in plan.columns], order)
    assert isinstance(tree, exp.Select)
    remove_operator(tree)
    return result_of(binder, tree, {})
