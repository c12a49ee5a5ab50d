"""Projections: columns with the names and types that DuckDB gives them."""

from __future__ import annotations

from sqlglot import exp

from cqlduck.errors import BindError
from cqlduck.rewrite.bind.catalog import Catalog
from cqlduck.rewrite.plan import Column, Plan, Project
from cqlduck.rewrite.plan.conditions import without_parens
from cqlduck.rewrite.relalg.builders import cast, column, over_nothing, renamed, typed_nothing
from cqlduck.rewrite.text.names import RESERVED, STORED, reserved
from cqlduck.rewrite.text.parsed import place_of


def project(catalog: Catalog, plan: Plan, listed: list[tuple[str | None, exp.Expr]]) -> Project:
    """Return the projection to named expressions; without a name, DuckDB gives one."""
    named = [
        expression if name is None else exp.alias_(expression, name, quoted=True)
        for name, expression in listed
    ]
    source = typed_nothing(plan.columns).subquery("input", copy=False)
    inner = exp.select(*named).from_(source, copy=False)
    outer = exp.select("*").from_(inner.subquery("named", copy=False), copy=False)
    try:
        columns = tuple(catalog.describe(outer.sql("duckdb")))
    except BindError as error:
        for _, expression in listed:
            alone = over_nothing(plan.columns, [expression])
            if catalog.described(alone.sql("duckdb")) is None:
                error.offset = place_of(expression)
                break
        raise
    values = [
        _typed(expression, known.type)
        for (_, expression), known in zip(listed, columns, strict=True)
    ]
    return Project(plan, tuple(values), columns)


def with_names(plan: Plan, columns: tuple[Column, ...]) -> Plan:
    """Return a plan whose columns are called after these, one by one."""
    if plan.columns == columns:
        return plan
    beside = {c.name.lower() for c in plan.columns}.intersection((*RESERVED, *STORED))
    if beside and isinstance(plan, Project):
        # delta rules put columns of these names beside those of an operator
        return Project(plan.input, plan.expressions, columns)
    if beside.intersection(RESERVED):
        raise reserved(min(beside.intersection(RESERVED)))
    return renamed(plan, columns)


def union_types(
    catalog: Catalog, columns: tuple[Column, ...], others: tuple[Column, ...]
) -> tuple[Column, ...]:
    """Return columns in the types that they have in a union with others."""
    both = exp.union(typed_nothing(columns), typed_nothing(others), distinct=False)
    types = catalog.describe(both.sql("duckdb"))
    return tuple(Column(c.name, found.type) for c, found in zip(columns, types, strict=True))


def cast_to(plan: Plan, columns: tuple[Column, ...]) -> Plan:
    """Return a plan whose columns have the names and types of these, one by one."""
    if plan.columns == columns:
        return plan
    expressions = tuple(
        column(mine.name) if mine.type == wanted.type else cast(column(mine.name), wanted.type)
        for mine, wanted in zip(plan.columns, columns, strict=True)
    )
    return Project(plan, expressions, columns)


def _typed(value: exp.Expr, type_name: str) -> exp.Expr:
    """Return what a SELECT list shows so that it has its type wherever it is substituted.

    A constant takes on the type of what it stands beside: `t + 100` of a TINYINT is a TINYINT, of a
    column that is 100 it is an INTEGER.
    """
    bare = without_parens(value)
    constant = bare.this if isinstance(bare, exp.Neg) else bare
    return cast(bare, type_name) if isinstance(constant, exp.Literal) else value
