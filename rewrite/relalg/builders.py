"""Builders of SQL expressions (columns, casts and typed NULLs) and of plain projections."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from functools import cache

from sqlglot import exp
from sqlglot.errors import SqlglotError

from cqlduck.rewrite.plan import Column, Plan, Project

PADDING = "padding"
"""What a NULL of an outer join is marked with, among the notes of its node."""


def column(name: str, item: str | None = None) -> exp.Column:
    """Return a reference to a column of a node, or of an item of FROM."""
    table = None if item is None else exp.to_identifier(item, quoted=True)
    return exp.column(exp.to_identifier(name, quoted=True), table=table, copy=False)


@cache
def data_type(type_name: str) -> exp.DataType:
    """Return a type of DuckDB's; those that sqlglot cannot read are left as they are."""
    if not type_name.startswith("TUPLE") and '"NULL"' not in type_name:
        with contextlib.suppress(SqlglotError):
            return exp.DataType.build(type_name, dialect="duckdb")
    return exp.DataType(this=exp.DataType.Type.USERDEFINED, kind=exp.Var(this=type_name))


def cast(expression: exp.Expr, type_name: str) -> exp.Cast:
    """Return a copy of an expression cast to a DuckDB type; each type's name is parsed once."""
    return exp.Cast(this=expression.copy(), to=data_type(type_name).copy())


def typed_null(type_name: str) -> exp.Expr:
    """Return a NULL of a DuckDB type."""
    return cast(exp.null(), type_name)


def typed_nothing(columns: Sequence[Column]) -> exp.Select:
    """Return a SELECT of no rows with these columns."""
    listed = [exp.alias_(typed_null(c.type), c.name, quoted=True) for c in columns]
    return exp.select(*(listed or [exp.alias_(exp.Literal.number(1), "one")])).where(
        exp.false(), copy=False
    )


def over_nothing(columns: Sequence[Column], values: Sequence[exp.Expr]) -> exp.Select:
    """Return a SELECT of expressions over no rows with these columns, which tells their types."""
    listed = [exp.alias_(value.copy(), f"c{place}") for place, value in enumerate(values)]
    source = typed_nothing(columns).subquery("input", copy=False)
    return exp.select(*listed).from_(source, copy=False)


def narrowed(plan: Plan, columns: tuple[Column, ...]) -> Plan:
    """Return the projection to some of a plan's columns."""
    if plan.columns == columns:
        return plan
    return Project(plan, tuple(column(c.name) for c in columns), columns)


def renamed(plan: Plan, columns: tuple[Column, ...]) -> Project:
    """Return the projection that calls a plan's columns otherwise, one by one."""
    return Project(plan, tuple(column(c.name) for c in plan.columns), columns)


def is_padding(node: exp.Expr) -> bool:
    """Return whether an expression is a NULL in a column of the other side of an outer join."""
    return bool(node.meta.get(PADDING))


def filtered(call: exp.Expr, condition: exp.Expr) -> exp.Filter:
    """Return an aggregate of the rows for which a condition is true, besides its own FILTER."""
    inner = call.copy()
    if isinstance(inner, exp.Filter):
        condition = exp.and_(inner.expression.this.copy(), condition)
        inner = inner.this
    return exp.Filter(this=inner, expression=exp.Where(this=condition))
