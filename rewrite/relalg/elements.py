"""Builders for queries over tuples with weights and instants.

Two shapes of rows are passed between operators, always after a node's own columns:

* elements, (`_ts`, `_weight`): at instant `_ts` the tuple's multiplicity changes by `_weight`;
* lifetimes, (`_cql_enter`, `_cql_leave`, `_weight`): the tuple counts `_weight` at each τ with
  `_cql_enter` ≤ τ < `_cql_leave`. An element is a lifetime that ends `FOREVER`.

Our own names begin with `_cql_`, so that they never clash with a user's columns.

Both are signed and linear: filters, projections and unions pass them on, and the product of two
lifetimes is their overlap with the product of the weights.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

from sqlglot import exp

from cqlduck.rewrite.plan import FOREVER, Column
from cqlduck.rewrite.relalg import Rows
from cqlduck.rewrite.relalg.builders import cast, column
from cqlduck.rewrite.relalg.values import identities, identity, values_of_group

TS, WEIGHT = "_ts", "_weight"
ENTER, LEAVE, SEQ = "_cql_enter", "_cql_leave", "_cql_seq"
NEXT = "_cql_next"
ROWID = "_cql_rowid"
"""Where a row of a table lies, as DuckDB's `rowid` says it."""


def parameter(name: str) -> exp.Placeholder:
    """Return `$name`: a value that is known when the statement runs."""
    return exp.Placeholder(this=name)


def number(value: int) -> exp.Expr:
    """Return an integer literal."""
    return exp.Literal.number(value)


def forever() -> exp.Expr:
    """Return the end of a lifetime that is not known."""
    return exp.Literal.number(FOREVER)


def qualified(table: str, name: str) -> exp.Column:
    """Return `table.name`, the name quoted."""
    return exp.column(
        exp.to_identifier(name, quoted=True), table=exp.to_identifier(table), copy=False
    )


def state_table(name: str) -> exp.Table:
    """Return a table of schema `cql_state`."""
    return exp.Table(this=exp.to_identifier(name, quoted=True), db=exp.to_identifier("cql_state"))


def temp_table(name: str) -> exp.Table:
    """Return a temporary table, which lives for one tick."""
    return exp.Table(this=exp.to_identifier(name, quoted=True), db=exp.to_identifier("temp"))


def named(expression: exp.Expr, name: str) -> exp.Expr:
    """Return `expression AS name`, or the column itself where that says nothing."""
    if isinstance(expression, exp.Column) and expression.name == name and not expression.table:
        return expression
    return exp.alias_(expression, name, quoted=True)


def references(columns: Iterable[Column]) -> list[exp.Expr]:
    """Return references to these columns."""
    return [column(c.name) for c in columns]


def add(expression: exp.Expr, value: int) -> exp.Expr:
    """Return `expression + value`."""
    if value == 0:
        return expression
    if value < 0:
        return exp.Sub(this=expression, expression=number(-value))
    return exp.Add(this=expression, expression=number(value))


def after(expression: exp.Expr, bound: exp.Expr) -> exp.Expr:
    """Return `expression > bound`."""
    return exp.GT(this=expression, expression=bound)


def until(expression: exp.Expr, bound: exp.Expr) -> exp.Expr:
    """Return `expression <= bound`."""
    return exp.LTE(this=expression, expression=bound)


def floor_to(expression: exp.Expr, step: int) -> exp.Expr:
    """Return the last multiple of `step` at or before an instant, negative ones included."""
    if step == 1:
        return expression
    rest = exp.Mod(this=exp.paren(expression), expression=number(step))
    missing = exp.Case().when(exp.LT(this=rest, expression=number(0)), number(step))
    down = exp.Sub(this=exp.paren(expression.copy()), expression=rest.copy())
    return exp.paren(exp.Sub(this=down, expression=missing.else_(number(0))))


def ceil_to(expression: exp.Expr, step: int) -> exp.Expr:
    """Return the first multiple of `step` at or after an instant."""
    return floor_to(add(expression, step - 1), step)


def greatest(*values: exp.Expr) -> exp.Expr:
    """Return the greatest of values; NULLs do not count.

    By name: sqlglot guards its own node against NULL, which makes NULL of it.
    """
    return exp.Anonymous(this="greatest", expressions=[*values])


def least(*values: exp.Expr) -> exp.Expr:
    """Return the least of values; NULLs do not count."""
    return exp.Anonymous(this="least", expressions=[*values])


def is_null(expression: exp.Expr) -> exp.Expr:
    """Return `expression IS NULL`, of a copy."""
    return exp.Is(this=expression.copy(), expression=exp.null())


def same(
    left: Sequence[exp.Expr], right: Sequence[exp.Expr], never_null: Container[str] = ()
) -> exp.Expr:
    """Return whether tuples are equal, NULL being equal to NULL; of nothing, true.

    Args:
        left: The columns of one tuple.
        right: Those of the other.
        never_null: Which names on the left are of columns that are never NULL.
    """
    parts = [
        (exp.EQ if mine.name in never_null else exp.NullSafeEQ)(this=mine, expression=theirs)
        for mine, theirs in zip(left, right, strict=True)
    ]
    return exp.and_(*parts) if parts else exp.true()


def count(expression: exp.Expr | None = None) -> exp.Expr:
    """Return `sum(expression)` as a BIGINT; without one, of the weights."""
    return cast(exp.Sum(this=expression or column(WEIGHT)), "BIGINT")


def once() -> exp.Expr:
    """Return the weight of one tuple, as `_weight`."""
    return named(cast(number(1), "BIGINT"), WEIGHT)


def begins_or_ends() -> exp.Paren:
    """Return whether a lifetime that touches the tick begins or ends in it."""
    changes = exp.or_(after(column(ENTER), parameter("t0")), until(column(LEAVE), parameter("t1")))
    return exp.paren(changes)


def begun() -> exp.Expr:
    """Return where a lifetime begins that began before the tick, as `_cql_enter`: $t0."""
    return named(cast(parameter("t0"), "BIGINT"), ENTER)


def qualified_identity(table: str, columns: Sequence[Column]) -> list[exp.Expr]:
    """Return what tells tuples of a table from each other: columns, and what = does not tell."""
    values: list[exp.Expr] = [qualified(table, known.name) for known in columns]
    own = (identity(qualified(table, known.name), known.type) for known in columns)
    return [*values, *(part for part in own if part is not None)]


def exists(source: exp.Expr | str, *conditions: exp.Expr) -> exp.Exists:
    """Return whether an item of FROM has a row that meets conditions."""
    rows = exp.select("1").from_(source, copy=False)
    return exp.Exists(this=rows.where(*conditions, copy=False))


def over_time(
    function: exp.Expr,
    keys: Sequence[exp.Expr] = (),
    spec: exp.WindowSpec | None = None,
    by: Sequence[str] = (TS,),
) -> exp.Window:
    """Return a window function over the rows of the same keys in the order of instants.

    Args:
        function: The function.
        keys: The keys.
        spec: The frame.
        by: The columns of the order, if it is another.
    """
    order = exp.Order(expressions=[exp.Ordered(this=column(name)) for name in by])
    parts = [key.copy() for key in keys]
    return exp.Window(this=function, partition_by=parts, order=order, spec=spec)


def preceding(kind: str, start: int) -> exp.WindowSpec:
    """Return a frame from so many ROWS, or instants (RANGE), before a row up to the row itself."""
    return exp.WindowSpec(kind=kind, start=number(start), start_side="PRECEDING", end="CURRENT ROW")


def consolidate(rows: Rows, columns: Sequence[Column], sign: type[exp.Binary] = exp.NEQ) -> Rows:
    """Return the net elements: one row for each tuple and instant whose weights do not cancel.

    Values that are equal but not the same do not cancel: what is made of them may differ.

    Args:
        rows: Elements.
        columns: The columns of their tuples.
        sign: How the net weight compares with 0: those that are not 0, or of one sign alone.
    """
    keys = [*references(columns), column(TS)]
    net: exp.Expr = exp.Sum(this=column(WEIGHT))
    having = sign(this=net, expression=number(0))
    if sign is exp.LT:
        # where all weights are positive DuckDB knows that no sum is less than 0, and evaluates
        # nothing of the rows, not even what raises
        having = exp.GT(this=exp.Abs(this=net.copy()), expression=net)
    found = rows.select(
        [*values_of_group(columns), column(TS), named(count(), WEIGHT)],
        group=[*keys, *identities(columns)],
        having=having,
        alias="elements",
    )
    return Rows.given(found, element_names(columns), "net")


def tuples_of(rows: Rows, columns: Sequence[Column], *, is_repeated: bool) -> Rows:
    """Return (columns, `_weight`): the net tuples of a relation at one instant.

    Args:
        rows: (columns, `_weight`), where one tuple may have several weights, also negative ones.
        columns: The columns.
        is_repeated: Whether a tuple of weight k becomes k tuples of weight 1.
    """
    keys = references(columns)
    net = rows.select(
        [*values_of_group(columns), named(count(), WEIGHT)],
        group=[*keys, *identities(columns)],
        having=after(exp.Sum(this=column(WEIGHT)), number(0)),
        alias="tuples",
    )
    names = [*(c.name for c in columns), WEIGHT]
    if is_repeated:
        net = exp.select(*keys, once(), _each_copy()).from_(net.subquery("net", copy=False))
        names.append("_cql_copy")
    return Rows.given(net, names, "tuples")


def copies(rows: Rows, columns: Sequence[Column]) -> Rows:
    """Return (columns, `_ts`) of stream elements, a weight of k as k tuples."""
    return rows.project([*references(columns), column(TS), _each_copy()], "stream")


def _each_copy() -> exp.Expr:
    each = exp.Unnest(expressions=[exp.Anonymous(this="range", expressions=[column(WEIGHT)])])
    return named(each, "_cql_copy")


def element_names(columns: Iterable[Column]) -> list[str]:
    """Return the names of the columns of elements."""
    return [*(c.name for c in columns), TS, WEIGHT]


def lifetime_names(columns: Iterable[Column]) -> list[str]:
    """Return the names of the columns of lifetimes."""
    return [*(c.name for c in columns), ENTER, LEAVE, WEIGHT]


def union_all(queries: Sequence[exp.Query]) -> exp.Query:
    """Return the UNION ALL of one or more queries."""
    first, *others = queries
    for other in others:
        if other.args.get("with_"):
            # WITH stands before a whole UNION, or inside a subquery
            other = exp.select("*").from_(other.subquery("arm", copy=False), copy=False)
        first = exp.union(first, other, distinct=False, copy=False)
    return first


def lifetimes_to_elements(lives: Rows, columns: Sequence[Column]) -> Rows:
    """Return the changes in ($t0, $t1] that lifetimes stand for."""
    source = Rows.of(exp.to_table("lives"), lifetime_names(columns))
    less = named(exp.Neg(this=column(WEIGHT)), WEIGHT)
    enters = source.where(after(column(ENTER), parameter("t0")))
    leaves = source.where(until(column(LEAVE), parameter("t1")))
    both = [
        enters.project([*references(columns), named(column(ENTER), TS), column(WEIGHT)]),
        leaves.project([*references(columns), named(column(LEAVE), TS), less]),
    ]
    return Rows.union(both).with_("lives", lives.query())


def elements_to_lifetimes(elements: Rows, columns: Sequence[Column]) -> Rows:
    """Return elements as lifetimes without an end."""
    end = named(forever(), LEAVE)
    listed = [*references(columns), named(column(TS), ENTER), end, column(WEIGHT)]
    return elements.project(listed, "elements")
