"""Items of FROM: streams, relations and queries by name, and queries in parentheses."""

from __future__ import annotations

from sqlglot import exp

from cqlduck.errors import BindError, CatalogError, Error, NotSupportedError
from cqlduck.rewrite.bind.catalog import Catalog
from cqlduck.rewrite.bind.context import Context, Ctes
from cqlduck.rewrite.bind.projection import with_names
from cqlduck.rewrite.bind.scope import Item, Scope, inner_name
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
from cqlduck.rewrite.plan.not_incremental import NotIncremental
from cqlduck.rewrite.relalg.builders import column
from cqlduck.rewrite.text.names import DATABASE, SCHEMA
from cqlduck.rewrite.text.parsed import place_of
from cqlduck.rewrite.text.shapes import WIDTH
from cqlduck.rewrite.text.spelling import suggestion

CONSTANT_FUNCTIONS = (
    "range", "generate_series", "unnest", "repeat", "repeat_row", "json_each", "json_tree"
)  # fmt: skip
"""Table functions that read nothing but their arguments."""


def bind_table(context: Context, tree: exp.Table, scope: Scope, ctes: Ctes) -> None:
    """Bind a name: of a common table expression, a stream, a relation or a query.

    Raises:
        BindError: A window or sample on a relation, or a name that a column cannot have.
        CatalogError: Nothing has the name.
        NotIncremental: A table function of constants.
        NotSupportedError: What a continuous query cannot read.
    """
    place = tree.this.meta.get("start") if isinstance(tree.this, exp.Identifier) else None
    _refuse_clauses(tree, place)
    name = tree.name
    if not tree.args.get("db") and name.lower() in ctes:
        cte = ctes[name.lower()]
        bind_derived(context, tree, tree.alias or name, cte.tree.copy(), scope, cte.ctes)
        return
    is_elsewhere = tree.db.lower() not in ("", SCHEMA)
    is_elsewhere |= tree.catalog.lower() not in ("", DATABASE)
    source = None if is_elsewhere else context.catalog.lookup(name)
    if source is None:
        raise _unknown(context.catalog, tree, place)
    context.sources[source.name.lower()] = source
    alias = tree.alias or name
    window, sample = window_of(context, tree), sample_of(context, tree)
    renamed = _renames(tree, alias, source.columns)
    names = tuple(inner_name(alias, public) for public in renamed)
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
            instant = inner_name(alias, "_ts")
            pairs = (*pairs, ("_ts", Column(instant, "BIGINT")))
        scan = StreamScan(source, names, instant)
        stream = sampled(scan, sample, source.name)
        plan = windowed(context.catalog, stream, window, alias, pairs)
        if instant is not None:
            plan, pairs = _public_instant(context.catalog, plan, instant, pairs)
        if window is not None and window.widths:
            pairs = (*pairs, (WIDTH, Column(inner_name(alias, WIDTH), "BIGINT")))
    scope.add(Item(alias, plan, pairs), place)


def _refuse_clauses(tree: exp.Table, place: int | None) -> None:
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


def _unknown(catalog: Catalog, tree: exp.Table, place: int | None) -> Error:
    name = tree.sql("duckdb").split(" AS ")[0]
    if catalog.is_table(name):
        return NotSupportedError(
            f"{name} is a plain table or view, which has no history",
            hint=f"make it a relation: CREATE RELATION {tree.name}_r FROM {name}; later, "
            f"REFRESH RELATION {tree.name}_r takes in what changed",
            offset=place,
        )
    return CatalogError(
        f"there is no stream, relation or query {name}",
        hint=suggestion(tree.name, catalog.names(), "there are"),
        offset=place,
    )


def _renames(tree: exp.Expr, alias: str, columns: tuple[Column, ...]) -> list[str]:
    """Return the names of an item's columns, of which it may give the first ones anew."""
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


def bind_derived(
    context: Context,
    tree: exp.Expr,
    alias: str,
    body: exp.Expr,
    scope: Scope,
    ctes: Ctes,
) -> None:
    """Bind a query in FROM.

    Args:
        context: Binds the query.
        tree: The item, with its columns' names, window and sample.
        alias: Its name.
        body: The query.
        scope: Gets the item.
        ctes: What the query sees.
    """
    inner = context.query(body, ctes)
    window, sample = window_of(context, tree), sample_of(context, tree)
    renamed = _renames(tree, alias, inner.columns)
    columns = tuple(
        Column(inner_name(alias, public), known.type)
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
