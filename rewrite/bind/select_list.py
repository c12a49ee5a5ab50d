"""The SELECT list: names of columns, and stars."""

from __future__ import annotations

from sqlglot import exp

from cqlduck.errors import BindError
from cqlduck.rewrite.bind.catalog import Catalog
from cqlduck.rewrite.bind.context import Context
from cqlduck.rewrite.bind.methods import is_reference, reference
from cqlduck.rewrite.bind.scope import Scope, resolve
from cqlduck.rewrite.plan import Column
from cqlduck.rewrite.plan.conditions import without_parens
from cqlduck.rewrite.relalg.builders import column, over_nothing, typed_nothing
from cqlduck.rewrite.text.parsed import place_of
from cqlduck.rewrite.text.spelling import suggestion


def select_list(
    context: Context, tree: exp.Select, scope: Scope, *, with_all: bool = False
) -> tuple[list[tuple[str | None, exp.Expr]], dict[str, exp.Expr]]:
    """Return (public name, resolved expression) in order, and the aliases.

    Args:
        context: Knows what DuckDB calls expressions.
        tree: The SELECT.
        scope: Its FROM clause.
        with_all: Whether what has no law may stand in it, but for subqueries.
    """
    listed: list[tuple[str | None, exp.Expr]] = []
    aliases: dict[str, exp.Expr] = {}
    unnamed: dict[int, exp.Expr] = {}
    for written in tree.expressions:
        star = without_parens(written)
        if isinstance(star, exp.Star) or (
            isinstance(star, exp.Column) and isinstance(star.this, exp.Star)
        ):
            listed += _star(context.catalog, star, scope, aliases)
            continue
        name = written.alias or None
        bare = without_parens(written.this) if isinstance(written, exp.Alias) else written
        if bare.is_star and not isinstance(bare, exp.Func):
            raise BindError(
                f"* is as many columns as there are, and has no alias {name}",
                hint="rename them one by one: * RENAME (a AS b)",
                offset=place_of(written),
            )
        resolved = resolve(bare, scope, aliases, with_all=with_all)
        if name is None and is_reference(bare):
            name = bare.name or None
        if name is None:
            unnamed[len(listed)] = written
        listed.append((name, resolved))
        if name is not None and written.alias:
            # of several DuckDB takes the last
            aliases[name.lower()] = resolved
        elif name is not None:
            aliases.setdefault(name.lower(), resolved)
    if unnamed:
        names = _names(context, tree, list(unnamed.values()), scope)
        for place, name in zip(unnamed, names, strict=True):
            listed[place] = (name, listed[place][1])
    if not listed:
        raise BindError(
            "* matches no column here",
            hint="_ts is no part of it: write _ts AS something else",
            offset=place_of(tree),
        )
    return listed, aliases


def _names(
    context: Context, tree: exp.Select, expressions: list[exp.Expr], scope: Scope
) -> list[str]:
    """Return what DuckDB calls expressions without an alias, by the way they are written."""
    said = [e.meta.get("written", e.sql("duckdb")) for e in expressions]
    key = ", ".join(said)
    if any("taken" in e.meta for e in expressions):
        context.called[key] = known = context.catalog.called.get(key) or _asked(
            context.catalog, tree, expressions, said, scope
        )
        return list(known)
    return _asked(context.catalog, tree, expressions, said, scope)


def _asked(
    catalog: Catalog, tree: exp.Select, expressions: list[exp.Expr], said: list[str], scope: Scope
) -> list[str]:
    """Return what DuckDB says they are called."""
    trees = [without_parens(e) for e in expressions]
    written = [exp.Var(this=text) for text in said]
    query = exp.select(exp.Star())
    for place, item in enumerate(scope.items):
        columns = [Column(public, known.type) for public, known in item.names]
        nothing = typed_nothing(columns).subquery(exp.to_identifier(item.alias, quoted=True))
        query = query.from_(nothing) if not place else query.join(nothing, join_type="cross")
    group = tree.args.get("group")
    if group is not None and not group.args.get("all"):
        query.set("group", group.copy())
    for listed in (written, trees):
        query.set("expressions", [e.copy() for e in listed])
        found = catalog.described(query.sql("duckdb"))
        if found is not None and len(found) == len(expressions):
            return [name for name, _ in found]
    return [e.sql("duckdb") for e in trees]


def _star(
    catalog: Catalog, written: exp.Expr, scope: Scope, aliases: dict[str, exp.Expr]
) -> list[tuple[str | None, exp.Expr]]:
    star = written.this if isinstance(written, exp.Column) else written
    pairs = _starred(catalog, written, scope)
    except_ = {node.name.lower() for node in star.args.get("except_") or []}
    replaced = {node.alias.lower(): node.this for node in star.args.get("replace") or []}
    renamed = {node.this.name.lower(): node.alias for node in star.args.get("rename") or []}
    known = {public.lower() for public, _ in pairs}
    for name in (*except_, *replaced, *renamed):
        if name not in known:
            raise BindError(
                f"* has no column {name}",
                hint=suggestion(name, [public for public, _ in pairs], "columns"),
                offset=place_of(written),
            )
    listed: list[tuple[str | None, exp.Expr]] = []
    for public, found in pairs:
        name = public.lower()
        if name in except_:
            continue
        value = resolve(replaced[name], scope, aliases) if name in replaced else found
        listed.append((renamed.get(name, public), value))
    for name, value in listed:
        # what it is called now is an alias, even if FROM has a column of that name
        if name is not None and name.lower() in {*replaced, *map(str.lower, renamed.values())}:
            aliases[name.lower()] = value
    return listed


def _starred(catalog: Catalog, written: exp.Expr, scope: Scope) -> list[tuple[str, exp.Expr]]:
    """Return names and values of `*`, of `item.*`, or of the fields of a struct column.

    Raises:
        BindError: What stands before `.*` is neither.
    """
    parts = written.parts[:-1] if isinstance(written, exp.Column) else []
    names = [part.name for part in parts]
    if not names or (len(names) == 1 and scope.item(names[0]) is not None):
        pairs = scope.star(names[0] if names else None)
        return [(public, column(known.name)) for public, known in pairs]
    alias = names[0]
    if scope.item(alias) is None and scope.find(alias) is None:
        raise BindError(
            f"there is no table or alias {alias} here",
            hint=suggestion(alias, [item.alias for item in scope.items], "there are"),
            offset=place_of(written),
        )
    struct = resolve(reference(parts), scope)
    columns = [c for plan in scope.plans for c in plan.columns]
    only = over_nothing(columns, [struct]).subquery("only")
    fields = catalog.described(exp.select("c0.*").from_(only).sql("duckdb"))
    if fields is None:
        raise BindError(
            f"{'.'.join(names)} is no struct, which alone has fields for .*",
            offset=place_of(written),
        )
    return [
        (name, exp.Dot(this=struct.copy(), expression=exp.to_identifier(name, quoted=True)))
        for name, _ in fields
    ]
