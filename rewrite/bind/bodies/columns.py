"""The columns of a recomputed query."""

from __future__ import annotations

from sqlglot import exp

from cqlduck.errors import BindError
from cqlduck.rewrite.bind.bodies.inputs import Inputs
from cqlduck.rewrite.bind.bodies.select_parts import from_items
from cqlduck.rewrite.plan import Column, fill_inputs
from cqlduck.rewrite.text.parsed import place_of
from cqlduck.rewrite.text.spelling import suggestion


def columns(body: exp.Query, inputs: Inputs) -> tuple[Column, ...]:
    """Return the columns of the query; a name that stands for something around it is told."""
    typed = fill_inputs(body, inputs.nothing)
    sql = exp.select("*").from_(typed.subquery("named")).sql("duckdb")
    if inputs.catalog.described(sql) is None:
        # asking for the error would end the transaction, and what is around may help
        missing = _missing(inputs, body)
        if missing is not None:
            name = missing.parts[0].name
            known = dict.fromkeys(known for names in inputs.names for known in names)
            unknown = BindError(
                f"there is no column, table or alias {name} here",
                hint=suggestion(name, known, "columns"),
                offset=place_of(missing),
            )
            unknown.missing = name
            raise unknown
    return tuple(inputs.catalog.describe(sql))


def _missing(inputs: Inputs, body: exp.Query) -> exp.Column | None:
    """Return the first column that no FROM clause of the query has, or None."""
    for node in body.find_all(exp.Column):
        select = node.find_ancestor(exp.Select)
        known = node.find_ancestor(exp.Lambda, exp.Comprehension) is not None
        while select is not None and not known:
            known = _may_have(inputs, select, node)
            select = select.find_ancestor(exp.Select)
        if not known and not isinstance(node.this, exp.Star):
            return node
    return None


def _may_have(inputs: Inputs, select: exp.Select, node: exp.Column) -> bool:
    name = node.parts[0].name.lower()
    for item, _ in from_items(select):
        columns = inputs.columns_of(item)
        alias = item.alias or item.name
        if alias.lower() == name:
            return True
        if columns is None or name in {c.name.lower() for c in columns}:
            return True
        if item.args.get("pivots"):
            return True
    return any(listed.alias.lower() == name for listed in select.expressions if listed.alias)
