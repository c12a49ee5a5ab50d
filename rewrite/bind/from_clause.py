"""FROM: its items, and their joins."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from cqlduck.errors import BindError, CatalogError, NotSupportedError
from cqlduck.rewrite.bind import current_time
from cqlduck.rewrite.bind.catalog import Catalog
from cqlduck.rewrite.bind.conditions import conditions_of, inner_join, may_raise, no_aggregate
from cqlduck.rewrite.bind.context import Context, Ctes
from cqlduck.rewrite.bind.projection import project, with_names
from cqlduck.rewrite.bind.scope import Item, Scope, asking_around
from cqlduck.rewrite.bind.windows import sample_of, sampled, to_stream, window_of, windowed
from cqlduck.rewrite.plan import (
    Column,
    Plan,
    Project,
    RelationScan,
    StreamScan,
    ToStream,
    properties,
)
from cqlduck.rewrite.plan.conditions import names_in
from cqlduck.rewrite.plan.not_incremental import NotIncremental
from cqlduck.rewrite.relalg.builders import column
from cqlduck.rewrite.rules.canonical import shown
from cqlduck.rewrite.text.names import DATABASE, SCHEMA
from cqlduck.rewrite.text.parsed import place_of
from cqlduck.rewrite.text.spelling import suggestion

CONSTANT_FUNCTIONS = (
    "range", "generate_series", "unnest", "repeat", "repeat_row", "json_each", "json_tree"
)  # fmt: skip
"""Table functions that read nothing but their arguments."""


def bind_from(context: Context, tree: exp.Select, scope: Scope, ctes: Ctes) -> list[exp.Expr]:
    """Bind a FROM clause: fill the scope, and return the conditions of its joins."""
    clause = tree.args.get("from_")
    if clause is None:
        raise NotIncremental("a SELECT without FROM", offset=place_of(tree))
    conditions = bind_item(context, clause.this, scope, ctes)
    joins = [*(clause.this.args.get("joins") or []), *(tree.args.get("joins") or [])]
    return conditions + _joins(context, joins, scope, ctes, 0, 0)


def _joins(
    context: Context, joins: list[exp.Join], scope: Scope, ctes: Ctes, first: int, start: int
) -> list[exp.Expr]:
    """Bind joined items one after the other; return their conditions.

    Args:
        context: Binds queries in FROM.
        joins: The joins.
        scope: Gets the items.
        ctes: What FROM sees.
        first: The place of the first item that they join.
        start: The place of its plan.
    """
    conditions: list[exp.Expr] = []
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
        inside = bind_item(context, join.this, scope, ctes)
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
            del scope.items[left:]
        else:
            plan = context.partners.outer(mine, theirs, own, kind)
            plan = _merged(context.catalog, join, kind, scope, left, plan)
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
        right = [public for item in scope.items[left:] for public, _ in item.names]
        using = [public for public in right if _found(scope.items[first:left], public)]
        if not using:
            raise BindError("NATURAL JOIN finds no common column", offset=place_of(join.this))
        join.set("using", [exp.to_identifier(name) for name in using])
    for name in using:
        conditions.append(_using(scope, first, left, name, join, kind))
    if join.args.get("on") is not None:
        no_aggregate(catalog, join.args["on"], "ON")
        conditions += conditions_of(join.args["on"], scope)
    return conditions


def _using(scope: Scope, first: int, left: int, name: str, join: exp.Join, kind: str) -> exp.Expr:
    """Merge a column of the items before `left` with that of the items from there on."""
    lefts, rights = _found(scope.items[first:left], name), _found(scope.items[left:], name)
    if not lefts or not rights:
        raise BindError(
            f"USING names {name}, which is no column of both sides", offset=place_of(join)
        )
    known = scope.merged.get(name.lower(), lefts)[0]
    if kind not in ("SEMI", "ANTI"):
        both = {known.name, rights[0].name}
        scope.plans[:] = [shown(plan, both) for plan in scope.plans]
        merged = scope.merged.setdefault(name.lower(), [known])
        merged += rights
        scope.hidden |= {right.name for right in rights}
    return exp.EQ(this=column(known.name), expression=column(rights[0].name))


def _merged(
    catalog: Catalog, join: exp.Join, kind: str, scope: Scope, left: int, plan: Plan
) -> Plan:
    """Let the merged columns of an outer join be known on the side that always is."""
    for written in join.args.get("using") or []:
        name = written.name.lower()
        merged = scope.merged[name]
        own, (other, *_) = merged[0], _found(scope.items[left:], name)
        if kind == "RIGHT":
            value = other
        elif kind == "FULL":
            either = exp.Coalesce(this=column(own.name), expressions=[column(other.name)])
            fresh = f"{name} of {len(scope.items)}"
            (value,) = project(catalog, plan, [(fresh, either)]).columns
            listed = [column(c.name) for c in plan.columns]
            plan = Project(plan, (*listed, either), (*plan.columns, value))
        else:
            continue
        scope.merged[name] = [value, *merged]
        for item in scope.items:
            for _, known in item.names:
                if known in merged and known.name not in scope.hidden:
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
        raise NotIncremental("PIVOT", offset=place_of(tree))
    if isinstance(tree, exp.Table):
        _table(context, tree, scope, ctes)
    elif isinstance(tree, exp.Subquery) and is_join(tree.this):
        return _parenthesized(context, tree, scope, ctes)
    elif isinstance(tree, exp.Subquery):
        alias = tree.alias or f"unnamed_subquery{len(scope.items) or ''}"
        with asking_around(scope, "a correlated subquery in FROM"):
            _derived(context, tree, alias, tree.this, scope, ctes)
    elif isinstance(tree, (exp.Values, exp.Unnest, exp.Lateral)):
        raise NotIncremental(f"{tree.key.upper()} in FROM", offset=place_of(tree))
    else:
        raise NotSupportedError(
            f"{tree.key.upper()} in FROM is not supported", offset=place_of(tree)
        )
    return []


def is_join(tree: exp.Expr) -> bool:
    """Return whether what stands in parentheses in FROM is an item, alone or with joins."""
    return isinstance(tree, exp.Table) or (
        isinstance(tree, exp.Subquery) and bool(tree.args.get("joins"))
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
    if not joins:
        if tree.args.get("alias"):
            inner.set("alias", tree.args["alias"].copy())
        _table(context, inner, scope, ctes)
        return []
    if not tree.alias:
        inside = bind_item(context, inner, scope, ctes)
        return inside + _joins(context, joins, scope, ctes, first, start)
    joined = exp.select("*").from_(inner)
    joined.set("joins", joins)
    _derived(context, tree, tree.alias, joined, scope, ctes)
    return []


def _table(context: Context, tree: exp.Table, scope: Scope, ctes: Ctes) -> None:
    place = tree.this.meta.get("start") if isinstance(tree.this, exp.Identifier) else None
    if not isinstance(tree.this, exp.Identifier):
        if tree.this.sql("duckdb").split("(")[0].lower() in CONSTANT_FUNCTIONS:
            raise NotIncremental("a table function in FROM", offset=place_of(tree))
        raise NotSupportedError(
            f"the table function {tree.this.sql('duckdb')} cannot stand in a continuous query",
            hint="load it into a relation: CREATE RELATION … FROM",
            offset=place_of(tree),
        )
    for part in ("version", "when", "ordinality", "changes", "only", "hints"):
        if tree.args.get(part):
            raise NotSupportedError(
                f"{part.upper()} after a table is not supported",
                hint="leave the clause out",
                offset=place,
            )
    name = tree.name
    if not tree.args.get("db") and name.lower() in ctes:
        cte = ctes[name.lower()]
        _derived(context, tree, tree.alias or name, cte.tree.copy(), scope, cte.ctes)
        return
    is_elsewhere = tree.db.lower() not in ("", SCHEMA)
    is_elsewhere |= tree.catalog.lower() not in ("", DATABASE)
    source = None if is_elsewhere else context.catalog.lookup(name)
    if source is None:
        _unknown(context.catalog, tree, place)
        raise AssertionError
    context.sources[source.name.lower()] = source
    alias = tree.alias or name
    window, sample = window_of(context, tree), sample_of(context, tree)
    renamed = _renames(tree, alias, source.columns)
    names = tuple(f"{alias}.{public}" for public in renamed)
    pairs = tuple(
        (public, Column(inner, known.type))
        for public, inner, known in zip(renamed, names, source.columns, strict=True)
    )
    plan: Plan
    if source.kind == "relation":
        for what, written in (("window", window), ("sample", sample)):
            if written is not None:
                raise BindError(
                    f"{source.name} is a relation, and a {what} stands on a stream",
                    hint=f"leave the {what} out: a relation has a content at each instant",
                    offset=written.offset,
                )
        plan = RelationScan(source, names)
    else:
        instant = None
        if context.syntax.mentions_ts:
            instant = f"{alias}._ts"
            pairs = (*pairs, ("_ts", Column(instant, "BIGINT")))
        scan = StreamScan(source, names, instant)
        stream = sampled(scan, sample, source.name)
        plan = windowed(context.catalog, stream, window, alias, pairs)
        if instant is not None:
            plan, pairs = _public_instant(context.catalog, plan, instant, pairs)
    scope.add(Item(alias, plan, pairs), place)


def _public_instant(
    catalog: Catalog, plan: Plan, instant: str, pairs: tuple[tuple[str, Column], ...]
) -> tuple[Plan, tuple[tuple[str, Column], ...]]:
    """Show `_ts` in the type in which people see instants."""
    clock = catalog.clock
    if clock.kind == "integer":
        return plan, pairs
    shown = Column(instant, clock.public_type)
    listed: list[exp.Expr] = [column(c.name) for c in plan.columns if c.name != instant]
    micros = exp.Mul(this=column(instant), expression=exp.Literal.number(clock.granularity))
    listed.append(exp.Anonymous(this="make_timestamp", expressions=[micros]))
    columns = (*(c for c in plan.columns if c.name != instant), shown)
    return Project(plan, tuple(listed), columns), (*pairs[:-1], ("_ts", shown))


def _unknown(catalog: Catalog, tree: exp.Table, place: int | None) -> None:
    name = tree.sql("duckdb").split(" AS ")[0]
    if catalog.is_table(name):
        raise NotSupportedError(
            f"{name} is a plain table or view, which has no history",
            hint=f"make it a relation: CREATE RELATION {tree.name}_r FROM {name}; later, "
            f"REFRESH RELATION {tree.name}_r takes in what changed",
            offset=place,
        )
    raise CatalogError(
        f"there is no stream, relation or query {name}",
        hint=suggestion(tree.name, catalog.names(), "there are"),
        offset=place,
    )


def _renames(tree: exp.Expr, alias: str, columns: tuple[Column, ...]) -> list[str]:
    names = [c.name for c in columns]
    clause = tree.args.get("alias")
    parts = clause.columns if clause is not None else []
    given = [part.name for part in parts]
    if len(given) > len(names):
        raise BindError(
            f"{alias} has {len(names)} columns, and {len(given)} names are given",
            offset=place_of(tree),
        )
    for part, was in zip(parts, names, strict=False):
        # `*` leaves such a column out, and would do so without a word
        if part.name.lower() == "_ts" != was:
            raise BindError(
                f"{part.name} is a reserved name",
                hint=f"give the column of {alias} another one, as in {alias}(instant)",
                offset=place_of(part),
            )
    renamed = given + names[len(given) :]
    lower = [name.lower() for name in renamed]
    for name in given:
        if lower.count(name.lower()) > 1:
            raise BindError(
                f"{alias} has two columns called {name}",
                hint="give each of its columns a name",
                offset=place_of(tree),
            )
    return renamed


def _derived(
    context: Context,
    tree: exp.Expr,
    alias: str,
    body: exp.Expr,
    scope: Scope,
    ctes: Ctes,
) -> None:
    inner = context.query(body, ctes)
    window, sample = window_of(context, tree), sample_of(context, tree)
    renamed = _renames(tree, alias, inner.columns)
    columns = tuple(
        Column(f"{alias}.{public}", known.type)
        for public, known in zip(renamed, inner.columns, strict=True)
    )
    pairs = tuple(zip(renamed, columns, strict=True))
    if (window is not None or sample is not None) and not properties(inner).is_stream:
        inner = to_stream(context.catalog, inner, "istream")
    plan: Plan
    if properties(inner).is_stream:
        assert isinstance(inner, ToStream)
        shown = ToStream(with_names(inner.input, columns), inner.kind)
        plan = windowed(context.catalog, sampled(shown, sample, alias), window, alias, pairs)
    else:
        plan = with_names(inner, columns)
    scope.add(Item(alias, plan, pairs), place_of(tree))


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
