"""The names by which the statements of a tick read streams and relations, wherever the rows are.

    arrivals_s($t0, $t1)    the elements of s with $t0 < _ts ≤ $t1: the arrivals of the tick
    stream_s()              all elements of s that are stored
    changes_r($low, $t1)    the tuples of r that begin after $low or end up to $t1

All are table macros, which the tick binds: to the store of s, or to rows that are in memory and in
no store yet; to the store of r, or to what the tick has changed in it. So a statement is one text,
and the text that is shown is the one that runs. What a tick reads of a stream besides its arrivals,
such as tuples that leave a window or stand in it, is cut by time, and at `$since`: elements up to
there are earlier than the query, and do not count.

The part of a statement that reads the arrivals of one stream alone can be computed before the tick
(`prefetch`). And in a projection each arrival is one element of the answer, at its place: columns
that are only renamed need not go through DuckDB (`passing`).
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from cqlduck.rewrite.plan import (
    Filter,
    Plan,
    Project,
    StreamScan,
    TimeWindow,
    properties,
    unique,
)
from cqlduck.rewrite.plan.trees import nodes
from cqlduck.rewrite.relalg import Rows
from cqlduck.rewrite.relalg.elements import parameter

_ARRIVALS = "_cql_arrivals_"
_CHANGES = "_cql_changes_"

_SCALAR = (exp.Cast, exp.TryCast, exp.Case, exp.If, exp.Coalesce, exp.Connector)
"""Functions of sqlglot that compute one value of one row, without names of a user."""


def arrivals_of(stream: str) -> str:
    """Return the name of the macro that reads a stream's arrivals in a tick."""
    return f"{_ARRIVALS}{stream}"


def stream_of(stream: str) -> str:
    """Return the name of the macro that reads what is kept of a stream."""
    return f"_cql_stream_{stream}"


def changes_of(relation: str) -> str:
    """Return the name of the macro that reads what changes of a relation in a tick."""
    return f"{_CHANGES}{relation}"


def changes(relation: str) -> exp.Table:
    """Return a FROM item: the lifetimes of a relation that begin or end in the tick."""
    return _call(changes_of(relation), parameter("low"), parameter("t1"))


def arrivals(stream: str) -> exp.Table:
    """Return a FROM item: a stream's arrivals in the tick."""
    return _call(arrivals_of(stream), parameter("t0"), parameter("t1"))


def stream(name: str) -> exp.Table:
    """Return a FROM item: what is kept of a stream."""
    return _call(stream_of(name))


def _call(name: str, *values: exp.Expr) -> exp.Table:
    call = exp.Anonymous(this=exp.to_identifier(name, quoted=True), expressions=[*values])
    # of a name with a schema sqlglot leaves the letters as they are
    return exp.Table(this=exp.Dot(this=exp.to_identifier("temp"), expression=call))


def arriving(table: object) -> str | None:
    """Return the stream whose arrivals a FROM item is, or None.

    >>> arriving(arrivals("s"))
    's'
    >>> arriving(stream("s"))
    """
    call = table.this if isinstance(table, exp.Table) else None
    if not isinstance(call, exp.Dot) or not call.name.startswith(_ARRIVALS):
        return None
    return call.name.removeprefix(_ARRIVALS)


def reads_arrivals(plan: Plan) -> bool:
    """Return whether what a node has in a tick is read of the arrivals of a stream alone."""
    return properties(plan).is_append_only and all(
        isinstance(node, (Filter, Project, StreamScan))
        or (isinstance(node, TimeWindow) and node.slide is None)
        for node in unique(plan)
    )


@dataclass(frozen=True)
class Prefetch:
    """A table that is kept for a tick, grouped, and made of the arrivals of one stream alone.

    Attributes:
        stream: The stream.
        table: The temporary table.
        select: What it is made by, in which no function of anybody's is called; of its parameters
            it takes `$t0` and `$t1`, for the arrivals.
    """

    stream: str
    table: str
    select: str


def prefetch(tree: exp.Expr) -> Prefetch | None:
    """Return what a statement makes of the arrivals of one stream alone; None if it does not."""
    query = tree.expression if isinstance(tree, exp.Create) else None
    parts = nodes(query, exp.Expr) if isinstance(query, exp.Query) else []
    if query is None or not any([isinstance(part, exp.Group) for part in parts]):
        return None
    made = {part.alias for part in parts if isinstance(part, exp.CTE)}
    read = [part for part in parts if isinstance(part, exp.Table) and part.name not in made]
    streams = {arriving(table) for table in read}
    (name, *others) = streams or {None}
    if name is None or others:
        return None
    calls = {id(table.this.expression) for table in read}
    for part in parts:
        if isinstance(part, (exp.Placeholder, exp.Anonymous)) and (
            id(part if isinstance(part, exp.Anonymous) else part.parent) not in calls
        ):
            return None
    return Prefetch(name, tree.this.name, query.sql("duckdb"))


@dataclass(frozen=True)
class Passing:
    """An answer that has an element for each arrival of one stream, at its place.

    Attributes:
        columns: Of each column but `_weight`, which is 1, its name in the stream, or None if it is
            worked out.
        rest: A SELECT of the other expressions, in order; None if there are none.
    """

    columns: tuple[str | None, ...]
    rest: str | None


def passing(rows: Rows) -> Passing | None:
    """Return how elements are arrivals of one stream, each at its place; None if they are not."""
    chain = rows.chains[0]
    if len(rows.chains) > 1 or rows.ctes or chain.predicates or chain.columns is None:
        return None
    source = chain.source
    if not isinstance(source, exp.Table) or arriving(source) is None:
        return None
    *listed, (_, weight) = chain.columns.items()
    if weight.sql("duckdb") != "CAST(1 AS BIGINT)" or not all(_is_own(v) for _, v in listed):
        return None
    columns = tuple(v.name if isinstance(v, exp.Column) else None for _, v in listed)
    computed = [exp.alias_(v, n, quoted=True) for n, v in listed if not isinstance(v, exp.Column)]
    rest = exp.select(*computed).from_(source.copy()).sql("duckdb") if computed else None
    return Passing(columns, rest)


def _is_own(value: exp.Expr) -> bool:
    """Return whether an expression has one value for each row, whatever the tick."""
    return all(
        isinstance(node, _SCALAR) or not isinstance(node, (exp.Func, exp.Query, exp.Placeholder))
        for node in value.walk()
    )
