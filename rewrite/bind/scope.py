"""Name resolution: which column an expression means.

A `Scope` is the FROM clause of one SELECT: its items in order, each with an alias and columns. The
combined relation calls the column `c` of item `f` "f.c" (`inner_name`), which is unique, so a
resolved expression has no qualifiers and can be moved. Resolution follows DuckDB: columns come
before aliases of the SELECT list, names are compared without regard to case, `a.b` may be a field
of a struct.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from sqlglot import exp

from cqlduck.errors import BindError, NotSupportedError
from cqlduck.rewrite.bind.methods import methods_as_calls
from cqlduck.rewrite.plan import Column, Plan
from cqlduck.rewrite.plan.not_incremental import NotIncremental
from cqlduck.rewrite.relalg.builders import column
from cqlduck.rewrite.text.parsed import function_name, is_now, place_of
from cqlduck.rewrite.text.spelling import suggestion


def inner_name(item: str, name: str) -> str:
    r"""Return what the combined relation calls a column of an item of FROM.

    A dot in the name of the item is marked: "a.b".c and a."b.c" are two columns.

    >>> print(inner_name("f", "b.c"), inner_name("a.b", "c"))
    f.b.c a\.b.c
    """
    return item.replace("\\", "\\\\").replace(".", "\\.") + f".{name}"


@dataclass(frozen=True)
class Item:
    """One item of a FROM clause: `names` maps its public columns to those of `plan`."""

    alias: str
    plan: Plan
    names: tuple[tuple[str, Column], ...]

    def find(self, name: str) -> Column | None:
        """Return the column of this public name, or None."""
        for public, known in self.names:
            if public.lower() == name.lower():
                return known
        return None


@dataclass
class Merged:
    """What USING has merged: the column that stands for it, and those of items that are in it.

    `right` is the one that stands for it on the right side of the join.
    """

    value: Column
    columns: list[Column]
    right: Column


@dataclass
class Scope:
    """The items of a FROM clause, and by lower-case name what USING merged: once in each join.

    `plans` are to be joined: those of the items, but for items that an outer, semi- or antijoin
    has made one plan of. `shown` says what stands for a column of an item in `*`, `values` what
    stands for a scalar subquery. `begins` are the places of the first items of the joins that stand
    in each other's parentheses: a name without qualifier is looked up in the items of the innermost
    one, and if it is not there, in those of the next one that stand before it. Names that are not
    found are looked up in the scope `around`, that of the query in whose expression this is. `gone`
    are names that USING has merged on the right side of a semi- or antijoin: DuckDB still counts
    them where it has merged such a name on the left side, too.
    """

    items: list[Item] = field(default_factory=list)
    plans: list[Plan] = field(default_factory=list)
    merged: dict[str, list[Merged]] = field(default_factory=dict)
    hidden: set[str] = field(default_factory=set)
    shown: dict[str, Column] = field(default_factory=dict)
    values: dict[str, exp.Expr] = field(default_factory=dict)
    volatile: frozenset[str] = frozenset()
    around: Scope | None = None
    begins: tuple[int, ...] = ()
    gone: set[str] = field(default_factory=set)

    def add(self, item: Item, place: int | None) -> None:
        """Add an item; an alias stands once in a FROM clause."""
        if any(known.alias.lower() == item.alias.lower() for known in self.items):
            raise BindError(
                f"the name {item.alias} occurs twice in this FROM clause",
                hint="give one of them an alias, as in: s [ROWS 10] AS x",
                offset=place,
            )
        self.items.append(item)
        self.plans.append(item.plan)

    def find(self, name: str) -> Column | None:
        """Return the column of an unqualified name, or None.

        Raises:
            BindError: Several items have it.
        """
        end = len(self.items)
        for begin in (*reversed(self.begins), 0):
            found = self._find_in(self.items[begin:end], name)
            if found is not None:
                return found
            end = begin
        return None

    def _find_in(self, items: Sequence[Item], name: str) -> Column | None:
        found = [(item, known) for item in items if (known := item.find(name)) is not None]
        merged = self.merged_in(items, name)
        is_gone = bool(merged) and name.lower() in self.gone
        if len(merged) == 1 and not is_gone:
            return merged[0].value
        if len(found) > 1 or is_gone:
            choices = " or ".join(f"{item.alias}.{name}" for item, _ in found)
            raise BindError(f"the column name {name} is ambiguous", hint=f"write {choices}")
        return found[0][1] if found else None

    def merged_in(self, items: Sequence[Item], name: str) -> list[Merged]:
        """Return what USING has merged of the columns that some items have under a name."""
        found = [item.find(name) for item in items]
        return [m for m in self.merged.get(name.lower(), []) if any(c in m.columns for c in found)]

    def star(self, alias: str | None = None) -> list[tuple[str, Column]]:
        """Return what `*` or `alias.*` stands for: public names and columns, in order."""
        columns: list[tuple[str, Column]] = []
        for item in self.items:
            if alias is not None and item.alias.lower() != alias.lower():
                continue
            for public, known in item.names:
                if public == "_ts" or (alias is None and known.name in self.hidden):
                    continue
                shown = known if alias is not None else self.shown.get(known.name, known)
                columns.append((public, shown))
        return columns

    def item(self, alias: str) -> Item | None:
        """Return the item of this alias, or None."""
        for item in self.items:
            if item.alias.lower() == alias.lower():
                return item
        return None

    def knows(self, name: str) -> bool:
        """Return whether a name is that of an item or a column, of a query around it too."""
        found = self.item(name) or any(item.find(name) for item in self.items)
        return bool(found) or (self.around is not None and self.around.knows(name))

    def plans_around(self) -> list[Plan]:
        """Return the plans of the queries around this one, whose columns it may name."""
        around = self.around
        return [] if around is None else [*around.plans, *around.plans_around()]

    def candidates(self) -> list[str]:
        """Return all names that could have been meant."""
        return [
            name
            for item in self.items
            for public, _ in item.names
            for name in (public, f"{item.alias}.{public}")
        ]


@contextmanager
def asking_around(scope: Scope, what: str) -> Iterator[None]:
    """Let a query that names what is around it be recomputed with that.

    Raises:
        NotIncremental: A name is not found that is known around it.
    """
    try:
        yield
    except BindError as error:
        if error.missing is None or not scope.knows(error.missing):
            raise
        raise NotIncremental(what, offset=error.offset) from error


def resolve(
    tree: exp.Expr,
    scope: Scope,
    aliases: Mapping[str, exp.Expr] | None = None,
    *,
    timed: bool = False,
    with_all: bool = False,
) -> exp.Expr:
    """Return a copy of an expression over the columns of the combined relation.

    Args:
        tree: The expression as it was parsed.
        scope: The FROM clause.
        aliases: Resolved expressions of the SELECT list by lower-case alias.
        timed: Whether it may depend on τ.
        with_all: Whether what has no law may stand in it, but for subqueries.

    Raises:
        BindError: A column that is not there, or is ambiguous.
        NotSupportedError: A subquery, an OVER clause, or a function that is not deterministic.
    """
    refuse(tree, scope.volatile, with_all=with_all)
    if not timed and any(is_now(node) for node in tree.walk()):
        raise NotIncremental("the current time in an expression", offset=place_of(tree))
    aliases = aliases or {}

    def visit(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Column) and not is_local(node):
            found = _resolved(node, scope, aliases)
            start = node.parts[0].meta.get("start")
            if start is not None and isinstance(found, exp.Column):
                found.meta["start"] = start
            return found
        return node

    tree = by_name(tree.copy(), scope)
    called = methods_as_calls(tree, lambda name: scope.knows(name) or name in aliases)
    return _transform(called, visit)


def by_name(tree: exp.Expr, scope: Scope) -> exp.Expr:
    """Put columns in the places of `#1`, `#2`, …, which count those of all items of FROM.

    Raises:
        BindError: There are not so many columns.
        NotIncremental: USING has merged some: DuckDB knows how it counts.
    """

    def named(node: exp.Expr) -> exp.Expr:
        if not isinstance(node, exp.PositionalColumn):
            return node
        if scope.merged:
            raise NotIncremental("a column by its place, behind USING", offset=place_of(tree))
        known = [(i.alias, name) for i in scope.items for name, _ in i.names if name != "_ts"]
        written = node.this.name
        place = int(written) if written.isdecimal() else 0
        if not 0 < place <= len(known):
            raise BindError(
                f"there is no column #{written} here",
                hint=f"the items of FROM have {len(known)} columns",
                offset=place_of(tree),
            )
        item, name = known[place - 1]
        return column(name, item)

    return tree.transform(named, copy=False)


def _transform(tree: exp.Expr, visit: Callable[[exp.Expr], exp.Expr]) -> exp.Expr:
    for node in list(tree.find_all(exp.Column)):
        changed = visit(node)
        if changed is node:
            continue
        if node is tree:
            return changed
        node.replace(changed)
    return tree


def _has_fields(type_name: str) -> bool:
    return type_name.startswith(("STRUCT", "UNION", "MAP", "JSON", "VARIANT", "GEOMETRY"))


def is_local(node: exp.Column) -> bool:
    """Whether a name is bound by a list comprehension around it."""
    above = node.find_ancestor(exp.Comprehension)
    while above is not None:
        if above.expression.name.lower() == node.parts[0].name.lower():
            return True
        above = above.find_ancestor(exp.Comprehension)
    return False


def _resolved(node: exp.Column, scope: Scope, aliases: Mapping[str, exp.Expr]) -> exp.Expr:
    parts = node.parts
    if isinstance(node.this, exp.Star):
        raise BindError("* is not a value here", offset=place_of(node))
    place = parts[0].meta.get("start")
    names = [part.name for part in parts]
    if len(names) == 1 and names[0] in scope.values:
        return exp.paren(scope.values[names[0]].copy())
    fields: list[exp.Expr] = []
    found: exp.Expr | None = None
    item = scope.item(names[0]) if len(names) > 1 else None
    if item is not None:
        inner = item.find(names[1])
        if inner is None:
            raise BindError(
                f"{item.alias} has no column {names[1]}",
                hint=suggestion(names[1], [public for public, _ in item.names], "it has"),
                offset=parts[1].meta.get("start"),
            )
        found, fields = column(inner.name), list(parts[2:])
    else:
        try:
            outer = scope.find(names[0])
        except BindError as error:
            error.offset = place
            raise
        if outer is not None and len(parts) > 1 and scope.around is not None:
            # without fields it is no struct, so the first part names an item further out
            outer = outer if _has_fields(outer.type) else None
        if outer is not None:
            found, fields = column(outer.name), list(parts[1:])
        elif names[0].lower() in aliases:
            found = exp.paren(aliases[names[0].lower()].copy())
            fields = list(parts[1:])
        elif len(parts) == 1 and (row := scope.item(names[0])) is not None:
            found = _row(row)
    if found is None and scope.around is not None:
        return _resolved(node, scope.around, {})
    if found is None:
        kind = "table or alias" if len(names) > 1 else "column"
        unknown = BindError(
            f"there is no {kind} {names[0]} here",
            hint=suggestion(".".join(names), [*scope.candidates(), *aliases], "columns"),
            offset=place,
        )
        unknown.missing = names[0]
        raise unknown
    for part in fields:
        found = exp.Dot(this=found, expression=part.copy())
    return found


def _row(item: Item) -> exp.Expr:
    """Return the row of an item of FROM as a struct, which is what its name by itself means."""
    fields = [
        exp.PropertyEQ(this=exp.to_identifier(public, quoted=True), expression=column(known.name))
        for public, known in item.names
        if public != "_ts"
    ]
    return exp.Anonymous(this="struct_pack", expressions=fields)


def refuse(tree: exp.Expr, volatile: frozenset[str], *, with_all: bool = False) -> None:
    """Refuse what has no delta rule, or of that subqueries alone, and what is refused always.

    Raises:
        NotIncremental: The query around it has to be recomputed.
        NotSupportedError: It is not deterministic.
    """
    refuse_always(tree, volatile)
    for node in tree.walk():
        if isinstance(node, exp.Query):
            raise NotIncremental(
                "a subquery in an expression",
                hint="write it as a condition of the query's own WHERE, or as a join",
                offset=place_of(node),
            )
        if with_all:
            continue
        if isinstance(node, exp.Window):
            raise NotIncremental("a window function (OVER)", offset=place_of(node))
        if isinstance(node, (exp.Unnest, exp.Explode)):
            raise NotIncremental("unnest in the SELECT list", offset=place_of(node))
        if isinstance(node, exp.Columns):
            raise NotIncremental("COLUMNS(…)", offset=place_of(node))
        if isinstance(node, exp.Anonymous) and node.name.lower() == "alias":
            raise NotIncremental("alias(…)", offset=place_of(node))


def refuse_always(tree: exp.Expr, volatile: frozenset[str]) -> None:
    """Refuse what no query may contain.

    Raises:
        NotSupportedError: A parameter, or a function that is not deterministic.
    """
    for node in tree.walk():
        if isinstance(node, (exp.Placeholder, exp.Parameter)):
            raise NotSupportedError(
                "a continuous query has no parameters", hint="write the value into the query"
            )
        if isinstance(node, exp.Func):
            name = function_name(node)
            inner = node.this
            if (
                isinstance(node, (exp.Count, exp.Sum, exp.Avg))
                and isinstance(inner, exp.Distinct)
                and len(inner.expressions) > 1
            ):
                raise BindError(
                    f"{name} has one argument, and not {len(inner.expressions)}",
                    hint="tell rows apart: count(DISTINCT (a, b)), where NULLs are values too",
                    offset=place_of(node),
                )
            if name == "bitstring_agg" and len(node.expressions) == 1:
                raise NotSupportedError(
                    "bitstring_agg without bounds depends on the values of all groups",
                    hint="give the least and the greatest value, as in bitstring_agg(x, 0, 100)",
                    offset=place_of(node),
                )
            if name in volatile and not is_now(node):
                raise NotSupportedError(
                    f"{name} is not deterministic",
                    hint="an answer depends on the instant and the data alone",
                    offset=place_of(node),
                )
