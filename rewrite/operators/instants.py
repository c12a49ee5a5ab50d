"""A query at given instants: Q(τ) for each τ of a set T, with the instant as one more column.

A relation at T is a bag of (tuple, τ): each tuple with its multiplicity at τ. From lifetimes it is
laid out, R × T where enter ≤ τ < leave (`laid_out`). An operator at T does what it does over
tables, with the instant among the columns by which it joins, groups and compares (`at`):

    σ_p π_e (R)        over R at T, the instant preserved
    R ⋈ S              with equal instants
    γ_keys (R), δ (R)  by the keys and the instant
    R + S, R − S, …    of tuples with their instants
    Q (R, S, …)        a LATERAL over T

Four evaluators are this one over other instants. A query that changes only at boundaries: T are the
boundaries of the tick (`at_boundaries`). A query without a law: T are the instants at which an
input changes (`recompute`). An aggregate without accumulators: T are pairs of a changed group and
an instant (`accumulating`). The content between ticks: T = {$t1} (`at_rest`), and no column says
which instant it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from cqlduck.rewrite.plan import (
    Aggregate,
    Column,
    Difference,
    Distinct,
    Filter,
    Join,
    Net,
    Plan,
    Project,
    Recompute,
    SetOperation,
    UnionAll,
    guards,
)
from cqlduck.rewrite.relalg import Rows, joined
from cqlduck.rewrite.relalg.builders import cast, column
from cqlduck.rewrite.relalg.elements import (
    ENTER,
    LEAVE,
    TS,
    WEIGHT,
    after,
    count,
    named,
    number,
    parameter,
    qualified,
    references,
    same,
    until,
)
from cqlduck.rewrite.relalg.values import identities, identity_columns

AT = "_cql_at"
RECOMPUTED, LISTED = "_cql_again", "_cql_instants"


@dataclass(frozen=True)
class Instants:
    """T: one instant that is known, or several.

    Attributes:
        instant: The one, as an expression; of several, that of a row of where they are listed.
        column: The column that says of which instant a tuple is; None if there is one alone.
        each: Where they are listed, an item of FROM called `LISTED`, if a statement is for all.
        more: What else is known of an instant, for who works a query out for each.
    """

    instant: exp.Expr
    column: str | None = None
    each: exp.Expr | None = None
    more: tuple[exp.Expr, ...] = ()

    @property
    def columns(self) -> list[exp.Expr]:
        """The column, if there is one."""
        return [] if self.column is None else [column(self.column)]


NOW = Instants(parameter("t1"))
"""The end of the tick, or the frontier between ticks."""


# -- from lifetimes -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Laid:
    """How lifetimes are laid out at instants.

    Attributes:
        columns: The columns of the tuples.
        instants: Where the instants are listed, (keys, `_ts`).
        keys: By which of their columns tuples belong to them: an instant counts for these alone.
        conditions: Which of the instants count, over `i`.
        is_unit: Whether each tuple that stands has weight 1.
        is_blank: Whether an instant without a tuple has a row of NULLs, its weight among them.
        is_bag: Whether it matters how often a tuple is there.
        number: The column that numbers the pairs of keys and instants, if that is shown in their
            place; the keys of the pairs are called as `key_names` has it.
    """

    columns: tuple[Column, ...]
    instants: exp.Table
    keys: tuple[str, ...] = ()
    conditions: tuple[exp.Expr, ...] = ()
    is_unit: bool = False
    is_blank: bool = False
    is_bag: bool = True
    number: str | None = None

    @property
    def own_keys(self) -> list[str]:
        """What the keys are called beside the columns."""
        return [] if self.number is not None else key_names(len(self.keys))


def key_names(count: int) -> list[str]:
    """Return what keys are called beside the columns of tuples."""
    return [f"_cql_key{place}" for place in range(count)]


def laid_out(lives: exp.Expr, how: Laid) -> exp.Select:
    """Return (keys, `_cql_at`, columns): a tuple as often as it is there at an instant.

    With blanks `_weight` tells them from tuples.

    Args:
        lives: An item of FROM: (columns, `_cql_enter`, `_cql_leave`, `_weight`).
        how: How.
    """
    pairs = _pairs(lives, how)
    if how.is_unit:
        return pairs
    own = [*map(column, how.own_keys), column(AT)]
    blank = [exp.Is(this=column(WEIGHT), expression=exp.null())] if how.is_blank else []
    net = (
        exp.select(*own, *references(how.columns), named(count(), WEIGHT))
        .from_(pairs.subquery("pairs", copy=False), copy=False)
        .group_by(*own, *references(how.columns), *blank, *identities(how.columns))
    )
    if not how.is_bag:
        total: exp.Expr = exp.Sum(this=column(WEIGHT))
        there = after(total, number(0))
        if how.is_blank:
            there = exp.or_(there, exp.Is(this=total.copy(), expression=exp.null()))
        return net.having(there, copy=False)
    times: exp.Expr = column(WEIGHT)
    if how.is_blank:
        times = exp.Coalesce(this=times, expressions=[number(1)])
    copies = exp.Unnest(expressions=[exp.Anonymous(this="range", expressions=[times])])
    return exp.select("*", named(copies, "_cql_copy")).from_(
        net.subquery("net", copy=False), copy=False
    )


def _pairs(lives: exp.Expr, how: Laid) -> exp.Select:
    """Return the instants, each with the lifetimes that cover it."""
    listed_keys = how.keys if how.number is None else key_names(len(how.keys))
    theirs = [qualified("i", key) for key in listed_keys]
    mine = [qualified("l", key) for key in how.keys]
    on = [until(qualified("l", ENTER), qualified("i", TS))]
    on.append(after(qualified("l", LEAVE), qualified("i", TS)))
    shown = [] if how.number is not None else theirs
    listed = [
        *[named(key.copy(), name) for key, name in zip(shown, how.own_keys, strict=True)],
        named(qualified("i", TS if how.number is None else how.number), AT),
        *[named(qualified("l", c.name), c.name) for c in how.columns],
    ]
    if how.is_blank or not how.is_unit:
        listed.append(named(qualified("l", WEIGHT), WEIGHT))
    pairs = exp.select(*listed).from_(how.instants.as_("i"), copy=False)
    pairs = pairs.join(
        lives,
        on=exp.and_(same(theirs, mine), *on) if how.keys else exp.and_(*on),
        join_type="left" if how.is_blank else "inner",
        copy=False,
    )
    return pairs.where(*how.conditions, copy=False)


# -- from inputs ----------------------------------------------------------------------------------


def at(node: Plan, inputs: Sequence[Rows], instants: Instants) -> Rows:
    """Return (columns, instant): what an operator makes of its inputs at instants.

    Args:
        node: A node that is no leaf, no window and no stream.
        inputs: (columns, instant) of each input: each tuple as often as it is there.
        instants: The instants.
    """
    match node:
        case Filter():
            return inputs[0].where(guards.restriction(node))
        case Project():
            pairs = zip(node.expressions, node.columns, strict=True)
            listed = [named(expression, known.name) for expression, known in pairs]
            return inputs[0].project([*listed, *instants.columns])
        case Join():
            return _joined(node, inputs, instants)
        case Aggregate():
            results = [named(call.call, call.name) for call in node.calls]
            return grouped(node, inputs[0], instants, results)
        case Distinct():
            return grouped(node, inputs[0], instants)
        case UnionAll():
            sides = zip(inputs, node.inputs, strict=True)
            return Rows.union([_listed(rows, side, instants) for rows, side in sides])
        case SetOperation():
            left, right = (
                _listed(rows, side, instants).query()
                for rows, side in zip(inputs, (node.left, node.right), strict=True)
            )
            kind = exp.except_ if node.kind == "except" else exp.intersect
            both = kind(left, right, distinct=not node.all, copy=False)
            return Rows.given(both, names_of(node, instants))
        case Difference():
            return _difference(node, inputs, instants)
        case Net():
            return inputs[0]
        case Recompute():
            return _again(node, inputs, instants)
        case _:
            raise AssertionError(f"{type(node).__name__} is no operator over tables")


def names_of(node: Plan, instants: Instants) -> list[str]:
    """Return the names of a node's columns at instants."""
    return [*(c.name for c in node.columns), *(c.name for c in instants.columns)]


def grouped(node: Plan, rows: Rows, instants: Instants, results: Sequence[exp.Expr] = ()) -> Rows:
    """Return rows grouped by the keys of a node, which are its first columns, and the instant.

    Args:
        node: The node.
        rows: What is grouped.
        instants: The instants.
        results: What is worked out of each group: the node's other columns.
    """
    keys = references(node.columns[: len(node.columns) - len(results)])
    by = [*keys, *instants.columns]
    query = rows.select([*keys, *results, *instants.columns], group=by, alias="tuples")
    return Rows.given(query, names_of(node, instants))


def _listed(rows: Rows, node: Plan, instants: Instants, *more: exp.Expr) -> Rows:
    return rows.project([*references(node.columns), *instants.columns, *more])


def _joined(node: Join, inputs: Sequence[Rows], instants: Instants) -> Rows:
    legs = {f"i{place}": rows for place, rows in enumerate(inputs)}
    listed: list[exp.Expr] = [
        qualified(name, known.name)
        for name, plan in zip(legs, node.inputs, strict=True)
        for known in plan.columns
        if known in node.columns
    ]
    first, *others = legs
    together: list[exp.Expr] = []
    if instants.column is not None:
        listed.append(qualified(first, instants.column))
        together = [
            exp.EQ(
                this=qualified(first, instants.column),
                expression=qualified(other, instants.column),
            )
            for other in others
        ]
    return joined(legs, listed, [*together, *node.predicates])


def _difference(node: Difference, inputs: Sequence[Rows], instants: Instants) -> Rows:
    """Return what is left: of equal tuples those that are the same go."""
    apart = [named(e, f"_cql_apart{n}") for n, e in enumerate(identities(node.columns))]
    left, right = (
        _listed(rows, side, instants, *apart).query()
        for rows, side in zip(inputs, (node.left, node.right), strict=True)
    )
    rest = exp.except_(left, right, distinct=False, copy=False)
    names = [*names_of(node, instants), *(e.alias for e in apart)]
    listed = [*references(node.columns), *instants.columns]
    return Rows.given(rest, names, "rest").project(listed, "rest")


def _again(node: Recompute, inputs: Sequence[Rows], instants: Instants) -> Rows:
    """Return the query over its inputs, each instant by itself."""

    def leg(place: int) -> exp.Query:
        columns = node.inputs[place].columns
        listed = [
            exp.alias_(column(c.name), name, quoted=True)
            for c, name in zip(columns, node.names[place], strict=True)
        ]
        if instants.column is None and not node.alone:
            return inputs[place].project(listed, "tuples").query()
        query = exp.select(*listed).from_(inputs[place].subquery("tuples"), copy=False)
        for known in instants.columns:
            own = exp.EQ(this=known, expression=instants.instant.copy())
            query = query.where(own, copy=False)
        return query.order_by(*in_order(columns), copy=False) if node.alone else query

    def now(part: exp.Expr) -> exp.Expr:
        is_column = isinstance(part, exp.Column) and part.table == LISTED
        is_instant = is_column or part == parameter("at")
        return cast(instants.instant.copy(), "BIGINT") if is_instant else part

    over = node.over(leg)
    query = over.transform(now, copy=False) if instants.column is None else over
    alias = exp.TableAlias(
        this=exp.to_identifier(RECOMPUTED),
        columns=[exp.to_identifier(c.name, quoted=True) for c in node.columns],
    )
    again = exp.Subquery(this=query, alias=alias)
    listed: list[exp.Expr] = [qualified(RECOMPUTED, c.name) for c in node.columns]
    if instants.column is not None:
        listed.append(named(instants.instant.copy(), instants.column))
    made = exp.select(*listed, *instants.more)
    if instants.each is None:
        made = made.from_(again, copy=False)
    else:
        lateral = exp.Lateral(this=exp.Subquery(this=query), alias=alias)
        made = made.from_(instants.each, copy=False).join(lateral, join_type="cross", copy=False)
    names = [*names_of(node, instants), *(value.alias_or_name for value in instants.more)]
    return Rows.given(made, names, "again")


def in_order(columns: Sequence[Column]) -> list[exp.Ordered]:
    """Return ORDER BY all columns, NULLs last."""
    return [exp.Ordered(this=part, nulls_first=False) for part in identity_columns(columns)]
