"""UNION, EXCEPT and INTERSECT, with ALL and BY NAME too.

BY NAME is a UNION of projections: each side gets the columns of both, those of the left side first,
and NULL where it has none of that name.
"""

from __future__ import annotations

from sqlglot import exp

from cqlduck.errors import BindError
from cqlduck.rewrite.bind.catalog import Catalog
from cqlduck.rewrite.bind.context import Context, Ctes
from cqlduck.rewrite.bind.projection import cast_to, union_types
from cqlduck.rewrite.plan import Column, Distinct, Plan, Project, SetOperation, UnionAll
from cqlduck.rewrite.plan.not_incremental import NotIncremental
from cqlduck.rewrite.relalg.builders import cast, column, typed_nothing, typed_null
from cqlduck.rewrite.text.parsed import place_of


def combined(context: Context, tree: exp.SetOperation, ctes: Ctes) -> Plan:
    """Return the plan of a set operation.

    Raises:
        BindError: The columns of the sides do not fit.
        NotIncremental: It has no law.
    """
    word = tree.key.upper()
    for part in ("limit", "offset"):
        if tree.args.get(part):
            raise NotIncremental(part.upper(), offset=place_of(tree))
    if not all(any(s.find_all(exp.Table)) for s in (tree.this, tree.expression)):
        article = "a" if word == "UNION" else "an"
        raise NotIncremental(f"constants in {article} {word}", offset=place_of(tree))
    left, right = (context.relation(side, ctes, tree) for side in (tree.this, tree.expression))
    if tree.args.get("by_name"):
        left, right = _by_name(context.catalog, tree, left, right)
    else:
        left, right = _by_place(context.catalog, tree, left, right)
    every = tree.args.get("distinct") is False
    if isinstance(tree, exp.Except):
        return SetOperation(left, right, "except", every)
    if isinstance(tree, exp.Intersect):
        return SetOperation(left, right, "intersect", every)
    both = UnionAll((left, right))
    return both if every else Distinct(both)


def _by_place(
    catalog: Catalog, tree: exp.SetOperation, left: Plan, right: Plan
) -> tuple[Plan, Plan]:
    """Return the sides, their columns cast to common types one by one."""
    if len(left.columns) != len(right.columns):
        raise BindError(
            f"the sides of {tree.key.upper()} have {len(left.columns)} and {len(right.columns)} "
            "columns",
            hint="select as many on both sides",
            offset=place_of(tree),
        )
    columns = union_types(catalog, left.columns, right.columns)
    return cast_to(left, columns), cast_to(right, columns)


def _by_name(
    catalog: Catalog, tree: exp.SetOperation, left: Plan, right: Plan
) -> tuple[Plan, Plan]:
    """Return the sides, each with the columns of both, in the types that DuckDB gives these."""
    both = exp.union(typed_nothing(left.columns), typed_nothing(right.columns), distinct=False)
    both.set("by_name", True)
    columns = tuple(catalog.describe(both.sql("duckdb")))
    return _with_columns(left, columns), _with_columns(right, columns)


def _with_columns(plan: Plan, columns: tuple[Column, ...]) -> Plan:
    """Return a plan with these columns: its own of the same names, the others NULL."""
    known = {c.name.lower(): c for c in plan.columns}
    listed: list[exp.Expr] = []
    for wanted in columns:
        mine = known.get(wanted.name.lower())
        if mine is None:
            listed.append(typed_null(wanted.type))
        elif mine.type == wanted.type:
            listed.append(column(mine.name))
        else:
            listed.append(cast(column(mine.name), wanted.type))
    return Project(plan, tuple(listed), columns)
