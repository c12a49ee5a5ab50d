"""Whether one statement can recompute a query for all instants of a tick.

If so, the query runs in a LATERAL over the instants, which DuckDB turns into joins. A query that
DuckDB (release 2.0) evaluates wrongly there, or refuses, runs once for each instant instead, as
plain SQL over the inputs. That is exact too, and costs a statement for each instant.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sqlglot import exp

from cqlduck.rewrite.bind.bodies.inputs import Inputs
from cqlduck.rewrite.plan import Column, fill_inputs
from cqlduck.rewrite.relalg.builders import column
from cqlduck.rewrite.relalg.values import unsized
from cqlduck.rewrite.text.parsed import function_name

NULL_OVER_NOTHING = frozenset(
    {"any_value", "arbitrary", "arg_max", "arg_max_null", "arg_min", "arg_min_null", "argmax",
     "argmin", "array_agg", "avg", "bit_and", "bit_or", "bit_xor", "bool_and", "bool_or", "corr",
     "covar_pop", "covar_samp", "favg", "first", "fsum", "group_concat", "histogram", "kahan_sum",
     "kurtosis", "kurtosis_pop", "last", "list", "listagg", "mad", "max", "max_by", "mean",
     "median", "min", "min_by", "mode", "product", "quantile", "quantile_cont", "quantile_disc",
     "sem", "skewness", "stddev", "stddev_pop", "stddev_samp", "string_agg", "sum", "sumkahan",
     "var_pop", "var_samp", "variance"}
)  # fmt: skip
"""Aggregates that are NULL over nothing: all that a LATERAL gives there, but for count."""


def why_alone(body: exp.Query, aggregates: frozenset[str], columns: Iterable[Column]) -> str | None:
    """Return what in a query keeps the instants from sharing a statement, or None.

    Args:
        body: The query.
        aggregates: The names of DuckDB's aggregates.
        columns: Those of the inputs, and of the result.
    """
    types = [c.type for c in columns] + [kind.sql("duckdb") for kind in body.find_all(exp.DataType)]
    has_arrays = any(unsized(kind) != kind for kind in types)
    # what DuckDB calls array_agg, or array_append, makes lists
    calls = map(function_name, body.find_all(exp.Func))
    return next(_reasons(body, aggregates, has_arrays or "array_value" in calls), None)


def _reasons(body: exp.Query, aggregates: frozenset[str], has_arrays: bool) -> Iterator[str]:
    for node in body.walk():
        match node:
            case exp.With() if node.args.get("recursive"):
                yield "WITH RECURSIVE"
            case exp.Limit() | exp.Offset():
                options = node.args.get("limit_options")
                if not isinstance(node.expression, exp.Literal) or options is not None:
                    yield "LIMIT with anything but a number"
            case exp.Pivot():
                yield "UNPIVOT" if node.args.get("unpivot") else "PIVOT"
            case exp.GroupingSets() | exp.Rollup() | exp.Cube():
                yield "grouping sets"
            case exp.In() | exp.Any() | exp.All():
                left = node if isinstance(node, exp.In) else node.parent
                if left is not None and isinstance(left.this, exp.Tuple) and node.find(exp.Query):
                    yield "IN with several columns"
            case exp.Select():
                yield from _of_everything(node, aggregates, has_arrays)


def _of_everything(
    select: exp.Select, aggregates: frozenset[str], has_arrays: bool
) -> Iterator[str]:
    """Yield what a LATERAL gets wrong in an aggregate over everything."""
    if select.args.get("group") is not None:
        return
    calls = [
        node
        for node in select.find_all(exp.Func)
        if function_name(node) in aggregates and node.find_ancestor(exp.Query) is select
    ]
    calls = [call for call in calls if call.find_ancestor(exp.Window) is None]
    for call in calls:
        name = function_name(call)
        if name not in NULL_OVER_NOTHING and name not in ("count", "count_star"):
            yield f"{name} over nothing"
    if has_arrays and any(function_name(call) not in ("count", "count_star") for call in calls):
        # of the NULL that an array is over nothing, what stands in it is read
        yield "an array beside an aggregate over everything"
    having = select.args.get("having")
    if calls:
        for written in [*select.expressions, *([] if having is None else [having])]:
            for query in written.find_all(exp.Query):
                if not _inside_aggregate(query, aggregates):
                    yield "a subquery beside an aggregate over everything"


def _inside_aggregate(node: exp.Expr, aggregates: frozenset[str]) -> bool:
    around = node.parent
    while around is not None and not isinstance(around, exp.Select):
        if isinstance(around, exp.Func) and function_name(around) in aggregates:
            return True
        around = around.parent
    return False


def why_refused(body: exp.Query, inputs: Inputs) -> str | None:
    """Ask DuckDB whether it takes the query in a LATERAL."""

    def leg(place: int) -> exp.Select:
        same = exp.EQ(this=exp.column("at", "leg"), expression=exp.column("at", "instants"))
        columns = inputs.nothing(place).select(exp.alias_(exp.Literal.number(1), "at"))
        names = [column(name) for name in inputs.names[place]]
        return exp.select(*names).from_(columns.subquery("leg")).where(same)

    inside = exp.Lateral(this=exp.Subquery(this=fill_inputs(body, leg)))
    inside.set("alias", exp.TableAlias(this=exp.to_identifier("again")))
    instants = exp.select(exp.alias_(exp.Literal.number(0), "at")).subquery("instants")
    asked = exp.select("again.*").from_(instants).join(inside, join_type="cross")
    found = inputs.catalog.described(asked.sql("duckdb"))
    return None if found is not None else "what DuckDB takes outside of a LATERAL alone"
