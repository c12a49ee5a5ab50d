"""How a block says a node of a plan: the constructors of `plan`, with conditions as SQL.

    Filter(l, "v > 1")                          Join(l, r, "k = j")
    Project(l, k="k", w="v + 1")                Aggregate(l, "k", n="count(*)", total="sum(v)")
    Recompute(l, "SELECT max(v) AS m FROM l")

The names of the inputs are leaves. Columns are written as they are, without a table.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import duckdb
import sqlglot
from sqlglot import exp

from cqlduck.rewrite import plan
from cqlduck.rewrite.plan import AggregateCall, Column, Plan
from cqlduck.rewrite.plan.aggregates import aggregate_core
from cqlduck.rewrite.relalg.builders import column, typed_nothing
from laws import inputs
from laws.blocks import Law


def node(law: Law) -> Plan:
    """Return the node of a block over its inputs."""
    named = {given.name: inputs.leaf(given) for given in law.inputs}
    found = eval(law.node, {**_CONSTRUCTORS, **named})
    assert isinstance(found, Plan)
    return found


def sql(text: str) -> exp.Expr:
    """Return an expression over columns."""
    tree = sqlglot.parse_one(text, dialect="duckdb")
    return tree.transform(lambda n: column(n.name) if isinstance(n, exp.Column) else n)


def types(listed: dict[str, exp.Expr], over: Plan) -> list[str]:
    """Return the types of expressions over a node's columns."""
    query = exp.select(*(exp.alias_(value, name) for name, value in listed.items()))
    return _described(query.from_(typed_nothing(over.columns).subquery("input")))


def _described(query: exp.Query) -> list[str]:
    with duckdb.connect() as con:
        found = con.sql(f"DESCRIBE {query.sql('duckdb')}").fetchall()
    return [kind for _, kind, *_ in found]


def _filter(input: Plan, predicate: str) -> Plan:
    return plan.Filter(input, sql(predicate))


def _project(input: Plan, **listed: str) -> Plan:
    values = {name: sql(text) for name, text in listed.items()}
    columns = map(Column, values, types(values, input))
    return plan.Project(input, tuple(values.values()), tuple(columns))


def _join(*inputs: Plan | str, shown: tuple[str, ...] | None = None) -> Plan:
    plans = tuple(one for one in inputs if not isinstance(one, str))
    predicates = tuple(sql(one) for one in inputs if isinstance(one, str))
    return plan.Join(plans, predicates, shown)


def _aggregate(input: Plan, *keys: str, **calls: str) -> Plan:
    trees = {name: sql(text) for name, text in calls.items()}
    kinds = dict(zip(trees, types(trees, input), strict=True)) if trees else {}
    made = [_call(name, tree, kinds[name], input) for name, tree in trees.items()]
    return plan.Aggregate(input, keys, tuple(made), everything=not keys)


def _call(name: str, call: exp.Expr, kind: str, input: Plan) -> AggregateCall:
    core = aggregate_core(call)
    argument = core.this.name if isinstance(core.this, exp.Column) else None
    known = {exp.Count: "count", exp.Sum: "sum", exp.Avg: "avg", exp.Min: "min", exp.Max: "max"}
    function: Any = known.get(type(core), "other")
    is_plain = core is call and not core.expressions
    if not is_plain or (argument is None and function != "count"):
        function = "other"
    of = {c.name: c.type for c in input.columns}.get(argument or "")
    return AggregateCall(name, function, call, argument, kind, of)


def _recompute(*inputs: Plan | str, **how: Any) -> Plan:
    """Return any SQL over inputs by name; `_cql_instants._ts` or `$at` is the instant."""
    *plans, text = inputs
    over = tuple(one for one in plans if not isinstance(one, str))
    legs = {one.source.name: f"_cql_leg{place}" for place, one in enumerate(over)}  # type: ignore[attr-defined]
    query = sqlglot.parse_one(str(text), dialect="duckdb", into=exp.Select)
    assert isinstance(query, exp.Query)
    for table in query.find_all(exp.Table):
        table.set("this", exp.to_identifier(legs[table.name]))
    names = tuple(tuple(c.name for c in one.columns) for one in over)
    instant = exp.cast(exp.null(), "BIGINT")
    bound = query.transform(lambda n: instant if n in _INSTANTS else n)
    for one, name in zip(over, legs.values(), strict=True):
        bound = bound.with_(name, as_=typed_nothing(one.columns))
    columns = tuple(map(Column, query.named_selects, _described(bound)))
    how["turns"] = tuple((place, sql(turn)) for place, turn in how.get("turns", ()))
    return plan.Recompute(over, names, query, columns, "a law", **how)


_INSTANTS = (exp.column("_ts", table="_cql_instants"), exp.Placeholder(this="at"))

_CONSTRUCTORS: dict[str, Callable[..., Any]] = {
    **{name: made for name, made in vars(plan).items() if inspect.isclass(made)},
    "Filter": _filter,
    "Project": _project,
    "Join": _join,
    "Aggregate": _aggregate,
    "Recompute": _recompute,
    "sql": sql,
    "typed": Column,
}
