"""What stands below a construct without a law keeps the laws that it has.

A SELECT is recomputed because of one construct: LIMIT, OVER, an aggregate that depends on the order
of tuples. FROM and WHERE come before all of these, so their join is one input of the recomputed
query:

    Q (σ_p (R ⋈ S))            Q recomputed over the join, and the join incremental

Ties are broken as if nothing were apart (`bodies.ties`), by all columns of FROM in order. Where a
name or a place may mean something else then, the query stays whole.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress

from sqlglot import exp

from cqlduck.errors import BindError, Error
from cqlduck.rewrite.bind import collations, current_time
from cqlduck.rewrite.bind.bodies.inputs import Inputs
from cqlduck.rewrite.bind.bodies.select_parts import from_items
from cqlduck.rewrite.bind.context import Context, Ctes, with_ctes
from cqlduck.rewrite.bind.from_clause import bind_from
from cqlduck.rewrite.bind.ordering import Combined, Result
from cqlduck.rewrite.bind.scalars import bind_scalars
from cqlduck.rewrite.bind.scope import Item, Scope, resolve
from cqlduck.rewrite.bind.select_list import select_list
from cqlduck.rewrite.bind.subqueries import bind_where
from cqlduck.rewrite.plan.aggregates import aggregate_calls
from cqlduck.rewrite.plan.not_incremental import NothingRead, NotIncremental
from cqlduck.rewrite.plan.trees import nodes
from cqlduck.rewrite.relalg.builders import column
from cqlduck.rewrite.text.parsed import aliases_of

BELOW = "_cql_below"
"""What the one input is called."""

JOINED = frozenset({"from_", "joins", "where"})
"""The clauses that the join takes."""

CLAUSES = JOINED.union(
    ("expressions", "group", "having", "qualify", "windows", "distinct", "order", "limit", "offset")
)
"""All clauses that such a SELECT may have."""

CHOOSING = ("order", "limit", "offset")
"""Those that choose among tuples, and order them."""

_ODD = (exp.Columns, exp.Collate, exp.Query)
"""What depends on more than the columns it names."""


def has_only(tree: exp.Select, clauses: frozenset[str]) -> bool:
    """Return whether a SELECT has no other clauses than these."""
    return {key for key, value in tree.args.items() if value} <= clauses


def parts(tree: exp.Query, clauses: Collection[str]) -> Iterator[exp.Expr]:
    """Yield what stands in some clauses."""
    for key in clauses:
        value = tree.args.get(key)
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, exp.Expr):
                yield part


def is_plain(part: exp.Expr) -> bool:
    """Return whether an expression means the same over other names."""
    if current_time.mentions(part) or part.find(*_ODD):
        return False
    return not any(node.name.lower() == "alias" for node in nodes(part, exp.Anonymous))


def place_of_alias(term: exp.Expr, tree: exp.Select, names: Sequence[str]) -> int | None:
    """Return the place from 1 that a term of ORDER BY names by an alias, or None.

    Raises:
        NotIncremental: Several columns have the name, or it is in a star of which `names` has no
            columns.
    """
    named = term.this if isinstance(term, exp.Ordered) else term
    if not isinstance(named, exp.Column) or len(named.parts) > 1:
        return None
    wanted = named.name.lower()
    if wanted not in aliases_of(tree):
        return None
    places = [n for n, name in enumerate(names, 1) if name.lower() == wanted]
    if len(places) != 1:
        raise NotIncremental("a name of several columns, or of one in a star")
    return places[0]


# -- FROM and WHERE -------------------------------------------------------------------------------


def joined(context: Context, tree: exp.Select, ctes: Ctes, inputs: Inputs) -> exp.Select | None:
    """Make the join of FROM under WHERE an input.

    Args:
        context: Binds queries in FROM.
        tree: A SELECT.
        ctes: What FROM sees.
        inputs: Gets the input.

    Returns:
        The SELECT over this input, or None if it has to read the items of FROM themselves.
    """
    if len(from_items(tree)) < 2 and tree.args.get("where") is None:
        return None
    if collations.is_beside_grouping(tree):
        return None
    if not has_only(tree, CLAUSES) or not all(map(is_plain, parts(tree, CLAUSES - JOINED))):
        return None
    try:
        return _Joined(context, tree.copy(), ctes).over(inputs)
    except (NotIncremental, BindError):
        # the whole says what is wrong, if anything is
        return None


class _Joined:
    """A SELECT whose FROM and WHERE are bound."""

    def __init__(self, context: Context, tree: exp.Select, ctes: Ctes) -> None:
        self.tree = tree
        self.scope = scope = Scope(volatile=context.catalog.volatile)
        conditions = bind_from(context, tree, scope, ctes)
        if not tree.expressions:
            tree.set("expressions", [exp.Star()])
        values = bind_scalars(context, tree, scope, ctes)
        listed, self.aliases = select_list(context, tree, scope, with_all=True)
        self.names = [name or "" for name, _ in listed]
        self.values = [value for _, value in listed]
        aggregates = context.catalog.aggregates
        of_rows = {
            name: value
            for name, value in self.aliases.items()
            if not value.find(exp.Window) and not list(aggregate_calls(value, aggregates))
        }
        where = tree.args.get("where")
        self.plan = bind_where(context, where, scope, conditions, of_rows, ctes, values)

    def over(self, inputs: Inputs) -> exp.Select | None:
        """Return the SELECT over the join, which becomes an input; None if it needs more."""
        body = self._written()
        named = [pair for item in self.scope.items for pair in item.names if pair[0] != "_ts"]
        shown = dict.fromkeys(known for _, known in named)
        if not {c.name for c in nodes(body, exp.Column)} <= {c.name for c in shown}:
            return None
        leg = inputs.add(Item(BELOW, self.plan, tuple((c.name, c) for c in shown)))
        return body.from_(leg, copy=False)

    def _written(self) -> exp.Select:
        """Return the SELECT over the columns of the combined relation, without FROM."""
        body = exp.Select()
        for key in sorted(CLAUSES - JOINED - {"expressions", "order"}):
            value = self.tree.args.get(key)
            if isinstance(value, list):
                body.set(key, [self._resolved(part) for part in value])
            elif value:
                body.set(key, self._resolved(value))
        pairs = zip(self.values, self.names, strict=True)
        body.set("expressions", [exp.alias_(value, name, quoted=True) for value, name in pairs])
        order = self.tree.args.get("order")
        if order is not None:
            body.set("order", exp.Order(expressions=[self._term(t) for t in order.expressions]))
        return body

    def _resolved(self, part: exp.Expr) -> exp.Expr:
        """Return a part of a clause over the columns of the combined relation.

        Raises:
            NotIncremental: It names what may be a column or an alias, or a constant.
        """
        for named in nodes(part, exp.Column):
            meant = self.aliases.get(named.name.lower()) if len(named.parts) == 1 else None
            if meant is not None and meant.find(exp.Column) is None:
                raise NotIncremental("a constant, which may be a place in its own place")
            known = None if meant is None else self.scope.find(named.name)
            if known is not None and column(known.name) != meant:
                raise NotIncremental("a name of a column and of an alias")
        return resolve(part, self.scope, self.aliases, with_all=True)

    def _term(self, term: exp.Expr) -> exp.Expr:
        """Return a term of ORDER BY, where a name is an alias before it is a column."""
        place = place_of_alias(term, self.tree, self.names)
        if place is None:
            return self._resolved(term)
        term = term.copy()
        term.set("this", exp.Literal.number(place))
        return term


# -- the result ------------------------------------------------------------------------------------


def result_of(context: Context, select: exp.Select, ctes: Ctes) -> Result:
    """Return the result of a SELECT as its ORDER BY sees it."""
    scope = Scope(volatile=context.catalog.volatile)
    with suppress(Error, NotIncremental, NothingRead):
        # what cannot be bound by itself has no columns here: a name is an alias then
        bind_from(context, select.copy(), scope, with_ctes(select, ctes))
    names = {public.lower() for item in scope.items for public, _ in item.names}
    return Result(select, names.__contains__)


def over_places(
    written: exp.Expr, result: Result | Combined, names: Sequence[str]
) -> exp.Expr | None:
    """Return an expression over `c0`, `c1`, …, the columns of a result, or None if it has more."""
    found = result.over(written)
    places = {name.lower(): f"c{place}" for place, name in enumerate(names)}
    if found is None or len(places) < len(names):
        return None
    found = exp.paren(found)
    for named in nodes(found, exp.Column):
        if named.name.lower() not in places:
            return None
        named.replace(column(places[named.name.lower()], BELOW))
    return found
