"""What a tick makes of a queue alone.

A statement that reads what waits in a queue, and nothing else, reads all of it, so it needs none of
the bounds of a tick. Its result is known as soon as the rows are: `apart` says of what is kept for
a tick whether it is such.

Of a selection or projection the elements come `straight` from the queue. Without a selection each
of its rows is one element, at its place: then what is only named again need not go through DuckDB
at all. Its column of the queue is the answer's.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

from sqlglot import exp

from cqlduck.rewrite import guards
from cqlduck.rewrite.conditions import conjuncts
from cqlduck.rewrite.weighted import TS

_ROW_BY_ROW = (
    exp.Column, exp.Identifier, exp.Literal, exp.Null, exp.Boolean, exp.Cast, exp.TryCast,
    exp.DataType, exp.DataTypeParam, exp.Paren, exp.Neg, exp.Add, exp.Sub, exp.Mul, exp.Div,
    exp.IntDiv, exp.Mod, exp.Case, exp.If, exp.Coalesce, exp.And, exp.Or, exp.Not, exp.Is,
    exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.DPipe,
)  # fmt: skip
"""What expressions are made of that have one value for each row."""


@dataclass(frozen=True)
class Straight:
    """What a SELECT over a queue gives, if the tick reads all of the queue.

    Attributes:
        columns: If it gives one element for each row: of each column but `_weight`, which is 1, the
            name in the queue, or None if it is worked out. None if rows are selected.
        rest: A SELECT of what is worked out, in order, or of all; None if nothing is.
    """

    columns: tuple[str | None, ...] | None
    rest: str | None


def straight(answer: exp.Expr) -> Straight | None:
    """Return how a SELECT of elements comes straight from a queue; None if it does not.

    It reads one table, and the bounds of the tick are among its conditions.
    """
    if not isinstance(answer, exp.Select):
        return None
    given = {key for key, value in answer.args.items() if value}
    source, where = answer.args.get("from_"), answer.args.get("where")
    if not given <= {"expressions", "from_", "where"} or source is None or where is None:
        return None
    table = source.this
    if not isinstance(table, exp.Table) or table.db or table.args.get("joins"):
        return None
    others = _beside_the_bounds(where)
    if others is None or any(c.find(exp.Placeholder) for c in others):
        return None
    *listed, weight = answer.expressions
    values = [expression.unalias() for expression in listed]
    is_one = weight.unalias().sql("duckdb") == "CAST(1 AS BIGINT)"
    each = is_one and all(isinstance(n, _ROW_BY_ROW) for value in values for n in value.walk())
    if others or not each:
        if any(e.find(exp.Placeholder) for e in answer.expressions):
            return None
        chosen = exp.select(*(e.copy() for e in answer.expressions)).from_(table.copy())
        return Straight(None, chosen.where(*(c.copy() for c in others)).sql("duckdb"))
    columns = tuple(value.name if isinstance(value, exp.Column) else None for value in values)
    computed = [e.copy() for e, name in zip(listed, columns, strict=True) if name is None]
    rest = exp.select(*computed).from_(table.copy()).sql("duckdb") if computed else None
    return Straight(columns, rest)


@dataclass(frozen=True)
class Apart:
    """A table that is kept for a tick, grouped, and made of one queue alone.

    Attributes:
        queue: The queue.
        table: The temporary table.
        select: What it is made by, in which no macro is called.
    """

    queue: str
    table: str
    select: str


_PARTS = (
    exp.Select, exp.From, exp.Where, exp.Group, exp.Subquery, exp.TableAlias,
    exp.Table, exp.With, exp.CTE, exp.Union, exp.Alias, exp.Column, exp.Identifier, exp.Literal,
    exp.Null, exp.Boolean, exp.Cast, exp.DataType, exp.Paren, exp.Neg, exp.Add, exp.Sub, exp.Mul,
    exp.DataTypeParam, exp.Div, exp.IntDiv, exp.Mod, exp.Case, exp.If, exp.Coalesce, exp.And,
    exp.Or, exp.Not, exp.Is, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.EQ, exp.NEQ, exp.Sum, exp.Count,
    exp.Min, exp.Max, exp.Filter, exp.Star, exp.In, exp.Window, exp.Lead, exp.Lag, exp.Order,
    exp.Ordered, exp.Having, exp.Exists, exp.Join, exp.NullSafeEQ,
)  # fmt: skip
"""What such a statement is made of."""


def apart(tree: exp.Expr, queues: Set[str]) -> Apart | None:
    """Return what a statement keeps of one queue alone; None if it does otherwise."""
    if not isinstance(tree, exp.Create) or not isinstance(tree.expression, exp.Query):
        return None
    made = {cte.alias for cte in tree.find_all(exp.CTE)}
    read = [table for table in tree.expression.find_all(exp.Table) if table.name not in made]
    names = {table.name for table in read}
    if len(names) != 1 or any(table.db for table in read) or not names <= queues:
        return None
    # few come so far, and only these are copied
    query = tree.expression.copy()
    if not all(isinstance(node, (*_PARTS, exp.Placeholder)) for node in query.walk()):
        return None
    (queue,) = names
    read = [table for table in query.find_all(exp.Table) if table.name not in made]
    for table in read:
        select = table.parent_select
        others = None if select is None else _beside_the_bounds(select.args.get("where"))
        if select is None or others is None:
            return None
        select.set("where", exp.Where(this=exp.and_(*others)) if others else None)
    if query.find(exp.Placeholder) is not None or query.find(exp.Group) is None:
        return None
    return Apart(queue, tree.this.name, query.sql("duckdb"))


_ENDS = {(exp.GT, "t0"), (exp.LTE, "t1")}
_BEGIN = (exp.GT, "since")


def _beside_the_bounds(where: exp.Where | None) -> list[exp.Expr] | None:
    """Return what is asked of a tick's rows besides its bounds; None if these are not asked for.

    They are $t0 < _ts and _ts <= $t1, and where a query has that $since < _ts.
    """
    conditions = [] if where is None else conjuncts(where.this)
    bounds = {_bound(condition) for condition in conditions}
    if not bounds >= _ENDS:
        return None
    return [guards.without(c, _is_bound) for c in conditions if not _is_bound(c)]


def _is_bound(condition: exp.Expr) -> bool:
    return _bound(condition) in {*_ENDS, _BEGIN}


def _bound(condition: exp.Expr) -> tuple[type[exp.Expr], str] | None:
    """Return how a condition compares `_ts` with a parameter, and which; None if it does not."""
    if not isinstance(condition, (exp.GT, exp.LTE)):
        return None
    time, bound = condition.this, condition.expression
    if (
        not isinstance(time, exp.Column)
        or time.name != TS
        or not isinstance(bound, exp.Placeholder)
    ):
        return None
    return type(condition), str(bound.this)
