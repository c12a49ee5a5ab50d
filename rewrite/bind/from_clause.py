"""FROM: its items one after the other, and their joins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from cqlduck.errors import BindError, NotSupportedError
from cqlduck.rewrite.bind import current_time
from cqlduck.rewrite.bind.catalog import Catalog
from cqlduck.rewrite.bind.conditions import conditions_of, inner_join, may_raise, no_aggregate
from cqlduck.rewrite.bind.context import Context, Ctes
from cqlduck.rewrite.bind.from_items import bind_derived, bind_table
from cqlduck.rewrite.bind.pivots import pivoted
from cqlduck.rewrite.bind.projection import project
from cqlduck.rewrite.bind.scope import Item, Merged, Scope, asking_around
from cqlduck.rewrite.plan import (
    Column,
    Plan,
    Project,
)
from cqlduck.rewrite.plan.conditions import names_in
from cqlduck.rewrite.plan.not_incremental import NotIncremental
from cqlduck.rewrite.relalg.builders import column
from cqlduck.rewrite.rules.canonical import shown
from cqlduck.rewrite.text.parsed import place_of


def bind_from(context: Context, tree: exp.Select, scope: Scope, ctes: Ctes) -> list[exp.Expr]:
    """Bind a FROM clause: fill the scope, and return the conditions of its joins."""
    clause = tree.args.get("from_")
    if clause is None:
        raise NotIncremental("a SELECT without FROM", offset=place_of(tree))
    conditions = bind_item(context, clause.this, scope, ctes)
    joins = [*(clause.this.args.get("joins") or []), *(tree.args.get("joins") or [])]
    return _joins(context, joins, scope, ctes, 0, 0, conditions)


def _joins(
    context: Context,
    joins: list[exp.Join],
    scope: Scope,
    ctes: Ctes,
    first: int,
    start: int,
    conditions: list[exp.Expr],
) -> list[exp.Expr]:
    """Bind joined items one after the other; return their conditions.

    Args:
        context: Binds queries in FROM.
        joins: The joins.
        scope: Gets the items.
        ctes: What FROM sees.
        first: The place of the first item that they join.
        start: The place of its plan.
        conditions: What is said inside it, if it is a join itself.
    """
    before: list[exp.Expr] = []
    begin = start
    for join in joins:
        kind = _kind_of(join)
        conditions = _closed(context.catalog, scope, start, conditions)
        left, middle = len(scope.items), len(scope.plans)
        if kind == ",":
            # what is before a comma is no part of the joins behind it
            first, start = left, middle
            before, conditions = before + conditions, []
        begins, scope.begins = scope.begins, (*scope.begins, first)
        inside = bind_item(context, join.this, scope, ctes)
        scope.begins = begins
        inside = _closed(context.catalog, scope, middle, inside)
        own = _said(context.catalog, join, kind, scope, first, left)
        if kind in (",", ""):
            conditions += inside + own
            continue
        mine = inner_join(context.catalog, scope.plans[start:middle], conditions)
        theirs = inner_join(context.catalog, scope.plans[middle:], inside)
        known = {c.name for c in (*mine.columns, *theirs.columns)}
        if not names_in([*conditions, *inside, *own]) <= known:
            raise NotIncremental(f"a correlated {kind} JOIN", offset=place_of(join.this))
        if any(current_time.mentions(condition) for condition in own):
            raise NotIncremental(
                f"the current time in ON of a {kind} JOIN", offset=place_of(join.this)
            )
        if kind in ("SEMI", "ANTI"):
            make = context.partners.semi if kind == "SEMI" else context.partners.anti
            plan = make(mine, theirs, own)
            removed = scope.items[left:]
            scope.gone |= {name for name in scope.merged if scope.merged_in(removed, name)}
            del scope.items[left:]
        else:
            plan = context.partners.outer(mine, theirs, own, kind)
            plan = _merged(context.catalog, join, kind, scope, plan)
        scope.plans[start:] = [plan]
        conditions = []
    if start > begin:
        conditions = _closed(context.catalog, scope, start, conditions)
    return before + conditions


def _closed(
    catalog: Catalog, scope: Scope, start: int, conditions: list[exp.Expr]
) -> list[exp.Expr]:
    """Make the plans from `start` on one join if a condition may raise; return what is left.

    What may raise is tested of the tuples that the join itself combines, whatever they meet in
    the joins around it.
    """
    plans = scope.plans[start:]
    if len(plans) < 2 or not may_raise(plans, conditions):
        return conditions
    if not names_in(conditions) <= {c.name for plan in plans for c in plan.columns}:
        return conditions
    scope.plans[start:] = [inner_join(catalog, plans, conditions)]
    return []


def _said(
    catalog: Catalog, join: exp.Join, kind: str, scope: Scope, first: int, left: int
) -> list[exp.Expr]:
    """Return what ON, USING and NATURAL say, the items behind being those from `left` on."""
    conditions: list[exp.Expr] = []
    using = [name.name for name in join.args.get("using") or []]
    if join.args.get("method") == "NATURAL":
        right = {public.lower(): public for i in scope.items[left:] for public, _ in i.names}
        using = [public for public in right.values() if _found(scope.items[first:left], public)]
        if not using:
            raise BindError("NATURAL JOIN finds no common column", offset=place_of(join.this))
        join.set("using", [exp.to_identifier(name) for name in using])
    for name in using:
        conditions.append(_using(scope, first, left, name, join, kind))
    if join.args.get("on") is not None:
        no_aggregate(catalog, join.args["on"], "ON")
        conditions += conditions_of(join.args["on"], replace(scope, begins=(*scope.begins, first)))
    return conditions


def _using(scope: Scope, first: int, left: int, name: str, join: exp.Join, kind: str) -> exp.Expr:
    """Merge a column of the items before `left` with that of the items from there on."""
    one = _side(scope, scope.items[first:left], name, join)
    other = _side(scope, scope.items[left:], name, join)
    apart = [m for m in scope.merged.get(name.lower(), []) if m not in (one, other)]
    # after a semijoin, too, the name is that of its left side, whatever else has it
    made = one
    if kind not in ("SEMI", "ANTI"):
        both = {one.value.name, other.value.name}
        scope.plans[:] = [shown(plan, both) for plan in scope.plans]
        made = Merged(one.value, one.columns + other.columns, other.value)
        scope.hidden |= {known.name for known in other.columns}
    scope.merged[name.lower()] = [*apart, made]
    return exp.EQ(this=column(one.value.name), expression=column(other.value.name))


def _side(scope: Scope, items: Sequence[Item], name: str, join: exp.Join) -> Merged:
    """Return what a name of USING means on one side of its join."""
    merged, found = scope.merged_in(items, name), _found(items, name)
    if not found:
        raise BindError(
            f"USING names {name}, which is no column of both sides", offset=place_of(join)
        )
    is_gone = bool(merged) and name.lower() in scope.gone
    if len(merged) == 1 and not is_gone:
        return merged[0]
    if len(found) > 1 or is_gone:
        raise BindError(
            f"USING names {name}, which several items on one side have",
            hint="say with ON which one is meant",
            offset=place_of(join),
        )
    return Merged(found[0], found, found[0])


def _merged(catalog: Catalog, join: exp.Join, kind: str, scope: Scope, plan: Plan) -> Plan:
    """Let the merged columns of an outer join be known on the side that always is."""
    for written in join.args.get("using") or []:
        name = written.name.lower()
        merged = scope.merged[name][-1]
        if kind == "RIGHT":
            value = merged.right
        elif kind == "FULL":
            either = exp.Coalesce(
                this=column(merged.value.name), expressions=[column(merged.right.name)]
            )
            fresh = f"{name} of {len(scope.items)}"
            while any(c.name == fresh for c in plan.columns):
                fresh += "'"
            (value,) = project(catalog, plan, [(fresh, either)]).columns
            listed = [column(c.name) for c in plan.columns]
            plan = Project(plan, (*listed, either), (*plan.columns, value))
        else:
            continue
        merged.value = value
        for known in merged.columns:
            if known.name not in scope.hidden:
                scope.shown[known.name] = value
    return plan


def bind_item(context: Context, tree: exp.Expr, scope: Scope, ctes: Ctes) -> list[exp.Expr]:
    """Bind one item of a FROM clause, add it to the scope, and return conditions inside it."""
    while isinstance(tree, exp.Paren):
        tree = tree.this
    if tree.args.get("sample"):
        raise NotSupportedError(
            "SAMPLE on an item of FROM is not supported",
            hint="leave the clause out",
            offset=place_of(tree),
        )
    if tree.args.get("pivots"):
        scope.add(_pivoted(context, tree, scope, ctes), place_of(tree))
        return []
    if isinstance(tree, exp.Table):
        bind_table(context, tree, scope, ctes)
    elif isinstance(tree, exp.Subquery) and is_join(tree.this):
        return _parenthesized(context, tree, scope, ctes)
    elif isinstance(tree, exp.Subquery):
        alias = tree.alias or f"unnamed_subquery{len(scope.items) or ''}"
        with asking_around(scope, "a correlated subquery in FROM"):
            bind_derived(context, tree, alias, tree.this, scope, ctes)
    elif isinstance(tree, (exp.Values, exp.Unnest, exp.Lateral)):
        raise NotIncremental(f"{tree.key.upper()} in FROM", offset=place_of(tree))
    else:
        raise NotSupportedError(
            f"{tree.key.upper()} in FROM is not supported", offset=place_of(tree)
        )
    return []


def _pivoted(context: Context, tree: exp.Expr, scope: Scope, ctes: Ctes) -> Item:
    """Return an item of FROM with PIVOT or UNPIVOT behind it."""
    single = tree.copy()
    single.set("pivots", None)
    single.set("joins", None)
    item = item_alone(context, single, scope, ctes)
    for clause in tree.args["pivots"]:
        item = pivoted(context.catalog, item, clause, f"unnamed_pivot{len(scope.items) or ''}")
    return item


def item_alone(context: Context, tree: exp.Expr, scope: Scope, ctes: Ctes) -> Item:
    """Return an item of FROM that is not in the scope around it.

    Raises:
        NotIncremental: It is several.
    """
    own = Scope(volatile=scope.volatile, around=scope)
    conditions = bind_item(context, tree, own, ctes)
    if conditions or len(own.items) != 1 or own.hidden:
        raise NotIncremental("PIVOT", offset=place_of(tree))
    return own.items[0]


def is_join(tree: exp.Expr) -> bool:
    """Return whether what stands in parentheses in FROM is an item, alone or with joins.

    A query in parentheses without an alias is the query.
    """
    return isinstance(tree, exp.Table) or (
        isinstance(tree, exp.Subquery)
        and (any(tree.args.get(p) for p in ("joins", "alias", "pivots")) or is_join(tree.this))
    )


def _parenthesized(
    context: Context, tree: exp.Subquery, scope: Scope, ctes: Ctes
) -> list[exp.Expr]:
    """Bind `(s)`, `(s JOIN r …)`, or `(s JOIN r …) AS x`, which hides the names inside it.

    The first item may be a subquery.
    """
    inner = tree.this.copy()
    joins = inner.args.get("joins") or []
    inner.set("joins", None)
    first, start = len(scope.items), len(scope.plans)
    if tree.alias and not joins and not inner.args.get("pivots") and not inner.alias_column_names:
        inner.set("alias", tree.args["alias"].copy())
        return bind_item(context, inner, scope, ctes)
    if not tree.alias:
        inside = bind_item(context, inner, scope, ctes)
        return _joins(context, joins, scope, ctes, first, start, inside)
    joined = exp.select("*").from_(inner)
    joined.set("joins", joins)
    with asking_around(scope, "a join in FROM that names what stands around it"):
        bind_derived(context, tree, tree.alias, joined, scope, ctes)
    return []


def _found(items: Sequence[Item], name: str) -> list[Column]:
    return [known for item in items if (known := item.find(name)) is not None]


def _kind_of(join: exp.Join) -> str:
    """Return ',', '' for an inner join, 'LEFT', 'RIGHT', 'FULL', 'SEMI' or 'ANTI'.

    Raises:
        NotIncremental: Another kind of join.
    """
    method, side, kind = (str(join.args.get(part) or "") for part in ("method", "side", "kind"))
    words = " ".join(word.upper() for word in (method, side, kind) if word)
    if method not in ("", "NATURAL"):
        raise NotIncremental(f"{words} JOIN", offset=place_of(join.this))
    kind = " ".join(word.upper() for word in (side, kind) if word).removesuffix(" OUTER")
    if kind in ("LEFT", "RIGHT", "FULL", "SEMI", "ANTI"):
        return kind
    if kind not in ("", "INNER", "CROSS"):
        raise NotIncremental(f"{words} JOIN", offset=place_of(join.this))
    conditions = [join.args.get(part) for part in ("method", "kind", "on", "using")]
    return "" if any(conditions) else ","
